/*
 * cmd_dump.c: .schema and .dump: a database as the SQL that makes it.
 *
 * In passes over its relations, so that what a statement needs stands before it: sequences, tables with their rows,
 * indexes and what belongs to columns, how far sequences are, foreign keys once all tables are there, views, comments.
 * A view stands behind those whose names are in its text. All of it is read in one transaction.
 *
 * Limits: an index of an expression is left out (it does nothing here), and comments on the schema and the
 * database.
 */
#include "listing.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Dump {
    Shell *shell;
    const char *pattern;
    bool rows; /* .dump: INSERT statements and the state of sequences, too */
    const struct Pass *pass;
    unsigned found;
    Text reserved;      /* names that look plain but are words of SQL, a line each */
    struct View *views; /* gathered, to be written in order */
    size_t nviews;
} Dump;

typedef void (*PassFn)(Dump *dump, char **cells);

typedef struct Pass {
    const char *kind;  /* of relations */
    bool rows;         /* with rows only */
    PassFn fn;         /* or NULL, and */
    const char *query; /* whose rows are statements; @: the relation's name */
} Pass;

/* ---- names ------------------------------------------------------------------------------------------ */

static void gather_reserved(void *ctx, char **cells)
{
    text_printf(ctx, "\n%s\n", cells[0]);
}

static void find_reserved(Dump *dump)
{
    tcudb_result *result = NULL;
    if (tcudb_query(
            dump->shell->conn,
            "SELECT name FROM (SELECT relname FROM pg_class UNION SELECT attname FROM pg_attribute) AS n (name) "
            "WHERE quote_ident(name) <> name AND name ~ '^[a-z_][a-z0-9_]*$'",
            &result, &dump->shell->error) != TCUDB_OK)
        dump->shell->failed = true;
    else
        shell_each_row(result, gather_reserved, &dump->reserved);
    tcudb_result_free(result);
}

static void put_name(const Dump *dump, Text *out, const char *name)
{
    Text line = {0};
    text_printf(&line, "\n%s\n", name);
    if (strstr(text_cstr(&dump->reserved), text_cstr(&line)) != NULL)
        text_printf(out, "\"%s\"", name);
    else
        text_name(out, name);
    text_free(&line);
}

/* ---- tables ----------------------------------------------------------------------------------------- */

typedef struct Columns {
    const Dump *dump;
    Text text;
    bool given;   /* only names of columns that take values */
    bool special; /* some column takes none without more ado */
} Columns;

/* An identity or generated column says so where others have their default. */
static bool is_generated(const char *initial)
{
    return strncmp(initial, "generated ", strlen("generated ")) == 0;
}

static void define_column(void *ctx, char **cells)
{
    Columns *columns = ctx;
    Text *out = &columns->text;
    text_str(out, text_blank(out) ? "\n    " : ",\n    ");
    put_name(columns->dump, out, cells[1]);
    text_printf(out, " %s", cells[2]);
    if (cells[4][0] != '\0') text_printf(out, "%s %s", is_generated(cells[4]) ? "" : " DEFAULT", cells[4]);
    if (cells[3][0] == 'f') text_str(out, " NOT NULL");
}

static void name_column(void *ctx, char **cells)
{
    Columns *columns = ctx;
    bool special = is_generated(cells[4]), stored = special && strstr(cells[4], " identity") == NULL;
    columns->special |= special;
    if (stored && columns->given) return;
    if (!text_blank(&columns->text)) text_str(&columns->text, ", ");
    put_name(columns->dump, &columns->text, cells[1]);
}

static Columns columns_of(Dump *dump, const char *table, RowFn fn, bool given)
{
    Columns columns = {.dump = dump, .given = given};
    tcudb_result *result = shell_list(dump->shell, TCUDB_COLUMNS, table);
    if (result != NULL) shell_each_row(result, fn, &columns);
    if (result == NULL) dump->shell->failed = true;
    tcudb_result_free(result);
    return columns;
}

