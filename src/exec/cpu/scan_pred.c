/*
 * scan_pred.c: the conditions of a scan: which form each takes, and how it is tested.
 *
 * column OP constant over integers, dates and decimals becomes a range of the stored integer; ranges on one
 * column are intersected. A constant of another scale is brought to the column's by rounding inwards, so
 * x < 0.055 over numeric(4,2) is x <= 0.05. Equalities of texts become sets of codes (scan_texts.c). Anything else is
 * evaluated as an expression (over text that means once per dictionary entry where entries repeat). Bitmaps come from
 * joins and test like ranges, then by bit.
 */
#include "exec/cpu/scan_int.h"
#include "type/num.h"

#include <assert.h>

/* ---- recognising ranges ---------------------------------------------------------------------------- */

static const Expr *strip_widening(const Expr *e)
{
    while (e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST && e->nargs == 1) {
        uint8_t from = e->args[0]->type.id, to = e->type.id;
        bool widens = from >= TYPE_INT2 && to <= TYPE_INT8 && from <= to && to >= TYPE_INT2;
        if (!widens) break;
        e = e->args[0];
    }
    return e;
}

/* The constant as (value, scale): exact numbers, dates, timestamps, booleans. */
static bool exact_const(const Exec *x, const Expr *e, int128 *value, int *scale)
{
    Value v;
    if (e->kind == EXPR_CONST) {
        v = e->value;
    } else if (e->kind == EXPR_PARAM && e->param < x->env->nparams) {
        v = x->env->params[e->param];
    } else {
        return false;
    }
    if (v.null) return false;
    *scale = v.type.id == TYPE_NUMERIC ? v.type.scale : 0;
    switch (type_phys(v.type)) {
    case PHYS_BOOL: *value = v.b; return true;
    case PHYS_I16: *value = v.i16; return true;
    case PHYS_I32: *value = v.i32; return true;
    case PHYS_I64: *value = v.i64; return true;
    case PHYS_I128: *value = v.i128; return true;
    case PHYS_NUM:
        *value = v.num.value;
        *scale = v.num.scale;
        return v.num.kind == NUM_FINITE;
    default: return false;
    }
}

static int128 floor_div(int128 a, int128 b)
{
    int128 q = a / b;
    return q - (a % b != 0 && a < 0);
}

