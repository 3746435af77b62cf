/*
 * vse_block.cuh: VSEncoding blocks.
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
#ifndef KERNEL_VSE_BLOCK_CUH
#define KERNEL_VSE_BLOCK_CUH

#include "kernel/list.cuh"

#define BIAS 32768u

struct Bunches { /* at a multiple of 128 bytes */
    u32 starts[32];
    uint2 rank[32]; /* per 32 values: bits where bunches begin, address of the last record before */
};

/* By signature: width << 26 | length * width << 11 | length. */
#define SIGNATURE(l, w) (u32)(w) << 26 | (l) * (w) << 11 | (l)
#define WIDTH_ROW(w)                                                                                                   \
    SIGNATURE(1, w), SIGNATURE(2, w), SIGNATURE(3, w), SIGNATURE(4, w), SIGNATURE(5, w), SIGNATURE(6, w),              \
        SIGNATURE(7, w), SIGNATURE(8, w), SIGNATURE(9, w), SIGNATURE(10, w), SIGNATURE(11, w), SIGNATURE(12, w),       \
        SIGNATURE(14, w), SIGNATURE(16, w), SIGNATURE(32, w), SIGNATURE(64, w)
__device__ const u32 SIGNATURES[256] = {WIDTH_ROW(0),  WIDTH_ROW(1),  WIDTH_ROW(2),  WIDTH_ROW(3), WIDTH_ROW(4),  WIDTH_ROW(5),
                                        WIDTH_ROW(6),  WIDTH_ROW(7),  WIDTH_ROW(8),  WIDTH_ROW(9), WIDTH_ROW(10), WIDTH_ROW(11),
                                        WIDTH_ROW(12), WIDTH_ROW(16), WIDTH_ROW(20), WIDTH_ROW(32)};

/* Widths of four signatures, a byte each: codes 13, 14, 15 mean 16, 20, 32. */
template <bool WIDE> DEVICE u32 widths4(u32 signatures)
{
    u32 x = signatures >> 4 & 0x0f0f0f0fu, w = x + 3 * (x + 0x03030303u >> 4 & 0x01010101u);
    if (WIDE) w += 3 * (x + 0x02020202u >> 4 & 0x01010101u) + 11 * (x + 0x01010101u >> 4 & 0x01010101u);
    return w;
}

/* Marks a bunch's start and returns its record's address word. x: bits before it << 11 | values before it. */
DEVICE u32 start_bunch(u32 starts, u32 x, u32 width)
{
    asm volatile("red.shared.or.b32 [%0],%1;" ::"r"(x >> 3 & 0x7c | starts), "r"(__funnelshift_l(0u, 1u, x)) : "memory");
    return mad(width, ~x & 0x7ff, x >> 11);
}

/* 128 signatures, four a lane; FULL: all of them exist. */
template <bool WIDE, bool FULL> DEVICE void scan_round(u32 starts, uint2 *record, const u32 *table, const u32 *image, u32 r, u32 m,
                                                       const Scan &scan, u32 lane, u32 *carry, u32 *late)
{
    u32 i = r + lane * 4, q = 0, next = 0, t4[4], y[4];
    if (FULL || i < m) q = image[i / 4], next = image[i / 4 + 1];
#pragma unroll
    for (int t = 0; t < 4; t++) t4[t] = FULL || i + t < m ? table[__byte_perm(q, 0, 0x4440 + t)] : 0;
    u32 w = widths4<WIDE>(q), w2 = widths4<WIDE>(next), total = t4[0] + t4[1] + t4[2] + t4[3];
    u32 sum = scan.sum(total), x = *carry + sum - total;
    *carry += __shfl_sync(ALL, sum, 31);
    if (FULL || i < m) *late |= x; /* one of four will do: a start past 1024 cannot be jumped over by 256 values */
#pragma unroll
    for (int t = 0; t < 4; t++) {
        if (FULL || i + t < m) y[t] = start_bunch(starts, x, __byte_perm(w, 0, 0x4440 + t));
        x += t4[t];
    }
    if (FULL || i < m) {
        *(uint4 *)(record + i) = make_uint4(y[0], w, y[1], shift_right(w, w2, 8));
        *(uint4 *)(record + i + 2) = make_uint4(y[2], shift_right(w, w2, 16), y[3], shift_right(w, w2, 24));
    }
}

