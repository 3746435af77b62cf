/*
 * wide.c: values too large to be added in 64 bits, as two columns.
 *
 *     v = high x 2^32 + low,  0 <= low < 2^32,  -2^31 <= high < 2^31
 *
 * Where the absolute values of a column add up to 2^62 or more, a pre-aggregated cell could overflow. The halves' sums
 * stay below 2^62 for 2^30 rows, and products of halves below 2^124; contract_terms.c writes each product of wide
 * columns as a sum of shifted products of halves, and contract_output.c adds those in 256 bits.
 * Cost: only such columns are split: one pass, and up to four products where there was one.
 */
#include "exec/tcu/contract_int.h"

#include <math.h>

enum { WIDE_ROWS = 1 << 30 };

static double column_weight(const Input *in, uint32_t v)
{
    double weight = 0;
    for (uint32_t r = 0; r < in->nruns; r++)
        for (uint64_t i = 0; i < in->runs[r].n; i++) weight += fabs((double)in->runs[r].values[v][i]);
    return weight;
}

static tcudb_status split_run(Exec *x, SideRun *run, uint32_t v, uint32_t high, Error *err)
{
    int64_t *lows = exec_alloc(x, sizeof *lows * (run->n + 1), err);
    TRY_PTR(lows);
    int64_t *highs = exec_alloc(x, sizeof *highs * (run->n + 1), err);
    TRY_PTR(highs);
    for (uint64_t i = 0; i < run->n; i++) {
        highs[i] = run->values[v][i] >> 32;
        lows[i] = (uint32_t)run->values[v][i];
    }
    run->values[v] = lows;
    run->values[high] = highs;
    return TCUDB_OK;
}

/* Makes room for the high half behind the values; what stands there (compared keys) moves up. */
static tcudb_status split_column(Exec *x, Input *in, uint32_t v, uint32_t columns, Error *err)
{
    uint32_t high = in->nvalues;
    if (columns == PRODUCT_MAX)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a contraction of more than %d values", PRODUCT_MAX);
    for (uint32_t r = 0; r < in->nruns; r++) {
        for (uint32_t c = columns; c > high; c--) in->runs[r].values[c] = in->runs[r].values[c - 1];
        TRY(exec_check_cancel(x, err));
        TRY(split_run(x, &in->runs[r], v, high, err));
    }
    in->high[v] = high;
    in->nvalues++;
    return TCUDB_OK;
}

tcudb_status wide_split(Exec *x, Input *in, uint32_t columns, Error *err)
{
    if (in->weight < 0x1p62) return TCUDB_OK;
    if (in->n > WIDE_ROWS)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "too many rows of large values for a matrix product");
    for (uint32_t v = 0, n = in->nvalues; v < n; v++)
        if (!in->floats[v].used && column_weight(in, v) >= 0x1p62) TRY(split_column(x, in, v, columns++, err));
    return TCUDB_OK;
}
