/*
 * grid.c: tables that the shell fills by itself, printed by the same code as results.
 */
#include "command.h"
#include "print.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct Grid {
    Print print;
    char *title;
    unsigned n;
};

Grid *grid_new(Shell *shell, const char *title, const char *const *names, unsigned n)
{
    Grid *grid = shell_alloc(sizeof *grid);
    tcudb_column_info *cols = shell_alloc(n * sizeof *cols);
    for (unsigned i = 0; i < n; i++)
        cols[i] = (tcudb_column_info){.name = names[i], .type_name = "text", .type = TCUDB_TYPE_TEXT};
    print_init(&grid->print, shell);
    table_begin(&grid->print.table, cols, n);
    grid->print.ncols = grid->n = n;
    grid->title = title == NULL ? NULL : shell_strdup(title);
    free(cols);
    return grid;
}

void grid_add(Grid *grid, const char *const *cells)
{
    table_row(&grid->print.table);
    for (unsigned i = 0; i < grid->n; i++) {
        const char *text = cells[i] == NULL ? "" : cells[i];
        table_add(&grid->print.table, i, text, strlen(text), false);
    }
    grid->print.rows++;
}

void grid_print(Grid *grid)
{
    Shell *shell = grid->print.shell;
    Look look = shell->look;
    if (shell->look.mode > MODE_ALIGNED) shell->look.mode = MODE_ALIGNED;
    shell->look.types = false;
    assert(grid->print.table.names != NULL);
    FILE *to = pager_open(shell, grid->print.rows + 6);
    if (grid->title != NULL) fprintf(to, "%s\n", grid->title);
    if (shell->look.mode == MODE_BOX)
        box_table(&grid->print, to);
    else
        aligned_table(&grid->print, to);
    pager_close(shell, to);
    shell->look = look;
    grid_drop(grid);
}

void grid_drop(Grid *grid)
{
    print_free(&grid->print);
    free(grid->title);
    free(grid);
}
