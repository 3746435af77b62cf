/*
 * rates.h: what the steps of a query cost on this machine, in nanoseconds of one core.
 *
 * One value of Rates is passed to whatever prices plans: opt/ (which plan), tensor/ (which keys are dense), exec/
 * (predicted beside actual). Steps whose speed depends on the memory they touch are curves over the number of
 * entries (16 to 32 bytes each) of the table at hand, interpolated in the logarithms of both. The defaults were
 * fitted to bench/optimizer_bench.py on an Intel Xeon with AVX-512; `tcudb calibrate` measures the machine's own.
 */
#ifndef TENSOR_RATES_H
#define TENSOR_RATES_H

#include "tensor/kernels.h"

enum { RATE_POINTS = 6, RATE_FIRST = 10, RATE_STEP = 3 }; /* 2^10, 2^13 ... 2^25 entries */

typedef struct RateCurve {
    double ns[RATE_POINTS];
} RateCurve;

/* RATE(field, initial): one value. CURVE(field, initial...): one a size. RATE_ISA: one an instruction set. */
typedef struct Rates {
#define RATE(field, help, ...)     double field;
#define RATE_ISA(field, help, ...) double field[ISA_COUNT];
#define CURVE(field, help, ...)    RateCurve field;
#include "tensor/rates.def"
#undef RATE
#undef RATE_ISA
#undef CURVE
} Rates;

/* Sensible for any x86-64 of the last ten years; the instruction sets' rates are all in it. */
Rates rates_default(void);
/* For files and SHOW: the i-th rate, n values at an offset; NULL past the last. */
typedef struct RateInfo {
    const char *name, *help;
    size_t offset;
    uint32_t n;
} RateInfo;
const RateInfo *rates_at(uint32_t i);
static inline double *rate_values(Rates *rates, const RateInfo *info)
{
    return (double *)(void *)((char *)rates + info->offset);
}
/* The curve's value at n entries. */
double rate_at(const RateCurve *curve, double n);

#endif
