/*
 * floats.c: float8 columns of a contraction as integers, so that their sums do not depend on any order.
 *
 * Over a column, every finite value is an integer x 2^low, low being the lowest bit that any value has. That integer
 * is cut into limbs of `width` bits with the value's sign:
 *
 *     v = 2^low x sum of limb i x 2^(width i)        width + log2(rows) <= 61
 *
 * so the sum of a column of limbs over all rows fits, and a sum of products of values is a sum of products of limbs,
 * shifted (contract_terms.c), added exactly and rounded once (fixed.h). Prices in cents, measurements and random
 * numbers take one to three limbs.
 * NaN and the infinities are 0 in the limbs and counted in three columns of their own, so that 0 x Infinity in a
 * matrix product touches no other group. What that cannot express goes row by row (exact.c): spans with too many limbs,
 * products with special values, products that may leave double's range, where PostgreSQL reports an error.
 */
#include "exec/tcu/contract_int.h"

#include <assert.h>
#include <math.h>

void float_parts(int64_t bits, int64_t *mantissa, int *exponent)
{
    uint64_t fraction = (uint64_t)bits & ((UINT64_C(1) << 52) - 1);
    int field = (int)((uint64_t)bits >> 52 & 0x7ff);
    assert(field != 0x7ff);
    if (field != 0) fraction |= UINT64_C(1) << 52;
    *exponent = (field == 0 ? 1 : field) - 1075;
    *mantissa = bits < 0 ? -(int64_t)fraction : (int64_t)fraction;
}

static bool is_special(int64_t bits)
{
    return ((uint64_t)bits >> 52 & 0x7ff) == 0x7ff;
}

void float_note(FloatColumn *f, int64_t bits)
{
    int64_t m;
    int e;
    if (is_special(bits)) {
        f->special = true;
        return;
    }
    float_parts(bits, &m, &e);
    if (m == 0) return;
    uint64_t size = (uint64_t)(m < 0 ? -m : m);
    int low = e + __builtin_ctzll(size), high = e + 63 - __builtin_clzll(size);
    if (!f->any || low < f->low) f->low = low;
    if (!f->any || high > f->high) f->high = high;
    if (!f->any || high < f->least) f->least = high;
    f->any = true;
}

void float_merge(FloatColumn *into, const FloatColumn *f)
{
    into->special |= f->special;
    if (!f->any) return;
    if (!into->any || f->low < into->low) into->low = f->low;
    if (!into->any || f->high > into->high) into->high = f->high;
    if (!into->any || f->least < into->least) into->least = f->least;
    into->any = true;
}

typedef struct Scan {
    Input *in;
    pthread_mutex_t lock;
} Scan;

static tcudb_status scan_run(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    Scan *s = ctx;
    const SideRun *run = &s->in->runs[task];
    for (uint32_t v = 0; v < s->in->nvalues; v++) {
        FloatColumn facts = {.used = true};
        if (!s->in->floats[v].used) continue;
        for (uint64_t i = 0; i < run->n; i++) float_note(&facts, run->values[v][i]);
        pthread_mutex_lock(&s->lock);
        float_merge(&s->in->floats[v], &facts);
        pthread_mutex_unlock(&s->lock);
    }
    return TCUDB_OK;
}

static bool any_float(const Input *in)
{
    for (uint32_t v = 0; v < in->nvalues; v++)
        if (in->floats[v].used) return true;
    return false;
}

tcudb_status floats_scan(Exec *x, Input *in, Error *err)
{
    Scan s = {.in = in, .lock = PTHREAD_MUTEX_INITIALIZER};
    return any_float(in) ? exec_parallel(x, NULL, in->nruns, scan_run, &s, err) : TCUDB_OK;
}

/* Numbers the columns that the limbs will have; false: more than there is room for. */
static bool plan_columns(Input *in)
{
    uint32_t next = in->nvalues, bits = 1;
    while (bits < 31 && (in->n >> bits) != 0) bits++;
    for (uint32_t v = 0, n = in->nvalues; v < n; v++) {
        FloatColumn *f = &in->floats[v];
        if (!f->used) continue;
        f->width = 61 - bits;
        f->limbs = f->any ? (uint32_t)(f->high - f->low) / f->width + 1 : 1;
        f->first = next;
        next += f->limbs - 1;
        f->specials = f->special ? next : 0;
        next += f->special ? 3 : 0;
        if (next + in->ncompared > PRODUCT_PLAN) return false;
    }
    return in->n < UINT64_C(1) << 31;
}

