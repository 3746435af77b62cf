/*
 * rule_cube.c: the sets of ROLLUP, CUBE and GROUPING SETS from groups by all their keys.
 *
 * Pattern: a shared query (bind/grouping.c) that only aggregates read, each by some of the keys.
 * Rewrite: the query becomes its aggregate by all the keys, and the sets add up what that counted and summed:
 *
 *     GROUP BY ROLLUP (a, b): sum(x)      q = SELECT .. FROM r JOIN s ..
 *     ->                                  q = SELECT a, b, sum(x) AS s FROM r JOIN s .. GROUP BY a, b
 *                                         sum(s) FROM q GROUP BY a, b; sum(s) FROM q GROUP BY a; sum(s) FROM q
 *
 * So the rows are read once and not kept, and over a join the one aggregate may be a contraction (rule_contract.c).
 * Right because: counts, sums of exact numbers and extremes of groups are those of their parts; averages and deviations
 * are made of counts and sums (contract_calls.c). Sums of floating point are rounded and DISTINCT is not additive: then
 * nothing is done. Loses when: there are hardly fewer groups than rows; so GAIN times fewer are asked for.
 */
#include "opt/contract.h"

#include <assert.h>

static const double GAIN = 4;

typedef struct Cube {
    Opt *opt;
    Cte *cte;
    Plan ***slots; /* the aggregates that read the query */
    uint32_t nslots, cap;
    bool only;  /* nothing else reads it */
    Plan *fine; /* by all keys; its calls are without FILTER's other columns: one for each that differs */
} Cube;

/* ---- who reads the query -------------------------------------------------------------------------- */

static tcudb_status add_slot(Cube *c, Plan **slot, Error *err)
{
    TRY_PTR(c->slots = ARENA_MORE(c->opt->arena, c->slots, c->nslots, &c->cap, err));
    c->slots[c->nslots++] = slot;
    return TCUDB_OK;
}

static tcudb_status find_readers(Cube *c, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    if (plan->kind == PLAN_CTE_SCAN && plan->cte_scan.cte == c->cte) c->only = false;
    bool reads = plan->kind == PLAN_AGGREGATE && plan->inputs[0]->kind == PLAN_CTE_SCAN;
    if (reads && plan->inputs[0]->cte_scan.cte == c->cte) return add_slot(c, slot, err);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(find_readers(c, &plan->inputs[i], err));
    return TCUDB_OK;
}

static bool is_extreme(AggKind kind)
{
    return kind == AGG_MIN || kind == AGG_MAX || kind == AGG_BOOL_AND || kind == AGG_BOOL_OR;
}

static bool is_exact(Type type)
{
    return type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8 ||
           (type.id == TYPE_NUMERIC && type.precision > 0);
}

static bool adds_up(const AggCall *call)
{
    if (call->distinct || call->norder > 0) return false;
    for (uint32_t i = 0; i < call->nargs; i++)
        if (expr_volatile(call->args[i])) return false;
    if (call->filter != NULL && expr_volatile(call->filter)) return false;
    if (call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR || is_extreme(call->kind)) return true;
    bool sums =
        call->kind == AGG_SUM || call->kind == AGG_AVG || (call->kind >= AGG_VAR_POP && call->kind <= AGG_STDDEV_SAMP);
    return sums && is_exact(call->args[0]->type);
}

static bool fits(const Cube *c)
{
    for (uint32_t i = 0; i < c->nslots; i++) {
        const Plan *agg = *c->slots[i];
        for (uint32_t g = 0; g < agg->agg.ngroups; g++)
            if (expr_volatile(agg->agg.groups[g].expr)) return false;
        for (uint32_t a = 0; a < agg->agg.naggs; a++)
            if (!adds_up(&agg->agg.aggs[a])) return false;
    }
    return c->only && c->nslots > 1;
}

/* ---- the groups by all keys ------------------------------------------------------------------------- */

/* An expression over a scan of the query, over the query itself. */
static tcudb_status inside(const Cube *c, const Plan *scan, Expr *e, Expr **out, Error *err)
{
    *out = e;
    return e == NULL ? TCUDB_OK : expr_rename(c->opt, e, scan->cols, c->cte->plan->cols, scan->ncols, out, err);
}

static tcudb_status add_key(Cube *c, Expr *e, uint32_t *at, Error *err)
{
    Plan *fine = c->fine;
    for (*at = 0; *at < fine->agg.ngroups; ++*at)
        if (expr_equal(fine->agg.groups[*at].expr, e)) return TCUDB_OK;
    fine->agg.groups[fine->agg.ngroups++] = (NamedExpr){.col = opt_new_col(c->opt, e->type, "key"), .expr = e};
    (void)err;
    return TCUDB_OK;
}

static bool same_expr(const Expr *a, const Expr *b)
{
    return a == b || (a != NULL && b != NULL && expr_equal(a, b));
}

