/*
 * ddl.c: CREATE TABLE, CREATE TABLE AS, DROP, TRUNCATE, ALTER ... RENAME.
 *
 * What is bound is a description; session/ carries it out. Columns are in column.c, constraints in constraint.c,
 * generated.c and reference.c, views in view.c, indexes in index.c.
 */
#include "bind/bind_int.h"
#include "catalog/reference.h"

#include <assert.h>

/* temp: what COMMIT does to a temporary table; TEMP_NONE: it is none. */
tcudb_status bind_ddl_target(Binder *b, const PgQuery__RangeVar *range, PgQuery__OnCommitAction on_commit, int position,
                             Str *out, TableTemp *temp, Error *err)
{
    bool in_temp = strcmp(range->schemaname, "pg_temp") == 0, none = range->schemaname[0] == '\0';
    *out = str_of(range->relname);
    *temp = range->relpersistence[0] == 't' || in_temp ? TEMP_KEEP : TEMP_NONE;
    if (!none && !in_temp && strcmp(range->schemaname, "public") != 0)
        return bind_no_schema(range->schemaname, position, err);
    if (*temp != TEMP_NONE && !none && !in_temp)
        return error_at(err, SQLSTATE_INVALID_TABLE_DEFINITION, position,
                        "cannot create temporary relation in non-temporary schema");
    if (on_commit > PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_NOOP && *temp == TEMP_NONE)
        return error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION, "ON COMMIT can only be used on temporary tables");
    if (on_commit == PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_DELETE_ROWS) *temp = TEMP_DELETE;
    if (on_commit == PG_QUERY__ON_COMMIT_ACTION__ONCOMMIT_DROP) *temp = TEMP_DROP;
    return none && *temp == TEMP_NONE ? bind_path_target(b, position, err) : TCUDB_OK;
}

/* ---- constraints */

static tcudb_status table_constraint(Binder *b, TableBuild *table, const PgQuery__Constraint *constraint,
                                     const uint32_t *col, Error *err)
{
    int position = bind_position(b, constraint->location);
    switch (constraint->contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY:
    case PG_QUERY__CONSTR_TYPE__CONSTR_UNIQUE: return bind_constraint_key(b, table, constraint, col, err);
    case PG_QUERY__CONSTR_TYPE__CONSTR_CHECK: return bind_constraint_check(b, table, constraint, err);
    case PG_QUERY__CONSTR_TYPE__CONSTR_GENERATED:
        assert(col != NULL); /* the grammar has it of columns only */
        return bind_generated_constraint(b, table, constraint, *col, err);
    case PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN: return bind_reference(b, table, constraint, col, err);
    default: return col != NULL ? TCUDB_OK : error_unsupported(err, position, "this constraint");
    }
}

static ConstraintKind kind_of(const PgQuery__Constraint *constraint)
{
    if (constraint->contype == PG_QUERY__CONSTR_TYPE__CONSTR_CHECK) return CONSTRAINTS_CHECKS;
    return constraint->contype == PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN ? CONSTRAINTS_REFERENCES : CONSTRAINTS_KEYS;
}

/* The constraints that a table element brings: its own, or those of a column. */
tcudb_status bind_ddl_element_constraints(Binder *b, TableBuild *table, const Node *element, ConstraintKind kind,
                                          Error *err)
{
    const PgQuery__ColumnDef *node = NODE_IS(element, COLUMN_DEF) ? element->column_def : NULL;
    uint32_t *col = ARENA_NEW(b->arena, uint32_t, err);
    TRY_PTR(col);
    while (node != NULL && !bind_name_is(table->cols[*col].name, node->colname)) ++*col;
    if (NODE_IS(element, TABLE_LIKE_CLAUSE))
        return kind == CONSTRAINTS_REFERENCES
                   ? TCUDB_OK
                   : bind_like_constraints(b, table, element->table_like_clause, kind == CONSTRAINTS_CHECKS, err);
    for (size_t i = 0; i < (node == NULL ? 1 : node->n_constraints); i++) {
        const Node *item = node == NULL ? element : node->constraints[i];
        if (!NODE_IS(item, CONSTRAINT) || kind_of(item->constraint) != kind) continue;
        TRY(table_constraint(b, table, item->constraint, node == NULL ? NULL : col, err));
    }
    return TCUDB_OK;
}

