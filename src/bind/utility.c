/*
 * utility.c: statements without a plan of their own: transactions, settings, PREPARE, EXPLAIN, CALL, ...
 */
#include "bind/bind_int.h"

#include <assert.h>
#include <strings.h>

/* ---- options: name value */

static Value text_value(const char *text)
{
    return (Value){.type = TYPE(TYPE_TEXT), .str = str_of(text)};
}

/* FORCE_QUOTE (a, b): the names joined by newlines. */
static tcudb_status list_value(Binder *b, const PgQuery__List *list, Value *out, Error *err)
{
    const char *text = "";
    for (size_t i = 0; i < list->n_items; i++) {
        text = arena_printf(b->arena, err, "%s%s%s", text, i == 0 ? "" : "\n", sql_string(list->items[i]));
        TRY_PTR(text);
    }
    *out = text_value(text);
    return TCUDB_OK;
}

static tcudb_status option_value(Binder *b, const PgQuery__DefElem *def, Value *out, Error *err)
{
    const Node *arg = def->arg;
    *out = (Value){.type = TYPE(TYPE_TEXT), .null = true};
    if (arg == NULL) return TCUDB_OK;
    switch (arg->node_case) {
    case PG_QUERY__NODE__NODE_STRING: *out = text_value(arg->string->sval); return TCUDB_OK;
    case PG_QUERY__NODE__NODE_INTEGER:
        *out = (Value){.type = TYPE(TYPE_INT4), .i32 = arg->integer->ival};
        return TCUDB_OK;
    case PG_QUERY__NODE__NODE_BOOLEAN:
        *out = (Value){.type = TYPE(TYPE_BOOL), .b = arg->boolean->boolval};
        return TCUDB_OK;
    case PG_QUERY__NODE__NODE_FLOAT: *out = text_value(arg->float_->fval); return TCUDB_OK;
    case PG_QUERY__NODE__NODE_A_STAR: *out = text_value("*"); return TCUDB_OK;
    case PG_QUERY__NODE__NODE_LIST: return list_value(b, arg->list, out, err);
    case PG_QUERY__NODE__NODE_TYPE_NAME:
        *out = text_value(sql_last_name(arg->type_name->names, arg->type_name->n_names));
        return TCUDB_OK;
    default:
        return error_unsupported(err, bind_position(b, def->location), "this value of option \"%s\"", def->defname);
    }
}

tcudb_status bind_options(Binder *b, Node *const *defs, size_t n, Stmt *stmt, Error *err)
{
    StmtOption *options = ARENA_ARRAY(b->arena, StmtOption, n, err);
    TRY_PTR(options);
    for (size_t i = 0; i < n; i++) {
        assert(NODE_IS(defs[i], DEF_ELEM));
        const PgQuery__DefElem *def = defs[i]->def_elem;
        options[i].name = str_of(def->defname);
        options[i].position = bind_position(b, def->location);
        TRY(option_value(b, def, &options[i].value, err));
    }
    stmt->noptions = (uint32_t)n;
    stmt->options = options;
    return TCUDB_OK;
}

/* ---- transactions */

/* READ ONLY, READ WRITE and the isolation level among a transaction's modes. */
static void transaction_modes(Node *const *modes, size_t n, Stmt *stmt)
{
    for (size_t i = 0; i < n; i++) {
        const PgQuery__DefElem *mode = NODE_IS(modes[i], DEF_ELEM) ? modes[i]->def_elem : NULL;
        const Node *value = mode == NULL ? NULL : mode->arg;
        bool text = NODE_IS(value, A_CONST) && value->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
        if (text && strcmp(mode->defname, "transaction_isolation") == 0)
            stmt->isolation = str_of(value->a_const->sval->sval);
        if (mode == NULL || strcmp(mode->defname, "transaction_read_only") != 0) continue;
        stmt->read_only = NODE_IS(value, A_CONST) && value->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL &&
                          value->a_const->ival->ival != 0;
        stmt->read_write = !stmt->read_only;
    }
}

