/*
 * list_walk.c: several lists walked together: intersection by filters, union by a heap.
 *
 * Intersection: a block of the shortest list is filtered through the other lists, shortest first, by cursors that skip
 * whatever blocks hold no candidate. Union: a heap of cursors, the least number at its root; equal numbers leave
 * together. Lists to be excluded filter either the other way round.
 *
 * Cost: a block of n candidates O(n log distance) a list; a union of p numbers in k lists O(p log k). Any 64-bit
 * numbers.
 */
#include "codec/list_walk.h"

#include <assert.h>

tcudb_status list_walk_open(const ListSet *set, const ListSet *freqs, const ListQuery *q, Arena *arena, ListWalk *out,
                            Error *err)
{
    out->lists = q->nlists;
    out->n = q->nlists + q->nwithout;
    out->scored = freqs != NULL;
    out->at = ARENA_ARRAY(arena, ListCursor *, out->n + 1, err);
    TRY_PTR(out->at);
    out->heap = ARENA_ARRAY(arena, ListCursor *, out->lists + 1, err);
    TRY_PTR(out->heap);
    for (uint32_t i = 0; i < out->n; i++) {
        ListCursor *c = ARENA_NEW(arena, ListCursor, err);
        TRY_PTR(c);
        bool wanted = i < q->nlists;
        TRY(list_cursor_init(c, set, wanted ? freqs : NULL, wanted ? q->lists[i] : q->without[i - q->nlists], arena,
                             err));
        uint32_t to = i;
        for (; wanted && to > 0 && set->entry[out->at[to - 1]->list].n > set->entry[c->list].n; to--)
            out->at[to] = out->at[to - 1];
        out->at[to] = c;
    }
    return TCUDB_OK;
}

uint64_t list_walk_postings(const ListWalk *w)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < w->lists; i++) n += w->at[i]->set->entry[w->at[i]->list].n;
    return n;
}

void list_walk_add_work(const ListWalk *w, ListWork *work)
{
    for (uint32_t i = 0; work != NULL && i < w->n; i++) {
        work->blocks += w->at[i]->decoded;
        work->skipped += list_cursor_skipped(w->at[i]);
    }
}

/* Keeps the candidates that the list has, adding its frequencies to their scores, or (keep false) that it has not. */
static tcudb_status filter(ListCursor *c, bool keep, bool scored, ListCandidates *of, Error *err)
{
    uint32_t kept = 0;
    bool more = true;
    for (uint32_t i = 0; i < of->n; i++) {
        bool has = false;
        if (more && !(c->block == c->loaded && c->at < c->n && c->values[c->at] >= of->v[i]))
            TRY(list_cursor_seek(c, of->v[i], &more, err));
        if (more) has = c->values[c->at] == of->v[i];
        if (has != keep) continue;
        of->v[kept] = of->v[i];
        if (scored) of->score[kept] = has ? list_add_score(of->score[i], c->freq[c->at]) : of->score[i];
        kept++;
    }
    of->n = kept;
    return TCUDB_OK;
}

static tcudb_status exclude(ListWalk *w, ListCandidates *c, Error *err)
{
    for (uint32_t i = w->lists; i < w->n && c->n > 0; i++) TRY(filter(w->at[i], false, w->scored, c, err));
    return TCUDB_OK;
}

tcudb_status list_walk_and(ListWalk *w, uint64_t b, ListCandidates *c, Error *err)
{
    ListCursor *shortest = w->at[0];
    uint32_t n = 0;
    TRY(list_numbers(shortest->set, shortest->list, b, c->v, &c->n, err));
    if (w->scored) TRY(list_set_decode(shortest->freqs, shortest->list, b, c->score, &n, err));
    for (uint32_t i = 0; w->scored && i < c->n; i++) c->score[i] = list_add_score(0, c->score[i]);
    shortest->decoded++;
    for (uint32_t i = 1; i < w->lists && c->n > 0; i++) TRY(filter(w->at[i], true, w->scored, c, err));
    return exclude(w, c, err);
}

/* ---- union ---- */

typedef struct Heap {
    ListCursor **at;
    uint32_t n;
} Heap;

static uint64_t number_of(const ListCursor *c)
{
    return c->values[c->at];
}

static void sift_down(Heap *h, uint32_t i)
{
    ListCursor *c = h->at[i];
    for (uint32_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && number_of(h->at[child + 1]) < number_of(h->at[child])) child++;
        if (number_of(h->at[child]) >= number_of(c)) break;
        h->at[i] = h->at[child];
    }
    h->at[i] = c;
}

/* The root moves on by one number; past `high` it leaves. */
static tcudb_status advance(Heap *h, uint64_t high, Error *err)
{
    ListCursor *c = h->at[0];
    bool more = true;
    if (++c->at == c->n) {
        c->block++;
        TRY(list_cursor_seek(c, 0, &more, err));
    }
    if (!more || number_of(c) > high) h->at[0] = h->at[--h->n];
    if (h->n > 1) sift_down(h, 0);
    return TCUDB_OK;
}

static tcudb_status gather(ListWalk *w, Heap *h, uint64_t low, uint64_t high, Error *err)
{
    for (uint32_t i = 0; i < w->lists; i++) {
        bool more = false;
        TRY(list_cursor_seek(w->at[i], low, &more, err));
        if (more && number_of(w->at[i]) <= high) h->at[h->n++] = w->at[i];
    }
    for (uint32_t i = h->n / 2; i-- > 0;) sift_down(h, i);
    return TCUDB_OK;
}

static tcudb_status hand_over(ListWalk *w, ListCandidates *c, ListTakeFn take, void *ctx, Error *err)
{
    TRY(exclude(w, c, err));
    TRY(take(ctx, c, err));
    c->n = 0;
    return TCUDB_OK;
}

tcudb_status list_walk_merge(ListWalk *w, uint64_t low, uint64_t high, ListCandidates *c, ListTakeFn take, void *ctx,
                             Error *err)
{
    Heap h = {w->heap, 0};
    TRY(gather(w, &h, low, high, err));
    c->n = 0;
    while (h.n > 0) {
        uint64_t v = number_of(h.at[0]);
        uint32_t score = 0;
        do {
            if (w->scored) score = list_add_score(score, h.at[0]->freq[h.at[0]->at]);
            TRY(advance(&h, high, err));
        } while (h.n > 0 && number_of(h.at[0]) == v);
        c->v[c->n] = v;
        c->score[c->n++] = score;
        if (c->n == CODEC_BLOCK) TRY(hand_over(w, c, take, ctx, err));
    }
    return hand_over(w, c, take, ctx, err);
}
