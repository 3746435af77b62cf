/*
 * dml.c: INSERT, DELETE, UPDATE.
 *
 *     INSERT: rows -> PROJECT to the table's columns (casts, defaults) -> INSERT
 *     DELETE: scan with row ids -> FILTER -> PROJECT row id -> DELETE
 *     UPDATE: scan with row ids -> FILTER -> PROJECT row id, new columns -> UPDATE
 *
 * Expressions of VALUES go straight to their column's type, so that 'text' literals and DEFAULT work row by row.
 * With USING or FROM a row may match several times: DISTINCT ON the row id keeps one. RETURNING is a PROJECT above
 * the change, which passes on its input's columns (returning.c); CHECK and ON CONFLICT are in constraint.c, conflict.c.
 */
#include "bind/bind_int.h"

#include <assert.h>

/* Whether it is a query: errors have a place. */
static bool is_of_rows(const char *verb)
{
    static const char *const verbs[] = {"inserting into", "updating", "deleting from", "merging into"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i], verb) == 0) return true;
    return false;
}

/* Sequences are tables to nobody but us. */
static tcudb_status no_sequence(const TableDef *def, const char *verb, Error *err)
{
    SequenceDef sequence;
    if (!note_sequence(def, &sequence) || strcmp(verb, "copying to") == 0) return TCUDB_OK;
    bool rows = is_of_rows(verb);
    return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE,
                     rows ? "cannot change sequence \"" STR_FMT "\"" : "\"" STR_FMT "\" is not a table",
                     STR_ARG(def->name));
}

tcudb_status bind_table_for_change(Binder *b, const PgQuery__RangeVar *range, const char *verb, const Table **out,
                                   Error *err)
{
    Str name = {0};
    bool rows = is_of_rows(verb);
    int position = rows ? bind_position(b, range->location) : 0;
    TRY(rows ? bind_query_name(b, range, &name, err) : bind_relation_name(b, range, &name, err));
    *out = bind_find_table(b, name);
    if (*out != NULL) return no_sequence(table_def(*out), verb, err);
    bool view = txn_view(b->env->txn, name) != NULL;
    if (view && strcmp(verb, "truncating") == 0)
        return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"" STR_FMT "\" is not a table", STR_ARG(name));
    if (view) return error_unsupported(err, position, "%s a view", verb);
    if (bind_foreign_relation(range->schemaname[0] == '\0' ? "pg_catalog" : range->schemaname, range->relname))
        return error_unsupported(err, position, "%s the relation %s", verb, range->relname);
    bool reads = strcmp(verb, "truncating") != 0 && strcmp(verb, "altering") != 0;
    return bind_no_relation(b, range->schemaname, name, reads ? "an index" : "not a table", position, err);
}

tcudb_status bind_column_number(const TableDef *def, Str name, int position, uint32_t *out, Error *err)
{
    for (*out = 0; *out < def->ncols; (*out)++) {
        if (str_equal(def->cols[*out].name, name)) return TCUDB_OK;
    }
    return error_at(err, SQLSTATE_UNDEFINED_COLUMN, position,
                    "column \"" STR_FMT "\" of relation \"" STR_FMT "\" does not exist", STR_ARG(name),
                    STR_ARG(def->name));
}

/* SET v.x = 1, SET v[1] = 1, whose name is a column's: no type has parts. */
static tcudb_status refuse_part(const TableDef *def, const PgQuery__ResTarget *target, int position, int of_subscript,
                                Error *err)
{
    uint32_t col = 0;
    TRY(bind_column_number(def, str_of(target->name), position, &col, err));
    const char *type = type_base_name(def->cols[col].type);
    if (!NODE_IS(target->indirection[0], STRING))
        return error_at(err, SQLSTATE_DATATYPE_MISMATCH, of_subscript,
                        "cannot subscript type %s because it does not support subscripting", type);
    return error_at(err, SQLSTATE_DATATYPE_MISMATCH, position,
                    "cannot assign to field \"%s\" of column \"%s\" because its type %s is not a composite type",
                    sql_string(target->indirection[0]), target->name, type);
}

