/*
 * free_work.c: whether a plan reads what the last round of a recursion around it produced.
 *
 * As with outer columns: a work table is read inside, directly or by a CTE that the plan scans, and the recursion
 * it belongs to is not inside. What such a plan yields is good for one round only. Cost: linear in the plan.
 */
#include "plan/plan.h"

typedef struct Parts {
    const Plan *plan;
    Cte **ctes; /* scanned below */
    uint32_t nctes;
} Parts;

static bool runs_inside(const Plan *plan, uint32_t cte)
{
    if (plan->kind == PLAN_RECURSIVE && plan->recursive.cte->id == cte) return true;
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (runs_inside(plan->inputs[i], cte)) return true;
    return false;
}

static bool runs_in(const Parts *parts, uint32_t cte)
{
    if (runs_inside(parts->plan, cte)) return true;
    for (uint32_t i = 0; i < parts->nctes; i++)
        if (runs_inside(parts->ctes[i]->plan, cte)) return true;
    return false;
}

static bool reads_outside(const Parts *parts, const Plan *plan)
{
    if (plan->kind == PLAN_WORK_SCAN) return !runs_in(parts, plan->cte_scan.cte->id);
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (reads_outside(parts, plan->inputs[i])) return true;
    return false;
}

tcudb_status plan_free_work(Arena *arena, const Plan *plan, bool *out, Error *err)
{
    Parts parts = {.plan = plan};
    TRY(plan_ctes(arena, plan, &parts.ctes, &parts.nctes, err));
    *out = reads_outside(&parts, plan);
    for (uint32_t i = 0; i < parts.nctes && !*out; i++) *out = reads_outside(&parts, parts.ctes[i]->plan);
    return TCUDB_OK;
}