static void add_partial(Cube *c, const AggCall *call, uint32_t *at)
{
    Plan *fine = c->fine;
    for (*at = 0; *at < fine->agg.naggs; ++*at) {
        const AggCall *known = &fine->agg.aggs[*at];
        bool same = known->kind == call->kind && known->nargs == call->nargs && same_expr(known->filter, call->filter);
        if (same && (call->nargs == 0 || same_expr(known->args[0], call->args[0])) &&
            type_equal(known->col.type, call->col.type))
            return;
    }
    fine->agg.aggs[fine->agg.naggs] = *call;
    fine->agg.aggs[fine->agg.naggs++].col = opt_new_col(c->opt, call->col.type, call->col.name);
}

/* ---- a set ------------------------------------------------------------------------------------------ */

/* One aggregate by a set of the keys, over the groups by all of them. */
typedef struct Set {
    Plan **slot;
    ContractCalls calls; /* counts, sums and extremes; finals are the set's aggregates over them */
    uint32_t *keys, *partials;
} Set;

/* Extremes as they are, the others as counts and sums. */
static tcudb_status take_calls(Cube *c, const Plan *agg, Set *set, Error *err)
{
    Plan *all = plan_new(c->opt->arena, PLAN_AGGREGATE, 1, agg->agg.naggs, err);
    TRY_PTR(all);
    all->agg.aggs = agg->agg.aggs;
    all->agg.naggs = agg->agg.naggs;
    for (uint32_t i = 0; i < agg->agg.naggs; i++) all->cols[i] = agg->agg.aggs[i].col;
    return contract_calls(c->opt, all, NULL, 0, &set->calls, err);
}

static tcudb_status collect_set(Cube *c, Set *set, Error *err)
{
    const Plan *agg = *set->slot, *scan = agg->inputs[0];
    TRY(take_calls(c, agg, set, err));
    TRY_PTR(set->keys = ARENA_ARRAY(c->opt->arena, uint32_t, agg->agg.ngroups + 1, err));
    TRY_PTR(set->partials = ARENA_ARRAY(c->opt->arena, uint32_t, set->calls.n + 1, err));
    for (uint32_t g = 0; g < agg->agg.ngroups; g++) {
        Expr *key;
        TRY(inside(c, scan, agg->agg.groups[g].expr, &key, err));
        TRY(add_key(c, key, &set->keys[g], err));
    }
    for (uint32_t i = 0; i < set->calls.n; i++) {
        AggCall call = set->calls.items[i];
        for (uint32_t a = 0; a < call.nargs; a++) TRY(inside(c, scan, call.args[a], &call.args[a], err));
        if (call.kind == AGG_COUNT_STAR) call.args[0] = NULL;
        TRY(inside(c, scan, call.filter, &call.filter, err));
        add_partial(c, &call, &set->partials[i]);
    }
    return TCUDB_OK;
}

/* The aggregate of a partial result that gives the whole one, as the call's own column and type. */
static tcudb_status add_up(Cube *c, const AggCall *call, const PlanCol *partial, AggCall *out, NamedExpr *result,
                           Error *err)
{
    Opt *opt = c->opt;
    AggCallType type = {.result = call->col.type};
    bool extreme = is_extreme(call->kind);
    if (!extreme) TRY(agg_resolve(STR_LIT("sum"), &partial->type, 1, false, 0, &type, err));
    *out = (AggCall){.col = opt_new_col(opt, type.result, "whole"), .kind = extreme ? call->kind : AGG_SUM, .nargs = 1};
    TRY_PTR(out->args[0] = expr_of_col(opt, partial, err));
    result->col = call->col;
    TRY_PTR(result->expr = expr_of_col(opt, &out->col, err));
    return extreme ? TCUDB_OK
                   : expr_cast(opt->arena, result->expr, call->col.type, CAST_EXPLICIT, 0, &result->expr, err);
}

/* A scan of the groups by all keys. */
static tcudb_status scan_fine(Cube *c, const Plan *before, Plan **out, Error *err)
{
    uint32_t n = c->fine->ncols;
    TRY_PTR(*out = plan_new(c->opt->arena, PLAN_CTE_SCAN, 0, n, err));
    (*out)->cte_scan = before->cte_scan;
    for (uint32_t i = 0; i < n; i++)
        (*out)->cols[i] = opt_new_col(c->opt, c->fine->cols[i].type, c->fine->cols[i].name);
    return TCUDB_OK;
}

static tcudb_status key_columns(Cube *c, const Plan *agg, NamedExpr *out, Error *err)
{
    for (uint32_t g = 0; g < agg->agg.ngroups; g++) {
        out[g].col = agg->agg.groups[g].col;
        TRY_PTR(out[g].expr = expr_of_col(c->opt, &out[g].col, err));
    }
    return TCUDB_OK;
}

