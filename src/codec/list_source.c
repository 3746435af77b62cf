/*
 * list_source.c: the file formats that lists come from.
 *
 *   sequences  32-bit little-endian words: a length, then so many values, again and again (ds2i and PISA: .docs,
 * .freqs) u32, u64   one column of little-endian words text       one decimal number a line, below 2^64, without sign
 * or leading zeros; the last line feed may be missing
 *
 * What is not exactly of its kind is refused, so that decoding can give back the very file.
 */
#include "codec/list_source.h"

#include <assert.h>
#include <stdio.h>

static tcudb_status bad_file(Error *err, const char *what, uint64_t at)
{
    return error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "%s %llu", what, (unsigned long long)at);
}

static bool ascends32(const uint8_t *v, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        if (list_load32(v + 4 * i) <= list_load32(v + 4 * i - 4)) return false;
    return true;
}

static bool ascends64(const uint64_t *v, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++)
        if (v[i] <= v[i - 1]) return false;
    return true;
}

/* Calls for every sequence; checks that they fill the file. */
static tcudb_status check_sequences(const uint8_t *b, size_t size, bool *ascending, Error *err)
{
    uint64_t words = size / 4;
    *ascending = true;
    if (size % 4 != 0) return bad_file(err, "the file is not a whole number of 32-bit words: its size is", size);
    for (uint64_t at = 0; at < words;) {
        uint64_t n = list_load32(b + 4 * at);
        if (n > words - at - 1) return bad_file(err, "the file ends within the sequence that begins at word", at);
        *ascending = *ascending && ascends32(b + 4 * (at + 1), n);
        at += n + 1;
    }
    return TCUDB_OK;
}

static tcudb_status add_sequences(ListWriter *w, const uint8_t *b, size_t size, Error *err)
{
    for (uint64_t at = 0; at < size / 4;) {
        uint64_t n = list_load32(b + 4 * at);
        /* file contents are 4-byte aligned here: see list_source_encode */
        TRY(list_writer_add(w, b + 4 * (at + 1), n, err));
        at += n + 1;
    }
    return TCUDB_OK;
}

static tcudb_status parse_text(const uint8_t *b, size_t size, Buf *out, uint64_t *largest, Error *err)
{
    uint64_t line = 1;
    for (size_t at = 0; at < size; line++) {
        uint64_t v = 0;
        size_t from = at;
        for (; at < size && b[at] >= '0' && b[at] <= '9'; at++)
            if (__builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, (uint64_t)(b[at] - '0'), &v))
                return bad_file(err, "a number of 2^64 or more in line", line);
        if (at == from || (at < size && b[at] != '\n'))
            return bad_file(err, "not an unsigned whole number in line", line);
        if (b[from] == '0' && at - from > 1) return bad_file(err, "a number with leading zeros in line", line);
        if (at < size) at++;
        *largest = v > *largest ? v : *largest;
        TRY(buf_append(out, &v, sizeof(v), err));
    }
    return TCUDB_OK;
}

static tcudb_status encode_text(const uint8_t *b, size_t size, uint32_t schemes, Mem *mem, ListWriter *w, Error *err)
{
    Buf values;
    uint64_t largest = 0;
    buf_init(&values, mem);
    tcudb_status status = parse_text(b, size, &values, &largest, err);
    uint64_t n = values.len / 8, *v = (uint64_t *)(void *)values.data;
    uint32_t flags = LIST_FROM_TEXT << LIST_SOURCE_SHIFT | (largest >> 32 != 0 ? LIST_WIDE : 0) |
                     (status == TCUDB_OK && ascends64(v, n) ? LIST_ASCENDING : 0);
    list_writer_init(w, flags, schemes, mem);
    w->extra = size > 0 && b[size - 1] != '\n';
    uint8_t *bytes = (uint8_t *)values.data;
    for (uint64_t i = 0; i < n && !(flags & LIST_WIDE); i++) /* in place */
        list_store32(bytes + 4 * i, (uint32_t)list_load64(bytes + 8 * i));
    if (status == TCUDB_OK) status = list_writer_add(w, v, n, err);
    buf_free(&values);
    return status;
}

