/*
 * vars.c: \set variables and their interpolation: :name as it is, :'name' as a literal, :"name" as a name.
 *
 * As in psql nothing is replaced inside quotes and comments, `::` is a cast, and an unknown variable stays as
 * it is written.
 */
#include "shell.h"
#include "scan.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static Var *find(const Shell *shell, const char *name, size_t len)
{
    for (Var *var = shell->vars; var != NULL; var = var->next)
        if (strlen(var->name) == len && memcmp(var->name, name, len) == 0) return var;
    return NULL;
}

const char *var_get(const Shell *shell, const char *name, size_t len)
{
    const Var *var = find(shell, name, len);
    return var == NULL ? NULL : var->value;
}

static bool truth(const char *value)
{
    return !(strcmp(value, "off") == 0 || strcmp(value, "0") == 0 || strcmp(value, "false") == 0);
}

/* Variables that mean something to the shell itself. */
static void apply(Shell *shell, const char *name, const char *value)
{
    if (strcmp(name, "ON_ERROR_STOP") == 0) shell->stop_on_error = truth(value);
    if (strcmp(name, "QUIET") == 0) shell->quiet = truth(value);
    if (strcmp(name, "VERBOSITY") == 0) shell->verbose_errors = strcmp(value, "verbose") == 0;
    if (strcmp(name, "ECHO") == 0)
        shell->echo = strcmp(value, "all") == 0 || strcmp(value, "queries") == 0 ? SWITCH_ON : SWITCH_OFF;
}

void var_set(Shell *shell, const char *name, const char *value)
{
    Var *var = find(shell, name, strlen(name));
    if (var == NULL) {
        var = shell_alloc(sizeof *var);
        var->name = shell_strdup(name);
        Var **at = &shell->vars; /* kept in order of name */
        while (*at != NULL && strcmp((*at)->name, name) < 0) at = &(*at)->next;
        var->next = *at;
        *at = var;
    }
    free(var->value);
    var->value = shell_strdup(value);
    apply(shell, name, value);
}

bool var_unset(Shell *shell, const char *name)
{
    for (Var **at = &shell->vars; *at != NULL; at = &(*at)->next) {
        Var *var = *at;
        if (strcmp(var->name, name) != 0) continue;
        *at = var->next;
        free(var->name);
        free(var->value);
        free(var);
        apply(shell, name, "off");
        return true;
    }
    return false;
}

void var_print(const Shell *shell, FILE *to)
{
    for (const Var *var = shell->vars; var != NULL; var = var->next) fprintf(to, "%s = '%s'\n", var->name, var->value);
}

void var_free(Shell *shell)
{
    while (shell->vars != NULL) {
        Var *var = shell->vars;
        shell->vars = var->next;
        free(var->name);
        free(var->value);
        free(var);
    }
}

static void add_quoted(Text *out, const char *value, char quote)
{
    text_char(out, quote);
    for (; *value != '\0'; value++) {
        if (*value == quote) text_char(out, quote);
        text_char(out, *value);
    }
    text_char(out, quote);
}

static size_t name_length(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (isalnum((unsigned char)text[n]) || text[n] == '_')) n++;
    return n;
}

/* At a colon outside quotes: adds the value and returns the bytes used, or 0. */
static size_t expand_one(const Shell *shell, const char *text, size_t len, Text *out)
{
    assert(text[0] == ':');
    char quote = len > 1 && (text[1] == '\'' || text[1] == '"') ? text[1] : '\0';
    size_t from = quote != '\0' ? 2 : 1;
    size_t n = name_length(text + from, len - from);
    if (n == 0 || (quote != '\0' && (from + n >= len || text[from + n] != quote))) return 0;
    const char *value = var_get(shell, text + from, n);
    if (value == NULL) return 0;
    if (quote == '\0')
        text_str(out, value);
    else
        add_quoted(out, value, quote);
    return from + n + (quote != '\0');
}

void var_expand(const Shell *shell, const char *sql, size_t len, Text *out)
{
    if (shell->vars == NULL || memchr(sql, ':', len) == NULL) {
        text_add(out, sql, len);
        return;
    }
    Scan scan = {0};
    for (size_t i = 0; i < len;) {
        bool free_colon = sql[i] == ':' && !(i > 0 && sql[i - 1] == ':') && !(i + 1 < len && sql[i + 1] == ':');
        if (free_colon) {
            scan = (Scan){0}; /* where are we? Colons are rare: scan the statement up to here */
            while (scan.at < i && scan_next(&scan, sql, i) != SCAN_MORE) scan.at++;
        }
        size_t used = free_colon && scan.quote == SCAN_NONE ? expand_one(shell, sql + i, len - i, out) : 0;
        if (used == 0) text_char(out, sql[i++]);
        i += used;
    }
}
