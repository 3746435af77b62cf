/*
 * list_ops.c: AND, OR and NOT over compressed lists; batches of queries.
 *
 * AND takes the shortest list block by block through filters (list_walk.c). OR of lists that are dense in their range
 * goes by windows, a bitmap of 2^18 numbers each, so that its state stays in the caches whatever the number of lists;
 * OR of sparse ones merges. A word of a bitmap costs as much as a number merged costs a tenth: dense is a number in
 * SPARSE or more.
 *
 * Cost: AND O(shortest * log), OR O(numbers + windows) or O(numbers * log lists). Limits: 65,535 lists a query; scores
 * saturate at 2^32 - 2.
 */
#include "codec/list_walk.h"

enum { WINDOW = 1 << 18, SPARSE = 1024, MAX_LISTS = 65535 };

tcudb_status list_query_check(const ListSet *set, const ListQuery *query, Error *err)
{
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

typedef struct Answer {
    const ListSet *set;
    Buf *out;
} Answer;

/* Appends numbers in the set's width. */
static tcudb_status put_numbers(Answer *a, const uint64_t *v, uint32_t n, Error *err)
{
    uint32_t narrow[CODEC_BLOCK];
    if (n == 0) return TCUDB_OK;
    if (a->set->flags & LIST_WIDE) return buf_append(a->out, v, n * sizeof(*v), err);
    for (uint32_t i = 0; i < n; i++) narrow[i] = (uint32_t)v[i];
    return buf_append(a->out, narrow, n * sizeof(narrow[0]), err);
}

static tcudb_status put_candidates(void *ctx, const ListCandidates *c, Error *err)
{
    return put_numbers(ctx, c->v, c->n, err);
}

static tcudb_status run_and(ListWalk *w, ListCandidates *c, Answer *a, Error *err)
{
    for (uint64_t b = 0; b < w->at[0]->blocks; b++) {
        TRY(list_walk_and(w, b, c, err));
        TRY(put_candidates(a, c, err));
    }
    return TCUDB_OK;
}

/* Sets or clears the bits of the list's numbers in the window that begins at low. */
static tcudb_status mark_window(ListCursor *c, uint64_t low, uint64_t *bits, bool set, Error *err)
{
    bool more = false;
    TRY(list_cursor_seek(c, low, &more, err));
    while (more) {
        uint32_t i = c->at;
        if (set)
            for (; i < c->n && c->values[i] - low < WINDOW; i++)
                bits[(c->values[i] - low) >> 6] |= UINT64_C(1) << ((c->values[i] - low) & 63);
        else
            for (; i < c->n && c->values[i] - low < WINDOW; i++)
                bits[(c->values[i] - low) >> 6] &= ~(UINT64_C(1) << ((c->values[i] - low) & 63));
        c->at = i;
        if (i < c->n) break;
        c->block++;
        TRY(list_cursor_seek(c, low, &more, err));
    }
    return TCUDB_OK;
}

static tcudb_status put_bits(const uint64_t *bits, uint64_t low, Answer *a, Error *err)
{
    for (uint32_t w = 0; w < WINDOW / 64; w += 16) {
        uint64_t v[CODEC_BLOCK];
        uint32_t n = 0;
        for (uint32_t i = w; i < w + 16; i++)
            for (uint64_t b = bits[i]; b != 0; b &= b - 1) v[n++] = low + 64 * i + (uint32_t)__builtin_ctzll(b);
        TRY(put_numbers(a, v, n, err));
    }
    return TCUDB_OK;
}

static tcudb_status run_windows(ListWalk *w, Arena *arena, Answer *a, Error *err)
{
    uint64_t *bits = arena_alloc_raw(arena, WINDOW / 8, err);
    TRY_PTR(bits);
    for (uint64_t low = 0; low <= a->set->bound; low += WINDOW) {
        bool live = false;
        memset(bits, 0, WINDOW / 8);
        for (uint32_t i = 0; i < w->lists; i++) {
            if (w->at[i]->block == w->at[i]->blocks) continue;
            TRY(mark_window(w->at[i], low, bits, true, err));
            live = true;
        }
        if (!live) break;
        for (uint32_t i = w->lists; i < w->n; i++) TRY(mark_window(w->at[i], low, bits, false, err));
        TRY(put_bits(bits, low, a, err));
    }
    return TCUDB_OK;
}

static tcudb_status run_query(ListWalk *w, bool any, Arena *arena, Answer *a, Error *err)
{
    ListCandidates *c = arena_alloc_raw(arena, sizeof(*c), err);
    TRY_PTR(c);
    if (!any) return run_and(w, c, a, err);
    if (a->set->bound / SPARSE <= list_walk_postings(w)) return run_windows(w, arena, a, err);
    return list_walk_merge(w, 0, UINT64_MAX, c, put_candidates, a, err);
}

tcudb_status list_query(const ListSet *set, const ListQuery *query, Buf *out, ListWork *work, Error *err)
{
    Arena arena;
    ListWalk w = {0};
    Answer a = {set, out};
    tcudb_status status;
    TRY(list_query_check(set, query, err));
    if (query->nlists == 0) return TCUDB_OK;
    arena_init(&arena, set->mem);
    TRY_GOTO(list_walk_open(set, NULL, query, &arena, &w, err));
    TRY_GOTO(run_query(&w, query->any, &arena, &a, err));
    list_walk_add_work(&w, work);
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
