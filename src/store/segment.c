/*
 * segment.c: the life of columns, of sealed segments and of deletion bitmaps. All are counted: versions of a table
 * share segments and bitmaps, and segments with other columns over the same rows share those columns that they both
 * have.
 */
#include "store/store_int.h"

#include <assert.h>

tcudb_status column_new(Mem *mem, Column **out, Error *err)
{
    Column *column = mem_alloc_zero(mem, sizeof *column, err);
    TRY_PTR(column);
    atomic_init(&column->refs, 1);
    column->mem = mem;
    pthread_mutex_init(&column->lock, NULL);
    *out = column;
    return TCUDB_OK;
}

Column *column_ref(Column *column)
{
    atomic_fetch_add(&column->refs, 1);
    return column;
}

void column_unref(Column *column)
{
    if (column == NULL || atomic_fetch_sub(&column->refs, 1) != 1) return;
    ColData *data = &column->data;
    if (column->part != NULL) atomic_fetch_sub(&column->part->db->resident_bytes, data->memory_size);
    mem_free(column->mem, data->memory, data->memory_size);
    part_unref(column->part);
    pthread_mutex_destroy(&column->lock);
    mem_free(column->mem, column, sizeof *column);
}

bool column_is_uniform(const SegColumn *column)
{
    if (column->codec != CODEC_CONSTANT) return false;
    return column->nulls == column->rows || (column->nulls == 0 && column->has_bounds);
}

static size_t segment_size(uint32_t ncols)
{
    return sizeof(Segment) + ncols * sizeof(Column *);
}

tcudb_status segment_new(Mem *mem, uint32_t rows, uint32_t ncols, Segment **out, Error *err)
{
    Segment *segment = mem_alloc_zero(mem, segment_size(ncols), err);
    TRY_PTR(segment);
    atomic_init(&segment->refs, 1);
    segment->mem = mem;
    segment->rows = rows;
    segment->ncols = ncols;
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
    for (uint32_t c = 0; c < segment->ncols; c++) column_unref(segment->cols[c]);
    segment_drop_sketch(segment);
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
