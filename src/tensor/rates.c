/*
 * rates.c: the rates before any calibration, and interpolation of their curves.
 */
#include "tensor/rates.h"

#include <math.h>

Rates rates_default(void)
{
    return (Rates){
        .scan_value = 0.4,
        .filter_row = 1.0,
        .project_value = 0.6,
        .out_row = 1.5,
        .build = {{8, 13, 28, 44, 60, 60}},
        .probe = {{3, 6, 17, 29, 40, 40}},
        .group = {{8, 17, 45, 72, 100, 100}},
        .group_new = 60,
        .nested_pair = 2,
        .sort_step = 1,
        .pair = 0.7,
        .mac = {[ISA_SCALAR] = .125, [ISA_AVX2] = .021, [ISA_AVXVNNI] = .010, [ISA_AVX512] = .005, [ISA_AMX] = .0015},
        .mac_double =
            {[ISA_SCALAR] = .090, [ISA_AVX2] = .046, [ISA_AVXVNNI] = .046, [ISA_AVX512] = .042, [ISA_AMX] = .042},
        .bit = {[ISA_SCALAR] = .030, [ISA_AVX2] = .003, [ISA_AVXVNNI] = .003, [ISA_AVX512] = .0009, [ISA_AMX] = .0009},
        .cell_scan = 0.6,
        .fill = 4,
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
