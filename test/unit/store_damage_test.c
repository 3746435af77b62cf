/* Damaged files: any byte flipped, any file cut short, missing, or too many. Opening and reading everything either
 * gives what was written or reports XX001 (naming a file and an offset); never wrong rows, never a crash. Every byte of
 * a database whose structures take few bytes, and a sample of those of a larger one; all of them with TCUDB_FAULTS=all.
 */
#include "unit/store_scenario.h"

#include <fcntl.h>
#include <xxhash.h>

static char base[64], dir[80];
static uint32_t nothing_lost, reported;

typedef struct File {
    char path[160];
    uint8_t *bytes;
    size_t size;
} File;

static void read_file(File *f)
{
    FILE *in = fopen(f->path, "rb");
    assert_non_null(in);
    f->bytes = malloc(1 << 22);
    f->size = fread(f->bytes, 1, 1 << 22, in);
    fclose(in);
}

static void write_file(const File *f, size_t size)
{
    FILE *out = fopen(f->path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(f->bytes, 1, size, out), size);
    fclose(out);
}

/* Every byte, not a sample. */
static bool all_bytes(void)
{
    const char *faults = getenv("TCUDB_FAULTS");
    return sc_models == sc_dense || (faults != NULL && strcmp(faults, "all") == 0);
}

/* A database with rows in segments, in the manifest, and in the log; with deletions, dictionaries in files. */
static int make(const Model models[SC_COLS])
{
    sc_models = models;
    snprintf(base, sizeof base, "%s/tcudb_damage_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(base));
    snprintf(dir, sizeof dir, "%s/db.tcu", base);
    Db *db;
    tcudb_status status;
    sc_open_all(dir, false, &db, &err, &status);
    OK(status);
    for (uint32_t k = 0; k < SC_STEPS; k++) {
        OK(sc_step(db, k, &err));
        OK(db_maintain(db, NULL, &err));
    }
    db_close(db);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return make(sc_plain);
}

static int setup_dense(void **state)
{
    (void)state;
    return make(sc_dense);
}

static int teardown(void **state)
{
    (void)state;
    sc_system("rm -rf '%s'%s", base, "");
    return 0;
}

/* Opens, reads, and says which it was. read_only: the files must stay as they are. */
static void check(const File *f, size_t at, const char *what)
{
    Db *db;
    tcudb_status status;
    int found = -1;
    error_clear(&err);
    sc_open_all(dir, true, &db, &err, &status);
    if (status == TCUDB_OK) {
        status = sc_find_state(db, SC_STEPS, SC_STEPS, &found, &err);
        db_close(db);
    }
    if (status == TCUDB_OK) {
        nothing_lost++;
        if (found != SC_STEPS) fail_msg("%s at %zu of %s: wrong rows", what, at, f->path);
        return;
    }
    reported++;
    bool expected = strcmp(err.sqlstate, "XX001") == 0 || strcmp(err.sqlstate, "58P01") == 0;
    if (!expected) fail_msg("%s at %zu of %s: %s %s", what, at, f->path, err.sqlstate, err.message);
    if (strcmp(err.sqlstate, "XX001") == 0 && strstr(err.message, dir) == NULL)
        fail_msg("%s at %zu of %s: %s names no file", what, at, f->path, err.message);
}

static void put_byte_at(int fd, uint8_t byte, size_t at)
{
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

static void flip_bytes(File *f, size_t step)
{
    int fd = open(f->path, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t at = 0; at < f->size; at += at < 128 || f->size - at < 64 ? 1 : step) {
        put_byte_at(fd, f->bytes[at] ^ (uint8_t)(1u << (at % 8)), at);
        check(f, at, "flip");
        put_byte_at(fd, f->bytes[at], at);
    }
    close(fd);
}

static void cut_short(File *f, size_t step)
{
    for (size_t size = 0; size < f->size; size += size < 64 || f->size - size < 64 ? 1 : step) {
        write_file(f, size);
        check(f, size, "cut");
    }
    write_file(f, f->size);
}

static void each_file(void (*fn)(File *, size_t), size_t steps)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    uint32_t files = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        File f;
        snprintf(f.path, sizeof f.path, "%.79s/%.63s", dir, e->d_name);
        read_file(&f);
        nothing_lost = reported = 0;
        fn(&f, all_bytes() ? 1 : f.size / steps + 1);
        bool hint = strcmp(e->d_name, "lock") == 0;
        if (!hint && reported == 0) fail_msg("nothing reported for %s", e->d_name);
        if (hint) assert_int_equal(reported, 0);
        /* all of the manifest and of the log is checked; elsewhere only headers and gaps may go unseen */
        if (strcmp(e->d_name, "manifest") == 0) assert_int_equal(nothing_lost, 0);
        free(f.bytes);
        files++;
    }
    closedir(d);
    assert_true(files >= 5);
}

static void flips_are_reported(void **state)
{
    (void)state;
    each_file(flip_bytes, 150);
}

static void cuts_are_reported(void **state)
{
    (void)state;
    each_file(cut_short, 60);
}

static void missing_files_are_reported(void **state)
{
    (void)state;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "lock") == 0) continue;
        File f;
        char hidden[200];
        snprintf(f.path, sizeof f.path, "%.79s/%.63s", dir, e->d_name);
        snprintf(hidden, sizeof hidden, "%s/hidden", base);
        assert_int_equal(rename(f.path, hidden), 0);
        reported = 0;
        check(&f, 0, "missing");
        DbOptions options = {.create = true}; /* nothing is made anew in its place */
        Db *db;
        if (strcmp(e->d_name, "manifest") == 0) assert_int_equal(db_open(dir, &options, &db, &err), TCUDB_ERROR);
        assert_int_equal(reported, 1);
        assert_int_equal(rename(hidden, f.path), 0);
    }
    closedir(d);
}

/* Files that no database of ours has made are not read, and stay. */
static void other_files_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"notes.txt", "part", "part-x", "dict-1.bak", "manifest.old", "log-", ".hidden"};
    File f = {.bytes = (uint8_t[]){"not of a database"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(f.path, sizeof f.path, "%s/%s", dir, names[i]);
        write_file(&f, 10);
    }
    nothing_lost = 0;
    check(&f, 0, "others' files");
    assert_int_equal(nothing_lost, 1);
    Db *db;
    DbOptions options = {0};
    OK(db_open(dir, &options, &db, &err));
    OK(db_maintain(db, NULL, &err));
    db_close(db); /* folds and collects garbage */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(f.path, sizeof f.path, "%s/%s", dir, names[i]);
        assert_int_equal(access(f.path, F_OK), 0);
    }
}

static void newer_versions_are_refused(void **state)
{
    (void)state;
    File f;
    snprintf(f.path, sizeof f.path, "%s/manifest", dir);
    read_file(&f);
    uint32_t version = 1000;
    memcpy(f.bytes + 8, &version, 4);
    uint64_t sum = XXH3_64bits(f.bytes, 40);
    memcpy(f.bytes + 40, &sum, 8);
    write_file(&f, f.size);
    Db *db;
    tcudb_status status;
    sc_open_all(dir, true, &db, &err, &status);
    assert_int_equal(status, TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "0A000");
    assert_non_null(strstr(err.message, "version 1000"));
    free(f.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flips_are_reported, setup_dense, teardown),
        cmocka_unit_test_setup_teardown(cuts_are_reported, setup_dense, teardown),
        cmocka_unit_test_setup_teardown(flips_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(cuts_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_files_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(other_files_are_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(newer_versions_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
