/*
 * from.c: the FROM clause: tables, views, CTEs, subqueries, and their aliases.
 *
 * Each entry becomes a plan and an item of the block's scope; entries separated by commas are cross products
 * (opt/ turns WHERE conditions into join conditions). A subquery sees only the blocks around the SELECT it stands
 * in, unless LATERAL: then it sees the entries before it too, and the two are put together by an APPLY. A view is
 * its stored SQL, parsed and bound anew; positions of errors inside it would point into text that the user did not
 * write, so they are dropped.
 */
#include "bind/bind_int.h"

#include <assert.h>

const Table *bind_find_table(Binder *b, Str name)
{
    if (b->view_depth > 0) return txn_permanent_table(b->env->txn, name);
    const Table *table = txn_table(b->env->txn, name);
    b->temp_used = b->temp_used || (table != NULL && table_def(table)->temp != TEMP_NONE);
    return table;
}

tcudb_status bind_no_relation(Binder *b, const char *schema, Str name, const char *is, int position, Error *err)
{
    bool sees = schema[0] != '\0' || bind_sees(b, name);
    if (!sees || bind_table_of_index(b, name) == NULL) {
        error_at(err, SQLSTATE_UNDEFINED_TABLE, position, "relation \"%s%s" STR_FMT "\" does not exist", schema,
                 schema[0] == '\0' ? "" : ".", STR_ARG(name));
        if (!sees && names_taken(b->env->txn, name, false))
            error_hint(err, "It is in the schema public, which search_path does not name.");
        return TCUDB_ERROR;
    }
    return error_at(err, SQLSTATE_WRONG_OBJECT_TYPE, position, "\"" STR_FMT "\" is %s", STR_ARG(name), is);
}

/* What public.t would be beside a temporary table of that name cannot be said by a name. */
static tcudb_status plain_name(Binder *b, const PgQuery__RangeVar *range, int position, bool *known, Str *out,
                               Error *err)
{
    *out = str_of(range->relname);
    *known = true;
    if (range->catalogname[0] != '\0' && strcmp(range->catalogname, "tcudb") != 0)
        return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position,
                        "cross-database references are not implemented: \"%s.%s.%s\"", range->catalogname,
                        range->schemaname, range->relname);
    if (range->schemaname[0] == '\0')
        return bind_sees(b, *out) ? TCUDB_OK : bind_no_relation(b, "", *out, "", position, err);
    bool temp = b->view_depth == 0 && txn_is_temp(b->env->txn, *out);
    bool public = strcmp(range->schemaname, "public") == 0;
    if (public && temp)
        return error_unsupported(err, position, "public.%s beside a temporary table of that name", range->relname);
    *known = public || (temp && strcmp(range->schemaname, "pg_temp") == 0);
    return TCUDB_OK;
}

tcudb_status bind_query_name(Binder *b, const PgQuery__RangeVar *range, Str *out, Error *err)
{
    bool known = false;
    int position = bind_position(b, range->location);
    TRY(plain_name(b, range, position, &known, out, err));
    if (known) return TCUDB_OK;
    return error_at(err, SQLSTATE_UNDEFINED_TABLE, position, "relation \"%s.%s\" does not exist", range->schemaname,
                    range->relname);
}

tcudb_status bind_relation_name(Binder *b, const PgQuery__RangeVar *range, Str *out, Error *err)
{
    bool known = false;
    TRY(plain_name(b, range, 0, &known, out, err));
    return known ? TCUDB_OK : bind_no_schema(range->schemaname, 0, err);
}

