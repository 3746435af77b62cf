/*
 * func_to_date.c: to_date and to_timestamp: text read along a template.
 *
 * Each field reads its part of the text: a number takes the digits of its width if another number follows
 * directly, else as many as there are; a name is matched without regard to case. A separator in the template matches
 * one in the text or none; another character steps over one, unless more blanks were skipped before than the template
 * has. Afterwards the parts are put together as PostgreSQL 15 does it: a part that is 0 counts as not given, later
 * parts win over earlier ones (a Julian day over the year, a week over the month, a day of the year over none), and
 * only what was given is checked.
 */
#include "type/format.h"

#include <assert.h>

typedef enum Convention { ANY_CALENDAR, GREGORIAN, ISO_WEEKS } Convention;

typedef struct Reading {
    int32_t year, month, day, doy, julian, week, week_of_month, weekday, century, bc; /* weekday: Sunday 1 */
    int32_t hour, minute, second, seconds_of_day, millis, micros, pm;
    int32_t zone_sign, zone_hours, zone_minutes;
    int year_digits; /* of the field */
    int precision;   /* FF's; 0: all digits */
    bool half_days;  /* a 12-hour clock */
    Convention convention;
    int skipped; /* blanks and separators more than the template has */
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

static Str skip_and_count(Str s, Reading *r)
{
    Str rest = skip_blanks(s);
    r->skipped += (int)(s.len - rest.len);
    return rest;
}

/* Of the character that s begins with; 0: none. */
static uint32_t char_bytes(Str s)
{
    uint32_t n = s.len > 0;
    while (n > 0 && n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80) n++;
    return n;
}

/* ---- the fields ------------------------------------------------------------------------------------------ */

static tcudb_status bad_value(const FormatField *f, Str s, const char *detail, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT,
                                    "invalid value \"" STR_FMT "\" for \"" STR_FMT "\"", STR_ARG(s), STR_ARG(f->text));
    error_detail(err, "%s", detail);
    return status;
}

static tcudb_status bad_name(const FormatField *f, Str s, Error *err)
{
    uint32_t n = 0;
    while (n < s.len && n < ERROR_TEXT / 2 && !space(s.ptr[n])) n++;
    return bad_value(f, (Str){s.ptr, n}, "The given value did not match any of the allowed values for this field.",
                     err);
}

static tcudb_status set_part(const FormatField *f, int32_t v, int32_t *part, Error *err)
{
    if (*part != 0 && *part != v) {
        tcudb_status status =
            error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT,
                      "conflicting values for \"" STR_FMT "\" field in formatting string", STR_ARG(f->text));
        error_detail(err, "This value contradicts a previous setting for the same field type.");
        return status;
    }
    *part = v;
    return TCUDB_OK;
}

static Convention convention_of(FieldId id)
{
    switch (id) {
    case FIELD_IYYY:
    case FIELD_IYY:
    case FIELD_IY:
    case FIELD_I:
    case FIELD_IW:
    case FIELD_ID:
    case FIELD_IDDD: return ISO_WEEKS;
    case FIELD_Y_YYY:
    case FIELD_YYYY:
    case FIELD_YYY:
    case FIELD_YY:
    case FIELD_Y:
    case FIELD_MONTH_UPPER:
    case FIELD_MONTH_TITLE:
    case FIELD_MONTH_LOWER:
    case FIELD_MON_UPPER:
    case FIELD_MON_TITLE:
    case FIELD_MON_LOWER:
    case FIELD_RM_UPPER:
    case FIELD_RM_LOWER:
    case FIELD_MM:
    case FIELD_WW:
    case FIELD_W:
    case FIELD_DDD:
    case FIELD_DD:
    case FIELD_D: return GREGORIAN;
    default: return ANY_CALENDAR;
    }
}

static tcudb_status set_convention(FieldId id, Reading *r, Error *err)
{
    Convention c = convention_of(id);
    if (c == ANY_CALENDAR) return TCUDB_OK;
    if (r->convention != ANY_CALENDAR && r->convention != c) {
        tcudb_status status =
            error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid combination of date conventions");
        error_hint(err, "Do not mix Gregorian and ISO week date conventions in a formatting template.");
        return status;
    }
    r->convention = c;
    return TCUDB_OK;
}

