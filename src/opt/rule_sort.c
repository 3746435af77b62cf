/*
 * rule_sort.c: sorts whose order nobody sees are dropped.
 *
 * Pattern: a sort without limit below an aggregate, DISTINCT, a set operation, a join's side, another
 * sort, or in a subquery that only tests.
 * Rewrite: its input.
 * Right because: SQL gives the rows of a subquery no order. Kept where PostgreSQL in practice shows it:
 * below string_agg without an ORDER BY of its own, LIMIT, DISTINCT ON, the statement's result, what an
 * INSERT stores, a CTE's rows.
 * Loses never.
 */
#include "opt/opt_int.h"

#include <assert.h>

static bool agg_sees_order(const Plan *agg)
{
    for (uint32_t i = 0; i < agg->agg.naggs; i++)
        if (agg->agg.aggs[i].kind == AGG_STRING_AGG) return true;
    return false;
}

/* Whether an input's order can be seen, given whether the node's own can. */
static bool input_order_seen(const Plan *plan, uint32_t input, bool seen)
{
    switch (plan->kind) {
    case PLAN_AGGREGATE: return agg_sees_order(plan);
    case PLAN_DISTINCT: return plan->distinct.non > 0;
    case PLAN_SORT:
    case PLAN_SET_OP: return plan->kind == PLAN_SET_OP && plan->set_op.kind == SET_UNION && plan->set_op.all && seen;
    case PLAN_JOIN: return seen && input == 0;
    case PLAN_APPLY:
        if (input == 0) return seen;
        return plan->apply.kind == APPLY_CROSS || plan->apply.kind == APPLY_LEFT;
    case PLAN_FILTER:
    case PLAN_PROJECT: return seen;
    default: return true;
    }
}

static tcudb_status visit(Opt *opt, Plan **slot, bool seen, Error *err)
{
    Plan *plan = *slot;
    bool plain = plan->kind == PLAN_SORT && plan->sort.limit == NULL && plan->sort.offset == NULL;
    if (plain && !seen) {
        opt->changed = true;
        *slot = plan->inputs[0];
        TRY(plan_restore_cols(opt, slot, plan->cols, plan->ncols, err));
        return visit(opt, slot, false, err);
    }
    assert(plan->ninputs <= 2 || plan->kind == PLAN_CONTRACT);
    for (uint32_t i = 0; i < plan->ninputs; i++)
        TRY(visit(opt, &plan->inputs[i], input_order_seen(plan, i, seen), err));
    return TCUDB_OK;
}

tcudb_status rule_sort(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, true, err);
}
