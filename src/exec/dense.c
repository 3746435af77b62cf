/*
 * dense.c: grouping by an array: no hashing, no comparing.
 *
 *     entry = (key0 - min0) * width1 * ... + (key1 - min1) * ... ;  a NULL key takes the last value of its width
 *
 * Used when every key is an integer with exact bounds or a code of a known dictionary and the product of the
 * widths is small, or no larger than the input. Each worker has an array of states; they are added up at the end. Only
 * aggregates whose result does not depend on the order of rows are taken. Cost: a multiply-add per key and row, and one
 * state update per aggregate and row. Memory: workers x product x state bytes.
 */
#include "exec/dense.h"

#include <assert.h>
#include <stdio.h>

enum { MAX_ENTRIES = 1 << 26, PART = 1 << 14 };
enum { SMALL_ENTRIES = 1 << 20, SMALL_BYTES = 16 << 20 }; /* a worker */
static const double MAX_BYTES = 512 << 20;                /* all workers */

typedef struct DenseKey {
    Ev ev;
    Type type;
    uint8_t phys;
    int64_t min;
    uint32_t width; /* values, and one for NULL */
    bool codes;
    const Table *table;
    uint32_t column;
    DictView view;
} DenseKey;

typedef struct WorkerArray {
    uint8_t *seen;
    char *states;
} WorkerArray;

struct Dense {
    Stage stage;
    Exec *x;
    PhysNode *node;
    DenseKey *keys;
    uint32_t nkeys;
    AggSpec *aggs;
    uint32_t naggs;
    uint32_t entries;
    size_t stride;
    WorkerArray *arrays; /* by worker */
    uint32_t *groups;    /* entries with rows */
    uint32_t ngroups;
    Stage *down;
};

/* ---- whether ------------------------------------------------------------------------------------------ */

static tcudb_status dense_key(Exec *x, const NamedExpr *group, const Layout *in, DenseKey *key, bool *ok, Error *err)
{
    ColInfo info = phys_expr_info(x->phys->info, x->phys->ninfo, group->expr);
    *key = (DenseKey){.type = group->col.type, .phys = (uint8_t)type_phys(group->col.type)};
    *ok = false;
    if (key->phys == PHYS_STR && info.dict) {
        TRY(table_dict(info.table, info.column, x->env->cancel, &key->view, err));
        if (key->view.count >= MAX_ENTRIES) return TCUDB_OK;
        key->codes = true;
        key->table = info.table;
        key->column = info.column;
        key->width = key->view.count + 1;
    } else if (key->phys <= PHYS_I64 && (info.has_bounds || key->phys == PHYS_BOOL)) {
        if (key->phys == PHYS_BOOL) info.min = 0, info.max = 1;
        uint64_t span = (uint64_t)info.max - (uint64_t)info.min;
        if (span >= MAX_ENTRIES) return TCUDB_OK;
        key->min = info.min;
        key->width = (uint32_t)span + 2;
    } else {
        return TCUDB_OK;
    }
    *ok = true;
    return ev_new(x, group->expr, in, &key->ev, err);
}

static bool aggs_fit(const AggSpec *aggs, uint32_t naggs)
{
    for (uint32_t a = 0; a < naggs; a++)
        if (aggs[a].distinct || agg_ordered(&aggs[a])) return false;
    return true;
}

/* An array much larger than the input costs more to clear and read than hashing; one that leaves the caches, unless
 * there is a row for each entry. */
static bool worth_it(const Dense *d, uint64_t entries)
{
    const double tiny = 8192, per_row = 4;
    double rows = d->node->plan->inputs[0]->rows;
    if (entries > MAX_ENTRIES) return false;
    bool small = entries <= SMALL_ENTRIES && entries * d->stride <= SMALL_BYTES;
    if (small) return (double)entries <= tiny || rows < 0 || (double)entries <= rows * per_row;
    return (double)entries <= rows && (double)entries * (double)(d->stride + 1) * d->x->nworkers <= MAX_BYTES;
}

tcudb_status dense_new(Exec *x, PhysNode *node, const Layout *in, AggSpec *aggs, uint32_t naggs, Dense **out,
                       Error *err)
{
    const Plan *plan = node->plan;
    *out = NULL;
    if (!aggs_fit(aggs, naggs)) return TCUDB_OK;
    Dense *d = ARENA_NEW(&x->arena, Dense, err);
    TRY_PTR(d);
    *d = (Dense){.x = x, .node = node, .nkeys = plan->agg.ngroups, .aggs = aggs, .naggs = naggs};
    d->keys = ARENA_ARRAY(&x->arena, DenseKey, d->nkeys + 1, err);
    TRY_PTR(d->keys);
    for (uint32_t a = 0; a < naggs; a++) {
        aggs[a].offset = (uint32_t)d->stride;
        d->stride += aggs[a].size;
    }
    uint64_t entries = 1;
    for (uint32_t k = 0; k < d->nkeys; k++) {
        bool ok;
        TRY(dense_key(x, &plan->agg.groups[k], in, &d->keys[k], &ok, err));
        if (!ok || entries > MAX_ENTRIES) return TCUDB_OK;
        entries *= d->keys[k].width;
    }
    if (!worth_it(d, entries)) return TCUDB_OK;
    d->entries = (uint32_t)entries;
    d->arrays = ARENA_ARRAY(&x->arena, WorkerArray, x->nworkers, err);
    TRY_PTR(d->arrays);
    exec_note(node, "array of %u groups", d->entries);
    *out = d;
    return TCUDB_OK;
}

