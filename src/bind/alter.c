/*
 * alter.c: ALTER TABLE: the new definition, where its columns come from, and an INSERT that fills it from the old
 * table.
 *
 * Forms that change columns or their types keep the columns that stay (alter_sources.c). Only if a key has a column
 * that does not, or if rows do not satisfy the new definition, is the table made anew: the old rows go through a
 * PROJECT (defaults for new columns, casts for changed types) into the new table, row by row, which finds PostgreSQL's
 * error. The other forms keep the rows as they are (stmt->keeps_rows), likewise. Commands of one statement follow each
 * other in the order they are written. Cost: what is written, or a query for each new constraint; at worst a copy of
 * the table.
 */
#include "bind/alter_int.h"
#include "catalog/reference.h"

#include <assert.h>

tcudb_status bind_alter_new(Binder *b, const Table *table, size_t room, Alter *a, Error *err)
{
    const TableDef *def = table_def(table);
    ScopeItem *item = NULL;
    *a = (Alter){.b = b, .old = def};
    TRY(bind_build_of(b, def, room, (COLUMN_NOTES + 1) * room, &a->t, err));
    a->sources = ARENA_ARRAY(b->arena, Expr *, def->ncols + room, err);
    TRY_PTR(a->sources);
    a->from = ARENA_ARRAY(b->arena, ColumnSource, def->ncols + room, err);
    TRY_PTR(a->from);
    a->retyped = ARENA_ARRAY(b->arena, bool, def->ncols + room, err);
    TRY_PTR(a->retyped);
    TRY(bind_table_scan(b, table, &a->rowid, &a->scan, err));
    for (uint32_t i = 0; i < def->ncols; i++) {
        a->from[i].from = i;
        a->sources[i] = expr_col(b->arena, a->scan->cols[i].id, a->scan->cols[i].type, 0, err);
        TRY_PTR(a->sources[i]);
    }
    TRY(bind_scope_item_of_plan(b, def->name, a->scan, def->ncols, &item, err));
    return bind_scope_add(b, &a->block, item, err);
}

tcudb_status bind_alter_column(const Alter *a, const char *name, uint32_t *out, Error *err)
{
    const TableDef now = bind_table_def(&a->t, a->old->name);
    return bind_column_number(&now, str_of(name), 0, out, err);
}

bool bind_alter_has(const Alter *a, const char *name)
{
    for (uint32_t i = 0; i < a->t.n; i++)
        if (bind_name_is(a->t.cols[i].name, name)) return true;
    return false;
}

/* ---- columns */

static tcudb_status add_column(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    const PgQuery__ColumnDef *node = cmd->def->column_def;
    a->copies = true;
    if (bind_alter_has(a, node->colname)) {
        if (cmd->missing_ok) return TCUDB_OK;
        return error_set(err, SQLSTATE_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists",
                         node->colname, a->t.table);
    }
    TRY(bind_ddl_define_column(a->b, &a->t, node, err));
    TRY(bind_ddl_element_constraints(a->b, &a->t, cmd->def, CONSTRAINTS_CHECKS, err));
    TRY(bind_ddl_element_constraints(a->b, &a->t, cmd->def, CONSTRAINTS_KEYS, err));
    TRY(bind_ddl_element_constraints(a->b, &a->t, cmd->def, CONSTRAINTS_REFERENCES, err));
    a->from[a->t.n - 1] = (ColumnSource){.from = NO_COLUMN};
    a->retyped[a->t.n - 1] = false;
    const TableDef now = bind_table_def(&a->t, a->old->name);
    const ColumnDef *col = &a->t.cols[a->t.n - 1];
    Str generated = note_find(&now, NOTE_GENERATED, col->name);
    if (generated.ptr == NULL) return bind_default(a->b, col, &a->sources[a->t.n - 1], err);
    a->block.place = PLACE_GENERATED;
    a->block.applies = &a->applies;
    return bind_generated_value(a->b, &a->block, col, generated, &a->sources[a->t.n - 1], err);
}

