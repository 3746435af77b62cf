/*
 * fail_nth.c: a library to preload (LD_PRELOAD) that makes the n-th call of a kind fail.
 *
 * TCUDB_FAIL=alloc:N fails the N-th allocation of tcudb itself (base/mem.c takes all of them from aligned_alloc
 * and mmap; libpg_query's are among them); malloc:N one of the other libraries'; io:N the N-th file call (open, read,
 * write, pread, pwrite, fsync, fdatasync, sync_file_range, rename, unlink, ftruncate, mkdir, mmap of a file); stdio:N
 * the N-th time that a stream of fopen opens, reads, writes or closes its file, under its buffer; short:N has the N-th
 * write of such a stream take half of its bytes. With a trailing + every later one fails too. The error is ENOMEM, or
 * TCUDB_FAIL_ERRNO (default EIO; 28 is a full disk).
 * odd:N makes files awkward instead: of the open, read, write, sync and ftruncate calls every N-th ends with EINTR, and
 * of the reads and writes every N-th of the others transfers one byte only. Nobody may notice.
 * When the call fails, "F" is written to the descriptor in TCUDB_FAIL_FD, so that the driver knows that the program
 * made at least N such calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Injector {
    long target;
    bool onwards;
    _Atomic long calls;
} Injector;

static Injector alloc_faults, malloc_faults, io_faults, odd_calls, stdio_faults, short_writes;
static int io_errno = EIO, signal_fd = -1;
static bool ready;

static long parse(const char *text, bool *onwards)
{
    long n = 0;
    for (; *text >= '0' && *text <= '9'; text++) n = n * 10 + (*text - '0');
    *onwards = *text == '+';
    return n;
}

__attribute__((constructor)) static void start(void)
{
    const char *what = getenv("TCUDB_FAIL"), *error = getenv("TCUDB_FAIL_ERRNO"), *fd = getenv("TCUDB_FAIL_FD");
    bool ignored;
    if (error != NULL) io_errno = (int)parse(error, &ignored);
    if (fd != NULL) signal_fd = (int)parse(fd, &ignored);
    if (what != NULL && strncmp(what, "alloc:", 6) == 0) alloc_faults.target = parse(what + 6, &alloc_faults.onwards);
    if (what != NULL && strncmp(what, "malloc:", 7) == 0)
        malloc_faults.target = parse(what + 7, &malloc_faults.onwards);
    if (what != NULL && strncmp(what, "io:", 3) == 0) io_faults.target = parse(what + 3, &io_faults.onwards);
    if (what != NULL && strncmp(what, "odd:", 4) == 0) odd_calls.target = parse(what + 4, &ignored);
    if (what != NULL && strncmp(what, "stdio:", 6) == 0) stdio_faults.target = parse(what + 6, &stdio_faults.onwards);
    if (what != NULL && strncmp(what, "short:", 6) == 0) short_writes.target = parse(what + 6, &short_writes.onwards);
    ready = true;
}

static bool fails(Injector *injector, int error)
{
    if (!ready || injector->target == 0) return false;
    long call = atomic_fetch_add(&injector->calls, 1) + 1;
    bool fail = call == injector->target || (injector->onwards && call > injector->target);
    if (!fail) return false;
    if (call == injector->target && signal_fd >= 0) {
        ssize_t (*real)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
        (void)!real(signal_fd, "F", 1);
    }
    errno = error;
    return true;
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size)
{
    return fails(&malloc_faults, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(&malloc_faults, ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *ptr, size_t size)
{
    return fails(&malloc_faults, ENOMEM) ? NULL : __libc_realloc(ptr, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(&alloc_faults, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (fails(&alloc_faults, ENOMEM)) return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out == NULL ? ENOMEM : 0;
}

/* The real function behind an interposed one. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define FAIL_IO(failure)                                                                                               \
    do {                                                                                                               \
        if (fails(&io_faults, io_errno)) return (failure);                                                             \
    } while (0)

/* Whether an awkward call is interrupted. *size, if there is one: how much is transferred. */
static bool interrupted(size_t *size)
{
    if (!ready || odd_calls.target == 0) return false;
    long call = atomic_fetch_add(&odd_calls.calls, 1) + 1;
    if (call % odd_calls.target == 0) {
        errno = EINTR;
        return true;
    }
    if (size != NULL && *size > 1 && (call + odd_calls.target / 2) % odd_calls.target == 0) *size = 1;
    return false;
}

