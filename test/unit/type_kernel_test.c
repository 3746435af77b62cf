/*
 * Kernels over whole vectors: each shape of arguments (column with column, column with constant, constant with
 * column; all rows or a selection) gives what one row at a time gives by independent arithmetic in a wider type,
 * and an overflow anywhere among the live rows, and only there, is an error.
 */
#include "type/func.h"
#include "type/num.h"
#include "random64.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { ROWS = 997, ROUNDS = 40 };

typedef struct Shape {
    bool const_a, const_b, selected;
} Shape;

static const Shape shapes[] = {{false, false, false}, {false, true, false}, {true, false, false},
                               {false, false, true},  {false, true, true},  {true, false, true}};

typedef struct Bench {
    Arena arena;
    EvalCtx ctx;
    Vector args[2], out;
    uint16_t sel[ROWS];
    uint32_t n;
} Bench;

static void bench_fill(Bench *b, Type type, Type result, Shape shape, void (*fill)(void *to, uint32_t rows))
{
    Error err;
    arena_reset(&b->arena);
    for (int k = 0; k < 2; k++) {
        bool constant = k == 0 ? shape.const_a : shape.const_b;
        assert_int_equal(vec_new(&b->arena, type, ROWS, &b->args[k], &err), TCUDB_OK);
        fill(b->args[k].data, ROWS);
        if (constant) b->args[k].form = VEC_CONST;
    }
    assert_int_equal(vec_new(&b->arena, result, ROWS, &b->out, &err), TCUDB_OK);
    b->n = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        if (!shape.selected || next_random() % 3 == 0) b->sel[b->n++] = (uint16_t)i;
}

static tcudb_status bench_run(Bench *b, const char *op, Type type, Shape shape, Error *err)
{
    const Type types[2] = {type, type};
    FuncCall call;
    assert_int_equal(func_resolve(FUNC_OPERATOR, str_of(op), types, 2, 0, &call, err), TCUDB_OK);
    assert_true(type_equal(call.result, b->out.type));
    return call.func->eval(&b->ctx, b->args, 2, shape.selected ? b->sel : NULL, b->n, &b->out, err);
}

static uint32_t at(const Vector *v, uint32_t row)
{
    return v->form == VEC_CONST ? 0 : row;
}

/* ---- integers: __int128 as the judge ------------------------------------------------------------- */

static int magnitude_bits; /* of the random values: small ones never overflow, large ones often */

static void fill_int4(void *to, uint32_t rows)
{
    int32_t *v = to;
    for (uint32_t i = 0; i < rows; i++)
        v[i] = (int32_t)((int64_t)(next_random() << (64 - magnitude_bits)) >> (64 - magnitude_bits));
}

static void fill_int8(void *to, uint32_t rows)
{
    int64_t *v = to;
    for (uint32_t i = 0; i < rows; i++)
        v[i] = (int64_t)(next_random() << (64 - magnitude_bits)) >> (64 - magnitude_bits);
}

static int128 judge(char op, int128 x, int128 y)
{
    return op == '+' ? x + y : op == '-' ? x - y : x * y;
}

/* magnitudes: 31 and 63 bits overflow in some rounds of +, 16 and 32 bits nearly never. */
static void check_integers(Type type, const int *bits, int nbits, void (*fill)(void *, uint32_t))
{
    Bench b = {0};
    arena_init(&b.arena, NULL);
    b.ctx.arena = &b.arena;
    bool wide = type.id == TYPE_INT8;
    int128 lo = wide ? INT64_MIN : INT32_MIN, hi = wide ? INT64_MAX : INT32_MAX;
    uint32_t failed = 0, passed = 0;
    for (int round = 0; round < ROUNDS * nbits; round++) {
        magnitude_bits = bits[round % nbits];
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const char *op = round % 3 == 0 ? "+" : round % 3 == 1 ? "-" : "*";
            bench_fill(&b, type, type, shapes[s], fill);
            bool overflow = false;
            for (uint32_t i = 0; i < b.n; i++) {
                uint32_t p = at(&b.args[0], b.sel[i]), q = at(&b.args[1], b.sel[i]);
                int128 x = wide ? ((int64_t *)b.args[0].data)[p] : ((int32_t *)b.args[0].data)[p];
                int128 y = wide ? ((int64_t *)b.args[1].data)[q] : ((int32_t *)b.args[1].data)[q];
                int128 r = judge(op[0], x, y);
                overflow |= r < lo || r > hi;
            }
            Error err = {0};
            tcudb_status status = bench_run(&b, op, type, shapes[s], &err);
            assert_int_equal(status, overflow ? TCUDB_ERROR : TCUDB_OK);
            failed += overflow;
            passed += !overflow;
            if (overflow) {
                assert_string_equal(err.sqlstate, "22003");
                continue;
            }
            for (uint32_t i = 0; i < b.n; i++) {
                uint32_t row = b.sel[i], p = at(&b.args[0], row), q = at(&b.args[1], row);
                if (wide)
                    assert_true(((int64_t *)b.out.data)[row] ==
                                judge(op[0], ((int64_t *)b.args[0].data)[p], ((int64_t *)b.args[1].data)[q]));
                else
                    assert_true(((int32_t *)b.out.data)[row] ==
                                judge(op[0], ((int32_t *)b.args[0].data)[p], ((int32_t *)b.args[1].data)[q]));
            }
        }
    }
    assert_true(failed > 20 && passed > 20); /* both ends were tried */
    arena_free(&b.arena);
}

