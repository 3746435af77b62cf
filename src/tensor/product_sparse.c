/*
 * product_sparse.c: Gustavson's product, a row of the output at a time.
 *
 * A left group that meets one key needs no accumulator: its row is the key's cells times a constant. Rows of
 * several keys add into one line of accumulators: of short ones the columns touched are remembered, so that empty
 * cells cost nothing; where the pairs are at least half of the line, the line is scanned instead.
 *
 * Sums are int64 where the proof allows and int128 otherwise: the loops over sums exist once for each.
 * Cost: about a nanosecond a pair. A row's pairs are at most the right side's cells, so no row outweighs the input;
 * rows that are a good part of it are added up by all cores before (product_giants.c).
 */
#include "base/hot.h"
#include "tensor/product_int.h"

#include <string.h>

/* sums[ids[c]] += l x right value of each cell of the key, in both widths; and the same without a line. */
#define SUM_LOOPS(name, Sum)                                                                                           \
    static void add_##name(const Cells *right, uint32_t column, uint64_t from, uint64_t to, int64_t l, Sum *sums)      \
    {                                                                                                                  \
        const uint32_t *ids = right->ids;                                                                              \
        if (column == ONES) {                                                                                          \
            for (uint64_t c = from; c < to; c++) sums[ids[c]] += (Sum)l * right->counts[c];                            \
        } else {                                                                                                       \
            const int64_t *values = right->values[column];                                                             \
            for (uint64_t c = from; c < to; c++) sums[ids[c]] += (Sum)l * values[c];                                   \
        }                                                                                                              \
    }                                                                                                                  \
    HOT static void scale_##name(const Cells *right, uint32_t column, uint64_t from, uint64_t to, int64_t l, Sum *out) \
    {                                                                                                                  \
        if (column == ONES) {                                                                                          \
            for (uint64_t c = from; c < to; c++) out[c - from] = (Sum)l * right->counts[c];                            \
        } else {                                                                                                       \
            const int64_t *values = right->values[column];                                                             \
            for (uint64_t c = from; c < to; c++) out[c - from] = (Sum)l * values[c];                                   \
        }                                                                                                              \
    }
SUM_LOOPS(narrow, int64_t)
SUM_LOOPS(wide, int128)

HOT static void scale_counts(const uint32_t *counts, uint32_t n, uint32_t l, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) out[i] = (uint64_t)l * counts[i];
}

static void count_pairs(const Cells *right, uint64_t from, uint64_t to, uint64_t l, uint64_t *counts)
{
    const uint32_t *ids = right->ids;
    if (right->unique && l == 1) {
        for (uint64_t c = from; c < to; c++) counts[ids[c]]++;
        return;
    }
    for (uint64_t c = from; c < to; c++) counts[ids[c]] += l * right->counts[c];
}

/* The same, remembering columns touched for the first time. */
static uint32_t touch_pairs(const Cells *right, uint64_t from, uint64_t to, uint64_t l, uint64_t *counts,
                            uint32_t *touched, uint32_t ntouched)
{
    for (uint64_t c = from; c < to; c++) {
        uint32_t j = right->ids[c];
        touched[ntouched] = j;
        ntouched += counts[j] == 0;
        counts[j] += l * right->counts[c];
    }
    return ntouched;
}

/* The lists of keys lie far apart: one is fetched while others are multiplied. */
static void fetch_ahead(const ProductRun *run, uint64_t e, uint64_t end)
{
    enum { AHEAD = 6 };
    if (e + AHEAD >= end) return;
    uint64_t at = pairs_from(run, e + AHEAD);
    __builtin_prefetch(run->right.ids + at);
    __builtin_prefetch(run->right.ids + at + 16);
    __builtin_prefetch(run->right.counts + at);
    __builtin_prefetch(run->right.counts + at + 16);
}

