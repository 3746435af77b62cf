/*
 * num_big.c: numeric's sqrt, exp, ln, log and power.
 *
 * These need more digits on the way than the 38 of a result. A Big is a decimal floating-point number of 12
 * limbs in base 10^9 (at least 100 significant digits), so that every function is computed with some sixty
 * digits to spare and rounded once, half away from zero, at the scale PostgreSQL chooses from an estimate of the
 * result's magnitude. Square roots are exact integer roots and need no Big.
 *
 *   exp(x) = 10^k e^r with x = k ln 10 + r, |r| <= 1.2; e^r by the Taylor series of r / 2^10 and ten squarings
 *   ln(x)  = k ln 10 + ln(m), x = m 10^k; ln(m) from the double by Halley's iteration y += 2 (m - e^y) / (m + e^y),
 *            which triples the correct digits each time
 *
 * Cost: tens of microseconds a call; these are not functions for hot loops.
 */
#include "type/num.h"
#include "type/type_int.h"

#include <assert.h>
#include <math.h>

enum { LIMBS = 12, BASE = 1000000000, LIMB_DIGITS = 9 };

/* sign x 0.limb[0] limb[1] ... x BASE^exp; limb[0] != 0 unless the number is 0 (sign 0). */
typedef struct Big {
    int sign;
    int exp;
    uint32_t limb[LIMBS];
} Big;

static const char ln10_digits[] = "2"
                                  "302585092994045684017991454684364207601101488628772976033327900967572609677352480235"
                                  "997205089598298341967784042286248633409525";

/* ---- making and rounding --------------------------------------------------------------------- */

/* From limbs with a carry in front: raw[0] is the carry, raw[1..n] the limbs of 0.raw x BASE^exp. */
static Big normalised(int sign, int exp, const uint32_t *raw, int n)
{
    Big out = {.sign = sign, .exp = exp + 1};
    int skip = 0;
    while (skip <= n && raw[skip] == 0) skip++;
    if (skip > n) return (Big){0};
    out.exp -= skip;
    for (int i = 0; i < LIMBS && skip + i <= n; i++) out.limb[i] = raw[skip + i];
    return out;
}

/* m < BASE^5, as 0.m with its last limb at BASE^0. */
static Big big_of(int sign, uint128 m)
{
    uint32_t raw[6] = {0};
    for (int i = 5; i >= 1; i--) {
        raw[i] = (uint32_t)(m % BASE);
        m /= BASE;
    }
    return normalised(sign, 5, raw, 5);
}

static Big big_int(int64_t v)
{
    return big_of(v < 0 ? -1 : 1, v < 0 ? -(uint128)v : (uint128)v);
}

static int big_compare_size(const Big *a, const Big *b)
{
    if (a->sign == 0 || b->sign == 0) return (a->sign != 0) - (b->sign != 0);
    if (a->exp != b->exp) return a->exp > b->exp ? 1 : -1;
    for (int i = 0; i < LIMBS; i++)
        if (a->limb[i] != b->limb[i]) return a->limb[i] > b->limb[i] ? 1 : -1;
    return 0;
}

/* a's size + or - b's, where a's is not the smaller. */
static Big combine(const Big *a, const Big *b, bool subtract, int sign)
{
    uint32_t raw[2 * LIMBS + 1] = {0};
    int shift = a->exp - b->exp;
    assert(shift >= 0);
    memcpy(raw + 1, a->limb, sizeof a->limb);
    int64_t carry = 0;
    for (int i = 2 * LIMBS; i >= 0; i--) {
        int k = i - 1 - shift;
        int64_t other = k >= 0 && k < LIMBS ? b->limb[k] : 0;
        int64_t v = (int64_t)raw[i] + carry + (subtract ? -other : other);
        carry = v < 0 ? -1 : v >= BASE ? 1 : 0;
        raw[i] = (uint32_t)(v - carry * BASE);
    }
    return normalised(sign, a->exp, raw, 2 * LIMBS);
}

