/* store_scenario.h: a fixed sequence of transactions whose result is known after each, for the crash, fault and damage
 * tests. Step k takes the database from state k to state k + 1. */
#ifndef TEST_STORE_SCENARIO_H
#define TEST_STORE_SCENARIO_H

#include "unit/store_model.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SC_COLS = 3,
    SC_MOST_COLS = 4,
    SC_STEPS = 16,
    SC_SEALED = 75012 /* rows of t's segment; then its tail */,
    SC_REPLACED = 400
};

/* What the tables hold after so many steps. u: -1: no such table. deleted: the first so many rows of t. revised: how
 * often t's columns were changed, see sc_columns. */
typedef struct ScState {
    int64_t t, u;
    uint32_t deleted, revised;
} ScState;

static const ScState sc_states[SC_STEPS + 1] = {
    {-1, -1, 0},        {0, -1, 0},         {10, -1, 0},        {11, -1, 0},        {11, 70000, 0},
    {5011, 70000, 0},   {5011, 70000, 7},   {5011, -1, 7},      {5012, -1, 7},      {75012, -1, 7},
    {75012, -1, 20},    {75013, -1, 20},    {75013, -1, 20, 1}, {75013, -1, 20, 2}, {75013, -1, 20, 3},
    {75016, -1, 20, 3}, {75016, -1, 20, 4},
};

static const Model sc_plain[SC_COLS] = {
    {{.id = TYPE_INT4}, SHAPE_NARROW, NULLS_SOME, 11},
    {{.id = TYPE_TEXT}, SHAPE_WIDE, NULLS_SOME, 12},
    {{.id = TYPE_INT8}, SHAPE_ASCENDING, NULLS_NONE, 13},
};

/* The same structures in few bytes, for tests that try every one of them. */
static const Model sc_dense[SC_COLS] = {
    {{.id = TYPE_INT4}, SHAPE_CONST, NULLS_SOME, 11},
    {{.id = TYPE_TEXT}, SHAPE_RUNS, NULLS_NONE, 12},
    {{.id = TYPE_INT8}, SHAPE_RUNS, NULLS_NONE, 13},
};

static const Model *sc_models = sc_plain;

/* The columns of t: 1: every other value of b's first ones is another; 2: c is gone, and a constant has come; 3: a
 * is wider; 4: a fourth has come, written. */
static inline uint32_t sc_columns(uint32_t revised, Model out[SC_MOST_COLS])
{
    memcpy(out, sc_models, SC_COLS * sizeof out[0]);
    if (revised >= 2) out[2] = (Model){{.id = TYPE_INT8}, SHAPE_CONST, NULLS_NONE, 14};
    if (revised >= 3) out[0].type = (Type){.id = TYPE_INT8};
    out[3] = (Model){{.id = TYPE_TEXT}, SHAPE_RUNS, NULLS_NONE, 15};
    return revised >= 4 ? 4 : 3;
}

static inline Model sc_replaced(void)
{
    Model other = sc_models[1];
    other.seed += 100;
    return other;
}

static inline tcudb_status sc_create(Txn *txn, const char *name, Error *e)
{
    ColumnDef cols[SC_COLS] = {{.name = STR_LIT("a"), .type = sc_models[0].type},
                               {.name = STR_LIT("b"), .type = sc_models[1].type},
                               {.name = STR_LIT("c"), .type = sc_models[2].type}};
    TableDef def = {.name = str_of(name), .ncols = SC_COLS, .cols = cols};
    return txn_create_table(txn, &def, e);
}

/* Rows are made outside the engine's eyes (Arena without budget: the fault injector is off meanwhile). */
static bool sc_faults; /* the test's injector looks at this */

static inline tcudb_status sc_append_of(Txn *txn, const char *name, const Model *models, uint32_t ncols, uint64_t from,
                                        uint64_t to, Error *e)
{
    tcudb_status status = TCUDB_OK;
    while (from < to && status == TCUDB_OK) {
        uint32_t n = to - from < BATCH_ROWS ? (uint32_t)(to - from) : BATCH_ROWS;
        Arena arena;
        Batch batch;
        bool faults = sc_faults;
        sc_faults = false;
        arena_init(&arena, NULL);
        make_batch(&arena, models, ncols, from, n, &batch);
        sc_faults = faults;
        status = txn_append(txn, str_of(name), &batch, e);
        sc_faults = false;
        arena_free(&arena);
        sc_faults = faults;
        from += n;
    }
    return status;
}

static inline tcudb_status sc_append(Txn *txn, const char *name, uint64_t from, uint64_t to, Error *e)
{
    return sc_append_of(txn, name, sc_models, SC_COLS, from, to, e);
}

/* ---- other columns -------------------------------------------------------------------------------- */

