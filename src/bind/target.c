/*
 * target.c: the list after SELECT: stars expanded, columns named as PostgreSQL names them.
 *
 * The name of an unnamed expression: a column's own name, a function's name, the last field of a cast's type if
 * the argument gives none, "case", "coalesce", "exists", ..., else "?column?".
 */
#include "bind/bind_int.h"

#include <assert.h>

tcudb_status bind_target_add(Binder *b, TargetList *list, Expr *expr, const char *name, int position, Error *err)
{
    if (list->n >= COLUMNS_MAX) {
        return error_set(err, SQLSTATE_TOO_MANY_COLUMNS, "target lists can have at most %d entries", COLUMNS_MAX);
    }
    if (list->n == list->cap) {
        uint32_t cap = list->cap == 0 ? 16 : list->cap * 2;
        NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, cap, err);
        TRY_PTR(exprs);
        int *positions = ARENA_ARRAY(b->arena, int, cap, err);
        TRY_PTR(positions);
        if (list->n > 0) {
            memcpy(exprs, list->exprs, sizeof *exprs * list->n);
            memcpy(positions, list->positions, sizeof *positions * list->n);
        }
        list->exprs = exprs;
        list->positions = positions;
        list->cap = cap;
    }
    list->exprs[list->n].expr = expr;
    list->exprs[list->n].col = (PlanCol){.type = expr->type, .name = name};
    list->positions[list->n++] = position;
    return TCUDB_OK;
}

/* How good a name is: 2 a name of its own, 1 a fallback (a cast's type, "case"), 0 none. */
static int figure_name(const Node *node, const char **name);

static int name_of_sublink(const PgQuery__SubLink *link, const char **name)
{
    switch (link->sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK: *name = "exists"; return 2;
    case PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK: *name = "array"; return 2;
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK: break;
    default: return 0;
    }
    if (!NODE_IS(link->subselect, SELECT_STMT)) return 0;
    const PgQuery__SelectStmt *stmt = link->subselect->select_stmt;
    while (stmt->larg != NULL) stmt = stmt->larg; /* a set operation takes its first query's names */
    if (stmt->n_values_lists > 0) {
        *name = "column1";
        return 2;
    }
    if (stmt->n_target_list == 0 || !NODE_IS(stmt->target_list[0], RES_TARGET)) return 0;
    const PgQuery__ResTarget *target = stmt->target_list[0]->res_target;
    if (target->name[0] != '\0') {
        *name = target->name;
        return 2;
    }
    return figure_name(target->val, name);
}

static const char *name_of_value_function(PgQuery__SQLValueFunctionOp op)
{
    switch (op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: return "current_date";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME_N: return "current_time";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N: return "current_timestamp";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N: return "localtime";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N: return "localtimestamp";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_ROLE: return "current_role";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_USER: return "current_user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_USER: return "user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_SESSION_USER: return "session_user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_CATALOG: return "current_catalog";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA: return "current_schema";
    default: return "?column?";
    }
}

static int figure_name(const Node *node, const char **name)
{
    if (node == NULL) return 0;
    int strength = 0;
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        *name = sql_last_name(node->column_ref->fields, node->column_ref->n_fields);
        return (*name)[0] == '\0' ? 0 : 2;
    case PG_QUERY__NODE__NODE_FUNC_CALL: *name = bind_func_name(node->func_call); return 2;
    case PG_QUERY__NODE__NODE_A_EXPR:
        if (node->a_expr->kind != PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return 0;
        *name = "nullif";
        return 2;
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        strength = figure_name(node->type_cast->arg, name);
        if (strength > 1 || node->type_cast->type_name == NULL) return strength;
        *name = sql_last_name(node->type_cast->type_name->names, node->type_cast->type_name->n_names);
        return 1;
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return figure_name(node->a_indirection->arg, name);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return figure_name(node->collate_clause->arg, name);
    case PG_QUERY__NODE__NODE_CASE_EXPR:
        strength = figure_name(node->case_expr->defresult, name);
        if (strength > 1) return strength;
        *name = "case";
        return 1;
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: *name = "array"; return 2;
    case PG_QUERY__NODE__NODE_ROW_EXPR: *name = "row"; return 2;
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: *name = "grouping"; return 2;
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: *name = "coalesce"; return 2;
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        *name = node->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_LEAST ? "least" : "greatest";
        return 2;
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: *name = name_of_value_function(node->sqlvalue_function->op); return 2;
    case PG_QUERY__NODE__NODE_SUB_LINK: return name_of_sublink(node->sub_link, name);
    default: return 0;
    }
}

