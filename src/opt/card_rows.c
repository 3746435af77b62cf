/*
 * card_rows.c: how many rows every node puts out, estimated bottom-up.
 *
 * Joins: product of the inputs times the selectivity of the conditions; semi joins: left rows whose key is
 * likely among the right ones. Groups: product of the distinct values of the group expressions, not more
 * than rows, with a correction for few rows per group. At least one row, so that products keep meaning.
 */
#include "opt/opt_int.h"

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
    static const double GRID = 0.5, SLACK = 1.05; /* distinct counts are estimates */
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
    double groups = 1;
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) groups *= card_held(opt, agg->inputs[0], agg->agg.groups[i].expr);
    return agg->agg.ngroups == 0 ? 1 : card_drawn(groups, rows);
}

/* Pairs of groups that meet: at most all combinations, at most the join's rows. */
static double contract_rows(const Opt *opt, const Plan *plan)
{
    double groups = 1, pairs = plan->inputs[0]->rows * plan->inputs[1]->rows;
    for (uint32_t i = 0; i < plan->contract.ngroups; i++)
        groups *= card_distinct(opt, plan->contract.groups[i].expr, INFINITY);
    for (uint32_t i = 0; i < plan->contract.nkeys; i++)
        pairs *= card_equality(opt, plan->contract.keys[0][i], plan->contract.keys[1][i]);
    pairs *= card_selectivity_all(opt, plan->contract.range.conds, plan->contract.range.n);
    double rows = card_drawn(groups, at_least_one(pairs));
    if (plan->contract.fold) {
        groups = 1;
        for (uint32_t i = 0; i < plan->contract.nleft; i++)
            groups *= card_distinct(opt, plan->contract.groups[i].expr, INFINITY);
        rows = card_drawn(groups, rows);
    }
    return rows * card_selectivity_all(opt, plan->contract.having, plan->contract.nhaving);
}

static double distinct_rows(const Opt *opt, const Plan *plan, double rows)
{
    double groups = 1;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        double d = card_fact(opt, plan->cols[i].id)->distinct;
        groups *= d > 0 ? d : rows;
    }
    return card_drawn(groups, rows);
}

/* Share of the rows with a partner among so many rows of the other side. */
static double match_share(const Opt *opt, const Plan *join, double others)
{
    if (join->join.nconds == 0) return 1;
    double pairs = card_selectivity_all(opt, join->join.conds, join->join.nconds) * others;
    return -expm1(-pairs); /* chance that at least one of `pairs` expected partners is there */
}

static double join_rows(const Opt *opt, const Plan *join)
{
    double left = join->inputs[0]->rows, right = join->inputs[1]->rows;
    double inner = left * right * card_selectivity_all(opt, join->join.conds, join->join.nconds);
    switch (join->join.kind) {
    case JOIN_LEFT: return inner > left ? inner : left;
    case JOIN_RIGHT: return inner > right ? inner : right;
    case JOIN_FULL: return fmax(inner, fmax(left, right));
    case JOIN_SEMI: return left * match_share(opt, join, right);
    case JOIN_ANTI: return left * (1 - match_share(opt, join, right));
    case JOIN_RIGHT_SEMI: return right * match_share(opt, join, left);
    case JOIN_RIGHT_ANTI: return right * (1 - match_share(opt, join, left));
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

static double node_rows(const Opt *opt, const Plan *plan)
{
    double in = plan->ninputs > 0 ? plan->inputs[0]->rows : 1;
    switch (plan->kind) {
    case PLAN_SCAN:
        return (double)table_rows(plan->scan.table) *
               card_selectivity_all(opt, plan->scan.filters, plan->scan.nfilters);
    case PLAN_FUNC_SCAN: return 1000; /* the bound function's own guess is files/'s business */
    case PLAN_VALUES: return (double)plan->values.nrows;
    case PLAN_FILTER: return in * card_selectivity_all(opt, plan->filter.conds, plan->filter.nconds);
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
