/*
 * func_like.c: LIKE and ILIKE.
 *
 * A pattern is compiled once a batch when it is constant: cut at the %, into pieces of literal bytes and
 * _ (any one character). The first piece is pinned to the start unless the pattern begins with %, the last
 * to the end unless it ends with one, and those between are found leftmost in order, which is enough: if any
 * placement of the pieces works, the leftmost does. Pieces without _ are found by text_search. So 'abc%' is one
 * comparison and '%abc%' one search.
 *
 * ILIKE folds pattern and text to lower case first. Text is UTF-8; a byte that is no valid character counts
 * as one. For char(n) the padding blanks take part, as in PostgreSQL.
 *
 * A pattern that ends in a lone escape character matches nothing; it is an error (22025) for a text that the matching
 * would go on in when it gets there: 'ab' LIKE 'a\', not 'xb' and not 'a'.
 */
#include "type/type_int.h"

#include <assert.h>

enum { ANY_CHAR = 256 }; /* in Piece.codes: _ */

typedef struct Piece {
    uint32_t len;          /* elements */
    bool literal;          /* no _ inside: `bytes` is all there is to it */
    const uint16_t *codes; /* bytes, or ANY_CHAR */
    const char *bytes;
} Piece;

typedef struct Pattern {
    Piece *pieces;
    uint32_t n;
    bool open_start; /* begins with % */
    bool open_end;
    bool dangling; /* ends in an escape character, which counts neither as a piece nor against open_end */
} Pattern;

/* Splits the pattern; '\' makes the next byte literal. */
static tcudb_status compile(Arena *arena, Str p, Pattern *out, Error *err)
{
    uint16_t *codes = ARENA_ARRAY(arena, uint16_t, p.len + 1, err);
    TRY_PTR(codes);
    char *bytes = arena_alloc(arena, p.len + 1, err);
    TRY_PTR(bytes);
    out->pieces = ARENA_ARRAY(arena, Piece, p.len + 2, err);
    TRY_PTR(out->pieces);
    out->n = 0;
    out->open_start = p.len > 0 && p.ptr[0] == '%';
    out->open_end = out->dangling = false;
    uint32_t at = 0, start = 0;
    bool literal = true;
    for (uint32_t i = 0; i <= p.len; i++) {
        bool end = i == p.len;
        if (end || p.ptr[i] == '%') {
            if (at > start) out->pieces[out->n++] = (Piece){at - start, literal, codes + start, bytes + start};
            if (!end) out->open_end = true;
            start = at;
            literal = true;
            continue;
        }
        char c = p.ptr[i];
        if (c == '\\' && i + 1 == p.len) {
            out->dangling = true;
            continue;
        }
        out->open_end = false;
        if (c == '\\') {
            c = p.ptr[++i];
        } else if (c == '_') {
            literal = false;
            codes[at++] = ANY_CHAR;
            continue;
        }
        codes[at] = (unsigned char)c;
        bytes[at++] = c;
    }
    return TCUDB_OK;
}

/* Bytes that the piece takes at the start of s, or -1. */
static int64_t match_here(const Piece *piece, Str s)
{
    if (piece->literal) {
        if (s.len < piece->len || (piece->len > 0 && memcmp(s.ptr, piece->bytes, piece->len) != 0)) return -1;
        return piece->len;
    }
    uint32_t at = 0;
    for (uint32_t k = 0; k < piece->len; k++) {
        if (at >= s.len) return -1;
        if (piece->codes[k] != ANY_CHAR) {
            if ((unsigned char)s.ptr[at++] != piece->codes[k]) return -1;
            continue;
        }
        at++;
        while (at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80) at++;
    }
    return at;
}

/* Moves s past the leftmost occurrence of the piece. */
static tcudb_status find_piece(const EvalCtx *ctx, const Piece *piece, Str *s, bool *found, Error *err)
{
    uint32_t steps = 0;
    *found = true;
    if (piece->literal) {
        int64_t at;
        TRY(text_find(ctx, *s, (Str){piece->bytes, piece->len}, 0, &at, err));
        uint32_t skip = at < 0 ? 0 : (uint32_t)at + piece->len;
        *found = at >= 0;
        *s = (Str){s->ptr + skip, s->len - skip};
        return TCUDB_OK;
    }
    for (uint32_t i = 0; i < s->len; i++) {
        TRY(text_poll(ctx, &steps, err));
        if (((unsigned char)s->ptr[i] & 0xc0) == 0x80) continue;
        int64_t took = match_here(piece, (Str){s->ptr + i, s->len - i});
        if (took < 0) continue;
        uint32_t skip = i + (uint32_t)took;
        *s = (Str){s->ptr + skip, s->len - skip};
        return TCUDB_OK;
    }
    *found = false;
    return TCUDB_OK;
}

