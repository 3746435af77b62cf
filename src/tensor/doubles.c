/*
 * doubles.c: exact products of integer matrices in double precision.
 *
 * A fused multiply-add of doubles is exact while operands, products and sums are integers up to 2^53. Where the data
 * prove that no cell's sum of |a b| passes that, one pass over doubles replaces a pass a pair of limbs, signs need no
 * shift, and machines without a multiply-add of bytes have two full-rate ones of doubles. It costs eight bytes a cell
 * and eight times a byte's multiply-add where VNNI exists, so it pays from some pairs of limbs on (product_plan.c).
 *
 * Layout: a tile is 8 x 24 sums in 24 vector registers of AVX-512, and both halves stream in order.
 * Source: the layout is Goto and van de Geijn's (Anatomy of high-performance matrix multiplication, 2008) without
 * its packing, since operands are laid out when they are filled.
 */
#include "tensor/kernels_int.h"

#include <assert.h>
#include <string.h>

static void set_shape(DoubleMatrix *matrix, uint32_t rows, uint32_t k, bool left)
{
    uint32_t panel = left ? LIMB_ROWS_A : LIMB_ROWS_B;
    matrix->rows = rows;
    matrix->half_rows = panel / 2;
    matrix->panels = (uint32_t)(((uint64_t)rows + panel - 1) / panel);
    matrix->k = k;
}

static size_t half_cells(const DoubleMatrix *matrix)
{
    return (size_t)matrix->k * matrix->half_rows;
}

static size_t cells_bytes(const DoubleMatrix *matrix)
{
    return half_cells(matrix) * 2 * matrix->panels * sizeof(double);
}

size_t double_bytes(uint32_t rows, uint32_t k, bool left)
{
    DoubleMatrix shape = {0};
    set_shape(&shape, rows, k, left);
    return cells_bytes(&shape);
}

tcudb_status double_new(Mem *mem, uint32_t rows, uint32_t k, bool left, DoubleMatrix *out, Error *err)
{
    *out = (DoubleMatrix){.mem = mem};
    set_shape(out, rows, k, left);
    out->cells = mem_alloc_zero(mem, cells_bytes(out), err);
    return out->cells == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

void double_free(DoubleMatrix *matrix)
{
    mem_free(matrix->mem, matrix->cells, cells_bytes(matrix));
    matrix->cells = NULL;
}

void double_set_left(DoubleMatrix *matrix, uint32_t row, const uint32_t *at, const int64_t *values, uint32_t n)
{
    assert(row < matrix->rows && matrix->half_rows == DOUBLE_ROWS_A);
    double *half = matrix->cells + half_cells(matrix) * (row / DOUBLE_ROWS_A) + row % DOUBLE_ROWS_A;
    for (uint32_t i = 0; i < n; i++) half[(size_t)at[i] * DOUBLE_ROWS_A] = (double)values[i];
}

void double_set_right(DoubleMatrix *matrix, uint32_t k, const uint32_t *at, const int64_t *values, uint32_t n)
{
    assert(k < matrix->k && matrix->half_rows == DOUBLE_ROWS_B);
    size_t half = half_cells(matrix);
    double *to = matrix->cells + (size_t)k * DOUBLE_ROWS_B;
    for (uint32_t i = 0; i < n; i++) to[at[i] / DOUBLE_ROWS_B * half + at[i] % DOUBLE_ROWS_B] = (double)values[i];
}

void double_put(DoubleMatrix *matrix, const uint32_t *rows, const uint32_t *ks, const int64_t *values, uint32_t n)
{
    size_t half = half_cells(matrix), width = matrix->half_rows;
    for (uint32_t i = 0; i < n; i++)
        matrix->cells[rows[i] / width * half + ks[i] * width + rows[i] % width] = (double)values[i];
}

static void tile_plain(const double *a, const double *b, uint32_t n, int64_t *out, size_t stride)
{
    double sums[DOUBLE_ROWS_A][DOUBLE_ROWS_B] = {{0}};
    for (uint32_t k = 0; k < n; k++, a += DOUBLE_ROWS_A, b += DOUBLE_ROWS_B)
        for (uint32_t i = 0; i < DOUBLE_ROWS_A; i++)
            for (uint32_t j = 0; j < DOUBLE_ROWS_B; j++) sums[i][j] += a[i] * b[j];
    for (uint32_t i = 0; i < DOUBLE_ROWS_A; i++)
        for (uint32_t j = 0; j < DOUBLE_ROWS_B; j++) out[i * stride + j] = (int64_t)sums[i][j];
}

void double_multiply(KernelIsa isa, const DoubleMatrix *a, uint32_t panel_a, const DoubleMatrix *b, uint32_t panel_b,
                     const KeyStrip *strip, int64_t *out, size_t stride)
{
    uint32_t n = strip->to - strip->from;
    assert(a->k == b->k && strip->to <= a->k && a->half_rows == DOUBLE_ROWS_A && b->half_rows == DOUBLE_ROWS_B);
    for (uint32_t t = 0; t < 4; t++) {
        uint32_t left = t >> 1, right = t & 1;
        if (panel_a * LIMB_ROWS_A + left * DOUBLE_ROWS_A >= a->rows) break;
        const double *half_a = a->cells + half_cells(a) * (2 * panel_a + left) + (size_t)strip->from * DOUBLE_ROWS_A;
        const double *half_b = b->cells + half_cells(b) * (2 * panel_b + right) + (size_t)strip->from * DOUBLE_ROWS_B;
        int64_t *to = out + left * DOUBLE_ROWS_A * stride + (size_t)right * DOUBLE_ROWS_B;
        if (isa >= ISA_AVX512)
            double_tile_avx512(half_a, half_b, n, to, stride);
        else if (isa >= ISA_AVX2)
            double_tile_avx2(half_a, half_b, n, to, stride);
        else
            tile_plain(half_a, half_b, n, to, stride);
    }
}
