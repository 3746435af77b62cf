/*
 * op_hash_join.c: joins with at least one equality between the sides.
 *
 * The right input is kept and indexed (join_build.c), bitmaps for scans on the left are filled, then the
 * left input streams through the probe. A unique dense table (every star join's dimension) takes the short
 * way: one array access a row, the batch keeps its columns and only gets a shorter list of live rows.
 * Otherwise pairs are made in batches of BATCH_ROWS. In the step of a recursion a table that depends on no round is
 * made in the first and kept. Bound: rows of the right input < 2^32 - 1.
 */
#include "exec/cpu/join_int.h"

#include <assert.h>
#include <stdio.h>

static bool can_run(const ExecEnv *env, const Plan *plan, char why[PHYS_NOTE])
{
    (void)env;
    uint32_t keys = 0;
    for (uint32_t i = 0; i < plan->join.nconds; i++) keys += join_is_key(plan, plan->join.conds[i]);
    if (keys == 0) {
        snprintf(why, PHYS_NOTE, "no equality between the sides");
        return false;
    }
    if (plan->join.kind == JOIN_MARK && plan->join.mark_null && plan->join.nconds != 1) {
        snprintf(why, PHYS_NOTE, "three-valued over several conditions");
        return false;
    }
    return true;
}

/* ---- looking up --------------------------------------------------------------------------------------------- */

#define DENSE(T)                                                                                                       \
    do {                                                                                                               \
        const T *data = key->data;                                                                                     \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint64_t at = (uint64_t)(int64_t)data[sel_row(sel, i)] - min;                                              \
            uint32_t head = heads[at < domain ? at : 0];                                                               \
            out[i] = (at < domain ? head : 0) - 1;                                                                     \
        }                                                                                                              \
    } while (0)

/* The same into starts[]: ROWS_NONE where a key has no rows. */
#define RANGES(T)                                                                                                      \
    do {                                                                                                               \
        const T *data = key->data;                                                                                     \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            uint64_t at = (uint64_t)(int64_t)data[sel_row(sel, i)] - min;                                              \
            bool in = at < domain;                                                                                     \
            uint32_t from = starts[in ? at : 0], to = starts[in ? at + 1 : 0];                                         \
            out[i] = from < to ? from : ROWS_NONE;                                                                     \
            count[i] = from < to ? to - from : 0;                                                                      \
        }                                                                                                              \
    } while (0)

static void drop_null_keys(const Vector *key, const uint16_t *sel, uint32_t n, uint32_t *out, uint32_t *count)
{
    for (uint32_t i = 0; i < n && key->valid != NULL; i++) {
        if (bit_get(key->valid, sel_row(sel, i))) continue;
        out[i] = ROWS_NONE;
        if (count != NULL) count[i] = 0;
    }
}

static void lookup_ranges(const Join *j, const Vector *key, const uint16_t *sel, uint32_t n, uint32_t *out,
                          uint32_t *count)
{
    uint64_t min = (uint64_t)j->min, domain = j->domain;
    const uint32_t *starts = j->starts;
    switch (key->phys) {
    case PHYS_BOOL: RANGES(uint8_t); break;
    case PHYS_I16: RANGES(int16_t); break;
    case PHYS_I32: RANGES(int32_t); break;
    case PHYS_STR: RANGES(uint32_t); break; /* codes */
    default: RANGES(int64_t); break;
    }
    drop_null_keys(key, sel, n, out, count);
}

static void lookup_dense(const Join *j, const Vector *key, const uint16_t *sel, uint32_t n, uint32_t *out)
{
    uint64_t min = (uint64_t)j->min, domain = j->domain;
    const uint32_t *heads = j->heads;
    switch (key->phys) {
    case PHYS_BOOL: DENSE(uint8_t); break;
    case PHYS_I16: DENSE(int16_t); break;
    case PHYS_I32: DENSE(int32_t); break;
    case PHYS_STR: DENSE(uint32_t); break; /* codes */
    default: DENSE(int64_t); break;
    }
    drop_null_keys(key, sel, n, out, NULL);
}

/* The first row from `row` on in its chain whose key is `key`; ROWS_NONE: none. */
static inline uint32_t match_from(const Join *j, uint32_t row, const uint64_t *key)
{
    uint32_t words = j->right_spec.words;
    while (row != ROWS_NONE && !keys_equal(&j->right_spec, j->keys + (size_t)row * words, key)) row = j->next[row] - 1;
    return row;
}

