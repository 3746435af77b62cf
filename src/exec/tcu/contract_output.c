/*
 * contract_output.c: from sums of products to batches of the contraction's columns.
 *
 * A group's columns are made once for all of its codes; the rows of a batch take theirs from there by code, so a row
 * costs a load and a store a column. Counts and sums that are columns as they stand are passed on without a copy;
 * others are combined from their terms and checked against the result type, with PostgreSQL's error where they do
 * not fit. Columns that nobody reads (they are not among the plan's) cost nothing.
 */
#include "exec/tcu/contract_int.h"
#include "exec/tcu/fixed.h"

#include <assert.h>
#include <math.h>

/* A column of the plan: a group's (codes of a side) or a sum. */
typedef struct OutColumn {
    uint32_t side;  /* of a group */
    Vector codes;   /* its value for every group code of the side */
    const Sum *sum; /* NULL: a group */
    bool cells;     /* the number of folded groups */
} OutColumn;

struct Output {
    const Plan *plan;
    OutColumn *cols;
    const Sum *sums;
    bool tested; /* the product has tested the bounds of plain sums */
};

static tcudb_status find_column(Output *o, const Input inputs[2], const Sum *sums, ColId id, Arena *arena,
                                OutColumn *col, Error *err)
{
    const Plan *plan = o->plan;
    for (uint32_t g = 0; g < plan->contract.ngroups; g++) {
        if (plan->contract.groups[g].col.id != id) continue;
        col->side = g >= plan->contract.nleft;
        return input_group_column(&inputs[col->side], g - (col->side == 0 ? 0 : plan->contract.nleft), arena,
                                  &col->codes, err);
    }
    for (uint32_t s = 0; s < plan->contract.nouts; s++) {
        col->sum = &sums[s];
        if (col->sum->out->col.id == id) return TCUDB_OK;
    }
    col->sum = NULL;
    col->cells = plan->contract.fold && plan->contract.cells.id == id;
    if (col->cells) return TCUDB_OK;
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "a contraction lacks an output column");
}

tcudb_status output_new(Exec *x, const Plan *plan, const Input inputs[2], const Sum *sums, Output **out, Error *err)
{
    Output *o = *out = ARENA_NEW(&x->arena, Output, err);
    TRY_PTR(o);
    o->plan = plan;
    o->sums = sums;
    TRY_PTR(o->cols = ARENA_ARRAY(&x->arena, OutColumn, plan->ncols + 1, err));
    for (uint32_t i = 0; i < plan->ncols; i++)
        TRY(find_column(o, inputs, sums, plan->cols[i].id, &x->arena, &o->cols[i], err));
    return TCUDB_OK;
}

bool output_reads_groups(const Output *o, uint32_t side)
{
    for (uint32_t i = 0; i < o->plan->ncols; i++)
        if (o->cols[i].sum == NULL && !o->cols[i].cells && o->cols[i].side == side) return true;
    return false;
}

tcudb_status output_uncounted(Exec *x, const Plan *plan, const Input *right, const uint8_t **out, Error *err)
{
    Vector v;
    uint32_t g = plan->contract.nleft, n = right->ngroup_codes;
    *out = NULL;
    while (g < plan->contract.ngroups && plan->contract.groups[g].col.id != plan->contract.counted) g++;
    if (g == plan->contract.ngroups) return TCUDB_OK;
    TRY(input_group_column(right, g - plan->contract.nleft, &x->arena, &v, err));
    if (v.valid == NULL) return TCUDB_OK;
    uint8_t *uncounted = arena_alloc(&x->arena, n, err);
    TRY_PTR(uncounted);
    for (uint32_t code = 0; code < n; code++) uncounted[code] = vec_is_null(&v, code);
    *out = uncounted;
    return TCUDB_OK;
}

/* ---- groups ------------------------------------------------------------------------------------- */

#define TAKE(T)                                                                                                        \
    for (uint32_t r = 0; r < n; r++) ((T *)out->data)[r] = ((const T *)from->data)[codes[r]]

