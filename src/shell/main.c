/*
 * main.c: the program `tcudb`: a subcommand, or the shell over one database.
 *
 *     tcudb [options] [DATABASE]     -c and -f in order; else standard input; else the terminal
 *
 * Exit status, psql's: 0 done, 1 bad usage or no such file, 2 the database could not be opened, 3 a statement
 * of a script failed. Nothing is initialised before it is needed: `tcudb -c 'select 1'` starts cold.
 */
#include "options.h"
#include "subcommand.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
#define SUBCOMMAND(name, fn, help) {name, fn},
#include "subcommand.def"
#undef SUBCOMMAND
    {NULL, NULL}};

static void set_defaults(Shell *shell)
{
    shell->tty_out = isatty(STDOUT_FILENO);
    shell->tty_err = isatty(STDERR_FILENO);
    shell->out.file = stdout;
    shell->db_options.size = sizeof shell->db_options;
    shell->stop_on_error = true;
    shell->look = (Look){
        .mode = shell->tty_out ? MODE_BOX : MODE_ALIGNED,
        .headers = true,
        .footer = true,
        .types = true,
        .max_rows = 40,
        .pager = SWITCH_AUTO,
    };
}

static bool run_task(Shell *shell, const Task *task)
{
    if (task->file) return shell_script_file(shell, task->text);
    const Source *none = shell->source;
    bool done = shell_script_text(shell, task->text);
    shell->source = none;
    return done;
}

static int run_tasks(Shell *shell, const Options *options)
{
    for (size_t i = 0; i < options->ntasks && !shell->quit; i++)
        if (!run_task(shell, &options->tasks[i]))
            return shell->exit_status == EXIT_FINE ? EXIT_SCRIPT : shell->exit_status;
    return EXIT_FINE;
}

static int run_input(Shell *shell, bool interactive)
{
    if (!interactive) return shell_script_file(shell, "-") ? EXIT_FINE : EXIT_SCRIPT;
    shell->interactive = true;
    if (var_get(shell, "ON_ERROR_STOP", strlen("ON_ERROR_STOP")) == NULL) shell->stop_on_error = false;
    shell->timing = true;
    return shell_terminal(shell) ? EXIT_FINE : EXIT_SCRIPT;
}

static int run(Shell *shell, const Options *options)
{
    if (!shell_open(shell, options->database)) return EXIT_CONNECTION;
    shell_signals(shell);
    bool interactive = options->ntasks == 0 && (options->interactive || isatty(STDIN_FILENO));
    shell_rc(shell);
    if (options->output != NULL) {
        Text command = {0};
        text_printf(&command, "o '%s'", options->output);
        shell_backslash(shell, text_cstr(&command));
        text_free(&command);
        if (shell->failed) return EXIT_FATAL;
    }
    return options->ntasks > 0 ? run_tasks(shell, options) : run_input(shell, interactive);
}

/* Silent where the reader of a pipe has left: it has seen enough. */
static void complain_unwritten(FILE *out, int errnum)
{
    struct stat info;
    if (errnum == EPIPE || (fstat(fileno(out), &info) == 0 && S_ISFIFO(info.st_mode))) return;
    fprintf(stderr, "tcudb: error: could not write all of the output%s%s\n", errnum != 0 ? ": " : "",
            errnum != 0 ? strerror(errnum) : "");
}

static int finish(Shell *shell, int status)
{
    int errnum = fflush(shell->out.file) == 0 ? 0 : errno;
    bool written = errnum == 0 && !ferror(shell->out.file);
    if (!written) complain_unwritten(shell->out.file, errnum);
    if (shell->out.file != stdout) {
        if (shell->out.pipe)
            pclose(shell->out.file);
        else
            written = fclose(shell->out.file) == 0 && written;
    }
    if (!written && status == EXIT_FINE) status = EXIT_FATAL;
    shell_close(shell);
    var_free(shell);
    text_free(&shell->buffer);
    free(shell->restricted);
    text_free(&shell->last);
    text_free(&shell->copy_line);
    return status;
}

/* A standard stream that is closed becomes one on which reading or writing fails, before a file takes its number. */
static void occupy_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
}

int main(int argc, char **argv)
{
    static Shell shell;
    Options options;
    occupy_streams();
    for (int i = 0; argc > 1 && subcommands[i].name != NULL; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0) return subcommands[i].run(argc - 1, argv + 1);
    set_defaults(&shell);
    if (!options_read(&shell, argc, argv, &options)) return EXIT_FATAL;
    if (options.help) options_help(stdout);
    if (options.version) printf("tcudb %s\n", tcudb_version());
    int status = EXIT_FINE;
    if (!options.help && !options.version) status = finish(&shell, run(&shell, &options));
    free(options.tasks);
    assert(status >= EXIT_FINE && status <= EXIT_SCRIPT);
    return status;
}
