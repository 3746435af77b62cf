/*
 * num.c: decimals of up to 38 digits: value x 10^-scale in an int128.
 *
 * PostgreSQL's numeric is a string of base-10000 digits with a display scale. What users see of that
 * design is the scale of results, and it is reproduced here from the decimal form: + and - take the larger
 * scale, * adds them, / keeps at least 16 significant digits counted in whole base-10000 digits
 * (select_div_scale), so 1.0/3 has 20 digits behind the point. Products and quotients go through 256 bits
 * and are rounded once, half away from zero.
 *
 * Invariant: |value| < 10^38, 0 <= scale <= 255; a kind other than NUM_FINITE has value 0 and scale 0.
 * Limits: a result that needs more than 38 digits is an error, where PostgreSQL would go on.
 * Source of the division: Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D.
 */
#include "type/num.h"
#include "type/type_int.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t pow10_64[20] = {1ull,
                                      10ull,
                                      100ull,
                                      1000ull,
                                      10000ull,
                                      100000ull,
                                      1000000ull,
                                      10000000ull,
                                      100000000ull,
                                      1000000000ull,
                                      10000000000ull,
                                      100000000000ull,
                                      1000000000000ull,
                                      10000000000000ull,
                                      100000000000000ull,
                                      1000000000000000ull,
                                      10000000000000000ull,
                                      100000000000000000ull,
                                      1000000000000000000ull,
                                      10000000000000000000ull};

int128 num_pow10(int n)
{
    assert(n >= 0 && n <= NUM_MAX_DIGITS);
    if (n < 20) return (int128)pow10_64[n];
    return (int128)pow10_64[19] * (int128)pow10_64[n - 19];
}

static uint128 magnitude(int128 v)
{
    return v < 0 ? -(uint128)v : (uint128)v;
}

static inline int word_digits(uint64_t m)
{
    int d = (int)(bit_width64(m) * 1233 >> 12); /* log10(2) as 1233/4096: right or one too few */
    return d + (d < 20 && m >= pow10_64[d]);
}

static inline int digits_of(int128 v)
{
    uint128 m = magnitude(v);
    if (m >> 64 == 0) return word_digits((uint64_t)m);
    m /= pow10_64[19];
    return m >= (uint128)pow10_64[19] ? 39 : 19 + word_digits((uint64_t)m);
}

int num_digits(int128 v)
{
    return digits_of(v);
}

static bool fits(int128 v)
{
    const uint128 limit = (uint128)10000000000000000000u * 10000000000000000000u; /* 10^38 */
    return magnitude(v) < limit;
}

tcudb_status num_overflow(Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
    error_detail(err, "A numeric holds %d digits.", NUM_MAX_DIGITS);
    return status;
}

static bool is_word(int128 v)
{
    return v == (int64_t)v;
}

/* v / 10^n, half away from zero. Most numbers are words, whose division is ten times as fast. */
static int128 divide_pow10(int128 v, int n)
{
    if (n > NUM_MAX_DIGITS) return 0;
    if (is_word(v) && n <= NUM_I64_DIGITS) {
        int64_t p = (int64_t)pow10_64[n], q = (int64_t)v / p, r = (int64_t)v % p;
        return q + (r >= p - r ? 1 : 0) - (-r >= p + r ? 1 : 0);
    }
    int128 p = num_pow10(n), q = v / p, r = v % p;
    if (magnitude(r) >= (uint128)p - magnitude(r)) q += v < 0 ? -1 : 1;
    return q;
}

bool num_rescale(int128 v, int from, int to, int128 *out)
{
    if (to <= from) {
        *out = to == from ? v : divide_pow10(v, from - to);
        return true;
    }
    *out = 0;
    if (v == 0) return true;
    if (to - from > NUM_MAX_DIGITS) return false;
    return !__builtin_mul_overflow(v, num_pow10(to - from), out) && fits(*out);
}

/* ---- 256 bits ------------------------------------------------------------------------------ */

typedef struct U256 {
    uint64_t limb[4]; /* least significant first */
} U256;

static U256 u256_of(uint128 v)
{
    return (U256){{(uint64_t)v, (uint64_t)(v >> 64), 0, 0}};
}

