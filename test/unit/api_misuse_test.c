/* Wrong calls: reported as misuse, without harm. */
#include "api_util.h"

static void nulls_everywhere(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    tcudb_result *result = NULL;
    tcudb_stmt *stmt = NULL;
    tcudb_conn *none = NULL;
    assert_int_equal(tcudb_open(NULL, NULL, NULL, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_connect(NULL, &none, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_query(NULL, "select 1", &result, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_query(conn, NULL, &result, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_query(conn, "select 1", NULL, NULL), TCUDB_OK);
    assert_int_equal(tcudb_query(conn, "selec 1", NULL, NULL), TCUDB_ERROR);
    assert_int_equal(tcudb_stream(conn, "select 1", NULL, &err), TCUDB_OK);
    assert_int_equal(tcudb_prepare(conn, NULL, &stmt, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_prepare(conn, "select 1", NULL, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_execute(NULL, &result, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_bind_int64(NULL, 1, 1, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_list(conn, (tcudb_listing)99, NULL, &result, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_arrow_stream(NULL, NULL, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_set_notice(NULL, NULL, NULL, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_transaction_state(NULL), 0);
    assert_int_equal(tcudb_complete(NULL), 1);
    tcudb_interrupt(NULL);
    tcudb_close(NULL);
    tcudb_disconnect(NULL);
    tcudb_stmt_close(NULL);
    tcudb_result_free(NULL);
    assert_int_equal(tcudb_result_rows(NULL), 0);
    assert_null(tcudb_result_report(NULL));
    assert_null(tcudb_result_chunk(NULL, 0));
    assert_string_equal(err.sqlstate, "HY000");
}

static void errors_leave_the_connection_usable(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_result *result = (tcudb_result *)1;
    tcudb_error err;
    assert_int_equal(tcudb_query(conn, "select 1 +", &result, &err), TCUDB_ERROR);
    assert_null(result);
    assert_string_equal(err.sqlstate, "42601");
    assert_string_equal(err.message, "syntax error at end of input");
    assert_int_equal(err.position, 11);
    assert_answer(conn, "select 2", "2");
}

typedef struct Nested {
    tcudb_conn *conn;
    tcudb_status status;
} Nested;

static int query_again(void *ctx, const tcudb_chunk *chunk)
{
    Nested *nested = ctx;
    (void)chunk;
    nested->status = tcudb_query(nested->conn, "select 2", NULL, NULL);
    return 0;
}

static void callbacks_may_not_use_the_connection(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    Nested nested = {conn, TCUDB_OK};
    tcudb_sink sink = {.ctx = &nested, .chunk = query_again};
    assert_int_equal(tcudb_stream(conn, "select 1", &sink, &err), TCUDB_OK);
    assert_int_equal(nested.status, TCUDB_MISUSE);
}

static void statements_outliving_their_connection(void **state)
{
    Fixture *fixture = *state;
    tcudb_conn *conn = NULL;
    tcudb_stmt *stmt = NULL;
    tcudb_error err;
    assert_int_equal(tcudb_connect(fixture->db, &conn, &err), TCUDB_OK);
    assert_int_equal(tcudb_prepare(conn, "select 1", &stmt, &err), TCUDB_OK);
    tcudb_disconnect(conn);
    assert_int_equal(tcudb_execute(stmt, NULL, &err), TCUDB_MISUSE);
    assert_string_equal(err.message, "the statement's connection is closed");
    tcudb_stmt_close(stmt);
}

static void bad_databases(void **state)
{
    tcudb_db *db = (tcudb_db *)1;
    tcudb_error err;
    (void)state;
    tcudb_options options = {.size = sizeof options, .must_exist = 1};
    assert_int_equal(tcudb_open("/tmp/no such folder/x.tcu", &options, &db, &err), TCUDB_ERROR);
    assert_null(db);
    assert_true(err.message[0] != '\0');
    options.threads = 5000;
    assert_int_equal(tcudb_open(NULL, &options, &db, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_open("/etc/passwd", NULL, &db, &err), TCUDB_ERROR);
}

static void completeness(void **state)
{
    (void)state;
    assert_int_equal(tcudb_complete(""), 1);
    assert_int_equal(tcudb_complete("select 1"), 0);
    assert_int_equal(tcudb_complete("select 1;"), 1);
    assert_int_equal(tcudb_complete("select ';"), 0);
    assert_int_equal(tcudb_complete("select /* ; "), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nulls_everywhere),
        cmocka_unit_test(errors_leave_the_connection_usable),
        cmocka_unit_test(callbacks_may_not_use_the_connection),
        cmocka_unit_test(statements_outliving_their_connection),
        cmocka_unit_test(bad_databases),
        cmocka_unit_test(completeness),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
