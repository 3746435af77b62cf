/*
 * join_pairs.c: pairs of a join: residual conditions, who matched, what goes out.
 *
 * Right columns are gathered late: those of the residual condition for all candidates, those of the output
 * only for the pairs that pass.
 */
#include "exec/cpu/join_int.h"

#include <assert.h>

static void null_column(const Join *j, uint32_t right_col, Vector *out)
{
    static const uint64_t zeros[8];
    const RowsCol *col = &j->rows->cols[right_col];
    *out = (Vector){.type = col->type, .phys = col->phys, .form = VEC_CONST};
    out->data = (void *)(uintptr_t)zeros;
    out->valid = (uint64_t *)(uintptr_t)zeros;
}

/* Which worker arena: vectors of the pair batch live as long as the left batch. */
static tcudb_status pair_batch(Join *j, Worker *w, const Batch *left, Batch *out, Error *err)
{
    *out = *left;
    out->ncols = j->pair.n;
    out->cols = ARENA_ARRAY(worker_arena(w), Vector, j->pair.n + 1, err);
    TRY_PTR(out->cols);
    memcpy(out->cols, left->cols, j->left.n * sizeof *out->cols);
    return TCUDB_OK;
}

/* Gathers the right columns in `needs` that are not there yet. */
static tcudb_status gather_right(Join *j, Worker *w, Batch *pairs, const uint32_t *idx, const bool *needs,
                                 bool may_miss, Error *err)
{
    for (uint32_t c = 0; c < j->right.n; c++) {
        Vector *v = &pairs->cols[j->left.n + c];
        if (!needs[c] || v->data != NULL) continue;
        TRY(rows_gather(j->rows, c, idx, pairs->n, pairs->sel, pairs->rows, may_miss, worker_arena(w), v, err));
    }
    return TCUDB_OK;
}

tcudb_status join_output(Join *j, Worker *w, const Batch *pairs, const Vector *mark, Error *err)
{
    Batch out = *pairs;
    out.ncols = j->plan->ncols;
    out.cols = ARENA_ARRAY(worker_arena(w), Vector, out.ncols + 1, err);
    TRY_PTR(out.cols);
    for (uint32_t i = 0; i < out.ncols; i++) {
        const Vector *from = j->out_map[i] == JOIN_MARK_COL ? mark : &pairs->cols[j->out_map[i]];
        assert(from != NULL);
        out.cols[i] = *from;
    }
    return stage_push(j->stage.down, w, &out, err);
}

tcudb_status join_emit(Join *j, Worker *w, const Batch *left, const uint32_t *idx, bool may_miss, Error *err)
{
    Batch pairs;
    TRY(pair_batch(j, w, left, &pairs, err));
    TRY(gather_right(j, w, &pairs, idx, j->output_needs, may_miss, err));
    return join_output(j, w, &pairs, NULL, err);
}

static void note_matches(Join *j, const uint16_t *rows, const uint32_t *idx, uint32_t n, uint8_t *flags)
{
    for (uint32_t i = 0; i < n && flags != NULL; i++) flags[rows[i]] = 1;
    if (j->matched == NULL) return;
    for (uint32_t i = 0; i < n; i++) __atomic_store_n(&j->matched[idx[i]], 1, __ATOMIC_RELAXED);
}

static tcudb_status check_single(const Join *j, const uint16_t *rows, uint32_t n, const uint8_t *flags, Error *err)
{
    if (j->kind != JOIN_SINGLE) return TCUDB_OK;
    assert(flags != NULL);
    for (uint32_t i = 0; i < n; i++)
        if (flags[rows[i]] || (i > 0 && rows[i] == rows[i - 1]))
            return error_set(err, SQLSTATE_CARDINALITY_VIOLATION,
                             "more than one row returned by a subquery used as an expression");
    return TCUDB_OK;
}

