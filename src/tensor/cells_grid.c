/*
 * cells_grid.c: pre-aggregation of many rows in few cells: an array of all cells that there can be.
 *
 *     55,923 songs, 1,787 artists x 12 prices
 *
 * Where rows are at least as many as pairs of group and key, or a half of them if they are few, sorting (cells.c) is
 * a detour: each stretch of the runs adds its rows up in an array of its own, the arrays are added up, and the cells
 * with rows are gathered in the array's order, rows and columns ascending. Tasks are pieces of the array, whatever its
 * rows are.
 * Cost: a nanosecond or two a row, and the arrays once; memory: as many arrays as leave them smaller than the bag.
 */
#include "tensor/cells.h"

#include <assert.h>
#include <math.h>

enum { GRID_CELLS = 16384, FEW_ROWS = 1 << 16 }; /* cells of a piece; rows that one core may add up alone */

typedef struct Grid {
    const Side *side;
    bool by_key;
    Cells *cells;
    uint32_t stretches;
    size_t area;
    uint64_t pieces;
    uint32_t *counts; /* stretches x area */
    int64_t *values;  /* stretches x values x area */
    uint64_t *places; /* a piece: its cells, then where they go */
    atomic_bool overflow;
} Grid;

static size_t cell_bytes(uint32_t nvalues)
{
    return sizeof(uint32_t) + sizeof(int64_t) * nvalues;
}

/* 0: rows are too few. */
static uint32_t stretches_of(double rows, double area, uint32_t workers)
{
    double most = area > 0 ? rows / area : 0;
    uint32_t stretches = most < 1 ? 1 : most > workers ? workers : (uint32_t)most;
    bool few = rows <= FEW_ROWS && area <= 2 * rows;
    return few || (area <= rows && (stretches > 1 || workers == 1)) ? stretches : 0;
}

double cells_grid_bytes(double rows, double area, uint32_t nvalues, uint32_t workers)
{
    double bytes = area * (double)(stretches_of(rows, area, workers) * cell_bytes(nvalues));
    return bytes <= 0 ? INFINITY : bytes + area * (double)(cell_bytes(nvalues) + sizeof(uint32_t));
}

/* Under a memory limit: no more than sorting takes, or little of what is left. */
static bool has_room(const Mem *mem, const Grid *g, uint32_t workers)
{
    size_t limit = atomic_load(&mem->limit), used = atomic_load(&mem->used);
    double bytes = cells_grid_bytes((double)g->side->n, (double)g->area, g->cells->nvalues, workers);
    double sorted = (double)g->side->n * (double)(cell_bytes(g->cells->nvalues) + sizeof(uint32_t));
    return limit == 0 || bytes <= sorted || (used < limit && bytes <= (double)(limit - used) / 4);
}

/* Of a part of the groups other rows are passed over. */
static inline bool find_cell(const Grid *g, const SideRun *run, uint64_t i, size_t *cell)
{
    uint32_t group = run->group[i] - (g->side->part ? g->side->first : 0), columns = g->cells->columns;
    *cell = g->by_key ? (size_t)run->key[i] * columns + group : (size_t)group * columns + run->key[i];
    return group < g->side->groups;
}

static bool add_rows(Grid *g, const SideRun *run, uint32_t *counts, int64_t *values)
{
    bool overflow = false;
    size_t cell;
    for (uint64_t i = 0; i < run->n; i++)
        if (find_cell(g, run, i, &cell))
            overflow |= __builtin_add_overflow(counts[cell], run->count == NULL ? 1 : run->count[i], &counts[cell]);
    for (uint32_t v = 0; v < g->cells->nvalues; v++, values += g->area)
        for (uint64_t i = 0; i < run->n; i++)
            if (find_cell(g, run, i, &cell))
                overflow |= __builtin_add_overflow(values[cell], run->values[v][i], &values[cell]);
    return overflow;
}

static tcudb_status add_stretch(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Grid *g = ctx;
    uint64_t from = g->side->nruns * task / g->stretches, to = g->side->nruns * (task + 1) / g->stretches;
    uint32_t *counts = g->counts + task * g->area;
    int64_t *values = g->values + task * g->area * g->cells->nvalues;
    bool overflow = false;
    for (uint64_t r = from; r < to; r++) overflow |= add_rows(g, &g->side->runs[r], counts, values);
    if (overflow) atomic_store(&g->overflow, true);
    return TCUDB_OK;
}

static void piece_cells(const Grid *g, uint64_t piece, size_t *from, size_t *to)
{
    *from = piece * GRID_CELLS;
    *to = g->area - *from < GRID_CELLS ? g->area : *from + GRID_CELLS;
}