/* The last signatures, K a lane: r..m-1, at most 32 K. Cheaper than a round of 128 for fewer. */
template <bool WIDE, int K> DEVICE void scan_rest(u32 starts, uint2 *record, const u32 *table, const u32 *image, u32 r, u32 m,
                                                  const Scan &scan, u32 lane, u32 *carry, u32 *late)
{
    u32 i = r + lane * K, s = (i & 3) * 8, q = 0, next = 0, t4[K], total = 0;
    if (i < m) {
        q = shift_right(image[i / 4], image[i / 4 + 1], s);
        if (K > 1) next = shift_right(image[i / 4 + 1], image[i / 4 + 2], s);
    }
#pragma unroll
    for (int t = 0; t < K; t++) {
        t4[t] = i + t < m ? table[__byte_perm(q, 0, 0x4440 + t)] : 0;
        total += t4[t];
    }
    u32 w = widths4<WIDE>(q), w2 = K > 1 ? widths4<WIDE>(next) : 0, sum = scan.sum(total), x = *carry + sum - total;
    *carry += __shfl_sync(ALL, sum, 31);
    if (i < m) *late |= x;
#pragma unroll
    for (int t = 0; t < K; t++) {
        if (i + t < m)
            record[i + t] = make_uint2(start_bunch(starts, x, __byte_perm(w, 0, 0x4440 + t)), t ? shift_right(w, w2, 8 * t) : w);
        x += t4[t];
    }
}

/* Scans the signatures; false if they are damaged. Record i is at `record` + 8 i. */
template <bool WIDE> DEVICE bool scan_signatures(Bunches &s, uint2 *record, const u32 *table, const u32 *image, const Entry &e,
                                                 const Scan &scan, u32 lane)
{
    u32 starts = shared_address(s.starts), m = e.count(), begin = shared_address(image) * 8 + 8 * m + BIAS << 11, carry = begin, late = 0, r = 0;
    for (; m - r >= 128; r += 128) scan_round<WIDE, true>(starts, record, table, image, r, m, scan, lane, &carry, &late);
    if (m - r > 96)
        scan_round<WIDE, false>(starts, record, table, image, r, m, scan, lane, &carry, &late);
    else if (m - r > 64)
        scan_rest<WIDE, 3>(starts, record, table, image, r, m, scan, lane, &carry, &late);
    else if (m - r > 32)
        scan_rest<WIDE, 2>(starts, record, table, image, r, m, scan, lane, &carry, &late);
    else if (m > r)
        scan_rest<WIDE, 1>(starts, record, table, image, r, m, scan, lane, &carry, &late);
    carry -= begin;
    bool bad = (late & 1024) != 0 | (carry & 0x7ff) != e.n() | (carry >> 11) + 8 * m > 32 * e.words();
    return !__any_sync(ALL, bad);
}

/* rank[i]: the record of value v of the 32 is rank.y + 8 * (bunches beginning at or before v). */
DEVICE void rank_starts(Bunches &s, const uint2 *record, const Scan &scan, u32 lane)
{
    __syncwarp();
    u32 w = s.starts[lane], n = __popc(w), before = scan.sum(n) - n;
    s.rank[lane] = make_uint2(w, shared_address(record) + before * 8 - 8);
    __syncwarp();
}

/* Four slots of up to 16 bits, whose widths are the bytes of w, from a biased bit address on. Shifts and extensions take
 * their counts modulo 32, so that a width needs not be cut out of its byte. */
DEVICE void cut_window(u32 w, u32 bit, u32 *v)
{
    u32 at = bit >> 3 & 0x7ffffc, a = shared_word<-4096>(at), b = shared_word<-4092>(at), c = shared_word<-4088>(at);
    u32 low = shift_right(a, b, bit), high = shift_right(b, c, bit);
    u32 w1 = w >> 8, w2 = w >> 16, w3 = w >> 24;
    v[0] = low_bits(low, w);
    low = shift_right(low, high, w), high = shift_right(high, 0, w);
    v[1] = low_bits(low, w1);
    low = shift_right(low, high, w1);
    v[2] = low_bits(low, w2);
    v[3] = low_bits(shift_right(low, 0, w2), w3);
}

