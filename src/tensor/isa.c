/*
 * isa.c: which instruction set the kernels use on this machine.
 */
#include "tensor/kernels.h"

KernelIsa kernels_best_isa(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vpopcntdq"))
        return ISA_AVX512;
    if (__builtin_cpu_supports("avx2")) return ISA_AVX2;
#endif
    return ISA_SCALAR;
}

const char *kernels_isa_name(KernelIsa isa)
{
    static const char *const names[ISA_COUNT] = {"scalar", "avx2", "avx512"};
    return names[isa];
}
