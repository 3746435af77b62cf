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
 * (contract.c). Among the splits the cheapest is taken (contract_order.c). Semi, anti and outer joins on
 * top go onto the half that they look at. AVG and deviations become sums and a projection (contract_calls.c); DISTINCT
 * aggregates, MIN and MAX an aggregate over finer groups (contract_finer.c); DISTINCT, EXISTS and IN over a join are
 * the same without aggregates (contract_once.c).
 *
 * Why: the join's rows, one a matching pair, are never made; per key it costs a_k x b_k multiply-adds in cache or
 * one column of a matrix product. When it loses: when the join does not multiply rows (keys unique on a side),
 * so it is done where its price is the lowest (candidates.c), unless SET tcudb.engine = tcu asks for it. Grouped on
 * one side alone it is a product with a vector; rule_eager's sums below the join are often as good, where they can be.
 */
#include "opt/candidates.h"
#include "opt/contract.h"

#include <math.h>

static bool has_volatile(const JoinGraph *g)
{
    for (uint32_t i = 0; i < g->all.n; i++)
        if (expr_volatile(g->all.items[i])) return true;
    return false;
}

static tcudb_status note_float_proof(Plan *node)
{
    node->note = "Exact: floating point in fixed-point limbs of integers, each sum rounded once";
    return TCUDB_OK;
}

/* tcudb.precision = fast rounds what tensor cores would multiply: sums of integers and decimals over equal keys. Not
 * deviations, whose differences would leave no digit. */
static bool is_fast(const Opt *opt, const Plan *agg, const Plan *node)
{
    if (opt->env->settings->precision != PRECISION_FAST || node->contract.range.n > 0) return false;
    for (uint32_t i = 0; i < agg->agg.naggs; i++)
        if (agg->agg.aggs[i].kind >= AGG_VAR_POP && agg->agg.aggs[i].kind <= AGG_STDDEV_SAMP) return false;
    for (uint32_t o = 0; o < node->contract.nouts; o++)
        if (node->contract.outs[o].col.type.id == TYPE_FLOAT8) return false;
    return node->contract.nvalues[0] + node->contract.nvalues[1] > 0;
}

