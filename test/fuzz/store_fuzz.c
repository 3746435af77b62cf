/*
 * store_fuzz.c: fuzz target for the files of a database: one file of a small valid database is replaced by, or patched
 * with, the input; opening and reading it must end in an error or an answer.
 *
 * Byte 0 chooses the file, byte 1 whether to replace it or to patch at the offset of bytes 2 and 3.
 */
#include "tcudb.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 32 };

typedef struct File {
    char name[128];
    uint8_t *bytes;
    size_t size;
} File;

static File files[FILES_MAX];
static uint32_t nfiles;
static char folder[64];

static void ask(const char *sql)
{
    tcudb_db *db;
    tcudb_conn *conn;
    tcudb_error err;
    tcudb_options options = {.size = sizeof options, .threads = 1, .must_exist = nfiles > 0};
    if (tcudb_open(folder, &options, &db, &err) != TCUDB_OK) return;
    if (tcudb_connect(db, &conn, &err) == TCUDB_OK) {
        (void)tcudb_query(conn, sql, NULL, &err);
        tcudb_disconnect(conn);
    }
    tcudb_close(db);
}

static void path_of(char out[256], const char *name)
{
    snprintf(out, 256, "%s/%s", folder, name);
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    char path[256];
    path_of(path, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) return;
    fwrite(bytes, 1, n, file);
    fclose(file);
}

static void read_file(File *file)
{
    char path[256];
    struct stat st;
    path_of(path, file->name);
    FILE *in = fopen(path, "rb");
    if (in == NULL || fstat(fileno(in), &st) != 0) abort();
    file->size = (size_t)st.st_size;
    file->bytes = malloc(file->size + 1);
    if (file->bytes == NULL || fread(file->bytes, 1, file->size, in) != file->size) abort();
    fclose(in);
}

static void empty_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[256];
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        path_of(path, entry->d_name);
        unlink(path);
    }
    if (dir != NULL) closedir(dir);
}

static void start(void)
{
    snprintf(folder, sizeof folder, "/dev/shm/tcudb-fuzz-%d.tcu", (int)getpid());
    ask("CREATE TABLE t(a int, b text, c numeric(20,3), d float8); INSERT INTO t SELECT i, 'text ' || i % 9, i / 7.0, "
        "i "
        "FROM generate_series(1, 3000) g(i); DELETE FROM t WHERE a % 5 = 0; INSERT INTO t VALUES (1, 'log', 2, 3)");
    DIR *dir = opendir(folder);
    struct dirent *entry;
    if (dir == NULL) abort();
    while ((entry = readdir(dir)) != NULL && nfiles < FILES_MAX) {
        if (entry->d_type != DT_REG) continue;
        snprintf(files[nfiles].name, sizeof files[nfiles].name, "%s", entry->d_name);
        read_file(&files[nfiles++]);
    }
    closedir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (nfiles == 0) start();
    if (size < 4 || nfiles == 0) return 0;
    const File *victim = &files[data[0] % nfiles];
    empty_folder();
    for (uint32_t i = 0; i < nfiles; i++) write_file(files[i].name, files[i].bytes, files[i].size);
    if (data[1] % 4 == 0 || victim->size == 0) {
        write_file(victim->name, data + 4, size - 4);
    } else {
        uint8_t *copy = malloc(victim->size);
        if (copy == NULL) return 0;
        memcpy(copy, victim->bytes, victim->size);
        size_t at = ((size_t)data[2] << 8 | data[3]) % victim->size;
        for (size_t i = 4; i < size && at + i - 4 < victim->size; i++) copy[at + i - 4] ^= data[i];
        write_file(victim->name, copy, data[1] % 4 == 1 ? at : victim->size);
        free(copy);
    }
    ask("SELECT count(*), sum(a), min(b), max(c), sum(d) FROM t; INSERT INTO t VALUES (5, 'x', 1, 1)");
    return 0;
}
