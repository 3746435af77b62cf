/*
 * eager_split.c: one aggregate over a join as aggregates of its sides.
 *
 * With n_L and n_R the numbers of rows that a group of either side stands for (1 where the side is not
 * aggregated before the join):
 *     count(*)       sum(n_L n_R)
 *     count(x)       sum(count_X(x) n_Y)               x over side X, Y the other
 *     sum(x)         sum(sum_X(x) n_Y)
 *     sum(x y)       sum(sum_L(x) sum_R(y))
 *     avg(...)       sum / count, as numeric
 *     min, max, bool_and, bool_or, any                 of those of side X: multiplicity does not matter; over both
 *                                                      sides: eager_extreme.c
 * FILTER over one side becomes CASE in the argument. NULL: sums of no values are NULL and drop out of the
 * sums above; a count over no rows is made 0.
 * Types and overflow: sum(int4) is bigint and sum(bigint) numeric in PostgreSQL, so the sum of sums is cast
 * back, which reports what PostgreSQL's sum would. Products are bigint where bounds prove that they fit,
 * else numeric. A product x y inside the original sum is computed per pair of rows by PostgreSQL and may
 * overflow there; the rewrite never computes it, so it is done only where bounds prove that it cannot.
 * Floating-point sums depend on the order of rows and are left alone.
 */
#include "opt/eager.h"

#include <assert.h>
#include <math.h>

static const double INT8_SAFE = 9.2e18, DECIMAL_SAFE = 1e37;

int eager_side(const Eager *e, const Expr *x)
{
    bool left = expr_touches(x, e->sides[0].plan), right = expr_touches(x, e->sides[1].plan);
    return left == right ? -1 : right;
}

static tcudb_status result_type(AggKind kind, const Expr *arg, Type *out, Error *err)
{
    AggCallType type;
    *out = TYPE(TYPE_INT8);
    if (kind == AGG_COUNT_STAR || kind == AGG_COUNT) return TCUDB_OK;
    *out = arg->type;
    if (kind != AGG_SUM) return TCUDB_OK;
    TRY(agg_resolve(STR_LIT("sum"), &arg->type, 1, false, 0, &type, err));
    *out = type.result;
    return TCUDB_OK;
}

