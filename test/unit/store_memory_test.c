/* Store in memory: what is appended is read back, for every type and shape of column; transactions, savepoints,
 * snapshots, deletes, appenders. The model is a plain array of rows computed by the same seed. */
#include "unit/store_model.h"

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
