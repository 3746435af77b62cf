/*
 * list.c: what is in a database, as rows: tables and views, columns, settings, functions, memory.
 *
 * These are what the shell's \d family, its completion and the API's tcudb_list show. Views have no stored
 * column types: the view's text is bound to find them; a view that no longer binds is listed without.
 */
#include "session/rows.h"
#include "session/session_int.h"
#include "files/files.h"
#include "files/proc.h"

#include <assert.h>

/* Tables of the database's own. */
static bool is_hidden(Str name)
{
    return name.len > 0 && name.ptr[0] == '\1';
}

/* As a statement; "" for an identity column's, which comes with its column. */
static tcudb_status sequence_text(Session *session, const TableDef *def, const SequenceDef *s, Arena *arena, Str *out,
                                  Error *err)
{
    Buf name;
    *out = (Str){0};
    for (uint32_t t = 0; t < txn_table_count(session->txn); t++) {
        const TableDef *table = table_def(txn_table_at(session->txn, t));
        for (uint32_t i = 0; i < table->nnotes; i++) {
            const NoteDef *note = &table->notes[i];
            if (!note_is(note, NOTE_SERIAL) || !str_equal(note->text, def->name)) continue;
            if (note_find(table, NOTE_IDENTITY, note->subject).ptr != NULL) return TCUDB_OK;
        }
    }
    buf_init(&name, NULL);
    tcudb_status status = text_quote_name(def->name, &name, err);
    char *text = status != TCUDB_OK
                     ? NULL
                     : arena_printf(arena, err,
                                    "CREATE SEQUENCE %.*s AS %s INCREMENT BY %lld MINVALUE %lld MAXVALUE %lld "
                                    "START WITH %lld CACHE %lld%s",
                                    (int)name.len, name.data, type_base_name(TYPE(s->type)), (long long)s->increment,
                                    (long long)s->min, (long long)s->max, (long long)s->start, (long long)s->cache,
                                    s->cycle ? " CYCLE" : "");
    buf_free(&name);
    TRY(status);
    TRY_PTR(text);
    *out = str_of(text);
    return TCUDB_OK;
}

static tcudb_status table_cells(Session *session, const TableDef *table, uint64_t live, Value *row, Rows *rows,
                                Error *err)
{
    Str definition = {0};
    SequenceDef sequence;
    bool is_sequence = note_sequence(table, &sequence);
    rows_text(&row[1], is_sequence ? STR_LIT("sequence") : STR_LIT("table"));
    rows_int(&row[3], (int64_t)live);
    if (is_sequence)
        TRY(sequence_text(session, table, &sequence, rows->arena, &definition, err));
    else
        TRY(session_constraints_text(rows->arena, table, &definition, err));
    if (definition.len > 0) rows_text(&row[4], definition);
    return TCUDB_OK;
}

tcudb_status session_tables_rows(Session *session, Str name, Rows *rows, Error *err)
{
    Txn *txn = session->txn;
    rows_column(rows, "name", TYPE_TEXT);
    rows_column(rows, "kind", TYPE_TEXT);
    rows_column(rows, "columns", TYPE_INT8);
    rows_column(rows, "rows", TYPE_INT8);
    rows_column(rows, "definition", TYPE_TEXT);
    uint32_t tables = txn_table_count(txn);
    uint32_t views = txn_view_count(txn);
    for (uint32_t t = 0, v = 0; t < tables || v < views;) {
        const TableDef *table = t < tables ? table_def(txn_table_at(txn, t)) : NULL;
        const ViewDef *view = v < views ? txn_view_at(txn, v) : NULL;
        bool take_table = table != NULL && (view == NULL || str_compare(table->name, view->name) < 0);
        assert(take_table || view != NULL);
        Str at = take_table ? table->name : view->name;
        uint64_t live = take_table ? table_rows(txn_table_at(txn, t)) : 0;
        if (take_table)
            t++;
        else
            v++;
        if (is_hidden(at) || (name.len > 0 && !str_equal(name, at))) continue;
        Value *row = rows_add(rows, err);
        TRY_PTR(row);
        rows_text(&row[0], at);
        rows_text(&row[1], STR_LIT("view"));
        rows_int(&row[2], take_table ? table->ncols : view->ncols);
        if (take_table)
            TRY(table_cells(session, table, live, row, rows, err));
        else
            rows_text(&row[4], view->sql);
    }
    return TCUDB_OK;
}