static tcudb_status encode_words(const uint8_t *b, size_t size, ListSource source, uint32_t schemes, Mem *mem,
                                 ListWriter *w, Error *err)
{
    uint32_t flags = source << LIST_SOURCE_SHIFT;
    bool ascending = false;
    list_writer_init(w, 0, schemes, mem);
    if (source == LIST_FROM_SEQUENCES) {
        TRY(check_sequences(b, size, &ascending, err));
    } else if (source == LIST_FROM_U32) {
        if (size % 4 != 0) return bad_file(err, "the file is not a whole number of 32-bit words: its size is", size);
        ascending = ascends32(b, size / 4);
    } else {
        if (size % 8 != 0) return bad_file(err, "the file is not a whole number of 64-bit words: its size is", size);
        flags |= LIST_WIDE;
        ascending = ascends64((const uint64_t *)(const void *)b, size / 8);
    }
    w->flags = flags | (ascending ? LIST_ASCENDING : 0);
    if (source == LIST_FROM_SEQUENCES) return add_sequences(w, b, size, err);
    return list_writer_add(w, b, size / (source == LIST_FROM_U64 ? 8 : 4), err);
}

tcudb_status list_source_encode(const void *bytes, size_t size, ListSource source, uint32_t schemes, Mem *mem, Buf *out,
                                Error *err)
{
    ListWriter w = {0};
    tcudb_status status;
    void *aligned = NULL;
    assert(source != LIST_FROM_API);
    if (size > 0 && (uintptr_t)bytes % 8 != 0) { /* words are read in place */
        aligned = mem_alloc(mem, size, err);
        TRY_PTR(aligned);
        memcpy(aligned, bytes, size);
        bytes = aligned;
    }
    if (source == LIST_FROM_TEXT)
        status = encode_text(bytes, size, schemes, mem, &w, err);
    else
        status = encode_words(bytes, size, source, schemes, mem, &w, err);
    if (status == TCUDB_OK) status = list_writer_finish(&w, out, err);
    list_writer_free(&w);
    mem_free(mem, aligned, size);
    return status;
}

static tcudb_status put_text(const ListSet *set, const void *values, uint32_t n, Buf *out, Error *err)
{
    char text[24];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = set->flags & LIST_WIDE ? ((const uint64_t *)values)[i] : ((const uint32_t *)values)[i];
        int length = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)v);
        TRY(buf_append(out, text, (size_t)length, err));
    }
    return TCUDB_OK;
}

tcudb_status list_source_decode(const ListSet *set, Buf *out, Error *err)
{
    uint64_t values[CODEC_BLOCK];
    uint32_t source = set->flags >> LIST_SOURCE_SHIFT & 255, n = 0, width = set->flags & LIST_WIDE ? 8 : 4;
    size_t start = out->len;
    bool lengths = source == LIST_FROM_SEQUENCES || (source == LIST_FROM_API && width == 4);
    for (uint64_t i = 0; i < set->lists; i++) {
        uint64_t length = set->entry[i].n, blocks = list_blocks(length);
        if (lengths && length > UINT32_MAX) return error_unsupported(err, 0, "a sequence of 2^32 and more values");
        if (lengths) TRY(buf_append(out, &(uint32_t){(uint32_t)length}, 4, err));
        for (uint64_t b = 0; b == 0 || b < blocks; b++) {
            TRY(list_set_decode(set, i, b, values, &n, err));
            if (source == LIST_FROM_TEXT)
                TRY(put_text(set, values, n, out, err));
            else
                TRY(buf_append(out, values, (size_t)n * width, err));
        }
    }
    if (source == LIST_FROM_TEXT && set->extra == 1 && out->len > start) out->len--;
    return TCUDB_OK;
}

const char *list_source_name(uint32_t source)
{
    static const char *const name[] = {"api", "sequences", "u32", "u64", "text"};
    return source < sizeof(name) / sizeof(name[0]) ? name[source] : "unknown";
}
