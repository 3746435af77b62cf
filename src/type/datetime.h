/*
 * datetime.h: the calendar, and dates, timestamps and intervals as text.
 *
 * Proleptic Gregorian calendar; day 0 is 2000-01-01. Infinite values are the ends of the integer ranges.
 * Years are astronomical here: 0 is 1 BC, -1 is 2 BC.
 */
#ifndef TYPE_DATETIME_H
#define TYPE_DATETIME_H

#include "type/type.h"

#define DATE_INFINITY       INT32_MAX
#define DATE_MINUS_INFINITY INT32_MIN
#define DATE_MIN            (-2451545)             /* 4714-11-24 BC: Julian day 0 */
#define DATE_END            (2147483494 - 2451545) /* first day after 5874897-12-31 */
#define TIME_INFINITY       INT64_MAX
#define TIME_MINUS_INFINITY INT64_MIN
#define TIMESTAMP_MIN       INT64_C(-211813488000000000)
#define TIMESTAMP_END       INT64_C(9223371331200000000)
#define USECS_PER_SEC       INT64_C(1000000)
#define USECS_PER_MINUTE    (60 * USECS_PER_SEC)
#define USECS_PER_HOUR      (60 * USECS_PER_MINUTE)
#define USECS_PER_DAY       (24 * USECS_PER_HOUR)
#define UNIX_EPOCH_DAYS     10957 /* days from 1970-01-01 to day 0 */
#define JULIAN_OFFSET       2451545

typedef struct Civil {
    int32_t year;
    int32_t month; /* 1..12 */
    int32_t day;   /* 1..31 */
} Civil;

/* A timestamp taken apart. */
typedef struct Moment {
    Civil date;
    int32_t hour, minute, second, micros;
} Moment;

int32_t date_from_civil(Civil c); /* c must be a real day within PostgreSQL's range of dates */

enum { DAYS_TO_2000 = 730425, ERA_DAYS = 146097, ERAS = 12 }; /* days from 0000-03-01 to 2000-01-01; 400 years */

/* The day of a finite date. In unsigned words of 32 bits, ERAS times 400 years later, so that nothing is negative and
 * loops over it vectorise. Years begin in March, with the leap day at their end (Hinnant, chrono-compatible low-level
 * date algorithms). */
static inline Civil date_to_civil(int32_t days)
{
    uint32_t z = (uint32_t)days + (DAYS_TO_2000 + ERAS * ERA_DAYS), era = z / ERA_DAYS, of_era = z - era * ERA_DAYS;
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t from_march = (5 * of_year + 2) / 153, month = from_march < 10 ? from_march + 3 : from_march - 9;
    return (Civil){
        .year = (int32_t)(era * 400 + year + (month <= 2)) - ERAS * 400,
        .month = (int32_t)month,
        .day = (int32_t)(of_year - (153 * from_march + 2) / 5 + 1),
    };
}
int days_in_month(int32_t year, int32_t month);
static inline bool date_finite(int32_t d)
{
    return d != DATE_INFINITY && d != DATE_MINUS_INFINITY;
}
static inline bool timestamp_finite(int64_t t)
{
    return t != TIME_INFINITY && t != TIME_MINUS_INFINITY;
}
/* The day a timestamp falls on, and the microseconds since its midnight. */
int32_t timestamp_day(int64_t t, int64_t *rest);
Moment timestamp_split(int64_t t);
/* "timestamp out of range" 22008. */
tcudb_status timestamp_join(Moment m, int64_t *out, Error *err) MUST_CHECK;
tcudb_status timestamp_from_date(int32_t d, int64_t *out, Error *err) MUST_CHECK;
tcudb_status timestamp_range_error(Error *err);
tcudb_status date_range_error(Error *err);
tcudb_status interval_range_error(Error *err);

/* Input and output functions, ISO style, month before day where it is open. *_print: see int_print. */
tcudb_status date_parse(Str text, int32_t *out, Error *err) MUST_CHECK;
tcudb_status timestamp_parse(Str text, int64_t *out, Error *err) MUST_CHECK;
/* Type.length of an interval: the mask of INTERVAL '1' YEAR's fields (bit 1 month, 2 year, 3 day, 10 to 12 hour,
 * minute, second; 0: all), and one more than the digits of a second (0: six). */
enum { INTERVAL_ALL_FIELDS = 0x7fff };
#define INTERVAL_PRECISION(digits) (((digits) + 1u) << 16)
/* Drops what is below the fields and digits that `fields` allows. */
void interval_cut(Interval *v, uint32_t fields);
tcudb_status interval_parse(Str text, uint32_t fields, Interval *out, Error *err) MUST_CHECK;
uint32_t date_print(int32_t value, char *buffer);
/* To the digits of a timestamp(p), half away from 2000-01-01; `precision` as in Type. */
int64_t timestamp_round(int64_t value, uint8_t precision);
uint32_t timestamp_print(int64_t value, char *buffer);
uint32_t interval_print(Interval value, char *buffer);
int interval_compare(Interval a, Interval b);

/* t + sign * iv: months first (the day is clipped to the month's last), then days, then time. */
tcudb_status timestamp_add(int64_t t, Interval iv, int sign, int64_t *out, Error *err) MUST_CHECK;
tcudb_status interval_add(Interval a, Interval b, Interval *out, Error *err) MUST_CHECK;
/* By parts, fractions carried downwards; 22012. */
tcudb_status interval_divide(Interval v, double by, Interval *out, Error *err) MUST_CHECK;
tcudb_status interval_negate(Interval a, Interval *out, Error *err) MUST_CHECK;

#endif
