/*
 * op_window.c: window functions over kept, sorted rows.
 *
 * The input is sorted by partition and order and kept in that order; partitions and peers (rows equal in the order)
 * are then runs of rows. Each call fills one column for all rows: numbering functions by a pass, value functions by
 * computing which row's value each row gets, aggregates by feeding rows into one running state as the frame's
 * end moves on. A frame whose start moves, or that leaves rows out, restarts its state, so that sums stay exact: rows x
 * frame length steps.
 *
 * Invariants: frames are half open and lie within their partition. Rows of equal keys keep their input order, so
 * results do not depend on the number of workers. One thread computes; sorting and what is above run in parallel.
 */
#include "exec/agg.h"

#include <assert.h>
#include <math.h>

enum { CHUNK = 1024, CANCEL_ROWS = 16384 };

typedef struct Frame {
    uint64_t from, to; /* of the row */
} Frame;

typedef struct Window {
    Exec *x;
    const Plan *plan;
    Layout in;
    Rows *rows;       /* sorted */
    uint64_t *parts;  /* bit i: row i starts a partition */
    uint64_t *peers;  /* bit i: row i starts a group of peers */
    uint64_t *starts; /* the rows that do, for GROUPS frames; NULL: not wanted yet */
    uint64_t nstarts;
} Window;

/* The partition and the peers that a pass has come to. */
typedef struct Cursor {
    uint64_t row, part, part_end, peer, peer_end;
    uint64_t groups; /* of peers that have begun */
} Cursor;

typedef struct Call {
    const WindowCall *call;
    const RowsCol *args[3];
    int64_t start_offset, end_offset;
    bool descending;
    const RowsCol *range_key, *range_bounds[2]; /* RANGE with offsets */
    RowsCol *out;
} Call;

/* ---- runs of rows ----------------------------------------------------------------------------------------- */

static bool is_null(const RowsCol *col, uint64_t row)
{
    assert(col != NULL);
    return col->valid != NULL && !bit_get(col->valid, row);
}

static Value value_at(const RowsCol *col, uint64_t row)
{
    if (col->dict) return (Value){.type = col->type, .str = col->view.values[((const uint32_t *)col->data)[row]]};
    Vector v = {.type = col->type, .phys = col->phys, .form = VEC_FLAT, .data = (char *)col->data + row * col->size};
    return vec_value(&v, 0);
}

static bool same_value(const RowsCol *col, uint64_t a, uint64_t b)
{
    bool null = is_null(col, a);
    if (null != is_null(col, b)) return false;
    if (null) return true;
    const char *data = col->data;
    if (col->dict || col->phys <= PHYS_I128) return memcmp(data + a * col->size, data + b * col->size, col->size) == 0;
    Value x = value_at(col, a), y = value_at(col, b);
    return value_compare(&x, &y) == 0;
}

static const RowsCol *column_of(const Window *win, const Expr *e)
{
    int32_t at = e->kind == EXPR_COL ? layout_find(&win->in, e->col) : -1;
    return at < 0 ? NULL : &win->rows->cols[at];
}

static tcudb_status find_runs(Window *win, Error *err)
{
    const Plan *plan = win->plan;
    uint64_t n = win->rows->n;
    win->parts = exec_alloc_zero(win->x, (bit_words(n) + 1) * sizeof(uint64_t), err);
    TRY_PTR(win->parts);
    win->peers = exec_alloc_zero(win->x, (bit_words(n) + 1) * sizeof(uint64_t), err);
    TRY_PTR(win->peers);
    for (uint64_t i = 0; i < n; i++) {
        if (i % CANCEL_ROWS == 0) TRY(exec_check_cancel(win->x, err));
        bool part = i == 0, peer = false;
        for (uint32_t k = 0; !part && k < plan->window.npartition; k++) {
            part = !same_value(column_of(win, plan->window.partition[k]), i - 1, i);
        }
        for (uint32_t k = 0; !part && !peer && k < plan->window.norder; k++) {
            peer = !same_value(column_of(win, plan->window.order[k].expr), i - 1, i);
        }
        if (part) bit_set(win->parts, i);
        if (part || peer) bit_set(win->peers, i);
    }
    return TCUDB_OK;
}

