/*
 * func_to_date.c: to_date and to_timestamp: text read along a template.
 *
 * Each field reads its part of the text: a number takes the digits of its width if another number follows
 * directly, else as many as there are; a name is matched without regard to case. Blanks and separators in the
 * template match any of the like in the text. Afterwards the parts are put together: a calendar date by
 * year, month and day, by day of year, by ISO week, by Julian day or by century and short year; a time of day
 * by hours, minutes and seconds or by seconds of the day.
 */
#include "type/format.h"

#include <assert.h>

typedef struct Reading {
    bool has_year, has_month, has_day, has_doy, has_julian, has_hour12, has_week, has_cc, pm, am, bc;
    int year_digits; /* as written, for the century of short years; 0: all four */
    int32_t year, month, day, doy, julian, hour, minute, second, micros, seconds_of_day, week, weekday, iso_year,
        iso_day, cc;
    bool has_iso_year, has_iso_week, has_seconds_of_day, has_iso_day;
    int32_t iso_week;
} Reading;

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool separator(char c)
{
    return c > ' ' && c < 127 && !digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z');
}

static Str after(Str s, uint32_t n)
{
    return (Str){s.ptr + n, s.len - n};
}

static Str skip_blanks(Str s)
{
    while (s.len > 0 && space(s.ptr[0])) s = after(s, 1);
    return s;
}

static tcudb_status bad_value(const FormatField *f, Str s, const char *detail, Error *err)
{
    uint32_t n = s.len;
    if (f->width > 0 && n > f->width) n = f->width;
    if (f->width == 0)
        for (n = 0; n < s.len && !space(s.ptr[n]) && n < 32; n++) {}
    tcudb_status status =
        error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"", (int)n, s.ptr, f->name);
    error_detail(err, "%s", detail);
    return status;
}

/* Of the character that s begins with; 0: none. */
static uint32_t char_bytes(Str s)
{
    uint32_t n = s.len > 0;
    while (n > 0 && n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80) n++;
    return n;
}

/* A number: exactly `width` characters if `fixed`, else all digits; a sign is allowed. */
static tcudb_status read_int(const FormatField *f, Str *s, int width, bool fixed, int32_t *out, int *digits, Error *err)
{
    *s = skip_blanks(*s);
    uint32_t n = 0;
    bool negative = s->len > 0 && s->ptr[0] == '-';
    if (s->len > 0 && (s->ptr[0] == '-' || s->ptr[0] == '+')) n = 1;
    uint32_t start = n;
    int64_t v = 0;
    while (n < s->len && digit(s->ptr[n]) && (!fixed || n < (uint32_t)width)) {
        v = v * 10 + (s->ptr[n++] - '0');
        if (v > INT32_MAX) {
            tcudb_status status = error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW,
                                            "value for \"%s\" in source string is out of range", f->name);
            error_detail(err, "Value must be in the range %d to %d.", INT32_MIN, INT32_MAX);
            return status;
        }
    }
    if (n == start) return bad_value(f, *s, "Value must be an integer.", err);
    if (fixed && n < (uint32_t)width && s->len >= (uint32_t)width) {
        tcudb_status status = error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"",
                                        width, s->ptr, f->name);
        error_detail(err, "Field requires %d characters, but only %u could be parsed.", width, n);
        error_hint(err, "If your source string is not fixed-width, try using the \"FM\" modifier.");
        return status;
    }
    *out = (int32_t)(negative ? -v : v);
    *digits = (int)(n - start);
    *s = after(*s, n);
    return TCUDB_OK;
}

/* The longest of the names that the text begins with, in any case; letters > 0: only so many of each. */
static int match_name(const char *const *names, int count, uint32_t letters, Str s, uint32_t *len)
{
    int found = -1;
    *len = 0;
    for (int k = 0; k < count; k++) {
        uint32_t n = (uint32_t)strlen(names[k]);
        if (letters > 0 && n > letters) n = letters;
        if (n > s.len || n <= *len) continue;
        uint32_t i = 0;
        while (i < n && (s.ptr[i] | 0x20) == (names[k][i] | 0x20)) i++;
        if (i < n) continue;
        found = k;
        *len = n;
    }
    return found;
}

static tcudb_status read_month(const FormatField *f, bool full, bool roman, Str *s, Reading *r, Error *err)
{
    uint32_t len;
    *s = skip_blanks(*s);
    int k = match_name(roman ? roman_months : month_names, 12, full || roman ? 0 : 3, *s, &len);
    if (k < 0) return bad_value(f, *s, "The given value did not match any of the allowed values for this field.", err);
    r->month = k + 1;
    r->has_month = true;
    *s = after(*s, len);
    return TCUDB_OK;
}

