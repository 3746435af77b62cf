/*
 * contract.c: splits the argument of an aggregate into products of per-side factors.
 *
 *     sum(a.x * (1 - b.y))  ->  1 * a.x * ONES  -  1 * a.x * b.y
 *
 * Expansion of + - * and unary minus; an expression over one side is a leaf as it stands. It is allowed only
 * where it changes nothing: leaves cannot fail (expr_total: they are evaluated on rows that may match
 * nothing), and every node above them has a proven range within its type, so that the expression as written
 * could not have overflowed either. Sums of the parts are exact integers, so the order does not matter.
 *
 * NULL: the argument is NULL where any leaf is. A side's condition says that its leaves are not NULL and that
 * FILTER holds; values are 0 elsewhere, and if any condition is not trivial the product of the conditions
 * counts the rows that contribute: where it is 0, SUM is NULL.
 *
 * Floating point (float8) is added exactly and rounded once (exec/tcu/floats.c), so the order does not matter either;
 * but products and sums of it are not distributed, since PostgreSQL rounds each.
 */
#include "opt/contract.h"

#include <assert.h>

static bool fail(Sides *s, const char *why)
{
    s->why = why;
    return false;
}

int sides_of(const Sides *s, const Expr *e)
{
    if (!expr_has_cols(e)) return 2;
    if (expr_within(e, s->inputs[0])) return 0;
    return expr_within(e, s->inputs[1]) ? 1 : -1;
}

static bool is_integer_type(Type type)
{
    bool exact = type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8 ||
                 (type.id == TYPE_NUMERIC && type.precision > 0);
    return exact && type_phys(type) <= PHYS_I64;
}

static bool is_float(Type type)
{
    return type.id == TYPE_FLOAT8;
}

static bool is_operator(const Expr *e, const char *name, uint32_t nargs)
{
    return e->nargs == nargs && expr_is_func(e, name) && e->func->kind == FUNC_OPERATOR;
}

static bool expand_leaf(Sides *s, Expr *e, int side, Poly *out)
{
    if (!is_integer_type(e->type)) return fail(s, "a factor is not an integer or decimal of at most 18 digits");
    if (!expr_total(s->inputs[side], e)) return fail(s, "a factor may fail on rows that match nothing");
    out->n = 1;
    out->monos[0] = (Mono){.factor = 1, .scale = e->type.scale};
    out->monos[0].leaves[side][0] = e;
    out->monos[0].nleaves[side] = 1;
    return true;
}

static bool expand_const(Sides *s, const Expr *e, Poly *out)
{
    Range value;
    if (expr_is_null_const(e) || !is_integer_type(e->type) || e->kind != EXPR_CONST || !expr_range(s->both, e, &value))
        return fail(s, "a factor is not an exact number");
    out->n = 1;
    out->monos[0] = (Mono){.factor = (int64_t)value.min, .scale = e->type.scale};
    return true;
}

static bool multiply_monos(Sides *s, const Mono *a, const Mono *b, Mono *out)
{
    *out = *a;
    if (__builtin_mul_overflow(a->factor, b->factor, &out->factor)) return fail(s, "a constant factor is too large");
    out->scale = a->scale + b->scale;
    for (int side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < b->nleaves[side]; i++) {
            if (out->nleaves[side] == LEAVES_MAX) return fail(s, "a product has too many factors");
            out->leaves[side][out->nleaves[side]++] = b->leaves[side][i];
        }
    }
    return true;
}

static bool expand_product(Sides *s, const Poly *a, const Poly *b, Poly *out)
{
    out->n = 0;
    if (a->n * b->n > POLY_MAX) return fail(s, "the argument expands to too many products");
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++)
            if (!multiply_monos(s, &a->monos[i], &b->monos[j], &out->monos[out->n++])) return false;
    return true;
}

static bool expand_sum(Sides *s, const Poly *a, const Poly *b, bool subtract, Poly *out)
{
    if (a->n + b->n > POLY_MAX) return fail(s, "the argument expands to too many products");
    *out = *a;
    for (uint32_t i = 0; i < b->n; i++) {
        Mono *mono = &out->monos[out->n++];
        *mono = b->monos[i];
        if (subtract) mono->factor = -mono->factor;
    }
    return true;
}

/* A cast that changes the type but no digit; scales are kept by the monos. */
static bool is_exact_cast(const Expr *e)
{
    if (e->kind != EXPR_FUNC || e->func->kind != FUNC_CAST || e->nargs != 1) return false;
    Type from = e->args[0]->type, to = e->type;
    bool from_ok = from.id >= TYPE_INT2 && from.id <= TYPE_NUMERIC, to_ok = to.id >= TYPE_INT2 && to.id <= TYPE_NUMERIC;
    return from_ok && to_ok && (from.id != TYPE_NUMERIC || from.precision > 0) &&
           (to.id != TYPE_NUMERIC || to.precision > 0) && to.scale >= from.scale;
}