/* Four wider slots: two to a 64-bit window. */
DEVICE void cut_windows(u32 w, u32 bit, u32 *v)
{
#pragma unroll
    for (int t = 0; t < 4; t += 2) {
        u32 at = bit >> 3 & 0x7ffffc, a = shared_word<-4096>(at), b = shared_word<-4092>(at), c = shared_word<-4088>(at);
        u32 low = shift_right(a, b, bit), high = shift_right(b, c, bit);
        u32 first = __byte_perm(w, 0, 0x4440 + t), second = __byte_perm(w, 0, 0x4441 + t);
        v[t] = lowest_bits(low, first);
        v[t + 1] = lowest_bits(__funnelshift_rc(low, high, first), second);
        bit += first + second;
    }
}

/* Behind the 256 signatures of a CTA's table lie 8 selectors: how a record's widths fall to four values, by which of
 * values 1..3 begin a bunch. Byte t of the result is the width number "bunches begun after value 0 and up to value t". */
enum { TABLE = 256 + 8 };
DEVICE u32 table_entry(u32 i, u32 signature)
{
    return i < 256 ? signature & 0x3ffffff : ((i - 256) * 2 * 0x248 & 0x1110) * 0x111;
}
/* `starts` rotated so that values 1..3 of the lane's four are bits 2..4. */
DEVICE u32 widths_of(u32 record_widths, const u32 *table, u32 rotated)
{
    return permute_bytes(record_widths, shared_word<1024>(shared_address(table) + (rotated & 0x1c)));
}

/* The biased bit address of value `index` of the block, by its bunch's record: x + (index - 2047) * the lowest byte of the
 * widths, as a product of 16 bits by 8. */
DEVICE u32 bit_of(uint2 record, u32 index)
{
    u32 bit;
    asm("dp2a.lo.s32.u32 %0,%1,%2,%3;" : "=r"(bit) : "r"(index + (65536 - 2047)), "r"(record.y), "r"(record.x));
    return bit;
}

/* The lane's four values of group g. */
template <bool WIDE, bool LOOKUP> DEVICE void cut_bunches(const Bunches &s, const u32 *table, int g, u32 lane, u32 shift, u32 until, u32 eight, u32 *v)
{
    uint2 q = s.rank[4 * g + (lane >> 3)], r = shared_pair(mad(__popc(q.x & until), eight, q.y));
    u32 w, bit = bit_of(r, g * 128 + lane * 4); /* w: the same by a load or by arithmetic, as the kernel has pipes to spare */
    if (LOOKUP)
        w = widths_of(r.y, table, shift_right(q.x, q.x, shift - 1));
    else
        w = permute_bytes(r.y, ((q.x >> shift & 0xe) * 0x248 & 0x1110) * 0x111);
    if (WIDE)
        cut_windows(w, bit, v);
    else
        cut_window(w, bit, v);
}

template <bool WIDE, bool LOOKUP, class OUT> DEVICE void vse_groups(OUT &out, const Bunches &s, const u32 *table, u32 lane)
{
    u32 shift = (lane & 7) * 4, until = 2u * (1u << shift) - 1, eight = 8;
    asm volatile("" : "+r"(eight));
#pragma unroll
    for (int g = 0; g < 8; g += 2) {
        u32 v[8];
        cut_bunches<WIDE, LOOKUP>(s, table, g, lane, shift, until, eight, v);
        cut_bunches<WIDE, LOOKUP>(s, table, g + 1, lane, shift, until, eight, v + 4);
        out.pair(g, v);
    }
}

/* What a warp works with. Shared memory, a.pool bytes a warp: Bunches, images of payloads (walk_blocks), the records. */
struct VseWarp {
    u32 lane;
    Scan scan;
    Bunches *bunches;
    uint2 *record;
    const u32 *table;
};

/* Every warp of the CTA calls it: body(warp, entry, block) for each block whose signatures are sound; others are
 * reported. */
