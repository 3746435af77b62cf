/*
 * key_counts.c: the frequencies of a column's values.
 *
 * An array of counters over the column's exact bounds (of text: its dictionary) is filled in one pass over the column;
 * the TOP most frequent values are kept, found by a histogram of the counters, the others as a number of rows
 * and of values. Deleted rows count too. Of a table of more than ROWS_MAX rows every n-th batch is read.
 * Cost: a row about 1.5 ns, once a column of a table in a handle: at most some 2 ms. A table that has grown or shrunk
 * by a tenth is counted anew, one whose values were changed in place is not: these are estimates.
 */
#include "catalog/key_counts.h"
#include "base/cancel.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>

enum { ROWS_MAX = 1 << 20, SPAN_MAX = 1 << 22, CACHE = 256, SPAN_PER_ROW = 8, SMALL_SPAN = 1 << 16, TOP = 512 };

typedef struct KeyCount {
    int64_t key;
    double rows;
} KeyCount;

typedef struct KeyCounts {
    uint64_t dict; /* of text: keys are codes of this dictionary; 0: keys are the values */
    int64_t low;   /* no key is outside */
    uint64_t span;
    uint32_t n; /* by key */
    KeyCount top[TOP];
    double rest_rows, rest_values; /* of the others */
} KeyCounts;

typedef struct Slot {
    uint64_t table; /* id; 0: free */
    uint32_t col;
    uint64_t rows;
    KeyCounts *counts; /* NULL: it cannot be counted */
} Slot;

struct KeyCache {
    pthread_mutex_t lock;
    Slot slots[CACHE];
    KeyBatches *batches;
};

tcudb_status key_cache_new(KeyCache **out, Error *err)
{
    *out = mem_alloc_zero(NULL, sizeof **out, err);
    TRY_PTR(*out);
    pthread_mutex_init(&(*out)->lock, NULL);
    tcudb_status status = key_batches_new(&(*out)->batches, err);
    if (status == TCUDB_OK) return TCUDB_OK;
    key_cache_free(*out);
    *out = NULL;
    return status;
}

void key_cache_free(KeyCache *cache)
{
    if (cache == NULL) return;
    for (uint32_t i = 0; i < CACHE; i++) mem_free(NULL, cache->slots[i].counts, sizeof(KeyCounts));
    key_batches_free(cache->batches);
    pthread_mutex_destroy(&cache->lock);
    mem_free(NULL, cache, sizeof *cache);
}

KeyBatches *key_cache_batches(KeyCache *cache)
{
    return cache == NULL ? NULL : cache->batches;
}

/* ---- counting ------------------------------------------------------------------------------------- */

typedef struct Counting {
    const Table *table;
    uint32_t col;
    int64_t low;
    uint32_t span;
    uint32_t *counters;
    double scale; /* rows of the table a row read */
} Counting;

static bool number_of(const Value *value, int64_t *out)
{
    switch (type_phys(value->type)) {
    case PHYS_I16: *out = value->i16; return true;
    case PHYS_I32: *out = value->i32; return true;
    case PHYS_I64: *out = value->i64; return true;
    default: return false;
    }
}

/* Whether the column's values are few enough for counters. */
static tcudb_status find_span(Counting *c, const atomic_bool *cancel, uint64_t *dict, bool *ok, Error *err)
{
    TableFacts facts;
    int64_t high;
    TRY(table_facts(c->table, c->col, &facts, err));
    *dict = 0;
    if (type_is_text(table_def(c->table)->cols[c->col].type)) {
        DictView view;
        TRY(table_dict(c->table, c->col, cancel, &view, err));
        *dict = view.id;
        c->low = 0;
        high = (int64_t)view.count - 1;
        *ok = view.count > 0;
    } else {
        *ok = facts.has_bounds && number_of(&facts.min, &c->low) && number_of(&facts.max, &high);
    }
    if (!*ok) return TCUDB_OK;
    uint64_t span = (uint64_t)high - (uint64_t)c->low + 1, rows = table_rows(c->table);
    *ok = span > 0 && span <= SPAN_MAX && (span <= SMALL_SPAN || span <= rows * SPAN_PER_ROW);
    c->span = *ok ? (uint32_t)span : 0;
    return TCUDB_OK;
}

static void count_one(Counting *c, int64_t value)
{
    uint64_t at = (uint64_t)value - (uint64_t)c->low;
    if (at < c->span) c->counters[at]++;
}

