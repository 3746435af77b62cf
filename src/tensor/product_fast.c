/*
 * product_fast.c: products as the TCUDB paper's tensor cores compute them: FP16 operands, FP32 sums. Not exact.
 *
 * SET tcudb.precision = fast asks for it, to reproduce the errors of the paper's Table 1 (bench/fast_table.py).
 * Cells, pre-aggregated, are rounded to FP16 to nearest even: 11 bits, so 2049 becomes 2048. A column whose largest
 * cell FP16 does not hold (65,504) is scaled by a power of two first, instead of becoming infinite: its small cells
 * lose bits below 2^-24 of the scale. Sums are those of an Ampere tensor core as probed by others: the products of 8
 * neighbouring keys, exact, and the sum so far are shifted to the largest exponent among them, cut off after 24
 * binary places, added, and cut off to FP32's 24 bits. So errors are one-sided, grow with the number of keys, and
 * from 2^24 on small terms vanish. Every 8192 keys, the paper's largest submatrix, a new sum begins; those are added
 * in double precision. COUNT(*) stays exact: it decides which groups exist; and so do other counts, which decide where
 * a sum is NULL.
 *
 * The sums go on as integers (of the columns' scales) and fit the widths that product_proof.c found: roundings add
 * less than a factor of two. Rows of the output are made one at a time from sparse rows: about 2 nanoseconds a pair.
 * Sources: Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores (PeerJ CS, 2021).
 */
#include "tensor/product_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* To the nearest FP16 number; |x| < 65520. */
static float round_half(double x)
{
    int exponent;
    frexp(x, &exponent);
    double unit = ldexp(1, exponent < -13 ? -24 : exponent - 11);
    return (float)(rint(x / unit) * unit);
}

static int scale_of(CellFacts facts)
{
    double largest = fmax(fabs((double)facts.min), fabs((double)facts.max));
    int scale = 0;
    while (ldexp(largest, -scale) >= 65520) scale++;
    return scale;
}

static tcudb_status round_column(ProductRun *run, const Cells *cells, uint32_t column, Operand *op, Error *err)
{
    if (op->rounded != NULL || cells->n == 0) return TCUDB_OK;
    op->nrounded = cells->n;
    op->rounded = mem_alloc(run->mem, sizeof(float) * cells->n, err);
    TRY_PTR(op->rounded);
    op->scale = scale_of(op->facts);
    for (uint64_t c = 0; c < cells->n; c++)
        op->rounded[c] = round_half(ldexp((double)cells_value(cells, column, c), -op->scale));
    return TCUDB_OK;
}

/* A worker's line of sums beside its block, and a left group's cells in the order of keys. */
typedef struct FastLine {
    double *total, *sum; /* by column: of whole submatrices, and of this one */
    float *terms;        /* BLOCK a column: products of this block of keys */
    uint8_t *nterms;
    uint32_t *touched; /* columns with terms */
    uint32_t ntouched;
    uint64_t *order; /* key << 32 | cell of the row */
} FastLine;

enum { BLOCK = 8, SUBMATRIX = 8192, PLACES = 24, DIGITS = 24 };

static size_t line_bytes(const ProductRun *run)
{
    return (size_t)run->right.columns * (2 * sizeof(double) + BLOCK * sizeof(float) + sizeof(uint32_t) + 1) +
           run->spec->keys * sizeof(uint64_t);
}

static tcudb_status line_new(ProductRun *run, FastLine *line, Error *err)
{
    size_t columns = run->right.columns;
    line->total = mem_alloc_zero(run->mem, line_bytes(run), err);
    TRY_PTR(line->total);
    line->sum = line->total + columns;
    line->order = (uint64_t *)(line->sum + columns);
    line->terms = (float *)(line->order + run->spec->keys);
    line->touched = (uint32_t *)(line->terms + BLOCK * columns);
    line->nterms = (uint8_t *)(line->touched + columns);
    return TCUDB_OK;
}

tcudb_status fast_build(ProductRun *run, Error *err)
{
    uint32_t workers = pool_workers(run->pool);
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        Product product = run->spec->products[p];
        TRY(round_column(run, &run->left, product.left, &run->left_ops[operand_index(product.left)], err));
        TRY(round_column(run, &run->right, product.right, &run->right_ops[operand_index(product.right)], err));
    }
    run->fast = mem_alloc_zero(run->mem, sizeof *run->fast * workers, err);
    TRY_PTR(run->fast);
    for (uint32_t w = 0; w < workers; w++) TRY(line_new(run, &run->fast[w], err));
    return TCUDB_OK;
}

void fast_free(ProductRun *run)
{
    for (uint32_t o = 0; o < COLUMNS; o++) {
        mem_free(run->mem, run->left_ops[o].rounded, sizeof(float) * run->left_ops[o].nrounded);
        mem_free(run->mem, run->right_ops[o].rounded, sizeof(float) * run->right_ops[o].nrounded);
        run->left_ops[o].rounded = run->right_ops[o].rounded = NULL;
    }
    uint32_t workers = pool_workers(run->pool);
    for (uint32_t w = 0; run->fast != NULL && w < workers; w++) mem_free(run->mem, run->fast[w].total, line_bytes(run));
    mem_free(run->mem, run->fast, sizeof *run->fast * workers);
    run->fast = NULL;
}

