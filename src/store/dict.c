/*
 * dict.c: the dictionary of a text column: code -> text and text -> code, append-only.
 *
 * Look-ups take no lock: values[] and the hash table are published by pointer, and a slot is written after the
 * value that it names. Inserting takes the lock once for a batch of misses. When values[] or the table must grow,
 * a larger copy is published and the old one is kept until the dictionary goes, since a reader may still hold
 * it; sizes double, so that costs at most as much again.
 *
 *     slot = high 32 bits of the hash << 32 | code + 1        0: free; linear probing, at most half full
 *
 * Invariants: values[0..count) never change; a code below a snapshot's count is in every table published since.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

enum { DICT_FIRST = 64, CHUNK_FIRST = 1024, CHUNK_MAX = 1 << 20 };

/* A block kept until the end: retired arrays and the texts' bytes. */
typedef struct Kept Kept;
struct Kept {
    Kept *next;
    size_t size;
};

typedef struct SlotTable {
    Kept kept;
    uint32_t mask;
    _Atomic uint64_t slots[];
} SlotTable;

typedef struct Values {
    Kept kept;
    uint32_t cap;
    Str at[];
} Values;

struct Dict {
    _Atomic uint32_t refs;
    Mem *mem;
    uint64_t id;
    pthread_mutex_t lock; /* of everything below that is not atomic */
    _Atomic uint32_t count;
    _Atomic(SlotTable *) table;
    _Atomic(Values *) values;
    Kept *kept;
    char *chunk_at;
    char *chunk_end;
    size_t chunk_size;
};

static void *keep(Dict *dict, size_t size, Error *err)
{
    Kept *kept = mem_alloc_zero(dict->mem, size, err);
    if (kept == NULL) return NULL;
    kept->size = size;
    kept->next = dict->kept;
    dict->kept = kept;
    return kept;
}

tcudb_status dict_new(Mem *mem, uint64_t id, Dict **out, Error *err)
{
    Dict *dict = mem_alloc_zero(mem, sizeof *dict, err);
    TRY_PTR(dict);
    atomic_init(&dict->refs, 1);
    dict->mem = mem;
    dict->id = id;
    dict->chunk_size = CHUNK_FIRST;
    pthread_mutex_init(&dict->lock, NULL);
    SlotTable *table = keep(dict, sizeof *table + 2 * DICT_FIRST * sizeof table->slots[0], err);
    Values *values = table == NULL ? NULL : keep(dict, sizeof *values + DICT_FIRST * sizeof(Str), err);
    if (values == NULL) {
        dict_unref(dict);
        return TCUDB_NOMEM;
    }
    table->mask = 2 * DICT_FIRST - 1;
    values->cap = DICT_FIRST;
    atomic_init(&dict->table, table);
    atomic_init(&dict->values, values);
    *out = dict;
    return TCUDB_OK;
}

void dict_ref(Dict *dict)
{
    if (dict != NULL) atomic_fetch_add(&dict->refs, 1);
}

void dict_unref(Dict *dict)
{
    if (dict == NULL || atomic_fetch_sub(&dict->refs, 1) != 1) return;
    for (Kept *k = dict->kept; k != NULL;) {
        Kept *next = k->next;
        mem_free(dict->mem, k, k->size);
        k = next;
    }
    pthread_mutex_destroy(&dict->lock);
    mem_free(dict->mem, dict, sizeof *dict);
}

uint64_t dict_id(const Dict *dict)
{
    return dict->id;
}

uint32_t dict_count(const Dict *dict)
{
    return atomic_load_explicit(&dict->count, memory_order_acquire);
}

const Str *dict_values(const Dict *dict)
{
    return atomic_load_explicit(&dict->values, memory_order_acquire)->at;
}

uint64_t dict_hash(Str text)
{
    return XXH3_64bits(text.len == 0 ? "" : text.ptr, text.len);
}

