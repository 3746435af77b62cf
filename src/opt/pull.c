/*
 * pull.c: takes the references to outer columns out of a subplan, so that it can be joined instead of run
 * once per outer row.
 *
 * Bottom-up: a condition that uses an outer column moves up through the nodes above it, which must then
 * put out the columns that it needs:
 *     filter, scan, inner join   conditions with outer columns leave the node
 *     outer, semi, anti joins    from the side whose rows are kept; the rest must be free of outer columns
 *     projection                 an expression with outer columns is not computed here but replaces its
 *                                column wherever that is used above (subst)
 *     GROUP BY, DISTINCT         only conditions  inner expression = outer expression : the inner one
 *                                becomes one more group column. For one outer row a group of the original
 *                                is a group of the new one, and conversely.
 *     LIMIT n (of a sort)        only such conditions: rows whose number among those of their key is at most n
 * Not through: aggregates without groups (a row for no input), set operations: then *ok is false.
 * Nodes on the way are copied, so failure leaves the original as it was.
 */
#include "opt/pull.h"

#include <assert.h>

static tcudb_status pull(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err);

typedef struct Refers {
    const ColSet *cols;
    bool found;
} Refers;

static bool other_expr(void *ctx, const Expr *e)
{
    return e->kind != EXPR_COL || !colset_has(ctx, e->col);
}

static bool expr_uses(const Expr *e, const ColSet *cols)
{
    return !expr_walk(e, other_expr, (void *)(uintptr_t)cols);
}

static tcudb_status refers_slot(void *ctx, Expr **slot, Error *err)
{
    Refers *r = ctx;
    (void)err;
    if (expr_uses(*slot, r->cols)) r->found = true;
    return TCUDB_OK;
}

static bool node_refers(const Plan *plan, const ColSet *cols)
{
    Refers r = {.cols = cols};
    Error ignored;
    tcudb_status status = plan_each_expr((Plan *)(uintptr_t)plan, refers_slot, &r, &ignored);
    return status != TCUDB_OK || r.found;
}

tcudb_status plan_refers(Opt *opt, const Plan *plan, const ColSet *cols, bool *out, Error *err)
{
    ColId *used = NULL;
    uint32_t n = 0;
    TRY(plan_free_cols(opt->arena, (Plan *)(uintptr_t)plan, &used, &n, err));
    *out = false;
    for (uint32_t i = 0; i < n; i++) *out |= colset_has(cols, used[i]);
    return TCUDB_OK;
}

static tcudb_status copy_node(Opt *opt, const Plan *plan, Plan **out, Error *err)
{
    Plan *copy = ARENA_NEW(opt->arena, Plan, err);
    TRY_PTR(copy);
    *copy = *plan;
    copy->inputs = ARENA_ARRAY(opt->arena, Plan *, plan->ninputs, err);
    TRY_PTR(copy->inputs);
    for (uint32_t i = 0; i < plan->ninputs; i++) copy->inputs[i] = plan->inputs[i];
    *out = copy;
    return TCUDB_OK;
}

static tcudb_status substituted(Opt *opt, const Pulled *p, Expr *e, Expr **out, Error *err)
{
    *out = e;
    return p->nsubst == 0 ? TCUDB_OK : expr_substitute(opt, e, p->subst, p->nsubst, out, err);
}

/* Conditions after substitution: those with outer columns go to preds, the others are kept. */
static tcudb_status split_conds(Opt *opt, Pulled *p, Expr *const *conds, uint32_t n, ExprList *kept, bool *ok,
                                Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        Expr *e;
        TRY(substituted(opt, p, conds[i], &e, err));
        bool outer = expr_uses(e, &p->outer);
        if (outer && expr_volatile(e)) *ok = false;
        TRY(list_add(opt, outer ? &p->preds : kept, e, err));
    }
    return TCUDB_OK;
}

