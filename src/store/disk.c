/*
 * disk.c: a database's directory: opening and making it, following other processes, commits.
 *
 * Opening: the shared lock on the manifest's generation, the manifest, its log. A reader looks at the mark in the lock
 * file at the start of each transaction (one pread) and follows when it has moved. The writer does so once it has the
 * lock, then cuts what an unfinished append has left. While this process holds the write lock, nobody else commits.
 *
 * A commit is a log record, or a manifest if it is large, if the log has grown, or if an append has failed.
 */
#include "store/disk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_FOLD = 4 << 20,    /* a log of this size is folded when there is time */
    LOG_MOST = 16 << 20,   /* a commit that would make it larger is a manifest */
    LOG_CLOSE = 128 << 10, /* folded when the database is closed */
    SEAL_ROWS = 65536,     /* rows of one transaction that make a segment rather than a log record */
    POLL_FIRST_US = 500,
    POLL_MAX_US = 10000,
    RETRIES = 100
};

/* ---- generations ------------------------------------------------------------------------------ */

tcudb_status generation_new(Db *db, uint64_t number, Generation **out, Error *err)
{
    Generation *generation = mem_alloc_zero(&db->mem, sizeof *generation, err);
    TRY_PTR(generation);
    tcudb_status status = lock_hold_generation(db, number, err);
    if (status != TCUDB_OK) {
        mem_free(&db->mem, generation, sizeof *generation);
        return status;
    }
    atomic_init(&generation->refs, 1);
    generation->db = db;
    generation->number = number;
    pthread_mutex_lock(&db->lock);
    generation->next = db->disk->generations;
    db->disk->generations = generation;
    pthread_mutex_unlock(&db->lock);
    *out = generation;
    return TCUDB_OK;
}

void generation_unref(Generation *generation)
{
    if (generation == NULL || atomic_fetch_sub(&generation->refs, 1) != 1) return;
    Db *db = generation->db;
    bool again = false; /* a retried open holds the same number twice */
    pthread_mutex_lock(&db->lock);
    for (Generation **at = &db->disk->generations; *at != NULL;) {
        if (*at == generation) {
            *at = generation->next;
            continue;
        }
        again |= (*at)->number == generation->number;
        at = &(*at)->next;
    }
    if (!again) lock_release_generation(db, generation->number);
    pthread_mutex_unlock(&db->lock);
    mem_free(&db->mem, generation, sizeof *generation);
}

/* ---- following -------------------------------------------------------------------------------- */

/* What others have committed: they may have given a number anew that was an unfinished file's. */
static void publish(Db *db, Root *root)
{
    disk_free_garbage(db);
    pthread_mutex_lock(&db->lock);
    Root *old = db->root;
    db->root = root;
    pthread_mutex_unlock(&db->lock);
    root_unref(old);
}

/* How much of the log must be right: all that the mark says, if it is about this generation. */
static uint64_t known_length(const Mark *mark, bool has_mark, uint64_t generation)
{
    return has_mark && mark->generation == generation ? mark->length : LOG_HEADER;
}

static void freeze_all(Root *root)
{
    for (uint32_t t = 0; t < root->ntables; t++) atomic_store(&root->tables[t]->frozen, true);
}

/* The manifest's generation, locked. Another process may fold in between: then once more. */
static tcudb_status hold_current(Db *db, Generation **out, Error *err)
{
    for (uint32_t tries = 0; tries < RETRIES; tries++) {
        uint64_t number, again;
        TRY(manifest_generation(db, &number, err));
        TRY(generation_new(db, number, out, err));
        tcudb_status status = manifest_generation(db, &again, err);
        if (status == TCUDB_OK && again == number) return TCUDB_OK;
        generation_unref(*out);
        *out = NULL;
        if (status != TCUDB_OK) return status;
    }
    return error_set(err, SQLSTATE_OBJECT_IN_USE, "database \"%s\" changes too quickly to be opened", db->path);
}

/* ---- adopting: what is in memory already */

