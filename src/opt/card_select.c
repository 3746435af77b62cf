/*
 * card_select.c: what share of rows a condition lets through.
 *
 * Equality with a constant: one of the column's distinct values, if it is within the bounds. Ranges:
 * interpolated between exact bounds, both ends of an interval on one column taken together. AND: product,
 * OR: complement of the product of complements, NOT: what is left of the rows that are not NULL. Conditions
 * on one text column are tried on its dictionary (card_dict.c).
 * Where nothing is known, the textbook guesses (System R): 1/10 for equality, 1/3 for a range, 1/4 for
 * LIKE. These decide only the order of joins, never a result.
 */
#include "opt/opt_int.h"

#include <assert.h>
#include <math.h>

static const double EQUAL_GUESS = 0.1, RANGE_GUESS = 0.33, LIKE_GUESS = 0.1, OTHER_GUESS = 0.33;
static const double DISTINCT_GUESS = 200, MIN_SHARE = 1e-9;

enum { LOOK_BACK = 64 };

static double clamp(double share)
{
    if (!(share > MIN_SHARE)) return MIN_SHARE;
    return share > 1 ? 1 : share;
}

typedef struct Domain {
    const Opt *opt;
    double product;
} Domain;

static bool multiply_domain(void *ctx, const Expr *e)
{
    Domain *d = ctx;
    double image = card_image(d->opt, e);
    if (image < INFINITY) {
        Domain args = {.opt = d->opt, .product = 1};
        for (uint32_t i = 0; i < e->nargs; i++) (void)expr_walk(e->args[i], multiply_domain, &args);
        d->product *= fmin(image, args.product);
        return false;
    }
    if (e->kind != EXPR_COL) return true;
    double distinct = card_fact(d->opt, e->col)->distinct;
    d->product *= distinct > 0 ? distinct : e->type.id == TYPE_BOOL ? 2 : DISTINCT_GUESS;
    return true;
}

double card_distinct(const Opt *opt, const Expr *e, double rows)
{
    Domain d = {.opt = opt, .product = 1};
    (void)expr_walk(e, multiply_domain, &d);
    if (d.product > rows) d.product = rows;
    return d.product < 1 ? 1 : d.product;
}

double card_equality(const Opt *opt, const Expr *a, const Expr *b)
{
    double da = card_distinct(opt, a, INFINITY), db = card_distinct(opt, b, INFINITY);
    return clamp(1 / (da > db ? da : db));
}

static double equal_share(const Opt *opt, const Expr *x, const Value *value)
{
    const Expr *column = expr_column(x);
    const ColFact *fact = column == NULL ? NULL : card_fact(opt, column->col);
    double number = card_number(value);
    if (fact != NULL && fact->has_range && isfinite(number) && (number < fact->lo || number > fact->hi)) return 0;
    if (fact == NULL || fact->distinct < 0) {
        return expr_has_cols(x) && fact == NULL ? clamp(1 / card_distinct(opt, x, INFINITY)) : EQUAL_GUESS;
    }
    return (1 - fact->null_share) / (fact->distinct < 1 ? 1 : fact->distinct);
}

/* Share of values below (or at) a number. */
static double below_share(const ColFact *fact, double number)
{
    if (number <= fact->lo) return 0;
    if (number >= fact->hi) return 1;
    return (number - fact->lo) / (fact->hi - fact->lo);
}

static double compare_share(const Opt *opt, const Expr *e)
{
    FuncCompare compare = expr_compare(e);
    const Expr *x = e->args[0], *c = e->args[1];
    if (c->kind != EXPR_CONST && x->kind == EXPR_CONST) {
        const Expr *swap = x;
        x = c;
        c = swap;
        compare = compare_swapped(compare);
    }
    if (c->kind == EXPR_CONST && c->value.null) return 0;
    if (compare == CMP_EQ) return c->kind == EXPR_CONST ? equal_share(opt, x, &c->value) : card_equality(opt, x, c);
    if (compare == CMP_NE)
        return 1 - (c->kind == EXPR_CONST ? equal_share(opt, x, &c->value) : card_equality(opt, x, c));
    const Expr *column = expr_column(x);
    const ColFact *fact = column == NULL ? NULL : card_fact(opt, column->col);
    double number = c->kind == EXPR_CONST ? card_number(&c->value) : NAN;
    if (fact == NULL || !fact->has_range || !isfinite(number)) return RANGE_GUESS;
    double below = below_share(fact, number);
    return (1 - fact->null_share) * (compare == CMP_LT || compare == CMP_LE ? below : 1 - below);
}

