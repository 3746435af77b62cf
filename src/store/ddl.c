/*
 * ddl.c: definitions within a transaction: create, drop, rename, truncate, look up, list.
 *
 * Tables and views share one name space. Every text column gets a dictionary of its own when its table is created or
 * truncated. Ids of tables, views and dictionaries come from one counter and are never used again.
 */
#include "store/store_int.h"

#include <assert.h>

static const Root *current(const Txn *txn)
{
    return txn->work != NULL ? txn->work : txn->base;
}

static tcudb_status name_is_free(const Root *root, Str name, Error *err)
{
    bool table, view;
    root_find_table(root, name, &table);
    root_find_view(root, name, &view);
    if (!table && !view) return TCUDB_OK;
    return error_set(err, SQLSTATE_DUPLICATE_TABLE, "relation \"" STR_FMT "\" already exists", STR_ARG(name));
}

static tcudb_status check_columns(const TableDef *def, Error *err)
{
    for (uint32_t c = 0; c < def->ncols; c++) {
        Phys phys = type_phys(def->cols[c].type);
        if (phys == PHYS_INTERVAL || def->cols[c].type.id == TYPE_UNKNOWN || def->cols[c].type.id == TYPE_NONE)
            return error_unsupported(err, 0, "a column of type %s", type_base_name(def->cols[c].type));
    }
    return TCUDB_OK;
}

/* A definition with new dictionaries. */
static tcudb_status meta_with_dicts(Db *db, const TableDef *def, TableMeta **out, Error *err)
{
    tcudb_status status = TCUDB_OK;
    Dict **dicts = mem_alloc_zero(&db->mem, def->ncols * sizeof dicts[0], err);
    TRY_PTR(dicts);
    for (uint32_t c = 0; c < def->ncols && status == TCUDB_OK; c++)
        if (type_is_text(def->cols[c].type))
            status = dict_new(&db->mem, atomic_fetch_add(&db->next_id, 1), db->path, &dicts[c], err);
    if (status == TCUDB_OK) status = meta_new(&db->mem, def, dicts, NULL, out, err);
    for (uint32_t c = 0; c < def->ncols; c++) dict_unref(dicts[c]);
    mem_free(&db->mem, dicts, def->ncols * sizeof dicts[0]);
    return status;
}

/* An empty version with new dictionaries. */
static tcudb_status empty_table(Db *db, const TableDef *def, Table **out, Error *err)
{
    TableMeta *meta;
    TRY(meta_with_dicts(db, def, &meta, err));
    tcudb_status status = table_new(db, meta, out, err);
    meta_unref(meta);
    return status;
}

tcudb_status txn_create_table(Txn *txn, const TableDef *def, Error *err)
{
    assert(def->temp == TEMP_NONE || txn->temp != NULL);
    if (def->temp != TEMP_NONE) txn = txn->temp;
    TRY(check_columns(def, err));
    TRY(txn_write(txn, err));
    TRY(name_is_free(txn->work, def->name, err));
    TableDef own = *def;
    own.id = atomic_fetch_add(&txn->db->next_id, 1);
    Table *table;
    TRY(empty_table(txn->db, &own, &table, err));
    tcudb_status status = root_insert_table(txn->work, table, err);
    if (status != TCUDB_OK) table_unref(table);
    return status;
}

tcudb_status txn_create_view(Txn *txn, const ViewDef *def, bool replace, Error *err)
{
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_view(txn->work, def->name, &found);
    if (!found || !replace) TRY(name_is_free(txn->work, def->name, err));
    ViewDef own = *def;
    own.id = atomic_fetch_add(&txn->db->next_id, 1);
    View *view;
    TRY(view_new(&txn->db->mem, &own, &view, err));
    if (found) {
        View *old = txn->work->views[at];
        tcudb_status status = txn_hold_view(txn, old, err);
        if (status != TCUDB_OK) {
            view_unref(view);
            return status;
        }
        txn->work->views[at] = view;
        return TCUDB_OK;
    }
    tcudb_status status = root_insert_view(txn->work, view, err);
    if (status != TCUDB_OK) view_unref(view);
    return status;
}

