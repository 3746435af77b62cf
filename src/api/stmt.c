/*
 * stmt.c: prepared statements: preparing, describing, binding values.
 *
 * Values are converted when they are bound, with assignment casts, so that a wrong value is reported at the
 * call that gave it. Each parameter owns the memory of its text.
 */
#include "api/api_int.h"
#include "base/stack.h"

#include <assert.h>

static void link_stmt(tcudb_conn *conn, tcudb_stmt *stmt)
{
    stmt->conn = conn;
    stmt->next = conn->stmts;
    if (conn->stmts != NULL) conn->stmts->prev = stmt;
    conn->stmts = stmt;
}

static void unlink_stmt(tcudb_stmt *stmt)
{
    if (stmt->conn == NULL) return;
    if (stmt->prev != NULL)
        stmt->prev->next = stmt->next;
    else
        stmt->conn->stmts = stmt->next;
    if (stmt->next != NULL) stmt->next->prev = stmt->prev;
}

static tcudb_status make_room(tcudb_stmt *stmt, const Type *types, Error *err)
{
    uint32_t n = stmt->nparams == 0 ? 1 : stmt->nparams;
    Type *copy = ARENA_ARRAY(&stmt->arena, Type, n, err);
    TRY_PTR(copy);
    if (stmt->nparams > 0) memcpy(copy, types, stmt->nparams * sizeof *types);
    stmt->types = copy;
    stmt->values = ARENA_ARRAY(&stmt->arena, Value, n, err);
    TRY_PTR(stmt->values);
    stmt->texts = ARENA_ARRAY(&stmt->arena, Buf, n, err);
    TRY_PTR(stmt->texts);
    stmt->bound = ARENA_ARRAY(&stmt->arena, bool, n, err);
    TRY_PTR(stmt->bound);
    return TCUDB_OK;
}

static tcudb_status prepare(tcudb_conn *conn, const char *sql, tcudb_stmt *stmt, Error *err)
{
    const Type *types = NULL;
    const PlanCol *cols = NULL;
    arena_init(&stmt->arena, db_mem(conn->db->instance.db));
    TRY(session_prepare(conn->session, sql, NULL, 0, &stmt->prepared, err));
    stmt->nparams = prepared_params(stmt->prepared, &types);
    stmt->ncols = prepared_columns(stmt->prepared, &cols);
    TRY(make_room(stmt, types, err));
    return api_infos(&stmt->arena, cols, stmt->ncols, &stmt->infos, err);
}

typedef struct StackPrepare {
    tcudb_conn *conn;
    const char *sql;
    tcudb_stmt *stmt;
    Error *err;
    tcudb_status status;
} StackPrepare;

static void prepare_here(void *ctx)
{
    StackPrepare *call = ctx;
    call->status = prepare(call->conn, call->sql, call->stmt, call->err);
}

/* Where enough stack is left. */
static tcudb_status call_prepare(tcudb_conn *conn, const char *sql, tcudb_stmt *stmt, Error *err)
{
    StackPrepare call = {conn, sql, stmt, err, TCUDB_OK};
    TRY(stack_call(prepare_here, &call, err));
    return call.status;
}

static void free_stmt(tcudb_stmt *stmt)
{
    for (uint32_t i = 0; stmt->texts != NULL && i < stmt->nparams; i++) buf_free(&stmt->texts[i]);
    prepared_free(stmt->prepared);
    arena_free(&stmt->arena);
    api_db_unref(stmt->db);
    mem_free(NULL, stmt, sizeof *stmt);
}

tcudb_status tcudb_prepare(tcudb_conn *conn, const char *sql, tcudb_stmt **out, tcudb_error *out_err)
{
    if (out == NULL) return api_misuse(out_err, "tcudb_prepare: there is nowhere to put the statement");
    *out = NULL;
    if (sql == NULL) return api_misuse(out_err, "tcudb_prepare: the SQL text is NULL");
    TRY(api_enter(conn, out_err));
    Error err = {0};
    tcudb_stmt *stmt = mem_alloc_zero(NULL, sizeof *stmt, &err);
    if (stmt != NULL) {
        stmt->db = conn->db;
        api_db_ref(stmt->db);
    }
    tcudb_status status = stmt == NULL ? TCUDB_NOMEM : call_prepare(conn, sql, stmt, &err);
    if (status == TCUDB_OK) {
        link_stmt(conn, stmt);
        *out = stmt;
    } else if (stmt != NULL) {
        free_stmt(stmt);
    }
    api_leave(conn);
    return status == TCUDB_OK ? TCUDB_OK : api_fail(out_err, status, &err);
}