/* The last piece must end the text: it is as many characters as elements, counted from the end. */
static bool match_end(const Piece *piece, Str s)
{
    if (piece->literal)
        return s.len >= piece->len &&
               (piece->len == 0 || memcmp(s.ptr + s.len - piece->len, piece->bytes, piece->len) == 0);
    for (uint32_t i = s.len + 1; i-- > 0;) {
        if (i < s.len && ((unsigned char)s.ptr[i] & 0xc0) == 0x80) continue;
        Str rest = {s.ptr + i, s.len - i};
        if (match_here(piece, rest) == (int64_t)rest.len) return true;
        if (rest.len > 4 * piece->len) return false;
    }
    return false;
}

static tcudb_status matches(const EvalCtx *ctx, const Pattern *p, Str s, bool *hit, Error *err)
{
    uint32_t first = 0, last = p->n - !p->open_end;
    *hit = p->open_start || s.len == 0;
    if (p->n == 0) return TCUDB_OK;
    if (!p->open_start) {
        int64_t took = match_here(&p->pieces[0], s);
        *hit = took >= 0;
        if (!*hit) return TCUDB_OK;
        s = (Str){s.ptr + took, s.len - (uint32_t)took};
        *hit = p->open_end || s.len == 0;
        if (p->n == 1) return TCUDB_OK;
        first = 1;
    }
    *hit = true;
    for (uint32_t k = first; k < last && *hit; k++) TRY(find_piece(ctx, &p->pieces[k], &s, hit, err));
    if (*hit && !p->open_end) *hit = match_end(&p->pieces[last], s);
    return TCUDB_OK;
}

static bool is_blank(const Piece *piece)
{
    uint32_t i = 0;
    while (!piece->literal && i < piece->len && piece->codes[i] == ANY_CHAR) i++;
    return i == piece->len;
}

/* Whether the escape character at the end of the pattern is met with some of the text left. A run of % and _ before it
 * is passed at once, though it may end where the text ends. */
static tcudb_status meets_escape(const EvalCtx *ctx, const Pattern *p, Str s, bool *yes, Error *err)
{
    uint32_t blank = p->n, k = 0;
    bool found = true;
    if (!p->open_start && p->n > 0) {
        int64_t took = match_here(&p->pieces[k++], s);
        *yes = false;
        if (took < 0) return TCUDB_OK;
        s = (Str){s.ptr + took, s.len - (uint32_t)took};
    }
    while (blank > k && is_blank(&p->pieces[blank - 1])) blank--;
    for (; k < blank && found; k++) TRY(find_piece(ctx, &p->pieces[k], &s, &found, err));
    *yes = found && s.len > 0;
    for (; k < p->n && *yes; k++) TRY(find_piece(ctx, &p->pieces[k], &s, yes, err));
    return TCUDB_OK;
}

