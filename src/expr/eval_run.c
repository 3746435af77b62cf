/*
 * eval_run.c: runs compiled expressions over a batch.
 *
 * Every node is evaluated at a list of rows (sel) and may leave the others undefined, so AND, OR, CASE and
 * COALESCE narrow the list for what follows and an error in a row that SQL does not reach is not raised.
 * Strict functions see the rows without NULL arguments only. A subtree over one dictionary-coded text column
 * is evaluated once per dictionary entry as soon as more rows have passed than there are entries (texts that never
 * repeat are evaluated where they stand); if some entry raises an error the cache is given up, since that entry may
 * occur in no live row.
 */
#include "expr/eval_int.h"

#include <assert.h>

static const uint64_t zeros[8];

tcudb_status eval_new_vector(EvalRun *run, Type type, uint32_t rows, Vector *out, Error *err)
{
    Phys phys = type_phys(type);
    *out = (Vector){.type = type, .phys = (uint8_t)phys, .form = VEC_FLAT};
    out->data = arena_alloc_raw(run->ctx->arena, phys_size(phys) * rows + 64, err);
    TRY_PTR(out->data);
    return TCUDB_OK;
}

static void const_null(Type type, Vector *out)
{
    *out = (Vector){.type = type, .phys = (uint8_t)type_phys(type), .form = VEC_CONST};
    out->data = (void *)(uintptr_t)zeros;
    out->valid = (uint64_t *)(uintptr_t)zeros;
}

static inline uint32_t row_at(const uint16_t *sel, uint32_t i)
{
    return sel == NULL ? i : sel[i];
}

static bool const_is_null(const Vector *v)
{
    return v->form == VEC_CONST && v->valid != NULL && (v->valid[0] & 1) == 0;
}

