/*
 * db.c: opening and closing a database.
 */
#include "store/store_int.h"

#include <assert.h>

static void fill_raw_blocks(Db *db)
{
    for (uint32_t w = 0; w < RAW_WIDTHS; w++)
        for (uint32_t b = 0; b <= SEGMENT_BLOCKS; b++) db->raw_blocks[w][b] = b * CODEC_BLOCK << w;
}

const uint32_t *db_raw_blocks(const Db *db, uint32_t width)
{
    assert(popcount64(width) == 1 && width <= 32);
    return db->raw_blocks[__builtin_ctz(width)];
}

static tcudb_status init_lock(Db *db, Error *err)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    if (rc != 0) return error_system(err, rc, "initialise", "a condition variable");
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    rc = pthread_cond_init(&db->writer_free, &attr);
    pthread_condattr_destroy(&attr);
    if (rc != 0) return error_system(err, rc, "initialise", "a condition variable");
    pthread_mutex_init(&db->lock, NULL);
    pthread_mutex_init(&db->evicting, NULL);
    return TCUDB_OK;
}

enum { SPARE_BYTES = 512 << 20 }; /* freed blocks kept between queries; given back by commits that wrote */

static void release(Db *db)
{
    assert(db->writer == NULL);
    root_unref(db->root);
    disk_close(db);
    if (db->path != NULL) mem_free(&db->mem, db->path, strlen(db->path) + 1);
    mem_trim(&db->mem, 0);
    assert(atomic_load(&db->mem.used) == 0);
    pthread_mutex_destroy(&db->lock);
    pthread_mutex_destroy(&db->evicting);
    pthread_cond_destroy(&db->writer_free);
    mem_free(NULL, db, sizeof *db);
}

static tcudb_status open_disk(Db *db, const char *path, const DbOptions *options, Error *err)
{
    size_t size = strlen(path) + 1;
    db->path = mem_alloc(&db->mem, size, err);
    TRY_PTR(db->path);
    memcpy(db->path, path, size);
    return disk_open(db, options, err);
}

/* A transaction that changes nothing but where things lie. */
static tcudb_status fold(Db *db, const atomic_bool *cancel, Error *err)
{
    Txn *txn;
    TRY(txn_begin(db, &txn, err));
    txn->folding = true;
    txn->cancel = cancel;
    tcudb_status status = txn_write(txn, err);
    if (status == TCUDB_OK) status = txn_compact(txn, err);
    if (status == TCUDB_OK) return txn_commit(txn, err);
    txn_rollback(txn);
    return status;
}

static tcudb_status maintain(Db *db, bool closing, const atomic_bool *cancel, Error *err)
{
    bool due = atomic_load(&db->compact_due) || (db->disk != NULL && disk_fold_due(db, closing));
    if (!due || db->read_only) return TCUDB_OK;
    tcudb_status status = fold(db, cancel, err);
    /* somebody else writes: they will fold */
    if (status != TCUDB_OK && strcmp(err->sqlstate, SQLSTATE_LOCK_NOT_AVAILABLE) == 0) return TCUDB_OK;
    return status;
}

tcudb_status db_open(const char *path, const DbOptions *options, Db **out, Error *err)
{
    Db *db = mem_alloc_zero(NULL, sizeof *db, err);
    TRY_PTR(db);
    mem_init(&db->mem, options->memory_limit);
    mem_keep_spares(&db->mem, SPARE_BYTES);
    db->read_only = options->read_only;
    atomic_init(&db->lock_timeout_ms, options->lock_timeout_ms);
    atomic_init(&db->next_id, options->temp ? UINT64_C(1) << 62 : 1);
    atomic_init(&db->next_file, 1);
    fill_raw_blocks(db);
    tcudb_status status = init_lock(db, err);
    if (status != TCUDB_OK) {
        mem_free(NULL, db, sizeof *db);
        return status;
    }
    bool memory = path == NULL || strcmp(path, ":memory:") == 0;
    status = memory ? root_new(&db->mem, &db->root, err) : open_disk(db, path, options, err);
    if (status != TCUDB_OK) {
        release(db);
        return status;
    }
    Error ignored; /* a full disk, say: what is not folded now is folded later, and what is there can be read */
    if (!memory && maintain(db, false, NULL, &ignored) != TCUDB_OK) error_clear(&ignored);
    *out = db;
    return TCUDB_OK;
}

void db_close(Db *db)
{
    if (db == NULL) return;
    Error ignored; /* what is not folded stays in the log */
    if (db->disk != NULL && maintain(db, true, NULL, &ignored) != TCUDB_OK) error_clear(&ignored);
    release(db);
}

Mem *db_mem(Db *db)
{
    return &db->mem;
}

const char *db_path(const Db *db)
{
    return db->path;
}

void db_set_lock_timeout(Db *db, uint32_t ms)
{
    atomic_store(&db->lock_timeout_ms, ms);
}

tcudb_status db_maintain(Db *db, const atomic_bool *cancel, Error *err)
{
    return maintain(db, false, cancel, err);
}
