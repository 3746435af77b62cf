/*
 * deparse.c: an expression node -> SQL text, by libpg_query's deparser.
 *
 * A column's DEFAULT is stored as text. The grammar does not say where an expression ends, so the text is made from
 * the tree: the expression is put into a SELECT of its own, which is deparsed, and "SELECT " is cut off.
 */
#include "sql/ast.h"
#include "sql/pg_call.h"

#include <assert.h>
#include <pg_query.h>

static tcudb_status pack(Arena *arena, const Node *node, PgQueryProtobuf *out, Error *err)
{
    PgQuery__ResTarget target = PG_QUERY__RES_TARGET__INIT;
    PgQuery__Node target_node = PG_QUERY__NODE__INIT;
    PgQuery__SelectStmt select = PG_QUERY__SELECT_STMT__INIT;
    PgQuery__Node select_node = PG_QUERY__NODE__INIT;
    PgQuery__RawStmt raw = PG_QUERY__RAW_STMT__INIT;
    PgQuery__ParseResult result = PG_QUERY__PARSE_RESULT__INIT;
    PgQuery__Node *targets[] = {&target_node};
    PgQuery__RawStmt *stmts[] = {&raw};
    target.val = (Node *)(uintptr_t)node; /* only read */
    target_node.node_case = PG_QUERY__NODE__NODE_RES_TARGET;
    target_node.res_target = &target;
    select.target_list = targets;
    select.n_target_list = 1;
    select.op = PG_QUERY__SET_OPERATION__SETOP_NONE;
    select.limit_option = PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_DEFAULT;
    select_node.node_case = PG_QUERY__NODE__NODE_SELECT_STMT;
    select_node.select_stmt = &select;
    raw.stmt = &select_node;
    result.version = 150001;
    result.stmts = stmts;
    result.n_stmts = 1;
    out->len = protobuf_c_message_get_packed_size(&result.base);
    out->data = arena_alloc_raw(arena, out->len, err);
    TRY_PTR(out->data);
    protobuf_c_message_pack(&result.base, (uint8_t *)out->data);
    return TCUDB_OK;
}

typedef struct Deparse {
    PgQueryProtobuf tree;
    PgQueryDeparseResult result;
} Deparse;

static void call_deparse(void *ctx)
{
    Deparse *deparse = ctx;
    deparse->result = pg_query_deparse_protobuf(deparse->tree);
}

static tcudb_status take_text(Arena *arena, const PgQueryDeparseResult *result, Str *out, Error *err)
{
    static const char prefix[] = "SELECT ";
    if (result->error != NULL || strncmp(result->query, prefix, sizeof prefix - 1) != 0)
        return error_unsupported(err, 0, "this expression as a default");
    const char *text = result->query + sizeof prefix - 1;
    char *copy = arena_strndup(arena, text, strlen(text), err);
    TRY_PTR(copy);
    *out = str_of(copy);
    return TCUDB_OK;
}

tcudb_status sql_expression_text(Arena *arena, const Node *node, const atomic_bool *cancel, Str *out, Error *err)
{
    PgCall call;
    Deparse deparse = {0};
    TRY(pack(arena, node, &deparse.tree, err));
    tcudb_status status = pg_call(&call, arena->mem, cancel, call_deparse, NULL, &deparse, err);
    if (status == TCUDB_OK) status = take_text(arena, &deparse.result, out, err);
    pg_call_end(&call);
    return status;
}
