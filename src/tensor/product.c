/*
 * product.c: runs one product: pre-aggregates, proves widths, has the keys split (product_plan.c), multiplies.
 *
 * Exactness: |sum of product p| <= (largest row weight of the left column) x (largest right value). Below
 * 2^62 the sums are int64, below 2^126 int128; the caller has excluded more.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BLOCK_BYTES = 4 << 20, BLOCK_ROWS_MAX = 64, SPARSE_TASKS = 8, SPARSE_PAIRS = 1 << 16 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *product_form_name(ProductForm form)
{
    static const char *const names[] = {"auto", "sparse", "dense", "bits", "split"};
    return names[form];
}

typedef struct FactsTask {
    ProductRun *run;
    pthread_mutex_t lock;
} FactsTask;

enum { FACT_ROWS = 256 };

static bool column_used(const ProductRun *run, bool left, uint32_t column)
{
    if (column == ONES) return true;
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        if ((left ? run->spec->products[p].left : run->spec->products[p].right) == column) return true;
    return false;
}

/* Tasks over the left's rows, then the right's. */
static tcudb_status find_facts(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    FactsTask *f = ctx;
    ProductRun *run = f->run;
    uint64_t left_tasks = ((uint64_t)run->left.rows + FACT_ROWS - 1) / FACT_ROWS;
    bool left = task < left_tasks;
    const Cells *cells = left ? &run->left : &run->right;
    uint32_t from = (uint32_t)(left ? task : task - left_tasks) * FACT_ROWS;
    uint32_t to = cells->rows - from < FACT_ROWS ? cells->rows : from + FACT_ROWS;
    for (uint32_t o = 0; o <= cells->nvalues; o++) {
        uint32_t column = o == 0 ? ONES : o - 1;
        if (!column_used(run, left, column)) continue;
        CellFacts facts = cells_facts(cells, column, from, to);
        pthread_mutex_lock(&f->lock);
        cells_facts_merge(left ? &run->left_ops[o].facts : &run->right_ops[o].facts, facts);
        pthread_mutex_unlock(&f->lock);
    }
    return TCUDB_OK;
}

/* Facts of the columns in use, and from them the width of the sums. */
static tcudb_status prove_widths(ProductRun *run, Error *err)
{
    const ProductSpec *spec = run->spec;
    FactsTask f = {.run = run, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t tasks = ((uint64_t)run->left.rows + FACT_ROWS - 1) / FACT_ROWS +
                     ((uint64_t)run->right.rows + FACT_ROWS - 1) / FACT_ROWS;
    TRY(pool_run(run->pool, tasks, find_facts, &f, run->cancel, err));
    double worst = 0;
    for (uint32_t p = 0; p < spec->nproducts; p++) {
        const CellFacts *l = &run->left_ops[operand_index(spec->products[p].left)].facts;
        const CellFacts *r = &run->right_ops[operand_index(spec->products[p].right)].facts;
        worst = fmax(worst, l->row_weight * fmax(fabs((double)r->min), fabs((double)r->max)));
    }
    if (spec->left.weight > 0 && spec->right.weight > 0) worst = fmin(worst, spec->left.weight * spec->right.weight);
    double counts = run->left_ops[0].facts.row_weight * (double)run->right_ops[0].facts.max;
    run->wide = worst >= 0x1p62;
    run->report->wide = run->wide;
    run->report->sum_bits = worst < 1 ? 1 : (uint32_t)ilogb(worst) + 2;
    if (worst < 0x1p126 && counts < 0x1p62) return TCUDB_OK;
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "a sum of products may need more than 127 bits");
}

/* Rows of a task without heavy keys: enough pairs to be worth a task, enough tasks to keep all cores busy. */
static uint32_t sparse_rows(const ProductRun *run)
{
    double rows = run->left.rows, per_row = (double)run->report->products / rows;
    double most = rows / (SPARSE_TASKS * (double)pool_workers(run->pool)), wanted = SPARSE_PAIRS / fmax(per_row, 0.1);
    return (uint32_t)fmax(1, fmin(most, wanted));
}

