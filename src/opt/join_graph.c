/*
 * join_graph.c: relations, equivalence classes and conditions of a region of inner joins.
 *
 * Rows of a set of relations: product of the relations' rows; for each class, 1 / distinct for all members
 * in the set but the one with the fewest values (values of the smaller domains are taken to be contained
 * in the larger ones); times the share of every other condition that the set covers; times a factor for every two
 * relations that several equalities connect (card_combine.c). So the estimate does not depend on the order in which the
 * set is joined.
 */
#include "opt/join_graph.h"

#include <assert.h>
#include <math.h>

static bool is_inner(const Plan *plan)
{
    return plan->kind == PLAN_JOIN && plan->join.kind == JOIN_INNER;
}

static bool is_op(const Plan *plan)
{
    if (plan->kind != PLAN_JOIN) return false;
    return join_left_only(plan->join.kind) || plan->join.kind == JOIN_SINGLE || plan->join.kind == JOIN_LEFT;
}

bool graph_is_region(const Plan *plan)
{
    while (is_op(plan)) plan = plan->inputs[0];
    return is_inner(plan);
}

/* Leaves, if every operator above an inner join is taken off. */
static uint32_t count_leaves(const Plan *plan)
{
    if (is_op(plan) && graph_is_region(plan)) return count_leaves(plan->inputs[0]);
    if (!is_inner(plan)) return 1;
    return count_leaves(plan->inputs[0]) + count_leaves(plan->inputs[1]);
}

static uint32_t count_ops(const Plan *plan)
{
    if (is_op(plan)) return 1 + count_ops(plan->inputs[0]);
    return is_inner(plan) ? count_ops(plan->inputs[0]) + count_ops(plan->inputs[1]) : 0;
}

static bool any_has_col(Expr *const *conds, uint32_t n, ColId col)
{
    for (uint32_t i = 0; i < n; i++)
        if (expr_has_col(conds[i], col)) return true;
    return false;
}

/* Whether something above, taken apart already, uses a column that the operator adds. */
static bool op_is_used(const JoinGraph *g, const Plan *op)
{
    for (uint32_t c = 0; c < op->ncols; c++) {
        ColId col = op->cols[c].id;
        if (plan_find_col(op->inputs[0], col) != NULL) continue;
        if (any_has_col(g->all.items, g->all.n, col)) return true;
        for (uint32_t i = 0; i < g->nops; i++)
            if (any_has_col(g->ops[i].join->join.conds, g->ops[i].join->join.nconds, col)) return true;
    }
    return false;
}

/* Now, since ordering a leaf may change what the operator's input puts out. */
static tcudb_status find_needs(Opt *opt, GraphOp *op, Error *err)
{
    const Plan *join = op->join;
    for (uint32_t c = 0; c < join->inputs[0]->ncols; c++) {
        ColId col = join->inputs[0]->cols[c].id;
        for (uint32_t i = 0; i < join->join.nconds; i++)
            if (expr_has_col(join->join.conds[i], col)) TRY(colset_add(opt, &op->needs, col, err));
    }
    return TCUDB_OK;
}

/* room: how many leaves may still be taken apart. */
static tcudb_status take_apart(Opt *opt, JoinGraph *g, Plan *plan, uint32_t room, Error *err)
{
    if (is_op(plan) && graph_is_region(plan) && room >= 2 && !op_is_used(g, plan)) {
        g->ops[g->nops].join = plan;
        TRY(find_needs(opt, &g->ops[g->nops++], err));
        return take_apart(opt, g, plan->inputs[0], room, err);
    }
    bool inner = is_inner(plan);
    uint32_t left = inner ? count_leaves(plan->inputs[0]) : 0, right = inner ? count_leaves(plan->inputs[1]) : 0;
    if (!inner || room < 2) {
        g->rels[g->nrels++] = (GraphRel){.plan = plan};
        return TCUDB_OK;
    }
    uint32_t for_right = right < room - 1 ? right : room - 1;
    uint32_t for_left = left < room - for_right ? left : room - for_right;
    TRY(list_add_all(opt, &g->all, plan->join.conds, plan->join.nconds, err));
    TRY(take_apart(opt, g, plan->inputs[0], for_left, err));
    return take_apart(opt, g, plan->inputs[1], for_right, err);
}

