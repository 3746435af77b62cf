/*
 * list.cuh: decoders of list blocks for the GPU: one warp a block of 1024 values, value-parallel.
 *
 * Map of threads to data: a lane owns values 128 g + 4 lane .. + 3 for g = 0..7, so that stores are 16 bytes
 * and coalesced. Decoders hand a Sink two groups at a time: sink.pair(g, v), v[0..3] being the
 * lane's values of group g, v[4..7] those of group g + 1. Sinks compose: Ascending<Store> turns gaps into
 * values and stores them; Count, Sum and query kernels consume values without any output.
 *
 * Safety: the host has checked entries (list_gpu.c); what only the payload can tell is checked here, before
 * it is used as an address. A bad block sets its fault byte; nothing traps.
 */
#ifndef KERNEL_LIST_CUH
#define KERNEL_LIST_CUH

#include "codec/list_args.h"

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;

#define ALL 0xffffffffu
#define DEVICE __device__ __forceinline__

/* ---- words and bits ---- */

DEVICE u32 shift_right(u32 low, u32 high, u32 s)
{
    return __funnelshift_r(low, high, s); /* s mod 32 */
}
DEVICE u32 ones(u32 width) /* width 0..32 */
{
    return ~__funnelshift_lc(0u, ALL, width);
}
DEVICE u32 mad(u32 a, u32 b, u32 c) /* on the FMA pipe: the ALU is what fused decoding runs out of */
{
    u32 d;
    asm("mad.lo.u32 %0,%1,%2,%3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
DEVICE u32 low_bits(u32 a, u32 width) /* width mod 32 of them */
{
    u32 d;
    asm("szext.wrap.u32 %0,%1,%2;" : "=r"(d) : "r"(a), "r"(width));
    return d;
}
DEVICE u32 lowest_bits(u32 a, u32 width) /* width 0..32 */
{
    u32 d;
    asm("szext.clamp.u32 %0,%1,%2;" : "=r"(d) : "r"(a), "r"(width));
    return d;
}
DEVICE u32 permute_bytes(u32 a, u32 selector)
{
    u32 d;
    asm("prmt.b32 %0,%1,0,%2;" : "=r"(d) : "r"(a), "r"(selector));
    return d;
}
DEVICE u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}
template <int OFFSET> DEVICE u32 shared_word(u32 address)
{
    u32 v;
    asm volatile("ld.shared.u32 %0,[%1+%2];" : "=r"(v) : "r"(address), "n"(OFFSET));
    return v;
}
DEVICE uint2 shared_pair(u32 address)
{
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0,%1},[%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
    return v;
}
DEVICE void store4(u32 *p, u32 a, u32 b, u32 c, u32 d)
{
    __stcs((uint4 *)p, make_uint4(a, b, c, d));
}

/* Inclusive sums over the warp; live[d] is 1 where the lane has a neighbour 2^d below. */
struct Scan {
    u32 live[5];
    DEVICE void init(u32 lane)
    {
#pragma unroll
        for (int d = 0; d < 5; d++) {
            live[d] = lane >= (1u << d);
            asm volatile("" : "+r"(live[d])); /* keep it in a register: an add becomes a multiply-add */
        }
    }
    DEVICE u32 sum(u32 s) const
    {
#pragma unroll
        for (int d = 0; d < 5; d++) s = mad(__shfl_up_sync(ALL, s, 1 << d), live[d], s);
        return s;
    }
};

/* ---- one block's entry ---- */

struct Entry {
    u32 place, base, low, high;
    DEVICE u32 n() const { return (low & 1023) + 1; }
    DEVICE u32 exc_width() const { return low >> 10 & 63; }
    DEVICE u32 scheme() const { return low >> 16 & 7; }
    DEVICE u32 width() const { return low >> 24; }
    DEVICE u32 count() const { return high & 0xffff; }
    DEVICE u32 words() const { return high >> 16; }
    DEVICE bool span16() const { return low & LIST_SPAN16; }
};
DEVICE Entry load_entry(const ListArgs &a, u32 block)
{
    uint4 v = __ldg((const uint4 *)a.dir + block);
    return {v.x, v.y, v.z, v.w};
}

template <bool YES, class A, class B> struct Choose {
    typedef A type;
};
template <class A, class B> struct Choose<false, A, B> {
    typedef B type;
};

/* ---- sinks ---- */

/* FULL: the block has 1024 values. Kernels branch once a block: a test in every group would keep the compiler from moving
 * one group's loads before another's arithmetic. A kernel names a sink by a struct with a template `type`. */
template <bool FULL> struct StoreSink {
    static constexpr bool fused = false; /* limited by memory, not by arithmetic */
    u32 *out; /* the lane's first value */
    u32 n, lane;
    DEVICE void init(const ListArgs &a, u32 block, u32 lane_, const Entry &e)
    {
        lane = lane_;
        n = e.n();
        out = a.out + (size_t)block * 1024 + lane * 4;
    }
    DEVICE void four(int g, const u32 *v)
    {
        u32 *p = out + g * 128;
        if (FULL) {
            store4(p, v[0], v[1], v[2], v[3]);
        } else {
#pragma unroll
            for (int t = 0; t < 4; t++)
                if (g * 128 + lane * 4 + t < n) p[t] = v[t];
        }
    }
    DEVICE void pair(int g, const u32 *v)
    {
        four(g, v);
        four(g + 1, v + 4);
    }
    DEVICE void finish(const ListArgs &, u32) {}
};

struct Store {
    template <bool FULL> using type = StoreSink<FULL>;
};

/* Folds to one word a block: OP::add(accumulator, value, limit). */
template <class OP, bool FULL> struct FoldSink {
    static constexpr bool fused = true;
    u32 acc, n, lane, limit;
    DEVICE void init(const ListArgs &a, u32, u32 lane_, const Entry &e)
    {
        lane = lane_;
        n = e.n();
        acc = 0;
        limit = (u32)a.limit;
    }
    DEVICE void four(int g, const u32 *v)
    {
#pragma unroll
        for (int t = 0; t < 4; t++)
            if (FULL || g * 128 + lane * 4 + t < n) OP::add(acc, v[t], limit);
    }
    DEVICE void pair(int g, const u32 *v)
    {
        four(g, v);
        four(g + 1, v + 4);
    }
    DEVICE void finish(const ListArgs &a, u32 block)
    {
        u32 s = __reduce_add_sync(ALL, acc);
        if (lane == 0) a.result[block] = s;
    }
};
template <class OP> struct Fold {
    template <bool FULL> using type = FoldSink<OP, FULL>;
};
struct OpSum {
    static DEVICE void add(u32 &acc, u32 v, u32) { acc += v; }
};
struct OpAtMost { /* values at most `limit` */
    static DEVICE void add(u32 &acc, u32 v, u32 limit)
    {
        asm("{.reg .pred p; setp.le.u32 p,%1,%2; @p add.u32 %0,%0,1;}" : "+r"(acc) : "r"(v), "r"(limit));
    }
};

/* Gaps to values: v[i] = base + sum of gap + step. All 32 values of a lane are kept until the last group is in; the 256
 * sums of four (group major, as values lie) go through shared memory, where every lane adds up eight consecutive ones:
 * one warp scan a block instead of eight. `sums`: 1 KB a warp, free at that time. */
template <class SINK> struct Ascending {
    SINK &sink;
    u32 *sums;
    u32 lane, base, step, v[32];
    DEVICE Ascending(SINK &s, u32 lane_, const Entry &e, u32 step_, u32 *sums_) : sink(s)
    {
        sums = sums_;
        lane = lane_;
        base = e.base;
        step = step_;
    }
    DEVICE void pair(int g, const u32 *x)
    {
#pragma unroll
        for (int i = 0; i < 8; i++) v[4 * g + i] = x[i];
    }
    DEVICE void finish()
    {
        __syncwarp();
#pragma unroll
        for (int g = 0; g < 8; g++) sums[g * 32 + lane] = mad(step, 4, v[4 * g] + v[4 * g + 1] + v[4 * g + 2] + v[4 * g + 3]);
        __syncwarp();
        uint4 *mine = (uint4 *)sums + 2 * lane, a = mine[0], b = mine[1];
        u32 half = a.x + a.y + a.z + a.w, total = half + b.x + b.y + b.z + b.w;
        u32 before = base - total + sum32(total);
        half += before;
        mine[0] = make_uint4(before, before + a.x, before + a.x + a.y, half - a.w);
        mine[1] = make_uint4(half, half + b.x, half + b.x + b.y, half + b.x + b.y + b.z);
        __syncwarp();
#pragma unroll
        for (int g = 0; g < 8; g += 2) {
            u32 w[8];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                w[4 * j] = sums[(g + j) * 32 + lane] + v[4 * (g + j)] + step;
#pragma unroll
                for (int t = 1; t < 4; t++) w[4 * j + t] = w[4 * j + t - 1] + v[4 * (g + j) + t] + step;
            }
            sink.pair(g, w);
        }
    }
    DEVICE u32 sum32(u32 s)
    {
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            u32 left = __shfl_up_sync(ALL, s, d);
            if (lane >= d) s += left;
        }
        return s;
    }
};
/* The same with scans over groups: fewer registers, which suits VSEncoding's kernels. Where the block spans less than
 * 65536 (LIST_SPAN16) two groups' sums share one word and one scan. */
