/*
 * func_extract.c: extract, date_part and date_trunc.
 *
 * The unit is text; it is parsed once a batch when constant, which it nearly always is. extract gives
 * numeric: exact integers for dates (numeric(15,0), an int64), Num with PostgreSQL's scales for timestamps
 * and intervals (seconds 6, milliseconds 3). date_part gives the same as float8. Units that grow without
 * bound are infinite for infinite values; the others are NULL.
 */
#include "type/type_int.h"

#include <assert.h>
#include <math.h>

typedef enum Unit {
    UNIT_MICROSECOND,
    UNIT_MILLISECOND,
    UNIT_SECOND,
    UNIT_MINUTE,
    UNIT_HOUR,
    UNIT_DAY,
    UNIT_WEEK,
    UNIT_MONTH,
    UNIT_QUARTER,
    UNIT_YEAR,
    UNIT_DECADE,
    UNIT_CENTURY,
    UNIT_MILLENNIUM,
    UNIT_ISOYEAR,
    UNIT_DOW,
    UNIT_ISODOW,
    UNIT_DOY,
    UNIT_EPOCH,
    UNIT_JULIAN,
    UNIT_TIMEZONE,
    UNIT_NONE
} Unit;

typedef struct UnitWord {
    const char *word;
    Unit unit;
} UnitWord;

static const UnitWord unit_words[] = {
    {"microseconds", UNIT_MICROSECOND},
    {"microsecond", UNIT_MICROSECOND},
    {"us", UNIT_MICROSECOND},
    {"usec", UNIT_MICROSECOND},
    {"usecs", UNIT_MICROSECOND},
    {"useconds", UNIT_MICROSECOND},
    {"milliseconds", UNIT_MILLISECOND},
    {"millisecond", UNIT_MILLISECOND},
    {"ms", UNIT_MILLISECOND},
    {"msec", UNIT_MILLISECOND},
    {"msecs", UNIT_MILLISECOND},
    {"mseconds", UNIT_MILLISECOND},
    {"second", UNIT_SECOND},
    {"seconds", UNIT_SECOND},
    {"sec", UNIT_SECOND},
    {"secs", UNIT_SECOND},
    {"s", UNIT_SECOND},
    {"minute", UNIT_MINUTE},
    {"minutes", UNIT_MINUTE},
    {"min", UNIT_MINUTE},
    {"mins", UNIT_MINUTE},
    {"m", UNIT_MINUTE},
    {"hour", UNIT_HOUR},
    {"hours", UNIT_HOUR},
    {"h", UNIT_HOUR},
    {"hr", UNIT_HOUR},
    {"hrs", UNIT_HOUR},
    {"day", UNIT_DAY},
    {"days", UNIT_DAY},
    {"d", UNIT_DAY},
    {"week", UNIT_WEEK},
    {"weeks", UNIT_WEEK},
    {"w", UNIT_WEEK},
    {"month", UNIT_MONTH},
    {"months", UNIT_MONTH},
    {"mon", UNIT_MONTH},
    {"mons", UNIT_MONTH},
    {"quarter", UNIT_QUARTER},
    {"qtr", UNIT_QUARTER},
    {"year", UNIT_YEAR},
    {"years", UNIT_YEAR},
    {"y", UNIT_YEAR},
    {"yr", UNIT_YEAR},
    {"yrs", UNIT_YEAR},
    {"decade", UNIT_DECADE},
    {"decades", UNIT_DECADE},
    {"dec", UNIT_DECADE},
    {"decs", UNIT_DECADE},
    {"century", UNIT_CENTURY},
    {"centuries", UNIT_CENTURY},
    {"c", UNIT_CENTURY},
    {"cent", UNIT_CENTURY},
    {"millennium", UNIT_MILLENNIUM},
    {"millennia", UNIT_MILLENNIUM},
    {"mil", UNIT_MILLENNIUM},
    {"mils", UNIT_MILLENNIUM},
    {"isoyear", UNIT_ISOYEAR},
    {"dow", UNIT_DOW},
    {"isodow", UNIT_ISODOW},
    {"doy", UNIT_DOY},
    {"epoch", UNIT_EPOCH},
    {"julian", UNIT_JULIAN},
    {"timezone", UNIT_TIMEZONE},
    {"timezone_hour", UNIT_TIMEZONE},
    {"timezone_minute", UNIT_TIMEZONE},
};

