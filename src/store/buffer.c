/*
 * buffer.c: uncompressed rows, column by column: a table's tail, or what an appender has gathered.
 *
 * One allocation holds the columns' values (texts as dictionary codes) and a byte a row that says "not NULL": bytes,
 * not bits, so that the writer can add rows while readers of older versions look at the rows before.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

enum { STEP_VALUES = 1 << 22 };

uint32_t stored_width(Phys phys)
{
    return phys == PHYS_STR ? sizeof(uint32_t) : (uint32_t)phys_size(phys);
}

static size_t rounded(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

tcudb_status rowbuf_new(Mem *mem, const TableMeta *meta, uint32_t cap, RowBuf **out, Error *err)
{
    uint32_t ncols = meta->def.ncols;
    size_t head = rounded(sizeof(RowBuf) + 2 * ncols * sizeof(uint8_t *));
    size_t bytes = head;
    for (uint32_t c = 0; c < ncols; c++)
        bytes += rounded((size_t)cap * stored_width(type_phys(meta->def.cols[c].type)) + BUFFER_SLACK) + rounded(cap);
    RowBuf *buf = mem_alloc(mem, bytes, err);
    TRY_PTR(buf);
    memset(buf, 0, head);
    atomic_init(&buf->refs, 1);
    buf->mem = mem;
    buf->bytes = bytes;
    buf->cap = cap;
    buf->ncols = ncols;
    buf->data = (uint8_t **)(buf + 1);
    buf->valid = buf->data + ncols;
    uint8_t *at = (uint8_t *)buf + head;
    for (uint32_t c = 0; c < ncols; c++) {
        buf->data[c] = at;
        at += rounded((size_t)cap * stored_width(type_phys(meta->def.cols[c].type)) + BUFFER_SLACK);
        buf->valid[c] = at;
        at += rounded(cap);
    }
    assert((size_t)(at - (uint8_t *)buf) == bytes);
    *out = buf;
    return TCUDB_OK;
}

void rowbuf_unref(RowBuf *buf)
{
    if (buf == NULL || atomic_fetch_sub(&buf->refs, 1) != 1) return;
    mem_free(buf->mem, buf, buf->bytes);
}

/* The flag is looked at for each column: the first rows of a new buffer may have the system clear all its pages, which
 * are larger than what a column takes of them. */
tcudb_status rowbuf_copy(RowBuf *to, uint32_t at, const RowBuf *from, uint32_t row, uint32_t n, const TableMeta *meta,
                         const atomic_bool *cancel, Error *err)
{
    assert(at + n <= to->cap && row + n <= from->cap && to->ncols == from->ncols);
    for (uint32_t c = 0; c < to->ncols; c++) {
        size_t width = stored_width(type_phys(meta->def.cols[c].type));
        TRY(cancel_poll(cancel, err));
        memcpy(to->data[c] + at * width, from->data[c] + row * width, n * width);
        memcpy(to->valid[c] + at, from->valid[c] + row, n);
    }
    return TCUDB_OK;
}

uint32_t rowbuf_step(const TableMeta *meta)
{
    return STEP_VALUES / (meta->def.ncols + 1) + 1;
}

tcudb_status rowbuf_grow(const RowBuf *buf, const TableMeta *meta, uint32_t rows, uint32_t cap,
                         const atomic_bool *cancel, RowBuf **out, Error *err)
{
    RowBuf *larger;
    TRY(rowbuf_new(buf->mem, meta, cap, &larger, err));
    tcudb_status status = rowbuf_copy(larger, 0, buf, 0, rows, meta, cancel, err);
    if (status == TCUDB_OK)
        *out = larger;
    else
        rowbuf_unref(larger);
    return status;
}

#define COPY_ROWS(T)                                                                                                   \
    do {                                                                                                               \
        const T *from_ = src;                                                                                          \
        T *to_ = dst;                                                                                                  \
        if (v->form == VEC_CONST)                                                                                      \
            for (uint32_t i = 0; i < n; i++) to_[i] = from_[0];                                                        \
        else if (b->sel == NULL)                                                                                       \
            memcpy(to_, from_ + skip, n * sizeof(T));                                                                  \
        else                                                                                                           \
            for (uint32_t i = 0; i < n; i++) to_[i] = from_[b->sel[skip + i]];                                         \
    } while (0)

static void copy_values(void *dst, uint32_t width, const Vector *v, const Batch *b, uint32_t skip, uint32_t n)
{
    typedef struct Wide {
        uint64_t word[4];
    } Wide;
    const void *src = v->data;
    switch (width) {
    case 1: COPY_ROWS(uint8_t); return;
    case 2: COPY_ROWS(uint16_t); return;
    case 4: COPY_ROWS(uint32_t); return;
    case 8: COPY_ROWS(uint64_t); return;
    case 16: COPY_ROWS(int128); return;
    default:
        assert(width == sizeof(Wide));
        COPY_ROWS(Wide);
        return;
    }
}

static void copy_valid(uint8_t *dst, uint8_t *data, uint32_t width, const Vector *v, const Batch *b, uint32_t skip,
                       uint32_t n)
{
    if (v->valid == NULL) {
        memset(dst, 1, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        dst[i] = !vec_is_null(v, batch_row(b, skip + i));
        if (!dst[i]) memset(data + (size_t)i * width, 0, width);
    }
}

static tcudb_status check_not_null(const TableMeta *meta, uint32_t c, const uint8_t *valid, uint32_t n, Error *err)
{
    if (!meta->def.cols[c].not_null || memchr(valid, 0, n) == NULL) return TCUDB_OK;
    return error_set(err, SQLSTATE_NOT_NULL_VIOLATION,
                     "null value in column \"" STR_FMT "\" of relation \"" STR_FMT "\" violates not-null constraint",
                     STR_ARG(meta->def.cols[c].name), STR_ARG(meta->def.name));
}

tcudb_status rowbuf_append(RowBuf *buf, uint32_t at, const TableMeta *meta, DictCache **caches, const Batch *batch,
                           uint32_t skip, uint32_t n, const atomic_bool *cancel, Error *err)
{
    assert(batch->ncols == meta->def.ncols && at + n <= buf->cap && skip + n <= batch->n);
    uint32_t codes[BATCH_ROWS];
    for (uint32_t c = 0; c < batch->ncols; c++) {
        const Vector *v = &batch->cols[c];
        uint32_t width = stored_width(type_phys(meta->def.cols[c].type));
        uint8_t *dst = buf->data[c] + (size_t)at * width;
        assert(v->phys == type_phys(meta->def.cols[c].type));
        TRY(cancel_poll(cancel, err));
        if (v->phys == PHYS_STR) {
            TRY(dict_encode(caches[c], buf->mem, v, batch, codes, err));
            memcpy(dst, codes + skip, n * sizeof codes[0]);
        } else {
            copy_values(dst, width, v, batch, skip, n);
        }
        copy_valid(buf->valid[c] + at, dst, width, v, batch, skip, n);
        TRY(check_not_null(meta, c, buf->valid[c] + at, n, err));
    }
    return TCUDB_OK;
}