static tcudb_status too_short(const FormatField *f, const char *message, Str s, uint32_t width, const char *detail,
                              uint32_t have, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, message, STR_ARG(s), STR_ARG(f->text));
    error_detail(err, detail, width, have);
    error_hint(err, "If your source string is not fixed-width, try using the \"FM\" modifier.");
    return status;
}

/* The characters of a sign and digits that s begins with; 0: no digits. */
static uint32_t scan_int(Str s, int64_t *v)
{
    uint32_t sign = s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'), n = sign;
    for (*v = 0; n < s.len && digit(s.ptr[n]); n++)
        if (*v <= INT32_MAX) *v = *v * 10 + (s.ptr[n] - '0');
    if (sign != 0 && s.ptr[0] == '-') *v = -*v;
    return n > sign ? n : 0;
}

/* A number of `width` characters if `fixed`, else of as many as there are. */
static tcudb_status read_int(const FormatField *f, uint32_t width, bool fixed, Str *s, int32_t *out, uint32_t *used,
                             Error *err)
{
    int64_t v;
    uint32_t blanks = s->len;
    *s = skip_blanks(*s);
    blanks -= s->len;
    Str start = {s->ptr, s->len < width ? s->len : width};
    if (fixed && s->len < width)
        return too_short(f, "source string too short for \"%.*s" STR_FMT "\" formatting field", (Str){"", 0}, width,
                         "Field requires %u characters, but only %u remain.", s->len, err);
    uint32_t n = scan_int(fixed ? start : *s, &v);
    if (fixed && n > 0 && n < width)
        return too_short(f, "invalid value \"" STR_FMT "\" for \"" STR_FMT "\"", start, width,
                         "Field requires %u characters, but only %u could be parsed.", n, err);
    if (n == 0) return bad_value(f, start, "Value must be an integer.", err);
    if (v > INT32_MAX || v < INT32_MIN) {
        tcudb_status status = error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW,
                                        "value for \"" STR_FMT "\" in source string is out of range", STR_ARG(f->text));
        error_detail(err, "Value must be in the range %d to %d.", INT32_MIN, INT32_MAX);
        return status;
    }
    *out = (int32_t)v;
    *used = blanks + n;
    *s = after(*s, n);
    return TCUDB_OK;
}

/* The longest of the names that the text begins with, in any case; letters > 0: only so many of each. */
static tcudb_status read_name(const FormatField *f, const char *const *names, int count, uint32_t letters, Str *s,
                              int32_t *found, Error *err)
{
    uint32_t longest = 0;
    for (int k = 0; k < count; k++) {
        uint32_t n = (uint32_t)strlen(names[k]), i = 0;
        if (letters > 0 && n > letters) n = letters;
        if (n > s->len || n <= longest) continue;
        while (i < n && (s->ptr[i] | 0x20) == (names[k][i] | 0x20)) i++;
        if (i < n) continue;
        *found = k;
        longest = n;
    }
    if (longest == 0) return bad_name(f, *s, err);
    *s = after(*s, longest);
    return TCUDB_OK;
}

static tcudb_status read_month(const FormatField *f, const char *const *names, uint32_t letters, Str *s, Reading *r,
                               Error *err)
{
    int32_t k = 0;
    TRY(read_name(f, names, 12, letters, s, &k, err));
    return set_part(f, k + 1, &r->month, err);
}

static tcudb_status read_day(const FormatField *f, uint32_t letters, Str *s, Reading *r, Error *err)
{
    int32_t k = 0;
    TRY(read_name(f, day_names, 7, letters, s, &k, err));
    TRY(set_part(f, k, &r->weekday, err));
    r->weekday++;
    return TCUDB_OK;
}

static tcudb_status read_zone_hours(const FormatField *f, bool fixed, Str *s, Reading *r, Error *err)
{
    uint32_t used;
    bool sign = s->ptr[0] == '+' || s->ptr[0] == '-' || s->ptr[0] == ' ';
    char c = sign || r->skipped <= 0 ? s->ptr[0] : s->ptr[-1]; /* the sign may have passed for a separator */
    r->zone_sign = c == '-' ? -1 : 1;
    if (sign) *s = after(*s, 1);
    return read_int(f, 2, fixed, s, &r->zone_hours, &used, err);
}