static tcudb_status drop_keys(Alter *a, uint32_t col, Error *err)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < a->t.nkeys; k++) {
        KeyDef key = a->t.keys[k];
        bool of_column = false;
        uint32_t *cols = ARENA_ARRAY(a->b->arena, uint32_t, key.ncols, err);
        TRY_PTR(cols);
        for (uint32_t i = 0; i < key.ncols; i++) {
            of_column = of_column || key.cols[i] == col;
            cols[i] = key.cols[i] - (key.cols[i] > col);
        }
        key.cols = cols;
        if (!of_column) a->t.keys[n++] = key;
    }
    a->t.nkeys = n;
    return TCUDB_OK;
}

/* And the foreign keys that it is part of. */
static tcudb_status drop_notes(Alter *a, Str column, Error *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->t.nnotes; i++) {
        bool of_column = bind_is_note_of_column(&a->t.notes[i], column) || note_indexes(&a->t.notes[i], column);
        TRY(bind_reference_mentions(a->b, &a->t.notes[i], column, &of_column, err));
        if (!of_column) a->t.notes[n++] = a->t.notes[i];
    }
    a->t.nnotes = n;
    return TCUDB_OK;
}

/* Comments on constraints that are no more go with them. */
static void drop_stray_notes(Alter *a)
{
    uint32_t n = 0;
    const TableDef now = bind_table_def(&a->t, a->old->name);
    for (uint32_t i = 0; i < a->t.nnotes; i++) {
        bool stray = note_is(&a->t.notes[i], NOTE_CONSTRAINT) && !bind_has_constraint(&now, a->t.notes[i].subject);
        if (!stray) a->t.notes[n++] = a->t.notes[i];
    }
    a->t.nnotes = n;
}

static tcudb_status drop_checks(Alter *a, uint32_t col, Error *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->t.nchecks; i++) {
        bool mentioned = false;
        TRY(bind_check_mentions(a->b, &a->t, &a->t.checks[i], col, &mentioned, err));
        if (!mentioned) a->t.checks[n++] = a->t.checks[i];
    }
    a->t.nchecks = n;
    return TCUDB_OK;
}

/* A generated column keeps the columns that it is computed from. */
static tcudb_status not_of_generated(Alter *a, uint32_t col, bool cascade, Error *err)
{
    Str column;
    TRY(bind_generated_mentions(a->b, &a->t, col, &column, err));
    if (column.ptr == NULL) return TCUDB_OK;
    Str name = a->t.cols[col].name;
    if (cascade) return error_unsupported(err, 0, "DROP COLUMN ... CASCADE of one that a generated column uses");
    error_set(err, SQLSTATE_DEPENDENT_OBJECTS_STILL_EXIST,
              "cannot drop column " STR_FMT " of table %s because other objects depend on it", STR_ARG(name),
              a->t.table);
    error_detail(err, "column " STR_FMT " of table %s depends on column " STR_FMT " of table %s", STR_ARG(column),
                 a->t.table, STR_ARG(name), a->t.table);
    error_hint(err, "Use DROP ... CASCADE to drop the dependent objects too.");
    return TCUDB_ERROR;
}

/* With the constraints that it is part of. */
static tcudb_status drop_column(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    uint32_t col = 0;
    if (cmd->missing_ok && !bind_alter_has(a, cmd->name)) return TCUDB_OK;
    TRY(bind_alter_column(a, cmd->name, &col, err));
    a->copies = true;
    TRY(not_of_generated(a, col, cmd->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE, err));
    TRY(drop_notes(a, a->t.cols[col].name, err));
    TRY(drop_checks(a, col, err));
    TRY(drop_keys(a, col, err));
    a->t.n--;
    memmove(a->t.cols + col, a->t.cols + col + 1, (a->t.n - col) * sizeof *a->t.cols);
    a->t.cols[a->t.n] = (ColumnDef){0}; /* ADD COLUMN may follow */
    memmove(a->retyped + col, a->retyped + col + 1, (a->t.n - col) * sizeof *a->retyped);
    memmove(a->from + col, a->from + col + 1, (a->t.n - col) * sizeof *a->from);
    memmove(a->sources + col, a->sources + col + 1, (a->t.n - col) * sizeof *a->sources);
    return TCUDB_OK;
}

