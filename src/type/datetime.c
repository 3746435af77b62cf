/*
 * datetime.c: the calendar and the printing of dates and timestamps.
 *
 * Days <-> year, month, day by counting 400-year eras of 146097 days with years that begin in March, so
 * that the leap day is a year's last (the method is Howard Hinnant's "chrono-compatible low-level date
 * algorithms"). Both directions are branch-light integer arithmetic, a few nanoseconds.
 */
#include "type/datetime.h"
#include "type/type_int.h"

#include <assert.h>

int32_t date_from_civil(Civil c)
{
    int64_t y = (int64_t)c.year - (c.month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int32_t)(era * 146097 + day_of_era - DAYS_TO_2000);
}

int days_in_month(int32_t year, int32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    assert(month >= 1 && month <= 12);
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

int32_t timestamp_day(int64_t t, int64_t *rest)
{
    int64_t day = t / USECS_PER_DAY;
    *rest = t % USECS_PER_DAY;
    if (*rest < 0) {
        *rest += USECS_PER_DAY;
        day--;
    }
    return (int32_t)day;
}

Moment timestamp_split(int64_t t)
{
    int64_t rest;
    int32_t day = timestamp_day(t, &rest);
    int32_t seconds = (int32_t)(rest / USECS_PER_SEC);
    return (Moment){
        .date = date_to_civil(day),
        .hour = seconds / 3600,
        .minute = seconds / 60 % 60,
        .second = seconds % 60,
        .micros = (int32_t)(rest % USECS_PER_SEC),
    };
}

tcudb_status timestamp_range_error(Error *err)
{
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "timestamp out of range");
}

tcudb_status date_range_error(Error *err)
{
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "date out of range");
}

tcudb_status interval_range_error(Error *err)
{
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "interval out of range");
}

tcudb_status timestamp_join(Moment m, int64_t *out, Error *err)
{
    int64_t time = ((m.hour * INT64_C(60) + m.minute) * 60 + m.second) * USECS_PER_SEC + m.micros;
    int64_t t;
    if (m.date.year < -4713 || m.date.year > 294276) return timestamp_range_error(err);
    if (__builtin_mul_overflow((int64_t)date_from_civil(m.date), USECS_PER_DAY, &t) ||
        __builtin_add_overflow(t, time, &t) || t < TIMESTAMP_MIN || t >= TIMESTAMP_END)
        return timestamp_range_error(err);
    *out = t;
    return TCUDB_OK;
}

tcudb_status timestamp_from_date(int32_t d, int64_t *out, Error *err)
{
    if (!date_finite(d)) {
        *out = d == DATE_INFINITY ? TIME_INFINITY : TIME_MINUS_INFINITY;
        return TCUDB_OK;
    }
    if (d >= TIMESTAMP_END / USECS_PER_DAY)
        return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "date out of range for timestamp");
    *out = d * USECS_PER_DAY;
    return TCUDB_OK;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* At least `width` digits, zeros in front. */
static char *put_number(char *at, uint32_t value, int width)
{
    char reversed[12];
    int n = 0;
    if (width == 2 ? value < 100 : width == 4 && value < 10000) {
        digits_print(value, (uint32_t)width, at);
        return at + width;
    }
    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (n < width) reversed[n++] = '0';
    while (n > 0) *at++ = reversed[--n];
    return at;
}

static char *put_text(char *at, const char *text)
{
    while (*text != '\0') *at++ = *text++;
    return at;
}

static char *put_date(char *at, Civil c)
{
    at = put_number(at, (uint32_t)(c.year > 0 ? c.year : 1 - c.year), 4);
    *at++ = '-';
    at = put_number(at, (uint32_t)c.month, 2);
    *at++ = '-';
    return put_number(at, (uint32_t)c.day, 2);
}

/* SS or SS.ffffff without trailing zeros. */
static char *put_seconds(char *at, uint32_t second, uint32_t micros)
{
    at = put_number(at, second, 2);
    if (micros == 0) return at;
    *at++ = '.';
    at = put_number(at, micros, 6);
    while (at[-1] == '0') at--;
    return at;
}

uint32_t date_print(int32_t value, char *buffer)
{
    char *at = buffer;
    if (!date_finite(value)) {
        at = put_text(at, value == DATE_INFINITY ? "infinity" : "-infinity");
    } else {
        Civil c = date_to_civil(value);
        at = put_date(at, c);
        if (c.year <= 0) at = put_text(at, " BC");
    }
    *at = '\0';
    return (uint32_t)(at - buffer);
}

int64_t timestamp_round(int64_t value, uint8_t precision)
{
    if (precision == 0 || value == TIME_INFINITY || value == TIME_MINUS_INFINITY) return value;
    int64_t unit = 1;
    for (int digits = precision - 1; digits < 6; digits++) unit *= 10;
    int64_t half = unit / 2;
    return value >= 0 ? (value + half) / unit * unit : -((-value + half) / unit * unit);
}

uint32_t timestamp_print(int64_t value, char *buffer)
{
    char *at = buffer;
    if (!timestamp_finite(value)) {
        at = put_text(at, value == TIME_INFINITY ? "infinity" : "-infinity");
    } else {
        Moment m = timestamp_split(value);
        at = put_date(at, m.date);
        *at++ = ' ';
        at = put_number(at, (uint32_t)m.hour, 2);
        *at++ = ':';
        at = put_number(at, (uint32_t)m.minute, 2);
        *at++ = ':';
        at = put_seconds(at, (uint32_t)m.second, (uint32_t)m.micros);
        if (m.date.year <= 0) at = put_text(at, " BC");
    }
    *at = '\0';
    return (uint32_t)(at - buffer);
}

/* One of "1 year", "-2 mons"; once a part was negative, a positive one that follows shows its sign. */
static char *put_part(char *at, int64_t value, const char *unit, bool *first, bool *negative)
{
    if (value == 0) return at;
    if (!*first) *at++ = ' ';
    if (value < 0)
        *at++ = '-';
    else if (*negative)
        *at++ = '+';
    at = put_number(at, (uint32_t)(value < 0 ? -value : value), 1);
    *at++ = ' ';
    at = put_text(at, unit);
    if (value != 1) *at++ = 's';
    *first = false;
    *negative = value < 0;
    return at;
}

uint32_t interval_print(Interval value, char *buffer)
{
    char *at = buffer;
    bool first = true, negative = false;
    at = put_part(at, value.months / 12, "year", &first, &negative);
    at = put_part(at, value.months % 12, "mon", &first, &negative);
    at = put_part(at, value.days, "day", &first, &negative);
    if (first || value.micros != 0) {
        uint64_t t = value.micros < 0 ? -(uint64_t)value.micros : (uint64_t)value.micros;
        if (!first) *at++ = ' ';
        if (value.micros < 0)
            *at++ = '-';
        else if (negative)
            *at++ = '+';
        at = put_number(at, (uint32_t)(t / (uint64_t)USECS_PER_HOUR), 2);
        *at++ = ':';
        at = put_number(at, (uint32_t)(t / (uint64_t)USECS_PER_MINUTE % 60), 2);
        *at++ = ':';
        at = put_seconds(at, (uint32_t)(t / (uint64_t)USECS_PER_SEC % 60), (uint32_t)(t % (uint64_t)USECS_PER_SEC));
    }
    *at = '\0';
    return (uint32_t)(at - buffer);
}
