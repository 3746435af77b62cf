/*
 * list_set.c: opens and decodes a set of lists in place.
 *
 * Opening walks the directory once (a few bytes a list) and builds the table of entries: length, and first
 * block or place of a short list's values. Everything that later reading relies on is checked here: section
 * sizes, that the blocks' ends ascend within the area, that lists, values and blocks add up. A block's own
 * header and payload are checked when it is decoded, its checksum when asked for.
 *
 * Decoding a block never depends on another: the base of its d-gaps is the last value of the block before it,
 * which lies in the skip array.
 */
#include "codec/list_set.h"

#include <assert.h>

static tcudb_status damaged(Error *err, const char *what)
{
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged list set: %s", what);
}

static tcudb_status bad_block(uint64_t list, uint64_t block, ListFault fault, Error *err)
{
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged list set: list %llu, block %llu: %s",
                     (unsigned long long)list, (unsigned long long)block, list_fault_text(fault));
}

/* Reads one variable-length number before end; NULL if it is cut off or exceeds 64 bits. */
static const uint8_t *get_vbyte(const uint8_t *at, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (uint32_t shift = 0; at < end && shift < 64; shift += 7) {
        uint64_t bits = *at & 127;
        if (bits << shift >> shift != bits) return NULL;
        *v |= bits << shift;
        if (*at++ < 128) return at;
    }
    return NULL;
}

/* Places a section at *at; false if it does not fit. */
static bool take(const uint8_t **section, uint64_t size, size_t *at, size_t total)
{
    if (size > total - *at) return false;
    *section += *at;
    size_t padded = (size + 15) / 16 * 16;
    *at = padded > total - *at ? total : *at + padded;
    return true;
}

static tcudb_status place_sections(ListSet *s, const uint8_t *head, Error *err)
{
    size_t at = LIST_SET_HEAD, total = s->size;
    uint64_t width = s->flags & LIST_WIDE ? 8 : 4;
    s->last = s->ends = s->sums = s->directory = s->area = s->bytes;
    s->directory_size = list_load64(head + 48);
    s->area_size = list_load64(head + 56);
    if (s->blocks > total / 16 || s->lists > total || s->values > s->blocks * CODEC_BLOCK + total ||
        !take(&s->last, s->blocks * width, &at, total) || !take(&s->ends, s->blocks * 8, &at, total) ||
        !take(&s->sums, s->blocks * 4, &at, total) || !take(&s->directory, s->directory_size, &at, total) ||
        !take(&s->area, s->area_size, &at, total))
        return damaged(err, "sections exceed the file");
    if (total - at != LIST_SLACK) return damaged(err, "the file is too short or too long");
    uint32_t crc = list_crc32c(0, s->last, s->blocks * width);
    crc = list_crc32c(crc, s->ends, s->blocks * 8);
    crc = list_crc32c(crc, s->sums, s->blocks * 4);
    crc = list_crc32c(crc, s->directory, s->directory_size);
    if (crc != list_load32(head + 72)) return damaged(err, "the index's checksum does not match");
    uint64_t end = 0;
    for (uint64_t b = 0; b < s->blocks; b++) {
        uint64_t next = list_load64(s->ends + 8 * b);
        if (next < end + LIST_HEAD || next > s->area_size || next % 4 != 0) return damaged(err, "block ends");
        end = next;
    }
    return end == s->area_size ? TCUDB_OK : damaged(err, "block ends");
}

static tcudb_status read_directory(ListSet *s, Error *err)
{
    const uint8_t *at = s->directory, *end = at + s->directory_size;
    uint64_t values = 0, blocks = 0, v = 0;
    for (uint64_t i = 0; i < s->lists; i++) {
        ListEntry *e = &s->entry[i];
        at = get_vbyte(at, end, &e->n);
        if (at == NULL) return damaged(err, "the directory is cut off");
        e->at = e->n < LIST_SHORT ? (uint64_t)(at - s->directory) : blocks;
        for (uint64_t k = 0; e->n < LIST_SHORT && k < e->n; k++) {
            at = get_vbyte(at, end, &v);
            if (at == NULL) return damaged(err, "the directory is cut off");
        }
        if (e->n > s->values - values || list_blocks(e->n) > s->blocks - blocks)
            return damaged(err, "lengths do not add up");
        values += e->n;
        blocks += list_blocks(e->n);
    }
    if (at != end || values != s->values || blocks != s->blocks) return damaged(err, "lengths do not add up");
    return TCUDB_OK;
}

