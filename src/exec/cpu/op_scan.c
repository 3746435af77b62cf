/*
 * op_scan.c: live rows of a table.
 *
 * A task is a segment, or a quarter of one in small tables (so the number of tasks depends on the table
 * only). Per batch the list of live rows shrinks step by step: deleted rows, conditions, semi-join bitmaps;
 * each column is decoded when the first step needs it, and only at the rows that are left.
 * Simple conditions (column against constants, see scan_pred.c) are checked against a segment's minimum
 * and maximum first: then the segment is skipped, or the condition is.
 */
#include "exec/cpu/scan_int.h"

#include <assert.h>

enum { PART_ROWS = SEGMENT_ROWS / 4, SMALL_SEGMENTS = 16 };

static tcudb_status read_rowids(Arena *arena, uint32_t segment, uint32_t row, uint32_t n, Vector *out, Error *err)
{
    TRY(vec_new(arena, TYPE(TYPE_INT8), n, out, err));
    int64_t *ids = out->data;
    for (uint32_t i = 0; i < n; i++) ids[i] = (int64_t)((uint64_t)segment << 32 | (row + i));
    return TCUDB_OK;
}

tcudb_status scan_load(ScanBatch *b, uint32_t col, Error *err)
{
    const Scan *s = b->scan;
    if (b->loaded[col]) return TCUDB_OK;
    b->loaded[col] = true;
    uint32_t column = s->plan->scan.columns[col];
    Vector *out = &b->batch.cols[col];
    if (column == ROWID_COLUMN) return read_rowids(worker_arena(b->w), b->segment, b->row, b->batch.rows, out, err);
    DictView dict;
    if (type_is_text(s->plan->cols[col].type)) /* what it takes from disk, it may be interrupted in */
        TRY(table_dict(s->plan->scan.table, column, s->x->env->cancel, &dict, err));
    TRY(segment_read(s->plan->scan.table, b->segment, column, b->row, b->batch.rows, b->batch.sel, b->batch.n,
                     worker_arena(b->w), out, err));
    out->type = s->plan->cols[col].type;
    return TCUDB_OK;
}

/* Clears deleted rows. */
static tcudb_status skip_deleted(ScanBatch *b, const uint64_t *deleted, Error *err)
{
    if (deleted == NULL) return TCUDB_OK;
    uint16_t *sel = b->sel;
    uint32_t k = 0;
    for (uint32_t i = 0; i < b->batch.rows; i++) {
        sel[k] = (uint16_t)i;
        k += !bit_get(deleted, b->row + i);
    }
    (void)err;
    if (k == b->batch.rows) return TCUDB_OK;
    b->batch.sel = sel;
    b->batch.n = k;
    return TCUDB_OK;
}

static tcudb_status run_pred(ScanBatch *b, ScanPred *pred, Error *err)
{
    for (uint32_t i = 0; i < pred->ncols; i++) TRY(scan_load(b, pred->cols[i], err));
    uint32_t n = 0;
    switch (pred->kind) {
    case PRED_RANGE: n = scan_range(&b->batch, &b->batch.cols[pred->cols[0]], pred, b->sel); break;
    case PRED_BOUND: n = scan_bound(&b->batch, &b->batch.cols[pred->cols[0]], pred, b->sel); break;
    case PRED_SEMI: TRY(scan_semi(b, pred, &n, err)); break;
    case PRED_CODES: TRY(scan_codes(b, pred, &n, err)); break;
    case PRED_TEXTS: n = scan_text_rows(&b->batch, &b->batch.cols[pred->cols[0]], pred, b->sel); break;
    case PRED_EXPR: TRY(ev_filter(&pred->ev, b->w, &b->batch, b->sel, &n, err)); break;
    }
    b->batch.sel = b->sel;
    b->batch.n = n;
    return TCUDB_OK;
}

static tcudb_status scan_batch(ScanBatch *b, const uint64_t *deleted, const bool *skip, Error *err)
{
    const Scan *s = b->scan;
    Arena *arena = worker_arena(b->w);
    b->sel = arena_alloc_raw(arena, (BATCH_ROWS + 64) * sizeof *b->sel, err);
    TRY_PTR(b->sel);
    b->batch.ncols = s->plan->ncols;
    b->batch.cols = ARENA_ARRAY(arena, Vector, s->plan->ncols + 1, err);
    TRY_PTR(b->batch.cols);
    b->loaded = ARENA_ARRAY(arena, bool, s->plan->ncols + 1, err);
    TRY_PTR(b->loaded);
    TRY(skip_deleted(b, deleted, err));
    for (uint32_t i = 0; i < s->npreds && b->batch.n > 0; i++)
        if (!skip[i]) TRY(run_pred(b, &s->preds[i], err));
    if (b->batch.n == 0) return TCUDB_OK;
    if (b->batch.n == b->batch.rows) b->batch.sel = NULL;
    for (uint32_t i = 0; i < s->plan->ncols; i++) TRY(scan_load(b, i, err));
    return scan_emit(b, err);
}

static tcudb_status scan_rows(Scan *s, Worker *w, uint32_t segment, uint32_t from, uint32_t to, Error *err)
{
    const Table *table = s->plan->scan.table;
    bool *skip = ARENA_ARRAY(&w->own, bool, s->npreds + 1, err);
    TRY_PTR(skip);
    bool any;
    TRY(scan_prune(s, segment, skip, &any, err));
    if (!any) return TCUDB_OK;
    const uint64_t *deleted = segment_deleted(table, segment);
    for (uint32_t row = from; row < to && !stage_stopped(s->down); row += BATCH_ROWS) {
        TRY(exec_check_cancel(s->x, err));
        arena_reset(&w->batch);
        uint32_t n = to - row < BATCH_ROWS ? to - row : BATCH_ROWS;
        ScanBatch b = {.scan = s, .w = w, .segment = segment, .row = row, .batch = {.rows = n, .n = n}};
        TRY(scan_batch(&b, deleted, skip, err));
    }
    return scan_flush(s, w, err);
}

static tcudb_status scan_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Scan *s = ctx;
    uint32_t segment = (uint32_t)(task / s->parts), part = (uint32_t)(task % s->parts);
    if (s->order != NULL) segment = s->order[segment];
    uint32_t rows = segment_rows(s->plan->scan.table, segment);
    uint32_t from = s->parts == 1 ? 0 : part * PART_ROWS;
    uint32_t to = s->parts == 1 || from + PART_ROWS > rows ? rows : from + PART_ROWS;
    if (s->parts > 1 && part + 1 == s->parts && to < rows) to = rows;
    if (from >= to) return TCUDB_OK;
    TRY(scan_rows(s, w, segment, from, to, err));
    if (s->x->env->progress != NULL) atomic_fetch_add(&s->x->env->progress->done, to - from);
    return TCUDB_OK;
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Scan s = {.x = x, .node = node, .plan = node->plan, .down = down};
    uint32_t segments = table_segments(node->plan->scan.table);
    s.parts = segments < SMALL_SEGMENTS ? SEGMENT_ROWS / PART_ROWS : 1;
    s.pending = ARENA_ARRAY(&x->arena, ScanPending *, x->nworkers, err);
    TRY_PTR(s.pending);
    TRY(scan_preds(&s, err));
    TRY(scan_order(&s, segments, err));
    if (x->env->progress != NULL) atomic_fetch_add(&x->env->progress->total, table_rows(node->plan->scan.table));
    return exec_source(x, node, down, (uint64_t)segments * s.parts, scan_task, &s, err);
}

const Op op_scan = {.name = "Scan", .engine = "cpu", .run = run};
