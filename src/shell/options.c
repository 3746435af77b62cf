/*
 * options.c: reads the command line. One table; values follow as `--name=value`, `--name value` or `-xvalue`.
 * Long names are understood with one dash too (-csv, -readonly), as SQLite's and DuckDB's shells have them.
 */
#include "options.h"
#include "print.h"
#include "subcommand.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef enum Opt {
    OPT_COMMAND,
    OPT_FILE,
    OPT_OUTPUT,
    OPT_MODE, /* value: the mode's name is the option's */
    OPT_QUIET,
    OPT_READONLY,
    OPT_EXISTING,
    OPT_NO_RC,
    OPT_VARIABLE,
    OPT_PSET,
    OPT_TUPLES,
    OPT_EXPANDED,
    OPT_UNALIGNED,
    OPT_SEPARATOR,
    OPT_NULL,
    OPT_ECHO,
    OPT_TIMING,
    OPT_THREADS,
    OPT_MEMORY,
    OPT_INTERACTIVE,
    OPT_BAIL,
    OPT_VERSION,
    OPT_HELP
} Opt;

typedef struct Info {
    char letter; /* 0: none */
    Opt opt;
    const char *name;
    const char *value; /* what its value is called; NULL: takes none */
    const char *help;  /* NULL: not shown */
} Info;

static const Info infos[] = {
    {'c', OPT_COMMAND, "command", "SQL", "run this, then end; several run in order"},
    {'f', OPT_FILE, "file", "FILE", "run the statements of this file (- : standard input), then end"},
    {'o', OPT_OUTPUT, "output", "FILE", "send results to this file, or to |COMMAND"},
    {'q', OPT_QUIET, "quiet", NULL, "results only: no tags, notices, greetings"},
    {0, OPT_MODE, "box", NULL, "boxes (default on a terminal)"},
    {0, OPT_MODE, "aligned", NULL, "aligned columns (default elsewhere)"},
    {0, OPT_MODE, "csv", NULL, "comma-separated values"},
    {0, OPT_MODE, "json", NULL, "an array of objects"},
    {0, OPT_MODE, "jsonlines", NULL, "an object a line"},
    {0, OPT_MODE, "markdown", NULL, "a Markdown table"},
    {0, OPT_MODE, "line", NULL, "a value a line"},
    {'x', OPT_EXPANDED, "expanded", NULL, "a record a block"},
    {'t', OPT_TUPLES, "tuples-only", NULL, "no column names, no row count"},
    {'A', OPT_UNALIGNED, "no-align", NULL, "values with a separator between"},
    {'F', OPT_SEPARATOR, "field-separator", "TEXT", "that separator (default |, in csv ,)"},
    {0, OPT_SEPARATOR, "separator", "TEXT", NULL},
    {0, OPT_NULL, "null", "TEXT", "how NULL is shown"},
    {'P', OPT_PSET, "pset", "NAME=VALUE", "as \\pset"},
    {'v', OPT_VARIABLE, "set", "NAME=VALUE", "as \\set; -v ON_ERROR_STOP=0 goes on after errors"},
    {0, OPT_VARIABLE, "variable", "NAME=VALUE", NULL},
    {'e', OPT_ECHO, "echo", NULL, "show statements before they run"},
    {'a', OPT_ECHO, "echo-all", NULL, NULL},
    {0, OPT_TIMING, "timing", NULL, "time and engine of every statement"},
    {0, OPT_READONLY, "readonly", NULL, "no statement may change the database"},
    {0, OPT_EXISTING, "existing", NULL, "the database must exist"},
    {0, OPT_THREADS, "threads", "N", "threads a query may use"},
    {0, OPT_MEMORY, "memory", "SIZE", "memory limit: 512MB, 4GB"},
    {'X', OPT_NO_RC, "no-rc", NULL, "do not read ~/.tcudbrc"},
    {0, OPT_NO_RC, "no-psqlrc", NULL, NULL},
    {'b', OPT_BAIL, "bail", NULL, NULL},
    {'i', OPT_INTERACTIVE, "interactive", NULL, NULL},
    {'V', OPT_VERSION, "version", NULL, "show the version"},
    {'?', OPT_HELP, "help", NULL, "this list"},
    {'h', OPT_HELP, "help", NULL, NULL},
};

