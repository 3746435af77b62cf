/*
 * list_task.cuh: what kernels of operations on lists share: a warp takes one task, a block of a query's list, and decodes it
 * into its own shared memory.
 *
 * Numbers are u32 or u64 (T) as the set has them; blocks of 64-bit numbers are two entries of the directory, halves that are
 * put together in registers and written over where they were decoded.
 */
#ifndef KERNEL_LIST_TASK_CUH
#define KERNEL_LIST_TASK_CUH

#include "kernel/any_block.cuh"

/* The size is known to the host (list_gpu_group.c). SCORED: with room for frequencies. */
template <class T, bool SCORED> struct WarpSpace {
    typedef T number;
    static constexpr bool scored = SCORED;
    Bunches bunches;
    T values[1024], others[1024];
    u32 score[SCORED ? 1024 : 32], freq[SCORED ? 1024 : 32];
    u8 keep[1024];
    u8 work[16]; /* a.pool bytes: payload and records, or exceptions */
};

/* A warp's task: its block is decoded, n values in space->values. */
template <class S> struct Turn {
    ListTask task;
    u32 number; /* of the task */
    S *space;
    Workplace place;
    u32 n;
};

template <bool GAPS> DEVICE u32 decode_entry(const ListArgs &a, const Entry &e, u32 block, const Workplace &w, u32 *out)
{
    return decode_called<GAPS>(a.area, a.fault, a.step, e, block, w, out);
}
DEVICE u32 decode_numbers(const ListArgs &a, u32 block, const Workplace &w, u32 *out)
{
    return decode_entry<true>(a, load_entry(a, block), block, w, out);
}
DEVICE u32 decode_numbers(const ListArgs &a, u32 block, const Workplace &w, u64 *out)
{
    Entry low = load_entry(a, 2 * block), high = load_entry(a, 2 * block + 1);
    u32 *lows = (u32 *)out, *highs = lows + 1024, lane = threadIdx.x & 31;
    u32 n = decode_entry<false>(a, low, block, w, lows);
    if (n == 0 || decode_entry<false>(a, high, block, w, highs) != n) return 0;
    u64 v[32], carry = (u64)high.base << 32 | low.base;
#pragma unroll
    for (int g = 0; g < 8; g++) join_halves<true>(lows, highs, g * 128 + lane * 4, n, a.step, &carry, v + 4 * g);
    __syncwarp();
#pragma unroll
    for (int g = 0; g < 8; g++)
#pragma unroll
        for (int t = 0; t < 4; t += 2)
            *(ulonglong2 *)(out + g * 128 + lane * 4 + t) = make_ulonglong2(v[4 * g + t], v[4 * g + t + 1]);
    __syncwarp();
    return n;
}

/* The number before a block, by its entry: the skip array. A list's first block has -1. */
template <class T> DEVICE T base_of(const ListArgs &a, u32 block)
{
    const u32 *dir = (const u32 *)a.dir;
    if (sizeof(T) == 4) return __ldg(dir + 4 * (size_t)block + 1);
    return (T)((u64)__ldg(dir + 8 * (size_t)block + 5) << 32 | __ldg(dir + 8 * (size_t)block + 1));
}

/* Every warp of the CTA calls it; false: no task for this one. */
template <class S> DEVICE bool begin_task(const ListOpsArgs &a, u8 *shared, Turn<S> *t)
{
    __shared__ u32 table[TABLE];
    u32 warp = threadIdx.x >> 5, k = blockIdx.x * LIST_OPS_WARPS + warp;
    load_table(table);
    if (k >= a.tasks) return false;
    S *s = (S *)(shared + warp * (sizeof(S) - 16 + a.pool));
    *t = {a.task[k], k, s, {&s->bunches, s->work, a.image, table}, 0};
    t->n = decode_numbers(a.docs, t->task.block, t->place, s->values);
    return true;
}

/* Frequencies of the task's block, or of another block, into `to`; how many of the n are good. */
template <class S> DEVICE u32 decode_freqs(const ListOpsArgs &a, const Turn<S> &t, u32 block, u32 n, u32 *to)
{
    return min(n, decode_entry<false>(a.freqs, load_entry(a.freqs, block), block, t.place, to));
}

/* The sum of n over the threads of a CTA of 256 before this one; *all: over all. */
DEVICE u32 sum_before(u32 n, u32 *all)
{
    __shared__ u32 sums[8];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Scan scan;
    scan.init(lane);
    u32 before = scan.sum(n) - n;
    __syncthreads(); /* the sums of the call before are read */
    if (lane == 31) sums[warp] = before + n;
    __syncthreads();
    *all = 0;
    for (u32 i = 0; i < 8; i++) {
        before += i < warp ? sums[i] : 0;
        *all += sums[i];
    }
    return before;
}

#endif
