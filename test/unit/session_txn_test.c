/* Transactions: blocks, failed blocks, savepoints, what they do to tables and settings. */
#include "api_util.h"

#include <stdlib.h>

static void autocommit_keeps_each_statement(void **state)
{
    tcudb_conn *conn = conn_of(state);
    assert_answer(conn, "create table t (a int)", "CREATE TABLE");
    assert_answer(conn, "insert into t values (1); insert into t values (2); insert into t values (1/0)",
                  "ERROR 22012 division by zero");
    assert_answer(conn, "select a from t order by a", "1\n2");
    assert_answer(conn, "drop table t", "DROP TABLE");
}

static void rollback_undoes_definitions_and_rows(void **state)
{
    tcudb_conn *conn = conn_of(state);
    assert_answer(conn, "begin", "BEGIN");
    assert_int_equal(tcudb_transaction_state(conn), 'T');
    assert_answer(conn, "create table t (a int)", "CREATE TABLE");
    assert_answer(conn, "insert into t values (1), (2)", "INSERT 0 2");
    assert_answer(conn, "rollback", "ROLLBACK");
    assert_int_equal(tcudb_transaction_state(conn), 'I');
    assert_answer(conn, "select * from t", "ERROR 42P01 relation \"t\" does not exist");
}

static void failed_statement_leaves_no_half(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "create table t (a int not null)");
    ask(conn, "begin; insert into t values (1)");
    assert_answer(conn, "insert into t select case when g = 3000 then null else g end from generate_series(1, 3000) g",
                  "ERROR 23502 null value in column \"a\" of relation \"t\" violates not-null constraint");
    assert_int_equal(tcudb_transaction_state(conn), 'E');
    assert_answer(conn, "select 1",
                  "ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block");
    assert_answer(conn, "select from nix",
                  "ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block");
    assert_answer(conn, "commit", "ROLLBACK");
    assert_answer(conn, "select count(*) from t", "0");
    ask(conn, "drop table t");
}

static void syntax_errors_fail_the_block(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "begin");
    assert_answer(conn, "selec 1", "ERROR 42601 syntax error at or near \"selec\"");
    assert_int_equal(tcudb_transaction_state(conn), 'E');
    assert_answer(conn, "/* a comment */ -- and another\n rollback", "ROLLBACK");
    assert_answer(conn, "create table t (a int); selec", "ERROR 42601 syntax error at or near \"selec\"");
    assert_answer(conn, "select * from t", "ERROR 42P01 relation \"t\" does not exist"); /* nothing of the text ran */
}

static void savepoints(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "create table t (a int)");
    ask(conn, "begin; insert into t values (1); savepoint s; insert into t values (2)");
    assert_answer(conn, "select 1/0", "ERROR 22012 division by zero");
    assert_answer(conn, "rollback to s", "ROLLBACK");
    assert_int_equal(tcudb_transaction_state(conn), 'T');
    assert_answer(conn, "select a from t", "1");
    assert_answer(conn, "insert into t values (3); release s", "RELEASE");
    assert_answer(conn, "rollback to s", "ERROR 3B001 savepoint \"s\" does not exist");
    assert_answer(conn, "rollback", "ROLLBACK");
    assert_answer(conn, "select count(*) from t", "0");
    assert_answer(conn, "savepoint s", "ERROR 25P01 SAVEPOINT can only be used in transaction blocks");
    ask(conn, "drop table t");
}

static void settings_are_transactional(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "begin; set statement_timeout = 5000; rollback");
    assert_answer(conn, "show statement_timeout", "0");
    ask(conn, "begin; set local statement_timeout = 5000");
    assert_answer(conn, "show statement_timeout", "5s");
    assert_answer(conn, "commit; show statement_timeout", "0");
    ask(conn, "begin; set statement_timeout = 7000; commit");
    assert_answer(conn, "show statement_timeout", "7s");
    assert_answer(conn, "reset statement_timeout", "RESET");
    assert_answer(conn, "show statement_timeout", "0");
    assert_answer(conn, "show no_such", "ERROR 42704 unrecognized configuration parameter \"no_such\"");
    assert_answer(conn, "set server_version = 1", "ERROR 55P02 parameter \"server_version\" cannot be changed");
}

