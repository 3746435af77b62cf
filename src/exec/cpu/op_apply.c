/*
 * op_apply.c: correlated subqueries as they stand: the right side runs once per distinct binding.
 *
 * The left input is kept and its rows are grouped by the columns that the right side takes from it. Tasks
 * are ranges of bindings; each binding runs the inner plan in a child execution (serial, on this worker)
 * with those columns as constants. A right side that takes nothing runs once, in parallel, before. What opt/
 * can turn into joins never gets here.
 * Cost: bindings x (some microseconds of set-up + the inner plan).
 */
#include "exec/keys.h"

#include <assert.h>

typedef struct Apply {
    Exec *x;
    PhysNode *node;
    const Plan *plan;
    Stage *down;
    Layout left, right, pair;
    Rows *rows; /* left */
    uint32_t nbind;
    uint32_t *bind; /* positions in left */
    ColId *bind_ids;
    uint32_t nbindings;
    uint32_t *by_binding; /* left rows, grouped by binding */
    uint32_t *start;      /* of each binding in by_binding */
    bool shared;          /* the inner side takes nothing: one result for all */
    Rows *inner;          /* of the shared run */
    bool has_test;
    Ev test;
    int32_t *out_map; /* position in pair; RESULT_COL */
    uint32_t per_task;
} Apply;

enum { RESULT_COL = INT32_MAX, BOOL_FALSE = 0, BOOL_TRUE = 1, BOOL_NULL = 2 };

/* ---- bindings -------------------------------------------------------------------------------------------- */

static tcudb_status find_bind_columns(Apply *a, Error *err)
{
    ColId *cols = NULL;
    uint32_t n = 0;
    Exec *x = a->x;
    TRY(plan_free_cols(&x->arena, a->plan->inputs[1], &cols, &n, err));
    a->bind = ARENA_ARRAY(&x->arena, uint32_t, n + 1, err);
    TRY_PTR(a->bind);
    a->bind_ids = ARENA_ARRAY(&x->arena, ColId, n + 1, err);
    TRY_PTR(a->bind_ids);
    for (uint32_t i = 0; i < n; i++) {
        int32_t at = layout_find(&a->left, cols[i]);
        if (at < 0) continue; /* of a plan further out */
        a->bind[a->nbind] = (uint32_t)at;
        a->bind_ids[a->nbind++] = cols[i];
    }
    a->shared = a->nbind == 0;
    return TCUDB_OK;
}

/* Numbers the bindings: id[row]. */
static tcudb_status number_rows(Apply *a, uint32_t *id, Error *err)
{
    Exec *x = a->x;
    Worker *w = &x->workers[0];
    KeySpec spec;
    KeyTable table;
    Type *types = ARENA_ARRAY(&x->arena, Type, a->nbind + 1, err);
    TRY_PTR(types);
    for (uint32_t i = 0; i < a->nbind; i++) types[i] = a->rows->cols[a->bind[i]].type;
    TRY(keys_spec(x, types, NULL, a->nbind, true, &spec, err));
    TRY(keytable_init(x, &spec, 0, NULL, &table, err));
    for (uint64_t at = 0; at < a->rows->n; at += BATCH_ROWS) {
        uint32_t n = a->rows->n - at < BATCH_ROWS ? (uint32_t)(a->rows->n - at) : BATCH_ROWS;
        TRY(exec_check_cancel(x, err));
        arena_reset(&w->batch);
        Vector *cols = ARENA_ARRAY(&w->batch, Vector, a->nbind + 1, err);
        TRY_PTR(cols);
        for (uint32_t i = 0; i < a->nbind; i++) TRY(rows_slice(a->rows, a->bind[i], at, n, &w->batch, &cols[i], err));
        uint64_t *keys = arena_alloc_raw(&w->batch, ((size_t)n * spec.words + 1) * sizeof *keys, err);
        TRY_PTR(keys);
        uint64_t *hash = arena_alloc_raw(&w->batch, n * sizeof *hash, err);
        TRY_PTR(hash);
        TRY(keys_encode(&spec, &w->batch, cols, NULL, n, n, keys, hash, err));
        TRY(keytable_find(&table, keys, hash, n, id + at, err));
    }
    a->nbindings = table.n;
    keytable_free(&table);
    return TCUDB_OK;
}

