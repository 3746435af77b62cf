/*
 * key_batches.h: between what values a column of integers lies in every BATCH_ROWS rows, so that whoever looks for rows
 * of a range at planning reads few of them. Taken at the first question, remembered in a database handle. Any thread.
 */
#ifndef CATALOG_KEY_BATCHES_H
#define CATALOG_KEY_BATCHES_H

#include "catalog/catalog.h"

typedef struct KeyBatches KeyBatches;

tcudb_status key_batches_new(KeyBatches **out, Error *err) MUST_CHECK;
void key_batches_free(KeyBatches *batches);

typedef struct BatchRange {
    int64_t lo, hi; /* lo > hi: only NULLs */
} BatchRange;

/* Of the batches of each segment, one segment after the other. *out is the arena's; NULL: the column is not of
 * integers. Values that were changed in place after the first question may be outside: these serve estimates. */
tcudb_status key_batches_of(KeyBatches *batches, const Table *table, uint32_t col, Arena *arena,
                            const atomic_bool *cancel, BatchRange **out, uint64_t *n, Error *err) MUST_CHECK;

#endif
