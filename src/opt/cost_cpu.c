/*
 * cost_cpu.c: what nodes cost on the CPU, in seconds of one core.
 *
 * Linear in rows, with the cost of a row depending on whether the hash table it meets fits the caches:
 * the curves of Rates (tensor/rates.h).
 */
#include "opt/opt_int.h"

#include <assert.h>
#include <math.h>

static const double NS = 1e-9;

double cost_hash_join(const Rates *r, double left, double right, double out)
{
    return NS * (right * rate_at(&r->build, right) + left * rate_at(&r->probe, right) + out * r->out_row);
}

double cost_nested_join(const Rates *r, double left, double right, double out)
{
    return NS * (left * right * r->nested_pair + right + out * r->out_row);
}

double cost_aggregate(const Rates *r, double rows, double groups)
{
    return NS * (rows * rate_at(&r->group, groups) + groups * r->group_new);
}

double cost_sort(const Rates *r, double rows, double kept)
{
    double steps = log2(kept < 2 ? 2 : kept);
    return NS * rows * (1 + r->sort_step * steps);
}

static bool joins_by_hash(const Plan *join)
{
    for (uint32_t i = 0; i < join->join.nconds; i++)
        if (expr_is_equality(join->join.conds[i])) return true;
    return false;
}

static double node_cost(const Rates *r, const Plan *plan)
{
    double in = plan->ninputs > 0 ? plan->inputs[0]->rows : 0;
    double right = plan->ninputs > 1 ? plan->inputs[1]->rows : 0;
    switch (plan->kind) {
    case PLAN_SCAN:
        in = (double)table_rows(plan->scan.table);
        return NS * in * (r->scan_value * plan->ncols + r->filter_row * plan->scan.nfilters);
    case PLAN_FILTER: return NS * in * r->filter_row * plan->filter.nconds;
    case PLAN_PROJECT: return NS * in * r->project_value * plan->ncols;
    case PLAN_JOIN:
        return joins_by_hash(plan) ? cost_hash_join(r, in, right, plan->rows)
                                   : cost_nested_join(r, in, right, plan->rows);
    case PLAN_APPLY: return in * plan->inputs[1]->cost; /* run once a row; its own cost is added once more */
    case PLAN_AGGREGATE: return cost_aggregate(r, in, plan->rows);
    case PLAN_DISTINCT: return cost_aggregate(r, in, plan->rows);
    case PLAN_SORT: return cost_sort(r, in, plan->rows);
    case PLAN_SET_OP: return plan->set_op.all ? NS * (in + right) : cost_aggregate(r, in + right, plan->rows);
    default: return NS * plan->rows;
    }
}

void cost_plan(const Rates *r, Plan *plan)
{
    double cost = 0;
    for (uint32_t i = 0; i < plan->ninputs; i++) {
        cost_plan(r, plan->inputs[i]);
        cost += plan->inputs[i]->cost;
    }
    assert(plan->rows >= 0);
    plan->cost = cost + node_cost(r, plan);
}
