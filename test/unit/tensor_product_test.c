/*
 * product_run against a plain join of the two bags: every form, instruction set and number of workers, signed
 * and huge values, duplicates, skew, empty sides.
 */
#include "tensor/product.h"
#include "random64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 120, KEYS_MAX = 90, ROWS_MAX = 6000, OUTS = 3 };

typedef struct Bag {
    uint32_t group[ROWS_MAX], key[ROWS_MAX], count[ROWS_MAX];
    int64_t values[2][ROWS_MAX];
    SideRun runs[3];
} Bag;

typedef struct Result {
    pthread_mutex_t lock;
    uint64_t counts[GROUPS_MAX][GROUPS_MAX];
    int128 sums[OUTS][GROUPS_MAX][GROUPS_MAX];
    uint32_t nproducts;
    uint64_t rows;
} Result;

static Bag left, right;
static Result expected, actual;
static bool was_full; /* the last run's report */

/* The first n rows of the bag in three runs. */
static Side cut(Bag *bag, uint32_t groups, uint64_t n)
{
    uint64_t from = 0;
    for (uint32_t r = 0; r < 3; r++) {
        uint64_t to = r == 2 ? n : (r + 1) * n / 4;
        bag->runs[r] = (SideRun){.n = to - from,
                                 .group = bag->group + from,
                                 .key = bag->key + from,
                                 .values = {bag->values[0] + from, bag->values[1] + from}};
        for (uint64_t i = from; i < to; i++) bag->count[i] = 1;
        from = to;
    }
    return (Side){.groups = groups, .n = n, .nruns = 3, .runs = bag->runs, .nvalues = 2};
}

/* span: values are in [-span, span]. skew: half of the rows share key 0. */
static Side fill(Bag *bag, uint32_t groups, uint32_t keys, uint64_t n, int64_t span, bool skew)
{
    for (uint64_t i = 0; i < n; i++) {
        bag->group[i] = (uint32_t)(next_random() % groups);
        bag->key[i] = skew && next_random() % 2 ? 0 : (uint32_t)(next_random() % keys);
        for (int v = 0; v < 2; v++)
            bag->values[v][i] = span == 0 ? 1 : (int64_t)(next_random() % (2 * (uint64_t)span + 1)) - span;
    }
    return cut(bag, groups, n);
}

/* Lets the rows of the middle run stand for several. */
static void weigh(Bag *bag, uint32_t most)
{
    SideRun *run = &bag->runs[1];
    uint64_t from = (uint64_t)(run->group - bag->group);
    for (uint64_t i = from; i < from + run->n; i++) bag->count[i] = 1 + (uint32_t)(next_random() % most);
    run->count = bag->count + from;
}

static int64_t value_of(const Bag *bag, uint32_t column, uint64_t row)
{
    return column == ONES ? bag->count[row] : bag->values[column][row];
}

static void join_plainly(const ProductSpec *spec)
{
    memset(&expected, 0, sizeof expected);
    for (uint64_t i = 0; i < spec->left.n; i++) {
        for (uint64_t j = 0; j < spec->right.n; j++) {
            if (left.key[i] != right.key[j]) continue;
            uint32_t g = left.group[i], h = right.group[j];
            expected.counts[g][h] += (uint64_t)left.count[i] * right.count[j];
            for (uint32_t p = 0; p < spec->nproducts; p++)
                expected.sums[p][g][h] +=
                    (int128)value_of(&left, spec->products[p].left, i) * value_of(&right, spec->products[p].right, j);
        }
    }
}

static tcudb_status collect(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)worker, (void)err;
    Result *result = ctx;
    pthread_mutex_lock(&result->lock);
    for (uint32_t r = 0; r < rows->n; r++) {
        uint32_t g = rows->left_group[r], h = rows->right_group[r];
        result->counts[g][h] += rows->counts[r];
        for (uint32_t p = 0; p < result->nproducts; p++)
            result->sums[p][g][h] +=
                rows->wide ? ((const int128 *)rows->sums[p])[r] : ((const int64_t *)rows->sums[p])[r];
        result->rows++;
    }
    pthread_mutex_unlock(&result->lock);
    return TCUDB_OK;
}

