/*
 * list_vse.cuh: VSEncoding blocks.
 *
 * One bulk copy brings signatures and slots into shared memory. A scan over the signatures gives every
 * bunch its first value and first bit; they leave
 *     starts   one bit a value: a bunch begins here
 *     record   per bunch {bit address that value 0 would have, widths of this and the next three bunches}
 * A lane's four consecutive values then need one popcount (which bunch), one record and one byte permute
 * (the four widths, by how many bunches begin among the four) whatever bunches they lie in. With widths up to
 * 16 all four lie in one 64-bit window of three words; wider ones are read slot by slot.
 *
 * Records keep bit address - first value * width, biased by BIAS so that it is not negative; an address in
 * shared memory times 8 fits 21 bits.
 *
 * Checks before any slot is read: bunch lengths add up to n, with no bunch beginning past 1024 (so that the
 * sum did not wrap), and the slots' bits fit the payload.
 */
#include "kernel/list.cuh"

#define BIAS 32768u

struct Bunches {
    uint2 rank[32]; /* per 32 values: bits where bunches begin, address of the last record before */
    u32 starts[32];
    u32 pad[4];
};

__constant__ u8 LENGTH[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 32, 64};
__constant__ u8 WIDTH[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 32};

/* Widths of four signatures, a byte each: codes 13, 14, 15 mean 16, 20, 32. */
template <bool WIDE> DEVICE u32 widths4(u32 signatures)
{
    u32 x = signatures >> 4 & 0x0f0f0f0fu, w = x + 3 * (x + 0x03030303u >> 4 & 0x01010101u);
    if (WIDE) w += 3 * (x + 0x02020202u >> 4 & 0x01010101u) + 11 * (x + 0x01010101u >> 4 & 0x01010101u);
    return w;
}

/* The table of length * width << 11 | length, built by the CTA (256 threads). */
DEVICE void build_table(u32 *table)
{
    u32 s = threadIdx.x, l = LENGTH[s & 15];
    table[s] = l * WIDTH[s >> 4] << 11 | l;
}

/* Scans the signatures; false if they are damaged. Record i is at `record` + 8 i. */
template <bool WIDE> DEVICE bool scan_signatures(Bunches &s, uint2 *record, const u32 *table, const u32 *image,
                                                 const Entry &e, const Scan &scan, u32 lane)
{
    u32 m = e.count(), bias = shared_address(image) * 8 + 8 * m + BIAS, carry = 0, late = 0;
    u8 *starts = (u8 *)s.starts;
    for (u32 r = 0; r < m;) {
        if (m - r > 32) {
            u32 i = r + lane * 4, q = 0, next = 0, t4[4], y[4];
            if (i < m) q = image[i / 4], next = image[i / 4 + 1];
#pragma unroll
            for (int t = 0; t < 4; t++) t4[t] = i + t < m ? table[__byte_perm(q, 0, 0x4440 + t)] : 0;
            u32 w = widths4<WIDE>(q), w2 = widths4<WIDE>(next), total = t4[0] + t4[1] + t4[2] + t4[3];
            u32 s4 = scan.sum(total), x = carry + s4 - total;
            carry += __shfl_sync(ALL, s4, 31);
#pragma unroll
            for (int t = 0; t < 4; t++) {
                y[t] = mad(__byte_perm(w, 0, 0x4440 + t), ~x & 0x7ff, (x >> 11) + bias);
                if (i + t < m) {
                    late |= x;
                    atomicOr((u32 *)(starts + (x >> 3 & 0x7c)), __funnelshift_l(0u, 1u, x));
                }
                x += t4[t];
            }
            if (i < m) {
                *(uint4 *)(record + i) = make_uint4(y[0], w, y[1], shift_right(w, w2, 8));
                *(uint4 *)(record + i + 2) = make_uint4(y[2], shift_right(w, w2, 16), y[3], shift_right(w, w2, 24));
            }
            r += 128;
        } else { /* the last few: one signature a lane */
            u32 i = r + lane, q = shift_right(image[i / 4], image[i / 4 + 1], (i & 3) * 8), t = i < m ? table[q & 255] : 0;
            u32 w = widths4<WIDE>(q), s1 = scan.sum(t), x = carry + s1 - t;
            carry += __shfl_sync(ALL, s1, 31);
            if (i < m) {
                record[i] = make_uint2(mad(w & 0xff, ~x & 0x7ff, (x >> 11) + bias), w);
                late |= x;
                atomicOr((u32 *)(starts + (x >> 3 & 0x7c)), __funnelshift_l(0u, 1u, x));
            }
            r += 32;
        }
    }
    return !__any_sync(ALL, late & 1024) && (carry & 0x7ff) == e.n() && (carry >> 11) + 8 * m <= 32 * e.words();
}

