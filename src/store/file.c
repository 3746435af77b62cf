/*
 * file.c: see file.h. Short reads and writes are continued, EINTR is retried, nothing is buffered.
 */
#include "store/file.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SYNC_STEP = 4 << 20 }; /* bytes waited for at once */

tcudb_status file_path(char out[PATH_TEXT], const char *dir, const char *name, uint64_t number, Error *err)
{
    int n = number == UINT64_MAX ? snprintf(out, PATH_TEXT, "%s/%s", dir, name)
                                 : snprintf(out, PATH_TEXT, "%s/%s-%llu", dir, name, (unsigned long long)number);
    if (n >= 0 && n < PATH_TEXT) return TCUDB_OK;
    return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "the database's path is too long");
}

tcudb_status file_open(const char *path, int flags, int *fd, Error *err)
{
    do {
        *fd = fd_open(path, flags, 0666);
    } while (*fd < 0 && errno == EINTR);
    if (*fd >= 0) return TCUDB_OK;
    int errnum = errno;
    tcudb_status status = error_system(err, errnum, "open", path);
    if (errnum == ENOENT) error_hint(err, "A file of the database is missing: restore the database from a copy.");
    return status;
}

void file_close(int fd)
{
    if (fd >= 0) close(fd);
}

tcudb_status file_size(int fd, const char *path, uint64_t *size, Error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return error_system(err, errno, "read the size of", path);
    *size = (uint64_t)st.st_size;
    return TCUDB_OK;
}

tcudb_status file_read(int fd, const char *path, void *to, size_t n, uint64_t offset, Error *err)
{
    while (n > 0) {
        ssize_t got = pread(fd, to, n, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_system(err, errno, "read", path);
        if (got == 0) return file_damaged(err, path, offset, "the file is truncated");
        to = (char *)to + got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return TCUDB_OK;
}

tcudb_status file_write(int fd, const char *path, const void *from, size_t n, uint64_t offset, Error *err)
{
    while (n > 0) {
        ssize_t put = pwrite(fd, from, n, (off_t)offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return error_system(err, errno, "write", path);
        if (put == 0) return error_system(err, ENOSPC, "write", path);
        from = (const char *)from + put;
        n -= (size_t)put;
        offset += (uint64_t)put;
    }
    return TCUDB_OK;
}

tcudb_status file_truncate(int fd, const char *path, uint64_t size, Error *err)
{
    int rc;
    do {
        rc = ftruncate(fd, (off_t)size);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? TCUDB_OK : error_system(err, errno, "truncate", path);
}

tcudb_status file_sync(int fd, const char *path, Error *err)
{
    int rc;
    do {
        rc = fdatasync(fd);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? TCUDB_OK : error_system(err, errno, "make durable", path);
}

void file_start_sync(int fd, uint64_t from, uint64_t to)
{
    if (from < to) (void)sync_file_range(fd, (off_t)from, (off_t)(to - from), SYNC_FILE_RANGE_WRITE);
}

/* Waits for bytes on their way. A fault of the disk is told once, here or by fdatasync: it must not be passed over. */
static tcudb_status wait_range(int fd, const char *path, uint64_t from, uint64_t to, Error *err)
{
    const unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    int rc;
    do {
        rc = sync_file_range(fd, (off_t)from, (off_t)(to - from), all);
    } while (rc != 0 && errno == EINTR);
    bool cannot = rc != 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == ESPIPE);
    return rc == 0 || cannot ? TCUDB_OK : error_system(err, errno, "make durable", path);
}

/* While a step is waited for, the next is on its way. What is left for fdatasync is the file's size. */
tcudb_status file_sync_range(int fd, const char *path, uint64_t from, uint64_t to, const atomic_bool *cancel,
                             Error *err)
{
    for (uint64_t at = from; at < to && to - from > SYNC_STEP; at += SYNC_STEP) {
        uint64_t next = to - at > SYNC_STEP ? at + SYNC_STEP : to;
        file_start_sync(fd, next, to - next > SYNC_STEP ? next + SYNC_STEP : to);
        TRY(cancel_poll(cancel, err));
        TRY(wait_range(fd, path, at, next, err));
    }
    TRY(cancel_poll(cancel, err));
    return file_sync(fd, path, err);
}

tcudb_status file_sync_dir(const char *path, Error *err)
{
    int fd;
    TRY(file_open(path, O_RDONLY | O_DIRECTORY, &fd, err));
    int rc;
    do {
        rc = fsync(fd);
    } while (rc != 0 && errno == EINTR);
    tcudb_status status = rc == 0 ? TCUDB_OK : error_system(err, errno, "make durable", path);
    close(fd);
    return status;
}

tcudb_status file_damaged(Error *err, const char *path, uint64_t offset, const char *what)
{
    tcudb_status status = error_set(err, SQLSTATE_DATA_CORRUPTED, "file \"%s\" is damaged at offset %llu: %s", path,
                                    (unsigned long long)offset, what);
    error_hint(err, "Restore the database from a copy.");
    return status;
}
