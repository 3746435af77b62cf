/*
 * ddl.c: CREATE TABLE [AS], CREATE VIEW, DROP, TRUNCATE, ALTER TABLE.
 *
 * Dependencies are not stored: views are kept as text, so what depends on a relation is found by binding
 * every view before and after the relation is gone. A view that binds before and not after depends on it.
 * Cost: two bindings of every view for each DROP or RENAME; nothing without views.
 */
#include "session/session_int.h"
#include "catalog/names.h"

#include <assert.h>

/* ---- creating ------------------------------------------------------------------------------ */

tcudb_status session_name_is_free(Txn *txn, Str name, bool temp, Error *err)
{
    if (!names_taken(txn, name, temp)) return TCUDB_OK;
    return error_set(err, SQLSTATE_DUPLICATE_TABLE, "relation \"" STR_FMT "\" already exists", STR_ARG(name));
}

bool session_skips(Run *run, Str name, bool temp)
{
    if (!run->stmt->flag || !names_taken(run->session->txn, name, temp)) return false;
    session_notify(run->session, "NOTICE", SQLSTATE_DUPLICATE_TABLE,
                   "relation \"" STR_FMT "\" already exists, skipping", STR_ARG(name));
    return true;
}

/* CREATE TABLE AS: the query's rows go in through an Insert node, so that loading is parallel. */
static tcudb_status fill_table(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Plan *insert = plan_new(run->arena, PLAN_INSERT, 1, 0, err);
    TRY_PTR(insert);
    insert->inputs[0] = stmt->plan;
    insert->modify.table = stmt->table.name;
    return session_run_plan_into(run, stmt, insert, session_drop_batch, NULL, err);
}

tcudb_status session_create_table(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Txn *txn = run->session->txn;
    Str name = stmt->table.name;
    bool temp = stmt->table.temp != TEMP_NONE, hidden = !temp && txn_is_temp(txn, name);
    if (temp) TRY(session_attach_temp(run->session, err));
    if (hidden) return error_unsupported(err, 0, "a table with the name of a temporary table");
    if (session_skips(run, name, temp)) {
        run->tag = stmt->plan != NULL ? "CREATE TABLE AS" : "CREATE TABLE";
        return TCUDB_OK;
    }
    TRY(session_name_is_free(txn, name, temp, err));
    for (uint32_t i = 0; i < stmt->nserials; i++) TRY(session_make_sequence(run, &stmt->serials[i], err));
    TRY(txn_create_table(txn, &stmt->table, err));
    return stmt->plan == NULL ? TCUDB_OK : fill_table(run, err);
}

tcudb_status session_create_view(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Txn *txn = run->session->txn;
    bool replace = stmt->flag && txn_view(txn, stmt->name) != NULL;
    if (stmt->flag && !replace && names_taken(txn, stmt->name, false))
        return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"" STR_FMT "\" is not a view", STR_ARG(stmt->name));
    if (!replace) TRY(session_name_is_free(txn, stmt->name, false, err));
    return txn_create_view(txn, &stmt->create_view, stmt->flag, err);
}

/* ---- dependencies -------------------------------------------------------------------------- */

typedef struct ViewState {
    Str name;
    int64_t merged; /* how many columns its NATURAL joins go by: more or fewer make it another query; -1: it does not
                       bind */
} ViewState;

/* Whether it binds to the columns that it was made with: see ViewState. */
static tcudb_status view_state(Run *run, const ViewDef *view, int64_t *merged, Error *err)
{
    Arena scratch;
    Ast *ast;
    Stmt *stmt;
    arena_init(&scratch, run->arena->mem);
    tcudb_status status = session_bind_view(run, &scratch, view, NULL, &ast, &stmt, err);
    *merged = status == TCUDB_OK && stmt != NULL && stmt->plan->ncols == view->ncols ? (int64_t)stmt->nmerged : -1;
    arena_free(&scratch);
    return status;
}

