/*
 * connect.c: the database that the shell has open, notices, the streams of COPY, and Ctrl-C.
 */
#include "shell.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

volatile sig_atomic_t shell_interrupted;

/* For the signal handler: the shell whose statement runs, or NULL. */
static Shell *volatile running_shell;
static Shell *the_shell;

/* ---- signals ------------------------------------------------------------------------------- */

static void on_interrupt(int number)
{
    Shell *shell = running_shell;
    shell_interrupted = 1;
    if (shell != NULL)
        tcudb_interrupt(shell->conn);
    else if (the_shell != NULL && !the_shell->interactive)
        _exit(128 + number);
}

void shell_signals(Shell *shell)
{
    struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART: reading a line must end */
    the_shell = shell;
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file too large is an error of the statement */
}

void shell_running(bool running)
{
    running_shell = running ? the_shell : NULL;
}

/* ---- notices and COPY ---------------------------------------------------------------------- */

static void on_notice(void *ctx, const char *severity, const char *sqlstate, const char *message)
{
    const Shell *shell = ctx;
    (void)sqlstate;
    if (shell->quiet && strcmp(severity, "NOTICE") == 0) return;
    fflush(shell->out.file);
    fprintf(stderr, "%s:  %s\n", severity, message);
}

static size_t on_read(void *ctx, char *buffer, size_t size)
{
    return shell_read_copy(ctx, buffer, size);
}

static int on_write(void *ctx, const char *data, size_t size)
{
    const Shell *shell = ctx;
    return fwrite(data, 1, size, shell->out.file) != size;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void hint(const char *text)
{
    fprintf(stderr, "HINT:  %s\n", text);
}

/* A statement where a database's name is expected: a new database would be made of it. */
static bool looks_like_sql(const char *path)
{
    static const char *const words[] = {"select ", "with ",    "create ", "insert ", "copy ",
                                        "show ",   "explain ", "from ",   "values "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncasecmp(path, words[i], strlen(words[i])) == 0) return true;
    return false;
}

/* Paths that cannot be databases, said before the engine sees them. */
static bool plausible(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno != ENOENT) return true;
        if (looks_like_sql(path)) {
            fprintf(stderr, "ERROR:  no database is called \"%s\"\nHINT:  To run SQL: tcudb -c \"%s\"\n", path, path);
            return false;
        }
        if (strcmp(path, "help") == 0) {
            fputs("ERROR:  no database is called \"help\"\nHINT:  tcudb --help lists the options.\n", stderr);
            return false;
        }
        if (file_kind(path) != FILE_DATA && file_kind(path) != FILE_SQL) return true;
        fprintf(stderr, "ERROR:  could not open \"%s\": No such file or directory\n", path);
        return false;
    }
    if (S_ISDIR(info.st_mode)) return true;
    fprintf(stderr, "ERROR:  \"%s\" is a file; a tcudb database is a directory\n", path);
    switch (file_kind(path)) {
    case FILE_SQL: fprintf(stderr, "HINT:  To run it: tcudb -f %s\n", path); break;
    case FILE_DATA: fprintf(stderr, "HINT:  To look at it: tcudb -c \"SELECT * FROM '%s'\"\n", path); break;
    case FILE_BINARY: hint("Export it as CSV, which tcudb -c \"SELECT * FROM 'file.csv'\" reads."); break;
    case FILE_DATABASE: hint("It is another program's: export it as SQL for tcudb -f, or its tables as CSV."); break;
    case FILE_OTHER: hint("Give the name of a database directory, or no name for a database in memory."); break;
    }
    return false;
}

static bool report(const tcudb_error *err)
{
    fprintf(stderr, "ERROR:  %s\n", err->message);
    if (err->detail[0] != '\0') fprintf(stderr, "DETAIL:  %s\n", err->detail);
    if (err->hint[0] != '\0') hint(err->hint);
    return false;
}

bool shell_open(Shell *shell, const char *path)
{
    tcudb_error err;
    tcudb_db *db = NULL;
    tcudb_conn *conn = NULL;
    bool memory = path == NULL || path[0] == '\0' || strcmp(path, ":memory:") == 0;
    if (!memory && !plausible(path)) return false;
    if (tcudb_open(memory ? NULL : path, &shell->db_options, &db, &err) != TCUDB_OK) return report(&err);
    if (tcudb_connect(db, &conn, &err) != TCUDB_OK) {
        tcudb_close(db);
        return report(&err);
    }
    shell_close(shell);
    shell->db = db;
    shell->conn = conn;
    shell->path = memory ? NULL : shell_strdup(path);
    if (tcudb_set_notice(conn, on_notice, shell, &err) != TCUDB_OK) return report(&err);
    if (tcudb_set_copy(conn, on_read, on_write, shell, &err) != TCUDB_OK) return report(&err);
    progress_on(shell);
    return true;
}

void shell_close(Shell *shell)
{
    shell_running(false);
    tcudb_disconnect(shell->conn);
    tcudb_close(shell->db);
    free(shell->path);
    shell->conn = NULL;
    shell->db = NULL;
    shell->path = NULL;
}

const char *shell_db_name(const Shell *shell, char *buffer, size_t size)
{
    assert(size > 8);
    if (shell->path == NULL) return "tcudb";
    size_t n = strlen(shell->path);
    while (n > 1 && shell->path[n - 1] == '/') n--;
    if (n > 4 && memcmp(shell->path + n - 4, ".tcu", 4) == 0) n -= 4;
    size_t from = n;
    while (from > 0 && shell->path[from - 1] != '/') from--;
    snprintf(buffer, size, "%.*s", (int)(n - from), shell->path + from);
    return buffer;
}
