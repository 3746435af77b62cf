/*
 * card_bounds.c: proven bounds on the absolute value of an expression.
 *
 * From exact bounds of columns, through constants, casts, sums, differences, products, CASE and COALESCE;
 * otherwise what the type allows. In double with a factor of safety, so a bound is never too small. Used
 * to prove that a rewrite cannot meet an overflow that the original would not, and the other way round.
 */
#include "opt/opt_int.h"

#include <assert.h>
#include <math.h>

static const double SAFE = 1 + 1e-9; /* covers the rounding of a double operation */

static double type_max_abs(Type type)
{
    switch (type.id) {
    case TYPE_INT2: return 32768.0;
    case TYPE_INT4: return 2147483648.0;
    case TYPE_INT8: return 9223372036854775808.0;
    case TYPE_NUMERIC: return type.precision == 0 ? INFINITY : pow(10, type.precision - type.scale);
    default: return INFINITY;
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double col_max_abs(const Opt *opt, const Expr *e)
{
    const ColFact *fact = card_fact(opt, e->col);
    double by_type = type_max_abs(e->type);
    if (!fact->exact || by_type == INFINITY) return by_type;
    double bound = larger(fabs(card_number(&fact->min)), fabs(card_number(&fact->max))) * SAFE;
    return bound < by_type ? bound : by_type;
}

static double func_max_abs(const Opt *opt, const Expr *e)
{
    double a = e->nargs > 0 ? card_max_abs(opt, e->args[0]) : INFINITY;
    double b = e->nargs > 1 ? card_max_abs(opt, e->args[1]) : 0;
    bool rounds = e->func->kind == FUNC_CAST; /* to a smaller scale, by less than 1 */
    if (rounds) return (a + 1) * SAFE;
    if (e->func->kind != FUNC_OPERATOR) return INFINITY;
    if (strcmp(e->func->name, "+") == 0 || strcmp(e->func->name, "-") == 0) return (a + b) * SAFE;
    if (strcmp(e->func->name, "*") == 0) return a * b * SAFE;
    return INFINITY;
}

double card_max_abs(const Opt *opt, const Expr *e)
{
    double bound = INFINITY, by_type = type_max_abs(e->type);
    switch (e->kind) {
    case EXPR_COL: return col_max_abs(opt, e);
    case EXPR_CONST: bound = e->value.null ? 0 : fabs(card_number(&e->value)) * SAFE; break;
    case EXPR_FUNC: bound = func_max_abs(opt, e); break;
    case EXPR_CASE:
        bound = card_max_abs(opt, e->args[e->nargs - 1]);
        for (uint32_t i = 1; i < e->nargs; i += 2) bound = larger(bound, card_max_abs(opt, e->args[i]));
        break;
    case EXPR_COALESCE:
        bound = 0;
        for (uint32_t i = 0; i < e->nargs; i++) bound = larger(bound, card_max_abs(opt, e->args[i]));
        break;
    default: break;
    }
    if (isnan(bound)) bound = INFINITY;
    assert(bound >= 0);
    return bound < by_type ? bound : by_type;
}
