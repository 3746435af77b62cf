/*
 * name_edits.c: a statement's text with some of its names replaced: SELECT t.*, 1 FROM t becomes SELECT t.a, t.b, 1
 * FROM t. The rest stays as it is written. Cost: one scan.
 */
#include "sql/sql_int.h"

#include <assert.h>
#include <stdlib.h>

static int by_location(const void *a, const void *b)
{
    const NameEdit *x = a, *y = b;
    return (x->location > y->location) - (x->location < y->location);
}

/* Copies up to byte `to` of the original and moves there. */
static tcudb_status copy_up(const SqlSource *source, uint32_t *at, uint32_t to, Buf *out, Error *err)
{
    assert(*at <= to);
    TRY(buf_append(out, source->original.ptr + *at, to - *at, err));
    *at = to;
    return TCUDB_OK;
}

static bool is_comment(const SqlToken *token)
{
    return token->kind == PG_QUERY__TOKEN__SQL_COMMENT || token->kind == PG_QUERY__TOKEN__C_COMMENT;
}

/* Moves behind the parts of a name and the dots between them. */
static uint32_t skip_name(const SqlToken *tokens, uint32_t ntokens, uint32_t t, uint32_t parts)
{
    for (uint32_t left = 2 * parts - 1; left > 0; t++) {
        assert(t < ntokens);
        left -= !is_comment(&tokens[t]);
    }
    return t;
}

static tcudb_status put_all(const Ast *ast, Str text, const NameEdit *edits, uint32_t n, const SqlToken *tokens,
                            uint32_t ntokens, Buf *out, Error *err)
{
    const SqlSource *source = ast->source;
    uint32_t at = (uint32_t)(text.ptr - source->original.ptr), t = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (t < ntokens && (int)tokens[t].start < edits[i].location) t++;
        TRY(copy_up(source, &at, sql_source_original(source, (uint32_t)edits[i].location), out, err));
        t = skip_name(tokens, ntokens, t, edits[i].parts);
        TRY(buf_str(out, edits[i].text, err));
        at = sql_source_original(source, tokens[t - 1].end);
    }
    return copy_up(source, &at, (uint32_t)(text.ptr - source->original.ptr) + text.len, out, err);
}

tcudb_status sql_edited(Arena *arena, const Ast *ast, const atomic_bool *cancel, Str text, NameEdit *edits, uint32_t n,
                        Str *out, Error *err)
{
    SqlToken *tokens = NULL;
    uint32_t ntokens = 0;
    bool ok = false;
    const char *message = NULL;
    Buf buf;
    *out = text;
    if (n == 0) return TCUDB_OK;
    qsort(edits, n, sizeof *edits, by_location);
    TRY(sql_scan_tokens(arena, ast->source->parsed, cancel, &tokens, &ntokens, &ok, &message, err));
    assert(ok);
    buf_init(&buf, NULL);
    tcudb_status status = put_all(ast, text, edits, n, tokens, ntokens, &buf, err);
    if (status == TCUDB_OK) {
        *out = (Str){arena_strndup(arena, buf.data, buf.len, err), (uint32_t)buf.len};
        status = out->ptr == NULL ? TCUDB_NOMEM : TCUDB_OK;
    }
    buf_free(&buf);
    return status;
}
