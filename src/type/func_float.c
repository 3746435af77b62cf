/*
 * func_float.c: real and double precision: arithmetic and the mathematical functions.
 *
 * A finite operation that gives an infinity is an error (22003 overflow), a product or quotient of
 * non-zero numbers that gives 0 too (underflow). The loops OR such flags together and look at them once a
 * batch, so + - * vectorise. Domain errors carry PostgreSQL's SQLSTATEs and words. round() is half to even.
 */
#include "type/type_int.h"

#include <assert.h>
#include <math.h>

static tcudb_status overflow(Error *err)
{
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow");
}

static tcudb_status underflow(Error *err)
{
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow");
}

static tcudb_status outcome(bool over, bool under, Error *err)
{
    if (over) return overflow(err);
    return under ? underflow(err) : TCUDB_OK;
}

#define INFINITE(v) ((v) - (v) != 0 && (v) == (v))

/* After a loop that saw something odd: which of the errors is it, if any? Infinity in, infinity out is none. */
#define FLOAT_VERDICT(T, OP, divide)                                                                                   \
    do {                                                                                                               \
        bool over = false, under = false, zero = false;                                                                \
        BINARY_ROWS(T, T, T, {                                                                                         \
            r = x OP y;                                                                                                \
            zero |= divide && y == 0 && x == x;                                                                        \
            over |= INFINITE(r) && !INFINITE(x) && !(divide ? y == 0 : INFINITE(y));                                   \
            under |= r == 0 && x != 0 && !(divide ? INFINITE(y) : y == 0);                                             \
        });                                                                                                            \
        return zero ? division_by_zero(err) : outcome(over, under, err);                                               \
    } while (0)

