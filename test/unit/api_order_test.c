/* Rows are stored in the order in which their query makes them, the same for any number of threads and every time. */
#include "api_util.h"

static const struct {
    const char *sql;
    const char *ordered; /* a condition that two neighbours hold; NULL: only the same every time */
} inserts[] = {
    {"INSERT INTO kept SELECT a, d FROM src", "a > last"},
    {"INSERT INTO kept SELECT a, d FROM src WHERE d % 100 <> 7", "a > last"},
    {"INSERT INTO kept SELECT a, d FROM src ORDER BY d DESC", NULL},
    {"INSERT INTO kept SELECT a, d FROM src ORDER BY a DESC", "a < last"},
    {"INSERT INTO kept SELECT a, k FROM src JOIN dim ON src.d % 1000 = dim.k", "a > last"},
    {"INSERT INTO kept SELECT a, d FROM src UNION ALL SELECT a + 1000000, d FROM src WHERE a < 50000", "a > last"},
    {"INSERT INTO kept SELECT min(a), d FROM src GROUP BY d", NULL},
    {"INSERT INTO kept SELECT i, -i FROM generate_series(1, 600000) g(i)", "a > last"},
    {"INSERT INTO kept SELECT DISTINCT a, d FROM src", NULL},
    {"INSERT INTO kept SELECT a, row_number() OVER (ORDER BY d) FROM src", NULL},
};

/* Text aggregates go by stored order. */
static void stored_order(tcudb_conn *conn, char out[64])
{
    snprintf(out, 64, "%s", ask(conn, "SELECT md5(string_agg(a || ':' || d, ',')) FROM kept"));
}

static void check_neighbours(tcudb_conn *conn, const char *condition)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM (SELECT a, lag(a) OVER () AS last FROM kept) x WHERE last IS NOT NULL AND NOT (%s)",
             condition);
    assert_string_equal(ask(conn, sql), "0");
}

static void order_does_not_depend_on_threads(void **state)
{
    tcudb_conn *conn = conn_of(state);
    static const char *const threads[] = {"SET tcudb.threads = 1", "SET tcudb.threads = 8", "SET tcudb.threads = 3",
                                          "SET tcudb.threads = 8"};
    ask(conn, "CREATE TABLE src AS SELECT i AS a, (i::bigint * 7919 % 600000)::int AS d FROM generate_series(1, "
              "600000) g(i)");
    ask(conn, "CREATE TABLE dim AS SELECT i AS k FROM generate_series(0, 999) g(i)");
    ask(conn, "CREATE TABLE kept(a int, d int)");
    for (size_t i = 0; i < sizeof inserts / sizeof inserts[0]; i++) {
        char first[64] = "", now[64];
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            ask(conn, threads[t]);
            ask(conn, "TRUNCATE kept");
            assert_int_equal(strncmp(ask(conn, inserts[i].sql), "INSERT 0 ", 9), 0);
            stored_order(conn, now);
            if (t == 0) memcpy(first, now, sizeof first);
            if (strcmp(first, now) != 0) fail_msg("%s: another order after %s", inserts[i].sql, threads[t]);
            if (t == 1 && inserts[i].ordered != NULL) check_neighbours(conn, inserts[i].ordered);
        }
    }
}

static void create_table_as_too(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "SET tcudb.threads = 8");
    for (int i = 0; i < 3; i++) {
        ask(conn, "DROP TABLE kept");
        assert_string_equal(ask(conn, "CREATE TABLE kept AS SELECT a, d FROM src ORDER BY a DESC"), "SELECT 600000");
        check_neighbours(conn, "a < last");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_does_not_depend_on_threads),
        cmocka_unit_test(create_table_as_too),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
