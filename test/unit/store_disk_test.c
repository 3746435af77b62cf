/* Store on disk: what was committed is there after reopening, and nothing else; folding, several handles on one
 * directory (as several processes would have), the write lock, no pile of files. */
#include "unit/store_model.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void remove_all(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tcudb_store_test_XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(dir + strlen(dir), 16, "/db.tcu");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    *strrchr(dir, '/') = '\0';
    remove_all(dir);
    return 0;
}

static Db *open_with(bool read_only)
{
    DbOptions options = {.create = !read_only, .read_only = read_only, .lock_timeout_ms = 0};
    Db *db = NULL;
    OK(db_open(dir, &options, &db, &err));
    return db;
}

static Db *open_dir(void)
{
    return open_with(false);
}

static uint32_t count_files(const char *prefix)
{
    uint32_t n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(d);
    return n;
}

static void check_now(Db *db, const char *name, const Model *models, uint32_t ncols, uint64_t rows)
{
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    check_table(txn, name, models, ncols, rows);
    txn_rollback(txn);
}

static void every_type_survives_reopening(void **state)
{
    (void)state;
    static Model models[MODELS];
    make_models(models, 3);
    for (uint32_t first = 0; first < MODELS; first += 18) {
        Db *db = open_dir();
        Txn *txn;
        OK(txn_begin(db, &txn, &err));
        create(txn, "t", models + first, 18);
        append(txn, "t", models + first, 18, 0, 700);
        OK(txn_commit(txn, &err));
        db_close(db);
        db = open_dir();
        check_now(db, "t", models + first, 18, 700);
        OK(txn_begin(db, &txn, &err));
        uint32_t rows = 700;
        for (; rows < 20000; rows += 1000) append(txn, "t", models + first, 18, rows, 1000);
        OK(txn_commit(txn, &err));
        db_close(db); /* folds: the log is long */
        db = open_dir();
        check_now(db, "t", models + first, 18, rows);
        OK(txn_begin(db, &txn, &err));
        OK(txn_drop_table(txn, STR_LIT("t"), &err));
        OK(txn_commit(txn, &err));
        db_close(db);
    }
    assert_int_equal(count_files("part"), 0);
    assert_int_equal(count_files("dict"), 0);
    assert_int_equal(count_files("log"), 1);
}

static void bulk_loads_survive(void **state)
{
    (void)state;
    static Model models[18];
    static Model all[MODELS];
    make_models(all, 4);
    for (uint32_t i = 0; i < 18; i++) models[i] = all[i * 12];
    Db *db = open_dir();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", models, 18);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < 140; i++, rows += 1000) append(txn, "t", models, 18, rows, 1000);
    OK(txn_commit(txn, &err));
    check_now(db, "t", models, 18, rows);
    OK(txn_begin(db, &txn, &err));
    append(txn, "t", models, 18, rows, 1);
    rows++;
    OK(txn_commit(txn, &err));
    db_close(db);
    db = open_with(true);
    check_now(db, "t", models, 18, rows);
    db_close(db);
    db = open_dir();
    check_now(db, "t", models, 18, rows);
    db_close(db);
}

static void many_small_commits_leave_few_files(void **state)
{
    (void)state;
    Model models[2] = {{TYPE(TYPE_INT4), SHAPE_WIDE, NULLS_SOME, 1}, {TYPE(TYPE_TEXT), SHAPE_NARROW, NULLS_SOME, 2}};
    Db *db = open_dir();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", models, 2);
    OK(txn_commit(txn, &err));
    for (uint32_t i = 0; i < 300; i++) {
        OK(txn_begin(db, &txn, &err));
        append(txn, "t", models, 2, i, 1);
        OK(txn_commit(txn, &err));
        OK(db_maintain(db, NULL, &err));
    }
    check_now(db, "t", models, 2, 300);
    assert_int_equal(count_files("log") + count_files("part") + count_files("dict"), 1);
    db_close(db);
    db = open_dir();
    check_now(db, "t", models, 2, 300);
    db_close(db);
}