static tcudb_status column_row(Rows *rows, Str table, Str name, Type type, bool not_null, Str initial, Error *err)
{
    char buffer[TYPE_NAME_MAX];
    const char *type_text = type_name(type, buffer);
    char *copy = arena_strndup(rows->arena, type_text, strlen(type_text), err);
    TRY_PTR(copy);
    Value *row = rows_add(rows, err);
    TRY_PTR(row);
    rows_text(&row[0], table);
    rows_text(&row[1], name);
    rows_text(&row[2], str_of(copy));
    rows_bool(&row[3], !not_null);
    if (initial.len > 0) rows_text(&row[4], initial);
    return TCUDB_OK;
}

/* The default, or what stands in its place. */
static tcudb_status initial_text(const TableDef *table, const ColumnDef *col, Arena *arena, Str *out, Error *err)
{
    Str identity = note_find(table, NOTE_IDENTITY, col->name), generated = note_find(table, NOTE_GENERATED, col->name);
    *out = col->default_sql;
    if (identity.len > 0)
        *out = str_equal(identity, STR_LIT("a")) ? STR_LIT("generated always as identity")
                                                 : STR_LIT("generated by default as identity");
    if (generated.len == 0) return TCUDB_OK;
    char *text = arena_printf(arena, err, "generated always as (" STR_FMT ") stored", STR_ARG(generated));
    TRY_PTR(text);
    *out = str_of(text);
    return TCUDB_OK;
}

static tcudb_status table_columns(const TableDef *table, Rows *rows, Error *err)
{
    for (uint32_t c = 0; c < table->ncols; c++) {
        const ColumnDef *col = &table->cols[c];
        Str initial;
        TRY(initial_text(table, col, rows->arena, &initial, err));
        TRY(column_row(rows, table->name, col->name, col->type, col->not_null, initial, err));
    }
    return TCUDB_OK;
}

static tcudb_status view_columns(Run *run, const ViewDef *view, Rows *rows, Error *err)
{
    Ast *ast = NULL;
    Stmt *stmt = NULL;
    uint32_t n = 0;
    tcudb_status status = sql_parse(run->arena, view->sql, &run->session->watch.cancel, &ast, &n, err);
    if (status == TCUDB_OK && n == 1) status = session_bind_own(run, ast, &stmt, err);
    if (status == TCUDB_NOMEM || status == TCUDB_INTERRUPTED) return status;
    if (status != TCUDB_OK || stmt == NULL || stmt->plan == NULL)
        return TCUDB_OK; /* a view that does not work any more */
    for (uint32_t c = 0; c < view->ncols && c < stmt->plan->ncols; c++)
        TRY(column_row(rows, view->name, view->cols[c], stmt->plan->cols[c].type, false, (Str){0}, err));
    return TCUDB_OK;
}

static tcudb_status columns_rows(Run *run, Str name, Rows *rows, Error *err)
{
    Txn *txn = run->session->txn;
    bool found = name.len == 0;
    rows_column(rows, "table", TYPE_TEXT);
    rows_column(rows, "column", TYPE_TEXT);
    rows_column(rows, "type", TYPE_TEXT);
    rows_column(rows, "nullable", TYPE_BOOL);
    rows_column(rows, "default", TYPE_TEXT);
    for (uint32_t i = 0; i < txn_table_count(txn); i++) {
        const TableDef *table = table_def(txn_table_at(txn, i));
        if (is_hidden(table->name) || (name.len > 0 && !str_equal(table->name, name))) continue;
        found = true;
        TRY(table_columns(table, rows, err));
    }
    for (uint32_t i = 0; i < txn_view_count(txn); i++) {
        const ViewDef *view = txn_view_at(txn, i);
        if (name.len > 0 && !str_equal(view->name, name)) continue;
        found = true;
        TRY(view_columns(run, view, rows, err));
    }
    if (found) return TCUDB_OK;
    return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
}

