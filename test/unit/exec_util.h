/*
 * exec_util.h: hand-built plans for the tests of exec/: a database in memory, tables of random rows, plan
 * nodes, results as text lines.
 */
#ifndef TEST_UNIT_EXEC_UTIL_H
#define TEST_UNIT_EXEC_UTIL_H

#include "exec/exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Bench {
    Db *db;
    Txn *txn;
    Arena arena;
    Error err;
    ColId next_col;
    uint64_t seed;
} Bench;

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        tcudb_status ok_ = (call);                                                                                     \
        if (ok_ != TCUDB_OK) fail_msg("%s: %s %s", #call, b->err.sqlstate, b->err.message);                            \
    } while (0)

static inline void bench_open(Bench *b)
{
    memset(b, 0, sizeof *b);
    DbOptions options = {.create = true};
    OK(db_open(NULL, &options, &b->db, &b->err));
    OK(txn_begin(b->db, &b->txn, &b->err));
    arena_init(&b->arena, NULL);
    b->next_col = 1;
    b->seed = 12345;
}

static inline void bench_close(Bench *b)
{
    txn_rollback(b->txn);
    db_close(b->db);
    arena_free(&b->arena);
}

static inline uint32_t bench_random(Bench *b, uint32_t below)
{
    b->seed = b->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(b->seed >> 33) % below;
}

/* Columns of int8 values; text columns get the decimal text of theirs. null[i]: the value is NULL. */
typedef struct TestCol {
    const char *name;
    Type type;
    int64_t *values;
    bool *null;
} TestCol;

static inline Value test_value(Bench *b, Type type, int64_t v, bool null)
{
    Value out = {.type = type, .null = null};
    if (null) return out;
    switch (type_phys(type)) {
    case PHYS_BOOL: out.b = v & 1; break;
    case PHYS_I16: out.i16 = (int16_t)v; break;
    case PHYS_I32: out.i32 = (int32_t)v; break;
    case PHYS_I128: out.i128 = v; break;
    case PHYS_F64: out.f64 = (double)v / 7; break;
    case PHYS_STR: out.str = str_of(arena_printf(&b->arena, &b->err, "t%lld", (long long)v)); break;
    default: out.i64 = v; break;
    }
    return out;
}

static inline void put_value(Vector *v, uint32_t i, const Value *value)
{
    Vector one;
    Arena arena;
    arena_init(&arena, NULL);
    if (value->null) {
        bit_clear(v->valid, i);
        memset((char *)v->data + i * phys_size((Phys)v->phys), 0, phys_size((Phys)v->phys));
    } else {
        assert_int_equal(vec_const(&arena, value, &one, NULL), TCUDB_OK);
        memcpy((char *)v->data + i * phys_size((Phys)v->phys), one.data, phys_size((Phys)v->phys));
    }
    arena_free(&arena);
}

static inline void bench_table(Bench *b, const char *name, const TestCol *cols, uint32_t ncols, uint32_t rows)
{
    ColumnDef defs[8];
    for (uint32_t c = 0; c < ncols; c++) defs[c] = (ColumnDef){.name = str_of(cols[c].name), .type = cols[c].type};
    TableDef def = {.name = str_of(name), .ncols = ncols, .cols = defs};
    OK(txn_create_table(b->txn, &def, &b->err));
    for (uint32_t at = 0; at < rows; at += BATCH_ROWS) {
        uint32_t n = rows - at < BATCH_ROWS ? rows - at : BATCH_ROWS;
        Vector vectors[8];
        Batch batch = {.rows = n, .n = n, .ncols = ncols, .cols = vectors};
        for (uint32_t c = 0; c < ncols; c++) {
            OK(vec_new(&b->arena, cols[c].type, n, &vectors[c], &b->err));
            OK(vec_need_valid(&b->arena, &vectors[c], n, &b->err));
            for (uint32_t i = 0; i < n; i++) {
                Value v = test_value(b, cols[c].type, cols[c].values[at + i], cols[c].null[at + i]);
                put_value(&vectors[c], i, &v);
            }
        }
        OK(txn_append(b->txn, str_of(name), &batch, &b->err));
    }
}

/* Random columns: values in [-low, high), one in `nulls` NULL (0: none). */
static inline TestCol random_col(Bench *b, const char *name, Type type, uint32_t rows, int64_t low, uint32_t span,
                                 uint32_t nulls)
{
    TestCol col = {.name = name, .type = type};
    col.values = ARENA_ARRAY(&b->arena, int64_t, rows + 1, &b->err);
    col.null = ARENA_ARRAY(&b->arena, bool, rows + 1, &b->err);
    assert_non_null(col.values);
    assert_non_null(col.null);
    for (uint32_t i = 0; i < rows; i++) {
        col.values[i] = low + bench_random(b, span);
        col.null[i] = nulls > 0 && bench_random(b, nulls) == 0;
    }
    return col;
}

/* ---- plans ------------------------------------------------------------------------------------ */

