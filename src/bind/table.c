/*
 * table.c: functions in FROM: generate_series(1, 10), read_csv('f', delim => ';'), and scalar ones.
 *
 * A table function's arguments are constants: they are evaluated while binding, and the function says what columns
 * it yields. A scalar function in FROM is one row with one column, as in PostgreSQL.
 */
#include "bind/bind_int.h"

#include <assert.h>

/* Binds in the scope of the entries before it, so that a column is refused by what it is. */
static tcudb_status function_arg(Binder *b, Block *block, const PgQuery__FuncCall *call, const Node *node,
                                 TableFuncArg *arg, Error *err)
{
    ApplyList list = {0};
    ApplyList *applies_before = block->applies;
    Place place_before = block->place;
    block->applies = &list;
    block->place = PLACE_FROM_FUNCTION;
    Expr *e = NULL;
    tcudb_status status = bind_expr(b, block, node, &e, err);
    block->applies = applies_before;
    block->place = place_before;
    TRY(status);
    arg->position = bind_node_position(b, node);
    if (list.first != NULL || bind_expr_has_col(e, 0)) {
        return error_unsupported(err, arg->position, "an argument of %s that is not a constant", bind_func_name(call));
    }
    if (e->kind == EXPR_CONST && e->type.id == TYPE_UNKNOWN) {
        arg->value = e->value; /* an untyped literal: the function knows what it wants */
        return TCUDB_OK;
    }
    return bind_const_value(b, e, arg->position, &arg->value, err);
}

static tcudb_status function_args(Binder *b, Block *block, const PgQuery__FuncCall *call, TableFuncArg **out,
                                  Error *err)
{
    TableFuncArg *args = ARENA_ARRAY(b->arena, TableFuncArg, call->n_args, err);
    TRY_PTR(args);
    for (size_t i = 0; i < call->n_args; i++) {
        const Node *node = call->args[i];
        if (NODE_IS(node, NAMED_ARG_EXPR)) {
            args[i].name = str_of(node->named_arg_expr->name);
            node = node->named_arg_expr->arg;
        } else if (i > 0 && args[i - 1].name.len > 0) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_node_position(b, node),
                            "positional argument cannot follow named argument");
        }
        TRY(function_arg(b, block, call, node, &args[i], err));
    }
    *out = args;
    return TCUDB_OK;
}

static tcudb_status function_scan(Binder *b, Block *block, const TableFunc *func, const PgQuery__FuncCall *call,
                                  Plan **out, Error *err)
{
    TableFuncArg *args = NULL;
    TableFuncBound *bound = ARENA_NEW(b->arena, TableFuncBound, err);
    TRY_PTR(bound);
    TRY(function_args(b, block, call, &args, err));
    tcudb_status status = func->bind(b->arena, args, (uint32_t)call->n_args, bound, err);
    if (status != TCUDB_OK) {
        if (err != NULL && err->position == 0) err->position = bind_position(b, call->location);
        return status;
    }
    Plan *plan = plan_new(b->arena, PLAN_FUNC_SCAN, 0, bound->ncols, err);
    TRY_PTR(plan);
    uint32_t *columns = ARENA_ARRAY(b->arena, uint32_t, bound->ncols, err);
    TRY_PTR(columns);
    for (uint32_t i = 0; i < bound->ncols; i++) {
        plan->cols[i] = bind_new_col(b, bound->types[i], bound->names[i]);
        columns[i] = i;
    }
    plan->func_scan.call = (TableFuncCall){.func = func, .bound = bound, .name = func->name};
    plan->func_scan.columns = columns;
    *out = plan;
    return TCUDB_OK;
}

/* A scalar function: PROJECT over one row. It may refer to entries before it (functions are LATERAL). */
static tcudb_status scalar_scan(Binder *b, Block *block, const Node *node, const char *name, Plan **out, Error *err)
{
    ApplyList list = {0};
    ApplyList *applies_before = block->applies;
    Place place_before = block->place;
    block->applies = &list;
    block->place = PLACE_FROM_FUNCTION;
    Expr *value = NULL;
    tcudb_status status = bind_expr(b, block, node, &value, err);
    block->applies = applies_before;
    block->place = place_before;
    TRY(status);
    if (value->type.id == TYPE_UNKNOWN)
        TRY(bind_coerce(b, value, TYPE(TYPE_TEXT), CAST_IMPLICIT, value->position, &value, err));
    Plan *row = NULL;
    TRY(bind_plan_one_row(b, &row, err));
    TRY(bind_plan_apply(b, row, &list, &row, err));
    NamedExpr named = {bind_new_col(b, value->type, name), value};
    return bind_plan_project(b, row, &named, 1, out, err);
}

/* PostgreSQL names a one-column function's column after the alias, or the function. */
static void name_single_column(ScopeItem *item, const PgQuery__Alias *alias)
{
    if (item->ncols == 1 && alias != NULL && alias->n_colnames == 0) item->cols[0].name = str_of(alias->aliasname);
}

tcudb_status bind_table_function(Binder *b, Block *block, const PgQuery__RangeFunction *range, Plan **out,
                                 bool *lateral, Error *err)
{
    if (range->ordinality) return error_unsupported(err, 0, "WITH ORDINALITY");
    if (range->is_rowsfrom || range->n_functions != 1) return error_unsupported(err, 0, "ROWS FROM");
    if (range->n_coldeflist > 0) return error_unsupported(err, 0, "a column definition list");
    const Node *list = range->functions[0];
    assert(NODE_IS(list, LIST) && list->list->n_items > 0);
    const Node *node = list->list->items[0];
    const char *name = bind_target_name(node);
    const TableFunc *func = NULL;
    if (NODE_IS(node, FUNC_CALL)) {
        name = bind_func_name(node->func_call);
        if (b->env->find_table_func != NULL) func = b->env->find_table_func(str_of(name));
    }
    *lateral = func == NULL;
    if (func != NULL)
        TRY(function_scan(b, block, func, node->func_call, out, err));
    else
        TRY(scalar_scan(b, block, node, name, out, err));
    ScopeItem *item = NULL;
    TRY(bind_scope_item_of_plan(b, str_of(name), *out, (*out)->ncols, &item, err));
    item->any_case = func != NULL;
    name_single_column(item, range->alias);
    TRY(bind_alias(b, item, range->alias, err));
    return bind_scope_add(b, block, item, err);
}
