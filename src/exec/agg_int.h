/*
 * agg_int.h: the states, shared by agg.c (rows in) and agg_final.c (results out). All zero: no rows yet.
 */
#ifndef EXEC_AGG_INT_H
#define EXEC_AGG_INT_H

#include "exec/agg.h"

typedef struct SumInt { /* 128-bit two's complement */
    uint64_t lo;
    int64_t hi;
    int64_t n;
} SumInt;

typedef struct SumWide { /* 192-bit two's complement x 10^-scale */
    uint64_t lo, mid;
    int64_t hi;
    int64_t n;
    int32_t scale;
    int32_t overflow;
    int64_t special[4]; /* by NumKind: NaN, Infinity, -Infinity */
} SumWide;

typedef struct SumFloat {
    double sum;
    int64_t n;
    int64_t inf_in; /* an argument was infinite: an infinite sum is no overflow */
} SumFloat;

typedef struct Moments { /* count, sum, sum of squared deviations */
    double n, sum, square;
    int64_t inf_in;
} Moments;

typedef struct MomentsInt { /* exact sums of x and x^2 */
    SumInt sum;
    uint64_t sq_lo, sq_mid, sq_hi;
} MomentsInt;

typedef struct MomentsWide { /* exact sums of x and x^2 of wide decimals: 320 bits x 10^(-2 x sum.scale) */
    SumWide sum;
    uint64_t squares[5];
} MomentsWide;

typedef struct SumInterval {
    int64_t micros, days, months, n;
    int64_t overflow;
} SumInterval;

typedef struct Joined {
    char *text;
    uint32_t len, cap;
    uint32_t skip; /* length of the first delimiter */
    uint32_t has;
} Joined;

void agg_add_wide(SumWide *s, int128 value, int32_t scale);
void agg_combine_wide(SumWide *a, const SumWide *from);
/* value x 10, scale + 1. */
void agg_wide_times10(SumWide *s);
void agg_add_moment(Moments *s, double x);
void agg_add_square(MomentsInt *s, uint128 square);
/* agg_wide.c: variance of wide decimals. */
void agg_wide_moment(MomentsWide *s, Num x);
void agg_wide_moments_combine(MomentsWide *to, const MomentsWide *from);
int64_t agg_wide_moments_rows(const MomentsWide *s);
tcudb_status agg_wide_moments_final(const MomentsWide *s, bool sample, bool root, Num *out, Error *err) MUST_CHECK;
/* The value of a MIN, MAX or ANY state that has one. */
Value agg_state_value(const AggSpec *spec, const char *state);

/* agg_more.c: bits, statistics of two variables, ordered sets. */
bool agg_is_more(AggKind kind);
uint32_t agg_more_size(AggKind kind, Phys arg);
bool agg_more_ordered(AggKind kind);
tcudb_status agg_more_update(const AggSpec *spec, Worker *w, const AggStates *states, const Vector *args,
                             const uint16_t *sel, uint32_t n, Error *err) MUST_CHECK;
void agg_more_combine(const AggSpec *spec, char *to, const char *from);
tcudb_status agg_more_final(const AggSpec *spec, Worker *w, const char *state, Value *out, bool *null,
                            Error *err) MUST_CHECK;

/* agg_sets.c: percentiles and mode; for agg_more.c. States that were combined into another are linked from it. */
uint32_t agg_sets_size(void);
tcudb_status agg_sets_update(const AggSpec *spec, Worker *w, const AggStates *states, const Vector *args,
                             const uint16_t *sel, uint32_t n, Error *err) MUST_CHECK;
void agg_sets_combine(char *to, const char *from);
tcudb_status agg_sets_final(const AggSpec *spec, Worker *w, const char *state, Value *out, bool *null,
                            Error *err) MUST_CHECK;

enum { AGG_FEW = 64 };
/* agg_few.c: adds the rows' values, or their number, to states of few groups; base is this aggregate's in group 0.
 * false: nothing done, too many groups, too few rows, NULLs, or no integers. */
bool agg_sum_few(const Vector *v, const uint16_t *sel, uint32_t n, const AggStates *states);
bool agg_count_few(uint32_t n, const AggStates *states);

#endif
