/*
 * num_variance.c: variance and standard deviation of decimals from exact sums, in PostgreSQL's digits.
 *
 * (n * sum(x^2) - sum(x)^2) / (n * (n - 1)) needs four times the digits of x before it is divided: it is computed in
 * 512 bits, divided at the scale that PostgreSQL's division of these very numbers has, and rounded once; the root is
 * taken of that. What is left must fit 38 digits.
 *
 * Cost: some hundred multiplications; a division by more than 64 bits goes bit by bit.
 */
#include "type/num.h"

#include <assert.h>
#include <string.h>

enum { LIMBS = 8, PARTS_MAX = 9 };

typedef struct Wide {
    uint64_t limb[LIMBS]; /* least significant first */
} Wide;

static bool times_pow10(Wide *v, int n)
{
    bool fits = true;
    for (; n >= 18; n -= 18) fits &= limbs_times(v->limb, LIMBS, (uint64_t)num_pow10(18)) == 0;
    return limbs_times(v->limb, LIMBS, (uint64_t)num_pow10(n)) == 0 && fits;
}

static void add_at(Wide *v, int i, uint128 more)
{
    for (; more != 0 && i < LIMBS; i++) {
        more += v->limb[i];
        v->limb[i] = (uint64_t)more;
        more >>= 64;
    }
}

static Wide square_of(const uint64_t limb[3])
{
    Wide out = {{0}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) add_at(&out, i + k, (uint128)limb[i] * limb[k]);
    return out;
}

static bool subtract(Wide *a, const Wide *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        uint128 rest = (uint128)a->limb[i] - b->limb[i] - borrow;
        a->limb[i] = (uint64_t)rest;
        borrow = rest >> 64 != 0;
    }
    return borrow == 0;
}

static bool is_zero(const Wide *v)
{
    uint64_t any = 0;
    for (int i = 0; i < LIMBS; i++) any |= v->limb[i];
    return any == 0;
}

static int limbs_used(const Wide *v)
{
    int n = LIMBS;
    while (n > 0 && v->limb[n - 1] == 0) n--;
    return n;
}

static uint64_t divide64(Wide *v, uint64_t d)
{
    uint64_t rest = 0;
    for (int i = limbs_used(v) - 1; i >= 0; i--) {
        uint64_t digit = v->limb[i];
        if (rest == 0) { /* no wide division: the first limb, and numbers of one */
            v->limb[i] = digit / d;
            rest = digit % d;
            continue;
        }
        uint128 all = (uint128)rest << 64 | digit;
        v->limb[i] = (uint64_t)(all / d);
        rest = (uint64_t)(all - (uint128)v->limb[i] * d);
    }
    return rest;
}

/* v / d rounded half up; d < 2^127. */
static void divide(Wide *v, uint128 d)
{
    uint128 rest = 0;
    assert(d >> 127 == 0);
    if (d >> 64 == 0) {
        rest = divide64(v, (uint64_t)d);
    } else {
        for (int i = 64 * LIMBS - 1; i >= 0; i--) {
            uint64_t *limb = &v->limb[i / 64], bit = UINT64_C(1) << (i % 64);
            rest = rest << 1 | ((*limb & bit) != 0);
            *limb &= ~bit;
            if (rest < d) continue;
            rest -= d;
            *limb |= bit;
        }
    }
    if (rest >= d - rest) add_at(v, 0, 1);
}

/* The exponent and value of the leading digit in base 10000, for a number that is not 0. */
static void leading_digit(Wide v, int scale, int *weight, int *digit)
{
    uint64_t parts[PARTS_MAX]; /* of 18 digits, least significant first */
    int n = 0;
    for (; !is_zero(&v) && n < PARTS_MAX; n++) parts[n] = divide64(&v, (uint64_t)num_pow10(18));
    assert(n > 0 && is_zero(&v));
    int digits = 18 * (n - 1) + num_digits((int128)parts[n - 1]);
    int exponent = digits - 1 - scale;
    *weight = exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
    *digit = 0;
    for (int k = exponent; k >= 4 * *weight; k--) {
        int at = k + scale;
        bool held = at >= 0 && at < digits;
        *digit = 10 * *digit + (held ? (int)(parts[at / 18] / (uint64_t)num_pow10(at % 18) % 10) : 0);
    }
}

/* PostgreSQL's select_div_scale of a, which has this scale, and an integer. */
static int quotient_scale(const Wide *a, int scale, uint128 divisor)
{
    int weight_a, digit_a, weight_b, digit_b;
    Wide b = {{(uint64_t)divisor, (uint64_t)(divisor >> 64)}};
    leading_digit(*a, scale, &weight_a, &digit_a);
    leading_digit(b, 0, &weight_b, &digit_b);
    int out = 16 - 4 * (weight_a - weight_b - (digit_a <= digit_b));
    if (out < scale) out = scale;
    return out < 0 ? 0 : out;
}

static tcudb_status narrow(const Wide *v, int scale, Num *out, Error *err)
{
    uint64_t high = 0;
    for (int i = 2; i < LIMBS; i++) high |= v->limb[i];
    uint128 value = (uint128)v->limb[1] << 64 | v->limb[0];
    if (high != 0 || value >= (uint128)num_pow10(NUM_MAX_DIGITS) || scale > NUM_MAX_SCALE) return num_overflow(err);
    *out = (Num){.value = (int128)value, .scale = scale};
    return TCUDB_OK;
}

tcudb_status num_variance_wide(int64_t n, const NumMoments *m, bool sample, bool root, Num *out, Error *err)
{
    assert(n > (sample ? 1 : 0));
    Wide a = {{0}}, b = square_of(m->sum);
    memcpy(a.limb, m->squares, sizeof m->squares);
    *out = NUM_INT(0);
    if (limbs_times(a.limb, LIMBS, (uint64_t)n) != 0) return num_overflow(err);
    if (!subtract(&a, &b) || is_zero(&a)) return TCUDB_OK;
    uint128 divisor = (uint128)(uint64_t)n * (uint64_t)(sample ? n - 1 : n);
    int scale = quotient_scale(&a, 2 * m->scale, divisor);
    if (!times_pow10(&a, scale - 2 * m->scale)) return num_overflow(err);
    divide(&a, divisor);
    TRY(narrow(&a, scale, out, err));
    return root ? num_sqrt_at(*out, scale, out, err) : TCUDB_OK;
}

tcudb_status num_variance(int128 n, Num sum, Num squares, bool sample, bool root, Num *out, Error *err)
{
    uint128 s = sum.value < 0 ? -(uint128)sum.value : (uint128)sum.value, q = (uint128)squares.value;
    NumMoments m = {
        .sum = {(uint64_t)s, (uint64_t)(s >> 64)}, .squares = {(uint64_t)q, (uint64_t)(q >> 64)}, .scale = sum.scale};
    assert(squares.scale == 2 * sum.scale && squares.value >= 0 && n == (int64_t)n);
    return num_variance_wide((int64_t)n, &m, sample, root, out, err);
}