template <class SINK, bool PACK> struct AscendingScan {
    SINK &sink;
    const Scan &scan;
    u32 carry, step;
    DEVICE AscendingScan(SINK &s, const Scan &scan_, const Entry &e, u32 step_) : sink(s), scan(scan_), carry(e.base), step(step_) {}
    DEVICE void pair(int g, const u32 *v)
    {
        u32 first = mad(step, 4, v[0] + v[1] + v[2] + v[3]), second = mad(step, 4, v[4] + v[5] + v[6] + v[7]), w[8];
        if (PACK) {
            u32 both = mad(second, 65536u, first), s = scan.sum(both), all = __shfl_sync(ALL, s, 31), x = s - both;
            w[0] = carry + (x & 0xffff) + v[0] + step;
            w[4] = carry + (all & 0xffff) + (x >> 16) + v[4] + step;
            carry += (all & 0xffff) + (all >> 16);
        } else {
            u32 s = scan.sum(first), s2 = scan.sum(second);
            w[0] = carry + s - first + v[0] + step;
            carry += __shfl_sync(ALL, s, 31);
            w[4] = carry + s2 - second + v[4] + step;
            carry += __shfl_sync(ALL, s2, 31);
        }
#pragma unroll
        for (int t = 1; t < 4; t++) {
            w[t] = w[t - 1] + v[t] + step;
            w[t + 4] = w[t + 3] + v[t + 4] + step;
        }
        sink.pair(g, w);
    }
};
/* Passes gaps or plain values on. */
template <class SINK> struct Plain {
    SINK &sink;
    DEVICE Plain(SINK &s, u32, const Entry &, u32, u32 *) : sink(s) {}
    DEVICE void pair(int g, const u32 *v) { sink.pair(g, v); }
    DEVICE void finish() {}
};

