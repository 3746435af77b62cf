/*
 * names.c: what has a name. Keys and indexes stand in the definitions of their tables, so all of them are looked
 * through: a pass over the definitions a name.
 */
#include "catalog/names.h"
#include "catalog/notes.h"

static bool has_index(const TableDef *def, Str name)
{
    for (uint32_t k = 0; k < def->nkeys; k++)
        if (str_equal(def->keys[k].name, name)) return true;
    return note_find(def, NOTE_INDEX, name).ptr != NULL;
}

const Table *names_index_of(Txn *txn, Str name, bool temp)
{
    for (uint32_t t = 0; t < txn_table_count(txn); t++) {
        const Table *table = txn_table_at(txn, t);
        const TableDef *def = table_def(table);
        if ((def->temp != TEMP_NONE) == temp && has_index(def, name)) return table;
    }
    return NULL;
}

bool names_taken(Txn *txn, Str name, bool temp)
{
    if (names_index_of(txn, name, temp) != NULL) return true;
    if (temp) return txn_is_temp(txn, name);
    return txn_permanent_table(txn, name) != NULL || txn_view(txn, name) != NULL;
}
