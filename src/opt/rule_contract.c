/*
 * rule_contract.c: an aggregate over inner joins, grouped on both sides, becomes a Contract.
 *
 *     Aggregate by a.g, b.h: sum(a.x * b.y)          Contract by a.g, b.h over a.k = b.k: sum(a.x * b.y)
 *       Join a.k = b.k                        ->       A
 *         A                                            B
 *         B
 *
 * The join tree's relations are split into two connected halves such that every group column lies in one, every
 * condition between them is an equality, and every aggregate is a sum of products of one factor a half
 * (contract.c). Among the splits the one whose halves have the fewest rows is taken. DISTINCT over a join-project
 * is the same without aggregates. AVG becomes SUM / COUNT above.
 *
 * Why: the join's rows, one a matching pair, are never made; per key it costs a_k x b_k multiply-adds in cache or
 * one column of a matrix product. When it loses: when the join does not multiply rows (keys unique on a side),
 * so it is done only from an estimated fan-out on, unless SET tcudb.engine = tcu asks for it. Grouping on one
 * side alone needs no product: rule_eager's sums below the join do it.
 */
#include "opt/contract.h"
#include "opt/join_graph.h"

#include <assert.h>
#include <math.h>

enum { RELATIONS_MAX = 10, MIN_FANOUT = 4, MIN_PAIRS = 50000 };

/* The relations that an expression uses; outer columns are in none. */
static uint64_t relations_of(const JoinGraph *g, const Expr *e)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < g->nrels; i++)
        if (expr_touches(e, g->rels[i].plan)) set |= UINT64_C(1) << i;
    return set;
}

static uint64_t all_relations(const JoinGraph *g)
{
    return (UINT64_C(1) << g->nrels) - 1;
}

/* ---- splits ------------------------------------------------------------------------------------- */

static bool connected(const JoinGraph *g, uint64_t set)
{
    uint64_t reached = set & -set, before = 0;
    while (reached != before) {
        before = reached;
        for (uint32_t i = 0; i < g->nrels; i++)
            if ((reached >> i & 1) != 0) reached |= g->rels[i].neighbours & set;
    }
    return reached == set;
}

/* Conditions between the halves: equalities of classes, and single ones whose sides are apart. */
static bool keys_fit(const JoinGraph *g, uint64_t left, uint64_t right, const char **why)
{
    uint32_t keys = 0;
    for (uint32_t i = 0; i < g->nclasses; i++)
        keys += (g->classes[i].rels & left) != 0 && (g->classes[i].rels & right) != 0;
    for (uint32_t i = 0; i < g->nconds; i++) {
        const GraphCond *c = &g->conds[i];
        if ((c->rels & left) == 0 || (c->rels & right) == 0) continue;
        bool apart = ((c->left & ~left) == 0 && (c->right & ~right) == 0) ||
                     ((c->left & ~right) == 0 && (c->right & ~left) == 0);
        *why = "a condition between the sides is not an equality";
        if (!c->equality || !apart) return false;
        keys++;
    }
    return keys > 0;
}

/* Every group column in one half, and some in each. */
static bool groups_fit(const JoinGraph *g, const Plan *agg, uint64_t left, const char **why)
{
    uint32_t groups[2] = {0, 0};
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) {
        uint64_t used = relations_of(g, agg->agg.groups[i].expr);
        *why = "a group expression spans both sides";
        if ((used & ~left) != 0 && (used & left) != 0) return false;
        groups[(used & ~left) != 0]++;
    }
    *why = "the groups lie on one side";
    return groups[0] > 0 && groups[1] > 0;
}

/* The best split by the rows of its halves; 0: none. */
static uint64_t choose_split(const Opt *opt, const JoinGraph *g, const Plan *agg, const char **why)
{
    uint64_t all = all_relations(g), best = 0;
    double best_rows = INFINITY, pairs = graph_rows(g, all);
    for (uint64_t left = 1; left < all; left += 2) {
        uint64_t right = all & ~left;
        if (!connected(g, left) || !connected(g, right)) continue;
        if (!keys_fit(g, left, right, why) || !groups_fit(g, agg, left, why)) continue;
        double rows = graph_rows(g, left) + graph_rows(g, right);
        if (rows < best_rows) {
            best_rows = rows;
            best = left;
        }
    }
    bool forced = opt->env->settings->engine == ENGINE_TCU;
    if (best == 0 || forced || (pairs >= MIN_PAIRS && pairs >= MIN_FANOUT * best_rows)) return best;
    *why = "the join hardly multiplies rows";
    return 0;
}