tcudb_status join_pairs(Join *j, Worker *w, const Batch *left, const uint32_t *idx, const uint16_t *orig,
                        uint8_t *flags, Error *err)
{
    Arena *arena = worker_arena(w);
    Batch pairs;
    TRY(pair_batch(j, w, left, &pairs, err));
    uint16_t *sel = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    uint16_t *rows = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *rows, err);
    TRY_PTR(rows);
    uint32_t n = pairs.n;
    if (j->has_residual) {
        TRY(gather_right(j, w, &pairs, idx, j->residual_needs, false, err));
        TRY(ev_filter(&j->residual, w, &pairs, sel, &n, err));
        uint32_t *kept = arena_alloc_raw(arena, (n + 1) * sizeof *kept, err);
        TRY_PTR(kept);
        for (uint32_t k = 0, i = 0; k < n; k++) { /* both ascend in the pair's row */
            while (batch_row(left, i) != sel[k]) i++;
            kept[k] = idx[i];
            rows[k] = orig == NULL ? sel[k] : orig[i];
        }
        idx = kept;
        pairs.sel = sel;
        pairs.n = n;
    } else if (flags != NULL) {
        for (uint32_t i = 0; i < n; i++) rows[i] = orig == NULL ? (uint16_t)batch_row(left, i) : orig[i];
    }
    if (n == 0) return TCUDB_OK;
    TRY(check_single(j, rows, n, flags, err));
    note_matches(j, rows, idx, n, flags);
    if (!join_wants_pairs(j->kind)) return TCUDB_OK;
    TRY(gather_right(j, w, &pairs, idx, j->output_needs, false, err));
    return join_output(j, w, &pairs, NULL, err);
}

/* ---- ranges of right rows --------------------------------------------------------------------------------- */

tcudb_status join_const(Arena *arena, const Vector *v, uint32_t row, Vector *out, Error *err)
{
    static const uint64_t none[8];
    *out = *v;
    if (v->form == VEC_CONST) return TCUDB_OK;
    out->form = VEC_CONST;
    out->valid = NULL;
    if (vec_is_null(v, row)) {
        out->data = (void *)(uintptr_t)none;
        out->valid = (uint64_t *)(uintptr_t)none;
        return TCUDB_OK;
    }
    if (v->form == VEC_DICT) {
        Str *text = ARENA_NEW(arena, Str, err);
        TRY_PTR(text);
        *text = v->values[((const uint32_t *)v->data)[row]];
        out->data = text;
        return TCUDB_OK;
    }
    out->data = (char *)v->data + row * phys_size((Phys)v->phys);
    return TCUDB_OK;
}

tcudb_status join_range(Join *j, Worker *w, const Batch *left, uint32_t row, uint64_t at, uint32_t n, uint8_t *flags,
                        Error *err)
{
    Arena *arena = worker_arena(w);
    Batch pairs = {.rows = n, .n = n, .ncols = j->pair.n};
    uint16_t *sel = NULL;
    pairs.cols = ARENA_ARRAY(arena, Vector, j->pair.n + 1, err);
    TRY_PTR(pairs.cols);
    for (uint32_t c = 0; c < j->left.n; c++) TRY(join_const(arena, &left->cols[c], row, &pairs.cols[c], err));
    for (uint32_t c = 0; c < j->right.n; c++)
        if (j->output_needs[c] || j->residual_needs[c])
            TRY(rows_slice(j->rows, c, at, n, arena, &pairs.cols[j->left.n + c], err));
    if (j->has_residual) {
        sel = arena_alloc_raw(arena, (BATCH_ROWS + 16) * sizeof *sel, err);
        TRY_PTR(sel);
        TRY(ev_filter(&j->residual, w, &pairs, sel, &n, err));
        if (n == 0) return TCUDB_OK;
        pairs.n = n;
        pairs.sel = n == pairs.rows ? NULL : sel;
    }
    if (flags != NULL) flags[row] = 1;
    for (uint32_t i = 0; i < n && j->matched != NULL; i++)
        __atomic_store_n(&j->matched[at + batch_row(&pairs, i)], 1, __ATOMIC_RELAXED);
    return join_wants_pairs(j->kind) ? join_output(j, w, &pairs, NULL, err) : TCUDB_OK;
}

/* ---- per left row -------------------------------------------------------------------------------------------- */

