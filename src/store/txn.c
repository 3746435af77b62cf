/*
 * txn.c: transactions: snapshots, the write lock, savepoints, commit.
 *
 * A transaction reads `base`, the Root of its snapshot, or `work`, its own copy, from its first change on. Changing
 * a table replaces its version in `work`; versions that somebody may be reading (frozen, or shared with a
 * savepoint) are copied first and kept until the end. A savepoint is one more reference to `work`: the next change
 * copies it. Commit makes `work` the database's root.
 *
 * The write lock: db->writer, guarded by db->lock; waiters sleep on writer_free up to the lock timeout.
 */
#include "store/store_int.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

enum { LOOK_MS = 20 };                    /* between two looks at `cancel` while waiting */
enum { SPARES_AFTER_WRITING = 32 << 20 }; /* a load's buffers are not needed by what comes next, an UPDATE's are */

static tcudb_status reserve_save(Txn *txn, Error *err)
{
    if (txn->nsaves < txn->cap_saves) return TCUDB_OK;
    Savepoint cap = txn->cap_saves * 2 + 4;
    SavedRoot *saves =
        mem_realloc(&txn->db->mem, txn->saves, txn->cap_saves * sizeof saves[0], cap * sizeof saves[0], err);
    TRY_PTR(saves);
    txn->saves = saves;
    txn->cap_saves = cap;
    return TCUDB_OK;
}

tcudb_status txn_begin(Db *db, Txn **out, Error *err)
{
    Txn *txn = mem_alloc_zero(&db->mem, sizeof *txn, err);
    TRY_PTR(txn);
    txn->db = db;
    tcudb_status status = db->disk == NULL ? TCUDB_OK : disk_refresh(db, err);
    if (status == TCUDB_OK) status = reserve_save(txn, err);
    if (status != TCUDB_OK) {
        mem_free(&db->mem, txn, sizeof *txn);
        return status;
    }
    pthread_mutex_init(&txn->lock, NULL);
    pthread_mutex_init(&txn->parts_lock, NULL);
    pthread_mutex_lock(&db->lock);
    txn->base = db->root;
    root_ref(txn->base);
    txn->began = atomic_fetch_add(&db->clock, 1) + 1;
    txn->live_next = db->live;
    txn->live_at = &db->live;
    if (db->live != NULL) db->live->live_at = &txn->live_next;
    db->live = txn;
    pthread_mutex_unlock(&db->lock);
    *out = txn;
    return TCUDB_OK;
}

static void drop_saves(Txn *txn, Savepoint from)
{
    for (Savepoint i = from; i < txn->nsaves; i++) root_unref(txn->saves[i].root);
    txn->nsaves = from;
}

static void release_lock(Txn *txn)
{
    Db *db = txn->db;
    if (!txn->writer) return;
    if (db->disk != NULL) disk_unlock(db);
    pthread_mutex_lock(&db->lock);
    db->writer = NULL;
    pthread_cond_signal(&db->writer_free);
    pthread_mutex_unlock(&db->lock);
}

/* The part files of a transaction that failed, and after a fold what is without use, go while it has the lock. */
static void end(Txn *txn, bool committed)
{
    Db *db = txn->db;
    pthread_mutex_lock(&db->lock);
    *txn->live_at = txn->live_next;
    if (txn->live_next != NULL) txn->live_next->live_at = txn->live_at;
    pthread_mutex_unlock(&db->lock);
    drop_saves(txn, 0);
    drop_pending(txn);
    drop_caches(txn);
    for (uint32_t i = 0; i < txn->nheld; i++) table_unref(txn->held[i]);
    for (uint32_t i = 0; i < txn->nheld_views; i++) view_unref(txn->held_views[i]);
    mem_free(&db->mem, txn->held, txn->cap_held * sizeof txn->held[0]);
    mem_free(&db->mem, txn->held_views, txn->cap_held_views * sizeof txn->held_views[0]);
    mem_free(&db->mem, txn->saves, txn->cap_saves * sizeof txn->saves[0]);
    root_unref(txn->work);
    root_unref(txn->base);
    root_unref(txn->stale);
    txn_drop_parts(txn, committed);
    if (committed && txn->folding && db->disk != NULL) disk_collect_garbage(db, db->root, db->root->generation->number);
    release_lock(txn);
    pthread_mutex_destroy(&txn->lock);
    pthread_mutex_destroy(&txn->parts_lock);
    mem_free(&db->mem, txn, sizeof *txn);
}

