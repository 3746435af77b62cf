/*
 * alter_names.c: changes of a table's definition that are about names: of columns, constraints and indexes; indexes
 * that come and go.
 *
 * A unique index is a key of its name with a note of its columns (NOTE_INDEX), any other that note alone (index.c).
 * What is stored by names follows: comments, foreign keys, the columns of indexes.
 */
#include "bind/alter_int.h"

/* ---- unique indexes: keys by another name */

/* The same as a UNIQUE constraint of that name, in the parser's terms. */
static tcudb_status index_constraint(Binder *b, const PgQuery__IndexStmt *node, PgQuery__Constraint *out, Error *err)
{
    size_t n = node->n_index_params;
    PgQuery__Node *nodes = ARENA_ARRAY(b->arena, PgQuery__Node, n + 1, err);
    TRY_PTR(nodes);
    PgQuery__String *strings = ARENA_ARRAY(b->arena, PgQuery__String, n + 1, err);
    TRY_PTR(strings);
    out->keys = ARENA_ARRAY(b->arena, PgQuery__Node *, n + 1, err);
    TRY_PTR(out->keys);
    out->n_keys = n;
    out->contype = PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE;
    out->nulls_not_distinct = node->nulls_not_distinct;
    for (size_t i = 0; i < n; i++) {
        pg_query__string__init(&strings[i]);
        pg_query__node__init(&nodes[i]);
        strings[i].sval = node->index_params[i]->index_elem->name;
        nodes[i].node_case = PG_QUERY__NODE__NODE_STRING;
        nodes[i].string = &strings[i];
        out->keys[i] = &nodes[i];
    }
    return TCUDB_OK;
}

tcudb_status bind_alter_unique_index(Binder *b, const Table *table, const PgQuery__IndexStmt *node, const char *name,
                                     Str columns, Stmt *stmt, Error *err)
{
    Alter a;
    PgQuery__Constraint constraint = PG_QUERY__CONSTRAINT__INIT;
    if (node->where_clause != NULL) return error_unsupported(err, 0, "a unique index with WHERE");
    for (size_t i = 0; i < node->n_index_params; i++)
        if (node->index_params[i]->index_elem->name[0] == '\0')
            return error_unsupported(err, 0, "a unique index on an expression");
    TRY(bind_alter_new(b, table, 1, &a, err));
    constraint.conname = (char *)name;
    TRY(index_constraint(b, node, &constraint, err));
    TRY(bind_constraint_key(b, &a.t, &constraint, NULL, err));
    bind_set_note(&a.t, NOTE_INDEX, str_of(name), columns);
    TRY(bind_alter_finish(&a, stmt, err));
    stmt->tag = "CREATE INDEX";
    return TCUDB_OK;
}

/* Takes a key or index of that name out of the definition. */
static tcudb_status drop_index(Alter *a, Str name, Error *err)
{
    for (uint32_t k = 0; k < a->t.nkeys; k++) {
        if (!str_equal(a->t.keys[k].name, name)) continue;
        if (bind_find_note(&a->t, NOTE_INDEX, name).ptr == NULL) { /* a constraint's */
            error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST,
                      "cannot drop index " STR_FMT " because constraint " STR_FMT " on table %s requires it",
                      STR_ARG(name), STR_ARG(name), a->t.table);
            error_hint(err, "You can drop constraint " STR_FMT " on table %s instead.", STR_ARG(name), a->t.table);
            return TCUDB_ERROR;
        }
        memmove(a->t.keys + k, a->t.keys + k + 1, (--a->t.nkeys - k) * sizeof *a->t.keys);
        break;
    }
    bind_set_note(&a->t, NOTE_INDEX, name, (Str){0});
    return TCUDB_OK;
}

tcudb_status bind_alter_drop_indexes(Binder *b, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    Alter a;
    for (uint32_t i = 0; i < stmt->nnames; i++) {
        Str name = stmt->names[i];
        const Table *of = bind_table_of_index(b, name);
        if (of == NULL && txn_table(b->env->txn, name) != NULL)
            return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"" STR_FMT "\" is not an index", STR_ARG(name));
        if (of == NULL && !stmt->flag)
            return error_set(err, SQLSTATE_UNDEFINED_OBJECT, "index \"" STR_FMT "\" does not exist", STR_ARG(name));
        if (of == NULL) continue;
        if (table != NULL && of != table) return error_unsupported(err, 0, "DROP INDEX of several tables at once");
        if (table == NULL) TRY(bind_alter_new(b, of, 0, &a, err));
        table = of;
        TRY(drop_index(&a, name, err));
    }
    stmt->kind = STMT_NOTHING;
    if (table != NULL) TRY(bind_alter_finish(&a, stmt, err));
    stmt->tag = "DROP INDEX";
    return TCUDB_OK;
}

/* ---- renaming columns and constraints */

