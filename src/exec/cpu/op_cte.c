/*
 * op_cte.c: common table expressions: kept results, recursion, the work table.
 *
 * A CTE that is scanned once streams; one that is scanned more often is run once and kept. A recursion runs
 * its step over the rows of the round before until a round adds none; each round's new rows go out at
 * once, so a LIMIT above ends an endless one. UNION (not ALL) drops rows seen before with one table of all.
 */
#include "exec/keys.h"

#include <assert.h>

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

static tcudb_status run_work_scan(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    for (WorkFrame *f = x->frames; f != NULL; f = f->next)
        if (f->cte == node->plan->cte_scan.cte->id) return rows_push(x, node, f->rows, NULL, 0, down, err);
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "no recursion is running for \"%s\"",
                     node->plan->cte_scan.cte->name);
}

/* ---- recursion ------------------------------------------------------------------------------------------- */

typedef struct Recursion {
    Exec *x;
    PhysNode *node;
    Stage *down;
    bool all;
    KeySpec spec;
    KeyTable seen;
} Recursion;

/* Row numbers of the rows that were not seen before. */
static tcudb_status unseen(Recursion *r, const Rows *rows, uint32_t *order, uint64_t *n, Error *err)
{
    Worker *w = &r->x->workers[0];
    *n = 0;
    for (uint64_t at = 0; at < rows->n; at += BATCH_ROWS) {
        uint32_t count = rows->n - at < BATCH_ROWS ? (uint32_t)(rows->n - at) : BATCH_ROWS;
        TRY(exec_check_cancel(r->x, err));
        arena_reset(&w->batch);
        Vector *cols = ARENA_ARRAY(&w->batch, Vector, rows->ncols + 1, err);
        TRY_PTR(cols);
        for (uint32_t c = 0; c < rows->ncols; c++) TRY(rows_slice(rows, c, at, count, &w->batch, &cols[c], err));
        uint64_t *keys = arena_alloc_raw(&w->batch, ((size_t)count * r->spec.words + 1) * sizeof *keys, err);
        TRY_PTR(keys);
        uint64_t *hash = arena_alloc_raw(&w->batch, count * sizeof *hash, err);
        TRY_PTR(hash);
        TRY(keys_encode(&r->spec, &w->batch, cols, NULL, count, count, keys, hash, err));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t ignored;
            bool found;
            TRY(keytable_add(&r->seen, keys + (size_t)i * r->spec.words, hash[i], &ignored, &found, err));
            order[*n] = (uint32_t)(at + i);
            *n += !found;
        }
    }
    return TCUDB_OK;
}

/* Keeps the node's output under the recursion's own columns. */
static tcudb_status collect_as(Recursion *r, PhysNode *input, Rows **out, Error *err)
{
    Collector *c;
    Rows *rows;
    const Plan *plan = r->node->plan;
    TRY(collector_new(r->x, plan->cols, plan->ncols, &c, err));
    TRY(exec_produce(r->x, input, collector_stage(c), err));
    TRY(collector_rows(c, NULL, &rows, err));
    *out = rows;
    if (r->all) return TCUDB_OK;
    uint32_t *order = exec_alloc(r->x, (rows->n + 1) * sizeof *order, err);
    TRY_PTR(order);
    uint64_t n;
    TRY(unseen(r, rows, order, &n, err));
    if (n < rows->n) {
        TRY(collector_new(r->x, plan->cols, plan->ncols, &c, err));
        TRY(rows_push_order(r->x, NULL, rows, order, n, NULL, 0, collector_stage(c), err));
        TRY(collector_rows(c, NULL, out, err));
        rows_free(rows);
    }
    exec_free(r->x, order);
    return TCUDB_OK;
}

static tcudb_status rounds(Recursion *r, WorkFrame *frame, Error *err)
{
    TRY(collect_as(r, r->node->inputs[0], &frame->rows, err));
    while (frame->rows->n > 0) {
        TRY(exec_check_cancel(r->x, err));
        TRY(rows_push(r->x, r->node, frame->rows, NULL, 0, r->down, err));
        if (stage_stopped(r->down)) break;
        Rows *next;
        r->x->frames = frame;
        tcudb_status status = collect_as(r, r->node->inputs[1], &next, err);
        r->x->frames = frame->next;
        TRY(status);
        rows_free(frame->rows);
        frame->rows = next;
    }
    rows_free(frame->rows);
    return TCUDB_OK;
}

static tcudb_status run_recursive(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Recursion r = {.x = x, .node = node, .down = down, .all = plan->recursive.all};
    if (!r.all) {
        Type *types = ARENA_ARRAY(&x->arena, Type, plan->ncols + 1, err);
        TRY_PTR(types);
        for (uint32_t i = 0; i < plan->ncols; i++) types[i] = plan->cols[i].type;
        TRY(keys_spec(x, types, NULL, plan->ncols, true, &r.spec, err));
        TRY(keytable_init(x, &r.spec, 0, &x->workers[0].own, &r.seen, err));
    }
    WorkFrame frame = {.next = x->frames, .cte = plan->recursive.cte->id};
    TRY(rounds(&r, &frame, err));
    keytable_free(&r.seen);
    return TCUDB_OK;
}

const Op op_cte_scan = {.name = "CTE Scan", .engine = "cpu", .run = run_cte_scan};
const Op op_work_scan = {.name = "Work Table Scan", .engine = "cpu", .run = run_work_scan};
const Op op_recursive = {.name = "Recursive Union", .engine = "cpu", .run = run_recursive};
