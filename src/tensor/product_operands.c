/*
 * product_operands.c: dense operands of a product: matrices of limbs, doubles and bits over the heavy keys.
 *
 * Signed cells become unsigned limbs by a shift: A' = A + s, B' = B + t for every cell, the empty ones included, and
 *     sum A B = sum A' B' - s sum B - t sum A - s t K
 * where K is the number of heavy keys. The left's sums of true cells per group are taken while filling, the right's
 * from the limbs' own row sums. Doubles have signs and need none of it.
 *
 * Left matrices are filled by panels of groups, right ones by blocks of 64 keys, which are whole bytes of limbs and
 * words of bits: no two threads write the same byte. The few panels of few left groups are filled by pieces of rows:
 * still no byte is written twice, and bits are or-ed into their words. Cost: a few nanoseconds a cell, and writing the
 * matrix once.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { CHUNK = 512, PIECES = 4, PIECE_CELLS = 1 << 14 }; /* pieces a worker of what would be too few tasks */

static tcudb_status new_operand(ProductRun *run, bool left, uint32_t column, bool doubles, Error *err)
{
    Operand *op = left ? &run->left_ops[operand_index(column)] : &run->right_ops[operand_index(column)];
    uint32_t groups = left ? run->spec->left.groups : run->spec->right.groups;
    if (doubles ? op->in_doubles : op->in_limbs) return TCUDB_OK;
    if (doubles) {
        op->in_doubles = true;
        return double_new(run->mem, groups, run->heavy, left, &op->doubles, err);
    }
    op->shift = 0 - (uint64_t)op->facts.min;
    op->sums = mem_alloc_zero(run->mem, sizeof(int128) * groups, err);
    TRY_PTR(op->sums);
    op->in_limbs = true;
    return limb_new(run->mem, groups, run->heavy, facts_limbs(op->facts), left, &op->limbs, err);
}

/* Some heavy cells of one left group or of one key. */
typedef struct FillChunk {
    uint32_t n;
    uint32_t at[CHUNK]; /* dense key, or right group */
    uint64_t cells[CHUNK];
    int64_t values[CHUNK];
} FillChunk;

static void read_values(FillChunk *chunk, const Cells *cells, uint32_t operand)
{
    for (uint32_t i = 0; i < chunk->n; i++)
        chunk->values[i] = cells_value(cells, operand == 0 ? ONES : operand - 1, chunk->cells[i]);
}

/* Few panels of left groups are cleared and filled by pieces of them, and of rows. */
typedef struct LeftFill {
    ProductRun *run;
    uint32_t pieces;
    pthread_mutex_t lock;
} LeftFill;

static void put_bits(const LeftFill *f, const FillChunk *chunk, uint32_t row)
{
    BitMatrix *bits = &f->run->left_bits;
    for (uint32_t i = 0; f->pieces == 1 && i < chunk->n; i++) bitmat_set(bits, row, chunk->at[i]);
    for (uint32_t i = 0; f->pieces > 1 && i < chunk->n; i++) bitmat_set_shared(bits, row, chunk->at[i]);
}

static void put_left(const LeftFill *f, FillChunk *chunk, uint32_t row, int128 *sums)
{
    ProductRun *run = f->run;
    for (uint32_t o = 0; o <= run->left.nvalues; o++) {
        Operand *op = &run->left_ops[o];
        if (!op->in_limbs && !op->in_doubles) continue;
        read_values(chunk, &run->left, o);
        if (op->in_doubles) double_set_left(&op->doubles, row, chunk->at, chunk->values, chunk->n);
        if (!op->in_limbs) continue;
        limb_set_left(&op->limbs, row, chunk->at, chunk->values, chunk->n, op->shift);
        for (uint32_t i = 0; i < chunk->n; i++) sums[o] += chunk->values[i];
    }
    if (run->left_bits.bits != NULL) put_bits(f, chunk, row);
}

static void add_left_sums(LeftFill *f, uint32_t row, const int128 *sums)
{
    if (f->pieces > 1) pthread_mutex_lock(&f->lock);
    for (uint32_t o = 0; o <= f->run->left.nvalues; o++)
        if (f->run->left_ops[o].in_limbs) f->run->left_ops[o].sums[row] += sums[o];
    if (f->pieces > 1) pthread_mutex_unlock(&f->lock);
}