static void dump_rows(Dump *dump, const char *table)
{
    Text into = {0}, sql = {0};
    Columns columns = columns_of(dump, table, name_column, true);
    put_name(dump, &into, table);
    text_printf(&sql, "SELECT %s FROM %s", columns.special ? text_cstr(&columns.text) : "*", text_cstr(&into));
    if (columns.special) text_printf(&into, " (%s) OVERRIDING SYSTEM VALUE", text_cstr(&columns.text));
    shell_show_inserts(dump->shell, text_cstr(&sql), text_cstr(&into));
    text_free(&into);
    text_free(&sql);
    text_free(&columns.text);
}

static void dump_table(Dump *dump, char **cells)
{
    Text out = {0};
    Columns columns = columns_of(dump, cells[0], define_column, false);
    text_str(&out, "CREATE TABLE ");
    put_name(dump, &out, cells[0]);
    text_printf(&out, " (%s", text_cstr(&columns.text));
    if (cells[4][0] != '\0') text_printf(&out, "%s\n    %s", text_blank(&columns.text) ? "" : ",", cells[4]);
    text_str(&out, "\n);\n");
    fputs(text_cstr(&out), dump->shell->out.file);
    text_free(&out);
    text_free(&columns.text);
    if (dump->rows) dump_rows(dump, cells[0]);
}

/* ---- sequences -------------------------------------------------------------------------------------- */

/* That of an identity column comes with its table. */
static void dump_sequence(Dump *dump, char **cells)
{
    if (cells[4][0] != '\0') fprintf(dump->shell->out.file, "%s;\n", cells[4]);
}

static void dump_state(Dump *dump, char **cells)
{
    Text sql = {0};
    text_str(&sql, "SELECT format('SELECT setval(%L, %s, %L);', quote_ident(@), last_value, is_called) FROM ");
    put_name(dump, &sql, cells[0]);
    shell_show_lines(dump->shell, text_cstr(&sql), cells[0]);
    text_free(&sql);
}

/* ---- views ------------------------------------------------------------------------------------------ */

typedef struct View {
    char *name, *sql;
    bool written;
} View;

static void gather_view(Dump *dump, char **cells)
{
    dump->views = shell_realloc(dump->views, (dump->nviews + 1) * sizeof *dump->views);
    dump->views[dump->nviews++] = (View){shell_strdup(cells[0]), shell_strdup(cells[4]), false};
}

/* Whether the name stands in the text as a word. */
static bool mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        bool before = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool after = isalnum((unsigned char)at[n]) || at[n] == '_';
        if (!before && !after) return true;
    }
    return false;
}

static void write_view(Dump *dump, View *view)
{
    Text out = {0};
    Columns columns = columns_of(dump, view->name, name_column, false);
    text_str(&out, "CREATE VIEW ");
    put_name(dump, &out, view->name);
    if (!text_blank(&columns.text)) text_printf(&out, " (%s)", text_cstr(&columns.text));
    text_printf(&out, " AS %s%s;\n", view->sql, strstr(view->sql, "--") != NULL ? "\n" : ""); /* a remark at its end */
    fputs(text_cstr(&out), dump->shell->out.file);
    text_free(&out);
    text_free(&columns.text);
    view->written = true;
}

static bool is_ready(const Dump *dump, size_t v)
{
    for (size_t i = 0; i < dump->nviews; i++)
        if (i != v && !dump->views[i].written && mentions(dump->views[v].sql, dump->views[i].name)) return false;
    return true;
}

/* The next that mentions none that is to come; where each does (a name may be a column's), the first. */
static void write_views(Dump *dump)
{
    for (size_t left = dump->nviews; left > 0; left--) {
        View *next = NULL;
        for (size_t v = 0; v < dump->nviews; v++) {
            if (dump->views[v].written) continue;
            if (next == NULL) next = &dump->views[v];
            if (!is_ready(dump, v)) continue;
            next = &dump->views[v];
            break;
        }
        assert(next != NULL);
        write_view(dump, next);
    }
    for (size_t v = 0; v < dump->nviews; v++) {
        free(dump->views[v].name);
        free(dump->views[v].sql);
    }
    free(dump->views);
    dump->views = NULL;
    dump->nviews = 0;
}

/* ---- passes ----------------------------------------------------------------------------------------- */

