/*
 * notnull.c: proofs that a column or an expression is never NULL in a plan's output.
 *
 * From the scan up: exact NULL counts and NOT NULL declarations, conditions that are not true for NULL,
 * joins that pad. What is not proven counts as nullable. Statistics are the snapshot's, so the proof is
 * as good as the plan. Cost: a walk down to the column's scan.
 */
#include "opt/opt_int.h"

#include <assert.h>

static bool conds_reject(Opt *opt, Expr *const *conds, uint32_t n, ColId id)
{
    ColSet nulls = {0};
    if (colset_add(opt, &nulls, id, NULL) != TCUDB_OK) return false;
    for (uint32_t i = 0; i < n; i++)
        if (expr_rejects_nulls(conds[i], &nulls)) return true;
    return false;
}

static bool scan_not_null(Opt *opt, const Plan *scan, ColId id)
{
    for (uint32_t i = 0; i < scan->ncols; i++) {
        if (scan->cols[i].id != id) continue;
        uint32_t col = scan->scan.columns[i];
        if (col == ROWID_COLUMN || table_def(scan->scan.table)->cols[col].not_null) return true;
        ColumnStats stats;
        if (catalog_stats(scan->scan.table, col, &stats, NULL) == TCUDB_OK && stats.nulls == 0) return true;
        return conds_reject(opt, scan->scan.filters, scan->scan.nfilters, id);
    }
    return false;
}

static bool join_not_null(Opt *opt, const Plan *join, ColId id)
{
    JoinKind kind = join->join.kind;
    if (kind == JOIN_MARK && id == join->join.mark.id) return !join->join.mark_null;
    bool on_left = plan_find_col(join->inputs[0], id) != NULL;
    bool pads_left = kind == JOIN_RIGHT || kind == JOIN_FULL;
    bool pads_right = kind == JOIN_LEFT || kind == JOIN_FULL || kind == JOIN_SINGLE;
    if (on_left ? pads_left : pads_right) return false;
    bool must_hold = kind == JOIN_INNER || kind == JOIN_SEMI || kind == JOIN_RIGHT_SEMI;
    if (must_hold && conds_reject(opt, join->join.conds, join->join.nconds, id)) return true;
    return col_not_null(opt, join->inputs[on_left ? 0 : 1], id);
}

static bool apply_not_null(Opt *opt, const Plan *apply, ColId id)
{
    if (id == apply->apply.result.id) return apply->apply.kind == APPLY_EXISTS;
    if (plan_find_col(apply->inputs[0], id) != NULL) return col_not_null(opt, apply->inputs[0], id);
    return apply->apply.kind == APPLY_CROSS && col_not_null(opt, apply->inputs[1], id);
}

static bool agg_not_null(Opt *opt, const Plan *agg, ColId id)
{
    for (uint32_t i = 0; i < agg->agg.ngroups; i++)
        if (agg->agg.groups[i].col.id == id) return expr_not_null(opt, agg->inputs[0], NULL, agg->agg.groups[i].expr);
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        const AggCall *call = &agg->agg.aggs[i];
        if (call->col.id != id) continue;
        if (call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR) return true;
        bool plain = call->kind == AGG_SUM || call->kind == AGG_MIN || call->kind == AGG_MAX || call->kind == AGG_AVG ||
                     call->kind == AGG_ANY;
        return plain && agg->agg.ngroups > 0 && call->filter == NULL &&
               expr_not_null(opt, agg->inputs[0], NULL, call->args[0]);
    }
    return false;
}

static bool set_op_not_null(Opt *opt, const Plan *plan, ColId id)
{
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (plan->cols[i].id != id) continue;
        bool left = col_not_null(opt, plan->inputs[0], plan->inputs[0]->cols[i].id);
        if (plan->set_op.kind == SET_EXCEPT) return left;
        bool right = col_not_null(opt, plan->inputs[1], plan->inputs[1]->cols[i].id);
        return plan->set_op.kind == SET_UNION ? left && right : left || right;
    }
    return false;
}

static bool values_not_null(const Plan *values, ColId id)
{
    for (uint32_t i = 0; i < values->ncols; i++) {
        if (values->cols[i].id != id) continue;
        for (uint64_t row = 0; row < values->values.nrows; row++) {
            const Expr *e = values->values.rows_exprs[row * values->ncols + i];
            if (e->kind != EXPR_CONST || e->value.null) return false;
        }
        return true;
    }
    return false;
}

static bool project_not_null(Opt *opt, const Plan *project, ColId id)
{
    for (uint32_t i = 0; i < project->ncols; i++)
        if (project->cols[i].id == id)
            return expr_not_null(opt, project->inputs[0], NULL, project->project.exprs[i].expr);
    return false;
}

bool col_not_null(Opt *opt, const Plan *plan, ColId id)
{
    switch (plan->kind) {
    case PLAN_SCAN: return scan_not_null(opt, plan, id);
    case PLAN_VALUES: return values_not_null(plan, id);
    case PLAN_FILTER:
        return conds_reject(opt, plan->filter.conds, plan->filter.nconds, id) || col_not_null(opt, plan->inputs[0], id);
    case PLAN_PROJECT: return project_not_null(opt, plan, id);
    case PLAN_JOIN: return join_not_null(opt, plan, id);
    case PLAN_APPLY: return apply_not_null(opt, plan, id);
    case PLAN_AGGREGATE: return agg_not_null(opt, plan, id);
    case PLAN_SET_OP: return set_op_not_null(opt, plan, id);
    case PLAN_DISTINCT:
    case PLAN_SORT:
    case PLAN_LIMIT: return col_not_null(opt, plan->inputs[0], id);
    default: return false;
    }
}

/* Strict functions that never make a NULL of their own. */
static bool keeps_not_null(const Expr *e)
{
    static const char *const names[] = {"+", "-", "*", "/", "%", "not", "||", "~~", "!~~"};
    if ((e->func->flags & FUNC_STRICT) == 0) return false;
    if (e->func->kind == FUNC_CAST || (e->func->flags & FUNC_COMPARISON) != 0) return true;
    for (size_t i = 0; e->func->kind == FUNC_OPERATOR && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(e->func->name, names[i]) == 0) return true;
    return false;
}

static bool all_args(Opt *opt, const Plan *a, const Plan *b, const Expr *e, uint32_t from, uint32_t step)
{
    for (uint32_t i = from; i < e->nargs; i += step)
        if (!expr_not_null(opt, a, b, e->args[i])) return false;
    return true;
}

bool expr_not_null(Opt *opt, const Plan *a, const Plan *b, const Expr *e)
{
    switch (e->kind) {
    case EXPR_CONST: return !e->value.null;
    case EXPR_COL:
        if (plan_find_col(a, e->col) != NULL) return col_not_null(opt, a, e->col);
        return b != NULL && plan_find_col(b, e->col) != NULL && col_not_null(opt, b, e->col);
    case EXPR_FUNC:
        if (e->func->kind == FUNC_OPERATOR && strncmp(e->func->name, "is ", 3) == 0) return true;
        return keeps_not_null(e) && all_args(opt, a, b, e, 0, 1);
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_IN: return all_args(opt, a, b, e, 0, 1);
    case EXPR_CASE:
        assert(e->nargs % 2 == 1);
        return all_args(opt, a, b, e, 1, 2) && expr_not_null(opt, a, b, e->args[e->nargs - 1]);
    case EXPR_COALESCE:
        for (uint32_t i = 0; i < e->nargs; i++)
            if (expr_not_null(opt, a, b, e->args[i])) return true;
        return false;
    default: return false;
    }
}