static void notices_reach_the_caller(void *ctx, const char *severity, const char *sqlstate, const char *message)
{
    snprintf(ctx, 256, "%s %s %s", severity, sqlstate, message);
}

static void warnings(void **state)
{
    tcudb_conn *conn = conn_of(state);
    char notice[256] = "";
    tcudb_error err;
    assert_int_equal(tcudb_set_notice(conn, notices_reach_the_caller, notice, &err), TCUDB_OK);
    assert_answer(conn, "commit", "COMMIT");
    assert_string_equal(notice, "WARNING 25P01 there is no transaction in progress");
    ask(conn, "begin; begin");
    assert_string_equal(notice, "WARNING 25001 there is already a transaction in progress");
    ask(conn, "rollback; drop table if exists nix");
    assert_string_equal(notice, "NOTICE 00000 table \"nix\" does not exist, skipping");
    assert_int_equal(tcudb_set_notice(conn, NULL, NULL, &err), TCUDB_OK);
}

static void dropping_what_views_use(void **state)
{
    tcudb_conn *conn = conn_of(state);
    ask(conn, "create table t (a int); create view v as select a from t; create view w as select a from v");
    assert_answer(conn, "drop table t", "ERROR 2BP01 cannot drop table t because other objects depend on it");
    assert_answer(conn, "drop view t", "ERROR 42809 \"t\" is not a view");
    assert_answer(conn, "drop table v", "ERROR 42809 \"v\" is not a table");
    assert_answer(conn, "select * from w", "");
    assert_answer(conn, "drop table t cascade", "DROP TABLE");
    assert_answer(conn, "select * from w", "ERROR 42P01 relation \"w\" does not exist");
    assert_answer(conn, "drop table t", "ERROR 42P01 table \"t\" does not exist");
}

/* The number after the last one that the first connection was given, taken by another. */
static void assert_not_given_again(tcudb_conn *first, tcudb_conn *other)
{
    long long last = atoll(ask(first, "select lastval()"));
    assert_true(last > 0);
    assert_int_equal(atoll(ask(other, "select nextval('s')")), last + 1);
}

/* Numbers that another connection takes after a rollback, a failed, a stopped statement, a lost connection. */
static void numbers_are_given_once(void **state)
{
    const Fixture *fixture = *state;
    tcudb_conn *conn = fixture->conn, *other = NULL;
    tcudb_error err;
    assert_int_equal(tcudb_connect(fixture->db, &other, &err), TCUDB_OK);
    ask(conn, "create table t (a int generated always as identity, b int); create sequence s");
    ask(conn, "begin; insert into t (b) values (1), (2); rollback");
    assert_answer(other, "insert into t (b) values (3), (4) returning a", "3\n4");
    assert_answer(conn, "insert into t (b) values (5) returning a", "5");
    ask(conn, "begin; select nextval('s'); rollback");
    assert_not_given_again(conn, other);
    ask(conn, "select 1 / (nextval('s') - 6) from generate_series(1, 9)");
    assert_not_given_again(conn, other);
    ask(conn, "begin; savepoint a; select nextval('s'); rollback to a; commit");
    assert_not_given_again(conn, other);
    assert_answer(conn,
                  "set statement_timeout = 50; select count(*) from (select nextval('s') from generate_series(1, "
                  "1000000000)) q",
                  "ERROR 57014 canceling statement due to statement timeout");
    ask(conn, "set statement_timeout = 0");
    assert_not_given_again(conn, other);
    ask(other, "begin; select setval('s', 100)");
    tcudb_disconnect(other);
    assert_answer(conn, "select nextval('s')", "101");
    ask(conn, "drop table t; drop sequence s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autocommit_keeps_each_statement),
        cmocka_unit_test(rollback_undoes_definitions_and_rows),
        cmocka_unit_test(failed_statement_leaves_no_half),
        cmocka_unit_test(syntax_errors_fail_the_block),
        cmocka_unit_test(savepoints),
        cmocka_unit_test(settings_are_transactional),
        cmocka_unit_test(warnings),
        cmocka_unit_test(dropping_what_views_use),
        cmocka_unit_test(numbers_are_given_once),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