static int64_t clamp64(int128 v)
{
    return v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* lo/hi of "column OP c" in the column's integers; false: not expressible. */
static bool range_of(FuncCompare cmp, int128 c, int from, int to, int64_t *lo, int64_t *hi)
{
    int128 down = c, up = c;
    if (from > to) {
        if (from - to > NUM_MAX_DIGITS) return false;
        down = floor_div(c, num_pow10(from - to));
        up = down + (down * num_pow10(from - to) != c);
    } else if (to > from) {
        int128 limit = num_pow10(NUM_MAX_DIGITS) / num_pow10(to - from);
        if (to - from > NUM_MAX_DIGITS || c > limit || c < -limit) return false;
        down = up = c * num_pow10(to - from);
    }
    bool exact = down == up;
    *lo = INT64_MIN;
    *hi = INT64_MAX;
    switch (cmp) {
    case CMP_EQ:
        *lo = exact && down == clamp64(down) ? (int64_t)down : 1;
        *hi = exact && down == clamp64(down) ? (int64_t)down : 0;
        return true;
    case CMP_LT: *hi = clamp64(exact ? down - 1 : down); return down - exact >= INT64_MIN;
    case CMP_LE: *hi = clamp64(down); return down >= INT64_MIN;
    case CMP_GT: *lo = clamp64(exact ? up + 1 : up); return up + exact <= INT64_MAX;
    case CMP_GE: *lo = clamp64(up); return up <= INT64_MAX;
    default: return false;
    }
}

bool scan_int_range(const Scan *s, const Layout *layout, const Expr *e, uint32_t *col, int64_t *lo, int64_t *hi)
{
    if (e->kind != EXPR_FUNC || e->nargs != 2 || e->func->compare == CMP_NONE || e->func->compare == CMP_NE)
        return false;
    for (int side = 0; side < 2; side++) {
        const Expr *c = strip_widening(e->args[side]);
        int128 value;
        int scale;
        if (c->kind != EXPR_COL || !exact_const(s->x, e->args[1 - side], &value, &scale)) continue;
        int32_t at = layout_find(layout, c->col);
        if (at < 0 || type_phys(c->type) > PHYS_I64) return false;
        if (s->plan->scan.columns[at] == ROWID_COLUMN) return false;
        *col = (uint32_t)at;
        int column_scale = c->type.id == TYPE_NUMERIC ? c->type.scale : 0;
        FuncCompare cmp = side == 0 ? e->func->compare : compare_swapped(e->func->compare);
        return range_of(cmp, value, scale, column_scale, lo, hi);
    }
    return false;
}

/* ---- building ---------------------------------------------------------------------------------------- */

static ScanPred *range_on(Scan *s, uint32_t col)
{
    for (uint32_t i = 0; i < s->npreds; i++)
        if (s->preds[i].kind == PRED_RANGE && s->preds[i].cols[0] == col) return &s->preds[i];
    return NULL;
}

tcudb_status scan_new_pred(Scan *s, PredKind kind, uint32_t col, ScanPred **out, Error *err)
{
    ScanPred *pred = &s->preds[s->npreds++];
    *pred = (ScanPred){.kind = kind, .ncols = 1, .lo = INT64_MIN, .hi = INT64_MAX};
    pred->cols = ARENA_ARRAY(&s->x->arena, uint32_t, s->plan->ncols + 1, err);
    TRY_PTR(pred->cols);
    pred->cols[0] = col;
    *out = pred;
    return TCUDB_OK;
}

tcudb_status scan_add_range(Scan *s, uint32_t col, int64_t lo, int64_t hi, Error *err)
{
    ScanPred *pred = range_on(s, col);
    if (pred == NULL) TRY(scan_new_pred(s, PRED_RANGE, col, &pred, err));
    if (lo > pred->lo) pred->lo = lo;
    if (hi < pred->hi) pred->hi = hi;
    return TCUDB_OK;
}

typedef struct UsedCols {
    const Layout *layout;
    ScanPred *pred;
} UsedCols;

static bool note_col(void *ctx, const Expr *e)
{
    UsedCols *used = ctx;
    int32_t at = e->kind == EXPR_COL ? layout_find(used->layout, e->col) : -1;
    if (at < 0) return true;
    for (uint32_t i = 0; i < used->pred->ncols; i++)
        if (used->pred->cols[i] == (uint32_t)at) return true;
    used->pred->cols[used->pred->ncols++] = (uint32_t)at;
    return true;
}

static tcudb_status add_expr(Scan *s, const Layout *layout, Expr *e, Error *err)
{
    ScanPred *pred;
    TRY(scan_new_pred(s, PRED_EXPR, 0, &pred, err));
    pred->ncols = 0;
    TRY(ev_new(s->x, e, layout, &pred->ev, err));
    UsedCols used = {layout, pred};
    expr_walk(e, note_col, &used);
    return TCUDB_OK;
}

/* Whether the column's segments have bounds in codes of this dictionary. */
static bool codes_of_column(const Scan *s, uint32_t col, uint64_t dict_id)
{
    DictView view;
    uint32_t column = s->plan->scan.columns[col];
    return table_dict(s->plan->scan.table, column, s->x->env->cancel, &view, NULL) == TCUDB_OK && view.id == dict_id;
}

static tcudb_status add_semi(Scan *s, const Layout *layout, const SemiFilter *f, Error *err)
{
    const SemiBits *bits = exec_semi(s->x, f->id);
    int32_t at = layout_find(layout, f->col);
    if (bits == NULL || at < 0) return TCUDB_OK;
    ScanPred *pred;
    if (bits->bound != NULL) {
        TRY(scan_new_pred(s, PRED_BOUND, (uint32_t)at, &pred, err));
        pred->semi = bits;
        if (type_phys(s->plan->cols[at].type) == PHYS_STR) TRY(scan_heads(s, (uint32_t)at, &pred->heads, err));
        return TCUDB_OK;
    }
    TRY(scan_new_pred(s, PRED_SEMI, (uint32_t)at, &pred, err));
    pred->semi = bits;
    if (bits->codes && bits->bits > 0 && !codes_of_column(s, (uint32_t)at, bits->dict_id)) return TCUDB_OK;
    pred->lo = bits->min;
    pred->hi = bits->bits == 0 ? bits->min - 1 : (int64_t)((uint64_t)bits->min + bits->bits - 1);
    return TCUDB_OK;
}

tcudb_status scan_preds(Scan *s, Error *err)
{
    Layout layout;
    const Plan *plan = s->plan;
    TRY(layout_of(s->x, plan, &layout, err));
    uint32_t most = 2 * plan->scan.nfilters + plan->scan.nsemi + 1;
    for (uint32_t i = 0; i < plan->scan.nfilters; i++) most += scan_or_most(plan->scan.filters[i]);
    s->preds = ARENA_ARRAY(&s->x->arena, ScanPred, most, err);
    TRY_PTR(s->preds);
    Expr **bound = ARENA_ARRAY(&s->x->arena, Expr *, plan->scan.nfilters + 1, err);
    TRY_PTR(bound);
    uint32_t col;
    int64_t lo, hi;
    for (uint32_t i = 0; i < plan->scan.nfilters; i++) {
        TRY(exec_bind_expr(s->x, plan->scan.filters[i], &layout, &bound[i], err));
        if (scan_int_range(s, &layout, bound[i], &col, &lo, &hi)) {
            TRY(scan_add_range(s, col, lo, hi, err));
            bound[i] = NULL;
            continue;
        }
        bool taken;
        TRY(scan_texts(s, &layout, bound[i], &taken, err));
        if (!taken) TRY(scan_text_range(s, &layout, bound[i], &taken, err));
        if (!taken) TRY(scan_or_ranges(s, &layout, bound[i], err));
        if (taken) bound[i] = NULL;
    }
    for (uint32_t i = 0; i < plan->scan.nsemi; i++) TRY(add_semi(s, &layout, &plan->scan.semi[i], err));
    for (uint32_t i = 0; i < plan->scan.nfilters; i++)
        if (bound[i] != NULL) TRY(add_expr(s, &layout, bound[i], err));
    return TCUDB_OK;
}

/* ---- segments ------------------------------------------------------------------------------------------ */

bool scan_bound_int(const Value *v, int64_t *out)
{
    switch (type_phys(v->type)) {
    case PHYS_BOOL: *out = v->b; return !v->null;
    case PHYS_I16: *out = v->i16; return !v->null;
    case PHYS_I32: *out = v->i32; return !v->null;
    case PHYS_I64: *out = v->i64; return !v->null;
    default: return false;
    }
}

/* The values that the bound lets through by now. */
static void bound_range(const SortBound *bound, int64_t *lo, int64_t *hi)
{
    int64_t last = atomic_load_explicit(&bound->last, memory_order_relaxed);
    *lo = bound->descending ? last : INT64_MIN;
    *hi = bound->descending ? INT64_MAX : last;
}

/* NULLs that come first must stay: then the bound prunes only where there are none. */
static bool beyond_bound(const ScanPred *pred, const SegColumn *seg, int64_t min, int64_t max)
{
    int64_t lo, hi;
    bound_range(pred->semi->bound, &lo, &hi);
    return (max < lo || min > hi) && (seg->nulls == 0 || !pred->semi->bound->nulls_first);
}

static void prune_texts(const ScanPred *pred, const SegColumn *seg, bool *skip, bool *any)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t min, max;
    bool some = true, all = false;
    if (!scan_head_bounds(&pred->heads, seg, &min, &max)) return;
    if (pred->kind == PRED_BOUND)
        some = !beyond_bound(pred, seg, (int64_t)(min ^ sign), (int64_t)(max ^ sign));
    else
        scan_text_bounds(&pred->texts, min, max, &some, &all);
    if (!some) *any = false;
    *skip = all && seg->nulls == 0;
}

