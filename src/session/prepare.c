/*
 * prepare.c: prepared statements, of the API and of PREPARE / EXECUTE / DEALLOCATE.
 *
 * A Prepared keeps the text, its parse tree, the parameters' types and the result's columns. Each run binds
 * the tree again (tables may have changed since) with the parameter types fixed, and optimises with the
 * values known: a custom plan every time. If the columns have changed since the statement was prepared, the
 * run fails as in PostgreSQL ("cached plan must not change result type").
 */
#include "session/session_int.h"

#include <assert.h>

struct Prepared {
    Session *session;
    Arena arena;
    Str sql;
    Ast *ast; /* NULL: an empty text */
    uint32_t nparams;
    Type *params;
    uint32_t ncols;
    PlanCol *cols;
};

/* ---- preparing ----------------------------------------------------------------------------- */

static tcudb_status parse_text(Prepared *prepared, Str sql, Error *err)
{
    uint32_t n = 0;
    char *copy = arena_strndup(&prepared->arena, sql.ptr, sql.len, err);
    TRY_PTR(copy);
    prepared->sql = (Str){copy, sql.len};
    TRY(sql_parse(&prepared->arena, prepared->sql, NULL, &prepared->ast, &n, err));
    if (n == 0) prepared->ast = NULL;
    if (n > 1)
        return error_set(err, SQLSTATE_SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement");
    return TCUDB_OK;
}

static tcudb_status copy_columns(Prepared *prepared, const Plan *plan, Error *err)
{
    prepared->ncols = plan->ncols;
    prepared->cols = ARENA_ARRAY(&prepared->arena, PlanCol, plan->ncols, err);
    TRY_PTR(prepared->cols);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        char *name = arena_strndup(&prepared->arena, plan->cols[i].name, strlen(plan->cols[i].name), err);
        TRY_PTR(name);
        prepared->cols[i] = plan->cols[i];
        prepared->cols[i].name = name;
    }
    return TCUDB_OK;
}

typedef struct Describe {
    Prepared *prepared;
    const Type *types;
    uint32_t ntypes;
} Describe;

/* A RunBody: binds once to learn the types of parameters and columns. */
static tcudb_status describe_body(Run *run, void *ctx, Error *err)
{
    const Describe *describe = ctx;
    Prepared *prepared = describe->prepared;
    Stmt *stmt = NULL;
    TRY(session_bind(run, prepared->ast, describe->types, describe->ntypes, &stmt, err));
    prepared->nparams = stmt->nparams;
    prepared->params = ARENA_ARRAY(&prepared->arena, Type, stmt->nparams, err);
    TRY_PTR(prepared->params);
    for (uint32_t i = 0; i < stmt->nparams; i++) {
        if (stmt->params[i].id == TYPE_NONE || stmt->params[i].id == TYPE_UNKNOWN)
            return error_set(err, SQLSTATE_INDETERMINATE_DATATYPE, "could not determine data type of parameter $%u",
                             i + 1);
        prepared->params[i] = stmt->params[i];
    }
    return stmt_returns_rows(stmt) ? copy_columns(prepared, stmt->plan, err) : TCUDB_OK;
}

static tcudb_status new_prepared(Session *session, Str sql, Prepared **out, Error *err)
{
    Prepared *prepared = mem_alloc_zero(NULL, sizeof *prepared, err);
    TRY_PTR(prepared);
    prepared->session = session;
    arena_init(&prepared->arena, db_mem(session->instance->db));
    tcudb_status status = parse_text(prepared, sql, err);
    if (status != TCUDB_OK)
        prepared_free(prepared);
    else
        *out = prepared;
    return status;
}

