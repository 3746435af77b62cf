/*
 * pfor_block.cuh: PForDelta (and raw and constant) blocks.
 *
 * A lane's four values of group g are 4 * width consecutive bits from bit (128 g + 4 lane) * width on. Their
 * words are loaded for all groups (widths above 16: half of them) before the first is used, so that about a
 * kilobyte a warp is in flight; the words of a lane are cut by funnel shifts whose counts are the same for
 * the whole warp. WORDS = words that four slots can touch: 2, 3, 4, 5 up to 8, 16, 24, 32 bits.
 *
 * Exceptions: entries are loaded right after the slots' loads are issued, scattered into a zeroed array of
 * 1024 words in shared memory and OR-ed in, 16 bytes a lane and group. The array (4 KB a warp) is only there when
 * the launch has exceptions.
 */
#ifndef KERNEL_PFOR_BLOCK_CUH
#define KERNEL_PFOR_BLOCK_CUH

#include "kernel/list.cuh"

struct Exceptions {
    u32 *high;           /* shared: high part of every value */
    const u32 *stream;
    u32 count, width, entry, mask, lane, n;
    u32 low_word[4], high_word[4]; /* the first four rounds, in flight */

    DEVICE void init(u32 *shared, const u32 *payload, const Entry &e, u32 lane_)
    {
        lane = lane_;
        n = e.n();
        high = shared;
        count = e.count();
        width = e.width();
        entry = 10 + e.exc_width();
        mask = ones(e.exc_width());
        stream = payload + (n * width + 31) / 32;
    }
    DEVICE void load()
    {
#pragma unroll
        for (int r = 0; r < 4; r++) {
            u32 i = r * 32 + lane;
            if (i < count) {
                const u32 *p = stream + (i * entry >> 5);
                low_word[r] = __ldg(p);
                high_word[r] = __ldg(p + 1);
            }
        }
#pragma unroll
        for (int g = 0; g < 8; g++) *(uint4 *)(high + g * 128 + lane * 4) = make_uint4(0, 0, 0, 0);
        __syncwarp();
    }
    /* Places one round's entries; before: the last position of the round before. */
    template <bool ROW> DEVICE bool place(u32 i, u32 low, u32 up, u32 *before)
    {
        u32 x = shift_right(low, up, i * entry), position = x & 1023, left = __shfl_up_sync(ALL, position, 1);
        bool live = i < count, bad = live && (position >= n || (int)position <= (int)(lane ? left : *before));
        u32 part = x >> 10 & mask;
        if (entry > 32 && live) { /* an entry over two words and more */
            const u32 *p = stream + (i * entry + 10 >> 5);
            part = shift_right(__ldg(p), __ldg(p + 1), i * entry + 10) & mask;
        }
        if (live) high[ROW ? position ^ (position >> 3 & 0x1c) : position] = part << width;
        *before = __shfl_sync(ALL, position, 31);
        return bad;
    }
    /* True: positions are damaged. ROW: laid out for lanes that own 32 consecutive values (list_pfor.cuh, fused). */
    template <bool ROW> DEVICE bool scatter()
    {
        u32 before = ALL;
        bool bad = false;
#pragma unroll
        for (int r = 0; r < 4; r++)
            if (r * 32 < count) bad |= place<ROW>(r * 32 + lane, low_word[r], high_word[r], &before);
        for (u32 r = 128; r < count; r += 32) {
            const u32 *p = stream + ((r + lane) * entry >> 5);
            u32 low = r + lane < count ? __ldg(p) : 0, up = r + lane < count ? __ldg(p + 1) : 0;
            bad |= place<ROW>(r + lane, low, up, &before);
        }
        __syncwarp();
        return __any_sync(ALL, bad);
    }
    /* Entries in shared memory; rows; a full block. The positions of the first rounds are kept for clear(). */
    DEVICE bool scatter_shared()
    {
        u32 before = ALL;
        bool bad = false;
        for (u32 r = 0; r < count; r += 32) {
            u32 i = r + lane, bit = i * entry;
            const u32 *p = stream + (bit >> 5);
            u32 x = i < count ? shift_right(p[0], p[1], bit) : 0, position = x & 1023, left = __shfl_up_sync(ALL, position, 1);
            u32 part = x >> 10 & mask, place = position ^ (position >> 3 & 0x1c);
            if (entry > 32 && i < count) part = shift_right(stream[bit + 10 >> 5], stream[(bit + 10 >> 5) + 1], bit + 10) & mask;
            bad |= i < count && (int)position <= (int)(lane ? left : before);
            if (i < count) high[place] = part << width;
            if (r == 0) low_word[0] = place;
            before = __shfl_sync(ALL, position, 31);
        }
        bad = __any_sync(ALL, bad);
        __syncwarp();
        return bad;
    }
    /* High parts as they are, 16 bits each, zeroed before. */
    DEVICE bool scatter16(u16 *high16)
    {
        u32 before = ALL;
        bool bad = false;
#pragma unroll
        for (int g = 0; g < 4; g++) *(uint4 *)(high16 + g * 256 + lane * 8) = make_uint4(0, 0, 0, 0);
        __syncwarp();
        for (u32 r = 0; r < count; r += 32) {
            u32 i = r + lane, bit = i * entry;
            const u32 *p = stream + (bit >> 5);
            u32 x = i < count ? shift_right(p[0], p[1], bit) : 0, position = x & 1023, left = __shfl_up_sync(ALL, position, 1);
            bad |= i < count && (int)position <= (int)(lane ? left : before);
            if (i < count) high16[position] = x >> 10 & mask;
            before = __shfl_sync(ALL, position, 31);
        }
        bad = __any_sync(ALL, bad);
        __syncwarp();
        return bad;
    }
    DEVICE void clear()
    {
        if (count <= 32) {
            if (lane < count) high[low_word[0]] = 0;
        } else {
#pragma unroll
            for (int g = 0; g < 8; g++) *(uint4 *)(high + g * 128 + lane * 4) = make_uint4(0, 0, 0, 0);
        }
        __syncwarp();
    }
    DEVICE void merge(int g, u32 *v)
    {
        uint4 h = *(const uint4 *)(high + g * 128 + lane * 4);
        v[0] |= h.x;
        v[1] |= h.y;
        v[2] |= h.z;
        v[3] |= h.w;
    }
};

