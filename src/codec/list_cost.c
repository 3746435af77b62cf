/*
 * list_cost.c: constants of the cost function, and the function. list_cost.h has the formulas.
 *
 * Instructions come from the compiled kernels (per value: cutting, merging, sink; per bunch: signature scan;
 * per block: set-up, rank scan). The seed's VSEncoding variant takes turns bunch by bunch, so its cost is per bunch.
 */
#include "codec/list_cost.h"

typedef struct Work {
    double per_value, per_bunch, per_block;
} Work;

/* By PForDelta or not, then by mode. */
static const Work work[2][LIST_MODES] = {
    {{12.0, 16.0, 2600}, {17.5, 16.0, 2600}, {10.5, 16.0, 2600}, {17.5, 16.0, 2600}, {0, 1900.0, 2600}},
    {{8.0, 0, 900}, {13.0, 0, 900}, {7.5, 0, 900}, {13.5, 0, 900}, {16.0, 0, 1500}}};

const ListCostGpu *list_cost_h200(void)
{
    /* 132 SMs at 1.98 GHz, three of four issue slots used */
    static const ListCostGpu h200 = {2.4e-6, 4.35e12, 3.92e12, 132 * 1.98e9 * 3.0 * 32};
    return &h200;
}

double list_cost_t(const ListCostGpu *gpu, bool pfor, ListMode mode, uint64_t n, double bunch, double bits)
{
    const Work *w = &work[pfor][mode];
    double v = (double)n, blocks = v / CODEC_BLOCK;
    (void)bits;
    return (v * w->per_value + v / bunch * w->per_bunch + blocks * w->per_block) / gpu->issue;
}

double list_cost_g(const ListCostGpu *gpu, ListMode mode, uint64_t n, double bits)
{
    double v = (double)n, blocks = v / CODEC_BLOCK;
    double written = mode == LIST_SUM || mode == LIST_COUNT ? blocks * 4 : v * 4;
    return (v * bits / 8 + blocks * 16) / gpu->read + written / gpu->write;
}

double list_cost_gpu(const ListCostGpu *gpu, bool pfor, ListMode mode, uint64_t n, double bunch, double bits)
{
    double t = list_cost_t(gpu, pfor, mode, n, bunch, bits), g = list_cost_g(gpu, mode, n, bits);
    return gpu->launch + (t > g ? t : g);
}

double list_cost_cpu(bool pfor, bool ascend, uint64_t n, double bunch)
{
    double ns = (pfor ? 0.12 : 0.07 + 2.6 / bunch) + (ascend ? 0.12 : 0);
    return (double)n * ns * 1e-9;
}
