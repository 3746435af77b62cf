/*
 * key_counts.h: how often the values of columns occur, for joins: the frequent ones one by one, the others on the
 * average. Taken when the planner asks, and remembered in a database handle. Any thread.
 */
#ifndef CATALOG_KEY_COUNTS_H
#define CATALOG_KEY_COUNTS_H

#include "catalog/key_batches.h"

typedef struct KeyCache KeyCache;

tcudb_status key_cache_new(KeyCache **out, Error *err) MUST_CHECK;
void key_cache_free(KeyCache *cache);
KeyBatches *key_cache_batches(KeyCache *cache); /* NULL: of no cache */

/* A side of a join by one column. */
typedef struct KeySide {
    const Table *table;
    uint32_t col;
    double share;  /* of the table's rows that are there, whatever their key is */
    double groups; /* rows of one key that agree on so many groups are one; INFINITY: none are */
} KeySide;

typedef struct KeyMeeting {
    double cells[2]; /* rows of each side, those that are one counting once */
    double pairs;    /* of cells of equal keys */
} KeyMeeting;

/* Counts what was not counted yet. *known false: nothing is known of a column (not of integers, dates or texts of one
 * dictionary, or too many values to count). */
tcudb_status key_meeting(KeyCache *cache, const KeySide sides[2], Arena *arena, const atomic_bool *cancel,
                         KeyMeeting *out, bool *known, Error *err) MUST_CHECK;

#endif