static void fill_left_cells(LeftFill *f, uint32_t row, uint64_t from, uint64_t to)
{
    const ProductRun *run = f->run;
    const Cells *cells = &run->left;
    FillChunk chunk;
    int128 sums[COLUMNS];
    memset(sums, 0, sizeof *sums * (cells->nvalues + 1));
    for (uint64_t c = from; c < to;) {
        for (chunk.n = 0; chunk.n < CHUNK && c < to; c++) {
            chunk.at[chunk.n] = run->dense_key[cells->ids[c]];
            chunk.cells[chunk.n] = c;
            chunk.n += chunk.at[chunk.n] != LIGHT;
        }
        put_left(f, &chunk, row, sums);
    }
    add_left_sums(f, row, sums);
}

static void clear_left(ProductRun *run, uint32_t panel, uint32_t piece, uint32_t pieces)
{
    for (uint32_t o = 0; o < COLUMNS; o++) {
        Operand *op = &run->left_ops[o];
        if (!op->in_limbs) continue;
        uint64_t blocks = op->limbs.blocks;
        limb_clear(&op->limbs, panel, panel + 1, (uint32_t)(blocks * piece / pieces),
                   (uint32_t)(blocks * (piece + 1) / pieces), op->shift);
    }
}

static tcudb_status clear_left_piece(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    const LeftFill *f = ctx;
    clear_left(f->run, (uint32_t)(task / f->pieces), (uint32_t)(task % f->pieces), f->pieces);
    return TCUDB_OK;
}

static tcudb_status fill_left_piece(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    LeftFill *f = ctx;
    uint32_t row = (uint32_t)(task / f->pieces);
    uint64_t piece = task % f->pieces, from = f->run->left.starts[row], n = f->run->left.starts[row + 1] - from;
    fill_left_cells(f, row, from + n * piece / f->pieces, from + n * (piece + 1) / f->pieces);
    return TCUDB_OK;
}

static tcudb_status fill_left_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    LeftFill *f = ctx;
    const Cells *cells = &f->run->left;
    uint32_t panel = (uint32_t)task;
    clear_left(f->run, panel, 0, 1);
    for (uint32_t row = panel * LIMB_ROWS_A; row < cells->rows && row < (panel + 1) * LIMB_ROWS_A; row++)
        fill_left_cells(f, row, cells->starts[row], cells->starts[row + 1]);
    return TCUDB_OK;
}

