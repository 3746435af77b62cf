/*
 * array.c: arrays: those that SQL texts write out, ARRAY[a, b], '{a,b}', and those that functions make of a text,
 * string_to_array(text, delimiter) and its like; either of them cast; unnest(array). array_calls.c takes them apart.
 *
 * There is no array type: an array is the list of its elements' expressions. Those of a literal are untyped until they
 * meet a type, as any literal is. What a function makes of constants is such a list, too; what it makes of columns is
 * an expression that yields the array's text (type/func_array.c). Limits: one dimension.
 */
#include "bind/bind_int.h"

#include <ctype.h>

/* ---- literals */

typedef struct Literal {
    Binder *b;
    Str text; /* what is left of it */
    Str whole;
    int position;
    Expr **items;
    uint32_t n, cap;
} Literal;

static tcudb_status malformed(const Literal *l, const char *detail, Error *err)
{
    error_at(err, SQLSTATE_INVALID_TEXT_REPRESENTATION, l->position, "malformed array literal: \"" STR_FMT "\"",
             STR_ARG(l->whole));
    error_detail(err, "%s", detail);
    return TCUDB_ERROR;
}

static void skip(Literal *l, uint32_t n)
{
    l->text = (Str){l->text.ptr + n, l->text.len - n};
}

static void skip_space(Literal *l)
{
    while (l->text.len > 0 && isspace((unsigned char)l->text.ptr[0])) skip(l, 1);
}

static tcudb_status add_item(Literal *l, const Value *value, Error *err)
{
    TRY_PTR(l->items = ARENA_MORE(l->b->arena, l->items, l->n, &l->cap, err));
    l->items[l->n] = expr_const(l->b->arena, value, l->position, err);
    TRY_PTR(l->items[l->n++]);
    return TCUDB_OK;
}

/* One element, up to its comma or brace; quotes and backslashes keep characters as they are. */
static tcudb_status read_item(Literal *l, Error *err)
{
    char *out = arena_alloc(l->b->arena, l->text.len + 1, err);
    TRY_PTR(out);
    uint32_t n = 0, kept = 0; /* kept: up to there blanks at the end count */
    bool quoted = false, any_quote = false;
    for (; l->text.len > 0; skip(l, 1)) {
        char c = l->text.ptr[0];
        if (!quoted && (c == ',' || c == '}')) break;
        if (!quoted && c == '{') return error_unsupported(err, l->position, "an array of arrays");
        if (c == '"') {
            quoted = !quoted;
            any_quote = true;
            kept = n;
            continue;
        }
        bool escaped = c == '\\' && l->text.len > 1;
        if (escaped) skip(l, 1);
        out[n++] = l->text.ptr[0];
        if (quoted || escaped || !isspace((unsigned char)c)) kept = n;
    }
    if (l->text.len == 0) return malformed(l, "Unexpected end of input.", err);
    bool null = !any_quote && kept == 4 && strncasecmp(out, "null", 4) == 0;
    if (!any_quote && kept == 0) {
        const char *detail = l->text.ptr[0] == ',' ? "Unexpected \",\" character." : "Unexpected \"}\" character.";
        return malformed(l, detail, err);
    }
    return add_item(l, &(Value){.type = TYPE(TYPE_UNKNOWN), .null = null, .str = {out, kept}}, err);
}

static tcudb_status read_literal(Literal *l, Error *err)
{
    skip_space(l);
    if (l->text.len == 0 || l->text.ptr[0] != '{')
        return malformed(l, "Array value must start with \"{\" or dimension information.", err);
    skip(l, 1);
    skip_space(l);
    bool more = l->text.len > 0 && l->text.ptr[0] != '}';
    while (more) {
        skip_space(l);
        TRY(read_item(l, err));
        more = l->text.ptr[0] == ',';
        if (more) skip(l, 1);
    }
    if (l->text.len == 0) return malformed(l, "Unexpected end of input.", err);
    skip(l, 1);
    skip_space(l);
    return l->text.len == 0 ? TCUDB_OK : malformed(l, "Junk after closing right brace.", err);
}

/* ---- elements */

static bool is_literal(const Node *node)
{
    return NODE_IS(node, A_CONST) && !node->a_const->isnull && node->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
}

static const Node *without_cast(const Node *node)
{
    bool cast = NODE_IS(node, TYPE_CAST) && node->type_cast->type_name->n_array_bounds > 0;
    return cast ? node->type_cast->arg : node;
}

static tcudb_status literal_items(Binder *b, Str text, int position, Expr ***items, uint32_t *n, Error *err)
{
    Literal l = {.b = b, .text = text, .whole = text, .position = position};
    TRY(read_literal(&l, err));
    *items = l.items;
    *n = l.n;
    return TCUDB_OK;
}