static tcudb_status group_left(Apply *a, Error *err)
{
    Exec *x = a->x;
    uint32_t n = (uint32_t)a->rows->n;
    uint32_t *id = exec_alloc_zero(x, ((size_t)n + 1) * sizeof *id, err);
    TRY_PTR(id);
    a->nbindings = (n + BATCH_ROWS - 1) / BATCH_ROWS; /* shared: batches of left rows */
    if (!a->shared) TRY(number_rows(a, id, err));
    for (uint32_t r = 0; r < n && a->shared; r++) id[r] = r / BATCH_ROWS;
    a->start = exec_alloc_zero(x, ((size_t)a->nbindings + 2) * sizeof *a->start, err);
    TRY_PTR(a->start);
    a->by_binding = exec_alloc(x, ((size_t)n + 1) * sizeof *a->by_binding, err);
    TRY_PTR(a->by_binding);
    for (uint32_t r = 0; r < n; r++) a->start[id[r] + 2]++;
    for (uint32_t b = 2; b <= a->nbindings + 1; b++) a->start[b] += a->start[b - 1];
    for (uint32_t r = 0; r < n; r++) a->by_binding[a->start[id[r] + 1]++] = r;
    exec_free(x, id);
    return TCUDB_OK;
}

/* ---- running the inner side ---------------------------------------------------------------------------------- */

/* Keeps a few rows and then stops its input: EXISTS needs one, a scalar subquery two. */
typedef struct Few {
    Stage stage;
    Stage *keep;
    _Atomic uint64_t n;
    uint64_t wanted;
    atomic_bool stop;
} Few;

static tcudb_status few_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Few *f = (Few *)stage;
    if (atomic_fetch_add(&f->n, batch->n) + batch->n >= f->wanted) atomic_store(&f->stop, true);
    return stage_push(f->keep, w, batch, err);
}

static tcudb_status few_end(Stage *stage, Worker *w, Error *err)
{
    (void)stage;
    (void)w;
    (void)err;
    return TCUDB_OK;
}

