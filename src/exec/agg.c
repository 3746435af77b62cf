/*
 * agg.c: the states of aggregate functions and how rows are added to them.
 *
 * Integers and decimals up to 18 digits: a 128-bit sum (64 bits plus carries) and a count; 2^64 rows cannot
 * overflow it. Wider decimals: 192 bits and the largest scale seen. float8: plain sums, as PostgreSQL adds
 * them within a task; variance by Youngs and Cramer's updating, merged as PostgreSQL merges parallel
 * workers. Variance of integers: exact sums of x and x^2; of wide decimals likewise (agg_wide.c). string_agg: a growing
 * text per group. SQL rules: NULL arguments are skipped; no rows give NULL (COUNT: 0); results that do not fit are
 * 22003.
 */
#include "exec/agg.h"

#include "base/hot.h"
#include "exec/agg_int.h"
#include "type/num.h"

#include <assert.h>
#include <math.h>

/* ---- specs -------------------------------------------------------------------------------------------- */

uint32_t agg_state_size(AggKind kind, Phys arg)
{
    bool exact = arg <= PHYS_I64, wide = arg == PHYS_I128 || arg == PHYS_NUM;
    if (agg_is_more(kind)) return agg_more_size(kind, arg);
    switch (kind) {
    case AGG_COUNT_STAR:
    case AGG_COUNT: return sizeof(int64_t);
    case AGG_SUM:
    case AGG_AVG:
        if (arg == PHYS_INTERVAL) return sizeof(SumInterval);
        return exact ? sizeof(SumInt) : wide ? sizeof(SumWide) : sizeof(SumFloat);
    case AGG_VAR_POP:
    case AGG_VAR_SAMP:
    case AGG_STDDEV_POP:
    case AGG_STDDEV_SAMP: return exact ? sizeof(MomentsInt) : wide ? sizeof(MomentsWide) : sizeof(Moments);
    case AGG_MIN:
    case AGG_MAX:
    case AGG_ANY: return (uint32_t)(sizeof(uint64_t) + (phys_size(arg) + 7) / 8 * 8);
    case AGG_BOOL_AND:
    case AGG_BOOL_OR: return sizeof(uint64_t);
    case AGG_STRING_AGG: return sizeof(Joined);
    default: return 0;
    }
}

bool agg_ordered(const AggSpec *spec)
{
    bool floats = spec->phys == PHYS_F32 || spec->phys == PHYS_F64;
    if (agg_is_more(spec->kind)) return agg_more_ordered(spec->kind);
    switch (spec->kind) {
    case AGG_SUM:
    case AGG_AVG:
    case AGG_VAR_POP:
    case AGG_VAR_SAMP:
    case AGG_STDDEV_POP:
    case AGG_STDDEV_SAMP: return floats;
    case AGG_STRING_AGG:
    case AGG_ANY: return true;
    case AGG_MIN:
    case AGG_MAX: return spec->phys == PHYS_NUM || spec->phys == PHYS_INTERVAL || floats;
    default: return false;
    }
}

static tcudb_status check_supported(const AggSpec *spec, Error *err)
{
    if (agg_state_size(spec->kind, (Phys)spec->phys) == 0)
        return error_unsupported(err, 0, "the aggregate %s", agg_name(spec->kind));
    return TCUDB_OK;
}

static bool is_narrow(const Exec *x, const Expr *arg)
{
    const int64_t most = INT64_MAX / BATCH_ROWS;
    ColInfo info = phys_expr_info(x->phys->info, x->phys->ninfo, arg);
    return info.has_bounds && info.min >= -most && info.max <= most;
}

tcudb_status agg_spec(Exec *x, const AggCall *call, const Layout *in, AggSpec *out, Error *err)
{
    *out = (AggSpec){.kind = call->kind, .result = call->col.type, .nargs = call->nargs};
    out->distinct = call->distinct && call->kind != AGG_MIN && call->kind != AGG_MAX && call->kind != AGG_BOOL_AND &&
                    call->kind != AGG_BOOL_OR && call->nargs > 0;
    out->arg = call->nargs > 0 ? call->args[0]->type : TYPE(TYPE_BOOL);
    out->phys = (uint8_t)type_phys(out->arg);
    for (uint32_t i = 0; i < call->nargs; i++) TRY(ev_new(x, call->args[i], in, &out->args[i], err));
    if (call->nargs > 0) out->narrow = is_narrow(x, call->args[0]);
    out->descending = call->descending;
    out->has_filter = call->filter != NULL;
    if (out->has_filter) TRY(ev_new(x, call->filter, in, &out->filter, err));
    out->size = agg_state_size(out->kind, (Phys)out->phys);
    return check_supported(out, err);
}