DEVICE void report(const ListArgs &a, u32 block, u32 lane, u32 code)
{
    if (lane == 0) a.fault[block] = (u8)code;
}

/* The block of this warp, or none. */
DEVICE bool my_block(const ListArgs &a, u32 *block)
{
    u32 k = blockIdx.x * LIST_WARPS + (threadIdx.x >> 5);
    if (k >= a.count) return false;
    *block = a.index ? __ldg(a.index + k) : a.first + k;
    return true;
}

/* Burst reads: the first CTAs of a segment of 2^burst CTAs prefetch the next segment's payload (about 2 MB)
 * into L2, so that the memory turns less often between reading and writing. Only for consecutive blocks. */
DEVICE void prefetch_segment(const ListArgs &a)
{
    u32 cta = blockIdx.x, in = cta & ((1u << a.burst) - 1), blocks = LIST_WARPS * a.walk;
    if (!a.burst || in >= LIST_BURST_CTAS || threadIdx.x >= 32) return;
    u32 next = ((cta >> a.burst) + 1 << a.burst) * blocks;
    if (next >= a.count) return;
    u32 stop = min(next + (blocks << a.burst), a.count - 1);
    u32 from = __ldg((const u32 *)a.dir + 4 * (size_t)(a.first + next));
    u32 bytes = (__ldg((const u32 *)a.dir + 4 * (size_t)(a.first + stop)) - from) * 16;
    u32 part = (bytes / (32 * LIST_BURST_CTAS) + 15) & ~15u, at = (in * 32 + threadIdx.x) * part;
    if (at + part > bytes) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0],%1;" ::"l"((const u8 *)a.area + (size_t)from * 16 + at), "r"(part)
                 : "memory");
}

