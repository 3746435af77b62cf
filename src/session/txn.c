/*
 * txn.c: BEGIN, COMMIT, ROLLBACK, savepoints, and what they do to settings.
 *
 * Settings are transactional as in PostgreSQL: three copies of the (flat) Settings struct make that a
 * matter of assignment. `settings` is in force, ROLLBACK returns to `at_begin`, COMMIT leaves `at_commit`,
 * which SET writes as well but SET LOCAL does not.
 */
#include "session/session_int.h"

#include <assert.h>
#include <time.h>

enum { EPOCH_2000 = 946684800 };

/* Transactions see one snapshot, which is more than READ COMMITTED asks for, and less than SERIALIZABLE. */
static int64_t given_level(int64_t asked)
{
    enum { REPEATABLE_READ = 1 };
    return asked < REPEATABLE_READ ? REPEATABLE_READ : asked;
}

tcudb_status session_begin(Session *session, bool block, Error *err)
{
    assert(session->txn == NULL);
    Db *db = session->instance->db;
    db_set_lock_timeout(
        db, (uint32_t)(session->settings.lock_timeout > UINT32_MAX ? UINT32_MAX : session->settings.lock_timeout));
    TRY(txn_begin(db, &session->txn, err));
    txn_set_cancel(session->txn, &session->watch.cancel);
    tcudb_status status = session->temp == NULL ? TCUDB_OK : session_attach_temp(session, err);
    if (status != TCUDB_OK) {
        txn_rollback(session->txn);
        session->txn = NULL;
        return status;
    }
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    session->now = ((int64_t)at.tv_sec - EPOCH_2000) * 1000000 + at.tv_nsec / 1000;
    session->block = block;
    session->failed = false;
    session->queried = false;
    session->settings.read_only_now = 0; /* but to temporary tables */
    session->settings.isolation_now = given_level(session->settings.isolation);
    session->at_begin = session->at_commit = session->settings;
    return TCUDB_OK;
}

static void forget_points(Session *session, uint32_t keep)
{
    while (session->npoints > keep) {
        char *name = session->points[--session->npoints].name;
        mem_free(NULL, name, strlen(name) + 1);
    }
}

static void ended(Session *session)
{
    session->txn = NULL;
    session->block = false;
    session->failed = false;
    forget_points(session, 0);
}

void session_free_points(Session *session)
{
    forget_points(session, 0);
    mem_free(NULL, session->points, session->cap_points * sizeof *session->points);
    session->points = NULL;
    session->cap_points = 0;
}

/* Ends the transaction in any case. */
static tcudb_status commit(Session *session, Error *err)
{
    tcudb_status status = session_sequences_lost(session) ? session_put_back_sequences(session, err) : TCUDB_OK;
    bool wrote = txn_has_writes(session->txn);
    if (status == TCUDB_OK) status = session_commit_temp(session, err);
    if (status == TCUDB_OK)
        status = txn_commit(session->txn, err);
    else
        txn_rollback(session->txn);
    session->settings = status == TCUDB_OK ? session->at_commit : session->at_begin;
    if (status == TCUDB_OK)
        session_sequences_committed(session);
    else
        session_sequences_undone(session, 0);
    ended(session);
    if (status != TCUDB_OK || !wrote) return status;
    Error maintain;
    tcudb_status upkeep = db_maintain(session->instance->db, &session->watch.cancel, &maintain);
    if (upkeep != TCUDB_OK && upkeep != TCUDB_INTERRUPTED) /* interrupted, the next commit does it */
        session_notify(session, "WARNING", maintain.sqlstate, "could not fold the log: %s", maintain.message);
    return status;
}

static void roll_back(Session *session)
{
    txn_rollback(session->txn);
    session_sequences_undone(session, 0);
    bool limit_changed = session->settings.memory_limit != session->at_begin.memory_limit;
    session->settings = session->at_begin;
    if (limit_changed) session_apply_memory_limit(session);
    ended(session);
}

/* After a transaction was undone, another writes what sequences gave meanwhile. Where that fails, the session goes on
 * from what it remembers. */
static void keep_numbers(Session *session)
{
    Error err = {0};
    if (!session_sequences_lost(session) || session_begin(session, false, &err) != TCUDB_OK) return;
    txn_set_cancel(session->txn, NULL);
    if (session_put_back_sequences(session, &err) == TCUDB_OK)
        (void)commit(session, &err);
    else
        roll_back(session);
}

tcudb_status session_commit(Session *session, Error *err)
{
    tcudb_status status = commit(session, err);
    if (status != TCUDB_OK) keep_numbers(session);
    return status;
}

void session_rollback(Session *session)
{
    roll_back(session);
    keep_numbers(session);
}

static tcudb_status run_begin(Run *run, Error *err)
{
    Session *session = run->session;
    if (session->block)
        session_notify(session, "WARNING", SQLSTATE_ACTIVE_SQL_TRANSACTION,
                       "there is already a transaction in progress");
    session->block = true;
    session->settings.read_only_now |= run->stmt->read_only;
    return run->stmt->isolation.len == 0 ? TCUDB_OK : session_set_isolation(session, run->stmt->isolation, err);
}

