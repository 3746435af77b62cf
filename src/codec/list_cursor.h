/*
 * list_cursor.h: walks over one ascending list, decoding only the blocks that it enters.
 */
#ifndef CODEC_LIST_CURSOR_H
#define CODEC_LIST_CURSOR_H

#include "codec/list_ops.h"

typedef struct ListCursor {
    const ListSet *set;
    const ListSet *freqs; /* NULL: not wanted */
    uint64_t list, blocks;
    uint64_t block;  /* current; == blocks: past the end */
    uint64_t loaded; /* block whose values are here; UINT64_MAX: none */
    uint32_t n, at;
    uint64_t decoded;
    uint32_t values[CODEC_BLOCK];
    uint32_t freq[CODEC_BLOCK];
} ListCursor;

void list_cursor_init(ListCursor *c, const ListSet *set, const ListSet *freqs, uint64_t list);
/* Moves to the first value >= target, never backwards; false past the end. The value is values[at]. */
tcudb_status list_cursor_seek(ListCursor *c, uint32_t target, bool *found, Error *err) MUST_CHECK;
/* The last value of the current block, without decoding it. */
uint32_t list_cursor_last(const ListCursor *c);
/* Blocks of the list that were never decoded. */
static inline uint64_t list_cursor_skipped(const ListCursor *c)
{
    return c->blocks > c->decoded ? c->blocks - c->decoded : 0;
}

#endif
