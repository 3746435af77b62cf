/*
 * rule_apart.c: aggregates of several DISTINCT arguments are computed apart.
 *
 * Pattern: an aggregate without groups over a table's rows, whose calls take DISTINCT values of different expressions,
 * or DISTINCT values beside all of them. Rewrite:
 *     count(DISTINCT a), count(DISTINCT b), sum(c)
 *         ->  (count(DISTINCT a)) CROSS JOIN (count(DISTINCT b)) CROSS JOIN (sum(c)), each over a scan of its own
 * Why: rule_distinct turns the DISTINCT values of one expression into groups, which run on all threads and over
 * arrays; two expressions in one aggregate get a hash table each, merged by one thread. Right because: each part has
 * one row whatever there is to scan, and what is scanned is the same snapshot; nothing volatile is evaluated twice.
 * Loses when the scan costs more than the tables: its filters are evaluated once a part. So only few parts, and no
 * joins below.
 */
#include "opt/opt_int.h"

enum { PARTS_MOST = 6 };

static bool any_volatile(Expr *const *exprs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (expr_volatile(exprs[i])) return true;
    return false;
}

static bool is_cheap(const Plan *plan)
{
    if (plan->kind == PLAN_SCAN) return !any_volatile(plan->scan.filters, plan->scan.nfilters);
    if (plan->kind == PLAN_FILTER && any_volatile(plan->filter.conds, plan->filter.nconds)) return false;
    if (plan->kind != PLAN_FILTER && plan->kind != PLAN_PROJECT) return false;
    for (uint32_t i = 0; plan->kind == PLAN_PROJECT && i < plan->ncols; i++)
        if (expr_volatile(plan->project.exprs[i].expr)) return false;
    return is_cheap(plan->inputs[0]);
}

/* Whether DISTINCT changes what the call gives. */
static bool is_distinct(const AggCall *call)
{
    return call->distinct && call->nargs == 1 && call->kind != AGG_MIN && call->kind != AGG_MAX;
}

static bool same_part(const AggCall *a, const AggCall *b)
{
    if (!is_distinct(a) || !is_distinct(b)) return is_distinct(a) == is_distinct(b);
    bool filters = a->filter == NULL ? b->filter == NULL : b->filter != NULL && expr_equal(a->filter, b->filter);
    return filters && expr_equal(a->args[0], b->args[0]);
}

/* part[a]: which part call a belongs to. Returns how many there are; 0: some call is volatile, or too many. */
static uint32_t number_parts(const Plan *agg, uint32_t *part)
{
    const AggCall *first[PARTS_MOST];
    uint32_t n = 0;
    for (uint32_t a = 0; a < agg->agg.naggs; a++) {
        const AggCall *call = &agg->agg.aggs[a];
        if (any_volatile(call->args, call->nargs) || (call->filter != NULL && expr_volatile(call->filter))) return 0;
        uint32_t p = 0;
        while (p < n && !same_part(first[p], call)) p++;
        if (p == PARTS_MOST) return 0;
        if (p == n) first[n++] = call;
        part[a] = p;
    }
    return n;
}

/* The aggregate with the calls of one part only. */
static tcudb_status one_part(Opt *opt, const Plan *agg, const uint32_t *part, uint32_t p, Plan **out, Error *err)
{
    Plan *one = plan_new(opt->arena, PLAN_AGGREGATE, 1, agg->agg.naggs, err);
    TRY_PTR(one);
    one->inputs[0] = agg->inputs[0];
    one->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, agg->agg.naggs, err);
    TRY_PTR(one->agg.aggs);
    for (uint32_t a = 0; a < agg->agg.naggs; a++) {
        if (part[a] != p) continue;
        one->cols[one->agg.naggs] = agg->agg.aggs[a].col;
        one->agg.aggs[one->agg.naggs++] = agg->agg.aggs[a];
    }
    one->ncols = one->agg.naggs;
    *out = one;
    return TCUDB_OK;
}

/* A copy over columns of its own, whose outputs have the old names again. */
static tcudb_status copy_part(Opt *opt, Plan *one, Plan **out, Error *err)
{
    Plan *copy;
    TRY(plan_copy(opt->arena, one, &opt->env->next_col, &copy, err));
    NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, one->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < one->ncols; i++) {
        exprs[i] = (NamedExpr){one->cols[i], expr_of_col(opt, &copy->cols[i], err)};
        TRY_PTR(exprs[i].expr);
    }
    return plan_project(opt->arena, copy, exprs, one->ncols, out, err);
}

static tcudb_status set_apart(Opt *opt, Plan **slot, Error *err)
{
    Plan *agg = *slot, *all = NULL;
    const PlanCol *cols = agg->cols;
    uint32_t ncols = agg->ncols;
    uint32_t *part = ARENA_ARRAY(opt->arena, uint32_t, agg->agg.naggs + 1, err);
    TRY_PTR(part);
    uint32_t n = number_parts(agg, part);
    for (uint32_t p = 0; p < n && n > 1; p++) {
        Plan *one;
        TRY(one_part(opt, agg, part, p, &one, err));
        if (p > 0) TRY(copy_part(opt, one, &one, err));
        if (p > 0) TRY(plan_new_join(opt, JOIN_INNER, all, one, NULL, 0, &one, err));
        all = one;
    }
    if (all == NULL) return TCUDB_OK;
    *slot = all;
    opt->changed = true;
    return plan_restore_cols(opt, slot, cols, ncols, err);
}

static bool has_distinct(const Plan *agg)
{
    for (uint32_t a = 0; a < agg->agg.naggs; a++)
        if (is_distinct(&agg->agg.aggs[a])) return true;
    return false;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    bool fits = plan->kind == PLAN_AGGREGATE && plan->agg.ngroups == 0 && has_distinct(plan);
    return fits && is_cheap(plan->inputs[0]) ? set_apart(opt, slot, err) : TCUDB_OK;
}

tcudb_status rule_apart(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
