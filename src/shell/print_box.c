/*
 * print_box.c: boxes for people. On a terminal a table is cut to the screen:
 *
 *     ┌─────────┬───────────┐
 *     │    a    │     b     │     names and types in the middle, numbers to the right
 *     │ integer │   text    │
 *     ├─────────┼───────────┤
 *     │       1 │ a long t… │     long values end in …, middle columns give way to one column of …
 *     │       ⋮ │ ⋮         │     rows in the middle to a row of ⋮
 *     └─────────┴───────────┘
 *     (1000 rows, 40 shown)
 *
 * Nothing is cut when the output is not a terminal.
 */
#include "print.h"
#include "width.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NARROWEST = 12, LEAST = 2 }; /* a column is cut below the first only where no two fit otherwise */

typedef struct Box {
    const Table *table;
    FILE *to;
    bool types;
    size_t *widths;
    uint32_t left;  /* columns shown from the left, */
    uint32_t right; /* and from the right; all if they meet */
    int64_t *shown; /* columns in order; -1: the hidden ones */
    uint32_t nshown;
} Box;

static bool all_columns(const Box *box)
{
    return box->left + box->right == box->table->ncols;
}

/* The first line of a cell; text that has more ends in ↵. */
static size_t first_line(const char *text, size_t len, bool *more)
{
    const char *eol = memchr(text, '\n', len);
    *more = eol != NULL;
    return eol == NULL ? len : (size_t)(eol - text);
}

static size_t natural_width(const char *text, size_t len)
{
    bool more = false;
    size_t n = first_line(text, len, &more);
    return text_width(text, n) + (more ? 1 : 0);
}

static void widen(size_t *width, size_t to)
{
    if (to > *width) *width = to;
}

static void measure(Box *box, bool names)
{
    const Table *table = box->table;
    for (uint32_t c = 0; c < table->ncols; c++) {
        if (names) widen(&box->widths[c], text_width(table->names[c], strlen(table->names[c])));
        if (box->types) widen(&box->widths[c], text_width(table->types[c], strlen(table->types[c])));
        if (box->widths[c] == 0) box->widths[c] = 1;
    }
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++) {
        const Cell *row = table_at(table, r);
        for (uint32_t c = 0; c < table->ncols; c++) widen(&box->widths[c], natural_width(row[c].text, row[c].len));
    }
}

/* Width of the box if no column is wider than `cap`. */
static size_t total_width(const Box *box, size_t cap)
{
    size_t total = 1;
    for (uint32_t c = 0; c < box->table->ncols; c++) {
        bool hidden = c >= box->left && c < box->table->ncols - box->right;
        if (!hidden) total += (box->widths[c] < cap ? box->widths[c] : cap) + 3;
    }
    return total + (all_columns(box) ? 0 : 4);
}

static void fit(Box *box, size_t screen)
{
    size_t widest = 0;
    for (uint32_t c = 0; c < box->table->ncols; c++) widen(&widest, box->widths[c]);
    size_t cap = widest;
    if (screen == 0 || total_width(box, cap) <= screen) return;
    while (cap > NARROWEST && total_width(box, cap) > screen) cap--;
    for (uint32_t shown = box->table->ncols; shown > 2 && total_width(box, cap) > screen;) {
        shown--;
        box->left = (shown + 1) / 2;
        box->right = shown / 2;
    }
    while (cap > LEAST && total_width(box, cap) > screen) cap--;
    while (cap < widest && total_width(box, cap + 1) <= screen) cap++; /* room that the hidden columns left */
    for (uint32_t c = 0; c < box->table->ncols; c++)
        if (box->widths[c] > cap) box->widths[c] = cap;
}

static void choose_columns(Box *box)
{
    box->shown = shell_alloc((box->table->ncols + 2) * sizeof *box->shown);
    for (uint32_t c = 0; c < box->left; c++) box->shown[box->nshown++] = c;
    if (!all_columns(box)) box->shown[box->nshown++] = -1;
    for (uint32_t c = box->table->ncols - box->right; c < box->table->ncols; c++) box->shown[box->nshown++] = c;
}

