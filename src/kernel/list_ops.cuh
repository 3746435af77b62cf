/*
 * list_ops.cuh: AND, OR, NOT and top-k over compressed lists, many queries a launch.
 *
 * A warp takes one task: a block of a query's shortest list (AND) or of any of its lists (OR, NOT, top-k). It decodes
 * blocks into its own shared memory. AND filters the block's values through the other lists: a 32-ary search in the
 * directory finds the block that can hold the next candidate (its base is the skip entry), so blocks without candidates
 * are never touched. Results are bits in one bitmap a query, or scores in one array a query; bitmaps are counted and
 * extracted, scores selected by radix, one CTA a query.
 */
#include "kernel/any_block.cuh"

struct WarpSpace {
    Bunches bunches;
    u32 values[1024], others[1024];
    u8 keep[1024];
    u8 work[16]; /* a.pool bytes: payload and records, or exceptions */
};

/* A warp's task: its block is decoded, n values in space->values. */
struct Turn {
    ListTask task;
    WarpSpace *space;
    Workplace place;
    u32 n;
};

/* Every warp of the CTA calls it; false: no task for this one. */
DEVICE bool begin_task(const ListOpsArgs &a, u8 *shared, Turn *t)
{
    __shared__ u32 table[TABLE];
    u32 warp = threadIdx.x >> 5, k = blockIdx.x * LIST_OPS_WARPS + warp;
    load_table(table);
    if (k >= a.tasks) return false;
    WarpSpace *s = (WarpSpace *)(shared + warp * (sizeof(WarpSpace) - 16 + a.pool));
    *t = {a.task[k], s, {&s->bunches, s->work, a.image, table}, 0};
    t->n = decode_block<true>(a.docs, load_entry(a.docs, t->task.block), t->task.block, t->place, s->values);
    return true;
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
DEVICE u32 filter(const ListOpsArgs &a, u32 list, const Turn &t, u32 n)
{
    WarpSpace &s = *t.space;
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
            m = decode_block<true>(a.docs, load_entry(a.docs, block), block, t.place, s.others);
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

/* Sets, or for tasks of LIST_WITHOUT clears, the bits of the first n values. */
DEVICE void mark_bits(const ListOpsArgs &a, const Turn &t, u32 n)
{
    u32 *bits = a.bits + (size_t)t.task.query * a.words;
    for (u32 i = threadIdx.x & 31; i < n; i += 32) {
        u32 x = t.space->values[i], bit = 1u << (x & 31);
        if (x >= a.documents) continue;
        if (t.task.list & LIST_WITHOUT)
            atomicAnd(bits + (x >> 5), ~bit);
        else
            atomicOr(bits + (x >> 5), bit);
    }
}

extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_and(const ListOpsArgs a)
{
    extern __shared__ __align__(128) u8 shared[];
    Turn t;
    if (!begin_task(a, shared, &t)) return;
    u32 n = t.n;
    for (u32 i = __ldg(a.begin + t.task.query); n > 0 && i < __ldg(a.begin + t.task.query + 1); i++) {
        u32 list = __ldg(a.lists + i);
        if (list != t.task.list) n = filter(a, list, t, n);
    }
    mark_bits(a, t, n);
}

extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_mark(const ListOpsArgs a)
{
    extern __shared__ __align__(128) u8 shared[];
    Turn t;
    if (begin_task(a, shared, &t)) mark_bits(a, t, t.n);
}

/* Adds one block's frequencies to its documents' scores; excludes them for tasks of LIST_WITHOUT. */
extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_score(const ListOpsArgs a)
{
    extern __shared__ __align__(128) u8 shared[];
    Turn t;
    if (!begin_task(a, shared, &t)) return;
    WarpSpace &s = *t.space;
    bool without = t.task.list & LIST_WITHOUT;
    u32 n = t.n;
    if (!without)
        n = min(n, decode_block<false>(a.freqs, load_entry(a.freqs, t.task.block), t.task.block, t.place, s.others));
    u64 *score = a.score + (size_t)t.task.query * a.documents;
    for (u32 i = threadIdx.x & 31; i < n; i += 32) {
        u32 x = s.values[i];
        if (x >= a.documents) continue;
        if (without)
            atomicOr(score + x, 1ull << 63);
        else
            atomicAdd(score + x, (1ull << 48) + s.others[i]);
    }
}

/* The sum of n over the threads of a CTA of 256 before this one; *all: over all. */
DEVICE u32 sum_before(u32 n, u32 *all)
{
    __shared__ u32 sums[8];
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Scan scan;
    scan.init(lane);
    u32 before = scan.sum(n) - n;
    __syncthreads(); /* the sums of the call before are read */
    if (lane == 31) sums[warp] = before + n;
    __syncthreads();
    *all = 0;
    for (u32 i = 0; i < 8; i++) {
        before += i < warp ? sums[i] : 0;
        *all += sums[i];
    }
    return before;
}

/* Four consecutive words of the CTA's chunk of its bitmap; returns the bits in them. */
DEVICE u32 chunk_words(const ListOpsArgs &a, u32 *first, u32 *w)
{
    const u32 *bits = a.bits + (size_t)(blockIdx.x / a.chunks) * a.words;
    u32 n = 0;
    *first = blockIdx.x % a.chunks * LIST_OPS_CHUNK + threadIdx.x * 4;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        w[i] = *first + i < a.words ? bits[*first + i] : 0;
        n += __popc(w[i]);
    }
    return n;
}

/* Bits in each chunk of each bitmap: a CTA of 256 a chunk. */
extern "C" __global__ void __launch_bounds__(256) ops_count(const ListOpsArgs a)
{
    u32 first, w[4], all;
    sum_before(chunk_words(a, &first, w), &all);
    if (threadIdx.x == 0) a.counts[blockIdx.x] = all;
}

/* Writes each chunk's numbers, ascending. */
extern "C" __global__ void __launch_bounds__(256) ops_extract(const ListOpsArgs a)
{
    u32 first, w[4], all, n = chunk_words(a, &first, w);
    u32 *out = a.docs.out + a.at[blockIdx.x] + sum_before(n, &all);
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
    __shared__ u32 histogram[256], bound, missing, taken;
    u32 query = blockIdx.x, least = a.least[query];
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
        u32 all, rank = sum_before(equal, &all);
        if (above || (equal && rank < wanted)) {
            u32 place = atomicAdd(&taken, 1u);
            if (place < a.top) hits[place] = make_uint2(d, s - 1);
        }
        wanted -= min(wanted, all);
    }
    __syncthreads();
    if (threadIdx.x == 0) a.found[query] = min(taken, a.top);
}
