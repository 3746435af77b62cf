/*
 * points.c: numbers the distinct (key, value) pairs of a side in ascending order.
 *
 * Where keys x range of values is not much more than the rows, a bitmap with counts per word: one pass, and numbers in
 * constant time. Otherwise the pairs are sorted by radix and found by binary search within their key.
 * Cost: O(rows) and O(1) a look-up, or about 12 passes over 16 bytes a row and O(log points) a look-up.
 */
#include "exec/tcu/contract_int.h"
#include "exec/tcu/points.h"

#include <assert.h>

enum { BITMAP_MIN = 1 << 22, BITMAP_PER_ROW = 64, RADIX = 256 };

typedef struct Pair {
    uint64_t value; /* biased, so that it is ordered unsigned */
    uint32_t key;
} Pair;

static uint64_t biased(int64_t value)
{
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

static uint32_t digit(const Pair *p, uint32_t pass)
{
    return pass < 8 ? (uint32_t)(p->value >> (8 * pass)) % RADIX : (p->key >> (8 * (pass - 8))) % RADIX;
}

/* Sorts by (key, value) through `other`; returns where the result is. */
static Pair *radix_sort(Pair *pairs, Pair *other, uint64_t n)
{
    for (uint32_t pass = 0; pass < 12; pass++) {
        uint64_t counts[RADIX] = {0}, at = 0;
        for (uint64_t i = 0; i < n; i++) counts[digit(&pairs[i], pass)]++;
        if (n > 0 && counts[digit(&pairs[0], pass)] == n) continue;
        for (uint32_t d = 0; d < RADIX; d++) {
            uint64_t here = counts[d];
            counts[d] = at;
            at += here;
        }
        for (uint64_t i = 0; i < n; i++) other[counts[digit(&pairs[i], pass)]++] = pairs[i];
        Pair *swap = pairs;
        pairs = other;
        other = swap;
    }
    return pairs;
}

/* Numbers the sorted pairs. */
static tcudb_status number_pairs(Exec *x, const Pair *pairs, uint64_t n, Points *p, Error *err)
{
    TRY_PTR(p->values = exec_alloc(x, sizeof *p->values * (n + 1), err));
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0 && pairs[i].key == pairs[i - 1].key && pairs[i].value == pairs[i - 1].value) continue;
        p->values[p->n++] = (int64_t)(pairs[i].value ^ (UINT64_C(1) << 63));
        p->starts[pairs[i].key + 1] = p->n;
    }
    for (uint32_t key = 0; key < p->keys; key++)
        if (p->starts[key + 1] == 0) p->starts[key + 1] = p->starts[key];
    return TCUDB_OK;
}

static tcudb_status sort_points(Exec *x, const SideRun *runs, uint32_t nruns, uint32_t column, uint64_t n, Points *p,
                                Error *err)
{
    Pair *pairs = exec_alloc(x, sizeof *pairs * (n + 1), err), *other;
    TRY_PTR(pairs);
    TRY_PTR(other = exec_alloc(x, sizeof *other * (n + 1), err));
    uint64_t at = 0;
    for (uint32_t r = 0; r < nruns; r++)
        for (uint64_t i = 0; i < runs[r].n; i++)
            pairs[at++] = (Pair){.value = biased(runs[r].values[column][i]), .key = runs[r].key[i]};
    TRY(exec_check_cancel(x, err));
    TRY(number_pairs(x, radix_sort(pairs, other, n), n, p, err));
    exec_free(x, pairs);
    exec_free(x, other);
    return TCUDB_OK;
}

/* The rows of all runs, piece by piece. */
typedef struct Marking {
    Points *p;
    uint32_t column;
    RunPiece *pieces;
    uint64_t n;
    _Atomic int64_t min, max;
} Marking;

static tcudb_status mark_piece(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Marking *m = ctx;
    const RunPiece *piece = &m->pieces[task];
    const uint32_t *key = piece->run->key;
    const int64_t *values = piece->run->values[m->column];
    for (uint64_t i = piece->from; i < piece->to; i++) {
        uint64_t bit = key[i] * m->p->span + (uint64_t)values[i] - (uint64_t)m->p->min;
        uint64_t *word = &m->p->words[bit >> 6], mask = UINT64_C(1) << (bit & 63);
        if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == 0) __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
    }
    return TCUDB_OK;
}

