/*
 * topn.c: drops rows that cannot be among the first N of an order, before anything of them is kept.
 *
 * Each worker remembers the N smallest first keys (as order-preserving words, see sort.c) of the rows it has
 * seen, in a heap with the largest on top. A row whose first key is larger than that top has N rows before
 * it, so it goes. Ties stay: later keys decide them. Rows with a NULL first key stay if NULLs come first,
 * and go once the heap is full if they come last. Cost: a word and a comparison a row; almost no row gets
 * past that after the first few thousand.
 */
#include "exec/sort_int.h"

#include <assert.h>

enum { MAX_ROWS = 8192 };

typedef struct Heap {
    uint64_t *words;
    uint64_t n;
} Heap;

struct TopN {
    uint32_t col;
    bool descending, nulls_first;
    uint64_t limit;
    Heap *heaps; /* by worker */
};

tcudb_status topn_new(Exec *x, const SortKey *key, uint32_t col, uint64_t limit, TopN **out, Error *err)
{
    Phys phys = type_phys(key->expr->type);
    *out = NULL;
    if (limit == 0 || limit > MAX_ROWS || phys == PHYS_NUM || phys == PHYS_INTERVAL) return TCUDB_OK;
    TopN *t = ARENA_NEW(&x->arena, TopN, err);
    TRY_PTR(t);
    *t = (TopN){.col = col, .descending = key->descending, .nulls_first = key->nulls_first, .limit = limit};
    t->heaps = ARENA_ARRAY(&x->arena, Heap, x->nworkers, err);
    TRY_PTR(t->heaps);
    for (uint32_t w = 0; w < x->nworkers; w++) {
        t->heaps[w].words = ARENA_ARRAY(&x->arena, uint64_t, limit, err);
        TRY_PTR(t->heaps[w].words);
    }
    *out = t;
    return TCUDB_OK;
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

tcudb_status topn_filter(TopN *t, Worker *w, Batch *batch, Error *err)
{
    const Vector *v = &batch->cols[t->col];
    Heap *h = &t->heaps[w->id];
    if (v->form == VEC_CONST) return TCUDB_OK;
    RowsCol col = {.type = v->type, .phys = v->phys, .dict = v->form == VEC_DICT, .data = v->data};
    col.view.values = v->values;
    uint16_t *sel = arena_alloc_raw(worker_arena(w), (BATCH_ROWS + 16) * sizeof *sel, err);
    TRY_PTR(sel);
    uint32_t k = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        sel[k] = (uint16_t)row;
        if (v->valid != NULL && !bit_get(v->valid, row)) {
            k += t->nulls_first || h->n < t->limit;
            continue;
        }
        uint64_t word = sort_word(&col, row);
        if (t->descending) word = ~word;
        if (h->n == t->limit && word > h->words[0]) continue;
        k++;
        add(h, t->limit, word);
    }
    assert(k <= batch->n);
    batch->sel = sel;
    batch->n = k;
    return TCUDB_OK;
}
