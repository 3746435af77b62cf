/*
 * window_agg.c: aggregates over frames.
 *
 * A pass over rows keeps the state of the rows [from, to) of the last frame. To the next frame it adds the rows that
 * come in at the end, and what leaves at the start is taken off where that is exact: counts and sums of integers and of
 * decimals up to 18 digits, NULLs and a FILTER left out. Any other state begins anew when a frame begins elsewhere, so
 * that sums of floats are those of their frame's rows in order: rows x frame length steps. Rows of equal frames share
 * one result; results are made of a chunk of states at a time.
 *
 *     sum(x) over rows 2 preceding:   1 2 3 4 5   ->   1, 1+2, 1+2+3, 1+2+3 +4-1, 2+3+4 +5-2
 *
 * Tasks are runs of rows. Where frames begin with their partition they are whole partitions, so that a state is fed
 * once; large partitions of exact sums are cut too: sums of blocks of rows, added up before, give the state at any row.
 * What a row gets does not depend on how rows are cut.
 */
#include "exec/agg_int.h"
#include "exec/cpu/window_int.h"

#include <assert.h>

enum { CHUNK = 1024, BLOCK_ROWS = 16384 };

/* A sum and the number of its rows. */
typedef struct Exact {
    int128 sum;
    int64_t n;
} Exact;

/* One call, for all tasks. */
typedef struct Aggregate {
    Window *win;
    WindowColumn *col;
    AggSpec spec;
    uint32_t args[2]; /* columns of the sorted rows */
    const RowsCol *filter;
    size_t stride;
    bool exact;    /* rows can be taken off */
    bool anywhere; /* a pass may begin at any row */
    Exact *blocks; /* of the rows before each block; NULL: not wanted */
} Aggregate;

typedef struct Running {
    const Aggregate *a;
    Worker *w;
    Frame fed;
    Exact sum;                 /* exact: of fed */
    char *state;               /* else */
    char *slots;               /* copies of states whose results are due */
    uint32_t n;                /* slots in use */
    uint64_t first[CHUNK + 1]; /* row of each: its frame is that of the rows up to the next one's */
} Running;

/* ---- exact sums --------------------------------------------------------------------------------- */

static bool counted(const Aggregate *a, const RowsCol *col, uint64_t row)
{
    if (col != NULL && window_is_null(col, row)) return false;
    return a->filter == NULL || (!window_is_null(a->filter, row) && ((const uint8_t *)a->filter->data)[row] != 0);
}

#define SUM_ROWS(T)                                                                                                    \
    do {                                                                                                               \
        const T *data = col->data;                                                                                     \
        if (all)                                                                                                       \
            for (uint64_t row = from; row < to; row++) sum += data[row];                                               \
        for (uint64_t row = from; !all && row < to; row++)                                                             \
            if (counted(a, col, row)) sum += data[row], n++;                                                           \
    } while (0)

static Exact sum_rows(const Aggregate *a, uint64_t from, uint64_t to)
{
    bool count = a->spec.kind == AGG_COUNT || a->spec.kind == AGG_COUNT_STAR;
    const RowsCol *col = a->spec.nargs > 0 ? &a->win->rows->cols[a->args[0]] : NULL;
    bool all = a->filter == NULL && (col == NULL || col->valid == NULL);
    int128 sum = 0;
    int64_t n = all ? (int64_t)(to - from) : 0;
    if (count) {
        for (uint64_t row = from; !all && row < to; row++) n += counted(a, col, row);
        return (Exact){0, n};
    }
    assert(col != NULL);
    switch ((Phys)col->phys) {
    case PHYS_I16: SUM_ROWS(int16_t); break;
    case PHYS_I32: SUM_ROWS(int32_t); break;
    default: SUM_ROWS(int64_t); break;
    }
    return (Exact){sum, n};
}

/* The same by the sums of blocks where many rows lie between. */
static Exact sum_range(const Aggregate *a, uint64_t from, uint64_t to)
{
    uint64_t first = (from + BLOCK_ROWS - 1) / BLOCK_ROWS, last = to / BLOCK_ROWS;
    if (a->blocks == NULL || last <= first + 1) return sum_rows(a, from, to);
    Exact head = sum_rows(a, from, first * BLOCK_ROWS), tail = sum_rows(a, last * BLOCK_ROWS, to);
    int128 sum = a->blocks[last].sum - a->blocks[first].sum + head.sum + tail.sum;
    return (Exact){sum, a->blocks[last].n - a->blocks[first].n + head.n + tail.n};
}

static tcudb_status block_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Aggregate *a = ctx;
    uint64_t from = task * BLOCK_ROWS, n = a->win->rows->n, to = from + BLOCK_ROWS < n ? from + BLOCK_ROWS : n;
    (void)w;
    TRY(exec_check_cancel(a->win->x, err));
    a->blocks[task + 1] = sum_rows(a, from, to);
    return TCUDB_OK;
}

