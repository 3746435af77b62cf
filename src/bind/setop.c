/*
 * setop.c: UNION, INTERSECT, EXCEPT and VALUES lists: rows of several sources under common column types.
 *
 * Column types are resolved pairwise per operation, left to right, as PostgreSQL does; an untyped literal in a
 * select list takes the other side's type (it is cast in place, in the PROJECT or VALUES node that holds it).
 * ORDER BY of a set operation may use output names and ordinals only.
 */
#include "bind/bind_int.h"

#include <assert.h>

static tcudb_status retype_slot(Binder *b, Expr **slot, Type type, CastContext context, Error *err)
{
    return bind_coerce(b, *slot, type, context, (*slot)->position, slot, err);
}

static tcudb_status retype_values(Binder *b, Plan *plan, const Type *types, CastContext context, Error *err)
{
    for (uint64_t row = 0; row < plan->values.nrows; row++) {
        for (uint32_t i = 0; i < plan->ncols; i++) {
            TRY(retype_slot(b, &plan->values.rows_exprs[row * plan->ncols + i], types[i], context, err));
        }
    }
    for (uint32_t i = 0; i < plan->ncols; i++) plan->cols[i].type = types[i];
    return TCUDB_OK;
}

tcudb_status bind_retype(Binder *b, Plan *plan, const Type *types, CastContext context, Plan **out, Error *err)
{
    bool same = true;
    *out = plan;
    for (uint32_t i = 0; i < plan->ncols; i++) same = same && type_equal(plan->cols[i].type, types[i]);
    if (same) return TCUDB_OK;
    if (plan->kind == PLAN_VALUES) return retype_values(b, plan, types, context, err);
    if (plan->kind == PLAN_PROJECT) {
        for (uint32_t i = 0; i < plan->ncols; i++) {
            TRY(retype_slot(b, &plan->project.exprs[i].expr, types[i], context, err));
            plan->cols[i].type = plan->project.exprs[i].col.type = types[i];
        }
        return TCUDB_OK;
    }
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, plan->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        const PlanCol *col = &plan->cols[i];
        Expr *e = expr_col(b->arena, col->id, col->type, 0, err);
        TRY_PTR(e);
        TRY(bind_coerce(b, e, types[i], context, 0, &e, err));
        exprs[i] = (NamedExpr){type_equal(col->type, types[i]) ? *col : bind_new_col(b, types[i], col->name), e};
    }
    return plan_project(b->arena, plan, exprs, plan->ncols, out, err);
}

/* ---- set operations */

static const char *setop_name(PgQuery__SetOperation op)
{
    switch (op) {
    case PG_QUERY__SET_OPERATION__SETOP_INTERSECT: return "INTERSECT";
    case PG_QUERY__SET_OPERATION__SETOP_EXCEPT: return "EXCEPT";
    default: return "UNION";
    }
}

static SetKind setop_kind(PgQuery__SetOperation op)
{
    switch (op) {
    case PG_QUERY__SET_OPERATION__SETOP_INTERSECT: return SET_INTERSECT;
    case PG_QUERY__SET_OPERATION__SETOP_EXCEPT: return SET_EXCEPT;
    default: return SET_UNION;
    }
}

/* Where a side's i-th column stands in the text: for messages about types. */
int bind_setop_position(const Binder *b, const PgQuery__SelectStmt *stmt, uint32_t i)
{
    while (stmt->larg != NULL) stmt = stmt->larg;
    if (stmt->n_values_lists > 0 && NODE_IS(stmt->values_lists[0], LIST)) {
        const PgQuery__List *row = stmt->values_lists[0]->list;
        return i < row->n_items ? bind_node_position(b, row->items[i]) : 0;
    }
    return i < stmt->n_target_list ? bind_node_position(b, stmt->target_list[i]) : 0;
}

/* What a select list has for a column; NULL: not known. */
static Expr *column_expr(const Plan *plan, uint32_t i)
{
    return plan->kind == PLAN_PROJECT ? plan->project.exprs[i].expr : NULL;
}

static tcudb_status common_types(Binder *b, const PgQuery__SelectStmt *stmt, const Plan *left, const Plan *right,
                                 Type *types, Error *err)
{
    const char *name = setop_name(stmt->op);
    if (left->ncols != right->ncols) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_setop_position(b, stmt->rarg, 0),
                        "each %s query must have the same number of columns", name);
    }
    for (uint32_t i = 0; i < left->ncols; i++) {
        Type sides[2] = {left->cols[i].type, right->cols[i].type};
        Expr *exprs[2] = {column_expr(left, i), column_expr(right, i)};
        if (type_equal(sides[0], sides[1]) && sides[0].id != TYPE_UNKNOWN)
            types[i] = sides[0];
        else
            TRY(bind_common_type(exprs, sides, 2, name, bind_setop_position(b, stmt->rarg, i), &types[i], err));
    }
    return TCUDB_OK;
}

