/*
 * bits.h: bitmaps (bit i of word i / 64), 128-bit integers and small arithmetic helpers.
 */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __int128 int128;
typedef unsigned __int128 uint128;

#define INT128_MAX ((int128)(~(uint128)0 >> 1))
#define INT128_MIN (-INT128_MAX - 1)

static inline size_t bit_words(size_t bits)
{
    return (bits + 63) / 64;
}

static inline bool bit_get(const uint64_t *bits, size_t i)
{
    return (bits[i >> 6] >> (i & 63)) & 1;
}

static inline void bit_set(uint64_t *bits, size_t i)
{
    bits[i >> 6] |= UINT64_C(1) << (i & 63);
}

static inline void bit_clear(uint64_t *bits, size_t i)
{
    bits[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

/* The number of n words, least significant first, x m; what does not fit is returned. */
static inline uint64_t limbs_times(uint64_t *limb, int n, uint64_t m)
{
    uint128 carry = 0;
    for (int i = 0; i < n; i++) {
        carry += (uint128)limb[i] * m;
        limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return (uint64_t)carry;
}

static inline uint32_t bit_width64(uint64_t v)
{
    return v == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(v);
}

static inline uint32_t popcount64(uint64_t v)
{
    return (uint32_t)__builtin_popcountll(v);
}

#endif