static void u256_mul64(U256 *v, uint64_t m)
{
    uint128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (uint128)v->limb[i] * m;
        v->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    assert(carry == 0);
}

static void u256_mul_pow10(U256 *v, int n)
{
    for (; n >= 19; n -= 19) u256_mul64(v, pow10_64[19]);
    u256_mul64(v, pow10_64[n]);
}

/* v / d -> quotient in v, remainder returned; d < 2^64. */
static uint64_t u256_div64(U256 *v, uint64_t d)
{
    uint128 rest = 0;
    int top = 3;
    while (top > 0 && v->limb[top] == 0) top--;
    for (int i = top; i >= 0; i--) {
        rest = rest << 64 | v->limb[i];
        v->limb[i] = (uint64_t)(rest / d);
        rest %= d;
    }
    return (uint64_t)rest;
}

/* One digit of the quotient: (high, low) / (d1, d0) where high < d and d1 has its top bit set. */
static uint64_t quotient_digit(uint128 *high, uint64_t low, uint64_t d1, uint64_t d0)
{
    uint64_t h1 = (uint64_t)(*high >> 64);
    uint128 q = h1 >= d1 ? UINT64_MAX : *high / d1;
    uint128 d = (uint128)d1 << 64 | d0;
    /* q is at most two too large: take q x d off the three limbs and add d back while that went below 0. */
    uint128 p0 = q * d0, p1 = q * d1;
    uint128 lo = (uint128)low - (uint64_t)p0;
    uint64_t borrow = (uint64_t)(lo >> 64) != 0;
    p1 += p0 >> 64;
    __int128 upper = (__int128)(*high - p1 - borrow);
    while (upper < 0) {
        q--;
        uint128 sum = (uint128)(uint64_t)lo + (uint64_t)d;
        lo = (uint64_t)sum;
        upper += (__int128)(d >> 64) + (__int128)(sum >> 64);
    }
    *high = (uint128)(uint64_t)upper << 64 | (uint64_t)lo;
    return (uint64_t)q;
}

/* v / d -> quotient in v, remainder returned. */
static uint128 u256_div128(U256 *v, uint128 d)
{
    if (d >> 64 == 0) return u256_div64(v, (uint64_t)d);
    int shift = __builtin_clzll((uint64_t)(d >> 64));
    uint128 n = d << shift;
    uint64_t limb[5] = {0};
    for (int i = 0; i < 4; i++) {
        limb[i] |= v->limb[i] << shift;
        limb[i + 1] = shift == 0 ? 0 : v->limb[i] >> (64 - shift);
    }
    uint128 rest = (uint128)limb[4] << 64 | limb[3];
    v->limb[3] = 0;
    assert(rest < n);
    for (int i = 2; i >= 0; i--) v->limb[i] = quotient_digit(&rest, limb[i], (uint64_t)(n >> 64), (uint64_t)n);
    return rest >> shift;
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

static Num special(NumKind kind)
{
    return (Num){.kind = (int32_t)kind};
}

static int sign_of(Num a)
{
    if (a.kind == NUM_PINF) return 1;
    if (a.kind == NUM_NINF) return -1;
    return (a.value > 0) - (a.value < 0);
}

static tcudb_status make_finite(int128 value, int scale, Num *out, Error *err)
{
    if (!fits(value) || scale > NUM_MAX_SCALE) return num_overflow(err);
    *out = (Num){.value = value, .scale = scale};
    return TCUDB_OK;
}

tcudb_status num_add(Num a, Num b, Num *out, Error *err)
{
    if (a.kind == NUM_FINITE && b.kind == NUM_FINITE && a.scale == b.scale && is_word(a.value) && is_word(b.value)) {
        *out = (Num){.value = a.value + b.value, .scale = a.scale};
        return TCUDB_OK;
    }
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) {
        bool nan = a.kind == NUM_NAN || b.kind == NUM_NAN ||
                   (a.kind != NUM_FINITE && b.kind != NUM_FINITE && a.kind != b.kind);
        *out = special(nan ? NUM_NAN : a.kind != NUM_FINITE ? (NumKind)a.kind : (NumKind)b.kind);
        return TCUDB_OK;
    }
    int scale = a.scale > b.scale ? a.scale : b.scale;
    int128 x, y;
    if (!num_rescale(a.value, a.scale, scale, &x) || !num_rescale(b.value, b.scale, scale, &y))
        return num_overflow(err);
    if (__builtin_add_overflow(x, y, &x)) return num_overflow(err);
    return make_finite(x, scale, out, err);
}

