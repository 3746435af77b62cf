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

#endif
