/*
 * order.c: ORDER BY, LIMIT and OFFSET, and what names in ORDER BY, GROUP BY and DISTINCT ON mean.
 *
 * An entry is an ordinal, or the name of an output column (ORDER BY; in GROUP BY a column of FROM comes first), or
 * an expression over FROM's columns. An expression that is not an output is added to the target list behind the
 * visible ones; select.c drops such columns after the sort.
 */
#include "bind/bind_int.h"

#include <assert.h>

static bool is_group_by(const char *clause)
{
    return strcmp(clause, "GROUP BY") == 0;
}

static tcudb_status target_by_name(Binder *b, Block *block, const Node *node, const TargetList *targets,
                                   const char *clause, uint32_t *index, Error *err)
{
    Str name = str_of(sql_string(node->column_ref->fields[0]));
    int position = bind_node_position(b, node);
    if (is_group_by(clause)) {
        Expr *column = NULL;
        TRY(bind_scope_find_local(b, block, name, position, &column, err));
        if (column != NULL) return TCUDB_OK;
    }
    for (uint32_t i = 0; i < targets->n; i++) {
        if (!bind_name_is(name, targets->exprs[i].col.name)) continue;
        if (*index != UINT32_MAX && !expr_equal(targets->exprs[*index].expr, targets->exprs[i].expr)) {
            return error_at(err, SQLSTATE_AMBIGUOUS_COLUMN, position, "%s \"" STR_FMT "\" is ambiguous", clause,
                            STR_ARG(name));
        }
        if (*index == UINT32_MAX) *index = i;
    }
    return TCUDB_OK;
}

static tcudb_status target_by_ordinal(Binder *b, const PgQuery__AConst *node, const TargetList *targets,
                                      const char *clause, uint32_t *index, Error *err)
{
    int position = bind_position(b, node->location);
    if (node->isnull || node->val_case != PG_QUERY__A__CONST__VAL_IVAL) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "non-integer constant in %s", clause);
    }
    int32_t ordinal = node->ival->ival;
    if (ordinal < 1 || (uint32_t)ordinal > targets->n) {
        return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, position, "%s position %d is not in select list",
                        clause, ordinal);
    }
    *index = (uint32_t)ordinal - 1;
    return TCUDB_OK;
}

tcudb_status bind_order_target(Binder *b, Block *block, const Node *node, const TargetList *targets, const char *clause,
                               uint32_t *index, Error *err)
{
    *index = UINT32_MAX;
    if (NODE_IS(node, A_CONST)) return target_by_ordinal(b, node->a_const, targets, clause, index, err);
    bool bare =
        NODE_IS(node, COLUMN_REF) && node->column_ref->n_fields == 1 && NODE_IS(node->column_ref->fields[0], STRING);
    if (bare) return target_by_name(b, block, node, targets, clause, index, err);
    return TCUDB_OK;
}

tcudb_status bind_order_direction(Binder *b, const PgQuery__SortBy *by, bool *descending, bool *nulls_first, Error *err)
{
    *descending = by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
    if (by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING) {
        const char *op = sql_last_name(by->use_op, by->n_use_op);
        if (strcmp(op, "<") != 0 && strcmp(op, ">") != 0) {
            return error_unsupported(err, bind_position(b, by->location), "ORDER BY USING %s", op);
        }
        *descending = op[0] == '>';
    }
    *nulls_first = *descending; /* NULLs count as larger than any value */
    if (by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST) *nulls_first = true;
    if (by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST) *nulls_first = false;
    return TCUDB_OK;
}

static tcudb_status sort_target(Binder *b, Block *block, const Node *node, TargetList *targets, uint32_t visible,
                                uint32_t *index, Error *err)
{
    TargetList shown = *targets;
    shown.n = visible;
    TRY(bind_order_target(b, block, node, &shown, "ORDER BY", index, err));
    if (*index != UINT32_MAX) return TCUDB_OK;
    Expr *expr = NULL;
    TRY(bind_expr(b, block, node, &expr, err));
    for (uint32_t i = 0; i < targets->n; i++) {
        if (!expr_equal(targets->exprs[i].expr, expr)) continue;
        *index = i;
        return TCUDB_OK;
    }
    *index = targets->n;
    return bind_target_add(b, targets, expr, "?column?", bind_node_position(b, node), err);
}

tcudb_status bind_order_by(Binder *b, Block *block, Node *const *sort, size_t n, TargetList *targets, SortList *out,
                           Error *err)
{
    out->n = 0;
    out->targets = ARENA_ARRAY(b->arena, uint32_t, n, err);
    TRY_PTR(out->targets);
    out->descending = ARENA_ARRAY(b->arena, bool, n, err);
    TRY_PTR(out->descending);
    out->nulls_first = ARENA_ARRAY(b->arena, bool, n, err);
    TRY_PTR(out->nulls_first);
    out->positions = ARENA_ARRAY(b->arena, int, n, err);
    TRY_PTR(out->positions);
    uint32_t visible = targets->n;
    for (size_t i = 0; i < n; i++) {
        assert(NODE_IS(sort[i], SORT_BY));
        const PgQuery__SortBy *by = sort[i]->sort_by;
        TRY(sort_target(b, block, by->node, targets, visible, &out->targets[out->n], err));
        TRY(bind_order_direction(b, by, &out->descending[out->n], &out->nulls_first[out->n], err));
        out->positions[out->n++] = bind_node_position(b, by->node);
    }
    return TCUDB_OK;
}