static inline Plan *scan_of(Bench *b, const char *name)
{
    const Table *table = txn_table(b->txn, str_of(name));
    assert_non_null(table);
    const TableDef *def = table_def(table);
    Plan *p = plan_new(&b->arena, PLAN_SCAN, 0, def->ncols, &b->err);
    uint32_t *columns = ARENA_ARRAY(&b->arena, uint32_t, def->ncols, &b->err);
    for (uint32_t i = 0; i < def->ncols; i++) {
        p->cols[i] = (PlanCol){b->next_col++, def->cols[i].type, "c"};
        columns[i] = i;
    }
    p->scan.table = table;
    p->scan.name = def->name;
    p->scan.columns = columns;
    return p;
}

static inline Expr *col_of(Bench *b, const Plan *p, uint32_t i)
{
    return expr_col(&b->arena, p->cols[i].id, p->cols[i].type, 0, &b->err);
}

static inline Expr *int_const(Bench *b, int32_t v)
{
    Value value = {.type = TYPE(TYPE_INT4), .i32 = v};
    return expr_const(&b->arena, &value, 0, &b->err);
}

static inline Expr *call(Bench *b, const char *name, Expr *x, Expr *y)
{
    Expr *args[2] = {x, y}, *out = NULL;
    OK(expr_call(&b->arena, FUNC_OPERATOR, name, args, y == NULL ? 1 : 2, 0, &out, &b->err));
    return out;
}

static inline Plan *unary(Bench *b, PlanKind kind, Plan *input)
{
    Plan *p = plan_new(&b->arena, kind, 1, input->ncols, &b->err);
    p->inputs[0] = input;
    memcpy(p->cols, input->cols, input->ncols * sizeof *p->cols);
    return p;
}

/* ---- running ---------------------------------------------------------------------------------- */

typedef struct Lines {
    char **at;
    uint32_t n, cap;
} Lines;

static inline void lines_add(Lines *l, const char *text)
{
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 64 : l->cap * 2;
        l->at = realloc(l->at, l->cap * sizeof *l->at);
        assert_non_null(l->at);
    }
    l->at[l->n++] = strdup(text);
}

static inline void lines_free(Lines *l)
{
    for (uint32_t i = 0; i < l->n; i++) free(l->at[i]);
    free(l->at);
    *l = (Lines){0};
}

static inline int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static inline void lines_sort(Lines *l)
{
    if (l->n > 0) qsort(l->at, l->n, sizeof *l->at, compare_lines);
}

static inline void print_cell(Buf *buf, const Value *v, bool last)
{
    if (v->null)
        assert_int_equal(buf_text(buf, "NULL", NULL), TCUDB_OK);
    else
        assert_int_equal(value_print(v, buf, NULL), TCUDB_OK);
    if (!last) assert_int_equal(buf_char(buf, '|', NULL), TCUDB_OK);
}

static inline tcudb_status lines_sink(void *ctx, const Batch *batch, Error *err)
{
    Lines *l = ctx;
    for (uint32_t i = 0; i < batch->n; i++) {
        Buf buf;
        buf_init(&buf, NULL);
        for (uint32_t c = 0; c < batch->ncols; c++) {
            Value v = vec_value(&batch->cols[c], batch_row(batch, i));
            print_cell(&buf, &v, c + 1 == batch->ncols);
        }
        const char *text = buf_cstr(&buf, err);
        if (text == NULL) return TCUDB_NOMEM;
        lines_add(l, text);
        buf_free(&buf);
    }
    return TCUDB_OK;
}

static inline tcudb_status run_plan(Bench *b, Plan *plan, uint32_t workers, Mem *mem, const atomic_bool *cancel,
                                    Lines *out, ExecReport *report)
{
    Pool *pool = NULL;
    Settings settings;
    settings_init(&settings);
    OK(pool_new(workers, &pool, &b->err));
    OK(plan_verify(plan, &b->err));
    ExecEnv env = {.txn = b->txn, .pool = pool, .mem = mem, .settings = &settings, .cancel = cancel};
    PhysPlan *phys = NULL;
    tcudb_status status = phys_plan(&b->arena, &env, plan, &phys, &b->err);
    if (status == TCUDB_OK) status = exec_run(&env, phys, lines_sink, out, report, &b->err);
    pool_free(pool);
    return status;
}

/* Runs the plan with 1 to 4 workers: the same lines in the same order each time. */
static inline void run_all(Bench *b, Plan *plan, Lines *out)
{
    Mem mem;
    mem_init(&mem, 0);
    for (uint32_t workers = 1; workers <= 4; workers++) {
        Lines lines = {0};
        OK(run_plan(b, plan, workers, &mem, NULL, &lines, NULL));
        assert_int_equal(atomic_load(&mem.used), 0);
        if (workers == 1) {
            *out = lines;
            continue;
        }
        assert_int_equal(lines.n, out->n);
        for (uint32_t i = 0; i < lines.n; i++) assert_string_equal(lines.at[i], out->at[i]);
        lines_free(&lines);
    }
}

/* The plan's lines, in any order, are the expected ones. */
static inline void expect_lines(Bench *b, Plan *plan, Lines *expected)
{
    Lines got = {0};
    run_all(b, plan, &got);
    lines_sort(&got);
    lines_sort(expected);
    assert_int_equal(got.n, expected->n);
    for (uint32_t i = 0; i < got.n; i++) assert_string_equal(got.at[i], expected->at[i]);
    lines_free(&got);
    lines_free(expected);
}

#endif
