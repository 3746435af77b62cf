/*
 * window_runs.c: partitions and peers of sorted rows, and the frames of a row.
 *
 * A partition, and the peers in it (rows equal in the order), are runs of rows: one bit a row says where they begin,
 * set by comparing each row with the one before, in parallel, a column at a time. A pass over rows finds the runs
 * around a row by looking for set bits, a word at a time, so it may begin at any row.
 *
 * Invariant: frames are half open and lie within their partition.
 */
#include "exec/cpu/window_int.h"

#include <assert.h>
#include <math.h>

enum { RUN_TASK = 32768, SPAN_ROWS = 16384 };

/* ---- columns ------------------------------------------------------------------------------------ */

Value window_value(const RowsCol *col, uint64_t row)
{
    if (col->dict) return (Value){.type = col->type, .str = col->view.values[((const uint32_t *)col->data)[row]]};
    Vector v = {.type = col->type, .phys = col->phys, .form = VEC_FLAT, .data = (char *)col->data + row * col->size};
    return vec_value(&v, 0);
}

const RowsCol *window_column_of(const Window *win, const Expr *e)
{
    int32_t at = e->kind == EXPR_COL ? layout_find(&win->in, e->col) : -1;
    return at < 0 ? NULL : &win->rows->cols[at];
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* The first set bit of [from, n), or n. */
static uint64_t next_bit(const uint64_t *bits, uint64_t from, uint64_t n)
{
    if (from >= n) return n;
    uint64_t word = bits[from >> 6] & ~UINT64_C(0) << (from & 63), at = from >> 6;
    while (word == 0 && (at + 1) << 6 < n) word = bits[++at];
    uint64_t found = word == 0 ? n : (at << 6) + (uint64_t)__builtin_ctzll(word);
    return found < n ? found : n;
}

/* The last set bit of [0, row]; bit 0 is set. */
static uint64_t last_bit(const uint64_t *bits, uint64_t row)
{
    uint64_t at = row >> 6, word = bits[at] & ~UINT64_C(0) >> (63 - (row & 63));
    while (word == 0) word = bits[--at];
    return (at << 6) + 63 - (uint64_t)__builtin_clzll(word);
}

static bool same_value(const RowsCol *col, uint64_t a, uint64_t b)
{
    bool null = window_is_null(col, a);
    if (null != window_is_null(col, b)) return false;
    if (null) return true;
    const char *data = col->data;
    if (col->dict || col->phys <= PHYS_I128) return memcmp(data + a * col->size, data + b * col->size, col->size) == 0;
    Value x = window_value(col, a), y = window_value(col, b);
    return value_compare(&x, &y) == 0;
}

/* Sets the bits of [from, to), from being the first of a word, whose value is not the one before. */
#define MARK_CHANGES(T)                                                                                                \
    do {                                                                                                               \
        const T *data = col->data;                                                                                     \
        for (uint64_t row = from; row < to; row += 64) {                                                               \
            uint64_t word = 0, n = to - row < 64 ? to - row : 64;                                                      \
            for (uint64_t i = row == 0 ? 1 : 0; i < n; i++)                                                            \
                word |= (uint64_t)(data[row + i] != data[row + i - 1]) << i;                                           \
            bits[row >> 6] |= word;                                                                                    \
        }                                                                                                              \
    } while (0)

static void mark_changes(const RowsCol *col, uint64_t from, uint64_t to, uint64_t *bits)
{
    bool plain = col->valid == NULL && (col->dict || col->phys <= PHYS_I64);
    switch (plain ? col->size : 0) {
    case 1: MARK_CHANGES(uint8_t); return;
    case 2: MARK_CHANGES(uint16_t); return;
    case 4: MARK_CHANGES(uint32_t); return;
    case 8: MARK_CHANGES(uint64_t); return;
    default: break;
    }
    for (uint64_t row = from == 0 ? 1 : from; row < to; row++)
        if (!bit_get(bits, row) && !same_value(col, row - 1, row)) bit_set(bits, row);
}

static tcudb_status find_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Window *win = ctx;
    const Plan *plan = win->plan;
    uint64_t from = task * RUN_TASK, to = from + RUN_TASK < win->rows->n ? from + RUN_TASK : win->rows->n;
    (void)w;
    TRY(exec_check_cancel(win->x, err));
    if (from == 0) bit_set(win->parts, 0);
    for (uint32_t k = 0; k < plan->window.npartition; k++)
        mark_changes(window_column_of(win, plan->window.partition[k]), from, to, win->parts);
    memcpy(win->peers + from / 64, win->parts + from / 64, bit_words(to - from) * sizeof(uint64_t));
    for (uint32_t k = 0; k < plan->window.norder; k++)
        mark_changes(window_column_of(win, plan->window.order[k].expr), from, to, win->peers);
    for (uint64_t word = from / 64; word < bit_words(to); word++) win->groups[task + 1] += popcount64(win->peers[word]);
    return TCUDB_OK;
}

