/*
 * delete.c: marking rows deleted. A segment's bitmap is copied when versions share it; rows stay where they are until
 * their segment is rewritten, so row ids keep their meaning within a transaction.
 */
#include "store/store_int.h"

#include <assert.h>

enum { POLL_ROWS = 65536 };

static tcudb_status own_bitmap(Table *table, uint32_t segment, Error *err)
{
    Deleted *old = table->deleted[segment];
    if (old != NULL && atomic_load(&old->refs) == 1) return TCUDB_OK;
    Deleted *copy;
    TRY(deleted_new(&table->db->mem, old, &copy, err));
    deleted_unref(old);
    table->deleted[segment] = copy;
    return TCUDB_OK;
}

tcudb_status table_delete_row(Table *table, uint32_t segment, uint32_t row, Error *err)
{
    assert(!table->frozen);
    if (segment >= table_segments(table) || row >= segment_rows(table, segment))
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "row %u of segment %u does not exist", row, segment);
    TRY(table_reserve(table, table->nsegs, err));
    TRY(own_bitmap(table, segment, err));
    Deleted *deleted = table->deleted[segment];
    if (bit_get(deleted->bits, row)) return TCUDB_OK;
    bit_set(deleted->bits, row);
    deleted->count++;
    table->live--;
    return TCUDB_OK;
}

static const Table *version_in(const Root *root, Str name)
{
    bool found;
    uint32_t at = root_find_table(root, name, &found);
    return found ? root->tables[at] : NULL;
}

tcudb_status txn_delete(Txn *txn, Str name, const uint64_t *row_ids, size_t n, Error *err)
{
    txn = txn_of(txn, name);
    const Table *seen = txn->writer ? NULL : version_in(txn->base, name);
    TRY(txn_write(txn, err));
    if (seen != NULL && seen != version_in(txn->base, name))
        return error_set(err, SQLSTATE_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    Table *table;
    TRY(txn_write_table(txn, name, &table, err));
    for (size_t i = 0; i < n; i++) {
        if (i % POLL_ROWS == 0) TRY(cancel_poll(txn->cancel, err));
        TRY(table_delete_row(table, (uint32_t)(row_ids[i] >> 32), (uint32_t)row_ids[i], err));
    }
    return TCUDB_OK;
}
