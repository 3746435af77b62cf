/*
 * sort.c: sorts the output of a node: ORDER BY, and aggregates that take their rows in an order.
 *
 * The input is collected; every key becomes an unsigned 64-bit word that orders like the value (text: its
 * first eight bytes), so most comparisons are one integer comparison; ties of wide or long values fall
 * back to comparing the values. Row numbers are sorted in parallel: a merge sort
 * per task, then pairwise merges. Equal keys keep their input order, so the result is the same for any number
 * of workers. With a limit, each run keeps only the rows that can appear.
 */
#include "exec/sort_int.h"
#include "type/num.h"

#include <assert.h>

enum { RUN_ROWS = 65536 };

typedef struct Key {
    const RowsCol *col;
    bool descending, nulls_first;
    bool exact; /* the words decide */
    uint64_t *words;
} Key;

typedef struct Sorter {
    Exec *x;
    const Rows *rows;
    Key *keys;
    uint32_t nkeys;
    uint32_t *order, *scratch;
    uint64_t n;
    uint64_t width; /* of a sorted run */
    uint64_t limit; /* rows wanted of a run */
} Sorter;

/* ---- key words -------------------------------------------------------------------------------------------- */

static uint64_t float_word(double v)
{
    uint64_t u;
    if (v != v) return UINT64_MAX;
    if (v == 0) v = 0;
    memcpy(&u, &v, sizeof u);
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static uint64_t text_word(Str text)
{
    unsigned char head[8] = {0};
    if (text.len > 0) memcpy(head, text.ptr, text.len < 8 ? text.len : 8);
    uint64_t u;
    memcpy(&u, head, sizeof u);
    return __builtin_bswap64(u);
}

static Str text_of(const RowsCol *col, uint64_t row)
{
    return col->dict ? col->view.values[((const uint32_t *)col->data)[row]] : ((const Str *)col->data)[row];
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

/* Of any scale: floor(v x 2^20), saturating; digits after the 30th decimal are cut off first. */
static uint64_t num_word(const Num *num)
{
    enum { FRACTION_BITS = 20, MAX_SCALE = 30 };
    if (num->kind != NUM_FINITE) return num->kind == NUM_NINF ? 0 : UINT64_MAX;
    int scale = num->scale > MAX_SCALE ? MAX_SCALE : num->scale;
    int128 unit = num_pow10(scale), value = floor_div(num->value, num_pow10(num->scale - scale));
    int128 whole = floor_div(value, unit), fraction = ((value - whole * unit) << FRACTION_BITS) / unit;
    const int128 limit = (int128)1 << (62 - FRACTION_BITS);
    if (whole >= limit) return int128_word((int128)1 << 62);
    if (whole < -limit) return int128_word(-((int128)1 << 62));
    return int128_word(whole * (1 << FRACTION_BITS) + fraction);
}

uint64_t sort_word(const RowsCol *col, uint64_t row)
{
    const uint64_t sign = UINT64_C(1) << 63;
    switch (col->phys) {
    case PHYS_BOOL: return ((const uint8_t *)col->data)[row];
    case PHYS_I16: return (uint64_t)((const int16_t *)col->data)[row] ^ sign;
    case PHYS_I32: return (uint64_t)((const int32_t *)col->data)[row] ^ sign;
    case PHYS_I64: return (uint64_t)((const int64_t *)col->data)[row] ^ sign;
    case PHYS_I128: return int128_word(((const int128 *)col->data)[row]);
    case PHYS_NUM: return num_word(&((const Num *)col->data)[row]);
    case PHYS_F32: return float_word(((const float *)col->data)[row]);
    case PHYS_F64: return float_word(((const double *)col->data)[row]);
    case PHYS_STR: return text_word(text_of(col, row));
    default: return 0;
    }
}

static tcudb_status key_words(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Sorter *s = ctx;
    uint64_t from = task * RUN_ROWS, to = from + RUN_ROWS < s->n ? from + RUN_ROWS : s->n;
    (void)w;
    (void)err;
    for (uint32_t k = 0; k < s->nkeys; k++) {
        Key *key = &s->keys[k];
        for (uint64_t r = from; r < to; r++) {
            bool null = key->col->valid != NULL && !bit_get(key->col->valid, r);
            uint64_t word = null ? 0 : sort_word(key->col, r);
            key->words[r] = key->descending ? ~word : word;
        }
    }
    for (uint64_t r = from; r < to; r++) s->order[r] = (uint32_t)r;
    return TCUDB_OK;
}

/* ---- comparing -------------------------------------------------------------------------------------------- */

static int compare_values(const Key *key, uint32_t a, uint32_t b)
{
    int order;
    if (key->col->phys == PHYS_STR) {
        order = str_compare(text_of(key->col, a), text_of(key->col, b));
    } else {
        Vector v = {.type = key->col->type, .phys = key->col->phys, .form = VEC_FLAT, .data = key->col->data};
        Value x = vec_value(&v, a), y = vec_value(&v, b);
        order = value_compare(&x, &y);
    }
    return key->descending ? -order : order;
}

static int compare_slow(const Sorter *s, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < s->nkeys; k++) {
        const Key *key = &s->keys[k];
        if (key->col->valid != NULL) {
            bool na = !bit_get(key->col->valid, a), nb = !bit_get(key->col->valid, b);
            if (na != nb) return na == key->nulls_first ? -1 : 1;
            if (na) continue;
        }
        if (key->words[a] != key->words[b]) return key->words[a] < key->words[b] ? -1 : 1;
        if (key->exact) continue;
        int order = compare_values(key, a, b);
        if (order != 0) return order;
    }
    return 0;
}

/* Whether a goes before or beside b; a is the earlier one. */
static inline bool in_order(const Sorter *s, uint32_t a, uint32_t b)
{
    return compare_slow(s, a, b) <= 0;
}

/* ---- merge sort ------------------------------------------------------------------------------------------- */

static uint64_t merge(const Sorter *s, const uint32_t *a, uint64_t na, const uint32_t *b, uint64_t nb, uint32_t *out,
                      uint64_t limit)
{
    uint64_t i = 0, j = 0, k = 0;
    while (k < limit && i < na && j < nb) {
        bool left = in_order(s, a[i], b[j]);
        out[k++] = left ? a[i] : b[j];
        i += left;
        j += !left;
    }
    while (k < limit && i < na) out[k++] = a[i++];
    while (k < limit && j < nb) out[k++] = b[j++];
    return k;
}

static void sort_small(const Sorter *s, uint32_t *at, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint32_t x = at[i];
        uint64_t j = i;
        for (; j > 0 && !in_order(s, at[j - 1], x); j--) at[j] = at[j - 1];
        at[j] = x;
    }
}