/* Whether HAVING keeps the pair of groups. */
static bool kept(const ProductSpec *spec, uint32_t g, uint32_t h)
{
    bool keep = expected.counts[g][h] > 0;
    for (uint32_t b = 0; b < spec->nhaving; b++) {
        const ProductBound *bound = &spec->having[b];
        int128 x = bound->product == ONES ? (int128)expected.counts[g][h] : expected.sums[bound->product][g][h];
        keep &= x >= bound->min && x <= bound->max;
    }
    if (spec->top.last == NULL) return keep;
    int128 x = spec->top.product == ONES ? (int128)expected.counts[g][h] : expected.sums[spec->top.product][g][h];
    return keep && (spec->top.descending ? x >= *spec->top.last : x <= *spec->top.last);
}

/* Whether the run got through; with a limit it may also end with 53200. */
typedef struct Budget {
    size_t limit; /* 0: none */
    size_t peak;
    uint32_t parts, chunks, heavy, fits; /* fits: runs that got through */
} Budget;
static Budget budget;

/* A run that may drop rows: those that are left out are not in `actual`. */
static void forget_dropped(const ProductSpec *spec, const ProductReport *report)
{
    for (uint32_t g = 0; g < spec->left.groups && report->having; g++) {
        for (uint32_t h = 0; h < spec->right.groups; h++) {
            if (kept(spec, g, h)) continue;
            assert_int_equal(actual.counts[g][h], 0);
            actual.counts[g][h] = expected.counts[g][h];
            for (uint32_t p = 0; p < spec->nproducts; p++) actual.sums[p][g][h] = expected.sums[p][g][h];
        }
    }
}

static void check_run(ProductSpec *spec, uint32_t workers)
{
    Pool *pool = NULL;
    Error err = {0};
    Mem mem;
    mem_init(&mem, budget.limit);
    ProductReport report;
    Rates rates = rates_default();
    spec->rates = &rates;
    assert_int_equal(pool_new(workers, &pool, &err), TCUDB_OK);
    memset(&actual, 0, sizeof actual);
    pthread_mutex_init(&actual.lock, NULL);
    actual.nproducts = spec->nproducts;
    tcudb_status status = product_run(spec, pool, &mem, NULL, collect, &actual, &report, &err);
    budget.peak = atomic_load(&mem.peak);
    assert_int_equal(atomic_load(&mem.used), 0);
    pool_free(pool);
    if (status != TCUDB_OK && budget.limit > 0 && strcmp(err.sqlstate, SQLSTATE_OUT_OF_MEMORY) == 0) return;
    if (status != TCUDB_OK) fail_msg("%s", err.message);
    assert_true(budget.limit == 0 || budget.peak <= budget.limit);
    budget.parts = report.parts;
    budget.chunks = report.chunks;
    budget.heavy = report.heavy_keys;
    budget.fits++;
    uint64_t rows = 0;
    was_full = report.full;
    forget_dropped(spec, &report);
    for (uint32_t g = 0; g < spec->left.groups; g++) {
        for (uint32_t h = 0; h < spec->right.groups; h++) {
            rows += report.having ? kept(spec, g, h) : expected.counts[g][h] > 0;
            if (spec->exact_counts)
                assert_int_equal(actual.counts[g][h], expected.counts[g][h]);
            else
                assert_int_equal(actual.counts[g][h] > 0, expected.counts[g][h] > 0);
            for (uint32_t p = 0; p < spec->nproducts; p++) assert_true(actual.sums[p][g][h] == expected.sums[p][g][h]);
        }
    }
    assert_int_equal(actual.rows, rows);
    assert_int_equal(report.rows, rows);
}

static void check_all_forms_as(ProductSpec *spec, int exact_from)
{
    join_plainly(spec);
    for (KernelIsa isa = 0; isa < ISA_COUNT; isa++) {
        if (!kernels_have(isa)) continue;
        spec->isa = isa;
        for (int form = 0; form < FORM_COUNT_; form++) {
            spec->form = (ProductForm)form;
            for (int exact = exact_from; exact < 2; exact++) {
                spec->exact_counts = exact;
                check_run(spec, 1 + (uint32_t)form % 3);
            }
        }
    }
}

static void check_all_forms(ProductSpec *spec)
{
    check_all_forms_as(spec, 0);
}

static void check_all_exact(ProductSpec *spec)
{
    check_all_forms_as(spec, 1);
}

