/*
 * cmd_describe.c: what is in the database: \d, \dt, \dv, \df, \l, .tables, .schema, .memory, .settings.
 *
 * All of it comes from tcudb_list. Patterns are psql's: * and ? , compared without case.
 */
#include "command.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading listings ---------------------------------------------------------------------- */

typedef void (*RowFn)(void *ctx, char **cells);

enum { LISTING_COLUMNS = 5, CELL_SIZE = 4096 };

/* Calls fn for every row with its cells as texts; NULLs are "". */
static void each_row(const tcudb_result *result, RowFn fn, void *ctx)
{
    uint32_t n = tcudb_result_columns(result);
    char *cells[LISTING_COLUMNS] = {0};
    assert(n <= LISTING_COLUMNS);
    for (uint32_t c = 0; c < n; c++) cells[c] = shell_alloc(CELL_SIZE);
    for (uint64_t k = 0; k < tcudb_result_chunks(result); k++) {
        const tcudb_chunk *chunk = tcudb_result_chunk(result, k);
        for (uint64_t row = 0; row < chunk->rows; row++) {
            for (uint32_t c = 0; c < n; c++)
                if (tcudb_format(chunk, c, row, cells[c], CELL_SIZE) == SIZE_MAX) shell_out_of_memory();
            fn(ctx, cells);
        }
    }
    for (uint32_t c = 0; c < n; c++) free(cells[c]);
}

