/*
 * rule_narrow.c: sums of decimals in 64 bits where the data proves that they fit.
 *
 * Pattern: the argument of SUM, AVG, VAR, STDDEV is + - * CASE COALESCE, round or the like over decimals whose type
 * needs more than 18 digits, as price * (1 - discount) of numeric(15,2) columns does, while their values do not.
 * Rewrite: the same expression with 18 digits, wherever its proven range (ranges.c) and those of its parts have no
 * more: the same values in words of 64 instead of 128 bits, and narrower states of the aggregate. Contractions take
 * such factors, too. Right because: the range is exact for the snapshot; the scale, which shows in results, stays; the
 * aggregate's result type was settled by the binder. Only arguments are rewritten, no column changes its type.
 */
#include "opt/opt_int.h"

enum { NARROW_DIGITS = 18 };

static bool is_wide(Type type)
{
    return type.id == TYPE_NUMERIC && type.precision > NARROW_DIGITS && type.scale <= NARROW_DIGITS;
}

static bool fits(Range range)
{
    const int64_t limit = 1000000000000000000; /* 10^18 */
    return range.min > -limit && range.max < limit;
}

static bool is_arithmetic(const Expr *e)
{
    if (e->kind != EXPR_FUNC || e->func->kind != FUNC_OPERATOR) return false;
    return expr_is_func(e, "+") || expr_is_func(e, "-") || expr_is_func(e, "*");
}

/* Which arguments are values rather than conditions. */
static bool is_value(const Expr *e, uint32_t arg)
{
    return e->kind != EXPR_CASE || arg % 2 == 1 || arg + 1 == e->nargs;
}

static tcudb_status narrow_const(Opt *opt, const Expr *e, Type type, Expr **out, Error *err)
{
    Value value = {.type = type, .null = e->value.null};
    if (!value.null) value.i64 = (int64_t)e->value.i128;
    *out = expr_const(opt->arena, &value, e->position, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status narrow_cast(Opt *opt, const Plan *input, Expr *e, Type type, Expr **out, Error *err)
{
    Expr *from;
    TRY(expr_narrow(opt, input, e->args[0], &from, err));
    uint8_t id = from->type.id;
    bool exact = id == TYPE_INT2 || id == TYPE_INT4 || id == TYPE_INT8 || (id == TYPE_NUMERIC && !is_wide(from->type));
    if (!exact || type_phys(from->type) > PHYS_I64) return TCUDB_OK;
    return expr_cast(opt->arena, from, type, CAST_IMPLICIT, e->position, out, err);
}

/* The node with narrow arguments; left as it is if one of them stays wide. */
static tcudb_status narrow_args(Opt *opt, const Plan *input, Expr *e, Type type, Expr **out, Error *err)
{
    Expr *copy = ARENA_NEW(opt->arena, Expr, err);
    TRY_PTR(copy);
    *copy = *e;
    copy->type = type;
    copy->args = ARENA_ARRAY(opt->arena, Expr *, e->nargs + 1, err);
    TRY_PTR(copy->args);
    for (uint32_t i = 0; i < e->nargs; i++) {
        copy->args[i] = e->args[i];
        if (!is_value(e, i)) continue;
        TRY(expr_narrow(opt, input, e->args[i], &copy->args[i], err));
        if (type_phys(copy->args[i]->type) > PHYS_I64) return TCUDB_OK;
        if (!is_arithmetic(e) && !expr_rounds(e))
            TRY(expr_cast(opt->arena, copy->args[i], type, CAST_IMPLICIT, 0, &copy->args[i], err));
    }
    *out = copy;
    return TCUDB_OK;
}

tcudb_status expr_narrow(Opt *opt, const Plan *input, Expr *e, Expr **out, Error *err)
{
    Range range;
    *out = e;
    if (!is_wide(e->type) || !expr_range(input, e, &range) || !fits(range)) return TCUDB_OK;
    Type type = TYPE_DECIMAL(NARROW_DIGITS, e->type.scale);
    if (e->kind == EXPR_CONST) return narrow_const(opt, e, type, out, err);
    if (e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST) return narrow_cast(opt, input, e, type, out, err);
    bool branches = e->kind == EXPR_CASE || e->kind == EXPR_COALESCE;
    return is_arithmetic(e) || expr_rounds(e) || branches ? narrow_args(opt, input, e, type, out, err) : TCUDB_OK;
}

static bool takes_narrow(AggKind kind)
{
    return kind == AGG_SUM || kind == AGG_AVG || (kind >= AGG_VAR_POP && kind <= AGG_STDDEV_SAMP);
}

static tcudb_status visit(Opt *opt, Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) TRY(visit(opt, plan->inputs[i], err));
    if (plan->kind != PLAN_AGGREGATE) return TCUDB_OK;
    for (uint32_t a = 0; a < plan->agg.naggs; a++) {
        AggCall *call = &plan->agg.aggs[a];
        if (call->nargs != 1 || !takes_narrow(call->kind)) continue;
        Expr *before = call->args[0];
        TRY(expr_narrow(opt, plan->inputs[0], before, &call->args[0], err));
        opt->changed |= call->args[0] != before;
    }
    return TCUDB_OK;
}

tcudb_status rule_narrow(Opt *opt, Plan **root, Error *err)
{
    return visit(opt, *root, err);
}