typedef struct Probe {
    uint32_t *first; /* by live row: first match, or ROWS_NONE */
    uint32_t *count; /* by live row: how many neighbours match; with j->starts */
    uint64_t *keys;  /* by live row: NULL if dense */
} Probe;

static tcudb_status lookup_hashed(Join *j, Worker *w, const Vector *keys, const Batch *batch, Probe *p, Error *err)
{
    Arena *arena = worker_arena(w);
    uint32_t n = batch->n, words = j->left_spec.words;
    p->keys = arena_alloc_raw(arena, ((size_t)n * words + 1) * sizeof *p->keys, err);
    TRY_PTR(p->keys);
    uint64_t *hash = arena_alloc_raw(arena, (n + 1) * sizeof *hash, err);
    TRY_PTR(hash);
    TRY(keys_encode(&j->left_spec, arena, keys, batch->sel, n, batch->rows, p->keys, hash, err));
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&j->heads[hash[i] & j->mask]);
    for (uint32_t i = 0; i < n; i++) p->first[i] = j->heads[hash[i] & j->mask] - 1;
    for (uint32_t k = 0; k < j->nkeys; k++)
        for (uint32_t i = 0; i < n && keys[k].valid != NULL; i++)
            if (vec_is_null(&keys[k], batch_row(batch, i))) p->first[i] = ROWS_NONE;
    for (uint32_t i = 0; i < n; i++)
        if (p->first[i] != ROWS_NONE) __builtin_prefetch(&j->keys[(size_t)p->first[i] * words]);
    for (uint32_t i = 0; i < n; i++) p->first[i] = match_from(j, p->first[i], p->keys + (size_t)i * words);
    return TCUDB_OK;
}

static tcudb_status lookup(Join *j, Worker *w, const Batch *batch, Probe *p, Vector *first_key, Error *err)
{
    Arena *arena = worker_arena(w);
    *p = (Probe){.first = arena_alloc_raw(arena, (batch->n + 1) * sizeof *p->first, err)};
    TRY_PTR(p->first);
    Vector *keys = ARENA_ARRAY(arena, Vector, j->nkeys, err);
    TRY_PTR(keys);
    for (uint32_t k = 0; k < j->nkeys; k++) TRY(ev_run(&j->left_keys[k], w, batch, &keys[k], err));
    *first_key = keys[0];
    if (!j->dense) return lookup_hashed(j, w, keys, batch, p, err);
    Vector flat = keys[0];
    const KeyCol *col = &j->left_spec.cols[0];
    if (col->form == KEY_CODE) {
        const uint32_t *codes;
        TRY(vec_codes(arena, &keys[0], col->table, col->column, &col->view, batch->sel, batch->n, batch->rows, &codes,
                      err));
        flat.data = (void *)(uintptr_t)codes;
        if (flat.form == VEC_CONST && flat.valid != NULL)
            TRY(vec_flatten(arena, &keys[0], batch->sel, batch->n, batch->rows, &flat, err));
        if (flat.form == VEC_FLAT) flat.data = (void *)(uintptr_t)codes;
    } else if (flat.form == VEC_CONST) {
        TRY(vec_flatten(arena, &keys[0], batch->sel, batch->n, batch->rows, &flat, err));
    }
    if (j->starts == NULL) {
        lookup_dense(j, &flat, batch->sel, batch->n, p->first);
        return TCUDB_OK;
    }
    p->count = arena_alloc_raw(arena, (batch->n + 1) * sizeof *p->count, err);
    TRY_PTR(p->count);
    lookup_ranges(j, &flat, batch->sel, batch->n, p->first, p->count);
    return TCUDB_OK;
}

static inline uint32_t next_match(const Join *j, const Probe *p, uint32_t i, uint32_t row)
{
    if (j->unique) return ROWS_NONE;
    row = j->next[row] - 1;
    return j->dense ? row : match_from(j, row, p->keys + (size_t)i * j->left_spec.words);
}

static inline bool is_matched(const Join *j, uint32_t row)
{
    return __atomic_load_n(&j->matched[row], __ATOMIC_RELAXED) != 0;
}

/* ---- probing ------------------------------------------------------------------------------------------------- */

