/*
 * join_prepare.c: reads a join's conditions and brings the right input into memory.
 *
 * An equality whose sides read one input each becomes a hash key; numbers of different scale are both cast
 * to plain numeric so that equal values have equal words. Everything else is residual.
 */
#include "exec/cpu/join_int.h"

#include <assert.h>

/* ---- conditions -------------------------------------------------------------------------------------- */

typedef struct Sides {
    const Plan *left, *right;
    bool uses_left, uses_right;
} Sides;

static bool note_side(void *ctx, const Expr *e)
{
    Sides *s = ctx;
    if (e->kind != EXPR_COL) return true;
    if (plan_find_col(s->left, e->col) != NULL)
        s->uses_left = true;
    else if (plan_find_col(s->right, e->col) != NULL)
        s->uses_right = true;
    return true;
}

/* -1: left only, 1: right only, 0: both or neither. */
static int side_of(const Plan *join, const Expr *e)
{
    Sides s = {join->inputs[0], join->inputs[1], false, false};
    expr_walk(e, note_side, &s);
    if (s.uses_left == s.uses_right) return 0;
    return s.uses_left ? -1 : 1;
}

bool join_is_key(const Plan *plan, const Expr *e)
{
    if (e->kind != EXPR_FUNC || e->func->compare != CMP_EQ || e->nargs != 2 || expr_volatile(e)) return false;
    int a = side_of(plan, e->args[0]), b = side_of(plan, e->args[1]);
    return a != 0 && b != 0 && a != b;
}

static bool same_words(Type a, Type b)
{
    Phys p = type_phys(a), q = type_phys(b);
    if (a.id == TYPE_NUMERIC || b.id == TYPE_NUMERIC) return p == q && a.scale == b.scale && a.id == b.id;
    if (p == q) return true;
    bool ints = p >= PHYS_I16 && p <= PHYS_I64 && q >= PHYS_I16 && q <= PHYS_I64;
    bool floats = (p == PHYS_F32 || p == PHYS_F64) && (q == PHYS_F32 || q == PHYS_F64);
    return ints || floats;
}

tcudb_status join_split(Arena *arena, const Plan *plan, Expr ***left, Expr ***right, uint32_t *n, Expr ***residual,
                        uint32_t *nresidual, Error *err)
{
    uint32_t total = plan->join.nconds;
    *left = ARENA_ARRAY(arena, Expr *, total + 1, err);
    TRY_PTR(*left);
    *right = ARENA_ARRAY(arena, Expr *, total + 1, err);
    TRY_PTR(*right);
    *residual = ARENA_ARRAY(arena, Expr *, total + 1, err);
    TRY_PTR(*residual);
    *n = *nresidual = 0;
    for (uint32_t i = 0; i < total; i++) {
        Expr *e = plan->join.conds[i];
        if (!join_is_key(plan, e)) {
            (*residual)[(*nresidual)++] = e;
            continue;
        }
        bool swapped = side_of(plan, e->args[0]) > 0;
        Expr *l = e->args[swapped], *r = e->args[!swapped];
        if (!same_words(l->type, r->type)) {
            TRY(expr_cast(arena, l, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &l, err));
            TRY(expr_cast(arena, r, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &r, err));
        }
        (*left)[*n] = l;
        (*right)[(*n)++] = r;
    }
    return TCUDB_OK;
}

typedef struct Needs {
    const Layout *right;
    bool *needs;
} Needs;

static bool note_need(void *ctx, const Expr *e)
{
    Needs *n = ctx;
    int32_t at = e->kind == EXPR_COL ? layout_find(n->right, e->col) : -1;
    if (at >= 0) n->needs[at] = true;
    return true;
}

tcudb_status join_residual(Join *j, Expr **conds, uint32_t n, Error *err)
{
    if (n == 0) return TCUDB_OK;
    Expr *all = conds[0];
    if (n > 1) {
        all = expr_node(&j->x->arena, EXPR_AND, TYPE(TYPE_BOOL), conds, n, 0, err);
        TRY_PTR(all);
    }
    j->has_residual = true;
    Needs needs = {&j->right, j->residual_needs};
    expr_walk(all, note_need, &needs);
    return ev_new(j->x, all, &j->pair, &j->residual, err);
}

/* ---- preparing ----------------------------------------------------------------------------------------- */

static tcudb_status map_output(Join *j, Error *err)
{
    const Plan *plan = j->plan;
    TRY(layout_map(j->x, plan, &j->pair, &j->out_map, err));
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (j->kind == JOIN_MARK && plan->cols[i].id == plan->join.mark.id) j->out_map[i] = JOIN_MARK_COL;
        if (j->out_map[i] < 0)
            return error_set(err, SQLSTATE_INTERNAL_ERROR, "column #%u of a join is in neither input",
                             plan->cols[i].id);
        if (j->out_map[i] != JOIN_MARK_COL && (uint32_t)j->out_map[i] >= j->left.n)
            j->output_needs[(uint32_t)j->out_map[i] - j->left.n] = true;
    }
    return TCUDB_OK;
}