bool poly_expand(Sides *s, Expr *e, Poly *out)
{
    int side = sides_of(s, e);
    if (side == 0 || side == 1) return expand_leaf(s, e, side, out);
    if (side == 2) return expand_const(s, e, out);
    if (e->kind != EXPR_FUNC || !expr_total(s->both, e))
        return fail(s, "an argument over both sides is not a proven sum of products");
    if (is_exact_cast(e)) return poly_expand(s, e->args[0], out);
    Poly a, b;
    if (is_operator(e, "-", 1)) {
        if (!poly_expand(s, e->args[0], out)) return false;
        for (uint32_t i = 0; i < out->n; i++) out->monos[i].factor = -out->monos[i].factor;
        return true;
    }
    bool product = is_operator(e, "*", 2), sum = is_operator(e, "+", 2), difference = is_operator(e, "-", 2);
    if (!product && !sum && !difference) return fail(s, "an argument over both sides is not a sum of products");
    if (!poly_expand(s, e->args[0], &a) || !poly_expand(s, e->args[1], &b)) return false;
    return product ? expand_product(s, &a, &b, out) : expand_sum(s, &a, &b, difference, out);
}

/* ---- conditions ------------------------------------------------------------------------------- */

/* What must hold on each side for a row to contribute. */
typedef struct Conditions {
    ExprList side[2];
} Conditions;

static tcudb_status add_condition(Sides *s, Conditions *conds, Expr *e, bool *ok, Error *err)
{
    Expr **parts = NULL;
    uint32_t n = 0;
    TRY(expr_conjuncts(s->opt->arena, e, &parts, &n, err));
    for (uint32_t i = 0; i < n && *ok; i++) {
        int side = sides_of(s, parts[i]);
        if (side == 2) side = 0;
        *ok = side >= 0 && expr_total(s->inputs[side], parts[i]);
        if (!*ok)
            s->why = "a condition spans both sides or may fail on rows that match nothing";
        else
            TRY(list_add_new(s->opt, &conds->side[side], parts[i], err));
    }
    return TCUDB_OK;
}

static tcudb_status require_not_null(Sides *s, Conditions *conds, int side, Expr *e, Error *err)
{
    if (expr_not_null(s->opt, s->inputs[side], NULL, e)) return TCUDB_OK;
    Expr *test;
    TRY(expr_call(s->opt->arena, FUNC_OPERATOR, "is not null", &e, 1, e->position, &test, err));
    return list_add_new(s->opt, &conds->side[side], test, err);
}

static tcudb_status require_poly(Sides *s, Conditions *conds, const Poly *poly, Error *err)
{
    for (uint32_t m = 0; m < poly->n; m++)
        for (int side = 0; side < 2; side++)
            for (uint32_t i = 0; i < poly->monos[m].nleaves[side]; i++)
                TRY(require_not_null(s, conds, side, poly->monos[m].leaves[side][i], err));
    return TCUDB_OK;
}

/* ---- values ------------------------------------------------------------------------------------- */