/* ---- update --------------------------------------------------------------------------------------------- */

typedef struct Update {
    const AggSpec *spec;
    Worker *w;
    char *base;
    size_t stride;
    const uint32_t *group;
    uint32_t ngroups;
    const uint16_t *sel;
    uint32_t n;
    const Vector *v;
} Update;

static AggStates states_of(const Update *u)
{
    return (AggStates){u->base, u->stride, u->group, u->ngroups};
}

/* Runs the body for each row that is not NULL, with `s` its state and `row` its place in the vector. */
#define EACH(State, ...)                                                                                               \
    do {                                                                                                               \
        const uint32_t step = u->v->form == VEC_CONST ? 0 : UINT32_MAX, n_ = u->n;                                     \
        const uint32_t *group_ = u->group;                                                                             \
        const uint16_t *sel_ = u->sel;                                                                                 \
        const uint64_t *valid_ = u->v->valid;                                                                          \
        char *base_ = u->base;                                                                                         \
        const size_t stride_ = u->stride;                                                                              \
        for (uint32_t i = 0; i < n_; i++) {                                                                            \
            uint32_t row = sel_row(sel_, i) & step;                                                                    \
            if (valid_ != NULL && !bit_get(valid_, row)) continue;                                                     \
            State *s = (State *)(void *)(base_ + (group_ == NULL ? 0 : group_[i] * stride_));                          \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

static void add_int(SumInt *s, int64_t x)
{
    s->lo += (uint64_t)x;
    s->hi += (x >> 63) + (s->lo < (uint64_t)x);
}

/* One group: the sum of a batch fits 64 bits if the values fit 52. */
#define SUM_ALL(name, T)                                                                                               \
    HOT static int64_t name(const T *data, const uint16_t *sel, uint32_t n)                                            \
    {                                                                                                                  \
        int64_t sum = 0;                                                                                               \
        if (sel == NULL)                                                                                               \
            for (uint32_t i = 0; i < n; i++) sum += data[i];                                                           \
        else                                                                                                           \
            for (uint32_t i = 0; i < n; i++) sum += data[sel[i]];                                                      \
        return sum;                                                                                                    \
    }
SUM_ALL(sum_all_i16, int16_t)
SUM_ALL(sum_all_i32, int32_t)
SUM_ALL(sum_all_i64, int64_t)

/* Halves of words are added apart: of a batch neither sum leaves 64 bits, and no carry is waited for. The sum is high
 * x 2^32 + low. */
HOT static void sum_halves(const int64_t *data, const uint16_t *sel, uint32_t n, int64_t *high, uint64_t *low)
{
    int64_t h = 0;
    uint64_t l = 0;
    for (uint32_t i = 0; sel == NULL && i < n; i++) {
        l += (uint32_t)data[i];
        h += data[i] >> 32;
    }
    for (uint32_t i = 0; sel != NULL && i < n; i++) {
        l += (uint32_t)data[sel[i]];
        h += data[sel[i]] >> 32;
    }
    *high = h;
    *low = l;
}

static void add_wide_words(const Update *u, SumInt *s)
{
    int64_t high;
    uint64_t low;
    sum_halves(u->v->data, u->sel, u->n, &high, &low);
    uint128 total = ((uint128)(uint64_t)s->hi << 64 | s->lo) + (uint128)((int128)high * ((int128)1 << 32) + low);
    s->lo = (uint64_t)total;
    s->hi = (int64_t)(total >> 64);
}

static bool sum_one_group(const Update *u)
{
    if (u->group != NULL || u->v->valid != NULL || u->v->form != VEC_FLAT) return false;
    SumInt *s = (SumInt *)(void *)u->base;
    switch (u->v->phys) {
    case PHYS_I16: add_int(s, sum_all_i16(u->v->data, u->sel, u->n)); break;
    case PHYS_I32: add_int(s, sum_all_i32(u->v->data, u->sel, u->n)); break;
    case PHYS_I64:
        if (u->spec->narrow)
            add_int(s, sum_all_i64(u->v->data, u->sel, u->n));
        else
            add_wide_words(u, s);
        break;
    default: return false;
    }
    s->n += u->n;
    return true;
}

#define SUM_INT(T)                                                                                                     \
    do {                                                                                                               \
        const T *data_ = u->v->data;                                                                                   \
        EACH(SumInt, add_int(s, data_[row]); s->n++;);                                                                 \
    } while (0)

static void sum_int(const Update *u)
{
    AggStates states = states_of(u);
    if (sum_one_group(u) || agg_sum_few(u->v, u->sel, u->n, &states)) return;
    switch (u->v->phys) {
    case PHYS_I16: SUM_INT(int16_t); break;
    case PHYS_I32: SUM_INT(int32_t); break;
    default: SUM_INT(int64_t); break;
    }
}

void agg_add_wide(SumWide *s, int128 value, int32_t scale)
{
    while (s->scale < scale && s->n > 0 && !s->overflow) agg_wide_times10(s);
    if (s->n == 0 && s->scale < scale) s->scale = scale;
    for (; scale < s->scale; scale++) s->overflow |= __builtin_mul_overflow(value, (int128)10, &value);
    uint128 low = ((uint128)s->mid << 64 | s->lo), sum = low + (uint128)value;
    s->lo = (uint64_t)sum;
    s->mid = (uint64_t)(sum >> 64);
    s->hi += (value < 0 ? -1 : 0) + (sum < low);
    s->n++;
}

/* One group of Nums: what has a scale of up to 38 digits and is below 2^100 is added by scale in 128 bits, which a
 * batch of 2048 fits, the others one by one. */
static bool sum_wide_one(const Update *u)
{
    enum { NUM_BITS = 100, SCALES = NUM_MAX_DIGITS + 1 };
    if (u->group != NULL || u->v->form != VEC_FLAT) return false;
    const Num *data = u->v->data;
    SumWide *s = (SumWide *)(void *)u->base;
    int128 sum[SCALES] = {0};
    uint32_t n[SCALES] = {0};
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t row = sel_row(u->sel, i);
        const Num *x = &data[row];
        if (u->v->valid != NULL && !bit_get(u->v->valid, row)) continue;
        int128 high = x->value >> NUM_BITS;
        if (x->kind == NUM_FINITE && x->scale < SCALES && (high == 0 || high == -1)) {
            sum[x->scale] += x->value;
            n[x->scale]++;
        } else if (x->kind == NUM_FINITE) {
            agg_add_wide(s, x->value, x->scale);
        } else {
            s->special[x->kind]++;
        }
    }
    for (int32_t scale = 0; scale < SCALES; scale++) {
        if (n[scale] == 0) continue;
        agg_add_wide(s, sum[scale], scale);
        s->n += n[scale] - 1;
    }
    return true;
}

static void sum_wide(const Update *u)
{
    if (u->v->phys == PHYS_NUM && sum_wide_one(u)) return;
    if (u->v->phys == PHYS_I128) {
        int32_t scale = u->spec->arg.scale;
        EACH(SumWide, agg_add_wide(s, ((const int128 *)u->v->data)[row], scale););
        return;
    }
    const Num *data = u->v->data;
    EACH(SumWide, const Num *x = &data[row]; if (x->kind == NUM_FINITE) agg_add_wide(s, x->value, x->scale);
         else s->special[x->kind]++;);
}

void agg_add_moment(Moments *s, double x)
{
    s->n += 1;
    s->sum += x;
    if (s->n > 1) {
        double d = x * s->n - s->sum;
        s->square += d * d / (s->n * (s->n - 1));
        if (isinf(x) || isnan(x)) s->square = NAN;
    } else if (isinf(x) || isnan(x)) {
        s->square = NAN;
    }
    s->inf_in |= isinf(x) != 0;
}

static void sum_float(const Update *u)
{
    if (u->v->phys == PHYS_F64)
        EACH(SumFloat, double x = ((const double *)u->v->data)[row]; s->sum += x; s->n++; s->inf_in |= isinf(x) != 0;);
    else if (u->spec->kind == AGG_AVG) /* in double precision, as PostgreSQL's */
        EACH(SumFloat, float x = ((const float *)u->v->data)[row]; s->sum += x; s->n++; s->inf_in |= isinf(x) != 0;);
    else
        EACH(SumFloat, float x = ((const float *)u->v->data)[row]; s->sum = (float)s->sum + x; s->n++;
             s->inf_in |= isinf(x) != 0;);
}

static void moments(const Update *u)
{
    if (u->v->phys == PHYS_F64)
        EACH(Moments, agg_add_moment(s, ((const double *)u->v->data)[row]););
    else
        EACH(Moments, agg_add_moment(s, ((const float *)u->v->data)[row]););
}

void agg_add_square(MomentsInt *s, uint128 square)
{
    uint128 low = (uint128)s->sq_mid << 64 | s->sq_lo, sum = low + square;
    s->sq_lo = (uint64_t)sum;
    s->sq_mid = (uint64_t)(sum >> 64);
    s->sq_hi += sum < low;
}

#define MOMENTS_INT(T)                                                                                                 \
    EACH(MomentsInt, int64_t x = ((const T *)u->v->data)[row]; add_int(&s->sum, x); s->sum.n++;                        \
         agg_add_square(s, (uint128)((int128)x * x));)

static void moments_int(const Update *u)
{
    switch (u->v->phys) {
    case PHYS_I16: MOMENTS_INT(int16_t); break;
    case PHYS_I32: MOMENTS_INT(int32_t); break;
    default: MOMENTS_INT(int64_t); break;
    }
}

static void moments_wide(const Update *u)
{
    if (u->v->phys == PHYS_I128)
        EACH(MomentsWide,
             agg_wide_moment(s, (Num){.value = ((const int128 *)u->v->data)[row], .scale = u->spec->arg.scale}););
    else
        EACH(MomentsWide, agg_wide_moment(s, ((const Num *)u->v->data)[row]););
}

static void add_interval(SumInterval *s, int64_t micros, int64_t days, int64_t months, int64_t n)
{
    s->overflow |= __builtin_add_overflow(s->micros, micros, &s->micros);
    s->days += days;
    s->months += months;
    s->n += n;
}

static void sum_interval(const Update *u)
{
    EACH(SumInterval, const Interval *x = &((const Interval *)u->v->data)[row];
         add_interval(s, x->micros, x->days, x->months, 1););
}

static void count(const Update *u)
{
    if (u->group == NULL && u->v->valid == NULL) {
        *(int64_t *)(void *)u->base += u->n;
        return;
    }
    EACH(int64_t, (*s)++;);
}

/* One group and no NULLs. */
#define EXTREME_ALL(T)                                                                                                 \
    HOT static T extreme_##T(const T *data, const uint16_t *sel, uint32_t n, T best, bool least)                       \
    {                                                                                                                  \
        for (uint32_t i = 0; sel == NULL && least && i < n; i++) best = data[i] < best ? data[i] : best;               \
        for (uint32_t i = 0; sel == NULL && !least && i < n; i++) best = data[i] > best ? data[i] : best;              \
        for (uint32_t i = 0; sel != NULL && i < n; i++) best = least == (data[sel[i]] < best) ? data[sel[i]] : best;   \
        return best;                                                                                                   \
    }
EXTREME_ALL(uint8_t)
EXTREME_ALL(int16_t)
EXTREME_ALL(int32_t)
EXTREME_ALL(int64_t)

#define EXTREME(T)                                                                                                     \
    do {                                                                                                               \
        typedef struct Best {                                                                                          \
            uint64_t has;                                                                                              \
            T value;                                                                                                   \
        } Best;                                                                                                        \
        const T *data = u->v->data;                                                                                    \
        bool all = u->group == NULL && u->v->valid == NULL && u->v->form == VEC_FLAT && u->n > 0;                      \
        if (all) {                                                                                                     \
            Best *s = (Best *)(void *)u->base;                                                                         \
            T start = s->has ? s->value : data[sel_row(u->sel, 0)];                                                    \
            s->value = extreme_##T(data, u->sel, u->n, start, u->spec->kind == AGG_MIN);                               \
            s->has = 1;                                                                                                \
        } else if (u->spec->kind == AGG_MIN)                                                                           \
            EACH(Best, T x = data[row]; if (!s->has || x < s->value) s->value = x; s->has = 1;);                       \
        else                                                                                                           \
            EACH(Best, T x = data[row]; if (!s->has || x > s->value) s->value = x; s->has = 1;);                       \
    } while (0)

/* Replaces the value of a MIN, MAX or ANY state; text moves to the worker's arena. */
static tcudb_status keep_value(const AggSpec *spec, Worker *w, char *state, const Value *value, bool persistent,
                               Error *err)
{
    uint64_t has = 1;
    memcpy(state, &has, sizeof has);
    Vector one;
    Value kept = *value;
    if (spec->phys == PHYS_STR && !persistent) TRY(exec_keep_text(w->x, &w->own, &kept.str, err));
    kept.type = spec->arg;
    TRY(vec_const(&w->batch, &kept, &one, err));
    memcpy(state + sizeof has, one.data, phys_size((Phys)spec->phys));
    return TCUDB_OK;
}

Value agg_state_value(const AggSpec *spec, const char *state)
{
    alignas(16) char copy[32]; /* states are 8-byte aligned, int128 wants 16 */
    assert(phys_size((Phys)spec->phys) <= sizeof copy);
    memcpy(copy, state + sizeof(uint64_t), phys_size((Phys)spec->phys));
    Vector v = {.type = spec->arg, .phys = spec->phys, .form = VEC_CONST, .data = copy};
    return vec_value(&v, 0);
}

static inline bool has_value(const char *state)
{
    uint64_t has;
    memcpy(&has, state, sizeof has);
    return has != 0;
}

/* Of equal values that look different (1 and 1.0, -0 and 0, 1 day and 24 hours) the last one counts. */
static bool better(const AggSpec *spec, const char *state, const Value *x)
{
    if (!has_value(state)) return true;
    if (spec->kind == AGG_ANY) return false;
    Value old = agg_state_value(spec, state);
    int order = value_compare(x, &old);
    bool looks =
        spec->phys == PHYS_NUM || spec->phys == PHYS_INTERVAL || spec->phys == PHYS_F32 || spec->phys == PHYS_F64;
    if (order == 0) return looks;
    return spec->kind == AGG_MIN ? order < 0 : order > 0;
}

/* Of two texts the smaller one, mostly by their first eight bytes. */
static inline bool text_before(Str a, Str b)
{
    if (a.len >= 8 && b.len >= 8) {
        uint64_t x, y;
        memcpy(&x, a.ptr, 8);
        memcpy(&y, b.ptr, 8);
        if (x != y) return __builtin_bswap64(x) < __builtin_bswap64(y);
    }
    return str_compare(a, b) < 0;
}

static tcudb_status extreme_text(const Update *u, Error *err)
{
    bool dict = u->v->form == VEC_DICT, persistent = dict && u->v->dict_id != 0, least = u->spec->kind == AGG_MIN;
    const Str *texts = dict ? u->v->values : u->v->data;
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t row = sel_row(u->sel, i);
        if (u->v->valid != NULL && !bit_get(u->v->valid, row)) continue;
        char *state = u->base + (u->group == NULL ? 0 : u->group[i] * u->stride);
        Str x = texts[dict ? ((const uint32_t *)u->v->data)[row] : row], old;
        memcpy(&old, state + sizeof(uint64_t), sizeof old);
        if (has_value(state) &&
            ((old.ptr == x.ptr && old.len == x.len) || !(least ? text_before(x, old) : text_before(old, x))))
            continue;
        Value value = {.type = u->spec->arg, .str = x};
        TRY(keep_value(u->spec, u->w, state, &value, persistent, err));
    }
    return TCUDB_OK;
}

