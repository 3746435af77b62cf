/* A program that forks while it has a database open: the child cannot use the parent's handles, and whatever it does
 * with them changes nothing for the parent; a database that it opens itself works. */
#include "api_util.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Open {
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_stmt *stmt;
    tcudb_result *result;
} Open;

static void open_all(Open *o, const char *path)
{
    tcudb_error err;
    assert_int_equal(tcudb_open(path, NULL, &o->db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(o->db, &o->conn, &err), TCUDB_OK);
    ask(o->conn, "set tcudb.threads = 3; create table t as select i as a from generate_series(1, 200000) g(i)");
    assert_int_equal(tcudb_prepare(o->conn, "select count(*) from t", &o->stmt, &err), TCUDB_OK);
    assert_int_equal(tcudb_execute(o->stmt, &o->result, &err), TCUDB_OK);
}

static void close_all(Open *o)
{
    tcudb_stmt_close(o->stmt);
    tcudb_disconnect(o->conn);
    tcudb_result_free(o->result);
    tcudb_close(o->db);
}

static bool refused(tcudb_status status, const tcudb_error *err)
{
    return status == TCUDB_MISUSE && strstr(err->message, "fork") != NULL;
}

/* What is wrong in the child, 0: nothing. */
static int in_child(Open *o, const char *path)
{
    tcudb_error err;
    tcudb_conn *more;
    tcudb_result *again;
    if (!refused(tcudb_query(o->conn, "insert into t values (0); commit", NULL, &err), &err)) return 1;
    if (!refused(tcudb_connect(o->db, &more, &err), &err)) return 2;
    if (!refused(tcudb_execute(o->stmt, &again, &err), &err)) return 3;
    if (strcmp(result_text(o->result), "200000") != 0) return 4;
    close_all(o);
    if (path == NULL) return 0;
    tcudb_options only = {.size = sizeof only, .read_only = 1};
    tcudb_db *own;
    if (tcudb_open(path, &only, &own, &err) != TCUDB_OK || tcudb_connect(own, &more, &err) != TCUDB_OK) return 5;
    int wrong = strcmp(ask(more, "select count(*), sum(a) from t"), "200000|20000100000") == 0 ? 0 : 6;
    tcudb_disconnect(more);
    tcudb_close(own);
    return wrong;
}

/* Within a transaction whose part files and dictionaries a rollback would give up. */
static void fork_in_a_transaction(const char *path)
{
    Open o;
    int status;
    open_all(&o, path);
    ask(o.conn, "begin; create table u as select 'text ' || a as s from t; delete from t where a > 100000");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        _exit(in_child(&o, path));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_answer(o.conn, "commit", "COMMIT");
    assert_answer(o.conn, "select count(*), (select count(distinct s) from u) from t", "100000|200000");
    close_all(&o);
}

static void on_disk(void **state)
{
    const char *folder = *state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it knows no threads that are begun after a fork */
#endif
    fork_in_a_transaction(folder);
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    assert_int_equal(tcudb_open(folder, NULL, &db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(db, &conn, &err), TCUDB_OK);
    assert_answer(conn, "select count(*), (select count(distinct s) from u) from t", "100000|200000");
    tcudb_disconnect(conn);
    tcudb_close(db);
}

static void in_memory(void **state)
{
    (void)state;
    fork_in_a_transaction(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_disk), cmocka_unit_test(in_memory)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
