/*
 * contract_output.c: from sums of products to batches of the contraction's columns.
 *
 * A group's columns are made once for all of its codes; the rows of a batch take theirs from there by code, so a row
 * costs a load and a store a column. Counts and sums that are columns as they stand are passed on without a copy;
 * others are combined from their terms and checked against the result type, with PostgreSQL's error where they do
 * not fit. Columns that nobody reads (they are not among the plan's) cost nothing.
 */
#include "exec/tcu/contract_int.h"

#include <assert.h>

/* A column of the plan: a group's (codes of a side) or a sum. */
typedef struct OutColumn {
    uint32_t side;          /* of a group */
    Vector codes;           /* its value for every group code of the side */
    const ContractOut *sum; /* NULL: a group */
    const uint32_t *products;
} OutColumn;

struct Output {
    const Plan *plan;
    OutColumn *cols;
};

static tcudb_status find_column(Output *o, const Input inputs[2], const uint32_t *products, ColId id, Arena *arena,
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
        col->sum = &plan->contract.outs[s];
        col->products = products;
        if (col->sum->col.id == id) return TCUDB_OK;
        products += col->sum->nterms + 1;
    }
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "a contraction lacks an output column");
}

tcudb_status output_new(Exec *x, const Plan *plan, const Input inputs[2], const uint32_t *products, Output **out,
                        Error *err)
{
    Output *o = *out = ARENA_NEW(&x->arena, Output, err);
    TRY_PTR(o);
    o->plan = plan;
    TRY_PTR(o->cols = ARENA_ARRAY(&x->arena, OutColumn, plan->ncols + 1, err));
    for (uint32_t i = 0; i < plan->ncols; i++)
        TRY(find_column(o, inputs, products, plan->cols[i].id, &x->arena, &o->cols[i], err));
    return TCUDB_OK;
}

bool output_reads_groups(const Output *o, uint32_t side)
{
    for (uint32_t i = 0; i < o->plan->ncols; i++)
        if (o->cols[i].sum == NULL && o->cols[i].side == side) return true;
    return false;
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

static tcudb_status sum_terms(const ContractOut *out, const uint32_t *products, const ProductRows *rows, uint32_t r,
                              int128 *sum, Error *err)
{
    bool overflow = false;
    *sum = 0;
    for (uint32_t t = 0; t < out->nterms; t++) {
        int128 term;
        overflow |= __builtin_mul_overflow(product_at(rows, products[t], r), (int128)out->terms[t].factor, &term);
        overflow |= __builtin_add_overflow(*sum, term, sum);
    }
    static const int128 limit = (int128)10000000000000000000u * 10000000000000000000u; /* 10^38 */
    bool wide = type_phys(out->col.type) == PHYS_I128;
    if (overflow || (wide && (*sum >= limit || *sum <= -limit)))
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
    if (!wide && (*sum > INT64_MAX || *sum < INT64_MIN))
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    return TCUDB_OK;
}

static tcudb_status make_sum(const ContractOut *out, const uint32_t *products, const ProductRows *rows, Arena *arena,
                             Vector *v, Error *err)
{
    bool wide = type_phys(out->col.type) == PHYS_I128, plain = !out->nullable && out->nterms == 1;
    assert(wide || type_phys(out->col.type) == PHYS_I64);
    if (!wide && plain && out->terms[0].factor == 1 && (!rows->wide || products[0] == ONES)) {
        const void *from = products[0] == ONES ? (const void *)rows->counts : rows->sums[products[0]];
        *v = (Vector){.type = out->col.type, .phys = PHYS_I64, .data = (void *)(uintptr_t)from}; /* only read */
        return TCUDB_OK;
    }
    TRY(vec_new(arena, out->col.type, rows->n, v, err));
    if (out->nullable) TRY(vec_need_valid(arena, v, rows->n, err));
    for (uint32_t r = 0; r < rows->n; r++) {
        int128 sum;
        if (out->nullable && product_at(rows, products[out->nterms], r) == 0) {
            bit_clear(v->valid, r);
            continue;
        }
        TRY(sum_terms(out, products, rows, r, &sum, err));
        if (wide)
            ((int128 *)v->data)[r] = sum;
        else
            ((int64_t *)v->data)[r] = (int64_t)sum;
    }
    return TCUDB_OK;
}

tcudb_status output_push(const Output *o, Stage *down, Worker *w, const ProductRows *rows, Error *err)
{
    assert(rows->n <= BATCH_ROWS);
    arena_reset(&w->batch);
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = rows->n, .n = rows->n, .ncols = o->plan->ncols};
    TRY_PTR(batch.cols = ARENA_ARRAY(arena, Vector, batch.ncols + 1, err));
    for (uint32_t i = 0; i < batch.ncols; i++) {
        const OutColumn *col = &o->cols[i];
        if (col->sum != NULL)
            TRY(make_sum(col->sum, col->products, rows, arena, &batch.cols[i], err));
        else
            TRY(take_group(&col->codes, col->side == 0 ? rows->left_group : rows->right_group, rows->n, arena,
                           &batch.cols[i], err));
    }
    return stage_push(down, w, &batch, err);
}
