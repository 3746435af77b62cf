/*
 * plans.c: making the nodes that several rules make.
 */
#include "opt/opt_int.h"

#include <assert.h>

PlanCol opt_new_col(Opt *opt, Type type, const char *name)
{
    return (PlanCol){.id = opt->env->next_col++, .type = type, .name = name};
}

bool join_left_only(JoinKind kind)
{
    return kind == JOIN_SEMI || kind == JOIN_ANTI || kind == JOIN_MARK;
}

bool plan_passes(const Plan *plan)
{
    switch (plan->kind) {
    case PLAN_FILTER:
    case PLAN_SORT:
    case PLAN_LIMIT:
    case PLAN_JOIN:
    case PLAN_APPLY: return true;
    default: return false;
    }
}

static tcudb_status append_cols(Opt *opt, Plan *plan, const PlanCol *cols, uint32_t n, Error *err)
{
    PlanCol *all = ARENA_ARRAY(opt->arena, PlanCol, plan->ncols + n, err);
    TRY_PTR(all);
    memcpy(all, plan->cols, plan->ncols * sizeof *all);
    memcpy(all + plan->ncols, cols, n * sizeof *all);
    plan->cols = all;
    plan->ncols += n;
    return TCUDB_OK;
}

/* The column that a mark join or an apply adds, or NULL. */
static const PlanCol *added_col(const Plan *plan)
{
    if (plan->kind == PLAN_JOIN && plan->join.kind == JOIN_MARK) return &plan->join.mark;
    if (plan->kind == PLAN_APPLY && plan->apply.result.id != 0) return &plan->apply.result;
    return NULL;
}

tcudb_status plan_widen(Opt *opt, Plan *plan, Error *err)
{
    assert(plan_passes(plan));
    TRY(opt_poll(opt, err));
    const PlanCol *added = added_col(plan);
    bool left_only = added != NULL || (plan->kind == PLAN_JOIN && join_left_only(plan->join.kind));
    uint32_t ninputs = left_only ? 1 : plan->ninputs;
    plan->ncols = 0;
    for (uint32_t i = 0; i < ninputs; i++)
        TRY(append_cols(opt, plan, plan->inputs[i]->cols, plan->inputs[i]->ncols, err));
    return added == NULL ? TCUDB_OK : append_cols(opt, plan, added, 1, err);
}

static bool same_cols(const Plan *plan, const PlanCol *cols, uint32_t n)
{
    bool same = plan->ncols == n;
    for (uint32_t i = 0; same && i < n; i++) same = plan->cols[i].id == cols[i].id;
    return same;
}

tcudb_status plan_restore_cols(Opt *opt, Plan **slot, const PlanCol *cols, uint32_t n, Error *err)
{
    Plan *plan = *slot;
    if (same_cols(plan, cols, n)) return TCUDB_OK;
    PlanCol *copy = ARENA_ARRAY(opt->arena, PlanCol, n, err);
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, n, err);
    TRY_PTR(copy);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < n; i++) {
        assert(plan_find_col(plan, cols[i].id) != NULL);
        copy[i] = cols[i];
        exprs[i].col = cols[i];
        exprs[i].expr = expr_of_col(opt, &cols[i], err);
        TRY_PTR(exprs[i].expr);
    }
    if (!plan_passes(plan)) return plan_project(opt->arena, plan, exprs, n, slot, err);
    plan->cols = copy;
    plan->ncols = n;
    return TCUDB_OK;
}

tcudb_status plan_add_filter(Opt *opt, Plan **slot, Expr *const *conds, uint32_t n, Error *err)
{
    if (n == 0) return TCUDB_OK;
    Plan *filter = *slot;
    uint32_t old = filter->kind == PLAN_FILTER ? filter->filter.nconds : 0;
    Expr **all = ARENA_ARRAY(opt->arena, Expr *, old + n, err);
    TRY_PTR(all);
    if (old > 0) memcpy(all, filter->filter.conds, old * sizeof *all);
    memcpy(all + old, conds, n * sizeof *all);
    if (filter->kind != PLAN_FILTER) {
        filter = plan_new(opt->arena, PLAN_FILTER, 1, 0, err);
        TRY_PTR(filter);
        filter->inputs[0] = *slot;
        filter->cols = (*slot)->cols;
        filter->ncols = (*slot)->ncols;
        *slot = filter;
    }
    filter->filter.conds = all;
    filter->filter.nconds = old + n;
    return TCUDB_OK;
}

tcudb_status plan_new_join(Opt *opt, JoinKind kind, Plan *left, Plan *right, Expr *const *conds, uint32_t n, Plan **out,
                           Error *err)
{
    assert(kind != JOIN_MARK);
    Plan *join = plan_new(opt->arena, PLAN_JOIN, 2, 0, err);
    TRY_PTR(join);
    join->join.kind = kind;
    join->inputs[0] = left;
    join->inputs[1] = right;
    join->join.conds = ARENA_ARRAY(opt->arena, Expr *, n, err);
    TRY_PTR(join->join.conds);
    if (n > 0) memcpy(join->join.conds, conds, n * sizeof *conds);
    join->join.nconds = n;
    TRY(plan_widen(opt, join, err));
    *out = join;
    return TCUDB_OK;
}

tcudb_status plan_new_empty(Opt *opt, const PlanCol *cols, uint32_t n, Plan **out, Error *err)
{
    Plan *values = plan_new(opt->arena, PLAN_VALUES, 0, n, err);
    TRY_PTR(values);
    if (n > 0) memcpy(values->cols, cols, n * sizeof *cols);
    *out = values;
    return TCUDB_OK;
}

bool plan_is_empty(const Plan *plan)
{
    return plan->kind == PLAN_VALUES && plan->values.nrows == 0;
}