/* A value on its way into a column. */
tcudb_status bind_assign(Binder *b, Expr *e, const ColumnDef *col, Expr **out, Error *err)
{
    const Func *cast = NULL;
    bool literal = e->type.id == TYPE_UNKNOWN;
    if (!literal && !type_equal(e->type, col->type) &&
        func_cast(e->type, col->type, CAST_ASSIGNMENT, 0, &cast, NULL) != TCUDB_OK) {
        tcudb_status status = error_at(err, SQLSTATE_DATATYPE_MISMATCH, e->position,
                                       "column \"" STR_FMT "\" is of type %s but expression is of type %s",
                                       STR_ARG(col->name), type_base_name(col->type), type_base_name(e->type));
        error_hint(err, "You will need to rewrite or cast the expression.");
        return status;
    }
    return bind_coerce(b, e, col->type, CAST_ASSIGNMENT, e->position, out, err);
}

/* ---- defaults */

tcudb_status bind_default(Binder *b, const ColumnDef *col, Expr **out, Error *err)
{
    if (col->default_sql.len == 0) return bind_null(b, col->type, 0, out, err);
    Ast *ast = NULL;
    const Node *node = NULL;
    TRY(bind_stored_expression(b, col->default_sql, "default of column", col->name, &ast, &node, err));
    ApplyList list = {0};
    Block block = {.place = PLACE_DEFAULT, .applies = &list};
    const Ast *before = b->ast;
    b->ast = ast;
    tcudb_status status = bind_expr(b, &block, node, out, err);
    if (status == TCUDB_OK) status = bind_assign(b, *out, col, out, err);
    b->ast = before;
    if (status != TCUDB_OK && err != NULL) err->position = 0; /* it would point into the default's text */
    return status;
}

/* ---- INSERT */

typedef struct Insert {
    const TableDef *def;
    uint32_t ntargets;
    uint32_t *targets; /* table column of each given value */
    int *positions;    /* of the names in the column list */
    bool listed;
    PgQuery__OverridingKind override;
} Insert;

static tcudb_status insert_targets(Binder *b, const PgQuery__InsertStmt *node, Insert *insert, Error *err)
{
    uint32_t n = node->n_cols > 0 ? (uint32_t)node->n_cols : insert->def->ncols;
    insert->listed = node->n_cols > 0;
    insert->ntargets = n;
    insert->targets = ARENA_ARRAY(b->arena, uint32_t, n, err);
    TRY_PTR(insert->targets);
    insert->positions = ARENA_ARRAY(b->arena, int, n, err);
    TRY_PTR(insert->positions);
    for (uint32_t i = 0; i < n; i++) {
        insert->targets[i] = i;
        if (!insert->listed) continue;
        const PgQuery__ResTarget *target = node->cols[i]->res_target;
        insert->positions[i] = bind_position(b, target->location);
        if (target->n_indirection > 0) return refuse_part(insert->def, target, insert->positions[i], 0, err);
        TRY(bind_column_number(insert->def, str_of(target->name), insert->positions[i], &insert->targets[i], err));
        for (uint32_t k = 0; k < i; k++) {
            if (insert->targets[k] != insert->targets[i]) continue;
            return error_at(err, SQLSTATE_DUPLICATE_COLUMN, insert->positions[i],
                            "column \"%s\" specified more than once", target->name);
        }
    }
    return TCUDB_OK;
}

static tcudb_status check_count(const Insert *insert, uint32_t n, int extra_position, Error *err)
{
    if (n > insert->ntargets) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, extra_position, "INSERT has more expressions than target columns");
    }
    if (n < insert->ntargets && insert->listed) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, insert->positions[n],
                        "INSERT has more target columns than expressions");
    }
    return TCUDB_OK;
}

static tcudb_status values_row(Binder *b, Block *block, const Insert *insert, const PgQuery__List *list, Expr **row,
                               Error *err)
{
    uint32_t n = (uint32_t)list->n_items;
    TRY(check_count(insert, n, n > insert->ntargets ? bind_node_position(b, list->items[insert->ntargets]) : 0, err));
    for (uint32_t i = 0; i < n; i++) {
        const ColumnDef *col = &insert->def->cols[insert->targets[i]];
        Expr **slot = &row[insert->targets[i]], *e;
        if (NODE_IS(list->items[i], SET_TO_DEFAULT)) {
            TRY(bind_default(b, col, slot, err));
            continue;
        }
        bool use_default = false;
        TRY(bind_check_given(insert->def, col->name, insert->override, &use_default, err));
        TRY(bind_expr(b, block, list->items[i], &e, err));
        if (use_default)
            TRY(bind_default(b, col, slot, err));
        else
            TRY(bind_assign(b, e, col, slot, err));
    }
    for (uint32_t i = 0; i < insert->def->ncols; i++) {
        if (row[i] == NULL) TRY(bind_default(b, &insert->def->cols[i], &row[i], err));
    }
    return TCUDB_OK;
}

