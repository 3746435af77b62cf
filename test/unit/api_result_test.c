/* Results: types, values in place, NULLs, reports, streaming, prepared statements. */
#include "api_util.h"

static tcudb_result *run(tcudb_conn *conn, const char *sql)
{
    tcudb_result *result = NULL;
    tcudb_error err = {0};
    assert_int_equal(tcudb_query(conn, sql, &result, &err), TCUDB_OK);
    return result;
}

static void values_in_place(void **state)
{
    tcudb_result *result = run(conn_of(state), "select true as b, 2::int2, 3 as i, 4::int8, 1.5::float4, 2.5::float8, "
                                               "12.34::numeric(12,2) as n, 5::numeric(30,0), 'text' as t, "
                                               "date '2000-01-02', timestamp '2000-01-01 00:00:01', null::int as z");
    assert_int_equal(tcudb_result_columns(result), 12);
    assert_int_equal(tcudb_result_rows(result), 1);
    assert_string_equal(tcudb_result_column(result, 2)->name, "i");
    assert_string_equal(tcudb_result_column(result, 6)->type_name, "numeric(12,2)");
    assert_null(tcudb_result_column(result, 12));
    const tcudb_chunk *chunk = tcudb_result_chunk(result, 0);
    const tcudb_column *c = chunk->columns;
    assert_int_equal(((const uint8_t *)c[0].values)[0], 1);
    assert_int_equal(((const int16_t *)c[1].values)[0], 2);
    assert_int_equal(((const int32_t *)c[2].values)[0], 3);
    assert_int_equal(((const int64_t *)c[3].values)[0], 4);
    assert_true(((const float *)c[4].values)[0] == 1.5F);
    assert_true(((const double *)c[5].values)[0] == 2.5);
    assert_int_equal(((const int64_t *)c[6].values)[0], 1234);
    assert_int_equal(((const tcudb_int128 *)c[7].values)[0].low, 5);
    const tcudb_text *text = c[8].values;
    assert_int_equal(text->len, 4);
    assert_memory_equal(text->ptr, "text", 4);
    assert_int_equal(((const int32_t *)c[9].values)[0], 1);
    assert_int_equal(((const int64_t *)c[10].values)[0], 1000000);
    assert_int_equal(tcudb_is_null(chunk, 11, 0), 1);
    assert_int_equal(tcudb_is_null(chunk, 10, 0), 0);
    tcudb_result_free(result);
}

static void many_rows(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_result *result =
        run(conn, "select g, case when g % 3 = 0 then 'x' || g end from generate_series(1, 10000) g order by g");
    uint64_t next = 1;
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        for (uint64_t row = 0; row < chunk->rows; row++, next++) {
            char text[16];
            char expected[16];
            assert_int_equal(((const int32_t *)chunk->columns[0].values)[row], next);
            assert_int_equal(tcudb_is_null(chunk, 1, row), next % 3 != 0);
            tcudb_format(chunk, 1, row, text, sizeof text);
            snprintf(expected, sizeof expected, "x%llu", (unsigned long long)next);
            assert_string_equal(text, next % 3 == 0 ? expected : "");
        }
    }
    assert_int_equal(next, 10001);
    assert_int_equal(tcudb_result_rows(result), 10000);
    tcudb_result_free(result);
}

static void formatting_reports_the_whole_length(void **state)
{
    tcudb_result *result = run(conn_of(state), "select 'abcdef', 123456");
    const tcudb_chunk *chunk = tcudb_result_chunk(result, 0);
    char small[4];
    assert_int_equal(tcudb_format(chunk, 0, 0, small, sizeof small), 6);
    assert_string_equal(small, "abc");
    assert_int_equal(tcudb_format(chunk, 1, 0, NULL, 0), 6);
    assert_int_equal(tcudb_format(chunk, 2, 0, small, sizeof small), SIZE_MAX);
    assert_answer(conn_of(state), "select 0, -7, (-9223372036854775807 - 1)::int8, 9223372036854775807, (-32768)::int2",
                  "0|-7|-9223372036854775808|9223372036854775807|-32768");
    assert_int_equal(tcudb_format(chunk, 0, 1, small, sizeof small), SIZE_MAX);
    tcudb_result_free(result);
}

