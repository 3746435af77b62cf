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

/* The order in which the aggregates want their rows: their ORDER BY; ascending arguments where DISTINCT meets an
 * aggregate that depends on order, as PostgreSQL sorts there. */
static tcudb_status wanted_order(Exec *x, const Plan *plan, const AggSpec *aggs, const SortKey **keys, uint32_t *nkeys,
                                 Error *err)
{
    *nkeys = 0;
    for (uint32_t a = 0; a < plan->agg.naggs; a++) {
        const AggCall *call = &plan->agg.aggs[a];
        SortKey *own = call->order;
        uint32_t n = call->norder;
        if (n == 0 && aggs[a].distinct && agg_ordered(&aggs[a])) {
            n = call->nargs;
            own = ARENA_ARRAY(&x->arena, SortKey, n, err);
            TRY_PTR(own);
            for (uint32_t i = 0; i < n; i++) own[i].expr = call->args[i];
        }
        if (n == 0) continue;
        bool same = *nkeys == 0 || *nkeys == n;
        for (uint32_t i = 0; i < n && same && *nkeys > 0; i++)
            same = expr_equal((*keys)[i].expr, own[i].expr) && (*keys)[i].descending == own[i].descending &&
                   (*keys)[i].nulls_first == own[i].nulls_first;
        if (!same) return error_unsupported(err, 0, "aggregates with different ORDER BY in one query");
        *keys = own;
        *nkeys = n;
    }
    return TCUDB_OK;
}

static tcudb_status run_input(Exec *x, PhysNode *node, const AggSpec *aggs, Stage *stage, Error *err)
{
    const SortKey *keys = NULL;
    uint32_t nkeys, *order;
    Rows *rows;
    TRY(wanted_order(x, node->plan, aggs, &keys, &nkeys, err));
    if (nkeys == 0) return exec_produce(x, node->inputs[0], stage, err);
    TRY(exec_sort(x, node, keys, nkeys, UINT64_MAX, &rows, &order, err));
    stage->from = NULL;
    TRY(rows_push_order(x, node, rows, order, rows->n, NULL, 0, stage, err));
    exec_free(x, order);
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
    TRY(run_input(x, node, aggs, grouping_stage(g), err));
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
