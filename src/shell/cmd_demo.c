/*
 * cmd_demo.c: `tcudb demo`: makes the star schema in memory, answers its 13 queries, then the TCUDB paper's Q1 to
 * Q5 and its matrix multiplication, and shows each result's first rows, its time and the engine that ran.
 *
 *     Q2.1  revenue by year and brand ...                 280 rows    6.1 ms  cpu
 *           sum        d_year  p_brand1
 *           567111225  1992    MFGR#121
 *           ...
 *
 * Results are streamed: only the first rows are kept. On a terminal a bar shows the progress of longer
 * steps; otherwise every step is a plain line. The queries are in demo_queries.def.
 */
#include "subcommand.h"
#include "tcudb.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_ROWS = 3, KEPT_COLUMNS = 8, CELL = 24, BAR = 30, PROGRESS_MS = 100 };

typedef struct Demo {
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    double scale;
    uint32_t threads;
    bool terminal; /* of stderr, for the bar */
} Demo;

/* What is kept of a statement's outcome. */
typedef struct Outcome {
    uint32_t ncolumns;
    uint64_t rows;
    uint32_t kept;
    char names[KEPT_COLUMNS][CELL];
    char cells[KEPT_ROWS][KEPT_COLUMNS][CELL];
    char engine[16];
    char why[160];
    double seconds;
    bool exact;
    uint64_t affected;
} Outcome;

typedef enum DemoGroup { DEMO_SSB, DEMO_PAPER, DEMO_TCU } DemoGroup;

static const struct DemoQuery {
    DemoGroup group;
    const char *name, *what, *setup, *sql;
} queries[] = {
#define DEMO_QUERY(group, name, what, setup, sql) {group, name, what, setup, sql},
#include "demo_queries.def"
#undef DEMO_QUERY
};

enum { NQUERIES = sizeof queries / sizeof queries[0] };

/* ---- running a statement ------------------------------------------------------------------ */

static int on_columns(void *ctx, const tcudb_column_info *columns, uint32_t n)
{
    Outcome *o = ctx;
    o->ncolumns = n < KEPT_COLUMNS ? n : KEPT_COLUMNS;
    for (uint32_t c = 0; c < o->ncolumns; c++) snprintf(o->names[c], CELL, "%s", columns[c].name);
    return 0;
}

static int on_chunk(void *ctx, const tcudb_chunk *chunk)
{
    Outcome *o = ctx;
    for (uint64_t r = 0; r < chunk->rows && o->kept < KEPT_ROWS; r++, o->kept++)
        for (uint32_t c = 0; c < o->ncolumns; c++)
            if (tcudb_is_null(chunk, c, r))
                snprintf(o->cells[o->kept][c], CELL, "NULL");
            else
                tcudb_format(chunk, c, r, o->cells[o->kept][c], CELL);
    o->rows += chunk->rows;
    return 0;
}

static int on_done(void *ctx, const tcudb_report *report)
{
    Outcome *o = ctx;
    snprintf(o->engine, sizeof o->engine, "%s", report->engine);
    snprintf(o->why, sizeof o->why, "%s", report->why);
    o->seconds += report->seconds;
    o->exact = report->exact != 0;
    o->affected = report->rows;
    return 0;
}

static int on_progress(void *ctx, uint64_t done, uint64_t total, double seconds)
{
    (void)ctx;
    double part = total == 0 ? 0 : done < total ? (double)done / (double)total : 1;
    if (seconds < 0.3) return 0;
    fprintf(stderr, "\r\033[K[");
    for (int i = 0; i < BAR; i++) fputc(i < (int)(part * BAR) ? '#' : ' ', stderr);
    fprintf(stderr, "] %3d%%  %.1f s", (int)(100 * part), seconds);
    fflush(stderr);
    return 0;
}

static bool run(Demo *d, const char *sql, Outcome *out)
{
    memset(out, 0, sizeof *out);
    const tcudb_sink sink = {.ctx = out, .columns = on_columns, .chunk = on_chunk, .done = on_done};
    tcudb_status status = tcudb_stream(d->conn, sql, &sink, &d->err);
    if (d->terminal) fputs("\r\033[K", stderr);
    if (status == TCUDB_OK) return true;
    fflush(stdout);
    fprintf(stderr, "tcudb demo: ERROR:  %s: %s\n", d->err.sqlstate, d->err.message);
    if (d->err.detail[0] != '\0') fprintf(stderr, "DETAIL:  %s\n", d->err.detail);
    if (d->err.hint[0] != '\0') fprintf(stderr, "HINT:  %s\n", d->err.hint);
    fprintf(stderr, "The statement was: %s\n", sql);
    return false;
}

/* ---- printing ----------------------------------------------------------------------------- */

static const char *show_time(double seconds, char buffer[32])
{
    if (seconds < 1)
        snprintf(buffer, 32, "%.1f ms", seconds * 1e3);
    else
        snprintf(buffer, 32, "%.2f s", seconds);
    return buffer;
}

