/*
 * list_cost.h: what a decode costs, in the K-model's terms.
 *
 * The K-model has k scalar processors in each SIMD processor, and splits a kernel's cost into T(), the instructions
 * issued on the SIMD processors, and G(), the transfers to and from external memory. Here:
 *
 *   G = (n * b / 8 + blocks * 16 + written) / bandwidth        b: payload bits a value, signatures included
 *   T = (n * per_value + bunches * per_bunch + blocks * per_block) / (SMs * IPC * 32 * clock)
 *   time = launch + max(T, G), since loads, stores and arithmetic overlap across warps
 *
 * per_value, per_bunch and per_block are instructions counted for each codec and mode; the rest describes the GPU.
 * bandwidth falls as reads and writes mix: G uses the measured rates of reading alone and of writing alone.
 */
#ifndef CODEC_LIST_COST_H
#define CODEC_LIST_COST_H

#include "codec/list_gpu.h"

typedef struct ListCostGpu {
    double launch;      /* seconds of an empty decode */
    double read, write; /* bytes a second, each alone, in a mix */
    double issue;       /* thread instructions a second, whole GPU, at the IPC reached */
} ListCostGpu;

/* Measured on an H200. */
const ListCostGpu *list_cost_h200(void);
/* Seconds for n values. pfor: PForDelta, else VSEncoding with bunches of `bunch` values; bits: payload bits a value. */
double list_cost_gpu(const ListCostGpu *gpu, bool pfor, ListMode mode, uint64_t n, double bunch, double bits);
/* T() and G() alone. */
double list_cost_t(const ListCostGpu *gpu, bool pfor, ListMode mode, uint64_t n, double bunch, double bits);
double list_cost_g(const ListCostGpu *gpu, ListMode mode, uint64_t n, double bits);
/* Seconds on one CPU core with AVX-512. */
double list_cost_cpu(bool pfor, bool ascend, uint64_t n, double bunch);

#endif