static tcudb_status insert_columns(Binder *b, const TableDef *def, Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < def->ncols; i++) {
        const char *name = bind_name(b, def->cols[i].name, err);
        TRY_PTR(name);
        plan->cols[i] = bind_new_col(b, def->cols[i].type, name);
    }
    return TCUDB_OK;
}

/* DEFAULT VALUES: select == NULL. */
static tcudb_status insert_values(Binder *b, const Insert *insert, const PgQuery__SelectStmt *select, Plan **out,
                                  Error *err)
{
    static const PgQuery__List no_values = {0};
    Block block = {.place = PLACE_VALUES};
    bool subqueries = false;
    uint32_t ncols = insert->def->ncols;
    Plan *plan = plan_new(b->arena, PLAN_VALUES, 0, ncols, err);
    TRY_PTR(plan);
    plan->values.nrows = select == NULL ? 1 : select->n_values_lists;
    plan->values.rows_exprs = ARENA_ARRAY(b->arena, Expr *, plan->values.nrows * ncols, err);
    TRY_PTR(plan->values.rows_exprs);
    ApplyList *lists = ARENA_ARRAY(b->arena, ApplyList, plan->values.nrows, err);
    TRY_PTR(lists);
    size_t first = select == NULL ? 0 : select->values_lists[0]->list->n_items;
    for (uint64_t row = 0; row < plan->values.nrows; row++) {
        const PgQuery__List *items = select == NULL ? &no_values : select->values_lists[row]->list;
        if (items->n_items != first) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_position(b, sql_location(select->values_lists[row])),
                            "VALUES lists must all be the same length");
        }
        block.applies = &lists[row];
        TRY(values_row(b, &block, insert, items, plan->values.rows_exprs + row * ncols, err));
        subqueries = subqueries || lists[row].first != NULL;
    }
    TRY(insert_columns(b, insert->def, plan, err));
    *out = plan;
    return subqueries ? bind_values_union(b, plan, lists, out, err) : TCUDB_OK;
}

static int target_position(const Binder *b, const PgQuery__SelectStmt *select, uint32_t i)
{
    while (select->larg != NULL) select = select->larg;
    size_t n = select->n_target_list; /* a star stands for several columns */
    return n == 0 ? 0 : bind_node_position(b, select->target_list[i < n ? i : n - 1]);
}

/* Untyped literals of the select list become constants of the column's type. */
static Expr *output_literal(const Plan *plan, uint32_t i)
{
    if (plan->kind != PLAN_PROJECT) return NULL;
    Expr *e = plan->project.exprs[i].expr;
    return e->type.id == TYPE_UNKNOWN ? e : NULL;
}

static tcudb_status insert_select(Binder *b, const Insert *insert, const PgQuery__SelectStmt *select, Plan **out,
                                  Error *err)
{
    Plan *query = NULL;
    TRY(bind_select(b, NULL, NULL, select, true, &query, err));
    TRY(check_count(insert, query->ncols, target_position(b, select, insert->ntargets), err));
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, insert->def->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < query->ncols; i++) {
        const ColumnDef *col = &insert->def->cols[insert->targets[i]];
        Expr *e = output_literal(query, i);
        int position = target_position(b, select, i);
        bool use_default = false;
        TRY(bind_check_given(insert->def, col->name, insert->override, &use_default, err));
        if (use_default) continue;
        if (e == NULL) e = expr_col(b->arena, query->cols[i].id, query->cols[i].type, position, err);
        TRY_PTR(e);
        TRY(bind_assign(b, e, col, &exprs[insert->targets[i]].expr, err));
    }
    for (uint32_t i = 0; i < query->ncols; i++) { /* now nothing is left without a type */
        Expr *literal = output_literal(query, i);
        if (literal == NULL) continue;
        TRY(bind_coerce(b, literal, TYPE(TYPE_TEXT), CAST_IMPLICIT, 0, &query->project.exprs[i].expr, err));
        query->cols[i].type = query->project.exprs[i].col.type = TYPE(TYPE_TEXT);
    }
    for (uint32_t i = 0; i < insert->def->ncols; i++) {
        const char *name = bind_name(b, insert->def->cols[i].name, err);
        TRY_PTR(name);
        exprs[i].col = bind_new_col(b, insert->def->cols[i].type, name);
        if (exprs[i].expr == NULL) TRY(bind_default(b, &insert->def->cols[i], &exprs[i].expr, err));
    }
    return plan_project(b->arena, query, exprs, insert->def->ncols, out, err);
}

