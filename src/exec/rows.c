/*
 * rows.c: rows kept in memory: build sides, sorted inputs, CTEs, subquery results.
 *
 * Workers append what is pushed to chunks of their own (one allocation each, all columns in it); a chunk
 * belongs to one task. When the input ends the chunks are ordered by task and copied, in parallel, into
 * one array a column, so a row is an index and gathering is one load. Text columns that come from a
 * table's dictionary are kept as codes; other text is copied into the worker's arena.
 * Cost: one copy in, one copy out. Limit: 2^32 - 2 rows.
 */
#include "exec/exec_int.h"

#include <assert.h>
#include <stdlib.h>

enum { CHUNK_FIRST = 64, CHUNK_ROWS = 16384 };

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *next; /* of the same worker, in order */
    uint64_t task;
    uint64_t offset; /* of its first row among all rows; known at the end */
    uint32_t n, cap;
    bool *has_null; /* by column */
    void **data;
    uint64_t **valid;
};

typedef struct WorkerChunks {
    Chunk *first, *last;
    char pad[48];
} WorkerChunks;

struct Collector {
    Stage stage;
    Exec *x;
    uint32_t ncols;
    RowsCol *cols; /* types only */
    WorkerChunks *workers;
};

/* ---- collecting ---------------------------------------------------------------------------------- */

static size_t round64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static tcudb_status new_chunk(Collector *c, uint32_t cap, Chunk **out, Error *err)
{
    size_t head = round64(sizeof(Chunk) + c->ncols * (sizeof(void *) * 2 + sizeof(bool)));
    size_t size = head;
    for (uint32_t i = 0; i < c->ncols; i++)
        size += round64((size_t)cap * c->cols[i].size) + round64(bit_words(cap) * sizeof(uint64_t));
    char *block = exec_alloc(c->x, size, err);
    TRY_PTR(block);
    memset(block, 0, head);
    Chunk *chunk = (Chunk *)block;
    chunk->cap = cap;
    chunk->data = (void **)(chunk + 1);
    chunk->valid = (uint64_t **)(chunk->data + c->ncols);
    chunk->has_null = (bool *)(chunk->valid + c->ncols);
    char *at = block + head;
    for (uint32_t i = 0; i < c->ncols; i++) {
        chunk->data[i] = at;
        at += round64((size_t)cap * c->cols[i].size);
        chunk->valid[i] = (uint64_t *)(void *)at;
        at += round64(bit_words(cap) * sizeof(uint64_t));
    }
    *out = chunk;
    return TCUDB_OK;
}

static tcudb_status chunk_for(Collector *c, Worker *w, uint32_t wanted, Chunk **out, Error *err)
{
    WorkerChunks *list = &c->workers[w->id];
    Chunk *last = list->last;
    if (last == NULL || last->task != w->task || last->n == last->cap) {
        uint32_t cap = wanted < CHUNK_FIRST ? CHUNK_FIRST : wanted;
        if (last != NULL && last->task == w->task) cap = last->cap * 2 > CHUNK_ROWS ? CHUNK_ROWS : last->cap * 2;
        TRY(new_chunk(c, cap, &last, err));
        last->task = w->task;
        if (list->last == NULL)
            list->first = last;
        else
            list->last->next = last;
        list->last = last;
    }
    *out = last;
    return TCUDB_OK;
}

#define COPY_ROWS(T)                                                                                                   \
    do {                                                                                                               \
        T *to = (T *)data + at;                                                                                        \
        const T *from = v->data;                                                                                       \
        if (v->form == VEC_CONST)                                                                                      \
            for (uint32_t i = 0; i < n; i++) to[i] = from[0];                                                          \
        else if (sel == NULL)                                                                                          \
            memcpy(to, from + first, n * sizeof *to);                                                                  \
        else                                                                                                           \
            for (uint32_t i = 0; i < n; i++) to[i] = from[sel[i]];                                                     \
    } while (0)

static void copy_fixed(void *data, uint32_t at, const Vector *v, uint32_t size, const uint16_t *sel, uint32_t first,
                       uint32_t n)
{
    typedef struct Wide {
        uint64_t w[4];
    } Wide;
    switch (size) {
    case 1: COPY_ROWS(uint8_t); break;
    case 2: COPY_ROWS(uint16_t); break;
    case 4: COPY_ROWS(uint32_t); break;
    case 8: COPY_ROWS(uint64_t); break;
    case 16: COPY_ROWS(Str); break;
    case 32: COPY_ROWS(Wide); break;
    default: assert(!"no such size");
    }
}

