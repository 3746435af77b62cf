/*
 * op_limit.c: LIMIT and OFFSET.
 *
 * Rows are taken in task order, so the answer does not depend on the number of workers. Each task keeps at
 * most offset + limit rows; once the tasks that have ended, counted from the first without a gap, hold
 * enough, or the one after them has, the stop flag ends the input: a task may be endless. Then the wanted slice
 * is pushed on.
 */
#include "exec/exec_int.h"

typedef struct Limit {
    Stage stage;
    Stage *keep; /* the collector */
    uint64_t wanted;
    atomic_bool stop;
    uint64_t *kept; /* by worker: rows of its current task */
    pthread_mutex_t lock;
    uint64_t base, tasks;
    uint64_t *task_rows; /* by task of the phase: 1 + rows, once ended */
    uint64_t prefix, prefix_rows;
    Exec *x;
} Limit;

static tcudb_status open(Stage *stage, uint64_t base, uint64_t tasks, Error *err)
{
    Limit *l = (Limit *)stage;
    l->task_rows = exec_alloc_zero(l->x, (tasks + 1) * sizeof *l->task_rows, err);
    TRY_PTR(l->task_rows);
    l->base = base;
    l->tasks = tasks;
    l->prefix = 0;
    return TCUDB_OK;
}

/* The task has enough: those behind it do not count. */
static void stop_after(Limit *l, uint64_t task)
{
    pthread_mutex_lock(&l->lock);
    if (task == l->prefix) atomic_store(&l->stop, true);
    pthread_mutex_unlock(&l->lock);
}

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Limit *l = (Limit *)stage;
    uint64_t *kept = &l->kept[w->id];
    if (*kept >= l->wanted) return TCUDB_OK;
    Batch cut = *batch;
    if (cut.n > l->wanted - *kept) {
        cut.n = (uint32_t)(l->wanted - *kept);
        if (cut.sel == NULL) cut.rows = cut.n;
    }
    *kept += cut.n;
    TRY(stage_push(l->keep, w, &cut, err));
    if (*kept >= l->wanted) stop_after(l, w->task - l->base);
    return TCUDB_OK;
}

static tcudb_status task_end(Stage *stage, Worker *w, Error *err)
{
    Limit *l = (Limit *)stage;
    (void)err;
    pthread_mutex_lock(&l->lock);
    l->task_rows[w->task - l->base] = 1 + l->kept[w->id];
    while (l->prefix < l->tasks && l->task_rows[l->prefix] != 0) l->prefix_rows += l->task_rows[l->prefix++] - 1;
    if (l->prefix_rows >= l->wanted) atomic_store(&l->stop, true);
    pthread_mutex_unlock(&l->lock);
    l->kept[w->id] = 0;
    return TCUDB_OK;
}

static tcudb_status count_of(Exec *x, Expr *e, bool is_limit, uint64_t none, uint64_t *out, Error *err)
{
    Value value = {.null = true};
    if (e != NULL) TRY(ev_value(x, e, &value, err));
    *out = none;
    if (value.null) return TCUDB_OK;
    int64_t n = type_phys(value.type) == PHYS_I64 ? value.i64 : value.i32;
    if (n < 0 && is_limit) return error_set(err, SQLSTATE_INVALID_ROW_COUNT_IN_LIMIT, "LIMIT must not be negative");
    if (n < 0) return error_set(err, SQLSTATE_INVALID_ROW_COUNT_IN_OFFSET, "OFFSET must not be negative");
    *out = (uint64_t)n;
    return TCUDB_OK;
}

tcudb_status exec_limits(Exec *x, Expr *limit_expr, Expr *offset_expr, uint64_t *limit, uint64_t *offset, Error *err)
{
    TRY(count_of(x, offset_expr, false, 0, offset, err));
    TRY(count_of(x, limit_expr, true, UINT64_MAX, limit, err));
    return TCUDB_OK;
}

static tcudb_status push_slice(Exec *x, PhysNode *node, Rows *rows, uint64_t limit, uint64_t offset, Stage *down,
                               Error *err)
{
    Layout in;
    int32_t *map;
    TRY(layout_of(x, node->plan->inputs[0], &in, err));
    TRY(layout_map_all(x, node->plan, &in, &map, err));
    uint64_t n = rows->n > offset ? rows->n - offset : 0;
    if (n > limit) n = limit;
    uint32_t *order = exec_alloc(x, (n + 1) * sizeof *order, err);
    TRY_PTR(order);
    for (uint64_t i = 0; i < n; i++) order[i] = (uint32_t)(offset + i);
    TRY(rows_push_order(x, node, rows, order, n, (const uint32_t *)map, node->plan->ncols, down, err));
    exec_free(x, order);
    return TCUDB_OK;
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    uint64_t limit, offset;
    Collector *c;
    Rows *rows;
    TRY(exec_limits(x, node->plan->limit.limit, node->plan->limit.offset, &limit, &offset, err));
    TRY(collector_new(x, node->plan->inputs[0]->cols, node->plan->inputs[0]->ncols, &c, err));
    Limit *l = ARENA_NEW(&x->arena, Limit, err);
    TRY_PTR(l);
    *l =
        (Limit){.keep = collector_stage(c), .x = x, .stage.open = open, .stage.push = push, .stage.task_end = task_end};
    l->stage.stop = &l->stop;
    l->wanted = limit > UINT64_MAX - offset ? UINT64_MAX : limit + offset;
    l->kept = ARENA_ARRAY(&x->arena, uint64_t, x->nworkers * 8, err);
    TRY_PTR(l->kept);
    if (limit == 0) return TCUDB_OK;
    pthread_mutex_init(&l->lock, NULL);
    tcudb_status status = exec_produce(x, node->inputs[0], &l->stage, err);
    pthread_mutex_destroy(&l->lock);
    TRY(status);
    TRY(collector_rows(c, node, &rows, err));
    TRY(push_slice(x, node, rows, limit, offset, down, err));
    rows_free(rows);
    return TCUDB_OK;
}

const Op op_limit = {.name = "Limit", .engine = "cpu", .run = run};
