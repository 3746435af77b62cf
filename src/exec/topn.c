/*
 * topn.c: drops rows that cannot be among the first N of an order, before anything of them is kept.
 *
 * Each worker remembers the N smallest first keys (as order-preserving words, see sort_keys.c) of the rows it has
 * seen, in a heap with the largest on top. A row whose first key is larger than that top has N rows before
 * it, so it goes. Ties stay: later keys decide them. Rows with a NULL first key stay if NULLs come first,
 * and go once the heap is full if they come last. Cost: a word and a comparison a row; almost no row gets
 * past that after the first few thousand. Of a dictionary soon only a few values are not above the top: then a batch is
 * searched for their codes first, and mostly that is all. Where the key is a scan's column, the scan learns the bound
 * and drops rows, and whole segments, before it decodes anything else of them.
 */
#include "exec/sort_int.h"

#include <assert.h>

enum { MAX_ROWS = 1 << 16, FEW_BATCHES = 16 };

typedef struct Heap {
    uint64_t *words;
    uint64_t n;
    uint64_t dict_id, rows_seen; /* text: the words of a dictionary's values, once that many rows are worth it */
    uint32_t nvalues;
    uint64_t *dict_words;
    const FewCodes *few; /* of all values not above the top, or above a former one; NULL: not known to be so few */
    uint64_t few_top;    /* the top when they were looked for */
    uint32_t batches;
} Heap;

struct TopN {
    uint32_t col;
    bool descending, nulls_first;
    uint64_t limit;
    Heap *heaps;      /* by worker */
    SortBound *bound; /* for scans; NULL: none asked for it */
};

tcudb_status topn_new(Exec *x, const SortKey *key, uint32_t col, uint64_t limit, TopN **out, Error *err)
{
    Phys phys = type_phys(key->expr->type);
    *out = NULL;
    if (limit == 0 || limit > MAX_ROWS || phys == PHYS_INTERVAL) return TCUDB_OK;
    TopN *t = ARENA_NEW(&x->arena, TopN, err);
    TRY_PTR(t);
    *t = (TopN){.col = col, .descending = key->descending, .nulls_first = key->nulls_first, .limit = limit};
    t->heaps = ARENA_ARRAY(&x->arena, Heap, x->nworkers, err);
    TRY_PTR(t->heaps);
    for (uint32_t w = 0; w < x->nworkers; w++) {
        t->heaps[w].words = arena_alloc_raw(&x->arena, limit * sizeof(uint64_t), err);
        TRY_PTR(t->heaps[w].words);
    }
    *out = t;
    return TCUDB_OK;
}

tcudb_status topn_publish(TopN *t, Exec *x, uint32_t id, Error *err)
{
    SemiBits *semi;
    TRY(exec_semi_new(x, id, &semi, err));
    t->bound = semi->bound = ARENA_NEW(&x->arena, SortBound, err);
    TRY_PTR(t->bound);
    semi->filled = true;
    t->bound->descending = t->descending;
    t->bound->nulls_first = t->nulls_first;
    atomic_init(&t->bound->last, t->descending ? INT64_MIN : INT64_MAX);
    return TCUDB_OK;
}

/* The top of a full heap is a bound for all workers. */
static void move_bound(SortBound *bound, uint64_t word)
{
    int64_t last = (int64_t)((bound->descending ? ~word : word) ^ UINT64_C(1) << 63);
    int64_t before = atomic_load_explicit(&bound->last, memory_order_relaxed);
    while ((bound->descending ? last > before : last < before) &&
           !atomic_compare_exchange_weak_explicit(&bound->last, &before, last, memory_order_relaxed,
                                                  memory_order_relaxed)) {}
}

static void sift_down(Heap *h, uint64_t at)
{
    uint64_t word = h->words[at];
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && h->words[child + 1] > h->words[child]) child++;
        if (h->words[child] <= word) break;
        h->words[at] = h->words[child];
        at = child;
    }
    h->words[at] = word;
}

static void add(Heap *h, uint64_t limit, uint64_t word)
{
    if (h->n == limit) {
        if (word >= h->words[0]) return;
        h->words[0] = word;
        sift_down(h, 0);
        return;
    }
    uint64_t at = h->n++;
    for (; at > 0 && h->words[(at - 1) / 2] < word; at = (at - 1) / 2) h->words[at] = h->words[(at - 1) / 2];
    h->words[at] = word;
}

/* Rows whose word is not above the heap's top: few, and found without a branch. Their words move to the front. */
static uint32_t below(const Heap *h, uint64_t *words, uint64_t flip, const Batch *batch, uint16_t *sel)
{
    uint64_t top = h->words[0];
    uint32_t k = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint64_t word = words[i];
        sel[k] = (uint16_t)batch_row(batch, i);
        words[k] = word;
        k += (word ^ flip) <= top;
    }
    return k;
}

static uint32_t all_rows(const Batch *batch, uint16_t *sel)
{
    for (uint32_t i = 0; i < batch->n; i++) sel[i] = (uint16_t)batch_row(batch, i);
    return batch->n;
}

/* Of the rows sel[0..n-1], those that may be among the first; the heap learns their words. */
static uint32_t take_rows(TopN *t, Heap *h, const Vector *v, const uint64_t *words, uint64_t flip, uint16_t *sel,
                          uint32_t n)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint16_t row = sel[i];
        uint64_t word = words[i] ^ flip;
        sel[k] = row;
        if (v->valid != NULL && !bit_get(v->valid, row)) {
            k += t->nulls_first || h->n < t->limit;
            continue;
        }
        if (h->n == t->limit && word > h->words[0]) continue;
        k++;
        add(h, t->limit, word);
    }
    return k;
}

