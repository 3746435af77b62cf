/*
 * rule_semi.c: bitmaps of join keys, tested where the other side is scanned; the bound of a top-N likewise.
 *
 * Pattern: a join that drops left rows without a partner (inner, semi, right, right semi, right anti) on an equality of
 * two plain columns, whose right (build) side holds only part of the key's values, and whose left column comes
 * unchanged from a scan.
 * Rewrite: pairs the join with the scan by a number; exec fills a bitmap of the right keys before the left
 * side starts and the scan drops rows whose key is not in it.
 * Right because: a row whose key no right row has matches nothing, and dropping it early changes nothing
 * on the way: the way leads through filters, projections that pass the column, the sides of joins that
 * do not pad with it, group columns and partitions of windows (whole groups go), DISTINCT, UNION ALL; not through
 * LIMIT. Loses when: the bitmap drops few rows; a right side that is neither filtered nor smaller than the key's domain
 * gets none.
 */
#include "opt/opt_int.h"

#include <assert.h>

static const double WORTH = 0.8; /* the right side must lack this share of the key's values or more */

static bool key_type(Type type)
{
    switch (type.id) {
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_DATE:
    case TYPE_TEXT:
    case TYPE_VARCHAR: return true;
    default: return false;
    }
}

static tcudb_status add_filter(Opt *opt, Plan *scan, ColId col, uint32_t id, Error *err)
{
    SemiFilter *all = ARENA_ARRAY(opt->arena, SemiFilter, scan->scan.nsemi + 1, err);
    TRY_PTR(all);
    if (scan->scan.nsemi > 0) memcpy(all, scan->scan.semi, scan->scan.nsemi * sizeof *all);
    all[scan->scan.nsemi++] = (SemiFilter){.id = id, .col = col};
    scan->scan.semi = all;
    return TCUDB_OK;
}

static const Expr *defined_as(const NamedExpr *exprs, uint32_t n, ColId col)
{
    for (uint32_t i = 0; i < n; i++)
        if (exprs[i].col.id == col) return exprs[i].expr;
    return NULL;
}

static tcudb_status reach(Opt *opt, Plan *plan, ColId col, uint32_t id, bool *done, Error *err);

/* Rows of the join's other side whose key equals a dropped one match only dropped rows. */
static tcudb_status reach_partner(Opt *opt, Plan *join, uint32_t side, ColId col, uint32_t id, bool *done, Error *err)
{
    if (join->join.kind == JOIN_MARK && join->join.mark_null) return TCUDB_OK; /* NULLs on the right count */
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e) || e->args[0]->kind != EXPR_COL || e->args[1]->kind != EXPR_COL) continue;
        if (type_phys(e->args[0]->type) != type_phys(e->args[1]->type)) continue;
        for (uint32_t k = 0; k < 2; k++) {
            ColId other = e->args[1 - k]->col;
            bool partner = e->args[k]->col == col && plan_find_col(join->inputs[1 - side], other) != NULL;
            if (partner) TRY(reach(opt, join->inputs[1 - side], other, id, done, err));
        }
    }
    return TCUDB_OK;
}

static tcudb_status reach_join(Opt *opt, Plan *join, ColId col, uint32_t id, bool *done, Error *err)
{
    JoinKind kind = join->join.kind;
    uint32_t side = plan_find_col(join->inputs[0], col) != NULL ? 0 : 1;
    bool left_ok = kind != JOIN_RIGHT && kind != JOIN_FULL;
    bool right_ok = kind == JOIN_INNER || kind == JOIN_RIGHT || kind == JOIN_RIGHT_SEMI || kind == JOIN_RIGHT_ANTI;
    if (!(side == 0 ? left_ok : right_ok)) return TCUDB_OK;
    TRY(reach(opt, join->inputs[side], col, id, done, err));
    return reach_partner(opt, join, side, col, id, done, err);
}

static tcudb_status reach_union(Opt *opt, Plan *plan, ColId col, uint32_t id, bool *done, Error *err)
{
    if (plan->set_op.kind != SET_UNION || !plan->set_op.all) return TCUDB_OK;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (plan->cols[i].id != col) continue;
        for (uint32_t k = 0; k < 2; k++) TRY(reach(opt, plan->inputs[k], plan->inputs[k]->cols[i].id, id, done, err));
    }
    return TCUDB_OK;
}

static bool partitions_by(const Plan *window, ColId col)
{
    for (uint32_t i = 0; i < window->window.npartition; i++)
        if (window->window.partition[i]->kind == EXPR_COL && window->window.partition[i]->col == col) return true;
    return false;
}

