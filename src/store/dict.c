/*
 * dict.c: the dictionary of a text column: code -> text and text -> code, append-only.
 *
 * Look-ups take no lock: values[] and the hash table are published by pointer, and a slot is written after the
 * value that it names. Inserting takes the lock once for a batch of misses. When values[] or the table must grow,
 * a larger copy is published and the old one is kept until the dictionary goes, since a reader may still hold
 * it; values double and slots grow fourfold, so that costs at most as much again.
 *
 *     slot = high 32 bits of the hash << 32 | code + 1        0: free; linear probing, at most 5/8 full
 *
 * A slot's place follows from its own hash bits, so a larger table is made from the smaller one without its texts.
 *
 * Invariants: values[0..count) never change once committed; a code below a snapshot's count is in every table
 * published since. A dictionary on disk is loaded at its first use, and indexed at its first look-up.
 */
#include "store/dict.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

enum { DICT_FIRST = 64, CHUNK_FIRST = 1024, CHUNK_SOON = 1 << 20, CHUNK_MAX = 4 << 20, CHUNK_SHARE = 8 };

/* zero: only what the caller will rely on needs clearing. */
static void *keep(Dict *dict, size_t size, bool zero, Error *err)
{
    DictKept *kept = zero ? mem_alloc_zero(dict->mem, size, err) : mem_alloc(dict->mem, size, err);
    if (kept == NULL) return NULL;
    kept->size = size;
    kept->next = dict->kept;
    dict->kept = kept;
    return kept;
}

void *dict_keep(Dict *dict, size_t size, Error *err)
{
    return keep(dict, size, true, err);
}

tcudb_status dict_new(Mem *mem, uint64_t id, const char *dir, Dict **out, Error *err)
{
    Dict *dict = mem_alloc_zero(mem, sizeof *dict, err);
    TRY_PTR(dict);
    atomic_init(&dict->refs, 1);
    dict->mem = mem;
    dict->id = id;
    dict->dir = dir;
    dict->chunk_size = CHUNK_FIRST;
    atomic_init(&dict->loaded, true);
    atomic_init(&dict->indexed, true);
    atomic_init(&dict->ascii, true);
    pthread_mutex_init(&dict->lock, NULL);
    DictSlots *slots = dict_keep(dict, sizeof *slots + 2 * DICT_FIRST * sizeof slots->slots[0], err);
    DictValues *values = slots == NULL ? NULL : dict_keep(dict, sizeof *values + DICT_FIRST * sizeof(Str), err);
    if (values == NULL) {
        dict_unref(dict);
        return TCUDB_NOMEM;
    }
    slots->mask = 2 * DICT_FIRST - 1;
    values->cap = DICT_FIRST;
    atomic_init(&dict->slots, slots);
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
    for (DictKept *k = dict->kept; k != NULL;) {
        DictKept *next = k->next;
        mem_free(dict->mem, k, k->size);
        k = next;
    }
    pthread_mutex_destroy(&dict->lock);
    mem_free(dict->mem, dict, sizeof *dict);
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

static uint32_t first_place(const DictSlots *slots, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & slots->mask;
}

/* From *place on: the text's slot, or the free one where the search ends. */
static inline bool probe(const Dict *dict, const DictSlots *slots, Str text, uint64_t hash, uint32_t limit,
                         uint32_t *place, uint32_t *code)
{
    for (uint32_t i = *place;; i = (i + 1) & slots->mask) {
        uint64_t slot = atomic_load_explicit(&slots->slots[i], memory_order_acquire);
        *place = i;
        if (slot == 0) return false;
        uint32_t found = (uint32_t)slot - 1;
        if (slot >> 32 != hash >> 32 || found >= limit) continue;
        if (!str_equal(dict_values(dict)[found], text)) continue;
        *code = found;
        return true;
    }
}

bool dict_find(const Dict *dict, Str text, uint64_t hash, uint32_t limit, uint32_t *code)
{
    const DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_acquire);
    uint32_t place = first_place(slots, hash);
    return probe(dict, slots, text, hash, limit, &place, code);
}

