/*
 * sort_keys.c: the keys of a sort packed into one word a row.
 *
 * Every value becomes a word that orders like it. The words of a column, less their minimum, take as many bits as its
 * values need; the codes of the leading columns are packed side by side into 64 bits while they fit. So ORDER BY over a
 * few integers, dates or dictionary texts is decided by one integer comparison:
 *
 *     partition by order (22 bits), order by line (3 bits)  ->  a key of 25 bits
 *
 * A column that fits in part, long text beyond its first eight bytes (after those that all values share) and the
 * columns after it are left to sort_compare. numerics of any scale are exact while all have six decimals at most. Texts
 * of a dictionary that is small beside the rows are ranked first: then their codes are exact. NULL has a code of its
 * own, below or above all others.
 */
#include "exec/sort_int.h"
#include "type/num.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { RANK_MAX = 65536, RANK_SHARE = 4 };

/* ---- words ------------------------------------------------------------------------------------------------ */

static uint64_t float_word(double v)
{
    uint64_t u;
    if (v != v) return UINT64_MAX;
    if (v == 0) v = 0;
    memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static uint64_t text_word(Str text, uint32_t skip)
{
    return text.len > skip ? str_head((Str){text.ptr + skip, text.len - skip}) : 0;
}

static Str text_of(const RowsCol *col, uint64_t row)
{
    Str text = col->dict ? col->view.values[((const uint32_t *)col->data)[row]] : ((const Str *)col->data)[row];
    return type_keeps_blanks(col->type) ? str_without_blanks(text) : text;
}

/* Saturating: what is cut off is compared by value. */
static uint64_t int128_word(int128 v)
{
    int64_t word = v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
    return (uint64_t)word ^ UINT64_C(1) << 63;
}

static int128 floor_div(int128 a, int128 b)
{
    return a / b - (a % b < 0);
}

enum { FRACTION_BITS = 20, EXACT_SCALE = 6 };

/* Of so few digits that equal words mean equal values: 2^20 steps hold six decimals, and nothing saturates. */
static bool num_is_short(const Num *num)
{
    const int128 limit = (int128)1 << (62 - FRACTION_BITS);
    return num->kind == NUM_FINITE && num->scale <= EXACT_SCALE && num->value < limit && num->value > -limit;
}

static uint64_t short_num_word(const Num *num)
{
    static const int64_t units[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    static_assert(sizeof units / sizeof units[0] == EXACT_SCALE + 1, "a unit a scale");
    int64_t unit = units[num->scale], value = (int64_t)num->value;
    int64_t whole = value / unit - (value % unit < 0);
    int64_t fraction = ((value - whole * unit) << FRACTION_BITS) / unit;
    return (uint64_t)(whole * (1 << FRACTION_BITS) + fraction) ^ UINT64_C(1) << 63;
}

/* Of any scale: floor(v x 2^20), saturating; digits after the 30th decimal are cut off first. */
static uint64_t num_word(const Num *num)
{
    enum { MAX_SCALE = 30 };
    if (num_is_short(num)) return short_num_word(num);
    if (num->kind != NUM_FINITE) return num->kind == NUM_NINF ? 0 : UINT64_MAX;
    int scale = num->scale > MAX_SCALE ? MAX_SCALE : num->scale;
    int128 unit = num_pow10(scale), value = floor_div(num->value, num_pow10(num->scale - scale));
    int128 whole = floor_div(value, unit), fraction = ((value - whole * unit) << FRACTION_BITS) / unit;
    const int128 limit = (int128)1 << (62 - FRACTION_BITS);
    if (whole >= limit) return int128_word((int128)1 << 62);
    if (whole < -limit) return int128_word(-((int128)1 << 62));
    return int128_word(whole * (1 << FRACTION_BITS) + fraction);
}

#define WORDS(T, ...)                                                                                                  \
    do {                                                                                                               \
        const T *data = (const T *)col->data + from;                                                                   \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            const T *v = &data[sel_row(sel, i)];                                                                       \
            out[i] = __VA_ARGS__;                                                                                      \
        }                                                                                                              \
    } while (0)

/* Values whose bits mean something even where the row is NULL. */
static bool plain_words(const SortColumn *c, uint64_t from, const uint16_t *sel, uint32_t n, uint64_t *out)
{
    const uint64_t sign = UINT64_C(1) << 63;
    const RowsCol *col = c->col;
    if (c->rank != NULL) {
        WORDS(uint32_t, c->rank[*v]);
        return true;
    }
    switch (col->phys) {
    case PHYS_BOOL: WORDS(uint8_t, *v); return true;
    case PHYS_I16: WORDS(int16_t, (uint64_t)*v ^ sign); return true;
    case PHYS_I32: WORDS(int32_t, (uint64_t)*v ^ sign); return true;
    case PHYS_I64: WORDS(int64_t, (uint64_t)*v ^ sign); return true;
    case PHYS_I128: WORDS(int128, int128_word(*v)); return true;
    case PHYS_F32: WORDS(float, float_word(*v)); return true;
    case PHYS_F64: WORDS(double, float_word(*v)); return true;
    default: return false;
    }
}

void sort_words(const SortColumn *c, uint64_t from, const uint16_t *sel, uint32_t n, uint64_t *out)
{
    const RowsCol *col = c->col;
    if (plain_words(c, from, sel, n, out)) return;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t row = from + sel_row(sel, i);
        out[i] = 0;
        if (col->valid != NULL && !bit_get(col->valid, row)) continue;
        if (col->phys == PHYS_STR) out[i] = text_word(text_of(col, row), c->skip);
        if (col->phys == PHYS_NUM) out[i] = num_word((const Num *)col->data + row);
    }
}

