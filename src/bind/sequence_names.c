/*
 * sequence_names.c: a default names its sequences in one form, so that session/ finds them when they get another name
 * or go: nextval('public.S') is kept as nextval('s'::regclass), as PostgreSQL shows it. A name that is text,
 * nextval('s'::text), is looked up by that name for ever, there as here.
 */
#include "bind/bind_int.h"
#include "catalog/sequence_uses.h"

static bool follows(Str sql, size_t at, const char *text)
{
    size_t n = strlen(text);
    return sql.len - at >= n && memcmp(sql.ptr + at, text, n) == 0;
}

/* What a literal says: without its quotes, those inside it once. */
static tcudb_status unquoted(Binder *b, Str literal, char **out, Error *err)
{
    size_t n = 0;
    *out = arena_alloc(b->arena, literal.len, err);
    TRY_PTR(*out);
    for (size_t i = 1; i + 1 < literal.len; i++) {
        (*out)[n++] = literal.ptr[i];
        if (literal.ptr[i] == '\'') i++;
    }
    (*out)[n] = '\0';
    return TCUDB_OK;
}

static tcudb_status rewrite(Binder *b, Str sql, Buf *out, Error *err)
{
    static const char *const casts[] = {"::regclass", "::pg_catalog.regclass"};
    size_t at = 0, done = 0;
    for (Str literal; sequence_uses_next(sql, &at, &literal);) {
        char *text = NULL;
        const char *name = NULL;
        if (follows(sql, at, "::text")) continue;
        TRY(unquoted(b, literal, &text, err));
        TRY(bind_plain_name(b, text, 0, &name, err));
        TRY(buf_str(out, (Str){sql.ptr + done, (uint32_t)(literal.ptr - sql.ptr) - (uint32_t)done}, err));
        TRY(sequence_uses_literal(b->arena, str_of(name), &literal, err));
        TRY(buf_str(out, literal, err));
        TRY(buf_text(out, "::regclass", err));
        for (size_t i = 0; i < sizeof casts / sizeof casts[0]; i++)
            if (follows(sql, at, casts[i])) at += strlen(casts[i]);
        done = at;
    }
    return buf_str(out, (Str){sql.ptr + done, (uint32_t)(sql.len - done)}, err);
}

tcudb_status bind_settle_sequence_names(Binder *b, Str *sql, Error *err)
{
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = rewrite(b, *sql, &buf, err);
    char *text = status == TCUDB_OK ? arena_strndup(b->arena, buf.data, buf.len, err) : NULL;
    if (text != NULL) *sql = (Str){text, (uint32_t)buf.len};
    buf_free(&buf);
    return status == TCUDB_OK && text == NULL ? TCUDB_NOMEM : status;
}