static void every_form_equals_the_join(void **state)
{
    (void)state;
    const struct {
        uint32_t g, h, keys;
        uint64_t n, m;
        int64_t span;
        bool skew;
    } cases[] = {{1, 1, 1, 1, 1, 0, false},          {3, 5, 2, 40, 30, 1, false},
                 {20, 60, 30, 600, 700, 127, false}, {17, 49, 90, 3000, 2000, 40000, true},
                 {120, 120, 7, 900, 900, 0, false},  {9, 8, 1, 50, 60, INT32_MAX, false},
                 {30, 100, 64, 1500, 1500, 1, true}, {8, 48, 4, 100, 100, INT64_MAX / 4096, false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ProductSpec spec = {.keys = cases[c].keys,
                            .left = fill(&left, cases[c].g, cases[c].keys, cases[c].n, cases[c].span, cases[c].skew),
                            .right = fill(&right, cases[c].h, cases[c].keys, cases[c].m, cases[c].span, cases[c].skew)};
        spec.nproducts = 3;
        spec.products[0] = (Product){0, 0};
        spec.products[1] = (Product){1, ONES};
        spec.products[2] = (Product){ONES, 1};
        check_all_forms(&spec);
        spec.nproducts = 0;
        check_all_forms(&spec);
    }
}

static void having_drops_rows_before_they_are_emitted(void **state)
{
    (void)state;
    const ProductBound bounds[][2] = {{{ONES, 2, INT64_MAX}, {ONES, INT64_MIN, 5}},
                                      {{0, 100, INT64_MAX}, {ONES, 0, INT64_MAX}},
                                      {{1, -50, 50}, {0, INT64_MIN, -1}},
                                      {{ONES, 5, 4}, {ONES, INT64_MIN, -1}},
                                      {{1, INT64_MIN, INT64_MAX}, {ONES, INT64_MAX, INT64_MAX}}};
    for (size_t c = 0; c < sizeof bounds / sizeof bounds[0]; c++) {
        for (uint32_t keys = 1; keys <= 64; keys *= 8) {
            ProductSpec spec = {.keys = keys,
                                .left = fill(&left, 40, keys, 600, 20, true),
                                .right = fill(&right, 90, keys, 700, 20, false),
                                .nproducts = 2,
                                .products = {{0, 0}, {ONES, 1}},
                                .nhaving = 2,
                                .having = {bounds[c][0], bounds[c][1]}};
            check_all_exact(&spec);
        }
    }
}

/* The bound of a top stands still here: it is one more condition. */
static void the_bound_of_a_top_drops_rows(void **state)
{
    (void)state;
    static const struct {
        ProductTop top;
        int64_t last;
    } cases[] = {{{.product = ONES, .descending = true}, 3},      {{.product = ONES}, 2},
                 {{.product = 0, .descending = true}, 40},        {{.product = 1}, -7},
                 {{.product = 0, .descending = true}, INT64_MIN}, {{.product = ONES}, INT64_MAX}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        _Atomic int64_t last = cases[c].last;
        for (uint32_t keys = 1; keys <= 64; keys *= 8) {
            ProductSpec spec = {.keys = keys,
                                .left = fill(&left, 40, keys, 600, 20, true),
                                .right = fill(&right, 90, keys, 700, 20, false),
                                .nproducts = 2,
                                .products = {{0, 0}, {ONES, 1}},
                                .top = cases[c].top};
            spec.top.last = &last;
            check_all_exact(&spec);
            spec.nhaving = 1;
            spec.having[0] = (ProductBound){ONES, 2, 6};
            check_all_exact(&spec);
        }
    }
}

/* ---- folded ------------------------------------------------------------------------------------- */

typedef struct Folded {
    pthread_mutex_t lock;
    uint64_t cells[GROUPS_MAX], counts[GROUPS_MAX];
    int128 sums[OUTS][GROUPS_MAX];
    uint32_t nproducts;
} Folded;
static Folded folded;

static tcudb_status collect_folded(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)ctx, (void)worker, (void)err;
    pthread_mutex_lock(&folded.lock);
    for (uint32_t r = 0; r < rows->n; r++) {
        uint32_t g = rows->left_group[r];
        folded.cells[g] += rows->cells[r];
        folded.counts[g] += rows->counts[r];
        for (uint32_t p = 0; p < folded.nproducts; p++) folded.sums[p][g] += ((const int128 *)rows->sums[p])[r];
    }
    pthread_mutex_unlock(&folded.lock);
    return TCUDB_OK;
}

