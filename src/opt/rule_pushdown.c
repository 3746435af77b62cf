/*
 * rule_pushdown.c: predicates as far down as they go.
 *
 * Pattern: a filter, or a join's condition, above anything.
 * Rewrite: each conjunct moves below projections (columns replaced by what defines them), into the side
 * of a join whose columns it uses, below aggregates if it uses only group columns, into both inputs of
 * set operations, below sorts and DISTINCT, and ends in a scan's filters or, where it uses both sides, in
 * a join's conditions. An outer join whose NULL-extended rows a predicate above rejects becomes the
 * narrower kind first. The value of a scalar subquery, joined to every row, moves to the input that is tested by it.
 * Right because: a conjunct keeps rows where it is true; NULL and FALSE drop a row alike, above and
 * below. Bags: each row is tested by itself, so multiplicities stay. Outer joins: a predicate on the
 * preserved side commutes with padding, one on the other side does not and stays (or narrows the join);
 * ON conditions on the padded side alone filter that side, on the preserved side alone they stay. A
 * group column is equal in all rows of its group, so testing rows before grouping keeps or drops whole
 * groups; without GROUP BY the one result row exists even for no input, so nothing moves below.
 * Volatile conjuncts never move; nothing moves below LIMIT or a window.
 * Loses when: an expensive predicate (LIKE) is evaluated before a join that would drop most rows.
 */
#include "opt/opt_int.h"

#include <assert.h>

static tcudb_status push(Opt *opt, Plan **slot, ExprList *preds, const ExprList *hints, Error *err);

/* The same where the parent counts on which columns come in which order. */
static tcudb_status push_exact(Opt *opt, Plan **slot, ExprList *preds, Error *err)
{
    const Plan *before = *slot;
    const PlanCol *cols = before->cols;
    uint32_t ncols = before->ncols;
    ExprList hints = {0};
    TRY(push(opt, slot, preds, &hints, err));
    return plan_restore_cols(opt, slot, cols, ncols, err);
}

/* Below this node there is nothing to push; rules still apply to its inputs. */
static tcudb_status push_nothing(Opt *opt, Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) {
        ExprList none = {0};
        TRY(push_exact(opt, &plan->inputs[i], &none, err));
    }
    return TCUDB_OK;
}

static tcudb_status push_filter(Opt *opt, Plan **slot, ExprList *preds, const ExprList *hints, Error *err)
{
    Plan *filter = *slot;
    ExprList below = {0}, stay = {0};
    for (uint32_t i = 0; i < filter->filter.nconds; i++) {
        Expr *cond = filter->filter.conds[i];
        TRY(list_add(opt, expr_volatile(cond) ? &stay : &below, cond, err));
    }
    TRY(list_add_all(opt, &below, preds->items, preds->n, err));
    preds->n = 0;
    if (stay.n == 0) {
        *slot = filter->inputs[0];
        return push(opt, slot, &below, hints, err);
    }
    filter->filter.conds = stay.items;
    filter->filter.nconds = stay.n;
    return push(opt, &filter->inputs[0], &below, hints, err);
}

static bool uses_volatile_col(const Expr *e, const Plan *project)
{
    for (uint32_t i = 0; i < project->ncols; i++)
        if (expr_volatile(project->project.exprs[i].expr) && expr_has_col(e, project->project.exprs[i].col.id))
            return true;
    return false;
}

static tcudb_status push_project(Opt *opt, Plan *project, ExprList *preds, const ExprList *hints, Error *err)
{
    ExprList below = {0}, above = {0}, below_hints = {0};
    for (uint32_t i = 0; i < preds->n; i++) {
        if (uses_volatile_col(preds->items[i], project)) {
            TRY(list_add(opt, &above, preds->items[i], err));
            continue;
        }
        Expr *e;
        TRY(expr_substitute(opt, preds->items[i], project->project.exprs, project->ncols, &e, err));
        TRY(list_add(opt, &below, e, err));
    }
    for (uint32_t i = 0; i < hints->n; i++) {
        Expr *e;
        TRY(expr_substitute(opt, hints->items[i], project->project.exprs, project->ncols, &e, err));
        TRY(list_add(opt, &below_hints, e, err));
    }
    *preds = above;
    return push(opt, &project->inputs[0], &below, &below_hints, err);
}

