/*
 * direct.c: mixed-radix codes of bounded columns.
 *
 * Bounds come from phys_expr_info: exact facts of the segments, carried through projections and arithmetic. A value
 * outside its bounds would be damage, and is reported. Cost: one pass over the live rows per column, no hashing.
 */
#include "exec/tcu/direct.h"

#include "base/hot.h"

#include <assert.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static bool take_integer(const ColInfo *info, Type type, bool group, DirectCol *col)
{
    if (!info->has_bounds || type_phys(type) > PHYS_I64) return false;
    uint64_t span = (uint64_t)info->max - (uint64_t)info->min;
    if (span > UINT32_MAX / 2) return false;
    *col = (DirectCol){.type = type, .min = info->min, .domain = span + 1 + group, .null_digit = group};
    return true;
}

static tcudb_status take_text(const Exec *x, const ColInfo *info, Type type, bool group, DirectCol *col, Error *err)
{
    *col = (DirectCol){.type = type, .dict = true, .table = info->table, .column = info->column, .null_digit = group};
    TRY(table_dict(info->table, info->column, x->env->cancel, &col->view, err));
    col->domain = (uint64_t)col->view.count + group;
    return TCUDB_OK;
}

static bool multiply_domain(DirectTuple *tuple, uint64_t domain, uint64_t limit)
{
    tuple->domain *= domain == 0 ? 1 : domain;
    return tuple->domain <= limit && tuple->domain < DIRECT_NONE;
}

tcudb_status direct_groups(Exec *x, Expr *const *exprs, uint32_t n, uint64_t limit, DirectTuple *out, bool *ok,
                           Error *err)
{
    *out = (DirectTuple){.n = n, .domain = 1};
    *ok = n <= DIRECT_COLUMNS;
    for (uint32_t i = 0; i < n && *ok; i++) {
        ColInfo info = phys_expr_info(x->phys->info, x->phys->ninfo, exprs[i]);
        if (info.dict)
            TRY(take_text(x, &info, exprs[i]->type, true, &out->cols[i], err));
        else
            *ok = take_integer(&info, exprs[i]->type, true, &out->cols[i]);
        *ok = *ok && multiply_domain(out, out->cols[i].domain, limit);
    }
    return TCUDB_OK;
}

/* Digits of the right dictionary in terms of the left one; values that the left lacks match nothing. */
static tcudb_status map_dict(Exec *x, const DirectCol *left, DirectCol *right, Error *err)
{
    if (left->view.id == right->view.id) return TCUDB_OK;
    uint64_t cap = 64;
    while (cap < (uint64_t)left->view.count * 2) cap *= 2;
    uint32_t *slots = exec_alloc_zero(x, sizeof *slots * cap, err), *map;
    TRY_PTR(slots);
    TRY_PTR(map = exec_alloc(x, sizeof *map * ((size_t)right->view.count + 1), err));
    for (uint32_t i = 0; i < left->view.count; i++) {
        uint64_t at = XXH3_64bits(left->view.values[i].ptr, left->view.values[i].len) & (cap - 1);
        while (slots[at] != 0) at = (at + 1) & (cap - 1);
        slots[at] = i + 1;
    }
    for (uint32_t i = 0; i < right->view.count; i++) {
        Str value = right->view.values[i];
        uint64_t at = XXH3_64bits(value.ptr, value.len) & (cap - 1);
        while (slots[at] != 0 && !str_equal(left->view.values[slots[at] - 1], value)) at = (at + 1) & (cap - 1);
        map[i] = slots[at] == 0 ? DIRECT_NONE : slots[at] - 1;
    }
    exec_free(x, slots);
    right->map = map;
    return TCUDB_OK;
}

static tcudb_status key_column(Exec *x, const ColInfo info[2], Type type, DirectCol *left, DirectCol *right, bool *ok,
                               Error *err)
{
    if (info[0].dict && info[1].dict) {
        TRY(take_text(x, &info[0], type, false, left, err));
        TRY(take_text(x, &info[1], type, false, right, err));
        if (left->view.id == right->view.id && right->domain > left->domain) left->domain = right->domain;
        right->domain = left->domain;
        return map_dict(x, left, right, err);
    }
    ColInfo both = {.has_bounds = info[0].has_bounds && info[1].has_bounds && !info[0].dict && !info[1].dict};
    both.min = info[0].min < info[1].min ? info[0].min : info[1].min;
    both.max = info[0].max > info[1].max ? info[0].max : info[1].max;
    *ok = take_integer(&both, type, false, left);
    *right = *left;
    return TCUDB_OK;
}