/* Rows first, first + step ... of a patch, of one column. */
static inline tcudb_status sc_patch_rows(Patch *patch, const Model *model, uint64_t from, uint32_t first, uint32_t end,
                                         uint32_t step, Error *e)
{
    uint32_t rows[CODEC_BLOCK];
    uint16_t sel[CODEC_BLOCK];
    tcudb_status status = TCUDB_OK;
    for (uint32_t at = first - first % CODEC_BLOCK; at < end && status == TCUDB_OK; at += CODEC_BLOCK) {
        uint32_t all = end - at < CODEC_BLOCK ? end - at : CODEC_BLOCK, n = 0;
        Arena arena;
        Batch batch;
        bool faults = sc_faults;
        sc_faults = false;
        arena_init(&arena, NULL);
        make_batch(&arena, model, 1, from + at, all, &batch);
        for (uint32_t i = 0; i < all; i++) {
            if (at + i < first || (at + i) % step != 0) continue;
            rows[n] = at + i;
            sel[n++] = (uint16_t)batch_row(&batch, i);
        }
        batch.sel = sel;
        batch.n = n;
        sc_faults = faults;
        status = patch_write(patch, rows, &batch, e);
        sc_faults = false;
        arena_free(&arena);
        sc_faults = faults;
    }
    return status;
}

static inline tcudb_status sc_patch(Revision *r, uint32_t segment, const Model *model, uint64_t from, uint32_t first,
                                    uint32_t end, uint32_t step, Error *e)
{
    Patch *patch;
    TRY(patch_new(r, segment, step == 1, &patch, e));
    tcudb_status status = sc_patch_rows(patch, model, from, first, end, step, e);
    if (status == TCUDB_OK) return patch_finish(patch, e);
    patch_abort(patch);
    return status;
}

static inline tcudb_status sc_patches(Revision *r, uint32_t revised, Error *e)
{
    Model models[SC_MOST_COLS], other = sc_replaced();
    sc_columns(revised, models);
    if (revised == 1) return sc_patch(r, 0, &other, 0, 0, SC_REPLACED, 2, e);
    if (revised != 4) return TCUDB_OK;
    TRY(sc_patch(r, 0, &models[3], 0, 20, SC_SEALED, 1, e)); /* the first 20 are deleted */
    return sc_patch(r, 1, &models[3], SC_SEALED, 0, 4, 1, e);
}

static inline tcudb_status sc_revise(Txn *txn, uint32_t revised, Error *e)
{
    static const char *const names[] = {"a", "b", "d", "e"};
    Model models[SC_MOST_COLS];
    ColumnDef cols[SC_MOST_COLS];
    ColumnSource sources[SC_MOST_COLS] = {{.from = 0}, {.from = 1}, {.from = 2}, {.from = NO_COLUMN, .written = true}};
    TableDef def = {.ncols = sc_columns(revised, models), .cols = cols};
    for (uint32_t c = 0; c < def.ncols; c++) cols[c] = (ColumnDef){.name = str_of(names[c]), .type = models[c].type};
    sources[1].written = revised == 1;
    if (revised == 2) sources[2] = (ColumnSource){.from = NO_COLUMN, .value = model_value(&models[2], 0)};
    sources[0].widened = revised == 3;
    Revision *revision;
    TRY(revision_new(txn, STR_LIT("t"), revised == 1 ? NULL : &def, sources, &revision, e));
    tcudb_status status = sc_patches(revision, revised, e);
    if (status == TCUDB_OK) return revision_finish(revision, e);
    revision_abort(revision);
    return status;
}

static inline tcudb_status sc_append_revised(Txn *txn, uint32_t revised, uint64_t from, uint64_t to, Error *e)
{
    Model models[SC_MOST_COLS];
    uint32_t ncols = sc_columns(revised, models);
    return sc_append_of(txn, "t", models, ncols, from, to, e);
}

static inline tcudb_status sc_delete(Txn *txn, uint32_t from, uint32_t to, Error *e)
{
    uint64_t ids[64];
    for (uint32_t i = from; i < to; i++) ids[i - from] = i; /* the first segment's or the tail's */
    return txn_delete(txn, STR_LIT("t"), ids, to - from, e);
}

static inline tcudb_status sc_change(Txn *txn, uint32_t step, Error *e)
{
    switch (step) {
    case 0: return sc_create(txn, "t", e);
    case 1: return sc_append(txn, "t", 0, 10, e);
    case 2: return sc_append(txn, "t", 10, 11, e);
    case 3:
        TRY(sc_create(txn, "u", e));
        return sc_append(txn, "u", 0, 70000, e); /* a part file, dictionary values in a file */
    case 4: return sc_append(txn, "t", 11, 5011, e);
    case 5: return sc_delete(txn, 0, 7, e);
    case 6: return txn_drop_table(txn, STR_LIT("u"), e); /* maintenance folds after this */
    case 7: return sc_append(txn, "t", 5011, 5012, e);
    case 8: return sc_append(txn, "t", 5012, 75012, e);
    case 9: return sc_delete(txn, 7, 20, e);
    case 10: return sc_append(txn, "t", 75012, 75013, e);
    case 11: return sc_revise(txn, 1, e);
    case 12: return sc_revise(txn, 2, e);
    case 13: return sc_revise(txn, 3, e);
    case 14: return sc_append_revised(txn, 3, 75013, 75016, e);
    default: return sc_revise(txn, 4, e);
    }
}

