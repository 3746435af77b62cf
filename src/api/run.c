/*
 * run.c: tcudb_query, tcudb_stream, tcudb_list, and the same for prepared statements.
 */
#include "api/api_int.h"
#include "base/stack.h"

#include <assert.h>

/* ---- streaming to the caller --------------------------------------------------------------- */

static tcudb_status stopped(Error *err)
{
    return error_set(err, SQLSTATE_QUERY_CANCELED, "canceling statement due to user request");
}

static tcudb_status pass_columns(void *ctx, const PlanCol *cols, uint32_t ncols, Error *err)
{
    Pass *pass = ctx;
    arena_free(&pass->arena);
    TRY(api_infos(&pass->arena, cols, ncols, &pass->infos, err));
    if (pass->sink->columns == NULL) return TCUDB_OK;
    return pass->sink->columns(pass->sink->ctx, pass->infos, ncols) == 0 ? TCUDB_OK : stopped(err);
}

static tcudb_status pass_batch(void *ctx, const Batch *batch, Error *err)
{
    Pass *pass = ctx;
    tcudb_chunk chunk;
    if (batch->n == 0 || pass->sink->chunk == NULL) return TCUDB_OK;
    arena_reset(&pass->scratch);
    TRY(api_chunk(&pass->scratch, &pass->scratch, batch, false, pass->infos, &chunk, err));
    return pass->sink->chunk(pass->sink->ctx, &chunk) == 0 ? TCUDB_OK : stopped(err);
}

static tcudb_status pass_done(void *ctx, const char *tag, const ExecReport *report, Error *err)
{
    const Pass *pass = ctx;
    char buffer[SESSION_TAG_MAX];
    tcudb_report out;
    if (pass->sink->done == NULL) return TCUDB_OK;
    api_report(tag, report, buffer, &out);
    return pass->sink->done(pass->sink->ctx, &out) == 0 ? TCUDB_OK : stopped(err);
}

SessionSink api_pass(Pass *pass)
{
    return (SessionSink){.ctx = pass, .columns = pass_columns, .batch = pass_batch, .done = pass_done};
}

/* ---- one call, whatever it runs ------------------------------------------------------------ */

typedef struct Job {
    tcudb_conn *conn;
    const char *sql; /* or: */
    tcudb_stmt *stmt;
    bool list; /* or: */
    tcudb_listing what;
    const char *name;
} Job;

static tcudb_status run_job(const Job *job, const SessionSink *sink, Error *err)
{
    Session *session = job->conn->session;
    if (job->list) return session_list(session, job->what, job->name == NULL ? (Str){0} : str_of(job->name), sink, err);
    if (job->stmt != NULL) return prepared_run(job->stmt->prepared, job->stmt->values, job->stmt->nparams, sink, err);
    return session_run(session, job->sql, sink, err);
}

typedef struct StackJob {
    const Job *job;
    const SessionSink *sink;
    Error *err;
    tcudb_status status;
} StackJob;

static void run_here(void *ctx)
{
    StackJob *call = ctx;
    call->status = run_job(call->job, call->sink, call->err);
}

/* Where enough stack is left. */
static tcudb_status call_job(const Job *job, const SessionSink *sink, Error *err)
{
    StackJob call = {job, sink, err, TCUDB_OK};
    TRY(stack_call(run_here, &call, err));
    return call.status;
}

static tcudb_status gather_job(const Job *job, tcudb_result **out, Error *err)
{
    tcudb_db *db = job->conn->db;
    Gather gather = {0};
    TRY(api_result_new(db, &gather.result, err));
    arena_init(&gather.scratch, db_mem(db->instance.db));
    SessionSink sink = api_gather(&gather);
    tcudb_status status = call_job(job, &sink, err);
    arena_free(&gather.scratch);
    if (status == TCUDB_OK)
        *out = gather.result;
    else
        tcudb_result_free(gather.result);
    return status;
}

