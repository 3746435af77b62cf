/*
 * key_batches.c: the ranges of a column's batches.
 *
 * One pass over the column, a table's column once in a handle; a table whose number of rows has changed is read anew.
 * An array of slots by a hash of table and column: one that is taken is taken over.
 */
#include "catalog/key_batches.h"
#include "base/cancel.h"

#include <assert.h>
#include <pthread.h>

enum { SLOTS = 64 };

typedef struct Slot {
    uint64_t table; /* id; 0: free */
    uint32_t col;
    uint64_t rows;
    BatchRange *ranges;
    uint64_t n;
} Slot;

struct KeyBatches {
    pthread_mutex_t lock;
    Slot slots[SLOTS];
};

tcudb_status key_batches_new(KeyBatches **out, Error *err)
{
    *out = mem_alloc_zero(NULL, sizeof **out, err);
    TRY_PTR(*out);
    pthread_mutex_init(&(*out)->lock, NULL);
    return TCUDB_OK;
}

static void empty(Slot *slot)
{
    mem_free(NULL, slot->ranges, slot->n * sizeof *slot->ranges);
    *slot = (Slot){0};
}

void key_batches_free(KeyBatches *batches)
{
    if (batches == NULL) return;
    for (uint32_t i = 0; i < SLOTS; i++) empty(&batches->slots[i]);
    pthread_mutex_destroy(&batches->lock);
    mem_free(NULL, batches, sizeof *batches);
}

#define WIDEN(type)                                                                                                    \
    for (uint32_t i = 0; i < (v->form == VEC_CONST ? 1 : n); i++) {                                                    \
        int64_t value = ((const type *)v->data)[i];                                                                    \
        if (v->valid != NULL && !bit_get(v->valid, i)) continue;                                                       \
        range.lo = value < range.lo ? value : range.lo;                                                                \
        range.hi = value > range.hi ? value : range.hi;                                                                \
    }

static BatchRange range_of(const Vector *v, uint32_t n)
{
    BatchRange range = {.lo = INT64_MAX, .hi = INT64_MIN};
    switch (v->phys) {
    case PHYS_I16: WIDEN(int16_t) break;
    case PHYS_I32: WIDEN(int32_t) break;
    default: WIDEN(int64_t) break;
    }
    return range;
}

static uint64_t count_batches(const Table *table)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < table_segments(table); s++)
        n += (segment_rows(table, s) + (uint64_t)BATCH_ROWS - 1) / BATCH_ROWS;
    return n;
}

static tcudb_status read_ranges(const Table *table, uint32_t col, Arena *arena, const atomic_bool *cancel,
                                BatchRange *out, Error *err)
{
    uint64_t at = 0;
    for (uint32_t s = 0; s < table_segments(table); s++) {
        uint32_t all = segment_rows(table, s);
        TRY(cancel_poll(cancel, err));
        for (uint32_t row = 0; row < all; row += BATCH_ROWS) {
            uint32_t n = all - row < BATCH_ROWS ? all - row : BATCH_ROWS;
            Vector v;
            arena_reset(arena);
            TRY(segment_read(table, s, col, row, n, NULL, 0, arena, &v, err));
            out[at++] = range_of(&v, n);
        }
    }
    return TCUDB_OK;
}

static tcudb_status read_column(const Table *table, uint32_t col, Mem *mem, const atomic_bool *cancel, Slot *out,
                                Error *err)
{
    Arena arena;
    *out = (Slot){.table = table_def(table)->id, .col = col, .rows = table_rows(table), .n = count_batches(table)};
    if (out->n == 0) return TCUDB_OK;
    TRY_PTR(out->ranges = mem_alloc_zero(NULL, out->n * sizeof *out->ranges, err));
    arena_init(&arena, mem);
    tcudb_status status = read_ranges(table, col, &arena, cancel, out->ranges, err);
    arena_free(&arena);
    if (status != TCUDB_OK) empty(out);
    return status;
}

/* Copies what is known; false: it is not. With the lock. */
static bool known(const Slot *slot, const Table *table, uint32_t col)
{
    return slot->table == table_def(table)->id && slot->col == col && slot->rows == table_rows(table) &&
           slot->n == count_batches(table);
}

static tcudb_status copy_ranges(const Slot *slot, Arena *arena, BatchRange **out, uint64_t *n, Error *err)
{
    *n = slot->n;
    TRY_PTR(*out = ARENA_ARRAY(arena, BatchRange, slot->n + 1, err));
    if (slot->n > 0) memcpy(*out, slot->ranges, slot->n * sizeof **out);
    return TCUDB_OK;
}

tcudb_status key_batches_of(KeyBatches *batches, const Table *table, uint32_t col, Arena *arena,
                            const atomic_bool *cancel, BatchRange **out, uint64_t *n, Error *err)
{
    uint8_t phys = (uint8_t)type_phys(table_def(table)->cols[col].type);
    Slot *slot = &batches->slots[(table_def(table)->id * 31 + col) % SLOTS], fresh;
    *out = NULL;
    if (phys != PHYS_I16 && phys != PHYS_I32 && phys != PHYS_I64) return TCUDB_OK;
    pthread_mutex_lock(&batches->lock);
    bool there = known(slot, table, col);
    tcudb_status status = there ? copy_ranges(slot, arena, out, n, err) : TCUDB_OK;
    pthread_mutex_unlock(&batches->lock);
    if (there || status != TCUDB_OK) return status;
    TRY(read_column(table, col, arena->mem, cancel, &fresh, err));
    status = copy_ranges(&fresh, arena, out, n, err);
    pthread_mutex_lock(&batches->lock);
    empty(slot);
    *slot = fresh;
    pthread_mutex_unlock(&batches->lock);
    return status;
}
