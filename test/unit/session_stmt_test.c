/* Statements of the session: PREPARE and its kin, EXPLAIN, SHOW, COPY streams, engines, hints. */
#include "api_util.h"

static void prepared_by_name(void **state)
{
    tcudb_conn *conn = conn_of(state);
    assert_answer(conn, "prepare p (int, text) as select $1 + 1, $2", "PREPARE");
    assert_answer(conn, "execute p (41, 'x')", "42|x");
    assert_answer(conn, "execute p ('7', null)", "8|~");
    assert_answer(conn, "execute p (1)", "ERROR 42601 wrong number of parameters for prepared statement \"p\"");
    assert_answer(conn, "prepare p as select 1", "ERROR 42P05 prepared statement \"p\" already exists");
    assert_answer(conn, "deallocate p", "DEALLOCATE");
    assert_answer(conn, "execute p (1, '')", "ERROR 26000 prepared statement \"p\" does not exist");
    ask(conn, "create table t (a int); prepare i as insert into t values ($1), ($1 * 2)");
    assert_answer(conn, "execute i (21)", "INSERT 0 2");
    assert_answer(conn, "select a from t order by a", "21\n42");
    assert_answer(conn, "deallocate all", "DEALLOCATE ALL");
    ask(conn, "drop table t");
}

static void result_type_must_not_change(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "create table t (a int); prepare p as select * from t; drop table t; create table t (a text)");
    assert_answer(conn, "execute p", "ERROR 0A000 cached plan must not change result type");
    ask(conn, "deallocate p; drop table t");
}

static void explain(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "create table t (a int); insert into t select * from generate_series(1, 1000)");
    assert_non_null(strstr(ask(conn, "explain select count(*) from t where a > 5"), "Engine: cpu"));
    const char *analyze = ask(conn, "explain analyze select count(*) from t where a > 5");
    assert_non_null(strstr(analyze, "Execution Time: "));
    assert_non_null(strstr(analyze, "Peak Memory: "));
    assert_null(strstr(analyze, "ERROR"));
    const char *stages = ask(conn, "explain (stages) select count(*) from t where a > 5");
    assert_non_null(strstr(stages, "Bound plan:"));
    assert_non_null(strstr(stages, "Physical plan:"));
    assert_int_equal(ask(conn, "explain (format json) select 1")[0], '[');
    assert_answer(conn, "explain (format xml) select 1", "ERROR 0A000 EXPLAIN (FORMAT xml) is not supported yet");
    assert_answer(conn, "explain (nonsense) select 1", "ERROR 42601 unrecognized EXPLAIN option \"nonsense\"");
    assert_null(strstr(ask(conn, "explain analyze insert into t values (7)"), "ERROR"));
    assert_answer(conn, "select count(*) from t", "1001");
    ask(conn, "drop table t");
}

static void show(void **state)
{
    tcudb_conn *conn = conn_of(state);
    assert_answer(conn, "show server_version_num", "150000");
    assert_answer(conn, "show tcudb.engine", "auto");
    ask(conn, "create table b (x int); create view a as select 1 as y");
    assert_answer(conn, "show tables", "a|view|1|~|select 1 as y\nb|table|1|0|~");
    ask(conn, "drop view a; drop table b");
    assert_non_null(strstr(ask(conn, "show all"), "tcudb.memory_limit"));
}

static void engines_are_honest(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_result *result = NULL;
    tcudb_error err;
    ask(conn, "set tcudb.engine = 'gpu'");
    assert_int_equal(tcudb_query(conn, "select 1", &result, &err), TCUDB_OK);
    assert_string_equal(tcudb_result_report(result)->engine, "cpu");
    assert_int_equal(strncmp(tcudb_result_report(result)->why, "not gpu: ", 9), 0);
    tcudb_result_free(result);
    ask(conn, "set tcudb.require_engine = on");
    assert_answer(conn, "select 1", "ERROR 55000 engine \"gpu\" cannot run this statement");
    assert_answer(conn, "reset all", "RESET");
    assert_answer(conn, "select 1", "1");
}