/* Text without a dictionary: the bytes move to the worker's arena. */
static tcudb_status copy_text(Worker *w, Str *to, const Vector *v, const uint16_t *sel, uint32_t first, uint32_t n,
                              Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? first + i : sel[i];
        to[i] = (Str){NULL, 0};
        if (vec_is_null(v, row)) continue;
        uint32_t at = v->form == VEC_CONST ? 0 : row;
        Str text = v->form == VEC_DICT ? v->values[((const uint32_t *)v->data)[at]] : ((const Str *)v->data)[at];
        if (v->form != VEC_DICT || v->dict_id == 0) TRY(exec_keep_text(w->x, &w->own, &text, err));
        to[i] = text;
    }
    return TCUDB_OK;
}

static void copy_valid(Chunk *chunk, uint32_t col, const Vector *v, const uint16_t *sel, uint32_t first, uint32_t n)
{
    if (v->valid == NULL && !chunk->has_null[col]) return;
    uint64_t *valid = chunk->valid[col];
    if (!chunk->has_null[col]) {
        memset(valid, 0xff, bit_words(chunk->cap) * sizeof *valid);
        chunk->has_null[col] = true;
    }
    if (v->valid == NULL) return;
    for (uint32_t i = 0; i < n; i++)
        if (vec_is_null(v, sel == NULL ? first + i : sel[i])) bit_clear(valid, chunk->n + i);
}

/* Appends rows [first, first + n) of the batch's live rows. */
static tcudb_status append(Collector *c, Worker *w, Chunk *chunk, const Batch *batch, uint32_t first, uint32_t n,
                           Error *err)
{
    const uint16_t *sel = batch->sel == NULL ? NULL : batch->sel + first;
    for (uint32_t i = 0; i < c->ncols; i++) {
        const Vector *v = &batch->cols[i];
        RowsCol *col = &c->cols[i];
        if (col->dict) {
            const ColInfo *info = exec_info(c->x, *(const ColId *)col->data);
            const uint32_t *codes;
            TRY(vec_codes(worker_arena(w), v, info->table, info->column, &col->view, batch->sel, batch->n, batch->rows,
                          &codes, err));
            Vector as_codes = {.data = (void *)(uintptr_t)codes, .form = VEC_FLAT};
            copy_fixed(chunk->data[i], chunk->n, &as_codes, sizeof(uint32_t), sel, first, n);
        } else if (col->phys == PHYS_STR) {
            TRY(copy_text(w, (Str *)chunk->data[i] + chunk->n, v, sel, first, n, err));
        } else {
            copy_fixed(chunk->data[i], chunk->n, v, col->size, sel, first, n);
        }
        copy_valid(chunk, i, v, sel, first, n);
    }
    chunk->n += n;
    return TCUDB_OK;
}

static tcudb_status collector_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Collector *c = (Collector *)stage;
    assert(batch->ncols >= c->ncols);
    for (uint32_t first = 0; first < batch->n;) {
        Chunk *chunk;
        TRY(chunk_for(c, w, batch->n - first, &chunk, err));
        uint32_t n = batch->n - first < chunk->cap - chunk->n ? batch->n - first : chunk->cap - chunk->n;
        TRY(append(c, w, chunk, batch, first, n, err));
        first += n;
    }
    return TCUDB_OK;
}

static tcudb_status collector_task_end(Stage *stage, Worker *w, Error *err)
{
    (void)stage;
    (void)w;
    (void)err;
    return TCUDB_OK;
}

tcudb_status collector_new(Exec *x, const PlanCol *cols, uint32_t ncols, Collector **out, Error *err)
{
    Collector *c = ARENA_NEW(&x->arena, Collector, err);
    TRY_PTR(c);
    *c = (Collector){.x = x, .ncols = ncols};
    c->stage.push = collector_push;
    c->stage.task_end = collector_task_end;
    c->cols = ARENA_ARRAY(&x->arena, RowsCol, ncols + 1, err);
    TRY_PTR(c->cols);
    c->workers = ARENA_ARRAY(&x->arena, WorkerChunks, x->nworkers, err);
    TRY_PTR(c->workers);
    for (uint32_t i = 0; i < ncols; i++) {
        const ColInfo *info = exec_info(x, cols[i].id);
        Phys phys = type_phys(cols[i].type);
        RowsCol *col = &c->cols[i];
        *col = (RowsCol){.type = cols[i].type, .phys = (uint8_t)phys, .size = (uint32_t)phys_size(phys)};
        if (phys != PHYS_STR || !info->dict) continue;
        ColId *id = ARENA_NEW(&x->arena, ColId, err);
        TRY_PTR(id);
        *id = cols[i].id;
        col->data = id; /* while collecting: which column's dictionary */
        col->dict = true;
        col->size = sizeof(uint32_t);
        TRY(table_dict(info->table, info->column, x->env->cancel, &col->view, err));
    }
    *out = c;
    return TCUDB_OK;
}

