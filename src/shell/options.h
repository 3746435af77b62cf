/*
 * options.h: the command line.
 */
#ifndef SHELL_OPTIONS_H
#define SHELL_OPTIONS_H

#include "shell.h"

/* What -c and -f ask for, in order. */
typedef struct Task {
    bool file;
    const char *text;
} Task;

typedef struct Options {
    const char *database;
    Task *tasks;
    size_t ntasks;
    bool help;
    bool version;
    bool interactive; /* -i: although the input is no terminal */
    const char *output;
} Options;

/* Fills *options and the shell's look; false: a message was printed, exit with EXIT_FATAL. */
bool options_read(Shell *shell, int argc, char **argv, Options *options);
void options_help(FILE *to);

#endif
