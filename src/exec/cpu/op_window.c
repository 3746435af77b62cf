/*
 * op_window.c: window functions over kept, sorted rows.
 *
 * The input is sorted by partition and order and kept in that order; partitions and peers (rows equal in the order)
 * are then runs of rows (window_runs.c). Each call fills one column for all rows, in tasks that are runs of rows:
 * numbering functions by a pass, value functions by computing which row's value each row gets, aggregates in
 * window_agg.c.
 *
 * Invariants: rows of equal keys keep their input order, and what a row gets does not depend on the tasks, so results
 * do not depend on the number of workers.
 */
#include "exec/cpu/window_int.h"

#include <assert.h>
#include <math.h>

enum { TASK_ROWS = 16384 };

/* ---- result columns --------------------------------------------------------------------------------------- */

static tcudb_status new_column(Window *win, Type type, RowsCol *out, Error *err)
{
    Phys phys = type_phys(type);
    size_t bytes = (bit_words(win->rows->n) + 1) * sizeof(uint64_t);
    *out = (RowsCol){.type = type, .phys = (uint8_t)phys, .size = (uint32_t)phys_size(phys)};
    out->data = exec_alloc_zero(win->x, (win->rows->n + 1) * out->size, err);
    TRY_PTR(out->data);
    out->valid = exec_alloc(win->x, bytes, err);
    TRY_PTR(out->valid);
    memset(out->valid, 0xff, bytes);
    return TCUDB_OK;
}

void window_set_null(WindowColumn *col, uint64_t row)
{
    __atomic_fetch_and(&col->out->valid[row >> 6], ~(UINT64_C(1) << (row & 63)), __ATOMIC_RELAXED);
    atomic_store_explicit(&col->nulls, true, memory_order_relaxed);
}

/* out[row] = the value of another column's row; UINT64_MAX: NULL. */
static void copy_value(WindowColumn *col, uint64_t row, const RowsCol *from, uint64_t source)
{
    RowsCol *out = col->out;
    assert(from != NULL);
    if (source == UINT64_MAX || window_is_null(from, source)) {
        window_set_null(col, row);
    } else if (from->dict) {
        ((Str *)out->data)[row] = from->view.values[((const uint32_t *)from->data)[source]];
    } else {
        assert(from->size == out->size);
        memcpy((char *)out->data + row * out->size, (const char *)from->data + source * from->size, out->size);
    }
}

/* ---- numbering -------------------------------------------------------------------------------------------- */

/* The first argument that is not NULL counts, and buckets begin at its row. */
static tcudb_status ntile_of(WindowColumn *col, const WindowCursor *c, uint64_t begin, Error *err)
{
    if (c->row < begin || begin == c->part_end) {
        window_set_null(col, c->row);
        return TCUDB_OK;
    }
    int32_t buckets = ((const int32_t *)col->args[0]->data)[begin];
    if (buckets <= 0) {
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_NTILE_FUNCTION,
                         "argument of ntile must be greater than zero");
    }
    uint64_t rows = c->part_end - c->part, at = c->row - begin;
    uint64_t small = rows / (uint64_t)buckets, large = rows % (uint64_t)buckets; /* the first `large` have one more */
    uint64_t in_large = large * (small + 1);
    uint64_t bucket = at < in_large ? at / (small + 1) : large + (at - in_large) / (small == 0 ? 1 : small);
    ((int32_t *)col->out->data)[c->row] = (int32_t)bucket + 1;
    return TCUDB_OK;
}

static uint64_t first_argument(const WindowColumn *col, const WindowCursor *c)
{
    uint64_t row = c->part;
    while (col->call->func == WINDOW_NTILE && row < c->part_end && window_is_null(col->args[0], row)) row++;
    return row;
}

static tcudb_status number_rows(const Window *win, WindowColumn *col, WindowCursor c, Error *err)
{
    uint64_t begin = 0, part = UINT64_MAX;
    for (; window_next(win, &c); c.row++) {
        uint64_t row = c.row, rows = c.part_end - c.part;
        int64_t *number = (int64_t *)col->out->data + row;
        double *ratio = (double *)col->out->data + row;
        if (c.part != part) begin = first_argument(col, &c);
        part = c.part;
        switch (col->call->func) {
        case WINDOW_ROW_NUMBER: *number = (int64_t)(row - c.part) + 1; break;
        case WINDOW_RANK: *number = (int64_t)(c.peer - c.part) + 1; break;
        case WINDOW_DENSE_RANK: *number = (int64_t)(c.groups - c.part_groups); break;
        case WINDOW_PERCENT_RANK: *ratio = rows <= 1 ? 0 : (double)(c.peer - c.part) / (double)(rows - 1); break;
        case WINDOW_CUME_DIST: *ratio = (double)(c.peer_end - c.part) / (double)rows; break;
        default: TRY(ntile_of(col, &c, begin, err));
        }
    }
    return TCUDB_OK;
}

