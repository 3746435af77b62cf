/* The store when the machine or the disk fails at any moment.
 *
 * This program stands between the engine and the system: it has its own pwrite, fdatasync, fsync, rename, ftruncate,
 * unlink and aligned_alloc. Before each of these calls of a fixed scenario the directory is copied twice: as it is
 * (what kill -9 leaves) and as only what was made durable (what a power cut may leave: file contents as of their last
 * fdatasync, names as of the directory's last fsync). Every copy must open to the last acknowledged state or, while a
 * commit is under way, to the one after. Then every n-th call fails in turn: the step must report it, the database must
 * stay as it was, and the scenario must go on. */
#include "unit/store_scenario.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>

static char base[64], dir[80];
static uint32_t done_steps;

enum { CALL_WRITE = 1, CALL_SYNC = 2, CALL_RENAME = 4, CALL_ALLOC = 8, CALL_OTHER = 16 };
static uint32_t fail_kinds;  /* which calls count */
static int64_t fail_at = -1; /* the how-manieth fails */
static bool keep_failing;    /* and all after it */
static int64_t calls;
static void (*before_call)(void);

static bool this_one_fails(uint32_t kind)
{
    if (!sc_faults) return false;
    if (before_call != NULL && kind != CALL_ALLOC) {
        sc_faults = false;
        before_call();
        sc_faults = true;
    }
    if ((fail_kinds & kind) == 0 || fail_at < 0) return false;
    int64_t n = calls++;
    return keep_failing ? n >= fail_at : n == fail_at;
}

/* ---- what is durable -------------------------------------------------------------------------------- */

typedef struct Durable {
    char name[64]; /* as of the directory's last fsync; "": not there */
    ino_t inode;
} Durable;

static Durable names[64];
static uint32_t nnames;

static void content_path(ino_t inode, char out[160])
{
    snprintf(out, 160, "%s/durable/%lu", base, (unsigned long)inode);
}

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(in >= 0 && out >= 0);
    ssize_t n;
    while ((n = read(in, block, sizeof block)) > 0) assert_int_equal(write(out, block, (size_t)n), n);
    close(in);
    close(out);
}

static bool tracking;

static void note_sync(int fd)
{
    struct stat st;
    char from[64], to[160];
    if (!tracking || fstat(fd, &st) != 0) return;
    if (S_ISDIR(st.st_mode)) {
        nnames = 0;
        DIR *d = opendir(dir);
        for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
            if (e->d_name[0] == '.' || strlen(e->d_name) > 60) continue;
            assert_true(nnames < 64);
            snprintf(names[nnames].name, sizeof names[0].name, "%.60s", e->d_name);
            names[nnames++].inode = e->d_ino;
        }
        if (d != NULL) closedir(d);
        return;
    }
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    content_path(st.st_ino, to);
    copy_file(from, to);
}

/* The directory as after a power cut. */
static void make_durable_copy(const char to[160])
{
    assert_int_equal(mkdir(to, 0777), 0);
    for (uint32_t i = 0; i < nnames; i++) {
        char from[160], target[320];
        content_path(names[i].inode, from);
        snprintf(target, sizeof target, "%.160s/%.63s", to, names[i].name);
        if (access(from, F_OK) == 0)
            copy_file(from, target);
        else
            close(open(target, O_WRONLY | O_CREAT, 0666)); /* its name was durable, its contents never */
    }
}

/* ---- the system, with faults -------------------------------------------------------------------------- */

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
    typedef ssize_t (*Fn)(int, const void *, size_t, off_t);
    Fn real = REAL("pwrite", Fn);
    if (this_one_fails(CALL_WRITE)) {
        if (n > 1) real(fd, data, n / 2, offset); /* half of it gets there */
        errno = ENOSPC;
        return -1;
    }
    return real(fd, data, n, offset);
}

int fdatasync(int fd)
{
    if (this_one_fails(CALL_SYNC)) {
        errno = EIO;
        return -1;
    }
    note_sync(fd);
    return 0;
}

int fsync(int fd)
{
    return fdatasync(fd);
}

int rename(const char *from, const char *to)
{
    typedef int (*Fn)(const char *, const char *);
    if (this_one_fails(CALL_RENAME)) {
        errno = EIO;
        return -1;
    }
    return REAL("rename", Fn)(from, to);
}

int ftruncate(int fd, off_t size)
{
    typedef int (*Fn)(int, off_t);
    if (this_one_fails(CALL_OTHER)) {
        errno = EIO;
        return -1;
    }
    return REAL("ftruncate", Fn)(fd, size);
}

int unlink(const char *path)
{
    typedef int (*Fn)(const char *);
    if (this_one_fails(CALL_OTHER)) {
        errno = EIO;
        return -1;
    }
    return REAL("unlink", Fn)(path);
}

void *aligned_alloc(size_t align, size_t size)
{
    void *p = NULL;
    if (this_one_fails(CALL_ALLOC)) return NULL;
    return posix_memalign(&p, align, size) == 0 ? p : NULL;
}

/* ---- crashes ---------------------------------------------------------------------------------------- */

static uint32_t copies;