Stage *collector_stage(Collector *c)
{
    return &c->stage;
}

/* ---- joining the chunks ---------------------------------------------------------------------------- */

static int by_task(const void *a, const void *b)
{
    const Chunk *x = *(Chunk *const *)a, *y = *(Chunk *const *)b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset); /* order within the worker */
}

/* All chunks in task order, with their offsets; *any_null by column. */
static tcudb_status order_chunks(Collector *c, Chunk ***out, uint64_t *nchunks, uint64_t *rows, Error *err)
{
    uint64_t n = 0;
    for (uint32_t w = 0; w < c->x->nworkers; w++)
        for (Chunk *k = c->workers[w].first; k != NULL; k = k->next) n++;
    Chunk **list = exec_alloc(c->x, (n + 1) * sizeof *list, err);
    TRY_PTR(list);
    n = 0;
    for (uint32_t w = 0; w < c->x->nworkers; w++)
        for (Chunk *k = c->workers[w].first; k != NULL; k = k->next) {
            k->offset = n;
            list[n++] = k;
        }
    qsort(list, n, sizeof *list, by_task);
    *rows = 0;
    for (uint64_t i = 0; i < n; i++) {
        list[i]->offset = *rows;
        *rows += list[i]->n;
    }
    *out = list;
    *nchunks = n;
    return TCUDB_OK;
}

typedef struct Joining {
    Collector *c;
    Rows *rows;
    Chunk **chunks;
    uint64_t nchunks;
} Joining;

static tcudb_status join_column(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Joining *j = ctx;
    RowsCol *col = &j->rows->cols[task];
    (void)w;
    for (uint64_t i = 0; i < j->nchunks; i++) {
        const Chunk *k = j->chunks[i];
        TRY(exec_check_cancel(j->c->x, err)); /* a column may have gigabytes */
        assert(col->data != NULL);
        memcpy((char *)col->data + k->offset * col->size, k->data[task], (size_t)k->n * col->size);
        if (!k->has_null[task]) continue;
        for (uint32_t r = 0; r < k->n; r++)
            if (!bit_get(k->valid[task], r)) bit_clear(col->valid, k->offset + r);
    }
    return TCUDB_OK;
}

static tcudb_status alloc_columns(Joining *j, uint64_t n, Error *err)
{
    Rows *rows = j->rows;
    for (uint32_t i = 0; i < rows->ncols; i++) {
        RowsCol *col = &rows->cols[i];
        col->data = exec_alloc(rows->x, n * col->size + 64, err);
        TRY_PTR(col->data);
        rows->bytes += n * col->size;
        bool nulls = false;
        for (uint64_t k = 0; k < j->nchunks; k++) nulls |= j->chunks[k]->has_null[i];
        if (!nulls) continue;
        col->valid = exec_alloc(rows->x, (bit_words(n) + 1) * sizeof(uint64_t), err);
        TRY_PTR(col->valid);
        memset(col->valid, 0xff, (bit_words(n) + 1) * sizeof(uint64_t));
    }
    return TCUDB_OK;
}

static void drop_chunks(Collector *c)
{
    for (uint32_t w = 0; w < c->x->nworkers; w++) {
        for (Chunk *k = c->workers[w].first, *next; k != NULL; k = next) {
            next = k->next;
            exec_free(c->x, k);
        }
        c->workers[w] = (WorkerChunks){NULL, NULL};
    }
}

tcudb_status collector_rows(Collector *c, PhysNode *node, Rows **out, Error *err)
{
    Exec *x = c->x;
    Rows *rows = exec_alloc_zero(x, sizeof *rows + c->ncols * sizeof(RowsCol), err);
    TRY_PTR(rows);
    rows->x = x;
    rows->ncols = c->ncols;
    rows->cols = (RowsCol *)(rows + 1);
    memcpy(rows->cols, c->cols, c->ncols * sizeof(RowsCol));
    for (uint32_t i = 0; i < c->ncols; i++) rows->cols[i].data = NULL;
    Joining j = {.c = c, .rows = rows};
    TRY(order_chunks(c, &j.chunks, &j.nchunks, &rows->n, err));
    if (rows->n >= ROWS_NONE) return exec_too_many_rows(err);
    TRY(alloc_columns(&j, rows->n, err));
    if (rows->n < CHUNK_ROWS) {
        for (uint32_t i = 0; i < c->ncols; i++) TRY(join_column(&j, NULL, i, err));
    } else {
        TRY(exec_parallel(x, node, c->ncols, join_column, &j, err));
    }
    exec_free(x, j.chunks);
    drop_chunks(c);
    if (node != NULL) atomic_fetch_add(&node->stats.bytes, rows->bytes);
    *out = rows;
    return TCUDB_OK;
}

