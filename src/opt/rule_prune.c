/*
 * rule_prune.c: no column is carried further than it is used.
 *
 * Pattern: any node whose outputs nobody above needs.
 * Rewrite: top down, with the set of columns that are needed above: scans read, projections compute and
 * aggregates keep only those; nodes that pass columns list only those. A projection that then only passes
 * columns of a node that may itself put out a subset is dropped. Subqueries and marks whose result nobody
 * uses go, and so do left joins whose right side meets each row at most once and is not used; an inner join
 * of that kind is a semi join.
 * Right because: dropping a column never changes how many rows there are; DISTINCT, INTERSECT, EXCEPT and
 * UNION compare whole rows, so below them everything is needed. An aggregate without columns still
 * puts out one row a group.
 * CTEs keep what any of their scans needs (prune_cte.c). Loses never; a statement's own columns and their order are
 * kept.
 */
#include "opt/opt_int.h"

#include <assert.h>

static tcudb_status prune(Opt *opt, Plan **slot, const ColSet *need, bool exact, Error *err);

/* Keeps the needed outputs; kept[i] is the old place of new output i (NULL: not wanted). */
static tcudb_status keep_cols(Opt *opt, Plan *plan, const ColSet *need, uint32_t *kept, Error *err)
{
    PlanCol *cols = ARENA_ARRAY(opt->arena, PlanCol, plan->ncols, err);
    TRY_PTR(cols);
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (!colset_has(need, plan->cols[i].id)) continue;
        if (kept != NULL) kept[n] = i;
        cols[n++] = plan->cols[i];
    }
    if (n < plan->ncols) opt->changed = true;
    plan->cols = cols;
    plan->ncols = n;
    return TCUDB_OK;
}

static tcudb_status prune_scan(Opt *opt, Plan *scan, const ColSet *need, Error *err)
{
    ColSet all = {0};
    TRY(colset_union(opt, &all, need, err));
    TRY(colset_used(opt, &all, scan, err));
    for (uint32_t i = 0; i < scan->scan.nsemi; i++) TRY(colset_add(opt, &all, scan->scan.semi[i].col, err));
    uint32_t *kept = ARENA_ARRAY(opt->arena, uint32_t, scan->ncols, err);
    TRY_PTR(kept);
    TRY(keep_cols(opt, scan, &all, kept, err));
    for (uint32_t i = 0; i < scan->ncols; i++) kept[i] = scan->scan.columns[kept[i]];
    scan->scan.columns = kept;
    return TCUDB_OK;
}

static tcudb_status prune_func_scan(Opt *opt, Plan *scan, const ColSet *need, Error *err)
{
    uint32_t *kept = ARENA_ARRAY(opt->arena, uint32_t, scan->ncols, err);
    TRY_PTR(kept);
    TRY(keep_cols(opt, scan, need, kept, err));
    for (uint32_t i = 0; i < scan->ncols; i++) kept[i] = scan->func_scan.columns[kept[i]];
    scan->func_scan.columns = kept;
    return TCUDB_OK;
}

static tcudb_status prune_values(Opt *opt, Plan *values, const ColSet *need, Error *err)
{
    uint32_t old = values->ncols;
    uint32_t *kept = ARENA_ARRAY(opt->arena, uint32_t, old, err);
    TRY_PTR(kept);
    TRY(keep_cols(opt, values, need, kept, err));
    if (values->ncols == old) return TCUDB_OK;
    uint64_t nrows = values->values.nrows;
    Expr **exprs = ARENA_ARRAY(opt->arena, Expr *, nrows * values->ncols, err);
    TRY_PTR(exprs);
    for (uint64_t row = 0; row < nrows; row++)
        for (uint32_t i = 0; i < values->ncols; i++)
            exprs[row * values->ncols + i] = values->values.rows_exprs[row * old + kept[i]];
    values->values.rows_exprs = exprs;
    return TCUDB_OK;
}

static bool is_pass(const NamedExpr *e)
{
    return e->expr->kind == EXPR_COL && e->expr->col == e->col.id;
}

/* Whether the projection only selects among its input's columns and the input can do that itself. */
static bool project_is_trivial(const Plan *project, bool exact)
{
    const Plan *input = project->inputs[0];
    for (uint32_t i = 0; i < project->ncols; i++)
        if (!is_pass(&project->project.exprs[i])) return false;
    if (plan_passes(input)) return true;
    bool same = input->ncols == project->ncols;
    for (uint32_t i = 0; same && i < project->ncols; i++) same = input->cols[i].id == project->cols[i].id;
    (void)exact;
    return same;
}

