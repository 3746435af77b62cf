/*
 * The matrix kernels against plain 128-bit loops, for every instruction set this machine has: shapes around
 * panel and chunk edges, extreme bytes, several limbs.
 */
#include "tensor/kernels.h"
#include "random64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

/* kind 0: random, 1: all maximal, 2: mostly zero, 3: zero on the left, maximal on the right. */
static uint64_t cell(int kind, uint32_t limbs, bool left)
{
    uint64_t mask = limbs == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * limbs)) - 1;
    if (kind == 3 && left) return 0;
    if (kind == 1 || kind == 3) return mask;
    if (kind == 2 && next_random() % 16 != 0) return 0;
    return next_random() & mask;
}

/* What no cell keeps: the padding must not show. */
enum { BACKGROUND = 77, SHIFT = 3 };

static void set(LimbMatrix *matrix, uint32_t row, uint32_t k, uint64_t value, bool left)
{
    int64_t shifted = (int64_t)(value - SHIFT);
    if (left)
        limb_set_left(matrix, row, &k, &shifted, 1, SHIFT);
    else
        limb_set_right(matrix, k, &row, &shifted, 1, SHIFT);
}

static uint64_t *fill(LimbMatrix *matrix, uint32_t rows, uint32_t k, uint32_t limbs, bool left, int kind)
{
    Error err;
    uint64_t *values = malloc(sizeof *values * rows * k);
    assert_int_equal(limb_new(NULL, rows, k, limbs, left, matrix, &err), TCUDB_OK);
    limb_clear(matrix, 0, matrix->panels, 0, matrix->blocks, BACKGROUND);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t t = 0; t < k; t++) set(matrix, i, t, values[i * k + t] = cell(kind, limbs, left), left);
    for (uint32_t panel = 0; !left && panel < matrix->panels; panel++)
        limb_finish_panel(kernels_best_isa(), matrix, panel, 0, matrix->blocks);
    return values;
}

static void check_tile(KernelIsa isa, const LimbMatrix *left, uint32_t pa, const uint64_t *a, const LimbMatrix *right,
                       uint32_t pb, const uint64_t *b)
{
    static int128 wide[LIMB_ROWS_A * LIMB_ROWS_B];
    static int64_t narrow[LIMB_ROWS_A * LIMB_ROWS_B];
    uint32_t k = left->k;
    for (uint32_t from = 0, step = LIMB_BLOCK * (1 + (pa + pb) % 3); from < k; from += step) {
        KeyStrip strip = {.from = from, .to = k - from < step ? k : from + step, .add = from > 0};
        limb_multiply_wide(isa, left, pa, right, pb, &strip, wide, LIMB_ROWS_B);
        limb_multiply(isa, left, pa, right, pb, &strip, narrow, LIMB_ROWS_B);
    }
    for (uint32_t i = pa * LIMB_ROWS_A; i < left->rows && i < (pa + 1) * LIMB_ROWS_A; i++) {
        for (uint32_t j = pb * LIMB_ROWS_B; j < right->rows && j < (pb + 1) * LIMB_ROWS_B; j++) {
            uint128 sum = 0;
            for (uint32_t t = 0; t < k; t++) sum += (uint128)a[i * k + t] * b[j * k + t];
            uint32_t at = i % LIMB_ROWS_A * LIMB_ROWS_B + j % LIMB_ROWS_B;
            assert_true((uint128)wide[at] == sum);
            if (sum <= INT64_MAX) assert_true(narrow[at] == (int64_t)sum);
        }
    }
}

static void check_limbs(uint32_t m, uint32_t n, uint32_t k, uint32_t limbs_a, uint32_t limbs_b, int kind)
{
    LimbMatrix left, right;
    uint64_t *a = fill(&left, m, k, limbs_a, true, kind), *b = fill(&right, n, k, limbs_b, false, kind);
    for (KernelIsa isa = 0; isa < ISA_COUNT; isa++)
        for (uint32_t pa = 0; pa < left.panels && kernels_have(isa); pa++)
            for (uint32_t pb = 0; pb < right.panels; pb++) check_tile(isa, &left, pa, a, &right, pb, b);
    limb_free(&left);
    limb_free(&right);
    free(a);
    free(b);
}

static void limb_products_are_exact(void **state)
{
    (void)state;
    const uint32_t shapes[][3] = {{1, 1, 1}, {7, 47, 3}, {8, 48, 4}, {9, 49, 5}, {17, 97, 255}, {16, 48, 257}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int kind = 0; kind < 4; kind++)
            for (uint32_t la = 1; la <= 4; la += 3)
                for (uint32_t lb = 1; lb <= 3; lb++)
                    check_limbs(shapes[s][0], shapes[s][1], shapes[s][2], la, lb, kind);
}

/* One chunk holds exactly 65536 products of the largest magnitude, and the next starts a new sum. */
static void long_sums_are_cut_into_chunks(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        check_limbs(8, 2, LIMB_CHUNK, 1, 1, kind);
        check_limbs(2, 3, LIMB_CHUNK + 1, 1, 1, kind);
        check_limbs(1, 1, 2 * LIMB_CHUNK + 5, 2, 1, kind);
    }
}

