/*
 * contract_order.c: what the halves of a contraction cost, by dynamic programming over sets of relations.
 *
 *     cells(S)     groups of S and keys that lead out of it, at most the rows of its join: what is left of S once it
 *                  is summed by them
 *     cost(S)      the rows of a single relation; of more, the least over the ways to cut S in two connected parts of
 *                  cost(L) + cost(R) + pairs(L, R), or the rows of the join as it is
 *     pairs(L, R)  cells(L) x cells(R) / distinct keys between them
 *
 * So a part that keeps no group and few keys is a vector and costs next to nothing, wherever it hangs, and a chain
 * A-B-C-D is cut where its intermediate results are smallest, as in the multiplication of a chain of matrices.
 * Cost: 3^n / 2 pairs of parts, of at most CONTRACT_RELATIONS = 10 relations.
 */
#include "opt/contract.h"

#include <math.h>

bool contract_connected(const JoinGraph *g, uint64_t set)
{
    uint64_t reached = set & -set, before = 0;
    while (reached != before) {
        before = reached;
        for (uint32_t i = 0; i < g->nrels; i++)
            if ((reached >> i & 1) != 0) reached |= g->rels[i].neighbours & set;
    }
    return reached == set;
}

/* The fewest distinct values of a class among its members in the set. */
static double class_values(const GraphClass *c, uint64_t set)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < c->members.n; i++)
        if ((set >> c->member_rels[i] & 1) != 0) least = fmin(least, c->distinct[i]);
    return least;
}

static bool crosses(uint64_t rels, uint64_t a, uint64_t b)
{
    return (rels & a) != 0 && (rels & b) != 0 && (rels & ~(a | b)) == 0;
}

/* An argument of a condition between relations. */
typedef struct CondArg {
    uint64_t rels;
    double values; /* distinct ones */
} CondArg;

static tcudb_status list_cond_args(ContractOrder *o, Error *err)
{
    const JoinGraph *g = o->graph;
    TRY_PTR(o->cond_args = ARENA_ARRAY(o->opt->arena, CondArg *, g->nconds + 1, err));
    for (uint32_t i = 0; i < g->nconds; i++) {
        const Expr *cond = g->conds[i].cond;
        TRY_PTR(o->cond_args[i] = ARENA_ARRAY(o->opt->arena, CondArg, cond->nargs + 1, err));
        for (uint32_t a = 0; a < cond->nargs && cond->kind == EXPR_FUNC; a++)
            o->cond_args[i][a] = (CondArg){.rels = contract_relations(g, cond->args[a]),
                                           .values = card_distinct(o->opt, cond->args[a], INFINITY)};
    }
    return TCUDB_OK;
}

/* Distinct values of the arguments of a condition that lie in the set. */
static double cond_values(const ContractOrder *o, uint32_t cond, uint64_t set)
{
    const Expr *e = o->graph->conds[cond].cond;
    double values = 1;
    for (uint32_t a = 0; a < e->nargs && e->kind == EXPR_FUNC; a++)
        if ((o->cond_args[cond][a].rels & ~set) == 0) values = fmax(values, o->cond_args[cond][a].values);
    return values;
}

static double find_cells(const ContractOrder *o, uint64_t set)
{
    const JoinGraph *g = o->graph;
    double values = 1;
    uint64_t rest = contract_all(g) & ~set;
    for (uint32_t i = 0; i < g->nclasses; i++)
        if ((g->classes[i].rels & set) != 0 && (g->classes[i].rels & rest) != 0)
            values *= class_values(&g->classes[i], set);
    for (uint32_t i = 0; i < g->nconds; i++)
        if ((g->conds[i].rels & set) != 0 && (g->conds[i].rels & rest) != 0) values *= cond_values(o, i, set);
    for (uint32_t i = 0; i < o->agg->agg.ngroups; i++)
        if ((o->group_rels[i] & ~set) == 0) values *= o->group_values[i];
    return fmin(fmax(values, 1), fmax(graph_rows(g, set), 1));
}

double contract_pairs(const ContractOrder *o, uint64_t left, uint64_t right)
{
    const JoinGraph *g = o->graph;
    double pairs = o->cells[left] * o->cells[right];
    for (uint32_t i = 0; i < g->nclasses; i++)
        if ((g->classes[i].rels & left) != 0 && (g->classes[i].rels & right) != 0)
            pairs /= fmax(class_values(&g->classes[i], left), class_values(&g->classes[i], right));
    for (uint32_t i = 0; i < g->nconds; i++)
        if (crosses(g->conds[i].rels, left, right)) pairs *= g->conds[i].share;
    return pairs;
}

static double find_cost(const ContractOrder *o, uint64_t set)
{
    const JoinGraph *g = o->graph;
    double rows = 0, best;
    for (uint32_t i = 0; i < g->nrels; i++)
        if ((set >> i & 1) != 0) rows += g->rels[i].rows;
    if ((set & (set - 1)) == 0) return rows;
    best = rows + graph_rows(g, set);
    for (uint64_t left = (set - 1) & set; left > 0; left = (left - 1) & set) {
        uint64_t right = set & ~left;
        if (left < right || o->cost[left] < 0 || o->cost[right] < 0) continue;
        best = fmin(best, o->cost[left] + o->cost[right] + contract_pairs(o, left, right));
    }
    return best;
}

tcudb_status contract_order(Opt *opt, const JoinGraph *g, const Plan *agg, ContractOrder *out, Error *err)
{
    uint64_t all = contract_all(g);
    *out = (ContractOrder){.opt = opt, .graph = g, .agg = agg};
    TRY_PTR(out->cells = ARENA_ARRAY(opt->arena, double, (size_t)all + 1, err));
    TRY_PTR(out->cost = ARENA_ARRAY(opt->arena, double, (size_t)all + 1, err));
    TRY_PTR(out->group_rels = ARENA_ARRAY(opt->arena, uint64_t, agg->agg.ngroups + 1, err));
    TRY_PTR(out->group_values = ARENA_ARRAY(opt->arena, double, agg->agg.ngroups + 1, err));
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) {
        out->group_rels[i] = contract_relations(g, agg->agg.groups[i].expr);
        out->group_values[i] = card_distinct(opt, agg->agg.groups[i].expr, INFINITY);
    }
    TRY(list_cond_args(out, err));
    for (uint64_t set = 1; set <= all; set++) out->cells[set] = find_cells(out, set);
    for (uint64_t set = 1; set <= all; set++) out->cost[set] = contract_connected(g, set) ? find_cost(out, set) : -1;
    return TCUDB_OK;
}
