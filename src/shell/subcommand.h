/*
 * subcommand.h: programs inside the program: `tcudb demo`. One line in subcommand.def and one file each.
 */
#ifndef SHELL_SUBCOMMAND_H
#define SHELL_SUBCOMMAND_H

/* argv[0] is the subcommand's name; returns the exit status. */
#define SUBCOMMAND(name, fn, help) int fn(int argc, char **argv);
#include "subcommand.def"
#undef SUBCOMMAND

#endif