static tcudb_status finish_change(Binder *b, PlanKind kind, const TableDef *def, Plan *input, Stmt *stmt, Error *err)
{
    Plan *plan = plan_new(b->arena, kind, 1, 0, err);
    TRY_PTR(plan);
    plan->inputs[0] = input;
    plan->modify.table = stmt->name = def->name;
    stmt->plan = plan;
    if (kind == PLAN_DELETE) return TCUDB_OK;
    return bind_row_checks(b, def, input->cols, plan, err);
}

static bool is_plain_values(const PgQuery__SelectStmt *select)
{
    return select->n_values_lists > 0 && select->n_sort_clause == 0 && select->limit_count == NULL &&
           select->limit_offset == NULL && select->with_clause == NULL;
}

tcudb_status bind_insert(Binder *b, const PgQuery__InsertStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    Plan *input = NULL;
    stmt->kind = STMT_QUERY;
    stmt->tag = "INSERT";
    if (node->with_clause != NULL) TRY(bind_with_push(b, NULL, NULL, node->with_clause, err));
    TRY(bind_table_for_change(b, node->relation, "inserting into", &table, err));
    Insert insert = {.def = table_def(table), .override = node->override};
    TRY(insert_targets(b, node, &insert, err));
    const PgQuery__SelectStmt *select = node->select_stmt == NULL ? NULL : node->select_stmt->select_stmt;
    if (select == NULL || is_plain_values(select)) {
        if (select == NULL) insert.listed = false;
        TRY(insert_values(b, &insert, select, &input, err));
    } else {
        TRY(insert_select(b, &insert, select, &input, err));
    }
    TRY(bind_generated_columns(b, insert.def, &input, 0, NULL, err));
    TRY(finish_change(b, PLAN_INSERT, insert.def, input, stmt, err));
    if (node->on_conflict_clause != NULL) TRY(bind_on_conflict(b, node, table, stmt->plan, err));
    return bind_insert_returning(b, node, insert.def, stmt, err);
}

/* ---- DELETE and UPDATE */

typedef struct Change {
    Block block;
    const TableDef *def;
    Plan *plan;
    ColId rowid;
    ColId first;  /* id of the table's first column; the others follow */
    Plan *others; /* FROM, USING; NULL: none. A row may match more than once */
    ApplyList applies;
} Change;

static tcudb_status change_scope(Binder *b, Change *change, const PgQuery__RangeVar *range, const char *verb,
                                 Node *const *from, size_t nfrom, Error *err)
{
    const Table *table = NULL;
    ScopeItem *item = NULL;
    TRY(bind_table_for_change(b, range, verb, &table, err));
    change->def = table_def(table);
    TRY(bind_table_scan(b, table, &change->rowid, &change->plan, err));
    change->first = change->plan->cols[0].id;
    TRY(bind_scope_item_of_plan(b, str_of(range->relname), change->plan, change->def->ncols, &item, err));
    item->table = item->name;
    TRY(bind_alias(b, item, range->alias, err));
    TRY(bind_scope_add(b, &change->block, item, err));
    if (nfrom == 0) return TCUDB_OK;
    bool lateral = false;
    TRY(bind_from(b, &change->block, from, nfrom, &change->others, err));
    TRY(bind_refers_to(b, change->others, change->plan, &lateral, err));
    if (lateral) return bind_refuse_reference(b, &change->block, change->others, change->plan, true, err);
    return bind_plan_join(b, JOIN_INNER, change->plan, change->others, NULL, &change->plan, err);
}

