/*
 * text_list.c: texts one after the other, perhaps many millions: what a text is cut into, and the cutting at
 * delimiters.
 *
 * Chunks grow to CHUNK_MOST texts and are never moved, so adding costs the same for any length and no step is long.
 */
#include "type/func.h"

#include <assert.h>

enum { CHUNK_FIRST = 16, CHUNK_MOST = 1 << 16 };

tcudb_status text_list_add(const EvalCtx *ctx, TextList *list, Str text, Error *err)
{
    TextChunk *chunk = list->last;
    if (chunk == NULL || chunk->n == chunk->cap) {
        uint32_t cap = chunk == NULL ? CHUNK_FIRST : chunk->cap < CHUNK_MOST ? chunk->cap * 2 : CHUNK_MOST;
        TRY(cancel_poll(ctx->cancel, err));
        chunk = arena_alloc_raw(ctx->arena, sizeof *chunk + cap * sizeof chunk->texts[0], err);
        TRY_PTR(chunk);
        *chunk = (TextChunk){.cap = cap};
        *(list->last == NULL ? &list->first : &list->last->next) = chunk;
        list->last = chunk;
    }
    assert(chunk->n < chunk->cap);
    chunk->texts[chunk->n++] = text;
    list->n++;
    return TCUDB_OK;
}

/* ptr NULL: NULL. */
static tcudb_status add_piece(const EvalCtx *ctx, TextList *list, Str text, const Str *null, Error *err)
{
    bool is_null = null != NULL && str_equal(*null, text);
    return text_list_add(ctx, list, is_null ? (Str){NULL, 0} : text.len == 0 ? (Str){"", 0} : text, err);
}

static uint32_t char_length(const char *at, const char *end)
{
    uint32_t n = 1;
    while (at + n < end && ((unsigned char)at[n] & 0xC0) == 0x80) n++;
    return n;
}

tcudb_status text_split(const EvalCtx *ctx, Str s, const Str *delimiter, const Str *null, TextList *list, Error *err)
{
    const char *end = s.ptr + s.len;
    for (const char *at = s.ptr; delimiter == NULL && at < end;) {
        uint32_t n = char_length(at, end);
        TRY(add_piece(ctx, list, (Str){at, n}, null, err));
        at += n;
    }
    if (delimiter == NULL || s.len == 0) return TCUDB_OK;
    const char *at = s.ptr;
    for (const char *found; delimiter->len > 0; at = found + delimiter->len) {
        found = memmem(at, (size_t)(end - at), delimiter->ptr, delimiter->len);
        if (found == NULL) break;
        TRY(add_piece(ctx, list, (Str){at, (uint32_t)(found - at)}, null, err));
    }
    return add_piece(ctx, list, (Str){at, (uint32_t)(end - at)}, null, err);
}
