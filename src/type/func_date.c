/*
 * func_date.c: arithmetic and construction of dates, timestamps and intervals.
 *
 * Infinite dates and timestamps stay infinite under addition; differences of them are errors. Comparisons
 * use the integer kernels directly (func.def): the order of the bits is the order of the values.
 */
#include "type/type_int.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

static tcudb_status shift_date(int32_t d, int64_t days, int32_t *out, Error *err)
{
    int64_t r = d + days;
    *out = d;
    if (!date_finite(d)) return TCUDB_OK;
    if (r < DATE_MIN || r >= DATE_END) return date_range_error(err);
    *out = (int32_t)r;
    return TCUDB_OK;
}

KERNEL(date_add_int4)
{
    BINARY_ROWS(int32_t, int32_t, int32_t, TRY(shift_date(x, y, &r, err)));
    return TCUDB_OK;
}

KERNEL(int4_add_date)
{
    BINARY_ROWS(int32_t, int32_t, int32_t, TRY(shift_date(y, x, &r, err)));
    return TCUDB_OK;
}

KERNEL(date_sub_int4)
{
    BINARY_ROWS(int32_t, int32_t, int32_t, TRY(shift_date(x, -(int64_t)y, &r, err)));
    return TCUDB_OK;
}

KERNEL(date_sub_date)
{
    BINARY_ROWS(int32_t, int32_t, int32_t, {
        if (!date_finite(x) || !date_finite(y))
            return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "cannot subtract infinite dates");
        r = x - y; /* the range of dates is below 2^31 */
    });
    return TCUDB_OK;
}

static tcudb_status date_shift_interval(int32_t d, Interval iv, int sign, int64_t *out, Error *err)
{
    int64_t t;
    TRY(timestamp_from_date(d, &t, err));
    return timestamp_add(t, iv, sign, out, err);
}

KERNEL(date_add_interval)
{
    BINARY_ROWS(int32_t, Interval, int64_t, TRY(date_shift_interval(x, y, 1, &r, err)));
    return TCUDB_OK;
}

KERNEL(interval_add_date)
{
    BINARY_ROWS(Interval, int32_t, int64_t, TRY(date_shift_interval(y, x, 1, &r, err)));
    return TCUDB_OK;
}

KERNEL(date_sub_interval)
{
    BINARY_ROWS(int32_t, Interval, int64_t, TRY(date_shift_interval(x, y, -1, &r, err)));
    return TCUDB_OK;
}

KERNEL(timestamp_add_interval)
{
    BINARY_ROWS(int64_t, Interval, int64_t, TRY(timestamp_add(x, y, 1, &r, err)));
    return TCUDB_OK;
}

KERNEL(interval_add_timestamp)
{
    BINARY_ROWS(Interval, int64_t, int64_t, TRY(timestamp_add(y, x, 1, &r, err)));
    return TCUDB_OK;
}

KERNEL(timestamp_sub_interval)
{
    BINARY_ROWS(int64_t, Interval, int64_t, TRY(timestamp_add(x, y, -1, &r, err)));
    return TCUDB_OK;
}

static tcudb_status infinite_difference(Error *err)
{
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "cannot subtract infinite timestamps");
}

KERNEL(timestamp_sub_timestamp)
{
    BINARY_ROWS(int64_t, int64_t, Interval, {
        if (!timestamp_finite(x) || !timestamp_finite(y)) return infinite_difference(err);
        int64_t d;
        if (__builtin_sub_overflow(x, y, &d)) return interval_range_error(err);
        r = (Interval){.micros = d % USECS_PER_DAY, .days = (int32_t)(d / USECS_PER_DAY)};
    });
    return TCUDB_OK;
}

KERNEL(interval_plus)
{
    BINARY_ROWS(Interval, Interval, Interval, TRY(interval_add(x, y, &r, err)));
    return TCUDB_OK;
}

static tcudb_status interval_subtract(Interval a, Interval b, Interval *out, Error *err)
{
    if (__builtin_sub_overflow(a.months, b.months, &out->months) ||
        __builtin_sub_overflow(a.days, b.days, &out->days) || __builtin_sub_overflow(a.micros, b.micros, &out->micros))
        return interval_range_error(err);
    return TCUDB_OK;
}

KERNEL(interval_minus)
{
    BINARY_ROWS(Interval, Interval, Interval, TRY(interval_subtract(x, y, &r, err)));
    return TCUDB_OK;
}

KERNEL(interval_neg)
{
    UNARY_ROWS(Interval, Interval, TRY(interval_negate(x, &r, err)));
    return TCUDB_OK;
}

static double to_micro(double v)
{
    return rint(v * 1e6) / 1e6;
}

