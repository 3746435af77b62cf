/*
 * product_blocks.c: multiplies blocks of left groups and emits the rows that exist.
 *
 * With heavy keys, a task is a block of left groups: its accumulators (block_rows x stride for each product)
 * are filled by the dense tiles, the light keys' pairs are added row by row, and the block is scanned for
 * groups with a positive count. Without heavy keys a row's accumulator is one line of right groups, and only
 * the columns it touched are read and cleared, so empty cells cost nothing.
 *
 * Sums are int64 where the proof allows and int128 otherwise: the loops over sums exist once for each
 * (SUM_LOOPS). Cost: see product.c.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <string.h>

enum { EMIT_ROWS = 2048, SPARSE_ROWS = 32 };

typedef struct Block {
    uint64_t *counts; /* block_rows x stride (one row without heavy keys) */
    void *sums[PRODUCT_MAX];
    uint32_t *touched;
    uint32_t ntouched;
    uint32_t n; /* rows waiting for the sink */
    uint32_t *out_left, *out_right;
    uint64_t *out_counts;
    void *out_sums[PRODUCT_MAX];
    uint64_t emitted;
} Block;

static size_t sum_size(const ProductRun *run)
{
    return run->wide ? sizeof(int128) : sizeof(int64_t);
}

/* Where a task's rows go. */
typedef struct Output {
    ProductSink sink;
    void *ctx;
    uint32_t worker;
    uint64_t task;
} Output;

static tcudb_status flush(ProductRun *run, Block *b, const Output *out, Error *err)
{
    if (b->n == 0) return TCUDB_OK;
    ProductRows rows = {.task = out->task,
                        .n = b->n,
                        .left_group = b->out_left,
                        .right_group = b->out_right,
                        .counts = b->out_counts,
                        .sums = (const void *const *)b->out_sums,
                        .wide = run->wide};
    b->emitted += b->n;
    b->n = 0;
    return out->sink(out->ctx, out->worker, &rows, err);
}

/* One cell of the output: at is its place in the block's accumulators. */
static inline void emit(const ProductRun *run, Block *b, uint32_t left, uint32_t right, size_t at)
{
    uint32_t n = b->n++;
    b->out_left[n] = left;
    b->out_right[n] = right;
    b->out_counts[n] = b->counts[at];
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->wide)
            ((int128 *)b->out_sums[p])[n] = ((const int128 *)b->sums[p])[at];
        else
            ((int64_t *)b->out_sums[p])[n] = ((const int64_t *)b->sums[p])[at];
    }
}

/* sums[ids[c]] += l x right value of each cell of the key, in both widths. */
#define SUM_LOOPS(name, Sum)                                                                                           \
    static void name(const Cells *right, uint32_t column, uint64_t from, uint64_t to, int64_t l, Sum *sums)            \
    {                                                                                                                  \
        const uint32_t *ids = right->ids;                                                                              \
        if (column == ONES) {                                                                                          \
            for (uint64_t c = from; c < to; c++) sums[ids[c]] += (Sum)l * right->counts[c];                            \
        } else {                                                                                                       \
            const int64_t *values = right->values[column];                                                             \
            for (uint64_t c = from; c < to; c++) sums[ids[c]] += (Sum)l * values[c];                                   \
        }                                                                                                              \
    }
SUM_LOOPS(add_narrow, int64_t)
SUM_LOOPS(add_wide, int128)

static void count_pairs(const Cells *right, uint64_t from, uint64_t to, uint64_t l, uint64_t *counts)
{
    const uint32_t *ids = right->ids;
    if (right->unique && l == 1) {
        for (uint64_t c = from; c < to; c++) counts[ids[c]]++;
        return;
    }
    for (uint64_t c = from; c < to; c++) counts[right->ids[c]] += l * right->counts[c];
}

/* The same, remembering columns touched for the first time. */
static uint32_t touch_pairs(const Cells *right, uint64_t from, uint64_t to, uint64_t l, uint64_t *counts,
                            uint32_t *touched, uint32_t ntouched)
{
    for (uint64_t c = from; c < to; c++) {
        uint32_t j = right->ids[c];
        touched[ntouched] = j;
        ntouched += counts[j] == 0;
        counts[j] += l * right->counts[c];
    }
    return ntouched;
}

