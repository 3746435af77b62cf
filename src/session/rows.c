/*
 * rows.c: a small table of values, turned into batches: the results of SHOW, EXPLAIN and listings.
 */
#include "session/rows.h"

#include <assert.h>

void rows_init(Rows *rows, Arena *arena)
{
    *rows = (Rows){.arena = arena};
}

void rows_column(Rows *rows, const char *name, TypeId type)
{
    assert(rows->ncols < ROWS_MAX_COLS && rows->nrows == 0);
    rows->cols[rows->ncols] = (PlanCol){.id = rows->ncols + 1, .type = TYPE(type), .name = name};
    rows->ncols++;
}

Value *rows_add(Rows *rows, Error *err)
{
    if (rows->nrows == rows->cap) {
        uint64_t cap = rows->cap == 0 ? 16 : rows->cap * 2;
        Value *values = ARENA_ARRAY(rows->arena, Value, cap * rows->ncols, err);
        if (values == NULL) return NULL;
        if (rows->nrows > 0) memcpy(values, rows->values, rows->nrows * rows->ncols * sizeof *values);
        rows->values = values;
        rows->cap = cap;
    }
    Value *row = rows->values + rows->nrows++ * rows->ncols;
    for (uint32_t c = 0; c < rows->ncols; c++) row[c] = (Value){.type = rows->cols[c].type, .null = true};
    return row;
}

void rows_text(Value *value, Str text)
{
    value->null = false;
    value->str = text;
}

void rows_int(Value *value, int64_t number)
{
    assert(value->type.id == TYPE_INT8);
    value->null = false;
    value->i64 = number;
}

void rows_bool(Value *value, bool truth)
{
    assert(value->type.id == TYPE_BOOL);
    value->null = false;
    value->b = truth;
}

tcudb_status rows_lines(Rows *rows, Str text, Error *err)
{
    for (uint32_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        uint32_t n = end == NULL ? text.len - at : (uint32_t)(end - text.ptr) - at;
        Value *row = rows_add(rows, err);
        TRY_PTR(row);
        rows_text(&row[0], (Str){text.ptr + at, n});
        at += n + 1;
    }
    return TCUDB_OK;
}

static tcudb_status fill(const Rows *rows, uint64_t first, uint32_t n, uint32_t col, Vector *out, Error *err)
{
    TRY(vec_new(rows->arena, rows->cols[col].type, n, out, err));
    TRY(vec_need_valid(rows->arena, out, n, err));
    size_t size = phys_size((Phys)out->phys);
    for (uint32_t i = 0; i < n; i++) {
        const Value *value = &rows->values[(first + i) * rows->ncols + col];
        if (value->null)
            bit_clear(out->valid, i);
        else
            memcpy((char *)out->data + i * size, &value->b, size);
    }
    return TCUDB_OK;
}

tcudb_status rows_send(const Rows *rows, const SessionSink *sink, Error *err)
{
    if (sink->columns != NULL) TRY(sink->columns(sink->ctx, rows->cols, rows->ncols, err));
    if (sink->batch == NULL) return TCUDB_OK;
    for (uint64_t first = 0; first < rows->nrows; first += BATCH_ROWS) {
        uint64_t left = rows->nrows - first;
        uint32_t n = left < BATCH_ROWS ? (uint32_t)left : BATCH_ROWS;
        Vector cols[ROWS_MAX_COLS];
        for (uint32_t c = 0; c < rows->ncols; c++) TRY(fill(rows, first, n, c, &cols[c], err));
        Batch batch = {.rows = n, .n = n, .ncols = rows->ncols, .cols = cols};
        TRY(sink->batch(sink->ctx, &batch, err));
    }
    return TCUDB_OK;
}
