/*
 * pager.c: long outputs through $TCUDB_PAGER, $PSQL_PAGER, $PAGER or less, when they do not fit the screen.
 */
#include "shell.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct winsize screen(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = (struct winsize){0};
    return size;
}

unsigned screen_width(void)
{
    unsigned width = screen().ws_col;
    return width == 0 ? 80 : width;
}

unsigned screen_height(void)
{
    unsigned height = screen().ws_row;
    return height == 0 ? 24 : height;
}

static const char *pager_command(void)
{
    static const char *const names[] = {"TCUDB_PAGER", "PSQL_PAGER", "PAGER"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *command = getenv(names[i]);
        if (command != NULL) return command;
    }
    return "less";
}

/* Whether its first word is a program: a shell that does not find it would swallow the output. */
static bool can_run(const char *command)
{
    size_t n = strcspn(command, " \t");
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    if (memchr(command, '/', n) != NULL) {
        snprintf(file, sizeof file, "%.*s", (int)n, command);
        return access(file, X_OK) == 0;
    }
    while (path != NULL && *path != '\0') {
        size_t folder = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%.*s", (int)folder, path, (int)n, command);
        if (access(file, X_OK) == 0) return true;
        path += folder + (path[folder] == ':');
    }
    return false;
}

FILE *pager_open(Shell *shell, size_t lines)
{
    FILE *to = shell->out.file;
    if (!shell->tty_out || !shell->interactive || to != stdout || shell->look.pager == SWITCH_OFF) return to;
    if (shell->look.pager == SWITCH_AUTO && lines < screen_height()) return to;
    const char *command = pager_command();
    if (command[0] == '\0') return to;
    if (!can_run(command)) {
        if (strcmp(command, "less") != 0)
            fprintf(stderr, "The pager \"%s\" cannot be run; PAGER names another.\n", command);
        return to;
    }
    setenv("LESS", "FRSX", 0);
    fflush(stdout);
    FILE *pager = popen(command, "w");
    return pager == NULL ? to : pager;
}

void pager_close(Shell *shell, FILE *pager)
{
    assert(pager != NULL);
    if (pager != shell->out.file) pclose(pager);
}