tcudb_status scan_prune(const Scan *s, uint32_t segment, bool *skip, bool *any, Error *err)
{
    *any = true;
    (void)err;
    for (uint32_t i = 0; i < s->npreds; i++) {
        const ScanPred *pred = &s->preds[i];
        skip[i] = false;
        if (pred->kind == PRED_EXPR || s->plan->scan.columns[pred->cols[0]] == ROWID_COLUMN) continue;
        const SegColumn *seg = segment_column(s->plan->scan.table, segment, s->plan->scan.columns[pred->cols[0]]);
        int64_t min, max;
        if (seg == NULL) continue;
        if (seg->rows == seg->nulls && pred->kind != PRED_BOUND) *any = false;
        if (pred->heads.count > 0) {
            prune_texts(pred, seg, &skip[i], any);
            continue;
        }
        if (pred->kind == PRED_BOUND && type_phys(s->plan->cols[pred->cols[0]].type) == PHYS_STR) continue;
        if (!seg->has_bounds || !scan_bound_int(&seg->min, &min) || !scan_bound_int(&seg->max, &max)) continue;
        if (pred->kind == PRED_BOUND) {
            if (beyond_bound(pred, seg, min, max)) *any = false;
            continue;
        }
        if (max < pred->lo || min > pred->hi) *any = false;
        skip[i] = pred->kind == PRED_RANGE && seg->nulls == 0 && min >= pred->lo && max <= pred->hi;
    }
    return TCUDB_OK;
}

