/* Store in memory: what is appended is read back, for every type and shape of column; transactions, savepoints,
 * snapshots, deletes, appenders. The model is a plain array of rows computed by the same seed. */
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static Error err;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        error_clear(&err);                                                                                             \
        tcudb_status s_ = (call);                                                                                      \
        if (s_ != TCUDB_OK) fail_msg("%s: %s", #call, err.message);                                                    \
    } while (0)

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

enum Shape { SHAPE_WIDE, SHAPE_NARROW, SHAPE_CONST, SHAPE_RUNS, SHAPE_ASCENDING, SHAPE_EXTREME, SHAPES };
enum Nulls { NULLS_NONE, NULLS_SOME, NULLS_ALL, NULLS_KINDS };

typedef struct Model {
    Type type;
    enum Shape shape;
    enum Nulls nulls;
    uint64_t seed;
} Model;

static bool model_null(const Model *m, uint64_t row)
{
    if (m->nulls == NULLS_NONE) return false;
    return m->nulls == NULLS_ALL || mix(m->seed ^ (row * 3 + 1)) % 7 == 0;
}

static int64_t model_int(const Model *m, uint64_t row)
{
    uint64_t r = mix(m->seed + row);
    switch (m->shape) {
    case SHAPE_WIDE: return (int64_t)r;
    case SHAPE_NARROW: return (int64_t)(r % 1000) - 500;
    case SHAPE_CONST: return 42;
    case SHAPE_RUNS: return (int64_t)(mix(m->seed + row / 300) % 50);
    case SHAPE_ASCENDING: return (int64_t)row * 3 - 1000;
    default: return r % 2 == 0 ? INT64_MIN : INT64_MAX;
    }
}

static char text_pool[1 << 20];

static Value model_value(const Model *m, uint64_t row)
{
    Value v = {.type = m->type, .null = model_null(m, row)};
    int64_t i = model_int(m, row);
    switch (type_phys(m->type)) {
    case PHYS_BOOL: v.b = i & 1; break;
    case PHYS_I16: v.i16 = (int16_t)i; break;
    case PHYS_I32: v.i32 = (int32_t)i; break;
    case PHYS_I64: v.i64 = i; break;
    case PHYS_I128: v.i128 = m->shape == SHAPE_WIDE ? (int128)i << 40 : (int128)i; break;
    case PHYS_F32: v.f32 = (float)i / 3; break;
    case PHYS_F64: v.f64 = m->shape == SHAPE_EXTREME && i < 0 ? __builtin_nan("") : (double)i / 3; break;
    case PHYS_NUM:
        v.num = (Num){.value = i, .scale = m->shape == SHAPE_WIDE ? (int)(row % 5) : 2};
        if (m->shape == SHAPE_EXTREME && i < 0) v.num = (Num){.kind = NUM_NAN};
        break;
    default: { /* text: digits of a number below 5000 */
        uint32_t k = (uint32_t)(uint64_t)i % 5000;
        v.str.ptr = text_pool + k * 16;
        v.str.len = (uint32_t)snprintf(text_pool + k * 16, 16, "%u", k * 7);
        if (k == 13) v.str.len = 0;
        break;
    }
    }
    return v;
}

static bool same_value(Phys phys, const Value *a, const Value *b)
{
    if (a->null || b->null) return a->null == b->null;
    switch (phys) {
    case PHYS_BOOL: return a->b == b->b;
    case PHYS_I16: return a->i16 == b->i16;
    case PHYS_I32: return a->i32 == b->i32;
    case PHYS_I64: return a->i64 == b->i64;
    case PHYS_I128: return a->i128 == b->i128;
    case PHYS_F32: return memcmp(&a->f32, &b->f32, 4) == 0;
    case PHYS_F64: return memcmp(&a->f64, &b->f64, 8) == 0;
    case PHYS_NUM: return a->num.value == b->num.value && a->num.scale == b->num.scale && a->num.kind == b->num.kind;
    default: return str_equal(a->str, b->str);
    }
}

static void set_value(Vector *v, uint32_t row, const Value *value)
{
    if (value->null) {
        bit_clear(v->valid, row);
        return;
    }
    size_t size = phys_size(v->phys);
    memcpy((char *)v->data + row * size, &value->num, size);
}

