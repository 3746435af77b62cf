/*
 * append.c: adding rows: one batch at a time to a table's tail, or through parallel appenders.
 *
 * The tail is a RowBuf that doubles up to SEGMENT_ROWS rows; when full it is encoded into a segment and a new one
 * begins. An Appender has a buffer of its own and cuts segments from it; its last rows are handed over as they are.
 * What appenders have finished waits in txn->pending, sorted by the caller's order, until no appender of the
 * transaction is open; then segments and rows go into their tables in that order.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

typedef struct Pending {
    struct Pending *next; /* by order */
    uint64_t order;
    TableMeta *meta;
    uint32_t nsegs, cap;
    Segment **segs;
    RowBuf *rest;
    uint32_t rest_rows;
} Pending;

struct Appender {
    Txn *txn;
    Pending *pending; /* what it has made so far; its RowBuf is `rest` */
    TextCaches *caches;
};

/* ---- caches in front of dictionaries ------------------------------------------------------------- */

void text_caches_free(TextCaches *set, Mem *mem)
{
    if (set == NULL) return;
    for (uint32_t c = 0; c < set->ncols; c++) dict_cache_free(set->caches[c], mem);
    mem_free(mem, set, sizeof *set + set->ncols * sizeof set->caches[0]);
}

tcudb_status text_caches_new(Mem *mem, const TableMeta *meta, const atomic_bool *cancel, TextCaches **out, Error *err)
{
    uint32_t ncols = meta->def.ncols;
    TextCaches *set = mem_alloc_zero(mem, sizeof *set + ncols * sizeof set->caches[0], err);
    TRY_PTR(set);
    set->table = meta->def.id;
    set->ncols = ncols;
    for (uint32_t c = 0; c < ncols; c++) {
        if (meta->dicts[c] == NULL) continue;
        tcudb_status status = dict_index(meta->dicts[c], cancel, err);
        if (status == TCUDB_OK) status = dict_cache_new(meta->dicts[c], mem, cancel, &set->caches[c], err);
        if (status != TCUDB_OK) {
            text_caches_free(set, mem);
            return status;
        }
    }
    *out = set;
    return TCUDB_OK;
}

void drop_caches(Txn *txn)
{
    for (TextCaches *set = txn->caches; set != NULL;) {
        TextCaches *next = set->next;
        text_caches_free(set, &txn->db->mem);
        set = next;
    }
    txn->caches = NULL;
}

static bool caches_serve(const TextCaches *set, const TableMeta *meta)
{
    if (set->table != meta->def.id || set->ncols != meta->def.ncols) return false;
    for (uint32_t c = 0; c < set->ncols; c++)
        if ((set->caches[c] == NULL ? NULL : set->caches[c]->dict) != meta->dicts[c]) return false;
    return true;
}

tcudb_status txn_caches(Txn *txn, const TableMeta *meta, DictCache ***out, Error *err)
{
    TextCaches *set = txn->caches;
    while (set != NULL && !caches_serve(set, meta)) set = set->next;
    if (set == NULL) {
        TRY(text_caches_new(&txn->db->mem, meta, txn->cancel, &set, err));
        set->next = txn->caches;
        txn->caches = set;
    }
    *out = set->caches;
    return TCUDB_OK;
}

/* ---- the tail ------------------------------------------------------------------------------------ */

const atomic_bool *table_cancel(const Table *table)
{
    return table->db->writer == NULL ? NULL : table->db->writer->cancel;
}

tcudb_status table_seal(Table *table, Error *err)
{
    assert(!table->frozen && table->tail_rows > 0);
    Segment *segment;
    TRY(segment_encode(&table->db->mem, table->meta, table->tail, table->tail_rows, table_cancel(table), &segment,
                       err));
    uint32_t rows = table->tail_rows;
    table->tail_rows = 0;
    tcudb_status status = TCUDB_OK;
    if (table->db->writer != NULL)
        status = txn_write_columns(table->db->writer, table->meta->def.id, segment->cols, segment->ncols, err);
    if (status == TCUDB_OK) status = table_add_segment(table, segment, err);
    if (status != TCUDB_OK) {
        table->tail_rows = rows;
        segment_unref(segment);
        return status;
    }
    table->live -= rows; /* counted twice */
    rowbuf_unref(table->tail);
    table->tail = NULL;
    for (uint32_t c = 0; c < table->meta->def.ncols; c++)
        facts_init(&table->tail_cols[c], table->meta->def.cols[c].type);
    return TCUDB_OK;
}

