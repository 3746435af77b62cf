/*
 * array.c: the arrays that SQL texts write out: ARRAY[a, b], '{a,b}', either of them cast, and what takes them apart:
 * op ANY (array), op ALL (array), unnest(array), unnest(string_to_array(text, delimiter)).
 *
 * There is no array type: an array is the list of its elements' expressions. Those of a literal are untyped until they
 * meet a type, as any literal is. Limits: one dimension.
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

static tcudb_status items_of(Binder *b, Block *block, const Node *node, Expr ***items, uint32_t *n, Error *err)
{
    int position = bind_node_position(b, node);
    if (is_literal(node)) {
        Str text = str_of(node->a_const->sval->sval);
        Literal l = {.b = b, .text = text, .whole = text, .position = position};
        TRY(read_literal(&l, err));
        *items = l.items;
        *n = l.n;
        return TCUDB_OK;
    }
    if (!NODE_IS(node, A_ARRAY_EXPR)) return error_unsupported(err, position, "an array that is not written out");
    const PgQuery__AArrayExpr *array = node->a_array_expr;
    for (size_t i = 0; i < array->n_elements; i++)
        if (NODE_IS(array->elements[i], A_ARRAY_EXPR))
            return error_unsupported(err, bind_node_position(b, array->elements[i]), "an array of arrays");
    *n = (uint32_t)array->n_elements;
    return bind_expr_list(b, block, array->elements, *n, items, err);
}

/* ARRAY[...]::type[] casts the elements. */
static tcudb_status cast_items(Binder *b, const Node *cast, Expr **items, uint32_t n, Type *type, Error *err)
{
    PgQuery__TypeName element = *cast->type_cast->type_name;
    element.n_array_bounds = 0;
    TRY(bind_typename(b, &element, type, err));
    for (uint32_t i = 0; i < n; i++)
        TRY(bind_coerce(b, items[i], *type, CAST_EXPLICIT, items[i]->position, &items[i], err));
    return TCUDB_OK;
}

tcudb_status bind_array_items(Binder *b, Block *block, const Node *node, Expr ***items, uint32_t *n, Error *err)
{
    const Node *array = without_cast(node);
    Type type;
    *n = 0;
    *items = NULL;
    TRY(items_of(b, block, array, items, n, err));
    return array == node ? TCUDB_OK : cast_items(b, node, *items, *n, &type, err);
}

/* ---- unnest */

static const Node *unnest_argument(const PgQuery__FuncCall *call)
{
    bool plain = strcmp(bind_func_name(call), "unnest") == 0 && call->n_args == 1 && call->over == NULL;
    const Node *arg = plain ? call->args[0] : NULL;
    if (arg == NULL || NODE_IS(without_cast(arg), A_ARRAY_EXPR)) return arg;
    if (without_cast(arg) != arg && is_literal(without_cast(arg))) return arg;
    bool split = NODE_IS(arg, FUNC_CALL) && strcmp(bind_func_name(arg->func_call), "string_to_array") == 0;
    return split ? arg : NULL;
}

bool bind_is_unnest(const PgQuery__FuncCall *call)
{
    return unnest_argument(call) != NULL;
}

static tcudb_status common_type(Binder *b, const Node *arg, Expr **items, uint32_t n, Type *type, Error *err)
{
    int position = bind_node_position(b, arg);
    if (n == 0) {
        error_at(err, SQLSTATE_INDETERMINATE_DATATYPE, position, "cannot determine type of empty array");
        error_hint(err, "Explicitly cast to the desired type, for example ARRAY[]::integer[].");
        return TCUDB_ERROR;
    }
    bool unknown = true;
    for (uint32_t i = 0; i < n; i++) unknown &= items[i]->type.id == TYPE_UNKNOWN;
    if (!unknown) return bind_unify(b, items, n, "ARRAY", bind_mismatch(items, n), type, err);
    *type = TYPE(TYPE_TEXT);
    for (uint32_t i = 0; i < n; i++)
        TRY(bind_coerce(b, items[i], *type, CAST_IMPLICIT, items[i]->position, &items[i], err));
    return TCUDB_OK;
}

static tcudb_status array_rows(Binder *b, Block *block, const Node *arg, Plan **out, Error *err)
{
    Expr **items = NULL;
    Type type = {0};
    uint32_t n = 0;
    const Node *array = without_cast(arg);
    TRY(items_of(b, block, array, &items, &n, err));
    if (array == arg)
        TRY(common_type(b, arg, items, n, &type, err));
    else
        TRY(cast_items(b, arg, items, n, &type, err));
    Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, 1, err);
    TRY_PTR(plan);
    plan->cols[0] = bind_new_col(b, type, "unnest");
    plan->values.rows_exprs = items;
    plan->values.nrows = n;
    *out = plan;
    return TCUDB_OK;
}

tcudb_status bind_unnest(Binder *b, Block *block, const PgQuery__FuncCall *call, Place place, Plan **out, Error *err)
{
    const Node *arg = unnest_argument(call);
    bool dynamic;
    if (NODE_IS(arg, FUNC_CALL)) {
        const TableFunc *split = b->env->find_table_func(STR_LIT("string_to_table"));
        TRY(bind_function_scan(b, block, split, arg->func_call, place, out, &dynamic, err));
        (*out)->cols[0].name = "unnest";
        return TCUDB_OK;
    }
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