static Num negate(Num a)
{
    a.value = -a.value;
    if (a.kind == NUM_PINF)
        a.kind = NUM_NINF;
    else if (a.kind == NUM_NINF)
        a.kind = NUM_PINF;
    return a;
}

tcudb_status num_sub(Num a, Num b, Num *out, Error *err)
{
    return num_add(a, negate(b), out, err);
}

tcudb_status num_mul(Num a, Num b, Num *out, Error *err)
{
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) {
        int sign = sign_of(a) * sign_of(b);
        bool nan = a.kind == NUM_NAN || b.kind == NUM_NAN || sign == 0;
        *out = special(nan ? NUM_NAN : sign > 0 ? NUM_PINF : NUM_NINF);
        return TCUDB_OK;
    }
    int128 value;
    if (__builtin_mul_overflow(a.value, b.value, &value)) return num_overflow(err);
    return make_finite(value, a.scale + b.scale, out, err);
}

/* The power of ten of the first digit. */
static inline int exponent_of(Num a)
{
    return a.value == 0 ? 0 : digits_of(a.value) - 1 - a.scale;
}

/* The base-10000 exponent of a number whose first digit has that power of ten. */
static inline int weight_of(int exponent)
{
    return exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
}

/* The leading base-10000 digit that PostgreSQL would store. */
static int leading_digit(Num a, int weight)
{
    int drop = a.scale + 4 * weight;
    uint128 m = magnitude(a.value);
    if (a.value == 0) return 0;
    if (m >> 64 == 0 && drop >= 0 && drop < 20) return (int)((uint64_t)m / pow10_64[drop]);
    return (int)(drop >= 0 ? m / (uint128)num_pow10(drop) : m * (uint128)num_pow10(-drop));
}

/* Whether a's leading base-10000 digit is at most b's: mostly they have different numbers of decimal digits. */
static inline bool leads_no_more(Num a, int ea, Num b, int eb)
{
    int wa = weight_of(ea), wb = weight_of(eb), na = ea - 4 * wa, nb = eb - 4 * wb;
    if (a.value == 0 || na != nb) return a.value == 0 || na < nb;
    return leading_digit(a, wa) <= leading_digit(b, wb);
}

static inline int division_scale(Num a, Num b)
{
    int ea = exponent_of(a), eb = exponent_of(b);
    int weight = weight_of(ea) - weight_of(eb) - leads_no_more(a, ea, b, eb);
    int scale = 16 - 4 * weight;
    if (scale < a.scale) scale = a.scale;
    if (scale < b.scale) scale = b.scale;
    return scale < 0 ? 0 : scale;
}

/* a / b at a given scale, rounded half away from zero or truncated. */
static inline tcudb_status divide_at(Num a, Num b, int scale, bool round, Num *out, Error *err)
{
    int shift = scale - a.scale + b.scale;
    assert(b.value != 0);
    if (a.value == 0) return make_finite(0, scale, out, err);
    int digits = digits_of(a.value) + shift;
    if (shift < 0 || digits > 77) return num_overflow(err);
    uint128 d = magnitude(b.value), value, rest;
    if (digits <= NUM_MAX_DIGITS) {
        uint128 dividend = magnitude(a.value) * (uint128)num_pow10(shift);
        value = dividend / d;
        rest = dividend - value * d;
    } else {
        U256 q = u256_of(magnitude(a.value));
        u256_mul_pow10(&q, shift);
        rest = u256_div128(&q, d);
        value = (uint128)q.limb[1] << 64 | q.limb[0];
        if (q.limb[2] != 0 || q.limb[3] != 0 || q.limb[1] >> 63 != 0) return num_overflow(err);
    }
    if (round && rest >= d - rest) value++;
    bool negative = (a.value < 0) != (b.value < 0);
    return make_finite(negative ? -(int128)value : (int128)value, scale, out, err);
}

