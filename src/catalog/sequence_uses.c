/*
 * sequence_uses.c: a default keeps its sequence's name in its text, in one form (bind/sequence_names.c):
 *
 *     nextval('s'::regclass), nextval('"S x"'::regclass)
 *
 * The text is the deparser's, so that a call is name(argument without blanks between. Cost: a pass over the text.
 */
#include "catalog/sequence_uses.h"
#include "type/func.h"

/* Behind the text or name that begins with a quote at `at`. */
static size_t after_quoted(Str sql, size_t at)
{
    char quote = sql.ptr[at++];
    while (at < sql.len && (sql.ptr[at] != quote || (at + 1 < sql.len && sql.ptr[at + 1] == quote)))
        at += sql.ptr[at] == quote ? 2 : 1;
    return at < sql.len ? at + 1 : sql.len;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool begins_call(Str word)
{
    static const char *const names[] = {"nextval(", "currval(", "setval("};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_equal(word, str_of(names[i]))) return true;
    return false;
}

bool sequence_uses_next(Str sql, size_t *at, Str *literal)
{
    for (bool call = false; *at < sql.len;) {
        size_t start = *at;
        char c = sql.ptr[start];
        if (c == '\'' || c == '"') {
            *at = after_quoted(sql, start);
            *literal = (Str){sql.ptr + start, (uint32_t)(*at - start)};
            if (call && c == '\'') return true;
            call = false;
            continue;
        }
        while (*at < sql.len && in_word(sql.ptr[*at])) ++*at;
        if (*at < sql.len && sql.ptr[*at] != '\'' && sql.ptr[*at] != '"') ++*at; /* what follows a word, too */
        call = begins_call((Str){sql.ptr + start, (uint32_t)(*at - start)});
    }
    return false;
}

tcudb_status sequence_uses_literal(Arena *arena, Str name, Str *out, Error *err)
{
    const char *quoted = NULL;
    TRY(text_quoted_name(arena, name, &quoted, err));
    char *text = arena_alloc(arena, 2 * strlen(quoted) + 3, err), *to = text;
    TRY_PTR(text);
    *to++ = '\'';
    for (const char *at = quoted; *at != '\0'; at++) {
        if (*at == '\'') *to++ = '\'';
        *to++ = *at;
    }
    *to++ = '\'';
    *to = '\0';
    *out = str_of(text);
    return TCUDB_OK;
}
