/*
 * mistakes.c: what beginners type, and what to tell them.
 *
 * Words of other shells are understood at the prompt, where no statement has begun; statements of other
 * dialects fail as SQL and get a hint.
 */
#include "command.h"
#include "width.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The words of a line without blanks around and a semicolon at the end. */
typedef struct Line {
    const char *text;
    size_t len;
} Line;

static Line trim(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n > 0 && (isspace((unsigned char)text[n - 1]) || text[n - 1] == ';')) n--;
    return (Line){text, n};
}

static bool is(Line line, const char *words)
{
    return strlen(words) == line.len && strncasecmp(line.text, words, line.len) == 0;
}

/* The rest after a first word; NULL: the line begins otherwise. */
static const char *after(Line line, const char *word)
{
    size_t n = strlen(word);
    if (line.len <= n || strncasecmp(line.text, word, n) != 0 || !isspace((unsigned char)line.text[n])) return NULL;
    return line.text + n + 1;
}

static bool run_as(Shell *shell, CommandFn fn, const char *name, const char *argument, size_t len)
{
    Args args = {.command = name, .line = ""};
    char word[256];
    if (argument != NULL) {
        snprintf(word, sizeof word, "%.*s", (int)len, argument);
        args.arg[args.n++] = word;
    }
    fn(shell, &args);
    return true;
}

static const char *greeting =
    "This is the shell of tcudb. It runs SQL, PostgreSQL's dialect; a statement ends in a semicolon:\n"
    "  CREATE TABLE t (a integer, b text);       SELECT * FROM 'data.csv';\n"
    "  \\?  lists the shell's commands            \\h  shows the syntax of SQL\n"
    "  \\d  lists the tables                      \\q  leaves\n";

static bool simple_word(Shell *shell, Line line)
{
    if (is(line, "help")) return fputs(greeting, stdout) >= 0;
    if (is(line, "?")) return run_as(shell, cmd_help, "?", NULL, 0);
    if (is(line, "quit") || is(line, "exit") || is(line, "q") || is(line, ":q"))
        return run_as(shell, cmd_quit, "q", NULL, 0);
    if (is(line, "clear") || is(line, "cls")) return fputs("\033[H\033[2J", stdout) >= 0;
    if (is(line, "show databases")) return run_as(shell, cmd_databases, "l", NULL, 0);
    if (is(line, "tables") || is(line, "ls")) return run_as(shell, cmd_relations, "d", NULL, 0);
    return false;
}

bool shell_plain_word(Shell *shell, const char *text)
{
    Line line = trim(text);
    if (simple_word(shell, line)) return true;
    const char *name = after(line, "describe");
    if (name == NULL) name = after(line, "desc");
    if (name == NULL) return false;
    size_t n = line.len - (size_t)(name - line.text);
    return memchr(name, ' ', n) == NULL && run_as(shell, cmd_describe, "d", name, n);
}

/* ---- hints for statements that failed ------------------------------------------------------ */

/* Statements of other dialects and shells, by how they begin. */
static const char *foreign_statement(const char *sql)
{
    static const struct {
        const char *beginning;
        const char *hint;
    } hints[] = {
        {"describe", "\\d TABLE describes a table, \\d lists them."},
        {"desc", "\\d TABLE describes a table, \\d lists them."},
        {"show databases", "\\l shows the open database, .open NAME opens another."},
        {"show create", ".schema TABLE shows its CREATE statement."},
        {"show columns", "\\d TABLE describes a table."},
        {"use", ".open NAME opens another database."},
        {"pragma", "SET and SHOW change and show settings; .settings lists them."},
        {"source", "\\i FILE runs the statements of a file."},
        {"load data", "COPY table FROM 'file.csv' (FORMAT csv, HEADER) loads a file."},
        {"select top", "LIMIT n at the end of the query keeps the first n rows."},
        {"help", "\\? lists the shell's commands, \\h the syntax of SQL."},
        {"quit", "\\q leaves the shell."},
        {"exit", "\\q leaves the shell."},
    };
    Line line = trim(sql);
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (is(line, hints[i].beginning) || after(line, hints[i].beginning) != NULL) return hints[i].hint;
    return NULL;
}

