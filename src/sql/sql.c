/*
 * sql.c: text -> trees, through libpg_query (PostgreSQL 15's own grammar).
 *
 *     text -> long literals cut -> tokens -> depth check -> FROM 'file' rewritten -> pg_query_parse_protobuf
 *          -> structs in the arena, literals put back
 *
 * The trees are protobuf-c structs copied straight into the caller's arena (tree.c). Errors come with PostgreSQL's
 * message and cursor position, but without a SQLSTATE: all but a few are syntax errors. libpg_query runs in
 * memory of ours (pg_call.c), so it cannot fail in ways of its own.
 *
 * Limits: depth of nesting (scan.c); NUL bytes and invalid UTF-8 are refused (22021).
 */
#include "sql/pg_call.h"
#include "sql/sql_int.h"

#include <assert.h>
#include <ctype.h>
#include <pg_query.h>

static const char *sqlstate_of(const char *message)
{
    if (strstr(message, "stack depth limit exceeded") != NULL) return SQLSTATE_STATEMENT_TOO_COMPLEX;
    if (strstr(message, "memory exhausted") != NULL) return SQLSTATE_STATEMENT_TOO_COMPLEX;
    if (strstr(message, "invalid memory alloc request size") != NULL) return SQLSTATE_PROGRAM_LIMIT_EXCEEDED;
    if (strstr(message, "not yet implemented") != NULL) return SQLSTATE_FEATURE_NOT_SUPPORTED;
    if (strstr(message, "invalid byte sequence") != NULL) return SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE;
    if (strstr(message, "precision for type float") != NULL) return SQLSTATE_INVALID_PARAMETER_VALUE;
    if (strncmp(message, "frame ", 6) == 0) return SQLSTATE_WINDOWING_ERROR;
    return SQLSTATE_SYNTAX_ERROR;
}

static uint32_t byte_of_character(Str text, int position)
{
    uint32_t at = 0;
    for (int left = position - 1; at < text.len; at++) {
        if (((unsigned char)text.ptr[at] & 0xC0) == 0x80) continue;
        if (left-- == 0) break;
    }
    return at;
}

/* libpg_query counts characters of the parsed text; the map wants bytes. */
static int error_position(const SqlSource *source, int cursor)
{
    if (cursor <= 0) return 0;
    uint32_t at = byte_of_character((Str){source->parsed, source->parsed_len}, cursor);
    return sql_source_character(source, sql_source_original(source, at));
}

/* 1_000 and 0x1F: PostgreSQL shows the number with all of the word that it ends in. */
static tcudb_status report_junk(const SqlSource *source, const char *message, int position, Error *err)
{
    Str text = source->original;
    uint32_t start = byte_of_character(text, position), end = start;
    while (end < text.len && (isalnum((unsigned char)text.ptr[end]) || strchr("_$.", text.ptr[end]) != NULL ||
                              (unsigned char)text.ptr[end] >= 0x80))
        end++;
    int words = (int)(strchr(message, '"') - message);
    return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "%.*s\"%.*s\"", words, message, (int)(end - start),
                    text.ptr + start);
}

/* Of E'' if a \u is there, else of U&''. */
static tcudb_status report_unicode(const SqlSource *source, const char *message, int position, Error *err)
{
    uint32_t at = byte_of_character(source->original, position);
    bool plain = at + 1 < source->original.len && tolower((unsigned char)source->original.ptr[at + 1]) == 'u';
    error_at(err, plain ? SQLSTATE_INVALID_ESCAPE_SEQUENCE : SQLSTATE_SYNTAX_ERROR, position, "%s", message);
    error_hint(err, plain ? "Unicode escapes must be \\uXXXX or \\UXXXXXXXX."
                          : "Unicode escapes must be \\XXXX or \\+XXXXXX.");
    return TCUDB_ERROR;
}

