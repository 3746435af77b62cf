/*
 * keys.c: proofs that columns identify rows, and that columns determine each other.
 *
 * Keys: a set of columns is unique in a plan's output if no two rows agree on all of them without NULLs
 * among them (agree in the sense of =). From the scan up: a declared key; a column whose values the store has proven
 * distinct; groups of an aggregate; the first row of each partition of a window; joins that match each row at most
 * once. Dependencies: within one scan a unique column without NULLs determines all others; an equality of an inner join
 * makes its sides determine each other. Both are one-sided: "no" means not proven.
 */
#include "opt/opt_int.h"

#include <assert.h>

/* Rows per value of the join's other side: whether the equalities of the join bind a key of `side`. */
static bool joins_by_key(Opt *opt, const Plan *join, uint32_t side, const ColSet *also)
{
    const Plan *keyed = join->inputs[side];
    ColSet bound = {0};
    if (also != NULL && colset_union(opt, &bound, also, NULL) != TCUDB_OK) return false;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e)) continue;
        for (uint32_t k = 0; k < 2; k++) {
            const Expr *own = e->args[k], *other = e->args[1 - k];
            bool binds = own->kind == EXPR_COL && plan_find_col(keyed, own->col) != NULL && !expr_touches(other, keyed);
            if (binds && colset_add(opt, &bound, own->col, NULL) != TCUDB_OK) return false;
        }
    }
    return plan_unique_on(opt, keyed, &bound);
}

bool plan_joins_once(Opt *opt, const Plan *join, uint32_t side)
{
    return plan_max_rows(join->inputs[side]) <= 1 || joins_by_key(opt, join, side, NULL);
}

/* Whether all columns of a declared key are in the set (proven not NULL, if asked for). */
static bool scan_has_key(Opt *opt, const Plan *scan, const KeyDef *key, const ColSet *cols, bool not_null)
{
    for (uint32_t k = 0; k < key->ncols; k++) {
        bool found = false;
        for (uint32_t i = 0; i < scan->ncols && !found; i++) {
            ColId id = scan->cols[i].id;
            found = scan->scan.columns[i] == key->cols[k] && colset_has(cols, id);
            found = found && (!not_null || col_not_null(opt, scan, id));
        }
        if (!found) return false;
    }
    return key->ncols > 0;
}

static bool scan_unique(Opt *opt, const Plan *scan, const ColSet *cols, bool not_null)
{
    const TableDef *def = table_def(scan->scan.table);
    for (uint32_t k = 0; k < def->nkeys; k++)
        if (scan_has_key(opt, scan, &def->keys[k], cols, not_null)) return true;
    for (uint32_t i = 0; i < scan->ncols; i++) {
        if (!colset_has(cols, scan->cols[i].id)) continue;
        if (scan->scan.columns[i] == ROWID_COLUMN) return true;
        ColumnStats stats;
        if (catalog_stats(scan->scan.table, scan->scan.columns[i], &stats, NULL) == TCUDB_OK && stats.unique)
            return true;
    }
    return false;
}

static bool agg_unique(const Plan *agg, const ColSet *cols)
{
    for (uint32_t i = 0; i < agg->agg.ngroups; i++)
        if (!colset_has(cols, agg->agg.groups[i].col.id)) return false;
    return true;
}

static bool join_unique(Opt *opt, const Plan *join, const ColSet *cols)
{
    const Plan *left = join->inputs[0], *right = join->inputs[1];
    JoinKind kind = join->join.kind;
    if (join_left_only(kind) || kind == JOIN_SINGLE) return plan_unique_on(opt, left, cols);
    if (kind == JOIN_RIGHT_SEMI || kind == JOIN_RIGHT_ANTI) return plan_unique_on(opt, right, cols);
    if (kind == JOIN_FULL) return false;
    /* A key of both sides; or a key of one side whose rows the other side meets at most once. */
    if (plan_unique_on(opt, left, cols) && (plan_joins_once(opt, join, 1) || plan_unique_on(opt, right, cols)))
        return kind != JOIN_RIGHT;
    return kind != JOIN_LEFT && plan_unique_on(opt, right, cols) && plan_joins_once(opt, join, 0);
}

/* Columns of the projection in terms of its input. */
static bool project_unique(Opt *opt, const Plan *project, const ColSet *cols)
{
    ColSet below = {0};
    for (uint32_t i = 0; i < project->ncols; i++) {
        const Expr *e = project->project.exprs[i].expr;
        if (e->kind == EXPR_COL && colset_has(cols, project->cols[i].id))
            if (colset_add(opt, &below, e->col, NULL) != TCUDB_OK) return false;
    }
    return plan_unique_on(opt, project->inputs[0], &below);
}

