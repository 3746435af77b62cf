/*
 * datetime_parse.c: dates and timestamps from text, in the many forms that PostgreSQL takes.
 *
 *   '1999-01-08'  '19990108'  '990108'  'January 8, 1999'  '8-Jan-99'  '1/8/1999'  '1999.008'  'J2451187'
 *   '1999-01-08 04:05:06.789'  '1999-01-08T04:05'  '040506'  '04:05 PM'  '... BC'  '... +02'  'infinity'
 *
 * Two steps, as in PostgreSQL: cut the text into fields by shape (a date, a time, a number, a word, a zone),
 * then give each field a meaning from what is already known. A bare number becomes year, month or day by
 * its length and by which of the three are still open (month before day; three digits and more are a
 * year). A time zone is read and ignored, as timestamp without time zone demands.
 *
 * Limits: 'now' and 'today' are the moment of reading, not the transaction's start. Zones by region name
 * ('Europe/Rome') are not known.
 */
#include "type/datetime.h"
#include "type/type_int.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_FIELDS = 25, MAX_TEXT = 128 };

typedef enum FieldKind { FIELD_NUMBER, FIELD_DATE, FIELD_TIME, FIELD_WORD, FIELD_ZONE, FIELD_SPECIAL } FieldKind;

typedef struct Field {
    FieldKind kind;
    const char *text; /* NUL-terminated, lower case */
} Field;

/* What has been found so far; bits of `have`. */
enum { HAVE_YEAR = 1, HAVE_MONTH = 2, HAVE_DAY = 4, HAVE_DOY = 8, HAVE_TIME = 16, HAVE_ZONE = 32, HAVE_DATE = 7 };

typedef struct Decoder {
    char space[2 * MAX_TEXT + 2 * MAX_FIELDS]; /* the fields' text */
    Field fields[MAX_FIELDS];
    uint32_t nfields;
    uint32_t have;
    int32_t year, month, day, doy;
    int32_t hour, minute, second, micros;
    int32_t julian;
    bool two_digits, text_month, bc, era, is_julian;
    char meridian; /* 'a', 'p' or 0 */
    int special;   /* 1: infinity, -1: -infinity */
    bool is_epoch;
} Decoder;

/* Outcomes of decoding; each is an error of its own in PostgreSQL. */
typedef enum Verdict { GOOD, BAD_FORMAT, FIELD_OVERFLOW, MONTH_DAY_OVERFLOW, ZONE_OVERFLOW } Verdict;

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_zone(const char *word)
{
    static const char *const words[] = {"z",    "utc", "gmt",  "zulu", "ut",   "est",  "edt",  "cst",
                                        "cdt",  "mst", "mdt",  "pst",  "pdt",  "cet",  "cest", "met",
                                        "mest", "eet", "eest", "wet",  "west", "bst",  "ist",  "jst",
                                        "msk",  "hst", "akst", "akdt", "aest", "aedt", "nzst", "nzdt"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) return true;
    return false;
}

/* ---- step 1: fields by shape ----------------------------------------------------------------- */

typedef struct Cutter {
    const char *p; /* NUL-terminated input */
    char *at;      /* where the next field's text goes */
} Cutter;

static void take(Cutter *c)
{
    char ch = *c->p++;
    *c->at++ = ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) : ch;
}

static void take_digits(Cutter *c)
{
    while (digit(*c->p)) take(c);
}

/* A field that begins with a digit. */
static FieldKind cut_digits(Cutter *c)
{
    take_digits(c);
    if (*c->p == ':') {
        while (digit(*c->p) || *c->p == ':' || *c->p == '.') take(c);
        return FIELD_TIME;
    }
    if (*c->p != '-' && *c->p != '/' && *c->p != '.') return FIELD_NUMBER;
    char delimiter = *c->p;
    take(c);
    if (digit(*c->p)) {
        FieldKind kind = delimiter == '.' ? FIELD_NUMBER : FIELD_DATE;
        take_digits(c);
        if (*c->p != delimiter) return kind;
        take(c);
        while (digit(*c->p) || *c->p == delimiter) take(c);
        return FIELD_DATE;
    }
    while (digit(*c->p) || alpha(*c->p) || *c->p == delimiter) take(c);
    return FIELD_DATE;
}

