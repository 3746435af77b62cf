/*
 * fixed.c: exact sums of floating point numbers, rounded once.
 *
 * A finite double is an integer x 2^e, so is a product of two, so are all their sums: added as integers they come out
 * the same in any order. Cost: three words and the carry an addition.
 */
#include "exec/tcu/fixed.h"

#include <assert.h>
#include <math.h>

void fixed_add(uint64_t *w, uint32_t n, uint128 magnitude, bool negative, uint32_t shift)
{
    uint32_t at = shift / 64, bit = shift % 64;
    uint64_t parts[3] = {(uint64_t)(magnitude << bit), (uint64_t)(magnitude << bit >> 64),
                         bit == 0 ? 0 : (uint64_t)(magnitude >> (128 - bit))};
    bool carry = false;
    for (uint32_t i = at; i < n; i++) {
        uint64_t part = i - at < 3 ? parts[i - at] : 0;
        if (i - at >= 3 && !carry) return;
        if (negative) {
            bool borrow = __builtin_sub_overflow(w[i], part, &w[i]);
            carry = __builtin_sub_overflow(w[i], (uint64_t)carry, &w[i]) | borrow;
        } else {
            bool over = __builtin_add_overflow(w[i], part, &w[i]);
            carry = __builtin_add_overflow(w[i], (uint64_t)carry, &w[i]) | over;
        }
    }
}

/* Bits [at, at + count) of the magnitude, count <= 64. */
static uint64_t bits_at(const uint64_t *m, uint32_t n, uint32_t at, uint32_t count)
{
    uint32_t word = at / 64, bit = at % 64;
    uint64_t low = word < n ? m[word] >> bit : 0, high = bit > 0 && word + 1 < n ? m[word + 1] << (64 - bit) : 0;
    return (low | high) & (count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1);
}

static bool any_below(const uint64_t *m, uint32_t at)
{
    for (uint32_t i = 0; i < at / 64; i++)
        if (m[i] != 0) return true;
    return at % 64 != 0 && (m[at / 64] & ((UINT64_C(1) << at % 64) - 1)) != 0;
}

void fixed_join(uint64_t *w, const uint64_t *other, uint32_t n)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint128 word = (uint128)w[i] + other[i] + carry;
        w[i] = (uint64_t)word;
        carry = (uint64_t)(word >> 64);
    }
}

double fixed_round(const uint64_t *w, uint32_t n, int exponent)
{
    uint64_t m[FIXED_WORDS];
    assert(n >= 1 && n <= FIXED_WORDS);
    bool negative = w[n - 1] >> 63 != 0, carry = negative;
    for (uint32_t i = 0; i < n; i++) carry = __builtin_add_overflow(negative ? ~w[i] : w[i], (uint64_t)carry, &m[i]);
    uint32_t top = n;
    while (top > 0 && m[top - 1] == 0) top--;
    if (top == 0) return 0;
    int high = (int)(64 * top) - 1 - __builtin_clzll(m[top - 1]), low = high - 52;
    if (low < -1074 - exponent) low = -1074 - exponent; /* subnormal */
    if (low <= 0) return ldexp(negative ? -(double)m[0] : (double)m[0], exponent);
    uint64_t kept = low > high ? 0 : bits_at(m, n, (uint32_t)low, (uint32_t)(high - low + 1));
    bool half = low <= high + 1 && bits_at(m, n, (uint32_t)low - 1, 1) != 0;
    if (half && ((kept & 1) != 0 || any_below(m, (uint32_t)low - 1))) kept++;
    double result = ldexp((double)kept, low + exponent);
    return negative ? -result : result;
}
