/*
 * cost_cpu.c: what nodes cost on the CPU.
 *
 * Linear in rows, with the cost of a row depending on the size of the table that it meets (tensor/rates.h). The same
 * distinctions as the operators make: joins over dense keys and hashed ones, ranges of matches gathered or put out as
 * they lie, groups in an array or hashed. A pipeline runs in as many pieces as its leftmost table has segments, so
 * a small table keeps one core busy and the others idle.
 * The three terms of a tree: `build` is everything below its topmost join and that join's table; `multiply` the
 * meeting of the rows and all that is done to them; `emit` the last groups.
 */
#include "opt/opt_int.h"

#include <assert.h>
#include <math.h>

static const double NS = 1e-9, LONG_RANGE = 128, DENSE_PER_ROW = 32, DENSE_MIN = 65536, OUT_TASK = 16384;

double cost_hash_join(const Rates *r, double left, double right, double out)
{
    return NS * (right * rate_at(&r->join_build, right) + left * rate_at(&r->join_probe, right) + out * r->out_row);
}

double cost_nested_join(const Rates *r, double left, double right, double out)
{
    return NS * (left * right * r->nested_pair + right + out * r->out_row);
}

double cost_aggregate(const Rates *r, double rows, double groups, double domain)
{
    if (domain < INFINITY)
        return NS * (rows * (rate_at(&r->dense_group, domain) + r->group_value) + domain * r->cell_scan);
    return NS * (rows * rate_at(&r->group, groups) + groups * r->group_new);
}

double cost_sort(const Rates *r, double rows, double kept)
{
    double steps = log2(kept < 2 ? 2 : kept);
    return NS * rows * (1 + r->sort_step * steps);
}

static double rows_of(const CostEnv *env, const Plan *plan)
{
    return env->rows == NULL ? plan->rows : env->rows(env->ctx, plan);
}

double cost_tasks(const CostEnv *env, const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_SCAN: return ceil((double)table_rows(plan->scan.table) / SEGMENT_ROWS);
    case PLAN_AGGREGATE:
    case PLAN_DISTINCT: return ceil(rows_of(env, plan) / OUT_TASK);
    case PLAN_CONTRACT:
    case PLAN_SORT: return env->workers;
    default: return plan->ninputs == 0 ? 1 : cost_tasks(env, plan->inputs[0]);
    }
}

/* Cores that the node's input keeps busy. */
static double cores(const CostEnv *env, const Plan *plan)
{
    double tasks = cost_tasks(env, plan);
    return tasks < 1 ? 1 : fmin(tasks, env->workers);
}

static bool joins_by_hash(const Plan *join)
{
    for (uint32_t i = 0; i < join->join.nconds; i++)
        if (expr_is_equality(join->join.conds[i])) return true;
    return false;
}

static Price join_price(const CostEnv *env, const Plan *plan, double left, double right, double out)
{
    const Rates *r = env->rates;
    if (!joins_by_hash(plan))
        return (Price){.build = right, .multiply = left * right * r->nested_pair + out * r->out_row};
    bool dense = plan->domain <= fmax(DENSE_PER_ROW * right, DENSE_MIN);
    double fan = left > 0 ? out / left : 0;
    const RateCurve *build = !dense ? &r->build_hash : fan > 1.01 ? &r->build_ranges : &r->build;
    Price p = {.build = right * rate_at(build, right)};
    p.multiply = left * rate_at(dense ? &r->probe : &r->probe_hash, right);
    if (dense && fan >= LONG_RANGE)
        p.multiply += out * r->range_row + out / fmin(fan, BATCH_ROWS) * r->range_start;
    else
        p.multiply += out * (fan > 1.01 ? r->pair_row : r->out_row);
    return p;
}

/* What the aggregates do to a row besides finding its group. */
static double update_price(const Rates *r, const Plan *plan, double in, double *words)
{
    double ns = 0;
    for (uint32_t i = 0; i < plan->agg.naggs; i++) {
        const AggCall *call = &plan->agg.aggs[i];
        bool numeric = type_phys(call->col.type) == PHYS_I128;
        if (call->distinct) ns += rate_at(&r->group, in / 8);
        if (call->nargs == 0) continue;
        ns += numeric ? r->group_wide : r->group_value;
        *words += numeric ? 4 : 1;
        if (call->args[0]->kind == EXPR_COL) continue;
        ns += type_phys(call->args[0]->type) == PHYS_I128 ? r->numeric_value : r->project_value;
    }
    return ns;
}

