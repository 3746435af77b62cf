/* Many threads on one database: readers see whole commits while a writer works; appenders in parallel lose nothing and
 * their dictionaries agree; two handles on one directory take turns. Meant for ThreadSanitizer too. */
#include "base/pool.h"
#include "unit/store_model.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const Model models[3] = {
    {{.id = TYPE_INT4}, SHAPE_WIDE, NULLS_SOME, 21},
    {{.id = TYPE_TEXT}, SHAPE_WIDE, NULLS_SOME, 22},
    {{.id = TYPE_INT8}, SHAPE_ASCENDING, NULLS_NONE, 23},
};

enum { COMMITS = 60, ROWS_EACH = 37, READERS = 3 };

typedef struct Shared {
    Db *db;
    Db *other;
    atomic_bool done;
    atomic_bool wrong;
    _Atomic uint64_t reads;
} Shared;

/* Without cmocka's asserts: those belong to the main thread. */
static bool table_right(Txn *txn)
{
    Error e;
    const Table *t = txn_table(txn, STR_LIT("t"));
    if (t == NULL || table_rows(t) % ROWS_EACH != 0) return false;
    Arena arena;
    arena_init(&arena, NULL);
    bool right = true;
    uint64_t at = 0;
    for (uint32_t s = 0; s < table_segments(t); s++) {
        for (uint32_t row = 0; row < segment_rows(t, s); row += BATCH_ROWS) {
            uint32_t n = segment_rows(t, s) - row < BATCH_ROWS ? segment_rows(t, s) - row : BATCH_ROWS;
            for (uint32_t c = 0; c < 3; c++) {
                Vector v;
                if (segment_read(t, s, c, row, n, NULL, 0, &arena, &v, &e) != TCUDB_OK) right = false;
                for (uint32_t i = 0; i < n && right; i++) {
                    Value want = model_value(&models[c], at + i), got = vec_value(&v, i);
                    right = same_value(type_phys(models[c].type), &want, &got);
                }
            }
            at += n;
            arena_reset(&arena);
        }
    }
    uint32_t code;
    bool found;
    if (table_dict_find(t, 1, STR_LIT("no such text"), true, NULL, &found, &code, &e) != TCUDB_OK || found)
        right = false;
    TableFacts facts;
    if (table_facts(t, 0, &facts, &e) != TCUDB_OK || facts.rows != at) right = false;
    arena_free(&arena);
    return right;
}

static void *read_loop(void *arg)
{
    Shared *shared = arg;
    Error e;
    for (uint64_t i = 0; !atomic_load(&shared->done); i++) {
        Txn *txn;
        Db *db = i % 2 == 0 || shared->other == NULL ? shared->db : shared->other;
        if (txn_begin(db, &txn, &e) != TCUDB_OK || !table_right(txn)) atomic_store(&shared->wrong, true);
        txn_rollback(txn);
        atomic_fetch_add(&shared->reads, 1);
    }
    return NULL;
}

static void write_some(Db *db, uint64_t commit)
{
    Txn *txn;
    OK(txn_begin(db, &txn, &err));
    OK(txn_lock(txn, &err));
    append(txn, "t", models, 3, commit * ROWS_EACH, ROWS_EACH);
    if (commit % 4 == 3) { /* somebody changes their mind */
        txn_rollback(txn);
        OK(txn_begin(db, &txn, &err));
        append(txn, "t", models, 3, commit * ROWS_EACH, ROWS_EACH);
    }
    OK(txn_commit(txn, &err));
    OK(db_maintain(db, NULL, &err));
}

static void readers_and_writer(Shared *shared)
{
    Txn *txn;
    OK(txn_begin(shared->db, &txn, &err));
    create(txn, "t", models, 3);
    OK(txn_commit(txn, &err));
    pthread_t threads[READERS];
    for (uint32_t i = 0; i < READERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, read_loop, shared), 0);
    for (uint64_t k = 0; k < COMMITS; k++)
        write_some(k % 3 == 2 && shared->other != NULL ? shared->other : shared->db, k);
    while (atomic_load(&shared->reads) < 20 && !atomic_load(&shared->wrong)) {}
    atomic_store(&shared->done, true);
    for (uint32_t i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    assert_false(atomic_load(&shared->wrong));
}

static void readers_see_whole_commits_in_memory(void **state)
{
    (void)state;
    Shared shared = {.db = open_memory()};
    readers_and_writer(&shared);
    db_close(shared.db);
}

static void readers_see_whole_commits_on_disk(void **state)
{
    (void)state;
    char base[] = "/tmp/tcudb_threads_XXXXXX", path[64], command[64];
    assert_non_null(mkdtemp(base));
    snprintf(path, sizeof path, "%s/db.tcu", base);
    DbOptions options = {.create = true, .lock_timeout_ms = 60000};
    Shared shared = {0};
    OK(db_open(path, &options, &shared.db, &err));
    OK(db_open(path, &options, &shared.other, &err));
    readers_and_writer(&shared);
    db_close(shared.db);
    db_close(shared.other);
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    assert_int_equal(system(command), 0);
}

