/*
 * rule_simplify.c: expressions into their simplest form; filters that keep nothing empty the plan.
 *
 * Pattern: any expression of any node.
 * Rewrite (simplify.c has the expression rewrites): constants folded, boolean logic flattened, NOT pushed
 * to the comparisons, casts moved from columns to constants, OR of equalities to IN, common factors out
 * of OR. Then per node: conjuncts TRUE are dropped and duplicates too; a conjunct FALSE or NULL makes the
 * filter's output empty, and emptiness moves up: an inner join with an empty side, a projection, sort or
 * grouping of nothing is nothing; an anti join against nothing keeps all; an outer join with an empty
 * padded side is a projection with NULLs.
 * Right because: a filter keeps rows where its condition is true, so FALSE and NULL are the same to it;
 * aggregates without groups still give their one row over nothing and are left alone.
 * Loses never.
 */
#include "opt/opt_int.h"

#include <assert.h>

static tcudb_status simplify_slot(void *ctx, Expr **slot, Error *err)
{
    Opt *opt = ctx;
    Expr *before = *slot;
    TRY(expr_simplify(opt, before, slot, err));
    if (*slot != before) opt->changed = true;
    return TCUDB_OK;
}

/* Splits ANDs, drops TRUE and duplicates; *never: some conjunct is never true. */
static tcudb_status tidy_conds(Opt *opt, Expr ***conds, uint32_t *n, bool *never, Error *err)
{
    Expr **flat = NULL;
    uint32_t nflat = 0;
    ExprList kept = {0};
    *never = false;
    for (uint32_t i = 0; i < *n; i++) {
        Expr *e;
        TRY(expr_simplify_filter(opt, (*conds)[i], &e, err));
        TRY(expr_conjuncts(opt->arena, e, &flat, &nflat, err));
    }
    for (uint32_t i = 0; i < nflat; i++) {
        if (expr_never_true(flat[i])) *never = true;
        if (!expr_is_true(flat[i])) TRY(list_add_new(opt, &kept, flat[i], err));
    }
    bool same = kept.n == *n;
    for (uint32_t i = 0; same && i < kept.n; i++) same = kept.items[i] == (*conds)[i];
    if (!same) opt->changed = true;
    *conds = kept.items;
    *n = kept.n;
    return TCUDB_OK;
}

static tcudb_status make_empty(Opt *opt, Plan **slot, Error *err)
{
    opt->changed = true;
    return plan_new_empty(opt, (*slot)->cols, (*slot)->ncols, slot, err);
}

/* *slot becomes `kept` with its outputs; columns that kept lacks become NULL. */
static tcudb_status keep_side(Opt *opt, Plan **slot, Plan *kept, Error *err)
{
    const Plan *old = *slot;
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, old->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < old->ncols; i++) {
        exprs[i].col = old->cols[i];
        Value null = {.type = old->cols[i].type, .null = true};
        bool there = plan_find_col(kept, old->cols[i].id) != NULL;
        exprs[i].expr = there ? expr_of_col(opt, &old->cols[i], err) : expr_const(opt->arena, &null, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    opt->changed = true;
    return plan_project(opt->arena, kept, exprs, old->ncols, slot, err);
}

static tcudb_status empty_join(Opt *opt, Plan **slot, bool no_match, Error *err)
{
    Plan *join = *slot, *left = join->inputs[0], *right = join->inputs[1];
    bool left_empty = plan_is_empty(left), right_empty = plan_is_empty(right) || no_match;
    if (!left_empty && !right_empty) return TCUDB_OK;
    switch (join->join.kind) {
    case JOIN_INNER:
    case JOIN_SEMI: return make_empty(opt, slot, err);
    case JOIN_LEFT:
    case JOIN_SINGLE: return left_empty ? make_empty(opt, slot, err) : keep_side(opt, slot, left, err);
    case JOIN_ANTI: return left_empty ? make_empty(opt, slot, err) : keep_side(opt, slot, left, err);
    case JOIN_RIGHT:
        if (plan_is_empty(right)) return make_empty(opt, slot, err);
        return keep_side(opt, slot, right, err);
    default: return TCUDB_OK;
    }
}

static tcudb_status simplify_join(Opt *opt, Plan **slot, Error *err)
{
    Plan *join = *slot;
    bool never = false;
    bool null_counts = join->join.kind == JOIN_MARK && join->join.mark_null;
    if (!null_counts) TRY(tidy_conds(opt, &join->join.conds, &join->join.nconds, &never, err));
    return empty_join(opt, slot, never && join->join.kind != JOIN_FULL && join->join.kind != JOIN_MARK, err);
}

static tcudb_status simplify_filter(Opt *opt, Plan **slot, Error *err)
{
    Plan *filter = *slot;
    bool never = false;
    TRY(tidy_conds(opt, &filter->filter.conds, &filter->filter.nconds, &never, err));
    if (never) return make_empty(opt, slot, err);
    if (filter->filter.nconds > 0) return TCUDB_OK;
    Plan *input = filter->inputs[0];
    TRY(plan_restore_cols(opt, &input, filter->cols, filter->ncols, err));
    *slot = input;
    return TCUDB_OK;
}

/* UNION ALL with nothing is the other side under the union's columns. */
static tcudb_status simplify_union(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    bool left_empty = plan_is_empty(plan->inputs[0]), right_empty = plan_is_empty(plan->inputs[1]);
    if (left_empty && right_empty) return make_empty(opt, slot, err);
    if (!left_empty && !right_empty) return TCUDB_OK;
    Plan *kept = plan->inputs[left_empty ? 1 : 0];
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        exprs[i].col = plan->cols[i];
        exprs[i].expr = expr_of_col(opt, &kept->cols[i], err);
        TRY_PTR(exprs[i].expr);
    }
    opt->changed = true;
    return plan_project(opt->arena, kept, exprs, plan->ncols, slot, err);
}

static bool empty_when_input_is(const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_FILTER:
    case PLAN_PROJECT:
    case PLAN_SORT:
    case PLAN_LIMIT:
    case PLAN_DISTINCT: return true;
    case PLAN_AGGREGATE: return plan->agg.ngroups > 0;
    default: return false;
    }
}

static tcudb_status simplify_plan(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(simplify_plan(opt, &plan->inputs[i], err));
    TRY(plan_each_expr(plan, simplify_slot, opt, err));
    if (plan->kind == PLAN_JOIN) return simplify_join(opt, slot, err);
    if (plan->kind == PLAN_SET_OP && plan->set_op.kind == SET_UNION && plan->set_op.all)
        return simplify_union(opt, slot, err);
    if (plan->kind == PLAN_SCAN) {
        bool never = false;
        TRY(tidy_conds(opt, &plan->scan.filters, &plan->scan.nfilters, &never, err));
        return never ? make_empty(opt, slot, err) : TCUDB_OK;
    }
    if (empty_when_input_is(plan) && plan_is_empty(plan->inputs[0])) return make_empty(opt, slot, err);
    if (plan->kind == PLAN_FILTER) return simplify_filter(opt, slot, err);
    assert(*slot == plan);
    return TCUDB_OK;
}

tcudb_status rule_simplify(Opt *opt, Plan **root, Error *err)
{
    return simplify_plan(opt, root, err);
}