static int by_place(const void *a, const void *b)
{
    const Column *x = *(Column *const *)a, *y = *(Column *const *)b;
    if (x->part->number != y->part->number) return x->part->number < y->part->number ? -1 : 1;
    if (x->data.offset != y->data.offset) return x->data.offset < y->data.offset ? -1 : 1;
    Type p = x->data.pub.min.type, q = y->data.pub.min.type; /* a column whose type was widened shares its bytes */
    return (p.id << 16 | p.precision << 8 | p.scale) - (q.id << 16 | q.precision << 8 | q.scale);
}

/* The columns with bytes, by place; NULL: none, or no memory, and nothing is adopted. */
static Column **columns_by_place(const Table *table, size_t *n)
{
    size_t room = (size_t)table->nsegs * table->meta->def.ncols;
    Column **list = room == 0 ? NULL : mem_alloc(&table->db->mem, room * sizeof list[0], NULL);
    *n = 0;
    for (uint32_t s = 0; list != NULL && s < table->nsegs; s++)
        for (uint32_t c = 0; c < table->meta->def.ncols; c++)
            if (table->segs[s]->cols[c]->part != NULL) list[(*n)++] = table->segs[s]->cols[c];
    if (list != NULL) qsort(list, *n, sizeof list[0], by_place);
    return list;
}

/* Columns that the process has already take the place of new ones for the same bytes: what is in memory stays so. */
static void adopt_columns(Table *table, const Table *old)
{
    size_t n;
    Column **known = columns_by_place(old, &n);
    for (uint32_t s = 0; known != NULL && s < table->nsegs; s++) {
        Segment *segment = table->segs[s];
        for (uint32_t c = 0; c < segment->ncols; c++) {
            if (segment->cols[c]->part == NULL) continue;
            Column **found = bsearch(&segment->cols[c], known, n, sizeof known[0], by_place);
            if (found == NULL) continue;
            column_ref(*found);
            column_unref(segment->cols[c]);
            segment->cols[c] = *found;
        }
    }
    mem_free(&old->db->mem, known, (size_t)old->nsegs * old->meta->def.ncols * sizeof known[0]);
}

static void adopt(Root *root, const Root *old)
{
    for (uint32_t t = 0; old != NULL && t < root->ntables; t++)
        for (uint32_t u = 0; u < old->ntables; u++)
            if (old->tables[u]->meta->def.id == root->tables[t]->meta->def.id)
                adopt_columns(root->tables[t], old->tables[u]);
}

/* Reads the manifest and its log anew. */
static tcudb_status load(Db *db, const Mark *mark, bool has_mark, Error *err)
{
    Disk *disk = db->disk;
    Generation *generation = NULL;
    Root *root = NULL;
    int log_fd = -1;
    uint64_t number = 0, length = LOG_HEADER;
    tcudb_status status;
    TRY(hold_current(db, &generation, err));
    TRY_GOTO(manifest_read(db, &root, &number, err));
    TRY_GOTO(log_open(db, generation->number, &log_fd, err));
    TRY_GOTO(log_apply(db, generation->number, log_fd, known_length(mark, has_mark, number), &length, root, err));
    adopt(root, db->root);
    freeze_all(root);
    root->generation = generation;
    atomic_fetch_add(&generation->refs, 1);
    file_close(disk->log_fd);
    generation_unref(disk->current);
    disk->log_fd = log_fd;
    disk->log_length = length;
    disk->generation = generation->number;
    disk->current = generation;
    publish(db, root);
    return TCUDB_OK;
done:
    file_close(log_fd);
    root_unref(root);
    generation_unref(generation);
    return status;
}

/* Applies what was added to the log. */
static tcudb_status follow_log(Db *db, const Mark *mark, bool has_mark, Error *err)
{
    Disk *disk = db->disk;
    Root *root;
    uint64_t length = disk->log_length;
    TRY(root_clone(db->root, &root, err));
    tcudb_status status = log_apply(db, disk->generation, disk->log_fd, known_length(mark, has_mark, disk->generation),
                                    &length, root, err);
    if (status != TCUDB_OK || length == disk->log_length) {
        root_unref(root);
        return status;
    }
    freeze_all(root);
    disk->log_length = length;
    publish(db, root);
    return TCUDB_OK;
}

