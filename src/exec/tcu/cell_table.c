/*
 * cell_table.c: rows of one thread added up by (group, key) while they come.
 *
 * A table of cell numbers over runs of cells of one length, so that a number says where its cell is; cells never move.
 * A cell whose sum would leave 64 bits, or whose count 32, is left as it is and another one begun: a bag may hold equal
 * (group, key) twice. Cost: a probe a row; memory: 12 bytes and 8 a value a cell, and 8 to 16 of the table.
 */
#include "exec/tcu/contract_int.h"

enum { FIRST_RUNS = 64 };

static uint64_t slot_of(const CellTable *t, uint32_t group, uint32_t key)
{
    uint64_t word = ((uint64_t)group << 32 | key) * UINT64_C(0x9e3779b97f4a7c15);
    return (word ^ word >> 32) & (t->cap - 1);
}

static Run *run_of(const CellTable *t, uint32_t cell, uint32_t *at)
{
    *at = cell % CELL_RUN;
    return t->runs[cell / CELL_RUN];
}

/* Slots for twice as many cells. */
static tcudb_status grow_slots(CellTable *t, Error *err)
{
    uint64_t cap = t->cap == 0 ? CELL_SLOTS : t->cap * 2;
    uint32_t *slots = exec_alloc_zero(t->x, sizeof *slots * cap, err);
    TRY_PTR(slots);
    exec_free(t->x, t->slots);
    t->slots = slots;
    t->cap = cap;
    for (uint32_t cell = 0; cell < t->n; cell++) {
        uint32_t at;
        const Run *run = run_of(t, cell, &at);
        uint64_t slot = slot_of(t, run->group[at], run->key[at]);
        while (slots[slot] != 0) slot = (slot + 1) & (cap - 1);
        slots[slot] = cell + 1;
    }
    return TCUDB_OK;
}

static tcudb_status add_run(CellTable *t, Error *err)
{
    size_t head = (sizeof(Run) + 63) & ~(size_t)63, row = 3 * sizeof(uint32_t) + t->nvalues * sizeof(int64_t);
    if (t->nruns == t->room) {
        uint32_t room = t->room == 0 ? FIRST_RUNS : t->room * 2;
        Run **runs = exec_realloc(t->x, t->runs, sizeof *runs * room, err);
        TRY_PTR(runs);
        t->runs = runs;
        t->room = room;
    }
    char *memory = exec_alloc(t->x, head + CELL_RUN * row, err);
    TRY_PTR(memory);
    Run *run = (Run *)memory;
    *run = (Run){.cap = CELL_RUN, .group = (uint32_t *)(memory + head)};
    run->key = run->group + CELL_RUN;
    run->count = run->key + CELL_RUN;
    for (uint32_t v = 0; v < t->nvalues; v++) run->values[v] = (int64_t *)(run->count + CELL_RUN) + v * CELL_RUN;
    t->runs[t->nruns++] = run;
    return TCUDB_OK;
}

/* false: some sum leaves its width. */
static bool add_row(Run *run, uint32_t at, uint32_t nvalues, int64_t *const *values, uint32_t i)
{
    int64_t sums[PRODUCT_MAX];
    bool overflow = run->count[at] == UINT32_MAX;
    for (uint32_t v = 0; v < nvalues; v++)
        overflow |= __builtin_add_overflow(run->values[v][at], values[v][i], &sums[v]);
    if (overflow) return false;
    run->count[at]++;
    for (uint32_t v = 0; v < nvalues; v++) run->values[v][at] = sums[v];
    return true;
}

static tcudb_status new_cell(CellTable *t, const CodedRows *rows, int64_t *const *values, uint32_t i, uint64_t slot,
                             Error *err)
{
    uint32_t at;
    if (t->n >= UINT32_MAX - 1) return exec_too_many_rows(err);
    if (t->n % CELL_RUN == 0) TRY(add_run(t, err));
    Run *run = run_of(t, (uint32_t)t->n, &at);
    run->group[at] = rows->group[i];
    run->key[at] = rows->key[i];
    run->count[at] = 1;
    for (uint32_t v = 0; v < t->nvalues; v++) run->values[v][at] = values[v][i];
    run->n++;
    t->slots[slot] = (uint32_t)++t->n;
    return TCUDB_OK;
}

tcudb_status cells_add(CellTable *t, const CodedRows *rows, int64_t *const *values, Error *err)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        if ((t->n + 1) * 2 > t->cap) TRY(grow_slots(t, err));
        uint64_t slot = slot_of(t, rows->group[i], rows->key[i]);
        bool added = false;
        for (; t->slots[slot] != 0 && !added; slot = (slot + 1) & (t->cap - 1)) {
            uint32_t at;
            Run *run = run_of(t, t->slots[slot] - 1, &at);
            if (run->group[at] != rows->group[i] || run->key[at] != rows->key[i]) continue;
            added = add_row(run, at, t->nvalues, values, i);
        }
        if (!added) TRY(new_cell(t, rows, values, i, slot, err));
    }
    return TCUDB_OK;
}
