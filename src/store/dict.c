/*
 * dict.c: the dictionary of a text column: code -> text and text -> code, append-only.
 *
 * Look-ups take no lock: values[] and the hash table are published by pointer, and a slot's tag is written after its
 * code and the value that it names. Inserting takes the lock once for a batch of misses. When values[] or the table
 * must grow, a larger copy is published and the old one is kept until the dictionary goes, since a reader may still
 * hold it; values double and the table triples, so that costs at most as much again, and less where a load says how
 * many rows it brings.
 *
 *     table = groups of 10 slots, a cache line each:   10 tags (15 bits of the hash; 0: free) | 10 codes
 *
 * A text's group follows from its hash's upper half, by a product, so that a table may have any size; groups are filled
 * from their first slot on, and what finds its group full goes to the next one. On average at most 7 of 10 slots are
 * taken: 9 bytes a text. One line nearly always tells that a text is new.
 *
 * Invariants: values[0..count) never change once committed; a code below a snapshot's count is in every table
 * published since. A dictionary on disk is loaded at its first use, and indexed at its first look-up.
 */
#include "store/dict.h"

#include <assert.h>
#include <emmintrin.h>
#include <string.h>
#include <xxhash.h>

enum { GROUP_FULL = 7, ALL_SLOTS = (1 << GROUP_SLOTS) - 1 };
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

void dict_unkeep(Dict *dict)
{
    DictKept *last = dict->kept;
    dict->kept = last->next;
    mem_free(dict->mem, last, last->size);
}

uint32_t dict_count(const Dict *dict)
{
    return atomic_load_explicit(&dict->count, memory_order_acquire);
}

const Str *dict_values(const Dict *dict)
{
    return atomic_load_explicit(&dict->values, memory_order_acquire)->at;
}

double dict_width(const Dict *dict)
{
    enum { SAMPLE = 256, UNKNOWN = 16, LENGTH_BYTES = 4 };
    uint32_t count = dict_count(dict), step = count / SAMPLE + 1, n = 0;
    double sum = 0;
    if (count == 0) return UNKNOWN;
    if (!atomic_load_explicit(&dict->loaded, memory_order_acquire)) {
        double bytes = (double)dict->committed.length / count - LENGTH_BYTES;
        return bytes > 0 ? bytes : UNKNOWN;
    }
    for (uint32_t i = 0; i < count; i += step, n++) sum += dict_values(dict)[i].len;
    return sum / n;
}

uint64_t dict_hash(Str text)
{
    return XXH3_64bits(text.len == 0 ? "" : text.ptr, text.len);
}

/* ---- the table -------------------------------------------------------------------------------- */

static size_t capacity(const DictSlots *slots)
{
    return (size_t)slots->ngroups * GROUP_FULL;
}

static inline uint32_t next_group(const DictSlots *slots, uint32_t group)
{
    return group + 1 < slots->ngroups ? group + 1 : 0;
}

static inline uint16_t tag_of(uint64_t hash)
{
    return (uint16_t)(hash | 1);
}

static inline __m128i load_tags(const DictGroup *group, uint32_t word)
{
    return _mm_cvtsi64_si128((int64_t)atomic_load_explicit(&group->tags[word], memory_order_acquire));
}

/* The slots that have this tag, and those that are free: a bit each. */
static inline uint32_t group_slots(const DictGroup *group, uint16_t tag, uint32_t *free)
{
    __m128i first = _mm_unpacklo_epi64(load_tags(group, 0), load_tags(group, 1)), last = load_tags(group, 2);
    __m128i none = _mm_setzero_si128(), wanted = _mm_set1_epi16((int16_t)tag);
    __m128i unused = _mm_packs_epi16(_mm_cmpeq_epi16(first, none), _mm_cmpeq_epi16(last, none));
    __m128i same = _mm_packs_epi16(_mm_cmpeq_epi16(first, wanted), _mm_cmpeq_epi16(last, wanted));
    *free = (uint32_t)_mm_movemask_epi8(unused) & ALL_SLOTS;
    return (uint32_t)_mm_movemask_epi8(same) & ALL_SLOTS;
}

/* Where a search ended: a group, and its free slots if the text is not there. */
typedef struct Place {
    uint32_t group, free;
} Place;

