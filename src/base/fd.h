/*
 * fd.h: opening files.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <sys/types.h>

/* open() with O_CLOEXEC that never gives 0, 1 or 2: in a program that has closed its standard streams a file of the
 * database would become one of them, and what the program prints would be written into it. */
int fd_open(const char *path, int flags, mode_t mode);

#endif