/* Whether b is a with one character more, less, other, or two neighbours swapped. */
static bool one_slip(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b);
    size_t i = 0;
    while (i < n && i < m && toupper((unsigned char)a[i]) == b[i]) i++;
    if (i == n && i == m) return false; /* no slip at all */
    const char *x = a + i;
    if (n == m + 1) return strncasecmp(x + 1, b + i, m - i) == 0;
    if (n + 1 == m) return strncasecmp(x, b + i + 1, n - i) == 0;
    if (n != m) return false;
    bool swapped = i + 1 < n && toupper((unsigned char)x[0]) == b[i + 1] && toupper((unsigned char)x[1]) == b[i];
    return strncasecmp(x + 1, b + i + 1, n - i - 1) == 0 || (swapped && strncasecmp(x + 2, b + i + 2, n - i - 2) == 0);
}

static const char *misspelt_keyword(const char *word)
{
    static const struct {
        const char *keyword;
        const char *hint;
    } keywords[] = {
        {"SELECT", "Perhaps you meant SELECT."}, {"FROM", "Perhaps you meant FROM."},
        {"WHERE", "Perhaps you meant WHERE."},   {"GROUP", "Perhaps you meant GROUP."},
        {"ORDER", "Perhaps you meant ORDER."},   {"HAVING", "Perhaps you meant HAVING."},
        {"LIMIT", "Perhaps you meant LIMIT."},   {"INSERT", "Perhaps you meant INSERT."},
        {"UPDATE", "Perhaps you meant UPDATE."}, {"DELETE", "Perhaps you meant DELETE."},
        {"CREATE", "Perhaps you meant CREATE."}, {"TABLE", "Perhaps you meant TABLE."},
        {"VALUES", "Perhaps you meant VALUES."}, {"EXPLAIN", "Perhaps you meant EXPLAIN."},
        {"JOIN", "Perhaps you meant JOIN."},
    };
    size_t n = 0;
    while (isalpha((unsigned char)word[n])) n++;
    for (size_t i = 0; n > 2 && i < sizeof keywords / sizeof keywords[0]; i++)
        if (one_slip(word, n, keywords[i].keyword)) return keywords[i].hint;
    return NULL;
}

#define TYPOGRAPHIC_HINT "The text has typographic quotes; SQL wants ' around values and \" around names."

/* U+2018, U+2019, U+201C, U+201D: pasted from a word processor. */
static bool typographic(const char *sql)
{
    for (const char *at = sql; (at = strstr(at, "\xe2\x80")) != NULL; at += 2)
        if (at[2] == '\x98' || at[2] == '\x99' || at[2] == '\x9c' || at[2] == '\x9d') return true;
    return false;
}

static const char *syntax_hint(const char *sql, const char *place)
{
    const char *hint = foreign_statement(sql);
    if (hint != NULL) return hint;
    if (typographic(sql)) return TYPOGRAPHIC_HINT;
    if (*place == '`') return "Names that need quotes take double quotes: \"name\".";
    if (strncasecmp(place, "auto_increment", 14) == 0 || strncasecmp(place, "autoincrement", 13) == 0)
        return "Number rows with generate_series or row ids of your own; columns do not count by themselves.";
    return misspelt_keyword(place);
}

static const char *type_hint(const char *message)
{
    static const struct {
        const char *type;
        const char *hint;
    } types[] = {
        {"\"datetime\"", "The type is called timestamp."},
        {"\"string\"", "The type is called text."},
        {"\"double\"", "The type is called double precision."},
        {"\"tinyint\"", "The smallest is smallint."},
        {"\"int64\"", "The type is called bigint."},
        {"\"int32\"", "The type is called integer."},
        {"\"float64\"", "The type is called double precision."},
        {"\"long\"", "The type is called bigint."},
        {"\"number\"", "The type is called numeric."},
        {"\"nvarchar\"", "The type is called varchar."},
        {"\"clob\"", "The type is called text."},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strstr(message, types[i].type) != NULL) return types[i].hint;
    return NULL;
}

const char *shell_mistake(const char *sql, const tcudb_error *err)
{
    assert(sql != NULL);
    size_t at = err->position > 0 ? text_chars(sql, strlen(sql), (size_t)err->position - 1) : strlen(sql);
    const char *place = sql + at;
    if (strcmp(err->sqlstate, "42601") == 0) return syntax_hint(sql, place);
    if (strcmp(err->sqlstate, "42703") == 0 && *place == '"')
        return "Double quotes are for names; a text value takes single quotes: 'text'.";
    if (strcmp(err->sqlstate, "42703") == 0 && typographic(sql)) return TYPOGRAPHIC_HINT;
    if (strcmp(err->sqlstate, "42883") == 0 && strstr(err->message, " == ") != NULL) return "Equality is written =.";
    if (strcmp(err->sqlstate, "42704") != 0) return NULL;
    const char *hint = foreign_statement(sql);
    return hint != NULL ? hint : type_hint(err->message);
}
