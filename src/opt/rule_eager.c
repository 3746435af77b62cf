/*
 * rule_eager.c: aggregation before the join (eager aggregation; Yan and Larson, 1995).
 *
 * Pattern: an aggregate over an inner join.
 * Rewrite: one or both inputs are first grouped by their columns that the join's conditions and the group
 * expressions use, with partial sums, counts and extremes; the join meets fewer rows; the aggregate above
 * combines the partials with the numbers of rows they stand for; a projection restores names and types.
 *     SELECT sum(a.v), b.w FROM a, b WHERE a.id = b.id GROUP BY b.w
 *     =>  sum(s) by w over (sum(v) AS s by id over a) join b
 * Then the same again for the new aggregates below.
 * Right because: rows of one input that agree on those columns meet the same rows of the other and fall
 * into the same group, so they may be combined first; eager_split.c says how for each aggregate, exactly,
 * with bag multiplicities, NULLs, PostgreSQL's result types and its overflow errors.
 * Loses when: grouping hardly shrinks the input; so it is done where its price is lower (candidates.c), which is
 * where the join multiplies rows.
 */
#include "opt/candidates.h"
#include "opt/card_combine.h"
#include "opt/eager.h"

#include <assert.h>
#include <math.h>

static const double GAIN = 0.7; /* the rewrite must cost at most this share of the original */

static tcudb_status used_cols(Opt *opt, const Plan *agg, const Plan *join, ColSet *out, Error *err)
{
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) TRY(colset_expr(opt, out, agg->agg.groups[i].expr, err));
    for (uint32_t i = 0; i < join->join.nconds; i++) TRY(colset_expr(opt, out, join->join.conds[i], err));
    return TCUDB_OK;
}

static tcudb_status side_keys(Opt *opt, const ColSet *used, EagerSide *side, Error *err)
{
    const Plan *plan = side->plan;
    side->keys = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols, err);
    TRY_PTR(side->keys);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (!colset_has(used, plan->cols[i].id)) continue;
        NamedExpr *key = &side->keys[side->nkeys++];
        key->col = plan->cols[i];
        key->expr = expr_of_col(opt, &plan->cols[i], err);
        TRY_PTR(key->expr);
    }
    return TCUDB_OK;
}

static double grouped_rows(Opt *opt, const EagerSide *side)
{
    Combos groups = {.n = 0};
    ColSet keys = {0};
    for (uint32_t i = 0; i < side->nkeys; i++)
        if (colset_add(opt, &keys, side->keys[i].col.id, NULL) != TCUDB_OK) return side->plan->rows;
    if (plan_unique_on(opt, side->plan, &keys)) return side->plan->rows; /* nothing to combine */
    for (uint32_t i = 0; i < side->nkeys; i++) combos_add(&groups, opt, side->plan, side->keys[i].expr);
    return combos_count(&groups, side->plan->rows);
}

/* Rows whose keys are equal must be alike in all that is computed from the keys above; and a side whose keys are
 * unique has nothing to combine (so the rule, looking again at what it made, comes to an end). */
static bool keys_allow(Opt *opt, const EagerSide *side)
{
    ColSet keys = {0};
    for (uint32_t i = 0; i < side->nkeys; i++)
        if (colset_add(opt, &keys, side->keys[i].col.id, NULL) != TCUDB_OK) return false;
    if (plan_unique_on(opt, side->plan, &keys)) return false;
    for (uint32_t i = 0; i < side->nkeys; i++)
        if (!equality_is_identity(side->keys[i].col.type)) return false;
    return true;
}

