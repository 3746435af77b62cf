/*
 * compact.c: gives back the space of deleted rows: a segment of which half is deleted is written anew without them, and
 * so is such a tail. Part of a fold: rows move, so no other transaction may write meanwhile; older snapshots keep what
 * they have.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

enum { TAIL_LEAST = 1024 }; /* deleted rows that make a tail worth copying */

static uint32_t deleted_count(const Table *table, uint32_t segment)
{
    const Deleted *deleted = table->deleted == NULL ? NULL : table->deleted[segment];
    return deleted == NULL ? 0 : deleted->count;
}

static bool segment_is_due(const Table *table, uint32_t segment)
{
    return segment < table->nsegs && deleted_count(table, segment) * 2 >= table->segs[segment]->rows;
}

static bool tail_is_due(const Table *table)
{
    uint32_t deleted = table->tail_rows == 0 ? 0 : deleted_count(table, table->nsegs);
    return deleted >= TAIL_LEAST && deleted * 2 >= table->tail_rows;
}

bool table_is_due(const Table *table)
{
    bool due = tail_is_due(table);
    for (uint32_t s = 0; s < table->nsegs && !due; s++) due = segment_is_due(table, s);
    return due;
}

/* The live rows of [row, row + n) of a segment, as a batch with a selection. */
static tcudb_status live_batch(const Table *table, uint32_t segment, uint32_t row, uint32_t n, Arena *arena, Batch *out,
                               Error *err)
{
    uint32_t ncols = table->meta->def.ncols;
    const uint64_t *deleted = segment_deleted(table, segment);
    uint16_t *sel = ARENA_ARRAY(arena, uint16_t, n, err);
    TRY_PTR(sel);
    *out = (Batch){.rows = n, .sel = sel, .ncols = ncols, .cols = ARENA_ARRAY(arena, Vector, ncols, err)};
    TRY_PTR(out->cols);
    for (uint32_t i = 0; i < n; i++)
        if (deleted == NULL || !bit_get(deleted, row + i)) sel[out->n++] = (uint16_t)i;
    for (uint32_t c = 0; c < ncols; c++)
        TRY(segment_read(table, segment, c, row, n, NULL, 0, arena, &out->cols[c], err));
    return TCUDB_OK;
}

/* Copies the live rows of a segment into a new buffer. */
static tcudb_status live_rows(Txn *txn, const Table *table, uint32_t segment, RowBuf **out, uint32_t *rows, Error *err)
{
    tcudb_status status = TCUDB_OK;
    Arena arena;
    DictCache **caches;
    uint32_t all = segment_rows(table, segment);
    *rows = 0;
    TRY(txn_caches(txn, table->meta, &caches, err));
    TRY(rowbuf_new(&txn->db->mem, table->meta, all, out, err));
    arena_init(&arena, &txn->db->mem);
    for (uint32_t row = 0; row < all; row += BATCH_ROWS) {
        Batch batch;
        uint32_t n = all - row < BATCH_ROWS ? all - row : BATCH_ROWS;
        TRY_GOTO(cancel_poll(txn->cancel, err));
        TRY_GOTO(live_batch(table, segment, row, n, &arena, &batch, err));
        TRY_GOTO(rowbuf_append(*out, *rows, table->meta, caches, &batch, 0, batch.n, txn->cancel, err));
        *rows += batch.n;
        arena_reset(&arena);
    }
done:
    arena_free(&arena);
    if (status != TCUDB_OK) rowbuf_unref(*out);
    return status;
}

static tcudb_status rewrite(Txn *txn, const Table *table, uint32_t segment, Segment **out, Error *err)
{
    RowBuf *buf;
    uint32_t rows;
    *out = NULL;
    if (deleted_count(table, segment) == segment_rows(table, segment)) return TCUDB_OK;
    TRY(live_rows(txn, table, segment, &buf, &rows, err));
    tcudb_status status = segment_encode(&txn->db->mem, table->meta, buf, rows, txn->cancel, out, err);
    rowbuf_unref(buf);
    if (status != TCUDB_OK) return status;
    status = txn_write_columns(txn, table->meta->def.id, (*out)->cols, (*out)->ncols, err);
    if (status != TCUDB_OK) segment_unref(*out);
    return status;
}

/* All segments of `from`, those that are due written anew, into the empty version `to`. */
static tcudb_status copy_segments(Txn *txn, const Table *from, Table *to, Error *err)
{
    TRY(table_reserve(to, from->nsegs, err));
    if (from->sketch != NULL) TRY(table_merge_sketch(to, from->sketch, err));
    for (uint32_t s = 0; s < from->nsegs; s++) {
        Segment *segment = from->segs[s];
        bool due = segment_is_due(from, s);
        if (due)
            TRY(rewrite(txn, from, s, &segment, err));
        else
            atomic_fetch_add(&segment->refs, 1);
        if (segment == NULL) continue;
        tcudb_status status = table_add_segment(to, segment, err);
        if (status != TCUDB_OK) {
            segment_unref(segment);
            return status;
        }
        Deleted *deleted = due ? NULL : from->deleted[s];
        to->deleted[to->nsegs - 1] = deleted;
        if (deleted == NULL) continue;
        atomic_fetch_add(&deleted->refs, 1);
        to->live -= deleted->count;
    }
    return TCUDB_OK;
}

static tcudb_status copy_tail(Txn *txn, const Table *from, Table *to, Error *err)
{
    RowBuf *buf;
    uint32_t rows;
    if (from->tail_rows == 0) return TCUDB_OK;
    TRY(live_rows(txn, from, from->nsegs, &buf, &rows, err));
    tcudb_status status = table_append_rows(to, buf, 0, rows, err);
    rowbuf_unref(buf);
    return status;
}

static tcudb_status compact_table(Txn *txn, const Table *from, Table **out, Error *err)
{
    TRY(table_new(from->db, from->meta, out, err));
    (*out)->lineage = from->lineage;
    tcudb_status status = copy_segments(txn, from, *out, err);
    if (status == TCUDB_OK) status = copy_tail(txn, from, *out, err);
    if (status != TCUDB_OK) table_unref(*out);
    return status;
}

tcudb_status txn_compact(Txn *txn, Error *err)
{
    assert(txn->folding);
    for (uint32_t t = 0; t < txn->work->ntables; t++) {
        Table *old = txn->work->tables[t], *table;
        if (!table_is_due(old)) continue;
        TRY(compact_table(txn, old, &table, err));
        tcudb_status status = txn_hold(txn, old, err);
        if (status != TCUDB_OK) {
            table_unref(table);
            return status;
        }
        txn->work->tables[t] = table;
    }
    return TCUDB_OK;
}