/* Rows [from, from + n) of the models as a batch; every second batch through a selection. */
static void make_batch(Arena *arena, const Model *models, uint32_t ncols, uint64_t from, uint32_t n, Batch *out)
{
    bool sel = (from / 7) % 2 == 1 && n * 2 <= BATCH_ROWS;
    uint32_t step = sel ? 2 : 1;
    *out = (Batch){.rows = n * step, .n = n, .ncols = ncols};
    out->cols = ARENA_ARRAY(arena, Vector, ncols, &err);
    uint16_t *rows = ARENA_ARRAY(arena, uint16_t, n, &err);
    for (uint32_t i = 0; i < n; i++) rows[i] = (uint16_t)(i * step);
    if (sel) out->sel = rows;
    for (uint32_t c = 0; c < ncols; c++) {
        OK(vec_new(arena, models[c].type, n * step, &out->cols[c], &err));
        OK(vec_need_valid(arena, &out->cols[c], n * step, &err));
        for (uint32_t i = 0; i < n; i++) {
            Value v = model_value(&models[c], from + i);
            set_value(&out->cols[c], i * step, &v);
        }
    }
}

static Type column_type(uint32_t i)
{
    const Type types[] = {TYPE(TYPE_BOOL),     TYPE(TYPE_INT2),     TYPE(TYPE_INT4),      TYPE(TYPE_INT8),
                          TYPE_DECIMAL(12, 2), TYPE_DECIMAL(30, 4), TYPE(TYPE_NUMERIC),   TYPE(TYPE_FLOAT4),
                          TYPE(TYPE_FLOAT8),   TYPE(TYPE_DATE),     TYPE(TYPE_TIMESTAMP), TYPE(TYPE_TEXT)};
    return types[i % (sizeof types / sizeof types[0])];
}

enum { TYPES = 12 };

static uint32_t make_models(Model *models, uint64_t seed)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < TYPES; t++)
        for (uint32_t s = 0; s < SHAPES; s++)
            for (uint32_t k = 0; k < NULLS_KINDS; k++)
                models[n++] = (Model){column_type(t), (enum Shape)s, (enum Nulls)k, mix(seed + n)};
    return n;
}

enum { MODELS = TYPES * SHAPES * NULLS_KINDS };

static void create(Txn *txn, const char *name, const Model *models, uint32_t ncols)
{
    static ColumnDef cols[MODELS];
    static char names[MODELS][16];
    for (uint32_t c = 0; c < ncols; c++) {
        snprintf(names[c], sizeof names[c], "c%u", c);
        cols[c] = (ColumnDef){.name = str_of(names[c]), .type = models[c].type};
    }
    TableDef def = {.name = str_of(name), .ncols = ncols, .cols = cols};
    OK(txn_create_table(txn, &def, &err));
}

/* Every row of the table equals the model's row order[i] (NULL: i). */
static void check_table(Txn *txn, const char *name, const Model *models, uint32_t ncols, uint64_t rows)
{
    const Table *table = txn_table(txn, str_of(name));
    assert_non_null(table);
    assert_int_equal(table_rows(table), rows);
    Arena arena;
    arena_init(&arena, NULL);
    uint64_t at = 0;
    for (uint32_t s = 0; s < table_segments(table); s++) {
        uint32_t n = segment_rows(table, s);
        for (uint32_t row = 0; row < n; row += BATCH_ROWS) {
            uint32_t m = n - row < BATCH_ROWS ? n - row : BATCH_ROWS;
            for (uint32_t c = 0; c < ncols; c++) {
                Vector v;
                OK(segment_read(table, s, c, row, m, NULL, 0, &arena, &v, &err));
                for (uint32_t i = 0; i < m; i++) {
                    Value want = model_value(&models[c], at + i), got = vec_value(&v, i);
                    if (!same_value(type_phys(models[c].type), &want, &got))
                        fail_msg("column %u row %lu", c, (unsigned long)(at + i));
                }
                uint16_t sel[3] = {0, (uint16_t)(m / 2), (uint16_t)(m - 1)};
                OK(segment_read(table, s, c, row, m, sel, 3, &arena, &v, &err));
                for (uint32_t i = 0; i < 3; i++) {
                    Value want = model_value(&models[c], at + sel[i]), got = vec_value(&v, sel[i]);
                    assert_true(same_value(type_phys(models[c].type), &want, &got));
                }
            }
            arena_reset(&arena);
            at += m;
        }
    }
    assert_int_equal(at, rows);
    arena_free(&arena);
}