static tcudb_status take_group(const Vector *from, const uint32_t *codes, uint32_t n, Arena *arena, Vector *out,
                               Error *err)
{
    size_t size = from->form == VEC_DICT ? sizeof(uint32_t) : phys_size((Phys)from->phys);
    *out = *from;
    out->valid = NULL;
    TRY_PTR(out->data = arena_alloc_raw(arena, size * n + 64, err));
    switch (size) {
    case 1: TAKE(uint8_t); break;
    case 2: TAKE(uint16_t); break;
    case 4: TAKE(uint32_t); break;
    case 8: TAKE(uint64_t); break;
    default:
        for (uint32_t r = 0; r < n; r++)
            memcpy((char *)out->data + r * size, (const char *)from->data + codes[r] * size, size);
    }
    if (from->valid == NULL) return TCUDB_OK;
    TRY(vec_need_valid(arena, out, n, err));
    for (uint32_t r = 0; r < n; r++)
        if (!bit_get(from->valid, codes[r])) bit_clear(out->valid, r);
    return TCUDB_OK;
}

/* ---- sums --------------------------------------------------------------------------------------- */

static int128 product_at(const ProductRows *rows, uint32_t product, uint32_t r)
{
    if (product == ONES) return rows->counts[r];
    return rows->wide ? ((const int128 *)rows->sums[product])[r] : ((const int64_t *)rows->sums[product])[r];
}

/* 256 bits, two's complement, least significant first: a product of 127 bits, a factor of 64 and a shift of 64. */
typedef struct Big {
    uint64_t w[4];
} Big;

static void big_add(Big *sum, const Big *x, bool subtract)
{
    uint64_t carry = subtract;
    for (int i = 0; i < 4; i++) {
        uint128 word = (uint128)sum->w[i] + (subtract ? ~x->w[i] : x->w[i]) + carry;
        sum->w[i] = (uint64_t)word;
        carry = (uint64_t)(word >> 64);
    }
}

static void big_add_part(Big *sum, int128 value, int64_t factor, uint32_t shift)
{
    uint128 v = value < 0 ? 0 - (uint128)value : (uint128)value;
    uint64_t f = factor < 0 ? 0 - (uint64_t)factor : (uint64_t)factor;
    uint128 low = (uint128)(uint64_t)v * f, high = (v >> 64) * f + (low >> 64);
    Big x = {{(uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64), 0}};
    for (uint32_t s = 0; s < shift; s += 32)
        for (int i = 3; i >= 0; i--) x.w[i] = x.w[i] << 32 | (i > 0 ? x.w[i - 1] >> 32 : 0);
    big_add(sum, &x, (value < 0) != (factor < 0));
}

/* false: it does not fit 128 bits. */
static bool big_narrow(const Big *x, int128 *out)
{
    uint64_t sign = (uint64_t)((int64_t)x->w[1] >> 63);
    *out = (int128)((uint128)x->w[1] << 64 | x->w[0]);
    return x->w[2] == sign && x->w[3] == sign;
}

/* false: the sum does not fit 128 bits. In 128 as long as nothing overflows there, else in 256. */
static bool add_parts(const SumPart *parts, uint32_t n, const ProductRows *rows, uint32_t r, int128 *sum)
{
    bool overflow = false;
    *sum = 0;
    for (uint32_t p = 0; p < n && !overflow; p++) {
        int128 term;
        overflow = parts[p].shift != 0 ||
                   __builtin_mul_overflow(product_at(rows, parts[p].product, r), (int128)parts[p].factor, &term) ||
                   __builtin_add_overflow(*sum, term, sum);
    }
    if (!overflow) return true;
    Big big = {{0}};
    for (uint32_t p = 0; p < n; p++)
        big_add_part(&big, product_at(rows, parts[p].product, r), parts[p].factor, parts[p].shift);
    return big_narrow(&big, sum);
}

static tcudb_status sum_at(const Sum *s, const ProductRows *rows, uint32_t r, int128 *sum, Error *err)
{
    static const int128 limit = (int128)10000000000000000000u * 10000000000000000000u; /* 10^38 */
    bool fits = add_parts(s->parts, s->nparts, rows, r, sum), wide = type_phys(s->out->col.type) == PHYS_I128;
    if (wide && (!fits || *sum >= limit || *sum <= -limit))
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
    if (!wide && (!fits || *sum > INT64_MAX || *sum < INT64_MIN))
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    return TCUDB_OK;
}

/* ---- float8 ------------------------------------------------------------------------------------- */

/* What NaN and infinities make of the sum; 0: there are none. */
static double special_at(const Sum *s, const ProductRows *rows, uint32_t r)
{
    if (!s->has_specials) return 0;
    bool nan = product_at(rows, s->specials[0], r) != 0, plus = product_at(rows, s->specials[1], r) != 0;
    bool minus = product_at(rows, s->specials[2], r) != 0;
    return nan || (plus && minus) ? NAN : plus ? INFINITY : minus ? -INFINITY : 0;
}