/* Chooses which sides to aggregate; none: *gain false. Must: the cheapest of those that can be, whatever it costs. */
static void choose_sides(Eager *e, bool must, bool *gain)
{
    const Rates *r = e->opt->env->rates;
    double rows[2], grouped[2], domain[2], out = e->join->rows, best;
    double top = card_keys_domain(e->opt, e->join, e->agg->agg.groups, e->agg->agg.ngroups, out);
    for (int i = 0; i < 2; i++) {
        rows[i] = e->sides[i].plan->rows;
        grouped[i] = grouped_rows(e->opt, &e->sides[i]);
        domain[i] = card_keys_domain(e->opt, e->sides[i].plan, e->sides[i].keys, e->sides[i].nkeys, rows[i]);
    }
    best =
        must ? INFINITY : GAIN * (cost_hash_join(r, rows[0], rows[1], out) + cost_aggregate(r, out, e->agg->rows, top));
    *gain = false;
    uint32_t allowed = keys_allow(e->opt, &e->sides[0]) | (uint32_t)keys_allow(e->opt, &e->sides[1]) << 1;
    for (uint32_t pre = 1; pre < 4; pre++) {
        double n[2], cost = 0, shrink = 1;
        if ((pre & ~allowed) != 0) continue;
        for (int i = 0; i < 2; i++) {
            n[i] = (pre >> i & 1) != 0 ? grouped[i] : rows[i];
            if ((pre >> i & 1) != 0) cost += r->start * 1e-9 + cost_aggregate(r, rows[i], grouped[i], domain[i]);
            shrink *= n[i] / rows[i];
        }
        cost += cost_hash_join(r, n[0], n[1], out * shrink) + cost_aggregate(r, out * shrink, e->agg->rows, top);
        if (cost >= best) continue;
        best = cost;
        *gain = true;
        for (int i = 0; i < 2; i++) e->sides[i].pre = (pre >> i & 1) != 0;
    }
}

static tcudb_status set_agg(Opt *opt, Plan *agg, NamedExpr *groups, uint32_t ngroups, AggCall *aggs, uint32_t naggs,
                            Error *err)
{
    agg->agg.groups = groups;
    agg->agg.ngroups = ngroups;
    agg->agg.aggs = aggs;
    agg->agg.naggs = naggs;
    agg->ncols = ngroups + naggs;
    agg->cols = ARENA_ARRAY(opt->arena, PlanCol, agg->ncols, err);
    TRY_PTR(agg->cols);
    for (uint32_t i = 0; i < ngroups; i++) agg->cols[i] = groups[i].col;
    for (uint32_t i = 0; i < naggs; i++) agg->cols[ngroups + i] = aggs[i].col;
    return TCUDB_OK;
}

static tcudb_status new_agg(Opt *opt, Plan *input, Plan **out, Error *err)
{
    *out = plan_new(opt->arena, PLAN_AGGREGATE, 1, 0, err);
    TRY_PTR(*out);
    (*out)->inputs[0] = input;
    return TCUDB_OK;
}

/* A side grouped by its keys. Without keys (a cross product into one group) it must still vanish if it has no
 * rows, so it is grouped by a constant. */
static tcudb_status build_side(Opt *opt, EagerSide *side, Plan **out, Error *err)
{
    *out = side->plan;
    if (!side->pre) return TCUDB_OK;
    if (side->nkeys == 0) {
        side->keys = ARENA_ARRAY(opt->arena, NamedExpr, 1, err);
        TRY_PTR(side->keys);
        side->keys[0].col = opt_new_col(opt, TYPE(TYPE_BOOL), "all");
        side->keys[0].expr = expr_bool(opt, true, err);
        TRY_PTR(side->keys[0].expr);
        side->nkeys = 1;
    }
    TRY(new_agg(opt, side->plan, out, err));
    TRY(set_agg(opt, *out, side->keys, side->nkeys, side->partials, side->npartials, err));
    (*out)->rows = grouped_rows(opt, side);
    return TCUDB_OK;
}

