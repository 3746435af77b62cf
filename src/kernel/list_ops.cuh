/*
 * list_ops.cuh: OR, NOT and top-k over compressed lists of 32-bit numbers that are dense in their range, many queries a
 * launch.
 *
 * A warp takes one task: a block of any of a query's lists. Its numbers are bits in one bitmap a query, or their frequencies
 * are added in one array of scores a query; bitmaps are counted and extracted, scores selected by radix, one CTA a query.
 * Sparse lists, and numbers of 64 bits: list_filter.cuh.
 */
#include "kernel/list_task.cuh"

typedef WarpSpace<u32, false> DenseSpace;

/* Sets, or for tasks of LIST_WITHOUT clears, the bits of the first n values. */
DEVICE void mark_bits(const ListOpsArgs &a, const Turn<DenseSpace> &t, u32 n)
{
    u32 *bits = a.bits + (size_t)t.task.query * a.words;
    for (u32 i = threadIdx.x & 31; i < n; i += 32) {
        u32 x = t.space->values[i], bit = 1u << (x & 31);
        if (x >= a.documents) continue;
        if (t.task.list & LIST_WITHOUT)
            atomicAnd(bits + (x >> 5), ~bit);
        else
            atomicOr(bits + (x >> 5), bit);
    }
}

extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_mark(const ListOpsArgs a)
{
    extern __shared__ __align__(128) u8 shared[];
    Turn<DenseSpace> t;
    if (begin_task(a, shared, &t)) mark_bits(a, t, t.n);
}

/* Adds one block's frequencies to its documents' scores; excludes them for tasks of LIST_WITHOUT. */
extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_score(const ListOpsArgs a)
{
    extern __shared__ __align__(128) u8 shared[];
    Turn<DenseSpace> t;
    if (!begin_task(a, shared, &t)) return;
    DenseSpace &s = *t.space;
    bool without = t.task.list & LIST_WITHOUT;
    u32 n = t.n;
    if (!without) n = decode_freqs(a, t, t.task.block, n, s.others);
    u64 *score = a.score + (size_t)t.task.query * a.documents;
    for (u32 i = threadIdx.x & 31; i < n; i += 32) {
        u32 x = s.values[i];
        if (x >= a.documents) continue;
        if (without)
            atomicOr(score + x, 1ull << 63);
        else
            atomicAdd(score + x, (1ull << 48) + s.others[i]);
    }
}

/* Four consecutive words of the CTA's chunk of its bitmap; returns the bits in them. */
DEVICE u32 chunk_words(const ListOpsArgs &a, u32 *first, u32 *w)
{
    const u32 *bits = a.bits + (size_t)(blockIdx.x / a.chunks) * a.words;
    u32 n = 0;
    *first = blockIdx.x % a.chunks * LIST_OPS_CHUNK + threadIdx.x * 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        w[i] = *first + i < a.words ? bits[*first + i] : 0;
        n += __popc(w[i]);
    }
    return n;
}

/* Bits in each chunk of each bitmap: a CTA of 256 a chunk. */
extern "C" __global__ void __launch_bounds__(256) ops_count(const ListOpsArgs a)
{
    u32 first, w[4], all;
    sum_before(chunk_words(a, &first, w), &all);
    if (threadIdx.x == 0) a.counts[blockIdx.x] = all;
}

/* Writes each chunk's numbers, ascending. */
extern "C" __global__ void __launch_bounds__(256) ops_extract(const ListOpsArgs a)
{
    u32 first, w[4], all, n = chunk_words(a, &first, w);
    u32 *out = a.docs.out + a.at[blockIdx.x] + sum_before(n, &all);
#pragma unroll
    for (int i = 0; i < 4; i++)
        for (u32 b = w[i]; b; b &= b - 1) *out++ = (first + i) * 32 + __ffs(b) - 1;
}

DEVICE u32 score_of(u64 x, u32 least) /* 0: not a hit; else the score + 1 */
{
    u64 sum = x & (1ull << 48) - 1;
    if (x >> 63 || (u32)(x >> 48) < least) return 0;
    return sum > ALL - 1 ? ALL : (u32)sum + 1;
}

/* The `top` best documents of a query, a CTA of 256 each: the lowest score among them by radix, eight bits a pass; then
 * all above it, and as many as are missing at it in order of number. Unsorted. */
extern "C" __global__ void __launch_bounds__(256) ops_select(const ListOpsArgs a)
{
    __shared__ u32 histogram[256], bound, missing, taken;
    u32 query = blockIdx.x, least = a.least[query];
    const u64 *score = a.score + (size_t)query * a.documents;
    ListGpuHit *hits = a.hits + (size_t)query * a.top;
    if (threadIdx.x == 0) bound = 0, missing = a.top, taken = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        histogram[threadIdx.x] = 0;
        __syncthreads();
        u32 prefix = bound;
        for (u32 d = threadIdx.x; d < a.documents; d += 256) {
            u32 s = score_of(score[d], least);
            if (s && (shift == 24 || s >> (shift + 8) == prefix >> (shift + 8))) atomicAdd(histogram + (s >> shift & 255), 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            for (; digit > 0 && histogram[digit] < missing; digit--) missing -= histogram[digit];
            bound = prefix | (u32)digit << shift;
        }
        __syncthreads();
    }
    u32 lowest = bound, wanted = missing; /* `wanted` of those that score exactly `lowest` */
    for (u32 from = 0; from < a.documents; from += 256) {
        u32 d = from + threadIdx.x, s = d < a.documents ? score_of(score[d], least) : 0;
        bool equal = s && s == lowest, above = s > lowest;
        u32 all, rank = sum_before(equal, &all);
        if (above || (equal && rank < wanted)) {
            u32 place = atomicAdd(&taken, 1u);
            if (place < a.top) hits[place] = {d, s - 1, 0};
        }
        wanted -= min(wanted, all);
    }
    __syncthreads();
    if (threadIdx.x == 0) a.found[query] = min(taken, a.top);
}
