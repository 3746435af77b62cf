/* Threads: two connections at once, interrupts within 100 ms, timeouts, progress. */
#include "api_util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* Seconds of work on any machine, for as long as nobody stops it. */
static const char *endless =
    "select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a + b < 0";

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* ---- two connections ------------------------------------------------------------------------ */

typedef struct Worker {
    tcudb_db *db;
    int number;
    int failures;
} Worker;

static void *insert_and_count(void *arg)
{
    Worker *worker = arg;
    tcudb_conn *conn = NULL;
    tcudb_error err;
    char sql[128];
    if (tcudb_connect(worker->db, &conn, &err) != TCUDB_OK) return worker->failures++, NULL;
    if (tcudb_query(conn, "set tcudb.lock_timeout = 60000", NULL, &err) != TCUDB_OK) worker->failures++;
    for (int i = 0; i < 50; i++) {
        tcudb_result *result = NULL;
        snprintf(sql, sizeof sql, "insert into shared values (%d, %d)", worker->number, i);
        if (tcudb_query(conn, sql, NULL, &err) != TCUDB_OK) worker->failures++;
        snprintf(sql, sizeof sql, "select count(*) from shared where who = %d", worker->number);
        if (tcudb_query(conn, sql, &result, &err) != TCUDB_OK)
            worker->failures++;
        else if (((const int64_t *)tcudb_result_chunk(result, 0)->columns[0].values)[0] != i + 1)
            worker->failures++;
        tcudb_result_free(result);
    }
    tcudb_disconnect(conn);
    return NULL;
}

static void two_connections(void **state)
{
    Fixture *fixture = *state;
    Worker workers[2] = {{fixture->db, 1, 0}, {fixture->db, 2, 0}};
    pthread_t threads[2];
    assert_answer(fixture->conn, "create table shared (who int, what int)", "CREATE TABLE");
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, insert_and_count, &workers[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_int_equal(workers[0].failures, 0);
    assert_int_equal(workers[1].failures, 0);
    assert_answer(fixture->conn, "select who, count(*) from shared group by who order by who", "1|50\n2|50");
}

/* ---- stopping ------------------------------------------------------------------------------- */

typedef struct Stopper {
    tcudb_conn *conn;
    double at;
} Stopper;

static void *stop_soon(void *arg)
{
    Stopper *stopper = arg;
    usleep(200000);
    stopper->at = now();
    tcudb_interrupt(stopper->conn);
    return NULL;
}

static void interrupts_are_prompt(void **state)
{
    tcudb_conn *conn = conn_of(state);
    static const char *const queries[] = {NULL,
                                          "select count(distinct a % 1000003) from generate_series(1, 10000000000) a",
                                          "select a from generate_series(1, 20000000) a order by a % 1000003, a"};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        Stopper stopper = {.conn = conn};
        pthread_t thread;
        tcudb_error err = {0};
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stopper), 0);
        assert_int_equal(tcudb_query(conn, queries[i] == NULL ? endless : queries[i], NULL, &err), TCUDB_INTERRUPTED);
        double late = now();
        pthread_join(thread, NULL);
        assert_string_equal(err.sqlstate, "57014");
        assert_string_equal(err.message, "canceling statement due to user request");
        if (late - stopper.at > 0.1) print_message("query %zu stopped after %.0f ms\n", i, 1e3 * (late - stopper.at));
        assert_true(late - stopper.at < 1.0); /* 0.1 on a machine of its own */
    }
    assert_answer(conn, "select 'fine'", "fine");
}

static void statement_timeout(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "set statement_timeout = 100");
    double start = now();
    assert_answer(conn, endless, "ERROR 57014 canceling statement due to statement timeout");
    assert_true(now() - start < 2.0);
    assert_answer(conn, "select 1", "1");
    ask(conn, "reset statement_timeout");
}

static int stop_at_third(void *ctx, uint64_t done, uint64_t total, double seconds)
{
    (void)done;
    (void)total;
    return seconds > 0 && atomic_fetch_add((_Atomic int *)ctx, 1) == 2;
}

static void progress_can_stop(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    _Atomic int calls = 0;
    assert_int_equal(tcudb_set_progress(conn, stop_at_third, &calls, 20, &err), TCUDB_OK);
    assert_answer(conn, endless, "ERROR 57014 canceling statement due to user request");
    assert_true(atomic_load(&calls) >= 3);
    assert_int_equal(tcudb_set_progress(conn, NULL, NULL, 0, &err), TCUDB_OK);
    assert_answer(conn, "select 1", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_connections),
        cmocka_unit_test(interrupts_are_prompt),
        cmocka_unit_test(statement_timeout),
        cmocka_unit_test(progress_can_stop),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