/* ---- rows in ------------------------------------------------------------------------------------------- */

#define ADD_KEY(T)                                                                                                     \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint64_t at = (uint64_t)(int64_t)data[sel_row(sel, i)] - min;                                              \
            wrong |= at >= limit;                                                                                      \
            entry[i] = entry[i] * width + (uint32_t)at;                                                                \
        }                                                                                                              \
    } while (0)

#define ADD_KEY_OR_NULL(T)                                                                                             \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint32_t row = sel_row(sel, i);                                                                            \
            uint64_t at = bit_get(v->valid, row) ? (uint64_t)(int64_t)data[row] - min : limit;                         \
            wrong |= at > limit;                                                                                       \
            entry[i] = entry[i] * width + (uint32_t)at;                                                                \
        }                                                                                                              \
    } while (0)

/* entry = entry * width + key; the last value of the width stands for NULL. */
static tcudb_status add_const_key(const DenseKey *key, Worker *w, const Vector *v, uint32_t n, uint32_t *entry,
                                  Error *err)
{
    Vector flat;
    TRY(vec_flatten(worker_arena(w), v, NULL, 1, 1, &flat, err));
    uint64_t at = key->width - 1;
    if (!vec_is_null(&flat, 0)) {
        int64_t value = 0;
        const uint32_t *codes = NULL;
        if (key->codes)
            TRY(vec_codes(worker_arena(w), &flat, key->table, key->column, &key->view, NULL, 1, 1, &codes, err));
        switch (key->codes ? (Phys)PHYS_STR : (Phys)key->phys) {
        case PHYS_STR:
            assert(codes != NULL);
            value = codes[0];
            break;
        case PHYS_BOOL: value = *(const uint8_t *)flat.data; break;
        case PHYS_I16: value = *(const int16_t *)flat.data; break;
        case PHYS_I32: value = *(const int32_t *)flat.data; break;
        default: value = *(const int64_t *)flat.data; break;
        }
        at = (uint64_t)value - (uint64_t)key->min;
        if (at >= key->width - 1)
            return error_set(err, SQLSTATE_INTERNAL_ERROR, "a group key lies outside its column's bounds");
    }
    uint32_t width = key->width, add = (uint32_t)at;
    for (uint32_t i = 0; i < n; i++) entry[i] = entry[i] * width + add;
    return TCUDB_OK;
}

static tcudb_status add_key(const DenseKey *key, const Vector *v, uint8_t phys, const uint16_t *sel, uint32_t n,
                            uint32_t *entry, Error *err)
{
    uint64_t min = (uint64_t)key->min, limit = key->width - 1;
    uint32_t width = key->width;
    bool wrong = false;
    if (v->valid == NULL) {
        switch (phys) {
        case PHYS_BOOL: ADD_KEY(uint8_t); break;
        case PHYS_I16: ADD_KEY(int16_t); break;
        case PHYS_I32: ADD_KEY(int32_t); break;
        default: ADD_KEY(int64_t); break;
        }
    } else {
        switch (phys) {
        case PHYS_BOOL: ADD_KEY_OR_NULL(uint8_t); break;
        case PHYS_I16: ADD_KEY_OR_NULL(int16_t); break;
        case PHYS_I32: ADD_KEY_OR_NULL(int32_t); break;
        default: ADD_KEY_OR_NULL(int64_t); break;
        }
    }
    if (wrong) return error_set(err, SQLSTATE_INTERNAL_ERROR, "a group key lies outside its column's bounds");
    return TCUDB_OK;
}

/* The key as a flat vector of integers: codes for text. */
static tcudb_status key_values(const DenseKey *key, Worker *w, const Batch *batch, Vector *v, uint8_t *phys, Error *err)
{
    Arena *arena = worker_arena(w);
    *phys = key->codes ? (uint8_t)PHYS_I32 : key->phys;
    if (key->codes) {
        const uint32_t *codes;
        TRY(vec_codes(arena, v, key->table, key->column, &key->view, batch->sel, batch->n, batch->rows, &codes, err));
        v->data = (void *)(uintptr_t)codes;
        return TCUDB_OK;
    }
    assert(v->form == VEC_FLAT);
    return TCUDB_OK;
}