static Big big_add(Big a, Big b)
{
    if (a.sign == 0) return b;
    if (b.sign == 0) return a;
    bool larger = big_compare_size(&a, &b) >= 0;
    const Big *x = larger ? &a : &b, *y = larger ? &b : &a;
    if (x->exp - y->exp > LIMBS) return *x;
    return combine(x, y, x->sign != y->sign, x->sign);
}

static Big big_negate(Big a)
{
    a.sign = -a.sign;
    return a;
}

static Big big_sub(Big a, Big b)
{
    return big_add(a, big_negate(b));
}

static Big big_mul(Big a, Big b)
{
    uint32_t raw[2 * LIMBS + 1] = {0};
    for (int i = LIMBS - 1; i >= 0; i--) {
        uint64_t carry = 0;
        for (int j = LIMBS - 1; j >= 0; j--) {
            uint64_t v = (uint64_t)a.limb[i] * b.limb[j] + raw[i + j + 2] + carry;
            raw[i + j + 2] = (uint32_t)(v % BASE);
            carry = v / BASE;
        }
        raw[i + 1] = (uint32_t)carry;
    }
    return normalised(a.sign * b.sign, a.exp + b.exp, raw, 2 * LIMBS);
}

static Big big_div_small(Big a, uint32_t d)
{
    uint32_t raw[LIMBS + 2] = {0};
    uint64_t rest = 0;
    for (int i = 0; i <= LIMBS; i++) {
        rest = rest * BASE + (i < LIMBS ? a.limb[i] : 0);
        raw[i + 1] = (uint32_t)(rest / d);
        rest %= d;
    }
    return normalised(a.sign, a.exp, raw, LIMBS + 1);
}

static double big_double(const Big *a)
{
    double v = 0;
    for (int i = 3; i >= 0; i--) v = (v + a->limb[i]) / BASE;
    return a->sign * v * pow(BASE, a->exp);
}

/* 1 / a by Newton's iteration r += r (1 - a r), which doubles the correct digits each time. */
static Big big_inverse(Big a)
{
    assert(a.sign != 0);
    Big fraction = a, one = big_int(1);
    fraction.exp = 0; /* 1/BASE <= |fraction| < 1 */
    double start = 1 / big_double(&fraction);
    uint64_t whole = (uint64_t)(fabs(start) * 1e6);
    Big r = big_div_small(big_int((int64_t)whole), 1000000);
    r.sign = a.sign;
    for (int i = 0; i < 5; i++) r = big_add(r, big_mul(r, big_sub(one, big_mul(fraction, r))));
    r.exp -= a.exp;
    return r;
}

static Big big_div(Big a, Big b)
{
    return big_mul(a, big_inverse(b));
}