static tcudb_status sum_blocks(Aggregate *a, Error *err)
{
    uint64_t nblocks = (a->win->rows->n + BLOCK_ROWS - 1) / BLOCK_ROWS;
    a->blocks = exec_alloc_zero(a->win->x, (nblocks + 1) * sizeof *a->blocks, err);
    TRY_PTR(a->blocks);
    TRY(exec_parallel(a->win->x, a->win->node, nblocks, block_task, a, err));
    for (uint64_t b = 0; b < nblocks; b++) {
        a->blocks[b + 1].sum += a->blocks[b].sum;
        a->blocks[b + 1].n += a->blocks[b].n;
    }
    return TCUDB_OK;
}

/* Moves the sum to frame f; of leaving rows and of rows that stay it visits the fewer. */
static void move_exact(Running *r, Frame f)
{
    const Aggregate *a = r->a;
    bool overlap = f.from >= r->fed.from && f.from <= r->fed.to && f.to >= r->fed.to;
    if (!overlap || f.from - r->fed.from > r->fed.to - f.from) {
        r->sum = sum_range(a, f.from, f.to);
    } else {
        Exact more = sum_range(a, r->fed.to, f.to), less = sum_range(a, r->fed.from, f.from);
        r->sum.sum += more.sum - less.sum;
        r->sum.n += more.n - less.n;
    }
    r->fed = f;
}

static void put_exact(const Running *r, char *slot)
{
    bool count = r->a->spec.kind == AGG_COUNT || r->a->spec.kind == AGG_COUNT_STAR;
    SumInt state = {.lo = (uint64_t)r->sum.sum, .hi = (int64_t)(r->sum.sum >> 64), .n = r->sum.n};
    if (count)
        memcpy(slot, &r->sum.n, sizeof r->sum.n);
    else
        memcpy(slot, &state, sizeof state);
}

/* ---- other states ------------------------------------------------------------------------------- */

/* Adds rows [from, to) to the running state. */
static tcudb_status feed(Running *r, uint64_t from, uint64_t to, Error *err)
{
    const Aggregate *a = r->a;
    AggStates states = {.base = r->state, .stride = a->stride};
    for (uint64_t at = from; at < to; at += BATCH_ROWS) {
        uint32_t rows = to - at < BATCH_ROWS ? (uint32_t)(to - at) : BATCH_ROWS, n = rows;
        uint16_t *sel = NULL;
        Vector args[2];
        if (rows > 1) TRY(exec_check_cancel(a->win->x, err));
        for (uint32_t k = 0; k < a->spec.nargs; k++)
            TRY(rows_slice(a->win->rows, a->args[k], at, rows, worker_arena(r->w), &args[k], err));
        if (a->filter != NULL) {
            sel = arena_alloc_raw(worker_arena(r->w), rows * sizeof *sel, err);
            TRY_PTR(sel);
            n = 0;
            for (uint32_t i = 0; i < rows; i++) {
                sel[n] = (uint16_t)i;
                n += counted(a, NULL, at + i);
            }
        }
        if (n > 0) TRY(agg_update(&a->spec, r->w, &states, args, sel, n, err));
    }
    return TCUDB_OK;
}

static tcudb_status move_state(Running *r, const Frame *parts, uint32_t nparts, Frame f, Error *err)
{
    if (nparts > 1 || f.from != r->fed.from || f.to < r->fed.to) {
        memset(r->state, 0, r->a->stride);
        r->fed = (Frame){f.from, f.from};
    }
    if (nparts == 1) TRY(feed(r, r->fed.to, f.to, err));
    for (uint32_t i = 0; nparts > 1 && i < nparts; i++) TRY(feed(r, parts[i].from, parts[i].to, err));
    r->fed = f;
    return TCUDB_OK;
}

/* ---- results ------------------------------------------------------------------------------------ */

static void repeat(char *to, const char *value, size_t size, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) memcpy(to + i * size, value, size);
}

/* Slot i's result into its rows. */
static tcudb_status put_result(Running *r, const Vector *v, uint32_t i, Error *err)
{
    WindowColumn *col = r->a->col;
    RowsCol *out = col->out;
    uint64_t row = r->first[i], n = r->first[i + 1] - row;
    if (vec_is_null(v, i)) {
        for (uint64_t k = 0; k < n; k++) window_set_null(col, row + k);
        return TCUDB_OK;
    }
    char *to = (char *)out->data + row * out->size;
    const char *value = (const char *)v->data + (size_t)i * out->size;
    Str text;
    if (out->phys == PHYS_STR) { /* the vector's memory goes with the batch */
        memcpy(&text, value, sizeof text);
        TRY(exec_keep_text(r->w->x, &r->w->own, &text, err));
        value = (const char *)&text;
    }
    repeat(to, value, out->size, n);
    return TCUDB_OK;
}

