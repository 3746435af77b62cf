/*
 * sort_items.c: sorts pairs of a key and a row number.
 *
 * Splitters from a sample divide the keys into buckets of a size that fits the L2 cache; tasks count and scatter their
 * items, in order; each bucket is then sorted by itself, the bytes that differ within it from the lowest to the highest
 * (LSD radix), all buckets in parallel. Every step keeps equal keys in the order of rows. Rows with equal keys that
 * later columns may tell apart are merge sorted by comparing rows. Buckets beyond the limit are left alone.
 * Cost: n log n / log 256 steps in cache, two passes over memory. Sample sort: Blelloch et al., CM-2, 1991.
 */
#include "exec/sort_int.h"

#include <assert.h>

enum { BUCKET_ROWS = 16384, BUCKETS_MAX = 256, SAMPLE = 16 * BUCKETS_MAX, SMALL = 32 };

typedef struct Buckets {
    Sorter *s;
    SortItem *scattered;
    uint8_t *bucket;                 /* by item */
    uint32_t n;                      /* buckets */
    uint64_t splitters[BUCKETS_MAX]; /* first key of each but the first; UINT64_MAX after the last */
    uint64_t ntasks;
    uint64_t *place; /* by task and bucket: count, then where the next item goes */
    uint64_t start[BUCKETS_MAX + 1];
} Buckets;

/* ---- one bucket ------------------------------------------------------------------------------------------- */

static void insertion_sort(SortItem *a, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        SortItem x = a[i];
        uint64_t j = i;
        for (; j > 0 && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
        a[j] = x;
    }
}

static void scatter_byte(const SortItem *from, SortItem *to, uint64_t n, uint32_t shift)
{
    uint64_t at[256] = {0}, next = 0;
    for (uint64_t i = 0; i < n; i++) at[from[i].key >> shift & 255]++;
    for (uint32_t b = 0; b < 256; b++) {
        uint64_t count = at[b];
        at[b] = next;
        next += count;
    }
    for (uint64_t i = 0; i < n; i++) to[at[from[i].key >> shift & 255]++] = from[i];
}

/* Sorts a with the help of b; the result is in either: returned. */
static SortItem *radix_sort(SortItem *a, SortItem *b, uint64_t n)
{
    uint64_t differ = 0;
    if (n <= SMALL) {
        insertion_sort(a, n);
        return a;
    }
    for (uint64_t i = 1; i < n; i++) differ |= a[i].key ^ a[0].key;
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 255) == 0) continue;
        scatter_byte(a, b, n, shift);
        SortItem *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* ---- ties ------------------------------------------------------------------------------------------------- */

static void merge(const Sorter *s, const uint32_t *a, uint64_t na, const uint32_t *b, uint64_t nb, uint32_t *out)
{
    uint64_t i = 0, j = 0, k = 0;
    while (i < na && j < nb) out[k++] = sort_compare(s, s->decided, a[i], b[j]) <= 0 ? a[i++] : b[j++];
    while (i < na) out[k++] = a[i++];
    while (j < nb) out[k++] = b[j++];
}

/* Rows of one key, by the columns that it does not decide. */
static tcudb_status sort_ties(const Sorter *s, uint32_t *rows, uint64_t n, uint32_t *scratch, Error *err)
{
    uint32_t *a = rows, *b = scratch;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t i = 0; i < n; i += 2 * width) {
            uint64_t na = n - i < width ? n - i : width, nb = n - i - na < width ? n - i - na : width;
            if ((i & 0xffff) == 0) TRY(exec_check_cancel(s->x, err));
            merge(s, a + i, na, a + i + na, nb, b + i);
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != rows) memcpy(rows, a, n * sizeof *rows);
    return TCUDB_OK;
}

static tcudb_status put_order(const Sorter *s, const SortItem *items, uint64_t n, uint32_t *order, uint32_t *scratch,
                              Error *err)
{
    for (uint64_t i = 0; i < n; i++) order[i] = items[i].row;
    if (s->decided == s->ncols) return TCUDB_OK;
    for (uint64_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && items[to].key == items[from].key;) to++;
        if (to - from > 1) TRY(sort_ties(s, order + from, to - from, scratch, err));
    }
    return TCUDB_OK;
}

/* Items in a (b: room for as many) into order. The scratch of ties lies in the half that the result is not in. */
static tcudb_status sort_bucket(const Sorter *s, SortItem *a, SortItem *b, uint64_t n, uint32_t *order, Error *err)
{
    TRY(exec_check_cancel(s->x, err));
    SortItem *sorted = radix_sort(a, b, n);
    return put_order(s, sorted, n, order, (uint32_t *)(void *)(sorted == a ? b : a), err);
}