/* Not one whose values are the table's to say. */
static tcudb_status plain_column(const Alter *a, uint32_t col, Error *err)
{
    const TableDef now = bind_table_def(&a->t, a->old->name);
    Str name = a->t.cols[col].name;
    bool identity = note_find(&now, NOTE_IDENTITY, name).ptr != NULL;
    if (!identity && !bind_is_generated(&now, name)) return TCUDB_OK;
    return error_set(err, SQLSTATE_SYNTAX_ERROR, "column \"" STR_FMT "\" of relation \"%s\" is %s column",
                     STR_ARG(name), a->t.table, identity ? "an identity" : "a generated");
}

static tcudb_status set_default(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    uint32_t col = 0;
    TRY(bind_alter_column(a, cmd->name, &col, err));
    TRY(plain_column(a, col, err));
    a->t.cols[col].default_sql = (Str){0};
    tcudb_status status = cmd->def == NULL ? TCUDB_OK : bind_ddl_set_default(a->b, &a->t.cols[col], cmd->def, err);
    if (err != NULL) err->position = 0; /* PostgreSQL's way */
    return status;
}

static tcudb_status set_nullable(Alter *a, const PgQuery__AlterTableCmd *cmd, bool not_null, Error *err)
{
    uint32_t col = 0;
    TRY(bind_alter_column(a, cmd->name, &col, err));
    if (!not_null && bind_find_note(&a->t, NOTE_GENERATED, a->t.cols[col].name).ptr == NULL)
        TRY(plain_column(a, col, err));
    const KeyDef *primary = bind_primary_key(&a->t);
    for (uint32_t i = 0; primary != NULL && !not_null && i < primary->ncols; i++) {
        if (primary->cols[i] != col) continue;
        return error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION, "column \"%s\" is in a primary key", cmd->name);
    }
    a->t.cols[col].not_null = not_null;
    return TCUDB_OK;
}

static tcudb_status no_cast(const PgQuery__AlterTableCmd *cmd, Type type, Error *err)
{
    char name[TYPE_NAME_MAX];
    error_set(err, SQLSTATE_DATATYPE_MISMATCH, "column \"%s\" cannot be cast automatically to type %s", cmd->name,
              type_base_name(type));
    error_hint(err, "You might need to specify \"USING %s::%s\".", cmd->name, type_name(type, name));
    return TCUDB_ERROR;
}

/* A default goes on to mean what it meant: a value of the old type, cast to the new one. */
static tcudb_status retype_default(Alter *a, ColumnDef *col, Type type, Error *err)
{
    Ast *ast = NULL;
    const Node *node = NULL;
    const Func *cast = NULL;
    Expr *e = NULL;
    Block block = {.place = PLACE_DEFAULT};
    ApplyList list = {0};
    const Ast *before = a->b->ast;
    if (col->default_sql.len == 0) return TCUDB_OK;
    TRY(bind_stored_expression(a->b, col->default_sql, "default of column", col->name, &ast, &node, err));
    block.applies = &list;
    a->b->ast = ast;
    tcudb_status status = bind_expr(a->b, &block, node, &e, err);
    a->b->ast = before;
    TRY(status);
    bool literal = e->type.id == TYPE_UNKNOWN;
    Type from = literal ? col->type : e->type;
    if (!type_equal(from, type) && func_cast(from, type, CAST_ASSIGNMENT, 0, &cast, NULL) != TCUDB_OK) {
        return error_set(err, SQLSTATE_DATATYPE_MISMATCH,
                         "default for column \"" STR_FMT "\" cannot be cast automatically to type %s",
                         STR_ARG(col->name), type_base_name(type));
    }
    if (!literal) return TCUDB_OK;
    char name[TYPE_NAME_MAX];
    const char *text = arena_printf(a->b->arena, err, "CAST(" STR_FMT " AS %s)", STR_ARG(col->default_sql),
                                    type_name(col->type, name));
    TRY_PTR(text);
    col->default_sql = str_of(text);
    return TCUDB_OK;
}

