/*
 * subquery.c: subqueries in expressions: EXISTS, IN, op ANY, op ALL, and scalar ones.
 *
 * The query becomes the right side of an APPLY that the clause's owner puts below the node the expression belongs
 * to; the expression itself is the APPLY's result column. IN is ANY with =, NOT IN its negation. An outer column
 * that the query's select list passes through gets a new id by its PROJECT, so that the right side never puts out
 * a column of the left.
 */
#include "bind/bind_int.h"

#include <assert.h>

static tcudb_status result(Binder *b, Block *block, ApplySpec *spec, Expr **out, Error *err)
{
    bind_apply_append(block->applies, spec);
    *out = expr_col(b->arena, spec->result.id, spec->result.type, spec->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* The left operands of the test: one, or those of a row. */
static tcudb_status left_operands(Binder *b, Block *block, const Node *node, Expr ***out, uint32_t *n, Error *err)
{
    if (NODE_IS(node, ROW_EXPR)) {
        *n = (uint32_t)node->row_expr->n_args;
        return bind_expr_list(b, block, node->row_expr->args, *n, out, err);
    }
    *n = 1;
    return bind_expr_list(b, block, (Node *const *)&node, 1, out, err);
}

static tcudb_status test_columns(Binder *b, const PgQuery__SubLink *link, Plan *right, uint32_t n, Expr ***out,
                                 Error *err)
{
    int position = bind_position(b, link->location);
    if (right->ncols < n) return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "subquery has too few columns");
    if (right->ncols > n) return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "subquery has too many columns");
    *out = ARENA_ARRAY(b->arena, Expr *, n, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < n; i++) {
        (*out)[i] = expr_col(b->arena, right->cols[i].id, right->cols[i].type, position, err);
        TRY_PTR((*out)[i]);
    }
    return TCUDB_OK;
}

static tcudb_status any_all(Binder *b, Block *block, const PgQuery__SubLink *link, ApplySpec *spec, Error *err)
{
    bool any = link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK;
    const char *op = link->n_oper_name == 0 ? "=" : sql_last_name(link->oper_name, link->n_oper_name);
    int position = bind_position(b, link->location);
    Expr **left = NULL, **right = NULL;
    uint32_t n = 0;
    TRY(left_operands(b, block, link->testexpr, &left, &n, err));
    TRY(test_columns(b, link, spec->right, n, &right, err));
    TRY(bind_compare(b, op, left, right, n, position, position, &spec->test, err));
    if (spec->test->type.id != TYPE_BOOL) {
        return error_at(err, SQLSTATE_DATATYPE_MISMATCH, position,
                        "row comparison operator must yield type boolean, not type %s",
                        type_base_name(spec->test->type));
    }
    spec->kind = any ? APPLY_ANY : APPLY_ALL;
    return TCUDB_OK;
}

/* (a, b) = (SELECT x, y ...): a scalar subquery that computes the comparison. */
static tcudb_status row_compare(Binder *b, Block *block, const PgQuery__SubLink *link, ApplySpec *spec, Error *err)
{
    const char *op = sql_last_name(link->oper_name, link->n_oper_name);
    int position = bind_position(b, link->location);
    Expr **left = NULL, **right = NULL, *test = NULL;
    uint32_t n = 0;
    TRY(left_operands(b, block, link->testexpr, &left, &n, err));
    TRY(test_columns(b, link, spec->right, n, &right, err));
    TRY(bind_compare(b, op, left, right, n, position, position, &test, err));
    NamedExpr named = {bind_new_col(b, test->type, "?column?"), test};
    spec->kind = APPLY_SCALAR;
    return plan_project(b->arena, spec->right, &named, 1, &spec->right, err);
}

tcudb_status bind_sublink(Binder *b, Block *block, const PgQuery__SubLink *link, Expr **out, Error *err)
{
    int position = bind_position(b, link->location);
    if (link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ARRAY_SUBLINK)
        return error_unsupported(err, position, "ARRAY(SELECT ...)");
    if (block->place == PLACE_DEFAULT || block->place == PLACE_EXECUTE || block->place == PLACE_CALL ||
        block->place == PLACE_COPY_WHERE || block->place == PLACE_CHECK || block->place == PLACE_GENERATED) {
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position, "cannot use subquery in %s",
                        block->place == PLACE_DEFAULT     ? "DEFAULT expression"
                        : block->place == PLACE_EXECUTE   ? "EXECUTE parameter"
                        : block->place == PLACE_CALL      ? "CALL argument"
                        : block->place == PLACE_CHECK     ? "check constraint"
                        : block->place == PLACE_GENERATED ? "column generation expression"
                                                          : "COPY FROM WHERE condition");
    }
    if (!NODE_IS(link->subselect, SELECT_STMT)) return error_unsupported(err, position, "this kind of subquery");
    ApplySpec *spec = ARENA_NEW(b->arena, ApplySpec, err);
    TRY_PTR(spec);
    spec->position = position;
    spec->kind = APPLY_EXISTS;
    TRY(bind_select(b, block, NULL, link->subselect->select_stmt, false, &spec->right, err));
    Type type = TYPE(TYPE_BOOL);
    switch (link->sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK: break;
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK: TRY(any_all(b, block, link, spec, err)); break;
    case PG_QUERY__SUB_LINK_TYPE__ROWCOMPARE_SUBLINK: TRY(row_compare(b, block, link, spec, err)); break;
    default:
        if (spec->right->ncols != 1) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "subquery must return only one column");
        }
        spec->kind = APPLY_SCALAR;
        type = spec->right->cols[0].type;
    }
    spec->result = bind_new_col(b, type, "?column?");
    return result(b, block, spec, out, err);
}
