/*
 * ranges.c: comparisons between the sides of a contraction become equal keys; their join is never made.
 *
 *     point < bound, point >= bound, ...: every row of the one side is a point, every row of the other stands for one
 *     interval of points [from, to) within its key, or for two (<>).
 *
 * The points are numbered in their order (points.c), and then one of three rewritings makes it an equality product:
 *
 *   sums of intervals   One cell a point and group of the intervals' side: the sum of all intervals over the point,
 *                       by differences (+v at from, -v at to) and one running sum. Key: the point.
 *   sums of points      Running sums of the points by group; one cell a distinct interval and group:
 *                       sum[to] - sum[from]. Key: the interval.
 *   tree                A binary tree over the points. An interval is the union of at most 2 log2 n of its nodes, and a
 *                       point lies in exactly one of them; so both sides are repeated once a node: intervals for those
 *                       they are made of, points for those above them. Key: the node. Rows of one group that meet in a
 *                       node are added by the product, and nodes with many groups on both sides are its dense keys.
 *
 * Sums need groups x points cells, so they are for sides with few groups, none above all: O(n log n) in all. The tree
 * costs at most log2 n rows a row whatever the groups are. The one with the fewest rows is taken, of those that
 * tcudb.memory_limit has room for. What a rewriting replaces is freed on the way.
 * Exact: a sum of intervals is a sum of rows of the bag, so 64 bits hold it as they hold the whole bag
 * (contract_input.c); counts are carried beside the sums, and a cell exists where its count is not 0.
 */
#include "exec/tcu/contract_int.h"
#include "exec/tcu/points.h"

#include <assert.h>
#include <math.h>

enum { NODES_MAX = 128, GRID_PIECE = 1 << 16, WEIGHTED_ROWS = 1 << 16 }; /* cells and rows of a task */

typedef struct Span {
    uint32_t from, to;
} Span;

typedef struct Ranges {
    Exec *x;
    Input *points, *intervals;
    FuncCompare compare[CONTRACT_BOUNDS]; /* point <compare> bound */
    uint32_t n;
    Points p;
    RunPiece *pieces;
    RunList *lists;  /* one a piece */
    uint64_t *nodes; /* tree: bit: some interval is made of this node */
} Ranges;

/* The points that row i of the run stands for: up to two spans, some perhaps empty. */
static uint32_t row_spans(const Ranges *r, const SideRun *run, uint64_t i, Span spans[2])
{
    uint32_t key = run->key[i], from = r->p.starts[key], to = r->p.starts[key + 1], hole = to, hole_end = to;
    bool holed = false;
    for (uint32_t b = 0; b < r->n; b++) {
        int64_t bound = run->values[r->intervals->nvalues + b][i];
        uint32_t before = points_before(&r->p, key, bound), until = points_until(&r->p, key, bound);
        switch (r->compare[b]) {
        case CMP_LT: to = before < to ? before : to; break;
        case CMP_LE: to = until < to ? until : to; break;
        case CMP_GT: from = until > from ? until : from; break;
        case CMP_GE: from = before > from ? before : from; break;
        default:
            hole = before;
            hole_end = until;
            holed = true;
            break;
        }
    }
    spans[0] = (Span){from, holed && hole < to ? hole : to};
    spans[1] = (Span){hole_end > from ? hole_end : from, to};
    return holed ? 2 : 1;
}

static uint32_t point_of(const Ranges *r, const SideRun *run, uint64_t i)
{
    return points_before(&r->p, run->key[i], run->values[r->points->nvalues][i]);
}

/* Gives back the rows that others took the place of. */
static void drop_lists(Input *in, RunList *lists)
{
    for (uint32_t w = 0; lists != NULL && w < in->x->nworkers; w++) runs_free(in->x, &lists[w]);
    in->lists = NULL;
}

/* ---- cells of a side, group by group ------------------------------------------------------------ */

/* A table of groups x width: counts and values, and then the rows made of its cells that exist. */
typedef struct Grid {
    Exec *x;
    uint32_t groups, nvalues;
    uint64_t width;
    int64_t *counts;
    int64_t *values[PRODUCT_MAX];
} Grid;

static tcudb_status grid_new(Exec *x, uint32_t groups, uint64_t width, uint32_t nvalues, Grid *out, Error *err)
{
    *out = (Grid){.x = x, .groups = groups, .nvalues = nvalues, .width = width};
    size_t cells = (size_t)(groups * width + 1);
    TRY_PTR(out->counts = exec_alloc_zero(x, sizeof(int64_t) * cells, err));
    for (uint32_t v = 0; v < nvalues; v++) TRY_PTR(out->values[v] = exec_alloc_zero(x, sizeof(int64_t) * cells, err));
    return TCUDB_OK;
}