#define COUNT(type)                                                                                                    \
    for (uint32_t i = 0; i < n; i++) {                                                                                 \
        uint32_t at = v->form == VEC_CONST ? 0 : i;                                                                    \
        if (v->valid == NULL || bit_get(v->valid, at)) count_one(c, (int64_t)((const type *)v->data)[at]);             \
    }

static void count_vector(Counting *c, const Vector *v, uint32_t n)
{
    if (v->form == VEC_DICT) {
        COUNT(uint32_t)
        return;
    }
    switch (v->phys) {
    case PHYS_I16: COUNT(int16_t); break;
    case PHYS_I32: COUNT(int32_t); break;
    case PHYS_I64: COUNT(int64_t); break;
    default: break;
    }
}

/* Every `step`-th batch of the column. */
static tcudb_status count_rows(Counting *c, const atomic_bool *cancel, Arena *batches, Error *err)
{
    uint64_t rows = table_rows(c->table), batch = 0, read = 0, step = rows / ROWS_MAX + 1;
    for (uint32_t s = 0; s < table_segments(c->table); s++) {
        TRY(cancel_poll(cancel, err));
        uint32_t all = segment_rows(c->table, s);
        for (uint32_t row = 0; row < all; row += BATCH_ROWS, batch++) {
            if (batch % step != 0) continue;
            uint32_t n = all - row < BATCH_ROWS ? all - row : BATCH_ROWS;
            Vector v;
            arena_reset(batches);
            TRY(segment_read(c->table, s, c->col, row, n, NULL, 0, batches, &v, err));
            count_vector(c, &v, n);
            read += n;
        }
    }
    c->scale = read > 0 ? (double)rows / (double)read : 1;
    return TCUDB_OK;
}

/* The least count of the most frequent values, so that these are at most TOP. */
static uint32_t threshold(const Counting *c)
{
    enum { CLASSES = 4096 };
    uint32_t classes[CLASSES] = {0}, most = 1, values = 0;
    for (uint32_t i = 0; i < c->span; i++) most = c->counters[i] > most ? c->counters[i] : most;
    double unit = most < CLASSES ? 1 : (double)most / (CLASSES - 1);
    for (uint32_t i = 0; i < c->span; i++) classes[(uint32_t)(c->counters[i] / unit)]++;
    uint32_t at = CLASSES;
    while (at > 1 && values + classes[at - 1] <= TOP) values += classes[--at];
    return (uint32_t)ceil(at * unit);
}

static void summarize(const Counting *c, KeyCounts *out)
{
    uint32_t least = threshold(c);
    for (uint32_t i = 0; i < c->span; i++) {
        double rows = c->counters[i] * c->scale;
        if (c->counters[i] == 0) continue;
        if (c->counters[i] >= least && out->n < TOP) {
            out->top[out->n++] = (KeyCount){.key = (int64_t)((uint64_t)c->low + i), .rows = rows};
        } else {
            out->rest_rows += rows;
            out->rest_values++;
        }
    }
}

/* *out NULL: it cannot be counted. */
static tcudb_status count_column(const Table *table, uint32_t col, Mem *mem, const atomic_bool *cancel, KeyCounts **out,
                                 Error *err)
{
    Counting c = {.table = table, .col = col};
    KeyCounts *counts;
    uint64_t dict;
    bool ok;
    *out = NULL;
    TRY(find_span(&c, cancel, &dict, &ok, err));
    if (!ok) return TCUDB_OK;
    TRY_PTR(c.counters = mem_alloc_zero(mem, c.span * sizeof *c.counters, err));
    Arena batches;
    arena_init(&batches, mem);
    tcudb_status status = count_rows(&c, cancel, &batches, err);
    arena_free(&batches);
    if (status == TCUDB_OK && (counts = mem_alloc_zero(NULL, sizeof *counts, err)) == NULL) status = TCUDB_NOMEM;
    if (status == TCUDB_OK) {
        *counts = (KeyCounts){.dict = dict, .low = c.low, .span = c.span};
        summarize(&c, counts);
        *out = counts;
    }
    mem_free(mem, c.counters, c.span * sizeof *c.counters);
    return status;
}

/* ---- remembering ---------------------------------------------------------------------------------- */

/* Temporary tables have ids apart from the others'. */
static uint64_t table_id(const Table *table)
{
    return table_def(table)->id;
}

static Slot *slot_of(KeyCache *cache, const KeySide *side)
{
    return &cache->slots[(table_id(side->table) * 31 + side->col) % CACHE];
}

