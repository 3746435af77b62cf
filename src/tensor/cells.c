/*
 * cells.c: pre-aggregation of a bag of rows into compressed sparse rows.
 *
 * 1. A counting sort by row: each worker counts and then places a stretch of the runs, in their order.
 * 2. Each row is combined in place: the first cell of a column stays, later ones are added to it. A dense
 *    array of columns says where a column's cell is.
 * 3. If anything was combined, the rows are closed up, array by array.
 * Few rows are cut into lines of consecutive columns first, so that all cores combine them: what is called a line below
 * is a row, or such a piece of one.
 * Cost: three passes over the rows; memory: a copy of them plus lines x workers counters.
 */
#include "tensor/cells.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { COMBINE_LINES = 256, LINES = 4096, MANY_ROWS = 1 << 16 }; /* lines a task; wanted of a bag of so many rows */

typedef struct Build {
    const Side *side;
    bool by_key;
    Cells *cells;
    uint32_t stretches;
    uint32_t lines, per_row, width; /* lines of a row; columns of a line, as a power of two */
    uint64_t *cursors;              /* stretches x lines: counts, then where the stretch's next cell of the line goes */
    uint64_t *starts;               /* lines + 1; the cells' own where lines are rows */
    uint64_t *ends;                 /* lines: end of each after combining */
    uint32_t *slots;                /* workers x columns: cell of a column in this line + 1 - its start, 0: none */
} Build;

static void stretch_bounds(const Build *b, uint64_t stretch, uint64_t *from, uint64_t *to)
{
    *from = b->side->nruns * stretch / b->stretches;
    *to = b->side->nruns * (stretch + 1) / b->stretches;
}

static inline uint32_t line_of(const Build *b, uint32_t row, uint32_t column)
{
    return row * b->per_row + (column >> b->width);
}

/* The line of the run's i-th row; false: its group is not of the part. */
static inline bool find_line(const Build *b, const SideRun *run, uint64_t i, uint32_t *line, uint32_t *column)
{
    uint32_t group = run->group[i] - (b->side->part ? b->side->first : 0), key = run->key[i];
    *column = b->by_key ? group : key;
    *line = line_of(b, b->by_key ? key : group, *column);
    return group < b->side->groups;
}

/* Rows and parts of them. */
static void count_run(const Build *b, const SideRun *run, uint64_t *counts)
{
    uint32_t line, column;
    for (uint64_t i = 0; i < run->n; i++)
        if (find_line(b, run, i, &line, &column)) counts[line]++;
}

static tcudb_status count_stretch(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Build *b = ctx;
    uint64_t from, to, *counts = b->cursors + task * b->lines;
    stretch_bounds(b, task, &from, &to);
    for (uint64_t r = from; r < to; r++) {
        const SideRun *run = &b->side->runs[r];
        const uint32_t *row_of = b->by_key ? run->key : run->group;
        if (b->side->part || b->per_row > 1)
            count_run(b, run, counts);
        else
            for (uint64_t i = 0; i < run->n; i++) counts[row_of[i]]++;
    }
    return TCUDB_OK;
}

static void place_cell(Cells *cells, const SideRun *run, uint64_t i, uint64_t at, uint32_t column)
{
    cells->ids[at] = column;
    cells->counts[at] = run->count == NULL ? 1 : run->count[i];
    for (uint32_t v = 0; v < cells->nvalues; v++) cells->values[v][at] = run->values[v][i];
}

static void place_lines(const Build *b, const SideRun *run, uint64_t *cursor)
{
    uint32_t line, column;
    for (uint64_t i = 0; i < run->n; i++)
        if (find_line(b, run, i, &line, &column)) place_cell(b->cells, run, i, cursor[line]++, column);
}

static void place_run(Cells *cells, const SideRun *run, bool by_key, uint64_t *cursor)
{
    const uint32_t *row_of = by_key ? run->key : run->group, *column_of = by_key ? run->group : run->key;
    for (uint64_t i = 0; i < run->n; i++) place_cell(cells, run, i, cursor[row_of[i]]++, column_of[i]);
}

