/*
 * nulls.c: what an expression yields once some columns are NULL.
 *
 * An outer join makes rows whose one side is all NULL. A filter above that is never true on such rows
 * makes the join an inner one. Proven bottom-up: a strict function is NULL if an argument is; AND is not
 * true if one conjunct is not; OR if all are. Everything else counts as unknown.
 */
#include "opt/opt_int.h"

#include <assert.h>

static bool any_null(const Expr *e, const ColSet *nulls)
{
    for (uint32_t i = 0; i < e->nargs; i++)
        if (expr_null_on_nulls(e->args[i], nulls)) return true;
    return false;
}

static bool all_null(const Expr *e, const ColSet *nulls)
{
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!expr_null_on_nulls(e->args[i], nulls)) return false;
    return e->nargs > 0;
}

bool expr_null_on_nulls(const Expr *e, const ColSet *nulls)
{
    switch (e->kind) {
    case EXPR_COL: return colset_has(nulls, e->col);
    case EXPR_CONST: return e->value.null;
    case EXPR_FUNC: return (e->func->flags & FUNC_STRICT) != 0 && any_null(e, nulls);
    case EXPR_AND: /* FALSE AND NULL is FALSE: all must be NULL */
    case EXPR_OR:
    case EXPR_COALESCE: return all_null(e, nulls);
    case EXPR_IN: return expr_null_on_nulls(e->args[0], nulls);
    default: return false;
    }
}

/* Certainly not false: for NOT, whose result is then not true. */
static bool never_false(const Expr *e, const ColSet *nulls)
{
    if (expr_null_on_nulls(e, nulls)) return true;
    if (e->kind == EXPR_CONST) return e->type.id == TYPE_BOOL && e->value.b;
    if (expr_is_func(e, "is null")) return expr_null_on_nulls(e->args[0], nulls);
    if (e->kind == EXPR_OR)
        for (uint32_t i = 0; i < e->nargs; i++)
            if (expr_is_func(e->args[i], "is null") && expr_null_on_nulls(e->args[i]->args[0], nulls)) return true;
    return false;
}

bool expr_rejects_nulls(const Expr *e, const ColSet *nulls)
{
    assert(e->type.id == TYPE_BOOL);
    if (expr_null_on_nulls(e, nulls) || expr_is_false(e)) return true;
    if (expr_is_not(e)) return never_false(e->args[0], nulls);
    if (expr_is_func(e, "is not null") || expr_is_func(e, "is true") || expr_is_func(e, "is false"))
        return expr_null_on_nulls(e->args[0], nulls);
    if (e->kind == EXPR_AND) {
        for (uint32_t i = 0; i < e->nargs; i++)
            if (expr_rejects_nulls(e->args[i], nulls)) return true;
        return false;
    }
    if (e->kind != EXPR_OR) return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!expr_rejects_nulls(e->args[i], nulls)) return false;
    return true;
}
