/*
 * casts.c: comparisons with constants in the column's own type.
 *
 * The binder compares an integer column with 24.5 by casting the column to numeric. Zone maps, encoded
 * scans and estimates want "column <= 24". So
 *     5 < x               ->  x > 5
 *     cast(x as T) op c   ->  x op c', if the cast is strictly increasing and c, cast to x's type and
 *                             back, is c again
 *     the same where c falls between two values of x's type: < and <= become < or <= the neighbour,
 *                             > and >= likewise; = is never true (used only in filters, since the
 *                             result for a NULL x is NULL and not FALSE)
 * A constant out of the type's range is left alone.
 */
#include "opt/opt_int.h"

#include <assert.h>

const char *compare_symbol(FuncCompare compare)
{
    static const char *const symbols[] = {
        [CMP_EQ] = "=", [CMP_NE] = "<>", [CMP_LT] = "<", [CMP_LE] = "<=", [CMP_GT] = ">", [CMP_GE] = ">="};
    assert((unsigned)compare < sizeof symbols / sizeof symbols[0]);
    return symbols[compare];
}

/* Whether the cast keeps order and equality of all values. */
static bool increasing(Type from, Type to)
{
    switch (from.id) {
    case TYPE_INT2: return to.id == TYPE_INT4 || to.id == TYPE_INT8 || to.id == TYPE_FLOAT8;
    case TYPE_INT4: return to.id == TYPE_INT8 || to.id == TYPE_FLOAT8;
    case TYPE_FLOAT4: return to.id == TYPE_FLOAT8;
    case TYPE_DATE: return to.id == TYPE_TIMESTAMP;
    default: return false;
    }
}

static uint32_t integer_digits(Type type)
{
    switch (type.id) {
    case TYPE_INT2: return 5;
    case TYPE_INT4: return 10;
    case TYPE_INT8: return 19;
    default: return type.precision - type.scale;
    }
}

/* Integers and decimals that the target holds with all their digits. */
static bool to_numeric(Type from, Type to)
{
    bool integer = from.id == TYPE_INT2 || from.id == TYPE_INT4 || from.id == TYPE_INT8;
    bool decimal = from.id == TYPE_NUMERIC && from.precision != 0;
    if (to.id != TYPE_NUMERIC || !(integer || decimal)) return false;
    if (to.precision == 0) return true;
    return to.scale >= (integer ? 0 : from.scale) && (uint32_t)(to.precision - to.scale) >= integer_digits(from);
}

/* The argument of a cast that may be undone, or NULL. */
static Expr *cast_source(const Expr *e)
{
    if (e->kind != EXPR_FUNC || e->func->kind != FUNC_CAST || e->nargs != 1) return NULL;
    Type from = e->args[0]->type;
    return increasing(from, e->type) || to_numeric(from, e->type) ? e->args[0] : NULL;
}

/* The operator for the constant's neighbour in the narrower type; below: the neighbour is less than it. */
static FuncCompare neighbour_compare(FuncCompare compare, bool below)
{
    if (compare == CMP_LT || compare == CMP_LE) return below ? CMP_LE : CMP_LT;
    if (compare == CMP_GT || compare == CMP_GE) return below ? CMP_GT : CMP_GE;
    return CMP_NONE;
}

static tcudb_status compare_with(Opt *opt, Expr *x, FuncCompare compare, const Value *value, int position, Expr **out,
                                 Error *err)
{
    Expr *c = expr_const(opt->arena, value, position, err);
    TRY_PTR(c);
    return expr_operator(opt, compare_symbol(compare), x, c, out, err);
}

/* Casts c to x's type and back; false if that fails. */
static bool round_trip(Opt *opt, const Expr *c, Type type, Value *narrow, Value *back)
{
    Error ignored;
    error_clear(&ignored);
    return value_cast(&c->value, type, CAST_EXPLICIT, opt->arena, narrow, &ignored) == TCUDB_OK && !narrow->null &&
           value_cast(narrow, c->type, CAST_EXPLICIT, opt->arena, back, &ignored) == TCUDB_OK && !back->null;
}

static tcudb_status narrow_const(Opt *opt, Expr *e, FuncCompare compare, bool filter, Expr **out, Error *err)
{
    const Expr *c = e->args[1];
    Expr *x = cast_source(e->args[0]);
    Value narrow, back;
    if (x == NULL || c->value.null || !round_trip(opt, c, x->type, &narrow, &back)) return TCUDB_OK;
    int order = value_compare(&back, &c->value);
    if (order == 0) return compare_with(opt, x, compare, &narrow, c->position, out, err);
    FuncCompare near = neighbour_compare(compare, order < 0);
    if (near != CMP_NONE) return compare_with(opt, x, near, &narrow, c->position, out, err);
    if (compare != CMP_EQ || !filter || !expr_safe(x)) return TCUDB_OK;
    *out = expr_bool(opt, false, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status expr_move_cast(Opt *opt, Expr *e, bool filter, Expr **out, Error *err)
{
    FuncCompare compare = expr_compare(e);
    *out = e;
    if (e->args[0]->kind == EXPR_CONST && e->args[1]->kind != EXPR_CONST) {
        compare = compare_swapped(compare);
        TRY(expr_operator(opt, compare_symbol(compare), e->args[1], e->args[0], out, err));
        e = *out;
    }
    if (e->nargs != 2 || e->args[1]->kind != EXPR_CONST) return TCUDB_OK;
    return narrow_const(opt, e, compare, filter, out, err);
}
