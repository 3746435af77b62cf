/*
 * script.c: from lines to statements and commands.
 *
 * Lines gather in shell->buffer until the scanner finds the semicolon that ends a statement, or a backslash
 * that begins a command; what is left stays for the next line. A script stops at its first error unless
 * ON_ERROR_STOP is off; at the end of a script an unfinished statement is run, as in psql.
 */
#include "shell.h"
#include "scan.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 32 }; /* \i inside \i */

/* ---- statements ---------------------------------------------------------------------------- */

static void drop_front(Text *text, size_t n)
{
    assert(n <= text->len);
    memmove(text->data, text->data + n, text->len - n + 1);
    text->len -= n;
}

/* Runs the first n bytes of the buffer as one statement. */
static bool run_front(Shell *shell, size_t n)
{
    const char *sql = shell->buffer.data;
    size_t from = 0;
    Text expanded = {0};
    size_t end = n;
    while (from < n && isspace((unsigned char)sql[from])) from++;
    while (end > from && isspace((unsigned char)sql[end - 1])) end--;
    var_expand(shell, sql + from, end - from, &expanded);
    text_clear(&shell->last);
    text_str(&shell->last, text_cstr(&expanded));
    drop_front(&shell->buffer, n); /* before it runs: COPY may read further lines */
    bool done = shell_run(shell, text_cstr(&expanded));
    text_free(&expanded);
    return done;
}

bool shell_run_buffer(Shell *shell)
{
    if (!text_blank(&shell->buffer)) return run_front(shell, shell->buffer.len);
    if (text_blank(&shell->last)) {
        shell_complain(shell, "there is no statement to run");
        return false;
    }
    char *sql = shell_strdup(shell->last.data);
    bool done = shell_run(shell, sql);
    free(sql);
    return done;
}

/* The backslash command at `at` leaves the buffer; what follows it on its line stays. */
static bool run_command(Shell *shell, size_t at)
{
    const char *rest = shell->buffer.data + at + 1;
    size_t len = strcspn(rest, "\n");
    char *command = shell_strndup(rest, len);
    Text after = {0};
    text_str(&after, rest + len);
    shell->buffer.len = at;
    shell->buffer.data[at] = '\0';
    shell->failed = false;
    size_t used = shell_backslash(shell, command);
    assert(used <= len);
    if (used < len) {
        text_add(&shell->buffer, command + used, len - used);
        text_str(&shell->buffer, text_cstr(&after));
    } else if (!text_blank(&shell->buffer)) {
        text_char(&shell->buffer, '\n');
    }
    text_free(&after);
    free(command);
    return !shell->failed;
}

/* Runs everything complete in the buffer; false: an error that stops the script. */
static bool run_complete(Shell *shell, Scan *scan)
{
    while (!shell->quit && shell->buffer.len > 0) {
        ScanEnd end = scan_next(scan, shell->buffer.data, shell->buffer.len);
        bool done = true;
        if (end == SCAN_MORE) break;
        if (end == SCAN_BACKSLASH)
            done = run_command(shell, scan->at);
        else if (scan->content)
            done = run_front(shell, scan->at);
        else
            drop_front(&shell->buffer, scan->at);
        *scan = (Scan){0};
        if (!done && shell->stop_on_error) return false;
    }
    if (text_blank(&shell->buffer)) {
        text_clear(&shell->buffer);
        *scan = (Scan){0};
    }
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool is_dot_command(const char *line)
{
    return line[0] == '.' && isalpha((unsigned char)line[1]);
}

static bool take_line(Shell *shell, Scan *scan, const char *line)
{
    if (text_blank(&shell->buffer)) {
        if (is_dot_command(line)) {
            shell->failed = false;
            shell_dot(shell, line);
            return !(shell->failed && shell->stop_on_error);
        }
        if (shell->interactive && shell_plain_word(shell, line)) return true;
    }
    text_str(&shell->buffer, line);
    text_char(&shell->buffer, '\n');
    return run_complete(shell, scan);
}

static bool run_rest(Shell *shell, const Scan *scan)
{
    if (!shell->quit && scan->content && !text_blank(&shell->buffer) && !run_front(shell, shell->buffer.len))
        return !shell->stop_on_error;
    text_clear(&shell->buffer);
    return true;
}

bool shell_script(Shell *shell, const Source *source)
{
    const Source *outer = shell->source;
    Text outer_buffer = shell->buffer;
    Scan scan = {0};
    bool going = true;
    shell->source = source;
    shell->buffer = (Text){0};
    while (going && !shell->quit) {
        shell->failed = false;
        char *line = source->line(source->ctx, shell);
        if (line == NULL) going = !shell->failed;
        if (line == NULL) break;
        shell->line++;
        going = take_line(shell, &scan, line);
        free(line);
    }
    if (going) going = run_rest(shell, &scan);
    text_free(&shell->buffer);
    shell->buffer = outer_buffer;
    shell->source = outer;
    return going;
}

/* ---- sources ------------------------------------------------------------------------------- */

static char *text_line(void *ctx, Shell *shell)
{
    const char **at = ctx;
    (void)shell;
    if (**at == '\0') return NULL;
    size_t n = strcspn(*at, "\n");
    char *line = shell_strndup(*at, n);
    *at += n + ((*at)[n] == '\n');
    return line;
}

bool shell_script_text(Shell *shell, const char *text)
{
    Source source = {text_line, &text, false};
    return shell_script(shell, &source);
}

/* A program, or text of another encoding: a line would end at its first NUL. */
static char *no_text(Shell *shell, char *line)
{
    free(line);
    shell->line++;
    shell_complain(shell, "ERROR:  this is no SQL text: it has NUL bytes");
    fputs("HINT:  Text in UTF-16 has to be saved as UTF-8; a compressed file to be expanded.\n", stderr);
    return NULL;
}

static char *file_line(void *ctx, Shell *shell)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = getline(&line, &cap, ctx);
    if (n < 0) {
        free(line);
        return NULL;
    }
    if (memchr(line, '\0', (size_t)n) != NULL) return no_text(shell, line);
    if (shell->line == 0 && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        n -= 3; /* a mark of the encoding */
        memmove(line, line + 3, (size_t)n + 1);
    }
    if (n > 0 && line[n - 1] == '\n') line[--n] = '\0';
    if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
    return line;
}

