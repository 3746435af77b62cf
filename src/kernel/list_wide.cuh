/*
 * list_wide.cuh: blocks of 64-bit values: store, ascend, sum, count.
 *
 * A block is two entries of the directory, each a block of 32-bit values: number 2 k holds the low halves, 2 k + 1 the
 * high ones (all zero where every value is below 2^32), and each the half of the base. A warp decodes both into its shared
 * memory and puts them together there; a lane owns values 128 g + 4 lane .. + 3 as everywhere, and sums of d-gaps are
 * 64-bit scans over the warp, one a group of 128. Results and output are 64 bits wide.
 */
#include "kernel/any_block.cuh"

struct WideSpace {
    Bunches bunches;
    u32 low[1024], high[1024];
    u8 work[16]; /* a.pool bytes */
};

DEVICE u64 sum_warp64(u64 s)
{
#pragma unroll
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(ALL, s, d);
    return s;
}

/* Consumers of a lane's four values, `live` (0..4) of which exist. */
struct WideStore {
    u64 *out;
    DEVICE void init(const ListArgs &a, u32 block) { out = (u64 *)a.out + (size_t)block * 1024; }
    DEVICE void four(u32 first, const u64 *v, u32 live)
    {
        if (live == 4) {
            __stcs((ulonglong2 *)(out + first), make_ulonglong2(v[0], v[1]));
            __stcs((ulonglong2 *)(out + first) + 1, make_ulonglong2(v[2], v[3]));
        } else {
#pragma unroll
            for (int t = 0; t < 3; t++)
                if (t < live) out[first + t] = v[t];
        }
    }
    DEVICE void finish(const ListArgs &, u32) {}
};
template <bool COUNT> struct WideFold {
    u64 acc, limit;
    DEVICE void init(const ListArgs &a, u32)
    {
        acc = 0;
        limit = a.limit;
    }
    DEVICE void four(u32, const u64 *v, u32 live)
    {
#pragma unroll
        for (int t = 0; t < 4; t++)
            if (t < live) acc += COUNT ? v[t] <= limit : v[t];
    }
    DEVICE void finish(const ListArgs &a, u32 block)
    {
        acc = sum_warp64(acc);
        if ((threadIdx.x & 31) == 0) ((u64 *)a.result)[block] = acc;
    }
};

template <bool GAPS, class SINK> DEVICE void wide_groups(const ListArgs &a, const WideSpace &s, u32 n, u64 carry, SINK &sink)
{
    for (u32 from = 0; from < n; from += 128) {
        u32 first = from + (threadIdx.x & 31) * 4;
        u64 v[4];
        u32 live = join_halves<GAPS>(s.low, s.high, first, n, a.step, &carry, v);
        sink.four(first, v, live);
    }
}

template <bool GAPS, class SINK> DEVICE void wide_decode(const ListArgs &a, u8 *shared)
{
    __shared__ u32 table[TABLE];
    u32 block;
    load_table(table);
    if (!my_block(a, &block)) return;
    WideSpace &s = *(WideSpace *)(shared + (threadIdx.x >> 5) * (sizeof(WideSpace) - 16 + a.pool));
    Workplace place = {&s.bunches, s.work, a.image, table};
    Entry low = load_entry(a, 2 * block), high = load_entry(a, 2 * block + 1);
    u32 n = decode_block<false>(a, low, block, place, s.low);
    if (n == 0 || decode_block<false>(a, high, block, place, s.high) != n) return;
    SINK sink;
    sink.init(a, block);
    wide_groups<GAPS>(a, s, n, (u64)high.base << 32 | low.base, sink);
    sink.finish(a, block);
}

#define WIDE_KERNEL(name, GAPS, SINK)                                                                                  \
    extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32) name(const ListArgs a)                               \
    {                                                                                                                  \
        extern __shared__ __align__(128) u8 shared[];                                                                  \
        wide_decode<GAPS, SINK>(a, shared);                                                                            \
    }
WIDE_KERNEL(list_wide_store, false, WideStore)
WIDE_KERNEL(list_wide_ascend, true, WideStore)
WIDE_KERNEL(list_wide_sum, false, WideFold<false>)
WIDE_KERNEL(list_wide_count, true, WideFold<true>)
