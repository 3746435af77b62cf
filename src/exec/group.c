/*
 * group.c: hash grouping.
 *
 *     batch -> keys -> worker's table (one task) -> run of state rows -> partitions merged in task order
 *
 * A worker groups one task at a time; when the task ends its rows become a run, split into PARTS by hash.
 * A task whose first rows nearly all have groups of their own gives up finding them: its rows go into the run as they
 * come, a state each. At the end each partition is merged from the runs in task order, in parallel. So sums of floats
 * and the order of groups depend on the tasks only, never on the number of workers. DISTINCT arguments: a second table
 * per aggregate, keyed by group and arguments, merged the same way and added to the group's state at the end. Memory: a
 * run holds a task's distinct keys; runs of few-group queries are tiny.
 */
#include "exec/group.h"

#include <assert.h>
#include <stdlib.h>

enum { PARTS = 64, PARALLEL_ROWS = 65536 };
enum { SCATTER_ROWS = 16384 };        /* a run of so many rows is put into the order of its partitions */
enum { PROBE_ROWS = 8 * BATCH_ROWS }; /* of a task, before it is known whether grouping it makes it smaller */

typedef struct Run Run;
struct Run {
    Run *next;
    uint64_t task;
    char *rows;
    uint32_t n;
    uint32_t start[PARTS + 1];
    uint32_t *order; /* row numbers by partition; NULL: the rows lie in that order */
};

/* One kind of table: the groups themselves, or the distinct arguments of one aggregate. */
typedef struct Level {
    const KeySpec *spec;
    uint32_t state_bytes;
    uint32_t state_at, stride;
    bool in_order;    /* rows must stay in the order of first appearance */
    KeyTable *tables; /* by worker */
    Run **runs;       /* by worker, newest first */
} Level;

/* How a worker's task goes. */
typedef struct TaskRows {
    uint64_t seen;
    bool probed, appends;
} TaskRows;

struct Grouping {
    Stage stage;
    Exec *x;
    PhysNode *node;
    const Ev *keys;
    AggSpec *aggs;
    uint32_t naggs;
    uint32_t side;
    const uint32_t *phases; /* by aggregate; NULL: all take all rows */
    uint32_t phase;
    Level groups;
    Level **distinct; /* by aggregate; NULL: not distinct */
    TaskRows *rows;   /* by worker */
};

/* ---- setting up ---------------------------------------------------------------------------------------- */

static tcudb_status level_init(Exec *x, Level *level, const KeySpec *spec, uint32_t state_bytes, Error *err)
{
    *level = (Level){.spec = spec, .state_bytes = state_bytes};
    level->state_at = (uint32_t)(sizeof(uint64_t) * (1 + spec->words));
    level->stride = level->state_at + state_bytes;
    level->tables = ARENA_ARRAY(&x->arena, KeyTable, x->nworkers, err);
    TRY_PTR(level->tables);
    level->runs = ARENA_ARRAY(&x->arena, Run *, x->nworkers, err);
    TRY_PTR(level->runs);
    return TCUDB_OK;
}

/* Keys of the group plus the aggregate's arguments. */
static tcudb_status distinct_level(Grouping *g, uint32_t a, Error *err)
{
    const KeySpec *spec = g->groups.spec;
    uint32_t n = spec->ncols + g->aggs[a].nargs;
    Type *types = ARENA_ARRAY(&g->x->arena, Type, n, err);
    TRY_PTR(types);
    ColInfo *infos = ARENA_ARRAY(&g->x->arena, ColInfo, n, err);
    TRY_PTR(infos);
    for (uint32_t i = 0; i < spec->ncols; i++) {
        types[i] = spec->cols[i].type;
        infos[i] = (ColInfo){
            .dict = spec->cols[i].form == KEY_CODE, .table = spec->cols[i].table, .column = spec->cols[i].column};
    }
    for (uint32_t i = 0; i < g->aggs[a].nargs; i++) types[spec->ncols + i] = g->aggs[a].args[i].type;
    KeySpec *with_args = ARENA_NEW(&g->x->arena, KeySpec, err);
    TRY_PTR(with_args);
    TRY(keys_spec(g->x, types, infos, n, true, with_args, err));
    g->distinct[a] = ARENA_NEW(&g->x->arena, Level, err);
    TRY_PTR(g->distinct[a]);
    TRY(level_init(g->x, g->distinct[a], with_args, 0, err));
    g->distinct[a]->in_order = agg_ordered(&g->aggs[a]);
    return TCUDB_OK;
}

