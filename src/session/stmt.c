/*
 * stmt.c: from a bound statement to the function that carries it out.
 */
#include "session/session_int.h"
#include "files/files.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

tcudb_status session_bind(Run *run, const Ast *ast, const Type *types, uint32_t ntypes, Stmt **out, Error *err)
{
    Session *session = run->session;
    BindEnv env = {
        .txn = session->txn,
        .settings = &session->settings,
        .now = session->now,
        .find_table_func = files_find_table_func,
        .param_types = types,
        .nparam_types = ntypes,
        .cancel = &session->watch.cancel,
        .own_text = run->own_text,
        .edits = run->edits,
    };
    return bind_statement(run->arena, &env, ast, out, err);
}

tcudb_status session_bind_own(Run *run, const Ast *ast, Stmt **out, Error *err)
{
    Run own = *run;
    own.own_text = true;
    return session_bind(&own, ast, NULL, 0, out, err);
}

static bool query_writes(const Stmt *stmt)
{
    return stmt->plan != NULL && plan_writes(stmt->plan);
}

static bool stmt_writes(const Stmt *stmt)
{
    switch (stmt->kind) {
    case STMT_QUERY: return query_writes(stmt) || stmt->advances || stmt->nsteps > 0;
    case STMT_CREATE_TABLE:
    case STMT_CREATE_VIEW:
    case STMT_DROP:
    case STMT_TRUNCATE:
    case STMT_ALTER_RENAME:
    case STMT_ALTER_TABLE:
    case STMT_COPY_FROM:
    case STMT_CREATE_SEQUENCE:
    case STMT_ALTER_SEQUENCE:
    case STMT_NOTE:
    case STMT_CALL: return true;
    case STMT_EXPLAIN: return query_writes(stmt->inner) || stmt->advances;
    default: return false;
    }
}

/* The write lock, with PostgreSQL's words when the database is open for reading only. */
static tcudb_status lock(Run *run, const Ast *ast, Error *err)
{
    Str word = session_first_word(ast->text);
    tcudb_status status = txn_lock(run->session->txn, err);
    run->locked = status == TCUDB_OK;
    if (status == TCUDB_OK || err == NULL || strcmp(err->sqlstate, SQLSTATE_READ_ONLY_SQL_TRANSACTION) != 0)
        return status;
    char verb[32];
    snprintf(verb, sizeof verb, STR_FMT, STR_ARG(word));
    for (char *c = verb; *c != '\0'; c++) *c = (char)toupper((unsigned char)*c);
    Error reason = *err;
    error_set(err, reason.sqlstate, "cannot execute %s in a read-only transaction", verb);
    error_detail(err, "%c%s.", toupper((unsigned char)reason.message[0]), reason.message + 1);
    return status;
}

/* Whether a temporary table may be what it writes: known only when it is bound. */
static bool may_write_temp(const Session *session, Str text)
{
    static const char *const temp[] = {"temp", "temporary", "local", "global"};
    Str word = session_first_word(text);
    Str rest = {word.ptr + word.len, text.len - (uint32_t)(word.ptr + word.len - text.ptr)};
    return txn_has_temp(session->txn) || session_word_in(session_first_word(rest), temp, sizeof temp / sizeof temp[0]);
}

/* BEGIN READ ONLY: temporary tables may be filled, but not made. */
static tcudb_status check_read_only(const Run *run, const Stmt *stmt, Error *err)
{
    bool fills = stmt->kind == STMT_QUERY || stmt->kind == STMT_COPY_FROM;
    if (!run->session->settings.read_only_now || !stmt_writes(stmt)) return TCUDB_OK;
    if (fills && session_writes_temp(run->session, stmt)) return TCUDB_OK;
    const char *tag = stmt->kind != STMT_CREATE_TABLE ? stmt->tag
                      : stmt->plan == NULL            ? "CREATE TABLE"
                                                      : "CREATE TABLE AS";
    return error_set(err, SQLSTATE_READ_ONLY_SQL_TRANSACTION, "cannot execute %s in a read-only transaction", tag);
}