static inline void add_to(const Grid *g, int64_t *cell, int64_t by)
{
    if (g->x->nworkers == 1)
        *cell += by;
    else
        __atomic_fetch_add(cell, by, __ATOMIC_RELAXED);
}

/* Called by several threads at once. */
static void grid_add(const Grid *g, uint64_t cell, const SideRun *run, uint64_t i, int64_t sign)
{
    add_to(g, &g->counts[cell], sign);
    for (uint32_t v = 0; v < g->nvalues; v++) add_to(g, &g->values[v][cell], sign * run->values[v][i]);
}

/* The running sums of one group's counts or values. */
static tcudb_status accumulate_line(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Grid *g = ctx;
    uint32_t v = (uint32_t)(task % (1 + g->nvalues));
    int64_t *cells = (v == 0 ? g->counts : g->values[v - 1]) + task / (1 + g->nvalues) * g->width;
    for (uint64_t i = 1; i < g->width; i++) cells[i] += cells[i - 1];
    return TCUDB_OK;
}

static tcudb_status grid_accumulate(Grid *g, Error *err)
{
    return exec_parallel(g->x, NULL, (uint64_t)g->groups * (1 + g->nvalues), accumulate_line, g, err);
}

static void grid_free(Exec *x, Grid *g)
{
    exec_free(x, g->counts);
    for (uint32_t v = 0; v < g->nvalues; v++) exec_free(x, g->values[v]);
}

/* One run of weighted rows; room for n. */
typedef struct Weighted {
    uint64_t n;
    uint32_t *group, *key, *count;
    int64_t *values[PRODUCT_MAX];
} Weighted;

static tcudb_status weighted_new(Exec *x, uint64_t room, uint32_t nvalues, Weighted *out, Error *err)
{
    *out = (Weighted){.n = 0};
    TRY_PTR(out->group = exec_alloc(x, sizeof(uint32_t) * (room + 1), err));
    TRY_PTR(out->key = exec_alloc(x, sizeof(uint32_t) * (room + 1), err));
    TRY_PTR(out->count = exec_alloc(x, sizeof(uint32_t) * (room + 1), err));
    for (uint32_t v = 0; v < nvalues; v++) TRY_PTR(out->values[v] = exec_alloc(x, sizeof(int64_t) * (room + 1), err));
    return TCUDB_OK;
}

/* In runs of some rows, for the tasks to come. */
static tcudb_status weighted_done(Input *in, const Weighted *w, Error *err)
{
    in->nruns = (uint32_t)((w->n + WEIGHTED_ROWS - 1) / WEIGHTED_ROWS);
    in->n = w->n;
    TRY_PTR(in->runs = ARENA_ARRAY(&in->x->arena, SideRun, in->nruns + 1, err));
    for (uint32_t r = 0; r < in->nruns; r++) {
        uint64_t from = (uint64_t)r * WEIGHTED_ROWS, rest = w->n - from;
        in->runs[r] = (SideRun){.n = rest < WEIGHTED_ROWS ? rest : WEIGHTED_ROWS,
                                .group = w->group + from,
                                .key = w->key + from,
                                .count = w->count + from};
        for (uint32_t v = 0; v < in->nvalues; v++) in->runs[r].values[v] = w->values[v] + from;
    }
    return TCUDB_OK;
}

/* A grid's cells that exist become rows, in their order: counted, then taken, piece by piece. */
typedef struct Harvest {
    const Grid *g;
    uint64_t *places; /* a piece: its cells, then where they go */
    Weighted w;
} Harvest;

static uint64_t piece_end(const Grid *g, uint64_t piece)
{
    uint64_t cells = g->groups * g->width, to = (piece + 1) * GRID_PIECE;
    return to < cells ? to : cells;
}

static tcudb_status count_cells(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Harvest *h = ctx;
    uint64_t n = 0;
    for (uint64_t cell = task * GRID_PIECE; cell < piece_end(h->g, task); cell++) n += h->g->counts[cell] != 0;
    h->places[task] = n;
    return TCUDB_OK;
}

