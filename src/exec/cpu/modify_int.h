/*
 * modify_int.h: what INSERT, DELETE and UPDATE share.
 */
#ifndef EXEC_CPU_MODIFY_INT_H
#define EXEC_CPU_MODIFY_INT_H

#include "exec/exec_int.h"

/* A stage in front of `down` that refuses batches with a row against NOT NULL or a CHECK: 23502, 23514. Batches are
 * the node's input. *out is down itself if there is nothing to check. */
tcudb_status row_check_stage(Exec *x, PhysNode *node, const Table *table, Stage *down, Stage **out,
                             Error *err) MUST_CHECK;

/* Rows to be added: order[0..n-1], ascending, of rows whose new values begin at column `first`. */
typedef struct NewRows {
    uint32_t *order;
    uint64_t n;
    uint32_t first;
} NewRows;

/* Compares the keys of new rows with each other and with the table, as the transaction sees it now: 23505 for the
 * first row that has a key taken, or 21000 or being left out of its order, as the node's ON CONFLICT has it. */
tcudb_status unique_check(Exec *x, PhysNode *node, const Rows *rows, NewRows *parts, uint32_t nparts,
                          Error *err) MUST_CHECK;

/* 21000: two rows of an ON CONFLICT DO UPDATE want the same one. */
tcudb_status unique_second_time(Error *err);

/* "a, b" and "1, x" for DETAIL: the values of a batch's row, in PostgreSQL's manner. */
tcudb_status row_text(Buf *buf, const Vector *cols, const uint32_t *which, uint32_t n, uint32_t row, bool cut,
                      Error *err) MUST_CHECK;

/* ---- row_ids.c: rows of the changed table, each once, ascending; `rows` says which input row named it first. */
typedef struct RowIds {
    uint64_t n;
    const uint64_t *ids;
    uint32_t *rows; /* NULL: the i-th named the i-th; ids are the input's then */
    uint64_t *own;
} RowIds;

/* Of ids[order[0..n-1]], or of ids[0..n-1] where order is NULL. */
tcudb_status row_ids_new(Exec *x, const uint64_t *ids, const uint32_t *order, uint64_t n, RowIds *out,
                         Error *err) MUST_CHECK;
void row_ids_free(Exec *x, RowIds *ids);

/* INSERT's and UPDATE's way to the end of the table: the columns from part->first on are the table's. */
tcudb_status modify_append(Exec *x, PhysNode *node, const Rows *rows, const NewRows *part, uint32_t ncols,
                           Error *err) MUST_CHECK;
/* RETURNING: rows order[0..n-1], NULL: all. */
tcudb_status modify_put_out(Exec *x, PhysNode *node, const Rows *rows, const uint32_t *order, uint64_t n, Stage *down,
                            Error *err) MUST_CHECK;
/* A batch's rows that pass the checks, kept. */
tcudb_status modify_collect(Exec *x, PhysNode *node, const Table *table, Rows **out, Error *err) MUST_CHECK;

#endif