static tcudb_status rejects_side(Opt *opt, const Plan *side, const ExprList *preds, const ExprList *hints, bool *out,
                                 Error *err)
{
    ColSet nulls = {0};
    TRY(colset_outputs(opt, &nulls, side, err));
    *out = false;
    for (uint32_t i = 0; i < preds->n && !*out; i++) *out = expr_rejects_nulls(preds->items[i], &nulls);
    for (uint32_t i = 0; i < hints->n && !*out; i++) *out = expr_rejects_nulls(hints->items[i], &nulls);
    return TCUDB_OK;
}

/* Outer joins whose padded rows do not survive what is above. */
static tcudb_status narrow_join(Opt *opt, Plan *join, const ExprList *preds, const ExprList *hints, Error *err)
{
    JoinKind kind = join->join.kind;
    if (kind != JOIN_LEFT && kind != JOIN_RIGHT && kind != JOIN_FULL) return TCUDB_OK;
    bool drops_left_padded = false, drops_right_padded = false;
    TRY(rejects_side(opt, join->inputs[0], preds, hints, &drops_left_padded, err));
    TRY(rejects_side(opt, join->inputs[1], preds, hints, &drops_right_padded, err));
    bool keeps_left = (kind == JOIN_LEFT || kind == JOIN_FULL) && !drops_right_padded;
    bool keeps_right = (kind == JOIN_RIGHT || kind == JOIN_FULL) && !drops_left_padded;
    JoinKind narrowed = keeps_left ? (keeps_right ? JOIN_FULL : JOIN_LEFT) : keeps_right ? JOIN_RIGHT : JOIN_INNER;
    if (narrowed != kind) opt->changed = true;
    join->join.kind = narrowed;
    return TCUDB_OK;
}

/* Where the conjuncts above a join and those in it go. */
typedef struct Split {
    ExprList left, right, join, above;
} Split;

static tcudb_status split_pred(Opt *opt, const Plan *join, Expr *e, Split *split, Error *err)
{
    JoinKind kind = join->join.kind;
    bool left = expr_touches(e, join->inputs[0]), right = expr_touches(e, join->inputs[1]);
    bool mark = kind == JOIN_MARK && expr_has_col(e, join->join.mark.id);
    bool to_left = !right && !mark && kind != JOIN_RIGHT && kind != JOIN_FULL;
    bool to_right = right && !left && (kind == JOIN_INNER || kind == JOIN_RIGHT);
    if (to_left) return list_add(opt, &split->left, e, err);
    if (to_right) return list_add(opt, &split->right, e, err);
    if (kind == JOIN_INNER && !mark) return list_add(opt, &split->join, e, err);
    return list_add(opt, &split->above, e, err);
}

static tcudb_status split_cond(Opt *opt, const Plan *join, Expr *e, Split *split, Error *err)
{
    JoinKind kind = join->join.kind;
    bool left = expr_touches(e, join->inputs[0]), right = expr_touches(e, join->inputs[1]);
    bool null_counts = kind == JOIN_MARK && join->join.mark_null;
    bool to_left = left && !right && (kind == JOIN_INNER || kind == JOIN_SEMI || kind == JOIN_RIGHT);
    bool to_right = !left && kind != JOIN_RIGHT && kind != JOIN_FULL && !null_counts;
    if (expr_volatile(e)) return list_add(opt, &split->join, e, err);
    if (to_left) return list_add(opt, &split->left, e, err);
    if (to_right) return list_add(opt, &split->right, e, err);
    return list_add(opt, &split->join, e, err);
}

/* What a side may take as true of its surviving rows: the join's own conditions where a row that fails them
 * is dropped, and what was known above. */
static tcudb_status side_hints(Opt *opt, const Plan *join, const ExprList *above, uint32_t side, ExprList *out,
                               Error *err)
{
    JoinKind kind = join->join.kind;
    bool dropped = kind == JOIN_INNER || kind == JOIN_SEMI || (kind == JOIN_LEFT && side == 1) ||
                   (kind == JOIN_RIGHT && side == 0) || (kind == JOIN_ANTI && side == 1) ||
                   (kind == JOIN_SINGLE && side == 1);
    bool padded = kind == JOIN_FULL || (kind == JOIN_RIGHT && side == 0) || side == 1;
    if (dropped) TRY(list_add_all(opt, out, join->join.conds, join->join.nconds, err));
    return padded && kind != JOIN_INNER ? TCUDB_OK : list_add_all(opt, out, above->items, above->n, err);
}

