/*
 * rule_distinct.c: whole rows without repeats are groups without aggregates.
 *
 * Pattern: DISTINCT over all columns; UNION, EXCEPT, INTERSECT; aggregates all of which take DISTINCT values of one
 * expression. Rewrite: DISTINCT x        ->  Aggregate by x A UNION B         ->  Aggregate by all columns over A UNION
 * ALL B A EXCEPT B        ->  anti join of Aggregate by all columns over A with B, without NULLs; INTERSECT: semi
 *          count(DISTINCT x) ->  count(x) over Aggregate by the groups and x
 * Why: grouping knows arrays over small domains and groups in parallel; DISTINCT arguments took a second table beside
 * the groups', and one thread at the end. Right because: grouping treats NULLs as equal, as DISTINCT does; an inner
 * group stands for all rows of one value, and the outer aggregate skips NULL as it would have. Sums of floats keep
 * their order of rows and stay as they are.
 */
#include "opt/opt_int.h"

/* Groups of the input's columns, which the output columns at the same places name. */
static tcudb_status group_columns(Opt *opt, Plan *input, const PlanCol *cols, uint32_t n, Plan **out, Error *err)
{
    Plan *agg = plan_new(opt->arena, PLAN_AGGREGATE, 1, n, err);
    TRY_PTR(agg);
    agg->inputs[0] = input;
    agg->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, n + 1, err);
    TRY_PTR(agg->agg.groups);
    agg->agg.ngroups = n;
    for (uint32_t i = 0; i < n; i++) {
        agg->cols[i] = agg->agg.groups[i].col = cols[i];
        TRY_PTR(agg->agg.groups[i].expr = expr_of_col(opt, &input->cols[i], err));
    }
    *out = agg;
    opt->changed = true;
    return TCUDB_OK;
}

/* DISTINCT's outputs are its input's columns, some of them. */
static tcudb_status group_distinct(Opt *opt, Plan **slot, Error *err)
{
    Plan *distinct = *slot, *input = distinct->inputs[0];
    if (distinct->ncols != input->ncols) return TCUDB_OK;
    for (uint32_t i = 0; i < input->ncols; i++)
        if (distinct->cols[i].id != input->cols[i].id) return TCUDB_OK;
    return input->ncols == 0 ? TCUDB_OK : group_columns(opt, input, input->cols, input->ncols, slot, err);
}

/* The union's rows get new columns, since those of the set operation become the groups'. */
static tcudb_status group_union(Opt *opt, Plan **slot, Error *err)
{
    Plan *set_op = *slot;
    uint32_t n = set_op->ncols;
    if (n == 0) return TCUDB_OK;
    PlanCol *outputs = set_op->cols;
    set_op->cols = ARENA_ARRAY(opt->arena, PlanCol, n, err);
    TRY_PTR(set_op->cols);
    for (uint32_t i = 0; i < n; i++) set_op->cols[i] = opt_new_col(opt, outputs[i].type, outputs[i].name);
    set_op->set_op.all = true;
    return group_columns(opt, set_op, outputs, n, slot, err);
}

/* Rows that are made one at the end need not be made one on the way: (A UNION B) UNION C groups once. */
static void keep_repeats(Plan *set_op)
{
    for (uint32_t i = 0; i < 2; i++) {
        Plan *input = set_op->inputs[i];
        if (input->kind != PLAN_SET_OP || input->set_op.kind != SET_UNION) continue;
        input->set_op.all = true;
        keep_repeats(input);
    }
}

/* NULLs are equal to set operations and to no join: where neither side has any, a join does. */
static bool joins_alike(Opt *opt, const Plan *set_op)
{
    for (uint32_t i = 0; i < set_op->ncols; i++)
        for (uint32_t k = 0; k < 2; k++)
            if (!col_not_null(opt, set_op->inputs[k], set_op->inputs[k]->cols[i].id)) return false;
    return set_op->ncols > 0 && !set_op->set_op.all;
}

