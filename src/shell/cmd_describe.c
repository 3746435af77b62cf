/*
 * cmd_describe.c: what is in the database: \d, \dt, \dv, \df, \l, .tables, .memory, .settings.
 *
 * Most of it comes from tcudb_list.
 */
#include "listing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
    if (!shell_matches(relations->pattern, cells[0])) return;
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
    Relations relations = {.pattern = shell_pattern(args), .kind = kind, .more = more};
    relations.grid = grid_new(shell, "List of relations", names, more ? 5 : 4);
    shell_each_row(result, relation_row, &relations);
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
    shell_each_row(result, kind_row, kind);
    tcudb_result_free(result);
    return kind->definition != NULL;
}

/* What is beside the columns: foreign keys and indexes, a line each. */
static void show_beside(Shell *shell, const char *table)
{
    static const char *const queries[] = {
        "SELECT 'Foreign key: ' || quote_ident(conname) || ' ' || pg_get_constraintdef(c.oid) FROM pg_constraint AS c "
        "JOIN pg_class AS t ON t.oid = c.conrelid WHERE contype = 'f' AND relname = @ ORDER BY c.oid",
        "SELECT 'Index: ' || indexdef FROM pg_indexes WHERE tablename = @ AND NOT EXISTS (SELECT 1 FROM pg_constraint "
        "WHERE conname = indexname) ORDER BY indexname",
    };
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) shell_show_lines(shell, queries[i], table);
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
    shell_each_row(result, column_row, &columns);
    tcudb_result_free(result);
    grid_print(columns.grid);
    if (strcmp(kind.kind, "table") == 0 && kind.definition[0] != '\0')
        fprintf(shell->out.file, "Constraints: %s\n\n", kind.definition);
    else if (more && strcmp(kind.kind, "view") == 0 && kind.definition[0] != '\0')
        fprintf(shell->out.file, "View definition:\n%s;\n", kind.definition);
    if (strcmp(kind.kind, "table") == 0) show_beside(shell, name);
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

/* ---- the other listings -------------------------------------------------------------------- */

typedef struct Listing {
    Grid *grid;
    const char *pattern;
} Listing;

static void listing_row(void *ctx, char **cells)
{
    const Listing *listing = ctx;
    if (shell_matches(listing->pattern, cells[0])) grid_add(listing->grid, (const char *const *)cells);
}

static void show_listing(Shell *shell, tcudb_listing what, const char *title, const char *const *names, unsigned n,
                         const char *pattern)
{
    tcudb_result *result = shell_list(shell, what, NULL);
    if (result == NULL) return;
    Listing listing = {grid_new(shell, title, names, n), pattern};
    shell_each_row(result, listing_row, &listing);
    tcudb_result_free(result);
    grid_print(listing.grid);
}

void cmd_functions(Shell *shell, const Args *args)
{
    static const char *const names[] = {"Name", "Kind", "Usage"};
    show_listing(shell, TCUDB_FUNCTIONS, "List of functions", names, 3, shell_pattern(args));
}

void cmd_settings(Shell *shell, const Args *args)
{
    static const char *const names[] = {"Setting", "Value", "Meaning"};
    show_listing(shell, TCUDB_SETTINGS, NULL, names, 3, shell_pattern(args));
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
