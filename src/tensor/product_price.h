/*
 * product_price.h: what a product costs in each form, from its shape: estimated by the optimizer, exact at run time.
 */
#ifndef TENSOR_PRODUCT_PRICE_H
#define TENSOR_PRODUCT_PRICE_H

#include "tensor/rates.h"

/* Index 0: left, 1: right. */
typedef struct ProductShape {
    double rows[2];   /* of the bags */
    double cells[2];  /* (group, key) pairs that have rows */
    double groups[2]; /* the output is groups[0] x groups[1] */
    double keys;
    double pairs; /* sum over keys of left cells x right cells */
    double out;   /* pairs of groups that exist */
    double products, values[2];
    double limb_pairs; /* 8-bit by 8-bit products of all products; the counts' too where bits cannot count */
    double shifted[2]; /* limbs whose empty cells are written: those of signed columns */
    bool full;         /* unique rows nearly fill both sides' matrices: the dense form needs no cells */
    bool symmetric;    /* half of the dense form, and of the sparse pairs, is computed */
    bool bits;         /* counts by bits */
    bool wide;         /* sums of 128 bits */
} ProductShape;

/* Nanoseconds of one core. */
typedef struct ProductPrice {
    double build, multiply, emit;
} ProductPrice;

/* With `heavy` of the keys dense, and light_pairs of the pairs left to the sparse rows: 0 and all of them is the
 * sparse form, all keys and 0 the dense one. */
ProductPrice product_price(const Rates *rates, KernelIsa isa, const ProductShape *shape, double heavy,
                           double light_pairs);
/* Whether a side of so many unique rows nearly fills its matrix. */
bool product_fills(double rows, double groups, double keys);
/* One pair of cells in the sparse form; one key in the dense form. */
double product_pair_price(const Rates *rates, const ProductShape *shape);
double product_key_price(const Rates *rates, KernelIsa isa, const ProductShape *shape);

#endif
