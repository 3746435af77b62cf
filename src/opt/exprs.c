/*
 * exprs.c: tests on expressions, and building them.
 *
 * Nothing here changes an expression: they are immutable and shared. Lists are growable arrays in the
 * statement's arena. What the tests promise is one-sided: `true` is proven, `false` means not proven.
 */
#include "opt/opt_int.h"

#include <assert.h>

tcudb_status list_add(Opt *opt, ExprList *list, Expr *e, Error *err)
{
    assert(e != NULL);
    TRY_PTR(list->items = ARENA_MORE(opt->arena, list->items, list->n, &list->cap, err));
    list->items[list->n++] = e;
    return TCUDB_OK;
}

tcudb_status list_add_all(Opt *opt, ExprList *list, Expr *const *items, uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < n; i++) TRY(list_add(opt, list, items[i], err));
    return TCUDB_OK;
}

bool list_has(const ExprList *list, const Expr *e)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (expr_equal(list->items[i], e)) return true;
    return false;
}

/* Looks at so many only: duplicates are a matter of speed, and thousands of conditions must not be quadratic. */
enum { DEDUP_MAX = 64 };

tcudb_status list_add_new(Opt *opt, ExprList *list, Expr *e, Error *err)
{
    ExprList first = {.items = list->items, .n = list->n < DEDUP_MAX ? list->n : DEDUP_MAX};
    return list_has(&first, e) ? TCUDB_OK : list_add(opt, list, e, err);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static bool no_output_of(void *ctx, const Expr *e)
{
    return e->kind != EXPR_COL || plan_find_col(ctx, e->col) == NULL;
}

bool expr_touches(const Expr *e, const Plan *plan)
{
    return !expr_walk(e, no_output_of, (void *)(uintptr_t)plan);
}

static bool output_of(void *ctx, const Expr *e)
{
    return e->kind != EXPR_COL || plan_find_col(ctx, e->col) != NULL;
}

bool expr_within(const Expr *e, const Plan *plan)
{
    return expr_walk(e, output_of, (void *)(uintptr_t)plan);
}

static bool other_col(void *ctx, const Expr *e)
{
    return e->kind != EXPR_COL || e->col != *(const ColId *)ctx;
}

bool expr_has_col(const Expr *e, ColId col)
{
    return !expr_walk(e, other_col, &col);
}

static bool no_col(void *ctx, const Expr *e)
{
    (void)ctx;
    return e->kind != EXPR_COL;
}

bool expr_has_cols(const Expr *e)
{
    return !expr_walk(e, no_col, NULL);
}

const Expr *expr_column(const Expr *e)
{
    while (e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST && e->nargs == 1) e = e->args[0];
    return e->kind == EXPR_COL ? e : NULL;
}

bool expr_is_func(const Expr *e, const char *name)
{
    return e->kind == EXPR_FUNC && e->func->kind != FUNC_CAST && strcmp(e->func->name, name) == 0;
}

bool expr_rounds(const Expr *e)
{
    if (e->kind != EXPR_FUNC || (e->func->flags & (FUNC_NUM_INTEGER | FUNC_NUM_PLACES)) == 0) return false;
    return e->type.precision > 0 && e->args[0]->type.id == TYPE_NUMERIC && e->args[0]->type.precision > 0;
}

bool expr_is_not(const Expr *e)
{
    return e->nargs == 1 && expr_is_func(e, "not");
}

FuncCompare expr_compare(const Expr *e)
{
    if (e->kind != EXPR_FUNC || e->nargs != 2 || (e->func->flags & FUNC_COMPARISON) == 0) return CMP_NONE;
    return e->func->compare;
}

bool expr_is_equality(const Expr *e)
{
    return expr_compare(e) == CMP_EQ;
}

static bool bool_const(const Expr *e)
{
    return e->kind == EXPR_CONST && e->type.id == TYPE_BOOL && !e->value.null;
}

bool expr_is_true(const Expr *e)
{
    return bool_const(e) && e->value.b;
}

bool expr_is_false(const Expr *e)
{
    return bool_const(e) && !e->value.b;
}

bool expr_is_null_const(const Expr *e)
{
    return e->kind == EXPR_CONST && e->value.null;
}

bool expr_never_true(const Expr *e)
{
    return expr_is_false(e) || expr_is_null_const(e);
}

static bool safe_node(void *ctx, const Expr *e)
{
    (void)ctx;
    if (e->kind != EXPR_FUNC) return true;
    return (e->func->flags & FUNC_COMPARISON) != 0 || expr_is_func(e, "not") ||
           (e->func->kind == FUNC_OPERATOR && strncmp(e->func->name, "is ", 3) == 0);
}

bool expr_safe(const Expr *e)
{
    return expr_walk(e, safe_node, NULL);
}

/* ---- building ------------------------------------------------------------------------------- */

Expr *expr_bool(Opt *opt, bool value, Error *err)
{
    Value v = {.type = TYPE(TYPE_BOOL), .b = value};
    return expr_const(opt->arena, &v, 0, err);
}

tcudb_status expr_negate(Opt *opt, Expr *e, Expr **out, Error *err)
{
    if (expr_is_not(e)) {
        *out = e->args[0];
        return TCUDB_OK;
    }
    return expr_call(opt->arena, FUNC_OPERATOR, "not", &e, 1, e->position, out, err);
}

static tcudb_status combine(Opt *opt, ExprKind kind, Expr *const *items, uint32_t n, Expr **out, Error *err)
{
    assert(n > 0);
    if (n == 1) {
        *out = items[0];
        return TCUDB_OK;
    }
    Expr **args = ARENA_ARRAY(opt->arena, Expr *, n, err);
    TRY_PTR(args);
    memcpy(args, items, n * sizeof *args);
    *out = expr_node(opt->arena, kind, TYPE(TYPE_BOOL), args, n, items[0]->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status expr_and(Opt *opt, Expr *const *items, uint32_t n, Expr **out, Error *err)
{
    return combine(opt, EXPR_AND, items, n, out, err);
}

tcudb_status expr_or(Opt *opt, Expr *const *items, uint32_t n, Expr **out, Error *err)
{
    return combine(opt, EXPR_OR, items, n, out, err);
}

tcudb_status expr_operator(Opt *opt, const char *op, Expr *a, Expr *b, Expr **out, Error *err)
{
    Expr *args[2] = {a, b};
    return expr_call(opt->arena, FUNC_OPERATOR, op, args, 2, a->position, out, err);
}

Expr *expr_of_col(Opt *opt, const PlanCol *col, Error *err)
{
    return expr_col(opt->arena, col->id, col->type, 0, err);
}

typedef struct Substitution {
    Opt *opt;
    const NamedExpr *exprs;
    const PlanCol *from;
    const PlanCol *to;
    uint32_t n;
} Substitution;

static tcudb_status substitute_node(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    const Substitution *s = ctx;
    if (e->kind != EXPR_COL) return TCUDB_OK;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->exprs[i].col.id == e->col)
            return expr_relabel(s->opt->arena, s->exprs[i].expr, e->type, e->position, replacement, err);
    return TCUDB_OK;
}

tcudb_status expr_substitute(Opt *opt, Expr *e, const NamedExpr *exprs, uint32_t n, Expr **out, Error *err)
{
    Substitution s = {.opt = opt, .exprs = exprs, .n = n};
    return expr_replace(opt->arena, e, substitute_node, &s, out, err);
}

static tcudb_status rename_node(void *ctx, Expr *e, Expr **replacement, Error *err)
{
    const Substitution *s = ctx;
    if (e->kind != EXPR_COL) return TCUDB_OK;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->from[i].id != e->col) continue;
        *replacement = expr_col(s->opt->arena, s->to[i].id, e->type, e->position, err);
        TRY_PTR(*replacement);
        break;
    }
    return TCUDB_OK;
}

tcudb_status expr_rename(Opt *opt, Expr *e, const PlanCol *from, const PlanCol *to, uint32_t n, Expr **out, Error *err)
{
    Substitution s = {.opt = opt, .from = from, .to = to, .n = n};
    return expr_replace(opt->arena, e, rename_node, &s, out, err);
}