tcudb_status bind_setop_node(Binder *b, SetKind kind, bool all, Plan *left, Plan *right, Plan **out, Error *err)
{
    assert(left->ncols == right->ncols);
    Plan *plan = plan_new(b->arena, PLAN_SET_OP, 2, left->ncols, err);
    TRY_PTR(plan);
    plan->inputs[0] = left;
    plan->inputs[1] = right;
    plan->set_op.kind = kind;
    plan->set_op.all = all;
    for (uint32_t i = 0; i < left->ncols; i++) plan->cols[i] = bind_new_col(b, left->cols[i].type, left->cols[i].name);
    *out = plan;
    return TCUDB_OK;
}

static tcudb_status combine(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, Plan **out,
                            Error *err)
{
    Plan *left = NULL, *right = NULL;
    TRY(bind_select(b, outer, sibling, stmt->larg, true, &left, err));
    TRY(bind_select(b, outer, sibling, stmt->rarg, true, &right, err));
    Type *types = ARENA_ARRAY(b->arena, Type, left->ncols, err);
    TRY_PTR(types);
    TRY(common_types(b, stmt, left, right, types, err));
    TRY(bind_retype(b, left, types, CAST_IMPLICIT, &left, err));
    TRY(bind_retype(b, right, types, CAST_IMPLICIT, &right, err));
    return bind_setop_node(b, setop_kind(stmt->op), stmt->all, left, right, out, err);
}

/* ORDER BY over output columns only. */
static tcudb_status sort_outputs(Binder *b, const PgQuery__SelectStmt *stmt, Plan *input, bool setop, Plan **out,
                                 Error *err)
{
    *out = input;
    if (stmt->n_sort_clause == 0) return TCUDB_OK;
    Block block = {0};
    TargetList targets = {0};
    ScopeItem *item = NULL;
    TRY(bind_scope_item_of_plan(b, (Str){0}, input, input->ncols, &item, err));
    TRY(bind_scope_add(b, &block, item, err));
    for (uint32_t i = 0; i < input->ncols; i++) {
        TRY(bind_target_add(b, &targets, item->cols[i].expr, input->cols[i].name, 0, err));
    }
    SortList sort;
    ApplyList list = {0};
    block.place = PLACE_ORDER_BY;
    block.applies = &list;
    TRY(bind_order_by(b, &block, stmt->sort_clause, stmt->n_sort_clause, &targets, &sort, err));
    if (targets.n > input->ncols) {
        int position = targets.positions[input->ncols];
        if (!setop) return error_unsupported(err, position, "ORDER BY an expression over VALUES");
        tcudb_status status =
            error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause");
        error_detail(err, "Only result column names can be used, not expressions or functions.");
        error_hint(err, "Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
        return status;
    }
    TRY(bind_plan_unary(b, PLAN_SORT, input, out, err));
    (*out)->sort.keys = ARENA_ARRAY(b->arena, SortKey, sort.n, err);
    TRY_PTR((*out)->sort.keys);
    (*out)->sort.nkeys = sort.n;
    for (uint32_t i = 0; i < sort.n; i++) {
        (*out)->sort.keys[i] = (SortKey){targets.exprs[sort.targets[i]].expr, sort.descending[i], sort.nulls_first[i]};
    }
    return TCUDB_OK;
}

tcudb_status bind_setop(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, Plan **out,
                        Error *err)
{
    Plan *plan = NULL;
    TRY(combine(b, outer, sibling, stmt, &plan, err));
    Block block = {.outer = outer};
    TRY(sort_outputs(b, stmt, plan, true, &plan, err));
    return bind_order_limit(b, &block, stmt, plan, out, err);
}

/* ---- VALUES */

static tcudb_status values_rows(Binder *b, Block *block, const PgQuery__SelectStmt *stmt, Plan *plan, ApplyList *lists,
                                bool *subqueries, Error *err)
{
    for (size_t row = 0; row < stmt->n_values_lists; row++) {
        assert(NODE_IS(stmt->values_lists[row], LIST));
        const PgQuery__List *list = stmt->values_lists[row]->list;
        if (list->n_items != plan->ncols) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_position(b, sql_location(stmt->values_lists[row])),
                            "VALUES lists must all be the same length");
        }
        block->applies = &lists[row];
        for (uint32_t i = 0; i < plan->ncols; i++) {
            TRY(bind_expr(b, block, list->items[i], &plan->values.rows_exprs[row * plan->ncols + i], err));
        }
        *subqueries = *subqueries || lists[row].first != NULL;
    }
    return TCUDB_OK;
}

