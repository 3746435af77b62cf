/*
 * op_update.c: UPDATE, and the columns that ALTER TABLE computes.
 *
 * Rows are collected first: row ids stay valid only until the transaction's next change.
 */
#include "exec/cpu/modify_int.h"

#include <assert.h>

/* The changed rows of one segment. */
typedef struct Span {
    uint32_t segment;
    uint64_t at, n; /* of the row ids */
    bool all;       /* every live row of it */
} Span;

typedef struct Update {
    Exec *x;
    PhysNode *node;
    const Table *table;
    const Rows *rows;
    const RowIds *ids;
    Revision *revision;
    Span *spans;
    uint32_t nspans;
} Update;

static uint32_t live_rows(const Table *table, uint32_t segment)
{
    const uint64_t *deleted = segment_deleted(table, segment);
    uint32_t rows = segment_rows(table, segment), live = rows;
    for (uint32_t w = 0; deleted != NULL && w < bit_words(rows); w++) live -= popcount64(deleted[w]);
    return live;
}

static tcudb_status find_spans(Update *u, Error *err)
{
    const RowIds *ids = u->ids;
    u->spans = ARENA_ARRAY(&u->x->arena, Span, table_segments(u->table) + 1, err);
    TRY_PTR(u->spans);
    for (uint64_t i = 0; i < ids->n;) {
        uint32_t segment = (uint32_t)(ids->ids[i] >> 32);
        uint64_t lo = i, hi = ids->n; /* the first id behind the segment */
        while (lo < hi) {
            uint64_t mid = (lo + hi) / 2;
            if (ids->ids[mid] >> 32 <= segment)
                lo = mid + 1;
            else
                hi = mid;
        }
        assert(u->nspans < table_segments(u->table));
        u->spans[u->nspans++] = (Span){segment, i, lo - i, lo - i == live_rows(u->table, segment)};
        i = lo;
    }
    return TCUDB_OK;
}

/* New values of n rows from `at` on, of the set columns. */
static tcudb_status gather(const Update *u, Arena *arena, uint64_t at, uint32_t n, Batch *out, Error *err)
{
    uint32_t nset = u->node->plan->modify.nset;
    *out = (Batch){.rows = n, .n = n, .ncols = nset, .cols = ARENA_ARRAY(arena, Vector, nset, err)};
    TRY_PTR(out->cols);
    for (uint32_t i = 0; i < nset; i++) {
        if (u->ids->rows == NULL)
            TRY(rows_slice(u->rows, 1 + i, at, n, arena, &out->cols[i], err));
        else
            TRY(rows_gather(u->rows, 1 + i, u->ids->rows + at, n, NULL, n, false, arena, &out->cols[i], err));
    }
    return TCUDB_OK;
}

static tcudb_status write_span(const Update *u, Worker *w, const Span *span, Patch *patch, Error *err)
{
    uint32_t rows[BATCH_ROWS];
    for (uint64_t done = 0; done < span->n;) {
        uint64_t at = span->at + done;
        uint32_t room = BATCH_ROWS - (uint32_t)(at % BATCH_ROWS); /* slices at multiples of 64 are not copied */
        uint32_t n = span->n - done < room ? (uint32_t)(span->n - done) : room;
        Batch batch;
        TRY(exec_check_cancel(u->x, err));
        arena_reset(&w->batch);
        TRY(gather(u, &w->batch, at, n, &batch, err));
        for (uint32_t i = 0; i < n; i++) rows[i] = (uint32_t)u->ids->ids[at + i];
        TRY(patch_write(patch, rows, &batch, err));
        done += n;
    }
    return TCUDB_OK;
}

static tcudb_status patch_span(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Update *u = ctx;
    const Span *span = &u->spans[task];
    Patch *patch;
    TRY(patch_new(u->revision, span->segment, span->all, &patch, err));
    tcudb_status status = write_span(u, w, span, patch, err);
    if (status == TCUDB_OK) return patch_finish(patch, err);
    patch_abort(patch);
    return status;
}

/* ---- ALTER TABLE ---------------------------------------------------------------------------------------- */

/* Segments without a live row: their new columns are NULL. */
static tcudb_status patch_empty(Update *u, Error *err)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < table_segments(u->table); s++) {
        Patch *patch;
        if (next < u->nspans && u->spans[next].segment == s) {
            next++;
            continue;
        }
        TRY(patch_new(u->revision, s, true, &patch, err));
        TRY(patch_finish(patch, err));
    }
    return TCUDB_OK;
}

/* All live rows are there, in their order. */
static tcudb_status revise_all(Update *u, Error *err)
{
    const Plan *plan = u->node->plan;
    TRY(find_spans(u, err));
    TRY(revision_new(u->x->env->txn, plan->modify.table, plan->modify.def, plan->modify.sources, &u->revision, err));
    tcudb_status status = exec_parallel(u->x, u->node, u->nspans, patch_span, u, err);
    if (status == TCUDB_OK) status = patch_empty(u, err);
    if (status == TCUDB_OK) return revision_finish(u->revision, err);
    revision_abort(u->revision);
    return status;
}

/* ---- UPDATE ---------------------------------------------------------------------------------------------- */

static tcudb_status delete_and_append(Update *u, const TableDef *def, Error *err)
{
    Exec *x = u->x;
    const Plan *plan = u->node->plan;
    NewRows part = {.first = 1, .n = u->ids->n, .order = exec_alloc(x, (u->ids->n + 1) * sizeof *part.order, err)};
    TRY_PTR(part.order);
    for (uint64_t i = 0; i < part.n; i++) part.order[i] = u->ids->rows == NULL ? (uint32_t)i : u->ids->rows[i];
    if (part.n > 0) TRY(txn_delete(x->env->txn, plan->modify.table, u->ids->ids, part.n, err));
    TRY(unique_check(x, u->node, u->rows, &part, 1, err));
    TRY(modify_append(x, u->node, u->rows, &part, def->ncols, err));
    exec_free(x, part.order);
    return TCUDB_OK;
}

static tcudb_status run_update(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Update u = {.x = x, .node = node, .table = txn_table(x->env->txn, plan->modify.table)};
    Rows *rows = NULL;
    RowIds ids;
    if (u.table == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "the changed table is gone");
    const TableDef *def = table_def(u.table);
    bool revises = plan->modify.def != NULL;
    if (revises)
        TRY(exec_collect(x, node->inputs[0], &rows, err));
    else
        TRY(modify_collect(x, node, def, 1, &rows, err));
    TRY(row_ids_new(x, rows->cols[0].data, NULL, rows->n, &ids, err));
    u.rows = rows;
    u.ids = &ids;
    TRY(revises ? revise_all(&u, err) : delete_and_append(&u, def, err));
    x->written = ids.n;
    atomic_store(&node->stats.rows, x->written);
    TRY(modify_put_out(x, node, rows, ids.rows, ids.n, down, err));
    row_ids_free(x, &ids);
    rows_free(rows);
    return TCUDB_OK;
}

const Op op_update = {.name = "Update", .engine = "cpu", .run = run_update};
