/*
 * func_int.c: integer arithmetic.
 *
 * + - * never wrap: a dense loop computes all rows and ORs an overflow flag, so that it has no branch a
 * row and vectorises; only a batch whose flag is set reports "integer out of range". Addition and
 * subtraction detect overflow by sign bits ((a ^ r) & (b ^ r)), narrow multiplication by widening.
 * Division truncates towards zero as C does; INT_MIN / -1 and / 0 are errors found row by row (a division
 * costs more than the test).
 */
#include "type/type_int.h"

#include <assert.h>

tcudb_status range_error(const char *type_name_, Error *err)
{
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "%s out of range", type_name_);
}

tcudb_status division_by_zero(Error *err)
{
    return error_set(err, SQLSTATE_DIVISION_BY_ZERO, "division by zero");
}

/* STEP computes r and makes bad negative on overflow, from x and y. */
#define ARITH_KERNEL(name, T, BAD, sql_name, ...)                                                                      \
    HOT KERNEL(name)                                                                                                   \
    {                                                                                                                  \
        BAD bad = 0;                                                                                                   \
        assert(nargs == 2);                                                                                            \
        BINARY_LOOPS(T, T, T, __VA_ARGS__);                                                                            \
        return bad < 0 ? range_error(sql_name, err) : TCUDB_OK;                                                        \
    }

#define ADD_STEP(T, U)                                                                                                 \
    r = (T)((U)x + (U)y);                                                                                              \
    bad |= (T)((x ^ r) & (y ^ r))
#define SUB_STEP(T, U)                                                                                                 \
    r = (T)((U)x - (U)y);                                                                                              \
    bad |= (T)((x ^ y) & (x ^ r))
/* W is twice as wide; out of range shows as a difference after narrowing. */
#define MUL_STEP(T, W)                                                                                                 \
    W wide = (W)x * (W)y;                                                                                              \
    r = (T)wide;                                                                                                       \
    bad |= -(W)(r != wide)
#define MUL8_STEP bad |= -(int64_t)__builtin_mul_overflow(x, y, &r)

ARITH_KERNEL(int2_add, int16_t, int16_t, "smallint", ADD_STEP(int16_t, uint16_t))
ARITH_KERNEL(int2_sub, int16_t, int16_t, "smallint", SUB_STEP(int16_t, uint16_t))
ARITH_KERNEL(int2_mul, int16_t, int32_t, "smallint", MUL_STEP(int16_t, int32_t))
ARITH_KERNEL(int4_add, int32_t, int32_t, "integer", ADD_STEP(int32_t, uint32_t))
ARITH_KERNEL(int4_sub, int32_t, int32_t, "integer", SUB_STEP(int32_t, uint32_t))
ARITH_KERNEL(int4_mul, int32_t, int64_t, "integer", MUL_STEP(int32_t, int64_t))
ARITH_KERNEL(int8_add, int64_t, int64_t, "bigint", ADD_STEP(int64_t, uint64_t))
ARITH_KERNEL(int8_sub, int64_t, int64_t, "bigint", SUB_STEP(int64_t, uint64_t))
static ARITH_KERNEL(int8_mul_checked, int64_t, int64_t, "bigint", MUL8_STEP)

    /* Bits that any live value has besides its sign: < 2^31 means that all fit 32 bits. */
    HOT static uint64_t used_bits(const Vector *v, const uint16_t *sel, uint32_t n)
{
    const int64_t *a = v->data;
    uint64_t bits = 0;
    if (v->form == VEC_CONST) return (uint64_t)(a[0] ^ (a[0] >> 63));
    if (sel == NULL)
        for (uint32_t i = 0; i < n; i++) bits |= (uint64_t)(a[i] ^ (a[i] >> 63));
    else
        for (uint32_t i = 0; i < n; i++) bits |= (uint64_t)(a[sel[i]] ^ (a[sel[i]] >> 63));
    return bits;
}

HOT static void multiply(const Vector *args, const uint16_t *sel, uint32_t n, Vector *out)
{
    BINARY_LOOPS(int64_t, int64_t, int64_t, r = (int64_t)((uint64_t)x * (uint64_t)y));
}

/* A 64-bit product is expensive to check, 32-bit factors need no check: most batches are such. */
KERNEL(int8_mul)
{
    uint64_t bits = used_bits(&args[0], sel, n) | used_bits(&args[1], sel, n);
    if (bits >> 31 != 0) return int8_mul_checked(ctx, args, nargs, sel, n, out, err);
    multiply(args, sel, n, out);
    return TCUDB_OK;
}