static tcudb_status bind_transaction(const PgQuery__TransactionStmt *node, Stmt *stmt, Error *err)
{
    stmt->name = str_of(node->savepoint_name);
    if (node->chain) return error_unsupported(err, 0, "AND CHAIN");
    transaction_modes(node->options, node->n_options, stmt);
    static const struct {
        PgQuery__TransactionStmtKind node;
        StmtKind kind;
        const char *tag;
    } kinds[] = {
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN, STMT_BEGIN, "BEGIN"},
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START, STMT_BEGIN, "START TRANSACTION"},
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT, STMT_COMMIT, "COMMIT"},
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK, STMT_ROLLBACK, "ROLLBACK"},
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT, STMT_SAVEPOINT, "SAVEPOINT"},
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE, STMT_RELEASE, "RELEASE"},
        {PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO, STMT_ROLLBACK_TO, "ROLLBACK"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].node != node->kind) continue;
        stmt->kind = kinds[i].kind;
        stmt->tag = kinds[i].tag;
        return TCUDB_OK;
    }
    return error_unsupported(err, 0, "a prepared transaction (two-phase commit)");
}

/* ---- settings */

/* SET TRANSACTION ..., SET SESSION CHARACTERISTICS AS TRANSACTION ... */
static tcudb_status bind_set_modes(const PgQuery__VariableSetStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_SET_MODES;
    transaction_modes(node->args, node->n_args, stmt);
    if (strcmp(node->name, "TRANSACTION") == 0) return TCUDB_OK;
    if (strcmp(node->name, "SESSION CHARACTERISTICS") != 0 || stmt->read_only)
        return error_unsupported(err, 0, "SET %s%s", node->name, stmt->read_only ? " READ ONLY" : "");
    stmt->kind = stmt->isolation.len > 0 ? STMT_SET : STMT_NOTHING;
    stmt->name = STR_LIT("default_transaction_isolation");
    stmt->text = stmt->isolation;
    return TCUDB_OK;
}

static const char *constant_text(Binder *b, const Node *node, Error *err)
{
    if (NODE_IS(node, TYPE_CAST)) node = node->type_cast->arg; /* SET TIME ZONE INTERVAL ... */
    if (!NODE_IS(node, A_CONST) || node->a_const->isnull) return "";
    switch (node->a_const->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL: return arena_printf(b->arena, err, "%d", node->a_const->ival->ival);
    case PG_QUERY__A__CONST__VAL_FVAL: return node->a_const->fval->fval;
    case PG_QUERY__A__CONST__VAL_BOOLVAL: return node->a_const->boolval->boolval ? "true" : "false";
    case PG_QUERY__A__CONST__VAL_SVAL: return node->a_const->sval->sval;
    default: return "";
    }
}

static tcudb_status bind_set(Binder *b, const PgQuery__VariableSetStmt *node, Stmt *stmt, Error *err)
{
    stmt->name = str_of(node->name);
    stmt->flag = node->is_local;
    stmt->kind = STMT_SET;
    stmt->tag = "SET";
    if (node->kind != PG_QUERY__VARIABLE_SET_KIND__VAR_SET_MULTI) TRY(bind_check_setting(b, stmt->name, err));
    switch (node->kind) {
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_VALUE: break;
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_DEFAULT:
        stmt->kind = STMT_RESET;
        stmt->flag = false;
        return TCUDB_OK;
    case PG_QUERY__VARIABLE_SET_KIND__VAR_RESET:
        stmt->kind = STMT_RESET;
        stmt->tag = "RESET";
        return TCUDB_OK;
    case PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL:
        stmt->kind = STMT_RESET;
        stmt->tag = "RESET";
        stmt->flag = true;
        return TCUDB_OK;
    case PG_QUERY__VARIABLE_SET_KIND__VAR_SET_MULTI: return bind_set_modes(node, stmt, err);
    default: return error_unsupported(err, 0, "SET ... FROM CURRENT");
    }
    const char *text = "";
    bool names = strcasecmp(node->name, "search_path") == 0;
    for (size_t i = 0; i < node->n_args; i++) {
        const char *part = constant_text(b, node->args[i], err);
        TRY_PTR(part);
        if (names) TRY(text_quoted_name(b->arena, str_of(part), &part, err));
        text = arena_printf(b->arena, err, "%s%s%s", text, i == 0 ? "" : ", ", part);
        TRY_PTR(text);
    }
    stmt->text = str_of(text);
    return TCUDB_OK;
}

