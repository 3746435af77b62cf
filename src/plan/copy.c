/*
 * copy.c: a deep copy of a plan whose columns have new ids.
 *
 * Views and CTEs are inlined by copying, and a statement may use one twice; ids must stay unique. Every
 * id that a node inside puts out is defined inside, so a first walk gives each a new number and a second
 * copies nodes and rewrites expressions. Outer columns keep their ids. CTEs are shared, not copied (each
 * runs once, which is their meaning); so is what WORK_SCAN refers to. Cost: linear, plus a map over ids.
 */
#include "plan/plan_int.h"

#include <assert.h>

typedef struct Copier {
    Arena *arena;
    ColId *next;
    ColId end;
    ColId *map; /* old id -> new id; 0: not defined inside */
} Copier;

static void map_col(Copier *c, ColId id)
{
    if (id != 0 && c->map[id] == 0) c->map[id] = (*c->next)++;
}

static void map_plan(Copier *c, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) map_plan(c, plan->inputs[i]);
    for (uint32_t i = 0; i < plan->ncols; i++) map_col(c, plan->cols[i].id);
    if (plan->kind == PLAN_JOIN) map_col(c, plan->join.mark.id);
    if (plan->kind == PLAN_APPLY) map_col(c, plan->apply.result.id);
}

static ColId mapped(const Copier *c, ColId id)
{
    return id < c->end && c->map[id] != 0 ? c->map[id] : id;
}

static void renumber(const Copier *c, PlanCol *col)
{
    col->id = mapped(c, col->id);
}

static tcudb_status new_column(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    const Copier *c = ctx;
    if (e->kind != EXPR_COL || mapped(c, e->col) == e->col) return TCUDB_OK;
    *replacement = expr_col(c->arena, mapped(c, e->col), e->type, e->position, err);
    TRY_PTR(*replacement);
    return TCUDB_OK;
}

static tcudb_status rewrite_slot(void *ctx, Expr **slot, Error *err)
{
    Copier *c = ctx;
    return expr_replace(c->arena, *slot, new_column, c, slot, err);
}

/* A copy of n bytes; *field points to the original and then to the copy. */
static tcudb_status dup(Copier *c, void *field, size_t n, Error *err)
{
    void *old;
    memcpy(&old, field, sizeof old);
    if (old == NULL) return TCUDB_OK;
    void *copy = arena_alloc(c->arena, n, err);
    TRY_PTR(copy);
    memcpy(copy, old, n);
    memcpy(field, &copy, sizeof copy);
    return TCUDB_OK;
}

static tcudb_status copy_scan(Copier *c, Plan *plan, Error *err)
{
    TRY(dup(c, &plan->scan.filters, plan->scan.nfilters * sizeof(Expr *), err));
    TRY(dup(c, &plan->scan.semi, plan->scan.nsemi * sizeof(SemiFilter), err));
    for (uint32_t i = 0; i < plan->scan.nsemi; i++) plan->scan.semi[i].col = mapped(c, plan->scan.semi[i].col);
    return TCUDB_OK;
}

static tcudb_status copy_join(Copier *c, Plan *plan, Error *err)
{
    renumber(c, &plan->join.mark);
    TRY(dup(c, &plan->join.conds, plan->join.nconds * sizeof(Expr *), err));
    TRY(dup(c, &plan->join.semi, plan->join.nsemi * sizeof(SemiSource), err));
    for (uint32_t i = 0; i < plan->join.nsemi; i++) plan->join.semi[i].key = mapped(c, plan->join.semi[i].key);
    return TCUDB_OK;
}

static tcudb_status copy_agg(Copier *c, Plan *plan, Error *err)
{
    TRY(dup(c, &plan->agg.groups, plan->agg.ngroups * sizeof(NamedExpr), err));
    TRY(dup(c, &plan->agg.aggs, plan->agg.naggs * sizeof(AggCall), err));
    for (uint32_t i = 0; i < plan->agg.ngroups; i++) renumber(c, &plan->agg.groups[i].col);
    for (uint32_t i = 0; i < plan->agg.naggs; i++) {
        AggCall *agg = &plan->agg.aggs[i];
        renumber(c, &agg->col);
        TRY(dup(c, &agg->order, agg->norder * sizeof(SortKey), err));
    }
    return TCUDB_OK;
}

static tcudb_status copy_project(Copier *c, Plan *plan, Error *err)
{
    TRY(dup(c, &plan->project.exprs, plan->ncols * sizeof(NamedExpr), err));
    for (uint32_t i = 0; i < plan->ncols; i++) renumber(c, &plan->project.exprs[i].col);
    return TCUDB_OK;
}