/* ---- building ----------------------------------------------------------------------------------- */

/* The relations of a connected set joined one by one; rule_join_order finds the order. */
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
    return TCUDB_OK;
}

static tcudb_status add_keys(Sides *s, const JoinGraph *g, uint64_t left, Plan *node, bool *ok, Error *err)
{
    ExprList keys[2] = {{0}, {0}}, conds = {0};
    TRY(graph_conds(s->opt, g, left, all_relations(g) & ~left, &conds, err));
    for (uint32_t c = 0; c < conds.n && *ok; c++) {
        Expr *cond = conds.items[c];
        uint32_t flip = (relations_of(g, cond->args[0]) & left) == 0;
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
            *ok = expr_total(s->inputs[side], agg->agg.groups[g].expr);
            node->contract.groups[at++] = agg->agg.groups[g];
        }
        if (side == 0) node->contract.nleft = at;
    }
    if (!*ok) s->why = "a group expression may fail on rows that match nothing";
    *ok &= at == agg->agg.ngroups;
    return TCUDB_OK;
}

/* AVG is taken apart: the calls that the contraction makes, and the division above. */
typedef struct Calls {
    AggCall *items;
    uint32_t n;
    NamedExpr *finals; /* one a column of the aggregate */
    bool divides;
} Calls;

static tcudb_status numeric_col(Opt *opt, const AggCall *call, Expr **out, Error *err)
{
    TRY_PTR(*out = expr_of_col(opt, &call->col, err));
    return expr_cast(opt->arena, *out, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, out, err);
}

static tcudb_status split_avg(Opt *opt, const AggCall *avg, Calls *calls, Expr **quotient, Error *err)
{
    AggCallType type;
    TRY(agg_resolve(STR_LIT("sum"), &avg->args[0]->type, 1, false, 0, &type, err));
    AggCall sum = *avg, count = *avg;
    sum.kind = AGG_SUM;
    sum.col = opt_new_col(opt, type.result, "sum");
    count.kind = AGG_COUNT;
    count.col = opt_new_col(opt, TYPE(TYPE_INT8), "count");
    calls->items[calls->n++] = sum;
    calls->items[calls->n++] = count;
    Expr *args[2], *zero;
    TRY(numeric_col(opt, &sum, &args[0], err));
    TRY(numeric_col(opt, &count, &args[1], err));
    Value v = {.type = TYPE(TYPE_NUMERIC)};
    TRY_PTR(zero = expr_const(opt->arena, &v, 0, err));
    Expr *compare[2] = {args[1], zero}, *nullif[3];
    TRY(expr_call(opt->arena, FUNC_OPERATOR, "=", compare, 2, 0, &nullif[0], err));
    v.null = true;
    TRY_PTR(nullif[1] = expr_const(opt->arena, &v, 0, err));
    nullif[2] = args[1];
    TRY_PTR(args[1] = expr_node(opt->arena, EXPR_CASE, TYPE(TYPE_NUMERIC), nullif, 3, 0, err));
    return expr_call(opt->arena, FUNC_OPERATOR, "/", args, 2, 0, quotient, err);
}

static tcudb_status split_calls(Opt *opt, const Plan *agg, Calls *calls, Error *err)
{
    calls->items = ARENA_ARRAY(opt->arena, AggCall, agg->agg.naggs * 2 + 1, err);
    TRY_PTR(calls->items);
    calls->finals = ARENA_ARRAY(opt->arena, NamedExpr, agg->ncols + 1, err);
    TRY_PTR(calls->finals);
    for (uint32_t i = 0; i < agg->ncols; i++) {
        calls->finals[i].col = agg->cols[i];
        TRY_PTR(calls->finals[i].expr = expr_of_col(opt, &agg->cols[i], err));
    }
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        const AggCall *call = &agg->agg.aggs[i];
        bool exact = call->nargs == 1 && call->args[0]->type.id >= TYPE_INT2 && call->args[0]->type.id <= TYPE_NUMERIC;
        if (call->kind != AGG_AVG || !exact || call->distinct) {
            calls->items[calls->n++] = *call;
            continue;
        }
        calls->divides = true;
        TRY(split_avg(opt, call, calls, &calls->finals[agg->agg.ngroups + i].expr, err));
    }
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