static tcudb_status sort_run(void *ctx, Worker *w, uint64_t task, Error *err)
{
    enum { SMALL = 16 };
    Sorter *s = ctx;
    uint64_t from = task * RUN_ROWS, n = s->n - from < RUN_ROWS ? s->n - from : RUN_ROWS;
    uint32_t *a = s->order + from, *b = s->scratch + from;
    TRY(key_words(ctx, w, task, err));
    for (uint64_t i = 0; i < n; i += SMALL) sort_small(s, a + i, n - i < SMALL ? n - i : SMALL);
    for (uint64_t width = SMALL; width < n; width *= 2) {
        TRY(exec_check_cancel(s->x, err));
        for (uint64_t i = 0; i < n; i += 2 * width) {
            uint64_t na = n - i < width ? n - i : width, nb = n - i - na < width ? n - i - na : width;
            merge(s, a + i, na, a + i + na, nb, b + i, UINT64_MAX);
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
    if (a != s->order + from) memcpy(s->order + from, a, n * sizeof *a);
    return TCUDB_OK;
}

/* Merges a pair of neighbouring runs, split into independent pieces: piece i of the output. */
typedef struct MergePlan {
    Sorter *s;
    uint64_t pieces; /* a pair */
} MergePlan;

/* How many of the first k merged rows come from a. */
static uint64_t split(const Sorter *s, const uint32_t *a, uint64_t na, const uint32_t *b, uint64_t nb, uint64_t k)
{
    uint64_t lo = k > nb ? k - nb : 0, hi = k < na ? k : na;
    while (lo < hi) {
        uint64_t i = lo + (hi - lo) / 2, j = k - i; /* a[i] is taken before b[j - 1]? */
        if (j > 0 && in_order(s, a[i], b[j - 1]))
            lo = i + 1;
        else
            hi = i;
    }
    return lo;
}

static tcudb_status merge_piece(void *ctx, Worker *w, uint64_t task, Error *err)
{
    MergePlan *plan = ctx;
    Sorter *s = plan->s;
    uint64_t pair = task / plan->pieces, piece = task % plan->pieces;
    uint64_t from = pair * 2 * s->width, left = s->n - from;
    uint64_t na = left < s->width ? left : s->width, nb = left - na < s->width ? left - na : s->width;
    const uint32_t *a = s->order + from, *b = a + na;
    uint64_t total = na + nb, first = total * piece / plan->pieces, last = total * (piece + 1) / plan->pieces;
    uint64_t i = split(s, a, na, b, nb, first), i_end = split(s, a, na, b, nb, last);
    (void)w;
    TRY(exec_check_cancel(s->x, err));
    if (first >= s->limit) return TCUDB_OK; /* no row from here on is wanted */
    merge(s, a + i, i_end - i, b + (first - i), (last - i_end) - (first - i), s->scratch + from + first, UINT64_MAX);
    return TCUDB_OK;
}

static tcudb_status sort_all(Sorter *s, PhysNode *node, Error *err)
{
    uint64_t runs = (s->n + RUN_ROWS - 1) / RUN_ROWS;
    TRY(exec_parallel(s->x, node, runs, sort_run, s, err));
    for (s->width = RUN_ROWS; s->width < s->n; s->width *= 2) {
        uint64_t pairs = (s->n + 2 * s->width - 1) / (2 * s->width);
        MergePlan plan = {s, 2 * s->width / RUN_ROWS};
        TRY(exec_parallel(s->x, node, pairs * plan.pieces, merge_piece, &plan, err));
        uint32_t *swap = s->order;
        s->order = s->scratch;
        s->scratch = swap;
    }
    return TCUDB_OK;
}

/* ---- collecting -------------------------------------------------------------------------------- */

/* Input columns, then one column per key expression that is not a bare column. */
typedef struct Prepare {
    Stage stage;
    uint32_t ncols, nextra;
    Ev *extra;
    TopN *top; /* NULL: every row is wanted */
} Prepare;

static tcudb_status prepare_push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Prepare *p = (Prepare *)stage;
    Batch out = *batch;
    out.ncols = p->ncols + p->nextra;
    out.cols = ARENA_ARRAY(worker_arena(w), Vector, out.ncols + 1, err);
    TRY_PTR(out.cols);
    memcpy(out.cols, batch->cols, p->ncols * sizeof *out.cols);
    for (uint32_t i = 0; i < p->nextra; i++) TRY(ev_run(&p->extra[i], w, batch, &out.cols[p->ncols + i], err));
    if (p->top != NULL) TRY(topn_filter(p->top, w, &out, err));
    return stage_push(stage->down, w, &out, err);
}

static tcudb_status collect_input(Exec *x, PhysNode *node, const SortKey *keys, uint32_t nkeys, uint64_t limit,
                                  uint32_t *key_col, Rows **rows, Error *err)
{
    const Plan *input = node->plan->inputs[0];
    Layout in;
    Collector *c;
    TRY(layout_of(x, input, &in, err));
    Prepare *p = ARENA_NEW(&x->arena, Prepare, err);
    TRY_PTR(p);
    p->stage.push = prepare_push;
    p->ncols = input->ncols;
    p->extra = ARENA_ARRAY(&x->arena, Ev, nkeys + 1, err);
    TRY_PTR(p->extra);
    PlanCol *cols = ARENA_ARRAY(&x->arena, PlanCol, input->ncols + nkeys + 1, err);
    TRY_PTR(cols);
    memcpy(cols, input->cols, input->ncols * sizeof *cols);
    for (uint32_t k = 0; k < nkeys; k++) {
        Expr *e = keys[k].expr;
        int32_t at = e->kind == EXPR_COL ? layout_find(&in, e->col) : -1;
        key_col[k] = at >= 0 ? (uint32_t)at : p->ncols + p->nextra;
        if (at >= 0) continue;
        cols[key_col[k]] = (PlanCol){.type = e->type, .name = ""};
        TRY(ev_new(x, e, &in, &p->extra[p->nextra++], err));
    }
    if (nkeys > 0) TRY(topn_new(x, &keys[0], key_col[0], limit, &p->top, err));
    TRY(collector_new(x, cols, p->ncols + p->nextra, &c, err));
    stage_init(&p->stage, collector_stage(c));
    TRY(exec_produce(x, node->inputs[0], &p->stage, err));
    return collector_rows(c, node, rows, err);
}

static tcudb_status sorter_init(Exec *x, const Rows *rows, const SortKey *keys, const uint32_t *key_col, Sorter *s,
                                Error *err)
{
    s->keys = ARENA_ARRAY(&x->arena, Key, s->nkeys + 1, err);
    TRY_PTR(s->keys);
    for (uint32_t k = 0; k < s->nkeys; k++) {
        const SortKey *key = &keys[k];
        const RowsCol *col = &rows->cols[key_col[k]];
        bool exact =
            col->phys != PHYS_I128 && col->phys != PHYS_NUM && col->phys != PHYS_INTERVAL && col->phys != PHYS_STR;
        s->keys[k] = (Key){.col = col, .descending = key->descending, .nulls_first = key->nulls_first, .exact = exact};
        s->keys[k].words = exec_alloc(x, (s->n + 1) * sizeof(uint64_t), err);
        TRY_PTR(s->keys[k].words);
    }
    s->order = exec_alloc(x, (s->n + 1) * sizeof *s->order, err);
    TRY_PTR(s->order);
    s->scratch = exec_alloc(x, (s->n + 1) * sizeof *s->scratch, err);
    TRY_PTR(s->scratch);
    return TCUDB_OK;
}

tcudb_status exec_sort(Exec *x, PhysNode *node, const SortKey *keys, uint32_t nkeys, uint64_t limit, Rows **rows,
                       uint32_t **order, Error *err)
{
    uint32_t *key_col = ARENA_ARRAY(&x->arena, uint32_t, nkeys + 1, err);
    TRY_PTR(key_col);
    TRY(collect_input(x, node, keys, nkeys, limit, key_col, rows, err));
    Sorter s = {.x = x, .rows = *rows, .n = (*rows)->n, .nkeys = nkeys, .limit = limit};
    TRY(sorter_init(x, *rows, keys, key_col, &s, err));
    TRY(sort_all(&s, node, err));
    for (uint32_t k = 0; k < s.nkeys; k++) exec_free(x, s.keys[k].words);
    exec_free(x, s.scratch);
    *order = s.order;
    return TCUDB_OK;
}
