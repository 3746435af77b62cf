/*
 * list_write.c: builds a set of lists: five growing sections, joined by list_writer_finish.
 *
 * A list shorter than LIST_SHORT goes into the directory as variable-length bytes, right behind its length,
 * so that 23,000 tiny lists of a text index cost two or three bytes a posting and no skip entry.
 */
#include "codec/list_set.h"

#include <assert.h>

void list_writer_init(ListWriter *w, uint32_t flags, uint32_t schemes, Mem *mem)
{
    *w = (ListWriter){.mem = mem, .flags = flags, .schemes = schemes};
    Buf *bufs[] = {&w->last, &w->ends, &w->sums, &w->directory, &w->area};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) buf_init(bufs[i], mem);
}

void list_writer_free(ListWriter *w)
{
    Buf *bufs[] = {&w->last, &w->ends, &w->sums, &w->directory, &w->area};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++) buf_free(bufs[i]);
}

static tcudb_status put_vbyte(Buf *out, uint64_t v, Error *err)
{
    char bytes[10];
    uint32_t n = 0;
    for (; v >= 128; v >>= 7) bytes[n++] = (char)(v | 128);
    bytes[n++] = (char)v;
    return buf_append(out, bytes, n, err);
}

static uint64_t value_at(const ListWriter *w, const void *values, uint64_t i)
{
    return w->flags & LIST_WIDE ? ((const uint64_t *)values)[i] : ((const uint32_t *)values)[i];
}

/* Turns values from..from+n-1 into what is stored; *last gets the skip entry. */
static tcudb_status stored_values(const ListWriter *w, const void *values, uint64_t from, uint32_t n, uint64_t *out,
                                  uint64_t *last, Error *err)
{
    uint64_t before = from == 0 ? UINT64_MAX : value_at(w, values, from - 1), largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = value_at(w, values, from + i);
        if (v > largest) largest = v;
        if (w->flags & LIST_ASCENDING) {
            if (from + i > 0 && v <= before)
                return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                                 "list %llu is not strictly ascending at position %llu", (unsigned long long)w->lists,
                                 (unsigned long long)from + i);
            out[i] = v - before - 1;
            before = v;
        } else {
            out[i] = v;
        }
    }
    *last = largest;
    return TCUDB_OK;
}

/* Codes a block of a narrow set into out: gaps and order without a branch a value. */
static size_t code_narrow(const ListWriter *w, const uint32_t *v, uint64_t from, uint32_t n, uint8_t *out,
                          uint64_t *last, uint32_t *disorder)
{
    uint32_t gaps[CODEC_BLOCK], bad = 0, largest = 0;
    if (!(w->flags & LIST_ASCENDING)) {
        for (uint32_t i = 0; i < n; i++) largest = v[from + i] > largest ? v[from + i] : largest;
        *last = largest;
        return list_encode32(v + from, n, w->schemes, out);
    }
    const uint32_t *at = v + from;
    gaps[0] = from == 0 ? at[0] : at[0] - at[-1] - 1;
    bad = from > 0 && at[0] <= at[-1];
    for (uint32_t i = 1; i < n; i++) {
        gaps[i] = at[i] - at[i - 1] - 1;
        bad |= at[i] <= at[i - 1];
    }
    *disorder = bad;
    *last = at[n - 1];
    return bad ? 0 : list_encode32(gaps, n, w->schemes, out);
}

static tcudb_status add_block(ListWriter *w, const void *values, uint64_t from, uint32_t n, Error *err)
{
    uint64_t stored[CODEC_BLOCK], last = 0;
    uint32_t disorder = 0;
    size_t size = 0;
    TRY(buf_reserve(&w->area, list_bound64(n), err));
    uint8_t *at = (uint8_t *)w->area.data + w->area.len;
    if (!(w->flags & LIST_WIDE)) size = code_narrow(w, values, from, n, at, &last, &disorder);
    if (size == 0) { /* wide; or out of order, which this says where */
        TRY(stored_values(w, values, from, n, stored, &last, err));
        size = list_encode64(stored, n, w->schemes, at);
    }
    assert(size <= list_bound64(n) && size % 4 == 0 && disorder == 0);
    w->area.len += size;
    uint64_t end = w->area.len;
    uint32_t sum = list_crc32c(0, at, size);
    w->bound = last > w->bound ? last : w->bound;
    w->blocks++;
    TRY(buf_append(&w->ends, &end, sizeof(end), err));
    TRY(buf_append(&w->sums, &sum, sizeof(sum), err));
    return buf_append(&w->last, &last, w->flags & LIST_WIDE ? 8 : 4, err);
}

tcudb_status list_writer_add(ListWriter *w, const void *values, uint64_t n, Error *err)
{
    uint64_t stored[LIST_SHORT] = {0}, last = 0;
    TRY(put_vbyte(&w->directory, n, err));
    if (n < LIST_SHORT) {
        TRY(stored_values(w, values, 0, (uint32_t)n, stored, &last, err));
        for (uint32_t i = 0; i < n; i++) TRY(put_vbyte(&w->directory, stored[i], err));
        w->bound = last > w->bound ? last : w->bound;
    } else {
        for (uint64_t from = 0; from < n; from += CODEC_BLOCK)
            TRY(add_block(w, values, from, (uint32_t)(n - from < CODEC_BLOCK ? n - from : CODEC_BLOCK), err));
    }
    w->lists++;
    w->values += n;
    return TCUDB_OK;
}

static tcudb_status put_section(Buf *out, const Buf *section, size_t start, uint32_t *crc, Error *err)
{
    static const char zero[16] = {0};
    if (crc != NULL) *crc = list_crc32c(*crc, section->data, section->len);
    if (section->len > 0) TRY(buf_append(out, section->data, section->len, err));
    return buf_append(out, zero, (16 - (out->len - start) % 16) % 16, err);
}

tcudb_status list_writer_finish(ListWriter *w, Buf *out, Error *err)
{
    static const char slack[LIST_SLACK] = {0};
    uint8_t head[LIST_SET_HEAD] = {0};
    size_t start = out->len;
    uint32_t crc = 0;
    TRY(buf_reserve(out, LIST_SET_HEAD + w->last.len + w->ends.len + w->sums.len + w->directory.len + w->area.len + 256,
                    err));
    TRY(buf_append(out, head, sizeof(head), err));
    TRY(put_section(out, &w->last, start, &crc, err));
    TRY(put_section(out, &w->ends, start, &crc, err));
    TRY(put_section(out, &w->sums, start, &crc, err));
    TRY(put_section(out, &w->directory, start, &crc, err));
    TRY(put_section(out, &w->area, start, NULL, err));
    TRY(buf_append(out, slack, sizeof(slack), err));
    memcpy(head, (const char[8]){'T', 'C', 'U', 'L', 'I', 'S', 'T', 'S'}, 8);
    list_store32(head + 8, LIST_SET_VERSION);
    list_store32(head + 12, w->flags);
    list_store64(head + 16, w->lists);
    list_store64(head + 24, w->values);
    list_store64(head + 32, w->blocks);
    list_store64(head + 40, w->bound);
    list_store64(head + 48, w->directory.len);
    list_store64(head + 56, w->area.len);
    list_store64(head + 64, w->extra);
    list_store32(head + 72, crc);
    list_store32(head + 76, list_crc32c(0, head, 76));
    memcpy(out->data + start, head, sizeof(head));
    return TCUDB_OK;
}
