/*
 * segment.c: the life of sealed segments and deletion bitmaps. Both are shared by the versions of a table.
 */
#include "store/store_int.h"

#include <assert.h>

static size_t segment_size(uint32_t ncols)
{
    return sizeof(Segment) + ncols * sizeof(ColData);
}

tcudb_status segment_new(Mem *mem, uint32_t rows, uint32_t ncols, Segment **out, Error *err)
{
    Segment *segment = mem_alloc_zero(mem, segment_size(ncols), err);
    TRY_PTR(segment);
    atomic_init(&segment->refs, 1);
    segment->mem = mem;
    segment->rows = rows;
    segment->ncols = ncols;
    pthread_mutex_init(&segment->lock, NULL);
    *out = segment;
    return TCUDB_OK;
}

void segment_drop_sketch(Segment *segment)
{
    mem_free(segment->mem, segment->sketch, (size_t)segment->ncols * SKETCH_BYTES);
    segment->sketch = NULL;
}

void segment_unref(Segment *segment)
{
    if (segment == NULL || atomic_fetch_sub(&segment->refs, 1) != 1) return;
    for (uint32_t c = 0; c < segment->ncols; c++) {
        ColData *col = &segment->cols[c];
        if (segment->part != NULL) atomic_fetch_sub(&segment->part->db->resident_bytes, col->memory_size);
        mem_free(segment->mem, col->memory, col->memory_size);
    }
    segment_drop_sketch(segment);
    part_unref(segment->part);
    pthread_mutex_destroy(&segment->lock);
    mem_free(segment->mem, segment, segment_size(segment->ncols));
}

tcudb_status deleted_new(Mem *mem, const Deleted *from, Deleted **out, Error *err)
{
    Deleted *deleted = mem_alloc_zero(mem, sizeof *deleted, err);
    TRY_PTR(deleted);
    if (from != NULL) *deleted = *from;
    atomic_init(&deleted->refs, 1);
    deleted->mem = mem;
    *out = deleted;
    return TCUDB_OK;
}

void deleted_unref(Deleted *deleted)
{
    if (deleted == NULL || atomic_fetch_sub(&deleted->refs, 1) != 1) return;
    mem_free(deleted->mem, deleted, sizeof *deleted);
}