/* What is volatile is computed whether somebody reads it or not: nextval() does something. */
static tcudb_status add_volatile(Opt *opt, const Plan *project, ColSet *need, Error *err)
{
    for (uint32_t i = 0; i < project->ncols; i++)
        if (expr_volatile(project->project.exprs[i].expr)) TRY(colset_add(opt, need, project->cols[i].id, err));
    return TCUDB_OK;
}

static tcudb_status prune_project(Opt *opt, Plan **slot, const ColSet *above, bool exact, Error *err)
{
    Plan *project = *slot;
    ColSet below = {0};
    if (!exact) {
        ColSet all = {0}, *need = &all;
        TRY(colset_union(opt, need, above, err));
        TRY(add_volatile(opt, project, need, err));
        uint32_t *kept = ARENA_ARRAY(opt->arena, uint32_t, project->ncols, err);
        NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, project->ncols, err);
        TRY_PTR(kept);
        TRY_PTR(exprs);
        TRY(keep_cols(opt, project, need, kept, err));
        for (uint32_t i = 0; i < project->ncols; i++) exprs[i] = project->project.exprs[kept[i]];
        project->project.exprs = exprs;
    }
    TRY(colset_used(opt, &below, project, err));
    TRY(prune(opt, &project->inputs[0], &below, false, err));
    if (!project_is_trivial(project, exact)) return TCUDB_OK;
    Plan *input = project->inputs[0];
    if (plan_passes(input)) { /* names and order are the projection's */
        input->cols = project->cols;
        input->ncols = project->ncols;
    } else {
        for (uint32_t i = 0; i < input->ncols; i++) input->cols[i].name = project->cols[i].name;
    }
    opt->changed = true;
    *slot = input;
    return TCUDB_OK;
}

static tcudb_status prune_aggregate(Opt *opt, Plan *agg, const ColSet *need, bool exact, Error *err)
{
    uint32_t n = 0;
    PlanCol *cols = ARENA_ARRAY(opt->arena, PlanCol, agg->ncols, err);
    AggCall *aggs = ARENA_ARRAY(opt->arena, AggCall, agg->agg.naggs, err);
    TRY_PTR(cols);
    TRY_PTR(aggs);
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) cols[i] = agg->cols[i];
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        if (!exact && !colset_has(need, agg->agg.aggs[i].col.id)) continue;
        cols[agg->agg.ngroups + n] = agg->cols[agg->agg.ngroups + i];
        aggs[n++] = agg->agg.aggs[i];
    }
    if (n < agg->agg.naggs) opt->changed = true;
    agg->agg.aggs = aggs;
    agg->agg.naggs = n;
    agg->cols = cols;
    agg->ncols = agg->agg.ngroups + n;
    ColSet below = {0};
    TRY(colset_used(opt, &below, agg, err));
    return prune(opt, &agg->inputs[0], &below, false, err);
}

/* What the node passes on and what its own expressions use. */
static tcudb_status below_needs(Opt *opt, Plan *plan, const ColSet *need, bool exact, ColSet *below, Error *err)
{
    if (exact) TRY(colset_outputs(opt, below, plan, err));
    TRY(colset_union(opt, below, need, err));
    return colset_used(opt, below, plan, err);
}

static bool needs_right(const Plan *join, const ColSet *need)
{
    for (uint32_t i = 0; i < join->inputs[1]->ncols; i++)
        if (colset_has(need, join->inputs[1]->cols[i].id)) return true;
    return false;
}

/* Whether the join adds nothing that is needed above and keeps every left row once. */
static bool join_is_idle(Opt *opt, const Plan *join, const ColSet *need)
{
    if (join->join.kind == JOIN_MARK) return !colset_has(need, join->join.mark.id);
    return join->join.kind == JOIN_LEFT && !needs_right(join, need) && plan_joins_once(opt, join, 1);
}

/* An inner join that only filters: its right side adds no column and meets each left row at most once. */
static void inner_to_semi(Opt *opt, Plan *join, const ColSet *need)
{
    if (join->join.kind != JOIN_INNER || join->join.nconds == 0 || needs_right(join, need)) return;
    if (!plan_joins_once(opt, join, 1)) return;
    join->join.kind = JOIN_SEMI;
    opt->changed = true;
}

static tcudb_status prune_join(Opt *opt, Plan **slot, const ColSet *need, bool exact, Error *err)
{
    Plan *join = *slot;
    if (!exact && join_is_idle(opt, join, need)) {
        opt->changed = true;
        *slot = join->inputs[0];
        return prune(opt, slot, need, false, err);
    }
    ColSet below = {0};
    if (!exact) inner_to_semi(opt, join, need);
    TRY(below_needs(opt, join, need, exact, &below, err));
    for (uint32_t i = 0; i < join->join.nsemi; i++) TRY(colset_add(opt, &below, join->join.semi[i].key, err));
    TRY(prune(opt, &join->inputs[0], &below, false, err));
    return prune(opt, &join->inputs[1], &below, false, err);
}

