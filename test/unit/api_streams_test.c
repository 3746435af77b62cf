/* A program that has closed its standard streams: no file of a database takes their numbers, so nothing that the
 * program prints is written into it. */
#include "api_util.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static int print_everywhere(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (write(fd, "printed by the program\n", 23) >= 0 || errno != EBADF) return 10 + fd;
    return 0;
}

static int without_streams(const char *folder)
{
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    char copy[200];
    for (int fd = 0; fd < 3; fd++) close(fd);
    if (tcudb_open(folder, NULL, &db, &err) != TCUDB_OK || tcudb_connect(db, &conn, &err) != TCUDB_OK) return 1;
    if (print_everywhere() != 0) return 2;
    snprintf(copy, sizeof copy, "copy t to '%s/t.csv'; select count(*) from '%s/t.csv'", folder, folder);
    if (strcmp(ask(conn, "create table t as select 'text ' || i as s from generate_series(1, 70000) g(i)"),
               "SELECT 70000") != 0)
        return 3;
    if (strcmp(ask(conn, copy), "70000") != 0) return 4;
    int wrong = print_everywhere();
    tcudb_disconnect(conn);
    tcudb_close(db);
    return wrong;
}

static void nothing_is_printed_into_files(void **state)
{
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    int status;
    const char *folder = *state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(without_streams(folder));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(tcudb_open(folder, NULL, &db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(db, &conn, &err), TCUDB_OK);
    assert_answer(conn, "select count(*), count(distinct s) from t", "70000|70000");
    tcudb_disconnect(conn);
    tcudb_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_printed_into_files)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