tcudb_status session_set_isolation(Session *session, Str level, Error *err)
{
    Settings next = session->settings;
    TRY(settings_set(&next, STR_LIT("transaction_isolation"), level, err));
    next.isolation_now = given_level(next.isolation_now);
    if (next.isolation_now == session->settings.isolation_now) return TCUDB_OK;
    if (session->queried)
        return error_set(err, SQLSTATE_ACTIVE_SQL_TRANSACTION,
                         "SET TRANSACTION ISOLATION LEVEL must be called before any query");
    if (session->npoints > 0)
        return error_set(err, SQLSTATE_ACTIVE_SQL_TRANSACTION,
                         "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
    session->settings = next;
    return TCUDB_OK;
}

static tcudb_status become_read_write(Session *session, Error *err)
{
    if (!session->settings.read_only_now) return TCUDB_OK;
    if (session->npoints > 0)
        return error_set(err, SQLSTATE_ACTIVE_SQL_TRANSACTION,
                         "cannot set transaction read-write mode inside a read-only transaction");
    if (session->queried)
        return error_set(err, SQLSTATE_ACTIVE_SQL_TRANSACTION,
                         "transaction read-write mode must be set before any query");
    session->settings.read_only_now = 0;
    return TCUDB_OK;
}

tcudb_status session_set_access(Session *session, bool read_only, Error *err)
{
    if (!read_only) return become_read_write(session, err);
    session->settings.read_only_now = 1;
    return TCUDB_OK;
}

/* SET TRANSACTION ...: to the transaction's end. */
tcudb_status session_set_modes(Run *run, Error *err)
{
    Session *session = run->session;
    if (!session->block)
        session_notify(session, "WARNING", SQLSTATE_NO_ACTIVE_SQL_TRANSACTION,
                       "SET TRANSACTION can only be used in transaction blocks");
    if (run->stmt->isolation.len > 0) TRY(session_set_isolation(session, run->stmt->isolation, err));
    bool access = run->stmt->read_only || run->stmt->read_write;
    return access ? session_set_access(session, run->stmt->read_only, err) : TCUDB_OK;
}

static void warn_no_block(Session *session)
{
    session_notify(session, "WARNING", SQLSTATE_NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
}

static tcudb_status run_commit(Run *run, Error *err)
{
    Session *session = run->session;
    if (!session->block) warn_no_block(session);
    if (!session->failed) return session_commit(session, err);
    run->tag = "ROLLBACK";
    session_rollback(session);
    return TCUDB_OK;
}

static tcudb_status run_rollback(Run *run)
{
    if (!run->session->block) warn_no_block(run->session);
    session_rollback(run->session);
    return TCUDB_OK;
}

static tcudb_status add_point(Session *session, Str name, Error *err)
{
    if (session->npoints == session->cap_points) {
        uint32_t cap = session->cap_points == 0 ? 4 : session->cap_points * 2;
        Point *points =
            mem_realloc(NULL, session->points, session->cap_points * sizeof *points, cap * sizeof *points, err);
        TRY_PTR(points);
        session->points = points;
        session->cap_points = cap;
    }
    char *copy = mem_alloc(NULL, name.len + 1, err);
    TRY_PTR(copy);
    memcpy(copy, name.ptr, name.len);
    copy[name.len] = '\0';
    session->points[session->npoints++] =
        (Point){copy, txn_savepoint(session->txn), session->settings, session->at_commit};
    return TCUDB_OK;
}

static tcudb_status find_point(const Session *session, Str name, uint32_t *out, Error *err)
{
    for (uint32_t i = session->npoints; i-- > 0;) {
        if (str_equal(str_of(session->points[i].name), name)) {
            *out = i;
            return TCUDB_OK;
        }
    }
    return error_set(err, SQLSTATE_INVALID_SAVEPOINT_SPECIFICATION, "savepoint \"" STR_FMT "\" does not exist",
                     STR_ARG(name));
}

static tcudb_status need_block(const Run *run, const char *what, Error *err)
{
    if (run->session->block) return TCUDB_OK;
    return error_set(err, SQLSTATE_NO_ACTIVE_SQL_TRANSACTION, "%s can only be used in transaction blocks", what);
}

static tcudb_status run_release(Run *run, Error *err)
{
    uint32_t i = 0;
    if (run->session->failed)
        return error_set(err, SQLSTATE_IN_FAILED_SQL_TRANSACTION,
                         "current transaction is aborted, commands ignored until end of transaction block");
    TRY(need_block(run, "RELEASE SAVEPOINT", err));
    TRY(find_point(run->session, run->stmt->name, &i, err));
    forget_points(run->session, i);
    session_sequences_released(run->session, i);
    return TCUDB_OK;
}

static tcudb_status run_rollback_to(Run *run, Error *err)
{
    Session *session = run->session;
    uint32_t i = 0;
    TRY(need_block(run, "ROLLBACK TO SAVEPOINT", err));
    TRY(find_point(session, run->stmt->name, &i, err));
    txn_rollback_to(session->txn, session->points[i].at);
    session_sequences_undone(session, i + 1);
    session->settings = session->points[i].settings;
    session->at_commit = session->points[i].at_commit;
    session->failed = false;
    forget_points(session, i + 1);
    return TCUDB_OK;
}

tcudb_status session_run_txn(Run *run, Error *err)
{
    switch (run->stmt->kind) {
    case STMT_BEGIN: return run_begin(run, err);
    case STMT_COMMIT: return run_commit(run, err);
    case STMT_ROLLBACK: return run_rollback(run);
    case STMT_RELEASE: return run_release(run, err);
    case STMT_ROLLBACK_TO: return run_rollback_to(run, err);
    default: break;
    }
    assert(run->stmt->kind == STMT_SAVEPOINT);
    TRY(need_block(run, "SAVEPOINT", err));
    return add_point(run->session, run->stmt->name, err);
}