tcudb_status table_tail_room(Table *table, uint32_t n, Error *err)
{
    assert(!table->frozen && table->tail_rows + n <= SEGMENT_ROWS);
    TRY(table_reserve(table, table->nsegs, err));
    uint32_t cap = table->tail == NULL ? TAIL_FIRST : table->tail->cap;
    while (cap < table->tail_rows + n) cap *= 2;
    if (table->tail == NULL) return rowbuf_new(&table->db->mem, table->meta, cap, &table->tail, err);
    if (cap == table->tail->cap) return TCUDB_OK;
    RowBuf *larger;
    TRY(rowbuf_grow(table->tail, table->meta, table->tail_rows, cap, table_cancel(table), &larger, err));
    rowbuf_unref(table->tail);
    table->tail = larger;
    return TCUDB_OK;
}

void table_tail_added(Table *table, uint32_t n)
{
    for (uint32_t c = 0; c < table->meta->def.ncols; c++)
        facts_add(&table->tail_cols[c], table->meta->def.cols[c].type, table->tail->data[c], table->tail->valid[c],
                  table->tail_rows, n);
    table->tail_rows += n;
    table->live += n;
}

/* Room for some more rows, sealing a full tail: *room of them, at least one, at most n. */
static tcudb_status some_room(Table *table, uint32_t n, uint32_t *room, Error *err)
{
    TRY(cancel_poll(table_cancel(table), err));
    if (table->tail_rows == SEGMENT_ROWS) TRY(table_seal(table, err));
    uint32_t left = SEGMENT_ROWS - table->tail_rows;
    *room = n < left ? n : left;
    return table_tail_room(table, *room, err);
}

tcudb_status table_append_rows(Table *table, const RowBuf *rows, uint32_t from, uint32_t n, Error *err)
{
    const uint32_t step = rowbuf_step(table->meta);
    while (n > 0) {
        uint32_t room;
        TRY(some_room(table, n, &room, err)); /* for all that fits, so that the tail grows once */
        if (room > step) room = step;
        TRY(rowbuf_copy(table->tail, table->tail_rows, rows, from, room, table->meta, table_cancel(table), err));
        table_tail_added(table, room);
        from += room;
        n -= room;
    }
    return TCUDB_OK;
}

static tcudb_status check_types(const TableMeta *meta, const Batch *batch, Error *err)
{
    if (batch->ncols != meta->def.ncols)
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "append of %u columns to table \"" STR_FMT "\" of %u",
                         batch->ncols, STR_ARG(meta->def.name), meta->def.ncols);
    for (uint32_t c = 0; c < batch->ncols; c++)
        if (batch->cols[c].phys != type_phys(meta->def.cols[c].type))
            return error_set(err, SQLSTATE_INTERNAL_ERROR, "append of a wrong type to column \"" STR_FMT "\"",
                             STR_ARG(meta->def.cols[c].name));
    return TCUDB_OK;
}

tcudb_status txn_append(Txn *txn, Str name, const Batch *batch, Error *err)
{
    txn = txn_of(txn, name);
    Table *table;
    DictCache **caches;
    TRY(txn_write_table(txn, name, &table, err));
    TRY(check_types(table->meta, batch, err));
    TRY(txn_caches(txn, table->meta, &caches, err));
    for (uint32_t done = 0; done < batch->n;) {
        uint32_t room;
        TRY(some_room(table, batch->n - done, &room, err));
        TRY(rowbuf_append(table->tail, table->tail_rows, table->meta, caches, batch, done, room, txn->cancel, err));
        table_tail_added(table, room);
        done += room;
    }
    return TCUDB_OK;
}

/* ---- appenders ----------------------------------------------------------------------------------- */

static void free_pending(Pending *p, Mem *mem)
{
    if (p == NULL) return;
    for (uint32_t s = 0; s < p->nsegs; s++) segment_unref(p->segs[s]);
    mem_free(mem, p->segs, p->cap * sizeof p->segs[0]);
    rowbuf_unref(p->rest);
    meta_unref(p->meta);
    mem_free(mem, p, sizeof *p);
}

void drop_pending(Txn *txn)
{
    while (txn->pending != NULL) {
        Pending *next = txn->pending->next;
        free_pending(txn->pending, &txn->db->mem);
        txn->pending = next;
    }
}

static void free_appender(Appender *a)
{
    Mem *mem = &a->txn->db->mem;
    free_pending(a->pending, mem);
    text_caches_free(a->caches, mem);
    mem_free(mem, a, sizeof *a);
}

static tcudb_status find_meta(Txn *txn, Str name, TableMeta **out, Error *err)
{
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_table(txn->work, name, &found);
    if (!found) return txn_no_table(name, err);
    *out = txn->work->tables[at]->meta;
    atomic_fetch_add(&(*out)->refs, 1);
    return TCUDB_OK;
}