static tcudb_status change_where(Binder *b, Change *change, const Node *where, Error *err)
{
    if (where == NULL) return TCUDB_OK;
    ApplyList list = {0};
    Expr *cond = NULL;
    change->block.place = PLACE_WHERE;
    change->block.applies = &list;
    TRY(bind_bool(b, &change->block, where, "WHERE", &cond, err));
    TRY(bind_plan_apply(b, change->plan, &list, &change->plan, err));
    return bind_plan_filter(b, change->plan, cond, &change->plan, err);
}

static tcudb_status one_per_row(Binder *b, Change *change, Error *err)
{
    if (change->others == NULL) return TCUDB_OK;
    ColId *on = ARENA_ARRAY(b->arena, ColId, 1, err);
    TRY_PTR(on);
    on[0] = change->rowid;
    TRY(bind_plan_unary(b, PLAN_DISTINCT, change->plan, &change->plan, err));
    if (change->plan->ncols == 1) return TCUDB_OK;
    change->plan->distinct.on = on;
    change->plan->distinct.non = 1;
    return TCUDB_OK;
}

static tcudb_status rowid_expr(Binder *b, const Change *change, NamedExpr *out, Error *err)
{
    out->col = (PlanCol){.id = change->rowid, .type = TYPE(TYPE_INT8), .name = "rowid"};
    out->expr = expr_col(b->arena, change->rowid, out->col.type, 0, err);
    TRY_PTR(out->expr);
    return TCUDB_OK;
}

/* Columns that RETURNING may ask for: passed on under their ids, but for the row id, which is there already. */
static tcudb_status pass_columns(Binder *b, const Change *change, const Plan *plan, NamedExpr *exprs, uint32_t *n,
                                 Error *err)
{
    for (uint32_t i = 0; plan != NULL && i < plan->ncols; i++) {
        if (plan->cols[i].id == change->rowid) continue;
        exprs[*n].col = plan->cols[i];
        exprs[*n].expr = expr_col(b->arena, plan->cols[i].id, plan->cols[i].type, 0, err);
        TRY_PTR(exprs[(*n)++].expr);
    }
    return TCUDB_OK;
}

tcudb_status bind_delete(Binder *b, const PgQuery__DeleteStmt *node, Stmt *stmt, Error *err)
{
    Change change = {0};
    uint32_t n = 1;
    stmt->kind = STMT_QUERY;
    stmt->tag = "DELETE";
    if (node->with_clause != NULL) TRY(bind_with_push(b, NULL, NULL, node->with_clause, err));
    TRY(change_scope(b, &change, node->relation, "deleting from", node->using_clause, node->n_using_clause, err));
    TRY(change_where(b, &change, node->where_clause, err));
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, change.plan->ncols + 1, err);
    TRY_PTR(exprs);
    TRY(rowid_expr(b, &change, &exprs[0], err));
    if (node->n_returning_list > 0) TRY(pass_columns(b, &change, change.plan, exprs, &n, err));
    TRY(plan_project(b->arena, change.plan, exprs, n, &change.plan, err));
    TRY(one_per_row(b, &change, err));
    TRY(finish_change(b, PLAN_DELETE, change.def, change.plan, stmt, err));
    return bind_returning(b, &change.block, node->returning_list, node->n_returning_list, &stmt->plan, err);
}

/* SET (a, b) = (SELECT x, y ...): for each column a scalar subquery that puts out that one. */
static tcudb_status set_from_query(Binder *b, Block *block, const PgQuery__MultiAssignRef *multi, const ColumnDef *col,
                                   Expr **out, Error *err)
{
    const PgQuery__SubLink *link = multi->source->sub_link;
    ApplySpec *spec = ARENA_NEW(b->arena, ApplySpec, err);
    TRY_PTR(spec);
    spec->position = bind_node_position(b, multi->source);
    spec->kind = APPLY_SCALAR;
    if (!NODE_IS(link->subselect, SELECT_STMT)) return error_unsupported(err, spec->position, "this kind of subquery");
    TRY(bind_select(b, block, NULL, link->subselect->select_stmt, false, &spec->right, err));
    if ((int)spec->right->ncols != multi->ncolumns) {
        return error_at(err, SQLSTATE_SYNTAX_ERROR, spec->position,
                        "number of columns does not match number of values");
    }
    const PlanCol *one = &spec->right->cols[multi->colno - 1];
    NamedExpr named = {bind_new_col(b, one->type, one->name), expr_col(b->arena, one->id, one->type, 0, err)};
    TRY_PTR(named.expr);
    TRY(plan_project(b->arena, spec->right, &named, 1, &spec->right, err));
    spec->result = bind_new_col(b, named.col.type, "?column?");
    bind_apply_append(block->applies, spec);
    Expr *e = expr_col(b->arena, spec->result.id, spec->result.type, spec->position, err);
    TRY_PTR(e);
    return bind_assign(b, e, col, out, err);
}