/* From the place's group on: the text's code, or where it would be put. */
static inline bool probe(const Dict *dict, const DictSlots *slots, Str text, uint64_t hash, uint32_t limit,
                         Place *place, uint32_t *code)
{
    for (;; place->group = next_group(slots, place->group)) {
        const DictGroup *at = &slots->groups[place->group];
        uint32_t same = group_slots(at, tag_of(hash), &place->free);
        for (; same != 0; same &= same - 1) {
            uint32_t found = at->codes[__builtin_ctz(same)];
            if (found >= limit || !str_equal(dict_values(dict)[found], text)) continue;
            *code = found;
            return true;
        }
        if (place->free != 0) return false;
    }
}

bool dict_find(const Dict *dict, Str text, uint64_t hash, uint32_t limit, uint32_t *code)
{
    const DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_acquire);
    Place place = {.group = group_of(slots, hash)};
    return probe(dict, slots, text, hash, limit, &place, code);
}

static void put_slot(DictSlots *slots, Place place, uint64_t hash, uint32_t code)
{
    uint32_t slot = (uint32_t)__builtin_ctz(place.free);
    DictGroup *group = &slots->groups[place.group];
    _Atomic uint64_t *tags = &group->tags[slot / 4];
    uint64_t word = atomic_load_explicit(tags, memory_order_relaxed) | (uint64_t)tag_of(hash) << (slot % 4 * 16);
    group->codes[slot] = code;
    atomic_store_explicit(tags, word, memory_order_release);
}

/* Of a text that is not there. */
static void put_new(DictSlots *slots, uint64_t hash, uint32_t code)
{
    Place place = {.group = group_of(slots, hash)};
    while (group_slots(&slots->groups[place.group], 0, &place.free), place.free == 0)
        place.group = next_group(slots, place.group);
    put_slot(slots, place, hash, code);
}

static tcudb_status new_slots(Dict *dict, uint32_t count, DictSlots **out, Error *err)
{
    enum { PAGE = 2 << 20 };
    uint32_t n = count / GROUP_FULL + 1;
    DictSlots *slots = dict_keep(dict, sizeof *slots + n * sizeof slots->groups[0], err);
    TRY_PTR(slots);
    slots->ngroups = n;
    /* A page that is read before it is written comes twice. */
    for (uint32_t i = 0; i < n; i += PAGE / sizeof slots->groups[0])
        atomic_store_explicit(&slots->groups[i].tags[0], 0, memory_order_relaxed);
    *out = slots;
    return TCUDB_OK;
}

/* A table with room for `count` values that knows the first `known`: their groups come from memory together. */
static tcudb_status build_slots(Dict *dict, uint32_t count, uint32_t known, const atomic_bool *cancel, Error *err)
{
    enum { TOGETHER = 64, POLL = 1 << 16 };
    DictSlots *slots;
    TRY(new_slots(dict, count, &slots, err));
    const Str *values = dict_values(dict);
    uint64_t hashes[TOGETHER];
    for (uint32_t from = 0; from < known; from += TOGETHER) {
        tcudb_status status = from % POLL == 0 ? cancel_poll(cancel, err) : TCUDB_OK;
        if (status != TCUDB_OK) {
            dict_unkeep(dict); /* the table: nobody knows it */
            return status;
        }
        uint32_t n = known - from < TOGETHER ? known - from : TOGETHER;
        for (uint32_t i = 0; i < n; i++) {
            hashes[i] = dict_hash(values[from + i]);
            __builtin_prefetch(&slots->groups[group_of(slots, hashes[i])], 1);
        }
        for (uint32_t i = 0; i < n; i++) put_new(slots, hashes[i], from + i);
    }
    atomic_store_explicit(&dict->slots, slots, memory_order_release);
    return TCUDB_OK;
}

/* ---- life ---------------------------------------------------------------------------------------- */

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
    DictSlots *slots = NULL;
    tcudb_status status = new_slots(dict, DICT_FIRST, &slots, err);
    DictValues *values = status != TCUDB_OK ? NULL : dict_keep(dict, sizeof *values + DICT_FIRST * sizeof(Str), err);
    if (values == NULL) {
        dict_unref(dict);
        return TCUDB_NOMEM;
    }
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

/* ---- growing, adding ---------------------------------------------------------------------------- */

/* What may be taken for more room than is needed now: not the memory that others will need. */
static double spare_values(const Dict *dict)
{
    enum { VALUE_BYTES = 32, SHARE = 4 };
    size_t limit = atomic_load(&dict->mem->limit), used = atomic_load(&dict->mem->used);
    if (limit == 0) return UINT32_MAX;
    return used < limit ? (double)(limit - used) / SHARE / VALUE_BYTES : 0;
}

