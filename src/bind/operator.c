/*
 * operator.c: a op b and its relatives: IN lists, BETWEEN, LIKE, IS DISTINCT FROM, NULLIF, op ANY/ALL (array).
 *
 * What SQL defines by other operators is composed of them; operands are bound once and shared, since expressions
 * are immutable. x IN (list) is EXPR_IN under the common type of all, else, if there is none, x = a OR x = b ...,
 * which then reports the pair that does not fit.
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef struct Op {
    const PgQuery__AExpr *node;
    const char *name;
    int position; /* of the operator */
    int start;    /* of the whole expression */
} Op;

static tcudb_status binary(Binder *b, const Op *op, const char *name, Expr *left, Expr *right, Expr **out, Error *err)
{
    Expr *args[2] = {left, right};
    return bind_call(b, FUNC_OPERATOR, name, args, 2, op->position, op->start, out, err);
}

static bool is_row(const Node *node)
{
    return NODE_IS(node, ROW_EXPR);
}

/* (a, b) op (c, d): = and <> by columns; the orders are lexicographic. */
tcudb_status bind_compare(Binder *b, const char *op, Expr **left, Expr **right, uint32_t n, int position, int start,
                          Expr **out, Error *err)
{
    assert(n > 0);
    *out = NULL;
    bool equal = strcmp(op, "=") == 0, differ = strcmp(op, "<>") == 0;
    if (n > 1 && !equal && !differ && op[0] != '<' && op[0] != '>') {
        return error_unsupported(err, position, "the operator %s between rows", op);
    }
    Expr **tests = ARENA_ARRAY(b->arena, Expr *, n, err);
    TRY_PTR(tests);
    for (uint32_t i = 0; i < n; i++) /* in this order: the first that is wrong is reported */
        TRY(bind_call(b, FUNC_OPERATOR, op, (Expr *[]){left[i], right[i]}, 2, position, start, &tests[i], err));
    for (uint32_t i = n; i-- > 0;) {
        Expr *args[2] = {left[i], right[i]}, *test = tests[i];
        bool last = i + 1 == n;
        char strict[2] = {op[0], '\0'};
        if (!last && !equal && !differ) TRY(bind_call(b, FUNC_OPERATOR, strict, args, 2, position, start, &test, err));
        if (last || equal || differ) {
            TRY(bind_and_or(b, differ ? EXPR_OR : EXPR_AND, test, *out, out, err));
            continue;
        }
        Expr *same; /* test OR (same AND rest) */
        TRY(bind_call(b, FUNC_OPERATOR, "=", args, 2, position, start, &same, err));
        TRY(bind_and_or(b, EXPR_AND, same, *out, out, err));
        TRY(bind_and_or(b, EXPR_OR, test, *out, out, err));
    }
    return TCUDB_OK;
}

static tcudb_status row_operands(Binder *b, Block *block, const Op *op, Expr ***left, Expr ***right, uint32_t *n,
                                 Error *err)
{
    if (!is_row(op->node->lexpr) || !is_row(op->node->rexpr)) {
        return error_unsupported(err, op->position, "comparing a row with a value");
    }
    const PgQuery__RowExpr *l = op->node->lexpr->row_expr, *r = op->node->rexpr->row_expr;
    if (l->n_args != r->n_args) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, op->position, "unequal number of entries in row expressions");
    }
    if (l->n_args == 0) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, op->position, "cannot compare rows of zero length");
    }
    *n = (uint32_t)l->n_args;
    TRY(bind_expr_list(b, block, l->args, l->n_args, left, err));
    return bind_expr_list(b, block, r->args, r->n_args, right, err);
}

/* -2147483648 is a negated literal to the grammar, and a constant to PostgreSQL's users: fold it here, as the
 * smallest integers would not fit otherwise. */
static bool negate_literal(Expr *e, Value *out)
{
    if (e->kind != EXPR_CONST || e->value.null) return false;
    *out = e->value;
    switch (e->type.id) {
    case TYPE_INT4: out->i32 = -out->i32; return e->value.i32 != INT32_MIN;
    case TYPE_INT8: out->i64 = -out->i64; return e->value.i64 != INT64_MIN;
    case TYPE_NUMERIC:
        if (type_phys(e->type) == PHYS_I64)
            out->i64 = -out->i64;
        else if (type_phys(e->type) == PHYS_I128)
            out->i128 = -out->i128;
        else
            return false;
        return true;
    default: return false;
    }
}