static tcudb_status pull_filter(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    Plan *input;
    ExprList kept = {0};
    TRY(pull(opt, p, plan->inputs[0], &input, ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(split_conds(opt, p, plan->filter.conds, plan->filter.nconds, &kept, ok, err));
    *out = input;
    return plan_add_filter(opt, out, kept.items, kept.n, err);
}

static tcudb_status pull_scan(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    ExprList kept = {0};
    TRY(copy_node(opt, plan, out, err));
    TRY(split_conds(opt, p, plan->scan.filters, plan->scan.nfilters, &kept, ok, err));
    (*out)->scan.filters = kept.items;
    (*out)->scan.nfilters = kept.n;
    return TCUDB_OK;
}

/* Columns of `from` that preds and substitutions use, as outputs of the projection too. */
static tcudb_status pass_needed(Opt *opt, const Pulled *p, const Plan *from, NamedExpr **exprs, uint32_t *n, Error *err)
{
    ColSet need = {0};
    for (uint32_t i = 0; i < p->preds.n; i++) TRY(colset_expr(opt, &need, p->preds.items[i], err));
    for (uint32_t i = 0; i < p->nsubst; i++) TRY(colset_expr(opt, &need, p->subst[i].expr, err));
    NamedExpr *all = ARENA_ARRAY(opt->arena, NamedExpr, *n + from->ncols, err);
    TRY_PTR(all);
    for (uint32_t i = 0; i < *n; i++) all[i] = (*exprs)[i];
    for (uint32_t i = 0; i < from->ncols; i++) {
        bool have = !colset_has(&need, from->cols[i].id);
        for (uint32_t k = 0; k < *n && !have; k++) have = all[k].col.id == from->cols[i].id;
        if (have) continue;
        all[*n].col = from->cols[i];
        all[*n].expr = expr_of_col(opt, &from->cols[i], err);
        TRY_PTR(all[*n].expr);
        (*n)++;
    }
    *exprs = all;
    return TCUDB_OK;
}

static tcudb_status add_subst(Opt *opt, Pulled *p, const NamedExpr *e, Error *err)
{
    NamedExpr *all = ARENA_ARRAY(opt->arena, NamedExpr, p->nsubst + 1, err);
    TRY_PTR(all);
    if (p->nsubst > 0) memcpy(all, p->subst, p->nsubst * sizeof *all);
    all[p->nsubst++] = *e;
    p->subst = all;
    return TCUDB_OK;
}

static tcudb_status pull_project(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    Plan *input;
    TRY(pull(opt, p, plan->inputs[0], &input, ok, err));
    if (!*ok) return TCUDB_OK;
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols, err);
    TRY_PTR(exprs);
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        NamedExpr e = plan->project.exprs[i];
        TRY(substituted(opt, p, e.expr, &e.expr, err));
        if (!expr_uses(e.expr, &p->outer)) {
            exprs[n++] = e;
            continue;
        }
        if (expr_volatile(e.expr)) *ok = false;
        TRY(add_subst(opt, p, &e, err));
    }
    TRY(pass_needed(opt, p, input, &exprs, &n, err));
    return plan_project(opt->arena, input, exprs, n, out, err);
}

