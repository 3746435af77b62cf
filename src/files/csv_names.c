/*
 * csv_names.c: the names of a file's columns: each once.
 *
 * A header may have tens of thousands of names, so whether one is taken is looked up by hash (open addressing, at most
 * half full), and a name that comes often keeps the number that its next column tries first. Cost: O(bytes).
 */
#include "files/csv.h"

#include <xxhash.h>

typedef struct NameSet {
    uint32_t *slots; /* a column's number + 1; 0: free */
    uint32_t mask;
} NameSet;

static tcudb_status set_init(NameSet *set, Arena *arena, uint32_t n, Error *err)
{
    uint32_t size = 16;
    while (size < n * 2) size *= 2;
    set->slots = ARENA_ARRAY(arena, uint32_t, size, err);
    TRY_PTR(set->slots);
    set->mask = size - 1;
    return TCUDB_OK;
}

/* The slot of `name`, taken by an equal name or free. */
static uint32_t *set_slot(const NameSet *set, const Str *names, Str name)
{
    uint32_t at = (uint32_t)XXH3_64bits(name.ptr, name.len) & set->mask;
    while (set->slots[at] != 0 && !str_equal(names[set->slots[at] - 1], name)) at = (at + 1) & set->mask;
    return &set->slots[at];
}

tcudb_status csv_distinct(Arena *arena, const Str *cells, uint32_t n, bool *distinct, Error *err)
{
    NameSet set;
    TRY(set_init(&set, arena, n, err));
    *distinct = true;
    for (uint32_t c = 0; c < n && *distinct; c++) {
        if (cells[c].len == 0) continue;
        uint32_t *slot = set_slot(&set, cells, cells[c]);
        *distinct = *slot == 0;
        *slot = c + 1;
    }
    return TCUDB_OK;
}

/* Names and for each the number that the next column of that name tries. */
typedef struct Names {
    Arena *arena;
    NameSet set;
    Str *names;
    uint32_t *next;
} Names;

/* A name that is taken gets a number. */
static tcudb_status take_name(Names *n, uint32_t col, const char *base, const char **name, Error *err)
{
    *name = base;
    uint32_t *slot = set_slot(&n->set, n->names, str_of(base));
    if (*slot != 0) {
        uint32_t *next = &n->next[*slot - 1];
        while (*slot != 0) {
            *name = arena_printf(n->arena, err, "%s_%u", base, ++*next);
            TRY_PTR(*name);
            slot = set_slot(&n->set, n->names, str_of(*name));
        }
    }
    n->names[col] = str_of(*name);
    *slot = col + 1;
    return TCUDB_OK;
}

/* Empty and missing cells become column1, ... */
tcudb_status csv_name_columns(Arena *arena, CsvFormat *f, const Str *cells, Error *err)
{
    Names n = {.arena = arena};
    TRY(set_init(&n.set, arena, f->nfields, err));
    n.names = ARENA_ARRAY(arena, Str, f->nfields, err);
    TRY_PTR(n.names);
    n.next = ARENA_ARRAY(arena, uint32_t, f->nfields, err);
    TRY_PTR(n.next);
    for (uint32_t c = 0; c < f->nfields; c++) {
        Str cell = cells == NULL ? (Str){0} : cells[c];
        const char *base =
            cell.len > 0 ? arena_strndup(arena, cell.ptr, cell.len, err) : arena_printf(arena, err, "column%u", c + 1);
        TRY_PTR(base);
        TRY(take_name(&n, c, base, &f->cols[c].name, err));
    }
    return TCUDB_OK;
}