static tcudb_status worker_table(Grouping *g, Level *level, Worker *w, KeyTable **out, Error *err)
{
    *out = &level->tables[w->id];
    if ((*out)->x != NULL) return TCUDB_OK;
    return keytable_init(g->x, level->spec, level->state_bytes, &w->own, *out, err);
}

/* ---- rows in ------------------------------------------------------------------------------------------- */

/* Whether the task's rows go into the run as they come. Settled once a task, from its own first rows: what is put out
 * must not depend on which worker has run which task before. */
static bool appends(Grouping *g, const Level *level, const Worker *w, const KeyTable *table, uint32_t n)
{
    TaskRows *t = &g->rows[w->id];
    if (level != &g->groups || g->side != UINT32_MAX) return false;
    if (!t->probed && t->seen >= PROBE_ROWS) {
        t->probed = true;
        t->appends = table->n > t->seen / 4 * 3;
    }
    t->seen += n;
    return t->appends;
}

/* Without keys all rows are of one group. */
static tcudb_status only_group(Grouping *g, Level *level, Worker *w, uint32_t n, KeyTable **table, uint32_t *group,
                               Error *err)
{
    TRY(worker_table(g, level, w, table, err));
    if ((*table)->n == 0 && n > 0) {
        uint64_t none = 0, hash;
        TRY(keys_encode(level->spec, worker_arena(w), NULL, NULL, 1, 1, &none, &hash, err));
        TRY(keytable_find(*table, &none, &hash, 1, group, err));
    }
    memset(group, 0, n * sizeof *group);
    return TCUDB_OK;
}

static tcudb_status find_groups(Grouping *g, Level *level, Worker *w, const Vector *cols, const uint16_t *sel,
                                uint32_t n, uint32_t rows, KeyTable **table, uint32_t *group, Error *err)
{
    Arena *arena = worker_arena(w);
    if (level->spec->ncols == 0) return only_group(g, level, w, n, table, group, err);
    uint64_t *keys = arena_alloc_raw(arena, ((size_t)n * level->spec->words + 1) * sizeof *keys, err);
    TRY_PTR(keys);
    uint64_t *hash = arena_alloc_raw(arena, ((size_t)n + 1) * sizeof *hash, err);
    TRY_PTR(hash);
    TRY(worker_table(g, level, w, table, err));
    TRY(keys_encode(level->spec, arena, cols, sel, n, rows, keys, hash, err));
    if (!appends(g, level, w, *table, n)) return keytable_find(*table, keys, hash, n, group, err);
    uint32_t first;
    TRY(keytable_append(*table, keys, hash, n, &first, err));
    for (uint32_t i = 0; i < n; i++) group[i] = first + i;
    return TCUDB_OK;
}

/* Rows of the batch that the aggregate takes: FILTER, and for DISTINCT no NULLs. */
static tcudb_status agg_rows(const AggSpec *agg, Worker *w, const Batch *batch, const uint32_t *group,
                             const uint16_t **sel, const uint32_t **group_out, uint32_t *n, Error *err)
{
    *sel = batch->sel;
    *group_out = group;
    *n = batch->n;
    if (!agg->has_filter) return TCUDB_OK;
    Arena *arena = worker_arena(w);
    uint16_t *rows = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *rows, err);
    TRY_PTR(rows);
    TRY(ev_filter(&agg->filter, w, batch, rows, n, err));
    *sel = rows;
    uint32_t *own = arena_alloc_raw(arena, (*n + 1) * sizeof *own, err);
    TRY_PTR(own);
    for (uint32_t i = 0, j = 0; i < *n; i++) { /* both ascend */
        while (batch_row(batch, j) != rows[i]) j++;
        own[i] = group[j];
    }
    *group_out = own;
    return TCUDB_OK;
}