static tcudb_status run_inner(Apply *a, Exec *x, Rows **out, Error *err)
{
    const Plan *plan = a->plan->inputs[1];
    Collector *c;
    Few few = {.stage.push = few_push, .stage.task_end = few_end};
    bool few_rows = a->plan->apply.kind == APPLY_SCALAR || a->plan->apply.kind == APPLY_EXISTS;
    TRY(collector_new(x, plan->cols, plan->ncols, &c, err));
    few.keep = collector_stage(c);
    few.wanted = a->plan->apply.kind == APPLY_SCALAR ? 2 : 1;
    few.stage.stop = &few.stop;
    TRY(exec_produce(x, a->node->inputs[1], few_rows ? &few.stage : few.keep, err));
    return collector_rows(c, NULL, out, err);
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* The results of a task's left rows, in their order. */
typedef struct Results {
    uint32_t n, cap;
    uint32_t *left; /* left rows */
    Vector value;   /* SCALAR */
    uint8_t *truth; /* EXISTS, ANY, ALL */
} Results;

static tcudb_status scalar_value(Apply *a, Worker *w, const Rows *inner, Value *out, Error *err)
{
    *out = (Value){.type = a->plan->apply.result.type, .null = true};
    if (inner->n > 1)
        return error_set(err, SQLSTATE_CARDINALITY_VIOLATION,
                         "more than one row returned by a subquery used as an expression");
    if (inner->n == 0) return TCUDB_OK;
    Vector v;
    TRY(rows_slice(inner, 0, 0, 1, &w->own, &v, err));
    *out = vec_value(&v, 0);
    out->type = a->plan->apply.result.type;
    return out->null || type_phys(out->type) != PHYS_STR ? TCUDB_OK : exec_keep_text(w->x, &w->own, &out->str, err);
}

static tcudb_status put_scalar(Results *r, const Value *value, Arena *arena, Error *err)
{
    Vector one;
    size_t size = phys_size((Phys)r->value.phys);
    if (value->null) {
        TRY(vec_need_valid(arena, &r->value, r->cap, err));
        bit_clear(r->value.valid, r->n);
        return TCUDB_OK;
    }
    TRY(vec_const(arena, value, &one, err));
    memcpy((char *)r->value.data + r->n * size, one.data, size);
    return TCUDB_OK;
}

static tcudb_status left_const(const Apply *a, Arena *arena, uint32_t row, uint32_t col, Vector *out, Error *err)
{
    Vector one;
    TRY(rows_slice(a->rows, col, row, 1, arena, &one, err));
    Value value = vec_value(&one, 0);
    value.type = one.type;
    return vec_const(arena, &value, out, err);
}

/* Left row against rows [at, at + n) of the inner side. */
static tcudb_status pair_batch(Apply *a, Arena *arena, uint32_t row, const Rows *inner, uint64_t at, uint32_t n,
                               Batch *out, Error *err)
{
    *out = (Batch){.rows = n, .n = n, .ncols = a->pair.n};
    out->cols = ARENA_ARRAY(arena, Vector, a->pair.n + 1, err);
    TRY_PTR(out->cols);
    for (uint32_t c = 0; c < a->left.n; c++) TRY(left_const(a, arena, row, c, &out->cols[c], err));
    for (uint32_t c = 0; c < a->right.n; c++) TRY(rows_slice(inner, c, at, n, arena, &out->cols[a->left.n + c], err));
    return TCUDB_OK;
}

/* test ANY: true beats NULL beats false; ALL: false beats NULL beats true. */
static tcudb_status quantified(Apply *a, Worker *w, uint32_t row, const Rows *inner, uint8_t *out, Error *err)
{
    bool any = a->plan->apply.kind == APPLY_ANY;
    uint8_t decided = any ? BOOL_TRUE : BOOL_FALSE, result = any ? BOOL_FALSE : BOOL_TRUE;
    for (uint64_t at = 0; at < inner->n && result != decided; at += BATCH_ROWS) {
        uint32_t n = inner->n - at < BATCH_ROWS ? (uint32_t)(inner->n - at) : BATCH_ROWS;
        Batch batch;
        Vector v;
        TRY(exec_check_cancel(a->x, err));
        TRY(pair_batch(a, worker_arena(w), row, inner, at, n, &batch, err));
        TRY(ev_run(&a->test, w, &batch, &v, err));
        for (uint32_t i = 0; i < n && result != decided; i++) {
            if (vec_is_null(&v, i))
                result = BOOL_NULL;
            else if ((((const uint8_t *)v.data)[v.form == VEC_CONST ? 0 : i] != 0) == any)
                result = decided;
        }
    }
    *out = result;
    return TCUDB_OK;
}

static tcudb_status output(Apply *a, Worker *w, const Batch *pairs, const Vector *result, Error *err)
{
    Batch out = *pairs;
    out.ncols = a->plan->ncols;
    out.cols = ARENA_ARRAY(worker_arena(w), Vector, out.ncols + 1, err);
    TRY_PTR(out.cols);
    for (uint32_t i = 0; i < out.ncols; i++) {
        const Vector *from = a->out_map[i] == RESULT_COL ? result : &pairs->cols[a->out_map[i]];
        assert(from != NULL);
        out.cols[i] = *from;
    }
    return stage_push(a->down, w, &out, err);
}

static tcudb_status flush(Apply *a, Worker *w, Results *r, Error *err)
{
    if (r->n == 0) return TCUDB_OK;
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = r->n, .n = r->n, .ncols = a->left.n};
    batch.cols = ARENA_ARRAY(arena, Vector, a->pair.n + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t c = 0; c < a->left.n; c++)
        TRY(rows_gather(a->rows, c, r->left, r->n, NULL, r->n, false, arena, &batch.cols[c], err));
    Vector result = r->value;
    if (a->plan->apply.kind != APPLY_SCALAR) {
        TRY(vec_new(arena, TYPE(TYPE_BOOL), r->n, &result, err));
        for (uint32_t i = 0; i < r->n; i++) {
            ((uint8_t *)result.data)[i] = r->truth[i] == BOOL_TRUE;
            if (r->truth[i] != BOOL_NULL) continue;
            TRY(vec_need_valid(arena, &result, r->n, err));
            bit_clear(result.valid, i);
        }
    }
    TRY(output(a, w, &batch, &result, err));
    r->n = 0;
    return TCUDB_OK;
}