static tcudb_status fill_left(ProductRun *run, Error *err)
{
    LeftFill f = {.run = run, .pieces = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t panels = ((uint64_t)run->left.rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    uint32_t workers = pool_workers(run->pool);
    if (workers == 1 || panels >= PIECES * workers || run->left.n < PIECE_CELLS)
        return pool_run(run->pool, panels, fill_left_panel, &f, run->cancel, err);
    f.pieces = PIECES * workers;
    TRY(pool_run(run->pool, panels * f.pieces, clear_left_piece, &f, run->cancel, err));
    return pool_run(run->pool, (uint64_t)run->left.rows * f.pieces, fill_left_piece, &f, run->cancel, err);
}

static void put_right(ProductRun *run, FillChunk *chunk, uint32_t k)
{
    for (uint32_t o = 0; o <= run->right.nvalues; o++) {
        Operand *op = &run->right_ops[o];
        if (!op->in_limbs && !op->in_doubles) continue;
        read_values(chunk, &run->right, o);
        if (op->in_doubles) double_set_right(&op->doubles, k, chunk->at, chunk->values, chunk->n);
        if (op->in_limbs) limb_set_right(&op->limbs, k, chunk->at, chunk->values, chunk->n, op->shift);
    }
    for (uint32_t i = 0; run->right_bits.bits != NULL && i < chunk->n; i++)
        bitmat_set(&run->right_bits, chunk->at[i], k);
}

typedef struct RightFill {
    ProductRun *run;
    uint32_t *keys; /* of the dense columns */
} RightFill;

static tcudb_status fill_right_block(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    RightFill *f = ctx;
    ProductRun *run = f->run;
    const Cells *cells = &run->right;
    uint32_t block = (uint32_t)task;
    FillChunk chunk;
    for (uint32_t o = 0; o < COLUMNS; o++) {
        Operand *op = &run->right_ops[o];
        if (op->in_limbs) limb_clear(&op->limbs, 0, op->limbs.panels, block, block + 1, op->shift);
    }
    for (uint32_t k = block * LIMB_BLOCK; k < run->heavy && k < (block + 1) * LIMB_BLOCK; k++) {
        uint64_t c = cells->starts[f->keys[k]], to = cells->starts[f->keys[k] + 1];
        while (c < to) {
            for (chunk.n = 0; chunk.n < CHUNK && c < to; chunk.n++, c++) {
                chunk.at[chunk.n] = cells->ids[c];
                chunk.cells[chunk.n] = c;
            }
            put_right(run, &chunk, k);
        }
    }
    return TCUDB_OK;
}

static tcudb_status fill_right(ProductRun *run, Error *err)
{
    RightFill fill = {.run = run};
    size_t bytes = sizeof(uint32_t) * run->heavy;
    fill.keys = mem_alloc(run->mem, bytes, err);
    TRY_PTR(fill.keys);
    for (uint32_t key = 0; key < run->spec->keys; key++)
        if (run->dense_key[key] != LIGHT) fill.keys[run->dense_key[key]] = key;
    uint64_t blocks = ((uint64_t)run->heavy + LIMB_BLOCK - 1) / LIMB_BLOCK;
    tcudb_status status = pool_run(run->pool, blocks, fill_right_block, &fill, run->cancel, err);
    mem_free(run->mem, fill.keys, bytes);
    return status;
}

/* Pieces of the keys of a panel. */
typedef struct Finish {
    ProductRun *run;
    uint32_t pieces;
} Finish;

static tcudb_status finish_right_piece(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    const Finish *f = ctx;
    uint64_t piece = task % f->pieces;
    for (uint32_t o = 0; o < COLUMNS; o++) {
        Operand *op = &f->run->right_ops[o];
        if (!op->in_limbs) continue;
        uint64_t blocks = op->limbs.blocks;
        limb_finish_panel(f->run->spec->isa, &op->limbs, (uint32_t)(task / f->pieces),
                          (uint32_t)(blocks * piece / f->pieces), (uint32_t)(blocks * (piece + 1) / f->pieces));
    }
    return TCUDB_OK;
}

/* Sum of true cells = sum over limbs of 256^limb x row sum, minus the shift of every cell. */
static void sum_right(ProductRun *run, Operand *op)
{
    const LimbMatrix *m = &op->limbs;
    for (uint32_t row = 0; row < m->rows; row++) {
        uint128 sum = 0;
        for (uint32_t limb = 0; limb < m->limbs; limb++)
            sum += (uint128)m->row_sums[((size_t)limb * m->panels) * LIMB_ROWS_B + row] << (8 * limb);
        op->sums[row] = (int128)(sum - (uint128)op->shift * run->heavy);
    }
}

/* Marks the left groups with any heavy cell; *full: each of them has all. */
static tcudb_status mark_left(ProductRun *run, bool *full, Error *err)
{
    const Cells *cells = &run->left;
    run->left_present = mem_alloc_zero(run->mem, cells->rows, err);
    TRY_PTR(run->left_present);
    *full = true;
    for (uint32_t row = 0; row < cells->rows; row++) {
        uint64_t n = cells->starts[row + 1] - cells->starts[row];
        if (run->heavy < run->spec->keys) {
            n = 0;
            for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1]; c++)
                n += run->dense_key[cells->ids[c]] != LIGHT;
        }
        run->left_present[row] = n > 0;
        *full &= n == 0 || n == run->heavy;
    }
    return TCUDB_OK;
}

static tcudb_status mark_right(ProductRun *run, Error *err)
{
    const Cells *cells = &run->right;
    run->right_present = mem_alloc_zero(run->mem, cells->columns, err);
    TRY_PTR(run->right_present);
    uint32_t marked = 0;
    for (uint32_t key = 0; key < cells->rows && marked < cells->columns; key++) {
        if (run->dense_key[key] == LIGHT) continue;
        for (uint64_t c = cells->starts[key]; c < cells->starts[key + 1]; c++) {
            uint8_t *mark = &run->right_present[cells->ids[c]];
            marked += *mark == 0;
            *mark = 1;
        }
    }
    return TCUDB_OK;
}

static bool right_full(const ProductRun *run)
{
    for (uint32_t key = 0; key < run->right.rows; key++)
        if (run->dense_key[key] != LIGHT && run->right.starts[key + 1] - run->right.starts[key] < run->right.columns)
            return false;
    return true;
}

