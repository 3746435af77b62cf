/*
 * contract_once.c: joins of which only the distinct rows matter.
 *
 * SELECT DISTINCT over a join, the right side of EXISTS, IN and their negations, the inputs of UNION, INTERSECT and
 * EXCEPT: an aggregate without aggregates over the columns that are needed, as a contraction. Where the columns are
 * all of one side, the aggregate itself stands there if the join multiplies rows: rule_eager then sums before the join,
 * and rule_unique makes a semi join of it. So it does where sums before the join are the cheapest candidate.
 */
#include "opt/contract.h"

static const double GAIN = 4; /* as many rows a distinct one make an aggregate worth it */

/* An aggregate by the columns of `plan` that are in the set (all: set NULL), over the join below its projection. */
static tcudb_status group_by_columns(Opt *opt, Plan *plan, const ColSet *needed, Plan **out, Error *err)
{
    bool project = plan->kind == PLAN_PROJECT;
    Plan *agg = *out = plan_new(opt->arena, PLAN_AGGREGATE, 1, plan->ncols, err);
    TRY_PTR(agg);
    TRY_PTR(agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, plan->ncols + 1, err));
    agg->inputs[0] = project ? plan->inputs[0] : plan;
    agg->ncols = 0;
    for (uint32_t i = 0; i < plan->ncols; i++) {
        if (needed != NULL && !colset_has(needed, plan->cols[i].id)) continue;
        NamedExpr *group = &agg->agg.groups[agg->ncols];
        group->col = agg->cols[agg->ncols++] = plan->cols[i];
        if (project)
            group->expr = plan->project.exprs[i].expr;
        else
            TRY_PTR(group->expr = expr_of_col(opt, &plan->cols[i], err));
    }
    agg->agg.ngroups = agg->ncols;
    return TCUDB_OK;
}

/* Whether one input of the join has all that the groups use. */
static bool is_one_sided(const Plan *agg)
{
    bool left = false, right = false;
    const Plan *join = agg->inputs[0];
    for (uint32_t g = 0; g < agg->agg.ngroups; g++) {
        left |= expr_touches(agg->agg.groups[g].expr, join->inputs[0]);
        right |= expr_touches(agg->agg.groups[g].expr, join->inputs[1]);
    }
    return left != right;
}

static bool multiplies(const Opt *opt, const Plan *agg)
{
    double groups = 1;
    for (uint32_t g = 0; g < agg->agg.ngroups; g++)
        groups *= card_distinct(opt, agg->agg.groups[g].expr, agg->inputs[0]->rows);
    return agg->inputs[0]->rows > GAIN * groups;
}

tcudb_status contract_once(Opt *opt, Plan **slot, const ColSet *needed, Error *err)
{
    Plan *plan = *slot, *agg, *result;
    if (!graph_is_region(plan->kind == PLAN_PROJECT ? plan->inputs[0] : plan)) return TCUDB_OK;
    TRY(group_by_columns(opt, plan, needed, &agg, err));
    if (agg->ncols == 0) return TCUDB_OK;
    result = agg;
    TRY(contract_aggregate(opt, &result, agg, agg->inputs[0], err));
    if (result == agg) TRY(contract_finer(opt, &result, agg, err));
    bool semi = result == agg && agg->inputs[0]->kind == PLAN_JOIN && agg->inputs[0]->join.kind == JOIN_INNER &&
                is_one_sided(agg) && multiplies(opt, agg);
    const Candidates *list = agg->candidates;
    bool vector = list != NULL && list->items[list->taken].form == CANDIDATE_VECTOR;
    if (result == agg && !semi && !vector) return TCUDB_OK;
    *slot = result;
    opt->changed = true;
    return TCUDB_OK;
}

/* DISTINCT: the aggregate takes its place. */
static tcudb_status visit_distinct(Opt *opt, Plan **slot, Error *err)
{
    Plan *distinct = *slot, *input = distinct->inputs[0];
    if (distinct->distinct.non > 0) return TCUDB_OK;
    TRY(contract_once(opt, &input, NULL, err));
    if (input != distinct->inputs[0]) *slot = input;
    return TCUDB_OK;
}

static tcudb_status visit_join(Opt *opt, Plan *join, Error *err)
{
    ColSet used = {0};
    for (uint32_t i = 0; i < join->join.nconds; i++) TRY(colset_expr(opt, &used, join->join.conds[i], err));
    return contract_once(opt, &join->inputs[1], &used, err);
}

tcudb_status contract_distinct(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    if (plan->kind == PLAN_DISTINCT) return visit_distinct(opt, slot, err);
    if (plan->kind == PLAN_SET_OP && !plan->set_op.all)
        for (uint32_t i = 0; i < 2; i++) TRY(contract_once(opt, &plan->inputs[i], NULL, err));
    bool tests = plan->kind == PLAN_JOIN &&
                 (plan->join.kind == JOIN_SEMI || plan->join.kind == JOIN_ANTI || plan->join.kind == JOIN_MARK);
    return tests ? visit_join(opt, plan, err) : TCUDB_OK;
}