template <bool WIDE, class BODY> DEVICE void vse_walk(const ListArgs &a, u8 *shared, BODY body)
{
    __shared__ u32 table[TABLE];
    u32 lane = threadIdx.x & 31;
    u8 *mine = shared + (threadIdx.x >> 5) * a.pool;
    VseWarp w = {lane, {}, (Bunches *)mine, (uint2 *)(mine + sizeof(Bunches) + image_count(a) * a.image), table};
    u32 signature = __ldg(SIGNATURES + threadIdx.x); /* 256 threads */
    auto setup = [&] {
        table[threadIdx.x] = table_entry(threadIdx.x, signature);
        if (threadIdx.x < TABLE - 256) table[256 + threadIdx.x] = table_entry(256 + threadIdx.x, 0);
        w.scan.init(lane);
        __syncthreads();
    };
    walk_blocks(a, mine + sizeof(Bunches), setup, [&](const Entry &e, u32 block, const u32 *image) {
        w.bunches->starts[lane] = 0;
        __syncwarp();
        bool good = scan_signatures<WIDE>(*w.bunches, w.record, w.table, image, e, w.scan, lane);
        __syncwarp();
        if (good)
            body(w, e, block);
        else
            report(a, block, lane, 3);
    });
}

/* The same for one block a warp (a.walk is 1), begun with fewer steps: wide slots with d-gaps, whose registers are short,
 * gain 4 %. */
template <bool WIDE, class BODY> DEVICE void vse_one(const ListArgs &a, u8 *shared, BODY body)
{
    __shared__ u32 table[TABLE];
    __shared__ __align__(8) u64 barriers[LIST_WARPS];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, barrier = shared_address(barriers + warp), block = 0;
    u8 *mine = shared + warp * a.pool, *image = mine + sizeof(Bunches);
    VseWarp w = {lane, {}, (Bunches *)mine, (uint2 *)(image + a.image), table};
    Entry e = {};
    u32 signature = __ldg(SIGNATURES + threadIdx.x); /* before the entry, whose latency hides it */
    bool live = my_block(a, &block);
    if (live) e = load_entry(a, block);
    if (live && lane == 0) {
        barrier_init(barrier);
        bulk_copy(shared_address(image), (const u8 *)a.area + (size_t)e.place * 16, max(e.words() * 4 + 15 & ~15u, 16), barrier);
    }
    table[threadIdx.x] = table_entry(threadIdx.x, signature);
    if (threadIdx.x < TABLE - 256) table[256 + threadIdx.x] = table_entry(256 + threadIdx.x, 0);
    w.bunches->starts[lane] = 0;
    __syncthreads();
    if (!live) return;
    w.scan.init(lane);
    barrier_wait(barrier);
    bool good = scan_signatures<WIDE>(*w.bunches, w.record, table, (const u32 *)image, e, w.scan, lane);
    __syncwarp();
    if (good)
        body(w, e, block);
    else
        report(a, block, lane, 3);
}

/* Cuts a scanned block's slots into the sink. */
template <bool WIDE, bool GAPS, class SINK> DEVICE void vse_sink(const ListArgs &a, const VseWarp &w, const Entry &e, u32 block)
{
    SINK sink;
    sink.init(a, block, w.lane, e);
    if (!GAPS) {
        Plain<SINK> out(sink, w.lane, e, a.step, 0);
        vse_groups<WIDE, SINK::fused>(out, *w.bunches, w.table, w.lane);
    } else if (!WIDE && e.span16()) {
        AscendingScan<SINK, true> out(sink, w.scan, e, a.step);
        vse_groups<WIDE, SINK::fused>(out, *w.bunches, w.table, w.lane);
    } else {
        AscendingScan<SINK, false> out(sink, w.scan, e, a.step);
        vse_groups<WIDE, SINK::fused>(out, *w.bunches, w.table, w.lane);
    }
    sink.finish(a, block);
}

/* ONE: a block a warp. */
template <bool WIDE, bool GAPS, class SINK, bool ONE> DEVICE void vse_decode(const ListArgs &a, u8 *shared)
{
    auto body = [&](const VseWarp &w, const Entry &e, u32 block) {
        rank_starts(*w.bunches, w.record, w.scan, w.lane);
        if (e.n() == 1024)
            vse_sink<WIDE, GAPS, typename SINK::template type<true>>(a, w, e, block);
        else
            vse_sink<WIDE, GAPS, typename SINK::template type<false>>(a, w, e, block);
    };
    if (ONE)
        vse_one<WIDE>(a, shared, body);
    else
        vse_walk<WIDE>(a, shared, body);
}

#endif