static tcudb_status new_sel(EvalRun *run, uint32_t n, uint16_t **out, Error *err)
{
    *out = arena_alloc_raw(run->ctx->arena, (n + 1) * sizeof **out, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status new_valid(EvalRun *run, uint32_t rows, uint64_t **out, Error *err)
{
    *out = arena_alloc_raw(run->ctx->arena, bit_words(rows) * sizeof **out, err);
    TRY_PTR(*out);
    memset(*out, 0xff, bit_words(rows) * sizeof **out);
    return TCUDB_OK;
}

/* ---- function calls ---------------------------------------------------------------------------- */

/* ANDs the validity of all flat arguments; *out NULL if there are no NULLs. */
static tcudb_status combine_valid(EvalRun *run, const Vector *args, uint32_t nargs, uint64_t **out, Error *err)
{
    uint32_t rows = run->batch->rows;
    *out = NULL;
    for (uint32_t i = 0; i < nargs; i++) {
        if (args[i].valid == NULL || args[i].form == VEC_CONST) continue;
        if (*out == NULL) TRY(new_valid(run, rows, out, err));
        for (size_t w = 0; w < bit_words(rows); w++) (*out)[w] &= args[i].valid[w];
    }
    return TCUDB_OK;
}

static tcudb_status select_valid(EvalRun *run, const uint64_t *valid, const uint16_t *sel, uint32_t n,
                                 const uint16_t **out, uint32_t *n_out, Error *err)
{
    uint16_t *live;
    TRY(new_sel(run, n, &live, err));
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = row_at(sel, i);
        live[k] = (uint16_t)row;
        k += bit_get(valid, row);
    }
    *out = live;
    *n_out = k;
    return TCUDB_OK;
}

static tcudb_status call_kernel(EvalRun *run, const EvalNode *node, const Vector *args, const uint16_t *sel, uint32_t n,
                                Vector *out, Error *err)
{
    uint64_t *valid = NULL;
    if (node->func->flags & FUNC_STRICT) TRY(combine_valid(run, args, node->nargs, &valid, err));
    if (valid != NULL) TRY(select_valid(run, valid, sel, n, &sel, &n, err));
    TRY(eval_new_vector(run, node->type, run->batch->rows, out, err));
    if (n > 0) TRY(node->func->eval(run->ctx, args, node->nargs, sel, n, out, err));
    if (valid == NULL) return TCUDB_OK;
    if (out->valid != NULL)
        for (size_t w = 0; w < bit_words(run->batch->rows); w++) valid[w] &= out->valid[w];
    out->valid = valid;
    return TCUDB_OK;
}

/* All arguments constant: one row, then a constant result. */
static tcudb_status call_once(EvalRun *run, const EvalNode *node, Vector *args, Vector *out, Error *err)
{
    for (uint32_t i = 0; i < node->nargs; i++) args[i].form = VEC_FLAT;
    Batch one = {.rows = 1, .n = 1};
    const Batch *batch = run->batch;
    run->batch = &one;
    tcudb_status status = call_kernel(run, node, args, NULL, 1, out, err);
    run->batch = batch;
    out->form = VEC_CONST;
    return status;
}

static tcudb_status flatten_args(EvalRun *run, const EvalNode *node, Vector *args, bool consts_too, const uint16_t *sel,
                                 uint32_t n, Error *err)
{
    for (uint32_t i = 0; i < node->nargs; i++) {
        if (args[i].form == VEC_FLAT || (args[i].form == VEC_CONST && !consts_too)) continue;
        Vector flat;
        TRY(vec_flatten(run->ctx->arena, &args[i], sel, n, run->batch->rows, &flat, err));
        args[i] = flat;
    }
    return TCUDB_OK;
}

static tcudb_status eval_func(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out,
                              Error *err)
{
    enum { ON_STACK = 3 };
    Vector few[ON_STACK] = {0};
    Vector *args = few;
    if (node->nargs > ON_STACK) {
        args = ARENA_ARRAY(run->ctx->arena, Vector, node->nargs, err);
        TRY_PTR(args);
    }
    bool strict = node->func->flags & FUNC_STRICT, all_const = true;
    for (uint32_t i = 0; i < node->nargs; i++) {
        TRY(eval_node(run, node->args[i], sel, n, &args[i], err));
        all_const &= args[i].form == VEC_CONST;
    }
    for (uint32_t i = 0; i < node->nargs && strict; i++) {
        if (!const_is_null(&args[i])) continue;
        const_null(node->type, out);
        return TCUDB_OK;
    }
    bool per_row = node->func->flags & FUNC_VOLATILE;
    if (all_const && !per_row) return call_once(run, node, args, out, err);
    TRY(flatten_args(run, node, args, all_const, sel, n, err));
    return call_kernel(run, node, args, sel, n, out, err);
}

/* ---- AND, OR ------------------------------------------------------------------------------------ */

/* Three-valued AND/OR share one loop: `stop` is the value that decides a row (false for AND). */
typedef struct Logic {
    bool stop;
    uint8_t *value;
    uint64_t *valid; /* cleared where a NULL was seen and nothing has decided yet */
} Logic;

static tcudb_status logic_const(EvalRun *run, Logic *l, const Vector *v, const uint16_t *rows, uint32_t *n, Error *err)
{
    if (const_is_null(v)) {
        if (l->valid == NULL) TRY(new_valid(run, run->batch->rows, &l->valid, err));
        for (uint32_t i = 0; i < *n; i++) bit_clear(l->valid, rows[i]);
    } else if (*(const uint8_t *)v->data == l->stop) {
        for (uint32_t i = 0; i < *n; i++) {
            l->value[rows[i]] = l->stop;
            if (l->valid != NULL) bit_set(l->valid, rows[i]);
        }
        *n = 0;
    }
    return TCUDB_OK;
}

static tcudb_status logic_flat(EvalRun *run, Logic *l, const Vector *v, uint16_t *rows, uint32_t *n, Error *err)
{
    const uint8_t *data = v->data;
    uint32_t k = 0;
    assert(data != NULL);
    if (v->valid != NULL && l->valid == NULL) TRY(new_valid(run, run->batch->rows, &l->valid, err));
    for (uint32_t i = 0; i < *n; i++) {
        uint16_t row = rows[i];
        bool null = v->valid != NULL && !bit_get(v->valid, row);
        bool decided = !null && (data[row] != 0) == l->stop;
        if (null) bit_clear(l->valid, row);
        if (decided) {
            l->value[row] = l->stop;
            if (l->valid != NULL) bit_set(l->valid, row);
        }
        rows[k] = row;
        k += !decided;
    }
    *n = k;
    return TCUDB_OK;
}

static tcudb_status eval_logic(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out,
                               Error *err)
{
    TRY(eval_new_vector(run, node->type, run->batch->rows, out, err));
    uint16_t *rows;
    TRY(new_sel(run, n, &rows, err));
    Logic l = {.stop = node->op == EV_OR, .value = out->data};
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = (uint16_t)row_at(sel, i);
        l.value[rows[i]] = !l.stop;
    }
    for (uint32_t a = 0; a < node->nargs && n > 0; a++) {
        Vector v = {0};
        TRY(eval_node(run, node->args[a], rows, n, &v, err));
        if (v.form == VEC_CONST)
            TRY(logic_const(run, &l, &v, rows, &n, err));
        else
            TRY(logic_flat(run, &l, &v, rows, &n, err));
    }
    out->valid = l.valid;
    return TCUDB_OK;
}

