/*
 * interval_parse.c: intervals from text.
 *
 *   '1 year 2 mons 3 days 04:05:06'  '1.5 hours ago'  '-1 day +02:03'  '1-2'  '3 4:05'  'P1Y2M3DT4H5M6S'
 *
 * The text is cut into signed numbers, times and unit words; then fields are read from right to left, as
 * PostgreSQL does, so that a unit is known before its number. A number without a unit takes the one that
 * precedes the unit on its right (a time: days), or the last field of INTERVAL '...' DAY TO SECOND, or
 * seconds. Fractions flow down: of a year into months, of a month into days and time (30 days), of a week
 * or day into time. Sums are checked for overflow.
 */
#include "type/datetime.h"
#include "type/type_int.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_FIELDS = 25, MAX_TEXT = 256, SIGNIFICANT = 10 /* letters of a unit's name that count */ };

typedef enum Unit {
    UNIT_NONE,
    UNIT_MICROSECOND,
    UNIT_MILLISECOND,
    UNIT_SECOND,
    UNIT_MINUTE,
    UNIT_HOUR,
    UNIT_DAY,
    UNIT_WEEK,
    UNIT_MONTH,
    UNIT_YEAR,
    UNIT_DECADE,
    UNIT_CENTURY,
    UNIT_MILLENNIUM,
    UNIT_AGO
} Unit;

typedef struct UnitWord {
    const char *word;
    Unit unit;
} UnitWord;

static const UnitWord unit_words[] = {
    {"us", UNIT_MICROSECOND},
    {"usec", UNIT_MICROSECOND},
    {"usecs", UNIT_MICROSECOND},
    {"useconds", UNIT_MICROSECOND},
    {"microsecond", UNIT_MICROSECOND},
    {"microseconds", UNIT_MICROSECOND},
    {"microsecon", UNIT_MICROSECOND},
    {"ms", UNIT_MILLISECOND},
    {"msec", UNIT_MILLISECOND},
    {"msecs", UNIT_MILLISECOND},
    {"mseconds", UNIT_MILLISECOND},
    {"millisecond", UNIT_MILLISECOND},
    {"milliseconds", UNIT_MILLISECOND},
    {"millisecon", UNIT_MILLISECOND},
    {"s", UNIT_SECOND},
    {"sec", UNIT_SECOND},
    {"secs", UNIT_SECOND},
    {"second", UNIT_SECOND},
    {"seconds", UNIT_SECOND},
    {"m", UNIT_MINUTE},
    {"min", UNIT_MINUTE},
    {"mins", UNIT_MINUTE},
    {"minute", UNIT_MINUTE},
    {"minutes", UNIT_MINUTE},
    {"h", UNIT_HOUR},
    {"hr", UNIT_HOUR},
    {"hrs", UNIT_HOUR},
    {"hour", UNIT_HOUR},
    {"hours", UNIT_HOUR},
    {"d", UNIT_DAY},
    {"day", UNIT_DAY},
    {"days", UNIT_DAY},
    {"w", UNIT_WEEK},
    {"week", UNIT_WEEK},
    {"weeks", UNIT_WEEK},
    {"mon", UNIT_MONTH},
    {"mons", UNIT_MONTH},
    {"month", UNIT_MONTH},
    {"months", UNIT_MONTH},
    {"y", UNIT_YEAR},
    {"yr", UNIT_YEAR},
    {"yrs", UNIT_YEAR},
    {"year", UNIT_YEAR},
    {"years", UNIT_YEAR},
    {"dec", UNIT_DECADE},
    {"decs", UNIT_DECADE},
    {"decade", UNIT_DECADE},
    {"decades", UNIT_DECADE},
    {"c", UNIT_CENTURY},
    {"cent", UNIT_CENTURY},
    {"century", UNIT_CENTURY},
    {"centuries", UNIT_CENTURY},
    {"mil", UNIT_MILLENNIUM},
    {"mils", UNIT_MILLENNIUM},
    {"millennia", UNIT_MILLENNIUM},
    {"millennium", UNIT_MILLENNIUM},
    {"ago", UNIT_AGO},
};

static Unit find_unit(const char *word)
{
    for (size_t i = 0; i < sizeof unit_words / sizeof *unit_words; i++)
        if (strncmp(word, unit_words[i].word, SIGNIFICANT) == 0) return unit_words[i].unit;
    return UNIT_NONE;
}