/* (a, b) op (SELECT x, y ...) */
static tcudb_status row_subquery(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    PgQuery__SubLink link = *op->node->rexpr->sub_link;
    link.sub_link_type = PG_QUERY__SUB_LINK_TYPE__ROWCOMPARE_SUBLINK;
    link.testexpr = op->node->lexpr;
    link.oper_name = op->node->name;
    link.n_oper_name = op->node->n_name;
    return bind_sublink(b, block, &link, out, err);
}

/* reg: casts to regclass and the like on both sides: their names are compared. */
static tcudb_status operand(Binder *b, Block *block, const Node *node, bool reg, Expr **out, Error *err)
{
    if (reg) return bind_reg_cast(b, block, node->type_cast, true, out, err);
    return bind_expr(b, block, node, out, err);
}

static tcudb_status plain(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    const PgQuery__AExpr *node = op->node;
    if (is_row(node->lexpr) && NODE_IS(node->rexpr, SUB_LINK) &&
        node->rexpr->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) {
        return row_subquery(b, block, op, out, err);
    }
    if (is_row(node->lexpr) || is_row(node->rexpr)) {
        Expr **left = NULL, **right = NULL;
        uint32_t n = 0;
        TRY(row_operands(b, block, op, &left, &right, &n, err));
        return bind_compare(b, op->name, left, right, n, op->position, op->start, out, err);
    }
    if (strcmp(op->name, "@@") == 0) return error_unsupported(err, op->position, "the operator @@ (text search)");
    Expr *args[2];
    uint32_t n = 0;
    bool names = node->lexpr != NULL && bind_is_reg_cast(node->lexpr) && bind_is_reg_cast(node->rexpr);
    if (node->lexpr != NULL) TRY(operand(b, block, node->lexpr, names, &args[n++], err));
    if (node->rexpr == NULL)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, op->position, "postfix operators are not supported");
    TRY(operand(b, block, node->rexpr, names, &args[n++], err));
    Value value = {0};
    Str wide;
    bool negated = n == 1 && strcmp(op->name, "-") == 0 && NODE_IS(node->rexpr, A_CONST);
    if (negated && bind_wide_number(args[0], &wide)) return bind_negate_wide(b, wide, op->start, out, err);
    if (negated && negate_literal(args[0], &value)) {
        *out = expr_const(b->arena, &value, op->start, err);
        TRY_PTR(*out);
        return TCUDB_OK;
    }
    return bind_call(b, FUNC_OPERATOR, op->name, args, n, op->position, op->start, out, err);
}

/* ---- IN */

