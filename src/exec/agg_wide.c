/*
 * agg_wide.c: variance and standard deviation of decimals that have more than 18 digits or no scale of their own.
 *
 * Exact: the sum of x in 192 bits (SumWide) and the sum of x^2 in 320, both at the largest scale that came; a value of
 * a larger scale multiplies what is there. As in PostgreSQL one NaN or infinity makes the result NaN. Sums that these
 * bits do not hold are 22003.
 */
#include "exec/agg_int.h"
#include "type/num.h"

#include <assert.h>

enum { SQUARE_LIMBS = 5 };

static void add_limbs(MomentsWide *s, const uint64_t *limb, int n)
{
    uint128 carry = 0;
    for (int i = 0; i < SQUARE_LIMBS; i++) {
        carry += (uint128)s->squares[i] + (i < n ? limb[i] : 0);
        s->squares[i] = (uint64_t)carry;
        carry >>= 64;
    }
    s->sum.overflow |= carry != 0;
}

static void raise_scale(MomentsWide *s, int32_t scale)
{
    while (s->sum.scale < scale && !s->sum.overflow) {
        agg_wide_times10(&s->sum);
        s->sum.overflow |= limbs_times(s->squares, SQUARE_LIMBS, 100) != 0;
    }
}

static void add_square(MomentsWide *s, int128 value)
{
    uint128 m = value < 0 ? -(uint128)value : (uint128)value;
    uint64_t lo = (uint64_t)m, hi = (uint64_t)(m >> 64), limb[4];
    uint128 low = (uint128)lo * lo, middle = (uint128)lo * hi, high = (uint128)hi * hi;
    uint128 at1 = (low >> 64) + (uint64_t)middle + (uint64_t)middle;
    uint128 at2 = (at1 >> 64) + (middle >> 64) + (middle >> 64) + (uint64_t)high;
    limb[0] = (uint64_t)low;
    limb[1] = (uint64_t)at1;
    limb[2] = (uint64_t)at2;
    limb[3] = (uint64_t)(at2 >> 64) + (uint64_t)(high >> 64);
    add_limbs(s, limb, 4);
}

void agg_wide_moment(MomentsWide *s, Num x)
{
    if (x.kind != NUM_FINITE) {
        s->sum.special[x.kind]++;
        return;
    }
    raise_scale(s, x.scale);
    for (; x.scale < s->sum.scale; x.scale++) s->sum.overflow |= __builtin_mul_overflow(x.value, (int128)10, &x.value);
    agg_add_wide(&s->sum, x.value, s->sum.scale);
    add_square(s, x.value);
}

void agg_wide_moments_combine(MomentsWide *to, const MomentsWide *from)
{
    MomentsWide more = *from;
    raise_scale(to, more.sum.scale);
    raise_scale(&more, to->sum.scale);
    agg_combine_wide(&to->sum, &more.sum);
    add_limbs(to, more.squares, SQUARE_LIMBS);
}

int64_t agg_wide_moments_rows(const MomentsWide *s)
{
    return s->sum.n + s->sum.special[NUM_NAN] + s->sum.special[NUM_PINF] + s->sum.special[NUM_NINF];
}

/* Of at least one row, and of two for a sample. */
tcudb_status agg_wide_moments_final(const MomentsWide *s, bool sample, bool root, Num *out, Error *err)
{
    *out = (Num){.kind = NUM_NAN};
    if (agg_wide_moments_rows(s) != s->sum.n) return TCUDB_OK;
    if (s->sum.overflow) return num_overflow(err);
    bool negative = s->sum.hi < 0;
    uint64_t limb[3] = {s->sum.lo, s->sum.mid, (uint64_t)s->sum.hi};
    NumMoments m = {.scale = s->sum.scale};
    uint64_t carry = negative;
    for (int i = 0; i < 3; i++) {
        m.sum[i] = (negative ? ~limb[i] : limb[i]) + carry;
        carry = carry && m.sum[i] == 0;
    }
    memcpy(m.squares, s->squares, sizeof m.squares);
    return num_variance_wide(s->sum.n, &m, sample, root, out, err);
}
