/*
 * plans.c: making plan nodes: the outputs of each kind filled in from its inputs'.
 *
 * Invariants (plan_verify checks them): a join puts out left then right columns; filters, sorts and limits put out
 * their input's; an APPLY its left side's and its result. Subqueries collected while an expression was bound
 * (ApplyList) become a stack of APPLY nodes in the order met, so that a later one's test may use an earlier one's
 * result.
 */
#include "bind/bind_int.h"

#include <assert.h>

tcudb_status bind_plan_unary(Binder *b, PlanKind kind, Plan *input, Plan **out, Error *err)
{
    Plan *plan = plan_new(b->arena, kind, 1, input->ncols, err);
    TRY_PTR(plan);
    plan->inputs[0] = input;
    if (input->ncols > 0) memcpy(plan->cols, input->cols, sizeof *plan->cols * input->ncols);
    *out = plan;
    return TCUDB_OK;
}

tcudb_status bind_plan_filter(Binder *b, Plan *input, Expr *cond, Plan **out, Error *err)
{
    assert(cond->type.id == TYPE_BOOL);
    TRY(bind_plan_unary(b, PLAN_FILTER, input, out, err));
    return expr_conjuncts(b->arena, cond, &(*out)->filter.conds, &(*out)->filter.nconds, err);
}

tcudb_status bind_plan_one_row(Binder *b, Plan **out, Error *err)
{
    Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, 0, err);
    TRY_PTR(plan);
    plan->values.nrows = 1;
    *out = plan;
    return TCUDB_OK;
}

static tcudb_status binary(Binder *b, PlanKind kind, Plan *left, Plan *right, uint32_t extra, Plan **out, Error *err)
{
    Plan *plan = plan_new(b->arena, kind, 2, left->ncols + extra, err);
    TRY_PTR(plan);
    plan->inputs[0] = left;
    plan->inputs[1] = right;
    if (left->ncols > 0) memcpy(plan->cols, left->cols, sizeof *plan->cols * left->ncols);
    *out = plan;
    return TCUDB_OK;
}

static tcudb_status both(Binder *b, PlanKind kind, Plan *left, Plan *right, Plan **out, Error *err)
{
    TRY(binary(b, kind, left, right, right->ncols, out, err));
    if (right->ncols > 0) memcpy((*out)->cols + left->ncols, right->cols, sizeof(PlanCol) * right->ncols);
    return TCUDB_OK;
}

tcudb_status bind_plan_join(Binder *b, JoinKind kind, Plan *left, Plan *right, Expr *cond, Plan **out, Error *err)
{
    TRY(both(b, PLAN_JOIN, left, right, out, err));
    (*out)->join.kind = kind;
    if (cond == NULL) return TCUDB_OK;
    return expr_conjuncts(b->arena, cond, &(*out)->join.conds, &(*out)->join.nconds, err);
}

tcudb_status bind_plan_lateral(Binder *b, ApplyKind kind, Plan *left, Plan *right, Plan **out, Error *err)
{
    assert(kind == APPLY_CROSS || kind == APPLY_LEFT);
    TRY(both(b, PLAN_APPLY, left, right, out, err));
    (*out)->apply.kind = kind;
    return TCUDB_OK;
}

tcudb_status bind_plan_apply(Binder *b, Plan *plan, const ApplyList *list, Plan **out, Error *err)
{
    for (const ApplySpec *spec = list->first; spec != NULL; spec = spec->next) {
        Plan *apply = NULL;
        TRY(binary(b, PLAN_APPLY, plan, spec->right, 1, &apply, err));
        apply->cols[plan->ncols] = spec->result;
        apply->apply.kind = spec->kind;
        apply->apply.result = spec->result;
        apply->apply.test = spec->test;
        plan = apply;
    }
    *out = plan;
    return TCUDB_OK;
}
