/*
 * index.c: CREATE INDEX, and the names of indexes.
 *
 * Nothing here is faster for an index: scans pass over segments by their bounds. A unique one is a key that rows are
 * held to (alter.c); of any other its name and columns are remembered, as a note of its table (catalog/notes.h), so
 * that it exists once and can be dropped.
 */
#include "bind/bind_int.h"

const Table *bind_table_of_index(const Binder *b, Str name)
{
    const Table *temp = names_index_of(b->env->txn, name, true);
    return temp != NULL ? temp : names_index_of(b->env->txn, name, false);
}

/* An expression is named as a column of a SELECT would be. */
static tcudb_status add_to_name(Binder *b, const PgQuery__IndexElem *element, const char **made, Error *err)
{
    const char *part = element->name[0] != '\0' ? element->name : bind_target_name(element->expr);
    if (strcmp(part, "?column?") == 0) part = "expr";
    *made = arena_printf(b->arena, err, "%s_%s", *made, part);
    return *made == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* The columns as the note has them; made: the name that PostgreSQL would give. */
static tcudb_status index_columns(Binder *b, const TableDef *def, const PgQuery__IndexStmt *node, const char **columns,
                                  const char **made, Error *err)
{
    *columns = "";
    *made = arena_printf(b->arena, err, STR_FMT, STR_ARG(def->name));
    TRY_PTR(*made);
    for (size_t i = 0; i < node->n_index_params; i++) {
        const char *name = node->index_params[i]->index_elem->name;
        uint32_t col = 0;
        if (name[0] != '\0' && bind_column_number(def, str_of(name), 0, &col, NULL) != TCUDB_OK)
            return error_set(err, SQLSTATE_UNDEFINED_COLUMN, "column \"%s\" does not exist", name);
        *columns = arena_printf(b->arena, err, "%s%s%s", *columns, i == 0 ? "" : "\1", name);
        TRY_PTR(*columns);
        TRY(add_to_name(b, node->index_params[i]->index_elem, made, err));
    }
    *made = arena_printf(b->arena, err, "%s_idx", *made);
    return *made == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status index_name(Binder *b, const PgQuery__IndexStmt *node, bool temp, const char *made, const char **out,
                               Error *err)
{
    *out = node->idxname[0] != '\0' ? node->idxname : made;
    for (uint32_t n = 1; names_taken(b->env->txn, str_of(*out), temp); n++) {
        if (node->idxname[0] != '\0')
            return error_set(err, SQLSTATE_DUPLICATE_TABLE, "relation \"%s\" already exists", node->idxname);
        *out = arena_printf(b->arena, err, "%s%u", made, n);
        TRY_PTR(*out);
    }
    return TCUDB_OK;
}

tcudb_status bind_ddl_create_index(Binder *b, const PgQuery__IndexStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    const char *columns = NULL, *made = NULL, *name = NULL;
    TableBuild t;
    stmt->kind = STMT_NOTHING;
    stmt->tag = "CREATE INDEX";
    TRY(bind_table_for_change(b, node->relation, "an index on", &table, err));
    const TableDef *def = table_def(table);
    TRY(index_columns(b, def, node, &columns, &made, err));
    bool temp = def->temp != TEMP_NONE;
    TRY(bind_storage(b, node->options, node->n_options, STORAGE_INDEX, false, err));
    if (node->if_not_exists && names_taken(b->env->txn, str_of(node->idxname), temp)) return TCUDB_OK;
    TRY(index_name(b, node, temp, made, &name, err));
    if (node->unique) return bind_alter_unique_index(b, table, node, name, str_of(columns), stmt, err);
    TRY(bind_build_of(b, def, 0, 1, &t, err));
    bind_set_note(&t, NOTE_INDEX, str_of(name), str_of(columns));
    stmt->kind = STMT_NOTE;
    stmt->name = def->name;
    stmt->table = bind_table_def(&t, def->name);
    return TCUDB_OK;
}
