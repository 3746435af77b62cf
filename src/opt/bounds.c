/*
 * bounds.c: proven limits on a plan's number of rows.
 *
 * Exact facts only: live rows of a table in this snapshot, LIMIT, aggregates without groups. Products and
 * sums saturate. Used where "at most one row" or "exactly one row" changes what a rule may do.
 */
#include "opt/opt_int.h"

#include <assert.h>

static uint64_t add_sat(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t mul_sat(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A LIMIT's constant; UINT64_MAX if there is none. */
static uint64_t limit_value(const Expr *e)
{
    bool known = e != NULL && e->kind == EXPR_CONST && !e->value.null && e->type.id == TYPE_INT8 && e->value.i64 >= 0;
    return known ? (uint64_t)e->value.i64 : UINT64_MAX;
}

static uint64_t join_max(const Plan *join)
{
    uint64_t left = plan_max_rows(join->inputs[0]), right = plan_max_rows(join->inputs[1]);
    switch (join->join.kind) {
    case JOIN_SEMI:
    case JOIN_ANTI:
    case JOIN_MARK:
    case JOIN_SINGLE: return left;
    case JOIN_RIGHT_SEMI:
    case JOIN_RIGHT_ANTI: return right;
    case JOIN_LEFT: return mul_sat(left, max_u64(right, 1));
    case JOIN_RIGHT: return mul_sat(right, max_u64(left, 1));
    case JOIN_FULL: return add_sat(mul_sat(left, right), add_sat(left, right));
    default: return mul_sat(left, right);
    }
}

/* One group at most where all rows have the same constants to group by. */
static uint64_t agg_max(const Plan *agg)
{
    bool constant = true;
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) constant &= agg->agg.groups[i].expr->kind == EXPR_CONST;
    return constant ? 1 : plan_max_rows(agg->inputs[0]);
}

uint64_t plan_max_rows(const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_SCAN: return table_rows(plan->scan.table);
    case PLAN_VALUES: return plan->values.nrows;
    case PLAN_JOIN: return join_max(plan);
    case PLAN_AGGREGATE: return agg_max(plan);
    case PLAN_LIMIT: return min_u64(limit_value(plan->limit.limit), plan_max_rows(plan->inputs[0]));
    case PLAN_APPLY:
        if (plan->apply.result.id != 0) return plan_max_rows(plan->inputs[0]);
        return mul_sat(plan_max_rows(plan->inputs[0]), max_u64(plan_max_rows(plan->inputs[1]), 1));
    case PLAN_SET_OP:
        if (plan->set_op.kind != SET_UNION) return plan_max_rows(plan->inputs[0]);
        return add_sat(plan_max_rows(plan->inputs[0]), plan_max_rows(plan->inputs[1]));
    case PLAN_FILTER:
    case PLAN_PROJECT:
    case PLAN_DISTINCT:
    case PLAN_SORT: return plan_max_rows(plan->inputs[0]);
    case PLAN_CTE_SCAN:
        assert(plan->cte_scan.cte != NULL);
        return plan->cte_scan.cte->plan == NULL ? UINT64_MAX : plan_max_rows(plan->cte_scan.cte->plan);
    default: return UINT64_MAX;
    }
}

static uint64_t join_min(const Plan *join)
{
    uint64_t left = plan_min_rows(join->inputs[0]), right = plan_min_rows(join->inputs[1]);
    switch (join->join.kind) {
    case JOIN_MARK:
    case JOIN_SINGLE:
    case JOIN_LEFT: return left;
    case JOIN_RIGHT: return right;
    case JOIN_FULL: return max_u64(left, right);
    case JOIN_INNER: return join->join.nconds == 0 ? mul_sat(left, right) : 0;
    default: return 0;
    }
}

uint64_t plan_min_rows(const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_SCAN: return plan->scan.nfilters == 0 ? table_rows(plan->scan.table) : 0;
    case PLAN_VALUES: return plan->values.nrows;
    case PLAN_JOIN: return join_min(plan);
    case PLAN_AGGREGATE:
        if (plan->agg.ngroups == 0) return 1;
        return min_u64(plan_min_rows(plan->inputs[0]), 1);
    case PLAN_DISTINCT: return min_u64(plan_min_rows(plan->inputs[0]), 1);
    case PLAN_PROJECT: return plan_min_rows(plan->inputs[0]);
    case PLAN_SORT: return plan->sort.limit == NULL && plan->sort.offset == NULL ? plan_min_rows(plan->inputs[0]) : 0;
    default: return 0;
    }
}
