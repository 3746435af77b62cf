/*
 * table.c: functions in FROM: generate_series(1, 10), read_csv('f', delim => ';'), and scalar ones.
 *
 * A table function's arguments are constants that are evaluated while binding, and the function says what columns
 * it yields; where its columns do not depend on the arguments' values (generate_series), these may be columns of
 * entries before it, parameters and subqueries, and are evaluated when it runs. A scalar function in FROM is one row
 * with one column, as in PostgreSQL.
 */
#include "bind/bind_int.h"

#include <assert.h>

typedef struct FuncArgs {
    TableFuncArg *args; /* values of constants; NULLs of the right type for the others */
    Expr **exprs;
    bool dynamic; /* some argument is known at run time only */
    Place place;
    ApplyList applies;
} FuncArgs;

/* A parameter's value is known at run time. */
static bool is_known(void *ctx, const Expr *e)
{
    (void)ctx;
    return e->kind != EXPR_PARAM;
}

/* Binds in the scope of the entries before it: functions are LATERAL. */
static tcudb_status function_arg(Binder *b, Block *block, const TableFunc *func, const Node *node, FuncArgs *out,
                                 size_t i, Error *err)
{
    ApplyList *applies_before = block->applies;
    Place place_before = block->place;
    block->applies = &out->applies;
    block->place = out->place;
    Expr *e = NULL;
    tcudb_status status = bind_expr(b, block, node, &e, err);
    block->applies = applies_before;
    block->place = place_before;
    TRY(status);
    TableFuncArg *arg = &out->args[i];
    arg->position = bind_node_position(b, node);
    out->exprs[i] = e;
    if (e->kind == EXPR_CONST && e->type.id == TYPE_UNKNOWN) {
        arg->value = e->value; /* an untyped literal: the function knows what it wants */
        return TCUDB_OK;
    }
    if (out->applies.first == NULL && !bind_expr_has_col(e, 0) && expr_walk(e, is_known, NULL))
        return bind_const_value(b, e, arg->position, &arg->value, err);
    if (!func->dynamic)
        return error_unsupported(err, arg->position, "an argument of %s that is not a constant", func->name);
    arg->value = (Value){.type = e->type, .null = true};
    out->dynamic = true;
    return TCUDB_OK;
}

static tcudb_status function_args(Binder *b, Block *block, const TableFunc *func, const PgQuery__FuncCall *call,
                                  FuncArgs *out, Error *err)
{
    TableFuncArg *args = ARENA_ARRAY(b->arena, TableFuncArg, call->n_args, err);
    TRY_PTR(args);
    out->args = args;
    out->exprs = ARENA_ARRAY(b->arena, Expr *, call->n_args, err);
    TRY_PTR(out->exprs);
    for (size_t i = 0; i < call->n_args; i++) {
        const Node *node = call->args[i];
        if (NODE_IS(node, NAMED_ARG_EXPR)) {
            args[i].name = str_of(node->named_arg_expr->name);
            node = node->named_arg_expr->arg;
        } else if (i > 0 && args[i - 1].name.len > 0) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_node_position(b, node),
                            "positional argument cannot follow named argument");
        }
        TRY(function_arg(b, block, func, node, out, i, err));
    }
    return TCUDB_OK;
}

/* What is evaluated at run time: arguments of the function's type (the step between timestamps is an interval), over
 * subqueries that run once before it. */
