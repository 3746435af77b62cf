/*
 * free_cols.c: the columns that a plan takes from outside: its outer references.
 *
 * A column is defined inside if some node inside lists it as an output (ids are unique in the statement
 * and an outer column is never an output of the inside). So two walks do: mark what is defined in a
 * bitmap over ids, then report each used column that is not marked, once. CTEs below are part of the
 * inside. Cost: linear in the plan, one bitmap of the largest id.
 */
#include "plan/plan_int.h"

#include <assert.h>

typedef struct FreeWalk {
    Arena *arena;
    ColId end;
    uint64_t *defined; /* also set once a free column has been reported */
    ColId **list;
    uint32_t *n;
    tcudb_status status;
    Error *err;
} FreeWalk;

static void mark(FreeWalk *walk, ColId id)
{
    if (id < walk->end) bit_set(walk->defined, id);
}

static void mark_defined(FreeWalk *walk, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ncols; i++) mark(walk, plan->cols[i].id);
    if (plan->kind == PLAN_JOIN && plan->join.mark.id != 0) mark(walk, plan->join.mark.id);
    if (plan->kind == PLAN_APPLY && plan->apply.result.id != 0) mark(walk, plan->apply.result.id);
    for (uint32_t i = 0; i < plan->ninputs; i++) mark_defined(walk, plan->inputs[i]);
}

static bool reported(const FreeWalk *walk, ColId id)
{
    for (uint32_t i = 0; i < *walk->n; i++)
        if ((*walk->list)[i] == id) return true;
    return false;
}

static tcudb_status report(FreeWalk *walk, ColId id, Error *err)
{
    uint32_t n = *walk->n;
    if (reported(walk, id)) return TCUDB_OK;
    if ((n & (n - 1)) == 0) {
        ColId *grown = ARENA_ARRAY(walk->arena, ColId, n == 0 ? 1 : n * 2, err);
        TRY_PTR(grown);
        if (n > 0) memcpy(grown, *walk->list, n * sizeof *grown);
        *walk->list = grown;
    }
    (*walk->list)[(*walk->n)++] = id;
    return TCUDB_OK;
}

static bool see_expr(void *ctx, const Expr *e)
{
    FreeWalk *walk = ctx;
    if (e->kind != EXPR_COL) return true;
    if (e->col < walk->end && bit_get(walk->defined, e->col)) return true;
    walk->status = report(walk, e->col, walk->err);
    return walk->status == TCUDB_OK;
}

static tcudb_status see_slot(void *ctx, Expr **slot, Error *err)
{
    FreeWalk *walk = ctx;
    walk->err = err;
    (void)expr_walk(*slot, see_expr, walk);
    return walk->status;
}

static tcudb_status see_used(FreeWalk *walk, Plan *plan, Error *err)
{
    TRY(plan_each_expr(plan, see_slot, walk, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(see_used(walk, plan->inputs[i], err));
    return TCUDB_OK;
}

tcudb_status plan_free_cols(Arena *arena, Plan *plan, ColId **list, uint32_t *n, Error *err)
{
    Cte **ctes = NULL;
    uint32_t nctes = 0;
    TRY(plan_ctes(arena, plan, &ctes, &nctes, err));
    FreeWalk walk = {.arena = arena, .end = plan_col_end(plan, ctes, nctes), .list = list, .n = n};
    walk.defined = ARENA_ARRAY(arena, uint64_t, bit_words(walk.end), err);
    TRY_PTR(walk.defined);
    mark_defined(&walk, plan);
    for (uint32_t i = 0; i < nctes; i++) mark_defined(&walk, ctes[i]->plan);
    TRY(see_used(&walk, plan, err));
    for (uint32_t i = 0; i < nctes; i++) TRY(see_used(&walk, ctes[i]->plan, err));
    return TCUDB_OK;
}