/* Room for all constraints, and for the notes of each column. */
static tcudb_status constraint_room(Binder *b, TableBuild *table, const PgQuery__CreateStmt *node, Error *err)
{
    size_t n = node->n_table_elts;
    for (size_t i = 0; i < node->n_table_elts; i++) {
        const Node *element = node->table_elts[i];
        if (NODE_IS(element, COLUMN_DEF)) n += element->column_def->n_constraints;
        if (NODE_IS(element, TABLE_LIKE_CLAUSE)) n += bind_like_room(b, element->table_like_clause);
    }
    table->keys = ARENA_ARRAY(b->arena, KeyDef, n + 1, err);
    TRY_PTR(table->keys);
    table->checks = ARENA_ARRAY(b->arena, CheckDef, n + 1, err);
    TRY_PTR(table->checks);
    table->notes = ARENA_ARRAY(b->arena, NoteDef, COLUMN_NOTES * node->n_table_elts + n, err);
    TRY_PTR(table->notes);
    return TCUDB_OK;
}

/* Checks first, as PostgreSQL names them first; what refers to keys, maybe the table's own, last. */
static tcudb_status all_constraints(Binder *b, TableBuild *table, const PgQuery__CreateStmt *node, Error *err)
{
    static const ConstraintKind kinds[] = {CONSTRAINTS_CHECKS, CONSTRAINTS_KEYS, CONSTRAINTS_REFERENCES};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < node->n_table_elts; i++)
            TRY(bind_ddl_element_constraints(b, table, node->table_elts[i], kinds[k], err));
    return TCUDB_OK;
}

static tcudb_status refuse_table_forms(Binder *b, const PgQuery__CreateStmt *node, Error *err)
{
    int position = bind_position(b, node->relation->location);
    if (node->n_inh_relations > 0) return error_unsupported(err, position, "INHERITS");
    if (node->partspec != NULL || node->partbound != NULL) return error_unsupported(err, position, "PARTITION");
    if (node->of_typename != NULL) return error_unsupported(err, position, "CREATE TABLE OF");
    if (node->n_table_elts > COLUMNS_MAX - 64) {
        return error_set(err, SQLSTATE_TOO_MANY_COLUMNS, "tables can have at most %d columns", COLUMNS_MAX - 64);
    }
    return TCUDB_OK;
}

TableDef bind_table_def(const TableBuild *t, Str name)
{
    return (TableDef){.name = name,
                      .temp = t->temp,
                      .ncols = t->n,
                      .cols = t->cols,
                      .nkeys = t->nkeys,
                      .keys = t->keys,
                      .nchecks = t->nchecks,
                      .checks = t->checks,
                      .nnotes = t->nnotes,
                      .notes = t->notes};
}

tcudb_status bind_ddl_create_table(Binder *b, const PgQuery__CreateStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_CREATE_TABLE;
    stmt->tag = "CREATE TABLE";
    stmt->flag = node->if_not_exists;
    TableTemp temp = TEMP_NONE;
    int position = bind_position(b, node->relation->location);
    TRY(bind_ddl_target(b, node->relation, node->oncommit, position, &stmt->name, &temp, err));
    TRY(refuse_table_forms(b, node, err));
    TableBuild columns = {.table = node->relation->relname, .temp = temp};
    size_t room = node->n_table_elts;
    for (size_t i = 0; i < node->n_table_elts; i++)
        if (NODE_IS(node->table_elts[i], TABLE_LIKE_CLAUSE))
            room += bind_like_room(b, node->table_elts[i]->table_like_clause);
    columns.cols = ARENA_ARRAY(b->arena, ColumnDef, room, err);
    TRY_PTR(columns.cols);
    TRY(constraint_room(b, &columns, node, err));
    for (size_t i = 0; i < node->n_table_elts; i++) {
        const Node *element = node->table_elts[i];
        if (NODE_IS(element, COLUMN_DEF))
            TRY(bind_ddl_define_column(b, &columns, element->column_def, err));
        else if (NODE_IS(element, TABLE_LIKE_CLAUSE))
            TRY(bind_like_columns(b, &columns, element->table_like_clause, err));
        else if (!NODE_IS(element, CONSTRAINT))
            return error_unsupported(err, 0, "this element of CREATE TABLE");
    }
    TRY(bind_storage(b, node->options, node->n_options, STORAGE_TABLE, true, err));
    TRY(all_constraints(b, &columns, node, err));
    stmt->table = bind_table_def(&columns, stmt->name);
    if (temp != TEMP_NONE && reference_any(&stmt->table))
        return error_unsupported(err, 0, "a foreign key of a temporary table");
    stmt->serials = columns.serials;
    stmt->nserials = columns.nserials;
    return TCUDB_OK;
}