static tcudb_status row_matches(const EvalCtx *ctx, const Pattern *p, Str s, bool *hit, Error *err)
{
    if (!p->dangling) return matches(ctx, p, s, hit, err);
    TRY(meets_escape(ctx, p, s, hit, err));
    if (!*hit) return TCUDB_OK;
    return error_set(err, SQLSTATE_INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character");
}

/* 'abc%', the commonest pattern: mostly one word decides. */
static void prefix_rows(const Piece *piece, const Vector *column, const uint16_t *sel, uint32_t n, bool want,
                        Vector *out)
{
    enum { WORD = 8 };
    const Str *texts = column->data, start = {piece->bytes, piece->len};
    const uint32_t stride = STRIDE(*column), head = start.len < WORD ? start.len : WORD;
    uint8_t *to = out->data;
    uint64_t word = 0, mask = UINT64_MAX >> (8 * (WORD - head));
    memcpy(&word, start.ptr, head);
    EACH_ROW(i, row)
    {
        Str s = texts[row * stride];
        uint64_t x = 0;
        bool hit = s.len >= start.len;
        if (s.len >= WORD)
            memcpy(&x, s.ptr, WORD);
        else if (hit)
            memcpy(&x, s.ptr, head);
        hit = hit && ((x ^ word) & mask) == 0;
        if (hit && start.len > WORD) hit = memcmp(s.ptr + WORD, start.ptr + WORD, start.len - WORD) == 0;
        to[row] = hit == want;
    }
}

/* '%abc...': only in rows where the first piece stands somewhere. Runs of texts are searched at once: what is found
 * across the end of one is not in it. */
static tcudb_status inside_rows(const EvalCtx *ctx, const Pattern *p, const Vector *texts, const uint16_t *sel,
                                uint32_t n, bool want, uint8_t *to, Error *err)
{
    enum { SEARCH_BYTES = 1 << 16 };
    const Str *at = texts->data, what = {p->pieces[0].bytes, p->pieces[0].len};
    const bool all = p->n == 1 && p->open_end;
    for (uint32_t i = 0; i < n;) {
        TextRun run = text_run(texts, sel, i, n, SEARCH_BYTES);
        uint32_t from = 0;
        bool hit = false;
        if (run.bytes > SEARCH_BYTES) { /* one long text */
            uint32_t row = sel == NULL ? i : sel[i];
            TRY(matches(ctx, p, at[row], &hit, err));
            to[row] = hit == want;
            i++;
            continue;
        }
        TRY(cancel_poll(ctx->cancel, err));
        Str s = {run.ptr, (uint32_t)run.bytes};
        for (int64_t found = text_search(s, what, 0); i < run.end; i++) {
            uint32_t row = sel == NULL ? i : sel[i], end = (uint32_t)(at[row].ptr + at[row].len - run.ptr);
            if (found >= 0 && found < from) found = text_search(s, what, from);
            hit = found >= 0 && found + what.len <= end;
            if (hit && !all) TRY(matches(ctx, p, at[row], &hit, err));
            to[row] = hit == want;
            from = end;
        }
    }
    return TCUDB_OK;
}

static bool is_prefix(const Pattern *p)
{
    return !p->open_start && p->open_end && p->n == 1 && p->pieces[0].literal && p->pieces[0].len > 0;
}

static bool is_inside(const Pattern *p)
{
    return p->open_start && p->n > 0 && p->pieces[0].literal && (p->n > 1 || p->open_end);
}

/* The texts of the live rows in lower case. */
static tcudb_status folded(EvalCtx *ctx, Vector *texts, const uint16_t *sel, uint32_t n, Error *err)
{
    bool once = texts->form == VEC_CONST;
    Str *to = arena_alloc_raw(ctx->arena, (once ? 1 : live_rows(sel, n)) * sizeof *to, err);
    TRY_PTR(to);
    TRY(text_fold_rows(ctx, texts, once ? NULL : sel, once ? 1 : n, to, err));
    texts->data = to;
    return TCUDB_OK;
}

static tcudb_status like_rows(EvalCtx *ctx, const Vector *args, const uint16_t *sel, uint32_t n, bool fold, bool want,
                              Vector *out, Error *err)
{
    const Str *patterns = args[1].data;
    uint8_t *to = out->data;
    uint32_t width = args[0].type.id == TYPE_BPCHAR ? args[0].type.length : 0;
    Vector texts = args[0];
    Pattern compiled = {0};
    if (fold && width == 0) TRY(folded(ctx, &texts, sel, n, err));
    EACH_ROW(i, row)
    {
        Str s = ((const Str *)texts.data)[row * STRIDE(texts)], p = patterns[row * STRIDE(args[1])];
        if (i == 0 || args[1].form != VEC_CONST) {
            if (fold) TRY(text_fold(ctx, p, &p, err));
            TRY(compile(ctx->arena, p, &compiled, err));
            bool plain = args[1].form == VEC_CONST && texts.form != VEC_CONST && width == 0 && !compiled.dangling;
            if (plain && is_inside(&compiled)) return inside_rows(ctx, &compiled, &texts, sel, n, want, to, err);
            if (plain && is_prefix(&compiled)) {
                prefix_rows(&compiled.pieces[0], &texts, sel, n, want, out);
                return TCUDB_OK;
            }
        }
        if (width > 0) TRY(text_padded(ctx, s, width, &s, err)); /* char(n) takes part with its blanks */
        if (fold && width > 0) TRY(text_fold(ctx, s, &s, err));
        bool hit;
        TRY(row_matches(ctx, &compiled, s, &hit, err));
        to[row] = hit == want;
    }
    return TCUDB_OK;
}

KERNEL(text_like)
{
    return like_rows(ctx, args, sel, n, false, true, out, err);
}

KERNEL(text_not_like)
{
    return like_rows(ctx, args, sel, n, false, false, out, err);
}

KERNEL(text_ilike)
{
    return like_rows(ctx, args, sel, n, true, true, out, err);
}

KERNEL(text_not_ilike)
{
    return like_rows(ctx, args, sel, n, true, false, out, err);
}

/* x LIKE p ESCAPE e is x LIKE like_escape(p, e): the same pattern with '\' as its escape character. */
static tcudb_status reescape(EvalCtx *ctx, Str p, Str escape, Str *out, Error *err)
{
    char *to = arena_alloc_raw(ctx->arena, (size_t)p.len * 2 + 1, err), *at = to;
    TRY_PTR(to);
    if (utf8_length(escape) > 1) {
        tcudb_status status = error_set(err, SQLSTATE_INVALID_ESCAPE_SEQUENCE, "invalid escape string");
        error_hint(err, "Escape string must be empty or one character.");
        return status;
    }
    bool backslash = escape.len == 1 && escape.ptr[0] == '\\';
    bool escaped = false;
    for (uint32_t i = 0; i < p.len;) {
        Str rest = {p.ptr + i, p.len - i};
        bool hit = escape.len > 0 && rest.len >= escape.len && memcmp(rest.ptr, escape.ptr, escape.len) == 0;
        if (hit && !escaped && !backslash) {
            *at++ = '\\';
            escaped = true;
            i += escape.len;
            continue;
        }
        if (p.ptr[i] == '\\' && !escaped && !backslash) *at++ = '\\';
        *at++ = p.ptr[i++];
        escaped = false;
    }
    *out = (Str){to, (uint32_t)(at - to)};
    return TCUDB_OK;
}

KERNEL(text_like_escape)
{
    BINARY_ROWS(Str, Str, Str, TRY(reescape(ctx, x, y, &r, err)));
    return TCUDB_OK;
}
