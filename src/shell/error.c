/*
 * error.c: errors as psql prints them, to standard error:
 *
 *     ERROR:  column "x" does not exist
 *     LINE 1: select x from t
 *                    ^
 *     HINT:  ...
 *
 * Only the line with the error is shown, and of a long line the part around it.
 */
#include "shell.h"
#include "width.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum { SHOWN_COLUMNS = 60, RIGHT_COLUMNS = 10 }; /* as in psql */

/* Byte offset of a 1-based character position; the length if it lies beyond. */
static size_t offset_of(const char *sql, int position)
{
    assert(position >= 1);
    return text_chars(sql, strlen(sql), (size_t)position - 1);
}

static void print_caret(const char *prefix, const char *line, size_t len, size_t at)
{
    size_t column = text_width(line, at);
    size_t total = text_width(line, len);
    size_t from = 0;
    const char *before = "";
    const char *after = "";
    size_t shown = 0;
    if (total > SHOWN_COLUMNS && column + RIGHT_COLUMNS > SHOWN_COLUMNS) {
        size_t start = column + RIGHT_COLUMNS - SHOWN_COLUMNS;
        from = text_fit(line, len, start, &shown);
        before = "...";
    }
    size_t fits = text_fit(line + from, len - from, SHOWN_COLUMNS, &shown);
    if (from + fits < len) after = "...";
    fprintf(stderr, "%s%s%.*s%s\n", prefix, before, (int)fits, line + from, after);
    size_t indent = strlen(prefix) + strlen(before) + text_width(line + from, at - from);
    fprintf(stderr, "%*s^\n", (int)indent, "");
}

static void print_line(const char *sql, int position)
{
    size_t at = offset_of(sql, position);
    size_t start = at;
    unsigned number = 1;
    while (start > 0 && sql[start - 1] != '\n') start--;
    for (size_t i = 0; i < start; i++) number += sql[i] == '\n';
    size_t len = strcspn(sql + start, "\r\n");
    char prefix[32];
    snprintf(prefix, sizeof prefix, "LINE %u: ", number);
    char line[4096];
    if (len >= sizeof line) {
        size_t skip = at - start > sizeof line / 2 ? at - start - sizeof line / 2 : 0;
        start += skip;
        len = len - skip < sizeof line - 1 ? len - skip : sizeof line - 1;
    }
    memcpy(line, sql + start, len);
    for (size_t i = 0; i < len; i++)
        if (line[i] == '\t') line[i] = ' ';
    print_caret(prefix, line, len, at - start < len ? at - start : len);
}

static void print_place(const Shell *shell)
{
    if (shell->file_name != NULL) fprintf(stderr, "tcudb:%s:%u: ", shell->file_name, shell->line);
}

/* tcudb -f data.csv: the file is to blame, not the statement. false: it is SQL, as far as its name tells. */
static bool print_data_hint(const Shell *shell, const tcudb_error *err)
{
    const char *name = shell->file_name;
    if (name == NULL || strcmp(err->sqlstate, "42601") != 0) return false;
    if (file_kind(name) == FILE_DATA) {
        fprintf(stderr, "HINT:  %s holds data, and what runs here is SQL: SELECT * FROM '%s' reads it.\n", name, name);
        return true;
    }
    if (file_kind(name) != FILE_BINARY && file_kind(name) != FILE_DATABASE) return false;
    fprintf(stderr,
            "HINT:  %s holds data, and what runs here is SQL: export it as CSV, which SELECT * FROM 'file.csv' "
            "reads.\n",
            name);
    return true;
}

void shell_error(Shell *shell, const tcudb_error *err, const char *sql)
{
    fflush(shell->out.file);
    progress_clear();
    print_place(shell);
    if (shell->verbose_errors)
        fprintf(stderr, "ERROR:  %s: %s\n", err->sqlstate, err->message);
    else
        fprintf(stderr, "ERROR:  %s\n", err->message);
    if (err->position > 0 && sql != NULL) print_line(sql, err->position);
    if (err->detail[0] != '\0') fprintf(stderr, "DETAIL:  %s\n", err->detail);
    if (err != &shell->error) shell->error = *err;
    if (print_data_hint(shell, err)) return;
    const char *own = sql == NULL ? NULL : shell_mistake(sql, err); /* knows more than "add type casts" */
    const char *hint = own != NULL ? own : err->hint;
    if (hint[0] != '\0') fprintf(stderr, "HINT:  %s\n", hint);
}

void shell_complain(Shell *shell, const char *format, ...)
{
    va_list args;
    fflush(shell->out.file);
    print_place(shell);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    shell->failed = true;
}