static tcudb_status mark_column(Join *j, Worker *w, const Batch *left, const uint8_t *flags, const uint8_t *unknown,
                                Vector *out, Error *err)
{
    Arena *arena = worker_arena(w);
    TRY(vec_new(arena, TYPE(TYPE_BOOL), left->rows, out, err));
    (void)j;
    uint8_t *data = out->data;
    for (uint32_t i = 0; i < left->n; i++) {
        uint32_t row = batch_row(left, i);
        data[row] = flags[row] != 0;
        if (flags[row] || unknown == NULL || !unknown[row]) continue;
        TRY(vec_need_valid(arena, out, left->rows, err));
        bit_clear(out->valid, row);
    }
    return TCUDB_OK;
}

tcudb_status join_finish_left(Join *j, Worker *w, const Batch *left, const uint8_t *flags, const uint8_t *unknown,
                              Error *err)
{
    if (j->kind == JOIN_INNER || j->kind == JOIN_RIGHT || join_keeps_right(j->kind)) return TCUDB_OK;
    Batch pairs;
    TRY(pair_batch(j, w, left, &pairs, err));
    for (uint32_t c = 0; c < j->right.n; c++) null_column(j, c, &pairs.cols[j->left.n + c]);
    if (j->kind == JOIN_MARK) {
        Vector mark;
        TRY(mark_column(j, w, left, flags, unknown, &mark, err));
        return join_output(j, w, &pairs, &mark, err);
    }
    uint16_t *sel = arena_alloc_raw(worker_arena(w), (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    uint32_t k = 0;
    bool wanted = j->kind == JOIN_SEMI;
    for (uint32_t i = 0; i < left->n; i++) {
        uint32_t row = batch_row(left, i);
        sel[k] = (uint16_t)row;
        k += (flags[row] != 0) == wanted;
    }
    if (k == 0) return TCUDB_OK;
    pairs.sel = sel;
    pairs.n = k;
    return join_output(j, w, &pairs, NULL, err);
}

/* ---- per right row ---------------------------------------------------------------------------------- */

enum { RIGHT_TASK = 16 * BATCH_ROWS };

static tcudb_status push_right(Join *j, Worker *w, const uint32_t *idx, uint32_t n, Error *err)
{
    static const uint64_t zeros[8];
    Batch pairs = {.rows = n, .n = n, .ncols = j->pair.n};
    pairs.cols = ARENA_ARRAY(worker_arena(w), Vector, j->pair.n + 1, err);
    TRY_PTR(pairs.cols);
    for (uint32_t c = 0; c < j->left.n; c++) {
        Type type = j->plan->inputs[0]->cols[c].type;
        pairs.cols[c] = (Vector){.type = type, .phys = (uint8_t)type_phys(type), .form = VEC_CONST};
        pairs.cols[c].data = (void *)(uintptr_t)zeros;
        pairs.cols[c].valid = (uint64_t *)(uintptr_t)zeros;
    }
    TRY(gather_right(j, w, &pairs, idx, j->output_needs, false, err));
    return join_output(j, w, &pairs, NULL, err);
}

static tcudb_status right_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Join *j = ctx;
    bool wanted = j->kind == JOIN_RIGHT_SEMI;
    uint64_t end = (task + 1) * RIGHT_TASK < j->rows->n ? (task + 1) * RIGHT_TASK : j->rows->n;
    for (uint64_t at = task * RIGHT_TASK; at < end && !stage_stopped(j->stage.down); at += BATCH_ROWS) {
        arena_reset(&w->batch);
        uint32_t *idx = arena_alloc_raw(&w->batch, (BATCH_ROWS + 1) * sizeof *idx, err);
        TRY_PTR(idx);
        uint32_t n = 0;
        for (uint64_t r = at; r < end && r < at + BATCH_ROWS; r++) {
            idx[n] = (uint32_t)r;
            n += (j->matched[r] != 0) == wanted;
        }
        if (n > 0) TRY(push_right(j, w, idx, n, err));
    }
    return TCUDB_OK;
}

tcudb_status join_right_rows(Join *j, Error *err)
{
    if (j->matched == NULL) return TCUDB_OK;
    uint64_t tasks = (j->rows->n + RIGHT_TASK - 1) / RIGHT_TASK;
    return exec_source(j->x, j->node, j->stage.down, tasks, right_task, j, err);
}