/* How many values to make room for where `least` would do. The share of new texts so far is taken to last. */
static uint32_t dict_room(const Dict *dict, uint32_t least)
{
    enum { SURE_FROM = 4096, AT_ONCE = 32, SPARE = 64 };
    uint32_t count = atomic_load_explicit(&dict->count, memory_order_relaxed);
    uint64_t rows = atomic_load_explicit(&dict->loaded_rows, memory_order_relaxed), added = count - dict->expected_from;
    if (dict->expected == 0 || count < dict->expected_from || added < SURE_FROM || added < rows / 2) return least;
    double share = added < rows ? (double)added / (double)rows : 1, most = (double)count * AT_ONCE;
    double room = (double)dict->expected_from + share * (double)dict->expected * (1 + 1.0 / SPARE);
    if (room > most) room = room / AT_ONCE < most ? room / AT_ONCE : most; /* so that the last step is a large one */
    if (room > spare_values(dict)) room = spare_values(dict);
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

/* Where the next values go: so many that nothing needs to grow. With the lock held. */
typedef struct Room {
    DictSlots *slots;
    Str *values;
    uint32_t end;
} Room;

static Room room_of(const Dict *dict)
{
    DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_relaxed);
    DictValues *values = atomic_load_explicit(&dict->values, memory_order_relaxed);
    size_t fit = dict_indexed(dict) ? capacity(slots) : values->cap;
    return (Room){slots, values->at, fit < values->cap ? (uint32_t)fit : values->cap};
}

/* Room for one more value, in the table too. */
static tcudb_status need_room(Dict *dict, Room *room, const atomic_bool *cancel, Error *err)
{
    uint32_t code = atomic_load_explicit(&dict->count, memory_order_relaxed);
    if (code < room->end) return TCUDB_OK;
    TRY(dict_reserve(dict, code + 1, err));
    if (dict_indexed(dict) && code >= capacity(room->slots))
        TRY(build_slots(dict, dict_room(dict, (code + 1) * 3), code, cancel, err));
    *room = room_of(dict);
    return TCUDB_OK;
}

/* Gives the next code to a text for which there is room. */
static uint32_t give_code(Dict *dict, const Room *room, Str text)
{
    uint32_t code = atomic_load_explicit(&dict->count, memory_order_relaxed);
    room->values[code] = text;
    atomic_store_explicit(&dict->count, code + 1, memory_order_release);
    return code;
}

tcudb_status dict_push(Dict *dict, Str text, bool copy, Error *err)
{
    Room room = room_of(dict);
    TRY(need_room(dict, &room, NULL, err));
    if (!str_is_ascii(text)) atomic_store(&dict->ascii, false);
    if (copy) TRY(copy_text(dict, text, &text, err));
    uint32_t code = give_code(dict, &room, text);
    if (dict_indexed(dict)) put_new(room.slots, dict_hash(text), code);
    return TCUDB_OK;
}

/* ---- a batch of texts ------------------------------------------------------------------------- */

enum { NO_CODE = UINT32_MAX };

/* What a look at the table without the lock has found. */
typedef struct Looked {
    const DictSlots *slots;     /* that `group` is of */
    uint32_t group[BATCH_ROWS]; /* by text: where the search has come to */
    uint32_t nfresh;
    uint16_t fresh[BATCH_ROWS]; /* texts that are not there, in order: their codes will be, too */
} Looked;

/* Looks for tags only: the code of a text that may be the same, or NO_CODE. The values of such codes are asked for, so
 * that they come from memory together. */
static void find_tags(const Dict *dict, const uint64_t *hashes, uint32_t n, uint32_t *codes, Looked *l)
{
    const DictSlots *slots = atomic_load_explicit(&dict->slots, memory_order_acquire);
    l->slots = slots;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t group = group_of(slots, hashes[i]), free, same;
        while ((same = group_slots(&slots->groups[group], tag_of(hashes[i]), &free)) == 0 && free == 0)
            group = next_group(slots, group);
        l->group[i] = group;
        codes[i] = same == 0 ? NO_CODE : slots->groups[group].codes[__builtin_ctz(same)];
        if (same != 0) __builtin_prefetch(&dict_values(dict)[codes[i]]);
    }
}