/* The n-th decimal digit behind the point of 0.limbs, n from 0. */
static int digit_at(const Big *a, int n)
{
    static const uint32_t powers[LIMB_DIGITS] = {100000000, 10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    if (n < 0 || n >= LIMBS * LIMB_DIGITS) return 0;
    return (int)(a->limb[n / LIMB_DIGITS] / powers[n % LIMB_DIGITS] % 10);
}

/* Rounded half away from zero to `scale` digits. */
static tcudb_status big_num(const Big *a, int scale, Num *out, Error *err)
{
    *out = (Num){.scale = scale};
    if (scale > NUM_MAX_SCALE) return num_overflow(err);
    if (a->sign == 0) return TCUDB_OK;
    int keep = a->exp * LIMB_DIGITS + scale; /* digits of 0.limbs to keep */
    uint128 v = 0;
    for (int i = 0; i < keep; i++) {
        if (v >= (uint128)num_pow10(NUM_MAX_DIGITS - 1)) return num_overflow(err);
        v = v * 10 + (uint128)digit_at(a, i);
    }
    if (keep >= 0 && digit_at(a, keep) >= 5) v++;
    if (v >= (uint128)num_pow10(NUM_MAX_DIGITS)) return num_overflow(err);
    out->value = a->sign < 0 ? -(int128)v : (int128)v;
    return TCUDB_OK;
}

/* a x 10^n */
static Big big_shift(Big a, int n)
{
    int limbs = n >= 0 ? n / LIMB_DIGITS : -((LIMB_DIGITS - 1 - n) / LIMB_DIGITS);
    int64_t factor = 1;
    for (int i = limbs * LIMB_DIGITS; i < n; i++) factor *= 10;
    if (factor > 1) a = big_mul(a, big_int(factor));
    a.exp += a.sign == 0 ? 0 : limbs;
    return a;
}

static Big big_from_num(Num a)
{
    int sign = (a.value > 0) - (a.value < 0);
    return big_shift(big_of(sign, a.value < 0 ? -(uint128)a.value : (uint128)a.value), -a.scale);
}

static Big big_ln10(void)
{
    uint32_t raw[LIMBS + 2] = {0, 2};
    for (int i = 0; i < LIMBS; i++)
        for (int d = 0; d < LIMB_DIGITS; d++)
            raw[i + 2] = raw[i + 2] * 10 + (uint32_t)(ln10_digits[1 + i * LIMB_DIGITS + d] - '0');
    return normalised(1, 1, raw, LIMBS + 1);
}

/* ---- functions ---------------------------------------------------------------------------------- */

static Big big_exp(Big x)
{
    enum { HALVINGS = 10 };
    Big ln10 = big_ln10(), term = big_int(1), sum = term;
    int k = (int)rint(big_double(&x) / M_LN10);
    Big r = big_div_small(big_sub(x, big_mul(ln10, big_int(k))), 1u << HALVINGS);
    for (uint32_t i = 1; i < 60; i++) {
        term = big_div_small(big_mul(term, r), i);
        if (term.sign == 0 || term.exp < -LIMBS) break;
        sum = big_add(sum, term);
    }
    for (int i = 0; i < HALVINGS; i++) sum = big_mul(sum, sum);
    return big_shift(sum, k);
}

/* x > 0 */
static Big big_ln(Big x)
{
    int k = x.exp * LIMB_DIGITS;
    for (int i = 0; digit_at(&x, i) == 0; i++) k--;
    Big m = big_shift(x, -k); /* 0.1 <= m < 1 */
    double start = log(big_double(&m));
    Big y = big_div_small(big_int((int64_t)rint(start * 1e9)), BASE);
    for (int i = 0; i < 3; i++) {
        Big e = big_exp(y);
        Big step = big_div(big_sub(m, e), big_add(m, e));
        y = big_add(y, big_add(step, step));
    }
    return big_add(y, big_mul(big_ln10(), big_int(k)));
}

static Big big_power_int(Big base, uint64_t n)
{
    Big result = big_int(1);
    for (; n > 0; n >>= 1) {
        if (n & 1) result = big_mul(result, base);
        base = big_mul(base, base);
    }
    return result;
}

/* ---- PostgreSQL's scales ---------------------------------------------------------------------------- */

static int at_least(int scale, int least)
{
    return scale > least ? scale : least;
}

/* |a|'s leading base-10000 digits as a double and its decimal exponent: a ~ f x 10^p. */
static double leading_digits(Num a, int digits, int *p)
{
    uint128 m = a.value < 0 ? -(uint128)a.value : (uint128)a.value;
    int n = num_digits((int128)m), exponent = n - 1 - a.scale;
    int weight = exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
    int cut = a.scale + 4 * (weight - digits + 1); /* drop what is behind the `digits`-th */
    if (cut > 0) {
        m = cut > NUM_MAX_DIGITS ? 0 : m / (uint128)num_pow10(cut);
        *p = 4 * (weight - digits + 1);
    } else {
        *p = -a.scale;
    }
    return (double)m;
}

/* The decimal weight of ln(a), a > 0. */
static int ln_weight(Num a)
{
    const Num low = {.value = 9, .scale = 1}, high = {.value = 11, .scale = 1};
    if (num_compare(a, low) >= 0 && num_compare(a, high) <= 0) {
        Num x;
        if (num_sub(a, NUM_INT(1), &x, NULL) != TCUDB_OK || x.value == 0) return 0;
        return num_digits(x.value) - 1 - x.scale;
    }
    int p;
    double f = leading_digits(a, 2, &p);
    return (int)log10(fabs(log(f) + p * M_LN10));
}

static tcudb_status log_domain(Num a, Error *err)
{
    return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of %s",
                     a.kind == NUM_FINITE && a.value == 0 ? "zero" : "a negative number");
}