/* Whether no product of values of both columns is special, overflows or is lost. */
static bool is_tame(const FloatColumn *a, const FloatColumn *b)
{
    if (a->special || b->special) return false;
    return !a->any || !b->any || (a->high + b->high < 1020 && a->least + b->least >= -1074);
}

bool floats_plan(const Plan *plan, Input inputs[2])
{
    for (uint32_t o = 0; o < plan->contract.nouts; o++) {
        const ContractOut *out = &plan->contract.outs[o];
        if (out->col.type.id != TYPE_FLOAT8) continue;
        uint32_t left = out->terms[0].left, right = out->terms[0].right;
        bool both = left != ONES && right != ONES && inputs[0].floats[left].used && inputs[1].floats[right].used;
        if (both && !is_tame(&inputs[0].floats[left], &inputs[1].floats[right])) return false;
    }
    return plan_columns(&inputs[0]) && plan_columns(&inputs[1]);
}

int64_t float_limb(const FloatColumn *f, int64_t bits, uint32_t limb)
{
    int64_t m;
    int e;
    if (is_special(bits)) return 0;
    float_parts(bits, &m, &e);
    if (m == 0) return 0;
    uint64_t size = (uint64_t)(m < 0 ? -m : m);
    int from = (int)(f->width * limb) - (e - f->low); /* the limb's lowest bit in the mantissa */
    uint64_t part = from >= 64 || -from >= (int)f->width ? 0 : from >= 0 ? size >> from : size << -from;
    part &= (UINT64_C(1) << f->width) - 1;
    return m < 0 ? -(int64_t)part : (int64_t)part;
}

int64_t float_kind(int64_t bits, uint32_t kind)
{
    if (!is_special(bits)) return 0;
    bool nan = (bits & ((INT64_C(1) << 52) - 1)) != 0;
    return kind == 0 ? nan : !nan && (kind == 1) == (bits > 0);
}

static tcudb_status split_run(Exec *x, const FloatColumn *f, SideRun *run, uint32_t v, Error *err)
{
    const int64_t *from = run->values[v];
    for (uint32_t c = 0; c < f->limbs + (f->special ? 3 : 0); c++) {
        int64_t *to = exec_alloc(x, sizeof *to * (run->n + 1), err);
        TRY_PTR(to);
        if (c < f->limbs)
            for (uint64_t i = 0; i < run->n; i++) to[i] = float_limb(f, from[i], c);
        else
            for (uint64_t i = 0; i < run->n; i++) to[i] = float_kind(from[i], c - f->limbs);
        run->values[c == 0 ? v : c < f->limbs ? f->first + c - 1 : f->specials + c - f->limbs] = to;
    }
    return TCUDB_OK;
}

typedef struct Split {
    Exec *x;
    Input *in;
    uint32_t more; /* columns */
} Split;

static tcudb_status split_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w;
    const Split *s = ctx;
    const Input *in = s->in;
    SideRun *run = &in->runs[task];
    for (uint32_t c = in->ncompared; c-- > 0;) run->values[in->nvalues + s->more + c] = run->values[in->nvalues + c];
    for (uint32_t v = 0; v < in->nvalues; v++)
        if (in->floats[v].used) TRY(split_run(s->x, &in->floats[v], run, v, err));
    return TCUDB_OK;
}

uint32_t floats_more(Input *in)
{
    uint32_t more = 0;
    for (uint32_t v = 0; v < in->nvalues; v++) {
        const FloatColumn *f = &in->floats[v];
        if (!f->used) continue;
        more += f->limbs - 1 + (f->special ? 3 : 0);
        if (in->n > 0) in->weight = fmax(in->weight, ldexp((double)in->n, (int)f->width));
    }
    return more;
}

tcudb_status floats_split(Exec *x, Input *in, Error *err)
{
    Split s = {.x = x, .in = in, .more = floats_more(in)};
    if (any_float(in)) TRY(exec_parallel(x, NULL, in->nruns, split_task, &s, err));
    in->nvalues += s.more;
    return TCUDB_OK;
}
