/*
 * Products of few left groups, or with one that outweighs the others, which all cores share: every form and number of
 * workers gives the sums of a plain join, in the order of one worker.
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

enum { RUN = 1 << 14, PRODUCTS = 2 };

typedef struct Bag {
    uint64_t n;
    uint32_t *group, *key;
    int64_t *value;
    SideRun *runs;
} Bag;

/* unique: row i is (i mod groups, i / groups). skew: nine of ten rows are of group 1. */
static Bag make(uint64_t n, uint32_t groups, uint32_t keys, int64_t span, bool skew, bool unique)
{
    Bag b = {.n = n, .group = malloc(n * 4), .key = malloc(n * 4), .value = malloc(n * 8)};
    for (uint64_t i = 0; i < n; i++) {
        b.group[i] = (uint32_t)(unique ? i % groups : skew && next_random() % 10 != 0 ? 1 : next_random() % groups);
        b.key[i] = (uint32_t)(unique ? i / groups : next_random() % keys);
        b.value[i] = (int64_t)(next_random() % (2 * (uint64_t)span + 1)) - span;
    }
    b.runs = calloc(n / RUN + 1, sizeof *b.runs);
    for (uint64_t from = 0; from < n; from += RUN) {
        b.runs[from / RUN] =
            (SideRun){.n = n - from < RUN ? n - from : RUN, .group = b.group + from, .key = b.key + from};
        b.runs[from / RUN].values[0] = b.value + from;
    }
    return b;
}

static void drop(Bag *b)
{
    free(b->group);
    free(b->key);
    free(b->value);
    free(b->runs);
}

static Side side_of(const Bag *b, uint32_t groups)
{
    return (Side){
        .groups = groups, .n = b->n, .nruns = (uint32_t)((b->n + RUN - 1) / RUN), .runs = b->runs, .nvalues = 1};
}

/* ---- what is expected --------------------------------------------------------------------------- */

typedef struct Table {
    uint64_t *counts;
    int128 *sums[PRODUCTS];
} Table;

static Table table_new(size_t cells)
{
    return (Table){calloc(cells, 8), {calloc(cells, 16), calloc(cells, 16)}};
}

static void table_free(Table *t)
{
    free(t->counts);
    free(t->sums[0]);
    free(t->sums[1]);
}

static Table join_plainly(const Bag *left, const Bag *right, uint32_t groups, uint32_t columns, uint32_t keys)
{
    Table t = table_new((size_t)groups * columns);
    uint64_t *starts = calloc(keys + 2, 8), *rows = malloc(right->n * 8);
    for (uint64_t j = 0; j < right->n; j++) starts[right->key[j] + 2]++;
    for (uint32_t k = 0; k < keys; k++) starts[k + 2] += starts[k + 1];
    for (uint64_t j = 0; j < right->n; j++) rows[starts[right->key[j] + 1]++] = j;
    for (uint64_t i = 0; i < left->n; i++) {
        for (uint64_t r = starts[left->key[i]]; r < starts[left->key[i] + 1]; r++) {
            size_t cell = (size_t)left->group[i] * columns + right->group[rows[r]];
            t.counts[cell]++;
            t.sums[0][cell] += (int128)left->value[i] * right->value[rows[r]];
            t.sums[1][cell] += left->value[i];
        }
    }
    free(starts);
    free(rows);
    return t;
}

/* ---- what comes --------------------------------------------------------------------------------- */

typedef struct Chunk {
    uint64_t task, number;
    uint32_t n, *left, *right;
} Chunk;

typedef struct Rows {
    pthread_mutex_t lock;
    Table table;
    uint32_t columns, nproducts;
    bool fold;
    Chunk *chunks;
    uint64_t n, cap, rows, cells;
} Rows;

static uint32_t *copy(const uint32_t *from, uint32_t n)
{
    uint32_t *to = malloc(sizeof *to * n);
    memcpy(to, from, sizeof *to * n);
    return to;
}

static tcudb_status collect(void *ctx, uint32_t worker, const ProductRows *in, Error *err)
{
    (void)worker, (void)err;
    Rows *out = ctx;
    pthread_mutex_lock(&out->lock);
    if (out->n == out->cap) {
        out->cap = out->cap * 2 + 64;
        out->chunks = realloc(out->chunks, sizeof *out->chunks * out->cap);
    }
    const uint32_t *right = out->fold ? in->left_group : in->right_group;
    out->chunks[out->n] = (Chunk){in->task, out->n, in->n, copy(in->left_group, in->n), copy(right, in->n)};
    out->n++;
    for (uint32_t r = 0; r < in->n; r++) {
        size_t cell = (size_t)in->left_group[r] * out->columns + (out->fold ? 0 : in->right_group[r]);
        out->table.counts[cell] += in->counts[r];
        out->cells += out->fold ? in->cells[r] : 1;
        for (uint32_t p = 0; p < out->nproducts; p++)
            out->table.sums[p][cell] += in->wide ? ((const int128 *)in->sums[p])[r] : ((const int64_t *)in->sums[p])[r];
    }
    out->rows += in->n;
    pthread_mutex_unlock(&out->lock);
    return TCUDB_OK;
}