static void reports(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_result *result = run(conn, "create table t (a int); insert into t values (1), (2), (3)");
    assert_int_equal(tcudb_result_columns(result), 0);
    assert_int_equal(tcudb_result_affected(result), 3);
    assert_string_equal(tcudb_result_report(result)->tag, "INSERT 0 3");
    tcudb_result_free(result);
    result = run(conn, "select * from t");
    const tcudb_report *report = tcudb_result_report(result);
    assert_string_equal(report->tag, "SELECT 3");
    assert_string_equal(report->engine, "cpu");
    assert_int_equal(report->exact, 1);
    assert_int_equal(report->rows, 3);
    assert_int_equal(tcudb_result_affected(result), 0);
    assert_true(report->seconds > 0 && report->seconds < 60);
    tcudb_result_free(result);
    result = run(conn, "");
    assert_string_equal(tcudb_result_report(result)->tag, "");
    tcudb_result_free(result);
    result = run(conn, "select 1; update t set a = 5 where a < 3"); /* the last statement's, not the first's */
    assert_int_equal(tcudb_result_columns(result), 0);
    assert_int_equal(tcudb_result_affected(result), 2);
    tcudb_result_free(result);
    ask(conn, "drop table t");
}

static void rounding_is_labelled(void **state)
{
    tcudb_conn *conn = conn_of(state);
    const char *const query = "select x.g, y.g, sum(x.v * y.v) from r x join r y using (k) group by x.g, y.g";
    tcudb_result_free(run(conn, "create table r (g int, k int, v int); insert into r values (1, 1, 2049), (2, 1, 1)"));
    tcudb_result_free(run(conn, "set tcudb.engine = tcu; set tcudb.precision = fast"));
    tcudb_result *result = run(conn, query);
    assert_int_equal(tcudb_result_report(result)->exact, 0);
    tcudb_result_free(result);
    result = run(conn, "select sum(v) from r");
    assert_int_equal(tcudb_result_report(result)->exact, 1);
    tcudb_result_free(result);
    assert_non_null(
        strstr(ask(conn, "explain select x.g, y.g, sum(x.v * y.v) from r x join r y using (k) group by 1, 2"),
               "fast (FP16 inputs): not exact"));
    /* counts stay exact, beyond what FP32 can count to: 4099 x 4099 rows with a value, and 1 without */
    tcudb_result_free(run(conn, "create table s as select 1 as g, 1 as k, case when i > 0 then 3 end as v "
                                "from generate_series(0, 4099) as t(i)"));
    assert_string_equal(ask(conn, "select count(x.v) from s x join s y using (k) where y.v = 3 group by x.g, y.g"),
                        "16801801");
    assert_string_equal(ask(conn, "select count(*) from s x join s y using (k) where y.v = 3 group by x.g, y.g"),
                        "16805900");
    tcudb_result_free(run(conn, "drop table s; reset tcudb.precision"));
    result = run(conn, query);
    assert_int_equal(tcudb_result_report(result)->exact, 1);
    tcudb_result_free(result);
    tcudb_result_free(run(conn, "drop table r; reset tcudb.engine"));
}

