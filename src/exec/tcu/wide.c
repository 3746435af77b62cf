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

typedef struct Weigh {
    const Input *in;
    double *weights; /* a run and column */
} Weigh;

static tcudb_status weigh_run(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    const Weigh *a = ctx;
    const SideRun *run = &a->in->runs[task];
    for (uint32_t v = 0; v < a->in->nvalues; v++) {
        double weight = 0;
        for (uint64_t i = 0; i < run->n && !a->in->floats[v].used; i++) weight += fabs((double)run->values[v][i]);
        a->weights[task * a->in->nvalues + v] = weight;
    }
    return TCUDB_OK;
}

/* weights[v]: of each column. */
static tcudb_status column_weights(Exec *x, const Input *in, double **out, Error *err)
{
    Weigh a = {.in = in};
    uint32_t n = in->nvalues;
    TRY_PTR(*out = a.weights = exec_alloc_zero(x, sizeof(double) * n * ((size_t)in->nruns + 1), err));
    TRY(exec_parallel(x, NULL, in->nruns, weigh_run, &a, err));
    for (uint32_t r = 1; r < in->nruns; r++)
        for (uint32_t v = 0; v < n; v++) a.weights[v] += a.weights[(size_t)r * n + v];
    return TCUDB_OK;
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

typedef struct Split {
    Exec *x;
    Input *in;
    uint32_t column, columns;
} Split;

static tcudb_status split_task(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w;
    const Split *s = ctx;
    SideRun *run = &s->in->runs[task];
    for (uint32_t c = s->columns; c > s->in->nvalues; c--) run->values[c] = run->values[c - 1];
    return split_run(s->x, run, s->column, s->in->nvalues, err);
}

/* Makes room for the high half behind the values; what stands there (compared keys) moves up. */
static tcudb_status split_column(Exec *x, Input *in, uint32_t v, uint32_t columns, Error *err)
{
    Split s = {.x = x, .in = in, .column = v, .columns = columns};
    if (columns == PRODUCT_MAX)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a contraction of more than %d values", PRODUCT_MAX);
    TRY(exec_parallel(x, NULL, in->nruns, split_task, &s, err));
    in->high[v] = in->nvalues++;
    return TCUDB_OK;
}

tcudb_status wide_split(Exec *x, Input *in, uint32_t columns, Error *err)
{
    double *weights;
    if (in->weight < 0x1p62) return TCUDB_OK;
    if (in->n > WIDE_ROWS)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "too many rows of large values for a matrix product");
    TRY(column_weights(x, in, &weights, err));
    for (uint32_t v = 0, n = in->nvalues; v < n; v++)
        if (weights[v] >= 0x1p62) TRY(split_column(x, in, v, columns++, err));
    exec_free(x, weights);
    return TCUDB_OK;
}