static Unit find_unit(Str text)
{
    char word[32];
    assert(text.ptr != NULL || text.len == 0);
    if (text.len >= sizeof word) return UNIT_NONE;
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        word[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    word[text.len] = '\0';
    for (size_t i = 0; i < sizeof unit_words / sizeof *unit_words; i++)
        if (strncmp(word, unit_words[i].word, 10) == 0) return unit_words[i].unit; /* ten letters count */
    return UNIT_NONE;
}

/* The unit of the row before: it is nearly always the same constant. */
typedef struct UnitMemo {
    const char *ptr;
    uint32_t len;
    Unit unit;
} UnitMemo;

static Unit memo_unit(UnitMemo *memo, Str text)
{
    if (memo->ptr != text.ptr || memo->len != text.len) *memo = (UnitMemo){text.ptr, text.len, find_unit(text)};
    return memo->unit;
}

static tcudb_status bad_unit(Str text, Unit unit, const char *type_name_, Error *err)
{
    char word[64];
    uint32_t n = text.len < sizeof word ? text.len : (uint32_t)sizeof word - 1;
    for (uint32_t i = 0; i < n; i++)
        word[i] = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? (char)(text.ptr[i] + 32) : text.ptr[i];
    word[n] = '\0';
    if (unit == UNIT_NONE)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "unit \"%s\" not recognized for type %s", word,
                         type_name_);
    return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "unit \"%s\" not supported for type %s", word, type_name_);
}

/* ---- fields of a day ------------------------------------------------------------------------- */

/* Years without a year 0, and groups of years counted from year 1 in both directions. */
static int64_t year_of(int32_t y)
{
    return y > 0 ? y : y - 1;
}

static int64_t group_of_years(int32_t y, int32_t size)
{
    return y > 0 ? (y + size - 1) / size : -((size - 1 - (y - 1)) / size);
}

/* 0 Sunday .. 6 Saturday; 2000-01-01 was a Saturday. */
static int weekday(int32_t day)
{
    int w = (int)(((int64_t)day + 6) % 7);
    return w < 0 ? w + 7 : w;
}

/* The ISO year that the day's week belongs to, and the week's number. */
static int32_t iso_year_week(int32_t day, int32_t *week)
{
    int32_t thursday = day - (weekday(day) + 6) % 7 + 3;
    Civil c = date_to_civil(thursday);
    *week = (thursday - date_from_civil((Civil){c.year, 1, 1})) / 7 + 1;
    return c.year;
}

int32_t date_iso_week(int32_t day, int32_t *iso_year)
{
    int32_t week;
    *iso_year = iso_year_week(day, &week);
    return week;
}

int date_weekday(int32_t day)
{
    return weekday(day);
}

/* False: the unit needs a time of day. */
static bool day_field(int32_t day, Unit unit, int64_t *out)
{
    Civil c = date_to_civil(day);
    int32_t week;
    switch (unit) {
    case UNIT_DAY: *out = c.day; return true;
    case UNIT_MONTH: *out = c.month; return true;
    case UNIT_QUARTER: *out = (c.month - 1) / 3 + 1; return true;
    case UNIT_WEEK:
        iso_year_week(day, &week);
        *out = week;
        return true;
    case UNIT_ISOYEAR: *out = year_of(iso_year_week(day, &week)); return true;
    case UNIT_YEAR: *out = year_of(c.year); return true;
    case UNIT_DECADE: *out = c.year >= 0 ? c.year / 10 : -((8 - (c.year - 1)) / 10); return true;
    case UNIT_CENTURY: *out = group_of_years(c.year, 100); return true;
    case UNIT_MILLENNIUM: *out = group_of_years(c.year, 1000); return true;
    case UNIT_DOW: *out = weekday(day); return true;
    case UNIT_ISODOW: *out = (weekday(day) + 6) % 7 + 1; return true;
    case UNIT_DOY: *out = day - date_from_civil((Civil){c.year, 1, 1}) + 1; return true;
    default: return false;
    }
}

static bool grows(Unit unit)
{
    return unit == UNIT_YEAR || unit == UNIT_ISOYEAR || unit == UNIT_DECADE || unit == UNIT_CENTURY ||
           unit == UNIT_MILLENNIUM || unit == UNIT_EPOCH || unit == UNIT_JULIAN;
}