static tcudb_status extreme_any_type(const Update *u, Error *err)
{
    bool persistent = u->v->form == VEC_DICT && u->v->dict_id != 0;
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t row = sel_row(u->sel, i);
        if (vec_is_null(u->v, row)) continue;
        char *state = u->base + (u->group == NULL ? 0 : u->group[i] * u->stride);
        if (u->spec->kind == AGG_ANY && has_value(state)) continue;
        Value x = vec_value(u->v, row);
        x.type = u->spec->arg;
        if (better(u->spec, state, &x)) TRY(keep_value(u->spec, u->w, state, &x, persistent, err));
    }
    return TCUDB_OK;
}

/* See better. */
static void extreme_num(const Update *u)
{
    bool least = u->spec->kind == AGG_MIN;
    const Num *data = u->v->data;
    typedef struct Best {
        uint64_t has, words[sizeof(Num) / sizeof(uint64_t)];
    } Best;
    EACH(Best, Num old; memcpy(&old, s->words, sizeof old); const Num *x = &data[row];
         bool alike = s->has && x->scale == old.scale && x->kind == NUM_FINITE && old.kind == NUM_FINITE;
         int order = alike    ? (x->value > old.value) - (x->value < old.value)
                     : s->has ? num_compare(*x, old)
                              : 0;
         if (least ? order <= 0 : order >= 0) memcpy(s->words, x, sizeof old); s->has = 1;);
}

