/*
 * arrow.c: results as Arrow C streams: one record batch a chunk.
 *
 * Columns whose layout is Arrow's already (int2, int4, int8, float4, float8, 128-bit decimals, and every
 * validity bitmap: 64-bit little-endian words are Arrow's bitmaps) are handed out in place; the array holds a
 * reference to the result. The others are converted into buffers that the array owns: booleans to bits, dates
 * and timestamps from 2000 to 1970, intervals to months, days and nanoseconds, 64-bit decimals to 128 bits,
 * text to offsets and bytes.
 *
 * Infinite dates and timestamps keep the extreme value of their integer. Each child array is released on its
 * own, as the specification demands: it counts on the result by itself and may be moved out of its parent.
 */
#include "api/api_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DAYS_1970_TO_2000 = 10957,
    ARROW_BUFFERS = 3,
};
#define MICROS_1970_TO_2000 (INT64_C(86400000000) * DAYS_1970_TO_2000)

typedef struct Stream {
    tcudb_result *result;
    uint64_t next;
    char error[ERROR_TEXT];
} Stream;

/* ---- schemas ------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; schema->children != NULL && i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child == NULL) continue;
        if (child->release != NULL) child->release(child);
        free(child);
    }
    free(schema->children);
    free((void *)schema->name);
    free(schema->private_data); /* the format, if it is not a constant */
    schema->release = NULL;
}

static bool as_text(const tcudb_column_info *info)
{
    return info->type == TCUDB_TYPE_NUMERIC && info->precision == 0;
}

static const char *format_of(const tcudb_column_info *info)
{
    switch (info->type) {
    case TCUDB_TYPE_BOOL: return "b";
    case TCUDB_TYPE_INT2: return "s";
    case TCUDB_TYPE_INT4: return "i";
    case TCUDB_TYPE_INT8: return "l";
    case TCUDB_TYPE_FLOAT4: return "f";
    case TCUDB_TYPE_FLOAT8: return "g";
    case TCUDB_TYPE_DATE: return "tdD";
    case TCUDB_TYPE_TIMESTAMP: return "tsu:";
    case TCUDB_TYPE_INTERVAL: return "tin";
    default: return "U";
    }
}

static int fill_schema(const tcudb_column_info *info, struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.flags = ARROW_FLAG_NULLABLE, .release = release_schema};
    out->format = format_of(info);
    if (info->type == TCUDB_TYPE_NUMERIC && !as_text(info)) {
        char text[32];
        snprintf(text, sizeof text, "d:%u,%u", info->precision, info->scale);
        out->format = out->private_data = strdup(text);
    }
    out->name = strdup(info->name);
    return out->name == NULL || out->format == NULL ? ENOMEM : 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const tcudb_result *result = ((Stream *)stream->private_data)->result;
    *out = (struct ArrowSchema){.format = "+s", .release = release_schema};
    out->name = strdup("");
    out->children = calloc(result->ncols == 0 ? 1 : result->ncols, sizeof *out->children);
    int rc = out->name == NULL || out->children == NULL ? ENOMEM : 0;
    for (uint32_t i = 0; i < result->ncols && rc == 0; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        out->n_children = i + 1;
        rc = out->children[i] == NULL ? ENOMEM : fill_schema(&result->infos[i], out->children[i]);
    }
    if (rc != 0) {
        release_schema(out);
        *out = (struct ArrowSchema){0};
    }
    return rc;
}

/* ---- arrays -------------------------------------------------------------------------------- */

typedef struct Holder {
    tcudb_result *result;
    void *owned[ARROW_BUFFERS]; /* to be freed */
    const void *buffers[ARROW_BUFFERS];
} Holder;

static void release_array(struct ArrowArray *array)
{
    Holder *holder = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child == NULL) continue;
        if (child->release != NULL) child->release(child);
        free(child);
    }
    free(array->children);
    if (holder != NULL) {
        for (int i = 0; i < ARROW_BUFFERS; i++) free(holder->owned[i]);
        tcudb_result_free(holder->result);
        free(holder);
    }
    array->release = NULL;
}

static int new_array(tcudb_result *result, uint64_t rows, int64_t n_buffers, struct ArrowArray *out, Holder **holder)
{
    assert(n_buffers <= ARROW_BUFFERS);
    *out = (struct ArrowArray){.length = (int64_t)rows, .n_buffers = n_buffers, .release = release_array};
    *holder = calloc(1, sizeof **holder);
    if (*holder == NULL) return ENOMEM;
    api_result_ref(result);
    (*holder)->result = result;
    out->private_data = *holder;
    out->buffers = (*holder)->buffers;
    return 0;
}