/* The leading base-10000 digit of a word with so many digits and that scale, none of whose digits is beyond `weight`.
 */
static inline uint64_t leading_of_word(uint64_t v, int scale, int weight)
{
    int drop = scale + 4 * weight; /* at least -3: a digit's place in its base-10000 digit */
    return v * pow10_64[drop < 0 ? -drop : 0] / pow10_64[drop > 0 ? drop : 0];
}

/* Without branches that depend on the digits: which of them is taken is hard to guess. */
bool num_div_words(int64_t a, int32_t scale_a, int64_t b, int32_t scale_b, Num *out)
{
    if (a == 0 || b == 0 || scale_a > 19 || scale_b > 19) return false;
    uint64_t x = (uint64_t)magnitude(a), y = (uint64_t)magnitude(b);
    int dx = word_digits(x), wx = (dx - 1 - scale_a) >> 2, wy = (word_digits(y) - 1 - scale_b) >> 2;
    int leads = leading_of_word(x, scale_a, wx) <= leading_of_word(y, scale_b, wy);
    int scale = 16 - 4 * (wx - wy - leads);
    scale = scale < scale_a ? scale_a : scale;
    scale = scale < scale_b ? scale_b : scale;
    int shift = scale - scale_a + scale_b;
    if (dx + shift > NUM_MAX_DIGITS) return false;
    uint128 dividend = (uint128)x * pow10_64[shift < 19 ? shift : 19] * pow10_64[shift > 19 ? shift - 19 : 0];
    uint64_t high = (uint64_t)(dividend >> 64), top = high / y;
    uint64_t low = (uint64_t)(((uint128)(high - top * y) << 64 | (uint64_t)dividend) / y);
    uint64_t rest = (uint64_t)dividend - low * y;
    uint128 value = ((uint128)top << 64 | low) + (rest >= y - rest);
    out->value = (a < 0) != (b < 0) ? -(int128)value : (int128)value;
    out->scale = scale;
    out->kind = NUM_FINITE;
    return true;
}

tcudb_status num_div(Num a, Num b, Num *out, Error *err)
{
    if (a.kind == NUM_NAN || b.kind == NUM_NAN) {
        *out = special(NUM_NAN);
        return TCUDB_OK;
    }
    if (b.kind == NUM_FINITE && b.value == 0) return division_by_zero(err);
    bool words = a.kind == NUM_FINITE && b.kind == NUM_FINITE && is_word(a.value) && is_word(b.value);
    if (words && num_div_words((int64_t)a.value, a.scale, (int64_t)b.value, b.scale, out)) return TCUDB_OK;
    if (a.kind != NUM_FINITE) {
        bool nan = b.kind != NUM_FINITE;
        *out = special(nan ? NUM_NAN : sign_of(a) * sign_of(b) > 0 ? NUM_PINF : NUM_NINF);
        return TCUDB_OK;
    }
    if (b.kind != NUM_FINITE) return make_finite(0, 0, out, err);
    return divide_at(a, b, division_scale(a, b), true, out, err);
}

tcudb_status num_quotient(Num a, Num b, Num *out, Error *err)
{
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE || b.value == 0) return num_div(a, b, out, err);
    if (a.scale > b.scale) { /* divide at one scale; a divisor beyond 38 digits there is larger than a */
        if (!num_rescale(b.value, b.scale, a.scale, &b.value)) return make_finite(0, 0, out, err);
        b.scale = a.scale;
    }
    return divide_at(a, b, 0, false, out, err);
}

/* Both at the larger scale; where that needs more than 38 digits, 256 bits hold the dividend. */
static tcudb_status finite_mod(Num a, Num b, Num *out, Error *err)
{
    int scale = a.scale > b.scale ? a.scale : b.scale;
    int128 y;
    if (!num_rescale(b.value, b.scale, scale, &y)) {
        int128 x; /* b is so large that a, if it fits, is the rest */
        if (!num_rescale(a.value, a.scale, scale, &x)) return num_overflow(err);
        return make_finite(x, scale, out, err);
    }
    U256 v = u256_of(magnitude(a.value));
    u256_mul_pow10(&v, scale - a.scale > NUM_MAX_DIGITS ? NUM_MAX_DIGITS : scale - a.scale);
    int128 rest = (int128)u256_div128(&v, magnitude(y));
    return make_finite(a.value < 0 ? -rest : rest, scale, out, err);
}