/* What a time hh:mm:ss.ffffff gives. */
#define TIME_MASK                                                                                                      \
    (1u << UNIT_HOUR | 1u << UNIT_MINUTE | 1u << UNIT_SECOND | 1u << UNIT_MILLISECOND | 1u << UNIT_MICROSECOND)

typedef enum FieldKind { FIELD_NUMBER, FIELD_TIME, FIELD_WORD } FieldKind;

typedef struct Field {
    FieldKind kind;
    bool negative; /* of numbers and times */
    bool sign;     /* a sign was written */
    const char *text;
} Field;

typedef struct Reader {
    char space[2 * MAX_TEXT];
    Field fields[MAX_FIELDS];
    uint32_t n;
    uint32_t mask; /* which units have been given */
    Interval sum;
} Reader;

typedef enum Verdict { GOOD, BAD_FORMAT, OVERFLOW } Verdict;

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- cutting ------------------------------------------------------------------------------- */

static bool cut_one(Field *f, const char **input, char **out)
{
    const char *p = *input;
    char *at = *out;
    f->text = at;
    if (*p == '+' || *p == '-') {
        f->sign = true;
        f->negative = *p++ == '-';
        while (*p == ' ') p++;
        if (!digit(*p) && *p != '.') return false;
    }
    if (digit(*p) || *p == '.') {
        f->kind = FIELD_NUMBER;
        for (; digit(*p) || *p == ':' || *p == '.' || (*p == '-' && digit(p[1]) && f->kind == FIELD_NUMBER); p++) {
            if (*p == ':') f->kind = FIELD_TIME;
            *at++ = *p;
        }
    } else if (alpha(*p)) {
        f->kind = FIELD_WORD;
        for (; alpha(*p); p++) *at++ = (char)(*p | 0x20);
    } else {
        return false;
    }
    *at++ = '\0';
    *input = p;
    *out = at;
    return true;
}

static bool cut_fields(Reader *r, const char *p)
{
    char *at = r->space;
    while (*p != '\0') {
        if (*p == ' ' || (*p >= '\t' && *p <= '\r') || *p == ',' || *p == '@') {
            p++;
            continue;
        }
        if (r->n == MAX_FIELDS || !cut_one(&r->fields[r->n], &p, &at)) return false;
        r->n++;
    }
    return r->n > 0;
}

/* ---- adding up ------------------------------------------------------------------------------- */

static Verdict add_time(Reader *r, int64_t count, int64_t unit)
{
    int64_t t;
    if (__builtin_mul_overflow(count, unit, &t) || __builtin_add_overflow(r->sum.micros, t, &r->sum.micros))
        return OVERFLOW;
    return GOOD;
}

static Verdict add_days(Reader *r, int64_t days, int64_t unit)
{
    if (__builtin_mul_overflow(days, unit, &days) || __builtin_add_overflow(r->sum.days, days, &r->sum.days))
        return OVERFLOW;
    return GOOD;
}

static Verdict add_months(Reader *r, int64_t months, int64_t unit)
{
    if (__builtin_mul_overflow(months, unit, &months) || __builtin_add_overflow(r->sum.months, months, &r->sum.months))
        return OVERFLOW;
    return GOOD;
}

/* part x unit microseconds, rounded as PostgreSQL rounds: to whole microseconds. */
static Verdict add_part_time(Reader *r, double part, int64_t unit)
{
    if (part == 0) return GOOD;
    double t = part * (double)unit;
    int64_t whole = (int64_t)t;
    double rest = t - (double)whole;
    if (rest > 0.5) whole++;
    if (rest < -0.5) whole--;
    return add_time(r, whole, 1);
}

/* part of a unit of days: whole days, then time. */
static Verdict add_part_days(Reader *r, double part, int scale)
{
    if (part == 0) return GOOD;
    part *= scale;
    int64_t days = (int64_t)part;
    Verdict v = add_days(r, days, 1);
    return v != GOOD ? v : add_part_time(r, part - (double)days, USECS_PER_DAY);
}