/* Whether equal words of the type mean equal values. */
static bool sort_words_exact(Phys phys)
{
    return phys != PHYS_I128 && phys != PHYS_NUM && phys != PHYS_INTERVAL && phys != PHYS_STR;
}

/* ---- comparing rows --------------------------------------------------------------------------------------- */

static int compare_values(const SortColumn *c, uint32_t a, uint32_t b)
{
    const RowsCol *col = c->col;
    if (col->phys == PHYS_STR) return str_compare(text_of(col, a), text_of(col, b));
    Vector v = {.type = col->type, .phys = col->phys, .form = VEC_FLAT, .data = col->data};
    Value x = vec_value(&v, a), y = vec_value(&v, b);
    return value_compare(&x, &y);
}

static int compare_column(const SortColumn *c, uint32_t a, uint32_t b)
{
    uint64_t x, y;
    if (c->col->valid != NULL) {
        bool na = !bit_get(c->col->valid, a), nb = !bit_get(c->col->valid, b);
        if (na != nb) return na == c->nulls_first ? -1 : 1;
        if (na) return 0;
    }
    sort_words(c, a, NULL, 1, &x);
    sort_words(c, b, NULL, 1, &y);
    int order = x < y ? -1 : x > y;
    if (order == 0 && c->rank == NULL && !sort_words_exact((Phys)c->col->phys)) order = compare_values(c, a, b);
    return c->descending ? -order : order;
}

int sort_compare(const Sorter *s, uint32_t from, uint32_t a, uint32_t b)
{
    int order = 0;
    for (uint32_t k = from; k < s->ncols && order == 0; k++) order = compare_column(&s->cols[k], a, b);
    return order;
}

