/*
 * contract_split.c: which relations of a join become the two sides of a contraction.
 *
 * A split is a set of relations and the rest, both connected by conditions, such that every group column lies in
 * one of them and the conditions between them are equalities and comparisons that can be (contract_range.c). Grouped
 * on one side only, or not at all, it is a product with a vector: rule_eager's sums below the join do many of them as
 * well, and are a candidate beside it. All splits are looked at (2^(n-1) of at most CONTRACT_RELATIONS relations); the
 * cheapest is taken (contract_order.c).
 */
#include "opt/contract.h"

#include <math.h>

uint64_t contract_op_relations(const JoinGraph *g, const GraphOp *op)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < g->nrels; i++)
        for (uint32_t c = 0; c < g->rels[i].plan->ncols; c++)
            if (colset_has(&op->needs, g->rels[i].plan->cols[c].id)) set |= UINT64_C(1) << i;
    return set == 0 ? 1 : set;
}

static bool touches_added(const Expr *e, const Plan *op)
{
    for (uint32_t c = 0; c < op->ncols; c++)
        if (plan_find_col(op->inputs[0], op->cols[c].id) == NULL && expr_has_col(e, op->cols[c].id)) return true;
    return false;
}

uint64_t contract_relations(const JoinGraph *g, const Expr *e)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < g->nrels; i++)
        if (expr_touches(e, g->rels[i].plan)) set |= UINT64_C(1) << i;
    for (uint32_t i = 0; i < g->nops; i++)
        if (touches_added(e, g->ops[i].join)) set |= contract_op_relations(g, &g->ops[i]);
    return set;
}

uint64_t contract_all(const JoinGraph *g)
{
    return (UINT64_C(1) << g->nrels) - 1;
}

/* Every semi, anti or outer join on top of the region looks at one half. */
static bool ops_fit(const JoinGraph *g, uint64_t left, const char **why)
{
    for (uint32_t i = 0; i < g->nops; i++) {
        uint64_t used = contract_op_relations(g, &g->ops[i]);
        *why = "a subquery that may yield one row only is checked before the join";
        if (g->ops[i].join->join.kind == JOIN_SINGLE) return false;
        *why = "a semi or outer join uses both sides";
        if ((used & left) != 0 && (used & ~left) != 0) return false;
    }
    return true;
}

/* Every group column in one half. Of distinct rows only, some in each: else a semi join does it, unless a comparison
 * would make it join all pairs. */
static bool groups_fit(const JoinGraph *g, const Plan *agg, uint64_t left, bool compares, const char **why)
{
    uint32_t groups[2] = {0, 0};
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) {
        uint64_t used = contract_relations(g, agg->agg.groups[i].expr);
        *why = "a group expression spans both sides";
        if ((used & ~left) != 0 && (used & left) != 0) return false;
        groups[(used & ~left) != 0]++;
    }
    *why = "the groups lie on one side, and nothing is summed";
    return compares || agg->agg.naggs > 0 || (groups[0] > 0 && groups[1] > 0);
}

/* The best split by the work of its halves and the pairs that they make; 0: none. */
static uint64_t best_split(const ContractOrder *o, const char **why)
{
    const JoinGraph *g = o->graph;
    uint64_t all = contract_all(g), best = 0;
    double best_cost = INFINITY;
    for (uint64_t left = 1; left < all; left += 2) {
        uint64_t right = all & ~left;
        bool compares;
        if (o->cost[left] < 0 || o->cost[right] < 0) continue; /* not connected */
        if (!ops_fit(g, left, why) || !contract_keys_fit(g, left, &compares, why)) continue;
        if (!groups_fit(g, o->agg, left, compares, why)) continue;
        double cost = o->cost[left] + o->cost[right] + contract_pairs(o, left, right);
        if (cost >= best_cost) continue;
        best_cost = cost;
        best = left;
    }
    return best;
}

tcudb_status contract_split(Opt *opt, const JoinGraph *g, const Plan *agg, uint64_t *left, const char **why, Error *err)
{
    ContractOrder order;
    TRY(contract_order(opt, g, agg, &order, err));
    *left = best_split(&order, why);
    return TCUDB_OK;
}
