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
#include <math.h>

static bool wide_fits(int128 v)
{
    const int128 limit = num_pow10(NUM_MAX_DIGITS);
    return v < limit && v > -limit;
}

/* int64 results have room by their type. */
HOT static void add_scaled(const Vector *args, const uint16_t *sel, uint32_t n, Vector *out)
{
    BINARY_LOOPS(int64_t, int64_t, int64_t, r = x + y);
}

HOT static void subtract_scaled(const Vector *args, const uint16_t *sel, uint32_t n, Vector *out)
{
    BINARY_LOOPS(int64_t, int64_t, int64_t, r = x - y);
}

HOT static void multiply_scaled(const Vector *args, const uint16_t *sel, uint32_t n, Vector *out)
{
    BINARY_LOOPS(int64_t, int64_t, int64_t, r = x * y);
}

KERNEL(numeric_add)
{
    bool bad = false;
    assert(args[0].phys == out->phys && args[1].phys == out->phys);
    if (out->phys == PHYS_I64)
        add_scaled(args, sel, n, out);
    else if (out->phys == PHYS_I128 && out->type.precision < NUM_MAX_DIGITS)
        BINARY_LOOPS(int128, int128, int128, r = x + y);
    else if (out->phys == PHYS_I128)
        BINARY_ROWS(int128, int128, int128, bad |= __builtin_add_overflow(x, y, &r) || !wide_fits(r));
    else
        BINARY_ROWS(Num, Num, Num, TRY(num_add(x, y, &r, err)));
    return bad ? num_overflow(err) : TCUDB_OK;
}

KERNEL(numeric_sub)
{
    bool bad = false;
    assert(args[0].phys == out->phys && args[1].phys == out->phys);
    if (out->phys == PHYS_I64)
        subtract_scaled(args, sel, n, out);
    else if (out->phys == PHYS_I128 && out->type.precision < NUM_MAX_DIGITS)
        BINARY_LOOPS(int128, int128, int128, r = x - y);
    else if (out->phys == PHYS_I128)
        BINARY_ROWS(int128, int128, int128, bad |= __builtin_sub_overflow(x, y, &r) || !wide_fits(r));
    else
        BINARY_ROWS(Num, Num, Num, TRY(num_sub(x, y, &r, err)));
    return bad ? num_overflow(err) : TCUDB_OK;
}

KERNEL(numeric_mul)
{
    bool bad = false, wide_a = args[0].phys == PHYS_I128, wide_b = args[1].phys == PHYS_I128;
    bool room = args[0].type.precision + args[1].type.precision <= NUM_MAX_DIGITS; /* no product needs more */
    if (out->phys == PHYS_I64)
        multiply_scaled(args, sel, n, out);
    else if (room && wide_a && !wide_b)
        BINARY_LOOPS(int128, int64_t, int128, r = x * y);
    else if (room && wide_b && !wide_a)
        BINARY_LOOPS(int64_t, int128, int128, r = x * y);
    else if (out->phys == PHYS_NUM)
        BINARY_ROWS(Num, Num, Num, TRY(num_mul(x, y, &r, err)));
    else if (!wide_a && !wide_b)
        BINARY_LOOPS(int64_t, int64_t, int128, r = (int128)x * y);
    else if (wide_a && wide_b)
        BINARY_ROWS(int128, int128, int128, bad |= __builtin_mul_overflow(x, y, &r) || !wide_fits(r));
    else if (wide_a)
        BINARY_ROWS(int128, int64_t, int128, bad |= __builtin_mul_overflow(x, (int128)y, &r) || !wide_fits(r));
    else
        BINARY_ROWS(int64_t, int128, int128, bad |= __builtin_mul_overflow((int128)x, y, &r) || !wide_fits(r));
    return bad ? num_overflow(err) : TCUDB_OK;
}

static Num num_at(const Vector *v, uint32_t row)
{
    size_t i = row * STRIDE(*v);
    if (v->phys == PHYS_I64) return (Num){.value = ((const int64_t *)v->data)[i], .scale = v->type.scale};
    if (v->phys == PHYS_I128) return (Num){.value = ((const int128 *)v->data)[i], .scale = v->type.scale};
    return ((const Num *)v->data)[i];
}