/* Rows with subqueries: one PROJECT over their APPLY nodes a row, put together by UNION ALL. */
tcudb_status bind_values_union(Binder *b, Plan *values, const ApplyList *lists, Plan **out, Error *err)
{
    enum { ROWS_MAX = 200 }; /* it nests */
    if (values->values.nrows > ROWS_MAX)
        return error_unsupported(err, 0, "VALUES of more than %d rows with subqueries", ROWS_MAX);
    for (uint64_t row = 0; row < values->values.nrows; row++) {
        NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, values->ncols, err);
        TRY_PTR(exprs);
        for (uint32_t i = 0; i < values->ncols; i++) {
            exprs[i].expr = values->values.rows_exprs[row * values->ncols + i];
            exprs[i].col = bind_new_col(b, values->cols[i].type, values->cols[i].name);
        }
        Plan *plan = NULL;
        TRY(bind_plan_one_row(b, &plan, err));
        TRY(bind_plan_apply(b, plan, &lists[row], &plan, err));
        TRY(plan_project(b->arena, plan, exprs, values->ncols, &plan, err));
        if (row == 0)
            *out = plan;
        else
            TRY(bind_setop_node(b, SET_UNION, true, *out, plan, out, err));
    }
    return TCUDB_OK;
}

static tcudb_status values_types(Binder *b, Plan *plan, bool unknowns, Error *err)
{
    Type *types = ARENA_ARRAY(b->arena, Type, plan->ncols, err);
    TRY_PTR(types);
    Type *column = ARENA_ARRAY(b->arena, Type, plan->values.nrows, err);
    TRY_PTR(column);
    Expr **exprs = ARENA_ARRAY(b->arena, Expr *, plan->values.nrows, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        bool known = false;
        int position = 0;
        for (uint64_t row = 0; row < plan->values.nrows; row++) {
            Expr *e = exprs[row] = plan->values.rows_exprs[row * plan->ncols + i];
            column[row] = e->type;
            known = known || e->type.id != TYPE_UNKNOWN;
            if (position == 0 && row > 0 && e->type.id != column[0].id) position = e->position;
        }
        if (known)
            TRY(bind_common_type(exprs, column, (uint32_t)plan->values.nrows, "VALUES", position, &types[i], err));
        else
            types[i] = TYPE(unknowns ? TYPE_UNKNOWN : TYPE_TEXT);
    }
    return retype_values(b, plan, types, CAST_IMPLICIT, err);
}

tcudb_status bind_values(Binder *b, Block *outer, const Block *sibling, const PgQuery__SelectStmt *stmt, bool unknowns,
                         Plan **out, Error *err)
{
    Block block = {.outer = outer, .sibling = sibling, .place = PLACE_VALUES};
    bool subqueries = false;
    uint32_t ncols = (uint32_t)stmt->values_lists[0]->list->n_items;
    if (ncols > COLUMNS_MAX) {
        return error_set(err, SQLSTATE_TOO_MANY_COLUMNS, "target lists can have at most %d entries", COLUMNS_MAX);
    }
    Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, ncols, err);
    TRY_PTR(plan);
    plan->values.nrows = stmt->n_values_lists;
    plan->values.rows_exprs = ARENA_ARRAY(b->arena, Expr *, plan->values.nrows * ncols, err);
    TRY_PTR(plan->values.rows_exprs);
    ApplyList *lists = ARENA_ARRAY(b->arena, ApplyList, plan->values.nrows, err);
    TRY_PTR(lists);
    TRY(values_rows(b, &block, stmt, plan, lists, &subqueries, err));
    for (uint32_t i = 0; i < ncols; i++) {
        const char *name = arena_printf(b->arena, err, "column%u", i + 1);
        TRY_PTR(name);
        plan->cols[i] = bind_new_col(b, TYPE(TYPE_UNKNOWN), name);
    }
    TRY(values_types(b, plan, unknowns && stmt->n_sort_clause == 0 && !subqueries, err));
    if (subqueries) TRY(bind_values_union(b, plan, lists, &plan, err));
    TRY(sort_outputs(b, stmt, plan, false, &plan, err));
    return bind_order_limit(b, &block, stmt, plan, out, err);
}