/* ---- one row ------------------------------------------------------------------------------------ */

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t order_cells(const Cells *cells, uint32_t row, uint64_t *order)
{
    uint64_t from = cells->starts[row];
    uint32_t n = (uint32_t)(cells->starts[row + 1] - from);
    for (uint32_t i = 0; i < n; i++) order[i] = (uint64_t)cells->ids[from + i] << 32 | i;
    qsort(order, n, sizeof *order, compare_keys);
    return n;
}

/* The power of two at or below x > 0. */
static double leading_bit(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= UINT64_C(0x7ff) << 52;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The sum and the terms as one step of the tensor core adds them. Magnitudes lie between 2^-48 and 2^64. */
static double add_block(double sum, const float *terms, uint32_t n)
{
    double largest = fabs(sum);
    for (uint32_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)terms[i]));
    if (largest == 0) return 0;
    double unit = leading_bit(largest) / (1 << PLACES), per_unit = 1 / unit;
    int64_t units = (int64_t)(sum * per_unit);
    for (uint32_t i = 0; i < n; i++) units += (int64_t)(terms[i] * per_unit);
    uint32_t bits = bit_width64((uint64_t)(units < 0 ? -units : units));
    int64_t cut = bits > DIGITS ? INT64_C(1) << (bits - DIGITS) : 1;
    units = units / cut * cut;
    return (double)units * unit;
}

static void end_block(FastLine *line)
{
    for (uint32_t i = 0; i < line->ntouched; i++) {
        uint32_t j = line->touched[i];
        line->sum[j] = add_block(line->sum[j], line->terms + (size_t)j * BLOCK, line->nterms[j]);
        line->nterms[j] = 0;
    }
    line->ntouched = 0;
}

static void end_submatrix(FastLine *line, uint32_t columns)
{
    for (uint32_t j = 0; j < columns; j++) {
        line->total[j] += line->sum[j];
        line->sum[j] = 0;
    }
}

static void add_terms(const ProductRun *run, FastLine *line, Product product, uint64_t cell)
{
    const Cells *right = &run->right;
    uint32_t key = run->left.ids[cell];
    float l = run->left_ops[operand_index(product.left)].rounded[cell];
    const float *r = run->right_ops[operand_index(product.right)].rounded;
    for (uint64_t c = right->starts[key]; c < right->starts[key + 1]; c++) {
        uint32_t j = right->ids[c];
        if (line->nterms[j] == 0) line->touched[line->ntouched++] = j;
        line->terms[(size_t)j * BLOCK + line->nterms[j]++] = l * r[c];
    }
}

static void add_row(const ProductRun *run, FastLine *line, Product product, uint64_t from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = line->order[i] >> 32, next = i + 1 < n ? line->order[i + 1] >> 32 : UINT32_MAX;
        add_terms(run, line, product, from + (uint32_t)line->order[i]);
        if (key / BLOCK != next / BLOCK) end_block(line);
        if (key / SUBMATRIX != next / SUBMATRIX || i + 1 == n) end_submatrix(line, run->right.columns);
    }
}

/* The totals as integers, and zeros again in the line. */
static void take_totals(const ProductRun *run, FastLine *line, Product product, void *sums)
{
    int scale = run->left_ops[operand_index(product.left)].scale + run->right_ops[operand_index(product.right)].scale;
    for (uint32_t j = 0; j < run->right.columns; j++) {
        double sum = rint(ldexp(line->total[j], scale));
        if (run->wide)
            ((int128 *)sums)[j] = (int128)sum;
        else
            ((int64_t *)sums)[j] = (int64_t)sum;
        line->total[j] = 0;
    }
}

/* A product that counts. */
static void count_row(const ProductRun *run, Product product, uint32_t group, void *sums)
{
    const Cells *left = &run->left, *right = &run->right;
    memset(sums, 0, sum_size(run) * right->columns);
    for (uint64_t e = left->starts[group]; e < left->starts[group + 1]; e++) {
        int64_t l = cells_value(left, product.left, e);
        for (uint64_t c = right->starts[left->ids[e]]; c < right->starts[left->ids[e] + 1]; c++) {
            int64_t term = l * cells_value(right, product.right, c);
            if (run->wide)
                ((int128 *)sums)[right->ids[c]] += term;
            else
                ((int64_t *)sums)[right->ids[c]] += term;
        }
    }
}

tcudb_status fast_row(ProductRun *run, Block *b, uint32_t group, const BlockOutput *out, Error *err)
{
    const Cells *left = &run->left, *right = &run->right;
    FastLine *line = &run->fast[out->worker];
    uint64_t from = left->starts[group];
    uint32_t n = order_cells(left, group, line->order);
    for (uint64_t e = from; e < from + n; e++)
        for (uint64_t c = right->starts[left->ids[e]]; c < right->starts[left->ids[e] + 1]; c++)
            b->lines.counts[right->ids[c]] += (uint64_t)left->counts[e] * right->counts[c];
    for (uint32_t p = 0; p < run->spec->nproducts; p++) {
        if (run->spec->counting[p]) {
            count_row(run, run->spec->products[p], group, b->lines.sums[p]);
            continue;
        }
        add_row(run, line, run->spec->products[p], from, n);
        take_totals(run, line, run->spec->products[p], b->lines.sums[p]);
    }
    TRY(block_take(run, b, &b->lines, group, 0, b->ids, block_scan(run, b, &b->lines, 0, 0, right->columns), out, err));
    memset(b->lines.counts, 0, sizeof *b->lines.counts * right->columns);
    return TCUDB_OK;
}