/* Words, or wider numbers that are words: a sum is wide by its type. */
#define DIVIDE_ROWS(B)                                                                                                 \
    do {                                                                                                               \
        const int64_t *a = args[0].data;                                                                               \
        const B *b = args[1].data;                                                                                     \
        const size_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);                                                       \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            const B y = b[row * sb];                                                                                   \
            const int64_t word = (int64_t)y;                                                                           \
            if (word == y && num_div_words(a[row * sa], scale_a, word, scale_b, &to[row])) continue;                   \
            TRY(num_div(num_at(&args[0], row), num_at(&args[1], row), &to[row], err));                                 \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    } while (0)

KERNEL(numeric_div)
{
    Num *to = out->data;
    const int32_t scale_a = args[0].type.scale, scale_b = args[1].type.scale;
    assert(out->phys == PHYS_NUM);
    if (args[0].phys == PHYS_I64 && args[1].phys == PHYS_I64) DIVIDE_ROWS(int64_t);
    if (args[0].phys == PHYS_I64 && args[1].phys == PHYS_I128) DIVIDE_ROWS(int128);
    EACH_ROW(i, row) TRY(num_div(num_at(&args[0], row), num_at(&args[1], row), &to[row], err));
    return TCUDB_OK;
}

/* ---- functions of one and two numbers ------------------------------------------------------------- */

static tcudb_status store_num(Num v, Vector *out, uint32_t row, Error *err);

static Num num_negative(Num v)
{
    v.value = -v.value;
    v.kind = v.kind == NUM_PINF ? NUM_NINF : v.kind == NUM_NINF ? NUM_PINF : v.kind;
    return v;
}

static bool below_zero(Num v)
{
    return v.kind == NUM_NINF || (v.kind == NUM_FINITE && v.value < 0);
}

static bool has_rest(Num v, Num whole)
{
    if (v.kind != NUM_FINITE) return false;
    return v.scale > NUM_MAX_DIGITS ? v.value != 0 : whole.value * num_pow10(v.scale) != v.value;
}

static tcudb_status num_floor(Num v, Num *out, Error *err)
{
    TRY(num_trunc(v, 0, out, err));
    return v.value < 0 && has_rest(v, *out) ? num_sub(*out, NUM_INT(1), out, err) : TCUDB_OK;
}

static tcudb_status num_ceil(Num v, Num *out, Error *err)
{
    TRY(num_trunc(v, 0, out, err));
    return v.value > 0 && has_rest(v, *out) ? num_add(*out, NUM_INT(1), out, err) : TCUDB_OK;
}

static tcudb_status num_sign(Num v, Num *out, Error *err)
{
    (void)err;
    *out = v.kind == NUM_NAN ? v : NUM_INT(below_zero(v) ? -1 : v.kind != NUM_FINITE || v.value > 0);
    return TCUDB_OK;
}

static tcudb_status num_nearest(Num v, Num *out, Error *err)
{
    return num_round(v, 0, out, err);
}

static tcudb_status num_whole(Num v, Num *out, Error *err)
{
    return num_trunc(v, 0, out, err);
}

static tcudb_status num_log10(Num v, Num *out, Error *err)
{
    return num_log(NUM_INT(10), v, out, err);
}

#define NUM_ROWS(FN)                                                                                                   \
    EACH_ROW(i, row)                                                                                                   \
    {                                                                                                                  \
        Num r;                                                                                                         \
        TRY(FN(num_at(&args[0], row), &r, err));                                                                       \
        TRY(store_num(r, out, row, err));                                                                              \
    }

#define NUM_UNARY(name, FN)                                                                                            \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        NUM_ROWS(FN)                                                                                                   \
        return TCUDB_OK;                                                                                               \
    }

typedef enum Whole { WHOLE_FLOOR, WHOLE_CEIL, WHOLE_ROUND, WHOLE_TRUNC } Whole;

/* Below 2^52 a double holds a number and half a power more, and its quotient by a power of at most 10^15 is further
 * from the next integer than it is rounded: cut off it is the whole quotient, and the doubles are divided several at
 * once. false: a number was too large. */