/* Adds the light keys of one left group to the accumulators at row. */
static void add_light(ProductRun *run, Block *b, uint32_t group, size_t row, bool touch)
{
    const Cells *left = &run->left, *right = &run->right;
    for (uint64_t e = left->starts[group]; e < left->starts[group + 1]; e++) {
        uint32_t key = left->ids[e];
        if (run->dense_key[key] != LIGHT) continue;
        uint64_t from = right->starts[key], to = right->starts[key + 1];
        if (touch)
            b->ntouched = touch_pairs(right, from, to, left->counts[e], b->counts + row, b->touched, b->ntouched);
        else
            count_pairs(right, from, to, left->counts[e], b->counts + row);
        for (uint32_t p = 0; p < run->spec->nproducts; p++) {
            Product product = run->spec->products[p];
            int64_t l = cells_value(left, product.left, e);
            if (run->wide)
                add_wide(right, product.right, from, to, l, (int128 *)b->sums[p] + row);
            else
                add_narrow(right, product.right, from, to, l, (int64_t *)b->sums[p] + row);
        }
    }
}

/* Emits column j of the row at hand and clears it. */
static tcudb_status take_sum(ProductRun *run, Block *b, uint32_t group, uint32_t j, const Output *out, Error *err)
{
    if (b->n == EMIT_ROWS) TRY(flush(run, b, out, err));
    emit(run, b, group, j, j);
    b->counts[j] = 0;
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        memset((char *)b->sums[p] + j * sum_size(run), 0, sum_size(run));
    return TCUDB_OK;
}

/* Rows with many more pairs than columns are scanned; of others the touched columns are remembered. */
static tcudb_status sparse_task(ProductRun *run, Block *b, const Output *out, Error *err)
{
    uint64_t first = out->task * SPARSE_ROWS;
    for (uint64_t g = first; g < first + SPARSE_ROWS && g < run->left.rows; g++) {
        b->ntouched = 0;
        add_light(run, b, (uint32_t)g, 0, !run->scan_rows);
        for (uint32_t t = 0; t < b->ntouched; t++) TRY(take_sum(run, b, (uint32_t)g, b->touched[t], out, err));
        for (uint32_t j = 0; run->scan_rows && j < run->right.columns; j++)
            if (b->counts[j] != 0) TRY(take_sum(run, b, (uint32_t)g, j, out, err));
    }
    return flush(run, b, out, err);
}

/* Removes what the shifts of signed operands added. */
#define UNSHIFT(name, Sum, USum)                                                                                       \
    static void name(const ProductRun *run, const Operand *l, const Operand *r, uint32_t group, Sum *sums)             \
    {                                                                                                                  \
        USum s = (USum)l->shift, t = (USum)r->shift;                                                                   \
        if (s == 0 && t == 0) return;                                                                                  \
        USum fixed = t * (USum)l->sums[group] + s * t * run->heavy;                                                    \
        for (uint32_t j = 0; j < run->spec->right.groups; j++)                                                         \
            sums[j] = (Sum)((USum)sums[j] - s * (USum)r->sums[j] - fixed);                                             \
    }
UNSHIFT(unshift_narrow, int64_t, uint64_t)
UNSHIFT(unshift_wide, int128, uint128)

static void dense_product(ProductRun *run, Product product, uint32_t first_panel, uint32_t panels, void *sums,
                          bool wide)
{
    const Operand *l = &run->left_ops[operand_index(product.left)], *r = &run->right_ops[operand_index(product.right)];
    KernelIsa isa = run->spec->isa;
    for (uint32_t q = 0; q < r->limbs.panels; q++) {
        for (uint32_t p = 0; p < panels; p++) {
            size_t at = (size_t)p * LIMB_ROWS_A * run->stride + (size_t)q * LIMB_ROWS_B;
            if (wide)
                limb_multiply_wide(isa, &l->limbs, first_panel + p, &r->limbs, q, (int128 *)sums + at, run->stride);
            else
                limb_multiply(isa, &l->limbs, first_panel + p, &r->limbs, q, (int64_t *)sums + at, run->stride);
        }
    }
    uint32_t first = first_panel * LIMB_ROWS_A;
    for (uint32_t i = 0; i < panels * LIMB_ROWS_A && first + i < run->left.rows; i++) {
        if (wide)
            unshift_wide(run, l, r, first + i, (int128 *)sums + i * run->stride);
        else
            unshift_narrow(run, l, r, first + i, (int64_t *)sums + i * run->stride);
    }
}

