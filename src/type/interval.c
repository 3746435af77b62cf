/*
 * interval.c: interval arithmetic and order.
 *
 * An interval has three parts that do not carry into each other: months, days, microseconds. Only its
 * order, and justify_*, take a month for 30 days and a day for 24 hours.
 */
#include "type/datetime.h"
#include "type/type_int.h"

#include <assert.h>

static int128 span(Interval a)
{
    return (int128)a.micros + ((int128)a.days + (int128)a.months * 30) * USECS_PER_DAY;
}

int interval_compare(Interval a, Interval b)
{
    int128 x = span(a), y = span(b);
    return (x > y) - (x < y);
}

tcudb_status interval_add(Interval a, Interval b, Interval *out, Error *err)
{
    if (__builtin_add_overflow(a.months, b.months, &out->months) ||
        __builtin_add_overflow(a.days, b.days, &out->days) || __builtin_add_overflow(a.micros, b.micros, &out->micros))
        return interval_range_error(err);
    return TCUDB_OK;
}

tcudb_status interval_negate(Interval a, Interval *out, Error *err)
{
    if (a.months == INT32_MIN || a.days == INT32_MIN || a.micros == INT64_MIN) return interval_range_error(err);
    *out = (Interval){.micros = -a.micros, .days = -a.days, .months = -a.months};
    return TCUDB_OK;
}

static tcudb_status add_months(int64_t *t, int64_t months, Error *err)
{
    Moment m = timestamp_split(*t);
    int64_t total = m.date.year * INT64_C(12) + (m.date.month - 1) + months;
    int64_t year = total >= 0 ? total / 12 : -((11 - total) / 12);
    if (year < INT32_MIN || year > INT32_MAX) return timestamp_range_error(err);
    m.date.year = (int32_t)year;
    m.date.month = (int32_t)(total - year * 12) + 1;
    int last = days_in_month(m.date.year, m.date.month);
    if (m.date.day > last) m.date.day = last;
    return timestamp_join(m, t, err);
}

tcudb_status timestamp_add(int64_t t, Interval iv, int sign, int64_t *out, Error *err)
{
    assert(sign == 1 || sign == -1);
    *out = t;
    if (!timestamp_finite(t)) return TCUDB_OK;
    if (iv.months != 0) TRY(add_months(&t, (int64_t)iv.months * sign, err));
    int128 sum = (int128)t + ((int128)iv.days * USECS_PER_DAY + iv.micros) * sign;
    if (sum < TIMESTAMP_MIN || sum >= TIMESTAMP_END) return timestamp_range_error(err);
    *out = (int64_t)sum;
    return TCUDB_OK;
}
