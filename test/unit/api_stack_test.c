/* Deep statements from threads with little stack: the answer that a large stack gives, or 54001; never a crash. */
#include "api_util.h"

#include <pthread.h>
#include <stdlib.h>

/* before, then `open` n times, middle, `close` n times, after */
typedef struct Shape {
    const char *before, *open, *middle, *close, *after;
} Shape;

static const Shape shapes[] = {
    {"select ", "(", "1", ")", ""},
    {"select ", "1+", "1", "", ""},
    {"select ", "- ", "1", "", ""},
    {"select ", "not ", "true", "", ""},
    {"select ", "abs(", "1", ")", ""},
    {"select ", "(select ", "1", ")", ""},
    {"", "select * from (", "select 1 as a", ") x", ""},
    {"select ", "case when true then ", "1", " end", ""},
    {"select 1", " union all select 1", "", "", ""},
    {"select count(*) from deep", " join deep d1 on true", "", "", ""},
    {"select count(a) from deep where ", "a in (select a from deep where ", "true", ")", ""},
    {"explain select ", "coalesce(a,", "1", ")", " from deep"},
    {"select ", "a||", "'x'", "", " from (values('y')) v(a)"},
    {"select 1 where ", "true and (false or ", "true", ")", ""},
    {"select 1::text", "::text::varchar", "", "", ""},
    {"select sum(", "(a+", "1", ")", ") from deep"},
    {"create or replace view deep_view as select ", "(1+", "1", ")", ""},
    {"insert into deep values (", "(", "1", ")", ")"},
    {"prepare deep_plan as select ", "(1+", "1", ")", ""},
    {"", "with w as (", "select 1 as a", ") select * from w", ""},
};

static char *text_of(const Shape *shape, int n)
{
    size_t size = strlen(shape->before) + strlen(shape->middle) + strlen(shape->after) + 1;
    size += (size_t)n * (strlen(shape->open) + strlen(shape->close));
    char *text = malloc(size), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", shape->before);
    for (int i = 0; i < n; i++) at += sprintf(at, "%s", shape->open);
    at += sprintf(at, "%s", shape->middle);
    for (int i = 0; i < n; i++) at += sprintf(at, "%s", shape->close);
    sprintf(at, "%s", shape->after);
    return text;
}

typedef struct Ask {
    tcudb_conn *conn;
    const char *sql;
    char answer[ANSWER_SIZE];
} Ask;

static void *ask_in_thread(void *arg)
{
    Ask *a = arg;
    tcudb_result *result = NULL;
    tcudb_error err;
    if (tcudb_query(a->conn, a->sql, &result, &err) != TCUDB_OK)
        snprintf(a->answer, sizeof a->answer, "%s %s", err.sqlstate, err.message);
    else
        snprintf(a->answer, sizeof a->answer, "%s", result_text(result));
    tcudb_result_free(result);
    return NULL;
}

static void ask_with_stack(Ask *a, size_t stack)
{
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, stack), 0);
    assert_int_equal(pthread_create(&thread, &attr, ask_in_thread, a), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void same_answer(tcudb_conn *conn, const Shape *shape, int n)
{
    static Ask large, small;
    char *sql = text_of(shape, n);
    large = (Ask){.conn = conn, .sql = sql};
    small = (Ask){.conn = conn, .sql = sql};
    assert_answer(conn, "begin", "BEGIN");
    ask_with_stack(&large, 64 << 20);
    assert_answer(conn, "rollback", "ROLLBACK");
    if (strstr(sql, "prepare") != NULL) (void)ask(conn, "deallocate all");
    assert_answer(conn, "begin", "BEGIN");
    ask_with_stack(&small, 64 << 10);
    assert_answer(conn, "rollback", "ROLLBACK");
    if (strstr(sql, "prepare") != NULL) (void)ask(conn, "deallocate all");
    assert_string_equal(small.answer, large.answer);
    if (n > 1200) assert_string_equal(small.answer, "54001 stack depth limit exceeded");
    free(sql);
}

static void deep_statements(void **state)
{
    static const int depths[] = {3, 60, 390, 5000};
    tcudb_conn *conn = conn_of(state);
    assert_answer(conn, "create table deep (a int)", "CREATE TABLE");
    assert_answer(conn, "insert into deep values (1)", "INSERT 0 1");
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            if (shapes[i].close[0] != '\0' || depths[d] < 1000 || strstr(shapes[i].open, "::") == NULL)
                same_answer(conn, &shapes[i], depths[d]);
}

static void *prepare_in_thread(void *arg)
{
    Ask *a = arg;
    tcudb_stmt *stmt = NULL;
    tcudb_result *result = NULL;
    tcudb_error err;
    if (tcudb_prepare(a->conn, a->sql, &stmt, &err) != TCUDB_OK || tcudb_execute(stmt, &result, &err) != TCUDB_OK)
        snprintf(a->answer, sizeof a->answer, "%s %s", err.sqlstate, err.message);
    else
        snprintf(a->answer, sizeof a->answer, "%s", result_text(result));
    tcudb_result_free(result);
    tcudb_stmt_close(stmt);
    return NULL;
}

static void prepared_with_little_stack(void **state)
{
    char *sql = text_of(&shapes[1], 1000);
    Ask a = {.conn = conn_of(state), .sql = sql};
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, 64 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attr, prepare_in_thread, &a), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    assert_string_equal(a.answer, "1001");
    free(sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_statements),
        cmocka_unit_test(prepared_with_little_stack),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
