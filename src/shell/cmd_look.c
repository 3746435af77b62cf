/*
 * cmd_look.c: how results look: \x, \t, \a, \f, \timing, \pset, .mode, .headers, .nullvalue and the like.
 */
#include "command.h"
#include "print.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *on_off(bool value)
{
    return value ? "on" : "off";
}

/* What changed is said, as psql says it, unless -q. */
static void say(const Shell *shell, const char *text)
{
    if (!shell->quiet) fprintf(shell->out.file, "%s\n", text);
}

static void say_switch(const Shell *shell, const char *what, bool value)
{
    if (!shell->quiet) fprintf(shell->out.file, "%s is %s.\n", what, on_off(value));
}

void cmd_expanded(Shell *shell, const Args *args)
{
    bool on = shell->look.expanded == SWITCH_ON;
    bool automatic = args->n > 0 && strcmp(args->arg[0], "auto") == 0;
    if (!automatic) set_switch(shell, args, &on);
    shell->look.expanded = on ? SWITCH_ON : SWITCH_OFF;
    say_switch(shell, "Expanded display", on);
}

void cmd_timing(Shell *shell, const Args *args)
{
    set_switch(shell, args, &shell->timing);
    say_switch(shell, "Timing", shell->timing);
}

void cmd_tuples(Shell *shell, const Args *args)
{
    set_switch(shell, args, &shell->look.tuples_only);
}

static void set_mode(Shell *shell, Mode mode)
{
    shell->look.mode = mode;
    if (!shell->quiet) fprintf(shell->out.file, "Output format is %s.\n", print_modes[mode].name);
}

void cmd_align(Shell *shell, const Args *args)
{
    (void)args;
    set_mode(shell, shell->look.mode == MODE_UNALIGNED ? MODE_ALIGNED : MODE_UNALIGNED);
}

static void list_modes(const Shell *shell)
{
    for (int i = 0; i < MODES; i++) {
        bool now = (int)shell->look.mode == i;
        fprintf(shell->out.file, "%c %-10s %s\n", now ? '*' : ' ', print_modes[i].name, print_modes[i].help);
    }
}

static void choose_mode(Shell *shell, const char *command, const char *name)
{
    int mode = print_mode_by_name(name);
    if (mode >= 0) {
        set_mode(shell, (Mode)mode);
        return;
    }
    shell_complain(shell, "%s: there is no output mode \"%s\"", command, name);
    fputs("HINT:  The modes are", stderr);
    for (int i = 0; i < MODES; i++) fprintf(stderr, "%s %s", i == 0 ? "" : ",", print_modes[i].name);
    fputs(".\n", stderr);
}

void cmd_mode(Shell *shell, const Args *args)
{
    if (args->n == 0) {
        list_modes(shell);
        return;
    }
    if (args->n > 1) var_set(shell, "INSERT_TABLE", args->arg[1]);
    choose_mode(shell, ".mode", args->arg[0]);
}

void cmd_headers(Shell *shell, const Args *args)
{
    set_switch(shell, args, &shell->look.headers);
}

void cmd_nullvalue(Shell *shell, const Args *args)
{
    snprintf(shell->look.null, sizeof shell->look.null, "%s", args->n == 0 ? "" : args->arg[0]);
}

void cmd_separator(Shell *shell, const Args *args)
{
    const char *text = args->n == 0 ? "" : args->arg[0];
    if (strcmp(text, "\\t") == 0) text = "\t";
    snprintf(shell->look.separator, sizeof shell->look.separator, "%s", text);
}

static void set_number(Shell *shell, const char *command, const char *text, unsigned *out)
{
    char *end = NULL;
    unsigned long value = text == NULL ? 0 : strtoul(text, &end, 10);
    if (text == NULL || *end != '\0' || end == text || value > 1000000000)
        shell_complain(shell, "%s: a number is wanted; it is %u", command, *out);
    else
        *out = (unsigned)value;
}

void cmd_maxrows(Shell *shell, const Args *args)
{
    set_number(shell, ".maxrows", args->n == 0 ? NULL : args->arg[0], &shell->look.max_rows);
}

void cmd_maxwidth(Shell *shell, const Args *args)
{
    set_number(shell, ".maxwidth", args->n == 0 ? NULL : args->arg[0], &shell->look.max_width);
}

