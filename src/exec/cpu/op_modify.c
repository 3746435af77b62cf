/*
 * op_modify.c: INSERT, DELETE, UPDATE.
 *
 * INSERT appends in task order while its input runs: the input reads the version of the tables that was
 * bound, so it does not see its own rows. Large inserts encode in parallel, a run of segments per task. DELETE and
 * UPDATE collect first: row ids stay valid only until the transaction's next change. UPDATE is delete and append.
 */
#include "exec/exec_int.h"

#include <stdlib.h>

typedef struct Insert {
    Exec *x;
    Str table;
    const Plan *input;
} Insert;

static tcudb_status append(void *ctx, const Batch *batch, Error *err)
{
    Insert *i = ctx;
    i->x->written += batch->n;
    return txn_append(i->x->env->txn, i->table, batch, err);
}

/* ---- bulk: one appender a task ---------------------------------------------------------------------- */

typedef struct Bulk {
    Stage stage;
    Exec *x;
    Str table;
    Appender **appenders; /* by worker: of its current task */
    _Atomic uint64_t rows;
} Bulk;

static tcudb_status bulk_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Bulk *bulk = (Bulk *)stage;
    Appender **appender = &bulk->appenders[w->id];
    if (*appender == NULL) TRY(appender_new(bulk->x->env->txn, bulk->table, appender, err));
    atomic_fetch_add(&bulk->rows, batch->n);
    return appender_add(*appender, batch, err);
}

static tcudb_status bulk_task_end(Stage *stage, Worker *w, Error *err)
{
    Bulk *bulk = (Bulk *)stage;
    Appender *appender = bulk->appenders[w->id];
    if (appender == NULL) return TCUDB_OK;
    bulk->appenders[w->id] = NULL;
    return appender_finish(appender, w->task, err);
}

static tcudb_status insert_bulk(Exec *x, PhysNode *node, Error *err)
{
    Bulk bulk = {.x = x, .table = node->plan->insert.table};
    bulk.stage.push = bulk_push;
    bulk.stage.task_end = bulk_task_end;
    bulk.appenders = ARENA_ARRAY(&x->arena, Appender *, x->nworkers, err);
    TRY_PTR(bulk.appenders);
    Appender *guard; /* stays open, so that no task's rows are settled before those of an earlier one are there */
    TRY(appender_new(x->env->txn, bulk.table, &guard, err));
    tcudb_status status = exec_produce(x, node->inputs[0], &bulk.stage, err);
    for (uint32_t w = 0; w < x->nworkers; w++)
        if (bulk.appenders[w] != NULL) appender_abort(bulk.appenders[w]);
    if (status == TCUDB_OK)
        status = appender_finish(guard, UINT64_MAX, err);
    else
        appender_abort(guard);
    x->written = atomic_load(&bulk.rows);
    return status;
}

static tcudb_status run_insert(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const double bulk_rows = 4 * SEGMENT_ROWS; /* fewer would end in many small segments */
    Insert insert = {x, node->plan->insert.table, node->plan->inputs[0]};
    Ordered *ordered = NULL;
    tcudb_status status;
    (void)down;
    if (node->plan->inputs[0]->rows >= bulk_rows) {
        status = insert_bulk(x, node, err);
    } else {
        TRY(ordered_new(x, append, &insert, &ordered, err));
        status = exec_produce(x, node->inputs[0], ordered_stage(ordered), err);
        ordered_free(ordered);
    }
    atomic_store(&node->stats.rows, x->written);
    return status;
}

/* ---- DELETE, UPDATE ----------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Deletes the rows whose ids are column 0; each once. */
static tcudb_status delete_ids(Exec *x, Str table, const Rows *rows, uint64_t *deleted, Error *err)
{
    uint64_t *ids = exec_alloc(x, (rows->n + 1) * sizeof *ids, err);
    TRY_PTR(ids);
    memcpy(ids, rows->cols[0].data, rows->n * sizeof *ids);
    qsort(ids, rows->n, sizeof *ids, compare_ids);
    uint64_t n = 0;
    for (uint64_t i = 0; i < rows->n; i++)
        if (i == 0 || ids[i] != ids[i - 1]) ids[n++] = ids[i];
    *deleted = n;
    if (n > 0) TRY(txn_delete(x->env->txn, table, ids, n, err));
    exec_free(x, ids);
    return TCUDB_OK;
}

static tcudb_status run_delete(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Rows *rows;
    (void)down;
    TRY(exec_collect(x, node->inputs[0], &rows, err));
    TRY(delete_ids(x, node->plan->delete_.table, rows, &x->written, err));
    atomic_store(&node->stats.rows, x->written);
    rows_free(rows);
    return TCUDB_OK;
}

/* Rows of an updated table: a join may name a row twice; PostgreSQL takes the first match. */
static tcudb_status first_of_each(Exec *x, const Rows *rows, uint32_t **order, uint64_t *n, Error *err)
{
    typedef struct IdRow {
        uint64_t id, row;
    } IdRow;
    IdRow *pairs = exec_alloc(x, (rows->n + 1) * sizeof *pairs, err);
    TRY_PTR(pairs);
    *order = exec_alloc(x, (rows->n + 1) * sizeof **order, err);
    TRY_PTR(*order);
    for (uint64_t i = 0; i < rows->n; i++) pairs[i] = (IdRow){((const uint64_t *)rows->cols[0].data)[i], i};
    qsort(pairs, rows->n, sizeof *pairs, compare_ids); /* by id; ties in any order */
    *n = 0;
    for (uint64_t i = 0; i < rows->n;) {
        uint64_t first = pairs[i].row, id = pairs[i].id;
        for (; i < rows->n && pairs[i].id == id; i++)
            if (pairs[i].row < first) first = pairs[i].row;
        (*order)[(*n)++] = (uint32_t)first;
    }
    exec_free(x, pairs);
    return TCUDB_OK;
}

static tcudb_status run_update(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Rows *rows;
    uint64_t n, deleted;
    uint32_t *order;
    (void)down;
    TRY(exec_collect(x, node->inputs[0], &rows, err));
    TRY(first_of_each(x, rows, &order, &n, err));
    TRY(delete_ids(x, node->plan->update.table, rows, &deleted, err));
    Insert insert = {x, node->plan->update.table, NULL};
    Ordered *ordered = NULL;
    uint32_t *map = ARENA_ARRAY(&x->arena, uint32_t, rows->ncols + 1, err);
    TRY_PTR(map);
    for (uint32_t i = 0; i + 1 < rows->ncols; i++) map[i] = i + 1;
    TRY(ordered_new(x, append, &insert, &ordered, err));
    tcudb_status status = rows_push_order(x, node, rows, order, n, map, rows->ncols - 1, ordered_stage(ordered), err);
    ordered_free(ordered);
    atomic_store(&node->stats.rows, x->written);
    rows_free(rows);
    return status;
}

const Op op_insert = {.name = "Insert", .engine = "cpu", .run = run_insert};
const Op op_delete = {.name = "Delete", .engine = "cpu", .run = run_delete};
const Op op_update = {.name = "Update", .engine = "cpu", .run = run_update};