/* Four slots from the words they lie in. */
template <int WORDS> DEVICE void cut4(const u32 *w, u32 bit, u32 b, u32 mask, u32 *v)
{
    u32 x = shift_right(w[0], w[1], bit);
    v[0] = x & mask;
    if (WORDS == 2) {
#pragma unroll
        for (int t = 1; t < 4; t++) v[t] = x >> (t * b) & mask;
    } else if (WORDS == 3) {
        u64 y = (u64)shift_right(w[1], w[2], bit) << 32 | x;
#pragma unroll
        for (int t = 1; t < 4; t++) v[t] = (u32)(y >> (t * b)) & mask;
    } else { /* b is 17..32 */
        u32 y = shift_right(w[1], w[2], bit), z = shift_right(w[2], w[3], bit);
        u32 u = WORDS == 5 ? shift_right(w[3], w[WORDS - 1], bit) : w[3] >> (bit & 31);
        v[1] = __funnelshift_rc(x, y, b) & mask;
        v[2] = __funnelshift_rc(y, z, 2 * b - 32) & mask;
        v[3] = (3 * b >= 64 ? __funnelshift_rc(z, u, 3 * b - 64) : __funnelshift_rc(y, z, 3 * b - 32)) & mask;
    }
}

template <int WORDS, bool EXC, class OUT> DEVICE bool pfor_groups(OUT &out, const u32 *payload, u32 b, u32 plus,
                                                                  Exceptions &e, u32 lane)
{
    constexpr int AHEAD = WORDS <= 3 ? 8 : 4; /* groups loaded at once */
    const u32 bit = 4 * lane * b, mask = ones(b), *p = payload + (bit >> 5);
#pragma unroll
    for (int from = 0; from < 8; from += AHEAD) {
        u32 w[AHEAD][WORDS];
#pragma unroll
        for (int g = 0; g < AHEAD; g++)
#pragma unroll
            for (int i = 0; i < WORDS; i++) w[g][i] = __ldg(p + (from + g) * 4 * b + i);
        if (EXC && from == 0) {
            e.load();
            if (e.scatter<false>()) return false;
        }
#pragma unroll
        for (int g = 0; g < AHEAD; g += 2) {
            u32 v[8];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                cut4<WORDS>(w[g + j], bit, b, mask, v + 4 * j);
                if (EXC) e.merge(from + g + j, v + 4 * j);
                if (WORDS == 2)
#pragma unroll
                    for (int t = 0; t < 4; t++) v[4 * j + t] |= plus;
            }
            out.pair(from + g, v);
        }
    }
    return true;
}

