/*
 * tensor_cores.c: what several cores gain on products of few groups, where blocks of left groups are fewer than cores.
 *
 * usage: tensor_cores [THREADS [PATTERN]]     default 2
 * A line a shape and form: milliseconds on one thread and on THREADS, best of a few runs, and their ratio; then the
 * milliseconds of building on both. Times on several threads are the wall's.
 */
#include "tensor/product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Shape {
    const char *name;
    uint32_t left, keys, right; /* groups, keys, groups */
    uint64_t rows[2];
    int64_t span;
    bool skew; /* nine of ten left rows are of group 0 */
    bool full; /* a row a cell */
    bool fold;
    uint32_t nproducts;
    ProductForm form;
} Shape;

typedef struct Columns {
    uint32_t *group, *key;
    int64_t *value;
    SideRun *runs;
    uint32_t nruns;
} Columns;

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { RUN = 1 << 16 };

static Columns make(const Shape *s, int side)
{
    uint64_t n = s->rows[side];
    uint32_t groups = side == 0 ? s->left : s->right;
    Columns c = {.group = malloc(n * 4), .key = malloc(n * 4), .value = malloc(n * 8)};
    c.nruns = (uint32_t)((n + RUN - 1) / RUN);
    c.runs = calloc(c.nruns, sizeof *c.runs);
    for (uint64_t i = 0; i < n; i++) {
        bool first = side == 0 && s->skew && next_random() % 10 != 0;
        c.group[i] = first ? 0 : (uint32_t)(s->full ? i / s->keys : next_random() % groups);
        c.key[i] = (uint32_t)(s->full ? i % s->keys : next_random() % s->keys);
        c.value[i] = (int64_t)(next_random() % (uint64_t)(2 * s->span + 1)) - s->span;
    }
    for (uint32_t r = 0; r < c.nruns; r++) {
        uint64_t from = (uint64_t)r * RUN;
        c.runs[r] = (SideRun){.n = n - from < RUN ? n - from : RUN, .group = c.group + from, .key = c.key + from};
        c.runs[r].values[0] = c.value + from;
    }
    return c;
}

static Side side_of(const Shape *s, int side, const Columns *c)
{
    return (Side){
        .groups = side == 0 ? s->left : s->right, .n = s->rows[side], .nruns = c->nruns, .runs = c->runs, .nvalues = 1};
}

static tcudb_status drop(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)ctx, (void)worker, (void)rows, (void)err;
    return TCUDB_OK;
}

typedef struct Time {
    double all, build;
    ProductReport report;
} Time;

static Time best_of(const ProductSpec *spec, uint32_t threads)
{
    Time best = {.all = 1e9};
    Error err = {0};
    Pool *pool;
    Mem mem;
    mem_init(&mem, 0);
    if (pool_new(threads, &pool, &err) != TCUDB_OK) exit(1);
    for (int run = 0; run < 4; run++) {
        Time t;
        double started = seconds();
        if (product_run(spec, pool, &mem, NULL, drop, NULL, &t.report, &err) != TCUDB_OK) {
            fprintf(stderr, "%s\n", err.message);
            exit(1);
        }
        t.all = seconds() - started;
        t.build = t.report.build_seconds;
        if (t.all < best.all) best = t;
    }
    pool_free(pool);
    return best;
}

static void measure(const Shape *s, uint32_t threads)
{
    Columns left = make(s, 0), right = make(s, 1);
    Rates rates = rates_default();
    ProductSpec spec = {.keys = s->keys,
                        .left = side_of(s, 0, &left),
                        .right = side_of(s, 1, &right),
                        .nproducts = s->nproducts,
                        .fold = s->fold,
                        .exact_counts = s->nproducts == 0,
                        .form = s->form,
                        .isa = kernels_best_isa(),
                        .rates = &rates};
    Time one = best_of(&spec, 1), several = best_of(&spec, threads);
    printf("%-34s%-8s%9.2f%9.2f%7.2fx%9.2f%9.2f\n", s->name, product_form_name(several.report.form), one.all * 1e3,
           several.all * 1e3, one.all / several.all, one.build * 1e3, several.build * 1e3);
    free(left.group), free(left.key), free(left.value), free(left.runs);
    free(right.group), free(right.key), free(right.value), free(right.runs);
}

int main(int argc, char **argv)
{
    static const Shape shapes[] = {
        {"1 left group, dense", 1, 20000, 500, {20000, 4000000}, 100, false, false, false, 1, FORM_DENSE},
        {"4 left groups, dense", 4, 20000, 500, {80000, 4000000}, 100, false, false, false, 1, FORM_DENSE},
        {"16 left groups, dense", 16, 20000, 500, {320000, 4000000}, 100, false, false, false, 1, FORM_DENSE},
        {"16 x 16 groups, many keys", 16, 400000, 16, {3000000, 3000000}, 100, false, false, false, 1, FORM_DENSE},
        {"16 x 16 groups, doubles", 16, 200000, 16, {1500000, 1500000}, 100, false, false, false, 1, FORM_DOUBLES},
        {"4 left groups, bits", 4, 100000, 2000, {200000, 3000000}, 0, false, false, false, 0, FORM_BITS},
        {"16 x 16 groups, bits", 16, 1000000, 16, {3000000, 3000000}, 0, false, false, false, 0, FORM_BITS},
        {"1 left group, sparse", 1, 100000, 5000, {100000, 4000000}, 100, false, false, false, 1, FORM_SPARSE},
        {"4 left groups, sparse", 4, 100000, 5000, {200000, 3000000}, 100, false, false, false, 1, FORM_SPARSE},
        {"16 left groups, sparse", 16, 100000, 5000, {400000, 1500000}, 100, false, false, false, 1, FORM_SPARSE},
        {"one giant row of 1,000", 1000, 100000, 5000, {110000, 3000000}, 100, true, false, false, 1, FORM_SPARSE},
        {"one giant row, split", 1000, 20000, 2000, {110000, 1000000}, 100, true, false, false, 1, FORM_SPLIT},
        {"one giant row, folded", 1000, 100000, 5000, {110000, 3000000}, 100, true, false, true, 1, FORM_SPARSE},
        {"1 left group with one key", 1, 1, 3000000, {1, 3000000}, 100, false, false, false, 1, FORM_SPARSE},
        {"1 x 100 x 20,000, a row a cell", 1, 20000, 100, {20000, 2000000}, 100, false, true, false, 1, FORM_DENSE},
        {"16 x 100 x 20,000, a row a cell", 16, 20000, 100, {320000, 2000000}, 100, false, true, false, 1, FORM_DENSE},
        {"no groups", 1, 1000000, 1, {2000000, 2000000}, 100, false, false, false, 1, FORM_AUTO},
        {"1,000 x 1,000 groups", 1000, 2000, 1000, {500000, 500000}, 100, false, false, false, 1, FORM_DENSE},
    };
    uint32_t threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 2;
    printf("%-34s%-8s%9s%6u thr%8s%9s%9s\n", "milliseconds", "", "1 thr", threads, "", "build 1", "build");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (argc < 3 || strstr(shapes[i].name, argv[2]) != NULL) measure(&shapes[i], threads);
    return 0;
}
