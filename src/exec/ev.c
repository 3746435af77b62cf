/*
 * ev.c: expressions of a plan made ready for an execution.
 *
 * Outer columns (of a row around an Apply) are replaced by their values, so an inner plan is compiled anew
 * for each binding and constant folding works on it. Evaluator states are made by the worker that uses
 * them and live as long as the execution that the expression was made ready for.
 */
#include "exec/exec_int.h"

tcudb_status layout_of(Exec *x, const Plan *plan, Layout *out, Error *err)
{
    ColId *cols = ARENA_ARRAY(&x->arena, ColId, plan->ncols + 1, err);
    TRY_PTR(cols);
    for (uint32_t i = 0; i < plan->ncols; i++) cols[i] = plan->cols[i].id;
    *out = (Layout){cols, plan->ncols};
    return TCUDB_OK;
}

int32_t layout_find(const Layout *layout, ColId col)
{
    for (uint32_t i = 0; i < layout->n; i++)
        if (layout->cols[i] == col) return (int32_t)i;
    return -1;
}

tcudb_status layout_map(Exec *x, const Plan *plan, const Layout *in, int32_t **out, Error *err)
{
    *out = ARENA_ARRAY(&x->arena, int32_t, plan->ncols + 1, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < plan->ncols; i++) (*out)[i] = layout_find(in, plan->cols[i].id);
    return TCUDB_OK;
}

const Value *exec_outer(const Exec *x, ColId col)
{
    for (; x != NULL; x = x->parent)
        for (uint32_t i = 0; i < x->nouter; i++)
            if (x->outer[i].col == col) return &x->outer[i].value;
    return NULL;
}

tcudb_status layout_map_all(Exec *x, const Plan *plan, const Layout *in, int32_t **out, Error *err)
{
    TRY(layout_map(x, plan, in, out, err));
    for (uint32_t i = 0; i < plan->ncols; i++)
        if ((*out)[i] < 0)
            return error_set(err, SQLSTATE_INTERNAL_ERROR, "column #%u of a %s is not in its input", plan->cols[i].id,
                             plan_kind_name(plan->kind));
    return TCUDB_OK;
}

static bool has_outer(const Exec *x)
{
    while (x != NULL && x->nouter == 0) x = x->parent;
    return x != NULL;
}

typedef struct Binder {
    Exec *x;
    Arena *arena;
    const Layout *layout;
} Binder;

static tcudb_status bind_outer(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    Binder *b = ctx;
    if (e->kind != EXPR_COL || layout_find(b->layout, e->col) >= 0) return TCUDB_OK;
    const Value *value = exec_outer(b->x, e->col);
    if (value == NULL) return TCUDB_OK; /* eval_compile names the column */
    Value typed = *value;
    typed.type = e->type;
    *replacement = expr_const(b->arena, &typed, e->position, err);
    return *replacement == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

tcudb_status exec_bind_expr_in(Exec *x, Arena *arena, Expr *e, const Layout *layout, Expr **out, Error *err)
{
    Binder b = {x, arena, layout};
    *out = e;
    if (!has_outer(x)) return TCUDB_OK;
    return expr_replace(arena, e, bind_outer, &b, out, err);
}

tcudb_status exec_bind_expr(Exec *x, Expr *e, const Layout *layout, Expr **out, Error *err)
{
    return exec_bind_expr_in(x, &x->arena, e, layout, out, err);
}

tcudb_status ev_new(Exec *x, Expr *e, const Layout *layout, Ev *out, Error *err)
{
    Expr *bound = e;
    TRY(exec_bind_expr(x, e, layout, &bound, err));
    Evaluator *evaluator;
    TRY(eval_compile(&x->arena, bound, layout->cols, layout->n, x->env->params, x->env->nparams, &evaluator, err));
    *out = (Ev){.e = evaluator, .x = x, .type = e->type, .expr = bound};
    out->states = ARENA_ARRAY(&x->arena, EvalState *, x->nworkers, err);
    TRY_PTR(out->states);
    return TCUDB_OK;
}

static tcudb_status ev_state(const Ev *ev, Worker *w, EvalState **out, Error *err)
{
    Arena *arena = &ev->x->workers[w->id].own; /* w may be of an execution within x, which ends before */
    if (ev->states[w->id] == NULL) TRY(eval_state_new(arena, ev->e, &ev->states[w->id], err));
    *out = ev->states[w->id];
    return TCUDB_OK;
}

tcudb_status ev_run(const Ev *ev, Worker *w, const Batch *batch, Vector *out, Error *err)
{
    EvalState *state;
    TRY(ev_state(ev, w, &state, err));
    return eval_run(ev->e, state, &w->ctx, batch, out, err);
}

tcudb_status ev_filter(const Ev *ev, Worker *w, const Batch *batch, uint16_t *sel, uint32_t *n, Error *err)
{
    EvalState *state;
    TRY(ev_state(ev, w, &state, err));
    return eval_filter(ev->e, state, &w->ctx, batch, sel, n, err);
}

tcudb_status ev_value(Exec *x, Expr *e, Value *out, Error *err)
{
    Layout none = {NULL, 0};
    Expr *bound = e;
    TRY(exec_bind_expr(x, e, &none, &bound, err));
    EvalCtx ctx = x->workers[0].ctx;
    ctx.arena = &x->arena;
    return eval_const(&x->arena, bound, x->env->params, x->env->nparams, &ctx, out, err);
}
