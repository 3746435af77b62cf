/*
 * cmd_misc.c: variables, messages, settings of the engine, the system.
 */
#include "command.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void cmd_quit(Shell *shell, const Args *args)
{
    (void)args;
    shell->quit = true;
}

/* pg_dump puts its scripts between these two, so that data in them cannot run commands. */
void cmd_restrict(Shell *shell, const Args *args)
{
    if (args->n == 0)
        shell_complain(shell, "\\restrict: missing required argument");
    else
        shell->restricted = shell_strdup(args->arg[0]);
}

void cmd_unrestrict(Shell *shell, const Args *args)
{
    if (args->n == 0) {
        shell_complain(shell, "\\unrestrict: missing required argument");
    } else if (shell->restricted == NULL) {
        shell_complain(shell, "\\unrestrict: not currently in restricted mode");
    } else if (strcmp(shell->restricted, args->arg[0]) != 0) {
        shell_complain(shell, "\\unrestrict: wrong key");
    } else {
        free(shell->restricted);
        shell->restricted = NULL;
    }
}

/* ---- variables and texts ------------------------------------------------------------------- */

void cmd_set(Shell *shell, const Args *args)
{
    if (args->n == 0) {
        var_print(shell, shell->out.file);
        return;
    }
    Text value = {0};
    for (int i = 1; i < args->n; i++) text_str(&value, args->arg[i]);
    var_set(shell, args->arg[0], text_cstr(&value));
    text_free(&value);
}

void cmd_unset(Shell *shell, const Args *args)
{
    if (args->n == 0)
        shell_complain(shell, "\\unset: missing required argument");
    else
        var_unset(shell, args->arg[0]);
}

static void echo(const Args *args, FILE *to)
{
    bool newline = !(args->n > 0 && strcmp(args->arg[0], "-n") == 0);
    for (int i = newline ? 0 : 1; i < args->n; i++) fprintf(to, "%s%s", i > (newline ? 0 : 1) ? " " : "", args->arg[i]);
    if (newline) fputc('\n', to);
    fflush(to);
}

void cmd_echo(Shell *shell, const Args *args)
{
    (void)shell;
    echo(args, stdout);
}

void cmd_qecho(Shell *shell, const Args *args)
{
    echo(args, shell->out.file);
}

void cmd_warn(Shell *shell, const Args *args)
{
    (void)shell;
    echo(args, stderr);
}

void cmd_errverbose(Shell *shell, const Args *args)
{
    (void)args;
    const tcudb_error *err = &shell->error;
    if (err->message[0] == '\0') {
        puts("There is no previous error.");
        return;
    }
    fprintf(stderr, "ERROR:  %s: %s\n", err->sqlstate, err->message);
    if (err->detail[0] != '\0') fprintf(stderr, "DETAIL:  %s\n", err->detail);
    if (err->hint[0] != '\0') fprintf(stderr, "HINT:  %s\n", err->hint);
}

void cmd_encoding(Shell *shell, const Args *args)
{
    if (args->n == 0)
        fputs("UTF8\n", shell->out.file);
    else if (strcasecmp(args->arg[0], "utf8") != 0 && strcasecmp(args->arg[0], "utf-8") != 0)
        shell_complain(shell, "%s: invalid encoding name or conversion procedure not found", args->arg[0]);
}

void cmd_version(Shell *shell, const Args *args)
{
    (void)args;
    fprintf(shell->out.file, "tcudb %s\n", tcudb_version());
}

/* ---- engine -------------------------------------------------------------------------------- */

void cmd_device(Shell *shell, const Args *args)
{
    Text sql = {0};
    if (args->n == 0)
        text_str(&sql, "SHOW tcudb.engine");
    else
        text_printf(&sql, "SET tcudb.engine = '%s'", args->arg[0]);
    if (!shell_run(shell, text_cstr(&sql))) shell->failed = true;
    text_free(&sql);
}

/* ---- the system ---------------------------------------------------------------------------- */

void cmd_history(Shell *shell, const Args *args)
{
    (void)args;
    Editor *editor = shell_editor();
    if (editor == NULL)
        shell_complain(shell, "\\s: there is no history here");
    else
        editor_print_history(editor, shell->out.file);
}

void cmd_shell(Shell *shell, const Args *args)
{
    fflush(NULL);
    const char *command = args->line[0] == '\0' ? getenv("SHELL") : args->line;
    if (command == NULL) command = "/bin/sh";
    int rc = system(command);
    if (rc == -1 || rc == 127 << 8) shell_complain(shell, "\\!: failed");
    assert(command != NULL);
}

void cmd_cd(Shell *shell, const Args *args)
{
    const char *folder = args->n == 0 ? getenv("HOME") : args->arg[0];
    if (folder == NULL || chdir(folder) != 0)
        shell_complain(shell, "\\cd: could not change directory to \"%s\": %s", folder == NULL ? "" : folder,
                       strerror(errno));
}
