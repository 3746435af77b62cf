/*
 * plan.c: making plan nodes, looking at their columns and expressions.
 *
 * Everything that knows which expressions a node kind carries goes through plan_each_expr, so a new kind
 * needs one case here, one in copy.c, one in print.c and one in verify.c. The walk visits a node's own
 * slots in the order in which EXPLAIN prints them. Costs: linear in what is visited; no allocation except
 * for the node itself and the list of CTEs.
 */
#include "plan/plan_int.h"

#include <assert.h>
#include <math.h>

static const char *const kind_names[] = {
#define NODE(name, text) [PLAN_##name] = text,
#include "plan/node.def"
#undef NODE
};

static const char *const join_names[] = {"Inner", "Left", "Right",  "Full",       "Semi",
                                         "Anti",  "Mark", "Single", "Right Semi", "Right Anti"};
static const char *const apply_names[] = {"Scalar", "Exists", "Any", "All", "Cross", "Left"};

const char *plan_kind_name(PlanKind kind)
{
    assert((unsigned)kind < PLAN_KINDS);
    return kind_names[kind];
}

const char *plan_join_name(JoinKind kind)
{
    assert((unsigned)kind < sizeof join_names / sizeof join_names[0]);
    return join_names[kind];
}

const char *plan_apply_name(ApplyKind kind)
{
    assert((unsigned)kind < sizeof apply_names / sizeof apply_names[0]);
    return apply_names[kind];
}

Plan *plan_new(Arena *arena, PlanKind kind, uint32_t ninputs, uint32_t ncols, Error *err)
{
    assert((unsigned)kind < PLAN_KINDS);
    Plan *plan = ARENA_NEW(arena, Plan, err);
    if (plan == NULL) return NULL;
    plan->kind = kind;
    plan->ninputs = ninputs;
    plan->ncols = ncols;
    plan->rows = plan->cost = -1;
    plan->domain = INFINITY;
    plan->inputs = ARENA_ARRAY(arena, Plan *, ninputs, err);
    if (plan->inputs == NULL) return NULL;
    plan->cols = ARENA_ARRAY(arena, PlanCol, ncols, err);
    return plan->cols == NULL ? NULL : plan;
}

tcudb_status plan_project(Arena *arena, Plan *input, const NamedExpr *exprs, uint32_t n, Plan **out, Error *err)
{
    Plan *plan = plan_new(arena, PLAN_PROJECT, 1, n, err);
    TRY_PTR(plan);
    plan->inputs[0] = input;
    plan->project.exprs = ARENA_ARRAY(arena, NamedExpr, n, err);
    TRY_PTR(plan->project.exprs);
    for (uint32_t i = 0; i < n; i++) {
        assert(type_equal(exprs[i].col.type, exprs[i].expr->type));
        plan->project.exprs[i] = exprs[i];
        plan->cols[i] = exprs[i].col;
    }
    *out = plan;
    return TCUDB_OK;
}

const PlanCol *plan_find_col(const Plan *plan, ColId id)
{
    for (uint32_t i = 0; i < plan->ncols; i++)
        if (plan->cols[i].id == id) return &plan->cols[i];
    return NULL;
}

static tcudb_status each_slot(Expr **slots, uint64_t n, PlanExprFn fn, void *ctx, Error *err)
{
    for (uint64_t i = 0; i < n; i++)
        if (slots[i] != NULL) TRY(fn(ctx, &slots[i], err));
    return TCUDB_OK;
}

static tcudb_status each_named(NamedExpr *exprs, uint32_t n, PlanExprFn fn, void *ctx, Error *err)
{
    for (uint32_t i = 0; i < n; i++) TRY(fn(ctx, &exprs[i].expr, err));
    return TCUDB_OK;
}

static tcudb_status each_agg(Plan *plan, PlanExprFn fn, void *ctx, Error *err)
{
    TRY(each_named(plan->agg.groups, plan->agg.ngroups, fn, ctx, err));
    for (uint32_t i = 0; i < plan->agg.naggs; i++) {
        AggCall *agg = &plan->agg.aggs[i];
        TRY(each_slot(agg->args, agg->nargs, fn, ctx, err));
        TRY(each_slot(&agg->filter, 1, fn, ctx, err));
        for (uint32_t k = 0; k < agg->norder; k++) TRY(fn(ctx, &agg->order[k].expr, err));
    }
    return TCUDB_OK;
}

static tcudb_status each_window(Plan *plan, PlanExprFn fn, void *ctx, Error *err)
{
    TRY(each_slot(plan->window.partition, plan->window.npartition, fn, ctx, err));
    for (uint32_t i = 0; i < plan->window.norder; i++) TRY(fn(ctx, &plan->window.order[i].expr, err));
    for (uint32_t i = 0; i < plan->window.ncalls; i++) {
        WindowCall *call = &plan->window.calls[i];
        TRY(each_slot(call->agg.args, call->agg.nargs, fn, ctx, err));
        TRY(each_slot(&call->agg.filter, 1, fn, ctx, err));
        TRY(each_slot(call->args, call->nargs, fn, ctx, err));
        TRY(each_slot(&call->start_offset, 1, fn, ctx, err));
        TRY(each_slot(&call->end_offset, 1, fn, ctx, err));
        TRY(each_slot(&call->range_key, 1, fn, ctx, err));
        TRY(each_slot(call->range_bounds, 2, fn, ctx, err));
    }
    return TCUDB_OK;
}

