/*
 * limbs_simd.c: the tile of limbs.c with AVX-512 VNNI, with AVX-VNNI and with AVX2.
 *
 * AVX-512: 8 left rows at a time keep 24 accumulators; each step of four k loads three registers of the right operand
 * (16 rows each) and broadcasts four bytes of each left row: 24 vpdpbusd for 11 loads. AVX-VNNI is the same in
 * strips of 4 x 24, for 16 registers of half the width. AVX2 alone has no exact byte multiply-add (vpmaddubsw
 * saturates at 16 bits), so bytes are widened to 16 bits and vpmaddwd adds pairs: exact, at a quarter of the rate,
 * in strips of 4 x 8.
 */
#include "tensor/kernels_int.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { HALF = 8, QUADS = LIMB_BLOCK / 4 };

static inline int32_t quad_at(const uint8_t *bytes)
{
    int32_t quad;
    memcpy(&quad, bytes, sizeof quad);
    return quad;
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) static void half_avx512(const LimbTile *t, uint32_t row,
                                                                               int32_t *out)
{
    const uint8_t *b = t->b;
    __m512i acc[HALF][3];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < HALF; i++) acc[i][0] = acc[i][1] = acc[i][2] = _mm512_setzero_si512();
    for (uint32_t block = 0; block < t->k4; block += QUADS) {
        const uint8_t *a = t->a + limb_quad(block) + (size_t)row * LIMB_BLOCK;
        uint32_t n = t->k4 - block < QUADS ? t->k4 - block : QUADS;
        for (uint32_t k = 0; k < n; k++, a += 4, b += (size_t)LIMB_ROWS_B * 4) {
            __m512i b0 = _mm512_loadu_si512(b), b1 = _mm512_loadu_si512(b + 64), b2 = _mm512_loadu_si512(b + 128);
#pragma GCC unroll 8
            for (uint32_t i = 0; i < HALF; i++) {
                __m512i left = _mm512_set1_epi32(quad_at(a + (size_t)i * LIMB_BLOCK));
                acc[i][0] = _mm512_dpbusd_epi32(acc[i][0], b0, left);
                acc[i][1] = _mm512_dpbusd_epi32(acc[i][1], b1, left);
                acc[i][2] = _mm512_dpbusd_epi32(acc[i][2], b2, left);
            }
        }
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < HALF; i++) {
        _mm512_storeu_si512(out + (size_t)i * LIMB_ROWS_B, acc[i][0]);
        _mm512_storeu_si512(out + (size_t)i * LIMB_ROWS_B + 16, acc[i][1]);
        _mm512_storeu_si512(out + (size_t)i * LIMB_ROWS_B + 32, acc[i][2]);
    }
}

void limb_tile_avx512(const LimbTile *tile, int32_t *out)
{
    for (uint32_t row = 0; row < tile->rows; row += HALF) half_avx512(tile, row, out + (size_t)row * LIMB_ROWS_B);
}

__attribute__((target("avx512f,avx512bw,avx512dq"))) void limb_add_avx512(const int32_t *tile, const int64_t *sums,
                                                                          uint32_t rows, uint32_t shift, bool add,
                                                                          int64_t *out, size_t stride)
{
    __m128i by = _mm_cvtsi32_si128((int)shift);
    for (uint32_t j = 0; j < LIMB_ROWS_B; j += 8) {
        __m512i fixed = _mm512_setzero_si512();
        if (sums != NULL) fixed = _mm512_slli_epi64(_mm512_loadu_si512(sums + j), 7);
        for (uint32_t i = 0; i < rows; i++) {
            __m512i sum = _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)(tile + i * LIMB_ROWS_B + j)));
            sum = _mm512_sll_epi64(_mm512_add_epi64(sum, fixed), by);
            if (add) sum = _mm512_add_epi64(sum, _mm512_loadu_si512(out + i * stride + j));
            _mm512_storeu_si512(out + i * stride + j, sum);
        }
    }
}