static tcudb_status push_join(Opt *opt, Plan *join, ExprList *preds, const ExprList *hints, Error *err)
{
    TRY(narrow_join(opt, join, preds, hints, err));
    Split split = {0};
    for (uint32_t i = 0; i < join->join.nconds; i++) TRY(split_cond(opt, join, join->join.conds[i], &split, err));
    for (uint32_t i = 0; i < preds->n; i++) TRY(split_pred(opt, join, preds->items[i], &split, err));
    join->join.conds = split.join.items;
    join->join.nconds = split.join.n;
    ExprList known = {0}, hints_left = {0}, hints_right = {0};
    TRY(list_add_all(opt, &known, hints->items, hints->n, err));
    TRY(list_add_all(opt, &known, split.above.items, split.above.n, err));
    TRY(side_hints(opt, join, &known, 0, &hints_left, err));
    TRY(side_hints(opt, join, &known, 1, &hints_right, err));
    *preds = split.above;
    TRY(push(opt, &join->inputs[0], &split.left, &hints_left, err));
    return push(opt, &join->inputs[1], &split.right, &hints_right, err);
}

/* The only input of a join to whose rows what is asked of `value` belongs. */
static bool asking_side(const Plan *join, const Plan *value, const ExprList *preds, uint32_t *side)
{
    bool inner = join->kind == PLAN_JOIN && join->join.kind == JOIN_INNER, sides[2] = {false, false};
    if (!inner && (join->kind != PLAN_JOIN || !(join_left_only(join->join.kind) || join->join.kind == JOIN_SINGLE)))
        return false;
    for (uint32_t i = 0; i < preds->n; i++) {
        const Expr *e = preds->items[i];
        if (!expr_touches(e, value)) continue;
        if (join->join.kind == JOIN_MARK && expr_has_col(e, join->join.mark.id)) return false;
        for (uint32_t s = 0; s < 2; s++) sides[s] |= expr_touches(e, join->inputs[s]);
    }
    *side = sides[1];
    return sides[0] != sides[1] && (inner || sides[0]);
}

/* A value that a subquery gives every row alike may join the rows of any input; the input that is tested by it gets it,
 * so that fewer rows are joined. */
static tcudb_status sink_value(Opt *opt, Plan **slot, const ExprList *preds, Error *err)
{
    Plan *single = *slot, *below = single->inputs[0];
    uint32_t side;
    if (!asking_side(below, single->inputs[1], preds, &side)) return plan_widen(opt, single, err);
    single->inputs[0] = below->inputs[side];
    below->inputs[side] = single;
    *slot = below;
    opt->changed = true;
    TRY(sink_value(opt, &below->inputs[side], preds, err));
    return plan_widen(opt, below, err);
}

static tcudb_status push_apply(Opt *opt, Plan *apply, ExprList *preds, const ExprList *hints, Error *err)
{
    ExprList left = {0}, right = {0}, above = {0}, none = {0};
    ColSet padded = {0};
    TRY(colset_outputs(opt, &padded, apply->inputs[1], err));
    for (uint32_t i = 0; i < preds->n; i++) {
        Expr *e = preds->items[i];
        if (apply->apply.kind == APPLY_LEFT && expr_rejects_nulls(e, &padded)) {
            apply->apply.kind = APPLY_CROSS;
            opt->changed = true;
        }
    }
    for (uint32_t i = 0; i < preds->n; i++) {
        Expr *e = preds->items[i];
        bool on_right = expr_touches(e, apply->inputs[1]);
        bool on_left = expr_touches(e, apply->inputs[0]);
        bool on_result = apply->apply.result.id != 0 && expr_has_col(e, apply->apply.result.id);
        ExprList *to = &above;
        if (!on_right && !on_result) to = &left;
        if (on_right && !on_left && apply->apply.kind == APPLY_CROSS) to = &right;
        TRY(list_add(opt, to, e, err));
    }
    *preds = above;
    TRY(push(opt, &apply->inputs[0], &left, hints, err));
    return push(opt, &apply->inputs[1], &right, &none, err);
}

/* Every output that e uses is a group column. */
static bool uses_groups_only(const Expr *e, const Plan *agg)
{
    for (uint32_t i = agg->agg.ngroups; i < agg->ncols; i++)
        if (expr_has_col(e, agg->cols[i].id)) return false;
    return true;
}

static tcudb_status push_aggregate(Opt *opt, Plan *agg, ExprList *preds, Error *err)
{
    ExprList below = {0}, above = {0}, none = {0};
    for (uint32_t i = 0; i < preds->n; i++) {
        bool moves = agg->agg.ngroups > 0 && uses_groups_only(preds->items[i], agg);
        if (!moves || !expr_respects_equality(preds->items[i])) {
            TRY(list_add(opt, &above, preds->items[i], err));
            continue;
        }
        Expr *e;
        TRY(expr_substitute(opt, preds->items[i], agg->agg.groups, agg->agg.ngroups, &e, err));
        TRY(list_add(opt, &below, e, err));
    }
    *preds = above;
    return push(opt, &agg->inputs[0], &below, &none, err);
}