/* Groups of peers that begin before a row. */
static uint64_t groups_before(const Window *win, uint64_t row)
{
    uint64_t count = win->groups[row / RUN_TASK];
    for (uint64_t word = row / RUN_TASK * RUN_TASK / 64; word < row / 64; word++) count += popcount64(win->peers[word]);
    uint64_t last = row % 64 == 0 ? 0 : win->peers[row / 64] & ((UINT64_C(1) << (row % 64)) - 1);
    return count + popcount64(last);
}

static tcudb_status find_spans(Window *win, Error *err)
{
    uint64_t n = win->rows->n;
    win->spans = exec_alloc(win->x, (n / SPAN_ROWS + 2) * sizeof *win->spans, err);
    TRY_PTR(win->spans);
    win->nspans = 0;
    for (uint64_t row = 0; row < n; row = next_bit(win->parts, row + SPAN_ROWS, n)) win->spans[win->nspans++] = row;
    win->spans[win->nspans] = n;
    return TCUDB_OK;
}

tcudb_status window_find_runs(Window *win, Error *err)
{
    uint64_t n = win->rows->n;
    win->parts = exec_alloc_zero(win->x, (bit_words(n) + 1) * sizeof(uint64_t), err);
    TRY_PTR(win->parts);
    win->peers = exec_alloc_zero(win->x, (bit_words(n) + 1) * sizeof(uint64_t), err);
    TRY_PTR(win->peers);
    uint64_t ntasks = (n + RUN_TASK - 1) / RUN_TASK;
    win->groups = exec_alloc_zero(win->x, (ntasks + 1) * sizeof *win->groups, err);
    TRY_PTR(win->groups);
    TRY(exec_parallel(win->x, win->node, ntasks, find_task, win, err));
    for (uint64_t task = 0; task < ntasks; task++) win->groups[task + 1] += win->groups[task];
    return find_spans(win, err);
}

tcudb_status window_find_starts(Window *win, Error *err)
{
    if (win->starts != NULL) return TCUDB_OK;
    win->starts = exec_alloc(win->x, (win->rows->n + 1) * sizeof *win->starts, err);
    TRY_PTR(win->starts);
    for (uint64_t i = 0; i < win->rows->n; i++)
        if (bit_get(win->peers, i)) win->starts[win->nstarts++] = i;
    return TCUDB_OK;
}

static void find_part(const Window *win, WindowCursor *c, uint64_t start)
{
    c->part = start;
    c->part_end = next_bit(win->parts, start + 1, win->rows->n);
    c->part_groups = c->groups;
}

static void find_peers(const Window *win, WindowCursor *c, uint64_t start)
{
    c->peer = start;
    c->groups++;
    c->peer_end = next_bit(win->peers, start + 1, win->rows->n);
}

WindowCursor window_cursor(const Window *win, uint64_t from, uint64_t to)
{
    WindowCursor c = {.row = from, .end = to};
    if (from >= to) return c;
    uint64_t part = last_bit(win->parts, from), peer = last_bit(win->peers, from);
    c.groups = groups_before(win, part);
    if (part < from) find_part(win, &c, part);
    c.groups = groups_before(win, peer);
    if (peer < from) find_peers(win, &c, peer);
    return c;
}

