/*
 * rule_mark.c: mark joins that only decide which rows stay become semi and anti joins.
 *
 * Pattern: a filter with the conjunct m, or NOT m, over a mark join that makes m.
 * Rewrite: m: semi join, conditions as in a filter (COALESCE(c, FALSE) is c again). NOT m, where m is
 * never NULL: anti join. NOT m with a null-aware mark: the row stays if no right row makes the conditions
 * true or NULL: an anti join on COALESCE(c, TRUE) for each condition that can be NULL, if another
 * condition is left to hash by; otherwise the null-aware mark stays, which exec hashes. Above the join m
 * is the constant it must be.
 * Right because: a semi join keeps left rows for which some right row makes all conditions true: those
 * with m true. NOT m is true exactly where m is FALSE: no right row makes the AND of the conditions true
 * or NULL, and an AND is not FALSE exactly if none of its parts is FALSE.
 * Loses never.
 */
#include "opt/opt_int.h"

#include <assert.h>

static bool is_col(const Expr *e, ColId col)
{
    return e->kind == EXPR_COL && e->col == col;
}

/* The conjunct that is m (or NOT m). */
static bool find_conjunct(const Plan *filter, ColId mark, bool negated, uint32_t *at)
{
    for (uint32_t i = 0; i < filter->filter.nconds; i++) {
        const Expr *e = filter->filter.conds[i];
        if (negated ? expr_is_not(e) && is_col(e->args[0], mark) : is_col(e, mark)) {
            *at = i;
            return true;
        }
    }
    return false;
}

/* An equality that a hash join can use. */
static bool hashable(const Plan *join, const Expr *e)
{
    if (!expr_is_equality(e)) return false;
    const Plan *left = join->inputs[0], *right = join->inputs[1];
    return (expr_within(e->args[0], left) && expr_within(e->args[1], right)) ||
           (expr_within(e->args[1], left) && expr_within(e->args[0], right));
}

static bool is_null_as_false(const Expr *e)
{
    return e->kind == EXPR_COALESCE && e->nargs == 2 && expr_is_false(e->args[1]);
}

/* Conditions as in a filter: COALESCE(c, FALSE) is c. */
static tcudb_status positive_conds(Opt *opt, const Plan *join, ExprList *out, Error *err)
{
    Expr **conds = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        Expr *e;
        TRY(expr_simplify_filter(opt, join->join.conds[i], &e, err));
        TRY(expr_conjuncts(opt->arena, e, &conds, &n, err));
    }
    return list_add_all(opt, out, conds, n, err);
}

tcudb_status mark_conds(Opt *opt, const Plan *join, bool negated, ExprList *out, bool *ok, Error *err)
{
    *ok = !negated || !join->join.mark_null || join->join.nconds == 0;
    if (!negated) return positive_conds(opt, join, out, err);
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        Expr *e = join->join.conds[i];
        bool null_counts = join->join.mark_null && !expr_not_null(opt, join->inputs[0], join->inputs[1], e);
        if (is_null_as_false(e))
            e = e->args[0]; /* NULL is no match there */
        else if (null_counts)
            TRY(expr_null_as(opt, e, true, &e, err));
        if (hashable(join, e)) *ok = true;
        TRY(list_add(opt, out, e, err));
    }
    return TCUDB_OK;
}

/* The join's other columns and m as the constant that it is above. */
static tcudb_status known_mark(Opt *opt, Plan *filter, Plan *join, bool value, Error *err)
{
    PlanCol mark = join->join.mark;
    join->join.mark = (PlanCol){0};
    join->join.mark_null = false;
    TRY(plan_widen(opt, join, err));
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, join->ncols + 1, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < join->ncols; i++) {
        exprs[i].col = join->cols[i];
        exprs[i].expr = expr_of_col(opt, &exprs[i].col, err);
        TRY_PTR(exprs[i].expr);
    }
    exprs[join->ncols].col = mark;
    exprs[join->ncols].expr = expr_bool(opt, value, err);
    TRY_PTR(exprs[join->ncols].expr);
    return plan_project(opt->arena, join, exprs, join->ncols + 1, &filter->inputs[0], err);
}

static tcudb_status convert(Opt *opt, Plan **slot, Error *err)
{
    Plan *filter = *slot, *join = filter->inputs[0];
    uint32_t at;
    if (join->kind != PLAN_JOIN || join->join.kind != JOIN_MARK) return TCUDB_OK;
    ColId mark = join->join.mark.id;
    bool negated = !find_conjunct(filter, mark, false, &at), ok;
    if (negated && !find_conjunct(filter, mark, true, &at)) return TCUDB_OK;
    ExprList conds = {0};
    TRY(mark_conds(opt, join, negated, &conds, &ok, err));
    if (!ok) return TCUDB_OK;
    join->join.conds = conds.items;
    join->join.nconds = conds.n;
    join->join.kind = negated ? JOIN_ANTI : JOIN_SEMI;
    opt->changed = true;
    ExprList rest = {0};
    for (uint32_t i = 0; i < filter->filter.nconds; i++)
        if (i != at) TRY(list_add(opt, &rest, filter->filter.conds[i], err));
    TRY(known_mark(opt, filter, join, !negated, err));
    const PlanCol *cols = filter->cols;
    uint32_t ncols = filter->ncols;
    *slot = filter->inputs[0];
    TRY(plan_add_filter(opt, slot, rest.items, rest.n, err));
    return plan_restore_cols(opt, slot, cols, ncols, err);
}

static tcudb_status convert_all(Opt *opt, Plan **slot, Error *err)
{
    if ((*slot)->kind == PLAN_FILTER) TRY(convert(opt, slot, err));
    Plan *plan = *slot;
    assert(plan != NULL);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(convert_all(opt, &plan->inputs[i], err));
    return TCUDB_OK;
}

tcudb_status rule_mark(Opt *opt, Plan **root, Error *err)
{
    return convert_all(opt, root, err);
}
