/*
 * product_blocks.c: the tasks of a product: blocks of left groups.
 *
 * With heavy keys, a block's accumulators (block_rows x stride for each product) are filled by the dense tiles, the
 * light keys' pairs are added row by row (product_sparse.c), and the block is scanned for groups that exist
 * (product_emit.c). With chunks of keys, or few left groups, the accumulators of all blocks stand and are full before
 * the first task (product_chunks.c), which puts a piece of a line out. Without heavy keys a block is a number of rows
 * that share one line of accumulators. Rows that outweigh others are added up before, by all cores (product_giants.c).
 * Cost: see product_plan.c.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <string.h>

/* Removes what the shifts of signed operands added. */
#define UNSHIFT(name, Sum, USum)                                                                                       \
    static void name(const ProductRun *run, const Operand *l, const Operand *r, uint32_t group, uint32_t from,         \
                     uint32_t to, Sum *sums)                                                                           \
    {                                                                                                                  \
        USum s = (USum)l->shift, t = (USum)r->shift;                                                                   \
        if (s == 0 && t == 0) return;                                                                                  \
        USum fixed = t * (USum)l->sums[group] + s * t * run->heavy;                                                    \
        for (uint32_t j = from; j < to; j++) sums[j] = (Sum)((USum)sums[j] - s * (USum)r->sums[j] - fixed);            \
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

static void dense_strip(ProductRun *run, const Operand *ops[2], bool doubles, const KeyStrip *strip, const Unit *u,
                        void *sums, bool wide)
{
    uint32_t panel = u->first / LIMB_ROWS_A, panels = (u->rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    uint32_t from = first_column(run, panel) / LIMB_ROWS_B;
    for (uint32_t q = from > u->from_panel ? from : u->from_panel; q < u->to_panel; q++) {
        for (uint32_t p = 0; p < panels; p++) {
            Place to = place_of(run, sums, wide, u->first, p, q);
            if (doubles)
                multiply_doubles(run->spec->isa, ops[0], panel + p, ops[1], q, strip, &to);
            else
                multiply_limbs(run->spec->isa, ops[0], panel + p, ops[1], q, strip, &to);
        }
    }
}

/* Columns of the unit that there are. */
static uint32_t last_column(const ProductRun *run, const Unit *u)
{
    uint64_t to = (uint64_t)u->to_panel * LIMB_ROWS_B;
    return to < run->spec->right.groups ? (uint32_t)to : run->spec->right.groups;
}

/* What the shifts added is taken off with the first key. */
static void unshift(ProductRun *run, const Operand *l, const Operand *r, const Unit *u, void *sums, bool wide)
{
    uint32_t from = u->from_panel * LIMB_ROWS_B, to = last_column(run, u);
    for (uint32_t i = 0; i < u->rows && u->from_key == 0; i++) {
        if (wide)
            unshift_wide(run, l, r, u->first + i, from, to, (int128 *)sums + i * run->stride);
        else
            unshift_narrow(run, l, r, u->first + i, from, to, (int64_t *)sums + i * run->stride);
    }
}

/* Sets the accumulators; to standing ones it adds. */
static void dense_product(ProductRun *run, Product product, bool doubles, const Unit *u, void *sums, bool wide)
{
    const Operand *l = &run->left_ops[operand_index(product.left)], *r = &run->right_ops[operand_index(product.right)];
    uint32_t keys = strip_keys(l, r, doubles);
    for (uint32_t from = u->from_key; from < u->to_key; from += keys) {
        KeyStrip strip = {.from = from, .to = u->to_key - from < keys ? u->to_key : from + keys};
        strip.add = run->standing || from > 0;
        dense_strip(run, (const Operand *[]){l, r}, doubles, &strip, u, sums, wide);
    }
    if (!doubles) unshift(run, l, r, u, sums, wide);
}

static void add_bits(const ProductRun *run, uint32_t i, uint32_t j, size_t word, uint32_t rows, int64_t *counts)
{
    int64_t tile[BIT_TILE * BIT_TILE] = {0};
    bitmat_multiply(run->spec->isa, &run->left_bits, i, &run->right_bits, j, word, tile, BIT_TILE);
    for (uint32_t k = 0; k < rows; k++, counts += run->stride)
        for (uint32_t l = 0; l < BIT_TILE; l++) counts[l] += tile[k * BIT_TILE + l];
}

/* One chunk of the keys: each right tile meets all of the unit's rows, which stay in cache; of a symmetric product
 * those that it does not lie before. */
static void count_bits(ProductRun *run, uint64_t *counts, const Unit *u, size_t word)
{
    uint32_t from = u->from_panel * LIMB_ROWS_B, to = u->to_panel * LIMB_ROWS_B, rows = u->rows;
    uint32_t own = run->places == NULL ? 0 : u->first / BIT_TILE * BIT_TILE;
    if (to > run->right_bits.padded) to = run->right_bits.padded;
    for (uint32_t j = from > own ? from : own; j < to; j += BIT_TILE) {
        for (uint32_t i = 0; i < rows && (run->places == NULL || u->first + i < j + BIT_TILE); i += BIT_TILE) {
            int64_t *at = (int64_t *)counts + i * run->stride + j;
            if (run->standing)
                add_bits(run, u->first + i, j, word, rows - i < BIT_TILE ? rows - i : BIT_TILE, at);
            else
                bitmat_multiply(run->spec->isa, &run->left_bits, u->first + i, &run->right_bits, j, word, at,
                                run->stride);
        }
    }
}

/* The chunks that begin among the unit's keys. */
static void count_chunks(ProductRun *run, uint64_t *counts, const Unit *u)
{
    size_t first = (u->from_key / 64 + BIT_CHUNK - 1) / BIT_CHUNK * BIT_CHUNK;
    for (size_t word = first; word * 64 < u->to_key; word += BIT_CHUNK) count_bits(run, counts, u, word);
}

static void count_present(const ProductRun *run, uint64_t *counts, const Unit *u)
{
    for (uint32_t i = 0; i < u->rows && u->from_key == 0; i++) {
        uint64_t *line = counts + i * run->stride, left = run->left_present[u->first + i];
        for (uint32_t j = u->from_panel * LIMB_ROWS_B; j < last_column(run, u); j++) {
            uint64_t meet = left & (run->right_present == NULL ? 1 : run->right_present[j]);
            line[j] = run->standing ? line[j] | meet : meet;
        }
    }
}

void blocks_add(ProductRun *run, const Unit *u, const Lines *lines)
{
    if (run->count_mode == COUNT_LIMBS)
        dense_product(run, (Product){ONES, ONES}, false, u, lines->counts, false);
    else if (run->count_mode == COUNT_BITS)
        count_chunks(run, lines->counts, u);
    else
        count_present(run, lines->counts, u);
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        dense_product(run, run->spec->products[p], run->in_doubles[p], u, lines->sums[p], run->wide);
}

/* ---- tasks -------------------------------------------------------------------------------------- */

static tcudb_status emit_line(ProductRun *run, Block *b, const Lines *lines, uint32_t group, size_t at, uint32_t from,
                              uint32_t to, const BlockOutput *out, Error *err)
{
    if (run->places != NULL && from < group) from = group;
    uint32_t n = from < to ? block_scan(run, b, lines, at, from, to) : 0;
    return block_take(run, b, lines, group, at, b->ids, n, out, err);
}

void light_add(ProductRun *run, const Lines *lines, uint32_t group, size_t at)
{
    int64_t giant = giants_line(run, group);
    if (giant < 0) {
        sparse_add(run, lines, run->left.starts[group], run->left.starts[group + 1], at);
        return;
    }
    Lines from = lines_at(run, &run->giants.lines, (size_t)giant), to = lines_at(run, lines, at / run->stride);
    lines_add(run, &from, &to, 0, run->right.columns);
}

static tcudb_status dense_task(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    uint32_t first = (uint32_t)out->task * run->block_rows, rest = run->left.rows - first, columns = run->right.columns;
    Unit all = {.first = first,
                .rows = rest < run->block_rows ? rest : run->block_rows,
                .to_panel = (uint32_t)(run->stride / LIMB_ROWS_B),
                .to_key = run->heavy};
    size_t at = 0;
    blocks_add(run, &all, &b->lines);
    for (uint32_t i = 0; i < all.rows; i++, at += run->stride) {
        if (run->any_light) light_add(run, &b->lines, first + i, at);
        TRY(emit_line(run, b, &b->lines, first + i, at, 0, columns, out, err));
    }
    return block_flush(run, b, out, err);
}

/* Lines that stand, or a piece of one. */
static tcudb_status standing_task(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    uint64_t columns = run->right.columns, piece = out->task % run->pieces;
    uint64_t first = out->task / run->pieces * run->emit_rows, last = first + run->emit_rows;
    uint32_t from = (uint32_t)(columns * piece / run->pieces), to = (uint32_t)(columns * (piece + 1) / run->pieces);
    for (uint64_t g = first; g < last && g < run->left.rows; g++)
        TRY(emit_line(run, b, &run->all, (uint32_t)g, g * run->stride, from, to, out, err));
    return block_flush(run, b, out, err);
}

static tcudb_status listed_task(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    const Task *task = &run->tasks[out->task];
    if (task->kind == TASK_ROWS) return sparse_rows(run, b, task->first, task->rows, out, err);
    if (task->kind == TASK_CELLS) return sparse_cells(run, b, task, out, err);
    size_t at = (size_t)giants_line(run, task->first) * run->stride;
    TRY(emit_line(run, b, &run->giants.lines, task->first, at, (uint32_t)task->from, (uint32_t)task->to, out, err));
    return block_flush(run, b, out, err);
}

static tcudb_status sparse_task(ProductRun *run, Block *b, const BlockOutput *out, Error *err)
{
    uint32_t first = (uint32_t)out->task * run->block_rows, rest = run->left.rows - first;
    return sparse_rows(run, b, first, rest < run->block_rows ? rest : run->block_rows, out, err);
}

uint64_t product_tasks(const ProductRun *run)
{
    if (run->tasks != NULL) return run->ntasks;
    uint32_t rows = run->standing ? run->emit_rows : run->block_rows;
    return ((uint64_t)run->left.rows + rows - 1) / rows * (run->standing ? run->pieces : 1);
}

tcudb_status product_task(ProductRun *run, uint32_t worker, uint64_t task, ProductSink sink, void *ctx, Error *err)
{
    BlockOutput out = {sink, ctx, worker, task};
    Block *b = &run->blocks[worker];
    if (run->tasks != NULL) return listed_task(run, b, &out, err);
    if (run->standing) return standing_task(run, b, &out, err);
    return run->heavy > 0 ? dense_task(run, b, &out, err) : sparse_task(run, b, &out, err);
}

/* ---- memory ------------------------------------------------------------------------------------- */

static tcudb_status zeroed(ProductRun *run, size_t size, void **out, Error *err)
{
    *out = mem_alloc_zero(run->mem, size, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

/* A worker's: without heavy keys one serves all rows. */
static size_t block_lines(const ProductRun *run)
{
    return run->heavy > 0 ? run->block_rows : 1;
}

/* Columns of a line, or rows of the output; and a vector's overhang. */
static size_t block_ids(const ProductRun *run)
{
    return (run->stride > EMIT_ROWS ? run->stride : EMIT_ROWS) + 16;
}

static tcudb_status new_block(ProductRun *run, Block *b, Error *err)
{
    if (!run->standing) TRY(lines_new(run, block_lines(run), &b->lines, err));
    TRY(zeroed(run, sizeof(uint32_t) * block_ids(run), (void **)&b->ids, err));
    if (run->tests) TRY(zeroed(run, sizeof(uint32_t) * block_ids(run), (void **)&b->kept, err));
    TRY(zeroed(run, sizeof(uint32_t) * EMIT_ROWS, (void **)&b->out_left, err));
    TRY(zeroed(run, sizeof(uint32_t) * EMIT_ROWS, (void **)&b->out_right, err));
    TRY(zeroed(run, sizeof(uint64_t) * EMIT_ROWS, (void **)&b->out_counts, err));
    if (run->spec->fold) TRY(zeroed(run, sizeof(uint64_t) * EMIT_ROWS, (void **)&b->out_cells, err));
    for (uint32_t p = 0; p < run->spec->nproducts; p++)
        TRY(zeroed(run, out_size(run) * EMIT_ROWS, &b->out_sums[p], err));
    return TCUDB_OK;
}

static void free_block(ProductRun *run, Block *b)
{
    if (!run->standing) lines_free(run, block_lines(run), &b->lines);
    mem_free(run->mem, b->ids, sizeof(uint32_t) * block_ids(run));
    mem_free(run->mem, b->kept, sizeof(uint32_t) * block_ids(run));
    mem_free(run->mem, b->out_left, sizeof(uint32_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_right, sizeof(uint32_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_counts, sizeof(uint64_t) * EMIT_ROWS);
    mem_free(run->mem, b->out_cells, sizeof(uint64_t) * EMIT_ROWS);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) mem_free(run->mem, b->out_sums[p], out_size(run) * EMIT_ROWS);
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
