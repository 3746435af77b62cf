/*
 * product_blocks.c: the tasks of a product: blocks of left groups.
 *
 * With heavy keys, a block's accumulators (block_rows x stride for each product) are filled by the dense tiles, the
 * light keys' pairs are added row by row (product_sparse.c), and the block is scanned for groups that exist
 * (product_emit.c). With chunks of keys the accumulators of all blocks stand and are full before the first task
 * (product_chunks.c). Without heavy keys a block is a number of rows that share one line of accumulators.
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

/* A tile that was multiplied by itself is added to accumulators; of a left panel the rows that there are. */
#define ADD_TILE(name, Cell, Sum, USum)                                                                                \
    static void name(const Cell *tile, uint32_t rows, Sum *sums, size_t stride)                                        \
    {                                                                                                                  \
        for (uint32_t i = 0; i < rows; i++, tile += LIMB_ROWS_B, sums += stride)                                       \
            for (uint32_t j = 0; j < LIMB_ROWS_B; j++) sums[j] = (Sum)((USum)sums[j] + (USum)tile[j]);                 \
    }
ADD_TILE(add_narrow, int64_t, int64_t, uint64_t)
ADD_TILE(add_widened, int64_t, int128, uint128)

/* Where a tile goes. */
typedef struct Place {
    void *sums; /* of the tile's first cell */
    size_t stride;
    uint32_t rows;
    bool wide;
} Place;

static Place place_of(const ProductRun *run, void *sums, bool wide, uint32_t first, uint32_t p, uint32_t q)
{
    size_t at = (size_t)p * LIMB_ROWS_A * run->stride + (size_t)q * LIMB_ROWS_B;
    uint32_t rest = run->left.rows - (first + p * LIMB_ROWS_A);
    return (Place){.sums = (char *)sums + at * (wide ? sizeof(int128) : sizeof(int64_t)),
                   .stride = run->stride,
                   .rows = rest < LIMB_ROWS_A ? rest : LIMB_ROWS_A,
                   .wide = wide};
}

static void multiply_doubles(KernelIsa isa, const Operand *l, uint32_t panel, const Operand *r, uint32_t q,
                             const KeyStrip *strip, const Place *to)
{
    if (!to->wide && !strip->add) {
        double_multiply(isa, &l->doubles, panel, &r->doubles, q, strip, to->sums, to->stride);
        return;
    }
    int64_t tile[LIMB_ROWS_A * LIMB_ROWS_B] = {0};
    double_multiply(isa, &l->doubles, panel, &r->doubles, q, strip, tile, LIMB_ROWS_B);
    for (uint32_t i = 0; i < to->rows && !strip->add; i++)
        memset((int128 *)to->sums + i * to->stride, 0, sizeof(int128) * LIMB_ROWS_B);
    if (to->wide)
        add_widened(tile, to->rows, to->sums, to->stride);
    else
        add_narrow(tile, to->rows, to->sums, to->stride);
}

static void multiply_limbs(KernelIsa isa, const Operand *l, uint32_t panel, const Operand *r, uint32_t q,
                           const KeyStrip *strip, const Place *to)
{
    if (to->wide)
        limb_multiply_wide(isa, &l->limbs, panel, &r->limbs, q, strip, to->sums, to->stride);
    else
        limb_multiply(isa, &l->limbs, panel, &r->limbs, q, strip, to->sums, to->stride);
}

/* Keys of a strip: a block's rows and a right panel of so many stay in the second-level cache together. */
static uint32_t strip_keys(const Operand *l, const Operand *r, bool doubles)
{
    enum { KEYS = 4096, LEAST = 512 };
    uint32_t limbs = l->limbs.limbs > r->limbs.limbs ? l->limbs.limbs : r->limbs.limbs;
    uint32_t keys = (doubles ? KEYS / (uint32_t)sizeof(double) : KEYS / limbs) / LIMB_BLOCK * LIMB_BLOCK;
    return keys < LEAST ? LEAST : keys;
}

