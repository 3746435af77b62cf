/*
 * rates.h: what the steps of a query cost on this machine, in nanoseconds of one core.
 *
 * One value of Rates is passed to whatever prices plans: opt/ (which plan), tensor/ (which keys are dense), exec/
 * (predicted beside actual). Steps whose speed depends on the memory they touch are curves over the number of
 * entries (16 to 32 bytes each) of the table at hand, interpolated in the logarithms of both. The defaults are those
 * of one core of a Zen 4 at 3.7 GHz; `tcudb calibrate` measures the machine's own.
 */
#ifndef TENSOR_RATES_H
#define TENSOR_RATES_H

#include "tensor/kernels.h"

enum { RATE_POINTS = 6, RATE_FIRST = 10, RATE_STEP = 3 }; /* 2^10, 2^13 ... 2^25 entries */

typedef struct RateCurve {
    double ns[RATE_POINTS];
} RateCurve;

typedef struct Rates {
    /* The ordinary plan. */
    double scan_value, filter_row, project_value, out_row;
    RateCurve build, probe, group; /* a row into or against a hash table of so many entries */
    double group_new;              /* the first row of a group, and its row of output */
    double nested_pair, sort_step;
    /* Products of sums. */
    double pair;           /* sparse: one product and its accumulator, in cache */
    double mac[ISA_COUNT]; /* dense: one 8-bit multiply-add */
    double mac_double[ISA_COUNT];
    double bit[ISA_COUNT]; /* dense: one bit */
    double cell_scan;      /* one cell of an output block, looked at */
    double fill;           /* one cell of a dense operand */
} Rates;

/* Sensible for any x86-64 of the last ten years; the instruction sets' rates are all in it. */
Rates rates_default(void);
/* The curve's value at n entries. */
double rate_at(const RateCurve *curve, double n);

#endif