static bool to_int32(double v, int32_t *out)
{
    if (isnan(v) || v > INT32_MAX || v < INT32_MIN) return false;
    *out = (int32_t)v;
    return true;
}

/* The scaled parts of an interval: whole months and days; what is left of a month in days of 30, what is left
 * of a day in time. */
static tcudb_status scaled(double months, double days, double micros, Interval *out, Error *err)
{
    if (!to_int32(months, &out->months) || !to_int32(days, &out->days)) return interval_range_error(err);
    double month_days = to_micro((months - out->months) * 30);
    double seconds = to_micro((days - out->days + month_days - (int)month_days) * 86400);
    int32_t more = 0;
    if (fabs(seconds) >= 86400) {
        more = (int32_t)(seconds / 86400);
        seconds -= more * 86400.0;
    }
    if (__builtin_add_overflow(more, (int32_t)month_days, &more) || __builtin_add_overflow(out->days, more, &out->days))
        return interval_range_error(err);
    double time = rint(micros + seconds * 1e6);
    if (isnan(time) || time < -9223372036854775808.0 || time >= 9223372036854775808.0) return interval_range_error(err);
    out->micros = (int64_t)time;
    return TCUDB_OK;
}

static tcudb_status times(Interval v, double f, Interval *out, Error *err)
{
    return scaled(v.months * f, v.days * f, (double)v.micros * f, out, err);
}

tcudb_status interval_divide(Interval v, double f, Interval *out, Error *err)
{
    if (f == 0) return division_by_zero(err);
    return scaled(v.months / f, v.days / f, (double)v.micros / f, out, err);
}

KERNEL(interval_times_float8)
{
    BINARY_ROWS(Interval, double, Interval, TRY(times(x, y, &r, err)));
    return TCUDB_OK;
}

KERNEL(float8_times_interval)
{
    BINARY_ROWS(double, Interval, Interval, TRY(times(y, x, &r, err)));
    return TCUDB_OK;
}

KERNEL(interval_div_float8)
{
    BINARY_ROWS(Interval, double, Interval, TRY(interval_divide(x, y, &r, err)));
    return TCUDB_OK;
}

#define INTERVAL_COMPARE(name, op)                                                                                     \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        BINARY_ROWS(Interval, Interval, uint8_t, r = interval_compare(x, y) op 0);                                     \
        return TCUDB_OK;                                                                                               \
    }

INTERVAL_COMPARE(interval_eq, ==)
INTERVAL_COMPARE(interval_ne, !=)
INTERVAL_COMPARE(interval_lt, <)
INTERVAL_COMPARE(interval_le, <=)
INTERVAL_COMPARE(interval_gt, >)
INTERVAL_COMPARE(interval_ge, >=)

/* ---- carrying between the parts ------------------------------------------------------------- */

static tcudb_status carry(int64_t *from, int64_t unit, int32_t *to, Error *err)
{
    int64_t more = *from / unit;
    *from -= more * unit;
    int64_t sum = *to + more;
    if (sum > INT32_MAX || sum < INT32_MIN) return interval_range_error(err);
    *to = (int32_t)sum;
    return TCUDB_OK;
}

static tcudb_status justify(Interval v, bool hours, bool days, Interval *out, Error *err)
{
    if (hours && days && ((v.days > 0 && v.micros > 0) || (v.days < 0 && v.micros < 0))) { /* room for more days */
        int64_t wide = v.days;
        TRY(carry(&wide, 30, &v.months, err));
        v.days = (int32_t)wide;
    }
    if (hours) {
        TRY(carry(&v.micros, USECS_PER_DAY, &v.days, err));
        if (!days && v.days > 0 && v.micros < 0) {
            v.micros += USECS_PER_DAY;
            v.days--;
        } else if (!days && v.days < 0 && v.micros > 0) {
            v.micros -= USECS_PER_DAY;
            v.days++;
        }
    }
    if (days) {
        int64_t wide = v.days;
        TRY(carry(&wide, 30, &v.months, err));
        v.days = (int32_t)wide;
        bool minus = v.days < 0 || (hours && v.days == 0 && v.micros < 0);
        bool plus = v.days > 0 || (hours && v.days == 0 && v.micros > 0);
        if (v.months > 0 && minus) {
            v.days += 30;
            v.months--;
        } else if (v.months < 0 && plus) {
            v.days -= 30;
            v.months++;
        }
        if (hours && v.days > 0 && v.micros < 0) {
            v.micros += USECS_PER_DAY;
            v.days--;
        } else if (hours && v.days < 0 && v.micros > 0) {
            v.micros -= USECS_PER_DAY;
            v.days++;
        }
    }
    *out = v;
    return TCUDB_OK;
}

