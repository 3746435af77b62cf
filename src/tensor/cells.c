/*
 * cells.c: pre-aggregation of a bag of rows into compressed sparse rows.
 *
 * 1. A counting sort by row: each worker counts and then places a stretch of the runs, in their order.
 * 2. Each row is combined in place: the first cell of a column stays, later ones are added to it. A dense
 *    array of columns says where a column's cell is.
 * 3. If anything was combined, the rows are closed up.
 * Cost: three passes over the rows; memory: a copy of them plus rows x workers counters.
 */
#include "tensor/cells.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { COMBINE_ROWS = 256 }; /* rows a task */

typedef struct Build {
    const Side *side;
    bool by_key;
    Cells *cells;
    uint32_t stretches;
    uint64_t *cursors; /* stretches x rows: counts, then where the stretch's next cell of the row goes */
    uint64_t *ends;    /* rows: end of each row after combining */
    uint32_t *slots;   /* workers x columns: cell of a column in this row + 1 - row start, 0: none */
} Build;

static void stretch_bounds(const Build *b, uint64_t stretch, uint64_t *from, uint64_t *to)
{
    *from = b->side->nruns * stretch / b->stretches;
    *to = b->side->nruns * (stretch + 1) / b->stretches;
}

/* The rows of a part of the groups. */
static void count_part(const Side *side, const SideRun *run, bool by_key, uint64_t *counts)
{
    for (uint64_t i = 0; i < run->n; i++) {
        uint32_t group = run->group[i] - side->first;
        if (group < side->groups) counts[by_key ? run->key[i] : group]++;
    }
}

static tcudb_status count_stretch(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Build *b = ctx;
    uint64_t from, to, *counts = b->cursors + task * b->cells->rows;
    stretch_bounds(b, task, &from, &to);
    for (uint64_t r = from; r < to; r++) {
        const SideRun *run = &b->side->runs[r];
        const uint32_t *row_of = b->by_key ? run->key : run->group;
        if (b->side->part)
            count_part(b->side, run, b->by_key, counts);
        else
            for (uint64_t i = 0; i < run->n; i++) counts[row_of[i]]++;
    }
    return TCUDB_OK;
}

static void place_part(const Side *side, Cells *cells, const SideRun *run, bool by_key, uint64_t *cursor)
{
    for (uint64_t i = 0; i < run->n; i++) {
        uint32_t group = run->group[i] - side->first;
        if (group >= side->groups) continue;
        uint64_t at = cursor[by_key ? run->key[i] : group]++;
        cells->ids[at] = by_key ? group : run->key[i];
        cells->counts[at] = run->count == NULL ? 1 : run->count[i];
        for (uint32_t v = 0; v < cells->nvalues; v++) cells->values[v][at] = run->values[v][i];
    }
}

static void place_run(Cells *cells, const SideRun *run, bool by_key, uint64_t *cursor)
{
    const uint32_t *row_of = by_key ? run->key : run->group, *column_of = by_key ? run->group : run->key;
    for (uint64_t i = 0; i < run->n; i++) {
        uint64_t at = cursor[row_of[i]]++;
        cells->ids[at] = column_of[i];
        cells->counts[at] = run->count == NULL ? 1 : run->count[i];
        for (uint32_t v = 0; v < cells->nvalues; v++) cells->values[v][at] = run->values[v][i];
    }
}

static tcudb_status place_stretch(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Build *b = ctx;
    uint64_t from, to;
    stretch_bounds(b, task, &from, &to);
    for (uint64_t r = from; r < to; r++) {
        uint64_t *cursor = b->cursors + task * b->cells->rows;
        if (b->side->part)
            place_part(b->side, b->cells, &b->side->runs[r], b->by_key, cursor);
        else
            place_run(b->cells, &b->side->runs[r], b->by_key, cursor);
    }
    return TCUDB_OK;
}

/* From the counts of every stretch to where its cells go. */
static void prefix_counts(uint64_t *cursors, uint32_t stretches, uint32_t rows, uint64_t *starts)
{
    uint64_t at = 0;
    for (uint32_t row = 0; row < rows; row++) {
        starts[row] = at;
        for (uint32_t s = 0; s < stretches; s++) {
            uint64_t n = cursors[(uint64_t)s * rows + row];
            cursors[(uint64_t)s * rows + row] = at;
            at += n;
        }
    }
    starts[rows] = at;
}

static tcudb_status add_cell(Cells *cells, uint64_t into, uint64_t from, Error *err)
{
    bool overflow = __builtin_add_overflow(cells->counts[into], cells->counts[from], &cells->counts[into]);
    for (uint32_t v = 0; v < cells->nvalues; v++)
        overflow |= __builtin_add_overflow(cells->values[v][into], cells->values[v][from], &cells->values[v][into]);
    if (!overflow) return TCUDB_OK;
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "a pre-aggregated cell does not fit in 64 bits");
}

