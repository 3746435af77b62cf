/*
 * plan_int.h: what the files of plan/ share.
 */
#ifndef PLAN_PLAN_INT_H
#define PLAN_PLAN_INT_H

#include "plan/plan.h"

/* The CTE that a CTE_SCAN runs, or NULL. */
Cte *plan_cte_of(const Plan *plan);

/* The distinct CTEs below a plan without an arena: a growable list in mem. */
typedef struct CteList {
    Mem *mem;
    const Cte **ctes;
    uint32_t n;
    uint32_t cap;
} CteList;

void cte_list_free(CteList *list);
/* Collects them below plan, each once. */
tcudb_status cte_list_collect(CteList *list, const Plan *plan, Error *err) MUST_CHECK;

#endif
