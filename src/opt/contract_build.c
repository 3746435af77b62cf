/*
 * contract_build.c: makes the Contract node of a split: sides, keys, groups, outputs.
 *
 * Each side is the join of its relations. Everything that a side evaluates is evaluated on rows that may match
 * nothing, so it must not be able to fail; what might stands in the way, and is named.
 */
#include "opt/contract.h"
#include "tensor/product.h"

#include <assert.h>

/* The operator over another input; the original stays as it is, should the contraction come to nothing. */
static tcudb_status add_op(Opt *opt, const GraphOp *op, Plan **slot, Error *err)
{
    Plan *join = plan_new(opt->arena, PLAN_JOIN, 2, 0, err);
    TRY_PTR(join);
    Plan **inputs = join->inputs;
    *join = *op->join;
    join->inputs = inputs;
    inputs[0] = *slot;
    inputs[1] = op->join->inputs[1];
    *slot = join;
    return plan_widen(opt, join, err);
}

/* The relations of a connected set joined one by one, and the operators that look at them; rule_join_order finds the
 * order. */
static tcudb_status build_side(Opt *opt, const JoinGraph *g, uint64_t set, Plan **out, Error *err)
{
    uint64_t done = set & -set;
    *out = g->rels[__builtin_ctzll(done)].plan;
    while (done != set) {
        uint64_t next = 0;
        for (uint32_t i = 0; i < g->nrels; i++)
            if ((done >> i & 1) != 0) next |= g->rels[i].neighbours & set & ~done;
        assert(next != 0);
        next &= -next;
        ExprList conds = {0};
        TRY(graph_conds(opt, g, done, next, &conds, err));
        done |= next;
        TRY(plan_new_join(opt, JOIN_INNER, *out, g->rels[__builtin_ctzll(next)].plan, conds.items, conds.n, out, err));
    }
    for (uint32_t i = g->nops; i-- > 0;)
        if ((contract_op_relations(g, &g->ops[i]) & ~set) == 0) TRY(add_op(opt, &g->ops[i], out, err));
    return TCUDB_OK;
}

static tcudb_status add_keys(Sides *s, const JoinGraph *g, uint64_t left, Plan *node, bool *ok, Error *err)
{
    ExprList keys[2] = {{0}, {0}}, conds = {0};
    TRY(graph_conds(s->opt, g, left, contract_all(g) & ~left, &conds, err));
    for (uint32_t c = 0; c < conds.n && *ok; c++) {
        Expr *cond = conds.items[c];
        if (expr_compare(cond) != CMP_EQ) continue; /* contract_range's */
        uint32_t flip = (contract_relations(g, cond->args[0]) & left) == 0;
        Type type = cond->args[0]->type;
        *ok = expr_is_equality(cond) && type_equal(type, cond->args[1]->type) && type.id != TYPE_INTERVAL;
        for (uint32_t side = 0; side < 2 && *ok; side++) {
            *ok = expr_total(s->inputs[side], cond->args[side ^ flip]);
            TRY(list_add(s->opt, &keys[side], cond->args[side ^ flip], err));
        }
        if (!*ok) s->why = "a key expression may fail on rows that match nothing";
    }
    for (uint32_t side = 0; side < 2; side++) node->contract.keys[side] = keys[side].items;
    node->contract.nkeys = keys[0].n;
    return TCUDB_OK;
}

static tcudb_status add_groups(Sides *s, const Plan *agg, Plan *node, bool *ok, Error *err)
{
    node->contract.ngroups = agg->agg.ngroups;
    node->contract.groups = ARENA_ARRAY(s->opt->arena, NamedExpr, agg->agg.ngroups + 1, err);
    TRY_PTR(node->contract.groups);
    uint32_t at = 0;
    for (int side = 0; side < 2; side++) {
        for (uint32_t g = 0; g < agg->agg.ngroups && *ok; g++) {
            int of = sides_of(s, agg->agg.groups[g].expr);
            if ((of == 2 ? 0 : of) != side) continue;
            if (type_keeps_blanks(agg->agg.groups[g].expr->type)) {
                *ok = false;
                s->why = "a group is a char without a length";
                return TCUDB_OK;
            }
            *ok = expr_total(s->inputs[side], agg->agg.groups[g].expr);
            node->contract.groups[at++] = agg->agg.groups[g];
        }
        if (side == 0) node->contract.nleft = at;
    }
    if (!*ok) s->why = "a group expression may fail on rows that match nothing";
    *ok &= at == agg->agg.ngroups;
    return TCUDB_OK;
}

static tcudb_status set_columns(Opt *opt, Plan *node, Error *err)
{
    node->ncols = node->contract.ngroups + node->contract.nouts;
    node->cols = ARENA_ARRAY(opt->arena, PlanCol, node->ncols + 1, err);
    TRY_PTR(node->cols);
    for (uint32_t g = 0; g < node->contract.ngroups; g++) node->cols[g] = node->contract.groups[g].col;
    for (uint32_t o = 0; o < node->contract.nouts; o++)
        node->cols[node->contract.ngroups + o] = node->contract.outs[o].col;
    return TCUDB_OK;
}

static bool add_product(Product *products, uint32_t *n, const ContractTerm *term)
{
    for (uint32_t i = 0; i < *n; i++)
        if (products[i].left == term->left && products[i].right == term->right) return true;
    if (*n == PRODUCT_PLAN) return false;
    products[(*n)++] = (Product){term->left, term->right};
    return true;
}

/* Whether the operator has room for the values and the products. */
static bool products_fit(Sides *s, const Plan *node)
{
    Product products[PRODUCT_PLAN];
    uint32_t n = 0;
    bool fits = true;
    for (uint32_t side = 0; side < 2; side++)
        fits &= node->contract.nvalues[side] + node->contract.range.n <= PRODUCT_PLAN;
    for (uint32_t o = 0; o < node->contract.nouts; o++) {
        const ContractOut *out = &node->contract.outs[o];
        for (uint32_t t = 0; t < out->nterms; t++) fits = fits && add_product(products, &n, &out->terms[t]);
        if (out->nullable) fits = fits && add_product(products, &n, &out->nonnull);
    }
    if (!fits) s->why = "there are more than 32 different products";
    return fits;
}

tcudb_status contract_build(Sides *s, const JoinGraph *g, const Plan *agg, uint64_t left, const ContractCalls *calls,
                            Plan **out, bool *ok, Error *err)
{
    Opt *opt = s->opt;
    Plan *node = plan_new(opt->arena, PLAN_CONTRACT, 2, 0, err);
    TRY_PTR(node);
    TRY(build_side(opt, g, left, &s->inputs[0], err));
    TRY(build_side(opt, g, contract_all(g) & ~left, &s->inputs[1], err));
    node->inputs[0] = s->inputs[0];
    node->inputs[1] = s->inputs[1];
    s->both = node;
    node->contract.outs = ARENA_ARRAY(opt->arena, ContractOut, calls->n + 1, err);
    TRY_PTR(node->contract.outs);
    *ok = true;
    TRY(add_keys(s, g, left, node, ok, err));
    if (*ok) TRY(contract_range(s, g, left, &node->contract.range, ok, err));
    if (*ok) TRY(add_groups(s, agg, node, ok, err));
    for (uint32_t i = 0; i < calls->n && *ok; i++)
        TRY(contract_add_call(s, &calls->items[i], node, &node->contract.outs[node->contract.nouts++], ok, err));
    if (*ok) *ok = products_fit(s, node);
    if (!*ok) return TCUDB_OK;
    TRY(set_columns(opt, node, err));
    *out = node;
    return TCUDB_OK;
}