static void extreme_wide(const Update *u)
{
    bool least = u->spec->kind == AGG_MIN;
    const int128 *data = u->v->data;
    typedef struct Best {
        uint64_t has, low;
        int64_t high;
    } Best;
    EACH(Best, int128 x = data[row]; int128 old = (int128)((uint128)(uint64_t)s->high << 64 | s->low);
         if (!s->has || (least ? x < old : x > old)) s->low = (uint64_t)x, s->high = (int64_t)(x >> 64); s->has = 1;);
}

/* NaN is above all numbers. See better. */
static void extreme_float(const Update *u)
{
    bool least = u->spec->kind == AGG_MIN;
    const double *data = u->v->data;
    typedef struct Best {
        uint64_t has;
        double value;
    } Best;
    if (least)
        EACH(Best, double x = data[row]; if (!s->has || x <= s->value || isnan(s->value)) s->value = x; s->has = 1;);
    else
        EACH(Best, double x = data[row]; if (!s->has || x >= s->value || isnan(x)) s->value = x; s->has = 1;);
}

static tcudb_status extreme(const Update *u, Error *err)
{
    if (u->spec->kind == AGG_ANY) return extreme_any_type(u, err);
    switch (u->v->phys) {
    case PHYS_BOOL: EXTREME(uint8_t); return TCUDB_OK;
    case PHYS_I16: EXTREME(int16_t); return TCUDB_OK;
    case PHYS_I32: EXTREME(int32_t); return TCUDB_OK;
    case PHYS_I64: EXTREME(int64_t); return TCUDB_OK;
    case PHYS_I128: extreme_wide(u); return TCUDB_OK;
    case PHYS_NUM: extreme_num(u); return TCUDB_OK;
    case PHYS_F64: extreme_float(u); return TCUDB_OK;
    case PHYS_STR:
        if (u->v->form != VEC_CONST && !type_keeps_blanks(u->spec->arg)) return extreme_text(u, err);
        return extreme_any_type(u, err);
    default: return extreme_any_type(u, err);
    }
}

