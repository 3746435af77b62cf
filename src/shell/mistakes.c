/*
 * mistakes.c: what beginners type at the prompt, where no statement has begun: words of other shells.
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