static tcudb_status mark_points(Exec *x, Marking *m, Error *err)
{
    Points *p = m->p;
    uint64_t words = ((uint64_t)p->keys * p->span + 63) / 64 + 1;
    TRY_PTR(p->words = exec_alloc_zero(x, sizeof *p->words * words, err));
    TRY_PTR(p->before = exec_alloc(x, sizeof *p->before * words, err));
    TRY(exec_parallel(x, NULL, m->n, mark_piece, m, err));
    for (uint64_t w = 0; w < words; w++) {
        p->before[w] = p->n;
        p->n += popcount64(p->words[w]);
    }
    for (uint32_t key = 0; key <= p->keys; key++) {
        uint64_t bit = key * p->span;
        p->starts[key] = p->before[bit >> 6] + popcount64(p->words[bit >> 6] & ((UINT64_C(1) << (bit & 63)) - 1));
    }
    return TCUDB_OK;
}

static void lower(_Atomic int64_t *at, int64_t v)
{
    for (int64_t now = atomic_load(at); v < now;)
        if (atomic_compare_exchange_weak(at, &now, v)) return;
}

static void raise_to(_Atomic int64_t *at, int64_t v)
{
    for (int64_t now = atomic_load(at); v > now;)
        if (atomic_compare_exchange_weak(at, &now, v)) return;
}

static tcudb_status find_range(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    Marking *m = ctx;
    const RunPiece *piece = &m->pieces[task];
    const int64_t *values = piece->run->values[m->column];
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (uint64_t i = piece->from; i < piece->to; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    lower(&m->min, min);
    raise_to(&m->max, max);
    return TCUDB_OK;
}

tcudb_status points_new(Exec *x, const SideRun *runs, uint32_t nruns, uint32_t column, uint32_t keys, Points *out,
                        Error *err)
{
    uint64_t n = 0;
    Marking m = {.p = out, .column = column, .min = INT64_MAX, .max = INT64_MIN};
    *out = (Points){.keys = keys};
    for (uint32_t r = 0; r < nruns; r++) n += runs[r].n;
    if (n >= UINT32_MAX / 2) return error_unsupported(err, 0, "a comparison of more than 2^31 rows as a contraction");
    TRY_PTR(out->starts = exec_alloc_zero(x, sizeof *out->starts * ((size_t)keys + 1), err));
    if (n == 0) return TCUDB_OK;
    TRY(runs_pieces(x, runs, nruns, &m.pieces, &m.n, err));
    TRY(exec_parallel(x, NULL, m.n, find_range, &m, err));
    out->min = atomic_load(&m.min);
    out->span = (uint64_t)atomic_load(&m.max) - (uint64_t)out->min + 1;
    uint64_t limit = BITMAP_MIN + BITMAP_PER_ROW * n;
    bool dense = out->span != 0 && out->span <= limit / keys;
    TRY(dense ? mark_points(x, &m, err) : sort_points(x, runs, nruns, column, n, out, err));
    exec_free(x, m.pieces);
    return TCUDB_OK;
}

static uint32_t search(const Points *p, uint32_t key, int64_t value)
{
    uint32_t low = p->starts[key], high = p->starts[key + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t points_before(const Points *p, uint32_t key, int64_t value)
{
    assert(key < p->keys);
    if (p->words == NULL) return p->values == NULL ? 0 : search(p, key, value);
    if (value <= p->min) return p->starts[key];
    uint64_t offset = (uint64_t)value - (uint64_t)p->min;
    if (offset >= p->span) return p->starts[key + 1];
    uint64_t bit = key * p->span + offset;
    return p->before[bit >> 6] + popcount64(p->words[bit >> 6] & ((UINT64_C(1) << (bit & 63)) - 1));
}

void points_free(Exec *x, Points *p)
{
    exec_free(x, p->starts);
    exec_free(x, p->values);
    exec_free(x, p->words);
    exec_free(x, p->before);
}