/* ---- CASE, COALESCE ------------------------------------------------------------------------------ */

#define COPY_VALUES(T)                                                                                                 \
    do {                                                                                                               \
        T *to_ = out->data;                                                                                            \
        const T *from_ = v->data;                                                                                      \
        for (uint32_t i = 0; i < n; i++) to_[rows[i]] = from_[rows[i]];                                                \
    } while (0)

static void copy_values(Vector *out, const Vector *v, const uint16_t *rows, uint32_t n)
{
    switch (phys_size((Phys)out->phys)) {
    case 1: COPY_VALUES(uint8_t); break;
    case 2: COPY_VALUES(uint16_t); break;
    case 4: COPY_VALUES(uint32_t); break;
    case 8: COPY_VALUES(uint64_t); break;
    case sizeof(Num): COPY_VALUES(Num); break;
    default: assert(phys_size((Phys)out->phys) == 16); COPY_VALUES(Str);
    }
}

#define WIDEN_VALUES(T)                                                                                                \
    do {                                                                                                               \
        const T *from_ = v->data;                                                                                      \
        for (uint32_t i = 0; i < n; i++) to[rows[i]] = (Num){.value = from_[rows[i]], .scale = scale};                 \
    } while (0)

/* Integers and decimals with a scale, as numbers that carry it. */
static void widen_values(Vector *out, const Vector *v, const uint16_t *rows, uint32_t n)
{
    Num *to = out->data;
    const int32_t scale = v->type.id == TYPE_NUMERIC ? v->type.scale : 0;
    switch (v->phys) {
    case PHYS_I16: WIDEN_VALUES(int16_t); break;
    case PHYS_I32: WIDEN_VALUES(int32_t); break;
    case PHYS_I64: WIDEN_VALUES(int64_t); break;
    default: assert(v->phys == PHYS_I128); WIDEN_VALUES(int128);
    }
}

static tcudb_status copy_rows(EvalRun *run, Vector *out, const Vector *v, const uint16_t *rows, uint32_t n, Error *err)
{
    Vector flat = *v;
    if (v->form != VEC_FLAT) TRY(vec_flatten(run->ctx->arena, v, rows, n, run->batch->rows, &flat, err));
    assert(flat.data != NULL);
    if (out->phys == PHYS_NUM && flat.phys != PHYS_NUM)
        widen_values(out, &flat, rows, n);
    else
        copy_values(out, &flat, rows, n);
    if (flat.valid == NULL && out->valid == NULL) return TCUDB_OK;
    if (out->valid == NULL) TRY(new_valid(run, run->batch->rows, &out->valid, err));
    for (uint32_t i = 0; i < n; i++)
        if (vec_is_null(&flat, rows[i])) bit_clear(out->valid, rows[i]);
    return TCUDB_OK;
}