/* Every left row has one candidate at most: no row is copied. */
static tcudb_status probe_unique(Join *j, Worker *w, const Batch *batch, const Probe *p, uint8_t *flags, Error *err)
{
    Arena *arena = worker_arena(w);
    bool keep_all = j->kind == JOIN_LEFT || j->kind == JOIN_SINGLE;
    if (keep_all && !j->has_residual) return join_emit(j, w, batch, p->first, true, err);
    uint16_t *sel = arena_alloc_raw(arena, (BATCH_ROWS + 1) * sizeof *sel, err);
    TRY_PTR(sel);
    uint32_t *idx = arena_alloc_raw(arena, (batch->n + 1) * sizeof *idx, err);
    TRY_PTR(idx);
    uint32_t k = 0;
    for (uint32_t i = 0; i < batch->n; i++) {
        sel[k] = (uint16_t)batch_row(batch, i);
        idx[k] = p->first[i];
        k += p->first[i] != ROWS_NONE;
    }
    Batch pairs = *batch;
    pairs.n = k;
    if (k < batch->n || batch->sel != NULL) pairs.sel = sel;
    if (k == 0) return TCUDB_OK;
    if (j->kind == JOIN_INNER && !j->has_residual) return join_emit(j, w, &pairs, idx, false, err);
    return join_pairs(j, w, &pairs, idx, NULL, flags, err);
}

/* Pairs gathered so far; sent on when BATCH_ROWS are full. */
typedef struct PairList {
    uint16_t *rows;
    uint32_t *idx;
    uint32_t n;
} PairList;

static tcudb_status send_pairs(Join *j, Worker *w, const Batch *batch, PairList *list, uint8_t *flags, Error *err)
{
    Arena *own = &j->arenas[w->id], *before = worker_swap_arena(w, own);
    arena_reset(own);
    Batch pairs = {.rows = list->n, .n = list->n, .ncols = j->left.n};
    tcudb_status status = TCUDB_OK;
    pairs.cols = ARENA_ARRAY(own, Vector, j->left.n + 1, err);
    if (pairs.cols == NULL) status = TCUDB_NOMEM;
    for (uint32_t c = 0; c < j->left.n && status == TCUDB_OK; c++)
        status = vec_gather(own, &batch->cols[c], list->rows, list->n, &pairs.cols[c], err);
    if (status == TCUDB_OK && list->n > 0) status = join_pairs(j, w, &pairs, list->idx, list->rows, flags, err);
    worker_swap_arena(w, before);
    list->n = 0;
    return status;
}

/* Ranges of right rows: long ones go out as they lie, short ones are gathered into pairs. */
static tcudb_status probe_ranges(Join *j, Worker *w, const Batch *batch, const Probe *p, uint8_t *flags, Error *err)
{
    enum { LONG = 128 };
    bool keeps_right = join_keeps_right(j->kind);
    Arena *own = &j->arenas[w->id];
    PairList list = {.rows = arena_alloc_raw(worker_arena(w), BATCH_ROWS * sizeof *list.rows, err)};
    TRY_PTR(list.rows);
    list.idx = arena_alloc_raw(worker_arena(w), BATCH_ROWS * sizeof *list.idx, err);
    TRY_PTR(list.idx);
    for (uint32_t i = 0; i < batch->n; i++) {
        uint16_t left = (uint16_t)batch_row(batch, i);
        uint32_t row = p->first[i], n = p->count[i];
        if (n >= LONG && list.n > 0) TRY(send_pairs(j, w, batch, &list, flags, err));
        while (n >= LONG) {
            uint32_t part = n < BATCH_ROWS ? n : BATCH_ROWS;
            Arena *before = worker_swap_arena(w, own);
            arena_reset(own);
            tcudb_status status = join_range(j, w, batch, left, row, part, flags, err);
            worker_swap_arena(w, before);
            TRY(status);
            row += part;
            n -= part;
        }
        while (n > 0) {
            uint32_t part = n < BATCH_ROWS - list.n ? n : BATCH_ROWS - list.n;
            for (uint32_t k = 0; k < part; k++) {
                list.rows[list.n] = left;
                list.idx[list.n] = row + k;
                list.n += !(keeps_right && is_matched(j, row + k));
            }
            row += part;
            n -= part;
            if (list.n == BATCH_ROWS) TRY(send_pairs(j, w, batch, &list, flags, err));
        }
    }
    return list.n == 0 ? TCUDB_OK : send_pairs(j, w, batch, &list, flags, err);
}

