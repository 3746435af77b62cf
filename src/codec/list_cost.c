/*
 * list_cost.c: the cost function's constants, and the function. list_cost.h has the formulas.
 *
 * The constants were fitted to the rates measured on an H200 (doc/benchmarks.md): 29 shapes of PForDelta, 20 of
 * VSEncoding, in each mode; they agree with the profiler's counts (536 instructions a block of 128 bunches summed, 530
 * predicted). Slots wider than 16 bits take other kernels, hence two tables. The seed's VSEncoding variant takes
 * bunches in turn and waits for each one's loads: its cost a bunch is that latency, in instructions that could have
 * been issued.
 *
 * Not modelled: lists that do not fill the GPU (fewer than 100,000 values: the launch and the latency of one block
 * dominate); values of 64 bits.
 */
#include "codec/list_cost.h"

/* Warp instructions of a block; patched: of one with exceptions; rows: where slots of 14 to 16 bits are read in rows,
 * whose words meet in the banks of shared memory. */
typedef struct Work {
    double block, bunch, exception, patched, rows;
} Work;

/* By PForDelta or not and wide or not, then by mode: store, ascend, sum, count, seed. Zeros: memory hides all of it. */
static const Work work[2][2][LIST_MODES] = {
    {{{258, 1.38, 0, 0, 0}, {444, 1.36, 0, 0, 0}, {418, 0.97, 0, 0, 0}, {535, 1.00, 0, 0, 0}, {300, 57, 0, 0, 0}},
     {{655, 1.33, 0, 0, 0}, {649, 1.72, 0, 0, 0}, {477, 1.32, 0, 0, 0}, {653, 1.37, 0, 0, 0}, {300, 57, 0, 0, 0}}},
    {{{0, 0, 0, 0, 0}, {0, 0, 5.7, 0, 0}, {199, 0, 1.82, 41, 150}, {301, 0, 1.50, 69, 60}, {640, 0, 5.0, 0, 0}},
     {{0, 0, 5.5, 0, 0}, {1050, 0, 0.42, 85, 0}, {270, 0, 1.12, 197, 0}, {444, 0, 1.31, 200, 0}, {640, 0, 5.0, 0, 0}}}};

const ListCostGpu *list_cost_h200(void)
{
    static const ListCostGpu h200 = {4.0e-6, 4.39e12, 3.89e12, 132 * 1.98e9 * 2.85};
    return &h200;
}

static double blocks_of(const ListShape *s)
{
    return (double)s->n / CODEC_BLOCK;
}

double list_cost_t(const ListCostGpu *gpu, const ListShape *s, ListMode mode)
{
    const Work *w = &work[s->pfor][s->bits > (s->pfor ? 18 : 16.5)][mode];
    double each = w->block + w->exception * s->exceptions * CODEC_BLOCK;
    if (!s->pfor) each += w->bunch * (s->bunch < 1 ? CODEC_BLOCK : CODEC_BLOCK / s->bunch);
    if (s->exceptions > 0) each += w->patched;
    if (s->bits > 14) each += w->rows;
    return blocks_of(s) * each / gpu->issue;
}

double list_cost_g(const ListCostGpu *gpu, const ListShape *s, ListMode mode)
{
    double written = mode == LIST_SUM || mode == LIST_COUNT ? blocks_of(s) * 4 : (double)s->n * 4;
    return ((double)s->n * s->bits / 8 + blocks_of(s) * 16) / gpu->read + written / gpu->write;
}

/* The square root by Newton's steps: libm is not needed for two digits. */
static double root(double x)
{
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 60 && x > 0; i++) r = 0.5 * (r + x / r);
    return x > 0 ? r : 0;
}

double list_cost_gpu(const ListCostGpu *gpu, const ListShape *s, ListMode mode)
{
    double t = list_cost_t(gpu, s, mode), g = list_cost_g(gpu, s, mode), more = t > g ? t : g, less = t > g ? g : t;
    double ratio = more > 0 ? less / more : 0, fourth = ratio * ratio * ratio * ratio;
    if (mode == LIST_SUM || mode == LIST_COUNT) return gpu->launch + more * root(root(1 + fourth));
    return gpu->launch + more * root(root(root(1 + fourth * fourth)));
}

double list_cost_cpu(const ListShape *s, bool ascend)
{
    double bunch = s->bunch < 1 ? 1 : s->bunch;
    double ns = (s->pfor ? 0.12 + 1.0 * s->exceptions : 0.07 + 2.6 / bunch) + (ascend ? 0.15 : 0);
    return (double)s->n * ns * 1e-9;
}
