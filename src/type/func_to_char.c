/*
 * func_to_char.c: to_char of dates, timestamps and intervals.
 *
 * A value is taken apart once (for a timestamp: calendar date, time, day of week and year), then each field
 * of the template prints from that. Numbers are zero-padded to their field's width, names blank-padded to
 * nine letters, unless FM says otherwise.
 */
#include "type/format.h"

#include <assert.h>

typedef struct Parts {
    Moment m; /* of an interval: its own fields, hours beyond 24 */
    int32_t day;
    bool interval;
} Parts;

static tcudb_status put_ordinal(int64_t v, char ordinal, Buf *buf, Error *err)
{
    static const char *const upper[] = {"TH", "ST", "ND", "RD"};
    static const char *const lower[] = {"th", "st", "nd", "rd"};
    if (ordinal == 0) return TCUDB_OK;
    int64_t last = v % 10, tens = v / 10 % 10;
    int k = tens == 1 || last > 3 || last < 0 ? 0 : (int)last;
    return buf_text(buf, (ordinal == 'T' ? upper : lower)[k], err);
}

/* width digits, a sign apart, or as many as needed under FM. */
static tcudb_status put_number(const FormatField *f, int64_t v, int width, Buf *buf, Error *err)
{
    if (f->fill) width = 0;
    if (v < 0 && width > 0) width++;
    TRY(buf_printf(buf, err, "%0*lld", width, (long long)v));
    return put_ordinal(v < 0 ? -v : v, f->ordinal, buf, err);
}

typedef enum LetterCase { LETTERS_UPPER, LETTERS_TITLE, LETTERS_LOWER } LetterCase;

static tcudb_status put_word(const char *word, int letters, LetterCase mode, int width, Buf *buf, Error *err)
{
    int n = 0;
    for (; word[n] != '\0' && n < letters; n++) {
        char c = word[n];
        if (mode == LETTERS_UPPER && c >= 'a' && c <= 'z') c = (char)(c - 32);
        if (mode == LETTERS_LOWER && c >= 'A' && c <= 'Z') c = (char)(c + 32);
        TRY(buf_char(buf, c, err));
    }
    for (; n < width; n++) TRY(buf_char(buf, ' ', err));
    return TCUDB_OK;
}

static LetterCase letter_case(const FormatField *f)
{
    char a = f->text.ptr[0], b = f->text.ptr[1];
    if (a >= 'a') return LETTERS_LOWER;
    return b >= 'a' ? LETTERS_TITLE : LETTERS_UPPER;
}

/* Years as people write them: 1 BC is 1. */
static int64_t shown_year(const Parts *p, int64_t year)
{
    return p->interval || year > 0 ? year : 1 - year;
}

static int64_t century(const Parts *p)
{
    int64_t y = p->m.date.year;
    if (p->interval) return y / 100;
    return y > 0 ? (y - 1) / 100 + 1 : y / 100 - 1;
}

static tcudb_status not_for_intervals(Error *err)
{
    tcudb_status status =
        error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid format specification for an interval value");
    error_hint(err, "Intervals are not tied to specific calendar dates.");
    return status;
}

