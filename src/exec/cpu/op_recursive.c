/*
 * op_recursive.c: WITH RECURSIVE and its work table.
 *
 * The step runs over the rows of the round before until a round adds none; each round's new rows go out at once, so
 * a LIMIT above ends an endless recursion. UNION (not ALL) drops rows seen before with one table of all. Each round is
 * an execution of its own, which ends after the next one has read its rows: what a round takes is given back, however
 * many there are. What serves all rounds (CTEs that do not depend on the round, tables of joins: op_hash_join.c) is the
 * recursion's. Cost: some microseconds a round + the step.
 */
#include "exec/keys.h"

static tcudb_status run_work_scan(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    for (WorkFrame *f = x->frames; f != NULL; f = f->next)
        if (f->cte == node->plan->cte_scan.cte->id) return rows_push(x, node, f->rows, NULL, 0, down, err);
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "no recursion is running for \"%s\"",
                     node->plan->cte_scan.cte->name);
}

typedef struct Recursion {
    Exec *x;
    PhysNode *node;
    Stage *down;
    bool all;
    KeySpec spec;
    KeyTable seen;
    WorkFrame frame;
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

/* The rows among them that were not seen before. */
static tcudb_status keep_unseen(Recursion *r, Exec *x, Rows **rows, Error *err)
{
    Collector *c;
    uint32_t *order = exec_alloc(x, ((*rows)->n + 1) * sizeof *order, err);
    TRY_PTR(order);
    uint64_t n;
    TRY(unseen(r, *rows, order, &n, err));
    if (n < (*rows)->n) {
        Rows *all = *rows;
        TRY(collector_new(x, r->node->plan->cols, r->node->plan->ncols, &c, err));
        TRY(rows_push_order(x, NULL, all, order, n, NULL, 0, collector_stage(c), err));
        TRY(collector_rows(c, NULL, rows, err));
        rows_free(all);
    }
    exec_free(x, order);
    return TCUDB_OK;
}

/* Runs the input in x and keeps its output under the recursion's own columns. */
static tcudb_status collect_as(Recursion *r, Exec *x, PhysNode *input, Rows **out, Error *err)
{
    Collector *c;
    TRY(collector_new(x, r->node->plan->cols, r->node->plan->ncols, &c, err));
    TRY(exec_produce(x, input, collector_stage(c), err));
    TRY(collector_rows(c, NULL, out, err));
    return r->all ? TCUDB_OK : keep_unseen(r, x, out, err);
}

/* Round n, in one of two executions: the other one has the rows of the round before. */
static tcudb_status run_round(Recursion *r, Exec pair[2], uint64_t n, Error *err)
{
    Rows *rows;
    Exec *round = &pair[n % 2];
    TRY(n < 2 ? exec_inner_new(r->x, round, err) : exec_inner_again(r->x, round, err));
    TRY(exec_check_cancel(round, err));
    r->frame.round = round;
    TRY(collect_as(r, round, r->node->inputs[1], &rows, err));
    r->frame.rows = rows;
    return TCUDB_OK;
}

static tcudb_status rounds(Recursion *r, Error *err)
{
    Exec pair[2];
    uint64_t n = 0;
    tcudb_status status = TCUDB_OK;
    while (status == TCUDB_OK && r->frame.rows->n > 0) {
        status = rows_push(r->x, r->node, r->frame.rows, NULL, 0, r->down, err);
        if (status != TCUDB_OK || stage_stopped(r->down)) break;
        status = run_round(r, pair, n++, err);
    }
    for (uint64_t i = 0; i < n && i < 2; i++) exec_end(&pair[i]);
    r->frame = (WorkFrame){.next = r->frame.next};
    return status;
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
    Rows *first;
    TRY(collect_as(&r, x, node->inputs[0], &first, err));
    if (first->n > 0) TRY(exec_materialise_ctes(x, node->inputs[1], err));
    r.frame = (WorkFrame){.next = x->frames, .cte = plan->recursive.cte->id, .rows = first};
    x->frames = &r.frame;
    tcudb_status status = rounds(&r, err);
    x->frames = r.frame.next;
    rows_free(first);
    keytable_free(&r.seen);
    return status;
}

const Op op_work_scan = {.name = "Work Table Scan", .engine = "cpu", .run = run_work_scan};
const Op op_recursive = {.name = "Recursive Union", .engine = "cpu", .run = run_recursive};