static tcudb_status verify_sums(const ListSet *s, Error *err)
{
    for (uint64_t b = 0; b < s->blocks; b++) {
        size_t size;
        const uint8_t *at = list_set_block(s, b, &size);
        if (list_crc32c(0, at, size) != list_load32(s->sums + 4 * b))
            return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged list set: block %llu: %s", (unsigned long long)b,
                             list_fault_text(LIST_BAD_CHECKSUM));
    }
    return TCUDB_OK;
}

tcudb_status list_set_open(const void *bytes, size_t size, bool verify, Mem *mem, ListSet *out, Error *err)
{
    const uint8_t *head = bytes;
    *out = (ListSet){.mem = mem, .bytes = bytes, .size = size};
    if (size < LIST_SET_HEAD + LIST_SLACK || memcmp(head, "TCULISTS", 8) != 0)
        return error_set(err, SQLSTATE_DATA_CORRUPTED, "not a list set");
    if (list_load32(head + 8) != LIST_SET_VERSION)
        return error_unsupported(err, 0, "list set version %u", list_load32(head + 8));
    if (list_load32(head + 76) != list_crc32c(0, head, 76)) return damaged(err, "the header's checksum does not match");
    out->flags = list_load32(head + 12);
    out->lists = list_load64(head + 16);
    out->values = list_load64(head + 24);
    out->blocks = list_load64(head + 32);
    out->bound = list_load64(head + 40);
    out->extra = list_load64(head + 64);
    TRY(place_sections(out, head, err));
    out->entry = mem_alloc(mem, out->lists * sizeof(ListEntry), err);
    TRY_PTR(out->entry);
    tcudb_status status = read_directory(out, err);
    if (status == TCUDB_OK && verify) status = verify_sums(out, err);
    if (status != TCUDB_OK) list_set_close(out);
    return status;
}

void list_set_close(ListSet *set)
{
    mem_free(set->mem, set->entry, set->lists * sizeof(ListEntry));
    set->entry = NULL;
}

const uint8_t *list_set_block(const ListSet *set, uint64_t block, size_t *size)
{
    assert(block < set->blocks);
    uint64_t begin = block == 0 ? 0 : list_load64(set->ends + 8 * (block - 1));
    *size = (size_t)(list_load64(set->ends + 8 * block) - begin);
    return set->area + begin;
}

uint64_t list_set_last(const ListSet *set, uint64_t block)
{
    return set->flags & LIST_WIDE ? list_load64(set->last + 8 * block) : list_load32(set->last + 4 * block);
}

/* Eight maxima at a time, so that it becomes vector code without being asked twice. */
static uint32_t list_largest32(const uint32_t *v, uint32_t n)
{
    uint32_t m[8] = {0}, i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) m[k] = v[i + k] > m[k] ? v[i + k] : m[k];
    for (; i < n; i++) m[0] = v[i] > m[0] ? v[i] : m[0];
    for (int k = 1; k < 8; k++) m[0] = m[k] > m[0] ? m[k] : m[0];
    return m[0];
}

/* Gaps to values, with what only the values can tell: no wrap, the last one as the skip array says. */
static ListFault finish_block32(const ListSet *s, ListIsa isa, uint32_t *v, uint32_t n, uint64_t base, uint64_t last)
{
    bool falls = false;
    if (s->flags & LIST_ASCENDING) {
        list_ascend32(isa, v, n, (uint32_t)base, 1, &falls);
        return !falls && v[n - 1] == last ? LIST_OK : LIST_BAD_VALUE;
    }
    return list_largest32(v, n) == last ? LIST_OK : LIST_BAD_VALUE;
}

