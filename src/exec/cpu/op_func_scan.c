/*
 * op_func_scan.c: runs a table function: its tasks are the phase's tasks, or sixteen of them if there are many,
 * so that what is kept per task (a run of groups, a segment of an INSERT) is worth having.
 */
#include "exec/exec_int.h"
#include "plan/table_func.h"

enum { MANY_TASKS = 256 };

typedef struct FuncScan {
    Exec *x;
    const TableFunc *func;
    TableFuncScan *scan;
    Stage *down;
    uint64_t tasks, per_task; /* of the function; how many a task of ours runs, one after the other */
} FuncScan;

static tcudb_status run_one(FuncScan *f, Worker *w, uint64_t task, Error *err)
{
    void *cursor = NULL;
    tcudb_status status = TCUDB_OK;
    while (status == TCUDB_OK && !stage_stopped(f->down)) {
        Batch batch = {0};
        bool done = false;
        arena_reset(&w->batch);
        TRY_GOTO(exec_check_cancel(f->x, err));
        TRY_GOTO(f->func->next(f->scan, task, &cursor, &w->batch, &batch, &done, err));
        if (done) break;
        if (f->x->env->progress != NULL) atomic_fetch_add(&f->x->env->progress->done, batch.n);
        TRY_GOTO(stage_push(f->down, w, &batch, err));
    }
done:
    if (f->func->end_task != NULL) f->func->end_task(f->scan, cursor);
    return status;
}

static tcudb_status run_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    FuncScan *f = ctx;
    uint64_t end = (task + 1) * f->per_task < f->tasks ? (task + 1) * f->per_task : f->tasks;
    for (uint64_t t = task * f->per_task; t < end && !stage_stopped(f->down); t++) TRY(run_one(f, w, t, err));
    return TCUDB_OK;
}

/* What the function makes of its arguments: bound with the plan, or now that they have values. */
static tcudb_status bound_now(Exec *x, const Plan *plan, const TableFuncBound **out, Error *err)
{
    *out = plan->func_scan.call.bound;
    uint32_t n = plan->func_scan.nargs;
    if (n == 0) return TCUDB_OK;
    TableFuncArg *args = ARENA_ARRAY(&x->arena, TableFuncArg, n, err);
    TRY_PTR(args);
    TableFuncBound *bound = ARENA_NEW(&x->arena, TableFuncBound, err);
    TRY_PTR(bound);
    for (uint32_t i = 0; i < n; i++) TRY(ev_value(x, plan->func_scan.args[i], &args[i].value, err));
    *out = bound;
    const EvalCtx ctx = {.arena = &x->arena, .cancel = x->env->cancel};
    return plan->func_scan.call.func->bind(&ctx, args, n, bound, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    FuncScan f = {.x = x, .func = plan->func_scan.call.func, .down = down};
    const TableFuncBound *bound = NULL;
    TRY(bound_now(x, plan, &bound, err));
    const ExecEnv *env = x->env;
    TRY(f.func->open(bound, plan->func_scan.columns, plan->ncols, env->cancel, env->mem, &f.scan, &f.tasks, err));
    f.per_task = f.tasks >= MANY_TASKS ? 16 : 1;
    uint64_t ours = (f.tasks + f.per_task - 1) / f.per_task;
    tcudb_status status = exec_source(x, node, down, ours, run_task, &f, err);
    f.func->close(f.scan);
    return status;
}

const Op op_func_scan = {.name = "Function Scan", .engine = "cpu", .run = run};
