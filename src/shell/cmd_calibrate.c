/*
 * cmd_calibrate.c: `tcudb calibrate`: measures how fast this machine's steps are and keeps it for the optimizer.
 *
 *     1 of 30: one value of a column read by a scan: 0.41 ns
 *     ...
 *     the rates are in "/home/me/.local/share/tcudb/rates-1-AMD-EPYC-9R14"; databases opened from now on use them
 *
 * On a terminal a bar shows the progress and only the last line stays. The measuring is CALL tcudb_calibrate().
 */
#include "subcommand.h"
#include "tcudb.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 30, INTERVAL_MS = 100 };

static int draw_bar(void *ctx, uint64_t done, uint64_t total, double seconds)
{
    (void)ctx;
    int full = total == 0 ? 0 : (int)(done * BAR / total);
    fprintf(stderr, "\r\033[K%3d%% ▕", full * 100 / BAR);
    for (int i = 0; i < BAR; i++) fputs(i < full ? "█" : " ", stderr);
    fprintf(stderr, "▏ %.1f s", seconds);
    fflush(stderr);
    return 0;
}

/* ctx: whether a bar is drawn. The last notice names the file. */
static void print_notice(void *ctx, const char *severity, const char *sqlstate, const char *message)
{
    (void)severity, (void)sqlstate;
    bool last = strncmp(message, "the rates are in ", 17) == 0;
    if (*(const bool *)ctx && !last) return;
    if (*(const bool *)ctx) fputs("\r\033[K", stderr);
    printf("%s\n", message);
    fflush(stdout);
}

static tcudb_status calibrate(tcudb_conn *conn, bool *bar, tcudb_error *err)
{
    tcudb_result *result = NULL;
    tcudb_status status = tcudb_set_notice(conn, print_notice, bar, err);
    if (status == TCUDB_OK && *bar) status = tcudb_set_progress(conn, draw_bar, NULL, INTERVAL_MS, err);
    if (status == TCUDB_OK) status = tcudb_query(conn, "CALL tcudb_calibrate()", &result, err);
    tcudb_result_free(result);
    return status;
}

static int usage(FILE *out)
{
    fputs("usage: tcudb calibrate\n\n"
          "Measures the speed of this machine's processor at joins, groups and matrix products (about ten seconds; "
          "best on\n"
          "an idle machine) and keeps it in $XDG_DATA_HOME/tcudb or ~/.local/share/tcudb, in a file for this kind of\n"
          "processor. Databases opened from then on choose their plans by it; SHOW RATES prints what is in force.\n"
          "Removing the file brings the defaults back.\n",
          out);
    return out == stdout ? 0 : 1;
}

int cmd_calibrate(int argc, char **argv)
{
    tcudb_db *db = NULL;
    tcudb_conn *conn = NULL;
    tcudb_error err;
    bool bar = isatty(STDERR_FILENO) != 0;
    if (argc > 1) return usage(strcmp(argv[1], "--help") == 0 ? stdout : stderr);
    tcudb_status status = tcudb_open(NULL, NULL, &db, &err);
    if (status == TCUDB_OK) status = tcudb_connect(db, &conn, &err);
    if (status == TCUDB_OK) status = calibrate(conn, &bar, &err);
    if (status != TCUDB_OK) fprintf(stderr, "%stcudb calibrate: %s\n", bar ? "\r\033[K" : "", err.message);
    tcudb_disconnect(conn);
    tcudb_close(db);
    return status == TCUDB_OK ? 0 : 1;
}