static void readers_follow_writers(void **state)
{
    (void)state;
    Model models[2] = {{TYPE(TYPE_INT8), SHAPE_WIDE, NULLS_SOME, 1}, {TYPE(TYPE_TEXT), SHAPE_WIDE, NULLS_SOME, 2}};
    Db *a = open_dir(), *b = open_dir(), *r = NULL;
    Txn *txn, *old;
    OK(txn_begin(a, &txn, &err));
    create(txn, "t", models, 2);
    append(txn, "t", models, 2, 0, 10);
    OK(txn_commit(txn, &err));
    r = open_with(true);
    check_now(b, "t", models, 2, 10);
    check_now(r, "t", models, 2, 10);
    OK(txn_begin(r, &old, &err));
    uint32_t rows = 10;
    for (uint32_t i = 0; i < 40; i++) { /* two writers take turns; one of them gives up sometimes */
        Db *w = i % 2 == 0 ? a : b;
        OK(txn_begin(w, &txn, &err));
        append(txn, "t", models, 2, rows + (i % 5 == 4 ? 1000 : 0), 100);
        if (i % 5 == 4) {
            txn_rollback(txn);
        } else {
            OK(txn_commit(txn, &err));
            rows += 100;
        }
        check_now(a, "t", models, 2, rows);
        check_now(b, "t", models, 2, rows);
        check_now(r, "t", models, 2, rows);
    }
    /* past a fold too */
    OK(txn_begin(a, &txn, &err));
    for (uint32_t i = 0; i < 150; i++, rows += 1000) append(txn, "t", models, 2, rows, 1000);
    OK(txn_commit(txn, &err));
    OK(txn_begin(b, &txn, &err));
    OK(txn_rename_table(txn, STR_LIT("t"), STR_LIT("u"), &err));
    OK(txn_commit(txn, &err));
    db_close(a);
    check_now(b, "u", models, 2, rows);
    check_now(r, "u", models, 2, rows);
    check_table(old, "t", models, 2, 10);
    txn_rollback(old);
    db_close(b);
    db_close(r);
}

static void one_writer_at_a_time(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_INT8), SHAPE_WIDE, NULLS_NONE, 1};
    Db *a = open_dir(), *b = open_dir(), *r = open_with(true);
    Txn *txn, *other;
    OK(txn_begin(a, &txn, &err));
    create(txn, "t", &m, 1);
    OK(txn_begin(b, &other, &err));
    assert_int_equal(txn_lock(other, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "55P03");
    char pid[32];
    snprintf(pid, sizeof pid, "Process %d ", (int)getpid());
    assert_non_null(strstr(err.detail, pid));
    OK(txn_commit(txn, &err));
    OK(txn_lock(other, &err));
    assert_non_null(txn_table(other, STR_LIT("t")));
    txn_rollback(other);
    OK(txn_begin(r, &other, &err));
    assert_int_equal(txn_lock(other, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "25006");
    txn_rollback(other);
    db_close(a);
    db_close(b);
    db_close(r);
}

/* Another definition over the same rows, found again in the log and in the manifest. */
static void redefinitions_survive(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_TEXT), SHAPE_NARROW, NULLS_NONE, 1};
    const uint32_t first = 0;
    const KeyDef key = {STR_LIT("only"), true, 1, &first};
    const CheckDef check = {STR_LIT("long"), STR_LIT("length(renamed) > 0")};
    Db *db = open_dir();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "x", &m, 1);
    append(txn, "x", &m, 1, 0, 5);
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err));
    ColumnDef col = table_def(txn_table(txn, STR_LIT("x")))->cols[0];
    col.name = STR_LIT("renamed");
    col.not_null = true;
    col.default_sql = STR_LIT("'d'");
    const TableDef def = {
        .name = STR_LIT("x"), .ncols = 1, .cols = &col, .nkeys = 1, .keys = &key, .nchecks = 1, .checks = &check};
    append(txn, "x", &m, 1, 5, 2);
    OK(txn_redefine_table(txn, STR_LIT("x"), &def, &err));
    append(txn, "x", &m, 1, 7, 2);
    OK(txn_commit(txn, &err));
    for (int i = 0; i < 3; i++) {
        OK(txn_begin(db, &txn, &err));
        const TableDef *now = table_def(txn_table(txn, STR_LIT("x")));
        assert_true(str_equal(now->cols[0].name, col.name) && now->cols[0].not_null);
        assert_true(str_equal(now->cols[0].default_sql, col.default_sql));
        assert_true(now->nkeys == 1 && now->keys[0].primary && str_equal(now->keys[0].name, key.name));
        assert_true(now->nchecks == 1 && str_equal(now->checks[0].sql, check.sql));
        txn_rollback(txn);
        check_now(db, "x", &m, 1, 9);
        db_close(db);
        db = open_dir();
    }
    db_close(db);
}

