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

/* FOLD::of(v, limit) summed over the lane's values, or gaps. */
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
                acc += FOLD::of(v, limit);
        }
    }
    if (!GAPS) return acc;
    u32 before = base + scan.sum(at) - at;
#pragma unroll
    for (int j = 0; j < 32; j++) acc += FOLD::of(s[j] + before, limit);
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

/* Persistent: a warp walks over blocks and has the next payload copied while it works on this one. a.image: bytes of
 * a payload buffer, two a warp; then the exceptions' arrays, a.pool bytes a warp (0: no block has exceptions), which
 * are cleared entry by entry. Only full blocks of up to 16 bits: others are of another class (list_gpu.c). */
template <bool GAPS, class OP> DEVICE void pfor_fold(const ListArgs &a, u8 *shared)
{
    __shared__ __align__(8) u64 barriers[LIST_WARPS][2];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, k = blockIdx.x * LIST_WARPS + warp, stride = gridDim.x * LIST_WARPS;
    u8 *buffer = shared + warp * 2 * a.image;
    u32 *high = (u32 *)(shared + LIST_WARPS * 2 * a.image + warp * a.pool), barrier = shared_address(barriers[warp]);
    if (k >= a.count) return;
    auto number = [&](u32 j) { return a.index ? __ldg(a.index + j) : a.first + j; };
    auto fetch = [&](const Entry &e, u32 slot) {
        u32 bytes = e.words() * 4 + 15 & ~15u;
        if (lane == 0) bulk_copy(shared_address(buffer + slot * a.image), (const u8 *)a.area + (size_t)e.place * 16, bytes ? bytes : 16, barrier + 8 * slot);
    };
    if (lane < 2) barrier_init(barrier + 8 * lane);
    if (a.pool)
#pragma unroll
        for (int g = 0; g < 8; g++) *(uint4 *)(high + g * 128 + lane * 4) = make_uint4(0, 0, 0, 0);
    Scan scan;
    if (GAPS) scan.init(lane);
    __syncwarp();
    u32 block = number(k), next = k + stride < a.count ? number(k + stride) : block;
    Entry e = load_entry(a, block), e1 = load_entry(a, next);
    fetch(e, 0);
    for (u32 round = 0;; round++) {
        u32 slot = round & 1, k2 = k + 2 * stride, after = k2 < a.count ? number(k2) : block, acc;
        if (k + stride < a.count) fetch(e1, slot ^ 1);
        Entry e2 = load_entry(a, after);
        barrier_wait(barrier + 8 * slot, round >> 1 & 1);
        const u32 *slots = (const u32 *)(buffer + slot * a.image);
        u32 plus = e.scheme() == 1 ? slots[0] : 0;
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
        k += stride;
        if (k >= a.count) return;
        block = next, next = after, e = e1, e1 = e2;
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, LIST_FUSED_SUM) list_pfor_sum(const ListArgs a)
{
    extern __shared__ __align__(16) u8 shared_bytes[];
    pfor_fold<false, OpSum>(a, shared_bytes);
}
extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, LIST_FUSED_COUNT) list_pfor_count(const ListArgs a)
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
