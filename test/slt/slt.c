/*
 * slt.c: tcudb_slt FILE...: runs sqllogictest files (plain or gzip) against an in-memory database.
 *
 * One summary line a file, the failing records above it; exit status 0 only if every record of every file
 * passed. Honoured: statement ok|error [SQLSTATE or text], query TYPES [nosort|rowsort|valuesort] [label],
 * skipif/onlyif (we are "postgresql" and "tcudb"), halt, hash-threshold. Values: I truncates to an integer, R is
 * %.3f, T is text; empty text prints (empty), unprintable bytes @; long results are `N values hashing to MD5`.
 * The first failures of a file show what was expected and what came.
 */
#include "tcudb.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SHOWN = 5, LABELS = 4096 };

typedef struct Lines {
    char **at;
    size_t n;
} Lines;

typedef struct Run {
    const char *file;
    tcudb_db *db;
    tcudb_conn *conn;
    Lines lines;
    size_t line;      /* next to read */
    size_t threshold; /* of hashing; 0: never */
    size_t passed, failed, skipped;
    char *labels[LABELS], *hashes[LABELS];
    size_t nlabels;
} Run;

typedef struct Values {
    char **at;
    size_t n, columns;
} Values;

static void *check(void *ptr)
{
    if (ptr == NULL) {
        fprintf(stderr, "tcudb_slt: out of memory\n");
        exit(2);
    }
    return ptr;
}

static bool read_lines(const char *path, Lines *lines)
{
    gzFile file = gzopen(path, "rb");
    if (file == NULL) return false;
    size_t cap = 1 << 16, n = 0;
    char *text = check(malloc(cap));
    int got;
    while ((got = gzread(file, text + n, (unsigned)(cap - n - 1))) > 0) {
        n += (size_t)got;
        if (cap - n - 1 == 0) text = check(realloc(text, cap *= 2));
    }
    gzclose(file);
    text[n] = '\0';
    size_t room = 0;
    for (char *at = text; at != NULL && *at != '\0';) {
        char *end = strchr(at, '\n');
        if (end != NULL) *end = '\0';
        size_t len = strlen(at);
        if (len > 0 && at[len - 1] == '\r') at[len - 1] = '\0';
        if (lines->n == room) lines->at = check(realloc(lines->at, sizeof(char *) * (room = room * 2 + 1024)));
        lines->at[lines->n++] = at;
        at = end == NULL ? NULL : end + 1;
    }
    return got == 0;
}

static void report(Run *run, size_t line, const char *format, const char *detail)
{
    if (run->failed++ >= SHOWN) return;
    printf("%s:%zu: ", run->file, line + 1);
    printf(format, detail);
    putchar('\n');
}

/* The lines up to a blank one or ----, joined. */
static char *read_sql(Run *run)
{
    size_t from = run->line, len = 1;
    while (run->line < run->lines.n && run->lines.at[run->line][0] != '\0' &&
           strcmp(run->lines.at[run->line], "----") != 0)
        len += strlen(run->lines.at[run->line++]) + 1;
    char *sql = check(calloc(1, len));
    for (size_t i = from; i < run->line; i++) {
        strcat(sql, run->lines.at[i]);
        strcat(sql, "\n");
    }
    return sql;
}

static void skip_record(Run *run)
{
    while (run->line < run->lines.n && run->lines.at[run->line][0] != '\0') run->line++;
    run->skipped++;
}

static char *format_value(const tcudb_chunk *chunk, uint32_t column, uint64_t row, char type)
{
    if (tcudb_is_null(chunk, column, row)) return check(strdup("NULL"));
    size_t n = tcudb_format(chunk, column, row, NULL, 0);
    if (n == SIZE_MAX) return check(strdup("(no memory)"));
    char *text = check(malloc(n + 64));
    tcudb_format(chunk, column, row, text, n + 1);
    tcudb_type_id id = chunk->columns[column].info->type;
    if (type == 'I') {
        if (id == TCUDB_TYPE_BOOL) return strcpy(text, text[0] == 't' ? "1" : "0");
        char *point = strpbrk(text, ".eE");
        if (point != NULL) snprintf(text, n + 64, "%lld", (long long)strtod(text, NULL));
    } else if (type == 'R') {
        double value = strtod(text, NULL);
        char *wide = check(malloc(400));
        snprintf(wide, 400, "%.3f", value);
        free(text);
        text = wide;
    } else if (n == 0) {
        strcpy(text, "(empty)");
    } else {
        for (char *c = text; *c != '\0'; c++)
            if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '@';
    }
    return text;
}

