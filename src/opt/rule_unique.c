/*
 * rule_unique.c: what proven keys make unnecessary.
 *
 * Pattern and rewrite:
 *     DISTINCT over columns that hold a key without NULLs          its input
 *     a group column that the other group columns determine        an ANY aggregate
 *     a single join whose right side meets each left row once      a left join
 *     count(*) of a whole table; count(x) where x is never NULL    the number of rows; count(*)
 * Right because: keys.c proves uniqueness and dependencies from the snapshot's exact facts; rows of a group
 * that agree on what determines a column agree on the column, and the types are those whose equal values
 * look the same. The number of live rows is exact in the snapshot.
 * Loses never.
 */
#include "opt/opt_int.h"

#include <assert.h>

/* ---- DISTINCT ---------------------------------------------------------------------------------- */

static tcudb_status drop_distinct(Opt *opt, Plan **slot, Error *err)
{
    Plan *distinct = *slot, *input = distinct->inputs[0];
    ColSet cols = {0};
    if (distinct->distinct.non > 0) return TCUDB_OK;
    for (uint32_t i = 0; i < distinct->ncols; i++)
        if (col_not_null(opt, input, distinct->cols[i].id)) TRY(colset_add(opt, &cols, distinct->cols[i].id, err));
    if (!plan_unique_on(opt, input, &cols)) return TCUDB_OK;
    opt->changed = true;
    *slot = input;
    return plan_restore_cols(opt, slot, distinct->cols, distinct->ncols, err);
}

/* ---- group columns ------------------------------------------------------------------------------ */

/* Whether the group columns other than `without` (and than those already dropped) determine it. */
static tcudb_status is_determined(Opt *opt, const Plan *agg, const bool *dropped, uint32_t without, bool *out,
                                  Error *err)
{
    ColSet set = {0};
    const Expr *e = agg->agg.groups[without].expr;
    *out = false;
    if (e->kind != EXPR_COL) return TCUDB_OK;
    for (uint32_t i = 0; i < agg->agg.ngroups; i++) {
        const Expr *other = agg->agg.groups[i].expr;
        if (i != without && !dropped[i] && other->kind == EXPR_COL) TRY(colset_add(opt, &set, other->col, err));
    }
    TRY(plan_determined(opt, agg->inputs[0], &set, err));
    *out = colset_has(&set, e->col);
    return TCUDB_OK;
}

static tcudb_status make_any(Opt *opt, Plan *agg, const bool *dropped, uint32_t ndropped, Error *err)
{
    uint32_t n = agg->agg.ngroups, kept = 0, naggs = agg->agg.naggs;
    NamedExpr *groups = ARENA_ARRAY(opt->arena, NamedExpr, n - ndropped, err);
    AggCall *aggs = ARENA_ARRAY(opt->arena, AggCall, naggs + ndropped, err);
    PlanCol *cols = ARENA_ARRAY(opt->arena, PlanCol, agg->ncols, err);
    TRY_PTR(groups);
    TRY_PTR(aggs);
    TRY_PTR(cols);
    if (naggs > 0) memcpy(aggs, agg->agg.aggs, naggs * sizeof *aggs);
    for (uint32_t i = 0; i < n; i++) {
        const NamedExpr *g = &agg->agg.groups[i];
        if (!dropped[i])
            groups[kept++] = *g;
        else
            aggs[naggs++] = (AggCall){.col = g->col, .kind = AGG_ANY, .nargs = 1, .args = {g->expr}};
    }
    for (uint32_t i = 0; i < kept; i++) cols[i] = groups[i].col;
    for (uint32_t i = 0; i < naggs; i++) cols[kept + i] = aggs[i].col;
    agg->agg.groups = groups;
    agg->agg.ngroups = kept;
    agg->agg.aggs = aggs;
    agg->agg.naggs = naggs;
    agg->cols = cols;
    return TCUDB_OK;
}

