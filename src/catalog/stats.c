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
    return type_is_text(type) ? table_text_width(table, col) : (double)phys_size(type_phys(type));
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