static void add_sums(const ProductRun *run, const Lines *lines, uint64_t cell, uint64_t from, uint64_t to, size_t at)
{
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        Product product = run->spec->products[p];
        int64_t l = cells_value(&run->left, product.left, cell);
        if (run->wide)
            add_wide(&run->right, product.right, from, to, l, (int128 *)lines->sums[p] + at);
        else
            add_narrow(&run->right, product.right, from, to, l, (int64_t *)lines->sums[p] + at);
    }
}

void sparse_add(ProductRun *run, const Lines *lines, uint64_t from, uint64_t to, size_t at)
{
    const Cells *left = &run->left, *right = &run->right;
    for (uint64_t e = from; e < to; e++) {
        uint32_t key = left->ids[e];
        if (run->dense_key[key] != LIGHT) continue;
        uint64_t first = pairs_from(run, e), end = right->starts[key + 1];
        fetch_ahead(run, e, to);
        count_pairs(right, first, end, left->counts[e], lines->counts + at);
        add_sums(run, lines, e, first, end, at);
    }
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void clear_line(ProductRun *run, Block *b, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) b->lines.counts[ids[i]] = 0;
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->wide)
            for (uint32_t i = 0; i < n; i++) ((int128 *)b->lines.sums[p])[ids[i]] = 0;
        else
            for (uint32_t i = 0; i < n; i++) ((int64_t *)b->lines.sums[p])[ids[i]] = 0;
    }
}

static void clear_all(ProductRun *run, Block *b)
{
    memset(b->lines.counts, 0, sizeof(uint64_t) * run->right.columns);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) memset(b->lines.sums[p], 0, sum_size(run) * run->right.columns);
}

static tcudb_status touched_row(ProductRun *run, Block *b, uint32_t group, const BlockOutput *out, Error *err)
{
    const Cells *left = &run->left, *right = &run->right;
    uint32_t n = 0;
    for (uint64_t e = left->starts[group]; e < left->starts[group + 1]; e++) {
        uint64_t from = pairs_from(run, e), to = right->starts[left->ids[e] + 1];
        fetch_ahead(run, e, left->starts[group + 1]);
        n = touch_pairs(right, from, to, left->counts[e], b->lines.counts, b->ids, n);
        add_sums(run, &b->lines, e, from, to, 0);
    }
    if (!run->tests) {
        TRY(block_take(run, b, &b->lines, group, 0, b->ids, n, out, err));
    } else {
        memcpy(b->kept, b->ids, n * sizeof *b->ids);
        uint32_t kept = block_keep(run, &b->lines, 0, b->kept, n);
        TRY(block_take(run, b, &b->lines, group, 0, b->kept, kept, out, err));
    }
    clear_line(run, b, b->ids, n);
    return TCUDB_OK;
}

static tcudb_status scanned_row(ProductRun *run, Block *b, uint32_t group, const BlockOutput *out, Error *err)
{
    uint32_t columns = run->right.columns;
    sparse_add(run, &b->lines, run->left.starts[group], run->left.starts[group + 1], 0);
    TRY(block_take(run, b, &b->lines, group, 0, b->ids, block_scan(run, b, &b->lines, 0, 0, columns), out, err));
    clear_all(run, b);
    return TCUDB_OK;
}

/* Writes rows [b->n, b->n + n) of the output: the cells from `from` on, times the left cell. */
static void scale_cells(ProductRun *run, Block *b, uint32_t group, uint64_t cell, uint64_t from, uint32_t n,
                        bool mirrored)
{
    uint32_t *groups = mirrored ? b->out_right : b->out_left, *columns = mirrored ? b->out_left : b->out_right;
    uint32_t first = b->n;
    if (!(mirrored ? run->spec->no_right : run->spec->no_left)) block_fill(groups + first, group, n);
    if (!(mirrored ? run->spec->no_left : run->spec->no_right))
        memcpy(columns + first, run->right.ids + from, n * sizeof(uint32_t));
    scale_counts(run->right.counts + from, n, run->left.counts[cell], b->out_counts + first);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        Product product = run->spec->products[p];
        int64_t value = cells_value(&run->left, product.left, cell);
        if (run->wide)
            scale_wide(&run->right, product.right, from, from + n, value, (int128 *)b->out_sums[p] + first);
        else
            scale_narrow(&run->right, product.right, from, from + n, value, (int64_t *)b->out_sums[p] + first);
    }
}

