/*
 * fd.c: see fd.h.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int fd_open(const char *path, int flags, mode_t mode)
{
    int fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), errnum = errno;
    close(fd);
    errno = errnum;
    return moved;
}
