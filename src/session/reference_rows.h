/*
 * reference_rows.h: rows on their way that foreign keys will ask for, as lists for VALUES.
 */
#ifndef SESSION_REFERENCE_ROWS_H
#define SESSION_REFERENCE_ROWS_H

#include "session/session_int.h"

/* For one foreign key: the values of its columns, "('x'::text, 1::integer), ..."; of keys that move the old ones, then
 * the new ones. */
typedef struct RowList {
    Str table; /* that refers */
    const Reference *reference;
    uint32_t *cols; /* of the batches */
    Buf list;
} RowList;

typedef struct ReferenceRows {
    Arena *arena;
    RowList *lists;
    uint32_t n;
    uint32_t moved; /* keys that move: how many columns there are of old values */
    uint64_t rows;  /* that moved */
} ReferenceRows;

/* Whether a plan is an INSERT of few rows whose lists are worth making. */
bool reference_rows_few(const Plan *plan);
/* For each foreign key of the table, in their order: batches of new rows go to reference_rows_add. */
tcudb_status reference_rows_added(Run *run, const TableDef *def, ReferenceRows *out, Error *err) MUST_CHECK;
tcudb_status reference_rows_add(void *ctx, const Batch *batch, Error *err) MUST_CHECK;
/* For each foreign key that follows the keys which the UPDATE changes: batches of stmt->moved go to
 * reference_rows_move. */
tcudb_status reference_rows_moved(Run *run, const Stmt *stmt, ReferenceRows *out, Error *err) MUST_CHECK;
tcudb_status reference_rows_move(void *ctx, const Batch *batch, Error *err) MUST_CHECK;
/* What a foreign key's keys became; NULL: not known, or nothing moved. */
const RowList *reference_rows_find(const ReferenceRows *rows, Str table, const Reference *reference);
void reference_rows_free(ReferenceRows *rows);

#endif