static tcudb_status worker_array(Dense *d, Worker *w, WorkerArray **out, Error *err)
{
    WorkerArray *array = &d->arrays[w->id];
    *out = array;
    if (array->seen != NULL) return TCUDB_OK;
    array->states = exec_alloc_zero(d->x, (size_t)d->entries * d->stride + 64, err);
    TRY_PTR(array->states);
    array->seen = exec_alloc_zero(d->x, d->entries, err);
    TRY_PTR(array->seen);
    return TCUDB_OK;
}

static tcudb_status update(Dense *d, Worker *w, const Batch *batch, const AggSpec *agg, WorkerArray *array,
                           const uint32_t *entry, Error *err)
{
    Arena *arena = worker_arena(w);
    Batch part = *batch;
    Vector args[2];
    if (agg->has_filter) {
        uint16_t *sel = arena_alloc_raw(arena, (BATCH_ROWS + 16) * sizeof *sel, err);
        TRY_PTR(sel);
        TRY(ev_filter(&agg->filter, w, batch, sel, &part.n, err));
        part.sel = sel;
        if (part.n == 0) return TCUDB_OK;
        uint32_t *own = arena_alloc_raw(arena, (part.n + 1) * sizeof *own, err);
        TRY_PTR(own);
        for (uint32_t i = 0, j = 0; i < part.n && entry != NULL; i++) { /* both ascend */
            while (batch_row(batch, j) != sel[i]) j++;
            own[i] = entry[j];
        }
        entry = entry == NULL ? NULL : own;
    }
    for (uint32_t i = 0; i < agg->nargs; i++) TRY(ev_run(&agg->args[i], w, &part, &args[i], err));
    AggStates states = {array->states, d->stride, entry, d->entries};
    return agg_update(agg, w, &states, args, part.sel, part.n, err);
}

static void mark_seen(uint8_t *restrict seen, const uint32_t *restrict entry, uint32_t n)
{
    if (entry == NULL) {
        seen[0] = 1;
        return;
    }
    for (uint32_t i = 0; i < n; i++) seen[entry[i]] = 1;
}

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Dense *d = (Dense *)stage;
    WorkerArray *array;
    uint32_t *entry = NULL;
    TRY(worker_array(d, w, &array, err));
    if (d->nkeys > 0) {
        entry = arena_alloc(worker_arena(w), (batch->n + 1) * sizeof *entry, err);
        TRY_PTR(entry);
    }
    for (uint32_t k = 0; k < d->nkeys; k++) {
        Vector v;
        uint8_t phys;
        TRY(ev_run(&d->keys[k].ev, w, batch, &v, err));
        if (v.form == VEC_CONST) {
            TRY(add_const_key(&d->keys[k], w, &v, batch->n, entry, err));
            continue;
        }
        TRY(key_values(&d->keys[k], w, batch, &v, &phys, err));
        TRY(add_key(&d->keys[k], &v, phys, batch->sel, batch->n, entry, err));
    }
    mark_seen(array->seen, entry, batch->n);
    for (uint32_t a = 0; a < d->naggs; a++) TRY(update(d, w, batch, &d->aggs[a], array, entry, err));
    return TCUDB_OK;
}

static tcudb_status task_end(Stage *stage, Worker *w, Error *err)
{
    (void)stage;
    (void)w;
    (void)err;
    return TCUDB_OK;
}

Stage *dense_stage(Dense *d)
{
    d->stage.push = push;
    d->stage.task_end = task_end;
    return &d->stage;
}

/* ---- merging -------------------------------------------------------------------------------------------- */

static WorkerArray *first_array(Dense *d)
{
    for (uint32_t w = 0; w < d->x->nworkers; w++)
        if (d->arrays[w].seen != NULL) return &d->arrays[w];
    return NULL;
}

static tcudb_status merge_part(void *ctx, Worker *w, uint64_t part, Error *err)
{
    Dense *d = ctx;
    WorkerArray *into = first_array(d);
    uint64_t end = (part + 1) * PART < d->entries ? (part + 1) * PART : d->entries;
    for (WorkerArray *from = into + 1; from < d->arrays + d->x->nworkers; from++) {
        if (from->seen == NULL) continue;
        for (uint64_t e = part * PART; e < end; e++) {
            if (!from->seen[e]) continue;
            into->seen[e] = 1;
            for (uint32_t a = 0; a < d->naggs; a++) {
                size_t at = e * d->stride + d->aggs[a].offset;
                TRY(agg_combine(&d->aggs[a], w, into->states + at, from->states + at, err));
            }
        }
        TRY(exec_check_cancel(d->x, err));
    }
    return TCUDB_OK;
}

