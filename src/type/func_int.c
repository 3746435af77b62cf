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

/* STEP computes r and ORs into bad from x and y. */
#define ARITH_KERNEL(name, T, BAD, sql_name, STEP)                                                                     \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        const T *restrict a = args[0].data;                                                                            \
        const T *restrict b = args[1].data;                                                                            \
        T *restrict to = out->data;                                                                                    \
        BAD bad = 0;                                                                                                   \
        assert(nargs == 2);                                                                                            \
        if (sel != NULL) {                                                                                             \
            uint32_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);                                                       \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                const T x = a[sel[i] * sa], y = b[sel[i] * sb];                                                        \
                T r;                                                                                                   \
                STEP;                                                                                                  \
                to[sel[i]] = r;                                                                                        \
            }                                                                                                          \
        } else if (args[0].form == VEC_FLAT && args[1].form == VEC_FLAT) {                                             \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                const T x = a[i], y = b[i];                                                                            \
                T r;                                                                                                   \
                STEP;                                                                                                  \
                to[i] = r;                                                                                             \
            }                                                                                                          \
        } else if (args[0].form == VEC_FLAT) {                                                                         \
            const T y = b[0];                                                                                          \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                const T x = a[i];                                                                                      \
                T r;                                                                                                   \
                STEP;                                                                                                  \
                to[i] = r;                                                                                             \
            }                                                                                                          \
        } else {                                                                                                       \
            const T x = a[0];                                                                                          \
            uint32_t sb = STRIDE(args[1]);                                                                             \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                const T y = b[i * sb];                                                                                 \
                T r;                                                                                                   \
                STEP;                                                                                                  \
                to[i] = r;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
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
ARITH_KERNEL(int8_mul, int64_t, int64_t, "bigint", MUL8_STEP)

#define DIVIDE_KERNELS(prefix, T, MIN, sql_name)                                                                       \
    KERNEL(prefix##_div)                                                                                               \
    {                                                                                                                  \
        const T *a = args[0].data, *b = args[1].data;                                                                  \
        T *to = out->data;                                                                                             \
        uint32_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);                                                           \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            T x = a[row * sa], y = b[row * sb];                                                                        \
            if (y == 0) return division_by_zero(err);                                                                  \
            if (y == -1 && x == MIN) return range_error(sql_name, err);                                                \
            to[row] = (T)(x / y);                                                                                      \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    }                                                                                                                  \
    KERNEL(prefix##_mod)                                                                                               \
    {                                                                                                                  \
        const T *a = args[0].data, *b = args[1].data;                                                                  \
        T *to = out->data;                                                                                             \
        uint32_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);                                                           \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            T x = a[row * sa], y = b[row * sb];                                                                        \
            if (y == 0) return division_by_zero(err);                                                                  \
            to[row] = y == -1 ? 0 : (T)(x % y);                                                                        \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    }

DIVIDE_KERNELS(int2, int16_t, INT16_MIN, "smallint")
DIVIDE_KERNELS(int4, int32_t, INT32_MIN, "integer")
DIVIDE_KERNELS(int8, int64_t, INT64_MIN, "bigint")