static tcudb_status take_cells(void *ctx, Worker *worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    const Harvest *h = ctx;
    const Grid *g = h->g;
    uint64_t at = h->places[task];
    for (uint64_t cell = task * GRID_PIECE; cell < piece_end(g, task); cell++) {
        if (g->counts[cell] == 0) continue;
        h->w.group[at] = (uint32_t)(cell / g->width);
        h->w.key[at] = (uint32_t)(cell % g->width);
        h->w.count[at] = (uint32_t)g->counts[cell];
        for (uint32_t v = 0; v < g->nvalues; v++) h->w.values[v][at] = g->values[v][cell];
        at++;
    }
    return TCUDB_OK;
}

static tcudb_status harvest(Exec *x, const Grid *g, Weighted *out, Error *err)
{
    Harvest h = {.g = g};
    uint64_t pieces = (g->groups * g->width + GRID_PIECE - 1) / GRID_PIECE, n = 0;
    TRY_PTR(h.places = exec_alloc(x, sizeof *h.places * (pieces + 1), err));
    TRY(exec_parallel(x, NULL, pieces, count_cells, &h, err));
    for (uint64_t p = 0; p < pieces; p++) {
        uint64_t here = h.places[p];
        h.places[p] = n;
        n += here;
    }
    TRY(weighted_new(x, n, g->nvalues, &h.w, err));
    TRY(exec_parallel(x, NULL, pieces, take_cells, &h, err));
    exec_free(x, h.places);
    h.w.n = n;
    *out = h.w;
    return TCUDB_OK;
}

/* ---- sums of intervals ---------------------------------------------------------------------------- */

/* Rows of one side, piece by piece. */
typedef struct Pass {
    const Ranges *r;
    const Grid *g;
    RunPiece *pieces;
    Span **spans; /* of a piece: two a row */
} Pass;

static tcudb_status run_pass(Pass *pass, const Input *in, TaskFn fn, Error *err)
{
    uint64_t n;
    TRY(runs_pieces(in->x, in->runs, in->nruns, &pass->pieces, &n, err));
    TRY(exec_parallel(in->x, NULL, n, fn, pass, err));
    exec_free(in->x, pass->pieces);
    return TCUDB_OK;
}

static tcudb_status add_intervals(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Pass *pass = ctx;
    const RunPiece *piece = &pass->pieces[task];
    Span spans[2];
    for (uint64_t i = piece->from; i < piece->to; i++) {
        uint64_t row = piece->run->group[i] * pass->g->width;
        for (uint32_t k = row_spans(pass->r, piece->run, i, spans); k-- > 0;) {
            if (spans[k].from >= spans[k].to) continue;
            grid_add(pass->g, row + spans[k].from, piece->run, i, 1);
            grid_add(pass->g, row + spans[k].to, piece->run, i, -1);
        }
    }
    return TCUDB_OK;
}

/* A point's key becomes its number. */
static tcudb_status number_points(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Pass *pass = ctx;
    const RunPiece *piece = &pass->pieces[task];
    uint32_t *key = (uint32_t *)piece->run->key; /* the run is ours */
    for (uint64_t i = piece->from; i < piece->to; i++) key[i] = point_of(pass->r, piece->run, i);
    return TCUDB_OK;
}

static tcudb_status sum_intervals(Ranges *r, uint32_t *keys, Error *err)
{
    Grid g;
    Weighted w;
    Input *in = r->intervals;
    Pass pass = {.r = r, .g = &g};
    TRY(grid_new(r->x, in->ngroup_codes, (uint64_t)r->p.n + 1, in->nvalues, &g, err));
    TRY(run_pass(&pass, in, add_intervals, err));
    TRY(grid_accumulate(&g, err));
    TRY(harvest(r->x, &g, &w, err));
    grid_free(r->x, &g);
    drop_lists(in, in->lists);
    TRY(weighted_done(in, &w, err));
    TRY(run_pass(&pass, r->points, number_points, err));
    *keys = r->p.n + 1;
    return TCUDB_OK;
}

/* ---- sums of points --------------------------------------------------------------------------------- */

/* Distinct spans, numbered. */
typedef struct SpanTable {
    uint32_t *slots; /* number + 1; 0: free */
    uint64_t cap;    /* a power of two */
    Span *spans;
    uint32_t n;
} SpanTable;