static void put_slot(DictSlots *slots, uint64_t slot)
{
    uint32_t i = (uint32_t)(slot >> 32) & slots->mask;
    while (atomic_load_explicit(&slots->slots[i], memory_order_relaxed) != 0) i = (i + 1) & slots->mask;
    atomic_store_explicit(&slots->slots[i], slot, memory_order_release);
}

static uint64_t slot_of(uint64_t hash, uint32_t code)
{
    return hash >> 32 << 32 | (code + 1);
}

/* How many values to make room for where `least` would do. The share of new texts so far is taken to last. */
static uint32_t dict_room(const Dict *dict, uint32_t least)
{
    enum { SURE_FROM = 4096, AT_ONCE = 16, SPARE = 64 };
    uint32_t count = atomic_load_explicit(&dict->count, memory_order_relaxed);
    uint64_t rows = atomic_load_explicit(&dict->loaded_rows, memory_order_relaxed), added = count - dict->expected_from;
    if (dict->expected == 0 || count < dict->expected_from || added < SURE_FROM || added < rows / 2) return least;
    double share = added < rows ? (double)added / (double)rows : 1, most = (double)least * AT_ONCE;
    double room = (double)dict->expected_from + share * (double)dict->expected * (1 + 1.0 / SPARE);
    if (room > most) room = most;
    if (room > UINT32_MAX / 4) room = UINT32_MAX / 4;
    return room < (double)count * (1 + 1.0 / SPARE) + 1 ? least : (uint32_t)room;
}

void dict_expect(Dict *dict, uint64_t rows)
{
    pthread_mutex_lock(&dict->lock);
    dict->expected = rows;
    dict->expected_from = dict_count(dict);
    atomic_store_explicit(&dict->loaded_rows, 0, memory_order_relaxed);
    pthread_mutex_unlock(&dict->lock);
}

void dict_loaded(Dict *dict, uint32_t rows)
{
    atomic_fetch_add_explicit(&dict->loaded_rows, rows, memory_order_relaxed);
}

tcudb_status dict_reserve(Dict *dict, uint32_t count, Error *err)
{
    DictValues *old = atomic_load(&dict->values);
    if (count <= old->cap) return TCUDB_OK;
    if (count > UINT32_MAX / 4)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a text column holds more than %u distinct values",
                         UINT32_MAX / 4);
    size_t cap = old->cap;
    while (cap < count) cap *= 2;
    cap = dict_room(dict, (uint32_t)cap);
    DictValues *values = keep(dict, sizeof *values + cap * sizeof(Str), false, err);
    TRY_PTR(values);
    values->cap = (uint32_t)cap;
    memcpy(values->at, old->at, old->cap * sizeof(Str));
    atomic_store_explicit(&dict->values, values, memory_order_release);
    return TCUDB_OK;
}

static size_t capacity(size_t nslots)
{
    return nslots / 8 * 5;
}

static tcudb_status new_slots(Dict *dict, uint32_t count, DictSlots **out, Error *err)
{
    enum { PAGE = 2 << 20 };
    size_t n = 2 * DICT_FIRST;
    while (capacity(n) < count) n *= 2;
    DictSlots *slots = dict_keep(dict, sizeof *slots + n * sizeof slots->slots[0], err);
    TRY_PTR(slots);
    slots->mask = (uint32_t)(n - 1);
    /* A page that is read before it is written comes twice. */
    for (size_t i = 0; i < n; i += PAGE / sizeof slots->slots[0])
        atomic_store_explicit(&slots->slots[i], 0, memory_order_relaxed);
    *out = slots;
    return TCUDB_OK;
}

/* A table with room for `count` values that knows the first `known`. */
static tcudb_status build_slots(Dict *dict, uint32_t count, uint32_t known, Error *err)
{
    DictSlots *slots;
    TRY(new_slots(dict, count, &slots, err));
    const Str *values = dict_values(dict);
    for (uint32_t code = 0; code < known; code++) put_slot(slots, slot_of(dict_hash(values[code]), code));
    atomic_store_explicit(&dict->slots, slots, memory_order_release);
    return TCUDB_OK;
}

