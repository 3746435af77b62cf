/*
 * list_bench.cuh: kernels of the benchmark: the mix (reads and writes the same bytes as a decoder, and does
 * nothing else), plain reading, filling and comparing.
 */
#include "kernel/list.cuh"

/* A warp reads `bytes` bytes a block and writes 4096. CS: stores that do not stay in L2. */
template <bool CS> DEVICE void mix(const uint4 *in, uint4 *out, double bytes, u32 blocks)
{
    u32 k = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (k >= blocks) return;
    u64 from = (u64)(k * bytes) / 16, to = (u64)((k + 1) * bytes) / 16;
    uint4 x = make_uint4(k * 2654435761u, lane * 40503u ^ k, k + lane * 77u, ~k * lane);
#pragma unroll 4
    for (u64 i = from + lane; i < to; i += 32) {
        uint4 y = __ldg(in + i);
        x.x ^= y.x, x.y ^= y.y, x.z ^= y.z, x.w ^= y.w;
    }
    out += (size_t)k * 256 + lane;
#pragma unroll
    for (int g = 0; g < 8; g++) {
        uint4 v = make_uint4(x.x + g, x.y ^ g * 99u, x.z, x.w);
        if (CS)
            __stcs(out + g * 32, v);
        else
            out[g * 32] = v;
    }
}
extern "C" __global__ void __launch_bounds__(256) bench_mix(const uint4 *in, uint4 *out, double bytes, u32 blocks)
{
    mix<false>(in, out, bytes, blocks);
}
extern "C" __global__ void __launch_bounds__(256) bench_mix_cs(const uint4 *in, uint4 *out, double bytes, u32 blocks)
{
    mix<true>(in, out, bytes, blocks);
}
/* The same with 4 KB stored by the bulk copy engine. */
extern "C" __global__ void __launch_bounds__(256) bench_mix_bulk(const uint4 *in, uint4 *out, double bytes, u32 blocks)
{
    extern __shared__ __align__(16) u8 shared[];
    u32 k = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (k >= blocks) return;
    u64 from = (u64)(k * bytes) / 16, to = (u64)((k + 1) * bytes) / 16;
    uint4 x = make_uint4(k * 2654435761u, lane * 40503u ^ k, k + lane * 77u, ~k * lane);
#pragma unroll 4
    for (u64 i = from + lane; i < to; i += 32) {
        uint4 y = __ldg(in + i);
        x.x ^= y.x, x.y ^= y.y, x.z ^= y.z, x.w ^= y.w;
    }
    uint4 *tile = (uint4 *)(shared + (threadIdx.x >> 5) * 4096);
#pragma unroll
    for (int g = 0; g < 8; g++) tile[g * 32 + lane] = make_uint4(x.x + g, x.y ^ g * 99u, x.z, x.w);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane != 0) return;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],4096; cp.async.bulk.commit_group;" ::"l"(out + (size_t)k * 256),
                 "r"(shared_address(tile))
                 : "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
extern "C" __global__ void __launch_bounds__(512) bench_read(const uint4 *in, u32 *result, u64 n)
{
    u64 i = (u64)blockIdx.x * 2048 + threadIdx.x;
    u32 acc = 0;
#pragma unroll
    for (int t = 0; t < 4; t++)
        if (i + t * 512 < n) {
            uint4 y = __ldg(in + i + t * 512);
            acc += y.x ^ y.y ^ y.z ^ y.w;
        }
    acc = __reduce_add_sync(ALL, acc);
    if ((threadIdx.x & 31) == 0) result[(blockIdx.x * 16 + (threadIdx.x >> 5)) & 0xffff] = acc;
}
/* to[i] = from[i mod period] */
extern "C" __global__ void bench_fill(u32 *to, const u32 *from, u64 n, u64 period)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) to[i] = from[i % period];
}
/* Repeats a directory of `period` blocks whose payload fills `units` 16-byte units. */
extern "C" __global__ void bench_directory(uint4 *to, const uint4 *from, u32 n, u32 period, u32 units)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 x = from[i % period];
    x.x += i / period * units;
    to[i] = x;
}
extern "C" __global__ void bench_compare(const u32 *got, const u32 *want, u64 n, u64 period, u64 *wrong)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)
        if (got[i] != want[i % period]) atomicAdd(wrong, 1ull);
}