static void set_form(ProductRun *run)
{
    ProductReport *report = run->report;
    report->heavy_keys = run->heavy;
    report->form = run->heavy == 0 ? FORM_SPARSE : run->any_light ? FORM_SPLIT : FORM_DENSE;
    bool dense = run->heavy > 0;
    run->stride = run->spec->right.groups;
    run->block_rows = sparse_rows(run);
    if (!dense) return;
    run->stride = (run->stride + LIMB_ROWS_B - 1) / LIMB_ROWS_B * LIMB_ROWS_B;
    size_t row = run->stride * (sizeof(uint64_t) + run->spec->nproducts * (run->wide ? 16 : 8));
    size_t rows = BLOCK_BYTES / row / LIMB_ROWS_A * LIMB_ROWS_A;
    run->block_rows = rows < LIMB_ROWS_A ? LIMB_ROWS_A : rows > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : (uint32_t)rows;
}

static tcudb_status build(ProductRun *run, Error *err)
{
    const ProductSpec *spec = run->spec;
    double started = seconds();
    TRY(cells_build(&spec->left, spec->keys, false, run->pool, run->mem, run->cancel, &run->left, err));
    TRY(cells_build(&spec->right, spec->keys, true, run->pool, run->mem, run->cancel, &run->right, err));
    TRY(prove_widths(run, err));
    TRY(product_plan(run, err));
    set_form(run);
    if (run->heavy > 0) TRY(operands_build(run, err));
    if (run->heavy > 0 && !run->any_light && run->count_mode == COUNT_BITS && spec->nproducts == 0)
        run->report->form = FORM_BITS;
    run->report->build_seconds = seconds() - started;
    return blocks_new(run, err);
}

tcudb_status product_open(const ProductSpec *spec, Pool *pool, Mem *mem, const atomic_bool *cancel,
                          ProductReport *report, ProductRun **out, Error *err)
{
    assert(spec->nproducts <= PRODUCT_MAX);
    *report = (ProductReport){.form = FORM_SPARSE};
    ProductRun *run = mem_alloc_zero(mem, sizeof *run, err);
    TRY_PTR(run);
    run->spec = spec;
    run->pool = pool;
    run->mem = run->left.mem = run->right.mem = mem;
    run->cancel = cancel;
    run->report = report;
    run->block_rows = 1;
    tcudb_status status = spec->left.n == 0 || spec->right.n == 0 ? TCUDB_OK : build(run, err);
    if (status != TCUDB_OK) {
        product_close(run);
        return status;
    }
    *out = run;
    return TCUDB_OK;
}

void product_close(ProductRun *run)
{
    run->report->rows = blocks_free(run);
    operands_free(run);
    mem_free(run->mem, run->dense_key, sizeof(uint32_t) * run->spec->keys);
    cells_free(&run->left);
    cells_free(&run->right);
    mem_free(run->mem, run, sizeof *run);
}

typedef struct RunAll {
    ProductRun *run;
    ProductSink sink;
    void *ctx;
} RunAll;

static tcudb_status run_task(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    RunAll *all = ctx;
    return product_task(all->run, worker, task, all->sink, all->ctx, err);
}

tcudb_status product_run(const ProductSpec *spec, Pool *pool, Mem *mem, const atomic_bool *cancel, ProductSink sink,
                         void *ctx, ProductReport *report, Error *err)
{
    RunAll all = {.sink = sink, .ctx = ctx};
    TRY(product_open(spec, pool, mem, cancel, report, &all.run, err));
    double started = seconds();
    tcudb_status status = pool_run(pool, product_tasks(all.run), run_task, &all, cancel, err);
    report->multiply_seconds = seconds() - started;
    product_close(all.run);
    return status;
}
