/*
 * list_filter.cuh: AND, OR, NOT and top-k over compressed lists of any numbers, many queries a launch, without a bitmap.
 *
 * A warp takes one task: a block of a query's shortest list (AND), or of any of its lists (OR). It filters the block's
 * numbers through the query's other lists: a 32-ary search in the directory finds the block that can hold the next
 * candidate (its base is the skip entry), so blocks without candidates are never touched. OR keeps a number only in the
 * first list that has it. What is kept goes to a place of its own (one atomic addition a task) and is then merged: a
 * number's place among its query's is the sum of its ranks in what the lists kept. Top-k adds up frequencies while it
 * filters, and selects by radix, a CTA a query.
 *
 * Cost: what is decoded and kept, whatever the range of the numbers; OR looks each number up in the lists before its own.
 */
#include "kernel/list_task.cuh"

/* The last block of from..to-1 whose values can include x: all before it end below x. 32 probes a step. */
template <class T> DEVICE u32 find_block(const ListArgs &a, u32 from, u32 to, T x)
{
    u32 lane = threadIdx.x & 31;
    while (to - from > 1) {
        u32 step = (to - from + 31) / 32, probe = from + lane * step;
        bool begins = probe < to && (T)(base_of<T>(a, probe) + 1) <= x;
        u32 n = __popc(__ballot_sync(ALL, begins));
        from += (n == 0 ? 0 : n - 1) * step;
        to = min(to, from + step);
    }
    return from;
}

/* Where the first of n ascending numbers lies that is not below x. */
template <class T> DEVICE u32 lower_bound(const T *v, u32 n, T x)
{
    u32 low = 0;
    for (u32 size = n; size > 0; size /= 2) {
        u32 middle = low + size / 2;
        if (v[middle] < x) low = middle + 1, size--;
    }
    return low;
}

enum Mode { MUST, MUST_NOT, MAY };

/* How many of the candidates i..n-1 the block can decide: those up to its last number. At least one. */
template <class T> DEVICE u32 candidates_until(const ListArgs &a, const T *values, u32 i, u32 n, u32 block, u32 end)
{
    u32 lane = threadIdx.x & 31;
    if (block + 1 >= end) return n;
    T last = base_of<T>(a, block + 1);
    u32 stop = i;
    for (; stop < n; stop += 32) {
        u32 in = __ballot_sync(ALL, stop + lane < n && values[stop + lane] <= last);
        if (in != ALL) {
            stop += __popc(in);
            break;
        }
    }
    return max(stop, i + 1); /* none: a damaged directory only */
}

/* Keeps the n candidates that the list has (has not; all), adding its frequencies; returns how many. */
template <class S> DEVICE u32 filter(const ListOpsArgs &a, u32 list, Mode mode, const Turn<S> &t, u32 n)
{
    S &s = *t.space;
    u32 lane = threadIdx.x & 31, begin = __ldg(a.first + (list & ~LIST_WITHOUT)), end = __ldg(a.first + (list & ~LIST_WITHOUT) + 1);
    u32 block = begin, kept = 0;
    for (u32 i = 0; i < n;) {
        u32 m = 0, stop = n;
        if (begin < end) {
            block = find_block(a.docs, block, end, s.values[i]);
            stop = min(n, candidates_until(a.docs, s.values, i, n, block, end));
            m = decode_numbers(a.docs, block, t.place, s.others);
            if (S::scored && mode != MUST_NOT) m = decode_freqs(a, t, block, m, s.freq);
        }
        for (u32 c = i + lane; c < stop; c += 32) {
            typename S::number x = s.values[c];
            u32 low = lower_bound(s.others, m, x);
            bool found = low < m && s.others[low] == x;
            if (S::scored && found && mode != MUST_NOT) {
                u32 sum = s.score[c] + s.freq[low];
                s.score[c] = sum < s.freq[low] || sum == ALL ? ALL - 1 : sum;
            }
            s.keep[c] = mode == MAY || found == (mode == MUST);
        }
        i = stop;
        __syncwarp();
    }
    if (mode == MAY) return n;
    for (u32 c = 0; c < n; c += 32) {
        bool keep = c + lane < n && s.keep[c + lane];
        typename S::number x = c + lane < n ? s.values[c + lane] : 0;
        u32 score = S::scored && c + lane < n ? s.score[c + lane] : 0, mask = __ballot_sync(ALL, keep);
        u32 to = kept + __popc(mask & (1u << lane) - 1);
        __syncwarp(); /* all have read */
        if (keep) s.values[to] = x;
        if (S::scored && keep) s.score[to] = score;
        kept += __popc(mask);
        __syncwarp();
    }
    return kept;
}