static void dense_strip(ProductRun *run, const Operand *ops[2], bool doubles, const KeyStrip *strip, uint32_t first,
                        uint32_t rows, void *sums, bool wide)
{
    uint32_t panel = first / LIMB_ROWS_A, panels = (rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    for (uint32_t q = first_column(run, panel) / LIMB_ROWS_B; q < run->stride / LIMB_ROWS_B; q++) {
        for (uint32_t p = 0; p < panels; p++) {
            Place to = place_of(run, sums, wide, first, p, q);
            if (doubles)
                multiply_doubles(run->spec->isa, ops[0], panel + p, ops[1], q, strip, &to);
            else
                multiply_limbs(run->spec->isa, ops[0], panel + p, ops[1], q, strip, &to);
        }
    }
}

/* Sets the accumulators; with chunks of keys it adds to them. */
static void dense_product(ProductRun *run, Product product, bool doubles, uint32_t first, uint32_t rows, void *sums,
                          bool wide)
{
    const Operand *l = &run->left_ops[operand_index(product.left)], *r = &run->right_ops[operand_index(product.right)];
    uint32_t keys = strip_keys(l, r, doubles);
    for (uint32_t from = 0; from < run->heavy; from += keys) {
        KeyStrip strip = {.from = from, .to = run->heavy - from < keys ? run->heavy : from + keys};
        strip.add = run->chunk > 0 || from > 0;
        dense_strip(run, (const Operand *[]){l, r}, doubles, &strip, first, rows, sums, wide);
    }
    for (uint32_t i = 0; i < rows && !doubles; i++) {
        if (wide)
            unshift_wide(run, l, r, first + i, (int128 *)sums + i * run->stride);
        else
            unshift_narrow(run, l, r, first + i, (int64_t *)sums + i * run->stride);
    }
}

static void add_bits(const ProductRun *run, uint32_t i, uint32_t j, size_t word, uint32_t rows, int64_t *counts)
{
    int64_t tile[BIT_TILE * BIT_TILE] = {0};
    bitmat_multiply(run->spec->isa, &run->left_bits, i, &run->right_bits, j, word, tile, BIT_TILE);
    for (uint32_t k = 0; k < rows; k++, counts += run->stride)
        for (uint32_t l = 0; l < BIT_TILE; l++) counts[l] += tile[k * BIT_TILE + l];
}

/* Chunk by chunk of the keys, each right tile meets all of the block's rows, which stay in cache; of a symmetric
 * product those that it does not lie before. */
static void count_bits(ProductRun *run, uint64_t *counts, uint32_t first, uint32_t rows)
{
    uint32_t from = run->places == NULL ? 0 : first / BIT_TILE * BIT_TILE;
    for (size_t word = 0; word < run->left_bits.words; word += BIT_CHUNK) {
        for (uint32_t j = from; j < run->right_bits.padded; j += BIT_TILE) {
            for (uint32_t i = 0; i < rows && (run->places == NULL || first + i < j + BIT_TILE); i += BIT_TILE) {
                int64_t *to = (int64_t *)counts + i * run->stride + j;
                if (run->chunk > 0)
                    add_bits(run, first + i, j, word, rows - i < BIT_TILE ? rows - i : BIT_TILE, to);
                else
                    bitmat_multiply(run->spec->isa, &run->left_bits, first + i, &run->right_bits, j, word, to,
                                    run->stride);
            }
        }
    }
}

static void count_present(const ProductRun *run, uint64_t *counts, uint32_t first, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t *line = counts + i * run->stride, left = run->left_present[first + i];
        for (uint32_t j = 0; j < run->spec->right.groups; j++) {
            uint64_t meet = left & (run->right_present == NULL ? 1 : run->right_present[j]);
            line[j] = run->chunk > 0 ? line[j] | meet : meet;
        }
    }
}

void blocks_add(ProductRun *run, uint32_t first, uint32_t rows, uint64_t *counts, void *const *sums)
{
    if (run->count_mode == COUNT_LIMBS)
        dense_product(run, (Product){ONES, ONES}, false, first, rows, counts, false);
    else if (run->count_mode == COUNT_BITS)
        count_bits(run, counts, first, rows);
    else
        count_present(run, counts, first, rows);
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        dense_product(run, run->spec->products[p], run->in_doubles[p], first, rows, sums[p], run->wide);
}

static tcudb_status dense_task(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    uint32_t first = (uint32_t)out->task * run->block_rows;
    uint32_t rows = run->left.rows - first < run->block_rows ? run->left.rows - first : run->block_rows;
    size_t at = run->chunk > 0 ? first * run->stride : 0;
    if (run->chunk == 0) blocks_add(run, first, rows, b->counts, b->sums);
    for (uint32_t i = 0; i < rows; i++, at += run->stride) {
        if (run->any_light) sparse_add(run, b, first + i, at);
        TRY(block_take(run, b, first + i, at, b->ids, block_scan(run, b, at, run->places == NULL ? 0 : first + i), out,
                       err));
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
    if (run->chunk > 0)
        b->counts = run->all.counts;
    else
        TRY(zeroed(run, sizeof(uint64_t) * cells, (void **)&b->counts, err));
    TRY(zeroed(run, sizeof(uint32_t) * block_ids(run), (void **)&b->ids, err));
    if (run->tests) TRY(zeroed(run, sizeof(uint32_t) * block_ids(run), (void **)&b->kept, err));
    TRY(zeroed(run, sizeof(uint32_t) * EMIT_ROWS, (void **)&b->out_left, err));
    TRY(zeroed(run, sizeof(uint32_t) * EMIT_ROWS, (void **)&b->out_right, err));
    TRY(zeroed(run, sizeof(uint64_t) * EMIT_ROWS, (void **)&b->out_counts, err));
    if (run->spec->fold) TRY(zeroed(run, sizeof(uint64_t) * EMIT_ROWS, (void **)&b->out_cells, err));
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->chunk > 0)
            b->sums[p] = run->all.sums[p];
        else
            TRY(zeroed(run, sum_size(run) * cells, &b->sums[p], err));
        TRY(zeroed(run, out_size(run) * EMIT_ROWS, &b->out_sums[p], err));
    }
    return TCUDB_OK;
}

static void free_block(ProductRun *run, Block *b)
{
    size_t cells = block_cells(run);
    if (run->chunk == 0) mem_free(run->mem, b->counts, sizeof(uint64_t) * cells);
    mem_free(run->mem, b->ids, sizeof(uint32_t) * block_ids(run));
    mem_free(run->mem, b->kept, sizeof(uint32_t) * block_ids(run));
    mem_free(run->mem, b->out_left, sizeof(uint32_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_right, sizeof(uint32_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_counts, sizeof(uint64_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_cells, sizeof(uint64_t) * EMIT_ROWS);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->chunk == 0) mem_free(run->mem, b->sums[p], sum_size(run) * cells);
        mem_free(run->mem, b->out_sums[p], out_size(run) * EMIT_ROWS);
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
    run->blocks = NULL;
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