static bool is_negative(Num a)
{
    return a.kind == NUM_NINF || (a.kind == NUM_FINITE && a.value < 0);
}

static Num special(NumKind kind)
{
    return (Num){.kind = (int32_t)kind};
}

/* ---- square root ------------------------------------------------------------------------------------ */

typedef struct Square {
    uint64_t limb[4]; /* below 2^255, so that differences have a sign */
} Square;

static long double square_to_double(const Square *v)
{
    long double f = 0;
    for (int i = 3; i >= 0; i--) f = f * 0x1p64L + (long double)v->limb[i];
    return f;
}

/* v - r^2, modulo 2^256. */
static Square rest_of(Square v, uint128 r)
{
    uint64_t low = (uint64_t)r, high = (uint64_t)(r >> 64);
    uint128 ll = (uint128)low * low, lh = (uint128)low * high, hh = (uint128)high * high;
    uint128 middle = (ll >> 64) + (uint64_t)(lh << 1);
    uint128 top = hh + (lh >> 63) + (middle >> 64);
    uint64_t square[4] = {(uint64_t)ll, (uint64_t)middle, (uint64_t)top, (uint64_t)(top >> 64)}, borrow = 0;
    for (int i = 0; i < 4; i++) {
        uint128 rest = (uint128)v.limb[i] - square[i] - borrow;
        v.limb[i] = (uint64_t)rest;
        borrow = rest >> 64 != 0;
    }
    return v;
}

/* The root's error by the rest's size: rest / 2 r. */
static int128 correction(Square rest, long double r)
{
    bool negative = rest.limb[3] >> 63 != 0;
    for (int i = 0; i < 4; i++) rest.limb[i] = negative ? ~rest.limb[i] : rest.limb[i];
    int128 by = (int128)(square_to_double(&rest) / (2 * r));
    return negative ? -by : by;
}

/*
 * floor(sqrt(v)) for 0 < v = m x 10^shift < 10^76. The machine's root has 64 bits; what its square misses corrects it
 * to within a few units, which are gone over one by one.
 */
static uint128 root(uint128 m, int shift, bool *round_up)
{
    Square v = {{(uint64_t)m, (uint64_t)(m >> 64)}};
    assert(m > 0 && shift >= 0);
    for (; shift >= 18; shift -= 18) (void)limbs_times(v.limb, 4, (uint64_t)num_pow10(18));
    (void)limbs_times(v.limb, 4, (uint64_t)num_pow10(shift));
    uint128 r = (uint128)sqrtl(square_to_double(&v));
    r = (uint128)((int128)r + correction(rest_of(v, r), (long double)r));
    while (rest_of(v, r).limb[3] >> 63 != 0) r--;
    Square rest = rest_of(v, r); /* of the right root at most 2 r */
    for (; rest.limb[2] != 0 || rest.limb[3] != 0 || ((uint128)rest.limb[1] << 64 | rest.limb[0]) > 2 * r; r++)
        rest = rest_of(v, r + 1);
    *round_up = ((uint128)rest.limb[1] << 64 | rest.limb[0]) > r;
    return r;
}

tcudb_status num_sqrt(Num a, Num *out, Error *err)
{
    if (is_negative(a))
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "cannot take square root of a negative number");
    *out = a;
    if (a.kind != NUM_FINITE) return TCUDB_OK;
    int exponent = num_digits(a.value) - 1 - a.scale;
    int weight = a.value == 0 ? 0 : exponent >= 0 ? exponent / 4 : -((3 - exponent) / 4);
    int root_weight = (weight + 1) * 4 / 2 - 1;
    int scale = at_least(at_least(16 - root_weight, a.scale), 0);
    return num_sqrt_at(a, scale, out, err);
}