/* Names: months, days, eras, halves of the day. */
static tcudb_status put_name(const FormatField *f, const Parts *p, Buf *buf, Error *err)
{
    int month = p->m.date.month;
    const char *name = NULL;
    LetterCase mode = letter_case(f);
    switch (f->id) {
    case FIELD_MONTH_UPPER:
    case FIELD_MONTH_TITLE:
    case FIELD_MONTH_LOWER:
        return month == 0 ? TCUDB_OK : put_word(month_names[month - 1], 9, mode, f->fill ? 0 : 9, buf, err);
    case FIELD_MON_UPPER:
    case FIELD_MON_TITLE:
    case FIELD_MON_LOWER: return month == 0 ? TCUDB_OK : put_word(month_names[month - 1], 3, mode, 0, buf, err);
    case FIELD_DAY_UPPER:
    case FIELD_DAY_TITLE:
    case FIELD_DAY_LOWER: return put_word(day_names[date_weekday(p->day)], 9, mode, f->fill ? 0 : 9, buf, err);
    case FIELD_DY_UPPER:
    case FIELD_DY_TITLE:
    case FIELD_DY_LOWER: return put_word(day_names[date_weekday(p->day)], 3, mode, 0, buf, err);
    case FIELD_RM_UPPER:
    case FIELD_RM_LOWER:
        if (month == 0 && p->m.date.year == 0) return TCUDB_OK;
        name = roman_months[month == 0 ? (p->m.date.year >= 0 ? 11 : 0) : month > 0 ? month - 1 : 12 + month];
        return put_word(name, 4, mode, f->fill ? 0 : 4, buf, err);
    case FIELD_AD_UPPER:
    case FIELD_BC_UPPER:
    case FIELD_AD_LOWER:
    case FIELD_BC_LOWER: return put_word(p->m.date.year <= 0 ? "BC" : "AD", 2, mode, 0, buf, err);
    case FIELD_AD_DOTS_UPPER:
    case FIELD_BC_DOTS_UPPER: return buf_text(buf, p->m.date.year <= 0 ? "B.C." : "A.D.", err);
    case FIELD_AD_DOTS_LOWER:
    case FIELD_BC_DOTS_LOWER: return buf_text(buf, p->m.date.year <= 0 ? "b.c." : "a.d.", err);
    case FIELD_AM_UPPER:
    case FIELD_PM_UPPER:
    case FIELD_AM_LOWER:
    case FIELD_PM_LOWER: return put_word(p->m.hour % 24 >= 12 ? "PM" : "AM", 2, mode, 0, buf, err);
    case FIELD_AM_DOTS_UPPER:
    case FIELD_PM_DOTS_UPPER: return buf_text(buf, p->m.hour % 24 >= 12 ? "P.M." : "A.M.", err);
    case FIELD_AM_DOTS_LOWER:
    case FIELD_PM_DOTS_LOWER: return buf_text(buf, p->m.hour % 24 >= 12 ? "p.m." : "a.m.", err);
    case FIELD_OF: return buf_text(buf, "+00", err);
    case FIELD_TZH: return buf_text(buf, "+00", err);
    default: return TCUDB_OK; /* TZ: a timestamp has no zone */
    }
}

static tcudb_status put_y_yyy(const FormatField *f, const Parts *p, Buf *buf, Error *err)
{
    int64_t y = shown_year(p, p->m.date.year), thousands = y / 1000;
    TRY(buf_printf(buf, err, "%lld,%03lld", (long long)thousands, (long long)(y - thousands * 1000)));
    return put_ordinal(y, f->ordinal, buf, err);
}

static tcudb_status put_century(const FormatField *f, const Parts *p, Buf *buf, Error *err)
{
    int64_t c = century(p);
    if (c <= 99 && c >= -99) return put_number(f, c, 2, buf, err);
    TRY(buf_printf(buf, err, "%lld", (long long)c));
    return put_ordinal(c, f->ordinal, buf, err);
}