/* ---- \pset --------------------------------------------------------------------------------- */

static void pset_show(Shell *shell)
{
    const Look *look = &shell->look;
    FILE *to = shell->out.file;
    fprintf(to, "expanded   %s\n", on_off(look->expanded == SWITCH_ON));
    fprintf(to, "fieldsep   '%s'\n", look->separator);
    fprintf(to, "footer     %s\n", on_off(look->footer));
    fprintf(to, "format     %s\n", print_modes[look->mode].name);
    fprintf(to, "maxrows    %u\n", look->max_rows);
    fprintf(to, "maxwidth   %u\n", look->max_width);
    fprintf(to, "null       '%s'\n", look->null);
    fprintf(to, "pager      %s\n", look->pager == SWITCH_AUTO ? "auto" : on_off(look->pager == SWITCH_ON));
    fprintf(to, "tuples_only %s\n", on_off(look->tuples_only));
    fprintf(to, "types      %s\n", on_off(look->types));
}

static void pset_pager(Shell *shell, const Args *value)
{
    bool on = shell->look.pager != SWITCH_OFF;
    if (value->n > 0 && strcmp(value->arg[0], "always") == 0) {
        shell->look.pager = SWITCH_ON;
        return;
    }
    set_switch(shell, value, &on);
    shell->look.pager = on ? SWITCH_AUTO : SWITCH_OFF;
    say(shell, on ? "Pager is used for long output." : "Pager usage is off.");
}

static void pset_footer(Shell *shell, const Args *value)
{
    set_switch(shell, value, &shell->look.footer);
}

static void pset_types(Shell *shell, const Args *value)
{
    set_switch(shell, value, &shell->look.types);
}

static void pset_format(Shell *shell, const Args *value)
{
    if (value->n == 0)
        list_modes(shell);
    else
        choose_mode(shell, "\\pset", value->arg[0]);
}

static void pset_null(Shell *shell, const Args *value)
{
    cmd_nullvalue(shell, value);
    if (!shell->quiet) fprintf(shell->out.file, "Null display is \"%s\".\n", shell->look.null);
}

void cmd_pset(Shell *shell, const Args *args)
{
    static const struct {
        const char *name;
        CommandFn run;
    } options[] = {{"border", NULL},
                   {"expanded", cmd_expanded},
                   {"x", cmd_expanded},
                   {"fieldsep", cmd_separator},
                   {"csv_fieldsep", cmd_separator},
                   {"footer", pset_footer},
                   {"format", pset_format},
                   {"linestyle", NULL},
                   {"maxrows", cmd_maxrows},
                   {"maxwidth", cmd_maxwidth},
                   {"columns", cmd_maxwidth},
                   {"null", pset_null},
                   {"pager", pset_pager},
                   {"tuples_only", cmd_tuples},
                   {"t", cmd_tuples},
                   {"types", pset_types}};
    if (args->n == 0) {
        pset_show(shell);
        return;
    }
    Args value = *args;
    value.n--;
    memmove(value.arg, value.arg + 1, (size_t)value.n * sizeof value.arg[0]);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (strcmp(options[i].name, args->arg[0]) != 0) continue;
        if (options[i].run != NULL) options[i].run(shell, &value);
        return;
    }
    shell_complain(shell, "\\pset: unknown option: %s", args->arg[0]);
}

/* ---- switches of the shell itself ----------------------------------------------------------- */

void cmd_bail(Shell *shell, const Args *args)
{
    set_switch(shell, args, &shell->stop_on_error);
}

void cmd_echo_switch(Shell *shell, const Args *args)
{
    bool on = shell->echo == SWITCH_ON;
    set_switch(shell, args, &on);
    shell->echo = on ? SWITCH_ON : SWITCH_OFF;
}

void cmd_show(Shell *shell, const Args *args)
{
    (void)args;
    FILE *to = shell->out.file;
    fprintf(to, "bail       %s\necho       %s\ntimer      %s\nquiet      %s\n", on_off(shell->stop_on_error),
            on_off(shell->echo == SWITCH_ON), on_off(shell->timing), on_off(shell->quiet));
    fprintf(to, "headers    %s\ndatabase   %s\n", on_off(shell->look.headers),
            shell->path == NULL ? "(in memory)" : shell->path);
    pset_show(shell);
    assert(to == shell->out.file);
}
