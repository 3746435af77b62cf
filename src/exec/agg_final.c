/*
 * agg_final.c: results of aggregate states, in PostgreSQL's types, scales and errors.
 *
 * avg of exact numbers is sum / count at PostgreSQL's division scale; variance is
 * (n * sum(x^2) - sum(x)^2) / (n * (n - 1)) in integers, stddev its square root rounded to the same scale.
 * What needs more than 38 digits is 22003.
 */
#include "exec/agg_int.h"
#include "type/datetime.h"
#include "type/num.h"

#include <assert.h>
#include <math.h>

void agg_wide_times10(SumWide *s)
{
    uint128 low = (uint128)s->lo * 10, mid = (uint128)s->mid * 10 + (low >> 64);
    int64_t hi;
    s->overflow |= __builtin_mul_overflow(s->hi, (int64_t)10, &hi);
    s->overflow |= __builtin_add_overflow(hi, (int64_t)(mid >> 64), &hi);
    s->lo = (uint64_t)low;
    s->mid = (uint64_t)mid;
    s->hi = hi;
    s->scale++;
}

static int128 sum_value(const SumInt *s)
{
    return (int128)((uint128)(uint64_t)s->hi << 64 | s->lo);
}

static bool too_wide(int128 v)
{
    int128 limit = num_pow10(NUM_MAX_DIGITS);
    return v >= limit || v <= -limit;
}

/* One exact number into a result vector. */
static tcudb_status put_exact(Vector *out, uint32_t i, Num num, Error *err)
{
    switch (out->phys) {
    case PHYS_I64:
        if (num.value < INT64_MIN || num.value > INT64_MAX)
            return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
        ((int64_t *)out->data)[i] = (int64_t)num.value;
        return TCUDB_OK;
    case PHYS_I128:
        if (num.kind != NUM_FINITE || too_wide(num.value)) return num_overflow(err);
        ((int128 *)out->data)[i] = num.value;
        return TCUDB_OK;
    case PHYS_NUM:
        if (num.kind == NUM_FINITE && too_wide(num.value)) return num_overflow(err);
        ((Num *)out->data)[i] = num;
        return TCUDB_OK;
    case PHYS_F64: ((double *)out->data)[i] = num_to_float8(num); return TCUDB_OK;
    default: return error_set(err, SQLSTATE_INTERNAL_ERROR, "an aggregate has a result type it cannot have");
    }
}

static tcudb_status final_sum_int(const AggSpec *spec, const SumInt *s, Vector *out, uint32_t i, Error *err)
{
    Num num = {.value = sum_value(s), .scale = spec->arg.id == TYPE_NUMERIC ? spec->arg.scale : 0}, avg;
    if (spec->kind == AGG_SUM) return put_exact(out, i, num, err);
    if (too_wide(num.value)) return num_overflow(err);
    TRY(num_div(num, NUM_INT(s->n), &avg, err));
    return put_exact(out, i, avg, err);
}

static tcudb_status wide_num(const SumWide *s, Num *out, Error *err)
{
    *out = (Num){.value = (int128)((uint128)s->mid << 64 | s->lo), .scale = s->scale};
    bool nan = s->special[NUM_NAN] > 0 || (s->special[NUM_PINF] > 0 && s->special[NUM_NINF] > 0);
    if (nan || s->special[NUM_PINF] > 0 || s->special[NUM_NINF] > 0) {
        *out = (Num){.kind = nan ? NUM_NAN : s->special[NUM_PINF] > 0 ? NUM_PINF : NUM_NINF};
        return TCUDB_OK;
    }
    bool fits = s->hi == (out->value < 0 ? -1 : 0);
    return s->overflow || !fits || too_wide(out->value) ? num_overflow(err) : TCUDB_OK;
}

static int64_t wide_rows(const SumWide *s)
{
    return s->n + s->special[NUM_NAN] + s->special[NUM_PINF] + s->special[NUM_NINF];
}

static tcudb_status final_sum_wide(const AggSpec *spec, const SumWide *s, Vector *out, uint32_t i, Error *err)
{
    Num num, avg;
    TRY(wide_num(s, &num, err));
    if (spec->kind == AGG_SUM) return put_exact(out, i, num, err);
    TRY(num_div(num, NUM_INT(wide_rows(s)), &avg, err));
    return put_exact(out, i, avg, err);
}