static tcudb_status items_of(Binder *b, Block *block, const Node *node, Expr ***items, uint32_t *n, Error *err)
{
    int position = bind_node_position(b, node);
    if (is_literal(node)) return literal_items(b, str_of(node->a_const->sval->sval), position, items, n, err);
    if (!NODE_IS(node, A_ARRAY_EXPR)) return error_unsupported(err, position, "an array that is not written out");
    const PgQuery__AArrayExpr *array = node->a_array_expr;
    for (size_t i = 0; i < array->n_elements; i++)
        if (NODE_IS(array->elements[i], A_ARRAY_EXPR))
            return error_unsupported(err, bind_node_position(b, array->elements[i]), "an array of arrays");
    *n = (uint32_t)array->n_elements;
    return bind_expr_list(b, block, array->elements, *n, items, err);
}

static tcudb_status element_type(Binder *b, const Node *cast, Type *type, Error *err)
{
    PgQuery__TypeName element = *cast->type_cast->type_name;
    element.n_array_bounds = 0;
    return bind_typename(b, &element, type, err);
}

/* Untyped items, as those of a literal, are read as of the type, others cast. */
static tcudb_status cast_items(Binder *b, Expr **items, uint32_t n, Type type, Error *err)
{
    for (uint32_t i = 0; i < n; i++)
        TRY(bind_coerce(b, items[i], type, CAST_EXPLICIT, items[i]->position, &items[i], err));
    return TCUDB_OK;
}

/* ---- what functions make of texts */

bool bind_makes_array(const PgQuery__FuncCall *call)
{
    static const char *const names[] = {"string_to_array", "regexp_split_to_array", "regexp_match", "regexp_matches",
                                        "current_schemas"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(bind_func_name(call), names[i]) == 0)
            return call->over == NULL && !call->agg_distinct && call->n_agg_order == 0 && call->agg_filter == NULL;
    return false;
}

static bool is_fixed(void *ctx, const Expr *e)
{
    bool *fixed = ctx;
    bool moves = e->kind == EXPR_COL || e->kind == EXPR_PARAM;
    bool called = e->kind == EXPR_FUNC && (e->func->flags & (FUNC_VOLATILE | FUNC_STABLE)) != 0;
    *fixed = *fixed && !moves && !called;
    return *fixed;
}

static tcudb_status call_of(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out, Error *err)
{
    int position = bind_position(b, call->location);
    uint32_t nargs = (uint32_t)call->n_args;
    const TableFunc *rows =
        b->env->find_table_func == NULL ? NULL : b->env->find_table_func(str_of(bind_func_name(call)));
    if (rows != NULL) return bind_srf_call(b, block, rows, call, out, err); /* regexp_matches */
    Expr **args = NULL;
    TRY(bind_expr_list(b, block, call->args, nargs, &args, err));
    TRY(bind_system_function(b, block, bind_func_name(call), args, nargs, position, out, err));
    if (*out != NULL) return TCUDB_OK;
    return bind_call(b, FUNC_FUNCTION, bind_func_name(call), args, nargs, position, position, out, err);
}

static tcudb_status made_array(Binder *b, Block *block, const PgQuery__FuncCall *call, Array *out, Error *err)
{
    int position = bind_position(b, call->location);
    Value value = {0};
    bool fixed = true;
    TRY(call_of(b, block, call, &out->text, err));
    out->type = TYPE(TYPE_TEXT);
    (void)expr_walk(out->text, is_fixed, &fixed);
    if (fixed) TRY(bind_const_value(b, out->text, position, &value, err));
    out->known = fixed && !value.null;
    if (!out->known) return TCUDB_OK;
    TRY(literal_items(b, value.str, position, &out->items, &out->n, err));
    return cast_items(b, out->items, out->n, out->type, err);
}

/* ---- any array */

bool bind_is_array(const Node *node)
{
    const Node *array = without_cast(node);
    if (NODE_IS(array, A_ARRAY_EXPR) || (array != node && is_literal(array))) return true;
    return NODE_IS(array, FUNC_CALL) && bind_makes_array(array->func_call);
}

