/*
 * list_pfor.cuh: kernels over PForDelta blocks (pfor_block.cuh): store, ascend, sum, count, and the source text's.
 */
#include "kernel/pfor_block.cuh"

#define PFOR_KERNEL(name, GAPS, SINK, CTAS)                                                                            \
    extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, CTAS) name(const ListArgs a)                         \
    {                                                                                                                  \
        extern __shared__ __align__(16) u32 shared[];                                                                  \
        u32 block, lane = threadIdx.x & 31;                                                                            \
        prefetch_segment(a);                                                                                           \
        if (!my_block(a, &block)) return;                                                                              \
        pfor_decode<GAPS, SINK>(a, block, lane, shared + (threadIdx.x >> 5) * (a.pool / 4));                                   \
    }

PFOR_KERNEL(list_pfor_store, false, Store, 4)
PFOR_KERNEL(list_pfor_ascend, true, Store, 4)
PFOR_KERNEL(list_pfor_sum_v1, false, Fold<OpSum>, 4)
PFOR_KERNEL(list_pfor_count_v1, true, Fold<OpAtMost>, 4)

/* Full blocks of up to 16 bits and high parts of up to 16 bits, staged in shared memory: payload buffers (walk_blocks), then
 * a.pool bytes a warp for exceptions (2 KB) or the sums of Ascending (1 KB). */
template <bool GAPS, class SINK> DEVICE void pfor_staged(const ListArgs &a, u8 *shared)
{
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u16 *high = (u16 *)(shared + LIST_WARPS * image_count(a) * a.image + warp * a.pool);
    walk_blocks(a, shared + warp * image_count(a) * a.image, [] {}, [&](const Entry &e, u32 block, const u32 *slots) {
        typename SINK::template type<true> sink;
        sink.init(a, block, lane, e);
        typename Choose<GAPS, Ascending<typename SINK::template type<true>>, Plain<typename SINK::template type<true>>>::type out(
            sink, lane, e, a.step, (u32 *)high);
        u32 b = e.width();
        if (e.count()) {
            Exceptions x;
            x.init((u32 *)high, slots, e, lane);
            if (x.scatter16(high)) return report(a, block, lane, 4);
            if (b <= 8)
                staged_groups<2, true>(out, slots, b, 0, high, lane);
            else
                staged_groups<3, true>(out, slots, b, 0, high, lane);
        } else if (b <= 8) {
            staged_groups<2, false>(out, slots, b, e.scheme() == 1 ? slots[0] : 0, high, lane);
        } else {
            staged_groups<3, false>(out, slots, b, 0, high, lane);
        }
        out.finish();
        sink.finish(a, block);
    });
}

#define PFOR_STAGED(name, GAPS, SINK, CTAS)                                                                            \
    extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, CTAS) name(const ListArgs a)                         \
    {                                                                                                                  \
        extern __shared__ __align__(16) u8 shared_bytes[];                                                             \
        prefetch_segment(a);                                                                                           \
        pfor_staged<GAPS, SINK>(a, shared_bytes);                                                                      \
    }
PFOR_STAGED(list_pfor_store_staged, false, Store, 4)
PFOR_STAGED(list_pfor_ascend_staged, true, Store, 4)

/* ---- fused: a lane owns a bunch ---- */

/* Without output nothing needs coalescing, and a lane can own bunch number `lane`: 32 consecutive values, which are
 * exactly B words. The width becomes a constant of the code (a switch once a block), so that a value is one shift
 * and one logic operation; d-gaps need one warp scan a block instead of four or eight. The slots come to shared
 * memory by one bulk copy; a lane reads its B words 16, 8 or 4 bytes at a time. The exceptions' array is read in
 * rows of 32 words, rotated so that eight lanes meet eight banks.
 *
 * Consumers are called value by value: take(v). */

template <int B> DEVICE void load_bunch(const u32 *slots, u32 lane, u32 *w)
{
    const u32 *p = slots + lane * B;
    if (B % 4 == 0) {
#pragma unroll
        for (int i = 0; i < B; i += 4) {
            uint4 x = *(const uint4 *)(p + i);
            w[i] = x.x, w[i + 1] = x.y, w[i + 2] = x.z, w[i + 3] = x.w;
        }
    } else if (B % 2 == 0) {
#pragma unroll
        for (int i = 0; i < B; i += 2) {
            uint2 x = *(const uint2 *)(p + i);
            w[i] = x.x, w[i + 1] = x.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < B; i++) w[i] = p[i];
    }
}

template <int B> DEVICE u32 slot_of(const u32 *w, int j)
{
    const int bit = j * B, i = bit >> 5, s = bit & 31;
    if (B == 0) return 0;
    u32 x = s + B <= 32 ? w[i] >> s : __funnelshift_r(w[i], w[i + (s + B > 32)], s);
    return s + B == 32 ? x : x & (u32)((1ull << B) - 1);
}

