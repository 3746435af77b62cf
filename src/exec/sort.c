/*
 * sort.c: sorts the output of a node: ORDER BY, windows, and aggregates that take their rows in an order.
 *
 *     rows collected -> keys packed into words (sort_keys.c) -> items sorted (sort_items.c) -> row numbers in order
 *
 * Equal keys keep their input order, so the result is the same for any number of workers. With a limit, rows that
 * cannot be among the first are dropped while they are collected (topn.c), and only the buckets that can appear are
 * sorted.
 */
#include "exec/sort_int.h"

/* ---- collecting -------------------------------------------------------------------------------- */

/* Input columns, then one column per key expression that is not a bare column. */
typedef struct Prepare {
    Stage stage;
    uint32_t ncols, nextra;
    Ev *extra;
    TopN *top; /* NULL: every row is wanted */
} Prepare;

static tcudb_status prepare_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Prepare *p = (Prepare *)stage;
    Batch out = *batch;
    out.ncols = p->ncols + p->nextra;
    out.cols = ARENA_ARRAY(worker_arena(w), Vector, out.ncols + 1, err);
    TRY_PTR(out.cols);
    memcpy(out.cols, batch->cols, p->ncols * sizeof *out.cols);
    for (uint32_t i = 0; i < p->nextra; i++) TRY(ev_run(&p->extra[i], w, batch, &out.cols[p->ncols + i], err));
    if (p->top != NULL) TRY(topn_filter(p->top, w, &out, err));
    return stage_push(stage->down, w, &out, err);
}

static tcudb_status collect_input(Exec *x, PhysNode *node, const SortKey *keys, uint32_t nkeys, uint64_t limit,
                                  uint32_t *key_col, Rows **rows, Error *err)
{
    const Plan *input = node->plan->inputs[0];
    Layout in;
    Collector *c;
    TRY(layout_of(x, input, &in, err));
    Prepare *p = ARENA_NEW(&x->arena, Prepare, err);
    TRY_PTR(p);
    p->stage.push = prepare_push;
    p->ncols = input->ncols;
    p->extra = ARENA_ARRAY(&x->arena, Ev, nkeys + 1, err);
    TRY_PTR(p->extra);
    PlanCol *cols = ARENA_ARRAY(&x->arena, PlanCol, input->ncols + nkeys + 1, err);
    TRY_PTR(cols);
    memcpy(cols, input->cols, input->ncols * sizeof *cols);
    for (uint32_t k = 0; k < nkeys; k++) {
        Expr *e = keys[k].expr;
        int32_t at = e->kind == EXPR_COL ? layout_find(&in, e->col) : -1;
        key_col[k] = at >= 0 ? (uint32_t)at : p->ncols + p->nextra;
        if (at >= 0) continue;
        cols[key_col[k]] = (PlanCol){.type = e->type, .name = ""};
        TRY(ev_new(x, e, &in, &p->extra[p->nextra++], err));
    }
    if (nkeys > 0) TRY(topn_new(x, &keys[0], key_col[0], limit, &p->top, err));
    bool bounds = p->top != NULL && node->plan->kind == PLAN_SORT && node->plan->sort.bound != 0;
    if (bounds) TRY(topn_publish(p->top, x, node->plan->sort.bound, err));
    TRY(collector_new(x, cols, p->ncols + p->nextra, &c, err));
    stage_init(&p->stage, collector_stage(c));
    TRY(exec_produce(x, node->inputs[0], &p->stage, err));
    return collector_rows(c, node, rows, err);
}

static tcudb_status sorter_init(Sorter *s, const Rows *rows, const SortKey *keys, const uint32_t *key_col, Error *err)
{
    s->cols = ARENA_ARRAY(&s->x->arena, SortColumn, s->ncols + 1, err);
    TRY_PTR(s->cols);
    for (uint32_t k = 0; k < s->ncols; k++)
        s->cols[k] = (SortColumn){
            .col = &rows->cols[key_col[k]], .descending = keys[k].descending, .nulls_first = keys[k].nulls_first};
    s->items = exec_alloc(s->x, (s->n + 1) * sizeof *s->items, err);
    TRY_PTR(s->items);
    s->order = exec_alloc(s->x, (s->n + 1) * sizeof *s->order, err);
    TRY_PTR(s->order);
    return TCUDB_OK;
}

tcudb_status exec_sort_ways(Exec *x, PhysNode *node, const SortKey *keys, const uint32_t *nkeys, uint32_t nways,
                            uint64_t limit, Rows **rows, uint32_t **orders, Error *err)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < nways; i++) total += nkeys[i];
    uint32_t *key_col = ARENA_ARRAY(&x->arena, uint32_t, total + 1, err);
    TRY_PTR(key_col);
    TRY(collect_input(x, node, keys, total, limit, key_col, rows, err));
    for (uint32_t i = 0; i < nways; keys += nkeys[i], key_col += nkeys[i], i++) {
        Sorter s = {.x = x, .node = node, .n = (*rows)->n, .ncols = nkeys[i], .limit = limit};
        TRY(sorter_init(&s, *rows, keys, key_col, err));
        TRY(sort_make_items(&s, err));
        TRY(sort_items(&s, err));
        for (uint32_t k = 0; k < s.ncols; k++) exec_free(x, s.cols[k].rank);
        exec_free(x, s.items);
        orders[i] = s.order;
    }
    return TCUDB_OK;
}

tcudb_status exec_sort(Exec *x, PhysNode *node, const SortKey *keys, uint32_t nkeys, uint64_t limit, Rows **rows,
                       uint32_t **order, Error *err)
{
    return exec_sort_ways(x, node, keys, &nkeys, 1, limit, rows, order, err);
}
