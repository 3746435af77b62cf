/* An interrupt at any moment ends a statement with 57014 and leaves the database as it was.
 *
 * Moments are allocations: aligned_alloc, from which base/mem.c takes all small blocks, is ours here, and the n-th call
 * interrupts the connection, as a signal handler would. One thread, so the n-th is always the same. */
#include "api_util.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { POINTS = 14 };

static tcudb_conn *victim;
static _Atomic long calls, strike;

void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*real)(size_t, size_t);
    if (real == NULL) real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    if (atomic_fetch_add(&calls, 1) + 1 == atomic_load(&strike)) tcudb_interrupt(victim);
    return real(alignment, size);
}

static char folder[64];

/* %s: the scratch folder. */
static const char *const statements[] = {
    "UPDATE t SET b = b + 1, c = c || 'x'",
    "UPDATE t SET b = s.k FROM s WHERE t.d = s.k",
    "DELETE FROM t WHERE a % 2 = 0",
    "INSERT INTO t SELECT * FROM t",
    "INSERT INTO t SELECT * FROM t ORDER BY d",
    "INSERT INTO keyed SELECT a, c FROM t ON CONFLICT (k) DO UPDATE SET v = excluded.v",
    "CREATE TABLE made AS SELECT a, c, d FROM t",
    "COPY t FROM '%s/t.csv'",
    "COPY t TO '%s/out.csv'",
    "COPY (SELECT * FROM t ORDER BY d) TO '%s/out.csv'",
    "SELECT a FROM t ORDER BY d, c",
    "SELECT count(*), sum(s.k) FROM t JOIN s ON t.d = s.k",
    "SELECT count(*) FROM t JOIN s ON t.d < s.k WHERE t.a < 300",
    "SELECT count(*) FROM (SELECT d, sum(a), min(c) FROM t GROUP BY d) x",
    "SELECT count(DISTINCT d), count(DISTINCT c) FROM t",
    "SELECT count(*) FROM (SELECT a, c FROM t EXCEPT ALL SELECT k, v FROM s) x",
    "SELECT max(r) FROM (SELECT sum(a) OVER (PARTITION BY b ORDER BY d) r FROM t) x",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3000) SELECT count(*) FROM r",
    "SELECT count(*) FROM t WHERE a < 300 AND d > (SELECT avg(k) FROM s WHERE k % 7 <> t.b)",
    "CALL ssb(scale => 0.01)",
};

static tcudb_status run(tcudb_conn *conn, const char *sql, tcudb_error *err)
{
    char text[256];
    const char *hole = strstr(sql, "%s");
    if (hole == NULL) return tcudb_query(conn, sql, NULL, err);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(hole - sql), sql, folder, hole + 2);
    return tcudb_query(conn, text, NULL, err);
}

static void must(tcudb_conn *conn, const char *sql)
{
    tcudb_error err;
    if (run(conn, sql, &err) != TCUDB_OK) fail_msg("%s: %s", sql, err.message);
}

/* Everything that the statements change, as a text. */
static void fingerprint(tcudb_conn *conn, char out[256])
{
    tcudb_result *result;
    tcudb_error err;
    assert_int_equal(tcudb_query(conn,
                                 "SELECT (SELECT count(*) || ' ' || sum(a + b + d) || ' ' || sum(length(c)) FROM t) || "
                                 "(SELECT ' ' || count(*) || max(v) FROM keyed)",
                                 &result, &err),
                     TCUDB_OK);
    tcudb_format(tcudb_result_chunk(result, 0), 0, 0, out, 256);
    tcudb_result_free(result);
}

/* Statement i, interrupted at the n-th allocation (0: never), in a transaction that is undone. */
static tcudb_status attempt(tcudb_conn *conn, const char *sql, long n, long *made, tcudb_error *err)
{
    must(conn, "BEGIN");
    atomic_store(&calls, 0);
    atomic_store(&strike, n);
    tcudb_status status = run(conn, sql, err);
    atomic_store(&strike, 0);
    *made = atomic_load(&calls);
    must(conn, "ROLLBACK");
    return status;
}

static void interrupt_everywhere(tcudb_conn *conn, const char *sql, const char *before)
{
    tcudb_error err;
    char after[256];
    long total, ignored, stopped = 0;
    if (attempt(conn, sql, 0, &total, &err) != TCUDB_OK) fail_msg("%s: %s", sql, err.message);
    for (long point = 0; point < POINTS; point++) {
        tcudb_status status = attempt(conn, sql, 1 + total * point / POINTS, &ignored, &err);
        if (status != TCUDB_OK) assert_string_equal(err.sqlstate, "57014");
        stopped += status != TCUDB_OK;
        fingerprint(conn, after);
        assert_string_equal(after, before);
    }
    if (stopped < POINTS - 3)
        fail_msg("%s: %ld of %d interrupts were heeded", sql, stopped, POINTS); /* the last come late */
}