static tcudb_status view_uses(Run *run, const ViewDef *view, const TableDef *def, uint32_t column, bool *uses,
                              Error *err)
{
    Arena scratch;
    Ast *ast;
    Stmt *stmt;
    *uses = false;
    arena_init(&scratch, run->arena->mem);
    tcudb_status status = session_bind_view(run, &scratch, view, NULL, &ast, &stmt, err);
    if (status == TCUDB_OK && stmt != NULL)
        status = plan_uses_column(&scratch, stmt->plan, def->name, column, uses, err);
    arena_free(&scratch);
    return status;
}

/* A view that uses the table's column; NULL: none. */
static tcudb_status view_of_column(Run *run, const TableDef *def, uint32_t column, const ViewDef **out, Error *err)
{
    Txn *txn = run->session->txn;
    *out = NULL;
    bool uses = false;
    for (uint32_t i = 0; i < txn_view_count(txn) && !uses; i++) {
        const ViewDef *view = txn_view_at(txn, i);
        TRY(view_uses(run, view, def, column, &uses, err));
        if (uses) *out = view;
    }
    return TCUDB_OK;
}

static tcudb_status list_views(Run *run, ViewState **out, uint32_t *n, Error *err)
{
    Txn *txn = run->session->txn;
    *n = txn_view_count(txn);
    *out = ARENA_ARRAY(run->arena, ViewState, *n, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < *n; i++) {
        const ViewDef *view = txn_view_at(txn, i);
        char *name = arena_strndup(run->arena, view->name.ptr, view->name.len, err);
        TRY_PTR(name);
        (*out)[i] = (ViewState){.name = {name, view->name.len}};
        TRY(view_state(run, view, &(*out)[i].merged, err));
    }
    return TCUDB_OK;
}

/* *out: the next view that worked in `before` and no longer does; NULL: none. */
static tcudb_status broken_view(Run *run, const ViewState *before, uint32_t n, const ViewDef **out, Error *err)
{
    *out = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const ViewDef *view = before[i].merged >= 0 ? txn_view(run->session->txn, before[i].name) : NULL;
        int64_t merged = before[i].merged;
        if (view != NULL) TRY(view_state(run, view, &merged, err));
        if (merged == before[i].merged) continue;
        *out = view;
        break;
    }
    return TCUDB_OK;
}

/* ---- dropping ------------------------------------------------------------------------------ */

static tcudb_status drop_view(Run *run, Str name, Error *err)
{
    TRY(session_forget_view(run, name, err));
    return txn_drop_view(run->session->txn, name, err);
}

static tcudb_status drop_for_cascade(Run *run, Str view, Error *err)
{
    const char *name;
    TRY(text_quoted_name(run->arena, view, &name, err));
    session_notify(run->session, "NOTICE", "00000", "drop cascades to view %s", name);
    return drop_view(run, view, err);
}

/* "table": also of a rename that takes any. */
static const char *kind_dropped(const Stmt *stmt)
{
    return stmt->view ? "view" : stmt->sequence ? "sequence" : "table";
}

/* "table", "view", "sequence", "index"; NULL: there is nothing of that name. */
static const char *kind_there(Txn *txn, Str name)
{
    SequenceDef sequence;
    const Table *table = txn_table(txn, name);
    if (table != NULL) return note_sequence(table_def(table), &sequence) ? "sequence" : "table";
    if (txn_view(txn, name) != NULL) return "view";
    bool index = names_index_of(txn, name, true) != NULL || names_index_of(txn, name, false) != NULL;
    return index ? "index" : NULL;
}

/* With the sequences of its serial columns. */
static tcudb_status drop_table(Run *run, Str name, Error *err)
{
    const TableDef *def = table_def(txn_table(run->session->txn, name));
    TRY(session_drop_referred(run, name, err));
    TRY(txn_drop_table(run->session->txn, name, err));
    return session_of_serials(run, def, NULL, true, err);
}