static tcudb_status pull_join(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    JoinKind kind = plan->join.kind;
    bool from_left = kind != JOIN_RIGHT && kind != JOIN_FULL;
    bool from_right = kind == JOIN_INNER || kind == JOIN_RIGHT;
    bool refers;
    for (uint32_t i = 0; i < 2; i++) {
        TRY(plan_refers(opt, plan->inputs[i], &p->outer, &refers, err));
        if (refers && !(i == 0 ? from_left : from_right)) *ok = false;
    }
    if (kind != JOIN_INNER && node_refers(plan, &p->outer)) *ok = false;
    if (!*ok) return TCUDB_OK;
    TRY(copy_node(opt, plan, out, err));
    ExprList kept = {0};
    uint32_t nsubst = p->nsubst;
    for (uint32_t i = 0; i < 2 && *ok; i++) TRY(pull(opt, p, plan->inputs[i], &(*out)->inputs[i], ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(split_conds(opt, p, plan->join.conds, plan->join.nconds, &kept, ok, err));
    if (kind != JOIN_INNER && p->nsubst > nsubst) *ok = false; /* a condition may have come to use outer columns */
    (*out)->join.conds = kept.items;
    (*out)->join.nconds = kept.n;
    return plan_widen(opt, *out, err);
}

/* "inner = outer": sets *inner; false for any other condition. */
static bool split_equality(const Pulled *p, const Plan *input, const Expr *e, Expr **inner, Expr **outer)
{
    if (!expr_is_equality(e)) return false;
    for (uint32_t i = 0; i < 2; i++) {
        *inner = e->args[i];
        *outer = e->args[1 - i];
        if (expr_within(*inner, input) && expr_has_cols(*inner) && !expr_touches(*outer, input) &&
            expr_uses(*outer, &p->outer))
            return true;
    }
    return false;
}

static const NamedExpr *find_group(const NamedExpr *groups, uint32_t n, const Expr *e)
{
    for (uint32_t i = 0; i < n; i++)
        if (expr_equal(groups[i].expr, e)) return &groups[i];
    return NULL;
}

/* The inner expression as a group column; the condition in terms of it. */
static tcudb_status group_by_key(Opt *opt, NamedExpr *groups, uint32_t *n, Expr *inner, Expr *outer, Expr **pred,
                                 Error *err)
{
    const NamedExpr *group = find_group(groups, *n, inner);
    if (group == NULL) {
        PlanCol col = opt_new_col(opt, inner->type, "key");
        groups[*n] = (NamedExpr){.col = col, .expr = inner};
        group = &groups[(*n)++];
    }
    Expr *key = expr_of_col(opt, &group->col, err);
    TRY_PTR(key);
    return expr_operator(opt, "=", key, outer, pred, err);
}

static tcudb_status set_agg_cols(Opt *opt, Plan *agg, Error *err)
{
    agg->ncols = agg->agg.ngroups + agg->agg.naggs;
    agg->cols = ARENA_ARRAY(opt->arena, PlanCol, agg->ncols, err);
    TRY_PTR(agg->cols);
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) agg->cols[i] = agg->agg.groups[i].col;
    for (uint32_t i = 0; i < agg->agg.naggs; i++) agg->cols[agg->agg.ngroups + i] = agg->agg.aggs[i].col;
    return TCUDB_OK;
}

/* Conditions pulled from below a grouping become conditions on its group columns. */
static tcudb_status regroup(Opt *opt, Pulled *p, uint32_t from, Plan *agg, bool *ok, Error *err)
{
    uint32_t n = agg->agg.ngroups;
    NamedExpr *groups = ARENA_ARRAY(opt->arena, NamedExpr, n + p->preds.n - from, err);
    TRY_PTR(groups);
    for (uint32_t i = 0; i < n; i++) groups[i] = agg->agg.groups[i];
    for (uint32_t i = from; i < p->preds.n; i++) {
        Expr *inner, *outer;
        if (!split_equality(p, agg->inputs[0], p->preds.items[i], &inner, &outer)) {
            *ok = false;
            return TCUDB_OK;
        }
        TRY(group_by_key(opt, groups, &n, inner, outer, &p->preds.items[i], err));
    }
    agg->agg.groups = groups;
    agg->agg.ngroups = n;
    return set_agg_cols(opt, agg, err);
}

static tcudb_status pull_aggregate(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    Plan *input;
    uint32_t from = p->preds.n, nsubst = p->nsubst;
    if (plan->agg.ngroups == 0 || node_refers(plan, &p->outer)) {
        *ok = false;
        return TCUDB_OK;
    }
    TRY(pull(opt, p, plan->inputs[0], &input, ok, err));
    if (p->nsubst > nsubst) *ok = false;
    if (!*ok) return TCUDB_OK;
    TRY(copy_node(opt, plan, out, err));
    (*out)->inputs[0] = input;
    return regroup(opt, p, from, *out, ok, err);
}

/* DISTINCT as grouping by all its columns, then like any grouping. */
static tcudb_status pull_distinct(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    if (plan->distinct.non > 0) { /* which row is first is not a matter of conditions */
        *ok = false;
        return TCUDB_OK;
    }
    Plan *agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, plan->ncols, err);
    TRY_PTR(agg);
    agg->inputs[0] = plan->inputs[0];
    agg->agg.ngroups = plan->ncols;
    agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols, err);
    TRY_PTR(agg->agg.groups);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        agg->cols[i] = agg->agg.groups[i].col = plan->cols[i];
        agg->agg.groups[i].expr = expr_of_col(opt, &plan->cols[i], err);
        TRY_PTR(agg->agg.groups[i].expr);
    }
    return pull_aggregate(opt, p, agg, out, ok, err);
}

