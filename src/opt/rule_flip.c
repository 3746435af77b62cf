/*
 * rule_flip.c: a semi or anti join against a large right side builds its left side instead.
 *
 * Pattern: semi(L, R) or anti(L, R) with an equality between the sides, R much larger than L (TPC-H 4, 18, 20, 21).
 * Rewrite: the sides change places; R streams past a table of L and marks the rows of L that it meets:
 *     Join Semi on l = r           Join Right Semi on l = r
 *       L (small)             ->     R (large)    (rule_semi.c: tests L's keys while scanning)
 *       R (large)                    L
 * Right because: which side is kept does not change which rows of L have a partner.
 * Runs after the rules that look at joins, so that only those after it have to know these kinds. NOT IN over columns
 * that may be NULL is a mark join and stays.
 * Loses when: L is larger than estimated, or the bitmap of L's keys drops few rows of R; then the prices say so.
 */
#include "opt/opt_int.h"

static const double GAIN = 0.7, MIN_ROWS = 5000;

/* Share of R's rows that are left after the bitmaps of L's keys; false: no equality between the sides. */
static bool share_of_right(const Opt *opt, const Plan *join, double *share)
{
    const Plan *left = join->inputs[0], *right = join->inputs[1];
    bool any = false;
    *share = 1;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e)) continue;
        uint32_t k = expr_within(e->args[0], left) ? 0 : 1;
        const Expr *l = e->args[k], *r = e->args[1 - k];
        if (!expr_within(l, left) || !expr_within(r, right)) continue;
        any = true;
        if (l->kind != EXPR_COL || r->kind != EXPR_COL) continue;
        double domain = card_distinct(opt, r, right->rows), held = card_distinct(opt, l, left->rows);
        if (held < domain) *share *= held / domain;
    }
    return any;
}

static bool pays(const Opt *opt, const Plan *join)
{
    const Rates *rates = opt->env->rates;
    double left = join->inputs[0]->rows, right = join->inputs[1]->rows, share;
    if (right < MIN_ROWS || !share_of_right(opt, join, &share)) return false;
    double now = cost_hash_join(rates, left, right, join->rows);
    double then = cost_hash_join(rates, right * share, left, join->rows);
    return then < GAIN * now;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    bool semi = plan->kind == PLAN_JOIN && plan->join.kind == JOIN_SEMI;
    bool anti = plan->kind == PLAN_JOIN && plan->join.kind == JOIN_ANTI;
    if ((!semi && !anti) || !pays(opt, plan)) return TCUDB_OK;
    Plan *left = plan->inputs[0];
    plan->inputs[0] = plan->inputs[1];
    plan->inputs[1] = left;
    plan->join.kind = semi ? JOIN_RIGHT_SEMI : JOIN_RIGHT_ANTI;
    opt->changed = true;
    return TCUDB_OK;
}

tcudb_status rule_flip(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, *root, err);
}
