/*
 * list_ops.h: questions to ascending lists of numbers (documents), answered on the compressed form.
 */
#ifndef CODEC_LIST_OPS_H
#define CODEC_LIST_OPS_H

#include "base/pool.h"
#include "codec/list_set.h"

/* Numbers in all (any: in at least one) of `lists` and in none of `without`. No lists: no numbers. */
typedef struct ListQuery {
    const uint64_t *lists;
    const uint64_t *without;
    uint32_t nlists, nwithout;
    bool any;
} ListQuery;

typedef struct ListWork {
    uint64_t blocks;  /* decoded */
    uint64_t skipped; /* not decoded, of the lists asked */
} ListWork;

/* Appends the answer to out, ascending: uint32_t, in wide sets uint64_t. work may be NULL; it is added to. 22023 if the
 * lists do not ascend or a list number is out of range. */
tcudb_status list_query(const ListSet *set, const ListQuery *query, Buf *out, ListWork *work, Error *err) MUST_CHECK;

typedef struct ListHit {
    uint64_t doc;
    uint32_t score; /* sum of the frequencies, at most 2^32 - 2 */
} ListHit;

/* The k documents with the largest sum of frequencies over query->lists, largest first, equal ones by ascending
 * number. freqs is parallel to docs: the same lists with the same lengths, of 32-bit values. *n gets how many there
 * are. */
tcudb_status list_top(const ListSet *docs, const ListSet *freqs, const ListQuery *query, uint32_t k, ListHit *hits,
                      uint32_t *n, ListWork *work, Error *err) MUST_CHECK;

/* Many queries over a pool's threads (NULL: this one): answers[i] (initialised) gets query i's numbers. */
tcudb_status list_query_batch(const ListSet *set, const ListQuery *queries, uint32_t n, Pool *pool, Buf *answers,
                              Error *err) MUST_CHECK;
/* hits: k a query; found[i] how many of them are filled. */
tcudb_status list_top_batch(const ListSet *docs, const ListSet *freqs, const ListQuery *queries, uint32_t n, uint32_t k,
                            Pool *pool, ListHit *hits, uint32_t *found, Error *err) MUST_CHECK;

/* Shared with the GPU's side: 22023 or 54000 if the query does not fit the set. */
tcudb_status list_query_check(const ListSet *set, const ListQuery *query, Error *err) MUST_CHECK;
/* 22023 unless the frequencies are of these lists. */
tcudb_status list_freqs_check(const ListSet *docs, const ListSet *freqs, Error *err) MUST_CHECK;
static inline size_t list_word(const ListSet *set)
{
    return set->flags & LIST_WIDE ? 8 : 4;
}

#endif
