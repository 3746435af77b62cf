/*
 * note.c: COMMENT ON: a note in the definition of what it is about (catalog/notes.h).
 *
 * Comments on tables, their columns and constraints stand in the table's own definition; those on views, the schema and
 * the database in that of a table without rows, NOTES_TABLE, which is made with the first of them.
 */
#include "bind/bind_int.h"
#include "catalog/reference.h"

#include <assert.h>
#include <stdlib.h>

tcudb_status bind_build_of(Binder *b, const TableDef *def, size_t room, size_t notes, TableBuild *t, Error *err)
{
    *t = (TableBuild){.temp = def->temp,
                      .n = def->ncols,
                      .nkeys = def->nkeys,
                      .nchecks = def->nchecks,
                      .nnotes = def->nnotes,
                      .altered = true};
    t->table = bind_name(b, def->name, err);
    TRY_PTR(t->table);
    t->cols = ARENA_ARRAY(b->arena, ColumnDef, def->ncols + room, err);
    TRY_PTR(t->cols);
    t->keys = ARENA_ARRAY(b->arena, KeyDef, def->nkeys + room, err);
    TRY_PTR(t->keys);
    t->checks = ARENA_ARRAY(b->arena, CheckDef, def->nchecks + room, err);
    TRY_PTR(t->checks);
    t->notes = ARENA_ARRAY(b->arena, NoteDef, def->nnotes + notes, err);
    TRY_PTR(t->notes);
    for (uint32_t i = 0; i < def->ncols; i++) t->cols[i] = def->cols[i];
    for (uint32_t i = 0; i < def->nkeys; i++) t->keys[i] = def->keys[i];
    for (uint32_t i = 0; i < def->nchecks; i++) t->checks[i] = def->checks[i];
    for (uint32_t i = 0; i < def->nnotes; i++) t->notes[i] = def->notes[i];
    return TCUDB_OK;
}

void bind_set_note(TableBuild *t, const char *kind, Str subject, Str text)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->nnotes; i++)
        if (!note_is(&t->notes[i], kind) || !str_equal(t->notes[i].subject, subject)) t->notes[n++] = t->notes[i];
    if (text.ptr != NULL) t->notes[n++] = (NoteDef){.kind = str_of(kind), .subject = subject, .text = text};
    t->nnotes = n;
    qsort(t->notes, n, sizeof *t->notes, note_order);
}

Str bind_find_note(const TableBuild *t, const char *kind, Str subject)
{
    return note_find(&(TableDef){.nnotes = t->nnotes, .notes = t->notes}, kind, subject);
}

bool bind_is_note_of_column(const NoteDef *note, Str column)
{
    static const char *const kinds[COLUMN_NOTES] = {NOTE_COMMENT, NOTE_SERIAL, NOTE_IDENTITY, NOTE_GENERATED};
    for (size_t k = 0; k < COLUMN_NOTES; k++)
        if (note_is(note, kinds[k])) return str_equal(note->subject, column);
    return false;
}

static tcudb_status put_note(Binder *b, const TableDef *def, const char *kind, Str subject, Stmt *stmt, Error *err)
{
    static const ColumnDef nothing = {.name = STR_LIT("nothing"), .type = TYPE(TYPE_BOOL)};
    static const TableDef notes = {.name = NOTES_TABLE, .ncols = 1, .cols = &nothing};
    TableBuild t;
    stmt->flag = def == NULL;
    if (def == NULL) def = &notes;
    TRY(bind_build_of(b, def, 0, 1, &t, err));
    bind_set_note(&t, kind, subject, stmt->text);
    stmt->name = def->name;
    stmt->table = bind_table_def(&t, def->name);
    return TCUDB_OK;
}

static tcudb_status put_apart(Binder *b, const char *kind, Str subject, Stmt *stmt, Error *err)
{
    const Table *notes = txn_permanent_table(b->env->txn, NOTES_TABLE);
    return put_note(b, notes == NULL ? NULL : table_def(notes), kind, subject, stmt, err);
}

/* The object's name, the first n of its parts. */
static tcudb_status relation_of(Binder *b, const PgQuery__List *parts, size_t n, const Table **table,
                                const ViewDef **view, Error *err)
{
    Str name = str_of(sql_string(parts->items[n - 1]));
    const char *schema = n == 1 ? "" : sql_string(parts->items[n - 2]);
    if (n > 1 && strcmp(schema, "public") != 0) return bind_no_schema(schema, 0, err);
    bool sees = n > 1 || bind_sees(b, name);
    *table = sees ? bind_find_table(b, name) : NULL;
    *view = sees ? txn_view(b->env->txn, name) : NULL;
    if (*table != NULL || *view != NULL) return TCUDB_OK;
    return bind_no_relation(b, schema, name, "not a table", 0, err);
}