/* ---- PREPARE, EXECUTE, CALL, EXPLAIN */

static tcudb_status bind_prepare(Binder *b, const PgQuery__PrepareStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_PREPARE;
    stmt->tag = "PREPARE";
    stmt->name = str_of(node->name);
    Type *types = ARENA_ARRAY(b->arena, Type, node->n_argtypes, err);
    TRY_PTR(types);
    for (size_t i = 0; i < node->n_argtypes; i++) {
        TRY(bind_typename(b, node->argtypes[i]->type_name, &types[i], err));
        if (types[i].id == TYPE_UNKNOWN) types[i].id = TYPE_NONE; /* to be inferred */
    }
    stmt->nargs = (uint32_t)node->n_argtypes;
    stmt->arg_types = types;
    int from = 0;
    TRY(sql_after_as(b->arena, b->ast, b->env->cancel, &from, err));
    assert(from >= 0);
    stmt->text = sql_text_from(b->ast, from);
    return TCUDB_OK;
}

static tcudb_status bind_execute(Binder *b, const PgQuery__ExecuteStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_EXECUTE;
    stmt->tag = "EXECUTE";
    stmt->name = str_of(node->name);
    Value *args = ARENA_ARRAY(b->arena, Value, node->n_params, err);
    TRY_PTR(args);
    for (size_t i = 0; i < node->n_params; i++) {
        int position = 0;
        const Node *param = node->params[i];
        bool text = NODE_IS(param, A_CONST) && !param->a_const->isnull &&
                    param->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
        TRY(bind_value(b, PLACE_EXECUTE, param, &args[i], &position, err));
        if (text) args[i].type = TYPE(TYPE_UNKNOWN); /* a literal: the parameter's input function reads it */
    }
    stmt->nargs = (uint32_t)node->n_params;
    stmt->args = args;
    return TCUDB_OK;
}

static tcudb_status bind_procedure_call(Binder *b, const PgQuery__CallStmt *node, Stmt *stmt, Error *err)
{
    const PgQuery__FuncCall *call = node->funccall;
    stmt->kind = STMT_CALL;
    stmt->tag = "CALL";
    stmt->name = str_of(bind_func_name(call));
    Value *args = ARENA_ARRAY(b->arena, Value, call->n_args, err);
    TRY_PTR(args);
    StmtOption *options = ARENA_ARRAY(b->arena, StmtOption, call->n_args, err);
    TRY_PTR(options);
    for (size_t i = 0; i < call->n_args; i++) {
        const Node *arg = call->args[i];
        int position = 0;
        if (NODE_IS(arg, NAMED_ARG_EXPR)) {
            StmtOption *option = &options[stmt->noptions++];
            option->name = str_of(arg->named_arg_expr->name);
            option->position = bind_node_position(b, arg);
            TRY(bind_value(b, PLACE_CALL, arg->named_arg_expr->arg, &option->value, &position, err));
            continue;
        }
        if (stmt->noptions > 0) {
            return error_at(err, SQLSTATE_SYNTAX_ERROR, bind_node_position(b, arg),
                            "positional argument cannot follow named argument");
        }
        TRY(bind_value(b, PLACE_CALL, arg, &args[stmt->nargs++], &position, err));
    }
    stmt->args = args;
    stmt->options = options;
    return TCUDB_OK;
}

static tcudb_status bind_explain(Binder *b, const PgQuery__ExplainStmt *node, Stmt *stmt, Error *err)
{
    stmt->kind = STMT_EXPLAIN;
    stmt->tag = "EXPLAIN";
    TRY(bind_options(b, node->options, node->n_options, stmt, err));
    Stmt *inner = ARENA_NEW(b->arena, Stmt, err);
    TRY_PTR(inner);
    inner->ast = b->ast;
    TRY(bind_any(b, node->query, inner, err));
    inner->steps = b->steps;
    inner->nsteps = b->nsteps;
    inner->counts = b->counts;
    inner->ncounts = b->ncounts;
    stmt->inner = inner;
    return TCUDB_OK;
}

