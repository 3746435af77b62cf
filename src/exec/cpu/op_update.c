/*
 * op_update.c: UPDATE, and the columns that ALTER TABLE computes.
 *
 * The input yields row ids and the new values of the columns that are set, no others unless somebody asks for them.
 * They are collected first: row ids stay valid only until the transaction's next change. Where every row is set, the
 * columns that are set become new ones over the same rows, as those of ALTER TABLE. Else each segment goes one way:
 *
 *     in place            its set columns are decoded, patched and encoded anew; rows keep their place, the other
 *                         columns are not touched (store/revise.c)
 *     delete and append   the old rows are marked deleted, and the new ones, with the values of the other columns read
 *                         from the old, go to the end of the table
 *
 * In place costs rows of the segment x set columns, appending changed rows x all columns, several times as much a value
 * (it is scattered, logged raw or encoded later, and leaves deleted rows to be compacted): IN_PLACE says how much. The
 * tail is always appended to: it is raw and small. So is everything where a key is set: the new keys are looked for in
 * the table without the old rows (unique.c).
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

/* ---- all rows: of ALTER TABLE, or of an UPDATE -------------------------------------------------------------- */

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

/* All live rows are there, in their order. def NULL: the table's. */
static tcudb_status revise_all(Update *u, const TableDef *def, const ColumnSource *sources, Error *err)
{
    TRY(find_spans(u, err));
    TRY(revision_new(u->x->env->txn, u->node->plan->modify.table, def, sources, &u->revision, err));
    tcudb_status status = exec_parallel(u->x, u->node, u->nspans, patch_span, u, err);
    if (status == TCUDB_OK) status = patch_empty(u, err);
    if (status == TCUDB_OK) return revision_finish(u->revision, err);
    revision_abort(u->revision);
    return status;
}

/* Columns that are not set stay. anew: those that are set have nothing of what they had. */
static tcudb_status make_sources(const Update *u, bool anew, ColumnSource **out, Error *err)
{
    const Plan *plan = u->node->plan;
    uint32_t ncols = table_def(u->table)->ncols;
    ColumnSource *sources = ARENA_ARRAY(&u->x->arena, ColumnSource, ncols, err);
    TRY_PTR(sources);
    for (uint32_t c = 0; c < ncols; c++) sources[c].from = c;
    for (uint32_t i = 0; i < plan->modify.nset; i++) {
        ColumnSource *source = &sources[plan->modify.columns[i]];
        source->written = true;
        if (anew) source->from = NO_COLUMN;
    }
    *out = sources;
    return TCUDB_OK;
}

enum { IN_PLACE = 4, IN_PLACE_LEAST = 256 /* rows of a segment: fewer are a log record and no file */ };

/* Whether every row gets new values, texts aside: those keep their dictionary. */
static bool sets_all_rows(const Update *u)
{
    const TableDef *def = table_def(u->table);
    bool all = u->ids->n >= IN_PLACE_LEAST && u->ids->n == table_rows(u->table);
    for (uint32_t i = 0; i < u->node->plan->modify.nset; i++)
        all = all && !type_is_text(def->cols[u->node->plan->modify.columns[i]].type);
    return all;
}

/* ---- UPDATE in place -------------------------------------------------------------------------------------- */

static bool goes_in_place(const Update *u, const Span *span)
{
    if (!segment_sealed(u->table, span->segment) || span->n < IN_PLACE_LEAST) return false;
    uint64_t all = table_def(u->table)->ncols, nset = u->node->plan->modify.nset;
    return span->n * all * IN_PLACE >= segment_rows(u->table, span->segment) * nset;
}

/* Moves the spans that go in place to the front, both kinds in order; *n: how many they are. */
static tcudb_status part_spans(Update *u, uint32_t *n, Error *err)
{
    Span *all = ARENA_ARRAY(&u->x->arena, Span, u->nspans + 1, err);
    TRY_PTR(all);
    uint32_t to = 0;
    for (uint32_t i = 0; i < u->nspans; i++)
        if (goes_in_place(u, &u->spans[i])) all[to++] = u->spans[i];
    *n = to;
    for (uint32_t i = 0; i < u->nspans; i++)
        if (!goes_in_place(u, &u->spans[i])) all[to++] = u->spans[i];
    u->spans = all;
    return TCUDB_OK;
}

static tcudb_status update_in_place(Update *u, uint32_t n, Error *err)
{
    const Plan *plan = u->node->plan;
    ColumnSource *sources;
    TRY(make_sources(u, false, &sources, err));
    TRY(revision_new(u->x->env->txn, plan->modify.table, NULL, sources, &u->revision, err));
    tcudb_status status = exec_parallel(u->x, u->node, n, patch_span, u, err);
    if (status == TCUDB_OK) return revision_finish(u->revision, err);
    revision_abort(u->revision);
    return status;
}

/* ---- UPDATE by delete and append ------------------------------------------------------------------------------ */

