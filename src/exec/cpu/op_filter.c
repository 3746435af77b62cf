/*
 * op_filter.c: keeps the rows where every condition is true. Streaming: only the list of live rows changes.
 */
#include "exec/exec_int.h"

typedef struct Filter {
    Stage stage;
    Ev *conds;
    uint32_t nconds;
    int32_t *map; /* output column -> input column */
    uint32_t ncols;
} Filter;

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Filter *f = (Filter *)stage;
    Arena *arena = worker_arena(w);
    uint16_t *sel = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    Batch out = *batch;
    for (uint32_t i = 0; i < f->nconds && out.n > 0; i++) {
        uint32_t n;
        TRY(ev_filter(&f->conds[i], w, &out, sel, &n, err));
        out.sel = sel;
        out.n = n;
    }
    if (out.n == 0) return TCUDB_OK;
    out.ncols = f->ncols;
    out.cols = ARENA_ARRAY(arena, Vector, f->ncols + 1, err);
    TRY_PTR(out.cols);
    for (uint32_t i = 0; i < f->ncols; i++) out.cols[i] = batch->cols[f->map[i]];
    return stage_push(f->stage.down, w, &out, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Layout in;
    Filter *f = ARENA_NEW(&x->arena, Filter, err);
    TRY_PTR(f);
    stage_init(&f->stage, down);
    f->stage.push = push;
    f->nconds = plan->filter.nconds;
    f->ncols = plan->ncols;
    TRY(layout_of(x, plan->inputs[0], &in, err));
    TRY(layout_map_all(x, plan, &in, &f->map, err));
    f->conds = ARENA_ARRAY(&x->arena, Ev, f->nconds + 1, err);
    TRY_PTR(f->conds);
    for (uint32_t i = 0; i < f->nconds; i++) TRY(ev_new(x, plan->filter.conds[i], &in, &f->conds[i], err));
    return exec_produce(x, node->inputs[0], &f->stage, err);
}

const Op op_filter = {.name = "Filter", .engine = "cpu", .run = run};