static tcudb_status read_word(const FormatField *f, Str *s, Reading *r, Error *err)
{
    static const char *const halves[] = {"am", "pm", "a.m.", "p.m."}, *const eras[] = {"ad", "bc", "a.d.", "b.c."};
    uint32_t len;
    int k;
    switch (f->id) {
    case FIELD_MONTH_UPPER:
    case FIELD_MONTH_TITLE:
    case FIELD_MONTH_LOWER: return read_month(f, true, false, s, r, err);
    case FIELD_MON_UPPER:
    case FIELD_MON_TITLE:
    case FIELD_MON_LOWER: return read_month(f, false, false, s, r, err);
    case FIELD_RM_UPPER:
    case FIELD_RM_LOWER: return read_month(f, true, true, s, r, err);
    case FIELD_DAY_UPPER:
    case FIELD_DAY_TITLE:
    case FIELD_DAY_LOWER:
    case FIELD_DY_UPPER:
    case FIELD_DY_TITLE:
    case FIELD_DY_LOWER: {
        *s = skip_blanks(*s);
        bool full = f->id == FIELD_DAY_UPPER || f->id == FIELD_DAY_TITLE || f->id == FIELD_DAY_LOWER;
        k = match_name(day_names, 7, full ? 0 : 3, *s, &len);
        if (k >= 0) r->weekday = k;
        break;
    }
    case FIELD_AM_UPPER:
    case FIELD_PM_UPPER:
    case FIELD_AM_LOWER:
    case FIELD_PM_LOWER:
    case FIELD_AM_DOTS_UPPER:
    case FIELD_PM_DOTS_UPPER:
    case FIELD_AM_DOTS_LOWER:
    case FIELD_PM_DOTS_LOWER:
        k = match_name(halves, 4, 0, *s, &len);
        r->pm = k == 1 || k == 3;
        r->am = k == 0 || k == 2;
        r->has_hour12 = true;
        break;
    case FIELD_AD_UPPER:
    case FIELD_BC_UPPER:
    case FIELD_AD_LOWER:
    case FIELD_BC_LOWER:
    case FIELD_AD_DOTS_UPPER:
    case FIELD_BC_DOTS_UPPER:
    case FIELD_AD_DOTS_LOWER:
    case FIELD_BC_DOTS_LOWER:
        k = match_name(eras, 4, 0, *s, &len);
        r->bc = k == 1 || k == 3;
        break;
    default: return error_unsupported(err, 0, "format code \"%s\" in to_timestamp", f->name);
    }
    if (k < 0) return bad_value(f, *s, "The given value did not match any of the allowed values for this field.", err);
    *s = after(*s, len);
    return TCUDB_OK;
}

/* Two and three digit years lie in 1970..2069. */
static int32_t full_year(int32_t year, int digits)
{
    if (digits >= 4 || year < 0) return year;
    if (year < 70) return year + 2000;
    if (year < 100) return year + 1900;
    if (year < 520) return year + 2000;
    return year < 1000 ? year + 1000 : year;
}

static int32_t scale_micros(int32_t v, int digits)
{
    for (; digits < 6; digits++) v *= 10;
    for (; digits > 6; digits--) v /= 10;
    return v;
}

static tcudb_status read_y_yyy(const FormatField *f, Str *s, Reading *r, Error *err)
{
    int32_t thousands = 0, rest = 0;
    int digits = 0;
    TRY(read_int(f, s, 9, false, &thousands, &digits, err));
    if (s->len == 0 || s->ptr[0] != ',') return bad_value(f, *s, "Value must be an integer.", err);
    *s = after(*s, 1);
    TRY(read_int(f, s, 3, true, &rest, &digits, err));
    r->year = thousands * 1000 + rest;
    r->has_year = true;
    r->year_digits = 4;
    return TCUDB_OK;
}