/* An apply that could not be decorrelated: from its left side only. */
static tcudb_status pull_apply(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    bool refers;
    uint32_t nsubst = p->nsubst;
    TRY(plan_refers(opt, plan->inputs[1], &p->outer, &refers, err));
    if (refers || node_refers(plan, &p->outer)) *ok = false;
    if (!*ok) return TCUDB_OK;
    TRY(copy_node(opt, plan, out, err));
    TRY(pull(opt, p, plan->inputs[0], &(*out)->inputs[0], ok, err));
    if (p->nsubst > nsubst) *ok = false;
    return *ok ? plan_widen(opt, *out, err) : TCUDB_OK;
}

static tcudb_status pull_sort(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    if (plan->sort.limit != NULL || plan->sort.offset != NULL || node_refers(plan, &p->outer)) {
        *ok = false;
        return TCUDB_OK;
    }
    uint32_t nsubst = p->nsubst;
    TRY(copy_node(opt, plan, out, err));
    TRY(pull(opt, p, plan->inputs[0], &(*out)->inputs[0], ok, err));
    if (!*ok) return TCUDB_OK;
    if (p->nsubst > nsubst) { /* a key may be gone; nothing promises the order of a subquery's rows */
        *out = (*out)->inputs[0];
        return TCUDB_OK;
    }
    return plan_widen(opt, *out, err);
}

/* ---- LIMIT ------------------------------------------------------------------------------------- */

static bool is_count(const Expr *e)
{
    return e == NULL || (e->kind == EXPR_CONST && e->type.id == TYPE_INT8 && !e->value.null && e->value.i64 >= 0);
}

/* LIMIT over PROJECT as PROJECT over LIMIT. */
static tcudb_status sink_limit(Opt *opt, const Plan *limit, Plan **out, Error *err)
{
    Plan *below;
    TRY(copy_node(opt, limit->inputs[0], out, err));
    TRY(copy_node(opt, limit, &below, err));
    below->inputs[0] = (*out)->inputs[0];
    below->ncols = below->inputs[0]->ncols;
    below->cols = below->inputs[0]->cols;
    (*out)->inputs[0] = below;
    return TCUDB_OK;
}

/* The rows of input, with their number by `order` among those that agree on what the conditions compare. */
static tcudb_status number_rows(Opt *opt, Pulled *p, uint32_t from, Plan *input, const Plan *sort, Plan **out, bool *ok,
                                Error *err)
{
    Plan *window = plan_new(opt->arena, PLAN_WINDOW, 1, input->ncols + 1, err);
    TRY_PTR(window);
    TRY_PTR(window->window.partition = ARENA_ARRAY(opt->arena, Expr *, p->preds.n - from, err));
    TRY_PTR(window->window.calls = ARENA_ARRAY(opt->arena, WindowCall, 1, err));
    window->inputs[0] = input;
    for (uint32_t i = from; i < p->preds.n; i++) {
        Expr *inner, *outer;
        if (!split_equality(p, input, p->preds.items[i], &inner, &outer) || inner->kind != EXPR_COL) *ok = false;
        if (!*ok) return TCUDB_OK;
        window->window.partition[window->window.npartition++] = inner;
    }
    if (sort != NULL) window->window.order = sort->sort.keys;
    if (sort != NULL) window->window.norder = sort->sort.nkeys;
    window->window.calls[0] = (WindowCall){
        .col = opt_new_col(opt, TYPE(TYPE_INT8), "row_number"), .func = WINDOW_ROW_NUMBER, .end = FRAME_CURRENT};
    window->window.ncalls = 1;
    for (uint32_t i = 0; i < input->ncols; i++) window->cols[i] = input->cols[i];
    window->cols[input->ncols] = window->window.calls[0].col;
    *out = window;
    return TCUDB_OK;
}