tcudb_status bind_alias(Binder *b, ScopeItem *item, const PgQuery__Alias *alias, Error *err)
{
    if (alias == NULL) return TCUDB_OK;
    if (alias->aliasname[0] != '\0') item->name = str_of(alias->aliasname);
    if (alias->n_colnames > item->ncols) {
        return error_set(err, SQLSTATE_INVALID_COLUMN_REFERENCE,
                         "%s \"" STR_FMT "\" has %u columns available but %zu columns specified",
                         item->join ? "join expression" : "table", STR_ARG(item->name), item->ncols, alias->n_colnames);
    }
    for (size_t i = 0; i < alias->n_colnames; i++) item->cols[i].name = str_of(sql_string(alias->colnames[i]));
    (void)b;
    return TCUDB_OK;
}

tcudb_status bind_table_scan(Binder *b, const Table *table, ColId *rowid, Plan **out, Error *err)
{
    const TableDef *def = table_def(table);
    uint32_t n = def->ncols + (rowid != NULL);
    Plan *plan = plan_new(b->arena, PLAN_SCAN, 0, n, err);
    TRY_PTR(plan);
    uint32_t *columns = ARENA_ARRAY(b->arena, uint32_t, n, err);
    TRY_PTR(columns);
    for (uint32_t i = 0; i < def->ncols; i++) {
        const char *name = bind_name(b, def->cols[i].name, err);
        TRY_PTR(name);
        plan->cols[i] = bind_new_col(b, def->cols[i].type, name);
        columns[i] = i;
    }
    if (rowid != NULL) {
        plan->cols[def->ncols] = bind_new_col(b, TYPE(TYPE_INT8), "rowid");
        columns[def->ncols] = ROWID_COLUMN;
        *rowid = plan->cols[def->ncols].id;
    }
    plan->scan.table = table;
    plan->scan.name = def->name;
    plan->scan.columns = columns;
    *out = plan;
    return TCUDB_OK;
}

static const PgQuery__SelectStmt *view_query(const Ast *ast, uint32_t n)
{
    if (n != 1 || !NODE_IS((const Node *)ast->node, SELECT_STMT)) return NULL;
    return ((const Node *)ast->node)->select_stmt;
}

tcudb_status bind_view_text(Binder *b, const ViewDef *view, Plan **out, Error *err)
{
    Ast *ast = NULL;
    uint32_t n = 0;
    TRY(sql_parse(b->arena, view->sql, b->env->cancel, &ast, &n, err));
    const PgQuery__SelectStmt *query = view_query(ast, n);
    if (query == NULL)
        return error_set(err, SQLSTATE_DATA_CORRUPTED, "the definition of view \"" STR_FMT "\" is damaged",
                         STR_ARG(view->name));
    const Ast *ast_before = b->ast;
    CteEntry *ctes_before = b->ctes;
    bool no_params_before = b->no_params;
    b->ast = ast;
    b->ctes = NULL;
    b->no_params = true;
    b->view_depth++;
    tcudb_status status = bind_select(b, NULL, NULL, query, false, out, err);
    b->view_depth--;
    b->no_params = no_params_before;
    b->ctes = ctes_before;
    b->ast = ast_before;
    return status;
}

tcudb_status bind_view(Binder *b, const ViewDef *view, int position, Plan **out, Error *err)
{
    if (b->view_depth >= VIEW_DEPTH_MAX) {
        return error_at(err, SQLSTATE_STATEMENT_TOO_COMPLEX, position, "stack depth limit exceeded");
    }
    tcudb_status status = bind_view_text(b, view, out, err);
    if (status != TCUDB_OK) {
        if (err != NULL) err->position = b->view_depth == 0 ? position : 0;
        return status;
    }
    if ((*out)->ncols != view->ncols) {
        return error_at(err, SQLSTATE_INVALID_TABLE_DEFINITION, position,
                        "view \"" STR_FMT "\" no longer has the columns it was created with", STR_ARG(view->name));
    }
    return TCUDB_OK;
}

tcudb_status bind_view_or_none(Binder *b, const ViewDef *view, Plan **out, Error *err)
{
    Error local = {0};
    tcudb_status status = bind_view(b, view, 0, out, &local);
    if (status == TCUDB_OK) return status;
    *out = NULL;
    if (status == TCUDB_ERROR) return TCUDB_OK;
    if (err != NULL) *err = local;
    return status;
}