static tcudb_status report(const SqlCopy *copy, const PgQueryError *error, Error *err)
{
    const SqlSource *source = copy->source;
    char *message = NULL;
    TRY(sql_restore(copy, error->message == NULL ? "syntax error" : error->message, &message, err));
    int position = error_position(source, error->cursorpos);
    bool junk = strncmp(message, "trailing junk after", 19) == 0 && strchr(message, '"') != NULL;
    if (junk) return report_junk(source, message, position, err);
    if (strcmp(message, "invalid Unicode escape") == 0) return report_unicode(source, message, position, err);
    if (strcmp(message, "subquery in FROM must have an alias") == 0) {
        error_at(err, SQLSTATE_SYNTAX_ERROR, position, "%s", message);
        error_hint(err, "For example, FROM (SELECT ...) [AS] foo.");
        return TCUDB_ERROR;
    }
    return error_at(err, sqlstate_of(message), position, "%s", message);
}

typedef struct Parse {
    const char *text;
    SqlCopy copy;
    PgQueryProtobufParseResult result;
    ProtobufCMessage *tree;
} Parse;

static void call_parse(void *ctx)
{
    Parse *parse = ctx;
    parse->result = pg_query_parse_protobuf(parse->text);
}

static tcudb_status take_tree(void *ctx, const void *message, Error *err)
{
    Parse *parse = ctx;
    return sql_copy_tree(&parse->copy, message, &parse->tree, err);
}

static tcudb_status parse_tree(Arena *arena, const SqlSource *source, const atomic_bool *cancel,
                               PgQuery__ParseResult **out, Error *err)
{
    PgCall call;
    Parse parse = {.text = source->parsed, .copy = {arena, source, cancel}};
    tcudb_status status = pg_call(&call, arena->mem, cancel, call_parse, take_tree, &parse, err);
    if (status == TCUDB_OK && parse.result.error != NULL) status = report(&parse.copy, parse.result.error, err);
    *out = (PgQuery__ParseResult *)(void *)parse.tree;
    pg_call_end(&call);
    return status;
}

static Ast make_ast(const SqlSource *source, const PgQuery__RawStmt *raw)
{
    uint32_t start = (uint32_t)raw->stmt_location;
    uint32_t end = raw->stmt_len == 0 ? source->parsed_len : start + (uint32_t)raw->stmt_len;
    assert(start <= end && end <= source->parsed_len);
    while (start < end && strchr(" \t\r\n\f\v", source->parsed[start]) != NULL) start++;
    while (end > start && strchr(" \t\r\n\f\v", source->parsed[end - 1]) != NULL) end--;
    uint32_t first = sql_source_original(source, start), last = sql_source_original(source, end);
    return (Ast){.node = raw->stmt,
                 .text = {source->original.ptr + first, last - first},
                 .offset = (int)first,
                 .source = source};
}

tcudb_status sql_parse(Arena *arena, Str text, const atomic_bool *cancel, Ast **out, uint32_t *n, Error *err)
{
    *out = NULL;
    *n = 0;
    SqlSource *source = ARENA_NEW(arena, SqlSource, err);
    TRY_PTR(source);
    TRY(sql_source_init(arena, text, cancel, source, err));
    TRY(sql_cut(arena, source, cancel, err));
    SqlToken *tokens = NULL;
    uint32_t ntokens = 0;
    bool ok = false;
    const char *message = NULL;
    TRY(sql_scan_tokens(arena, source->parsed, cancel, &tokens, &ntokens, &ok, &message, err));
    if (ok) { /* otherwise the parser reports the same error with its position */
        TRY(sql_check_depth(tokens, ntokens, err));
        TRY(sql_rewrite_files(arena, tokens, ntokens, source, err));
    }
    PgQuery__ParseResult *result = NULL;
    TRY(parse_tree(arena, source, cancel, &result, err));
    assert(result != NULL);
    Ast *asts = ARENA_ARRAY(arena, Ast, result->n_stmts, err);
    TRY_PTR(asts);
    for (size_t i = 0; i < result->n_stmts; i++) asts[i] = make_ast(source, result->stmts[i]);
    *out = asts;
    *n = (uint32_t)result->n_stmts;
    return TCUDB_OK;
}