tcudb_status num_mod(Num a, Num b, Num *out, Error *err)
{
    if (a.kind == NUM_NAN || b.kind == NUM_NAN) {
        *out = special(NUM_NAN);
        return TCUDB_OK;
    }
    if (b.kind == NUM_FINITE && b.value == 0) return division_by_zero(err);
    if (a.kind == NUM_FINITE && b.kind == NUM_FINITE) return finite_mod(a, b, out, err);
    *out = a.kind == NUM_FINITE ? a : special(NUM_NAN);
    return TCUDB_OK;
}

tcudb_status num_round(Num a, int scale, Num *out, Error *err)
{
    *out = a;
    if (a.kind != NUM_FINITE) return TCUDB_OK;
    if (scale > NUM_MAX_SCALE) scale = NUM_MAX_SCALE;
    int128 v;
    if (scale >= 0)
        return num_rescale(a.value, a.scale, scale, &v) ? make_finite(v, scale, out, err) : num_overflow(err);
    if (scale < -NUM_MAX_DIGITS) return make_finite(0, 0, out, err);
    v = divide_pow10(a.value, a.scale - scale);
    int128 back;
    return num_rescale(v, scale, 0, &back) ? make_finite(back, 0, out, err) : num_overflow(err);
}

tcudb_status num_trunc(Num a, int scale, Num *out, Error *err)
{
    if (a.kind != NUM_FINITE || scale >= a.scale) return num_round(a, scale, out, err);
    if (scale < -NUM_MAX_DIGITS) return make_finite(0, 0, out, err);
    int drop = a.scale - scale;
    int128 kept = drop > NUM_MAX_DIGITS ? 0 : 1;
    if (kept != 0 && is_word(a.value) && drop <= NUM_I64_DIGITS)
        kept = (int64_t)a.value / (int64_t)pow10_64[drop];
    else if (kept != 0)
        kept = a.value / num_pow10(drop);
    if (scale >= 0) return make_finite(kept, scale, out, err);
    return make_finite(kept == 0 ? 0 : kept * num_pow10(-scale), 0, out, err);
}

int num_compare(Num a, Num b)
{
    bool words = a.kind == NUM_FINITE && b.kind == NUM_FINITE && is_word(a.value) && is_word(b.value);
    if (words && a.scale <= NUM_I64_DIGITS && b.scale <= NUM_I64_DIGITS) {
        int up = b.scale - a.scale;
        int128 x = (int128)(int64_t)a.value * (int64_t)pow10_64[up > 0 ? up : 0];
        int128 y = (int128)(int64_t)b.value * (int64_t)pow10_64[up < 0 ? -up : 0];
        return (x > y) - (x < y);
    }
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) {
        static const int8_t rank[] = {[NUM_FINITE] = 1, [NUM_NAN] = 3, [NUM_PINF] = 2, [NUM_NINF] = 0};
        return (rank[a.kind] > rank[b.kind]) - (rank[a.kind] < rank[b.kind]);
    }
    int sa = sign_of(a), sb = sign_of(b);
    if (sa != sb || sa == 0) return (sa > sb) - (sa < sb);
    if (a.scale == b.scale) return (a.value > b.value) - (a.value < b.value);
    int ea = num_digits(a.value) - a.scale, eb = num_digits(b.value) - b.scale;
    if (ea != eb) return ea > eb ? sa : -sa;
    /* Same exponent: the one with the smaller scale has fewer digits, so scaling it up stays within 38. */
    int128 x = a.value, y = b.value;
    if (a.scale < b.scale)
        x *= num_pow10(b.scale - a.scale);
    else
        y *= num_pow10(a.scale - b.scale);
    return (x > y) - (x < y);
}

/* ---- casts --------------------------------------------------------------------------------- */

