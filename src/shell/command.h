/*
 * command.h: the shell's own commands. A backslash command is one line in command.def, a dot command one line in
 * dot.def; both name a function of cmd_*.c.
 */
#ifndef SHELL_COMMAND_H
#define SHELL_COMMAND_H

#include "shell.h"

enum { ARGS_MAX = 16 };

typedef struct Args {
    const char *command; /* as typed: "dt+" */
    int n;
    char *arg[ARGS_MAX]; /* unquoted, variables replaced */
    const char *line;    /* everything after the command's name, as typed */
} Args;

typedef void (*CommandFn)(Shell *shell, const Args *args);

typedef struct Command {
    const char *name;
    bool whole_line; /* takes the rest of the line: further backslashes are its own */
    CommandFn run;
    const char *usage;
    const char *help; /* NULL: not shown by \? */
} Command;

/* Tables end in a NULL name. */
extern const Command backslash_commands[];
extern const Command dot_commands[];

/* "on", "off", "" (toggle) into *value; complains about others. */
void set_switch(Shell *shell, const Args *args, bool *value);

#define COMMAND(name, whole, fn, usage, help) void fn(Shell *shell, const Args *args);
#include "command.def"
#include "dot.def"
#undef COMMAND

/* A little table of texts that the shell makes up: \d, \l. Printed in the mode in force if that is box or aligned. */
typedef struct Grid Grid;
Grid *grid_new(Shell *shell, const char *title, const char *const *names, unsigned n);
void grid_add(Grid *grid, const char *const *cells); /* NULL cells are shown as "" */
void grid_print(Grid *grid);                         /* and frees */
void grid_drop(Grid *grid);

#endif