bool dict_find(const Dict *dict, Str text, uint64_t hash, uint32_t limit, uint32_t *code)
{
    const SlotTable *table = atomic_load_explicit(&dict->table, memory_order_acquire);
    for (uint32_t i = (uint32_t)hash & table->mask;; i = (i + 1) & table->mask) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);
        if (slot == 0) return false;
        uint32_t found = (uint32_t)slot - 1;
        if (slot >> 32 != hash >> 32 || found >= limit) continue;
        if (!str_equal(dict_values(dict)[found], text)) continue;
        *code = found;
        return true;
    }
}

static void put_slot(SlotTable *table, uint64_t hash, uint32_t code)
{
    uint32_t i = (uint32_t)hash & table->mask;
    while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0) i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slots[i], hash >> 32 << 32 | (code + 1), memory_order_release);
}

static tcudb_status grow_values(Dict *dict, Error *err)
{
    Values *old = atomic_load(&dict->values);
    if (old->cap > UINT32_MAX / 4)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a text column holds more than %u distinct values",
                         old->cap);
    Values *values = keep(dict, sizeof *values + (size_t)old->cap * 2 * sizeof(Str), err);
    TRY_PTR(values);
    values->cap = old->cap * 2;
    memcpy(values->at, old->at, old->cap * sizeof(Str));
    atomic_store_explicit(&dict->values, values, memory_order_release);
    return TCUDB_OK;
}

static tcudb_status grow_table(Dict *dict, Error *err)
{
    SlotTable *old = atomic_load(&dict->table);
    size_t slots = ((size_t)old->mask + 1) * 2;
    SlotTable *table = keep(dict, sizeof *table + slots * sizeof table->slots[0], err);
    TRY_PTR(table);
    table->mask = (uint32_t)(slots - 1);
    const Str *values = dict_values(dict);
    uint32_t count = dict_count(dict);
    for (uint32_t code = 0; code < count; code++) put_slot(table, dict_hash(values[code]), code);
    atomic_store_explicit(&dict->table, table, memory_order_release);
    return TCUDB_OK;
}

static tcudb_status copy_text(Dict *dict, Str text, Str *out, Error *err)
{
    if ((size_t)(dict->chunk_end - dict->chunk_at) < text.len) {
        size_t size = dict->chunk_size > 2 * (size_t)text.len ? dict->chunk_size : sizeof(Kept) + text.len;
        char *chunk = keep(dict, size, err);
        TRY_PTR(chunk);
        if (size != dict->chunk_size) { /* a long text has a block of its own */
            memcpy(chunk + sizeof(Kept), text.ptr, text.len);
            *out = (Str){chunk + sizeof(Kept), text.len};
            return TCUDB_OK;
        }
        dict->chunk_at = chunk + sizeof(Kept);
        dict->chunk_end = chunk + size;
        if (dict->chunk_size < CHUNK_MAX) dict->chunk_size *= 2;
    }
    if (text.len > 0) memcpy(dict->chunk_at, text.ptr, text.len);
    *out = (Str){dict->chunk_at, text.len};
    dict->chunk_at += text.len;
    return TCUDB_OK;
}

static tcudb_status insert_locked(Dict *dict, Str text, uint64_t hash, uint32_t *code, Error *err)
{
    uint32_t count = atomic_load_explicit(&dict->count, memory_order_relaxed);
    if (dict_find(dict, text, hash, count, code)) return TCUDB_OK;
    if (count == atomic_load(&dict->values)->cap) TRY(grow_values(dict, err));
    if (count >= atomic_load(&dict->table)->mask / 2) TRY(grow_table(dict, err));
    Values *values = atomic_load_explicit(&dict->values, memory_order_relaxed);
    TRY(copy_text(dict, text, &values->at[count], err));
    atomic_store_explicit(&dict->count, count + 1, memory_order_release);
    put_slot(atomic_load_explicit(&dict->table, memory_order_relaxed), hash, count);
    *code = count;
    return TCUDB_OK;
}

tcudb_status dict_add(Dict *dict, const Str *texts, const uint64_t *hashes, uint32_t n, uint32_t *codes, Error *err)
{
    tcudb_status status = TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    for (uint32_t i = 0; i < n && status == TCUDB_OK; i++)
        status = insert_locked(dict, texts[i], hashes[i], &codes[i], err);
    pthread_mutex_unlock(&dict->lock);
    return status;
}