static Verdict add_unit(Reader *r, Unit unit, int64_t count, double part)
{
    static const int32_t years[] = {
        [UNIT_YEAR] = 1, [UNIT_DECADE] = 10, [UNIT_CENTURY] = 100, [UNIT_MILLENNIUM] = 1000};
    static const int64_t times[] = {[UNIT_MICROSECOND] = 1,
                                    [UNIT_MILLISECOND] = 1000,
                                    [UNIT_SECOND] = USECS_PER_SEC,
                                    [UNIT_MINUTE] = USECS_PER_MINUTE,
                                    [UNIT_HOUR] = USECS_PER_HOUR};
    Verdict v;
    switch (unit) {
    case UNIT_MICROSECOND:
    case UNIT_MILLISECOND:
    case UNIT_SECOND:
    case UNIT_MINUTE:
    case UNIT_HOUR: v = add_time(r, count, times[unit]); return v != GOOD ? v : add_part_time(r, part, times[unit]);
    case UNIT_DAY: v = add_days(r, count, 1); return v != GOOD ? v : add_part_time(r, part, USECS_PER_DAY);
    case UNIT_WEEK: v = add_days(r, count, 7); return v != GOOD ? v : add_part_days(r, part, 7);
    case UNIT_MONTH: v = add_months(r, count, 1); return v != GOOD ? v : add_part_days(r, part, 30);
    case UNIT_YEAR:
    case UNIT_DECADE:
    case UNIT_CENTURY:
    case UNIT_MILLENNIUM:
        v = add_months(r, count, 12 * years[unit]);
        return v != GOOD ? v : add_months(r, (int64_t)rint(part * years[unit] * 12), 1);
    case UNIT_NONE:
    case UNIT_AGO: break;
    }
    return BAD_FORMAT;
}

/* ---- reading fields -------------------------------------------------------------------------- */

static bool signed_number(const char **at, bool negative, int64_t *out)
{
    int64_t v = 0;
    const char *p = *at;
    for (; digit(*p); p++) {
        int64_t d = negative ? '0' - *p : *p - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, d, &v)) return false;
    }
    *at = p;
    *out = v;
    return true;
}

static bool whole_number(const char **at, int64_t *out)
{
    return signed_number(at, false, out);
}

static bool point_part(const char *p, double *part)
{
    if (*p != '.') return false;
    for (const char *q = p + 1; *q != '\0'; q++)
        if (!digit(*q)) return false;
    *part = p[1] == '\0' ? 0 : strtod(p, NULL);
    return true;
}

/* h:m, h:m:s, h:m:s.f; h:m means m:s where only minutes and seconds are wanted, as does m:s.f. */
static Verdict read_time(Reader *r, const Field *f, uint32_t wanted)
{
    const char *p = f->text;
    int64_t hour, minute = 0, second = 0;
    double part = 0;
    bool bad = !whole_number(&p, &hour) || *p++ != ':' || !whole_number(&p, &minute);
    if (bad) return BAD_FORMAT;
    bool shift = *p == '.' || (*p == '\0' && wanted == ((1u << 11) | (1u << 12)));
    if (*p == ':') {
        p++;
        if (!whole_number(&p, &second)) return OVERFLOW;
    }
    if (*p != '\0' && !point_part(p, &part)) return BAD_FORMAT;
    if (shift) {
        second = minute;
        minute = hour;
        hour = 0;
    }
    if (minute > 59 || second > 60) return OVERFLOW;
    int64_t sign = f->negative ? -1 : 1;
    Verdict v = add_time(r, sign * hour, USECS_PER_HOUR);
    if (v == GOOD) v = add_time(r, sign * minute, USECS_PER_MINUTE);
    if (v == GOOD) v = add_time(r, sign * second, USECS_PER_SEC);
    return v != GOOD ? v : add_time(r, sign * (int64_t)rint(part * 1e6), 1);
}

/* The unit of a bare number: the smallest field of the declared range. */
static Unit default_unit(uint32_t wanted)
{
    if (wanted & (1u << 12)) return UNIT_SECOND;
    if (wanted & (1u << 11)) return UNIT_MINUTE;
    if (wanted & (1u << 10)) return UNIT_HOUR;
    if (wanted & (1u << 3)) return UNIT_DAY;
    if (wanted & (1u << 1)) return UNIT_MONTH;
    if (wanted & (1u << 2)) return UNIT_YEAR;
    return UNIT_SECOND;
}

