/*
 * list_ops.c: AND, OR, NOT and top-k over compressed lists.
 *
 * AND walks the shortest list block by block; its values are filtered through the other lists, shortest first, with
 * cursors that skip whatever blocks hold no candidate. NOT filters the other way round.
 *
 * OR and top-k work in windows of document numbers, so that their state stays in the caches whatever the number of
 * lists: OR a bitmap, top-k a counter a document. Lists are walked in turn within a window. Top-k skips a window
 * without decoding anything of it, when the largest frequencies of the blocks that reach into it (the skip array of a
 * set that does not ascend) add up to no more than the k-th best score so far: later documents lose ties.
 *
 * Cost: AND O(shortest * log), OR and top-k O(postings in windows not skipped + windows). Limits: 32-bit numbers;
 * scores saturate at 2^32 - 2; 65,535 lists a query.
 */
#include "codec/list_cursor.h"

#include <assert.h>

/* Scores saturate here. */
#define SCORE_MAX (UINT32_MAX - 1)

enum { BITMAP_WINDOW = 1 << 18, SCORE_WINDOW = 1 << 13, MAX_LISTS = 65535 };

tcudb_status list_query_check(const ListSet *set, const ListQuery *query, Error *err)
{
    if (set->flags & LIST_WIDE) return error_unsupported(err, 0, "operations on lists of 64-bit values");
    if (!(set->flags & LIST_ASCENDING))
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the lists do not ascend");
    if (query->nlists > MAX_LISTS || query->nwithout > MAX_LISTS)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a query may name %d lists", MAX_LISTS);
    for (uint32_t i = 0; i < query->nlists + query->nwithout; i++) {
        uint64_t list = i < query->nlists ? query->lists[i] : query->without[i - query->nlists];
        if (list >= set->lists)
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "list %llu of %llu does not exist",
                             (unsigned long long)list, (unsigned long long)set->lists);
    }
    return TCUDB_OK;
}

/* Cursors of a query: lists first (AND: shortest first), then those without. */
typedef struct Cursors {
    ListCursor **at;
    uint32_t n, lists;
} Cursors;

static tcudb_status open_cursors(const ListSet *set, const ListSet *freqs, const ListQuery *q, Arena *arena,
                                 Cursors *out, Error *err)
{
    out->lists = q->nlists;
    out->n = q->nlists + q->nwithout;
    out->at = ARENA_ARRAY(arena, ListCursor *, out->n + 1, err);
    TRY_PTR(out->at);
    for (uint32_t i = 0; i < out->n; i++) {
        ListCursor *c = arena_alloc_raw(arena, sizeof(*c), err);
        TRY_PTR(c);
        bool wanted = i < q->nlists;
        list_cursor_init(c, set, wanted ? freqs : NULL, wanted ? q->lists[i] : q->without[i - q->nlists]);
        uint32_t to = i;
        for (; wanted && to > 0 && set->entry[out->at[to - 1]->list].n > set->entry[c->list].n; to--)
            out->at[to] = out->at[to - 1];
        out->at[to] = c;
    }
    return TCUDB_OK;
}

static void add_work(const Cursors *c, ListWork *work)
{
    for (uint32_t i = 0; work != NULL && i < c->n; i++) {
        work->blocks += c->at[i]->decoded;
        work->skipped += list_cursor_skipped(c->at[i]);
    }
}

/* Keeps the candidates that the list has (or has not). */
static tcudb_status filter(ListCursor *c, bool keep, uint32_t *v, uint32_t *n, Error *err)
{
    uint32_t kept = 0;
    bool more = true;
    for (uint32_t i = 0; i < *n; i++) {
        bool has = false;
        if (more && !(c->block == c->loaded && c->at < c->n && c->values[c->at] >= v[i]))
            TRY(list_cursor_seek(c, v[i], &more, err));
        if (more) has = c->values[c->at] == v[i];
        if (has == keep) v[kept++] = v[i];
    }
    *n = kept;
    return TCUDB_OK;
}

static tcudb_status run_and(const ListSet *set, Cursors *c, Buf *out, Error *err)
{
    uint32_t v[CODEC_BLOCK], n = 0;
    ListCursor *shortest = c->at[0];
    for (uint64_t b = 0; b < shortest->blocks; b++) {
        TRY(list_set_decode(set, shortest->list, b, v, &n, err));
        shortest->decoded++;
        for (uint32_t i = 1; i < c->n && n > 0; i++) TRY(filter(c->at[i], i < c->lists, v, &n, err));
        TRY(buf_append(out, v, n * sizeof(v[0]), err));
    }
    return TCUDB_OK;
}

