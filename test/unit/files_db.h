/* files_db.h: an in-memory database for the tests of files/: its tables as text. */
#ifndef FILES_DB_H
#define FILES_DB_H

#include "files/proc.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct TestDb {
    Db *db;
    Txn *txn;
    Pool *pool;
} TestDb;

static void test_ok(tcudb_status status, const Error *err)
{
    if (status != TCUDB_OK) print_error("%s: %s (%s) %s\n", err->sqlstate, err->message, err->detail, err->hint);
    assert_int_equal(status, TCUDB_OK);
}

static inline TestDb test_db_open(uint32_t workers)
{
    TestDb t = {0};
    Error err = {0};
    const DbOptions options = {.create = true};
    test_ok(db_open(NULL, &options, &t.db, &err), &err);
    test_ok(txn_begin(t.db, &t.txn, &err), &err);
    test_ok(txn_lock(t.txn, &err), &err);
    test_ok(pool_new(workers, &t.pool, &err), &err);
    return t;
}

static inline void test_db_close(TestDb *t)
{
    txn_rollback(t->txn);
    db_close(t->db);
    pool_free(t->pool);
}

typedef void (*RowFn)(void *ctx, const Batch *batch);

/* Calls fn with every batch of the table, in order. */
static inline void test_each_batch(TestDb *t, const char *name, RowFn fn, void *ctx)
{
    Error err = {0};
    const Table *table = txn_table(t->txn, str_of(name));
    assert_non_null(table);
    uint32_t ncols = table_def(table)->ncols;
    Arena arena;
    arena_init(&arena, NULL);
    for (uint32_t s = 0; s < table_segments(table); s++) {
        uint32_t rows = segment_rows(table, s);
        for (uint32_t row = 0; row < rows; row += BATCH_ROWS) {
            uint32_t n = rows - row < BATCH_ROWS ? rows - row : BATCH_ROWS;
            arena_reset(&arena);
            Batch batch = {.rows = n, .n = n, .ncols = ncols};
            batch.cols = ARENA_ARRAY(&arena, Vector, ncols, &err);
            assert_non_null(batch.cols);
            for (uint32_t c = 0; c < ncols; c++)
                test_ok(segment_read(table, s, c, row, n, NULL, 0, &arena, &batch.cols[c], &err), &err);
            fn(ctx, &batch);
        }
    }
    arena_free(&arena);
}

static void test_print_batch(void *ctx, const Batch *batch)
{
    Buf *buf = ctx;
    Error err = {0};
    for (uint32_t i = 0; i < batch->n; i++)
        for (uint32_t c = 0; c < batch->ncols; c++) {
            uint32_t row = batch_row(batch, i);
            if (vec_is_null(&batch->cols[c], row)) {
                test_ok(buf_text(buf, "NULL", &err), &err);
            } else {
                Value value = vec_value(&batch->cols[c], row);
                test_ok(value_print(&value, buf, &err), &err);
            }
            test_ok(buf_char(buf, c + 1 < batch->ncols ? '|' : '\n', &err), &err);
        }
}

/* The table as a|b|c lines, NULL for NULLs; free the Buf. */
static inline Buf test_print_table(TestDb *t, const char *name)
{
    Buf buf;
    buf_init(&buf, NULL);
    test_each_batch(t, name, test_print_batch, &buf);
    Error err;
    assert_non_null(buf_cstr(&buf, &err));
    return buf;
}

static inline Value test_int(int32_t v)
{
    return (Value){.type = TYPE(TYPE_INT4), .i32 = v};
}

static inline Value test_double(double v)
{
    return (Value){.type = TYPE(TYPE_FLOAT8), .f64 = v};
}

static inline uint64_t test_call(TestDb *t, const char *proc, const TableFuncArg *args, uint32_t nargs)
{
    Error err = {0};
    uint64_t rows = 0;
    const ProcEnv env = {.txn = t->txn, .pool = t->pool, .mem = db_mem(t->db)};
    const Proc *p = files_find_proc(str_of(proc));
    assert_non_null(p);
    test_ok(p->run(&env, args, nargs, &rows, &err), &err);
    return rows;
}

#endif
