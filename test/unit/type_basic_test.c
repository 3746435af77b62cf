/* Resolution, integer and numeric arithmetic, casts: results as PostgreSQL 15 prints them. */
#include "type_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct Case {
    const char *name;
    const char *a;
    const char *b; /* NULL: one argument */
    const char *want;
} Case;

static const Case cases[] = {
    {"+", "1::int4", "2::int4", "3"},
    {"+", "2147483647::int4", "1::int4", "ERROR: integer out of range"},
    {"+", "2147483647::int4", "1::int8", "2147483648"},
    {"-", "-32768::int2", "1::int2", "ERROR: smallint out of range"},
    {"*", "9223372036854775807::int8", "2::int4", "ERROR: bigint out of range"},
    {"*", "65536::int4", "65536::int4", "ERROR: integer out of range"},
    {"/", "-7::int4", "2::int4", "-3"},
    {"/", "-2147483648::int4", "-1::int4", "ERROR: integer out of range"},
    {"/", "1::int4", "0::int4", "ERROR: division by zero"},
    {"%", "-2147483648::int4", "-1::int4", "0"},
    {"%", "-7::int4", "3::int4", "-1"},
    {"+", "1::int4", "abc", "ERROR: invalid input syntax for type integer: \"abc\""},
    {"+", "a::text", "1::int4", "ERROR: operator does not exist: text + integer"},
    {"=", "abc::text", "abc", "t"},
    {"<", "ab::text", "abc::varchar(5)", "t"},
    {"=", "ab ::bpchar(5)", "ab", "t"},
    {"+", "1.5::numeric(2,1)", "1::int4", "2.5"},
    {"+", "1.50::numeric(3,2)", "0.5::numeric(2,1)", "2.00"},
    {"*", "1.50::numeric(3,2)", "1.5::numeric(2,1)", "2.250"},
    {"/", "1.5::numeric(2,1)", "3::int4", "0.50000000000000000000"},
    {"/", "1::numeric", "3::numeric", "0.33333333333333333333"},
    {"/", "10::numeric", "3::numeric", "3.3333333333333333"},
    {"/", "100000::numeric", "3::numeric", "33333.333333333333"},
    {"/", "2::numeric", "10000::numeric", "0.00020000000000000000"},
    {"/", "1::numeric", "30000::numeric", "0.000033333333333333333333"},
    {"/", "-2::numeric", "3::numeric", "-0.66666666666666666667"},
    {"<", "1.5::numeric(2,1)", "2::int4", "t"},
    {"=", "1.50::numeric", "1.5::numeric(2,1)", "t"},
    {"<", "NaN::numeric", "1::numeric", "f"},
    {"is distinct from", "NULL::int4", "1::int4", "t"},
    {"is distinct from", "NULL::int4", "NULL::int8", "f"},
    {"is not distinct from", "1::int4", "1::int8", "t"},
    {"is null", "NULL::text", NULL, "t"},
    {"is not true", "NULL::bool", NULL, "t"},
    {"not", "t::bool", NULL, "f"},
    {"greatest", "1::int4", "2.5::numeric", "2.5"},
    {"least", "NULL::int4", "2::int8", "2"},
    {"is null", "NULL", NULL, "t"},
};

static void operators(void **state)
{
    (void)state;
    Caller c;
    caller_init(&c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *args[2] = {cases[i].a, cases[i].b};
        const char *got = caller_call(&c, cases[i].name, args, cases[i].b == NULL ? 1 : 2);
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s %s %s: got %s, want %s", cases[i].a, cases[i].name, cases[i].b, got, cases[i].want);
    }
    arena_free(&c.arena);
}

typedef struct CastCase {
    const char *from;
    const char *to;
    const char *want;
} CastCase;