/* rank[i]: the record of value v of the 32 is rank.y + 8 * (bunches beginning at or before v). */
DEVICE void rank_starts(Bunches &s, const uint2 *record, const Scan &scan, u32 lane)
{
    __syncwarp();
    u32 w = s.starts[lane], n = __popc(w), before = scan.sum(n) - n;
    s.rank[lane] = make_uint2(w, shared_address(record) + before * 8 - 8);
    __syncwarp();
}

DEVICE u32 shift_left_high(u32 low, u32 high, u32 s) /* upper word of high:low << s, s mod 64 */
{
    u32 r;
    asm("{.reg .b64 x; .reg .b32 d; mov.b64 x,{%1,%2}; shl.b64 x,x,%3; mov.b64 {d,%0},x;}" : "=r"(r) : "r"(low), "r"(high), "r"(s));
    return r;
}

/* The lane's four values of group g. */
template <bool WIDE> DEVICE void cut_bunches(const Bunches &s, int g, u32 lane, u32 shift, u32 until, u32 eight, u32 *v)
{
    uint2 q = s.rank[4 * g + (lane >> 3)], r = shared_pair(mad(__popc(q.x & until), eight, q.y));
    /* byte t of the selector: bunches beginning after value 0 and up to value t */
    u32 select = ((q.x >> shift & 0xe) * 0x248 & 0x1110) * 0x111, w = permute_bytes(r.y, select), w0 = r.y & 0xff;
    u32 bit = mad(w0, lane * 4 - 2047, mad(w0, g * 128, r.x));
    if (!WIDE) {
        u32 at = bit >> 3 & 0x7ffffc, a = shared_word<-4096>(at), b = shared_word<-4092>(at), c = shared_word<-4088>(at);
        u32 low = shift_right(a, b, bit), high = shift_right(b, c, bit), left = mad(w, 0xfefefeffu, 0x40404040u);
        v[0] = low & ones(w0);
#pragma unroll
        for (int t = 1; t < 4; t++) /* the slot's end to the top of 64 bits, then its width down */
            v[t] = __funnelshift_lc(shift_left_high(low, high, __byte_perm(left, 0, 0x4440 + t)), 0u, __byte_perm(w, 0, 0x4440 + t));
    } else {
#pragma unroll
        for (int t = 0; t < 4; t++) {
            u32 wt = __byte_perm(w, 0, 0x4440 + t), at = bit >> 3 & 0x7ffffc;
            v[t] = shift_right(shared_word<-4096>(at), shared_word<-4092>(at), bit) & ones(wt);
            bit += wt;
        }
    }
}

template <bool WIDE, class OUT> DEVICE void vse_groups(OUT &out, const Bunches &s, u32 lane)
{
    u32 shift = (lane & 7) * 4, until = 2u * (1u << shift) - 1, eight = 8;
    asm volatile("" : "+r"(eight));
#pragma unroll
    for (int g = 0; g < 8; g += 2) {
        u32 v[8];
        cut_bunches<WIDE>(s, g, lane, shift, until, eight, v);
        cut_bunches<WIDE>(s, g + 1, lane, shift, until, eight, v + 4);
        out.pair(g, v);
    }
}

/* Decodes the block into the sink. Every warp of the CTA calls it (`live`: it has a block). Shared memory: a.pool
 * bytes a warp: Bunches, the payload's image (a.image), the records. */