/* Sets or clears the bits of the list's values in the window [low, low + BITMAP_WINDOW). */
static tcudb_status mark_window(ListCursor *c, uint32_t low, uint64_t *bits, bool set, Error *err)
{
    uint64_t end = (uint64_t)low + BITMAP_WINDOW;
    bool more = false;
    TRY(list_cursor_seek(c, low, &more, err));
    while (more) {
        uint32_t i = c->at;
        if (set)
            for (; i < c->n && c->values[i] < end; i++)
                bits[(c->values[i] - low) >> 6] |= UINT64_C(1) << ((c->values[i] - low) & 63);
        else
            for (; i < c->n && c->values[i] < end; i++)
                bits[(c->values[i] - low) >> 6] &= ~(UINT64_C(1) << ((c->values[i] - low) & 63));
        c->at = i;
        if (i < c->n) break;
        c->block++;
        if (c->block == c->blocks) break;
        TRY(list_cursor_seek(c, low, &more, err));
    }
    return TCUDB_OK;
}

static tcudb_status put_bits(const uint64_t *bits, uint32_t low, Buf *out, Error *err)
{
    for (uint32_t w = 0; w < BITMAP_WINDOW / 64; w += 16) {
        uint32_t v[1024], n = 0;
        for (uint32_t i = w; i < w + 16; i++)
            for (uint64_t b = bits[i]; b != 0; b &= b - 1) v[n++] = low + 64 * i + (uint32_t)__builtin_ctzll(b);
        if (n > 0) TRY(buf_append(out, v, n * sizeof(v[0]), err));
    }
    return TCUDB_OK;
}

static tcudb_status run_or(const ListSet *set, Cursors *c, Arena *arena, Buf *out, Error *err)
{
    uint64_t *bits = arena_alloc_raw(arena, BITMAP_WINDOW / 8, err);
    TRY_PTR(bits);
    for (uint64_t low = 0; low <= set->bound; low += BITMAP_WINDOW) {
        bool live = false;
        memset(bits, 0, BITMAP_WINDOW / 8);
        for (uint32_t i = 0; i < c->lists; i++) {
            if (c->at[i]->block == c->at[i]->blocks) continue;
            TRY(mark_window(c->at[i], (uint32_t)low, bits, true, err));
            live = true;
        }
        if (!live) break;
        for (uint32_t i = c->lists; i < c->n; i++) TRY(mark_window(c->at[i], (uint32_t)low, bits, false, err));
        TRY(put_bits(bits, (uint32_t)low, out, err));
    }
    return TCUDB_OK;
}

tcudb_status list_query(const ListSet *set, const ListQuery *query, Buf *out, ListWork *work, Error *err)
{
    Arena arena;
    Cursors c = {0};
    tcudb_status status;
    TRY(list_query_check(set, query, err));
    if (query->nlists == 0) return TCUDB_OK;
    arena_init(&arena, set->mem);
    TRY_GOTO(open_cursors(set, NULL, query, &arena, &c, err));
    status = query->any ? run_or(set, &c, &arena, out, err) : run_and(set, &c, out, err);
    add_work(&c, work);
done:
    arena_free(&arena);
    return status;
}

/* ---- top-k ---- */

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

/* No document of the window scores more. Also moves to the blocks that reach into it. */
static uint64_t window_bound(ListCursor *c, uint64_t low)
{
    const ListEntry *e = &c->freqs->entry[c->list];
    uint64_t most = 0;
    if (e->n < LIST_SHORT) return c->block < c->blocks ? c->freqs->bound : 0;
    while (c->block < c->blocks && list_set_last(c->set, c->set->entry[c->list].at + c->block) < low) c->block++;
    for (uint64_t b = c->block; b < c->blocks; b++) {
        uint64_t last = list_set_last(c->set, c->set->entry[c->list].at + b);
        most = list_set_last(c->freqs, e->at + b) > most ? list_set_last(c->freqs, e->at + b) : most;
        if (last >= low + SCORE_WINDOW - 1) break;
    }
    return most;
}

static tcudb_status score_window(ListCursor *c, uint64_t low, uint32_t *score, uint16_t *terms, Error *err)
{
    uint64_t end = low + SCORE_WINDOW;
    bool more = false;
    if (c->block == c->blocks) return TCUDB_OK;
    TRY(list_cursor_seek(c, (uint32_t)low, &more, err));
    while (more) {
        uint32_t i = c->at;
        for (; i < c->n && c->values[i] < end; i++) {
            uint32_t *s = &score[c->values[i] - low];
            *s = c->freq[i] > SCORE_MAX - *s ? SCORE_MAX : *s + c->freq[i];
            terms[c->values[i] - low]++;
        }
        c->at = i;
        if (i < c->n) break;
        c->block++;
        if (c->block == c->blocks) break;
        TRY(list_cursor_seek(c, (uint32_t)low, &more, err));
    }
    return TCUDB_OK;
}

