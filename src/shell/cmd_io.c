/*
 * cmd_io.c: files: \i, \o, .once, \copy, .import, \e, \g, \watch, .open.
 */
#include "command.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- scripts and databases ----------------------------------------------------------------- */

static void include(Shell *shell, const char *path)
{
    if (!shell_script_file(shell, path))
        shell->failed = true;
    else
        shell->failed = false;
}

void cmd_include(Shell *shell, const Args *args)
{
    if (args->n == 0)
        shell_complain(shell, "\\%s: missing required argument", args->command);
    else
        include(shell, args->arg[0]);
}

void cmd_include_relative(Shell *shell, const Args *args)
{
    const char *slash = shell->file_name == NULL ? NULL : strrchr(shell->file_name, '/');
    if (args->n == 0 || slash == NULL || args->arg[0][0] == '/') {
        cmd_include(shell, args);
        return;
    }
    Text path = {0};
    text_add(&path, shell->file_name, (size_t)(slash - shell->file_name) + 1);
    text_str(&path, args->arg[0]);
    include(shell, text_cstr(&path));
    text_free(&path);
}

void cmd_open(Shell *shell, const Args *args)
{
    const char *path = args->n == 0 ? NULL : args->arg[0];
    if (!shell_open(shell, path)) {
        shell->failed = true;
        fputs("Previous connection kept\n", stderr);
    } else if (!shell->quiet) {
        cmd_conninfo(shell, args);
    }
}

/* ---- where results go ---------------------------------------------------------------------- */

static void close_output(Shell *shell)
{
    if (shell->out.file == stdout) return;
    if (shell->out.pipe)
        pclose(shell->out.file);
    else
        fclose(shell->out.file);
    shell->out = (Output){.file = stdout};
}

static bool open_output(Shell *shell, const char *target, bool once)
{
    Output out = {.once = once, .pipe = target[0] == '|'};
    fflush(NULL);
    out.file = out.pipe ? popen(target + 1, "w") : fopen(target, "we");
    if (out.file == NULL) {
        shell_complain(shell, "%s: %s", target, strerror(errno));
        return false;
    }
    close_output(shell);
    shell->out = out;
    return true;
}

/* "|command with arguments" was split at its blanks: take the line. */
static const char *target_of(const Args *args)
{
    const char *line = args->line + strspn(args->line, " \t");
    return line[0] == '|' ? line : args->arg[0];
}

void cmd_output(Shell *shell, const Args *args)
{
    if (args->n == 0 || strcmp(args->arg[0], "stdout") == 0)
        close_output(shell);
    else
        open_output(shell, target_of(args), false);
}

void cmd_once(Shell *shell, const Args *args)
{
    if (args->n == 0)
        shell_complain(shell, ".once: missing required argument");
    else
        open_output(shell, target_of(args), true);
}

/* ---- running the buffer -------------------------------------------------------------------- */

void cmd_go(Shell *shell, const Args *args)
{
    if (args->n > 0 && !open_output(shell, target_of(args), true)) return;
    if (!shell_run_buffer(shell)) shell->failed = true;
}

void cmd_go_expanded(Shell *shell, const Args *args)
{
    Switch before = shell->look.expanded;
    shell->look.expanded = SWITCH_ON;
    cmd_go(shell, args);
    shell->look.expanded = before;
}

void cmd_watch(Shell *shell, const Args *args)
{
    double seconds = args->n == 0 ? 2 : strtod(args->arg[0], NULL);
    if (!(seconds > 0)) {
        shell_complain(shell, "\\watch: the interval must be more than 0 seconds");
        return;
    }
    while (shell_run_buffer(shell)) {
        struct timespec pause = {.tv_sec = (time_t)seconds,
                                 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
        if (shell_interrupted || nanosleep(&pause, NULL) != 0 || shell_interrupted) return;
    }
    shell->failed = !shell_interrupted;
}

void cmd_print_buffer(Shell *shell, const Args *args)
{
    (void)args;
    const Text *text = text_blank(&shell->buffer) ? &shell->last : &shell->buffer;
    fprintf(shell->out.file, "%s\n", text_blank(text) ? "Query buffer is empty." : text_cstr(text));
}

void cmd_reset(Shell *shell, const Args *args)
{
    (void)args;
    text_clear(&shell->buffer);
    if (!shell->quiet) puts("Query buffer reset (cleared).");
}

/* ---- \e ------------------------------------------------------------------------------------ */

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) return false;
    bool good = fputs(text, file) >= 0 && fputc('\n', file) != EOF;
    return fclose(file) == 0 && good;
}