/* Bit 0: a row was there; bit 1: the value. */
static void logical(const Update *u)
{
    const uint8_t *data = u->v->data;
    if (u->spec->kind == AGG_BOOL_AND)
        EACH(uint64_t, uint64_t x = data[row] != 0; *s = 1 | ((*s == 0 || *s == 3) && x ? 2 : 0););
    else
        EACH(uint64_t, uint64_t x = data[row] != 0; *s = *s | 1 | x << 1;);
}

static tcudb_status append_text(Worker *w, Joined *s, Str text, Error *err)
{
    uint64_t wanted = (uint64_t)s->len + text.len;
    if (wanted > (UINT32_C(1) << 30))
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "string_agg result is too long");
    if (wanted > s->cap) {
        uint32_t cap = s->cap == 0 ? 32 : s->cap * 2;
        while (cap < wanted) cap *= 2;
        char *grown = arena_alloc_raw(&w->own, cap, err);
        TRY_PTR(grown);
        if (s->len > 0) memcpy(grown, s->text, s->len);
        s->text = grown;
        s->cap = cap;
    }
    if (text.len > 0) memcpy(s->text + s->len, text.ptr, text.len);
    s->len += text.len;
    return TCUDB_OK;
}

static Str text_at(const Vector *v, uint32_t row)
{
    uint32_t at = v->form == VEC_CONST ? 0 : row;
    if (v->form == VEC_DICT) return v->values[((const uint32_t *)v->data)[at]];
    return ((const Str *)v->data)[at];
}