static CteEntry *find_cte(const Binder *b, const PgQuery__RangeVar *range)
{
    if (range->schemaname[0] != '\0') return NULL;
    for (CteEntry *at = b->ctes; at != NULL; at = at->next) {
        if (bind_name_is(at->name, range->relname)) return at;
    }
    return NULL;
}

/* *view is set if the relation is one. */
static tcudb_status named_relation(Binder *b, const PgQuery__RangeVar *range, Plan **out, const ViewDef **view,
                                   Error *err)
{
    int position = bind_position(b, range->location);
    *view = NULL;
    CteEntry *cte = find_cte(b, range);
    if (cte != NULL) return bind_with_scan(b, cte, position, out, err);
    Str name = {0};
    Str plain = str_of(range->relname);
    bool own = range->schemaname[0] == '\0' && bind_sees(b, plain) &&
               (bind_find_table(b, plain) != NULL || txn_view(b->env->txn, plain) != NULL);
    if (!own) TRY(bind_schema_relation(b, range, out, err));
    if (!own && *out != NULL) return TCUDB_OK;
    TRY(bind_query_name(b, range, &name, err));
    TRY(bind_note_relation(b, range, name, err));
    const Table *table = bind_find_table(b, name);
    if (table != NULL) return bind_table_scan(b, table, NULL, out, err);
    *view = txn_view(b->env->txn, name);
    if (*view != NULL) return bind_view(b, *view, position, out, err);
    return bind_no_relation(b, range->schemaname, name, "an index", position, err);
}

static tcudb_status range_var(Binder *b, Block *block, const PgQuery__RangeVar *range, Plan **out, Error *err)
{
    const ViewDef *view = NULL;
    ScopeItem *item = NULL;
    TRY(named_relation(b, range, out, &view, err));
    assert(*out != NULL);
    block->has_work_scan = block->has_work_scan || (*out)->kind == PLAN_WORK_SCAN;
    TRY(bind_scope_item_of_plan(b, str_of(range->relname), *out, (*out)->ncols, &item, err));
    item->table = item->name;
    for (uint32_t i = 0; view != NULL && i < view->ncols; i++) item->cols[i].name = view->cols[i];
    TRY(bind_alias(b, item, range->alias, err));
    bind_note_columns(b, *out, range->alias, item);
    return bind_scope_add(b, block, item, err);
}

static tcudb_status subselect(Binder *b, Block *block, const PgQuery__RangeSubselect *range, Plan **out, bool *lateral,
                              Error *err)
{
    if (!NODE_IS(range->subquery, SELECT_STMT)) return error_unsupported(err, 0, "this kind of subquery in FROM");
    const PgQuery__SelectStmt *stmt = range->subquery->select_stmt;
    *lateral = range->lateral;
    if (range->lateral)
        TRY(bind_select(b, block, NULL, stmt, false, out, err));
    else
        TRY(bind_select(b, block->outer, block, stmt, false, out, err));
    ScopeItem *item = NULL;
    TRY(bind_scope_item_of_plan(b, (Str){0}, *out, (*out)->ncols, &item, err));
    TRY(bind_alias(b, item, range->alias, err));
    return bind_scope_add(b, block, item, err);
}

tcudb_status bind_from_item(Binder *b, Block *block, const Node *node, Plan **out, bool *lateral, Error *err)
{
    TRY(bind_enter(b, err));
    *lateral = false;
    tcudb_status status;
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR: status = range_var(b, block, node->range_var, out, err); break;
    case PG_QUERY__NODE__NODE_JOIN_EXPR: status = bind_join(b, block, node->join_expr, out, lateral, err); break;
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
        status = subselect(b, block, node->range_subselect, out, lateral, err);
        break;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
        status = bind_table_function(b, block, node->range_function, out, lateral, err);
        break;
    case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE: status = error_unsupported(err, 0, "TABLESAMPLE"); break;
    case PG_QUERY__NODE__NODE_RANGE_TABLE_FUNC: status = error_unsupported(err, 0, "XMLTABLE"); break;
    default: status = error_unsupported(err, 0, "this kind of FROM entry"); break;
    }
    bind_leave(b);
    return status;
}