static void set_number(FieldId id, int32_t v, int digits, Reading *r)
{
    switch (id) {
    case FIELD_YYYY:
    case FIELD_YYY:
    case FIELD_YY:
    case FIELD_Y:
        r->year = id == FIELD_YYYY ? v : full_year(v, digits);
        r->has_year = true;
        r->year_digits = id == FIELD_YYYY ? 4 : digits;
        break;
    case FIELD_IYYY:
    case FIELD_IYY:
    case FIELD_IY:
    case FIELD_I:
        r->iso_year = full_year(v, digits);
        r->has_iso_year = true;
        break;
    case FIELD_CC: r->cc = v, r->has_cc = true; break;
    case FIELD_MM: r->month = v, r->has_month = true; break;
    case FIELD_DD: r->day = v, r->has_day = true; break;
    case FIELD_DDD: r->doy = v, r->has_doy = true; break;
    case FIELD_ID: r->iso_day = v, r->has_iso_day = true; break;
    case FIELD_IDDD: r->doy = v, r->has_doy = true; break;
    case FIELD_IW: r->iso_week = v, r->has_iso_week = true; break;
    case FIELD_WW: r->week = v, r->has_week = true; break;
    case FIELD_W: r->day = (v - 1) * 7 + 1, r->has_day = true; break;
    case FIELD_J: r->julian = v, r->has_julian = true; break;
    case FIELD_HH:
    case FIELD_HH12: r->hour = v, r->has_hour12 = true; break;
    case FIELD_HH24: r->hour = v; break;
    case FIELD_MI: r->minute = v; break;
    case FIELD_SS: r->second = v; break;
    case FIELD_MS: r->micros += scale_micros(v, digits > 3 ? 3 : digits); break;
    case FIELD_US: r->micros += scale_micros(v, digits); break;
    case FIELD_SSSS:
    case FIELD_SSSSS: r->seconds_of_day = v, r->has_seconds_of_day = true; break;
    default:
        if (id >= FIELD_FF1 && id <= FIELD_FF6) r->micros += scale_micros(v, digits);
        break; /* D, Q: read and not used */
    }
}

/* Whether the next field reads digits at once, so that this one must know its width. */
static bool digits_follow(const Format *f, uint32_t i)
{
    if (i + 1 >= f->n || f->fields[i].ordinal != 0) return false;
    const FormatField *next = &f->fields[i + 1];
    if (next->id == FIELD_LITERAL) return digit(next->text.ptr[0]);
    return next->width > 0;
}

static Str skip_literal(Str s, char c, bool exact)
{
    if (((unsigned char)c & 0xc0) == 0x80) return s; /* inside a character of the template */
    if (exact) return after(s, char_bytes(s));
    if (space(c) || separator(c)) {
        if (s.len > 0 && (space(s.ptr[0]) || separator(s.ptr[0]))) s = after(s, 1);
        return skip_blanks(s);
    }
    s = skip_blanks(s);
    return after(s, char_bytes(s));
}

static tcudb_status read_format(const Format *format, Str s, Reading *r, Error *err)
{
    s = skip_blanks(s);
    for (uint32_t i = 0; i < format->n && s.len > 0; i++) {
        const FormatField *f = &format->fields[i];
        if (f->id == FIELD_LITERAL) {
            s = skip_literal(s, f->text.ptr[0], format->exact);
            continue;
        }
        if (!format->exact) { /* separators that the template leaves out */
            Str rest = skip_blanks(s);
            while (rest.len > 1 && separator(rest.ptr[0]) && rest.ptr[0] != '-' && rest.ptr[0] != '+')
                rest = skip_blanks(after(rest, 1));
            s = rest;
        }
        if (f->id == FIELD_Y_YYY) {
            TRY(read_y_yyy(f, &s, r, err));
        } else if (f->width > 0) {
            int32_t v = 0;
            int digits = 0;
            bool fixed = (digits_follow(format, i) || (f->id >= FIELD_FF1 && f->id <= FIELD_FF6)) && !f->fill;
            TRY(read_int(f, &s, f->width, fixed, &v, &digits, err));
            set_number(f->id, v, digits, r);
        } else {
            TRY(read_word(f, &s, r, err));
        }
        if (f->ordinal != 0 && s.len >= 2) s = after(s, 2);
    }
    return TCUDB_OK;
}

/* ---- putting together --------------------------------------------------------------------------------- */

static tcudb_status field_range(Str s, Error *err)
{
    if (s.len > ERROR_TEXT / 2) s.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "date/time field value out of range: \"" STR_FMT "\"",
                     STR_ARG(s));
}

/* Monday of the ISO year's first week. */
static int32_t iso_year_start(int32_t year)
{
    int32_t day = date_from_civil((Civil){year, 1, 4});
    return day - (date_weekday(day) + 6) % 7;
}