/* Values that transactions of this process added in vain: others may have given their codes to other texts. */
static void forget_uncommitted(const Root *root)
{
    for (uint32_t t = 0; t < root->ntables; t++) {
        const TableMeta *meta = root->tables[t]->meta;
        for (uint32_t c = 0; c < meta->def.ncols; c++)
            if (meta->dicts[c] != NULL) dict_truncate(meta->dicts[c]);
    }
}

static tcudb_status follow_locked(Db *db, bool writer, Error *err)
{
    Disk *disk = db->disk;
    Mark mark = {0};
    bool has_mark = lock_read_mark(db, &mark);
    if (has_mark && mark.generation == atomic_load(&disk->seen_generation) &&
        mark.length == atomic_load(&disk->seen_length) && db->root != NULL && !writer)
        return TCUDB_OK;
    uint64_t number = disk->generation;
    if (db->root != NULL) TRY(manifest_generation(db, &number, err));
    if (db->root == NULL || number != disk->generation) {
        if (db->root != NULL) forget_uncommitted(db->root);
        TRY(load(db, &mark, has_mark, err));
    } else {
        uint64_t size;
        TRY(file_size(disk->log_fd, db->path, &size, err));
        if (size > disk->log_length) {
            forget_uncommitted(db->root);
            TRY(follow_log(db, &mark, has_mark, err));
        }
    }
    atomic_store(&disk->seen_generation, mark.generation);
    atomic_store(&disk->seen_length, mark.length);
    return TCUDB_OK;
}

static bool mark_moved(Db *db)
{
    Mark mark;
    Disk *disk = db->disk;
    if (!lock_read_mark(db, &mark)) return disk->lock_fd < 0 || atomic_load(&disk->seen_generation) != 0;
    return mark.generation != atomic_load(&disk->seen_generation) || mark.length != atomic_load(&disk->seen_length);
}

tcudb_status disk_refresh(Db *db, Error *err)
{
    Disk *disk = db->disk;
    if (atomic_load(&disk->locked) || !mark_moved(db)) return TCUDB_OK;
    pthread_mutex_lock(&disk->sync);
    tcudb_status status = atomic_load(&disk->locked) ? TCUDB_OK : follow_locked(db, false, err);
    pthread_mutex_unlock(&disk->sync);
    return status;
}

/* ---- the write lock ----------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static tcudb_status locked_elsewhere(Db *db, Error *err)
{
    tcudb_status status =
        error_set(err, SQLSTATE_LOCK_NOT_AVAILABLE, "could not obtain the write lock on database \"%s\"", db->path);
    error_detail(err, "Process %llu has an open transaction that writes.", (unsigned long long)lock_writer_pid(db));
    error_hint(err, "Retry when it has ended, or raise tcudb.lock_timeout.");
    return status;
}

static tcudb_status wait_for_lock(Db *db, uint64_t timeout_us, const atomic_bool *cancel, Error *err)
{
    uint64_t until = now_us() + timeout_us;
    useconds_t pause = POLL_FIRST_US;
    for (;;) {
        bool got;
        TRY(lock_try_write(db, &got, err));
        if (got) return TCUDB_OK;
        TRY(cancel_poll(cancel, err));
        if (now_us() >= until) return locked_elsewhere(db, err);
        usleep(pause);
        if (pause < POLL_MAX_US) pause *= 2;
    }
}

/* What lies behind the last commit is an append that was never finished. */
static tcudb_status cut_log(Db *db, Error *err)
{
    Disk *disk = db->disk;
    char path[PATH_TEXT];
    uint64_t size;
    TRY(file_path(path, db->path, "log", disk->generation, err));
    TRY(file_size(disk->log_fd, path, &size, err));
    if (size <= disk->log_length) return TCUDB_OK;
    TRY(file_truncate(disk->log_fd, path, disk->log_length, err));
    return file_sync(disk->log_fd, path, err);
}