tcudb_status bind_array(Binder *b, Block *block, const Node *node, Array *out, Error *err)
{
    const Node *array = without_cast(node);
    Type type;
    *out = (Array){.type = TYPE(TYPE_NONE), .position = bind_node_position(b, node)};
    out->known = !NODE_IS(array, FUNC_CALL) || !bind_makes_array(array->func_call);
    if (out->known)
        TRY(items_of(b, block, array, &out->items, &out->n, err));
    else
        TRY(made_array(b, block, array->func_call, out, err));
    if (array == node) return TCUDB_OK;
    TRY(element_type(b, node, &type, err));
    if (type.id == out->type.id) return TCUDB_OK;
    if (!out->known) return error_unsupported(err, out->position, "a cast of an array that is not written out");
    out->text = NULL;
    out->type = type;
    return cast_items(b, out->items, out->n, type, err);
}

tcudb_status bind_array_settle(Binder *b, Array *array, Error *err)
{
    if (array->type.id != TYPE_NONE) return TCUDB_OK;
    if (array->n == 0) {
        error_at(err, SQLSTATE_INDETERMINATE_DATATYPE, array->position, "cannot determine type of empty array");
        error_hint(err, "Explicitly cast to the desired type, for example ARRAY[]::integer[].");
        return TCUDB_ERROR;
    }
    bool unknown = true;
    for (uint32_t i = 0; i < array->n; i++) unknown &= array->items[i]->type.id == TYPE_UNKNOWN;
    array->type = TYPE(TYPE_TEXT);
    if (unknown) return cast_items(b, array->items, array->n, array->type, err);
    return bind_unify(b, array->items, array->n, "ARRAY", bind_mismatch(array->items, array->n), &array->type, err);
}

/* ---- unnest */

/* The function that yields the elements of what this one makes as rows; NULL: there is none. */
static const char *rows_of(const Node *array)
{
    bool made = NODE_IS(array, FUNC_CALL) && bind_makes_array(array->func_call);
    const char *name = made ? bind_func_name(array->func_call) : "";
    if (strcmp(name, "string_to_array") == 0) return "string_to_table";
    return strcmp(name, "regexp_split_to_array") == 0 ? "regexp_split_to_table" : NULL;
}

static const Node *unnest_argument(const PgQuery__FuncCall *call)
{
    bool plain = strcmp(bind_func_name(call), "unnest") == 0 && call->n_args == 1 && call->over == NULL;
    const Node *arg = plain ? call->args[0] : NULL;
    if (arg == NULL || !bind_is_array(arg)) return NULL;
    return NODE_IS(without_cast(arg), FUNC_CALL) && rows_of(without_cast(arg)) == NULL ? NULL : arg;
}

bool bind_is_unnest(const PgQuery__FuncCall *call)
{
    return unnest_argument(call) != NULL;
}

static tcudb_status array_rows(Binder *b, Block *block, const Node *arg, Plan **out, Error *err)
{
    Array array;
    TRY(bind_array(b, block, arg, &array, err));
    TRY(bind_array_settle(b, &array, err));
    Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, 1, err);
    TRY_PTR(plan);
    plan->cols[0] = bind_new_col(b, array.type, "unnest");
    plan->values.rows_exprs = array.items;
    plan->values.nrows = array.n;
    *out = plan;
    return TCUDB_OK;
}

static tcudb_status split_rows(Binder *b, Block *block, const Node *arg, Place place, Plan **out, Error *err)
{
    const Node *array = without_cast(arg);
    NamedExpr cast;
    bool dynamic;
    const TableFunc *split = b->env->find_table_func(str_of(rows_of(array)));
    TRY(bind_function_scan(b, block, split, array->func_call, place, out, &dynamic, err));
    (*out)->cols[0].name = "unnest";
    if (array == arg) return TCUDB_OK;
    Type type;
    TRY(element_type(b, arg, &type, err));
    cast.col = bind_new_col(b, type, "unnest");
    cast.expr = expr_col(b->arena, (*out)->cols[0].id, (*out)->cols[0].type, 0, err);
    TRY_PTR(cast.expr);
    TRY(bind_coerce(b, cast.expr, type, CAST_EXPLICIT, 0, &cast.expr, err));
    return plan_project(b->arena, *out, &cast, 1, out, err);
}

tcudb_status bind_unnest(Binder *b, Block *block, const PgQuery__FuncCall *call, Place place, Plan **out, Error *err)
{
    const Node *arg = unnest_argument(call);
    if (NODE_IS(without_cast(arg), FUNC_CALL)) return split_rows(b, block, arg, place, out, err);
    ApplyList list = {0}, *applies_before = block->applies;
    Place place_before = block->place;
    block->applies = &list;
    block->place = place;
    tcudb_status status = array_rows(b, block, arg, out, err);
    block->applies = applies_before;
    block->place = place_before;
    TRY(status);
    if (list.first == NULL) return TCUDB_OK;
    return error_unsupported(err, list.first->position, "a subquery in unnest");
}
