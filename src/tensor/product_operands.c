/*
 * product_operands.c: dense operands of a product: matrices of limbs, doubles and bits over the heavy keys.
 *
 * Signed cells become unsigned limbs by a shift: A' = A + s, B' = B + t for every cell, the empty ones included, and
 *     sum A B = sum A' B' - s sum B - t sum A - s t K
 * where K is the number of heavy keys. The left's sums of true cells per group are taken while filling, the right's
 * from the limbs' own row sums. Doubles have signs and need none of it.
 *
 * Left matrices are filled by panels of groups, right ones by blocks of 64 keys, which are whole bytes of limbs and
 * words of bits: no two threads write the same byte. Cost: a few nanoseconds a cell, and writing the matrix once.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <string.h>

enum { CHUNK = 512 };

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

static void put_left(ProductRun *run, FillChunk *chunk, uint32_t row)
{
    for (uint32_t o = 0; o <= run->left.nvalues; o++) {
        Operand *op = &run->left_ops[o];
        if (!op->in_limbs && !op->in_doubles) continue;
        read_values(chunk, &run->left, o);
        if (op->in_doubles) double_set_left(&op->doubles, row, chunk->at, chunk->values, chunk->n);
        if (!op->in_limbs) continue;
        limb_set_left(&op->limbs, row, chunk->at, chunk->values, chunk->n, op->shift);
        for (uint32_t i = 0; i < chunk->n; i++) op->sums[row] += chunk->values[i];
    }
    for (uint32_t i = 0; run->left_bits.bits != NULL && i < chunk->n; i++)
        bitmat_set(&run->left_bits, row, chunk->at[i]);
}

static void fill_left_row(ProductRun *run, uint32_t row)
{
    const Cells *cells = &run->left;
    FillChunk chunk;
    for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1];) {
        for (chunk.n = 0; chunk.n < CHUNK && c < cells->starts[row + 1]; c++) {
            chunk.at[chunk.n] = run->dense_key[cells->ids[c]];
            chunk.cells[chunk.n] = c;
            chunk.n += chunk.at[chunk.n] != LIGHT;
        }
        put_left(run, &chunk, row);
    }
}

static tcudb_status fill_left_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    uint32_t panel = (uint32_t)task;
    for (uint32_t o = 0; o < COLUMNS; o++) {
        Operand *op = &run->left_ops[o];
        if (op->in_limbs) limb_clear(&op->limbs, panel, panel + 1, 0, op->limbs.blocks, op->shift);
    }
    for (uint32_t row = panel * LIMB_ROWS_A; row < run->left.rows && row < (panel + 1) * LIMB_ROWS_A; row++)
        fill_left_row(run, row);
    return TCUDB_OK;
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

static tcudb_status finish_right_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    for (uint32_t o = 0; o < COLUMNS; o++)
        if (run->right_ops[o].in_limbs) limb_finish_panel(run->spec->isa, &run->right_ops[o].limbs, (uint32_t)task);
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
    TRY(pool_run(run->pool, panels, finish_right_panel, run, run->cancel, err));
    for (uint32_t o = 0; o < COLUMNS; o++)
        if (run->right_ops[o].in_limbs) sum_right(run, &run->right_ops[o]);
    report_limbs(run);
    return TCUDB_OK;
}

tcudb_status operands_build(ProductRun *run, Error *err)
{
    TRY(prepare_counts(run, err));
    TRY(operands_new(run, err));
    uint64_t left_panels = ((uint64_t)run->left.rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    TRY(pool_run(run->pool, left_panels, fill_left_panel, run, run->cancel, err));
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
