/* store_model.h: a plain model of tables for the store's tests: every value is a function of column and row. */
#ifndef TEST_STORE_MODEL_H
#define TEST_STORE_MODEL_H

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

static inline uint64_t mix(uint64_t x)
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

static inline bool model_null(const Model *m, uint64_t row)
{
    if (m->nulls == NULLS_NONE) return false;
    return m->nulls == NULLS_ALL || mix(m->seed ^ (row * 3 + 1)) % 7 == 0;
}

static inline int64_t model_int(const Model *m, uint64_t row)
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

/* Texts are made once, before threads are. */
static char text_pool[5000 * 16];

__attribute__((constructor)) static void make_texts(void)
{
    for (uint32_t k = 0; k < 5000; k++) snprintf(text_pool + k * 16, 16, "%u", k * 7);
}

static inline Str model_text(uint32_t k)
{
    return (Str){text_pool + k * 16, k == 13 ? 0 : (uint32_t)strlen(text_pool + k * 16)};
}

static inline Value model_value(const Model *m, uint64_t row)
{
    Value v = {.type = m->type, .null = model_null(m, row)};
    int64_t i = model_int(m, row);
    switch (type_phys(m->type)) {
    case PHYS_BOOL: v.b = i & 1; break;
    case PHYS_I16: v.i16 = (int16_t)i; break;
    case PHYS_I32: v.i32 = (int32_t)i; break;
    case PHYS_I64: v.i64 = i; break;
    case PHYS_I128: v.i128 = m->shape == SHAPE_WIDE ? (int128)i * ((int128)1 << 40) : (int128)i; break;
    case PHYS_F32: v.f32 = (float)i / 3; break;
    case PHYS_F64: v.f64 = m->shape == SHAPE_EXTREME && i < 0 ? __builtin_nan("") : (double)i / 3; break;
    case PHYS_NUM:
        v.num = (Num){.value = i, .scale = m->shape == SHAPE_WIDE ? (int)(row % 5) : 2};
        if (m->shape == SHAPE_EXTREME && i < 0) v.num = (Num){.kind = NUM_NAN};
        break;
    default: v.str = model_text((uint32_t)(uint64_t)i % 5000); break;
    }
    return v;
}

static inline bool same_value(Phys phys, const Value *a, const Value *b)
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

static inline void set_value(Vector *v, uint32_t row, const Value *value)
{
    if (value->null) {
        bit_clear(v->valid, row);
        return;
    }
    size_t size = phys_size(v->phys);
    memcpy((char *)v->data + row * size, &value->num, size);
}

/* Rows [from, from + n) of the models as a batch; every second batch through a selection. */
static inline void make_batch(Arena *arena, const Model *models, uint32_t ncols, uint64_t from, uint32_t n, Batch *out)
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

static inline Type column_type(uint32_t i)
{
    const Type types[] = {TYPE(TYPE_BOOL),     TYPE(TYPE_INT2),     TYPE(TYPE_INT4),      TYPE(TYPE_INT8),
                          TYPE_DECIMAL(12, 2), TYPE_DECIMAL(30, 4), TYPE(TYPE_NUMERIC),   TYPE(TYPE_FLOAT4),
                          TYPE(TYPE_FLOAT8),   TYPE(TYPE_DATE),     TYPE(TYPE_TIMESTAMP), TYPE(TYPE_TEXT)};
    return types[i % (sizeof types / sizeof types[0])];
}

enum { TYPES = 12 };

static inline uint32_t make_models(Model *models, uint64_t seed)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < TYPES; t++)
        for (uint32_t s = 0; s < SHAPES; s++)
            for (uint32_t k = 0; k < NULLS_KINDS; k++)
                models[n++] = (Model){column_type(t), (enum Shape)s, (enum Nulls)k, mix(seed + n)};
    return n;
}

enum { MODELS = TYPES * SHAPES * NULLS_KINDS };

static inline void create(Txn *txn, const char *name, const Model *models, uint32_t ncols)
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
static inline void check_table(Txn *txn, const char *name, const Model *models, uint32_t ncols, uint64_t rows)
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

static inline Db *open_memory(void)
{
    DbOptions options = {.create = true, .lock_timeout_ms = 0};
    Db *db = NULL;
    OK(db_open(NULL, &options, &db, &err));
    return db;
}

static inline void append(Txn *txn, const char *name, const Model *models, uint32_t ncols, uint64_t from, uint32_t n)
{
    Arena arena;
    arena_init(&arena, NULL);
    Batch batch;
    make_batch(&arena, models, ncols, from, n, &batch);
    OK(txn_append(txn, str_of(name), &batch, &err));
    arena_free(&arena);
}

#endif