/* The right side of an apply: a scalar's value is its first column; EXISTS needs rows only. */
static tcudb_status prune_apply(Opt *opt, Plan **slot, const ColSet *need, bool exact, Error *err)
{
    Plan *apply = *slot;
    bool lateral = apply->apply.kind == APPLY_CROSS || apply->apply.kind == APPLY_LEFT;
    if (!lateral && !exact && !colset_has(need, apply->apply.result.id)) {
        opt->changed = true;
        *slot = apply->inputs[0];
        return prune(opt, slot, need, false, err);
    }
    ColSet left = {0}, right = {0};
    TRY(below_needs(opt, apply, need, exact, &left, err));
    if (lateral) TRY(colset_union(opt, &right, &left, err));
    TRY(colset_used(opt, &right, apply, err));
    if (apply->apply.kind == APPLY_SCALAR) TRY(colset_add(opt, &right, apply->inputs[1]->cols[0].id, err));
    TRY(prune(opt, &apply->inputs[1], &right, false, err));
    ColId *outer = NULL;
    uint32_t n = 0;
    TRY(plan_free_cols(opt->arena, apply->inputs[1], &outer, &n, err));
    for (uint32_t i = 0; i < n; i++) TRY(colset_add(opt, &left, outer[i], err));
    return prune(opt, &apply->inputs[0], &left, false, err);
}

static tcudb_status prune_exact_inputs(Opt *opt, Plan *plan, Error *err)
{
    ColSet none = {0};
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(prune(opt, &plan->inputs[i], &none, true, err));
    return TCUDB_OK;
}

/* UNION ALL keeps positions: an output that nobody needs goes with the columns it comes from. */
static tcudb_status prune_union_all(Opt *opt, Plan *plan, const ColSet *need, Error *err)
{
    uint32_t *kept = ARENA_ARRAY(opt->arena, uint32_t, plan->ncols, err);
    TRY_PTR(kept);
    TRY(keep_cols(opt, plan, need, kept, err));
    for (uint32_t i = 0; i < 2; i++) {
        NamedExpr *exprs = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols, err);
        ColSet none = {0};
        TRY_PTR(exprs);
        for (uint32_t k = 0; k < plan->ncols; k++) {
            exprs[k].col = plan->inputs[i]->cols[kept[k]];
            exprs[k].expr = expr_of_col(opt, &exprs[k].col, err);
            TRY_PTR(exprs[k].expr);
        }
        TRY(plan_project(opt->arena, plan->inputs[i], exprs, plan->ncols, &plan->inputs[i], err));
        TRY(prune(opt, &plan->inputs[i], &none, true, err));
    }
    return TCUDB_OK;
}

static void rename_value(Plan *plan, uint32_t side, uint32_t from, uint32_t to)
{
    for (uint32_t o = 0; o < plan->contract.nouts; o++) {
        ContractOut *out = &plan->contract.outs[o];
        for (uint32_t t = 0; t <= out->nterms; t++) {
            ContractTerm *term = t < out->nterms ? &out->terms[t] : &out->nonnull;
            uint32_t *index = side == 0 ? &term->left : &term->right;
            if (*index == from) *index = to;
        }
    }
}

static bool value_used(const Plan *plan, uint32_t side, uint32_t value)
{
    for (uint32_t o = 0; o < plan->contract.nouts; o++) {
        const ContractOut *out = &plan->contract.outs[o];
        for (uint32_t t = 0; t < out->nterms + out->nullable; t++) {
            const ContractTerm *term = t < out->nterms ? &out->terms[t] : &out->nonnull;
            if ((side == 0 ? term->left : term->right) == value) return true;
        }
    }
    return false;
}

/* Leaves out the values of a side that no term names. */
static void prune_factors(Plan *plan, uint32_t side)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < plan->contract.nvalues[side]; v++) {
        if (!value_used(plan, side, v)) continue;
        rename_value(plan, side, v, n);
        plan->contract.values[side][n++] = plan->contract.values[side][v];
    }
    plan->contract.nvalues[side] = n;
}

