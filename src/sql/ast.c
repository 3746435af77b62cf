/*
 * ast.c: the place of an expression node, as PostgreSQL's exprLocation() has it.
 *
 * An error about an expression points at its leftmost token: for a + b at a's start, not at the plus sign. So
 * the location of an operator node is the smaller of its own and its first operand's. Nodes that the grammar
 * makes up have none (-1); then the first part that has one counts.
 */
#include "sql/ast.h"

static int leftmost(int a, int b)
{
    if (a < 0) return b;
    if (b < 0) return a;
    return a < b ? a : b;
}

static int list_location(Node *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int location = sql_location(nodes[i]);
        if (location >= 0) return location;
    }
    return -1;
}

static int type_name_location(const PgQuery__TypeName *type)
{
    return type == NULL ? -1 : type->location;
}

int sql_location(const Node *node)
{
    if (node == NULL) return -1;
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: return node->column_ref->location;
    case PG_QUERY__NODE__NODE_PARAM_REF: return node->param_ref->location;
    case PG_QUERY__NODE__NODE_A_CONST: return node->a_const->location;
    case PG_QUERY__NODE__NODE_A_EXPR: return leftmost(node->a_expr->location, sql_location(node->a_expr->lexpr));
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return leftmost(node->bool_expr->location, list_location(node->bool_expr->args, node->bool_expr->n_args));
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return leftmost(node->func_call->location, list_location(node->func_call->args, node->func_call->n_args));
    case PG_QUERY__NODE__NODE_TYPE_CAST:
        return leftmost(sql_location(node->type_cast->arg),
                        leftmost(type_name_location(node->type_cast->type_name), node->type_cast->location));
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return leftmost(sql_location(node->sub_link->testexpr), node->sub_link->location);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return node->case_expr->location;
    case PG_QUERY__NODE__NODE_CASE_WHEN: return node->case_when->location;
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return node->coalesce_expr->location;
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return node->min_max_expr->location;
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return node->sqlvalue_function->location;
    case PG_QUERY__NODE__NODE_NULL_TEST: return leftmost(node->null_test->location, sql_location(node->null_test->arg));
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return leftmost(node->boolean_test->location, sql_location(node->boolean_test->arg));
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return sql_location(node->collate_clause->arg);
    case PG_QUERY__NODE__NODE_ROW_EXPR: return node->row_expr->location;
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return node->a_array_expr->location;
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return sql_location(node->a_indirection->arg);
    case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR: return node->named_arg_expr->location;
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT: return node->set_to_default->location;
    case PG_QUERY__NODE__NODE_GROUPING_SET: return node->grouping_set->location;
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return node->grouping_func->location;
    case PG_QUERY__NODE__NODE_RES_TARGET:
        return leftmost(node->res_target->location, sql_location(node->res_target->val));
    case PG_QUERY__NODE__NODE_TYPE_NAME: return node->type_name->location;
    case PG_QUERY__NODE__NODE_RANGE_VAR: return node->range_var->location;
    case PG_QUERY__NODE__NODE_SORT_BY: return sql_location(node->sort_by->node);
    case PG_QUERY__NODE__NODE_DEF_ELEM: return node->def_elem->location;
    case PG_QUERY__NODE__NODE_LIST: return list_location(node->list->items, node->list->n_items);
    default: return -1;
    }
}
