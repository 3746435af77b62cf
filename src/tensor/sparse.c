/*
 * sparse.c: sparse matrix products row by row (Gustavson, 1978).
 *
 * For each entry (k, v) of a row of A, row k of B is added, times v, to a dense accumulator. Cost: one
 * product a pair that the join would make, in cache while the accumulator is; nothing for empty cells. Rows
 * are independent, so threads share nothing but the operands. Columns are unique within a row of B, so the
 * inner loop has no dependence between its steps.
 */
#include "tensor/kernels.h"

static void add_ones(const uint32_t *ids, uint64_t n, int64_t v, SparseRow *out)
{
    for (uint64_t e = 0; e < n; e++) {
        uint32_t j = ids[e];
        out->touched[out->ntouched] = j;
        out->ntouched += out->counts[j]++ == 0;
        out->sums[j] += v;
    }
}

static void add_values(const uint32_t *ids, const int64_t *values, uint64_t n, int64_t v, SparseRow *out)
{
    for (uint64_t e = 0; e < n; e++) {
        uint32_t j = ids[e];
        out->touched[out->ntouched] = j;
        out->ntouched += out->counts[j]++ == 0;
        out->sums[j] += v * values[e];
    }
}

void sparse_row_multiply(const SparseMatrix *a, uint32_t row, const SparseMatrix *b, SparseRow *out)
{
    for (uint64_t e = a->starts[row]; e < a->starts[row + 1]; e++) {
        uint32_t k = a->ids[e];
        int64_t v = a->values == NULL ? 1 : a->values[e];
        uint64_t from = b->starts[k], n = b->starts[k + 1] - from;
        if (b->values == NULL)
            add_ones(b->ids + from, n, v, out);
        else
            add_values(b->ids + from, b->values + from, n, v, out);
    }
}

uint64_t sparse_products(const SparseMatrix *a, const SparseMatrix *b)
{
    uint64_t products = 0, entries = a->starts[a->rows];
    for (uint64_t e = 0; e < entries; e++) products += b->starts[a->ids[e] + 1] - b->starts[a->ids[e]];
    return products;
}
