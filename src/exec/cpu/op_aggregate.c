/*
 * op_aggregate.c: GROUP BY and aggregates: by an array over the keys' domains where they are small (dense.c), by
 * hashing (group.c) otherwise.
 *
 * Without GROUP BY there is always one row of output. A
 * hashed group's key and results are put out in the order in which groups first appear (per partition of the
 * hash when there are many).
 */
#include "exec/dense.h"
#include "exec/group.h"

#include <assert.h>
#include <stdlib.h>

typedef struct Output {
    PhysNode *node;
    const KeySpec *spec;
    const AggSpec *aggs;
    Groups groups;
    size_t stride, state_at;
    Stage *down;
} Output;

static tcudb_status push_groups(void *ctx, Worker *w, const char *rows, uint32_t n, Error *err)
{
    const Output *o = ctx;
    const Plan *plan = o->node->plan;
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = n, .n = n, .ncols = plan->ncols};
    batch.cols = ARENA_ARRAY(arena, Vector, plan->ncols + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        uint32_t ngroups = plan->agg.ngroups;
        if (i < ngroups)
            TRY(keys_decode(o->spec, i, rows + 8, o->stride, n, arena, &batch.cols[i], err));
        else
            TRY(agg_final(&o->aggs[i - ngroups], w, rows + o->state_at, o->stride, n, &batch.cols[i], err));
        batch.cols[i].type = plan->cols[i].type;
    }
    return stage_push(o->down, w, &batch, err);
}

static tcudb_status make_aggs(Exec *x, const Plan *plan, const Layout *in, AggSpec **out, Error *err)
{
    *out = ARENA_ARRAY(&x->arena, AggSpec, plan->agg.naggs + 1, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < plan->agg.naggs; i++) TRY(agg_spec(x, &plan->agg.aggs[i], in, &(*out)[i], err));
    return TCUDB_OK;
}

static tcudb_status make_keys(Exec *x, const Plan *plan, const Layout *in, KeySpec *spec, Ev **keys, Error *err)
{
    uint32_t n = plan->agg.ngroups;
    Type *types = ARENA_ARRAY(&x->arena, Type, n + 1, err);
    TRY_PTR(types);
    ColInfo *infos = ARENA_ARRAY(&x->arena, ColInfo, n + 1, err);
    TRY_PTR(infos);
    *keys = ARENA_ARRAY(&x->arena, Ev, n + 1, err);
    TRY_PTR(*keys);
    for (uint32_t i = 0; i < n; i++) {
        types[i] = plan->agg.groups[i].col.type;
        infos[i] = phys_expr_info(x->phys->info, x->phys->ninfo, plan->agg.groups[i].expr);
        TRY(ev_new(x, plan->agg.groups[i].expr, in, &(*keys)[i], err));
    }
    return keys_spec(x, types, infos, n, true, spec, err);
}

/* An aggregate over no rows, without groups, still gives one: add the empty key. */
static tcudb_status ensure_one_row(Exec *x, Output *o, Error *err)
{
    if (o->groups.n > 0 || o->node->plan->agg.ngroups > 0) return TCUDB_OK;
    o->groups.parts[0].rows = exec_alloc_zero(x, o->stride + 64, err);
    TRY_PTR(o->groups.parts[0].rows);
    o->groups.parts[0].n = 1;
    o->groups.n = 1;
    return TCUDB_OK;
}

/* The orders in which the aggregates want their rows: their ORDER BY; ascending arguments where DISTINCT meets an
 * aggregate that depends on order, as PostgreSQL sorts there. Others take part in the first. */
typedef struct Orders {
    uint32_t n;
    SortKey *keys; /* of one after the other */
    uint32_t *nkeys;
    uint32_t *phases; /* by aggregate: its order */
} Orders;

static bool same_keys(const SortKey *a, const SortKey *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!expr_equal(a[i].expr, b[i].expr) || a[i].descending != b[i].descending ||
            a[i].nulls_first != b[i].nulls_first)
            return false;
    return true;
}

