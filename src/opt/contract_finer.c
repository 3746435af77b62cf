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
 * added up. It is done where the finer groups are much fewer than the join's rows, and the price is lower.
 *
 * So are, where they stand in the way, sums and counts of what is no sum of products: a quotient of both sides, CASE
 * over a comparison of both sides. Their columns group the contraction, which counts, and each finer group adds its
 * value as often as it has rows:  sum(f(a.x, b.y))  ->  sum(f(x, y) * n) over Contract by a.x, b.y: n = count(*).
 */
#include "opt/candidates.h"
#include "opt/contract.h"

static const double GAIN = 4; /* the join has so many times more rows than there are finer groups */

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
    AggCall *weighed; /* what is added as often as a finer group has rows; over the inner groups */
    uint32_t nweighed;
    uint8_t *roles; /* FinerRole of each aggregate */
    bool weighs;    /* arguments and conditions over several relations are weighed */
} Finer;

typedef enum FinerRole { FINER_SUM, FINER_OTHER, FINER_WEIGHED } FinerRole;

static tcudb_status add_group(Finer *f, Expr *e, Expr **ref, Error *err)
{
    uint32_t g = 0;
    while (g < f->ngroups && !expr_equal(f->groups[g].expr, e)) g++;
    TRY_PTR(f->groups = ARENA_MORE(f->opt->arena, f->groups, f->ngroups, &f->cap, err));
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
    return over_groups(f, other->args[0], &other->args[0], err);
}

static bool is_float(Type type)
{
    return type.id == TYPE_FLOAT4 || type.id == TYPE_FLOAT8;
}

static bool is_exact(Type type)
{
    return type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8 || type.id == TYPE_NUMERIC;
}

static uint32_t call_relations(const Finer *f, const AggCall *call)
{
    uint32_t of_filter = call->filter == NULL ? 0 : relations_used(f->joins, call->filter);
    uint32_t of_argument = call->nargs == 0 ? 0 : relations_used(f->joins, call->args[0]);
    return of_filter > of_argument ? of_filter : of_argument;
}

static FinerRole role_of(const Finer *f, const AggCall *call)
{
    if (call->distinct || is_extreme(call->kind)) return FINER_OTHER;
    bool count = call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR;
    bool adds = (call->kind == AGG_SUM || call->kind == AGG_AVG) && is_exact(call->args[0]->type);
    return f->weighs && (count || adds) && call_relations(f, call) > 1 ? FINER_WEIGHED : FINER_SUM;
}

/* Its columns must be all alike in a finer group. */
static tcudb_status add_weighed(Finer *f, const AggCall *call, bool *ok, Error *err)
{
    AggCall *w = &f->weighed[f->nweighed++];
    *w = *call;
    *ok = !(call->nargs > 0 && expr_volatile(call->args[0])) && !(call->filter != NULL && expr_volatile(call->filter));
    if (!*ok) return TCUDB_OK;
    if (call->nargs > 0) TRY(over_groups(f, call->args[0], &w->args[0], err));
    if (call->filter != NULL) TRY(over_groups(f, call->filter, &w->filter, err));
    for (uint32_t g = 0; g < f->ngroups; g++) *ok &= equality_is_identity(f->groups[g].expr->type);
    return TCUDB_OK;
}

static tcudb_status make_lists(Finer *f, Plan *sums, Error *err)
{
    uint32_t n = f->agg->agg.naggs + 2;
    TRY_PTR(f->others = ARENA_ARRAY(f->opt->arena, AggCall, n, err));
    TRY_PTR(f->weighed = ARENA_ARRAY(f->opt->arena, AggCall, n, err));
    TRY_PTR(f->roles = ARENA_ARRAY(f->opt->arena, uint8_t, n, err));
    TRY_PTR(sums->agg.aggs = ARENA_ARRAY(f->opt->arena, AggCall, n, err));
    return TCUDB_OK;
}

/* Takes the aggregates apart into those of the contraction and the others. What is weighed needs the number of rows:
 * the last sum. */
