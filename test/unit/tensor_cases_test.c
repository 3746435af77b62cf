/*
 * What breaks products, in every form and instruction set: sums one below and one above what 24, 31, 32, 53, 62, 63
 * and 127 bits hold, keys around the ends of chunks, panels and registers, more than 65,536 groups, duplicates, sums
 * of zero. Expected values are arithmetic on paper, not another run of the code.
 */
#include "tensor/product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>

enum { ROWS_MAX = 140000 };

typedef struct Bag {
    uint64_t n;
    uint32_t group[ROWS_MAX], key[ROWS_MAX];
    int64_t value[ROWS_MAX];
    SideRun run;
} Bag;

static Bag left, right;
static Rates rates;

static void add(Bag *bag, uint32_t group, uint32_t key, int64_t value)
{
    assert_true(bag->n < ROWS_MAX);
    bag->group[bag->n] = group;
    bag->key[bag->n] = key;
    bag->value[bag->n++] = value;
}

static Side side(Bag *bag, uint32_t groups)
{
    bag->run = (SideRun){bag->n, bag->group, bag->key, {bag->value}};
    return (Side){.groups = groups, .n = bag->n, .nruns = 1, .runs = &bag->run, .nvalues = 1};
}

typedef struct Cell {
    int128 sum;
    uint64_t count; /* 0: the group does not exist */
} Cell;

/* What group (g, h) must be. */
typedef Cell (*Answer)(uint32_t g, uint32_t h);

typedef struct Check {
    pthread_mutex_t lock;
    Answer answer;
    bool exact_counts, sums;
    uint64_t rows, wrong;
} Check;

static tcudb_status check_rows(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)worker, (void)err;
    Check *check = ctx;
    uint64_t wrong = 0;
    for (uint32_t r = 0; r < rows->n; r++) {
        Cell cell = check->answer(rows->left_group[r], rows->right_group[r]);
        wrong += check->exact_counts ? rows->counts[r] != cell.count : (rows->counts[r] > 0) != (cell.count > 0);
        if (check->sums)
            wrong +=
                cell.sum != (rows->wide ? ((const int128 *)rows->sums[0])[r] : ((const int64_t *)rows->sums[0])[r]);
    }
    pthread_mutex_lock(&check->lock);
    check->rows += rows->n;
    check->wrong += wrong;
    pthread_mutex_unlock(&check->lock);
    return TCUDB_OK;
}

static void start(uint32_t keys, uint32_t g, uint32_t h, ProductSpec *spec)
{
    *spec = (ProductSpec){.keys = keys, .left = side(&left, g), .right = side(&right, h), .rates = &rates};
    spec->nproducts = 1;
    spec->products[0] = (Product){0, 0};
}

static tcudb_status run_once(const ProductSpec *spec, Check *check, ProductReport *report, Error *err)
{
    Pool *pool = NULL;
    Mem mem;
    mem_init(&mem, 0);
    assert_int_equal(pool_new(2, &pool, err), TCUDB_OK);
    tcudb_status status = product_run(spec, pool, &mem, NULL, check_rows, check, report, err);
    assert_int_equal(atomic_load(&mem.used), 0);
    pool_free(pool);
    return status;
}

/* Forms FORM_AUTO and up, instruction sets from isa up. Returns what the last run reported. */
static ProductReport check_from(KernelIsa isa, ProductSpec *spec, Answer answer, uint64_t rows)
{
    ProductReport report = {0};
    for (; isa < ISA_COUNT; isa++) {
        if (!kernels_have(isa)) continue;
        for (int form = 0; form < FORM_COUNT_; form++) {
            Error err = {0};
            Check check = {.lock = PTHREAD_MUTEX_INITIALIZER, .answer = answer, .sums = spec->nproducts > 0};
            spec->isa = isa;
            spec->form = (ProductForm)form;
            spec->exact_counts = check.exact_counts = form % 2 == 0;
            if (run_once(spec, &check, &report, &err) != TCUDB_OK) fail_msg("%s", err.message);
            if (check.wrong > 0 || check.rows != rows)
                fail_msg("%s %s: %llu of %llu rows wrong, %llu expected", kernels_isa_name(isa),
                         product_form_name((ProductForm)form), (unsigned long long)check.wrong,
                         (unsigned long long)check.rows, (unsigned long long)rows);
        }
    }
    return report;
}

static ProductReport check(ProductSpec *spec, Answer answer, uint64_t rows)
{
    return check_from(ISA_SCALAR, spec, answer, rows);
}

