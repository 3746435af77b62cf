/*
 * rule_anti.c: an outer join of which only rows without a match are kept is an anti join.
 *
 * Pattern: a filter "column IS NULL" over a left (or right) join, the column being one of the padded side that is not
 * NULL in any match: a condition of the join rejects its NULL (returns.item = sales.item), or it has none. Rewrite: an
 * anti join by the same conditions; the padded side's columns are NULL constants above it. Right because: a row with a
 * match has the column not NULL and is dropped; one without is padded once, and kept. Loses never: an anti join stops
 * at the first match, builds only its keys, and other joins may go below it.
 */
#include "opt/opt_int.h"

#include <assert.h>

/* Whether the column is certainly not NULL in the join's matches. */
static tcudb_status there_in_matches(Opt *opt, const Plan *join, uint32_t padded, const Expr *column, bool *out,
                                     Error *err)
{
    ColSet one = {0};
    TRY(colset_add(opt, &one, column->col, err));
    *out = col_not_null(opt, join->inputs[padded], column->col);
    for (uint32_t i = 0; i < join->join.nconds && !*out; i++) *out = expr_rejects_nulls(join->join.conds[i], &one);
    return TCUDB_OK;
}

/* The filter's condition that keeps only rows without a match; nconds: none does. */
static tcudb_status find_null_test(Opt *opt, const Plan *filter, uint32_t padded, uint32_t *at, Error *err)
{
    const Plan *join = filter->inputs[0];
    for (*at = 0; *at < filter->filter.nconds; ++*at) {
        const Expr *e = filter->filter.conds[*at];
        bool there = false;
        if (!expr_is_func(e, "is null") || e->args[0]->kind != EXPR_COL) continue;
        if (plan_find_col(join->inputs[padded], e->args[0]->col) == NULL) continue;
        TRY(there_in_matches(opt, join, padded, e->args[0], &there, err));
        if (there) return TCUDB_OK;
    }
    return TCUDB_OK;
}

/* The outputs of the filter over the anti join: those of the padded side are NULL. */
static tcudb_status pad(Opt *opt, const PlanCol *cols, uint32_t ncols, Plan *anti, Plan **out, Error *err)
{
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < ncols; i++) {
        Value null = {.type = cols[i].type, .null = true};
        exprs[i].col = cols[i];
        exprs[i].expr = plan_find_col(anti, cols[i].id) != NULL ? expr_of_col(opt, &cols[i], err)
                                                                : expr_const(opt->arena, &null, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    return plan_project(opt->arena, anti, exprs, ncols, out, err);
}

static tcudb_status rewrite(Opt *opt, Plan **slot, uint32_t padded, uint32_t test, Error *err)
{
    const Plan *filter = *slot, *join = filter->inputs[0];
    ExprList rest = {0};
    Plan *anti;
    for (uint32_t i = 0; i < filter->filter.nconds; i++)
        if (i != test) TRY(list_add(opt, &rest, filter->filter.conds[i], err));
    TRY(plan_new_join(opt, JOIN_ANTI, join->inputs[1 - padded], join->inputs[padded], join->join.conds,
                      join->join.nconds, &anti, err));
    /* What is left of the filter may use any of the join's columns. */
    TRY(pad(opt, join->cols, join->ncols, anti, slot, err));
    if (rest.n > 0) TRY(plan_add_filter(opt, slot, rest.items, rest.n, err));
    opt->changed = true;
    return plan_restore_cols(opt, slot, filter->cols, filter->ncols, err);
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    const Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind != PLAN_FILTER || plan->inputs[0]->kind != PLAN_JOIN) return TCUDB_OK;
    JoinKind kind = plan->inputs[0]->join.kind;
    if (kind != JOIN_LEFT && kind != JOIN_RIGHT) return TCUDB_OK;
    uint32_t padded = kind == JOIN_LEFT ? 1 : 0, test;
    TRY(find_null_test(opt, plan, padded, &test, err));
    assert(test <= plan->filter.nconds);
    return test < plan->filter.nconds ? rewrite(opt, slot, padded, test, err) : TCUDB_OK;
}

tcudb_status rule_anti(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