/* years-months */
static Verdict read_year_month(Reader *r, const Field *f, const char *p, int64_t years)
{
    int64_t months;
    if (!digit(*p) || !whole_number(&p, &months) || *p != '\0') return BAD_FORMAT;
    if (months > 11) return OVERFLOW;
    if (f->negative) months = -months;
    Verdict v = add_months(r, years, 12);
    return v != GOOD ? v : add_months(r, months, 1);
}

static Verdict read_number(Reader *r, const Field *f, Unit unit)
{
    const char *p = f->text;
    int64_t count;
    double part = 0;
    if (!signed_number(&p, f->negative, &count)) return OVERFLOW;
    if (*p == '-') {
        return read_year_month(r, f, p + 1, count);
    }
    if (*p != '\0' && !point_part(p, &part)) return BAD_FORMAT;
    if (f->negative) part = -part;
    uint32_t bit = 1u << unit; /* a fraction of seconds is milli- and microseconds too */
    if (unit == UNIT_SECOND && part != 0) bit |= 1u << UNIT_MILLISECOND | 1u << UNIT_MICROSECOND;
    if (r->mask & bit) return BAD_FORMAT;
    r->mask |= bit;
    return add_unit(r, unit, count, part);
}

static Verdict read_fields(Reader *r, uint32_t wanted)
{
    Unit unit = UNIT_NONE;
    bool ago = false, used = true;
    for (uint32_t i = r->n; i-- > 0;) {
        const Field *f = &r->fields[i];
        Verdict v = GOOD;
        if (f->kind == FIELD_TIME) {
            if (r->mask & TIME_MASK) return BAD_FORMAT;
            r->mask |= TIME_MASK;
            v = read_time(r, f, wanted);
            unit = UNIT_DAY;
        } else if (f->kind == FIELD_NUMBER) {
            bool dash = strchr(f->text, '-') != NULL;
            if (unit == UNIT_NONE && !dash) unit = default_unit(wanted);
            v = read_number(r, f, unit);
            if (unit == UNIT_HOUR) unit = UNIT_DAY; /* of a number to the left without one: '3 2 hours' */
            used = true;
        } else {
            unit = find_unit(f->text);
            if (unit == UNIT_NONE || (unit == UNIT_AGO && i + 1 != r->n) || !used) return BAD_FORMAT;
            if (unit == UNIT_AGO) {
                ago = true;
                unit = UNIT_NONE;
            } else {
                used = false;
            }
        }
        if (v != GOOD) return v;
    }
    if (!used || r->mask + (uint32_t)(r->sum.months != 0) == 0) {
        bool year_month = r->n == 1 && strchr(r->fields[0].text, '-') != NULL;
        if (!year_month) return BAD_FORMAT;
    }
    if (ago && interval_negate(r->sum, &r->sum, NULL) != TCUDB_OK) return OVERFLOW;
    return GOOD;
}

/* ---- ISO 8601: P1Y2M3W4DT5H6M7.5S, P00021015T103020, P0002-10-15T10:30:20 ------------------------------ */

/* A number as its whole part and the rest. */
static bool iso_number(const char **at, int64_t *count, double *part)
{
    char *end;
    const char *p = *at;
    if (*p == '-' || *p == '+') p++;
    if (!digit(*p) && *p != '.') return false;
    double v = strtod(*at, &end);
    if (fabs(v) >= 9e18) return false;
    *count = (int64_t)v;
    *part = v - (double)*count;
    *at = end;
    return true;
}

static uint32_t digits_of(const char *p)
{
    uint32_t n = 0;
    while (digit(p[n])) n++;
    return n;
}

/* A whole date or time written without unit letters: packed in one number, or parts between separators. */
static Verdict read_iso_parts(Reader *r, const char **at, uint32_t packed, char separator, const Unit units[3])
{
    int64_t count;
    double part;
    uint32_t n = digits_of(*at);
    if (n == packed && (*at)[n] != separator) {
        if (!iso_number(at, &count, &part)) return BAD_FORMAT;
        Verdict v = add_unit(r, units[0], count / 10000, 0);
        if (v == GOOD) v = add_unit(r, units[1], count / 100 % 100, 0);
        return v != GOOD ? v : add_unit(r, units[2], count % 100, part);
    }
    for (int k = 0; k < 3; k++) {
        if (!iso_number(at, &count, &part)) return BAD_FORMAT;
        Verdict v = add_unit(r, units[k], count, part);
        if (v != GOOD || **at != separator) return v;
        ++*at;
    }
    return GOOD;
}