static void check_folded(const ProductSpec *spec)
{
    for (uint32_t g = 0; g < spec->left.groups; g++) {
        uint64_t cells = 0, counts = 0;
        int128 sums[OUTS] = {0};
        for (uint32_t h = 0; h < spec->right.groups; h++) {
            cells += expected.counts[g][h] > 0 && (spec->uncounted == NULL || !spec->uncounted[h]);
            counts += expected.counts[g][h];
            for (uint32_t p = 0; p < spec->nproducts; p++) sums[p] += expected.sums[p][g][h];
        }
        assert_int_equal(folded.cells[g], cells);
        if (spec->exact_counts) assert_int_equal(folded.counts[g], counts);
        for (uint32_t p = 0; p < spec->nproducts; p++) assert_true(folded.sums[p][g] == sums[p]);
    }
}

static void run_folded(ProductSpec *spec, uint32_t workers)
{
    Pool *pool = NULL;
    Error err = {0};
    Mem mem;
    ProductReport report;
    Rates rates = rates_default();
    mem_init(&mem, 0);
    spec->rates = &rates;
    spec->isa = kernels_best_isa();
    memset(&folded, 0, sizeof folded);
    pthread_mutex_init(&folded.lock, NULL);
    folded.nproducts = spec->nproducts;
    assert_int_equal(pool_new(workers, &pool, &err), TCUDB_OK);
    assert_int_equal(product_run(spec, pool, &mem, NULL, collect_folded, NULL, &report, &err), TCUDB_OK);
    pool_free(pool);
    assert_int_equal(atomic_load(&mem.used), 0);
    check_folded(spec);
}

/* A row a left group: the number of right groups that it meets, of those that count, and the sums over them. */
static void right_groups_are_folded(void **state)
{
    (void)state;
    static uint8_t uncounted[GROUPS_MAX];
    for (uint32_t h = 0; h < GROUPS_MAX; h++) uncounted[h] = h % 3 == 0;
    static const struct {
        uint32_t g, h, keys;
        uint64_t n;
        int64_t span;
    } cases[] = {{1, 1, 1, 1, 0},
                 {20, 60, 30, 600, 127},
                 {120, 100, 90, 3000, 40000},
                 {30, 100, 3, 900, INT64_MAX / 65536},
                 {40, 50, 90, 45, 3}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ProductSpec spec = {.keys = cases[c].keys,
                            .left = fill(&left, cases[c].g, cases[c].keys, cases[c].n, cases[c].span, true),
                            .right = fill(&right, cases[c].h, cases[c].keys, cases[c].n, cases[c].span, false),
                            .products = {{0, 0}, {1, ONES}, {ONES, 1}},
                            .fold = true};
        for (spec.nproducts = 0; spec.nproducts <= 3; spec.nproducts += 3) {
            join_plainly(&spec);
            for (int form = 0; form < FORM_COUNT_ * 4; form++) {
                spec.form = (ProductForm)(form / 4);
                spec.exact_counts = form % 2;
                spec.uncounted = form % 4 < 2 ? uncounted : NULL;
                run_folded(&spec, 1 + (uint32_t)form % 3);
            }
        }
    }
}