static void dense_counts(ProductRun *run, Block *b, uint32_t first_panel, uint32_t panels)
{
    uint32_t first = first_panel * LIMB_ROWS_A, rows = panels * LIMB_ROWS_A;
    if (run->count_mode == COUNT_LIMBS) {
        dense_product(run, (Product){ONES, ONES}, first_panel, panels, b->counts, false);
        return;
    }
    for (uint32_t i = 0; i < rows && first + i < run->left.rows; i++) {
        uint64_t *counts = b->counts + i * run->stride;
        if (run->count_mode == COUNT_BITS) {
            if (i % BIT_TILE != 0) continue;
            for (uint32_t j = 0; j < run->right_bits.padded; j += BIT_TILE)
                bitmat_multiply(run->spec->isa, &run->left_bits, first + i, &run->right_bits, j, (int64_t *)counts + j,
                                run->stride);
        } else {
            for (uint32_t j = 0; j < run->spec->right.groups; j++)
                counts[j] = run->present[run->present_left ? first + i : j];
        }
    }
}

static tcudb_status dense_task(ProductRun *run, Block *b, const Output *out, Error *err)
{
    uint32_t first = (uint32_t)out->task * run->block_rows;
    uint32_t rows = run->left.rows - first < run->block_rows ? run->left.rows - first : run->block_rows;
    uint32_t panels = (rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    dense_counts(run, b, first / LIMB_ROWS_A, panels);
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        dense_product(run, run->spec->products[p], first / LIMB_ROWS_A, panels, b->sums[p], run->wide);
    for (uint32_t i = 0; i < rows; i++) {
        size_t row = i * run->stride;
        if (run->any_light) add_light(run, b, first + i, row, false);
        for (uint32_t j = 0; j < run->spec->right.groups; j++) {
            if (b->counts[row + j] == 0) continue;
            if (b->n == EMIT_ROWS) TRY(flush(run, b, out, err));
            emit(run, b, first + i, j, row + j);
        }
    }
    return flush(run, b, out, err);
}

static tcudb_status zeroed(ProductRun *run, size_t size, void **out, Error *err)
{
    *out = mem_alloc_zero(run->mem, size, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status new_block(ProductRun *run, Block *b, Error *err)
{
    size_t cells = run->block_rows * run->stride;
    TRY(zeroed(run, sizeof(uint64_t) * cells, (void **)&b->counts, err));
    TRY(zeroed(run, sizeof(uint32_t) * (run->stride + 1), (void **)&b->touched, err));
    TRY(zeroed(run, sizeof(uint32_t) * EMIT_ROWS, (void **)&b->out_left, err));
    TRY(zeroed(run, sizeof(uint32_t) * EMIT_ROWS, (void **)&b->out_right, err));
    TRY(zeroed(run, sizeof(uint64_t) * EMIT_ROWS, (void **)&b->out_counts, err));
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        TRY(zeroed(run, sum_size(run) * cells, &b->sums[p], err));
        TRY(zeroed(run, sum_size(run) * EMIT_ROWS, &b->out_sums[p], err));
    }
    return TCUDB_OK;
}

static void free_block(ProductRun *run, Block *b)
{
    size_t cells = run->block_rows * run->stride;
    mem_free(run->mem, b->counts, sizeof(uint64_t) * cells);
    mem_free(run->mem, b->touched, sizeof(uint32_t) * (run->stride + 1));
    mem_free(run->mem, b->out_left, sizeof(uint32_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_right, sizeof(uint32_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_counts, sizeof(uint64_t) * EMIT_ROWS);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        mem_free(run->mem, b->sums[p], sum_size(run) * cells);
        mem_free(run->mem, b->out_sums[p], sum_size(run) * EMIT_ROWS);
    }
}

tcudb_status blocks_new(ProductRun *run, Error *err)
{
    uint32_t workers = pool_workers(run->pool);
    run->blocks = mem_alloc_zero(run->mem, sizeof(Block) * workers, err);
    TRY_PTR(run->blocks);
    for (uint32_t w = 0; w < workers; w++) TRY(new_block(run, &run->blocks[w], err));
    return TCUDB_OK;
}

uint64_t blocks_free(ProductRun *run)
{
    if (run->blocks == NULL) return 0;
    uint64_t emitted = 0;
    uint32_t workers = pool_workers(run->pool);
    for (uint32_t w = 0; w < workers; w++) {
        emitted += run->blocks[w].emitted;
        free_block(run, &run->blocks[w]);
    }
    mem_free(run->mem, run->blocks, sizeof(Block) * workers);
    return emitted;
}

uint64_t product_tasks(const ProductRun *run)
{
    uint64_t step = run->heavy > 0 ? run->block_rows : SPARSE_ROWS;
    return (run->left.rows + step - 1) / step;
}

tcudb_status product_task(ProductRun *run, uint32_t worker, uint64_t task, ProductSink sink, void *ctx, Error *err)
{
    Output out = {sink, ctx, worker, task};
    Block *b = &run->blocks[worker];
    return run->heavy > 0 ? dense_task(run, b, &out, err) : sparse_task(run, b, &out, err);
}
