/*
 * hints.c: what to tell beginners whose statement failed: statements, functions, types and habits of other dialects.
 *
 * A hint is looked for by SQLSTATE, and by the text at the place of the error; of several the most particular is given.
 */
#include "command.h"
#include "width.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *skip(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    return text;
}

/* Whether a text begins with these words, as a whole. */
static bool begins(const char *text, const char *words)
{
    size_t n = strlen(words);
    text = skip(text);
    return strncasecmp(text, words, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

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
        {"attach", ".open NAME opens another database; one is open at a time."},
        {"export", ".dump writes the database as SQL, COPY table TO 'file' one table."},
        {"import", ".import FILE TABLE loads a file."},
        {"insert overwrite", "TRUNCATE t; INSERT INTO t ... replaces a table's rows."},
        {"replace", "INSERT ... ON CONFLICT (key) DO UPDATE SET ... replaces rows."},
        {"insert or replace", "INSERT ... ON CONFLICT (key) DO UPDATE SET ... replaces rows."},
        {"insert or ignore", "INSERT ... ON CONFLICT DO NOTHING leaves such rows out."},
        {"insert ignore", "INSERT ... ON CONFLICT DO NOTHING leaves such rows out."},
        {"from", "A query begins with SELECT: SELECT * FROM table."},
        {"pivot", "sum(x) FILTER (WHERE key = 1) makes a column of one key."},
        {"pragma", "SET and SHOW change and show settings; .settings lists them."},
        {"source", "\\i FILE runs the statements of a file."},
        {"load data", "COPY table FROM 'file.csv' (FORMAT csv, HEADER) loads a file."},
        {"select top", "LIMIT n at the end of the query keeps the first n rows."},
        {"help", "\\? lists the shell's commands, \\h the syntax of SQL."},
        {"quit", "\\q leaves the shell."},
        {"exit", "\\q leaves the shell."},
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (begins(sql, hints[i].beginning)) return hints[i].hint;
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

/* Words that PostgreSQL reserves and that people like to call their columns. */
static const char *reserved_word(const char *place)
{
    static const struct {
        const char *word;
        const char *hint;
    } words[] = {
#define RESERVED(word) {word, word " is a reserved word; as a name it is written in double quotes: \"" word "\"."}
        RESERVED("order"),   RESERVED("user"),  RESERVED("group"),   RESERVED("table"),      RESERVED("end"),
        RESERVED("column"),  RESERVED("check"), RESERVED("default"), RESERVED("limit"),      RESERVED("offset"),
        RESERVED("desc"),    RESERVED("asc"),   RESERVED("primary"), RESERVED("references"), RESERVED("when"),
        RESERVED("analyze"), RESERVED("all"),   RESERVED("to"),      RESERVED("grant"),      RESERVED("window"),
#undef RESERVED
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (begins(place, words[i].word)) return words[i].hint;
    return NULL;
}

/* The word before the place; "" if there is none. */
static const char *word_before(const char *sql, const char *place)
{
    while (place > sql && isspace((unsigned char)place[-1])) place--;
    while (place > sql && (isalnum((unsigned char)place[-1]) || place[-1] == '_')) place--;
    return place;
}

static char char_before(const char *sql, const char *place)
{
    while (place > sql && isspace((unsigned char)place[-1])) place--;
    return place > sql ? place[-1] : '\0';
}

static const char *clause_hint(const char *sql, const char *place)
{
    if (begins(sql, "delete") && begins(word_before(sql, place), "delete"))
        return "Rows are deleted with DELETE FROM table.";
    if (begins(sql, "insert") && begins(word_before(sql, place), "insert"))
        return "Rows are added with INSERT INTO table.";
    if (strstr(place, "qualify") != NULL || begins(word_before(sql, place), "qualify"))
        return "Filter on a window function around the query: SELECT * FROM (SELECT ...) q WHERE ....";
    if (*place == '\0' && begins(word_before(sql, place), "all")) return "GROUP BY lists its columns: GROUP BY a, b.";
    if (begins(place, "exclude")) return "SELECT lists the columns that are wanted.";
    if (begins(sql, "create table") && begins(place, "from"))
        return "CREATE TABLE t AS SELECT * FROM 'data.csv' makes a table of a file.";
    if (begins(sql, "insert") && begins(place, "from"))
        return "INSERT INTO t SELECT * FROM 'data.csv' adds the rows of a file.";
    if (char_before(sql, place) == ',' && (begins(place, "from") || *place == ')'))
        return "There is a comma too many before it.";
    return NULL;
}

static const char *syntax_hint(const char *sql, const char *place, const char *message)
{
    const char *hint = foreign_statement(sql);
    if (hint != NULL) return hint;
    if (typographic(sql)) return TYPOGRAPHIC_HINT;
    if (strncmp(message, "unterminated quoted string", 26) == 0)
        return "A quote inside a text is written twice: 'it''s'.";
    if (strchr(sql, '`') != NULL) return "Names that need quotes take double quotes: \"name\".";
    if (strncasecmp(place, "auto_increment", 14) == 0 || strncasecmp(place, "autoincrement", 13) == 0)
        return "Number rows with generate_series or row ids of your own; columns do not count by themselves.";
    hint = clause_hint(sql, place);
    if (hint == NULL) hint = misspelt_keyword(place);
    if (hint == NULL) hint = misspelt_keyword(word_before(sql, place));
    return hint != NULL ? hint : reserved_word(place);
}

/* Functions of other dialects: what stands for them here. */
static const char *function_hint(const char *message)
{
    static const struct {
        const char *name;
        const char *hint;
    } functions[] = {
        {"ifnull", "coalesce(a, b) gives b where a is NULL."},
        {"isnull", "coalesce(a, b) gives b where a is NULL."},
        {"nvl", "coalesce(a, b) gives b where a is NULL."},
        {"iif", "CASE WHEN condition THEN a ELSE b END chooses."},
        {"if", "CASE WHEN condition THEN a ELSE b END chooses."},
        {"len", "length(text) counts characters."},
        {"year", "extract(year FROM date) gives a part of a date."},
        {"month", "extract(month FROM date) gives a part of a date."},
        {"day", "extract(day FROM date) gives a part of a date."},
        {"hour", "extract(hour FROM timestamp) gives a part of a time."},
        {"dayofweek", "extract(dow FROM date) gives 0 for Sunday to 6."},
        {"weekday", "extract(isodow FROM date) gives 1 for Monday to 7."},
        {"datediff", "The difference of two dates is a number of days: date '2024-03-01' - date '2024-02-01'."},
        {"date_diff", "The difference of two dates is a number of days: date '2024-03-01' - date '2024-02-01'."},
        {"dateadd", "Intervals are added: date + interval '1 month'."},
        {"date_add", "Intervals are added: date + interval '1 month'."},
        {"strftime", "to_char(date, 'YYYY-MM') prints a date."},
        {"date_format", "to_char(date, 'YYYY-MM') prints a date."},
        {"strptime", "to_date(text, 'DD.MM.YYYY') reads a date."},
        {"getdate", "now() is the time, current_date the day."},
        {"sysdate", "now() is the time, current_date the day."},
        {"group_concat", "string_agg(text, ',' ORDER BY text) joins texts."},
        {"listagg", "string_agg(text, ',' ORDER BY text) joins texts."},
        {"instr", "strpos(text, part) finds a part."},
        {"charindex", "strpos(text, part) finds a part."},
        {"rand", "random() is between 0 and 1."},
        {"median", "percentile_cont(0.5) WITHIN GROUP (ORDER BY x) is the median."},
        {"quantile", "percentile_cont(0.9) WITHIN GROUP (ORDER BY x) is a quantile."},
        {"quantile_cont", "percentile_cont(0.9) WITHIN GROUP (ORDER BY x) is a quantile."},
        {"approx_count_distinct", "count(DISTINCT x) counts exactly."},
        {"str_split", "split_part(text, ',', 1) takes one part."},
        {"string_split", "split_part(text, ',', 1) takes one part."},
        {"regexp_extract", "substring(text FROM 'pattern') extracts the first match."},
        {"try_cast", "There is no TRY_CAST; read_csv(..., nullstr => 'text') reads what cannot be read as NULL."},
        {"countif", "count(*) FILTER (WHERE condition) counts rows."},
        {"sumif", "sum(x) FILTER (WHERE condition) adds up rows."},
        {"duckdb_tables", "\\d lists the tables."},
    };
    static const char before[] = "function ";
    if (strncmp(message, before, sizeof before - 1) != 0) return NULL;
    const char *name = message + sizeof before - 1;
    size_t n = strcspn(name, "(");
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strlen(functions[i].name) == n && strncmp(functions[i].name, name, n) == 0) return functions[i].hint;
    return NULL;
}

#define FILE_QUOTES_HINT "A file's name takes single quotes: FROM 'data.csv'."

/* Whether the word at a place is a file's name: data.csv. */
static bool names_file(const char *place)
{
    size_t n = 0;
    char word[256];
    while (isalnum((unsigned char)place[n]) || strchr("_-./", place[n]) != NULL) {
        if (place[n] == '\0' || n + 1 == sizeof word) break;
        word[n] = place[n];
        n++;
    }
    word[n] = '\0';
    return file_kind(word) == FILE_DATA;
}

/* FROM data.csv, without quotes or with those of names. */
static const char *relation_hint(const char *sql, const char *place, const tcudb_error *err)
{
    const char *message = err->message;
    if (names_file(place)) return FILE_QUOTES_HINT;
    if (begins(sql, "copy") && strcasestr(sql, " from ") != NULL && strstr(err->hint, "Perhaps") == NULL)
        return "CREATE TABLE t AS SELECT * FROM 'data.csv' makes the table of the file, rows and all.";
    static const char *const endings[] = {".csv\"", ".tsv\"", ".txt\"", ".csv.gz\"", ".tbl\""};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (strstr(message, endings[i]) != NULL) return FILE_QUOTES_HINT;
    return strstr(message, "\"sqlite_master\"") != NULL ? "\\d lists the tables, .schema shows their definitions."
                                                        : NULL;
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

/* Files that are not there, or not what they were taken for. */
static const char *file_hint(const tcudb_error *err)
{
    bool relative = strncmp(err->message, "could not open file \"", 21) == 0 && err->message[21] != '/';
    relative |= strncmp(err->message, "no file matches \"", 17) == 0 && err->message[17] != '/';
    if (strcmp(err->sqlstate, "58P01") == 0 && relative)
        return "The name is looked for in the folder that tcudb was started in; \\! pwd shows it, \\cd changes it.";
    if (strcmp(err->sqlstate, "42809") == 0 && strstr(err->message, "\" is a directory") != NULL)
        return "Name a file in it, or several: 'folder/*.csv'.";
    return NULL;
}

/* Fields that another delimiter separates: the row that an error shows has it, and the statement names none. */
static const char *delimiter_hint(const char *sql, const char *detail)
{
    const char *row = strchr(detail, '"');
    if (row == NULL || strcasestr(sql, "delimiter") != NULL) return NULL;
    if (strchr(row, ';') != NULL) return "Fields separated by ; take the option DELIMITER ';'.";
    if (strchr(row, '|') != NULL) return "Fields separated by | take the option DELIMITER '|'.";
    return strchr(row, '\t') != NULL ? "Fields separated by tabs take the option DELIMITER E'\\t'." : NULL;
}

static const char *copy_hint(const char *sql, const tcudb_error *err)
{
    if (strcmp(err->sqlstate, "22021") == 0 && strstr(err->message, "0x00") != NULL)
        return "UTF-16 takes the option ENCODING 'utf-16'; a spreadsheet or Parquet file must be exported as CSV.";
    if (strcmp(err->sqlstate, "22021") == 0)
        return "Text that is not UTF-8 takes the option ENCODING 'latin-1', or its own.";
    bool csv = strcasestr(sql, "csv)") != NULL || strcasestr(sql, "csv,") != NULL || strcasestr(sql, " csv ") != NULL;
    if (!csv && strchr(err->message, ',') == NULL && strchr(strchr(err->detail, ':') ?: "", ',') == NULL) return NULL;
    if (!csv) return "COPY t FROM 'file' (FORMAT csv, HEADER) reads comma-separated text with a header line.";
    if (strstr(err->detail, ", line 1") != NULL && strcasestr(sql, "header") == NULL)
        return "If the first line holds the columns' names, add HEADER: COPY t FROM 'file' (FORMAT csv, HEADER).";
    return delimiter_hint(sql, err->detail);
}

const char *shell_mistake(const char *sql, const tcudb_error *err)
{
    assert(sql != NULL);
    size_t at = err->position > 0 ? text_chars(sql, strlen(sql), (size_t)err->position - 1) : strlen(sql);
    const char *place = sql + at;
    if (strcmp(err->sqlstate, "42601") == 0 && strstr(err->message, "LIMIT #,#") != NULL)
        return "Use separate LIMIT and OFFSET clauses.";
    if (strcmp(err->sqlstate, "42601") == 0) return syntax_hint(sql, place, err->message);
    if (strcmp(err->sqlstate, "42703") == 0 && *place == '"')
        return "Double quotes are for names; a text value takes single quotes: 'text'.";
    if (strcmp(err->sqlstate, "42703") == 0 && typographic(sql)) return TYPOGRAPHIC_HINT;
    if (strcmp(err->sqlstate, "42883") == 0 && strstr(err->message, " == ") != NULL) return "Equality is written =.";
    if (strcmp(err->sqlstate, "42883") == 0 && strstr(err->message, "text + ") != NULL)
        return "Texts are joined by ||.";
    if (strcmp(err->sqlstate, "42883") == 0) return function_hint(err->message);
    if (strcmp(err->sqlstate, "42P01") == 0) return relation_hint(sql, place, err);
    if (strncmp(err->detail, "COPY ", 5) == 0) return copy_hint(sql, err);
    if (strcmp(err->sqlstate, "42704") != 0) return file_hint(err);
    const char *hint = foreign_statement(sql);
    return hint != NULL ? hint : type_hint(err->message);
}
