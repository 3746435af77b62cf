/*
 * func_numeric.c: numeric operators and functions.
 *
 * Where precision and scale are known, both arguments arrive at one scale (or, for *, at scales that add
 * up to the result's) as int64 or int128, and the operators are integer arithmetic. An int64 result has
 * room by its type (func.c adds the digit or the digits); an int128 one is checked. Without a known
 * precision values are Num and num.c does the work a row at a time.
 */
#include "type/type_int.h"

#include <assert.h>

/* Runs STEP for each live row with x, y and r declared; A, B and R are the element types. */
#define EACH_PAIR(A, B, R, STEP)                                                                                       \
    do {                                                                                                               \
        const A *a = args[0].data;                                                                                     \
        const B *b = args[1].data;                                                                                     \
        R *to = out->data;                                                                                             \
        uint32_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);                                                           \
        if (sel == NULL && sa == 1 && sb == 1) {                                                                       \
            for (uint32_t i = 0; i < n; i++) {                                                                         \
                const A x = a[i];                                                                                      \
                const B y = b[i];                                                                                      \
                R r;                                                                                                   \
                STEP;                                                                                                  \
                to[i] = r;                                                                                             \
            }                                                                                                          \
        } else {                                                                                                       \
            EACH_ROW(i, row)                                                                                           \
            {                                                                                                          \
                const A x = a[row * sa];                                                                               \
                const B y = b[row * sb];                                                                               \
                R r;                                                                                                   \
                STEP;                                                                                                  \
                to[row] = r;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

static bool wide_fits(int128 v)
{
    const int128 limit = num_pow10(NUM_MAX_DIGITS);
    return v < limit && v > -limit;
}

KERNEL(numeric_add)
{
    bool bad = false;
    assert(args[0].phys == out->phys && args[1].phys == out->phys);
    if (out->phys == PHYS_I64)
        EACH_PAIR(int64_t, int64_t, int64_t, r = x + y);
    else if (out->phys == PHYS_I128)
        EACH_PAIR(int128, int128, int128, bad |= __builtin_add_overflow(x, y, &r) || !wide_fits(r));
    else
        EACH_PAIR(Num, Num, Num, TRY(num_add(x, y, &r, err)));
    return bad ? num_overflow(err) : TCUDB_OK;
}

KERNEL(numeric_sub)
{
    bool bad = false;
    assert(args[0].phys == out->phys && args[1].phys == out->phys);
    if (out->phys == PHYS_I64)
        EACH_PAIR(int64_t, int64_t, int64_t, r = x - y);
    else if (out->phys == PHYS_I128)
        EACH_PAIR(int128, int128, int128, bad |= __builtin_sub_overflow(x, y, &r) || !wide_fits(r));
    else
        EACH_PAIR(Num, Num, Num, TRY(num_sub(x, y, &r, err)));
    return bad ? num_overflow(err) : TCUDB_OK;
}

KERNEL(numeric_mul)
{
    bool bad = false, wide_a = args[0].phys == PHYS_I128, wide_b = args[1].phys == PHYS_I128;
    if (out->phys == PHYS_NUM)
        EACH_PAIR(Num, Num, Num, TRY(num_mul(x, y, &r, err)));
    else if (out->phys == PHYS_I64)
        EACH_PAIR(int64_t, int64_t, int64_t, r = x * y);
    else if (!wide_a && !wide_b)
        EACH_PAIR(int64_t, int64_t, int128, r = (int128)x * y);
    else if (wide_a && wide_b)
        EACH_PAIR(int128, int128, int128, bad |= __builtin_mul_overflow(x, y, &r) || !wide_fits(r));
    else if (wide_a)
        EACH_PAIR(int128, int64_t, int128, bad |= __builtin_mul_overflow(x, (int128)y, &r) || !wide_fits(r));
    else
        EACH_PAIR(int64_t, int128, int128, bad |= __builtin_mul_overflow((int128)x, y, &r) || !wide_fits(r));
    return bad ? num_overflow(err) : TCUDB_OK;
}

static Num num_at(const Vector *v, uint32_t row)
{
    size_t i = row * STRIDE(*v);
    if (v->phys == PHYS_I64) return (Num){.value = ((const int64_t *)v->data)[i], .scale = v->type.scale};
    if (v->phys == PHYS_I128) return (Num){.value = ((const int128 *)v->data)[i], .scale = v->type.scale};
    return ((const Num *)v->data)[i];
}

KERNEL(numeric_div)
{
    Num *to = out->data;
    assert(out->phys == PHYS_NUM);
    EACH_ROW(i, row) TRY(num_div(num_at(&args[0], row), num_at(&args[1], row), &to[row], err));
    return TCUDB_OK;
}

/* ---- casts --------------------------------------------------------------------------------- */

static tcudb_status store_scaled(int128 v, Vector *out, uint32_t row)
{
    if (out->phys == PHYS_I64)
        ((int64_t *)out->data)[row] = (int64_t)v;
    else
        ((int128 *)out->data)[row] = v;
    return TCUDB_OK;
}

/* A Num into whatever form out has. */
static tcudb_status store_num(Num v, Vector *out, uint32_t row, Error *err)
{
    if (out->phys == PHYS_NUM) {
        ((Num *)out->data)[row] = v;
        return TCUDB_OK;
    }
    int128 scaled;
    TRY(num_to_scaled(v, out->type, &scaled, err));
    return store_scaled(scaled, out, row);
}

KERNEL(numeric_to_numeric)
{
    int up = out->type.scale - args[0].type.scale;
    bool room = out->type.precision - out->type.scale >= args[0].type.precision - args[0].type.scale;
    if (args[0].phys == PHYS_I64 && out->phys == PHYS_I64 && up >= 0 && room) {
        const int64_t *a = args[0].data, factor = (int64_t)num_pow10(up);
        int64_t *to = out->data;
        uint32_t sa = STRIDE(args[0]);
        EACH_ROW(i, row) to[row] = a[row * sa] * factor;
        return TCUDB_OK;
    }
    EACH_ROW(i, row) TRY(store_num(num_at(&args[0], row), out, row, err));
    return TCUDB_OK;
}

#define FROM_INT_KERNEL(name, T)                                                                                       \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        const T *a = args[0].data;                                                                                     \
        uint32_t sa = STRIDE(args[0]);                                                                                 \
        EACH_ROW(i, row) TRY(store_num(NUM_INT(a[row * sa]), out, row, err));                                          \
        return TCUDB_OK;                                                                                               \
    }

FROM_INT_KERNEL(int2_to_numeric, int16_t)
FROM_INT_KERNEL(int4_to_numeric, int32_t)
FROM_INT_KERNEL(int8_to_numeric, int64_t)

#define TO_INT_KERNEL(name, T, MIN, MAX, sql_name)                                                                     \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        T *to = out->data;                                                                                             \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            int64_t v;                                                                                                 \
            TRY(num_to_int8(num_at(&args[0], row), sql_name, MIN, MAX, &v, err));                                      \
            to[row] = (T)v;                                                                                            \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    }

TO_INT_KERNEL(numeric_to_int2, int16_t, INT16_MIN, INT16_MAX, "smallint")
TO_INT_KERNEL(numeric_to_int4, int32_t, INT32_MIN, INT32_MAX, "integer")
TO_INT_KERNEL(numeric_to_int8, int64_t, INT64_MIN, INT64_MAX, "bigint")