static tcudb_status update_agg(Grouping *g, uint32_t a, Worker *w, const Batch *batch, const Vector *keys,
                               const KeyTable *table, const uint32_t *group, Error *err)
{
    const AggSpec *agg = &g->aggs[a];
    const uint16_t *sel;
    const uint32_t *rows_group;
    uint32_t n;
    Vector args[2];
    TRY(agg_rows(agg, w, batch, group, &sel, &rows_group, &n, err));
    if (n == 0) return TCUDB_OK;
    Batch part = *batch;
    part.sel = sel;
    part.n = n;
    for (uint32_t i = 0; i < agg->nargs; i++) TRY(ev_run(&agg->args[i], w, &part, &args[i], err));
    if (g->distinct[a] == NULL) {
        AggStates states = {table->rows + table->state_at, table->stride, rows_group, table->n};
        if (g->groups.spec->ncols == 0) states.group = NULL;
        return agg_update(agg, w, &states, args, sel, n, err);
    }
    uint32_t ncols = g->groups.spec->ncols;
    Vector *cols = ARENA_ARRAY(worker_arena(w), Vector, ncols + agg->nargs, err);
    TRY_PTR(cols);
    memcpy(cols, keys, ncols * sizeof *cols);
    memcpy(cols + ncols, args, agg->nargs * sizeof *cols);
    uint32_t *ignored = arena_alloc_raw(worker_arena(w), (n + 1) * sizeof *ignored, err);
    TRY_PTR(ignored);
    KeyTable *seen;
    return find_groups(g, g->distinct[a], w, cols, sel, n, batch->rows, &seen, ignored, err);
}

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Grouping *g = (Grouping *)stage;
    Arena *arena = worker_arena(w);
    uint32_t nkeys = g->groups.spec->ncols;
    Vector *cols = ARENA_ARRAY(arena, Vector, nkeys + 1, err);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < nkeys; i++) TRY(ev_run(&g->keys[i], w, batch, &cols[i], err));
    uint32_t *group = arena_alloc_raw(arena, (batch->n + 1) * sizeof *group, err);
    TRY_PTR(group);
    KeyTable *table;
    TRY(find_groups(g, &g->groups, w, cols, batch->sel, batch->n, batch->rows, &table, group, err));
    if (g->side != UINT32_MAX) {
        AggStates states = {table->rows + table->state_at, table->stride, group, table->n};
        return agg_update(&g->aggs[g->side], w, &states, NULL, batch->sel, batch->n, err);
    }
    for (uint32_t a = 0; a < g->naggs; a++)
        if (g->phases == NULL || g->phases[a] == g->phase) TRY(update_agg(g, a, w, batch, cols, table, group, err));
    return TCUDB_OK;
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

static uint32_t part_of(const Level *level, const char *rows, uint32_t row)
{
    uint64_t hash;
    memcpy(&hash, rows + (size_t)row * level->stride, sizeof hash);
    return (uint32_t)(hash >> 32) % PARTS;
}

/* A run may have many millions of rows, and each may be the first in a huge page, which the system clears. */
static inline tcudb_status poll_row(const Grouping *g, Error *err)
{
    return cancel_seen(g->x->env->cancel) ? exec_check_cancel(g->x, err) : TCUDB_OK;
}

static tcudb_status order_rows(Grouping *g, const Level *level, Run *run, Error *err)
{
    uint32_t at[PARTS];
    run->order = exec_alloc(g->x, (run->n + 1) * sizeof *run->order, err);
    TRY_PTR(run->order);
    memcpy(at, run->start, sizeof at);
    for (uint32_t r = 0; r < run->n; r++) {
        TRY(poll_row(g, err));
        run->order[at[part_of(level, run->rows, r)]++] = r;
    }
    return TCUDB_OK;
}

/* A row is a few words: a call would take longer. */
static inline void copy_words(char *to, const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from + at, sizeof word);
        memcpy(to + at, &word, sizeof word);
    }
}

/* Brings the rows into the order of their partitions while they are in cache: merging then reads one after the other.
 */
static tcudb_status scatter_rows(Grouping *g, const Level *level, Run *run, Error *err)
{
    uint32_t at[PARTS];
    char *rows = exec_alloc(g->x, (size_t)run->n * level->stride + 8, err);
    TRY_PTR(rows);
    memcpy(at, run->start, sizeof at);
    for (uint32_t r = 0; r < run->n; r++) {
        TRY(poll_row(g, err));
        const char *row = run->rows + (size_t)r * level->stride;
        copy_words(rows + (size_t)at[part_of(level, run->rows, r)]++ * level->stride, row, level->stride);
    }
    run->rows = rows;
    return TCUDB_OK;
}

