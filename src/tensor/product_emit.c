/*
 * product_emit.c: from accumulators to rows of output.
 *
 * A row of accumulators is scanned for the columns that exist (count > 0 and every HAVING bound kept), and only these
 * are copied into the columns of the block's output, column by column; of a folded product they are counted and added
 * up instead. A full block goes to the sink. The bound of a top-N is read anew for every row.
 * Cost: one load and compare for every cell scanned, eight at a time with AVX-512; one load and store a value emitted.
 */
#include "tensor/product_int.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* From numbers in a part to those of the whole. */
static void move_groups(uint32_t *groups, uint32_t n, uint32_t first)
{
    for (uint32_t i = 0; i < n && first > 0; i++) groups[i] += first;
}

tcudb_status block_flush(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    if (b->n == 0) return TCUDB_OK;
    ProductRows rows = {.task = out->task,
                        .n = b->n,
                        .left_group = b->out_left,
                        .right_group = b->out_right,
                        .counts = b->out_counts,
                        .sums = (const void *const *)b->out_sums,
                        .wide = run->wide || run->spec->fold,
                        .cells = b->out_cells};
    b->emitted += b->n;
    move_groups(b->out_left, b->n, run->spec->left.first);
    move_groups(b->out_right, b->n, run->spec->right.first);
    b->n = 0;
    return out->sink(out->ctx, out->worker, &rows, err);
}

/* ---- which columns exist ------------------------------------------------------------------------ */

static uint32_t find_scalar(const uint64_t *counts, uint32_t from, uint32_t to, uint64_t min, uint64_t max,
                            uint32_t *ids)
{
    uint32_t n = 0;
    for (uint32_t j = from; j < to; j++) {
        ids[n] = j;
        n += counts[j] - min <= max - min;
    }
    return n;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static uint32_t find_avx512(const uint64_t *counts, uint32_t from, uint32_t to,
                                                               uint64_t min, uint64_t max, uint32_t *ids)
{
    const __m512i low = _mm512_set1_epi64((int64_t)min), span = _mm512_set1_epi64((int64_t)(max - min));
    __m512i at = _mm512_add_epi32(_mm512_set1_epi32((int)from),
                                  _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    uint32_t n = 0, j = from;
    for (; j + 16 <= to; j += 16, at = _mm512_add_epi32(at, _mm512_set1_epi32(16))) {
        __m512i a = _mm512_loadu_si512(counts + j), b = _mm512_loadu_si512(counts + j + 8);
        __mmask16 keep = (__mmask16)(_mm512_cmple_epu64_mask(_mm512_sub_epi64(a, low), span) |
                                     _mm512_cmple_epu64_mask(_mm512_sub_epi64(b, low), span) << 8);
        if (keep == 0) continue;
        _mm512_storeu_si512(ids + n, _mm512_maskz_compress_epi32(keep, at));
        n += (uint32_t)__builtin_popcount(keep);
    }
    return n + find_scalar(counts, j, to, min, max, ids + n);
}
#endif

static uint32_t find(KernelIsa isa, const uint64_t *counts, uint32_t from, uint32_t n, uint64_t min, uint64_t max,
                     uint32_t *ids)
{
#if defined(__x86_64__)
    if (isa >= ISA_AVX512) return find_avx512(counts, from, n, min, max, ids);
#endif
    (void)isa;
    return find_scalar(counts, from, n, min, max, ids);
}

static uint32_t keep_narrow(const int64_t *values, const ProductBound *bound, uint32_t *ids, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = ids[i];
        ids[kept] = j;
        kept += values[j] >= bound->min && values[j] <= bound->max;
    }
    return kept;
}

/* Where the top's bound stands. */
static ProductBound top_bound(const ProductTop *top)
{
    int64_t last = atomic_load_explicit(top->last, memory_order_relaxed);
    return (ProductBound){top->product, top->descending ? last : INT64_MIN, top->descending ? INT64_MAX : last};
}

static void narrow(const ProductBound *bound, uint64_t *min, uint64_t *max)
{
    if (bound->product != ONES) return;
    if (bound->min > (int64_t)*min) *min = (uint64_t)bound->min;
    if (bound->max < (int64_t)*max) *max = bound->max < 0 ? 0 : (uint64_t)bound->max;
}

static const int64_t *bound_line(const Lines *lines, uint32_t product, size_t at)
{
    return (const int64_t *)(product == ONES ? (const void *)lines->counts : lines->sums[product]) + at;
}

uint32_t block_keep(const ProductRun *run, const Lines *lines, size_t at, uint32_t *ids, uint32_t n)
{
    for (uint32_t h = 0; h < run->nhaving; h++) {
        const ProductBound *bound = &run->spec->having[h];
        n = keep_narrow(bound_line(lines, bound->product, at), bound, ids, n);
    }
    if (run->wide || run->spec->top.last == NULL) return n;
    ProductBound bound = top_bound(&run->spec->top);
    return keep_narrow(bound_line(lines, bound.product, at), &bound, ids, n);
}

/* Bounds of the count are part of the scan, the others look at what it found. */
uint32_t block_scan(const ProductRun *run, Block *b, const Lines *lines, size_t at, uint32_t from, uint32_t to)
{
    const ProductSpec *spec = run->spec;
    uint64_t min = 1, max = INT64_MAX;
    for (uint32_t h = 0; h < run->nhaving; h++) narrow(&spec->having[h], &min, &max);
    if (!run->wide && spec->top.last != NULL) {
        ProductBound top = top_bound(&spec->top);
        narrow(&top, &min, &max);
    }
    if (min > max) return 0;
    uint32_t n = find(spec->isa, lines->counts + at, from, to, min, max, b->ids);
    return block_keep(run, lines, at, b->ids, n);
}

/* ---- taking them -------------------------------------------------------------------------------- */

static void take_narrow(const int64_t *from, const uint32_t *ids, uint32_t n, int64_t *to)
{
    for (uint32_t i = 0; i < n; i++) to[i] = from[ids[i]];
}

static void take_wide(const int128 *from, const uint32_t *ids, uint32_t n, int128 *to)
{
    for (uint32_t i = 0; i < n; i++) to[i] = from[ids[i]];
}

void block_fill(uint32_t *to, uint32_t value, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) to[i] = value;
}