tcudb_status bind_refers_to(Binder *b, Plan *right, const Plan *left, bool *yes, Error *err)
{
    ColId *cols = NULL;
    uint32_t n = 0;
    *yes = false;
    TRY(plan_free_cols(b->arena, right, &cols, &n, err));
    for (uint32_t i = 0; i < n; i++) {
        if (plan_find_col(left, cols[i]) != NULL) *yes = true;
    }
    return TCUDB_OK;
}

typedef struct Reference {
    const Plan *left;
    const Expr *found;
} Reference;

static bool refers(void *ctx, const Expr *e)
{
    Reference *r = ctx;
    if (e->kind == EXPR_COL && plan_find_col(r->left, e->col) != NULL) r->found = e;
    return r->found == NULL;
}

static tcudb_status look_for_reference(void *ctx, Expr **slot, Error *err)
{
    (void)err;
    if (*slot != NULL) (void)expr_walk(*slot, refers, ctx);
    return TCUDB_OK;
}

static tcudb_status find_reference(Binder *b, Plan *right, Reference *r, Error *err)
{
    TRY(bind_enter(b, err));
    tcudb_status status = plan_each_expr(right, look_for_reference, r, err);
    for (uint32_t i = 0; status == TCUDB_OK && r->found == NULL && i < right->ninputs; i++)
        status = find_reference(b, right->inputs[i], r, err);
    bind_leave(b);
    return status;
}

tcudb_status bind_refuse_reference(Binder *b, const Block *block, Plan *right, const Plan *left, bool target,
                                   Error *err)
{
    Reference r = {.left = left};
    Str name = STR_LIT("?");
    TRY(find_reference(b, right, &r, err));
    for (uint32_t i = 0; r.found != NULL && i < block->nitems; i++)
        for (uint32_t c = 0; !block->items[i]->join && c < block->items[i]->ncols; c++) {
            const Expr *e = block->items[i]->cols[c].expr;
            if (e->kind == EXPR_COL && e->col == r.found->col) name = block->items[i]->name;
        }
    tcudb_status status = error_at(err, SQLSTATE_INVALID_COLUMN_REFERENCE, r.found == NULL ? 0 : r.found->position,
                                   "invalid reference to FROM-clause entry for table \"" STR_FMT "\"", STR_ARG(name));
    if (target)
        error_hint(err,
                   "There is an entry for table \"" STR_FMT
                   "\", but it cannot be referenced from this part of the query.",
                   STR_ARG(name));
    else
        error_detail(err, "The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
    return status;
}

static tcudb_status cross(Binder *b, Plan *left, Plan *right, bool lateral, Plan **out, Error *err)
{
    if (lateral) TRY(bind_refers_to(b, right, left, &lateral, err));
    if (lateral) return bind_plan_lateral(b, APPLY_CROSS, left, right, out, err);
    return bind_plan_join(b, JOIN_INNER, left, right, NULL, out, err);
}

tcudb_status bind_from(Binder *b, Block *block, Node *const *from, size_t n, Plan **out, Error *err)
{
    if (n == 0) return bind_plan_one_row(b, out, err);
    for (size_t i = 0; i < n; i++) {
        Plan *plan = NULL;
        bool lateral = false;
        uint32_t before = block->nitems;
        TRY(bind_from_item(b, block, from[i], &plan, &lateral, err));
        TRY(bind_scope_conflict(block, 0, before, err));
        if (i == 0)
            *out = plan;
        else
            TRY(cross(b, *out, plan, lateral, out, err));
    }
    return TCUDB_OK;
}