static int by_task(const void *a, const void *b)
{
    const Chunk *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The groups of all rows in the order of the tasks. */
static uint32_t *in_order(const Rows *rows)
{
    uint32_t *out = malloc(sizeof *out * 2 * (rows->rows + 1)), *at = out;
    qsort(rows->chunks, rows->n, sizeof *rows->chunks, by_task);
    for (uint64_t c = 0; c < rows->n; c++) {
        for (uint32_t r = 0; r < rows->chunks[c].n; r++) {
            *at++ = rows->chunks[c].left[r];
            *at++ = rows->chunks[c].right[r];
        }
    }
    return out;
}

static Rows run(const ProductSpec *spec, uint32_t workers)
{
    Rows out = {.columns = spec->fold ? 1 : spec->right.groups, .nproducts = spec->nproducts, .fold = spec->fold};
    Error err = {0};
    Pool *pool = NULL;
    Mem mem;
    ProductReport report;
    mem_init(&mem, 0);
    out.table = table_new((size_t)spec->left.groups * out.columns);
    pthread_mutex_init(&out.lock, NULL);
    assert_int_equal(pool_new(workers, &pool, &err), TCUDB_OK);
    if (product_run(spec, pool, &mem, NULL, collect, &out, &report, &err) != TCUDB_OK) fail_msg("%s", err.message);
    assert_int_equal(atomic_load(&mem.used), 0);
    pool_free(pool);
    return out;
}

static void rows_free(Rows *rows)
{
    for (uint64_t c = 0; c < rows->n; c++) {
        free(rows->chunks[c].left);
        free(rows->chunks[c].right);
    }
    free(rows->chunks);
    table_free(&rows->table);
}

/* Folds the table's columns. */
static void fold(Table *t, uint32_t groups, uint32_t columns, uint64_t *cells)
{
    *cells = 0;
    for (uint32_t g = 0; g < groups; g++) {
        uint64_t count = 0;
        int128 sums[PRODUCTS] = {0};
        for (size_t j = (size_t)g * columns; j < (size_t)(g + 1) * columns; j++) {
            *cells += t->counts[j] > 0;
            count += t->counts[j];
            for (int p = 0; p < PRODUCTS; p++) sums[p] += t->sums[p][j];
        }
        t->counts[g] = count;
        for (int p = 0; p < PRODUCTS; p++) t->sums[p][g] = sums[p];
    }
}

static void same_table(const ProductSpec *spec, const Table *expected, const Rows *rows)
{
    for (size_t cell = 0; cell < (size_t)spec->left.groups * rows->columns; cell++) {
        if (spec->exact_counts)
            assert_int_equal(rows->table.counts[cell], expected->counts[cell]);
        else
            assert_int_equal(rows->table.counts[cell] > 0, expected->counts[cell] > 0);
        for (uint32_t p = 0; p < spec->nproducts; p++)
            assert_true(rows->table.sums[p][cell] == expected->sums[p][cell]);
    }
}

static void check(ProductSpec *spec, const Bag *left, const Bag *right)
{
    static const ProductForm forms[] = {FORM_AUTO, FORM_SPARSE, FORM_DENSE, FORM_BITS, FORM_SPLIT, FORM_DOUBLES};
    Rates rates = rates_default();
    spec->rates = &rates;
    spec->isa = kernels_best_isa();
    uint64_t cells = 0;
    Table expected = join_plainly(left, right, spec->left.groups, spec->right.groups, spec->keys);
    if (spec->fold) fold(&expected, spec->left.groups, spec->right.groups, &cells);
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        spec->form = forms[f];
        Rows alone = run(spec, 1);
        same_table(spec, &expected, &alone);
        uint32_t *order = in_order(&alone);
        for (uint32_t workers = 2; workers < 6; workers += 3) {
            Rows rows = run(spec, workers);
            same_table(spec, &expected, &rows);
            assert_int_equal(rows.rows, alone.rows);
            if (spec->fold) assert_int_equal(rows.cells, cells);
            uint32_t *other = in_order(&rows);
            assert_memory_equal(order, other, sizeof *order * 2 * alone.rows);
            free(other);
            rows_free(&rows);
        }
        free(order);
        rows_free(&alone);
    }
    table_free(&expected);
}

