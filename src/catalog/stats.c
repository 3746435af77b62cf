/*
 * stats.c: column statistics for the planner, from the facts that the store keeps with every segment.
 *
 * Bounds, NULLs and rows are exact over all stored rows: rows deleted but not yet purged still count in bounds, so
 * they may be wider than the live values' but never narrower. The NULL count is exact only without deleted rows;
 * with some it is an upper bound, capped at the live rows.
 */
#include "catalog/catalog.h"

static double column_width(Type type, const Table *table, uint32_t col)
{
    if (!type_is_text(type)) return (double)phys_size(type_phys(type));
    DictView dict;
    Error err;
    if (table_dict(table, col, &dict, &err) != TCUDB_OK || dict.count == 0) return 16;
    double sum = 0;
    uint32_t step = dict.count / 256 + 1, n = 0;
    for (uint32_t i = 0; i < dict.count; i += step, n++) sum += dict.values[i].len;
    return sum / n;
}

tcudb_status catalog_stats(const Table *table, uint32_t col, ColumnStats *out, Error *err)
{
    TableFacts facts;
    TRY(table_facts(table, col, &facts, err));
    Type type = table_def(table)->cols[col].type;
    bool text = type_is_text(type);
    uint64_t live = table_rows(table);
    *out = (ColumnStats){.nulls = facts.nulls < live ? facts.nulls : live};
    out->has_bounds = facts.has_bounds && !text;
    if (out->has_bounds) {
        out->min = facts.min;
        out->max = facts.max;
    }
    double most = (double)(live - out->nulls);
    out->distinct = facts.distinct < most ? facts.distinct : most;
    out->distinct_exact = facts.exact && live == facts.rows && facts.distinct <= most;
    out->unique = facts.ascending && live > 0;
    if (out->unique) {
        out->distinct = most;
        out->distinct_exact = true;
    }
    out->width = column_width(type, table, col);
    return TCUDB_OK;
}