static tcudb_status list_groups(Dense *d, Error *err)
{
    WorkerArray *all = first_array(d);
    d->groups = exec_alloc(d->x, ((size_t)d->entries + 1) * sizeof *d->groups, err);
    TRY_PTR(d->groups);
    uint32_t n = 0;
    for (uint32_t e = 0; e < d->entries; e++) {
        d->groups[n] = e;
        n += all->seen[e];
    }
    d->ngroups = n;
    return TCUDB_OK;
}

/* ---- results -------------------------------------------------------------------------------------------- */

static tcudb_status key_column(const Dense *d, uint32_t k, const uint32_t *groups, uint32_t n, Arena *arena,
                               Vector *out, Error *err)
{
    const DenseKey *key = &d->keys[k];
    uint32_t below = 1;
    for (uint32_t i = k + 1; i < d->nkeys; i++) below *= d->keys[i].width;
    *out = (Vector){.type = key->type, .phys = key->phys, .form = VEC_FLAT};
    out->data = arena_alloc(arena, phys_size((Phys)key->phys) * n + 64, err);
    TRY_PTR(out->data);
    if (key->codes) {
        out->form = VEC_DICT;
        out->values = key->view.values;
        out->nvalues = key->view.count;
        out->dict_id = key->view.id;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = groups[i] / below % key->width;
        if (at == key->width - 1) {
            TRY(vec_need_valid(arena, out, n, err));
            bit_clear(out->valid, i);
            continue;
        }
        int64_t value = (int64_t)((uint64_t)key->min + at);
        switch (key->codes ? (Phys)PHYS_I32 : (Phys)key->phys) {
        case PHYS_BOOL: ((uint8_t *)out->data)[i] = (uint8_t)value; break;
        case PHYS_I16: ((int16_t *)out->data)[i] = (int16_t)value; break;
        case PHYS_I32: ((int32_t *)out->data)[i] = (int32_t)value; break;
        default: ((int64_t *)out->data)[i] = value; break;
        }
    }
    return TCUDB_OK;
}

static tcudb_status output_batch(Dense *d, Worker *w, const uint32_t *groups, uint32_t n, Error *err)
{
    const Plan *plan = d->node->plan;
    Arena *arena = worker_arena(w);
    const WorkerArray *all = first_array(d);
    Batch batch = {.rows = n, .n = n, .ncols = plan->ncols};
    batch.cols = ARENA_ARRAY(arena, Vector, plan->ncols + 1, err);
    TRY_PTR(batch.cols);
    char *states = arena_alloc_raw(arena, n * d->stride + 64, err);
    TRY_PTR(states);
    for (uint32_t i = 0; i < n; i++)
        memcpy(states + i * d->stride, all->states + (size_t)groups[i] * d->stride, d->stride);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (i < d->nkeys)
            TRY(key_column(d, i, groups, n, arena, &batch.cols[i], err));
        else
            TRY(agg_final(&d->aggs[i - d->nkeys], w, states, d->stride, n, &batch.cols[i], err));
        batch.cols[i].type = plan->cols[i].type;
    }
    return stage_push(d->down, w, &batch, err);
}

enum { OUT_TASK = 8 * BATCH_ROWS };

static tcudb_status output_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Dense *d = ctx;
    uint64_t end = (task + 1) * OUT_TASK < d->ngroups ? (task + 1) * OUT_TASK : d->ngroups;
    for (uint64_t at = task * OUT_TASK; at < end && !stage_stopped(d->down); at += BATCH_ROWS) {
        arena_reset(&w->batch);
        TRY(output_batch(d, w, d->groups + at, end - at < BATCH_ROWS ? (uint32_t)(end - at) : BATCH_ROWS, err));
    }
    return TCUDB_OK;
}

tcudb_status dense_output(Dense *d, Stage *down, Error *err)
{
    Exec *x = d->x;
    WorkerArray *all;
    d->down = down;
    if (first_array(d) == NULL) TRY(worker_array(d, &x->workers[0], &all, err));
    if (d->nkeys == 0) first_array(d)->seen[0] = 1; /* no rows: still one row of results */
    uint64_t parts = (d->entries + PART - 1) / PART;
    if (parts == 1)
        TRY(merge_part(d, &x->workers[0], 0, err));
    else
        TRY(exec_parallel(x, d->node, parts, merge_part, d, err));
    TRY(list_groups(d, err));
    TRY(exec_source(x, d->node, down, (d->ngroups + OUT_TASK - 1) / OUT_TASK, output_task, d, err));
    for (uint32_t w = 0; w < x->nworkers; w++) {
        exec_free(x, d->arrays[w].seen);
        exec_free(x, d->arrays[w].states);
    }
    exec_free(x, d->groups);
    return TCUDB_OK;
}
