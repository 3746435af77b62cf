/*
 * reference_rows.c: the values of rows that are added, and keys that become others, kept while a statement runs.
 *
 * A few rows that are added are then looked up as they are, instead of all of the table's. Keys that move must be kept,
 * since nothing in the tables says afterwards which one became which; from MOVED_MAX on they are as if not known.
 */
#include "session/reference_rows.h"

#include <assert.h>

enum { FEW_ROWS = 1000, MOVED_MAX = 100000 };

/* ---- lists --------------------------------------------------------------------------------------- */

static tcudb_status room_for(Run *run, uint32_t n, ReferenceRows *out, Error *err)
{
    *out = (ReferenceRows){.arena = run->arena};
    if (n == 0) return TCUDB_OK;
    out->lists = ARENA_ARRAY(run->arena, RowList, n, err);
    return out->lists == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status add_list(ReferenceRows *rows, Str table, const Reference *r, Error *err)
{
    RowList *list = &rows->lists[rows->n];
    *list = (RowList){.table = table, .reference = r};
    buf_init(&list->list, rows->arena->mem);
    list->cols = ARENA_ARRAY(rows->arena, uint32_t, r->n, err);
    TRY_PTR(list->cols);
    rows->n++;
    return TCUDB_OK;
}

void reference_rows_free(ReferenceRows *rows)
{
    for (uint32_t i = 0; i < rows->n; i++) buf_free(&rows->lists[i].list);
    rows->n = 0;
}

/* 'x'::text */
static tcudb_status put_value(Buf *sql, const Value *value, Buf *text, Error *err)
{
    char name[TYPE_NAME_MAX];
    text->len = 0;
    if (!value->null) TRY(value_print(value, text, err));
    TRY(buf_printf(sql, err, value->null ? "NULL" : "'"));
    for (size_t i = 0; i < text->len; i++)
        TRY(buf_printf(sql, err, text->data[i] == '\'' ? "'%c" : "%c", text->data[i]));
    return buf_printf(sql, err, "%s::%s", value->null ? "" : "'", type_name(value->type, name));
}

/* The i-th value of a row in the list. */
static tcudb_status put_next(RowList *list, uint32_t i, const Value *value, Buf *text, Error *err)
{
    TRY(buf_printf(&list->list, err, "%s", i > 0 ? ", " : list->list.len == 0 ? "(" : ", ("));
    return put_value(&list->list, value, text, err);
}

typedef tcudb_status (*PutRow)(const ReferenceRows *rows, RowList *list, const Batch *batch, uint32_t row, Buf *text,
                               Error *err);

static tcudb_status put_batch(ReferenceRows *rows, const Batch *batch, PutRow put, Error *err)
{
    Buf text;
    tcudb_status status = TCUDB_OK;
    buf_init(&text, rows->arena->mem);
    for (uint32_t i = 0; i < batch->n; i++)
        for (uint32_t k = 0; k < rows->n; k++)
            TRY_GOTO(put(rows, &rows->lists[k], batch, batch_row(batch, i), &text, err));
done:
    buf_free(&text);
    return status;
}

/* ---- rows that are added -------------------------------------------------------------------------- */

/* Written out, without RETURNING or ON CONFLICT. */
bool reference_rows_few(const Plan *plan)
{
    const Plan *input = plan->kind == PLAN_INSERT ? plan->inputs[0] : NULL;
    while (input != NULL && input->kind == PLAN_PROJECT) input = input->inputs[0];
    return input != NULL && input->kind == PLAN_VALUES && input->values.kept == NULL &&
           input->values.nrows <= FEW_ROWS && plan->ncols == 0 && plan->modify.conflict == CONFLICT_FAIL;
}

tcudb_status reference_rows_added(Run *run, const TableDef *def, ReferenceRows *out, Error *err)
{
    Reference *own;
    uint32_t n;
    TRY(reference_list(run->arena, def, &own, &n, err));
    TRY(room_for(run, n, out, err));
    for (uint32_t i = 0; i < n; i++) {
        TRY(add_list(out, def->name, &own[i], err));
        uint32_t *cols = out->lists[i].cols;
        for (uint32_t k = 0; k < own[i].n; k++)
            while (!str_equal(def->cols[cols[k]].name, own[i].cols[k])) cols[k]++;
    }
    return TCUDB_OK;
}

static tcudb_status add_row(const ReferenceRows *rows, RowList *list, const Batch *batch, uint32_t row, Buf *text,
                            Error *err)
{
    uint32_t nulls = 0, n = list->reference->n;
    (void)rows;
    for (uint32_t i = 0; i < n; i++) nulls += vec_is_null(&batch->cols[list->cols[i]], row);
    if (nulls > 0 && !(list->reference->full && nulls < n)) return TCUDB_OK; /* refers to nothing */
    for (uint32_t i = 0; i < n; i++) {
        Value value = vec_value(&batch->cols[list->cols[i]], row);
        TRY(put_next(list, i, &value, text, err));
    }
    return buf_printf(&list->list, err, ")");
}

tcudb_status reference_rows_add(void *ctx, const Batch *batch, Error *err)
{
    return put_batch(ctx, batch, add_row, err);
}

/* ---- keys that become others ------------------------------------------------------------------------ */

tcudb_status reference_rows_moved(Run *run, const Stmt *stmt, ReferenceRows *out, Error *err)
{
    const TableDef *def = table_def(txn_table(run->session->txn, stmt->name));
    Referring *list;
    uint32_t n;
    TRY(session_referring(run, stmt->name, &list, &n, err));
    TRY(room_for(run, n, out, err));
    out->moved = stmt->nmoved;
    for (uint32_t i = 0; i < n; i++) {
        const Reference *r = &list[i].reference;
        if (r->on_update != REFERENCE_CASCADE) continue;
        TRY(add_list(out, list[i].table, r, err));
        uint32_t *cols = out->lists[out->n - 1].cols;
        for (uint32_t k = 0; k < r->n; k++)
            while (!str_equal(def->cols[stmt->moved_columns[cols[k]]].name, r->keys[k])) cols[k]++;
    }
    return TCUDB_OK;
}

/* The old key, then the new one; nothing if they are the same. */
static tcudb_status move_row(const ReferenceRows *rows, RowList *list, const Batch *batch, uint32_t row, Buf *text,
                             Error *err)
{
    bool same = true;
    const uint32_t n = list->reference->n;
    for (uint32_t i = 0; i < n; i++) {
        Value old = vec_value(&batch->cols[list->cols[i]], row);
        Value new = vec_value(&batch->cols[rows->moved + list->cols[i]], row);
        if (old.null) return TCUDB_OK; /* nothing refers to it */
        same = same && !new.null &&value_compare(&old, &new) == 0;
    }
    if (same) return TCUDB_OK;
    for (uint32_t i = 0; i < 2 * n; i++) {
        Value value = vec_value(&batch->cols[(i < n ? 0 : rows->moved) + list->cols[i % n]], row);
        TRY(put_next(list, i, &value, text, err));
    }
    return buf_printf(&list->list, err, ")");
}

tcudb_status reference_rows_move(void *ctx, const Batch *batch, Error *err)
{
    ReferenceRows *rows = ctx;
    rows->rows += batch->n;
    return rows->rows > MOVED_MAX ? TCUDB_OK : put_batch(rows, batch, move_row, err);
}

const RowList *reference_rows_find(const ReferenceRows *rows, Str table, const Reference *reference)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (str_equal(rows->lists[i].table, table) && str_equal(rows->lists[i].reference->name, reference->name))
            return rows->rows > MOVED_MAX || rows->lists[i].list.len == 0 ? NULL : &rows->lists[i];
    return NULL;
}