static Values read_result(const tcudb_result *result, const char *types)
{
    Values values = {.columns = strlen(types)};
    values.at = check(malloc(sizeof(char *) * (tcudb_result_rows(result) * values.columns + 1)));
    for (uint64_t c = 0; c < tcudb_result_chunks(result); c++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, c);
        for (uint64_t row = 0; row < chunk->rows; row++)
            for (uint32_t column = 0; column < values.columns; column++)
                values.at[values.n++] = format_value(chunk, column, row, types[column]);
    }
    return values;
}

static void free_values(Values *values)
{
    for (size_t i = 0; i < values->n; i++) free(values->at[i]);
    free(values->at);
}

static size_t sort_columns;

static int compare_rows(const void *a, const void *b)
{
    char *const *x = a, *const *y = b;
    for (size_t c = 0; c < sort_columns; c++) {
        int order = strcmp(x[c], y[c]);
        if (order != 0) return order;
    }
    return 0;
}

static void sort_values(Values *values, const char *mode)
{
    sort_columns = strcmp(mode, "rowsort") == 0 ? values->columns : 1;
    if (strcmp(mode, "nosort") == 0 || values->n == 0) return;
    qsort(values->at, values->n / sort_columns, sizeof(char *) * sort_columns, compare_rows);
}

static void hash_values(const Values *values, char out[33])
{
    EVP_MD_CTX *ctx = check(EVP_MD_CTX_new());
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    EVP_DigestInit_ex(ctx, EVP_md5(), NULL);
    for (size_t i = 0; i < values->n; i++) {
        EVP_DigestUpdate(ctx, values->at[i], strlen(values->at[i]));
        EVP_DigestUpdate(ctx, "\n", 1);
    }
    EVP_DigestFinal_ex(ctx, digest, &n);
    EVP_MD_CTX_free(ctx);
    for (unsigned int i = 0; i < 16; i++) snprintf(out + (size_t)i * 2, 3, "%02x", digest[i]);
}

/* Compares with the lines after ----; an expected row may be written on one line, values apart by spaces. */
static bool matches(const Run *run, size_t from, size_t n, const Values *values, const char *hash)
{
    char line[80];
    snprintf(line, sizeof line, "%zu values hashing to %s", values->n, hash);
    if (n == 1 && strstr(run->lines.at[from], " values hashing to ") != NULL)
        return strcmp(run->lines.at[from], line) == 0;
    if (n == values->n) {
        for (size_t i = 0; i < n; i++)
            if (strcmp(run->lines.at[from + i], values->at[i]) != 0) return false;
        return true;
    }
    if (values->columns == 0 || n * values->columns != values->n) return false;
    for (size_t i = 0; i < n; i++) {
        const char *at = run->lines.at[from + i];
        for (size_t c = 0; c < values->columns; c++) {
            const char *value = values->at[i * values->columns + c];
            size_t len = strlen(value);
            if (strncmp(at, value, len) != 0) return false;
            at += len;
            while (*at == ' ' || *at == '\t') at++;
        }
        if (*at != '\0') return false;
    }
    return true;
}

/* Queries with one label must give one result. */
static bool label_agrees(Run *run, const char *label, const char *hash)
{
    for (size_t i = 0; i < run->nlabels; i++)
        if (strcmp(run->labels[i], label) == 0) return strcmp(run->hashes[i], hash) == 0;
    if (run->nlabels < LABELS) {
        run->labels[run->nlabels] = check(strdup(label));
        run->hashes[run->nlabels++] = check(strdup(hash));
    }
    return true;
}

static void show_difference(const Run *run, size_t from, size_t n, const Values *values, const char *sql)
{
    if (run->failed > SHOWN) return;
    printf("    %s", sql);
    for (size_t i = 0; i < n && i < 10; i++) printf("    expected: %s\n", run->lines.at[from + i]);
    for (size_t i = 0; i < values->n && i < 10; i++) printf("    got:      %s\n", values->at[i]);
}

