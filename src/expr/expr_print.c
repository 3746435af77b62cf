/*
 * expr_print.c: SQL-like text of an expression for EXPLAIN and messages.
 *
 * Every operator is parenthesised, as PostgreSQL's EXPLAIN does: (a.x + 1) < 10 prints as ((x + 1) < 10).
 */
#include "expr/expr.h"

typedef struct Printer {
    ColName name;
    void *ctx;
    Buf *buf;
} Printer;

static tcudb_status print(const Printer *p, const Expr *e, Error *err);

static tcudb_status print_list(const Printer *p, Expr *const *args, uint32_t n, const char *between, Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) TRY(buf_text(p->buf, between, err));
        TRY(print(p, args[i], err));
    }
    return TCUDB_OK;
}

static tcudb_status print_quoted(Buf *buf, Str text, Error *err)
{
    TRY(buf_char(buf, '\'', err));
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'') TRY(buf_char(buf, '\'', err));
        TRY(buf_char(buf, text.ptr[i], err));
    }
    return buf_char(buf, '\'', err);
}

static tcudb_status print_value(Buf *buf, const Value *value, Error *err)
{
    if (value->null) return buf_text(buf, "NULL", err);
    if (type_is_text(value->type)) return print_quoted(buf, value->str, err);
    if (type_is_numeric(value->type)) return value_print(value, buf, err);
    if (value->type.id == TYPE_BOOL) return buf_text(buf, value->b ? "true" : "false", err);
    TRY(buf_char(buf, '\'', err));
    TRY(value_print(value, buf, err));
    return buf_printf(buf, err, "'::%s", type_base_name(value->type));
}

static tcudb_status print_col(const Printer *p, const Expr *e, Error *err)
{
    const char *name = p->name == NULL ? NULL : p->name(p->ctx, e->col);
    return name == NULL ? buf_printf(p->buf, err, "#%u", e->col) : buf_printf(p->buf, err, "%s#%u", name, e->col);
}

static tcudb_status print_func(const Printer *p, const Expr *e, Error *err)
{
    char type[TYPE_NAME_MAX];
    if (e->func->kind == FUNC_CAST) {
        TRY(buf_char(p->buf, '(', err));
        TRY(print(p, e->args[0], err));
        return buf_printf(p->buf, err, ")::%s", type_name(e->type, type));
    }
    if (e->func->kind == FUNC_OPERATOR && e->nargs == 2) {
        TRY(buf_char(p->buf, '(', err));
        TRY(print(p, e->args[0], err));
        TRY(buf_printf(p->buf, err, " %s ", e->func->name));
        TRY(print(p, e->args[1], err));
        return buf_char(p->buf, ')', err);
    }
    TRY(buf_printf(p->buf, err, "%s%s", e->func->name, e->func->kind == FUNC_OPERATOR ? " (" : "("));
    TRY(print_list(p, e->args, e->nargs, ", ", err));
    return buf_char(p->buf, ')', err);
}

static tcudb_status print_case(const Printer *p, const Expr *e, Error *err)
{
    TRY(buf_text(p->buf, "CASE", err));
    for (uint32_t i = 0; i + 1 < e->nargs; i += 2) {
        TRY(buf_text(p->buf, " WHEN ", err));
        TRY(print(p, e->args[i], err));
        TRY(buf_text(p->buf, " THEN ", err));
        TRY(print(p, e->args[i + 1], err));
    }
    TRY(buf_text(p->buf, " ELSE ", err));
    TRY(print(p, e->args[e->nargs - 1], err));
    return buf_text(p->buf, " END", err);
}

static tcudb_status print_wrapped(const Printer *p, const char *open, const Expr *e, const char *between, Error *err)
{
    TRY(buf_text(p->buf, open, err));
    TRY(print_list(p, e->args, e->nargs, between, err));
    return buf_char(p->buf, ')', err);
}

static tcudb_status print(const Printer *p, const Expr *e, Error *err)
{
    switch (e->kind) {
    case EXPR_CONST: return print_value(p->buf, &e->value, err);
    case EXPR_COL: return print_col(p, e, err);
    case EXPR_PARAM: return buf_printf(p->buf, err, "$%u", e->param + 1);
    case EXPR_FUNC: return print_func(p, e, err);
    case EXPR_AND: return print_wrapped(p, "(", e, " AND ", err);
    case EXPR_OR: return print_wrapped(p, "(", e, " OR ", err);
    case EXPR_CASE: return print_case(p, e, err);
    case EXPR_COALESCE: return print_wrapped(p, "COALESCE(", e, ", ", err);
    case EXPR_IN:
        TRY(buf_char(p->buf, '(', err));
        TRY(print(p, e->args[0], err));
        TRY(buf_text(p->buf, " IN (", err));
        TRY(print_list(p, e->args + 1, e->nargs - 1, ", ", err));
        return buf_text(p->buf, "))", err);
    default: return error_set(err, SQLSTATE_INTERNAL_ERROR, "unknown expression kind %d", (int)e->kind);
    }
}

tcudb_status expr_print(const Expr *e, ColName name, void *ctx, Buf *buf, Error *err)
{
    Printer p = {name, ctx, buf};
    return print(&p, e, err);
}