/* Its number among the orders, which it is added to if it is new. */
static uint32_t add_order(Orders *o, const SortKey *keys, uint32_t n)
{
    SortKey *at = o->keys;
    for (uint32_t i = 0; i < o->n; at += o->nkeys[i], i++)
        if (o->nkeys[i] == n && same_keys(at, keys, n)) return i;
    memcpy(at, keys, n * sizeof *at);
    o->nkeys[o->n] = n;
    return o->n++;
}

static tcudb_status wanted_orders(Exec *x, const Plan *plan, const AggSpec *aggs, Orders *o, Error *err)
{
    uint32_t most = 0;
    for (uint32_t a = 0; a < plan->agg.naggs; a++) most += plan->agg.aggs[a].norder + plan->agg.aggs[a].nargs;
    *o = (Orders){.keys = ARENA_ARRAY(&x->arena, SortKey, most + 1, err)};
    TRY_PTR(o->keys);
    o->nkeys = ARENA_ARRAY(&x->arena, uint32_t, (size_t)2 * plan->agg.naggs + 1, err);
    TRY_PTR(o->nkeys);
    o->phases = o->nkeys + plan->agg.naggs;
    for (uint32_t a = 0; a < plan->agg.naggs; a++) {
        const AggCall *call = &plan->agg.aggs[a];
        SortKey own[2] = {{.expr = call->args[0]}, {.expr = call->args[1]}};
        if (call->norder > 0)
            o->phases[a] = add_order(o, call->order, call->norder);
        else if (aggs[a].distinct && agg_ordered(&aggs[a]))
            o->phases[a] = add_order(o, own, call->nargs);
    }
    return TCUDB_OK;
}

static tcudb_status run_input(Exec *x, PhysNode *node, const AggSpec *aggs, Grouping *g, Error *err)
{
    Orders wanted;
    Rows *rows;
    Stage *stage = grouping_stage(g);
    TRY(wanted_orders(x, node->plan, aggs, &wanted, err));
    if (wanted.n == 0) return exec_produce(x, node->inputs[0], stage, err);
    uint32_t **orders = ARENA_ARRAY(&x->arena, uint32_t *, wanted.n, err);
    TRY_PTR(orders);
    TRY(exec_sort_ways(x, node, wanted.keys, wanted.nkeys, wanted.n, UINT64_MAX, &rows, orders, err));
    for (uint32_t i = 0; i < wanted.n; i++) {
        grouping_set_phase(g, wanted.phases, i);
        stage->from = NULL;
        TRY(rows_push_order(x, node, rows, orders[i], rows->n, NULL, 0, stage, err));
        exec_free(x, orders[i]);
    }
    rows_free(rows);
    return TCUDB_OK;
}

static tcudb_status run_hashed(Exec *x, PhysNode *node, const Layout *in, AggSpec *aggs, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    KeySpec spec;
    Ev *keys;
    Grouping *g;
    TRY(make_keys(x, plan, in, &spec, &keys, err));
    TRY(grouping_new(x, node, &spec, keys, aggs, plan->agg.naggs, &g, err));
    TRY(run_input(x, node, aggs, g, err));
    Output o = {.node = node, .spec = &spec, .aggs = aggs, .down = down};
    o.stride = grouping_stride(g);
    o.state_at = grouping_state_at(g);
    TRY(grouping_finish(g, &o.groups, err));
    TRY(ensure_one_row(x, &o, err));
    return groups_put_out(x, node, down, &o.groups, (uint32_t)o.stride, push_groups, &o, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Layout in;
    AggSpec *aggs;
    Dense *dense;
    TRY(layout_of(x, node->plan->inputs[0], &in, err));
    TRY(make_aggs(x, node->plan, &in, &aggs, err));
    TRY(dense_new(x, node, &in, aggs, node->plan->agg.naggs, &dense, err));
    if (dense == NULL) return run_hashed(x, node, &in, aggs, down, err);
    TRY(exec_produce(x, node->inputs[0], dense_stage(dense), err));
    return dense_output(dense, down, err);
}

const Op op_aggregate = {.name = "Aggregate", .engine = "cpu", .run = run};