static FILE *open_script(Shell *shell, const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    if (file != NULL && fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        fclose(file);
        file = NULL;
        errno = EISDIR;
    }
    if (file != NULL) return file;
    shell_complain(shell, "tcudb: error: %s: %s", path, strerror(errno));
    if (shell->depth == 0) shell->exit_status = EXIT_FATAL;
    return NULL;
}

bool shell_script_file(Shell *shell, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    if (shell->depth >= DEEPEST) {
        shell_complain(shell, "\\i: files include each other more than %d deep", DEEPEST);
        return false;
    }
    FILE *file = standard ? stdin : open_script(shell, path);
    if (file == NULL) return false;
    const char *outer_name = shell->file_name;
    unsigned outer_line = shell->line;
    shell->file_name = standard ? NULL : path;
    shell->line = 0;
    shell->depth++;
    Source source = {file_line, file, true};
    bool done = shell_script(shell, &source);
    shell->depth--;
    shell->file_name = outer_name;
    shell->line = outer_line;
    if (!standard) fclose(file);
    return done;
}

void shell_rc(Shell *shell)
{
    char path[4096];
    const char *own = getenv("TCUDBRC");
    const char *home = getenv("HOME");
    if (shell->no_rc || (own == NULL && home == NULL)) return;
    if (own != NULL)
        snprintf(path, sizeof path, "%s", own);
    else
        snprintf(path, sizeof path, "%s/.tcudbrc", home);
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    fclose(file);
    bool quiet = shell->quiet;
    shell->quiet = true;
    shell_script_file(shell, path);
    shell->quiet = quiet;
}

/* ---- COPY FROM STDIN ----------------------------------------------------------------------- */

static size_t hand_out(Text *text, char *buffer, size_t size)
{
    size_t n = text->len < size ? text->len : size;
    memcpy(buffer, text->data, n);
    drop_front(text, n);
    return n;
}

size_t shell_read_copy(Shell *shell, char *buffer, size_t size)
{
    if (shell->copy_line.len > 0) return hand_out(&shell->copy_line, buffer, size);
    if (shell->source == NULL || !shell->source->holds_data) {
        size_t n = fread(buffer, 1, size, stdin);
        return n == 0 && ferror(stdin) ? SIZE_MAX : n;
    }
    char *line = shell->source->line(shell->source->ctx, shell);
    bool end = line == NULL || strcmp(line, "\\.") == 0;
    if (!end) {
        shell->line++;
        text_str(&shell->copy_line, line);
        text_char(&shell->copy_line, '\n');
    }
    free(line);
    return end ? 0 : hand_out(&shell->copy_line, buffer, size);
}

/* ---- the terminal -------------------------------------------------------------------------- */

typedef struct Terminal {
    Editor *editor;
    bool told; /* how to end a statement */
} Terminal;

static void make_prompt(const Shell *shell, char *buffer, size_t size)
{
    char name[64];
    Scan scan = {0};
    char state = tcudb_transaction_state(shell->conn);
    if (!text_blank(&shell->buffer)) (void)scan_next(&scan, shell->buffer.data, shell->buffer.len);
    snprintf(buffer, size, "%s%c%s> ", shell_db_name(shell, name, sizeof name), scan_prompt(&scan),
             state == 'T'   ? "*"
             : state == 'E' ? "!"
                            : "");
}

static char *terminal_line(void *ctx, Shell *shell)
{
    Terminal *terminal = ctx;
    char prompt[128];
    for (;;) {
        make_prompt(shell, prompt, sizeof prompt);
        shell_interrupted = 0;
        fflush(stdout);
        char *line = editor_line(terminal->editor, prompt);
        if (line == NULL && shell_interrupted) { /* Ctrl-C drops what was typed */
            text_clear(&shell->buffer);
            fputc('\n', stdout);
            continue;
        }
        if (line == NULL) fputc('\n', stdout);
        bool blank = line != NULL && line[strspn(line, " \t")] == '\0';
        if (blank && !terminal->told && !text_blank(&shell->buffer)) {
            puts("(the statement runs when it ends in a semicolon; \\r drops it, \\? helps)");
            terminal->told = true;
        }
        if (line != NULL && !text_blank(&shell->buffer) && (strcmp(line, "exit") == 0 || strcmp(line, "quit") == 0))
            puts("(a part of the statement that is not finished; \\q leaves, \\r drops the statement)");
        return line;
    }
}

static void greet(const Shell *shell)
{
    if (shell->quiet) return;
    printf("tcudb %s", tcudb_version());
    if (shell->path == NULL)
        puts(", a database in memory: gone at the end (.open NAME for one that stays)");
    else
        printf(", database %s\n", shell->path);
    puts("Type help for help. Statements end in a semicolon.\n");
}

bool shell_terminal(Shell *shell)
{
    Terminal terminal = {.editor = editor_new(shell)};
    Source source = {terminal_line, &terminal, true};
    greet(shell);
    bool done = shell_script(shell, &source);
    editor_free(terminal.editor);
    return done;
}