/* Adds a cell of every stretch to the first's. */
static bool merge_cell(Grid *g, size_t cell)
{
    bool overflow = false;
    for (uint32_t s = 1; s < g->stretches; s++) {
        if (g->counts[s * g->area + cell] == 0) continue;
        overflow |= __builtin_add_overflow(g->counts[cell], g->counts[s * g->area + cell], &g->counts[cell]);
        for (uint32_t v = 0; v < g->cells->nvalues; v++) {
            int64_t *into = &g->values[v * g->area + cell];
            overflow |=
                __builtin_add_overflow(*into, g->values[((size_t)s * g->cells->nvalues + v) * g->area + cell], into);
        }
    }
    return overflow;
}

static tcudb_status merge_piece(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Grid *g = ctx;
    size_t from, to;
    bool overflow = false;
    uint64_t n = 0;
    piece_cells(g, task, &from, &to);
    for (size_t cell = from; cell < to; cell++) {
        overflow |= merge_cell(g, cell);
        n += g->counts[cell] > 0;
    }
    g->places[task] = n;
    if (overflow) atomic_store(&g->overflow, true);
    return TCUDB_OK;
}

static void take_cell(const Grid *g, size_t cell, uint32_t column, uint64_t at)
{
    Cells *cells = g->cells;
    cells->ids[at] = column;
    cells->counts[at] = g->counts[cell];
    for (uint32_t v = 0; v < cells->nvalues; v++) cells->values[v][at] = g->values[v * g->area + cell];
}

static tcudb_status gather_piece(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Grid *g = ctx;
    size_t from, to;
    piece_cells(g, task, &from, &to);
    uint64_t at = g->places[task];
    uint32_t row = (uint32_t)(from / g->cells->columns), column = (uint32_t)(from % g->cells->columns);
    for (size_t cell = from; cell < to; cell++) {
        if (column == 0) g->cells->starts[row] = at;
        if (g->counts[cell] > 0) take_cell(g, cell, column, at++);
        if (++column < g->cells->columns) continue;
        column = 0;
        row++;
    }
    return TCUDB_OK;
}

/* From the numbers of cells to where they go. */
static void place_pieces(Grid *g)
{
    Cells *cells = g->cells;
    cells->n = 0;
    for (uint64_t p = 0; p < g->pieces; p++) {
        uint64_t n = g->places[p];
        g->places[p] = cells->n;
        cells->n += n;
    }
    cells->capacity = cells->n;
    cells->unique = cells->n == g->side->n;
    for (uint32_t r = 0; r < g->side->nruns; r++) cells->unique &= g->side->runs[r].count == NULL;
}

static tcudb_status build(Grid *g, Pool *pool, const atomic_bool *cancel, Error *err)
{
    TRY(pool_run(pool, g->stretches, add_stretch, g, cancel, err));
    TRY(pool_run(pool, g->pieces, merge_piece, g, cancel, err));
    if (atomic_load(&g->overflow))
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "a pre-aggregated cell does not fit in 64 bits");
    place_pieces(g);
    TRY(cells_alloc(g->cells, err));
    g->cells->starts[g->cells->rows] = g->cells->n;
    return pool_run(pool, g->pieces, gather_piece, g, cancel, err);
}

tcudb_status cells_grid(const Side *side, bool by_key, Pool *pool, Mem *mem, const atomic_bool *cancel, Cells *cells,
                        bool *done, Error *err)
{
    Grid g = {.side = side, .by_key = by_key, .cells = cells, .area = (size_t)cells->rows * cells->columns};
    g.stretches = stretches_of((double)side->n, (double)g.area, pool_workers(pool));
    *done = g.stretches > 0 && has_room(mem, &g, pool_workers(pool));
    if (!*done) return TCUDB_OK;
    g.pieces = (g.area + GRID_CELLS - 1) / GRID_CELLS;
    size_t count_bytes = sizeof *g.counts * g.area * g.stretches, place_bytes = sizeof *g.places * g.pieces;
    size_t value_bytes = sizeof *g.values * g.area * g.stretches * cells->nvalues;
    tcudb_status status = TCUDB_NOMEM;
    g.counts = mem_alloc_zero(mem, count_bytes, err);
    g.values = g.counts == NULL ? NULL : mem_alloc_zero(mem, value_bytes, err);
    g.places = g.values == NULL ? NULL : mem_alloc(mem, place_bytes, err);
    if (g.places != NULL) status = build(&g, pool, cancel, err);
    mem_free(mem, g.counts, count_bytes);
    mem_free(mem, g.values, value_bytes);
    mem_free(mem, g.places, place_bytes);
    return status;
}
