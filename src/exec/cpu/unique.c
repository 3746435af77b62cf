/*
 * unique.c: UNIQUE and PRIMARY KEY of rows on their way into a table.
 *
 * There is no index: the new rows' keys are numbered in a hash table, the table's live rows are looked up in it, all
 * workers at once, and what they hit is taken. Then the new rows come one by one, in their order, each taking its
 * keys; the first that finds one taken is PostgreSQL's error. Rows with a NULL in a key have none.
 *
 *     numbers[key][row]   which distinct value a new row has there; NO_KEY: a NULL
 *     taken[key][number]  by a row of the table, or by a new row before this one
 *
 * Segments whose exact bounds exclude all new keys are not read, so appending growing numbers costs nothing a
 * segment. Else the cost is a scan of the key columns a statement: rows are best added many at a time.
 */
#include "exec/cpu/modify_int.h"
#include "exec/keys.h"

#include <assert.h>
#include <string.h>

enum { NO_KEY = UINT32_MAX, FREE = 0, BY_TABLE = 1, BY_NEW_ROW = 2 };

typedef struct KeyState {
    const KeyDef *def;
    KeySpec spec;
    KeyTable table;
    uint32_t *numbers[2]; /* by part */
    _Atomic uint8_t *taken;
    bool bounded; /* the key's first column is an integer: the new rows' are within */
    int64_t min, max;
} KeyState;

typedef struct Unique {
    Exec *x;
    PhysNode *node;
    const TableDef *def;
    const Table *table;
    const Rows *rows;
    NewRows *parts;
    uint32_t nparts;
    KeyState *keys;
} Unique;

static bool as_integer(const Value *value, int64_t *out)
{
    switch (type_phys(value->type)) {
    case PHYS_I16: *out = value->i16; return true;
    case PHYS_I32: *out = value->i32; return true;
    case PHYS_I64: *out = value->i64; return true;
    default: return false;
    }
}

/* ---- numbering the new rows ---------------------------------------------------------------------------- */

static void widen_bounds(KeyState *k, const Vector *v, const uint16_t *sel, uint32_t n)
{
    for (uint32_t i = 0; i < n && k->bounded; i++) {
        Value value = vec_value(v, sel[i]);
        int64_t at = 0;
        k->bounded = as_integer(&value, &at);
        if (at < k->min) k->min = at;
        if (at > k->max) k->max = at;
    }
}

/* The rows of a batch of key columns that have no NULL. */
static uint32_t without_nulls(const Vector *cols, uint32_t ncols, const uint16_t *in, uint32_t n, uint16_t *sel)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint16_t row = in == NULL ? (uint16_t)i : in[i];
        bool null = false;
        for (uint32_t c = 0; c < ncols; c++) null = null || vec_is_null(&cols[c], row);
        sel[kept] = row;
        kept += !null;
    }
    return kept;
}

typedef struct Encoded {
    uint32_t n;
    uint16_t sel[BATCH_ROWS];
    uint64_t hash[BATCH_ROWS];
    uint64_t *keys;
} Encoded;

static tcudb_status encode(const KeyState *k, Arena *arena, const Vector *cols, const uint16_t *in, uint32_t n,
                           uint32_t rows, Encoded **out, Error *err)
{
    Encoded *e = arena_alloc_raw(arena, sizeof *e, err);
    TRY_PTR(e);
    e->n = without_nulls(cols, k->def->ncols, in, n, e->sel);
    e->keys = arena_alloc_raw(arena, ((size_t)e->n * k->spec.words + 1) * sizeof *e->keys, err);
    TRY_PTR(e->keys);
    *out = e;
    return keys_encode(&k->spec, arena, cols, e->sel, e->n, rows, e->keys, e->hash, err);
}

static tcudb_status number_batch(Unique *u, KeyState *k, uint32_t part, uint64_t at, uint32_t n, Error *err)
{
    Arena *arena = &u->x->workers[0].batch;
    const NewRows *rows = &u->parts[part];
    Encoded *e = NULL;
    arena_reset(arena);
    Vector *cols = ARENA_ARRAY(arena, Vector, k->def->ncols, err);
    TRY_PTR(cols);
    for (uint32_t c = 0; c < k->def->ncols; c++)
        TRY(rows_gather(u->rows, rows->first + k->def->cols[c], rows->order + at, n, NULL, n, false, arena, &cols[c],
                        err));
    TRY(encode(k, arena, cols, NULL, n, n, &e, err));
    widen_bounds(k, &cols[0], e->sel, e->n);
    uint32_t *found = arena_alloc_raw(arena, (e->n + 1) * sizeof *found, err);
    TRY_PTR(found);
    TRY(keytable_find(&k->table, e->keys, e->hash, e->n, found, err));
    for (uint32_t i = 0; i < n; i++) k->numbers[part][at + i] = NO_KEY;
    for (uint32_t i = 0; i < e->n; i++) k->numbers[part][at + e->sel[i]] = found[i];
    return TCUDB_OK;
}