static tcudb_status rewrite_set(Cube *c, Set *set, Error *err)
{
    Opt *opt = c->opt;
    const Plan *agg = *set->slot;
    uint32_t ngroups = agg->agg.ngroups, n = set->calls.n;
    Plan *scan, *top = plan_new(opt->arena, PLAN_AGGREGATE, 1, ngroups + n, err), *below;
    NamedExpr *parts = ARENA_ARRAY(opt->arena, NamedExpr, ngroups + n + 1, err);
    NamedExpr *finals = ARENA_ARRAY(opt->arena, NamedExpr, agg->ncols + 1, err);
    TRY_PTR(top);
    TRY_PTR(parts);
    TRY_PTR(finals);
    TRY(scan_fine(c, agg->inputs[0], &scan, err));
    TRY_PTR(top->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, ngroups + 1, err));
    TRY_PTR(top->agg.aggs = ARENA_ARRAY(opt->arena, AggCall, n + 1, err));
    top->inputs[0] = scan;
    top->agg.ngroups = ngroups;
    top->agg.naggs = n;
    for (uint32_t g = 0; g < ngroups; g++) {
        top->cols[g] = top->agg.groups[g].col = agg->agg.groups[g].col;
        TRY_PTR(top->agg.groups[g].expr = expr_of_col(opt, &scan->cols[set->keys[g]], err));
    }
    TRY(key_columns(c, agg, parts, err));
    TRY(key_columns(c, agg, finals, err));
    for (uint32_t i = 0; i < n; i++) {
        const PlanCol *partial = &scan->cols[c->fine->agg.ngroups + set->partials[i]];
        TRY(add_up(c, &set->calls.items[i], partial, &top->agg.aggs[i], &parts[ngroups + i], err));
        top->cols[ngroups + i] = top->agg.aggs[i].col;
    }
    for (uint32_t i = 0; i < agg->agg.naggs; i++) finals[ngroups + i] = set->calls.finals[i];
    TRY(plan_project(opt->arena, top, parts, ngroups + n, &below, err));
    return plan_project(opt->arena, below, finals, agg->ncols, set->slot, err);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static tcudb_status new_fine(Cube *c, Error *err)
{
    uint32_t keys = 0, calls = 0;
    for (uint32_t i = 0; i < c->nslots; i++) {
        keys += (*c->slots[i])->agg.ngroups;
        calls += (*c->slots[i])->agg.naggs * 2 * CONTRACT_PARTS;
    }
    TRY_PTR(c->fine = plan_new(c->opt->arena, PLAN_AGGREGATE, 1, 0, err));
    TRY_PTR(c->fine->agg.groups = ARENA_ARRAY(c->opt->arena, NamedExpr, keys + 1, err));
    TRY_PTR(c->fine->agg.aggs = ARENA_ARRAY(c->opt->arena, AggCall, calls + 1, err));
    c->fine->inputs[0] = c->cte->plan;
    return TCUDB_OK;
}

static tcudb_status set_columns(Cube *c, Error *err)
{
    Plan *fine = c->fine;
    fine->ncols = fine->agg.ngroups + fine->agg.naggs;
    TRY_PTR(fine->cols = ARENA_ARRAY(c->opt->arena, PlanCol, fine->ncols + 1, err));
    for (uint32_t g = 0; g < fine->agg.ngroups; g++) fine->cols[g] = fine->agg.groups[g].col;
    for (uint32_t a = 0; a < fine->agg.naggs; a++) fine->cols[fine->agg.ngroups + a] = fine->agg.aggs[a].col;
    return TCUDB_OK;
}

static tcudb_status rewrite(Cube *c, Error *err)
{
    Set *sets = ARENA_ARRAY(c->opt->arena, Set, c->nslots, err);
    TRY_PTR(sets);
    TRY(new_fine(c, err));
    for (uint32_t i = 0; i < c->nslots; i++) {
        sets[i].slot = c->slots[i];
        TRY(collect_set(c, &sets[i], err));
    }
    if (c->fine->agg.ngroups == 0) return TCUDB_OK;
    TRY(set_columns(c, err));
    TRY(card_collect(c->opt, c->fine, err));
    card_rows(c->opt, c->fine, true);
    if (c->fine->rows * GAIN > c->cte->plan->rows) return TCUDB_OK;
    for (uint32_t i = 0; i < c->nslots; i++) TRY(rewrite_set(c, &sets[i], err));
    c->cte->plan = c->fine;
    c->opt->changed = true;
    return TCUDB_OK;
}

tcudb_status rule_cube(Opt *opt, Plan **root, Error *err)
{
    Cte **ctes = NULL;
    uint32_t n = 0;
    if (*root != opt->statement) return TCUDB_OK; /* once, for all of them */
    TRY(plan_ctes(opt->arena, *root, &ctes, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        Cube c = {.opt = opt, .cte = ctes[i], .only = true};
        if (!graph_is_region(ctes[i]->plan) && ctes[i]->plan->kind != PLAN_PROJECT) continue;
        TRY(find_readers(&c, root, err));
        for (uint32_t k = 0; k < n; k++) TRY(find_readers(&c, &ctes[k]->plan, err));
        if (fits(&c)) TRY(rewrite(&c, err));
    }
    return TCUDB_OK;
}