static int64_t count_nulls(const uint64_t *validity, uint64_t rows)
{
    int64_t nulls = 0;
    if (validity == NULL) return 0;
    for (uint64_t row = 0; row < rows; row++) nulls += !((validity[row >> 6] >> (row & 63)) & 1);
    return nulls;
}

static void *new_buffer(Holder *holder, int i, size_t size)
{
    holder->owned[i] = calloc(1, size == 0 ? 1 : size);
    holder->buffers[i] = holder->owned[i];
    return holder->owned[i];
}

static int fill_bool(Holder *holder, const uint8_t *in, uint64_t rows)
{
    uint8_t *out = new_buffer(holder, 1, (rows + 7) / 8);
    if (out == NULL) return ENOMEM;
    for (uint64_t row = 0; row < rows; row++) out[row / 8] |= (uint8_t)((in[row] & 1) << (row % 8));
    return 0;
}

static int fill_date(Holder *holder, const int32_t *in, uint64_t rows)
{
    int32_t *out = new_buffer(holder, 1, rows * sizeof *out);
    if (out == NULL) return ENOMEM;
    for (uint64_t row = 0; row < rows; row++)
        if (__builtin_add_overflow(in[row], DAYS_1970_TO_2000, &out[row]) || in[row] == INT32_MIN) out[row] = in[row];
    return 0;
}

static int fill_timestamp(Holder *holder, const int64_t *in, uint64_t rows)
{
    int64_t *out = new_buffer(holder, 1, rows * sizeof *out);
    if (out == NULL) return ENOMEM;
    for (uint64_t row = 0; row < rows; row++)
        if (__builtin_add_overflow(in[row], MICROS_1970_TO_2000, &out[row]) || in[row] == INT64_MIN) out[row] = in[row];
    return 0;
}

typedef struct ArrowInterval {
    int32_t months;
    int32_t days;
    int64_t nanos;
} ArrowInterval;

static int fill_interval(Holder *holder, const tcudb_column *column, uint64_t rows)
{
    const tcudb_interval *in = column->values;
    ArrowInterval *out = new_buffer(holder, 1, rows * sizeof *out);
    if (out == NULL) return ENOMEM;
    for (uint64_t row = 0; row < rows; row++) {
        out[row] = (ArrowInterval){.months = in[row].months, .days = in[row].days};
        bool null = column->validity != NULL && !((column->validity[row >> 6] >> (row & 63)) & 1);
        if (__builtin_mul_overflow(in[row].micros, 1000, &out[row].nanos) && !null) return ERANGE;
    }
    return 0;
}

static int fill_decimal(Holder *holder, const int64_t *in, uint64_t rows)
{
    int128 *out = new_buffer(holder, 1, rows * sizeof *out);
    if (out == NULL) return ENOMEM;
    for (uint64_t row = 0; row < rows; row++) out[row] = in[row];
    return 0;
}

static int fill_text(Holder *holder, const tcudb_chunk *chunk, uint32_t col)
{
    const tcudb_text *in = chunk->columns[col].values;
    int64_t *offsets = new_buffer(holder, 1, (chunk->rows + 1) * sizeof *offsets);
    if (offsets == NULL) return ENOMEM;
    for (uint64_t row = 0; row < chunk->rows; row++)
        offsets[row + 1] = offsets[row] + (tcudb_is_null(chunk, col, row) ? 0 : in[row].len);
    char *bytes = new_buffer(holder, 2, (size_t)offsets[chunk->rows]);
    if (bytes == NULL) return ENOMEM;
    for (uint64_t row = 0; row < chunk->rows; row++)
        if (offsets[row + 1] > offsets[row]) memcpy(bytes + offsets[row], in[row].ptr, in[row].len);
    return 0;
}

/* Any type, in its text form: numeric without a precision, char(n) with its blanks. */
static int fill_formatted(Holder *holder, const tcudb_chunk *chunk, uint32_t col)
{
    int64_t *offsets = new_buffer(holder, 1, (chunk->rows + 1) * sizeof *offsets);
    if (offsets == NULL) return ENOMEM;
    for (uint64_t row = 0; row < chunk->rows; row++) {
        size_t n = tcudb_format(chunk, col, row, NULL, 0);
        if (n == SIZE_MAX) return ENOMEM;
        offsets[row + 1] = offsets[row] + (int64_t)n;
    }
    char *bytes = new_buffer(holder, 2, (size_t)offsets[chunk->rows] + 1);
    if (bytes == NULL) return ENOMEM;
    for (uint64_t row = 0; row < chunk->rows; row++) {
        size_t n = (size_t)(offsets[row + 1] - offsets[row]);
        if (tcudb_format(chunk, col, row, bytes + offsets[row], n + 1) != n) return ENOMEM;
    }
    return 0;
}