static tcudb_status results_init(Apply *a, Worker *w, Results *r, Error *err)
{
    Arena *arena = worker_arena(w);
    *r = (Results){.cap = BATCH_ROWS};
    r->left = arena_alloc_raw(arena, r->cap * sizeof *r->left, err);
    TRY_PTR(r->left);
    r->truth = arena_alloc_raw(arena, r->cap, err);
    TRY_PTR(r->truth);
    if (a->plan->apply.kind != APPLY_SCALAR) return TCUDB_OK;
    return vec_new(arena, a->plan->apply.result.type, r->cap, &r->value, err);
}

static tcudb_status add_result(Apply *a, Worker *w, Results *r, uint32_t row, const Rows *inner, const Value *scalar,
                               Error *err)
{
    if (r->n == r->cap) {
        TRY(flush(a, w, r, err));
        arena_reset(&w->batch);
        TRY(results_init(a, w, r, err));
    }
    switch (a->plan->apply.kind) {
    case APPLY_SCALAR: TRY(put_scalar(r, scalar, worker_arena(w), err)); break;
    case APPLY_EXISTS: r->truth[r->n] = inner->n > 0; break;
    default: TRY(quantified(a, w, row, inner, &r->truth[r->n], err));
    }
    r->left[r->n++] = row;
    return TCUDB_OK;
}

/* LATERAL: pairs go out at once. */
static tcudb_status lateral(Apply *a, Worker *w, uint32_t row, const Rows *inner, Error *err)
{
    if (inner->n == 0 && a->plan->apply.kind == APPLY_LEFT) {
        static const uint64_t zeros[8];
        Batch batch = {.rows = 1, .n = 1, .ncols = a->pair.n};
        arena_reset(&w->batch);
        batch.cols = ARENA_ARRAY(&w->batch, Vector, a->pair.n + 1, err);
        TRY_PTR(batch.cols);
        for (uint32_t c = 0; c < a->left.n; c++) TRY(left_const(a, &w->batch, row, c, &batch.cols[c], err));
        for (uint32_t c = 0; c < a->right.n; c++) {
            Type type = a->plan->inputs[1]->cols[c].type;
            batch.cols[a->left.n + c] = (Vector){.type = type,
                                                 .phys = (uint8_t)type_phys(type),
                                                 .form = VEC_CONST,
                                                 .data = (void *)(uintptr_t)zeros,
                                                 .valid = (uint64_t *)(uintptr_t)zeros};
        }
        return output(a, w, &batch, NULL, err);
    }
    for (uint64_t at = 0; at < inner->n && !stage_stopped(a->down); at += BATCH_ROWS) {
        uint32_t n = inner->n - at < BATCH_ROWS ? (uint32_t)(inner->n - at) : BATCH_ROWS;
        Batch batch;
        arena_reset(&w->batch);
        TRY(pair_batch(a, &w->batch, row, inner, at, n, &batch, err));
        TRY(output(a, w, &batch, NULL, err));
    }
    return TCUDB_OK;
}

static tcudb_status serve_rows(Apply *a, Worker *w, uint32_t binding, const Rows *inner, Results *r, Error *err)
{
    Value scalar = {.null = true};
    bool is_lateral = a->plan->apply.kind == APPLY_CROSS || a->plan->apply.kind == APPLY_LEFT;
    if (a->plan->apply.kind == APPLY_SCALAR) TRY(scalar_value(a, w, inner, &scalar, err));
    for (uint32_t i = a->start[binding]; i < a->start[binding + 1]; i++) {
        TRY(exec_check_cancel(a->x, err));
        if (is_lateral)
            TRY(lateral(a, w, a->by_binding[i], inner, err));
        else
            TRY(add_result(a, w, r, a->by_binding[i], inner, &scalar, err));
    }
    return TCUDB_OK;
}