/* Columns come and go under the readers' hands. */
static void readers_share_scarce_memory(void **state)
{
    (void)state;
    char base[] = "/tmp/tcudb_threads_XXXXXX", path[64], command[64];
    assert_non_null(mkdtemp(base));
    snprintf(path, sizeof path, "%s/db.tcu", base);
    DbOptions options = {.create = true, .memory_limit = 12 << 20};
    Shared shared = {0};
    Txn *txn;
    OK(db_open(path, &options, &shared.db, &err));
    OK(txn_begin(shared.db, &txn, &err));
    create(txn, "t", models, 3);
    for (uint64_t row = 0; row < 37 * 10000; row += 1850) append(txn, "t", models, 3, row, 1850);
    OK(txn_commit(txn, &err));
    db_close(shared.db);
    options.memory_limit = 3 << 20;
    OK(db_open(path, &options, &shared.db, &err));
    pthread_t threads[READERS];
    for (uint32_t i = 0; i < READERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, read_loop, &shared), 0);
    while (atomic_load(&shared.reads) < 6 && !atomic_load(&shared.wrong)) usleep(1000);
    atomic_store(&shared.done, true);
    for (uint32_t i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    assert_false(atomic_load(&shared.wrong));
    db_close(shared.db);
    snprintf(command, sizeof command, "rm -rf '%s'", base);
    assert_int_equal(system(command), 0);
}

/* ---- appenders in parallel -------------------------------------------------------------------------------- */

enum { TASKS = 12, TASK_ROWS = 20000 };

static tcudb_status append_task(void *ctx, uint32_t worker, uint64_t task, Error *e)
{
    (void)worker;
    Txn *txn = ctx;
    Appender *a;
    TRY(appender_new(txn, STR_LIT("t"), &a, e));
    Arena arena;
    arena_init(&arena, NULL);
    tcudb_status status = TCUDB_OK;
    for (uint64_t row = 0; row < TASK_ROWS && status == TCUDB_OK; row += 1000) {
        Batch batch = {.rows = 1000, .n = 1000, .ncols = 3, .cols = ARENA_ARRAY(&arena, Vector, 3, e)};
        for (uint32_t c = 0; c < 3 && status == TCUDB_OK; c++) {
            status = vec_new(&arena, models[c].type, 1000, &batch.cols[c], e);
            if (status == TCUDB_OK) status = vec_need_valid(&arena, &batch.cols[c], 1000, e);
            for (uint32_t i = 0; i < 1000 && status == TCUDB_OK; i++) {
                Value v = model_value(&models[c], task * TASK_ROWS + row + i);
                set_value(&batch.cols[c], i, &v);
            }
        }
        if (status == TCUDB_OK) status = appender_add(a, &batch, e);
        arena_reset(&arena);
    }
    arena_free(&arena);
    if (status != TCUDB_OK) {
        appender_abort(a);
        return status;
    }
    return appender_finish(a, task, e);
}

static void appenders_lose_nothing(void **state)
{
    (void)state;
    Db *db = open_memory();
    Pool *pool = NULL;
    Txn *txn;
    OK(pool_new(4, &pool, &err));
    OK(txn_begin(db, &txn, &err));
    create(txn, "t", models, 3);
    OK(pool_run(pool, TASKS, append_task, txn, NULL, &err));
    OK(txn_commit(txn, &err));
    OK(txn_begin(db, &txn, &err));
    /* order of tasks that were open together is kept; all rows are there */
    const Table *t = txn_table(txn, STR_LIT("t"));
    assert_int_equal(table_rows(t), TASKS * TASK_ROWS);
    static uint8_t seen[TASKS * TASK_ROWS];
    Arena arena;
    arena_init(&arena, NULL);
    for (uint32_t s = 0; s < table_segments(t); s++) {
        for (uint32_t row = 0; row < segment_rows(t, s); row += BATCH_ROWS) {
            uint32_t n = segment_rows(t, s) - row < BATCH_ROWS ? segment_rows(t, s) - row : BATCH_ROWS;
            Vector v[3];
            for (uint32_t c = 0; c < 3; c++) OK(segment_read(t, s, c, row, n, NULL, 0, &arena, &v[c], &err));
            for (uint32_t i = 0; i < n; i++) {
                uint64_t at = (uint64_t)((vec_value(&v[2], i).i64 + 1000) / 3);
                seen[at]++;
                for (uint32_t c = 0; c < 2; c++) {
                    Value want = model_value(&models[c], at), got = vec_value(&v[c], i);
                    assert_true(same_value(type_phys(models[c].type), &want, &got));
                }
            }
            arena_reset(&arena);
        }
    }
    for (uint32_t i = 0; i < TASKS * TASK_ROWS; i++) assert_int_equal(seen[i], 1);
    arena_free(&arena);
    txn_rollback(txn);
    pool_free(pool);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_commits_in_memory),
        cmocka_unit_test(readers_see_whole_commits_on_disk),
        cmocka_unit_test(readers_share_scarce_memory),
        cmocka_unit_test(appenders_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