static void check_copy(const char *path, bool synced)
{
    Db *db;
    tcudb_status status;
    int state;
    sc_open_all(path, copies % 2 == 0 && done_steps > 0, &db, &err, &status);
    if (status != TCUDB_OK) fail_msg("copy %u (%d) after step %u: %s", copies, synced, done_steps, err.message);
    status = sc_find_state(db, done_steps, done_steps < SC_STEPS ? done_steps + 1 : SC_STEPS, &state, &err);
    if (status != TCUDB_OK) fail_msg("copy %u (%d) after step %u: %s", copies, synced, done_steps, err.message);
    if (state < 0) fail_msg("copy %u (%d) after step %u has a state of neither", copies, synced, done_steps);
    /* it can go on from there */
    if (copies % 2 == 1 && state < SC_STEPS) {
        OK(sc_step(db, (uint32_t)state, &err));
        OK(sc_find_state(db, (uint32_t)state + 1, (uint32_t)state + 1, &state, &err));
        assert_true(state >= 0);
    }
    db_close(db);
    sc_system("rm -rf '%s'%s", path, "");
}

static void crash_here(void)
{
    char killed[160], cut[160];
    bool was = tracking;
    tracking = false;
    snprintf(killed, sizeof killed, "%s/killed", base);
    snprintf(cut, sizeof cut, "%s/cut", base);
    sc_system("cp -r '%s' '%s'", dir, killed);
    make_durable_copy(cut);
    copies++;
    check_copy(killed, false);
    check_copy(cut, true);
    tracking = was;
}

static int setup(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/tcudb_crash_XXXXXX");
    assert_non_null(mkdtemp(base));
    snprintf(dir, sizeof dir, "%s/db.tcu", base);
    sc_system("mkdir '%s/durable'%s", base, "");
    done_steps = 0;
    fail_at = -1;
    before_call = NULL;
    sc_faults = tracking = false;
    nnames = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sc_faults = false;
    sc_system("rm -rf '%s'%s", base, "");
    return 0;
}

static void every_crash_leaves_the_last_commit(void **state)
{
    (void)state;
    Db *db;
    tcudb_status status;
    tracking = true;
    sc_open_all(dir, false, &db, &err, &status);
    OK(status);
    before_call = crash_here;
    for (uint32_t k = 0; k < SC_STEPS; k++) {
        sc_faults = true;
        OK(sc_step(db, k, &err));
        sc_faults = false;
        done_steps = k + 1;
        sc_faults = true;
        OK(db_maintain(db, NULL, &err));
        sc_faults = false;
    }
    assert_true(copies > 50);
    sc_faults = true;
    db_close(db);
    sc_faults = false;
}

/* ---- faults ----------------------------------------------------------------------------------------- */

/* Steps until all are done, each tried again after a failure. Returns whether a fault has happened. */
static bool run_with_fault(uint32_t kinds, int64_t at, bool stay)
{
    Db *db = NULL;
    tcudb_status status = TCUDB_ERROR;
    fail_kinds = kinds;
    fail_at = at;
    keep_failing = stay;
    calls = 0;
    sc_faults = true;
    sc_open_all(dir, false, &db, &err, &status);
    if (status != TCUDB_OK) {
        sc_faults = false;
        sc_open_all(dir, false, &db, &err, &status);
        OK(status);
    }
    for (uint32_t k = 0; k < SC_STEPS; k++) {
        int found;
        sc_faults = true;
        status = sc_step(db, k, &err);
        Error ignored; /* a fold that fails changes nothing */
        if (status == TCUDB_OK && db_maintain(db, NULL, &ignored) != TCUDB_OK) error_clear(&ignored);
        sc_faults = false;
        OK(sc_find_state(db, k, k + 1, &found, &err));
        if (found != (int)k + (status == TCUDB_OK))
            fail_msg("kind %u call %ld step %u: status %d, state %d", kinds, (long)at, k, status, found);
        if (status != TCUDB_OK) OK(sc_step(db, k, &err));
    }
    bool hit = calls > at;
    db_close(db);
    sc_open_all(dir, true, &db, &err, &status);
    OK(status);
    int found;
    OK(sc_find_state(db, SC_STEPS, SC_STEPS, &found, &err));
    assert_int_equal(found, SC_STEPS);
    db_close(db);
    sc_system("rm -rf '%s'%s", dir, "");
    return hit;
}

static void failing_calls_fail_the_step(void **state)
{
    (void)state;
    const uint32_t kinds[] = {CALL_WRITE, CALL_SYNC, CALL_RENAME, CALL_OTHER};
    for (uint32_t i = 0; i < 4; i++)
        for (int64_t at = 0; run_with_fault(kinds[i], at, at % 2 == 1); at++) {}
}

static void failing_allocations_fail_the_step(void **state)
{
    (void)state;
    int64_t step = 1;
    for (int64_t at = 0; run_with_fault(CALL_ALLOC, at, at % 3 == 1); at += step) step = at < 60 ? 1 : at / 20;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_crash_leaves_the_last_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_calls_fail_the_step, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_allocations_fail_the_step, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
