/*
 * contract_finer.c: aggregates that are no sums of products, over a contraction by more groups.
 *
 *     Aggregate by a.g: count(distinct b.h), count(*), sum(a.x)
 *       Join
 *     =>
 *     Aggregate by g: count(h), sum(n), sum(s)
 *       Contract by a.g, b.h: n = count(*), s = sum(a.x)
 *
 * The contraction is grouped by the arguments of the other aggregates too: DISTINCT, MIN, MAX, boolean ones do not
 * mind that equal values come once. So are group expressions over both sides, or that may fail: their columns group
 * the contraction, and they are computed above it, on rows that the join has. Counts and sums of the finer groups are
 * added up. It is done where the finer groups are much fewer than the join's rows.
 */
#include "opt/contract.h"

static const double GAIN = 4;           /* the join has so many times more rows than there are finer groups */
static const double EXTREME_VALUES = 8; /* of MIN's and MAX's arguments; with more, sums before the join are better */

typedef struct Finer {
    Opt *opt;
    const Plan *agg;
    const Plan *joins;
    Plan *inner; /* groups and sums over the join */
    NamedExpr *groups;
    uint32_t ngroups, cap;
    ContractCalls calls; /* of the aggregates that the contraction computes */
    AggCall *partials;   /* the same over the finer groups */
    AggCall *others;     /* the rest, their arguments over the inner groups */
    uint32_t nothers;
    double extremes; /* distinct values of arguments of MIN and MAX */
} Finer;