static tcudb_status number_rows(Unique *u, KeyState *k, Error *err)
{
    Type *types = ARENA_ARRAY(&u->x->arena, Type, k->def->ncols, err);
    TRY_PTR(types);
    ColInfo *infos = ARENA_ARRAY(&u->x->arena, ColInfo, k->def->ncols, err);
    TRY_PTR(infos);
    for (uint32_t c = 0; c < k->def->ncols; c++) types[c] = u->def->cols[k->def->cols[c]].type;
    TRY(keys_spec(u->x, types, infos, k->def->ncols, false, &k->spec, err));
    TRY(keytable_init(u->x, &k->spec, 0, &u->x->workers[0].own, &k->table, err));
    for (uint32_t p = 0; p < u->nparts; p++) {
        uint64_t total = u->parts[p].n;
        k->numbers[p] = exec_alloc(u->x, (total + 1) * sizeof(uint32_t), err);
        TRY_PTR(k->numbers[p]);
        for (uint64_t at = 0; at < total; at += BATCH_ROWS) {
            uint32_t n = total - at < BATCH_ROWS ? (uint32_t)(total - at) : BATCH_ROWS;
            TRY(exec_check_cancel(u->x, err));
            TRY(number_batch(u, k, p, at, n, err));
        }
    }
    k->taken = exec_alloc_zero(u->x, k->table.n + 1, err);
    TRY_PTR(k->taken);
    return TCUDB_OK;
}

/* ---- the table's rows ---------------------------------------------------------------------------------- */

static bool out_of_bounds(const Unique *u, const KeyState *k, uint32_t segment)
{
    const SegColumn *col = segment_column(u->table, segment, k->def->cols[0]);
    int64_t min, max;
    if (!k->bounded || !col->has_bounds || !as_integer(&col->min, &min) || !as_integer(&col->max, &max)) return false;
    return max < k->min || min > k->max;
}

static uint32_t live_rows(const uint64_t *deleted, uint32_t row, uint32_t n, uint16_t *sel)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        sel[kept] = (uint16_t)i;
        kept += deleted == NULL || !bit_get(deleted, row + i);
    }
    return kept;
}

static tcudb_status probe_batch(const Unique *u, const KeyState *k, Worker *w, uint32_t segment, uint32_t row,
                                uint32_t n, Error *err)
{
    Arena *arena = &w->batch;
    Encoded *e = NULL;
    uint16_t live[BATCH_ROWS];
    arena_reset(arena);
    uint32_t nlive = live_rows(segment_deleted(u->table, segment), row, n, live);
    Vector *cols = ARENA_ARRAY(arena, Vector, k->def->ncols, err);
    TRY_PTR(cols);
    for (uint32_t c = 0; c < k->def->ncols; c++)
        TRY(segment_read(u->table, segment, k->def->cols[c], row, n, live, nlive, arena, &cols[c], err));
    TRY(encode(k, arena, cols, live, nlive, n, &e, err));
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t number;
        if (keytable_get(&k->table, e->keys + (size_t)i * k->spec.words, e->hash[i], &number))
            atomic_store_explicit(&k->taken[number], BY_TABLE, memory_order_relaxed);
    }
    return TCUDB_OK;
}

static tcudb_status probe_segment(void *ctx, Worker *w, uint64_t task, Error *err)
{
    Unique *u = ctx;
    uint32_t segment = (uint32_t)task, rows = segment_rows(u->table, segment);
    for (uint32_t i = 0; i < u->def->nkeys; i++) {
        const KeyState *k = &u->keys[i];
        if (k->table.n == 0 || out_of_bounds(u, k, segment)) continue;
        for (uint32_t row = 0; row < rows; row += BATCH_ROWS) {
            TRY(exec_check_cancel(u->x, err));
            TRY(probe_batch(u, k, w, segment, row, rows - row < BATCH_ROWS ? rows - row : BATCH_ROWS, err));
        }
    }
    return TCUDB_OK;
}

/* ---- row by row ------------------------------------------------------------------------------------------ */

static tcudb_status key_names(const Unique *u, const KeyDef *key, Buf *buf, Error *err)
{
    for (uint32_t i = 0; i < key->ncols; i++) {
        Str name = u->def->cols[key->cols[i]].name;
        TRY(buf_printf(buf, err, "%s" STR_FMT, i == 0 ? "" : ", ", STR_ARG(name)));
    }
    return buf_printf(buf, err, ")=(");
}

static tcudb_status taken_text(Unique *u, const KeyState *k, const NewRows *part, uint64_t at, Buf *buf, Error *err)
{
    Arena *arena = &u->x->workers[0].batch;
    arena_reset(arena);
    Vector *cols = ARENA_ARRAY(arena, Vector, k->def->ncols, err);
    TRY_PTR(cols);
    for (uint32_t c = 0; c < k->def->ncols; c++)
        TRY(rows_gather(u->rows, part->first + k->def->cols[c], part->order + at, 1, NULL, 1, false, arena, &cols[c],
                        err));
    TRY(key_names(u, k->def, buf, err));
    return row_text(buf, cols, NULL, k->def->ncols, 0, false, err);
}