/* ---- testing ------------------------------------------------------------------------------------------- */

/* One subtraction and one unsigned comparison test both ends. */
#define RANGE(T, U)                                                                                                    \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        T low = (T)lo;                                                                                                 \
        U width = (U)((U)(T)hi - (U)low);                                                                              \
        if (batch->sel == NULL)                                                                                        \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                out[k] = (uint16_t)i;                                                                                  \
                k += (U)((U)data[i] - (U)low) <= width;                                                                \
            }                                                                                                          \
        else                                                                                                           \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                uint16_t row = batch->sel[i];                                                                          \
                out[k] = row;                                                                                          \
                k += (U)((U)data[row] - (U)low) <= width;                                                              \
            }                                                                                                          \
    } while (0)

static uint32_t drop_nulls(const Vector *v, uint16_t *sel, uint32_t n)
{
    uint32_t k = 0;
    if (v->valid == NULL) return n;
    for (uint32_t i = 0; i < n; i++) {
        uint16_t row = sel[i];
        sel[k] = row;
        k += bit_get(v->valid, row);
    }
    return k;
}

static uint32_t all_or_none(const Batch *batch, bool all, uint16_t *out)
{
    if (!all) return 0;
    for (uint32_t i = 0; i < batch->n; i++) out[i] = (uint16_t)batch_row(batch, i);
    return batch->n;
}

static int64_t vec_int(const Vector *v, uint32_t at)
{
    switch (v->phys) {
    case PHYS_BOOL: return ((const uint8_t *)v->data)[at];
    case PHYS_I16: return ((const int16_t *)v->data)[at];
    case PHYS_I32: return ((const int32_t *)v->data)[at];
    default: return ((const int64_t *)v->data)[at];
    }
}

uint32_t scan_range(const Batch *batch, const Vector *v, const ScanPred *pred, uint16_t *out)
{
    static const int64_t least[] = {0, INT16_MIN, INT32_MIN, INT64_MIN}, most[] = {1, INT16_MAX, INT32_MAX, INT64_MAX};
    assert(v->phys <= PHYS_I64);
    uint32_t n = batch->n, k = 0;
    int64_t lo = pred->lo < least[v->phys] ? least[v->phys] : pred->lo;
    int64_t hi = pred->hi > most[v->phys] ? most[v->phys] : pred->hi;
    if (lo > hi) return 0;
    if (v->form == VEC_CONST) {
        int64_t x = vec_int(v, 0);
        return all_or_none(batch, !vec_is_null(v, 0) && x >= lo && x <= hi, out);
    }
    if (v->phys == PHYS_I32 && scan_simd_ready())
        return drop_nulls(v, out, scan_range_512(v->data, batch->sel, n, (int32_t)lo, (int32_t)hi, out));
    switch (v->phys) {
    case PHYS_BOOL: RANGE(uint8_t, uint8_t); break;
    case PHYS_I16: RANGE(int16_t, uint16_t); break;
    case PHYS_I32: RANGE(int32_t, uint32_t); break;
    default: RANGE(int64_t, uint64_t); break;
    }
    return drop_nulls(v, out, k);
}

