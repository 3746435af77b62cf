/*
 * str.c: what bytes are as UTF-8, and the growable byte buffer, which doubles, so that appending costs O(1) amortised.
 */
#include "base/str.h"

#include "base/hot.h"

#include <stdio.h>

enum { BUF_FIRST = 256 };

/* ---- UTF-8 ------------------------------------------------------------------------------- */

/* Length of the sequence at p, 0 if it is none. */
static uint32_t utf8_sequence(const uint8_t *p, size_t n)
{
    if (p[0] < 0x80) return p[0] != 0;
    if (p[0] < 0xc2 || n < 2 || (p[1] & 0xc0) != 0x80) return 0;
    if (p[0] < 0xe0) return 2;
    if (n < 3 || (p[2] & 0xc0) != 0x80) return 0;
    uint32_t two = (uint32_t)p[0] << 8 | p[1];
    if (p[0] < 0xf0) return two >= 0xe0a0 && (two < 0xeda0 || two >= 0xee80) ? 3 : 0;
    if (n < 4 || (p[3] & 0xc0) != 0x80) return 0;
    return two >= 0xf090 && two < 0xf490 ? 4 : 0;
}

size_t utf8_check(const char *text, size_t len)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t at = 0;
    while (at < len) {
        const uint64_t high = UINT64_C(0x8080808080808080), ones = UINT64_C(0x0101010101010101);
        while (at + 32 <= len) {
            uint64_t w[4];
            memcpy(w, p + at, sizeof w);
            uint64_t bad = w[0] | w[1] | w[2] | w[3];
            bad |= (w[0] - ones) | (w[1] - ones) | (w[2] - ones) | (w[3] - ones); /* a zero byte borrows into bit 7 */
            if ((bad & high) != 0) break;
            at += 32;
        }
        size_t stop = at + 32 < len ? at + 32 : len;
        while (at < stop) {
            uint32_t n = utf8_sequence(p + at, len - at);
            if (n == 0) return at;
            at += n;
        }
    }
    return len;
}

tcudb_status utf8_valid(const char *text, size_t len, const atomic_bool *cancel, size_t *valid, Error *err)
{
    enum { PIECE = 1 << 20, LONGEST = 4 };
    for (*valid = 0; *valid < len;) {
        size_t left = len - *valid, piece = left < PIECE ? left : PIECE;
        TRY(cancel_poll(cancel, err));
        size_t good = utf8_check(text + *valid, piece);
        *valid += good;
        if (good < piece && (good + LONGEST <= piece || piece == left))
            break; /* else the piece's end cut a character */
    }
    return TCUDB_OK;
}

/* A 1 in each byte that continues a character. */
static uint64_t continuations(const char *eight)
{
    uint64_t w;
    memcpy(&w, eight, 8);
    return w >> 7 & ~(w >> 6) & UINT64_C(0x0101010101010101);
}

/* Of the last n < 8 bytes of a text of at least eight. */
static uint64_t last_continuations(Str text, uint32_t n)
{
    return continuations(text.ptr + text.len - 8) >> (8 * (8 - n));
}

/* The sum of bytes, if it is below 256. */
static uint32_t sum_of_bytes(uint64_t w)
{
    return (uint32_t)(w * UINT64_C(0x0101010101010101) >> 56);
}

HOT bool bytes_are_ascii(const char *bytes, size_t n)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++) all |= (unsigned char)bytes[i];
    return all < 0x80;
}

uint32_t utf8_length(Str text)
{
    enum { WORDS = 31 }; /* of 8 bytes: their sum stays below 256 */
    uint32_t less = 0, i = 0;
    while (i + 8 <= text.len) {
        uint64_t sums = 0;
        for (int k = 0; k < WORDS && i + 8 <= text.len; k++, i += 8) sums += continuations(text.ptr + i);
        less += sum_of_bytes(sums);
    }
    uint32_t rest = text.len - i;
    if (rest > 0 && text.len >= 8) return text.len - less - sum_of_bytes(last_continuations(text, rest));
    for (; i < text.len; i++) less += ((unsigned char)text.ptr[i] & 0xc0) == 0x80;
    return text.len - less;
}

uint32_t utf8_prefix(Str text, uint32_t n)
{
    uint32_t i = 0;
    for (; i + 8 <= text.len && n >= 8; i += 8) n -= 8 - sum_of_bytes(continuations(text.ptr + i));
    for (; i < text.len; i++) {
        if (((unsigned char)text.ptr[i] & 0xc0) == 0x80) continue;
        if (n == 0) break;
        n--;
    }
    return i;
}

/* ---- the buffer -------------------------------------------------------------------------- */

void buf_init(Buf *buf, Mem *mem)
{
    *buf = (Buf){.mem = mem};
}

void buf_free(Buf *buf)
{
    mem_free(buf->mem, buf->data, buf->cap);
    buf_init(buf, buf->mem);
}

tcudb_status buf_reserve(Buf *buf, size_t more, Error *err)
{
    if (buf->cap - buf->len >= more) return TCUDB_OK;
    if (more > SIZE_MAX / 4 || buf->cap > SIZE_MAX / 4)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a buffer of %zu bytes is too large", more);
    size_t cap = buf->cap == 0 ? BUF_FIRST : buf->cap * 2;
    while (cap < buf->len + more) cap *= 2;
    char *data = mem_realloc(buf->mem, buf->data, buf->cap, cap, err);
    TRY_PTR(data);
    buf->data = data;
    buf->cap = cap;
    return TCUDB_OK;
}

tcudb_status buf_append(Buf *buf, const void *data, size_t n, Error *err)
{
    TRY(buf_reserve(buf, n, err));
    if (n > 0) memcpy(buf->data + buf->len, data, n);
    buf->len += n;
    return TCUDB_OK;
}

tcudb_status buf_str(Buf *buf, Str text, Error *err)
{
    return buf_append(buf, text.ptr, text.len, err);
}

tcudb_status buf_text(Buf *buf, const char *text, Error *err)
{
    return buf_append(buf, text, strlen(text), err);
}

tcudb_status buf_char(Buf *buf, char c, Error *err)
{
    return buf_append(buf, &c, 1, err);
}

tcudb_status buf_printf(Buf *buf, Error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) return error_set(err, SQLSTATE_INTERNAL_ERROR, "could not format a text");
    TRY(buf_reserve(buf, (size_t)n + 1, err));
    va_start(args, format);
    vsnprintf(buf->data + buf->len, (size_t)n + 1, format, args);
    va_end(args);
    buf->len += (size_t)n;
    return TCUDB_OK;
}

const char *buf_cstr(Buf *buf, Error *err)
{
    if (buf_reserve(buf, 1, err) != TCUDB_OK) return NULL;
    buf->data[buf->len] = '\0';
    return buf->data;
}