static tcudb_status on_relation(Binder *b, const PgQuery__CommentStmt *node, const char *what, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    const ViewDef *view = NULL;
    SequenceDef sequence;
    const PgQuery__List *parts = node->object->list;
    TRY(relation_of(b, parts, parts->n_items, &table, &view, err));
    assert(table != NULL || view != NULL);
    bool is_sequence = table != NULL && note_sequence(table_def(table), &sequence);
    const char *is = table == NULL ? "view" : is_sequence ? "sequence" : "table";
    if (strcmp(what, is) != 0)
        return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"%s\" is not a %s",
                         sql_string(parts->items[parts->n_items - 1]), what);
    if (table == NULL) return put_apart(b, NOTE_VIEW, view->name, stmt, err);
    return put_note(b, table_def(table), NOTE_COMMENT, (Str){0}, stmt, err);
}

static tcudb_status on_view_column(Binder *b, const ViewDef *view, Str column, Stmt *stmt, Error *err)
{
    assert(view != NULL);
    for (uint32_t i = 0; i < view->ncols; i++) {
        if (!str_equal(view->cols[i], column)) continue;
        const char *subject = arena_printf(b->arena, err, STR_FMT "\1" STR_FMT, STR_ARG(view->name), STR_ARG(column));
        TRY_PTR(subject);
        return put_apart(b, NOTE_COLUMN, str_of(subject), stmt, err);
    }
    return error_set(err, SQLSTATE_UNDEFINED_COLUMN,
                     "column \"" STR_FMT "\" of relation \"" STR_FMT "\" does not exist", STR_ARG(column),
                     STR_ARG(view->name));
}

static tcudb_status on_column(Binder *b, const PgQuery__CommentStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    const ViewDef *view = NULL;
    const PgQuery__List *parts = node->object->list;
    Str column = str_of(sql_string(parts->items[parts->n_items - 1]));
    uint32_t at = 0;
    if (parts->n_items < 2) return error_set(err, SQLSTATE_SYNTAX_ERROR, "column name must be qualified");
    TRY(relation_of(b, parts, parts->n_items - 1, &table, &view, err));
    if (table == NULL) return on_view_column(b, view, column, stmt, err);
    TRY(bind_column_number(table_def(table), column, 0, &at, err));
    return put_note(b, table_def(table), NOTE_COMMENT, column, stmt, err);
}

bool bind_has_constraint(const TableDef *def, Str name)
{
    for (uint32_t i = 0; i < def->nkeys; i++)
        if (str_equal(def->keys[i].name, name)) return !note_only_index(def, &def->keys[i]);
    for (uint32_t i = 0; i < def->nchecks; i++)
        if (str_equal(def->checks[i].name, name)) return true;
    return note_find(def, NOTE_REFERENCE, name).ptr != NULL;
}

static tcudb_status on_constraint(Binder *b, const PgQuery__CommentStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    const ViewDef *view = NULL;
    const PgQuery__List *parts = node->object->list;
    Str name = str_of(sql_string(parts->items[parts->n_items - 1]));
    TRY(relation_of(b, parts, parts->n_items - 1, &table, &view, err));
    if (table != NULL && bind_has_constraint(table_def(table), name))
        return put_note(b, table_def(table), NOTE_CONSTRAINT, name, stmt, err);
    return error_set(err, SQLSTATE_UNDEFINED_OBJECT, "constraint \"" STR_FMT "\" for table \"%s\" does not exist",
                     STR_ARG(name), sql_string(parts->items[parts->n_items - 2]));
}

static tcudb_status on_place(Binder *b, const PgQuery__CommentStmt *node, Stmt *stmt, Error *err)
{
    bool schema = node->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA;
    Str name = str_of(sql_string(node->object));
    if (str_equal(name, schema ? STR_LIT("public") : STR_LIT("tcudb")))
        return put_apart(b, NOTE_SCHEMA, name, stmt, err);
    return error_set(err, schema ? SQLSTATE_INVALID_SCHEMA_NAME : SQLSTATE_INVALID_CATALOG_NAME,
                     "%s \"" STR_FMT "\" does not exist", schema ? "schema" : "database", STR_ARG(name));
}

tcudb_status bind_comment(Binder *b, const PgQuery__CommentStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_NOTE;
    stmt->tag = "COMMENT";
    stmt->text = node->comment[0] == '\0' ? (Str){0} : str_of(node->comment);
    switch (node->objtype) {
    case PG_QUERY__OBJECT_TYPE__OBJECT_TABLE: return on_relation(b, node, "table", stmt, err);
    case PG_QUERY__OBJECT_TYPE__OBJECT_VIEW: return on_relation(b, node, "view", stmt, err);
    case PG_QUERY__OBJECT_TYPE__OBJECT_SEQUENCE: return on_relation(b, node, "sequence", stmt, err);
    case PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN: return on_column(b, node, stmt, err);
    case PG_QUERY__OBJECT_TYPE__OBJECT_TABCONSTRAINT: return on_constraint(b, node, stmt, err);
    case PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA:
    case PG_QUERY__OBJECT_TYPE__OBJECT_DATABASE: return on_place(b, node, stmt, err);
    default: return error_unsupported(err, 0, "COMMENT ON this kind of object");
    }
}