#define DIVIDE_KERNELS(prefix, T, MIN, sql_name)                                                                       \
    KERNEL(prefix##_div)                                                                                               \
    {                                                                                                                  \
        BINARY_ROWS(T, T, T, {                                                                                         \
            if (y == 0) return division_by_zero(err);                                                                  \
            if (y == -1 && x == MIN) return range_error(sql_name, err);                                                \
            r = (T)(x / y);                                                                                            \
        });                                                                                                            \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_mod)                                                                                               \
    {                                                                                                                  \
        BINARY_ROWS(T, T, T, {                                                                                         \
            if (y == 0) return division_by_zero(err);                                                                  \
            r = (T)(y == -1 ? 0 : x % y);                                                                              \
        });                                                                                                            \
        return TCUDB_OK;                                                                                               \
    }

DIVIDE_KERNELS(int2, int16_t, INT16_MIN, "smallint")
DIVIDE_KERNELS(int4, int32_t, INT32_MIN, "integer")
DIVIDE_KERNELS(int8, int64_t, INT64_MIN, "bigint")

/* ---- one argument, and bits ------------------------------------------------------------------- */

/* The greatest common divisor by Euclid on negative numbers, whose range is the larger; the caller checks
 * that the result can be negated. */
static int64_t gcd_negative(int64_t a, int64_t b)
{
    if (a > 0) a = -a;
    if (b > 0) b = -b;
    while (b != 0) {
        int64_t rest = b == -1 ? 0 : a % b;
        a = b;
        b = rest;
    }
    return a;
}

#define SMALL_KERNELS(prefix, T, U, MIN, sql_name)                                                                     \
    KERNEL(prefix##_neg)                                                                                               \
    {                                                                                                                  \
        bool bad = false;                                                                                              \
        UNARY_LOOPS(T, T, bad |= x == MIN; r = (T)(0 - (U)x));                                                         \
        return bad ? range_error(sql_name, err) : TCUDB_OK;                                                            \
    }                                                                                                                  \
    KERNEL(prefix##_abs)                                                                                               \
    {                                                                                                                  \
        bool bad = false;                                                                                              \
        UNARY_LOOPS(T, T, bad |= x == MIN; r = x < 0 ? (T)(0 - (U)x) : x);                                             \
        return bad ? range_error(sql_name, err) : TCUDB_OK;                                                            \
    }                                                                                                                  \
    KERNEL(prefix##_same)                                                                                              \
    {                                                                                                                  \
        UNARY_LOOPS(T, T, r = x);                                                                                      \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_and)                                                                                               \
    {                                                                                                                  \
        BINARY_LOOPS(T, T, T, r = x & y);                                                                              \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_or)                                                                                                \
    {                                                                                                                  \
        BINARY_LOOPS(T, T, T, r = x | y);                                                                              \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_xor)                                                                                               \
    {                                                                                                                  \
        BINARY_LOOPS(T, T, T, r = x ^ y);                                                                              \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_not)                                                                                               \
    {                                                                                                                  \
        UNARY_LOOPS(T, T, r = (T)~x);                                                                                  \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    /* Shift counts are taken modulo the machine's width, as PostgreSQL on x86 does. */                                \
    KERNEL(prefix##_shl)                                                                                               \
    {                                                                                                                  \
        BINARY_LOOPS(T, int32_t, T, r = (T)((U)x << (y & SHIFT_MASK(T))));                                             \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_shr)                                                                                               \
    {                                                                                                                  \
        BINARY_LOOPS(T, int32_t, T, r = (T)(x >> (y & SHIFT_MASK(T))));                                                \
        return TCUDB_OK;                                                                                               \
    }

#define SHIFT_MASK(T) (sizeof(T) == 8 ? 63 : 31)

SMALL_KERNELS(int2, int16_t, uint32_t, INT16_MIN, "smallint")
SMALL_KERNELS(int4, int32_t, uint32_t, INT32_MIN, "integer")
SMALL_KERNELS(int8, int64_t, uint64_t, INT64_MIN, "bigint")

#define GCD_KERNELS(prefix, T, MIN, sql_name)                                                                          \
    KERNEL(prefix##_gcd)                                                                                               \
    {                                                                                                                  \
        BINARY_ROWS(T, T, T, {                                                                                         \
            int64_t g = gcd_negative(x, y);                                                                            \
            if (g == MIN) return range_error(sql_name, err);                                                           \
            r = (T)-g;                                                                                                 \
        });                                                                                                            \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_lcm)                                                                                               \
    {                                                                                                                  \
        BINARY_ROWS(T, T, T, {                                                                                         \
            r = 0;                                                                                                     \
            if (x != 0 && y != 0) {                                                                                    \
                T g = (T)gcd_negative(x, y);                                                                           \
                bool bad = g == -1 && x == MIN;                                                                        \
                if (bad || __builtin_mul_overflow((T)(x / g), y, &r) || r == MIN) return range_error(sql_name, err);   \
                if (r < 0) r = (T)-r;                                                                                  \
            }                                                                                                          \
        });                                                                                                            \
        return TCUDB_OK;                                                                                               \
    }

GCD_KERNELS(int4, int32_t, INT32_MIN, "integer")
GCD_KERNELS(int8, int64_t, INT64_MIN, "bigint")
