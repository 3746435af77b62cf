/*
 * api_util.h: for tests through tcudb.h: a database in memory, and results as text.
 *
 * ask(conn, sql) runs a text and gives its last result as lines of values separated by |, NULL as ~; for
 * statements without rows the tag; for errors "ERROR SQLSTATE message". Valid until the next ask.
 * make_folder and remove_folder are a fixture too: *state is the path of a folder of the test's own.
 */
#ifndef TEST_API_UTIL_H
#define TEST_API_UTIL_H

#include "tcudb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ANSWER_SIZE = 16384 };

typedef struct Fixture {
    tcudb_db *db;
    tcudb_conn *conn;
} Fixture;

static inline int open_fixture(void **state)
{
    static Fixture fixture;
    tcudb_error err;
    assert_int_equal(tcudb_open(NULL, NULL, &fixture.db, &err), TCUDB_OK);
    assert_int_equal(tcudb_connect(fixture.db, &fixture.conn, &err), TCUDB_OK);
    *state = &fixture;
    return 0;
}

static inline int close_fixture(void **state)
{
    Fixture *fixture = *state;
    tcudb_disconnect(fixture->conn);
    tcudb_close(fixture->db);
    return 0;
}

static inline tcudb_conn *conn_of(void **state)
{
    return ((Fixture *)*state)->conn;
}

static inline int make_folder(void **state)
{
    static char folder[64];
    snprintf(folder, sizeof folder, "/tmp/tcudb_api_XXXXXX");
    *state = folder;
    return mkdtemp(folder) == NULL;
}

static inline int remove_folder(void **state)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
    return system(command);
}

static inline const char *result_text(const tcudb_result *result)
{
    static char answer[ANSWER_SIZE];
    size_t n = 0;
    answer[0] = '\0';
    if (tcudb_result_columns(result) == 0) return tcudb_result_report(result)->tag;
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        for (uint64_t row = 0; row < chunk->rows; row++) {
            for (uint32_t col = 0; col < chunk->ncolumns; col++) {
                char cell[1024] = "~";
                if (!tcudb_is_null(chunk, col, row)) tcudb_format(chunk, col, row, cell, sizeof cell);
                n += (size_t)snprintf(answer + n, sizeof answer - n, "%s%s", col == 0 ? "" : "|", cell);
                assert_true(n < sizeof answer - 2);
            }
            answer[n++] = '\n';
            answer[n] = '\0';
        }
    }
    if (n > 0) answer[n - 1] = '\0'; /* without the last newline */
    return answer;
}

static inline const char *error_text(const tcudb_error *err)
{
    static char text[1024];
    snprintf(text, sizeof text, "ERROR %s %s", err->sqlstate, err->message);
    return text;
}

static inline const char *ask(tcudb_conn *conn, const char *sql)
{
    static char answer[ANSWER_SIZE];
    tcudb_result *result = NULL;
    tcudb_error err;
    if (tcudb_query(conn, sql, &result, &err) != TCUDB_OK) return error_text(&err);
    snprintf(answer, sizeof answer, "%s", result_text(result));
    tcudb_result_free(result);
    return answer;
}

#define assert_answer(conn, sql, expected) assert_string_equal(ask(conn, sql), expected)

#endif
