/*
 * temp.c: temporary tables: a transaction in a database in memory beside the transaction in the real one.
 *
 *     txn -> temp: of the session's own Db, begun and ended with it
 *     a table's name -> the temporary table of that name, else the permanent one
 *
 * Every function that takes a table's name asks txn_of first, so whoever reads, writes or defines tables need not know
 * of which kind they are. A savepoint is one of each: the temporary side's in the upper half. Savepoint 0 of that side
 * is its beginning, taken when it is attached, so that savepoints from before are right, too. Ids of the temporary side
 * begin at 2^62 (db_open), so that no dictionary or table of either side has an id of the other's.
 */
#include "store/store_int.h"

#include <assert.h>

enum { TEMP_SHIFT = 32 };

tcudb_status txn_attach_temp(Txn *txn, Db *temp, Error *err)
{
    assert(txn->temp == NULL);
    TRY(txn_begin(temp, &txn->temp, err));
    txn->temp->cancel = txn->cancel;
    Savepoint start = txn_savepoint(txn->temp);
    assert(start == 0);
    (void)start;
    return TCUDB_OK;
}

bool txn_has_temp(const Txn *txn)
{
    return txn->temp != NULL;
}

static const Root *root_of(const Txn *txn)
{
    return txn->work != NULL ? txn->work : txn->base;
}

bool txn_is_temp(const Txn *txn, Str name)
{
    bool found = false;
    if (txn->temp != NULL) root_find_table(root_of(txn->temp), name, &found);
    return found;
}

Txn *txn_of(Txn *txn, Str name)
{
    return txn_is_temp(txn, name) ? txn->temp : txn;
}

const Table *txn_permanent_table(Txn *txn, Str name)
{
    Txn *temp = txn->temp;
    txn->temp = NULL;
    const Table *table = txn_table(txn, name);
    txn->temp = temp;
    return table;
}

/* ---- listing: both sides' tables, by name, a temporary one before the permanent one of its name ------------------ */

uint32_t txn_table_count(Txn *txn)
{
    return root_of(txn)->ntables + (txn->temp == NULL ? 0 : root_of(txn->temp)->ntables);
}

const Table *txn_table_at(Txn *txn, uint32_t i)
{
    const Root *root = root_of(txn), *temp = txn->temp == NULL ? NULL : root_of(txn->temp);
    uint32_t r = 0, t = 0, ntemp = temp == NULL ? 0 : temp->ntables;
    assert(i < root->ntables + ntemp);
    if (ntemp == 0) return table_hand_out(root->tables[i]);
    for (;;) {
        bool take = t < ntemp && (r == root->ntables ||
                                  str_compare(temp->tables[t]->meta->def.name, root->tables[r]->meta->def.name) <= 0);
        if (r + t == i) return table_hand_out(take ? temp->tables[t] : root->tables[r]);
        *(take ? &t : &r) += 1;
    }
}

/* ---- savepoints ------------------------------------------------------------------------------------------------- */

Savepoint txn_temp_savepoint(Txn *txn)
{
    return txn->temp == NULL ? 0 : txn_savepoint(txn->temp) << TEMP_SHIFT;
}

/* Returns the other side's. */
Savepoint txn_temp_rollback_to(Txn *txn, Savepoint savepoint)
{
    if (txn->temp != NULL) txn_rollback_to(txn->temp, savepoint >> TEMP_SHIFT);
    return savepoint & UINT32_MAX;
}
