/*
 * input.c: lines from the terminal, edited with libedit: history in ~/.tcudb_history, completion with Tab.
 *
 * Where the terminal cannot be edited (TERM=dumb, no termcap entry) lines are read plainly.
 */
#include "shell.h"

#include <assert.h>
#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 5000 };

struct Editor {
    Shell *shell;
    EditLine *el;
    History *history;
    char prompt[160];
    char *file;
};

static Editor *the_editor;

Editor *shell_editor(void)
{
    return the_editor;
}

static char *prompt_of(EditLine *el)
{
    Editor *editor = NULL;
    el_get(el, EL_CLIENTDATA, &editor);
    return editor->prompt;
}

/* ---- completion ---------------------------------------------------------------------------- */

static size_t common_prefix(char **words)
{
    size_t n = strlen(words[0]);
    for (size_t i = 1; words[i] != NULL; i++) {
        size_t k = 0;
        while (k < n && words[i][k] == words[0][k]) k++;
        n = k;
    }
    return n;
}

static void show_words(char **words)
{
    unsigned width = screen_width();
    unsigned column = 0;
    fputc('\n', stdout);
    for (size_t i = 0; words[i] != NULL && i < 200; i++) {
        size_t n = strlen(words[i]) + 2;
        if (column + n > width) {
            fputc('\n', stdout);
            column = 0;
        }
        fprintf(stdout, "%s  ", words[i]);
        column += (unsigned)n;
    }
    fputc('\n', stdout);
}

static unsigned char finish_word(EditLine *el, char **words, size_t typed)
{
    size_t n = common_prefix(words);
    bool only = words[1] == NULL;
    unsigned char result = CC_REDISPLAY;
    if (n > typed || only) {
        char *end = shell_strndup(words[0], n);
        el_deletestr(el, (int)typed);
        el_insertstr(el, end);
        if (only && end[n - 1] != '/' && end[n - 1] != '(') el_insertstr(el, " ");
        free(end);
        result = CC_REFRESH;
    } else {
        show_words(words);
    }
    return result;
}

static unsigned char on_tab(EditLine *el, int ch)
{
    Editor *editor = NULL;
    (void)ch;
    el_get(el, EL_CLIENTDATA, &editor);
    const LineInfo *info = el_line(el);
    size_t at = (size_t)(info->cursor - info->buffer);
    char *line = shell_strndup(info->buffer, at);
    size_t start = at;
    char **words = complete(editor->shell, line, at, &start);
    unsigned char result = CC_ERROR;
    if (words != NULL) {
        result = finish_word(el, words, at - start);
        for (size_t i = 0; words[i] != NULL; i++) free(words[i]);
        free(words);
    }
    free(line);
    return result;
}

/* ---- reading characters --------------------------------------------------------------------- */

/* Waits for a byte. Ctrl-C is let in only while waiting, so one that comes just before is not lost. */
static bool wait_for_byte(void)
{
    sigset_t with;
    sigset_t before;
    fd_set input;
    sigemptyset(&with);
    sigaddset(&with, SIGINT);
    sigprocmask(SIG_BLOCK, &with, &before);
    FD_ZERO(&input);
    FD_SET(STDIN_FILENO, &input);
    int ready = shell_interrupted ? -1 : pselect(STDIN_FILENO + 1, &input, NULL, NULL, NULL, &before);
    int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = shell_interrupted ? EINTR : why;
    return ready > 0;
}

/* libedit's way of getting a character: 1, 0 at the end, -1 with errno. */
static int read_character(EditLine *el, wchar_t *out)
{
    mbstate_t state = {0};
    char byte = '\0';
    for (int used = 0; used < MB_LEN_MAX; used++) {
        while (!wait_for_byte()) {
            if (errno == EINTR && !shell_interrupted) {
                el_resize(el); /* SIGWINCH */
                continue;
            }
            return -1;
        }
        ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n <= 0) return (int)n;
        size_t decoded = mbrtowc(out, &byte, 1, &state);
        if (decoded != (size_t)-2 && decoded != (size_t)-1) return 1;
        if (decoded == (size_t)-1) memset(&state, 0, sizeof state); /* not UTF-8: dropped */
    }
    return -1;
}

