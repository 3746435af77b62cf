/*
 * op_values.c: rows of expressions without columns: VALUES, SELECT without FROM.
 *
 * Long lists are cut into tasks of BATCH_ROWS rows; each expression is evaluated once, on its own.
 */
#include "exec/exec_int.h"

typedef struct Values {
    Exec *x;
    const Plan *plan;
    Stage *down;
} Values;

static tcudb_status fill_column(Values *v, Worker *w, uint64_t first, uint32_t n, uint32_t col, Vector *out, Error *err)
{
    const Plan *plan = v->plan;
    Layout none = {NULL, 0};
    Arena *arena = worker_arena(w);
    TRY(vec_new(arena, plan->cols[col].type, n, out, err));
    size_t size = phys_size((Phys)out->phys);
    for (uint32_t i = 0; i < n; i++) {
        Expr *e = plan->values.rows_exprs[(first + i) * plan->ncols + col];
        Value value;
        if (e->kind == EXPR_CONST) {
            value = e->value;
        } else {
            TRY(exec_bind_expr_in(v->x, arena, e, &none, &e, err));
            TRY(eval_const(arena, e, v->x->env->params, v->x->env->nparams, &w->ctx, &value, err));
        }
        if (value.null) {
            TRY(vec_need_valid(arena, out, n, err));
            bit_clear(out->valid, i);
            continue;
        }
        Vector one;
        value.type = out->type;
        TRY(vec_const(arena, &value, &one, err));
        memcpy((char *)out->data + i * size, one.data, size);
    }
    return TCUDB_OK;
}

static tcudb_status run_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Values *v = ctx;
    uint64_t first = task * BATCH_ROWS;
    uint32_t n = v->plan->values.nrows - first < BATCH_ROWS ? (uint32_t)(v->plan->values.nrows - first) : BATCH_ROWS;
    Batch batch = {.rows = n, .n = n, .ncols = v->plan->ncols};
    batch.cols = ARENA_ARRAY(worker_arena(w), Vector, batch.ncols + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t i = 0; i < batch.ncols; i++) TRY(fill_column(v, w, first, n, i, &batch.cols[i], err));
    return stage_push(v->down, w, &batch, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Values v = {x, node->plan, down};
    uint64_t tasks = (node->plan->values.nrows + BATCH_ROWS - 1) / BATCH_ROWS;
    return exec_source(x, node, down, tasks, run_task, &v, err);
}

const Op op_values = {.name = "Values", .engine = "cpu", .run = run};