static void move_cell(Cells *cells, uint64_t to, uint64_t from)
{
    cells->ids[to] = cells->ids[from];
    cells->counts[to] = cells->counts[from];
    for (uint32_t v = 0; v < cells->nvalues; v++) cells->values[v][to] = cells->values[v][from];
}

static tcudb_status combine_row(Build *b, uint32_t *slots, uint32_t row, Error *err)
{
    Cells *cells = b->cells;
    uint64_t start = cells->starts[row], end = start;
    tcudb_status status = TCUDB_OK;
    for (uint64_t i = start; i < cells->starts[row + 1] && status == TCUDB_OK; i++) {
        uint32_t column = cells->ids[i], slot = slots[column];
        if (slot != 0) {
            status = add_cell(cells, start + slot - 1, i, err);
            continue;
        }
        if (end != i) move_cell(cells, end, i);
        slots[column] = (uint32_t)(++end - start);
    }
    for (uint64_t i = start; i < end; i++) slots[cells->ids[i]] = 0;
    b->ends[row] = end;
    return status;
}

static tcudb_status combine_rows(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    Build *b = ctx;
    uint64_t from = task * COMBINE_ROWS, to = from + COMBINE_ROWS;
    if (to > b->cells->rows) to = b->cells->rows;
    for (uint64_t row = from; row < to; row++)
        TRY(combine_row(b, b->slots + (size_t)worker * b->cells->columns, (uint32_t)row, err));
    return TCUDB_OK;
}

static void close_up(Build *b)
{
    Cells *cells = b->cells;
    uint64_t at = 0;
    for (uint32_t row = 0; row < cells->rows; row++) {
        uint64_t start = cells->starts[row], n = b->ends[row] - start;
        if (at != start && n > 0) {
            memmove(cells->ids + at, cells->ids + start, n * sizeof *cells->ids);
            memmove(cells->counts + at, cells->counts + start, n * sizeof *cells->counts);
            for (uint32_t v = 0; v < cells->nvalues; v++)
                memmove(cells->values[v] + at, cells->values[v] + start, n * sizeof(int64_t));
        }
        cells->starts[row] = at;
        at += n;
    }
    cells->starts[cells->rows] = cells->n = at;
    cells->unique = at == cells->capacity;
    for (uint32_t r = 0; r < b->side->nruns; r++) cells->unique &= b->side->runs[r].count == NULL;
}

tcudb_status cells_alloc(Cells *cells, Error *err)
{
    cells->starts = mem_alloc(cells->mem, sizeof(uint64_t) * ((size_t)cells->rows + 1), err);
    TRY_PTR(cells->starts);
    cells->ids = mem_alloc(cells->mem, sizeof(uint32_t) * cells->capacity, err);
    TRY_PTR(cells->ids);
    cells->counts = mem_alloc(cells->mem, sizeof(uint32_t) * cells->capacity, err);
    TRY_PTR(cells->counts);
    for (uint32_t v = 0; v < cells->nvalues; v++) {
        cells->values[v] = mem_alloc(cells->mem, sizeof(int64_t) * cells->capacity, err);
        TRY_PTR(cells->values[v]);
    }
    return TCUDB_OK;
}

static tcudb_status build_steps(Build *b, Pool *pool, const atomic_bool *cancel, Error *err)
{
    Cells *cells = b->cells;
    TRY(cells_alloc(cells, err));
    TRY(pool_run(pool, b->stretches, count_stretch, b, cancel, err));
    prefix_counts(b->cursors, b->stretches, cells->rows, cells->starts);
    TRY(pool_run(pool, b->stretches, place_stretch, b, cancel, err));
    TRY(pool_run(pool, ((uint64_t)cells->rows + COMBINE_ROWS - 1) / COMBINE_ROWS, combine_rows, b, cancel, err));
    close_up(b);
    return TCUDB_OK;
}

/* One a worker; only one where their counters would take much of what the memory limit leaves. */
static uint32_t stretches_for(Mem *mem, const Pool *pool, uint32_t rows)
{
    size_t limit = atomic_load(&mem->limit), used = atomic_load(&mem->used), bytes = sizeof(uint64_t) * (size_t)rows;
    bool tight = limit != 0 && (used >= limit || bytes * pool_workers(pool) > (limit - used) / 8);
    return tight ? 1 : pool_workers(pool);
}