/* Moves to the next row; false after the last. */
static bool cursor_next(const Window *win, Cursor *c)
{
    uint64_t n = win->rows->n, row = c->row;
    if (row >= n) return false;
    if (bit_get(win->parts, row)) {
        c->part = row;
        for (c->part_end = row + 1; c->part_end < n && !bit_get(win->parts, c->part_end);) c->part_end++;
    }
    if (bit_get(win->peers, row)) {
        c->peer = row;
        c->groups++;
        for (c->peer_end = row + 1; c->peer_end < n && !bit_get(win->peers, c->peer_end);) c->peer_end++;
    }
    return true;
}

static uint64_t back(uint64_t row, uint64_t limit, int64_t k)
{
    return (uint64_t)k > row - limit ? limit : row - (uint64_t)k;
}

static uint64_t forth(uint64_t row, uint64_t limit, int64_t k)
{
    return (uint64_t)k > limit - row ? limit : row + (uint64_t)k;
}

/* The first row of [from, to) whose key is not before the bound, or (past) is after it. Keys are sorted, none NULL. */
static uint64_t search(const Call *call, uint64_t from, uint64_t to, const Value *bound, bool past)
{
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        Value key = value_at(call->range_key, middle);
        int order = value_compare(&key, bound);
        if (call->descending) order = -order;
        if (order < 0 || (past && order == 0))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Leaves the NULLs of a partition out, which stand together at one of its ends. */
static void skip_nulls(const RowsCol *key, uint64_t *from, uint64_t *to)
{
    bool first = is_null(key, *from);
    if (!first && !is_null(key, *to - 1)) return;
    uint64_t low = *from, high = *to;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (is_null(key, middle) == first)
            low = middle + 1;
        else
            high = middle;
    }
    *(first ? from : to) = low;
}

/* Where a RANGE with an offset begins (end 0) or ends (1). NULLs are peers of NULLs only. */
static uint64_t range_limit(const Call *call, const Cursor *c, uint32_t end)
{
    uint64_t from = c->part, to = c->part_end;
    if (is_null(call->range_key, c->row)) return end == 0 ? c->peer : c->peer_end;
    skip_nulls(call->range_key, &from, &to);
    Value bound = value_at(call->range_bounds[end], c->row), key = value_at(call->range_key, c->row);
    bool vague = key.type.id == TYPE_FLOAT8 && isnan(bound.f64) && !isnan(key.f64); /* infinity - infinity: all keys */
    if (vague) bound.f64 = key.f64 > 0 ? -INFINITY : INFINITY;
    return search(call, from, to, &bound, end == 1);
}

static Frame range_frame(const Call *call, const Cursor *c)
{
    const WindowCall *w = call->call;
    Frame f = {c->part, c->part_end};
    if (w->start == FRAME_CURRENT) f.from = c->peer;
    if (w->end == FRAME_CURRENT) f.to = c->peer_end;
    if (call->range_bounds[0] != NULL) f.from = range_limit(call, c, 0);
    if (call->range_bounds[1] != NULL) f.to = range_limit(call, c, 1);
    if (f.to < f.from) f.to = f.from;
    return f;
}

/* The row where the k-th group of peers after (before) the current one starts, within the partition. */
static uint64_t group_start(const Window *win, const Cursor *c, int64_t k, bool after)
{
    uint64_t group = c->groups - 1, at = after ? forth(group, win->nstarts, k) : back(group, 0, k);
    uint64_t row = at < win->nstarts ? win->starts[at] : win->rows->n;
    return row < c->part ? c->part : row > c->part_end ? c->part_end : row;
}

/* Where the group before the one k groups before the current one ends. */
static uint64_t end_before(const Window *win, const Cursor *c, int64_t k)
{
    if (k == 0) return c->peer_end;
    return (uint64_t)k > c->groups - 1 ? c->part : group_start(win, c, k - 1, false);
}

static Frame groups_frame(const Window *win, const Call *call, const Cursor *c)
{
    const WindowCall *w = call->call;
    Frame f = {c->part, c->part_end};
    if (w->start == FRAME_CURRENT) f.from = c->peer;
    if (w->start == FRAME_PRECEDING) f.from = group_start(win, c, call->start_offset, false);
    if (w->start == FRAME_FOLLOWING) f.from = group_start(win, c, call->start_offset, true);
    if (w->end == FRAME_CURRENT) f.to = c->peer_end;
    if (w->end == FRAME_PRECEDING) f.to = end_before(win, c, call->end_offset);
    if (w->end == FRAME_FOLLOWING) {
        bool all = call->end_offset == INT64_MAX;
        f.to = all ? c->part_end : group_start(win, c, call->end_offset + 1, true);
    }
    if (f.to < f.from) f.to = f.from;
    return f;
}