static Verdict read_iso(Reader *r, const char *p)
{
    static const Unit date_parts[] = {UNIT_YEAR, UNIT_MONTH, UNIT_DAY},
                      time_parts[] = {UNIT_HOUR, UNIT_MINUTE, UNIT_SECOND};
    static const char date_letters[] = "YMWD", time_letters[] = "HMS";
    static const Unit date_units[] = {UNIT_YEAR, UNIT_MONTH, UNIT_WEEK, UNIT_DAY};
    bool time = false, any = false;
    for (p++; *p != '\0'; any = true) {
        int64_t count;
        double part;
        if (*p == 'T') {
            if (time) return BAD_FORMAT;
            time = true;
            p++;
            continue;
        }
        const char *start = p;
        if (!iso_number(&p, &count, &part)) return BAD_FORMAT;
        const char *letters = time ? time_letters : date_letters;
        const char *found = *p == '\0' ? NULL : strchr(letters, *p);
        Verdict v;
        if (found != NULL) {
            v = add_unit(r, time ? time_parts[found - letters] : date_units[found - letters], count, part);
            p++;
        } else {
            p = start;
            v = time ? read_iso_parts(r, &p, 6, ':', time_parts) : read_iso_parts(r, &p, 8, '-', date_parts);
            if (v == GOOD && *p != '\0' && *p != 'T') return BAD_FORMAT;
        }
        if (v != GOOD) return v;
    }
    return any ? GOOD : BAD_FORMAT;
}

/* INTERVAL '1 2:03' DAY TO HOUR keeps no minutes. */
static void cut_to_fields(Interval *v, uint32_t wanted)
{
    if (wanted == 0 || (wanted & (1u << 12)) != 0) return;
    if (wanted & (1u << 11)) {
        v->micros -= v->micros % USECS_PER_MINUTE;
    } else if (wanted & (1u << 10)) {
        v->micros -= v->micros % USECS_PER_HOUR;
    } else {
        v->micros = 0;
        if (wanted & (1u << 3)) return;
        v->days = 0;
        if ((wanted & (1u << 1)) == 0) v->months -= v->months % 12;
    }
}

void interval_cut(Interval *v, uint32_t fields)
{
    static const int32_t steps[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    uint32_t precision = fields >> 16;
    cut_to_fields(v, fields & INTERVAL_ALL_FIELDS);
    if (precision == 0 || precision > 6) return;
    int64_t step = steps[precision - 1], half = v->micros < 0 ? -step / 2 : step / 2;
    int64_t rounded;
    if (!__builtin_add_overflow(v->micros, half, &rounded)) v->micros = rounded - rounded % step;
}

tcudb_status interval_parse(Str text, uint32_t fields, Interval *out, Error *err)
{
    uint32_t wanted = fields & INTERVAL_ALL_FIELDS;
    char copy[MAX_TEXT];
    Reader r = {0};
    Verdict v = BAD_FORMAT;
    if (text.len > 0 && text.len < sizeof copy && memchr(text.ptr, 0, text.len) == NULL) {
        memcpy(copy, text.ptr, text.len);
        copy[text.len] = '\0';
        if (cut_fields(&r, copy)) v = read_fields(&r, wanted);
        if (v == BAD_FORMAT && copy[0] == 'P') {
            r.sum = (Interval){0};
            v = read_iso(&r, copy);
        }
    }
    *out = r.sum;
    if (v == GOOD) {
        interval_cut(out, fields);
        return TCUDB_OK;
    }
    if (text.len > ERROR_TEXT / 2) text.len = ERROR_TEXT / 2;
    if (v == OVERFLOW)
        return error_set(err, SQLSTATE_INTERVAL_FIELD_OVERFLOW, "interval field value out of range: \"" STR_FMT "\"",
                         STR_ARG(text));
    return error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid input syntax for type interval: \"" STR_FMT "\"",
                     STR_ARG(text));
}
