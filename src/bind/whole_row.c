/*
 * whole_row.c: the name of an entry of FROM where an expression stands: t, t.*
 *
 * There are no values of row types. What can be said of a row without one is: count(t), which counts the rows that are
 * there, and t IS [NOT] NULL, which asks for its columns (cond.c). Everything else is refused by name (scope.c).
 */
#include "bind/bind_int.h"

/* "t" if the node is t.*, or t and no column is called that. */
static tcudb_status row_name(Binder *b, Block *block, const Node *node, const char **name, Error *err)
{
    *name = NULL;
    if (!NODE_IS(node, COLUMN_REF)) return TCUDB_OK;
    const PgQuery__ColumnRef *ref = node->column_ref;
    if (!NODE_IS(ref->fields[0], STRING)) return TCUDB_OK;
    const char *first = sql_string(ref->fields[0]);
    if (ref->n_fields == 2 && NODE_IS(ref->fields[1], A_STAR)) *name = first;
    if (ref->n_fields != 1) return TCUDB_OK;
    for (Block *at = block; at != NULL; at = at->outer) {
        Expr *column = NULL;
        TRY(bind_scope_find_local(b, at, str_of(first), bind_position(b, ref->location), &column, err));
        if (column != NULL) return TCUDB_OK;
    }
    *name = first;
    return TCUDB_OK;
}

tcudb_status bind_whole_row(Binder *b, Block *block, const Node *node, ScopeItem **item, Block **level, Error *err)
{
    const char *name = NULL;
    *item = NULL;
    TRY(row_name(b, block, node, &name, err));
    if (name != NULL) *item = bind_scope_item_named(block, str_of(name), level);
    return TCUDB_OK;
}

tcudb_status bind_counts_rows(Binder *b, Block *block, const PgQuery__FuncCall *call, bool *yes, Error *err)
{
    ScopeItem *item = NULL;
    Block *level = NULL;
    *yes = false;
    bool plain = call->n_args == 1 && !call->agg_distinct && !call->agg_within_group && call->n_agg_order == 0;
    if (!plain || strcmp(bind_func_name(call), "count") != 0) return TCUDB_OK;
    TRY(bind_whole_row(b, block, call->args[0], &item, &level, err));
    *yes = item != NULL && level == block && !item->nullable;
    return TCUDB_OK;
}

tcudb_status bind_row_nulltest(Binder *b, const ScopeItem *item, bool is_null, int position, Expr **out, Error *err)
{
    *out = NULL;
    for (uint32_t i = 0; i < item->ncols; i++) {
        Expr *arg = item->cols[i].expr;
        TRY(bind_call(b, FUNC_OPERATOR, "is null", &arg, 1, position, position, &arg, err));
        if (!is_null) TRY(bind_not(b, arg, position, &arg, err));
        TRY(bind_and_or(b, EXPR_AND, *out, arg, out, err));
    }
    return *out != NULL ? TCUDB_OK : bind_bool_const(b, true, position, out, err);
}
