/*
 * agg_sets.c: aggregates over ordered sets: percentile_cont, percentile_disc, mode.
 *
 * A group keeps its values in chunks that double, so that merging two states links lists and copies nothing. Numbers,
 * dates and booleans are kept as 64-bit keys in their order (a double's bits, the negative ones inverted), everything
 * else as Values. A percentile is selected, not sorted for:
 *
 *     keys of 0..1000, rank 437 -> histogram of their highest differing bits -> the bucket of rank 437 -> again
 *
 * Each round reads what is left twice and leaves one of 2048 buckets; the smallest key above the buckets taken is
 * remembered, since percentile_cont also wants the next rank. Values are partitioned around a pivot. mode sorts: keys
 * by radix, Values by the same partitions.
 *
 * Cost: three passes over the values. Memory: 8 bytes a key (48 a Value), twice at the end. Every pass looks at the
 * cancel flag each 65,536 values.
 */
#include "exec/agg_int.h"

#include <assert.h>
#include <math.h>

enum { FIRST_CHUNK = 8, LAST_CHUNK = 1 << 16, SMALL = 48, DIGIT = 11, BUCKETS = 1 << DIGIT, POLL = 1 << 16 };

typedef struct Chunk {
    struct Chunk *next;
    uint32_t n, cap;
} Chunk; /* its values follow */

typedef struct Kept {
    Chunk *first, *last;
    uint64_t n;
    double fraction;
    uint32_t has_fraction, null_fraction;
} Kept;

uint32_t agg_sets_size(void)
{
    return sizeof(Kept);
}

