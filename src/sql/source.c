/*
 * source.c: from a byte offset in the text that was parsed to the character that the user wrote.
 *
 * The parsed text is the original without its long literals (cut.c), then with pieces inserted (FROM 'f.csv' becomes
 * FROM read_csv('f.csv')). So an offset maps back by subtracting the lengths of the pieces before it and adding those
 * of the cuts; an offset inside a piece maps to the place of the insertion. PostgreSQL counts positions in characters
 * from 1. Pure ASCII, the usual case, needs no counting; otherwise the number of characters before every 256th byte is
 * kept, so that a position costs at most 256 steps however long the text is.
 *
 * Invariant: parsed without the pieces of edits[] and with its cuts put back is the original.
 */
#include "sql/sql_int.h"

#include <assert.h>
#include <stdio.h>

enum { CHARS_STEP = 256 };

static tcudb_status invalid_utf8(const unsigned char *p, uint32_t n, Error *err)
{
    uint32_t want = p[0] >= 0xF0 && p[0] <= 0xF7 ? 4 : p[0] >= 0xE0 && p[0] < 0xF0 ? 3 : p[0] >= 0xC0 ? 2 : 1;
    if (want > n) want = n;
    char hex[32] = "";
    for (uint32_t i = 0, at = 0; i < want; i++) {
        at += (uint32_t)snprintf(hex + at, sizeof hex - at, "%s0x%02x", i == 0 ? "" : " ", p[i]);
    }
    return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": %s", hex);
}

tcudb_status sql_source_init(Arena *arena, Str text, const atomic_bool *cancel, SqlSource *out, Error *err)
{
    *out = (SqlSource){.original = text};
    size_t valid;
    TRY(utf8_valid(text.ptr, text.len, cancel, &valid, err));
    if (valid < text.len) return invalid_utf8((const unsigned char *)text.ptr + valid, text.len - (uint32_t)valid, err);
    out->ascii = utf8_length(text) == text.len;
    char *copy = arena_strndup(arena, text.ptr == NULL ? "" : text.ptr, text.len, err);
    TRY_PTR(copy);
    out->original.ptr = copy; /* the caller's buffer may be gone when a position is asked for */
    out->parsed = copy;
    out->parsed_len = text.len;
    if (out->ascii) return TCUDB_OK;
    uint32_t *chars = ARENA_ARRAY(arena, uint32_t, text.len / CHARS_STEP + 1, err);
    TRY_PTR(chars);
    uint32_t count = 0;
    assert(text.len == 0 || text.ptr != NULL);
    for (uint32_t i = 0; i < text.len; i++) {
        if (i % CHARS_STEP == 0) {
            TRY(cancel_poll(cancel, err));
            chars[i / CHARS_STEP] = count;
        }
        count += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    }
    out->chars = chars;
    return TCUDB_OK;
}

/* From a byte of the text without edits. */
static uint32_t before_cuts(const SqlSource *source, uint32_t at)
{
    uint32_t less = 0;
    for (uint32_t i = 0; i < source->ncuts && source->cuts[i].at <= at; i++) {
        const SqlCut *piece = &source->cuts[i];
        if (at < piece->at + piece->len) return piece->from;
        less += piece->was - piece->len;
    }
    return at + less;
}

uint32_t sql_source_original(const SqlSource *source, uint32_t at)
{
    uint32_t shift = 0;
    for (uint32_t i = 0; i < source->nedits && source->edits[i].at <= at; i++) {
        const SqlEdit *edit = &source->edits[i];
        if (at < edit->at + edit->len) return before_cuts(source, edit->at - shift);
        shift += edit->len;
    }
    assert(at >= shift);
    at = before_cuts(source, at - shift);
    return at > source->original.len ? source->original.len : at;
}

int sql_source_character(const SqlSource *source, uint32_t at)
{
    assert(at <= source->original.len);
    if (source->ascii) return (int)at + 1;
    uint32_t block = at / CHARS_STEP;
    if (block * CHARS_STEP >= source->original.len && block > 0) block--;
    uint32_t count = source->chars[block];
    for (uint32_t i = block * CHARS_STEP; i < at; i++) {
        count += ((unsigned char)source->original.ptr[i] & 0xC0) != 0x80;
    }
    return (int)count + 1;
}

int sql_position(const Ast *ast, int location)
{
    if (location < 0) return 0;
    assert(ast->source != NULL);
    uint32_t at = (uint32_t)location > ast->source->parsed_len ? ast->source->parsed_len : (uint32_t)location;
    return sql_source_character(ast->source, sql_source_original(ast->source, at));
}

Str sql_text_from(const Ast *ast, int from)
{
    uint32_t start = sql_source_original(ast->source, (uint32_t)from);
    uint32_t end = (uint32_t)ast->offset + ast->text.len;
    assert(start <= end);
    while (start < end && strchr(" \t\r\n\f\v", ast->source->original.ptr[start]) != NULL) start++;
    return (Str){ast->source->original.ptr + start, end - start};
}
