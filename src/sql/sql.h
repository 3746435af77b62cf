/*
 * sql.h: SQL text -> parse trees, through libpg_query.
 *
 * FROM 'file.csv' is not PostgreSQL's grammar: the token stream is rewritten to a call of read_csv (or
 * read_parquet, by the name's ending) before parsing, and error positions are mapped back.
 */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include "base/str.h"

/* One statement: a protobuf-c node of pg_query.pb-c.h behind an opaque pointer (sql/ast.h for bind/). */
typedef struct Ast {
    const void *node;               /* const PgQuery__Node * */
    Str text;                       /* the statement's own text, without the semicolon */
    int offset;                     /* of text in the whole input, in bytes */
    const struct SqlSource *source; /* maps positions back to what the user wrote */
} Ast;

/* Parses all statements of a text. The trees live in the arena. Syntax errors: 42601 with position, as
 * PostgreSQL words them. An empty text gives *n == 0. 57014 once *cancel (may be NULL) is true. */
tcudb_status sql_parse(Arena *arena, Str text, const atomic_bool *cancel, Ast **out, uint32_t *n,
                       Error *err) MUST_CHECK;
/* Byte offset in the parsed text (a node's `location`) -> 1-based character position in the original. */
int sql_position(const Ast *ast, int location);
/* Whether a text ends inside a statement (open quote, comment, parenthesis or no semicolon): the shell asks
 * for another line. */
bool sql_incomplete(Str text);

#endif