/* A contraction still groups by what nobody reads, but does not put it out; sums that nobody reads are not made. */
static tcudb_status prune_contract(Opt *opt, Plan *plan, const ColSet *need, bool exact, Error *err)
{
    ColSet below = {0};
    uint32_t n = 0;
    if (!exact) {
        TRY(keep_cols(opt, plan, need, NULL, err));
        for (uint32_t i = 0; i < plan->contract.nouts; i++)
            if (colset_has(need, plan->contract.outs[i].col.id) || plan->contract.outs[i].bounded)
                plan->contract.outs[n++] = plan->contract.outs[i];
        plan->contract.nouts = n;
        for (uint32_t side = 0; side < 2; side++) prune_factors(plan, side);
    }
    TRY(colset_used(opt, &below, plan, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(prune(opt, &plan->inputs[i], &below, false, err));
    return TCUDB_OK;
}

/* Calls that nobody reads are not made, and a window without calls goes; its outputs stay its input's and the calls'.
 */
static tcudb_status prune_window(Opt *opt, Plan **slot, const ColSet *need, bool exact, Error *err)
{
    Plan *plan = *slot, *input = plan->inputs[0];
    ColSet below = {0};
    uint32_t n = 0;
    if (exact) return prune_exact_inputs(opt, plan, err);
    for (uint32_t i = 0; i < plan->window.ncalls; i++)
        if (colset_has(need, plan->window.calls[i].col.id)) plan->window.calls[n++] = plan->window.calls[i];
    opt->changed |= n < plan->window.ncalls;
    plan->window.ncalls = n;
    if (n == 0) {
        *slot = input;
        return prune(opt, slot, need, false, err);
    }
    for (uint32_t i = 0; i < input->ncols; i++)
        if (colset_has(need, input->cols[i].id)) TRY(colset_add(opt, &below, input->cols[i].id, err));
    TRY(colset_used(opt, &below, plan, err));
    TRY(prune(opt, &plan->inputs[0], &below, false, err));
    input = plan->inputs[0];
    plan->cols = ARENA_ARRAY(opt->arena, PlanCol, input->ncols + n, err);
    TRY_PTR(plan->cols);
    if (input->ncols > 0) memcpy(plan->cols, input->cols, input->ncols * sizeof *plan->cols);
    for (uint32_t i = 0; i < n; i++) plan->cols[input->ncols + i] = plan->window.calls[i].col;
    plan->ncols = input->ncols + n;
    return TCUDB_OK;
}

static tcudb_status prune_node(Opt *opt, Plan **slot, const ColSet *need, bool exact, Error *err)
{
    Plan *plan = *slot;
    ColSet below = {0};
    switch (plan->kind) {
    case PLAN_SCAN: return exact ? TCUDB_OK : prune_scan(opt, plan, need, err);
    case PLAN_FUNC_SCAN: return exact ? TCUDB_OK : prune_func_scan(opt, plan, need, err);
    case PLAN_VALUES: return exact ? TCUDB_OK : prune_values(opt, plan, need, err);
    case PLAN_PROJECT: return prune_project(opt, slot, need, exact, err);
    case PLAN_AGGREGATE: return prune_aggregate(opt, plan, need, exact, err);
    case PLAN_JOIN: return prune_join(opt, slot, need, exact, err);
    case PLAN_APPLY: return prune_apply(opt, slot, need, exact, err);
    case PLAN_SET_OP:
        if (plan->set_op.kind == SET_UNION && plan->set_op.all && !exact) return prune_union_all(opt, plan, need, err);
        return prune_exact_inputs(opt, plan, err);
    case PLAN_CONTRACT: return prune_contract(opt, plan, need, exact, err);
    case PLAN_WINDOW: return prune_window(opt, slot, need, exact, err);
    case PLAN_CTE_SCAN: return cte_need(opt, plan, need, exact, err);
    case PLAN_FILTER:
    case PLAN_SORT:
    case PLAN_LIMIT:
        TRY(below_needs(opt, plan, need, exact, &below, err));
        return prune(opt, &plan->inputs[0], &below, false, err);
    default: return prune_exact_inputs(opt, plan, err);
    }
}

/* exact: *slot must keep its outputs as they are; else it keeps those in need. */
static tcudb_status prune(Opt *opt, Plan **slot, const ColSet *need, bool exact, Error *err)
{
    Plan *before = *slot;
    if (!exact && plan_passes(before)) TRY(keep_cols(opt, before, need, NULL, err));
    TRY(prune_node(opt, slot, need, exact, err));
    assert(!exact || (*slot)->ncols == before->ncols);
    return TCUDB_OK;
}

tcudb_status prune_below(Opt *opt, Plan **slot, Error *err)
{
    ColSet none = {0};
    return prune(opt, slot, &none, true, err);
}

/* The statement first: only then is it known what the CTEs are asked for. */
tcudb_status rule_prune(Opt *opt, Plan **root, Error *err)
{
    if (root != &opt->statement) return TCUDB_OK;
    opt->cte_needs = NULL;
    TRY(prune_below(opt, root, err));
    return cte_prune(opt, err);
}