/* Every element is stored behind its delimiter; the first delimiter is cut off at the end. */
static tcudb_status join_text(const Update *u, const Vector *delimiter, Error *err)
{
    for (uint32_t i = 0; i < u->n; i++) {
        uint32_t row = sel_row(u->sel, i);
        if (vec_is_null(u->v, row)) continue;
        Joined *s = (Joined *)(void *)(u->base + (u->group == NULL ? 0 : u->group[i] * u->stride));
        Str between = {"", 0};
        if (delimiter != NULL && !vec_is_null(delimiter, row)) between = text_at(delimiter, row);
        if (!s->has) s->skip = between.len;
        s->has = true;
        TRY(append_text(u->w, s, between, err));
        TRY(append_text(u->w, s, text_at(u->v, row), err));
    }
    return TCUDB_OK;
}

static void count_rows(const Update *u)
{
    if (u->group == NULL) {
        *(int64_t *)(void *)u->base += u->n;
        return;
    }
    AggStates states = states_of(u);
    if (agg_count_few(u->n, &states)) return;
    for (uint32_t i = 0; i < u->n; i++) (*(int64_t *)(void *)(u->base + u->group[i] * u->stride))++;
}

tcudb_status agg_update(const AggSpec *spec, Worker *w, const AggStates *states, const Vector *args,
                        const uint16_t *sel, uint32_t n, Error *err)
{
    if (agg_is_more(spec->kind)) return agg_more_update(spec, w, states, args, sel, n, err);
    Update update = {spec, w,   states->base + spec->offset, states->stride, states->group, states->ngroups, sel,
                     n,    args};
    const Update *u = &update;
    bool exact = spec->phys <= PHYS_I64;
    if (spec->kind == AGG_COUNT_STAR) {
        count_rows(u);
        return TCUDB_OK;
    }
    bool all_null = args[0].form == VEC_CONST && args[0].valid != NULL && !bit_get(args[0].valid, 0);
    if (all_null) return TCUDB_OK;
    switch (spec->kind) {
    case AGG_COUNT: count(u); break;
    case AGG_SUM:
    case AGG_AVG:
        if (exact)
            sum_int(u);
        else if (spec->phys == PHYS_I128 || spec->phys == PHYS_NUM)
            sum_wide(u);
        else if (spec->phys == PHYS_INTERVAL)
            sum_interval(u);
        else
            sum_float(u);
        break;
    case AGG_MIN:
    case AGG_MAX:
    case AGG_ANY: return extreme(u, err);
    case AGG_BOOL_AND:
    case AGG_BOOL_OR: logical(u); break;
    case AGG_STRING_AGG: return join_text(u, spec->nargs > 1 ? &args[1] : NULL, err);
    default:
        if (exact)
            moments_int(u);
        else if (spec->phys == PHYS_I128 || spec->phys == PHYS_NUM)
            moments_wide(u);
        else
            moments(u);
    }
    return TCUDB_OK;
}