static inline tcudb_status sc_step(Db *db, uint32_t step, Error *e)
{
    Txn *txn;
    TRY(txn_begin(db, &txn, e));
    tcudb_status status = txn_lock(txn, e);
    if (status == TCUDB_OK) status = sc_change(txn, step, e);
    if (status == TCUDB_OK) return txn_commit(txn, e);
    txn_rollback(txn);
    return status;
}

/* ---- reading it back ---------------------------------------------------------------------------- */

static inline bool sc_column_right(const Table *t, const ScState *state, uint32_t s, uint32_t c, uint32_t row,
                                   uint32_t n, uint64_t at, Arena *arena, tcudb_status *status, Error *e)
{
    Vector v;
    Model models[SC_MOST_COLS], other = sc_replaced();
    sc_columns(state->revised, models);
    Phys phys = type_phys(models[c].type);
    uint64_t replaced = state->revised >= 1 && c == 1 ? SC_REPLACED : 0;
    *status = segment_read(t, s, c, row, n, NULL, 0, arena, &v, e);
    if (*status != TCUDB_OK) return true;
    for (uint32_t i = 0; i < n; i++) {
        if (c == 3 && at + i < state->deleted) continue; /* written when they were deleted already: any value */
        const Model *model = (at + i) % 2 == 0 && at + i < replaced ? &other : &models[c];
        Value want = model_value(model, at + i), got = vec_value(&v, i);
        if (!same_value(phys, &want, &got)) return false;
    }
    return true;
}

/* *right: the table holds the model's first rows. An error is returned. */
static inline tcudb_status sc_check_table(Txn *txn, const char *name, const ScState *state, bool *right, Error *e)
{
    int64_t rows = state->t;
    uint32_t deleted = state->deleted;
    Model models[SC_MOST_COLS];
    uint32_t ncols = sc_columns(state->revised, models);
    const Table *t = txn_table(txn, str_of(name));
    *right = (t == NULL) == (rows < 0);
    if (t == NULL || !*right) return TCUDB_OK;
    *right = table_rows(t) == (uint64_t)rows - deleted && table_def(t)->ncols == ncols;
    for (uint32_t c = 0; c < ncols && *right; c++) *right = type_equal(table_def(t)->cols[c].type, models[c].type);
    Arena arena;
    arena_init(&arena, NULL);
    tcudb_status status = TCUDB_OK;
    uint64_t at = 0;
    for (uint32_t s = 0; s < table_segments(t) && *right && status == TCUDB_OK; s++) {
        uint32_t n = segment_rows(t, s);
        const uint64_t *gone = segment_deleted(t, s);
        for (uint32_t i = 0; i < n; i++)
            if ((at + i < deleted) != (gone != NULL && bit_get(gone, i))) *right = false;
        for (uint32_t row = 0; row < n && *right && status == TCUDB_OK; row += BATCH_ROWS) {
            uint32_t m = n - row < BATCH_ROWS ? n - row : BATCH_ROWS;
            for (uint32_t c = 0; c < ncols && *right && status == TCUDB_OK; c++)
                *right = sc_column_right(t, state, s, c, row, m, at + row, &arena, &status, e);
            arena_reset(&arena);
        }
        at += n;
    }
    if (status == TCUDB_OK && at != (uint64_t)rows) *right = false;
    arena_free(&arena);
    return status;
}

/* Which state the database is in; -1: none of them. An error is returned. */
static inline tcudb_status sc_find_state(Db *db, uint32_t from, uint32_t to, int *state, Error *e)
{
    Txn *txn;
    *state = -1;
    TRY(txn_begin(db, &txn, e));
    tcudb_status status = TCUDB_OK;
    for (uint32_t k = from; k <= to && *state < 0 && status == TCUDB_OK; k++) {
        bool t = false, u = false;
        const ScState other = {.t = sc_states[k].u};
        status = sc_check_table(txn, "t", &sc_states[k], &t, e);
        if (status == TCUDB_OK && t) status = sc_check_table(txn, "u", &other, &u, e);
        if (t && u) *state = (int)k;
    }
    txn_rollback(txn);
    return status;
}

/* ---- directories ---------------------------------------------------------------------------------- */

static inline void sc_system(const char *format, const char *a, const char *b)
{
    char command[512];
    snprintf(command, sizeof command, format, a, b);
    if (system(command) != 0) fail_msg("%s", command);
}

static inline void sc_open_all(const char *path, bool read_only, Db **db, Error *e, tcudb_status *status)
{
    DbOptions options = {.create = !read_only, .read_only = read_only, .lock_timeout_ms = 0};
    *db = NULL;
    *status = db_open(path, &options, db, e);
}

#endif
