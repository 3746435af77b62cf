/*
 * window_int.h: what the files of the window operator share: sorted rows, the runs that they form, frames.
 */
#ifndef EXEC_CPU_WINDOW_INT_H
#define EXEC_CPU_WINDOW_INT_H

#include "exec/exec_int.h"

enum { WINDOW_CANCEL_ROWS = 16384 };

typedef struct Frame {
    uint64_t from, to; /* of the row */
} Frame;

typedef struct Window {
    Exec *x;
    PhysNode *node;
    const Plan *plan;
    Layout in;
    Rows *rows;       /* sorted */
    uint64_t *parts;  /* bit i: row i starts a partition */
    uint64_t *peers;  /* bit i: row i starts a group of peers */
    uint64_t *groups; /* of peers that begin before each block of rows: window_runs.c */
    uint64_t *starts; /* the rows that do, for GROUPS frames; NULL: not wanted yet */
    uint64_t nstarts;
    uint64_t *spans; /* where tasks begin and, behind the last, the number of rows: parts of whole partitions */
    uint64_t nspans;
} Window;

/* The partition and the peers that a pass has come to. */
typedef struct WindowCursor {
    uint64_t row, end; /* where the pass ends */
    uint64_t part, part_end, peer, peer_end;
    uint64_t groups;      /* of peers that have begun */
    uint64_t part_groups; /* of them before the partition */
} WindowCursor;

typedef struct WindowColumn {
    const WindowCall *call;
    const RowsCol *args[3];
    int64_t start_offset, end_offset;
    bool descending;
    const RowsCol *range_key, *range_bounds[2]; /* RANGE with offsets */
    RowsCol *out;
    atomic_bool nulls; /* out has some */
} WindowColumn;

/* ---- window_runs.c ----------------------------------------------------------------------------- */

/* The input column that e is; NULL: none. */
const RowsCol *window_column_of(const Window *win, const Expr *e);
Value window_value(const RowsCol *col, uint64_t row);
static inline bool window_is_null(const RowsCol *col, uint64_t row)
{
    return col->valid != NULL && !bit_get(col->valid, row);
}
/* Partitions, peers and spans of the sorted rows. */
tcudb_status window_find_runs(Window *win, Error *err) MUST_CHECK;
/* The rows at which groups of peers start. */
tcudb_status window_find_starts(Window *win, Error *err) MUST_CHECK;
/* A cursor before row `from`, which may be any; window_next moves to it, and after each ++row to the next; false: at
 * `to`. */
WindowCursor window_cursor(const Window *win, uint64_t from, uint64_t to);
bool window_next(const Window *win, WindowCursor *c);
Frame window_frame(const Window *win, const WindowColumn *col, const WindowCursor *c);
/* The first row behind the cursor's that may have another frame; groups are not counted up to there. */
uint64_t window_frame_end(const WindowColumn *col, const WindowCursor *c);
/* The frame without what EXCLUDE names: up to three runs of rows, in order, some of them empty. */
uint32_t window_frame_parts(const WindowColumn *col, const WindowCursor *c, Frame f, Frame parts[3]);

/* ---- result columns (op_window.c) -------------------------------------------------------------- */

/* From any thread. */
void window_set_null(WindowColumn *col, uint64_t row);

/* ---- window_agg.c ------------------------------------------------------------------------------ */

tcudb_status window_aggregate(Window *win, WindowColumn *col, Error *err) MUST_CHECK;

#endif
