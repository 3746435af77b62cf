/*
 * rule_join_order.c: the order of inner joins, by dynamic programming over subsets of relations.
 *
 * Pattern: a tree of inner joins (a region); its leaves are everything else.
 * Rewrite: the cheapest bushy tree by cost_cpu.c. Up to DP_MAX relations: DPsub, every connected subset
 * built from its connected halves in order of the subset's bitmask (so halves come first), 3^n / 2 looks at
 * an array. More: greedy, joining the two parts with the smallest result first. Parts that no condition
 * connects are joined last, one after the other, smallest first. The smaller input becomes the right one, which exec
 * builds. Equalities between plain expressions form classes: a.x = b.y and b.y = c.z let a meet c directly; a join gets
 * one equality for each class that has members on both sides, the others follow from it. Semi, anti, mark, single and
 * left joins on top of or between inner joins are taken off first and put back where they cost least (join_ops.c).
 * Right because: inner joins of bags commute and associate; every condition is applied at the first join
 * that has all its columns; members of a class within one part are already equal (by induction each join
 * that brought two of them together had an equality between them).
 * Loses when: estimates are wrong.
 */
#include "opt/join_graph.h"

#include <assert.h>
#include <math.h>

enum { DP_MAX = 12 };

typedef struct Entry {
    double rows;
    double cost;
    uint64_t left, right; /* how it is made; both 0: a relation */
    bool valid;
} Entry;

static bool connected(const JoinGraph *g, uint64_t a, uint64_t b)
{
    for (uint32_t i = 0; i < g->nrels; i++)
        if ((a >> i & 1) != 0 && (g->rels[i].neighbours & b) != 0) return true;
    return false;
}

static double pair_cost(const JoinGraph *g, double left, double right, double out, bool hash)
{
    return hash ? cost_hash_join(g->rates, left, right, out) : cost_nested_join(g->rates, left, right, out);
}

/* Whether a hash join can run between the parts: an equality spans them. */
static bool has_equality(const JoinGraph *g, uint64_t a, uint64_t b)
{
    for (uint32_t i = 0; i < g->nclasses; i++)
        if ((g->classes[i].rels & a) != 0 && (g->classes[i].rels & b) != 0) return true;
    for (uint32_t i = 0; i < g->nconds; i++) {
        const GraphCond *c = &g->conds[i];
        bool spans = c->equality && (c->left & ~a) == 0 && (c->right & ~b) == 0;
        if (spans || (c->equality && (c->left & ~b) == 0 && (c->right & ~a) == 0)) return true;
    }
    return false;
}

/* Tries a (probe) joined with b (build) and the other way round. */
static void try_pair(const JoinGraph *g, Entry *into, uint64_t a, uint64_t b, const Entry *ea, const Entry *eb)
{
    bool hash = has_equality(g, a, b);
    for (int swap = 0; swap < 2; swap++) {
        const Entry *left = swap ? eb : ea, *right = swap ? ea : eb;
        double cost = left->cost + right->cost + pair_cost(g, left->rows, right->rows, into->rows, hash);
        if (into->valid && cost >= into->cost) continue;
        into->valid = true;
        into->cost = cost;
        into->left = swap ? b : a;
        into->right = swap ? a : b;
    }
}

static Entry relation_entry(const JoinGraph *g, uint32_t i)
{
    return (Entry){.rows = g->rels[i].rows, .cost = 0, .valid = true};
}

/* Fills table[mask] for every connected subset of `all`. */
static void plan_subsets(const JoinGraph *g, uint64_t all, Entry *table)
{
    for (uint64_t set = 1; set <= all; set++) {
        if ((set & ~all) != 0) continue;
        if ((set & (set - 1)) == 0) {
            table[set] = relation_entry(g, (uint32_t)__builtin_ctzll(set));
            continue;
        }
        uint64_t lowest = set & -set;
        table[set].rows = -1;
        for (uint64_t a = (set - 1) & set; a != 0; a = (a - 1) & set) {
            uint64_t b = set & ~a;
            if ((a & lowest) == 0 || !table[a].valid || !table[b].valid || !connected(g, a, b)) continue;
            if (table[set].rows < 0) table[set].rows = graph_rows(g, set);
            try_pair(g, &table[set], a, b, &table[a], &table[b]);
        }
    }
}

/* ---- building the tree ------------------------------------------------------------------------ */

static tcudb_status join_parts(Opt *opt, JoinGraph *g, Part left, Part right, Part *out, Error *err)
{
    ExprList conds = {0};
    TRY(graph_conds(opt, g, left.rels, right.rels, &conds, err));
    TRY(plan_new_join(opt, JOIN_INNER, left.plan, right.plan, conds.items, conds.n, &out->plan, err));
    out->rels = left.rels | right.rels;
    out->rows = graph_rows(g, out->rels);
    out->plan->rows = out->rows < 1 ? 1 : out->rows;
    return TCUDB_OK;
}

static tcudb_status build(Opt *opt, JoinGraph *g, const Entry *table, uint64_t set, Part *out, Error *err)
{
    const Entry *e = &table[set];
    assert(e->valid);
    if (e->left == 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(set);
        *out = (Part){.plan = g->rels[i].plan, .rels = set, .rows = g->rels[i].rows};
        return TCUDB_OK;
    }
    Part left, right;
    TRY(build(opt, g, table, e->left, &left, err));
    TRY(build(opt, g, table, e->right, &right, err));
    return join_parts(opt, g, left, right, out, err);
}

