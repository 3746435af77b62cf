/*
 * unpack.c: decoding of bit-packed streams, all of one value or a few of its rows.
 *
 * AVX-512 (VBMI): a vector of 64 output bytes takes 64 x width / (8 x out_width) input bytes, a whole number. One byte
 * permutation brings each lane of 8 output bytes the 8 input bytes where its values begin; one multishift takes from
 * them, per output byte, the 8 bits that it needs; a mask and the base finish it. Index and shift vectors repeat with
 * every vector, so the loop is load, permute, shift, and, add, store, whatever the width:
 *
 *     width 3 into bytes, lane l: input bytes 3l..3l+7, output byte j from bit 3j    (8 values of 3 bits = 3 bytes)
 *
 * A lane's values must lie within 64 bits of their first byte: all widths but 31 into 4 bytes and 58..63 into 8 bytes;
 * those, and machines without VBMI, take the AVX2 loop (4-byte words up to 25 bits) or the scalar twin, which reads the
 * 64-bit word at the value's byte and, if the value reaches past it, one byte more.
 *
 * Values in the last bytes are read from a padded copy, so nothing past `size` is touched.
 * Cost per value on Zen 4, in cache: see doc/benchmarks.md; the scalar twin about 1 ns.
 */
#include "codec/codec.h"

#include <assert.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline uint64_t low_mask(uint32_t bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Needs 9 readable bytes at the value's first byte. */
static inline uint64_t window(const uint8_t *in, uint64_t bit, uint32_t bits)
{
    uint64_t word;
    const uint8_t *at = in + (bit >> 3);
    uint32_t shift = bit & 7;
    memcpy(&word, at, 8);
    word >>= shift;
    if (shift + bits > 64) word |= (uint64_t)at[8] << (64 - shift);
    return word & low_mask(bits);
}

uint64_t bitpack_get(const uint8_t *in, size_t size, uint64_t i, uint32_t bits)
{
    if (bits == 0) return 0;
    uint64_t bit = i * bits;
    size_t byte = bit >> 3;
    if (byte + 9 <= size) return window(in, bit, bits);
    uint8_t padded[16] = {0};
    assert(byte < size);
    memcpy(padded, in + byte, size - byte < 9 ? size - byte : 9);
    return window(padded, bit & 7, bits);
}

#define UNPACK_SCALAR(T)                                                                                               \
    do {                                                                                                               \
        T *to_ = (T *)out;                                                                                             \
        for (; i < n && (((uint64_t)i * bits) >> 3) + 9 <= size; i++)                                                  \
            to_[i] = (T)(window(in, (uint64_t)i * bits, bits) + base);                                                 \
        for (; i < n; i++) to_[i] = (T)(bitpack_get(in, size, i, bits) + base);                                        \
    } while (0)

/* Values from i on. */
static void unpack_scalar(const uint8_t *in, size_t size, uint32_t i, uint32_t n, uint32_t bits, uint64_t base,
                          uint32_t out_width, void *out)
{
    switch (out_width) {
    case 1: UNPACK_SCALAR(uint8_t); return;
    case 2: UNPACK_SCALAR(uint16_t); return;
    case 4: UNPACK_SCALAR(uint32_t); return;
    default: UNPACK_SCALAR(uint64_t); return;
    }
}

#if defined(__x86_64__)

/* Whether a lane's values always lie in the 8 bytes from its first one. */
static bool lane_fits(uint32_t bits, uint32_t out_width)
{
    uint32_t lane_bits = 8 / out_width * bits;
    uint32_t phase = (lane_bits & 7) == 0 ? 0 : 8 - (lane_bits & -lane_bits & 7); /* largest offset in a byte */
    return lane_bits + phase <= 64;
}

typedef struct Plan512 {
    alignas(64) uint64_t index[8];
    alignas(64) uint64_t shift[8];
} Plan512;

static void plan_lanes(Plan512 *plan, uint32_t bits, uint32_t out_width)
{
    /* byte j of a lane: value j / out_width of the lane, its byte j % out_width */
    static const uint64_t value_of[9] = {0, 0x0706050403020100, 0x0303020201010000, 0, 0x0101010100000000, 0, 0, 0, 0};
    static const uint64_t byte_of[9] = {0, 0, 0x0800080008000800, 0, 0x1810080018100800, 0, 0, 0, 0x3830282018100800};
    const uint64_t ones = 0x0101010101010101, steps = 0x0706050403020100;
    uint64_t shifts = value_of[out_width] * bits + byte_of[out_width];
    for (uint32_t lane = 0; lane < 8; lane++) {
        uint32_t bit = lane * (8 / out_width) * bits;
        plan->index[lane] = (bit >> 3) * ones + steps;
        plan->shift[lane] = (bit & 7) * ones + shifts;
    }
}

#define BODY_512(set1, add, T)                                                                                         \
    do {                                                                                                               \
        __m512i index = _mm512_load_si512(plan.index), shift = _mm512_load_si512(plan.shift);                          \
        __m512i mask = set1((T)low_mask(bits)), bases = set1((T)base);                                                 \
        for (; i + values <= n && at + 64 <= size; i += values, at += step) {                                          \
            __m512i v = _mm512_permutexvar_epi8(index, _mm512_loadu_si512(in + at));                                   \
            v = _mm512_and_si512(_mm512_multishift_epi64_epi8(shift, v), mask);                                        \
            _mm512_storeu_si512((char *)out + (size_t)i * sizeof(T), add(v, bases));                                   \
        }                                                                                                              \
    } while (0)