tcudb_status num_sqrt_at(Num a, int scale, Num *out, Error *err)
{
    assert(a.kind == NUM_FINITE && a.value >= 0);
    int shift = 2 * scale - a.scale;
    uint128 m = (uint128)a.value;
    *out = (Num){.scale = scale};
    if (scale > NUM_MAX_SCALE) return num_overflow(err);
    if (m == 0) return TCUDB_OK;
    if (shift < 0) return num_round((Num){.value = (int128)rint(sqrt(num_to_float8(a)))}, scale, out, err);
    if (num_digits(a.value) + shift > 74) return num_overflow(err);
    if (shift % 2 != 0) {
        if (m >= (uint128)num_pow10(NUM_MAX_DIGITS) / 10) return num_overflow(err);
        m *= 10;
        shift--;
    }
    bool up;
    uint128 r = root(m, shift, &up) + 0;
    if (up) r++;
    if (r >= (uint128)num_pow10(NUM_MAX_DIGITS)) return num_overflow(err);
    out->value = (int128)r;
    return TCUDB_OK;
}

/* ---- exp, ln, log ------------------------------------------------------------------------------------ */

tcudb_status num_exp(Num a, Num *out, Error *err)
{
    *out = a;
    if (a.kind == NUM_NINF) *out = NUM_INT(0);
    if (a.kind != NUM_FINITE) return TCUDB_OK;
    double v = num_to_float8(a) * 0.434294481903252;
    if (v > 1000 || v < -1000) return num_overflow(err); /* below, the zeros behind the point are too many */
    int scale = at_least(at_least(16 - (int)v, a.scale), 0);
    Big e = big_exp(big_from_num(a));
    return big_num(&e, scale, out, err);
}

tcudb_status num_ln(Num a, Num *out, Error *err)
{
    if (a.kind == NUM_NAN || a.kind == NUM_PINF) {
        *out = a;
        return TCUDB_OK;
    }
    if (a.kind == NUM_NINF || a.value <= 0) return log_domain(a, err);
    int scale = at_least(at_least(16 - ln_weight(a), a.scale), 0);
    Big y = big_ln(big_from_num(a));
    return big_num(&y, scale, out, err);
}

static tcudb_status log_of_infinite(Num base, Num a, Num *out, Error *err)
{
    *out = special(NUM_NAN);
    if (base.kind == NUM_NAN || a.kind == NUM_NAN) return TCUDB_OK;
    if (is_negative(base) || is_negative(a)) return log_domain(is_negative(base) ? base : a, err);
    if (base.kind == NUM_FINITE && base.value == 0) return log_domain(base, err);
    if (a.kind == NUM_FINITE && a.value == 0) return log_domain(a, err);
    if (base.kind == NUM_FINITE) *out = special(NUM_PINF);
    if (a.kind == NUM_FINITE) *out = NUM_INT(0);
    return TCUDB_OK;
}

tcudb_status num_log(Num base, Num a, Num *out, Error *err)
{
    if (base.kind != NUM_FINITE || a.kind != NUM_FINITE) return log_of_infinite(base, a, out, err);
    if (base.value <= 0) return log_domain(base, err);
    if (a.value <= 0) return log_domain(a, err);
    Big b = big_ln(big_from_num(base)), y = big_ln(big_from_num(a));
    if (num_compare(base, NUM_INT(1)) == 0) return division_by_zero(err);
    int scale = 16 - (ln_weight(a) - ln_weight(base));
    scale = at_least(at_least(at_least(scale, base.scale), a.scale), 0);
    Big q = y.sign == 0 ? y : big_div(y, b);
    return big_num(&q, scale, out, err);
}

/* ---- power --------------------------------------------------------------------------------------------- */

static tcudb_status power_int(Num base, int32_t n, Num *out, Error *err)
{
    int scale = at_least(16, base.scale), p;
    if (base.value == 0 && n != 0) {
        *out = (Num){.scale = scale};
        return TCUDB_OK;
    }
    if (base.value != 0) { /* leave before the exponent of a Big could overflow */
        double weight = log10(leading_digits(base, 4, &p));
        weight = n * (weight + p);
        if (weight > 1000) return num_overflow(err);
        if (weight < -1000) {
            *out = (Num){.scale = scale};
            return TCUDB_OK;
        }
    }
    Big r = big_power_int(big_from_num(base), n < 0 ? -(uint64_t)(int64_t)n : (uint64_t)n);
    if (n < 0) r = big_inverse(r);
    return big_num(&r, scale, out, err);
}