static tcudb_status field_overflow(Type to, bool infinite, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow");
    int integer = to.precision - to.scale;
    if (infinite)
        error_detail(err, "A field with precision %d, scale %d cannot hold an infinite value.", to.precision, to.scale);
    else
        error_detail(err, "A field with precision %d, scale %d must round to an absolute value less than %s%d.",
                     to.precision, to.scale, integer == 0 ? "" : "10^", integer == 0 ? 1 : integer);
    return status;
}

tcudb_status num_to_scaled(Num a, Type to, int128 *value, Error *err)
{
    assert(to.precision > 0);
    if (a.kind == NUM_NAN || a.kind == NUM_PINF || a.kind == NUM_NINF) {
        if (a.kind == NUM_NAN) return error_unsupported(err, 0, "NaN in a numeric with a precision");
    } else if (num_rescale(a.value, a.scale, to.scale, value) && magnitude(*value) < (uint128)num_pow10(to.precision)) {
        return TCUDB_OK;
    }
    return field_overflow(to, a.kind != NUM_FINITE, err);
}

tcudb_status num_to_int8(Num a, const char *type_name_, int64_t lo, int64_t hi, int64_t *out, Error *err)
{
    if (a.kind != NUM_FINITE)
        return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "cannot convert %s to %s",
                         a.kind == NUM_NAN ? "NaN" : "infinity", type_name_);
    int128 v = divide_pow10(a.value, a.scale);
    if (v < lo || v > hi) return range_error(type_name_, err);
    *out = (int64_t)v;
    return TCUDB_OK;
}

/* In the 64 bits of a long double words and 10^27 are exact, so that one division rounds once; a larger number is
 * rounded before it, which is less than two units off. Rounding that to the 53 bits of a double can only go wrong from
 * about the middle between two doubles. false: there, or no such format. */
static bool extended_to_float8(Num a, double *out)
{
#if defined(__x86_64__)
    if (a.scale > 27) return false;
    long double power = (long double)pow10_64[a.scale < 19 ? a.scale : 19];
    if (a.scale > 19) power *= (long double)pow10_64[a.scale - 19];
    long double q = (is_word(a.value) ? (long double)(int64_t)a.value : (long double)a.value) / power;
    uint64_t mantissa;
    memcpy(&mantissa, &q, sizeof mantissa);
    *out = (double)q;
    int off = (int)(mantissa & 0x7ff) - 0x400;
    return off > 2 || off < -2;
#else
    (void)a, (void)out;
    return false;
#endif
}

double num_to_float8(Num a)
{
    if (a.kind == NUM_NAN) return NAN;
    if (a.kind != NUM_FINITE) return a.kind == NUM_PINF ? INFINITY : -INFINITY;
    if (magnitude(a.value) < (uint128)1 << 53 && a.scale <= 22) { /* both exact in a double: one rounding */
        static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
        return (double)(int64_t)a.value / exact[a.scale];
    }
    double extended;
    if (extended_to_float8(a, &extended)) return extended;
    char text[NUM_TEXT_MAX];
    num_print(a, text);
    return strtod(text, NULL);
}

static tcudb_status from_float(double v, int digits, Num *out, Error *err)
{
    if (isnan(v) || isinf(v)) {
        *out = special(isnan(v) ? NUM_NAN : v > 0 ? NUM_PINF : NUM_NINF);
        return TCUDB_OK;
    }
    char text[64];
    snprintf(text, sizeof text, "%.*g", digits, v);
    return num_parse(str_of(text), out, err);
}

tcudb_status num_scaled_from_float(double v, int digits, Type to, int128 *value, Error *err)
{
    Num a = NUM_INT(0);
    if (isfinite(v) && fabs(v) >= 1e38) return field_overflow(to, false, err);
    if (!(fabs(v) < 1e-40)) TRY(from_float(v, digits, &a, err)); /* what is smaller rounds to 0 at any scale */
    return num_to_scaled(a, to, value, err);
}

tcudb_status num_from_float8(double v, Num *out, Error *err)
{
    return from_float(v, 15, out, err);
}

tcudb_status num_from_float4(float v, Num *out, Error *err)
{
    return from_float((double)v, 6, out, err);
}

/* ---- text ---------------------------------------------------------------------------------- */

