/*
 * expr_verify.c: the invariants of expr.h, checked after binding and after each rule in debug builds.
 *
 * Types are compared by their layout (Phys), since a relabelling cast may change a node's type without
 * touching its arguments.
 */
#include "expr/expr_int.h"

static tcudb_status fault(const Expr *e, const char *what, Error *err)
{
    return error_at(err, SQLSTATE_INTERNAL_ERROR, e->position, "expression kind %d: %s", (int)e->kind, what);
}

static bool same_layout(const Expr *a, const Expr *b)
{
    return type_phys(a->type) == type_phys(b->type);
}

static tcudb_status verify_bools(const Expr *e, Error *err)
{
    if (e->type.id != TYPE_BOOL) return fault(e, "is not boolean", err);
    for (uint32_t i = 0; i < e->nargs; i++)
        if (e->args[i]->type.id != TYPE_BOOL) return fault(e, "has an argument that is not boolean", err);
    return e->nargs == 0 ? fault(e, "has no arguments", err) : TCUDB_OK;
}

static tcudb_status verify_case(const Expr *e, Error *err)
{
    if (e->nargs < 3 || e->nargs % 2 == 0) return fault(e, "CASE needs pairs and an ELSE", err);
    for (uint32_t i = 0; i < e->nargs; i++) {
        bool is_when = i % 2 == 0 && i + 1 < e->nargs;
        if (is_when && e->args[i]->type.id != TYPE_BOOL) return fault(e, "WHEN is not boolean", err);
        if (!is_when && !same_layout(e, e->args[i])) return fault(e, "a branch has another type", err);
    }
    return TCUDB_OK;
}

static tcudb_status verify_func(const Expr *e, Error *err)
{
    if (e->func == NULL || e->func->eval == NULL) return fault(e, "has no function", err);
    bool count_ok = e->func->variadic ? e->nargs + 1 >= e->func->nargs : e->nargs == e->func->nargs;
    return count_ok ? TCUDB_OK : fault(e, "has a wrong number of arguments", err);
}

static tcudb_status verify_same(const Expr *e, const Expr *with, Error *err)
{
    for (uint32_t i = 0; i < e->nargs; i++)
        if (!same_layout(with, e->args[i])) return fault(e, "arguments differ in type", err);
    return e->nargs == 0 ? fault(e, "has no arguments", err) : TCUDB_OK;
}

static tcudb_status verify_node(const Expr *e, Error *err)
{
    switch (e->kind) {
    case EXPR_CONST:
        return type_phys(e->value.type) == type_phys(e->type) ? TCUDB_OK : fault(e, "constant of another type", err);
    case EXPR_COL: return e->col != 0 ? TCUDB_OK : fault(e, "column 0", err);
    case EXPR_PARAM: return TCUDB_OK;
    case EXPR_FUNC: return verify_func(e, err);
    case EXPR_AND:
    case EXPR_OR: return verify_bools(e, err);
    case EXPR_CASE: return verify_case(e, err);
    case EXPR_COALESCE: return verify_same(e, e, err);
    case EXPR_IN:
        if (e->nargs < 2 || e->type.id != TYPE_BOOL) return fault(e, "IN without a list", err);
        return verify_same(e, e->args[0], err);
    default: return fault(e, "unknown kind", err);
    }
}

static tcudb_status verify(const Expr *e, uint32_t depth, Error *err)
{
    if (depth > EXPR_MAX_DEPTH) return expr_depth_error(err);
    TRY(verify_node(e, err));
    for (uint32_t i = 0; i < e->nargs; i++) {
        if (e->args[i] == NULL) return fault(e, "NULL argument", err);
        TRY(verify(e->args[i], depth + 1, err));
    }
    return TCUDB_OK;
}

tcudb_status expr_verify(const Expr *e, Error *err)
{
    return verify(e, 0, err);
}
