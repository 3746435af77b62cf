/*
 * product.c: runs one product: pre-aggregates, has widths proven (product_proof.c) and keys split (product_plan.c),
 * multiplies.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <math.h>
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
    static const char *const names[] = {"auto", "sparse", "dense", "bits", "split", "doubles"};
    return names[form];
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
    size_t bytes = run->memory == 0 || run->memory / 4 / pool_workers(run->pool) > BLOCK_BYTES
                       ? BLOCK_BYTES
                       : run->memory / 4 / pool_workers(run->pool);
    size_t rows = bytes / row / LIMB_ROWS_A * LIMB_ROWS_A;
    run->block_rows = rows < LIMB_ROWS_A ? LIMB_ROWS_A : rows > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : (uint32_t)rows;
}

static tcudb_status build_right(ProductRun *run, Error *err)
{
    const ProductSpec *spec = run->spec;
    if (!spec->symmetric || spec->fast)
        return cells_build(&spec->right, spec->keys, true, run->pool, run->mem, run->cancel, &run->right, err);
    TRY_PTR(run->places = mem_alloc(run->mem, sizeof(uint64_t) * run->left.n, err));
    return cells_transpose(&run->left, run->pool, run->mem, run->cancel, &run->right, run->places, err);
}

/* Half of what the cells have left of the budget, unless the spec says. */
static size_t operand_memory(const ProductRun *run)
{
    size_t limit = atomic_load(&run->mem->limit), used = atomic_load(&run->mem->used);
    if (run->spec->memory != 0 || limit == 0) return run->spec->memory;
    return limit > used ? (limit - used) / 2 + 1 : 1;
}

/* Pre-aggregates and splits. */
static tcudb_status build_cells(ProductRun *run, Error *err)
{
    const ProductSpec *spec = run->spec;
    TRY(cells_build(&spec->left, spec->keys, false, run->pool, run->mem, run->cancel, &run->left, err));
    TRY(build_right(run, err));
    TRY(product_facts(run, err));
    TRY(product_prove(run, err));
    run->memory = operand_memory(run);
    return product_plan(run, err);
}

static tcudb_status build(ProductRun *run, Error *err)
{
    const ProductSpec *spec = run->spec;
    double started = seconds();
    bool full;
    run->memory = operand_memory(run);
    TRY(full_build(run, &full, err));
    if (!full) TRY(build_cells(run, err));
    set_form(run);
    if (run->heavy > 0 && !full) TRY(operands_build(run, err));
    if (spec->fast) TRY(fast_build(run, err));
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
    fast_free(run);
    mem_free(run->mem, run->dense_key, sizeof(uint32_t) * run->spec->keys);
    mem_free(run->mem, run->places, sizeof(uint64_t) * run->left.n);
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