static bool is_fresh(const Slot *slot, const KeySide *side)
{
    uint64_t rows = table_rows(side->table);
    return slot->table == table_id(side->table) && slot->col == side->col && slot->rows <= rows + rows / 10 &&
           rows <= slot->rows + slot->rows / 10;
}

static tcudb_status count_side(KeyCache *cache, const KeySide *side, Mem *mem, const atomic_bool *cancel, Error *err)
{
    KeyCounts *counts;
    pthread_mutex_lock(&cache->lock);
    Slot *slot = slot_of(cache, side);
    bool fresh = is_fresh(slot, side);
    pthread_mutex_unlock(&cache->lock);
    if (fresh) return TCUDB_OK;
    TRY(count_column(side->table, side->col, mem, cancel, &counts, err));
    pthread_mutex_lock(&cache->lock);
    mem_free(NULL, slot->counts, sizeof *slot->counts);
    *slot = (Slot){.table = table_id(side->table), .col = side->col, .rows = table_rows(side->table), .counts = counts};
    pthread_mutex_unlock(&cache->lock);
    return TCUDB_OK;
}

/* ---- pairs ---------------------------------------------------------------------------------------- */

/* Of so many rows of a value, those that are there, groups of them counting once. */
static double cells_of(const KeySide *side, double rows)
{
    double n = rows * side->share, g = side->groups;
    if (g == INFINITY || n <= 1 || g <= 1) return g < n ? g : n;
    return -expm1(n * log1p(-1 / g)) * g;
}

/* Of a value of the rest, on the average; of one that is frequent on the other side, which need not be there. */
static double cells_of_rest(const KeyCounts *c, const KeySide *side)
{
    return c->rest_values > 0 ? cells_of(side, c->rest_rows / c->rest_values) : 0;
}

static double chance(const KeyCounts *c, int64_t key)
{
    bool within = (uint64_t)key - (uint64_t)c->low < c->span;
    return within && c->span > c->n ? fmin(1, c->rest_values / (double)(c->span - c->n)) : 0;
}

static void meet(const KeyCounts *const c[2], const KeySide sides[2], KeyMeeting *out)
{
    double rest[2] = {cells_of_rest(c[0], &sides[0]), cells_of_rest(c[1], &sides[1])};
    uint32_t at[2] = {0, 0};
    *out = (KeyMeeting){.cells = {c[0]->rest_values * rest[0], c[1]->rest_values * rest[1]}};
    while (at[0] < c[0]->n || at[1] < c[1]->n) {
        double cells[2];
        bool here[2];
        for (uint32_t s = 0; s < 2; s++)
            here[s] =
                at[s] < c[s]->n && (at[1 - s] == c[1 - s]->n || c[s]->top[at[s]].key <= c[1 - s]->top[at[1 - s]].key);
        int64_t key = here[0] ? c[0]->top[at[0]].key : c[1]->top[at[1]].key;
        for (uint32_t s = 0; s < 2; s++) {
            cells[s] = here[s] ? cells_of(&sides[s], c[s]->top[at[s]].rows) : chance(c[s], key) * rest[s];
            out->cells[s] += here[s] ? cells[s] : 0;
            at[s] += here[s];
        }
        out->pairs += cells[0] * cells[1];
    }
    out->pairs += fmin(c[0]->rest_values, c[1]->rest_values) * rest[0] * rest[1];
}

tcudb_status key_meeting(KeyCache *cache, const KeySide sides[2], Arena *arena, const atomic_bool *cancel,
                         KeyMeeting *out, bool *known, Error *err)
{
    *known = false;
    if (cache == NULL) return TCUDB_OK;
    for (uint32_t s = 0; s < 2; s++) TRY(count_side(cache, &sides[s], arena->mem, cancel, err));
    pthread_mutex_lock(&cache->lock);
    const Slot *slots[2] = {slot_of(cache, &sides[0]), slot_of(cache, &sides[1])};
    const KeyCounts *counts[2] = {slots[0]->counts, slots[1]->counts};
    *known = is_fresh(slots[0], &sides[0]) && is_fresh(slots[1], &sides[1]) && counts[0] != NULL && counts[1] != NULL &&
             counts[0]->dict == counts[1]->dict;
    if (*known) meet(counts, sides, out);
    pthread_mutex_unlock(&cache->lock);
    return TCUDB_OK;
}
