/*
 * product_operands.c: dense operands of a product: limb and bit matrices over the heavy keys.
 *
 * Signed cells become unsigned by a shift: A' = A + s, B' = B + t for every cell, the empty ones included, and
 *     sum A B = sum A' B' - s sum B - t sum A - s t K
 * where K is the number of heavy keys. The sums of true cells per group are taken while filling.
 * Left matrices are filled by panels of groups, right ones by keys: no two threads write the same byte.
 */
#include "tensor/product_int.h"

#include <assert.h>
#include <string.h>

enum { FILL_KEYS = 64 };

static uint32_t limbs_for(CellFacts facts)
{
    uint64_t span = (uint64_t)facts.max - (uint64_t)facts.min;
    uint32_t bits = bit_width64(span);
    return bits == 0 ? 1 : (bits + 7) / 8;
}

static tcudb_status new_operand(ProductRun *run, bool left, uint32_t column, Error *err)
{
    Operand *op = left ? &run->left_ops[operand_index(column)] : &run->right_ops[operand_index(column)];
    if (op->used) return TCUDB_OK;
    uint32_t groups = left ? run->spec->left.groups : run->spec->right.groups;
    op->shift = 0 - (uint64_t)op->facts.min;
    op->sums = mem_alloc_zero(run->mem, sizeof(int128) * groups, err);
    TRY_PTR(op->sums);
    op->used = true;
    return limb_new(run->mem, groups, run->heavy, limbs_for(op->facts), left, &op->limbs, err);
}

/* Empty cells hold the shift too. */
static void fill_background(Operand *op, uint32_t row, uint32_t keys)
{
    if (op->shift == 0) return;
    for (uint32_t k = 0; k < keys; k++) limb_set(&op->limbs, row, k, op->shift);
}

static tcudb_status fill_left_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    const Cells *cells = &run->left;
    for (uint32_t row = (uint32_t)task * LIMB_ROWS_A; row < cells->rows && row < (task + 1) * LIMB_ROWS_A; row++) {
        for (uint32_t o = 0; o <= cells->nvalues; o++) {
            Operand *op = &run->left_ops[o];
            if (!op->used) continue;
            fill_background(op, row, run->heavy);
            for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1]; c++) {
                uint32_t k = run->dense_key[cells->ids[c]];
                if (k == LIGHT) continue;
                int64_t v = cells_value(cells, o == 0 ? ONES : o - 1, c);
                limb_set(&op->limbs, row, k, (uint64_t)v + op->shift);
                op->sums[row] += v;
            }
        }
        for (uint64_t c = cells->starts[row]; run->left_bits.bits != NULL && c < cells->starts[row + 1]; c++) {
            uint32_t k = run->dense_key[cells->ids[c]];
            if (k != LIGHT) bitmat_set(&run->left_bits, row, k);
        }
    }
    return TCUDB_OK;
}

/* The right cells lie by key, and bytes of different keys are different, so keys are filled in parallel; the sums
 * per group are taken afterwards from the limbs' own row sums. */
static tcudb_status fill_right_keys(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    const Cells *cells = &run->right;
    uint64_t to = (task + 1) * FILL_KEYS < cells->rows ? (task + 1) * FILL_KEYS : cells->rows;
    for (uint64_t key = task * FILL_KEYS; key < to; key++) {
        uint32_t k = run->dense_key[key];
        if (k == LIGHT) continue;
        for (uint32_t o = 0; o <= cells->nvalues; o++) {
            Operand *op = &run->right_ops[o];
            if (!op->used) continue;
            for (uint32_t row = 0; op->shift != 0 && row < op->limbs.rows; row++)
                limb_set(&op->limbs, row, k, op->shift);
            for (uint64_t c = cells->starts[key]; c < cells->starts[key + 1]; c++)
                limb_set(&op->limbs, cells->ids[c], k,
                         (uint64_t)cells_value(cells, o == 0 ? ONES : o - 1, c) + op->shift);
        }
    }
    return TCUDB_OK;
}

/* Bits of neighbouring keys share a word, so whole words of keys are filled by one thread. */
static void fill_right_bits(ProductRun *run)
{
    const Cells *cells = &run->right;
    for (uint32_t key = 0; key < cells->rows; key++) {
        uint32_t k = run->dense_key[key];
        if (k == LIGHT) continue;
        for (uint64_t c = cells->starts[key]; c < cells->starts[key + 1]; c++)
            bitmat_set(&run->right_bits, cells->ids[c], k);
    }
}

