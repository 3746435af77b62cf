/*
 * main.c: the shell. First slice: -c runs SQL and prints rows separated by |.
 */
#include "tcudb.h"

#include <stdio.h>
#include <string.h>

static int print_chunk(void *ctx, const tcudb_chunk *chunk)
{
    (void)ctx;
    char buffer[4096];
    for (uint64_t row = 0; row < chunk->rows; row++)
        for (uint32_t col = 0; col < chunk->ncolumns; col++) {
            tcudb_format(chunk, col, row, buffer, sizeof buffer);
            printf("%s%c", buffer, col + 1 == chunk->ncolumns ? '\n' : '|');
        }
    return 0;
}

static int print_done(void *ctx, const tcudb_report *report)
{
    (void)ctx;
    fprintf(stderr, "%s (%.3f ms, %s)\n", report->tag, 1e3 * report->seconds, report->engine);
    return 0;
}

static int fail(const tcudb_error *err)
{
    fprintf(stderr, "ERROR:  %s: %s\n", err->sqlstate, err->message);
    if (err->detail[0] != '\0') fprintf(stderr, "DETAIL:  %s\n", err->detail);
    if (err->hint[0] != '\0') fprintf(stderr, "HINT:  %s\n", err->hint);
    return 3;
}

int main(int argc, char **argv)
{
    tcudb_db *db = NULL;
    tcudb_conn *conn = NULL;
    tcudb_error err;
    int status = 0;
    const char *path =
        argc > 1 && argv[argc - 1][0] != '-' && strcmp(argv[argc - 2], "-c") != 0 ? argv[argc - 1] : NULL;
    if (tcudb_open(path, NULL, &db, &err) != TCUDB_OK || tcudb_connect(db, &conn, &err) != TCUDB_OK)
        status = fail(&err);
    tcudb_sink sink = {.chunk = print_chunk, .done = print_done};
    for (int i = 1; i + 1 < argc && status == 0; i++)
        if (strcmp(argv[i], "-c") == 0 && tcudb_stream(conn, argv[++i], &sink, &err) != TCUDB_OK) status = fail(&err);
    tcudb_disconnect(conn);
    tcudb_close(db);
    return status;
}