static tcudb_status read_word(const FormatField *f, bool fixed, Str *s, Reading *r, Error *err)
{
    static const char *const halves[] = {"am", "pm"}, *const halves_dots[] = {"a.m.", "p.m."};
    static const char *const eras[] = {"ad", "bc"}, *const eras_dots[] = {"a.d.", "b.c."};
    int32_t k = 0;
    switch (f->id) {
    case FIELD_MONTH_UPPER:
    case FIELD_MONTH_TITLE:
    case FIELD_MONTH_LOWER: return read_month(f, month_names, 0, s, r, err);
    case FIELD_MON_UPPER:
    case FIELD_MON_TITLE:
    case FIELD_MON_LOWER: return read_month(f, month_names, 3, s, r, err);
    case FIELD_RM_UPPER:
    case FIELD_RM_LOWER: return read_month(f, roman_months, 0, s, r, err);
    case FIELD_DAY_UPPER:
    case FIELD_DAY_TITLE:
    case FIELD_DAY_LOWER: return read_day(f, 0, s, r, err);
    case FIELD_DY_UPPER:
    case FIELD_DY_TITLE:
    case FIELD_DY_LOWER: return read_day(f, 3, s, r, err);
    case FIELD_AM_UPPER:
    case FIELD_PM_UPPER:
    case FIELD_AM_LOWER:
    case FIELD_PM_LOWER:
    case FIELD_AM_DOTS_UPPER:
    case FIELD_PM_DOTS_UPPER:
    case FIELD_AM_DOTS_LOWER:
    case FIELD_PM_DOTS_LOWER:
        TRY(read_name(f, f->text.len > 2 ? halves_dots : halves, 2, 0, s, &k, err));
        r->half_days = true;
        return set_part(f, k, &r->pm, err);
    case FIELD_AD_UPPER:
    case FIELD_BC_UPPER:
    case FIELD_AD_LOWER:
    case FIELD_BC_LOWER:
    case FIELD_AD_DOTS_UPPER:
    case FIELD_BC_DOTS_UPPER:
    case FIELD_AD_DOTS_LOWER:
    case FIELD_BC_DOTS_LOWER:
        TRY(read_name(f, f->text.len > 2 ? eras_dots : eras, 2, 0, s, &k, err));
        return set_part(f, k, &r->bc, err);
    case FIELD_TZH: return read_zone_hours(f, fixed, s, r, err);
    default:
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                         "formatting field \"" STR_FMT "\" is only supported in to_char", STR_ARG(f->text));
    }
}

/* Two and three digit years lie in 1970..2069. */
static int32_t full_year(int32_t year)
{
    if (year < 70) return year + 2000;
    if (year < 100) return year + 1900;
    if (year < 520) return year + 2000;
    return year < 1000 ? year + 1000 : year;
}

/* A fraction of a second of so many digits, in units of the last of `places`. */
static int32_t scale_fraction(int32_t v, uint32_t digits, uint32_t places)
{
    for (; digits < places; digits++) v *= 10;
    return v;
}

static tcudb_status read_y_yyy(const FormatField *f, Str *s, Reading *r, Error *err)
{
    int64_t thousands, rest;
    uint32_t n = scan_int(*s, &thousands), comma = n > 0 && n < s->len && s->ptr[n] == ',';
    Str behind = skip_blanks(after(*s, n + comma));
    uint32_t m = comma ? scan_int((Str){behind.ptr, behind.len < 3 ? behind.len : 3}, &rest) : 0;
    if (m == 0 || thousands > INT32_MAX / 1000 - 1 || thousands < INT32_MIN / 1000 + 1)
        return error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid input string for \"Y,YYY\"");
    r->year_digits = 4;
    *s = after(behind, m);
    return set_part(f, (int32_t)(thousands * 1000 + rest), &r->year, err);
}

static tcudb_status set_year(const FormatField *f, int32_t v, uint32_t used, int digits, Reading *r, Error *err)
{
    TRY(set_part(f, v, &r->year, err));
    if (digits < 4 && used < 4) r->year = full_year(r->year);
    r->year_digits = digits;
    return TCUDB_OK;
}

