/*
 * copy.c: COPY FROM, COPY TO: what the session adds to files/copy.h: DEFAULT values, and the query to write.
 */
#include "session/session_int.h"
#include "files/copy.h"

#include <assert.h>

static CopyEnv copy_env(Run *run)
{
    Session *session = run->session;
    return (CopyEnv){
        .txn = session->txn,
        .pool = run->pool,
        .mem = db_mem(session->instance->db),
        .cancel = &session->watch.cancel,
        .stream = {.ctx = session->io.ctx, .read = session->io.read, .write = session->io.write},
        .bytes_done = &run->progress.done,
        .bytes_total = &run->progress.total,
    };
}

static tcudb_status need_stream(const Run *run, bool there, const char *what, Error *err)
{
    if (run->stmt->text.len > 0 || there) return TCUDB_OK;
    error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "COPY %s is not available on this connection", what);
    error_hint(err, "Name a file instead, or set the connection's COPY streams.");
    return TCUDB_ERROR;
}

/* ---- defaults ------------------------------------------------------------------------------ */

typedef struct OneValue {
    Arena *arena;
    Value value;
} OneValue;

static tcudb_status keep_value(void *ctx, const Batch *batch, Error *err)
{
    OneValue *one = ctx;
    if (batch->n == 0 || batch->ncols == 0) return TCUDB_OK;
    one->value = vec_value(&batch->cols[0], batch_row(batch, 0));
    if (one->value.null || !type_is_text(one->value.type)) return TCUDB_OK;
    char *copy = arena_strndup(one->arena, one->value.str.ptr, one->value.str.len, err);
    TRY_PTR(copy);
    one->value.str.ptr = copy;
    return TCUDB_OK;
}

/* DEFAULT now() and the like: evaluated once for the statement, by running SELECT (expression). */
static tcudb_status eval_default(Run *run, const ColumnDef *col, Value *out, Error *err)
{
    Ast *ast = NULL;
    Stmt *stmt = NULL;
    uint32_t n = 0;
    char *sql = arena_printf(run->arena, err, "SELECT (" STR_FMT ")", STR_ARG(col->default_sql));
    TRY_PTR(sql);
    TRY(sql_parse(run->arena, str_of(sql), &run->session->watch.cancel, &ast, &n, err));
    TRY(session_bind_own(run, ast, &stmt, err));
    Run inner = *run;
    inner.stmt = stmt;
    OneValue one = {.arena = run->arena, .value = {.null = true}};
    TRY(session_run_plan_into(&inner, stmt, stmt->plan, keep_value, &one, err));
    return session_convert(&one.value, col->type, run->arena, out, err);
}

static bool given(const Stmt *stmt, uint32_t column)
{
    for (uint32_t i = 0; i < stmt->ncolumns; i++)
        if (stmt->columns[i] == column) return true;
    return stmt->ncolumns == 0;
}

/* Whether a default that the file leaves out differs from row to row. */
static bool moves(const Run *run, const TableDef *table, uint32_t c)
{
    Str sql = table->cols[c].default_sql;
    return !given(run->stmt, c) && sql.len > 0 &&
           (memmem(sql.ptr, sql.len, "nextval(", 8) != NULL || memmem(sql.ptr, sql.len, "random(", 7) != NULL);
}

static bool goes_through(const Run *run, const TableDef *def)
{
    bool through = def->nkeys + def->nchecks > 0;
    for (uint32_t c = 0; c < def->ncols; c++) through = through || moves(run, def, c);
    for (uint32_t i = 0; i < def->nnotes; i++) through = through || note_is(&def->notes[i], NOTE_GENERATED);
    return through;
}

static tcudb_status eval_defaults(Run *run, const TableDef *table, Value **out, Error *err)
{
    *out = ARENA_ARRAY(run->arena, Value, table->ncols, err);
    TRY_PTR(*out);
    for (uint32_t c = 0; c < table->ncols; c++) {
        const ColumnDef *col = &table->cols[c];
        (*out)[c] = (Value){.type = col->type, .null = true};
        if (col->default_sql.len > 0 && !given(run->stmt, c) && !moves(run, table, c))
            TRY(eval_default(run, col, &(*out)[c], err));
    }
    return TCUDB_OK;
}