/* Closes up the n rows behind b->n that keep the bounds of HAVING. */
static uint32_t keep_rows(ProductRun *run, Block *b, uint32_t n)
{
    uint32_t first = b->n, *ids = b->ids;
    for (uint32_t i = 0; i < n; i++) ids[i] = first + i;
    Lines rows = {.counts = b->out_counts};
    memcpy(rows.sums, b->out_sums, sizeof rows.sums);
    n = block_keep(run, &rows, 0, ids, n);
    for (uint32_t i = 0; i < n; i++) {
        b->out_left[first + i] = b->out_left[ids[i]];
        b->out_right[first + i] = b->out_right[ids[i]];
        b->out_counts[first + i] = b->out_counts[ids[i]];
        for (uint32_t p = 0; p < run->spec->nproducts; p++)
            memcpy((char *)b->out_sums[p] + (first + i) * sum_size(run),
                   (const char *)b->out_sums[p] + ids[i] * sum_size(run), sum_size(run));
    }
    return n;
}

static tcudb_status scaled_cells(ProductRun *run, Block *b, uint32_t group, uint64_t from, uint64_t to, bool mirrored,
                                 const BlockOutput *out, Error *err)
{
    uint64_t cell = run->left.starts[group];
    while (from < to) {
        uint32_t n = to - from < EMIT_ROWS - b->n ? (uint32_t)(to - from) : EMIT_ROWS - b->n;
        scale_cells(run, b, group, cell, from, n, mirrored);
        b->n += !run->tests ? n : keep_rows(run, b, n);
        from += n;
        if (b->n == EMIT_ROWS) TRY(block_flush(run, b, out, err));
    }
    return TCUDB_OK;
}

/* The group's only key: no accumulator. Of a symmetric product the key's first cell is the diagonal's. */
static tcudb_status scaled_row(ProductRun *run, Block *b, uint32_t group, uint64_t from, uint64_t to,
                               const BlockOutput *out, Error *err)
{
    bool diagonal = from == pairs_from(run, run->left.starts[group]);
    TRY(scaled_cells(run, b, group, from, to, false, out, err));
    return run->places == NULL ? TCUDB_OK : scaled_cells(run, b, group, from + diagonal, to, true, out, err);
}

static tcudb_status sparse_row(ProductRun *run, Block *b, uint32_t group, const BlockOutput *out, Error *err)
{
    uint64_t from = run->left.starts[group], to = run->left.starts[group + 1], pairs = 0;
    if (run->spec->fast) return fast_row(run, b, group, out, err);
    if (to - from == 1 && !run->spec->fold)
        return scaled_row(run, b, group, pairs_from(run, from), run->right.starts[run->left.ids[from] + 1], out, err);
    for (uint64_t e = from; e < to; e++) pairs += run->right.starts[run->left.ids[e] + 1] - pairs_from(run, e);
    if (pairs == 0) return TCUDB_OK;
    return pairs / SCAN_PAIRS >= run->right.columns ? scanned_row(run, b, group, out, err)
                                                    : touched_row(run, b, group, out, err);
}

tcudb_status sparse_rows(ProductRun *run, Block *b, uint32_t first, uint32_t rows, const BlockOutput *out, Error *err)
{
    for (uint32_t g = first; g < first + rows; g++) TRY(sparse_row(run, b, g, out, err));
    return block_flush(run, b, out, err);
}

tcudb_status sparse_cells(ProductRun *run, Block *b, const Task *task, const BlockOutput *out, Error *err)
{
    TRY(scaled_row(run, b, task->first, task->from, task->to, out, err));
    return block_flush(run, b, out, err);
}