/* Rows after the offset and up to the limit, by their number. */
static tcudb_status numbers_within(Opt *opt, const Plan *limit, Plan **slot, Error *err)
{
    int64_t offset = limit->limit.offset == NULL ? 0 : limit->limit.offset->value.i64, last;
    Expr *number = expr_of_col(opt, &(*slot)->window.calls[0].col, err), *bound, *conds[2];
    uint32_t n = 0;
    TRY_PTR(number);
    if (offset > 0) {
        TRY_PTR(bound = expr_const(opt->arena, &(Value){.type = TYPE(TYPE_INT8), .i64 = offset}, 0, err));
        TRY(expr_operator(opt, ">", number, bound, &conds[n++], err));
    }
    if (limit->limit.limit != NULL) {
        if (__builtin_add_overflow(offset, limit->limit.limit->value.i64, &last)) last = INT64_MAX;
        TRY_PTR(bound = expr_const(opt->arena, &(Value){.type = TYPE(TYPE_INT8), .i64 = last}, 0, err));
        TRY(expr_operator(opt, "<=", number, bound, &conds[n++], err));
    }
    return plan_add_filter(opt, slot, conds, n, err);
}

static bool sorts_by_columns(const Plan *sort)
{
    for (uint32_t i = 0; i < sort->sort.nkeys; i++)
        if (sort->sort.keys[i].expr->kind != EXPR_COL) return false;
    return sort->sort.limit == NULL && sort->sort.offset == NULL;
}

static tcudb_status pull_limit(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    const Plan *below = plan->inputs[0], *sort = below->kind == PLAN_SORT ? below : NULL;
    uint32_t from = p->preds.n, nsubst = p->nsubst;
    Plan *input;
    if (below->kind == PLAN_PROJECT) {
        TRY(sink_limit(opt, plan, &input, err));
        return pull(opt, p, input, out, ok, err);
    }
    *ok = is_count(plan->limit.limit) && is_count(plan->limit.offset) && (sort == NULL || sorts_by_columns(sort));
    if (*ok && sort != NULL) *ok = !node_refers(sort, &p->outer);
    if (!*ok) return TCUDB_OK;
    TRY(pull(opt, p, sort != NULL ? sort->inputs[0] : below, &input, ok, err));
    if (p->nsubst > nsubst || p->preds.n == from) *ok = false;
    if (*ok) TRY(number_rows(opt, p, from, input, sort, out, ok, err));
    return *ok ? numbers_within(opt, plan, out, err) : TCUDB_OK;
}

static tcudb_status pull(Opt *opt, Pulled *p, const Plan *plan, Plan **out, bool *ok, Error *err)
{
    bool refers;
    TRY(plan_refers(opt, plan, &p->outer, &refers, err));
    *out = (Plan *)(uintptr_t)plan;
    if (!refers) return TCUDB_OK;
    switch (plan->kind) {
    case PLAN_SCAN: return pull_scan(opt, p, plan, out, ok, err);
    case PLAN_FILTER: return pull_filter(opt, p, plan, out, ok, err);
    case PLAN_PROJECT: return pull_project(opt, p, plan, out, ok, err);
    case PLAN_JOIN: return pull_join(opt, p, plan, out, ok, err);
    case PLAN_AGGREGATE: return pull_aggregate(opt, p, plan, out, ok, err);
    case PLAN_DISTINCT: return pull_distinct(opt, p, plan, out, ok, err);
    case PLAN_APPLY: return pull_apply(opt, p, plan, out, ok, err);
    case PLAN_SORT: return pull_sort(opt, p, plan, out, ok, err);
    case PLAN_LIMIT: return pull_limit(opt, p, plan, out, ok, err);
    default: *ok = false; return TCUDB_OK;
    }
}

tcudb_status pull_outer(Opt *opt, Pulled *p, const Plan *plan, bool *ok, Error *err)
{
    *ok = true;
    p->plan = NULL;
    TRY(pull(opt, p, plan, &p->plan, ok, err));
    assert(!*ok || p->plan != NULL);
    return TCUDB_OK;
}

tcudb_status pull_outer_grouped(Opt *opt, Pulled *p, Plan *agg, bool *ok, Error *err)
{
    assert(agg->agg.ngroups == 0 && p->preds.n == 0);
    *ok = !node_refers(agg, &p->outer);
    if (!*ok) return TCUDB_OK;
    Plan *input;
    TRY(pull(opt, p, agg->inputs[0], &input, ok, err));
    if (p->nsubst > 0) *ok = false;
    if (!*ok) return TCUDB_OK;
    TRY(copy_node(opt, agg, &p->plan, err));
    p->plan->inputs[0] = input;
    return p->preds.n == 0 ? TCUDB_OK : regroup(opt, p, 0, p->plan, ok, err);
}