static Frame frame_of(const Window *win, const Call *call, const Cursor *c)
{
    const WindowCall *w = call->call;
    if (call->range_key != NULL) return range_frame(call, c);
    if (w->unit == FRAME_GROUPS) return groups_frame(win, call, c);
    Frame f = {c->part, c->part_end};
    bool rows = w->unit == FRAME_ROWS;
    if (w->start == FRAME_CURRENT) f.from = rows ? c->row : c->peer;
    if (w->start == FRAME_PRECEDING) f.from = back(c->row, c->part, call->start_offset);
    if (w->start == FRAME_FOLLOWING) f.from = forth(c->row, c->part_end, call->start_offset);
    if (w->end == FRAME_CURRENT) f.to = rows ? c->row + 1 : c->peer_end;
    if (w->end == FRAME_FOLLOWING) f.to = forth(c->row + 1, c->part_end, call->end_offset);
    if (w->end == FRAME_PRECEDING) {
        bool none = (uint64_t)call->end_offset > c->row - c->part;
        f.to = none ? c->part : c->row + 1 - (uint64_t)call->end_offset;
    }
    if (f.to < f.from) f.to = f.from;
    return f;
}

/* The frame without what EXCLUDE names: up to three runs of rows, in order, some of them empty. */
static uint32_t frame_parts(const Call *call, const Cursor *c, Frame f, Frame parts[3])
{
    FrameExclude exclude = call->call->exclude;
    Frame hole = {c->peer, c->peer_end};
    if (exclude == EXCLUDE_NONE) {
        parts[0] = f;
        return 1;
    }
    if (exclude == EXCLUDE_ROW) hole = (Frame){c->row, c->row + 1};
    bool row = exclude == EXCLUDE_TIES && c->row >= f.from && c->row < f.to;
    parts[0] = (Frame){f.from, hole.from < f.from ? f.from : hole.from < f.to ? hole.from : f.to};
    parts[1] = (Frame){c->row, c->row + row};
    parts[2] = (Frame){hole.to > f.to ? f.to : hole.to > f.from ? hole.to : f.from, f.to};
    return 3;
}

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

/* ---- result columns --------------------------------------------------------------------------------------- */

static tcudb_status new_column(Window *win, Type type, RowsCol *out, Error *err)
{
    Phys phys = type_phys(type);
    *out = (RowsCol){.type = type, .phys = (uint8_t)phys, .size = (uint32_t)phys_size(phys)};
    out->data = exec_alloc_zero(win->x, (win->rows->n + 1) * out->size, err);
    TRY_PTR(out->data);
    return TCUDB_OK;
}

static tcudb_status set_null(Window *win, RowsCol *col, uint64_t row, Error *err)
{
    if (col->valid == NULL) {
        size_t bytes = (bit_words(win->rows->n) + 1) * sizeof(uint64_t);
        col->valid = exec_alloc(win->x, bytes, err);
        TRY_PTR(col->valid);
        memset(col->valid, 0xff, bytes);
    }
    bit_clear(col->valid, row);
    return TCUDB_OK;
}

/* out[row] = the value of another column's row; ROWS_NONE: NULL. */
static tcudb_status copy_value(Window *win, RowsCol *out, uint64_t row, const RowsCol *from, uint64_t source,
                               Error *err)
{
    assert(from != NULL);
    if (source == UINT64_MAX || is_null(from, source)) return set_null(win, out, row, err);
    if (from->dict) {
        ((Str *)out->data)[row] = from->view.values[((const uint32_t *)from->data)[source]];
        return TCUDB_OK;
    }
    assert(from->size == out->size);
    memcpy((char *)out->data + row * out->size, (const char *)from->data + source * from->size, out->size);
    return TCUDB_OK;
}

/* ---- numbering -------------------------------------------------------------------------------------------- */