/* The words of a dictionary's values; *out NULL: not worth it yet. */
static tcudb_status dict_words(Heap *h, Worker *w, const Vector *v, uint32_t n, const uint64_t **out, Error *err)
{
    *out = NULL;
    if (v->form != VEC_DICT || v->dict_id == 0) return TCUDB_OK;
    if (h->dict_id != v->dict_id || h->nvalues != v->nvalues) {
        h->dict_id = v->dict_id;
        h->nvalues = v->nvalues;
        h->rows_seen = 0;
        h->dict_words = NULL;
        h->few = NULL;
        h->few_top = 0;
    }
    h->rows_seen += n;
    if (h->dict_words == NULL && h->rows_seen > h->nvalues) { /* not where each is seen once */
        RowsCol values = {.type = v->type, .phys = PHYS_STR, .data = (void *)(uintptr_t)v->values};
        SortColumn key = {.col = &values};
        h->dict_words = arena_alloc_raw(&w->own, (h->nvalues + 1) * sizeof *h->dict_words, err);
        TRY_PTR(h->dict_words);
        for (uint32_t at = 0; at < h->nvalues; at += SORT_TASK) {
            uint32_t count = h->nvalues - at < SORT_TASK ? h->nvalues - at : SORT_TASK;
            TRY(exec_check_cancel(w->x, err));
            sort_words(&key, at, NULL, count, h->dict_words + at);
        }
    }
    *out = h->dict_words;
    return TCUDB_OK;
}

static tcudb_status words_of(Heap *h, Worker *w, const Batch *batch, const Vector *v, uint64_t *words, Error *err)
{
    const uint64_t *of_codes;
    TRY(dict_words(h, w, v, batch->n, &of_codes, err));
    if (of_codes != NULL) {
        const uint32_t *codes = v->data;
        for (uint32_t i = 0; i < batch->n; i++) {
            uint32_t row = batch_row(batch, i);
            words[i] = v->valid == NULL || bit_get(v->valid, row) ? of_codes[codes[row]] : 0;
        }
        return TCUDB_OK;
    }
    RowsCol col = {.type = v->type, .phys = v->phys, .dict = v->form == VEC_DICT, .data = v->data, .valid = v->valid};
    col.view.values = v->values;
    SortColumn key = {.col = &col};
    sort_words(&key, 0, batch->sel, batch->n, words);
    return TCUDB_OK;
}

/* Looks for the codes of the values that may still come; the top only falls, so they stay enough. */
static tcudb_status find_few(const TopN *t, Heap *h, Worker *w, uint64_t flip, Error *err)
{
    uint32_t n = 0, codes[CODES_FEW];
    h->few_top = h->words[0];
    for (uint32_t code = 0; code < h->nvalues; code++) {
        if ((h->dict_words[code] ^ flip) > h->words[0]) continue;
        if (n == CODES_FEW) return TCUDB_OK;
        codes[n++] = code;
    }
    assert(n > 0);
    FewCodes *few = ARENA_NEW(&w->own, FewCodes, err);
    TRY_PTR(few);
    *few = (FewCodes){.dict_id = h->dict_id, .nvalues = h->nvalues};
    for (uint32_t i = 0; i < CODES_FEW; i++) few->codes[i] = codes[i < n ? i : 0];
    h->few = few;
    if (t->bound != NULL) atomic_store(&t->bound->codes, few);
    return TCUDB_OK;
}

/* Whether no row of the batch can be among the first, by its codes alone. */
static tcudb_status all_above(const TopN *t, Heap *h, Worker *w, const Batch *batch, const Vector *v, uint64_t flip,
                              bool *above, Error *err)
{
    bool known = h->dict_words != NULL && v->dict_id == h->dict_id && v->nvalues == h->nvalues && h->n == t->limit;
    *above = false;
    if (!known || v->form != VEC_DICT || v->valid != NULL) return TCUDB_OK;
    bool due = h->batches++ % FEW_BATCHES == 0 && h->words[0] != h->few_top;
    if (due) TRY(find_few(t, h, w, flip, err));
    *above = h->few != NULL && !codes_any(h->few, v->data, batch->rows);
    return TCUDB_OK;
}

tcudb_status topn_filter(TopN *t, Worker *w, Batch *batch, Error *err)
{
    static const uint16_t none = 0;
    const Vector *v = &batch->cols[t->col];
    Heap *h = &t->heaps[w->id];
    if (v->form == VEC_CONST) return TCUDB_OK;
    uint64_t flip = t->descending ? UINT64_MAX : 0;
    bool above;
    TRY(all_above(t, h, w, batch, v, flip, &above, err));
    if (above) {
        batch->n = 0;
        batch->sel = &none;
        return TCUDB_OK;
    }
    uint64_t *words = arena_alloc_raw(worker_arena(w), BATCH_ROWS * sizeof *words, err);
    uint16_t *sel = words == NULL ? NULL : arena_alloc_raw(worker_arena(w), (BATCH_ROWS + 16) * sizeof *sel, err);
    TRY_PTR(sel);
    TRY(words_of(h, w, batch, v, words, err));
    uint32_t n = v->valid == NULL && h->n == t->limit ? below(h, words, flip, batch, sel) : all_rows(batch, sel);
    batch->n = take_rows(t, h, v, words, flip, sel, n);
    bool same = v->phys <= PHYS_I64 || v->phys == PHYS_STR; /* a scan makes the same words of values */
    bool known = same && !type_keeps_blanks(v->type);
    if (t->bound != NULL && known && h->n == t->limit) move_bound(t->bound, h->words[0]);
    batch->sel = sel;
    return TCUDB_OK;
}
