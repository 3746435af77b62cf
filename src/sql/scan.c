/*
 * scan.c: what can be told from the tokens alone: nesting depth, whether a text is complete.
 *
 * libpg_query's tree walks, protobuf's unpacking and our binder recurse once or more per level of the tree, so
 * the depth is bounded before the tree exists. Every level of a tree needs at least one token that is not an
 * operand; the bound counts those on the path of open parentheses. A comma, AND, OR or a clause keyword starts
 * a sibling, not a level (lists are flat), so a long IN list or WHERE is not deep, but 1+1+1+... is. Joins and
 * set operations chain to the left over the whole statement and are counted apart.
 *
 * Cost: one scan, about a third of a parse.
 */
#include "sql/pg_call.h"
#include "sql/sql_int.h"

#include <assert.h>
#include <pg_query.h>

enum { DEPTH_LIMIT = 1200, LEVELS_MAX = 2048 };

typedef struct Scan {
    const char *text;
    SqlCopy copy;
    PgQueryScanResult result;
    SqlToken *tokens;
    uint32_t n;
} Scan;

static void call_scan(void *ctx)
{
    Scan *scan = ctx;
    scan->result = pg_query_scan(scan->text);
}

static tcudb_status take_tokens(void *ctx, const void *message, Error *err)
{
    enum { POLL_TOKENS = 4096 };
    Scan *scan = ctx;
    const PgQuery__ScanResult *result = message;
    scan->tokens = ARENA_ARRAY(scan->copy.arena, SqlToken, result->n_tokens, err);
    TRY_PTR(scan->tokens);
    for (size_t i = 0; i < result->n_tokens; i++) {
        const PgQuery__ScanToken *token = result->tokens[i];
        if (i % POLL_TOKENS == 0) TRY(cancel_poll(scan->copy.cancel, err));
        if (token->token == PG_QUERY__TOKEN__SQL_COMMENT || token->token == PG_QUERY__TOKEN__C_COMMENT) continue;
        scan->tokens[scan->n++] = (SqlToken){(uint32_t)token->start, (uint32_t)token->end, (int)token->token};
    }
    return TCUDB_OK;
}

tcudb_status sql_scan_tokens(Arena *arena, const char *text, const atomic_bool *cancel, SqlToken **out, uint32_t *n,
                             bool *ok, const char **message, Error *err)
{
    PgCall call;
    Scan scan = {.text = text, .copy = {.arena = arena, .cancel = cancel}};
    *message = NULL;
    tcudb_status status = pg_call(&call, arena->mem, cancel, call_scan, take_tokens, &scan, err);
    *ok = status == TCUDB_OK && scan.result.error == NULL;
    *out = scan.tokens;
    *n = scan.n;
    if (status == TCUDB_OK && !*ok) {
        *message = arena_strndup(arena, scan.result.error->message, strlen(scan.result.error->message), err);
        if (*message == NULL) status = TCUDB_NOMEM;
    }
    pg_call_end(&call);
    return status;
}

/* Tokens that cannot be a level of their own: operands and what sticks to them. */
static bool is_operand(int kind)
{
    switch (kind) {
    case PG_QUERY__TOKEN__IDENT:
    case PG_QUERY__TOKEN__UIDENT:
    case PG_QUERY__TOKEN__FCONST:
    case PG_QUERY__TOKEN__SCONST:
    case PG_QUERY__TOKEN__USCONST:
    case PG_QUERY__TOKEN__ICONST:
    case PG_QUERY__TOKEN__PARAM:
    case PG_QUERY__TOKEN__ASCII_46: /* . */
    case PG_QUERY__TOKEN__AS: return true;
    default: return false;
    }
}

static bool starts_sibling(int kind)
{
    switch (kind) {
    case PG_QUERY__TOKEN__ASCII_44: /* , */
    case PG_QUERY__TOKEN__AND:
    case PG_QUERY__TOKEN__OR:
    case PG_QUERY__TOKEN__SELECT:
    case PG_QUERY__TOKEN__FROM:
    case PG_QUERY__TOKEN__WHERE:
    case PG_QUERY__TOKEN__GROUP_P:
    case PG_QUERY__TOKEN__HAVING:
    case PG_QUERY__TOKEN__ORDER:
    case PG_QUERY__TOKEN__LIMIT:
    case PG_QUERY__TOKEN__ON:
    case PG_QUERY__TOKEN__WHEN:
    case PG_QUERY__TOKEN__THEN:
    case PG_QUERY__TOKEN__ELSE:
    case PG_QUERY__TOKEN__VALUES: return true;
    default: return false;
    }
}