enum { INFOS = sizeof infos / sizeof infos[0] };

void options_help(FILE *to)
{
    fputs("tcudb: exact SQL over compressed columns; joins that explode run as matrix products\n\n"
          "usage: tcudb [OPTION]... [DATABASE]      DATABASE: a folder NAME.tcu; without one, in memory\n",
          to);
#define SUBCOMMAND(name, fn, help) fprintf(to, "       tcudb %-34s %s\n", name, help);
#include "subcommand.def"
#undef SUBCOMMAND
    fputc('\n', to);
    for (int i = 0; i < INFOS; i++) {
        char text[64];
        if (infos[i].help == NULL) continue;
        snprintf(text, sizeof text, "%s%s", infos[i].name, infos[i].value == NULL ? "" : "=");
        if (infos[i].letter != 0)
            fprintf(to, "  -%c, ", infos[i].letter);
        else
            fputs("      ", to);
        fprintf(to, "--%s%-*s %s\n", text, (int)(26 - strlen(text)), infos[i].value == NULL ? "" : infos[i].value,
                infos[i].help);
    }
    fputs("\nIn the shell \\? and .help list its commands. Exit status: 0 done, 1 bad usage or no such file, 2 the\n"
          "database could not be opened, 3 a statement failed.\n",
          to);
}

static const Info *by_name(const char *name, size_t len)
{
    for (int i = 0; i < INFOS; i++)
        if (strlen(infos[i].name) == len && memcmp(infos[i].name, name, len) == 0) return &infos[i];
    return NULL;
}

static const Info *by_letter(char letter)
{
    for (int i = 0; i < INFOS; i++)
        if (infos[i].letter == letter) return &infos[i];
    return NULL;
}

/* ---- carrying out -------------------------------------------------------------------------- */

static bool complain(const char *what, const char *value)
{
    fprintf(stderr, "tcudb: %s \"%s\"\nTry \"tcudb --help\" for more information.\n", what, value);
    return false;
}

static void add_task(Options *options, bool file, const char *text)
{
    options->tasks = shell_realloc(options->tasks, (options->ntasks + 1) * sizeof *options->tasks);
    options->tasks[options->ntasks++] = (Task){file, text};
}

static bool set_variable(Shell *shell, const char *text)
{
    assert(text != NULL);
    const char *equals = strchr(text, '=');
    char *name = equals == NULL ? shell_strdup(text) : shell_strndup(text, (size_t)(equals - text));
    var_set(shell, name, equals == NULL ? "" : equals + 1);
    free(name);
    return true;
}

static bool set_pset(Shell *shell, const char *text)
{
    assert(text != NULL);
    Text command = {0};
    const char *equals = strchr(text, '=');
    bool quiet = shell->quiet;
    text_str(&command, "pset ");
    text_add(&command, text, equals == NULL ? strlen(text) : (size_t)(equals - text));
    if (equals != NULL) text_printf(&command, " '%s'", equals + 1);
    shell->quiet = true;
    shell_backslash(shell, text_cstr(&command));
    shell->quiet = quiet;
    text_free(&command);
    return !shell->failed;
}

static bool read_size(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    assert(text != NULL);
    char *end = NULL;
    double value = strtod(text, &end);
    const char *unit = *end == '\0' ? NULL : strchr(units, *end & ~0x20);
    if (end == text || !(value > 0) || (*end != '\0' && unit == NULL))
        return complain("a size is a number of bytes, or one with K, M, G or T behind it, not", text);
    for (long i = unit == NULL ? -1 : unit - units; i >= 0; i--) value *= 1024;
    *out = (uint64_t)value;
    return true;
}

static bool read_threads(const char *text, uint32_t *out)
{
    char *end = NULL;
    assert(text != NULL);
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || value == 0 || value > 1024)
        return complain("the number of threads is 1 to 1024, not", text);
    *out = (uint32_t)value;
    return true;
}