static tcudb_status become_writer(Db *db, Error *err)
{
    Disk *disk = db->disk;
    TRY(follow_locked(db, true, err));
    if (!disk->log_suspect) TRY(cut_log(db, err));
    Mark mark = {disk->generation, disk->log_length};
    if (mark.generation != disk->seen_generation || mark.length != disk->seen_length) {
        lock_write_mark(db, mark);
        atomic_store(&disk->seen_generation, mark.generation);
        atomic_store(&disk->seen_length, mark.length);
    }
    return TCUDB_OK;
}

tcudb_status disk_lock(Db *db, uint32_t timeout_ms, const atomic_bool *cancel, Error *err)
{
    Disk *disk = db->disk;
    TRY(wait_for_lock(db, (uint64_t)timeout_ms * 1000, cancel, err));
    pthread_mutex_lock(&disk->sync);
    tcudb_status status = become_writer(db, err);
    if (status == TCUDB_OK) atomic_store(&disk->locked, true);
    pthread_mutex_unlock(&disk->sync);
    if (status != TCUDB_OK) lock_release_write(db);
    return status;
}

void disk_unlock(Db *db)
{
    atomic_store(&db->disk->locked, false);
    lock_release_write(db);
}

/* ---- commits ------------------------------------------------------------------------------------ */

static uint32_t rows_added(const Root *base, const Table *now)
{
    for (uint32_t t = 0; t < base->ntables; t++) {
        const Table *before = base->tables[t];
        if (before->meta->def.id != now->meta->def.id) continue;
        if (before->lineage != now->lineage || now->nsegs > before->nsegs) return now->tail_rows;
        return now->tail_rows - before->tail_rows;
    }
    return now->tail_rows;
}

static tcudb_status seal_large_tails(Txn *txn, Error *err)
{
    for (uint32_t t = 0; t < txn->work->ntables; t++) {
        Table *table = txn->work->tables[t];
        if (rows_added(txn->base, table) < SEAL_ROWS) continue;
        TRY(txn_write_table(txn, table->meta->def.name, &table, err));
        TRY(table_seal(table, err));
    }
    return TCUDB_OK;
}

static bool has_dict(const TableMeta *meta, const Dict *dict)
{
    for (uint32_t c = 0; c < meta->def.ncols; c++)
        if (meta->dicts[c] == dict) return true;
    return false;
}

/* Whether columns that came in the place of others have left a file without any that count. */
static bool leaves_file(const Table *before, const Table *now)
{
    uint64_t last = UINT64_MAX;
    for (uint32_t c = 0; c < before->meta->def.ncols; c++) {
        Dict *dict = before->meta->dicts[c];
        if (dict != NULL && dict->committed.length > 0 && !has_dict(now->meta, dict)) return true;
    }
    for (uint32_t s = 0; s < before->nsegs; s++) {
        const Segment *segment = before->segs[s];
        for (uint32_t c = 0; c < segment->ncols && segment != now->segs[s]; c++) {
            const Part *part = segment->cols[c]->part;
            if (part == NULL || part->number == last) continue;
            if (!table_uses_part(now, part->number)) return true;
            last = part->number;
        }
    }
    return false;
}

static bool leaves_garbage(const Root *base, const Root *work)
{
    for (uint32_t t = 0; t < base->ntables; t++) {
        const Table *before = base->tables[t], *now = NULL;
        for (uint32_t u = 0; u < work->ntables && now == NULL; u++)
            if (work->tables[u]->meta->def.id == before->meta->def.id) now = work->tables[u];
        bool same = now != NULL && now->lineage == before->lineage;
        if (!same && before->nsegs > 0) return true;
        if (same && leaves_file(before, now)) return true;
    }
    return false;
}