static void check_query(Run *run, size_t record, const char *sql, const char *types, const char *mode,
                        const char *label)
{
    tcudb_error err;
    tcudb_result *result = NULL;
    size_t from = run->line, n = 0;
    if (from < run->lines.n && strcmp(run->lines.at[from], "----") == 0) from = ++run->line;
    while (run->line < run->lines.n && run->lines.at[run->line][0] != '\0') {
        run->line++;
        n++;
    }
    if (tcudb_query(run->conn, sql, &result, &err) != TCUDB_OK) {
        report(run, record, "query failed: %s", err.message);
        if (run->failed <= SHOWN) printf("    %s", sql);
        return;
    }
    if (tcudb_result_columns(result) != strlen(types)) {
        report(run, record, "wrong number of columns: expected %s", types);
    } else {
        Values values = read_result(result, types);
        char hash[33];
        sort_values(&values, mode);
        hash_values(&values, hash);
        if (!matches(run, from, n, &values, hash)) {
            report(run, record, "wrong result%s", "");
            show_difference(run, from, n, &values, sql);
        } else if (label[0] != '\0' && !label_agrees(run, label, hash)) {
            report(run, record, "result differs from the other queries with label %s", label);
        } else {
            run->passed++;
        }
        free_values(&values);
    }
    tcudb_result_free(result);
}

static void check_statement(Run *run, size_t record, const char *sql, const char *wanted, const char *error)
{
    tcudb_error err;
    tcudb_status status = tcudb_query(run->conn, sql, NULL, &err);
    bool should_fail = strcmp(wanted, "error") == 0;
    if (status == TCUDB_OK && should_fail)
        report(run, record, "should have failed: %s", sql);
    else if (status != TCUDB_OK && !should_fail)
        report(run, record, "statement failed: %s", err.message);
    else if (should_fail && error[0] != '\0' && strcmp(err.sqlstate, error) != 0 && strstr(err.message, error) == NULL)
        report(run, record, "failed otherwise: %s", err.message);
    else
        run->passed++;
}

static bool is_us(const char *name)
{
    return strcmp(name, "postgresql") == 0 || strcmp(name, "tcudb") == 0;
}

static void run_record(Run *run, size_t record)
{
    char kind[32] = "", a[512] = "", b[64] = "", c[64] = "";
    const char *line = run->lines.at[run->line++];
    sscanf(line, "%31s %511s %63s %63s", kind, a, b, c);
    if (strcmp(kind, "hash-threshold") == 0) {
        run->threshold = strtoul(a, NULL, 10);
    } else if (strcmp(kind, "halt") == 0) {
        run->line = run->lines.n;
    } else if (strcmp(kind, "statement") == 0) {
        char *sql = read_sql(run);
        const char *error = strstr(line, "error");
        error = error == NULL ? "" : error + strlen("error");
        while (*error == ' ') error++;
        check_statement(run, record, sql, a, error);
        free(sql);
    } else if (strcmp(kind, "query") == 0) {
        char *sql = read_sql(run);
        check_query(run, record, sql, a, b[0] == '\0' ? "nosort" : b, c);
        free(sql);
    } else {
        report(run, record, "unknown record: %s", line);
        skip_record(run);
    }
}

static void run_records(Run *run)
{
    bool skip = false;
    while (run->line < run->lines.n) {
        const char *line = run->lines.at[run->line];
        char kind[32] = "", name[64] = "";
        sscanf(line, "%31s %63s", kind, name);
        bool skipif = strcmp(kind, "skipif") == 0, onlyif = strcmp(kind, "onlyif") == 0;
        if (line[0] == '\0' || line[0] == '#') {
            run->line++;
        } else if (skipif || onlyif) {
            skip |= skipif ? is_us(name) : !is_us(name);
            run->line++;
        } else if (skip) {
            skip_record(run);
            skip = false;
        } else {
            run_record(run, run->line);
        }
    }
}

static bool run_file(const char *path)
{
    Run run = {.file = path};
    tcudb_error err;
    if (!read_lines(path, &run.lines)) {
        printf("%s: cannot be read\n", path);
        return false;
    }
    if (tcudb_open(NULL, NULL, &run.db, &err) != TCUDB_OK || tcudb_connect(run.db, &run.conn, &err) != TCUDB_OK) {
        printf("%s: %s\n", path, err.message);
        return false;
    }
    run_records(&run);
    tcudb_disconnect(run.conn);
    tcudb_close(run.db);
    printf("%s: %zu passed, %zu failed, %zu skipped\n", path, run.passed, run.failed, run.skipped);
    for (size_t i = 0; i < run.nlabels; i++) {
        free(run.labels[i]);
        free(run.hashes[i]);
    }
    if (run.lines.n > 0) free(run.lines.at[0]);
    free(run.lines.at);
    return run.failed == 0 && run.passed > 0;
}

int main(int argc, char **argv)
{
    bool ok = argc > 1;
    if (!ok) fprintf(stderr, "usage: tcudb_slt FILE...\n");
    for (int i = 1; i < argc; i++) ok &= run_file(argv[i]);
    return ok ? 0 : 1;
}
