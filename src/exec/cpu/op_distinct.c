/*
 * op_distinct.c: DISTINCT over all columns, and the set operations: grouping by the whole row.
 *
 * INTERSECT and EXCEPT count each side's copies of a row; ALL puts out min(l, r) or l - r copies. UNION ALL
 * just runs both inputs into the stage above.
 */
#include "exec/group.h"

typedef struct RowGroups {
    Exec *x;
    PhysNode *node;
    KeySpec spec;
    AggSpec counts[2];
    Grouping *g;
    Groups groups;
    Stage *down;
} RowGroups;

/* Copies of a row that a set operation puts out. */
static uint64_t copies(const Plan *plan, int64_t left, int64_t right)
{
    if (plan->kind == PLAN_DISTINCT || plan->set_op.kind == SET_UNION) return 1;
    if (plan->set_op.kind == SET_INTERSECT) {
        int64_t both = left < right ? left : right;
        return plan->set_op.all ? (uint64_t)both : both > 0;
    }
    if (plan->set_op.all) return left > right ? (uint64_t)(left - right) : 0;
    return left > 0 && right == 0;
}

static tcudb_status push_rows(RowGroups *r, Worker *w, const char *rows, const uint16_t *sel, uint32_t n,
                              uint32_t nrows, Error *err)
{
    const Plan *plan = r->node->plan;
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = nrows, .n = n, .ncols = plan->ncols, .sel = sel};
    batch.cols = ARENA_ARRAY(arena, Vector, plan->ncols + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        TRY(keys_decode(&r->spec, i, rows + 8, grouping_stride(r->g), nrows, arena, &batch.cols[i], err));
        batch.cols[i].type = plan->cols[i].type;
    }
    return stage_push(r->down, w, &batch, err);
}

