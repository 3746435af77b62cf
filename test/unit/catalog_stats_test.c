/* Statistics: bounds and NULLs exact in tail and segments, uniqueness only when proven, distinct counts near. */
#include "catalog/catalog.h"
#include "unit/store_model.h"

static const Model models[] = {
    {{.id = TYPE_INT4}, SHAPE_NARROW, NULLS_SOME, 31},    {{.id = TYPE_INT8}, SHAPE_ASCENDING, NULLS_NONE, 32},
    {{.id = TYPE_TEXT}, SHAPE_NARROW, NULLS_NONE, 33},    {{.id = TYPE_INT8}, SHAPE_WIDE, NULLS_NONE, 34},
    {{.id = TYPE_INT4}, SHAPE_CONST, NULLS_ALL, 35},      {{.id = TYPE_FLOAT8}, SHAPE_EXTREME, NULLS_NONE, 36},
    {{.id = TYPE_NUMERIC}, SHAPE_NARROW, NULLS_SOME, 37}, {{.id = TYPE_NUMERIC}, SHAPE_WIDE, NULLS_NONE, 38},
};
enum { COLS = sizeof models / sizeof models[0] };

static ColumnStats stats_of(const Table *table, uint32_t col)
{
    ColumnStats stats;
    OK(catalog_stats(table, col, &stats, &err));
    return stats;
}

static void check_stats(Txn *txn, uint64_t rows)
{
    const Table *t = txn_table(txn, STR_LIT("t"));
    int32_t lo = INT32_MAX, hi = INT32_MIN;
    uint64_t nulls = 0;
    for (uint64_t i = 0; i < rows; i++) {
        Value v = model_value(&models[0], i);
        nulls += v.null;
        if (v.null) continue;
        lo = v.i32 < lo ? v.i32 : lo;
        hi = v.i32 > hi ? v.i32 : hi;
    }
    ColumnStats s = stats_of(t, 0);
    assert_int_equal(s.nulls, nulls);
    assert_true(s.has_bounds && s.min.i32 == lo && s.max.i32 == hi && !s.unique);
    assert_true(s.distinct > 900 && s.distinct < 1100);
    s = stats_of(t, 1);
    assert_true(s.unique && s.distinct_exact && s.distinct == (double)rows);
    assert_int_equal(s.min.i64, -1000);
    assert_int_equal(s.max.i64, (int64_t)(rows - 1) * 3 - 1000);
    s = stats_of(t, 2);
    assert_true(s.distinct_exact && s.distinct == 1000 && !s.has_bounds && s.width > 3 && s.width < 6);
    s = stats_of(t, 3);
    assert_true(!s.unique && s.distinct > 0.85 * (double)rows && s.distinct <= (double)rows);
    s = stats_of(t, 4);
    assert_true(!s.has_bounds && s.nulls == rows && s.distinct == 0);
    s = stats_of(t, 5);
    assert_true(s.has_bounds && s.max.f64 != s.max.f64 && s.min.f64 > 0); /* NaN is the largest */
    s = stats_of(t, 6);
    assert_true(s.has_bounds && s.min.num.value == -500 && s.min.num.scale == 2);
    s = stats_of(t, 7);
    assert_false(s.has_bounds); /* several scales */
}

static void facts_are_exact(void **state)
{
    (void)state;
    Db *db = open_memory();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", models, COLS);
    for (uint32_t i = 0; i < 20; i++) append(txn, "t", models, COLS, i * 1000, 1000);
    check_stats(txn, 20000);
    for (uint32_t i = 20; i < 140; i++) append(txn, "t", models, COLS, i * 1000, 1000);
    check_stats(txn, 140000);
    txn_rollback(txn);
    db_close(db);
}

/* A repeated or falling value ends the proof; NULLs do too. */
static void uniqueness_is_proven_only(void **state)
{
    (void)state;
    const Model up = {{.id = TYPE_INT8}, SHAPE_ASCENDING, NULLS_NONE, 1};
    Db *db = open_memory();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", &up, 1);
    assert_false(stats_of(txn_table(txn, STR_LIT("t")), 0).unique);
    append(txn, "t", &up, 1, 0, 100);
    assert_true(stats_of(txn_table(txn, STR_LIT("t")), 0).unique);
    append(txn, "t", &up, 1, 99, 1);
    assert_false(stats_of(txn_table(txn, STR_LIT("t")), 0).unique);
    txn_rollback(txn);
    db_close(db);
}

/* Values of rows that were rolled back may still be in the dictionary: its size is no exact count then. */
static void rolled_back_texts_do_not_count(void **state)
{
    (void)state;
    const Model text = {{.id = TYPE_TEXT}, SHAPE_NARROW, NULLS_NONE, 1};
    Db *db = open_memory();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", &text, 1);
    append(txn, "t", &text, 1, 0, 1000);
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err));
    assert_true(stats_of(txn_table(txn, STR_LIT("t")), 0).distinct_exact);
    append(txn, "t", &text, 1, 1000, 50);
    txn_rollback(txn);
    OK(txn_begin(db, &txn, &err));
    append(txn, "t", &text, 1, 0, 1);
    assert_false(stats_of(txn_table(txn, STR_LIT("t")), 0).distinct_exact);
    txn_rollback(txn);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_exact),
        cmocka_unit_test(uniqueness_is_proven_only),
        cmocka_unit_test(rolled_back_texts_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
