/*
 * dict_heads.c: the first eight bytes of each text of a dictionary, as words that order like the texts.
 *
 * Comparing texts mostly ends within their first bytes, but reaching those costs two cache misses a text: its Str, then
 * its bytes. Heads lie side by side, so ranges, starts and the bound of a sort read eight bytes a text, in order where
 * each text stands in one row. Blocks of HEAD_BLOCK codes also have the least and the greatest of their heads: rows
 * whose texts came one after the other have codes that run in order, and of those whole blocks, and segments, are left
 * out.
 *
 * Made at the first use, a stretch at a time under the dictionary's lock, and extended at later ones. A block, once its
 * place is published, never moves; its bounds are right once all its codes have heads (before, they say nothing).
 * Memory: 8 bytes a text, from the first use on. Cost: about 5 ns a text, once.
 */
#include "store/dict.h"

#include <assert.h>
#include <string.h>

enum { RUN_BLOCKS = 511 }; /* blocks allocated together: two huge pages, the header of what is kept included */

static_assert(sizeof(DictKept) + RUN_BLOCKS * sizeof(HeadBlock) == 4 << 20, "a run fills its pages");

static uint32_t blocks_for(uint32_t count)
{
    return count / HEAD_BLOCK + (count % HEAD_BLOCK != 0);
}

/* Places for that many blocks. */
static tcudb_status need_places(Dict *dict, uint32_t nblocks, Error *err)
{
    enum { FIRST = 16 };
    DictHeads *old = atomic_load_explicit(&dict->heads, memory_order_relaxed);
    if (old != NULL && nblocks <= old->cap) return TCUDB_OK;
    size_t cap = old == NULL ? FIRST : old->cap;
    while (cap < nblocks) cap *= 2;
    DictHeads *heads = dict_keep(dict, sizeof *heads + cap * sizeof heads->blocks[0], err);
    TRY_PTR(heads);
    heads->cap = (uint32_t)cap;
    if (old != NULL) memcpy(heads->blocks, old->blocks, old->cap * sizeof heads->blocks[0]);
    atomic_store_explicit(&dict->heads, heads, memory_order_release);
    return TCUDB_OK;
}

/* They are a convenience: a quarter of the limit stays for what statements cannot do without. */
static bool has_room(const Dict *dict, size_t more)
{
    size_t limit = atomic_load(&dict->mem->limit);
    return limit == 0 || atomic_load(&dict->mem->used) + more <= limit - limit / 4;
}

/* Blocks for the codes below `count`. */
static tcudb_status need_blocks(Dict *dict, uint32_t count, Error *err)
{
    uint32_t want = blocks_for(count);
    if (want > dict->head_blocks && !has_room(dict, (want - dict->head_blocks) * sizeof(HeadBlock))) return TCUDB_NOMEM;
    TRY(need_places(dict, want, err));
    while (dict->head_blocks < want) {
        uint32_t n = want - dict->head_blocks < RUN_BLOCKS ? want - dict->head_blocks : RUN_BLOCKS;
        char *run = dict_keep(dict, sizeof(DictKept) + n * sizeof(HeadBlock), err);
        TRY_PTR(run);
        HeadBlock *blocks = (HeadBlock *)(void *)(run + sizeof(DictKept));
        HeadBlock **places = atomic_load_explicit(&dict->heads, memory_order_relaxed)->blocks;
        for (uint32_t i = 0; i < n; i++) places[dict->head_blocks++] = &blocks[i];
    }
    return TCUDB_OK;
}

static void close_block(HeadBlock *block)
{
    uint64_t min = UINT64_MAX, max = 0;
    for (uint32_t i = 0; i < HEAD_BLOCK; i++) {
        min = block->at[i] < min ? block->at[i] : min;
        max = block->at[i] > max ? block->at[i] : max;
    }
    block->min = min;
    block->max = max;
}

/* Heads of some more codes. The values are looked for here, with the lock: a commit of another process that is followed
 * meanwhile gives an empty dictionary values that are not read yet. */
static tcudb_status extend(Dict *dict, const atomic_bool *cancel, Error *err)
{
    TRY(dict_load_locked(dict, cancel, err));
    uint32_t from = atomic_load_explicit(&dict->head_count, memory_order_relaxed), end = dict_count(dict);
    if (from >= end) return TCUDB_OK;
    uint32_t to = end - from < RUN_BLOCKS * HEAD_BLOCK ? end : from + RUN_BLOCKS * HEAD_BLOCK;
    TRY(need_blocks(dict, to, err));
    HeadBlock *const *blocks = atomic_load_explicit(&dict->heads, memory_order_relaxed)->blocks;
    const Str *values = dict_values(dict);
    for (uint32_t code = from; code < to; code++) {
        HeadBlock *block = blocks[code / HEAD_BLOCK];
        block->at[code % HEAD_BLOCK] = str_head(values[code]);
        if (code % HEAD_BLOCK == HEAD_BLOCK - 1) close_block(block);
    }
    atomic_store_explicit(&dict->head_count, to, memory_order_release);
    return TCUDB_OK;
}

tcudb_status dict_heads(Dict *dict, const atomic_bool *cancel, HeadView *out, Error *err)
{
    uint32_t count = dict_count(dict);
    while (atomic_load_explicit(&dict->head_count, memory_order_acquire) < count) {
        TRY(cancel_poll(cancel, err));
        pthread_mutex_lock(&dict->lock);
        bool cut = dict_count(dict) < count; /* another process's commit took codes back that nobody can see */
        tcudb_status status = extend(dict, cancel, err);
        pthread_mutex_unlock(&dict->lock);
        if (status != TCUDB_OK) return status;
        if (cut) break;
    }
    /* The number first: the places that are read after it are enough for it, however many codes come meanwhile. */
    *out = (HeadView){.count = atomic_load_explicit(&dict->head_count, memory_order_acquire)};
    const DictHeads *heads = atomic_load_explicit(&dict->heads, memory_order_acquire);
    if (heads != NULL) out->blocks = (const HeadBlock *const *)heads->blocks;
    return TCUDB_OK;
}

void heads_bounds(const HeadView *view, uint32_t lo, uint32_t hi, uint64_t *min, uint64_t *max)
{
    assert(lo <= hi && hi < view->count);
    *min = UINT64_MAX;
    *max = 0;
    for (uint32_t b = lo / HEAD_BLOCK; b <= hi / HEAD_BLOCK && (*min > 0 || *max < UINT64_MAX); b++) {
        bool closed = b < view->count / HEAD_BLOCK;
        uint64_t least = closed ? view->blocks[b]->min : 0, most = closed ? view->blocks[b]->max : UINT64_MAX;
        *min = least < *min ? least : *min;
        *max = most > *max ? most : *max;
    }
}
