/*
 * list_ops.cuh: AND, OR, NOT and top-k over compressed lists, many queries a launch.
 *
 * A warp takes one task: a block of a query's shortest list (AND) or of any of its lists (OR, NOT, top-k). It decodes
 * blocks into its own shared memory. AND filters the block's values through the other lists: a 32-ary search in the
 * directory finds the block that can hold the next candidate (its base is the skip entry), so blocks without candidates
 * are never touched. Results are bits in one bitmap a query, or scores in one array a query; bitmaps are counted and
 * extracted, scores selected by radix, one CTA a query.
 */
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

struct WarpSpace {
    Bunches bunches;
    u32 values[1024], others[1024];
    u8 keep[1024];
    u8 work[16]; /* a.pool bytes: payload and records, or exceptions */
};

DEVICE WarpSpace &my_space(u8 *shared, u32 pool)
{
    return *(WarpSpace *)(shared + (threadIdx.x >> 5) * (sizeof(WarpSpace) - 16 + pool));
}

/* Decodes a block into out (shared, 1024 words); 0 values if it is damaged. All 32 lanes. */
template <bool GAPS> DEVICE u32 decode_here(const ListArgs &a, u32 image_bytes, u32 block, WarpSpace &s, const u32 *table, u32 *out)
{
    u32 lane = threadIdx.x & 31, *work = (u32 *)s.work;
    Entry e = load_entry(a, block);
    const u32 *payload = (const u32 *)a.area + (size_t)e.place * 4;
    SharedStore sink = {out, lane};
    typename Choose<GAPS, Ascending<SharedStore>, Plain<SharedStore>>::type to(sink, lane, e, a.step, work);
    bool good;
    __syncwarp();
    if (e.scheme() == 3) {
        Scan scan;
        uint2 *record = (uint2 *)(s.work + image_bytes);
        for (u32 i = lane; i <= (e.words() + 3) / 4; i += 32) ((uint4 *)work)[i] = __ldg((const uint4 *)payload + i);
        s.bunches.starts[lane] = 0;
        scan.init(lane);
        __syncwarp();
        good = scan_signatures<true>(s.bunches, record, table, work, e, scan, lane);
        if (good) {
            rank_starts(s.bunches, record, scan, lane);
            vse_groups<true, false>(to, s.bunches, table, lane);
        }
    } else {
        good = e.count() ? pfor_block<true>(to, payload, e, work, lane) : pfor_block<false>(to, payload, e, work, lane);
    }
    if (good) to.finish();
    __syncwarp();
    if (!good) report(a, block, lane, e.scheme() == 3 ? 3 : 4);
    return good ? e.n() : 0;
}

DEVICE void load_table(u32 *table)
{
    for (u32 i = threadIdx.x; i < TABLE; i += blockDim.x) table[i] = table_entry(i, i < 256 ? SIGNATURES[i] : 0);
    __syncthreads();
}

DEVICE u32 base_of(const ListArgs &a, u32 block)
{
    return __ldg((const u32 *)a.dir + 4 * (size_t)block + 1);
}

/* The last block of from..to-1 whose values can include x: all before it end below x. 32 probes a step. */
DEVICE u32 find_block(const ListArgs &a, u32 from, u32 to, u32 x)
{
    u32 lane = threadIdx.x & 31;
    while (to - from > 1) {
        u32 step = (to - from + 31) / 32, probe = from + lane * step;
        bool begins = probe < to && base_of(a, probe) + 1 <= x; /* the first block's base is -1 */
        u32 n = __popc(__ballot_sync(ALL, begins));
        from += (n == 0 ? 0 : n - 1) * step;
        to = min(to, from + step);
    }
    return from;
}

