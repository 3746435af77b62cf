/*
 * eval_days.c: expressions over one column of dates, evaluated once a day.
 *
 * A column has far fewer days than rows: ten years are 3,653. What a subtree with functions (extract, date_trunc,
 * to_char, + interval) gives for a day is kept in a window of days that grows with what comes, so that rows only look
 * it up:
 *
 *     rows 1995-03-07, 1995-03-09, 1995-03-07 -> entries 2, 4, 2 of the window from 1995-03-05 -> results
 *
 * Only days of live rows are evaluated, so an error is the statement's. A window of more than WINDOW_MOST days
 * (infinity is one) is given up: then rows are evaluated one by one. Few rows are not worth a window.
 * Cost: a load a row. Memory: WINDOW_MOST results a node and worker at most.
 */
#include "expr/eval_int.h"

#include <assert.h>

enum { WINDOW_MOST = 1 << 15, WINDOW_STEP = 512, ROWS_FEW = 4 * BATCH_ROWS };

/* First and last day of the live rows; false: all are NULL. */
static bool span_of(const Vector *col, const uint16_t *sel, uint32_t n, int32_t *first, int32_t *last)
{
    const int32_t *days = col->data;
    *first = INT32_MAX;
    *last = INT32_MIN;
    if (sel == NULL && col->valid == NULL) {
        int32_t low = INT32_MAX, high = INT32_MIN;
        for (uint32_t i = 0; i < n; i++) {
            low = days[i] < low ? days[i] : low;
            high = days[i] > high ? days[i] : high;
        }
        *first = low;
        *last = high;
        return n > 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? i : sel[i];
        if (col->valid != NULL && !bit_get(col->valid, row)) continue;
        if (days[row] < *first) *first = days[row];
        if (days[row] > *last) *last = days[row];
    }
    return *first <= *last;
}

/* Evaluates the node over a batch of days; NULL: over one NULL. */
static tcudb_status evaluate(EvalRun *run, const EvalNode *node, const Vector *col, int32_t *days, uint32_t n,
                             Vector *out, Error *err)
{
    Vector *cols = ARENA_ARRAY(run->ctx->arena, Vector, node->only_col + 1, err);
    TRY_PTR(cols);
    cols[node->only_col] = (Vector){.type = col->type, .phys = PHYS_I32, .form = VEC_FLAT, .data = days};
    Value null = {.type = col->type, .null = true};
    if (days == NULL) TRY(vec_const(run->ctx->arena, &null, &cols[node->only_col], err));
    Batch batch = {.rows = n, .n = n, .ncols = node->only_col + 1, .cols = cols};
    EvalRun inner = {run->state, run->ctx, &batch, true};
    return eval_node(&inner, node, NULL, n, out, err);
}

static tcudb_status new_window(EvalRun *run, const EvalNode *node, int32_t first, uint32_t n, DictCache *out,
                               Error *err)
{
    Arena *arena = run->state->arena;
    *out = (DictCache){.nvalues = n, .first_day = first};
    out->result = (Vector){.type = node->type, .phys = node->phys, .form = VEC_FLAT};
    out->result.data = arena_alloc(arena, phys_size((Phys)node->phys) * (n + 1), err);
    TRY_PTR(out->result.data);
    out->result.valid = arena_alloc_raw(arena, bit_words(n + 1) * sizeof(uint64_t), err);
    TRY_PTR(out->result.valid);
    memset(out->result.valid, 0xff, bit_words(n + 1) * sizeof(uint64_t));
    out->known = arena_alloc(arena, n + 1, err);
    TRY_PTR(out->known);
    out->known[n] = 1;
    return TCUDB_OK;
}

