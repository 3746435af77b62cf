/*
 * rule_extreme.c: a comparison with some row, or with none, is one with the largest or smallest.
 *
 * Pattern: a semi or anti join whose only condition is a < b (<=, >, >=), a over the left and b over the right side:
 *     a > ANY (SELECT b ...), a >= ALL (SELECT b ...), EXISTS (SELECT ... WHERE b > a)
 * Rewrite: the right side becomes the aggregate max(b) (min for > and >=), one row.
 * Right because: some b is greater than a exactly if the greatest is; NULLs among the bs are true for no a and are left
 * out of the maximum; no b at all: the maximum is NULL, and the comparison is true for no a. b is evaluated for every
 * row instead of some, so only where that cannot fail. Types whose comparisons and extremes are in one order (all but
 * text of a padded kind, which is left alone with the other texts). Loses never: the join compared every pair.
 */
#include "opt/opt_int.h"

#include <assert.h>

static bool ordered(Type type)
{
    switch (type.id) {
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_NUMERIC:
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
    case TYPE_DATE:
    case TYPE_TIMESTAMP: return true;
    default: return false;
    }
}

/* left <compare> right, in this order; CMP_NONE: no such condition. */
static FuncCompare comparison(const Plan *join, Expr **left, Expr **right)
{
    const Expr *e = join->join.conds[0];
    FuncCompare compare = expr_compare(e);
    if (compare != CMP_LT && compare != CMP_LE && compare != CMP_GT && compare != CMP_GE) return CMP_NONE;
    for (uint32_t k = 0; k < 2; k++) {
        *left = e->args[k];
        *right = e->args[1 - k];
        bool sides = expr_within(*left, join->inputs[0]) && expr_within(*right, join->inputs[1]);
        if (sides && expr_has_cols(*right)) return k == 0 ? compare : compare_swapped(compare);
    }
    return CMP_NONE;
}

static tcudb_status aggregate(Opt *opt, Plan *join, Expr *right, bool greatest, Plan **out, Error *err)
{
    AggCallType type;
    Plan *agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, 1, err);
    TRY_PTR(agg);
    TRY_PTR(agg->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, 1, err));
    const char *name = greatest ? "max" : "min";
    TRY(agg_resolve(str_of(name), &right->type, 1, false, 0, &type, err));
    agg->inputs[0] = join->inputs[1];
    agg->cols[0] = opt_new_col(opt, type.result, name);
    agg->agg.naggs = 1;
    agg->agg.aggs[0] =
        (AggCall){.col = agg->cols[0], .kind = greatest ? AGG_MAX : AGG_MIN, .nargs = 1, .args = {right}};
    *out = agg;
    return TCUDB_OK;
}

static tcudb_status rewrite(Opt *opt, Plan *join, Error *err)
{
    Expr *left, *right, *extreme;
    if ((join->join.kind != JOIN_SEMI && join->join.kind != JOIN_ANTI) || join->join.nconds != 1) return TCUDB_OK;
    FuncCompare compare = comparison(join, &left, &right);
    if (compare == CMP_NONE || plan_max_rows(join->inputs[1]) <= 1) return TCUDB_OK;
    if (!ordered(right->type) || !type_equal(left->type, right->type)) return TCUDB_OK;
    if (expr_volatile(left) || !expr_total(join->inputs[1], right)) return TCUDB_OK;
    Plan *agg;
    TRY(aggregate(opt, join, right, compare == CMP_LT || compare == CMP_LE, &agg, err));
    if (!type_equal(agg->cols[0].type, left->type)) return TCUDB_OK;
    TRY_PTR(extreme = expr_of_col(opt, &agg->cols[0], err));
    TRY(expr_operator(opt, compare_symbol(compare), left, extreme, &join->join.conds[0], err));
    join->inputs[1] = agg;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    assert(plan != NULL);
    TRY(opt_poll(opt, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    return plan->kind == PLAN_JOIN ? rewrite(opt, plan, err) : TCUDB_OK;
}

tcudb_status rule_extreme(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, *root, err);
}