#define CUT_ROWS(ADD, FIX)                                                                                             \
    do {                                                                                                               \
        for (uint32_t row = 0; sel == NULL && row < n; row++) {                                                        \
            const int64_t w = from[row];                                                                               \
            large |= w >= limit || w <= -limit;                                                                        \
            const double x = (double)w;                                                                                \
            const int64_t q = (int64_t)((x + (ADD)) / power);                                                          \
            to[row] = q + (FIX);                                                                                       \
        }                                                                                                              \
        for (uint32_t i = 0; sel != NULL && i < n; i++) {                                                              \
            const int64_t w = from[sel[i]];                                                                            \
            large |= w >= limit || w <= -limit;                                                                        \
            const double x = (double)w;                                                                                \
            const int64_t q = (int64_t)((x + (ADD)) / power);                                                          \
            to[sel[i]] = q + (FIX);                                                                                    \
        }                                                                                                              \
    } while (0)

HOT static bool cut_words(const int64_t *from, const uint16_t *sel, uint32_t n, double power, Whole way, int64_t *to)
{
    const double half = power / 2;
    const int64_t limit = (INT64_C(1) << 52) - (int64_t)half, p = (int64_t)power;
    bool large = false;
    switch (way) {
    case WHOLE_FLOOR: CUT_ROWS(0, -(q * p > w)); break;
    case WHOLE_CEIL: CUT_ROWS(0, q * p < w); break;
    case WHOLE_ROUND: CUT_ROWS(copysign(half, x), 0); break;
    case WHOLE_TRUNC: CUT_ROWS(0, 0); break;
    }
    return !large;
}

/* Words to words of a smaller scale by cut_words, where that can be. */
static bool cut_scale(const Vector *args, const uint16_t *sel, uint32_t n, Whole way, Vector *out)
{
    int down = args[0].type.scale - out->type.scale;
    bool words = args[0].phys == PHYS_I64 && out->phys == PHYS_I64 && args[0].form == VEC_FLAT;
    return words && down > 0 && down <= 15 && cut_words(args[0].data, sel, n, (double)num_pow10(down), way, out->data);
}

/* Scaled numbers to whole ones, as words; false: one was too large for that. */
#define WHOLE_WORDS(A, R)                                                                                              \
    do {                                                                                                               \
        switch (way) {                                                                                                 \
        case WHOLE_FLOOR: UNARY_LOOPS(A, R, WORD_OF(x); r = w / power - (w % power < 0)); break;                       \
        case WHOLE_CEIL: UNARY_LOOPS(A, R, WORD_OF(x); r = w / power + (w % power > 0)); break;                        \
        case WHOLE_ROUND: UNARY_LOOPS(A, R, WORD_OF(x); r = (w < 0 ? w - half : w + half) / power); break;             \
        case WHOLE_TRUNC: UNARY_LOOPS(A, R, WORD_OF(x); r = w / power); break;                                         \
        }                                                                                                              \
    } while (0)
#define WORD_OF(x)                                                                                                     \
    const int64_t w = (x) > most || (x) < -most ? 0 : (int64_t)(x);                                                    \
    large |= w != (x)

static bool whole_words(const Vector *args, const uint16_t *sel, uint32_t n, Whole way, Vector *out)
{
    const int64_t power = (int64_t)num_pow10(args[0].type.scale), half = power / 2, most = INT64_C(1) << 62;
    bool large = false;
    if (args[0].phys == PHYS_I64 && out->phys == PHYS_I64)
        WHOLE_WORDS(int64_t, int64_t);
    else if (out->phys == PHYS_I64)
        WHOLE_WORDS(int128, int64_t);
    else
        WHOLE_WORDS(int128, int128);
    return !large;
}

/* A result has a digit more than the integer part at most. */
static bool takes_words(const Vector *arg, const Vector *out)
{
    bool words = out->phys == PHYS_I64 && (arg->phys == PHYS_I64 || arg->phys == PHYS_I128);
    bool wide = out->phys == PHYS_I128 && arg->phys == PHYS_I128;
    if (!(words || wide) || out->type.scale != 0) return false;
    return arg->type.scale <= NUM_I64_DIGITS && out->type.precision > arg->type.precision - arg->type.scale;
}

#define NUM_WHOLE(name, FN, WAY)                                                                                       \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        if (takes_words(&args[0], out) && cut_scale(args, sel, n, WAY, out)) return TCUDB_OK;                          \
        if (takes_words(&args[0], out) && whole_words(args, sel, n, WAY, out)) return TCUDB_OK;                        \
        NUM_ROWS(FN)                                                                                                   \
        return TCUDB_OK;                                                                                               \
    }