/* The same for a full block in shared memory, with high parts of up to 16 bits. */
template <int WORDS, bool EXC, class OUT> DEVICE void staged_groups(OUT &out, const u32 *slots, u32 b, u32 plus, const u16 *high, u32 lane)
{
    const u32 bit = 4 * lane * b, mask = ones(b), power = 1u << b, *p = slots + (bit >> 5);
#pragma unroll
    for (int g = 0; g < 8; g += 2) {
        u32 v[8];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            u32 w[WORDS];
#pragma unroll
            for (int i = 0; i < WORDS; i++) w[i] = p[(g + j) * 4 * b + i];
            cut4<WORDS>(w, bit, b, mask, v + 4 * j);
            if (EXC) {
                uint2 h = *(const uint2 *)(high + (g + j) * 128 + lane * 4);
                v[4 * j] = mad(h.x & 0xffff, power, v[4 * j]);
                v[4 * j + 1] = mad(h.x >> 16, power, v[4 * j + 1]);
                v[4 * j + 2] = mad(h.y & 0xffff, power, v[4 * j + 2]);
                v[4 * j + 3] = mad(h.y >> 16, power, v[4 * j + 3]);
            }
            if (WORDS == 2 && !EXC)
#pragma unroll
                for (int t = 0; t < 4; t++) v[4 * j + t] |= plus;
        }
        out.pair(g, v);
    }
}

/* Raw blocks are slots of 32 bits; constant ones slots of 0 bits with `plus` OR-ed in. */
template <bool EXC, class OUT> DEVICE bool pfor_block(OUT &out, const u32 *payload, const Entry &entry, u32 *shared, u32 lane)
{
    Exceptions e;
    u32 b = entry.scheme() == 0 ? 32 : entry.width(), plus = entry.scheme() == 1 ? __ldg(payload) : 0;
    if (EXC) e.init(shared, payload, entry, lane);
    if (b <= 8) return pfor_groups<2, EXC>(out, payload, b, plus, e, lane);
    if (b <= 16) return pfor_groups<3, EXC>(out, payload, b, plus, e, lane);
    if (b <= 24) return pfor_groups<4, EXC>(out, payload, b, plus, e, lane);
    return pfor_groups<5, EXC>(out, payload, b, plus, e, lane);
}

/* Decodes the block into the sink; GAPS: the sink gets values, not gaps. `shared`: 4 KB a warp, 16-byte aligned; 1 KB where
 * no block has exceptions, none if there are no gaps either. */
template <bool GAPS, class SINK> DEVICE void pfor_sink(const ListArgs &a, const Entry &e, u32 block, u32 lane, u32 *shared)
{
    const u32 *payload = (const u32 *)a.area + (size_t)e.place * 4;
    SINK sink;
    sink.init(a, block, lane, e);
    typename Choose<GAPS, Ascending<SINK>, Plain<SINK>>::type out(sink, lane, e, a.step, shared);
    bool good = e.count() ? pfor_block<true>(out, payload, e, shared, lane) : pfor_block<false>(out, payload, e, shared, lane);
    if (!good) return report(a, block, lane, 4);
    out.finish();
    sink.finish(a, block);
}
template <bool GAPS, class SINK> DEVICE void pfor_decode(const ListArgs &a, u32 block, u32 lane, u32 *shared)
{
    Entry e = load_entry(a, block);
    if (e.n() == 1024)
        pfor_sink<GAPS, typename SINK::template type<true>>(a, e, block, lane, shared);
    else
        pfor_sink<GAPS, typename SINK::template type<false>>(a, e, block, lane, shared);
}

#endif
