/*
 * runs.c: runs of coded rows that grow: group, key, values, and how many rows of the bag each stands for.
 *
 * Each list belongs to one thread. A run is one block, the next one eight times as long up to a little less than two
 * huge pages, and a sixteenth of what the memory limit leaves; rows are never moved. Cost: 8 bytes of codes and 8 a
 * value.
 */
#include "exec/tcu/contract_int.h"

enum { RUN_FIRST = 4096, RUN_BYTES = (4 << 20) - 4096 };

/* Rows of so many bytes that the limit has room for without waste. */
static uint64_t affordable(const Exec *x, size_t row)
{
    size_t limit = atomic_load(&x->env->mem->limit), used = atomic_load(&x->env->mem->used);
    if (limit == 0) return UINT64_MAX;
    uint64_t rows = limit > used ? (limit - used) / 16 / row / 64 * 64 : 0;
    return rows < RUN_ROWS_MAX ? RUN_ROWS_MAX : rows;
}

static tcudb_status new_run(Exec *x, RunList *list, uint32_t nvalues, Error *err)
{
    size_t head = (sizeof(Run) + 63) & ~(size_t)63, row = 2 * sizeof(uint32_t) + nvalues * sizeof(int64_t);
    uint64_t most = (RUN_BYTES - head) / row / 64 * 64, cap = list->last == NULL ? RUN_FIRST : list->last->cap * 8;
    if (cap > most) cap = most;
    if (cap > affordable(x, row)) cap = affordable(x, row);
    char *memory = exec_alloc(x, head + cap * row, err);
    TRY_PTR(memory);
    Run *run = (Run *)memory;
    *run = (Run){.cap = cap};
    run->group = (uint32_t *)(memory + head);
    run->key = run->group + cap;
    for (uint32_t v = 0; v < nvalues; v++) run->values[v] = (int64_t *)(run->key + cap) + v * cap;
    if (list->last != NULL) list->last->next = run;
    if (list->first == NULL) list->first = run;
    list->last = run;
    return TCUDB_OK;
}

tcudb_status runs_room(Exec *x, RunList *list, uint32_t nvalues, uint32_t rows, Run **out, Error *err)
{
    if (list->last == NULL || list->last->cap - list->last->n < rows) TRY(new_run(x, list, nvalues, err));
    *out = list->last;
    return TCUDB_OK;
}

void runs_free(Exec *x, RunList *list)
{
    for (Run *run = list->first; run != NULL;) {
        Run *next = run->next;
        exec_free(x, run);
        run = next;
    }
    list->first = list->last = NULL;
}

tcudb_status runs_gather(Input *in, const RunList *lists, uint32_t nlists, uint32_t nvalues, Error *err)
{
    in->nruns = 0;
    in->n = 0;
    for (uint32_t w = 0; w < nlists; w++)
        for (const Run *run = lists[w].first; run != NULL; run = run->next) in->nruns++;
    TRY_PTR(in->runs = ARENA_ARRAY(&in->x->arena, SideRun, in->nruns + 1, err));
    in->nruns = 0;
    for (uint32_t w = 0; w < nlists; w++) {
        for (const Run *run = lists[w].first; run != NULL; run = run->next) {
            SideRun *out = &in->runs[in->nruns++];
            *out = (SideRun){.n = run->n, .group = run->group, .key = run->key, .count = run->count};
            for (uint32_t v = 0; v < nvalues; v++) out->values[v] = run->values[v];
            in->n += run->n;
        }
    }
    return TCUDB_OK;
}

typedef struct Renumbering {
    const Input *in;
    bool keys;
    const uint32_t *number;
} Renumbering;

static tcudb_status renumber_run(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Renumbering *r = ctx;
    const SideRun *run = &r->in->runs[task];
    uint32_t *code = (uint32_t *)(r->keys ? run->key : run->group); /* the run is ours */
    for (uint64_t i = 0; i < run->n; i++) code[i] = r->number[code[i]];
    return TCUDB_OK;
}

tcudb_status runs_renumber(const Input *in, bool keys, const uint32_t *number, Error *err)
{
    Renumbering r = {.in = in, .keys = keys, .number = number};
    return exec_parallel(in->x, NULL, in->nruns, renumber_run, &r, err);
}

/* The steps that follow change runs one by one: the arrays in them stay common. */
tcudb_status side_share(Exec *x, const Input *from, Input *to, Error *err)
{
    *to = *from;
    TRY_PTR(to->runs = ARENA_ARRAY(&x->arena, SideRun, from->nruns + 1, err));
    if (from->nruns > 0) memcpy(to->runs, from->runs, sizeof *to->runs * from->nruns);
    return TCUDB_OK;
}

enum { PIECE_ROWS = 1 << 14 };

tcudb_status runs_pieces(Exec *x, const SideRun *runs, uint32_t nruns, RunPiece **out, uint64_t *n, Error *err)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < nruns; r++) most += runs[r].n / PIECE_ROWS + 1;
    TRY_PTR(*out = exec_alloc(x, sizeof **out * (most + 1), err));
    *n = 0;
    for (uint32_t r = 0; r < nruns; r++) {
        for (uint64_t from = 0; from < runs[r].n; from += PIECE_ROWS) {
            uint64_t rest = runs[r].n - from;
            (*out)[(*n)++] = (RunPiece){&runs[r], from, from + (rest < PIECE_ROWS ? rest : PIECE_ROWS)};
        }
    }
    return TCUDB_OK;
}