/* Returns how many values it has done. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static uint32_t
unpack_512(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width, void *out)
{
    Plan512 plan;
    plan_lanes(&plan, bits, out_width);
    uint32_t values = 64 / out_width, i = 0;
    size_t step = (size_t)values * bits / 8, at = 0;
    switch (out_width) {
    case 1: BODY_512(_mm512_set1_epi8, _mm512_add_epi8, int8_t); break;
    case 2: BODY_512(_mm512_set1_epi16, _mm512_add_epi16, int16_t); break;
    case 4: BODY_512(_mm512_set1_epi32, _mm512_add_epi32, int32_t); break;
    default: BODY_512(_mm512_set1_epi64, _mm512_add_epi64, int64_t); break;
    }
    return i;
}

/* Words of 4 bytes, up to 25 bits: two halves of four values, each from the 16 bytes at its first one. */
__attribute__((target("avx2"))) static uint32_t unpack_256(const uint8_t *in, size_t size, uint32_t n, uint32_t bits,
                                                           uint64_t base, void *out)
{
    uint8_t order[32];
    uint32_t shifts[8], half = bits / 2; /* bytes of four values, rounded down */
    for (uint32_t v = 0; v < 8; v++) {
        uint32_t bit = v * bits - (v < 4 ? 0 : half * 8);
        shifts[v] = bit & 7;
        for (uint32_t b = 0; b < 4; b++) order[v * 4 + b] = (uint8_t)((bit >> 3) + b);
    }
    __m256i shuffle = _mm256_loadu_si256((const __m256i *)order);
    __m256i shift = _mm256_loadu_si256((const __m256i *)shifts);
    __m256i mask = _mm256_set1_epi32((int)low_mask(bits)), bases = _mm256_set1_epi32((int)base);
    uint32_t i = 0;
    for (size_t at = 0; i + 8 <= n && at + half + 16 <= size; i += 8, at += bits) {
        __m128i low = _mm_loadu_si128((const __m128i *)(in + at));
        __m128i high = _mm_loadu_si128((const __m128i *)(in + at + half));
        __m256i v = _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), shuffle);
        v = _mm256_add_epi32(_mm256_and_si256(_mm256_srlv_epi32(v, shift), mask), bases);
        _mm256_storeu_si256((__m256i *)((uint32_t *)out + i), v);
    }
    return i;
}

static uint32_t unpack_simd(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base,
                            uint32_t out_width, void *out)
{
    if (bits <= out_width * 8 && lane_fits(bits, out_width) && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512bw"))
        return unpack_512(in, size, n, bits, base, out_width, out);
    if (out_width == 4 && bits <= 25 && __builtin_cpu_supports("avx2")) return unpack_256(in, size, n, bits, base, out);
    return 0;
}

#else

static uint32_t unpack_simd(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base,
                            uint32_t out_width, void *out)
{
    (void)in, (void)size, (void)n, (void)bits, (void)base, (void)out_width, (void)out;
    return 0;
}

#endif

void bitpack_unpack(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width,
                    void *out)
{
    assert(bits <= 64 && size >= ((uint64_t)n * bits + 7) / 8);
    if (bits == 0) {
        const uint8_t zeros[16] = {0}; /* one bit a value of nothing */
        for (uint32_t i = 0; i < n; i += 64)
            unpack_scalar(zeros, sizeof zeros, 0, n - i < 64 ? n - i : 64, 1, base, out_width,
                          (char *)out + (size_t)i * out_width);
        return;
    }
    uint32_t done = unpack_simd(in, size, n, bits, base, out_width, out);
    unpack_scalar(in, size, done, n, bits, base, out_width, out);
}

/* One load a value where it fits 64 bits with its shift; wide ones and the stream's last bytes by bitpack_get. */
#define GATHER(T)                                                                                                      \
    for (; i < nsel; i++) {                                                                                            \
        uint64_t word, bit = (uint64_t)sel[i] * bits;                                                                  \
        if ((bit >> 3) + 8 > size || bits > 57) break;                                                                 \
        memcpy(&word, in + (bit >> 3), 8);                                                                             \
        ((T *)out)[sel[i]] = (T)(((word >> (bit & 7)) & mask) + base);                                                 \
    }                                                                                                                  \
    for (; i < nsel; i++) ((T *)out)[sel[i]] = (T)(bitpack_get(in, size, sel[i], bits) + base);

void bitpack_gather(const uint8_t *in, size_t size, const uint16_t *sel, uint32_t nsel, uint32_t bits, uint64_t base,
                    uint32_t out_width, void *out)
{
    assert(bits <= 64);
    uint64_t mask = low_mask(bits);
    uint32_t i = 0;
    switch (out_width) {
    case 1: GATHER(uint8_t); return;
    case 2: GATHER(uint16_t); return;
    case 4: GATHER(uint32_t); return;
    default: GATHER(uint64_t); return;
    }
}