static Db *open_memory(void)
{
    DbOptions options = {.create = true, .lock_timeout_ms = 0};
    Db *db = NULL;
    OK(db_open(NULL, &options, &db, &err));
    return db;
}

static void append(Txn *txn, const char *name, const Model *models, uint32_t ncols, uint64_t from, uint32_t n)
{
    Arena arena;
    arena_init(&arena, NULL);
    Batch batch;
    make_batch(&arena, models, ncols, from, n, &batch);
    OK(txn_append(txn, str_of(name), &batch, &err));
    arena_free(&arena);
}

static void every_type_round_trips(void **state)
{
    (void)state;
    static Model models[MODELS];
    assert_int_equal(make_models(models, 1), MODELS);
    Db *db = open_memory();
    Txn *txn;
    /* a few columns at a time, so that a segment's worth of rows stays quick */
    for (uint32_t first = 0; first < MODELS; first += 18) {
        OK(txn_begin(db, &txn, &err));
        create(txn, "t", models + first, 18);
        uint64_t rows = 0;
        for (uint32_t i = 0; rows < 5000; i++) {
            uint32_t n = (uint32_t)(mix(i) % 2000) + 1;
            append(txn, "t", models + first, 18, rows, n);
            rows += n;
        }
        check_table(txn, "t", models + first, 18, rows);
        txn_rollback(txn);
    }
    db_close(db);
}

static void sealed_segments_round_trip(void **state)
{
    (void)state;
    static Model models[MODELS];
    make_models(models, 2);
    Db *db = open_memory();
    for (uint32_t first = 0; first < MODELS; first += 18) {
        Txn *txn;
        OK(txn_begin(db, &txn, &err));
        create(txn, "t", models + first, 18);
        Appender *a;
        OK(appender_new(txn, STR_LIT("t"), &a, &err));
        Arena arena;
        arena_init(&arena, NULL);
        uint64_t rows = 0, total = SEGMENT_ROWS + 1500;
        while (rows < total) {
            uint32_t n = total - rows < 1111 ? (uint32_t)(total - rows) : 1111;
            Batch batch;
            make_batch(&arena, models + first, 18, rows, n > 1000 && rows % 2 ? 1000 : n, &batch);
            OK(appender_add(a, &batch, &err));
            rows += batch.n;
            arena_reset(&arena);
        }
        OK(appender_finish(a, 0, &err));
        check_table(txn, "t", models + first, 18, rows);
        OK(txn_commit(txn, &err));
        OK(txn_begin(db, &txn, &err));
        check_table(txn, "t", models + first, 18, rows);
        OK(txn_drop_table(txn, STR_LIT("t"), &err));
        OK(txn_commit(txn, &err));
        arena_free(&arena);
    }
    db_close(db);
}