static tcudb_status end_run(Grouping *g, Level *level, Worker *w, Error *err)
{
    KeyTable *table = &level->tables[w->id];
    uint32_t n = table->n;
    if (n == 0) return TCUDB_OK;
    Run *run = ARENA_NEW(&w->own, Run, err);
    TRY_PTR(run);
    run->task = w->task;
    run->n = n;
    run->rows = table->rows;
    for (uint32_t r = 0; r < n; r++) {
        TRY(poll_row(g, err));
        run->start[part_of(level, run->rows, r) + 1]++;
    }
    for (uint32_t p = 0; p < PARTS; p++) run->start[p + 1] += run->start[p];
    bool scatter = n >= SCATTER_ROWS && !level->in_order; /* then the table keeps its memory for the next task */
    TRY(scatter ? scatter_rows(g, level, run, err) : order_rows(g, level, run, err));
    if (scatter)
        keytable_clear(table);
    else
        keytable_take_rows(table);
    run->next = level->runs[w->id];
    level->runs[w->id] = run;
    return TCUDB_OK;
}

static tcudb_status task_end(Stage *stage, Worker *w, Error *err)
{
    Grouping *g = (Grouping *)stage;
    g->rows[w->id] = (TaskRows){0};
    TRY(end_run(g, &g->groups, w, err));
    for (uint32_t a = 0; a < g->naggs; a++)
        if (g->distinct[a] != NULL) TRY(end_run(g, g->distinct[a], w, err));
    return TCUDB_OK;
}

/* ---- merging --------------------------------------------------------------------------------------------- */

typedef struct Merge {
    Grouping *g;
    Level *level;
    Run **runs;
    uint64_t nruns;
    bool whole;    /* one partition of everything */
    KeyTable *out; /* by partition */
} Merge;

static int by_task(const void *a, const void *b)
{
    const Run *x = *(Run *const *)a, *y = *(Run *const *)b;
    return (x->task > y->task) - (x->task < y->task);
}

static tcudb_status collect_runs(Grouping *g, Level *level, Merge *m, uint64_t *rows, Error *err)
{
    uint64_t n = 0;
    for (uint32_t w = 0; w < g->x->nworkers; w++)
        for (Run *r = level->runs[w]; r != NULL; r = r->next) n++;
    m->runs = exec_alloc(g->x, (n + 1) * sizeof *m->runs, err);
    TRY_PTR(m->runs);
    *rows = 0;
    for (uint32_t w = 0; w < g->x->nworkers; w++)
        for (Run *r = level->runs[w]; r != NULL; r = r->next) {
            m->runs[m->nruns++] = r;
            *rows += r->n;
        }
    qsort(m->runs, m->nruns, sizeof *m->runs, by_task);
    return TCUDB_OK;
}

static tcudb_status merge_row(Merge *m, KeyTable *t, Worker *w, const char *row, Error *err)
{
    uint64_t hash;
    uint32_t at;
    bool found;
    memcpy(&hash, row, sizeof hash);
    TRY(keytable_add(t, (const uint64_t *)(const void *)(row + 8), hash, &at, &found, err));
    char *state = keytable_state(t, at);
    const char *from = row + m->level->state_at;
    if (m->level->state_bytes == 0) return TCUDB_OK;
    if (!found) {
        copy_words(state, from, m->level->state_bytes);
        return TCUDB_OK;
    }
    for (uint32_t a = 0; a < m->g->naggs; a++) {
        const AggSpec *agg = &m->g->aggs[a];
        if (m->g->distinct[a] == NULL) TRY(agg_combine(agg, w, state + agg->offset, from + agg->offset, err));
    }
    return TCUDB_OK;
}

/* The rows of a run that belong to a partition: run_row(k) for k in [from, to). */
typedef struct RunPart {
    const Run *run;
    uint32_t from, to;
} RunPart;

static RunPart run_part(const Merge *m, uint64_t i, uint64_t part)
{
    const Run *run = m->runs[i];
    return (RunPart){run, m->whole ? 0 : run->start[part], m->whole ? run->n : run->start[part + 1]};
}

static inline const char *run_row(const Merge *m, const RunPart *p, uint32_t k)
{
    return p->run->rows + (size_t)(m->whole || p->run->order == NULL ? k : p->run->order[k]) * m->level->stride;
}