/* SET (a, b) = ROW(t.*): the element for this column. */
static tcudb_status set_from_stars(Binder *b, Block *block, const PgQuery__MultiAssignRef *multi, const ColumnDef *col,
                                   Expr **out, Error *err)
{
    TargetList list = {0};
    TRY(bind_row_elements(b, block, multi->source->row_expr, &list, err));
    if ((int)list.n != multi->ncolumns)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_node_position(b, multi->source),
                        "number of columns does not match number of values");
    return bind_assign(b, list.exprs[multi->colno - 1].expr, col, out, err);
}

static tcudb_status set_one(Binder *b, Block *block, const Node *value, const ColumnDef *col, Expr **out, Error *err)
{
    if (NODE_IS(value, SET_TO_DEFAULT)) return bind_default(b, col, out, err);
    Expr *e = NULL;
    TRY(bind_expr(b, block, value, &e, err));
    return bind_assign(b, e, col, out, err);
}

/* The value of SET col = value; of SET (a, b) = (x, y) the element for this column. */
static tcudb_status set_value(Binder *b, Block *block, const PgQuery__ResTarget *target, const ColumnDef *col,
                              Expr **out, Error *err)
{
    if (!NODE_IS(target->val, MULTI_ASSIGN_REF)) return set_one(b, block, target->val, col, out, err);
    const PgQuery__MultiAssignRef *multi = target->val->multi_assign_ref;
    int position = bind_node_position(b, multi->source);
    if (NODE_IS(multi->source, SUB_LINK) &&
        multi->source->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK)
        return set_from_query(b, block, multi, col, out, err);
    if (!NODE_IS(multi->source, ROW_EXPR))
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression");
    const PgQuery__RowExpr *row = multi->source->row_expr;
    if (bind_has_star(row->args, row->n_args)) return set_from_stars(b, block, multi, col, out, err);
    if ((int)row->n_args != multi->ncolumns)
        return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "number of columns does not match number of values");
    return set_one(b, block, row->args[multi->colno - 1], col, out, err);
}

tcudb_status bind_set_columns(Binder *b, Block *block, const TableDef *def, Node *const *list, size_t n,
                              NamedExpr *exprs, Error *err)
{
    block->place = PLACE_UPDATE;
    for (size_t i = 0; i < n; i++) {
        const PgQuery__ResTarget *target = list[i]->res_target;
        int position = bind_position(b, target->location);
        uint32_t col = 0;
        if (target->n_indirection > 0) return refuse_part(def, target, position, position, err);
        TRY(bind_column_number(def, str_of(target->name), position, &col, err));
        if (exprs[col].expr != NULL) {
            return error_set(err, SQLSTATE_SYNTAX_ERROR, "multiple assignments to same column \"%s\"", target->name);
        }
        if (!NODE_IS(target->val, SET_TO_DEFAULT)) TRY(bind_check_set(def, def->cols[col].name, err));
        TRY(set_value(b, block, target, &def->cols[col], &exprs[col].expr, err));
    }
    return TCUDB_OK;
}

static tcudb_status complete_columns(Binder *b, const Change *change, NamedExpr *exprs, Error *err)
{
    for (uint32_t i = 0; i < change->def->ncols; i++) {
        const ColumnDef *col = &change->def->cols[i];
        const char *name = bind_name(b, col->name, err);
        TRY_PTR(name);
        if (exprs[i].expr != NULL) {
            exprs[i].col = bind_new_col(b, col->type, name);
            continue;
        }
        exprs[i].col = (PlanCol){.id = change->first + i, .type = col->type, .name = name};
        exprs[i].expr = expr_col(b->arena, change->first + i, col->type, 0, err);
        TRY_PTR(exprs[i].expr);
    }
    return TCUDB_OK;
}

