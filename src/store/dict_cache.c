/*
 * dict_cache.c: from vectors of texts to dictionary codes, one worker's side.
 *
 * Flat vectors: each text is looked up in a small direct-mapped cache of the worker, then, a batch at once, in the
 * dictionary without a lock; what is new is inserted under one lock a batch. Vectors that are dictionary-coded already
 * are translated code by code through a map that is filled as codes turn up, so a text is hashed once.
 * Cost: about 5 ns a row for flat text of few distinct values, 1 ns for coded vectors.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

enum { CACHE_SLOTS = 1024, MAP_PAGE = 4096 };

/* Texts of one batch that the worker does not know: they are looked up together, so that their slots come from memory
 * together, and what is new is inserted together. */
typedef struct Misses {
    uint32_t n;
    Str texts[BATCH_ROWS];
    uint64_t hashes[BATCH_ROWS];
    uint32_t codes[BATCH_ROWS];
    uint32_t at[BATCH_ROWS]; /* place in the batch */
} Misses;

tcudb_status dict_cache_new(Dict *dict, Mem *mem, const atomic_bool *cancel, DictCache **out, Error *err)
{
    DictCache *cache = mem_alloc_zero(mem, sizeof *cache, err);
    TRY_PTR(cache);
    cache->dict = dict;
    cache->cancel = cancel;
    dict_ref(dict);
    *out = cache;
    return TCUDB_OK;
}

void dict_cache_free(DictCache *cache, Mem *mem)
{
    if (cache == NULL) return;
    dict_unref(cache->dict);
    for (uint32_t p = 0; p < cache->map_pages; p++) mem_free(mem, cache->map[p], MAP_PAGE * sizeof cache->map[p][0]);
    mem_free(mem, cache->map, cache->map_pages * sizeof cache->map[0]);
    mem_free(mem, cache, sizeof *cache);
}

static uint32_t cache_slot(uint64_t hash)
{
    return (uint32_t)(hash >> 20) % CACHE_SLOTS;
}

static bool cache_find(const DictCache *cache, Str text, uint64_t hash, uint32_t *code)
{
    uint32_t slot = cache_slot(hash), known = cache->codes[slot];
    if (known == 0 || cache->hashes[slot] != hash) return false;
    *code = known - 1;
    return str_equal(dict_values(cache->dict)[*code], text);
}

static void add_miss(DictCache *cache, Misses *misses, Str text, uint64_t hash, uint32_t at)
{
    uint32_t m = misses->n++;
    dict_fetch(cache->dict, hash);
    misses->texts[m] = text;
    misses->hashes[m] = hash;
    misses->at[m] = at;
}

/* Gives every miss its code. The worker remembers those that were there before, which will come again. */
static tcudb_status settle(DictCache *cache, Misses *misses, uint32_t *codes, Error *err)
{
    uint32_t known = dict_count(cache->dict);
    if (misses->n == 0) return TCUDB_OK;
    TRY(dict_codes(cache->dict, misses->texts, misses->hashes, misses->n, misses->codes, cache->cancel, err));
    for (uint32_t i = 0; i < misses->n; i++) {
        uint32_t code = misses->codes[i];
        codes[misses->at[i]] = code;
        if (code >= known) continue;
        uint32_t slot = cache_slot(misses->hashes[i]);
        cache->hashes[slot] = misses->hashes[i];
        cache->codes[slot] = code + 1;
    }
    return TCUDB_OK;
}

static tcudb_status encode_flat(DictCache *cache, Misses *misses, const Vector *v, const Batch *batch, uint32_t *codes,
                                Error *err)
{
    const Str *texts = v->data;
    uint64_t hash = 0;
    const Str *last = NULL;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        codes[i] = 0;
        if (vec_is_null(v, row)) continue;
        if (last == NULL || !str_equal(*last, texts[row])) hash = dict_hash(texts[row]);
        last = &texts[row];
        if (!cache_find(cache, *last, hash, &codes[i])) add_miss(cache, misses, *last, hash, i);
    }
    return settle(cache, misses, codes, err);
}