/* The column of an aggregate in the list, which it joins if it is not there yet. */
static tcudb_status call_column(Opt *opt, AggCall **calls, uint32_t *n, uint32_t *cap, AggKind kind, Expr *arg,
                                Expr **out, Error *err)
{
    for (uint32_t i = 0; i < *n; i++) {
        const AggCall *c = &(*calls)[i];
        if (c->kind != kind || (arg != NULL && !expr_equal(c->args[0], arg))) continue;
        *out = expr_of_col(opt, &c->col, err);
        TRY_PTR(*out);
        return TCUDB_OK;
    }
    Type type;
    TRY(result_type(kind, arg, &type, err));
    TRY_PTR(*calls = ARENA_MORE(opt->arena, *calls, *n, cap, err));
    AggCall *c = &(*calls)[(*n)++];
    *c = (AggCall){.col = opt_new_col(opt, type, agg_name(kind)), .kind = kind, .nargs = arg != NULL, .args = {arg}};
    *out = expr_of_col(opt, &c->col, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status eager_partial(Eager *e, int side, AggKind kind, Expr *arg, Expr **out, bool *ok, Error *err)
{
    EagerSide *s = &e->sides[side];
    assert(s->pre);
    if (arg != NULL && !expr_total(s->plan, arg)) *ok = false;
    return call_column(e->opt, &s->partials, &s->npartials, &s->cap, kind, arg, out, err);
}

static tcudb_status top(Eager *e, AggKind kind, Expr *arg, Expr **out, Error *err)
{
    return call_column(e->opt, &e->tops, &e->ntops, &e->top_cap, kind, arg, out, err);
}

/* A value over the join's rows with a bound on its absolute value. */
typedef struct Term {
    Expr *e; /* NULL: 1 */
    double bound;
} Term;

/* The largest absolute value of an exact number over a side, proven; INFINITY: not proven. */
static double max_abs(const Eager *e, int side, const Expr *x)
{
    Range range;
    if (!expr_range(e->sides[side].plan, x, &range)) return INFINITY;
    double low = fabs((double)range.min), high = fabs((double)range.max);
    return (low > high ? low : high) * (1 + 1e-9) / pow(10, x->type.id == TYPE_NUMERIC ? x->type.scale : 0);
}

static double side_rows(const Eager *e, int side)
{
    return (double)plan_max_rows(e->sides[side].plan);
}

/* How many original rows a row of the side stands for. */
static tcudb_status multiplicity(Eager *e, int side, Term *out, bool *ok, Error *err)
{
    *out = (Term){.bound = 1};
    if (!e->sides[side].pre) return TCUDB_OK;
    out->bound = side_rows(e, side);
    return eager_partial(e, side, AGG_COUNT_STAR, NULL, &out->e, ok, err);
}

static bool is_integer(Type type)
{
    return type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8;
}

/* The sum of x over the rows that a row of its side stands for. */
static tcudb_status summed(Eager *e, int side, Expr *x, Term *out, bool *ok, Error *err)
{
    *out = (Term){.e = x, .bound = max_abs(e, side, x)};
    if (!e->sides[side].pre) return TCUDB_OK;
    out->bound *= side_rows(e, side);
    if (is_integer(x->type) && x->type.id != TYPE_INT8 && out->bound > INT8_SAFE) *ok = false;
    return eager_partial(e, side, AGG_SUM, x, &out->e, ok, err);
}

static tcudb_status multiply(Eager *e, Term a, Term b, Term *out, bool *ok, Error *err)
{
    *out = a.e == NULL ? b : a;
    if (a.e == NULL || b.e == NULL) return TCUDB_OK;
    Opt *opt = e->opt;
    bool integers = is_integer(a.e->type) && is_integer(b.e->type);
    out->bound = a.bound * b.bound;
    if (!(out->bound < DECIMAL_SAFE)) *ok = false;
    Type type = integers && out->bound < INT8_SAFE ? TYPE(TYPE_INT8) : TYPE(TYPE_NUMERIC);
    TRY(expr_cast(opt->arena, a.e, type, CAST_EXPLICIT, 0, &a.e, err));
    TRY(expr_cast(opt->arena, b.e, type, CAST_EXPLICIT, 0, &b.e, err));
    return expr_operator(opt, "*", a.e, b.e, &out->e, err);
}

static tcudb_status cast_to(Eager *e, Expr *x, Type type, Expr **out, Error *err)
{
    return expr_cast(e->opt->arena, x, type, CAST_EXPLICIT, 0, out, err);
}

static tcudb_status int8_const(Eager *e, int64_t value, Expr **out, Error *err)
{
    Value v = {.type = TYPE(TYPE_INT8), .i64 = value};
    *out = expr_const(e->opt->arena, &v, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* COALESCE(sum(term), 0) as bigint; a term that is 1 is counted. */
static tcudb_status count_top(Eager *e, Term term, Expr **final, Error *err)
{
    if (term.e == NULL) return top(e, AGG_COUNT_STAR, NULL, final, err);
    Expr *args[2], *sum;
    TRY(top(e, AGG_SUM, term.e, &sum, err));
    TRY(cast_to(e, sum, TYPE(TYPE_INT8), &args[0], err));
    TRY(int8_const(e, 0, &args[1], err));
    *final = expr_node(e->opt->arena, EXPR_COALESCE, TYPE(TYPE_INT8), args, 2, 0, err);
    TRY_PTR(*final);
    return TCUDB_OK;
}

static tcudb_status split_count_star(Eager *e, Expr **final, bool *ok, Error *err)
{
    Term left, right, term;
    TRY(multiplicity(e, 0, &left, ok, err));
    TRY(multiplicity(e, 1, &right, ok, err));
    TRY(multiply(e, left, right, &term, ok, err));
    return count_top(e, term, final, err);
}

/* CASE WHEN x IS NULL THEN 0 ELSE 1 END */
static tcudb_status one_if_there(Eager *e, Expr *x, Expr **out, Error *err)
{
    Expr *args[3];
    TRY(expr_call(e->opt->arena, FUNC_OPERATOR, "is null", &x, 1, 0, &args[0], err));
    TRY(int8_const(e, 0, &args[1], err));
    TRY(int8_const(e, 1, &args[2], err));
    *out = expr_node(e->opt->arena, EXPR_CASE, TYPE(TYPE_INT8), args, 3, 0, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status split_count(Eager *e, Expr *x, Expr **final, bool *ok, Error *err)
{
    int side = eager_side(e, x);
    Term own = {.bound = 1}, other, term;
    if (side < 0) {
        *ok = false;
        return TCUDB_OK;
    }
    TRY(multiplicity(e, 1 - side, &other, ok, err));
    if (e->sides[side].pre) {
        own.bound = side_rows(e, side);
        TRY(eager_partial(e, side, AGG_COUNT, x, &own.e, ok, err));
    } else {
        TRY(one_if_there(e, x, &own.e, err));
    }
    TRY(multiply(e, own, other, &term, ok, err));
    return count_top(e, term, final, err);
}

/* The factors of x y with x over the left and y over the right side (or the other way round). */
static bool product_sides(const Eager *e, const Expr *x, Expr *factors[2])
{
    if (!expr_is_func(x, "*") || x->nargs != 2) return false;
    for (int i = 0; i < 2; i++) {
        int side = eager_side(e, x->args[i]);
        if (side < 0 || eager_side(e, x->args[1 - i]) != 1 - side) continue;
        factors[side] = x->args[i];
        factors[1 - side] = x->args[1 - i];
        return true;
    }
    return false;
}

/* PostgreSQL would not have overflowed in any product of two rows. */
static bool product_fits(const Eager *e, const Expr *x, Expr *const factors[2])
{
    double bound = max_abs(e, 0, factors[0]) * max_abs(e, 1, factors[1]);
    switch (x->type.id) {
    case TYPE_INT2: return bound < 32767;
    case TYPE_INT4: return bound < 2147483647;
    case TYPE_INT8: return bound < INT8_SAFE;
    default: return bound < DECIMAL_SAFE;
    }
}

static tcudb_status split_sum(Eager *e, Expr *x, Type type, Expr **final, bool *ok, Error *err)
{
    Term a, b, term;
    Expr *factors[2], *sum;
    int side = eager_side(e, x);
    if (!is_integer(x->type) && x->type.id != TYPE_NUMERIC) *ok = false;
    if (side < 0 && (!product_sides(e, x, factors) || !product_fits(e, x, factors))) *ok = false;
    if (!*ok) return TCUDB_OK;
    if (side >= 0) {
        TRY(summed(e, side, x, &a, ok, err));
        TRY(multiplicity(e, 1 - side, &b, ok, err));
    } else {
        TRY(summed(e, 0, factors[0], &a, ok, err));
        TRY(summed(e, 1, factors[1], &b, ok, err));
    }
    TRY(multiply(e, a, b, &term, ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(top(e, AGG_SUM, term.e, &sum, err));
    return cast_to(e, sum, type, final, err);
}

static tcudb_status split_avg(Eager *e, Expr *x, Type type, Expr **final, bool *ok, Error *err)
{
    Expr *sum = NULL, *count = NULL;
    if (eager_side(e, x) < 0) *ok = false;
    if (*ok) TRY(split_sum(e, x, TYPE(TYPE_NUMERIC), &sum, ok, err));
    if (*ok) TRY(split_count(e, x, &count, ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(cast_to(e, count, TYPE(TYPE_NUMERIC), &count, err));
    TRY(expr_operator(e->opt, "/", sum, count, final, err));
    return cast_to(e, *final, type, final, err);
}

/* Aggregates for which it does not matter how often a value comes. */
static tcudb_status split_extreme(Eager *e, AggKind kind, Expr *x, Type type, Expr **final, bool *ok, Error *err)
{
    int side = eager_side(e, x);
    if (side < 0 && kind == AGG_ANY) *ok = false;
    if (side < 0 && *ok) TRY(eager_extreme(e, kind, x, &x, ok, err));
    if (!*ok) return TCUDB_OK;
    if (side >= 0 && e->sides[side].pre) TRY(eager_partial(e, side, kind, x, &x, ok, err));
    TRY(top(e, kind, x, final, err));
    return expr_relabel(e->opt->arena, *final, type, (*final)->position, final, err);
}

/* FILTER in the argument: CASE WHEN filter THEN x END; count(*) counts TRUEs. */
static tcudb_status fold_filter(Eager *e, AggCall *call, bool *ok, Error *err)
{
    if (call->filter == NULL) return TCUDB_OK;
    Expr *x = call->nargs > 0 ? call->args[0] : NULL;
    int side = eager_side(e, call->filter);
    if (side < 0 || (x != NULL && eager_side(e, x) != side)) *ok = false;
    if (!*ok) return TCUDB_OK;
    if (x == NULL) x = expr_bool(e->opt, true, err);
    TRY_PTR(x);
    Value null = {.type = x->type, .null = true};
    Expr *args[3] = {call->filter, x, expr_const(e->opt->arena, &null, 0, err)};
    TRY_PTR(args[2]);
    call->args[0] = expr_node(e->opt->arena, EXPR_CASE, x->type, args, 3, 0, err);
    TRY_PTR(call->args[0]);
    if (call->kind == AGG_COUNT_STAR) call->kind = AGG_COUNT;
    call->nargs = 1;
    call->filter = NULL;
    return TCUDB_OK;
}

tcudb_status eager_split(Eager *e, const AggCall *original, Expr **final, bool *ok, Error *err)
{
    AggCall call = *original;
    bool extreme = call.kind == AGG_MIN || call.kind == AGG_MAX || call.kind == AGG_BOOL_AND ||
                   call.kind == AGG_BOOL_OR || call.kind == AGG_ANY;
    if (call.distinct && !extreme) *ok = false;
    for (uint32_t i = 0; i < call.nargs; i++)
        if (expr_volatile(call.args[i])) *ok = false;
    if (*ok) TRY(fold_filter(e, &call, ok, err));
    if (!*ok) return TCUDB_OK;
    if (extreme) return split_extreme(e, call.kind, call.args[0], call.col.type, final, ok, err);
    switch (call.kind) {
    case AGG_COUNT_STAR: return split_count_star(e, final, ok, err);
    case AGG_COUNT: return split_count(e, call.args[0], final, ok, err);
    case AGG_SUM: return split_sum(e, call.args[0], call.col.type, final, ok, err);
    case AGG_AVG: return split_avg(e, call.args[0], call.col.type, final, ok, err);
    default: *ok = false; return TCUDB_OK;
    }
}