static void set_separator(Look *look, const char *text)
{
    assert(text != NULL);
    snprintf(look->separator, sizeof look->separator, "%s", strcmp(text, "\\t") == 0 ? "\t" : text);
}

static bool apply(Shell *shell, Options *options, const Info *info, const char *value)
{
    Look *look = &shell->look;
    assert(info->value == NULL || value != NULL);
    switch (info->opt) {
    case OPT_COMMAND: add_task(options, false, value); break;
    case OPT_FILE: add_task(options, true, value); break;
    case OPT_OUTPUT: options->output = value; break;
    case OPT_MODE: look->mode = (Mode)print_mode_by_name(info->name); break;
    case OPT_QUIET: shell->quiet = true; break;
    case OPT_READONLY: shell->db_options.read_only = 1; break;
    case OPT_EXISTING: shell->db_options.must_exist = 1; break;
    case OPT_NO_RC: shell->no_rc = true; break;
    case OPT_VARIABLE: return set_variable(shell, value);
    case OPT_PSET: return set_pset(shell, value);
    case OPT_TUPLES: look->tuples_only = true; break;
    case OPT_EXPANDED: look->expanded = SWITCH_ON; break;
    case OPT_UNALIGNED: look->mode = MODE_UNALIGNED; break;
    case OPT_SEPARATOR: set_separator(look, value); break;
    case OPT_NULL: snprintf(look->null, sizeof look->null, "%s", value); break;
    case OPT_ECHO: shell->echo = SWITCH_ON; break;
    case OPT_TIMING: shell->timing = true; break;
    case OPT_THREADS: return read_threads(value, &shell->db_options.threads);
    case OPT_MEMORY: return read_size(value, &shell->db_options.memory_limit);
    case OPT_INTERACTIVE: options->interactive = true; break;
    case OPT_BAIL: var_set(shell, "ON_ERROR_STOP", "on"); break;
    case OPT_VERSION: options->version = true; break;
    case OPT_HELP: options->help = true; break;
    }
    return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

static bool long_option(Shell *shell, Options *options, const char *name, int argc, char **argv, int *i)
{
    size_t n = strcspn(name, "=");
    const Info *info = by_name(name, n);
    const char *value = name[n] == '=' ? name + n + 1 : NULL;
    if (info == NULL) return complain("unrecognized option", argv[*i]);
    if (info->value == NULL && value != NULL) return complain("this option takes no value:", argv[*i]);
    if (info->value != NULL && value == NULL) {
        if (*i + 1 >= argc) return complain("a value is missing after", argv[*i]);
        value = argv[++*i];
    }
    return apply(shell, options, info, value);
}

/* -qc 'SQL', -c'SQL', -Atc 'SQL' */
static bool letters(Shell *shell, Options *options, int argc, char **argv, int *i)
{
    for (const char *at = argv[*i] + 1; *at != '\0'; at++) {
        const Info *info = by_letter(*at);
        if (info == NULL) return complain("invalid option", argv[*i]);
        if (info->value == NULL) {
            if (!apply(shell, options, info, NULL)) return false;
            continue;
        }
        const char *value = at + 1;
        if (*value == '\0' && *i + 1 >= argc) return complain("a value is missing after", argv[*i]);
        if (*value == '\0') value = argv[++*i];
        return apply(shell, options, info, value);
    }
    return true;
}

static bool one(Shell *shell, Options *options, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    if (arg[0] != '-' || arg[1] == '\0') {
        if (options->database != NULL) return complain("only one database can be opened; superfluous is", arg);
        options->database = arg;
        return true;
    }
    assert(arg[0] == '-');
    if (arg[1] == '-') return long_option(shell, options, arg + 2, argc, argv, i);
    if (strlen(arg) > 2 && by_name(arg + 1, strcspn(arg + 1, "=")) != NULL)
        return long_option(shell, options, arg + 1, argc, argv, i);
    return letters(shell, options, argc, argv, i);
}

bool options_read(Shell *shell, int argc, char **argv, Options *options)
{
    *options = (Options){0};
    for (int i = 1; i < argc; i++)
        if (!one(shell, options, argc, argv, &i)) return false;
    return true;
}