template <class S> DEVICE void put_piece(const ListOpsArgs &a, const Turn<S> &t, u32 n)
{
    u32 lane = threadIdx.x & 31;
    u64 place = 0;
    if (lane == 0) {
        place = n == 0 ? 0 : atomicAdd(a.total, (u64)n);
        a.piece[t.number] = {place, n};
    }
    place = __shfl_sync(ALL, place, 0);
    for (u32 i = lane; i < n; i += 32) {
        ((typename S::number *)a.kept)[place + i] = t.space->values[i];
        if (S::scored) a.kept_score[place + i] = t.space->score[i];
    }
}

template <class S> DEVICE void run_filters(const ListOpsArgs &a, u8 *shared)
{
    Turn<S> t;
    if (!begin_task(a, shared, &t)) return;
    u32 n = t.n, begin = __ldg(a.begin + t.task.query), end = __ldg(a.begin + t.task.query + 1);
    bool any = __ldg(a.least + t.task.query) == 1;
    if (S::scored) n = decode_freqs(a, t, t.task.block, n, t.space->score);
    for (u32 c = threadIdx.x & 31; S::scored && c < n; c += 32) t.space->score[c] = min(t.space->score[c], ALL - 1);
    __syncwarp();
    for (u32 i = begin; n > 0 && i < end; i++) {
        u32 list = __ldg(a.lists + i), index = i - begin;
        Mode mode = list & LIST_WITHOUT || (any && index < t.task.index) ? MUST_NOT : any ? MAY : MUST;
        if (index != t.task.index && (S::scored || mode != MAY)) n = filter(a, list, mode, t, n);
    }
    put_piece(a, t, n);
}

#define FILTER_KERNEL(name, T, SCORED, CTAS)                                                                           \
    extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32, CTAS) name(const ListOpsArgs a)                  \
    {                                                                                                                  \
        extern __shared__ __align__(128) u8 shared[];                                                                  \
        run_filters<WarpSpace<T, SCORED>>(a, shared);                                                                  \
    }
FILTER_KERNEL(ops_filter32, u32, false, 3)
FILTER_KERNEL(ops_filter64, u64, false, 2)
FILTER_KERNEL(ops_filter32_scored, u32, true, 2)
FILTER_KERNEL(ops_filter64_scored, u64, true, 2)

/* How many numbers below x the list's tasks kept, `task` being the first of them. */
template <class T> DEVICE u64 rank_in(const ListOpsArgs &a, u32 list, u32 task, T x)
{
    u32 from = __ldg(a.first + list), low = from, high = __ldg(a.first + list + 1);
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if ((T)(base_of<T>(a.docs, middle) + 1) <= x)
            low = middle;
        else
            high = middle;
    }
    ListPiece p = a.piece[task + (low - from)];
    return a.before[task + (low - from)] + lower_bound((const T *)a.kept + p.place, (u32)p.n, x);
}

