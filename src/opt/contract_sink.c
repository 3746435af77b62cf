/*
 * contract_sink.c: filters on mark joins go to the side of the join below that they look at.
 *
 *     Filter not m                               Join a.k = b.k
 *       Mark m: a.x = c.x                 ->       Filter not m
 *         Join a.k = b.k                             Mark m: a.x = c.x
 *                                                      A
 *                                                  B
 *
 * NOT IN, and EXISTS under OR, are marks above the join until rule_join_order places them, which is after contractions
 * are sought; and a filter above a join is in their way. The same rows: the mark is a function of the columns of that
 * side. A condition that needs more than that side and its marks stays, and the marks it uses with it.
 */
#include "opt/contract.h"

static bool is_inner(const Plan *plan)
{
    return plan->kind == PLAN_JOIN && plan->join.kind == JOIN_INNER;
}

/* Semi, anti and mark joins keep or drop rows of their left input: one may go below another. */
static bool is_op(const Plan *plan)
{
    return plan->kind == PLAN_JOIN && (plan->join.kind == JOIN_MARK || join_left_only(plan->join.kind));
}

/* The inner join below such joins; NULL: there is none. */
static Plan *base_of(Plan *plan)
{
    while (is_op(plan)) plan = plan->inputs[0];
    return is_inner(plan) ? plan : NULL;
}

/* Whether what the mark join looks at of its left input is all in one of that join's inputs. */
static bool looks_at(const Plan *mark, const Plan *side, const Plan *other)
{
    for (uint32_t i = 0; i < mark->join.nconds; i++)
        if (expr_touches(mark->join.conds[i], other)) return false;
    for (uint32_t i = 0; i < mark->join.nconds; i++)
        if (expr_touches(mark->join.conds[i], side)) return true;
    return false;
}

/* Whether all conditions that use the mark use nothing of the other side. */
static bool conditions_allow(const Plan *filter, const Plan *mark, const Plan *other)
{
    bool used = false;
    for (uint32_t i = 0; i < filter->filter.nconds; i++) {
        const Expr *e = filter->filter.conds[i];
        if (!expr_has_col(e, mark->join.mark.id)) continue;
        used = true;
        if (expr_touches(e, other) || expr_volatile(e)) return false;
    }
    return used;
}

static bool within_mark(const Expr *e, const Plan *mark)
{
    return expr_has_col(e, mark->join.mark.id) && expr_within(e, mark);
}

/* The joins between have the columns of what is below them now. */
static tcudb_status widen_ops(Opt *opt, Plan *plan, Error *err)
{
    if (is_op(plan)) TRY(widen_ops(opt, plan->inputs[0], err));
    return plan_widen(opt, plan, err);
}

/* The mark join at *link and its conditions on input s of the inner join; what stays of the filter is above. */
static tcudb_status sink(Opt *opt, Plan **slot, Plan **link, uint32_t s, Error *err)
{
    Plan *filter = *slot, *mark = *link, *join = base_of(mark), *below;
    ExprList down = {0}, stay = {0};
    TRY_PTR(below = plan_new(opt->arena, PLAN_JOIN, 2, 0, err));
    Plan **inputs = below->inputs;
    *below = *mark;
    below->inputs = inputs;
    inputs[0] = join->inputs[s];
    inputs[1] = mark->inputs[1];
    TRY(plan_widen(opt, below, err));
    for (uint32_t i = 0; i < filter->filter.nconds; i++) {
        Expr *e = filter->filter.conds[i];
        TRY(list_add(opt, within_mark(e, below) ? &down : &stay, e, err));
    }
    TRY(plan_add_filter(opt, &below, down.items, down.n, err));
    *link = mark->inputs[0];
    join->inputs[s] = below;
    *slot = filter->inputs[0];
    TRY(widen_ops(opt, *slot, err));
    opt->changed = true;
    return plan_add_filter(opt, slot, stay.items, stay.n, err);
}

/* Whether a join above the mark join uses the mark. */
static bool used_between(const Plan *from, const Plan *mark)
{
    for (const Plan *op = from; op != mark; op = op->inputs[0])
        for (uint32_t i = 0; i < op->join.nconds; i++)
            if (expr_has_col(op->join.conds[i], mark->join.mark.id)) return true;
    return false;
}

/* Moves one mark join; *again: it did. */
static tcudb_status sink_one(Opt *opt, Plan **slot, bool *again, Error *err)
{
    Plan *filter = *slot, *join = base_of(filter->inputs[0]);
    *again = false;
    for (Plan **link = &filter->inputs[0]; join != NULL && *link != join; link = &(*link)->inputs[0]) {
        const Plan *mark = *link;
        if (mark->join.kind != JOIN_MARK || used_between(filter->inputs[0], mark)) continue;
        for (uint32_t s = 0; s < 2; s++) {
            const Plan *side = join->inputs[s], *other = join->inputs[1 - s];
            if (!looks_at(mark, side, other) || !conditions_allow(filter, mark, other)) continue;
            *again = true;
            return sink(opt, slot, link, s, err);
        }
    }
    return TCUDB_OK;
}

/* From below: filters may stand between the joins. */
tcudb_status contract_sink(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    bool again = plan->kind == PLAN_FILTER, changed = opt->changed;
    if (!is_op(plan) && !again) return TCUDB_OK;
    opt->changed = false;
    TRY(contract_sink(opt, &plan->inputs[0], err));
    if (opt->changed) TRY(plan_widen(opt, plan, err));
    opt->changed |= changed;
    while (again && (*slot)->kind == PLAN_FILTER) TRY(sink_one(opt, slot, &again, err));
    return TCUDB_OK;
}