static void definitions_survive(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_TEXT), SHAPE_NARROW, NULLS_SOME, 1};
    Str cols[] = {STR_LIT("a"), STR_LIT("b")};
    ViewDef view = {.name = STR_LIT("v"), .sql = STR_LIT("select 1, 2"), .ncols = 2, .cols = cols};
    Db *db = open_dir();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "x", &m, 1);
    create(txn, "y", &m, 1);
    append(txn, "x", &m, 1, 0, 5);
    OK(txn_create_view(txn, &view, false, &err));
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err)); /* the two change names; x is emptied and filled anew; the view is replaced */
    OK(txn_rename_table(txn, STR_LIT("x"), STR_LIT("z"), &err));
    OK(txn_rename_table(txn, STR_LIT("y"), STR_LIT("x"), &err));
    OK(txn_rename_table(txn, STR_LIT("z"), STR_LIT("y"), &err));
    OK(txn_truncate(txn, STR_LIT("y"), &err));
    append(txn, "y", &m, 1, 0, 3);
    append(txn, "x", &m, 1, 0, 8);
    view.sql = STR_LIT("select 3, 4");
    OK(txn_create_view(txn, &view, true, &err));
    OK(txn_commit(txn, &err));
    for (int i = 0; i < 2; i++) {
        db_close(db);
        db = open_dir();
        check_now(db, "y", &m, 1, 3);
        check_now(db, "x", &m, 1, 8);
        OK(txn_begin(db, &txn, &err));
        assert_true(str_equal(txn_view(txn, STR_LIT("v"))->sql, STR_LIT("select 3, 4")));
        assert_true(str_equal(txn_view(txn, STR_LIT("v"))->cols[1], STR_LIT("b")));
        assert_int_equal(txn_table_count(txn), 2);
        txn_rollback(txn);
    }
    db_close(db);
}

static void deletions_survive(void **state)
{
    (void)state;
    Model m = {TYPE(TYPE_INT8), SHAPE_NARROW, NULLS_NONE, 7};
    Db *db = open_dir();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", &m, 1);
    for (uint32_t i = 0; i < 70; i++) append(txn, "t", &m, 1, i * 2000, 2000);
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err));
    uint64_t last = (uint64_t)(table_segments(txn_table(txn, STR_LIT("t"))) - 1) << 32;
    uint64_t ids[] = {0, 5, 131071, last | 3};
    OK(txn_delete(txn, STR_LIT("t"), ids, 4, &err));
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err));
    append(txn, "t", &m, 1, 140000, 10);
    uint64_t more[] = {6, (uint64_t)(table_segments(txn_table(txn, STR_LIT("t"))) - 1) << 32 | 4};
    OK(txn_delete(txn, STR_LIT("t"), more, 2, &err));
    OK(txn_commit(txn, &err));
    db_close(db);
    db = open_dir();
    OK(txn_begin(db, &txn, &err));
    const Table *t = txn_table(txn, STR_LIT("t"));
    assert_int_equal(table_rows(t), 140010 - 6);
    assert_true(bit_get(segment_deleted(t, 0), 5));
    assert_true(bit_get(segment_deleted(t, 0), 6));
    assert_false(bit_get(segment_deleted(t, 0), 7));
    txn_rollback(txn);
    db_close(db);
}