/* The first argument that is not NULL counts, and buckets begin at its row. */
static tcudb_status ntile_of(Window *win, const Call *call, const Cursor *c, uint64_t begin, Error *err)
{
    if (c->row < begin || begin == c->part_end) return set_null(win, call->out, c->row, err);
    int32_t buckets = ((const int32_t *)call->args[0]->data)[begin];
    if (buckets <= 0) {
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_NTILE_FUNCTION,
                         "argument of ntile must be greater than zero");
    }
    uint64_t rows = c->part_end - c->part, at = c->row - begin;
    uint64_t small = rows / (uint64_t)buckets, large = rows % (uint64_t)buckets; /* the first `large` have one more */
    uint64_t in_large = large * (small + 1);
    uint64_t bucket = at < in_large ? at / (small + 1) : large + (at - in_large) / (small == 0 ? 1 : small);
    ((int32_t *)call->out->data)[c->row] = (int32_t)bucket + 1;
    return TCUDB_OK;
}

static uint64_t first_argument(const Call *call, const Cursor *c)
{
    uint64_t row = c->part;
    while (call->call->func == WINDOW_NTILE && row < c->part_end && is_null(call->args[0], row)) row++;
    return row;
}

static tcudb_status number_rows(Window *win, const Call *call, Error *err)
{
    Cursor c = {0};
    int64_t dense = 0;
    uint64_t begin = 0;
    for (; cursor_next(win, &c); c.row++) {
        uint64_t row = c.row, rows = c.part_end - c.part;
        int64_t *number = (int64_t *)call->out->data + row;
        double *ratio = (double *)call->out->data + row;
        if (row % CANCEL_ROWS == 0) TRY(exec_check_cancel(win->x, err));
        if (row == c.part) {
            dense = 0;
            begin = first_argument(call, &c);
        }
        dense += row == c.peer;
        switch (call->call->func) {
        case WINDOW_ROW_NUMBER: *number = (int64_t)(row - c.part) + 1; break;
        case WINDOW_RANK: *number = (int64_t)(c.peer - c.part) + 1; break;
        case WINDOW_DENSE_RANK: *number = dense; break;
        case WINDOW_PERCENT_RANK: *ratio = rows <= 1 ? 0 : (double)(c.peer - c.part) / (double)(rows - 1); break;
        case WINDOW_CUME_DIST: *ratio = (double)(c.peer_end - c.part) / (double)rows; break;
        default: TRY(ntile_of(win, call, &c, begin, err));
        }
    }
    return TCUDB_OK;
}

/* ---- values of other rows --------------------------------------------------------------------------------- */

static tcudb_status shifted(Window *win, const Call *call, const Cursor *c, Error *err)
{
    bool lag = call->call->func == WINDOW_LAG;
    int64_t offset = 1;
    if (call->call->nargs > 1) {
        if (is_null(call->args[1], c->row)) return set_null(win, call->out, c->row, err);
        offset = ((const int32_t *)call->args[1]->data)[c->row];
    }
    int64_t source = (int64_t)c->row + (lag ? -offset : offset);
    bool inside = source >= (int64_t)c->part && source < (int64_t)c->part_end;
    if (inside) return copy_value(win, call->out, c->row, call->args[0], (uint64_t)source, err);
    if (call->call->nargs < 3) return set_null(win, call->out, c->row, err);
    return copy_value(win, call->out, c->row, call->args[2], c->row, err);
}

static tcudb_status framed(Window *win, const Call *call, const Cursor *c, Error *err)
{
    Frame parts[3];
    uint64_t n = 0;
    if (call->call->func == WINDOW_NTH_VALUE) {
        if (is_null(call->args[1], c->row)) return set_null(win, call->out, c->row, err);
        int32_t nth = ((const int32_t *)call->args[1]->data)[c->row];
        if (nth <= 0) {
            return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION,
                             "argument of nth_value must be greater than zero");
        }
        n = (uint64_t)nth - 1;
    }
    uint32_t nparts = frame_parts(call, c, frame_of(win, call, c), parts);
    uint64_t source = nth_row(parts, nparts, n, call->call->func == WINDOW_LAST_VALUE);
    return copy_value(win, call->out, c->row, call->args[0], source, err);
}

static tcudb_status take_values(Window *win, const Call *call, Error *err)
{
    Cursor c = {0};
    bool shift = call->call->func == WINDOW_LAG || call->call->func == WINDOW_LEAD;
    for (; cursor_next(win, &c); c.row++) {
        if (c.row % CANCEL_ROWS == 0) TRY(exec_check_cancel(win->x, err));
        TRY(shift ? shifted(win, call, &c, err) : framed(win, call, &c, err));
    }
    return TCUDB_OK;
}