tcudb_status appender_new(Txn *txn, Str table, Appender **out, Error *err)
{
    txn = txn_of(txn, table);
    Mem *mem = &txn->db->mem;
    tcudb_status status;
    Appender *a = mem_alloc_zero(mem, sizeof *a, err);
    TRY_PTR(a);
    a->txn = txn;
    a->pending = mem_alloc_zero(mem, sizeof *a->pending, err);
    if (a->pending == NULL) {
        free_appender(a);
        return TCUDB_NOMEM;
    }
    pthread_mutex_lock(&txn->lock);
    status = find_meta(txn, table, &a->pending->meta, err);
    if (status == TCUDB_OK) txn->appenders++;
    pthread_mutex_unlock(&txn->lock);
    if (status != TCUDB_OK) {
        free_appender(a);
        return status;
    }
    TRY_GOTO(text_caches_new(mem, a->pending->meta, a->txn->cancel, &a->caches, err));
    TRY_GOTO(rowbuf_new(mem, a->pending->meta, SEGMENT_ROWS, &a->pending->rest, err));
    *out = a;
    return TCUDB_OK;
done:
    appender_abort(a);
    return status;
}

void appender_expect(Appender *a, uint64_t rows)
{
    const TableMeta *meta = a->pending->meta;
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        if (meta->dicts[c] != NULL) dict_expect(meta->dicts[c], rows);
}

static tcudb_status cut(Txn *txn, Pending *p, Error *err)
{
    Mem *mem = &txn->db->mem;
    Segment **segs = grow_pointers(mem, p->segs, &p->cap, p->nsegs, err);
    TRY_PTR(segs);
    p->segs = segs;
    TRY(segment_encode(mem, p->meta, p->rest, p->rest_rows, txn->cancel, &p->segs[p->nsegs], err));
    const Segment *segment = p->segs[p->nsegs++];
    p->rest_rows = 0;
    return txn_write_columns(txn, p->meta->def.id, segment->cols, segment->ncols, err);
}

tcudb_status appender_add(Appender *a, const Batch *batch, Error *err)
{
    Pending *p = a->pending;
    TRY(check_types(p->meta, batch, err));
    for (uint32_t done = 0; done < batch->n;) {
        uint32_t room = SEGMENT_ROWS - p->rest_rows;
        uint32_t n = batch->n - done < room ? batch->n - done : room;
        TRY(rowbuf_append(p->rest, p->rest_rows, p->meta, a->caches->caches, batch, done, n, a->txn->cancel, err));
        p->rest_rows += n;
        done += n;
        if (p->rest_rows == SEGMENT_ROWS) TRY(cut(a->txn, p, err));
    }
    return TCUDB_OK;
}

static void insert_pending(Txn *txn, Pending *p)
{
    Pending **at = (Pending **)&txn->pending;
    while (*at != NULL && (*at)->order <= p->order) at = &(*at)->next;
    p->next = *at;
    *at = p;
}

/* What waits takes no more memory than its rows: there may be a Pending for each segment of a large load. */
static tcudb_status shrink_rest(Pending *p, const atomic_bool *cancel, Error *err)
{
    RowBuf *rest = p->rest;
    p->rest = NULL;
    tcudb_status status = TCUDB_OK;
    if (p->rest_rows > 0) status = rowbuf_grow(rest, p->meta, p->rest_rows, p->rest_rows, cancel, &p->rest, err);
    rowbuf_unref(rest);
    return status;
}

tcudb_status appender_finish(Appender *a, uint64_t order, Error *err)
{
    Txn *txn = a->txn;
    tcudb_status status = shrink_rest(a->pending, txn->cancel, err);
    if (status != TCUDB_OK) {
        appender_abort(a);
        return status;
    }
    a->pending->order = order;
    pthread_mutex_lock(&txn->lock);
    insert_pending(txn, a->pending);
    a->pending = NULL;
    txn->appenders--;
    status = txn->appenders == 0 ? txn_settle(txn, err) : TCUDB_OK;
    pthread_mutex_unlock(&txn->lock);
    free_appender(a);
    return status;
}

void appender_abort(Appender *a)
{
    if (a == NULL) return;
    pthread_mutex_lock(&a->txn->lock);
    a->txn->appenders--;
    pthread_mutex_unlock(&a->txn->lock);
    free_appender(a);
}

static tcudb_status settle_one(Txn *txn, Pending *p, Error *err)
{
    Table *table;
    TRY(txn_write_table(txn, p->meta->def.name, &table, err));
    if (p->nsegs > 0 && table->tail_rows > 0) TRY(table_seal(table, err));
    while (p->nsegs > 0) {
        uint32_t first = 0;
        TRY(table_add_segment(table, p->segs[first], err));
        p->nsegs--;
        memmove(p->segs, p->segs + 1, p->nsegs * sizeof p->segs[0]);
    }
    return p->rest_rows == 0 ? TCUDB_OK : table_append_rows(table, p->rest, 0, p->rest_rows, err);
}

tcudb_status txn_settle(Txn *txn, Error *err)
{
    while (txn->pending != NULL) {
        Pending *p = txn->pending;
        TRY(settle_one(txn, p, err));
        txn->pending = p->next;
        free_pending(p, &txn->db->mem);
    }
    return TCUDB_OK;
}
