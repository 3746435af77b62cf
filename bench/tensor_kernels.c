/*
 * tensor_kernels.c: what the matrix kernels reach on one core, a line an instruction set of this machine.
 *
 * usage: tensor_kernels [ROWS [KEYS]]     ROWS x KEYS times KEYS x ROWS; default 1024 and 2048
 * Columns: 10^9 operations (two a multiply-add) a second of 8-bit limbs, doubles and bits, best of a few runs each.
 */
#include "tensor/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct Operands {
    LimbMatrix limbs[2];
    DoubleMatrix doubles[2];
    BitMatrix bits[2];
    int64_t *out; /* one panel's rows */
    size_t stride;
} Operands;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void multiply_limbs(KernelIsa isa, Operands *o)
{
    KeyStrip all = {.to = o->limbs[0].k};
    for (uint32_t p = 0; p < o->limbs[0].panels; p++)
        for (uint32_t q = 0; q < o->limbs[1].panels; q++)
            limb_multiply(isa, &o->limbs[0], p, &o->limbs[1], q, &all, o->out + (size_t)q * LIMB_ROWS_B, o->stride);
}

static void multiply_doubles(KernelIsa isa, Operands *o)
{
    KeyStrip all = {.to = o->doubles[0].k};
    for (uint32_t p = 0; p < o->doubles[0].panels; p++)
        for (uint32_t q = 0; q < o->doubles[1].panels; q++)
            double_multiply(isa, &o->doubles[0], p, &o->doubles[1], q, &all, o->out + (size_t)q * LIMB_ROWS_B,
                            o->stride);
}

static void multiply_bits(KernelIsa isa, Operands *o)
{
    for (uint32_t i = 0; i < o->bits[0].padded; i += BIT_TILE)
        for (size_t word = 0; word < o->bits[0].words; word += BIT_CHUNK)
            for (uint32_t j = 0; j < o->bits[1].padded; j += BIT_TILE)
                bitmat_multiply(isa, &o->bits[0], i, &o->bits[1], j, word, o->out + j, o->stride);
}

/* The best of several runs, at least two and at most until half a second has gone. */
static double rate(KernelIsa isa, Operands *o, void (*multiply)(KernelIsa, Operands *))
{
    double best = 1e9, from = seconds();
    for (int run = 0; run < 2 || seconds() - from < 0.5; run++) {
        double started = seconds();
        multiply(isa, o);
        double took = seconds() - started;
        if (took < best) best = took;
    }
    return 2.0 * o->limbs[0].rows * o->limbs[1].rows * o->limbs[0].k / best / 1e9;
}

static void set_cell(Operands *o, bool left, uint32_t row, uint32_t k, int64_t value)
{
    if (left) {
        limb_set_left(&o->limbs[0], row, &k, &value, 1, 0);
        double_set_left(&o->doubles[0], row, &k, &value, 1);
    } else {
        limb_set_right(&o->limbs[1], k, &row, &value, 1, 0);
        double_set_right(&o->doubles[1], k, &row, &value, 1);
    }
}

static tcudb_status make(uint32_t rows, uint32_t keys, Operands *o, Error *err)
{
    srand(1);
    for (int side = 0; side < 2; side++) {
        TRY(limb_new(NULL, rows, keys, 1, side == 0, &o->limbs[side], err));
        TRY(double_new(NULL, rows, keys, side == 0, &o->doubles[side], err));
        TRY(bitmat_new(NULL, rows, keys, &o->bits[side], err));
        limb_clear(&o->limbs[side], 0, o->limbs[side].panels, 0, o->limbs[side].blocks, 0);
        for (uint32_t row = 0; row < rows; row++) {
            for (uint32_t k = 0; k < keys; k++) {
                int64_t value = rand() >> 3 & 255;
                set_cell(o, side == 0, row, k, value);
                if ((value & 1) != 0) bitmat_set(&o->bits[side], row, k);
            }
        }
    }
    for (uint32_t panel = 0; panel < o->limbs[1].panels; panel++)
        limb_finish_panel(ISA_SCALAR, &o->limbs[1], panel, 0, o->limbs[1].blocks);
    o->stride = (size_t)o->limbs[1].panels * LIMB_ROWS_B;
    o->out = mem_alloc_zero(NULL, sizeof *o->out * o->stride * LIMB_ROWS_A, err);
    return o->out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

int main(int argc, char **argv)
{
    uint32_t rows = argc > 1 ? (uint32_t)atoi(argv[1]) : 1024, keys = argc > 2 ? (uint32_t)atoi(argv[2]) : 2048;
    Operands o = {0};
    Error err = {0};
    if (make(rows, keys, &o, &err) != TCUDB_OK) {
        fprintf(stderr, "tensor_kernels: %s\n", err.message);
        return 1;
    }
    printf("%u x %u x %u, one core, 10^9 operations a second\n%-10s %10s %10s %10s\n", rows, keys, rows, "", "8 bits",
           "doubles", "1 bit");
    for (KernelIsa isa = 0; isa < ISA_COUNT; isa++)
        if (kernels_have(isa))
            printf("%-10s %10.0f %10.0f %10.0f\n", kernels_isa_name(isa), rate(isa, &o, multiply_limbs),
                   rate(isa, &o, multiply_doubles), rate(isa, &o, multiply_bits));
    for (int side = 0; side < 2; side++) {
        limb_free(&o.limbs[side]);
        double_free(&o.doubles[side]);
        bitmat_free(&o.bits[side]);
    }
    mem_free(NULL, o.out, sizeof *o.out * o.stride * LIMB_ROWS_A);
    return 0;
}