/* FOLD::add over the lane's values, or gaps. */
template <int B, bool EXC, bool GAPS, class FOLD> DEVICE u32 fold_bunch(const u32 *slots, const u32 *high, u32 lane, u32 plus,
                                                                        u32 base, u32 step, u32 limit, const Scan &scan)
{
    u32 w[B == 0 ? 1 : B], s[32], acc = 0, at = 0;
    load_bunch<B>(slots, lane, w);
#pragma unroll
    for (int q = 0; q < 8; q++) {
        uint4 h = make_uint4(plus, plus, plus, plus);
        if (EXC) h = *(const uint4 *)(high + lane * 32 + ((q ^ (lane & 7)) << 2));
        const u32 part[4] = {h.x, h.y, h.z, h.w};
#pragma unroll
        for (int t = 0; t < 4; t++) {
            u32 v = EXC || B == 0 ? slot_of<B>(w, 4 * q + t) | part[t] : slot_of<B>(w, 4 * q + t);
            if (GAPS)
                s[4 * q + t] = at += v + step;
            else
                FOLD::add(acc, v, limit);
        }
    }
    if (!GAPS) return acc;
    u32 before = base + scan.sum(at) - at;
#pragma unroll
    for (int j = 0; j < 32; j++) FOLD::add(acc, s[j] + before, limit);
    return acc;
}

template <bool EXC, bool GAPS, class FOLD> DEVICE u32 fold_block(const Entry &e, const u32 *slots, const u32 *high, u32 lane,
                                                                 u32 plus, const ListArgs &a, const Scan &scan)
{
#define WIDTH_CASE(B)                                                                                                  \
    case B:                                                                                                            \
        return fold_bunch<B, EXC, GAPS, FOLD>(slots, high, lane, plus, e.base, a.step, a.limit, scan);
    switch (e.width()) {
        WIDTH_CASE(0)
        WIDTH_CASE(1)
        WIDTH_CASE(2)
        WIDTH_CASE(3)
        WIDTH_CASE(4)
        WIDTH_CASE(5)
        WIDTH_CASE(6)
        WIDTH_CASE(7)
        WIDTH_CASE(8)
        WIDTH_CASE(9)
        WIDTH_CASE(10)
        WIDTH_CASE(11)
        WIDTH_CASE(12)
        WIDTH_CASE(13)
        WIDTH_CASE(14)
        WIDTH_CASE(15)
        WIDTH_CASE(16)
    }
#undef WIDTH_CASE
    return 0;
}

/* Shared memory: payload buffers (walk_blocks), then the exceptions' arrays, a.pool bytes a warp (0: no block
 * has exceptions), which are cleared entry by entry. Only full blocks of up to 16 bits: others are of another class
 * (list_gpu.c). */
template <bool GAPS, class OP> DEVICE void pfor_fold(const ListArgs &a, u8 *shared)
{
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 *high = (u32 *)(shared + LIST_WARPS * image_count(a) * a.image + warp * a.pool);
    if (a.pool)
#pragma unroll
        for (int g = 0; g < 8; g++) *(uint4 *)(high + g * 128 + lane * 4) = make_uint4(0, 0, 0, 0);
    Scan scan;
    if (GAPS) scan.init(lane);
    walk_blocks(a, shared + warp * image_count(a) * a.image, [] {}, [&](const Entry &e, u32 block, const u32 *slots) {
        u32 plus = e.scheme() == 1 ? slots[0] : 0, acc;
        bool bad = false;
        if (e.count()) {
            Exceptions x;
            x.init(high, slots, e, lane);
            bad = x.scatter_shared();
            acc = fold_block<true, GAPS, OP>(e, slots, high, lane, plus, a, scan);
            __syncwarp();
            x.clear();
        } else {
            acc = fold_block<false, GAPS, OP>(e, slots, high, lane, plus, a, scan);
        }
        acc = __reduce_add_sync(ALL, acc);
        if (bad)
            report(a, block, lane, 4);
        else if (lane == 0)
            a.result[block] = acc;
    });
}

extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, 4) list_pfor_sum(const ListArgs a)
{
    extern __shared__ __align__(16) u8 shared_bytes[];
    pfor_fold<false, OpSum>(a, shared_bytes);
}
extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, 3) list_pfor_count(const ListArgs a)
{
    extern __shared__ __align__(16) u8 shared_bytes[];
    pfor_fold<true, OpAtMost>(a, shared_bytes);
}

/* The seed's P4D: Algorithm 10 with n_i = 32 for all bunches: bunch after bunch, a lane a codeword, then the
 * exceptions in one pass over the output. Kept to be measured against. */
extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32) list_pfor_seed(const ListArgs a)
{
    u32 block, lane = threadIdx.x & 31;
    if (!my_block(a, &block)) return;
    Entry e = load_entry(a, block);
    const u32 *payload = (const u32 *)a.area + (size_t)e.place * 4;
    u32 b = e.width(), n = e.n(), *out = a.out + (size_t)block * 1024;
    for (u32 bunch = 0; bunch < 32; bunch++) {
        u32 c = bunch * 32 + lane, bit = c * b;
        if (c < n) out[c] = shift_right(__ldg(payload + (bit >> 5)), __ldg(payload + (bit >> 5) + 1), bit) & ones(b);
    }
    __syncwarp();
    const u32 *stream = payload + (n * b + 31) / 32;
    for (u32 i = lane; i < e.count(); i += 32) {
        u32 bit = i * (10 + e.exc_width());
        u32 x = shift_right(__ldg(stream + (bit >> 5)), __ldg(stream + (bit >> 5) + 1), bit), at = x & 1023;
        if (at < n) out[at] |= (x >> 10 & ones(e.exc_width())) << b;
    }
}
