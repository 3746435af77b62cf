/*
 * join_bits.c: semi, anti and mark joins that only ask whether a key is there: a bitmap over the key's bounds.
 *
 *     right keys 3, 7, 3  ->  bit 3, bit 7      left key 7 -> its bit
 *
 * Where one integer with bounds known for the whole statement is the key and nothing else is tested, no right row is
 * kept: workers set bits as the rows come, in any order. The bitmap serves scans on the left as well. Cost: a bit a
 * row; memory: a bit a value between the bounds, at most what MOST_BITS or the rows are worth.
 */
#include "exec/cpu/join_int.h"

#include <assert.h>

enum { BITS_PER_ROW = 256, FEW_BITS = 1 << 20 };
static const uint64_t MOST_BITS = UINT64_C(1) << 28;

typedef struct KeyBits {
    Stage stage;
    Join *j;
    atomic_bool any, null;
} KeyBits;

/* ---- right rows --------------------------------------------------------------------------------- */

static inline void set_bit(uint64_t *words, uint64_t at)
{
    uint64_t bit = UINT64_C(1) << (at & 63), *word = &words[at >> 6];
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

#define SET_BITS(T)                                                                                                    \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint32_t row = sel_row(sel, i);                                                                            \
            if (v->valid != NULL && !bit_get(v->valid, row)) continue;                                                 \
            uint64_t at = (uint64_t)(int64_t)data[row] - min;                                                          \
            outside |= at >= domain;                                                                                   \
            if (at < domain) set_bit(j->bits, at);                                                                     \
        }                                                                                                              \
    } while (0)

static tcudb_status set_bits(Join *j, const Vector *v, const uint16_t *sel, uint32_t n, Error *err)
{
    uint64_t min = (uint64_t)j->min, domain = j->domain;
    bool outside = false;
    switch (v->phys) {
    case PHYS_BOOL: SET_BITS(uint8_t); break;
    case PHYS_I16: SET_BITS(int16_t); break;
    case PHYS_I32: SET_BITS(int32_t); break;
    default: SET_BITS(int64_t); break;
    }
    return outside ? error_set(err, SQLSTATE_INTERNAL_ERROR, "a join key lies outside its column's bounds") : TCUDB_OK;
}

/* The key of live rows, flat. */
static tcudb_status key_of(const Ev *ev, Worker *w, const Batch *batch, Vector *out, Error *err)
{
    Vector v;
    TRY(ev_run(ev, w, batch, &v, err));
    *out = v;
    if (v.form == VEC_FLAT) return TCUDB_OK;
    return vec_flatten(worker_arena(w), &v, batch->sel, batch->n, batch->rows, out, err);
}

static tcudb_status take_right(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    KeyBits *k = (KeyBits *)stage;
    Vector v;
    TRY(key_of(&k->j->right_keys[0], w, batch, &v, err));
    if (!atomic_load_explicit(&k->any, memory_order_relaxed)) atomic_store(&k->any, true);
    for (uint32_t i = 0; i < batch->n && v.valid != NULL; i++)
        if (!bit_get(v.valid, batch_row(batch, i))) atomic_store_explicit(&k->null, true, memory_order_relaxed);
    return set_bits(k->j, &v, batch->sel, batch->n, err);
}

/* ---- left rows ---------------------------------------------------------------------------------- */

#define TEST_BITS(T)                                                                                                   \
    do {                                                                                                               \
        const T *data = v->data;                                                                                       \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint32_t row = sel_row(sel, i);                                                                            \
            uint64_t at = (uint64_t)(int64_t)data[row] - min;                                                          \
            flags[row] = at < domain && bit_get(bits, at);                                                             \
        }                                                                                                              \
    } while (0)

