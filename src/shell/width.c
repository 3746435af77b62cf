/*
 * width.c: display widths by utf8proc: 0 for combining marks, 2 for East Asian wide characters. Runs of ASCII
 * never reach it. Bytes that are no UTF-8 count as one column.
 */
#include "width.h"

#include <assert.h>
#include <utf8proc.h>

size_t char_length(const char *text, size_t n, size_t *width)
{
    assert(n > 0);
    *width = 1;
    if ((unsigned char)text[0] < 0x80) return 1;
    utf8proc_int32_t code = 0;
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &code);
    if (used <= 0) return 1;
    int columns = utf8proc_charwidth(code);
    *width = columns < 0 ? 0 : (size_t)columns;
    return (size_t)used;
}

size_t text_width(const char *text, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n;) {
        size_t width = 0;
        i += char_length(text + i, n - i, &width);
        total += width;
    }
    return total;
}

size_t text_fit(const char *text, size_t n, size_t columns, size_t *width)
{
    size_t at = 0;
    *width = 0;
    while (at < n) {
        size_t next = 0;
        size_t length = char_length(text + at, n - at, &next);
        if (*width + next > columns) break;
        *width += next;
        at += length;
    }
    return at;
}

size_t text_chars(const char *text, size_t n, size_t count)
{
    size_t at = 0;
    size_t width = 0;
    while (count-- > 0 && at < n) at += char_length(text + at, n - at, &width);
    return at;
}