int64_t plan_numbered(const Plan *filter, const Plan **window)
{
    const Plan *below = filter->kind == PLAN_FILTER ? filter->inputs[0] : filter;
    if (below == filter || below->kind != PLAN_WINDOW) return INT64_MAX;
    *window = below;
    for (uint32_t i = 0; i < filter->filter.nconds; i++) {
        const Expr *e = filter->filter.conds[i];
        FuncCompare compare = expr_compare(e);
        bool most = compare == CMP_LE || compare == CMP_LT || compare == CMP_EQ;
        if (!most || e->args[0]->kind != EXPR_COL || e->args[1]->kind != EXPR_CONST || e->args[1]->value.null) continue;
        if (e->args[1]->type.id != TYPE_INT8) continue;
        for (uint32_t c = 0; c < below->window.ncalls; c++) {
            const WindowCall *call = &below->window.calls[c];
            if (call->func != WINDOW_ROW_NUMBER || call->col.id != e->args[0]->col) continue;
            return compare == CMP_EQ ? 1 : e->args[1]->value.i64 - (compare == CMP_LT);
        }
    }
    return INT64_MAX;
}

/* One row a partition is kept. */
static bool numbered_unique(const Plan *filter, const ColSet *cols)
{
    const Plan *window = NULL;
    if (plan_numbered(filter, &window) > 1) return false;
    for (uint32_t i = 0; i < window->window.npartition; i++) {
        const Expr *e = window->window.partition[i];
        if (e->kind != EXPR_COL || !colset_has(cols, e->col)) return false;
    }
    return true;
}

bool plan_unique_on(Opt *opt, const Plan *plan, const ColSet *cols)
{
    if (plan_max_rows(plan) <= 1) return true;
    switch (plan->kind) {
    case PLAN_SCAN: return scan_unique(opt, plan, cols, false);
    case PLAN_AGGREGATE: return agg_unique(plan, cols);
    case PLAN_JOIN: return join_unique(opt, plan, cols);
    case PLAN_PROJECT: return project_unique(opt, plan, cols);
    case PLAN_FILTER: return numbered_unique(plan, cols) || plan_unique_on(opt, plan->inputs[0], cols);
    case PLAN_WINDOW:
    case PLAN_SORT:
    case PLAN_LIMIT: return plan_unique_on(opt, plan->inputs[0], cols);
    case PLAN_DISTINCT: {
        bool all = true;
        for (uint32_t i = 0; i < plan->ncols; i++) all &= colset_has(cols, plan->cols[i].id);
        return (all && plan->distinct.non == 0) || plan_unique_on(opt, plan->inputs[0], cols);
    }
    default: return false;
    }
}

/* ---- dependencies ------------------------------------------------------------------------------ */

static tcudb_status scan_dependencies(Opt *opt, const Plan *scan, ColSet *set, bool *grew, Error *err)
{
    bool keyed = scan_unique(opt, scan, set, true);
    for (uint32_t i = 0; i < scan->ncols && keyed; i++) {
        if (colset_has(set, scan->cols[i].id)) continue;
        TRY(colset_add(opt, set, scan->cols[i].id, err));
        *grew = true;
    }
    return TCUDB_OK;
}

static tcudb_status equality_dependencies(Opt *opt, const Plan *join, ColSet *set, bool *grew, Error *err)
{
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e) || e->args[0]->kind != EXPR_COL || e->args[1]->kind != EXPR_COL) continue;
        for (uint32_t k = 0; k < 2; k++) {
            if (!colset_has(set, e->args[k]->col) || colset_has(set, e->args[1 - k]->col)) continue;
            if (!equality_is_identity(e->args[0]->type)) continue;
            TRY(colset_add(opt, set, e->args[1 - k]->col, err));
            *grew = true;
        }
    }
    return TCUDB_OK;
}

/* Equal values look the same: not so for 1.0 and 1.00, -0 and 0, chars of no length. */
bool equality_is_identity(Type type)
{
    switch (type.id) {
    case TYPE_BOOL:
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_DATE:
    case TYPE_TIMESTAMP:
    case TYPE_TEXT:
    case TYPE_VARCHAR: return true;
    case TYPE_BPCHAR: return !type_keeps_blanks(type);
    case TYPE_NUMERIC: return type.precision != 0;
    default: return false;
    }
}

static bool identity_node(void *ctx, const Expr *e)
{
    (void)ctx;
    return e->kind != EXPR_COL || equality_is_identity(e->type);
}

bool expr_respects_equality(const Expr *e)
{
    return expr_safe(e) || expr_walk(e, identity_node, NULL);
}

static tcudb_status dependencies(Opt *opt, const Plan *plan, ColSet *set, bool *grew, Error *err)
{
    switch (plan->kind) {
    case PLAN_SCAN: return scan_dependencies(opt, plan, set, grew, err);
    case PLAN_JOIN:
        if (plan->join.kind == JOIN_INNER) {
            TRY(equality_dependencies(opt, plan, set, grew, err));
            TRY(dependencies(opt, plan->inputs[1], set, grew, err));
        }
        if (plan->join.kind == JOIN_RIGHT || plan->join.kind == JOIN_FULL) return TCUDB_OK;
        return dependencies(opt, plan->inputs[0], set, grew, err);
    case PLAN_FILTER:
    case PLAN_SORT:
    case PLAN_LIMIT: return dependencies(opt, plan->inputs[0], set, grew, err);
    default: return TCUDB_OK;
    }
}

tcudb_status plan_determined(Opt *opt, const Plan *plan, ColSet *set, Error *err)
{
    bool grew = true;
    while (grew) {
        grew = false;
        TRY(dependencies(opt, plan, set, &grew, err));
    }
    assert(set->words != NULL || set->nwords == 0);
    return TCUDB_OK;
}