static tcudb_status probe_many(Join *j, Worker *w, const Batch *batch, const Probe *p, uint8_t *flags, Error *err)
{
    bool keeps_right = join_keeps_right(j->kind);
    PairList list = {.rows = arena_alloc_raw(worker_arena(w), BATCH_ROWS * sizeof *list.rows, err)};
    TRY_PTR(list.rows);
    list.idx = arena_alloc_raw(worker_arena(w), BATCH_ROWS * sizeof *list.idx, err);
    TRY_PTR(list.idx);
    for (uint32_t i = 0; i < batch->n; i++) {
        uint16_t left = (uint16_t)batch_row(batch, i);
        for (uint32_t row = p->first[i]; row != ROWS_NONE; row = next_match(j, p, i, row)) {
            if (keeps_right && is_matched(j, row)) continue;
            list.rows[list.n] = left;
            list.idx[list.n++] = row;
            if (list.n == BATCH_ROWS) TRY(send_pairs(j, w, batch, &list, flags, err));
            if (!join_wants_pairs(j->kind) && !j->has_residual) break;
        }
    }
    return list.n == 0 ? TCUDB_OK : send_pairs(j, w, batch, &list, flags, err);
}

/* RIGHT_SEMI, RIGHT_ANTI without a residual: all right rows of a key match together, so a key whose first row has
 * matched is done. */
static void mark_right(Join *j, const Probe *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = p->first[i];
        if (row == ROWS_NONE || is_matched(j, row)) continue;
        if (j->starts != NULL)
            for (uint32_t k = p->count[i]; k-- > 0;) __atomic_store_n(&j->matched[row + k], 1, __ATOMIC_RELAXED);
        else
            for (; row != ROWS_NONE; row = next_match(j, p, i, row))
                __atomic_store_n(&j->matched[row], 1, __ATOMIC_RELAXED);
    }
}

/* IN: no match is unknown if the left key is NULL (and there are right rows) or some right key is. */
tcudb_status join_unknown(Join *j, Worker *w, const Batch *batch, const Vector *key, uint8_t **out, Error *err)
{
    *out = NULL;
    if (j->kind != JOIN_MARK || !j->plan->join.mark_null || j->empty) return TCUDB_OK;
    *out = arena_alloc(worker_arena(w), BATCH_ROWS, err);
    TRY_PTR(*out);
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        (*out)[row] = j->null_key || vec_is_null(key, row);
    }
    return TCUDB_OK;
}