static uint32_t print_word(uint64_t m, bool negative, uint32_t scale, char *buffer)
{
    uint64_t power = pow10_64[scale], whole = m / power;
    uint32_t len = negative, digits = (uint32_t)word_digits(whole);
    buffer[0] = '-';
    if (digits == 0) digits = 1;
    digits_print(whole, digits, buffer + len);
    len += digits;
    if (scale > 0) {
        buffer[len] = '.';
        digits_print(m - whole * power, scale, buffer + len + 1);
        len += scale + 1;
    }
    buffer[len] = '\0';
    return len;
}

uint32_t num_print(Num a, char buffer[NUM_TEXT_MAX])
{
    static const char *const names[] = {[NUM_NAN] = "NaN", [NUM_PINF] = "Infinity", [NUM_NINF] = "-Infinity"};
    if (a.kind != NUM_FINITE) return (uint32_t)snprintf(buffer, NUM_TEXT_MAX, "%s", names[a.kind]);
    char reversed[NUM_TEXT_MAX];
    uint128 m = magnitude(a.value);
    if (m >> 64 == 0 && a.scale <= NUM_I64_DIGITS)
        return print_word((uint64_t)m, a.value < 0, (uint32_t)a.scale, buffer);
    uint32_t n = 0, len = 0;
    int behind = a.scale;
    while (m > 0 || behind >= 0) {
        if (behind == 0 && a.scale > 0) reversed[n++] = '.';
        reversed[n++] = (char)('0' + (int)(m % 10));
        m /= 10;
        behind--;
    }
    if (a.value < 0) reversed[n++] = '-';
    assert(n < NUM_TEXT_MAX);
    while (n > 0) buffer[len++] = reversed[--n];
    buffer[len] = '\0';
    return len;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool word_equal(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(end - p) != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((p[i] | 0x20) != word[i]) return false;
    return true;
}

static bool parse_special(const char *p, const char *end, Num *out)
{
    bool negative = p < end && *p == '-', sign = negative || (p < end && *p == '+');
    if (sign) p++;
    if (word_equal(p, end, "nan") && !sign)
        *out = special(NUM_NAN);
    else if (word_equal(p, end, "inf") || word_equal(p, end, "infinity"))
        *out = special(negative ? NUM_NINF : NUM_PINF);
    else
        return false;
    return true;
}

/* Digits with at most one point into *value and *scale; digits past the 38th must be counted, not lost. */
static bool parse_digits(const char **at, const char *end, uint128 *value, int *scale, bool *overflow)
{
    const char *p = *at;
    bool point = false, any = false;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9') break;
        any = true;
        if (*value >= (uint128)num_pow10(NUM_MAX_DIGITS - 1))
            *overflow = true;
        else
            *value = *value * 10 + (uint128)(*p - '0');
        *scale += point;
    }
    *at = p;
    return any;
}

static bool parse_exponent(const char **at, const char *end, int *exponent)
{
    const char *p = *at;
    if (p >= end || (*p | 0x20) != 'e') return true;
    p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p >= end || *p < '0' || *p > '9') return false;
    int e = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (e < 100000) e = e * 10 + (*p - '0');
    *exponent = negative ? -e : e;
    *at = p;
    return true;
}

tcudb_status num_parse(Str text, Num *out, Error *err)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    while (p < end && is_space(*p)) p++;
    while (end > p && is_space(end[-1])) end--;
    if (parse_special(p, end, out)) return TCUDB_OK;
    bool negative = p < end && *p == '-', overflow = false;
    if (p < end && (*p == '-' || *p == '+')) p++;
    uint128 value = 0;
    int scale = 0, exponent = 0;
    if (!parse_digits(&p, end, &value, &scale, &overflow) || !parse_exponent(&p, end, &exponent) || p != end)
        return bad_text("numeric", text, err);
    scale -= exponent;
    if (overflow || scale > NUM_MAX_SCALE) return num_overflow(err);
    int128 v = negative ? -(int128)value : (int128)value;
    if (scale < 0) {
        if (v != 0 && !num_rescale(v, scale, 0, &v)) return num_overflow(err);
        scale = 0;
    }
    return make_finite(v, scale, out, err);
}