static bool find_column(void *ctx, const Expr *e)
{
    if (e->kind == EXPR_COL && *(const Expr **)ctx == NULL) *(const Expr **)ctx = e;
    return true;
}

/* Not the columns of the query itself, nor of one around it. */
static tcudb_status no_columns(const Block *block, bool any, int position, const char *what, Error *err)
{
    if (!any) return TCUDB_OK;
    if (block->saw_outer) return error_unsupported(err, position, "an outer query's column in %s", what);
    return error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, position, "argument of %s must not contain variables",
                    what);
}

/* An expression with subqueries: one row that is made before, and a parameter in its place. */
static tcudb_status count_param(Binder *b, const Block *block, const ApplyList *list, const char *what, Expr **e,
                                Error *err)
{
    Plan *plan = NULL;
    ColId *cols = NULL;
    uint32_t n = 0;
    assert(*e != NULL);
    const NamedExpr value = {bind_new_col(b, (*e)->type, "count"), *e};
    TRY(bind_plan_one_row(b, &plan, err));
    TRY(bind_plan_apply(b, plan, list, &plan, err));
    TRY(plan_project(b->arena, plan, &value, 1, &plan, err));
    TRY(plan_free_cols(b->arena, plan, &cols, &n, err));
    TRY(no_columns(block, n > 0, list->first->position, what, err));
    Expr *param = expr_node(b->arena, EXPR_PARAM, (*e)->type, NULL, 0, (*e)->position, err);
    TRY_PTR(param);
    param->param = UINT32_MAX; /* until all others have a number */
    TRY_PTR(b->counts = ARENA_MORE(b->arena, b->counts, b->ncounts, &b->cap_counts, err));
    b->counts[b->ncounts++] = (StmtCount){.plan = plan, .param = param};
    *e = param;
    return TCUDB_OK;
}

/* As bigint. */
static tcudb_status count_type(Binder *b, Expr *e, const char *what, Expr **out, Error *err)
{
    Type wide = TYPE(TYPE_INT8);
    const Func *cast = NULL;
    if (e->type.id != TYPE_UNKNOWN && func_cast(e->type, wide, CAST_ASSIGNMENT, 0, &cast, NULL) != TCUDB_OK)
        return error_at(err, SQLSTATE_DATATYPE_MISMATCH, e->position, "argument of %s must be type bigint, not type %s",
                        what, type_base_name(e->type));
    return bind_coerce(b, e, wide, CAST_ASSIGNMENT, e->position, out, err);
}

static tcudb_status limit_expr(Binder *b, Block *block, const Node *node, Place place, const char *what, Expr **out,
                               Error *err)
{
    *out = NULL;
    if (node == NULL) return TCUDB_OK;
    ApplyList list = {0};
    const CteUse *uses = b->cte_uses;
    block->place = place;
    block->applies = &list;
    Expr *e = NULL;
    TRY(bind_expr(b, block, node, &e, err));
    if (list.first == NULL) {
        const Expr *column = NULL;
        (void)expr_walk(e, find_column, &column);
        TRY(no_columns(block, column != NULL, column == NULL ? 0 : column->position, what, err));
    }
    if (bind_is_null_const(e)) return TCUDB_OK; /* LIMIT ALL, LIMIT NULL */
    TRY(count_type(b, e, what, out, err));
    if (list.first == NULL) return TCUDB_OK;
    if (b->cte_uses != uses)
        return error_unsupported(err, list.first->position, "a WITH query in a subquery of %s", what);
    return count_param(b, block, &list, what, out, err);
}

tcudb_status bind_order_counts(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Expr **limit, Expr **offset,
                               Error *err)
{
    block->saw_outer = false;
    TRY(limit_expr(b, block, stmt->limit_offset, PLACE_OFFSET, "OFFSET", offset, err));
    return limit_expr(b, block, stmt->limit_count, PLACE_LIMIT, "LIMIT", limit, err);
}

tcudb_status bind_order_limit(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Plan *input, Plan **out,
                              Error *err)
{
    *out = input;
    if (stmt->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES)
        return error_unsupported(err, bind_node_position(b, stmt->limit_count), "WITH TIES of a set operation");
    Expr *limit = NULL, *offset = NULL;
    TRY(bind_order_counts(b, block, stmt, &limit, &offset, err));
    if (limit == NULL && offset == NULL) return TCUDB_OK;
    TRY(bind_plan_unary(b, PLAN_LIMIT, input, out, err));
    (*out)->limit.limit = limit;
    (*out)->limit.offset = offset;
    return TCUDB_OK;
}