/* ---- aggregates ------------------------------------------------------------------------------------------- */

typedef struct Running {
    Window *win;
    const Call *call;
    AggSpec spec;
    uint32_t args[2]; /* columns of the sorted rows */
    const RowsCol *filter;
    char *state; /* of the rows fed so far */
    char *slots; /* copies for the rows whose results are due */
    size_t stride;
    uint32_t n; /* slots in use: rows first .. first + n - 1 */
    uint64_t first;
} Running;

/* Adds rows [from, to) to the running state. */
static tcudb_status feed(Running *r, uint64_t from, uint64_t to, Error *err)
{
    Worker *w = &r->win->x->workers[0];
    AggStates states = {.base = r->state, .stride = r->stride};
    for (uint64_t at = from; at < to; at += BATCH_ROWS) {
        uint32_t rows = to - at < BATCH_ROWS ? (uint32_t)(to - at) : BATCH_ROWS, n = rows;
        uint16_t *sel = NULL;
        Vector args[2];
        if (rows > 1) TRY(exec_check_cancel(r->win->x, err));
        for (uint32_t k = 0; k < r->spec.nargs; k++) {
            TRY(rows_slice(r->win->rows, r->args[k], at, rows, worker_arena(w), &args[k], err));
        }
        if (r->filter != NULL) {
            sel = arena_alloc_raw(worker_arena(w), rows * sizeof *sel, err);
            TRY_PTR(sel);
            n = 0;
            for (uint32_t i = 0; i < rows; i++) {
                sel[n] = (uint16_t)i;
                n += !is_null(r->filter, at + i) && ((const uint8_t *)r->filter->data)[at + i];
            }
        }
        if (n > 0) TRY(agg_update(&r->spec, w, &states, args, sel, n, err));
    }
    return TCUDB_OK;
}

/* The results of the rows in the slots. */
static tcudb_status flush(Running *r, Error *err)
{
    Worker *w = &r->win->x->workers[0];
    RowsCol *out = r->call->out;
    Vector v;
    if (r->n == 0) return TCUDB_OK;
    TRY(agg_final(&r->spec, w, r->slots, r->stride, r->n, &v, err));
    assert(v.form == VEC_FLAT && phys_size((Phys)v.phys) == out->size);
    memcpy((char *)out->data + r->first * out->size, v.data, (size_t)r->n * out->size);
    for (uint32_t i = 0; i < r->n; i++) {
        if (vec_is_null(&v, i))
            TRY(set_null(r->win, out, r->first + i, err));
        else if (out->phys == PHYS_STR) {
            Str *text = (Str *)out->data + r->first + i; /* the vector's memory goes with the batch */
            text->ptr = arena_strndup(&r->win->x->arena, text->ptr, text->len, err);
            TRY_PTR(text->ptr);
        }
    }
    r->first += r->n;
    r->n = 0;
    arena_reset(&w->batch);
    return TCUDB_OK;
}

