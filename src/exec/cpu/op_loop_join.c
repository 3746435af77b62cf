/*
 * op_loop_join.c: joins by trying every pair: cross products and conditions that are no equalities.
 *
 * The right input is kept. A pair batch is made without copying: either one left row (as constants) against a
 * slice of right rows, or one right row (as constants) against the left batch, whichever gives the longer
 * batches. Cost: left rows x right rows / a few per nanosecond.
 */
#include "exec/cpu/join_int.h"

#include <assert.h>

typedef struct Loop {
    Join *j;
    Worker *w;
    const Batch *batch;
    uint8_t *flags, *unknown;
} Loop;

/* Three-valued test of a pair batch: sel gets the true rows, maybe[] the rows that are NULL. */
static tcudb_status test(Loop *l, Batch *pairs, uint16_t *sel, uint32_t *n, uint16_t *maybe, uint32_t *nmaybe,
                         Error *err)
{
    Join *j = l->j;
    *nmaybe = 0;
    if (!j->has_residual) {
        for (uint32_t i = 0; i < pairs->n; i++) sel[i] = (uint16_t)batch_row(pairs, i);
        *n = pairs->n;
        return TCUDB_OK;
    }
    if (l->unknown == NULL) return ev_filter(&j->residual, l->w, pairs, sel, n, err);
    Vector v;
    TRY(ev_run(&j->residual, l->w, pairs, &v, err));
    *n = 0;
    for (uint32_t i = 0; i < pairs->n; i++) {
        uint32_t row = batch_row(pairs, i);
        bool null = vec_is_null(&v, row), yes = !null && ((const uint8_t *)v.data)[v.form == VEC_CONST ? 0 : row];
        if (yes) sel[(*n)++] = (uint16_t)row;
        if (null) maybe[(*nmaybe)++] = (uint16_t)row;
    }
    return TCUDB_OK;
}

static tcudb_status single_error(Error *err)
{
    return error_set(err, SQLSTATE_CARDINALITY_VIOLATION,
                     "more than one row returned by a subquery used as an expression");
}

/* left_row >= 0: the pairs' rows are right rows from `at` on; else: left rows, all with right row `at`. */
static tcudb_status take(Loop *l, Batch *pairs, int32_t left_row, uint64_t at, Error *err)
{
    Join *j = l->j;
    Arena *arena = worker_arena(l->w);
    uint16_t *sel = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    uint16_t *maybe = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *maybe, err);
    TRY_PTR(maybe);
    uint32_t n, nmaybe;
    TRY(test(l, pairs, sel, &n, maybe, &nmaybe, err));
    for (uint32_t i = 0; i < nmaybe; i++) l->unknown[left_row >= 0 ? (uint32_t)left_row : maybe[i]] = 1;
    if (n == 0) return TCUDB_OK;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t left = left_row >= 0 ? (uint32_t)left_row : sel[i];
        if (j->kind == JOIN_SINGLE && l->flags[left]) return single_error(err);
        l->flags[left] = 1;
        if (j->matched != NULL) __atomic_store_n(&j->matched[at + (left_row >= 0 ? sel[i] : 0)], 1, __ATOMIC_RELAXED);
    }
    if (!join_wants_pairs(j->kind)) return TCUDB_OK;
    Batch out = *pairs;
    out.n = n;
    out.sel = n == out.rows ? NULL : sel;
    return join_output(j, l->w, &out, NULL, err);
}

static tcudb_status left_against_right(Loop *l, uint32_t left_row, uint64_t at, uint32_t n, Error *err)
{
    Join *j = l->j;
    Arena *arena = worker_arena(l->w);
    Batch pairs = {.rows = n, .n = n, .ncols = j->pair.n};
    pairs.cols = ARENA_ARRAY(arena, Vector, j->pair.n + 1, err);
    TRY_PTR(pairs.cols);
    for (uint32_t c = 0; c < j->left.n; c++) TRY(join_const(arena, &l->batch->cols[c], left_row, &pairs.cols[c], err));
    for (uint32_t c = 0; c < j->right.n; c++)
        TRY(rows_slice(j->rows, c, at, n, arena, &pairs.cols[j->left.n + c], err));
    return take(l, &pairs, (int32_t)left_row, at, err);
}