static void misspelt_names_get_a_hint(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    assert_int_equal(tcudb_query(conn, "select * from nothing", NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.hint, "The database has no tables yet.");
    ask(conn, "create table customer (a int)");
    assert_int_equal(tcudb_query(conn, "select * from custommer", NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.hint, "Perhaps you meant \"customer\".");
    assert_int_equal(err.position, 15);
    assert_int_equal(tcudb_query(conn, "select * from xyzzy", NULL, &err), TCUDB_ERROR);
    assert_string_equal(err.hint, "");
    ask(conn, "drop table customer");
}

static void limits(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    ask(conn, "set tcudb.memory_limit = '24MB'");
    assert_int_equal(tcudb_query(conn, "select g, g::text || ' and more' from generate_series(1, 2000000) g",
                                 &(tcudb_result *){NULL}, &err),
                     TCUDB_NOMEM);
    assert_string_equal(err.sqlstate, "53200");
    assert_non_null(strstr(err.detail, "tcudb.memory_limit"));
    assert_answer(conn, "select count(*) from generate_series(1, 2000000) g", "2000000"); /* it was given back */
    assert_answer(conn, "begin; set tcudb.memory_limit = '1GB'; rollback", "ROLLBACK");
    assert_answer(conn, "show tcudb.memory_limit", "24MB");
    assert_answer(conn, "reset all; show tcudb.memory_limit", "0");
}

static void threads(void **state)
{
    tcudb_conn *conn = conn_of(state);
    static const char *const counts[] = {"1", "3", "0"};
    for (int i = 0; i < 3; i++) {
        char sql[128];
        snprintf(sql, sizeof sql,
                 "set tcudb.threads = %s; select sum(g), count(distinct g %% 97) from generate_series(1, 100000) g",
                 counts[i]);
        assert_answer(conn, sql, "5000050000|97");
    }
    assert_int_equal(strncmp(ask(conn, "set tcudb.threads = 5000"), "ERROR 22023", 11), 0);
}

static void explain_of_everything(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "prepare p as select $1::int + 1 as n");
    assert_non_null(strstr(ask(conn, "explain execute p (1)"), "Engine: cpu"));
    assert_non_null(strstr(ask(conn, "explain create table made as select 1 as a"), "Engine: cpu"));
    assert_answer(conn, "select * from made", "ERROR 42P01 relation \"made\" does not exist");
    ask(conn, "deallocate all");
}

/* ---- COPY ----------------------------------------------------------------------------------- */

typedef struct Streams {
    const char *in;
    char out[256];
    size_t n;
} Streams;

static size_t read_in(void *ctx, char *buffer, size_t size)
{
    Streams *streams = ctx;
    size_t n = strlen(streams->in);
    if (n > 3) n = 3; /* in small pieces */
    if (n > size) n = size;
    memcpy(buffer, streams->in, n);
    streams->in += n;
    return n;
}

static int write_out(void *ctx, const char *data, size_t size)
{
    Streams *streams = ctx;
    if (streams->n + size >= sizeof streams->out) return 1;
    memcpy(streams->out + streams->n, data, size);
    streams->n += size;
    streams->out[streams->n] = '\0';
    return 0;
}

static void copy_streams(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    Streams streams = {.in = "1\tone\n2\t\\N\n"};
    ask(conn, "create table t (a int, b text default 'none', c int default 1 + 2)");
    assert_answer(conn, "copy t from stdin", "ERROR 0A000 COPY FROM STDIN is not available on this connection");
    assert_int_equal(tcudb_set_copy(conn, read_in, write_out, &streams, &err), TCUDB_OK);
    assert_answer(conn, "copy t (a, b) from stdin", "COPY 2");
    assert_answer(conn, "select * from t order by a", "1|one|3\n2|~|3");
    streams.in = "3\n";
    assert_answer(conn, "copy t (a) from stdin", "COPY 1");
    assert_answer(conn, "copy (select * from t order by a) to stdout (format csv, header)", "COPY 3");
    assert_string_equal(streams.out, "a,b,c\n1,one,3\n2,,3\n3,none,3\n");
    streams.in = "4\nx\n";
    assert_int_equal(strncmp(ask(conn, "copy t (a) from stdin"), "ERROR 22P02", 11), 0);
    assert_answer(conn, "select count(*) from t", "3");
    assert_int_equal(tcudb_set_copy(conn, NULL, NULL, NULL, &err), TCUDB_OK);
    ask(conn, "drop table t");
}

static void call_procedures(void **state)
{
    tcudb_conn *conn = conn_of(state);
    assert_answer(conn, "call nix()", "ERROR 42883 procedure nix does not exist");
    assert_answer(conn, "call ssb(scale => 0.001)", "CALL");
    assert_answer(conn, "select count(*) from lineorder where lo_quantity is null", "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared_by_name),
        cmocka_unit_test(result_type_must_not_change),
        cmocka_unit_test(explain),
        cmocka_unit_test(show),
        cmocka_unit_test(engines_are_honest),
        cmocka_unit_test(limits),
        cmocka_unit_test(threads),
        cmocka_unit_test(explain_of_everything),
        cmocka_unit_test(misspelt_names_get_a_hint),
        cmocka_unit_test(copy_streams),
        cmocka_unit_test(call_procedures),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