static tcudb_status commit_by_log(Txn *txn, const Buf *payload, Error *err)
{
    Db *db = txn->db;
    Disk *disk = db->disk;
    TRY(txn_sync_parts(txn, err));
    if (txn->nparts > 0) disk->new_files = true;
    if (disk->new_files || disk->dir_suspect) {
        TRY(file_sync_dir(db->path, err));
        disk->new_files = disk->dir_suspect = false;
    }
    TRY(log_append(db, payload, err));
    Mark mark = {disk->generation, disk->log_length};
    lock_write_mark(db, mark);
    atomic_store(&disk->seen_generation, mark.generation);
    atomic_store(&disk->seen_length, mark.length);
    return TCUDB_OK;
}

tcudb_status disk_commit(Txn *txn, Error *err)
{
    Disk *disk = txn->db->disk;
    tcudb_status status;
    Buf payload;
    buf_init(&payload, &txn->db->mem);
    if (txn->folding) {
        status = commit_by_manifest(txn, err);
        goto done;
    }
    TRY_GOTO(seal_large_tails(txn, err));
    TRY_GOTO(put_commit(&payload, txn, err));
    if (disk->log_suspect || disk->old_format || disk->log_length + payload.len > LOG_MOST)
        TRY_GOTO(commit_by_manifest(txn, err));
    else
        TRY_GOTO(commit_by_log(txn, &payload, err));
    disk->garbage |= leaves_garbage(txn->base, txn->work);
done:
    buf_free(&payload);
    return status;
}

bool disk_fold_due(Db *db, bool closing)
{
    return db->disk->garbage || db->disk->log_length > (closing ? LOG_CLOSE : LOG_FOLD);
}

bool disk_doubtful(const Db *db)
{
    return db->disk != NULL && db->disk->log_suspect;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static tcudb_status no_database(Db *db, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_UNDEFINED_FILE, "database \"%s\" does not exist", db->path);
    error_hint(err, "Check the name; a database is only made when it is opened for writing and need not exist.");
    return status;
}

static tcudb_status make_directory(Db *db, bool create, Error *err)
{
    struct stat st;
    if (stat(db->path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) return TCUDB_OK;
        return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"%s\" is not a tcudb database", db->path);
    }
    if (errno != ENOENT) return error_system(err, errno, "open", db->path);
    if (!create || db->read_only) return no_database(db, err);
    if (mkdir(db->path, 0777) == 0 || errno == EEXIST) return TCUDB_OK;
    int errnum = errno;
    tcudb_status status = error_system(err, errnum, "create", db->path);
    if (errnum == ENOENT) error_hint(err, "Make the folder that it shall lie in first.");
    if (errnum == EACCES || errnum == EROFS) error_hint(err, "Choose a folder that you may write to.");
    return status;
}

static tcudb_status sync_parent(Db *db, Error *err)
{
    char path[PATH_TEXT];
    TRY(file_path(path, db->path, "..", UINT64_MAX, err));
    return file_sync_dir(path, err);
}

/* Whether there is nothing but what a creation that failed may have left: no other people's files, and no data without
 * their manifest. */
static tcudb_status check_empty(Db *db, Error *err)
{
    char path[PATH_TEXT];
    struct stat st;
    TRY(file_path(path, db->path, "log", 1, err));
    bool lost = stat(path, &st) == 0 && st.st_size > LOG_HEADER, others = false;
    DIR *dir = opendir(db->path);
    if (dir == NULL) return error_system(err, errno, "open", db->path);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        const char *name = e->d_name;
        lost |= strncmp(name, "part-", 5) == 0 || strncmp(name, "dict-", 5) == 0;
        others |= name[0] != '.' && strcmp(name, "lock") != 0 && strcmp(name, "log-1") != 0 &&
                  strcmp(name, "manifest.tmp") != 0;
    }
    closedir(dir);
    if (!lost && !others) return TCUDB_OK;
    tcudb_status status;
    if (lost) {
        status = error_set(err, SQLSTATE_DATA_CORRUPTED, "database \"%s\" has no manifest", db->path);
        error_hint(err, "A file of the database is missing: restore the database from a copy.");
        return status;
    }
    status = error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"%s\" is not a tcudb database", db->path);
    error_hint(err, "Only an empty or absent folder can become one.");
    return status;
}

