/*
 * uses.c: whether a plan uses a column of a table: in an expression, or as its own result.
 *
 * Each scan of the table gives the column an id of its own; what names one of these ids uses it. So two walks do, as
 * in free_cols.c: mark the ids, then look for them. The plan is as it was bound: the optimiser leaves out what does
 * not matter to the answer. Cost: linear in the plan.
 */
#include "plan/plan_int.h"

typedef struct Uses {
    Str table;
    uint32_t column;
    uint64_t *ids;
    bool found;
} Uses;

static void mark_scans(Uses *uses, const Plan *plan)
{
    bool scan = plan->kind == PLAN_SCAN && str_equal(plan->scan.name, uses->table);
    for (uint32_t i = 0; scan && i < plan->ncols; i++)
        if (plan->scan.columns[i] == uses->column) bit_set(uses->ids, plan->cols[i].id);
    for (uint32_t i = 0; i < plan->ninputs; i++) mark_scans(uses, plan->inputs[i]);
}

static bool see_expr(void *ctx, const Expr *e)
{
    Uses *uses = ctx;
    uses->found = uses->found || (e->kind == EXPR_COL && bit_get(uses->ids, e->col));
    return !uses->found;
}

static tcudb_status see_slot(void *ctx, Expr **slot, Error *err)
{
    (void)err;
    (void)expr_walk(*slot, see_expr, ctx);
    return TCUDB_OK;
}

static tcudb_status see_plan(Uses *uses, Plan *plan, Error *err)
{
    TRY(plan_each_expr(plan, see_slot, uses, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(see_plan(uses, plan->inputs[i], err));
    return TCUDB_OK;
}

static void see_results(Uses *uses, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ncols; i++) uses->found = uses->found || bit_get(uses->ids, plan->cols[i].id);
}

tcudb_status plan_uses_column(Arena *arena, Plan *plan, Str table, uint32_t column, bool *uses, Error *err)
{
    Cte **ctes = NULL;
    uint32_t nctes = 0;
    TRY(plan_ctes(arena, plan, &ctes, &nctes, err));
    Uses walk = {.table = table, .column = column};
    walk.ids = ARENA_ARRAY(arena, uint64_t, bit_words(plan_col_end(plan, ctes, nctes)), err);
    TRY_PTR(walk.ids);
    mark_scans(&walk, plan);
    for (uint32_t i = 0; i < nctes; i++) mark_scans(&walk, ctes[i]->plan);
    see_results(&walk, plan);
    TRY(see_plan(&walk, plan, err));
    for (uint32_t i = 0; i < nctes; i++) {
        see_results(&walk, ctes[i]->plan);
        TRY(see_plan(&walk, ctes[i]->plan, err));
    }
    *uses = walk.found;
    return TCUDB_OK;
}