tcudb_status cells_build(const Side *side, uint32_t keys, bool by_key, Pool *pool, Mem *mem, const atomic_bool *cancel,
                         Cells *out, Error *err)
{
    assert(side->nvalues <= PRODUCT_MAX);
    *out = (Cells){.mem = mem,
                   .rows = by_key ? keys : side->groups,
                   .columns = by_key ? side->groups : keys,
                   .nvalues = side->nvalues,
                   .capacity = side->n};
    bool done;
    TRY(cells_grid(side, by_key, pool, mem, cancel, out, &done, err));
    if (done) return TCUDB_OK;
    Build b = {.side = side, .by_key = by_key, .cells = out, .stretches = stretches_for(mem, pool, out->rows)};
    size_t cursor_bytes = sizeof(uint64_t) * b.stretches * out->rows, end_bytes = sizeof(uint64_t) * out->rows;
    size_t slot_bytes = sizeof(uint32_t) * pool_workers(pool) * (size_t)out->columns;
    tcudb_status status = TCUDB_NOMEM;
    b.cursors = mem_alloc_zero(mem, cursor_bytes, err);
    b.ends = b.cursors == NULL ? NULL : mem_alloc(mem, end_bytes, err);
    b.slots = b.ends == NULL ? NULL : mem_alloc_zero(mem, slot_bytes, err);
    if (b.slots != NULL) status = build_steps(&b, pool, cancel, err);
    mem_free(mem, b.cursors, cursor_bytes);
    mem_free(mem, b.ends, end_bytes);
    mem_free(mem, b.slots, slot_bytes);
    return status;
}

/* Stretches of rows are counted and placed by one worker each, in the order of the rows. */
typedef struct Transpose {
    const Cells *from;
    Cells *to;
    uint32_t stretches;
    uint64_t *cursors; /* stretches x columns: counts, then where the stretch's next cell of the column goes */
    uint64_t *places;
} Transpose;

static void stretch_cells(const Transpose *t, uint64_t stretch, uint32_t *from, uint32_t *to)
{
    *from = (uint32_t)((uint64_t)t->from->rows * stretch / t->stretches);
    *to = (uint32_t)((uint64_t)t->from->rows * (stretch + 1) / t->stretches);
}

static tcudb_status count_columns(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Transpose *t = ctx;
    uint32_t from, to;
    stretch_cells(t, task, &from, &to);
    uint64_t *counts = t->cursors + task * t->to->rows;
    for (uint64_t c = t->from->starts[from]; c < t->from->starts[to]; c++) counts[t->from->ids[c]]++;
    return TCUDB_OK;
}

static tcudb_status place_columns(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Transpose *t = ctx;
    const Cells *cells = t->from;
    uint32_t from, to;
    stretch_cells(t, task, &from, &to);
    uint64_t *cursor = t->cursors + task * t->to->rows;
    for (uint32_t row = from; row < to; row++) {
        for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1]; c++) {
            uint64_t at = t->places[c] = cursor[cells->ids[c]]++;
            t->to->ids[at] = row;
            t->to->counts[at] = cells->counts[c];
            for (uint32_t v = 0; v < cells->nvalues; v++) t->to->values[v][at] = cells->values[v][c];
        }
    }
    return TCUDB_OK;
}

tcudb_status cells_transpose(const Cells *cells, Pool *pool, Mem *mem, const atomic_bool *cancel, Cells *out,
                             uint64_t *places, Error *err)
{
    Transpose t = {
        .from = cells, .to = out, .stretches = stretches_for(cells->mem, pool, cells->columns), .places = places};
    size_t cursor_bytes = sizeof(uint64_t) * t.stretches * cells->columns;
    *out = (Cells){.mem = mem,
                   .rows = cells->columns,
                   .columns = cells->rows,
                   .n = cells->n,
                   .nvalues = cells->nvalues,
                   .unique = cells->unique,
                   .capacity = cells->n};
    TRY(cells_alloc(out, err));
    TRY_PTR(t.cursors = mem_alloc_zero(mem, cursor_bytes, err));
    tcudb_status status = pool_run(pool, t.stretches, count_columns, &t, cancel, err);
    if (status == TCUDB_OK) {
        prefix_counts(t.cursors, t.stretches, out->rows, out->starts);
        status = pool_run(pool, t.stretches, place_columns, &t, cancel, err);
    }
    mem_free(mem, t.cursors, cursor_bytes);
    return status;
}

void cells_free(Cells *cells)
{
    if (cells->starts == NULL) return;
    mem_free(cells->mem, cells->starts, sizeof(uint64_t) * ((size_t)cells->rows + 1));
    mem_free(cells->mem, cells->ids, sizeof(uint32_t) * cells->capacity);
    mem_free(cells->mem, cells->counts, sizeof(uint32_t) * cells->capacity);
    for (uint32_t v = 0; v < cells->nvalues; v++)
        mem_free(cells->mem, cells->values[v], sizeof(int64_t) * cells->capacity);
    *cells = (Cells){.mem = cells->mem};
}

CellFacts cells_facts(const Cells *cells, uint32_t column, uint32_t from, uint32_t to)
{
    CellFacts facts = {0};
    for (uint32_t row = from; row < to; row++) {
        double weight = 0;
        for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1]; c++) {
            int64_t v = cells_value(cells, column, c);
            if (v < facts.min) facts.min = v;
            if (v > facts.max) facts.max = v;
            weight += fabs((double)v);
        }
        if (weight > facts.row_weight) facts.row_weight = weight;
    }
    return facts;
}

void cells_facts_merge(CellFacts *into, CellFacts other)
{
    if (other.min < into->min) into->min = other.min;
    if (other.max > into->max) into->max = other.max;
    if (other.row_weight > into->row_weight) into->row_weight = other.row_weight;
}