static tcudb_status set_number(const FormatField *f, int32_t v, uint32_t used, Reading *r, Error *err)
{
    switch (f->id) {
    case FIELD_YYYY:
    case FIELD_IYYY: return set_year(f, v, used, 4, r, err);
    case FIELD_YYY:
    case FIELD_IYY: return set_year(f, v, used, 3, r, err);
    case FIELD_YY:
    case FIELD_IY: return set_year(f, v, used, 2, r, err);
    case FIELD_Y:
    case FIELD_I: return set_year(f, v, used, 1, r, err);
    case FIELD_CC: return set_part(f, v, &r->century, err);
    case FIELD_MM: return set_part(f, v, &r->month, err);
    case FIELD_DD: return set_part(f, v, &r->day, err);
    case FIELD_DDD:
    case FIELD_IDDD: return set_part(f, v, &r->doy, err);
    case FIELD_D: return set_part(f, v, &r->weekday, err);
    case FIELD_ID:
        TRY(set_part(f, v, &r->weekday, err));
        r->weekday = r->weekday >= 7 ? 1 : r->weekday + 1;
        return TCUDB_OK;
    case FIELD_IW:
    case FIELD_WW: return set_part(f, v, &r->week, err);
    case FIELD_W: return set_part(f, v, &r->week_of_month, err);
    case FIELD_J: return set_part(f, v, &r->julian, err);
    case FIELD_HH:
    case FIELD_HH12: r->half_days = true; return set_part(f, v, &r->hour, err);
    case FIELD_HH24: return set_part(f, v, &r->hour, err);
    case FIELD_MI: return set_part(f, v, &r->minute, err);
    case FIELD_SS: return set_part(f, v, &r->second, err);
    case FIELD_SSSS:
    case FIELD_SSSSS: return set_part(f, v, &r->seconds_of_day, err);
    case FIELD_MS:
        TRY(set_part(f, v, &r->millis, err));
        r->millis = scale_fraction(r->millis, used, 3);
        return TCUDB_OK;
    case FIELD_TZM:
        if (r->zone_sign == 0) r->zone_sign = 1;
        return set_part(f, v, &r->zone_minutes, err);
    case FIELD_Q: return TCUDB_OK; /* read and not used */
    default:                       /* US and FF1 to FF6 */
        if (f->id != FIELD_US) r->precision = f->width;
        TRY(set_part(f, v, &r->micros, err));
        r->micros = scale_fraction(r->micros, used, 6);
        return TCUDB_OK;
    }
}

/* Whether the next field reads digits at once, so that this one must know its width. */
static bool digits_follow(const Format *f, uint32_t i)
{
    if (f->fields[i].fill || i + 1 >= f->n || f->fields[i].ordinal != 0) return false;
    const FormatField *next = &f->fields[i + 1];
    return next->id == FIELD_LITERAL ? digit(next->text.ptr[0]) : next->width > 0;
}

static uint32_t width_of(const FormatField *f)
{
    switch (f->id) {
    case FIELD_J: return 1;
    case FIELD_SSSS: return 4;
    default: return f->width;
    }
}

static tcudb_status read_field(const Format *format, uint32_t i, Str *s, Reading *r, Error *err)
{
    const FormatField *f = &format->fields[i];
    bool fixed = digits_follow(format, i);
    TRY(set_convention(f->id, r, err));
    if (f->id == FIELD_Y_YYY) {
        TRY(read_y_yyy(f, s, r, err));
    } else if (f->width == 0) {
        return read_word(f, fixed, s, r, err);
    } else {
        int32_t v = 0;
        uint32_t used = 0;
        TRY(read_int(f, width_of(f), fixed, s, &v, &used, err));
        TRY(set_number(f, v, used, r, err));
    }
    if (f->ordinal != 0) *s = after(*s, s->len < 2 ? s->len : 2);
    return TCUDB_OK;
}

static Str skip_literal(const FormatField *f, Str s, Reading *r)
{
    char c = f->text.ptr[0];
    if (((unsigned char)c & 0xc0) == 0x80) return s; /* inside a character of the template */
    if (f->exact) return after(s, char_bytes(s));
    if (!f->quoted && (space(c) || separator(c))) {
        r->skipped--;
        if (!space(s.ptr[0]) && !separator(s.ptr[0])) return s;
        r->skipped++;
        return after(s, 1);
    }
    if (r->skipped <= 0) return after(s, char_bytes(s));
    r->skipped--;
    return s;
}

static tcudb_status read_format(const Format *format, Str s, Reading *r, Error *err)
{
    for (uint32_t i = 0; i < format->n && s.len > 0; i++) {
        const FormatField *f = &format->fields[i];
        bool literal = f->id == FIELD_LITERAL;
        if (!f->exact && (!literal || i == 0)) s = skip_and_count(s, r);
        if (s.len == 0 && !literal && f->width == 0) return bad_name(f, s, err);
        if (literal) {
            s = s.len > 0 ? skip_literal(f, s, r) : s;
            continue;
        }
        TRY(read_field(format, i, &s, r, err));
        r->skipped = 0;
        if (!f->exact) s = skip_and_count(s, r);
    }
    return TCUDB_OK;
}

