/*
 * rule_polarity.c: null-aware marks whose NULL cannot be told from FALSE (or TRUE) need not be null-aware.
 *
 * Pattern: a null-aware mark join (x IN (subquery)) whose mark m is used only in conditions of filters and
 * joins, below AND and OR: always as m, or always as NOT m.  WHERE x IN (...) OR y = 3
 * Rewrite: an ordinary mark, which hashes by all its equalities: as m, conditions that are NULL count as
 * false; as NOT m, as true (rule_mark.c has both sets of conditions).
 * Right because: a condition keeps a row where it is true. AND and OR are monotone, so replacing NULL by
 * FALSE below them never makes one true that was not; NOT m is true only where m is FALSE, that is, where
 * no right row makes the conditions true or NULL, and is otherwise made FALSE instead of NULL.
 * Loses never: a null-aware mark on one equality alone stays where the NULL has to be kept, as exec hashes it.
 */
#include "opt/opt_int.h"

#include <assert.h>

typedef struct Uses {
    ColId mark;
    bool filters; /* the expressions being looked at are conditions */
    uint32_t positive, negative, other;
} Uses;

static void count_uses(Uses *u, const Expr *e, bool positive)
{
    if (e->kind == EXPR_COL) {
        if (e->col != u->mark) return;
        u->positive += positive;
        u->negative += !positive;
    } else if (e->kind == EXPR_AND || e->kind == EXPR_OR) {
        for (uint32_t i = 0; i < e->nargs; i++) count_uses(u, e->args[i], positive);
    } else if (expr_is_not(e) && e->args[0]->kind == EXPR_COL) {
        count_uses(u, e->args[0], !positive);
    } else if (expr_has_col(e, u->mark)) {
        u->other++;
    }
}

static tcudb_status count_slot(void *ctx, Expr **slot, Error *err)
{
    Uses *u = ctx;
    (void)err;
    if (u->filters)
        count_uses(u, *slot, true);
    else if (expr_has_col(*slot, u->mark))
        u->other++;
    return TCUDB_OK;
}

/* Whether all the node's expressions are conditions for which NULL is FALSE. */
static bool only_filters(const Plan *plan)
{
    if (plan->kind == PLAN_JOIN) return !(plan->join.kind == JOIN_MARK && plan->join.mark_null);
    return plan->kind == PLAN_FILTER || plan->kind == PLAN_SCAN;
}

/* The mark as an output of the statement, or compared as part of whole rows, is a use too. */
static bool shows(const Plan *plan, ColId mark, bool root)
{
    switch (plan->kind) {
    case PLAN_DISTINCT:
    case PLAN_SET_OP:
    case PLAN_RECURSIVE:
    case PLAN_INSERT:
    case PLAN_UPDATE:
    case PLAN_DELETE:
    case PLAN_WINDOW:
        for (uint32_t i = 0; i < plan->ninputs; i++)
            if (plan_find_col(plan->inputs[i], mark) != NULL) return true;
        break;
    default: break;
    }
    return root && plan_find_col(plan, mark) != NULL;
}

static tcudb_status count_plan(Uses *u, Plan *plan, bool root, Error *err)
{
    if (shows(plan, u->mark, root)) u->other++;
    u->filters = only_filters(plan);
    TRY(plan_each_expr(plan, count_slot, u, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(count_plan(u, plan->inputs[i], false, err));
    return TCUDB_OK;
}

static tcudb_status relax(Opt *opt, Plan *join, Plan *root, Error *err)
{
    Uses uses = {.mark = join->join.mark.id};
    TRY(count_plan(&uses, root, true, err));
    bool negated = uses.negative > 0, ok;
    if (uses.other > 0 || (uses.positive > 0) == negated) return TCUDB_OK;
    ExprList conds = {0};
    TRY(mark_conds(opt, join, negated, &conds, &ok, err));
    if (!ok) return TCUDB_OK;
    join->join.conds = conds.items;
    join->join.nconds = conds.n;
    join->join.mark_null = false;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan *plan, Plan *root, Error *err)
{
    bool null_aware = plan->kind == PLAN_JOIN && plan->join.kind == JOIN_MARK && plan->join.mark_null;
    assert(plan->kind != PLAN_JOIN || plan->ninputs == 2);
    if (null_aware) TRY(relax(opt, plan, root, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], root, err));
    return TCUDB_OK;
}

tcudb_status rule_polarity(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, *root, *root, err);
}