static tcudb_status drop_one(Run *run, Str name, Error *err)
{
    const char *kind = kind_dropped(run->stmt), *there = kind_there(run->session->txn, name);
    if (there == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "%s \"" STR_FMT "\" does not exist", kind, STR_ARG(name));
    if (strcmp(kind, there) == 0) {
        if (run->stmt->view) return drop_view(run, name, err);
        return run->stmt->sequence ? session_drop_sequence(run, name, err) : drop_table(run, name, err);
    }
    error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"" STR_FMT "\" is not a %s", STR_ARG(name), kind);
    error_hint(err, strcmp(there, "view") == 0       ? "Use DROP VIEW to remove a view."
                    : strcmp(there, "sequence") == 0 ? "Use DROP SEQUENCE to remove a sequence."
                    : strcmp(there, "index") == 0    ? "Use DROP INDEX to remove an index."
                                                     : "Use DROP TABLE to remove a table.");
    return TCUDB_ERROR;
}

static tcudb_status settle_dependents(Run *run, Str name, const ViewState *views, uint32_t nviews, Error *err)
{
    const Stmt *stmt = run->stmt;
    const char *kind = kind_dropped(stmt);
    for (;;) {
        const ViewDef *view;
        TRY(broken_view(run, views, nviews, &view, err));
        if (view == NULL) return TCUDB_OK;
        if (!stmt->cascade) {
            const char *gone, *user;
            TRY(text_quoted_name(run->arena, name, &gone, err));
            TRY(text_quoted_name(run->arena, view->name, &user, err));
            error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST,
                      "cannot drop %s %s because other objects depend on it", kind, gone);
            error_detail(err, "view %s depends on %s %s", user, kind, gone);
            error_hint(err, "Use DROP ... CASCADE to drop the dependent objects too.");
            return TCUDB_ERROR;
        }
        TRY(drop_for_cascade(run, view->name, err));
    }
}

tcudb_status session_drop(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Txn *txn = run->session->txn;
    ViewState *views = NULL;
    uint32_t nviews = 0;
    Str last = {0};
    TRY(list_views(run, &views, &nviews, err));
    for (uint32_t i = 0; i < stmt->nnames; i++) {
        Str name = stmt->names[i];
        if (stmt->flag && kind_there(txn, name) == NULL) {
            session_notify(run->session, "NOTICE", "00000", "%s \"" STR_FMT "\" does not exist, skipping",
                           kind_dropped(stmt), STR_ARG(name));
            continue;
        }
        TRY(drop_one(run, name, err));
        last = name;
    }
    return last.len == 0 ? TCUDB_OK : settle_dependents(run, last, views, nviews, err);
}

/* ---- the rest ------------------------------------------------------------------------------ */

tcudb_status session_truncate(Run *run, Error *err)
{
    Txn *txn = run->session->txn;
    const Str *names = NULL;
    uint32_t n = 0;
    TRY(session_truncated(run, &names, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        const TableDef *def = table_def(txn_table(txn, names[i]));
        if (run->stmt->restart) TRY(session_of_serials(run, def, NULL, false, err));
        TRY(txn_truncate(txn, names[i], err));
    }
    return TCUDB_OK;
}

/* The table, sequence or view gets another name, also where others refer to it. */
static tcudb_status rename_relation(Run *run, Str name, Str to, Error *err)
{
    SequenceDef sequence;
    Txn *txn = run->session->txn;
    const Table *table = txn_table(txn, name);
    TRY(session_name_is_free(txn, to, table != NULL && table_def(table)->temp != TEMP_NONE, err));
    if (table == NULL) return session_rename_view(run, name, to, err);
    TRY(txn_rename_table(txn, name, to, err));
    if (note_sequence(table_def(table), &sequence)) return session_rename_sequence_uses(run, table_def(table), to, err);
    return session_rename_referred(run, name, table_def(table), to, err);
}

tcudb_status session_rename(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    ViewState *views = NULL;
    uint32_t nviews = 0;
    const ViewDef *view;
    const char *there = stmt->text.len == 0 ? NULL : kind_there(run->session->txn, stmt->name);
    if (stmt->flag && there == NULL) {
        session_notify(run->session, "NOTICE", "00000", "relation \"" STR_FMT "\" does not exist, skipping",
                       STR_ARG(stmt->name));
        return TCUDB_OK;
    }
    if (there == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(stmt->name));
    if ((stmt->sequence || stmt->view) && strcmp(there, kind_dropped(stmt)) != 0)
        return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"" STR_FMT "\" is not a %s", STR_ARG(stmt->name),
                         kind_dropped(stmt));
    if (strcmp(there, "index") == 0) return error_unsupported(err, 0, "ALTER TABLE of an index");
    ViewTexts texts = {0};
    bool temp = txn_is_temp(run->session->txn, stmt->name);
    if (!temp) TRY(session_view_texts(run, stmt->name, (Str){0}, stmt->text, &texts, err));
    TRY(list_views(run, &views, &nviews, err));
    TRY(rename_relation(run, stmt->name, stmt->text, err));
    TRY(session_set_view_texts(run, &texts, err));
    TRY(broken_view(run, views, nviews, &view, err));
    if (view == NULL) return TCUDB_OK;
    error_unsupported(err, 0, "renaming a %s that a view depends on", there);
    error_detail(err, "view " STR_FMT " depends on %s " STR_FMT, STR_ARG(view->name), there, STR_ARG(stmt->name));
    return TCUDB_ERROR;
}

