/*
 * join_build.c: the hash join's table over the right rows.
 *
 * One integer (or dictionary code) as the key with a domain not much larger than the number of rows: an
 * array over the domain, whose entry is the row with that key; if keys repeat, the rows are put into the order
 * of their keys and the entry is where a key's rows begin, so a probe yields a range of neighbouring rows. Otherwise
 * chains hang on a power of two of heads, picked by hash, and the key words of each row are kept for comparison. Rows
 * with a NULL key are in no chain. Rows go in from the last to the first, so chains ascend and results do not depend on
 * the number of workers.
 */
#include "exec/cpu/join_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 16 * BATCH_ROWS, DENSE_PER_ROW = 32, DENSE_MIN = 1 << 16 };

typedef struct Build {
    Join *j;
    uint64_t *hash; /* by row */
    uint8_t *null;  /* by row: the key has a NULL */
    uint32_t nparts;
} Build;

/* Computed texts lie in the batch's memory, which the next batch takes; those of columns in that of the rows. */
static tcudb_status keep_texts(Join *j, uint32_t k, Worker *w, const uint8_t *null, uint64_t *keys, uint32_t n,
                               Error *err)
{
    const KeySpec *spec = &j->right_spec;
    const KeyCol *col = &spec->cols[k];
    size_t total = 0;
    if ((col->form != KEY_TEXT && col->form != KEY_PADDED) || j->right_exprs[k]->kind == EXPR_COL) return TCUDB_OK;
    for (uint32_t i = 0; i < n; i++) total += null[i] ? 0 : (uint32_t)keys[(size_t)i * spec->words + col->word];
    char *to = arena_alloc_raw(&j->texts[w->id], total + 1, err);
    TRY_PTR(to);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *key = keys + (size_t)i * spec->words;
        uint32_t len = null[i] ? 0 : (uint32_t)key[col->word];
        if (len == 0) continue;
        memcpy(to, (const char *)(uintptr_t)key[col->extra], len);
        key[col->extra] = (uint64_t)(uintptr_t)to;
        to += len;
    }
    return TCUDB_OK;
}

/* Encodes the keys of rows [at, at + n). */
static tcudb_status encode(Build *b, Worker *w, uint64_t at, uint32_t n, Error *err)
{
    Join *j = b->j;
    Arena *arena = worker_arena(w);
    Batch batch = {.rows = n, .n = n, .ncols = j->right.n};
    batch.cols = ARENA_ARRAY(arena, Vector, batch.ncols + 1, err);
    TRY_PTR(batch.cols);
    for (uint32_t c = 0; c < batch.ncols; c++) TRY(rows_slice(j->rows, c, at, n, arena, &batch.cols[c], err));
    Vector *keys = ARENA_ARRAY(arena, Vector, j->nkeys, err);
    TRY_PTR(keys);
    for (uint32_t k = 0; k < j->nkeys; k++) {
        TRY(ev_run(&j->right_keys[k], w, &batch, &keys[k], err));
        for (uint32_t i = 0; i < n && keys[k].valid != NULL; i++) b->null[at + i] |= vec_is_null(&keys[k], i);
    }
    uint64_t *words = j->keys + at * j->right_spec.words;
    TRY(keys_encode(&j->right_spec, arena, keys, NULL, n, n, words, b->hash + at, err));
    for (uint32_t k = 0; k < j->nkeys; k++) TRY(keep_texts(j, k, w, b->null + at, words, n, err));
    return TCUDB_OK;
}

static tcudb_status encode_block(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Build *b = ctx;
    uint64_t end = (task + 1) * BLOCK < b->j->rows->n ? (task + 1) * BLOCK : b->j->rows->n;
    for (uint64_t at = task * BLOCK; at < end; at += BATCH_ROWS) {
        TRY(exec_check_cancel(b->j->x, err));
        arena_reset(&w->batch);
        TRY(encode(b, w, at, end - at < BATCH_ROWS ? (uint32_t)(end - at) : BATCH_ROWS, err));
    }
    return TCUDB_OK;
}

/* The domain of a single integer key, if an array over it is worth its memory. */
static bool dense_domain(Build *b)
{
    Join *j = b->j;
    KeyForm form = j->right_spec.cols[0].form;
    if (j->nkeys != 1 || (form != KEY_INT && form != KEY_CODE)) return false;
    int64_t min = INT64_MAX, max = INT64_MIN;
    const int64_t *keys = (const int64_t *)j->keys;
    for (uint64_t r = 0; r < j->rows->n; r++) {
        if (b->null[r]) continue;
        if (keys[r] < min) min = keys[r];
        if (keys[r] > max) max = keys[r];
    }
    if (min > max) return false;
    uint64_t width = (uint64_t)max - (uint64_t)min;
    if (width >= UINT32_MAX || width > j->rows->n * DENSE_PER_ROW + DENSE_MIN) return false;
    j->min = min;
    j->domain = width + 1;
    return true;
}

static inline uint64_t head_of(const Join *j, const Build *b, uint64_t row)
{
    return j->dense ? (uint64_t)((const int64_t *)j->keys)[row] - (uint64_t)j->min : b->hash[row] & j->mask;
}

