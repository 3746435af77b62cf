/*
 * satisfy.c: whether a table's rows satisfy another definition of it, asked by queries:
 *
 *     SET NOT NULL, PRIMARY KEY    SELECT 1 FROM t WHERE c IS NULL LIMIT 1
 *     UNIQUE (a, b)                SELECT 1 FROM t WHERE a IS NOT NULL AND b IS NOT NULL
 *                                  GROUP BY a, b HAVING count(*) > 1 LIMIT 1
 *     CHECK (e)                    SELECT 1 FROM t WHERE NOT (e) LIMIT 1
 *
 * Only what the table's present definition does not promise is asked. Which row is wrong the caller finds out by
 * making the table anew, where PostgreSQL's error comes from. Cost: a scan or a grouping for each new constraint.
 */
#include "session/session_int.h"

static tcudb_status note_row(void *ctx, const Batch *batch, Error *err)
{
    bool *found = ctx;
    (void)err;
    *found = *found || batch->n > 0;
    return TCUDB_OK;
}

/* *ok = false if the text's query has a row. */
static tcudb_status ask(Run *run, const Buf *text, bool *ok, Error *err)
{
    bool found = false;
    char *sql = arena_strndup(run->arena, text->data, text->len, err);
    TRY_PTR(sql);
    TRY(session_run_inner_into(run, sql, note_row, &found, err));
    *ok = *ok && !found;
    return TCUDB_OK;
}

static tcudb_status from_table(Buf *buf, Str table, Error *err)
{
    buf->len = 0;
    TRY(buf_printf(buf, err, "SELECT 1 FROM "));
    TRY(text_quote_name(table, buf, err));
    return buf_printf(buf, err, " WHERE ");
}

static tcudb_status ask_not_null(Run *run, const TableDef *old, uint32_t col, Buf *buf, bool *ok, Error *err)
{
    if (old->cols[col].not_null) return TCUDB_OK;
    TRY(from_table(buf, old->name, err));
    TRY(text_quote_name(old->cols[col].name, buf, err));
    TRY(buf_printf(buf, err, " IS NULL LIMIT 1"));
    return ask(run, buf, ok, err);
}

static tcudb_status key_columns(const TableDef *old, const KeyDef *key, const char *after, const char *between,
                                Buf *buf, Error *err)
{
    for (uint32_t i = 0; i < key->ncols; i++) {
        if (i > 0) TRY(buf_printf(buf, err, "%s", between));
        TRY(text_quote_name(old->cols[key->cols[i]].name, buf, err));
        TRY(buf_printf(buf, err, "%s", after));
    }
    return TCUDB_OK;
}

static bool has_key(const TableDef *old, const KeyDef *key)
{
    for (uint32_t k = 0; k < old->nkeys; k++) {
        bool same = old->keys[k].ncols == key->ncols;
        if (same && memcmp(old->keys[k].cols, key->cols, key->ncols * sizeof *key->cols) == 0) return true;
    }
    return false;
}

static tcudb_status ask_key(Run *run, const TableDef *old, const KeyDef *key, Buf *buf, bool *ok, Error *err)
{
    for (uint32_t i = 0; i < key->ncols && key->primary && *ok; i++)
        TRY(ask_not_null(run, old, key->cols[i], buf, ok, err));
    if (!*ok || has_key(old, key)) return TCUDB_OK;
    TRY(from_table(buf, old->name, err));
    TRY(key_columns(old, key, " IS NOT NULL", " AND ", buf, err));
    TRY(buf_printf(buf, err, " GROUP BY "));
    TRY(key_columns(old, key, "", ", ", buf, err));
    TRY(buf_printf(buf, err, " HAVING count(*) > 1 LIMIT 1"));
    return ask(run, buf, ok, err);
}

static tcudb_status ask_check(Run *run, const TableDef *old, const CheckDef *check, Buf *buf, bool *ok, Error *err)
{
    for (uint32_t i = 0; i < old->nchecks; i++)
        if (str_equal(old->checks[i].sql, check->sql)) return TCUDB_OK;
    TRY(from_table(buf, old->name, err));
    TRY(buf_printf(buf, err, "NOT (" STR_FMT ") LIMIT 1", STR_ARG(check->sql)));
    return ask(run, buf, ok, err);
}

static tcudb_status ask_all(Run *run, const TableDef *old, const TableDef *def, Buf *buf, bool *ok, Error *err)
{
    for (uint32_t c = 0; c < def->ncols && *ok; c++)
        if (def->cols[c].not_null) TRY(ask_not_null(run, old, c, buf, ok, err));
    for (uint32_t k = 0; k < def->nkeys && *ok; k++) TRY(ask_key(run, old, &def->keys[k], buf, ok, err));
    for (uint32_t i = 0; i < def->nchecks && *ok; i++) TRY(ask_check(run, old, &def->checks[i], buf, ok, err));
    return TCUDB_OK;
}

tcudb_status session_rows_satisfy(Run *run, Str table, const TableDef *def, bool *ok, Error *err)
{
    Buf buf;
    const Table *now = txn_table(run->session->txn, table);
    *ok = now != NULL;
    if (!*ok) return TCUDB_OK;
    buf_init(&buf, NULL);
    tcudb_status status = ask_all(run, table_def(now), def, &buf, ok, err);
    buf_free(&buf);
    return status;
}