/* ---- ALTER TABLE --------------------------------------------------------------------------- */

/* What the INSERT says of a row, said of the table: PostgreSQL's words. */
static tcudb_status of_the_table(const Stmt *stmt, tcudb_status status, Error *err)
{
    if (status != TCUDB_ERROR || err == NULL || strncmp(err->sqlstate, "23", 2) != 0) return status;
    const Error row = *err;
    bool null = strcmp(row.sqlstate, SQLSTATE_NOT_NULL_VIOLATION) == 0;
    const char *end = strrchr(row.message, '"'), *start = null ? strchr(row.message, '"') : NULL;
    if (null)
        end = strchr(start + 1, '"');
    else
        for (start = end - 1; start > row.message && *start != '"';) start--;
    int len = (int)(end - start - 1);
    if (null)
        return error_set(err, row.sqlstate, "column \"%.*s\" of relation \"" STR_FMT "\" contains null values", len,
                         start + 1, STR_ARG(stmt->name));
    if (strcmp(row.sqlstate, SQLSTATE_CHECK_VIOLATION) == 0)
        return error_set(err, row.sqlstate,
                         "check constraint \"%.*s\" of relation \"" STR_FMT "\" is violated by some row", len,
                         start + 1, STR_ARG(stmt->name));
    error_set(err, row.sqlstate, "could not create unique index \"%.*s\"", len, start + 1);
    const char *tail = strstr(row.detail, " already exists.");
    error_detail(err, "%.*s is duplicated.", tail == NULL ? 0 : (int)(tail - row.detail), row.detail);
    return TCUDB_ERROR;
}

static tcudb_status refuse_drop(Run *run, const TableDef *def, Str column, const ViewDef *view, Error *err)
{
    const char *table, *user;
    TRY(text_quoted_name(run->arena, def->name, &table, err));
    TRY(text_quoted_name(run->arena, view->name, &user, err));
    error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST,
              "cannot drop column " STR_FMT " of table %s because other objects depend on it", STR_ARG(column), table);
    error_detail(err, "view %s depends on column " STR_FMT " of table %s", user, STR_ARG(column), table);
    error_hint(err, "Use DROP ... CASCADE to drop the dependent objects too.");
    return TCUDB_ERROR;
}

static tcudb_status refuse_retyping(Str column, const ViewDef *view, Error *err)
{
    error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "cannot alter type of a column used by a view or rule");
    error_detail(err, "rule _RETURN on view " STR_FMT " depends on column \"" STR_FMT "\"", STR_ARG(view->name),
                 STR_ARG(column));
    return TCUDB_ERROR;
}

static bool stays(const Stmt *stmt, Str column)
{
    for (uint32_t i = 0; i < stmt->table.ncols; i++)
        if (str_equal(stmt->table.cols[i].name, column)) return true;
    return false;
}

static bool is_retyped(const Stmt *stmt, Str column)
{
    for (uint32_t i = 0; i < stmt->nretyped; i++)
        if (str_equal(stmt->retyped[i], column)) return true;
    return false;
}