/* ---- opening and closing ------------------------------------------------------------------- */

static char *history_file(void)
{
    const char *own = getenv("TCUDB_HISTORY");
    const char *home = getenv("HOME");
    Text path = {0};
    if (own != NULL) return shell_strdup(own);
    if (home == NULL) return NULL;
    text_printf(&path, "%s/.tcudb_history", home);
    return path.data;
}

static void open_history(Editor *editor)
{
    HistEvent event;
    editor->history = history_init();
    if (editor->history == NULL) return;
    history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    history(editor->history, &event, H_SETUNIQUE, 1);
    editor->file = history_file();
    if (editor->file != NULL) history(editor->history, &event, H_LOAD, editor->file);
    el_set(editor->el, EL_HIST, history, editor->history);
}

static void on_resize(int number)
{
    (void)number; /* waiting for a byte ends, that is all */
}

static void open_line_editor(Editor *editor)
{
    const char *term = getenv("TERM");
    if (term == NULL || strcmp(term, "dumb") == 0 || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
    editor->el = el_init("tcudb", stdin, stdout, stderr);
    if (editor->el == NULL) return;
    struct sigaction action = {.sa_handler = on_resize};
    sigaction(SIGWINCH, &action, NULL);
    el_set(editor->el, EL_CLIENTDATA, editor);
    el_set(editor->el, EL_PROMPT, prompt_of);
    el_set(editor->el, EL_EDITOR, "emacs");
    el_set(editor->el, EL_SIGNAL, 0);
    el_set(editor->el, EL_GETCFN, read_character);
    el_set(editor->el, EL_ADDFN, "tcudb-complete", "complete the word", on_tab);
    el_set(editor->el, EL_BIND, "^I", "tcudb-complete", NULL);
    el_set(editor->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor->el, EL_BIND, "\\e[1;5C", "em-next-word", NULL);
    el_set(editor->el, EL_BIND, "\\e[1;5D", "ed-prev-word", NULL);
    open_history(editor);
    el_source(editor->el, NULL);
}

Editor *editor_new(Shell *shell)
{
    Editor *editor = shell_alloc(sizeof *editor);
    editor->shell = shell;
    setlocale(LC_CTYPE, "");
    open_line_editor(editor);
    the_editor = editor;
    return editor;
}

void editor_free(Editor *editor)
{
    HistEvent event;
    if (editor->history != NULL && editor->file != NULL) history(editor->history, &event, H_SAVE, editor->file);
    if (editor->history != NULL) history_end(editor->history);
    if (editor->el != NULL) el_end(editor->el);
    free(editor->file);
    free(editor);
    the_editor = NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static char *plain_line(const char *prompt)
{
    char *line = NULL;
    size_t cap = 0;
    fputs(prompt, stdout);
    fflush(stdout);
    ssize_t n = getline(&line, &cap, stdin);
    if (n < 0) {
        clearerr(stdin);
        free(line);
        return NULL;
    }
    if (n > 0 && line[n - 1] == '\n') line[n - 1] = '\0';
    return line;
}

char *editor_line(Editor *editor, const char *prompt)
{
    int n = 0;
    assert(prompt != NULL);
    if (editor->el == NULL) return plain_line(prompt);
    snprintf(editor->prompt, sizeof editor->prompt, "%s", prompt);
    const char *line = el_gets(editor->el, &n);
    if (line == NULL || n <= 0) {
        if (shell_interrupted) el_reset(editor->el);
        return NULL;
    }
    size_t len = (size_t)n;
    if (line[len - 1] == '\n') len--;
    char *copy = shell_strndup(line, len);
    editor_remember(editor, copy);
    return copy;
}

void editor_remember(Editor *editor, const char *text)
{
    HistEvent event;
    if (editor->history == NULL || text[strspn(text, " \t")] == '\0') return;
    history(editor->history, &event, H_ENTER, text);
}

void editor_print_history(const Editor *editor, FILE *to)
{
    HistEvent event;
    if (editor->history == NULL) return;
    for (int more = history(editor->history, &event, H_LAST); more != -1;
         more = history(editor->history, &event, H_PREV))
        fprintf(to, "%s\n", event.str);
}