/* Dictionaries after a commit, or after changes were undone. */
static void settle_dicts(const Txn *txn, const Root *root, bool committed)
{
    bool cut = !disk_doubtful(txn->db);
    for (uint32_t t = 0; root != NULL && t < root->ntables; t++) {
        const TableMeta *meta = root->tables[t]->meta;
        for (uint32_t c = 0; c < meta->def.ncols; c++) {
            if (meta->dicts[c] == NULL) continue;
            if (committed)
                dict_commit(meta->dicts[c]);
            else
                dict_give_up(meta->dicts[c], cut);
        }
    }
}

/* Those that the transaction has, and those that it had at `before`: a table or column may be gone since. */
static void give_up_dicts(const Txn *txn, const Root *before)
{
    if (txn->work == NULL) return;
    settle_dicts(txn, txn->work, false);
    settle_dicts(txn, before, false);
}

void txn_rollback(Txn *txn)
{
    assert(txn->appenders == 0);
    if (txn->temp != NULL) txn_rollback(txn->temp);
    give_up_dicts(txn, txn->base);
    end(txn, false);
}

static void freeze(Root *root)
{
    for (uint32_t t = 0; t < root->ntables; t++)
        if (!atomic_load_explicit(&root->tables[t]->frozen, memory_order_relaxed))
            atomic_store_explicit(&root->tables[t]->frozen, true, memory_order_relaxed);
}

/* The transaction's state becomes the database's. */
static void publish(Txn *txn)
{
    Db *db = txn->db;
    Root *root = txn->work;
    freeze(root);
    bool due = false;
    for (uint32_t t = 0; t < root->ntables && !due; t++) due = table_is_due(root->tables[t]);
    atomic_store(&db->compact_due, due);
    pthread_mutex_lock(&db->lock);
    Root *old = db->root;
    db->root = root;
    txn->work = NULL;
    pthread_mutex_unlock(&db->lock);
    root_unref(old);
}

static tcudb_status commit(Txn *txn, Error *err)
{
    assert(txn->appenders == 0);
    Db *db = txn->db;
    tcudb_status status = txn_settle(txn, err);
    bool writes = status == TCUDB_OK && txn->work != NULL;
    if (writes) {
        drop_saves(txn, 0);
        txn->work->commit = txn->base->commit + 1;
        if (db->disk != NULL) status = disk_commit(txn, err);
    }
    if (writes && status == TCUDB_OK)
        settle_dicts(txn, txn->work, true);
    else
        give_up_dicts(txn, txn->base);
    if (writes && status == TCUDB_OK) publish(txn);
    end(txn, writes && status == TCUDB_OK);
    if (writes) mem_trim(&db->mem, SPARES_AFTER_WRITING);
    return status;
}

/* The temporary side last: what is durable by then stays. */
tcudb_status txn_commit(Txn *txn, Error *err)
{
    Txn *temp = txn->temp;
    txn->temp = NULL;
    tcudb_status status = commit(txn, err);
    if (temp == NULL) return status;
    if (status == TCUDB_OK) return commit(temp, err);
    txn_rollback(temp);
    return status;
}

bool txn_has_writes(const Txn *txn)
{
    return txn->work != NULL;
}

void txn_set_cancel(Txn *txn, const atomic_bool *cancel)
{
    txn->cancel = cancel;
    if (txn->temp != NULL) txn->temp->cancel = cancel;
}

/* ---- the write lock --------------------------------------------------------------------------- */