/* Why the sums are exact, from the columns' bounds; the operator proves it again from the data itself. */
static tcudb_status note_proof(Opt *opt, Plan *node, Error *err)
{
    double worst = 1, rows = (double)plan_max_rows(node->inputs[0]) * (double)plan_max_rows(node->inputs[1]);
    for (uint32_t side = 0; side < 2; side++) {
        double largest = 1;
        for (uint32_t v = 0; v < node->contract.nvalues[side]; v++) {
            Range range;
            if (node->contract.values[side][v]->type.id == TYPE_FLOAT8) return note_float_proof(node);
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

/* Without groups: one row always. The calls' columns are those of an aggregate over the one row or none. */
static tcudb_status always_one_row(Opt *opt, Plan *node, Plan **slot, Error *err)
{
    uint32_t n = node->contract.nouts;
    Plan *top = plan_new(opt->arena, PLAN_AGGREGATE, 1, n, err);
    TRY_PTR(top);
    TRY_PTR(top->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, n + 1, err));
    top->inputs[0] = node;
    top->agg.naggs = n;
    for (uint32_t i = 0; i < n; i++) {
        ContractOut *out = &node->contract.outs[i];
        top->cols[i] = out->col;
        top->agg.aggs[i] = (AggCall){.col = out->col, .kind = AGG_ANY, .nargs = 1};
        node->cols[i] = out->col = opt_new_col(opt, out->col.type, out->col.name);
        TRY_PTR(top->agg.aggs[i].args[0] = expr_of_col(opt, &out->col, err));
    }
    *slot = top;
    return TCUDB_OK;
}

/* Where the join has hardly more rows than its sides no form of a product pays (coding the rows dominates), and
 * pricing would be for nothing. */
static bool multiplies_rows(const Opt *opt, const JoinGraph *g, uint64_t left)
{
    static const double FANOUT = 1.1;
    const Settings *settings = opt->env->settings;
    bool forced = settings->engine == ENGINE_TCU || settings->product_form != 0 || settings->precision != 0;
    double sides = fmax(graph_rows(g, left), graph_rows(g, contract_all(g) & ~left));
    return forced || graph_rows(g, contract_all(g)) >= FANOUT * sides;
}

/* Prices the contraction and the ordinary plan; the one that is taken carries the list. */
static tcudb_status contract_pays(Opt *opt, Plan *ordinary, Plan *node, bool *pays, Error *err)
{
    Candidates *list;
    TRY(candidates_new(opt, &list, err));
    TRY(candidates_ordinary(opt, list, ordinary, err));
    TRY(candidates_contract(opt, list, node, err));
    candidates_choose(opt, list);
    *pays = list->items[list->taken].form >= CANDIDATE_SPARSE;
    *(*pays ? &node->candidates : &ordinary->candidates) = list;
    return TCUDB_OK;
}

/* A filter that could go on no side keeps a join from being one of sums. */
static bool is_filtered_join(const Plan *plan)
{
    return plan->kind == PLAN_FILTER && graph_is_region(plan->inputs[0]);
}

tcudb_status contract_aggregate(Opt *opt, Plan **slot, Plan *agg, Plan *joins, Error *err)
{
    JoinGraph g = {0};
    Sides s = {.opt = opt, .why = ""};
    ContractCalls calls = {0};
    if (is_filtered_join(joins)) return note_refusal(opt, agg, "a condition above the join uses a subquery", err);
    if (!graph_is_region(joins)) return TCUDB_OK;
    TRY(graph_collect(opt, &g, joins, err));
    if (g.nrels < 2 || g.nrels > CONTRACT_RELATIONS || has_volatile(&g)) return TCUDB_OK;
    for (uint32_t i = 0; i < g.nrels; i++) {
        card_rows(opt, g.rels[i].plan, false);
        g.rels[i].rows = g.rels[i].plan->rows;
    }
    TRY(graph_finish(opt, &g, err));
    uint64_t left = 0;
    if (g.above.n == 0) TRY(contract_split(opt, &g, agg, &left, &s.why, err));
    if (left == 0) return note_refusal(opt, agg, s.why, err);
    if (!multiplies_rows(opt, &g, left)) return note_refusal(opt, agg, "the join hardly multiplies rows", err);
    TRY(contract_calls(opt, agg, &g, left, &calls, err));
    Plan *node = NULL;
    bool ok = false;
    TRY(contract_build(&s, &g, agg, left, &calls, &node, &ok, err));
    if (!ok) return note_refusal(opt, agg, s.why, err);
    node->contract.fast = is_fast(opt, agg, node);
    if (node->contract.fast)
        node->note = "Precision: fast (FP16 inputs): not exact";
    else
        TRY(note_proof(opt, node, err));
    for (uint32_t side = 0; side < 2; side++) TRY(contract_half(opt, node, side, err));
    bool pays;
    TRY(contract_pays(opt, *slot, node, &pays, err));
    if (!pays) return TCUDB_OK;
    *slot = node;
    opt->changed = true;
    if (agg->agg.ngroups == 0) TRY(always_one_row(opt, node, &node, err));
    if (calls.divides || agg->agg.ngroups == 0)
        return plan_project(opt->arena, node, calls.finals, agg->ncols, slot, err);
    return plan_restore_cols(opt, slot, agg->cols, agg->ncols, err);
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind != PLAN_AGGREGATE) return contract_distinct(opt, slot, err);
    TRY(contract_sink(opt, &plan->inputs[0], err));
    TRY(contract_aggregate(opt, slot, plan, plan->inputs[0], err));
    return *slot == plan ? contract_finer(opt, slot, plan, err) : TCUDB_OK;
}

tcudb_status rule_contract(Opt *opt, Plan **root, Error *err)
{
    if (!opt->env->settings->contraction) return TCUDB_OK;
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, root, err);
}
