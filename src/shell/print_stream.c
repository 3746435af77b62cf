/*
 * print_stream.c: the modes that print rows as they come: csv, unaligned, json, jsonlines, line, insert.
 */
#include "print.h"
#include "width.h"

#include <assert.h>
#include <string.h>

/* ---- csv and unaligned --------------------------------------------------------------------- */

static const char *separator(const Print *print)
{
    const char *own = print->shell->look.separator;
    if (own[0] != '\0') return own;
    return print->shell->look.mode == MODE_CSV ? "," : "|";
}

static bool show_names(const Print *print)
{
    return print->shell->look.headers && !print->shell->look.tuples_only;
}

static void csv_field(FILE *to, const char *text, size_t len, const char *sep)
{
    bool quote = memchr(text, '"', len) != NULL || memchr(text, '\n', len) != NULL || memchr(text, '\r', len) != NULL ||
                 (sep[0] != '\0' && memmem(text, len, sep, strlen(sep)) != NULL) ||
                 (len == 2 && memcmp(text, "\\.", 2) == 0);
    if (!quote) {
        fwrite(text, 1, len, to);
        return;
    }
    fputc('"', to);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') fputc('"', to);
        fputc(text[i], to);
    }
    fputc('"', to);
}

void csv_begin(Print *print)
{
    if (!show_names(print)) return;
    const char *sep = separator(print);
    for (uint32_t i = 0; i < print->ncols; i++) {
        if (i > 0) fputs(sep, print->to);
        csv_field(print->to, print->cols[i].name, strlen(print->cols[i].name), sep);
    }
    fputc('\n', print->to);
}

void csv_row(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    const char *sep = separator(print);
    for (uint32_t i = 0; i < print->ncols; i++) {
        size_t len = 0;
        if (i > 0) fputs(sep, print->to);
        const char *text = print_cell(print, chunk, i, row, &len);
        csv_field(print->to, text, len, sep);
    }
    fputc('\n', print->to);
}

void unaligned_begin(Print *print)
{
    if (!show_names(print)) return;
    for (uint32_t i = 0; i < print->ncols; i++)
        fprintf(print->to, "%s%s", i > 0 ? separator(print) : "", print->cols[i].name);
    fputc('\n', print->to);
}

void unaligned_row(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    for (uint32_t i = 0; i < print->ncols; i++) {
        size_t len = 0;
        if (i > 0) fputs(separator(print), print->to);
        const char *text = print_cell(print, chunk, i, row, &len);
        fwrite(text, 1, len, print->to);
    }
    fputc('\n', print->to);
}

void unaligned_end(Print *print)
{
    print_footer(print, print->to);
}

/* ---- json ---------------------------------------------------------------------------------- */

static void json_text(FILE *to, const char *text, size_t len)
{
    fputc('"', to);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", to);
        else if (c == '\t')
            fputs("\\t", to);
        else if (c < ' ')
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void json_value(Print *print, const tcudb_chunk *chunk, uint32_t col, uint64_t row)
{
    size_t len = 0;
    if (tcudb_is_null(chunk, col, row)) {
        fputs("null", print->to);
        return;
    }
    tcudb_type_id type = print->cols[col].type;
    if (type == TCUDB_TYPE_BOOL) {
        fputs(((const uint8_t *)chunk->columns[col].values)[row] != 0 ? "true" : "false", print->to);
        return;
    }
    const char *text = print_cell(print, chunk, col, row, &len);
    bool number = type_is_number(type) && strpbrk(text, "NI") == NULL; /* NaN, Infinity */
    if (number)
        fwrite(text, 1, len, print->to);
    else
        json_text(print->to, text, len);
}

static void json_object(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    fputc('{', print->to);
    for (uint32_t i = 0; i < print->ncols; i++) {
        if (i > 0) fputc(',', print->to);
        json_text(print->to, print->cols[i].name, strlen(print->cols[i].name));
        fputc(':', print->to);
        json_value(print, chunk, i, row);
    }
    fputc('}', print->to);
}

void json_begin(Print *print)
{
    fputc('[', print->to);
}

void json_row(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    if (print->rows > 0) fputs(",\n", print->to);
    json_object(print, chunk, row);
}

void json_end(Print *print)
{
    fputs("]\n", print->to);
}

void jsonlines_row(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    json_object(print, chunk, row);
    fputc('\n', print->to);
}

/* ---- line ---------------------------------------------------------------------------------- */

void line_row(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    size_t widest = 0;
    for (uint32_t i = 0; i < print->ncols; i++) {
        size_t width = text_width(print->cols[i].name, strlen(print->cols[i].name));
        if (width > widest) widest = width;
    }
    if (print->rows > 0) fputc('\n', print->to);
    for (uint32_t i = 0; i < print->ncols; i++) {
        size_t len = 0;
        const char *name = print->cols[i].name;
        const char *text = print_cell(print, chunk, i, row, &len);
        print_spaces(print->to, widest - text_width(name, strlen(name)));
        fprintf(print->to, "%s = ", name);
        fwrite(text, 1, len, print->to);
        fputc('\n', print->to);
    }
}

/* ---- insert -------------------------------------------------------------------------------- */

static void quote_text(FILE *to, const char *text, size_t len)
{
    fputc('\'', to);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\'') fputc('\'', to);
        fputc(text[i], to);
    }
    fputc('\'', to);
}

void insert_row(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    const char *table = var_get(print->shell, "INSERT_TABLE", strlen("INSERT_TABLE"));
    fprintf(print->to, "INSERT INTO %s VALUES (", table == NULL ? "\"table\"" : table);
    for (uint32_t i = 0; i < print->ncols; i++) {
        size_t len = 0;
        if (i > 0) fputs(", ", print->to);
        if (tcudb_is_null(chunk, i, row)) {
            fputs("NULL", print->to);
            continue;
        }
        const char *text = print_cell(print, chunk, i, row, &len);
        bool number = type_is_number(print->cols[i].type) && strpbrk(text, "NI") == NULL;
        if (number)
            fwrite(text, 1, len, print->to);
        else
            quote_text(print->to, text, len);
    }
    fputs(");\n", print->to);
}
