/*
 * contract_calls.c: aggregates as sums and counts, which a contraction has, and a projection above.
 *
 *     avg(x)       ->  CASE WHEN count(x) > 0 THEN sum(x) / count(x) END, in numeric
 *     var_samp(x)  ->  CASE WHEN count(x) > 1 THEN (n sum(x x) - sum(x) sum(x)) / (n (n - 1)) END, with n = count(x)
 *     sum(CASE ..) ->  the sums of its branches that have rows, added up (contract_cases.c)
 *
 * The variance and its root are num_variance's, as the aggregates' own: every digit is PostgreSQL's.
 */
#include "opt/contract.h"

/* One more call of the contraction; *ref is its column. */
static tcudb_status add_call(Opt *opt, ContractCalls *calls, const AggCall *like, AggKind kind, Expr *arg, Type type,
                             Expr **ref, Error *err)
{
    AggCall *call = &calls->items[calls->n++];
    *call = *like;
    call->kind = kind;
    call->args[0] = arg;
    call->col = opt_new_col(opt, type, agg_name(kind));
    *ref = expr_of_col(opt, &call->col, err);
    return *ref == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* Sums as wide as they get: the average of 8-byte integers may exist though their sum does not. */
static Type sum_type(Type of, uint32_t times)
{
    return TYPE_DECIMAL(38, of.id == TYPE_NUMERIC ? of.scale * times : 0);
}

static tcudb_status square(Opt *opt, Expr *x, Expr **out, Error *err)
{
    if (x->type.id != TYPE_NUMERIC) TRY(expr_cast(opt->arena, x, TYPE(TYPE_INT8), CAST_IMPLICIT, 0, &x, err));
    return expr_operator(opt, "*", x, x, out, err);
}

static const char *deviation_operator(AggKind kind)
{
    switch (kind) {
    case AGG_VAR_POP: return "var_pop of";
    case AGG_VAR_SAMP: return "var_samp of";
    case AGG_STDDEV_POP: return "stddev_pop of";
    default: return "stddev_samp of";
    }
}

/* CASE WHEN count > least THEN value END. */
static tcudb_status where_count(Opt *opt, Expr *count, int64_t least, Expr *value, Expr **out, Error *err)
{
    Value v = {.type = TYPE(TYPE_INT8), .i64 = least}, null = {.type = value->type, .null = true};
    Expr *args[3], *limit;
    TRY_PTR(limit = expr_const(opt->arena, &v, 0, err));
    TRY(expr_operator(opt, ">", count, limit, &args[0], err));
    args[1] = value;
    TRY_PTR(args[2] = expr_const(opt->arena, &null, 0, err));
    *out = expr_node(opt->arena, EXPR_CASE, value->type, args, 3, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* Of float8, real too: in float8, as PostgreSQL does it. */
static tcudb_status split_float_avg(Opt *opt, const AggCall *avg, ContractCalls *calls, Expr **final, Error *err)
{
    Expr *x = avg->args[0], *count, *args[2];
    TRY(expr_cast(opt->arena, x, TYPE(TYPE_FLOAT8), CAST_IMPLICIT, 0, &x, err));
    TRY(add_call(opt, calls, avg, AGG_SUM, x, TYPE(TYPE_FLOAT8), &args[0], err));
    TRY(add_call(opt, calls, avg, AGG_COUNT, x, TYPE(TYPE_INT8), &count, err));
    TRY(expr_cast(opt->arena, count, TYPE(TYPE_FLOAT8), CAST_IMPLICIT, 0, &args[1], err));
    TRY(expr_call(opt->arena, FUNC_OPERATOR, "/", args, 2, 0, final, err));
    return where_count(opt, count, 0, *final, final, err);
}

static tcudb_status split_avg(Opt *opt, const AggCall *avg, ContractCalls *calls, Expr **final, Error *err)
{
    Expr *x = avg->args[0], *count, *args[2];
    TRY(add_call(opt, calls, avg, AGG_SUM, x, sum_type(x->type, 1), &args[0], err));
    TRY(add_call(opt, calls, avg, AGG_COUNT, x, TYPE(TYPE_INT8), &count, err));
    for (uint32_t i = 0; i < 2; i++)
        TRY(expr_cast(opt->arena, i == 0 ? args[0] : count, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, &args[i], err));
    TRY(expr_call(opt->arena, FUNC_OPERATOR, "/", args, 2, 0, final, err));
    return where_count(opt, count, 0, *final, final, err);
}

static tcudb_status split_deviation(Opt *opt, const AggCall *call, ContractCalls *calls, Expr **final, Error *err)
{
    Expr *x = call->args[0], *squared, *args[3];
    bool sample = call->kind == AGG_VAR_SAMP || call->kind == AGG_STDDEV_SAMP;
    TRY(square(opt, x, &squared, err));
    TRY(add_call(opt, calls, call, AGG_COUNT, x, TYPE(TYPE_INT8), &args[0], err));
    TRY(add_call(opt, calls, call, AGG_SUM, x, sum_type(x->type, 1), &args[1], err));
    TRY(add_call(opt, calls, call, AGG_SUM, squared, sum_type(x->type, 2), &args[2], err));
    TRY(expr_call(opt->arena, FUNC_OPERATOR, deviation_operator(call->kind), args, 3, 0, final, err));
    return where_count(opt, args[0], sample, *final, final, err);
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

static bool is_exact(Type type)
{
    return type.id >= TYPE_INT2 && type.id <= TYPE_INT8 ? true : type.id == TYPE_NUMERIC && type.precision > 0;
}

/* ---- parts of a call -------------------------------------------------------------------------- */

static tcudb_status as_numeric(Opt *opt, Expr *e, Expr **out, Error *err)
{
    return expr_cast(opt->arena, e, TYPE(TYPE_NUMERIC), CAST_IMPLICIT, 0, out, err);
}

/* a + b; the other one where one is NULL. */
static tcudb_status add_known(Opt *opt, Expr *a, Expr *b, Expr **out, Error *err)
{
    Expr *args[3] = {NULL, a, b};
    TRY(expr_operator(opt, "+", a, b, &args[0], err));
    *out = expr_node(opt->arena, EXPR_COALESCE, a->type, args, 3, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* The number of rows of the parts, which is 0 where a row of the contraction is missing. */
static tcudb_status count_parts(Opt *opt, const AggCall *parts, uint32_t n, ContractCalls *calls, Expr **out,
                                Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        Expr *count;
        AggKind kind = parts[i].args[0] == NULL ? AGG_COUNT_STAR : AGG_COUNT;
        TRY(add_call(opt, calls, &parts[i], kind, parts[i].args[0], TYPE(TYPE_INT8), &count, err));
        TRY(zero_count(opt, &calls->items[calls->n - 1], &count, err));
        if (i == 0)
            *out = count;
        else
            TRY(expr_operator(opt, "+", *out, count, out, err));
    }
    return TCUDB_OK;
}

/* Sums of int4 of fewer than 2^32 rows are far from the ends of int8, and so is what they add up to. */
static bool add_up_in_int8(const AggCall *call, const AggCall *parts, uint32_t n)
{
    bool small = call->kind == AGG_SUM && call->col.type.id == TYPE_INT8;
    for (uint32_t i = 0; i < n; i++)
        small &= parts[i].args[0]->type.id == TYPE_INT2 || parts[i].args[0]->type.id == TYPE_INT4;
    return small;
}

static tcudb_status sum_parts(Opt *opt, const AggCall *call, const AggCall *parts, uint32_t n, ContractCalls *calls,
                              Expr **out, Error *err)
{
    bool small = add_up_in_int8(call, parts, n);
    for (uint32_t i = 0; i < n; i++) {
        Expr *x = parts[i].args[0], *sum;
        Type type = small ? TYPE(TYPE_INT8) : sum_type(x->type, 1);
        TRY(add_call(opt, calls, &parts[i], AGG_SUM, x, type, &sum, err));
        if (!small) TRY(as_numeric(opt, sum, &sum, err));
        if (i == 0)
            *out = sum;
        else
            TRY(add_known(opt, *out, sum, out, err));
    }
    return TCUDB_OK;
}

static tcudb_status combine_parts(Opt *opt, const AggCall *call, const AggCall *parts, uint32_t n, ContractCalls *calls,
                                  Expr **final, Error *err)
{
    Expr *args[2], *count;
    calls->divides = true;
    if (call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR) return count_parts(opt, parts, n, calls, final, err);
    TRY(sum_parts(opt, call, parts, n, calls, &args[0], err));
    if (call->kind == AGG_SUM) return expr_cast(opt->arena, args[0], call->col.type, CAST_EXPLICIT, 0, final, err);
    TRY(count_parts(opt, parts, n, calls, &count, err));
    TRY(as_numeric(opt, count, &args[1], err));
    TRY(expr_call(opt->arena, FUNC_OPERATOR, "/", args, 2, 0, final, err));
    return where_count(opt, count, 0, *final, final, err);
}

static bool are_exact(const AggCall *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].args[0] != NULL && !is_exact(parts[i].args[0]->type)) return false;
    return n > 0;
}

static tcudb_status split_call(Opt *opt, const Plan *agg, const AggCall *call, ContractCalls *calls, Expr **final,
                               Error *err)
{
    bool deviation = call->kind >= AGG_VAR_POP && call->kind <= AGG_STDDEV_SAMP;
    bool count = call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR;
    if ((deviation || call->kind == AGG_AVG) && is_exact(call->args[0]->type) && !call->distinct) {
        calls->divides = true;
        if (deviation) return split_deviation(opt, call, calls, final, err);
        return split_avg(opt, call, calls, final, err);
    }
    bool floats = call->nargs == 1 && (call->args[0]->type.id == TYPE_FLOAT8 || call->args[0]->type.id == TYPE_FLOAT4);
    if (call->kind == AGG_AVG && floats && !call->distinct) {
        calls->divides = true;
        return split_float_avg(opt, call, calls, final, err);
    }
    AggCall *item = &calls->items[calls->n++];
    *item = *call;
    return agg->agg.ngroups == 0 && count ? zero_count(opt, item, final, err) : TCUDB_OK;
}

static tcudb_status take_call(Opt *opt, const Plan *agg, const JoinGraph *g, uint64_t left, const AggCall *call,
                              ContractCalls *calls, Expr **final, Error *err)
{
    AggCall parts[CONTRACT_PARTS];
    uint32_t n = 0;
    if (g != NULL) TRY(contract_parts(opt, g, left, agg->inputs[0], call, parts, &n, err));
    bool counts = call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR;
    if (n > 0 && (counts || are_exact(parts, n))) return combine_parts(opt, call, parts, n, calls, final, err);
    return split_call(opt, agg, call, calls, final, err);
}

tcudb_status contract_calls(Opt *opt, const Plan *agg, const JoinGraph *g, uint64_t left, ContractCalls *calls,
                            Error *err)
{
    calls->items = ARENA_ARRAY(opt->arena, AggCall, agg->agg.naggs * 2 * CONTRACT_PARTS + 1, err);
    TRY_PTR(calls->items);
    calls->finals = ARENA_ARRAY(opt->arena, NamedExpr, agg->ncols + 1, err);
    TRY_PTR(calls->finals);
    for (uint32_t i = 0; i < agg->ncols; i++) {
        calls->finals[i].col = agg->cols[i];
        TRY_PTR(calls->finals[i].expr = expr_of_col(opt, &agg->cols[i], err));
    }
    for (uint32_t i = 0; i < agg->agg.naggs; i++)
        TRY(take_call(opt, agg, g, left, &agg->agg.aggs[i], calls, &calls->finals[agg->agg.ngroups + i].expr, err));
    return TCUDB_OK;
}
