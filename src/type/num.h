/*
 * num.h: decimal arithmetic on Num and on scaled integers, with PostgreSQL's scales and rounding.
 *
 * Every result is exact or rounded half away from zero at the scale PostgreSQL would display. What needs
 * more than 38 digits is 22003 "value overflows numeric format", never a wrong value.
 */
#ifndef TYPE_NUM_H
#define TYPE_NUM_H

#include "type/type.h"

enum { NUM_I64_DIGITS = 18, NUM_MAX_DIGITS = 38, NUM_MAX_SCALE = 255 };

#define NUM_INT(v)    ((Num){.value = (v)})
#define NUM_NAN_VALUE ((Num){.kind = NUM_NAN})

/* 10^n, n in 0..38. */
int128 num_pow10(int n);
/* Decimal digits of |v|; 0 for 0. */
int num_digits(int128 v);
/* 22003 as PostgreSQL words it. */
tcudb_status num_overflow(Error *err);
/* v x 10^-from as an integer x 10^-to, rounded half away from zero; false: more than 38 digits. */
bool num_rescale(int128 v, int from, int to, int128 *out);

tcudb_status num_add(Num a, Num b, Num *out, Error *err) MUST_CHECK;
tcudb_status num_sub(Num a, Num b, Num *out, Error *err) MUST_CHECK;
tcudb_status num_mul(Num a, Num b, Num *out, Error *err) MUST_CHECK;
/* PostgreSQL's scale (select_div_scale); 22012 for a zero divisor. */
tcudb_status num_div(Num a, Num b, Num *out, Error *err) MUST_CHECK;
/* The same of words; false: not done, not even an error. */
bool num_div_words(int64_t a, int32_t scale_a, int64_t b, int32_t scale_b, Num *out);
/* Rounded to `scale` digits behind the point; negative scales round left of it. */
tcudb_status num_round(Num a, int scale, Num *out, Error *err) MUST_CHECK;
tcudb_status num_trunc(Num a, int scale, Num *out, Error *err) MUST_CHECK;
/* Whole quotient, rest with the dividend's sign (the larger scale); 22012. */
tcudb_status num_quotient(Num a, Num b, Num *out, Error *err) MUST_CHECK;
tcudb_status num_mod(Num a, Num b, Num *out, Error *err) MUST_CHECK;
/* Computed with digits to spare and rounded once at PostgreSQL's scale. */
tcudb_status num_sqrt(Num a, Num *out, Error *err) MUST_CHECK;
tcudb_status num_sqrt_at(Num a, int scale, Num *out, Error *err) MUST_CHECK; /* a finite, not negative */
/* PostgreSQL's variance, or its root, of n > 0 numbers (sample: n > 1) with this sum and sum of squares, whose scale is
 * twice the sum's. */
tcudb_status num_variance(int128 n, Num sum, Num squares, bool sample, bool root, Num *out, Error *err) MUST_CHECK;
/* Exact sums of numbers x 10^scale and of their squares; the sum's magnitude, least significant first. */
typedef struct NumMoments {
    uint64_t sum[3], squares[5];
    int scale;
} NumMoments;
tcudb_status num_variance_wide(int64_t n, const NumMoments *m, bool sample, bool root, Num *out, Error *err) MUST_CHECK;
tcudb_status num_exp(Num a, Num *out, Error *err) MUST_CHECK;
tcudb_status num_ln(Num a, Num *out, Error *err) MUST_CHECK;
tcudb_status num_log(Num base, Num a, Num *out, Error *err) MUST_CHECK;
tcudb_status num_power(Num base, Num exponent, Num *out, Error *err) MUST_CHECK;
/* -1, 0, 1; -Infinity < finite < Infinity < NaN = NaN. */
int num_compare(Num a, Num b);

/* Casts. The narrow ones report 22003 in PostgreSQL's words. */
tcudb_status num_from_float8(double v, Num *out, Error *err) MUST_CHECK; /* 15 significant digits */
tcudb_status num_from_float4(float v, Num *out, Error *err) MUST_CHECK;  /* 6 */
double num_to_float8(Num a);
tcudb_status num_to_int8(Num a, const char *type_name, int64_t lo, int64_t hi, int64_t *out, Error *err) MUST_CHECK;
/* To numeric(p,s): rounds, then checks the field width. value receives the scaled integer. */
tcudb_status num_to_scaled(Num a, Type to, int128 *value, Error *err) MUST_CHECK;

/* Both: of a float's significant digits. */
tcudb_status num_scaled_from_float(double v, int digits, Type to, int128 *value, Error *err) MUST_CHECK;

/* Text: as numeric_in (spaces around it, exponent, NaN, Infinity). */
tcudb_status num_parse(Str text, Num *out, Error *err) MUST_CHECK;
enum { NUM_TEXT_MAX = 304 };
/* Writes at most NUM_TEXT_MAX bytes, NUL-terminated; returns the length. */
uint32_t num_print(Num a, char buffer[NUM_TEXT_MAX]);

#endif