/* ---- how words become codes ------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b, void *ctx)
{
    const Str *values = ctx;
    return str_compare(values[*(const uint32_t *)a], values[*(const uint32_t *)b]);
}

/* Equal texts have one code, so places are distinct. */
static tcudb_status rank_dictionary(Sorter *s, SortColumn *c, Error *err)
{
    uint32_t count = c->col->view.count;
    if (!c->col->dict || count > RANK_MAX || count > s->n / RANK_SHARE) return TCUDB_OK;
    uint32_t *sorted = exec_alloc(s->x, (count + 1) * sizeof *sorted, err);
    TRY_PTR(sorted);
    c->rank = exec_alloc(s->x, (count + 1) * sizeof *c->rank, err);
    TRY_PTR(c->rank);
    for (uint32_t i = 0; i < count; i++) sorted[i] = i;
    qsort_r(sorted, count, sizeof *sorted, by_text, (void *)(uintptr_t)c->col->view.values);
    for (uint32_t i = 0; i < count; i++) c->rank[sorted[i]] = i;
    exec_free(s->x, sorted);
    return TCUDB_OK;
}

typedef struct Measure {
    Sorter *s;
    SortColumn *c;
    Str sample; /* text: some value */
    bool any;   /* value that is not NULL */
    bool exact; /* equal words mean equal values */
    pthread_mutex_t lock;
} Measure;

static uint32_t shared_bytes(Str a, Str b, uint32_t most)
{
    uint32_t n = 0;
    if (most > a.len) most = a.len;
    if (most > b.len) most = b.len;
    while (n < most && a.ptr[n] == b.ptr[n]) n++;
    return n;
}

static tcudb_status measure_prefix(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Measure *m = ctx;
    const RowsCol *col = m->c->col;
    uint64_t from = task * SORT_TASK, to = from + SORT_TASK < m->s->n ? from + SORT_TASK : m->s->n;
    uint32_t shared = m->sample.len;
    (void)w;
    TRY(exec_check_cancel(m->s->x, err));
    for (uint64_t r = from; r < to && shared > 0; r++)
        if (col->valid == NULL || bit_get(col->valid, r)) shared = shared_bytes(m->sample, text_of(col, r), shared);
    pthread_mutex_lock(&m->lock);
    if (shared < m->c->skip) m->c->skip = shared;
    pthread_mutex_unlock(&m->lock);
    return TCUDB_OK;
}

/* The bytes with which all texts begin say nothing. */
static tcudb_status skip_prefix(Measure *m, uint64_t tasks, Error *err)
{
    const RowsCol *col = m->c->col;
    uint64_t first = 0;
    if (col->phys != PHYS_STR || m->c->rank != NULL) return TCUDB_OK;
    while (first < m->s->n && col->valid != NULL && !bit_get(col->valid, first)) first++;
    if (first == m->s->n) return TCUDB_OK;
    m->sample = text_of(col, first);
    m->c->skip = m->sample.len;
    return exec_parallel(m->s->x, m->s->node, tasks, measure_prefix, m, err);
}

/* Whether equal words of these rows mean equal values. */
static bool rows_exact(const RowsCol *col, uint64_t from, uint32_t n)
{
    bool exact = true;
    if (col->phys != PHYS_NUM) return sort_words_exact((Phys)col->phys);
    for (uint64_t r = from; r < from + n && exact; r++)
        exact = (col->valid != NULL && !bit_get(col->valid, r)) || num_is_short((const Num *)col->data + r);
    return exact;
}

static tcudb_status measure_words(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Measure *m = ctx;
    uint64_t from = task * SORT_TASK, to = from + SORT_TASK < m->s->n ? from + SORT_TASK : m->s->n;
    uint64_t words[BATCH_ROWS], min = UINT64_MAX, max = 0;
    const uint64_t *valid = m->c->col->valid;
    bool nulls = false, any = false, exact = true;
    (void)w;
    TRY(exec_check_cancel(m->s->x, err));
    for (uint64_t at = from; at < to; at += BATCH_ROWS) {
        uint32_t n = to - at < BATCH_ROWS ? (uint32_t)(to - at) : BATCH_ROWS;
        sort_words(m->c, at, NULL, n, words);
        exact = exact && rows_exact(m->c->col, at, n);
        for (uint32_t i = 0; i < n; i++) {
            bool null = valid != NULL && !bit_get(valid, at + i);
            nulls |= null;
            any |= !null;
            if (!null && words[i] < min) min = words[i];
            if (!null && words[i] > max) max = words[i];
        }
    }
    pthread_mutex_lock(&m->lock);
    m->c->nulls |= nulls;
    m->any |= any;
    m->exact &= exact;
    if (min < m->c->min) m->c->min = min;
    if (max > m->c->max) m->c->max = max;
    pthread_mutex_unlock(&m->lock);
    return TCUDB_OK;
}