/* Splits rows into those where the predicate v is true (hit) and the others (rest; may be rows itself). */
static void split_true(const Vector *v, const uint16_t *rows, uint32_t n, uint16_t *hit, uint32_t *nhit, uint16_t *rest,
                       uint32_t *nrest)
{
    uint32_t h = 0, r = 0;
    const uint8_t *data = v->data;
    assert(data != NULL);
    for (uint32_t i = 0; i < n; i++) {
        uint16_t row = rows[i];
        bool yes = !vec_is_null(v, row) && data[v->form == VEC_CONST ? 0 : row] != 0;
        hit[h] = row;
        rest[r] = row;
        h += yes;
        r += !yes;
    }
    *nhit = h;
    *nrest = r;
}

static tcudb_status own_rows(EvalRun *run, const uint16_t *sel, uint32_t n, uint16_t **rows, uint16_t **scratch,
                             Error *err)
{
    TRY(new_sel(run, n, rows, err));
    TRY(new_sel(run, n, scratch, err));
    for (uint32_t i = 0; i < n; i++) (*rows)[i] = (uint16_t)row_at(sel, i);
    return TCUDB_OK;
}

/* What a branch's value is copied from: below a cast that only gives a number its scale along, which copying does. */
static const EvalNode *branch_source(const EvalNode *node)
{
    bool cast = node->op == EV_FUNC && node->nargs == 1 && node->func->kind == FUNC_CAST && node->phys == PHYS_NUM;
    if (!cast) return node;
    const EvalNode *from = node->args[0];
    bool integer = from->type.id == TYPE_INT2 || from->type.id == TYPE_INT4 || from->type.id == TYPE_INT8;
    return integer || (from->type.id == TYPE_NUMERIC && from->phys != PHYS_NUM) ? from : node;
}

static tcudb_status eval_case(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out,
                              Error *err)
{
    uint16_t *rows, *hit;
    TRY(own_rows(run, sel, n, &rows, &hit, err));
    TRY(eval_new_vector(run, node->type, run->batch->rows, out, err));
    for (uint32_t a = 0; a < node->nargs && n > 0; a += 2) {
        bool is_else = a + 1 == node->nargs;
        Vector v = {0};
        uint32_t nhit = n;
        const uint16_t *at = rows;
        if (!is_else) {
            TRY(eval_node(run, node->args[a], rows, n, &v, err));
            split_true(&v, rows, n, hit, &nhit, rows, &n);
            at = hit;
        }
        if (nhit == 0) continue;
        TRY(eval_node(run, branch_source(node->args[is_else ? a : a + 1]), at, nhit, &v, err));
        TRY(copy_rows(run, out, &v, at, nhit, err));
    }
    return TCUDB_OK;
}

static tcudb_status eval_coalesce(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out,
                                  Error *err)
{
    TRY(eval_node(run, node->args[0], sel, n, out, err));
    if (out->valid == NULL) return TCUDB_OK;
    uint16_t *rows, *hit;
    TRY(own_rows(run, sel, n, &rows, &hit, err));
    Vector v = *out;
    TRY(eval_new_vector(run, node->type, run->batch->rows, out, err));
    for (uint32_t a = 0; a < node->nargs && n > 0; a++) {
        if (a > 0) TRY(eval_node(run, node->args[a], rows, n, &v, err));
        uint32_t nhit = 0, nrest = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint16_t row = rows[i];
            bool null = vec_is_null(&v, row);
            hit[nhit] = row;
            rows[nrest] = row;
            nhit += !null;
            nrest += null;
        }
        TRY(copy_rows(run, out, &v, hit, nhit, err));
        n = nrest;
    }
    if (n > 0 && out->valid == NULL) TRY(new_valid(run, run->batch->rows, &out->valid, err));
    for (uint32_t i = 0; i < n; i++) bit_clear(out->valid, rows[i]);
    return TCUDB_OK;
}

/* ---- IN ------------------------------------------------------------------------------------------ */

static int64_t int_at(const Vector *v, uint32_t row)
{
    assert(v->data != NULL);
    switch (v->phys) {
    case PHYS_BOOL: return ((const uint8_t *)v->data)[row];
    case PHYS_I16: return ((const int16_t *)v->data)[row];
    case PHYS_I32: return ((const int32_t *)v->data)[row];
    default: return ((const int64_t *)v->data)[row];
    }
}