static ListFault finish_block64(const ListSet *s, uint64_t *v, uint32_t n, uint64_t base, uint64_t last)
{
    uint64_t falls = 0, largest = 0;
    if (!(s->flags & LIST_ASCENDING)) {
        for (uint32_t i = 0; i < n; i++) largest = v[i] > largest ? v[i] : largest;
        return largest == last ? LIST_OK : LIST_BAD_VALUE;
    }
    list_prefix64(v, n, base, 1);
    for (uint32_t i = 1; i < n; i++) falls |= v[i] <= v[i - 1];
    if (base != UINT64_MAX) falls |= v[0] <= base;
    return falls == 0 && v[n - 1] == last ? LIST_OK : LIST_BAD_VALUE;
}

static ListFault decode_short(const ListSet *s, const ListEntry *e, void *out)
{
    const uint8_t *at = s->directory + e->at, *end = s->directory + s->directory_size;
    uint64_t before = UINT64_MAX, v = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        at = get_vbyte(at, end, &v);
        if (at == NULL) return LIST_BAD_SIZE;
        if (s->flags & LIST_ASCENDING) {
            uint64_t next = before + v + 1;
            if (i > 0 && next <= before) return LIST_BAD_VALUE;
            before = v = next;
        }
        if (v > s->bound) return LIST_BAD_VALUE;
        if (s->flags & LIST_WIDE)
            ((uint64_t *)out)[i] = v;
        else
            ((uint32_t *)out)[i] = (uint32_t)v;
    }
    return LIST_OK;
}

tcudb_status list_set_decode(const ListSet *set, uint64_t list, uint64_t b, void *out, uint32_t *n, Error *err)
{
    const ListEntry *e = &set->entry[list];
    ListFault fault;
    assert(list < set->lists);
    if (e->n < LIST_SHORT) {
        *n = (uint32_t)e->n;
        fault = decode_short(set, e, out);
        return fault == LIST_OK ? TCUDB_OK : bad_block(list, 0, fault, err);
    }
    size_t size;
    uint64_t block = e->at + b, left = e->n - b * CODEC_BLOCK;
    assert(b < list_blocks(e->n));
    const uint8_t *in = list_set_block(set, block, &size);
    size_t readable = (size_t)(set->bytes + set->size - in);
    uint64_t base = b == 0 ? UINT64_MAX : list_set_last(set, block - 1), last = list_set_last(set, block);
    ListIsa isa = list_isa();
    *n = left < CODEC_BLOCK ? (uint32_t)left : CODEC_BLOCK;
    if (last > set->bound)
        fault = LIST_BAD_VALUE;
    else if (set->flags & LIST_WIDE)
        fault = list_decode64(isa, in, size, readable, *n, out);
    else
        fault = list_decode32(isa, in, size, readable, *n, out);
    if (fault == LIST_OK)
        fault = set->flags & LIST_WIDE ? finish_block64(set, out, *n, base, last)
                                       : finish_block32(set, isa, out, *n, base, last);
    return fault == LIST_OK ? TCUDB_OK : bad_block(list, b, fault, err);
}

tcudb_status list_set_decode_all(const ListSet *set, uint64_t list, void *out, Error *err)
{
    uint64_t blocks = list_blocks(set->entry[list].n);
    size_t width = set->flags & LIST_WIDE ? 8 : 4;
    uint32_t n = 0;
    if (blocks == 0) return list_set_decode(set, list, 0, out, &n, err);
    for (uint64_t b = 0; b < blocks; b++)
        TRY(list_set_decode(set, list, b, (char *)out + b * CODEC_BLOCK * width, &n, err));
    return TCUDB_OK;
}

tcudb_status list_set_verify(const ListSet *set, Error *err)
{
    uint64_t values[CODEC_BLOCK];
    uint32_t n = 0;
    TRY(verify_sums(set, err));
    for (uint64_t i = 0; i < set->lists; i++) {
        uint64_t blocks = list_blocks(set->entry[i].n);
        for (uint64_t b = 0; b == 0 || b < blocks; b++) TRY(list_set_decode(set, i, b, values, &n, err));
    }
    return TCUDB_OK;
}
