/*
 * temp.c: temporary tables: a database in memory of the session's own, opened when it is first needed.
 *
 * Its transactions are part of the session's (txn_attach_temp), so everything that works on tables works on these, and
 * ROLLBACK undoes what was done to them. They end with the session. Their memory has a limit of its own, as large as
 * the database's.
 */
#include "session/session_int.h"

static tcudb_status open_temp(Session *session, Error *err)
{
    Mem *mem = db_mem(session->instance->db);
    DbOptions options = {.create = true, .temp = true, .memory_limit = atomic_load(&mem->limit)};
    return db_open(NULL, &options, &session->temp, err);
}

tcudb_status session_attach_temp(Session *session, Error *err)
{
    if (txn_has_temp(session->txn)) return TCUDB_OK;
    if (session->temp == NULL) TRY(open_temp(session, err));
    return txn_attach_temp(session->txn, session->temp, err);
}

/* Backwards, as dropping moves those behind. */
tcudb_status session_commit_temp(Session *session, Error *err)
{
    Txn *txn = session->txn;
    if (!txn_has_temp(txn)) return TCUDB_OK;
    for (uint32_t i = txn_table_count(txn); i-- > 0;) {
        const Table *table = txn_table_at(txn, i);
        const TableDef *def = table_def(table);
        if (def->temp == TEMP_DROP) TRY(txn_drop_table(txn, def->name, err));
        if (def->temp == TEMP_DELETE && table_rows(table) > 0) TRY(txn_truncate(txn, def->name, err));
    }
    return TCUDB_OK;
}

static bool all_temp(Txn *txn, const Str *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!txn_is_temp(txn, names[i])) return false;
    return true;
}

bool session_writes_temp(const Session *session, const Stmt *stmt)
{
    Txn *txn = session->txn;
    if (stmt->advances && !all_temp(txn, stmt->sequences, stmt->nsequences)) return false;
    for (uint32_t i = 0; i < stmt->nsteps; i++)
        if (!txn_is_temp(txn, stmt->steps[i].table)) return false;
    switch (stmt->kind) {
    case STMT_CREATE_SEQUENCE:
    case STMT_CREATE_TABLE: return stmt->table.temp != TEMP_NONE;
    case STMT_DROP: return !stmt->view && all_temp(txn, stmt->names, stmt->nnames);
    case STMT_TRUNCATE: return all_temp(txn, stmt->names, stmt->nnames);
    case STMT_QUERY: return !plan_writes(stmt->plan) || txn_is_temp(txn, stmt->name);
    case STMT_ALTER_SEQUENCE:
    case STMT_ALTER_RENAME:
    case STMT_ALTER_TABLE:
    case STMT_NOTE:
    case STMT_COPY_FROM: return txn_is_temp(txn, stmt->name);
    case STMT_EXPLAIN: return session_writes_temp(session, stmt->inner);
    default: return false;
    }
}

/* ---- DISCARD ------------------------------------------------------------------------------- */

static tcudb_status drop_all(Txn *txn, Error *err)
{
    if (!txn_has_temp(txn)) return TCUDB_OK;
    for (uint32_t i = txn_table_count(txn); i-- > 0;) {
        const TableDef *def = table_def(txn_table_at(txn, i));
        if (def->temp != TEMP_NONE) TRY(txn_drop_table(txn, def->name, err));
    }
    return TCUDB_OK;
}

tcudb_status session_discard(Run *run, Error *err)
{
    Session *session = run->session;
    bool all = run->stmt->flag;
    if (all && session->block)
        return error_set(err, SQLSTATE_ACTIVE_SQL_TRANSACTION, "DISCARD ALL cannot run inside a transaction block");
    if (all || str_equal(run->stmt->name, STR_LIT("temp"))) TRY(drop_all(session->txn, err));
    if (all || str_equal(run->stmt->name, STR_LIT("sequences"))) session_forget_given(session);
    if (!all) return TCUDB_OK;
    session_free_named(session);
    settings_init(&session->settings);
    session->at_commit = session->settings;
    session_apply_memory_limit(session);
    return TCUDB_OK;
}
