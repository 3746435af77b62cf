/*
 * product.c: runs one product: part by part (product_parts.c) it pre-aggregates, has widths proven (product_proof.c)
 * and keys split (product_plan.c), multiplies.
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
static uint32_t rows_a_task(const ProductRun *run)
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
    run->block_rows = rows_a_task(run);
    if (!dense) return;
    run->stride = padded_columns(run);
    size_t bytes = run->memory == 0 || run->memory / 4 / pool_workers(run->pool) > BLOCK_BYTES
                       ? BLOCK_BYTES
                       : run->memory / 4 / pool_workers(run->pool);
    size_t rows = bytes / row_bytes(run) / LIMB_ROWS_A * LIMB_ROWS_A;
    run->block_rows = rows < LIMB_ROWS_A ? LIMB_ROWS_A : rows > BLOCK_ROWS_MAX ? BLOCK_ROWS_MAX : (uint32_t)rows;
    chunks_plan(run);
}

static tcudb_status build_cells(ProductRun *run, bool right, Error *err)
{
    const ProductSpec *spec = run->spec;
    TRY(cells_build(&spec->left, spec->keys, false, run->pool, run->mem, run->cancel, &run->left, err));
    if (!right) return TCUDB_OK;
    if (!run->parts.symmetric)
        return cells_build(&spec->right, spec->keys, true, run->pool, run->mem, run->cancel, &run->right, err);
    TRY_PTR(run->places = mem_alloc(run->mem, sizeof(uint64_t) * run->left.n, err));
    return cells_transpose(&run->left, run->pool, run->mem, run->cancel, &run->right, run->places, err);
}

/* Half of what the cells and the output's rows leave of the budget; 0: any. */
static size_t operand_memory(const ProductRun *run)
{
    size_t limit = atomic_load(&run->mem->limit), used = atomic_load(&run->mem->used);
    if (limit == 0) return 0;
    used += pool_workers(run->pool) * out_bytes(run->spec);
    return limit > used ? (limit - used) / 2 + 1 : 1;
}

/* All but the right cells, which the next part may share. */
static void free_left(ProductRun *run)
{
    mem_free(run->mem, run->dense_key, sizeof(uint32_t) * run->whole->keys);
    mem_free(run->mem, run->places, sizeof(uint64_t) * run->left.n);
    cells_free(&run->left);
    run->dense_key = NULL;
    run->places = NULL;
}

/* Cells, the proof and the plan. A plan with chunks may want fewer left groups: then again with those. */
static tcudb_status prepare_part(ProductRun *run, bool new_right, Error *err)
{
    while (true) {
        memset(run->left_ops, 0, sizeof run->left_ops);
        memset(run->right_ops, 0, sizeof run->right_ops);
        run->chunk = run->most_left = 0;
        if (new_right) cells_free(&run->right);
        TRY(build_cells(run, new_right, err));
        TRY(product_facts(run, err));
        TRY(product_prove(run, err));
        run->memory = operand_memory(run);
        TRY(product_plan(run, err));
        if (run->most_left == 0) return TCUDB_OK;
        free_left(run);
        TRY(parts_shrink(run, run->most_left, &new_right, err));
    }
}

/* Operands stand, of a full part; or the plan. */
static tcudb_status build_operands(ProductRun *run, bool full, Error *err)
{
    set_form(run);
    if (run->standing)
        TRY(chunks_multiply(run, full, err));
    else if (run->heavy > 0 && !full)
        TRY(operands_build(run, err));
    if (run->spec->fast) TRY(fast_build(run, err));
    if (run->heavy > 0 && !run->any_light && run->count_mode == COUNT_BITS && run->spec->nproducts == 0)
        run->report->form = FORM_BITS;
    TRY(blocks_new(run, err));
    if (run->any_light || run->heavy == 0) TRY(giants_build(run, err));
    return run->standing && run->any_light ? chunks_add_light(run, err) : TCUDB_OK;
}