/* Moves what is known into a window that also holds [first, last]; too many days: cache->failed. */
static tcudb_status widen(EvalRun *run, const EvalNode *node, const Vector *col, int64_t first, int64_t last,
                          DictCache *cache, Error *err)
{
    DictCache old = *cache;
    Vector null;
    if (old.known != NULL && old.first_day < first) first = old.first_day;
    if (old.known != NULL && old.first_day + (int64_t)old.nvalues - 1 > last) last = old.first_day + old.nvalues - 1;
    cache->failed = last - first >= WINDOW_MOST;
    if (cache->failed) return TCUDB_OK;
    uint32_t n = (uint32_t)(last - first + WINDOW_STEP) / WINDOW_STEP * WINDOW_STEP;
    TRY(new_window(run, node, (int32_t)first, n, cache, err));
    cache->rows_seen = old.rows_seen;
    cache->nulls = old.nulls;
    TRY(evaluate(run, node, col, NULL, 1, &null, err));
    TRY(eval_keep(run->state, cache, n, &null, 0, err));
    size_t size = phys_size((Phys)node->phys);
    uint32_t offset = old.known == NULL ? 0 : (uint32_t)(old.first_day - first);
    for (uint32_t i = 0; i < old.nvalues && old.known != NULL; i++) {
        if (!old.known[i]) continue;
        cache->known[offset + i] = 1;
        if (!bit_get(old.result.valid, i)) bit_clear(cache->result.valid, offset + i);
        memcpy((char *)cache->result.data + (offset + i) * size, (const char *)old.result.data + i * size, size);
    }
    return TCUDB_OK;
}

/* Evaluates the live rows' days that are not known. */
static tcudb_status learn(EvalRun *run, const EvalNode *node, const Vector *col, const uint32_t *entries,
                          const uint16_t *sel, uint32_t n, DictCache *cache, Error *err)
{
    uint32_t missing = 0;
    int32_t *days = arena_alloc_raw(run->ctx->arena, n * sizeof *days, err);
    TRY_PTR(days);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t entry = entries[sel == NULL ? i : sel[i]];
        if (cache->known[entry]) continue;
        cache->known[entry] = 1;
        days[missing++] = cache->first_day + (int32_t)entry;
    }
    assert(missing > 0);
    Vector v = {0};
    TRY(evaluate(run, node, col, days, missing, &v, err));
    for (uint32_t i = 0; i < missing; i++)
        TRY(eval_keep(run->state, cache, (uint32_t)(days[i] - cache->first_day), &v, i, err));
    return TCUDB_OK;
}

tcudb_status eval_by_days(EvalRun *run, const EvalNode *node, const Vector *col, const uint16_t *sel, uint32_t n,
                          Vector *out, bool *done, Error *err)
{
    DictCache *cache = &run->state->caches[node->cache];
    int32_t first = 0, last = 0;
    *done = false;
    cache->rows_seen += n;
    if (col->form != VEC_FLAT || cache->failed || cache->rows_seen < ROWS_FEW) return TCUDB_OK;
    if (!span_of(col, sel, n, &first, &last)) return TCUDB_OK;
    bool holds =
        cache->known != NULL && first >= cache->first_day && (int64_t)last < cache->first_day + (int64_t)cache->nvalues;
    if (!holds) TRY(widen(run, node, col, first, last, cache, err));
    if (cache->failed) return TCUDB_OK;
    uint32_t *entries = arena_alloc_raw(run->ctx->arena, run->batch->rows * sizeof *entries, err);
    TRY_PTR(entries);
    const int32_t *days = col->data;
    uint8_t known = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel == NULL ? i : sel[i];
        bool null = col->valid != NULL && !bit_get(col->valid, row);
        entries[row] = null ? cache->nvalues : (uint32_t)(days[row] - cache->first_day);
        known &= cache->known[entries[row]];
    }
    if (!known) TRY(learn(run, node, col, entries, sel, n, cache, err));
    Vector codes = {.data = entries, .valid = NULL};
    bool null_shows = col->valid != NULL && !bit_get(cache->result.valid, cache->nvalues);
    if (null_shows) cache->nulls = true;
    *done = true;
    return eval_map_codes(run, node, &codes, cache, sel, n, out, err);
}