/* ---- values of other rows --------------------------------------------------------------------------------- */

/* The n-th row of the parts from their start, or from their end; UINT64_MAX: there are not so many. */
static uint64_t nth_row(const Frame *parts, uint32_t nparts, uint64_t n, bool last)
{
    for (uint32_t i = 0; i < nparts; i++) {
        const Frame *part = &parts[last ? nparts - 1 - i : i];
        uint64_t rows = part->to - part->from;
        if (n < rows) return last ? part->to - 1 - n : part->from + n;
        n -= rows;
    }
    return UINT64_MAX;
}

static void shifted(WindowColumn *col, const WindowCursor *c)
{
    bool lag = col->call->func == WINDOW_LAG;
    int64_t offset = 1;
    if (col->call->nargs > 1) {
        if (window_is_null(col->args[1], c->row)) {
            window_set_null(col, c->row);
            return;
        }
        offset = ((const int32_t *)col->args[1]->data)[c->row];
    }
    int64_t source = (int64_t)c->row + (lag ? -offset : offset);
    bool inside = source >= (int64_t)c->part && source < (int64_t)c->part_end;
    if (inside)
        copy_value(col, c->row, col->args[0], (uint64_t)source);
    else if (col->call->nargs < 3)
        window_set_null(col, c->row);
    else
        copy_value(col, c->row, col->args[2], c->row);
}

static tcudb_status framed(const Window *win, WindowColumn *col, const WindowCursor *c, Error *err)
{
    Frame parts[3];
    uint64_t n = 0;
    if (col->call->func == WINDOW_NTH_VALUE) {
        if (window_is_null(col->args[1], c->row)) {
            window_set_null(col, c->row);
            return TCUDB_OK;
        }
        int32_t nth = ((const int32_t *)col->args[1]->data)[c->row];
        if (nth <= 0) {
            return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION,
                             "argument of nth_value must be greater than zero");
        }
        n = (uint64_t)nth - 1;
    }
    uint32_t nparts = window_frame_parts(col, c, window_frame(win, col, c), parts);
    copy_value(col, c->row, col->args[0], nth_row(parts, nparts, n, col->call->func == WINDOW_LAST_VALUE));
    return TCUDB_OK;
}

static tcudb_status take_values(const Window *win, WindowColumn *col, WindowCursor c, Error *err)
{
    bool shift = col->call->func == WINDOW_LAG || col->call->func == WINDOW_LEAD;
    for (; window_next(win, &c); c.row++) {
        if (shift)
            shifted(col, &c);
        else
            TRY(framed(win, col, &c, err));
    }
    return TCUDB_OK;
}

/* A task's rows of a call that is no aggregate. */
typedef struct Filling {
    Window *win;
    WindowColumn *col;
} Filling;

static tcudb_status fill_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Filling *f = ctx;
    uint64_t from = task * TASK_ROWS, n = f->win->rows->n, to = from + TASK_ROWS < n ? from + TASK_ROWS : n;
    WindowCursor c = window_cursor(f->win, from, to);
    (void)w;
    TRY(exec_check_cancel(f->win->x, err));
    switch (f->col->call->func) {
    case WINDOW_LAG:
    case WINDOW_LEAD:
    case WINDOW_FIRST_VALUE:
    case WINDOW_LAST_VALUE:
    case WINDOW_NTH_VALUE: return take_values(f->win, f->col, c, err);
    default: return number_rows(f->win, f->col, c, err);
    }
}

/* ---- driving ---------------------------------------------------------------------------------------------- */

static tcudb_status frame_offset(Window *win, Expr *e, const char *what, int64_t *out, Error *err)
{
    Value value = {0};
    *out = 0;
    if (e == NULL) return TCUDB_OK;
    TRY(ev_value(win->x, e, &value, err));
    if (value.null) return error_set(err, SQLSTATE_NULL_VALUE_NOT_ALLOWED, "frame %s offset must not be null", what);
    if (value.i64 < 0) {
        return error_set(err, SQLSTATE_INVALID_PRECEDING_OR_FOLLOWING_SIZE, "frame %s offset must not be negative",
                         what);
    }
    *out = value.i64;
    return TCUDB_OK;
}

static bool negative(const Value *value)
{
    switch (value->type.id) {
    case TYPE_FLOAT8: return value->f64 < 0 || isnan(value->f64);
    case TYPE_INTERVAL: return value_compare(value, &(Value){.type = TYPE(TYPE_INTERVAL)}) < 0;
    default: {
        Num v = value_num(value);
        return v.kind == NUM_NAN || v.kind == NUM_NINF || (v.kind == NUM_FINITE && v.value < 0);
    }
    }
}

