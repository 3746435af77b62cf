/*
 * product.h: the sum-product of two relations: what a binary contraction computes.
 *
 *     out[g][h] = sum over key k of left[g][k] x right[k][h]
 *
 * A Side is a bag of rows (group, key, values), in any order, duplicates allowed: equal (group, key) rows
 * are added first (pre-aggregation), which is what SUM over a join means under bag semantics. A Product
 * multiplies one value column of the left by one of the right; the column ONES counts rows, so
 * ONES x ONES is COUNT(*). Groups exist where COUNT(*) > 0, never where a sum happens to be nonzero.
 *
 * Forms, chosen from the exact histograms of the keys: sparse rows (Gustavson), dense 8-bit limbs (matrix
 * instructions) or doubles, 1-bit popcount (counts of unique pairs), and a split of the keys between sparse
 * and dense. All are exact; sums wider than 64 bits are computed in 128.
 */
#ifndef TENSOR_PRODUCT_H
#define TENSOR_PRODUCT_H

#include "base/pool.h"
#include "tensor/product_price.h"

/* PRODUCT_PLAN: that a plan may ask for. Split in halves for their size, each value becomes two, each product four. */
enum { ONES = UINT32_MAX, PRODUCT_PLAN = 32, PRODUCT_MAX = 4 * PRODUCT_PLAN };

/* Some rows of a side, column by column. */
typedef struct SideRun {
    uint64_t n;
    const uint32_t *group;
    const uint32_t *key;
    const int64_t *values[PRODUCT_MAX];
    const uint32_t *count; /* how many rows of the bag each stands for, the values being their sums; NULL: 1 */
} SideRun;

typedef struct Side {
    uint32_t groups; /* group codes are below this */
    uint64_t n;      /* rows of all runs */
    uint32_t nruns;
    const SideRun *runs;
    uint32_t nvalues;
    bool part;      /* only the rows of groups [first, first + groups), which are n */
    uint32_t first; /* part: the group that is code 0 */
    double weight;  /* no column's absolute values add up to more, over the rows of the join's input; 0: not known */
} Side;

typedef struct Product {
    uint32_t left, right; /* value columns, or ONES */
} Product;

/* HAVING: rows of the output outside [min, max] are not emitted (see ProductReport.having). */
typedef struct ProductBound {
    uint32_t product; /* index, or ONES: COUNT(*), which must then be exact */
    int64_t min, max;
} ProductBound;

/* ORDER BY ... LIMIT: rows whose sum lies beyond *last, which moves while rows come, need not be emitted. As HAVING,
 * where that is applied. */
typedef struct ProductTop {
    const _Atomic int64_t *last; /* NULL: none */
    uint32_t product;            /* index, or ONES: COUNT(*), which must then be exact */
    bool descending;
} ProductTop;

/* DENSE: all keys, in limbs; DOUBLES: all keys, in doubles where the proof allows; AUTO and SPLIT: by price. */
typedef enum ProductForm {
    FORM_AUTO,
    FORM_SPARSE,
    FORM_DENSE,
    FORM_BITS,
    FORM_SPLIT,
    FORM_DOUBLES,
    FORM_COUNT_
} ProductForm;

typedef struct ProductSpec {
    uint32_t keys; /* key codes are below this */
    Side left, right;
    uint32_t nproducts; /* 0..PRODUCT_MAX; COUNT(*) always comes along and need not be listed */
    Product products[PRODUCT_MAX];
    uint32_t nhaving;
    ProductBound having[PRODUCT_MAX];
    ProductTop top;
    /* Rows of one left group and all right groups of a part are one row, with the number of those groups; the product
     * of the sides' weights is below 2^126. */
    bool fold;
    const uint8_t *uncounted;   /* fold: by right group: not 0: it is not in that number; NULL: all are */
    ProductForm form;           /* AUTO, or one to force: for tests, calibration and SET tcudb.engine */
    bool fast;                  /* not exact: FP16 operands, FP32 sums, counts apart (product_fast.c) */
    bool counting[PRODUCT_MAX]; /* fast: the product counts rows, and stays exact as COUNT(*) does */
    bool symmetric; /* the right side is the left one and every product is of one column by itself: half is computed */
    bool no_left, no_right; /* the rows' left_group, right_group need not be filled */
    uint32_t most_parts;    /* more, as estimated, is an error: 53200; 0: any */
    bool exact_counts;      /* false: counts only have to be positive where rows meet */
    KernelIsa isa;
    const Rates *rates; /* decide the split */
} ProductSpec;