bool window_next(const Window *win, WindowCursor *c)
{
    if (c->row >= c->end) return false;
    if (bit_get(win->parts, c->row)) find_part(win, c, c->row);
    if (bit_get(win->peers, c->row)) find_peers(win, c, c->row);
    return true;
}

/* ---- frames ------------------------------------------------------------------------------------- */

static uint64_t back(uint64_t row, uint64_t limit, int64_t k)
{
    return (uint64_t)k > row - limit ? limit : row - (uint64_t)k;
}

static uint64_t forth(uint64_t row, uint64_t limit, int64_t k)
{
    return (uint64_t)k > limit - row ? limit : row + (uint64_t)k;
}

/* The first row of [from, to) whose key is not before the bound, or (past) is after it. Keys are sorted, none NULL. */
static uint64_t search(const WindowColumn *call, uint64_t from, uint64_t to, const Value *bound, bool past)
{
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        Value key = window_value(call->range_key, middle);
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
    bool first = window_is_null(key, *from);
    if (!first && !window_is_null(key, *to - 1)) return;
    uint64_t low = *from, high = *to;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (window_is_null(key, middle) == first)
            low = middle + 1;
        else
            high = middle;
    }
    *(first ? from : to) = low;
}

/* Where a RANGE with an offset begins (end 0) or ends (1). NULLs are peers of NULLs only. */
static uint64_t range_limit(const WindowColumn *call, const WindowCursor *c, uint32_t end)
{
    uint64_t from = c->part, to = c->part_end;
    if (window_is_null(call->range_key, c->row)) return end == 0 ? c->peer : c->peer_end;
    skip_nulls(call->range_key, &from, &to);
    Value bound = window_value(call->range_bounds[end], c->row), key = window_value(call->range_key, c->row);
    bool vague = key.type.id == TYPE_FLOAT8 && isnan(bound.f64) && !isnan(key.f64); /* infinity - infinity: all keys */
    if (vague) bound.f64 = key.f64 > 0 ? -INFINITY : INFINITY;
    return search(call, from, to, &bound, end == 1);
}

static Frame range_frame(const WindowColumn *call, const WindowCursor *c)
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
static uint64_t group_start(const Window *win, const WindowCursor *c, int64_t k, bool after)
{
    uint64_t group = c->groups - 1, at = after ? forth(group, win->nstarts, k) : back(group, 0, k);
    uint64_t row = at < win->nstarts ? win->starts[at] : win->rows->n;
    return row < c->part ? c->part : row > c->part_end ? c->part_end : row;
}

/* Where the group before the one k groups before the current one ends. */
static uint64_t end_before(const Window *win, const WindowCursor *c, int64_t k)
{
    if (k == 0) return c->peer_end;
    return (uint64_t)k > c->groups - 1 ? c->part : group_start(win, c, k - 1, false);
}

static Frame groups_frame(const Window *win, const WindowColumn *call, const WindowCursor *c)
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

Frame window_frame(const Window *win, const WindowColumn *call, const WindowCursor *c)
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

uint32_t window_frame_parts(const WindowColumn *call, const WindowCursor *c, Frame f, Frame parts[3])
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

uint64_t window_frame_end(const WindowColumn *col, const WindowCursor *c)
{
    const WindowCall *w = col->call;
    bool fixed = w->exclude == EXCLUDE_NONE && w->unit != FRAME_ROWS;
    bool starts = w->start == FRAME_UNBOUNDED, ends = w->end == FRAME_UNBOUNDED;
    if (w->exclude == EXCLUDE_NONE && starts && ends) return c->part_end;
    if (fixed && (starts || w->start == FRAME_CURRENT) && (ends || w->end == FRAME_CURRENT)) return c->peer_end;
    return c->row + 1;
}
