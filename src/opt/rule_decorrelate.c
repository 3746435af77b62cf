/*
 * rule_decorrelate.c: subqueries become joins.
 *
 * Pattern: APPLY(L, R): R is evaluated for every row of L.
 * Rewrite: pull.c turns R into R' without references to L and conditions P, so that R(l) is the rows of R'
 * for which P holds. Then, innermost first:
 *     EXISTS          mark join of L and R' on P
 *     x op ANY (R)    mark join on P and the test, three-valued
 *     x op ALL (R)    NOT of ANY of the negated test
 *     scalar          single join on P (left join where R' cannot match twice): its value, NULL if none
 *     scalar, where R is an aggregate without groups: R' is grouped by P's inner sides, left join; counts
 *                     that are missing are 0; what stood above the aggregate is computed above the join
 *     CROSS, LEFT     inner or left join on P; of an aggregate without groups as for a scalar
 * A LIMIT in R becomes a condition on the rows' number within their key (pull.c). Marks that only a filter looks at
 * become semi and anti joins in rule_mark.c. Right because: see pull.c for P; a mark is the OR over R' of P AND test,
 * which is what EXISTS and ANY mean, once conditions of P that are NULL count as false (they are wrapped in COALESCE
 * where they can be NULL and it matters). An aggregate without groups gives one row for no input: COUNT 0, others NULL,
 * which is what padding and COALESCE give.
 * Loses when: L has few rows and R is large and indexed by nothing (R' is computed for all keys); the
 * semi-join bitmaps of rule_semi.c get most of that back.
 * What does not fit stays an APPLY, which exec runs per row.
 */
#include "opt/pull.h"

#include <assert.h>

static tcudb_status left_cols(Opt *opt, const Plan *apply, NamedExpr **exprs, uint32_t *n, uint32_t room, Error *err)
{
    const Plan *left = apply->inputs[0];
    *exprs = ARENA_ARRAY(opt->arena, NamedExpr, left->ncols + room, err);
    TRY_PTR(*exprs);
    *n = left->ncols;
    for (uint32_t i = 0; i < left->ncols; i++) {
        (*exprs)[i].col = left->cols[i];
        (*exprs)[i].expr = expr_of_col(opt, &left->cols[i], err);
        TRY_PTR((*exprs)[i].expr);
    }
    return TCUDB_OK;
}

/* L's columns and the apply's result, computed over `input`. */
static tcudb_status with_result(Opt *opt, const Plan *apply, Plan *input, Expr *value, Plan **out, Error *err)
{
    NamedExpr *exprs;
    uint32_t n;
    TRY(left_cols(opt, apply, &exprs, &n, 1, err));
    exprs[n].col = apply->apply.result;
    TRY(expr_relabel(opt->arena, value, apply->apply.result.type, value->position, &exprs[n].expr, err));
    return plan_project(opt->arena, input, exprs, n + 1, out, err);
}

static tcudb_status new_mark_join(Opt *opt, Plan *left, Plan *right, const ExprList *conds, PlanCol mark, bool null,
                                  Plan **out, Error *err)
{
    TRY(plan_new_join(opt, JOIN_SEMI, left, right, conds->items, conds->n, out, err));
    (*out)->join.kind = JOIN_MARK;
    (*out)->join.mark = mark;
    (*out)->join.mark_null = null;
    return plan_widen(opt, *out, err);
}

