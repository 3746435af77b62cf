/*
 * prune_cte.c: a CTE that is run once keeps only the columns that some scan of it needs.
 *
 * While the statement is pruned, every CTE scan notes which of its outputs are used. Then the CTEs, users
 * before the used: one gets a projection to the noted columns, which prunes what is below (and notes what it
 * needs of CTEs there), and all its scans drop the others, so that positions still correspond. A recursive
 * CTE keeps all: its rounds are compared as whole rows.
 */
#include "opt/opt_int.h"

#include <assert.h>

typedef struct CteNeeds CteNeeds;
struct CteNeeds {
    CteNeeds *next;
    const Cte *cte;
    bool *columns; /* by position */
};

static CteNeeds *find_needs(const Opt *opt, const Cte *cte)
{
    for (CteNeeds *n = opt->cte_needs; n != NULL; n = n->next)
        if (n->cte == cte) return n;
    return NULL;
}

tcudb_status cte_need(Opt *opt, const Plan *scan, const ColSet *need, bool all, Error *err)
{
    CteNeeds *needs = find_needs(opt, scan->cte_scan.cte);
    if (needs == NULL) {
        needs = ARENA_NEW(opt->arena, CteNeeds, err);
        TRY_PTR(needs);
        *needs = (CteNeeds){.next = opt->cte_needs, .cte = scan->cte_scan.cte};
        needs->columns = ARENA_ARRAY(opt->arena, bool, scan->ncols, err);
        TRY_PTR(needs->columns);
        opt->cte_needs = needs;
    }
    for (uint32_t i = 0; i < scan->ncols; i++) needs->columns[i] |= all || colset_has(need, scan->cols[i].id);
    return TCUDB_OK;
}

static bool is_recursive(const Plan *plan)
{
    if (plan->kind == PLAN_RECURSIVE || plan->kind == PLAN_WORK_SCAN) return true;
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (is_recursive(plan->inputs[i])) return true;
    return false;
}

/* Keeps the columns whose place is needed. */
static tcudb_status drop_cols(Opt *opt, Plan *scan, const bool *needed, Error *err)
{
    PlanCol *cols = ARENA_ARRAY(opt->arena, PlanCol, scan->ncols, err);
    TRY_PTR(cols);
    uint32_t n = 0;
    for (uint32_t i = 0; i < scan->ncols; i++)
        if (needed[i]) cols[n++] = scan->cols[i];
    scan->cols = cols;
    scan->ncols = n;
    return TCUDB_OK;
}

static tcudb_status drop_in_scans(Opt *opt, Plan *plan, const CteNeeds *needs, Error *err)
{
    if (plan->kind == PLAN_CTE_SCAN && plan->cte_scan.cte == needs->cte)
        return drop_cols(opt, plan, needs->columns, err);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(drop_in_scans(opt, plan->inputs[i], needs, err));
    return TCUDB_OK;
}

static tcudb_status project_needed(Opt *opt, Cte *cte, const CteNeeds *needs, Error *err)
{
    const Plan *plan = cte->plan;
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols, err);
    TRY_PTR(exprs);
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (!needs->columns[i]) continue;
        exprs[n].col = plan->cols[i];
        exprs[n].expr = expr_of_col(opt, &plan->cols[i], err);
        TRY_PTR(exprs[n].expr);
        n++;
    }
    return n == plan->ncols ? TCUDB_OK : plan_project(opt->arena, cte->plan, exprs, n, &cte->plan, err);
}

tcudb_status cte_prune(Opt *opt, Error *err)
{
    Cte **ctes = NULL;
    uint32_t n = 0;
    TRY(plan_ctes(opt->arena, opt->statement, &ctes, &n, err));
    for (uint32_t i = n; i-- > 0;) { /* those that scan others come later in the list */
        const CteNeeds *needs = find_needs(opt, ctes[i]);
        uint32_t before = ctes[i]->plan->ncols;
        if (needs != NULL && !is_recursive(ctes[i]->plan)) TRY(project_needed(opt, ctes[i], needs, err));
        TRY(prune_below(opt, &ctes[i]->plan, err));
        if (ctes[i]->plan->ncols == before) continue;
        assert(ctes[i]->plan->ncols < before);
        opt->changed = true;
        TRY(drop_in_scans(opt, opt->statement, needs, err));
        for (uint32_t k = 0; k < n; k++) TRY(drop_in_scans(opt, ctes[k]->plan, needs, err));
    }
    return TCUDB_OK;
}
