/*
 * any_block.cuh: one warp decodes a block of any scheme into its own shared memory.
 *
 * For kernels that look at values more than once (operations on lists) or put two blocks together (64-bit values). Slots
 * are read where they lie; VSEncoding's come to shared memory by plain loads.
 */
#ifndef KERNEL_ANY_BLOCK_CUH
#define KERNEL_ANY_BLOCK_CUH

#include "kernel/pfor_block.cuh"
#include "kernel/vse_block.cuh"

struct SharedStore {
    u32 *out;
    u32 lane;
    DEVICE void pair(int g, const u32 *v)
    {
        *(uint4 *)(out + g * 128 + lane * 4) = make_uint4(v[0], v[1], v[2], v[3]);
        *(uint4 *)(out + g * 128 + 128 + lane * 4) = make_uint4(v[4], v[5], v[6], v[7]);
    }
};

/* Shared memory that a decode needs: work holds a payload (image bytes) and its records, or exceptions (4 KB), and may be
 * read 4 KB beyond. */
struct Workplace {
    Bunches *bunches;
    u8 *work;
    u32 image;
    const u32 *table;
};

DEVICE void load_table(u32 *table)
{
    for (u32 i = threadIdx.x; i < TABLE; i += blockDim.x) table[i] = table_entry(i, i < 256 ? SIGNATURES[i] : 0);
    __syncthreads();
}

/* Decodes a block into out (1024 words); 0 values if it is damaged: `block` is then reported. All 32 lanes. */
template <bool GAPS> DEVICE u32 decode_block(const ListArgs &a, const Entry &e, u32 block, const Workplace &s, u32 *out)
{
    u32 lane = threadIdx.x & 31, *work = (u32 *)s.work;
    const u32 *payload = (const u32 *)a.area + (size_t)e.place * 4;
    SharedStore sink = {out, lane};
    typename Choose<GAPS, Ascending<SharedStore>, Plain<SharedStore>>::type to(sink, lane, e, a.step, work);
    bool good;
    __syncwarp();
    if (e.scheme() == 3) {
        Scan scan;
        uint2 *record = (uint2 *)(s.work + s.image);
        for (u32 i = lane; i <= (e.words() + 3) / 4; i += 32) ((uint4 *)work)[i] = __ldg((const uint4 *)payload + i);
        s.bunches->starts[lane] = 0;
        scan.init(lane);
        __syncwarp();
        good = scan_signatures<true>(*s.bunches, record, s.table, work, e, scan, lane);
        if (good) {
            rank_starts(*s.bunches, record, scan, lane);
            vse_groups<true, false>(to, *s.bunches, s.table, lane);
        }
    } else {
        good = e.count() ? pfor_block<true>(to, payload, e, work, lane) : pfor_block<false>(to, payload, e, work, lane);
    }
    if (good) to.finish();
    __syncwarp();
    if (!good) report(a, block, lane, e.scheme() == 3 ? 3 : 4);
    return good ? e.n() : 0;
}

/* The same as a function that is called: where a kernel decodes in several places, inlining makes it slow to compile and
 * leaves it no registers. */
template <bool GAPS>
__device__ __noinline__ u32 decode_called(const void *area, u8 *fault, u32 step, Entry e, u32 block, Workplace s, u32 *out)
{
    ListArgs a = {};
    a.area = area;
    a.fault = fault;
    a.step = step;
    return decode_block<GAPS>(a, e, block, s, out);
}

DEVICE u64 sum_before64(u64 s, u32 lane, u64 *all)
{
    u64 sum = s;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        u64 left = __shfl_up_sync(ALL, sum, d);
        if (lane >= d) sum += left;
    }
    *all = __shfl_sync(ALL, sum, 31);
    return sum - s;
}

/* The lane's four 64-bit values from `first` on, put together from their halves; how many of them exist is returned. GAPS:
 * *carry is the value before the group of 128, and becomes its last one. All 32 lanes. */
template <bool GAPS> DEVICE u32 join_halves(const u32 *lows, const u32 *highs, u32 first, u32 n, u32 step, u64 *carry, u64 *v)
{
    u32 live = first < n ? min(n - first, 4) : 0;
    uint4 low = *(const uint4 *)(lows + first), high = *(const uint4 *)(highs + first);
    v[0] = (u64)high.x << 32 | low.x, v[1] = (u64)high.y << 32 | low.y;
    v[2] = (u64)high.z << 32 | low.z, v[3] = (u64)high.w << 32 | low.w;
    if (GAPS) {
        u64 all, sum = 0;
#pragma unroll
        for (int t = 0; t < 4; t++) v[t] = sum += t < live ? v[t] + step : 0;
        u64 before = *carry + sum_before64(sum, threadIdx.x & 31, &all);
        *carry += all;
#pragma unroll
        for (int t = 0; t < 4; t++) v[t] += before;
    }
    return live;
}

#endif
