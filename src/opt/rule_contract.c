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

static tcudb_status contract_aggregate(Opt *opt, Plan **slot, Plan *agg, Plan *joins, Error *err);

/* ---- halves that are products themselves ---------------------------------------------------------- */

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

/* Replaces the half's expressions by columns of the aggregate: groups and keys as they are, values summed. */
static tcudb_status aggregate_half(Opt *opt, Plan *node, uint32_t side, Half *half, bool *ok, Error *err)
{
    uint32_t nvalues = node->contract.nvalues[side], first = side == 0 ? 0 : node->contract.nleft;
    uint32_t last = side == 0 ? node->contract.nleft : node->contract.ngroups;
    Plan *agg = half->agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, 0, err);
    TRY_PTR(agg);
    agg->inputs[0] = node->inputs[side];
    TRY_PTR(agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, node->contract.nkeys + last - first + 1, err));
    TRY_PTR(agg->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, nvalues + 1, err));
    for (uint32_t g = first; g < last; g++) {
        Expr *ref;
        TRY(add_group(opt, agg, node->contract.groups[g].expr, &ref, err));
        node->contract.groups[g].expr = ref;
    }
    for (uint32_t k = 0; k < node->contract.nkeys; k++)
        TRY(add_group(opt, agg, node->contract.keys[side][k], &node->contract.keys[side][k], err));
    for (uint32_t v = 0; v < nvalues && *ok; v++) {
        Expr *value = node->contract.values[side][v];
        *ok = value->type.id == TYPE_INT2 || value->type.id == TYPE_INT4; /* whose sums are int8 */
        AggCall *sum = &agg->agg.aggs[agg->agg.naggs++];
        *sum = (AggCall){.col = opt_new_col(opt, TYPE(TYPE_INT8), "sum"), .kind = AGG_SUM, .nargs = 1, .args = {value}};
        TRY_PTR(node->contract.values[side][v] = expr_of_col(opt, &sum->col, err));
    }
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

/* A half that is a join with many more rows than its relations is summed first, as a contraction of its own; if it
 * is none, the half stays as it is: the operator adds equal rows itself. */
static tcudb_status contract_half(Opt *opt, Plan *node, uint32_t side, Error *err)
{
    if (node->inputs[side]->kind != PLAN_JOIN) return TCUDB_OK;
    Plan before = *node;
    Half half = {0};
    bool ok = true;
    TRY_PTR(before.contract.groups = arena_alloc(opt->arena, sizeof(NamedExpr) * (node->contract.ngroups + 1), err));
    memcpy(before.contract.groups, node->contract.groups, sizeof(NamedExpr) * node->contract.ngroups);
    for (uint32_t s = 0; s < 2; s++) {
        Expr **keys = ARENA_ARRAY(opt->arena, Expr *, node->contract.nkeys + 1, err);
        Expr **values = ARENA_ARRAY(opt->arena, Expr *, node->contract.nvalues[s] + 1, err);
        TRY_PTR(keys);
        TRY_PTR(values);
        memcpy(keys, node->contract.keys[s], sizeof *keys * node->contract.nkeys);
        if (node->contract.nvalues[s] > 0)
            memcpy(values, node->contract.values[s], sizeof *values * node->contract.nvalues[s]);
        before.contract.keys[s] = keys;
        before.contract.values[s] = values;
    }
    TRY(aggregate_half(opt, node, side, &half, &ok, err));
    Plan *contracted = half.agg;
    if (ok) TRY(contract_aggregate(opt, &contracted, half.agg, half.agg->inputs[0], err));
    if (!ok || contracted == half.agg) {
        *node = before;
        return TCUDB_OK;
    }
    node->inputs[side] = contracted;
    return weigh_terms(opt, node, side, &half, err);
}