/* Of a batch mostly no row has one of the codes, and none is looked at. */
static uint32_t bound_codes(const Batch *batch, const Vector *v, const SortBound *bound, uint16_t *out)
{
    const FewCodes *few = atomic_load(&bound->codes);
    bool usable = few != NULL && v->form == VEC_DICT && v->dict_id == few->dict_id && v->nvalues == few->nvalues;
    if (!usable || (v->valid != NULL && bound->nulls_first)) return all_or_none(batch, true, out);
    const uint32_t *codes = v->data, *of = few->codes;
    if (!codes_any(few, codes, batch->rows)) return 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i), code = codes[row];
        out[k] = (uint16_t)row;
        k += code == of[0] || code == of[1] || code == of[2] || code == of[3];
    }
    return drop_nulls(v, out, k);
}

uint32_t scan_bound(const Batch *batch, const Vector *v, const ScanPred *pred, uint16_t *out)
{
    const SortBound *bound = pred->semi->bound;
    if (v->phys == PHYS_STR && atomic_load(&bound->codes) != NULL) return bound_codes(batch, v, bound, out);
    ScanPred range = {.kind = PRED_RANGE};
    bound_range(bound, &range.lo, &range.hi);
    bool open = range.lo == INT64_MIN && range.hi == INT64_MAX, keep = v->valid != NULL && bound->nulls_first;
    if (v->phys == PHYS_STR && (v->form != VEC_DICT || pred->heads.count == 0)) open = true;
    if (v->phys == PHYS_STR && !open) return scan_bound_heads(batch, v, &pred->heads, range.lo, range.hi, out);
    return open || keep ? all_or_none(batch, true, out) : scan_range(batch, v, &range, out);
}

#define SEMI(T, U)                                                                                                     \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint32_t row = sel_row(sel, i);                                                                            \
            uint64_t at = (uint64_t)(int64_t)data[row] - (uint64_t)bits->min;                                          \
            bool in = at < bits->bits;                                                                                 \
            at = in ? at : 0;                                                                                          \
            out[k] = (uint16_t)row;                                                                                    \
            k += in & (bits->words[at >> 6] >> (at & 63));                                                             \
        }                                                                                                              \
    } while (0)

static uint32_t semi_ints(const SemiBits *bits, const Vector *v, const uint16_t *sel, uint32_t n, uint16_t *out)
{
    uint32_t k = 0;
    bool narrow = bits->bits <= INT32_MAX && bits->min >= INT32_MIN && bits->min <= INT32_MAX;
    if (v->phys == PHYS_I32 && narrow && scan_simd_ready()) return scan_bits_512(v->data, sel, n, bits, out);
    switch (v->phys) {
    case PHYS_BOOL: SEMI(uint8_t, uint8_t); break;
    case PHYS_I16: SEMI(int16_t, uint16_t); break;
    case PHYS_I32: SEMI(int32_t, uint32_t); break;
    default: SEMI(int64_t, uint64_t); break;
    }
    return k;
}

tcudb_status scan_semi(ScanBatch *b, const ScanPred *pred, uint32_t *n, Error *err)
{
    const SemiBits *bits = pred->semi;
    const Vector *v = &b->batch.cols[pred->cols[0]];
    Vector codes = *v;
    (void)err;
    *n = b->batch.n;
    bool usable = bits->codes ? v->form == VEC_DICT && v->dict_id == bits->dict_id : v->phys <= PHYS_I64;
    if (!usable || bits->bits == 0) {
        *n = all_or_none(&b->batch, bits->bits > 0, b->sel);
        return TCUDB_OK;
    }
    if (v->form == VEC_CONST) {
        uint64_t at = (uint64_t)vec_int(v, 0) - (uint64_t)bits->min;
        *n = all_or_none(&b->batch, !vec_is_null(v, 0) && at < bits->bits && bit_get(bits->words, at), b->sel);
        return TCUDB_OK;
    }
    if (bits->codes) codes.phys = PHYS_I32;
    *n = drop_nulls(v, b->sel, semi_ints(bits, &codes, b->batch.sel, b->batch.n, b->sel));
    return TCUDB_OK;
}

tcudb_status scan_codes(ScanBatch *b, ScanPred *pred, uint32_t *n, Error *err)
{
    const Vector *v = &b->batch.cols[pred->cols[0]];
    if (v->form != VEC_DICT || v->dict_id != pred->semi->dict_id)
        return ev_filter(&pred->ev, b->w, &b->batch, b->sel, n, err);
    return scan_semi(b, pred, n, err);
}