/* An empty database of generation 1, unless another process has just made it. */
static tcudb_status initialise(Db *db, Error *err)
{
    tcudb_status status;
    int log_fd = -1;
    uint64_t generation;
    Root *root = NULL;
    TRY(wait_for_lock(db, (uint64_t)atomic_load(&db->lock_timeout_ms) * 1000, NULL, err));
    TRY_GOTO(manifest_generation(db, &generation, err));
    if (generation != 0) goto done;
    TRY_GOTO(check_empty(db, err));
    TRY_GOTO(root_new(&db->mem, &root, err));
    TRY_GOTO(log_create(db, 1, &log_fd, err));
    TRY_GOTO(manifest_write(db, root, 1, err));
    TRY_GOTO(file_sync_dir(db->path, err));
    TRY_GOTO(sync_parent(db, err));
    lock_write_mark(db, (Mark){1, LOG_HEADER});
done:
    file_close(log_fd);
    root_unref(root);
    lock_release_write(db);
    return status;
}

static tcudb_status check_manifest(Db *db, bool create, Error *err)
{
    uint64_t generation;
    TRY(manifest_generation(db, &generation, err));
    if (generation != 0) return TCUDB_OK;
    if (!create || db->read_only) return no_database(db, err);
    return initialise(db, err);
}

/* Leftovers of a crash: removed if nobody else is there to mind. */
static void tidy(Db *db)
{
    bool got = false;
    Error ignored;
    if (db->read_only || lock_try_write(db, &got, &ignored) != TCUDB_OK || !got) return;
    pthread_mutex_lock(&db->disk->sync);
    /* After the first record of a log, a reader elsewhere may be at an earlier one: of this generation, too. */
    if (become_writer(db, &ignored) == TCUDB_OK)
        disk_collect_garbage(db, db->root, db->disk->generation + (db->disk->log_length > LOG_HEADER));
    pthread_mutex_unlock(&db->disk->sync);
    lock_release_write(db);
}

static tcudb_status open_all(Db *db, const DbOptions *options, Error *err)
{
    Disk *disk = mem_alloc_zero(&db->mem, sizeof *disk, err);
    TRY_PTR(disk);
    disk->lock_fd = disk->log_fd = -1;
    pthread_mutex_init(&disk->sync, NULL);
    db->disk = disk;
    TRY(make_directory(db, options->create, err));
    uint64_t generation; /* do not leave a lock file in what is no database */
    TRY(manifest_generation(db, &generation, err));
    if (generation == 0) TRY(check_empty(db, err));
    if (generation == 0 && (!options->create || db->read_only)) return no_database(db, err);
    TRY(lock_open(db, err));
    TRY(check_manifest(db, options->create, err));
    pthread_mutex_lock(&disk->sync);
    tcudb_status status = follow_locked(db, false, err);
    pthread_mutex_unlock(&disk->sync);
    if (status != TCUDB_OK) return status;
    tidy(db);
    return TCUDB_OK;
}

tcudb_status disk_open(Db *db, const DbOptions *options, Error *err)
{
    tcudb_status status = open_all(db, options, err);
    uint64_t generation;
    if (status == TCUDB_OK || strcmp(err->sqlstate, SQLSTATE_INSUFFICIENT_PRIVILEGE) != 0) return status;
    bool readable = manifest_generation(db, &generation, NULL) == TCUDB_OK;
    if (readable && generation > 0 && !db->read_only)
        error_hint(err, "You may not write to it. It can be opened for reading only (tcudb --readonly).");
    if (!readable) error_hint(err, "Ask its owner for permission to read it.");
    return status;
}

void disk_close(Db *db)
{
    Disk *disk = db->disk;
    if (disk == NULL) return;
    disk_free_garbage(db);
    generation_unref(disk->current);
    assert(disk->generations == NULL);
    file_close(disk->log_fd);
    file_close(disk->lock_fd);
    pthread_mutex_destroy(&disk->sync);
    mem_free(&db->mem, disk, sizeof *disk);
}