tcudb_status graph_collect(Opt *opt, JoinGraph *g, Plan *root, Error *err)
{
    uint32_t leaves = count_leaves(root);
    if (leaves > GRAPH_MAX_RELS) leaves = GRAPH_MAX_RELS;
    g->ops = ARENA_ARRAY(opt->arena, GraphOp, count_ops(root), err);
    TRY_PTR(g->ops);
    g->rates = opt->env->rates;
    g->rels = ARENA_ARRAY(opt->arena, GraphRel, leaves, err);
    TRY_PTR(g->rels);
    TRY(take_apart(opt, g, root, leaves, err));
    assert(g->nrels <= GRAPH_MAX_RELS);
    return TCUDB_OK;
}

static uint64_t rels_of(const JoinGraph *g, const Expr *e)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < g->nrels; i++)
        if (expr_touches(e, g->rels[i].plan)) set |= UINT64_C(1) << i;
    return set;
}

static bool is_single(uint64_t set)
{
    return set != 0 && (set & (set - 1)) == 0;
}

/* ---- classes ---------------------------------------------------------------------------------- */

static GraphClass *class_of(JoinGraph *g, const Expr *e)
{
    for (uint32_t i = 0; i < g->nclasses; i++)
        if (list_has(&g->classes[i].members, e)) return &g->classes[i];
    return NULL;
}

static tcudb_status add_member(Opt *opt, GraphClass *c, Expr *e, Error *err)
{
    return list_add_new(opt, &c->members, e, err);
}

static tcudb_status merge_classes(Opt *opt, JoinGraph *g, GraphClass *into, GraphClass *from, Error *err)
{
    for (uint32_t i = 0; i < from->members.n; i++) TRY(add_member(opt, into, from->members.items[i], err));
    *from = g->classes[--g->nclasses];         /* into is the earlier one, so it stays in place */
    g->classes[g->nclasses] = (GraphClass){0}; /* the next class begins there */
    return TCUDB_OK;
}

static tcudb_status add_equality(Opt *opt, JoinGraph *g, Expr *a, Expr *b, Error *err)
{
    GraphClass *ca = class_of(g, a), *cb = class_of(g, b);
    if (ca != NULL && cb != NULL) {
        if (ca == cb) return TCUDB_OK;
        return ca < cb ? merge_classes(opt, g, ca, cb, err) : merge_classes(opt, g, cb, ca, err);
    }
    GraphClass *c = ca != NULL ? ca : cb;
    if (c == NULL) c = &g->classes[g->nclasses++];
    TRY(add_member(opt, c, a, err));
    return add_member(opt, c, b, err);
}

static tcudb_status add_cond(Opt *opt, JoinGraph *g, Expr *e, Error *err)
{
    uint64_t rels = rels_of(g, e);
    if (rels == 0) return list_add(opt, &g->above, e, err);
    if (is_single(rels)) {
        GraphRel *rel = &g->rels[__builtin_ctzll(rels)];
        double share = card_selectivity(opt, e);
        TRY(plan_add_filter(opt, &rel->plan, &e, 1, err));
        rel->rows = fmax(1, rel->rows * share);
        rel->plan->rows = rel->rows;
        return TCUDB_OK;
    }
    GraphCond c = {.cond = e, .rels = rels};
    if (expr_is_equality(e)) {
        c.left = rels_of(g, e->args[0]);
        c.right = rels_of(g, e->args[1]);
        c.equality = (c.left & c.right) == 0 && c.left != 0 && c.right != 0;
    }
    bool plain = c.equality && is_single(c.left) && is_single(c.right) && !expr_volatile(e) &&
                 type_equal(e->args[0]->type, e->args[1]->type);
    if (plain) return add_equality(opt, g, e->args[0], e->args[1], err);
    c.share = c.equality ? card_equality(opt, e->args[0], e->args[1]) : card_selectivity(opt, e);
    g->conds[g->nconds++] = c;
    return TCUDB_OK;
}