/* 24 right rows against four left ones. */
__attribute__((target("avx2,avxvnni"))) static void strip_avxvnni(const LimbTile *t, uint32_t row, uint32_t column,
                                                                  int32_t *out)
{
    const uint8_t *b = t->b + (size_t)column * 4;
    __m256i acc[4][3];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) acc[i][0] = acc[i][1] = acc[i][2] = _mm256_setzero_si256();
    for (uint32_t k = 0; k < t->k4; k++, b += (size_t)LIMB_ROWS_B * 4) {
        const uint8_t *a = t->a + limb_quad(k) + (size_t)row * LIMB_BLOCK;
        __m256i b0 = _mm256_loadu_si256((const __m256i *)b), b1 = _mm256_loadu_si256((const __m256i *)(b + 32));
        __m256i b2 = _mm256_loadu_si256((const __m256i *)(b + 64));
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            __m256i left = _mm256_set1_epi32(quad_at(a + (size_t)i * LIMB_BLOCK));
            acc[i][0] = _mm256_dpbusd_avx_epi32(acc[i][0], b0, left);
            acc[i][1] = _mm256_dpbusd_avx_epi32(acc[i][1], b1, left);
            acc[i][2] = _mm256_dpbusd_avx_epi32(acc[i][2], b2, left);
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 3; j++)
            _mm256_storeu_si256((__m256i *)(out + (size_t)i * LIMB_ROWS_B + (size_t)j * 8), acc[i][j]);
}

void limb_tile_avxvnni(const LimbTile *tile, int32_t *out)
{
    for (uint32_t row = 0; row < tile->rows; row += 4)
        for (uint32_t column = 0; column < LIMB_ROWS_B; column += 24)
            strip_avxvnni(tile, row, column, out + (size_t)row * LIMB_ROWS_B + column);
}

/* Eight right rows against four left ones. Widened, a register holds four rows x four k. */
__attribute__((target("avx2"))) static void strip_avx2(const LimbTile *t, uint32_t row, uint32_t column, int32_t *out)
{
    const uint8_t *b = t->b + (size_t)column * 4;
    __m256i acc[4][2];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) acc[i][0] = acc[i][1] = _mm256_setzero_si256();
    for (uint32_t k = 0; k < t->k4; k++, b += (size_t)LIMB_ROWS_B * 4) {
        const uint8_t *a = t->a + limb_quad(k) + (size_t)row * LIMB_BLOCK;
        __m256i b0 = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)b));
        __m256i b1 = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(b + 16)));
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++) {
            __m128i quad = _mm_cvtsi32_si128(quad_at(a + (size_t)i * LIMB_BLOCK));
            __m256i left = _mm256_broadcastq_epi64(_mm_cvtepi8_epi16(quad));
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

void limb_tile_avx2(const LimbTile *tile, int32_t *out)
{
    for (uint32_t row = 0; row < tile->rows; row += 4)
        for (uint32_t column = 0; column < LIMB_ROWS_B; column += 8)
            strip_avx2(tile, row, column, out + (size_t)row * LIMB_ROWS_B + column);
}

/* Pairs of bytes are added in 16 bits and pairs of those in 32, which hold 2^21 groups of four. */
__attribute__((target("avx2"))) void limb_sums_avx2(const uint8_t *bytes, uint32_t k4, int64_t *sums)
{
    enum { STEP = 1 << 21 };
    const __m256i one8 = _mm256_set1_epi8(1), one16 = _mm256_set1_epi16(1);
    for (uint32_t from = 0; from < k4; from += STEP) {
        uint32_t n = k4 - from < STEP ? k4 - from : STEP;
        for (uint32_t row = 0; row < LIMB_ROWS_B; row += 8) {
            const uint8_t *at = bytes + ((size_t)from * LIMB_ROWS_B + row) * 4;
            __m256i acc = _mm256_setzero_si256();
            for (uint32_t k = 0; k < n; k++, at += (size_t)LIMB_ROWS_B * 4) {
                __m256i pairs = _mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)at), one8);
                acc = _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, one16));
            }
            int32_t part[8];
            _mm256_storeu_si256((__m256i *)part, acc);
            for (uint32_t i = 0; i < 8; i++) sums[row + i] += part[i];
        }
    }
}

#else
/* Never called on other processors: kernels_have says no there. */
void limb_tile_avx512(const LimbTile *tile, int32_t *out)
{
    (void)tile, (void)out;
}
void limb_tile_avxvnni(const LimbTile *tile, int32_t *out)
{
    (void)tile, (void)out;
}
void limb_tile_avx2(const LimbTile *tile, int32_t *out)
{
    (void)tile, (void)out;
}
void limb_sums_avx2(const uint8_t *bytes, uint32_t k4, int64_t *sums)
{
    (void)bytes, (void)k4, (void)sums;
}
void limb_add_avx512(const int32_t *tile, const int64_t *sums, uint32_t rows, uint32_t shift, bool add, int64_t *out,
                     size_t stride)
{
    (void)tile, (void)sums, (void)rows, (void)shift, (void)add, (void)out, (void)stride;
}
#endif
