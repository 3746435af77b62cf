/*
 * listing.c: rows of listings as texts; queries that are shown bare or as INSERT statements.
 */
#include "listing.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { LISTING_COLUMNS = 5 };

/* The value whole, however long. */
static char *cell_text(const tcudb_chunk *chunk, uint32_t column, uint64_t row)
{
    size_t n = tcudb_format(chunk, column, row, NULL, 0);
    if (n == SIZE_MAX) shell_out_of_memory();
    char *text = shell_alloc(n + 1);
    if (tcudb_format(chunk, column, row, text, n + 1) == SIZE_MAX) shell_out_of_memory();
    return text;
}

void shell_each_row(const tcudb_result *result, RowFn fn, void *ctx)
{
    uint32_t n = tcudb_result_columns(result);
    assert(n <= LISTING_COLUMNS);
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        for (uint64_t row = 0; row < chunk->rows; row++) {
            char *cells[LISTING_COLUMNS] = {0};
            for (uint32_t c = 0; c < n; c++) cells[c] = cell_text(chunk, c, row);
            fn(ctx, cells);
            for (uint32_t c = 0; c < n; c++) free(cells[c]);
        }
    }
}

bool shell_matches(const char *pattern, const char *name)
{
    return pattern == NULL || fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

const char *shell_pattern(const Args *args)
{
    return args->n == 0 ? NULL : args->arg[0];
}

static void show(Shell *shell, const char *sql, Mode mode)
{
    Look look = shell->look;
    bool timing = shell->timing;
    shell->look.mode = mode;
    shell->look.tuples_only = shell->look.tuples_only || mode == MODE_UNALIGNED;
    shell->timing = false;
    if (!shell_run(shell, sql)) shell->failed = true;
    shell->look = look;
    shell->timing = timing;
}

void shell_show(Shell *shell, const char *sql)
{
    show(shell, sql, MODE_UNALIGNED);
}

void shell_show_lines(Shell *shell, const char *query, const char *name)
{
    Text sql = {0};
    const char *at = strchr(query, '@');
    assert(at != NULL);
    text_printf(&sql, "%.*s'", (int)(at - query), query);
    for (const char *c = name; *c != '\0'; c++) text_printf(&sql, *c == '\'' ? "'%c" : "%c", *c);
    text_printf(&sql, "'%s", at + 1);
    shell_show(shell, text_cstr(&sql));
    text_free(&sql);
}

void shell_show_inserts(Shell *shell, const char *sql, const char *into)
{
    static const char variable[] = "INSERT_TABLE";
    const char *before = var_get(shell, variable, sizeof variable - 1);
    char *kept = before == NULL ? NULL : shell_strdup(before);
    var_set(shell, variable, into);
    show(shell, sql, MODE_INSERT);
    if (kept != NULL)
        var_set(shell, variable, kept);
    else
        var_unset(shell, variable);
    free(kept);
}