/* Chains the rows whose head lies in this part of the heads. */
static tcudb_status chain_part(void *ctx, Worker *w, uint64_t part, Error *err)
{
    Build *b = ctx;
    Join *j = b->j;
    uint64_t nheads = j->dense ? j->domain : j->mask + 1;
    uint64_t from = nheads * part / b->nparts, to = nheads * (part + 1) / b->nparts;
    (void)w;
    for (uint64_t r = j->rows->n; r-- > 0;) {
        if ((r & 0xffff) == 0) TRY(exec_check_cancel(j->x, err));
        if (b->null[r]) continue;
        uint64_t at = head_of(j, b, r);
        if (at < from || at >= to) continue;
        j->next[r] = j->heads[at];
        j->heads[at] = (uint32_t)r + 1;
    }
    return TCUDB_OK;
}

/* ---- repeated keys ------------------------------------------------------------------------------------- */

typedef struct Unique {
    Join *j;
    atomic_bool repeated;
} Unique;

static tcudb_status look_for_repeats(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Unique *u = ctx;
    const Join *j = u->j;
    uint32_t words = j->right_spec.words;
    uint64_t end = (task + 1) * BLOCK < j->rows->n ? (task + 1) * BLOCK : j->rows->n;
    (void)w;
    TRY(exec_check_cancel(j->x, err));
    for (uint64_t r = task * BLOCK; r < end && !atomic_load_explicit(&u->repeated, memory_order_relaxed); r++) {
        for (uint32_t next = j->next[r]; next != 0; next = j->next[next - 1]) {
            bool same =
                j->dense || keys_equal(&j->right_spec, j->keys + r * words, j->keys + (next - 1) * (uint64_t)words);
            if (!same) continue;
            atomic_store_explicit(&u->repeated, true, memory_order_relaxed);
            break;
        }
    }
    return TCUDB_OK;
}

/* Brings the rows of a dense table into the order of their keys, so that a key's rows are neighbours:
 * starts[key - min] .. starts[key - min + 1]. Rows with a NULL key come last. */
static tcudb_status cluster(Build *b, Error *err)
{
    Join *j = b->j;
    uint64_t n = j->rows->n;
    uint32_t k = 0;
    uint32_t *order = exec_alloc(j->x, (n + 1) * sizeof *order, err);
    TRY_PTR(order);
    j->starts = exec_alloc(j->x, (j->domain + 1) * sizeof *j->starts, err);
    TRY_PTR(j->starts);
    for (uint64_t at = 0; at < j->domain; at++) {
        j->starts[at] = k;
        for (uint32_t r = j->heads[at]; r != 0; r = j->next[r - 1]) order[k++] = r - 1;
    }
    j->starts[j->domain] = k;
    for (uint64_t r = 0; r < n; r++)
        if (b->null[r]) order[k++] = (uint32_t)r;
    assert(k == n);
    Rows *sorted;
    TRY(rows_permute(j->rows, j->node, order, &sorted, err));
    rows_free(j->rows);
    j->rows = sorted;
    exec_free(j->x, order);
    exec_free(j->x, j->heads);
    exec_free(j->x, j->next);
    j->heads = j->next = NULL;
    return TCUDB_OK;
}

static tcudb_status check_unique(Build *b, Error *err)
{
    Join *j = b->j;
    Unique u = {.j = j};
    TRY(exec_parallel(j->x, j->node, (j->rows->n + BLOCK - 1) / BLOCK, look_for_repeats, &u, err));
    j->unique = !atomic_load(&u.repeated);
    return j->dense && !j->unique ? cluster(b, err) : TCUDB_OK;
}

/* ---- building -------------------------------------------------------------------------------------------- */

static tcudb_status alloc_table(Build *b, Error *err)
{
    Join *j = b->j;
    uint64_t n = j->rows->n, heads = 1024;
    j->dense = dense_domain(b);
    while (heads < n * 2) heads *= 2;
    j->mask = heads - 1;
    j->heads = exec_alloc_zero(j->x, (j->dense ? j->domain : heads) * sizeof *j->heads, err);
    TRY_PTR(j->heads);
    j->next = exec_alloc_zero(j->x, (n + 1) * sizeof *j->next, err);
    TRY_PTR(j->next);
    atomic_fetch_add(&j->node->stats.bytes, ((j->dense ? j->domain : heads) + n) * sizeof(uint32_t));
    return TCUDB_OK;
}

tcudb_status join_build(Join *j, Error *err)
{
    enum { PARALLEL_ROWS = 1 << 17 };
    uint64_t n = j->rows->n;
    Build b = {.j = j, .nparts = 1};
    j->keys = exec_alloc(j->x, (n * j->right_spec.words + 1) * sizeof *j->keys, err);
    TRY_PTR(j->keys);
    b.hash = exec_alloc(j->x, (n + 1) * sizeof *b.hash, err);
    TRY_PTR(b.hash);
    b.null = exec_alloc_zero(j->x, n + 1, err);
    TRY_PTR(b.null);
    TRY(exec_parallel(j->x, j->node, (n + BLOCK - 1) / BLOCK, encode_block, &b, err));
    for (uint64_t r = 0; r < n; r++) j->null_key |= b.null[r];
    TRY(alloc_table(&b, err));
    if (n > PARALLEL_ROWS) b.nparts = j->x->nworkers;
    TRY(exec_parallel(j->x, j->node, b.nparts, chain_part, &b, err));
    TRY(check_unique(&b, err));
    exec_free(j->x, b.hash);
    exec_free(j->x, b.null);
    if (j->dense) {
        exec_free(j->x, j->keys);
        j->keys = NULL;
    }
    if (j->dense)
        exec_note(j->node, "array over %llu keys%s", (unsigned long long)j->domain, j->unique ? ", unique" : "");
    else
        exec_note(j->node, "hash table%s", j->unique ? ", unique" : "");
    return TCUDB_OK;
}