static tcudb_status grow_slots(Dict *dict, uint32_t count, Error *err)
{
    DictSlots *slots;
    const DictSlots *old = atomic_load(&dict->slots);
    TRY(new_slots(dict, count, &slots, err));
    for (uint64_t i = 0; i <= old->mask; i++) {
        uint64_t slot = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (slot != 0) put_slot(slots, slot);
    }
    atomic_store_explicit(&dict->slots, slots, memory_order_release);
    return TCUDB_OK;
}

static tcudb_status copy_text(Dict *dict, Str text, Str *out, Error *err)
{
    if ((size_t)(dict->chunk_end - dict->chunk_at) < text.len) {
        bool own = dict->chunk_size < 2 * (size_t)text.len + sizeof(DictKept); /* a long text has a block of its own */
        size_t size = own ? sizeof(DictKept) + text.len : dict->chunk_size;
        char *chunk = keep(dict, size, false, err);
        TRY_PTR(chunk);
        dict->chunk_total += size;
        if (own) {
            memcpy(chunk + sizeof(DictKept), text.ptr, text.len);
            *out = (Str){chunk + sizeof(DictKept), text.len};
            return TCUDB_OK;
        }
        dict->chunk_at = chunk + sizeof(DictKept);
        dict->chunk_end = chunk + size;
        bool larger = dict->chunk_size < CHUNK_SOON || dict->chunk_total >= CHUNK_SHARE * dict->chunk_size;
        if (larger && dict->chunk_size < CHUNK_MAX) dict->chunk_size *= 2;
    }
    if (text.len > 0) memcpy(dict->chunk_at, text.ptr, text.len);
    *out = (Str){dict->chunk_at, text.len};
    dict->chunk_at += text.len;
    return TCUDB_OK;
}

/* Room for one more value, in the table too. */
static tcudb_status need_room(Dict *dict, bool indexed, Error *err)
{
    uint32_t code = atomic_load_explicit(&dict->count, memory_order_relaxed);
    TRY(dict_reserve(dict, code + 1, err));
    if (!indexed || code < capacity((size_t)atomic_load(&dict->slots)->mask + 1)) return TCUDB_OK;
    return grow_slots(dict, dict_room(dict, (code + 1) * 2), err);
}

/* Gives the next code to a text for which there is room. */
static uint32_t give_code(Dict *dict, Str text)
{
    uint32_t code = atomic_load_explicit(&dict->count, memory_order_relaxed);
    atomic_load_explicit(&dict->values, memory_order_relaxed)->at[code] = text;
    atomic_store_explicit(&dict->count, code + 1, memory_order_release);
    return code;
}

tcudb_status dict_push(Dict *dict, Str text, bool copy, Error *err)
{
    bool indexed = dict_indexed(dict);
    uint64_t hash = indexed ? dict_hash(text) : 0;
    TRY(need_room(dict, indexed, err));
    if (!str_is_ascii(text)) atomic_store(&dict->ascii, false);
    if (copy) TRY(copy_text(dict, text, &text, err));
    uint32_t code = give_code(dict, text);
    if (indexed) put_slot(atomic_load_explicit(&dict->slots, memory_order_relaxed), slot_of(hash, code));
    return TCUDB_OK;
}

/* ---- a batch of texts ------------------------------------------------------------------------- */

typedef struct Fresh {
    uint32_t n;
    const DictSlots *slots; /* that `place` is of */
    uint16_t at[BATCH_ROWS];
    uint32_t place[BATCH_ROWS]; /* free when it was looked at */
} Fresh;

/* Without the lock: what is known already. Slots are asked for some texts ahead, so that they come together. */
static void find_known(const Dict *dict, const Str *texts, const uint64_t *hashes, uint32_t n, uint32_t *codes,
                       Fresh *fresh)
{
    enum { AHEAD = 24 };
    const DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_acquire);
    fresh->slots = slots;
    fresh->n = 0;
    for (uint32_t i = 0; i < n && i < AHEAD; i++) __builtin_prefetch(&slots->slots[first_place(slots, hashes[i])]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = first_place(slots, hashes[i]);
        if (i + AHEAD < n) __builtin_prefetch(&slots->slots[first_place(slots, hashes[i + AHEAD])]);
        if (probe(dict, slots, texts[i], hashes[i], UINT32_MAX, &place, &codes[i])) continue;
        fresh->at[fresh->n] = (uint16_t)i;
        fresh->place[fresh->n++] = place;
    }
}