static void int4_arithmetic(void **state)
{
    (void)state;
    static const int bits[] = {10, 16, 31, 32};
    check_integers(TYPE(TYPE_INT4), bits, 4, fill_int4);
}

static void int8_arithmetic(void **state)
{
    (void)state;
    static const int bits[] = {20, 32, 63, 64};
    check_integers(TYPE(TYPE_INT8), bits, 4, fill_int8);
}

/* ---- comparisons ----------------------------------------------------------------------------------- */

static void fill_float8(void *to, uint32_t rows)
{
    static const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.5, -1.5};
    double *v = to;
    for (uint32_t i = 0; i < rows; i++) v[i] = special[next_random() % 7];
}

static bool holds(const char *op, int order)
{
    if (strcmp(op, "=") == 0) return order == 0;
    if (strcmp(op, "<>") == 0) return order != 0;
    if (strcmp(op, "<") == 0) return order < 0;
    if (strcmp(op, "<=") == 0) return order <= 0;
    return strcmp(op, ">") == 0 ? order > 0 : order >= 0;
}

static void check_compare(Type type, void (*fill)(void *, uint32_t))
{
    static const char *const ops[] = {"=", "<>", "<", "<=", ">", ">="};
    Bench b = {0};
    arena_init(&b.arena, NULL);
    b.ctx.arena = &b.arena;
    magnitude_bits = 3;
    for (size_t o = 0; o < 6; o++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            Error err;
            bench_fill(&b, type, TYPE(TYPE_BOOL), shapes[s], fill);
            assert_int_equal(bench_run(&b, ops[o], type, shapes[s], &err), TCUDB_OK);
            for (uint32_t i = 0; i < b.n; i++) {
                Value x = vec_value(&b.args[0], b.sel[i]), y = vec_value(&b.args[1], b.sel[i]);
                assert_int_equal(((uint8_t *)b.out.data)[b.sel[i]], holds(ops[o], value_compare(&x, &y)));
            }
        }
    arena_free(&b.arena);
}

static void fill_text(void *to, uint32_t rows)
{
    static const char *const words[] = {"", "a", "ab", "abc", "b", "a b", "\xc3\xa9"};
    Str *v = to;
    for (uint32_t i = 0; i < rows; i++) v[i] = str_of(words[next_random() % 7]);
}

static void fill_num(void *to, uint32_t rows)
{
    Num *v = to;
    for (uint32_t i = 0; i < rows; i++) {
        v[i] = (Num){.value = (int128)(next_random() % 7) - 3, .scale = (int32_t)(next_random() % 3)};
        if (next_random() % 10 == 0) v[i] = NUM_NAN_VALUE;
    }
}

static void comparisons(void **state)
{
    (void)state;
    check_compare(TYPE(TYPE_INT4), fill_int4);
    check_compare(TYPE(TYPE_INT8), fill_int8);
    check_compare(TYPE(TYPE_DATE), fill_int4);
    check_compare(TYPE(TYPE_TIMESTAMP), fill_int8);
    check_compare(TYPE(TYPE_FLOAT8), fill_float8);
    check_compare(TYPE(TYPE_TEXT), fill_text);
    check_compare(TYPE_DECIMAL(12, 2), fill_int8);
    check_compare(TYPE(TYPE_NUMERIC), fill_num);
}

/* ---- decimals --------------------------------------------------------------------------------------- */

/* a/b to `scale` digits, half away from zero, digit by digit: an independent long division. */
static int128 long_division(int128 a, int128 b, int scale)
{
    bool negative = (a < 0) != (b < 0);
    uint128 x = a < 0 ? -(uint128)a : (uint128)a, y = b < 0 ? -(uint128)b : (uint128)b;
    uint128 q = x / y, rest = x % y;
    for (int i = 0; i < scale; i++) {
        rest *= 10;
        q = q * 10 + rest / y;
        rest %= y;
    }
    if (rest * 2 >= y) q++;
    return negative ? -(int128)q : (int128)q;
}

