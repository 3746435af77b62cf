/*
 * residency.c: which columns' bytes are in memory.
 *
 * Bytes read from part files (or kept after they were written) stay until they are more than half of the memory limit;
 * then those that no live transaction has used go, until a quarter is left. In memory nothing can go.
 *
 * Two ways to keep a column. A hold counts up and down around a decoding. A pin lasts as long as the transaction,
 * without a list: the database's clock ticks at each txn_begin, a pin stamps the column with it, and a column may go
 * when its stamp is older than every live transaction. Pin or hold first, then look at `resident`. Eviction: clear
 * `resident`, then look at stamp and holds again, and put it back if they have moved; with sequentially consistent
 * atomics one of the two sees the other.
 */
#include "store/store_int.h"

#include <assert.h>

/* No live transaction can have pinned what was last used before this. */
static uint64_t oldest_live(Db *db)
{
    pthread_mutex_lock(&db->lock);
    uint64_t oldest = atomic_load(&db->clock) + 1;
    for (const Txn *txn = db->live; txn != NULL; txn = txn->live_next)
        if (txn->began < oldest) oldest = txn->began;
    pthread_mutex_unlock(&db->lock);
    return oldest;
}

void residency_pin(Column *column)
{
    if (column->part == NULL) return;
    uint64_t now = atomic_load(&column->part->db->clock);
    if (atomic_load(&column->data.last_used) < now) atomic_store(&column->data.last_used, now);
}

void residency_hold(Column *column)
{
    if (column->part != NULL) atomic_fetch_add(&column->data.holds, 1);
}

void residency_release(Column *column)
{
    if (column->part != NULL) atomic_fetch_sub(&column->data.holds, 1);
}

static bool is_kept(const ColData *col, uint64_t oldest)
{
    return atomic_load(&col->holds) > 0 || atomic_load(&col->last_used) >= oldest;
}

static void drop(Column *column)
{
    ColData *col = &column->data;
    atomic_fetch_sub(&column->part->db->resident_bytes, col->memory_size);
    mem_free(column->mem, col->memory, col->memory_size);
    col->memory = NULL;
    col->memory_size = 0;
    col->pub.bytes = NULL;
    col->pub.blocks = NULL;
    col->pub.valid = NULL;
}

static void try_evict(Column *column, uint64_t oldest)
{
    ColData *col = &column->data;
    if (!atomic_load(&col->resident) || is_kept(col, oldest)) return;
    pthread_mutex_lock(&column->lock);
    if (atomic_load(&col->resident)) {
        atomic_store(&col->resident, false);
        if (is_kept(col, oldest))
            atomic_store(&col->resident, true);
        else
            drop(column);
    }
    pthread_mutex_unlock(&column->lock);
}

static void evict(Db *db, size_t target)
{
    uint64_t oldest = oldest_live(db);
    pthread_mutex_lock(&db->lock);
    Root *root = db->root;
    root_ref(root);
    pthread_mutex_unlock(&db->lock);
    for (uint32_t t = 0; t < root->ntables; t++) {
        const Table *table = root->tables[t];
        for (uint32_t s = 0; s < table->nsegs; s++) {
            const Segment *segment = table->segs[s];
            for (uint32_t c = 0; c < segment->ncols; c++) {
                if (segment->cols[c]->part == NULL) continue;
                if (atomic_load(&db->resident_bytes) <= target) goto done;
                try_evict(segment->cols[c], oldest);
            }
        }
    }
done:
    root_unref(root);
}

bool residency_full(Db *db, size_t more)
{
    size_t limit = atomic_load(&db->mem.limit);
    return limit != 0 && atomic_load(&db->resident_bytes) + more > limit / 2;
}

void residency_make_room(Db *db, size_t more)
{
    if (!residency_full(db, more)) return;
    pthread_mutex_lock(&db->evicting);
    if (residency_full(db, more)) evict(db, atomic_load(&db->mem.limit) / 4);
    pthread_mutex_unlock(&db->evicting);
}

void residency_add(const Column *column)
{
    atomic_fetch_add(&column->part->db->resident_bytes, column->data.memory_size);
}

/* A column that was just written and that nobody else has seen: its bytes need not stay when memory is scarce. */
void residency_written(Column *column)
{
    residency_add(column);
    if (!residency_full(column->part->db, 0)) return;
    atomic_store(&column->data.resident, false);
    drop(column);
}
