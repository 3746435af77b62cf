/*
 * product_chunks.c: dense keys by chunks, where operands over all of them would not fit.
 *
 *     sums = A[:, 0..c) B[0..c, :]  +  A[:, c..2c) B[c..2c, :]  +  ...
 *
 * The operands of one chunk stand at a time; every block of rows adds its product to accumulators that stay, one a
 * pair of groups. When the last chunk is through, the tasks of the part only add the light keys and scan. What signed
 * operands were shifted by is taken off chunk by chunk: it is linear in the keys.
 * Cost: the left's cells are looked at once a chunk, and a tile is read and written once more than without chunks.
 */
#include "tensor/product_int.h"

#include <string.h>

static tcudb_status new_sums(ProductRun *run, Error *err)
{
    size_t cells = run->stride * run->left.rows;
    TRY_PTR(run->all.counts = mem_alloc_zero(run->mem, sizeof(uint64_t) * cells, err));
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        TRY_PTR(run->all.sums[p] = mem_alloc_zero(run->mem, sum_size(run) * cells, err));
    return TCUDB_OK;
}

void chunks_free(ProductRun *run)
{
    size_t cells = run->stride * run->left.rows;
    mem_free(run->mem, run->all.counts, sizeof(uint64_t) * cells);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) mem_free(run->mem, run->all.sums[p], sum_size(run) * cells);
    run->all = (Block){.n = 0};
}

static tcudb_status add_block(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    uint32_t first = (uint32_t)task * run->block_rows;
    uint32_t rows = run->left.rows - first < run->block_rows ? run->left.rows - first : run->block_rows;
    size_t at = first * run->stride;
    void *sums[PRODUCT_MAX];
    for (uint32_t p = 0; p < run->spec->nproducts; p++) sums[p] = (char *)run->all.sums[p] + at * sum_size(run);
    blocks_add(run, first, rows, run->all.counts + at, sums);
    return TCUDB_OK;
}

/* The dense keys [from, to) of `all` get numbers from 0 on, all other keys none. */
static void number_chunk(const uint32_t *all, uint32_t keys, uint32_t from, uint32_t to, uint32_t *chunk)
{
    for (uint32_t key = 0; key < keys; key++)
        chunk[key] = all[key] != LIGHT && all[key] >= from && all[key] < to ? all[key] - from : LIGHT;
}

static tcudb_status multiply_chunk(ProductRun *run, Error *err)
{
    run->report->in_doubles = 0;
    tcudb_status status = operands_build(run, err);
    if (status == TCUDB_OK) status = pool_run(run->pool, product_tasks(run), add_block, run, run->cancel, err);
    operands_free(run);
    return status;
}

tcudb_status chunks_multiply(ProductRun *run, Error *err)
{
    uint32_t *all = run->dense_key, heavy = run->heavy, keys = run->spec->keys;
    TRY(new_sums(run, err));
    uint32_t *chunk = mem_alloc(run->mem, sizeof *chunk * keys, err);
    TRY_PTR(chunk);
    tcudb_status status = TCUDB_OK;
    run->dense_key = chunk;
    for (uint32_t from = 0; from < heavy && status == TCUDB_OK; from += run->chunk) {
        run->heavy = heavy - from < run->chunk ? heavy - from : run->chunk;
        number_chunk(all, keys, from, from + run->heavy, chunk);
        status = multiply_chunk(run, err);
        run->report->chunks++;
    }
    run->dense_key = all;
    run->heavy = heavy;
    mem_free(run->mem, chunk, sizeof *chunk * keys);
    return status;
}