static tcudb_status integer_const(Sides *s, int64_t value, Type type, Expr **out, Error *err)
{
    Value v = {.type = type, .i64 = value};
    if (is_float(type)) v.f64 = (double)value;
    if (type.id == TYPE_INT2) v.i16 = (int16_t)value;
    if (type.id == TYPE_INT4) v.i32 = (int32_t)value;
    *out = expr_const(s->opt->arena, &v, 0, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* CASE WHEN conds THEN value ELSE 0 END; value as it is without conditions. */
static tcudb_status conditional(Sides *s, const ExprList *conds, Expr *value, Expr **out, Error *err)
{
    *out = value;
    if (conds->n == 0) return TCUDB_OK;
    Expr *args[3];
    TRY(expr_and(s->opt, conds->items, conds->n, &args[0], err));
    args[1] = value;
    TRY(integer_const(s, 0, value->type, &args[2], err));
    *out = expr_node(s->opt->arena, EXPR_CASE, value->type, args, 3, value->position, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* The product of a side's leaves, proven to fit 64 bits. */
static tcudb_status multiply_leaves(Sides *s, const Mono *mono, int side, Expr **out, bool *ok, Error *err)
{
    *out = mono->leaves[side][0];
    for (uint32_t i = 1; i < mono->nleaves[side] && *ok; i++) {
        Expr *args[2] = {*out, mono->leaves[side][i]};
        for (int a = 0; a < 2; a++)
            if (args[a]->type.id != TYPE_NUMERIC)
                TRY(expr_cast(s->opt->arena, args[a], TYPE(TYPE_INT8), CAST_IMPLICIT, 0, &args[a], err));
        TRY(expr_call(s->opt->arena, FUNC_OPERATOR, "*", args, 2, args[0]->position, out, err));
        *ok = expr_total(s->inputs[side], *out);
        TRY(expr_narrow(s->opt, s->inputs[side], *out, out, err));
        *ok = *ok && is_integer_type((*out)->type);
        if (!*ok) s->why = "a product of factors of one side may exceed 64 bits";
    }
    return TCUDB_OK;
}

static tcudb_status add_value(Sides *s, Plan *node, int side, Expr *value, uint32_t *index, Error *err)
{
    ExprList list = {node->contract.values[side], node->contract.nvalues[side], node->contract.nvalues[side]};
    for (*index = 0; *index < list.n; (*index)++)
        if (expr_equal(list.items[*index], value)) return TCUDB_OK;
    TRY(list_add(s->opt, &list, value, err));
    node->contract.values[side] = list.items;
    node->contract.nvalues[side] = list.n;
    return TCUDB_OK;
}

/* The index of a side's factor of a term: ONES, or a value with the side's conditions built in. mono NULL: 1. */
static tcudb_status add_factor(Sides *s, Plan *node, const Mono *mono, const Conditions *conds, int side,
                               uint32_t *index, bool *ok, Error *err)
{
    *index = CONTRACT_ONES;
    Expr *value;
    if (mono != NULL && mono->nleaves[side] > 0)
        TRY(multiply_leaves(s, mono, side, &value, ok, err));
    else if (conds->side[side].n > 0)
        TRY(integer_const(s, 1, TYPE(TYPE_INT4), &value, err));
    else
        return TCUDB_OK;
    if (!*ok) return TCUDB_OK;
    TRY(conditional(s, &conds->side[side], value, &value, err));
    return add_value(s, node, side, value, index, err);
}

static bool scale_factor(Sides *s, Mono *mono, uint32_t scale)
{
    if (mono->scale > scale) return fail(s, "the result has fewer decimals than its argument");
    for (uint32_t i = mono->scale; i < scale; i++)
        if (__builtin_mul_overflow(mono->factor, 10, &mono->factor)) return fail(s, "a constant factor is too large");
    return true;
}

static tcudb_status add_terms(Sides *s, Plan *node, Poly *poly, const Conditions *conds, ContractOut *out, bool *ok,
                              Error *err)
{
    out->nterms = poly->n;
    out->terms = ARENA_ARRAY(s->opt->arena, ContractTerm, poly->n + 1, err);
    TRY_PTR(out->terms);
    for (uint32_t m = 0; m < poly->n && *ok; m++) {
        ContractTerm *term = &out->terms[m];
        *ok = scale_factor(s, &poly->monos[m], out->col.type.scale);
        term->factor = poly->monos[m].factor;
        TRY(add_factor(s, node, &poly->monos[m], conds, 0, &term->left, ok, err));
        TRY(add_factor(s, node, &poly->monos[m], conds, 1, &term->right, ok, err));
    }
    return TCUDB_OK;
}

/* CASE WHEN c THEN x [ELSE 0] END over both sides: x where c holds. *x is NULL if e is not of that form; *zero says
 * that other rows count as 0 rather than NULL. */
static void pivot_parts(const Sides *s, const Expr *e, Expr **when, Expr **x, bool *zero)
{
    Range other;
    *x = NULL;
    if (e->kind != EXPR_CASE || e->nargs != 3 || sides_of(s, e) != -1) return;
    *zero = e->args[2]->kind == EXPR_CONST && !expr_is_null_const(e->args[2]);
    if (*zero && (!expr_range(s->both, e->args[2], &other) || other.min != 0 || other.max != 0)) return;
    if (!*zero && !expr_is_null_const(e->args[2])) return;
    *when = e->args[0];
    *x = e->args[1];
}

static bool float_leaf(Sides *s, Expr *e, int side, Mono *mono)
{
    if (!is_float(e->type)) return fail(s, "a product of floating point and other numbers");
    if (!expr_total(s->inputs[side], e)) return fail(s, "a factor may fail on rows that match nothing");
    mono->leaves[side][mono->nleaves[side]++] = e;
    return true;
}

/* Floating point is never taken apart: every row's value is rounded as the query says. One side, or a product of one
 * value of each. */
static bool expand_float(Sides *s, Expr *e, Poly *out)
{
    int side = sides_of(s, e);
    *out = (Poly){.n = 1, .monos = {{.factor = 1}}};
    if (side >= 0) return float_leaf(s, e, side == 2 ? 0 : side, &out->monos[0]);
    int left = is_operator(e, "*", 2) ? sides_of(s, e->args[0]) : -1;
    if (left != 0 && left != 1) return fail(s, "a floating point argument over both sides is no product of two values");
    if (sides_of(s, e->args[1]) != 1 - left)
        return fail(s, "a floating point argument over both sides is no product of two values");
    return float_leaf(s, e->args[0], left, &out->monos[0]) && float_leaf(s, e->args[1], 1 - left, &out->monos[0]);
}

/* SUM's argument as terms. `values` gets what must hold for a row to add something, `rows` for it not to be NULL. */
static tcudb_status expand_argument(Sides *s, Expr *argument, Poly *poly, Conditions *values, Conditions *rows,
                                    bool *ok, Error *err)
{
    Expr *when = NULL, *x;
    bool zero = false;
    pivot_parts(s, argument, &when, &x, &zero);
    if (x == NULL) x = argument;
    zero &= when != NULL;
    if (is_float(x->type) && zero) {
        s->why = "a floating point CASE with ELSE 0 over both sides";
        *ok = false;
        return TCUDB_OK;
    }
    *ok = is_float(x->type) ? expand_float(s, x, poly) : poly_expand(s, x, poly);
    if (!*ok) return TCUDB_OK;
    uint32_t before = rows->side[0].n + rows->side[1].n;
    TRY(require_poly(s, rows, poly, err));
    if (zero && rows->side[0].n + rows->side[1].n > before) {
        s->why = "a CASE with ELSE 0 over both sides has a factor that may be NULL";
        *ok = false;
    }
    if (*ok && when != NULL && !zero) TRY(add_condition(s, rows, when, ok, err));
    for (int side = 0; side < 2 && *ok; side++)
        TRY(list_add_all(s->opt, &values->side[side], rows->side[side].items, rows->side[side].n, err));
    if (*ok && when != NULL && zero) TRY(add_condition(s, values, when, ok, err));
    return TCUDB_OK;
}

/* COUNT's argument: `rows` gets what must hold for it not to be NULL. */
static tcudb_status count_argument(Sides *s, Expr *argument, Conditions *rows, bool *ok, Error *err)
{
    Poly poly;
    Conditions values = {0};
    int side = sides_of(s, argument);
    if (side < 0) return expand_argument(s, argument, &poly, &values, rows, ok, err);
    if (side == 2) side = 0;
    *ok = expr_total(s->inputs[side], argument);
    if (!*ok) s->why = "a counted expression may fail on rows that match nothing";
    return *ok ? require_not_null(s, rows, side, argument, err) : TCUDB_OK;
}

static bool is_sum_type(Type type)
{
    return type.id == TYPE_INT8 || (type.id == TYPE_NUMERIC && type.precision > 0) || is_float(type);
}

tcudb_status contract_add_call(Sides *s, const AggCall *call, Plan *node, ContractOut *out, bool *ok, Error *err)
{
    Conditions conds = {0}, values = {0};
    Poly poly = {.n = 1, .monos = {{.factor = 1}}};
    bool count = call->kind == AGG_COUNT || call->kind == AGG_COUNT_STAR;
    *ok = !call->distinct && (count || (call->kind == AGG_SUM && is_sum_type(call->col.type)));
    bool deviation = call->kind >= AGG_VAR_POP && call->kind <= AGG_STDDEV_SAMP;
    s->why = deviation ? "a deviation of floating point is rounded after every row"
                       : "an aggregate is not COUNT, SUM, AVG or a deviation of numbers";
    if (call->kind == AGG_SUM && call->col.type.id == TYPE_FLOAT4) s->why = "a sum of real is rounded after every row";
    if (*ok && call->filter != NULL) TRY(add_condition(s, &conds, call->filter, ok, err));
    if (!*ok) return TCUDB_OK;
    if (call->kind == AGG_SUM) TRY(expand_argument(s, call->args[0], &poly, &values, &conds, ok, err));
    if (call->kind == AGG_COUNT) TRY(count_argument(s, call->args[0], &conds, ok, err));
    *out = (ContractOut){.col = call->col};
    if (*ok) TRY(add_terms(s, node, &poly, call->kind == AGG_SUM ? &values : &conds, out, ok, err));
    out->nullable = !count && conds.side[0].n + conds.side[1].n > 0;
    out->nonnull.factor = 1;
    if (*ok && out->nullable) {
        TRY(add_factor(s, node, NULL, &conds, 0, &out->nonnull.left, ok, err));
        TRY(add_factor(s, node, NULL, &conds, 1, &out->nonnull.right, ok, err));
    }
    return TCUDB_OK;
}
