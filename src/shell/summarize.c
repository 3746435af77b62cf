/*
 * summarize.c: DESCRIBE and SUMMARIZE of a table, a file or a query, as users of other shells type them.
 *
 * Neither is SQL of ours: DESCRIBE shows the columns of SELECT * FROM it, SUMMARIZE writes a query with a row a column
 * (least, greatest, distinct values, mean, deviation, quartiles, NULLs) and runs it. Cost: quartiles sort the column.
 */
#include "command.h"
#include "print.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at)) at++;
    return at;
}

/* What follows a first word, up to the semicolon; NULL: another word. */
static const char *after_word(const char *sql, const char *word)
{
    const char *at = skip_blanks(sql);
    size_t n = strlen(word);
    if (strncasecmp(at, word, n) != 0 || !isspace((unsigned char)at[n])) return NULL;
    at = skip_blanks(at + n);
    return *at == '\0' || *at == ';' ? NULL : at;
}

static bool is_query(const char *text)
{
    static const char *const words[] = {"select", "with", "values", "table"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        if (strncasecmp(text, words[i], n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_') return true;
    }
    return false;
}

/* What stands in FROM: a name, a 'file', or a query in parentheses. */
static void add_source(Text *out, const char *what)
{
    size_t n = strlen(what);
    while (n > 0 && (isspace((unsigned char)what[n - 1]) || what[n - 1] == ';')) n--;
    bool query = is_query(what);
    if (query) text_char(out, '(');
    text_add(out, what, n);
    if (query) text_str(out, ") AS q");
}

/* No rows of it: only its columns are looked at. NULL: an error was shown. */
static tcudb_result *columns_of(Shell *shell, const char *what)
{
    tcudb_error err;
    tcudb_result *result = NULL;
    Text sql = {0};
    text_str(&sql, "SELECT * FROM ");
    add_source(&sql, what);
    text_str(&sql, " LIMIT 0");
    if (tcudb_query(shell->conn, text_cstr(&sql), &result, &err) != TCUDB_OK) shell_error(shell, &err, text_cstr(&sql));
    text_free(&sql);
    return result;
}

static void add_literal(Text *out, const char *text)
{
    text_char(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'') text_char(out, '\'');
        text_char(out, *text);
    }
    text_char(out, '\'');
}

/* As a result of its own, so that it comes in the output mode that is set. */
static bool describe(Shell *shell, const char *what)
{
    tcudb_result *result = columns_of(shell, what);
    if (result == NULL) return false;
    Text sql = {0};
    text_str(&sql, "SELECT * FROM (VALUES ");
    for (uint32_t i = 0; i < tcudb_result_columns(result); i++) {
        const tcudb_column_info *info = tcudb_result_column(result, i);
        text_str(&sql, i == 0 ? "(" : ", (");
        add_literal(&sql, info->name);
        text_str(&sql, ", ");
        add_literal(&sql, info->type_name);
        text_char(&sql, ')');
    }
    text_str(&sql, ") v (column_name, column_type)");
    bool done = tcudb_result_columns(result) == 0 || shell_run(shell, text_cstr(&sql));
    tcudb_result_free(result);
    text_free(&sql);
    return done;
}

/* One row of the summary: SELECT number, name, type, ... FROM s. */
static void add_column(Text *sql, const tcudb_column_info *info, uint32_t number)
{
    Text name = {0};
    bool numeric = type_is_number(info->type), ordered = info->type != TCUDB_TYPE_BOOL;
    text_name(&name, info->name);
    const char *c = text_cstr(&name);
    text_printf(sql, "%sSELECT %u AS n, ", number == 0 ? "" : " UNION ALL ", number);
    add_literal(sql, info->name);
    text_str(sql, " AS column_name, ");
    add_literal(sql, info->type_name);
    text_printf(sql, " AS column_type, min(%s%s)::text AS min, max(%s%s)::text AS max, count(DISTINCT %s) AS distinct",
                c, ordered ? "" : "::text", c, ordered ? "" : "::text", c);
    if (numeric)
        text_printf(sql,
                    ", avg(%s)::double precision AS avg, stddev(%s::double precision) AS std, percentile_cont(0.25) "
                    "WITHIN GROUP (ORDER BY %s) AS q25, percentile_cont(0.5) WITHIN GROUP (ORDER BY %s) AS q50, "
                    "percentile_cont(0.75) WITHIN GROUP (ORDER BY %s) AS q75",
                    c, c, c, c, c);
    else
        text_str(sql,
                 ", NULL::double precision, NULL::double precision, NULL::double precision, NULL::double precision, "
                 "NULL::double precision");
    text_printf(sql, ", count(*) AS count, count(*) - count(%s) AS nulls FROM s", c);
    text_free(&name);
}

static bool summarize(Shell *shell, const char *what)
{
    tcudb_result *result = columns_of(shell, what);
    if (result == NULL) return false;
    Text sql = {0};
    text_str(&sql, "WITH s AS (SELECT * FROM ");
    add_source(&sql, what);
    text_str(&sql,
             ") SELECT column_name, column_type, min, max, \"distinct\", avg, std, q25, q50, q75, count, nulls FROM (");
    for (uint32_t i = 0; i < tcudb_result_columns(result); i++) add_column(&sql, tcudb_result_column(result, i), i);
    text_str(&sql, ") q (n, column_name, column_type, min, max, \"distinct\", avg, std, q25, q50, q75, count, nulls) "
                   "ORDER BY n");
    bool any = tcudb_result_columns(result) > 0;
    tcudb_result_free(result);
    bool done = !any || shell_run(shell, text_cstr(&sql));
    text_free(&sql);
    return done;
}

static bool describe_relation(Shell *shell, const char *what)
{
    char name[256];
    size_t n = strcspn(what, "; \t\r\n");
    const char *rest = skip_blanks(what + n);
    if (*what == '\'' || is_query(what) || n >= sizeof name || (*rest != '\0' && *rest != ';'))
        return describe(shell, what);
    snprintf(name, sizeof name, "%.*s", (int)n, what);
    Args args = {.command = "d", .line = "", .n = 1};
    args.arg[0] = name;
    bool failed = shell->failed;
    shell->failed = false;
    cmd_describe(shell, &args);
    bool done = !shell->failed;
    shell->failed = failed;
    return done;
}

bool shell_own_statement(Shell *shell, const char *sql, bool *done)
{
    const char *what = after_word(sql, "describe");
    if (what == NULL) what = after_word(sql, "desc");
    if (what != NULL) *done = describe_relation(shell, what);
    if (what != NULL) return true;
    what = after_word(sql, "summarize");
    if (what != NULL) *done = summarize(shell, what);
    return what != NULL;
}