static tcudb_status add_one(DictCache *cache, Str text, uint32_t *code, Error *err)
{
    uint64_t hash = dict_hash(text);
    return dict_codes(cache->dict, &text, &hash, 1, code, cache->cancel, err);
}

static tcudb_status encode_const(DictCache *cache, const Vector *v, const Batch *batch, uint32_t *codes, Error *err)
{
    uint32_t code = 0;
    if (!vec_is_null(v, 0)) TRY(add_one(cache, *(const Str *)v->data, &code, err));
    for (uint32_t i = 0; i < batch->n; i++) codes[i] = code;
    return TCUDB_OK;
}

/* The map serves as long as vectors come from one dictionary; a private one (id 0) is known by its values. */
static tcudb_status need_map(DictCache *cache, Mem *mem, const Vector *v, Error *err)
{
    bool same = v->dict_id != 0 ? cache->from_id == v->dict_id : cache->from_id == 0 && cache->from_values == v->values;
    if (!same || v->dict_id == 0) {
        for (uint32_t p = 0; p < cache->map_pages; p++)
            if (cache->map[p] != NULL) memset(cache->map[p], 0, MAP_PAGE * sizeof cache->map[p][0]);
        cache->from_id = v->dict_id;
        cache->from_values = v->values;
    }
    uint32_t had = cache->map_pages, pages = v->nvalues / MAP_PAGE + 1;
    if (pages <= had) return TCUDB_OK;
    uint32_t **map = mem_realloc(mem, cache->map, had * sizeof map[0], pages * sizeof map[0], err);
    TRY_PTR(map);
    memset(map + had, 0, (pages - had) * sizeof map[0]);
    cache->map = map;
    cache->map_pages = pages;
    return TCUDB_OK;
}

/* Where the map has this code: pages come as codes turn up, so a worker that sees some of a large dictionary clears no
 * map of it all. */
static tcudb_status map_place(DictCache *cache, Mem *mem, uint32_t code, uint32_t **out, Error *err)
{
    uint32_t **page = &cache->map[code / MAP_PAGE];
    if (*page == NULL) *page = mem_alloc_zero(mem, MAP_PAGE * sizeof **page, err);
    TRY_PTR(*page);
    *out = &(*page)[code % MAP_PAGE];
    return TCUDB_OK;
}

static tcudb_status encode_dict(DictCache *cache, Misses *misses, Mem *mem, const Vector *v, const Batch *batch,
                                uint32_t *codes, Error *err)
{
    const uint32_t *from = v->data;
    bool own = v->dict_id != 0 && v->dict_id == cache->dict->id;
    if (!own) TRY(need_map(cache, mem, v, err));
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        codes[i] = 0;
        if (vec_is_null(v, row)) continue;
        uint32_t code = from[row], *place;
        assert(code < v->nvalues);
        codes[i] = code;
        if (own) continue;
        TRY(map_place(cache, mem, code, &place, err));
        codes[i] = *place - 1;
        if (*place == 0) add_miss(cache, misses, v->values[code], dict_hash(v->values[code]), i);
    }
    if (misses->n == 0) return TCUDB_OK;
    TRY(settle(cache, misses, codes, err));
    for (uint32_t k = 0; k < misses->n; k++) {
        uint32_t code = from[batch_row(batch, misses->at[k])];
        cache->map[code / MAP_PAGE][code % MAP_PAGE] = misses->codes[k] + 1;
    }
    return TCUDB_OK;
}

tcudb_status dict_encode(DictCache *cache, Mem *mem, const Vector *v, const Batch *batch, uint32_t *codes, Error *err)
{
    if (v->form == VEC_CONST) return encode_const(cache, v, batch, codes, err);
    Misses *misses = mem_alloc(mem, sizeof *misses, err);
    TRY_PTR(misses);
    misses->n = 0;
    tcudb_status status = v->form == VEC_DICT ? encode_dict(cache, misses, mem, v, batch, codes, err)
                                              : encode_flat(cache, misses, v, batch, codes, err);
    dict_loaded(cache->dict, batch->n);
    mem_free(mem, misses, sizeof *misses);
    return status;
}