#define MAY_BE_INTERRUPTED(size)                                                                                       \
    do {                                                                                                               \
        if (interrupted(size)) return -1;                                                                              \
    } while (0)

static int open_mode(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = open_mode(flags, args);
    va_end(args);
    MAY_BE_INTERRUPTED(NULL);
    FAIL_IO(-1);
    return REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = open_mode(flags, args);
    va_end(args);
    MAY_BE_INTERRUPTED(NULL);
    FAIL_IO(-1);
    return REAL(openat)(folder, path, flags, mode);
}

ssize_t read(int fd, void *buffer, size_t n)
{
    MAY_BE_INTERRUPTED(&n);
    FAIL_IO(-1);
    return REAL(read)(fd, buffer, n);
}

ssize_t pread(int fd, void *buffer, size_t n, off_t at)
{
    MAY_BE_INTERRUPTED(&n);
    FAIL_IO(-1);
    return REAL(pread)(fd, buffer, n, at);
}

/* Output to the terminal is not a database's concern: descriptors 0 to 2 never fail. */
ssize_t write(int fd, const void *buffer, size_t n)
{
    if (fd > 2) MAY_BE_INTERRUPTED(&n);
    if (fd > 2) FAIL_IO(-1);
    return REAL(write)(fd, buffer, n);
}

ssize_t pwrite(int fd, const void *buffer, size_t n, off_t at)
{
    MAY_BE_INTERRUPTED(&n);
    FAIL_IO(-1);
    return REAL(pwrite)(fd, buffer, n, at);
}

int fsync(int fd)
{
    MAY_BE_INTERRUPTED(NULL);
    FAIL_IO(-1);
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    MAY_BE_INTERRUPTED(NULL);
    FAIL_IO(-1);
    return REAL(fdatasync)(fd);
}

int sync_file_range(int fd, off_t from, off_t n, unsigned flags)
{
    MAY_BE_INTERRUPTED(NULL);
    FAIL_IO(-1);
    return REAL(sync_file_range)(fd, from, n, flags);
}

int rename(const char *from, const char *to)
{
    FAIL_IO(-1);
    return REAL(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    FAIL_IO(-1);
    return REAL(renameat)(from_folder, from, to_folder, to);
}

int unlink(const char *path)
{
    FAIL_IO(-1);
    return REAL(unlink)(path);
}

int ftruncate(int fd, off_t size)
{
    MAY_BE_INTERRUPTED(NULL);
    FAIL_IO(-1);
    return REAL(ftruncate)(fd, size);
}

int mkdir(const char *path, mode_t mode)
{
    FAIL_IO(-1);
    return REAL(mkdir)(path, mode);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0) FAIL_IO(MAP_FAILED);
    if (fd < 0 && fails(&alloc_faults, ENOMEM)) return MAP_FAILED; /* base/mem.c's large blocks */
    return REAL(mmap)(at, n, protection, flags, fd, offset);
}

/* ---- streams ---- */

static ssize_t stream_read(void *fd, char *buffer, size_t n)
{
    if (fails(&stdio_faults, io_errno)) return -1;
    return REAL(read)((int)(intptr_t)fd, buffer, n);
}

static ssize_t stream_write(void *fd, const char *buffer, size_t n)
{
    if (fails(&stdio_faults, io_errno)) return 0; /* what fopencookie's writers return for an error */
    if (fails(&short_writes, ENOSPC)) n /= 2;
    ssize_t done = REAL(write)((int)(intptr_t)fd, buffer, n);
    return done < 0 ? 0 : done;
}

static int stream_close(void *fd)
{
    bool fail = fails(&stdio_faults, io_errno);
    return close((int)(intptr_t)fd) != 0 || fail ? -1 : 0;
}

FILE *fopen(const char *path, const char *mode)
{
    bool writes = mode[0] == 'w';
    if ((stdio_faults.target == 0 && short_writes.target == 0) || (!writes && mode[0] != 'r'))
        return REAL(fopen)(path, mode);
    if (fails(&stdio_faults, io_errno)) return NULL;
    int fd = REAL(open)(path, writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0666);
    if (fd < 0) return NULL;
    cookie_io_functions_t functions = {.read = stream_read, .write = stream_write, .close = stream_close};
    return fopencookie((void *)(intptr_t)fd, mode, functions);
}
