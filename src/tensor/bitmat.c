/*
 * bitmat.c: products of 0/1 matrices by AND and population count.
 *
 * COUNT(*) over a join whose (group, key) pairs are unique, and existence, need one bit a cell: the sum of
 * products is the number of common bits of two rows. A tile of 4 x 4 rows keeps 16 vector sums and loads
 * 8 registers of 512 bits for 16 ANDs and counts. Exact up to 2^63.
 */
#include "tensor/kernels.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static size_t bytes_of(const BitMatrix *matrix)
{
    return matrix->padded * matrix->words * sizeof(uint64_t);
}

tcudb_status bitmat_new(Mem *mem, uint32_t rows, uint64_t k, BitMatrix *out, Error *err)
{
    uint32_t padded = (rows + BIT_TILE - 1) / BIT_TILE * BIT_TILE;
    size_t words = (k + BIT_LINE - 1) / BIT_LINE * (BIT_LINE / 64);
    *out = (BitMatrix){.mem = mem, .rows = rows, .padded = padded, .k = k, .words = words};
    out->bits = mem_alloc_zero(mem, bytes_of(out), err);
    TRY_PTR(out->bits);
    return TCUDB_OK;
}

void bitmat_free(BitMatrix *matrix)
{
    mem_free(matrix->mem, matrix->bits, bytes_of(matrix));
    matrix->bits = NULL;
}

static void tile_plain(const uint64_t *a, const uint64_t *b, size_t words, int64_t *out, size_t stride)
{
    for (uint32_t i = 0; i < BIT_TILE; i++) {
        for (uint32_t j = 0; j < BIT_TILE; j++) {
            int64_t sum = 0;
            for (size_t w = 0; w < words; w++) sum += __builtin_popcountll(a[i * words + w] & b[j * words + w]);
            out[i * stride + j] = sum;
        }
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512vpopcntdq"))) static void tile_avx512(const uint64_t *a, const uint64_t *b,
                                                                           size_t words, int64_t *out, size_t stride)
{
    __m512i acc[BIT_TILE][BIT_TILE];
    for (uint32_t i = 0; i < BIT_TILE; i++)
        for (uint32_t j = 0; j < BIT_TILE; j++) acc[i][j] = _mm512_setzero_si512();
    for (size_t w = 0; w < words; w += 8) {
        __m512i right[BIT_TILE];
#pragma GCC unroll 4
        for (uint32_t j = 0; j < BIT_TILE; j++) right[j] = _mm512_loadu_si512(b + j * words + w);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < BIT_TILE; i++) {
            __m512i left = _mm512_loadu_si512(a + i * words + w);
#pragma GCC unroll 4
            for (uint32_t j = 0; j < BIT_TILE; j++)
                acc[i][j] = _mm512_add_epi64(acc[i][j], _mm512_popcnt_epi64(_mm512_and_si512(left, right[j])));
        }
    }
    for (uint32_t i = 0; i < BIT_TILE; i++)
        for (uint32_t j = 0; j < BIT_TILE; j++) out[i * stride + j] = _mm512_reduce_add_epi64(acc[i][j]);
}

/* Counts by looking up each nibble (vpshufb) and adding bytes (vpsadbw). */
__attribute__((target("avx2"))) static int64_t common_bits_avx2(const uint64_t *a, const uint64_t *b, size_t words)
{
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1,
                                            2, 2, 3, 2, 3, 3, 4);
    __m256i sum = _mm256_setzero_si256();
    for (size_t w = 0; w < words; w += 4) {
        __m256i both = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(a + w)),
                                        _mm256_loadu_si256((const __m256i *)(b + w)));
        __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(both, nibble));
        __m256i high = _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble));
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256()));
    }
    uint64_t parts[4];
    _mm256_storeu_si256((__m256i *)parts, sum);
    return (int64_t)(parts[0] + parts[1] + parts[2] + parts[3]);
}

static void tile_avx2(const uint64_t *a, const uint64_t *b, size_t words, int64_t *out, size_t stride)
{
    for (uint32_t i = 0; i < BIT_TILE; i++)
        for (uint32_t j = 0; j < BIT_TILE; j++)
            out[i * stride + j] = common_bits_avx2(a + i * words, b + j * words, words);
}
#endif

void bitmat_multiply(KernelIsa isa, const BitMatrix *a, uint32_t row_a, const BitMatrix *b, uint32_t row_b,
                     int64_t *out, size_t stride)
{
    assert(a->words == b->words && row_a + BIT_TILE <= a->padded && row_b + BIT_TILE <= b->padded);
    const uint64_t *left = a->bits + row_a * a->words, *right = b->bits + row_b * b->words;
#if defined(__x86_64__)
    if (isa >= ISA_AVX512) {
        tile_avx512(left, right, a->words, out, stride);
        return;
    }
    if (isa >= ISA_AVX2) {
        tile_avx2(left, right, a->words, out, stride);
        return;
    }
#endif
    (void)isa;
    tile_plain(left, right, a->words, out, stride);
}