/* Keeps the n candidates that the list has (or has not); returns how many. */
DEVICE u32 filter(const ListOpsArgs &a, u32 list, u32 n, WarpSpace &s, const u32 *table)
{
    u32 lane = threadIdx.x & 31, begin = __ldg(a.first + (list & ~LIST_WITHOUT)), end = __ldg(a.first + (list & ~LIST_WITHOUT) + 1);
    bool without = list & LIST_WITHOUT;
    u32 block = begin, kept = 0;
    for (u32 i = 0; i < n;) {
        u32 m = 0, stop = n;
        if (begin < end) {
            block = find_block(a.docs, block, end, s.values[i]);
            if (block + 1 < end) { /* candidates up to the block's last value */
                u32 last = base_of(a.docs, block + 1);
                for (stop = i; stop < n; stop += 32) {
                    u32 in = __ballot_sync(ALL, stop + lane < n && s.values[stop + lane] <= last);
                    if (in != ALL) {
                        stop += __popc(in);
                        break;
                    }
                }
            }
            m = decode_here<true>(a.docs, a.image, block, s, table, s.others);
            if (stop == i) stop = i + 1; /* a damaged directory only */
        }
        for (u32 c = i + lane; c < stop; c += 32) {
            u32 x = s.values[c], low = 0;
            for (u32 size = m; size > 0; size /= 2) { /* lower bound */
                u32 middle = low + size / 2;
                if (s.others[middle] < x) low = middle + 1, size--;
            }
            s.keep[c] = (low < m && s.others[low] == x) != without;
        }
        i = stop;
        __syncwarp();
    }
    for (u32 c = 0; c < n; c += 32) {
        bool keep = c + lane < n && s.keep[c + lane];
        u32 x = c + lane < n ? s.values[c + lane] : 0, mask = __ballot_sync(ALL, keep);
        if (keep) s.values[kept + __popc(mask & (1u << lane) - 1)] = x;
        kept += __popc(mask);
        __syncwarp();
    }
    return kept;
}

extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_and(const ListOpsArgs a)
{
    extern __shared__ __align__(16) u8 shared[];
    __shared__ u32 table[TABLE];
    u32 k = blockIdx.x * LIST_OPS_WARPS + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    load_table(table);
    if (k >= a.tasks) return;
    WarpSpace &s = my_space(shared, a.pool);
    ListTask task = a.task[k];
    u32 n = decode_here<true>(a.docs, a.image, task.block, s, table, s.values);
    for (u32 i = __ldg(a.begin + task.query); n > 0 && i < __ldg(a.begin + task.query + 1); i++) {
        u32 list = __ldg(a.lists + i);
        if (list != task.list) n = filter(a, list, n, s, table);
    }
    u32 *bits = a.bits + (size_t)task.query * a.words;
    for (u32 i = lane; i < n; i += 32) {
        u32 x = s.values[i];
        if (x < a.documents) atomicOr(bits + (x >> 5), 1u << (x & 31));
    }
}

/* Sets or (tasks of LIST_WITHOUT) clears the bits of one block's values. */
extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_mark(const ListOpsArgs a)
{
    extern __shared__ __align__(16) u8 shared[];
    __shared__ u32 table[TABLE];
    u32 k = blockIdx.x * LIST_OPS_WARPS + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    load_table(table);
    if (k >= a.tasks) return;
    WarpSpace &s = my_space(shared, a.pool);
    ListTask task = a.task[k];
    u32 n = decode_here<true>(a.docs, a.image, task.block, s, table, s.values), *bits = a.bits + (size_t)task.query * a.words;
    for (u32 i = lane; i < n; i += 32) {
        u32 x = s.values[i];
        if (x >= a.documents) continue;
        if (task.list & LIST_WITHOUT)
            atomicAnd(bits + (x >> 5), ~(1u << (x & 31)));
        else
            atomicOr(bits + (x >> 5), 1u << (x & 31));
    }
}

/* Adds one block's frequencies to its documents' scores; excludes them for tasks of LIST_WITHOUT. */
extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_score(const ListOpsArgs a)
{
    extern __shared__ __align__(16) u8 shared[];
    __shared__ u32 table[TABLE];
    u32 k = blockIdx.x * LIST_OPS_WARPS + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    load_table(table);
    if (k >= a.tasks) return;
    WarpSpace &s = my_space(shared, a.pool);
    ListTask task = a.task[k];
    bool without = task.list & LIST_WITHOUT;
    u32 n = decode_here<true>(a.docs, a.image, task.block, s, table, s.values);
    if (!without) n = min(n, decode_here<false>(a.freqs, a.image, task.block, s, table, s.others));
    u64 *score = a.score + (size_t)task.query * a.documents;
    for (u32 i = lane; i < n; i += 32) {
        u32 x = s.values[i];
        if (x >= a.documents) continue;
        if (without)
            atomicOr(score + x, 1ull << 63);
        else
            atomicAdd(score + x, (1ull << 48) + s.others[i]);
    }
}

