/* Every line of type_cases.def: functions, operators and casts of single values give PostgreSQL 15's text. */
#include "type_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct Case {
    const char *want;
    const char *name;
    const char *args[7];
} Case;

static const Case cases[] = {
#define CASE(want, name, ...) {want, name, {__VA_ARGS__}},
#include "type_cases.def"
};

static void answers_are_postgresqls(void **state)
{
    (void)state;
    Caller c;
    caller_init(&c);
    uint32_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *t = &cases[i];
        uint32_t n = 0;
        while (n < 7 && t->args[n] != NULL) n++;
        const char *got = strcmp(t->name, "cast") == 0 ? caller_cast(&c, t->args[0], t->args[1])
                                                       : caller_call(&c, t->name, t->args, n);
        if (strcmp(got, t->want) == 0) continue;
        wrong++;
        print_error("%s(%s, %s, ...): got \"%s\", want \"%s\"\n", t->name, t->args[0],
                    t->args[1] == NULL ? "" : t->args[1], got, t->want);
    }
    arena_free(&c.arena);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_postgresqls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