static tcudb_status function_row(Rows *rows, const char *name, const char *kind, const char *usage, Error *err)
{
    Value *row = rows_add(rows, err);
    TRY_PTR(row);
    rows_text(&row[0], str_of(name));
    rows_text(&row[1], str_of(kind));
    if (usage != NULL) rows_text(&row[2], str_of(usage));
    return TCUDB_OK;
}

static tcudb_status functions_rows(Rows *rows, Error *err)
{
    const TableFunc *func = NULL;
    const Proc *proc = NULL;
    rows_column(rows, "name", TYPE_TEXT);
    rows_column(rows, "kind", TYPE_TEXT);
    rows_column(rows, "usage", TYPE_TEXT);
    for (uint32_t i = AGG_COUNT; i < AGG_KINDS; i++) /* not count(*), which has count's name */
        if (agg_exists(str_of(agg_name((AggKind)i))))
            TRY(function_row(rows, agg_name((AggKind)i), "aggregate", NULL, err));
    for (uint32_t i = 0; (func = files_table_func_at(i)) != NULL; i++)
        TRY(function_row(rows, func->name, "table function", func->usage, err));
    for (uint32_t i = 0; (proc = files_proc_at(i)) != NULL; i++)
        TRY(function_row(rows, proc->name, "procedure", proc->usage, err));
    return TCUDB_OK;
}

static tcudb_status memory_rows(Session *session, Rows *rows, Error *err)
{
    const Mem *mem = db_mem(session->instance->db);
    const struct {
        const char *what;
        size_t bytes;
    } facts[] = {
        {"in use", atomic_load(&mem->used)}, {"peak", atomic_load(&mem->peak)}, {"limit", atomic_load(&mem->limit)}};
    rows_column(rows, "what", TYPE_TEXT);
    rows_column(rows, "bytes", TYPE_INT8);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        Value *row = rows_add(rows, err);
        TRY_PTR(row);
        rows_text(&row[0], str_of(facts[i].what));
        rows_int(&row[1], (int64_t)facts[i].bytes);
    }
    return TCUDB_OK;
}

typedef struct Wanted {
    tcudb_listing what;
    Str name;
} Wanted;

static tcudb_status list_body(Run *run, void *ctx, Error *err)
{
    const Wanted *wanted = ctx;
    Rows rows;
    rows_init(&rows, run->arena);
    run->tag = "SHOW";
    switch (wanted->what) {
    case TCUDB_TABLES: TRY(session_tables_rows(run->session, wanted->name, &rows, err)); break;
    case TCUDB_COLUMNS: TRY(columns_rows(run, wanted->name, &rows, err)); break;
    case TCUDB_SETTINGS: TRY(session_settings_rows(run->session, &rows, err)); break;
    case TCUDB_FUNCTIONS: TRY(functions_rows(&rows, err)); break;
    case TCUDB_MEMORY: TRY(memory_rows(run->session, &rows, err)); break;
    }
    return rows_send(&rows, run->sink, err);
}

tcudb_status session_list(Session *session, tcudb_listing what, Str name, const SessionSink *sink, Error *err)
{
    Arena arena;
    Wanted wanted = {what, name};
    watch_clear(&session->watch);
    arena_init(&arena, db_mem(session->instance->db));
    tcudb_status status = session_run_one(session, &arena, STR_LIT("SHOW"), list_body, &wanted, sink, err);
    arena_free(&arena);
    return status;
}