/* Bits in each chunk of each bitmap: a CTA of 256 a chunk. */
extern "C" __global__ void __launch_bounds__(256) ops_count(const ListOpsArgs a)
{
    __shared__ u32 sums[8];
    u32 query = blockIdx.x / a.chunks, chunk = blockIdx.x % a.chunks, n = 0;
    const u32 *bits = a.bits + (size_t)query * a.words;
    for (u32 i = threadIdx.x; i < LIST_OPS_CHUNK; i += 256) {
        u32 w = chunk * LIST_OPS_CHUNK + i;
        n += w < a.words ? __popc(bits[w]) : 0;
    }
    n = __reduce_add_sync(ALL, n);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = n;
    __syncthreads();
    if (threadIdx.x == 0) a.counts[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

/* Writes each chunk's numbers, ascending: a thread owns four consecutive words. */
extern "C" __global__ void __launch_bounds__(256) ops_extract(const ListOpsArgs a)
{
    __shared__ u32 sums[8];
    u32 query = blockIdx.x / a.chunks, chunk = blockIdx.x % a.chunks, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n = 0, w[4];
    const u32 *bits = a.bits + (size_t)query * a.words;
    u32 first = chunk * LIST_OPS_CHUNK + threadIdx.x * 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        w[i] = first + i < a.words ? bits[first + i] : 0;
        n += __popc(w[i]);
    }
    Scan scan;
    scan.init(lane);
    u32 before = scan.sum(n) - n;
    if (lane == 31) sums[warp] = before + n;
    __syncthreads();
    for (u32 i = 0; i < warp; i++) before += sums[i];
    u32 *out = a.docs.out + a.at[blockIdx.x] + before;
#pragma unroll
    for (int i = 0; i < 4; i++)
        for (u32 b = w[i]; b; b &= b - 1) *out++ = (first + i) * 32 + __ffs(b) - 1;
}

DEVICE u32 score_of(u64 x, u32 least) /* 0: not a hit; else the score + 1 */
{
    u64 sum = x & (1ull << 48) - 1;
    if (x >> 63 || (u32)(x >> 48) < least) return 0;
    return sum > ALL - 1 ? ALL : (u32)sum + 1;
}

/* The `top` best documents of a query, a CTA of 256 each: the lowest score among them by radix, eight bits a pass; then
 * all above it, and as many as are missing at it in order of number. Unsorted. */
extern "C" __global__ void __launch_bounds__(256) ops_select(const ListOpsArgs a)
{
    __shared__ u32 histogram[256], sums[8], bound, missing, taken;
    u32 query = blockIdx.x, least = a.least[query], lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u64 *score = a.score + (size_t)query * a.documents;
    uint2 *hits = (uint2 *)a.hits + (size_t)query * a.top;
    if (threadIdx.x == 0) bound = 0, missing = a.top, taken = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        histogram[threadIdx.x] = 0;
        __syncthreads();
        u32 prefix = bound;
        for (u32 d = threadIdx.x; d < a.documents; d += 256) {
            u32 s = score_of(score[d], least);
            if (s && (shift == 24 || s >> (shift + 8) == prefix >> (shift + 8))) atomicAdd(histogram + (s >> shift & 255), 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            for (; digit > 0 && histogram[digit] < missing; digit--) missing -= histogram[digit];
            bound = prefix | (u32)digit << shift;
        }
        __syncthreads();
    }
    u32 lowest = bound, wanted = missing; /* `wanted` of those that score exactly `lowest` */
    for (u32 from = 0; from < a.documents; from += 256) {
        u32 d = from + threadIdx.x, s = d < a.documents ? score_of(score[d], least) : 0;
        bool equal = s && s == lowest, above = s > lowest;
        u32 mask = __ballot_sync(ALL, equal);
        if (lane == 0) sums[warp] = __popc(mask);
        __syncthreads();
        u32 rank = __popc(mask & (1u << lane) - 1), all = 0;
        for (u32 i = 0; i < 8; i++) {
            rank += i < warp ? sums[i] : 0;
            all += sums[i];
        }
        if (above || (equal && rank < wanted)) {
            u32 place = atomicAdd(&taken, 1u);
            if (place < a.top) hits[place] = make_uint2(d, s - 1);
        }
        wanted -= min(wanted, all);
        __syncthreads();
    }
    if (threadIdx.x == 0) a.found[query] = min(taken, a.top);
}
