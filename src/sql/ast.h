/*
 * ast.h: the parse tree as bind/ sees it: libpg_query's protobuf-c structs, and small accessors.
 *
 * Lists of nodes come as (n_x, x) pairs. A node is a PgQuery__Node: node_case tells which member of the
 * union is set. Strings are never NULL, only empty.
 */
#ifndef SQL_AST_H
#define SQL_AST_H

#include "sql/sql.h"

#include <pg_query/pg_query.pb-c.h>

#define NODE_IS(n, KIND) ((n) != NULL && (n)->node_case == PG_QUERY__NODE__NODE_##KIND)

typedef PgQuery__Node Node;

/* The text of a String node; "" if it is another kind. */
static inline const char *sql_string(const Node *node)
{
    return NODE_IS(node, STRING) ? node->string->sval : "";
}

/* The last part of a qualified name (pg_catalog.int4 -> int4); "" if there is none. */
static inline const char *sql_last_name(Node *const *names, size_t n)
{
    return n == 0 ? "" : sql_string(names[n - 1]);
}

/* Byte offset of an expression node in the parsed text; -1: it has none. */
int sql_location(const Node *node);
/* The text of the statement from byte offset `from` of the parsed text to its end, as the user wrote it. */
Str sql_text_from(const Ast *ast, int from);
/* Byte offset (parsed text) of what follows the first AS at parenthesis depth 0: the query of a view, the
 * statement of PREPARE. -1: no such token. */
tcudb_status sql_after_as(Arena *arena, const Ast *ast, const atomic_bool *cancel, int *offset, Error *err) MUST_CHECK;

/* What stands for a name, or for a star: "t.a, t.b" for t.*. */
typedef struct NameEdit {
    int location;   /* in the parsed text */
    uint32_t parts; /* of the name: 2 of t.*, which is a name, too */
    Str text;
} NameEdit;
/* The text, a part of the statement's, so edited; the edits are sorted. */
tcudb_status sql_edited(Arena *arena, const Ast *ast, const atomic_bool *cancel, Str text, NameEdit *edits, uint32_t n,
                        Str *out, Error *err) MUST_CHECK;

/* SQL text of an expression. 57014 once *cancel (may be NULL) is true. */
tcudb_status sql_expression_text(Arena *arena, const Node *node, const atomic_bool *cancel, Str *out,
                                 Error *err) MUST_CHECK;

#endif
