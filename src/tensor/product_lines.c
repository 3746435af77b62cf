/*
 * product_lines.c: lines of accumulators: a left group's counts and sums, a column a right group.
 *
 * Sums are int64, or int128 where the run is wide, and are added modulo their width: partial sums may be anything, the
 * proof is about the last. A line is run->stride columns.
 */
#include "tensor/product_int.h"

#include <string.h>

tcudb_status lines_new(ProductRun *run, size_t lines, Lines *out, Error *err)
{
    size_t cells = run->stride * lines;
    TRY_PTR(out->counts = mem_alloc_zero(run->mem, sizeof(uint64_t) * cells, err));
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        TRY_PTR(out->sums[p] = mem_alloc_zero(run->mem, sum_size(run) * cells, err));
    return TCUDB_OK;
}

void lines_free(ProductRun *run, size_t lines, Lines *out)
{
    size_t cells = run->stride * lines;
    mem_free(run->mem, out->counts, sizeof(uint64_t) * cells);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) mem_free(run->mem, out->sums[p], sum_size(run) * cells);
    *out = (Lines){.counts = NULL};
}

Lines lines_at(const ProductRun *run, const Lines *lines, size_t line)
{
    size_t at = line * run->stride;
    Lines out = {.counts = lines->counts + at};
    for (uint32_t p = 0; p < run->spec->nproducts; p++) out.sums[p] = (char *)lines->sums[p] + at * sum_size(run);
    return out;
}

#define ADD_COLUMNS(name, Sum, USum)                                                                                   \
    static void name(const Sum *from, Sum *to, uint32_t n)                                                             \
    {                                                                                                                  \
        for (uint32_t j = 0; j < n; j++) to[j] = (Sum)((USum)to[j] + (USum)from[j]);                                   \
    }
ADD_COLUMNS(add_narrow, int64_t, uint64_t)
ADD_COLUMNS(add_wide, int128, uint128)

void lines_add(const ProductRun *run, const Lines *from, const Lines *to, uint32_t first, uint32_t last)
{
    uint32_t n = last - first;
    add_narrow((const int64_t *)from->counts + first, (int64_t *)to->counts + first, n);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->wide)
            add_wide((const int128 *)from->sums[p] + first, (int128 *)to->sums[p] + first, n);
        else
            add_narrow((const int64_t *)from->sums[p] + first, (int64_t *)to->sums[p] + first, n);
    }
}

void lines_clear(const ProductRun *run, const Lines *lines, uint32_t first, uint32_t last)
{
    memset(lines->counts + first, 0, sizeof(uint64_t) * (last - first));
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        memset((char *)lines->sums[p] + first * sum_size(run), 0, sum_size(run) * (last - first));
}
