/*
 * print.c: the table of output modes, and the way of a result through one of them.
 */
#include "print.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const PrintMode print_modes[MODES] = {
    [MODE_BOX] = {"box", "boxes with types, cut to the screen; the default on a terminal", .table = box_table},
    [MODE_ALIGNED] = {"aligned", "psql's aligned columns; the default elsewhere", .table = aligned_table},
    [MODE_UNALIGNED] = {"unaligned", "values with a separator between them", unaligned_begin, unaligned_row,
                        unaligned_end},
    [MODE_CSV] = {"csv", "comma-separated values", csv_begin, csv_row},
    [MODE_JSON] = {"json", "one array of objects", json_begin, json_row, json_end},
    [MODE_JSONLINES] = {"jsonlines", "an object a line", .row = jsonlines_row},
    [MODE_MARKDOWN] = {"markdown", "a table for Markdown", .table = markdown_table},
    [MODE_LINE] = {"line", "a value a line: name = value", .row = line_row},
    [MODE_INSERT] = {"insert", "INSERT statements", .row = insert_row},
};

int print_mode_by_name(const char *name)
{
    static const struct {
        const char *name;
        Mode mode;
    } others[] = {{"table", MODE_ALIGNED},    {"column", MODE_ALIGNED}, {"columns", MODE_ALIGNED},
                  {"ascii", MODE_ALIGNED},    {"list", MODE_UNALIGNED}, {"lines", MODE_LINE},
                  {"ndjson", MODE_JSONLINES}, {"duckbox", MODE_BOX}};
    for (int i = 0; i < MODES; i++)
        if (strcmp(print_modes[i].name, name) == 0) return i;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i].name, name) == 0) return (int)others[i].mode;
    return -1;
}

bool type_is_number(tcudb_type_id type)
{
    return type >= TCUDB_TYPE_INT2 && type <= TCUDB_TYPE_FLOAT8;
}

void print_spaces(FILE *to, size_t n)
{
    static const char blanks[] = "                                                                ";
    for (; n > 0; n -= n < sizeof blanks - 1 ? n : sizeof blanks - 1)
        fwrite(blanks, 1, n < sizeof blanks - 1 ? n : sizeof blanks - 1, to);
}

void print_init(Print *print, Shell *shell)
{
    *print = (Print){.shell = shell};
    shell_interrupted = 0; /* from here on Ctrl-C stops the printing */
}

static bool shortened(const Shell *shell)
{
    return shell->look.mode == MODE_BOX && shell->look.max_rows > 0 && shell->tty_out && shell->out.file == stdout;
}

static bool is_table(const Shell *shell)
{
    if (shell->look.mode <= MODE_ALIGNED && shell->look.expanded == SWITCH_ON) return true;
    return print_modes[shell->look.mode].table != NULL;
}

void print_columns(Print *print, const tcudb_column_info *cols, uint32_t n)
{
    Shell *shell = print->shell;
    print->ncols = n;
    print->cols = shell_alloc((n + 1) * sizeof *cols);
    for (uint32_t i = 0; i < n; i++) {
        print->cols[i] = cols[i];
        print->cols[i].name = shell_strdup(cols[i].name);
        print->cols[i].type_name = shell_strdup(cols[i].type_name);
    }
    print->to = shell->out.file;
    if (is_table(shell)) {
        table_begin(&print->table, cols, n);
        if (shortened(shell)) {
            print->table.head_max = (shell->look.max_rows + 1) / 2;
            print->table.tail_max = shell->look.max_rows / 2;
        }
    } else if (print_modes[shell->look.mode].begin != NULL) {
        print_modes[shell->look.mode].begin(print);
    }
}

const char *print_cell(Print *print, const tcudb_chunk *chunk, uint32_t col, uint64_t row, size_t *len)
{
    const char *null = print->shell->look.null;
    if (tcudb_is_null(chunk, col, row)) {
        *len = strlen(null);
        return null;
    }
    tcudb_type_id type = chunk->columns[col].info->type;
    if (type == TCUDB_TYPE_TEXT || type == TCUDB_TYPE_VARCHAR) {
        const tcudb_text *text = (const tcudb_text *)chunk->columns[col].values + row;
        *len = text->len;
        return text->len == 0 ? "" : text->ptr;
    }
    if (print->cell.cap == 0) text_printf(&print->cell, "%64s", "");
    size_t n = tcudb_format(chunk, col, row, print->cell.data, print->cell.cap);
    while (n != SIZE_MAX && n >= print->cell.cap) {
        print->cell.len = 0;
        print->cell.data = shell_realloc(print->cell.data, n + 1);
        print->cell.cap = n + 1;
        n = tcudb_format(chunk, col, row, print->cell.data, print->cell.cap);
    }
    if (n == SIZE_MAX) shell_out_of_memory(); /* never an empty value for one that is there */
    *len = n;
    return print->cell.data;
}

static void collect(Print *print, const tcudb_chunk *chunk, uint64_t row)
{
    Text escaped = {0};
    table_row(&print->table);
    for (uint32_t col = 0; col < print->ncols; col++) {
        size_t len = 0;
        bool null = tcudb_is_null(chunk, col, row);
        const char *text = print_cell(print, chunk, col, row, &len);
        text_clear(&escaped);
        table_escape(text, len, &escaped);
        table_add(&print->table, col, text_cstr(&escaped), escaped.len, null);
    }
    text_free(&escaped);
}

void print_chunk(Print *print, const tcudb_chunk *chunk)
{
    assert(chunk->ncolumns == print->ncols);
    bool table = is_table(print->shell);
    const PrintMode *mode = &print_modes[print->shell->look.mode];
    for (uint64_t row = 0; row < chunk->rows; row++) {
        if (table)
            collect(print, chunk, row);
        else
            mode->row(print, chunk, row);
        print->rows++;
    }
}

static void print_table(Print *print)
{
    Shell *shell = print->shell;
    Look *look = &shell->look;
    bool expanded = look->expanded == SWITCH_ON && look->mode <= MODE_ALIGNED;
    uint64_t lines = expanded ? table_kept(&print->table) * (print->ncols + 1) : table_kept(&print->table) + 6;
    FILE *to = pager_open(shell, lines);
    if (expanded)
        expanded_table(print, to);
    else
        print_modes[look->mode].table(print, to);
    pager_close(shell, to);
}

void print_end(Print *print)
{
    Shell *shell = print->shell;
    if (print->cols == NULL) return;
    if (is_table(shell))
        print_table(print);
    else if (print_modes[shell->look.mode].end != NULL)
        print_modes[shell->look.mode].end(print);
    if (shell_interrupted) clearerr(shell->out.file); /* a write that the signal ended is no fault */
    print_free(print);
}

void print_free(Print *print)
{
    for (uint32_t i = 0; print->cols != NULL && i < print->ncols; i++) {
        free((void *)print->cols[i].name);
        free((void *)print->cols[i].type_name);
    }
    free(print->cols);
    print->cols = NULL;
    text_free(&print->cell);
    table_free(&print->table);
}

void print_footer(Print *print, FILE *to)
{
    const Look *look = &print->shell->look;
    if (!look->footer || look->tuples_only) return;
    unsigned long long rows = print->rows;
    fprintf(to, "(%llu row%s", rows, rows == 1 ? "" : "s");
    if (table_cut(&print->table)) fprintf(to, ", %llu shown", (unsigned long long)table_kept(&print->table));
    fputs(shell_interrupted ? ", stopped)\n" : ")\n", to);
}
