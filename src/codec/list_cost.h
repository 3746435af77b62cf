/*
 * list_cost.h: what a decode costs, in the K-model's terms: a documented function that predicts kernel time.
 *
 * The K-model has S SIMD processors of k scalar processors each, and splits a kernel's cost into T(), the instructions
 * that the SIMD processors issue, and G(), the transfers from and to external memory. For L values in blocks of 1024,
 * bunches of mean length n, and b payload bits a value (signatures and exceptions included):
 *
 *     T = blocks * (block + bunch * 1024 / n + exception * exceptions + patched) / (S * rate)
 *     G = (L * b / 8 + 16 * blocks) / read + written / write
 *     time = launch + (T^8 + G^8)^(1/8); without output launch + (T^4 + G^4)^(1/4)
 *
 * block, bunch, exception and patched (of blocks with exceptions) are instructions of one warp (k = 32 lanes); rate is
 * what one multiprocessor issues of such code; read and write are the slopes of the plain mix kernel's time over its
 * bytes read and written. T and G overlap, imperfectly where they are alike: hence the powers instead of the maximum.
 */
#ifndef CODEC_LIST_COST_H
#define CODEC_LIST_COST_H

#include "codec/list_gpu.h"

typedef struct ListShape {
    bool pfor;         /* PForDelta; else VSEncoding */
    uint64_t n;        /* values: L */
    double bunch;      /* VSEncoding: mean values a bunch: n */
    double bits;       /* payload bits a value: b */
    double exceptions; /* PForDelta: share of the values */
} ListShape;

typedef struct ListCostGpu {
    double launch;      /* seconds of an empty decode */
    double read, write; /* bytes a second */
    double issue;       /* warp instructions a second, the whole GPU: S * rate */
} ListCostGpu;

/* Measured on an H200. */
const ListCostGpu *list_cost_h200(void);
/* Seconds; and T() and G() alone. */
double list_cost_gpu(const ListCostGpu *gpu, const ListShape *shape, ListMode mode);
double list_cost_t(const ListCostGpu *gpu, const ListShape *shape, ListMode mode);
double list_cost_g(const ListCostGpu *gpu, const ListShape *shape, ListMode mode);
/* Seconds on one CPU core with AVX-512; ascend: prefix sums and checks included. */
double list_cost_cpu(const ListShape *shape, bool ascend);

#endif