static tcudb_status copy_contract(Copier *c, Plan *plan, Error *err)
{
    TRY(dup(c, &plan->contract.groups, plan->contract.ngroups * sizeof(NamedExpr), err));
    TRY(dup(c, &plan->contract.outs, plan->contract.nouts * sizeof(ContractOut), err));
    for (uint32_t side = 0; side < 2; side++) {
        TRY(dup(c, &plan->contract.keys[side], plan->contract.nkeys * sizeof(Expr *), err));
        TRY(dup(c, &plan->contract.values[side], plan->contract.nvalues[side] * sizeof(Expr *), err));
    }
    for (uint32_t i = 0; i < plan->contract.ngroups; i++) renumber(c, &plan->contract.groups[i].col);
    for (uint32_t i = 0; i < plan->contract.nouts; i++) renumber(c, &plan->contract.outs[i].col);
    if (plan->contract.cells.id != 0) renumber(c, &plan->contract.cells);
    if (plan->contract.counted != 0) plan->contract.counted = mapped(c, plan->contract.counted);
    return TCUDB_OK;
}

static tcudb_status copy_window(Copier *c, Plan *plan, Error *err)
{
    TRY(dup(c, &plan->window.partition, plan->window.npartition * sizeof(Expr *), err));
    TRY(dup(c, &plan->window.order, plan->window.norder * sizeof(SortKey), err));
    TRY(dup(c, &plan->window.calls, plan->window.ncalls * sizeof(WindowCall), err));
    for (uint32_t i = 0; i < plan->window.ncalls; i++) {
        renumber(c, &plan->window.calls[i].col);
        renumber(c, &plan->window.calls[i].agg.col);
    }
    return TCUDB_OK;
}

static tcudb_status copy_distinct(Copier *c, Plan *plan, Error *err)
{
    TRY(dup(c, &plan->distinct.on, plan->distinct.non * sizeof(ColId), err));
    for (uint32_t i = 0; i < plan->distinct.non; i++) plan->distinct.on[i] = mapped(c, plan->distinct.on[i]);
    return TCUDB_OK;
}

/* The variant part: arrays that the copy must own, columns that it defines. */
static tcudb_status copy_part(Copier *c, Plan *plan, Error *err)
{
    switch (plan->kind) {
    case PLAN_SCAN: return copy_scan(c, plan, err);
    case PLAN_FUNC_SCAN: return dup(c, &plan->func_scan.args, plan->func_scan.nargs * sizeof(Expr *), err);
    case PLAN_VALUES: return dup(c, &plan->values.rows_exprs, plan->values.nrows * plan->ncols * sizeof(Expr *), err);
    case PLAN_FILTER: return dup(c, &plan->filter.conds, plan->filter.nconds * sizeof(Expr *), err);
    case PLAN_PROJECT: return copy_project(c, plan, err);
    case PLAN_JOIN: return copy_join(c, plan, err);
    case PLAN_APPLY: renumber(c, &plan->apply.result); return TCUDB_OK;
    case PLAN_AGGREGATE: return copy_agg(c, plan, err);
    case PLAN_WINDOW: return copy_window(c, plan, err);
    case PLAN_DISTINCT: return copy_distinct(c, plan, err);
    case PLAN_SORT: return dup(c, &plan->sort.keys, plan->sort.nkeys * sizeof(SortKey), err);
    case PLAN_CONTRACT: return copy_contract(c, plan, err);
    case PLAN_CTE_SCAN: plan->cte_scan.cte->uses++; return TCUDB_OK;
    default: return TCUDB_OK;
    }
}

static tcudb_status copy_node(Copier *c, const Plan *plan, Plan **out, Error *err)
{
    Plan *copy = ARENA_NEW(c->arena, Plan, err);
    TRY_PTR(copy);
    *copy = *plan;
    TRY(dup(c, &copy->cols, plan->ncols * sizeof(PlanCol), err));
    for (uint32_t i = 0; i < copy->ncols; i++) renumber(c, &copy->cols[i]);
    TRY(copy_part(c, copy, err));
    TRY(plan_each_expr(copy, rewrite_slot, c, err));
    TRY(dup(c, &copy->inputs, plan->ninputs * sizeof(Plan *), err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(copy_node(c, plan->inputs[i], &copy->inputs[i], err));
    *out = copy;
    return TCUDB_OK;
}

tcudb_status plan_copy(Arena *arena, const Plan *plan, ColId *next_col, Plan **out, Error *err)
{
    Copier c = {.arena = arena, .next = next_col, .end = plan_col_end(plan, NULL, 0)};
    assert(*next_col > 0);
    c.map = ARENA_ARRAY(arena, ColId, c.end, err);
    TRY_PTR(c.map);
    map_plan(&c, plan);
    return copy_node(&c, plan, out, err);
}
