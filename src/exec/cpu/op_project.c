/*
 * op_project.c: computes expressions. Streaming; a bare column costs nothing.
 */
#include "exec/exec_int.h"

typedef struct Project {
    Stage stage;
    Ev *exprs;
    uint32_t ncols;
} Project;

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Project *p = (Project *)stage;
    Batch out = *batch;
    out.ncols = p->ncols;
    out.cols = ARENA_ARRAY(worker_arena(w), Vector, p->ncols + 1, err);
    TRY_PTR(out.cols);
    for (uint32_t i = 0; i < p->ncols; i++) TRY(ev_run(&p->exprs[i], w, batch, &out.cols[i], err));
    return stage_push(p->stage.down, w, &out, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Layout in;
    Project *p = ARENA_NEW(&x->arena, Project, err);
    TRY_PTR(p);
    stage_init(&p->stage, down);
    p->stage.push = push;
    p->ncols = plan->ncols;
    TRY(layout_of(x, plan->inputs[0], &in, err));
    p->exprs = ARENA_ARRAY(&x->arena, Ev, p->ncols + 1, err);
    TRY_PTR(p->exprs);
    for (uint32_t i = 0; i < p->ncols; i++) TRY(ev_new(x, plan->project.exprs[i].expr, &in, &p->exprs[i], err));
    return exec_produce(x, node->inputs[0], &p->stage, err);
}

const Op op_project = {.name = "Project", .engine = "cpu", .run = run};