static tcudb_status finish_right_panel(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    (void)worker, (void)err;
    ProductRun *run = ctx;
    for (uint32_t o = 0; o < COLUMNS; o++)
        if (run->right_ops[o].used) limb_finish_panel(&run->right_ops[o].limbs, (uint32_t)task);
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

static uint64_t heavy_cells(const ProductRun *run, const Cells *cells, bool by_key)
{
    uint64_t n = 0;
    for (uint32_t row = 0; row < cells->rows; row++)
        for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1]; c++)
            n += run->dense_key[by_key ? row : cells->ids[c]] != LIGHT;
    return n;
}

/* Marks the groups of the side that may lack cells: they meet the full side wherever they have any. */
static tcudb_status mark_present(ProductRun *run, Error *err)
{
    uint32_t groups = run->present_left ? run->spec->left.groups : run->spec->right.groups;
    run->present = mem_alloc_zero(run->mem, groups, err);
    TRY_PTR(run->present);
    const Cells *cells = run->present_left ? &run->left : &run->right;
    for (uint32_t row = 0; row < cells->rows; row++)
        for (uint64_t c = cells->starts[row]; c < cells->starts[row + 1]; c++)
            if (run->dense_key[run->present_left ? cells->ids[c] : row] != LIGHT)
                run->present[run->present_left ? row : cells->ids[c]] = 1;
    return TCUDB_OK;
}

static tcudb_status prepare_counts(ProductRun *run, Error *err)
{
    bool unique = run->left.unique && run->right.unique;
    uint64_t heavy = run->heavy;
    run->count_mode = run->spec->exact_counts && !unique ? COUNT_LIMBS : COUNT_BITS;
    if (!run->spec->exact_counts && run->spec->form != FORM_BITS) {
        bool left_full = heavy_cells(run, &run->left, false) == heavy * run->spec->left.groups;
        bool right_full = heavy_cells(run, &run->right, true) == heavy * run->spec->right.groups;
        if (left_full || right_full) run->count_mode = COUNT_PRESENT;
        run->present_left = !left_full;
    }
    if (run->count_mode == COUNT_PRESENT) return mark_present(run, err);
    if (run->count_mode == COUNT_BITS) {
        TRY(bitmat_new(run->mem, run->spec->left.groups, heavy, &run->left_bits, err));
        return bitmat_new(run->mem, run->spec->right.groups, heavy, &run->right_bits, err);
    }
    TRY(new_operand(run, true, ONES, err));
    return new_operand(run, false, ONES, err);
}

tcudb_status operands_build(ProductRun *run, Error *err)
{
    TRY(prepare_counts(run, err));
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        TRY(new_operand(run, true, run->spec->products[p].left, err));
        TRY(new_operand(run, false, run->spec->products[p].right, err));
    }
    uint64_t left_panels = ((uint64_t)run->left.rows + LIMB_ROWS_A - 1) / LIMB_ROWS_A;
    uint64_t right_panels = ((uint64_t)run->right.columns + LIMB_ROWS_B - 1) / LIMB_ROWS_B;
    TRY(pool_run(run->pool, left_panels, fill_left_panel, run, run->cancel, err));
    TRY(pool_run(run->pool, ((uint64_t)run->right.rows + FILL_KEYS - 1) / FILL_KEYS, fill_right_keys, run, run->cancel,
                 err));
    if (run->right_bits.bits != NULL) fill_right_bits(run);
    TRY(pool_run(run->pool, right_panels, finish_right_panel, run, run->cancel, err));
    for (uint32_t o = 0; o < COLUMNS; o++) {
        if (run->right_ops[o].used) sum_right(run, &run->right_ops[o]);
        if (run->left_ops[o].used && run->left_ops[o].limbs.limbs > run->report->limbs_left)
            run->report->limbs_left = run->left_ops[o].limbs.limbs;
        if (run->right_ops[o].used && run->right_ops[o].limbs.limbs > run->report->limbs_right)
            run->report->limbs_right = run->right_ops[o].limbs.limbs;
    }
    return TCUDB_OK;
}

static void free_operand(ProductRun *run, Operand *op, uint32_t groups)
{
    mem_free(run->mem, op->sums, sizeof(int128) * groups);
    if (op->used) limb_free(&op->limbs);
}

void operands_free(ProductRun *run)
{
    for (uint32_t o = 0; o < COLUMNS; o++) {
        free_operand(run, &run->left_ops[o], run->spec->left.groups);
        free_operand(run, &run->right_ops[o], run->spec->right.groups);
    }
    if (run->left_bits.bits != NULL) bitmat_free(&run->left_bits);
    if (run->right_bits.bits != NULL) bitmat_free(&run->right_bits);
    mem_free(run->mem, run->present, run->present_left ? run->spec->left.groups : run->spec->right.groups);
}
