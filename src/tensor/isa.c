/*
 * isa.c: which instruction sets the kernels may use on this machine.
 *
 * The processor says what it has (CPUID); the compilers' names for it are used where they agree on one. AMX's tiles
 * also need leave from Linux, once a process (arch_prctl): they make its signal frames 8 KB larger, so leave is
 * refused while some thread's signal stack is too small for that. Then AVX-512 does the work.
 */
#include "tensor/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq");
}

static bool has_avxvnni(void)
{
    uint32_t a, b, c, d;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1) != 0;
}

static bool may_use_tiles(void)
{
#if defined(__linux__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static bool has_amx(void)
{
    uint32_t a, b, c, d;
    if (!has_avx512() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    bool tiles = (d >> 24 & 1) != 0, bytes = (d >> 25 & 1) != 0;
    return tiles && bytes && may_use_tiles();
}

bool kernels_have(KernelIsa isa)
{
    __builtin_cpu_init();
    switch (isa) {
    case ISA_AVX2: return has_avx2();
    case ISA_AVXVNNI: return has_avxvnni();
    case ISA_AVX512: return has_avx512();
    case ISA_AMX: return has_amx();
    default: return isa == ISA_SCALAR;
    }
}
#else
bool kernels_have(KernelIsa isa)
{
    return isa == ISA_SCALAR;
}
#endif

/* Asked once a process: in a virtual machine every CPUID costs microseconds, as much as a small product. */
KernelIsa kernels_best_isa(void)
{
    static _Atomic uint32_t known; /* isa + 1 */
    uint32_t isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa == 0) {
        isa = ISA_COUNT;
        while (!kernels_have((KernelIsa)(isa - 1))) isa--;
        atomic_store_explicit(&known, isa, memory_order_relaxed);
    }
    return (KernelIsa)(isa - 1);
}

const char *kernels_isa_name(KernelIsa isa)
{
    static const char *const names[ISA_COUNT] = {"scalar", "avx2", "avx-vnni", "avx512", "amx"};
    return names[isa];
}