static FieldKind cut_word(Cutter *c)
{
    char *start = c->at;
    while (alpha(*c->p)) take(c);
    *c->at = '\0';
    if (is_zone(start) || (*c->p != '-' && *c->p != '/' && *c->p != '.')) return FIELD_WORD;
    char delimiter = *c->p;
    if (delimiter == '.' && !digit(c->p[1])) { /* "Jan. 8": an ignored point */
        c->p++;
        return FIELD_WORD;
    }
    while (digit(*c->p) || alpha(*c->p) || *c->p == delimiter) take(c);
    return FIELD_DATE;
}

static bool cut_signed(Cutter *c, FieldKind *kind)
{
    take(c);
    while (space(*c->p)) c->p++;
    if (digit(*c->p)) {
        *kind = FIELD_ZONE;
        while (digit(*c->p) || *c->p == ':' || *c->p == '.') take(c);
        return true;
    }
    *kind = FIELD_SPECIAL;
    if (!alpha(*c->p)) return false;
    while (alpha(*c->p)) take(c);
    return true;
}

static bool cut_fields(Decoder *d, const char *text)
{
    Cutter c = {text, d->space};
    while (*c.p != '\0') {
        if (space(*c.p)) {
            c.p++;
            continue;
        }
        if (d->nfields == MAX_FIELDS) return false;
        Field *f = &d->fields[d->nfields];
        f->text = c.at;
        if (digit(*c.p)) {
            f->kind = cut_digits(&c);
        } else if (*c.p == '.') {
            take(&c);
            take_digits(&c);
            f->kind = FIELD_NUMBER;
        } else if (alpha(*c.p)) {
            f->kind = cut_word(&c);
        } else if (*c.p == '+' || *c.p == '-') {
            if (!cut_signed(&c, &f->kind)) return false;
        } else if (*c.p > ' ' && *c.p < 127) {
            c.p++; /* other punctuation separates */
            continue;
        } else {
            return false;
        }
        *c.at++ = '\0';
        d->nfields++;
    }
    return d->nfields > 0;
}

/* ---- step 2: meanings ------------------------------------------------------------------------ */

static int find_month(const char *word)
{
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    size_t n = strlen(word);
    if (strcmp(word, "sept") == 0) return 9;
    for (int i = 0; i < 12; i++)
        if (strcmp(word, names[i]) == 0 || (n == 3 && strncmp(word, names[i], 3) == 0)) return i + 1;
    return 0;
}

static bool is_ignored(const char *word)
{
    static const char *const words[] = {"at",    "on",       "sun", "sunday", "mon",       "monday",  "tue",
                                        "tues",  "tuesday",  "wed", "weds",   "wednesday", "thu",     "thur",
                                        "thurs", "thursday", "fri", "friday", "sat",       "saturday"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) return true;
    return false;
}

/* Digits as a number, stopping at the first other character; false beyond int32. */
static bool number(const char **at, int32_t *out)
{
    int64_t v = 0;
    const char *p = *at;
    for (; digit(*p); p++) {
        v = v * 10 + (*p - '0');
        if (v > INT32_MAX) return false;
    }
    *out = (int32_t)v;
    *at = p;
    return true;
}

/* ".789" as microseconds; rounding may give 1000000. */
static bool fraction(const char *p, int32_t *micros)
{
    if (*p != '.') return false;
    for (const char *q = p + 1; *q != '\0'; q++)
        if (!digit(*q)) return false;
    *micros = p[1] == '\0' ? 0 : (int32_t)rint(strtod(p, NULL) * 1e6);
    return true;
}

static Verdict set_time(Decoder *d, int32_t hour, int32_t minute, int32_t second, int32_t micros)
{
    if (d->have & HAVE_TIME) return BAD_FORMAT;
    d->have |= HAVE_TIME;
    if (minute > 59 || second > 60 || hour > 24) return FIELD_OVERFLOW;
    if (hour == 24 && (minute > 0 || second > 0 || micros > 0)) return FIELD_OVERFLOW;
    d->hour = hour;
    d->minute = minute;
    d->second = second;
    d->micros = micros;
    return GOOD;
}