/* The fields of the calendar that are numbers. */
static tcudb_status put_calendar(const FormatField *f, const Parts *p, Buf *buf, Error *err)
{
    const Civil *c = &p->m.date;
    int32_t iso_year = 0, day_of_year = 0;
    int32_t week = p->interval ? 0 : date_iso_week(p->day, &iso_year);
    if (p->interval)
        day_of_year = (c->year * 12 + c->month) * 30 + c->day;
    else
        day_of_year = p->day - date_from_civil((Civil){c->year, 1, 1}) + 1;
    int64_t y = shown_year(p, c->year), iy = shown_year(p, p->interval ? c->year : iso_year);
    switch (f->id) {
    case FIELD_Y_YYY: return put_y_yyy(f, p, buf, err);
    case FIELD_YYYY: return put_number(f, y, 4, buf, err);
    case FIELD_YYY: return put_number(f, y % 1000, 3, buf, err);
    case FIELD_YY: return put_number(f, y % 100, 2, buf, err);
    case FIELD_Y: return put_number(f, y % 10, 1, buf, err);
    case FIELD_IYYY: return put_number(f, iy, 4, buf, err);
    case FIELD_IYY: return put_number(f, iy % 1000, 3, buf, err);
    case FIELD_IY: return put_number(f, iy % 100, 2, buf, err);
    case FIELD_I: return put_number(f, iy % 10, 1, buf, err);
    case FIELD_CC: return put_century(f, p, buf, err);
    case FIELD_MM: return put_number(f, c->month, 2, buf, err);
    case FIELD_DD: return put_number(f, c->day, c->day < 0 ? 1 : 2, buf, err);
    case FIELD_DDD: return put_number(f, day_of_year, 3, buf, err);
    case FIELD_IDDD: return put_number(f, (week - 1) * 7 + (date_weekday(p->day) + 6) % 7 + 1, 3, buf, err);
    case FIELD_D: return put_number(f, date_weekday(p->day) + 1, 1, buf, err);
    case FIELD_ID: return put_number(f, (date_weekday(p->day) + 6) % 7 + 1, 1, buf, err);
    case FIELD_WW: return put_number(f, (day_of_year - 1) / 7 + 1, 2, buf, err);
    case FIELD_IW: return put_number(f, week, 2, buf, err);
    case FIELD_W: return put_number(f, (c->day - 1) / 7 + 1, 1, buf, err);
    case FIELD_Q: return c->month == 0 ? TCUDB_OK : put_number(f, (c->month - 1) / 3 + 1, 1, buf, err);
    default: return put_number(f, (int64_t)p->day + JULIAN_OFFSET, 0, buf, err); /* J */
    }
}

static tcudb_status put_clock(const FormatField *f, const Parts *p, Buf *buf, Error *err)
{
    static const int32_t powers[] = {1, 10, 100, 1000, 10000, 100000};
    const Moment *m = &p->m;
    switch (f->id) {
    case FIELD_HH:
    case FIELD_HH12: return put_number(f, m->hour % 12 == 0 ? 12 : m->hour % 12, 2, buf, err);
    case FIELD_HH24: return put_number(f, m->hour, 2, buf, err);
    case FIELD_MI: return put_number(f, m->minute, 2, buf, err);
    case FIELD_SS: return put_number(f, m->second, 2, buf, err);
    case FIELD_MS: return put_number(&(FormatField){.ordinal = f->ordinal}, m->micros / 1000, 3, buf, err);
    case FIELD_US: return put_number(&(FormatField){.ordinal = f->ordinal}, m->micros, 6, buf, err);
    case FIELD_SSSS:
    case FIELD_SSSSS:
        TRY(buf_printf(buf, err, "%d", (m->hour * 60 + m->minute) * 60 + m->second));
        return put_ordinal((m->hour * 60 + m->minute) * 60 + m->second, f->ordinal, buf, err);
    case FIELD_TZM: return buf_text(buf, "00", err);
    default: { /* FF1..FF6 */
        int digits = (int)(f->id - FIELD_FF1) + 1;
        return put_number(&(FormatField){.ordinal = f->ordinal}, m->micros / powers[6 - digits], digits, buf, err);
    }
    }
}

static bool is_clock(FieldId id)
{
    return id == FIELD_HH || id == FIELD_HH12 || id == FIELD_HH24 || id == FIELD_MI || id == FIELD_SS ||
           id == FIELD_MS || id == FIELD_US || id == FIELD_SSSS || id == FIELD_SSSSS || id == FIELD_TZM ||
           (id >= FIELD_FF1 && id <= FIELD_FF6);
}

