/*
 * agg_more.c: the aggregates that few queries use: bits, two-variable statistics, ordered sets (agg_sets.c).
 *
 * Statistics (corr, covar, regr_*) are PostgreSQL's sums of squared deviations by Youngs and Cramer's updating, merged
 * as it merges parallel workers: args are (y, x), rows with a NULL in either do not count.
 */
#include "exec/agg_int.h"

#include <assert.h>
#include <math.h>

typedef struct Bits {
    uint64_t has;
    int64_t value;
} Bits;

typedef struct Regression {
    double n, sx, sxx, sy, syy, sxy;
    int64_t overflow;
} Regression;

bool agg_is_more(AggKind kind)
{
    return kind >= AGG_BIT_AND && kind < AGG_KINDS;
}

static bool is_bits(AggKind kind)
{
    return kind >= AGG_BIT_AND && kind <= AGG_BIT_XOR;
}

static bool is_regression(AggKind kind)
{
    return kind >= AGG_CORR && kind <= AGG_REGR_R2;
}

static bool is_set(AggKind kind)
{
    return kind >= AGG_PERCENTILE_CONT && kind <= AGG_MODE;
}

uint32_t agg_more_size(AggKind kind, Phys arg)
{
    if (is_bits(kind)) return arg == PHYS_I16 || arg == PHYS_I32 || arg == PHYS_I64 ? sizeof(Bits) : 0;
    return is_regression(kind) ? sizeof(Regression) : agg_sets_size();
}

bool agg_more_ordered(AggKind kind)
{
    return is_regression(kind);
}

/* ---- rows in ------------------------------------------------------------------------------------------- */

static void add_bits(AggKind kind, Bits *s, int64_t x)
{
    if (!s->has)
        s->value = x;
    else if (kind == AGG_BIT_AND)
        s->value &= x;
    else
        s->value = kind == AGG_BIT_OR ? s->value | x : s->value ^ x;
    s->has = 1;
}

static int64_t integer_at(const Vector *v, uint32_t row)
{
    uint32_t at = v->form == VEC_CONST ? 0 : row;
    switch (v->phys) {
    case PHYS_I16: return ((const int16_t *)v->data)[at];
    case PHYS_I32: return ((const int32_t *)v->data)[at];
    default: return ((const int64_t *)v->data)[at];
    }
}

static void add_pair(Regression *s, double y, double x)
{
    double before = s->n;
    s->n += 1;
    s->sx += x;
    s->sy += y;
    if (before == 0) {
        if (!isfinite(x)) s->sxx = s->sxy = NAN;
        if (!isfinite(y)) s->syy = s->sxy = NAN;
        return;
    }
    double dx = x * s->n - s->sx, dy = y * s->n - s->sy, scale = 1 / (s->n * before);
    bool finite = isfinite(s->sx - x) && isfinite(s->sy - y) && isfinite(x) && isfinite(y);
    s->sxx += dx * dx * scale;
    s->syy += dy * dy * scale;
    s->sxy += dx * dy * scale;
    bool overflow = isinf(s->sx) || isinf(s->sxx) || isinf(s->sy) || isinf(s->syy) || isinf(s->sxy);
    if (!overflow) return;
    s->overflow |= finite;
    if (isinf(s->sxx)) s->sxx = NAN;
    if (isinf(s->syy)) s->syy = NAN;
    if (isinf(s->sxy)) s->sxy = NAN;
}

static double double_at(const Vector *v, uint32_t row)
{
    return ((const double *)v->data)[v->form == VEC_CONST ? 0 : row];
}

tcudb_status agg_more_update(const AggSpec *spec, Worker *w, const AggStates *states, const Vector *args,
                             const uint16_t *sel, uint32_t n, Error *err)
{
    if (is_set(spec->kind)) return agg_sets_update(spec, w, states, args, sel, n, err);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel_row(sel, i);
        void *state = states->base + spec->offset + (states->group == NULL ? 0 : states->group[i] * states->stride);
        if (vec_is_null(&args[0], row)) continue;
        if (is_bits(spec->kind))
            add_bits(spec->kind, state, integer_at(&args[0], row));
        else if (!vec_is_null(&args[1], row))
            add_pair(state, double_at(&args[0], row), double_at(&args[1], row));
    }
    return TCUDB_OK;
}

/* ---- merging ------------------------------------------------------------------------------------------- */

static void merge_regressions(Regression *a, const Regression *b)
{
    if (b->n == 0) return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    double n = a->n + b->n, dx = a->sx / a->n - b->sx / b->n, dy = a->sy / a->n - b->sy / b->n;
    a->sxx += b->sxx + a->n * b->n * dx * dx / n;
    a->syy += b->syy + a->n * b->n * dy * dy / n;
    a->sxy += b->sxy + a->n * b->n * dx * dy / n;
    a->sx += b->sx;
    a->sy += b->sy;
    a->n = n;
    a->overflow |= b->overflow;
}

void agg_more_combine(const AggSpec *spec, char *to, const char *from)
{
    if (is_set(spec->kind)) {
        agg_sets_combine(to, from);
    } else if (is_bits(spec->kind)) {
        const Bits *b = (const Bits *)(const void *)from;
        if (b->has) add_bits(spec->kind, (Bits *)(void *)to, b->value);
    } else {
        merge_regressions((Regression *)(void *)to, (const Regression *)(const void *)from);
    }
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* false: NULL. */
static bool regression_value(AggKind kind, const Regression *s, double *out)
{
    double n = s->n;
    switch (kind) {
    case AGG_CORR: *out = s->sxy / sqrt(s->sxx * s->syy); return s->sxx != 0 && s->syy != 0;
    case AGG_COVAR_POP: *out = s->sxy / n; return true;
    case AGG_COVAR_SAMP: *out = s->sxy / (n - 1); return n >= 2;
    case AGG_REGR_AVGX: *out = s->sx / n; return true;
    case AGG_REGR_AVGY: *out = s->sy / n; return true;
    case AGG_REGR_SXX: *out = s->sxx; return true;
    case AGG_REGR_SYY: *out = s->syy; return true;
    case AGG_REGR_SXY: *out = s->sxy; return true;
    case AGG_REGR_SLOPE: *out = s->sxy / s->sxx; return s->sxx != 0;
    case AGG_REGR_INTERCEPT: *out = (s->sy - s->sx * s->sxy / s->sxx) / n; return s->sxx != 0;
    default: *out = s->syy == 0 ? 1 : s->sxy * s->sxy / (s->sxx * s->syy); return s->sxx != 0;
    }
}

tcudb_status agg_more_final(const AggSpec *spec, Worker *w, const char *state, Value *out, bool *null, Error *err)
{
    *out = (Value){.type = spec->result};
    *null = true;
    if (is_bits(spec->kind)) {
        const Bits *s = (const Bits *)(const void *)state;
        *null = !s->has;
        if (spec->phys == PHYS_I16)
            out->i16 = (int16_t)s->value;
        else if (spec->phys == PHYS_I32)
            out->i32 = (int32_t)s->value;
        else
            out->i64 = s->value;
        return TCUDB_OK;
    }
    if (is_set(spec->kind)) return agg_sets_final(spec, w, state, out, null, err);
    const Regression *s = (const Regression *)(const void *)state;
    if (spec->kind == AGG_REGR_COUNT) {
        out->i64 = (int64_t)s->n;
        *null = false;
        return TCUDB_OK;
    }
    if (s->overflow) return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
    *null = s->n < 1 || !regression_value(spec->kind, s, &out->f64);
    return TCUDB_OK;
}
