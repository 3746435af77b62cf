/*
 * help.c: \?, .help, \h.
 */
#include "command.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    const char *syntax;
} statements[] = {
    {"ALTER TABLE", "ALTER TABLE [IF EXISTS] name RENAME TO new_name"},
    {"BEGIN", "BEGIN   ... statements ...   COMMIT | ROLLBACK"},
    {"CALL", "CALL procedure(argument, name => value, ...)       \\df lists procedures"},
    {"COPY", "COPY table [(columns)] FROM 'file' | STDIN [(option, ...)]\n"
             "COPY table | (query) TO 'file' | STDOUT [(option, ...)]\n"
             "options: FORMAT csv|text, HEADER, DELIMITER ',', NULL '', QUOTE '\"', ESCAPE '\"'"},
    {"CREATE TABLE",
     "CREATE TABLE [IF NOT EXISTS] name (column type [NOT NULL] [DEFAULT value], ...)\n"
     "CREATE TABLE name AS query\n"
     "types: boolean, smallint, integer, bigint, numeric(p,s), real, double precision, date, timestamp,\n"
     "       text, varchar(n), char(n)"},
    {"CREATE VIEW", "CREATE [OR REPLACE] VIEW name AS query"},
    {"DEALLOCATE", "DEALLOCATE name | ALL"},
    {"DELETE", "DELETE FROM table [WHERE condition]"},
    {"DROP", "DROP TABLE | VIEW [IF EXISTS] name, ... [CASCADE]"},
    {"EXECUTE", "EXECUTE name [(value, ...)]"},
    {"EXPLAIN", "EXPLAIN [(ANALYZE, STAGES, FORMAT JSON)] statement"},
    {"INSERT", "INSERT INTO table [(columns)] VALUES (value, ...), ... | query"},
    {"PREPARE", "PREPARE name [(type, ...)] AS statement     with $1, $2, ... in it"},
    {"SAVEPOINT", "SAVEPOINT name | RELEASE name | ROLLBACK TO name"},
    {"SELECT", "[WITH name AS (query), ...]\n"
               "SELECT [DISTINCT] expression [AS name], ...\n"
               "  FROM table | (query) name | 'file.csv' | function(...), ... [JOIN ... ON condition]\n"
               "  [WHERE condition] [GROUP BY expression, ...] [HAVING condition]\n"
               "  [UNION | INTERSECT | EXCEPT [ALL] query]\n"
               "  [ORDER BY expression [DESC] [NULLS LAST], ...] [LIMIT n] [OFFSET n]"},
    {"SET",
     "SET [LOCAL] setting = value     SHOW setting | ALL     RESET setting | ALL\n"
     "tcudb.engine = auto|cpu|gpu|tcu, tcudb.threads, tcudb.memory_limit, statement_timeout; .settings lists all"},
    {"TRUNCATE", "TRUNCATE table, ..."},
    {"UPDATE", "UPDATE table SET column = value, ... [WHERE condition]"},
};

enum { STATEMENTS = sizeof statements / sizeof statements[0] };

static void print_table(const Command *table, FILE *to)
{
    for (const Command *command = table; command->name != NULL; command++)
        if (command->help != NULL) fprintf(to, "  %-30s %s\n", command->usage, command->help);
}

static size_t count(const Command *table)
{
    size_t n = 0;
    while (table[n].name != NULL) n++;
    return n;
}

void cmd_help(Shell *shell, const Args *args)
{
    assert(args->command != NULL);
    FILE *to = pager_open(shell, count(backslash_commands) + count(dot_commands) + 8);
    bool dot_first = strcmp(args->command, "help") == 0;
    fputs("Statements are SQL, PostgreSQL's dialect, and end in a semicolon; \\h SELECT shows their syntax.\n"
          "A file is a table: SELECT * FROM 'data.csv';\n\n",
          to);
    print_table(dot_first ? dot_commands : backslash_commands, to);
    fputc('\n', to);
    print_table(dot_first ? backslash_commands : dot_commands, to);
    pager_close(shell, to);
}

static bool begins(const char *name, const char *wanted, size_t n)
{
    return strncasecmp(name, wanted, n) == 0;
}

void cmd_sql_help(Shell *shell, const Args *args)
{
    FILE *to = shell->out.file;
    size_t n = strcspn(args->line, ";");
    while (n > 0 && isspace((unsigned char)args->line[n - 1])) n--;
    unsigned found = 0;
    for (int i = 0; i < STATEMENTS && n > 0; i++) {
        if (!begins(statements[i].name, args->line, n)) continue;
        fprintf(to, "%s%s\n", found++ > 0 ? "\n" : "", statements[i].syntax);
    }
    if (found > 0) return;
    if (n > 0) fprintf(to, "No help available for \"%.*s\".\n", (int)n, args->line);
    fputs("Available help:\n", to);
    for (int i = 0; i < STATEMENTS; i++) fprintf(to, "  %s\n", statements[i].name);
}
