/*
 * rule_flip.c: a semi join against a large right side builds its left side instead.
 *
 * Pattern: semi(L, R) on equalities of plain columns, R much larger than L (TPC-H 4, 18, 20).
 * Rewrite: the keys of R, grouped, joined with L, which is now the right side:
 *     Join Semi on o = l           Join Inner on o = l
 *       L (small)             ->     Aggregate by l
 *       R (large)                      R        (rule_semi.c: tests L's keys while scanning)
 *                                    L
 * Right because: grouping leaves each key of R once, so a row of L meets at most one group and comes out
 * exactly if some row of R has its key; NULL keys match nothing on either side.
 * Loses when: few rows of R are dropped by the bitmap of L's keys; then the cost model says so.
 */
#include "opt/opt_int.h"

#include <assert.h>

static const double GAIN = 0.7, MIN_ROWS = 5000;

/* Every condition is left column = right column; rights[i]: the right ones. */
static bool plain_keys(const Plan *join, const Expr **lefts, const Expr **rights)
{
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e) || e->args[0]->kind != EXPR_COL || e->args[1]->kind != EXPR_COL) return false;
        uint32_t k = plan_find_col(join->inputs[0], e->args[0]->col) != NULL ? 0 : 1;
        lefts[i] = e->args[k];
        rights[i] = e->args[1 - k];
        if (plan_find_col(join->inputs[0], lefts[i]->col) == NULL) return false;
        if (plan_find_col(join->inputs[1], rights[i]->col) == NULL) return false;
    }
    return join->join.nconds > 0;
}

static bool pays(const Opt *opt, const Plan *join, const Expr *const *lefts, const Expr *const *rights)
{
    const Rates *r = opt->env->rates;
    double left = join->inputs[0]->rows, right = join->inputs[1]->rows, groups = 1, share = 1;
    if (right < MIN_ROWS || right < 2 * left) return false;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        double domain = card_distinct(opt, rights[i], right), held = card_distinct(opt, lefts[i], left);
        groups *= domain;
        if (held < domain) share *= held / domain; /* of R's rows, after the bitmap of L's keys */
    }
    if (groups > right) groups = right;
    double now = cost_hash_join(r, left, right, join->rows);
    double then =
        cost_aggregate(r, right * share, groups * share) + cost_hash_join(r, groups * share, left, join->rows);
    return then < GAIN * now;
}

static tcudb_status group_keys(Opt *opt, Plan *right, const Expr *const *keys, uint32_t n, Plan **out, Error *err)
{
    Plan *agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, n, err);
    TRY_PTR(agg);
    agg->inputs[0] = right;
    agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, n, err);
    TRY_PTR(agg->agg.groups);
    uint32_t ngroups = 0;
    for (uint32_t i = 0; i < n; i++) {
        const PlanCol *col = plan_find_col(right, keys[i]->col);
        assert(col != NULL);
        bool again = false;
        for (uint32_t k = 0; k < ngroups; k++) again |= agg->cols[k].id == col->id;
        if (again) continue;
        agg->cols[ngroups] = agg->agg.groups[ngroups].col = *col;
        agg->agg.groups[ngroups].expr = expr_of_col(opt, col, err);
        TRY_PTR(agg->agg.groups[ngroups].expr);
        ngroups++;
    }
    agg->ncols = agg->agg.ngroups = ngroups;
    *out = agg;
    return TCUDB_OK;
}

static tcudb_status flip(Opt *opt, Plan *join, Error *err)
{
    uint32_t n = join->join.nconds;
    const Expr **lefts = ARENA_ARRAY(opt->arena, const Expr *, n, err);
    const Expr **rights = ARENA_ARRAY(opt->arena, const Expr *, n, err);
    TRY_PTR(lefts);
    TRY_PTR(rights);
    if (!plain_keys(join, lefts, rights) || plan_joins_once(opt, join, 1) || !pays(opt, join, lefts, rights))
        return TCUDB_OK;
    Plan *left = join->inputs[0];
    TRY(group_keys(opt, join->inputs[1], rights, n, &join->inputs[0], err));
    join->inputs[1] = left;
    join->join.kind = JOIN_INNER;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    bool semi = plan->kind == PLAN_JOIN && plan->join.kind == JOIN_SEMI;
    return semi ? flip(opt, plan, err) : TCUDB_OK;
}

tcudb_status rule_flip(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, *root, err);
}