KERNEL(interval_justify_hours)
{
    UNARY_ROWS(Interval, Interval, TRY(justify(x, true, false, &r, err)));
    return TCUDB_OK;
}

KERNEL(interval_justify_days)
{
    UNARY_ROWS(Interval, Interval, TRY(justify(x, false, true, &r, err)));
    return TCUDB_OK;
}

KERNEL(interval_justify)
{
    UNARY_ROWS(Interval, Interval, TRY(justify(x, true, true, &r, err)));
    return TCUDB_OK;
}

/* ---- date_bin: the start of the stride, counted from the origin, that holds the source -------------- */

static tcudb_status bin(Interval stride, int64_t source, int64_t origin, int64_t *out, Error *err)
{
    int64_t step, distance;
    *out = source;
    if (!timestamp_finite(source)) return TCUDB_OK;
    if (!timestamp_finite(origin)) return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "origin out of range");
    if (stride.months != 0)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                         "timestamps cannot be binned into intervals containing months or years");
    if (__builtin_mul_overflow((int64_t)stride.days, USECS_PER_DAY, &step) ||
        __builtin_add_overflow(step, stride.micros, &step))
        return interval_range_error(err);
    if (step <= 0) return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "stride must be greater than zero");
    if (__builtin_sub_overflow(source, origin, &distance)) return interval_range_error(err);
    int64_t rest = distance % step, r;
    if (__builtin_sub_overflow(source, rest < 0 ? rest + step : rest, &r) || r < TIMESTAMP_MIN)
        return timestamp_range_error(err);
    *out = r;
    return TCUDB_OK;
}

KERNEL(timestamp_bin)
{
    const Interval *strides = args[0].data;
    const int64_t *sources = args[1].data, *origins = args[2].data;
    int64_t *to = out->data;
    EACH_ROW(i, row)
    TRY(bin(strides[row * STRIDE(args[0])], sources[row * STRIDE(args[1])], origins[row * STRIDE(args[2])], &to[row],
            err));
    return TCUDB_OK;
}

/* ---- age ------------------------------------------------------------------------------------ */

/* The difference in years, months, days and time, borrowing days from the earlier date's month. */
static tcudb_status age_between(int64_t x, int64_t y, Interval *out, Error *err)
{
    if (!timestamp_finite(x) || !timestamp_finite(y)) return timestamp_range_error(err);
    Moment a = timestamp_split(x), b = timestamp_split(y);
    bool negative = x < y;
    int64_t micros =
        ((a.hour - b.hour) * INT64_C(3600) + (a.minute - b.minute) * 60 + (a.second - b.second)) * USECS_PER_SEC +
        (a.micros - b.micros);
    int32_t days = a.date.day - b.date.day, months = (a.date.year - b.date.year) * 12 + a.date.month - b.date.month;
    if (negative) {
        micros = -micros;
        days = -days;
        months = -months;
    }
    if (micros < 0) {
        micros += USECS_PER_DAY;
        days--;
    }
    Civil earlier = negative ? a.date : b.date;
    while (days < 0) {
        days += days_in_month(earlier.year, earlier.month);
        months--;
    }
    int sign = negative ? -1 : 1;
    *out = (Interval){.micros = sign * micros, .days = sign * days, .months = sign * months};
    return TCUDB_OK;
}

KERNEL(timestamp_age)
{
    BINARY_ROWS(int64_t, int64_t, Interval, TRY(age_between(x, y, &r, err)));
    return TCUDB_OK;
}

static int64_t today(const EvalCtx *ctx)
{
    int64_t rest;
    return timestamp_day(ctx->now, &rest) * USECS_PER_DAY;
}

KERNEL(timestamp_age_today)
{
    UNARY_ROWS(int64_t, Interval, TRY(age_between(today(ctx), x, &r, err)));
    return TCUDB_OK;
}

/* ---- clocks, casts, construction -------------------------------------------------------------- */

KERNEL(clock_timestamp)
{
    int64_t *to = out->data;
    EACH_ROW(i, row) to[row] = ctx->now;
    return TCUDB_OK;
}