tcudb_status direct_keys(Exec *x, Expr *const *left, Expr *const *right, uint32_t n, uint64_t limit, DirectTuple out[2],
                         bool *ok, Error *err)
{
    out[0] = out[1] = (DirectTuple){.n = n, .domain = 1};
    *ok = n <= DIRECT_COLUMNS;
    for (uint32_t i = 0; i < n && *ok; i++) {
        ColInfo info[2] = {phys_expr_info(x->phys->info, x->phys->ninfo, left[i]),
                           phys_expr_info(x->phys->info, x->phys->ninfo, right[i])};
        TRY(key_column(x, info, left[i]->type, &out[0].cols[i], &out[1].cols[i], ok, err));
        *ok = *ok && multiply_domain(&out[0], out[0].cols[i].domain, limit);
    }
    out[1].domain = out[0].domain;
    return TCUDB_OK;
}

/* ---- encoding ----------------------------------------------------------------------------------- */

/* codes = codes x domain + digit; a digit out of range is remembered. */
static inline void add_digit(uint32_t *code, uint64_t domain, uint64_t digit, bool *bad)
{
    *bad |= digit >= domain;
    *code = (uint32_t)(*code * domain + digit);
}

#define ENCODE_LOOP(T)                                                                                                 \
    for (uint32_t i = 0; i < batch->n; i++)                                                                            \
    add_digit(&codes[i], col->domain, (uint64_t)((const T *)v->data)[batch_row(batch, i) * step] - (uint64_t)min, &bad)

/* The same for columns of one value a row, in 32 bits: radix 0 starts the codes. */
#define DIGITS(name, T, U)                                                                                             \
    HOT static bool name(const T *data, const uint16_t *sel, uint32_t n, T min, uint32_t domain, uint32_t radix,       \
                         uint32_t *codes)                                                                              \
    {                                                                                                                  \
        uint32_t bad = 0;                                                                                              \
        if (sel == NULL) {                                                                                             \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                U digit = (U)data[i] - (U)min;                                                                         \
                bad |= (data[i] < min) | (digit >= domain);                                                            \
                codes[i] = codes[i] * radix + (uint32_t)digit;                                                         \
            }                                                                                                          \
        } else {                                                                                                       \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                U digit = (U)data[sel[i]] - (U)min;                                                                    \
                bad |= (data[sel[i]] < min) | (digit >= domain);                                                       \
                codes[i] = codes[i] * radix + (uint32_t)digit;                                                         \
            }                                                                                                          \
        }                                                                                                              \
        return bad != 0;                                                                                               \
    }
DIGITS(digits_i32, int32_t, uint32_t)
DIGITS(digits_i64, int64_t, uint64_t)

static bool encode_integers(const DirectCol *col, const Vector *v, const Batch *batch, bool first, uint32_t *codes)
{
    bool bad = false;
    int64_t min = col->min;
    uint32_t domain = (uint32_t)col->domain, radix = first ? 0 : domain;
    assert(col->domain < DIRECT_NONE);
    if (v->form == VEC_FLAT && v->phys == PHYS_I32 && min >= INT32_MIN && min <= INT32_MAX)
        return digits_i32(v->data, batch->sel, batch->n, (int32_t)min, domain, radix, codes);
    if (v->form == VEC_FLAT && v->phys == PHYS_I64)
        return digits_i64(v->data, batch->sel, batch->n, min, domain, radix, codes);
    uint32_t step = v->form == VEC_CONST ? 0 : 1;
    switch (v->phys) {
    case PHYS_BOOL: ENCODE_LOOP(uint8_t); break;
    case PHYS_I16: ENCODE_LOOP(int16_t); break;
    case PHYS_I32: ENCODE_LOOP(int32_t); break;
    default: ENCODE_LOOP(int64_t); break;
    }
    return bad;
}

/* With NULLs: row by row. */
static bool encode_nullable(const DirectCol *col, const Vector *v, const Batch *batch, uint32_t *codes)
{
    bool bad = false;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i), at = v->form == VEC_CONST ? 0 : row;
        if (codes[i] == DIRECT_NONE) continue;
        if (vec_is_null(v, row)) {
            if (!col->null_digit) codes[i] = DIRECT_NONE;
            if (col->null_digit) add_digit(&codes[i], col->domain, col->domain - 1, &bad);
            continue;
        }
        int64_t value = v->phys == PHYS_BOOL  ? ((const uint8_t *)v->data)[at]
                        : v->phys == PHYS_I16 ? ((const int16_t *)v->data)[at]
                        : v->phys == PHYS_I32 ? ((const int32_t *)v->data)[at]
                                              : ((const int64_t *)v->data)[at];
        add_digit(&codes[i], col->domain, (uint64_t)value - (uint64_t)col->min, &bad);
    }
    return bad;
}

