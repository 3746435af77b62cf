/*
 * contract_terms.c: which products a contraction's sums need, and how the sums are put together from them.
 *
 *     sum(a.x * b.y)                     product (x, y)
 *     sum(a.x), count(*)                 product (x, ONES); the counts
 *     sum(a.x * b.y), both wide          (xh, yh) 2^64 + (xh, yl) 2^32 + (xl, yh) 2^32 + (xl, yl)
 *
 *     sum(a.f * b.g), float8             (f0, g0) + (f1, g0) 2^w + ...: a product a pair of limbs (floats.c)
 *
 * Equal products are made once.
 */
#include "exec/tcu/contract_int.h"

#include <assert.h>

typedef struct Lister {
    const Input *inputs;
    ProductSpec *spec;
    uint32_t most; /* products */
    bool full;     /* no room for another */
    SumPart *parts;
    uint32_t n;
} Lister;

static tcudb_status find_product(Lister *l, uint32_t left, uint32_t right, uint32_t *index, Error *err)
{
    ProductSpec *spec = l->spec;
    *index = ONES;
    if (left == ONES && right == ONES) {
        spec->exact_counts = true;
        return TCUDB_OK;
    }
    for (*index = 0; *index < spec->nproducts; (*index)++)
        if (spec->products[*index].left == left && spec->products[*index].right == right) return TCUDB_OK;
    if (spec->nproducts == l->most) {
        l->full = true;
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a contraction of more than %u products", l->most);
    }
    spec->products[spec->nproducts++] = (Product){left, right};
    return TCUDB_OK;
}

static tcudb_status add_part(Lister *l, uint32_t left, uint32_t right, uint32_t shift, int64_t factor, Error *err)
{
    SumPart *part = &l->parts[l->n++];
    *part = (SumPart){.shift = shift, .factor = factor};
    return find_product(l, left, right, &part->product, err);
}

static uint32_t high_of(const Input *in, uint32_t column)
{
    return column == ONES ? 0 : in->high[column];
}

static tcudb_status add_term(Lister *l, const ContractTerm *term, Error *err)
{
    static_assert((uint32_t)CONTRACT_ONES == (uint32_t)ONES, "terms name columns as products do");
    uint32_t left = high_of(&l->inputs[0], term->left), right = high_of(&l->inputs[1], term->right);
    TRY(add_part(l, term->left, term->right, 0, term->factor, err));
    if (left != 0) TRY(add_part(l, left, term->right, 32, term->factor, err));
    if (right != 0) TRY(add_part(l, term->left, right, 32, term->factor, err));
    return left != 0 && right != 0 ? add_part(l, left, right, 64, term->factor, err) : TCUDB_OK;
}

/* ---- float8 --------------------------------------------------------------------------------------- */

static const FloatColumn *float_of(const Input *in, uint32_t column)
{
    return column != ONES && in->floats[column].used ? &in->floats[column] : NULL;
}

static uint32_t limb_column(const FloatColumn *f, uint32_t column, uint32_t limb)
{
    return f == NULL || limb == 0 ? column : f->first + limb - 1;
}

static tcudb_status add_specials(Lister *l, const ContractTerm *term, Sum *sum, Error *err)
{
    const FloatColumn *left = float_of(&l->inputs[0], term->left), *right = float_of(&l->inputs[1], term->right);
    bool of_left = left != NULL && left->special, of_right = right != NULL && right->special;
    sum->has_specials = of_left || of_right;
    for (uint32_t k = 0; k < 3 && sum->has_specials; k++)
        TRY(find_product(l, of_left ? left->specials + k : term->left, of_left ? term->right : right->specials + k,
                         &sum->specials[k], err));
    return TCUDB_OK;
}

static tcudb_status add_float_term(Lister *l, const ContractTerm *term, Sum *sum, Error *err)
{
    const FloatColumn *left = float_of(&l->inputs[0], term->left), *right = float_of(&l->inputs[1], term->right);
    uint32_t nleft = left == NULL ? 1 : left->limbs, nright = right == NULL ? 1 : right->limbs;
    for (uint32_t i = 0; i < nleft; i++) {
        for (uint32_t k = 0; k < nright; k++) {
            uint32_t shift = (left == NULL ? 0 : i * left->width) + (right == NULL ? 0 : k * right->width);
            TRY(add_part(l, limb_column(left, term->left, i), limb_column(right, term->right, k), shift, 1, err));
            sum->words = shift / 64 + 4;
        }
    }
    sum->exponent = (left == NULL ? 0 : left->low) + (right == NULL ? 0 : right->low);
    return add_specials(l, term, sum, err);
}

/* ---- all -------------------------------------------------------------------------------------------- */

static tcudb_status list_sum(Lister *l, const ContractOut *from, bool limbs, uint32_t *nready, Sum *sum, Error *err)
{
    *sum = (Sum){.out = from, .parts = l->parts + l->n, .is_float = from->col.type.id == TYPE_FLOAT8};
    sum->ready = sum->is_float && !limbs;
    if (sum->ready)
        l->parts[l->n++] = (SumPart){.product = (*nready)++, .factor = 1}; /* from the last product on */
    else if (sum->is_float)
        TRY(add_float_term(l, &from->terms[0], sum, err));
    else
        for (uint32_t t = 0; t < from->nterms; t++) TRY(add_term(l, &from->terms[t], err));
    sum->nparts = (uint32_t)(l->parts + l->n - sum->parts);
    if (!from->nullable) return TCUDB_OK;
    sum->nonnull = l->parts + l->n;
    TRY(add_term(l, &from->nonnull, err));
    sum->nnonnull = (uint32_t)(l->parts + l->n - sum->nonnull);
    return TCUDB_OK;
}

/* Room for parts: 4 a term of integers, one a pair of limbs of float8. */
static size_t most_parts(const Plan *plan)
{
    size_t n = 1;
    for (uint32_t o = 0; o < plan->contract.nouts; o++) {
        bool is_float = plan->contract.outs[o].col.type.id == TYPE_FLOAT8;
        n += is_float ? PRODUCT_MAX + 4 : 4 * ((size_t)plan->contract.outs[o].nterms + 1);
    }
    return n;
}

/* Limbs of float8 are left to exact.c before they are many. */
static bool any_float(const Plan *plan)
{
    for (uint32_t o = 0; o < plan->contract.nouts; o++)
        if (plan->contract.outs[o].col.type.id == TYPE_FLOAT8) return true;
    return false;
}

tcudb_status terms_list(Exec *x, const Plan *plan, const Input inputs[2], bool limbs, ProductSpec *spec, Sum **out,
                        bool *fits, Error *err)
{
    Lister l = {.inputs = inputs, .spec = spec, .most = limbs && any_float(plan) ? PRODUCT_PLAN : PRODUCT_MAX};
    uint32_t nready = 0;
    spec->nproducts = 0;
    spec->exact_counts = false;
    TRY_PTR(l.parts = ARENA_ARRAY(&x->arena, SumPart, most_parts(plan), err));
    Sum *sums = *out = ARENA_ARRAY(&x->arena, Sum, plan->contract.nouts + 1, err);
    TRY_PTR(sums);
    tcudb_status status = TCUDB_OK;
    for (uint32_t o = 0; o < plan->contract.nouts && status == TCUDB_OK; o++)
        status = list_sum(&l, &plan->contract.outs[o], limbs, &nready, &sums[o], err);
    *fits = !l.full;
    for (uint32_t o = 0; o < plan->contract.nouts && status == TCUDB_OK; o++)
        if (sums[o].ready) ((SumPart *)(uintptr_t)sums[o].parts)->product += spec->nproducts;
    return status;
}
