/*
 * list_top.c: the k best documents of a query by the sum of their frequencies.
 *
 * Documents in all lists come from filtered blocks of the shortest list. Those in any list come by windows of numbers:
 * counted in an array a window where the lists are dense, merged where they are sparse. Neither a block nor a window is
 * decoded whose documents cannot be among the best: when the largest frequencies of the blocks that reach into it (the
 * skip array of a set that does not ascend) add up to no more than the k-th best score so far. Later documents lose
 * ties.
 *
 * Cost: O(documents not skipped) and O(k log k). Windows of sparse lists end where blocks of the longest one do; there
 * are about as many as blocks in a list.
 */
#include "codec/list_walk.h"

#include <assert.h>

enum { WINDOW = 1 << 13, SPARSE = 32 };

typedef struct Top {
    ListHit *hits; /* a heap, worst at the root: smallest score, then largest number */
    uint32_t n, k;
} Top;

static bool worse(ListHit a, ListHit b)
{
    return a.score < b.score || (a.score == b.score && a.doc > b.doc);
}

static void sift_down(Top *t, uint32_t i)
{
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= t->n) return;
        if (child + 1 < t->n && worse(t->hits[child + 1], t->hits[child])) child++;
        if (!worse(t->hits[child], t->hits[i])) return;
        ListHit h = t->hits[i];
        t->hits[i] = t->hits[child];
        t->hits[child] = h;
        i = child;
    }
}

static void offer(Top *t, ListHit hit)
{
    if (t->n < t->k) {
        uint32_t i = t->n++;
        t->hits[i] = hit;
        while (i > 0 && worse(t->hits[i], t->hits[(i - 1) / 2])) {
            ListHit h = t->hits[i];
            t->hits[i] = t->hits[(i - 1) / 2];
            t->hits[(i - 1) / 2] = h;
            i = (i - 1) / 2;
        }
    } else if (worse(t->hits[0], hit)) {
        t->hits[0] = hit;
        sift_down(t, 0);
    }
}

/* Takes the worst off the root, to the end, until none is left: best first. */
static void sort_hits(Top *t)
{
    for (uint32_t n = t->n; t->n > 1;) {
        ListHit h = t->hits[0];
        t->hits[0] = t->hits[--t->n];
        t->hits[t->n] = h;
        sift_down(t, 0);
        if (t->n == 1) {
            t->n = n;
            return;
        }
    }
}

static tcudb_status offer_candidates(void *ctx, const ListCandidates *c, Error *err)
{
    (void)err;
    for (uint32_t i = 0; i < c->n; i++) offer(ctx, (ListHit){.doc = c->v[i], .score = c->score[i]});
    return TCUDB_OK;
}

/* Adds to *most what a document of low..high scores at most in this list; false if there is none. Also moves to the
 * blocks that reach into the range. */
static bool range_bound(ListCursor *c, uint64_t low, uint64_t high, uint64_t *most)
{
    const ListEntry *e = &c->freqs->entry[c->list];
    uint64_t best = 0;
    if (!list_cursor_skip(c, low)) return false;
    if (e->n < LIST_SHORT) best = c->freqs->bound;
    for (uint64_t b = c->block; e->n >= LIST_SHORT && b < c->blocks; b++) {
        uint64_t m = list_set_last(c->freqs, e->at + b);
        best = m > best ? m : best;
        if (list_cursor_last(c, b) >= high) break;
    }
    *most += best;
    return true;
}

/* Whether a document of low..high can be among the best. */
static bool promising(const ListWalk *w, uint64_t low, uint64_t high, const Top *t)
{
    uint64_t most = 0;
    bool live = false;
    for (uint32_t i = 0; i < w->lists; i++) live |= range_bound(w->at[i], low, high, &most);
    return live && (t->n < t->k || most > t->hits[0].score);
}

/* Blocks of the shortest list. */
static tcudb_status run_all(ListWalk *w, ListCandidates *c, Top *top, Error *err)
{
    uint64_t low = 0;
    for (uint64_t b = 0; b < w->at[0]->blocks; b++) {
        uint64_t high = list_cursor_last(w->at[0], b);
        if (promising(w, low, high, top)) {
            TRY(list_walk_and(w, b, c, err));
            TRY(offer_candidates(top, c, err));
        }
        low = high + 1;
    }
    return TCUDB_OK;
}

/* ---- windows ---- */

typedef struct Window {
    uint32_t score[WINDOW];
    uint8_t state[WINDOW]; /* of a document */
} Window;
enum { ABSENT, PRESENT, EXCLUDED };