/* ---- CREATE TABLE AS, SELECT INTO */

static Type stored_expr(const Plan *plan, const Expr *e);

static bool is_modified(Type type)
{
    return !type_equal(type, TYPE(type.id));
}

/* Of CASE and COALESCE, if all that they may yield have it. */
static Type stored_branches(const Plan *plan, const Expr *e)
{
    bool choice = e->kind == EXPR_CASE;
    for (uint32_t i = 0; i < e->nargs; i++) {
        bool condition = choice && i % 2 == 0 && i + 1 < e->nargs;
        if (!condition && !type_equal(stored_expr(plan, e->args[i]), e->type)) return TYPE(e->type.id);
    }
    return e->type;
}

static Type stored_call(const Plan *plan, const Expr *e)
{
    if (e->func->kind == FUNC_CAST) return e->type;
    return (e->func->flags & FUNC_COMMON) != 0 ? stored_branches(plan, e) : TYPE(e->type.id);
}

static Type stored_column(const Plan *plan, const Expr *e)
{
    for (uint32_t i = 0; i < plan->ninputs; i++) {
        if (plan_find_col(plan->inputs[i], e->col) == NULL) continue;
        return e->given ? e->type : bind_stored_type(plan->inputs[i], e->col);
    }
    return e->type.id == TYPE_NUMERIC ? TYPE(e->type.id) : e->type; /* of an outer query */
}

/* Of an expression over the inputs of the plan. */
static Type stored_expr(const Plan *plan, const Expr *e)
{
    if (!is_modified(e->type)) return e->type;
    switch (e->kind) {
    case EXPR_CONST: return e->given ? e->type : TYPE(e->type.id);
    case EXPR_FUNC: return stored_call(plan, e);
    case EXPR_CASE:
    case EXPR_COALESCE: return stored_branches(plan, e);
    case EXPR_COL: return stored_column(plan, e);
    default: return TYPE(e->type.id);
    }
}

/* Of a column of VALUES or of a set operation, if all that it may hold have it. */
static Type stored_rows(const Plan *plan, uint32_t at)
{
    Type type = plan->cols[at].type;
    bool values = plan->kind == PLAN_VALUES;
    uint64_t n = values ? plan->values.nrows : plan->ninputs;
    if (values && plan->values.kept != NULL) return TYPE(type.id);
    for (uint64_t i = 0; i < n; i++) {
        const Plan *input = values ? plan : plan->inputs[i];
        Type is = values ? stored_expr(plan, plan->values.rows_exprs[i * plan->ncols + at])
                         : bind_stored_type(input, input->cols[at].id);
        if (!type_equal(is, type)) return TYPE(type.id);
    }
    return type;
}

/* The plan whose columns a node has under other ids; NULL: none. */
static const Plan *renamed_plan(const Plan *plan)
{
    if (plan->kind == PLAN_RECURSIVE) return plan->inputs[0];
    return plan->kind == PLAN_CTE_SCAN || plan->kind == PLAN_WORK_SCAN ? plan->cte_scan.cte->plan : NULL;
}

/* The type a column made from an expression gets: PostgreSQL keeps a modifier only where the expression has one,
 * that is, where it is a column or a cast, or all that it may be are; numeric(3,2) of the literal 1.50 is our own. */
Type bind_stored_type(const Plan *plan, ColId id)
{
    assert(plan != NULL);
    const PlanCol *col = plan_find_col(plan, id);
    assert(col != NULL);
    uint32_t at = (uint32_t)(col - plan->cols);
    if (!is_modified(col->type) || plan->kind == PLAN_SCAN) return col->type;
    if (plan->kind == PLAN_VALUES || plan->kind == PLAN_SET_OP) return stored_rows(plan, at);
    if (plan->kind == PLAN_PROJECT) return stored_expr(plan, plan->project.exprs[at].expr);
    if (plan->kind == PLAN_AGGREGATE)
        return at < plan->agg.ngroups ? stored_expr(plan, plan->agg.groups[at].expr) : TYPE(col->type.id);
    const Plan *renamed = renamed_plan(plan);
    if (renamed != NULL) return bind_stored_type(renamed, renamed->cols[at].id);
    for (uint32_t i = 0; i < plan->ninputs; i++)
        if (plan_find_col(plan->inputs[i], id) != NULL) return bind_stored_type(plan->inputs[i], id);
    return TYPE(col->type.id);
}