/* Two members over one relation: their equality is a filter on it. */
static tcudb_status filter_members(Opt *opt, JoinGraph *g, const GraphClass *c, Error *err)
{
    for (uint32_t i = 0; i < c->members.n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (c->member_rels[i] != c->member_rels[k]) continue;
            Expr *e;
            TRY(expr_operator(opt, "=", c->members.items[k], c->members.items[i], &e, err));
            GraphRel *rel = &g->rels[c->member_rels[i]];
            TRY(plan_add_filter(opt, &rel->plan, &e, 1, err));
            rel->rows = fmax(1, rel->rows / fmax(c->distinct[i], c->distinct[k]));
            rel->plan->rows = rel->rows;
            break;
        }
    }
    return TCUDB_OK;
}

static tcudb_status finish_class(Opt *opt, JoinGraph *g, GraphClass *c, Error *err)
{
    c->member_rels = ARENA_ARRAY(opt->arena, uint32_t, c->members.n, err);
    c->distinct = ARENA_ARRAY(opt->arena, double, c->members.n, err);
    TRY_PTR(c->member_rels);
    TRY_PTR(c->distinct);
    for (uint32_t i = 0; i < c->members.n; i++) {
        uint64_t rels = rels_of(g, c->members.items[i]);
        assert(is_single(rels));
        c->rels |= rels;
        c->member_rels[i] = (uint32_t)__builtin_ctzll(rels);
        c->distinct[i] = card_held(opt, g->rels[c->member_rels[i]].plan, c->members.items[i]);
    }
    for (uint32_t i = 0; i < g->nrels; i++)
        if ((c->rels >> i & 1) != 0) g->rels[i].neighbours |= c->rels & ~(UINT64_C(1) << i);
    return filter_members(opt, g, c, err);
}

/* ---- pairs of relations ------------------------------------------------------------------------ */

/* No more distinct values of a relation's column than this: what is computed has no more than rows. */
static double most_values(const GraphRel *rel)
{
    return rel->plan->kind == PLAN_SCAN ? INFINITY : fmax(1, rel->rows);
}

static Expr *member_of(const GraphClass *c, uint32_t rel)
{
    for (uint32_t i = 0; i < c->members.n; i++)
        if (c->member_rels[i] == rel) return c->members.items[i];
    return NULL;
}

static double pair_factor(const Opt *opt, const JoinGraph *g, uint32_t a, uint32_t b)
{
    const Plan *const sides[2] = {g->rels[a].plan, g->rels[b].plan};
    KeyPairs keys = {.most = {most_values(&g->rels[a]), most_values(&g->rels[b])}};
    for (uint32_t i = 0; i < g->nclasses; i++) {
        const Expr *args[2] = {member_of(&g->classes[i], a), member_of(&g->classes[i], b)};
        if (args[0] != NULL && args[1] != NULL) key_pairs_add(&keys, opt, sides, args);
    }
    for (uint32_t i = 0; i < g->nconds; i++) {
        const GraphCond *c = &g->conds[i];
        bool same = c->left == UINT64_C(1) << a && c->right == UINT64_C(1) << b;
        bool swapped = c->left == UINT64_C(1) << b && c->right == UINT64_C(1) << a;
        if (!c->equality || (!same && !swapped)) continue;
        const Expr *args[2] = {c->cond->args[swapped], c->cond->args[!swapped]};
        key_pairs_add(&keys, opt, sides, args);
    }
    return key_pairs_factor(opt, &keys);
}

static void insert_pair(JoinGraph *g, GraphPair pair)
{
    uint32_t at = g->npairs++;
    for (; at > 0 && g->pairs[at - 1].factor < pair.factor; at--) g->pairs[at] = g->pairs[at - 1];
    g->pairs[at] = pair;
}

