/*
 * run.c: one statement in its transaction.
 *
 *     begin if none is open -> savepoint -> body -> commit if BEGIN did not open it -> done
 *                                             \-> on failure: back to the savepoint, block failed
 *                                                 (or everything rolled back outside a block)
 *
 * So a failed statement leaves no half of itself, inside a block or outside. `done` is called when the
 * statement's work is durable. In a failed block only statements that end it run; which those are is seen
 * by their first keyword, because binding anything else could raise a different error first.
 */
#include "session/session_int.h"

#include <assert.h>
#include <ctype.h>
#include <strings.h>
#include <time.h>

static double now_seconds(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static size_t skip_comment(Str text, size_t i)
{
    if (text.ptr[i] == '-') {
        while (i < text.len && text.ptr[i] != '\n') i++;
        return i;
    }
    int depth = 0;
    for (; i + 1 < text.len; i++) {
        if (text.ptr[i] == '/' && text.ptr[i + 1] == '*')
            depth++, i++;
        else if (text.ptr[i] == '*' && text.ptr[i + 1] == '/' && (i++, --depth == 0))
            return i + 1;
    }
    return text.len;
}

Str session_first_word(Str text)
{
    size_t i = 0;
    while (i < text.len) {
        bool comment = i + 1 < text.len && ((text.ptr[i] == '-' && text.ptr[i + 1] == '-') ||
                                            (text.ptr[i] == '/' && text.ptr[i + 1] == '*'));
        if (comment)
            i = skip_comment(text, i);
        else if (isspace((unsigned char)text.ptr[i]))
            i++;
        else
            break;
    }
    size_t end = i;
    while (end < text.len && isalpha((unsigned char)text.ptr[end])) end++;
    return (Str){text.ptr + i, (uint32_t)(end - i)};
}

bool session_word_in(Str word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (word.len == strlen(words[i]) && strncasecmp(word.ptr, words[i], word.len) == 0) return true;
    return false;
}

static bool ends_block(Str text)
{
    static const char *const words[] = {"commit", "end", "rollback", "abort"};
    return session_word_in(session_first_word(text), words, sizeof words / sizeof words[0]);
}

static tcudb_status guarded(Run *run, RunBody body, void *ctx, Error *err)
{
    Session *session = run->session;
    TRY(watch_start(&session->watch, session->settings.statement_timeout, &run->progress, err));
    tcudb_status status = body(run, ctx, err);
    watch_stop(&session->watch);
    if (status == TCUDB_INTERRUPTED && watch_check(&session->watch, err) == TCUDB_OK) return status;
    return status;
}

static void undo(Session *session, Savepoint at, const Settings *before)
{
    if (session->txn == NULL) return; /* COMMIT failed and ended it */
    if (!session->block) {
        session_rollback(session);
        return;
    }
    txn_rollback_to(session->txn, at);
    session_sequences_undone(session, session->npoints + 1);
    session->settings = *before;
    session->failed = true;
}

static void finish_report(Run *run, double start)
{
    const Mem *mem = db_mem(run->session->instance->db);
    run->report.seconds = now_seconds() - start;
    if (run->report.peak_bytes == 0) run->report.peak_bytes = atomic_load(&mem->peak);
}

tcudb_status session_run_one(Session *session, Arena *arena, Str text, RunBody body, void *ctx, const SessionSink *sink,
                             Error *err)
{
    static const SessionSink no_sink = {0};
    double start = now_seconds();
    Mem *mem = db_mem(session->instance->db);
    if (session->failed && !ends_block(text))
        return error_set(err, SQLSTATE_IN_FAILED_SQL_TRANSACTION,
                         "current transaction is aborted, commands ignored until end of transaction block");
    TRY(watch_check(&session->watch, err));
    if (session->txn == NULL) TRY(session_begin(session, false, err));
    Savepoint at = txn_savepoint(session->txn);
    Settings before = session->settings;
    atomic_store(&mem->peak, atomic_load(&mem->used));
    Run run = {.session = session, .arena = arena, .sink = sink != NULL ? sink : &no_sink, .tag = ""};
    run.report = (ExecReport){.engine = "cpu", .exact = true};
    tcudb_status status = guarded(&run, body, ctx, err);
    if (status == TCUDB_OK && session->txn != NULL && !session->block) status = session_commit(session, err);
    if (status != TCUDB_OK) {
        undo(session, at, &before);
        session_hint(session, err);
        return status;
    }
    finish_report(&run, start);
    if (run.sink->done == NULL) return TCUDB_OK;
    return run.sink->done(run.sink->ctx, run.tag, &run.report, err);
}
