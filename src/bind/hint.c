/*
 * hint.c: "Perhaps you meant to reference the column ...": the columns nearest to a name that is not there.
 *
 * Distance is the number of characters to insert, delete or replace; a wrong table name adds its own distance. Up
 * to two columns at the smallest distance are suggested, none if there are more, and none that differs in more than
 * half of the name's characters: PostgreSQL's rules, so that its hints come out.
 */
#include "bind/bind_int.h"

#include <assert.h>

enum { DISTANCE_MAX = 3, NAME_BYTES_MAX = 255 };

static uint32_t least3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Edits between two names, bytes taken as characters; more than DISTANCE_MAX is all the same. */
static uint32_t distance(Str a, Str b)
{
    uint32_t row[NAME_BYTES_MAX + 1];
    if (a.len > NAME_BYTES_MAX || b.len > NAME_BYTES_MAX) return DISTANCE_MAX + 1;
    if ((a.len > b.len ? a.len - b.len : b.len - a.len) > DISTANCE_MAX) return DISTANCE_MAX + 1;
    for (uint32_t j = 0; j <= b.len; j++) row[j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            uint32_t replaced = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            diagonal = row[j];
            row[j] = least3(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[b.len] > DISTANCE_MAX ? DISTANCE_MAX + 1 : row[b.len];
}

typedef struct Nearest {
    uint32_t distance;
    uint32_t n; /* how many of the two below are set */
    const ScopeItem *items[2];
    const ScopeCol *cols[2];
    const ScopeItem *exact; /* has the very column, but it is out of sight */
} Nearest;

static void consider(Nearest *nearest, const ScopeItem *item, const ScopeCol *col, Str name, uint32_t penalty)
{
    if (penalty > nearest->distance) return;
    uint32_t d = distance(col->name, name);
    if (d > name.len / 2) return;
    d += penalty;
    if (d > nearest->distance) return;
    if (d < nearest->distance) nearest->n = 0;
    nearest->distance = d;
    if (nearest->n == 2) { /* three as good as each other: no suggestion, and nothing worse either */
        nearest->n = 0;
        nearest->distance--;
        return;
    }
    if (d > DISTANCE_MAX) return;
    nearest->items[nearest->n] = item;
    nearest->cols[nearest->n++] = col;
}

static void search_item(Nearest *nearest, const ScopeItem *item, Str table, Str name)
{
    uint32_t penalty = table.len == 0 ? 0 : distance(table, item->name);
    for (uint32_t i = 0; i < item->ncols; i++) {
        if (str_equal(item->cols[i].name, name) && penalty == 0) nearest->exact = item;
        if (!str_equal(item->cols[i].name, name) || penalty > 0) consider(nearest, item, &item->cols[i], name, penalty);
    }
}

void bind_hint_column(const Block *block, Str table, Str name, Error *err)
{
    Nearest nearest = {.distance = DISTANCE_MAX + 1};
    for (const Block *at = block; at != NULL && nearest.exact == NULL; at = at->outer) {
        for (uint32_t i = 0; i < at->nitems && nearest.exact == NULL; i++) {
            if (!at->items[i]->join) search_item(&nearest, at->items[i], table, name);
        }
    }
    if (nearest.exact != NULL) {
        error_hint(err,
                   "There is a column named \"" STR_FMT "\" in table \"" STR_FMT
                   "\", but it cannot be referenced from this part of the query.",
                   STR_ARG(name), STR_ARG(nearest.exact->name));
        return;
    }
    assert(nearest.n <= 2);
    if (nearest.n == 1) {
        error_hint(err, "Perhaps you meant to reference the column \"" STR_FMT "." STR_FMT "\".",
                   STR_ARG(nearest.items[0]->name), STR_ARG(nearest.cols[0]->name));
    } else if (nearest.n == 2) {
        error_hint(err,
                   "Perhaps you meant to reference the column \"" STR_FMT "." STR_FMT "\" or the column \"" STR_FMT
                   "." STR_FMT "\".",
                   STR_ARG(nearest.items[0]->name), STR_ARG(nearest.cols[0]->name), STR_ARG(nearest.items[1]->name),
                   STR_ARG(nearest.cols[1]->name));
    }
}
