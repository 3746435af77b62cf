/*
 * unpack_simd.c: bit unpacking with vector instructions; what unpack.c cannot hand over it does itself.
 *
 * Sixteen values of b bits fill 2b bytes, so a group starts on a byte. One permutation of bytes brings to each
 * 32-bit lane the four bytes that hold its value (b <= 25: a value and its shift span at most 32 bits),
 * a variable shift and a mask finish it. Wider values use 64-bit lanes, eight a group. AVX2 has no
 * permutation across the register: there a group is two 16-byte loads of four values each.
 * Cost on Zen 4: about 0.1 ns a value (AVX-512 VBMI). Reads at most 64 bytes past a group's start: the
 * caller's `size` must cover them, the rest is left to the scalar code.
 */
#include "codec/unpack_int.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { MAX_NARROW = 25, MAX_WIDE = 57 };

typedef struct Lanes { /* byte indices and shifts of a group */
    uint8_t bytes[64];
    uint64_t shifts[8]; /* as 32 or 64-bit lanes */
} Lanes;

static void narrow_lanes(uint32_t bits, Lanes *l)
{
    uint32_t shifts[16];
    for (uint32_t v = 0; v < 16; v++) {
        for (uint32_t k = 0; k < 4; k++) l->bytes[v * 4 + k] = (uint8_t)(v * bits / 8 + k);
        shifts[v] = v * bits % 8;
    }
    memcpy(l->shifts, shifts, sizeof shifts);
}

static void wide_lanes(uint32_t bits, Lanes *l)
{
    for (uint32_t v = 0; v < 8; v++) {
        for (uint32_t k = 0; k < 8; k++) l->bytes[v * 8 + k] = (uint8_t)(v * bits / 8 + k);
        l->shifts[v] = v * bits % 8;
    }
}

/* Groups of `step` values that start `stride` bytes apart and may read `reach` bytes. */
static uint32_t whole_groups(size_t size, uint32_t n, uint32_t step, size_t stride, size_t reach)
{
    if (size < reach) return 0;
    size_t fit = (size - reach) / stride + 1, all = n / step;
    return (uint32_t)(fit < all ? fit : all);
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))
#define AVX2   __attribute__((target("avx2")))

AVX512 static uint32_t narrow_512(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base,
                                  uint32_t out_width, void *out)
{
    Lanes lanes;
    narrow_lanes(bits, &lanes);
    const __m512i index = _mm512_loadu_si512(lanes.bytes), shift = _mm512_loadu_si512(lanes.shifts);
    const __m512i mask = _mm512_set1_epi32((int)((UINT32_C(1) << bits) - 1)), add = _mm512_set1_epi32((int)base);
    uint32_t groups = whole_groups(size, n, 16, 2 * (size_t)bits, 64);
    for (uint32_t g = 0; g < groups; g++) {
        __m512i v = _mm512_permutexvar_epi8(index, _mm512_loadu_si512(in + (size_t)g * 2 * bits));
        v = _mm512_add_epi32(_mm512_and_si512(_mm512_srlv_epi32(v, shift), mask), add);
        if (out_width == 4)
            _mm512_storeu_si512((uint32_t *)out + g * 16, v);
        else if (out_width == 2)
            _mm256_storeu_si256((__m256i *)(void *)((uint16_t *)out + g * 16), _mm512_cvtepi32_epi16(v));
        else
            _mm_storeu_si128((__m128i *)(void *)((uint8_t *)out + g * 16), _mm512_cvtepi32_epi8(v));
    }
    return groups * 16;
}

AVX512 static uint32_t wide_512(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base,
                                uint32_t out_width, void *out)
{
    Lanes lanes;
    wide_lanes(bits, &lanes);
    const __m512i index = _mm512_loadu_si512(lanes.bytes), shift = _mm512_loadu_si512(lanes.shifts);
    const __m512i mask = _mm512_set1_epi64((long long)((UINT64_C(1) << bits) - 1)),
                  add = _mm512_set1_epi64((long long)base);
    uint32_t groups = whole_groups(size, n, 8, bits, 64);
    for (uint32_t g = 0; g < groups; g++) {
        __m512i v = _mm512_permutexvar_epi8(index, _mm512_loadu_si512(in + (size_t)g * bits));
        v = _mm512_add_epi64(_mm512_and_si512(_mm512_srlv_epi64(v, shift), mask), add);
        if (out_width == 8)
            _mm512_storeu_si512((uint64_t *)out + g * 8, v);
        else
            _mm256_storeu_si256((__m256i *)(void *)((uint32_t *)out + g * 8), _mm512_cvtepi64_epi32(v));
    }
    return groups * 8;
}

/* Eight values a group: two loads of four, each from the byte where its first value begins. */
AVX2 static uint32_t narrow_256(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t *out)
{
    uint8_t bytes[32];
    uint32_t shifts[8];
    uint32_t second = 4 * bits / 8, skew = 4 * bits % 8;
    for (uint32_t v = 0; v < 8; v++) {
        uint32_t bit = v < 4 ? v * bits : skew + (v - 4) * bits;
        for (uint32_t k = 0; k < 4; k++) bytes[v * 4 + k] = (uint8_t)(bit / 8 + k);
        shifts[v] = bit % 8;
    }
    const __m256i index = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
    const __m256i shift = _mm256_loadu_si256((const __m256i *)(const void *)shifts);
    const __m256i mask = _mm256_set1_epi32((int)((UINT32_C(1) << bits) - 1)), add = _mm256_set1_epi32((int)base);
    uint32_t groups = whole_groups(size, n, 8, bits, 16 + second);
    for (uint32_t g = 0; g < groups; g++) {
        const uint8_t *at = in + (size_t)g * bits;
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(at + second));
        __m256i v = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), index);
        v = _mm256_add_epi32(_mm256_and_si256(_mm256_srlv_epi32(v, shift), mask), add);
        _mm256_storeu_si256((__m256i *)(void *)(out + g * 8), v);
    }
    return groups * 8;
}

uint32_t unpack_simd(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width,
                     void *out)
{
    assert(bits > 0);
    bool vbmi = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512bw");
    if (bits <= MAX_NARROW && out_width <= 4) {
        if (vbmi) return narrow_512(in, size, n, bits, base, out_width, out);
        if (out_width == 4 && __builtin_cpu_supports("avx2")) return narrow_256(in, size, n, bits, base, out);
        return 0;
    }
    if (vbmi && bits <= MAX_WIDE && out_width >= 4) return wide_512(in, size, n, bits, base, out_width, out);
    return 0;
}

#else

uint32_t unpack_simd(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width,
                     void *out)
{
    (void)in;
    (void)size;
    (void)n;
    (void)bits;
    (void)base;
    (void)out_width;
    (void)out;
    return 0;
}

#endif
