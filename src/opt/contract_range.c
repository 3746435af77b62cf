/*
 * contract_range.c: comparisons between the sides of a contraction.
 *
 *     a.x >= b.lo AND a.x < b.hi     point a.x, bounds b.lo and b.hi
 *     a.x <> b.y                     point a.x, bound b.y
 *
 * What the operator can do: all comparisons share the expression of one side (the point), so that each row of the
 * other side stands for an interval of points, or two where one is left out (exec/tcu/ranges.c). Text and wide decimals
 * are compared by their ranks (exec/tcu/ranks.c).
 */
#include "opt/contract.h"

#include <assert.h>

static bool is_ordered(Type type)
{
    uint8_t phys = (uint8_t)type_phys(type);
    return phys <= PHYS_I64 || phys == PHYS_F32 || phys == PHYS_F64 || phys == PHYS_I128 || phys == PHYS_NUM ||
           type_is_text(type);
}

/* The comparisons between the halves; their sides are apart. */
typedef struct Compared {
    const Expr *conds[CONTRACT_BOUNDS];
    uint32_t of_left[CONTRACT_BOUNDS]; /* which argument is over the left half */
    uint32_t n;
} Compared;

static bool add_compared(const JoinGraph *g, uint64_t left, const GraphCond *c, Compared *out, const char **why)
{
    FuncCompare compare = expr_compare(c->cond);
    *why = "a condition between the sides is not a comparison";
    if (compare == CMP_NONE || compare == CMP_EQ) return false;
    uint64_t first = contract_relations(g, c->cond->args[0]), second = contract_relations(g, c->cond->args[1]);
    bool straight = (first & ~left) == 0 && (second & left) == 0,
         swapped = (second & ~left) == 0 && (first & left) == 0;
    *why = "one side of a comparison uses both sides of the join";
    if (!straight && !swapped) return false;
    *why = "a comparison between the sides is of two types, or of values that are not ordered as numbers or text";
    if (!type_equal(c->cond->args[0]->type, c->cond->args[1]->type) || !is_ordered(c->cond->args[0]->type))
        return false;
    *why = "too many comparisons between the sides";
    if (out->n == CONTRACT_BOUNDS) return false;
    out->of_left[out->n] = straight ? 0 : 1;
    out->conds[out->n++] = c->cond;
    return true;
}

/* Whether all comparisons have the same expression on this side, and at most one is <>. */
static bool share_point(const Compared *c, uint32_t side)
{
    for (uint32_t i = 1; i < c->n; i++)
        if (!expr_equal(c->conds[i]->args[c->of_left[i] ^ side], c->conds[0]->args[c->of_left[0] ^ side])) return false;
    return true;
}

static bool is_equality_between(const GraphCond *c, uint64_t left, uint64_t right)
{
    bool straight = (c->left & ~left) == 0 && (c->right & ~right) == 0;
    return c->equality && (straight || ((c->left & ~right) == 0 && (c->right & ~left) == 0));
}

static bool collect(const JoinGraph *g, uint64_t left, Compared *out, uint32_t *equalities, const char **why)
{
    uint64_t right = contract_all(g) & ~left;
    uint32_t unequal = 0;
    for (uint32_t i = 0; i < g->nclasses; i++)
        *equalities += (g->classes[i].rels & left) != 0 && (g->classes[i].rels & right) != 0;
    for (uint32_t i = 0; i < g->nconds; i++) {
        const GraphCond *c = &g->conds[i];
        if ((c->rels & left) == 0 || (c->rels & right) == 0) continue;
        if (is_equality_between(c, left, right))
            ++*equalities;
        else if (!add_compared(g, left, c, out, why))
            return false;
        else
            unequal += expr_compare(c->cond) == CMP_NE;
    }
    *why = "more than one <> between the sides";
    if (unequal > 1) return false;
    *why = "the comparisons between the sides share no key";
    return share_point(out, 0) || share_point(out, 1);
}

bool contract_keys_fit(const JoinGraph *g, uint64_t left, bool *compares, const char **why)
{
    Compared compared = {.n = 0};
    uint32_t equalities = 0;
    if (!collect(g, left, &compared, &equalities, why)) return false;
    *compares = compared.n > 0;
    return true;
}

tcudb_status contract_range(Sides *s, const JoinGraph *g, uint64_t left, ContractRange *out, bool *ok, Error *err)
{
    Compared compared = {.n = 0};
    uint32_t equalities = 0;
    *out = (ContractRange){.n = 0};
    *ok = collect(g, left, &compared, &equalities, &s->why);
    out->side = *ok && !share_point(&compared, 0);
    for (uint32_t i = 0; i < compared.n && *ok; i++) {
        const Expr *cond = compared.conds[i];
        uint32_t point = compared.of_left[i] ^ out->side;
        FuncCompare compare = point == 0 ? expr_compare(cond) : compare_swapped(expr_compare(cond));
        *ok = expr_total(s->inputs[out->side], cond->args[point]) &&
              expr_total(s->inputs[1 - out->side], cond->args[1 - point]);
        if (!*ok) s->why = "a compared expression may fail on rows that match nothing";
        TRY(expr_operator(s->opt, compare_symbol(compare), cond->args[point], cond->args[1 - point],
                          &out->conds[out->n++], err));
    }
    return TCUDB_OK;
}
