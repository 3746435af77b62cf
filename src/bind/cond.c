/*
 * cond.c: CASE, COALESCE, GREATEST/LEAST, IS NULL, IS TRUE, and functions without parentheses.
 */
#include "bind/bind_int.h"

#include <assert.h>

/* CASE x WHEN y: the operand is bound once and compared with each y. */
static tcudb_status case_condition(Binder *b, Block *block, const PgQuery__CaseWhen *when, Expr *operand, Expr **out,
                                   Error *err)
{
    if (operand == NULL) return bind_bool(b, block, when->expr, "CASE/WHEN", out, err);
    Expr *args[2] = {operand, NULL};
    TRY(bind_expr(b, block, when->expr, &args[1], err));
    int position = bind_position(b, when->location);
    return bind_call(b, FUNC_OPERATOR, "=", args, 2, position, position, out, err);
}

static tcudb_status case_args(Binder *b, Block *block, const PgQuery__CaseExpr *node, Expr **args, Error *err)
{
    Expr *operand = NULL;
    if (node->arg != NULL) {
        TRY(bind_expr(b, block, node->arg, &operand, err));
        if (operand->type.id == TYPE_UNKNOWN) {
            TRY(bind_coerce(b, operand, TYPE(TYPE_TEXT), CAST_IMPLICIT, operand->position, &operand, err));
        }
    }
    for (size_t i = 0; i < node->n_args; i++) {
        assert(NODE_IS(node->args[i], CASE_WHEN));
        const PgQuery__CaseWhen *when = node->args[i]->case_when;
        TRY(case_condition(b, block, when, operand, &args[2 * i], err));
        TRY(bind_expr(b, block, when->result, &args[2 * i + 1], err));
    }
    Expr **last = &args[2 * node->n_args];
    if (node->defresult != NULL) return bind_expr(b, block, node->defresult, last, err);
    return bind_null(b, TYPE(TYPE_UNKNOWN), bind_position(b, node->location), last, err);
}