/* ---- putting together --------------------------------------------------------------------------------- */

enum { HAS_YEAR = 1, HAS_MONTH = 2, HAS_DAY = 4, HAS_DATE = 7 };

typedef struct Assembly {
    int64_t year, month, day;
    int has; /* what of them to check */
} Assembly;

static tcudb_status field_range(Str s, Error *err)
{
    if (s.len > ERROR_TEXT / 2) s.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "date/time field value out of range: \"" STR_FMT "\"",
                     STR_ARG(s));
}

/* From 2000-01-01; the year and the day may be any, the month 1 to 13. As date_from_civil, in 64 bits. */
static int64_t day_number(int64_t year, int64_t month, int64_t day)
{
    int64_t y = year - (month <= 2), from_march = (month + 9) % 12;
    if (month == 13) y = year, from_march = 10;
    int64_t era = (y - (y < 0 ? 399 : 0)) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * from_march + 2) / 5 + day - 1;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_2000;
}

static void set_date(Assembly *a, int64_t day)
{
    Civil c = {0, 1, 1};
    if (day >= DATE_MIN && day < DATE_END) c = date_to_civil((int32_t)day);
    *a = (Assembly){c.year, c.month, c.day, HAS_DATE};
}

/* Monday of the ISO year's first week. */
static int64_t iso_year_start(int64_t year)
{
    int64_t day = day_number(year, 1, 4);
    return day - ((day + 5) % 7 + 7) % 7; /* day 0 was a Saturday */
}

/* The 21st century are the years 2001 to 2100; the 6th before Christ 600 to 501. */
static void put_year(Reading *r, Assembly *a)
{
    int64_t century = r->bc ? -(int64_t)r->century : r->century, short_year = r->year % 100;
    if (r->year == 0 && r->century == 0) return;
    a->has |= HAS_YEAR;
    if (r->year == 0) {
        a->year = century >= 0 ? (century - 1) * 100 + 1 : century * 100 + 1;
    } else if (r->century == 0 || r->year_digits > 2) {
        a->year = r->bc ? -(int64_t)r->year : r->year;
        if (a->year < 0) a->year++; /* -44 is 44 BC */
    } else if (short_year == 0) {
        a->year = century * 100 + (century < 0);
    } else {
        a->year = century >= 0 ? short_year + (century - 1) * 100 : (century + 1) * 100 - short_year + 1;
    }
}

static void put_week(Reading *r, Assembly *a)
{
    if (r->convention == ISO_WEEKS) {
        int64_t weekday = r->weekday == 0 ? 0 : r->weekday > 1 ? r->weekday - 2 : 6; /* from Monday */
        set_date(a, iso_year_start(a->year) + (r->week - (int64_t)1) * 7 + weekday);
    } else {
        r->doy = (int32_t)((r->week - (int64_t)1) * 7 + 1);
    }
}

/* Month and day of the day of the year, where they are not given. */
static tcudb_status put_day_of_year(const Reading *r, Assembly *a, Error *err)
{
    if (a->year == 0 && !r->bc)
        return error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT,
                         "cannot calculate day of year without year information");
    if (r->convention == ISO_WEEKS) {
        set_date(a, iso_year_start(a->year) - 1 + r->doy);
        return TCUDB_OK;
    }
    int64_t month = 1, start = 0;
    for (; month <= 12; month++) {
        int64_t next = day_number(a->year, month + 1, 1) - day_number(a->year, 1, 1);
        if (r->doy <= next) break;
        start = next;
    }
    if (a->month <= 1) a->month = month;
    if (a->day <= 1) a->day = r->doy - start;
    a->has |= HAS_MONTH | HAS_DAY;
    return TCUDB_OK;
}

static tcudb_status check_date(const Assembly *a, Str s, Error *err)
{
    if ((a->has & HAS_MONTH) && (a->month < 1 || a->month > 12)) return field_range(s, err);
    if ((a->has & HAS_DAY) && (a->day < 1 || a->day > 31)) return field_range(s, err);
    if (a->has == HAS_DATE && a->day > days_in_month((int32_t)a->year, (int32_t)a->month)) return field_range(s, err);
    return TCUDB_OK;
}

