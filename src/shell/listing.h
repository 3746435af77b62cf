/*
 * listing.h: what tcudb_list says, row by row, and queries of the catalogue, for the commands that show a database.
 */
#ifndef SHELL_LISTING_H
#define SHELL_LISTING_H

#include "command.h"

/* Calls fn for every row with its cells as texts; NULLs are "". */
typedef void (*RowFn)(void *ctx, char **cells);
void shell_each_row(const tcudb_result *result, RowFn fn, void *ctx);
/* Patterns are psql's: * and ?, compared without case; NULL: every name. */
bool shell_matches(const char *pattern, const char *name);
const char *shell_pattern(const Args *args);
/* What a query shows, one column without a head. */
void shell_show(Shell *shell, const char *sql);
/* The same, the one @ in it being a name, as a literal. */
void shell_show_lines(Shell *shell, const char *sql, const char *name);
/* What a query shows as INSERT statements into `into`. */
void shell_show_inserts(Shell *shell, const char *sql, const char *into);

#endif
