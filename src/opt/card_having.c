/*
 * card_having.c: what share of groups a condition on an aggregate lets through.
 *
 * A group has 1 + Poisson(n - 1) rows, n being the mean; values are uniform between the column's exact bounds. So
 *     count      mean n                variance n - 1
 *     sum        mean n m              variance n v + (n - 1) m^2      m, v: of one value
 *     avg        mean m                variance v / n
 * and the share beyond a constant is that of a normal distribution; an extreme is beyond it where all values are, or
 * one. Real data has heavier tails: never less than FLOOR. "Orders of more than 300 pieces", in TPC-H one of 7,000, is
 * guessed at one of 1,000 (a fixed guess of a third would be far off).
 */
#include "opt/opt_int.h"

#include <math.h>

static const double FLOOR = 1e-3;

typedef struct Moments {
    double mean, variance;
    double step; /* distance of neighbouring values */
} Moments;

static const AggCall *call_of(const Plan *agg, ColId col)
{
    for (uint32_t i = 0; i < agg->agg.naggs; i++)
        if (agg->agg.aggs[i].col.id == col) return &agg->agg.aggs[i];
    return NULL;
}

static const ColFact *values_of(const Opt *opt, const AggCall *call)
{
    const Expr *column = call->nargs == 0 ? NULL : expr_column(call->args[0]);
    const ColFact *fact = column == NULL ? NULL : card_fact(opt, column->col);
    return fact != NULL && fact->has_range ? fact : NULL;
}

static bool find_moments(const AggCall *call, const ColFact *fact, double n, Moments *out)
{
    if (call->kind == AGG_COUNT_STAR || call->kind == AGG_COUNT) {
        *out = (Moments){.mean = n, .variance = n - 1, .step = 1};
        return true;
    }
    if (fact == NULL) return false;
    double m = (fact->lo + fact->hi) / 2, v = (fact->hi - fact->lo) * (fact->hi - fact->lo) / 12;
    *out = (Moments){.mean = n * m, .variance = n * v + (n - 1) * m * m};
    if (call->kind == AGG_AVG) *out = (Moments){.mean = m, .variance = v / n};
    return call->kind == AGG_SUM || call->kind == AGG_AVG;
}

static double above(const Moments *m, double number)
{
    double sd = sqrt(2 * fmax(m->variance, 1e-12 * (1 + m->mean * m->mean)));
    return erfc((number - m->mean) / sd) / 2;
}

static double moments_share(const Moments *m, FuncCompare compare, double number)
{
    double half = m->step / 2;
    double equal = m->step > 0 ? above(m, number - half) - above(m, number + half) : FLOOR;
    switch (compare) {
    case CMP_EQ: return equal;
    case CMP_NE: return 1 - equal;
    case CMP_GT: return above(m, number + half);
    case CMP_GE: return above(m, number - half);
    case CMP_LT: return 1 - above(m, number - half);
    default: return 1 - above(m, number + half);
    }
}

/* Of a minimum or maximum: all n values are beyond the number, or one of them is. */
static double extreme_share(const AggCall *call, const ColFact *fact, double n, FuncCompare compare, double number)
{
    bool greater = compare == CMP_GT || compare == CMP_GE, all = greater == (call->kind == AGG_MIN);
    double below = fmin(1, fmax(0, (number - fact->lo) / fmax(fact->hi - fact->lo, 1e-300)));
    double each = greater ? 1 - below : below;
    return all ? pow(each, n) : 1 - pow(1 - each, n);
}

bool card_having_share(const Opt *opt, const Plan *agg, const Expr *e, double *share)
{
    FuncCompare compare = expr_compare(e);
    const Expr *column = compare == CMP_NONE ? NULL : expr_column(e->args[0]);
    if (column == NULL || e->args[1]->kind != EXPR_CONST || agg->agg.ngroups == 0) return false;
    const AggCall *call = call_of(agg, column->col);
    double number = card_number(&e->args[1]->value), n = fmax(1, agg->inputs[0]->rows / fmax(1, agg->rows));
    if (call == NULL || call->distinct || call->filter != NULL || !isfinite(number)) return false;
    const ColFact *fact = values_of(opt, call);
    Moments m;
    bool extreme = (call->kind == AGG_MIN || call->kind == AGG_MAX) && compare != CMP_EQ && compare != CMP_NE;
    if (extreme && fact != NULL)
        *share = extreme_share(call, fact, n, compare, number);
    else if (find_moments(call, fact, n, &m))
        *share = moments_share(&m, compare, number);
    else
        return false;
    *share = fmin(1, fmax(FLOOR, *share));
    return true;
}