static tcudb_status take_calls(Finer *f, bool *ok, Error *err)
{
    Plan *sums = plan_new(f->opt->arena, PLAN_AGGREGATE, 1, 0, err);
    TRY_PTR(sums);
    TRY(make_lists(f, sums, err));
    for (uint32_t i = 0; i < f->agg->agg.naggs && *ok; i++) {
        const AggCall *call = &f->agg->agg.aggs[i];
        FinerRole role = role_of(f, call);
        f->roles[i] = (uint8_t)role;
        if (role == FINER_OTHER) TRY(add_other(f, call, ok, err));
        if (role == FINER_WEIGHED) TRY(add_weighed(f, call, ok, err));
        if (role == FINER_SUM) sums->agg.aggs[sums->agg.naggs++] = *call;
    }
    *ok &= !f->weighs || f->nweighed > 0;
    if (f->nweighed > 0)
        sums->agg.aggs[sums->agg.naggs++] =
            (AggCall){.col = opt_new_col(f->opt, TYPE(TYPE_INT8), "count"), .kind = AGG_COUNT_STAR};
    for (uint32_t i = 0; i < sums->agg.naggs; i++) /* floating point is rounded once only */
        for (uint32_t a = 0; a < sums->agg.aggs[i].nargs; a++)
            *ok &= sums->agg.aggs[i].kind == AGG_COUNT || !is_float(sums->agg.aggs[i].args[a]->type);
    sums->ncols = sums->agg.naggs;
    TRY_PTR(sums->cols = ARENA_ARRAY(f->opt->arena, PlanCol, sums->ncols + 1, err));
    for (uint32_t i = 0; i < sums->ncols; i++) sums->cols[i] = sums->agg.aggs[i].col;
    return contract_calls(f->opt, sums, NULL, 0, &f->calls, err);
}

/* The finer aggregate as a contraction, or by sums before the join; *ok false: it is neither. */
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
    *ok = f->ngroups > 0 && (forced || rows * GAIN <= f->joins->rows);
    if (*ok) TRY(contract_aggregate(opt, &f->inner, inner, f->agg->inputs[0], err));
    const Candidates *list = f->inner->candidates;
    bool vector = f->inner == inner && list != NULL && list->items[list->taken].form == CANDIDATE_VECTOR;
    *ok = *ok && (f->inner != inner || vector);
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

/* ---- values added as often as a finer group has rows ------------------------------------------- */

