/*
 * width.h: how many columns of a terminal a text takes.
 */
#ifndef SHELL_WIDTH_H
#define SHELL_WIDTH_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* Columns of n bytes without newlines. Tabs and control characters must have been escaped. */
size_t text_width(const char *text, size_t n);
/* Bytes of the longest prefix that is at most `columns` wide, and its width. */
size_t text_fit(const char *text, size_t n, size_t columns, size_t *width);
/* The same in characters: bytes of the first `count` characters. */
size_t text_chars(const char *text, size_t n, size_t count);
/* Length of the character at text (1 for bytes that are no UTF-8), its width in *width. */
size_t char_length(const char *text, size_t n, size_t *width);

#endif