/* The only column by which two relations, both of them tables, are joined; 0: none, or there are several. */
static ColId joining_col(const JoinGraph *g, uint32_t rel, uint32_t other)
{
    ColId col = 0;
    for (uint32_t i = 0; i < g->nclasses; i++) {
        const Expr *e = member_of(&g->classes[i], rel);
        if (e == NULL || member_of(&g->classes[i], other) == NULL) continue;
        if (col != 0 || e->kind != EXPR_COL) return 0;
        col = e->col;
    }
    return col;
}

/* Filters of a third relation that an equality carries over to b, where a refers to a part of b. */
static void find_carried(const Opt *opt, JoinGraph *g, uint32_t a, uint32_t b, double factor)
{
    CardKey key = {.scan = g->rels[b].plan, .col = joining_col(g, b, a)};
    ColId reach = joining_col(g, a, b);
    if (key.col == 0 || reach == 0 || key.scan->kind != PLAN_SCAN) return;
    key.reach = card_fact(opt, reach);
    for (uint32_t t = 0; t < g->nrels && g->npairs < g->most_pairs; t++) {
        CardKey third = {.scan = g->rels[t].plan, .col = joining_col(g, t, b)};
        ColId to = joining_col(g, b, t);
        if (t == a || t == b || third.col == 0 || to == 0 || to == key.col || third.scan->kind != PLAN_SCAN) continue;
        double more = card_reach_through(opt, &key, &third, to);
        if (more != 1) insert_pair(g, (GraphPair){.a = a, .b = b, .with = UINT64_C(1) << t, .factor = more * factor});
    }
}

static tcudb_status find_pairs(Opt *opt, JoinGraph *g, Error *err)
{
    g->most_pairs = g->nrels * g->nrels;
    g->pairs = ARENA_ARRAY(opt->arena, GraphPair, g->most_pairs, err);
    TRY_PTR(g->pairs);
    for (uint32_t a = 0; a < g->nrels; a++) {
        for (uint32_t b = a + 1; b < g->nrels; b++) {
            if ((g->rels[a].neighbours >> b & 1) == 0) continue;
            double factor = pair_factor(opt, g, a, b);
            if (factor != 1) insert_pair(g, (GraphPair){.a = a, .b = b, .factor = factor});
            find_carried(opt, g, a, b, factor);
            find_carried(opt, g, b, a, factor);
        }
    }
    return TCUDB_OK;
}

/* Of the pairs in the set, those of a spanning forest: what a and b, b and c have in common a and c have too. */
static double pairs_factor(const JoinGraph *g, uint64_t set)
{
    uint64_t group[GRAPH_MAX_RELS];
    double factor = 1;
    if (g->npairs == 0) return 1;
    for (uint32_t i = 0; i < g->nrels; i++) group[i] = UINT64_C(1) << i;
    for (uint32_t p = 0; p < g->npairs; p++) {
        uint32_t a = g->pairs[p].a, b = g->pairs[p].b;
        if ((set >> a & set >> b & 1) == 0 || (group[a] >> b & 1) != 0 || (g->pairs[p].with & ~set) != 0) continue;
        factor *= g->pairs[p].factor;
        uint64_t both = group[a] | group[b];
        for (uint32_t i = 0; i < g->nrels; i++)
            if ((both >> i & 1) != 0) group[i] = both;
    }
    return factor;
}