/* Compares the texts whose tags are there: their bytes, too, are asked for together. */
static void find_known(const Dict *dict, const Str *texts, const uint64_t *hashes, uint32_t n, uint32_t *codes,
                       Looked *l)
{
    const Str *values = dict_values(dict);
    for (uint32_t i = 0; i < n; i++)
        if (codes[i] != NO_CODE) __builtin_prefetch(values[codes[i]].ptr);
    l->nfresh = 0;
    for (uint32_t i = 0; i < n; i++) {
        Place place = {.group = l->group[i]};
        bool likely = codes[i] != NO_CODE;
        if (likely && str_equal(values[codes[i]], texts[i])) continue;
        if (likely && probe(dict, l->slots, texts[i], hashes[i], UINT32_MAX, &place, &codes[i])) continue;
        l->group[i] = place.group;
        l->fresh[l->nfresh++] = (uint16_t)i;
    }
}

/* Before anybody can see the texts. */
static void note_ascii(Dict *dict, const Str *texts, const Looked *l)
{
    bool ascii = atomic_load_explicit(&dict->ascii, memory_order_relaxed);
    if (!ascii) return;
    for (uint32_t k = 0; k < l->nfresh && ascii; k++) ascii = str_is_ascii(texts[l->fresh[k]]);
    if (!ascii) atomic_store(&dict->ascii, false);
}

/* With the lock: a text that was not there when it was looked for, from the group where that ended. */
static tcudb_status add_fresh(Dict *dict, Room *room, Str text, uint64_t hash, const DictSlots *seen, uint32_t group,
                              uint32_t *code, const atomic_bool *cancel, Error *err)
{
    TRY(need_room(dict, room, cancel, err));
    Place place = {.group = room->slots == seen ? group : group_of(room->slots, hash)};
    if (probe(dict, room->slots, text, hash, UINT32_MAX, &place, code)) return TCUDB_OK;
    TRY(copy_text(dict, text, &text, err));
    *code = give_code(dict, room, text);
    put_slot(room->slots, place, hash, *code);
    return TCUDB_OK;
}

tcudb_status dict_codes(Dict *dict, const Str *texts, const uint64_t *hashes, uint32_t n, uint32_t *codes,
                        const atomic_bool *cancel, Error *err)
{
    Looked l;
    assert(n <= BATCH_ROWS);
    find_tags(dict, hashes, n, codes, &l);
    find_known(dict, texts, hashes, n, codes, &l);
    if (l.nfresh == 0) return TCUDB_OK;
    note_ascii(dict, texts, &l);
    tcudb_status status = TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    Room room = room_of(dict);
    for (uint32_t k = 0; k < l.nfresh && status == TCUDB_OK; k++) {
        uint32_t i = l.fresh[k];
        status = add_fresh(dict, &room, texts[i], hashes[i], l.slots, l.group[i], &codes[i], cancel, err);
    }
    pthread_mutex_unlock(&dict->lock);
    return status;
}

tcudb_status dict_load(Dict *dict, const atomic_bool *cancel, Error *err)
{
    if (atomic_load_explicit(&dict->loaded, memory_order_acquire)) return TCUDB_OK;
    pthread_mutex_lock(&dict->lock);
    tcudb_status status = dict_load_locked(dict, cancel, err);
    pthread_mutex_unlock(&dict->lock);
    return status;
}

bool dict_indexed(const Dict *dict)
{
    return atomic_load_explicit(&dict->indexed, memory_order_acquire);
}

tcudb_status dict_index(Dict *dict, const atomic_bool *cancel, Error *err)
{
    if (dict_indexed(dict)) return TCUDB_OK;
    TRY(dict_load(dict, cancel, err));
    pthread_mutex_lock(&dict->lock);
    tcudb_status status = TCUDB_OK;
    if (!atomic_load(&dict->indexed)) {
        uint32_t count = dict_count(dict);
        status = build_slots(dict, count + 1, count, cancel, err);
        if (status == TCUDB_OK) atomic_store_explicit(&dict->indexed, true, memory_order_release);
    }
    pthread_mutex_unlock(&dict->lock);
    return status;
}

/* The table still names the forgotten values: the next look-up makes another one. Readers of older snapshots do not
 * look at codes past their counts, so those may be given again. */
void dict_truncate(Dict *dict)
{
    pthread_mutex_lock(&dict->lock);
    uint32_t count = dict->committed.count;
    if (dict_count(dict) > count) {
        atomic_store_explicit(&dict->indexed, false, memory_order_release);
        atomic_store_explicit(&dict->count, count, memory_order_release);
        if (atomic_load(&dict->head_count) > count) atomic_store(&dict->head_count, count);
    }
    dict->now = dict->committed;
    pthread_mutex_unlock(&dict->lock);
}