/* A field of finite days, from the day and what it is in the calendar. */
#define FIELDS(name, ...)                                                                                              \
    HOT static void name(const int32_t *days, const uint16_t *sel, uint32_t n, int64_t *to)                            \
    {                                                                                                                  \
        for (uint32_t row = 0; sel == NULL && row < n; row++) {                                                        \
            UNUSED Civil c = date_to_civil(days[row]);                                                                 \
            UNUSED uint32_t since = (uint32_t)days[row] + SINCE_SUNDAY;                                                \
            to[row] = __VA_ARGS__;                                                                                     \
        }                                                                                                              \
        for (uint32_t i = 0; sel != NULL && i < n; i++) {                                                              \
            UNUSED Civil c = date_to_civil(days[sel[i]]);                                                              \
            UNUSED uint32_t since = (uint32_t)days[sel[i]] + SINCE_SUNDAY;                                             \
            to[sel[i]] = __VA_ARGS__;                                                                                  \
        }                                                                                                              \
    }

/* From a Sunday before all dates to 2000-01-01. */
enum { SINCE_SUNDAY = 7 * 400000 + 6 };

FIELDS(year_fields, c.year - (c.year <= 0))
FIELDS(quarter_fields, (c.month - 1) / 3 + 1)
FIELDS(month_fields, c.month)
FIELDS(day_fields, c.day)
FIELDS(dow_fields, since % 7)
FIELDS(isodow_fields, (since + 6) % 7 + 1)

/* The fields that everybody asks for, of finite days; false: nothing done. */
static bool common_fields(const Vector *args, const uint16_t *sel, uint32_t n, int64_t *to)
{
    const int32_t *days = args[1].data;
    if (n == 0 || args[0].form != VEC_CONST || args[1].form != VEC_FLAT) return false;
    bool finite = true;
    EACH_ROW(i, row) finite &= date_finite(days[row]);
    if (!finite) return false;
    switch (find_unit(*(const Str *)args[0].data)) {
    case UNIT_YEAR: year_fields(days, sel, n, to); return true;
    case UNIT_MONTH: month_fields(days, sel, n, to); return true;
    case UNIT_QUARTER: quarter_fields(days, sel, n, to); return true;
    case UNIT_DAY: day_fields(days, sel, n, to); return true;
    case UNIT_DOW: dow_fields(days, sel, n, to); return true;
    case UNIT_ISODOW: isodow_fields(days, sel, n, to); return true;
    default: return false;
    }
}

KERNEL(date_extract)
{
    const Str *units = args[0].data;
    const int32_t *days = args[1].data;
    int64_t *to = out->data;
    if (common_fields(args, sel, n, to)) return TCUDB_OK;
    UnitMemo memo = {.unit = UNIT_NONE};
    assert(out->phys == PHYS_I64);
    EACH_ROW(i, row)
    {
        Str text = units[row * STRIDE(args[0])];
        int32_t day = days[row * STRIDE(args[1])];
        Unit unit = memo_unit(&memo, text);
        if (unit == UNIT_NONE || unit <= UNIT_HOUR || unit == UNIT_TIMEZONE) return bad_unit(text, unit, "date", err);
        if (!date_finite(day)) {
            if (grows(unit)) return error_unsupported(err, 0, "extracting an infinite value from a date");
            TRY(set_null(ctx, out, sel, n, row, err));
        } else if (unit == UNIT_EPOCH) {
            to[row] = ((int64_t)day + UNIX_EPOCH_DAYS) * 86400;
        } else if (unit == UNIT_JULIAN) {
            to[row] = (int64_t)day + JULIAN_OFFSET;
        } else {
            day_field(day, unit, &to[row]);
        }
    }
    return TCUDB_OK;
}

/* ---- fields of a timestamp or interval --------------------------------------------------------- */

static Num scaled(int128 value, int scale)
{
    return (Num){.value = value, .scale = scale};
}

/* Fields below a day; micros of the minute are shared by timestamps and intervals. */
static bool time_field(int64_t micros, Unit unit, Num *out)
{
    int64_t of_minute = micros % USECS_PER_MINUTE;
    switch (unit) {
    case UNIT_MICROSECOND: *out = NUM_INT(of_minute); return true;
    case UNIT_MILLISECOND: *out = scaled(of_minute, 3); return true;
    case UNIT_SECOND: *out = scaled(of_minute, 6); return true;
    case UNIT_MINUTE: *out = NUM_INT(micros / USECS_PER_MINUTE % 60); return true;
    case UNIT_HOUR: *out = NUM_INT(micros / USECS_PER_HOUR); return true;
    default: return false;
    }
}

