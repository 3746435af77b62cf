/*
 * card_rows.c: how many rows every node puts out, estimated bottom-up.
 *
 * Joins: product of the inputs times the share of the pairs that meet; semi joins: left rows whose key is likely among
 * the right ones. Groups: combinations of the values of the group expressions (card_combine.c), not more than rows,
 * with a correction for few rows per group. At least one row, so that products keep meaning.
 */
#include "opt/card_combine.h"

#include <assert.h>
#include <math.h>

static const double STEP_GUESS = 10; /* rounds of a recursion */

static double at_least_one(double rows)
{
    return rows < 1 || !isfinite(rows) ? 1 : rows;
}

/* Distinct values among n rows drawn from d: d (1 - (1 - 1/d)^n). */
double card_drawn(double d, double n)
{
    if (d <= 1) return 1;
    double e = -expm1(n * log1p(-1 / d)) * d;
    return e < 1 ? 1 : e;
}

double card_combined(double d, double n)
{
    static const double GRID = 0.9, SLACK = 1.05; /* distinct counts are estimates */
    return n > GRID * d && n <= SLACK * d ? n : card_drawn(d, n);
}

typedef struct Held {
    const Opt *opt;
    const Expr *e;
    double share;
} Held;

static void narrow(Held *h, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) narrow(h, plan->inputs[i]);
    if (plan->kind != PLAN_SCAN) return;
    for (uint32_t c = 0; c < plan->ncols; c++) {
        if (!expr_has_col(h->e, plan->cols[c].id)) continue;
        for (uint32_t f = 0; f < plan->scan.nfilters; f++)
            if (expr_has_col(plan->scan.filters[f], plan->cols[c].id))
                h->share *= card_selectivity(h->opt, plan->scan.filters[f]);
    }
}

double card_held(const Opt *opt, const Plan *plan, const Expr *e)
{
    Held h = {.opt = opt, .e = e, .share = 1};
    narrow(&h, plan);
    double d = card_distinct(opt, e, INFINITY) * h.share;
    return d < 1 ? 1 : d;
}

static double group_rows(const Opt *opt, const Plan *agg, double rows)
{
    Combos groups = {.n = 0};
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) combos_add(&groups, opt, agg->inputs[0], agg->agg.groups[i].expr);
    return agg->agg.ngroups == 0 ? 1 : combos_count(&groups, rows);
}

static double contract_groups(const Opt *opt, const Plan *plan, uint32_t end, double rows)
{
    Combos groups = {.n = 0};
    for (uint32_t i = 0; i < end; i++)
        combos_add(&groups, opt, plan->inputs[i >= plan->contract.nleft], plan->contract.groups[i].expr);
    return combos_count(&groups, rows);
}

/* Pairs of groups that meet: at most all combinations, at most the join's rows. */
static double contract_rows(const Opt *opt, const Plan *plan)
{
    double pairs = plan->inputs[0]->rows * plan->inputs[1]->rows * card_contract_share(opt, plan);
    pairs *= card_selectivity_all(opt, plan->contract.range.conds, plan->contract.range.n);
    double rows = contract_groups(opt, plan, plan->contract.ngroups, at_least_one(pairs));
    if (plan->contract.fold) rows = contract_groups(opt, plan, plan->contract.nleft, rows);
    return rows * card_selectivity_all(opt, plan->contract.having, plan->contract.nhaving);
}

static double distinct_rows(const Opt *opt, const Plan *plan, double rows)
{
    Combos values = {.n = 0};
    uint32_t non = plan->distinct.non;
    for (uint32_t i = 0; i < (non > 0 ? non : plan->ncols); i++)
        combos_add_col(&values, opt, plan->inputs[0], non > 0 ? plan->distinct.on[i] : plan->cols[i].id);
    return combos_count(&values, rows);
}

/* Rows of a side without a partner. */
static double alone(const Opt *opt, const Plan *join, uint32_t side)
{
    return join->inputs[side]->rows * (1 - card_match_share(opt, join, side));
}

