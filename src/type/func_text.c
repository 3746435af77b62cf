/*
 * func_text.c: string functions that cut, measure, search and build.
 *
 * Positions and lengths count UTF-8 characters. A result that is part of an argument shares its bytes;
 * a new one is built in the batch's arena. Nothing longer than 1 GB is built (PostgreSQL's limit).
 */
#include "type/type_int.h"

#include <assert.h>

enum { MAX_TEXT_BYTES = 0x3fffffff };

static tcudb_status too_long(Error *err)
{
    return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "requested length too large");
}

/* Room for a result of n bytes. */
static tcudb_status text_room(EvalCtx *ctx, uint64_t n, char **out, Error *err)
{
    TRY(cancel_poll(ctx->cancel, err));
    if (n > MAX_TEXT_BYTES) {
        (void)too_long(err);
        return TCUDB_ERROR;
    }
    *out = arena_alloc_raw(ctx->arena, n == 0 ? 1 : (size_t)n, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

/* Bytes into a result, a long run of them in pieces. */
static tcudb_status put(const EvalCtx *ctx, char *to, const char *from, size_t n, Error *err)
{
    enum { PIECE = 1 << 24 };
    for (; n > PIECE; n -= PIECE, to += PIECE, from += PIECE) {
        memcpy(to, from, PIECE);
        TRY(cancel_poll(ctx->cancel, err));
    }
    if (n > 0) memcpy(to, from, n);
    return TCUDB_OK;
}

static Str tail(Str s, uint32_t skip)
{
    return (Str){s.ptr + skip, s.len - skip};
}

/* ---- lengths ----------------------------------------------------------------------------------- */

KERNEL(text_length)
{
    const Str *texts = args[0].data;
    const uint32_t stride = STRIDE(args[0]);
    int32_t *to = out->data;
    if (args[0].ascii) {
        UNARY_LOOPS(Str, int32_t, r = (int32_t)x.len);
        return TCUDB_OK;
    }
    for (uint32_t i = 0; i < n;) {
        TextRun run = text_run(&args[0], sel, i, n, RUN_BYTES);
        bool bytes = run.end > i + 1 && bytes_are_ascii(run.ptr, run.bytes);
        for (; i < run.end; i++) {
            uint32_t row = sel == NULL ? i : sel[i];
            Str s = texts[row * stride];
            to[row] = (int32_t)(bytes ? s.len : utf8_length(s));
        }
    }
    return TCUDB_OK;
}

KERNEL(bpchar_length)
{
    if (!type_keeps_blanks(args[0].type)) return text_length(ctx, args, nargs, sel, n, out, err);
    UNARY_ROWS(Str, int32_t, r = (int32_t)utf8_length(str_without_blanks(x)));
    return TCUDB_OK;
}

KERNEL(text_octet_length)
{
    UNARY_ROWS(Str, int32_t, r = (int32_t)x.len);
    return TCUDB_OK;
}

KERNEL(bpchar_octet_length)
{
    uint32_t width = args[0].type.length;
    UNARY_ROWS(Str, int32_t, {
        uint32_t chars = utf8_length(x);
        r = (int32_t)(x.len + (width > chars ? width - chars : 0));
    });
    return TCUDB_OK;
}

KERNEL(text_bit_length)
{
    UNARY_ROWS(Str, int32_t, r = (int32_t)(x.len * 8));
    return TCUDB_OK;
}

/* ---- joining ----------------------------------------------------------------------------------- */

static tcudb_status join(EvalCtx *ctx, Str a, Str b, Str *out, Error *err)
{
    char *to = NULL;
    TRY(text_room(ctx, (uint64_t)a.len + b.len, &to, err));
    TRY(put(ctx, to, a.ptr, a.len, err));
    TRY(put(ctx, to + a.len, b.ptr, b.len, err));
    *out = (Str){to, a.len + b.len};
    return TCUDB_OK;
}

/* Short texts are copied by words that overlap: a call would take longer. */
static char *put_short(char *to, Str s)
{
    uint64_t first, last;
    enum { WORD = sizeof first };
    if (s.len < WORD || s.len > 2 * WORD) {
        if (s.len > 0) memcpy(to, s.ptr, s.len);
        return to + s.len;
    }
    memcpy(&first, s.ptr, WORD);
    memcpy(&last, s.ptr + s.len - WORD, WORD);
    memcpy(to, &first, WORD);
    memcpy(to + s.len - WORD, &last, WORD);
    return to + s.len;
}

/* The results of a batch lie in one block, unless they are so long that each had better be looked at. */
KERNEL(text_concat)
{
    enum { LONG_BATCH = 1 << 20 };
    const Str *a = args[0].data, *b = args[1].data;
    const uint32_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);
    Str *results = out->data;
    uint64_t total = 0;
    char *at = NULL;
    EACH_ROW(i, row) total += (uint64_t)a[row * sa].len + b[row * sb].len;
    if (total > LONG_BATCH) {
        BINARY_ROWS(Str, Str, Str, TRY(join(ctx, x, y, &r, err)));
        return TCUDB_OK;
    }
    TRY(text_room(ctx, total, &at, err));
    EACH_ROW(i, row)
    {
        char *begin = at;
        at = put_short(put_short(at, a[row * sa]), b[row * sb]);
        results[row] = (Str){begin, (uint32_t)(at - begin)};
    }
    return TCUDB_OK;
}

/* Text || any other type, in either order: the other's text. */
KERNEL(any_concat)
{
    Vector texts[2] = {args[0], args[1]};
    for (uint32_t k = 0; k < 2; k++) {
        if (args[k].phys == PHYS_STR) continue;
        TRY(vec_new(ctx->arena, TYPE(TYPE_TEXT), live_rows(sel, n), &texts[k], err));
        TRY(any_to_text(ctx, &args[k], 1, sel, n, &texts[k], err));
    }
    return text_concat(ctx, texts, 2, sel, n, out, err);
}

/* Prints the arguments from `first` on that are not NULL, with a separator between them. */
static tcudb_status print_all(const EvalCtx *ctx, const Vector *args, uint32_t nargs, uint32_t first, uint32_t row,
                              Str separator, Buf *buf, Error *err)
{
    bool any = false;
    for (uint32_t k = first; k < nargs; k++) {
        Value v = vec_value(&args[k], row);
        if (v.null) continue;
        TRY(cancel_poll(ctx->cancel, err));
        if (any) TRY(buf_str(buf, separator, err));
        any = true;
        if (v.type.id != TYPE_TEXT) {
            TRY(value_print(&v, buf, err));
            continue;
        }
        TRY(buf_reserve(buf, v.str.len, err)); /* maybe a long text */
        TRY(put(ctx, buf->data + buf->len, v.str.ptr, v.str.len, err));
        buf->len += v.str.len;
    }
    return TCUDB_OK;
}

tcudb_status text_keep(EvalCtx *ctx, const Buf *buf, Str *out, Error *err)
{
    char *copy = NULL;
    TRY(text_room(ctx, buf->len, &copy, err));
    *out = (Str){copy, (uint32_t)buf->len};
    return put(ctx, copy, buf->data, buf->len, err);
}

KERNEL(any_concat_all)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        buf.len = 0;
        TRY_GOTO(print_all(ctx, args, nargs, 0, row, STR_LIT(""), &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    return status;
}

/* A NULL separator gives NULL. */
KERNEL(any_concat_ws)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Value separator = vec_value(&args[0], row);
        buf.len = 0;
        if (separator.null) {
            TRY_GOTO(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
            bit_clear(out->valid, row);
            continue;
        }
        TRY_GOTO(print_all(ctx, args, nargs, 1, row, separator.str, &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    return status;
}

/* Copies what is there already, twice as much each time, as long as it stays in the cache. */
static tcudb_status repeat(EvalCtx *ctx, Str s, uint64_t times, Str *out, Error *err)
{
    enum { IN_CACHE = 1 << 18 };
    char *to = NULL;
    uint64_t size = times * s.len;
    TRY(text_room(ctx, size, &to, err));
    *out = (Str){to, (uint32_t)size};
    uint64_t unit = s.len, done = size < unit ? 0 : unit;
    TRY(put(ctx, to, s.ptr, done, err));
    while (done < size) {
        uint64_t n = unit < size - done ? unit : size - done;
        TRY(put(ctx, to + done, to, n, err));
        done += n;
        if (done <= IN_CACHE) unit = done;
        if (done > IN_CACHE) TRY(cancel_poll(ctx->cancel, err));
    }
    return TCUDB_OK;
}

KERNEL(text_repeat)
{
    BINARY_ROWS(Str, int32_t, Str, TRY(repeat(ctx, x, y > 0 ? (uint64_t)y : 0, &r, err)));
    return TCUDB_OK;
}

/* ---- cutting ----------------------------------------------------------------------------------- */

/* Whether the first n bytes, or all where there are fewer, are ASCII. False where looking would take long. */
static inline bool short_ascii(Str s, int64_t n)
{
    enum { SHORT = 32 };
    uint32_t len = n < s.len ? (uint32_t)n : s.len;
    return len <= SHORT && str_is_ascii((Str){s.ptr, len});
}

/* Characters start.. (1 is the first), `count` of them; count < 0: all the rest. */
static Str slice_of(Str s, bool ascii, int64_t start, int64_t count)
{
    int64_t end = count < 0 ? INT64_MAX : start + count;
    if (start < 1) start = 1;
    if (end <= start) return (Str){s.ptr, 0};
    if (start - 1 > s.len) return (Str){s.ptr, 0};
    if (ascii || short_ascii(s, end < INT64_MAX ? end - 1 : start - 1)) {
        uint32_t rest = s.len - (uint32_t)(start - 1);
        return (Str){s.ptr + start - 1, end - start < rest ? (uint32_t)(end - start) : rest};
    }
    Str rest = tail(s, utf8_prefix(s, (uint32_t)(start - 1)));
    if (end == INT64_MAX || end - start >= rest.len) return rest;
    rest.len = utf8_prefix(rest, (uint32_t)(end - start));
    return rest;
}

static Str slice(Str s, int64_t start, int64_t count)
{
    return slice_of(s, false, start, count);
}

KERNEL(text_substring)
{
    const bool ascii = out->ascii = args[0].ascii;
    BINARY_ROWS(Str, int32_t, Str, r = slice_of(x, ascii, y, -1));
    return TCUDB_OK;
}

#define STR_AT(k)  (((const Str *)args[k].data)[row * STRIDE(args[k])])
#define INT4_AT(k) (((const int32_t *)args[k].data)[row * STRIDE(args[k])])

KERNEL(text_substring_for)
{
    Str *to = out->data;
    out->ascii = args[0].ascii;
    EACH_ROW(i, row)
    {
        int32_t count = INT4_AT(2);
        if (count < 0) return error_set(err, SQLSTATE_SUBSTRING_ERROR, "negative substring length not allowed");
        to[row] = slice_of(STR_AT(0), out->ascii, INT4_AT(1), count);
    }
    return TCUDB_OK;
}

KERNEL(text_left)
{
    BINARY_ROWS(Str, int32_t, Str, {
        int64_t count = y >= 0 ? y : (int64_t)utf8_length(x) + y;
        r = slice(x, 1, count > 0 ? count : 0);
    });
    return TCUDB_OK;
}

KERNEL(text_right)
{
    BINARY_ROWS(Str, int32_t, Str, {
        int64_t skip = y >= 0 ? (int64_t)utf8_length(x) - y : -(int64_t)y;
        r = slice(x, (skip > 0 ? skip : 0) + 1, -1);
    });
    return TCUDB_OK;
}

/* Bytes of the character that begins at s; at least 1, at most what is left. */
static uint32_t char_bytes(Str s)
{
    uint32_t n = 1;
    while (n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80) n++;
    return n;
}

static bool has_char(Str set, Str c)
{
    for (uint32_t at = 0, n; at < set.len; at += n) {
        n = char_bytes(tail(set, at));
        if (n == c.len && memcmp(set.ptr + at, c.ptr, n) == 0) return true;
    }
    return false;
}

static tcudb_status trim_left(const EvalCtx *ctx, Str *s, Str set, Error *err)
{
    for (uint32_t steps = 0; s->len > 0;) {
        uint32_t n = char_bytes(*s);
        TRY(text_poll(ctx, &steps, err));
        if (!has_char(set, (Str){s->ptr, n})) break;
        *s = tail(*s, n);
    }
    return TCUDB_OK;
}

static tcudb_status trim_right(const EvalCtx *ctx, Str *s, Str set, Error *err)
{
    for (uint32_t steps = 0; s->len > 0;) {
        uint32_t at = s->len - 1;
        TRY(text_poll(ctx, &steps, err));
        while (at > 0 && ((unsigned char)s->ptr[at] & 0xc0) == 0x80) at--;
        if (!has_char(set, tail(*s, at))) break;
        s->len = at;
    }
    return TCUDB_OK;
}

static tcudb_status trim(const EvalCtx *ctx, Str s, Str set, bool left, bool right, Str *out, Error *err)
{
    *out = s;
    if (left) TRY(trim_left(ctx, out, set, err));
    return right ? trim_right(ctx, out, set, err) : TCUDB_OK;
}

#define TRIM_KERNELS(name, left, right)                                                                                \
    KERNEL(name##_blanks)                                                                                              \
    {                                                                                                                  \
        UNARY_ROWS(Str, Str, TRY(trim(ctx, x, STR_LIT(" "), left, right, &r, err)));                                   \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(name##_chars)                                                                                               \
    {                                                                                                                  \
        BINARY_ROWS(Str, Str, Str, TRY(trim(ctx, x, y, left, right, &r, err)));                                        \
        return TCUDB_OK;                                                                                               \
    }

TRIM_KERNELS(text_btrim, true, true)
TRIM_KERNELS(text_ltrim, true, false)
TRIM_KERNELS(text_rtrim, false, true)

/* ---- searching ---------------------------------------------------------------------------------- */

/* Stretch by stretch, each longer than its part so that an occurrence across its end is seen. */
tcudb_status text_find(const EvalCtx *ctx, Str s, Str what, uint32_t from, int64_t *at, Error *err)
{
    enum { STRETCH = 1 << 24 };
    for (*at = -1; *at < 0 && from <= s.len; from += STRETCH) {
        uint32_t left = s.len - from;
        bool last = left < STRETCH || left - STRETCH < what.len;
        TRY(cancel_poll(ctx->cancel, err));
        *at = text_search((Str){s.ptr, last ? s.len : from + STRETCH + what.len - 1}, what, from);
        if (last) break;
    }
    return TCUDB_OK;
}

KERNEL(text_position)
{
    const bool ascii = args[0].ascii;
    BINARY_ROWS(Str, Str, int32_t, {
        int64_t at;
        TRY(text_find(ctx, x, y, 0, &at, err));
        r = at < 0
                ? 0
                : (int32_t)(ascii || short_ascii(x, at) ? (uint32_t)at : utf8_length((Str){x.ptr, (uint32_t)at})) + 1;
    });
    return TCUDB_OK;
}

KERNEL(text_starts_with)
{
    BINARY_ROWS(Str, Str, uint8_t, r = y.len <= x.len && (y.len == 0 || memcmp(x.ptr, y.ptr, y.len) == 0));
    return TCUDB_OK;
}

static tcudb_status replace_all(EvalCtx *ctx, Str s, Str from, Str with, Str *out, Error *err)
{
    uint64_t hits = 0;
    uint32_t steps = 0;
    *out = s;
    if (from.len == 0) return TCUDB_OK;
    for (int64_t at = text_search(s, from, 0); at >= 0; at = text_search(s, from, (uint32_t)at + from.len), hits++)
        TRY(text_poll(ctx, &steps, err));
    if (hits == 0) return TCUDB_OK;
    char *to = NULL;
    uint64_t size = s.len - hits * from.len + hits * with.len;
    TRY(text_room(ctx, size, &to, err));
    *out = (Str){to, (uint32_t)size};
    uint32_t done = 0;
    for (int64_t at = text_search(s, from, 0); at >= 0; at = text_search(s, from, done)) {
        TRY(text_poll(ctx, &steps, err));
        memcpy(to, s.ptr + done, (size_t)at - done);
        to += at - done;
        if (with.len > 0) memcpy(to, with.ptr, with.len);
        to += with.len;
        done = (uint32_t)at + from.len;
    }
    memcpy(to, s.ptr + done, s.len - done);
    return TCUDB_OK;
}

KERNEL(text_replace)
{
    Str *to = out->data;
    EACH_ROW(i, row) TRY(replace_all(ctx, STR_AT(0), STR_AT(1), STR_AT(2), &to[row], err));
    return TCUDB_OK;
}

/* The field-th part between delimiters; negative fields count from the end. */
static tcudb_status split(const EvalCtx *ctx, Str s, Str delimiter, int64_t field, Str *out, Error *err)
{
    uint32_t steps = 0, start = 0;
    *out = s;
    if (s.len == 0 || (delimiter.len == 0 && (field == 1 || field == -1))) return TCUDB_OK;
    out->len = 0;
    if (delimiter.len == 0) return TCUDB_OK;
    if (field < 0) {
        int64_t parts = 1;
        for (int64_t at = text_search(s, delimiter, 0); at >= 0;
             at = text_search(s, delimiter, (uint32_t)at + delimiter.len)) {
            parts++;
            TRY(text_poll(ctx, &steps, err));
        }
        field = parts + field + 1;
        if (field < 1) return TCUDB_OK;
    }
    for (int64_t at = 0; at >= 0 && field > 0; field--) {
        TRY(text_poll(ctx, &steps, err));
        at = text_search(s, delimiter, start);
        uint32_t end = at < 0 ? s.len : (uint32_t)at;
        if (field == 1) *out = (Str){s.ptr + start, end - start};
        start = end + delimiter.len;
    }
    return TCUDB_OK;
}

KERNEL(text_split_part)
{
    Str *to = out->data;
    EACH_ROW(i, row)
    {
        if (INT4_AT(2) == 0) return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "field position must not be zero");
        TRY(split(ctx, STR_AT(0), STR_AT(1), INT4_AT(2), &to[row], err));
    }
    return TCUDB_OK;
}

/* ---- padding, reversing, replacing characters ------------------------------------------------------ */

/* Writes `chars` characters of fill, over and over. */
static tcudb_status put_fill(const EvalCtx *ctx, char **to, Str fill, uint32_t chars, Error *err)
{
    for (uint32_t at = 0, steps = 0; chars > 0; chars--) {
        uint32_t n = char_bytes(tail(fill, at));
        TRY(text_poll(ctx, &steps, err));
        memcpy(*to, fill.ptr + at, n);
        *to += n;
        at += n;
        if (at == fill.len) at = 0;
    }
    return TCUDB_OK;
}

static tcudb_status pad(EvalCtx *ctx, Str s, int32_t width, Str fill, bool left, Str *out, Error *err)
{
    uint32_t have = utf8_length(s), want = width > 0 ? (uint32_t)width : 0;
    if (have >= want || fill.len == 0) {
        *out = slice(s, 1, want);
        return TCUDB_OK;
    }
    uint32_t missing = want - have;
    uint64_t fill_chars = utf8_length(fill);
    uint64_t room = s.len + (missing / fill_chars + 1) * (uint64_t)fill.len;
    if (want > MAX_TEXT_BYTES) return too_long(err);
    char *to = NULL;
    TRY(text_room(ctx, room, &to, err));
    char *at = to;
    if (left) TRY(put_fill(ctx, &at, fill, missing, err));
    TRY(put(ctx, at, s.ptr, s.len, err));
    at += s.len;
    if (!left) TRY(put_fill(ctx, &at, fill, missing, err));
    assert((uint64_t)(at - to) <= room);
    *out = (Str){to, (uint32_t)(at - to)};
    return TCUDB_OK;
}

KERNEL(text_lpad)
{
    Str *to = out->data;
    EACH_ROW(i, row) TRY(pad(ctx, STR_AT(0), INT4_AT(1), nargs > 2 ? STR_AT(2) : STR_LIT(" "), true, &to[row], err));
    return TCUDB_OK;
}

KERNEL(text_rpad)
{
    Str *to = out->data;
    EACH_ROW(i, row) TRY(pad(ctx, STR_AT(0), INT4_AT(1), nargs > 2 ? STR_AT(2) : STR_LIT(" "), false, &to[row], err));
    return TCUDB_OK;
}

KERNEL(text_reverse)
{
    UNARY_ROWS(Str, Str, {
        char *to = NULL;
        uint32_t steps = 0;
        TRY(text_room(ctx, x.len, &to, err));
        for (uint32_t at = 0, k; at < x.len; at += k) {
            TRY(text_poll(ctx, &steps, err));
            k = char_bytes(tail(x, at));
            memcpy(to + x.len - at - k, x.ptr + at, k);
        }
        r = (Str){to, x.len};
    });
    return TCUDB_OK;
}

/* Each character found in `from` becomes the one at the same place in `with`, or goes. */
static tcudb_status translate(EvalCtx *ctx, Str s, Str from, Str with, Str *out, Error *err)
{
    char *to = NULL, *at;
    TRY(text_room(ctx, (uint64_t)s.len * 4, &to, err));
    at = to;
    for (uint32_t i = 0, n, steps = 0; i < s.len; i += n) {
        Str c = tail(s, i);
        TRY(text_poll(ctx, &steps, err));
        n = char_bytes(c);
        uint32_t f = 0, w = 0, fn = 0;
        for (; f < from.len; f += fn) {
            fn = char_bytes(tail(from, f));
            if (fn == n && memcmp(from.ptr + f, c.ptr, n) == 0) break;
            if (w < with.len) w += char_bytes(tail(with, w));
        }
        if (f < from.len && w >= with.len) continue;
        Str put = f < from.len ? (Str){with.ptr + w, char_bytes(tail(with, w))} : (Str){c.ptr, n};
        memcpy(at, put.ptr, put.len);
        at += put.len;
    }
    *out = (Str){to, (uint32_t)(at - to)};
    return TCUDB_OK;
}

KERNEL(text_translate)
{
    Str *to = out->data;
    EACH_ROW(i, row) TRY(translate(ctx, STR_AT(0), STR_AT(1), STR_AT(2), &to[row], err));
    return TCUDB_OK;
}

/* overlay(s placing t from start for count): everything before start, t, everything after. */
KERNEL(text_overlay)
{
    Str *to = out->data;
    EACH_ROW(i, row)
    {
        Str s = STR_AT(0), with = STR_AT(1), head;
        int64_t start = INT4_AT(2), count = nargs > 3 ? INT4_AT(3) : (int64_t)utf8_length(with);
        if (start < 1) return error_set(err, SQLSTATE_SUBSTRING_ERROR, "negative substring length not allowed");
        if (start + count > INT32_MAX) return range_error("integer", err);
        TRY(join(ctx, slice(s, 1, start - 1), with, &head, err));
        TRY(join(ctx, head, slice(s, start + count, -1), &to[row], err));
    }
    return TCUDB_OK;
}