/* Writes what a task kept to its place among its query's numbers. */
template <class T> DEVICE void run_merge(const ListOpsArgs &a)
{
    u32 k = blockIdx.x * LIST_OPS_WARPS + (threadIdx.x >> 5);
    if (k >= a.tasks) return;
    ListTask t = a.task[k];
    ListPiece p = a.piece[k];
    u32 begin = __ldg(a.begin + t.query), end = __ldg(a.begin + t.query + 1);
    for (u32 i = threadIdx.x & 31; i < p.n; i += 32) {
        T x = ((const T *)a.kept)[p.place + i];
        u64 to = a.at[t.query] + a.before[k] + i;
        for (u32 j = begin; j < end; j++)
            if (j - begin != t.index && __ldg(a.tasks_of + j) != LIST_NO_TASK) to += rank_in(a, __ldg(a.lists + j), __ldg(a.tasks_of + j), x);
        ((T *)a.docs.out)[to] = x;
    }
}
extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_merge32(const ListOpsArgs a)
{
    run_merge<u32>(a);
}
extern "C" __global__ void __launch_bounds__(LIST_OPS_WARPS * 32) ops_merge64(const ListOpsArgs a)
{
    run_merge<u64>(a);
}

/* f(score, number) for everything the query's tasks kept, by a CTA of 256. */
template <class T, class F> DEVICE void each_kept(const ListOpsArgs &a, u32 query, F f)
{
    for (u32 k = __ldg(a.task_begin + query) + (threadIdx.x >> 5); k < __ldg(a.task_begin + query + 1); k += 8) {
        ListPiece p = a.piece[k];
        for (u64 i = p.place + (threadIdx.x & 31); i < p.place + p.n; i += 32) f(a.kept_score[i], ((const T *)a.kept)[i]);
    }
}

/* The `top` best of a query, by radix from the highest byte of the score to the lowest of the number, smaller numbers being
 * better: the lowest key among them, a byte a pass; then all that are not below it. Numbers differ, so these are exactly
 * as many as wanted. Unsorted. */
template <class T> DEVICE void run_select(const ListOpsArgs &a)
{
    __shared__ u32 histogram[256], missing, taken;
    __shared__ u32 low_score;
    __shared__ T low_number; /* of the key: the complement of a number */
    __shared__ bool exact;
    u32 query = blockIdx.x;
    if (threadIdx.x == 0) low_score = 0, low_number = 0, missing = a.top, taken = 0, exact = false;
    __syncthreads();
    for (int pass = 0; pass < 4 + (int)sizeof(T) && !exact; pass++) {
        bool scores = pass < 4;
        int shift = scores ? 24 - 8 * pass : 8 * (3 + (int)sizeof(T) - pass);
        u32 score = low_score;
        T number = low_number;
        histogram[threadIdx.x] = 0;
        __syncthreads();
        each_kept<T>(a, query, [&](u32 s, T d) {
            T key = ~d;
            bool same = scores ? (u64)s >> (shift + 8) == (u64)score >> (shift + 8)
                               : s == score && (shift + 8 == 8 * (int)sizeof(T) || key >> (shift + 8) == number >> (shift + 8));
            if (same) atomicAdd(histogram + (u32)((scores ? s : key) >> shift & 255), 1u);
        });
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = 255;
            for (; digit > 0 && histogram[digit] < missing; digit--) missing -= histogram[digit];
            if (scores)
                low_score |= (u32)digit << shift;
            else
                low_number |= (T)digit << shift;
            exact = histogram[digit] == missing; /* all that begin like this are wanted */
        }
        __syncthreads();
    }
    each_kept<T>(a, query, [&](u32 s, T d) {
        if (s < low_score || (s == low_score && (T)~d < low_number)) return;
        u32 place = atomicAdd(&taken, 1u);
        if (place < a.top) a.hits[(size_t)query * a.top + place] = {d, s, 0};
    });
    __syncthreads();
    if (threadIdx.x == 0) a.found[query] = min(taken, a.top);
}
extern "C" __global__ void __launch_bounds__(256) ops_select32(const ListOpsArgs a)
{
    run_select<u32>(a);
}
extern "C" __global__ void __launch_bounds__(256) ops_select64(const ListOpsArgs a)
{
    run_select<u64>(a);
}