/* Columns' bytes leave memory when the limit asks for it, and come back. */
static void memory_stays_within_its_limit(void **state)
{
    (void)state;
    const Model models[2] = {{TYPE(TYPE_INT8), SHAPE_WIDE, NULLS_NONE, 1},
                             {TYPE(TYPE_FLOAT8), SHAPE_WIDE, NULLS_SOME, 2}};
    DbOptions options = {.create = true, .memory_limit = 12 << 20};
    Db *db;
    Txn *txn, *open_one;
    if (db_open(dir, &options, &db, &err) != TCUDB_OK) print_message("%s %s\n", err.message, err.detail);
    assert_non_null(db);
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", models, 2);
    uint64_t rows = 0;
    for (; rows < 800000; rows += 1000) append(txn, "t", models, 2, rows, 1000); /* 13 MB */
    OK(txn_commit(txn, &err));
    assert_true(atomic_load(&db_mem(db)->used) < 9 << 20);
    check_now(db, "t", models, 2, rows);
    OK(txn_begin(db, &open_one, &err)); /* what it reads is kept while it lives */
    const Table *t = txn_table(open_one, STR_LIT("t"));
    const SegColumn *pin;
    OK(segment_pin(t, 0, 0, &pin, &err));
    const uint8_t *bytes = pin->bytes;
    int64_t first;
    memcpy(&first, bytes, 8);
    for (int i = 0; i < 3; i++) check_now(db, "t", models, 2, rows);
    OK(segment_pin(t, 0, 0, &pin, &err));
    assert_ptr_equal(pin->bytes, bytes);
    assert_int_equal(first, model_value(&models[0], 0).i64);
    txn_rollback(open_one);
    check_now(db, "t", models, 2, rows);
    assert_true(atomic_load(&db_mem(db)->used) < 9 << 20);
    db_close(db);
}

/* Deletes the first n live rows. */
static void delete_first(Txn *txn, uint64_t n)
{
    const Table *t = txn_table(txn, STR_LIT("t"));
    uint64_t *ids = malloc(n * sizeof ids[0]), found = 0;
    for (uint32_t s = 0; s < table_segments(t); s++) {
        const uint64_t *gone = segment_deleted(t, s);
        for (uint32_t row = 0; row < segment_rows(t, s) && found < n; row++)
            if (gone == NULL || !bit_get(gone, row)) ids[found++] = (uint64_t)s << 32 | row;
    }
    OK(txn_delete(txn, STR_LIT("t"), ids, found, &err));
    free(ids);
}

/* Stored rows, deleted ones included, and whether the live ones are the model's rows from `first` on. */
static uint64_t check_live(Db *db, const Model *models, uint32_t ncols, uint64_t first, uint64_t rows)
{
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    const Table *t = txn_table(txn, STR_LIT("t"));
    assert_int_equal(table_rows(t), rows);
    Arena arena;
    arena_init(&arena, NULL);
    uint64_t stored = 0, next = first;
    for (uint32_t s = 0; s < table_segments(t); s++) {
        const uint64_t *gone = segment_deleted(t, s);
        stored += segment_rows(t, s);
        for (uint32_t row = 0; row < segment_rows(t, s); row += BATCH_ROWS) {
            uint32_t n = segment_rows(t, s) - row < BATCH_ROWS ? segment_rows(t, s) - row : BATCH_ROWS;
            Vector v[4];
            for (uint32_t c = 0; c < ncols; c++) OK(segment_read(t, s, c, row, n, NULL, 0, &arena, &v[c], &err));
            for (uint32_t i = 0; i < n; i++) {
                if (gone != NULL && bit_get(gone, row + i)) continue;
                for (uint32_t c = 0; c < ncols; c++) {
                    Value want = model_value(&models[c], next), got = vec_value(&v[c], i);
                    assert_true(same_value(type_phys(models[c].type), &want, &got));
                }
                next++;
            }
            arena_reset(&arena);
        }
    }
    assert_int_equal(next, first + rows);
    arena_free(&arena);
    txn_rollback(txn);
    return stored;
}

static void deleted_rows_are_given_back(Db *db, bool disk)
{
    Model models[2] = {{TYPE(TYPE_TEXT), SHAPE_WIDE, NULLS_SOME, 1}, {TYPE_DECIMAL(30, 2), SHAPE_RUNS, NULLS_NONE, 2}};
    Txn *txn, *old;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", models, 2);
    for (uint32_t row = 0; row < 150000; row += 1000) append(txn, "t", models, 2, row, 1000);
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &old, &err));
    OK(txn_begin(db, &txn, &err));
    delete_first(txn, 100000);
    OK(txn_commit(txn, &err));
    OK(db_maintain(db, NULL, &err));
    assert_true(check_live(db, models, 2, 100000, 50000) <= 50000 + 20000);
    check_table(old, "t", models, 2, 150000);
    txn_rollback(old);
    OK(txn_begin(db, &txn, &err)); /* whole segments */
    append(txn, "t", models, 2, 150000, 10);
    delete_first(txn, 50000);
    OK(txn_commit(txn, &err));
    OK(db_maintain(db, NULL, &err));
    assert_true(check_live(db, models, 2, 150000, 10) <= 2000);
    if (disk) {
        db_close(db);
        db = open_dir();
        check_live(db, models, 2, 150000, 10);
    }
    db_close(db);
}