/* The right side is the left one: computed as any product, and then as a symmetric one. */
static void symmetric_products_are_mirrored(void **state)
{
    (void)state;
    const struct {
        uint32_t g, keys;
        uint64_t n;
        int64_t span;
    } cases[] = {{1, 1, 1, 0},        {3, 2, 9, 5},    {120, 64, 2000, 1},
                 {97, 7, 900, 40000}, {60, 90, 90, 3}, {50, 30, 1500, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ProductSpec spec = {.keys = cases[c].keys,
                            .left = fill(&left, cases[c].g, cases[c].keys, cases[c].n, cases[c].span, c % 2 == 0),
                            .symmetric = true,
                            .nproducts = 2,
                            .products = {{0, 0}, {1, 1}}};
        right = left;
        spec.right = cut(&right, cases[c].g, cases[c].n);
        check_all_forms(&spec);
        spec.nhaving = 2;
        spec.having[0] = (ProductBound){0, -100, INT64_MAX};
        spec.having[1] = (ProductBound){ONES, 2, INT64_MAX};
        check_all_exact(&spec);
        spec.nproducts = spec.nhaving = 0;
        check_all_forms(&spec);
    }
}

static void rows_may_stand_for_several(void **state)
{
    (void)state;
    const uint32_t most[] = {1, 7, 100000};
    for (size_t c = 0; c < sizeof most / sizeof most[0]; c++) {
        ProductSpec spec = {.keys = 30,
                            .left = fill(&left, 20, 30, 600, 100, false),
                            .right = fill(&right, 60, 30, 700, 100, false),
                            .nproducts = 2,
                            .products = {{0, ONES}, {ONES, ONES}}};
        weigh(&left, most[c]);
        check_all_forms(&spec);
        weigh(&right, most[c]);
        check_all_forms(&spec);
    }
}

static void full_matrices_need_no_count(void **state)
{
    (void)state;
    enum { N = 40 };
    for (uint32_t i = 0; i < N * N; i++) {
        left.group[i] = right.key[i] = i / N;
        left.key[i] = right.group[i] = i % N;
        left.values[0][i] = (int64_t)(next_random() % 256) - 128;
        right.values[0][i] = -128;
    }
    ProductSpec spec = {.keys = N,
                        .left = cut(&left, N, (uint64_t)N * N),
                        .right = cut(&right, N, (uint64_t)N * N),
                        .nproducts = 1,
                        .products = {{0, 0}}};
    check_all_forms(&spec);
    spec.left.groups = N + 3; /* groups that have no cell at all */
    spec.right.groups = N + 2;
    check_all_forms(&spec);
}

/* Each pair of a group and a key below `used` with a chance of percent in 100, key by key or group by group. */
static Side fill_once(Bag *bag, uint32_t groups, uint32_t keys, uint32_t used, uint32_t percent, int64_t span,
                      bool by_key)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < groups * keys; i++) {
        uint32_t group = by_key ? i % groups : i / keys, key = by_key ? i / groups : i % keys;
        if (key >= used || next_random() % 100 >= percent) continue;
        bag->group[n] = group;
        bag->key[n] = key;
        for (int v = 0; v < 2; v++)
            bag->values[v][n] = (int64_t)(next_random() % (2 * (uint64_t)span + 1)) - (v == 0 ? span : 0);
        n++;
    }
    return cut(bag, groups, n);
}

static void unique_rows_become_operands_at_once(void **state)
{
    (void)state;
    const struct {
        uint32_t g, h, keys, used, percent;
        int64_t span;
        bool full;
    } cases[] = {{40, 50, 60, 60, 100, 127, true},        {50, 70, 80, 70, 90, 1, true},
                 {17, 49, 65, 50, 60, 40000, true},       {64, 48, 64, 64, 100, INT32_MAX / 64, true},
                 {30, 40, 50, 50, 100, INT32_MAX, false}, /* cells may prove 64 bits, the rows' bounds do not */
                 {40, 50, 60, 60, 10, 100, false}};       /* too few */
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (int order = 0; order < 4; order++) {
            ProductSpec spec = {.keys = cases[c].keys,
                                .left = fill_once(&left, cases[c].g, cases[c].keys, cases[c].used, cases[c].percent,
                                                  cases[c].span, order % 2),
                                .right = fill_once(&right, cases[c].h, cases[c].keys, cases[c].keys, cases[c].percent,
                                                   cases[c].span, order / 2),
                                .nproducts = 3,
                                .products = {{0, 0}, {1, 0}, {ONES, 1}}};
            check_all_forms(&spec);
            spec.form = FORM_DENSE;
            check_run(&spec, 2);
            assert_int_equal(was_full, cases[c].full);
            spec.nproducts = 0;
            check_all_forms(&spec);
            spec.left.groups++; /* one that has no row */
            check_all_forms(&spec);
            right.key[right.runs[0].n] = right.key[0]; /* once more */
            right.group[right.runs[0].n] = right.group[0];
            check_all_forms(&spec);
            spec.form = FORM_DENSE;
            check_run(&spec, 2);
            assert_false(was_full);
        }
    }
}

static void empty_sides_give_no_rows(void **state)
{
    (void)state;
    ProductSpec spec = {.keys = 5, .left = fill(&left, 3, 5, 10, 3, false), .right = {.groups = 4}};
    check_all_forms(&spec);
}

enum { SMALL = 400000 }; /* bytes, most of them the output's rows, of which there is no less */