static tcudb_status finish(tcudb_conn *conn, tcudb_status status, const Error *err, tcudb_error *out_err)
{
    api_leave(conn);
    return status == TCUDB_OK ? TCUDB_OK : api_fail(out_err, status, err);
}

static tcudb_status gathered(const Job *job, tcudb_result **result, tcudb_error *out_err)
{
    TRY(api_enter(job->conn, out_err));
    assert(job->conn != NULL);
    Error err = {0};
    static const SessionSink drop = {0};
    tcudb_status status = result == NULL ? call_job(job, &drop, &err) : gather_job(job, result, &err);
    return finish(job->conn, status, &err, out_err);
}

static tcudb_status streamed(const Job *job, const tcudb_sink *to, tcudb_error *out_err)
{
    static const tcudb_sink nothing = {0};
    TRY(api_enter(job->conn, out_err));
    assert(job->conn != NULL);
    Error err = {0};
    Pass pass = {.conn = job->conn, .sink = to == NULL ? &nothing : to};
    Mem *mem = db_mem(job->conn->db->instance.db);
    arena_init(&pass.scratch, mem);
    arena_init(&pass.arena, mem);
    SessionSink sink = api_pass(&pass);
    tcudb_status status = call_job(job, &sink, &err);
    arena_free(&pass.scratch);
    arena_free(&pass.arena);
    return finish(job->conn, status, &err, out_err);
}

/* ---- the public calls ---------------------------------------------------------------------- */

tcudb_status tcudb_query(tcudb_conn *conn, const char *sql, tcudb_result **result, tcudb_error *err)
{
    if (result != NULL) *result = NULL;
    if (sql == NULL) return api_misuse(err, "tcudb_query: the SQL text is NULL");
    return gathered(&(Job){.conn = conn, .sql = sql}, result, err);
}

tcudb_status tcudb_stream(tcudb_conn *conn, const char *sql, const tcudb_sink *sink, tcudb_error *err)
{
    if (sql == NULL) return api_misuse(err, "tcudb_stream: the SQL text is NULL");
    return streamed(&(Job){.conn = conn, .sql = sql}, sink, err);
}

tcudb_status tcudb_list(tcudb_conn *conn, tcudb_listing what, const char *name, tcudb_result **result, tcudb_error *err)
{
    if (result == NULL) return api_misuse(err, "tcudb_list: there is nowhere to put the result");
    *result = NULL;
    if (what < TCUDB_TABLES || what > TCUDB_MEMORY) return api_misuse(err, "tcudb_list: no listing %d", (int)what);
    return gathered(&(Job){.conn = conn, .list = true, .what = what, .name = name}, result, err);
}

static tcudb_status ready(const tcudb_stmt *stmt, tcudb_error *err)
{
    if (stmt == NULL) return api_misuse(err, "the statement is NULL");
    if (stmt->conn == NULL) return api_misuse(err, "the statement's connection is closed");
    for (uint32_t i = 0; i < stmt->nparams; i++)
        if (!stmt->bound[i]) return api_misuse(err, "parameter $%u has not been bound", i + 1);
    return TCUDB_OK;
}

tcudb_status tcudb_execute(tcudb_stmt *stmt, tcudb_result **result, tcudb_error *err)
{
    if (result != NULL) *result = NULL;
    TRY(ready(stmt, err));
    return gathered(&(Job){.conn = stmt->conn, .stmt = stmt}, result, err);
}

tcudb_status tcudb_execute_stream(tcudb_stmt *stmt, const tcudb_sink *sink, tcudb_error *err)
{
    TRY(ready(stmt, err));
    return streamed(&(Job){.conn = stmt->conn, .stmt = stmt}, sink, err);
}

int tcudb_complete(const char *sql)
{
    if (sql == NULL) return 1;
    size_t len = strlen(sql);
    return len > INT32_MAX || !sql_incomplete((Str){sql, (uint32_t)len});
}