template <bool WIDE, bool GAPS, class SINK> DEVICE void vse_decode(const ListArgs &a, bool live, u32 block, u8 *shared, SINK &sink)
{
    __shared__ u32 table[256];
    __shared__ __align__(8) u64 barriers[LIST_WARPS];
    u32 warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    u8 *mine = shared + warp * a.pool, *image = mine + sizeof(Bunches);
    Bunches &s = *(Bunches *)mine;
    uint2 *record = (uint2 *)(image + a.image);
    u32 barrier = shared_address(barriers + warp);
    Entry e = {0, 0, 0, 0};
    if (live) e = load_entry(a, block);
    if (live && lane == 0) {
        barrier_init(barrier);
        bulk_copy(shared_address(image), (const u8 *)a.area + (size_t)e.place * 16, (e.words() * 4 + 15 & ~15u) + 16, barrier);
    }
    build_table(table);
    s.starts[lane] = 0;
    __syncthreads();
    if (!live) return;
    Scan scan;
    scan.init(lane);
    barrier_wait(barrier);
    if (!scan_signatures<WIDE>(s, record, table, (const u32 *)image, e, scan, lane)) {
        report(a, block, lane, 3);
        return;
    }
    rank_starts(s, record, scan, lane);
    sink.init(a, block, lane, e);
    if (GAPS && e.span16()) {
        Ascending<SINK, true> out(sink, lane, e, a.step);
        vse_groups<WIDE>(out, s, lane);
    } else if (GAPS) {
        Ascending<SINK, false> out(sink, lane, e, a.step);
        vse_groups<WIDE>(out, s, lane);
    } else {
        Plain<SINK> out(sink, lane, e, a.step);
        vse_groups<WIDE>(out, s, lane);
    }
    sink.finish(a, block);
}

#define VSE_KERNEL(name, WIDE, GAPS, SINK, CTAS)                                                                       \
    extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32, CTAS) name(const ListArgs a)                         \
    {                                                                                                                  \
        extern __shared__ __align__(16) u8 shared[];                                                                   \
        u32 block = 0;                                                                                                 \
        prefetch_segment(a);                                                                                           \
        bool live = my_block(a, &block);                                                                               \
        SINK sink;                                                                                                     \
        vse_decode<WIDE, GAPS>(a, live, block, shared, sink);                                                          \
    }

VSE_KERNEL(list_vse_store, false, false, Store, 5)
VSE_KERNEL(list_vse_ascend, false, true, Store, 5)
VSE_KERNEL(list_vse_sum, false, false, Fold<OpSum>, 5)
VSE_KERNEL(list_vse_count, false, true, Fold<OpAtMost>, 5)
VSE_KERNEL(list_vse_wide_store, true, false, Store, 5)
VSE_KERNEL(list_vse_wide_ascend, true, true, Store, 5)
VSE_KERNEL(list_vse_wide_sum, true, false, Fold<OpSum>, 5)
VSE_KERNEL(list_vse_wide_count, true, true, Fold<OpAtMost>, 5)

/* The seed's VS: Algorithm 8 (PPSum) over n_i and n_i * s_i, then Algorithm 9 (ExtractBunch) for one bunch after the
 * other, as Algorithm 10 has it. Kept to be measured against. */
extern "C" __global__ void __launch_bounds__(LIST_WARPS * 32) list_vse_seed(const ListArgs a)
{
    __shared__ u32 table[256], sums[LIST_WARPS][512];
    u32 block = 0, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, carry = 0;
    build_table(table);
    __syncthreads();
    if (!my_block(a, &block)) return;
    Entry e = load_entry(a, block);
    const u8 *signature = (const u8 *)a.area + (size_t)e.place * 16;
    const u32 *payload = (const u32 *)signature;
    u32 m = e.count(), *out = a.out + (size_t)block * 1024;
    for (u32 r = 0; r < m; r += 32) {
        u32 x = r + lane < m ? table[signature[r + lane]] : 0, sum = x;
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
        u32 w = WIDTH[signature[i] >> 4], n = LENGTH[signature[i] & 15], x = sums[warp][i];
        for (u32 c = lane; c < n; c += 32) {
            u32 bit = 8 * m + (x >> 11) + c * w, at = (x & 0x7ff) + c;
            if (at < 1024) out[at] = shift_right(__ldg(payload + (bit >> 5)), __ldg(payload + (bit >> 5) + 1), bit) & ones(w);
        }
    }
}
