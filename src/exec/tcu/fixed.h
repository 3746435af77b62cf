/*
 * fixed.h: long fixed-point numbers: n words of 64 bits, two's complement, least significant first.
 */
#ifndef EXEC_TCU_FIXED_H
#define EXEC_TCU_FIXED_H

#include "type/type.h"

enum { FIXED_WORDS = 72 }; /* every sum of products of two doubles: bits 2^-2148 to 2^2048, and 2^64 of them */

/* w += or -= magnitude x 2^shift. */
void fixed_add(uint64_t *w, uint32_t n, uint128 magnitude, bool negative, uint32_t shift);
/* w += other. */
void fixed_join(uint64_t *w, const uint64_t *other, uint32_t n);
/* w x 2^exponent as a double, rounded to nearest, ties to even; infinite beyond the largest. n <= FIXED_WORDS */
double fixed_round(const uint64_t *w, uint32_t n, int exponent);

#endif