static bool matches(const char *pattern, const char *name)
{
    return pattern == NULL || fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

static const char *pattern_of(const Args *args)
{
    return args->n == 0 ? NULL : args->arg[0];
}

/* ---- lists of relations -------------------------------------------------------------------- */

typedef struct Relations {
    Grid *grid;
    const char *pattern;
    const char *kind; /* NULL: all */
    bool more;        /* \dv+: definitions */
    unsigned found;
} Relations;

static void relation_row(void *ctx, char **cells)
{
    Relations *relations = ctx;
    if (!matches(relations->pattern, cells[0])) return;
    if (relations->kind != NULL && strcmp(relations->kind, cells[1]) != 0) return;
    const char *row[] = {cells[0], cells[1], cells[2], cells[3], cells[4]};
    grid_add(relations->grid, row);
    relations->found++;
}

static void list_relations(Shell *shell, const Args *args, const char *kind)
{
    static const char *const names[] = {"Name", "Type", "Columns", "Rows", "Definition"};
    bool more = strchr(args->command, '+') != NULL;
    tcudb_result *result = shell_list(shell, TCUDB_TABLES, NULL);
    if (result == NULL) {
        shell->failed = true;
        return;
    }
    Relations relations = {.pattern = pattern_of(args), .kind = kind, .more = more};
    relations.grid = grid_new(shell, "List of relations", names, more ? 5 : 4);
    each_row(result, relation_row, &relations);
    tcudb_result_free(result);
    if (relations.found > 0) {
        grid_print(relations.grid);
        return;
    }
    grid_drop(relations.grid);
    if (relations.pattern != NULL)
        fprintf(stderr, "Did not find any relation named \"%s\".\nHINT:  \\d lists all.\n", relations.pattern);
    else
        fputs("Did not find any relations.\n", stderr);
}

void cmd_relations(Shell *shell, const Args *args)
{
    list_relations(shell, args, NULL);
}

void cmd_tables(Shell *shell, const Args *args)
{
    list_relations(shell, args, "table");
}

void cmd_views(Shell *shell, const Args *args)
{
    list_relations(shell, args, "view");
}

void cmd_indexes(Shell *shell, const Args *args)
{
    (void)args;
    fputs("There are no indexes: scans skip segments by their exact minimum and maximum.\n", shell->out.file);
}

/* ---- one relation -------------------------------------------------------------------------- */

typedef struct Columns {
    Grid *grid;
    Text schema;
    unsigned n;
} Columns;

static void column_row(void *ctx, char **cells)
{
    Columns *columns = ctx;
    bool nullable = cells[3][0] == 't';
    const char *row[] = {cells[1], cells[2], nullable ? "" : "not null", cells[4]};
    grid_add(columns->grid, row);
}

typedef struct Kind {
    const char *name;
    char kind[16];
    char *definition;
} Kind;

static void kind_row(void *ctx, char **cells)
{
    Kind *kind = ctx;
    if (strcmp(kind->name, cells[0]) != 0) return;
    snprintf(kind->kind, sizeof kind->kind, "%s", cells[1]);
    free(kind->definition);
    kind->definition = shell_strdup(cells[4]);
}

static bool find_kind(Shell *shell, const char *name, Kind *kind)
{
    *kind = (Kind){.name = name, .kind = "table"};
    tcudb_result *result = shell_list(shell, TCUDB_TABLES, name);
    if (result == NULL) return false;
    each_row(result, kind_row, kind);
    tcudb_result_free(result);
    return kind->definition != NULL;
}

/* What a query shows, through the mode `insert`; into NULL: bare. */
static void dump_query(Shell *shell, const char *sql, Mode mode, const char *into)
{
    Look look = shell->look;
    bool timing = shell->timing;
    shell->look.mode = mode;
    if (into == NULL) shell->look.tuples_only = true;
    shell->timing = false;
    if (into != NULL) var_set(shell, "INSERT_TABLE", into);
    if (!shell_run(shell, sql)) shell->failed = true;
    if (into != NULL) var_unset(shell, "INSERT_TABLE");
    shell->look = look;
    shell->timing = timing;
}

/* A table's foreign keys: an expression over pg_constraint as c and pg_class as t, a line each. */
static void show_references(Shell *shell, const char *table, const char *line)
{
    Text sql = {0};
    text_printf(&sql, "SELECT %s FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid ", line);
    text_str(&sql, "WHERE contype = 'f' AND relname = '");
    for (const char *at = table; *at != '\0'; at++) text_printf(&sql, *at == '\'' ? "'%c" : "%c", *at);
    text_str(&sql, "' ORDER BY c.oid");
    dump_query(shell, text_cstr(&sql), MODE_UNALIGNED, NULL);
    text_free(&sql);
}

static void describe(Shell *shell, const char *name, bool more)
{
    static const char *const names[] = {"Column", "Type", "Nullable", "Default"};
    char title[256];
    Kind kind;
    if (!find_kind(shell, name, &kind)) {
        shell_complain(shell, "Did not find any relation named \"%s\".\nHINT:  \\d lists all.", name);
        return;
    }
    tcudb_result *result = shell_list(shell, TCUDB_COLUMNS, name);
    if (result == NULL) return;
    const char *what = strcmp(kind.kind, "view") == 0       ? "View"
                       : strcmp(kind.kind, "sequence") == 0 ? "Sequence"
                                                            : "Table";
    snprintf(title, sizeof title, "%s \"%s\"", what, name);
    Columns columns = {.grid = grid_new(shell, title, names, 4)};
    each_row(result, column_row, &columns);
    tcudb_result_free(result);
    grid_print(columns.grid);
    if (strcmp(kind.kind, "table") == 0 && kind.definition[0] != '\0')
        fprintf(shell->out.file, "Constraints: %s\n\n", kind.definition);
    else if (more && strcmp(kind.kind, "view") == 0 && kind.definition[0] != '\0')
        fprintf(shell->out.file, "View definition:\n%s;\n", kind.definition);
    if (strcmp(kind.kind, "table") == 0)
        show_references(shell, name, "'Foreign key: ' || quote_ident(conname) || ' ' || pg_get_constraintdef(c.oid)");
    free(kind.definition);
}

/* SQL folds unquoted names to lower case, so \d Orders is \d orders unless that exists as it is written. */
static char *resolve(Shell *shell, const char *name)
{
    Kind kind;
    char *folded = shell_strdup(name);
    if (strncmp(name, "public.", 7) == 0) memmove(folded, folded + 7, strlen(folded + 7) + 1);
    size_t n = strcspn(folded, ";");
    folded[n] = '\0';
    if (find_kind(shell, folded, &kind)) {
        free(kind.definition);
        return folded;
    }
    for (char *c = folded; *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
    return folded;
}

void cmd_describe(Shell *shell, const Args *args)
{
    if (args->n == 0) {
        list_relations(shell, args, NULL);
        return;
    }
    if (strpbrk(args->arg[0], "*?") != NULL) {
        list_relations(shell, args, NULL);
        return;
    }
    char *name = resolve(shell, args->arg[0]);
    describe(shell, name, strchr(args->command, '+') != NULL);
    free(name);
}

/* ---- CREATE statements --------------------------------------------------------------------- */

/* An identity or generated column says so where others have their default. */
static bool is_generated(const char *initial)
{
    return strncmp(initial, "generated ", strlen("generated ")) == 0;
}

static void schema_column(void *ctx, char **cells)
{
    Columns *columns = ctx;
    text_str(&columns->schema, columns->n++ > 0 ? ",\n    " : "\n    ");
    text_name(&columns->schema, cells[1]);
    text_printf(&columns->schema, " %s", cells[2]);
    if (cells[4][0] != '\0') text_printf(&columns->schema, "%s %s", is_generated(cells[4]) ? "" : " DEFAULT", cells[4]);
    if (cells[3][0] == 'f') text_str(&columns->schema, " NOT NULL");
}

typedef struct Schema {
    Shell *shell;
    const char *pattern;
    const char *kind;
    bool rows;    /* .dump: INSERT statements too */
    bool setvals; /* only where the sequences are */
    bool refers;  /* only the foreign keys of tables: once all are there */
    unsigned found;
} Schema;

/* The columns whose values are to be written: not those that are computed. */
typedef struct Given {
    Text names;
    bool special; /* some column takes no values without more ado */
} Given;

static void given_column(void *ctx, char **cells)
{
    Given *given = ctx;
    bool special = is_generated(cells[4]), stored = special && strstr(cells[4], " identity") == NULL;
    given->special |= special;
    if (stored) return;
    if (text_cstr(&given->names)[0] != '\0') text_str(&given->names, ", ");
    text_name(&given->names, cells[1]);
}

static void dump_rows(Shell *shell, const char *table)
{
    Text name = {0}, into = {0}, sql = {0};
    Given given = {.special = false};
    tcudb_result *result = shell_list(shell, TCUDB_COLUMNS, table);
    text_name(&name, table);
    each_row(result, given_column, &given);
    tcudb_result_free(result);
    text_str(&into, text_cstr(&name));
    if (given.special) text_printf(&into, " (%s) OVERRIDING SYSTEM VALUE", text_cstr(&given.names));
    text_printf(&sql, "SELECT %s FROM %s", given.special ? text_cstr(&given.names) : "*", text_cstr(&name));
    dump_query(shell, text_cstr(&sql), MODE_INSERT, text_cstr(&into));
    text_free(&name);
    text_free(&into);
    text_free(&sql);
    text_free(&given.names);
}

static void dump_sequence(Shell *shell, const char *sequence)
{
    Text name = {0}, sql = {0};
    text_name(&name, sequence);
    text_printf(&sql, "SELECT format('SELECT setval(%%L, %%s, %%L);', '%s', last_value, is_called) FROM %s",
                text_cstr(&name), text_cstr(&name));
    dump_query(shell, text_cstr(&sql), MODE_UNALIGNED, NULL);
    text_free(&name);
    text_free(&sql);
}

static void schema_table(Schema *schema, char **cells, Text *out)
{
    Columns columns = {.n = 0};
    tcudb_result *result = shell_list(schema->shell, TCUDB_COLUMNS, cells[0]);
    text_str(out, "CREATE TABLE ");
    text_name(out, cells[0]);
    each_row(result, schema_column, &columns);
    tcudb_result_free(result);
    text_printf(out, " (%s", text_cstr(&columns.schema));
    if (cells[4][0] != '\0') text_printf(out, ",\n    %s", cells[4]);
    text_str(out, "\n);\n");
    text_free(&columns.schema);
}

static void schema_row(void *ctx, char **cells)
{
    Schema *schema = ctx;
    Text out = {0};
    if (!matches(schema->pattern, cells[0]) || strcmp(schema->kind, cells[1]) != 0) return;
    if (schema->setvals) {
        dump_sequence(schema->shell, cells[0]);
        return;
    }
    if (schema->refers) {
        show_references(
            schema->shell, cells[0],
            "'ALTER TABLE ' || quote_ident(relname) || ' ADD CONSTRAINT ' || quote_ident(conname) || ' ' || "
            "pg_get_constraintdef(c.oid) || ';'");
        return;
    }
    schema->found++;
    bool table = strcmp(cells[1], "table") == 0;
    if (strcmp(cells[1], "view") == 0) {
        text_str(&out, "CREATE VIEW ");
        text_name(&out, cells[0]);
        text_printf(&out, " AS %s;\n", cells[4]);
    } else if (table) {
        schema_table(schema, cells, &out);
    } else if (cells[4][0] != '\0') {
        text_printf(&out, "%s;\n", cells[4]);
    }
    fputs(text_cstr(&out), schema->shell->out.file);
    text_free(&out);
    if (schema->rows && table) dump_rows(schema->shell, cells[0]);
}

static void show_schema(Shell *shell, const Args *args, bool rows)
{
    Schema schema = {.shell = shell, .pattern = pattern_of(args), .rows = rows};
    tcudb_result *result = shell_list(shell, TCUDB_TABLES, NULL);
    if (result == NULL) return;
    schema.kind = "sequence"; /* before the tables, and these before the views, that use them */
    each_row(result, schema_row, &schema);
    schema.kind = "table";
    each_row(result, schema_row, &schema);
    schema.kind = "sequence";
    schema.setvals = true;
    if (rows) each_row(result, schema_row, &schema);
    schema.setvals = false;
    schema.kind = "table";
    schema.refers = true;
    each_row(result, schema_row, &schema);
    schema.refers = false;
    schema.kind = "view";
    each_row(result, schema_row, &schema);
    tcudb_result_free(result);
    if (schema.found == 0 && schema.pattern != NULL)
        shell_complain(shell, "Did not find any relation named \"%s\".\nHINT:  \\d lists all.", schema.pattern);
}

void cmd_schema(Shell *shell, const Args *args)
{
    show_schema(shell, args, false);
}

void cmd_dump(Shell *shell, const Args *args)
{
    show_schema(shell, args, true);
}

/* ---- the other listings -------------------------------------------------------------------- */

typedef struct Listing {
    Grid *grid;
    const char *pattern;
} Listing;

static void listing_row(void *ctx, char **cells)
{
    const Listing *listing = ctx;
    if (matches(listing->pattern, cells[0])) grid_add(listing->grid, (const char *const *)cells);
}

static void show_listing(Shell *shell, tcudb_listing what, const char *title, const char *const *names, unsigned n,
                         const char *pattern)
{
    tcudb_result *result = shell_list(shell, what, NULL);
    if (result == NULL) return;
    Listing listing = {grid_new(shell, title, names, n), pattern};
    each_row(result, listing_row, &listing);
    tcudb_result_free(result);
    grid_print(listing.grid);
}

void cmd_functions(Shell *shell, const Args *args)
{
    static const char *const names[] = {"Name", "Kind", "Usage"};
    show_listing(shell, TCUDB_FUNCTIONS, "List of functions", names, 3, pattern_of(args));
}

void cmd_settings(Shell *shell, const Args *args)
{
    static const char *const names[] = {"Setting", "Value", "Meaning"};
    show_listing(shell, TCUDB_SETTINGS, NULL, names, 3, pattern_of(args));
}

void cmd_memory(Shell *shell, const Args *args)
{
    static const char *const names[] = {"Memory", "Bytes"};
    (void)args;
    show_listing(shell, TCUDB_MEMORY, NULL, names, 2, NULL);
}

void cmd_databases(Shell *shell, const Args *args)
{
    static const char *const names[] = {"Name", "Path", "Access"};
    char buffer[64];
    (void)args;
    const char *row[] = {shell_db_name(shell, buffer, sizeof buffer), shell->path == NULL ? "(in memory)" : shell->path,
                         shell->db_options.read_only ? "read only" : "read and write"};
    Grid *grid = grid_new(shell, "The open database", names, 3);
    grid_add(grid, row);
    grid_print(grid);
}

void cmd_conninfo(Shell *shell, const Args *args)
{
    (void)args;
    if (shell->path == NULL)
        fputs("You are connected to a database in memory.\n", shell->out.file);
    else
        fprintf(shell->out.file, "You are connected to database \"%s\".\n", shell->path);
}
