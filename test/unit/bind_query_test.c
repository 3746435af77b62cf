/* Binding: columns, types, parameters and errors of bind_cases.def, whose answers are PostgreSQL 15's. */
#include "bind_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char *const schema[] = {
#define SCHEMA(sql) sql,
#define CASE(sql, answer)
#define DIFFERS(sql, answer, why)
#include "bind_cases.def"
#undef SCHEMA
#undef CASE
#undef DIFFERS
};

static const struct {
    const char *sql;
    const char *answer;
} cases[] = {
#define SCHEMA(sql)
#define CASE(sql, answer)         {sql, answer},
#define DIFFERS(sql, answer, why) {sql, answer},
#include "bind_cases.def"
#undef SCHEMA
#undef CASE
#undef DIFFERS
};

static void answers_are_postgresql_s(void **state)
{
    (void)state;
    Harness h;
    static char answer[65536];
    uint32_t wrong = 0;
    harness_open(&h);
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++) {
        assert_int_equal(harness_define(&h, schema[i]), TCUDB_OK);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        harness_answer(&h, cases[i].sql, answer, sizeof answer);
        if (strcmp(answer, cases[i].answer) == 0) continue;
        wrong++;
        print_message("%s\n  expected: %s\n  answer:   %s\n", cases[i].sql, cases[i].answer, answer);
    }
    harness_close(&h);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_postgresql_s)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