tcudb_status join_prepare(Exec *x, PhysNode *node, Stage *down, Join **out, Error *err)
{
    const Plan *plan = node->plan;
    Join *j = ARENA_NEW(&x->arena, Join, err);
    TRY_PTR(j);
    *j = (Join){.x = x, .node = node, .plan = plan, .kind = plan->join.kind};
    stage_init(&j->stage, down);
    TRY(layout_of(x, plan->inputs[0], &j->left, err));
    TRY(layout_of(x, plan->inputs[1], &j->right, err));
    ColId *pair = ARENA_ARRAY(&x->arena, ColId, j->left.n + j->right.n + 1, err);
    TRY_PTR(pair);
    memcpy(pair, j->left.cols, j->left.n * sizeof *pair);
    memcpy(pair + j->left.n, j->right.cols, j->right.n * sizeof *pair);
    j->pair = (Layout){pair, j->left.n + j->right.n};
    j->residual_needs = ARENA_ARRAY(&x->arena, bool, j->right.n + 1, err);
    TRY_PTR(j->residual_needs);
    j->output_needs = ARENA_ARRAY(&x->arena, bool, j->right.n + 1, err);
    TRY_PTR(j->output_needs);
    TRY(exec_arenas(x, &j->arenas, err));
    TRY(exec_arenas(x, &j->texts, err));
    TRY(map_output(j, err));
    *out = j;
    return TCUDB_OK;
}

tcudb_status join_collect_right(Join *j, Error *err)
{
    TRY(exec_collect(j->x, j->node->inputs[1], &j->rows, err));
    j->empty = j->rows->n == 0;
    if (j->kind != JOIN_RIGHT && j->kind != JOIN_FULL && !join_keeps_right(j->kind)) return TCUDB_OK;
    j->matched = exec_alloc_zero(j->x, j->rows->n + 1, err);
    TRY_PTR(j->matched);
    return TCUDB_OK;
}

void join_free(Join *j)
{
    exec_free(j->x, j->heads);
    exec_free(j->x, j->next);
    exec_free(j->x, j->starts);
    exec_free(j->x, j->keys);
    exec_free(j->x, j->matched);
    exec_free(j->x, j->bits);
    rows_free(j->rows);
    for (uint32_t i = 0; i < j->x->nworkers; i++) arena_free(&j->texts[i]);
}

/* ---- semi-join bitmaps ------------------------------------------------------------------------------------ */

static int64_t int_at(const RowsCol *col, uint64_t row)
{
    if (col->dict) return ((const uint32_t *)col->data)[row];
    switch (col->phys) {
    case PHYS_BOOL: return ((const uint8_t *)col->data)[row];
    case PHYS_I16: return ((const int16_t *)col->data)[row];
    case PHYS_I32: return ((const int32_t *)col->data)[row];
    default: return ((const int64_t *)col->data)[row];
    }
}

static void int_range(const RowsCol *col, uint64_t n, int64_t *min, int64_t *max)
{
    *min = INT64_MAX;
    *max = INT64_MIN;
    for (uint64_t r = 0; r < n; r++) {
        if (col->valid != NULL && !bit_get(col->valid, r)) continue;
        int64_t v = int_at(col, r);
        if (v < *min) *min = v;
        if (v > *max) *max = v;
    }
}

static tcudb_status fill_bits(Join *j, uint32_t id, const RowsCol *col, Error *err)
{
    const uint64_t max_bits = UINT64_C(1) << 28, max_per_row = 4096;
    int64_t min, max;
    int_range(col, j->rows->n, &min, &max);
    uint64_t bits = min > max ? 0 : (uint64_t)max - (uint64_t)min + 1;
    if (min <= max && (bits == 0 || bits > max_bits || bits / max_per_row > j->rows->n)) return TCUDB_OK;
    SemiBits *semi;
    TRY(exec_semi_new(j->x, id, &semi, err));
    semi->words = exec_alloc_zero(j->x, (bit_words(bits) + 1) * sizeof(uint64_t), err);
    TRY_PTR(semi->words);
    semi->min = min > max ? 0 : min;
    semi->bits = bits;
    semi->codes = col->dict;
    semi->dict_id = col->dict ? col->view.id : 0;
    for (uint64_t r = 0; r < j->rows->n; r++) {
        if (col->valid != NULL && !bit_get(col->valid, r)) continue;
        bit_set(semi->words, (uint64_t)int_at(col, r) - (uint64_t)min);
    }
    semi->filled = true;
    return TCUDB_OK;
}

tcudb_status join_fill_semi(Join *j, Error *err)
{
    for (uint32_t i = 0; i < j->plan->join.nsemi; i++) {
        const SemiSource *source = &j->plan->join.semi[i];
        int32_t at = layout_find(&j->right, source->key);
        if (at < 0) continue;
        const RowsCol *col = &j->rows->cols[at];
        if (col->phys <= PHYS_I64 || col->dict) TRY(fill_bits(j, source->id, col, err));
    }
    return TCUDB_OK;
}