static tcudb_status run_binding(Apply *a, Worker *w, uint32_t binding, Results *r, Error *err)
{
    Exec child;
    Rows *inner;
    if (a->shared) return serve_rows(a, w, binding, a->inner, r, err);
    tcudb_status status = exec_child_new(a->x, w, &child, err);
    Outer *outer = NULL;
    if (status == TCUDB_OK) {
        outer = ARENA_ARRAY(&child.arena, Outer, a->nbind + 1, err);
        if (outer == NULL) status = TCUDB_NOMEM;
    }
    for (uint32_t i = 0; i < a->nbind && status == TCUDB_OK; i++) {
        Vector one;
        status = rows_slice(a->rows, a->bind[i], a->by_binding[a->start[binding]], 1, &child.arena, &one, err);
        if (status == TCUDB_OK) outer[i] = (Outer){a->bind_ids[i], vec_value(&one, 0)};
        if (status == TCUDB_OK) outer[i].value.type = one.type;
    }
    child.outer = outer;
    child.nouter = a->nbind;
    if (status == TCUDB_OK) status = run_inner(a, &child, &inner, err);
    if (status == TCUDB_OK) status = serve_rows(a, w, binding, inner, r, err);
    exec_end(&child);
    return status;
}

static tcudb_status run_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Apply *a = ctx;
    Results r;
    uint64_t end = (task + 1) * a->per_task < a->nbindings ? (task + 1) * a->per_task : a->nbindings;
    TRY(results_init(a, w, &r, err));
    for (uint64_t b = task * a->per_task; b < end && !stage_stopped(a->down); b++)
        TRY(run_binding(a, w, (uint32_t)b, &r, err));
    return flush(a, w, &r, err);
}

/* ---- the operator -------------------------------------------------------------------------------------------------
 */

static tcudb_status prepare(Apply *a, Error *err)
{
    Exec *x = a->x;
    const Plan *plan = a->plan;
    TRY(layout_of(x, plan->inputs[0], &a->left, err));
    TRY(layout_of(x, plan->inputs[1], &a->right, err));
    ColId *pair = ARENA_ARRAY(&x->arena, ColId, a->left.n + a->right.n + 1, err);
    TRY_PTR(pair);
    memcpy(pair, a->left.cols, a->left.n * sizeof *pair);
    memcpy(pair + a->left.n, a->right.cols, a->right.n * sizeof *pair);
    a->pair = (Layout){pair, a->left.n + a->right.n};
    TRY(layout_map(x, plan, &a->pair, &a->out_map, err));
    for (uint32_t i = 0; i < plan->ncols; i++) {
        bool lateral_kind = plan->apply.kind == APPLY_CROSS || plan->apply.kind == APPLY_LEFT;
        if (!lateral_kind && plan->cols[i].id == plan->apply.result.id) a->out_map[i] = RESULT_COL;
        if (a->out_map[i] < 0)
            return error_set(err, SQLSTATE_INTERNAL_ERROR, "column #%u of a subquery is in neither input",
                             plan->cols[i].id);
    }
    a->has_test = plan->apply.kind == APPLY_ANY || plan->apply.kind == APPLY_ALL;
    if (a->has_test) TRY(ev_new(x, plan->apply.test, &a->pair, &a->test, err));
    return find_bind_columns(a, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    enum { TASKS = 256 };
    Apply *a = ARENA_NEW(&x->arena, Apply, err);
    TRY_PTR(a);
    *a = (Apply){.x = x, .node = node, .plan = node->plan, .down = down};
    TRY(prepare(a, err));
    TRY(exec_collect(x, node->inputs[0], &a->rows, err));
    if (a->rows->n == 0) return TCUDB_OK;
    TRY(group_left(a, err));
    if (a->shared)
        TRY(run_inner(a, x, &a->inner, err));
    else
        TRY(exec_materialise_ctes(x, node->inputs[1], err));
    a->per_task = (a->nbindings + TASKS - 1) / TASKS;
    if (a->per_task == 0) a->per_task = 1;
    TRY(exec_source(x, node, down, (a->nbindings + a->per_task - 1) / a->per_task, run_task, a, err));
    rows_free(a->rows);
    return TCUDB_OK;
}

const Op op_apply = {.name = "Subquery", .engine = "cpu", .run = run};