/* Adds the list's frequencies to the documents from low on; without frequencies: excludes them. */
static tcudb_status count_list(ListCursor *c, uint64_t low, Window *s, Error *err)
{
    bool more = false;
    TRY(list_cursor_seek(c, low, &more, err));
    while (more) {
        uint32_t i = c->at;
        for (; i < c->n && c->values[i] - low < WINDOW; i++) {
            uint64_t d = c->values[i] - low;
            if (c->freqs != NULL) s->score[d] = list_add_score(s->score[d], c->freq[i]);
            s->state[d] = c->freqs != NULL ? PRESENT : EXCLUDED;
        }
        c->at = i;
        if (i < c->n) break;
        c->block++;
        TRY(list_cursor_seek(c, low, &more, err));
    }
    return TCUDB_OK;
}

static tcudb_status count_window(ListWalk *w, uint64_t low, Window *s, Top *top, Error *err)
{
    memset(s, 0, sizeof(*s));
    for (uint32_t i = 0; i < w->n; i++) TRY(count_list(w->at[i], low, s, err));
    for (uint32_t d = 0; d < WINDOW; d++)
        if (s->state[d] == PRESENT && (top->n < top->k || s->score[d] > top->hits[0].score))
            offer(top, (ListHit){.doc = low + d, .score = s->score[d]});
    return TCUDB_OK;
}

/* Blocks of the longest list to a window: about as many windows as a list has blocks on the average. */
static uint64_t guide_stride(const ListWalk *w)
{
    uint64_t blocks = 0;
    assert(w->lists > 0);
    for (uint32_t i = 0; i < w->lists; i++) blocks += w->at[i]->blocks;
    return w->at[w->lists - 1]->blocks / (blocks / w->lists + 1) + 1;
}

/* The last number of a window: where the longest list's blocks end. */
static uint64_t window_end(const ListWalk *w, uint64_t window, uint64_t stride)
{
    const ListCursor *guide = w->at[w->lists - 1];
    uint64_t block = (window + 1) * stride - 1;
    return block + 1 < guide->blocks ? list_cursor_last(guide, block) : UINT64_MAX;
}

static tcudb_status run_any(ListWalk *w, uint64_t bound, ListCandidates *c, Arena *arena, Top *top, Error *err)
{
    Window *dense = NULL;
    uint64_t stride = guide_stride(w), low = 0;
    if (bound / SPARSE <= list_walk_postings(w)) {
        dense = arena_alloc_raw(arena, sizeof(*dense), err);
        TRY_PTR(dense);
    }
    for (uint64_t i = 0;; i++) {
        uint64_t high = dense != NULL ? low + WINDOW - 1 : window_end(w, i, stride);
        if (high < low) continue; /* damaged skip entries */
        if (promising(w, low, high, top)) {
            if (dense != NULL)
                TRY(count_window(w, low, dense, top, err));
            else
                TRY(list_walk_merge(w, low, high, c, offer_candidates, top, err));
        }
        if (high >= bound) return TCUDB_OK;
        low = high + 1;
    }
}

static tcudb_status wrong_freqs(Error *err)
{
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the frequencies do not belong to these documents");
}

tcudb_status list_freqs_check(const ListSet *docs, const ListSet *freqs, Error *err)
{
    return (freqs->flags & (LIST_WIDE | LIST_ASCENDING)) != 0 || freqs->lists != docs->lists ? wrong_freqs(err)
                                                                                             : TCUDB_OK;
}

static tcudb_status run_top(const ListQuery *q, ListWalk *w, Arena *arena, Top *top, Error *err)
{
    ListCandidates *c = arena_alloc_raw(arena, sizeof(*c), err);
    TRY_PTR(c);
    for (uint32_t i = 0; i < w->lists; i++)
        if (w->at[i]->freqs->entry[w->at[i]->list].n != w->at[i]->set->entry[w->at[i]->list].n) return wrong_freqs(err);
    return q->any ? run_any(w, w->at[0]->set->bound, c, arena, top, err) : run_all(w, c, top, err);
}

tcudb_status list_top(const ListSet *docs, const ListSet *freqs, const ListQuery *query, uint32_t k, ListHit *hits,
                      uint32_t *n, ListWork *work, Error *err)
{
    Arena arena;
    ListWalk w = {0};
    Top top = {hits, 0, k};
    tcudb_status status;
    *n = 0;
    TRY(list_query_check(docs, query, err));
    TRY(list_freqs_check(docs, freqs, err));
    if (query->nlists == 0 || k == 0) return TCUDB_OK;
    arena_init(&arena, docs->mem);
    TRY_GOTO(list_walk_open(docs, freqs, query, &arena, &w, err));
    TRY_GOTO(run_top(query, &w, &arena, &top, err));
    *n = top.n;
    sort_hits(&top);
    list_walk_add_work(&w, work);
done:
    arena_free(&arena);
    return status;
}