static bool find_int(const InSet *set, int64_t x)
{
    uint32_t lo = 0, n = set->n;
    while (n > 1) { /* branch-free lower bound */
        uint32_t half = n / 2;
        lo += set->ints[lo + half] <= x ? half : 0;
        n -= half;
    }
    return n == 1 && set->ints[lo] == x;
}

static bool find_value(const InSet *set, const Value *x)
{
    uint32_t lo = 0, hi = set->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = value_compare(&set->values[mid], x);
        if (order == 0) return true;
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

tcudb_status eval_in(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out, Error *err)
{
    Vector x = {0};
    const InSet *set = node->in;
    TRY(eval_node(run, node->args[0], sel, n, &x, err));
    if (const_is_null(&x)) {
        const_null(node->type, out);
        return TCUDB_OK;
    }
    TRY(eval_new_vector(run, node->type, run->batch->rows, out, err));
    if (x.valid != NULL || set->has_null) TRY(new_valid(run, run->batch->rows, &out->valid, err));
    uint8_t *found = out->data;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = row_at(sel, i);
        if (vec_is_null(&x, row)) {
            bit_clear(out->valid, row);
            continue;
        }
        if (set->ints != NULL) {
            found[row] = find_int(set, int_at(&x, x.form == VEC_CONST ? 0 : row));
        } else {
            Value value = vec_value(&x, row);
            found[row] = find_value(set, &value);
        }
        if (set->has_null && !found[row]) bit_clear(out->valid, row);
    }
    return TCUDB_OK;
}

/* ---- once per dictionary entry --------------------------------------------------------------------- */

tcudb_status eval_keep(EvalState *state, DictCache *cache, uint32_t at, const Vector *v, uint32_t i, Error *err)
{
    size_t size = phys_size((Phys)v->phys);
    uint32_t from = v->form == VEC_CONST ? 0 : i;
    if (vec_is_null(v, i)) {
        bit_clear(cache->result.valid, at);
        cache->nulls |= at != cache->nvalues;
    } else if (v->phys == PHYS_STR) {
        Str text = v->form == VEC_DICT ? v->values[((const uint32_t *)v->data)[from]] : ((const Str *)v->data)[from];
        char *copy = arena_strndup(state->arena, text.ptr, text.len, err);
        TRY_PTR(copy);
        ((Str *)cache->result.data)[at] = (Str){copy, text.len};
    } else {
        memcpy((char *)cache->result.data + at * size, (const char *)v->data + from * size, size);
    }
    return TCUDB_OK;
}

static tcudb_status eval_entries(EvalRun *run, const EvalNode *node, const Vector *col, DictCache *cache, uint32_t at,
                                 uint32_t n, Arena *arena, Error *err)
{
    Vector *cols = ARENA_ARRAY(arena, Vector, node->only_col + 1, err);
    TRY_PTR(cols);
    Vector *entries = &cols[node->only_col];
    Vector null_entry;
    *entries = (Vector){.type = col->type, .phys = PHYS_STR, .form = VEC_FLAT};
    entries->data = (void *)(uintptr_t)(col->values + at);
    if (at == cache->nvalues) {
        const_null(col->type, &null_entry);
        *entries = null_entry;
    }
    Batch batch = {.rows = n, .n = n, .ncols = node->only_col + 1, .cols = cols};
    EvalCtx ctx = *run->ctx;
    ctx.arena = arena;
    EvalRun inner = {run->state, &ctx, &batch, true};
    Vector v = {0};
    TRY(eval_node(&inner, node, NULL, n, &v, err));
    for (uint32_t i = 0; i < n; i++) TRY(eval_keep(run->state, cache, at + i, &v, i, err));
    return TCUDB_OK;
}