static tcudb_status violation(Unique *u, const KeyState *k, const NewRows *part, uint64_t at, Error *err)
{
    Buf buf;
    buf_init(&buf, u->x->env->mem);
    tcudb_status status = taken_text(u, k, part, at, &buf, err);
    if (status == TCUDB_OK)
        status = error_set(err, SQLSTATE_UNIQUE_VIOLATION,
                           "duplicate key value violates unique constraint \"" STR_FMT "\"", STR_ARG(k->def->name));
    error_detail(err, "Key (%.*s) already exists.", (int)buf.len, buf.len == 0 ? "" : (const char *)buf.data);
    buf_free(&buf);
    return status;
}

tcudb_status unique_second_time(Error *err)
{
    error_set(err, SQLSTATE_CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time");
    error_hint(err,
               "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.");
    return TCUDB_ERROR;
}

/* Takes the row's keys, or says by *skip that the row is to be left out. */
static tcudb_status take_row(Unique *u, uint32_t part, uint64_t at, bool *skip, Error *err)
{
    const Conflict conflict = u->node->plan->kind == PLAN_INSERT ? u->node->plan->modify.conflict : CONFLICT_FAIL;
    const uint32_t arbiter = u->node->plan->modify.arbiter;
    *skip = false;
    for (uint32_t i = 0; i < u->def->nkeys && !*skip; i++) {
        const KeyState *k = &u->keys[i];
        uint32_t number = k->numbers[part][at];
        if (number == NO_KEY || k->taken[number] == FREE) continue;
        bool arbitrated = arbiter == CONFLICT_ANY_KEY || arbiter == i;
        if (conflict == CONFLICT_SKIP && arbitrated)
            *skip = true;
        else if (conflict == CONFLICT_UPDATE && arbitrated && k->taken[number] == BY_NEW_ROW)
            return unique_second_time(err);
        else
            return violation(u, k, &u->parts[part], at, err);
    }
    for (uint32_t i = 0; i < u->def->nkeys && !*skip; i++) {
        uint32_t number = u->keys[i].numbers[part][at];
        if (number != NO_KEY) u->keys[i].taken[number] = BY_NEW_ROW;
    }
    return TCUDB_OK;
}

/* In the order of the rows, whichever part they are in. */
static tcudb_status take_rows(Unique *u, Error *err)
{
    uint64_t at[2] = {0, 0}, kept[2] = {0, 0};
    assert(u->nparts <= 2);
    for (;;) {
        uint32_t part = u->nparts;
        for (uint32_t p = 0; p < u->nparts; p++) {
            if (at[p] == u->parts[p].n) continue;
            if (part == u->nparts || u->parts[p].order[at[p]] < u->parts[part].order[at[part]]) part = p;
        }
        if (part == u->nparts) break;
        bool skip;
        TRY(take_row(u, part, at[part], &skip, err));
        if (!skip) u->parts[part].order[kept[part]++] = u->parts[part].order[at[part]];
        at[part]++;
    }
    for (uint32_t p = 0; p < u->nparts; p++) u->parts[p].n = kept[p];
    return TCUDB_OK;
}

tcudb_status unique_check(Exec *x, PhysNode *node, const Rows *rows, NewRows *parts, uint32_t nparts, Error *err)
{
    Unique u = {.x = x, .node = node, .rows = rows, .parts = parts, .nparts = nparts};
    assert(nparts <= 2);
    u.table = txn_table(x->env->txn, node->plan->modify.table);
    if (u.table == NULL) return error_set(err, SQLSTATE_INTERNAL_ERROR, "the changed table is gone");
    u.def = table_def(u.table);
    if (u.def->nkeys == 0) return TCUDB_OK;
    u.keys = ARENA_ARRAY(&x->arena, KeyState, u.def->nkeys, err);
    TRY_PTR(u.keys);
    for (uint32_t i = 0; i < u.def->nkeys; i++) {
        u.keys[i] = (KeyState){.def = &u.def->keys[i], .bounded = true, .min = INT64_MAX, .max = INT64_MIN};
        TRY(number_rows(&u, &u.keys[i], err));
    }
    TRY(exec_parallel(x, node, table_segments(u.table), probe_segment, &u, err));
    TRY(take_rows(&u, err));
    for (uint32_t i = 0; i < u.def->nkeys; i++) {
        for (uint32_t p = 0; p < nparts; p++) exec_free(x, u.keys[i].numbers[p]);
        exec_free(x, (void *)(uintptr_t)u.keys[i].taken);
        keytable_free(&u.keys[i].table);
    }
    return TCUDB_OK;
}
