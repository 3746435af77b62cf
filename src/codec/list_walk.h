/*
 * list_walk.h: between the files that answer questions to lists: several cursors walked together.
 */
#ifndef CODEC_LIST_WALK_H
#define CODEC_LIST_WALK_H

#include "codec/list_cursor.h"

/* Scores saturate here. */
#define LIST_SCORE_MAX (UINT32_MAX - 1)

/* A query's cursors: its lists, shortest first, then those without. */
typedef struct ListWalk {
    ListCursor **at, **heap; /* heap: room for a union */
    uint32_t n, lists;
    bool scored; /* frequencies are wanted */
} ListWalk;

/* Numbers that may be answers, ascending; their scores where the walk is scored. */
typedef struct ListCandidates {
    uint32_t n;
    uint64_t v[CODEC_BLOCK];
    uint32_t score[CODEC_BLOCK];
} ListCandidates;
/* Takes candidates that passed every filter. */
typedef tcudb_status (*ListTakeFn)(void *ctx, const ListCandidates *c, Error *err);

tcudb_status list_walk_open(const ListSet *set, const ListSet *freqs, const ListQuery *q, Arena *arena, ListWalk *out,
                            Error *err) MUST_CHECK;
/* Numbers stored in the lists asked. */
uint64_t list_walk_postings(const ListWalk *w);
void list_walk_add_work(const ListWalk *w, ListWork *work);
/* Block b of the first list, filtered by all others: the numbers in all lists and in none of those without. */
tcudb_status list_walk_and(ListWalk *w, uint64_t b, ListCandidates *c, Error *err) MUST_CHECK;
/* Numbers of low..high in any list, filtered by those without, handed over in portions. Ranges of successive calls
 * ascend. */
tcudb_status list_walk_merge(ListWalk *w, uint64_t low, uint64_t high, ListCandidates *c, ListTakeFn take, void *ctx,
                             Error *err) MUST_CHECK;
static inline uint32_t list_add_score(uint32_t a, uint32_t b)
{
    return b > LIST_SCORE_MAX - a ? LIST_SCORE_MAX : a + b;
}

#endif
