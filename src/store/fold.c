/*
 * fold.c: commits by a new manifest, and what becomes of files that nobody needs any more.
 *
 * A large transaction, a log that has grown, or one that cannot be trusted any more end in a new generation: tails of
 * FOLD_ROWS rows become segments, all dictionary values go to their files, the manifest describes everything, and an
 * empty log begins. Order: parts and dictionaries durable, new log durable, manifest durable, renamed, directory
 * durable. Until the rename the old generation is the database; a failure leaves it so.
 *
 * Garbage: files that the manifest does not name. Each goes when no snapshot is left of a generation older than the one
 * that was first seen without it, here or in another process; else the next fold or open tries again.
 */
#include "store/disk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLD_ROWS = 16384 };

static tcudb_status seal_tails(Txn *txn, Error *err)
{
    for (uint32_t t = 0; t < txn->work->ntables; t++) {
        if (txn->work->tables[t]->tail_rows < FOLD_ROWS) continue;
        Table *table;
        TRY(txn_write_table(txn, txn->work->tables[t]->meta->def.name, &table, err));
        TRY(table_seal(table, err));
    }
    return TCUDB_OK;
}

static tcudb_status save_dicts(const Root *root, const atomic_bool *cancel, Error *err)
{
    for (uint32_t t = 0; t < root->ntables; t++) {
        const TableMeta *meta = root->tables[t]->meta;
        for (uint32_t c = 0; c < meta->def.ncols; c++) {
            TRY(cancel_poll(cancel, err));
            if (meta->dicts[c] != NULL) TRY(dict_save(meta->dicts[c], cancel, err));
        }
    }
    return TCUDB_OK;
}

/* The new generation takes the place of the old. Nothing can fail any more. */
static void take_over(Db *db, Generation *generation, int log_fd)
{
    Disk *disk = db->disk;
    Generation *old = disk->current;
    file_close(disk->log_fd);
    disk->log_fd = log_fd;
    disk->log_length = LOG_HEADER;
    disk->log_suspect = disk->old_format = false;
    disk->garbage = false;
    disk->generation = generation->number;
    disk->current = generation;
    lock_write_mark(db, (Mark){generation->number, LOG_HEADER});
    atomic_store(&disk->seen_generation, generation->number);
    atomic_store(&disk->seen_length, LOG_HEADER);
    generation_unref(old);
}

tcudb_status commit_by_manifest(Txn *txn, Error *err)
{
    Db *db = txn->db;
    Disk *disk = db->disk;
    Generation *generation = NULL;
    int log_fd = -1;
    tcudb_status status;
    assert(txn->writer && txn->work != NULL);
    TRY(seal_tails(txn, err));
    TRY(save_dicts(txn->work, txn->cancel, err));
    TRY(txn_sync_parts(txn, err));
    TRY(generation_new(db, disk->generation + 1, &generation, err));
    TRY_GOTO(log_create(db, generation->number, &log_fd, err));
    TRY_GOTO(file_sync_dir(db->path, err));
    TRY_GOTO(manifest_write(db, txn->work, generation->number, err));
    /* Renamed: this is the state now, whatever comes. If the directory cannot be made durable, a crash may bring back
     * the old manifest with its log, which are still there; the next commit must not rest on the new one before. */
    Error ignored;
    disk->dir_suspect = file_sync_dir(db->path, &ignored) != TCUDB_OK;
    disk->new_files = false;
    generation_unref(txn->work->generation);
    txn->work->generation = generation;
    atomic_fetch_add(&generation->refs, 1);
    take_over(db, generation, log_fd);
    return TCUDB_OK;
done:
    file_close(log_fd);
    generation_unref(generation);
    return status;
}

/* ---- garbage ---------------------------------------------------------------------------------- */

