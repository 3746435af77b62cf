/*
 * lock.c: the lock file: who writes, who reads which generation, and the mark.
 *
 *     0   "TCUDBLCK"            8   u64 process id of the last writer
 *     64  u64 generation        72  u64 length of its log       80  u64 XXH3-64 of the 16 bytes before
 *
 * Locked bytes lie far behind the contents: WRITE_BYTE for the writer, READ_BYTES + G for readers of generation G. A
 * lock on a byte needs no byte to be there. The mark is a hint for speed and for telling a damaged log from an
 * unfinished one: without it everything still works.
 */
#include "store/disk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const off_t WRITE_BYTE = (off_t)1 << 32;
static const off_t READ_BYTES = (off_t)1 << 40;
enum { PID_OFFSET = 8, MARK_OFFSET = 64 };

static int lock_range(Db *db, int command, short type, off_t start, off_t length, struct flock *lock)
{
    *lock = (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    int rc;
    do {
        rc = fcntl(db->disk->lock_fd, command, lock);
    } while (rc != 0 && errno == EINTR);
    return rc;
}

tcudb_status lock_open(Db *db, Error *err)
{
    char path[PATH_TEXT];
    TRY(file_path(path, db->path, "lock", UINT64_MAX, err));
    db->disk->lock_fd = -1;
    if (!db->read_only) {
        TRY(file_open(path, O_RDWR | O_CREAT, &db->disk->lock_fd, err));
        return file_write(db->disk->lock_fd, path, "TCUDBLCK", 8, 0, err);
    }
    if (file_open(path, O_RDONLY, &db->disk->lock_fd, err) != TCUDB_OK) db->disk->lock_fd = -1;
    return TCUDB_OK; /* nobody has ever written here, or nobody can: nothing to lock against */
}

tcudb_status lock_try_write(Db *db, bool *got, Error *err)
{
    struct flock lock;
    *got = lock_range(db, F_OFD_SETLK, F_WRLCK, WRITE_BYTE, 1, &lock) == 0;
    if (!*got) {
        if (errno == EAGAIN || errno == EACCES) return TCUDB_OK;
        return error_system(err, errno, "lock", db->path);
    }
    uint64_t pid = (uint64_t)getpid();
    ssize_t put = pwrite(db->disk->lock_fd, &pid, sizeof pid, PID_OFFSET);
    (void)put; /* only for messages */
    return TCUDB_OK;
}

void lock_release_write(Db *db)
{
    struct flock lock;
    lock_range(db, F_OFD_SETLK, F_UNLCK, WRITE_BYTE, 1, &lock);
}

uint64_t lock_writer_pid(Db *db)
{
    uint64_t pid = 0;
    if (pread(db->disk->lock_fd, &pid, sizeof pid, PID_OFFSET) != sizeof pid) return 0;
    return pid;
}

bool lock_writer_elsewhere(Db *db)
{
    if (db->disk->lock_fd < 0) return false;
    struct flock lock;
    return lock_range(db, F_OFD_GETLK, F_RDLCK, WRITE_BYTE, 1, &lock) == 0 && lock.l_type != F_UNLCK;
}

tcudb_status lock_hold_generation(Db *db, uint64_t number, Error *err)
{
    if (db->disk->lock_fd < 0) return TCUDB_OK;
    struct flock lock;
    if (lock_range(db, F_OFD_SETLK, F_RDLCK, READ_BYTES + (off_t)number, 1, &lock) == 0) return TCUDB_OK;
    return error_system(err, errno, "lock", db->path);
}

void lock_release_generation(Db *db, uint64_t number)
{
    if (db->disk->lock_fd < 0) return;
    struct flock lock;
    lock_range(db, F_OFD_SETLK, F_UNLCK, READ_BYTES + (off_t)number, 1, &lock);
}

bool lock_older_readers(Db *db, uint64_t number)
{
    assert(number > 0);
    struct flock lock;
    if (lock_range(db, F_OFD_GETLK, F_WRLCK, READ_BYTES, (off_t)number, &lock) != 0) return true;
    return lock.l_type != F_UNLCK;
}

typedef struct StoredMark {
    Mark mark;
    uint64_t sum;
} StoredMark;

bool lock_read_mark(Db *db, Mark *mark)
{
    StoredMark stored;
    if (db->disk->lock_fd < 0) return false;
    for (uint32_t tries = 0; tries < 3; tries++) { /* the writer may be at it */
        if (pread(db->disk->lock_fd, &stored, sizeof stored, MARK_OFFSET) != sizeof stored) return false;
        *mark = stored.mark;
        if (stored.sum == XXH3_64bits(&stored.mark, sizeof stored.mark)) return true;
    }
    return false;
}

void lock_write_mark(Db *db, Mark mark)
{
    StoredMark stored = {mark, XXH3_64bits(&mark, sizeof mark)};
    ssize_t put = pwrite(db->disk->lock_fd, &stored, sizeof stored, MARK_OFFSET);
    (void)put; /* a hint */
}