static void clear(void)
{
    left.n = right.n = 0;
}

/* One group a side, all of whose n keys hold v and w. */
static int64_t same_v, same_w;
static uint32_t same_n;

static Cell same(uint32_t g, uint32_t h)
{
    (void)g, (void)h;
    return (Cell){(int128)same_v * same_w * same_n, same_n};
}

static void check_same(int64_t v, int64_t w, uint32_t n)
{
    ProductSpec spec;
    clear();
    for (uint32_t k = 0; k < n; k++) {
        add(&left, 0, k, v);
        add(&right, 0, k, w);
    }
    same_v = v;
    same_w = w;
    same_n = n;
    start(n, 1, 1, &spec);
    check(&spec, same, 1);
}

static void sums_pass_24_bits(void **state)
{
    (void)state;
    check_same(2047, 1, 8197);
    assert_true((int128)same_v * same_w * same_n == 16779259);
}

static void sums_pass_31_and_32_bits(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 3; more++) check_same(-128, -128, 131071 + more);
    for (uint32_t more = 0; more < 3; more++) check_same(-128, 128, 131071 + more);
    for (uint32_t more = 0; more < 3; more++) check_same(255, 255, 33025 + more);
    for (uint32_t more = 0; more < 3; more++) check_same(255, 255, 66051 + more);
}

/* In the chunk's 32-bit sums a left byte counts from -128 to 127 and a right one to 255: the smallest is a column of
 * zeros (but for one cell, which makes its range a byte) against 255. 65,793 such products fit, the chunk has 65,536.
 */
static Cell nearly_zero(uint32_t g, uint32_t h)
{
    (void)g, (void)h;
    return (Cell){(int128)255 * 255, same_n};
}

static void zeros_are_the_largest_products(void **state)
{
    (void)state;
    const uint32_t sizes[] = {65535, 65536, 65537, 65792, 65800, 131072 + 600};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        ProductSpec spec;
        clear();
        for (uint32_t k = 0; k < sizes[s]; k++) {
            add(&left, 0, k, k == 7 ? 255 : 0);
            add(&right, 0, k, 255);
        }
        same_n = sizes[s];
        start(sizes[s], 1, 1, &spec);
        check(&spec, nearly_zero, 1);
    }
}

/* v x w once and +-1 once: the doubles' neighbours of 2^53 and the ends of 63 bits. */
static int64_t pair_v, pair_w, pair_one;

static Cell pair_answer(uint32_t g, uint32_t h)
{
    (void)g, (void)h;
    return (Cell){(int128)pair_v * pair_w + pair_one, 2};
}

static ProductReport check_pair(int64_t v, int64_t w, int64_t one)
{
    ProductSpec spec;
    clear();
    add(&left, 0, 0, pair_v = v);
    add(&right, 0, 0, pair_w = w);
    add(&left, 0, 1, pair_one = one);
    add(&right, 0, 1, 1);
    start(2, 1, 1, &spec);
    return check(&spec, pair_answer, 1);
}

static void sums_pass_53_bits(void **state)
{
    (void)state;
    for (int64_t one = -2; one <= 2; one++) {
        check_pair(INT64_C(1) << 27, INT64_C(1) << 26, one);
        check_pair(-(INT64_C(1) << 27), INT64_C(1) << 26, one);
        check_pair(94906267, 94906265, one); /* 2^53 + 1.4e7 */
        check_pair(9007199254740991, 1, one);
    }
}

static void sums_pass_62_and_63_bits(void **state)
{
    (void)state;
    assert_false(check_pair(INT64_C(1) << 31, (INT64_C(1) << 31) - 4096, 1).wide);
    assert_true(check_pair(INT64_C(1) << 31, INT64_C(1) << 31, 1).wide);
    for (int64_t one = -1; one <= 1; one++) {
        check_pair(INT64_C(1) << 32, INT64_C(1) << 31, one);
        check_pair(-(INT64_C(1) << 32), INT64_C(1) << 31, one);
        check_pair(INT64_MIN, 1, one);
        check_pair(INT64_MAX, 1, one);
        check_pair(INT64_MIN, -1, one);
    }
}