static tcudb_status running_init(Window *win, const Call *call, Running *r, Error *err)
{
    const AggCall *agg = &call->call->agg;
    *r = (Running){.win = win, .call = call};
    TRY(agg_spec(win->x, agg, &win->in, &r->spec, err));
    for (uint32_t k = 0; k < agg->nargs; k++) {
        int32_t at = layout_find(&win->in, agg->args[k]->col);
        if (at < 0) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a window aggregate's argument is no input column");
        r->args[k] = (uint32_t)at;
    }
    if (agg->filter != NULL) {
        r->filter = column_of(win, agg->filter);
        if (r->filter == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a window filter is no input column");
    }
    r->stride = (r->spec.size + 15) & ~(size_t)15;
    r->state = exec_alloc_zero(win->x, r->stride + 16, err);
    TRY_PTR(r->state);
    r->slots = exec_alloc_zero(win->x, r->stride * CHUNK + 16, err);
    TRY_PTR(r->slots);
    arena_reset(&win->x->workers[0].batch);
    return TCUDB_OK;
}

static tcudb_status aggregate(Window *win, const Call *call, Error *err)
{
    Running r;
    Cursor c = {0};
    Frame fed = {0};
    TRY(running_init(win, call, &r, err));
    for (; cursor_next(win, &c); c.row++) {
        Frame f = frame_of(win, call, &c), parts[3];
        uint32_t nparts = frame_parts(call, &c, f, parts);
        if (nparts > 1 || f.from != fed.from || f.to < fed.to || c.row == c.part) {
            memset(r.state, 0, r.stride);
            fed = (Frame){f.from, f.from};
        }
        if (nparts == 1) TRY(feed(&r, fed.to, f.to, err));
        for (uint32_t i = 0; nparts > 1 && i < nparts; i++) TRY(feed(&r, parts[i].from, parts[i].to, err));
        fed.to = f.to;
        memcpy(r.slots + r.n * r.stride, r.state, r.stride);
        if (++r.n == CHUNK) TRY(flush(&r, err));
    }
    TRY(flush(&r, err));
    exec_free(win->x, r.state);
    exec_free(win->x, r.slots);
    return TCUDB_OK;
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
    default: return value_num(value).kind == NUM_FINITE && value_num(value).value < 0;
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

/* The rows at which groups of peers start. */
static tcudb_status find_starts(Window *win, Error *err)
{
    if (win->starts != NULL) return TCUDB_OK;
    win->starts = exec_alloc(win->x, (win->rows->n + 1) * sizeof *win->starts, err);
    TRY_PTR(win->starts);
    for (uint64_t i = 0; i < win->rows->n; i++)
        if (bit_get(win->peers, i)) win->starts[win->nstarts++] = i;
    return TCUDB_OK;
}

static tcudb_status set_frame(Window *win, const WindowCall *call, Call *c, Error *err)
{
    if (call->unit == FRAME_GROUPS) TRY(find_starts(win, err));
    if (call->range_key == NULL) {
        TRY(frame_offset(win, call->start_offset, "starting", &c->start_offset, err));
        return frame_offset(win, call->end_offset, "ending", &c->end_offset, err);
    }
    TRY(range_offset(win, call->start_offset, "starting", err));
    TRY(range_offset(win, call->end_offset, "ending", err));
    c->descending = win->plan->window.order[0].descending;
    c->range_key = column_of(win, call->range_key);
    for (uint32_t k = 0; k < 2; k++)
        if (call->range_bounds[k] != NULL) c->range_bounds[k] = column_of(win, call->range_bounds[k]);
    return TCUDB_OK;
}

static tcudb_status run_call(Window *win, const WindowCall *call, RowsCol *out, Error *err)
{
    Call c = {.call = call, .out = out};
    TRY(new_column(win, call->col.type, out, err));
    TRY(set_frame(win, call, &c, err));
    for (uint32_t i = 0; i < call->nargs; i++) {
        c.args[i] = column_of(win, call->args[i]);
        if (c.args[i] == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a window argument is no input column");
    }
    switch (call->func) {
    case WINDOW_AGG: return aggregate(win, &c, err);
    case WINDOW_LAG:
    case WINDOW_LEAD:
    case WINDOW_FIRST_VALUE:
    case WINDOW_LAST_VALUE:
    case WINDOW_NTH_VALUE: return take_values(win, &c, err);
    default: return number_rows(win, &c, err);
    }
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
    uint32_t *map = ARENA_ARRAY(&x->arena, uint32_t, input->ncols + 1, err);
    TRY_PTR(map);
    for (uint32_t i = 0; i < input->ncols; i++) map[i] = i;
    Rows *rows = NULL;
    uint32_t *order = NULL;
    Collector *sorted = NULL;
    TRY(exec_sort(x, node, keys, nkeys, UINT64_MAX, &rows, &order, err));
    TRY(collector_new(x, input->cols, input->ncols, &sorted, err));
    TRY(rows_push_order(x, node, rows, order, rows->n, map, input->ncols, collector_stage(sorted), err));
    TRY(collector_rows(sorted, node, &win->rows, err));
    exec_free(x, order);
    rows_free(rows);
    return TCUDB_OK;
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Window win = {.x = x, .plan = plan};
    uint32_t ncols = plan->inputs[0]->ncols, ncalls = plan->window.ncalls;
    assert(plan->ncols == ncols + ncalls);
    TRY(layout_of(x, plan->inputs[0], &win.in, err));
    TRY(sort_input(&win, node, err));
    TRY(find_runs(&win, err));
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
    exec_free(x, win.starts);
    rows_free(win.rows);
    return TCUDB_OK;
}

const Op op_window = {.name = "Window", .engine = "cpu", .run = run};