static tcudb_status int8_of(Opt *opt, int64_t value, Expr **out, Error *err)
{
    Value v = {.type = TYPE(TYPE_INT8), .i64 = value};
    *out = expr_const(opt->arena, &v, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* CASE WHEN filter THEN value END; value as it is without a filter. */
static tcudb_status where(Opt *opt, Expr *filter, Expr *value, Expr **out, Error *err)
{
    *out = value;
    if (filter == NULL) return TCUDB_OK;
    Value null = {.type = value->type, .null = true};
    Expr *args[3] = {filter, value, expr_const(opt->arena, &null, 0, err)};
    TRY_PTR(args[2]);
    *out = expr_node(opt->arena, EXPR_CASE, value->type, args, 3, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* A sum of e in numeric, among the top's aggregates. */
static tcudb_status add_numeric_sum(Finer *f, Plan *top, Expr *e, Expr **ref, Error *err)
{
    AggCall *sum = &top->agg.aggs[top->agg.naggs++];
    TRY(expr_cast(f->opt->arena, e, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &e, err));
    *sum = (AggCall){.col = opt_new_col(f->opt, TYPE(TYPE_NUMERIC), "sum"), .kind = AGG_SUM, .nargs = 1, .args = {e}};
    *ref = expr_of_col(f->opt, &sum->col, err);
    return *ref == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* COALESCE(sum(n where the row is counted), 0) */
static tcudb_status weigh_count(Finer *f, Plan *top, const AggCall *call, Expr *rows, Expr **out, Error *err)
{
    Opt *opt = f->opt;
    Expr *counted = rows, *args[2];
    if (call->nargs > 0) {
        Expr *there;
        TRY(expr_call(opt->arena, FUNC_OPERATOR, "is not null", (Expr **)&call->args[0], 1, 0, &there, err));
        TRY(where(opt, there, counted, &counted, err));
    }
    TRY(where(opt, call->filter, counted, &counted, err));
    TRY(add_numeric_sum(f, top, counted, &args[0], err));
    TRY(expr_cast(opt->arena, args[0], TYPE(TYPE_INT8), CAST_EXPLICIT, 0, &args[0], err));
    TRY(int8_of(opt, 0, &args[1], err));
    *out = expr_node(opt->arena, EXPR_COALESCE, TYPE(TYPE_INT8), args, 2, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* sum(value * n), of rows that the filter takes: the value is not even computed of others. */
static tcudb_status weigh_sum(Finer *f, Plan *top, const AggCall *call, Expr *rows, Expr **out, Error *err)
{
    Expr *value, *count;
    TRY(expr_cast(f->opt->arena, call->args[0], TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &value, err));
    TRY(expr_cast(f->opt->arena, rows, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &count, err));
    TRY(expr_operator(f->opt, "*", value, count, &value, err));
    TRY(where(f->opt, call->filter, value, &value, err));
    return add_numeric_sum(f, top, value, out, err);
}

static tcudb_status weigh(Finer *f, Plan *top, const AggCall *call, Expr *rows, Expr **out, Error *err)
{
    Opt *opt = f->opt;
    Expr *sum, *count, *args[2];
    if (call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR) return weigh_count(f, top, call, rows, out, err);
    TRY(weigh_sum(f, top, call, rows, &sum, err));
    if (call->kind == AGG_SUM) return expr_cast(opt->arena, sum, call->col.type, CAST_EXPLICIT, 0, out, err);
    TRY(weigh_count(f, top, call, rows, &count, err));
    TRY(int8_of(opt, 0, &args[1], err));
    TRY(expr_operator(opt, ">", count, args[1], &args[0], err));
    TRY(expr_cast(opt->arena, count, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &args[1], err));
    TRY(expr_operator(opt, "/", sum, args[1], &args[1], err));
    TRY(where(opt, args[0], args[1], out, err));
    return expr_cast(opt->arena, *out, call->col.type, CAST_EXPLICIT, 0, out, err);
}

/* The aggregate over the finer groups, and below `finals` a projection of sums as the calls were typed. */
static tcudb_status build_outer(Finer *f, NamedExpr *outer_groups, Plan **out, Error *err)
{
    Opt *opt = f->opt;
    uint32_t ngroups = f->agg->agg.ngroups, n = f->calls.n + f->nothers;
    Plan *top = plan_new(opt->arena, PLAN_AGGREGATE, 1, 0, err);
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, ngroups + n + f->nweighed + 1, err);
    TRY_PTR(top);
    TRY_PTR(exprs);
    TRY_PTR(top->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, n + 2 * f->nweighed + 1, err));
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
    for (uint32_t i = 0; i < f->nweighed; i++) {
        Expr *rows = expr_of_col(opt, &f->partials[f->calls.n - 1].col, err);
        TRY_PTR(rows);
        exprs[ngroups + n + i].col = f->weighed[i].col;
        TRY(weigh(f, top, &f->weighed[i], rows, &exprs[ngroups + n + i].expr, err));
    }
    top->ncols = ngroups + top->agg.naggs;
    TRY_PTR(top->cols = ARENA_ARRAY(opt->arena, PlanCol, top->ncols + 1, err));
    for (uint32_t g = 0; g < ngroups; g++) top->cols[g] = outer_groups[g].col;
    for (uint32_t i = 0; i < top->agg.naggs; i++) top->cols[ngroups + i] = top->agg.aggs[i].col;
    return plan_project(opt->arena, top, exprs, ngroups + n + f->nweighed, out, err);
}

/* The original aggregate's columns over the projection. */
static tcudb_status finish(Finer *f, Plan *below, Plan **slot, Error *err)
{
    const Plan *agg = f->agg;
    NamedExpr *exprs = ARENA_ARRAY(f->opt->arena, NamedExpr, agg->ncols + 1, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < agg->ncols; i++) TRY(keep_column(f->opt, &agg->cols[i], &exprs[i], err));
    for (uint32_t i = 0, s = 0; i < agg->agg.naggs; i++)
        if (f->roles[i] == FINER_SUM) exprs[agg->agg.ngroups + i] = f->calls.finals[s++];
    return plan_project(f->opt->arena, below, exprs, agg->ncols, slot, err);
}

static tcudb_status rewrite(Opt *opt, Plan **slot, Plan *agg, bool weighs, Error *err)
{
    Finer f = {.opt = opt, .agg = agg, .joins = agg->inputs[0], .weighs = weighs};
    bool ok = true;
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
    Plan *below = NULL, *result = agg;
    TRY(build_outer(&f, groups, &below, err));
    TRY(finish(&f, below, &result, err));
    TRY(candidates_prefer(opt, agg, result, &ok, err));
    if (ok) *slot = result;
    return TCUDB_OK;
}

tcudb_status contract_finer(Opt *opt, Plan **slot, Plan *agg, Error *err)
{
    if (!graph_is_region(agg->inputs[0])) return TCUDB_OK;
    bool refused = agg->candidates == NULL; /* else the aggregate itself could be a contraction, and costs more */
    TRY(rewrite(opt, slot, agg, false, err));
    return *slot == agg && refused ? rewrite(opt, slot, agg, true, err) : TCUDB_OK;
}
