/*
 * node_class.c: a number for the shape of a plan.
 *
 * A hash over the tree: kinds, tables, functions, columns, the magnitude (base 4) of each scan. Columns count by the
 * order in which they are met, since their ids depend on what was tried before. Two shapes of one number would share
 * what they took (64 bits: never). Cost: a visit of every expression.
 */
#include "opt/node_class.h"

#include <math.h>

enum { COLS = 128 };

typedef struct Shape {
    uint64_t hash;
    ColId cols[COLS];
    uint32_t ncols;
} Shape;

static void mix(Shape *s, uint64_t value)
{
    s->hash = (s->hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    s->hash ^= s->hash >> 29;
}

static uint32_t number_of(Shape *s, ColId col)
{
    uint32_t i = 0;
    while (i < s->ncols && s->cols[i] != col) i++;
    if (i == s->ncols && i < COLS) s->cols[s->ncols++] = col;
    return i;
}

static bool mix_expr(void *ctx, const Expr *e)
{
    Shape *s = ctx;
    mix(s, (uint64_t)e->kind << 32 | e->nargs);
    if (e->kind == EXPR_COL) mix(s, number_of(s, e->col));
    if (e->kind == EXPR_FUNC) mix(s, (uint64_t)(uintptr_t)e->func);
    return true;
}

static void mix_exprs(Shape *s, Expr *const *exprs, uint32_t n)
{
    mix(s, n);
    for (uint32_t i = 0; i < n; i++) (void)expr_walk(exprs[i], mix_expr, s);
}

static void mix_named(Shape *s, const NamedExpr *exprs, uint32_t n)
{
    mix(s, n);
    for (uint32_t i = 0; i < n; i++) (void)expr_walk(exprs[i].expr, mix_expr, s);
}

static void mix_calls(Shape *s, const Plan *agg)
{
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        const AggCall *call = &agg->agg.aggs[i];
        mix(s, (uint64_t)call->kind << 1 | call->distinct);
        mix_exprs(s, call->args, call->nargs);
        if (call->filter != NULL) (void)expr_walk(call->filter, mix_expr, s);
    }
}

static void mix_scan(Shape *s, const Plan *scan)
{
    mix(s, table_def(scan->scan.table)->id);
    mix(s, (uint64_t)lround(log2(fmax(1, scan->rows)) / 2));
    for (uint32_t i = 0; i < scan->ncols; i++)
        mix(s, (uint64_t)number_of(s, scan->cols[i].id) << 32 | scan->scan.columns[i]);
    mix_exprs(s, scan->scan.filters, scan->scan.nfilters);
}

static void mix_plan(Shape *s, const Plan *plan)
{
    mix(s, (uint64_t)plan->kind << 32 | plan->ninputs);
    for (uint32_t i = 0; i < plan->ninputs; i++) mix_plan(s, plan->inputs[i]);
    switch (plan->kind) {
    case PLAN_SCAN: mix_scan(s, plan); break;
    case PLAN_FILTER: mix_exprs(s, plan->filter.conds, plan->filter.nconds); break;
    case PLAN_PROJECT: mix_named(s, plan->project.exprs, plan->ncols); break;
    case PLAN_JOIN:
        mix(s, plan->join.kind);
        mix_exprs(s, plan->join.conds, plan->join.nconds);
        break;
    case PLAN_AGGREGATE:
        mix_named(s, plan->agg.groups, plan->agg.ngroups);
        mix_calls(s, plan);
        break;
    default: break;
    }
}

uint64_t node_class(const Plan *plan)
{
    Shape s = {.hash = 1};
    mix_plan(&s, plan);
    return s.hash != 0 ? s.hash : 1;
}
