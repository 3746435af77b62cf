/*
 * print_table.c: the modes that need all widths first: aligned, markdown, expanded. box is in print_box.c.
 *
 * aligned and expanded print what psql prints, to the byte, so that scripts and habits carry over:
 *
 *      a | b          -[ RECORD 1 ]
 *     ---+-----       a | 1
 *      1 | x +        b | x +
 *        | y            | y
 *     (1 row)
 */
#include "print.h"
#include "width.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells of several lines ---------------------------------------------------------------- */

static size_t count_lines(const char *text, size_t len)
{
    size_t lines = 1;
    for (size_t i = 0; i < len; i++) lines += text[i] == '\n';
    return lines;
}

/* The n-th line of a text; "" past the last. */
static Cell line_of(const char *text, size_t len, size_t n)
{
    size_t from = 0;
    while (n > 0 && from < len) {
        const char *eol = memchr(text + from, '\n', len - from);
        if (eol == NULL) return (Cell){.text = ""};
        from = (size_t)(eol - text) + 1;
        n--;
    }
    if (n > 0) return (Cell){.text = ""};
    const char *eol = memchr(text + from, '\n', len - from);
    size_t end = eol == NULL ? len : (size_t)(eol - text);
    return (Cell){.text = text + from, .len = (uint32_t)(end - from)};
}

static size_t cell_width(const char *text, size_t len)
{
    size_t widest = 0;
    size_t lines = count_lines(text, len);
    for (size_t i = 0; i < lines; i++) {
        Cell line = line_of(text, len, i);
        size_t width = text_width(line.text, line.len);
        if (width > widest) widest = width;
    }
    return widest;
}

static size_t *column_widths(const Table *table, bool names)
{
    size_t *widths = shell_alloc((table->ncols + 1) * sizeof *widths);
    for (uint32_t c = 0; c < table->ncols && names; c++)
        widths[c] = cell_width(table->names[c], strlen(table->names[c]));
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++) {
        const Cell *row = table_at(table, r);
        for (uint32_t c = 0; c < table->ncols; c++) {
            size_t width = cell_width(row[c].text, row[c].len);
            if (width > widths[c]) widths[c] = width;
        }
    }
    return widths;
}

/* ---- aligned ------------------------------------------------------------------------------- */

/* One physical line of a row. '+' says that a cell goes on in the next one. */
static void aligned_line(const Table *table, const Cell *row, const size_t *widths, size_t line, FILE *to)
{
    for (uint32_t c = 0; c < table->ncols; c++) {
        Cell cell = line_of(row[c].text, row[c].len, line);
        size_t pad = widths[c] - text_width(cell.text, cell.len);
        bool more = line + 1 < count_lines(row[c].text, row[c].len);
        bool last = c + 1 == table->ncols;
        fputc(' ', to);
        bool over = last && line > 0 && line >= count_lines(row[c].text, row[c].len);
        if (table->right[c] && !over) print_spaces(to, pad);
        fwrite(cell.text, 1, cell.len, to);
        if (!table->right[c] && (!last || more)) print_spaces(to, pad);
        if (more)
            fputc('+', to);
        else if (!last)
            fputc(' ', to);
        if (!last) fputc('|', to);
    }
    fputc('\n', to);
}

static void aligned_row(const Table *table, const Cell *row, const size_t *widths, FILE *to)
{
    size_t lines = 1;
    for (uint32_t c = 0; c < table->ncols; c++) {
        size_t n = count_lines(row[c].text, row[c].len);
        if (n > lines) lines = n;
    }
    for (size_t i = 0; i < lines; i++) aligned_line(table, row, widths, i, to);
}

static void aligned_names(const Table *table, const size_t *widths, FILE *to)
{
    for (uint32_t c = 0; c < table->ncols; c++) {
        size_t pad = widths[c] - text_width(table->names[c], strlen(table->names[c]));
        fputs(c > 0 ? "| " : " ", to);
        print_spaces(to, pad / 2);
        fputs(table->names[c], to);
        print_spaces(to, pad - pad / 2 + 1);
    }
    fputc('\n', to);
    for (uint32_t c = 0; c < table->ncols; c++) {
        if (c > 0) fputc('+', to);
        for (size_t i = 0; i < widths[c] + 2; i++) fputc('-', to);
    }
    fputc('\n', to);
}

void aligned_table(Print *print, FILE *to)
{
    const Table *table = &print->table;
    const Look *look = &print->shell->look;
    size_t *widths = column_widths(table, look->headers && !look->tuples_only);
    if (look->headers && !look->tuples_only) aligned_names(table, widths, to);
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++)
        aligned_row(table, table_at(table, r), widths, to);
    print_footer(print, to);
    fputc('\n', to);
    free(widths);
}