static tcudb_status rename_indexed(Alter *a, NoteDef *note, Str from, const char *to, Error *err)
{
    const char *text = "";
    for (const char *at = note->text.ptr, *end = at + note->text.len; at <= end;) {
        const char *stop = memchr(at, '\1', (size_t)(end - at));
        if (stop == NULL) stop = end;
        Str name = {at, (uint32_t)(stop - at)};
        if (str_equal(name, from)) name = str_of(to);
        text = arena_printf(a->b->arena, err, "%s%s" STR_FMT, text, at == note->text.ptr ? "" : "\1", STR_ARG(name));
        TRY_PTR(text);
        at = stop + 1;
    }
    note->text = str_of(text);
    return TCUDB_OK;
}

static tcudb_status rename_column(Alter *a, const char *from, const char *to, Error *err)
{
    uint32_t col = 0;
    tcudb_status status = bind_alter_column(a, from, &col, NULL);
    if (status != TCUDB_OK) return error_set(err, SQLSTATE_UNDEFINED_COLUMN, "column \"%s\" does not exist", from);
    if (bind_alter_has(a, to)) {
        return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists", to,
                         a->t.table);
    }
    for (uint32_t i = 0; i < a->t.nchecks; i++)
        TRY(bind_renamed_expression(a->b, &a->t, a->t.checks[i].sql, col, to, &a->t.checks[i].sql, err));
    for (uint32_t i = 0; i < a->t.nnotes; i++) {
        Str *text = &a->t.notes[i].text;
        if (note_is(&a->t.notes[i], NOTE_GENERATED) && text->len > 0)
            TRY(bind_renamed_expression(a->b, &a->t, *text, col, to, text, err));
        if (bind_is_note_of_column(&a->t.notes[i], a->t.cols[col].name)) a->t.notes[i].subject = str_of(to);
        if (note_indexes(&a->t.notes[i], a->t.cols[col].name))
            TRY(rename_indexed(a, &a->t.notes[i], a->t.cols[col].name, to, err));
    }
    a->t.cols[col].name = str_of(to);
    return TCUDB_OK;
}

static void rename_constraint(Alter *a, Str *name, Str to)
{
    for (uint32_t i = 0; i < a->t.nnotes; i++)
        if (note_is(&a->t.notes[i], NOTE_CONSTRAINT) && str_equal(a->t.notes[i].subject, *name))
            a->t.notes[i].subject = to;
    *name = to;
}

tcudb_status bind_alter_rename(Binder *b, const PgQuery__RenameStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    Alter a;
    bool column = node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN;
    TRY(bind_alter_find(b, node->relation, node->missing_ok, "renaming parts of", stmt, &table, err));
    if (table == NULL) return TCUDB_OK;
    TRY(bind_alter_new(b, table, 0, &a, err));
    Str *name = column ? NULL : bind_alter_constraint(&a, node->subname);
    if (column) {
        TRY(rename_column(&a, node->subname, node->newname, err));
        stmt->column = str_of(node->subname);
        stmt->column_to = str_of(node->newname);
    } else if (name == NULL)
        return bind_alter_no_constraint(&a, node->subname, "for table", err);
    else {
        TRY(bind_constraint_rename(b, &a.t, *name, str_of(node->newname), err));
        rename_constraint(&a, name, str_of(node->newname));
    }
    return bind_alter_finish(&a, stmt, err);
}

tcudb_status bind_alter_rename_index(Binder *b, const PgQuery__RenameStmt *node, Stmt *stmt, Error *err)
{
    Alter a;
    Str name = {0}, to = str_of(node->newname);
    tcudb_status status = bind_relation_name(b, node->relation, &name, err);
    const Table *table = status == TCUDB_OK ? bind_table_of_index(b, name) : NULL;
    if (table == NULL && node->missing_ok && (status == TCUDB_OK || bind_was_missing(err))) {
        stmt->kind = STMT_ALTER_RENAME; /* of nothing */
        stmt->tag = "ALTER INDEX";
        stmt->flag = true;
        stmt->name = str_of(node->relation->relname);
        return TCUDB_OK;
    }
    TRY(status);
    if (table == NULL) return bind_no_relation(b, node->relation->schemaname, name, "", 0, err);
    if (names_taken(b->env->txn, to, table_def(table)->temp != TEMP_NONE))
        return error_set(err, SQLSTATE_DUPLICATE_TABLE, "relation \"%s\" already exists", node->newname);
    TRY(bind_alter_new(b, table, 1, &a, err));
    Str columns = bind_find_note(&a.t, NOTE_INDEX, name);
    if (columns.ptr != NULL) bind_set_note(&a.t, NOTE_INDEX, name, (Str){0});
    Str *constraint = bind_alter_constraint(&a, node->relation->relname); /* or the key of a unique index */
    if (constraint != NULL) rename_constraint(&a, constraint, to);
    if (columns.ptr != NULL) bind_set_note(&a.t, NOTE_INDEX, to, columns);
    TRY(bind_alter_finish(&a, stmt, err));
    stmt->tag = "ALTER INDEX";
    return TCUDB_OK;
}