static ProductSpec spec_of(const Bag *left, uint32_t groups, const Bag *right, uint32_t columns, uint32_t keys)
{
    return (ProductSpec){.keys = keys,
                         .left = side_of(left, groups),
                         .right = side_of(right, columns),
                         .nproducts = PRODUCTS,
                         .products = {{0, 0}, {0, ONES}},
                         .exact_counts = true};
}

/* Sums, then counts alone, then groups alone. */
static void check_pair(Bag left, uint32_t groups, Bag right, uint32_t columns, uint32_t keys, bool folded)
{
    ProductSpec spec = spec_of(&left, groups, &right, columns, keys);
    spec.fold = folded;
    check(&spec, &left, &right);
    spec.nproducts = 0;
    check(&spec, &left, &right);
    spec.exact_counts = false;
    check(&spec, &left, &right);
    drop(&left);
    drop(&right);
}

static void few_left_groups(void **state)
{
    (void)state;
    check_pair(make(60000, 1, 20000, 100, false, false), 1, make(600000, 300, 20000, 100, false, false), 300, 20000,
               false);
    check_pair(make(90000, 5, 20000, 100, false, false), 5, make(300000, 301, 20000, 70000, false, false), 301, 20000,
               false);
}

static void few_groups_of_both(void **state)
{
    (void)state;
    check_pair(make(200000, 16, 150000, 100, false, false), 16, make(200000, 16, 150000, 100, false, false), 16, 150000,
               false);
    check_pair(make(16 * 70000, 16, 70000, 1, false, true), 16, make(16 * 70000, 16, 70000, 1, false, true), 16, 70000,
               false);
}

static void wide_sums(void **state)
{
    (void)state;
    check_pair(make(60000, 3, 20000, INT64_MAX / 131072, false, false), 3,
               make(400000, 300, 20000, INT64_MAX / 1048576, false, false), 300, 20000, false);
}

static void one_giant_among_many(void **state)
{
    (void)state;
    check_pair(make(60000, 200, 20000, 100, true, false), 200, make(400000, 900, 20000, 100, false, false), 900, 20000,
               false);
    check_pair(make(60000, 200, 20000, 100, true, false), 200, make(400000, 900, 20000, 100, false, false), 900, 20000,
               true);
}

static void one_key_of_many_groups(void **state)
{
    (void)state;
    check_pair(make(3, 3, 2, 100, false, true), 3, make(600000, 400000, 2, 100, false, false), 400000, 2, false);
}

static void the_same_side_twice(void **state)
{
    (void)state;
    Bag bag = make(200000, 16, 50000, 100, false, false);
    ProductSpec spec = spec_of(&bag, 16, &bag, 16, 50000);
    spec.nproducts = 1;
    spec.symmetric = true;
    check(&spec, &bag, &bag);
    spec.nproducts = 0;
    check(&spec, &bag, &bag);
    drop(&bag);
    bag = make(600000, 40, 20000, 100, true, false);
    spec = spec_of(&bag, 40, &bag, 40, 20000);
    spec.nproducts = 1;
    spec.symmetric = true;
    check(&spec, &bag, &bag);
    drop(&bag);
}

static void having_on_standing_lines(void **state)
{
    (void)state;
    Bag left = make(60000, 2, 20000, 100, false, false), right = make(600000, 300, 20000, 100, false, false);
    ProductSpec spec = spec_of(&left, 2, &right, 300, 20000);
    Rates rates = rates_default();
    spec.rates = &rates;
    spec.isa = kernels_best_isa();
    spec.nhaving = 1;
    spec.having[0] = (ProductBound){0, 0, INT64_MAX};
    Table expected = join_plainly(&left, &right, 2, 300, 20000);
    uint64_t kept = 0;
    for (size_t cell = 0; cell < 600; cell++) kept += expected.counts[cell] > 0 && expected.sums[0][cell] >= 0;
    for (int form = FORM_AUTO; form < FORM_COUNT_; form++) {
        for (uint32_t workers = 1; workers < 4; workers++) {
            spec.form = (ProductForm)form;
            Rows rows = run(&spec, workers);
            assert_int_equal(rows.rows, kept);
            rows_free(&rows);
        }
    }
    table_free(&expected);
    drop(&left);
    drop(&right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_left_groups),
        cmocka_unit_test(few_groups_of_both),
        cmocka_unit_test(wide_sums),
        cmocka_unit_test(one_giant_among_many),
        cmocka_unit_test(one_key_of_many_groups),
        cmocka_unit_test(the_same_side_twice),
        cmocka_unit_test(having_on_standing_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
