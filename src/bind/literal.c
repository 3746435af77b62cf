/*
 * literal.c: constants, parameters, type names and casts.
 *
 * 42 is integer (bigint, then numeric, as it grows); 1.50 is numeric(3,2): a scaled integer, so that comparing it
 * with a numeric column needs no wider arithmetic. 1e300 does not fit a numeric of 38 digits: it stays the cast of its
 * text, which becomes double precision where that is wanted and is 22003 where a row needs it as numeric. 'text' has no
 * type until it meets one.
 *
 * A parameter's type is the first one it is cast to; a later, different one is PostgreSQL's 42P08.
 */
#include "bind/bind_int.h"

#include <assert.h>

static tcudb_status constant(Binder *b, const Value *value, int position, Expr **out, Error *err)
{
    *out = expr_const(b->arena, value, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* '1e300'::numeric */
static tcudb_status wide_number(Binder *b, Str text, int position, Expr **out, Error *err)
{
    Expr *e = NULL;
    TRY(constant(b, &(Value){.type = TYPE(TYPE_TEXT), .str = text}, position, &e, err));
    return expr_cast(b->arena, e, TYPE(TYPE_NUMERIC), CAST_EXPLICIT, position, out, err);
}

bool bind_wide_number(const Expr *e, Str *text)
{
    bool is = e->kind == EXPR_FUNC && e->type.id == TYPE_NUMERIC && e->nargs == 1 && e->args[0]->kind == EXPR_CONST &&
              e->args[0]->type.id == TYPE_TEXT && !e->args[0]->value.null;
    if (is) *text = e->args[0]->value.str;
    return is;
}

tcudb_status bind_negate_wide(Binder *b, Str text, int position, Expr **out, Error *err)
{
    char *negated = arena_printf(b->arena, err, "-" STR_FMT, STR_ARG(text));
    TRY_PTR(negated);
    return wide_number(b, str_of(negated), position, out, err);
}

static tcudb_status number(Binder *b, const char *text, int position, Expr **out, Error *err)
{
    Value value = {0};
    Error local = {0};
    tcudb_status status = value_number_literal(str_of(text), &value, &local);
    if (status == TCUDB_OK) return constant(b, &value, position, out, err);
    if (status == TCUDB_ERROR && strcmp(local.sqlstate, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE) == 0)
        return wide_number(b, str_of(text), position, out, err);
    if (err != NULL) *err = local;
    if (err != NULL && err->position == 0) err->position = position;
    return status;
}

tcudb_status bind_literal(Binder *b, const PgQuery__AConst *node, Expr **out, Error *err)
{
    int position = bind_position(b, node->location);
    if (node->isnull) return bind_null(b, TYPE(TYPE_UNKNOWN), position, out, err);
    Value value = {0};
    switch (node->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        value = (Value){.type = TYPE(TYPE_INT4), .i32 = node->ival->ival};
        return constant(b, &value, position, out, err);
    case PG_QUERY__A__CONST__VAL_FVAL: return number(b, node->fval->fval, position, out, err);
    case PG_QUERY__A__CONST__VAL_BOOLVAL: return bind_bool_const(b, node->boolval->boolval, position, out, err);
    case PG_QUERY__A__CONST__VAL_SVAL:
        value = (Value){.type = TYPE(TYPE_UNKNOWN), .str = str_of(node->sval->sval)};
        return constant(b, &value, position, out, err);
    default: return error_unsupported(err, position, "a bit string");
    }
}

/* ---- parameters */

tcudb_status bind_param_need(Binder *b, uint32_t n, Error *err)
{
    if (n >= b->params_cap) {
        uint32_t cap = b->params_cap * 2 > n ? b->params_cap * 2 : n + 8;
        Type *params = ARENA_ARRAY(b->arena, Type, cap, err);
        TRY_PTR(params);
        if (b->nparams > 0) memcpy(params, b->params, sizeof *params * b->nparams);
        for (uint32_t i = b->nparams; i < cap; i++) {
            bool given = i < b->env->nparam_types && b->env->param_types[i].id != TYPE_NONE;
            params[i] = given ? b->env->param_types[i] : TYPE(TYPE_UNKNOWN);
        }
        b->params = params;
        b->params_cap = cap;
    }
    if (n > b->nparams) b->nparams = n;
    return TCUDB_OK;
}

tcudb_status bind_param(Binder *b, const PgQuery__ParamRef *node, Expr **out, Error *err)
{
    int position = bind_position(b, node->location);
    if (b->macro_args != NULL) {
        *out = b->macro_args[node->number - 1];
        return TCUDB_OK;
    }
    if (node->number < 1 || node->number > UINT16_MAX || b->no_params) {
        return error_at(err, SQLSTATE_UNDEFINED_PARAMETER, position, "there is no parameter $%d", node->number);
    }
    TRY(bind_param_need(b, (uint32_t)node->number, err));
    if (b->param_number == 0) {
        b->param_number = node->number;
        b->param_position = position;
    }
    *out = expr_node(b->arena, EXPR_PARAM, b->params[node->number - 1], NULL, 0, position, err);
    TRY_PTR(*out);
    (*out)->param = (uint32_t)node->number - 1;
    return TCUDB_OK;
}

tcudb_status bind_param_type(Binder *b, Expr *param, Type type, int position, Expr **out, Error *err)
{
    assert(param->kind == EXPR_PARAM);
    (void)position;
    Type *have = &b->params[param->param];
    if (have->id == TYPE_UNKNOWN) *have = type;
    if (have->id != type.id) {
        tcudb_status status = error_at(err, SQLSTATE_AMBIGUOUS_PARAMETER, param->position,
                                       "inconsistent types deduced for parameter $%u", param->param + 1);
        error_detail(err, "%s versus %s", type_base_name(*have), type_base_name(type));
        return status;
    }
    *out = expr_node(b->arena, EXPR_PARAM, *have, NULL, 0, param->position, err);
    TRY_PTR(*out);
    (*out)->param = param->param;
    return TCUDB_OK;
}

/* ---- types */

static bool modifier(const Node *node, int64_t *out)
{
    if (!NODE_IS(node, A_CONST) || node->a_const->isnull) return false;
    if (node->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) return false;
    *out = node->a_const->ival->ival;
    return true;
}

tcudb_status bind_typename(Binder *b, const PgQuery__TypeName *node, Type *out, Error *err)
{
    int position = bind_position(b, node->location);
    const char *name = sql_last_name(node->names, node->n_names);
    if (node->setof) return error_unsupported(err, position, "SETOF");
    if (node->n_array_bounds > 0) return error_unsupported(err, position, "the type %s[]", name);
    if (node->pct_type) return error_unsupported(err, position, "%%TYPE");
    if (node->n_names == 2 && strcmp(sql_string(node->names[0]), "pg_catalog") != 0) {
        return error_at(err, SQLSTATE_UNDEFINED_OBJECT, position, "type \"%s.%s\" does not exist",
                        sql_string(node->names[0]), name);
    }
    int64_t mods[4];
    uint32_t nmods = 0;
    for (size_t i = 0; i < node->n_typmods; i++) { /* an interval's are a mask of fields and a precision */
        if (nmods == 4 || !modifier(node->typmods[i], &mods[nmods])) {
            return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position,
                            "type modifiers must be simple constants or identifiers");
        }
        nmods++;
    }
    tcudb_status status = type_from_name(str_of(name), mods, nmods, position, out, err);
    bool missing = status == TCUDB_ERROR && err != NULL && strcmp(err->sqlstate, SQLSTATE_UNDEFINED_OBJECT) == 0;
    if (missing && bind_find_table(b, str_of(name)) != NULL)
        return error_unsupported(err, position, "the type of a table's rows (%s)", name);
    return status;
}

/* ---- casts */

/* In expressions oid is bigint, and name is text. */
static tcudb_status cast_type(Binder *b, const PgQuery__TypeName *node, Type *type, Error *err)
{
    const char *name = sql_last_name(node->names, node->n_names);
    bool oid = strcmp(name, "oid") == 0, text = strcmp(name, "name") == 0;
    if (node->n_array_bounds > 0 || !(oid || text)) return bind_typename(b, node, type, err);
    *type = TYPE(oid ? TYPE_INT8 : TYPE_TEXT);
    return TCUDB_OK;
}

tcudb_status bind_typecast(Binder *b, Block *block, const PgQuery__TypeCast *node, Expr **out, Error *err)
{
    Type type = {0};
    Expr *arg = NULL;
    TRY(bind_reg_cast(b, block, node, false, out, err));
    if (*out != NULL) return TCUDB_OK;
    TRY(cast_type(b, node->type_name, &type, err));
    if (type_is_text(type) && NODE_IS(node->arg, TYPE_CAST)) /* 't'::regclass::text */
        TRY(bind_reg_cast(b, block, node->arg->type_cast, true, &arg, err));
    if (arg == NULL) TRY(bind_expr(b, block, node->arg, &arg, err));
    int position = node->location >= 0 ? bind_position(b, node->location) : bind_position(b, node->type_name->location);
    return bind_coerce(b, arg, type, CAST_EXPLICIT, position, out, err);
}