static tcudb_status run_time_args(Binder *b, FuncArgs *args, size_t n, const TableFuncBound *bound, Plan *scan,
                                  Plan **out, Error *err)
{
    *out = scan;
    for (size_t i = 0; i < n; i++) {
        Expr *e = args->exprs[i];
        Type type = i == 2 && bound->types[0].id == TYPE_TIMESTAMP ? TYPE(TYPE_INTERVAL) : TYPE(bound->types[0].id);
        TRY(bind_coerce(b, e, type, CAST_IMPLICIT, e->position, &args->exprs[i], err));
    }
    scan->func_scan.args = args->exprs;
    scan->func_scan.nargs = (uint32_t)n;
    if (args->applies.first == NULL) return TCUDB_OK;
    Plan *left = NULL;
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, scan->ncols, err);
    TRY_PTR(exprs);
    TRY(bind_plan_one_row(b, &left, err));
    TRY(bind_plan_apply(b, left, &args->applies, &left, err));
    TRY(bind_plan_lateral(b, APPLY_CROSS, left, scan, out, err));
    for (uint32_t i = 0; i < scan->ncols; i++) {
        exprs[i] = (NamedExpr){scan->cols[i], expr_col(b->arena, scan->cols[i].id, scan->cols[i].type, 0, err)};
        TRY_PTR(exprs[i].expr);
    }
    return plan_project(b->arena, *out, exprs, scan->ncols, out, err);
}

tcudb_status bind_function_scan(Binder *b, Block *block, const TableFunc *func, const PgQuery__FuncCall *call,
                                Place place, Plan **out, bool *dynamic, Error *err)
{
    FuncArgs args = {.place = place};
    TableFuncBound *bound = ARENA_NEW(b->arena, TableFuncBound, err);
    TRY_PTR(bound);
    TRY(function_args(b, block, func, call, &args, err));
    const EvalCtx ctx = {.arena = b->arena, .cancel = b->env->cancel};
    tcudb_status status = func->bind(&ctx, args.args, (uint32_t)call->n_args, bound, err);
    if (status != TCUDB_OK) { /* what a scalar function would say when it runs has no place in the text */
        bool runs = func->dynamic && err != NULL && strncmp(err->sqlstate, "42", 2) != 0;
        if (err != NULL && err->position == 0 && !runs) err->position = bind_position(b, call->location);
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
    *dynamic = args.dynamic;
    return args.dynamic ? run_time_args(b, &args, call->n_args, bound, plan, out, err) : TCUDB_OK;
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
    return plan_project(b->arena, row, &named, 1, out, err);
}

/* PostgreSQL names a one-column function's column after the alias, or the function. */
static void name_single_column(ScopeItem *item, const PgQuery__Alias *alias)
{
    if (alias != NULL && alias->n_colnames == 0) item->cols[0].name = str_of(alias->aliasname);
}

/* What FROM 'file' of other formats is rewritten to. */
static tcudb_status check_format(const Binder *b, const char *name, const PgQuery__FuncCall *call, Error *err)
{
    const char *format = strcmp(name, "read_parquet") == 0 ? "Parquet" : strcmp(name, "read_json") == 0 ? "JSON" : NULL;
    if (format == NULL) return TCUDB_OK;
    tcudb_status status = error_unsupported(err, bind_position(b, call->location), "reading %s files", format);
    error_hint(err, "Export the file as CSV, which FROM 'file.csv' reads.");
    return status;
}

tcudb_status bind_table_function(Binder *b, Block *block, const PgQuery__RangeFunction *range, Plan **out,
                                 bool *lateral, Error *err)
{
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
        if (func != NULL && bind_makes_array(node->func_call))
            return error_unsupported(err, bind_node_position(b, node), "the function %s in FROM", name);
        if (func == NULL) TRY(check_format(b, name, node->func_call, err));
    }
    *lateral = func == NULL;
    if (func == NULL && NODE_IS(node, FUNC_CALL) && bind_is_unnest(node->func_call))
        TRY(bind_unnest(b, block, node->func_call, PLACE_FROM_FUNCTION, out, err));
    else if (func != NULL)
        TRY(bind_function_scan(b, block, func, node->func_call, PLACE_FROM_FUNCTION, out, lateral, err));
    else
        TRY(scalar_scan(b, block, node, name, out, err));
    ScopeItem *item = NULL;
    bool single = (*out)->ncols == 1;
    if (range->ordinality) TRY(bind_with_ordinality(b, *out, out, err));
    TRY(bind_scope_item_of_plan(b, str_of(name), *out, (*out)->ncols, &item, err));
    item->any_case = func != NULL;
    if (single) name_single_column(item, range->alias);
    TRY(bind_alias(b, item, range->alias, err));
    return bind_scope_add(b, block, item, err);
}