static Price group_price(const CostEnv *env, const Plan *plan, double in, double groups)
{
    const Rates *r = env->rates;
    double words = 1, update = update_price(r, plan, in, &words);
    if (plan->agg.ngroups == 0) return (Price){.multiply = in * (r->all_row + update), .emit = r->group_new};
    if (plan->domain < INFINITY)
        return (Price){.multiply = in * (rate_at(&r->dense_group, plan->domain * words) + update),
                       .emit = groups * r->group_out + plan->domain * r->cell_scan};
    return (Price){.multiply = in * (rate_at(&r->group, groups) + update), .emit = groups * r->group_new};
}

/* Of the node alone; nanoseconds of one core. Shares of the rows that it puts out and that its left input does. */
static Price node_price(const CostEnv *env, const Plan *plan, double out_kept, double in_kept)
{
    const Rates *r = env->rates;
    double in = plan->ninputs > 0 ? in_kept * rows_of(env, plan->inputs[0]) : 0, out = out_kept * rows_of(env, plan);
    double right = plan->ninputs > 1 ? rows_of(env, plan->inputs[1]) : 0;
    switch (plan->kind) {
    case PLAN_SCAN:
        in = (double)table_rows(plan->scan.table);
        return (Price){.build = in * r->filter_row * plan->scan.nfilters + out * r->scan_value * plan->ncols};
    case PLAN_FILTER: return (Price){.multiply = in * r->filter_row * plan->filter.nconds};
    case PLAN_PROJECT: return (Price){.multiply = in * r->project_value * plan->ncols};
    case PLAN_JOIN: return join_price(env, plan, in, right, out);
    case PLAN_AGGREGATE: return group_price(env, plan, in, out);
    case PLAN_DISTINCT: return (Price){.multiply = in * rate_at(&r->group, out), .emit = out * r->group_new};
    case PLAN_SORT: return (Price){.multiply = cost_sort(r, in, out) / NS};
    case PLAN_SET_OP: return (Price){.multiply = (in + right) * (plan->set_op.all ? 1 : rate_at(&r->group, out))};
    default: return (Price){.multiply = out};
    }
}

/* Share of its left rows that a join's bitmap leaves in the scan that they come from (rule_semi.c); 1: none does, or
 * the numbers of rows are counted ones. */
static double bitmap_share(const CostEnv *env, const Plan *join)
{
    static const double WORTH = 0.8;
    bool drops = join->kind == PLAN_JOIN && (join->join.kind == JOIN_INNER || join->join.kind == JOIN_SEMI);
    double left = drops ? rows_of(env, join->inputs[0]) : 0;
    if (env->rows != NULL || !(left > 0) || join->rows >= WORTH * left) return 1;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (expr_is_equality(e) && e->args[0]->kind == EXPR_COL && e->args[1]->kind == EXPR_COL)
            return join->rows / left;
    }
    return 1;
}

/* kept: the share of the node's rows that bitmaps of joins above leave. */
static Price tree_price(const CostEnv *env, const Plan *plan, double kept)
{
    bool priced = plan->kind == PLAN_CONTRACT || (plan->kind == PLAN_AGGREGATE && env->rows == NULL);
    if (priced && plan->candidates != NULL) return plan->candidates->items[plan->candidates->taken].price;
    bool grouped = plan->kind == PLAN_AGGREGATE || plan->kind == PLAN_DISTINCT;
    double share = bitmap_share(env, plan), below_kept = grouped ? 1 : kept * share;
    Price p = {0}, own = node_price(env, plan, kept, below_kept);
    double seconds = NS / (plan->ninputs == 0 ? cores(env, plan) : cores(env, plan->inputs[0]));
    for (uint32_t i = 0; i < plan->ninputs; i++) {
        Price below = tree_price(env, plan->inputs[i], i == 0 ? below_kept : 1);
        bool through = plan->kind != PLAN_JOIN;
        p.build += through ? below.build : price_total(below);
        p.multiply += through ? below.multiply + below.emit : 0;
    }
    if (plan->kind == PLAN_APPLY)
        p.multiply += rows_of(env, plan->inputs[0]) * price_total(cost_tree(env, plan->inputs[1]));
    p.build += own.build * seconds + env->rates->start * NS;
    p.multiply += own.multiply * seconds;
    p.emit += own.emit * NS / cores(env, plan);
    return p;
}

Price cost_tree(const CostEnv *env, const Plan *plan)
{
    return tree_price(env, plan, 1);
}