static bool chains(int kind)
{
    return kind == PG_QUERY__TOKEN__JOIN || kind == PG_QUERY__TOKEN__UNION || kind == PG_QUERY__TOKEN__INTERSECT ||
           kind == PG_QUERY__TOKEN__EXCEPT;
}

static bool opens(int kind)
{
    return kind == PG_QUERY__TOKEN__ASCII_40 || kind == PG_QUERY__TOKEN__ASCII_91 || kind == PG_QUERY__TOKEN__CASE;
}

static bool closes(int kind)
{
    return kind == PG_QUERY__TOKEN__ASCII_41 || kind == PG_QUERY__TOKEN__ASCII_93 || kind == PG_QUERY__TOKEN__END_P;
}

static tcudb_status too_deep(Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    error_hint(err, "Nest expressions, subqueries, joins and set operations less than %d deep.", DEPTH_LIMIT);
    return status;
}

tcudb_status sql_check_depth(const SqlToken *tokens, uint32_t n, Error *err)
{
    uint32_t at_level[LEVELS_MAX]; /* levels opened since the last sibling, by parenthesis */
    uint32_t level = 0, depth = 0, chain = 0;
    at_level[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        int kind = tokens[i].kind;
        if (kind == PG_QUERY__TOKEN__ASCII_59) { /* ; */
            level = depth = chain = at_level[0] = 0;
        } else if (opens(kind)) {
            if (level + 1 == LEVELS_MAX) return too_deep(err);
            at_level[++level] = 1;
            depth++;
        } else if (closes(kind)) {
            depth -= at_level[level];
            if (level > 0)
                level--;
            else
                at_level[0] = 0;
        } else if (chains(kind)) {
            chain++;
        } else if (starts_sibling(kind)) {
            uint32_t base = level > 0;
            depth -= at_level[level] - base;
            at_level[level] = base;
        } else if (!is_operand(kind)) {
            at_level[level]++;
            depth++;
        }
        if (depth + chain > DEPTH_LIMIT) return too_deep(err);
    }
    return TCUDB_OK;
}

bool sql_incomplete(Str text)
{
    Arena arena;
    arena_init(&arena, NULL);
    bool incomplete = false, ok = true;
    SqlToken *tokens = NULL;
    uint32_t n = 0;
    const char *message = NULL;
    char *copy = arena_strndup(&arena, text.ptr == NULL ? "" : text.ptr, text.len, NULL);
    if (copy != NULL && sql_scan_tokens(&arena, copy, NULL, &tokens, &n, &ok, &message, NULL) == TCUDB_OK) {
        if (!ok) incomplete = message != NULL && strncmp(message, "unterminated", 12) == 0;
        int depth = 0;
        for (uint32_t i = 0; i < n; i++) {
            depth += (tokens[i].kind == PG_QUERY__TOKEN__ASCII_40) - (tokens[i].kind == PG_QUERY__TOKEN__ASCII_41);
        }
        if (n > 0) incomplete = tokens[n - 1].kind != PG_QUERY__TOKEN__ASCII_59 || depth > 0;
    }
    arena_free(&arena);
    return incomplete;
}

tcudb_status sql_after_as(Arena *arena, const Ast *ast, const atomic_bool *cancel, int *offset, Error *err)
{
    SqlToken *tokens = NULL;
    uint32_t n = 0;
    bool ok = false;
    const char *message = NULL;
    const struct SqlSource *source = ast->source;
    TRY(sql_scan_tokens(arena, source->parsed, cancel, &tokens, &n, &ok, &message, err));
    *offset = -1;
    int depth = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (sql_source_original(source, tokens[i].start) < (uint32_t)ast->offset) continue;
        depth += (tokens[i].kind == PG_QUERY__TOKEN__ASCII_40) - (tokens[i].kind == PG_QUERY__TOKEN__ASCII_41);
        if (depth == 0 && tokens[i].kind == PG_QUERY__TOKEN__AS) {
            *offset = (int)tokens[i].end;
            return TCUDB_OK;
        }
    }
    return TCUDB_OK;
}
