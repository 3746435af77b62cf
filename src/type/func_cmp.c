/*
 * func_cmp.c: comparison kernels, IS DISTINCT FROM, greatest and least.
 *
 * One macro makes the six comparisons of a physical type. Each kernel has separate dense loops for
 * column-column, column-constant and constant-column, which the compiler turns into SIMD compares, and one
 * loop over a selection. Floats follow PostgreSQL: NaN equals NaN and is above everything else. Text is
 * compared by bytes (the C collation), equality by length first.
 */
#include "type/type_int.h"

#include <assert.h>

/* One compare kernel: TEST is an expression in x and y. */
#define COMPARE_KERNEL(name, T, TEST)                                                                                  \
    HOT KERNEL(name)                                                                                                   \
    {                                                                                                                  \
        assert(nargs == 2);                                                                                            \
        BINARY_LOOPS(T, T, uint8_t, r = (TEST));                                                                       \
        return TCUDB_OK;                                                                                               \
    }

/* The same for tests that are calls: nothing to vectorise. */
#define COMPARE_CALL(name, T, TEST)                                                                                    \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        assert(nargs == 2);                                                                                            \
        BINARY_ROWS(T, T, uint8_t, r = (TEST));                                                                        \
        return TCUDB_OK;                                                                                               \
    }

