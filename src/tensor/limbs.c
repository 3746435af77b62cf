/*
 * limbs.c: exact products of integer matrices through 8-bit limbs.
 *
 * A value below 256^L is L bytes, a plane each; the product of two values is the sum of the byte products
 * shifted by 8 (p + q). One multiply-add instruction (vpdpbusd) multiplies unsigned by signed bytes and adds
 * four products to a 32-bit sum without saturation. To use it for unsigned by unsigned, the left operand is
 * stored as a - 128 (byte ^ 0x80), and sum((a - 128) b) + 128 sum(b) is the answer: row_sums keeps sum(b).
 *
 * Exactness: |(a - 128) b| <= 128 x 255 = 32640, so 32-bit sums hold LIMB_CHUNK = 65536 of them
 * (65536 x 32640 < 2^31); longer k is cut into chunks that are added in 64 or 128 bits.
 *
 * Layout: panels of 8 (left) and 48 (right) rows make a tile of 8 x 48 sums = 24 vector registers. Padding
 * rows and columns are zero in the right operand, so what the left holds there does not matter.
 * Cost: 2 x 8 x 48 x k operations a tile and pair of limbs; about one register-wide multiply-add a cycle.
 */
#include "tensor/kernels_int.h"

#include <assert.h>
#include <string.h>

enum { TILE = LIMB_ROWS_A * LIMB_ROWS_B };

static size_t panel_bytes(const LimbMatrix *matrix)
{
    return (size_t)matrix->k4 * matrix->panel_rows * 4;
}

static void set_shape(LimbMatrix *matrix, uint32_t rows, uint32_t k, uint32_t limbs, bool left)
{
    matrix->rows = rows;
    matrix->panel_rows = left ? LIMB_ROWS_A : LIMB_ROWS_B;
    matrix->panels = (rows + matrix->panel_rows - 1) / matrix->panel_rows;
    matrix->k = k;
    matrix->k4 = (uint32_t)(((uint64_t)k + 3) / 4);
    matrix->limbs = limbs;
    matrix->biased = left;
}

static size_t planes_bytes(const LimbMatrix *matrix)
{
    return panel_bytes(matrix) * matrix->panels * matrix->limbs;
}

static size_t sums_bytes(const LimbMatrix *matrix)
{
    return sizeof(int64_t) * matrix->panels * matrix->panel_rows * matrix->limbs;
}

size_t limb_bytes(uint32_t rows, uint32_t k, uint32_t limbs, bool left)
{
    LimbMatrix shape = {0};
    set_shape(&shape, rows, k, limbs, left);
    return planes_bytes(&shape) + (left ? 0 : sums_bytes(&shape));
}

tcudb_status limb_new(Mem *mem, uint32_t rows, uint32_t k, uint32_t limbs, bool left, LimbMatrix *out, Error *err)
{
    assert(limbs >= 1 && limbs <= 8);
    *out = (LimbMatrix){.mem = mem};
    set_shape(out, rows, k, limbs, left);
    out->planes = mem_alloc(mem, planes_bytes(out), err);
    TRY_PTR(out->planes);
    memset(out->planes, left ? 0x80 : 0, planes_bytes(out));
    if (left) return TCUDB_OK;
    out->row_sums = mem_alloc_zero(mem, sums_bytes(out), err);
    if (out->row_sums != NULL) return TCUDB_OK;
    limb_free(out);
    return TCUDB_NOMEM;
}

void limb_free(LimbMatrix *matrix)
{
    mem_free(matrix->mem, matrix->planes, planes_bytes(matrix));
    mem_free(matrix->mem, matrix->row_sums, sums_bytes(matrix));
    matrix->planes = NULL;
    matrix->row_sums = NULL;
}

static const uint8_t *plane_panel(const LimbMatrix *matrix, uint32_t limb, uint32_t panel)
{
    return matrix->planes + ((size_t)limb * matrix->panels + panel) * panel_bytes(matrix);
}

static int64_t *panel_sums(const LimbMatrix *matrix, uint32_t limb, uint32_t panel)
{
    return matrix->row_sums + ((size_t)limb * matrix->panels + panel) * matrix->panel_rows;
}

void limb_set(LimbMatrix *matrix, uint32_t row, uint32_t k, uint64_t value)
{
    assert(row < matrix->rows && k < matrix->k);
    uint32_t panel = row / matrix->panel_rows;
    size_t at = ((size_t)(k / 4) * matrix->panel_rows + row % matrix->panel_rows) * 4 + k % 4;
    uint8_t flip = matrix->biased ? 0x80 : 0;
    uint8_t *cell = matrix->planes + panel * panel_bytes(matrix) + at;
    size_t plane = matrix->panels * panel_bytes(matrix);
    for (uint32_t limb = 0; limb < matrix->limbs; limb++, cell += plane) {
        *cell = (uint8_t)value ^ flip;
        value >>= 8;
    }
    assert(value == 0);
}

