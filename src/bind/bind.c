/*
 * bind.c: one parse tree -> one bound statement.
 *
 *     bind_statement -> bind_any -> SELECT/VALUES: select.c, setop.c; INSERT ...: dml.c; CREATE ...: ddl.c; ...
 *
 * Afterwards WITH queries are inlined or shared, and the parameters' types must be known. Column ids count up from
 * 1 over the statement. Binding recurses over the tree: every level passes bind_enter, which refuses trees deeper
 * than BIND_DEPTH_MAX (54001); sql/ has bounded the depth before, views add to it.
 */
#include "bind/bind_int.h"

#include <assert.h>

int bind_position(const Binder *b, int location)
{
    return sql_position(b->ast, location);
}

int bind_node_position(const Binder *b, const Node *node)
{
    return sql_position(b->ast, sql_location(node));
}

tcudb_status bind_enter(Binder *b, Error *err)
{
    TRY(cancel_poll(b->env->cancel, err));
    if (b->depth++ < BIND_DEPTH_MAX) return TCUDB_OK;
    b->depth--;
    return error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
}

void bind_leave(Binder *b)
{
    assert(b->depth > 0);
    b->depth--;
}

PlanCol bind_new_col(Binder *b, Type type, const char *name)
{
    assert(name != NULL);
    return (PlanCol){.id = b->next_col++, .type = type, .name = name};
}

const char *bind_name(Binder *b, Str text, Error *err)
{
    return arena_strndup(b->arena, text.ptr, text.len, err);
}

static tcudb_status bind_query(Binder *b, const PgQuery__SelectStmt *select, Stmt *stmt, Error *err)
{
    if (select->into_clause != NULL) return bind_ddl_select_into(b, select, stmt, err);
    stmt->kind = STMT_QUERY;
    stmt->tag = "SELECT";
    return bind_select(b, NULL, NULL, select, false, &stmt->plan, err);
}

tcudb_status bind_any(Binder *b, const Node *node, Stmt *stmt, Error *err)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT: return bind_query(b, node->select_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_INSERT_STMT: return bind_insert(b, node->insert_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_DELETE_STMT: return bind_delete(b, node->delete_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return bind_update(b, node->update_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_MERGE_STMT: return bind_merge(b, node->merge_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_CREATE_STMT: return bind_ddl_create_table(b, node->create_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
        return bind_ddl_create_table_as(b, node->create_table_as_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_VIEW_STMT: return bind_ddl_create_view(b, node->view_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_DROP_STMT: return bind_ddl_drop(b, node->drop_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_TRUNCATE_STMT: return bind_ddl_truncate(b, node->truncate_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_RENAME_STMT: return bind_ddl_rename(b, node->rename_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT: return bind_alter_table(b, node->alter_table_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_INDEX_STMT: return bind_ddl_create_index(b, node->index_stmt, stmt, err);
    case PG_QUERY__NODE__NODE_COPY_STMT: return bind_copy(b, node->copy_stmt, stmt, err);
    default: return bind_utility(b, node, stmt, err);
    }
}

static tcudb_status finish_params(Binder *b, Stmt *stmt, Error *err)
{
    if (b->nparams < b->env->nparam_types) {
        TRY(bind_param_need(b, b->env->nparam_types, err));
    }
    for (uint32_t i = 0; i < b->nparams; i++) {
        if (b->params[i].id != TYPE_UNKNOWN) continue;
        return error_set(err, SQLSTATE_INDETERMINATE_DATATYPE, "could not determine data type of parameter $%u", i + 1);
    }
    stmt->nparams = b->nparams;
    stmt->params = b->params;
    return TCUDB_OK;
}

/* The parts of a statement see one snapshot: a table that two of them change would have to be two. */
static tcudb_status finish_steps(const Binder *b, Stmt *stmt, Error *err)
{
    const Stmt *of = stmt->kind == STMT_EXPLAIN ? stmt->inner : stmt;
    bool changes = of->plan != NULL && plan_writes(of->plan);
    stmt->steps = b->steps;
    stmt->nsteps = b->nsteps;
    if (of->merge) return TCUDB_OK;
    if (b->nsteps > 0 && stmt->kind != STMT_QUERY && stmt->kind != STMT_EXPLAIN)
        return error_unsupported(err, 0, "a data-modifying WITH here");
    for (uint32_t i = 0; i < b->nsteps; i++) {
        bool again = changes && str_equal(b->steps[i].table, of->name);
        for (uint32_t k = 0; k < i; k++) again = again || str_equal(b->steps[i].table, b->steps[k].table);
        if (again)
            return error_unsupported(err, 0, "changing \"" STR_FMT "\" twice in one statement",
                                     STR_ARG(b->steps[i].table));
    }
    return TCUDB_OK;
}

/* The numbers of their parameters. */
static void finish_counts(const Binder *b, Stmt *stmt)
{
    uint32_t first = b->nparams > b->env->nparam_types ? b->nparams : b->env->nparam_types;
    for (uint32_t i = 0; i < b->ncounts; i++) b->counts[i].param->param = first + i;
    stmt->counts = b->counts;
    stmt->ncounts = b->ncounts;
}

tcudb_status bind_statement(Arena *arena, const BindEnv *env, const Ast *ast, Stmt **out, Error *err)
{
    Binder binder = {.arena = arena, .env = env, .ast = ast, .next_col = 1, .edits = env->edits};
    Stmt *stmt = ARENA_NEW(arena, Stmt, err);
    TRY_PTR(stmt);
    stmt->ast = ast;
    TRY(bind_any(&binder, ast->node, stmt, err));
    finish_counts(&binder, stmt);
    TRY(bind_with_finish(&binder, err));
    TRY(finish_params(&binder, stmt, err));
    TRY(finish_steps(&binder, stmt, err));
    stmt->next_col = binder.next_col;
    stmt->sequences = binder.sequences;
    stmt->nsequences = binder.nsequences;
    stmt->nmerged = binder.nmerged;
    stmt->advances = binder.advances;
    stmt->set_name = binder.set_name;
    stmt->set_value = binder.set_value;
    stmt->set_local = binder.set_local;
    stmt->param_position = binder.param_position;
    stmt->param_number = binder.param_number;
    stmt->asks_sequences = binder.asks_sequences;
    *out = stmt;
    return TCUDB_OK;
}