static tcudb_status float_at(const Sum *s, const ProductRows *rows, uint32_t r, double *out, Error *err)
{
    if (s->ready) {
        *out = ((const double *)rows->sums[s->parts[0].product])[r];
        return TCUDB_OK;
    }
    *out = special_at(s, rows, r);
    if (*out != 0) return TCUDB_OK; /* NaN too */
    uint64_t words[FIXED_WORDS] = {0};
    for (uint32_t p = 0; p < s->nparts; p++) {
        int128 v = product_at(rows, s->parts[p].product, r);
        fixed_add(words, s->words, v < 0 ? 0 - (uint128)v : (uint128)v, v < 0, s->parts[p].shift);
    }
    *out = fixed_round(words, s->words, s->exponent);
    if (!isinf(*out)) return TCUDB_OK;
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
}

static tcudb_status make_float(const Sum *s, const ProductRows *rows, Arena *arena, Vector *v, Error *err)
{
    TRY(vec_new(arena, s->out->col.type, rows->n, v, err));
    if (s->out->nullable) TRY(vec_need_valid(arena, v, rows->n, err));
    for (uint32_t r = 0; r < rows->n; r++) {
        int128 counted;
        if (s->out->nullable && add_parts(s->nonnull, s->nnonnull, rows, r, &counted) && counted == 0)
            bit_clear(v->valid, r);
        else
            TRY(float_at(s, rows, r, (double *)v->data + r, err));
    }
    return TCUDB_OK;
}

/* ---- columns ------------------------------------------------------------------------------------ */

static bool is_product(const SumPart *parts, uint32_t n)
{
    return n == 1 && parts[0].factor == 1 && parts[0].shift == 0;
}

/* Whether the sum is one product as it stands. */
static bool is_plain(const Sum *s)
{
    return !s->out->nullable && is_product(s->parts, s->nparts);
}

static const int64_t *narrow_product(const ProductRows *rows, uint32_t product)
{
    return product == ONES ? (const int64_t *)rows->counts : rows->sums[product];
}

/* One product of 64 bits, NULL where another one is 0. */
static void take_nullable(const Sum *s, const ProductRows *rows, Vector *v)
{
    const int64_t *counted = narrow_product(rows, s->nonnull[0].product);
    memcpy(v->data, narrow_product(rows, s->parts[0].product), rows->n * sizeof *counted);
    for (uint32_t r = 0; r < rows->n; r++)
        if (counted[r] == 0) bit_clear(v->valid, r);
}

static tcudb_status make_sum(const Sum *s, const ProductRows *rows, Arena *arena, Vector *v, Error *err)
{
    if (s->is_float) return make_float(s, rows, arena, v, err);
    bool wide = type_phys(s->out->col.type) == PHYS_I128;
    assert(wide || type_phys(s->out->col.type) == PHYS_I64);
    if (!wide && is_plain(s) && (!rows->wide || s->parts[0].product == ONES)) {
        const void *from = s->parts[0].product == ONES ? (const void *)rows->counts : rows->sums[s->parts[0].product];
        *v = (Vector){.type = s->out->col.type, .phys = PHYS_I64, .data = (void *)(uintptr_t)from}; /* only read */
        return TCUDB_OK;
    }
    TRY(vec_new(arena, s->out->col.type, rows->n, v, err));
    if (s->out->nullable) TRY(vec_need_valid(arena, v, rows->n, err));
    if (!wide && !rows->wide && is_product(s->parts, s->nparts) && is_product(s->nonnull, s->nnonnull)) {
        take_nullable(s, rows, v);
        return TCUDB_OK;
    }
    for (uint32_t r = 0; r < rows->n; r++) {
        int128 sum;
        if (s->out->nullable && add_parts(s->nonnull, s->nnonnull, rows, r, &sum) && sum == 0) {
            bit_clear(v->valid, r);
            continue;
        }
        TRY(sum_at(s, rows, r, &sum, err));
        if (wide)
            ((int128 *)v->data)[r] = sum;
        else
            ((int64_t *)v->data)[r] = (int64_t)sum;
    }
    return TCUDB_OK;
}

/* ---- HAVING ------------------------------------------------------------------------------------- */