static void open_on(const char *path, tcudb_db **db, tcudb_conn **conn)
{
    tcudb_error err;
    tcudb_options options = {.size = sizeof options, .threads = 1};
    assert_int_equal(tcudb_open(path, &options, db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(*db, conn, &err), TCUDB_OK);
    victim = *conn;
    must(*conn,
         "CREATE TABLE t AS SELECT i AS a, i % 100 AS b, 'text ' || i % 500 AS c, (i::bigint * 7919 % 20000)::int AS d "
         "FROM generate_series(1, 20000) g(i)");
    must(*conn, "CREATE TABLE s AS SELECT a AS k, c AS v FROM t WHERE a % 3 = 0");
    must(*conn, "CREATE TABLE keyed(k int PRIMARY KEY, v text)");
    must(*conn, "INSERT INTO keyed SELECT a, 'old' FROM t WHERE a % 4 = 0");
    must(*conn, "COPY t TO '%s/t.csv'");
}

static void everywhere_on(const char *path)
{
    tcudb_db *db;
    tcudb_conn *conn;
    char before[256];
    open_on(path, &db, &conn);
    fingerprint(conn, before);
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        interrupt_everywhere(conn, statements[i], before);
    tcudb_disconnect(conn);
    tcudb_close(db);
}

static void a_database_in_memory(void **state)
{
    (void)state;
    everywhere_on(NULL);
}

static void a_database_on_disk(void **state)
{
    char path[96];
    (void)state;
    snprintf(path, sizeof path, "%s/db.tcu", folder);
    everywhere_on(path);
}

/* Outside a block the commit is part of the statement: interrupted anywhere, it is there whole or not at all. */
static void autocommit_is_all_or_nothing(void **state)
{
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    char before[256], after[256], path[96];
    long total, done = 0, stopped = 0;
    (void)state;
    snprintf(path, sizeof path, "%s/auto.tcu", folder);
    open_on(path, &db, &conn);
    assert_int_equal(attempt(conn, "DELETE FROM t WHERE a % 2 = 0", 0, &total, &err), TCUDB_OK);
    for (long n = 1; n < total * 3; n += total / 5 + 1) {
        fingerprint(conn, before);
        atomic_store(&calls, 0);
        atomic_store(&strike, n);
        tcudb_status status = run(conn, "DELETE FROM t WHERE a % 2 = 0", &err);
        atomic_store(&strike, 0);
        fingerprint(conn, after);
        if (status == TCUDB_OK)
            done++;
        else
            stopped++, assert_string_equal(err.sqlstate, "57014");
        assert_int_equal(strcmp(before, after) == 0, status != TCUDB_OK);
        if (status != TCUDB_OK) continue;
        must(conn, "TRUNCATE t");
        must(conn, "COPY t FROM '%s/t.csv'");
    }
    assert_true(done > 0 && stopped > 0);
    tcudb_disconnect(conn);
    tcudb_close(db);
}

/* Long texts: parsing, binding and optimising listen too. */
static const struct {
    const char *first, *next;
    int n;
} texts[] = {
    {"INSERT INTO s VALUES (0, 'v')", ", (%d, 'v')", 2000},
    {"SELECT 1 FROM s s0", " JOIN s s%d USING (k)", 200},
    {"SELECT 1", " UNION ALL SELECT %d", 1000},
};

static void long_statements(void **state)
{
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    char *sql = malloc(1 << 20);
    (void)state;
    open_on(NULL, &db, &conn);
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        int len = sprintf(sql, "%s", texts[t].first);
        for (int i = 1; i < texts[t].n; i++) len += sprintf(sql + len, texts[t].next, i);
        long total, ignored, stopped = 0;
        if (attempt(conn, sql, 0, &total, &err) != TCUDB_OK) fail_msg("%s: %s", texts[t].first, err.message);
        for (long point = 0; point < POINTS; point++)
            stopped += attempt(conn, sql, 1 + total * point / POINTS, &ignored, &err) == TCUDB_INTERRUPTED;
        assert_true(stopped >= POINTS - 3);
    }
    free(sql);
    tcudb_disconnect(conn);
    tcudb_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_in_memory),
        cmocka_unit_test(a_database_on_disk),
        cmocka_unit_test(autocommit_is_all_or_nothing),
        cmocka_unit_test(long_statements),
    };
    snprintf(folder, sizeof folder, "%s/interrupt-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(folder) == NULL) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || failed != 0;
}