static tcudb_status change_type(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    a->copies = true;
    const PgQuery__ColumnDef *node = cmd->def->column_def;
    uint32_t col = 0;
    const Func *cast = NULL;
    Type type = {0};
    TRY(bind_alter_column(a, cmd->name, &col, err));
    if (a->retyped[col])
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "cannot alter type of column \"%s\" twice", cmd->name);
    a->retyped[col] = true;
    TRY(bind_typename(a->b, node->type_name, &type, err));
    if (type.id == TYPE_INTERVAL || type.id == TYPE_UNKNOWN)
        return error_unsupported(err, 0, "a column of type %s", type_base_name(type));
    if (bind_find_note(&a->t, NOTE_IDENTITY, a->t.cols[col].name).ptr != NULL) TRY(bind_identity_type(type, err));
    Str generated;
    TRY(bind_generated_mentions(a->b, &a->t, col, &generated, err));
    if (generated.ptr != NULL)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED,
                         "cannot alter type of a column used by a generated column");
    Expr *e = a->sources[col];
    if (node->raw_default != NULL) {
        a->block.place = PLACE_UPDATE;
        a->block.applies = &a->applies;
        TRY(bind_expr(a->b, &a->block, node->raw_default, &e, err));
        if (a->applies.first != NULL)
            return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, a->applies.first->position,
                            "cannot use subquery in transform expression");
    }
    if (e->type.id != TYPE_UNKNOWN && !type_equal(e->type, type) &&
        func_cast(e->type, type, CAST_ASSIGNMENT, 0, &cast, NULL) != TCUDB_OK)
        return no_cast(cmd, type, err);
    TRY(retype_default(a, &a->t.cols[col], type, err));
    bind_alter_retype(&a->from[col], node->raw_default != NULL, a->t.cols[col].type, type);
    a->t.cols[col].type = type;
    return bind_coerce(a->b, e, type, CAST_ASSIGNMENT, 0, &a->sources[col], err);
}

/* ---- constraints */

static tcudb_status add_constraint(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    const PgQuery__Constraint *node = cmd->def->constraint;
    bool check = node->contype == PG_QUERY__CONSTR_TYPE__CONSTR_CHECK;
    if (node->contype == PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY && bind_primary_key(&a->t) != NULL) {
        return error_set(err, SQLSTATE_INVALID_TABLE_DEFINITION,
                         "multiple primary keys for table \"%s\" are not allowed", a->t.table);
    }
    bool reference = node->contype == PG_QUERY__CONSTR_TYPE__CONSTR_FOREIGN;
    if (reference && a->old->temp != TEMP_NONE) return error_unsupported(err, 0, "a foreign key of a temporary table");
    tcudb_status status = bind_ddl_element_constraints(a->b, &a->t, cmd->def,
                                                       check       ? CONSTRAINTS_CHECKS
                                                       : reference ? CONSTRAINTS_REFERENCES
                                                                   : CONSTRAINTS_KEYS,
                                                       err);
    if (status != TCUDB_OK && err != NULL) err->position = 0; /* PostgreSQL's way */
    return status;
}

Str *bind_alter_constraint(Alter *a, const char *name)
{
    for (uint32_t i = 0; i < a->t.nkeys; i++)
        if (bind_name_is(a->t.keys[i].name, name) && bind_find_note(&a->t, NOTE_INDEX, a->t.keys[i].name).ptr == NULL)
            return &a->t.keys[i].name;
    for (uint32_t i = 0; i < a->t.nchecks; i++)
        if (bind_name_is(a->t.checks[i].name, name)) return &a->t.checks[i].name;
    for (uint32_t i = 0; i < a->t.nnotes; i++)
        if (note_is(&a->t.notes[i], NOTE_REFERENCE) && bind_name_is(a->t.notes[i].subject, name))
            return &a->t.notes[i].subject;
    return NULL;
}

tcudb_status bind_alter_no_constraint(const Alter *a, const char *name, const char *what, Error *err)
{
    return error_set(err, SQLSTATE_UNDEFINED_OBJECT, "constraint \"%s\" %s \"%s\" does not exist", name, what,
                     a->t.table);
}