static void division_rounds_as_long_division_does(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        Num a = NUM_INT((int64_t)next_random() >> (next_random() % 60)),
            b = NUM_INT((int64_t)next_random() >> (next_random() % 60)), q;
        Error err;
        if (b.value == 0) continue;
        if (num_div(a, b, &q, &err) != TCUDB_OK) {
            assert_string_equal(err.sqlstate, "22003");
            continue;
        }
        assert_true(q.value == long_division(a.value, b.value, q.scale));
        assert_true(q.scale >= 0 && (a.value == 0 || q.scale + 20 >= 16));
    }
}

/* (a / b) x b + mod(a, b) = a for the whole quotient, over all widths. */
static void quotient_and_rest_make_the_dividend(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        int128 wide = (int128)((uint128)next_random() << 64 | next_random());
        Num a = {.value = wide % num_pow10(38) / num_pow10((int)(next_random() % 38)),
                 .scale = (int32_t)(next_random() % 10)};
        Num b = {.value = (int64_t)next_random() >> (next_random() % 60), .scale = (int32_t)(next_random() % 10)}, q, r,
            back;
        Error err;
        if (b.value == 0) continue;
        if (num_quotient(a, b, &q, &err) != TCUDB_OK || num_mod(a, b, &r, &err) != TCUDB_OK)
            continue; /* beyond 38 digits */
        if (num_mul(q, b, &back, &err) != TCUDB_OK || num_add(back, r, &back, &err) != TCUDB_OK) continue;
        assert_int_equal(num_compare(back, a), 0);
    }
}

static void square_roots_are_the_nearest(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        Num a = {.value = (int128)(next_random() >> (next_random() % 60)), .scale = (int32_t)(next_random() % 6)}, r;
        Error err;
        assert_int_equal(num_sqrt(a, &r, &err), TCUDB_OK);
        assert_true(fabs(num_to_float8(r) - sqrt(num_to_float8(a))) <= 1e-14 * (1 + sqrt(num_to_float8(a))));
        char text[NUM_TEXT_MAX];
        Num again;
        uint32_t n = num_print(r, text);
        assert_int_equal(num_parse((Str){text, n}, &again, &err), TCUDB_OK);
        assert_true(again.value == r.value && again.scale == r.scale);
    }
}

/* ---- text forms -------------------------------------------------------------------------------------- */

static void floats_read_back(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena, NULL);
    for (int i = 0; i < 20000; i++) {
        Value v = {.type = TYPE(i % 2 == 0 ? TYPE_FLOAT8 : TYPE_FLOAT4)}, back;
        uint64_t bits = next_random();
        if (i % 2 == 0)
            memcpy(&v.f64, &bits, 8);
        else
            memcpy(&v.f32, &bits, 4);
        Error err;
        Buf buf;
        buf_init(&buf, NULL);
        assert_int_equal(value_print(&v, &buf, &err), TCUDB_OK);
        assert_int_equal(value_parse((Str){buf.data, (uint32_t)buf.len}, v.type, &arena, &back, &err), TCUDB_OK);
        assert_int_equal(value_compare(&v, &back), 0);
        buf_free(&buf);
        arena_reset(&arena);
    }
    arena_free(&arena);
}

/* Every day of four centuries around the leap rules: text and back, and one day after the one before. */
static void days_follow_each_other(void **state)
{
    (void)state;
    Arena arena;
    arena_init(&arena, NULL);
    char last[32] = "";
    for (int32_t day = -40000; day < 106097; day++) {
        Value v = {.type = TYPE(TYPE_DATE), .i32 = day}, back;
        Error err;
        Buf buf;
        buf_init(&buf, NULL);
        assert_int_equal(value_print(&v, &buf, &err), TCUDB_OK);
        assert_int_equal(value_parse((Str){buf.data, (uint32_t)buf.len}, v.type, &arena, &back, &err), TCUDB_OK);
        assert_int_equal(back.i32, day);
        const char *text = buf_cstr(&buf, &err);
        assert_non_null(text);
        assert_true(strcmp(last, text) < 0);
        snprintf(last, sizeof last, "%s", text);
        buf_free(&buf);
        arena_reset(&arena);
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int4_arithmetic),
        cmocka_unit_test(int8_arithmetic),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(division_rounds_as_long_division_does),
        cmocka_unit_test(quotient_and_rest_make_the_dividend),
        cmocka_unit_test(square_roots_are_the_nearest),
        cmocka_unit_test(floats_read_back),
        cmocka_unit_test(days_follow_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
