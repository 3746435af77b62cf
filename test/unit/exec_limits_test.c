/* Running out of memory and being cancelled: a clean error, nothing left allocated. */
#include "exec_util.h"

#include <pthread.h>
#include <time.h>

enum { ROWS = 60000 };

typedef enum PlanShape { SORT_IT, GROUP_IT, JOIN_IT, CROSS_IT, DISTINCT_IT, SHAPES } PlanShape;

static Plan *shape_plan(Bench *b, PlanShape shape)
{
    Plan *scan = scan_of(b, "t"), *other, *p;
    switch (shape) {
    case SORT_IT: {
        p = unary(b, PLAN_SORT, scan);
        p->sort.keys = ARENA_NEW(&b->arena, SortKey, &b->err);
        p->sort.keys[0].expr = col_of(b, scan, 0);
        p->sort.nkeys = 1;
        return p;
    }
    case GROUP_IT:
        p = plan_new(&b->arena, PLAN_AGGREGATE, 1, 1, &b->err);
        p->inputs[0] = scan;
        p->cols[0] = scan->cols[0];
        p->agg.groups = ARENA_NEW(&b->arena, NamedExpr, &b->err);
        p->agg.groups[0] = (NamedExpr){scan->cols[0], col_of(b, scan, 0)};
        p->agg.ngroups = 1;
        return p;
    case DISTINCT_IT: return unary(b, PLAN_DISTINCT, scan);
    default:
        other = scan_of(b, "t");
        p = plan_new(&b->arena, PLAN_JOIN, 2, 2, &b->err);
        p->inputs[0] = scan;
        p->inputs[1] = other;
        p->cols[0] = scan->cols[0];
        p->cols[1] = other->cols[0];
        p->join.kind = JOIN_INNER;
        if (shape == CROSS_IT) return p;
        p->join.conds = ARENA_ARRAY(&b->arena, Expr *, 1, &b->err);
        p->join.conds[p->join.nconds++] = call(b, "=", col_of(b, scan, 0), col_of(b, other, 0));
        return p;
    }
}

static tcudb_status count_sink(void *ctx, const Batch *batch, Error *err)
{
    (void)err;
    *(uint64_t *)ctx += batch->n;
    return TCUDB_OK;
}

static tcudb_status run_counting(Bench *b, Plan *plan, uint32_t workers, Mem *mem, const atomic_bool *cancel)
{
    Pool *pool = NULL;
    Settings settings;
    uint64_t rows = 0;
    settings_init(&settings);
    OK(pool_new(workers, &pool, &b->err));
    ExecEnv env = {.txn = b->txn, .pool = pool, .mem = mem, .settings = &settings, .cancel = cancel};
    PhysPlan *phys = NULL;
    ExecReport report;
    OK(phys_plan(&b->arena, &env, plan, &phys, &b->err));
    tcudb_status status = exec_run(&env, phys, count_sink, &rows, &report, &b->err);
    pool_free(pool);
    return status;
}

static void open_table(Bench *b)
{
    bench_open(b);
    TestCol col = random_col(b, "v", TYPE(TYPE_INT8), ROWS, 0, 2000000000, 0);
    bench_table(b, "t", &col, 1, ROWS);
}

static void memory_limit(void **state)
{
    (void)state;
    Bench bench, *b = &bench;
    open_table(b);
    for (PlanShape shape = 0; shape < SHAPES; shape++) {
        if (shape == CROSS_IT) continue;
        Mem mem;
        uint32_t failures = 0;
        for (size_t limit = 10000; limit < (size_t)64 << 20; limit = limit * 5 / 3) {
            mem_init(&mem, limit);
            tcudb_status status = run_counting(b, shape_plan(b, shape), 2, &mem, NULL);
            assert_int_equal(atomic_load(&mem.used), 0);
            if (status == TCUDB_OK) continue;
            failures++;
            assert_int_equal(status, TCUDB_NOMEM);
            assert_string_equal(b->err.sqlstate, "53200");
        }
        assert_true(failures > 0);
        mem_init(&mem, 0);
        assert_int_equal(run_counting(b, shape_plan(b, shape), 2, &mem, NULL), TCUDB_OK);
    }
    bench_close(b);
}

static void *cancel_soon(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_store((atomic_bool *)arg, true);
    return NULL;
}

/* The cross join has 3.6 G rows: it ends only because it is cancelled. */
static void cancel_ends_a_long_query(void **state)
{
    (void)state;
    Bench bench, *b = &bench;
    open_table(b);
    for (uint32_t workers = 1; workers <= 3; workers++) {
        Mem mem;
        atomic_bool cancel = false;
        pthread_t thread;
        mem_init(&mem, 0);
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel), 0);
        tcudb_status status = run_counting(b, shape_plan(b, CROSS_IT), workers, &mem, &cancel);
        pthread_join(thread, NULL);
        assert_int_equal(status, TCUDB_INTERRUPTED);
        assert_string_equal(b->err.sqlstate, "57014");
        assert_int_equal(atomic_load(&mem.used), 0);
    }
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_limit),
        cmocka_unit_test(cancel_ends_a_long_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
