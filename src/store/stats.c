/*
 * stats.c: what a version of a table knows of its columns, for catalog/.
 *
 * Facts of segments and tail are exact and merged here. Distinct: the dictionary's count for text; otherwise the
 * table's sketch plus the tail, whose rows are hashed when first asked for. Results are kept with the version.
 */
#include "store/store_int.h"

#include <assert.h>
#include <string.h>

struct TableCache {
    TableFacts facts;
    bool known;
};

static void merge_bounds(TableFacts *facts, const SegColumn *col)
{
    if (!col->has_bounds) {
        facts->complete &= col->nulls == col->rows;
        return;
    }
    if (!facts->has_bounds) {
        facts->min = col->min;
        facts->max = col->max;
        facts->has_bounds = true;
        return;
    }
    if (type_phys(col->min.type) == PHYS_NUM && col->min.num.scale != facts->min.num.scale) facts->complete = false;
    if (value_order(&col->min, &facts->min) < 0) facts->min = col->min;
    if (value_order(&col->max, &facts->max) > 0) facts->max = col->max;
}

/* Segments that ascend and follow each other prove that no value occurs twice. */
static void merge_ascending(TableFacts *facts, const SegColumn *col)
{
    facts->ascending &= col->ascending && col->has_bounds;
    if (facts->has_bounds && facts->ascending && value_order(&facts->max, &col->min) >= 0) facts->ascending = false;
}

static double count_distinct(const Table *table, uint32_t c)
{
    uint8_t sketch[SKETCH_BYTES] = {0};
    if (table->sketch != NULL) memcpy(sketch, table->sketch + (size_t)c * SKETCH_BYTES, SKETCH_BYTES);
    if (table->tail_rows > 0)
        sketch_add(sketch, type_phys(table->meta->def.cols[c].type), table->tail->data[c], table->tail->valid[c],
                   table->tail_rows);
    return sketch_count(sketch);
}

static void compute(const Table *table, uint32_t c, TableFacts *facts)
{
    *facts = (TableFacts){.complete = true, .ascending = true};
    for (uint32_t s = 0; s < table_segments(table); s++) {
        const SegColumn *col = segment_column(table, s, c);
        merge_ascending(facts, col);
        merge_bounds(facts, col);
        facts->nulls += col->nulls;
        facts->rows += col->rows;
    }
    if (!facts->complete) facts->has_bounds = facts->ascending = false;
    bool text = type_is_text(table->meta->def.cols[c].type);
    facts->exact = text && !dict_is_loose(table->meta->dicts[c]);
    facts->distinct = text ? dict_count(table->meta->dicts[c]) : count_distinct(table, c);
}

tcudb_status table_facts(const Table *constant, uint32_t col, TableFacts *out, Error *err)
{
    Table *table = (Table *)constant;
    uint32_t ncols = table->meta->def.ncols;
    assert(col < ncols);
    pthread_mutex_lock(&table->lock);
    if (table->cache == NULL) table->cache = mem_alloc_zero(&table->db->mem, ncols * sizeof table->cache[0], err);
    bool ok = table->cache != NULL;
    if (ok) {
        struct TableCache *cache = &table->cache[col];
        if (!cache->known) compute(table, col, &cache->facts);
        cache->known = true;
        *out = cache->facts;
    }
    pthread_mutex_unlock(&table->lock);
    return ok ? TCUDB_OK : TCUDB_NOMEM;
}

void table_drop_cache(Table *table)
{
    mem_free(&table->db->mem, table->cache, table->meta->def.ncols * sizeof table->cache[0]);
}
