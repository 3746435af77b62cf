/*
 * expr.c: scalar expressions: dispatch over the kinds of nodes, casts, and small building blocks.
 *
 * Every argument is cast here rather than by expr_call, because two kinds of expression have no type yet: untyped
 * literals (TYPE_UNKNOWN constants: cast by their input function, errors at the literal) and parameters ($1), which
 * take the type they are first cast to.
 */
#include "bind/bind_int.h"

#include <assert.h>

bool bind_is_null_const(const Expr *e)
{
    return e->kind == EXPR_CONST && e->value.null;
}

tcudb_status bind_null(Binder *b, Type type, int position, Expr **out, Error *err)
{
    Value value = {.type = type, .null = true};
    *out = expr_const(b->arena, &value, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_bool_const(Binder *b, bool truth, int position, Expr **out, Error *err)
{
    Value value = {.type = TYPE(TYPE_BOOL), .b = truth};
    *out = expr_const(b->arena, &value, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* Whether a literal would be read but for the length or precision of the type: such an error names no place. */
static bool is_without_modifiers(Binder *b, Expr *literal, Type to, CastContext context)
{
    Expr *out = NULL;
    Type plain = TYPE(to.id);
    return !type_equal(plain, to) && expr_cast(b->arena, literal, plain, context, 0, &out, NULL) == TCUDB_OK;
}

tcudb_status bind_coerce(Binder *b, Expr *e, Type to, CastContext context, int position, Expr **out, Error *err)
{
    if (e->type.id == TYPE_UNKNOWN && e->kind == EXPR_PARAM) TRY(bind_param_type(b, e, TYPE(to.id), position, &e, err));
    Str wide;
    bool to_float = to.id == TYPE_FLOAT4 || to.id == TYPE_FLOAT8;
    if (to_float && bind_wide_number(e, &wide)) { /* what numeric cannot hold a float may */
        Value text = {.type = TYPE(TYPE_UNKNOWN), .str = wide};
        e = expr_const(b->arena, &text, e->position, err);
        TRY_PTR(e);
    }
    bool literal = e->kind == EXPR_CONST && e->type.id == TYPE_UNKNOWN;
    int place = literal ? e->position : position;
    tcudb_status status = expr_cast(b->arena, e, to, context, place, out, err);
    if (status == TCUDB_ERROR && err != NULL) {
        if (literal && is_without_modifiers(b, e, to, context))
            err->position = 0;
        else if (err->position == 0)
            err->position = place;
    }
    return status;
}

tcudb_status bind_coerce_bool(Binder *b, Expr *e, const char *what, Expr **out, Error *err)
{
    if (e->type.id == TYPE_UNKNOWN) return bind_coerce(b, e, TYPE(TYPE_BOOL), CAST_IMPLICIT, e->position, out, err);
    if (e->type.id != TYPE_BOOL) {
        return error_at(err, SQLSTATE_DATATYPE_MISMATCH, e->position,
                        "argument of %s must be type boolean, not type %s", what, type_base_name(e->type));
    }
    *out = e;
    return TCUDB_OK;
}

tcudb_status bind_call(Binder *b, FuncKind kind, const char *name, Expr **args, uint32_t nargs, int position, int start,
                       Expr **out, Error *err)
{
    if (nargs > FUNC_MAX_ARGS) {
        return error_at(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, position,
                        "cannot pass more than %d arguments to a function", FUNC_MAX_ARGS);
    }
    Type types[FUNC_MAX_ARGS];
    for (uint32_t i = 0; i < nargs; i++) types[i] = args[i]->type;
    FuncCall *call = ARENA_NEW(b->arena, FuncCall, err);
    TRY_PTR(call);
    TRY(func_resolve(kind, str_of(name), types, nargs, position, call, err));
    Expr *cast[FUNC_MAX_ARGS];
    for (uint32_t i = 0; i < nargs; i++) {
        TRY(bind_coerce(b, args[i], call->args[i], CAST_IMPLICIT, args[i]->position, &cast[i], err));
    }
    TRY(expr_compared(b->arena, call->func, cast, nargs, err));
    bool places = (call->func->flags & FUNC_NUM_PLACES) != 0 && cast[1]->kind == EXPR_CONST && !cast[1]->value.null;
    if (places) call->result = func_places(call->args[0], cast[1]->value.i32);
    *out = expr_func(b->arena, call->func, call->result, cast, nargs, start, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_not(Binder *b, Expr *e, int position, Expr **out, Error *err)
{
    return bind_call(b, FUNC_OPERATOR, "not", &e, 1, position, position, out, err);
}

tcudb_status bind_and_or(Binder *b, ExprKind kind, Expr *left, Expr *right, Expr **out, Error *err)
{
    assert(kind == EXPR_AND || kind == EXPR_OR);
    if (left == NULL || right == NULL) {
        *out = left == NULL ? right : left;
        return TCUDB_OK;
    }
    Expr *args[2] = {left, right};
    *out = expr_node(b->arena, kind, TYPE(TYPE_BOOL), args, 2, left->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

int bind_mismatch(Expr *const *args, uint32_t n)
{
    const Expr *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (args[i]->type.id == TYPE_UNKNOWN) continue;
        if (first == NULL) first = args[i];
        if (args[i]->type.id != first->type.id) return args[i]->position;
    }
    return 0;
}

/* What a literal that is to become of the type needs to keep its digits and characters. */
static Type literal_type(const Expr *e, Type common)
{
    Value number;
    if (e == NULL || e->kind != EXPR_CONST || e->type.id != TYPE_UNKNOWN) return TYPE(common.id);
    if (e->value.null) return common;
    if (common.id == TYPE_NUMERIC)
        return value_number_literal(e->value.str, &number, NULL) == TCUDB_OK ? number.type : TYPE(TYPE_NUMERIC);
    return utf8_length(e->value.str) == common.length ? common : TYPE(TYPE_BPCHAR); /* its blanks are as they are */
}

tcudb_status bind_common_type(Expr *const *args, Type *types, uint32_t n, const char *what, int position, Type *out,
                              Error *err)
{
    bool again = false;
    TRY(func_common_type(types, n, what, position, out, err));
    bool limited = (out->id == TYPE_NUMERIC && out->precision > 0) || (out->id == TYPE_BPCHAR && out->length > 0);
    for (uint32_t i = 0; i < n && limited; i++) {
        if (types[i].id != TYPE_UNKNOWN) continue;
        types[i] = literal_type(args[i], *out);
        again = true;
    }
    return again ? func_common_type(types, n, what, position, out, err) : TCUDB_OK;
}

tcudb_status bind_unify(Binder *b, Expr **args, uint32_t n, const char *what, int position, Type *type, Error *err)
{
    Type *types = ARENA_ARRAY(b->arena, Type, n, err);
    TRY_PTR(types);
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        types[i] = args[i]->type;
        same = same && type_equal(types[i], types[0]);
    }
    if (same && types[0].id != TYPE_UNKNOWN) {
        *type = types[0];
        return TCUDB_OK;
    }
    TRY(bind_common_type(args, types, n, what, position, type, err));
    for (uint32_t i = 0; i < n; i++)
        TRY(bind_coerce(b, args[i], *type, CAST_IMPLICIT, args[i]->position, &args[i], err));
    return TCUDB_OK;
}

typedef struct ColSearch {
    ColId col;
    bool found;
} ColSearch;

static bool is_col(void *ctx, const Expr *e)
{
    ColSearch *search = ctx;
    search->found = search->found || (e->kind == EXPR_COL && (search->col == 0 || e->col == search->col));
    return !search->found;
}

/* col 0: any column. */
bool bind_expr_has_col(const Expr *e, ColId col)
{
    ColSearch search = {.col = col};
    (void)expr_walk(e, is_col, &search);
    return search.found;
}

void bind_apply_append(ApplyList *list, ApplySpec *spec)
{
    spec->next = NULL;
    if (list->last == NULL)
        list->first = spec;
    else
        list->last->next = spec;
    list->last = spec;
}

tcudb_status bind_expr_list(Binder *b, Block *block, Node *const *nodes, size_t n, Expr ***out, Error *err)
{
    *out = ARENA_ARRAY(b->arena, Expr *, n, err);
    TRY_PTR(*out);
    for (size_t i = 0; i < n; i++) TRY(bind_expr(b, block, nodes[i], &(*out)[i], err));
    return TCUDB_OK;
}

tcudb_status bind_bool(Binder *b, Block *block, const Node *node, const char *what, Expr **out, Error *err)
{
    Expr *e = NULL;
    TRY(bind_expr(b, block, node, &e, err));
    return bind_coerce_bool(b, e, what, out, err);
}

static tcudb_status bool_expr(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    const PgQuery__BoolExpr *e = node->bool_expr;
    int position = bind_node_position(b, node);
    if (e->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR) {
        Expr *arg = NULL;
        TRY(bind_bool(b, block, e->args[0], "NOT", &arg, err));
        return bind_not(b, arg, position, out, err);
    }
    bool and = e->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR;
    Expr **args = ARENA_ARRAY(b->arena, Expr *, e->n_args, err);
    TRY_PTR(args);
    for (size_t i = 0; i < e->n_args; i++) TRY(bind_bool(b, block, e->args[i], and? "AND" : "OR", &args[i], err));
    *out = expr_node(b->arena, and? EXPR_AND : EXPR_OR, TYPE(TYPE_BOOL), args, (uint32_t)e->n_args, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status collate(Binder *b, Block *block, const PgQuery__CollateClause *node, Expr **out, Error *err)
{
    const char *name = sql_last_name(node->collname, node->n_collname);
    if (strcmp(name, "C") != 0 && strcmp(name, "POSIX") != 0 && strcmp(name, "default") != 0 &&
        strcmp(name, "ucs_basic") != 0) {
        return error_unsupported(err, bind_position(b, node->location), "collation \"%s\"", name);
    }
    TRY(bind_expr(b, block, node->arg, out, err));
    TypeId id = (*out)->type.id;
    if (id == TYPE_TEXT || id == TYPE_VARCHAR || id == TYPE_BPCHAR || id == TYPE_UNKNOWN) return TCUDB_OK;
    return error_at(err, SQLSTATE_DATATYPE_MISMATCH, bind_position(b, node->location),
                    "collations are not supported by type %s", type_base_name((*out)->type));
}

static tcudb_status column_ref(Binder *b, Block *block, const PgQuery__ColumnRef *ref, Expr **out, Error *err)
{
    int position = bind_position(b, ref->location);
    if (block->place == PLACE_DEFAULT) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "cannot use column reference in DEFAULT expression");
    }
    return bind_scope_column_ref(b, block, ref, out, err);
}

static tcudb_status dispatch(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    int position = bind_node_position(b, node);
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST: return bind_literal(b, node->a_const, out, err);
    case PG_QUERY__NODE__NODE_COLUMN_REF: return column_ref(b, block, node->column_ref, out, err);
    case PG_QUERY__NODE__NODE_PARAM_REF: return bind_param(b, node->param_ref, out, err);
    case PG_QUERY__NODE__NODE_A_EXPR: return bind_operator(b, block, node, out, err);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return bool_expr(b, block, node, out, err);
    case PG_QUERY__NODE__NODE_FUNC_CALL: return bind_func_call(b, block, node, out, err);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return bind_typecast(b, block, node->type_cast, out, err);
    case PG_QUERY__NODE__NODE_SUB_LINK: return bind_sublink(b, block, node->sub_link, out, err);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return bind_case(b, block, node->case_expr, out, err);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return bind_coalesce(b, block, node->coalesce_expr, out, err);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return bind_minmax(b, block, node->min_max_expr, out, err);
    case PG_QUERY__NODE__NODE_NULL_TEST: return bind_nulltest(b, block, node, out, err);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: return bind_booltest(b, block, node, out, err);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return bind_valuefunc(b, node->sqlvalue_function, out, err);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return collate(b, block, node->collate_clause, out, err);
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "DEFAULT is not allowed in this context");
    case PG_QUERY__NODE__NODE_ROW_EXPR: return error_unsupported(err, position, "a row as a value");
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return error_unsupported(err, position, "an array as a value");
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return bind_subscript(b, block, node, out, err);
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return bind_grouping_call(b, block, node->grouping_func, out, err);
    case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR: return error_unsupported(err, position, "a named argument here");
    default: return error_unsupported(err, position, "this kind of expression");
    }
}

tcudb_status bind_expr(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    TRY(bind_enter(b, err));
    tcudb_status status = dispatch(b, block, node, out, err);
    bind_leave(b);
    return status;
}

tcudb_status bind_value(Binder *b, Place place, const Node *node, Value *out, int *position, Error *err)
{
    ApplyList list = {0};
    Block block = {.place = place, .applies = &list};
    Expr *e = NULL;
    TRY(bind_expr(b, &block, node, &e, err));
    *position = bind_node_position(b, node);
    if (list.first != NULL) return error_unsupported(err, *position, "a subquery here");
    return bind_const_value(b, e, *position, out, err);
}

tcudb_status bind_const_value(Binder *b, Expr *e, int position, Value *out, Error *err)
{
    assert(e != NULL);
    if (e->type.id == TYPE_UNKNOWN) TRY(bind_coerce(b, e, TYPE(TYPE_TEXT), CAST_IMPLICIT, position, &e, err));
    EvalCtx ctx = {.arena = b->arena, .now = b->env->now};
    return eval_const(b->arena, e, NULL, 0, &ctx, out, err);
}