/* ---- combine -------------------------------------------------------------------------------------------- */

static void combine_int(SumInt *a, const SumInt *b)
{
    uint128 sum = ((uint128)(uint64_t)a->hi << 64 | a->lo) + ((uint128)(uint64_t)b->hi << 64 | b->lo);
    a->lo = (uint64_t)sum;
    a->hi = (int64_t)(sum >> 64);
    a->n += b->n;
}

void agg_combine_wide(SumWide *a, const SumWide *from)
{
    SumWide b = *from;
    for (int i = 0; i < 4; i++) a->special[i] += b.special[i];
    if (b.n == 0) return;
    if (a->n == 0) a->scale = b.scale;
    while (a->scale < b.scale && !a->overflow) agg_wide_times10(a);
    while (b.scale < a->scale && !b.overflow) agg_wide_times10(&b);
    uint128 low = (uint128)a->mid << 64 | a->lo, sum = low + ((uint128)b.mid << 64 | b.lo);
    a->lo = (uint64_t)sum;
    a->mid = (uint64_t)(sum >> 64);
    a->hi += b.hi + (sum < low);
    a->n += b.n;
    a->overflow |= b.overflow;
}

static void combine_moments(Moments *a, const Moments *b)
{
    if (b->n == 0) return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    double n = a->n + b->n, d = a->sum / a->n - b->sum / b->n;
    a->square = a->square + b->square + a->n * b->n * d * d / n;
    a->sum += b->sum;
    a->n = n;
    a->inf_in |= b->inf_in;
}

