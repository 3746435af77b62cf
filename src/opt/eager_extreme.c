/*
 * eager_extreme.c: extremes of an expression over both sides of a join, from the extremes of each side.
 *
 *     max(a.x + b.y)      ->  max(max(x) + max(y))            below: max(x) of the left, max(y) of the right
 *     min(a.x - b.y)      ->  min(min(x) - max(y))
 *     max(a.x * b.y)      ->  max(greatest(min(x) * min(y), min(x) * max(y), max(x) * min(y), max(x) * max(y)))
 *     bool_or(a.x < b.y)  ->  bool_or(min(x) < max(y))        false < true: bool_or is a maximum
 *
 * A group of one side meets every row of the group of the other, so the pairs are all combinations. An expression in
 * which each side comes once, under + - * casts and comparisons, is monotone in each of the two for a fixed other
 * one; so its extremes lie at corners of the box that their extremes span, and every corner is a pair that is there.
 * Which corner is decided where signs are proven (ranges.c). NULL: an extreme is NULL where all values are, and then
 * so is every pair.
 * Exact numbers and dates only, that cannot overflow: rounding and NaN are not monotone. Under a comparison alone any
 * type whose MIN and MAX follow it.
 */
#include "opt/eager.h"

#include <assert.h>

typedef struct Corners {
    Eager *e;
    Expr *leaves[2]; /* the side's part of the expression */
    Expr *least[2], *most[2];
    const Expr *from[2]; /* what replaces the leaves now */
} Corners;

static bool is_exact(Type type)
{
    if (type.id == TYPE_NUMERIC) return type.precision > 0;
    return type.id == TYPE_INT2 || type.id == TYPE_INT4 || type.id == TYPE_INT8 || type.id == TYPE_DATE;
}

static bool is_monotone(const Expr *x)
{
    if (x->kind != EXPR_FUNC || !is_exact(x->type)) return false;
    if (x->func->kind == FUNC_CAST) return x->nargs == 1 && is_exact(x->args[0]->type);
    return x->func->kind == FUNC_OPERATOR && (expr_is_func(x, "+") || expr_is_func(x, "-") || expr_is_func(x, "*"));
}

/* Finds the leaves below x; false: it is of another form, or a side comes twice. */
static bool find_leaves(Corners *c, Expr *x, bool compared)
{
    int side = eager_side(c->e, x);
    if (!expr_has_cols(x)) return is_exact(x->type);
    if (side >= 0) {
        bool first = c->leaves[side] == NULL, fits = compared || is_exact(x->type);
        c->leaves[side] = x;
        return first && fits;
    }
    bool ok = is_monotone(x);
    for (uint32_t i = 0; i < x->nargs && ok; i++) ok = find_leaves(c, x->args[i], false);
    return ok;
}

static bool find_root(Corners *c, AggKind kind, Expr *x)
{
    bool boolean = kind == AGG_BOOL_AND || kind == AGG_BOOL_OR;
    FuncCompare compare = expr_compare(x);
    bool ordered = compare == CMP_LT || compare == CMP_LE || compare == CMP_GT || compare == CMP_GE;
    if (boolean != ordered) return false;
    bool ok = true;
    if (!ordered) ok = find_leaves(c, x, false);
    for (uint32_t i = 0; i < 2 && ordered && ok; i++) ok = find_leaves(c, x->args[i], true);
    return ok && c->leaves[0] != NULL && c->leaves[1] != NULL && expr_total(c->e->join, x);
}

static int sign_of(const Corners *c, const Expr *x)
{
    Range range;
    if (!expr_range(c->e->join, x, &range)) return 0;
    return range.min >= 0 ? 1 : range.max <= 0 ? -1 : 0;
}

/* 1: x grows with the side's leaf; -1: it falls; 0: not known. */
static int direction(const Corners *c, const Expr *x, const Expr *leaf)
{
    if (x == leaf) return 1;
    for (uint32_t i = 0; i < x->nargs; i++) {
        int below = direction(c, x->args[i], leaf);
        if (below == 2) continue;
        if (expr_is_func(x, "*")) return below * sign_of(c, x->args[1 - i]);
        FuncCompare compare = expr_compare(x);
        bool falls = expr_is_func(x, "-") && (x->nargs == 1 || i == 1);
        if (compare != CMP_NONE) falls = (compare == CMP_LT || compare == CMP_LE) == (i == 0);
        return falls ? -below : below;
    }
    return 2; /* the leaf is not in it */
}

static tcudb_status replace_leaf(void *ctx, Expr *x, Expr **replacement, Error *err)
{
    (void)err;
    Corners *c = ctx;
    for (int side = 0; side < 2; side++)
        if (x == c->leaves[side]) *replacement = (Expr *)(uintptr_t)c->from[side];
    return TCUDB_OK;
}

/* The side's extremes: of what is summed below, else of each row. */
static tcudb_status find_extremes(Corners *c, int side, bool *ok, Error *err)
{
    c->least[side] = c->most[side] = c->leaves[side];
    if (!c->e->sides[side].pre) return TCUDB_OK;
    TRY(eager_partial(c->e, side, AGG_MIN, c->leaves[side], &c->least[side], ok, err));
    TRY(eager_partial(c->e, side, AGG_MAX, c->leaves[side], &c->most[side], ok, err));
    TRY(expr_relabel(c->e->opt->arena, c->least[side], c->leaves[side]->type, 0, &c->least[side], err));
    return expr_relabel(c->e->opt->arena, c->most[side], c->leaves[side]->type, 0, &c->most[side], err);
}

/* The corners among which the wanted extreme is. */
static tcudb_status list_corners(Corners *c, Expr *x, bool most, Expr *corners[4], uint32_t *n, Error *err)
{
    int way[2];
    for (int side = 0; side < 2; side++) way[side] = direction(c, x, c->leaves[side]) * (most ? 1 : -1);
    for (uint32_t k = 0; k < 4; k++) {
        bool wanted = true;
        for (uint32_t side = 0; side < 2; side++) {
            bool high = (k >> side & 1) != 0;
            c->from[side] = high ? c->most[side] : c->least[side];
            wanted &= way[side] == 0 || (way[side] > 0) == high;
        }
        if (wanted) TRY(expr_replace(c->e->opt->arena, x, replace_leaf, c, &corners[(*n)++], err));
    }
    return TCUDB_OK;
}

tcudb_status eager_extreme(Eager *e, AggKind kind, Expr *x, Expr **value, bool *ok, Error *err)
{
    Corners c = {.e = e};
    Expr *corners[4];
    uint32_t n = 0;
    bool most = kind == AGG_MAX || kind == AGG_BOOL_OR, boolean = kind == AGG_BOOL_AND || kind == AGG_BOOL_OR;
    *ok = find_root(&c, kind, x);
    for (int side = 0; side < 2 && *ok; side++) TRY(find_extremes(&c, side, ok, err));
    if (!*ok) return TCUDB_OK;
    TRY(list_corners(&c, x, most, corners, &n, err));
    assert(n > 0);
    *value = corners[0];
    if (n == 1) return TCUDB_OK;
    if (boolean) return most ? expr_or(e->opt, corners, n, value, err) : expr_and(e->opt, corners, n, value, err);
    return expr_call(e->opt->arena, FUNC_FUNCTION, most ? "greatest" : "least", corners, n, 0, value, err);
}