tcudb_status exec_collect(Exec *x, PhysNode *node, Rows **out, Error *err)
{
    Collector *c;
    TRY(collector_new(x, node->plan->cols, node->plan->ncols, &c, err));
    TRY(exec_produce(x, node, collector_stage(c), err));
    return collector_rows(c, node, out, err);
}

void rows_free(Rows *rows)
{
    if (rows == NULL) return;
    for (uint32_t i = 0; i < rows->ncols; i++) {
        exec_free(rows->x, rows->cols[i].data);
        exec_free(rows->x, rows->cols[i].valid);
    }
    exec_free(rows->x, rows);
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static void vector_head(const RowsCol *col, Vector *out)
{
    *out = (Vector){.type = col->type, .phys = col->phys, .form = col->dict ? VEC_DICT : VEC_FLAT};
    if (!col->dict) return;
    out->values = col->view.values;
    out->nvalues = col->view.count;
    out->dict_id = col->view.id;
}

#define GATHER(T)                                                                                                      \
    do {                                                                                                               \
        T *to = out->data;                                                                                             \
        const T *from = col->data;                                                                                     \
        if (pos == NULL && !may_miss)                                                                                  \
            for (uint32_t i = 0; i < n; i++) to[i] = from[idx[i]];                                                     \
        else if (!may_miss)                                                                                            \
            for (uint32_t i = 0; i < n; i++) to[pos[i]] = from[idx[i]];                                                \
        else                                                                                                           \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                T none;                                                                                                \
                memset(&none, 0, sizeof none);                                                                         \
                to[pos == NULL ? i : pos[i]] = idx[i] == ROWS_NONE ? none : from[idx[i]];                              \
            }                                                                                                          \
    } while (0)

static void gather_data(const RowsCol *col, const uint32_t *idx, uint32_t n, const uint16_t *pos, bool may_miss,
                        Vector *out)
{
    typedef struct Wide {
        uint64_t w[4];
    } Wide;
    switch (col->size) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    case 16: GATHER(Str); break;
    case 32: GATHER(Wide); break;
    default: assert(!"no such size");
    }
}

tcudb_status rows_gather(const Rows *rows, uint32_t col_no, const uint32_t *idx, uint32_t n, const uint16_t *pos,
                         uint32_t nout, bool may_miss, Arena *arena, Vector *out, Error *err)
{
    const RowsCol *col = &rows->cols[col_no];
    vector_head(col, out);
    out->data = arena_alloc_raw(arena, (size_t)nout * col->size + 64, err);
    TRY_PTR(out->data);
    gather_data(col, idx, n, pos, may_miss, out);
    if (col->valid == NULL && !may_miss) return TCUDB_OK;
    out->valid = arena_alloc_raw(arena, (bit_words(nout) + 1) * sizeof(uint64_t), err);
    TRY_PTR(out->valid);
    memset(out->valid, 0xff, (bit_words(nout) + 1) * sizeof(uint64_t));
    for (uint32_t i = 0; i < n; i++) {
        bool null = (may_miss && idx[i] == ROWS_NONE) || (col->valid != NULL && !bit_get(col->valid, idx[i]));
        if (null) bit_clear(out->valid, pos == NULL ? i : pos[i]);
    }
    return TCUDB_OK;
}

tcudb_status rows_slice(const Rows *rows, uint32_t col_no, uint64_t at, uint32_t n, Arena *arena, Vector *out,
                        Error *err)
{
    const RowsCol *col = &rows->cols[col_no];
    vector_head(col, out);
    assert(at + n <= rows->n);
    out->data = (char *)col->data + at * col->size;
    if (col->valid == NULL) return TCUDB_OK;
    if (at % 64 == 0) {
        out->valid = col->valid + at / 64;
        return TCUDB_OK;
    }
    out->valid = arena_alloc(arena, (bit_words(n) + 1) * sizeof(uint64_t), err);
    TRY_PTR(out->valid);
    for (uint32_t i = 0; i < n; i++)
        if (bit_get(col->valid, at + i)) bit_set(out->valid, i);
    return TCUDB_OK;
}

typedef struct Permute {
    const Rows *from;
    Rows *to;
    const uint32_t *order;
    uint64_t nblocks; /* a column */
} Permute;