static uint32_t span_number(SpanTable *t, Span span)
{
    uint64_t word = (uint64_t)span.from << 32 | span.to, at = word * UINT64_C(0x9e3779b97f4a7c15);
    for (at = (at ^ at >> 32) & (t->cap - 1); t->slots[at] != 0; at = (at + 1) & (t->cap - 1)) {
        Span other = t->spans[t->slots[at] - 1];
        if (other.from == span.from && other.to == span.to) return t->slots[at] - 1;
    }
    t->spans[t->n] = span;
    t->slots[at] = ++t->n;
    return t->n - 1;
}

/* Appends one row with another key. */
static tcudb_status add_row(Ranges *r, RunList *list, const Input *in, const SideRun *run, uint64_t i, uint32_t key,
                            Error *err)
{
    Run *out;
    TRY(runs_room(r->x, list, in->nvalues, 1, &out, err));
    out->group[out->n] = run->group[i];
    out->key[out->n] = key;
    for (uint32_t v = 0; v < in->nvalues; v++) out->values[v][out->n] = run->values[v][i];
    out->n++;
    return TCUDB_OK;
}

static tcudb_status find_spans(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w;
    const Pass *pass = ctx;
    const RunPiece *piece = &pass->pieces[task];
    Span *spans = pass->spans[task] = exec_alloc(pass->r->x, sizeof *spans * 2 * (piece->to - piece->from), err);
    TRY_PTR(spans);
    for (uint64_t i = piece->from; i < piece->to; i++, spans += 2)
        if (row_spans(pass->r, piece->run, i, spans) == 1) spans[1] = (Span){0, 0};
    return TCUDB_OK;
}

static tcudb_status number_spans(Ranges *r, SpanTable *t, const RunPiece *piece, const Span *spans, RunList *list,
                                 Error *err)
{
    TRY(exec_check_cancel(r->x, err));
    for (uint64_t i = piece->from; i < piece->to; i++, spans += 2)
        for (uint32_t k = 2; k-- > 0;)
            if (spans[k].from < spans[k].to)
                TRY(add_row(r, list, r->intervals, piece->run, i, span_number(t, spans[k]), err));
    return TCUDB_OK;
}

/* All cores look the points up, one numbers the spans: so their numbers are always the same. */
static tcudb_status number_intervals(Ranges *r, SpanTable *t, Error *err)
{
    Input *in = r->intervals;
    RunList list = {0};
    Pass pass = {.r = r};
    uint64_t pieces;
    t->cap = 1024;
    while (t->cap < in->n * 4) t->cap *= 2;
    TRY_PTR(t->slots = exec_alloc_zero(r->x, sizeof *t->slots * t->cap, err));
    TRY_PTR(t->spans = exec_alloc(r->x, sizeof *t->spans * (in->n * 2 + 1), err));
    TRY(runs_pieces(r->x, in->runs, in->nruns, &pass.pieces, &pieces, err));
    TRY_PTR(pass.spans = exec_alloc_zero(r->x, sizeof *pass.spans * (pieces + 1), err));
    TRY(exec_parallel(r->x, NULL, pieces, find_spans, &pass, err));
    for (uint64_t p = 0; p < pieces; p++) {
        TRY(number_spans(r, t, &pass.pieces[p], pass.spans[p], &list, err));
        exec_free(r->x, pass.spans[p]);
    }
    exec_free(r->x, pass.spans);
    exec_free(r->x, pass.pieces);
    exec_free(r->x, t->slots);
    return runs_gather(in, &list, 1, in->nvalues, err);
}

/* Spans of a group with any point in them. */
static uint64_t span_cells(const SpanTable *t, const Grid *g)
{
    uint64_t n = 0;
    for (uint32_t group = 0; group < g->groups; group++)
        for (uint32_t key = 0; key < t->n; key++)
            n += g->counts[group * g->width + t->spans[key].from] != g->counts[group * g->width + t->spans[key].to];
    return n;
}

static tcudb_status add_points(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Pass *pass = ctx;
    const RunPiece *piece = &pass->pieces[task];
    for (uint64_t i = piece->from; i < piece->to; i++)
        grid_add(pass->g, piece->run->group[i] * pass->g->width + point_of(pass->r, piece->run, i) + 1, piece->run, i,
                 1);
    return TCUDB_OK;
}