/* terms[d] == UINT16_MAX: excluded. */
static tcudb_status exclude_window(ListCursor *c, uint64_t low, uint16_t *terms, Error *err)
{
    bool more = false;
    for (uint64_t at = low; at < low + SCORE_WINDOW && at <= UINT32_MAX;) {
        if (c->block == c->blocks) return TCUDB_OK;
        TRY(list_cursor_seek(c, (uint32_t)at, &more, err));
        if (!more || c->values[c->at] >= low + SCORE_WINDOW) return TCUDB_OK;
        terms[c->values[c->at] - low] = UINT16_MAX;
        at = (uint64_t)c->values[c->at] + 1;
    }
    return TCUDB_OK;
}

static tcudb_status run_top(const ListSet *docs, Cursors *c, bool any, Arena *arena, Top *top, Error *err)
{
    uint32_t *score = arena_alloc_raw(arena, SCORE_WINDOW * sizeof(*score), err);
    TRY_PTR(score);
    uint16_t *terms = arena_alloc_raw(arena, SCORE_WINDOW * sizeof(*terms), err);
    TRY_PTR(terms);
    for (uint64_t low = 0; low <= docs->bound; low += SCORE_WINDOW) {
        uint64_t most = 0;
        for (uint32_t i = 0; i < c->lists; i++) most += window_bound(c->at[i], low);
        if (most == 0 || (top->n == top->k && most <= top->hits[0].score)) continue;
        memset(score, 0, SCORE_WINDOW * sizeof(*score));
        memset(terms, 0, SCORE_WINDOW * sizeof(*terms));
        for (uint32_t i = 0; i < c->lists; i++) TRY(score_window(c->at[i], low, score, terms, err));
        for (uint32_t i = c->lists; i < c->n; i++) TRY(exclude_window(c->at[i], low, terms, err));
        uint16_t least = any ? 1 : (uint16_t)c->lists;
        for (uint32_t d = 0; d < SCORE_WINDOW; d++)
            if (terms[d] >= least && terms[d] != UINT16_MAX && (top->n < top->k || score[d] > top->hits[0].score))
                offer(top, (ListHit){(uint32_t)low + d, score[d]});
    }
    return TCUDB_OK;
}

tcudb_status list_top(const ListSet *docs, const ListSet *freqs, const ListQuery *query, uint32_t k, ListHit *hits,
                      uint32_t *n, ListWork *work, Error *err)
{
    Arena arena;
    Cursors c = {0};
    Top top = {hits, 0, k};
    tcudb_status status;
    *n = 0;
    TRY(list_query_check(docs, query, err));
    if ((freqs->flags & (LIST_WIDE | LIST_ASCENDING)) != 0 || freqs->lists != docs->lists)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the frequencies do not belong to these documents");
    if (query->nlists == 0 || k == 0) return TCUDB_OK;
    arena_init(&arena, docs->mem);
    TRY_GOTO(open_cursors(docs, freqs, query, &arena, &c, err));
    for (uint32_t i = 0; i < c.lists; i++)
        if (freqs->entry[c.at[i]->list].n != docs->entry[c.at[i]->list].n) {
            status =
                error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "the frequencies do not belong to these documents");
            goto done;
        }
    TRY_GOTO(run_top(docs, &c, query->any, &arena, &top, err));
    *n = top.n;
    sort_hits(&top);
    add_work(&c, work);
done:
    arena_free(&arena);
    return status;
}

/* ---- batches ---- */

typedef struct Job {
    const ListSet *docs, *freqs;
    const ListQuery *queries;
    uint32_t k;
    Buf *answers;
    ListHit *hits;
    uint32_t *found;
} Job;

static tcudb_status run_one(void *ctx, uint32_t worker, uint64_t i, Error *err)
{
    Job *b = ctx;
    (void)worker;
    if (b->hits == NULL) return list_query(b->docs, &b->queries[i], &b->answers[i], NULL, err);
    return list_top(b->docs, b->freqs, &b->queries[i], b->k, b->hits + i * b->k, &b->found[i], NULL, err);
}

static tcudb_status run_batch(Job *b, uint32_t n, Pool *pool, Error *err)
{
    if (pool != NULL) return pool_run(pool, n, run_one, b, NULL, err);
    for (uint32_t i = 0; i < n; i++) TRY(run_one(b, 0, i, err));
    return TCUDB_OK;
}

tcudb_status list_query_batch(const ListSet *set, const ListQuery *queries, uint32_t n, Pool *pool, Buf *answers,
                              Error *err)
{
    Job b = {.docs = set, .queries = queries, .answers = answers};
    return run_batch(&b, n, pool, err);
}

tcudb_status list_top_batch(const ListSet *docs, const ListSet *freqs, const ListQuery *queries, uint32_t n, uint32_t k,
                            Pool *pool, ListHit *hits, uint32_t *found, Error *err)
{
    Job b = {docs, freqs, queries, k, NULL, hits, found};
    return run_batch(&b, n, pool, err);
}