static void drop_named(Alter *a, Str name)
{
    uint32_t keys = 0, checks = 0;
    for (uint32_t i = 0; i < a->t.nkeys; i++)
        if (!str_equal(a->t.keys[i].name, name)) a->t.keys[keys++] = a->t.keys[i];
    for (uint32_t i = 0; i < a->t.nchecks; i++)
        if (!str_equal(a->t.checks[i].name, name)) a->t.checks[checks++] = a->t.checks[i];
    a->t.nkeys = keys;
    a->t.nchecks = checks;
    bind_set_note(&a->t, NOTE_REFERENCE, name, (Str){0});
}

static tcudb_status drop_constraint(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    if (bind_alter_constraint(a, cmd->name) == NULL)
        return cmd->missing_ok ? TCUDB_OK : bind_alter_no_constraint(a, cmd->name, "of relation", err);
    drop_named(a, str_of(cmd->name));
    return TCUDB_OK;
}

/* ---- the statement */

/* By the parser's name for it: AT_ChangeOwner. */
static tcudb_status refuse_command(const PgQuery__AlterTableCmd *cmd, Error *err)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&pg_query__alter_table_type__descriptor, (int)cmd->subtype);
    bool known = value != NULL && strncmp(value->name, "AT_", 3) == 0;
    return error_unsupported(err, 0, "ALTER TABLE (%s)", known ? value->name + 3 : "this form");
}

static tcudb_status add_identity(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    uint32_t col = 0;
    TRY(bind_alter_column(a, cmd->name, &col, err));
    const ColumnDef *def = &a->t.cols[col];
    const char *wrong = !def->not_null ? "must be declared NOT NULL before identity can be added"
                        : bind_find_note(&a->t, NOTE_IDENTITY, def->name).ptr != NULL ? "is already an identity column"
                        : def->default_sql.len > 0                                    ? "already has a default value"
                                                                                      : NULL;
    if (wrong != NULL)
        return error_set(err, SQLSTATE_OBJECT_NOT_IN_PREREQUISITE_STATE, "column \"%s\" of relation \"%s\" %s",
                         cmd->name, a->t.table, wrong);
    return bind_identity_column(a->b, &a->t, cmd->def->constraint, &a->t.cols[col], err);
}

