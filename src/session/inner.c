/*
 * inner.c: statements that a statement runs inside itself, and the names and definitions they are written with.
 *
 * COPY into a table with keys or checks goes through a table of the same columns without them, and from there with an
 * INSERT that enforces them; ALTER TABLE moves rows from the old table to the new in the same way. All of it happens
 * in the outer statement's transaction, under its savepoint.
 */
#include "session/session_int.h"

#include <assert.h>

tcudb_status session_run_inner(Run *run, const char *sql, Error *err)
{
    return session_run_inner_into(run, sql, session_drop_batch, NULL, err);
}

tcudb_status session_run_inner_into(Run *run, const char *sql, ExecSink batch, void *ctx, Error *err)
{
    return session_run_inner_counted(run, sql, batch, ctx, NULL, err);
}

tcudb_status session_run_inner_counted(Run *run, const char *sql, ExecSink batch, void *ctx, uint64_t *rows, Error *err)
{
    Ast *ast = NULL;
    Stmt *stmt = NULL;
    uint32_t n = 0;
    TRY(sql_parse(run->arena, str_of(sql), &run->session->watch.cancel, &ast, &n, err));
    assert(n == 1);
    TRY(session_bind_own(run, ast, &stmt, err));
    Run inner = *run;
    inner.stmt = stmt;
    tcudb_status status = session_run_plan_into(&inner, stmt, stmt->plan, batch, ctx, err);
    if (status != TCUDB_OK && err != NULL) err->position = 0; /* it would point into our own text */
    if (rows != NULL) *rows = inner.report.rows;
    return status;
}

/* ---- constraints as SQL ---------------------------------------------------------------------- */

static tcudb_status key_text(const TableDef *def, const KeyDef *key, Buf *buf, Error *err)
{
    TRY(buf_printf(buf, err, "CONSTRAINT "));
    TRY(text_quote_name(key->name, buf, err));
    TRY(buf_printf(buf, err, key->primary ? " PRIMARY KEY (" : " UNIQUE ("));
    for (uint32_t i = 0; i < key->ncols; i++) {
        if (i > 0) TRY(buf_printf(buf, err, ", "));
        TRY(text_quote_name(def->cols[key->cols[i]].name, buf, err));
    }
    return buf_printf(buf, err, ")");
}

static tcudb_status constraints(const TableDef *def, Buf *buf, Error *err)
{
    for (uint32_t i = 0; i < def->nkeys; i++) {
        if (note_only_index(def, &def->keys[i])) continue;
        if (buf->len > 0) TRY(buf_printf(buf, err, ", "));
        TRY(key_text(def, &def->keys[i], buf, err));
    }
    for (uint32_t i = 0; i < def->nchecks; i++) {
        TRY(buf_printf(buf, err, buf->len > 0 ? ", CONSTRAINT " : "CONSTRAINT "));
        TRY(text_quote_name(def->checks[i].name, buf, err));
        TRY(buf_printf(buf, err, " CHECK (" STR_FMT ")", STR_ARG(def->checks[i].sql)));
    }
    return TCUDB_OK;
}

tcudb_status session_constraints_text(Arena *arena, const TableDef *def, Str *out, Error *err)
{
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = constraints(def, &buf, err);
    char *copy = NULL;
    if (status == TCUDB_OK && buf.len > 0) {
        copy = arena_strndup(arena, buf.data, buf.len, err);
        if (copy == NULL) status = TCUDB_NOMEM;
    }
    *out = (Str){copy, copy == NULL ? 0 : (uint32_t)buf.len};
    buf_free(&buf);
    return status;
}