/* ---- markdown ------------------------------------------------------------------------------ */

static void markdown_cell(const Cell *cell, size_t width, bool right, FILE *to)
{
    size_t used = text_width(cell->text, cell->len);
    for (size_t i = 0; i < cell->len; i++)
        used += cell->text[i] == '|' ? 1 : cell->text[i] == '\n' ? strlen("<br>") : 0;
    size_t pad = used < width ? width - used : 0;
    if (right) print_spaces(to, pad);
    for (size_t i = 0; i < cell->len; i++) {
        if (cell->text[i] == '|')
            fputs("\\|", to);
        else if (cell->text[i] == '\n')
            fputs("<br>", to);
        else
            fputc(cell->text[i], to);
    }
    if (!right) print_spaces(to, pad);
}

static void markdown_row(const Table *table, const Cell *cells, const size_t *widths, FILE *to)
{
    for (uint32_t c = 0; c < table->ncols; c++) {
        fputs(c == 0 ? "| " : " | ", to);
        markdown_cell(&cells[c], widths[c], table->right[c], to);
    }
    fputs(" |\n", to);
}

/* Escapes and line breaks need more room than the text itself. */
static void markdown_widen(const Table *table, size_t *widths)
{
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++) {
        const Cell *row = table_at(table, r);
        for (uint32_t c = 0; c < table->ncols; c++) {
            size_t width = text_width(row[c].text, row[c].len);
            for (size_t i = 0; i < row[c].len; i++)
                width += row[c].text[i] == '|' ? 1 : row[c].text[i] == '\n' ? strlen("<br>") : 0;
            if (width > widths[c]) widths[c] = width;
        }
    }
}

void markdown_table(Print *print, FILE *to)
{
    const Table *table = &print->table;
    size_t *widths = column_widths(table, true);
    Cell *names = shell_alloc((table->ncols + 1) * sizeof *names);
    markdown_widen(table, widths);
    for (uint32_t c = 0; c < table->ncols; c++) {
        names[c] = (Cell){.text = table->names[c], .len = (uint32_t)strlen(table->names[c])};
        if (widths[c] < 3) widths[c] = 3;
    }
    markdown_row(table, names, widths, to);
    for (uint32_t c = 0; c < table->ncols; c++) {
        fputs(c == 0 ? "|" : "", to);
        for (size_t i = 0; i < widths[c] + 1; i++) fputc('-', to);
        fputs(table->right[c] ? ":|" : "-|", to);
    }
    fputc('\n', to);
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++)
        markdown_row(table, table_at(table, r), widths, to);
    free(names);
    free(widths);
}

/* ---- expanded ------------------------------------------------------------------------------ */

static void record_line(unsigned long long record, size_t names, size_t values, FILE *to)
{
    int used = fprintf(to, "-[ RECORD %llu ]", record);
    assert(used > 0);
    for (size_t at = (size_t)used; at < names + values + 3; at++) fputc(at == names + 1 ? '+' : '-', to);
    fputc('\n', to);
}

static void record_gap(unsigned long long record, size_t names, size_t values, FILE *to)
{
    for (size_t at = 0; record > 0 && at < names + values + 3; at++) fputc(at == names + 1 ? '+' : '-', to);
    if (record > 0) fputc('\n', to);
}

static void expanded_cell(const char *name, size_t name_width, const Cell *cell, size_t width, FILE *to)
{
    size_t lines = count_lines(cell->text, cell->len);
    for (size_t i = 0; i < lines; i++) {
        Cell line = line_of(cell->text, cell->len, i);
        const char *label = i == 0 ? name : "";
        fputs(label, to);
        print_spaces(to, name_width - text_width(label, strlen(label)));
        fputs(" | ", to);
        fwrite(line.text, 1, line.len, to);
        if (i + 1 < lines) {
            print_spaces(to, width - text_width(line.text, line.len));
            fputc('+', to);
        }
        fputc('\n', to);
    }
}

void expanded_table(Print *print, FILE *to)
{
    const Table *table = &print->table;
    size_t *widths = column_widths(table, false);
    size_t names = 0;
    size_t values = 0;
    for (uint32_t c = 0; c < table->ncols; c++) {
        size_t width = text_width(table->names[c], strlen(table->names[c]));
        if (width > names) names = width;
        if (widths[c] > values) values = widths[c];
    }
    if (table_kept(table) == 0 && !print->shell->look.tuples_only) fputs("(0 rows)\n", to);
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++) {
        if (print->shell->look.tuples_only)
            record_gap(r, names, values, to);
        else
            record_line(r + 1, names, values, to);
        const Cell *row = table_at(table, r);
        for (uint32_t c = 0; c < table->ncols; c++) expanded_cell(table->names[c], names, &row[c], values, to);
    }
    fputc('\n', to);
    free(widths);
}