static tcudb_status push_copies(void *ctx, Worker *w, const char *rows, uint32_t n, Error *err)
{
    RowGroups *r = ctx;
    size_t stride = grouping_stride(r->g), state_at = grouping_state_at(r->g);
    uint16_t *sel = arena_alloc_raw(worker_arena(w), (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    for (uint64_t round = 0;; round++) { /* each round puts out the rows with more than `round` copies */
        uint32_t k = 0;
        for (uint32_t i = 0; i < n; i++) {
            int64_t count[2] = {1, 0};
            if (r->node->plan->kind == PLAN_SET_OP) memcpy(count, rows + i * stride + state_at, sizeof count);
            sel[k] = (uint16_t)i;
            k += copies(r->node->plan, count[0], count[1]) > round;
        }
        if (k == 0) return TCUDB_OK;
        TRY(push_rows(r, w, rows, k == n ? NULL : sel, k, n, err));
    }
}

/* Keys: all columns of the node; each input brings its own columns by position. */
static tcudb_status row_groups(Exec *x, PhysNode *node, Stage *down, uint32_t naggs, RowGroups **out, Ev **keys,
                               Error *err)
{
    const Plan *plan = node->plan;
    RowGroups *r = ARENA_NEW(&x->arena, RowGroups, err);
    TRY_PTR(r);
    *r = (RowGroups){.x = x, .node = node, .down = down};
    Type *types = ARENA_ARRAY(&x->arena, Type, plan->ncols + 1, err);
    TRY_PTR(types);
    ColInfo *infos = ARENA_ARRAY(&x->arena, ColInfo, plan->ncols + 1, err);
    TRY_PTR(infos);
    *keys = ARENA_ARRAY(&x->arena, Ev, plan->ncols + 1, err);
    TRY_PTR(*keys);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        types[i] = plan->cols[i].type;
        if (plan->kind == PLAN_DISTINCT) infos[i] = *exec_info(x, plan->cols[i].id);
    }
    TRY(keys_spec(x, types, infos, plan->ncols, true, &r->spec, err));
    for (uint32_t i = 0; i < naggs; i++) {
        r->counts[i] = (AggSpec){.kind = AGG_COUNT_STAR, .result = TYPE(TYPE_INT8)};
        r->counts[i].size = agg_state_size(AGG_COUNT_STAR, PHYS_BOOL);
    }
    TRY(grouping_new(x, node, &r->spec, *keys, r->counts, naggs, &r->g, err));
    *out = r;
    return TCUDB_OK;
}

static tcudb_status run_input(RowGroups *r, uint32_t side, Ev *keys, Error *err)
{
    const Plan *input = r->node->plan->inputs[side];
    Layout in;
    TRY(layout_of(r->x, input, &in, err));
    for (uint32_t i = 0; i < input->ncols; i++) {
        Expr *col = expr_col(&r->x->arena, input->cols[i].id, r->node->plan->cols[i].type, 0, err);
        TRY_PTR(col);
        TRY(ev_new(r->x, col, &in, &keys[i], err));
    }
    return exec_produce(r->x, r->node->inputs[side], grouping_stage(r->g), err);
}

/* DISTINCT ON: the first row of each key, in input order. */
static tcudb_status first_rows(Exec *x, const Rows *rows, const uint32_t *on, uint32_t non, uint32_t *order,
                               uint64_t *n, Error *err)
{
    Worker *w = &x->workers[0];
    KeySpec spec;
    KeyTable seen;
    Type *types = ARENA_ARRAY(&x->arena, Type, non + 1, err);
    TRY_PTR(types);
    for (uint32_t i = 0; i < non; i++) types[i] = rows->cols[on[i]].type;
    TRY(keys_spec(x, types, NULL, non, true, &spec, err));
    TRY(keytable_init(x, &spec, 0, NULL, &seen, err));
    *n = 0;
    for (uint64_t at = 0; at < rows->n; at += BATCH_ROWS) {
        uint32_t count = rows->n - at < BATCH_ROWS ? (uint32_t)(rows->n - at) : BATCH_ROWS;
        TRY(exec_check_cancel(x, err));
        arena_reset(&w->batch);
        Vector *cols = ARENA_ARRAY(&w->batch, Vector, non + 1, err);
        TRY_PTR(cols);
        for (uint32_t c = 0; c < non; c++) TRY(rows_slice(rows, on[c], at, count, &w->batch, &cols[c], err));
        uint64_t *keys = arena_alloc_raw(&w->batch, ((size_t)count * spec.words + 1) * sizeof *keys, err);
        TRY_PTR(keys);
        uint64_t *hash = arena_alloc_raw(&w->batch, count * sizeof *hash, err);
        TRY_PTR(hash);
        TRY(keys_encode(&spec, &w->batch, cols, NULL, count, count, keys, hash, err));
        for (uint32_t i = 0; i < count; i++) {
            uint32_t ignored;
            bool found;
            TRY(keytable_add(&seen, keys + (size_t)i * spec.words, hash[i], &ignored, &found, err));
            order[*n] = (uint32_t)(at + i);
            *n += !found;
        }
    }
    keytable_free(&seen);
    return TCUDB_OK;
}

static tcudb_status run_distinct_on(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    const Plan *plan = node->plan;
    Rows *rows;
    Layout in;
    int32_t *map;
    uint64_t n;
    TRY(layout_of(x, plan->inputs[0], &in, err));
    TRY(layout_map_all(x, plan, &in, &map, err));
    TRY(exec_collect(x, node->inputs[0], &rows, err));
    uint32_t *on = ARENA_ARRAY(&x->arena, uint32_t, plan->distinct.non + 1, err);
    TRY_PTR(on);
    for (uint32_t i = 0; i < plan->distinct.non; i++) {
        int32_t at = layout_find(&in, plan->distinct.on[i]);
        if (at < 0) return error_set(err, SQLSTATE_INTERNAL_ERROR, "DISTINCT ON names no input column");
        on[i] = (uint32_t)at;
    }
    uint32_t *order = exec_alloc(x, (rows->n + 1) * sizeof *order, err);
    TRY_PTR(order);
    TRY(first_rows(x, rows, on, plan->distinct.non, order, &n, err));
    TRY(rows_push_order(x, node, rows, order, n, (const uint32_t *)map, plan->ncols, down, err));
    exec_free(x, order);
    rows_free(rows);
    return TCUDB_OK;
}

static tcudb_status run_distinct(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    RowGroups *r;
    Ev *keys;
    if (node->plan->distinct.non > 0) return run_distinct_on(x, node, down, err);
    TRY(row_groups(x, node, down, 0, &r, &keys, err));
    TRY(run_input(r, 0, keys, err));
    TRY(grouping_finish(r->g, &r->groups, err));
    return groups_put_out(x, node, down, &r->groups, grouping_stride(r->g), push_copies, r, err);
}

static tcudb_status run_set_op(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    RowGroups *r;
    Ev *keys;
    if (node->plan->set_op.kind == SET_UNION && node->plan->set_op.all) {
        for (uint32_t side = 0; side < 2 && !stage_stopped(down); side++)
            TRY(exec_union_side(x, node, side, down, err));
        return TCUDB_OK;
    }
    TRY(row_groups(x, node, down, 2, &r, &keys, err));
    for (uint32_t side = 0; side < 2; side++) {
        grouping_set_side(r->g, side);
        TRY(run_input(r, side, keys, err));
    }
    TRY(grouping_finish(r->g, &r->groups, err));
    return groups_put_out(x, node, down, &r->groups, grouping_stride(r->g), push_copies, r, err);
}

/* ---- UNION ALL: renames and counts ---------------------------------------------------------------------- */

typedef struct Rename {
    Stage stage;
    PhysNode *node;
} Rename;

static tcudb_status rename_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    return stage_push(stage->down, w, batch, err);
}

tcudb_status exec_union_side(Exec *x, PhysNode *node, uint32_t side, Stage *down, Error *err)
{
    Rename *rename = ARENA_NEW(&x->arena, Rename, err);
    TRY_PTR(rename);
    stage_init(&rename->stage, down);
    rename->stage.push = rename_push;
    return exec_produce(x, node->inputs[side], &rename->stage, err);
}

const Op op_distinct = {.name = "Distinct", .engine = "cpu", .run = run_distinct};
const Op op_set_op = {.name = "Set Operation", .engine = "cpu", .run = run_set_op};