/* The contraction of the split; *ok false and s->why if an expression stands in the way. */
static tcudb_status build_contract(Sides *s, const JoinGraph *g, const Plan *agg, uint64_t left, const Calls *calls,
                                   Plan **out, bool *ok, Error *err)
{
    Opt *opt = s->opt;
    Plan *node = plan_new(opt->arena, PLAN_CONTRACT, 2, 0, err);
    TRY_PTR(node);
    TRY(build_side(opt, g, left, &s->inputs[0], err));
    TRY(build_side(opt, g, all_relations(g) & ~left, &s->inputs[1], err));
    node->inputs[0] = s->inputs[0];
    node->inputs[1] = s->inputs[1];
    s->both = node;
    node->contract.outs = ARENA_ARRAY(opt->arena, ContractOut, calls->n + 1, err);
    TRY_PTR(node->contract.outs);
    *ok = true;
    TRY(add_keys(s, g, left, node, ok, err));
    if (*ok) TRY(add_groups(s, agg, node, ok, err));
    for (uint32_t i = 0; i < calls->n && *ok; i++)
        TRY(contract_add_call(s, &calls->items[i], node, &node->contract.outs[node->contract.nouts++], ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(set_columns(opt, node, err));
    *out = node;
    return TCUDB_OK;
}

static bool has_volatile(const JoinGraph *g)
{
    for (uint32_t i = 0; i < g->all.n; i++)
        if (expr_volatile(g->all.items[i])) return true;
    return false;
}

static tcudb_status contract_aggregate(Opt *opt, Plan **slot, Plan *agg, Plan *joins, Error *err)
{
    JoinGraph g = {0};
    Sides s = {.opt = opt, .why = ""};
    Calls calls = {0};
    if (joins->kind != PLAN_JOIN || joins->join.kind != JOIN_INNER) return TCUDB_OK;
    TRY(graph_collect(opt, &g, joins, err));
    if (g.nrels < 2 || g.nrels > RELATIONS_MAX || has_volatile(&g)) return TCUDB_OK;
    for (uint32_t i = 0; i < g.nrels; i++) {
        card_rows(opt, g.rels[i].plan, false);
        g.rels[i].rows = g.rels[i].plan->rows;
    }
    TRY(graph_finish(opt, &g, err));
    uint64_t left = g.above.n > 0 ? 0 : choose_split(opt, &g, agg, &s.why);
    if (left == 0) return TCUDB_OK;
    TRY(split_calls(opt, agg, &calls, err));
    Plan *node = NULL;
    bool ok = false;
    TRY(build_contract(&s, &g, agg, left, &calls, &node, &ok, err));
    if (!ok) return TCUDB_OK;
    *slot = node;
    opt->changed = true;
    if (calls.divides) return plan_new_project(opt, node, calls.finals, agg->ncols, slot, err);
    return plan_restore_cols(opt, slot, agg->cols, agg->ncols, err);
}

/* DISTINCT over a projection of plain columns of a join, as an aggregate without aggregates. */
static tcudb_status contract_distinct(Opt *opt, Plan **slot, Error *err)
{
    Plan *distinct = *slot, *input = distinct->inputs[0];
    Plan *agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, distinct->ncols, err);
    TRY_PTR(agg);
    memcpy(agg->cols, distinct->cols, distinct->ncols * sizeof *agg->cols);
    agg->agg.ngroups = distinct->ncols;
    agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, distinct->ncols + 1, err);
    TRY_PTR(agg->agg.groups);
    bool project = input->kind == PLAN_PROJECT;
    for (uint32_t i = 0; i < distinct->ncols; i++) {
        agg->agg.groups[i].col = distinct->cols[i];
        if (project)
            agg->agg.groups[i] = input->project.exprs[i];
        else
            TRY_PTR(agg->agg.groups[i].expr = expr_of_col(opt, &distinct->cols[i], err));
    }
    return contract_aggregate(opt, slot, agg, project ? input->inputs[0] : input, err);
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind == PLAN_AGGREGATE && plan->agg.ngroups > 0)
        return contract_aggregate(opt, slot, plan, plan->inputs[0], err);
    if (plan->kind == PLAN_DISTINCT) return contract_distinct(opt, slot, err);
    return TCUDB_OK;
}

tcudb_status rule_contract(Opt *opt, Plan **root, Error *err)
{
    if (!opt->env->settings->contraction) return TCUDB_OK;
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, root, err);
}