tcudb_status session_prepare(Session *session, const char *text, const Type *types, uint32_t ntypes, Prepared **out,
                             Error *err)
{
    Prepared *prepared = NULL;
    Arena scratch;
    Str sql = {0};
    TRY(session_begin_text(session, text, &sql, err));
    TRY(new_prepared(session, sql, &prepared, err));
    Describe describe = {prepared, types, ntypes};
    arena_init(&scratch, db_mem(session->instance->db));
    tcudb_status status = TCUDB_OK;
    if (prepared->ast != NULL)
        status = session_run_one(session, &scratch, prepared->ast->text, describe_body, &describe, NULL, err);
    arena_free(&scratch);
    if (status != TCUDB_OK)
        prepared_free(prepared);
    else
        *out = prepared;
    return status;
}

uint32_t prepared_params(const Prepared *prepared, const Type **types)
{
    *types = prepared->params;
    return prepared->nparams;
}

uint32_t prepared_columns(const Prepared *prepared, const PlanCol **cols)
{
    *cols = prepared->cols;
    return prepared->ncols;
}

void prepared_free(Prepared *prepared)
{
    if (prepared == NULL) return;
    arena_free(&prepared->arena);
    mem_free(NULL, prepared, sizeof *prepared);
}

/* ---- running ------------------------------------------------------------------------------- */

static tcudb_status check_columns(const Prepared *prepared, const Stmt *stmt, Error *err)
{
    uint32_t ncols = stmt_returns_rows(stmt) ? stmt->plan->ncols : 0;
    bool same = ncols == prepared->ncols;
    for (uint32_t i = 0; same && i < ncols; i++) same = type_equal(stmt->plan->cols[i].type, prepared->cols[i].type);
    if (same) return TCUDB_OK;
    return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "cached plan must not change result type");
}

static tcudb_status bind_prepared(Run *run, Prepared *prepared, Stmt **out, Error *err)
{
    TRY(session_bind_to_run(run, prepared->ast, prepared->params, prepared->nparams, out, err));
    return check_columns(prepared, *out, err);
}

typedef struct Execute {
    Prepared *prepared;
    const Value *params;
    uint32_t nparams;
} Execute;

static tcudb_status execute_body(Run *run, void *ctx, Error *err)
{
    const Execute *execute = ctx;
    Stmt *stmt = NULL;
    TRY(bind_prepared(run, execute->prepared, &stmt, err));
    run->params = execute->params;
    run->nparams = execute->nparams;
    run->stmt = stmt;
    run->tag = stmt->tag;
    return session_dispatch(run, err);
}

tcudb_status prepared_run(Prepared *prepared, const Value *params, uint32_t nparams, const SessionSink *sink,
                          Error *err)
{
    Session *session = prepared->session;
    Arena arena;
    Execute execute = {prepared, params, nparams};
    watch_clear(&session->watch);
    if (nparams != prepared->nparams)
        return error_set(err, SQLSTATE_SYNTAX_ERROR, "the statement has %u parameters, %u values were given",
                         prepared->nparams, nparams);
    if (prepared->ast == NULL) return TCUDB_OK;
    arena_init(&arena, db_mem(session->instance->db));
    tcudb_status status = session_run_one(session, &arena, prepared->ast->text, execute_body, &execute, sink, err);
    arena_free(&arena);
    return status;
}

/* ---- PREPARE, EXECUTE, DEALLOCATE ---------------------------------------------------------- */

static Named **find_named(Session *session, Str name)
{
    Named **slot = &session->named;
    while (*slot != NULL && !str_equal(str_of((*slot)->name), name)) slot = &(*slot)->next;
    return slot;
}

static tcudb_status no_such(Str name, Error *err)
{
    return error_set(err, SQLSTATE_INVALID_SQL_STATEMENT_NAME, "prepared statement \"" STR_FMT "\" does not exist",
                     STR_ARG(name));
}

static void free_named(Named *named)
{
    prepared_free(named->prepared);
    mem_free(NULL, named, sizeof *named + strlen(named->name) + 1);
}

static tcudb_status add_named(Session *session, Str name, Prepared *prepared, Error *err)
{
    Named *named = mem_alloc(NULL, sizeof *named + name.len + 1, err);
    TRY_PTR(named);
    named->prepared = prepared;
    memcpy(named->name, name.ptr, name.len);
    named->name[name.len] = '\0';
    named->next = session->named;
    session->named = named;
    return TCUDB_OK;
}