/* hh:mm, hh:mm:ss, hh:mm:ss.ffffff; mm:ss.fff counts as minutes and seconds for intervals only. */
static Verdict decode_time(Decoder *d, const char *p)
{
    int32_t hour, minute = 0, second = 0, micros = 0;
    if (!number(&p, &hour)) return FIELD_OVERFLOW;
    if (*p++ != ':') return BAD_FORMAT;
    if (!number(&p, &minute)) return FIELD_OVERFLOW;
    if (*p == '.') { /* mm:ss.fff */
        if (!fraction(p, &micros)) return BAD_FORMAT;
        second = minute;
        minute = hour;
        hour = 0;
    } else if (*p == ':') {
        p++;
        if (!number(&p, &second)) return FIELD_OVERFLOW;
        if (*p != '\0' && !fraction(p, &micros)) return BAD_FORMAT;
    } else if (*p != '\0') {
        return BAD_FORMAT;
    }
    return set_time(d, hour, minute, second, micros);
}

static int32_t digits_value(const char *p, size_t n)
{
    int32_t v = 0;
    for (size_t i = 0; i < n; i++) v = v * 10 + (p[i] - '0');
    return v;
}

/* A run of digits, perhaps with a fraction: yyyymmdd, yymmdd, hhmmss, hhmm. */
static Verdict decode_run(Decoder *d, const char *p)
{
    size_t n = strspn(p, "0123456789");
    int32_t micros = 0;
    if (n > 9) return MONTH_DAY_OVERFLOW;
    if (p[n] != '\0') { /* a fraction: can only be a time */
        if (!fraction(p + n, &micros)) return BAD_FORMAT;
    } else if ((d->have & HAVE_DATE) != HAVE_DATE) {
        if (n < 6) return BAD_FORMAT;
        d->have |= HAVE_DATE;
        d->day = digits_value(p + n - 2, 2);
        d->month = digits_value(p + n - 4, 2);
        d->year = digits_value(p, n - 4);
        d->two_digits = n == 6;
        return GOOD;
    }
    if (n == 6) return set_time(d, digits_value(p, 2), digits_value(p + 2, 2), digits_value(p + 4, 2), micros);
    if (n == 4) return set_time(d, digits_value(p, 2), digits_value(p + 2, 2), 0, micros);
    return BAD_FORMAT;
}

static Verdict set_part(Decoder *d, uint32_t part, int32_t value, size_t digits)
{
    if (d->have & part) return BAD_FORMAT;
    d->have |= part;
    if (part == HAVE_YEAR) {
        d->year = value;
        d->two_digits = digits <= 2;
    } else if (part == HAVE_MONTH) {
        d->month = value;
    } else {
        d->day = value;
    }
    return GOOD;
}

/* One number without a name: which part it is follows from the parts known and its length. */
static Verdict decode_number(Decoder *d, const char *p)
{
    const char *start = p;
    int32_t value;
    if (!digit(*p) || !number(&p, &value)) return *p == '.' ? BAD_FORMAT : FIELD_OVERFLOW;
    size_t n = (size_t)(p - start);
    if (*p == '.') {
        if (n > 2) return decode_run(d, start); /* hhmmss.fff */
        return BAD_FORMAT;
    }
    if (*p != '\0') return BAD_FORMAT;
    uint32_t known = d->have & HAVE_DATE;
    if (n == 3 && known == HAVE_YEAR && value >= 1 && value <= 366) {
        d->have |= HAVE_MONTH | HAVE_DAY | HAVE_DOY;
        d->doy = value;
        return GOOD;
    }
    switch (known) {
    case 0: return set_part(d, n >= 3 ? HAVE_YEAR : HAVE_MONTH, value, n);
    case HAVE_YEAR: return set_part(d, HAVE_MONTH, value, n);
    case HAVE_MONTH: return set_part(d, d->text_month && n >= 3 ? HAVE_YEAR : HAVE_DAY, value, n);
    case HAVE_DAY: return set_part(d, HAVE_MONTH, value, n);
    case HAVE_YEAR | HAVE_MONTH:
        if (d->text_month && n >= 3 && d->two_digits) { /* the "year" before was the day: 08-Jan-1999 */
            d->day = d->year;
            d->year = value;
            d->two_digits = false;
            d->have |= HAVE_DAY;
            return GOOD;
        }
        return set_part(d, HAVE_DAY, value, n);
    case HAVE_MONTH | HAVE_DAY: return set_part(d, HAVE_YEAR, value, n);
    case HAVE_DATE: return decode_run(d, start);
    default: return BAD_FORMAT; /* year and day */
    }
}