static tcudb_status timestamp_field(int64_t t, Str text, Unit unit, Num *out, Error *err)
{
    int64_t rest, value;
    int32_t day = timestamp_day(t, &rest);
    if (time_field(rest, unit, out)) return TCUDB_OK;
    if (unit == UNIT_EPOCH) {
        *out = scaled((int128)t + (int128)UNIX_EPOCH_DAYS * USECS_PER_DAY, 6);
    } else if (unit == UNIT_JULIAN) {
        Num part;
        TRY(num_div(NUM_INT(rest), NUM_INT(USECS_PER_DAY), &part, err));
        return num_add(NUM_INT((int128)day + JULIAN_OFFSET), part, out, err);
    } else if (day_field(day, unit, &value)) {
        *out = NUM_INT(value);
    } else {
        return bad_unit(text, unit, "timestamp without time zone", err);
    }
    return TCUDB_OK;
}

static tcudb_status interval_field(Interval v, Str text, Unit unit, Num *out, Error *err)
{
    int32_t years = v.months / 12;
    if (time_field(v.micros, unit, out)) return TCUDB_OK;
    switch (unit) {
    case UNIT_DAY: *out = NUM_INT(v.days); break;
    case UNIT_MONTH: *out = NUM_INT(v.months % 12); break;
    case UNIT_QUARTER: *out = NUM_INT(v.months % 12 / 3 + 1); break;
    case UNIT_YEAR: *out = NUM_INT(years); break;
    case UNIT_DECADE: *out = NUM_INT(years / 10); break;
    case UNIT_CENTURY: *out = NUM_INT(years / 100); break;
    case UNIT_MILLENNIUM: *out = NUM_INT(years / 1000); break;
    case UNIT_EPOCH: /* a year has 365.25 days, a month 30 */
        *out =
            scaled(((int128)years * 1461 + (int128)(v.months % 12) * 120 + (int128)v.days * 4) * (USECS_PER_DAY / 4) +
                       v.micros,
                   6);
        break;
    default: return bad_unit(text, unit, "interval", err);
    }
    return TCUDB_OK;
}

/* One row of extract from whatever type the second argument has. *null: the field of an infinite value. */
static tcudb_status field_at(const Vector *args, uint32_t row, UnitMemo *memo, Num *out, bool *null, Error *err)
{
    Str text = ((const Str *)args[0].data)[row * STRIDE(args[0])];
    Unit unit = memo_unit(memo, text);
    size_t k = row * STRIDE(args[1]);
    *null = false;
    if (args[1].phys == PHYS_INTERVAL) return interval_field(((const Interval *)args[1].data)[k], text, unit, out, err);
    int64_t t = ((const int64_t *)args[1].data)[k];
    if (timestamp_finite(t)) return timestamp_field(t, text, unit, out, err);
    if (unit == UNIT_NONE) return bad_unit(text, unit, "timestamp without time zone", err);
    *null = !grows(unit);
    *out = (Num){.kind = t == TIME_INFINITY ? NUM_PINF : NUM_NINF};
    return TCUDB_OK;
}

KERNEL(any_extract)
{
    Num *to = out->data;
    UnitMemo memo = {.unit = UNIT_NONE};
    EACH_ROW(i, row)
    {
        bool null;
        TRY(field_at(args, row, &memo, &to[row], &null, err));
        if (null) TRY(set_null(ctx, out, sel, n, row, err));
    }
    return TCUDB_OK;
}

KERNEL(any_date_part)
{
    double *to = out->data;
    UnitMemo memo = {.unit = UNIT_NONE};
    EACH_ROW(i, row)
    {
        Num v = NUM_INT(0);
        bool null = false;
        TRY(field_at(args, row, &memo, &v, &null, err));
        if (null)
            TRY(set_null(ctx, out, sel, n, row, err));
        else
            to[row] = num_to_float8(v);
    }
    return TCUDB_OK;
}

/* ---- date_trunc ---------------------------------------------------------------------------------- */