static tcudb_status sum_points(Ranges *r, uint32_t *keys, Error *err)
{
    Grid g;
    Weighted w;
    SpanTable t = {0};
    Input *in = r->points;
    Pass pass = {.r = r, .g = &g};
    TRY(number_intervals(r, &t, err));
    TRY(grid_new(r->x, in->ngroup_codes, (uint64_t)r->p.n + 1, in->nvalues, &g, err));
    TRY(run_pass(&pass, in, add_points, err));
    TRY(grid_accumulate(&g, err));
    TRY(weighted_new(r->x, span_cells(&t, &g), in->nvalues, &w, err));
    for (uint32_t key = 0; key < t.n; key++) {
        for (uint32_t group = 0; group < g.groups; group++) {
            uint64_t from = group * g.width + t.spans[key].from, to = group * g.width + t.spans[key].to;
            if (g.counts[to] == g.counts[from]) continue;
            w.group[w.n] = group;
            w.key[w.n] = key;
            w.count[w.n] = (uint32_t)(g.counts[to] - g.counts[from]);
            for (uint32_t v = 0; v < in->nvalues; v++) w.values[v][w.n] = g.values[v][to] - g.values[v][from];
            w.n++;
        }
    }
    grid_free(r->x, &g);
    exec_free(r->x, t.spans);
    *keys = t.n;
    return weighted_done(in, &w, err);
}

/* ---- tree --------------------------------------------------------------------------------------------- */

/* The nodes that make up [from, to): node 1 is the root, 2k and 2k + 1 are below k, the leaves are n + point. */
static uint32_t span_nodes(uint32_t n, Span span, uint32_t *nodes)
{
    uint32_t count = 0;
    for (uint64_t low = (uint64_t)span.from + n, high = (uint64_t)span.to + n; low < high; low /= 2, high /= 2) {
        if (low % 2 == 1) nodes[count++] = (uint32_t)low++;
        if (high % 2 == 1) nodes[count++] = (uint32_t)--high;
    }
    assert(count <= NODES_MAX / 2);
    return count;
}

static tcudb_status spread_intervals(void *ctx, Worker *worker, uint64_t task, Error *err)
{
    (void)worker;
    Ranges *r = ctx;
    const RunPiece *piece = &r->pieces[task];
    const SideRun *run = piece->run;
    uint32_t nodes[NODES_MAX];
    Span spans[2];
    for (uint64_t i = piece->from; i < piece->to; i++) {
        uint32_t n = 0;
        for (uint32_t k = row_spans(r, run, i, spans); k-- > 0;)
            if (spans[k].from < spans[k].to) n += span_nodes(r->p.n, spans[k], nodes + n);
        for (uint32_t k = 0; k < n; k++) {
            _Atomic uint64_t *word = (_Atomic uint64_t *)&r->nodes[nodes[k] >> 6];
            uint64_t bit = UINT64_C(1) << (nodes[k] & 63);
            if ((atomic_load_explicit(word, memory_order_relaxed) & bit) == 0) atomic_fetch_or(word, bit);
            TRY(add_row(r, &r->lists[task], r->intervals, run, i, nodes[k], err));
        }
    }
    return TCUDB_OK;
}

static tcudb_status spread_points(void *ctx, Worker *worker, uint64_t task, Error *err)
{
    (void)worker;
    Ranges *r = ctx;
    const RunPiece *piece = &r->pieces[task];
    const SideRun *run = piece->run;
    for (uint64_t i = piece->from; i < piece->to; i++)
        for (uint32_t node = r->p.n + point_of(r, run, i); node > 0; node /= 2)
            if (bit_get(r->nodes, node)) TRY(add_row(r, &r->lists[task], r->points, run, i, node, err));
    return TCUDB_OK;
}

static tcudb_status spread(Ranges *r, Input *in, TaskFn fn, Error *err)
{
    uint64_t tasks;
    RunList *before = in->lists; /* of directly coded rows */
    TRY(runs_pieces(r->x, in->runs, in->nruns, &r->pieces, &tasks, err));
    TRY_PTR(r->lists = exec_alloc_zero(r->x, sizeof(RunList) * (tasks + 1), err));
    TRY(exec_parallel(r->x, NULL, tasks, fn, r, err));
    TRY(runs_gather(in, r->lists, (uint32_t)tasks, in->nvalues, err));
    exec_free(r->x, r->lists);
    exec_free(r->x, r->pieces);
    drop_lists(in, before);
    return TCUDB_OK;
}

/* Numbers the nodes in use and renames the keys of both sides. */
static tcudb_status number_nodes(Ranges *r, uint32_t *keys, Error *err)
{
    uint64_t total = (uint64_t)r->p.n * 2;
    uint32_t *number = exec_alloc(r->x, sizeof *number * total, err);
    TRY_PTR(number);
    *keys = 0;
    for (uint64_t node = 0; node < total; node++) number[node] = bit_get(r->nodes, node) ? (*keys)++ : 0;
    TRY(runs_renumber(r->points, true, number, err));
    TRY(runs_renumber(r->intervals, true, number, err));
    exec_free(r->x, number);
    return TCUDB_OK;
}