static void sums_reach_126_bits_and_no_more(void **state)
{
    (void)state;
    check_pair(INT64_C(1) << 62, INT64_MAX, 1);
    check_pair(-(INT64_C(1) << 62), INT64_MAX, -1);
    check_pair(INT64_C(1) << 62, -INT64_MAX, 1);
    for (int form = 0; form < FORM_COUNT_; form++) {
        ProductSpec spec;
        ProductReport report;
        Error err = {0};
        Check none = {.lock = PTHREAD_MUTEX_INITIALIZER, .answer = pair_answer};
        clear();
        add(&left, 0, 0, INT64_MIN);
        add(&right, 0, 0, INT64_MIN);
        start(1, 1, 1, &spec);
        spec.form = (ProductForm)form;
        assert_int_equal(run_once(&spec, &none, &report, &err), TCUDB_ERROR);
        assert_string_equal(err.sqlstate, "XX000");
    }
}

/* Cell (g, k) of the left holds g - k % 200, cell (k, h) of the right 7 if h % keys == k. */
static uint32_t grid_keys;

static Cell grid(uint32_t g, uint32_t h)
{
    return (Cell){((int64_t)g - (int64_t)(h % grid_keys % 200)) * 7, 1};
}

static void check_grid(KernelIsa isa, uint32_t g, uint32_t h, uint32_t keys)
{
    ProductSpec spec;
    clear();
    grid_keys = keys;
    for (uint32_t i = 0; i < g; i++)
        for (uint32_t k = 0; k < keys; k++) add(&left, i, k, (int64_t)i - (int64_t)(k % 200));
    for (uint32_t j = 0; j < h; j++) add(&right, j, j % keys, 7);
    start(keys, g, h, &spec);
    check_from(isa, &spec, grid, (uint64_t)g * h);
}

static void sizes_around_panels_and_registers(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1, 7, 8, 9, 47, 48, 49, 255, 256, 257};
    for (size_t a = 0; a < sizeof sizes / sizeof sizes[0]; a++) {
        check_grid(ISA_SCALAR, 3, 50, sizes[a]);
        check_grid(ISA_SCALAR, sizes[a], 5, 13);
        check_grid(ISA_SCALAR, 5, sizes[a], 13);
    }
}

static void more_than_65536_groups(void **state)
{
    (void)state;
    check_grid(ISA_SCALAR, 2, 70000, 1021);
    check_grid(ISA_SCALAR, 1023, 1021, 5);
    check_grid(ISA_AVX2, 131, 70000, 1021); /* with 1,023 groups: test/oracle/contraction_cases_test.py */
}

/* Group 0 sums +5 - 5, group 1 meets nothing, group 2 has (1, 10) twice on both sides. */
static Cell bag_answer(uint32_t g, uint32_t h)
{
    if (g == 0 && h == 0) return (Cell){0, 2};
    if (g == 2 && h == 2) return (Cell){400, 4};
    return (Cell){0, 0};
}

static void zeros_exist_and_duplicates_multiply(void **state)
{
    (void)state;
    ProductSpec spec;
    clear();
    add(&left, 0, 0, 5);
    add(&left, 0, 1, -5);
    add(&left, 1, 3, 9);
    add(&right, 0, 0, 1);
    add(&right, 0, 1, 1);
    for (int i = 0; i < 2; i++) {
        add(&left, 2, 2, 10);
        add(&right, 2, 2, 10);
    }
    start(4, 3, 3, &spec);
    check(&spec, bag_answer, 2);
    spec.nproducts = 0;
    check(&spec, bag_answer, 2);
}

static Cell heap_answer(uint32_t g, uint32_t h)
{
    (void)g, (void)h;
    return (Cell){-(int128)73500000000, 4900000000};
}

static void seventy_thousand_duplicates_on_one_key(void **state)
{
    (void)state;
    ProductSpec spec;
    clear();
    for (uint32_t i = 0; i < 70000; i++) {
        add(&left, 0, 0, 3);
        add(&right, 0, 0, -5);
    }
    start(1, 1, 1, &spec);
    check(&spec, heap_answer, 1);
}

int main(void)
{
    rates = rates_default();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_pass_24_bits),
        cmocka_unit_test(sums_pass_31_and_32_bits),
        cmocka_unit_test(zeros_are_the_largest_products),
        cmocka_unit_test(sums_pass_53_bits),
        cmocka_unit_test(sums_pass_62_and_63_bits),
        cmocka_unit_test(sums_reach_126_bits_and_no_more),
        cmocka_unit_test(sizes_around_panels_and_registers),
        cmocka_unit_test(more_than_65536_groups),
        cmocka_unit_test(zeros_exist_and_duplicates_multiply),
        cmocka_unit_test(seventy_thousand_duplicates_on_one_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