static tcudb_status place_stretch(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Build *b = ctx;
    uint64_t from, to;
    stretch_bounds(b, task, &from, &to);
    for (uint64_t r = from; r < to; r++) {
        uint64_t *cursor = b->cursors + task * b->lines;
        if (b->side->part || b->per_row > 1)
            place_lines(b, &b->side->runs[r], cursor);
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

static tcudb_status combine_line(Build *b, uint32_t *slots, uint32_t line, Error *err)
{
    Cells *cells = b->cells;
    uint64_t start = b->starts[line], end = start;
    tcudb_status status = TCUDB_OK;
    for (uint64_t i = start; i < b->starts[line + 1] && status == TCUDB_OK; i++) {
        uint32_t column = cells->ids[i], slot = slots[column];
        if (slot != 0) {
            status = add_cell(cells, start + slot - 1, i, err);
            continue;
        }
        if (end != i) move_cell(cells, end, i);
        slots[column] = (uint32_t)(++end - start);
    }
    for (uint64_t i = start; i < end; i++) slots[cells->ids[i]] = 0;
    b->ends[line] = end;
    return status;
}

static tcudb_status combine_lines(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    Build *b = ctx;
    uint64_t from = task * COMBINE_LINES, to = from + COMBINE_LINES;
    if (to > b->lines) to = b->lines;
    for (uint64_t line = from; line < to; line++)
        TRY(combine_line(b, b->slots + (size_t)worker * b->cells->columns, (uint32_t)line, err));
    return TCUDB_OK;
}

/* Closes up one array: the columns, the counts or a value. */
static tcudb_status close_array(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Build *b = ctx;
    Cells *cells = b->cells;
    char *array = task == 0 ? (char *)cells->ids : task == 1 ? (char *)cells->counts : (char *)cells->values[task - 2];
    size_t size = task < 2 ? sizeof(uint32_t) : sizeof(int64_t);
    uint64_t at = 0;
    for (uint32_t line = 0; line < b->lines; line++) {
        uint64_t start = b->starts[line], n = b->ends[line] - start;
        if (at != start && n > 0) memmove(array + at * size, array + start * size, n * size);
        at += n;
    }
    return TCUDB_OK;
}

static tcudb_status close_up(Build *b, Pool *pool, const atomic_bool *cancel, Error *err)
{
    Cells *cells = b->cells;
    uint64_t at = 0;
    cells->n = 0;
    for (uint32_t line = 0; line < b->lines; line++) cells->n += b->ends[line] - b->starts[line];
    cells->unique = cells->n == cells->capacity;
    for (uint32_t r = 0; r < b->side->nruns; r++) cells->unique &= b->side->runs[r].count == NULL;
    if (cells->n < cells->capacity) TRY(pool_run(pool, 2 + cells->nvalues, close_array, b, cancel, err));
    for (uint32_t line = 0; line < b->lines; line++) { /* where lines are rows, the starts are overwritten behind us */
        uint64_t n = b->ends[line] - b->starts[line];
        if (line % b->per_row == 0) cells->starts[line / b->per_row] = at;
        at += n;
    }
    cells->starts[cells->rows] = at;
    return TCUDB_OK;
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
    TRY(pool_run(pool, b->stretches, count_stretch, b, cancel, err));
    prefix_counts(b->cursors, b->stretches, b->lines, b->starts);
    TRY(pool_run(pool, b->stretches, place_stretch, b, cancel, err));
    uint64_t tasks = ((uint64_t)b->lines + COMBINE_LINES - 1) / COMBINE_LINES;
    TRY(pool_run(pool, tasks, combine_lines, b, cancel, err));
    return close_up(b, pool, cancel, err);
}

/* One a worker; only one where their counters would take much of what the memory limit leaves. */
static uint32_t stretches_for(Mem *mem, const Pool *pool, uint32_t rows)
{
    size_t limit = atomic_load(&mem->limit), used = atomic_load(&mem->used), bytes = sizeof(uint64_t) * (size_t)rows;
    bool tight = limit != 0 && (used >= limit || bytes * pool_workers(pool) > (limit - used) / 8);
    return tight ? 1 : pool_workers(pool);
}

/* Few rows become so many lines that there are some tasks. */
static void set_lines(Build *b)
{
    uint32_t rows = b->cells->rows, columns = b->cells->columns;
    b->width = 32 - 1; /* codes are below 2^31: one line */
    while (b->side->n >= MANY_ROWS && b->width > 0 && (uint64_t)rows * ((columns - 1) >> (b->width - 1)) < LINES)
        b->width--;
    b->per_row = ((columns - 1) >> b->width) + 1;
    b->lines = rows * b->per_row;
}

static tcudb_status build_lines(Build *b, Pool *pool, Mem *mem, const atomic_bool *cancel, Error *err)
{
    bool own = b->per_row > 1;
    size_t cursor_bytes = sizeof(uint64_t) * b->stretches * b->lines, end_bytes = sizeof(uint64_t) * b->lines;
    size_t slot_bytes = sizeof(uint32_t) * pool_workers(pool) * (size_t)b->cells->columns;
    size_t start_bytes = own ? sizeof(uint64_t) * ((size_t)b->lines + 1) : 0;
    tcudb_status status = TCUDB_NOMEM;
    b->starts = own ? mem_alloc(mem, start_bytes, err) : b->cells->starts;
    b->cursors = b->starts == NULL ? NULL : mem_alloc_zero(mem, cursor_bytes, err);
    b->ends = b->cursors == NULL ? NULL : mem_alloc(mem, end_bytes, err);
    b->slots = b->ends == NULL ? NULL : mem_alloc_zero(mem, slot_bytes, err);
    if (b->slots != NULL) status = build_steps(b, pool, cancel, err);
    mem_free(mem, b->cursors, cursor_bytes);
    mem_free(mem, b->ends, end_bytes);
    mem_free(mem, b->slots, slot_bytes);
    if (own) mem_free(mem, b->starts, start_bytes);
    return status;
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
    Build b = {.side = side, .by_key = by_key, .cells = out};
    set_lines(&b);
    b.stretches = stretches_for(mem, pool, b.lines);
    TRY(cells_alloc(out, err));
    return build_lines(&b, pool, mem, cancel, err);
}

/* Stretches of cells are counted and placed by one worker each, in the order of the rows. */
typedef struct Transpose {
    const Cells *from;
    Cells *to;
    uint32_t stretches;
    uint64_t *cursors; /* stretches x columns: counts, then where the stretch's next cell of the column goes */
    uint64_t *places;
} Transpose;

static void stretch_cells(const Transpose *t, uint64_t stretch, uint64_t *from, uint64_t *to)
{
    *from = t->from->n * stretch / t->stretches;
    *to = t->from->n * (stretch + 1) / t->stretches;
}

static tcudb_status count_columns(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Transpose *t = ctx;
    uint64_t from, to;
    stretch_cells(t, task, &from, &to);
    uint64_t *counts = t->cursors + task * t->to->rows;
    for (uint64_t c = from; c < to; c++) counts[t->from->ids[c]]++;
    return TCUDB_OK;
}

static tcudb_status place_columns(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    Transpose *t = ctx;
    const Cells *cells = t->from;
    uint64_t c, to;
    stretch_cells(t, task, &c, &to);
    uint64_t *cursor = t->cursors + task * t->to->rows;
    for (uint32_t row = cells_row(cells, c); c < to; row++) {
        for (; c < to && c < cells->starts[row + 1]; c++) {
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

uint32_t cells_row(const Cells *cells, uint64_t cell)
{
    uint32_t low = 0, high = cells->rows;
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cells->starts[middle] <= cell)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Of one line's cells; their weight. */
static double line_facts(const Cells *cells, uint32_t column, uint64_t from, uint64_t to, CellFacts *facts)
{
    double weight = 0;
    for (uint64_t c = from; c < to; c++) {
        int64_t v = cells_value(cells, column, c);
        if (v < facts->min) facts->min = v;
        if (v > facts->max) facts->max = v;
        weight += fabs((double)v);
    }
    return weight;
}

CellFacts cells_facts(const Cells *cells, uint32_t column, uint64_t from, uint64_t to, RowEdges *edges)
{
    CellFacts facts = {0};
    *edges = (RowEdges){.whole = true};
    if (from >= to) return facts;
    uint32_t row = cells_row(cells, from);
    if (from > cells->starts[row]) {
        uint64_t end = cells->starts[row + 1] < to ? cells->starts[row + 1] : to;
        edges->head = line_facts(cells, column, from, end, &facts);
        if (end == to) return facts;
        row++;
    }
    edges->whole = false;
    for (; row < cells->rows && cells->starts[row] < to; row++) {
        uint64_t end = cells->starts[row + 1] < to ? cells->starts[row + 1] : to;
        edges->tail = line_facts(cells, column, cells->starts[row], end, &facts);
        if (edges->tail > facts.row_weight) facts.row_weight = edges->tail;
    }
    return facts;
}

void cells_facts_merge(CellFacts *into, CellFacts other)
{
    if (other.min < into->min) into->min = other.min;
    if (other.max > into->max) into->max = other.max;
    if (other.row_weight > into->row_weight) into->row_weight = other.row_weight;
}
