/*
 * rates.c: the rates before any calibration, and interpolation of their curves.
 */
#include "tensor/rates.h"

#include <math.h>
#include <stddef.h>

Rates rates_default(void)
{
    return (Rates){
#define RATE(field, help, value)   .field = (value),
#define RATE_ISA(field, help, ...) .field = {__VA_ARGS__},
#define CURVE(field, help, ...)    .field = {{__VA_ARGS__}},
#include "tensor/rates.def"
#undef RATE
#undef RATE_ISA
#undef CURVE
    };
}

double rate_at(const RateCurve *curve, double n)
{
    double at = (log2(n < 1 ? 1 : n) - RATE_FIRST) / RATE_STEP;
    if (at <= 0) return curve->ns[0];
    if (at >= RATE_POINTS - 1) return curve->ns[RATE_POINTS - 1];
    uint32_t i = (uint32_t)at;
    return curve->ns[i] * pow(curve->ns[i + 1] / curve->ns[i], at - i);
}

static const RateInfo infos[] = {
#define RATE(field, help, ...)     {#field, help, offsetof(Rates, field), 1},
#define RATE_ISA(field, help, ...) {#field, help, offsetof(Rates, field), ISA_COUNT},
#define CURVE(field, help, ...)    {#field, help, offsetof(Rates, field), RATE_POINTS},
#include "tensor/rates.def"
#undef RATE
#undef RATE_ISA
#undef CURVE
};

const RateInfo *rates_at(uint32_t i)
{
    return i < sizeof infos / sizeof infos[0] ? &infos[i] : NULL;
}