/* A new row, and which of its columns are set. */
typedef struct NewRow {
    NamedExpr *exprs; /* in the table's order */
    PlanCol *cols;
    bool *set;
    bool *wanted; /* set, or asked for by a check or RETURNING */
} NewRow;

static tcudb_status new_row(Binder *b, Change *change, const PgQuery__UpdateStmt *node, NewRow *row, Error *err)
{
    uint32_t ncols = change->def->ncols;
    row->exprs = ARENA_ARRAY(b->arena, NamedExpr, ncols, err);
    TRY_PTR(row->exprs);
    row->cols = ARENA_ARRAY(b->arena, PlanCol, ncols, err);
    TRY_PTR(row->cols);
    row->set = ARENA_ARRAY(b->arena, bool, 2 * (size_t)ncols, err);
    TRY_PTR(row->set);
    row->wanted = row->set + ncols;
    TRY(bind_set_columns(b, &change->block, change->def, node->target_list, node->n_target_list, row->exprs, err));
    for (uint32_t c = 0; c < ncols; c++) row->set[c] = row->exprs[c].expr != NULL;
    return TCUDB_OK;
}

/* A key with a new value somewhere: then rows move, as their keys are looked for in the table without them. */
static bool sets_key(const TableDef *def, const bool *set)
{
    for (uint32_t k = 0; k < def->nkeys; k++)
        for (uint32_t i = 0; i < def->keys[k].ncols; i++)
            if (set[def->keys[k].cols[i]]) return true;
    return false;
}

/* Checks over columns that stay as they are hold already. */
static void drop_checks(const TableDef *def, const NewRow *row, Plan *update)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < update->modify.nchecks; i++) {
        bool affected = false;
        for (uint32_t c = 0; c < def->ncols; c++)
            affected = affected || (row->set[c] && bind_expr_has_col(update->modify.checks[i].cond, row->cols[c].id));
        if (affected) update->modify.checks[n++] = update->modify.checks[i];
    }
    update->modify.nchecks = n;
}

static void find_wanted(const TableDef *def, const NewRow *row, bool all, const Plan *update)
{
    bool moves = sets_key(def, row->set);
    for (uint32_t c = 0; c < def->ncols; c++) {
        row->set[c] = row->set[c] || moves;
        row->wanted[c] = row->set[c] || all;
        for (uint32_t i = 0; i < update->modify.nchecks && !row->wanted[c]; i++)
            row->wanted[c] = bind_expr_has_col(update->modify.checks[i].cond, row->cols[c].id);
    }
}

/* The input's columns after the row id: those that are set, then the other wanted ones. */
static tcudb_status put_columns(Binder *b, const TableDef *def, const NewRow *row, Plan *update, NamedExpr *exprs,
                                Error *err)
{
    uint32_t *columns = ARENA_ARRAY(b->arena, uint32_t, def->ncols, err), n = 0;
    TRY_PTR(columns);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t c = 0; c < def->ncols; c++) {
            if (pass == 0 ? !row->set[c] : row->set[c] || !row->wanted[c]) continue;
            exprs[n] = row->exprs[c];
            columns[n++] = c;
        }
        if (pass == 0) update->modify.nset = n;
    }
    update->modify.columns = columns;
    update->modify.ncolumns = n;
    return TCUDB_OK;
}

static tcudb_status update_checks(Binder *b, const TableDef *def, const NewRow *row, Plan *update, Error *err)
{
    for (uint32_t c = 0; c < def->ncols; c++) row->cols[c] = row->exprs[c].col;
    TRY(bind_row_checks(b, def, row->cols, update, err));
    drop_checks(def, row, update);
    return TCUDB_OK;
}