static tcudb_status name_column(const PgQuery__IntoClause *into, const Plan *plan, uint32_t i, ColumnDef *cols,
                                Error *err)
{
    cols[i].name = i < into->n_col_names ? str_of(sql_string(into->col_names[i])) : str_of(plan->cols[i].name);
    for (uint32_t k = 0; k < i; k++) {
        if (!str_equal(cols[k].name, cols[i].name)) continue;
        return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"" STR_FMT "\" specified more than once",
                         STR_ARG(cols[i].name));
    }
    return TCUDB_OK;
}

static tcudb_status table_of_query(Binder *b, const PgQuery__IntoClause *into, Plan *plan, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_CREATE_TABLE;
    stmt->tag = "SELECT"; /* PostgreSQL reports the number of rows selected */
    TableTemp temp = TEMP_NONE;
    TRY(bind_ddl_target(b, into->rel, into->on_commit, 0, &stmt->name, &temp, err));
    if (into->n_col_names > plan->ncols)
        return error_set(err, SQLSTATE_SYNTAX_ERROR, "too many column names were specified");
    ColumnDef *cols = ARENA_ARRAY(b->arena, ColumnDef, plan->ncols, err);
    TRY_PTR(cols);
    Type *types = ARENA_ARRAY(b->arena, Type, plan->ncols, err);
    TRY_PTR(types);
    for (uint32_t i = 0; i < plan->ncols; i++) {
        types[i] = bind_stored_type(plan, plan->cols[i].id);
        cols[i].type = types[i];
        TRY(name_column(into, plan, i, cols, err));
        if (types[i].id == TYPE_INTERVAL) return error_unsupported(err, 0, "a column of type interval");
    }
    TRY(bind_storage(b, into->options, into->n_options, STORAGE_TABLE, true, err));
    TRY(bind_retype(b, plan, types, CAST_ASSIGNMENT, &stmt->plan, err));
    stmt->table = (TableDef){.name = stmt->name, .ncols = plan->ncols, .cols = cols, .temp = temp};
    if (!into->skip_data) return TCUDB_OK;
    stmt->plan = NULL; /* WITH NO DATA */
    stmt->tag = "CREATE TABLE AS";
    return TCUDB_OK;
}

tcudb_status bind_ddl_create_table_as(Binder *b, const PgQuery__CreateTableAsStmt *node, Stmt *stmt, Error *err)
{
    if (node->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW) return error_unsupported(err, 0, "a materialized view");
    if (!NODE_IS(node->query, SELECT_STMT)) return error_unsupported(err, 0, "CREATE TABLE AS EXECUTE");
    Plan *plan = NULL;
    stmt->flag = node->if_not_exists;
    TRY(bind_select(b, NULL, NULL, node->query->select_stmt, false, &plan, err));
    return table_of_query(b, node->into, plan, stmt, err);
}

tcudb_status bind_ddl_select_into(Binder *b, const PgQuery__SelectStmt *node, Stmt *stmt, Error *err)
{
    PgQuery__SelectStmt select = *node; /* the same query without INTO */
    select.into_clause = NULL;
    Plan *plan = NULL;
    TRY(bind_select(b, NULL, NULL, &select, false, &plan, err));
    return table_of_query(b, node->into_clause, plan, stmt, err);
}

/* ---- DROP, TRUNCATE, RENAME */

/* The name of something that its schema or search_path does not show. */
static tcudb_status hidden(const PgQuery__DropStmt *node, const Stmt *stmt, Str *name, Error *err)
{
    bool index = node->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX;
    const char *kind = index ? "index" : stmt->view ? "view" : stmt->sequence ? "sequence" : "table";
    if (!node->missing_ok)
        return error_set(err, index ? SQLSTATE_UNDEFINED_OBJECT : SQLSTATE_UNDEFINED_TABLE,
                         "%s \"" STR_FMT "\" does not exist", kind, STR_ARG(*name));
    *name = STR_LIT(""); /* which is nothing's */
    return TCUDB_OK;
}

