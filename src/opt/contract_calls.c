/*
 * contract_calls.c: aggregates as sums and counts, which a contraction has, and a projection above.
 *
 *     avg(x)  ->  sum(x) / nullif(count(x), 0), in numeric
 */
#include "opt/contract.h"

static tcudb_status numeric_col(Opt *opt, const AggCall *call, Expr **out, Error *err)
{
    TRY_PTR(*out = expr_of_col(opt, &call->col, err));
    return expr_cast(opt->arena, *out, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, out, err);
}

static tcudb_status split_avg(Opt *opt, const AggCall *avg, ContractCalls *calls, Expr **quotient, Error *err)
{
    AggCallType type;
    TRY(agg_resolve(STR_LIT("sum"), &avg->args[0]->type, 1, false, 0, &type, err));
    AggCall sum = *avg, count = *avg;
    sum.kind = AGG_SUM;
    sum.col = opt_new_col(opt, type.result, "sum");
    count.kind = AGG_COUNT;
    count.col = opt_new_col(opt, TYPE(TYPE_INT8), "count");
    calls->items[calls->n++] = sum;
    calls->items[calls->n++] = count;
    Expr *args[2], *zero;
    TRY(numeric_col(opt, &sum, &args[0], err));
    TRY(numeric_col(opt, &count, &args[1], err));
    Value v = {.type = TYPE(TYPE_NUMERIC)};
    TRY_PTR(zero = expr_const(opt->arena, &v, 0, err));
    Expr *compare[2] = {args[1], zero}, *nullif[3];
    TRY(expr_call(opt->arena, FUNC_OPERATOR, "=", compare, 2, 0, &nullif[0], err));
    v.null = true;
    TRY_PTR(nullif[1] = expr_const(opt->arena, &v, 0, err));
    nullif[2] = args[1];
    TRY_PTR(args[1] = expr_node(opt->arena, EXPR_CASE, TYPE(TYPE_NUMERIC), nullif, 3, 0, err));
    return expr_call(opt->arena, FUNC_OPERATOR, "/", args, 2, 0, quotient, err);
}

/* Without groups there is a row even where nothing matches: its counts are 0. */
static tcudb_status zero_count(Opt *opt, AggCall *count, Expr **final, Error *err)
{
    Value zero = {.type = TYPE(TYPE_INT8)};
    Expr *args[2];
    count->col = opt_new_col(opt, count->col.type, count->col.name);
    TRY_PTR(args[0] = expr_of_col(opt, &count->col, err));
    TRY_PTR(args[1] = expr_const(opt->arena, &zero, 0, err));
    *final = expr_node(opt->arena, EXPR_COALESCE, TYPE(TYPE_INT8), args, 2, 0, err);
    return *final == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

tcudb_status contract_calls(Opt *opt, const Plan *agg, ContractCalls *calls, Error *err)
{
    calls->items = ARENA_ARRAY(opt->arena, AggCall, agg->agg.naggs * 2 + 1, err);
    TRY_PTR(calls->items);
    calls->finals = ARENA_ARRAY(opt->arena, NamedExpr, agg->ncols + 1, err);
    TRY_PTR(calls->finals);
    for (uint32_t i = 0; i < agg->ncols; i++) {
        calls->finals[i].col = agg->cols[i];
        TRY_PTR(calls->finals[i].expr = expr_of_col(opt, &agg->cols[i], err));
    }
    for (uint32_t i = 0; i < agg->agg.naggs; i++) {
        const AggCall *call = &agg->agg.aggs[i];
        bool exact = call->nargs == 1 && call->args[0]->type.id >= TYPE_INT2 && call->args[0]->type.id <= TYPE_NUMERIC;
        if (call->kind != AGG_AVG || !exact || call->distinct) {
            AggCall *item = &calls->items[calls->n++];
            *item = *call;
            bool count = call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR;
            if (agg->agg.ngroups == 0 && count) TRY(zero_count(opt, item, &calls->finals[i].expr, err));
            continue;
        }
        calls->divides = true;
        TRY(split_avg(opt, call, calls, &calls->finals[agg->agg.ngroups + i].expr, err));
    }
    return TCUDB_OK;
}
