/*
 * file.h: the few things that the store asks of a file system, with errors that name the file.
 */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include "base/str.h"

enum { PATH_TEXT = 4096 };

/* Writes "DIR/NAME" or "DIR/NAME-NUMBER" (number UINT64_MAX: none). 54000 if it is too long. */
tcudb_status file_path(char out[PATH_TEXT], const char *dir, const char *name, uint64_t number, Error *err) MUST_CHECK;
/* open(2) with O_CLOEXEC; EINTR is retried. */
tcudb_status file_open(const char *path, int flags, int *fd, Error *err) MUST_CHECK;
void file_close(int fd); /* -1: nothing */
tcudb_status file_size(int fd, const char *path, uint64_t *size, Error *err) MUST_CHECK;
/* All of the bytes or an error; reading past the end is XX001 "truncated". */
tcudb_status file_read(int fd, const char *path, void *to, size_t n, uint64_t offset, Error *err) MUST_CHECK;
tcudb_status file_write(int fd, const char *path, const void *from, size_t n, uint64_t offset, Error *err) MUST_CHECK;
tcudb_status file_truncate(int fd, const char *path, uint64_t size, Error *err) MUST_CHECK;
/* fdatasync. */
tcudb_status file_sync(int fd, const char *path, Error *err) MUST_CHECK;
/* The same where bytes [from, to) were written lately, many perhaps: in steps between which *cancel (may be NULL) is
 * looked at. Interrupted (57014), what is durable is as unknown as after another error. */
tcudb_status file_sync_range(int fd, const char *path, uint64_t from, uint64_t to, const atomic_bool *cancel,
                             Error *err) MUST_CHECK;
/* Written bytes begin their way to the disk, so that file_sync has less to wait for. */
void file_start_sync(int fd, uint64_t from, uint64_t to);
tcudb_status file_sync_dir(const char *path, Error *err) MUST_CHECK;
/* XX001: file "PATH" is damaged at offset N: WHAT */
tcudb_status file_damaged(Error *err, const char *path, uint64_t offset, const char *what);

#endif
