/*
 * kernels_int.h: what the kernel files of tensor/ share: one tile function an instruction set.
 */
#ifndef TENSOR_KERNELS_INT_H
#define TENSOR_KERNELS_INT_H

#include "tensor/kernels.h"

/* One panel of each side, from a block on. */
typedef struct LimbTile {
    const uint8_t *a, *b;
    uint32_t rows; /* of a: 1..LIMB_ROWS_A; more may be computed */
    uint32_t k4;   /* groups of four k, at most LIMB_CHUNK / 4; what pads the last block is zero in b */
} LimbTile;

/* Where the k-th group of four of row 0 is in a left panel; rows are LIMB_BLOCK apart. */
static inline size_t limb_quad(uint32_t k)
{
    return (size_t)(k / (LIMB_BLOCK / 4)) * LIMB_ROWS_A * LIMB_BLOCK + (size_t)(k % (LIMB_BLOCK / 4)) * 4;
}

/* out (LIMB_ROWS_A x LIMB_ROWS_B) = sums of signed bytes of a times unsigned bytes of b. */
void limb_tile_avx2(const LimbTile *tile, int32_t *out);
void limb_tile_avxvnni(const LimbTile *tile, int32_t *out);
void limb_tile_avx512(const LimbTile *tile, int32_t *out);
void limb_tile_amx(const LimbTile *tile, int32_t *out);

/* sums[row] += the row's bytes of a right panel, over k4 groups of four. */
void limb_sums_avx2(const uint8_t *bytes, uint32_t k4, int64_t *sums);

/* out[j] = (add ? out[j] : 0) + (tile[j] + 128 sums[j] << shift) for LIMB_ROWS_B columns of rows rows; sums NULL:
 * zeros. */
void limb_add_avx512(const int32_t *tile, const int64_t *sums, uint32_t rows, uint32_t shift, bool add, int64_t *out,
                     size_t stride);

/* out (DOUBLE_ROWS_A x DOUBLE_ROWS_B) = sums of a times b, halves of panels, over k. */
void double_tile_avx2(const double *a, const double *b, uint32_t k, int64_t *out, size_t stride);
void double_tile_avx512(const double *a, const double *b, uint32_t k, int64_t *out, size_t stride);

#endif
