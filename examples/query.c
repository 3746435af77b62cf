/*
 * query.c: a program that keeps measurements in a tcudb database and asks it a question.
 *
 *     cc query.c $(pkg-config --cflags --libs tcudb) -o query && ./query weather.tcu
 */
#include <stdio.h>
#include <tcudb.h>

static int fail(const tcudb_error *err)
{
    fprintf(stderr, "%s: %s\n", err->sqlstate, err->message);
    return 1;
}

/* Columns lie in memory as arrays: no call per value. */
static void print_rows(const tcudb_result *result)
{
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        const tcudb_text *cities = chunk->columns[0].values;
        const double *warmest = chunk->columns[1].values;
        for (uint64_t row = 0; row < chunk->rows; row++)
            printf("%-10.*s %5.1f\n", (int)cities[row].len, cities[row].ptr, warmest[row]);
    }
}

static tcudb_status work(tcudb_conn *conn, tcudb_result **result, tcudb_error *err)
{
    static const char *const cities[] = {"Oslo", "Lagos", "Lima"};
    tcudb_stmt *insert = NULL;
    tcudb_status status = tcudb_query(conn, "CREATE TABLE IF NOT EXISTS heat (city text, degrees float8)", NULL, err);
    if (status == TCUDB_OK) status = tcudb_prepare(conn, "INSERT INTO heat VALUES ($1, $2)", &insert, err);
    for (int i = 0; i < 9 && status == TCUDB_OK; i++) {
        status = tcudb_bind_text(insert, 1, cities[i % 3], SIZE_MAX, err);
        if (status == TCUDB_OK) status = tcudb_bind_double(insert, 2, 10.5 * (i % 3) + i, err);
        if (status == TCUDB_OK) status = tcudb_execute(insert, NULL, err);
    }
    tcudb_stmt_close(insert);
    if (status != TCUDB_OK) return status;
    return tcudb_query(conn, "SELECT city, max(degrees) FROM heat GROUP BY city ORDER BY city", result, err);
}

int main(int argc, char **argv)
{
    tcudb_db *db = NULL;
    tcudb_conn *conn = NULL;
    tcudb_result *result = NULL;
    tcudb_error err;
    tcudb_status status = tcudb_open(argc > 1 ? argv[1] : NULL, NULL, &db, &err);
    if (status == TCUDB_OK) status = tcudb_connect(db, &conn, &err);
    if (status == TCUDB_OK) status = work(conn, &result, &err);
    if (status == TCUDB_OK) print_rows(result);
    tcudb_result_free(result);
    tcudb_disconnect(conn);
    tcudb_close(db);
    return status == TCUDB_OK ? 0 : fail(&err);
}
