/*
 * product_blocks.c: the tasks of a product: blocks of left groups.
 *
 * With heavy keys, a block's accumulators (block_rows x stride for each product) are filled by the dense tiles, the
 * light keys' pairs are added row by row (product_sparse.c), and the block is scanned for groups that exist
 * (product_emit.c). Without heavy keys a block is a number of rows that share one line of accumulators.
 * Cost: see product_plan.c.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <string.h>

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

/* Of a symmetric product the columns before the block's first row are its rows' mirror images. */
static uint32_t first_column(const ProductRun *run, uint32_t first_panel)
{
    return run->places == NULL ? 0 : first_panel * LIMB_ROWS_A;
}

/* The tile as it is, or widened on its way. */
static void multiply_doubles(const ProductRun *run, const Operand *l, uint32_t panel, const Operand *r, uint32_t q,
                             void *sums, size_t at)
{
    if (!run->wide) {
        double_multiply(run->spec->isa, &l->doubles, panel, &r->doubles, q, (int64_t *)sums + at, run->stride);
        return;
    }
    int64_t tile[LIMB_ROWS_A * LIMB_ROWS_B] = {0};
    double_multiply(run->spec->isa, &l->doubles, panel, &r->doubles, q, tile, LIMB_ROWS_B);
    for (uint32_t i = 0; i < LIMB_ROWS_A; i++)
        for (uint32_t j = 0; j < LIMB_ROWS_B; j++)
            ((int128 *)sums)[at + i * run->stride + j] = tile[i * LIMB_ROWS_B + j];
}

static void dense_doubles(ProductRun *run, Product product, uint32_t first_panel, uint32_t panels, void *sums)
{
    const Operand *l = &run->left_ops[operand_index(product.left)], *r = &run->right_ops[operand_index(product.right)];
    for (uint32_t q = first_column(run, first_panel) / LIMB_ROWS_B; q < r->doubles.panels; q++)
        for (uint32_t p = 0; p < panels; p++)
            multiply_doubles(run, l, first_panel + p, r, q, sums,
                             (size_t)p * LIMB_ROWS_A * run->stride + (size_t)q * LIMB_ROWS_B);
}

static void dense_product(ProductRun *run, Product product, uint32_t first_panel, uint32_t panels, void *sums,
                          bool wide)
{
    const Operand *l = &run->left_ops[operand_index(product.left)], *r = &run->right_ops[operand_index(product.right)];
    KernelIsa isa = run->spec->isa;
    for (uint32_t q = first_column(run, first_panel) / LIMB_ROWS_B; q < r->limbs.panels; q++) {
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

/* Chunk by chunk of the keys, each right tile meets all of the block's rows, which stay in cache; of a symmetric
 * product those that it does not lie before. */
static void count_bits(ProductRun *run, Block *b, uint32_t first, uint32_t rows)
{
    uint32_t from = run->places == NULL ? 0 : first / BIT_TILE * BIT_TILE;
    for (size_t word = 0; word < run->left_bits.words; word += BIT_CHUNK)
        for (uint32_t j = from; j < run->right_bits.padded; j += BIT_TILE)
            for (uint32_t i = 0; i < rows && (run->places == NULL || first + i < j + BIT_TILE); i += BIT_TILE)
                bitmat_multiply(run->spec->isa, &run->left_bits, first + i, &run->right_bits, j, word,
                                (int64_t *)b->counts + i * run->stride + j, run->stride);
}

static void dense_counts(ProductRun *run, Block *b, uint32_t first, uint32_t rows)
{
    if (run->count_mode == COUNT_LIMBS) {
        dense_product(run, (Product){ONES, ONES}, first / LIMB_ROWS_A, (rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A,
                      b->counts, false);
    } else if (run->count_mode == COUNT_BITS) {
        count_bits(run, b, first, rows);
    } else {
        for (uint32_t i = 0; i < rows; i++)
            for (uint32_t j = 0; j < run->spec->right.groups; j++)
                b->counts[i * run->stride + j] =
                    run->left_present[first + i] & (run->right_present == NULL ? 1 : run->right_present[j]);
    }
}

static tcudb_status dense_task(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    uint32_t first = (uint32_t)out->task * run->block_rows;
    uint32_t rows = run->left.rows - first < run->block_rows ? run->left.rows - first : run->block_rows;
    uint32_t panels = (rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    dense_counts(run, b, first, rows);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->in_doubles[p])
            dense_doubles(run, run->spec->products[p], first / LIMB_ROWS_A, panels, b->sums[p]);
        else
            dense_product(run, run->spec->products[p], first / LIMB_ROWS_A, panels, b->sums[p], run->wide);
    }
    for (uint32_t i = 0; i < rows; i++) {
        size_t row = i * run->stride;
        if (run->any_light) sparse_add(run, b, first + i, row);
        TRY(block_take(run, b, first + i, row, b->ids, block_scan(run, b, row, run->places == NULL ? 0 : first + i),
                       out, err));
    }
    return block_flush(run, b, out, err);
}

static tcudb_status zeroed(ProductRun *run, size_t size, void **out, Error *err)
{
    *out = mem_alloc_zero(run->mem, size, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* Lines of accumulators: without heavy keys one serves all rows. */
static size_t block_cells(const ProductRun *run)
{
    return (run->heavy > 0 ? run->block_rows : 1) * run->stride;
}

/* Columns of a line, or rows of the output; and a vector's overhang. */
static size_t block_ids(const ProductRun *run)
{
    return (run->stride > EMIT_ROWS ? run->stride : EMIT_ROWS) + 16;
}

static tcudb_status new_block(ProductRun *run, Block *b, Error *err)
{
    size_t cells = block_cells(run);
    TRY(zeroed(run, sizeof(uint64_t) * cells, (void **)&b->counts, err));
    TRY(zeroed(run, sizeof(uint32_t) * block_ids(run), (void **)&b->ids, err));
    if (run->nhaving > 0) TRY(zeroed(run, sizeof(uint32_t) * block_ids(run), (void **)&b->kept, err));
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
    size_t cells = block_cells(run);
    mem_free(run->mem, b->counts, sizeof(uint64_t) * cells);
    mem_free(run->mem, b->ids, sizeof(uint32_t) * block_ids(run));
    mem_free(run->mem, b->kept, sizeof(uint32_t) * block_ids(run));
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
    return ((uint64_t)run->left.rows + run->block_rows - 1) / run->block_rows;
}

tcudb_status product_task(ProductRun *run, uint32_t worker, uint64_t task, ProductSink sink, void *ctx, Error *err)
{
    BlockOutput out = {sink, ctx, worker, task};
    Block *b = &run->blocks[worker];
    return run->heavy > 0 ? dense_task(run, b, &out, err) : sparse_task(run, b, &out, err);
}