tcudb_status bind_nothing(Stmt *stmt, const char *tag)
{
    stmt->kind = STMT_NOTHING;
    stmt->tag = tag;
    return TCUDB_OK;
}

static tcudb_status bind_discard(const PgQuery__DiscardStmt *node, Stmt *stmt)
{
    static const struct {
        PgQuery__DiscardMode mode;
        const char *name, *tag;
    } modes[] = {
        {PG_QUERY__DISCARD_MODE__DISCARD_ALL, "all", "DISCARD ALL"},
        {PG_QUERY__DISCARD_MODE__DISCARD_PLANS, "plans", "DISCARD PLANS"},
        {PG_QUERY__DISCARD_MODE__DISCARD_SEQUENCES, "sequences", "DISCARD SEQUENCES"},
        {PG_QUERY__DISCARD_MODE__DISCARD_TEMP, "temp", "DISCARD TEMP"},
    };
    stmt->kind = STMT_DISCARD;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (modes[i].mode != node->target) continue;
        stmt->name = str_of(modes[i].name);
        stmt->tag = modes[i].tag;
    }
    stmt->flag = node->target == PG_QUERY__DISCARD_MODE__DISCARD_ALL;
    return TCUDB_OK;
}

/* The first word of the statement in capitals, of some the first two: CREATE EXTENSION. */
tcudb_status bind_refuse_by_name(const Binder *b, Error *err)
{
    static const char *const two[] = {"CREATE", "ALTER", "DROP", "REFRESH", "IMPORT", "SECURITY", "REASSIGN"};
    char words[48];
    size_t n = 0, wanted = 1, nwords = 0;
    Str text = b->ast->text;
    for (size_t i = 0; i < text.len && n + 1 < sizeof words && nwords < wanted; i++) {
        char c = text.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter) {
            words[n++] = (char)(c & ~0x20);
            continue;
        }
        if (n == 0 || words[n - 1] == ' ') continue;
        words[n] = '\0';
        for (size_t k = 0; k < sizeof two / sizeof two[0] && nwords == 0; k++)
            if (strcmp(words, two[k]) == 0) wanted = 2;
        if (++nwords < wanted) words[n++] = ' ';
    }
    while (n > 0 && words[n - 1] == ' ') n--;
    words[n] = '\0';
    return error_unsupported(err, 0, "%s", n == 0 ? "this kind of statement" : words);
}

/* There is one user, who may do everything. */
static tcudb_status bind_grant(Binder *b, const PgQuery__GrantStmt *node, Stmt *stmt, Error *err)
{
    for (size_t i = 0; i < node->n_objects; i++) {
        Str name = {0};
        if (!NODE_IS(node->objects[i], RANGE_VAR)) continue;
        TRY(bind_relation_name(b, node->objects[i]->range_var, &name, err));
        if (bind_find_table(b, name) == NULL && txn_view(b->env->txn, name) == NULL)
            return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
    }
    return bind_nothing(stmt, node->is_grant ? "GRANT" : "REVOKE");
}

/* Nothing, but to tables that are there. */
static tcudb_status bind_vacuum(Binder *b, const PgQuery__VacuumStmt *node, Stmt *stmt, Error *err)
{
    for (size_t i = 0; i < node->n_rels; i++) {
        const PgQuery__VacuumRelation *rel = node->rels[i]->vacuum_relation;
        Str name = {0};
        uint32_t col;
        TRY(bind_relation_name(b, rel->relation, &name, err));
        const Table *table = bind_find_table(b, name);
        if (table == NULL && txn_view(b->env->txn, name) == NULL)
            return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
        for (size_t c = 0; table != NULL && c < rel->n_va_cols; c++)
            TRY(bind_column_number(table_def(table), str_of(sql_string(rel->va_cols[c])), 0, &col, err));
    }
    return bind_nothing(stmt, node->is_vacuumcmd ? "VACUUM" : "ANALYZE");
}