static tcudb_status measure(Sorter *s, SortColumn *c, Error *err)
{
    uint64_t tasks = (s->n + SORT_TASK - 1) / SORT_TASK;
    Measure m = {.s = s, .c = c, .exact = true, .lock = PTHREAD_MUTEX_INITIALIZER};
    c->min = UINT64_MAX;
    c->max = 0;
    TRY(rank_dictionary(s, c, err));
    TRY(skip_prefix(&m, tasks, err));
    TRY(exec_parallel(s->x, s->node, tasks, measure_words, &m, err));
    if (!m.any) c->min = c->max = 0;
    uint64_t range = c->max - c->min;
    c->drop = c->nulls && range == UINT64_MAX;
    c->exact = (c->rank != NULL || m.exact) && c->drop == 0;
    c->bits = bit_width64((range >> c->drop) + c->nulls);
    return TCUDB_OK;
}

static uint64_t code_of(const SortColumn *c, uint64_t word, bool null)
{
    uint64_t top = (c->max - c->min) >> c->drop;
    if (null) return c->nulls_first ? 0 : top + 1;
    uint64_t code = (c->descending ? c->max - word : word - c->min) >> c->drop;
    return code + (c->nulls && c->nulls_first);
}

/* ---- packing ---------------------------------------------------------------------------------------------- */

enum { KEY_BITS = 64 };

/* The column's top bits behind those that are there; returns how many bits the keys have now. */
static uint32_t pack_column(const SortColumn *c, uint64_t from, uint32_t n, uint32_t bits, SortItem *items)
{
    uint64_t words[BATCH_ROWS];
    const uint64_t *valid = c->col->valid;
    uint32_t room = KEY_BITS - bits, take = c->bits < room ? c->bits : room, cut = c->bits - take;
    if (take == 0) return bits;
    sort_words(c, from, NULL, n, words);
    for (uint32_t i = 0; i < n; i++) {
        bool null = c->nulls && valid != NULL && !bit_get(valid, from + i);
        uint64_t code = code_of(c, words[i], null) >> cut;
        items[i].key = take == KEY_BITS ? code : items[i].key << take | code;
    }
    return bits + take;
}

static tcudb_status pack(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Sorter *s = ctx;
    uint64_t from = task * SORT_TASK, to = from + SORT_TASK < s->n ? from + SORT_TASK : s->n;
    (void)w;
    TRY(exec_check_cancel(s->x, err));
    for (uint64_t at = from; at < to; at += BATCH_ROWS) {
        uint32_t n = to - at < BATCH_ROWS ? (uint32_t)(to - at) : BATCH_ROWS, bits = 0;
        for (uint32_t i = 0; i < n; i++) s->items[at + i] = (SortItem){.row = (uint32_t)(at + i)};
        for (uint32_t k = 0; k <= s->decided && k < s->ncols; k++)
            bits = pack_column(&s->cols[k], at, n, bits, s->items + at);
    }
    return TCUDB_OK;
}

tcudb_status sort_make_items(Sorter *s, Error *err)
{
    uint32_t bits = 0;
    bool whole = true;
    for (s->decided = 0; s->decided < s->ncols && whole; s->decided += whole) {
        SortColumn *c = &s->cols[s->decided];
        TRY(measure(s, c, err));
        whole = c->exact && bits + c->bits <= KEY_BITS;
        bits += c->bits;
    }
    return exec_parallel(s->x, s->node, (s->n + SORT_TASK - 1) / SORT_TASK, pack, s, err);
}