/* Last columns first, so that the first of two that determine each other stays the key. */
static tcudb_status drop_groups(Opt *opt, Plan **slot, Error *err)
{
    Plan *agg = *slot;
    uint32_t n = agg->agg.ngroups, ndropped = 0;
    if (n < 2) return TCUDB_OK;
    bool *dropped = ARENA_ARRAY(opt->arena, bool, n, err);
    TRY_PTR(dropped);
    for (int numbers = 0; numbers < 2; numbers++) { /* text goes before numbers: numbers are the better keys */
        for (uint32_t i = n; i-- > 0 && ndropped + 1 < n;) {
            bool determined;
            if (dropped[i] || (numbers == 0 && !type_is_text(agg->agg.groups[i].col.type))) continue;
            TRY(is_determined(opt, agg, dropped, i, &determined, err));
            dropped[i] = determined;
            ndropped += determined;
        }
    }
    if (ndropped == 0) return TCUDB_OK;
    PlanCol *cols = ARENA_ARRAY(opt->arena, PlanCol, agg->ncols, err);
    TRY_PTR(cols);
    memcpy(cols, agg->cols, agg->ncols * sizeof *cols);
    uint32_t ncols = agg->ncols;
    TRY(make_any(opt, agg, dropped, ndropped, err));
    opt->changed = true;
    return plan_restore_cols(opt, slot, cols, ncols, err);
}

/* ---- counts -------------------------------------------------------------------------------------- */

static void count_all(Opt *opt, Plan *agg)
{
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        AggCall *call = &agg->agg.aggs[i];
        bool plain = call->kind == AGG_COUNT && !call->distinct && call->nargs == 1;
        if (!plain || expr_volatile(call->args[0]) || !expr_safe(call->args[0])) continue;
        if (!expr_not_null(opt, agg->inputs[0], NULL, call->args[0])) continue;
        call->kind = AGG_COUNT_STAR;
        call->nargs = 0;
        opt->changed = true;
    }
}

/* count(*) of a whole table is in its metadata. */
static tcudb_status count_from_metadata(Opt *opt, Plan **slot, Error *err)
{
    Plan *agg = *slot, *input = agg->inputs[0];
    while (input->kind == PLAN_PROJECT) input = input->inputs[0];
    bool whole = input->kind == PLAN_SCAN && input->scan.nfilters == 0 && input->scan.nsemi == 0;
    if (!whole || agg->agg.ngroups > 0 || agg->agg.naggs == 0) return TCUDB_OK;
    for (uint32_t i = 0; i < agg->agg.naggs; i++)
        if (agg->agg.aggs[i].kind != AGG_COUNT_STAR || agg->agg.aggs[i].filter != NULL) return TCUDB_OK;
    Plan *values = plan_new(opt->arena, PLAN_VALUES, 0, agg->ncols, err);
    TRY_PTR(values);
    values->values.nrows = 1;
    values->values.rows_exprs = ARENA_ARRAY(opt->arena, Expr *, agg->ncols, err);
    TRY_PTR(values->values.rows_exprs);
    for (uint32_t i = 0; i < agg->ncols; i++) {
        Value count = {.type = agg->cols[i].type, .i64 = (int64_t)table_rows(input->scan.table)};
        assert(type_phys(count.type) == PHYS_I64);
        values->cols[i] = agg->cols[i];
        values->values.rows_exprs[i] = expr_const(opt->arena, &count, 0, err);
        TRY_PTR(values->values.rows_exprs[i]);
    }
    opt->changed = true;
    *slot = values;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind == PLAN_DISTINCT) return drop_distinct(opt, slot, err);
    if (plan->kind == PLAN_JOIN && plan->join.kind == JOIN_SINGLE && plan_joins_once(opt, plan, 1)) {
        plan->join.kind = JOIN_LEFT;
        opt->changed = true;
    }
    if (plan->kind != PLAN_AGGREGATE) return TCUDB_OK;
    count_all(opt, plan);
    TRY(drop_groups(opt, slot, err));
    return *slot == plan ? count_from_metadata(opt, slot, err) : TCUDB_OK;
}

tcudb_status rule_unique(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
