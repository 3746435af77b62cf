/*
 * catalog.h: what the planner knows of tables: statistics, and built-in relations.
 *
 * Bounds, NULL and row counts are exact: the feasibility proofs of the tensor engine rest on them.
 * Distinct counts are exact for text (dictionary) and HyperLogLog estimates otherwise.
 */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "store/store.h"

typedef struct ColumnStats {
    uint64_t nulls;
    bool has_bounds; /* min and max below; for text: of the strings if cheap, else absent */
    Value min, max;
    double distinct;
    bool distinct_exact;
    bool unique;  /* proven: every non-NULL value occurs once */
    double width; /* average bytes */
} ColumnStats;

/* Computed from segment facts; cached with the table version. */
tcudb_status catalog_stats(const Table *table, uint32_t col, ColumnStats *out, Error *err) MUST_CHECK;

#endif
