/*
 * commands.c: finds the command of a line, splits its arguments, runs it.
 *
 * Arguments are separated by blanks; '..' and ".." quote; :name, :'name' and :"name" are variables. An
 * argument list ends at the end of the line or, for backslash commands, at the next backslash, as in psql:
 * `\x \dt`. A `+` or `S` at the end of a \d command belongs to its name.
 */
#include "command.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND(name, whole, fn, usage, help) {name, whole, fn, usage, help},
const Command backslash_commands[] = {
#include "command.def"
    {NULL, false, NULL, NULL, NULL}};
const Command dot_commands[] = {
#include "dot.def"
    {NULL, false, NULL, NULL, NULL}};
#undef COMMAND

/* ---- arguments ----------------------------------------------------------------------------- */

static size_t quoted_arg(const char *text, Text *out)
{
    char quote = text[0];
    size_t i = 1;
    for (; text[i] != '\0'; i++) {
        if (text[i] == quote && text[i + 1] == quote)
            i++;
        else if (text[i] == quote)
            return i + 1;
        else if (text[i] == '\\' && quote == '\'' && text[i + 1] == 'n') {
            text_char(out, '\n');
            i++;
            continue;
        } else if (text[i] == '\\' && quote == '\'' && text[i + 1] == 't') {
            text_char(out, '\t');
            i++;
            continue;
        }
        text_char(out, text[i]);
    }
    return i;
}

static size_t variable_arg(const Shell *shell, const char *text, Text *out)
{
    size_t used = strcspn(text, " \t\\");
    var_expand(shell, text, used, out);
    return used;
}

/* One argument; returns the bytes used. */
static size_t next_arg(const Shell *shell, const char *text, bool stop_at_backslash, Text *out)
{
    size_t i = 0;
    while (text[i] != '\0' && !isspace((unsigned char)text[i]) && !(stop_at_backslash && text[i] == '\\')) {
        if (text[i] == '\'' || text[i] == '"')
            i += quoted_arg(text + i, out);
        else if (text[i] == ':')
            i += variable_arg(shell, text + i, out);
        else
            text_char(out, text[i++]);
    }
    return i;
}

static size_t split(const Shell *shell, const char *text, bool stop_at_backslash, Args *args)
{
    size_t i = 0;
    for (;;) {
        while (isspace((unsigned char)text[i])) i++;
        if (text[i] == '\0' || (stop_at_backslash && text[i] == '\\')) return i;
        Text arg = {0};
        i += next_arg(shell, text + i, stop_at_backslash, &arg);
        if (args->n < ARGS_MAX) args->arg[args->n++] = shell_strdup(text_cstr(&arg));
        text_free(&arg);
    }
}

static void free_args(Args *args)
{
    for (int i = 0; i < args->n; i++) free(args->arg[i]);
}

void set_switch(Shell *shell, const Args *args, bool *value)
{
    const char *text = args->n == 0 ? "" : args->arg[0];
    static const char *const on[] = {"on", "true", "yes", "1"};
    static const char *const off[] = {"off", "false", "no", "0"};
    if (text[0] == '\0') {
        *value = !*value;
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, on[i]) == 0) *value = true;
        if (strcmp(text, off[i]) == 0) *value = false;
        if (strcmp(text, on[i]) == 0 || strcmp(text, off[i]) == 0) return;
    }
    shell_complain(shell, "%s: unrecognized value \"%s\": use on or off", args->command, text);
}

/* ---- finding ------------------------------------------------------------------------------- */

static const Command *find(const Command *table, const char *name, size_t len)
{
    for (const Command *command = table; command->name != NULL; command++)
        if (strlen(command->name) == len && memcmp(command->name, name, len) == 0) return command;
    return NULL;
}

static size_t name_length(const char *text)
{
    if (text[0] == '?' || text[0] == '!') return 1;
    size_t n = 0;
    while (isalpha((unsigned char)text[n])) n++;
    return n;
}

/* \dt+ and \dS+ are \dt and \d. */
static const Command *find_backslash(const char *text, size_t n)
{
    const Command *command = find(backslash_commands, text, n);
    while (command == NULL && n > 1 && text[0] == 'd' && text[n - 1] == 'S')
        command = find(backslash_commands, text, --n);
    return command;
}

static size_t run(Shell *shell, const Command *command, const char *text, size_t name, bool backslash)
{
    char *typed = shell_strndup(text, name);
    Args args = {.command = typed, .line = text + name};
    size_t used = name;
    if (command->whole_line) {
        used += strlen(text + name);
        args.line += strspn(args.line, " \t");
    } else {
        used += split(shell, text + name, backslash, &args);
    }
    if (shell->restricted != NULL && strcmp(command->name, "unrestrict") != 0)
        shell_complain(shell, "backslash commands are restricted; only \\unrestrict is allowed");
    else
        command->run(shell, &args);
    free_args(&args);
    free(typed);
    return used;
}

size_t shell_backslash(Shell *shell, const char *text)
{
    size_t n = name_length(text);
    size_t all = strlen(text);
    if (text[0] == '\\') return 1; /* \\ separates a command from SQL */
    if (text[0] == ';') {
        text_char(&shell->buffer, ';');
        return 1;
    }
    const Command *command = find_backslash(text, n);
    if (command == NULL) {
        shell_complain(shell, "invalid command \\%.*s", n == 0 ? 1 : (int)n, text);
        fputs("Try \\? for help.\n", stderr);
        return all;
    }
    while (text[n] == '+') n++;
    size_t used = run(shell, command, text, n, true);
    assert(used <= all);
    return used;
}

/* The nearest dot command: the one with the longest common beginning. */
static const char *nearest(const char *name, size_t len)
{
    const char *best = "help";
    size_t score = 0;
    for (const Command *command = dot_commands; command->name != NULL; command++) {
        size_t n = 0;
        while (n < len && command->name[n] == name[n]) n++;
        if (n > score) {
            score = n;
            best = command->name;
        }
    }
    return best;
}

void shell_dot(Shell *shell, const char *line)
{
    assert(line[0] == '.');
    size_t n = name_length(line + 1);
    const Command *command = find(dot_commands, line + 1, n);
    if (command == NULL) {
        shell_complain(shell, "unknown command .%.*s", (int)n, line + 1);
        fprintf(stderr, "HINT:  Perhaps you meant .%s; .help lists all.\n", nearest(line + 1, n));
        return;
    }
    run(shell, command, line + 1, n, false);
}