/* The left side's rows, each once, with or without an equal one on the right. */
static tcudb_status join_sides(Opt *opt, Plan **slot, Error *err)
{
    Plan *set_op = *slot, *right = set_op->inputs[1], *left, *join;
    uint32_t n = set_op->ncols;
    if (!joins_alike(opt, set_op)) return TCUDB_OK;
    Expr **conds = ARENA_ARRAY(opt->arena, Expr *, n + 1, err);
    TRY_PTR(conds);
    TRY(group_columns(opt, set_op->inputs[0], set_op->cols, n, &left, err));
    for (uint32_t i = 0; i < n; i++) {
        Expr *sides[2];
        TRY_PTR(sides[0] = expr_of_col(opt, &left->cols[i], err));
        TRY_PTR(sides[1] = expr_of_col(opt, &right->cols[i], err));
        TRY(expr_call(opt->arena, FUNC_OPERATOR, "=", sides, 2, 0, &conds[i], err));
    }
    JoinKind kind = set_op->set_op.kind == SET_INTERSECT ? JOIN_SEMI : JOIN_ANTI;
    TRY(plan_new_join(opt, kind, left, right, conds, n, &join, err));
    *slot = join;
    return TCUDB_OK;
}

static bool order_matters(const AggCall *call)
{
    uint8_t id = call->args[0]->type.id;
    return call->kind != AGG_COUNT && (id == TYPE_FLOAT4 || id == TYPE_FLOAT8);
}

/* All calls take DISTINCT values of the first one's argument. */
static bool one_distinct_argument(const Plan *agg)
{
    for (uint32_t a = 0; a < agg->agg.naggs; a++) {
        const AggCall *call = &agg->agg.aggs[a];
        bool kind = call->kind == AGG_COUNT || call->kind == AGG_SUM || call->kind == AGG_AVG;
        if (!kind || !call->distinct || call->filter != NULL || call->nargs != 1 || order_matters(call)) return false;
        if (!expr_equal(call->args[0], agg->agg.aggs[0].args[0]) || expr_volatile(call->args[0])) return false;
    }
    return agg->agg.naggs > 0;
}

/* Groups and the argument become groups below, with columns of their own; above, groups and arguments name them. */
static tcudb_status group_argument(Opt *opt, Plan *agg, Error *err)
{
    uint32_t n = agg->agg.ngroups;
    Plan *inner = plan_new(opt->arena, PLAN_AGGREGATE, 1, n + 1, err);
    TRY_PTR(inner);
    inner->inputs[0] = agg->inputs[0];
    inner->agg.ngroups = n + 1;
    inner->agg.groups = ARENA_ARRAY(opt->arena, NamedExpr, n + 1, err);
    TRY_PTR(inner->agg.groups);
    for (uint32_t i = 0; i <= n; i++) {
        Expr *e = i < n ? agg->agg.groups[i].expr : agg->agg.aggs[0].args[0];
        inner->agg.groups[i] = (NamedExpr){.col = opt_new_col(opt, e->type, "distinct"), .expr = e};
        inner->cols[i] = inner->agg.groups[i].col;
        if (i < n) TRY_PTR(agg->agg.groups[i].expr = expr_of_col(opt, &inner->cols[i], err));
    }
    for (uint32_t a = 0; a < agg->agg.naggs; a++) {
        TRY_PTR(agg->agg.aggs[a].args[0] = expr_of_col(opt, &inner->cols[n], err));
        agg->agg.aggs[a].distinct = false;
    }
    agg->inputs[0] = inner;
    opt->changed = true;
    return TCUDB_OK;
}

static tcudb_status visit(Opt *opt, Plan **slot, Error *err)
{
    Plan *plan = *slot;
    if (plan->kind == PLAN_SET_OP && plan->set_op.kind == SET_UNION && !plan->set_op.all) keep_repeats(plan);
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, &plan->inputs[i], err));
    if (plan->kind == PLAN_DISTINCT && plan->distinct.non == 0) return group_distinct(opt, slot, err);
    if (plan->kind == PLAN_SET_OP && plan->set_op.kind == SET_UNION && !plan->set_op.all)
        return group_union(opt, slot, err);
    if (plan->kind == PLAN_SET_OP && plan->set_op.kind != SET_UNION) return join_sides(opt, slot, err);
    return plan->kind == PLAN_AGGREGATE && one_distinct_argument(plan) ? group_argument(opt, plan, err) : TCUDB_OK;
}

tcudb_status rule_distinct(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, root, err);
}