/* Whether sums below 2^62 always give a result within its type. */
static bool never_overflows(const Sum *s)
{
    double most = 0;
    if (s->is_float) return false;
    for (uint32_t p = 0; p < s->nparts; p++) most += ldexp(fabs((double)s->parts[p].factor), (int)s->parts[p].shift);
    return most <= (type_phys(s->out->col.type) == PHYS_I128 ? 0x1p60 : 2);
}

/* The moving bound of a sort by a sum, if it is one product. */
static void top_bound(const Output *o, const Exec *x, ProductSpec *spec)
{
    for (uint32_t s = 0; s < o->plan->contract.nouts; s++) {
        const Sum *sum = &o->sums[s];
        const SemiBits *bits = sum->out->sort_bound == 0 ? NULL : exec_semi(x, sum->out->sort_bound);
        if (bits != NULL && bits->bound != NULL && is_plain(sum))
            spec->top = (ProductTop){&bits->bound->last, sum->parts[0].product, bits->bound->descending};
    }
}

/* A group that HAVING or a LIMIT drops must still report a sum out of range, as PostgreSQL does. */
void output_bounds(const Output *o, const Exec *x, ProductSpec *spec)
{
    for (uint32_t s = 0; s < o->plan->contract.nouts; s++)
        if (!never_overflows(&o->sums[s])) return;
    for (uint32_t s = 0; s < o->plan->contract.nouts; s++) {
        const Sum *sum = &o->sums[s];
        if (sum->out->bounded && is_plain(sum))
            spec->having[spec->nhaving++] = (ProductBound){sum->parts[0].product, sum->out->min, sum->out->max};
    }
    top_bound(o, x, spec);
}

void output_set_tested(Output *o, bool tested)
{
    o->tested = tested;
}

static bool keeps(const ContractOut *out, const Vector *v, uint32_t r)
{
    if (vec_is_null(v, r)) return false;
    int128 sum = v->phys == PHYS_I128 ? ((const int128 *)v->data)[r] : ((const int64_t *)v->data)[r];
    return (out->min == INT64_MIN || sum >= out->min) && (out->max == INT64_MAX || sum <= out->max);
}

/* The rows that keep the bounds that no product has tested; the batch's selection is all of them if there are none. */
static tcudb_status test_bounds(const Output *o, const ProductRows *rows, Arena *arena, Batch *batch, Error *err)
{
    uint16_t *sel = NULL;
    uint32_t n = rows->n;
    for (uint32_t s = 0; s < o->plan->contract.nouts; s++) {
        const Sum *sum = &o->sums[s];
        uint32_t before = n;
        Vector v;
        if (!sum->out->bounded || (o->tested && is_plain(sum))) continue;
        TRY(make_sum(sum, rows, arena, &v, err));
        if (sel == NULL) {
            TRY_PTR(sel = arena_alloc_raw(arena, sizeof *sel * rows->n, err));
            for (uint32_t r = 0; r < n; r++) sel[r] = (uint16_t)r;
        }
        n = 0;
        for (uint32_t i = 0; i < before; i++)
            if (keeps(sum->out, &v, sel[i])) sel[n++] = sel[i];
    }
    batch->n = n;
    if (n < rows->n) batch->sel = sel;
    return TCUDB_OK;
}

tcudb_status output_push(const Output *o, Stage *down, Worker *w, const ProductRows *rows, Error *err)
{
    assert(rows->n <= BATCH_ROWS);
    arena_reset(&w->batch);
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = rows->n, .n = rows->n, .ncols = o->plan->ncols};
    TRY_PTR(batch.cols = ARENA_ARRAY(arena, Vector, batch.ncols + 1, err));
    TRY(test_bounds(o, rows, arena, &batch, err));
    for (uint32_t i = 0; i < batch.ncols; i++) {
        const OutColumn *col = &o->cols[i];
        if (col->cells)
            batch.cols[i] = (Vector){
                .type = TYPE(TYPE_INT8), .phys = PHYS_I64, .data = (void *)(uintptr_t)rows->cells}; /* only read */
        else if (col->sum != NULL)
            TRY(make_sum(col->sum, rows, arena, &batch.cols[i], err));
        else
            TRY(take_group(&col->codes, col->side == 0 ? rows->left_group : rows->right_group, rows->n, arena,
                           &batch.cols[i], err));
    }
    return batch.n == 0 ? TCUDB_OK : stage_push(down, w, &batch, err);
}
