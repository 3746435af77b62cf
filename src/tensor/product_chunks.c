/*
 * product_chunks.c: dense products into lines that stand: by chunks of keys, where operands over all of them would not
 * fit, and by units of few left groups, so that all cores multiply.
 *
 *     sums = A[:, 0..c) B[0..c, :]  +  A[:, c..2c) B[c..2c, :]  +  ...
 *
 * The operands of one chunk stand at a time; every unit adds its product to accumulators that stay, one a pair of
 * groups. Where blocks of left groups are fewer than wanted, units are runs of right panels too, and where these do not
 * suffice, stretches of the keys, with lines of their own that are added up at the end. When the last chunk is through,
 * the light keys are added, and the tasks of the part only scan. What signed operands were shifted by is taken off
 * chunk by chunk: it is linear in the keys. Cost: the left's cells are looked at once a chunk, and a tile is read and
 * written once more than without chunks.
 */
#include "tensor/product_int.h"

#include <assert.h>

enum { UNITS = 4, UNIT_KEYS = 2048, PIECE_COLUMNS = 4096 }; /* units a worker; the least of a unit and of a task */
static const double WORTH = 1e7;                            /* multiply-adds that are spread over the cores */

static uint32_t ceil_div(uint64_t n, uint64_t by)
{
    assert(by > 0);
    return (uint32_t)((n + by - 1) / by);
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most < 1 ? 1 : most;
}

static void cut_evenly(uint32_t n, uint32_t parts, uint32_t multiple, uint32_t *size, uint32_t *count)
{
    *size = ceil_div(ceil_div(n, parts), multiple) * multiple;
    *count = ceil_div(n, *size);
}

/* Units of few left groups: the most along the right panels, then along the keys. */
static void spread_units(ProductRun *run, uint32_t keys, uint32_t wanted)
{
    Spread *s = &run->spread;
    uint32_t panels = (uint32_t)(run->stride / LIMB_ROWS_B);
    cut_evenly(run->left.rows, wanted, LIMB_ROWS_A, &s->rows, &s->nrows);
    cut_evenly(panels, at_most(ceil_div(wanted, s->nrows), panels), 1, &s->panels, &s->npanels);
    uint32_t rest = ceil_div(wanted, (uint64_t)s->nrows * s->npanels);
    cut_evenly(keys, at_most(rest, keys / UNIT_KEYS), LIMB_BLOCK, &s->keys, &s->nkeys);
}

/* Tasks that put standing lines out. */
static void cut_output(ProductRun *run, uint32_t wanted)
{
    uint32_t rows = run->left.rows, columns = run->right.columns;
    run->pieces = run->spec->fold || rows >= wanted ? 1 : at_most(ceil_div(wanted, rows), columns / PIECE_COLUMNS);
    run->emit_rows = rows < wanted ? 1 : at_most(rows / wanted, run->block_rows);
}

void chunks_plan(ProductRun *run)
{
    uint32_t workers = pool_workers(run->pool), wanted = workers * UNITS, rows = run->left.rows;
    uint32_t keys = run->chunk > 0 ? run->chunk : run->heavy;
    double work = (double)rows * (double)run->stride * keys * (1 + run->spec->nproducts);
    bool few = workers > 1 && rows <= wanted * LIMB_ROWS_A / 2 && work > WORTH;
    run->spread = (Spread){.rows = run->block_rows,
                           .panels = (uint32_t)(run->stride / LIMB_ROWS_B),
                           .keys = keys,
                           .nrows = ceil_div(rows, run->block_rows),
                           .npanels = 1,
                           .nkeys = 1};
    Spread whole = run->spread;
    if (few) spread_units(run, keys, wanted);
    double bytes = (double)run->spread.nkeys * rows * (double)row_bytes(run);
    if (few && run->memory != 0 && bytes > (double)run->memory / 4) {
        run->spread = whole;
        few = false;
    }
    run->standing = run->chunk > 0 || few;
    cut_output(run, wanted);
}

void chunks_free(ProductRun *run)
{
    if (run->standing) lines_free(run, (size_t)run->left.rows * run->spread.nkeys, &run->all);
    run->standing = false;
}

/* ---- multiplying -------------------------------------------------------------------------------- */

static tcudb_status add_unit(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    const Spread *s = &run->spread;
    uint32_t k = (uint32_t)(task % s->nkeys), q = (uint32_t)(task / s->nkeys % s->npanels);
    uint32_t r = (uint32_t)(task / s->nkeys / s->npanels), panels = (uint32_t)(run->stride / LIMB_ROWS_B);
    Unit u = {.first = r * s->rows, .from_panel = q * s->panels, .from_key = k * s->keys};
    u.rows = run->left.rows - u.first < s->rows ? run->left.rows - u.first : s->rows;
    u.to_panel = panels - u.from_panel < s->panels ? panels : u.from_panel + s->panels;
    if (u.from_key >= run->heavy) return TCUDB_OK;
    u.to_key = run->heavy - u.from_key < s->keys ? run->heavy : u.from_key + s->keys;
    Lines lines = lines_at(run, &run->all, (size_t)k * run->left.rows + u.first);
    blocks_add(run, &u, &lines);
    return TCUDB_OK;
}

static tcudb_status multiply_units(ProductRun *run, Error *err)
{
    const Spread *s = &run->spread;
    return pool_run(run->pool, (uint64_t)s->nrows * s->npanels * s->nkeys, add_unit, run, run->cancel, err);
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
    if (status == TCUDB_OK) status = multiply_units(run, err);
    operands_free(run);
    return status;
}

static tcudb_status each_chunk(ProductRun *run, Error *err)
{
    uint32_t *all = run->dense_key, heavy = run->heavy, keys = run->spec->keys;
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

/* A left group's lines of all stretches of the keys. */
static tcudb_status join_lines(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    Lines to = lines_at(run, &run->all, task);
    for (uint32_t k = 1; k < run->spread.nkeys; k++) {
        Lines from = lines_at(run, &run->all, (size_t)k * run->left.rows + task);
        lines_add(run, &from, &to, 0, (uint32_t)run->stride);
    }
    return TCUDB_OK;
}

tcudb_status chunks_multiply(ProductRun *run, bool filled, Error *err)
{
    TRY(lines_new(run, (size_t)run->left.rows * run->spread.nkeys, &run->all, err));
    if (run->chunk > 0) {
        TRY(each_chunk(run, err));
    } else {
        if (!filled) TRY(operands_build(run, err));
        TRY(multiply_units(run, err));
    }
    if (run->spread.nkeys == 1) return TCUDB_OK;
    return pool_run(run->pool, run->left.rows, join_lines, run, run->cancel, err);
}

static tcudb_status add_light(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    light_add(run, &run->all, (uint32_t)task, task * run->stride);
    return TCUDB_OK;
}

tcudb_status chunks_add_light(ProductRun *run, Error *err)
{
    return pool_run(run->pool, run->left.rows, add_light, run, run->cancel, err);
}