static Verdict decode_month(Decoder *d, int month)
{
    if (d->have & HAVE_MONTH) {
        /* The number taken for the month was the day: "8 Jan 1999". */
        if (d->text_month || (d->have & HAVE_DAY) || d->month < 1 || d->month > 31) return BAD_FORMAT;
        d->day = d->month;
        d->have |= HAVE_DAY;
    }
    d->have |= HAVE_MONTH;
    d->month = month;
    d->text_month = true;
    return GOOD;
}

/* 1999-01-08, 8-Jan-1999, 1999.008: parts between delimiters; a month's name first, then the numbers. */
static Verdict decode_date(Decoder *d, const char *text)
{
    char copy[MAX_TEXT];
    char *parts[3];
    uint32_t n = 0;
    size_t len = strlen(text);
    if (len >= sizeof copy) return BAD_FORMAT;
    memcpy(copy, text, len + 1);
    for (char *p = copy; *p != '\0';) {
        while (*p != '\0' && !digit(*p) && !alpha(*p)) p++;
        if (*p == '\0') break;
        if (n == 3) return BAD_FORMAT;
        parts[n++] = p;
        bool digits = digit(*p);
        while (*p != '\0' && (digits ? digit(*p) : alpha(*p))) p++;
        if (*p != '\0' && !digit(*p) && !alpha(*p))
            *p++ = '\0';
        else if (*p != '\0')
            return BAD_FORMAT;
    }
    if (d->have & HAVE_DATE) return BAD_FORMAT;
    for (uint32_t i = 0; i < n; i++) {
        if (!alpha(parts[i][0])) continue;
        int month = find_month(parts[i]);
        if (month == 0) return BAD_FORMAT;
        Verdict v = decode_month(d, month);
        if (v != GOOD) return v;
        parts[i] = NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i] == NULL) continue;
        Verdict v = decode_number(d, parts[i]);
        if (v != GOOD) return v;
    }
    return (d->have & HAVE_DATE) == HAVE_DATE ? GOOD : BAD_FORMAT;
}

static Verdict decode_zone(Decoder *d, const char *p)
{
    int32_t hour, minute = 0;
    p++; /* the sign */
    size_t n = strspn(p, "0123456789");
    if (!number(&p, &hour)) return ZONE_OVERFLOW;
    if (*p == ':') {
        p++;
        if (!number(&p, &minute)) return ZONE_OVERFLOW;
        if (*p == ':') p += 1 + strspn(p + 1, "0123456789");
    } else if (n > 2) {
        minute = hour % 100;
        hour /= 100;
    }
    if (*p != '\0') return BAD_FORMAT;
    if (hour > 15 || minute > 59) return ZONE_OVERFLOW;
    d->have |= HAVE_ZONE;
    return GOOD;
}

/* today and its neighbours by the system's clock, UTC; now has the time as well. */
static Verdict decode_clock(Decoder *d, int days, bool with_time)
{
    struct timespec ts;
    if (d->have & HAVE_DATE || clock_gettime(CLOCK_REALTIME, &ts) != 0) return BAD_FORMAT;
    int64_t seconds = (int64_t)ts.tv_sec % 86400;
    Civil c = date_to_civil((int32_t)(ts.tv_sec / 86400) - UNIX_EPOCH_DAYS + days);
    d->year = c.year;
    d->month = c.month;
    d->day = c.day;
    d->have |= HAVE_DATE;
    if (!with_time) return GOOD;
    return set_time(d, (int32_t)(seconds / 3600), (int32_t)(seconds / 60 % 60), (int32_t)(seconds % 60),
                    (int32_t)(ts.tv_nsec / 1000));
}

static Verdict decode_word(Decoder *d, const char *word)
{
    int month = find_month(word);
    if (month != 0) return decode_month(d, month);
    if (strcmp(word, "am") == 0 || strcmp(word, "pm") == 0) {
        d->meridian = word[0];
        return GOOD;
    }
    if (strcmp(word, "bc") == 0 || strcmp(word, "ad") == 0) {
        if (d->era) return BAD_FORMAT;
        d->era = true;
        d->bc = word[0] == 'b';
        return GOOD;
    }
    if (strcmp(word, "infinity") == 0) {
        d->special = 1;
        return GOOD;
    }
    if (strcmp(word, "epoch") == 0) {
        d->is_epoch = true;
        return GOOD;
    }
    if (strcmp(word, "allballs") == 0) return set_time(d, 0, 0, 0, 0);
    static const char *const days[] = {"yesterday", "today", "tomorrow", "now"};
    for (int i = 0; i < 4; i++)
        if (strcmp(word, days[i]) == 0) return decode_clock(d, i < 3 ? i - 1 : 0, i == 3);
    if (is_ignored(word)) return GOOD;
    if (is_zone(word)) {
        d->have |= HAVE_ZONE;
        return GOOD;
    }
    return BAD_FORMAT;
}