static tcudb_status range_offset(Window *win, Expr *e, const char *what, Error *err)
{
    Value value = {0};
    if (e == NULL) return TCUDB_OK;
    TRY(ev_value(win->x, e, &value, err));
    value.type = e->type;
    if (value.null) return error_set(err, SQLSTATE_NULL_VALUE_NOT_ALLOWED, "frame %s offset must not be null", what);
    if (!negative(&value)) return TCUDB_OK;
    return error_set(err, SQLSTATE_INVALID_PRECEDING_OR_FOLLOWING_SIZE,
                     "invalid preceding or following size in window function");
}

static tcudb_status set_frame(Window *win, const WindowCall *call, WindowColumn *c, Error *err)
{
    if (call->unit == FRAME_GROUPS) TRY(window_find_starts(win, err));
    if (call->range_key == NULL) {
        TRY(frame_offset(win, call->start_offset, "starting", &c->start_offset, err));
        return frame_offset(win, call->end_offset, "ending", &c->end_offset, err);
    }
    TRY(range_offset(win, call->start_offset, "starting", err));
    TRY(range_offset(win, call->end_offset, "ending", err));
    c->descending = win->plan->window.order[0].descending;
    c->range_key = window_column_of(win, call->range_key);
    for (uint32_t k = 0; k < 2; k++)
        if (call->range_bounds[k] != NULL) c->range_bounds[k] = window_column_of(win, call->range_bounds[k]);
    return TCUDB_OK;
}

static tcudb_status run_call(Window *win, const WindowCall *call, RowsCol *out, Error *err)
{
    WindowColumn c = {.call = call, .out = out};
    TRY(new_column(win, call->col.type, out, err));
    TRY(set_frame(win, call, &c, err));
    for (uint32_t i = 0; i < call->nargs; i++) {
        c.args[i] = window_column_of(win, call->args[i]);
        if (c.args[i] == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a window argument is no input column");
    }
    Filling filling = {win, &c};
    uint64_t tasks = (win->rows->n + TASK_ROWS - 1) / TASK_ROWS;
    if (call->func == WINDOW_AGG)
        TRY(window_aggregate(win, &c, err));
    else
        TRY(exec_parallel(win->x, win->node, tasks, fill_task, &filling, err));
    if (atomic_load(&c.nulls)) return TCUDB_OK;
    exec_free(win->x, out->valid);
    out->valid = NULL;
    return TCUDB_OK;
}

/* The input's rows, in the order of partition and order. */
static tcudb_status sort_input(Window *win, PhysNode *node, Error *err)
{
    Exec *x = win->x;
    const Plan *plan = win->plan, *input = plan->inputs[0];
    uint32_t nkeys = plan->window.npartition + plan->window.norder;
    if (nkeys == 0) return exec_collect(x, node->inputs[0], &win->rows, err);
    SortKey *keys = ARENA_ARRAY(&x->arena, SortKey, nkeys, err);
    TRY_PTR(keys);
    for (uint32_t i = 0; i < plan->window.npartition; i++) keys[i].expr = plan->window.partition[i];
    for (uint32_t i = 0; i < plan->window.norder; i++) keys[plan->window.npartition + i] = plan->window.order[i];
    Rows *rows = NULL;
    uint32_t *order = NULL;
    TRY(exec_sort(x, node, keys, nkeys, UINT64_MAX, &rows, &order, err));
    assert(rows->ncols >= input->ncols);
    TRY(rows_permute(rows, node, order, &win->rows, err));
    exec_free(x, order);
    rows_free(rows);
    return TCUDB_OK;
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Window win = {.x = x, .node = node, .plan = plan};
    uint32_t ncols = plan->inputs[0]->ncols, ncalls = plan->window.ncalls;
    assert(plan->ncols == ncols + ncalls);
    TRY(layout_of(x, plan->inputs[0], &win.in, err));
    TRY(sort_input(&win, node, err));
    TRY(window_find_runs(&win, err));
    RowsCol *cols = ARENA_ARRAY(&x->arena, RowsCol, ncols + ncalls, err);
    TRY_PTR(cols);
    if (ncols > 0) memcpy(cols, win.rows->cols, ncols * sizeof *cols);
    for (uint32_t i = 0; i < ncalls; i++) TRY(run_call(&win, &plan->window.calls[i], &cols[ncols + i], err));
    Rows result = *win.rows;
    result.ncols = ncols + ncalls;
    result.cols = cols;
    TRY(rows_push(x, node, &result, NULL, 0, down, err));
    for (uint32_t i = 0; i < ncalls; i++) {
        exec_free(x, cols[ncols + i].data);
        exec_free(x, cols[ncols + i].valid);
    }
    exec_free(x, win.parts);
    exec_free(x, win.peers);
    exec_free(x, win.groups);
    exec_free(x, win.starts);
    exec_free(x, win.spans);
    rows_free(win.rows);
    return TCUDB_OK;
}

const Op op_window = {.name = "Window", .engine = "cpu", .run = run};