static tcudb_status bind_reindex(Binder *b, const PgQuery__ReindexStmt *node, Stmt *stmt, Error *err)
{
    bool index = node->kind == PG_QUERY__REINDEX_OBJECT_TYPE__REINDEX_OBJECT_INDEX;
    if (index || node->kind == PG_QUERY__REINDEX_OBJECT_TYPE__REINDEX_OBJECT_TABLE) {
        Str name = str_of(node->relation->relname);
        if ((index ? bind_table_of_index(b, name) : bind_find_table(b, name)) == NULL)
            return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"%s\" does not exist", node->relation->relname);
    }
    return bind_nothing(stmt, "REINDEX");
}

/* DECLARE is refused, so that no cursor is ever there. */
static tcudb_status refuse_cursor(const Binder *b, Error *err)
{
    tcudb_status status = bind_refuse_by_name(b, err);
    error_hint(err, "Run the query itself: its rows can be taken as they are made, or with LIMIT and OFFSET.");
    return status;
}

static tcudb_status no_cursor(const char *name, Error *err)
{
    return error_set(err, SQLSTATE_INVALID_CURSOR_NAME, "cursor \"%s\" does not exist", name);
}

/* What has nothing to do here, under PostgreSQL's tag. */
static tcudb_status bind_harmless(Binder *b, const Node *node, Stmt *stmt, Error *err)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_VACUUM_STMT: return bind_vacuum(b, node->vacuum_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_CHECK_POINT_STMT: return bind_nothing(stmt, "CHECKPOINT");
    case PG_QUERY__NODE__NODE_REINDEX_STMT: return bind_reindex(b, node->reindex_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_CLUSTER_STMT: return bind_nothing(stmt, "CLUSTER");
    case PG_QUERY__NODE__NODE_GRANT_STMT: return bind_grant(b, node->grant_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_ALTER_DEFAULT_PRIVILEGES_STMT: return bind_nothing(stmt, "ALTER DEFAULT PRIVILEGES");
    case PG_QUERY__NODE__NODE_UNLISTEN_STMT: return bind_nothing(stmt, "UNLISTEN");
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT: return refuse_cursor(b, err);
    case PG_QUERY__NODE__NODE_FETCH_STMT: return no_cursor(node->fetch_stmt->portalname, err);
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT:
        if (node->close_portal_stmt->portalname[0] != '\0') return no_cursor(node->close_portal_stmt->portalname, err);
        return bind_nothing(stmt, "CLOSE CURSOR ALL");
    case PG_QUERY__NODE__NODE_ALTER_OWNER_STMT: return bind_own_schema(b, node->alter_owner_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_CREATE_SCHEMA_STMT: return bind_create_schema(b, node->create_schema_stmt, stmt, err);
    default: return bind_refuse_by_name(b, err);
    }
}

tcudb_status bind_utility(Binder *b, const Node *node, Stmt *stmt, Error *err)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: return bind_transaction(node->transaction_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT: return bind_set(b, node->variable_set_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT:
        stmt->kind = STMT_SHOW;
        stmt->tag = "SHOW";
        stmt->name = str_of(node->variable_show_stmt->name);
        stmt->flag = strcmp(node->variable_show_stmt->name, "all") == 0;
        return stmt->flag ? TCUDB_OK : bind_check_setting(b, stmt->name, err);
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: return bind_explain(b, node->explain_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_PREPARE_STMT: return bind_prepare(b, node->prepare_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_EXECUTE_STMT: return bind_execute(b, node->execute_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_DEALLOCATE_STMT:
        stmt->kind = STMT_DEALLOCATE;
        stmt->name = str_of(node->deallocate_stmt->name);
        stmt->flag = stmt->name.len == 0;
        stmt->tag = stmt->flag ? "DEALLOCATE ALL" : "DEALLOCATE";
        return TCUDB_OK;
    case PG_QUERY__NODE__NODE_CALL_STMT: return bind_procedure_call(b, node->call_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_CREATE_SEQ_STMT: return bind_create_sequence(b, node->create_seq_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_ALTER_SEQ_STMT: return bind_alter_sequence(b, node->alter_seq_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_COMMENT_STMT: return bind_comment(b, node->comment_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_DISCARD_STMT: return bind_discard(node->discard_stmt, stmt);
    default: return bind_harmless(b, node, stmt, err);
    }
}