/* Into both inputs. Where equal rows are merged, one may stand for another that looks different. */
static tcudb_status push_set_op(Opt *opt, Plan *set_op, ExprList *preds, Error *err)
{
    bool merges = set_op->set_op.kind != SET_UNION || !set_op->set_op.all;
    ExprList down = {0}, above = {0};
    for (uint32_t i = 0; i < preds->n; i++) {
        bool stays = merges && !expr_respects_equality(preds->items[i]);
        TRY(list_add(opt, stays ? &above : &down, preds->items[i], err));
    }
    for (uint32_t i = 0; i < 2; i++) {
        ExprList below = {0};
        for (uint32_t k = 0; k < down.n; k++) {
            Expr *e;
            TRY(expr_rename(opt, down.items[k], set_op->cols, set_op->inputs[i]->cols, set_op->ncols, &e, err));
            TRY(list_add(opt, &below, e, err));
        }
        TRY(push_exact(opt, &set_op->inputs[i], &below, err));
    }
    *preds = above;
    return TCUDB_OK;
}

static tcudb_status push_distinct(Opt *opt, Plan *distinct, ExprList *preds, Error *err)
{
    ExprList below = {0}, above = {0};
    for (uint32_t i = 0; i < preds->n; i++)
        TRY(list_add(opt, expr_respects_equality(preds->items[i]) ? &below : &above, preds->items[i], err));
    *preds = above;
    return push_exact(opt, &distinct->inputs[0], &below, err);
}

static tcudb_status push_scan(Opt *opt, Plan *scan, ExprList *preds, Error *err)
{
    ExprList filters = {0};
    TRY(list_add_all(opt, &filters, scan->scan.filters, scan->scan.nfilters, err));
    for (uint32_t i = 0; i < preds->n; i++) TRY(list_add_new(opt, &filters, preds->items[i], err));
    if (filters.n > scan->scan.nfilters) opt->changed = true;
    scan->scan.filters = filters.items;
    scan->scan.nfilters = filters.n;
    preds->n = 0;
    return TCUDB_OK;
}

static tcudb_status push_node(Opt *opt, Plan **slot, ExprList *preds, const ExprList *hints, Error *err)
{
    Plan *plan = *slot;
    switch (plan->kind) {
    case PLAN_FILTER: return push_filter(opt, slot, preds, hints, err);
    case PLAN_PROJECT: return push_project(opt, plan, preds, hints, err);
    case PLAN_JOIN:
        if (plan->join.kind == JOIN_SINGLE && plan->join.nconds == 0) TRY(sink_value(opt, slot, preds, err));
        return push_join(opt, *slot, preds, hints, err);
    case PLAN_APPLY: return push_apply(opt, plan, preds, hints, err);
    case PLAN_AGGREGATE: return push_aggregate(opt, plan, preds, err);
    case PLAN_SET_OP: return push_set_op(opt, plan, preds, err);
    case PLAN_SCAN: return push_scan(opt, plan, preds, err);
    case PLAN_DISTINCT:
        if (plan->distinct.non > 0) return push_nothing(opt, plan, err); /* a filter would change which row is first */
        return push_distinct(opt, plan, preds, err);
    case PLAN_SORT:
        if (plan->sort.limit == NULL && plan->sort.offset == NULL) {
            ExprList below = *preds;
            *preds = (ExprList){0};
            return push(opt, &plan->inputs[0], &below, hints, err);
        }
        return push_nothing(opt, plan, err);
    default: return push_nothing(opt, plan, err);
    }
}

/* Pushes preds (over *slot's outputs) and leaves what cannot go deeper in a filter on top. */
static tcudb_status push(Opt *opt, Plan **slot, ExprList *preds, const ExprList *hints, Error *err)
{
    ExprList rest = *preds;
    TRY(push_node(opt, slot, &rest, hints, err));
    assert((*slot)->ncols > 0 || rest.n == 0 || rest.items != NULL);
    return plan_add_filter(opt, slot, rest.items, rest.n, err);
}

tcudb_status rule_pushdown(Opt *opt, Plan **root, Error *err)
{
    ExprList none = {0};
    opt->changed = true; /* conditions are regrouped even where nothing moves far */
    return push_exact(opt, root, &none, err);
}