enum { PERMUTE_ROWS = 64 * BATCH_ROWS };

static tcudb_status permute_block(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Permute *p = ctx;
    const RowsCol *from = &p->from->cols[task / p->nblocks];
    RowsCol *to = &p->to->cols[task / p->nblocks];
    uint64_t first = task % p->nblocks * PERMUTE_ROWS, left = p->from->n - first;
    uint64_t end = first + (left < PERMUTE_ROWS ? left : PERMUTE_ROWS);
    (void)w;
    for (uint64_t at = first; at < end; at += BATCH_ROWS) {
        uint32_t n = end - at < BATCH_ROWS ? (uint32_t)(end - at) : BATCH_ROWS;
        Vector out = {.data = (char *)to->data + at * to->size};
        gather_data(from, p->order + at, n, NULL, false, &out);
        for (uint32_t i = 0; i < n && to->valid != NULL; i++)
            if (!bit_get(from->valid, p->order[at + i])) bit_clear(to->valid, at + i);
    }
    return exec_check_cancel(p->from->x, err);
}

tcudb_status rows_permute(const Rows *rows, PhysNode *node, const uint32_t *order, Rows **out, Error *err)
{
    Exec *x = rows->x;
    Rows *to = exec_alloc_zero(x, sizeof *to + rows->ncols * sizeof(RowsCol), err);
    TRY_PTR(to);
    *to = *rows;
    to->cols = (RowsCol *)(to + 1);
    for (uint32_t c = 0; c < rows->ncols; c++) {
        RowsCol *col = &to->cols[c];
        *col = rows->cols[c];
        col->data = exec_alloc(x, rows->n * col->size + 64, err);
        TRY_PTR(col->data);
        if (col->valid == NULL) continue;
        col->valid = exec_alloc(x, (bit_words(rows->n) + 1) * sizeof(uint64_t), err);
        TRY_PTR(col->valid);
        memset(col->valid, 0xff, (bit_words(rows->n) + 1) * sizeof(uint64_t));
    }
    Permute p = {rows, to, order, (rows->n + PERMUTE_ROWS - 1) / PERMUTE_ROWS};
    *out = to;
    return exec_parallel(x, node, p.nblocks * rows->ncols, permute_block, &p, err);
}

/* ---- as a source ---------------------------------------------------------------------------------------- */

enum { PUSH_TASK = 16 * BATCH_ROWS };

typedef struct Push {
    const Rows *rows;
    const uint32_t *order; /* NULL: as stored */
    uint64_t n;
    const uint32_t *map;
    uint32_t nmap;
    Stage *down;
} Push;

static tcudb_status push_batch(Push *p, Worker *w, uint64_t at, uint32_t n, Error *err)
{
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = n, .n = n, .ncols = p->nmap};
    batch.cols = ARENA_ARRAY(arena, Vector, p->nmap + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t i = 0; i < p->nmap; i++) {
        uint32_t col = p->map == NULL ? i : p->map[i];
        if (p->order == NULL)
            TRY(rows_slice(p->rows, col, at, n, arena, &batch.cols[i], err));
        else
            TRY(rows_gather(p->rows, col, p->order + at, n, NULL, n, false, arena, &batch.cols[i], err));
    }
    return stage_push(p->down, w, &batch, err);
}

static tcudb_status push_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Push *p = ctx;
    uint64_t end = (task + 1) * PUSH_TASK < p->n ? (task + 1) * PUSH_TASK : p->n;
    for (uint64_t at = task * PUSH_TASK; at < end && !stage_stopped(p->down); at += BATCH_ROWS) {
        uint32_t n = end - at < BATCH_ROWS ? (uint32_t)(end - at) : BATCH_ROWS;
        arena_reset(&w->batch);
        TRY(push_batch(p, w, at, n, err));
    }
    return TCUDB_OK;
}

tcudb_status rows_push_order(Exec *x, PhysNode *node, const Rows *rows, const uint32_t *order, uint64_t n,
                             const uint32_t *map, uint32_t nmap, Stage *down, Error *err)
{
    Push p = {rows, order, n, map, map == NULL ? rows->ncols : nmap, down};
    return exec_source(x, node, down, (n + PUSH_TASK - 1) / PUSH_TASK, push_task, &p, err);
}

tcudb_status rows_push(Exec *x, PhysNode *node, const Rows *rows, const uint32_t *map, uint32_t nmap, Stage *down,
                       Error *err)
{
    return rows_push_order(x, node, rows, NULL, rows->n, map, nmap, down, err);
}