static tcudb_status date_of(Reading *r, Str s, int64_t *out, Error *err)
{
    Assembly a = {0, 1, 1, 0};
    put_year(r, &a);
    if (r->julian != 0) set_date(&a, (int64_t)r->julian - JULIAN_OFFSET);
    if (r->week != 0) put_week(r, &a);
    if (r->week_of_month != 0) r->day = (int32_t)((r->week_of_month - (int64_t)1) * 7 + 1);
    if (r->day != 0) a.day = r->day, a.has |= HAS_DAY;
    if (r->month != 0) a.month = r->month, a.has |= HAS_MONTH;
    if (r->doy != 0 && (a.month <= 1 || a.day <= 1)) TRY(put_day_of_year(r, &a, err));
    TRY(check_date(&a, s, err));
    *out = day_number(a.year, a.month, a.day);
    return TCUDB_OK;
}

static tcudb_status hour_of(const Reading *r, int64_t *hour, Error *err)
{
    if (!r->half_days) return TCUDB_OK;
    if (*hour < 1 || *hour > 12) {
        tcudb_status status = error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT,
                                        "hour \"%lld\" is invalid for the 12-hour clock", (long long)*hour);
        error_hint(err, "Use the 24-hour clock, or give an hour between 1 and 12.");
        return status;
    }
    *hour = *hour % 12 + (r->pm ? 12 : 0);
    return TCUDB_OK;
}

static tcudb_status check_zone(const Reading *r, Str s, Error *err)
{
    if (r->zone_hours >= 0 && r->zone_hours <= 15 && r->zone_minutes >= 0 && r->zone_minutes < 60) return TCUDB_OK;
    if (s.len > ERROR_TEXT / 2) s.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_INVALID_TIME_ZONE_DISPLACEMENT,
                     "time zone displacement out of range: \"" STR_FMT "\"", STR_ARG(s));
}

/* The time of day, less the zone's displacement. */
static tcudb_status time_of(const Reading *r, int64_t hour, Str s, int64_t *out, Error *err)
{
    int64_t of_day = r->seconds_of_day, minute = r->minute != 0 ? r->minute : of_day / 60 % 60;
    int64_t second = r->second != 0 ? r->second : of_day % 60, micros = r->millis * INT64_C(1000) + r->micros;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || micros < 0 ||
        micros >= USECS_PER_SEC)
        return field_range(s, err);
    TRY(check_zone(r, s, err));
    int64_t zone = r->zone_sign * (r->zone_hours * INT64_C(60) + r->zone_minutes);
    *out = ((hour * 60 + minute - zone) * 60 + second) * USECS_PER_SEC + micros;
    return TCUDB_OK;
}

typedef struct Found {
    int64_t day, time; /* time: microseconds, those of the zone's displacement taken away */
    int precision;
} Found;

static tcudb_status read_moment(Arena *arena, Str s, Str template, Found *out, Error *err)
{
    Format format;
    Reading r = {0};
    TRY(format_compile(arena, template, &format, err));
    TRY(read_format(&format, s, &r, err));
    int64_t hour = r.hour != 0 ? r.hour : r.seconds_of_day / 3600;
    TRY(hour_of(&r, &hour, err));
    TRY(date_of(&r, s, &out->day, err));
    out->precision = r.precision;
    return time_of(&r, hour, s, &out->time, err);
}

static tcudb_status date_range(Str s, Error *err)
{
    if (s.len > ERROR_TEXT / 2) s.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "date out of range: \"" STR_FMT "\"", STR_ARG(s));
}

KERNEL(text_to_date)
{
    BINARY_ROWS(Str, Str, int32_t, {
        Found found = {0};
        TRY(read_moment(ctx->arena, x, y, &found, err));
        if (found.day < DATE_MIN || found.day >= DATE_END) return date_range(x, err);
        r = (int32_t)found.day;
    });
    return TCUDB_OK;
}

KERNEL(text_to_timestamp)
{
    BINARY_ROWS(Str, Str, int64_t, {
        Found found = {0};
        TRY(read_moment(ctx->arena, x, y, &found, err));
        if (__builtin_mul_overflow(found.day, USECS_PER_DAY, &r) || __builtin_add_overflow(r, found.time, &r) ||
            r < TIMESTAMP_MIN || r >= TIMESTAMP_END)
            return timestamp_range_error(err);
        if (found.precision > 0) r = timestamp_round(r, (uint8_t)(found.precision + 1));
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