static tcudb_status add_group(Finer *f, Expr *e, Expr **ref, Error *err)
{
    uint32_t g = 0;
    while (g < f->ngroups && !expr_equal(f->groups[g].expr, e)) g++;
    if (g == f->cap) {
        NamedExpr *more = ARENA_ARRAY(f->opt->arena, NamedExpr, 2 * f->cap + 8, err);
        TRY_PTR(more);
        if (g > 0) memcpy(more, f->groups, g * sizeof *more);
        f->groups = more;
        f->cap = 2 * f->cap + 8;
    }
    if (g == f->ngroups) f->groups[f->ngroups++] = (NamedExpr){.col = opt_new_col(f->opt, e->type, "key"), .expr = e};
    *ref = expr_of_col(f->opt, &f->groups[g].col, err);
    return *ref == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status group_column(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    Finer *f = ctx;
    if (e->kind != EXPR_COL || plan_find_col(f->joins, e->col) == NULL) return TCUDB_OK;
    return add_group(f, e, replacement, err);
}

static uint32_t relations_used(const Plan *plan, const Expr *e)
{
    if (plan->kind != PLAN_JOIN || plan->join.kind != JOIN_INNER) return expr_touches(e, plan);
    return relations_used(plan->inputs[0], e) + relations_used(plan->inputs[1], e);
}

/* The expression over finer groups: a group itself where one relation can compute it, else made of its columns. */
static tcudb_status over_groups(Finer *f, Expr *e, Expr **out, Error *err)
{
    if (relations_used(f->joins, e) == 1 && expr_total(f->joins, e)) return add_group(f, e, out, err);
    return expr_replace(f->opt->arena, e, group_column, f, out, err);
}

static bool is_extreme(AggKind kind)
{
    return kind == AGG_MIN || kind == AGG_MAX || kind == AGG_BOOL_AND || kind == AGG_BOOL_OR;
}

/* FILTER as part of the argument, which is NULL elsewhere: these aggregates skip NULL. */
static tcudb_status filtered(Opt *opt, const AggCall *call, Expr **out, Error *err)
{
    *out = call->args[0];
    if (call->filter == NULL) return TCUDB_OK;
    Value null = {.type = call->args[0]->type, .null = true};
    Expr *args[3] = {call->filter, call->args[0], expr_const(opt->arena, &null, 0, err)};
    TRY_PTR(args[2]);
    *out = expr_node(opt->arena, EXPR_CASE, call->args[0]->type, args, 3, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status add_other(Finer *f, const AggCall *call, bool *ok, Error *err)
{
    AggCall *other = &f->others[f->nothers++];
    *other = *call;
    bool adds = call->kind == AGG_COUNT || call->kind == AGG_SUM || call->kind == AGG_AVG;
    *ok = call->nargs == 1 && call->norder == 0 && (is_extreme(call->kind) || (call->distinct && adds));
    if (!*ok) return TCUDB_OK;
    TRY(filtered(f->opt, call, &other->args[0], err));
    other->filter = NULL;
    *ok = !expr_volatile(other->args[0]) && (call->kind == AGG_COUNT || equality_is_identity(other->args[0]->type));
    if (is_extreme(call->kind)) f->extremes *= card_distinct(f->opt, other->args[0], f->joins->rows);
    return over_groups(f, other->args[0], &other->args[0], err);
}

static bool is_float(Type type)
{
    return type.id == TYPE_FLOAT4 || type.id == TYPE_FLOAT8;
}

/* Takes the aggregates apart into those of the contraction and the others. */
static tcudb_status take_calls(Finer *f, bool *ok, Error *err)
{
    Plan *sums = plan_new(f->opt->arena, PLAN_AGGREGATE, 1, 0, err);
    TRY_PTR(sums);
    TRY_PTR(f->others = ARENA_ARRAY(f->opt->arena, AggCall, f->agg->agg.naggs + 1, err));
    TRY_PTR(sums->agg.aggs = ARENA_ARRAY(f->opt->arena, AggCall, f->agg->agg.naggs + 1, err));
    for (uint32_t i = 0; i < f->agg->agg.naggs && *ok; i++) {
        const AggCall *call = &f->agg->agg.aggs[i];
        if (call->distinct || is_extreme(call->kind))
            TRY(add_other(f, call, ok, err));
        else
            sums->agg.aggs[sums->agg.naggs++] = *call;
    }
    for (uint32_t i = 0; i < sums->agg.naggs; i++) /* floating point is rounded once only */
        for (uint32_t a = 0; a < sums->agg.aggs[i].nargs; a++)
            *ok &= sums->agg.aggs[i].kind == AGG_COUNT || !is_float(sums->agg.aggs[i].args[a]->type);
    sums->ncols = sums->agg.naggs;
    TRY_PTR(sums->cols = ARENA_ARRAY(f->opt->arena, PlanCol, sums->ncols + 1, err));
    for (uint32_t i = 0; i < sums->ncols; i++) sums->cols[i] = sums->agg.aggs[i].col;
    return contract_calls(f->opt, sums, &f->calls, err);
}

/* The finer aggregate as a contraction; *ok false: it is none. */
static tcudb_status contract_inner(Finer *f, bool *ok, Error *err)
{
    Opt *opt = f->opt;
    Plan *inner = plan_new(opt->arena, PLAN_AGGREGATE, 1, f->ngroups + f->calls.n, err);
    TRY_PTR(inner);
    inner->inputs[0] = f->agg->inputs[0];
    inner->agg.groups = f->groups;
    inner->agg.ngroups = f->ngroups;
    inner->agg.naggs = f->calls.n;
    TRY_PTR(inner->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, f->calls.n + 1, err));
    for (uint32_t i = 0; i < f->calls.n; i++) {
        inner->agg.aggs[i] = f->calls.items[i];
        inner->agg.aggs[i].col = opt_new_col(opt, f->calls.items[i].col.type, f->calls.items[i].col.name);
    }
    for (uint32_t g = 0; g < f->ngroups; g++) inner->cols[g] = f->groups[g].col;
    for (uint32_t i = 0; i < f->calls.n; i++) inner->cols[f->ngroups + i] = inner->agg.aggs[i].col;
    f->partials = inner->agg.aggs;
    f->inner = inner;
    double rows = 1;
    for (uint32_t g = 0; g < f->ngroups; g++) rows *= card_distinct(opt, f->groups[g].expr, f->joins->rows);
    bool forced = opt->env->settings->engine == ENGINE_TCU;
    *ok = f->ngroups > 0 && (forced || (rows * GAIN <= f->joins->rows && f->extremes <= EXTREME_VALUES));
    if (*ok) TRY(contract_aggregate(opt, &f->inner, inner, f->agg->inputs[0], err));
    *ok = *ok && f->inner != inner;
    return TCUDB_OK;
}

/* The sum of a call's results over the finer groups, under the call's own column and type. */
static tcudb_status add_up(Finer *f, uint32_t i, AggCall *sum, NamedExpr *final, Error *err)
{
    Expr *ref;
    AggCallType type;
    const AggCall *call = &f->calls.items[i];
    TRY_PTR(ref = expr_of_col(f->opt, &f->partials[i].col, err));
    TRY(agg_resolve(STR_LIT("sum"), &call->col.type, 1, false, 0, &type, err));
    *sum = (AggCall){.col = opt_new_col(f->opt, type.result, "sum"), .kind = AGG_SUM, .nargs = 1, .args = {ref}};
    final->col = call->col;
    TRY_PTR(final->expr = expr_of_col(f->opt, &sum->col, err));
    return expr_cast(f->opt->arena, final->expr, call->col.type, CAST_EXPLICIT, 0, &final->expr, err);
}

static tcudb_status keep_column(Opt *opt, const PlanCol *col, NamedExpr *out, Error *err)
{
    out->col = *col;
    out->expr = expr_of_col(opt, col, err);
    return out->expr == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static bool is_outer_group(const Finer *f, const NamedExpr *outer_groups, ColId col)
{
    for (uint32_t g = 0; g < f->agg->agg.ngroups; g++)
        if (outer_groups[g].expr->kind == EXPR_COL && outer_groups[g].expr->col == col) return true;
    return false;
}

/* Whether an argument's values come once only in a group: the groups are finer by nothing else. */
static bool comes_once(const Finer *f, const NamedExpr *outer_groups, const Expr *argument)
{
    for (uint32_t i = 0; i < f->ngroups; i++) {
        ColId col = f->groups[i].col.id;
        bool same = argument->kind == EXPR_COL && argument->col == col;
        if (!same && !is_outer_group(f, outer_groups, col)) return false;
    }
    return argument->kind == EXPR_COL;
}

/* The aggregate over the finer groups, and below `finals` a projection of sums as the calls were typed. */
static tcudb_status build_outer(Finer *f, NamedExpr *outer_groups, Plan **out, Error *err)
{
    Opt *opt = f->opt;
    uint32_t ngroups = f->agg->agg.ngroups, n = f->calls.n + f->nothers;
    Plan *top = plan_new(opt->arena, PLAN_AGGREGATE, 1, ngroups + n, err);
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, ngroups + n + 1, err);
    TRY_PTR(top);
    TRY_PTR(exprs);
    TRY_PTR(top->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, n + 1, err));
    top->inputs[0] = f->inner;
    top->agg.groups = outer_groups;
    top->agg.ngroups = ngroups;
    top->agg.naggs = n;
    for (uint32_t g = 0; g < ngroups; g++) TRY(keep_column(opt, &outer_groups[g].col, &exprs[g], err));
    for (uint32_t i = 0; i < f->calls.n; i++) TRY(add_up(f, i, &top->agg.aggs[i], &exprs[ngroups + i], err));
    for (uint32_t i = 0; i < f->nothers; i++) {
        top->agg.aggs[f->calls.n + i] = f->others[i];
        if (comes_once(f, outer_groups, f->others[i].args[0])) top->agg.aggs[f->calls.n + i].distinct = false;
        TRY(keep_column(opt, &f->others[i].col, &exprs[ngroups + f->calls.n + i], err));
    }
    for (uint32_t g = 0; g < ngroups; g++) top->cols[g] = outer_groups[g].col;
    for (uint32_t i = 0; i < n; i++) top->cols[ngroups + i] = top->agg.aggs[i].col;
    return plan_project(opt->arena, top, exprs, ngroups + n, out, err);
}

/* The original aggregate's columns over the projection. */
static tcudb_status finish(Finer *f, Plan *below, Plan **slot, Error *err)
{
    const Plan *agg = f->agg;
    NamedExpr *exprs = ARENA_ARRAY(f->opt->arena, NamedExpr, agg->ncols + 1, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < agg->ncols; i++) TRY(keep_column(f->opt, &agg->cols[i], &exprs[i], err));
    for (uint32_t i = 0, s = 0; i < agg->agg.naggs; i++)
        if (!agg->agg.aggs[i].distinct && !is_extreme(agg->agg.aggs[i].kind))
            exprs[agg->agg.ngroups + i] = f->calls.finals[s++];
    return plan_project(f->opt->arena, below, exprs, agg->ncols, slot, err);
}

tcudb_status contract_finer(Opt *opt, Plan **slot, Plan *agg, Error *err)
{
    Finer f = {.opt = opt, .agg = agg, .joins = agg->inputs[0], .extremes = 1};
    bool ok = graph_is_region(agg->inputs[0]);
    if (!ok) return TCUDB_OK;
    NamedExpr *groups = ARENA_ARRAY(opt->arena, NamedExpr, agg->agg.ngroups + 1, err);
    TRY_PTR(groups);
    for (uint32_t g = 0; g < agg->agg.ngroups && ok; g++) {
        groups[g].col = agg->agg.groups[g].col;
        ok = !expr_volatile(agg->agg.groups[g].expr);
        TRY(over_groups(&f, agg->agg.groups[g].expr, &groups[g].expr, err));
    }
    if (ok) TRY(take_calls(&f, &ok, err));
    if (ok) TRY(contract_inner(&f, &ok, err));
    if (!ok) return TCUDB_OK;
    Plan *below = NULL;
    TRY(build_outer(&f, groups, &below, err));
    return finish(&f, below, slot, err);
}
