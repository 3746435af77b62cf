/*
 * cost_cpu.c: what nodes cost on the CPU, in seconds of one core.
 *
 * Linear in rows, with the cost of a row depending on whether the hash table it meets fits the caches:
 * interpolated in the logarithm of the table's size. The constants are those of a 2-core Zen 4 (measured
 * with the SSB and micro queries) and matter only relative to each other: they order joins and decide
 * whether an aggregate below a join pays.
 */
#include "opt/opt_int.h"

#include <assert.h>
#include <math.h>

static const double NS = 1e-9;
static const double SCAN_VALUE = 0.4, FILTER_ROW = 1.0, PROJECT_VALUE = 0.6, OUT_ROW = 1.5;
static const double BUILD_FAST = 8, BUILD_SLOW = 60, PROBE_FAST = 3, PROBE_SLOW = 40, PAIR = 2;
static const double GROUP_FAST = 8, GROUP_SLOW = 100, GROUP_NEW = 60, SORT_STEP = 4;
static const double FITS = 1 << 12, SPILLS = 1 << 22; /* rows of a hash table in L1 and L2, and far beyond L3 */

/* A row's cost against a table of n rows. */
static double by_size(double n, double fast, double slow)
{
    if (n <= FITS) return fast;
    if (n >= SPILLS) return slow;
    double share = log(n / FITS) / log(SPILLS / FITS);
    return fast + share * (slow - fast);
}

double cost_hash_join(double left, double right, double out)
{
    return NS * (right * by_size(right, BUILD_FAST, BUILD_SLOW) + left * by_size(right, PROBE_FAST, PROBE_SLOW) +
                 out * OUT_ROW);
}

double cost_nested_join(double left, double right, double out)
{
    return NS * (left * right * PAIR + right + out * OUT_ROW);
}

double cost_aggregate(double rows, double groups)
{
    return NS * (rows * by_size(groups, GROUP_FAST, GROUP_SLOW) + groups * GROUP_NEW);
}

double cost_sort(double rows, double kept)
{
    double steps = log2(kept < 2 ? 2 : kept);
    return NS * rows * (1 + SORT_STEP * steps / 4);
}

static bool joins_by_hash(const Plan *join)
{
    for (uint32_t i = 0; i < join->join.nconds; i++)
        if (expr_is_equality(join->join.conds[i])) return true;
    return false;
}

static double node_cost(const Plan *plan)
{
    double in = plan->ninputs > 0 ? plan->inputs[0]->rows : 0;
    double right = plan->ninputs > 1 ? plan->inputs[1]->rows : 0;
    switch (plan->kind) {
    case PLAN_SCAN:
        in = (double)table_rows(plan->scan.table);
        return NS * in * (SCAN_VALUE * plan->ncols + FILTER_ROW * plan->scan.nfilters);
    case PLAN_FILTER: return NS * in * FILTER_ROW * plan->filter.nconds;
    case PLAN_PROJECT: return NS * in * PROJECT_VALUE * plan->ncols;
    case PLAN_JOIN:
        return joins_by_hash(plan) ? cost_hash_join(in, right, plan->rows) : cost_nested_join(in, right, plan->rows);
    case PLAN_APPLY: return in * plan->inputs[1]->cost; /* run once a row; its own cost is added once more */
    case PLAN_AGGREGATE: return cost_aggregate(in, plan->rows);
    case PLAN_DISTINCT: return cost_aggregate(in, plan->rows);
    case PLAN_SORT: return cost_sort(in, plan->rows);
    case PLAN_SET_OP: return plan->set_op.all ? NS * (in + right) : cost_aggregate(in + right, plan->rows);
    default: return NS * plan->rows;
    }
}

void cost_plan(Plan *plan)
{
    double cost = 0;
    for (uint32_t i = 0; i < plan->ninputs; i++) {
        cost_plan(plan->inputs[i]);
        cost += plan->inputs[i]->cost;
    }
    assert(plan->rows >= 0);
    plan->cost = cost + node_cost(plan);
}