void limb_finish_panel(LimbMatrix *matrix, uint32_t panel)
{
    assert(!matrix->biased);
    for (uint32_t limb = 0; limb < matrix->limbs; limb++) {
        const uint8_t *bytes = plane_panel(matrix, limb, panel);
        int64_t *sums = panel_sums(matrix, limb, panel);
        memset(sums, 0, sizeof *sums * LIMB_ROWS_B);
        for (uint32_t k = 0; k < matrix->k4; k++, bytes += (size_t)4 * LIMB_ROWS_B)
            for (uint32_t row = 0; row < LIMB_ROWS_B; row++)
                sums[row] += bytes[row * 4] + bytes[row * 4 + 1] + bytes[row * 4 + 2] + bytes[row * 4 + 3];
    }
}

/* The plain tile, and the reference for the vector ones. */
static void tile_plain(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *restrict out)
{
    memset(out, 0, sizeof(int32_t) * TILE);
    for (uint32_t k = 0; k < k4; k++, a += LIMB_ROWS_A * 4, b += LIMB_ROWS_B * 4) {
        for (uint32_t i = 0; i < LIMB_ROWS_A; i++) {
            const int8_t *quad = (const int8_t *)a + (size_t)i * 4;
            for (uint32_t j = 0; j < LIMB_ROWS_B; j++)
                out[i * LIMB_ROWS_B + j] +=
                    quad[0] * b[j * 4] + quad[1] * b[j * 4 + 1] + quad[2] * b[j * 4 + 2] + quad[3] * b[j * 4 + 3];
        }
    }
}

static void run_tile(KernelIsa isa, const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out)
{
    if (isa == ISA_AVX512)
        limb_tile_avx512(a, b, k4, out);
    else if (isa == ISA_AVX2)
        limb_tile_avx2(a, b, k4, out);
    else
        tile_plain(a, b, k4, out);
}

/* The sums of one pair of limb planes, k cut into chunks. */
static void multiply_pair(KernelIsa isa, const LimbMatrix *a, uint32_t limb_a, uint32_t panel_a, const LimbMatrix *b,
                          uint32_t limb_b, uint32_t panel_b, int64_t sums[TILE])
{
    alignas(64) int32_t tile[TILE];
    const uint8_t *plane_a = plane_panel(a, limb_a, panel_a), *plane_b = plane_panel(b, limb_b, panel_b);
    const int64_t *sums_b = panel_sums(b, limb_b, panel_b);
    for (uint32_t i = 0; i < LIMB_ROWS_A; i++)
        for (uint32_t j = 0; j < LIMB_ROWS_B; j++) sums[i * LIMB_ROWS_B + j] = 128 * sums_b[j];
    for (uint32_t k = 0; k < a->k4; k += LIMB_CHUNK / 4) {
        uint32_t n = a->k4 - k < LIMB_CHUNK / 4 ? a->k4 - k : LIMB_CHUNK / 4;
        run_tile(isa, plane_a + (size_t)k * LIMB_ROWS_A * 4, plane_b + (size_t)k * LIMB_ROWS_B * 4, n, tile);
        for (uint32_t c = 0; c < TILE; c++) sums[c] += tile[c];
    }
}

/* Recombination: out (+)= sums << shift, modulo the width; the caller's proof says that the end result fits. */
#define MULTIPLY(name, Cell, UCell)                                                                                    \
    void name(KernelIsa isa, const LimbMatrix *a, uint32_t panel_a, const LimbMatrix *b, uint32_t panel_b, Cell *out,  \
              size_t stride)                                                                                           \
    {                                                                                                                  \
        assert(a->biased && !b->biased && a->k == b->k);                                                               \
        alignas(64) int64_t sums[TILE];                                                                                \
        for (uint32_t p = 0; p < a->limbs; p++) {                                                                      \
            for (uint32_t q = 0; q < b->limbs; q++) {                                                                  \
                multiply_pair(isa, a, p, panel_a, b, q, panel_b, sums);                                                \
                uint32_t shift = 8 * (p + q);                                                                          \
                if (shift >= 8 * sizeof(Cell)) continue;                                                               \
                for (uint32_t i = 0; i < LIMB_ROWS_A; i++) {                                                           \
                    Cell *row = out + i * stride;                                                                      \
                    const int64_t *from = sums + (size_t)i * LIMB_ROWS_B;                                              \
                    for (uint32_t j = 0; j < LIMB_ROWS_B; j++)                                                         \
                        row[j] = (Cell)((shift == 0 ? 0 : (UCell)row[j]) + ((UCell)from[j] << shift));                 \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
MULTIPLY(limb_multiply, int64_t, uint64_t)
MULTIPLY(limb_multiply_wide, int128, uint128)
