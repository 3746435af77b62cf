/*
 * rule_equiv.c: what is known of one side of a join's equality holds for the other side too.
 *
 * Pattern: a join with a.x = b.y and, below one side, a condition on x alone (x = 5, x < 3, x IN (...)).
 * Rewrite: the same condition on y as a filter on the other side. Down and up the tree, so that it travels
 * along chains of equalities.
 * Right because: rows that match have x = y, and the condition is true of x in all rows of that side; a
 * row with y that fails it matches nothing, so an inner or semi join loses nothing, and an outer, anti or
 * single join may drop it from the side that it does not preserve. Only for types whose equal values are
 * indistinguishable, and conditions that cannot fail.
 * Loses when: the condition drops few rows; it is only evaluated for nothing.
 */
#include "opt/opt_int.h"

#include <assert.h>

typedef struct OneCol {
    ColId col;
    bool several;
} OneCol;

static bool find_col(void *ctx, const Expr *e)
{
    OneCol *c = ctx;
    if (e->kind != EXPR_COL) return true;
    if (c->col != 0 && c->col != e->col) c->several = true;
    c->col = e->col;
    return !c->several;
}

/* The only column of a condition that may be copied to an equal column; 0: none. */
static ColId movable_on(const Expr *e)
{
    OneCol c = {0};
    (void)expr_walk(e, find_col, &c);
    return c.several || !expr_safe(e) || expr_volatile(e) ? 0 : c.col;
}

static tcudb_status known_of_list(Opt *opt, Expr *const *conds, uint32_t n, ExprList *out, Error *err)
{
    for (uint32_t i = 0; i < n; i++)
        if (movable_on(conds[i]) != 0) TRY(list_add(opt, out, conds[i], err));
    return TCUDB_OK;
}

/* Conditions on one column that are true in every row the plan puts out. */
static tcudb_status known(Opt *opt, const Plan *plan, ExprList *out, Error *err)
{
    switch (plan->kind) {
    case PLAN_SCAN: return known_of_list(opt, plan->scan.filters, plan->scan.nfilters, out, err);
    case PLAN_FILTER:
        TRY(known_of_list(opt, plan->filter.conds, plan->filter.nconds, out, err));
        return known(opt, plan->inputs[0], out, err);
    case PLAN_JOIN:
        if (plan->join.kind == JOIN_FULL) return TCUDB_OK;
        if (plan->join.kind == JOIN_INNER || plan->join.kind == JOIN_RIGHT) TRY(known(opt, plan->inputs[1], out, err));
        return plan->join.kind == JOIN_RIGHT ? TCUDB_OK : known(opt, plan->inputs[0], out, err);
    case PLAN_PROJECT:
    case PLAN_AGGREGATE:
    case PLAN_DISTINCT:
    case PLAN_SORT:
    case PLAN_LIMIT: return known(opt, plan->inputs[0], out, err);
    case PLAN_APPLY: return known(opt, plan->inputs[0], out, err);
    default: return TCUDB_OK;
    }
}

static bool may_filter(const Plan *join, uint32_t side)
{
    switch (join->join.kind) {
    case JOIN_INNER:
    case JOIN_SEMI: return true;
    case JOIN_LEFT:
    case JOIN_ANTI:
    case JOIN_SINGLE: return side == 1;
    case JOIN_RIGHT: return side == 0;
    case JOIN_MARK: return side == 1 && !join->join.mark_null;
    default: return false;
    }
}

/* Copies what is known of `from` (an output of the other side) to `to` (of `side`). */
static tcudb_status copy_known(Opt *opt, Plan *join, uint32_t side, const Expr *from, const Expr *to, Error *err)
{
    ExprList theirs = {0}, ours = {0};
    PlanCol from_col = {.id = from->col, .type = from->type, .name = ""};
    PlanCol to_col = {.id = to->col, .type = to->type, .name = ""};
    TRY(known(opt, join->inputs[1 - side], &theirs, err));
    TRY(known(opt, join->inputs[side], &ours, err));
    for (uint32_t i = 0; i < theirs.n; i++) {
        Expr *e;
        if (movable_on(theirs.items[i]) != from->col) continue;
        TRY(expr_rename(opt, theirs.items[i], &from_col, &to_col, 1, &e, err));
        if (list_has(&ours, e)) continue;
        TRY(plan_add_filter(opt, &join->inputs[side], &e, 1, err));
        opt->changed = true;
    }
    return TCUDB_OK;
}

static tcudb_status copy_across(Opt *opt, Plan *join, Error *err)
{
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e)) continue;
        for (uint32_t k = 0; k < 2; k++) {
            const Expr *left = e->args[k], *right = e->args[1 - k];
            bool cols = left->kind == EXPR_COL && right->kind == EXPR_COL && type_equal(left->type, right->type);
            if (!cols || !equality_is_identity(left->type)) continue;
            if (!expr_within(left, join->inputs[0]) || !expr_within(right, join->inputs[1])) continue;
            if (may_filter(join, 1)) TRY(copy_known(opt, join, 1, left, right, err));
            if (may_filter(join, 0)) TRY(copy_known(opt, join, 0, right, left, err));
        }
    }
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    if (plan->kind == PLAN_JOIN) TRY(copy_across(opt, plan, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    return plan->kind == PLAN_JOIN ? copy_across(opt, plan, err) : TCUDB_OK;
}

tcudb_status rule_equiv(Opt *opt, Plan **root, Error *err)
{
    assert(*root != NULL);
    return visit(opt, *root, err);
}
