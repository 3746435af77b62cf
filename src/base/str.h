/*
 * str.h: Str, a borrowed run of bytes (SQL text values are UTF-8), and Buf, a growable one.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/cancel.h"
#include "base/mem.h"

#include <string.h>

/* Not NUL-terminated; the memory belongs to someone else. 16 bytes: text columns are arrays of it. */
typedef struct Str {
    const char *ptr;
    uint32_t len;
} Str;

#define STR_LIT(s) ((Str){(s), sizeof(s) - 1})
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).len, (s).ptr

static inline Str str_of(const char *text)
{
    return (Str){text, (uint32_t)strlen(text)};
}

static inline bool str_equal(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Byte order: the C collation. <0, 0, >0. Mostly the first bytes decide, and no function is called. */
static inline Str str_without_blanks(Str s)
{
    while (s.len > 0 && s.ptr[s.len - 1] == ' ') s.len--;
    return s;
}

static inline int str_compare(Str a, Str b)
{
    enum { WORD = 8 };
    uint32_t n = a.len < b.len ? a.len : b.len, i = 0;
    if (n >= WORD) {
        uint64_t x, y;
        memcpy(&x, a.ptr, WORD);
        memcpy(&y, b.ptr, WORD);
        if (x != y) return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
        int order = n == WORD ? 0 : memcmp(a.ptr + WORD, b.ptr + WORD, n - WORD);
        if (order != 0) return order;
        i = n;
    }
    for (; i < n; i++)
        if (a.ptr[i] != b.ptr[i]) return (unsigned char)a.ptr[i] < (unsigned char)b.ptr[i] ? -1 : 1;
    return (a.len > b.len) - (a.len < b.len);
}

/* The first bytes as a word that orders like the text, missing ones as 0: smaller word, smaller text. */
static inline uint64_t str_head(Str text)
{
    enum { WORD = 8 };
    uint64_t head = 0;
    if (text.len >= WORD)
        memcpy(&head, text.ptr, WORD);
    else
        for (uint32_t i = 0; i < text.len; i++) head |= (uint64_t)(unsigned char)text.ptr[i] << (8 * i);
    return __builtin_bswap64(head);
}

/* Whether all bytes are ASCII: of a text that is mostly short, and of any run of bytes. */
static inline bool str_is_ascii(Str text)
{
    enum { WORD = 8 };
    uint64_t all = 0, word;
    uint32_t i = 0;
    for (; i + WORD <= text.len; i += WORD) {
        memcpy(&word, text.ptr + i, WORD);
        all |= word;
    }
    if (i < text.len && text.len >= WORD) {
        memcpy(&word, text.ptr + text.len - WORD, WORD); /* the rest, and some bytes again */
        all |= word;
        i = text.len;
    }
    for (; i < text.len; i++) all |= (unsigned char)text.ptr[i];
    return (all & UINT64_C(0x8080808080808080)) == 0;
}
bool bytes_are_ascii(const char *bytes, size_t n);

/* Offset of the first byte that is not UTF-8 (NUL counts as invalid too); len: all is well. */
size_t utf8_check(const char *text, size_t len);
/* The same of a long text; stops at *cancel (may be NULL). */
tcudb_status utf8_valid(const char *text, size_t len, const atomic_bool *cancel, size_t *valid, Error *err) MUST_CHECK;
/* Characters in UTF-8 text, and the bytes of its first n characters (all, if it has fewer). */
uint32_t utf8_length(Str text);
uint32_t utf8_prefix(Str text, uint32_t n);

/* A growable byte buffer; owner frees with buf_free. Also used as a string builder. */
typedef struct Buf {
    Mem *mem;
    char *data;
    size_t len;
    size_t cap;
} Buf;

void buf_init(Buf *buf, Mem *mem);
void buf_free(Buf *buf);
tcudb_status buf_reserve(Buf *buf, size_t more, Error *err) MUST_CHECK;
tcudb_status buf_append(Buf *buf, const void *data, size_t n, Error *err) MUST_CHECK;
tcudb_status buf_str(Buf *buf, Str text, Error *err) MUST_CHECK;
tcudb_status buf_text(Buf *buf, const char *text, Error *err) MUST_CHECK;
tcudb_status buf_char(Buf *buf, char c, Error *err) MUST_CHECK;
tcudb_status buf_printf(Buf *buf, Error *err, const char *format, ...) PRINTF_LIKE(3, 4) MUST_CHECK;
/* Appends a NUL that is not counted in len and returns data; NULL and *err set on failure. */
const char *buf_cstr(Buf *buf, Error *err) MUST_CHECK;

#endif
