/*
 * sql_int.h: what the files of sql/ share.
 */
#ifndef SQL_SQL_INT_H
#define SQL_SQL_INT_H

#include "base/cancel.h"
#include "sql/ast.h"

/* A piece of text put into the parsed text at byte offset `at` (of the parsed text). */
typedef struct SqlEdit {
    uint32_t at;
    uint32_t len;
} SqlEdit;

/* A stretch of the original (`was` bytes at `from`) that the parsed text has `len` bytes for, at `at` (before edits).
 */
typedef struct SqlCut {
    uint32_t at, len;
    uint32_t from, was;
    bool doubled; /* quotes stand twice in it */
} SqlCut;

/* Two texts of the same statements: what the user wrote and what libpg_query parsed. */
typedef struct SqlSource {
    Str original;
    const char *parsed; /* NUL-terminated */
    uint32_t parsed_len;
    bool ascii; /* original: one byte is one character */
    char mark;  /* begins what stands for a cut literal; 0: none is cut */
    uint32_t ncuts, nedits;
    const SqlCut *cuts;    /* ascending */
    const SqlEdit *edits;  /* ascending */
    const uint32_t *chars; /* not ascii: characters before each 256th byte of original */
} SqlSource;

typedef struct SqlToken {
    uint32_t start, end; /* bytes */
    int kind;            /* PgQuery__Token */
} SqlToken;

/* Where a tree is copied to, what its strings lack, and what stops it. */
typedef struct SqlCopy {
    Arena *arena;
    const SqlSource *source;   /* of tokens: NULL */
    const atomic_bool *cancel; /* may be NULL */
} SqlCopy;

/* A copy of a message and all below it. 57014 once *cancel is true. */
tcudb_status sql_copy_tree(const SqlCopy *copy, const ProtobufCMessage *from, ProtobufCMessage **out,
                           Error *err) MUST_CHECK;

/* Checks UTF-8 and prepares the map; no cuts and edits yet. */
tcudb_status sql_source_init(Arena *arena, Str text, const atomic_bool *cancel, SqlSource *out, Error *err) MUST_CHECK;
/* Cuts long literals, comments and blanks out of the parsed text. */
tcudb_status sql_cut(Arena *arena, SqlSource *source, const atomic_bool *cancel, Error *err) MUST_CHECK;
/* A copy of a text of the tree or of a message with the literals that were cut. */
tcudb_status sql_restore(const SqlCopy *copy, const char *text, char **out, Error *err) MUST_CHECK;
/* Byte offset in the parsed text -> byte offset in the original. */
uint32_t sql_source_original(const SqlSource *source, uint32_t at);
/* Byte offset in the original -> 1-based character. */
int sql_source_character(const SqlSource *source, uint32_t at);

/* All tokens but comments. *ok false: the scanner reports an error, its message in *message (which may be
 * NULL), and there are no tokens. */
tcudb_status sql_scan_tokens(Arena *arena, const char *text, const atomic_bool *cancel, SqlToken **out, uint32_t *n,
                             bool *ok, const char **message, Error *err) MUST_CHECK;
/* Reports 54001 if the statement could nest deeper than the recursive walks over trees allow. */
tcudb_status sql_check_depth(const SqlToken *tokens, uint32_t n, Error *err) MUST_CHECK;
/* FROM 'file' -> FROM read_csv('file'): fills the source's parsed text and edits. */
tcudb_status sql_rewrite_files(Arena *arena, const SqlToken *tokens, uint32_t n, SqlSource *source,
                               Error *err) MUST_CHECK;

#endif