/* Why the sums are exact, from the columns' bounds; the operator proves it again from the data itself. */
static tcudb_status note_proof(Opt *opt, Plan *node, Error *err)
{
    double worst = 1, rows = (double)plan_max_rows(node->inputs[0]) * (double)plan_max_rows(node->inputs[1]);
    for (uint32_t side = 0; side < 2; side++) {
        double largest = 1;
        for (uint32_t v = 0; v < node->contract.nvalues[side]; v++) {
            Range range;
            if (!expr_range(node->inputs[side], node->contract.values[side][v], &range)) return TCUDB_OK;
            largest = fmax(largest, fmax(fabs((double)range.min), fabs((double)range.max)));
        }
        worst *= largest;
    }
    uint32_t bits = 1 + (uint32_t)ceil(log2(fmax(2, worst * rows)));
    const char *format = bits <= 64 ? "64-bit sums" : "128-bit sums";
    node->note = arena_printf(opt->arena, err,
                              "Exact: products below 2^%.0f, %s (at most %u bits), 8-bit limbs in chunks of 65536 keys",
                              ceil(log2(fmax(2, worst))), format, (unsigned)bits);
    return node->note == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status note_refusal(Opt *opt, Plan *agg, const char *why, Error *err)
{
    if (why[0] == '\0') return TCUDB_OK;
    agg->note = arena_printf(opt->arena, err, "No contraction: %s", why);
    return agg->note == NULL ? TCUDB_NOMEM : TCUDB_OK;
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
    if (left == 0) return note_refusal(opt, agg, s.why, err);
    TRY(split_calls(opt, agg, &calls, err));
    Plan *node = NULL;
    bool ok = false;
    TRY(build_contract(&s, &g, agg, left, &calls, &node, &ok, err));
    if (!ok) return note_refusal(opt, agg, s.why, err);
    TRY(note_proof(opt, node, err));
    for (uint32_t side = 0; side < 2; side++) TRY(contract_half(opt, node, side, err));
    *slot = node;
    opt->changed = true;
    if (calls.divides) return plan_new_project(opt, node, calls.finals, agg->ncols, slot, err);
    return plan_restore_cols(opt, slot, agg->cols, agg->ncols, err);
}

/* DISTINCT over a projection of plain columns of a join, as an aggregate without aggregates. */
static tcudb_status contract_distinct(Opt *opt, Plan **slot, Error *err)
{
    Plan *distinct = *slot, *input = distinct->inputs[0];
    if (distinct->distinct.non > 0) return TCUDB_OK;
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

/* COUNT(DISTINCT x) alone: the pairs (groups, x) that exist are a contraction, and their x are counted. */
static tcudb_status contract_count_distinct(Opt *opt, Plan *agg, Error *err)
{
    AggCall *call = &agg->agg.aggs[0];
    Plan *pairs = plan_new(opt->arena, PLAN_AGGREGATE, 1, agg->agg.ngroups + 1, err), *slot = pairs;
    TRY_PTR(pairs);
    pairs->inputs[0] = agg->inputs[0];
    pairs->agg.ngroups = pairs->ncols;
    TRY_PTR(pairs->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, pairs->ncols, err));
    memcpy(pairs->agg.groups, agg->agg.groups, agg->agg.ngroups * sizeof(NamedExpr));
    pairs->agg.groups[agg->agg.ngroups] =
        (NamedExpr){.col = opt_new_col(opt, call->args[0]->type, "distinct"), .expr = call->args[0]};
    for (uint32_t i = 0; i < pairs->ncols; i++) pairs->cols[i] = pairs->agg.groups[i].col;
    TRY(contract_aggregate(opt, &slot, pairs, agg->inputs[0], err));
    if (slot == pairs) return TCUDB_OK;
    agg->inputs[0] = slot;
    for (uint32_t g = 0; g < agg->agg.ngroups; g++)
        TRY_PTR(agg->agg.groups[g].expr = expr_of_col(opt, &agg->agg.groups[g].col, err));
    TRY_PTR(call->args[0] = expr_of_col(opt, &pairs->cols[agg->agg.ngroups], err));
    call->distinct = false;
    return TCUDB_OK;
}

static bool only_count_distinct(const Plan *agg)
{
    const AggCall *call = &agg->agg.aggs[0];
    return agg->agg.naggs == 1 && call->kind == AGG_COUNT && call->distinct && call->filter == NULL;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind == PLAN_AGGREGATE && only_count_distinct(plan)) return contract_count_distinct(opt, plan, err);
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