static tcudb_status put_float(Vector *out, uint32_t i, double value, bool inf_in, Error *err)
{
    if (out->phys == PHYS_F32) value = (float)value;
    if (isinf(value) && !inf_in)
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    if (out->phys == PHYS_F32)
        ((float *)out->data)[i] = (float)value;
    else
        ((double *)out->data)[i] = value;
    return TCUDB_OK;
}

static bool is_sample(AggKind kind)
{
    return kind == AGG_VAR_SAMP || kind == AGG_STDDEV_SAMP;
}

static bool is_stddev(AggKind kind)
{
    return kind == AGG_STDDEV_POP || kind == AGG_STDDEV_SAMP;
}

static tcudb_status final_sum_float(const AggSpec *spec, const SumFloat *s, Vector *out, uint32_t i, Error *err)
{
    return put_float(out, i, spec->kind == AGG_AVG ? s->sum / (double)s->n : s->sum, s->inf_in, err);
}

static tcudb_status final_moments(const AggSpec *spec, const Moments *s, Vector *out, uint32_t i, Error *err)
{
    double variance = s->square / (is_sample(spec->kind) ? s->n - 1 : s->n);
    return put_float(out, i, is_stddev(spec->kind) ? sqrt(variance) : variance, s->inf_in, err);
}

static tcudb_status final_moments_int(const AggSpec *spec, const MomentsInt *s, Vector *out, uint32_t i, Error *err)
{
    Num sum = {.value = sum_value(&s->sum), .scale = spec->arg.id == TYPE_NUMERIC ? spec->arg.scale : 0}, result;
    uint128 m = sum.value < 0 ? -(uint128)sum.value : (uint128)sum.value;
    NumMoments moments = {
        .sum = {(uint64_t)m, (uint64_t)(m >> 64)}, .squares = {s->sq_lo, s->sq_mid, s->sq_hi}, .scale = sum.scale};
    TRY(num_variance_wide(s->sum.n, &moments, is_sample(spec->kind), is_stddev(spec->kind), &result, err));
    return put_exact(out, i, result, err);
}

static tcudb_status final_moments_wide(const AggSpec *spec, const MomentsWide *s, Vector *out, uint32_t i, Error *err)
{
    Num result;
    TRY(agg_wide_moments_final(s, is_sample(spec->kind), is_stddev(spec->kind), &result, err));
    return put_exact(out, i, result, err);
}

static tcudb_status final_value(const AggSpec *spec, const char *state, Vector *out, uint32_t i)
{
    size_t size = phys_size((Phys)spec->phys);
    memcpy((char *)out->data + i * size, state + sizeof(uint64_t), size);
    return TCUDB_OK;
}

static tcudb_status final_interval(const AggSpec *spec, const SumInterval *s, Vector *out, uint32_t i, Error *err)
{
    int64_t months = s->months, days = s->days, micros = s->micros;
    Interval *to = &((Interval *)out->data)[i];
    if (s->overflow || months != (int32_t)months || days != (int32_t)days) return interval_range_error(err);
    *to = (Interval){micros, (int32_t)days, (int32_t)months};
    return spec->kind == AGG_AVG ? interval_divide(*to, (double)s->n, to, err) : TCUDB_OK;
}

/* Rows that the state has seen; 0 gives NULL. */
static double rows_of(const AggSpec *spec, const char *state)
{
    bool exact = spec->phys <= PHYS_I64, wide = spec->phys == PHYS_I128 || spec->phys == PHYS_NUM;
    switch (spec->kind) {
    case AGG_SUM:
    case AGG_AVG:
        if (exact) return (double)((const SumInt *)(const void *)state)->n;
        if (wide) return (double)wide_rows((const SumWide *)(const void *)state);
        if (spec->phys == PHYS_INTERVAL) return (double)((const SumInterval *)(const void *)state)->n;
        return (double)((const SumFloat *)(const void *)state)->n;
    case AGG_VAR_POP:
    case AGG_VAR_SAMP:
    case AGG_STDDEV_POP:
    case AGG_STDDEV_SAMP: {
        double n = exact  ? (double)((const MomentsInt *)(const void *)state)->sum.n
                   : wide ? (double)agg_wide_moments_rows((const MomentsWide *)(const void *)state)
                          : ((const Moments *)(const void *)state)->n;
        return is_sample(spec->kind) ? n - 1 : n;
    }
    case AGG_STRING_AGG: return ((const Joined *)(const void *)state)->has;
    default: {
        uint64_t has;
        memcpy(&has, state, sizeof has);
        return has != 0;
    }
    }
}

