/*
 * list_vse.cuh: kernels over VSEncoding blocks (vse_block.cuh): store, ascend, sum, count, and the source text's.
 */
#include "kernel/vse_block.cuh"

/* Fused, with d-gaps, a lane owns values 32 lane .. + 31: its bunch starts are one word, and one warp scan a block does.
 * (Sums without gaps are faster the other way: here lanes' slots lie a multiple of 4 bytes apart, and meet in banks.) */
template <class OP> DEVICE u32 fold_bunches(const ListArgs &a, const Bunches &s, const u32 *table, const uint2 *record, const Entry &e,
                                            const Scan &scan, u32 lane)
{
    u32 starts = s.starts[lane], n = __popc(starts), eight = 8, acc = 0, at = 0, v[32];
    u32 rank = shared_address(record) + (scan.sum(n) - n) * 8 - 8, first = lane * 32 - 2047;
    asm volatile("" : "+r"(eight));
#pragma unroll
    for (int q = 0; q < 8; q++) {
        uint2 r = shared_pair(mad(__popc(starts & (2u << 4 * q) - 1), eight, rank));
        u32 w0 = r.y & 0xff, u[4];
        cut_window(widths_of(r.y, table, q ? starts >> (4 * q - 1) : starts << 1), w0, mad(w0, first + 4 * q, r.x), u);
#pragma unroll
        for (int t = 0; t < 4; t++) v[4 * q + t] = at += u[t] + a.step;
    }
    u32 before = e.base + scan.sum(at) - at;
    if (e.n() == 1024) {
#pragma unroll
        for (int j = 0; j < 32; j++) acc += OP::of(v[j] + before, a.limit);
    } else {
#pragma unroll
        for (int j = 0; j < 32; j++)
            if (lane * 32 + j < e.n()) acc += OP::of(v[j] + before, a.limit);
    }
    return acc;
}

extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, 4) list_vse_count(const ListArgs a)
{
    extern __shared__ __align__(16) u8 shared[];
    VseBlock b = {};
    if (!b.begin<false>(a, shared)) return;
    u32 acc = __reduce_add_sync(ALL, fold_bunches<OpAtMost>(a, *b.bunches, b.table, b.record, b.e, b.scan, b.lane));
    if (b.lane == 0) a.result[b.block] = acc;
}

#define VSE_KERNEL(name, WIDE, GAPS, SINK, CTAS)                                                                       \
    extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, CTAS) name(const ListArgs a)                         \
    {                                                                                                                  \
        extern __shared__ __align__(16) u8 shared[];                                                                   \
        prefetch_segment(a);                                                                                           \
        vse_decode<WIDE, GAPS, SINK>(a, shared);                                                                            \
    }

VSE_KERNEL(list_vse_store, false, false, Store, 5)
VSE_KERNEL(list_vse_ascend, false, true, Store, 5)
VSE_KERNEL(list_vse_sum, false, false, Fold<OpSum>, 5)
VSE_KERNEL(list_vse_wide_store, true, false, Store, 5)
VSE_KERNEL(list_vse_wide_ascend, true, true, Store, 4)
VSE_KERNEL(list_vse_wide_sum, true, false, Fold<OpSum>, 5)
VSE_KERNEL(list_vse_wide_count, true, true, Fold<OpAtMost>, 4)

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
