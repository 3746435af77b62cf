/*
 * text_list.c: texts one after the other, perhaps many millions: what a text is cut into.
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