static tcudb_status push(Stage *stage, Worker *w, const Batch *batch, Error *err)
{
    Join *j = (Join *)stage;
    Probe p;
    Vector key;
    uint8_t *unknown;
    TRY(lookup(j, w, batch, &p, &key, err));
    if (join_keeps_right(j->kind) && !j->has_residual) {
        mark_right(j, &p, batch->n);
        return TCUDB_OK;
    }
    bool short_way =
        j->unique && !j->has_residual && (j->kind == JOIN_INNER || j->kind == JOIN_LEFT || j->kind == JOIN_SINGLE);
    if (short_way) return probe_unique(j, w, batch, &p, NULL, err);
    uint8_t *flags = NULL;
    if (j->kind != JOIN_INNER && j->kind != JOIN_RIGHT && !join_keeps_right(j->kind)) {
        flags = arena_alloc(worker_arena(w), BATCH_ROWS, err);
        TRY_PTR(flags);
    }
    if (!join_wants_pairs(j->kind) && !j->has_residual) {
        for (uint32_t i = 0; i < batch->n; i++) flags[batch_row(batch, i)] = p.first[i] != ROWS_NONE;
    } else if (j->unique) {
        TRY(probe_unique(j, w, batch, &p, flags, err));
    } else if (j->starts != NULL) {
        TRY(probe_ranges(j, w, batch, &p, flags, err));
    } else {
        TRY(probe_many(j, w, batch, &p, flags, err));
    }
    TRY(join_unknown(j, w, batch, &key, &unknown, err));
    return join_finish_left(j, w, batch, flags, unknown, err);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static tcudb_status side_spec(Join *j, Expr **exprs, const Layout *layout, const ColInfo *infos, Ev **keys,
                              KeySpec *spec, Error *err)
{
    Exec *x = j->x;
    *keys = ARENA_ARRAY(&x->arena, Ev, j->nkeys, err);
    TRY_PTR(*keys);
    Type *types = ARENA_ARRAY(&x->arena, Type, j->nkeys, err);
    TRY_PTR(types);
    for (uint32_t k = 0; k < j->nkeys; k++) {
        types[k] = exprs[k]->type;
        TRY(ev_new(x, exprs[k], layout, &(*keys)[k], err));
    }
    return keys_spec(x, types, infos, j->nkeys, false, spec, err);
}

/* Text keys are codes only if both sides use one dictionary. */
static tcudb_status key_specs(Join *j, Error *err)
{
    Exec *x = j->x;
    ColInfo *infos = ARENA_ARRAY(&x->arena, ColInfo, j->nkeys + 1, err);
    TRY_PTR(infos);
    for (uint32_t k = 0; k < j->nkeys; k++) {
        ColInfo l = phys_expr_info(x->phys->info, x->phys->ninfo, j->left_exprs[k]);
        ColInfo r = phys_expr_info(x->phys->info, x->phys->ninfo, j->right_exprs[k]);
        if (l.dict && r.dict && l.table == r.table && l.column == r.column) infos[k] = l;
    }
    TRY(side_spec(j, j->left_exprs, &j->left, infos, &j->left_keys, &j->left_spec, err));
    TRY(side_spec(j, j->right_exprs, &j->right, infos, &j->right_keys, &j->right_spec, err));
    assert(j->left_spec.words == j->right_spec.words);
    return TCUDB_OK;
}

/* The table that an earlier round made. */
static Join *find_kept(const Exec *home, const PhysNode *node)
{
    Join *j = home->kept;
    while (j != NULL && j->node != node) j = j->next_kept;
    return j;
}

/* The execution whose the table is: x, or where x is a round of a recursion that the table serves as a whole, as it
 * depends on no round and notes no matches, the one around the round. *kept: its table, if it is there. */
static tcudb_status table_home(Exec *x, const PhysNode *node, Exec **home, Join **kept, Error *err)
{
    JoinKind kind = node->plan->join.kind;
    bool notes = kind == JOIN_RIGHT || kind == JOIN_FULL || join_keeps_right(kind), free_work = false;
    *home = x;
    *kept = NULL;
    if (x->frames == NULL || x->frames->round != x || notes) return TCUDB_OK;
    *kept = find_kept(x->parent, node);
    if (*kept == NULL) TRY(plan_free_work(&x->arena, node->plan->inputs[1], &free_work, err));
    if (!free_work) *home = x->parent;
    return TCUDB_OK;
}

static tcudb_status open_join(Exec *x, PhysNode *node, Stage *down, Join **out, Error *err)
{
    Join *j;
    Expr **residual;
    uint32_t nresidual;
    TRY(join_prepare(x, node, down, &j, err));
    j->stage.push = push;
    TRY(join_split(&x->arena, node->plan, &j->left_exprs, &j->right_exprs, &j->nkeys, &residual, &nresidual, err));
    TRY(join_residual(j, residual, nresidual, err));
    TRY(key_specs(j, err));
    bool bits;
    TRY(join_bits(j, &bits, err));
    *out = j;
    if (bits) return TCUDB_OK;
    TRY(join_collect_right(j, err));
    if (join_needs_right(j)) return TCUDB_OK;
    TRY(join_build(j, err));
    return join_fill_semi(j, err);
}

static tcudb_status run(Exec *x, PhysNode *node, Stage *down, Error *err)
{
    Exec *home;
    Join *j;
    TRY(table_home(x, node, &home, &j, err));
    if (j != NULL) {
        stage_init(&j->stage, down);
    } else {
        TRY(open_join(home, node, down, &j, err));
        if (home != x) {
            j->next_kept = home->kept;
            home->kept = j;
        }
    }
    if (!join_needs_right(j)) {
        TRY(exec_produce(x, node->inputs[0], &j->stage, err));
        TRY(join_right_rows(j, err));
    }
    if (home == x) join_free(j);
    return TCUDB_OK;
}

static double cost(const Plan *plan)
{
    double left = plan->inputs[0]->rows, right = plan->inputs[1]->rows;
    return (left < 0 ? 1e6 : left) * 10e-9 + (right < 0 ? 1e6 : right) * 50e-9;
}

const Op op_hash_join = {.name = "Hash Join", .engine = "cpu", .can_run = can_run, .cost = cost, .run = run};