static double in_share(const Opt *opt, const Expr *e)
{
    double share = 0;
    for (uint32_t i = 1; i < e->nargs; i++) {
        if (expr_is_null_const(e->args[i])) continue;
        share += e->args[i]->kind == EXPR_CONST ? equal_share(opt, e->args[0], &e->args[i]->value)
                                                : card_equality(opt, e->args[0], e->args[i]);
    }
    return share;
}

static double null_share(const Opt *opt, const Expr *x)
{
    const Expr *column = expr_column(x);
    const ColFact *fact = column == NULL ? NULL : card_fact(opt, column->col);
    return fact != NULL && fact->seen ? fact->null_share : EQUAL_GUESS;
}

static bool is_like(const Expr *e)
{
    return expr_is_func(e, "~~") || expr_is_func(e, "~~*") || expr_is_func(e, "~") || expr_is_func(e, "~*");
}

static double func_share(const Opt *opt, const Expr *e)
{
    if (expr_compare(e) != CMP_NONE) return compare_share(opt, e);
    if (expr_is_not(e)) return 1 - card_selectivity(opt, e->args[0]);
    if (expr_is_func(e, "is null")) return null_share(opt, e->args[0]);
    if (expr_is_func(e, "is not null")) return 1 - null_share(opt, e->args[0]);
    if (is_like(e)) return LIKE_GUESS;
    if (expr_is_func(e, "!~~") || expr_is_func(e, "!~~*")) return 1 - LIKE_GUESS;
    return OTHER_GUESS;
}

double card_selectivity(const Opt *opt, const Expr *e)
{
    double share = 1;
    if ((e->kind == EXPR_FUNC || e->kind == EXPR_IN || e->kind == EXPR_OR) && card_dict_share(opt, e, &share))
        return clamp(share);
    share = 1;
    switch (e->kind) {
    case EXPR_CONST: return !e->value.null && e->value.b ? 1 : MIN_SHARE;
    case EXPR_AND: return card_selectivity_all(opt, e->args, e->nargs);
    case EXPR_OR:
        for (uint32_t i = 0; i < e->nargs; i++) share *= 1 - card_selectivity(opt, e->args[i]);
        return clamp(1 - share);
    case EXPR_IN: return clamp(in_share(opt, e));
    case EXPR_FUNC: return clamp(func_share(opt, e));
    case EXPR_COL: return 0.5;
    default: return OTHER_GUESS;
    }
}

/* The column and direction of "column < number" and the like. */
static const Expr *range_column(const Opt *opt, const Expr *e, bool *upper)
{
    FuncCompare compare = expr_compare(e);
    bool range = compare == CMP_LT || compare == CMP_LE || compare == CMP_GT || compare == CMP_GE;
    if (!range || e->args[1]->kind != EXPR_CONST) return NULL;
    const Expr *column = expr_column(e->args[0]);
    if (column == NULL) return NULL;
    const ColFact *fact = card_fact(opt, column->col);
    bool numbers = fact->has_range && isfinite(card_number(&e->args[1]->value));
    *upper = compare == CMP_LT || compare == CMP_LE;
    return numbers || (fact->table != NULL && type_is_text(column->type)) ? column : NULL;
}

/* A later condition that closes the interval that conds[i] opens; its share is taken together with it. */
static bool closes(const Opt *opt, Expr *const *conds, uint32_t i, uint32_t k)
{
    bool upper_i, upper_k;
    const Expr *a = range_column(opt, conds[i], &upper_i), *b = range_column(opt, conds[k], &upper_k);
    return a != NULL && b != NULL && a->col == b->col && upper_i != upper_k;
}

double card_selectivity_all(const Opt *opt, Expr *const *conds, uint32_t n)
{
    double share = 1;
    for (uint32_t i = 0; i < n; i++) {
        double own = card_selectivity(opt, conds[i]);
        bool upper;
        const Expr *range = range_column(opt, conds[i], &upper);
        for (uint32_t k = 0; range != NULL && k < i && k < LOOK_BACK; k++) {
            if (!closes(opt, conds, k, i)) continue;
            /* In share already: P(lo..hi) = P(>lo) + P(<hi) - P(not NULL). */
            double other = card_selectivity(opt, conds[k]), there = 1 - card_fact(opt, range->col)->null_share;
            own = clamp((own + other - there) / other);
            break;
        }
        share *= own;
    }
    assert(share <= 1.0 + 1e-9);
    return clamp(share);
}