static void apply_century(Reading *r)
{
    if (!r->has_cc) return;
    if (r->has_year && r->year_digits <= 2)
        r->year = (r->cc - 1) * 100 + r->year % 100 + (r->year % 100 == 0 ? 100 : 0);
    else if (!r->has_year)
        r->year = r->cc >= 0 ? (r->cc - 1) * 100 + 1 : r->cc * 100 + 1;
    r->has_year = true;
}

static tcudb_status date_of(Reading *r, Str s, int32_t *out, Error *err)
{
    apply_century(r);
    if (r->has_julian) {
        *out = r->julian - JULIAN_OFFSET;
        return TCUDB_OK;
    }
    if (r->has_iso_year) {
        int32_t start = iso_year_start(r->iso_year);
        if (r->has_doy)
            *out = start + r->doy - 1;
        else
            *out = start + ((r->has_iso_week ? r->iso_week : 1) - 1) * 7 + (r->has_iso_day ? r->iso_day - 1 : 0);
        return TCUDB_OK;
    }
    int32_t year = r->has_year ? r->year : 0;
    if (r->bc)
        year = year > 0 ? 1 - year : year;
    else if (year < 0)
        year++; /* -44 is 44 BC */
    if (r->has_doy || r->has_week) {
        int32_t doy = r->has_doy ? r->doy : (r->week - 1) * 7 + 1;
        bool leap = days_in_month(year, 2) == 29;
        if (doy < 1 || doy > (leap ? 366 : 365)) return field_range(s, err);
        *out = date_from_civil((Civil){year, 1, 1}) + doy - 1;
        return TCUDB_OK;
    }
    Civil c = {year, r->has_month ? r->month : 1, r->has_day ? r->day : 1};
    if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > days_in_month(c.year, c.month) || c.year < -4713 ||
        c.year > 5874897)
        return field_range(s, err);
    *out = date_from_civil(c);
    return TCUDB_OK;
}

static tcudb_status time_of(Reading *r, Str s, int64_t *out, Error *err)
{
    if (r->has_seconds_of_day) {
        r->hour = r->seconds_of_day / 3600;
        r->minute = r->seconds_of_day / 60 % 60;
        r->second = r->seconds_of_day % 60;
    }
    if (r->has_hour12) {
        if (r->hour < 1 || r->hour > 12) {
            tcudb_status status = error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT,
                                            "hour \"%d\" is invalid for the 12-hour clock", r->hour);
            error_hint(err, "Use the 24-hour clock, or give an hour between 1 and 12.");
            return status;
        }
        if (r->pm && r->hour < 12) r->hour += 12;
        if (!r->pm && r->hour == 12) r->hour = 0;
    }
    if (r->hour < 0 || r->hour > 23 || r->minute < 0 || r->minute > 59 || r->second < 0 || r->second > 59)
        return field_range(s, err);
    *out = ((r->hour * INT64_C(60) + r->minute) * 60 + r->second) * USECS_PER_SEC + r->micros;
    return TCUDB_OK;
}

static tcudb_status read_moment(Arena *arena, Str s, Str template, int32_t *day, int64_t *time, Error *err)
{
    Format format;
    Reading r = {0};
    TRY(format_compile(arena, template, &format, err));
    TRY(read_format(&format, s, &r, err));
    TRY(date_of(&r, s, day, err));
    return time_of(&r, s, time, err);
}

KERNEL(text_to_date)
{
    BINARY_ROWS(Str, Str, int32_t, {
        int64_t time;
        TRY(read_moment(ctx->arena, x, y, &r, &time, err));
    });
    return TCUDB_OK;
}

KERNEL(text_to_timestamp)
{
    BINARY_ROWS(Str, Str, int64_t, {
        int64_t time = 0;
        int32_t day = 0;
        TRY(read_moment(ctx->arena, x, y, &day, &time, err));
        TRY(timestamp_from_date(day, &r, err));
        r += time;
    });
    return TCUDB_OK;
}

/* Seconds since 1970. */
KERNEL(float8_to_timestamp)
{
    UNARY_ROWS(double, int64_t, {
        if (x != x) return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN");
        double micros = (x - UNIX_EPOCH_DAYS * 86400.0) * 1e6;
        if (x - x != 0) {
            r = x > 0 ? TIME_INFINITY : TIME_MINUS_INFINITY;
        } else if (micros < (double)TIMESTAMP_MIN || micros >= (double)TIMESTAMP_END) {
            return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "timestamp out of range: \"%g\"", x);
        } else {
            r = (int64_t)(micros < 0 ? micros - 0.5 : micros + 0.5);
        }
    });
    return TCUDB_OK;
}