NUM_WHOLE(numeric_floor, num_floor, WHOLE_FLOOR)
NUM_WHOLE(numeric_ceil, num_ceil, WHOLE_CEIL)
NUM_WHOLE(numeric_round, num_nearest, WHOLE_ROUND)
NUM_WHOLE(numeric_trunc, num_whole, WHOLE_TRUNC)
NUM_UNARY(numeric_sign, num_sign)
NUM_UNARY(numeric_sqrt, num_sqrt)
NUM_UNARY(numeric_exp, num_exp)
NUM_UNARY(numeric_ln, num_ln)
NUM_UNARY(numeric_log10, num_log10)

/* Arguments: count, sum, sum of squares. */
static tcudb_status variances(const Vector *args, const uint16_t *sel, uint32_t n, bool sample, bool root, Vector *out,
                              Error *err)
{
    EACH_ROW(i, row)
    {
        int64_t count = ((const int64_t *)args[0].data)[row * STRIDE(args[0])];
        Num sum = num_at(&args[1], row), squares = num_at(&args[2], row), r = {.kind = NUM_NAN};
        if (count > (sample ? 1 : 0)) TRY(num_variance(count, sum, squares, sample, root, &r, err));
        TRY(store_num(r, out, row, err));
    }
    return TCUDB_OK;
}

KERNEL(numeric_var_pop)
{
    return variances(args, sel, n, false, false, out, err);
}

KERNEL(numeric_var_samp)
{
    return variances(args, sel, n, true, false, out, err);
}

KERNEL(numeric_stddev_pop)
{
    return variances(args, sel, n, false, true, out, err);
}

KERNEL(numeric_stddev_samp)
{
    return variances(args, sel, n, true, true, out, err);
}

KERNEL(numeric_neg)
{
    if (out->phys == PHYS_I64)
        UNARY_LOOPS(int64_t, int64_t, r = -x);
    else if (out->phys == PHYS_I128)
        UNARY_LOOPS(int128, int128, r = -x);
    else
        UNARY_ROWS(Num, Num, r = num_negative(x));
    return TCUDB_OK;
}

KERNEL(numeric_abs)
{
    if (out->phys == PHYS_I64)
        UNARY_LOOPS(int64_t, int64_t, r = x < 0 ? -x : x);
    else if (out->phys == PHYS_I128)
        UNARY_LOOPS(int128, int128, r = x < 0 ? -x : x);
    else
        UNARY_ROWS(Num, Num, r = below_zero(x) ? num_negative(x) : x);
    return TCUDB_OK;
}

KERNEL(numeric_same)
{
    if (out->phys == PHYS_I64)
        UNARY_LOOPS(int64_t, int64_t, r = x);
    else if (out->phys == PHYS_I128)
        UNARY_LOOPS(int128, int128, r = x);
    else
        UNARY_ROWS(Num, Num, r = x);
    return TCUDB_OK;
}

KERNEL(numeric_mod)
{
    if (out->phys == PHYS_I64) {
        BINARY_ROWS(int64_t, int64_t, int64_t, {
            if (y == 0) return division_by_zero(err);
            r = x % y; /* |y| < 10^18: no -1 trap */
        });
        return TCUDB_OK;
    }
    EACH_ROW(i, row)
    {
        Num r;
        TRY(num_mod(num_at(&args[0], row), num_at(&args[1], row), &r, err));
        TRY(store_num(r, out, row, err));
    }
    return TCUDB_OK;
}

#define NUM_BINARY(name, FN)                                                                                           \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        EACH_ROW(i, row)                                                                                               \
        {                                                                                                              \
            Num r;                                                                                                     \
            TRY(FN(num_at(&args[0], row), num_at(&args[1], row), &r, err));                                            \
            TRY(store_num(r, out, row, err));                                                                          \
        }                                                                                                              \
        return TCUDB_OK;                                                                                               \
    }

static tcudb_status num_gcd(Num a, Num b, Num *out, Error *err)
{
    if (below_zero(a)) a = num_negative(a);
    if (below_zero(b)) b = num_negative(b);
    *out = (Num){.kind = NUM_NAN};
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) return TCUDB_OK;
    int scale = a.scale > b.scale ? a.scale : b.scale;
    while (b.value != 0) {
        Num rest;
        TRY(num_mod(a, b, &rest, err));
        a = b;
        b = rest;
    }
    return num_round(a, scale, out, err);
}