tcudb_status session_bind_to_run(Run *run, const Ast *ast, const Type *types, uint32_t ntypes, Stmt **out, Error *err)
{
    static const char *const writers[] = {"insert",   "update", "delete", "create", "drop",
                                          "truncate", "alter",  "call",   "merge"};
    bool writes = session_word_in(session_first_word(ast->text), writers, sizeof writers / sizeof writers[0]);
    if (writes && !run->session->settings.read_only_now && !may_write_temp(run->session, ast->text))
        TRY(lock(run, ast, err));
    TRY(session_bind(run, ast, types, ntypes, out, err));
    TRY(check_read_only(run, *out, err));
    if (run->locked || !stmt_writes(*out) || session_writes_temp(run->session, *out)) return TCUDB_OK;
    TRY(lock(run, ast, err));
    return session_bind(run, ast, types, ntypes, out, err);
}

static tcudb_status run_plans(Run *run, References *references, Error *err)
{
    const Stmt *stmt = run->stmt;
    bool done = false;
    TRY(session_run_steps(run, err));
    if (stmt->merge) return TCUDB_OK;
    assert(stmt->plan != NULL);
    if (stmt_returns_rows(stmt)) TRY(session_columns(run->sink, stmt->plan->cols, stmt->plan->ncols, err));
    TRY(session_references_run(references, stmt, &done, err));
    return done ? TCUDB_OK : session_run_plan(run, stmt, stmt->plan, err);
}

static tcudb_status run_query(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    References *references;
    if (stmt->set_name.ptr != NULL)
        TRY(session_set_to(run->session, stmt->set_name, stmt->set_value, stmt->set_local, err));
    TRY(session_references_begin(run, stmt, &references, err));
    tcudb_status status = run_plans(run, references, err);
    bool nothing = run->report.rows == 0 && stmt->nsteps == 0;
    if (status == TCUDB_OK && !nothing) return session_references_end(references, err);
    session_references_free(references);
    return status;
}

/* Looks at the database, other than what begins, ends and sets. */
static bool is_query(StmtKind kind)
{
    return kind <= STMT_COPY_TO || kind == STMT_PREPARE || kind == STMT_EXECUTE || kind == STMT_EXPLAIN ||
           kind == STMT_CALL;
}

tcudb_status session_dispatch(Run *run, Error *err)
{
    run->session->queried |= is_query(run->stmt->kind);
    switch (run->stmt->kind) {
    case STMT_QUERY: return run_query(run, err);
    case STMT_CREATE_TABLE: return session_create_table(run, err);
    case STMT_CREATE_VIEW: return session_create_view(run, err);
    case STMT_DROP: return session_drop(run, err);
    case STMT_TRUNCATE: return session_truncate(run, err);
    case STMT_ALTER_RENAME: return session_rename(run, err);
    case STMT_ALTER_TABLE: return session_alter_table(run, err);
    case STMT_COPY_FROM: return session_copy_from(run, err);
    case STMT_COPY_TO: return session_copy_to(run, err);
    case STMT_BEGIN:
    case STMT_COMMIT:
    case STMT_ROLLBACK:
    case STMT_SAVEPOINT:
    case STMT_RELEASE:
    case STMT_ROLLBACK_TO: return session_run_txn(run, err);
    case STMT_SET: return session_set(run, err);
    case STMT_RESET: return session_reset(run, err);
    case STMT_SHOW: return session_show(run, err);
    case STMT_PREPARE: return session_prepare_named(run, err);
    case STMT_EXECUTE: return session_execute_named(run, err);
    case STMT_DEALLOCATE: return session_deallocate(run, err);
    case STMT_EXPLAIN: return session_explain(run, err);
    case STMT_CALL: return session_call(run, err);
    case STMT_CREATE_SEQUENCE: return session_create_sequence(run, err);
    case STMT_ALTER_SEQUENCE: return session_alter_sequence(run, err);
    case STMT_NOTE: return session_note(run, err);
    case STMT_SET_MODES: return session_set_modes(run, err);
    case STMT_DISCARD: return session_discard(run, err);
    case STMT_NOTHING: return TCUDB_OK;
    }
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "unknown kind of statement %d", (int)run->stmt->kind);
}