static int fill_values(Holder *holder, const tcudb_chunk *chunk, uint32_t col)
{
    const tcudb_column *column = &chunk->columns[col];
    switch (column->info->type) {
    case TCUDB_TYPE_BOOL: return fill_bool(holder, column->values, chunk->rows);
    case TCUDB_TYPE_DATE: return fill_date(holder, column->values, chunk->rows);
    case TCUDB_TYPE_TIMESTAMP: return fill_timestamp(holder, column->values, chunk->rows);
    case TCUDB_TYPE_INTERVAL: return fill_interval(holder, column, chunk->rows);
    case TCUDB_TYPE_TEXT:
    case TCUDB_TYPE_VARCHAR: return fill_text(holder, chunk, col);
    case TCUDB_TYPE_BPCHAR: return fill_formatted(holder, chunk, col);
    case TCUDB_TYPE_NUMERIC:
        if (as_text(column->info)) return fill_formatted(holder, chunk, col);
        if (column->info->precision <= 18) return fill_decimal(holder, column->values, chunk->rows);
        break;
    default: break;
    }
    holder->buffers[1] = column->values;
    return 0;
}

static int fill_child(tcudb_result *result, const tcudb_chunk *chunk, uint32_t col, struct ArrowArray *out)
{
    Holder *holder = NULL;
    const tcudb_column *column = &chunk->columns[col];
    bool text =
        format_of(column->info)[0] == 'U' && (column->info->type != TCUDB_TYPE_NUMERIC || as_text(column->info));
    int rc = new_array(result, chunk->rows, text ? 3 : 2, out, &holder);
    if (rc != 0) return rc;
    out->null_count = count_nulls(column->validity, chunk->rows);
    holder->buffers[0] = column->validity;
    return fill_values(holder, chunk, col);
}

static int fill_batch(tcudb_result *result, const tcudb_chunk *chunk, struct ArrowArray *out)
{
    Holder *holder = NULL;
    int rc = new_array(result, chunk->rows, 1, out, &holder);
    if (rc != 0) return rc;
    out->children = calloc(result->ncols == 0 ? 1 : result->ncols, sizeof *out->children);
    if (out->children == NULL) return ENOMEM;
    for (uint32_t i = 0; i < result->ncols; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        out->n_children = i + 1;
        rc = out->children[i] == NULL ? ENOMEM : fill_child(result, chunk, i, out->children[i]);
        if (rc != 0) return rc;
    }
    return 0;
}

/* ---- streams ------------------------------------------------------------------------------- */

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    Stream *state = stream->private_data;
    *out = (struct ArrowArray){0};
    if (state->next == state->result->nchunks) return 0; /* the end: a released array */
    int rc = fill_batch(state->result, &state->result->chunks[state->next], out);
    if (rc == 0) {
        state->next++;
        return 0;
    }
    if (out->release != NULL) out->release(out);
    *out = (struct ArrowArray){0};
    snprintf(state->error, sizeof state->error, "%s",
             rc == ERANGE ? "an interval is too long for Arrow's nanoseconds" : "out of memory");
    return rc;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const Stream *state = stream->private_data;
    return state->error[0] == '\0' ? NULL : state->error;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    Stream *state = stream->private_data;
    tcudb_result_free(state->result);
    free(state);
    stream->release = NULL;
}

tcudb_status tcudb_arrow_stream(tcudb_result *result, struct ArrowArrayStream *stream, tcudb_error *err)
{
    if (result == NULL || stream == NULL) return api_misuse(err, "tcudb_arrow_stream: an argument is NULL");
    *stream = (struct ArrowArrayStream){0};
    Stream *state = calloc(1, sizeof *state);
    if (state == NULL) {
        Error why = {0};
        return api_fail(err, error_set(&why, SQLSTATE_OUT_OF_MEMORY, "out of memory"), &why);
    }
    api_result_ref(result);
    state->result = result;
    *stream = (struct ArrowArrayStream){.get_schema = get_schema,
                                        .get_next = get_next,
                                        .get_last_error = get_last_error,
                                        .release = release_stream,
                                        .private_data = state};
    return TCUDB_OK;
}