/* ---- buckets ---------------------------------------------------------------------------------------------- */

static tcudb_status choose_splitters(Buckets *b, Error *err)
{
    const Sorter *s = b->s;
    SortItem *sample = exec_alloc(s->x, 2 * SAMPLE * sizeof *sample, err);
    TRY_PTR(sample);
    for (uint64_t i = 0; i < SAMPLE; i++) sample[i] = s->items[i * s->n / SAMPLE];
    const SortItem *sorted = radix_sort(sample, sample + SAMPLE, SAMPLE);
    for (uint32_t k = 0; k < BUCKETS_MAX; k++)
        b->splitters[k] = k + 1 < b->n ? sorted[(uint64_t)(k + 1) * SAMPLE / b->n].key : UINT64_MAX;
    exec_free(s->x, sample);
    return TCUDB_OK;
}

/* How many splitters are not above the key. */
static inline uint32_t bucket_of(const Buckets *b, uint64_t key)
{
    uint32_t at = 0;
    for (uint32_t half = BUCKETS_MAX / 2; half > 0; half /= 2) at += b->splitters[at + half - 1] <= key ? half : 0;
    return at < b->n ? at : b->n - 1;
}

static tcudb_status count_items(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Buckets *b = ctx;
    const Sorter *s = b->s;
    uint64_t from = task * SORT_TASK, to = from + SORT_TASK < s->n ? from + SORT_TASK : s->n;
    uint64_t *count = b->place + task * b->n;
    (void)w;
    TRY(exec_check_cancel(s->x, err));
    for (uint64_t i = from; i < to; i++) {
        b->bucket[i] = (uint8_t)bucket_of(b, s->items[i].key);
        count[b->bucket[i]]++;
    }
    return TCUDB_OK;
}

static void place_items(Buckets *b)
{
    uint64_t next = 0;
    for (uint32_t k = 0; k < b->n; k++) {
        b->start[k] = next;
        for (uint64_t task = 0; task < b->ntasks; task++) {
            uint64_t count = b->place[task * b->n + k];
            b->place[task * b->n + k] = next;
            next += count;
        }
    }
    b->start[b->n] = next;
    assert(next == b->s->n);
}

static tcudb_status scatter_items(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Buckets *b = ctx;
    const Sorter *s = b->s;
    uint64_t from = task * SORT_TASK, to = from + SORT_TASK < s->n ? from + SORT_TASK : s->n;
    uint64_t *place = b->place + task * b->n;
    (void)w;
    TRY(exec_check_cancel(s->x, err));
    for (uint64_t i = from; i < to; i++) b->scattered[place[b->bucket[i]]++] = s->items[i];
    return TCUDB_OK;
}

static tcudb_status sort_one(void *ctx, Worker *w, uint64_t k, Error *err)
{
    Buckets *b = ctx;
    Sorter *s = b->s;
    uint64_t start = b->start[k], n = b->start[k + 1] - start;
    (void)w;
    if (start >= s->limit || n == 0) return TCUDB_OK;
    return sort_bucket(s, b->scattered + start, s->items + start, n, s->order + start, err);
}

static tcudb_status sort_buckets(Buckets *b, Error *err)
{
    Sorter *s = b->s;
    TRY(choose_splitters(b, err));
    b->bucket = exec_alloc(s->x, s->n, err);
    TRY_PTR(b->bucket);
    b->place = exec_alloc_zero(s->x, b->ntasks * b->n * sizeof *b->place, err);
    TRY_PTR(b->place);
    TRY(exec_parallel(s->x, s->node, b->ntasks, count_items, b, err));
    place_items(b);
    TRY(exec_parallel(s->x, s->node, b->ntasks, scatter_items, b, err));
    TRY(exec_parallel(s->x, s->node, b->n, sort_one, b, err));
    exec_free(s->x, b->bucket);
    exec_free(s->x, b->place);
    return TCUDB_OK;
}

tcudb_status sort_items(Sorter *s, Error *err)
{
    Buckets *b = ARENA_NEW(&s->x->arena, Buckets, err);
    TRY_PTR(b);
    *b = (Buckets){.s = s, .ntasks = (s->n + SORT_TASK - 1) / SORT_TASK};
    b->scattered = exec_alloc(s->x, (s->n + 1) * sizeof *b->scattered, err);
    TRY_PTR(b->scattered);
    uint64_t wanted = s->n / BUCKET_ROWS;
    b->n = wanted < BUCKETS_MAX ? (uint32_t)wanted : BUCKETS_MAX;
    if (b->n > 1)
        TRY(sort_buckets(b, err));
    else
        TRY(sort_bucket(s, s->items, b->scattered, s->n, s->order, err));
    exec_free(s->x, b->scattered);
    return TCUDB_OK;
}