/* mirrored: the columns are the left groups. */
static tcudb_status take(ProductRun *run, Block *b, const Lines *lines, uint32_t group, size_t at, const uint32_t *ids,
                         uint32_t n, bool mirrored, const BlockOutput *out, Error *err)
{
    while (n > 0) {
        uint32_t first = b->n, some = EMIT_ROWS - first < n ? EMIT_ROWS - first : n;
        uint32_t *groups = mirrored ? b->out_right : b->out_left, *columns = mirrored ? b->out_left : b->out_right;
        if (!(mirrored ? run->spec->no_right : run->spec->no_left)) block_fill(groups + first, group, some);
        if (!(mirrored ? run->spec->no_left : run->spec->no_right)) memcpy(columns + first, ids, some * sizeof *ids);
        take_narrow((const int64_t *)lines->counts + at, ids, some, (int64_t *)b->out_counts + first);
        for (uint32_t p = 0; p < run->spec->nproducts; p++) {
            if (run->wide)
                take_wide((const int128 *)lines->sums[p] + at, ids, some, (int128 *)b->out_sums[p] + first);
            else
                take_narrow((const int64_t *)lines->sums[p] + at, ids, some, (int64_t *)b->out_sums[p] + first);
        }
        b->n += some;
        ids += some;
        n -= some;
        if (b->n == EMIT_ROWS) TRY(block_flush(run, b, out, err));
    }
    return TCUDB_OK;
}

/* One row of a line's columns. */
static tcudb_status fold_line(ProductRun *run, Block *b, const Lines *lines, uint32_t left, size_t at,
                              const uint32_t *ids, uint32_t n, const BlockOutput *out, Error *err)
{
    uint32_t r = b->n;
    const uint8_t *uncounted = run->spec->uncounted;
    uint64_t counts = 0, cells = n;
    if (n == 0) return TCUDB_OK;
    for (uint32_t i = 0; i < n; i++) counts += lines->counts[at + ids[i]];
    for (uint32_t i = 0; i < n && uncounted != NULL; i++) cells -= uncounted[run->spec->right.first + ids[i]] != 0;
    b->out_left[r] = left;
    b->out_counts[r] = counts;
    b->out_cells[r] = cells;
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        int128 sum = 0;
        if (run->wide)
            for (uint32_t i = 0; i < n; i++) sum += ((const int128 *)lines->sums[p])[at + ids[i]];
        else
            for (uint32_t i = 0; i < n; i++) sum += ((const int64_t *)lines->sums[p])[at + ids[i]];
        ((int128 *)b->out_sums[p])[r] = sum;
    }
    return ++b->n == EMIT_ROWS ? block_flush(run, b, out, err) : TCUDB_OK;
}

tcudb_status block_take(ProductRun *run, Block *b, const Lines *lines, uint32_t left, size_t at, const uint32_t *ids,
                        uint32_t n, const BlockOutput *out, Error *err)
{
    uint32_t diagonal = 0;
    if (run->spec->fold) return fold_line(run, b, lines, left, at, ids, n, out, err);
    TRY(take(run, b, lines, left, at, ids, n, false, out, err));
    if (run->places == NULL) return TCUDB_OK;
    while (diagonal < n && ids[diagonal] != left) diagonal++;
    TRY(take(run, b, lines, left, at, ids, diagonal, true, out, err));
    if (diagonal + 1 >= n) return TCUDB_OK;
    return take(run, b, lines, left, at, ids + diagonal + 1, n - diagonal - 1, true, out, err);
}