tcudb_status bind_case(Binder *b, Block *block, const PgQuery__CaseExpr *node, Expr **out, Error *err)
{
    uint32_t nargs = 2 * (uint32_t)node->n_args + 1, nresults = 0;
    Expr **args = ARENA_ARRAY(b->arena, Expr *, nargs, err);
    TRY_PTR(args);
    Expr **results = ARENA_ARRAY(b->arena, Expr *, node->n_args + 1, err);
    TRY_PTR(results);
    uint32_t before = block->nsrfs;
    TRY(case_args(b, block, node, args, err));
    TRY(bind_srf_refuse(block, before, "CASE", err));
    results[nresults++] = args[nargs - 1]; /* ELSE counts first, as in PostgreSQL */
    for (uint32_t i = 1; i < nargs; i += 2) results[nresults++] = args[i];
    Type type = {0};
    TRY(bind_unify(b, results, nresults, "CASE", bind_mismatch(results, nresults), &type, err));
    args[nargs - 1] = results[0];
    for (uint32_t i = 1, k = 1; i < nargs; i += 2) args[i] = results[k++];
    *out = expr_node(b->arena, EXPR_CASE, type, args, nargs, bind_position(b, node->location), err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_coalesce(Binder *b, Block *block, const PgQuery__CoalesceExpr *node, Expr **out, Error *err)
{
    Expr **args = NULL;
    Type type = {0};
    uint32_t n = (uint32_t)node->n_args, before = block->nsrfs;
    TRY(bind_expr_list(b, block, node->args, n, &args, err));
    TRY(bind_srf_refuse(block, before, "COALESCE", err));
    TRY(bind_unify(b, args, n, "COALESCE", bind_mismatch(args, n), &type, err));
    *out = expr_node(b->arena, EXPR_COALESCE, type, args, n, bind_position(b, node->location), err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

tcudb_status bind_minmax(Binder *b, Block *block, const PgQuery__MinMaxExpr *node, Expr **out, Error *err)
{
    bool least = node->op == PG_QUERY__MIN_MAX_OP__IS_LEAST;
    int position = bind_position(b, node->location);
    Expr **args = NULL;
    Type type = {0};
    uint32_t n = (uint32_t)node->n_args;
    TRY(bind_expr_list(b, block, node->args, n, &args, err));
    TRY(bind_unify(b, args, n, least ? "LEAST" : "GREATEST", bind_mismatch(args, n), &type, err));
    return bind_call(b, FUNC_FUNCTION, least ? "least" : "greatest", args, n, position, position, out, err);
}

/* (a, b) IS NULL, IS NOT NULL: all columns are NULL, no column is; so that neither may be true. */
static tcudb_status row_nulltest(Binder *b, Block *block, const PgQuery__NullTest *test, int position, Expr **out,
                                 Error *err)
{
    const PgQuery__RowExpr *row = test->arg->row_expr;
    *out = NULL;
    for (size_t i = 0; i < row->n_args; i++) {
        Expr *arg = NULL;
        if (NODE_IS(row->args[i], ROW_EXPR)) return error_unsupported(err, position, "a row within a row");
        TRY(bind_expr(b, block, row->args[i], &arg, err));
        TRY(bind_call(b, FUNC_OPERATOR, "is null", &arg, 1, position, position, &arg, err));
        if (test->nulltesttype != PG_QUERY__NULL_TEST_TYPE__IS_NULL) TRY(bind_not(b, arg, position, &arg, err));
        TRY(bind_and_or(b, EXPR_AND, *out, arg, out, err));
    }
    return *out != NULL ? TCUDB_OK : bind_bool_const(b, true, position, out, err);
}

tcudb_status bind_nulltest(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    const PgQuery__NullTest *test = node->null_test;
    int position = bind_node_position(b, node);
    if (NODE_IS(test->arg, ROW_EXPR)) return row_nulltest(b, block, test, position, out, err);
    ScopeItem *item = NULL;
    Block *level = NULL;
    TRY(bind_whole_row(b, block, test->arg, &item, &level, err));
    bool is_null = test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL;
    if (item != NULL && level == block) return bind_row_nulltest(b, item, is_null, position, out, err);
    Expr *arg = NULL;
    Array array = {0};
    bool made = NODE_IS(test->arg, FUNC_CALL) && bind_makes_array(test->arg->func_call);
    if (made) TRY(bind_array(b, block, test->arg, &array, err));
    if (made)
        arg = array.text;
    else
        TRY(bind_expr(b, block, test->arg, &arg, err));
    TRY(bind_call(b, FUNC_OPERATOR, "is null", &arg, 1, position, position, out, err));
    return is_null ? TCUDB_OK : bind_not(b, *out, position, out, err);
}

tcudb_status bind_booltest(Binder *b, Block *block, const Node *node, Expr **out, Error *err)
{
    static const char *const clauses[] = {"",           "IS TRUE",       "IS NOT TRUE", "IS FALSE", "IS NOT FALSE",
                                          "IS UNKNOWN", "IS NOT UNKNOWN"};
    static const char *const names[] = {"",           "is true",       "is not true", "is false", "is not false",
                                        "is unknown", "is not unknown"};
    const PgQuery__BooleanTest *test = node->boolean_test;
    int position = bind_node_position(b, node);
    uint32_t which = (uint32_t)test->booltesttype;
    assert(which < sizeof names / sizeof *names);
    Expr *arg = NULL;
    TRY(bind_bool(b, block, test->arg, clauses[which], &arg, err));
    return bind_call(b, FUNC_OPERATOR, names[which], &arg, 1, position, position, out, err);
}

tcudb_status bind_valuefunc(Binder *b, const PgQuery__SQLValueFunction *node, Expr **out, Error *err)
{
    int position = bind_position(b, node->location);
    const char *name = NULL;
    switch (node->op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: name = "current_date"; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP: name = "localtimestamp"; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_ROLE:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_USER:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_USER:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_SESSION_USER: name = "tcudb"; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_CATALOG: name = "tcudb"; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA: return bind_current_schema(b, position, out, err);
    default: return error_unsupported(err, position, "this time function");
    }
    if (strstr(name, "current") != NULL || strstr(name, "local") != NULL) {
        TRY(bind_call(b, FUNC_FUNCTION, name, NULL, 0, position, position, out, err));
        if (node->typmod < 0 || node->typmod >= 6) return TCUDB_OK;
        Type rounded = {.id = TYPE_TIMESTAMP, .precision = (uint8_t)(node->typmod + 1)};
        return bind_coerce(b, *out, rounded, CAST_EXPLICIT, position, out, err);
    }
    Value value = {.type = TYPE(TYPE_TEXT), .str = str_of(name)}; /* there are no users: the program's name */
    *out = expr_const(b->arena, &value, position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}
