/* Handles closed in every order, and by other threads: what is still open works, nothing is lost, kept or freed twice
 * (the sanitizers' builds look), and a database on disk is free for others once the last is closed. */
#include "api_util.h"

#include <pthread.h>
#include <unistd.h>

typedef struct Handles {
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_stmt *stmt;
    tcudb_result *result;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
} Handles;

enum { HANDLES = 6 };

static void open_handles(Handles *h, const char *path)
{
    tcudb_error err;
    assert_int_equal(tcudb_open(path, NULL, &h->db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(h->db, &h->conn, &err), TCUDB_OK);
    assert_int_equal(tcudb_query(h->conn,
                                 "create table if not exists t (a int, b text); begin; insert into t values (1, 'x')",
                                 NULL, &err),
                     TCUDB_OK);
    assert_int_equal(tcudb_prepare(h->conn, "select count(*) from t", &h->stmt, &err), TCUDB_OK);
    assert_int_equal(
        tcudb_query(h->conn, "select i, 'text ' || i from generate_series(1, 5000) t(i)", &h->result, &err), TCUDB_OK);
    assert_int_equal(tcudb_arrow_stream(h->result, &h->stream, &err), TCUDB_OK);
    assert_int_equal(h->stream.get_next(&h->stream, &h->array), 0);
}

/* Each handle is used once more, then closed. */
static void close_one(Handles *h, int which)
{
    struct ArrowArray more;
    char cell[16];
    switch (which) {
    case 0: tcudb_close(h->db); break;
    case 1:
        assert_string_equal(ask(h->conn, "select count(*) from t"), "1"); /* of its transaction, which ends here */
        tcudb_disconnect(h->conn);
        break;
    case 2: tcudb_stmt_close(h->stmt); break;
    case 3:
        assert_int_equal(tcudb_result_rows(h->result), 5000);
        tcudb_format(tcudb_result_chunk(h->result, 0), 1, 6, cell, sizeof cell);
        assert_string_equal(cell, "text 7");
        tcudb_result_free(h->result);
        break;
    case 4:
        while (h->stream.get_next(&h->stream, &more) == 0 && more.release != NULL) more.release(&more);
        h->stream.release(&h->stream);
        break;
    default: assert_int_equal(((const int32_t *)h->array.children[0]->buffers[1])[6], 7); h->array.release(&h->array);
    }
}

/* The k-th order of the six. */
static void order_of(int k, int order[HANDLES])
{
    int left[HANDLES] = {0, 1, 2, 3, 4, 5}, n = HANDLES;
    for (int i = 0; i < HANDLES; i++, n--) {
        int at = k % n;
        k /= n;
        order[i] = left[at];
        memmove(left + at, left + at + 1, (size_t)(n - at - 1) * sizeof left[0]);
    }
}

static void close_in_order(int k, const char *path)
{
    Handles h;
    int order[HANDLES];
    order_of(k, order);
    open_handles(&h, path);
    for (int i = 0; i < HANDLES; i++) close_one(&h, order[i]);
}

static void every_order_in_memory(void **state)
{
    (void)state;
    for (int k = 0; k < 720; k++) close_in_order(k, NULL);
}

/* Another handle on the same folder would wait for the write lock of a database that is still open. */
static void orders_on_disk(void **state)
{
    char path[96];
    snprintf(path, sizeof path, "%s/db.tcu", (const char *)*state);
    for (int k = 0; k < 720; k += 31) close_in_order(k, path);
}

/* ---- other threads ---------------------------------------------------------------------------- */

static void *read_and_free(void *arg)
{
    tcudb_result *result = arg;
    uint64_t sum = 0;
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        for (uint64_t row = 0; row < chunk->rows; row++)
            sum += (uint64_t)((const int32_t *)chunk->columns[0].values)[row];
    }
    tcudb_result_free(result);
    return (void *)(uintptr_t)sum;
}

static void results_go_to_other_threads(void **state)
{
    enum { THREADS = 4 };
    Handles h;
    pthread_t threads[THREADS];
    tcudb_error err;
    (void)state;
    open_handles(&h, NULL);
    for (int i = 0; i < THREADS; i++) {
        tcudb_result *result = NULL;
        assert_int_equal(tcudb_query(h.conn, "select i from generate_series(1, 20000) t(i)", &result, &err), TCUDB_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, read_and_free, result), 0);
    }
    for (int i = 0; i < HANDLES; i++) close_one(&h, (i + 1) % HANDLES); /* the database is the last */
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        assert_int_equal(pthread_join(threads[i], &sum), 0);
        assert_int_equal((uintptr_t)sum, 200010000);
    }
}

/* ---- errors on the way -------------------------------------------------------------------------- */

static void *interrupt(void *arg)
{
    for (int i = 0; i < 2000; i++) tcudb_interrupt(arg);
    return NULL;
}

/* A statement that fails or is stopped, with a result in hand. */
static void after_errors(void **state)
{
    Handles h;
    pthread_t thread;
    tcudb_error err;
    (void)state;
    open_handles(&h, NULL);
    tcudb_result *none = (tcudb_result *)1;
    assert_int_equal(tcudb_query(h.conn, "select 1 / (a - 1) from t", &none, &err), TCUDB_ERROR);
    assert_null(none);
    assert_int_equal(tcudb_execute(h.stmt, &none, &err), TCUDB_ERROR); /* the transaction has failed */
    assert_null(none);
    assert_int_equal(pthread_create(&thread, NULL, interrupt, h.conn), 0);
    for (int i = 0; i < 50; i++) {
        tcudb_status status =
            tcudb_query(h.conn, "rollback; select sum(i) from generate_series(1, 100000) t(i)", &none, &err);
        assert_true(status == TCUDB_OK || status == TCUDB_INTERRUPTED);
        tcudb_result_free(none);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    tcudb_disconnect(h.conn);
    tcudb_stmt_close(h.stmt);
    h.stream.release(&h.stream);
    h.array.release(&h.array);
    tcudb_result_free(h.result);
    tcudb_close(h.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_in_memory),
        cmocka_unit_test_setup_teardown(orders_on_disk, make_folder, remove_folder),
        cmocka_unit_test(results_go_to_other_threads),
        cmocka_unit_test(after_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