static char *read_text(const char *path)
{
    Text text = {0};
    char buffer[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL) return NULL;
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) text_add(&text, buffer, n);
    fclose(file);
    return shell_strdup(text_cstr(&text));
}

static const char *editor_command(void)
{
    static const char *const names[] = {"TCUDB_EDITOR", "EDITOR", "VISUAL"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) != NULL) return getenv(names[i]);
    return "vi";
}

void cmd_edit(Shell *shell, const Args *args)
{
    char path[] = "/tmp/tcudb-edit-XXXXXX.sql";
    (void)args;
    int fd = mkstemps(path, 4);
    if (fd < 0) {
        shell_complain(shell, "\\e: %s: %s", path, strerror(errno));
        return;
    }
    close(fd);
    const Text *before = text_blank(&shell->buffer) ? &shell->last : &shell->buffer;
    Text command = {0};
    text_printf(&command, "%s '%s'", editor_command(), path);
    if (write_text(path, text_cstr(before)) && system(text_cstr(&command)) == 0) {
        char *after = read_text(path);
        text_clear(&shell->buffer);
        if (after != NULL) text_str(&shell->buffer, after);
        free(after);
    } else {
        shell_complain(shell, "\\e: the editor \"%s\" failed", editor_command());
    }
    text_free(&command);
    unlink(path);
}

/* ---- \copy and .import --------------------------------------------------------------------- */

static void add_literal(Text *out, const char *text, size_t n)
{
    text_char(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'') text_char(out, '\'');
        text_char(out, text[i]);
    }
    text_char(out, '\'');
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

/* Position after FROM or TO outside parentheses and quotes; NULL: neither is there. */
static const char *find_direction(const char *text)
{
    int depth = 0;
    char quote = '\0';
    for (const char *at = text; *at != '\0'; at++) {
        if (quote != '\0') {
            if (*at == quote) quote = '\0';
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == '(') {
            depth++;
        } else if (*at == ')') {
            depth--;
        } else if (depth == 0 && isalpha((unsigned char)*at)) {
            size_t n = strcspn(at, " \t\n()'\"");
            if (at > text && isspace((unsigned char)at[-1]) && (is_word(at, n, "from") || is_word(at, n, "to")))
                return at + n;
            at += n - 1;
        }
    }
    return NULL;
}

/* COPY with the file name quoted, which psql's \copy does not demand. */
static void make_copy(const char *line, const char *name, Text *out)
{
    name += strspn(name, " \t");
    size_t n = strcspn(name, " \t\n;");
    text_str(out, "COPY ");
    text_add(out, line, (size_t)(name - line));
    bool keep =
        name[0] == '\'' || is_word(name, n, "stdin") || is_word(name, n, "stdout") || is_word(name, n, "program");
    if (is_word(name, n, "pstdin"))
        text_str(out, "stdin");
    else if (is_word(name, n, "pstdout"))
        text_str(out, "stdout");
    else if (keep)
        text_add(out, name, n);
    else
        add_literal(out, name, n);
    text_str(out, name + n);
}

void cmd_copy(Shell *shell, const Args *args)
{
    const char *name = find_direction(args->line);
    if (name == NULL || name[strspn(name, " \t")] == '\0') {
        shell_complain(shell, "\\copy: parse error: use \\copy TABLE FROM FILE (options), or TO FILE");
        return;
    }
    Text sql = {0};
    make_copy(args->line, name, &sql);
    if (!shell_run(shell, text_cstr(&sql))) shell->failed = true;
    text_free(&sql);
}

static bool table_exists(Shell *shell, const char *name)
{
    tcudb_result *result = shell_list(shell, TCUDB_TABLES, name);
    bool there = tcudb_result_rows(result) > 0;
    tcudb_result_free(result);
    return there;
}

void cmd_import(Shell *shell, const Args *args)
{
    if (args->n != 2) {
        shell_complain(shell, ".import: use .import FILE TABLE");
        return;
    }
    Text sql = {0};
    if (table_exists(shell, args->arg[1]))
        text_printf(&sql, "INSERT INTO \"%s\" SELECT * FROM read_csv(", args->arg[1]);
    else
        text_printf(&sql, "CREATE TABLE \"%s\" AS SELECT * FROM read_csv(", args->arg[1]);
    add_literal(&sql, args->arg[0], strlen(args->arg[0]));
    text_char(&sql, ')');
    if (!shell_run(shell, text_cstr(&sql))) shell->failed = true;
    text_free(&sql);
    assert(sql.data == NULL);
}
