/*
 * cut.c: long literals, comments and runs of blanks leave the text before the grammar sees it.
 *
 * libpg_query's scanner takes a literal of 40 MB in one step of 50 ms that nothing can stop, and takes every text
 * three times. So a text is parsed without its stretches of 64 KB and more:
 *
 *     SELECT length('xxxx...'), $$yy...$$ -- zz...    ->    SELECT length('^00000000'), $$^00000001$$ --
 *
 * ^ stands for a control character that the text does not have, the digits for the cut's number. Strings of the tree
 * with that character get the literal back (sql_restore); a comment or all but the first of many equal blanks leave
 * nothing to be put back. Positions go through the list of cuts (source.c).
 *
 * Where literals begin and end is PostgreSQL's scan.l: '' inside '...', $tag$, nested comments, identifiers that may
 * hold a $. A text with E'' or U&'' is left whole: what they decode to could hold the character.
 *
 * Invariant: the parsed text with its cuts put back is the original. Cost: a look at every byte (memchr inside
 * literals), only for texts of 64 KB and more; the cancel flag is polled.
 */
#include "sql/sql_int.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 65536, DIGITS = 8, HOLDER = 1 + DIGITS, POLL_STEPS = 65536 };

typedef struct Cutter {
    Arena *arena;
    const atomic_bool *cancel;
    const char *text; /* NUL-terminated */
    uint32_t n, at;
    uint32_t steps;
    bool decodes; /* a literal was seen that is not what its bytes are */
    SqlCut *cuts;
    uint32_t ncuts, cap;
    Error *err;
} Cutter;

static tcudb_status step(Cutter *c)
{
    return ++c->steps % POLL_STEPS == 0 ? cancel_poll(c->cancel, c->err) : TCUDB_OK;
}

/* len: of what stands for the stretch in the parsed text. */
static tcudb_status cut(Cutter *c, uint32_t from, uint32_t to, uint32_t len, bool doubled)
{
    assert(from <= to && to <= c->n);
    if (to - from < LONG) return TCUDB_OK;
    c->cuts = ARENA_MORE(c->arena, c->cuts, c->ncuts, &c->cap, c->err);
    TRY_PTR(c->cuts);
    c->cuts[c->ncuts++] = (SqlCut){.from = from, .was = to - from, .len = len, .doubled = doubled};
    return TCUDB_OK;
}

/* ---- what the text is made of: each takes what begins at c->at ------------------------------ */

static void go_behind(Cutter *c, const char *found, uint32_t len)
{
    c->at = found == NULL ? c->n : (uint32_t)(found - c->text) + len;
}

static tcudb_status take_string(Cutter *c)
{
    uint32_t start = ++c->at;
    bool doubled = false;
    for (;;) {
        const char *quote = memchr(c->text + c->at, '\'', c->n - c->at);
        go_behind(c, quote, 0);
        if (quote == NULL || quote[1] != '\'') break;
        doubled = true;
        c->at += 2;
        TRY(step(c));
    }
    TRY(cut(c, start, c->at, HOLDER, doubled));
    c->at += c->at < c->n;
    return TCUDB_OK;
}

static bool is_name_start(char ch)
{
    return isalpha((unsigned char)ch) || ch == '_' || (unsigned char)ch >= 0x80;
}

static bool is_name(char ch)
{
    return is_name_start(ch) || isdigit((unsigned char)ch) || ch == '$';
}

static void take_word(Cutter *c)
{
    uint32_t start = c->at;
    while (is_name(c->text[c->at])) c->at++;
    int letter = c->at - start == 1 ? tolower((unsigned char)c->text[start]) : 0;
    const char *next = c->text + c->at;
    if (letter == 'e' && *next == '\'') c->decodes = true;
    if (letter == 'u' && next[0] == '&' && (next[1] == '\'' || next[1] == '"')) c->decodes = true;
}

static tcudb_status take_dollar(Cutter *c)
{
    const char *tag = c->text + c->at;
    uint32_t len = 1;
    if (is_name_start(tag[1]))
        while (tag[len] != '$' && is_name(tag[len])) len++;
    if (tag[len] != '$') { /* a parameter */
        c->at++;
        return TCUDB_OK;
    }
    uint32_t start = c->at + ++len;
    const char *end = memmem(c->text + start, c->n - start, tag, len);
    go_behind(c, end, 0);
    TRY(cut(c, start, c->at, HOLDER, false));
    go_behind(c, end, len);
    return TCUDB_OK;
}

static tcudb_status take_line_comment(Cutter *c)
{
    uint32_t start = c->at + 2;
    c->at = start + (uint32_t)strcspn(c->text + start, "\r\n");
    return cut(c, start, c->at, 0, false);
}

static tcudb_status take_comment(Cutter *c)
{
    uint32_t start = c->at += 2;
    for (uint32_t depth = 1;;) {
        c->at += (uint32_t)strcspn(c->text + c->at, "*/");
        const char *p = c->text + c->at;
        if (c->at == c->n) break;
        bool opens = p[0] == '/' && p[1] == '*', closes = p[0] == '*' && p[1] == '/';
        depth = depth + opens - closes;
        if (depth == 0) break;
        c->at += opens || closes ? 2 : 1;
        TRY(step(c));
    }
    TRY(cut(c, start, c->at, 0, false));
    c->at += c->at < c->n ? 2 : 0;
    return TCUDB_OK;
}

