/*
 * chunk.c: batches -> chunks: the engine's columns as tcudb.h shows them.
 *
 * A chunk's columns are flat and dense. Where a batch already is, a streamed chunk points into it and nothing
 * is copied; dictionary and constant columns are expanded, selections are closed up. The static assertions
 * say that public and internal layouts agree, so a column is handed over by pointer.
 */
#include "api/api_int.h"

#include <assert.h>

static_assert(sizeof(tcudb_text) == sizeof(Str) && offsetof(tcudb_text, len) == offsetof(Str, len), "text");
static_assert(sizeof(tcudb_numeric) == sizeof(Num) && offsetof(tcudb_numeric, scale) == offsetof(Num, scale) &&
                  offsetof(tcudb_numeric, kind) == offsetof(Num, kind),
              "numeric");
static_assert(sizeof(tcudb_int128) == sizeof(int128), "int128");
static_assert(sizeof(tcudb_interval) == sizeof(Interval) && offsetof(tcudb_interval, days) == offsetof(Interval, days),
              "interval");
static_assert(TCUDB_TYPE_BOOL == (int)TYPE_BOOL && TCUDB_TYPE_NUMERIC == (int)TYPE_NUMERIC &&
                  TCUDB_TYPE_INTERVAL == (int)TYPE_INTERVAL && TCUDB_TYPE_BPCHAR == (int)TYPE_BPCHAR,
              "type ids");

tcudb_status api_infos(Arena *arena, const PlanCol *cols, uint32_t n, tcudb_column_info **out, Error *err)
{
    tcudb_column_info *infos = ARENA_ARRAY(arena, tcudb_column_info, n == 0 ? 1 : n, err);
    TRY_PTR(infos);
    for (uint32_t i = 0; i < n; i++) {
        char buffer[TYPE_NAME_MAX];
        Type type = cols[i].type;
        if (type.id == TYPE_UNKNOWN || type.id == TYPE_NONE) type = TYPE(TYPE_TEXT);
        type_name(type, buffer);
        char *name = arena_strndup(arena, cols[i].name, strlen(cols[i].name), err);
        TRY_PTR(name);
        char *type_text = arena_strndup(arena, buffer, strlen(buffer), err);
        TRY_PTR(type_text);
        infos[i] = (tcudb_column_info){.name = name,
                                       .type_name = type_text,
                                       .type = (tcudb_type_id)type.id,
                                       .precision = type.id == TYPE_NUMERIC ? type.precision : 0,
                                       .scale = type.scale,
                                       .length = type.length};
    }
    *out = infos;
    return TCUDB_OK;
}

Type api_type(const tcudb_column_info *info)
{
    return (Type){
        .id = (uint8_t)info->type, .precision = info->precision, .scale = info->scale, .length = info->length};
}

static tcudb_status flatten(Arena *arena, const Batch *in, Batch *out, Error *err)
{
    *out = *in;
    out->cols = ARENA_ARRAY(arena, Vector, in->ncols == 0 ? 1 : in->ncols, err);
    TRY_PTR(out->cols);
    for (uint32_t c = 0; c < in->ncols; c++)
        TRY(vec_flatten(arena, &in->cols[c], in->sel, in->n, in->rows, &out->cols[c], err));
    return TCUDB_OK;
}

tcudb_status api_chunk(Arena *arena, Arena *scratch, const Batch *batch, bool copy, const tcudb_column_info *infos,
                       tcudb_chunk *out, Error *err)
{
    Batch flat;
    TRY(flatten(scratch, batch, &flat, err));
    Batch dense = flat;
    if (copy || flat.sel != NULL) TRY(batch_compact(arena, &flat, copy, &dense, err));
    assert(dense.sel == NULL && dense.n == batch->n);
    tcudb_column *columns = ARENA_ARRAY(arena, tcudb_column, dense.ncols == 0 ? 1 : dense.ncols, err);
    TRY_PTR(columns);
    for (uint32_t c = 0; c < dense.ncols; c++) {
        assert(dense.cols[c].form == VEC_FLAT);
        columns[c] = (tcudb_column){.info = &infos[c], .values = dense.cols[c].data, .validity = dense.cols[c].valid};
    }
    *out = (tcudb_chunk){.rows = dense.n, .ncolumns = dense.ncols, .columns = columns};
    return TCUDB_OK;
}

void api_report(const char *tag, const ExecReport *report, char buffer[SESSION_TAG_MAX], tcudb_report *out)
{
    *out = (tcudb_report){
        .tag = session_tag(tag, report->rows, buffer),
        .rows = report->rows,
        .engine = report->engine,
        .why = report->why,
        .exact = report->exact,
        .seconds = report->seconds,
        .peak_bytes = report->peak_bytes,
    };
}

/* ---- text form ----------------------------------------------------------------------------- */

static Value column_value(const tcudb_column *column, uint64_t row)
{
    Value value = {.type = api_type(column->info)};
    size_t size = phys_size(type_phys(value.type));
    memcpy(&value.b, (const char *)column->values + row * size, size);
    return value;
}

static size_t copy_out(const char *text, size_t len, char *buffer, size_t size)
{
    if (size == 0) return len;
    size_t n = len < size - 1 ? len : size - 1;
    if (n > 0) memcpy(buffer, text, n);
    buffer[n] = '\0';
    return len;
}

/* Whole numbers are most of what is printed: without a buffer of their own. */
static bool format_integer(const tcudb_column *column, uint64_t row, char *buffer, size_t size, size_t *len)
{
    int64_t value = 0;
    switch (column->info->type) {
    case TCUDB_TYPE_INT2: value = ((const int16_t *)column->values)[row]; break;
    case TCUDB_TYPE_INT4: value = ((const int32_t *)column->values)[row]; break;
    case TCUDB_TYPE_INT8: value = ((const int64_t *)column->values)[row]; break;
    default: return false;
    }
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0) digits[--at] = '-';
    *len = copy_out(digits + at, sizeof digits - at, buffer, size);
    return true;
}

size_t tcudb_format(const tcudb_chunk *chunk, uint32_t column, uint64_t row, char *buffer, size_t size)
{
    if (chunk == NULL || column >= chunk->ncolumns || row >= chunk->rows || (buffer == NULL && size > 0))
        return SIZE_MAX;
    if (tcudb_is_null(chunk, column, row)) return copy_out("", 0, buffer, size);
    const tcudb_column *col = &chunk->columns[column];
    if (col->info->type == TCUDB_TYPE_TEXT || col->info->type == TCUDB_TYPE_VARCHAR) {
        const tcudb_text *text = (const tcudb_text *)col->values + row;
        return copy_out(text->ptr, text->len, buffer, size);
    }
    size_t n = SIZE_MAX;
    if (format_integer(col, row, buffer, size, &n)) return n;
    Buf buf;
    buf_init(&buf, NULL);
    Value value = column_value(col, row);
    if (value_print(&value, &buf, NULL) == TCUDB_OK) n = copy_out(buf.data, buf.len, buffer, size);
    buf_free(&buf);
    return n;
}