/* ln x exponent as PostgreSQL estimates it to choose the scale: from a logarithm of eight digits. */
static double about_eight_digits(double ln, double exponent)
{
    int digits = 8 - (ln == 0 ? 0 : (int)log10(fabs(ln)));
    double unit = pow(10, digits < 0 ? 0 : digits);
    return round(round(ln * unit) * exponent) / unit;
}

static tcudb_status power_real(Num base, Num exponent, bool negative, Num *out, Error *err)
{
    if (base.value == 0) {
        *out = (Num){.scale = 16};
        return TCUDB_OK;
    }
    Big ln_base = big_ln(big_from_num(base)), ln = big_mul(ln_base, big_from_num(exponent));
    double v = about_eight_digits(big_double(&ln_base), num_to_float8(exponent));
    if (v > 1000 * 3.01) return num_overflow(err);
    if (v < -1000 * 3.01) return num_overflow(err);
    int scale = 16 - (int)(v * 0.434294481903252);
    scale = at_least(at_least(at_least(scale, base.scale), exponent.scale), 0);
    Big r = big_exp(ln);
    if (negative) r.sign = -r.sign;
    return big_num(&r, scale, out, err);
}

/* As C99's pow, with 1 ^ NaN = NaN ^ 0 = 1. */
static tcudb_status power_special(Num base, Num exponent, Num *out, Error *err)
{
    bool one = base.kind == NUM_FINITE && num_compare(base, NUM_INT(1)) == 0;
    bool zero_exp = exponent.kind == NUM_FINITE && exponent.value == 0;
    *out = NUM_INT(1);
    if (one || zero_exp) return TCUDB_OK;
    *out = special(NUM_NAN);
    if (base.kind == NUM_NAN || exponent.kind == NUM_NAN) return TCUDB_OK;
    bool integer = true, odd = false;
    if (exponent.kind == NUM_FINITE) {
        Num whole;
        TRY(num_trunc(exponent, 0, &whole, err));
        integer = num_compare(whole, exponent) == 0;
        odd = integer && whole.value % 2 != 0;
    }
    if (is_negative(base) && !integer)
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "a negative number raised to a non-integer power yields a complex result");
    if (exponent.kind != NUM_FINITE) {
        if (base.kind == NUM_FINITE && base.value == 0 && exponent.kind == NUM_NINF)
            return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                             "zero raised to a negative power is undefined");
        Num size = base;
        if (is_negative(base))
            size = base.kind == NUM_FINITE ? (Num){.value = -base.value, .scale = base.scale} : special(NUM_PINF);
        int order = num_compare(size, NUM_INT(1));
        bool up = (order > 0) == (exponent.kind == NUM_PINF);
        *out = order == 0 ? NUM_INT(1) : up ? special(NUM_PINF) : NUM_INT(0);
        return TCUDB_OK;
    }
    if (exponent.value < 0)
        *out = NUM_INT(0);
    else
        *out = special(is_negative(base) && odd ? NUM_NINF : NUM_PINF);
    return TCUDB_OK;
}

tcudb_status num_power(Num base, Num exponent, Num *out, Error *err)
{
    if (base.kind != NUM_FINITE || exponent.kind != NUM_FINITE) return power_special(base, exponent, out, err);
    Num whole;
    TRY(num_trunc(exponent, 0, &whole, err));
    bool integer = num_compare(whole, exponent) == 0;
    if (base.value == 0 && exponent.value < 0)
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "zero raised to a negative power is undefined");
    if (base.value < 0 && !integer)
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "a negative number raised to a non-integer power yields a complex result");
    if (integer && whole.value >= INT32_MIN && whole.value <= INT32_MAX)
        return power_int(base, (int32_t)whole.value, out, err);
    bool negative = base.value < 0 && whole.value % 2 != 0;
    if (base.value < 0) base.value = -base.value;
    return power_real(base, exponent, negative, out, err);
}
