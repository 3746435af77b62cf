/*
 * shell.h: the state of the shell, and what its files offer each other. It uses tcudb.h and nothing else of
 * the engine. A program of one thread; signal handlers and the progress callback touch only what is marked.
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include "tcudb.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit statuses, psql's. */
enum { EXIT_FINE = 0, EXIT_FATAL = 1, EXIT_CONNECTION = 2, EXIT_SCRIPT = 3 };

typedef enum Mode {
    MODE_BOX,
    MODE_ALIGNED,
    MODE_UNALIGNED,
    MODE_CSV,
    MODE_JSON,
    MODE_JSONLINES,
    MODE_MARKDOWN,
    MODE_LINE,
    MODE_INSERT,
    MODES
} Mode;

typedef enum Switch { SWITCH_OFF, SWITCH_ON, SWITCH_AUTO } Switch;

/* How results look: \pset and the dot commands. */
typedef struct Look {
    Mode mode;
    Switch expanded;    /* \x */
    bool headers;       /* column names */
    bool footer;        /* (3 rows) */
    bool types;         /* box: a line of types under the names */
    bool tuples_only;   /* \t */
    char null[64];      /* shown for NULL */
    char separator[16]; /* unaligned and csv */
    unsigned max_rows;  /* box on a terminal: rows shown; 0: all */
    unsigned max_width; /* box: columns of the screen; 0: the terminal's, without one no limit */
    Switch pager;
} Look;

typedef struct Text { /* a growable text, NUL-terminated once it has data */
    char *data;
    size_t len;
    size_t cap;
} Text;

typedef struct Var {
    struct Var *next;
    char *name;
    char *value;
} Var;

/* Where rows and command output go: \o, \g file, .output, .once. */
typedef struct Output {
    FILE *file; /* stdout if nothing else */
    bool pipe;  /* opened with popen */
    bool once;  /* back to stdout after one result */
} Output;

typedef struct Shell Shell;

/* A source of lines: a file, a text, or the terminal. */
typedef struct Source {
    char *(*line)(void *ctx, Shell *shell); /* malloc'd, without the newline; NULL: the end */
    void *ctx;
    bool holds_data; /* COPY FROM STDIN reads its next lines, not standard input */
} Source;

struct Shell {
    tcudb_db *db;
    tcudb_conn *conn; /* also used by the SIGINT handler while running */
    char *path;       /* NULL: in memory */
    tcudb_options db_options;

    Look look;
    bool timing;
    bool quiet; /* -q: rows only */
    bool no_rc;
    Switch echo;         /* .echo on, \set ECHO all */
    bool stop_on_error;  /* ON_ERROR_STOP: on in -c, -f and piped input */
    bool verbose_errors; /* VERBOSITY verbose: SQLSTATEs */
    Output out;
    Var *vars;

    bool interactive; /* reading statements from a terminal */
    bool tty_out;     /* stdout is a terminal */
    bool tty_err;
    const char *file_name; /* of the script being read, for error prefixes; NULL: none */
    unsigned line;         /* in that script */
    unsigned depth;        /* of \i */
    const Source *source;  /* what COPY FROM STDIN reads; NULL: standard input */
    Text copy_line;        /* of it: not yet handed out */
    char *restricted;      /* \restrict's key: only \unrestrict is run; NULL: not so */
    bool failed;           /* a command of the shell's own failed */
    bool quit;
    int exit_status; /* if it is not EXIT_SCRIPT that a failed script ends with */

    Text buffer;       /* the statement being typed */
    Text last;         /* the statement run last: \g, \e, \p */
    tcudb_error error; /* the last error: \errverbose */
};

/* Set by the SIGINT handler. */
extern volatile sig_atomic_t shell_interrupted;
/* Ctrl-C stops the connection's query while a statement runs, else the input line. */
void shell_signals(Shell *shell);
void shell_running(bool running);

/* ---- text.c ---------------------------------------------------------------------------------- */

/* The shell gives up with exit status 1 when memory for its own text runs out. */
void shell_out_of_memory(void) __attribute__((noreturn));
void *shell_alloc(size_t size);
void *shell_realloc(void *old, size_t size);
char *shell_strdup(const char *text);
char *shell_strndup(const char *text, size_t n);
void text_add(Text *text, const char *data, size_t n);
void text_str(Text *text, const char *data);
void text_char(Text *text, char c);
void text_printf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(Text *text);
void text_free(Text *text);
/* "" if nothing was added. */
const char *text_cstr(const Text *text);
bool text_blank(const Text *text);
/* A name as SQL spells it, in quotes where it is not plain. */
void text_name(Text *out, const char *name);