static void results_outlive_everything(void **state)
{
    (void)state;
    tcudb_db *db = NULL;
    tcudb_conn *conn = NULL;
    tcudb_error err;
    assert_int_equal(tcudb_open(":memory:", NULL, &db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(db, &conn, &err), TCUDB_OK);
    tcudb_result *result = run(conn, "select 'still here'");
    tcudb_close(db);
    tcudb_disconnect(conn);
    assert_string_equal(result_text(result), "still here");
    tcudb_result_free(result);
}

/* ---- streaming ------------------------------------------------------------------------------ */

typedef struct Counter {
    uint64_t rows;
    uint32_t columns;
    uint32_t statements;
    uint64_t stop_after;
} Counter;

static int count_columns(void *ctx, const tcudb_column_info *columns, uint32_t n)
{
    ((Counter *)ctx)->columns = n;
    return columns[0].name == NULL;
}

static int count_chunk(void *ctx, const tcudb_chunk *chunk)
{
    Counter *counter = ctx;
    counter->rows += chunk->rows;
    return counter->stop_after > 0 && counter->rows >= counter->stop_after;
}

static int count_done(void *ctx, const tcudb_report *report)
{
    ((Counter *)ctx)->statements++;
    return report->tag[0] == '\0';
}

static void streaming(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    Counter counter = {0};
    tcudb_sink sink = {&counter, count_columns, count_chunk, count_done};
    assert_int_equal(tcudb_stream(conn, "select 1; select g, g from generate_series(1, 100000) g", &sink, &err),
                     TCUDB_OK);
    assert_int_equal(counter.rows, 100001);
    assert_int_equal(counter.columns, 2);
    assert_int_equal(counter.statements, 2);
    counter = (Counter){.stop_after = 5000};
    assert_int_equal(tcudb_stream(conn, "select g from generate_series(1, 100000) g", &sink, &err), TCUDB_INTERRUPTED);
    assert_string_equal(err.sqlstate, "57014");
    assert_true(counter.rows < 100000);
    assert_answer(conn, "select 'fine'", "fine");
}

/* ---- prepared statements -------------------------------------------------------------------- */

static void prepared(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    tcudb_stmt *stmt = NULL;
    tcudb_result *result = NULL;
    assert_int_equal(tcudb_prepare(conn, "select $1::int + 1 as a, $2::text as b, $3::date as c", &stmt, &err),
                     TCUDB_OK);
    assert_int_equal(tcudb_stmt_params(stmt), 3);
    assert_int_equal(tcudb_stmt_param_type(stmt, 1), TCUDB_TYPE_INT4);
    assert_int_equal(tcudb_stmt_param_type(stmt, 3), TCUDB_TYPE_DATE);
    assert_int_equal(tcudb_stmt_param_type(stmt, 4), 0);
    assert_int_equal(tcudb_stmt_columns(stmt), 3);
    assert_string_equal(tcudb_stmt_column(stmt, 1)->name, "b");
    assert_int_equal(tcudb_bind_int64(stmt, 1, 41, &err), TCUDB_OK);
    assert_int_equal(tcudb_bind_text(stmt, 2, "hello world", 5, &err), TCUDB_OK);
    assert_int_equal(tcudb_execute(stmt, NULL, &err), TCUDB_MISUSE); /* $3 is missing */
    assert_int_equal(tcudb_bind_text(stmt, 3, "2024-02-29", SIZE_MAX, &err), TCUDB_OK);
    assert_int_equal(tcudb_execute(stmt, &result, &err), TCUDB_OK);
    assert_string_equal(result_text(result), "42|hello|2024-02-29");
    tcudb_result_free(result);
    assert_int_equal(tcudb_bind_null(stmt, 2, &err), TCUDB_OK);
    assert_int_equal(tcudb_execute(stmt, &result, &err), TCUDB_OK);
    assert_string_equal(result_text(result), "42|~|2024-02-29");
    tcudb_result_free(result);
    tcudb_stmt_close(stmt);
}

static void wrong_values_are_refused(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    tcudb_stmt *stmt = NULL;
    assert_int_equal(tcudb_prepare(conn, "select $1::int, $2::date", &stmt, &err), TCUDB_OK);
    assert_int_equal(tcudb_bind_int64(stmt, 1, INT64_C(1) << 40, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "22003");
    assert_int_equal(tcudb_bind_text(stmt, 1, "one", SIZE_MAX, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "22P02");
    assert_int_equal(tcudb_bind_text(stmt, 2, "2023-02-29", SIZE_MAX, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "22008");
    assert_int_equal(tcudb_bind_bool(stmt, 2, 1, &err), TCUDB_ERROR);
    assert_int_equal(tcudb_bind_int64(stmt, 3, 1, &err), TCUDB_MISUSE);
    assert_int_equal(tcudb_bind_int64(stmt, 0, 1, &err), TCUDB_MISUSE);
    tcudb_stmt_close(stmt);
    assert_int_equal(tcudb_prepare(conn, "select 1; select 2", &stmt, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "cannot insert multiple commands into a prepared statement");
    assert_null(stmt);
    assert_int_equal(tcudb_prepare(conn, "select $1", &stmt, &err), TCUDB_OK); /* PostgreSQL: text */
    assert_int_equal(tcudb_stmt_param_type(stmt, 1), TCUDB_TYPE_TEXT);
    tcudb_stmt_close(stmt);
}

static void listings(void **state)
{
    tcudb_conn *conn = conn_of(state);
    tcudb_error err;
    tcudb_result *result = NULL;
    ask(conn, "create table t (a int not null, b varchar(5) default 'x'); create view v as select a as k from t");
    assert_int_equal(tcudb_list(conn, TCUDB_TABLES, NULL, &result, &err), TCUDB_OK);
    assert_int_equal(tcudb_result_rows(result), 2);
    tcudb_result_free(result);
    assert_int_equal(tcudb_list(conn, TCUDB_COLUMNS, "t", &result, &err), TCUDB_OK);
    assert_string_equal(result_text(result), "t|a|integer|f|~\nt|b|character varying(5)|t|'x'");
    tcudb_result_free(result);
    assert_int_equal(tcudb_list(conn, TCUDB_COLUMNS, "v", &result, &err), TCUDB_OK);
    assert_string_equal(result_text(result), "v|k|integer|t|~");
    tcudb_result_free(result);
    assert_int_equal(tcudb_list(conn, TCUDB_COLUMNS, "nix", &result, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "42P01");
    assert_null(result);
    ask(conn, "drop view v; drop table t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_place),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(formatting_reports_the_whole_length),
        cmocka_unit_test(reports),
        cmocka_unit_test(rounding_is_labelled),
        cmocka_unit_test(results_outlive_everything),
        cmocka_unit_test(streaming),
        cmocka_unit_test(prepared),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(listings),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
