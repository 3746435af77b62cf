/*
 * sort_int.h: between sort.c and topn.c.
 */
#ifndef EXEC_SORT_INT_H
#define EXEC_SORT_INT_H

#include "exec/exec_int.h"

/* An unsigned word that orders like the value: smaller word, smaller value; equal words decide nothing for
 * text (its first eight bytes) and int128 (its high half). Num and Interval have none (0). */
uint64_t sort_word(const RowsCol *col, uint64_t row);

typedef struct TopN TopN;
/* *out NULL: the limit is too large or the key has no word. col: the key's column in the batches to come. */
tcudb_status topn_new(Exec *x, const SortKey *key, uint32_t col, uint64_t limit, TopN **out, Error *err) MUST_CHECK;
/* Takes the rows that cannot be among the first `limit` out of the batch's live rows. */
tcudb_status topn_filter(TopN *t, Worker *w, Batch *batch, Error *err) MUST_CHECK;

#endif