/* ---- connect.c: the database that is open ------------------------------------------------------ */

/* Opens path (NULL: in memory) in place of the database that is open; on failure the old one stays and the error is
 * printed. */
bool shell_open(Shell *shell, const char *path);
void shell_close(Shell *shell);
/* The name in prompts: "sales" of "data/sales.tcu". */
const char *shell_db_name(const Shell *shell, char *buffer, size_t size);

/* ---- run.c: statements ------------------------------------------------------------------------- */

/* Runs one statement and prints what it returns; false: it failed. */
bool shell_run(Shell *shell, const char *sql);
/* ERROR, LINE, caret, DETAIL, HINT on stderr. */
void shell_error(Shell *shell, const tcudb_error *err, const char *sql);
/* A message of the shell's own, in psql's form: "\d: message". Counts as an error. */
void shell_complain(Shell *shell, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One listing, NULL after printing an error. */
tcudb_result *shell_list(Shell *shell, tcudb_listing what, const char *name);

/* ---- file_kind.c: files by their names --------------------------------------------------------- */

typedef enum FileKind {
    FILE_OTHER,
    FILE_DATA, /* separated text */
    FILE_SQL,
    FILE_BINARY,  /* data that has to be exported first */
    FILE_DATABASE /* another program's */
} FileKind;
FileKind file_kind(const char *path);

/* ---- script.c: input --------------------------------------------------------------------------- */

/* Runs everything the source gives; false: stopped at an error. */
bool shell_script(Shell *shell, const Source *source);
bool shell_script_text(Shell *shell, const char *text);
bool shell_script_file(Shell *shell, const char *path); /* "-": standard input */
bool shell_terminal(Shell *shell);
void shell_rc(Shell *shell);

/* Runs the statement in the buffer, or if that is empty the last one: \g, \watch. */
bool shell_run_buffer(Shell *shell);
/* COPY's data from the source: as tcudb_read_fn. */
size_t shell_read_copy(Shell *shell, char *buffer, size_t size);

/* ---- vars.c: \set ------------------------------------------------------------------------------ */

const char *var_get(const Shell *shell, const char *name, size_t len);
void var_set(Shell *shell, const char *name, const char *value);
bool var_unset(Shell *shell, const char *name);
void var_print(const Shell *shell, FILE *to);
void var_free(Shell *shell);
/* Replaces :name, :'name' and :"name" outside quotes. */
void var_expand(const Shell *shell, const char *sql, size_t len, Text *out);

/* ---- commands.c -------------------------------------------------------------------------------- */

/* Runs a backslash command (text: what follows the backslash, to the end of its line) and returns how much of the
 * text it used. */
size_t shell_backslash(Shell *shell, const char *text);
/* A line that begins with a dot. */
void shell_dot(Shell *shell, const char *line);
/* "help", "quit", "show databases", "describe t": what a beginner types. True: the line was one of them. */
bool shell_plain_word(Shell *shell, const char *line);
/* DESCRIBE and SUMMARIZE, which are the shell's own; *done: without an error. False: neither. */
bool shell_own_statement(Shell *shell, const char *sql, bool *done);
/* A hint for a statement that failed, or NULL. */
const char *shell_mistake(const char *sql, const tcudb_error *err);

/* ---- input.c, complete.c ----------------------------------------------------------------------- */

typedef struct Editor Editor;
Editor *editor_new(Shell *shell); /* NULL: no line editing here */
char *editor_line(Editor *editor, const char *prompt);
void editor_remember(Editor *editor, const char *text);
void editor_print_history(const Editor *editor, FILE *to);
void editor_free(Editor *editor);
Editor *shell_editor(void); /* the one in use, or NULL */
/* Completions of the word that ends at `at`: a malloc'd NULL-terminated array of malloc'd words. */
char **complete(Shell *shell, const char *line, size_t at, size_t *start);

/* ---- progress.c, pager.c ----------------------------------------------------------------------- */

void progress_on(Shell *shell);
void progress_begin(void); /* a statement starts */
void progress_clear(void); /* takes the bar off the screen */
/* Where a long output goes: a pager if `lines` do not fit the screen, else shell->out.file. */
FILE *pager_open(Shell *shell, size_t lines);
void pager_close(Shell *shell, FILE *pager);
unsigned screen_width(void);
unsigned screen_height(void);

#endif