static tcudb_status build_tree(Ranges *r, uint32_t *keys, Error *err)
{
    TRY_PTR(r->nodes = exec_alloc_zero(r->x, sizeof *r->nodes * ((uint64_t)r->p.n * 2 / 64 + 1), err));
    TRY(spread(r, r->intervals, spread_intervals, err));
    TRY(spread(r, r->points, spread_points, err));
    TRY(number_nodes(r, keys, err));
    exec_free(r->x, r->nodes);
    return TCUDB_OK;
}

/* ---- choice --------------------------------------------------------------------------------------------- */

typedef enum Rewriting { SUM_INTERVALS, SUM_POINTS, TREE, REWRITINGS } Rewriting;

/* Rows that each makes, and the bytes that it takes: of grids a cell's count and values and the row made of it. */
static void measure(const Ranges *r, double rows[REWRITINGS], double bytes[REWRITINGS])
{
    const Input *points = r->points, *intervals = r->intervals;
    double n = r->p.n, levels = 64 - __builtin_clzll((uint64_t)r->p.n + 1), spans = (double)intervals->n;
    double of_point = 8.0 + 8 * points->nvalues, of_interval = 8.0 + 8 * intervals->nvalues;
    if (r->n == 1 && n < spans) spans = n; /* of each key, the first or last so many points */
    rows[SUM_INTERVALS] = intervals->ngroup_codes * n;
    rows[SUM_POINTS] = points->ngroup_codes * (n + spans);
    rows[TREE] = ((double)points->n + (double)intervals->n) * levels / 2;
    bytes[SUM_INTERVALS] = rows[SUM_INTERVALS] * (2 * of_interval + 4);
    bytes[SUM_POINTS] = rows[SUM_POINTS] * (2 * of_point + 4) + (double)intervals->n * (of_interval + 48);
    bytes[TREE] = ((double)points->n * of_point + (double)intervals->n * of_interval) * levels / 2;
}

/* The fewest rows of those that memory has room for, estimated; if it has for none, the fewest bytes. */
static Rewriting choose(const Ranges *r, bool addable)
{
    double rows[REWRITINGS], bytes[REWRITINGS];
    size_t limit = atomic_load(&r->x->env->mem->limit), used = atomic_load(&r->x->env->mem->used);
    double room = limit == 0 ? INFINITY : limit > used ? (double)(limit - used) : 0;
    measure(r, rows, bytes);
    if (!addable) return TREE;
    Rewriting best = SUM_INTERVALS, least = SUM_INTERVALS;
    for (Rewriting i = SUM_POINTS; i < REWRITINGS; i++) {
        bool fits = bytes[i] <= room, better = rows[i] < rows[best];
        if (fits && (better || bytes[best] > room)) best = i;
        if (bytes[i] < bytes[least]) least = i;
    }
    return bytes[best] <= room ? best : least;
}

static tcudb_status rewrite(Ranges *r, bool addable, uint32_t *keys, const char **how, Error *err)
{
    static const char *const names[] = {"sums of intervals", "sums of points", "tree"};
    Rewriting way = choose(r, addable);
    *how = names[way];
    if (way == SUM_INTERVALS) return sum_intervals(r, keys, err);
    return way == SUM_POINTS ? sum_points(r, keys, err) : build_tree(r, keys, err);
}

tcudb_status ranges_apply(Exec *x, const ContractRange *range, Input inputs[2], bool addable, uint32_t *keys,
                          const char **how, Error *err)
{
    *how = "";
    Ranges r = {.x = x, .points = &inputs[range->side], .intervals = &inputs[1 - range->side], .n = range->n};
    if (range->n == 0 || r.points->n == 0 || r.intervals->n == 0) return TCUDB_OK;
    if (r.intervals->n >= INT32_MAX)
        return error_unsupported(err, 0, "a comparison of more than 2^31 rows as a contraction");
    for (uint32_t i = 0; i < range->n; i++) r.compare[i] = range->conds[i]->func->compare;
    TRY(points_new(x, r.points->runs, r.points->nruns, r.points->nvalues, *keys, &r.p, err));
    TRY(rewrite(&r, addable, keys, how, err));
    points_free(x, &r.p);
    return TCUDB_OK;
}
