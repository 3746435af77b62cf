/*
 * complete.c: what Tab offers: commands after a backslash or a dot at the line's start, file names in quotes and
 * after commands that take files, else tables, columns, functions, settings and keywords.
 *
 * Names are asked of the database each time: a listing costs less than a blink.
 */
#include "command.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { WORDS_MAX = 500 };

static const char *const keywords[] = {
    "ALL",     "ALTER",   "ANALYZE",   "AND",      "AS",       "ASC",       "BEGIN",  "BETWEEN", "BIGINT",  "BOOLEAN",
    "BY",      "CALL",    "CASE",      "CAST",     "COALESCE", "COMMIT",    "COPY",   "CREATE",  "CROSS",   "DATE",
    "DELETE",  "DESC",    "DISTINCT",  "DOUBLE",   "DROP",     "ELSE",      "END",    "EXCEPT",  "EXECUTE", "EXISTS",
    "EXPLAIN", "EXTRACT", "FALSE",     "FILTER",   "FROM",     "FULL",      "GROUP",  "HAVING",  "IN",      "INNER",
    "INSERT",  "INTEGER", "INTERSECT", "INTERVAL", "INTO",     "IS",        "JOIN",   "LEFT",    "LIKE",    "LIMIT",
    "NOT",     "NULL",    "NULLS",     "NUMERIC",  "OFFSET",   "ON",        "OR",     "ORDER",   "OUTER",   "PREPARE",
    "REAL",    "RENAME",  "RESET",     "RIGHT",    "ROLLBACK", "SAVEPOINT", "SELECT", "SET",     "SHOW",    "TABLE",
    "TEXT",    "THEN",    "TIMESTAMP", "TO",       "TRUE",     "TRUNCATE",  "UNION",  "UPDATE",  "USING",   "VALUES",
    "VARCHAR", "VIEW",    "WHEN",      "WHERE",    "WITH"};

typedef struct Words {
    char **list;
    size_t n;
    const char *prefix;
    size_t len;
} Words;

static void add(Words *words, const char *word)
{
    if (words->n >= WORDS_MAX || strncasecmp(word, words->prefix, words->len) != 0) return;
    for (size_t i = 0; i < words->n; i++)
        if (strcmp(words->list[i], word) == 0) return;
    words->list = shell_realloc(words->list, (words->n + 2) * sizeof *words->list);
    words->list[words->n++] = shell_strdup(word);
    words->list[words->n] = NULL;
}

static void add_keyword(Words *words, const char *keyword)
{
    char word[32];
    bool lower = words->len > 0 && islower((unsigned char)words->prefix[0]);
    size_t i = 0;
    for (; keyword[i] != '\0'; i++) word[i] = lower ? (char)tolower((unsigned char)keyword[i]) : keyword[i];
    word[i] = '\0';
    add(words, word);
}

static void add_commands(Words *words, const Command *table, char first)
{
    char word[32];
    for (const Command *command = table; command->name != NULL; command++) {
        snprintf(word, sizeof word, "%c%s", first, command->name);
        if (command->help != NULL) add(words, word);
    }
}

static void add_listing(Words *words, const Shell *shell, tcudb_listing what, uint32_t column)
{
    tcudb_result *result = NULL;
    tcudb_error err;
    char name[256];
    if (tcudb_list(shell->conn, what, NULL, &result, &err) != TCUDB_OK) return;
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        for (uint64_t row = 0; row < chunk->rows; row++)
            if (tcudb_format(chunk, column, row, name, sizeof name) < sizeof name) add(words, name);
    }
    tcudb_result_free(result);
}

/* File names: prefix is a path. */
static void add_files(Words *words)
{
    char folder[1024] = ".";
    char path[2048];
    const char *slash = strrchr(words->prefix, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - words->prefix) + 1;
    if (n >= sizeof folder) return;
    if (n > 0) snprintf(folder, sizeof folder, "%.*s", (int)n, words->prefix);
    DIR *dir = opendir(folder);
    if (dir == NULL) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat info;
        if (entry->d_name[0] == '.') continue;
        int used = snprintf(path, sizeof path, "%.*s%s", (int)n, words->prefix, entry->d_name);
        bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
        if (is_folder && (size_t)used + 1 < sizeof path) memcpy(path + used, "/", 2);
        add(words, path);
    }
    closedir(dir);
}

static bool begins_with(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static bool wants_file(const char *line)
{
    static const char *const commands[] = {"\\i ",   "\\ir ",    "\\o ",   "\\c ",    ".read ",
                                           ".open ", ".output ", ".once ", ".import "};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (begins_with(line, commands[i])) return true;
    return false;
}

static bool in_string(const char *line, size_t at, size_t *start)
{
    bool inside = false;
    for (size_t i = 0; i < at; i++) {
        if (line[i] != '\'') continue;
        inside = !inside;
        *start = i + 1;
    }
    return inside;
}

static void add_sql(Words *words, const Shell *shell, const char *line)
{
    if (begins_with(line, "\\d") || begins_with(line, ".schema") || begins_with(line, ".desc") ||
        begins_with(line, ".tables")) {
        add_listing(words, shell, TCUDB_TABLES, 0);
        return;
    }
    bool setting =
        strncasecmp(line, "set ", 4) == 0 || strncasecmp(line, "show ", 5) == 0 || strncasecmp(line, "reset ", 6) == 0;
    if (setting) add_listing(words, shell, TCUDB_SETTINGS, 0);
    add_listing(words, shell, TCUDB_TABLES, 0);
    if (words->len == 0) return;
    add_listing(words, shell, TCUDB_COLUMNS, 1);
    add_listing(words, shell, TCUDB_FUNCTIONS, 0);
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) add_keyword(words, keywords[i]);
}

static size_t word_start(const char *line, size_t at)
{
    while (at > 0 && (isalnum((unsigned char)line[at - 1]) || line[at - 1] == '_' || (line[at - 1] & 0x80) != 0)) at--;
    return at;
}

char **complete(Shell *shell, const char *line, size_t at, size_t *start)
{
    Words words = {0};
    size_t quote = 0;
    bool string = in_string(line, at, &quote);
    bool command = (line[0] == '\\' || line[0] == '.') && memchr(line, ' ', at) == NULL;
    assert(line[at] == '\0');
    if (command)
        *start = 0;
    else if (string)
        *start = quote;
    else if (wants_file(line))
        *start = (size_t)(strrchr(line, ' ') - line) + 1;
    else
        *start = word_start(line, at);
    words.prefix = line + *start;
    words.len = at - *start;
    if (command)
        add_commands(&words, line[0] == '.' ? dot_commands : backslash_commands, line[0]);
    else if (string || wants_file(line))
        add_files(&words);
    else
        add_sql(&words, shell, line);
    return words.list;
}
