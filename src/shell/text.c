/*
 * text.c: growable texts and allocation for the shell. Out of memory ends the shell with status 1: there is
 * nothing to be saved in it.
 */
#include "shell.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void shell_out_of_memory(void)
{
    fputs("tcudb: out of memory\n", stderr);
    exit(EXIT_FATAL);
}

void *shell_realloc(void *old, size_t size)
{
    void *ptr = realloc(old, size == 0 ? 1 : size);
    if (ptr == NULL) shell_out_of_memory();
    return ptr;
}

void *shell_alloc(size_t size)
{
    void *ptr = shell_realloc(NULL, size);
    memset(ptr, 0, size);
    return ptr;
}

char *shell_strndup(const char *text, size_t n)
{
    char *copy = shell_realloc(NULL, n + 1);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *shell_strdup(const char *text)
{
    return shell_strndup(text, strlen(text));
}

static void reserve(Text *text, size_t more)
{
    if (text->cap - text->len > more) return;
    size_t cap = text->cap == 0 ? 128 : text->cap;
    while (cap - text->len <= more) cap *= 2;
    text->data = shell_realloc(text->data, cap);
    text->cap = cap;
}

void text_add(Text *text, const char *data, size_t n)
{
    reserve(text, n);
    memcpy(text->data + text->len, data, n);
    text->len += n;
    text->data[text->len] = '\0';
    assert(text->len < text->cap);
}

void text_str(Text *text, const char *data)
{
    text_add(text, data, strlen(data));
}

void text_char(Text *text, char c)
{
    text_add(text, &c, 1);
}

void text_printf(Text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(n >= 0);
    reserve(text, (size_t)n);
    va_start(args, format);
    vsnprintf(text->data + text->len, (size_t)n + 1, format, args);
    va_end(args);
    text->len += (size_t)n;
}

void text_clear(Text *text)
{
    text->len = 0;
    if (text->data != NULL) text->data[0] = '\0';
}

void text_free(Text *text)
{
    free(text->data);
    *text = (Text){0};
}

const char *text_cstr(const Text *text)
{
    return text->data == NULL ? "" : text->data;
}

bool text_blank(const Text *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (!isspace((unsigned char)text->data[i])) return false;
    return true;
}

void text_name(Text *out, const char *name)
{
    bool plain = islower((unsigned char)name[0]) || name[0] == '_';
    for (const char *c = name; *c != '\0'; c++)
        plain &= islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_';
    if (plain) {
        text_str(out, name);
        return;
    }
    text_char(out, '"');
    for (; *name != '\0'; name++) {
        if (*name == '"') text_char(out, '"');
        text_char(out, *name);
    }
    text_char(out, '"');
}