tcudb_status txn_drop_table(Txn *txn, Str name, Error *err)
{
    txn = txn_of(txn, name);
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_table(txn->work, name, &found);
    if (!found) return error_set(err, SQLSTATE_UNDEFINED_TABLE, "table \"" STR_FMT "\" does not exist", STR_ARG(name));
    TRY(txn_hold(txn, txn->work->tables[at], err));
    root_remove_table(txn->work, at);
    return TCUDB_OK;
}

tcudb_status txn_drop_view(Txn *txn, Str name, Error *err)
{
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_view(txn->work, name, &found);
    if (!found) return error_set(err, SQLSTATE_UNDEFINED_TABLE, "view \"" STR_FMT "\" does not exist", STR_ARG(name));
    TRY(txn_hold_view(txn, txn->work->views[at], err));
    root_remove_view(txn->work, at);
    return TCUDB_OK;
}

/* Puts `table` in the place of the version at `at`, under its own name. */
static tcudb_status replace_table(Txn *txn, uint32_t at, Table *table, Error *err)
{
    tcudb_status status = txn_hold(txn, txn->work->tables[at], err);
    if (status == TCUDB_OK) {
        root_remove_table(txn->work, at);
        status = root_insert_table(txn->work, table, err); /* has room: one was just removed */
        assert(status == TCUDB_OK);
    }
    if (status != TCUDB_OK) table_unref(table);
    return status;
}

/* A version of the same rows with another definition. */
static tcudb_status redefine(Txn *txn, uint32_t at, const TableDef *def, Error *err)
{
    Table *old = txn->work->tables[at];
    TableMeta *meta;
    TRY(meta_new(&txn->db->mem, def, old->meta->dicts, old->meta, &meta, err));
    Table *table;
    tcudb_status status = table_clone(old, &table, err);
    if (status != TCUDB_OK) {
        meta_unref(meta);
        return status;
    }
    meta_unref(table->meta);
    table->meta = meta;
    return replace_table(txn, at, table, err);
}

tcudb_status txn_rename_table(Txn *txn, Str from, Str to, Error *err)
{
    txn = txn_of(txn, from);
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_table(txn->work, from, &found);
    if (!found) return txn_no_table(from, err);
    TRY(name_is_free(txn->work, to, err));
    TableDef def = txn->work->tables[at]->meta->def;
    def.name = to;
    return redefine(txn, at, &def, err);
}

tcudb_status txn_redefine_table(Txn *txn, Str name, const TableDef *def, Error *err)
{
    txn = txn_of(txn, name);
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_table(txn->work, name, &found);
    if (!found) return txn_no_table(name, err);
    const TableDef *old = &txn->work->tables[at]->meta->def;
    TableDef own = *def;
    own.id = old->id;
    own.name = old->name;
    assert(own.ncols == old->ncols);
    return redefine(txn, at, &own, err);
}

tcudb_status txn_truncate(Txn *txn, Str name, Error *err)
{
    txn = txn_of(txn, name);
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_table(txn->work, name, &found);
    if (!found) return txn_no_table(name, err);
    Table *table;
    TRY(empty_table(txn->db, &txn->work->tables[at]->meta->def, &table, err));
    return replace_table(txn, at, table, err);
}

/* ---- looking up --------------------------------------------------------------------------------- */

/* Handing a version out freezes it, so that later changes go to a copy. */
const Table *table_hand_out(Table *table)
{
    if (!atomic_load_explicit(&table->frozen, memory_order_relaxed))
        atomic_store_explicit(&table->frozen, true, memory_order_relaxed);
    return table;
}

const Table *txn_table(Txn *txn, Str name)
{
    txn = txn_of(txn, name);
    const Root *root = current(txn);
    bool found;
    uint32_t at = root_find_table(root, name, &found);
    return found ? table_hand_out(root->tables[at]) : NULL;
}

const ViewDef *txn_view(Txn *txn, Str name)
{
    const Root *root = current(txn);
    bool found;
    uint32_t at = root_find_view(root, name, &found);
    return found ? &root->views[at]->def : NULL;
}

uint32_t txn_view_count(Txn *txn)
{
    return current(txn)->nviews;
}

const ViewDef *txn_view_at(Txn *txn, uint32_t i)
{
    assert(i < current(txn)->nviews);
    return &current(txn)->views[i]->def;
}
