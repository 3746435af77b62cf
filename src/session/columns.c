/*
 * columns.c: ALTER TABLE that changes columns and keeps the others (bind/alter_sources.c, store/revise.c).
 *
 *     constants computed -> columns written -> the table has the new columns -> what its definition promises is asked
 *
 * If a value cannot be computed, or a promise does not hold, all of it is undone and *done stays false: the caller
 * makes the table anew, row by row, which finds the error that PostgreSQL reports. Other errors (memory, disk,
 * interrupts) are the statement's.
 */
#include "session/session_int.h"

#include <assert.h>

typedef struct Constants {
    Run *run;
    ColumnSource *sources;
} Constants;

static tcudb_status take_values(void *ctx, const Batch *batch, Error *err)
{
    const Constants *to = ctx;
    uint32_t c = 0;
    for (uint32_t i = 0; batch->n > 0 && i < batch->ncols; i++, c++) {
        while (to->sources[c].from != NO_COLUMN || to->sources[c].written) c++;
        Value *value = &to->sources[c].value;
        *value = vec_value(&batch->cols[i], batch_row(batch, 0));
        if (value->null || type_phys(value->type) != PHYS_STR) continue;
        value->str.ptr = arena_strndup(to->run->arena, value->str.ptr, value->str.len, err);
        TRY_PTR(value->str.ptr);
    }
    return TCUDB_OK;
}

static tcudb_status revise(Run *run, bool *holds, Error *err)
{
    const Stmt *stmt = run->stmt;
    Txn *txn = run->session->txn;
    Constants constants = {run, stmt->sources};
    if (stmt->constants != NULL) TRY(session_run_plan_into(run, stmt, stmt->constants, take_values, &constants, err));
    if (stmt->revision != NULL) {
        TRY(session_run_plan_into(run, stmt, stmt->revision, session_drop_batch, NULL, err));
    } else {
        Revision *revision;
        TRY(revision_new(txn, stmt->name, &stmt->revised, stmt->sources, &revision, err));
        TRY(revision_finish(revision, err));
    }
    run->report.rows = 0;
    return session_rows_satisfy(run, stmt->name, &stmt->table, holds, err);
}

/* The rows' fault: PostgreSQL's error says which is the first. */
static bool of_the_rows(const Error *err)
{
    return strncmp(err->sqlstate, "22", 2) == 0 || strncmp(err->sqlstate, "23", 2) == 0;
}

tcudb_status session_revise_columns(Run *run, bool *done, Error *err)
{
    Txn *txn = run->session->txn;
    Error own;
    bool holds = false;
    Savepoint before = txn_savepoint(txn);
    tcudb_status status = revise(run, &holds, &own);
    *done = status == TCUDB_OK && holds;
    if (*done) return TCUDB_OK;
    if (status != TCUDB_OK && (status != TCUDB_ERROR || !of_the_rows(&own))) {
        if (err != NULL) *err = own;
        return status;
    }
    txn_rollback_to(txn, before);
    return TCUDB_OK;
}