static tcudb_status each_sort(Plan *plan, PlanExprFn fn, void *ctx, Error *err)
{
    for (uint32_t i = 0; i < plan->sort.nkeys; i++) TRY(fn(ctx, &plan->sort.keys[i].expr, err));
    TRY(each_slot(&plan->sort.limit, 1, fn, ctx, err));
    return each_slot(&plan->sort.offset, 1, fn, ctx, err);
}

static tcudb_status each_contract(Plan *plan, PlanExprFn fn, void *ctx, Error *err)
{
    TRY(each_named(plan->contract.groups, plan->contract.ngroups, fn, ctx, err));
    for (uint32_t side = 0; side < 2; side++) {
        TRY(each_slot(plan->contract.keys[side], plan->contract.nkeys, fn, ctx, err));
        TRY(each_slot(plan->contract.values[side], plan->contract.nvalues[side], fn, ctx, err));
    }
    return each_slot(plan->contract.range.conds, plan->contract.range.n, fn, ctx, err);
}

static tcudb_status each_check(Plan *plan, PlanExprFn fn, void *ctx, Error *err)
{
    for (uint32_t i = 0; i < plan->modify.nchecks; i++) TRY(fn(ctx, &plan->modify.checks[i].cond, err));
    return TCUDB_OK;
}

bool plan_modifies(PlanKind kind)
{
    return kind == PLAN_INSERT || kind == PLAN_DELETE || kind == PLAN_UPDATE;
}

bool plan_writes(const Plan *plan)
{
    if (plan_modifies(plan->kind)) return true;
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (plan_writes(plan->inputs[i])) return true;
    return false;
}

tcudb_status plan_each_expr(Plan *plan, PlanExprFn fn, void *ctx, Error *err)
{
    switch (plan->kind) {
    case PLAN_SCAN: return each_slot(plan->scan.filters, plan->scan.nfilters, fn, ctx, err);
    case PLAN_FUNC_SCAN: return each_slot(plan->func_scan.args, plan->func_scan.nargs, fn, ctx, err);
    case PLAN_VALUES: return each_slot(plan->values.rows_exprs, plan->values.nrows * plan->ncols, fn, ctx, err);
    case PLAN_FILTER: return each_slot(plan->filter.conds, plan->filter.nconds, fn, ctx, err);
    case PLAN_PROJECT: return each_named(plan->project.exprs, plan->ncols, fn, ctx, err);
    case PLAN_JOIN: return each_slot(plan->join.conds, plan->join.nconds, fn, ctx, err);
    case PLAN_APPLY: return each_slot(&plan->apply.test, 1, fn, ctx, err);
    case PLAN_AGGREGATE: return each_agg(plan, fn, ctx, err);
    case PLAN_WINDOW: return each_window(plan, fn, ctx, err);
    case PLAN_SORT: return each_sort(plan, fn, ctx, err);
    case PLAN_CONTRACT: return each_contract(plan, fn, ctx, err);
    case PLAN_INSERT:
    case PLAN_UPDATE: return each_check(plan, fn, ctx, err);
    case PLAN_LIMIT:
        TRY(each_slot(&plan->limit.limit, 1, fn, ctx, err));
        return each_slot(&plan->limit.offset, 1, fn, ctx, err);
    default: return TCUDB_OK;
    }
}

Cte *plan_cte_of(const Plan *plan)
{
    if (plan->kind == PLAN_CTE_SCAN) return plan->cte_scan.cte;
    return NULL;
}

static bool cte_listed(Cte *const *list, uint32_t n, const Cte *cte)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == cte) return true;
    return false;
}

/* Grows *list by doubling: n is a power of two exactly when it is full. */
static tcudb_status cte_append(Arena *arena, Cte ***list, uint32_t *n, Cte *cte, Error *err)
{
    if ((*n & (*n - 1)) == 0) {
        Cte **grown = ARENA_ARRAY(arena, Cte *, *n == 0 ? 1 : *n * 2, err);
        TRY_PTR(grown);
        if (*n > 0) memcpy(grown, *list, *n * sizeof *grown);
        *list = grown;
    }
    (*list)[(*n)++] = cte;
    return TCUDB_OK;
}

tcudb_status plan_ctes(Arena *arena, const Plan *plan, Cte ***list, uint32_t *n, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(plan_ctes(arena, plan->inputs[i], list, n, err));
    Cte *cte = plan_cte_of(plan);
    if (cte == NULL || cte->plan == NULL || cte_listed(*list, *n, cte)) return TCUDB_OK;
    TRY(plan_ctes(arena, cte->plan, list, n, err));
    return cte_append(arena, list, n, cte, err);
}