static tcudb_status take_blanks(Cutter *c)
{
    char set[2] = {c->text[c->at++], '\0'};
    uint32_t start = c->at;
    c->at += (uint32_t)strspn(c->text + c->at, set);
    return cut(c, start, c->at, 0, false);
}

static tcudb_status take_next(Cutter *c)
{
    const char *p = c->text + c->at;
    if (*p == '\'') return take_string(c);
    if (*p == '$') return take_dollar(c);
    if (p[0] == '-' && p[1] == '-') return take_line_comment(c);
    if (p[0] == '/' && p[1] == '*') return take_comment(c);
    if (strchr(" \t\r\n\f", *p) != NULL) return take_blanks(c);
    if (*p == '"') {
        const char *end = memchr(p + 1, '"', c->n - c->at - 1);
        go_behind(c, end, 1); /* "" is two names beside each other, here */
    } else if (is_name_start(*p)) {
        take_word(c);
    } else {
        c->at++;
    }
    return TCUDB_OK;
}

/* ---- the text without them ------------------------------------------------------------------ */

/* A control character that stands nowhere in the text; 0: each does. */
static char free_mark(Str text)
{
    for (int mark = 1; mark < ' '; mark++)
        if (strchr("\t\n\v\f\r", mark) == NULL && memchr(text.ptr, mark, text.len) == NULL) return (char)mark;
    return 0;
}

static tcudb_status shorten(Cutter *c, SqlSource *source)
{
    uint64_t size = source->parsed_len;
    for (uint32_t i = 0; i < c->ncuts; i++) size += (uint64_t)c->cuts[i].len - c->cuts[i].was;
    char *text = arena_alloc_raw(c->arena, size + 1, c->err);
    TRY_PTR(text);
    uint32_t from = 0, to = 0;
    for (uint32_t i = 0; i < c->ncuts; i++) {
        SqlCut *piece = &c->cuts[i];
        memcpy(text + to, c->text + from, piece->from - from);
        to += piece->from - from;
        from = piece->from + piece->was;
        piece->at = to;
        char holder[HOLDER + 1];
        snprintf(holder, sizeof holder, "%c%08" PRIx32, source->mark, i);
        memcpy(text + to, holder, piece->len);
        to += piece->len;
    }
    memcpy(text + to, c->text + from, c->n - from + 1);
    source->parsed = text;
    source->parsed_len = to + c->n - from;
    assert(source->parsed_len == size);
    source->cuts = c->cuts;
    source->ncuts = c->ncuts;
    return TCUDB_OK;
}

tcudb_status sql_cut(Arena *arena, SqlSource *source, const atomic_bool *cancel, Error *err)
{
    Cutter c = {.arena = arena, .cancel = cancel, .text = source->parsed, .n = source->parsed_len, .err = err};
    assert(source->nedits == 0 && source->ncuts == 0);
    if (c.n < LONG) return TCUDB_OK;
    while (c.at < c.n && !c.decodes) {
        TRY(step(&c));
        TRY(take_next(&c));
    }
    source->mark = c.decodes || c.ncuts == 0 ? 0 : free_mark(source->original);
    return source->mark == 0 ? TCUDB_OK : shorten(&c, source);
}

/* ---- putting back --------------------------------------------------------------------------- */

static const SqlCut *cut_of(const SqlSource *source, const char *holder)
{
    char digits[DIGITS + 1] = "";
    memcpy(digits, holder + 1, DIGITS);
    uint32_t number = (uint32_t)strtoul(digits, NULL, 16);
    assert(number < source->ncuts);
    return &source->cuts[number];
}

static tcudb_status put_back(const SqlCopy *copy, const SqlCut *piece, char **to, Error *err)
{
    enum { PIECE = 1 << 22 };
    const char *from = copy->source->original.ptr + piece->from;
    for (uint32_t at = 0, n; at < piece->was; at += n) {
        n = piece->was - at < PIECE ? piece->was - at : PIECE;
        TRY(cancel_poll(copy->cancel, err));
        if (!piece->doubled) {
            memcpy(*to, from + at, n);
            *to += n;
            continue;
        }
        for (uint32_t i = 0; i < n; i++) { /* of two quotes the first goes with its piece, the second is left out */
            *(*to)++ = from[at + i];
            if (from[at + i] == '\'') i++;
            if (i == n) n++;
        }
    }
    return TCUDB_OK;
}

tcudb_status sql_restore(const SqlCopy *copy, const char *text, char **out, Error *err)
{
    const SqlSource *source = copy->source;
    const char *at = text, *holder;
    size_t size = strlen(text) + 1;
    if (source->mark == 0 || strchr(text, source->mark) == NULL) {
        *out = arena_strndup(copy->arena, text, size - 1, err);
        TRY_PTR(*out);
        return TCUDB_OK;
    }
    for (; (holder = strchr(at, source->mark)) != NULL; at = holder + HOLDER) size += cut_of(source, holder)->was;
    char *to = arena_alloc_raw(copy->arena, size, err);
    TRY_PTR(to);
    *out = to;
    for (at = text; (holder = strchr(at, source->mark)) != NULL; at = holder + HOLDER) {
        memcpy(to, at, (size_t)(holder - at));
        to += holder - at;
        TRY(put_back(copy, cut_of(source, holder), &to, err));
    }
    memcpy(to, at, strlen(at) + 1);
    return TCUDB_OK;
}