static tcudb_status fill_cache(EvalRun *run, const EvalNode *node, const Vector *col, DictCache *cache, Error *err)
{
    uint32_t n = cache->nvalues + 1;
    Arena *arena = run->state->arena;
    cache->result = (Vector){.type = node->type, .phys = node->phys, .form = VEC_FLAT};
    cache->result.data = arena_alloc(arena, phys_size((Phys)node->phys) * n, err);
    TRY_PTR(cache->result.data);
    cache->result.valid = arena_alloc_raw(arena, bit_words(n) * sizeof(uint64_t), err);
    TRY_PTR(cache->result.valid);
    memset(cache->result.valid, 0xff, bit_words(n) * sizeof(uint64_t));
    Arena scratch;
    arena_init(&scratch, arena->mem);
    tcudb_status status = TCUDB_OK;
    for (uint32_t at = 0; at < n && status == TCUDB_OK; at += BATCH_ROWS) {
        uint32_t count = cache->nvalues - at < BATCH_ROWS ? cache->nvalues - at : BATCH_ROWS;
        arena_reset(&scratch);
        if (count > 0) status = eval_entries(run, node, col, cache, at, count, &scratch, err);
    }
    if (status == TCUDB_OK) status = eval_entries(run, node, col, cache, cache->nvalues, 1, &scratch, err);
    arena_free(&scratch);
    return status;
}

/* Finds or builds the cache for this batch's dictionary; *out NULL: evaluate row by row. */
static tcudb_status dict_cache(EvalRun *run, const EvalNode *node, const Vector *col, uint32_t n, DictCache **out,
                               Error *err)
{
    enum { SMALL_DICT = 2 * BATCH_ROWS };
    DictCache *cache = &run->state->caches[node->cache];
    *out = NULL;
    if (cache->dict_id != col->dict_id || cache->nvalues != col->nvalues)
        *cache = (DictCache){.dict_id = col->dict_id, .nvalues = col->nvalues};
    cache->rows_seen += n;
    if (cache->failed) return TCUDB_OK;
    if (cache->result.data == NULL) {
        if (cache->nvalues > SMALL_DICT && cache->rows_seen < cache->nvalues + cache->nvalues / 4) return TCUDB_OK;
        Error ignored = {0};
        tcudb_status status = fill_cache(run, node, col, cache, &ignored);
        cache->failed = status == TCUDB_ERROR;
        if (cache->failed) return TCUDB_OK;
        if (status != TCUDB_OK) {
            cache->result.data = NULL;
            if (err != NULL) *err = ignored;
            return status;
        }
    }
    *out = cache;
    return TCUDB_OK;
}

#define GATHER(T)                                                                                                      \
    for (uint32_t i = 0; i < n; i++) {                                                                                 \
        uint32_t row = row_at(sel, i);                                                                                 \
        ((T *)out->data)[row] = ((const T *)cache->result.data)[codes[row]];                                           \
    }

tcudb_status eval_map_codes(EvalRun *run, const EvalNode *node, const Vector *col, const DictCache *cache,
                            const uint16_t *sel, uint32_t n, Vector *out, Error *err)
{
    const uint32_t *codes = col->data;
    uint32_t rows = run->batch->rows;
    if (col->valid != NULL) { /* NULL rows take the entry behind the last */
        uint32_t *own = arena_alloc_raw(run->ctx->arena, rows * sizeof *own, err);
        TRY_PTR(own);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = row_at(sel, i);
            own[row] = bit_get(col->valid, row) ? codes[row] : cache->nvalues;
        }
        codes = own;
    }
    TRY(eval_new_vector(run, node->type, rows, out, err));
    switch (phys_size((Phys)node->phys)) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    case 16: GATHER(Str); break;
    case sizeof(Num): GATHER(Num); break;
    default: {
        size_t size = phys_size((Phys)node->phys);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = row_at(sel, i);
            memcpy((char *)out->data + row * size, (const char *)cache->result.data + codes[row] * size, size);
        }
    }
    }
    if (!cache->nulls && col->valid == NULL) return TCUDB_OK;
    TRY(new_valid(run, rows, &out->valid, err));
    uint64_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = row_at(sel, i);
        uint64_t null = !bit_get(cache->result.valid, codes[row]);
        any |= null;
        out->valid[row >> 6] &= ~(null << (row & 63));
    }
    if (!any) out->valid = NULL;
    return TCUDB_OK;
}