static tcudb_status encode_text(const DirectCol *col, Worker *w, const Vector *v, const Batch *batch, uint32_t *codes,
                                bool *bad, Error *err)
{
    const uint32_t *digits;
    TRY(vec_codes(worker_arena(w), v, col->table, col->column, &col->view, batch->sel, batch->n, batch->rows, &digits,
                  err));
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        if (codes[i] == DIRECT_NONE) continue;
        bool null = vec_is_null(v, row);
        uint64_t digit = null ? col->domain - 1 : col->map == NULL ? digits[row] : col->map[digits[row]];
        if ((null && !col->null_digit) || (!null && digit == DIRECT_NONE))
            codes[i] = DIRECT_NONE;
        else
            add_digit(&codes[i], col->domain, digit, bad);
    }
    return TCUDB_OK;
}

HOT bool direct_any_none(const uint32_t *codes, uint32_t n)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < n; i++) any |= codes[i] == DIRECT_NONE;
    return any != 0;
}

tcudb_status direct_encode(const DirectTuple *tuple, Worker *w, const Vector *cols, const Batch *batch, uint32_t *codes,
                           Error *err)
{
    bool bad = false;
    memset(codes, 0, sizeof *codes * batch->n);
    for (uint32_t c = 0; c < tuple->n; c++) {
        const DirectCol *col = &tuple->cols[c];
        if (col->dict)
            TRY(encode_text(col, w, &cols[c], batch, codes, &bad, err));
        else if (cols[c].valid != NULL || (c > 0 && direct_any_none(codes, batch->n)))
            bad |= encode_nullable(col, &cols[c], batch, codes);
        else
            bad |= encode_integers(col, &cols[c], batch, c == 0, codes);
    }
    if (!bad) return TCUDB_OK;
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "a column holds a value outside its segments' bounds");
}

/* ---- decoding ----------------------------------------------------------------------------------- */

static void store_integer(Vector *v, uint32_t i, int64_t value)
{
    switch (v->phys) {
    case PHYS_BOOL: ((uint8_t *)v->data)[i] = (uint8_t)value; break;
    case PHYS_I16: ((int16_t *)v->data)[i] = (int16_t)value; break;
    case PHYS_I32: ((int32_t *)v->data)[i] = (int32_t)value; break;
    default: ((int64_t *)v->data)[i] = value; break;
    }
}

static tcudb_status new_text(const DirectCol *col, uint32_t n, Arena *arena, Vector *out, Error *err)
{
    *out = (Vector){.type = col->type,
                    .phys = PHYS_STR,
                    .form = VEC_DICT,
                    .values = col->view.values,
                    .nvalues = col->view.count,
                    .dict_id = col->view.id};
    out->data = arena_alloc_raw(arena, sizeof(uint32_t) * n, err);
    return out->data == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

tcudb_status direct_decode(const DirectTuple *tuple, uint32_t i, const uint32_t *codes, uint32_t n, Arena *arena,
                           Vector *out, Error *err)
{
    const DirectCol *col = &tuple->cols[i];
    uint64_t divisor = 1;
    for (uint32_t c = i + 1; c < tuple->n; c++) divisor *= tuple->cols[c].domain;
    assert(col->null_digit && divisor < DIRECT_NONE && col->domain < DIRECT_NONE);
    if (col->dict)
        TRY(new_text(col, n, arena, out, err));
    else
        TRY(vec_new(arena, col->type, n, out, err));
    uint32_t by = (uint32_t)divisor, radix = (uint32_t)col->domain;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t digit = tuple->n == 1 ? codes[r] : codes[r] / by % radix;
        bool null = digit == radix - 1;
        if (null && out->valid == NULL) TRY(vec_need_valid(arena, out, n, err));
        if (null) bit_clear(out->valid, r);
        if (col->dict)
            ((uint32_t *)out->data)[r] = null ? 0 : digit;
        else
            store_integer(out, r, null ? 0 : col->min + digit);
    }
    return TCUDB_OK;
}