static tcudb_status combine_joined(Worker *w, Joined *a, const Joined *b, Error *err)
{
    if (!b->has) return TCUDB_OK;
    if (!a->has) {
        *a = *b;
        return TCUDB_OK;
    }
    return append_text(w, a, (Str){b->text, b->len}, err);
}

static tcudb_status combine_sums(const AggSpec *spec, char *to, const char *from)
{
    if (spec->phys <= PHYS_I64) {
        combine_int((SumInt *)(void *)to, (const SumInt *)(const void *)from);
    } else if (spec->phys == PHYS_I128 || spec->phys == PHYS_NUM) {
        agg_combine_wide((SumWide *)(void *)to, (const SumWide *)(const void *)from);
    } else if (spec->phys == PHYS_INTERVAL) {
        const SumInterval *b = (const SumInterval *)(const void *)from;
        SumInterval *a = (SumInterval *)(void *)to;
        add_interval(a, b->micros, b->days, b->months, b->n);
        a->overflow |= b->overflow;
    } else {
        SumFloat *a = (SumFloat *)(void *)to;
        const SumFloat *b = (const SumFloat *)(const void *)from;
        bool single = spec->phys == PHYS_F32 && spec->kind == AGG_SUM;
        a->sum = single ? (float)a->sum + (float)b->sum : a->sum + b->sum;
        a->n += b->n;
        a->inf_in |= b->inf_in;
    }
    return TCUDB_OK;
}

tcudb_status agg_combine(const AggSpec *spec, Worker *w, char *to, const char *from, Error *err)
{
    uint64_t a, b;
    if (agg_is_more(spec->kind)) {
        agg_more_combine(spec, to, from);
        return TCUDB_OK;
    }
    switch (spec->kind) {
    case AGG_COUNT_STAR:
    case AGG_COUNT: *(int64_t *)(void *)to += *(const int64_t *)(const void *)from; return TCUDB_OK;
    case AGG_SUM:
    case AGG_AVG: return combine_sums(spec, to, from);
    case AGG_MIN:
    case AGG_MAX:
    case AGG_ANY: {
        memcpy(&b, from, sizeof b);
        if (!b) return TCUDB_OK;
        Value x = agg_state_value(spec, from);
        if (better(spec, to, &x)) memcpy(to, from, spec->size);
        return TCUDB_OK;
    }
    case AGG_BOOL_AND:
    case AGG_BOOL_OR:
        memcpy(&a, to, sizeof a);
        memcpy(&b, from, sizeof b);
        if (a == 0 || b == 0)
            a |= b;
        else
            a = spec->kind == AGG_BOOL_AND ? a & b : a | b;
        memcpy(to, &a, sizeof a);
        return TCUDB_OK;
    case AGG_STRING_AGG: return combine_joined(w, (Joined *)(void *)to, (const Joined *)(const void *)from, err);
    default: break;
    }
    if (spec->phys == PHYS_I128 || spec->phys == PHYS_NUM) {
        agg_wide_moments_combine((MomentsWide *)(void *)to, (const MomentsWide *)(const void *)from);
        return TCUDB_OK;
    }
    if (spec->phys > PHYS_I64) {
        combine_moments((Moments *)(void *)to, (const Moments *)(const void *)from);
        return TCUDB_OK;
    }
    MomentsInt *m = (MomentsInt *)(void *)to;
    const MomentsInt *k = (const MomentsInt *)(const void *)from;
    combine_int(&m->sum, &k->sum);
    agg_add_square(m, (uint128)k->sq_mid << 64 | k->sq_lo);
    m->sq_hi += k->sq_hi;
    return TCUDB_OK;
}