static bool as_keys(const AggSpec *spec)
{
    return spec->phys <= PHYS_I64 || spec->phys == PHYS_F32 || spec->phys == PHYS_F64;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static uint64_t key_of_integer(int64_t x)
{
    return (uint64_t)x ^ (UINT64_C(1) << 63);
}

static uint64_t key_of_double(double x)
{
    uint64_t bits;
    if (isnan(x)) x = NAN; /* above everything, whatever its sign */
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) bits &= ~(UINT64_C(1) << 63);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double double_of_key(uint64_t key)
{
    double x;
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t key_at(const Vector *v, uint32_t row)
{
    uint32_t at = v->form == VEC_CONST ? 0 : row;
    switch (v->phys) {
    case PHYS_BOOL: return key_of_integer(((const uint8_t *)v->data)[at] != 0);
    case PHYS_I16: return key_of_integer(((const int16_t *)v->data)[at]);
    case PHYS_I32: return key_of_integer(((const int32_t *)v->data)[at]);
    case PHYS_F32: return key_of_double(((const float *)v->data)[at]);
    case PHYS_F64: return key_of_double(((const double *)v->data)[at]);
    default: return key_of_integer(((const int64_t *)v->data)[at]);
    }
}

static void value_of_key(const AggSpec *spec, uint64_t key, Value *out)
{
    int64_t integer = (int64_t)(key ^ (UINT64_C(1) << 63));
    switch (spec->phys) {
    case PHYS_BOOL: out->b = integer != 0; return;
    case PHYS_I16: out->i16 = (int16_t)integer; return;
    case PHYS_I32: out->i32 = (int32_t)integer; return;
    case PHYS_F32: out->f32 = (float)double_of_key(key); return;
    case PHYS_F64: out->f64 = double_of_key(key); return;
    default: out->i64 = integer;
    }
}

/* ---- rows in ------------------------------------------------------------------------------------------- */

static size_t element_size(const AggSpec *spec)
{
    return as_keys(spec) ? sizeof(uint64_t) : sizeof(Value);
}

static void *elements(Chunk *chunk)
{
    return (char *)chunk + ((sizeof *chunk + alignof(Value) - 1) & ~(alignof(Value) - 1));
}

static tcudb_status add_chunk(const AggSpec *spec, Kept *s, Worker *w, Error *err)
{
    uint32_t cap = s->last == NULL ? FIRST_CHUNK : s->last->cap < LAST_CHUNK ? 2 * s->last->cap : LAST_CHUNK;
    Chunk *chunk = arena_alloc_raw(&w->own, sizeof *chunk + alignof(Value) + cap * element_size(spec), err);
    TRY_PTR(chunk);
    *chunk = (Chunk){.cap = cap};
    if (s->last == NULL)
        s->first = chunk;
    else
        s->last->next = chunk;
    s->last = chunk;
    return TCUDB_OK;
}

static tcudb_status keep_value(Value *to, const Vector *v, uint32_t row, Worker *w, Error *err)
{
    *to = vec_value(v, row);
    if (v->phys != PHYS_STR || (v->form == VEC_DICT && v->dict_id != 0)) return TCUDB_OK;
    return exec_keep_text(w->x, &w->own, &to->str, err);
}

static tcudb_status keep(const AggSpec *spec, Kept *s, Worker *w, const Vector *v, uint32_t row, Error *err)
{
    if (s->last == NULL || s->last->n == s->last->cap) TRY(add_chunk(spec, s, w, err));
    uint32_t at = s->last->n;
    if (as_keys(spec)) {
        ((uint64_t *)elements(s->last))[at] = key_at(v, row);
    } else {
        Value *to = (Value *)elements(s->last) + at;
        TRY(keep_value(to, v, row, w, err));
        to->type = spec->arg;
    }
    s->last->n++;
    s->n++;
    return TCUDB_OK;
}

static void keep_fraction(Kept *s, const Vector *fraction, uint32_t row)
{
    s->has_fraction = 1;
    s->null_fraction = vec_is_null(fraction, row);
    if (!s->null_fraction) s->fraction = ((const double *)fraction->data)[fraction->form == VEC_CONST ? 0 : row];
}

tcudb_status agg_sets_update(const AggSpec *spec, Worker *w, const AggStates *states, const Vector *args,
                             const uint16_t *sel, uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel_row(sel, i);
        size_t group = states->group == NULL ? 0 : states->group[i];
        Kept *s = (Kept *)(void *)(states->base + spec->offset + group * states->stride);
        if (spec->nargs > 1 && !s->has_fraction) keep_fraction(s, &args[1], row);
        if (!vec_is_null(&args[0], row)) TRY(keep(spec, s, w, &args[0], row, err));
    }
    return TCUDB_OK;
}

void agg_sets_combine(char *to, const char *from)
{
    Kept *a = (Kept *)(void *)to;
    const Kept *b = (const Kept *)(const void *)from;
    if (a->n == 0 && (b->n > 0 || !a->has_fraction)) {
        *a = *b;
    } else if (b->n > 0) {
        a->last->next = b->first;
        a->last = b->last;
        a->n += b->n;
    }
}

/* All values of a state in one array of the worker's batch arena. */
static tcudb_status gather(const AggSpec *spec, const Kept *s, Worker *w, void **out, Error *err)
{
    size_t size = element_size(spec);
    char *to = arena_alloc_raw(worker_arena(w), s->n * size, err);
    TRY_PTR(to);
    *out = to;
    for (Chunk *chunk = s->first; chunk != NULL; chunk = chunk->next) {
        memcpy(to, elements(chunk), chunk->n * size);
        to += chunk->n * size;
        TRY(exec_check_cancel(w->x, err));
    }
    return TCUDB_OK;
}

/* ---- selection of keys --------------------------------------------------------------------------------- */

static void sort_small(uint64_t *keys, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t key = keys[i], at = i;
        for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Of the bits in which the keys differ the highest DIGIT: how far to shift. -1: all are equal. */
static tcudb_status digit_of(const Worker *w, const uint64_t *keys, uint64_t n, int *shift, Error *err)
{
    uint64_t differ = 0;
    for (uint64_t at = 0; at < n; at += POLL) {
        uint64_t end = at + POLL < n ? at + POLL : n;
        for (uint64_t i = at; i < end; i++) differ |= keys[i] ^ keys[0];
        TRY(exec_check_cancel(w->x, err));
    }
    *shift = differ == 0 ? -1 : 64 - __builtin_clzll(differ) - DIGIT;
    if (differ != 0 && *shift < 0) *shift = 0;
    return TCUDB_OK;
}

static tcudb_status count_digits(const Worker *w, const uint64_t *keys, uint64_t n, int shift, uint64_t *counts,
                                 Error *err)
{
    memset(counts, 0, BUCKETS * sizeof *counts);
    for (uint64_t at = 0; at < n; at += POLL) {
        uint64_t end = at + POLL < n ? at + POLL : n;
        for (uint64_t i = at; i < end; i++) counts[keys[i] >> shift & (BUCKETS - 1)]++;
        TRY(exec_check_cancel(w->x, err));
    }
    return TCUDB_OK;
}

/* Keeps the keys of a bucket in front; *above: the smallest key beyond it, if smaller than what it was. */
static tcudb_status keep_bucket(const Worker *w, uint64_t *keys, uint64_t *n, int shift, uint64_t bucket,
                                uint64_t *above, Error *err)
{
    uint64_t kept = 0, least = *above;
    for (uint64_t at = 0; at < *n; at += POLL) {
        uint64_t end = at + POLL < *n ? at + POLL : *n;
        for (uint64_t i = at; i < end; i++) {
            uint64_t key = keys[i], digit = key >> shift & (BUCKETS - 1);
            keys[kept] = key;
            kept += digit == bucket;
            least = digit > bucket && key < least ? key : least;
        }
        TRY(exec_check_cancel(w->x, err));
    }
    *n = kept;
    *above = least;
    return TCUDB_OK;
}

/* The keys of a rank (from 0) and of the next (UINT64_MAX: none). The array is used up. */
static tcudb_status select_key(Worker *w, uint64_t *keys, uint64_t n, uint64_t rank, uint64_t out[2], Error *err)
{
    uint64_t *counts = arena_alloc_raw(worker_arena(w), BUCKETS * sizeof *counts, err);
    TRY_PTR(counts);
    out[1] = UINT64_MAX;
    while (n > SMALL) {
        int shift;
        TRY(digit_of(w, keys, n, &shift, err));
        if (shift < 0) break;
        TRY(count_digits(w, keys, n, shift, counts, err));
        uint64_t bucket = 0;
        for (; rank >= counts[bucket]; bucket++) rank -= counts[bucket];
        TRY(keep_bucket(w, keys, &n, shift, bucket, &out[1], err));
    }
    if (n <= SMALL) sort_small(keys, n);
    out[0] = keys[rank];
    if (rank + 1 < n) out[1] = keys[rank + 1];
    return TCUDB_OK;
}

/* ---- sorting keys -------------------------------------------------------------------------------------- */

/* A stable pass of a radix sort: from -> to by eight bits. */
static tcudb_status radix_pass(const Worker *w, const uint64_t *from, uint64_t *to, uint64_t n, int shift, Error *err)
{
    uint64_t counts[256] = {0}, at = 0;
    for (uint64_t i = 0; i < n; i++) counts[from[i] >> shift & 255]++;
    for (int d = 0; d < 256; d++) {
        uint64_t count = counts[d];
        counts[d] = at;
        at += count;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (i % POLL == 0) TRY(exec_check_cancel(w->x, err));
        to[counts[from[i] >> shift & 255]++] = from[i];
    }
    return TCUDB_OK;
}

static tcudb_status sort_keys(Worker *w, uint64_t **keys, uint64_t n, Error *err)
{
    int high = 0;
    if (n <= SMALL) {
        sort_small(*keys, n);
        return TCUDB_OK;
    }
    uint64_t *other = arena_alloc_raw(worker_arena(w), n * sizeof *other, err);
    TRY_PTR(other);
    TRY(digit_of(w, *keys, n, &high, err));
    for (int shift = 0; high >= 0 && shift < high + DIGIT; shift += 8) {
        TRY(radix_pass(w, *keys, other, n, shift, err));
        uint64_t *swap = *keys;
        *keys = other;
        other = swap;
    }
    return TCUDB_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

static void swap_values(Value *a, Value *b)
{
    Value swap = *a;
    *a = *b;
    *b = swap;
}

/* values[0..*low) below the pivot, [*low..*high) equal to it, the rest above. */
static tcudb_status partition(const Worker *w, Value *values, uint64_t n, uint64_t *low, uint64_t *high, Error *err)
{
    Value pivot = values[n / 2];
    uint64_t below = 0, above = n;
    for (uint64_t i = 0; i < above;) {
        if ((i & 0xfff) == 0) TRY(exec_check_cancel(w->x, err));
        int order = value_compare(&values[i], &pivot);
        if (order < 0)
            swap_values(&values[below++], &values[i++]);
        else if (order > 0)
            swap_values(&values[i], &values[--above]);
        else
            i++;
    }
    *low = below;
    *high = above;
    return TCUDB_OK;
}

static tcudb_status select_value(const Worker *w, Value *values, uint64_t n, uint64_t rank, Value *out, Error *err)
{
    for (;;) {
        uint64_t low, high;
        TRY(partition(w, values, n, &low, &high, err));
        if (rank < low) {
            n = low;
        } else if (rank < high) {
            *out = values[rank];
            return TCUDB_OK;
        } else {
            values += high;
            n -= high;
            rank -= high;
        }
    }
}

/* Recursion takes the smaller part: its depth is at most log2(n). */
static tcudb_status sort_values(const Worker *w, Value *values, uint64_t n, Error *err)
{
    while (n > 1) {
        uint64_t low, high;
        TRY(partition(w, values, n, &low, &high, err));
        if (low < n - high) {
            TRY(sort_values(w, values, low, err));
            values += high;
            n -= high;
        } else {
            TRY(sort_values(w, values + high, n - high, err));
            n = low;
        }
    }
    return TCUDB_OK;
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* Positive and negative zero are one value with two keys. */
static bool keys_equal(const AggSpec *spec, uint64_t a, uint64_t b)
{
    if (a == b) return true;
    bool floats = spec->phys == PHYS_F32 || spec->phys == PHYS_F64;
    return floats && double_of_key(a) == 0 && double_of_key(b) == 0;
}

static bool equal_at(const AggSpec *spec, const void *sorted, uint64_t a, uint64_t b)
{
    if (as_keys(spec)) return keys_equal(spec, ((const uint64_t *)sorted)[a], ((const uint64_t *)sorted)[b]);
    return value_compare((const Value *)sorted + a, (const Value *)sorted + b) == 0;
}

/* Where the value that occurs most often begins, of several the first in the order asked for. */
static tcudb_status most_frequent(const AggSpec *spec, const Worker *w, const void *sorted, uint64_t n, uint64_t *out,
                                  Error *err)
{
    uint64_t most = 0, start = 0;
    for (uint64_t i = 1; i <= n; i++) {
        if (i % POLL == 0) TRY(exec_check_cancel(w->x, err));
        if (i < n && equal_at(spec, sorted, i, start)) continue;
        if (i - start > most || (i - start == most && spec->descending)) {
            most = i - start;
            *out = start;
        }
        start = i;
    }
    return TCUDB_OK;
}

static tcudb_status mode_value(const AggSpec *spec, Worker *w, void *values, uint64_t n, Value *out, Error *err)
{
    uint64_t at = 0;
    if (as_keys(spec)) {
        uint64_t *keys = values;
        TRY(sort_keys(w, &keys, n, err));
        TRY(most_frequent(spec, w, keys, n, &at, err));
        value_of_key(spec, keys[at], out);
        return TCUDB_OK;
    }
    TRY(sort_values(w, values, n, err));
    TRY(most_frequent(spec, w, values, n, &at, err));
    *out = ((const Value *)values)[at];
    return TCUDB_OK;
}

/* Smallest key and the distance to the largest. */
static tcudb_status range_of(const Kept *s, const Worker *w, uint64_t *low, uint64_t *range, Error *err)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (Chunk *chunk = s->first; chunk != NULL; chunk = chunk->next) {
        const uint64_t *keys = elements(chunk);
        for (uint32_t i = 0; i < chunk->n; i++) {
            least = keys[i] < least ? keys[i] : least;
            most = keys[i] > most ? keys[i] : most;
        }
        TRY(exec_check_cancel(w->x, err));
    }
    *low = least;
    *range = most - least;
    return TCUDB_OK;
}

/* The most frequent key counted in an array, the first one in the order of those; *done false: there are too many. */
static tcudb_status count_keys(const AggSpec *spec, const Kept *s, Worker *w, uint64_t *key, bool *done, Error *err)
{
    enum { COUNTS_MOST = 1 << 16 };
    uint64_t low, range, best = 0;
    TRY(range_of(s, w, &low, &range, err));
    *done = range < COUNTS_MOST && range < s->n;
    if (!*done) return TCUDB_OK;
    uint64_t *count = ARENA_ARRAY(worker_arena(w), uint64_t, range + 1, err);
    TRY_PTR(count);
    for (Chunk *chunk = s->first; chunk != NULL; chunk = chunk->next) {
        const uint64_t *keys = elements(chunk);
        for (uint32_t i = 0; i < chunk->n; i++) count[keys[i] - low]++;
        TRY(exec_check_cancel(w->x, err));
    }
    for (uint64_t i = 1; i <= range; i++)
        if (spec->descending ? count[i] >= count[best] : count[i] > count[best]) best = i;
    *key = low + best;
    return TCUDB_OK;
}

static tcudb_status mode_of(const AggSpec *spec, const Kept *s, Worker *w, Value *out, Error *err)
{
    void *values = NULL;
    uint64_t key = 0;
    bool counted = false;
    if (spec->phys <= PHYS_I64) TRY(count_keys(spec, s, w, &key, &counted, err)); /* of doubles 0 and -0 are one */
    if (counted) {
        value_of_key(spec, key, out);
        return TCUDB_OK;
    }
    TRY(gather(spec, s, w, &values, err));
    return mode_value(spec, w, values, s->n, out, err);
}

/* Between the ranks low and low + 1 of the order asked for. */
static tcudb_status continuous(const AggSpec *spec, Worker *w, uint64_t *keys, const Kept *s, Value *out, Error *err)
{
    double at = s->fraction * (double)(s->n - 1);
    uint64_t low = (uint64_t)floor(at), high = (uint64_t)ceil(at), found[2];
    uint64_t rank = spec->descending ? s->n - 1 - high : low;
    TRY(select_key(w, keys, s->n, rank, found, err));
    double first = double_of_key(found[0]), second = high == low ? first : double_of_key(found[1]);
    if (spec->descending) {
        double swap = first;
        first = second;
        second = swap;
    }
    out->f64 = high == low ? first : first + (at - (double)low) * (second - first);
    return TCUDB_OK;
}

static tcudb_status discrete(const AggSpec *spec, Worker *w, void *values, const Kept *s, Value *out, Error *err)
{
    uint64_t at = (uint64_t)ceil(s->fraction * (double)s->n), found[2];
    if (at > 0) at--;
    if (spec->descending) at = s->n - 1 - at;
    if (!as_keys(spec)) return select_value(w, values, s->n, at, out, err);
    TRY(select_key(w, values, s->n, at, found, err));
    value_of_key(spec, found[0], out);
    return TCUDB_OK;
}

/* A fraction is wrong even where there are no rows. */
static tcudb_status check_fraction(const AggSpec *spec, const Kept *s, Error *err)
{
    double fraction = s->fraction;
    bool known = s->has_fraction && !s->null_fraction;
    if (!s->has_fraction && spec->nargs > 1 && spec->args[1].expr->kind == EXPR_CONST) {
        known = !spec->args[1].expr->value.null;
        fraction = spec->args[1].expr->value.f64;
    }
    if (!known || (fraction >= 0 && fraction <= 1)) return TCUDB_OK;
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "percentile value %g is not between 0 and 1", fraction);
}

tcudb_status agg_sets_final(const AggSpec *spec, Worker *w, const char *state, Value *out, bool *null, Error *err)
{
    const Kept *s = (const Kept *)(const void *)state;
    void *values = NULL;
    TRY(check_fraction(spec, s, err));
    *null = s->n == 0 || (s->has_fraction && s->null_fraction);
    if (*null) return TCUDB_OK;
    if (spec->kind == AGG_MODE) return mode_of(spec, s, w, out, err);
    TRY(gather(spec, s, w, &values, err));
    if (spec->kind == AGG_PERCENTILE_CONT) return continuous(spec, w, values, s, out, err);
    return discrete(spec, w, values, s, out, err);
}
