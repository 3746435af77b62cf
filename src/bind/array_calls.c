/*
 * array_calls.c: what is asked of an array: (array)[n], array_length(array, 1) and its like, array_to_string.
 *
 * Of elements that are written out their number is known, and a function over all takes the nth; an array's text is
 * handed to the functions of type/func_array.c.
 */
#include "bind/bind_int.h"

#include <assert.h>

/* The nth of the items, NULL where there is none. */
static tcudb_status choose(Binder *b, Expr *const *items, uint32_t n, Expr *nth, int position, Expr **out, Error *err)
{
    Expr *args[FUNC_MAX_ARGS];
    if (n + 1 > FUNC_MAX_ARGS)
        return error_unsupported(err, position, "an element of an array of more than %d elements", FUNC_MAX_ARGS - 1);
    memcpy(args, items, n * sizeof *args);
    args[n] = nth;
    return bind_call(b, FUNC_OPERATOR, "element of these", args, n + 1, position, position, out, err);
}

static tcudb_status int4_const(Binder *b, int32_t value, int position, Expr **out, Error *err)
{
    *out = expr_const(b->arena, &(Value){.type = TYPE(TYPE_INT4), .i32 = value}, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* ---- subscripts */

static tcudb_status not_an_array(Binder *b, Block *block, const Node *arg, Error *err)
{
    Expr *e = NULL;
    TRY(bind_expr(b, block, arg, &e, err));
    int position = bind_node_position(b, arg);
    if (e->type.id == TYPE_UNKNOWN || e->type.id == TYPE_TEXT) /* maybe an array of pg_catalog's, which are text */
        return error_unsupported(err, position, "a subscript of what is no array that is written out");
    return error_at(err, SQLSTATE_DATATYPE_MISMATCH, position,
                    "cannot subscript type %s because it does not support subscripting", type_base_name(e->type));
}

static tcudb_status subscript(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    TRY(bind_expr(b, block, node, out, err));
    int position = bind_node_position(b, node);
    if (bind_coerce(b, *out, TYPE(TYPE_INT4), CAST_ASSIGNMENT, position, out, err) == TCUDB_OK) return TCUDB_OK;
    if (err != NULL &&
        (strcmp(err->sqlstate, SQLSTATE_CANNOT_COERCE) == 0 || strcmp(err->sqlstate, SQLSTATE_DATATYPE_MISMATCH) == 0))
        return error_at(err, SQLSTATE_DATATYPE_MISMATCH, position, "array subscript must have type integer");
    return TCUDB_ERROR;
}

tcudb_status bind_subscript(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    const PgQuery__AIndirection *in = node->a_indirection;
    int position = bind_node_position(b, node);
    assert(in->n_indirection > 0);
    if (!NODE_IS(in->indirection[0], A_INDICES)) return error_unsupported(err, position, "field selection");
    const PgQuery__AIndices *index = in->indirection[0]->a_indices;
    if (!bind_is_array(in->arg)) return not_an_array(b, block, in->arg, err);
    if (index->is_slice) return error_unsupported(err, position, "a slice of an array");
    if (in->n_indirection > 1) return error_unsupported(err, position, "several subscripts");
    Array array;
    Expr *nth = NULL;
    TRY(bind_array(b, block, in->arg, &array, err));
    TRY(bind_array_settle(b, &array, err));
    TRY(subscript(b, block, index->uidx, &nth, err));
    if (array.text != NULL)
        return bind_call(b, FUNC_OPERATOR, "element of", (Expr *[]){array.text, nth}, 2, position, position, out, err);
    if (array.n == 0) return bind_null(b, array.type, position, out, err);
    return choose(b, array.items, array.n, nth, position, out, err);
}

/* ---- functions */

typedef enum Ask { ASK_CARDINALITY, ASK_LENGTH, ASK_LOWER, ASK_POSITION, ASK_TEXT } Ask;
typedef struct ArrayFunction {
    const char *name;
    Ask ask;
    uint32_t least, most; /* arguments */
} ArrayFunction;

static const ArrayFunction *array_function(const PgQuery__FuncCall *call)
{
    static const ArrayFunction functions[] = {
        {"cardinality", ASK_CARDINALITY, 1, 1}, {"array_length", ASK_LENGTH, 2, 2},
        {"array_upper", ASK_LENGTH, 2, 2},      {"array_lower", ASK_LOWER, 2, 2},
        {"array_position", ASK_POSITION, 2, 2}, {"array_to_string", ASK_TEXT, 2, 3},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, bind_func_name(call)) == 0) return &functions[i];
    return NULL;
}

bool bind_takes_array(const PgQuery__FuncCall *call)
{
    return array_function(call) != NULL;
}

/* Of an array with elements the bound in its one dimension. */
static tcudb_status bound_of(Binder *b, const Array *array, Ask ask, Expr *dimension, int position, Expr **out,
                             Error *err)
{
    Expr *bound = NULL;
    assert(dimension != NULL);
    TRY(bind_coerce(b, dimension, TYPE(TYPE_INT4), CAST_IMPLICIT, dimension->position, &dimension, err));
    if (array->n == 0) return bind_null(b, TYPE(TYPE_INT4), position, out, err);
    TRY(int4_const(b, ask == ASK_LOWER ? 1 : (int32_t)array->n, position, &bound, err));
    return choose(b, &bound, 1, dimension, position, out, err);
}

/* CASE WHEN a IS NOT DISTINCT FROM x THEN 1 ... ELSE NULL END */
static tcudb_status position_of(Binder *b, const Array *array, Expr *x, int position, Expr **out, Error *err)
{
    uint32_t n = array->n;
    Type type;
    Expr **all = ARENA_ARRAY(b->arena, Expr *, n + 1, err), **cases = ARENA_ARRAY(b->arena, Expr *, 2 * n + 1, err);
    TRY_PTR(all);
    TRY_PTR(cases);
    memcpy(all, array->items, n * sizeof *all);
    all[n] = x;
    TRY(bind_unify(b, all, n + 1, "ARRAY", bind_mismatch(all, n + 1), &type, err));
    for (uint32_t i = 0; i < n; i++) {
        Expr *args[2] = {all[i], all[n]};
        TRY(bind_call(b, FUNC_OPERATOR, "is not distinct from", args, 2, position, position, &cases[2 * i], err));
        TRY(int4_const(b, (int32_t)i + 1, position, &cases[2 * i + 1], err));
    }
    TRY(bind_null(b, TYPE(TYPE_INT4), position, &cases[2 * n], err));
    *out = n == 0 ? cases[0] : expr_node(b->arena, EXPR_CASE, TYPE(TYPE_INT4), cases, 2 * n + 1, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* CASE WHEN x IS NULL THEN null ELSE concat(x) END */
static tcudb_status null_as(Binder *b, Expr *x, Expr *null, int position, Expr **out, Error *err)
{
    Expr *args[3] = {NULL, null, NULL};
    TRY(bind_call(b, FUNC_OPERATOR, "is null", &x, 1, position, position, &args[0], err));
    TRY(bind_call(b, FUNC_FUNCTION, "concat", &x, 1, position, position, &args[2], err));
    *out = expr_node(b->arena, EXPR_CASE, TYPE(TYPE_TEXT), args, 3, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* concat_ws(delimiter, a, b, ...): it passes over NULLs, too. */
static tcudb_status text_of(Binder *b, const Array *array, Expr **args, uint32_t nargs, int position, Expr **out,
                            Error *err)
{
    Expr *parts[FUNC_MAX_ARGS];
    if (array->n + 1 > FUNC_MAX_ARGS)
        return error_unsupported(err, position, "the text of an array of more than %d elements", FUNC_MAX_ARGS - 1);
    for (uint32_t i = 1; i < nargs; i++)
        TRY(bind_coerce(b, args[i], TYPE(TYPE_TEXT), CAST_IMPLICIT, args[i]->position, &args[i], err));
    parts[0] = args[1];
    for (uint32_t i = 0; i < array->n; i++) {
        parts[i + 1] = array->items[i];
        if (nargs > 2) TRY(null_as(b, parts[i + 1], args[2], position, &parts[i + 1], err));
    }
    if (array->n > 0)
        return bind_call(b, FUNC_FUNCTION, "concat_ws", parts, array->n + 1, position, position, out, err);
    parts[1] = expr_const(b->arena, &(Value){.type = TYPE(TYPE_TEXT), .str = STR_LIT("")}, position, err);
    TRY_PTR(parts[1]);
    return bind_call(b, FUNC_FUNCTION, "concat_ws", parts, 2, position, position, out, err);
}

/* args[0] is the array's. */
static tcudb_status asked_of(Binder *b, Array *array, const ArrayFunction *f, Expr **args, uint32_t nargs, int position,
                             Expr **out, Error *err)
{
    if (array->text != NULL) {
        args[0] = array->text;
        return bind_call(b, FUNC_FUNCTION, f->name, args, nargs, position, position, out, err);
    }
    TRY(bind_array_settle(b, array, err));
    switch (f->ask) {
    case ASK_CARDINALITY: return int4_const(b, (int32_t)array->n, position, out, err);
    case ASK_LENGTH:
    case ASK_LOWER: return bound_of(b, array, f->ask, args[1], position, out, err);
    case ASK_POSITION: return position_of(b, array, args[1], position, out, err);
    case ASK_TEXT: return text_of(b, array, args, nargs, position, out, err);
    }
    return TCUDB_ERROR;
}

tcudb_status bind_array_call(Binder *b, Block *block, const PgQuery__FuncCall *call, Expr **out, Error *err)
{
    const ArrayFunction *f = array_function(call);
    int position = bind_position(b, call->location);
    uint32_t nargs = (uint32_t)call->n_args;
    Expr *args[3] = {NULL};
    Array array;
    assert(f != NULL && f->most <= sizeof args / sizeof *args);
    bool fits = nargs >= f->least && nargs <= f->most && call->over == NULL && !call->func_variadic &&
                !call->agg_distinct && call->n_agg_order == 0 && call->agg_filter == NULL;
    if (!fits || !bind_is_array(call->args[0])) return error_unsupported(err, position, "this call of %s", f->name);
    TRY(bind_array(b, block, call->args[0], &array, err));
    for (uint32_t i = 1; i < nargs; i++) TRY(bind_expr(b, block, call->args[i], &args[i], err));
    return asked_of(b, &array, f, args, nargs, position, out, err);
}