/* What is known of a part, together with what was of those before. */
static void merge_report(const ProductSpec *whole, ProductReport *r, const ProductReport *before)
{
    r->parts = before->parts + 1;
    if (before->parts == 0) return;
    if (r->form != before->form) r->form = FORM_SPLIT;
    r->products += before->products;
    r->light_pairs += before->light_pairs;
    r->shape.groups[0] = whole->left.groups;
    r->shape.groups[1] = whole->right.groups;
    r->shape.rows[0] = (double)whole->left.n;
    r->shape.rows[1] = (double)whole->right.n;
    r->shape.cells[0] += before->shape.cells[0];
    r->shape.cells[1] += before->shape.cells[1];
    r->shape.pairs += before->shape.pairs;
    r->shape.out += before->shape.out;
    r->build_seconds += before->build_seconds;
    r->wide |= before->wide;
    r->short_of_memory |= before->short_of_memory;
    if (before->heavy_keys > r->heavy_keys) r->heavy_keys = before->heavy_keys;
    if (before->limbs_left > r->limbs_left) r->limbs_left = before->limbs_left;
    if (before->limbs_right > r->limbs_right) r->limbs_right = before->limbs_right;
    if (before->in_doubles > r->in_doubles) r->in_doubles = before->in_doubles;
    if (before->sum_bits > r->sum_bits) r->sum_bits = before->sum_bits;
    if (before->chunks > r->chunks) r->chunks = before->chunks;
}

static void free_part(ProductRun *run)
{
    run->parts.emitted += blocks_free(run);
    giants_free(run);
    chunks_free(run);
    operands_free(run);
    fast_free(run);
    free_left(run);
}

tcudb_status product_next(ProductRun *run, bool *more, Error *err)
{
    bool new_right;
    double started = seconds();
    ProductReport before = *run->report;
    free_part(run);
    TRY(parts_next(run, more, &new_right, err));
    if (!*more) return TCUDB_OK;
    *run->report = (ProductReport){.form = FORM_SPARSE};
    TRY(prepare_part(run, new_right, err));
    TRY(build_operands(run, false, err));
    run->report->build_seconds = seconds() - started;
    merge_report(run->whole, run->report, &before);
    return TCUDB_OK;
}

/* All groups at once without cells, or the first part. */
static tcudb_status build_first(ProductRun *run, Error *err)
{
    bool full, more;
    double started = seconds();
    run->memory = operand_memory(run);
    TRY(full_build(run, &full, err));
    if (!full) {
        TRY(parts_plan(run, err));
        return product_next(run, &more, err);
    }
    run->parts.begun = true;
    run->report->parts = 1;
    TRY(build_operands(run, true, err));
    run->report->build_seconds = seconds() - started;
    return TCUDB_OK;
}

tcudb_status product_open(const ProductSpec *spec, Pool *pool, Mem *mem, const atomic_bool *cancel,
                          ProductReport *report, ProductRun **out, Error *err)
{
    assert(spec->nproducts <= PRODUCT_MAX);
    *report = (ProductReport){.form = FORM_SPARSE};
    ProductRun *run = mem_alloc_zero(mem, sizeof *run, err);
    TRY_PTR(run);
    run->whole = spec;
    run->spec = &run->parts.spec;
    run->pool = pool;
    run->mem = run->left.mem = run->right.mem = mem;
    run->cancel = cancel;
    run->report = report;
    run->block_rows = 1;
    bool more = spec->left.n > 0 && spec->right.n > 0;
    run->parts = (Parts){.spec = *spec, .begun = !more};
    tcudb_status status = more ? build_first(run, err) : TCUDB_OK;
    if (status != TCUDB_OK) {
        product_close(run);
        return status;
    }
    *out = run;
    return TCUDB_OK;
}

void product_close(ProductRun *run)
{
    free_part(run);
    cells_free(&run->right);
    parts_free(run);
    run->report->rows = run->parts.emitted;
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
    tcudb_status status = TCUDB_OK;
    for (bool more = true; more && status == TCUDB_OK;) {
        status = pool_run(pool, product_tasks(all.run), run_task, &all, cancel, err);
        if (status == TCUDB_OK) status = product_next(all.run, &more, err);
    }
    report->multiply_seconds = seconds() - started;
    product_close(all.run);
    return status;
}