static int64_t trunc_unit(Unit unit)
{
    switch (unit) {
    case UNIT_MICROSECOND: return 1;
    case UNIT_MILLISECOND: return 1000;
    case UNIT_SECOND: return USECS_PER_SEC;
    case UNIT_MINUTE: return USECS_PER_MINUTE;
    case UNIT_HOUR: return USECS_PER_HOUR;
    case UNIT_DAY: return USECS_PER_DAY;
    default: return 0;
    }
}

/* Fields that are no units of length are unknown words to date_trunc. */
static Unit trunc_name(Unit unit)
{
    return unit >= UNIT_ISOYEAR && unit <= UNIT_JULIAN ? UNIT_NONE : unit;
}

/* The first year of the group of `size` years that begin with 1, 101, ... */
static int32_t group_start(int32_t y, int32_t size)
{
    return y > 0 ? (y + size - 1) / size * size - (size - 1) : -((size - 1 - (y - 1)) / size) * size + 1;
}

static tcudb_status truncate_timestamp(int64_t t, Str text, Unit unit, int64_t *out, Error *err)
{
    int64_t step = trunc_unit(unit), rest;
    int32_t day = timestamp_day(t, &rest);
    if (step > 0) {
        *out = t - rest % step;
        if (step == USECS_PER_DAY) *out = t - rest;
        return TCUDB_OK;
    }
    Moment m = {.date = date_to_civil(day)};
    m.date.day = 1;
    switch (unit) {
    case UNIT_WEEK: *out = (day - (weekday(day) + 6) % 7) * USECS_PER_DAY; return TCUDB_OK;
    case UNIT_MONTH: break;
    case UNIT_QUARTER: m.date.month = (m.date.month - 1) / 3 * 3 + 1; break;
    case UNIT_YEAR: m.date.month = 1; break;
    case UNIT_DECADE:
        m.date = (Civil){m.date.year > 0 ? m.date.year / 10 * 10 : -((8 - (m.date.year - 1)) / 10) * 10, 1, 1};
        break;
    case UNIT_CENTURY: m.date = (Civil){group_start(m.date.year, 100), 1, 1}; break;
    case UNIT_MILLENNIUM: m.date = (Civil){group_start(m.date.year, 1000), 1, 1}; break;
    default: return bad_unit(text, trunc_name(unit), "timestamp without time zone", err);
    }
    return timestamp_join(m, out, err);
}

KERNEL(timestamp_trunc)
{
    const Str *units = args[0].data;
    const int64_t *times = args[1].data;
    int64_t *to = out->data;
    UnitMemo memo = {.unit = UNIT_NONE};
    EACH_ROW(i, row)
    {
        Str text = units[row * STRIDE(args[0])];
        int64_t t = times[row * STRIDE(args[1])];
        Unit unit = memo_unit(&memo, text);
        to[row] = t;
        if (timestamp_finite(t)) TRY(truncate_timestamp(t, text, unit, &to[row], err));
    }
    return TCUDB_OK;
}

static tcudb_status truncate_interval(Interval v, Str text, Unit unit, Interval *out, Error *err)
{
    static const int32_t years[] = {
        [UNIT_YEAR] = 1, [UNIT_DECADE] = 10, [UNIT_CENTURY] = 100, [UNIT_MILLENNIUM] = 1000};
    int64_t step = trunc_unit(unit);
    if (unit == UNIT_DAY) {
        v.micros = 0;
    } else if (step > 0) {
        v.micros -= v.micros % step;
    } else if (unit == UNIT_MONTH || unit == UNIT_QUARTER) {
        v = (Interval){.months = unit == UNIT_MONTH ? v.months : v.months - v.months % 3};
    } else if (unit >= UNIT_YEAR && unit <= UNIT_MILLENNIUM) {
        v = (Interval){.months = v.months - v.months % (12 * years[unit])};
    } else {
        tcudb_status status = bad_unit(text, trunc_name(unit), "interval", err);
        if (unit == UNIT_WEEK) error_detail(err, "Months usually have fractional weeks.");
        return status;
    }
    *out = v;
    return TCUDB_OK;
}

KERNEL(interval_trunc)
{
    const Str *units = args[0].data;
    const Interval *intervals = args[1].data;
    Interval *to = out->data;
    UnitMemo memo = {.unit = UNIT_NONE};
    EACH_ROW(i, row)
    {
        Str text = units[row * STRIDE(args[0])];
        TRY(truncate_interval(intervals[row * STRIDE(args[1])], text, memo_unit(&memo, text), &to[row], err));
    }
    return TCUDB_OK;
}
