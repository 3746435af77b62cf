/*
 * run.c: runs statements and shows what came of them: rows through the output mode, command tags, the timing
 * line with the engine that ran, errors.
 */
#include "print.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Job {
    Shell *shell;
    Print print;
    bool rows;      /* the statement returns rows */
    double seconds; /* spent printing */
} Job;

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static int on_columns(void *ctx, const tcudb_column_info *columns, uint32_t n)
{
    Job *job = ctx;
    print_init(&job->print, job->shell);
    print_columns(&job->print, columns, n);
    job->rows = true;
    return 0;
}

static int on_chunk(void *ctx, const tcudb_chunk *chunk)
{
    Job *job = ctx;
    progress_clear();
    print_chunk(&job->print, chunk);
    return ferror(job->shell->out.file) != 0;
}

static void say_time(const Shell *shell, const tcudb_report *report, double seconds)
{
    double ms = 1e3 * seconds;
    fprintf(shell->out.file, "Time: %.3f ms", ms);
    if (ms >= 1000) {
        unsigned long minutes = (unsigned long)(seconds / 60);
        double rest = seconds - 60.0 * (double)minutes;
        if (minutes < 60)
            fprintf(shell->out.file, " (%02lu:%06.3f)", minutes, rest);
        else
            fprintf(shell->out.file, " (%02lu:%02lu:%06.3f)", minutes / 60, minutes % 60, rest);
    }
    if (report != NULL) {
        fprintf(shell->out.file, " (%s", report->engine);
        if (report->why[0] != '\0') fprintf(shell->out.file, "; %s", report->why);
        if (!report->exact) fputs("; fast (FP16 inputs): not exact", shell->out.file);
        fputc(')', shell->out.file);
    }
    fputc('\n', shell->out.file);
}

/* Without a timing line a fallback to another engine, and rounding, still have to be said. */
static void say_fallback(const Shell *shell, const tcudb_report *report)
{
    if (shell->timing) return;
    fflush(shell->out.file);
    if (!report->exact) fputs("NOTICE:  fast (FP16 inputs): not exact\n", stderr);
    if (strncmp(report->why, "not ", 4) != 0) return;
    fprintf(stderr, "NOTICE:  ran on %s, %s\n", report->engine, report->why);
}

static int on_done(void *ctx, const tcudb_report *report)
{
    Job *job = ctx;
    Shell *shell = job->shell;
    shell_running(false);
    progress_clear();
    if (job->rows)
        print_end(&job->print);
    else if (!shell->quiet && report->tag[0] != '\0')
        fprintf(shell->out.file, "%s\n", report->tag);
    job->rows = false;
    if (shell->timing) say_time(shell, report, report->seconds);
    say_fallback(shell, report);
    shell_running(true);
    return 0;
}

static void end_once(Shell *shell)
{
    if (!shell->out.once) return;
    if (shell->out.pipe)
        pclose(shell->out.file);
    else
        fclose(shell->out.file);
    shell->out = (Output){.file = stdout};
}

bool shell_run(Shell *shell, const char *sql)
{
    Job job = {.shell = shell};
    tcudb_error err;
    tcudb_sink sink = {.ctx = &job, .columns = on_columns, .chunk = on_chunk, .done = on_done};
    assert(shell->conn != NULL);
    if (shell->echo == SWITCH_ON) fprintf(shell->out.file, "%s\n", sql);
    bool done;
    if (shell_own_statement(shell, sql, &done)) return done;
    double start = now();
    shell_interrupted = 0;
    progress_begin();
    shell_running(true);
    tcudb_status status = tcudb_stream(shell->conn, sql, &sink, &err);
    shell_running(false);
    if (status != TCUDB_OK) {
        print_free(&job.print);
        shell_error(shell, &err, sql);
        if (shell->timing) say_time(shell, NULL, now() - start);
    }
    fflush(shell->out.file);
    end_once(shell);
    return status == TCUDB_OK;
}

tcudb_result *shell_list(Shell *shell, tcudb_listing what, const char *name)
{
    tcudb_error err;
    tcudb_result *result = NULL;
    if (tcudb_list(shell->conn, what, name, &result, &err) != TCUDB_OK) shell_error(shell, &err, NULL);
    return result;
}