static Verdict decode_julian(Decoder *d, const char *p)
{
    int32_t day;
    if (!number(&p, &day)) return FIELD_OVERFLOW;
    if (*p != '\0') return BAD_FORMAT;
    d->is_julian = true;
    d->julian = day;
    d->have |= HAVE_DATE;
    return GOOD;
}

/* A long number is a date or time written together; a short one a part; with a point a time or year.day. */
static Verdict decode_field_number(Decoder *d, const char *text)
{
    size_t n = strlen(text), digits = strspn(text, "0123456789");
    if (digits < n) {
        if (!(d->have & HAVE_DATE)) return decode_date(d, text); /* 1999.008 */
        return digits > 2 ? decode_run(d, text) : decode_number(d, text);
    }
    bool dated = (d->have & HAVE_DATE) == HAVE_DATE;
    if (n >= 6 && (!dated || !(d->have & HAVE_TIME))) return decode_run(d, text);
    return decode_number(d, text);
}

static Verdict decode_field(Decoder *d, uint32_t *i)
{
    const Field *f = &d->fields[*i];
    switch (f->kind) {
    case FIELD_NUMBER: return decode_field_number(d, f->text);
    case FIELD_TIME: return decode_time(d, f->text);
    case FIELD_ZONE: return decode_zone(d, f->text);
    case FIELD_DATE: return decode_date(d, f->text);
    case FIELD_SPECIAL:
        if (strcmp(f->text + 1, "infinity") != 0) return BAD_FORMAT;
        d->special = f->text[0] == '-' ? -1 : 1;
        return GOOD;
    case FIELD_WORD: break;
    }
    bool last = *i + 1 == d->nfields;
    if (strcmp(f->text, "j") == 0 && !last && d->fields[*i + 1].kind == FIELD_NUMBER)
        return decode_julian(d, d->fields[++*i].text);
    if (strcmp(f->text, "t") == 0 && !last && (d->have & HAVE_DATE) == HAVE_DATE) return GOOD;
    return decode_word(d, f->text);
}

/* ---- checking -------------------------------------------------------------------------------- */

static Verdict check_year(Decoder *d)
{
    if (d->is_julian) return GOOD;
    if (d->bc) {
        if (d->year <= 0) return FIELD_OVERFLOW;
        d->year = 1 - d->year;
    } else if (d->two_digits) {
        d->year += d->year < 70 ? 2000 : d->year < 100 ? 1900 : 0;
    } else if (d->year <= 0) {
        return FIELD_OVERFLOW;
    }
    return GOOD;
}

static Verdict check(Decoder *d)
{
    Verdict v = check_year(d);
    if (v != GOOD) return v;
    if (d->have & HAVE_DOY) {
        d->month = 1;
        while (d->month < 12 && d->doy > days_in_month(d->year, d->month)) d->doy -= days_in_month(d->year, d->month++);
        d->day = d->doy;
    }
    if (!d->is_julian) {
        if (d->month < 1 || d->month > 12) return MONTH_DAY_OVERFLOW;
        if (d->day < 1 || d->day > 31) return MONTH_DAY_OVERFLOW;
        if (d->day > days_in_month(d->year, d->month)) return FIELD_OVERFLOW;
    }
    if (d->meridian != 0) {
        if (d->hour > 12) return FIELD_OVERFLOW;
        if (d->meridian == 'p' && d->hour != 12) d->hour += 12;
        if (d->meridian == 'a' && d->hour == 12) d->hour = 0;
    }
    return GOOD;
}

static Verdict decode(Decoder *d, Str text)
{
    char copy[MAX_TEXT];
    if (text.len == 0 || text.len >= sizeof copy || memchr(text.ptr, 0, text.len) != NULL) return BAD_FORMAT;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (!cut_fields(d, copy)) return BAD_FORMAT;
    for (uint32_t i = 0; i < d->nfields; i++) {
        Verdict v = decode_field(d, &i);
        if (v != GOOD) return v;
    }
    if (d->special != 0 || d->is_epoch) return d->nfields == 1 ? GOOD : BAD_FORMAT;
    if ((d->have & HAVE_DATE) != HAVE_DATE) return BAD_FORMAT;
    return check(d);
}

