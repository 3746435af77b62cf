/* Ranges of a column's batches: those of the model, remembered, taken anew when the table has changed. */
#include "catalog/key_batches.h"
#include "type/func.h"
#include "unit/store_model.h"

static const Model models[] = {
    {{.id = TYPE_INT4}, SHAPE_NARROW, NULLS_SOME, 1},   {{.id = TYPE_INT8}, SHAPE_ASCENDING, NULLS_NONE, 2},
    {{.id = TYPE_INT2}, SHAPE_NARROW, NULLS_SOME, 3},   {{.id = TYPE_INT8}, SHAPE_EXTREME, NULLS_NONE, 4},
    {{.id = TYPE_INT4}, SHAPE_CONST, NULLS_ALL, 5},     {{.id = TYPE_INT4}, SHAPE_CONST, NULLS_NONE, 6},
    {{.id = TYPE_DATE}, SHAPE_RUNS, NULLS_SOME, 7},     {{.id = TYPE_TEXT}, SHAPE_NARROW, NULLS_NONE, 8},
    {{.id = TYPE_FLOAT8}, SHAPE_NARROW, NULLS_NONE, 9},
};
enum { COLS = sizeof models / sizeof models[0], INTEGERS = 7 };

typedef struct Fixture {
    Db *db;
    Txn *txn;
    KeyBatches *batches;
    Arena arena;
} Fixture;

static Fixture open_fixture(void)
{
    Fixture f = {.db = open_memory()};
    OK(txn_begin(f.db, &f.txn, &err));
    OK(key_batches_new(&f.batches, &err));
    arena_init(&f.arena, NULL);
    return f;
}

static void close_fixture(Fixture *f)
{
    arena_free(&f->arena);
    key_batches_free(f->batches);
    txn_rollback(f->txn);
    db_close(f->db);
}

static BatchRange range_of_model(const Model *m, uint64_t from, uint32_t n)
{
    BatchRange range = {INT64_MAX, INT64_MIN};
    for (uint64_t row = from; row < from + n; row++) {
        Value v = model_value(m, row);
        int64_t value = 0;
        if (v.null) continue;
        assert_true(value_int64(&v, &value));
        range.lo = value < range.lo ? value : range.lo;
        range.hi = value > range.hi ? value : range.hi;
    }
    return range;
}

/* Of a table that was filled with the model's rows in order. */
static void check(Fixture *f, const char *name, const Model *m, uint32_t col)
{
    const Table *t = txn_table(f->txn, str_of(name));
    BatchRange *ranges = NULL;
    uint64_t n = 0, at = 0, first = 0;
    OK(key_batches_of(f->batches, t, col, &f->arena, NULL, &ranges, &n, &err));
    assert_non_null(ranges);
    for (uint32_t s = 0; s < table_segments(t); s++) {
        uint32_t all = segment_rows(t, s);
        for (uint32_t row = 0; row < all; row += BATCH_ROWS, at++) {
            const BatchRange want = range_of_model(m, first + row, all - row < BATCH_ROWS ? all - row : BATCH_ROWS);
            assert_true(at < n);
            assert_int_equal(ranges[at].lo, want.lo);
            assert_int_equal(ranges[at].hi, want.hi);
        }
        first += all;
    }
    assert_int_equal(at, n);
    memset(ranges, 0, n * sizeof *ranges); /* the asker's own */
}

static void ranges_are_those_of_the_rows(void **state)
{
    (void)state;
    Fixture f = open_fixture();
    create(f.txn, "t", models, COLS);
    for (uint32_t i = 0; i < 140; i++) append(f.txn, "t", models, COLS, i * 1000, 1000);
    for (uint32_t again = 0; again < 2; again++)
        for (uint32_t c = 0; c < INTEGERS; c++) check(&f, "t", &models[c], c);
    append(f.txn, "t", models, COLS, 140000, 700);
    for (uint32_t c = 0; c < INTEGERS; c++) check(&f, "t", &models[c], c);
    close_fixture(&f);
}

static void other_columns_have_none(void **state)
{
    (void)state;
    Fixture f = open_fixture();
    create(f.txn, "t", models, COLS);
    for (uint32_t c = INTEGERS; c < COLS; c++) {
        BatchRange *ranges = (BatchRange *)&f;
        uint64_t n;
        OK(key_batches_of(f.batches, txn_table(f.txn, STR_LIT("t")), c, &f.arena, NULL, &ranges, &n, &err));
        assert_null(ranges);
    }
    check(&f, "t", &models[0], 0); /* an empty table has no batches, but they are known */
    close_fixture(&f);
}

/* More columns than there are slots take them from one another. */
static void columns_share_slots(void **state)
{
    (void)state;
    enum { TABLES = 12 };
    static const char *const names[TABLES] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    Fixture f = open_fixture();
    for (uint32_t t = 0; t < TABLES; t++) {
        create(f.txn, names[t], models, COLS);
        append(f.txn, names[t], models, COLS, 0, 100 + t);
    }
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t t = 0; t < TABLES; t++)
            for (uint32_t c = 0; c < INTEGERS; c++) check(&f, names[t], &models[c], c);
    close_fixture(&f);
}

static void an_interrupt_leaves_nothing(void **state)
{
    (void)state;
    Fixture f = open_fixture();
    const atomic_bool cancel = true;
    BatchRange *ranges = NULL;
    uint64_t n = 0;
    create(f.txn, "t", models, COLS);
    append(f.txn, "t", models, COLS, 0, 1000);
    assert_int_equal(key_batches_of(f.batches, txn_table(f.txn, STR_LIT("t")), 0, &f.arena, &cancel, &ranges, &n, &err),
                     TCUDB_INTERRUPTED);
    check(&f, "t", &models[0], 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_the_rows),
        cmocka_unit_test(other_columns_have_none),
        cmocka_unit_test(columns_share_slots),
        cmocka_unit_test(an_interrupt_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
