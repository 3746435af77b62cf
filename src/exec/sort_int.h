/*
 * sort_int.h: between sort.c, sort_keys.c, sort_items.c and topn.c.
 */
#ifndef EXEC_SORT_INT_H
#define EXEC_SORT_INT_H

#include "exec/exec_int.h"

/* A column to sort by, and how its values become codes: unsigned integers of `bits` bits that order like the key. */
typedef struct SortColumn {
    const RowsCol *col;
    bool descending, nulls_first;
    bool nulls;        /* there are some */
    bool exact;        /* equal codes mean equal values */
    uint32_t skip;     /* text: leading bytes that all values share */
    uint32_t *rank;    /* by dictionary code: its place in the order; NULL: not made */
    uint64_t min, max; /* words of the values */
    uint32_t bits;
    uint32_t drop; /* low bits left out so that NULL has a code */
} SortColumn;

typedef struct SortItem {
    uint64_t key; /* codes of the leading columns, the first one highest */
    uint32_t row;
} SortItem;

typedef struct Sorter {
    Exec *x;
    PhysNode *node;
    SortColumn *cols;
    uint32_t ncols;
    uint32_t decided; /* columns that equal keys settle; later ones are compared row by row */
    uint64_t n, limit;
    SortItem *items; /* by row */
    uint32_t *order; /* the result: row numbers */
} Sorter;

enum { SORT_TASK = 65536 };

/* An unsigned word that orders like the value: smaller word, smaller value. Equal words decide nothing for text (eight
 * bytes of it), for int128 and Num (saturated, digits cut off); Interval has none (0). NULLs get any word.
 * Rows: from + sel[i], or from + i. */
void sort_words(const SortColumn *c, uint64_t from, const uint16_t *sel, uint32_t n, uint64_t *out);
/* Settles how keys become codes and fills the items, in the order of rows. */
tcudb_status sort_make_items(Sorter *s, Error *err) MUST_CHECK;
/* < 0: row a before b by the columns from `from` on; 0: equal. */
int sort_compare(const Sorter *s, uint32_t from, uint32_t a, uint32_t b);
/* Sorts the items; order[0 .. min(n, limit)) is right afterwards. */
tcudb_status sort_items(Sorter *s, Error *err) MUST_CHECK;

typedef struct TopN TopN;
/* *out NULL: the limit is too large or the key has no word. col: the key's column in the batches to come. */
tcudb_status topn_new(Exec *x, const SortKey *key, uint32_t col, uint64_t limit, TopN **out, Error *err) MUST_CHECK;
/* Scans with a filter of this id get the bound that the rows so far have set. */
tcudb_status topn_publish(TopN *t, Exec *x, uint32_t id, Error *err) MUST_CHECK;
/* Takes the rows that cannot be among the first `limit` out of the batch's live rows. */
tcudb_status topn_filter(TopN *t, Worker *w, Batch *batch, Error *err) MUST_CHECK;

#endif