/* The one function of time that moves on within a statement. */
KERNEL(wall_clock)
{
    int64_t *to = out->data;
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    int64_t days = -(int64_t)UNIX_EPOCH_DAYS;
    EACH_ROW(i, row) to[row] = days * USECS_PER_DAY + (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
    return TCUDB_OK;
}

KERNEL(clock_date)
{
    int32_t *to = out->data;
    int32_t day = (int32_t)(today(ctx) / USECS_PER_DAY);
    EACH_ROW(i, row) to[row] = day;
    return TCUDB_OK;
}

KERNEL(interval_to_interval)
{
    UNARY_ROWS(Interval, Interval, {
        r = x;
        interval_cut(&r, out->type.length);
    });
    return TCUDB_OK;
}

KERNEL(timestamp_to_timestamp)
{
    const uint8_t precision = out->type.precision;
    UNARY_ROWS(int64_t, int64_t, r = timestamp_round(x, precision));
    return TCUDB_OK;
}

KERNEL(date_to_timestamp)
{
    UNARY_ROWS(int32_t, int64_t, TRY(timestamp_from_date(x, &r, err)));
    return TCUDB_OK;
}

KERNEL(timestamp_to_date)
{
    UNARY_ROWS(int64_t, int32_t, {
        int64_t rest;
        if (timestamp_finite(x))
            r = timestamp_day(x, &rest);
        else
            r = x == TIME_INFINITY ? DATE_INFINITY : DATE_MINUS_INFINITY;
    });
    return TCUDB_OK;
}

KERNEL(timestamp_finite_test)
{
    UNARY_ROWS(int64_t, uint8_t, r = timestamp_finite(x));
    return TCUDB_OK;
}

KERNEL(date_finite_test)
{
    UNARY_ROWS(int32_t, uint8_t, r = date_finite(x));
    return TCUDB_OK;
}

KERNEL(interval_finite_test)
{
    UNARY_ROWS(Interval, uint8_t, {
        (void)x;
        r = 1;
    });
    return TCUDB_OK;
}

/* year as SQL writes it: negative years are BC, there is no year 0. astronomical: how the message has it. */
static tcudb_status check_civil(int32_t year, int32_t month, int32_t day, bool astronomical, Civil *out, Error *err)
{
    *out = (Civil){year < 0 ? year + 1 : year, month, day};
    if (year != 0 && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(out->year, month) &&
        out->year > -4713 && out->year <= 5874897)
        return TCUDB_OK;
    return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "date field value out of range: %d-%02d-%02d",
                     astronomical ? out->year : year, month, day);
}

#define INT4_AT(k) (((const int32_t *)args[k].data)[row * STRIDE(args[k])])

KERNEL(make_date)
{
    int32_t *to = out->data;
    EACH_ROW(i, row)
    {
        Civil c;
        TRY(check_civil(INT4_AT(0), INT4_AT(1), INT4_AT(2), true, &c, err));
        to[row] = date_from_civil(c);
    }
    return TCUDB_OK;
}

static tcudb_status make_time(int32_t hour, int32_t minute, double second, int64_t *out, Error *err)
{
    bool bad = hour < 0 || minute < 0 || minute > 59 || isnan(second) || second < 0 || second > 60 || hour > 24 ||
               (hour == 24 && (minute > 0 || second > 0));
    if (bad)
        return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "time field value out of range: %d:%02d:%02g", hour,
                         minute, second);
    *out = (hour * INT64_C(60) + minute) * USECS_PER_MINUTE + (int64_t)rint(second * 1e6);
    return TCUDB_OK;
}

KERNEL(make_timestamp)
{
    int64_t *to = out->data;
    const double *seconds = args[5].data;
    EACH_ROW(i, row)
    {
        Civil c;
        int64_t time = 0;
        TRY(check_civil(INT4_AT(0), INT4_AT(1), INT4_AT(2), false, &c, err));
        TRY(make_time(INT4_AT(3), INT4_AT(4), seconds[row * STRIDE(args[5])], &time, err));
        Moment m = {.date = c};
        TRY(timestamp_join(m, &to[row], err));
        to[row] += time;
        if (to[row] >= TIMESTAMP_END) return timestamp_range_error(err);
    }
    return TCUDB_OK;
}

/* make_interval(years, months, weeks, days, hours, mins, secs) with any number of trailing arguments. */
KERNEL(make_interval)
{
    Interval *to = out->data;
    EACH_ROW(i, row)
    {
        int64_t v[6] = {0};
        double seconds = nargs > 6 ? ((const double *)args[6].data)[row * STRIDE(args[6])] : 0;
        for (uint32_t k = 0; k < nargs && k < 6; k++) v[k] = INT4_AT(k);
        int64_t months = v[0] * 12 + v[1], days = v[2] * 7 + v[3];
        if (isnan(seconds) || fabs(seconds) > 9e12 || months != (int32_t)months || days != (int32_t)days)
            return interval_range_error(err);
        to[row] = (Interval){.micros = v[4] * USECS_PER_HOUR + v[5] * USECS_PER_MINUTE + (int64_t)rint(seconds * 1e6),
                             .days = (int32_t)days,
                             .months = (int32_t)months};
    }
    return TCUDB_OK;
}