#define COMMENTS                                                                                                       \
    "SELECT format('COMMENT ON %s %s IS %L;', CASE WHEN objsubid > 0 THEN 'COLUMN' WHEN relkind = 'v' THEN 'VIEW' "    \
    "WHEN relkind = 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, quote_ident(relname) || coalesce('.' || quote_ident("        \
    "attname), ''), description) FROM pg_description AS d JOIN pg_class AS c ON c.oid = d.objoid LEFT JOIN "           \
    "pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.objsubid WHERE relname = @ ORDER BY objsubid"

static const Pass passes[] = {
    {"sequence", false, dump_sequence, NULL},
    {"table", false, dump_table, NULL},
    {"table", false, NULL,
     "SELECT pg_get_indexdef(i.indexrelid) || ';' FROM pg_index AS i JOIN pg_class AS t ON t.oid = i.indrelid WHERE "
     "t.relname = @ AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conindid = i.indexrelid AND k.contype <> "
     "'f') AND pg_get_indexdef(i.indexrelid) IS NOT NULL ORDER BY i.indexrelid"},
    {"table", false, NULL,
     "SELECT format('ALTER SEQUENCE %s OWNED BY %I.%I;', pg_get_serial_sequence(relname, attname), relname, attname) "
     "FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid WHERE relname = @ AND attidentity = '' AND "
     "pg_get_serial_sequence(relname, attname) IS NOT NULL ORDER BY attnum"},
    {"sequence", true, dump_state, NULL},
    {"table", false, NULL,
     "SELECT 'ALTER TABLE ' || quote_ident(relname) || ' ADD CONSTRAINT ' || quote_ident(conname) || ' ' || "
     "pg_get_constraintdef(c.oid) || ';' FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid WHERE "
     "contype "
     "= 'f' AND relname = @ ORDER BY c.oid"},
    {"view", false, gather_view, NULL},
    {"sequence", false, NULL, COMMENTS},
    {"table", false, NULL, COMMENTS},
    {"table", false, NULL,
     "SELECT format('COMMENT ON CONSTRAINT %I ON %I IS %L;', conname, relname, description) FROM pg_description AS d "
     "JOIN pg_constraint AS c ON c.oid = d.objoid JOIN pg_class AS t ON t.oid = c.conrelid WHERE relname = @ ORDER BY "
     "conname"},
    {"view", false, NULL, COMMENTS},
};

static void pass_row(void *ctx, char **cells)
{
    Dump *dump = ctx;
    if (!shell_matches(dump->pattern, cells[0]) || strcmp(dump->pass->kind, cells[1]) != 0) return;
    dump->found++;
    if (dump->pass->fn != NULL)
        dump->pass->fn(dump, cells);
    else
        shell_show_lines(dump->shell, dump->pass->query, cells[0]);
}

static void run_passes(Dump *dump)
{
    tcudb_result *result = shell_list(dump->shell, TCUDB_TABLES, NULL);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0] && result != NULL; i++) {
        dump->pass = &passes[i];
        if (!dump->pass->rows || dump->rows) shell_each_row(result, pass_row, dump);
        write_views(dump);
    }
    if (result == NULL) dump->shell->failed = true;
    tcudb_result_free(result);
    if (dump->found == 0 && dump->pattern != NULL && result != NULL)
        shell_complain(dump->shell, "Did not find any relation named \"%s\".\nHINT:  \\d lists all.", dump->pattern);
}

/* One state of the database, whoever else writes. */
static void show_schema(Shell *shell, const Args *args, bool rows)
{
    Dump dump = {.shell = shell, .pattern = shell_pattern(args), .rows = rows};
    bool own = tcudb_transaction_state(shell->conn) == 'I';
    own = own && tcudb_query(shell->conn, "BEGIN READ ONLY; SET LOCAL search_path TO public", NULL, NULL) == TCUDB_OK;
    find_reserved(&dump);
    run_passes(&dump);
    text_free(&dump.reserved);
    if (own && tcudb_query(shell->conn, "COMMIT", NULL, NULL) != TCUDB_OK) shell->failed = true;
}

void cmd_schema(Shell *shell, const Args *args)
{
    show_schema(shell, args, false);
}

void cmd_dump(Shell *shell, const Args *args)
{
    show_schema(shell, args, true);
}
