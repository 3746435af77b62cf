/*
 * list_cursor.c: seeking in a compressed list.
 *
 * A seek gallops over the skip array of last values (1, 2, 4, ... blocks ahead, then halving), decodes the one block
 * that can hold the target, and gallops again inside it. So a seek over d blocks costs O(log d) and one decode, and
 * seeks of ascending targets within a block cost O(log distance) each. A short list is one block that is always
 * decoded.
 */
#include "codec/list_cursor.h"

#include <assert.h>

void list_cursor_init(ListCursor *c, const ListSet *set, const ListSet *freqs, uint64_t list)
{
    uint64_t blocks = list_blocks(set->entry[list].n);
    c->set = set;
    c->freqs = freqs;
    c->list = list;
    c->blocks = blocks == 0 && set->entry[list].n > 0 ? 1 : blocks;
    c->block = 0;
    c->loaded = UINT64_MAX;
    c->n = c->at = 0;
    c->decoded = 0;
}

static uint32_t last_of(const ListCursor *c, uint64_t block)
{
    const ListEntry *e = &c->set->entry[c->list];
    if (e->n < LIST_SHORT) return c->loaded == 0 ? c->values[c->n - 1] : UINT32_MAX;
    return (uint32_t)list_set_last(c->set, e->at + block);
}

uint32_t list_cursor_last(const ListCursor *c)
{
    return c->block < c->blocks ? last_of(c, c->block) : UINT32_MAX;
}

/* The first block from c->block on whose last value is >= target. */
static uint64_t seek_block(const ListCursor *c, uint32_t target)
{
    uint64_t low = c->block, step = 1;
    if (last_of(c, low) >= target) return low;
    while (low + step < c->blocks && last_of(c, low + step) < target) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step < c->blocks ? low + step : c->blocks;
    while (low + 1 < high) { /* last_of(low) < target, and high is the end or has last >= target */
        uint64_t middle = low + (high - low) / 2;
        if (last_of(c, middle) < target)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static tcudb_status load(ListCursor *c, Error *err)
{
    uint32_t n = 0;
    if (c->loaded == c->block) return TCUDB_OK;
    TRY(list_set_decode(c->set, c->list, c->block, c->values, &c->n, err));
    if (c->freqs != NULL) {
        TRY(list_set_decode(c->freqs, c->list, c->block, c->freq, &n, err));
        if (n != c->n) return error_set(err, SQLSTATE_DATA_CORRUPTED, "documents and frequencies differ in length");
    }
    c->loaded = c->block;
    c->at = 0;
    c->decoded++;
    return TCUDB_OK;
}

static uint32_t seek_value(const uint32_t *v, uint32_t at, uint32_t n, uint32_t target)
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

tcudb_status list_cursor_seek(ListCursor *c, uint32_t target, bool *found, Error *err)
{
    *found = false;
    while (c->block < c->blocks) {
        c->block = seek_block(c, target);
        if (c->block == c->blocks) return TCUDB_OK;
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