static tcudb_status build(Eager *e, Expr *const *finals, Plan **out, Error *err)
{
    Opt *opt = e->opt;
    const Plan *agg = e->agg;
    Plan *sides[2], *join, *top;
    for (int i = 0; i < 2; i++) TRY(build_side(opt, &e->sides[i], &sides[i], err));
    TRY(plan_new_join(opt, JOIN_INNER, sides[0], sides[1], e->join->join.conds, e->join->join.nconds, &join, err));
    TRY(new_agg(opt, join, &top, err));
    TRY(set_agg(opt, top, agg->agg.groups, agg->agg.ngroups, e->tops, e->ntops, err));
    top->note = agg->note;
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, agg->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < agg->ncols; i++) {
        exprs[i].col = agg->cols[i];
        exprs[i].expr = i < agg->agg.ngroups ? expr_of_col(opt, &agg->cols[i], err) : finals[i - agg->agg.ngroups];
        TRY_PTR(exprs[i].expr);
    }
    TRY(card_collect(opt, top, err));
    card_rows(opt, top, true);
    return plan_project(opt->arena, top, exprs, agg->ncols, out, err);
}

static tcudb_status rewrite(Opt *opt, Plan **slot, bool must, bool *done, Error *err)
{
    Plan *agg = *slot, *join = agg->inputs[0];
    Eager e = {.opt = opt, .agg = agg, .join = join};
    ColSet used = {0};
    bool ok = true;
    *done = false;
    TRY(used_cols(opt, agg, join, &used, err));
    for (int i = 0; i < 2; i++) {
        e.sides[i].plan = join->inputs[i];
        TRY(side_keys(opt, &used, &e.sides[i], err));
    }
    choose_sides(&e, must, &ok);
    Expr **finals = ARENA_ARRAY(opt->arena, Expr *, agg->agg.naggs, err);
    TRY_PTR(finals);
    for (uint32_t i = 0; i < agg->agg.naggs && ok; i++) TRY(eager_split(&e, &agg->agg.aggs[i], &finals[i], &ok, err));
    if (!ok) return TCUDB_OK;
    opt->changed = *done = true;
    return build(&e, finals, slot, err);
}

static bool volatile_part(const Plan *agg, const Plan *join)
{
    for (uint32_t i = 0; i < agg->agg.ngroups; i++)
        if (expr_volatile(agg->agg.groups[i].expr)) return true;
    for (uint32_t i = 0; i < join->join.nconds; i++)
        if (expr_volatile(join->join.conds[i])) return true;
    return false;
}

static bool fits(const Plan *plan)
{
    return plan->kind == PLAN_AGGREGATE && plan->inputs[0]->kind == PLAN_JOIN &&
           plan->inputs[0]->join.kind == JOIN_INNER && !volatile_part(plan, plan->inputs[0]);
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err);

static tcudb_status visit_inputs(Opt *opt, Plan *plan, Error *err)
{
    assert(plan->ninputs <= 2 || plan->kind == PLAN_CONTRACT);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    return TCUDB_OK;
}

tcudb_status eager_rewrite(Opt *opt, Plan **slot, bool *done, Error *err)
{
    *done = false;
    if (!fits(*slot)) return TCUDB_OK;
    TRY(rewrite(opt, slot, true, done, err));
    return *done ? visit_inputs(opt, *slot, err) : TCUDB_OK;
}

/* Plain or vector, by price, unless rule_contract has asked already. */
static tcudb_status decide(Opt *opt, Plan *agg, Error *err)
{
    if (agg->candidates != NULL) return TCUDB_OK;
    TRY(candidates_new(opt, &agg->candidates, err));
    TRY(candidates_ordinary(opt, agg->candidates, agg, err));
    candidates_choose(opt, agg->candidates);
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    bool done = false;
    if (!fits(plan)) return visit_inputs(opt, plan, err);
    if (!opt->pricing) TRY(decide(opt, plan, err));
    bool must = !opt->pricing && plan->candidates->items[plan->candidates->taken].form == CANDIDATE_VECTOR;
    if (must || opt->pricing) TRY(rewrite(opt, slot, must, &done, err));
    if (done) (*slot)->inputs[0]->candidates = plan->candidates;
    return visit_inputs(opt, done ? (*slot)->inputs[0] : plan, err);
}

tcudb_status rule_eager(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, root, err);
}