static tcudb_status command(Alter *a, const PgQuery__AlterTableCmd *cmd, Error *err)
{
    switch (cmd->subtype) {
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddColumn: return add_column(a, cmd, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn: return drop_column(a, cmd, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ColumnDefault: return set_default(a, cmd, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetNotNull: return set_nullable(a, cmd, true, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropNotNull: return set_nullable(a, cmd, false, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AlterColumnType: return change_type(a, cmd, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddIdentity: return add_identity(a, cmd, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ChangeOwner: return TCUDB_OK; /* there is one user */
    case PG_QUERY__ALTER_TABLE_TYPE__AT_SetRelOptions:
        return bind_storage(a->b, cmd->def->list->items, cmd->def->list->n_items, STORAGE_TABLE, false, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_ResetRelOptions: return TCUDB_OK; /* whatever they are called */
    case PG_QUERY__ALTER_TABLE_TYPE__AT_AddConstraint: return add_constraint(a, cmd, err);
    case PG_QUERY__ALTER_TABLE_TYPE__AT_DropConstraint: return drop_constraint(a, cmd, err);
    default: break;
    }
    return refuse_command(cmd, err);
}

/* The INSERT into the new table, which session/ makes before it runs. */
tcudb_status bind_alter_finish(Alter *a, Stmt *stmt, Error *err)
{
    Binder *b = a->b;
    NamedExpr *exprs = ARENA_ARRAY(b->arena, NamedExpr, a->t.n, err);
    TRY_PTR(exprs);
    for (uint32_t i = 0; i < a->t.n; i++) {
        const char *name = bind_name(b, a->t.cols[i].name, err);
        TRY_PTR(name);
        exprs[i] = (NamedExpr){bind_new_col(b, a->t.cols[i].type, name), a->sources[i]};
    }
    stmt->kind = STMT_ALTER_TABLE;
    stmt->tag = "ALTER TABLE";
    stmt->name = a->old->name;
    drop_stray_notes(a);
    stmt->table = bind_table_def(&a->t, a->old->name);
    Str *retyped = ARENA_ARRAY(b->arena, Str, a->t.n, err);
    TRY_PTR(retyped);
    for (uint32_t i = 0; i < a->t.n; i++)
        if (a->retyped[i]) retyped[stmt->nretyped++] = a->t.cols[i].name;
    stmt->retyped = retyped;
    stmt->serials = a->t.serials;
    stmt->nserials = a->t.nserials;
    stmt->keeps_rows = !a->copies;
    stmt->plan = plan_new(b->arena, PLAN_INSERT, 1, 0, err);
    TRY_PTR(stmt->plan);
    stmt->plan->modify.table = stmt->name;
    TRY(plan_project(b->arena, a->scan, exprs, a->t.n, &stmt->plan->inputs[0], err));
    if (a->copies) TRY(bind_alter_sources(a, exprs, stmt, err));
    return bind_row_checks(b, &stmt->table, stmt->plan->inputs[0]->cols, stmt->plan, err);
}

tcudb_status bind_alter_find(Binder *b, const PgQuery__RangeVar *range, bool missing_ok, const char *verb, Stmt *stmt,
                             const Table **out, Error *err)
{
    tcudb_status status = bind_table_for_change(b, range, verb, out, err);
    if (status == TCUDB_OK) return TCUDB_OK;
    if (!missing_ok || !bind_was_missing(err)) return status;
    *out = NULL;
    stmt->kind = STMT_ALTER_RENAME; /* which knows what to say of a table that is not there */
    stmt->tag = "ALTER TABLE";
    stmt->flag = true;
    stmt->name = str_of(range->relname);
    return TCUDB_OK;
}

/* ALTER TABLE, VIEW, SEQUENCE ... OWNER TO: nothing, if the relation is there. */
static bool only_owner(const PgQuery__AlterTableStmt *node)
{
    for (size_t i = 0; i < node->n_cmds; i++)
        if (node->cmds[i]->alter_table_cmd->subtype != PG_QUERY__ALTER_TABLE_TYPE__AT_ChangeOwner) return false;
    return true;
}

static tcudb_status change_owner(Binder *b, const PgQuery__AlterTableStmt *node, Stmt *stmt, Error *err)
{
    Str name = {0};
    stmt->kind = STMT_NOTHING;
    stmt->tag = node->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW       ? "ALTER VIEW"
                : node->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_SEQUENCE ? "ALTER SEQUENCE"
                                                                          : "ALTER TABLE";
    TRY(bind_relation_name(b, node->relation, &name, err));
    if (bind_find_table(b, name) != NULL || txn_view(b->env->txn, name) != NULL || node->missing_ok) return TCUDB_OK;
    return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
}

tcudb_status bind_alter_table(Binder *b, const PgQuery__AlterTableStmt *node, Stmt *stmt, Error *err)
{
    const Table *table = NULL;
    Alter a;
    size_t room = node->n_cmds;
    if (only_owner(node)) return change_owner(b, node, stmt, err);
    if (node->objtype != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE)
        return error_unsupported(err, 0, "ALTER of this kind of object");
    TRY(bind_alter_find(b, node->relation, node->missing_ok, "altering", stmt, &table, err));
    if (table == NULL) return TCUDB_OK;
    for (size_t i = 0; i < node->n_cmds; i++) {
        const Node *def = node->cmds[i]->alter_table_cmd->def;
        if (NODE_IS(def, COLUMN_DEF)) room += def->column_def->n_constraints;
    }
    TRY(bind_alter_new(b, table, room, &a, err));
    for (size_t i = 0; i < node->n_cmds; i++) {
        const PgQuery__AlterTableCmd *cmd = node->cmds[i]->alter_table_cmd;
        if (cmd->behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE) stmt->cascade = true;
        if (cmd->subtype == PG_QUERY__ALTER_TABLE_TYPE__AT_DropColumn) stmt->text = str_of(cmd->name);
        TRY(command(&a, cmd, err));
    }
    return bind_alter_finish(&a, stmt, err);
}