static struct timespec deadline(uint32_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static bool passed(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static tcudb_status lock_in_process(Txn *txn, uint32_t timeout_ms, Error *err)
{
    Db *db = txn->db;
    struct timespec until = deadline(timeout_ms);
    bool late = timeout_ms == 0;
    pthread_mutex_lock(&db->lock);
    while (db->writer != NULL && !late && !cancel_seen(txn->cancel)) {
        struct timespec soon = deadline(LOOK_MS), *next = passed(&until, &soon) ? &until : &soon;
        late = pthread_cond_timedwait(&db->writer_free, &db->lock, next) == ETIMEDOUT && next == &until;
    }
    bool got = db->writer == NULL;
    if (got) db->writer = txn;
    pthread_mutex_unlock(&db->lock);
    if (got) return TCUDB_OK;
    TRY(cancel_poll(txn->cancel, err));
    tcudb_status status =
        error_set(err, SQLSTATE_LOCK_NOT_AVAILABLE, "could not obtain the write lock on the database");
    error_detail(err, "Another connection of this process has an open transaction that writes.");
    error_hint(err, "Retry when it has ended, or raise tcudb.lock_timeout.");
    return status;
}

tcudb_status txn_lock(Txn *txn, Error *err)
{
    Db *db = txn->db;
    if (txn->writer) return TCUDB_OK;
    if (db->read_only)
        return error_set(err, SQLSTATE_READ_ONLY_SQL_TRANSACTION, "the database is open for reading only");
    uint32_t timeout_ms = txn->folding ? 0 : atomic_load(&db->lock_timeout_ms); /* upkeep does not wait */
    TRY(lock_in_process(txn, timeout_ms, err));
    tcudb_status status = db->disk == NULL ? TCUDB_OK : disk_lock(db, timeout_ms, txn->cancel, err);
    pthread_mutex_lock(&db->lock);
    if (status != TCUDB_OK) {
        db->writer = NULL;
        pthread_cond_signal(&db->writer_free);
    } else {
        txn->writer = true;
        if (txn->base != db->root) {
            assert(txn->stale == NULL);
            txn->stale = txn->base;
            txn->base = db->root;
            root_ref(txn->base);
        }
    }
    pthread_mutex_unlock(&db->lock);
    return status;
}

tcudb_status txn_write(Txn *txn, Error *err)
{
    TRY(txn_lock(txn, err));
    TRY(reserve_save(txn, err));
    if (txn->work == NULL) return root_clone(txn->base, &txn->work, err);
    if (atomic_load(&txn->work->refs) == 1) return TCUDB_OK;
    Root *copy;
    TRY(root_clone(txn->work, &copy, err));
    root_unref(txn->work);
    txn->work = copy;
    return TCUDB_OK;
}

tcudb_status txn_hold(Txn *txn, Table *table, Error *err)
{
    Table **held = grow_pointers(&txn->db->mem, txn->held, &txn->cap_held, txn->nheld, err);
    TRY_PTR(held);
    txn->held = held;
    held[txn->nheld++] = table;
    return TCUDB_OK;
}

tcudb_status txn_hold_view(Txn *txn, View *view, Error *err)
{
    View **held = grow_pointers(&txn->db->mem, txn->held_views, &txn->cap_held_views, txn->nheld_views, err);
    TRY_PTR(held);
    txn->held_views = held;
    held[txn->nheld_views++] = view;
    return TCUDB_OK;
}

tcudb_status txn_no_table(Str name, Error *err)
{
    return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
}

tcudb_status txn_write_table(Txn *txn, Str name, Table **out, Error *err)
{
    TRY(txn_write(txn, err));
    bool found;
    uint32_t at = root_find_table(txn->work, name, &found);
    if (!found) return txn_no_table(name, err);
    Table *table = txn->work->tables[at];
    if (atomic_load(&table->frozen) || atomic_load(&table->refs) > 1) {
        Table *copy;
        TRY(table_clone(table, &copy, err));
        tcudb_status status = txn_hold(txn, table, err);
        if (status != TCUDB_OK) {
            table_unref(copy);
            return status;
        }
        txn->work->tables[at] = copy;
        table = copy;
    }
    *out = table;
    return TCUDB_OK;
}

/* ---- savepoints ------------------------------------------------------------------------------- */

/* Needs no memory: txn_begin and txn_write see to it that there is a free slot whenever `work` may have changed. */
Savepoint txn_savepoint(Txn *txn)
{
    Savepoint temp = txn_temp_savepoint(txn);
    if (txn->nsaves > 0 && txn->saves[txn->nsaves - 1].root == txn->work) return temp | (txn->nsaves - 1);
    assert(txn->nsaves < txn->cap_saves);
    root_ref(txn->work);
    txn->saves[txn->nsaves] = (SavedRoot){txn->work};
    return temp | txn->nsaves++;
}

void txn_rollback_to(Txn *txn, Savepoint savepoint)
{
    savepoint = txn_temp_rollback_to(txn, savepoint);
    assert(txn->appenders == 0 && savepoint < txn->nsaves);
    drop_pending(txn);
    Root *root = txn->saves[savepoint].root;
    give_up_dicts(txn, root == NULL ? txn->base : root);
    root_ref(root);
    root_unref(txn->work);
    txn->work = root;
    drop_saves(txn, savepoint + 1);
}