static const CastCase cast_cases[] = {
    {"40000::int4", "int2", "ERROR: smallint out of range"},
    {"5::int4", "bool", "t"},
    {"t::bool", "text", "true"},
    {"t::bool", "int4", "1"},
    {"abcdef::text", "varchar(3)", "abc"},
    {"ab::text", "bpchar(4)", "ab  "},
    {"1.555::numeric", "numeric(3,2)", "1.56"},
    {"-1.555::numeric(4,3)", "numeric(3,2)", "-1.56"},
    {"99.995::numeric", "numeric(4,2)", "ERROR: numeric field overflow"},
    {"2.5::numeric", "int4", "3"},
    {"-2.5::numeric", "int4", "-3"},
    {"12", "int4", "12"},
    {" 12 ", "int8", "12"},
    {"1e3", "numeric", "1000"},
    {"1.5e1", "numeric", "15"},
    {"1.50e1", "numeric", "15.0"},
    {"1e-3", "numeric", "0.001"},
    {"-.5", "numeric", "-0.5"},
    {"1e400", "float8", "ERROR: \"1e400\" is out of range for type double precision"},
    {"3000000000", "int4", "ERROR: value \"3000000000\" is out of range for type integer"},
    {"maybe", "bool", "ERROR: invalid input syntax for type boolean: \"maybe\""},
    {"0.1", "float8", "0.1"},
    {"1e15", "float8", "1e+15"},
    {"123456789012345", "float8", "123456789012345"},
    {"0.00001", "float8", "1e-05"},
    {"1234567", "float4", "1.234567e+06"},
    {"5.684341886080802e-14", "float8", "5.684341886080802e-14"},
    {"-Infinity", "float8", "-Infinity"},
    {"t::bool", "numeric", "ERROR: cannot cast type boolean to numeric"},
};

static void casts(void **state)
{
    (void)state;
    Caller c;
    caller_init(&c);
    for (size_t i = 0; i < sizeof cast_cases / sizeof *cast_cases; i++) {
        const char *got = caller_cast(&c, cast_cases[i].from, cast_cases[i].to);
        if (strcmp(got, cast_cases[i].want) != 0)
            fail_msg("%s::%s: got %s, want %s", cast_cases[i].from, cast_cases[i].to, got, cast_cases[i].want);
    }
    arena_free(&c.arena);
}

/* Types that precision and scale rules give. */
static void decimal_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        Type a, b, want;
    } rules[] = {
        {"+", {TYPE_NUMERIC, 12, 2, 0}, {TYPE_INT4, 0, 0, 0}, {TYPE_NUMERIC, 13, 2, 0}},
        {"*", {TYPE_NUMERIC, 12, 2, 0}, {TYPE_NUMERIC, 4, 2, 0}, {TYPE_NUMERIC, 16, 4, 0}},
        {"*", {TYPE_NUMERIC, 38, 20, 0}, {TYPE_NUMERIC, 38, 20, 0}, {TYPE_NUMERIC, 0, 0, 0}},
        {"/", {TYPE_NUMERIC, 12, 2, 0}, {TYPE_INT4, 0, 0, 0}, {TYPE_NUMERIC, 0, 0, 0}},
        {"+", {TYPE_NUMERIC, 0, 0, 0}, {TYPE_NUMERIC, 4, 2, 0}, {TYPE_NUMERIC, 0, 0, 0}},
        {"+", {TYPE_INT2, 0, 0, 0}, {TYPE_INT4, 0, 0, 0}, {TYPE_INT4, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const Type args[2] = {rules[i].a, rules[i].b};
        FuncCall call;
        Error err;
        assert_int_equal(func_resolve(FUNC_OPERATOR, str_of(rules[i].name), args, 2, 0, &call, &err), TCUDB_OK);
        assert_true(type_equal(call.result, rules[i].want));
    }
}

static void aggregates(void **state)
{
    (void)state;
    AggCallType call;
    Error err;
    Type t = TYPE(TYPE_INT4);
    assert_int_equal(agg_resolve(STR_LIT("sum"), &t, 1, false, 0, &call, &err), TCUDB_OK);
    assert_int_equal(call.result.id, TYPE_INT8);
    t = TYPE_DECIMAL(12, 2);
    assert_int_equal(agg_resolve(STR_LIT("sum"), &t, 1, false, 0, &call, &err), TCUDB_OK);
    assert_true(type_equal(call.result, TYPE_DECIMAL(38, 2)));
    assert_int_equal(agg_resolve(STR_LIT("avg"), &t, 1, false, 0, &call, &err), TCUDB_OK);
    assert_true(type_equal(call.args[0], TYPE_DECIMAL(12, 2)));
    assert_int_equal(call.result.precision, 0);
    t = TYPE(TYPE_TEXT);
    assert_int_equal(agg_resolve(STR_LIT("sum"), &t, 1, false, 5, &call, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "function sum(text) does not exist");
    assert_int_equal(err.position, 5);
    assert_int_equal(agg_resolve(STR_LIT("count"), NULL, 0, true, 0, &call, &err), TCUDB_OK);
    assert_int_equal(call.kind, AGG_COUNT_STAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),
        cmocka_unit_test(casts),
        cmocka_unit_test(decimal_types),
        cmocka_unit_test(aggregates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
