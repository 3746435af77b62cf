/*
 * contract_half.c: sides of a contraction that are contractions themselves.
 *
 * A side that is a join with many more rows than its relations is summed first by its keys and groups: the values
 * are replaced by their sums, 1 by the number of rows. So A-B-C-D with the middle projected out is a product of
 * products. Sums must be proven to stay within 64 bits.
 */
#include "opt/contract.h"
#include "tensor/product.h"

static const double GAIN = 4;

/* The aggregate of one half by its keys and groups: rows counted, values summed. */
typedef struct Half {
    Plan *agg;
    PlanCol count;
} Half;

static tcudb_status add_group(Opt *opt, Plan *agg, Expr *e, Expr **ref, Error *err)
{
    for (uint32_t g = 0; g < agg->agg.ngroups; g++) {
        if (!expr_equal(agg->agg.groups[g].expr, e)) continue;
        *ref = expr_of_col(opt, &agg->agg.groups[g].col, err);
        return *ref == NULL ? TCUDB_NOMEM : TCUDB_OK;
    }
    NamedExpr *group = &agg->agg.groups[agg->agg.ngroups++];
    *group = (NamedExpr){.col = opt_new_col(opt, e->type, "key"), .expr = e};
    *ref = expr_of_col(opt, &group->col, err);
    return *ref == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* The compared keys of the half, which the aggregate has to group by as well. */
static tcudb_status group_compared(Opt *opt, Plan *agg, Plan *node, uint32_t side, Error *err)
{
    ContractRange *range = &node->contract.range;
    for (uint32_t i = 0; i < range->n; i++) {
        Expr *args[2] = {range->conds[i]->args[0], range->conds[i]->args[1]};
        TRY(add_group(opt, agg, args[side != range->side], &args[side != range->side], err));
        TRY(expr_operator(opt, compare_symbol(expr_compare(range->conds[i])), args[0], args[1], &range->conds[i], err));
    }
    return TCUDB_OK;
}

/* A sum of the value, and in its place that sum as an integer of 64 bits; *ok false: it might not fit. */
static tcudb_status sum_value(Opt *opt, Plan *agg, Expr **value, bool *ok, Error *err)
{
    AggCallType type;
    Range range;
    Type narrow = (*value)->type.id == TYPE_NUMERIC ? TYPE_DECIMAL(18, (*value)->type.scale) : TYPE(TYPE_INT8);
    double limit = narrow.id == TYPE_INT8 ? 9.2e18 : 9.9e17, rows = (double)plan_max_rows(agg->inputs[0]);
    *ok = expr_range(agg->inputs[0], *value, &range) && (double)range.max * rows < limit &&
          (double)range.min * rows > -limit;
    if (!*ok) return TCUDB_OK;
    TRY(agg_resolve(STR_LIT("sum"), &(*value)->type, 1, false, 0, &type, err));
    AggCall *sum = &agg->agg.aggs[agg->agg.naggs++];
    *sum = (AggCall){.col = opt_new_col(opt, type.result, "sum"), .kind = AGG_SUM, .nargs = 1, .args = {*value}};
    TRY_PTR(*value = expr_of_col(opt, &sum->col, err));
    return expr_cast(opt->arena, *value, narrow, CAST_EXPLICIT, 0, value, err);
}

/* Replaces the half's expressions by columns of the aggregate: groups and keys as they are, values summed. */
static tcudb_status aggregate_half(Opt *opt, Plan *node, uint32_t side, Half *half, bool *ok, Error *err)
{
    uint32_t nvalues = node->contract.nvalues[side], first = side == 0 ? 0 : node->contract.nleft;
    uint32_t last = side == 0 ? node->contract.nleft : node->contract.ngroups;
    Plan *agg = half->agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, 0, err);
    TRY_PTR(agg);
    agg->inputs[0] = node->inputs[side];
    TRY_PTR(agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr,
                                          node->contract.nkeys + last - first + node->contract.range.n + 1, err));
    TRY_PTR(agg->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, nvalues + 1, err));
    for (uint32_t g = first; g < last; g++) {
        Expr *ref;
        TRY(add_group(opt, agg, node->contract.groups[g].expr, &ref, err));
        node->contract.groups[g].expr = ref;
    }
    for (uint32_t k = 0; k < node->contract.nkeys; k++)
        TRY(add_group(opt, agg, node->contract.keys[side][k], &node->contract.keys[side][k], err));
    TRY(group_compared(opt, agg, node, side, err));
    for (uint32_t v = 0; v < nvalues && *ok; v++) TRY(sum_value(opt, agg, &node->contract.values[side][v], ok, err));
    half->count = opt_new_col(opt, TYPE(TYPE_INT8), "count");
    agg->agg.aggs[agg->agg.naggs++] = (AggCall){.col = half->count, .kind = AGG_COUNT_STAR};
    agg->ncols = agg->agg.ngroups + agg->agg.naggs;
    TRY_PTR(agg->cols = ARENA_ARRAY(opt->arena, PlanCol, agg->ncols, err));
    for (uint32_t g = 0; g < agg->agg.ngroups; g++) agg->cols[g] = agg->agg.groups[g].col;
    for (uint32_t a = 0; a < agg->agg.naggs; a++) agg->cols[agg->agg.ngroups + a] = agg->agg.aggs[a].col;
    return TCUDB_OK;
}