/* Rows and the slots they will ask for are fetched some rows ahead: each is a cache miss. */
static inline void fetch_ahead(const Merge *m, const KeyTable *t, const RunPart *p, uint32_t k)
{
    enum { ROW_AHEAD = 24, SLOT_AHEAD = 12 };
    if (p->to - k > ROW_AHEAD) __builtin_prefetch(run_row(m, p, k + ROW_AHEAD));
    if (p->to - k <= SLOT_AHEAD) return;
    uint64_t hash;
    memcpy(&hash, run_row(m, p, k + SLOT_AHEAD), sizeof hash);
    keytable_prefetch(t, hash);
}

/* Room for the distinct rows of a partition: by the optimizer's estimate, which may be far too high, between what its
 * largest run has and some times that. */
static uint32_t expected_rows(const Merge *m, uint64_t part)
{
    uint64_t all = 0, largest = 0;
    for (uint64_t i = 0; i < m->nruns; i++) {
        RunPart p = run_part(m, i, part);
        all += p.to - p.from;
        if (p.to - p.from > largest) largest = p.to - p.from;
    }
    double estimate = m->g->node->plan->rows / (m->whole ? 1 : PARTS) * 1.1;
    uint64_t most = all < 4 * largest ? all : 4 * largest;
    uint64_t rows = estimate > (double)most ? most : estimate > (double)largest ? (uint64_t)estimate : largest;
    return rows < ROWS_NONE ? (uint32_t)rows : ROWS_NONE - 1;
}

static tcudb_status merge_part(void *ctx, Worker *w, uint64_t part, Error *err)
{
    Merge *m = ctx;
    KeyTable *t = &m->out[part];
    TRY(keytable_reserve(t, expected_rows(m, part), err));
    for (uint64_t i = 0; i < m->nruns; i++) {
        RunPart p = run_part(m, i, part);
        for (uint32_t k = p.from; k < p.to; k++) {
            if ((k & 0xfff) == 0) TRY(exec_check_cancel(m->g->x, err));
            fetch_ahead(m, t, &p, k);
            TRY(merge_row(m, t, w, run_row(m, &p, k), err));
        }
    }
    return TCUDB_OK;
}

static void free_runs(Grouping *g, Merge *m)
{
    for (uint64_t i = 0; i < m->nruns; i++) {
        exec_free(g->x, m->runs[i]->rows);
        exec_free(g->x, m->runs[i]->order);
    }
    exec_free(g->x, m->runs);
}

/* Merges a level's runs; the tables out->[0..*nparts-1] then hold the distinct rows. */
static tcudb_status merge_level(Grouping *g, Level *level, KeyTable **out, uint32_t *nparts, Error *err)
{
    uint64_t rows;
    Merge m = {.g = g, .level = level};
    TRY(collect_runs(g, level, &m, &rows, err));
    m.whole = rows < PARALLEL_ROWS || level->in_order;
    *nparts = m.whole ? 1 : PARTS;
    m.out = ARENA_ARRAY(&g->x->arena, KeyTable, *nparts, err);
    TRY_PTR(m.out);
    for (uint32_t p = 0; p < *nparts; p++)
        TRY(keytable_init(g->x, level->spec, level->state_bytes, NULL, &m.out[p], err));
    if (m.whole)
        TRY(merge_part(&m, &g->x->workers[0], 0, err));
    else
        TRY(exec_parallel(g->x, g->node, PARTS, merge_part, &m, err));
    free_runs(g, &m);
    for (uint32_t w = 0; w < g->x->nworkers; w++) keytable_free(&level->tables[w]);
    *out = m.out;
    return TCUDB_OK;
}

/* ---- DISTINCT arguments -------------------------------------------------------------------------------- */

static tcudb_status add_distinct_rows(Grouping *g, uint32_t a, const KeyTable *seen, uint32_t at, uint32_t n,
                                      KeyTable *groups, uint32_t nparts, Error *err)
{
    Worker *w = &g->x->workers[0];
    const KeySpec *spec = g->distinct[a]->spec;
    uint32_t nkeys = g->groups.spec->ncols, words = g->groups.spec->words;
    Vector *cols = ARENA_ARRAY(&w->batch, Vector, spec->ncols, err);
    TRY_PTR(cols);
    const char *rows = keytable_row(seen, at) + 8;
    for (uint32_t c = 0; c < spec->ncols; c++)
        TRY(keys_decode(spec, c, rows, seen->stride, n, &w->batch, &cols[c], err));
    uint64_t *keys = arena_alloc_raw(&w->batch, ((size_t)n * words + 1) * sizeof *keys, err);
    TRY_PTR(keys);
    uint64_t *hash = arena_alloc_raw(&w->batch, n * sizeof *hash, err);
    TRY_PTR(hash);
    TRY(keys_encode(g->groups.spec, &w->batch, cols, NULL, n, n, keys, hash, err));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t part = nparts == 1 ? 0 : (uint32_t)(hash[i] >> 32) % PARTS, group;
        bool found;
        uint16_t row = (uint16_t)i;
        TRY(keytable_add(&groups[part], keys + (size_t)i * words, hash[i], &group, &found, err));
        assert(found);
        AggStates states = {.base = keytable_state(&groups[part], group)};
        TRY(agg_update(&g->aggs[a], w, &states, cols + nkeys, &row, 1, err));
    }
    return TCUDB_OK;
}