tcudb_status graph_finish(Opt *opt, JoinGraph *g, Error *err)
{
    g->classes = ARENA_ARRAY(opt->arena, GraphClass, g->all.n, err);
    g->conds = ARENA_ARRAY(opt->arena, GraphCond, g->all.n, err);
    TRY_PTR(g->classes);
    TRY_PTR(g->conds);
    for (uint32_t i = 0; i < g->all.n; i++) TRY(add_cond(opt, g, g->all.items[i], err));
    for (uint32_t i = 0; i < g->nclasses; i++) TRY(finish_class(opt, g, &g->classes[i], err));
    for (uint32_t i = 0; i < g->nconds; i++) {
        uint64_t rels = g->conds[i].rels;
        if (__builtin_popcountll(rels) != 2) continue;
        uint32_t a = (uint32_t)__builtin_ctzll(rels), b = 63 - (uint32_t)__builtin_clzll(rels);
        g->rels[a].neighbours |= UINT64_C(1) << b;
        g->rels[b].neighbours |= UINT64_C(1) << a;
    }
    return find_pairs(opt, g, err);
}

/* ---- estimates and conditions of a set --------------------------------------------------------- */

/* Product over the members in the set of 1 / distinct, but for the smallest. */
static double class_share(const JoinGraph *g, const GraphClass *c, uint64_t set)
{
    double share = 1, least = INFINITY;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < c->members.n; i++) {
        uint64_t rel = UINT64_C(1) << c->member_rels[i];
        if ((rel & set) == 0 || (rel & seen) != 0) continue;
        seen |= rel;
        double distinct = fmin(c->distinct[i], most_values(&g->rels[c->member_rels[i]]));
        share /= distinct;
        least = fmin(least, distinct);
    }
    return seen == 0 ? 1 : share * least;
}

double graph_rows(const JoinGraph *g, uint64_t set)
{
    double rows = 1;
    for (uint32_t i = 0; i < g->nrels; i++)
        if ((set >> i & 1) != 0) rows *= g->rels[i].rows;
    for (uint32_t i = 0; i < g->nclasses; i++) rows *= class_share(g, &g->classes[i], set);
    for (uint32_t i = 0; i < g->nconds; i++)
        if ((g->conds[i].rels & ~set) == 0) rows *= g->conds[i].share;
    return rows * pairs_factor(g, set);
}

/* Of the preferred relation, if it can be. */
static Expr *member_in(const GraphClass *c, uint64_t set, uint64_t preferred)
{
    Expr *found = NULL;
    for (uint32_t i = 0; i < c->members.n; i++) {
        if ((preferred >> c->member_rels[i] & 1) != 0) return c->members.items[i];
        if (found == NULL && (set >> c->member_rels[i] & 1) != 0) found = c->members.items[i];
    }
    return found;
}

/* Two relations, one in either set, that have several equalities: a join of the sets by a composite key says so. */
static void preferred_pair(const JoinGraph *g, uint64_t sets[2], uint64_t out[2])
{
    out[0] = out[1] = 0;
    for (uint32_t p = 0; p < g->npairs; p++) {
        uint64_t a = UINT64_C(1) << g->pairs[p].a, b = UINT64_C(1) << g->pairs[p].b;
        for (uint32_t k = 0; k < 2; k++) {
            if ((sets[k] & a) == 0 || (sets[1 - k] & b) == 0) continue;
            out[k] = a;
            out[1 - k] = b;
            return;
        }
    }
}

tcudb_status graph_conds(Opt *opt, const JoinGraph *g, uint64_t a, uint64_t b, ExprList *out, Error *err)
{
    assert((a & b) == 0);
    uint64_t sets[2] = {a, b}, preferred[2];
    preferred_pair(g, sets, preferred);
    for (uint32_t i = 0; i < g->nclasses; i++) {
        Expr *left = member_in(&g->classes[i], a, preferred[0]), *right = member_in(&g->classes[i], b, preferred[1]);
        Expr *e;
        if (left == NULL || right == NULL) continue;
        TRY(expr_operator(opt, "=", left, right, &e, err));
        TRY(list_add(opt, out, e, err));
    }
    for (uint32_t i = 0; i < g->nconds; i++) {
        uint64_t rels = g->conds[i].rels;
        bool here = (rels & ~(a | b)) == 0 && (rels & ~a) != 0 && (rels & ~b) != 0;
        if (here) TRY(list_add(opt, out, g->conds[i].cond, err));
    }
    return TCUDB_OK;
}