static void weigh(ContractTerm *term, uint32_t side, uint32_t count)
{
    uint32_t *factor = side == 0 ? &term->left : &term->right;
    if (*factor == CONTRACT_ONES) *factor = count;
}

/* The half's count of rows stands where 1 stood. */
static tcudb_status weigh_terms(Opt *opt, Plan *node, uint32_t side, const Half *half, Error *err)
{
    ExprList values = {node->contract.values[side], node->contract.nvalues[side], node->contract.nvalues[side]};
    Expr *count;
    TRY_PTR(count = expr_of_col(opt, &half->count, err));
    TRY(list_add(opt, &values, count, err));
    node->contract.values[side] = values.items;
    node->contract.nvalues[side] = values.n;
    for (uint32_t o = 0; o < node->contract.nouts; o++) {
        ContractOut *out = &node->contract.outs[o];
        for (uint32_t t = 0; t < out->nterms; t++) weigh(&out->terms[t], side, values.n - 1);
        if (out->nullable) weigh(&out->nonnull, side, values.n - 1);
    }
    return TCUDB_OK;
}

/* A copy of the node whose expressions stay when those of the original are replaced. */
static tcudb_status remember(Opt *opt, const Plan *node, Plan *out, Error *err)
{
    *out = *node;
    TRY_PTR(out->contract.groups = ARENA_ARRAY(opt->arena, NamedExpr, node->contract.ngroups + 1, err));
    memcpy(out->contract.groups, node->contract.groups, sizeof(NamedExpr) * node->contract.ngroups);
    for (uint32_t s = 0; s < 2; s++) {
        Expr **keys = ARENA_ARRAY(opt->arena, Expr *, node->contract.nkeys + 1, err);
        Expr **values = ARENA_ARRAY(opt->arena, Expr *, node->contract.nvalues[s] + 1, err);
        TRY_PTR(keys);
        TRY_PTR(values);
        if (node->contract.nkeys > 0) memcpy(keys, node->contract.keys[s], sizeof *keys * node->contract.nkeys);
        if (node->contract.nvalues[s] > 0)
            memcpy(values, node->contract.values[s], sizeof *values * node->contract.nvalues[s]);
        out->contract.keys[s] = keys;
        out->contract.values[s] = values;
    }
    return TCUDB_OK;
}

static double leaf_rows(const Opt *opt, Plan *plan)
{
    if (plan->kind == PLAN_JOIN && plan->join.kind == JOIN_INNER)
        return leaf_rows(opt, plan->inputs[0]) + leaf_rows(opt, plan->inputs[1]);
    return plan->rows;
}

/* Whether summing the half before it is multiplied shrinks it much: then rule_eager makes vectors of what has no
 * group, below the sums. */
static bool shrinks(Opt *opt, Plan *agg)
{
    card_rows(opt, agg, false);
    bool forced = opt->env->settings->engine == ENGINE_TCU;
    double rows = agg->inputs[0]->rows;
    return forced || (rows > GAIN * leaf_rows(opt, agg->inputs[0]) && rows > GAIN * agg->rows);
}

/* Without groups and keys (a cross product into one group) the sums are a row even of no rows: then it has to go. */
static tcudb_status drop_empty_sums(Opt *opt, const Half *half, Plan **summed, Error *err)
{
    Value zero = {.type = TYPE(TYPE_INT8)};
    Expr *none, *count, *some;
    if (half->agg->agg.ngroups > 0) return TCUDB_OK;
    TRY_PTR(none = expr_const(opt->arena, &zero, 0, err));
    TRY_PTR(count = expr_of_col(opt, &half->count, err));
    TRY(expr_operator(opt, ">", count, none, &some, err));
    return plan_add_filter(opt, summed, &some, 1, err);
}

/* A half that is a join with many more rows than its relations is summed first: as a contraction of its own, or, where
 * one of its relations has all the groups and keys, by sums below the join. Else the half stays as it is: the operator
 * adds equal rows itself. */
tcudb_status contract_half(Opt *opt, Plan *node, uint32_t side, Error *err)
{
    if (!graph_is_region(node->inputs[side])) return TCUDB_OK;
    Plan before;
    Half half = {0};
    bool ok = true;
    TRY(remember(opt, node, &before, err));
    TRY(aggregate_half(opt, node, side, &half, &ok, err));
    Plan *summed = half.agg;
    if (ok) TRY(contract_aggregate(opt, &summed, half.agg, half.agg->inputs[0], err));
    bool keeps = ok && (summed != half.agg || shrinks(opt, half.agg)) && node->contract.nvalues[side] < PRODUCT_PLAN;
    if (!keeps) {
        *node = before;
        return TCUDB_OK;
    }
    TRY(drop_empty_sums(opt, &half, &summed, err));
    node->inputs[side] = summed;
    return weigh_terms(opt, node, side, &half, err);
}
