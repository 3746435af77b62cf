/*
 * list_cost.c: the cost function's constants, and the function. list_cost.h has the formulas.
 *
 * The constants come from profiles of the kernels on an H200 (instructions executed, divided by blocks, at two bunch
 * lengths and three shares of exceptions). The seed's VSEncoding variant takes bunches in turn and waits for each one's
 * loads: its cost a bunch is that latency, in instructions that could have been issued.
 *
 * Not modelled: widths above 16 bits in fused modes (they take 1.5 to 2 times the instructions), lists that do not fill
 * the GPU (fewer than 100,000 values: the launch and the latency of one block dominate).
 */
#include "codec/list_cost.h"

typedef struct Work {
    double block, bunch, exception; /* warp instructions */
} Work;

/* By PForDelta or not, then by mode: store, ascend, sum, count, seed. */
static const Work work[2][LIST_MODES] = {{{600, 0.75, 0}, {720, 0.65, 0}, {570, 0.70, 0}, {720, 0.75, 0}, {300, 57, 0}},
                                         {{330, 0, 2.0}, {460, 0, 2.2}, {232, 0, 2.2}, {375, 0, 2.2}, {640, 0, 5.0}}};

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
    const Work *w = &work[s->pfor][mode];
    double bunches = s->bunch < 1 ? CODEC_BLOCK : CODEC_BLOCK / s->bunch;
    return blocks_of(s) * (w->block + w->bunch * bunches + w->exception * s->exceptions * CODEC_BLOCK) / gpu->issue;
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
    return gpu->launch + more * root(root(root(1 + fourth * fourth)));
}

double list_cost_cpu(const ListShape *s, bool ascend)
{
    double bunch = s->bunch < 1 ? 1 : s->bunch;
    double ns = (s->pfor ? 0.12 + 1.0 * s->exceptions : 0.07 + 2.6 / bunch) + (ascend ? 0.15 : 0);
    return (double)s->n * ns * 1e-9;
}
