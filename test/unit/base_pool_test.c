/* Pool: every task runs once, the first error wins, cancelling stops. */
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { TASKS = 10000 };

static tcudb_status count_task(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker;
    (void)err;
    atomic_fetch_add(&((_Atomic uint32_t *)ctx)[task], 1);
    return TCUDB_OK;
}

static tcudb_status fail_task(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)ctx;
    (void)worker;
    if (task == 77) return error_set(err, SQLSTATE_INTERNAL_ERROR, "task %llu", (unsigned long long)task);
    return TCUDB_OK;
}

static void every_task_runs_once(void **state)
{
    (void)state;
    static _Atomic uint32_t seen[TASKS];
    for (uint32_t workers = 1; workers <= 4; workers++) {
        Pool *pool = NULL;
        Error err;
        assert_int_equal(pool_new(workers, &pool, &err), TCUDB_OK);
        for (int i = 0; i < TASKS; i++) atomic_store(&seen[i], 0);
        assert_int_equal(pool_run(pool, TASKS, count_task, seen, NULL, &err), TCUDB_OK);
        for (int i = 0; i < TASKS; i++) assert_int_equal(atomic_load(&seen[i]), 1);
        pool_free(pool);
    }
}

static void first_error_is_returned(void **state)
{
    (void)state;
    Pool *pool = NULL;
    Error err;
    assert_int_equal(pool_new(3, &pool, &err), TCUDB_OK);
    assert_int_equal(pool_run(pool, TASKS, fail_task, NULL, NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "task 77");
    pool_free(pool);
}

static void cancel_stops(void **state)
{
    (void)state;
    Pool *pool = NULL;
    Error err;
    atomic_bool cancel = true;
    static _Atomic uint32_t seen[TASKS];
    assert_int_equal(pool_new(2, &pool, &err), TCUDB_OK);
    assert_int_equal(pool_run(pool, TASKS, count_task, seen, &cancel, &err), TCUDB_INTERRUPTED);
    assert_string_equal(err.sqlstate, "57014");
    pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(first_error_is_returned),
        cmocka_unit_test(cancel_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