/* Attaches the bitmap to the scan (scans, under UNION ALL) that the column comes from. */
static tcudb_status reach(Opt *opt, Plan *plan, ColId col, uint32_t id, bool *done, Error *err)
{
    const Expr *e = NULL;
    switch (plan->kind) {
    case PLAN_SCAN: *done = true; return add_filter(opt, plan, col, id, err);
    case PLAN_JOIN: return reach_join(opt, plan, col, id, done, err);
    case PLAN_SET_OP: return reach_union(opt, plan, col, id, done, err);
    case PLAN_PROJECT: e = defined_as(plan->project.exprs, plan->ncols, col); break;
    case PLAN_AGGREGATE: e = defined_as(plan->agg.groups, plan->agg.ngroups, col); break;
    case PLAN_DISTINCT:
        if (plan->distinct.non > 0) return TCUDB_OK;
        return reach(opt, plan->inputs[0], col, id, done, err);
    case PLAN_FILTER: return reach(opt, plan->inputs[0], col, id, done, err);
    case PLAN_WINDOW: /* whole partitions go */
        if (!partitions_by(plan, col)) return TCUDB_OK;
        return reach(opt, plan->inputs[0], col, id, done, err);
    case PLAN_SORT:
        if (plan->sort.limit != NULL || plan->sort.offset != NULL) return TCUDB_OK;
        return reach(opt, plan->inputs[0], col, id, done, err);
    default: return TCUDB_OK;
    }
    return e != NULL && e->kind == EXPR_COL ? reach(opt, plan->inputs[0], e->col, id, done, err) : TCUDB_OK;
}

/* Estimated share of the key's values that the right side holds. */
static double held_share(Opt *opt, const Plan *join, const Expr *left, const Expr *right)
{
    double domain = card_distinct(opt, left, 1e18), right_domain = card_distinct(opt, right, 1e18);
    if (right_domain > domain) domain = right_domain;
    double held = join->inputs[1]->rows;
    if (right_domain < held) held = right_domain;
    return held / domain;
}

static tcudb_status pair(Opt *opt, Plan *join, const Expr *left, const Expr *right, Error *err)
{
    bool done = false;
    if (held_share(opt, join, left, right) > WORTH) return TCUDB_OK;
    TRY(reach(opt, join->inputs[0], left->col, opt->next_semi, &done, err));
    if (!done) return TCUDB_OK;
    SemiSource *all = ARENA_ARRAY(opt->arena, SemiSource, join->join.nsemi + 1, err);
    TRY_PTR(all);
    if (join->join.nsemi > 0) memcpy(all, join->join.semi, join->join.nsemi * sizeof *all);
    all[join->join.nsemi++] = (SemiSource){.id = opt->next_semi++, .key = right->col};
    join->join.semi = all;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status pair_join(Opt *opt, Plan *join, Error *err)
{
    JoinKind kind = join->join.kind;
    bool drops_left = kind == JOIN_INNER || kind == JOIN_SEMI || kind == JOIN_RIGHT || kind == JOIN_RIGHT_SEMI ||
                      kind == JOIN_RIGHT_ANTI;
    if (!drops_left) return TCUDB_OK;
    for (uint32_t i = 0; i < join->join.nconds; i++) {
        const Expr *e = join->join.conds[i];
        if (!expr_is_equality(e) || e->args[0]->kind != EXPR_COL || e->args[1]->kind != EXPR_COL) continue;
        if (!key_type(e->args[0]->type) || !key_type(e->args[1]->type)) continue;
        if (type_phys(e->args[0]->type) != type_phys(e->args[1]->type)) continue;
        for (uint32_t k = 0; k < 2; k++)
            if (expr_within(e->args[k], join->inputs[0]) && expr_within(e->args[1 - k], join->inputs[1]))
                TRY(pair(opt, join, e->args[k], e->args[1 - k], err));
    }
    return TCUDB_OK;
}

/* Top-N by a column of a scan: once N rows are known, rows beyond the last of them need not be read further. */
static tcudb_status bound_sort(Opt *opt, Plan *sort, Error *err)
{
    const Expr *key = sort->sort.nkeys > 0 ? sort->sort.keys[0].expr : NULL;
    bool done = false;
    if (sort->sort.limit == NULL || key == NULL || key->kind != EXPR_COL) return TCUDB_OK;
    Phys phys = type_phys(key->type);
    if (phys != PHYS_I16 && phys != PHYS_I32 && phys != PHYS_I64 && phys != PHYS_STR) return TCUDB_OK;
    TRY(reach(opt, sort->inputs[0], key->col, opt->next_semi, &done, err));
    if (!done) return TCUDB_OK;
    sort->sort.bound = opt->next_semi++;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    assert(plan->rows >= 0);
    if (plan->kind == PLAN_SORT) TRY(bound_sort(opt, plan, err));
    if (plan->kind == PLAN_JOIN) TRY(pair_join(opt, plan, err));
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    return TCUDB_OK;
}

tcudb_status rule_semi(Opt *opt, Plan **root, Error *err)
{
    TRY(card_collect(opt, *root, err));
    card_rows(opt, *root, true);
    return visit(opt, *root, err);
}