/* ---- bulk copies into shared memory, completion on an mbarrier ---- */

DEVICE void barrier_init(u32 barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0],1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
}
DEVICE void bulk_copy(u32 to, const void *from, u32 bytes, u32 barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
DEVICE void barrier_wait(u32 barrier, u32 parity = 0)
{
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p,[%0],%1; @!p bra W;}" ::"r"(barrier), "r"(parity)
                 : "memory");
}

/* A warp takes a.walk blocks one after the other, and has the next payload copied into the other of its two buffers
 * (a.image bytes each, at `buffer`; one is enough for one block) while body(entry, block, payload) works on this one. Every
 * warp of the CTA calls it; setup() runs while the first copy is under way, in warps without blocks too. All entries are
 * fetched at once, a lane each, and made ready for copying. */
DEVICE u32 image_count(const ListArgs &a)
{
    return a.walk == 1 ? 1 : 2;
}
template <class SETUP, class BODY> DEVICE void walk_blocks(const ListArgs &a, u8 *buffer, SETUP setup, BODY body)
{
    __shared__ __align__(8) u64 barriers[LIST_WARPS][2];
    __shared__ uint4 entries[LIST_WARPS][LIST_WALK], copies[LIST_WARPS][LIST_WALK]; /* {number, base, low, high}, {from, bytes} */
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, barrier = shared_address(barriers[warp]), to = shared_address(buffer);
    u32 k = blockIdx.x * LIST_WARPS * a.walk + warp, end = min(a.count, k - warp + LIST_WARPS * a.walk);
    u32 j = k + lane * LIST_WARPS;
    if (lane < LIST_WALK && j < end) {
        u32 number = a.index ? __ldg(a.index + j) : a.first + j;
        Entry e = load_entry(a, number);
        u64 from = (u64)a.area + (u64)e.place * 16;
        copies[warp][lane] = make_uint4((u32)from, from >> 32, max(e.words() * 4 + 15 & ~15u, 16), 0);
        entries[warp][lane] = make_uint4(number, e.base, e.low, e.high);
    }
    if (lane < 2) barrier_init(barrier + 8 * lane);
    __syncwarp();
    auto fetch = [&](u32 t) {
        uint4 c = copies[warp][t];
        u32 slot = t & 1;
        if (lane == 0) bulk_copy(slot ? to + a.image : to, (const void *)((u64)c.y << 32 | c.x), c.z, barrier + 8 * slot);
    };
    if (k < end) fetch(0);
    setup();
    if (k >= end) return;
    for (u32 t = 0;; t++) {
        uint4 e = entries[warp][t];
        u32 slot = t & 1;
        k += LIST_WARPS;
        if (k < end) fetch(t + 1);
        barrier_wait(barrier + 8 * slot, t >> 1 & 1);
        body(Entry{0, e.y, e.z, e.w}, e.x, (const u32 *)(buffer + slot * a.image));
        if (k >= end) return;
        __syncwarp();
    }
}

#endif