static tcudb_status num_lcm(Num a, Num b, Num *out, Error *err)
{
    Num g, part;
    *out = (Num){.kind = NUM_NAN};
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) return TCUDB_OK;
    int scale = a.scale > b.scale ? a.scale : b.scale;
    *out = (Num){.scale = scale};
    if (a.value == 0 || b.value == 0) return TCUDB_OK;
    TRY(num_gcd(a, b, &g, err));
    TRY(num_quotient(a, g, &part, err));
    TRY(num_mul(part, b, &part, err));
    if (below_zero(part)) part = num_negative(part);
    return num_round(part, scale, out, err);
}

NUM_BINARY(numeric_quotient, num_quotient)
NUM_BINARY(numeric_power, num_power)
NUM_BINARY(numeric_log, num_log)
NUM_BINARY(numeric_gcd, num_gcd)
NUM_BINARY(numeric_lcm, num_lcm)

#define NUM_TO_SCALE(name, FN)                                                                                         \
    static KERNEL(name)                                                                                                \
    {                                                                                                                  \
        const int32_t *scales = args[1].data;                                                                          \
        Num *to = out->data;                                                                                           \
        EACH_ROW(i, row)                                                                                               \
        TRY(FN(num_at(&args[0], row), scales[row * STRIDE(args[1])], &to[row], err));                                  \
        return TCUDB_OK;                                                                                               \
    }

NUM_TO_SCALE(num_round_to, num_round)
NUM_TO_SCALE(num_trunc_to, num_trunc)

/* To a scale that the result's type has: as words where they are, else one by one. */
static tcudb_status round_scaled(const Vector *args, const uint16_t *sel, uint32_t n, bool trunc, Vector *out,
                                 Error *err)
{
    int scale = out->type.scale, up = scale - args[0].type.scale;
    if (args[0].phys == PHYS_I64 && out->phys == PHYS_I64 && up >= 0) {
        const int64_t factor = (int64_t)num_pow10(up); /* the result's type has room */
        UNARY_LOOPS(int64_t, int64_t, r = x * factor);
        return TCUDB_OK;
    }
    if (cut_scale(args, sel, n, trunc ? WHOLE_TRUNC : WHOLE_ROUND, out)) return TCUDB_OK;
    EACH_ROW(i, row)
    {
        Num r;
        TRY(trunc ? num_trunc(num_at(&args[0], row), scale, &r, err)
                  : num_round(num_at(&args[0], row), scale, &r, err));
        TRY(store_num(r, out, row, err));
    }
    return TCUDB_OK;
}

KERNEL(numeric_round_to)
{
    if (out->phys == PHYS_NUM) return num_round_to(ctx, args, nargs, sel, n, out, err);
    return round_scaled(args, sel, n, false, out, err);
}

KERNEL(numeric_trunc_to)
{
    if (out->phys == PHYS_NUM) return num_trunc_to(ctx, args, nargs, sel, n, out, err);
    return round_scaled(args, sel, n, true, out, err);
}

static int min_scale(Num v)
{
    int scale = v.scale;
    for (; scale > 0 && v.value % 10 == 0; scale--) v.value /= 10;
    return v.value == 0 ? 0 : scale;
}

/* NaN and infinities have no scale. */
static tcudb_status scale_rows(EvalCtx *ctx, const Vector *arg, const uint16_t *sel, uint32_t n, bool least,
                               Vector *out, Error *err)
{
    int32_t *to = out->data;
    EACH_ROW(i, row)
    {
        Num v = num_at(arg, row);
        if (v.kind != NUM_FINITE) {
            TRY(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
            bit_clear(out->valid, row);
        } else {
            to[row] = least ? min_scale(v) : v.scale;
        }
    }
    return TCUDB_OK;
}

KERNEL(numeric_scale)
{
    return scale_rows(ctx, &args[0], sel, n, false, out, err);
}

KERNEL(numeric_min_scale)
{
    return scale_rows(ctx, &args[0], sel, n, true, out, err);
}

KERNEL(numeric_trim_scale)
{
    Num *to = out->data;
    EACH_ROW(i, row)
    {
        Num v = num_at(&args[0], row);
        TRY(num_round(v, v.kind == NUM_FINITE ? min_scale(v) : 0, &to[row], err));
    }
    return TCUDB_OK;
}

KERNEL(int8_factorial)
{
    UNARY_ROWS(int64_t, Num, {
        if (x < 0)
            return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "factorial of a negative number is undefined");
        r = NUM_INT(1);
        for (int64_t k = 2; k <= x; k++) TRY(num_mul(r, NUM_INT(k), &r, err));
    });
    return TCUDB_OK;
}

