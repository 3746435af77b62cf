/*
 * kernels_int.h: what the kernel files of tensor/ share: one tile function an instruction set.
 */
#ifndef TENSOR_KERNELS_INT_H
#define TENSOR_KERNELS_INT_H

#include "tensor/kernels.h"

/* out (8 x 48) = sums of signed bytes of a times unsigned bytes of b over k4 groups of four, k4 <= 16384. */
void limb_tile_avx2(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out);
void limb_tile_avx512(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out);

#endif