static tcudb_status drop_names(Binder *b, const PgQuery__DropStmt *node, Stmt *stmt, Error *err)
{
    Str *names = ARENA_ARRAY(b->arena, Str, node->n_objects, err);
    TRY_PTR(names);
    for (size_t i = 0; i < node->n_objects; i++) {
        if (!NODE_IS(node->objects[i], LIST)) return error_unsupported(err, 0, "this form of DROP");
        const PgQuery__List *parts = node->objects[i]->list;
        names[i] = str_of(sql_last_name(parts->items, parts->n_items));
        const char *schema = parts->n_items < 2 ? "" : sql_string(parts->items[parts->n_items - 2]);
        bool known = true, shown = true;
        TRY(bind_schema_shows(b, schema, names[i], &known, &shown, err));
        if (!known && !node->missing_ok) return bind_no_schema(schema, 0, err);
        if (!shown) TRY(hidden(node, stmt, &names[i], err));
    }
    stmt->nnames = (uint32_t)node->n_objects;
    stmt->names = names;
    return TCUDB_OK;
}

tcudb_status bind_ddl_drop(Binder *b, const PgQuery__DropStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_DROP;
    stmt->flag = node->missing_ok;
    stmt->cascade = node->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    switch (node->remove_type) {
    case PG_QUERY__OBJECT_TYPE__OBJECT_TABLE: stmt->tag = "DROP TABLE"; break;
    case PG_QUERY__OBJECT_TYPE__OBJECT_VIEW:
        stmt->tag = "DROP VIEW";
        stmt->view = true;
        break;
    case PG_QUERY__OBJECT_TYPE__OBJECT_SEQUENCE:
        stmt->tag = "DROP SEQUENCE";
        stmt->sequence = true;
        break;
    case PG_QUERY__OBJECT_TYPE__OBJECT_INDEX: stmt->tag = "DROP INDEX"; break;
    case PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA: return bind_drop_schema(b, node, stmt, err);
    default: return bind_refuse_by_name(b, err);
    }
    TRY(drop_names(b, node, stmt, err));
    if (node->remove_type != PG_QUERY__OBJECT_TYPE__OBJECT_INDEX) return TCUDB_OK;
    return bind_alter_drop_indexes(b, stmt, err);
}

tcudb_status bind_ddl_truncate(Binder *b, const PgQuery__TruncateStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_TRUNCATE;
    stmt->tag = "TRUNCATE TABLE";
    stmt->restart = node->restart_seqs;
    stmt->cascade = node->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE;
    Str *names = ARENA_ARRAY(b->arena, Str, node->n_relations, err);
    TRY_PTR(names);
    for (size_t i = 0; i < node->n_relations; i++) {
        const Table *table = NULL;
        TRY(bind_table_for_change(b, node->relations[i]->range_var, "truncating", &table, err));
        names[i] = table_def(table)->name;
    }
    stmt->nnames = (uint32_t)node->n_relations;
    stmt->names = names;
    return TCUDB_OK;
}

tcudb_status bind_ddl_rename(Binder *b, const PgQuery__RenameStmt *node, Stmt *stmt, Error *err)
{
    if (node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_COLUMN ||
        node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABCONSTRAINT)
        return bind_alter_rename(b, node, stmt, err);
    if (node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_SCHEMA) return bind_rename_schema(b, node->subname, err);
    if (node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX) return bind_alter_rename_index(b, node, stmt, err);
    stmt->sequence = node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_SEQUENCE;
    stmt->view = node->rename_type == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW;
    if (node->rename_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE && !stmt->sequence && !stmt->view)
        return error_unsupported(err, 0, "renaming this kind of object");
    stmt->kind = STMT_ALTER_RENAME;
    stmt->tag = stmt->sequence ? "ALTER SEQUENCE" : stmt->view ? "ALTER VIEW" : "ALTER TABLE";
    stmt->flag = node->missing_ok;
    stmt->text = str_of(node->newname);
    tcudb_status status = bind_relation_name(b, node->relation, &stmt->name, err);
    if (status == TCUDB_OK || !node->missing_ok || !bind_was_missing(err)) return status;
    stmt->text = (Str){0}; /* there is nothing to rename */
    return TCUDB_OK;
}
