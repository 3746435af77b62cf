/*
 * expr.c: building expressions: constructors, calls by name, casts; equality.
 *
 * Nodes are immutable once built and live in the statement's arena, so a relabelling cast (the bits are
 * already right) is a shallow copy with another type. Casts of constants happen at once: untyped literals
 * are parsed (and their errors are the user's), typed constants are converted unless that fails, in which
 * case the call stays and fails only if a row needs it.
 */
#include "expr/expr.h"

#include <assert.h>

static Expr *new_node(Arena *arena, ExprKind kind, Type type, uint32_t nargs, int position, Error *err)
{
    Expr *e = ARENA_NEW(arena, Expr, err);
    if (e == NULL) return NULL;
    e->kind = kind;
    e->type = type;
    e->position = position;
    e->nargs = nargs;
    if (nargs > 0) {
        e->args = ARENA_ARRAY(arena, Expr *, nargs, err);
        if (e->args == NULL) return NULL;
    }
    return e;
}

Expr *expr_const(Arena *arena, const Value *value, int position, Error *err)
{
    Expr *e = new_node(arena, EXPR_CONST, value->type, 0, position, err);
    if (e != NULL) e->value = *value;
    return e;
}

Expr *expr_col(Arena *arena, ColId col, Type type, int position, Error *err)
{
    Expr *e = new_node(arena, EXPR_COL, type, 0, position, err);
    if (e != NULL) e->col = col;
    return e;
}

Expr *expr_node(Arena *arena, ExprKind kind, Type type, Expr **args, uint32_t nargs, int position, Error *err)
{
    Expr *e = new_node(arena, kind, type, nargs, position, err);
    if (e != NULL && nargs > 0) memcpy(e->args, args, nargs * sizeof *args);
    return e;
}

Expr *expr_func(Arena *arena, const Func *func, Type type, Expr **args, uint32_t nargs, int position, Error *err)
{
    Expr *e = expr_node(arena, EXPR_FUNC, type, args, nargs, position, err);
    if (e != NULL) e->func = func;
    return e;
}

tcudb_status expr_compared(Arena *arena, const Func *func, Expr **args, uint32_t nargs, Error *err)
{
    if ((func->flags & (FUNC_COMPARISON | FUNC_LIKE_EQUAL)) == 0) return TCUDB_OK;
    for (uint32_t i = 0; i < nargs; i++) {
        if (!type_keeps_blanks(args[i]->type)) continue;
        TRY(expr_cast(arena, args[i], TYPE(TYPE_TEXT), CAST_IMPLICIT, args[i]->position, &args[i], err));
    }
    return TCUDB_OK;
}