void tcudb_stmt_close(tcudb_stmt *stmt)
{
    if (stmt == NULL) return;
    unlink_stmt(stmt);
    free_stmt(stmt);
}

uint32_t tcudb_stmt_params(const tcudb_stmt *stmt)
{
    return stmt == NULL ? 0 : stmt->nparams;
}

tcudb_type_id tcudb_stmt_param_type(const tcudb_stmt *stmt, uint32_t n)
{
    return stmt == NULL || n == 0 || n > stmt->nparams ? (tcudb_type_id)0 : (tcudb_type_id)stmt->types[n - 1].id;
}

uint32_t tcudb_stmt_columns(const tcudb_stmt *stmt)
{
    return stmt == NULL ? 0 : stmt->ncols;
}

const tcudb_column_info *tcudb_stmt_column(const tcudb_stmt *stmt, uint32_t i)
{
    return stmt == NULL || i >= stmt->ncols ? NULL : &stmt->infos[i];
}

/* ---- binding ------------------------------------------------------------------------------- */

static tcudb_status convert(const Value *in, Type to, Arena *arena, Value *out, Error *err)
{
    if (in->type.id == TYPE_UNKNOWN) return value_parse(in->str, to, arena, out, err);
    return value_cast(in, to, CAST_ASSIGNMENT, arena, out, err);
}

/* Text memory moves from the scratch arena to the parameter's own. */
static tcudb_status keep(tcudb_stmt *stmt, uint32_t i, Value value, Error *err)
{
    Buf *text = &stmt->texts[i];
    if (type_is_text(value.type) && !value.null) {
        text->len = 0;
        TRY(buf_str(text, value.str, err));
        value.str = (Str){text->data == NULL ? "" : text->data, (uint32_t)text->len};
    }
    stmt->values[i] = value;
    stmt->bound[i] = true;
    return TCUDB_OK;
}

static tcudb_status bind_value(tcudb_stmt *stmt, uint32_t n, const Value *in, tcudb_error *out_err)
{
    if (stmt == NULL) return api_misuse(out_err, "the statement is NULL");
    if (n == 0 || n > stmt->nparams)
        return api_misuse(out_err, "there is no parameter $%u: the statement has %u", n, stmt->nparams);
    if (in->null) {
        stmt->values[n - 1] = (Value){.type = stmt->types[n - 1], .null = true};
        stmt->bound[n - 1] = true;
        return TCUDB_OK;
    }
    Error err = {0};
    Arena arena;
    Value value = {0};
    arena_init(&arena, NULL);
    tcudb_status status = convert(in, stmt->types[n - 1], &arena, &value, &err);
    if (status == TCUDB_OK) status = keep(stmt, n - 1, value, &err);
    arena_free(&arena);
    return status == TCUDB_OK ? TCUDB_OK : api_fail(out_err, status, &err);
}

tcudb_status tcudb_bind_null(tcudb_stmt *stmt, uint32_t n, tcudb_error *err)
{
    return bind_value(stmt, n, &(Value){.null = true}, err);
}

tcudb_status tcudb_bind_bool(tcudb_stmt *stmt, uint32_t n, int value, tcudb_error *err)
{
    return bind_value(stmt, n, &(Value){.type = TYPE(TYPE_BOOL), .b = value != 0}, err);
}

tcudb_status tcudb_bind_int64(tcudb_stmt *stmt, uint32_t n, int64_t value, tcudb_error *err)
{
    return bind_value(stmt, n, &(Value){.type = TYPE(TYPE_INT8), .i64 = value}, err);
}

tcudb_status tcudb_bind_double(tcudb_stmt *stmt, uint32_t n, double value, tcudb_error *err)
{
    return bind_value(stmt, n, &(Value){.type = TYPE(TYPE_FLOAT8), .f64 = value}, err);
}

tcudb_status tcudb_bind_text(tcudb_stmt *stmt, uint32_t n, const char *text, size_t len, tcudb_error *err)
{
    if (text == NULL) return api_misuse(err, "the text for parameter $%u is NULL: use tcudb_bind_null", n);
    if (len == SIZE_MAX) len = strlen(text);
    if (len > UINT32_MAX) return api_misuse(err, "the text for parameter $%u is longer than 4 GB", n);
    Value value = {.type = TYPE(TYPE_UNKNOWN), .str = {text, (uint32_t)len}};
    return bind_value(stmt, n, &value, err);
}
