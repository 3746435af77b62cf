/*
 * bitmat.c: products of 0/1 matrices by AND and population count.
 *
 * COUNT(*) over a join whose (group, key) pairs are unique, and existence, need one bit a cell: the sum of
 * products is the number of common bits of two rows. A tile of 4 x 4 rows keeps 16 vector sums and loads
 * 8 registers of 512 bits for 16 ANDs and counts. Rows are cut into chunks of BIT_CHUNK words, so that a block of
 * left rows stays in the second-level cache while the right ones pass by. Exact up to 2^63.
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

/* Rows that start `words` apart, n words of each. */
typedef struct BitTile {
    const uint64_t *a, *b;
    size_t words, n;
} BitTile;

static void tile_plain(const BitTile *t, int64_t *sums)
{
    for (uint32_t i = 0; i < BIT_TILE; i++) {
        for (uint32_t j = 0; j < BIT_TILE; j++) {
            int64_t sum = 0;
            for (size_t w = 0; w < t->n; w++)
                sum += __builtin_popcountll(t->a[i * t->words + w] & t->b[j * t->words + w]);
            sums[i * BIT_TILE + j] = sum;
        }
    }
}

#if defined(__x86_64__)
/* The sums of eight registers' lanes, in their order: halves are added while there are two of them. */
__attribute__((target("avx512f"))) static __m512i add_lanes(const __m512i v[8])
{
    __m512i pairs[4], quads[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        pairs[i] = _mm512_add_epi64(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]),
                                    _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        quads[i] = _mm512_add_epi64(_mm512_shuffle_i64x2(pairs[2 * i], pairs[2 * i + 1], 0x88),
                                    _mm512_shuffle_i64x2(pairs[2 * i], pairs[2 * i + 1], 0xdd));
    return _mm512_add_epi64(_mm512_shuffle_i64x2(quads[0], quads[1], 0x88),
                            _mm512_shuffle_i64x2(quads[0], quads[1], 0xdd));
}

__attribute__((target("avx512f,avx512vpopcntdq"))) static void tile_avx512(const BitTile *t, int64_t *sums)
{
    __m512i acc[BIT_TILE * BIT_TILE];
#pragma GCC unroll 16
    for (uint32_t i = 0; i < BIT_TILE * BIT_TILE; i++) acc[i] = _mm512_setzero_si512();
    for (size_t w = 0; w < t->n; w += 8) {
        __m512i right[BIT_TILE];
#pragma GCC unroll 4
        for (uint32_t j = 0; j < BIT_TILE; j++) right[j] = _mm512_loadu_si512(t->b + j * t->words + w);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < BIT_TILE; i++) {
            __m512i left = _mm512_loadu_si512(t->a + i * t->words + w);
#pragma GCC unroll 4
            for (uint32_t j = 0; j < BIT_TILE; j++) {
                __m512i *sum = &acc[i * BIT_TILE + j];
                *sum = _mm512_add_epi64(*sum, _mm512_popcnt_epi64(_mm512_and_si512(left, right[j])));
            }
        }
    }
    _mm512_storeu_si512(sums, add_lanes(acc));
    _mm512_storeu_si512(sums + 8, add_lanes(acc + 8));
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

static void tile_avx2(const BitTile *t, int64_t *sums)
{
    for (uint32_t i = 0; i < BIT_TILE; i++)
        for (uint32_t j = 0; j < BIT_TILE; j++)
            sums[i * BIT_TILE + j] = common_bits_avx2(t->a + i * t->words, t->b + j * t->words, t->n);
}
#endif

static void run_tile(KernelIsa isa, const BitTile *tile, int64_t *sums)
{
#if defined(__x86_64__)
    if (isa >= ISA_AVX512) {
        tile_avx512(tile, sums);
        return;
    }
    if (isa >= ISA_AVX2) {
        tile_avx2(tile, sums);
        return;
    }
#endif
    (void)isa;
    tile_plain(tile, sums);
}

void bitmat_multiply(KernelIsa isa, const BitMatrix *a, uint32_t row_a, const BitMatrix *b, uint32_t row_b, size_t word,
                     int64_t *out, size_t stride)
{
    assert(a->words == b->words && row_a + BIT_TILE <= a->padded && row_b + BIT_TILE <= b->padded && word < a->words);
    int64_t sums[BIT_TILE * BIT_TILE];
    BitTile tile = {.a = a->bits + row_a * a->words + word,
                    .b = b->bits + row_b * b->words + word,
                    .words = a->words,
                    .n = a->words - word < BIT_CHUNK ? a->words - word : BIT_CHUNK};
    run_tile(isa, &tile, sums);
    for (uint32_t i = 0; i < BIT_TILE; i++)
        for (uint32_t j = 0; j < BIT_TILE; j++)
            out[i * stride + j] = (word == 0 ? 0 : out[i * stride + j]) + sums[i * BIT_TILE + j];
}
