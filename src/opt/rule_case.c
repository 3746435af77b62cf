/*
 * rule_case.c: a CASE that gives an aggregate something in some rows only is its FILTER.
 *
 * Pattern, and what it becomes:
 *     sum(CASE WHEN c THEN x END)            sum(x) FILTER (WHERE c), and so for AVG, MIN, MAX, COUNT
 *     sum(CASE WHEN c THEN 1 ELSE 0 END)     count(*) FILTER (WHERE c), where there are groups
 * Right because: these aggregates pass over NULL; x is evaluated where c is true and nowhere else either way; a group
 * has a row, so that its sum of zeros is 0 as its count of none. Not where the call has a FILTER already: which of the
 * two conditions is tested first would be seen. Last of all that rewrites aggregates: products and sums below joins
 * want CASE as a value. Loses never: a filter leaves fewer rows to evaluate and to add.
 */
#include "opt/opt_int.h"

/* WHEN c THEN x ELSE y, and nothing more. */
static bool is_choice(const Expr *e)
{
    return e->kind == EXPR_CASE && e->nargs == 3;
}

static bool passes_over_null(AggKind kind)
{
    return kind >= AGG_COUNT && kind <= AGG_MAX;
}

static bool is_int4(const Expr *e, int32_t value)
{
    return e->kind == EXPR_CONST && !e->value.null && e->type.id == TYPE_INT4 && e->value.i32 == value;
}

static bool filter_call(AggCall *call, bool groups)
{
    if (call->nargs != 1 || call->filter != NULL || !passes_over_null(call->kind) || !is_choice(call->args[0]))
        return false;
    Expr *const *choice = call->args[0]->args;
    if (expr_is_null_const(choice[2]) && type_equal(choice[1]->type, call->args[0]->type)) {
        call->args[0] = choice[1];
    } else if (groups && call->kind == AGG_SUM && !call->distinct && is_int4(choice[1], 1) && is_int4(choice[2], 0)) {
        call->kind = AGG_COUNT_STAR;
        call->nargs = 0;
    } else {
        return false;
    }
    call->filter = choice[0];
    return true;
}

static void visit(Opt *opt, Plan *plan)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) visit(opt, plan->inputs[i]);
    if (plan->kind != PLAN_AGGREGATE) return;
    for (uint32_t a = 0; a < plan->agg.naggs; a++)
        opt->changed |= filter_call(&plan->agg.aggs[a], plan->agg.ngroups > 0);
}

tcudb_status rule_case(Opt *opt, Plan **root, Error *err)
{
    (void)err;
    visit(opt, *root);
    return TCUDB_OK;
}