static tcudb_status add_distinct(Grouping *g, uint32_t a, KeyTable *groups, uint32_t nparts, Error *err)
{
    KeyTable *seen;
    uint32_t nseen;
    TRY(merge_level(g, g->distinct[a], &seen, &nseen, err));
    for (uint32_t p = 0; p < nseen; p++) {
        for (uint32_t at = 0; at < seen[p].n; at += BATCH_ROWS) {
            uint32_t n = seen[p].n - at < BATCH_ROWS ? seen[p].n - at : BATCH_ROWS;
            TRY(exec_check_cancel(g->x, err));
            arena_reset(&g->x->workers[0].batch);
            TRY(add_distinct_rows(g, a, &seen[p], at, n, groups, nparts, err));
        }
        keytable_free(&seen[p]);
    }
    return TCUDB_OK;
}

/* ---- interface --------------------------------------------------------------------------------------------- */

tcudb_status grouping_new(Exec *x, PhysNode *node, const KeySpec *spec, const Ev *keys, AggSpec *aggs, uint32_t naggs,
                          Grouping **out, Error *err)
{
    Grouping *g = ARENA_NEW(&x->arena, Grouping, err);
    TRY_PTR(g);
    *g = (Grouping){.x = x, .node = node, .keys = keys, .aggs = aggs, .naggs = naggs, .side = UINT32_MAX};
    g->stage.push = push;
    g->stage.task_end = task_end;
    uint32_t bytes = 0;
    for (uint32_t a = 0; a < naggs; a++) {
        aggs[a].offset = bytes;
        bytes += aggs[a].size;
    }
    TRY(level_init(x, &g->groups, spec, bytes, err));
    g->rows = ARENA_ARRAY(&x->arena, TaskRows, x->nworkers, err);
    TRY_PTR(g->rows);
    g->distinct = ARENA_ARRAY(&x->arena, Level *, naggs + 1, err);
    TRY_PTR(g->distinct);
    for (uint32_t a = 0; a < naggs; a++)
        if (aggs[a].distinct) TRY(distinct_level(g, a, err));
    *out = g;
    return TCUDB_OK;
}

Stage *grouping_stage(Grouping *g)
{
    return &g->stage;
}

void grouping_set_phase(Grouping *g, const uint32_t *phases, uint32_t phase)
{
    g->phases = phases;
    g->phase = phase;
}

void grouping_set_side(Grouping *g, uint32_t side)
{
    g->side = side;
}

uint32_t grouping_stride(const Grouping *g)
{
    return g->groups.stride;
}

uint32_t grouping_state_at(const Grouping *g)
{
    return g->groups.state_at;
}

tcudb_status grouping_finish(Grouping *g, Groups *out, Error *err)
{
    KeyTable *tables;
    uint32_t nparts;
    TRY(merge_level(g, &g->groups, &tables, &nparts, err));
    for (uint32_t a = 0; a < g->naggs; a++)
        if (g->distinct[a] != NULL) TRY(add_distinct(g, a, tables, nparts, err));
    *out = (Groups){.nparts = nparts};
    out->parts = ARENA_ARRAY(&g->x->arena, struct GroupPart, nparts, err);
    TRY_PTR(out->parts);
    for (uint32_t p = 0; p < nparts; p++) {
        out->parts[p] = (struct GroupPart){tables[p].rows, tables[p].n};
        out->n += tables[p].n;
        exec_free(g->x, tables[p].slots);
        if (g->node != NULL) atomic_fetch_add(&g->node->stats.bytes, (uint64_t)tables[p].n * g->groups.stride);
    }
    return TCUDB_OK;
}
