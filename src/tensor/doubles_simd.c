/*
 * doubles_simd.c: the tile of doubles.c with AVX-512 and with AVX2 and FMA.
 *
 * AVX-512: 24 accumulators of 8 sums; each k loads three registers of the right operand and broadcasts 8 cells of the
 * left: 24 multiply-adds. AVX2 has half the registers of half the width: strips of 4 x 12.
 */
#include "tensor/kernels_int.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f,avx512dq"))) void double_tile_avx512(const double *a, const double *b, uint32_t k,
                                                                    int64_t *out, size_t stride)
{
    __m512d acc[DOUBLE_ROWS_A][3];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < DOUBLE_ROWS_A; i++) acc[i][0] = acc[i][1] = acc[i][2] = _mm512_setzero_pd();
    for (; k > 0; k--, a += DOUBLE_ROWS_A, b += DOUBLE_ROWS_B) {
        __m512d b0 = _mm512_loadu_pd(b), b1 = _mm512_loadu_pd(b + 8), b2 = _mm512_loadu_pd(b + 16);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < DOUBLE_ROWS_A; i++) {
            __m512d left = _mm512_set1_pd(a[i]);
            acc[i][0] = _mm512_fmadd_pd(left, b0, acc[i][0]);
            acc[i][1] = _mm512_fmadd_pd(left, b1, acc[i][1]);
            acc[i][2] = _mm512_fmadd_pd(left, b2, acc[i][2]);
        }
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < DOUBLE_ROWS_A; i++) {
        _mm512_storeu_si512(out + i * stride, _mm512_cvtpd_epi64(acc[i][0]));
        _mm512_storeu_si512(out + i * stride + 8, _mm512_cvtpd_epi64(acc[i][1]));
        _mm512_storeu_si512(out + i * stride + 16, _mm512_cvtpd_epi64(acc[i][2]));
    }
}

__attribute__((target("avx2,fma"))) static void strip_avx2(const double *a, const double *b, uint32_t k, int64_t *out,
                                                           size_t stride)
{
    __m256d acc[4][3];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) acc[i][0] = acc[i][1] = acc[i][2] = _mm256_setzero_pd();
    for (; k > 0; k--, a += DOUBLE_ROWS_A, b += DOUBLE_ROWS_B) {
        __m256d b0 = _mm256_loadu_pd(b), b1 = _mm256_loadu_pd(b + 4), b2 = _mm256_loadu_pd(b + 8);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            __m256d left = _mm256_set1_pd(a[i]);
            acc[i][0] = _mm256_fmadd_pd(left, b0, acc[i][0]);
            acc[i][1] = _mm256_fmadd_pd(left, b1, acc[i][1]);
            acc[i][2] = _mm256_fmadd_pd(left, b2, acc[i][2]);
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        double sums[12];
        for (uint32_t j = 0; j < 3; j++) _mm256_storeu_pd(sums + (size_t)j * 4, acc[i][j]);
        for (uint32_t j = 0; j < 12; j++) out[i * stride + j] = (int64_t)sums[j];
    }
}

void double_tile_avx2(const double *a, const double *b, uint32_t k, int64_t *out, size_t stride)
{
    for (uint32_t i = 0; i < DOUBLE_ROWS_A; i += 4)
        for (uint32_t j = 0; j < DOUBLE_ROWS_B; j += 12) strip_avx2(a + i, b + j, k, out + i * stride + j, stride);
}

#else
/* Never called on other processors: kernels_have says no there. */
void double_tile_avx512(const double *a, const double *b, uint32_t k, int64_t *out, size_t stride)
{
    (void)a, (void)b, (void)k, (void)out, (void)stride;
}
void double_tile_avx2(const double *a, const double *b, uint32_t k, int64_t *out, size_t stride)
{
    (void)a, (void)b, (void)k, (void)out, (void)stride;
}
#endif