/* What was decided and why it is exact: printed by EXPLAIN ANALYZE. */
typedef struct ProductReport {
    ProductForm form;
    uint64_t products;                /* pairs that the join makes after pre-aggregation */
    uint32_t heavy_keys;              /* keys in the dense part */
    uint32_t limbs_left, limbs_right; /* largest of all products; 0: none in limbs */
    uint32_t in_doubles;              /* products whose dense part is in double precision */
    uint32_t sum_bits;                /* proven bound of every sum, sign included */
    bool wide;                        /* sums in 128 bits */
    uint64_t rows;                    /* output rows */
    bool full;                        /* unique rows became operands without cells */
    uint32_t parts;                   /* blocks of groups that were multiplied one after the other */
    uint32_t chunks;                  /* of the dense keys, of a part; 0: all at once */
    bool short_of_memory;             /* no key is dense for want of memory */
    bool having; /* the bounds were applied: not to wide sums, whose rows may have to report an overflow */
    double build_seconds, multiply_seconds;
    ProductShape shape; /* what the split was chosen by */
    double light_pairs; /* pairs left to the sparse rows */
    char why[160];
} ProductReport;

/* One run of output rows, in no order. sums[p][r] is
 * product p of row r, as int64 or (wide) int128; counts[r] is COUNT(*), or merely > 0. */
typedef struct ProductRows {
    uint64_t task;
    uint32_t n;
    const uint32_t *left_group, *right_group;
    const uint64_t *counts;
    const void *const *sums;
    bool wide;
    const uint64_t *cells; /* fold: how many right groups; else NULL */
} ProductRows;
/* Called from several threads at once, for different workers. Memory is valid during the call. */
typedef tcudb_status (*ProductSink)(void *ctx, uint32_t worker, const ProductRows *rows, Error *err);

/* A product whose operands are built: pre-aggregated, proven, split. The spec must outlive it. The caller has
 * proven that no pre-aggregated cell leaves 64 bits and no sum 127 (checked: XX000). Other errors: 53200; 57014. report
 * is filled as far as it is known, here and by product_close.
 * What does not fit into what mem's limit leaves is multiplied in parts, blocks of groups of both sides: when all tasks
 * of one have run, product_next builds the next one, if there is *more. */
typedef struct ProductRun ProductRun;
tcudb_status product_open(const ProductSpec *spec, Pool *pool, Mem *mem, const atomic_bool *cancel,
                          ProductReport *report, ProductRun **out, Error *err) MUST_CHECK;
tcudb_status product_next(ProductRun *run, bool *more, Error *err) MUST_CHECK;
/* Blocks of left groups; each may be run once, by any worker (< pool_workers) that runs no other at the time. */
uint64_t product_tasks(const ProductRun *run);
tcudb_status product_task(ProductRun *run, uint32_t worker, uint64_t task, ProductSink sink, void *ctx,
                          Error *err) MUST_CHECK;
void product_close(ProductRun *run);
/* All of it: every task on the pool. */
tcudb_status product_run(const ProductSpec *spec, Pool *pool, Mem *mem, const atomic_bool *cancel, ProductSink sink,
                         void *ctx, ProductReport *report, Error *err) MUST_CHECK;
const char *product_form_name(ProductForm form);

#endif
