/*
 * session.c: opening and closing a connection, and running a text.
 *
 * A text is parsed as a whole (so a syntax error anywhere runs nothing of it, as in PostgreSQL), then its
 * statements run one after the other through session_run_one: bind -> optimise -> plan -> execute, each in
 * its transaction. A statement's trees, plans and results die with its arena; nothing of it stays in the
 * session but settings, prepared statements and the transaction.
 *
 * One thread at a time uses a session, except session_interrupt.
 */
#include "session/session_int.h"

#include <assert.h>
#include <stdio.h>

tcudb_status session_new(Instance *instance, Session **out, Error *err)
{
    Session *session = mem_alloc_zero(NULL, sizeof *session, err);
    TRY_PTR(session);
    session->instance = instance;
    settings_init(&session->settings);
    watch_init(&session->watch);
    *out = session;
    return TCUDB_OK;
}

void session_free(Session *session)
{
    if (session == NULL) return;
    if (session->txn != NULL) session_rollback(session);
    db_close(session->temp);
    session_free_sequences(session);
    session_free_named(session);
    session_free_points(session);
    if (session->pool != NULL) pool_free(session->pool);
    watch_destroy(&session->watch);
    mem_free(NULL, session, sizeof *session);
}

Settings *session_settings(Session *session)
{
    return &session->settings;
}

char session_state(const Session *session)
{
    if (session->failed) return 'E';
    return session->block ? 'T' : 'I';
}

void session_interrupt(Session *session)
{
    watch_interrupt(&session->watch);
}

void session_set_io(Session *session, SessionIo io)
{
    session->io = io;
}

void session_set_notice(Session *session, SessionNotice fn, void *ctx)
{
    session->notice = fn;
    session->notice_ctx = ctx;
}

void session_set_progress(Session *session, SessionProgress fn, void *ctx, uint32_t interval_ms)
{
    session->watch.progress_fn = fn;
    session->watch.progress_ctx = ctx;
    session->watch.interval_ms = interval_ms == 0 ? 1 : interval_ms;
}

void session_notify(Session *session, const char *severity, const char *sqlstate, const char *format, ...)
{
    if (session->notice == NULL) return;
    char message[ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    session->notice(session->notice_ctx, severity, sqlstate, message);
}

const char *session_tag(const char *tag, uint64_t rows, char buffer[SESSION_TAG_MAX])
{
    static const char *const counted[] = {"SELECT", "UPDATE", "DELETE", "COPY", "MERGE"};
    unsigned long long n = rows;
    if (strcmp(tag, "INSERT") == 0) {
        snprintf(buffer, SESSION_TAG_MAX, "INSERT 0 %llu", n);
        return buffer;
    }
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        if (strcmp(tag, counted[i]) == 0) {
            snprintf(buffer, SESSION_TAG_MAX, "%s %llu", tag, n);
            return buffer;
        }
    }
    snprintf(buffer, SESSION_TAG_MAX, "%s", tag);
    return buffer;
}

static tcudb_status run_ast(Run *run, void *ctx, Error *err)
{
    const Ast *ast = ctx;
    Stmt *stmt = NULL;
    TRY(session_bind_to_run(run, ast, NULL, 0, &stmt, err));
    assert(stmt != NULL);
    if (stmt->nparams > 0 && stmt->kind != STMT_PREPARE)
        return error_at(err, SQLSTATE_UNDEFINED_PARAMETER, stmt->param_position, "there is no parameter $%d",
                        stmt->param_number);
    run->stmt = stmt;
    run->tag = stmt->tag;
    return session_dispatch(run, err);
}

static tcudb_status run_parsed(Session *session, Ast *ast, const SessionSink *sink, Error *err)
{
    Arena arena;
    arena_init(&arena, db_mem(session->instance->db));
    tcudb_status status = session_run_one(session, &arena, ast->text, run_ast, ast, sink, err);
    arena_free(&arena);
    return status;
}

tcudb_status session_begin_text(Session *session, const char *text, Str *sql, Error *err)
{
    watch_clear(&session->watch); /* before the text is measured: an interrupt meanwhile is meant for it */
    size_t len = strlen(text);
    if (len > INT32_MAX)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a text of %zu bytes of SQL is too long", len);
    *sql = (Str){text, (uint32_t)len};
    return TCUDB_OK;
}

tcudb_status session_run(Session *session, const char *text, const SessionSink *sink, Error *err)
{
    Str sql = {0};
    TRY(session_begin_text(session, text, &sql, err));
    Arena arena;
    arena_init(&arena, db_mem(session->instance->db));
    Ast *asts = NULL;
    uint32_t n = 0;
    tcudb_status status = sql_parse(&arena, sql, &session->watch.cancel, &asts, &n, err);
    if (status != TCUDB_OK && session->block) session->failed = true;
    for (uint32_t i = 0; i < n && status == TCUDB_OK; i++) status = run_parsed(session, &asts[i], sink, err);
    arena_free(&arena);
    return status;
}
