/*
 * str.c: the growable byte buffer. Doubles, so appending costs O(1) amortised.
 */
#include "base/str.h"

#include <stdio.h>

enum { BUF_FIRST = 256 };

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
