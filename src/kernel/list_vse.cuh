/*
 * list_vse.cuh: kernels over VSEncoding blocks (vse_block.cuh): store, ascend, sum, count, and the source text's.
 */
#include "kernel/vse_block.cuh"

/* Fused, with d-gaps, a lane owns eight consecutive values of 256: half the scans of four, and slots of 8 bits still lie
 * only two words apart. FULL: all 1024 exist. */
template <class OP, bool FULL> DEVICE u32 fold_bunches(const ListArgs &a, const Bunches &s, const u32 *table, const Entry &e,
                                                       const Scan &scan, u32 lane)
{
    u32 shift = (lane & 3) * 8, until = 2u * (1u << shift) - 1, until4 = until << 4 | 15, eight = 8, acc = 0, carry = e.base;
    asm volatile("" : "+r"(eight));
#pragma unroll
    for (int g = 0; g < 4; g++) {
        uint2 q = s.rank[8 * g + (lane >> 2)];
        uint2 r = shared_pair(mad(__popc(q.x & until), eight, q.y)), r4 = shared_pair(mad(__popc(q.x & until4), eight, q.y));
        u32 turned = shift_right(q.x, q.x, shift - 1), v[8];
        cut_window(widths_of(r.y, table, turned), bit_of(r, g * 256 + lane * 8), v);
        cut_window(widths_of(r4.y, table, turned >> 4), bit_of(r4, g * 256 + lane * 8 + 4), v + 4);
#pragma unroll
        for (int t = 0; t < 8; t++) v[t] = (t ? v[t - 1] : 0) + v[t] + a.step;
        u32 sum = scan.sum(v[7]), before = carry + sum - v[7];
        carry += __shfl_sync(ALL, sum, 31);
#pragma unroll
        for (int t = 0; t < 8; t++)
            if (FULL || g * 256 + lane * 8 + t < e.n()) OP::add(acc, v[t] + before, a.limit);
    }
    return acc;
}

extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, 4) list_vse_count(const ListArgs a)
{
    extern __shared__ __align__(128) u8 shared[];
    vse_walk<false>(a, shared, [&](const VseWarp &w, const Entry &e, u32 block) {
        rank_starts(*w.bunches, w.record, w.scan, w.lane);
        u32 acc = e.n() == 1024 ? fold_bunches<OpAtMost, true>(a, *w.bunches, w.table, e, w.scan, w.lane)
                                : fold_bunches<OpAtMost, false>(a, *w.bunches, w.table, e, w.scan, w.lane);
        acc = __reduce_add_sync(ALL, acc);
        if (w.lane == 0) a.result[block] = acc;
    });
}

#define VSE_KERNEL(name, WIDE, GAPS, SINK, ONE, CTAS)                                                                  \
    extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, CTAS) name(const ListArgs a)                         \
    {                                                                                                                  \
        extern __shared__ __align__(128) u8 shared[];                                                                  \
        prefetch_segment(a);                                                                                           \
        vse_decode<WIDE, GAPS, SINK, ONE>(a, shared);                                                                  \
    }

VSE_KERNEL(list_vse_store, false, false, Store, false, 5)
VSE_KERNEL(list_vse_ascend, false, true, Store, false, 5)
VSE_KERNEL(list_vse_sum, false, false, Fold<OpSum>, false, 4)
VSE_KERNEL(list_vse_wide_store, true, false, Store, false, 4)
VSE_KERNEL(list_vse_wide_ascend, true, true, Store, false, 4)
VSE_KERNEL(list_vse_wide_ascend_one, true, true, Store, true, 4)
VSE_KERNEL(list_vse_wide_sum, true, false, Fold<OpSum>, false, 4)
VSE_KERNEL(list_vse_wide_count, true, true, Fold<OpAtMost>, false, 4)

/* The seed's VS: Algorithm 8 (PPSum) over n_i and n_i * s_i, then Algorithm 9 (ExtractBunch) for one bunch after the
 * other, as Algorithm 10 has it. Kept to be measured against. */
extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32) list_vse_seed(const ListArgs a)
{
    __shared__ u32 table[256], sums[LIST_WARPS][512];
    u32 block = 0, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, carry = 0;
    table[threadIdx.x] = SIGNATURES[threadIdx.x];
    __syncthreads();
    if (!my_block(a, &block)) return;
    Entry e = load_entry(a, block);
    const u8 *signature = (const u8 *)a.area + (size_t)e.place * 16;
    const u32 *payload = (const u32 *)signature;
    u32 m = e.count(), *out = a.out + (size_t)block * 1024;
    for (u32 r = 0; r < m; r += 32) {
        u32 x = r + lane < m ? table[signature[r + lane]] & 0x3ffffff : 0, sum = x;
#pragma unroll
        for (int s = 1; s < 32; s *= 2) {
            u32 left = __shfl_up_sync(ALL, sum, s);
            if (lane >= s) sum += left;
        }
        if (r + lane < m) sums[warp][r + lane] = carry + sum - x;
        carry += __shfl_sync(ALL, sum, 31);
    }
    __syncwarp();
    if ((carry & 0x7ff) != e.n() || (carry >> 11) + 8 * m > 32 * e.words()) return report(a, block, lane, 3);
    for (u32 i = 0; i < m; i++) {
        u32 t = table[signature[i]], w = t >> 26, n = t & 0x7ff, x = sums[warp][i];
        for (u32 c = lane; c < n; c += 32) {
            u32 bit = 8 * m + (x >> 11) + c * w, at = (x & 0x7ff) + c;
            if (at < 1024) out[at] = shift_right(__ldg(payload + (bit >> 5)), __ldg(payload + (bit >> 5) + 1), bit) & ones(w);
        }
    }
}