static tcudb_status in_chain(Binder *b, const Op *op, Expr *left, Expr **list, uint32_t n, Expr **out, Error *err)
{
    *out = NULL;
    Expr **tests = ARENA_ARRAY(b->arena, Expr *, n, err);
    TRY_PTR(tests);
    for (uint32_t i = 0; i < n; i++) TRY(binary(b, op, "=", left, list[i], &tests[i], err));
    *out = n == 1 ? tests[0] : expr_node(b->arena, EXPR_OR, TYPE(TYPE_BOOL), tests, n, op->start, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* Compared in one type. */
static tcudb_status in_values(Binder *b, const Op *op, Expr *left, Expr **list, uint32_t n, Expr **out, Error *err)
{
    if (n == 1) return in_chain(b, op, left, list, n, out, err);
    Expr **args = ARENA_ARRAY(b->arena, Expr *, n + 1, err);
    TRY_PTR(args);
    Type *types = ARENA_ARRAY(b->arena, Type, n + 1, err);
    TRY_PTR(types);
    args[0] = left;
    for (uint32_t i = 0; i < n; i++) args[i + 1] = list[i];
    for (uint32_t i = 0; i <= n; i++) types[i] = args[i]->type;
    Type type = {0};
    if (bind_common_type(args, types, n + 1, "IN", 0, &type, NULL) != TCUDB_OK)
        return in_chain(b, op, left, list, n, out, err);
    bool padded = type.id == TYPE_BPCHAR; /* compared without their blanks, whatever their lengths */
    for (uint32_t i = 0; i <= n; i++) {
        bool given = padded ? args[i]->type.id == type.id : type_equal(args[i]->type, type);
        Type to = padded ? TYPE(type.id) : type;
        if (!given) TRY(bind_coerce(b, args[i], to, CAST_IMPLICIT, args[i]->position, &args[i], err));
        if (padded) TRY(bind_coerce(b, args[i], TYPE(TYPE_TEXT), CAST_IMPLICIT, args[i]->position, &args[i], err));
    }
    *out = expr_node(b->arena, EXPR_IN, TYPE(TYPE_BOOL), args, n + 1, op->start, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* As PostgreSQL: entries with columns are compared each for itself, by the = of its type; those without, if there are
 * several, in a type that all of them have. It makes no difference where all are of one type. */
static tcudb_status in_list(Binder *b, const Op *op, Expr *left, Expr **list, uint32_t n, Expr **out, Error *err)
{
    Expr **values = ARENA_ARRAY(b->arena, Expr *, n, err);
    TRY_PTR(values);
    uint32_t nvalues = 0;
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        same = same && list[i]->type.id == left->type.id;
        if (!bind_expr_has_col(list[i], 0)) values[nvalues++] = list[i];
    }
    if (same || nvalues == n) return in_values(b, op, left, list, n, out, err);
    if (nvalues < 2) return in_chain(b, op, left, list, n, out, err);
    TRY(in_values(b, op, left, values, nvalues, out, err));
    for (uint32_t i = 0; i < n; i++) {
        Expr *test;
        if (!bind_expr_has_col(list[i], 0)) continue;
        TRY(binary(b, op, "=", left, list[i], &test, err));
        TRY(bind_and_or(b, EXPR_OR, *out, test, out, err));
    }
    return TCUDB_OK;
}

static tcudb_status in_rows(Binder *b, Block *block, const Op *op, const PgQuery__List *list, Expr **out, Error *err)
{
    *out = NULL;
    const PgQuery__RowExpr *row = op->node->lexpr->row_expr;
    Expr **left = NULL;
    TRY(bind_expr_list(b, block, row->args, row->n_args, &left, err));
    for (size_t i = 0; i < list->n_items; i++) {
        if (!is_row(list->items[i]) || list->items[i]->row_expr->n_args != row->n_args) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, op->position, "unequal number of entries in row expressions");
        }
        Expr **right = NULL, *test = NULL;
        TRY(bind_expr_list(b, block, list->items[i]->row_expr->args, row->n_args, &right, err));
        TRY(bind_compare(b, "=", left, right, (uint32_t)row->n_args, op->position, op->start, &test, err));
        TRY(bind_and_or(b, EXPR_OR, *out, test, out, err));
    }
    return TCUDB_OK;
}

static tcudb_status in_expr(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    assert(NODE_IS(op->node->rexpr, LIST));
    const PgQuery__List *list = op->node->rexpr->list;
    if (is_row(op->node->lexpr)) {
        TRY(in_rows(b, block, op, list, out, err));
    } else {
        Expr *left = NULL, **items = NULL;
        TRY(bind_expr(b, block, op->node->lexpr, &left, err));
        TRY(bind_expr_list(b, block, list->items, list->n_items, &items, err));
        TRY(in_list(b, op, left, items, (uint32_t)list->n_items, out, err));
    }
    return strcmp(op->name, "<>") == 0 ? bind_not(b, *out, op->start, out, err) : TCUDB_OK;
}

/* ---- BETWEEN, DISTINCT, NULLIF, LIKE */

static tcudb_status between_once(Binder *b, const Op *op, Expr *x, Expr *low, Expr *high, Expr **out, Error *err)
{
    Expr *above = NULL, *below = NULL;
    TRY(binary(b, op, ">=", x, low, &above, err));
    bool settled = x->kind == EXPR_PARAM && x->type.id == TYPE_UNKNOWN && b->params[x->param].id != TYPE_UNKNOWN;
    if (settled) TRY(bind_param_type(b, x, b->params[x->param], x->position, &x, err)); /* by the first comparison */
    TRY(binary(b, op, "<=", x, high, &below, err));
    return bind_and_or(b, EXPR_AND, above, below, out, err);
}

static tcudb_status between(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    PgQuery__AExprKind kind = op->node->kind;
    assert(NODE_IS(op->node->rexpr, LIST) && op->node->rexpr->list->n_items == 2);
    Expr *x = NULL, **bounds = NULL;
    TRY(bind_expr(b, block, op->node->lexpr, &x, err));
    TRY(bind_expr_list(b, block, op->node->rexpr->list->items, 2, &bounds, err));
    TRY(between_once(b, op, x, bounds[0], bounds[1], out, err));
    if (kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM || kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM) {
        Expr *swapped = NULL;
        TRY(between_once(b, op, x, bounds[1], bounds[0], &swapped, err));
        TRY(bind_and_or(b, EXPR_OR, *out, swapped, out, err));
    }
    bool negated =
        kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN || kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
    return negated ? bind_not(b, *out, op->start, out, err) : TCUDB_OK;
}

static tcudb_status distinct_values(Binder *b, const Op *op, Expr **args, Expr **out, Error *err)
{
    if (bind_is_null_const(args[0]) || bind_is_null_const(args[1])) {
        Expr *other = bind_is_null_const(args[1]) ? args[0] : args[1];
        if (other->type.id == TYPE_UNKNOWN) TRY(bind_coerce(b, other, TYPE(TYPE_TEXT), CAST_IMPLICIT, 0, &other, err));
        TRY(bind_call(b, FUNC_OPERATOR, "is null", &other, 1, op->position, op->start, out, err));
        return bind_not(b, *out, op->start, out, err);
    }
    return binary(b, op, "is distinct from", args[0], args[1], out, err);
}

/* (a, b) IS DISTINCT FROM (c, d): in some column. */
static tcudb_status distinct_rows(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    Expr **left = NULL, **right = NULL;
    uint32_t n = 0;
    TRY(row_operands(b, block, op, &left, &right, &n, err));
    *out = NULL;
    for (uint32_t i = 0; i < n; i++) {
        Expr *args[2] = {left[i], right[i]}, *test = NULL;
        TRY(distinct_values(b, op, args, &test, err));
        TRY(bind_and_or(b, EXPR_OR, *out, test, out, err));
    }
    return TCUDB_OK;
}

static tcudb_status distinct_from(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    Expr *args[2];
    if (is_row(op->node->lexpr) || is_row(op->node->rexpr)) {
        TRY(distinct_rows(b, block, op, out, err));
    } else {
        TRY(bind_expr(b, block, op->node->lexpr, &args[0], err));
        TRY(bind_expr(b, block, op->node->rexpr, &args[1], err));
        TRY(distinct_values(b, op, args, out, err));
    }
    bool distinct = op->node->kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT;
    return distinct ? TCUDB_OK : bind_not(b, *out, op->start, out, err);
}

/* Whether PostgreSQL has an = of the two as they are, where ours compares both as one. */
static bool compares_both(TypeId left, TypeId compared)
{
    bool whole = left == TYPE_INT2 || left == TYPE_INT4;
    return (whole && (compared == TYPE_INT4 || compared == TYPE_INT8)) ||
           (left == TYPE_FLOAT4 && compared == TYPE_FLOAT8) || (left == TYPE_DATE && compared == TYPE_TIMESTAMP);
}

/* NULLIF(a, b): CASE WHEN a = b THEN NULL ELSE a END, of the type that PostgreSQL's = takes a as. */
static tcudb_status null_if(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    Expr *left, *right, *args[3];
    TRY(bind_expr(b, block, op->node->lexpr, &left, err));
    TRY(bind_expr(b, block, op->node->rexpr, &right, err));
    TRY(binary(b, op, "=", left, right, &args[0], err));
    Type compared = TYPE(args[0]->func->args[0]);
    if (left->type.id == TYPE_UNKNOWN && compared.id != TYPE_BPCHAR)
        left = args[0]->args[0];
    else if (left->type.id != compared.id && !compares_both((TypeId)left->type.id, (TypeId)compared.id))
        TRY(bind_coerce(b, left, TYPE(compared.id), CAST_IMPLICIT, 0, &left, err));
    TRY(bind_null(b, left->type, op->start, &args[1], err));
    args[1]->given = true; /* a's modifiers are the result's */
    args[2] = left;
    *out = expr_node(b->arena, EXPR_CASE, left->type, args, 3, op->start, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* ---- op ANY (ARRAY[...]), op ALL (ARRAY[...]) */

/* attnum = ANY (indkey), ANY (conkey): pg_catalog's lists of numbers are text: '1 2', '{1,2}'. */
static bool is_key_list(const Node *node)
{
    const char *name =
        NODE_IS(node, COLUMN_REF) ? sql_last_name(node->column_ref->fields, node->column_ref->n_fields) : "";
    return strcmp(name, "indkey") == 0 || strcmp(name, "conkey") == 0 || strcmp(name, "confkey") == 0;
}

static tcudb_status in_key_list(Binder *b, Block *block, const Op *op, Expr *left, Expr **out, Error *err)
{
    Expr *args[2] = {left, NULL};
    TRY(bind_expr(b, block, op->node->rexpr, &args[1], err));
    return bind_system_macro(b, block, " in list", args, 2, out, err);
}

/* left = ANY (array), left <> ALL (array) of an array of texts that is not known yet. */
static tcudb_status op_made_array(Binder *b, const Op *op, bool any, Expr *left, const Array *array, Expr **out,
                                  Error *err)
{
    Expr *test = NULL, *element = NULL;
    TRY(bind_null(b, array->type, 0, &element, err));
    TRY(binary(b, op, op->name, left, element, &test, err));
    bool equal = any && strcmp(op->name, "=") == 0, differs = !any && strcmp(op->name, "<>") == 0;
    if (!equal && !differs)
        return error_unsupported(err, op->position, "%s %s of an array that is not written out", op->name,
                                 any ? "ANY" : "ALL");
    Expr *args[2] = {test->args[0], array->text};
    TRY(bind_call(b, FUNC_OPERATOR, "any of", args, 2, op->position, op->start, out, err));
    return equal ? TCUDB_OK : bind_not(b, *out, op->start, out, err);
}

/* x = ANY (texts): compared as the operator takes both, while IN takes the type that a union has. */
static tcudb_status in_texts(Binder *b, const Op *op, Expr *left, Expr **items, uint32_t n, Expr **out, Error *err)
{
    Expr *one;
    TRY(binary(b, op, "=", left, items[0], &one, err));
    uint8_t compared = one->func->args[0];
    if (type_is_text(TYPE(compared)) && left->type.id != compared)
        TRY(bind_coerce(b, left, TYPE(compared), CAST_IMPLICIT, left->position, &left, err));
    return in_list(b, op, left, items, n, out, err);
}

static tcudb_status op_items(Binder *b, const Op *op, bool any, Expr *left, Expr **items, uint32_t n, Expr **out,
                             Error *err)
{
    if (n == 0) return bind_bool_const(b, !any, op->start, out, err);
    if (any && strcmp(op->name, "=") == 0) return in_texts(b, op, left, items, n, out, err);
    for (uint32_t i = 0; i < n; i++) {
        TRY(binary(b, op, op->name, left, items[i], &items[i], err));
        if (items[i]->type.id != TYPE_BOOL)
            return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, op->position,
                            "op ANY/ALL (array) requires operator to yield boolean");
    }
    *out = n == 1 ? items[0] : expr_node(b->arena, any ? EXPR_OR : EXPR_AND, TYPE(TYPE_BOOL), items, n, op->start, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static bool is_array_query(const Node *node)
{
    return NODE_IS(node, SUB_LINK) && node->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK;
}

/* left op ANY (ARRAY(SELECT ...)) is left op ANY (SELECT ...). */
static tcudb_status op_array_query(Binder *b, Block *block, const Op *op, bool any, Expr **out, Error *err)
{
    PgQuery__SubLink link = *op->node->rexpr->sub_link;
    if (NODE_IS(link.subselect, SELECT_STMT) && link.subselect->select_stmt->n_target_list > 1)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_position(b, link.location),
                        "subquery must return only one column");
    link.sub_link_type = any ? PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK : PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK;
    link.testexpr = op->node->lexpr;
    link.oper_name = op->node->name;
    link.n_oper_name = op->node->n_name;
    link.location = op->node->location;
    return bind_sublink(b, block, &link, out, err);
}

static tcudb_status op_array(Binder *b, Block *block, const Op *op, Expr **out, Error *err)
{
    bool any = op->node->kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY;
    Expr *left = NULL;
    Array array;
    if (is_array_query(op->node->rexpr)) return op_array_query(b, block, op, any, out, err);
    TRY(bind_expr(b, block, op->node->lexpr, &left, err));
    if (any && strcmp(op->name, "=") == 0 && is_key_list(op->node->rexpr))
        return in_key_list(b, block, op, left, out, err);
    TRY(bind_array(b, block, op->node->rexpr, &array, err));
    if (NODE_IS(op->node->rexpr, A_ARRAY_EXPR)) TRY(bind_array_settle(b, &array, err));
    if (!array.known) return op_made_array(b, op, any, left, &array, out, err);
    return op_items(b, op, any, left, array.items, array.n, out, err);
}

tcudb_status bind_operator(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    const PgQuery__AExpr *e = node->a_expr;
    Op op = {.node = e,
             .name = sql_last_name(e->name, e->n_name),
             .position = bind_position(b, e->location),
             .start = bind_node_position(b, node)};
    switch (e->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP:
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR: return plain(b, block, &op, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL: return op_array(b, block, &op, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: return distinct_from(b, block, &op, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: return null_if(b, block, &op, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return in_expr(b, block, &op, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM: return between(b, block, &op, out, err);
    default: return error_unsupported(err, op.position, "the operator %s here", op.name);
    }
}