tcudb_status expr_call(Arena *arena, FuncKind kind, const char *name, Expr **args, uint32_t nargs, int position,
                       Expr **out, Error *err)
{
    if (nargs > FUNC_MAX_ARGS)
        return error_at(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, position,
                        "cannot pass more than %d arguments to a function", FUNC_MAX_ARGS);
    Type types[FUNC_MAX_ARGS] = {0};
    for (uint32_t i = 0; i < nargs; i++) types[i] = args[i]->type;
    FuncCall call;
    TRY(func_resolve(kind, str_of(name), types, nargs, position, &call, err));
    Expr *cast[FUNC_MAX_ARGS];
    for (uint32_t i = 0; i < nargs; i++)
        TRY(expr_cast(arena, args[i], call.args[i], CAST_IMPLICIT, args[i]->position, &cast[i], err));
    TRY(expr_compared(arena, call.func, cast, nargs, err));
    *out = expr_func(arena, call.func, call.result, cast, nargs, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* Converts a constant now. *out stays NULL if a typed constant does not convert: then the call is kept. */
static tcudb_status cast_const(Arena *arena, Expr *e, Type to, CastContext context, int position, Expr **out,
                               Error *err)
{
    Value value = e->value;
    if (value.null) {
        value.type = to;
    } else {
        tcudb_status status = value_cast(&e->value, to, context, arena, &value, err);
        if (status != TCUDB_OK) {
            bool keep = e->type.id != TYPE_UNKNOWN && status == TCUDB_ERROR;
            if (!keep && err != NULL && err->position == 0) err->position = e->position != 0 ? e->position : position;
            return keep ? TCUDB_OK : status;
        }
    }
    value.type = to;
    *out = expr_const(arena, &value, e->position, err);
    TRY_PTR(*out);
    (*out)->given = context == CAST_EXPLICIT;
    return TCUDB_OK;
}

tcudb_status expr_relabel(Arena *arena, Expr *e, Type to, int position, Expr **out, Error *err)
{
    *out = e;
    if (type_equal(e->type, to)) return TCUDB_OK;
    assert(type_phys(e->type) == type_phys(to));
    bool modified = e->kind == EXPR_FUNC && e->func->kind == FUNC_CAST && (e->type.length > 0 || e->type.precision > 0);
    if (modified) { /* its kernel looks at its type: x::varchar(2) stays cut as text */
        *out = expr_func(arena, func_relabel(), to, &e, 1, position, err);
        TRY_PTR(*out);
        return TCUDB_OK;
    }
    *out = ARENA_NEW(arena, Expr, err);
    TRY_PTR(*out);
    **out = *e;
    (*out)->type = to;
    if (e->kind == EXPR_CONST) (*out)->value.type = to;
    return TCUDB_OK;
}

tcudb_status expr_cast(Arena *arena, Expr *e, Type to, CastContext context, int position, Expr **out, Error *err)
{
    bool to_given = e->kind == EXPR_CONST && context == CAST_EXPLICIT && !e->given;
    if (type_equal(e->type, to) && !to_given) {
        *out = e;
        return TCUDB_OK;
    }
    const Func *func = NULL;
    bool literal = e->kind == EXPR_CONST && e->type.id == TYPE_UNKNOWN;
    if (!literal) TRY(func_cast(e->type, to, context, position, &func, err));
    *out = NULL;
    if (e->kind == EXPR_CONST) TRY(cast_const(arena, e, to, context, position, out, err));
    if (*out != NULL) return TCUDB_OK;
    if (func == NULL) {
        TRY(expr_relabel(arena, e, to, position, out, err));
        (*out)->given |= *out != e && context == CAST_EXPLICIT;
        return TCUDB_OK;
    }
    *out = expr_func(arena, func, to, &e, 1, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* -0 and 0 differ, a NaN is itself. */
static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool value_equal(const Value *a, const Value *b)
{
    if (!type_equal(a->type, b->type) || a->null != b->null) return false;
    if (a->null) return true;
    switch (type_phys(a->type)) {
    case PHYS_NUM: return a->num.value == b->num.value && a->num.scale == b->num.scale && a->num.kind == b->num.kind;
    case PHYS_STR: return str_equal(a->str, b->str);
    case PHYS_F32: return bits_of(a->f32) == bits_of(b->f32);
    case PHYS_F64: return bits_of(a->f64) == bits_of(b->f64);
    case PHYS_INTERVAL: return memcmp(&a->interval, &b->interval, sizeof a->interval) == 0;
    default: return value_compare(a, b) == 0;
    }
}

bool expr_equal(const Expr *a, const Expr *b)
{
    if (a == b) return true;
    if (a == NULL || b == NULL) return false;
    if (a->kind != b->kind || !type_equal(a->type, b->type) || a->nargs != b->nargs) return false;
    switch (a->kind) {
    case EXPR_CONST:
        if (!value_equal(&a->value, &b->value)) return false;
        break;
    case EXPR_COL:
        if (a->col != b->col) return false;
        break;
    case EXPR_PARAM:
        if (a->param != b->param) return false;
        break;
    case EXPR_FUNC:
        if (a->func != b->func || (a->func->flags & FUNC_VOLATILE) != 0) return false;
        break;
    default: break;
    }
    for (uint32_t i = 0; i < a->nargs; i++)
        if (!expr_equal(a->args[i], b->args[i])) return false;
    return true;
}