/* Generated columns are computed from the whole new row: then every column is set. */
static tcudb_status update_input(Binder *b, Change *change, const NewRow *row, bool returning, Plan *update, Error *err)
{
    const TableDef *def = change->def;
    bool whole = bind_has_generated(def);
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, 1 + def->ncols + change->plan->ncols, err);
    TRY_PTR(exprs);
    if (!whole) TRY(update_checks(b, def, row, update, err));
    for (uint32_t c = 0; c < def->ncols; c++) row->set[c] = row->set[c] || whole;
    find_wanted(def, row, returning, update);
    TRY(rowid_expr(b, change, &exprs[0], err));
    TRY(put_columns(b, def, row, update, exprs + 1, err));
    uint32_t n = 1 + update->modify.ncolumns;
    if (returning) TRY(pass_columns(b, change, change->others, exprs, &n, err));
    TRY(plan_project(b->arena, change->plan, exprs, n, &change->plan, err));
    if (whole) TRY(bind_generated_columns(b, def, &change->plan, 1, row->exprs, err));
    if (whole) TRY(update_checks(b, def, row, update, err));
    TRY(one_per_row(b, change, err));
    update->inputs[0] = change->plan;
    update->modify.table = def->name;
    return TCUDB_OK;
}

/* Old and new values of the keys' columns, if rows of other tables follow their change: a plan of its own. With FROM a
 * row may match several times, and which match it takes is known only to the UPDATE. */
static tcudb_status moved_keys(Binder *b, const Change *change, const NewRow *row, Stmt *stmt, Error *err)
{
    const TableDef *def = change->def;
    bool followed = false;
    if (def->nkeys == 0 || def->temp != TEMP_NONE || change->others != NULL) return TCUDB_OK;
    TRY(bind_is_followed(b, def, row->set, &followed, err));
    if (!followed) return TCUDB_OK;
    uint32_t *columns = ARENA_ARRAY(b->arena, uint32_t, def->ncols, err), n = 0;
    TRY_PTR(columns);
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, (size_t)2 * def->ncols, err);
    TRY_PTR(exprs);
    for (uint32_t c = 0; c < def->ncols; c++) {
        bool of_key = false;
        for (uint32_t k = 0; k < def->nkeys; k++)
            for (uint32_t i = 0; i < def->keys[k].ncols; i++) of_key = of_key || def->keys[k].cols[i] == c;
        if (of_key && row->set[c] && expr_volatile(row->exprs[c].expr)) return TCUDB_OK;
        if (of_key) columns[n++] = c;
    }
    for (uint32_t i = 0; i < n; i++) {
        const NamedExpr *new = &row->exprs[columns[i]];
        exprs[i].col = bind_new_col(b, def->cols[columns[i]].type, new->col.name);
        exprs[i].expr = expr_col(b->arena, change->first + columns[i], exprs[i].col.type, 0, err);
        TRY_PTR(exprs[i].expr);
        exprs[n + i].col = bind_new_col(b, new->col.type, new->col.name);
        exprs[n + i].expr = new->expr;
    }
    TRY(plan_project(b->arena, change->plan, exprs, 2 * n, &stmt->moved, err));
    stmt->moved_columns = columns;
    stmt->nmoved = n;
    return plan_copy(b->arena, stmt->moved, &b->next_col, &stmt->moved, err);
}

tcudb_status bind_update(Binder *b, const PgQuery__UpdateStmt *node, Stmt *stmt, Error *err)
{
    Change change = {0};
    NewRow row;
    stmt->kind = STMT_QUERY;
    stmt->tag = "UPDATE";
    if (node->with_clause != NULL) TRY(bind_with_push(b, NULL, NULL, node->with_clause, err));
    TRY(change_scope(b, &change, node->relation, "updating", node->from_clause, node->n_from_clause, err));
    change.block.applies = &change.applies;
    TRY(new_row(b, &change, node, &row, err));
    TRY(change_where(b, &change, node->where_clause, err));
    TRY(bind_plan_apply(b, change.plan, &change.applies, &change.plan, err));
    TRY(complete_columns(b, &change, row.exprs, err));
    TRY(moved_keys(b, &change, &row, stmt, err));
    Plan *update = plan_new(b->arena, PLAN_UPDATE, 1, 0, err);
    TRY_PTR(update);
    TRY(update_input(b, &change, &row, node->n_returning_list > 0, update, err));
    stmt->name = change.def->name;
    stmt->plan = update;
    TRY(bind_scope_point(b, change.block.items[0], row.exprs, change.def->ncols, err));
    return bind_returning(b, &change.block, node->returning_list, node->n_returning_list, &stmt->plan, err);
}
