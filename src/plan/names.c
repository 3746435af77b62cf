/*
 * names.c: from column ids to names, for printing, and the ids in use.
 *
 * An array indexed by ColId: ids are dense in a statement. The CTEs of a plan are found once each, since
 * a chain of CTEs that each use the one before twice has exponentially many paths.
 */
#include "plan/plan_int.h"

#include <assert.h>

struct PlanNames {
    Mem *mem;
    ColId end;
    const char **names;
};

void cte_list_free(CteList *list)
{
    mem_free(list->mem, list->ctes, list->cap * sizeof *list->ctes);
    *list = (CteList){.mem = list->mem};
}

static tcudb_status list_add(CteList *list, const Cte *cte, Error *err)
{
    if (list->n == list->cap) {
        uint32_t cap = list->cap == 0 ? 8 : list->cap * 2;
        const Cte **grown = mem_realloc(list->mem, list->ctes, list->cap * sizeof *grown, cap * sizeof *grown, err);
        TRY_PTR(grown);
        list->ctes = grown;
        list->cap = cap;
    }
    list->ctes[list->n++] = cte;
    return TCUDB_OK;
}

tcudb_status cte_list_collect(CteList *list, const Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(cte_list_collect(list, plan->inputs[i], err));
    const Cte *cte = plan_cte_of(plan);
    if (cte == NULL || cte->plan == NULL) return TCUDB_OK;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->ctes[i] == cte) return TCUDB_OK;
    TRY(list_add(list, cte, err));
    return cte_list_collect(list, cte->plan, err);
}

/* Columns that the node makes but need not put out. */
static const PlanCol *made_col(const Plan *plan, uint32_t i)
{
    if (plan->kind != PLAN_CONTRACT) return NULL;
    if (i < plan->contract.ngroups) return &plan->contract.groups[i].col;
    i -= plan->contract.ngroups;
    if (i == plan->contract.nouts && plan->contract.fold) return &plan->contract.cells;
    return i < plan->contract.nouts ? &plan->contract.outs[i].col : NULL;
}

static ColId max_id(const Plan *plan, ColId end)
{
    for (uint32_t i = 0; i < plan->ncols; i++)
        if (plan->cols[i].id >= end) end = plan->cols[i].id + 1;
    if (plan->kind == PLAN_JOIN && plan->join.mark.id >= end) end = plan->join.mark.id + 1;
    if (plan->kind == PLAN_APPLY && plan->apply.result.id >= end) end = plan->apply.result.id + 1;
    const PlanCol *made;
    for (uint32_t i = 0; (made = made_col(plan, i)) != NULL; i++)
        if (made->id >= end) end = made->id + 1;
    for (uint32_t i = 0; i < plan->ninputs; i++) end = max_id(plan->inputs[i], end);
    return end;
}

ColId plan_col_end(const Plan *plan, Cte *const *ctes, uint32_t nctes)
{
    ColId end = max_id(plan, 1);
    for (uint32_t i = 0; i < nctes; i++) end = max_id(ctes[i]->plan, end);
    return end;
}

static void note(PlanNames *names, const PlanCol *col)
{
    if (col->id < names->end && names->names[col->id] == NULL) names->names[col->id] = col->name;
}

static void note_plan(PlanNames *names, const Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) note_plan(names, plan->inputs[i]);
    for (uint32_t i = 0; i < plan->ncols; i++) note(names, &plan->cols[i]);
    const PlanCol *made;
    for (uint32_t i = 0; (made = made_col(plan, i)) != NULL; i++) note(names, made);
    if (plan->kind == PLAN_JOIN) note(names, &plan->join.mark);
    if (plan->kind == PLAN_APPLY) note(names, &plan->apply.result);
}

static tcudb_status fill(PlanNames *names, const Plan *plan, CteList *ctes, Error *err)
{
    tcudb_status status = cte_list_collect(ctes, plan, err);
    if (status != TCUDB_OK) return status;
    names->end = plan_col_end(plan, NULL, 0);
    for (uint32_t i = 0; i < ctes->n; i++) names->end = max_id(ctes->ctes[i]->plan, names->end);
    names->names = mem_alloc_zero(names->mem, names->end * sizeof *names->names, err);
    TRY_PTR(names->names);
    note_plan(names, plan);
    for (uint32_t i = 0; i < ctes->n; i++) note_plan(names, ctes->ctes[i]->plan);
    return TCUDB_OK;
}

tcudb_status plan_names(Mem *mem, const Plan *plan, PlanNames **out, Error *err)
{
    PlanNames *names = mem_alloc_zero(mem, sizeof *names, err);
    TRY_PTR(names);
    names->mem = mem;
    CteList ctes = {.mem = mem};
    tcudb_status status = fill(names, plan, &ctes, err);
    cte_list_free(&ctes);
    if (status != TCUDB_OK) {
        plan_names_free(names);
        return status;
    }
    *out = names;
    return TCUDB_OK;
}

void plan_names_free(PlanNames *names)
{
    if (names == NULL) return;
    mem_free(names->mem, names->names, names->end * sizeof *names->names);
    mem_free(names->mem, names, sizeof *names);
}

const char *plan_name(void *names, ColId id)
{
    const PlanNames *n = names;
    assert(n != NULL);
    return id < n->end ? n->names[id] : NULL;
}