static const char *show_count(uint64_t n, char buffer[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

static void print_rows(const Outcome *o)
{
    size_t width[KEPT_COLUMNS] = {0};
    for (uint32_t c = 0; c < o->ncolumns; c++) {
        width[c] = strlen(o->names[c]);
        for (uint32_t r = 0; r < o->kept; r++)
            if (strlen(o->cells[r][c]) > width[c]) width[c] = strlen(o->cells[r][c]);
    }
    for (uint32_t r = 0; r <= o->kept && o->kept > 0; r++) {
        printf("      ");
        for (uint32_t c = 0; c < o->ncolumns; c++) {
            const char *cell = r == 0 ? o->names[c] : o->cells[r - 1][c];
            printf("%-*s%s", c + 1 < o->ncolumns ? (int)width[c] : 0, cell, c + 1 < o->ncolumns ? "  " : "");
        }
        putchar('\n');
    }
    if (o->rows > o->kept) printf("      ...\n");
}

static void print_outcome(const struct DemoQuery *q, const Outcome *o, const Outcome *plain)
{
    char count[32], time[32], other[32];
    char label[100];
    snprintf(label, sizeof label, "%s  %s", q->name, q->what);
    printf("%-70s %9s row%s %9s  %s%s\n", label, show_count(o->rows, count), o->rows == 1 ? " " : "s",
           show_time(o->seconds, time), o->engine, o->exact ? "" : " (rounded)");
    if (plain != NULL && plain->seconds > 0)
        printf("      with tcudb.contraction = off: %s, %.1f times as long\n", show_time(plain->seconds, other),
               plain->seconds / (o->seconds > 0 ? o->seconds : 1e-9));
    print_rows(o);
    fflush(stdout);
}

/* ---- the steps ---------------------------------------------------------------------------- */

static bool load(Demo *d)
{
    char sql[80], count[32], time[32];
    Outcome o;
    snprintf(sql, sizeof sql, "CALL ssb(scale => %.6f)", d->scale);
    printf("Making the star schema benchmark at scale %g ...\n", d->scale);
    fflush(stdout);
    if (!run(d, sql, &o)) return false;
    double seconds = o.seconds;
    if (!run(d, "SELECT count(*) FROM lineorder", &o)) return false;
    printf("lineorder has %s rows; all five tables were made and compressed in %s.\n\n",
           show_count(strtoull(o.cells[0][0], NULL, 10), count), show_time(seconds, time));
    return true;
}

/* The same query without contractions, for comparison. */
static bool run_plain(Demo *d, const char *sql, Outcome *plain)
{
    Outcome ignored;
    if (!run(d, "SET tcudb.contraction = off", &ignored)) return false;
    bool done = run(d, sql, plain);
    return run(d, "RESET tcudb.contraction", &ignored) && done;
}

static bool run_query(Demo *d, const struct DemoQuery *q, double *total)
{
    Outcome o, plain = {0};
    if (q->setup[0] != '\0' && !run(d, q->setup, &o)) return false;
    if (q->group == DEMO_TCU && !run_plain(d, q->sql, &plain)) return false;
    if (!run(d, q->sql, &o)) return false;
    print_outcome(q, &o, q->group == DEMO_TCU ? &plain : NULL);
    *total += o.seconds;
    return true;
}

static bool run_group(Demo *d, bool ssb)
{
    char time[32];
    double total = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < NQUERIES; i++) {
        if ((queries[i].group == DEMO_SSB) != ssb) continue;
        if (!run_query(d, &queries[i], &total)) return false;
        n++;
    }
    if (ssb) printf("\nThe %u queries together: %s.\n\n", n, show_time(total, time));
    return true;
}

static bool run_all(Demo *d)
{
    if (!load(d) || !run_group(d, true)) return false;
    printf("Now the TCUDB paper's query patterns, on generated tables.\n\n");
    if (!run_group(d, false)) return false;
    printf("\nTry your own: `tcudb` opens a shell, `tcudb my.tcu` one on a database directory,\n"
           "`tcudb -c \"SELECT * FROM 'data.csv'\"` reads a file in place. `tcudb --help` says more.\n");
    return true;
}

/* ---- start -------------------------------------------------------------------------------- */

static int usage(FILE *out)
{
    fprintf(out, "usage: tcudb demo [--scale S] [--threads N]\n"
                 "Makes the star schema benchmark in memory at scale S (default 1: 6 million rows), answers its\n"
                 "13 queries and the TCUDB paper's, and shows results, times and engines.\n");
    return out == stdout ? 0 : 1;
}

static bool take_number(const char *text, double min, double max, double *out)
{
    char *end;
    *out = text == NULL ? -1 : strtod(text, &end);
    return text != NULL && *text != '\0' && *end == '\0' && *out >= min && *out <= max;
}

static bool open_demo(Demo *d)
{
    const tcudb_options options = {.size = sizeof options, .threads = d->threads};
    if (tcudb_open(NULL, &options, &d->db, &d->err) != TCUDB_OK) return false;
    if (tcudb_connect(d->db, &d->conn, &d->err) != TCUDB_OK) return false;
    if (!d->terminal) return true;
    return tcudb_set_progress(d->conn, on_progress, NULL, PROGRESS_MS, &d->err) == TCUDB_OK;
}

int cmd_demo(int argc, char **argv)
{
    Demo d = {.scale = 1, .terminal = isatty(STDERR_FILENO) != 0};
    double threads = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return usage(stdout);
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool scale = strcmp(argv[i], "--scale") == 0;
        if (!scale && strcmp(argv[i], "--threads") != 0) return usage(stderr);
        if (scale ? !take_number(value, 0.0001, 300, &d.scale) : !take_number(value, 1, 1024, &threads))
            return usage(stderr);
        i++;
    }
    d.threads = (uint32_t)threads;
    bool done = open_demo(&d);
    if (!done)
        fprintf(stderr, "tcudb demo: %s\n", d.err.message);
    else
        done = run_all(&d);
    tcudb_disconnect(d.conn);
    tcudb_close(d.db);
    return done ? 0 : 1;
}