/* Row ids [at, at + n) of one segment lie in the rows from `start` on: the new rows, at their old places in a batch. */
static tcudb_status moved_batch(const Update *u, Arena *arena, uint32_t start, uint64_t at, uint32_t n, Batch *out,
                                Error *err)
{
    const Plan *plan = u->node->plan;
    uint32_t ncols = table_def(u->table)->ncols, segment = (uint32_t)(u->ids->ids[at] >> 32);
    uint16_t *sel = ARENA_ARRAY(arena, uint16_t, BATCH_ROWS, err);
    TRY_PTR(sel);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, BATCH_ROWS, err);
    TRY_PTR(order);
    for (uint32_t i = 0; i < n; i++) {
        sel[i] = (uint16_t)((uint32_t)u->ids->ids[at + i] - start);
        order[i] = u->ids->rows == NULL ? (uint32_t)(at + i) : u->ids->rows[at + i];
    }
    uint32_t rows = sel[n - 1] + 1;
    *out = (Batch){.rows = rows, .n = n, .sel = sel, .ncols = ncols, .cols = ARENA_ARRAY(arena, Vector, ncols, err)};
    TRY_PTR(out->cols);
    bool *set = ARENA_ARRAY(arena, bool, ncols, err);
    TRY_PTR(set);
    for (uint32_t i = 0; i < plan->modify.nset; i++) {
        uint32_t c = plan->modify.columns[i];
        set[c] = true;
        TRY(rows_gather(u->rows, 1 + i, order, n, sel, rows, false, arena, &out->cols[c], err));
    }
    for (uint32_t c = 0; c < ncols; c++)
        if (!set[c]) TRY(segment_read(u->table, segment, c, start, rows, sel, n, arena, &out->cols[c], err));
    return TCUDB_OK;
}

static tcudb_status append_span(Update *u, const Span *span, Error *err)
{
    Arena *arena = &u->x->workers[0].batch;
    for (uint64_t done = 0; done < span->n;) {
        uint64_t at = span->at + done;
        uint32_t first = (uint32_t)u->ids->ids[at], start = first - first % BATCH_ROWS, n = 0;
        while (done + n < span->n && (uint32_t)u->ids->ids[at + n] - start < BATCH_ROWS) n++;
        Batch batch;
        TRY(exec_check_cancel(u->x, err));
        arena_reset(arena);
        TRY(moved_batch(u, arena, start, at, n, &batch, err));
        TRY(txn_append(u->x->env->txn, u->node->plan->modify.table, &batch, err));
        done += n;
    }
    return TCUDB_OK;
}

static tcudb_status delete_and_append(Update *u, uint32_t from, Error *err)
{
    for (uint32_t i = from; i < u->nspans; i++)
        TRY(txn_delete(u->x->env->txn, u->node->plan->modify.table, u->ids->ids + u->spans[i].at, u->spans[i].n, err));
    for (uint32_t i = from; i < u->nspans; i++) TRY(append_span(u, &u->spans[i], err));
    return TCUDB_OK;
}

static bool sets_key(const Update *u)
{
    const TableDef *def = table_def(u->table);
    bool sets = false;
    for (uint32_t k = 0; k < def->nkeys; k++)
        for (uint32_t i = 0; i < def->keys[k].ncols; i++)
            for (uint32_t s = 0; s < u->node->plan->modify.nset; s++)
                sets = sets || u->node->plan->modify.columns[s] == def->keys[k].cols[i];
    return sets;
}

/* All columns are set then, in the table's order. */
static tcudb_status move_keys(Update *u, Error *err)
{
    Exec *x = u->x;
    const Plan *plan = u->node->plan;
    uint32_t ncols = table_def(u->table)->ncols;
    NewRows part = {.first = 1, .n = u->ids->n, .order = exec_alloc(x, (u->ids->n + 1) * sizeof *part.order, err)};
    TRY_PTR(part.order);
    assert(plan->modify.nset == ncols);
    for (uint64_t i = 0; i < part.n; i++) part.order[i] = u->ids->rows == NULL ? (uint32_t)i : u->ids->rows[i];
    if (part.n > 0) TRY(txn_delete(x->env->txn, plan->modify.table, u->ids->ids, part.n, err));
    TRY(unique_check(x, u->node, u->rows, &part, 1, err));
    TRY(modify_append(x, u->node, u->rows, &part, ncols, err));
    exec_free(x, part.order);
    return TCUDB_OK;
}

static tcudb_status update(Update *u, Error *err)
{
    uint32_t n = 0;
    ColumnSource *sources;
    if (sets_key(u)) return move_keys(u, err);
    if (sets_all_rows(u)) {
        TRY(make_sources(u, true, &sources, err));
        return revise_all(u, NULL, sources, err);
    }
    TRY(find_spans(u, err));
    TRY(part_spans(u, &n, err));
    if (n > 0) TRY(update_in_place(u, n, err));
    return delete_and_append(u, n, err);
}

static tcudb_status run_update(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Update u = {.x = x, .node = node, .table = txn_table(x->env->txn, plan->modify.table)};
    Rows *rows = NULL;
    RowIds ids;
    if (u.table == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "the changed table is gone");
    bool revises = plan->modify.def != NULL;
    if (revises)
        TRY(exec_collect(x, node->inputs[0], &rows, err));
    else
        TRY(modify_collect(x, node, u.table, &rows, err));
    TRY(row_ids_new(x, rows->cols[0].data, NULL, rows->n, &ids, err));
    u.rows = rows;
    u.ids = &ids;
    TRY(revises ? revise_all(&u, plan->modify.def, plan->modify.sources, err) : update(&u, err));
    x->written = ids.n;
    atomic_store(&node->stats.rows, x->written);
    TRY(modify_put_out(x, node, rows, ids.rows, ids.n, down, err));
    row_ids_free(x, &ids);
    rows_free(rows);
    return TCUDB_OK;
}

const Op op_update = {.name = "Update", .engine = "cpu", .run = run_update};