static void rule(const Box *box, const char *left, const char *cross, const char *right)
{
    fputs(left, box->to);
    for (uint32_t i = 0; i < box->nshown; i++) {
        size_t width = box->shown[i] < 0 ? 1 : box->widths[box->shown[i]];
        if (i > 0) fputs(cross, box->to);
        for (size_t k = 0; k < width + 2; k++) fputs("─", box->to);
    }
    fprintf(box->to, "%s\n", right);
}

typedef enum Place { PLACE_LEFT, PLACE_RIGHT, PLACE_MIDDLE } Place;

static void cell(const Box *box, size_t width, const char *text, size_t len, Place place)
{
    bool more = false;
    size_t n = first_line(text, len, &more);
    size_t have = text_width(text, n) + (more ? 1 : 0);
    const char *end = more ? "↵" : "";
    if (have > width) {
        n = text_fit(text, n, width - 1, &have);
        have++;
        end = "…";
    }
    size_t pad = width - have;
    size_t before = place == PLACE_RIGHT ? pad : place == PLACE_MIDDLE ? pad / 2 : 0;
    fputc(' ', box->to);
    print_spaces(box->to, before);
    fwrite(text, 1, n, box->to);
    fputs(end, box->to);
    print_spaces(box->to, pad - before + 1);
}

/* Calls for each visible column what `text` says of it. */
typedef void (*CellFn)(const Box *box, uint32_t col, const void *row);

static void line(const Box *box, CellFn fn, const void *row)
{
    for (uint32_t i = 0; i < box->nshown; i++) {
        fputs("│", box->to);
        if (box->shown[i] < 0)
            fputs(" … ", box->to);
        else
            fn(box, (uint32_t)box->shown[i], row);
    }
    fputs("│\n", box->to);
}

static void name_cell(const Box *box, uint32_t col, const void *row)
{
    char *const *texts = row;
    cell(box, box->widths[col], texts[col], strlen(texts[col]), PLACE_MIDDLE);
}

static void value_cell(const Box *box, uint32_t col, const void *row)
{
    const Cell *cells = row;
    cell(box, box->widths[col], cells[col].text, cells[col].len, box->table->right[col] ? PLACE_RIGHT : PLACE_LEFT);
}

static void gap_cell(const Box *box, uint32_t col, const void *row)
{
    (void)row;
    cell(box, box->widths[col], "⋮", strlen("⋮"), box->table->right[col] ? PLACE_RIGHT : PLACE_LEFT);
}

static void footer(const Box *box, Print *print)
{
    const Look *look = &print->shell->look;
    if (!look->footer || look->tuples_only) return;
    fprintf(box->to, "(%llu row%s", (unsigned long long)print->rows, print->rows == 1 ? "" : "s");
    if (table_cut(box->table)) fprintf(box->to, ", %llu shown", (unsigned long long)table_kept(box->table));
    if (!all_columns(box)) fprintf(box->to, ", %u of %u columns shown", box->left + box->right, box->table->ncols);
    fputs(shell_interrupted ? ", stopped)\n" : ")\n", box->to);
}

static void draw(const Box *box, Print *print, bool names)
{
    const Table *table = box->table;
    rule(box, "┌", "┬", "┐");
    if (names) {
        line(box, name_cell, table->names);
        if (box->types) line(box, name_cell, table->types);
        rule(box, "├", "┼", "┤");
    }
    for (uint64_t r = 0; r < table_kept(table) && !shell_interrupted; r++) {
        if (r == table->head_rows && table_cut(table)) line(box, gap_cell, NULL);
        line(box, value_cell, table_at(table, r));
    }
    rule(box, "└", "┴", "┘");
    footer(box, print);
}

void box_table(Print *print, FILE *to)
{
    const Look *look = &print->shell->look;
    bool names = look->headers && !look->tuples_only;
    Box box = {.table = &print->table, .to = to, .types = look->types && names, .left = print->ncols};
    box.widths = shell_alloc((print->ncols + 1) * sizeof *box.widths);
    measure(&box, names);
    size_t screen = look->max_width;
    if (screen == 0 && print->shell->tty_out && print->shell->out.file == stdout) screen = screen_width();
    fit(&box, screen);
    assert(box.left + box.right <= print->ncols);
    choose_columns(&box);
    draw(&box, print, names);
    free(box.widths);
    free(box.shown);
}
