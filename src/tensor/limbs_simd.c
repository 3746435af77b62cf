/*
 * limbs_simd.c: the 8 x 48 tile of limbs.c with AVX-512 VNNI and with AVX2.
 *
 * AVX-512: 24 accumulators; each step of four k loads three registers of the right operand (16 rows each) and
 * broadcasts four bytes of each left row: 24 vpdpbusd for 11 loads. AVX2 has no exact byte multiply-add
 * (vpmaddubsw saturates at 16 bits), so bytes are widened to 16 bits and vpmaddwd adds pairs: exact, at a
 * quarter of the rate; the tile is done in strips of 8 right rows to stay in registers.
 */
#include "tensor/kernels_int.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void limb_tile_avx512(const uint8_t *a, const uint8_t *b,
                                                                             uint32_t k4, int32_t *out)
{
    __m512i acc[LIMB_ROWS_A][3];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < LIMB_ROWS_A; i++) acc[i][0] = acc[i][1] = acc[i][2] = _mm512_setzero_si512();
    for (uint32_t k = 0; k < k4; k++, a += LIMB_ROWS_A * 4, b += LIMB_ROWS_B * 4) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 64), b2 = _mm512_loadu_si512(b + 128);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < LIMB_ROWS_A; i++) {
            int32_t quad;
            memcpy(&quad, a + (size_t)i * 4, sizeof quad);
            __m512i left = _mm512_set1_epi32(quad);
            acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], b0, left);
            acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], b1, left);
            acc[i][2] = _mm512_dpbusd_epi32(acc[i][2], b2, left);
        }
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < LIMB_ROWS_A; i++) {
        _mm512_storeu_si512(out + (size_t)i * LIMB_ROWS_B, acc[i][0]);
        _mm512_storeu_si512(out + (size_t)i * LIMB_ROWS_B + 16, acc[i][1]);
        _mm512_storeu_si512(out + (size_t)i * LIMB_ROWS_B + 32, acc[i][2]);
    }
}

/* Eight right rows against four left ones. Widened, a register holds four rows x four k. */
__attribute__((target("avx2"))) static void strip_avx2(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out)
{
    __m256i acc[4][2];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) acc[i][0] = acc[i][1] = _mm256_setzero_si256();
    for (uint32_t k = 0; k < k4; k++, a += LIMB_ROWS_A * 4, b += LIMB_ROWS_B * 4) {
        __m256i b0 = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)b));
        __m256i b1 = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(b + 16)));
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            int32_t quad;
            memcpy(&quad, a + (size_t)i * 4, sizeof quad);
            __m256i left = _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(_mm_cvtsi32_si128(quad)));
            acc[i][0] = _mm256_add_epi32(acc[i][0], _mm256_madd_epi16(b0, left));
            acc[i][1] = _mm256_add_epi32(acc[i][1], _mm256_madd_epi16(b1, left));
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        /* hadd gives rows 0 1 4 5 | 2 3 6 7; the permutation puts them in order. */
        __m256i sums = _mm256_permute4x64_epi64(_mm256_hadd_epi32(acc[i][0], acc[i][1]), 0xD8);
        _mm256_storeu_si256((__m256i *)(out + (size_t)i * LIMB_ROWS_B), sums);
    }
}

void limb_tile_avx2(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out)
{
    for (uint32_t i = 0; i < LIMB_ROWS_A; i += 4)
        for (uint32_t j = 0; j < LIMB_ROWS_B; j += 8)
            strip_avx2(a + (size_t)i * 4, b + (size_t)j * 4, k4, out + (size_t)i * LIMB_ROWS_B + j);
}

#else
/* Never chosen on other processors: kernels_best_isa says scalar there. */
void limb_tile_avx512(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out)
{
    (void)a, (void)b, (void)k4, (void)out;
}
void limb_tile_avx2(const uint8_t *a, const uint8_t *b, uint32_t k4, int32_t *out)
{
    (void)a, (void)b, (void)k4, (void)out;
}
#endif