/* COALESCE(e, value): conditions whose NULL must count as something. */
tcudb_status expr_null_as(Opt *opt, Expr *e, bool value, Expr **out, Error *err)
{
    Expr *args[2] = {e, expr_bool(opt, value, err)};
    TRY_PTR(args[1]);
    *out = expr_node(opt->arena, EXPR_COALESCE, TYPE(TYPE_BOOL), args, 2, e->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status case_when(Opt *opt, Expr *when, Expr *then, Expr *otherwise, Expr **out, Error *err)
{
    Expr *args[3] = {when, then, otherwise};
    *out = expr_node(opt->arena, EXPR_CASE, then->type, args, 3, then->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status substitute(Opt *opt, const Pulled *p, Expr *e, Expr **out, Error *err)
{
    *out = e;
    return p->nsubst == 0 ? TCUDB_OK : expr_substitute(opt, e, p->subst, p->nsubst, out, err);
}

/* ---- EXISTS, ANY, ALL ------------------------------------------------------------------------ */

static tcudb_status exists_to_join(Opt *opt, Plan *apply, const Pulled *p, Plan **out, Error *err)
{
    Plan *right = p->plan;
    if (p->preds.n == 0 && right->kind != PLAN_LIMIT) { /* one row says it all */
        Plan *limit = plan_new(opt->arena, PLAN_LIMIT, 1, 0, err);
        TRY_PTR(limit);
        Value one = {.type = TYPE(TYPE_INT8), .i64 = 1};
        limit->inputs[0] = right;
        limit->limit.limit = expr_const(opt->arena, &one, 0, err);
        TRY_PTR(limit->limit.limit);
        right = limit;
    }
    return new_mark_join(opt, apply->inputs[0], right, &p->preds, apply->apply.result, false, out, err);
}

static tcudb_status any_to_join(Opt *opt, Plan *apply, const Pulled *p, Expr *test, PlanCol mark, Plan **out,
                                Error *err)
{
    ExprList conds = {0};
    Plan *left = apply->inputs[0];
    Expr *e;
    TRY(substitute(opt, p, test, &e, err));
    Expr **parts = NULL;
    uint32_t nparts = 0;
    TRY(expr_conjuncts(opt->arena, e, &parts, &nparts, err));
    bool null = false;
    for (uint32_t i = 0; i < nparts; i++) {
        null |= !expr_not_null(opt, left, p->plan, parts[i]);
        TRY(list_add(opt, &conds, parts[i], err));
    }
    for (uint32_t i = 0; i < p->preds.n; i++) {
        e = p->preds.items[i];
        if (null && !expr_not_null(opt, left, p->plan, e)) TRY(expr_null_as(opt, e, false, &e, err));
        TRY(list_add(opt, &conds, e, err));
    }
    return new_mark_join(opt, left, p->plan, &conds, mark, null, out, err);
}

static tcudb_status all_to_join(Opt *opt, Plan *apply, const Pulled *p, Plan **out, Error *err)
{
    Expr *negated, *result;
    PlanCol mark = opt_new_col(opt, TYPE(TYPE_BOOL), "any");
    TRY(expr_negate(opt, apply->apply.test, &negated, err));
    TRY(expr_simplify(opt, negated, &negated, err));
    Plan *join;
    TRY(any_to_join(opt, apply, p, negated, mark, &join, err));
    Expr *col = expr_of_col(opt, &mark, err);
    TRY_PTR(col);
    TRY(expr_negate(opt, col, &result, err));
    return with_result(opt, apply, join, result, out, err);
}

/* ---- scalar, CROSS, LEFT --------------------------------------------------------------------- */

/* A column of R' that is TRUE in every row: NULL after padding. */
static tcudb_status add_marker(Opt *opt, Plan **right, Expr **marker, Error *err)
{
    PlanCol col = opt_new_col(opt, TYPE(TYPE_BOOL), "matched");
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, (*right)->ncols + 1, err);
    TRY_PTR(exprs);
    uint32_t n = (*right)->ncols;
    for (uint32_t i = 0; i < n; i++) {
        exprs[i].col = (*right)->cols[i];
        exprs[i].expr = expr_of_col(opt, &exprs[i].col, err);
        TRY_PTR(exprs[i].expr);
    }
    exprs[n].col = col;
    exprs[n].expr = expr_bool(opt, true, err);
    TRY_PTR(exprs[n].expr);
    TRY(plan_project(opt->arena, *right, exprs, n + 1, right, err));
    *marker = expr_of_col(opt, &col, err);
    TRY_PTR(*marker);
    return TCUDB_OK;
}

static tcudb_status null_of_type(Opt *opt, Type type, Expr **out, Error *err)
{
    Value null = {.type = type, .null = true};
    *out = expr_const(opt->arena, &null, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* value where the right side matched, NULL where it was padded. */
static tcudb_status padded_value(Opt *opt, Plan **right, Expr *value, Expr **marker, Expr **out, Error *err)
{
    ColSet nulls = {0};
    TRY(colset_outputs(opt, &nulls, *right, err));
    *out = value;
    if (expr_null_on_nulls(value, &nulls)) return TCUDB_OK;
    Expr *null;
    if (*marker == NULL) TRY(add_marker(opt, right, marker, err));
    TRY(null_of_type(opt, value->type, &null, err));
    return case_when(opt, *marker, value, null, out, err);
}

static tcudb_status scalar_to_join(Opt *opt, Plan *apply, const Pulled *p, Plan **out, Error *err)
{
    Plan *right = p->plan, *join;
    const PlanCol *first = &apply->inputs[1]->cols[0];
    Expr *value = expr_of_col(opt, first, err), *marker = NULL;
    TRY_PTR(value);
    TRY(substitute(opt, p, value, &value, err));
    TRY(padded_value(opt, &right, value, &marker, &value, err));
    JoinKind kind = JOIN_SINGLE;
    if (p->preds.n == 0 && plan_max_rows(right) <= 1) kind = plan_min_rows(right) == 1 ? JOIN_INNER : JOIN_LEFT;
    TRY(plan_new_join(opt, kind, apply->inputs[0], right, p->preds.items, p->preds.n, &join, err));
    return with_result(opt, apply, join, value, out, err);
}

static tcudb_status lateral_to_join(Opt *opt, Plan *apply, const Pulled *p, Plan **out, Error *err)
{
    const Plan *old_right = apply->inputs[1];
    bool padded = apply->apply.kind == APPLY_LEFT;
    Plan *right = p->plan, *join;
    NamedExpr *exprs;
    uint32_t n;
    Expr *marker = NULL;
    TRY(left_cols(opt, apply, &exprs, &n, old_right->ncols, err));
    for (uint32_t i = 0; i < old_right->ncols; i++) {
        Expr *e = expr_of_col(opt, &old_right->cols[i], err);
        TRY_PTR(e);
        TRY(substitute(opt, p, e, &e, err));
        if (padded) TRY(padded_value(opt, &right, e, &marker, &e, err));
        TRY(expr_relabel(opt->arena, e, old_right->cols[i].type, e->position, &e, err));
        exprs[n++] = (NamedExpr){.col = old_right->cols[i], .expr = e};
    }
    TRY(plan_new_join(opt, padded ? JOIN_LEFT : JOIN_INNER, apply->inputs[0], right, p->preds.items, p->preds.n, &join,
                      err));
    return plan_project(opt->arena, join, exprs, n, out, err);
}

/* ---- aggregates without groups --------------------------------------------------------------- */

/* R as projections and filters (HAVING) over an aggregate without groups; NULL if it is not that. */
static const Plan *scalar_aggregate(const Plan *plan)
{
    for (;;) {
        if (plan->kind == PLAN_AGGREGATE) return plan->agg.ngroups == 0 ? plan : NULL;
        bool sorts = plan->kind == PLAN_SORT && plan->sort.limit == NULL && plan->sort.offset == NULL;
        if (plan->kind != PLAN_PROJECT && plan->kind != PLAN_FILTER && !sorts) return NULL;
        plan = plan->inputs[0];
    }
}

/* What R's columns are in terms of the aggregate's, and the conjunction of its filters (NULL: none). */
static tcudb_status compose(Opt *opt, const Plan *plan, const Plan *agg, Expr **value, Expr **having, Error *err)
{
    for (; plan != agg; plan = plan->inputs[0]) {
        if (plan->kind == PLAN_FILTER) {
            ExprList all = {0};
            if (*having != NULL) TRY(list_add(opt, &all, *having, err));
            TRY(list_add_all(opt, &all, plan->filter.conds, plan->filter.nconds, err));
            TRY(expr_and(opt, all.items, all.n, having, err));
        }
        if (plan->kind != PLAN_PROJECT) continue;
        TRY(expr_substitute(opt, *value, plan->project.exprs, plan->ncols, value, err));
        if (*having != NULL) TRY(expr_substitute(opt, *having, plan->project.exprs, plan->ncols, having, err));
    }
    return TCUDB_OK;
}

/* Counts that padding made NULL are 0. */
static tcudb_status counts_as_zero(Opt *opt, const Plan *agg, Expr *e, Expr **out, Error *err)
{
    NamedExpr *counts = ARENA_ARRAY(opt->arena, NamedExpr, agg->agg.naggs, err);
    TRY_PTR(counts);
    uint32_t n = 0;
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        const AggCall *call = &agg->agg.aggs[i];
        if (call->kind != AGG_COUNT && call->kind != AGG_COUNT_STAR && call->kind != AGG_REGR_COUNT) continue;
        Value zero = {.type = TYPE(TYPE_INT8)};
        Expr *args[2] = {expr_of_col(opt, &call->col, err), expr_const(opt->arena, &zero, 0, err)};
        TRY_PTR(args[0]);
        TRY_PTR(args[1]);
        assert(type_phys(call->col.type) == PHYS_I64);
        counts[n].col = call->col;
        counts[n].expr = expr_node(opt->arena, EXPR_COALESCE, call->col.type, args, 2, 0, err);
        TRY_PTR(counts[n].expr);
        n++;
    }
    return expr_substitute(opt, e, counts, n, out, err);
}

/* The aggregate grouped by the inner sides of the conditions, as R'. */
static tcudb_status grouped_aggregate(Opt *opt, Pulled *p, const Plan *agg, bool *ok, Error *err)
{
    Plan *grouped = ARENA_NEW(opt->arena, Plan, err);
    TRY_PTR(grouped);
    *grouped = *agg;
    return pull_outer_grouped(opt, p, grouped, ok, err);
}

/* The value of R for every row of L, over `join`; having false: NULL, or no row. */
static tcudb_status aggregate_result(Opt *opt, const Plan *apply, Plan *join, Expr *value, Expr *having, Plan **out,
                                     Error *err)
{
    Expr *none;
    switch (apply->apply.kind) {
    case APPLY_SCALAR: TRY(null_of_type(opt, value->type, &none, err)); break;
    case APPLY_EXISTS:
        value = expr_bool(opt, true, err);
        none = expr_bool(opt, false, err);
        break;
    default: none = expr_bool(opt, apply->apply.kind == APPLY_ALL, err); break;
    }
    TRY_PTR(value);
    TRY_PTR(none);
    if (having != NULL) TRY(case_when(opt, having, value, none, &value, err));
    return with_result(opt, apply, join, value, out, err);
}

static tcudb_status aggregate_join(Opt *opt, const Plan *apply, const Pulled *p, Plan **out, Error *err)
{
    JoinKind kind = p->plan->agg.ngroups == 0 ? JOIN_INNER : JOIN_LEFT;
    return plan_new_join(opt, kind, apply->inputs[0], p->plan, p->preds.items, p->preds.n, out, err);
}

/* An expression over R in terms of the aggregate's columns. */
static tcudb_status over_aggregate(Opt *opt, const Plan *right, const Plan *agg, Expr *e, Expr **out, Expr **having,
                                   bool *ok, Error *err)
{
    *having = NULL;
    *out = e;
    TRY(compose(opt, right, agg, out, having, err));
    *ok = *ok && !expr_volatile(*out) && (*having == NULL || !expr_volatile(*having));
    TRY(counts_as_zero(opt, agg, *out, out, err));
    return *having == NULL ? TCUDB_OK : counts_as_zero(opt, agg, *having, having, err);
}

/* LATERAL: L's columns and R's, and what filters them. */
static tcudb_status lateral_columns(Opt *opt, const Plan *apply, const Plan *agg, NamedExpr **exprs, uint32_t *n,
                                    Expr **having, bool *ok, Error *err)
{
    const Plan *right = apply->inputs[1];
    Expr *e = expr_bool(opt, true, err);
    TRY_PTR(e);
    TRY(over_aggregate(opt, right, agg, e, &e, having, ok, err));
    TRY(left_cols(opt, apply, exprs, n, right->ncols, err));
    for (uint32_t i = 0; i < right->ncols; i++) {
        e = expr_of_col(opt, &right->cols[i], err);
        TRY_PTR(e);
        TRY(over_aggregate(opt, right, agg, e, &e, having, ok, err));
        TRY(expr_relabel(opt->arena, e, right->cols[i].type, e->position, &e, err));
        (*exprs)[(*n)++] = (NamedExpr){.col = right->cols[i], .expr = e};
    }
    return TCUDB_OK;
}

/* A row of L whose group HAVING drops is dropped by CROSS; LEFT would have to pad it: that stays an APPLY. */
static tcudb_status lateral_aggregate(Opt *opt, Plan *apply, const Plan *agg, Plan **out, bool *ok, Error *err)
{
    Pulled p = {0};
    NamedExpr *exprs = NULL;
    uint32_t n = 0;
    Expr *having = NULL;
    Plan *join;
    TRY(colset_outputs(opt, &p.outer, apply->inputs[0], err));
    TRY(lateral_columns(opt, apply, agg, &exprs, &n, &having, ok, err));
    if (having != NULL && apply->apply.kind == APPLY_LEFT) *ok = false;
    if (*ok) TRY(grouped_aggregate(opt, &p, agg, ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(aggregate_join(opt, apply, &p, &join, err));
    if (having != NULL) TRY(plan_add_filter(opt, &join, &having, 1, err));
    return plan_project(opt->arena, join, exprs, n, out, err);
}

static tcudb_status aggregate_to_join(Opt *opt, Plan *apply, const Plan *agg, Plan **out, bool *ok, Error *err)
{
    Pulled p = {0};
    Plan *join;
    *ok = true;
    if (apply->apply.kind == APPLY_CROSS || apply->apply.kind == APPLY_LEFT)
        return lateral_aggregate(opt, apply, agg, out, ok, err);
    TRY(colset_outputs(opt, &p.outer, apply->inputs[0], err));
    Expr *having = NULL, *value = expr_of_col(opt, &apply->inputs[1]->cols[0], err);
    if (apply->apply.kind == APPLY_ANY || apply->apply.kind == APPLY_ALL) value = apply->apply.test;
    if (apply->apply.kind == APPLY_EXISTS) value = expr_bool(opt, true, err);
    TRY_PTR(value);
    TRY(over_aggregate(opt, apply->inputs[1], agg, value, &value, &having, ok, err));
    if (*ok) TRY(grouped_aggregate(opt, &p, agg, ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(aggregate_join(opt, apply, &p, &join, err));
    return aggregate_result(opt, apply, join, value, having, out, err);
}

/* ---- the rule --------------------------------------------------------------------------------- */

static bool positive_const(const Expr *e)
{
    return e == NULL || (e->kind == EXPR_CONST && (e->value.null || (e->type.id == TYPE_INT8 && e->value.i64 > 0)));
}

/* What EXISTS and ANY do not see: order and duplicates, and for EXISTS a LIMIT and the columns. */
static const Plan *relevant(const Plan *apply)
{
    bool exists = apply->apply.kind == APPLY_EXISTS;
    const Plan *plan = apply->inputs[1];
    if (!exists && apply->apply.kind != APPLY_ANY && apply->apply.kind != APPLY_ALL) return plan;
    for (;;) {
        bool drop = plan->kind == PLAN_DISTINCT && (exists || plan->distinct.non == 0);
        if (plan->kind == PLAN_SORT) drop = plan->sort.limit == NULL && plan->sort.offset == NULL;
        if (plan->kind == PLAN_LIMIT) drop = exists && plan->limit.offset == NULL && positive_const(plan->limit.limit);
        if (plan->kind == PLAN_PROJECT) drop = exists;
        if (plan->kind == PLAN_AGGREGATE) drop = exists && plan->agg.ngroups > 0;
        if (!drop) return plan;
        plan = plan->inputs[0];
    }
}

static tcudb_status join_pulled(Opt *opt, Plan *apply, const Pulled *p, Plan **out, Error *err)
{
    switch (apply->apply.kind) {
    case APPLY_EXISTS: return exists_to_join(opt, apply, p, out, err);
    case APPLY_ANY: return any_to_join(opt, apply, p, apply->apply.test, apply->apply.result, out, err);
    case APPLY_ALL: return all_to_join(opt, apply, p, out, err);
    case APPLY_SCALAR: return scalar_to_join(opt, apply, p, out, err);
    default: return lateral_to_join(opt, apply, p, out, err);
    }
}

static tcudb_status decorrelate_apply(Opt *opt, Plan **slot, Error *err)
{
    Plan *apply = *slot, *result = NULL;
    const PlanCol *cols = apply->cols;
    uint32_t ncols = apply->ncols;
    bool ok = true;
    const Plan *right = relevant(apply);
    const Plan *agg = scalar_aggregate(right);
    if (agg != NULL) {
        TRY(aggregate_to_join(opt, apply, agg, &result, &ok, err));
    }
    if (agg == NULL || !ok) {
        Pulled p = {0};
        TRY(colset_outputs(opt, &p.outer, apply->inputs[0], err));
        TRY(pull_outer(opt, &p, right, &ok, err));
        if (ok) TRY(join_pulled(opt, apply, &p, &result, err));
    }
    if (!ok) return TCUDB_OK;
    assert(result != NULL);
    opt->changed = true;
    *slot = result;
    return plan_restore_cols(opt, slot, cols, ncols, err);
}

static tcudb_status decorrelate(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(decorrelate(opt, &plan->inputs[i], err));
    return plan->kind == PLAN_APPLY ? decorrelate_apply(opt, slot, err) : TCUDB_OK;
}

tcudb_status rule_decorrelate(Opt *opt, Plan **root, Error *err)
{
    return decorrelate(opt, root, err);
}