#define SIX_COMPARES(prefix, T)                                                                                        \
    COMPARE_KERNEL(prefix##_eq, T, x == y)                                                                             \
    COMPARE_KERNEL(prefix##_ne, T, x != y)                                                                             \
    COMPARE_KERNEL(prefix##_lt, T, x < y)                                                                              \
    COMPARE_KERNEL(prefix##_le, T, x <= y)                                                                             \
    COMPARE_KERNEL(prefix##_gt, T, x > y)                                                                              \
    COMPARE_KERNEL(prefix##_ge, T, x >= y)

SIX_COMPARES(bool, uint8_t)
SIX_COMPARES(int2, int16_t)
SIX_COMPARES(int4, int32_t)
SIX_COMPARES(int8, int64_t)

/* NaN equals NaN and is greater than everything else. */
#define FLOAT_COMPARES(prefix, T)                                                                                      \
    COMPARE_KERNEL(prefix##_eq, T, (x == y) | ((x != x) & (y != y)))                                                   \
    COMPARE_KERNEL(prefix##_ne, T, !((x == y) | ((x != x) & (y != y))))                                                \
    COMPARE_KERNEL(prefix##_lt, T, (x < y) | ((y != y) & (x == x)))                                                    \
    COMPARE_KERNEL(prefix##_le, T, (x <= y) | (y != y))                                                                \
    COMPARE_KERNEL(prefix##_gt, T, (x > y) | ((x != x) & (y == y)))                                                    \
    COMPARE_KERNEL(prefix##_ge, T, (x >= y) | (x != x))

FLOAT_COMPARES(float4, float)
FLOAT_COMPARES(float8, double)

COMPARE_CALL(text_eq, Str, str_equal(x, y))
COMPARE_CALL(text_ne, Str, !str_equal(x, y))
COMPARE_CALL(text_lt, Str, str_compare(x, y) < 0)
COMPARE_CALL(text_le, Str, str_compare(x, y) <= 0)
COMPARE_CALL(text_gt, Str, str_compare(x, y) > 0)
COMPARE_CALL(text_ge, Str, str_compare(x, y) >= 0)

/* Both sides have one type, so one scale if the precision is known. */
#define NUMERIC_COMPARE(op, TEST_OP)                                                                                   \
    static COMPARE_CALL(int128_##op, int128, x TEST_OP y) static COMPARE_KERNEL(                                       \
        num_##op, Num, num_compare(x, y) TEST_OP 0) KERNEL(numeric_##op)                                               \
    {                                                                                                                  \
        FuncEvalType *eval = args[0].phys == PHYS_NUM ? num_##op : args[0].phys == PHYS_I64 ? int8_##op : int128_##op; \
        assert(args[0].phys == args[1].phys);                                                                          \
        return eval(ctx, args, nargs, sel, n, out, err);                                                               \
    }

NUMERIC_COMPARE(eq, ==)
NUMERIC_COMPARE(ne, !=)
NUMERIC_COMPARE(lt, <)
NUMERIC_COMPARE(le, <=)
NUMERIC_COMPARE(gt, >)
NUMERIC_COMPARE(ge, >=)

/* ---- non-strict, any type: one value at a time --------------------------------------------- */

static bool row_distinct(const Vector *a, const Vector *b, uint32_t row)
{
    Value x = vec_value(a, row), y = vec_value(b, row);
    if (x.null || y.null) return x.null != y.null;
    return value_compare(&x, &y) != 0;
}

KERNEL(any_is_distinct)
{
    uint8_t *to = out->data;
    EACH_ROW(i, row) to[row] = row_distinct(&args[0], &args[1], row);
    return TCUDB_OK;
}

KERNEL(any_is_not_distinct)
{
    uint8_t *to = out->data;
    EACH_ROW(i, row) to[row] = !row_distinct(&args[0], &args[1], row);
    return TCUDB_OK;
}

KERNEL(any_is_null)
{
    uint8_t *to = out->data;
    EACH_ROW(i, row) to[row] = vec_is_null(&args[0], row);
    return TCUDB_OK;
}

KERNEL(any_is_not_null)
{
    uint8_t *to = out->data;
    EACH_ROW(i, row) to[row] = !vec_is_null(&args[0], row);
    return TCUDB_OK;
}

/* Of two arguments without NULLs: one loop. */
#define EXTREME_OF_TWO(T, FIRST_WINS)                                                                                  \
    do {                                                                                                               \
        if (sign > 0)                                                                                                  \
            BINARY_LOOPS(T, T, T, r = FIRST_WINS(x, y) ? x : y);                                                       \
        else                                                                                                           \
            BINARY_LOOPS(T, T, T, r = FIRST_WINS(y, x) ? x : y);                                                       \
    } while (0)

#define NOT_BELOW(a, b)     ((a) >= (b))
#define NUM_NOT_BELOW(a, b) (num_compare(a, b) >= 0)

/* false: not done. Equal numbers of different scale: the first, as the general way takes it. */
static bool extreme_of_two(const Vector *args, uint32_t nargs, const uint16_t *sel, uint32_t n, int sign, Vector *out)
{
    if (nargs != 2 || args[0].valid != NULL || args[1].valid != NULL) return false;
    switch (out->phys) {
    case PHYS_I16: EXTREME_OF_TWO(int16_t, NOT_BELOW); return true;
    case PHYS_I32: EXTREME_OF_TWO(int32_t, NOT_BELOW); return true;
    case PHYS_I64: EXTREME_OF_TWO(int64_t, NOT_BELOW); return true;
    case PHYS_NUM: EXTREME_OF_TWO(Num, NUM_NOT_BELOW); return true;
    default: return false;
    }
}

/* NULL arguments are passed over; all NULL gives NULL. sign 1: the greatest, -1: the least. */
static tcudb_status extreme(EvalCtx *ctx, const Vector *args, uint32_t nargs, const uint16_t *sel, uint32_t n, int sign,
                            Vector *out, Error *err)
{
    size_t size = phys_size((Phys)out->phys);
    if (extreme_of_two(args, nargs, sel, n, sign, out)) return TCUDB_OK;
    EACH_ROW(i, row)
    {
        Value best = {.null = true};
        const Vector *from = NULL;
        for (uint32_t a = 0; a < nargs; a++) {
            Value v = vec_value(&args[a], row);
            if (v.null || (!best.null && value_compare(&v, &best) * sign <= 0)) continue;
            best = v;
            from = &args[a];
        }
        if (from == NULL) {
            TRY(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
            bit_clear(out->valid, row);
        } else {
            memcpy((char *)out->data + row * size, (const char *)from->data + row * STRIDE(*from) * size, size);
        }
    }
    return TCUDB_OK;
}

KERNEL(any_greatest)
{
    return extreme(ctx, args, nargs, sel, n, 1, out, err);
}

KERNEL(any_least)
{
    return extreme(ctx, args, nargs, sel, n, -1, out, err);
}