/* Every form with less and less memory: what gets through is the join, within the limit. */
static void check_limits(ProductSpec *spec, bool *parts, bool *chunks)
{
    static const uint32_t percents[] = {80, 50, 25};
    join_plainly(spec);
    spec->isa = kernels_best_isa();
    for (int form = FORM_SPARSE; form < FORM_COUNT_; form++) {
        for (int exact = spec->nhaving > 0; exact < 2; exact++) {
            spec->form = (ProductForm)form;
            spec->exact_counts = exact;
            budget = (Budget){.limit = 0};
            check_run(spec, 2);
            size_t unlimited = budget.peak;
            assert_int_equal(budget.parts, 1);
            assert_int_equal(budget.chunks, 0);
            for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++) {
                budget = (Budget){.limit = unlimited / 100 * percents[i]};
                check_run(spec, 2);
                assert_true(budget.fits == 1 || percents[i] < 70 || unlimited < SMALL);
                *parts |= budget.parts > 1;
                *chunks |= budget.chunks > 1;
            }
        }
    }
    budget = (Budget){.limit = 0};
}

static void products_fit_into_what_memory_is_left(void **state)
{
    (void)state;
    static const struct {
        uint32_t g, h, keys;
        int64_t span;
        uint32_t products;
        bool symmetric, skew;
    } cases[] = {{100, 90, 3000, 100, 1, false, false},
                 {16, 120, 3000, 0, 0, false, false},
                 {120, 100, 900, INT32_MAX, 2, false, true},
                 {90, 90, 1500, 40000, 2, true, false},
                 {60, 50, 2000, INT64_MAX / 8192, 1, false, true},
                 {100, 100, 20, 7, 2, false, false}};
    bool parts = false, chunks = false;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ProductSpec spec = {.keys = cases[c].keys,
                            .left = fill(&left, cases[c].g, cases[c].keys, ROWS_MAX, cases[c].span, cases[c].skew),
                            .symmetric = cases[c].symmetric,
                            .nproducts = cases[c].products,
                            .products = {{0, 0}, {1, cases[c].symmetric ? 1 : ONES}}};
        if (cases[c].symmetric) {
            right = left;
            spec.right = cut(&right, cases[c].h, ROWS_MAX);
        } else {
            spec.right = fill(&right, cases[c].h, cases[c].keys, ROWS_MAX, cases[c].span, false);
            weigh(&right, 3);
        }
        check_limits(&spec, &parts, &chunks);
        if (c > 0) continue;
        spec.nhaving = 1;
        spec.having[0] = (ProductBound){ONES, 2, INT64_MAX};
        check_limits(&spec, &parts, &chunks);
    }
    assert_true(parts);
    assert_true(chunks);
}

/* One group of either side is the least that is multiplied: the error says what it takes. */
static void what_cannot_fit_says_what_it_needs(void **state)
{
    (void)state;
    Pool *pool = NULL;
    Error err = {0};
    Mem mem;
    ProductReport report;
    Rates rates = rates_default();
    ProductSpec spec = {.keys = 3000,
                        .left = fill(&left, 1, 3000, ROWS_MAX, 5, false),
                        .right = fill(&right, 1, 3000, ROWS_MAX, 5, false),
                        .rates = &rates};
    mem_init(&mem, 100000);
    assert_int_equal(pool_new(1, &pool, &err), TCUDB_OK);
    assert_int_equal(product_run(&spec, pool, &mem, NULL, collect, &actual, &report, &err), TCUDB_NOMEM);
    assert_string_equal(err.sqlstate, SQLSTATE_OUT_OF_MEMORY);
    assert_non_null(strstr(err.detail, "smallest part of a matrix product"));
    assert_non_null(strstr(err.detail, "tcudb.memory_limit is 100000 bytes"));
    assert_non_null(strstr(err.hint, "tcudb.memory_limit"));
    assert_int_equal(atomic_load(&mem.used), 0);
    pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_equals_the_join),
        cmocka_unit_test(having_drops_rows_before_they_are_emitted),
        cmocka_unit_test(the_bound_of_a_top_drops_rows),
        cmocka_unit_test(right_groups_are_folded),
        cmocka_unit_test(symmetric_products_are_mirrored),
        cmocka_unit_test(rows_may_stand_for_several),
        cmocka_unit_test(full_matrices_need_no_count),
        cmocka_unit_test(unique_rows_become_operands_at_once),
        cmocka_unit_test(empty_sides_give_no_rows),
        cmocka_unit_test(products_fit_into_what_memory_is_left),
        cmocka_unit_test(what_cannot_fit_says_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