/* ---- tables with constraints --------------------------------------------------------------- */

/* The columns that the file has, as SQL. */
static tcudb_status given_columns(Run *run, const TableDef *def, const char **out, Error *err)
{
    const char *list = "";
    for (uint32_t c = 0; c < def->ncols; c++) {
        const char *name = NULL;
        if (!given(run->stmt, c)) continue;
        TRY(text_quoted_name(run->arena, def->cols[c].name, &name, err));
        list = arena_printf(run->arena, err, "%s%s%s", list, list[0] == '\0' ? "" : ", ", name);
        TRY_PTR(list);
    }
    *out = list;
    return TCUDB_OK;
}

/* Keys, checks and what differs from row to row are the executor's: the file goes into a table without them first. */
static tcudb_status copy_through(Run *run, const TableDef *def, CopyEnv *env, const Value *defaults, Error *err)
{
    Txn *txn = run->session->txn;
    const char *from = NULL, *to = NULL, *columns = NULL;
    TableDef plain = {.name = STR_LIT(" copy"), .ncols = def->ncols, .cols = def->cols, .temp = def->temp};
    ColumnDef *cols = ARENA_ARRAY(run->arena, ColumnDef, def->ncols, err);
    TRY_PTR(cols);
    memcpy(cols, def->cols, def->ncols * sizeof *cols);
    for (uint32_t c = 0; c < def->ncols; c++) cols[c].not_null = cols[c].not_null && given(run->stmt, c);
    plain.cols = cols;
    TRY(text_quoted_name(run->arena, plain.name, &from, err));
    TRY(text_quoted_name(run->arena, def->name, &to, err));
    TRY(given_columns(run, def, &columns, err));
    TRY(txn_create_table(txn, &plain, err));
    env->into = plain.name;
    TRY(copy_from(env, run->stmt, defaults, &run->report.rows, err));
    const char *sql = arena_printf(run->arena, err, "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s", to,
                                   columns, columns, from);
    TRY_PTR(sql);
    TRY(session_run_inner(run, sql, err));
    return txn_drop_table(txn, plain.name, err);
}

/* ---- both directions ----------------------------------------------------------------------- */

tcudb_status session_copy_from(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Value *defaults = NULL;
    TRY(session_set_up(run, err));
    TRY(copy_check_options(stmt, err));
    TRY(need_stream(run, run->session->io.read != NULL, "FROM STDIN", err));
    const Table *table = txn_table(run->session->txn, stmt->name);
    if (table == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(stmt->name));
    TRY(eval_defaults(run, table_def(table), &defaults, err));
    CopyEnv env = copy_env(run);
    const TableDef *def = table_def(table);
    bool refers = reference_any(def);
    if (goes_through(run, def))
        TRY(copy_through(run, def, &env, defaults, err));
    else
        TRY(copy_from(&env, stmt, defaults, &run->report.rows, err));
    return refers ? session_references_added(run, stmt->name, err) : TCUDB_OK;
}

tcudb_status session_copy_to(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    CopyTo *to = NULL;
    assert(stmt->plan != NULL);
    TRY(session_set_up(run, err));
    TRY(copy_check_options(stmt, err));
    TRY(need_stream(run, run->session->io.write != NULL, "TO STDOUT", err));
    CopyEnv env = copy_env(run);
    TRY(copy_to_open(&env, stmt, stmt->plan->cols, stmt->plan->ncols, &to, err));
    run->shape = copy_to_shape;
    tcudb_status status = session_run_plan_into(run, stmt, stmt->plan, copy_to_batch, to, err);
    run->shape = NULL;
    if (status != TCUDB_OK) {
        copy_to_abort(to);
        return status;
    }
    return copy_to_close(to, &run->report.rows, err);
}