/* Where the present groups of one side have every heavy key, rows meet wherever both sides have any. */
static tcudb_status try_present(ProductRun *run, Error *err)
{
    bool left_full = false;
    TRY(mark_left(run, &left_full, err));
    if (left_full) TRY(mark_right(run, err));
    if (left_full || right_full(run)) run->count_mode = COUNT_PRESENT;
    return TCUDB_OK;
}

static tcudb_status prepare_counts(ProductRun *run, Error *err)
{
    bool unique = run->left.unique && run->right.unique;
    uint64_t heavy = run->heavy;
    run->count_mode = run->spec->exact_counts && !unique ? COUNT_LIMBS : COUNT_BITS;
    if (!run->spec->exact_counts && run->spec->form != FORM_BITS) TRY(try_present(run, err));
    if (run->count_mode == COUNT_PRESENT) return TCUDB_OK;
    if (run->count_mode == COUNT_BITS) {
        TRY(bitmat_new(run->mem, run->spec->left.groups, heavy, &run->left_bits, err));
        return bitmat_new(run->mem, run->spec->right.groups, heavy, &run->right_bits, err);
    }
    TRY(new_operand(run, true, ONES, false, err));
    return new_operand(run, false, ONES, false, err);
}

static void report_limbs(ProductRun *run)
{
    ProductReport *report = run->report;
    for (uint32_t p = 0; p < run->spec->nproducts; p++) report->in_doubles += run->in_doubles[p];
    for (uint32_t o = 0; o < COLUMNS; o++) {
        const Operand *l = &run->left_ops[o], *r = &run->right_ops[o];
        if (l->in_limbs && l->limbs.limbs > report->limbs_left) report->limbs_left = l->limbs.limbs;
        if (r->in_limbs && r->limbs.limbs > report->limbs_right) report->limbs_right = r->limbs.limbs;
    }
}

tcudb_status operands_new(ProductRun *run, Error *err)
{
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        TRY(new_operand(run, true, run->spec->products[p].left, run->in_doubles[p], err));
        TRY(new_operand(run, false, run->spec->products[p].right, run->in_doubles[p], err));
    }
    return TCUDB_OK;
}

tcudb_status operands_finish(ProductRun *run, Error *err)
{
    uint64_t panels = ((uint64_t)run->spec->right.groups + LIMB_ROWS_B - 1) / LIMB_ROWS_B;
    uint32_t workers = pool_workers(run->pool);
    Finish f = {.run = run, .pieces = panels >= (uint64_t)PIECES * workers ? 1 : PIECES * workers};
    TRY(pool_run(run->pool, panels * f.pieces, finish_right_piece, &f, run->cancel, err));
    for (uint32_t o = 0; o < COLUMNS; o++)
        if (run->right_ops[o].in_limbs) sum_right(run, &run->right_ops[o]);
    report_limbs(run);
    return TCUDB_OK;
}

tcudb_status operands_build(ProductRun *run, Error *err)
{
    TRY(prepare_counts(run, err));
    TRY(operands_new(run, err));
    TRY(fill_left(run, err));
    TRY(fill_right(run, err));
    return operands_finish(run, err);
}

static void free_operand(ProductRun *run, Operand *op, uint32_t groups)
{
    mem_free(run->mem, op->sums, sizeof(int128) * groups);
    if (op->in_limbs) limb_free(&op->limbs);
    if (op->in_doubles) double_free(&op->doubles);
    op->sums = NULL;
    op->in_limbs = op->in_doubles = false; /* the next chunk's may be built */
}

void operands_free(ProductRun *run)
{
    for (uint32_t o = 0; o < COLUMNS; o++) {
        free_operand(run, &run->left_ops[o], run->spec->left.groups);
        free_operand(run, &run->right_ops[o], run->spec->right.groups);
    }
    if (run->left_bits.bits != NULL) bitmat_free(&run->left_bits);
    if (run->right_bits.bits != NULL) bitmat_free(&run->right_bits);
    mem_free(run->mem, run->left_present, run->spec->left.groups);
    mem_free(run->mem, run->right_present, run->spec->right.groups);
    run->left_bits = run->right_bits = (BitMatrix){.mem = NULL};
    run->left_present = run->right_present = NULL;
}
