/*
 * contract_terms.c: which products a contraction's sums need, and how the sums are put together from them.
 *
 *     sum(a.x * b.y)                     product (x, y)
 *     sum(a.x), count(*)                 product (x, ONES); the counts
 *     sum(a.x * b.y), both wide          (xh, yh) 2^64 + (xh, yl) 2^32 + (xl, yh) 2^32 + (xl, yl)
 *
 * Equal products are made once.
 */
#include "exec/tcu/contract_int.h"

#include <assert.h>

typedef struct Lister {
    const Input *inputs;
    ProductSpec *spec;
    SumPart *parts;
    uint32_t n;
} Lister;

static tcudb_status find_product(ProductSpec *spec, uint32_t left, uint32_t right, uint32_t *index, Error *err)
{
    *index = ONES;
    if (left == ONES && right == ONES) {
        spec->exact_counts = true;
        return TCUDB_OK;
    }
    for (*index = 0; *index < spec->nproducts; (*index)++)
        if (spec->products[*index].left == left && spec->products[*index].right == right) return TCUDB_OK;
    if (spec->nproducts == PRODUCT_MAX)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a contraction of more than %d products", PRODUCT_MAX);
    spec->products[spec->nproducts++] = (Product){left, right};
    return TCUDB_OK;
}

static tcudb_status add_part(Lister *l, uint32_t left, uint32_t right, uint32_t shift, int64_t factor, Error *err)
{
    SumPart *part = &l->parts[l->n++];
    *part = (SumPart){.shift = shift, .factor = factor};
    return find_product(l->spec, left, right, &part->product, err);
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

tcudb_status terms_list(Exec *x, const Plan *plan, const Input inputs[2], ProductSpec *spec, Sum **out, Error *err)
{
    enum { PARTS = 4 }; /* of a term */
    Lister l = {.inputs = inputs, .spec = spec};
    uint32_t n = 0;
    for (uint32_t o = 0; o < plan->contract.nouts; o++) n += plan->contract.outs[o].nterms + 1;
    TRY_PTR(l.parts = ARENA_ARRAY(&x->arena, SumPart, PARTS * (size_t)n + 1, err));
    Sum *sums = *out = ARENA_ARRAY(&x->arena, Sum, plan->contract.nouts + 1, err);
    TRY_PTR(sums);
    for (uint32_t o = 0; o < plan->contract.nouts; o++) {
        const ContractOut *from = &plan->contract.outs[o];
        sums[o] = (Sum){.out = from, .parts = l.parts + l.n};
        for (uint32_t t = 0; t < from->nterms; t++) TRY(add_term(&l, &from->terms[t], err));
        sums[o].nparts = (uint32_t)(l.parts + l.n - sums[o].parts);
        if (!from->nullable) continue;
        sums[o].nonnull = l.parts + l.n;
        TRY(add_term(&l, &from->nonnull, err));
        sums[o].nnonnull = (uint32_t)(l.parts + l.n - sums[o].nonnull);
    }
    return TCUDB_OK;
}