static tcudb_status right_against_left(Loop *l, uint64_t right_row, Error *err)
{
    Join *j = l->j;
    Arena *arena = worker_arena(l->w);
    Batch pairs = *l->batch;
    pairs.ncols = j->pair.n;
    pairs.cols = ARENA_ARRAY(arena, Vector, j->pair.n + 1, err);
    TRY_PTR(pairs.cols);
    memcpy(pairs.cols, l->batch->cols, j->left.n * sizeof *pairs.cols);
    for (uint32_t c = 0; c < j->right.n; c++) {
        Vector one;
        TRY(rows_slice(j->rows, c, right_row, 1, arena, &one, err));
        TRY(join_const(arena, &one, 0, &pairs.cols[j->left.n + c], err));
    }
    return take(l, &pairs, -1, right_row, err);
}

/* SEMI and MARK know enough about a row once it has matched. */
static bool decided(const Loop *l, uint32_t row)
{
    return !join_wants_pairs(l->j->kind) && !join_keeps_right(l->j->kind) && l->flags[row];
}

static tcudb_status all_pairs(Loop *l, Arena *own, Error *err)
{
    Join *j = l->j;
    if (j->rows->n <= l->batch->n) {
        for (uint64_t r = 0; r < j->rows->n; r++) {
            arena_reset(own);
            TRY(exec_check_cancel(j->x, err));
            TRY(right_against_left(l, r, err));
        }
        return TCUDB_OK;
    }
    for (uint32_t i = 0; i < l->batch->n; i++) {
        uint32_t row = batch_row(l->batch, i);
        for (uint64_t at = 0; at < j->rows->n && !decided(l, row) && !stage_stopped(j->stage.down); at += BATCH_ROWS) {
            arena_reset(own);
            TRY(exec_check_cancel(j->x, err));
            uint32_t n = j->rows->n - at < BATCH_ROWS ? (uint32_t)(j->rows->n - at) : BATCH_ROWS;
            TRY(left_against_right(l, row, at, n, err));
        }
    }
    return TCUDB_OK;
}

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Join *j = (Join *)stage;
    Loop l = {.j = j, .w = w, .batch = batch};
    l.flags = arena_alloc(worker_arena(w), BATCH_ROWS, err);
    TRY_PTR(l.flags);
    if (j->kind == JOIN_MARK && j->plan->join.mark_null) {
        l.unknown = arena_alloc(worker_arena(w), BATCH_ROWS, err);
        TRY_PTR(l.unknown);
    }
    Arena *own = &j->arenas[w->id], *before = worker_swap_arena(w, own);
    tcudb_status status = all_pairs(&l, own, err);
    worker_swap_arena(w, before);
    TRY(status);
    return join_finish_left(j, w, batch, l.flags, l.unknown, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Join *j;
    TRY(join_prepare(x, node, down, &j, err));
    j->stage.push = push;
    TRY(join_residual(j, node->plan->join.conds, node->plan->join.nconds, err));
    TRY(join_collect_right(j, err));
    TRY(join_fill_semi(j, err));
    if (!join_needs_right(j)) TRY(exec_produce(x, node->inputs[0], &j->stage, err));
    TRY(join_right_rows(j, err));
    join_free(j);
    return TCUDB_OK;
}

/* Far more than any hash join: estimates may be wrong, a hash join is never much worse. */
static double cost(const Plan *plan)
{
    double left = plan->inputs[0]->rows, right = plan->inputs[1]->rows;
    return 1e9 + (left < 0 ? 1e6 : left) * (right < 0 ? 1e6 : right) * 1e-9;
}

const Op op_loop_join = {.name = "Nested Loop Join", .engine = "cpu", .cost = cost, .run = run};