/* The connected part of the graph that holds relation i. */
static uint64_t component(const JoinGraph *g, uint32_t i)
{
    uint64_t set = UINT64_C(1) << i, before = 0;
    while (set != before) {
        before = set;
        for (uint32_t k = 0; k < g->nrels; k++)
            if ((set >> k & 1) != 0) set |= g->rels[k].neighbours;
    }
    return set;
}

/* Joins the two parts with the smallest result, connected ones first, until one is left. What nothing connects goes one
 * after the other to one product that begins with the smallest: if that is empty, no other product is ever made. */
static tcudb_status join_greedily(Opt *opt, JoinGraph *g, Part *parts, uint32_t n, Error *err)
{
    uint32_t product = UINT32_MAX; /* the part that is one */
    while (n > 1) {
        uint32_t best_a = 0, best_b = 1;
        double best = INFINITY;
        bool best_connected = false;
        TRY(opt_poll(opt, err));
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = a + 1; b < n; b++) {
                bool c = connected(g, parts[a].rels, parts[b].rels);
                if (!c && product != UINT32_MAX && a != product && b != product) continue;
                double rows = c ? graph_rows(g, parts[a].rels | parts[b].rels) : parts[a].rows * parts[b].rows;
                if (best < INFINITY && (c < best_connected || (c == best_connected && rows >= best))) continue;
                best = rows, best_a = a, best_b = b, best_connected = c;
            }
        }
        bool swap = parts[best_a].rows < parts[best_b].rows;
        Part joined;
        TRY(join_parts(opt, g, parts[swap ? best_b : best_a], parts[swap ? best_a : best_b], &joined, err));
        parts[best_a] = joined;
        parts[best_b] = parts[--n];
        if (!best_connected || product == best_b) product = best_a;
        if (product == n) product = best_b;
    }
    return TCUDB_OK;
}

/* One part for each component, or for each relation where a component is too large. */
static tcudb_status plan_components(Opt *opt, JoinGraph *g, Part *parts, uint32_t *n, Error *err)
{
    Entry *table = NULL;
    uint64_t done = 0;
    *n = 0;
    if (g->nrels <= DP_MAX) {
        table = ARENA_ARRAY(opt->arena, Entry, (size_t)1 << g->nrels, err);
        TRY_PTR(table);
    }
    for (uint32_t i = 0; i < g->nrels; i++) {
        if ((done >> i & 1) != 0) continue;
        uint64_t set = table == NULL ? UINT64_C(1) << i : component(g, i);
        done |= set;
        if (table == NULL) {
            parts[(*n)++] = (Part){.plan = g->rels[i].plan, .rels = set, .rows = g->rels[i].rows};
            continue;
        }
        plan_subsets(g, set, table);
        TRY(build(opt, g, table, set, &parts[(*n)++], err));
    }
    return TCUDB_OK;
}

static tcudb_status order(Opt *opt, Plan **slot, Error *err);

static tcudb_status order_region(Opt *opt, Plan **slot, Error *err)
{
    const PlanCol *cols = (*slot)->cols; /* the node itself may be put back somewhere below */
    uint32_t ncols = (*slot)->ncols;
    JoinGraph g = {0};
    TRY(graph_collect(opt, &g, *slot, err));
    for (uint32_t i = 0; i < g.nrels; i++) {
        TRY(order(opt, &g.rels[i].plan, err));
        card_rows(opt, g.rels[i].plan, false);
        g.rels[i].rows = g.rels[i].plan->rows;
    }
    TRY(graph_finish(opt, &g, err));
    Part *parts = ARENA_ARRAY(opt->arena, Part, g.nrels, err);
    TRY_PTR(parts);
    uint32_t n;
    TRY(plan_components(opt, &g, parts, &n, err));
    TRY(join_greedily(opt, &g, parts, n, err));
    *slot = parts[0].plan;
    for (uint32_t i = 0; i < g.nops; i++) TRY(order(opt, &g.ops[i].join->inputs[1], err));
    TRY(graph_place_ops(opt, &g, slot, err));
    TRY(plan_add_filter(opt, slot, g.above.items, g.above.n, err));
    return plan_restore_cols(opt, slot, cols, ncols, err);
}

/* Outer joins keep their sides' meaning but may build the smaller one: LEFT and RIGHT mirror each other. */
static void orient_outer(Plan *join)
{
    JoinKind kind = join->join.kind;
    bool mirrors = kind == JOIN_LEFT || kind == JOIN_RIGHT || kind == JOIN_FULL;
    if (!mirrors || join->inputs[1]->rows <= join->inputs[0]->rows) return;
    Plan *left = join->inputs[0];
    join->inputs[0] = join->inputs[1];
    join->inputs[1] = left;
    if (kind != JOIN_FULL) join->join.kind = kind == JOIN_LEFT ? JOIN_RIGHT : JOIN_LEFT;
}

static tcudb_status order(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    TRY(opt_poll(opt, err));
    if (graph_is_region(plan)) return order_region(opt, slot, err);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(order(opt, &plan->inputs[i], err));
    if (plan->kind != PLAN_JOIN) return TCUDB_OK;
    card_rows(opt, plan, false);
    orient_outer(plan);
    return TCUDB_OK;
}

tcudb_status rule_join_order(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    opt->changed = true;
    return order(opt, root, err);
}