static tcudb_status final_one(const AggSpec *spec, const char *state, Vector *out, uint32_t i, Error *err)
{
    bool exact = spec->phys <= PHYS_I64;
    switch (spec->kind) {
    case AGG_SUM:
    case AGG_AVG:
        if (exact) return final_sum_int(spec, (const SumInt *)(const void *)state, out, i, err);
        if (spec->phys == PHYS_I128 || spec->phys == PHYS_NUM)
            return final_sum_wide(spec, (const SumWide *)(const void *)state, out, i, err);
        if (spec->phys == PHYS_INTERVAL)
            return final_interval(spec, (const SumInterval *)(const void *)state, out, i, err);
        return final_sum_float(spec, (const SumFloat *)(const void *)state, out, i, err);
    case AGG_MIN:
    case AGG_MAX:
    case AGG_ANY: return final_value(spec, state, out, i);
    case AGG_BOOL_AND:
    case AGG_BOOL_OR: ((uint8_t *)out->data)[i] = *(const uint64_t *)(const void *)state >> 1; return TCUDB_OK;
    case AGG_STRING_AGG: {
        const Joined *s = (const Joined *)(const void *)state;
        ((Str *)out->data)[i] = (Str){s->text + s->skip, s->len - s->skip};
        return TCUDB_OK;
    }
    default:
        if (exact) return final_moments_int(spec, (const MomentsInt *)(const void *)state, out, i, err);
        if (spec->phys == PHYS_I128 || spec->phys == PHYS_NUM)
            return final_moments_wide(spec, (const MomentsWide *)(const void *)state, out, i, err);
        return final_moments(spec, (const Moments *)(const void *)state, out, i, err);
    }
}

static tcudb_status final_more(const AggSpec *spec, Worker *w, const char *state, Vector *out, uint32_t i, bool *null,
                               Error *err)
{
    Value value;
    size_t size = phys_size((Phys)out->phys);
    TRY(agg_more_final(spec, w, state, &value, null, err));
    memcpy((char *)out->data + i * size, &value.i64, size);
    return TCUDB_OK;
}

/* Sums of integers as wide numbers without a row's choices; false: there are NULLs, or another result. */
static bool final_wide_sums(const AggSpec *spec, const char *states, size_t stride, uint32_t n, Vector *out)
{
    if (spec->kind != AGG_SUM || spec->phys > PHYS_I64 || out->phys != PHYS_I128) return false;
    const int128 limit = num_pow10(NUM_MAX_DIGITS);
    int128 *to = out->data;
    bool plain = true;
    for (uint32_t i = 0; i < n; i++) {
        const SumInt *s = (const SumInt *)(const void *)(states + i * stride + spec->offset);
        to[i] = sum_value(s);
        plain &= s->n > 0 && to[i] < limit && to[i] > -limit;
    }
    return plain;
}

tcudb_status agg_final(const AggSpec *spec, Worker *w, const char *states, size_t stride, uint32_t n, Vector *out,
                       Error *err)
{
    TRY(vec_new(worker_arena(w), spec->result, n, out, err));
    if (final_wide_sums(spec, states, stride, n, out)) return TCUDB_OK;
    for (uint32_t i = 0; i < n; i++) {
        const char *state = states + i * stride + spec->offset;
        if (spec->kind == AGG_COUNT || spec->kind == AGG_COUNT_STAR) {
            memcpy((int64_t *)out->data + i, state, sizeof(int64_t));
            continue;
        }
        bool null = false;
        if (agg_is_more(spec->kind))
            TRY(final_more(spec, w, state, out, i, &null, err));
        else
            null = rows_of(spec, state) <= 0;
        if (null) {
            TRY(vec_need_valid(worker_arena(w), out, n, err));
            bit_clear(out->valid, i);
            continue;
        }
        if (!agg_is_more(spec->kind)) TRY(final_one(spec, state, out, i, err));
    }
    return TCUDB_OK;
}
