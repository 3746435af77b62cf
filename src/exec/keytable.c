/*
 * keytable.c: numbers distinct keys: open addressing with linear probing over 8-byte slots (half a hash and
 * a row number), rows in one growing array. At most half full. Cost: one cache miss a probe for the slot and
 * one for the row. Limit: 2^32 - 2 rows.
 */
#include "exec/keys.h"

#include <assert.h>

enum { FIRST_SLOTS = 1024, FIRST_ROWS = 256 };

tcudb_status keytable_init(Exec *x, const KeySpec *spec, uint32_t state_bytes, Arena *text, KeyTable *out, Error *err)
{
    assert(state_bytes % 8 == 0);
    *out = (KeyTable){.x = x, .spec = spec, .text = text, .nslots = FIRST_SLOTS};
    out->state_at = (uint32_t)(sizeof(uint64_t) * (1 + spec->words));
    out->stride = out->state_at + state_bytes;
    out->slots = exec_alloc_zero(x, FIRST_SLOTS * sizeof *out->slots, err);
    TRY_PTR(out->slots);
    return TCUDB_OK;
}

void keytable_free(KeyTable *t)
{
    if (t->x == NULL) return;
    exec_free(t->x, t->slots);
    exec_free(t->x, t->rows);
    *t = (KeyTable){0};
}

void keytable_clear(KeyTable *t)
{
    t->n = 0;
    memset(t->slots, 0, t->nslots * sizeof *t->slots);
}

void keytable_take_rows(KeyTable *t)
{
    t->rows = NULL;
    t->cap = 0;
    keytable_clear(t);
}

static inline uint64_t row_hash(const KeyTable *t, uint32_t row)
{
    return *(const uint64_t *)(const void *)keytable_row(t, row);
}

static tcudb_status grow_slots(KeyTable *t, Error *err)
{
    uint64_t nslots = t->nslots * 4;
    uint64_t *slots = exec_alloc_zero(t->x, nslots * sizeof *slots, err);
    TRY_PTR(slots);
    for (uint32_t r = 0; r < t->n; r++) {
        uint64_t hash = row_hash(t, r), at = hash & (nslots - 1);
        while (slots[at] != 0) at = (at + 1) & (nslots - 1);
        slots[at] = (hash >> 32) << 32 | (r + 1);
        if ((r & 0xffff) == 0) TRY(exec_check_cancel(t->x, err));
    }
    exec_free(t->x, t->slots);
    t->slots = slots;
    t->nslots = nslots;
    return TCUDB_OK;
}

/* Room for so many more rows; the slots stay as they are. */
static tcudb_status keytable_grow(KeyTable *t, uint32_t more, Error *err)
{
    uint64_t wanted = (uint64_t)t->n + more;
    if (wanted >= ROWS_NONE) return exec_too_many_rows(err);
    if (wanted > t->cap) {
        uint64_t cap = t->cap == 0 ? FIRST_ROWS : (uint64_t)t->cap * 2;
        while (cap < wanted) cap *= 2;
        if (cap > ROWS_NONE) cap = ROWS_NONE;
        char *rows = exec_realloc(t->x, t->rows, cap * t->stride, err);
        TRY_PTR(rows);
        t->rows = rows;
        t->cap = (uint32_t)cap;
    }
    return TCUDB_OK;
}

tcudb_status keytable_reserve(KeyTable *t, uint32_t more, Error *err)
{
    TRY(keytable_grow(t, more, err));
    while (((uint64_t)t->n + more) * 2 > t->nslots) TRY(grow_slots(t, err));
    return TCUDB_OK;
}

static tcudb_status keep_text(KeyTable *t, uint64_t *key, Error *err)
{
    const KeySpec *spec = t->spec;
    for (uint32_t i = 0; i < spec->ntext && t->text != NULL; i++) {
        const char *text = (const char *)(uintptr_t)key[spec->compared + i];
        if (text == NULL) continue;
        Str kept = {text, (uint32_t)key[spec->text_word[i]]};
        TRY(exec_keep_text(t->x, t->text, &kept, err));
        key[spec->compared + i] = (uint64_t)(uintptr_t)kept.ptr;
    }
    return TCUDB_OK;
}