static bool dict_in_use(const Root *root, uint64_t id)
{
    for (uint32_t t = 0; t < root->ntables; t++) {
        const TableMeta *meta = root->tables[t]->meta;
        for (uint32_t c = 0; c < meta->def.ncols; c++)
            if (meta->dicts[c] != NULL && meta->dicts[c]->id == id) return true;
    }
    return false;
}

static bool part_in_use(const Root *root, uint64_t number)
{
    for (uint32_t t = 0; t < root->ntables; t++)
        if (table_uses_part(root->tables[t], number)) return true;
    return false;
}

/* Whether the name is "KIND-NUMBER". */
static bool parse_name(const char *name, const char *kind, uint64_t *number)
{
    size_t n = strlen(kind);
    if (strncmp(name, kind, n) != 0 || name[n] != '-' || name[n + 1] < '0' || name[n + 1] > '9') return false;
    char *end;
    *number = strtoull(name + n + 1, &end, 10);
    return *end == '\0';
}

static bool is_garbage(const Db *db, const Root *root, const char *name)
{
    uint64_t number;
    if (strcmp(name, "manifest.tmp") == 0) return true;
    if (parse_name(name, "log", &number)) return number != db->disk->generation;
    if (parse_name(name, "part", &number)) return !part_in_use(root, number);
    if (parse_name(name, "dict", &number)) return !dict_in_use(root, number);
    return false;
}

/* Whether a snapshot of a generation below is left, here or in another process. */
static bool readers_below(Db *db, uint64_t number)
{
    bool below = false;
    pthread_mutex_lock(&db->lock);
    for (Generation *g = db->disk->generations; g != NULL; g = g->next)
        below |= g->number < number && g->number < db->disk->generation;
    pthread_mutex_unlock(&db->lock);
    return below || lock_older_readers(db, number);
}

/* Since which generation the file is known to be without use. */
static uint64_t dead_since(const Disk *disk, const char *name, uint64_t now)
{
    for (uint32_t i = 0; i < disk->ndead; i++)
        if (strcmp(disk->dead[i].name, name) == 0) return disk->dead[i].since;
    return now;
}

/* Without memory, or if the name is too long to be ours, it is found again the next time. */
static void keep_dead(Db *db, DeadFile **list, uint32_t *n, uint32_t *cap, const char *name, uint64_t since)
{
    if (*n == *cap) {
        uint32_t more = *cap * 2 + 8;
        DeadFile *larger = mem_realloc(&db->mem, *list, *cap * sizeof **list, more * sizeof **list, NULL);
        if (larger == NULL) return;
        *list = larger;
        *cap = more;
    }
    DeadFile *dead = &(*list)[(*n)++];
    snprintf(dead->name, sizeof dead->name, "%.39s", name);
    dead->since = since;
}

void disk_free_garbage(Db *db)
{
    mem_free(&db->mem, db->disk->dead, db->disk->cap_dead * sizeof db->disk->dead[0]);
    db->disk->dead = NULL;
    db->disk->ndead = db->disk->cap_dead = 0;
}

/* The caller has the write lock, and no transaction of this process has written part files. A file that cannot be
 * removed is left for the next time. */
void disk_collect_garbage(Db *db, const Root *root, uint64_t since)
{
    Disk *disk = db->disk;
    DeadFile *list = NULL;
    uint32_t n = 0, cap = 0;
    if (disk->dir_suspect) return;
    DIR *dir = opendir(db->path);
    if (dir == NULL) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[PATH_TEXT];
        if (!is_garbage(db, root, entry->d_name)) continue;
        uint64_t from = dead_since(disk, entry->d_name, since);
        bool gone = !readers_below(db, from) &&
                    file_path(path, db->path, entry->d_name, UINT64_MAX, NULL) == TCUDB_OK && unlink(path) == 0;
        if (!gone) keep_dead(db, &list, &n, &cap, entry->d_name, from);
    }
    closedir(dir);
    disk_free_garbage(db);
    disk->dead = list;
    disk->ndead = n;
    disk->cap_dead = cap;
}