static void test_bits(const Join *j, const Vector *v, const uint16_t *sel, uint32_t n, uint8_t *flags)
{
    uint64_t min = (uint64_t)j->min, domain = j->domain;
    const uint64_t *bits = j->bits;
    switch (v->phys) {
    case PHYS_BOOL: TEST_BITS(uint8_t); break;
    case PHYS_I16: TEST_BITS(int16_t); break;
    case PHYS_I32: TEST_BITS(int32_t); break;
    default: TEST_BITS(int64_t); break;
    }
    for (uint32_t i = 0; i < n && v->valid != NULL; i++)
        if (!bit_get(v->valid, sel_row(sel, i))) flags[sel_row(sel, i)] = 0;
}

static tcudb_status push_left(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Join *j = (Join *)stage;
    Vector v;
    uint8_t *unknown, *flags = arena_alloc(worker_arena(w), BATCH_ROWS, err);
    TRY_PTR(flags);
    TRY(key_of(&j->left_keys[0], w, batch, &v, err));
    test_bits(j, &v, batch->sel, batch->n, flags);
    TRY(join_unknown(j, w, batch, &v, &unknown, err));
    return join_finish_left(j, w, batch, flags, unknown, err);
}

/* ---- building ----------------------------------------------------------------------------------- */

static bool applies(Join *j)
{
    const Exec *x = j->x;
    bool asks = j->kind == JOIN_SEMI || j->kind == JOIN_ANTI || j->kind == JOIN_MARK;
    if (!asks || j->has_residual || j->nkeys != 1 || x->frames != NULL) return false;
    Expr *key = j->right_exprs[0];
    ColInfo info = phys_expr_info(x->phys->info, x->phys->ninfo, key);
    if (type_phys(key->type) > PHYS_I64 || type_phys(j->left_exprs[0]->type) > PHYS_I64 || !info.has_bounds)
        return false;
    double rows = j->plan->inputs[1]->rows;
    uint64_t width = (uint64_t)info.max - (uint64_t)info.min;
    if (width >= MOST_BITS || (width >= FEW_BITS && (double)width > rows * BITS_PER_ROW)) return false;
    j->min = info.min;
    j->domain = width + 1;
    return true;
}

/* Scans on the left that asked for the key's values get the bitmap. */
static tcudb_status serve_scans(Join *j, Error *err)
{
    const Expr *key = j->right_exprs[0];
    for (uint32_t i = 0; i < j->plan->join.nsemi; i++) {
        const SemiSource *source = &j->plan->join.semi[i];
        if (key->kind != EXPR_COL || key->col != source->key) continue;
        SemiBits *semi;
        TRY(exec_semi_new(j->x, source->id, &semi, err));
        size_t bytes = (bit_words(j->domain) + 1) * sizeof *j->bits; /* its own: it goes when the next run asks */
        semi->words = exec_alloc(j->x, bytes, err);
        TRY_PTR(semi->words);
        memcpy(semi->words, j->bits, bytes);
        semi->min = j->min;
        semi->bits = j->domain;
        semi->filled = true;
    }
    return TCUDB_OK;
}

tcudb_status join_bits(Join *j, bool *taken, Error *err)
{
    *taken = applies(j);
    if (!*taken) return TCUDB_OK;
    j->bits = exec_alloc_zero(j->x, (bit_words(j->domain) + 1) * sizeof *j->bits, err);
    TRY_PTR(j->bits);
    KeyBits *k = ARENA_NEW(&j->x->arena, KeyBits, err);
    TRY_PTR(k);
    k->stage.push = take_right;
    k->j = j;
    const Plan *right = j->plan->inputs[1];
    Collector *none;
    TRY(collector_new(j->x, right->cols, right->ncols, &none, err));
    TRY(collector_rows(none, NULL, &j->rows, err)); /* the columns of right rows, which never match */
    TRY(exec_produce(j->x, j->node->inputs[1], &k->stage, err));
    j->empty = !atomic_load(&k->any);
    j->null_key = atomic_load(&k->null);
    j->stage.push = push_left;
    exec_note(j->node, "bitmap over %llu keys", (unsigned long long)j->domain);
    return serve_scans(j, err);
}