static void deleted_rows_are_given_back_on_disk(void **state)
{
    (void)state;
    deleted_rows_are_given_back(open_dir(), true);
}

static void deleted_rows_are_given_back_in_memory(void **state)
{
    (void)state;
    deleted_rows_are_given_back(open_memory(), false);
}

/* A dictionary that is interrupted while it comes from disk, or while it is indexed, comes the next time. */
static void interrupted_dictionaries_come_later(void **state)
{
    (void)state;
    static Model models[MODELS];
    make_models(models, 5);
    Model text = {0};
    for (uint32_t i = 0; i < MODELS && text.type.id == 0; i++)
        if (type_is_text(models[i].type) && models[i].shape == SHAPE_WIDE && models[i].nulls == NULLS_NONE)
            text = models[i];
    assert_int_not_equal(text.type.id, 0);
    Db *db = open_dir();
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", &text, 1);
    uint64_t rows = 0;
    for (; rows < 140000; rows += 1000) append(txn, "t", &text, 1, rows, 1000);
    OK(txn_commit(txn, &err));
    db_close(db);
    db = open_dir();
    OK(txn_begin(db, &txn, &err));
    const Table *table = txn_table(txn, STR_LIT("t"));
    const atomic_bool cancelled = true;
    DictView view;
    uint32_t code;
    bool found;
    assert_int_equal(table_dict(table, 0, &cancelled, &view, &err), TCUDB_INTERRUPTED);
    assert_int_equal(table_dict_find(table, 0, STR_LIT("no"), true, &cancelled, &found, &code, &err),
                     TCUDB_INTERRUPTED);
    OK(table_dict(table, 0, NULL, &view, &err));
    assert_int_equal(table_dict_find(table, 0, STR_LIT("no"), true, &cancelled, &found, &code, &err),
                     TCUDB_INTERRUPTED);
    for (uint32_t i = 0; i < view.count; i += 1000) {
        OK(table_dict_find(table, 0, view.values[i], true, NULL, &found, &code, &err));
        assert_true(found && code == i);
    }
    check_table(txn, "t", &text, 1, rows);
    txn_rollback(txn);
    db_close(db);
}

static void wrong_places_are_refused(void **state)
{
    (void)state;
    DbOptions options = {.create = false};
    Db *db;
    assert_int_equal(db_open(dir, &options, &db, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "58P01");
    assert_int_equal(mkdir(dir, 0777), 0);
    options.read_only = true;
    assert_int_equal(db_open(dir, &options, &db, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "58P01");
    assert_int_equal(count_files("lock"), 0);
    options = (DbOptions){.create = true};
    char other[128];
    snprintf(other, sizeof other, "%s/letter.txt", dir);
    fclose(fopen(other, "w"));
    assert_int_equal(db_open(dir, &options, &db, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "42809");
    assert_int_equal(count_files("lock"), 0);
    assert_int_equal(unlink(other), 0);
    if (db_open(dir, &options, &db, &err) != TCUDB_OK) print_message("%s %s\n", err.message, err.detail);
    assert_non_null(db);
    db_close(db);
    assert_int_equal(db_open("/dev/null", &options, &db, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "42809");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_survives_reopening, setup, teardown),
        cmocka_unit_test_setup_teardown(bulk_loads_survive, setup, teardown),
        cmocka_unit_test_setup_teardown(many_small_commits_leave_few_files, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_follow_writers, setup, teardown),
        cmocka_unit_test_setup_teardown(one_writer_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(definitions_survive, setup, teardown),
        cmocka_unit_test_setup_teardown(redefinitions_survive, setup, teardown),
        cmocka_unit_test_setup_teardown(deletions_survive, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_stays_within_its_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(deleted_rows_are_given_back_on_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(deleted_rows_are_given_back_in_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(interrupted_dictionaries_come_later, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_places_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
