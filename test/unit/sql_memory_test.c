/* sql/: libpg_query in our memory. Whatever allocation fails, in libpg_query or in our code, the parse ends with 53200,
 * nothing is left behind, and the same thread parses on. */
#include "sql/ast.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static tcudb_status parse(Mem *mem, const char *sql, const atomic_bool *cancel, uint32_t *n, Error *err)
{
    Arena arena;
    Ast *asts;
    error_clear(err);
    arena_init(&arena, mem);
    tcudb_status status = sql_parse(&arena, str_of(sql), cancel, &asts, n, err);
    arena_free(&arena);
    assert_int_equal(atomic_load(&mem->used), 0);
    return status;
}

/* Statements, and the SQLSTATE that they end with when memory is enough. */
static const struct {
    const char *sql, *sqlstate;
} texts[] = {
    {"select 1", ""},
    {"select a, sum(b) from t join u using (a) where c like 'x%' group by a having count(*) > 1 order by 2; select 2",
     ""},
    {"create table t (a int default 1 + 2, b varchar(10) not null); insert into t values (1, E'\\u00e9'), (2, $$q$$)",
     ""},
    {"select 1 +", "42601"},
    {"select 'abc", "42601"},
    {"select U&'\\zzzz'", "42601"},
    {"select ((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))", ""},
};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        Mem mem;
        Error err;
        uint32_t n, failures = 0;
        mem_init(&mem, 0);
        for (size_t limit = 16;; limit += 16) {
            atomic_store(&mem.limit, limit);
            tcudb_status status = parse(&mem, texts[i].sql, NULL, &n, &err);
            if (status != TCUDB_NOMEM) break;
            assert_string_equal(err.sqlstate, "53200");
            failures++;
            assert_true(limit < 16 << 20);
        }
        assert_true(failures > 1000); /* two blocks of 8 KB at least */
        assert_string_equal(err.sqlstate, texts[i].sqlstate);
    }
}

static void a_default_s_text_may_fail(void **state)
{
    (void)state;
    Arena trees, out;
    Mem mem;
    Ast *asts;
    uint32_t n, failures = 0;
    Error err;
    arena_init(&trees, NULL);
    assert_int_equal(sql_parse(&trees, STR_LIT("select a + 'x' || (b * 2)::text"), NULL, &asts, &n, &err), TCUDB_OK);
    const Node *value = ((const Node *)asts[0].node)->select_stmt->target_list[0]->res_target->val;
    mem_init(&mem, 0);
    for (size_t limit = 16;; limit += 16) {
        Str text;
        atomic_store(&mem.limit, limit);
        arena_init(&out, &mem);
        tcudb_status status = sql_expression_text(&out, value, NULL, &text, &err);
        if (status == TCUDB_OK) assert_memory_equal(text.ptr, "(a + 'x') || CAST(b * 2 AS text)", text.len);
        arena_free(&out);
        assert_int_equal(atomic_load(&mem.used), 0);
        if (status == TCUDB_OK) break;
        assert_int_equal(status, TCUDB_NOMEM);
        failures++;
    }
    assert_true(failures > 1000);
    arena_free(&trees);
}

static void a_parse_is_interrupted(void **state)
{
    (void)state;
    Mem mem;
    Error err;
    uint32_t n;
    atomic_bool cancel = true;
    mem_init(&mem, 0);
    assert_int_equal(parse(&mem, "select 1", &cancel, &n, &err), TCUDB_INTERRUPTED);
    assert_string_equal(err.sqlstate, "57014");
    atomic_store(&cancel, false);
    assert_int_equal(parse(&mem, "select 1; select 2", &cancel, &n, &err), TCUDB_OK);
    assert_int_equal(n, 2);
}

static uint32_t free_keys(void)
{
    pthread_key_t keys[PTHREAD_KEYS_MAX];
    uint32_t n = 0;
    while (n < PTHREAD_KEYS_MAX && pthread_key_create(&keys[n], NULL) == 0) n++;
    for (uint32_t i = 0; i < n; i++) pthread_key_delete(keys[i]);
    return n;
}

static void *parse_once(void *out)
{
    Mem mem;
    Error err;
    uint32_t n;
    mem_init(&mem, 0);
    *(tcudb_status *)out = parse(&mem, "select a from t where b = 'c'", NULL, &n, &err);
    return NULL;
}

/* An application has 1,024 keys: threads that come and go must not use them up. */
static void threads_leave_no_keys(void **state)
{
    (void)state;
    uint32_t before = free_keys();
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        tcudb_status status = TCUDB_ERROR;
        assert_int_equal(pthread_create(&thread, NULL, parse_once, &status), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(status, TCUDB_OK);
    }
    assert_int_equal(free_keys(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_default_s_text_may_fail),
        cmocka_unit_test(a_parse_is_interrupted),
        cmocka_unit_test(threads_leave_no_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
