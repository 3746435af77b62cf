/*
 * expr_walk.c: visiting, rewriting and splitting expressions.
 *
 * Rewriting shares what it does not change: a tree without a replacement comes back as itself. Depth is
 * limited (54001) where an error can be reported; the binder builds nothing deeper than EXPR_MAX_DEPTH.
 */
#include "expr/expr_int.h"

#include <assert.h>

bool expr_walk(const Expr *e, ExprVisit fn, void *ctx)
{
    if (!fn(ctx, e)) return false;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!expr_walk(e->args[i], fn, ctx)) return false;
    return true;
}

tcudb_status expr_depth_error(Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    error_hint(err, "Expressions may be nested %d deep.", EXPR_MAX_DEPTH);
    return status;
}

typedef struct Replacer {
    Arena *arena;
    ExprReplace fn;
    void *ctx;
} Replacer;

static tcudb_status replace(const Replacer *r, Expr *e, uint32_t depth, Expr **out, Error *err)
{
    if (depth > EXPR_MAX_DEPTH) return expr_depth_error(err);
    Expr *replacement = NULL;
    TRY(r->fn(r->ctx, e, &replacement, err));
    *out = replacement != NULL ? replacement : e;
    if (replacement != NULL) return TCUDB_OK;
    Expr *copy = NULL;
    for (uint32_t i = 0; i < e->nargs; i++) {
        Expr *arg = NULL;
        TRY(replace(r, e->args[i], depth + 1, &arg, err));
        if (arg == e->args[i]) continue;
        if (copy == NULL) {
            copy = expr_node(r->arena, e->kind, e->type, e->args, e->nargs, e->position, err);
            TRY_PTR(copy);
            if (e->kind == EXPR_FUNC) copy->func = e->func;
        }
        copy->args[i] = arg;
    }
    if (copy != NULL) *out = copy;
    return TCUDB_OK;
}

tcudb_status expr_replace(Arena *arena, Expr *e, ExprReplace fn, void *ctx, Expr **out, Error *err)
{
    Replacer r = {arena, fn, ctx};
    return replace(&r, e, 0, out, err);
}

static bool not_volatile(void *ctx, const Expr *e)
{
    (void)ctx;
    return e->kind != EXPR_FUNC || (e->func->flags & FUNC_VOLATILE) == 0;
}

bool expr_volatile(const Expr *e)
{
    return !expr_walk(e, not_volatile, NULL);
}

bool expr_is_const(const Expr *e)
{
    return e->kind == EXPR_CONST;
}

static tcudb_status append(Arena *arena, Expr *e, Expr ***list, uint32_t *n, Error *err)
{
    bool full = *n == 0 || (*n >= 4 && (*n & (*n - 1)) == 0); /* capacity: 4, then powers of two */
    if (full) {
        uint32_t cap = *n < 4 ? 4 : *n * 2;
        Expr **grown = ARENA_ARRAY(arena, Expr *, cap, err);
        TRY_PTR(grown);
        if (*n > 0) memcpy(grown, *list, *n * sizeof **list);
        *list = grown;
    }
    (*list)[(*n)++] = e;
    return TCUDB_OK;
}

tcudb_status expr_conjuncts(Arena *arena, Expr *e, Expr ***list, uint32_t *n, Error *err)
{
    assert(e->type.id == TYPE_BOOL || e->type.id == TYPE_UNKNOWN);
    if (e->kind != EXPR_AND) return append(arena, e, list, n, err);
    for (uint32_t i = 0; i < e->nargs; i++) TRY(expr_conjuncts(arena, e->args[i], list, n, err));
    return TCUDB_OK;
}