/* width_bucket(x, low, high, count): which of `count` equal parts of [low, high) x falls into; 0 below, count + 1
 * above; low > high counts downwards. */
static tcudb_status bucket(Num x, Num low, Num high, int32_t count, int32_t *out, Error *err)
{
    const char *state = SQLSTATE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION;
    if (count <= 0) return error_set(err, state, "count must be greater than zero");
    if (x.kind == NUM_NAN || low.kind == NUM_NAN || high.kind == NUM_NAN)
        return error_set(err, state, "operand, lower bound, and upper bound cannot be NaN");
    if (low.kind != NUM_FINITE || high.kind != NUM_FINITE)
        return error_set(err, state, "lower and upper bounds must be finite");
    int order = num_compare(low, high);
    if (order == 0) return error_set(err, state, "lower bound cannot equal upper bound");
    bool before = order < 0 ? num_compare(x, low) < 0 : num_compare(x, low) > 0;
    bool after = order < 0 ? num_compare(x, high) >= 0 : num_compare(x, high) <= 0;
    *out = 0;
    if (before) return TCUDB_OK;
    if (after) return __builtin_add_overflow(count, 1, out) ? range_error("integer", err) : TCUDB_OK;
    Num part, width, q;
    TRY(num_sub(x, low, &part, err));
    TRY(num_sub(high, low, &width, err));
    TRY(num_mul(part, NUM_INT(count), &part, err));
    TRY(num_quotient(part, width, &q, err));
    *out = (int32_t)q.value + 1;
    return TCUDB_OK;
}

KERNEL(numeric_width_bucket)
{
    const int32_t *counts = args[3].data;
    int32_t *to = out->data;
    EACH_ROW(i, row)
    TRY(bucket(num_at(&args[0], row), num_at(&args[1], row), num_at(&args[2], row), counts[row * STRIDE(args[3])],
               &to[row], err));
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

/* Words times a power of ten, or divided by one, rounded half away from zero. false: some do not fit, or none do. */
static bool words_to_words(const Vector *args, const uint16_t *sel, uint32_t n, Vector *out)
{
    const int up = out->type.scale - args[0].type.scale, digits = out->type.precision - (up > 0 ? up : 0);
    if (up > NUM_I64_DIGITS || up < -NUM_I64_DIGITS || digits <= 0) return false;
    const int64_t power = (int64_t)num_pow10(up < 0 ? -up : up), half = power / 2, end = (int64_t)num_pow10(digits);
    bool bad = false;
    if (up >= 0)
        UNARY_LOOPS(int64_t, int64_t, bad |= x <= -end || x >= end; r = (int64_t)((uint64_t)x * (uint64_t)power));
    else
        UNARY_LOOPS(int64_t, int64_t, r = (x < 0 ? x - half : x + half) / power; bad |= r <= -end || r >= end);
    return !bad;
}

KERNEL(numeric_to_numeric)
{
    if (args[0].phys == PHYS_I64 && out->phys == PHYS_I64 && words_to_words(args, sel, n, out)) return TCUDB_OK;
    if (args[0].phys != PHYS_NUM && out->phys == PHYS_NUM) {
        const int32_t scale = args[0].type.scale;
        if (args[0].phys == PHYS_I64)
            UNARY_LOOPS(int64_t, Num, r = ((Num){.value = x, .scale = scale}));
        else
            UNARY_LOOPS(int128, Num, r = ((Num){.value = x, .scale = scale}));
        return TCUDB_OK;
    }
    EACH_ROW(i, row) TRY(store_num(num_at(&args[0], row), out, row, err));
    return TCUDB_OK;
}

/* DIGITS: of the largest T; a type with room for them in front of its point takes the value times a power. */
#define FROM_INT_KERNEL(name, T, DIGITS)                                                                               \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        const T *a = args[0].data;                                                                                     \
        uint32_t sa = STRIDE(args[0]);                                                                                 \
        if (out->phys == PHYS_I64 && out->type.precision - out->type.scale >= (DIGITS)) {                              \
            const int64_t power = (int64_t)num_pow10(out->type.scale);                                                 \
            UNARY_LOOPS(T, int64_t, r = x * power);                                                                    \
            return TCUDB_OK;                                                                                           \
        }                                                                                                              \
        if (out->phys == PHYS_NUM) {                                                                                   \
            UNARY_LOOPS(T, Num, r = NUM_INT(x));                                                                       \
            return TCUDB_OK;                                                                                           \
        }                                                                                                              \
        EACH_ROW(i, row) TRY(store_num(NUM_INT(a[row * sa]), out, row, err));                                          \
        return TCUDB_OK;                                                                                               \
    }