static tcudb_status verdict_error(Verdict v, const char *type_name_, Str text, Error *err)
{
    if (text.len > ERROR_TEXT / 2) text.len = ERROR_TEXT / 2;
    assert(v != GOOD);
    if (v == BAD_FORMAT)
        return error_set(err, SQLSTATE_INVALID_DATETIME_FORMAT, "invalid input syntax for type %s: \"" STR_FMT "\"",
                         type_name_, STR_ARG(text));
    if (v == ZONE_OVERFLOW)
        return error_set(err, SQLSTATE_INVALID_TIME_ZONE_DISPLACEMENT,
                         "time zone displacement out of range: \"" STR_FMT "\"", STR_ARG(text));
    tcudb_status status = error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW,
                                    "date/time field value out of range: \"" STR_FMT "\"", STR_ARG(text));
    if (v == MONTH_DAY_OVERFLOW) error_hint(err, "Perhaps you need a different \"datestyle\" setting.");
    return status;
}

static tcudb_status decoded_day(const Decoder *d, const char *type_name_, Str text, int32_t *out, Error *err)
{
    int64_t day = d->is_julian ? (int64_t)d->julian - JULIAN_OFFSET : 0;
    bool bad = !d->is_julian && (d->year < -4713 || d->year > 5874897);
    if (!bad && !d->is_julian) day = date_from_civil((Civil){d->year, d->month, d->day});
    if (bad || day < DATE_MIN || day >= DATE_END) {
        if (text.len > ERROR_TEXT / 2) text.len = ERROR_TEXT / 2;
        return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "%s out of range: \"" STR_FMT "\"", type_name_,
                         STR_ARG(text));
    }
    *out = (int32_t)day;
    return TCUDB_OK;
}

/* yyyy-mm-dd, the form of nearly all data: read without cutting fields. */
static bool parse_iso_day(Str text, int32_t *out)
{
    const char *p = text.ptr;
    if (text.len < 10 || p[4] != '-' || p[7] != '-') return false;
    for (int i = 0; i < 10; i++)
        if (i != 4 && i != 7 && !digit(p[i])) return false;
    Civil c = {digits_value(p, 4), digits_value(p + 5, 2), digits_value(p + 8, 2)};
    if (c.year < 1 || c.month < 1 || c.month > 12 || c.day < 1 || c.day > days_in_month(c.year, c.month)) return false;
    *out = date_from_civil(c);
    return true;
}

tcudb_status date_parse(Str text, int32_t *out, Error *err)
{
    if (text.len == 10 && parse_iso_day(text, out)) return TCUDB_OK;
    Decoder d = {0};
    Verdict v = decode(&d, text);
    if (v != GOOD) return verdict_error(v, "date", text, err);
    if (d.special != 0 || d.is_epoch) {
        *out = d.is_epoch ? -UNIX_EPOCH_DAYS : d.special > 0 ? DATE_INFINITY : DATE_MINUS_INFINITY;
        return TCUDB_OK;
    }
    return decoded_day(&d, "date", text, out, err);
}

tcudb_status timestamp_parse(Str text, int64_t *out, Error *err)
{
    Decoder d = {0};
    int32_t day = 0;
    Verdict v = decode(&d, text);
    if (v != GOOD) return verdict_error(v, "timestamp", text, err);
    if (d.special != 0 || d.is_epoch) {
        *out = d.is_epoch ? -UNIX_EPOCH_DAYS * USECS_PER_DAY : d.special > 0 ? TIME_INFINITY : TIME_MINUS_INFINITY;
        return TCUDB_OK;
    }
    TRY(decoded_day(&d, "timestamp", text, &day, err));
    int128 t =
        (int128)day * USECS_PER_DAY + ((d.hour * INT64_C(60) + d.minute) * 60 + d.second) * USECS_PER_SEC + d.micros;
    if (t < TIMESTAMP_MIN || t >= TIMESTAMP_END) {
        if (text.len > ERROR_TEXT / 2) text.len = ERROR_TEXT / 2;
        return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "timestamp out of range: \"" STR_FMT "\"",
                         STR_ARG(text));
    }
    *out = (int64_t)t;
    return TCUDB_OK;
}