/* The slot of a key: its own, or the empty one where it belongs. */
static inline uint64_t find_slot(const KeyTable *t, const uint64_t *key, uint64_t hash)
{
    uint64_t mask = t->nslots - 1, at = hash & mask;
    for (;; at = (at + 1) & mask) {
        uint64_t slot = t->slots[at];
        if (slot == 0) return at;
        if (slot >> 32 != hash >> 32) continue;
        const char *row = keytable_row(t, (uint32_t)slot - 1);
        if (keys_equal(t->spec, (const uint64_t *)(const void *)(row + 8), key)) return at;
    }
}

/* A row at the end. */
static inline tcudb_status put_row(KeyTable *t, const uint64_t *key, uint64_t hash, Error *err)
{
    assert(t->n < t->cap);
    char *row = keytable_row(t, t->n);
    uint64_t *to = (uint64_t *)(void *)row, *end = (uint64_t *)(void *)(row + t->stride);
    *to++ = hash;
    for (uint32_t i = 0; i < t->spec->words; i++) *to++ = key[i]; /* mostly few: no calls */
    while (to < end) *to++ = 0;
    if (t->spec->ntext > 0) TRY(keep_text(t, (uint64_t *)(void *)(row + 8), err));
    t->n++;
    return TCUDB_OK;
}

static tcudb_status insert(KeyTable *t, uint64_t at, const uint64_t *key, uint64_t hash, Error *err)
{
    TRY(put_row(t, key, hash, err));
    t->slots[at] = (hash >> 32) << 32 | t->n;
    return TCUDB_OK;
}

tcudb_status keytable_find(KeyTable *t, const uint64_t *keys, const uint64_t *hash, uint32_t n, uint32_t *out,
                           Error *err)
{
    TRY(keytable_reserve(t, n, err));
    uint32_t words = t->spec->words;
    uint64_t mask = t->nslots - 1;
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&t->slots[hash[i] & mask]);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *key = keys + (size_t)i * words;
        if (i > 0 && hash[i] == hash[i - 1] && keys_equal(t->spec, key, key - words)) { /* sorted input has runs */
            out[i] = out[i - 1];
            continue;
        }
        uint64_t at = find_slot(t, key, hash[i]);
        if (t->slots[at] == 0) TRY(insert(t, at, key, hash[i], err));
        out[i] = (uint32_t)t->slots[at] - 1;
    }
    return TCUDB_OK;
}

bool keytable_get(const KeyTable *t, const uint64_t *key, uint64_t hash, uint32_t *out)
{
    uint64_t at = find_slot(t, key, hash);
    if (t->slots[at] == 0) return false;
    *out = (uint32_t)t->slots[at] - 1;
    return true;
}

tcudb_status keytable_append(KeyTable *t, const uint64_t *keys, const uint64_t *hash, uint32_t n, uint32_t *first,
                             Error *err)
{
    uint32_t words = t->spec->words;
    TRY(keytable_grow(t, n, err));
    *first = t->n;
    for (uint32_t i = 0; i < n; i++) TRY(put_row(t, keys + (size_t)i * words, hash[i], err));
    return TCUDB_OK;
}

tcudb_status keytable_add(KeyTable *t, const uint64_t *key, uint64_t hash, uint32_t *out, bool *found, Error *err)
{
    TRY(keytable_reserve(t, 1, err));
    uint64_t at = find_slot(t, key, hash);
    *found = t->slots[at] != 0;
    if (!*found) TRY(insert(t, at, key, hash, err));
    *out = (uint32_t)t->slots[at] - 1;
    return TCUDB_OK;
}
