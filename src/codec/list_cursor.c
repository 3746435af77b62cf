/*
 * list_cursor.c: seeking in a compressed list.
 *
 * A seek gallops over the skip array of last values (1, 2, 4, ... blocks ahead, then halving), decodes the one block
 * that can hold the target, and gallops again inside it. So a seek over d blocks costs O(log d) and one decode, and
 * seeks of ascending targets within a block cost O(log distance) each. A short list is one block that is always
 * decoded. Blocks of 32-bit numbers are widened as they come (a tenth of the time of decoding them), so that there is
 * one walk for both widths.
 */
#include "codec/list_cursor.h"

#include <assert.h>

tcudb_status list_numbers(const ListSet *set, uint64_t list, uint64_t b, uint64_t *out, uint32_t *n, Error *err)
{
    uint32_t narrow[CODEC_BLOCK];
    if (set->flags & LIST_WIDE) return list_set_decode(set, list, b, out, n, err);
    TRY(list_set_decode(set, list, b, narrow, n, err));
    if (*n == CODEC_BLOCK)
        for (uint32_t i = 0; i < CODEC_BLOCK; i++) out[i] = narrow[i]; /* a count that the compiler knows: vectors */
    else
        for (uint32_t i = 0; i < *n; i++) out[i] = narrow[i];
    return TCUDB_OK;
}

tcudb_status list_cursor_init(ListCursor *c, const ListSet *set, const ListSet *freqs, uint64_t list, Arena *arena,
                              Error *err)
{
    uint64_t n = set->entry[list].n, blocks = list_blocks(n), most = n < CODEC_BLOCK ? n : CODEC_BLOCK;
    *c = (ListCursor){.set = set, .freqs = freqs, .list = list, .loaded = UINT64_MAX};
    c->blocks = blocks == 0 && n > 0 ? 1 : blocks;
    c->values = arena_alloc_raw(arena, most * sizeof(*c->values) + 1, err);
    TRY_PTR(c->values);
    if (freqs == NULL) return TCUDB_OK;
    c->freq = arena_alloc_raw(arena, most * sizeof(*c->freq) + 1, err);
    return c->freq == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

uint64_t list_cursor_last(const ListCursor *c, uint64_t block)
{
    const ListEntry *e = &c->set->entry[c->list];
    if (e->n < LIST_SHORT) return c->loaded == 0 ? c->values[c->n - 1] : UINT64_MAX;
    return list_set_last(c->set, e->at + block);
}

bool list_cursor_skip(ListCursor *c, uint64_t target)
{
    uint64_t low = c->block, step = 1;
    if (low == c->blocks || list_cursor_last(c, low) >= target) return low < c->blocks;
    while (low + step < c->blocks && list_cursor_last(c, low + step) < target) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step < c->blocks ? low + step : c->blocks;
    while (low + 1 < high) { /* last of low < target, and high is the end or has last >= target */
        uint64_t middle = low + (high - low) / 2;
        if (list_cursor_last(c, middle) < target)
            low = middle;
        else
            high = middle;
    }
    c->block = high;
    return high < c->blocks;
}

static tcudb_status load(ListCursor *c, Error *err)
{
    uint32_t n = 0;
    if (c->loaded == c->block) return TCUDB_OK;
    TRY(list_numbers(c->set, c->list, c->block, c->values, &c->n, err));
    if (c->freqs != NULL) {
        TRY(list_set_decode(c->freqs, c->list, c->block, c->freq, &n, err));
        if (n != c->n) return error_set(err, SQLSTATE_DATA_CORRUPTED, "documents and frequencies differ in length");
    }
    c->loaded = c->block;
    c->at = 0;
    c->decoded++;
    return TCUDB_OK;
}

static uint32_t seek_value(const uint64_t *v, uint32_t at, uint32_t n, uint64_t target)
{
    uint32_t low = at, step = 1;
    if (v[low] >= target) return low;
    while (low + step < n && v[low + step] < target) {
        low += step;
        step *= 2;
    }
    uint32_t high = low + step < n ? low + step : n;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (v[middle] < target)
            low = middle;
        else
            high = middle;
    }
    return high;
}

tcudb_status list_cursor_seek(ListCursor *c, uint64_t target, bool *found, Error *err)
{
    *found = false;
    while (list_cursor_skip(c, target)) {
        TRY(load(c, err));
        c->at = c->at < c->n ? seek_value(c->values, c->at, c->n, target) : c->n;
        if (c->at < c->n) {
            assert(c->values[c->at] >= target);
            *found = true;
            return TCUDB_OK;
        }
        c->block++; /* a short list, or a skip entry that the block itself contradicts */
    }
    return TCUDB_OK;
}