static int64_t *fill_doubles(DoubleMatrix *matrix, uint32_t rows, uint32_t k, bool left, int64_t most)
{
    Error err;
    int64_t *values = malloc(sizeof *values * rows * k);
    assert_int_equal(double_new(NULL, rows, k, left, matrix, &err), TCUDB_OK);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t t = 0; t < k; t++) {
            int64_t *value = &values[i * k + t];
            *value = next_random() % 4 == 0 ? most : (int64_t)(next_random() % (2 * (uint64_t)most + 1)) - most;
            if (left)
                double_set_left(matrix, i, &t, value, 1);
            else
                double_set_right(matrix, t, &i, value, 1);
        }
    }
    return values;
}

static int64_t inner_product(const int64_t *a, const int64_t *b, uint32_t k)
{
    int64_t sum = 0;
    for (uint32_t t = 0; t < k; t++) sum += a[t] * b[t];
    return sum;
}

/* Values as large as the bound of 2^53 allows for this k. */
static void check_doubles(uint32_t m, uint32_t n, uint32_t k)
{
    DoubleMatrix left, right;
    int64_t most = 1;
    while (4 * most * most * k <= INT64_C(1) << 53) most *= 2;
    int64_t *a = fill_doubles(&left, m, k, true, most), *b = fill_doubles(&right, n, k, false, most);
    for (KernelIsa isa = 0; isa < ISA_COUNT; isa++) {
        int64_t out[LIMB_ROWS_A * LIMB_ROWS_B];
        for (uint32_t t = 0; t < left.panels * right.panels && kernels_have(isa); t++) {
            uint32_t pa = t / right.panels, pb = t % right.panels;
            double_multiply(isa, &left, pa, &right, pb, &(KeyStrip){.to = k}, out, LIMB_ROWS_B);
            for (uint32_t i = pa * LIMB_ROWS_A; i < m && i < (pa + 1) * LIMB_ROWS_A; i++)
                for (uint32_t j = pb * LIMB_ROWS_B; j < n && j < (pb + 1) * LIMB_ROWS_B; j++)
                    assert_true(out[i % LIMB_ROWS_A * LIMB_ROWS_B + j % LIMB_ROWS_B] ==
                                inner_product(a + (size_t)i * k, b + (size_t)j * k, k));
        }
    }
    double_free(&left);
    double_free(&right);
    free(a);
    free(b);
}

static void double_products_are_exact(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1, 7, 8, 9, 16, 17, 23, 24, 25, 48, 49, 97};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        check_doubles(sizes[s], 50, 33);
        check_doubles(17, sizes[s], 1);
        check_doubles(9, 25, sizes[s]);
        check_doubles(3, 3, 2000 + sizes[s]);
    }
}

static void fill_bits(BitMatrix *matrix, uint32_t rows, uint32_t k)
{
    Error err;
    assert_int_equal(bitmat_new(NULL, rows, k, matrix, &err), TCUDB_OK);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t t = 0; t < k; t++)
            if (next_random() & 1) bitmat_set(matrix, i, t);
}

static int64_t common_bits(const BitMatrix *a, uint32_t i, const BitMatrix *b, uint32_t j)
{
    int64_t sum = 0;
    for (uint32_t t = 0; t < a->k; t++) sum += bit_get(a->bits + i * a->words, t) && bit_get(b->bits + j * b->words, t);
    return sum;
}

static void bit_products_count_common_bits(void **state)
{
    (void)state;
    const uint32_t shapes[][3] = {
        {1, 1, 1}, {4, 4, 512}, {5, 3, 513}, {9, 6, 2000}, {5, 4, BIT_CHUNK * 64}, {4, 5, BIT_CHUNK * 64 + 1}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        BitMatrix a, b;
        fill_bits(&a, shapes[s][0], shapes[s][2]);
        fill_bits(&b, shapes[s][1], shapes[s][2]);
        for (KernelIsa isa = 0; isa < ISA_COUNT; isa++) {
            if (!kernels_have(isa)) continue;
            for (uint32_t i = 0; i < a.rows; i++) {
                for (uint32_t j = 0; j < b.rows; j++) {
                    int64_t out[BIT_TILE * BIT_TILE];
                    for (size_t word = 0; word < a.words; word += BIT_CHUNK)
                        bitmat_multiply(isa, &a, i / BIT_TILE * BIT_TILE, &b, j / BIT_TILE * BIT_TILE, word, out,
                                        BIT_TILE);
                    assert_int_equal(out[i % BIT_TILE * BIT_TILE + j % BIT_TILE], common_bits(&a, i, &b, j));
                }
            }
        }
        bitmat_free(&a);
        bitmat_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limb_products_are_exact),
        cmocka_unit_test(long_sums_are_cut_into_chunks),
        cmocka_unit_test(double_products_are_exact),
        cmocka_unit_test(bit_products_count_common_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