static double join_rows(const Opt *opt, const Plan *join)
{
    double left = join->inputs[0]->rows, right = join->inputs[1]->rows;
    JoinShare share = card_join_share(opt, join);
    double inner = left * right * share.keys * share.skew * share.rest;
    switch (join->join.kind) {
    case JOIN_LEFT: return fmax(left, inner + alone(opt, join, 0));
    case JOIN_RIGHT: return fmax(right, inner + alone(opt, join, 1));
    case JOIN_FULL: return fmax(fmax(left, right), inner + alone(opt, join, 0) + alone(opt, join, 1));
    case JOIN_SEMI: return left - alone(opt, join, 0);
    case JOIN_ANTI: return alone(opt, join, 0);
    case JOIN_RIGHT_SEMI: return right - alone(opt, join, 1);
    case JOIN_RIGHT_ANTI: return alone(opt, join, 1);
    case JOIN_MARK:
    case JOIN_SINGLE: return left;
    default: return inner;
    }
}

static double limit_rows(const Expr *limit, double rows)
{
    if (limit == NULL) return rows;
    double n = limit->kind == EXPR_CONST ? card_number(&limit->value) : NAN;
    return isfinite(n) && n < rows ? n : rows;
}

static double set_rows(const Plan *plan)
{
    double left = plan->inputs[0]->rows, right = plan->inputs[1]->rows;
    if (plan->set_op.kind == SET_UNION) return left + right;
    return plan->set_op.kind == SET_INTERSECT ? fmin(left, right) / 2 : left / 2;
}

static double apply_rows(const Plan *plan)
{
    if (plan->apply.result.id != 0) return plan->inputs[0]->rows;
    return plan->inputs[0]->rows * plan->inputs[1]->rows;
}

/* The first rows of each partition of a window: their share of all. */
static double numbered_share(const Opt *opt, const Plan *window, int64_t most)
{
    Combos keys = {.n = 0};
    double rows = fmax(1, window->rows);
    for (uint32_t i = 0; i < window->window.npartition; i++)
        combos_add(&keys, opt, window->inputs[0], window->window.partition[i]);
    return fmin(1, fmax(1, (double)most) * combos_count(&keys, rows) / rows);
}

static double filter_share(const Opt *opt, const Plan *plan)
{
    const Plan *window = NULL;
    int64_t most = plan_numbered(plan, &window);
    if (most < INT64_MAX) return numbered_share(opt, window, most);
    double all = card_selectivity_all(opt, plan->filter.conds, plan->filter.nconds), share;
    if (plan->inputs[0]->kind != PLAN_AGGREGATE) return all;
    for (uint32_t i = 0; i < plan->filter.nconds; i++)
        if (card_having_share(opt, plan->inputs[0], plan->filter.conds[i], &share))
            all *= share / card_selectivity(opt, plan->filter.conds[i]);
    return fmin(1, all);
}

static double node_rows(const Opt *opt, const Plan *plan)
{
    double in = plan->ninputs > 0 ? plan->inputs[0]->rows : 1;
    switch (plan->kind) {
    case PLAN_SCAN:
        return (double)table_rows(plan->scan.table) *
               card_selectivity_all(opt, plan->scan.filters, plan->scan.nfilters);
    case PLAN_FUNC_SCAN: return 1000; /* the bound function's own guess is files/'s business */
    case PLAN_VALUES: return (double)plan->values.nrows;
    case PLAN_FILTER: return in * filter_share(opt, plan);
    case PLAN_JOIN: return join_rows(opt, plan);
    case PLAN_APPLY: return apply_rows(plan);
    case PLAN_AGGREGATE: return group_rows(opt, plan, in);
    case PLAN_CONTRACT: return contract_rows(opt, plan);
    case PLAN_DISTINCT: return distinct_rows(opt, plan, in);
    case PLAN_SORT: return limit_rows(plan->sort.limit, in);
    case PLAN_LIMIT: return limit_rows(plan->limit.limit, in);
    case PLAN_SET_OP: return set_rows(plan);
    case PLAN_CTE_SCAN: return plan->cte_scan.cte->plan == NULL ? 1000 : plan->cte_scan.cte->plan->rows;
    case PLAN_RECURSIVE: return in * STEP_GUESS;
    case PLAN_WORK_SCAN: return 1000;
    default: return in;
    }
}

void card_rows(const Opt *opt, Plan *plan, bool all)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) card_rows(opt, plan->inputs[i], all);
    if (plan->rows >= 0 && !all) return;
    plan->rows = plan_is_empty(plan) ? 0 : at_least_one(node_rows(opt, plan));
    assert(plan->rows >= 0);
}