/* Positions in the statement to be prepared become ones in the whole text. */
static tcudb_status within_prepare(const Stmt *stmt, tcudb_status status, Error *err)
{
    const char *start = stmt->ast->text.ptr - stmt->ast->offset;
    if (status == TCUDB_OK || err == NULL || err->position == 0) return status;
    err->position += (int)utf8_length((Str){start, (uint32_t)(stmt->text.ptr - start)});
    return status;
}

tcudb_status session_prepare_named(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Session *session = run->session;
    Prepared *prepared = NULL;
    if (*find_named(session, stmt->name) != NULL)
        return error_set(err, SQLSTATE_DUPLICATE_PREPARED_STATEMENT,
                         "prepared statement \"" STR_FMT "\" already exists", STR_ARG(stmt->name));
    TRY(within_prepare(stmt, new_prepared(session, stmt->text, &prepared, err), err));
    Describe describe = {prepared, stmt->arg_types, stmt->nargs};
    tcudb_status status = TCUDB_OK;
    if (prepared->ast != NULL) status = within_prepare(stmt, describe_body(run, &describe, err), err);
    if (status == TCUDB_OK) status = add_named(session, stmt->name, prepared, err);
    if (status != TCUDB_OK) prepared_free(prepared);
    return status;
}

static tcudb_status convert_args(Run *run, const Prepared *prepared, const Stmt *stmt, Error *err)
{
    if (stmt->nargs != prepared->nparams) {
        error_set(err, SQLSTATE_SYNTAX_ERROR, "wrong number of parameters for prepared statement \"" STR_FMT "\"",
                  STR_ARG(stmt->name));
        error_detail(err, "Expected %u parameters but got %u.", prepared->nparams, stmt->nargs);
        return TCUDB_ERROR;
    }
    Value *values = ARENA_ARRAY(run->arena, Value, stmt->nargs, err);
    TRY_PTR(values);
    for (uint32_t i = 0; i < stmt->nargs; i++)
        TRY(session_convert(&stmt->args[i], prepared->params[i], run->arena, &values[i], err));
    run->params = values;
    run->nparams = stmt->nargs;
    return TCUDB_OK;
}

tcudb_status session_convert(const Value *in, Type to, Arena *arena, Value *out, Error *err)
{
    if (in->null) {
        *out = (Value){.type = to, .null = true};
        return TCUDB_OK;
    }
    if (in->type.id == TYPE_UNKNOWN) return value_parse(in->str, to, arena, out, err);
    return value_cast(in, to, CAST_ASSIGNMENT, arena, out, err);
}

tcudb_status session_bind_execute(Run *run, const Stmt *stmt, const Stmt **out, Error *err)
{
    Named *named = *find_named(run->session, stmt->name);
    Stmt *inner = NULL;
    if (named == NULL) return no_such(stmt->name, err);
    TRY(convert_args(run, named->prepared, stmt, err));
    TRY(bind_prepared(run, named->prepared, &inner, err));
    *out = inner;
    return TCUDB_OK;
}

tcudb_status session_execute_named(Run *run, Error *err)
{
    TRY(session_bind_execute(run, run->stmt, &run->stmt, err));
    run->tag = run->stmt->tag;
    if (run->stmt->kind == STMT_EXECUTE) return error_unsupported(err, 0, "EXECUTE of EXECUTE");
    return session_dispatch(run, err);
}

tcudb_status session_deallocate(Run *run, Error *err)
{
    Session *session = run->session;
    if (run->stmt->flag) {
        session_free_named(session);
        return TCUDB_OK;
    }
    Named **slot = find_named(session, run->stmt->name);
    if (*slot == NULL) return no_such(run->stmt->name, err);
    Named *named = *slot;
    *slot = named->next;
    free_named(named);
    return TCUDB_OK;
}

void session_free_named(Session *session)
{
    while (session->named != NULL) {
        Named *named = session->named;
        session->named = named->next;
        free_named(named);
    }
}