/* Views keep the columns that they use, and their types; with CASCADE they go. */
static tcudb_status settle_column(Run *run, const TableDef *old, uint32_t column, Error *err)
{
    const Str name = old->cols[column].name;
    const ViewDef *view;
    bool dropped = !stays(run->stmt, name) && !str_equal(run->stmt->column, name);
    if (!dropped && !is_retyped(run->stmt, name)) return TCUDB_OK;
    for (;;) {
        TRY(view_of_column(run, old, column, &view, err));
        if (view == NULL) return TCUDB_OK;
        if (!dropped) return refuse_retyping(name, view, err);
        if (!run->stmt->cascade) return refuse_drop(run, old, name, view, err);
        TRY(drop_for_cascade(run, view->name, err));
    }
}

/* What else a view needs: the key that its columns depend on. */
static tcudb_status settle_views(Run *run, const ViewState *views, uint32_t nviews, Error *err)
{
    for (;;) {
        const ViewDef *view;
        TRY(broken_view(run, views, nviews, &view, err));
        if (view == NULL) return TCUDB_OK;
        if (!run->stmt->cascade) {
            error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "cannot alter a column used by a view or rule");
            error_detail(err, "view " STR_FMT " depends on table " STR_FMT, STR_ARG(view->name),
                         STR_ARG(run->stmt->name));
            error_hint(err, "Drop the view first, and create it again afterwards.");
            return TCUDB_ERROR;
        }
        TRY(drop_for_cascade(run, view->name, err));
    }
}

/* The definition changes over the columns, or columns change, or the old table steps aside and the new one is filled
 * from it. */
static tcudb_status alter_table(Run *run, const TableDef *old, const ViewState *views, uint32_t nviews, Error *err)
{
    const Stmt *stmt = run->stmt;
    const Str aside = STR_LIT(" altered");
    bool keep = stmt->keeps_rows;
    ViewTexts texts = {0};
    if (stmt->column.len > 0 && old->temp == TEMP_NONE)
        TRY(session_view_texts(run, old->name, stmt->column, stmt->column_to, &texts, err));
    for (uint32_t i = 0; i < stmt->nserials; i++) TRY(session_make_sequence(run, &stmt->serials[i], err));
    if (keep && stmt->column.len == 0) TRY(session_rows_satisfy(run, stmt->name, &stmt->table, &keep, err));
    if (stmt->sources != NULL) TRY(session_revise_columns(run, &keep, err));
    if (keep) {
        TRY(txn_redefine_table(run->session->txn, stmt->name, &stmt->table, err));
        TRY(session_of_serials(run, old, &stmt->table, true, err));
        TRY(session_set_view_texts(run, &texts, err));
        return settle_views(run, views, nviews, err);
    }
    TRY(txn_rename_table(run->session->txn, stmt->name, aside, err));
    TRY(txn_create_table(run->session->txn, &stmt->table, err));
    TRY(of_the_table(stmt, session_run_plan_into(run, stmt, stmt->plan, session_drop_batch, NULL, err), err));
    TRY(txn_drop_table(run->session->txn, aside, err));
    TRY(session_of_serials(run, old, &stmt->table, true, err));
    run->report.rows = 0;
    return settle_views(run, views, nviews, err);
}

tcudb_status session_alter_table(Run *run, Error *err)
{
    const TableDef *old = table_def(txn_table(run->session->txn, run->stmt->name));
    Referring *retyped;
    ViewState *views = NULL;
    uint32_t n, nviews = 0;
    TRY(list_views(run, &views, &nviews, err)); /* before any goes */
    if (old->temp == TEMP_NONE)
        for (uint32_t i = 0; i < old->ncols; i++) TRY(settle_column(run, old, i, err));
    TRY(session_keep_referred(run, old, err));
    TRY(session_retyped_references(run, &retyped, &n, err)); /* before the rows are touched */
    TRY(alter_table(run, old, views, nviews, err));
    TRY(session_rename_referred(run, old->name, old, old->name, err));
    return session_references_new(run, old, run->stmt->name, err);
}