/* Before anybody can see the texts. */
static void note_ascii(Dict *dict, const Str *texts, const Fresh *fresh)
{
    bool ascii = atomic_load_explicit(&dict->ascii, memory_order_relaxed);
    if (!ascii) return;
    for (uint32_t k = 0; k < fresh->n && ascii; k++) ascii = str_is_ascii(texts[fresh->at[k]]);
    if (!ascii) atomic_store(&dict->ascii, false);
}

/* With the lock: a text that was not there when its slot was looked at, which may be taken since. */
static tcudb_status add_fresh(Dict *dict, Str text, uint64_t hash, const DictSlots *seen, uint32_t place,
                              uint32_t *code, Error *err)
{
    TRY(need_room(dict, true, err));
    DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_relaxed);
    if (slots != seen) place = first_place(slots, hash);
    if (probe(dict, slots, text, hash, UINT32_MAX, &place, code)) return TCUDB_OK;
    TRY(copy_text(dict, text, &text, err));
    *code = give_code(dict, text);
    atomic_store_explicit(&slots->slots[place], slot_of(hash, *code), memory_order_release);
    return TCUDB_OK;
}

tcudb_status dict_codes(Dict *dict, const Str *texts, const uint64_t *hashes, uint32_t n, uint32_t *codes, Error *err)
{
    Fresh fresh;
    assert(n <= BATCH_ROWS);
    find_known(dict, texts, hashes, n, codes, &fresh);
    if (fresh.n == 0) return TCUDB_OK;
    note_ascii(dict, texts, &fresh);
    tcudb_status status = TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    for (uint32_t k = 0; k < fresh.n && status == TCUDB_OK; k++) {
        uint32_t i = fresh.at[k];
        status = add_fresh(dict, texts[i], hashes[i], fresh.slots, fresh.place[k], &codes[i], err);
    }
    pthread_mutex_unlock(&dict->lock);
    return status;
}

tcudb_status dict_load(Dict *dict, Error *err)
{
    if (atomic_load_explicit(&dict->loaded, memory_order_acquire)) return TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    tcudb_status status = dict_load_locked(dict, err);
    pthread_mutex_unlock(&dict->lock);
    return status;
}

bool dict_indexed(const Dict *dict)
{
    return atomic_load_explicit(&dict->indexed, memory_order_acquire);
}

tcudb_status dict_index(Dict *dict, Error *err)
{
    if (dict_indexed(dict)) return TCUDB_OK;
    TRY(dict_load(dict, err));
    pthread_mutex_lock(&dict->lock);
    tcudb_status status = TCUDB_OK;
    if (!atomic_load(&dict->indexed)) {
        uint32_t count = dict_count(dict);
        status = build_slots(dict, count + 1, count, err);
        if (status == TCUDB_OK) atomic_store_explicit(&dict->indexed, true, memory_order_release);
    }
    pthread_mutex_unlock(&dict->lock);
    return status;
}

/* The table still names the forgotten values: it is built anew. Readers of older snapshots do not look at codes past
 * their counts, so those may be given again. */
tcudb_status dict_truncate(Dict *dict, Error *err)
{
    tcudb_status status = TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    uint32_t count = dict->committed.count;
    if (dict_count(dict) > count) {
        if (atomic_load(&dict->indexed)) status = build_slots(dict, count + 1, count, err);
        if (status == TCUDB_OK) atomic_store_explicit(&dict->count, count, memory_order_release);
        if (status == TCUDB_OK && atomic_load(&dict->head_count) > count) atomic_store(&dict->head_count, count);
    }
    dict->now = dict->committed;
    pthread_mutex_unlock(&dict->lock);
    return status;
}