/* ---- the dispatcher --------------------------------------------------------------------------------- */

static tcudb_status eval_col(EvalRun *run, const EvalNode *node, Vector *out, Error *err)
{
    if (node->col >= run->batch->ncols)
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "the batch has no column %u", node->col);
    *out = run->batch->cols[node->col];
    out->type = node->type;
    return TCUDB_OK;
}

tcudb_status eval_node(EvalRun *run, const EvalNode *node, const uint16_t *sel, uint32_t n, Vector *out, Error *err)
{
    if (node->op == EV_CONST) {
        *out = node->constant;
        return TCUDB_OK;
    }
    if (node->op == EV_COL) return eval_col(run, node, out, err);
    if (n == 0) {
        const_null(node->type, out);
        return TCUDB_OK;
    }
    if (node->cache != EVAL_NO_CACHE && !run->no_dict && node->only_col < run->batch->ncols) {
        const Vector *col = &run->batch->cols[node->only_col];
        DictCache *cache = NULL;
        if (col->form == VEC_DICT && col->dict_id != 0) TRY(dict_cache(run, node, col, n, &cache, err));
        if (cache != NULL) return eval_map_codes(run, node, col, cache, sel, n, out, err);
        bool done = false;
        if (node->days) TRY(eval_by_days(run, node, col, sel, n, out, &done, err));
        if (done) return TCUDB_OK;
    }
    switch (node->op) {
    case EV_FUNC: return eval_func(run, node, sel, n, out, err);
    case EV_AND:
    case EV_OR: return eval_logic(run, node, sel, n, out, err);
    case EV_CASE: return eval_case(run, node, sel, n, out, err);
    case EV_COALESCE: return eval_coalesce(run, node, sel, n, out, err);
    case EV_IN: return eval_in(run, node, sel, n, out, err);
    default: return error_set(err, SQLSTATE_INTERNAL_ERROR, "unknown step %d", (int)node->op);
    }
}

tcudb_status eval_run(const Evaluator *e, EvalState *state, EvalCtx *ctx, const Batch *batch, Vector *out, Error *err)
{
    EvalRun run = {state, ctx, batch, false};
    return eval_node(&run, e->root, batch->sel, batch->n, out, err);
}

/* Keeps the rows of sel (NULL: 0..n-1) where the predicate is true; out may be sel. */
static uint32_t keep_true(const Vector *v, const uint16_t *sel, uint32_t n, uint16_t *out)
{
    const uint8_t *data = v->data;
    uint32_t k = 0;
    assert(data != NULL);
    if (v->form == VEC_CONST) {
        if (const_is_null(v) || data[0] == 0) return 0;
        for (uint32_t i = 0; i < n; i++) out[i] = (uint16_t)row_at(sel, i);
        return n;
    }
    if (v->valid != NULL) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = row_at(sel, i);
            out[k] = (uint16_t)row;
            k += data[row] & bit_get(v->valid, row);
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t row = row_at(sel, i);
            out[k] = (uint16_t)row;
            k += data[row];
        }
    }
    return k;
}

tcudb_status eval_filter(const Evaluator *e, EvalState *state, EvalCtx *ctx, const Batch *batch, uint16_t *sel_out,
                         uint32_t *n_out, Error *err)
{
    assert(batch->rows <= BATCH_ROWS);
    EvalRun run = {state, ctx, batch, false};
    const EvalNode *root = e->root;
    bool split = root->op == EV_AND && root->cache == EVAL_NO_CACHE;
    const uint16_t *sel = batch->sel;
    uint32_t n = batch->n, parts = split ? root->nargs : 1;
    for (uint32_t i = 0; i < parts && n > 0; i++) {
        Vector v = {0};
        TRY(eval_node(&run, split ? root->args[i] : root, sel, n, &v, err));
        n = keep_true(&v, sel, n, sel_out);
        sel = sel_out;
    }
    *n_out = n;
    return TCUDB_OK;
}
