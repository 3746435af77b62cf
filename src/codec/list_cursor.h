/*
 * list_cursor.h: walks over one ascending list, decoding only the blocks that it enters. Numbers are handled with 64
 * bits whatever the set's width.
 */
#ifndef CODEC_LIST_CURSOR_H
#define CODEC_LIST_CURSOR_H

#include "base/mem.h"
#include "codec/list_ops.h"

typedef struct ListCursor {
    const ListSet *set;
    const ListSet *freqs; /* NULL: not wanted */
    uint64_t list, blocks;
    uint64_t block;  /* current; == blocks: past the end */
    uint64_t loaded; /* block whose values are here; UINT64_MAX: none */
    uint32_t n, at;
    uint64_t decoded;
    uint64_t *values; /* of the loaded block */
    uint32_t *freq;
} ListCursor;

/* Before the list's first number; room for a block is taken from the arena. */
tcudb_status list_cursor_init(ListCursor *c, const ListSet *set, const ListSet *freqs, uint64_t list, Arena *arena,
                              Error *err) MUST_CHECK;
/* Moves to the first number >= target, never backwards; false past the end. The number is values[at]. */
tcudb_status list_cursor_seek(ListCursor *c, uint64_t target, bool *found, Error *err) MUST_CHECK;
/* Moves to the first block whose last number is >= target, decoding nothing; false past the end. */
bool list_cursor_skip(ListCursor *c, uint64_t target);
/* The last number of a block, without decoding it; a short list's, before it was decoded: 2^64 - 1. */
uint64_t list_cursor_last(const ListCursor *c, uint64_t block);
/* Blocks of the list that were never decoded. */
static inline uint64_t list_cursor_skipped(const ListCursor *c)
{
    return c->blocks > c->decoded ? c->blocks - c->decoded : 0;
}

/* Block b of the list, CODEC_BLOCK numbers at most, as list_set_decode has it. */
tcudb_status list_numbers(const ListSet *set, uint64_t list, uint64_t b, uint64_t *out, uint32_t *n,
                          Error *err) MUST_CHECK;

#endif