static void snapshots_are_isolated(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_TEXT), SHAPE_NARROW, NULLS_SOME, 5};
    Db *db = open_memory();
    Txn *w, *r, *other;
    OK(txn_begin(db, &w, &err));
    create(w, "t", &m, 1);
    append(w, "t", &m, 1, 0, 10);
    OK(txn_commit(w, &err));
    OK(txn_begin(db, &r, &err));
    OK(txn_begin(db, &w, &err));
    append(w, "t", &m, 1, 10, 2000);
    check_table(w, "t", &m, 1, 2010);
    check_table(r, "t", &m, 1, 10);
    OK(txn_begin(db, &other, &err));
    assert_int_equal(txn_lock(other, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "55P03");
    OK(txn_commit(w, &err));
    check_table(r, "t", &m, 1, 10);
    check_table(other, "t", &m, 1, 10);
    OK(txn_lock(other, &err));
    check_table(other, "t", &m, 1, 2010);
    txn_rollback(other);
    /* a delete on rows seen before somebody else's commit is refused */
    uint64_t row = 3;
    assert_int_equal(txn_delete(r, STR_LIT("t"), &row, 1, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "40001");
    txn_rollback(r);
    db_close(db);
}

static void savepoints_undo(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_INT4), SHAPE_WIDE, NULLS_SOME, 6};
    Db *db = open_memory();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    Savepoint start = txn_savepoint(txn);
    create(txn, "t", &m, 1);
    append(txn, "t", &m, 1, 0, 100);
    Savepoint after = txn_savepoint(txn);
    assert_int_equal(after, txn_savepoint(txn));
    append(txn, "t", &m, 1, 500, 50);
    OK(txn_rename_table(txn, STR_LIT("t"), STR_LIT("u"), &err));
    assert_null(txn_table(txn, STR_LIT("t")));
    txn_rollback_to(txn, after);
    check_table(txn, "t", &m, 1, 100);
    append(txn, "t", &m, 1, 100, 60);
    check_table(txn, "t", &m, 1, 160);
    OK(txn_truncate(txn, STR_LIT("t"), &err));
    check_table(txn, "t", &m, 1, 0);
    txn_rollback_to(txn, after);
    append(txn, "t", &m, 1, 100, 7);
    check_table(txn, "t", &m, 1, 107);
    txn_rollback_to(txn, start);
    assert_null(txn_table(txn, STR_LIT("t")));
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err));
    assert_int_equal(txn_table_count(txn), 0);
    txn_rollback(txn);
    db_close(db);
}

static void deletes_mark_rows(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_INT8), SHAPE_NARROW, NULLS_NONE, 7};
    Db *db = open_memory();
    Txn *txn, *old;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", &m, 1);
    for (uint32_t i = 0; i < 70; i++) append(txn, "t", &m, 1, i * 2000, 2000);
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &old, &err));
    OK(txn_begin(db, &txn, &err));
    uint64_t ids[] = {0, 5, 5, SEGMENT_ROWS - 1, (UINT64_C(1) << 32) | 3};
    OK(txn_delete(txn, STR_LIT("t"), ids, 5, &err));
    const Table *t = txn_table(txn, STR_LIT("t"));
    assert_int_equal(table_rows(t), 140000 - 4);
    assert_true(bit_get(segment_deleted(t, 0), 5));
    assert_false(bit_get(segment_deleted(t, 0), 6));
    assert_true(bit_get(segment_deleted(t, 1), 3));
    assert_null(segment_deleted(txn_table(old, STR_LIT("t")), 0));
    OK(txn_commit(txn, &err));
    assert_int_equal(table_rows(txn_table(old, STR_LIT("t"))), 140000);
    txn_rollback(old);
    db_close(db);
}

static void definitions_report_errors(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_INT8), SHAPE_NARROW, NULLS_NONE, 7};
    Db *db = open_memory();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", &m, 1);
    Str cols[] = {STR_LIT("a")};
    ViewDef view = {.name = STR_LIT("t"), .sql = STR_LIT("select 1"), .ncols = 1, .cols = cols};
    assert_int_equal(txn_create_view(txn, &view, true, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "42P07");
    view.name = STR_LIT("v");
    OK(txn_create_view(txn, &view, false, &err));
    assert_int_equal(txn_create_view(txn, &view, false, &err), TCUDB_ERROR);
    view.sql = STR_LIT("select 2");
    OK(txn_create_view(txn, &view, true, &err));
    assert_true(str_equal(txn_view(txn, STR_LIT("v"))->sql, STR_LIT("select 2")));
    assert_int_equal(txn_drop_table(txn, STR_LIT("v"), &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "42P01");
    OK(txn_drop_view(txn, STR_LIT("v"), &err));
    assert_null(txn_view(txn, STR_LIT("v")));
    OK(txn_commit(txn, &err));
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_round_trips), cmocka_unit_test(sealed_segments_round_trip),
        cmocka_unit_test(snapshots_are_isolated), cmocka_unit_test(savepoints_undo),
        cmocka_unit_test(deletes_mark_rows),      cmocka_unit_test(definitions_report_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
