/*
 * rows.h: results that the session makes itself: SHOW, EXPLAIN, listings.
 */
#ifndef SESSION_ROWS_H
#define SESSION_ROWS_H

#include "session/session.h"

enum { ROWS_MAX_COLS = 6 };

typedef struct Rows {
    Arena *arena;
    uint32_t ncols;
    PlanCol cols[ROWS_MAX_COLS];
    Value *values; /* row by row */
    uint64_t nrows;
    uint64_t cap;
} Rows;

void rows_init(Rows *rows, Arena *arena);
/* Before the first row. name: a string that outlives the rows. */
void rows_column(Rows *rows, const char *name, TypeId type);
/* Appends a row of NULLs and returns its ncols values to be filled in; NULL and *err set if out of memory. Text is
 * not copied. */
Value *rows_add(Rows *rows, Error *err) MUST_CHECK;
void rows_text(Value *value, Str text);
void rows_int(Value *value, int64_t number);
void rows_bool(Value *value, bool truth);
/* One text row a line of `text`. */
tcudb_status rows_lines(Rows *rows, Str text, Error *err) MUST_CHECK;
/* Columns, then batches. */
tcudb_status rows_send(const Rows *rows, const SessionSink *sink, Error *err) MUST_CHECK;

#endif