/* Fields that an interval, which lies on no calendar, does not have. */
static bool needs_calendar(FieldId id)
{
    switch (id) {
    case FIELD_D:
    case FIELD_ID:
    case FIELD_IDDD:
    case FIELD_MONTH_UPPER:
    case FIELD_MONTH_TITLE:
    case FIELD_MONTH_LOWER:
    case FIELD_MON_UPPER:
    case FIELD_MON_TITLE:
    case FIELD_MON_LOWER:
    case FIELD_DAY_UPPER:
    case FIELD_DAY_TITLE:
    case FIELD_DAY_LOWER:
    case FIELD_DY_UPPER:
    case FIELD_DY_TITLE:
    case FIELD_DY_LOWER:
    case FIELD_AD_UPPER:
    case FIELD_AD_LOWER:
    case FIELD_BC_UPPER:
    case FIELD_BC_LOWER:
    case FIELD_AD_DOTS_UPPER:
    case FIELD_AD_DOTS_LOWER:
    case FIELD_BC_DOTS_UPPER:
    case FIELD_BC_DOTS_LOWER:
    case FIELD_TZ_UPPER:
    case FIELD_TZ_LOWER:
    case FIELD_TZH:
    case FIELD_TZM:
    case FIELD_OF: return true;
    default: return false;
    }
}

static tcudb_status print_format(const Format *format, const Parts *p, Buf *buf, Error *err)
{
    for (uint32_t i = 0; i < format->n; i++) {
        const FormatField *f = &format->fields[i];
        if (p->interval && needs_calendar(f->id)) return not_for_intervals(err);
        if (f->id == FIELD_LITERAL)
            TRY(buf_str(buf, f->text, err));
        else if (is_clock(f->id))
            TRY(put_clock(f, p, buf, err));
        else if (f->width > 0)
            TRY(put_calendar(f, p, buf, err));
        else
            TRY(put_name(f, p, buf, err));
    }
    return TCUDB_OK;
}

static Parts timestamp_parts(int64_t t)
{
    int64_t rest;
    return (Parts){.m = timestamp_split(t), .day = timestamp_day(t, &rest)};
}

static Parts interval_parts(Interval v)
{
    int64_t t = v.micros;
    return (Parts){.m = {.date = {v.months / 12, v.months % 12, v.days},
                         .hour = (int32_t)(t / USECS_PER_HOUR),
                         .minute = (int32_t)(t / USECS_PER_MINUTE % 60),
                         .second = (int32_t)(t / USECS_PER_SEC % 60),
                         .micros = (int32_t)(t % USECS_PER_SEC)},
                   .day = date_from_civil((Civil){v.months / 12, v.months % 12, v.days}),
                   .interval = true};
}

/* An empty template or an infinite value gives NULL, as in PostgreSQL. */
static tcudb_status to_char_rows(EvalCtx *ctx, const Vector *args, const uint16_t *sel, uint32_t n, Vector *out,
                                 Error *err)
{
    const Str *templates = args[1].data;
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Format format = {0};
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Value v = vec_value(&args[0], row);
        Str text = templates[row * STRIDE(args[1])];
        bool interval = v.type.id == TYPE_INTERVAL;
        if (i == 0 || args[1].form != VEC_CONST) TRY_GOTO(format_compile(ctx->arena, text, &format, err));
        if (text.len == 0 || (!interval && !timestamp_finite(v.i64))) {
            TRY_GOTO(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
            bit_clear(out->valid, row);
            continue;
        }
        Parts p = interval ? interval_parts(v.interval) : timestamp_parts(v.i64);
        buf.len = 0;
        TRY_GOTO(print_format(&format, &p, &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    return status;
}

KERNEL(timestamp_to_char)
{
    return to_char_rows(ctx, args, sel, n, out, err);
}

KERNEL(interval_to_char)
{
    return to_char_rows(ctx, args, sel, n, out, err);
}