const char *bind_target_name(const Node *node)
{
    const char *name = "?column?";
    return figure_name(node, &name) > 0 ? name : "?column?";
}

static tcudb_status add_item(Binder *b, const ScopeItem *item, int position, TargetList *list, Error *err)
{
    for (uint32_t i = 0; i < item->ncols; i++) {
        const char *name = bind_name(b, item->cols[i].name, err);
        TRY_PTR(name);
        Expr *expr = item->cols[i].expr;
        if (expr->kind == EXPR_COL) {
            expr = expr_col(b->arena, expr->col, expr->type, position, err);
            TRY_PTR(expr);
        }
        TRY(bind_target_add(b, list, expr, name, position, err));
    }
    return TCUDB_OK;
}

static tcudb_status all_columns(Binder *b, Block *block, int position, TargetList *list, Error *err)
{
    bool any = false;
    for (uint32_t i = block->first_visible; i < block->nitems; i++) {
        if (!block->items[i]->cols_visible) continue;
        any = true;
        TRY(add_item(b, block->items[i], position, list, err));
    }
    if (!any) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "SELECT * with no tables specified is not valid");
    }
    return TCUDB_OK;
}

static tcudb_status star(Binder *b, Block *block, const PgQuery__ColumnRef *ref, TargetList *list, Error *err)
{
    int position = bind_position(b, ref->location);
    if (ref->n_fields == 1) return all_columns(b, block, position, list, err);
    ScopeItem *item = NULL;
    Block *level = NULL;
    TRY(bind_scope_find_item(b, block, str_of(sql_string(ref->fields[ref->n_fields - 2])), position, &item, &level,
                             err));
    return add_item(b, item, position, list, err);
}

static bool is_star(const Node *node)
{
    if (!NODE_IS(node, COLUMN_REF)) return false;
    return NODE_IS(node->column_ref->fields[node->column_ref->n_fields - 1], A_STAR);
}

bool bind_has_star(Node *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_star(nodes[i])) return true;
    return false;
}

tcudb_status bind_row_elements(Binder *b, Block *block, const PgQuery__RowExpr *row, TargetList *list, Error *err)
{
    for (size_t i = 0; i < row->n_args; i++) {
        Expr *e = NULL;
        if (is_star(row->args[i])) {
            TRY(star(b, block, row->args[i]->column_ref, list, err));
            continue;
        }
        TRY(bind_expr(b, block, row->args[i], &e, err));
        TRY(bind_target_add(b, list, e, "?column?", bind_node_position(b, row->args[i]), err));
    }
    return TCUDB_OK;
}

tcudb_status bind_target_list(Binder *b, Block *block, Node *const *targets, size_t n, TargetList *list, Error *err)
{
    for (size_t i = 0; i < n; i++) {
        assert(NODE_IS(targets[i], RES_TARGET));
        const PgQuery__ResTarget *target = targets[i]->res_target;
        if (is_star(target->val)) {
            const PgQuery__ColumnRef *ref = target->val->column_ref;
            uint32_t first = list->n;
            TRY(star(b, block, ref, list, err));
            TRY(bind_note_star(b, block, ref, list->exprs + first, list->n - first, err));
            continue;
        }
        Expr *expr = NULL;
        uint32_t edits = b->edits == NULL ? 0 : b->edits->n;
        if (NODE_IS(target->val, TYPE_CAST)) TRY(bind_reg_cast(b, block, target->val->type_cast, true, &expr, err));
        if (expr == NULL) TRY(bind_expr(b, block, target->val, &expr, err));
        const char *name = target->name[0] != '\0' ? target->name : bind_target_name(target->val);
        TRY(bind_note_target(b, target, edits, err));
        TRY(bind_target_add(b, list, expr, name, bind_node_position(b, target->val), err));
    }
    return TCUDB_OK;
}

tcudb_status bind_target_resolve_unknowns(Binder *b, TargetList *list, Error *err)
{
    for (uint32_t i = 0; i < list->n; i++) {
        NamedExpr *target = &list->exprs[i];
        if (target->expr->type.id != TYPE_UNKNOWN) continue;
        TRY(bind_coerce(b, target->expr, TYPE(TYPE_TEXT), CAST_IMPLICIT, target->expr->position, &target->expr, err));
        target->col.type = target->expr->type;
    }
    return TCUDB_OK;
}