/* U: an unsigned integer as wide as T, so that the flag vectorises with the values. */
#define FLOAT_KERNELS(prefix, T, U)                                                                                    \
    HOT KERNEL(prefix##_add)                                                                                           \
    {                                                                                                                  \
        U odd = 0;                                                                                                     \
        BINARY_LOOPS(T, T, T, r = x + y; odd |= (U)(r - r != 0));                                                      \
        if (odd != 0) {                                                                                                \
            bool over = false;                                                                                         \
            BINARY_ROWS(T, T, T, r = x + y; over |= INFINITE(r) && !INFINITE(x) && !INFINITE(y));                      \
            return outcome(over, false, err);                                                                          \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    HOT KERNEL(prefix##_sub)                                                                                           \
    {                                                                                                                  \
        U odd = 0;                                                                                                     \
        BINARY_LOOPS(T, T, T, r = x - y; odd |= (U)(r - r != 0));                                                      \
        if (odd != 0) {                                                                                                \
            bool over = false;                                                                                         \
            BINARY_ROWS(T, T, T, r = x - y; over |= INFINITE(r) && !INFINITE(x) && !INFINITE(y));                      \
            return outcome(over, false, err);                                                                          \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    HOT KERNEL(prefix##_mul)                                                                                           \
    {                                                                                                                  \
        U odd = 0;                                                                                                     \
        BINARY_LOOPS(T, T, T, r = x * y; odd |= (U)(r - r != 0) | ((U)(r == 0) & (U)(x != 0)));                        \
        if (odd != 0) FLOAT_VERDICT(T, *, false);                                                                      \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    HOT KERNEL(prefix##_div)                                                                                           \
    {                                                                                                                  \
        U odd = 0;                                                                                                     \
        BINARY_LOOPS(T, T, T, r = x / y; odd |= (U)(r - r != 0) | ((U)(r == 0) & (U)(x != 0)));                        \
        if (odd != 0) FLOAT_VERDICT(T, /, true);                                                                       \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    HOT KERNEL(prefix##_neg)                                                                                           \
    {                                                                                                                  \
        UNARY_LOOPS(T, T, r = -x);                                                                                     \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    HOT KERNEL(prefix##_abs)                                                                                           \
    {                                                                                                                  \
        UNARY_LOOPS(T, T, r = x < 0 ? -x : x == 0 ? 0 : x);                                                            \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_same)                                                                                              \
    {                                                                                                                  \
        UNARY_LOOPS(T, T, r = x);                                                                                      \
        return TCUDB_OK;                                                                                               \
    }

FLOAT_KERNELS(float4, float, uint32_t)
FLOAT_KERNELS(float8, double, uint64_t)

/* ---- functions without errors ------------------------------------------------------------------ */

#define PLAIN(name, EXPR)                                                                                              \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        UNARY_LOOPS(double, double, r = (EXPR));                                                                       \
        return TCUDB_OK;                                                                                               \
    }

PLAIN(float8_ceil, ceil(x))
PLAIN(float8_floor, floor(x))
PLAIN(float8_round, rint(x))
PLAIN(float8_trunc, x >= 0 ? floor(x) : -floor(-x))
PLAIN(float8_sign, x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0)
PLAIN(float8_cbrt, cbrt(x))
PLAIN(float8_atan, atan(x))
PLAIN(float8_tanh, tanh(x))
PLAIN(float8_asinh, asinh(x))

KERNEL(float8_pi)
{
    double *to = out->data;
    EACH_ROW(i, row) to[row] = M_PI;
    return TCUDB_OK;
}

/* xorshift128+ on the worker's state; 53 bits in [0, 1). */
KERNEL(float8_random)
{
    double *to = out->data;
    if (ctx->random[0] == 0 && ctx->random[1] == 0) ctx->random[0] = UINT64_C(0x9e3779b97f4a7c15);
    EACH_ROW(i, row)
    {
        uint64_t s1 = ctx->random[0], s0 = ctx->random[1];
        ctx->random[0] = s0;
        s1 ^= s1 << 23;
        ctx->random[1] = s1 ^ s0 ^ (s1 >> 17) ^ (s0 >> 26);
        to[row] = (double)((ctx->random[1] + s0) >> 11) * 0x1p-53;
    }
    return TCUDB_OK;
}

/* ---- functions with a domain ------------------------------------------------------------------- */

static tcudb_status out_of_range(Error *err)
{
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range");
}

static tcudb_status log_domain(double x, Error *err)
{
    return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_LOGARITHM, "cannot take logarithm of %s",
                     x == 0 ? "zero" : "a negative number");
}

static tcudb_status checked_sqrt(double x, double *r, Error *err)
{
    if (x < 0)
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "cannot take square root of a negative number");
    *r = sqrt(x);
    return TCUDB_OK;
}

static tcudb_status checked_exp(double x, double *r, Error *err)
{
    *r = exp(x);
    if (isinf(*r) && !isinf(x)) return overflow(err);
    return *r == 0 && !isinf(x) ? underflow(err) : TCUDB_OK;
}

static tcudb_status checked_ln(double x, double *r, Error *err)
{
    if (x <= 0) return log_domain(x, err);
    *r = log(x);
    return TCUDB_OK;
}

static tcudb_status checked_log10(double x, double *r, Error *err)
{
    if (x <= 0) return log_domain(x, err);
    *r = log10(x);
    return TCUDB_OK;
}

static tcudb_status checked_power(double x, double y, double *r, Error *err)
{
    if (isnan(x) || isnan(y)) {
        *r = (x == 1.0 || y == 0.0) ? 1.0 : NAN;
        return TCUDB_OK;
    }
    if (x == 0 && y < 0)
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "zero raised to a negative power is undefined");
    if (x < 0 && floor(y) != y)
        return error_set(err, SQLSTATE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                         "a negative number raised to a non-integer power yields a complex result");
    *r = pow(x, y);
    bool finite = !isinf(x) && !isinf(y);
    if (isinf(*r) && finite) return overflow(err);
    return *r == 0 && finite && x != 0 ? underflow(err) : TCUDB_OK;
}

#define CHECKED(name, FN)                                                                                              \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        UNARY_ROWS(double, double, TRY(FN(x, &r, err)));                                                               \
        return TCUDB_OK;                                                                                               \
    }

CHECKED(float8_sqrt, checked_sqrt)
CHECKED(float8_exp, checked_exp)
CHECKED(float8_ln, checked_ln)
CHECKED(float8_log10, checked_log10)

KERNEL(float8_power)
{
    BINARY_ROWS(double, double, double, TRY(checked_power(x, y, &r, err)));
    return TCUDB_OK;
}

KERNEL(float8_atan2)
{
    BINARY_ROWS(double, double, double, r = atan2(x, y));
    return TCUDB_OK;
}

/* Functions undefined where GOOD is false. */
#define DOMAIN(name, GOOD, EXPR)                                                                                       \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        UNARY_ROWS(double, double, {                                                                                   \
            if (!(GOOD)) return out_of_range(err);                                                                     \
            r = (EXPR);                                                                                                \
        });                                                                                                            \
        return TCUDB_OK;                                                                                               \
    }

DOMAIN(float8_sin, !isinf(x), sin(x))
DOMAIN(float8_cos, !isinf(x), cos(x))
DOMAIN(float8_tan, !isinf(x), tan(x))
DOMAIN(float8_cot, !isinf(x), 1.0 / tan(x))
DOMAIN(float8_asin, !(x < -1 || x > 1), asin(x))
DOMAIN(float8_acos, !(x < -1 || x > 1), acos(x))
DOMAIN(float8_acosh, !(x < 1), acosh(x))
DOMAIN(float8_atanh, !(x < -1 || x > 1), atanh(x))

#define OVERFLOWING(name, EXPR)                                                                                        \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        bool over = false, under = false;                                                                              \
        UNARY_LOOPS(double, double, r = (EXPR); over |= INFINITE(r) & !INFINITE(x); under |= (r == 0) & (x != 0));     \
        return outcome(over, under, err);                                                                              \
    }

OVERFLOWING(float8_degrees, x / (M_PI / 180.0))
OVERFLOWING(float8_radians, x *(M_PI / 180.0))

/* sinh and cosh overflow to infinity without an error in PostgreSQL. */
PLAIN(float8_sinh, sinh(x))
PLAIN(float8_cosh, cosh(x))

/* ---- functions of degrees: exact at the multiples of 30 and 45 that have exact values ------------- */

/* sin over 0..30 and cos over 0..60, scaled so that the ends are exactly 0.5; the rest of the quadrant by
 * symmetry. */
static double sin_30(double d)
{
    return sin(d * (M_PI / 180.0)) / sin(30 * (M_PI / 180.0)) / 2;
}

static double cos_60(double d)
{
    return 1 - (1 - cos(d * (M_PI / 180.0))) / (1 - cos(60 * (M_PI / 180.0))) / 2;
}

static double sin_quadrant(double d) /* 0..90 */
{
    return d <= 30 ? sin_30(d) : cos_60(90 - d);
}

static double cos_quadrant(double d)
{
    return d <= 60 ? cos_60(d) : sin_30(90 - d);
}

/* The angle's place in the first quadrant, and the signs that sine and cosine have where it really is. */
static double to_quadrant(double x, double *sin_sign, double *cos_sign)
{
    x = fmod(x, 360);
    *sin_sign = signbit(x) ? -1 : 1;
    *cos_sign = 1;
    x = fabs(x);
    if (x > 180) {
        x = 360 - x;
        *sin_sign = -*sin_sign;
    }
    if (x > 90) {
        x = 180 - x;
        *cos_sign = -1;
    }
    return x;
}

static double sind(double x)
{
    double ss, cs, q = to_quadrant(x, &ss, &cs);
    return ss * sin_quadrant(q);
}

static double cosd(double x)
{
    double ss, cs, q = to_quadrant(x, &ss, &cs);
    return cs * cos_quadrant(q);
}

static double tand(double x)
{
    double ss, cs, q = to_quadrant(x, &ss, &cs);
    double t = ss * cs * (sin_quadrant(q) / cos_quadrant(q) / (sin_quadrant(45) / cos_quadrant(45)));
    return t == 0 ? 0 : t; /* no -0 */
}

static double cotd(double x)
{
    double ss, cs, q = to_quadrant(x, &ss, &cs);
    double t = ss * cs * (cos_quadrant(q) / sin_quadrant(q) / (cos_quadrant(45) / sin_quadrant(45)));
    return t == 0 ? 0 : t;
}

/* The inverses, scaled so that 0, 0.5 and 1 give exact angles. */
static double asin_quadrant(double x) /* 0..1 */
{
    return x <= 0.5 ? asin(x) / asin(0.5) * 30 : 90 - acos(x) / acos(0.5) * 60;
}

static double acos_quadrant(double x)
{
    return x <= 0.5 ? 90 - asin(x) / asin(0.5) * 30 : acos(x) / acos(0.5) * 60;
}

static double asind(double x)
{
    return x >= 0 ? asin_quadrant(x) : -asin_quadrant(-x);
}

static double acosd(double x)
{
    return x >= 0 ? acos_quadrant(x) : 90 + asin_quadrant(-x);
}

DOMAIN(float8_asind, !(x < -1 || x > 1), x != x ? x : asind(x))
DOMAIN(float8_acosd, !(x < -1 || x > 1), x != x ? x : acosd(x))
PLAIN(float8_atand, atan(x) / atan(1.0) * 45)

KERNEL(float8_atan2d)
{
    BINARY_ROWS(double, double, double, r = atan2(x, y) / atan(1.0) * 45);
    return TCUDB_OK;
}

DOMAIN(float8_sind, !isinf(x), sind(x))
DOMAIN(float8_cosd, !isinf(x), cosd(x))
DOMAIN(float8_tand, !isinf(x), tand(x))
DOMAIN(float8_cotd, !isinf(x), cotd(x))

/* As for numeric (func_numeric.c), in floating point. */
static tcudb_status bucket(double x, double low, double high, int32_t count, int32_t *out, Error *err)
{
    const char *state = SQLSTATE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION;
    if (count <= 0) return error_set(err, state, "count must be greater than zero");
    if (isnan(x) || isnan(low) || isnan(high))
        return error_set(err, state, "operand, lower bound, and upper bound cannot be NaN");
    if (isinf(low) || isinf(high)) return error_set(err, state, "lower and upper bounds must be finite");
    if (low == high) return error_set(err, state, "lower bound cannot equal upper bound");
    bool before = low < high ? x < low : x > low, after = low < high ? x >= high : x <= high;
    *out = 0;
    if (before) return TCUDB_OK;
    if (after) return __builtin_add_overflow(count, 1, out) ? range_error("integer", err) : TCUDB_OK;
    double width = high - low;
    double part = isinf(width) ? (x / 2 - low / 2) / (high / 2 - low / 2) : (x - low) / width;
    *out = (int32_t)(part * count);
    if (*out >= count) *out = count - 1;
    ++*out;
    return TCUDB_OK;
}

KERNEL(float8_width_bucket)
{
    const double *x = args[0].data, *low = args[1].data, *high = args[2].data;
    const int32_t *count = args[3].data;
    int32_t *to = out->data;
    EACH_ROW(i, row)
    TRY(bucket(x[row * STRIDE(args[0])], low[row * STRIDE(args[1])], high[row * STRIDE(args[2])],
               count[row * STRIDE(args[3])], &to[row], err));
    return TCUDB_OK;
}

/* ---- casts ------------------------------------------------------------------------------------ */

#define WIDEN(name, A, B)                                                                                              \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        UNARY_LOOPS(A, B, r = (B)x);                                                                                   \
        return TCUDB_OK;                                                                                               \
    }

WIDEN(int2_to_float4, int16_t, float)
WIDEN(int4_to_float4, int32_t, float)
WIDEN(int8_to_float4, int64_t, float)
WIDEN(int2_to_float8, int16_t, double)
WIDEN(int4_to_float8, int32_t, double)
WIDEN(int8_to_float8, int64_t, double)
WIDEN(float4_to_float8, float, double)

KERNEL(float8_to_float4)
{
    bool over = false, under = false;
    UNARY_LOOPS(double, float, r = (float)x; over |= INFINITE(r) & !INFINITE(x); under |= (r == 0) & (x != 0));
    return outcome(over, under, err);
}

/* Half to even; LO and HI are exact doubles: LO <= rint(x) < HI. */
#define FLOAT_TO_INT(name, A, T, LO, HI, sql_name)                                                                     \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        bool bad = false;                                                                                              \
        UNARY_LOOPS(A, T, {                                                                                            \
            double rounded = rint((double)x);                                                                          \
            bool good = rounded >= LO && rounded < HI;                                                                 \
            bad |= !good;                                                                                              \
            r = good ? (T)rounded : 0;                                                                                 \
        });                                                                                                            \
        return bad ? range_error(sql_name, err) : TCUDB_OK;                                                            \
    }

FLOAT_TO_INT(float4_to_int2, float, int16_t, -32768.0, 32768.0, "smallint")
FLOAT_TO_INT(float4_to_int4, float, int32_t, -2147483648.0, 2147483648.0, "integer")
FLOAT_TO_INT(float4_to_int8, float, int64_t, -9223372036854775808.0, 9223372036854775808.0, "bigint")
FLOAT_TO_INT(float8_to_int2, double, int16_t, -32768.0, 32768.0, "smallint")
FLOAT_TO_INT(float8_to_int4, double, int32_t, -2147483648.0, 2147483648.0, "integer")
FLOAT_TO_INT(float8_to_int8, double, int64_t, -9223372036854775808.0, 9223372036854775808.0, "bigint")