FROM_INT_KERNEL(int2_to_numeric, int16_t, 5)
FROM_INT_KERNEL(int4_to_numeric, int32_t, 10)
FROM_INT_KERNEL(int8_to_numeric, int64_t, 19)

/* Rounded half away from zero; false: some number is out of range. */
#define WORDS_TO_INT(T, MIN, MAX)                                                                                      \
    do {                                                                                                               \
        const int64_t power = (int64_t)num_pow10(args[0].type.scale), half = power / 2;                                \
        bool bad = false;                                                                                              \
        UNARY_LOOPS(int64_t, T, int64_t q = (x < 0 ? x - half : x + half) / power; bad |= q < (MIN) || q > (MAX);      \
                    r = (T)q);                                                                                         \
        if (!bad) return TCUDB_OK;                                                                                     \
    } while (0)

#define TO_INT_KERNEL(name, T, MIN, MAX, sql_name)                                                                     \
    KERNEL(name)                                                                                                       \
    {                                                                                                                  \
        T *to = out->data;                                                                                             \
        if (args[0].phys == PHYS_I64 && args[0].type.scale <= NUM_I64_DIGITS) WORDS_TO_INT(T, MIN, MAX);               \
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

/* Both the number and the power of ten are exact in a double up to 2^53 and 10^22: one division, one rounding. false:
 * some number is larger, and *to is not done. */
HOT static bool small_to_float8(const int64_t *from, const uint16_t *sel, uint32_t n, double power, double *to)
{
    const int64_t limit = INT64_C(1) << 53;
    bool large = false;
    if (sel == NULL)
        for (uint32_t row = 0; row < n; row++) {
            large |= from[row] > limit || from[row] < -limit;
            to[row] = (double)from[row] / power;
        }
    else
        for (uint32_t i = 0; i < n; i++) {
            large |= from[sel[i]] > limit || from[sel[i]] < -limit;
            to[sel[i]] = (double)from[sel[i]] / power;
        }
    return !large;
}

KERNEL(numeric_to_float8)
{
    const Vector *from = &args[0];
    if (from->phys == PHYS_I64 && from->form == VEC_FLAT && from->type.scale <= 18 &&
        small_to_float8(from->data, sel, n, (double)num_pow10(from->type.scale), out->data))
        return TCUDB_OK;
    double *to = out->data;
    EACH_ROW(i, row) to[row] = num_to_float8(num_at(&args[0], row));
    return TCUDB_OK;
}

/* Through text, so that one rounding leads to the float, as in PostgreSQL. */
KERNEL(numeric_to_float4)
{
    float *to = out->data;
    EACH_ROW(i, row)
    {
        char text[NUM_TEXT_MAX];
        uint32_t len = num_print(num_at(&args[0], row), text);
        TRY(float4_parse((Str){text, len}, &to[row], err));
    }
    return TCUDB_OK;
}

/* digits: what is significant. */
static tcudb_status store_float(double v, int digits, Vector *out, uint32_t row, Error *err)
{
    int128 scaled;
    if (out->phys == PHYS_NUM) {
        Num *to = (Num *)out->data + row;
        return digits == 6 ? num_from_float4((float)v, to, err) : num_from_float8(v, to, err);
    }
    TRY(num_scaled_from_float(v, digits, out->type, &scaled, err));
    return store_scaled(scaled, out, row);
}

KERNEL(float4_to_numeric)
{
    const float *a = args[0].data;
    EACH_ROW(i, row) TRY(store_float((double)a[row * STRIDE(args[0])], 6, out, row, err));
    return TCUDB_OK;
}

KERNEL(float8_to_numeric)
{
    const double *a = args[0].data;
    EACH_ROW(i, row) TRY(store_float(a[row * STRIDE(args[0])], 15, out, row, err));
    return TCUDB_OK;
}

/* ---- quotients as float8 ------------------------------------------------------------------- */

/* Half of what the last digit of PostgreSQL's quotient is worth, for a quotient q > 0: its scale is 16 - 4 x the
 * base-10000 exponent or more. 0: q is out of the table. */
static inline double half_digit(double q)
{
    double h = q >= 1e8 ? 0.5e-8 : q >= 1e4 ? 0.5e-12 : q >= 1 ? 0.5e-16 : q >= 1e-4 ? 0.5e-20 : 0.5e-24;
    return q >= 1e-8 && q < 1e12 ? h : 0;
}

/* x / y of exact doubles as the nearest double of the decimal quotient. Rounding to decimal digits moves a quotient by
 * half_digit at most: where it is further than that from the middle between two doubles, both have the same nearest
 * double, which the machine's division finds. false: it is not, or x or y is not exact. */
static inline bool nearest_quotient(double x, double y, double *out)
{
    const double most = 9007199254740992.0, margin = 1 + 1e-10; /* 2^53 */
    double q = x / y, rest = fabs(fma(-q, y, x)), size = fabs(q), gap;
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    bool power = (bits & ((UINT64_C(1) << 52) - 1)) == 0; /* the gap below a power of two is half of that above */
    bits &= ~((UINT64_C(1) << 52) - 1);
    memcpy(&gap, &bits, sizeof gap);
    double half_gap = gap * 0x1p-53 * fabs(y), moved = half_digit(size);
    bool sure = !power & (moved > 0) & ((rest + moved * fabs(y)) * margin < half_gap);
    *out = x == 0 ? 0 : q;
    return (fabs(x) <= most) & (fabs(y) <= most) & (y != 0) & (sure | (x == 0));
}

/* a x 10^up[0] / (b x 10^up[1]) where that is sure; unsure[row]: it is not. */
HOT static bool sure_quotients(const Vector *args, const uint16_t *sel, uint32_t n, const double up[2], double *to,
                               uint8_t *unsure)
{
    const int64_t *a = args[0].data, *b = args[1].data;
    const uint32_t sa = STRIDE(args[0]), sb = STRIDE(args[1]);
    uint8_t any = 0;
    if (sel == NULL && sa == 1 && sb == 1) {
        for (uint32_t row = 0; row < n; row++) {
            unsure[row] = !nearest_quotient((double)a[row] * up[0], (double)b[row] * up[1], &to[row]);
            any |= unsure[row];
        }
        return !any;
    }
    EACH_ROW(i, row)
    {
        unsure[row] = !nearest_quotient((double)a[row * sa] * up[0], (double)b[row * sb] * up[1], &to[row]);
        any |= unsure[row];
    }
    return !any;
}

/* (a / b)::float8: the double that is nearest to PostgreSQL's quotient. */
static KERNEL(numeric_div_float8)
{
    double *to = out->data;
    const int most = 15; /* 10^15 is exact, and more would leave no room for a number */
    int up = args[1].type.scale - args[0].type.scale;
    bool words = args[0].phys == PHYS_I64 && args[1].phys == PHYS_I64 && up >= -most && up <= most;
    uint8_t *unsure = NULL;
    if (words) {
        double powers[2] = {(double)num_pow10(up > 0 ? up : 0), (double)num_pow10(up < 0 ? -up : 0)};
        unsure = arena_alloc_raw(ctx->arena, live_rows(sel, n) + 64, err);
        TRY_PTR(unsure);
        if (sure_quotients(args, sel, n, powers, to, unsure)) return TCUDB_OK;
    }
    EACH_ROW(i, row)
    {
        Num quotient;
        if (words && !unsure[row]) continue;
        TRY(num_div(num_at(&args[0], row), num_at(&args[1], row), &quotient, err));
        to[row] = num_to_float8(quotient);
    }
    return TCUDB_OK;
}

const Func *func_fused(const Func *outer, const Func *inner)
{
    static const Func quotient = {
        "/",         FUNC_OPERATOR,     FUNC_STRICT | FUNC_NUM_ANY, CMP_NONE, 2, false, {TYPE_NUMERIC, TYPE_NUMERIC},
        TYPE_FLOAT8, numeric_div_float8};
    return outer->eval == numeric_to_float8 && inner->eval == numeric_div ? &quotient : NULL;
}