/* The results of the states in the slots; `row` is the first that they do not reach. */
static tcudb_status flush(Running *r, uint64_t row, Error *err)
{
    const RowsCol *out = r->a->col->out;
    Vector v;
    if (r->n == 0) return TCUDB_OK;
    r->first[r->n] = row;
    TRY(agg_final(&r->a->spec, r->w, r->slots, r->a->stride, r->n, &v, err));
    assert(v.form == VEC_FLAT && phys_size((Phys)v.phys) == out->size);
    bool single = row - r->first[0] == r->n && v.valid == NULL && out->phys != PHYS_STR;
    if (single) memcpy((char *)out->data + r->first[0] * out->size, v.data, (size_t)r->n * out->size);
    for (uint32_t i = 0; !single && i < r->n; i++) TRY(put_result(r, &v, i, err));
    r->n = 0;
    arena_reset(&r->w->batch);
    return exec_check_cancel(r->a->win->x, err);
}

/* ---- passes ------------------------------------------------------------------------------------- */

/* Moves the state to the frame. */
static tcudb_status take_frame(Running *r, const WindowCursor *c, Frame f, Error *err)
{
    Frame parts[3];
    if (r->a->exact) {
        move_exact(r, f);
        return TCUDB_OK;
    }
    uint32_t nparts = window_frame_parts(r->a->col, c, f, parts);
    return move_state(r, parts, nparts, f, err);
}

static tcudb_status pass(Running *r, uint64_t from, uint64_t to, Error *err)
{
    const Aggregate *a = r->a;
    WindowCursor c = window_cursor(a->win, from, to);
    bool whole = a->col->call->exclude == EXCLUDE_NONE, begun = false;
    for (uint64_t next; window_next(a->win, &c); c.row = next) {
        Frame f = window_frame(a->win, a->col, &c);
        next = window_frame_end(a->col, &c);
        if (next > to) next = to;
        if (begun && whole && f.from == r->fed.from && f.to == r->fed.to) continue;
        if (r->n == CHUNK) TRY(flush(r, c.row, err));
        TRY(take_frame(r, &c, f, err));
        begun = true;
        char *slot = r->slots + r->n * a->stride;
        if (a->exact)
            put_exact(r, slot);
        else
            memcpy(slot, r->state, a->stride);
        r->first[r->n++] = c.row;
    }
    return flush(r, to, err);
}

static tcudb_status pass_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    const Aggregate *a = ctx;
    const Window *win = a->win;
    uint64_t n = win->rows->n, from = a->anywhere ? task * BLOCK_ROWS : win->spans[task];
    uint64_t to = !a->anywhere ? win->spans[task + 1] : from + BLOCK_ROWS < n ? from + BLOCK_ROWS : n;
    Running *r = exec_alloc_zero(win->x, sizeof *r, err);
    TRY_PTR(r);
    *r = (Running){.a = a, .w = w};
    r->state = exec_alloc_zero(win->x, a->stride * (CHUNK + 1) + 16, err);
    TRY_PTR(r->state);
    r->slots = r->state + a->stride;
    r->fed = (Frame){from, from};
    arena_reset(&w->batch);
    TRY(pass(r, from, to, err));
    exec_free(win->x, r->state);
    exec_free(win->x, r);
    return TCUDB_OK;
}

static bool is_exact(const AggSpec *spec, const WindowCall *call)
{
    bool count = spec->kind == AGG_COUNT || spec->kind == AGG_COUNT_STAR;
    bool sum = (spec->kind == AGG_SUM || spec->kind == AGG_AVG) && spec->phys >= PHYS_I16 && spec->phys <= PHYS_I64;
    return (count || sum) && call->exclude == EXCLUDE_NONE;
}

static tcudb_status aggregate_init(Window *win, WindowColumn *col, Aggregate *a, Error *err)
{
    const AggCall *agg = &col->call->agg;
    *a = (Aggregate){.win = win, .col = col};
    TRY(agg_spec(win->x, agg, &win->in, &a->spec, err));
    for (uint32_t k = 0; k < agg->nargs; k++) {
        int32_t at = layout_find(&win->in, agg->args[k]->col);
        if (at < 0) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a window aggregate's argument is no input column");
        a->args[k] = (uint32_t)at;
    }
    if (agg->filter != NULL) {
        a->filter = window_column_of(win, agg->filter);
        if (a->filter == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a window filter is no input column");
    }
    a->stride = (a->spec.size + 15) & ~(size_t)15;
    a->exact = is_exact(&a->spec, col->call);
    a->anywhere = col->call->start != FRAME_UNBOUNDED;
    return TCUDB_OK;
}

tcudb_status window_aggregate(Window *win, WindowColumn *col, Error *err)
{
    Aggregate a;
    uint64_t nblocks = (win->rows->n + BLOCK_ROWS - 1) / BLOCK_ROWS;
    TRY(aggregate_init(win, col, &a, err));
    bool large = win->nspans * 2 < nblocks; /* partitions */
    if (a.exact && !a.anywhere && large) {
        TRY(sum_blocks(&a, err));
        a.anywhere = true;
    }
    TRY(exec_parallel(win->x, win->node, a.anywhere ? nblocks : win->nspans, pass_task, &a, err));
    exec_free(win->x, a.blocks);
    return TCUDB_OK;
}
