/*
 * op_cte.c: scans of common table expressions.
 *
 * A CTE that is scanned once streams; one that is scanned more often is run once and kept, for as long as the
 * execution that met it: what depends on an outer row or on a round of a recursion is met by that row's or round's.
 */
#include "exec/exec_int.h"

static tcudb_status cte_index(const Exec *x, const Cte *cte, uint32_t *out, Error *err)
{
    for (uint32_t i = 0; i < x->phys->nctes; i++) {
        if (x->phys->ctes[i] != cte) continue;
        *out = i;
        return TCUDB_OK;
    }
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "the plan does not list the CTE \"%s\"", cte->name);
}

static uint32_t scans_below(const PhysNode *node, const Cte *cte)
{
    uint32_t n = node->plan->kind == PLAN_CTE_SCAN && node->plan->cte_scan.cte == cte;
    for (uint32_t i = 0; i < node->ninputs; i++) n += scans_below(node->inputs[i], cte);
    return n;
}

static uint32_t count_scans(const Exec *x, const Cte *cte)
{
    uint32_t n = scans_below(x->phys->root, cte);
    for (uint32_t i = 0; i < x->phys->nctes; i++) n += scans_below(x->phys->cte_nodes[i], cte);
    return n;
}

static tcudb_status pass(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    return stage_push(stage->down, w, batch, err);
}

static tcudb_status run_cte_scan(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    uint32_t i = 0;
    TRY(cte_index(x, node->plan->cte_scan.cte, &i, err));
    bool once = x->frames == NULL && count_scans(x, node->plan->cte_scan.cte) == 1;
    if (x->cte_rows[i] == NULL && once) {
        Stage *stage = ARENA_NEW(&x->arena, Stage, err);
        TRY_PTR(stage);
        stage_init(stage, down);
        stage->push = pass;
        return exec_produce(x, x->phys->cte_nodes[i], stage, err);
    }
    if (x->cte_rows[i] == NULL) TRY(exec_collect(x, x->phys->cte_nodes[i], &x->cte_rows[i], err));
    return rows_push(x, node, x->cte_rows[i], NULL, 0, down, err);
}

const Op op_cte_scan = {.name = "CTE Scan", .engine = "cpu", .run = run_cte_scan};
