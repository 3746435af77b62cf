/*
 * calibrate.c: CALL tcudb_calibrate(): measures this machine's rates.
 *
 * Every step runs something real, a query on one thread in a database of its own or a product (tensor/product.h), where
 * one rate matters more than the others. Its best time of RUNS, less what the other rates predict for the rest, gives
 * the rate: predictions are linear in every rate, so doubling it tells its share. Steps go from those that need few
 * rates to those that need many. What no step measures is scaled like the measured ones. About ten seconds.
 */
#include "session/rates_file.h"
#include "session/session_int.h"
#include "opt/cost.h"
#include "tensor/product.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 3, ALL_POINTS = -1, ROWS = 1 << 20 };

typedef struct Step {
    const char *rate;
    const char *sql; /* NULL: a product */
    int point;       /* of a curve or of the instruction sets; ALL_POINTS: all of them alike */
    uint32_t groups[2], keys, rows;
    int32_t low, high; /* of the values; both 0: none */
    ProductForm form;
} Step;

static const char setup[] =
    "CREATE TABLE t AS SELECT CAST(h % 1024 AS int) AS a10, CAST(h % 8192 AS int) AS a13, CAST(h % 65536 AS int) AS "
    "a16,"
    " CAST(h % 524288 AS int) AS a19, CAST(h % 1024 AS float8) AS f10, CAST(h % 8192 AS float8) AS f13,"
    " CAST(h % 65536 AS float8) AS f16, CAST(h % 524288 AS float8) AS f19, CAST(i AS float8) AS f20, CAST(h % 1000 AS "
    "int) AS v"
    " FROM (SELECT i, (i * 48271 % 2147483647 * (i * 48271 % 2147483647) + i) % 2147483629 AS h"
    " FROM generate_series(CAST(1 AS bigint), CAST(1048576 AS bigint)) s(i)) r;"
    "CREATE TABLE d10 AS SELECT CAST(i AS int) AS id, CAST(i % 7 AS int) AS w FROM generate_series(0, 1023) s(i);"
    "CREATE TABLE d13 AS SELECT CAST(i AS int) AS id, CAST(i % 7 AS int) AS w FROM generate_series(0, 8191) s(i);"
    "CREATE TABLE d16 AS SELECT CAST(i AS int) AS id, CAST(i % 7 AS int) AS w FROM generate_series(0, 65535) s(i);"
    "CREATE TABLE d19 AS SELECT CAST(i AS int) AS id, CAST(i % 7 AS int) AS w FROM generate_series(0, 524287) s(i);"
    "CREATE TABLE p AS SELECT a13 AS k, v FROM t WHERE f20 <= 131072;"
    "CREATE TABLE q AS SELECT CAST(a10 % 128 AS int) AS k, v FROM t WHERE f20 <= 65536;"
    "SET tcudb.contraction = off; SET tcudb.eager_aggregation = off";

#define DIMENSION(d, a) "SELECT sum(t.v), sum(d.w) FROM t JOIN " d " d ON t." a " = d.id"

static const Step steps[] = {
    {"group_value", "SELECT sum(v), sum(a10), sum(a13), sum(a16) FROM t", 0},
    {"filter_row", "SELECT min(v) FROM t WHERE a13 + v = 7", 0},
    {"dense_group", "SELECT a10, count(*) FROM t GROUP BY a10", 0},
    {"dense_group", "SELECT a13, count(*) FROM t GROUP BY a13", 1},
    {"dense_group", "SELECT a16, count(*) FROM t GROUP BY a16", 2},
    {"group_out", "SELECT id, count(*) FROM d19 GROUP BY id", 0},
    {"dense_group", "SELECT a19, count(*) FROM t GROUP BY a19", 3},
    {"group", "SELECT f10, count(*) FROM t GROUP BY f10", 0},
    {"group", "SELECT f13, count(*) FROM t GROUP BY f13", 1},
    {"group", "SELECT f16, count(*) FROM t GROUP BY f16", 2},
    {"group_new", "SELECT f20, count(*) FROM t GROUP BY f20", 0},
    {"group", "SELECT f19, count(*) FROM t GROUP BY f19", 3},
    {"probe", DIMENSION("d10", "a10"), 0},
    {"probe", DIMENSION("d13", "a13"), 1},
    {"probe", DIMENSION("d16", "a16"), 2},
    {"probe", DIMENSION("d19", "a19"), 3},
    {"pair_row", "SELECT sum(a.v), sum(b.v) FROM p a JOIN p b ON a.k = b.k", 0},
    {"range_row", "SELECT sum(a.v), sum(b.v) FROM q a JOIN q b ON a.k = b.k", 0},
    {"cell", NULL, ALL_POINTS, {1000, 1000}, 50000, 200000, 0, 0, FORM_SPARSE},
    {"key", NULL, 0, {64, 64}, 500000, 100000, 0, 0, FORM_SPARSE},
    {"cell_value", NULL, 0, {1000, 1000}, 50000, 200000, 0, 200, FORM_SPARSE},
    {"pair", NULL, 0, {1000, 1000}, 500, 100000, 0, 0, FORM_SPARSE},
    {"pair", NULL, 1, {1000, 8000}, 500, 100000, 0, 0, FORM_SPARSE},
    {"pair", NULL, 2, {100, 65000}, 100, 100000, 0, 0, FORM_SPARSE},
    {"pair_value", NULL, 0, {1000, 1000}, 500, 100000, 0, 200, FORM_SPARSE},
    {"emit", NULL, 0, {2000, 2000}, 60000, 120000, 0, 0, FORM_SPARSE},
    {"fill", NULL, 0, {512, 512}, 512, 260000, 0, 200, FORM_DENSE},
    {"full", NULL, 0, {64, 64}, 4096, 64 * 4096, 0, 0, FORM_DENSE},
    {"full_value", NULL, 0, {64, 64}, 4096, 64 * 4096, 0, 200, FORM_DENSE},
    {"background", NULL, 0, {512, 512}, 512, 20000, -100, 100, FORM_DENSE},
    {"mac", NULL, ISA_COUNT, {1000, 1000}, 4000, 100000, 0, 200, FORM_DENSE},
    {"mac_double", NULL, ISA_COUNT, {1000, 1000}, 1000, 100000, 0, 200, FORM_DOUBLES},
    {"bit", NULL, ISA_COUNT, {2000, 2000}, 8000, 100000, 0, 0, FORM_BITS},
};

enum { NSTEPS = sizeof steps / sizeof steps[0] };

typedef struct Calibration {
    Rates rates;
    Instance instance; /* of its own: in memory, one thread */
    Session *session;
    const Step *step;
    double actual, predicted, doubled; /* of the step: best time, and predictions */
    double ratios;                     /* sum of the logarithms of new / old */
    uint32_t measured;
    uint64_t touched; /* by step */
} Calibration;

static const RateInfo *info_of(const char *name)
{
    const RateInfo *info;
    for (uint32_t i = 0; (info = rates_at(i)) != NULL; i++)
        if (strcmp(info->name, name) == 0) return info;
    assert(!"a step names a rate");
    return NULL;
}

static void scale(Rates *rates, const Step *step, double by)
{
    const RateInfo *info = info_of(step->rate);
    double *values = rate_values(rates, info);
    uint32_t point = step->point == ISA_COUNT ? kernels_best_isa() : (uint32_t)step->point;
    for (uint32_t i = 0; i < info->n; i++)
        if (step->point == ALL_POINTS || i == point || info->n == 1) values[i] *= by;
    /* Sizes beyond the largest measured one keep their distance from it. */
    bool curve = info->n == RATE_POINTS && step->point >= 0;
    for (uint32_t i = point + 1; curve && i < info->n; i++) values[i] *= by;
}

/* ---- products ------------------------------------------------------------------------------------ */

static double product_seconds(const Rates *rates, const ProductReport *r)
{
    ProductPrice p = product_price(rates, kernels_best_isa(), &r->shape, r->heavy_keys, r->light_pairs);
    return 1e-9 * (p.build + p.multiply + p.emit);
}

static tcudb_status drop_rows(void *ctx, uint32_t worker, const ProductRows *rows, Error *err)
{
    (void)ctx, (void)worker, (void)rows, (void)err;
    return TCUDB_OK;
}

/* A bag of rows with random groups and keys; as many as there are pairs of both: each pair once. */
static void fill_side(const Step *step, uint32_t groups, uint32_t *group, uint32_t *key, int64_t *value, uint64_t seed)
{
    for (uint32_t i = 0; i < step->rows; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bool grid = step->rows == groups * step->keys;
        group[i] = grid ? i / step->keys : (uint32_t)((seed >> 33) % groups);
        key[i] = grid ? i % step->keys : (uint32_t)((seed >> 13) % 999983 * step->keys / 999983);
        value[i] = step->low + (int64_t)((seed >> 40) % (uint64_t)(step->high - step->low + 1));
    }
}

static tcudb_status measure_product(Calibration *c, const ProductSpec *spec, const atomic_bool *cancel, Error *err)
{
    for (int run = 0; run < RUNS; run++) {
        ProductReport report;
        TRY(product_run(spec, c->instance.pool, db_mem(c->instance.db), cancel, drop_rows, NULL, &report, err));
        double seconds = report.build_seconds + report.multiply_seconds;
        report.shape.out = (double)report.rows;
        if (seconds >= c->actual) continue;
        Rates twice = c->rates;
        scale(&twice, c->step, 2);
        c->actual = seconds;
        c->predicted = product_seconds(&c->rates, &report);
        c->doubled = product_seconds(&twice, &report);
    }
    return TCUDB_OK;
}

static tcudb_status product_step(Calibration *c, Run *run, Error *err)
{
    const Step *step = c->step;
    SideRun runs[2];
    Side sides[2];
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t *group = ARENA_ARRAY(run->arena, uint32_t, step->rows, err);
        uint32_t *key = ARENA_ARRAY(run->arena, uint32_t, step->rows, err);
        int64_t *value = ARENA_ARRAY(run->arena, int64_t, step->rows, err);
        if (group == NULL || key == NULL || value == NULL) return TCUDB_NOMEM;
        fill_side(step, step->groups[s], group, key, value, s + 1);
        runs[s] = (SideRun){.n = step->rows, .group = group, .key = key, .values = {value}};
        sides[s] = (Side){.groups = step->groups[s], .n = step->rows, .nruns = 1, .runs = &runs[s]};
        sides[s].nvalues = step->high > 0;
    }
    ProductSpec spec = {
        .keys = step->keys, .left = sides[0], .right = sides[1], .form = step->form, .rates = &c->rates};
    spec.isa = kernels_best_isa();
    spec.nproducts = step->high > 0;
    spec.exact_counts = step->form != FORM_BITS && step->high == 0;
    return measure_product(c, &spec, &run->session->watch.cancel, err);
}

void session_set_measure(Session *session, void (*fn)(void *ctx, const PhysPlan *phys, double seconds), void *ctx)
{
    session->measure = fn;
    session->measure_ctx = ctx;
}

/* ---- queries ------------------------------------------------------------------------------------- */

static double plan_seconds(const Rates *rates, const PhysPlan *phys)
{
    CostEnv env = {.rates = rates, .workers = 1, .rows = exec_real_rows, .ctx = phys->root};
    return price_total(cost_tree(&env, phys->root->plan));
}

/* Called by the inner session when a query has run. */
static void measure_query(void *ctx, const PhysPlan *phys, double seconds)
{
    Calibration *c = ctx;
    if (seconds >= c->actual) return;
    Rates twice = c->rates;
    scale(&twice, c->step, 2);
    c->actual = seconds;
    c->predicted = plan_seconds(&c->rates, phys);
    c->doubled = plan_seconds(&twice, phys);
}

static tcudb_status run_inner(Calibration *c, const char *sql, Error *err)
{
    SessionSink sink = {.batch = session_drop_batch};
    return session_run(c->session, sql, &sink, err);
}

static tcudb_status query_step(Calibration *c, Error *err)
{
    for (int run = 0; run < RUNS; run++) TRY(run_inner(c, c->step->sql, err));
    return TCUDB_OK;
}

/* ---- all ------------------------------------------------------------------------------------------ */

/* actual = others + factor x share of the rate. The others are not exact, so what is far off is not believed. */
static double solve(const Calibration *c)
{
    static const double MOST = 3;
    double share = c->doubled - c->predicted, others = c->predicted - share;
    if (!(share > 0)) return 1;
    return fmin(MOST, fmax(1 / MOST, (c->actual - others) / share));
}

static tcudb_status run_step(Calibration *c, Run *run, const Step *step, Error *err)
{
    c->step = step;
    c->actual = INFINITY;
    c->predicted = c->doubled = 0;
    TRY(step->sql != NULL ? query_step(c, err) : product_step(c, run, err));
    double factor = solve(c);
    scale(&c->rates, step, factor);
    c->ratios += log(factor);
    c->measured++;
    session_notify(run->session, "NOTICE", "00000", "%u of %u: %s: %.3g ns", c->measured, (unsigned)NSTEPS,
                   info_of(step->rate)->help,
                   rate_values(&c->rates, info_of(step->rate))[step->point == ISA_COUNT ? kernels_best_isa()
                                                               : step->point < 0        ? 0
                                                                                        : (uint32_t)step->point]);
    atomic_store(&run->progress.done, c->measured + 1);
    return watch_check(&run->session->watch, err);
}

static bool is_measured(const char *rate)
{
    for (uint32_t i = 0; i < NSTEPS; i++)
        if (strcmp(steps[i].rate, rate) == 0) return true;
    return false;
}

static void scale_the_rest(Calibration *c)
{
    const RateInfo *info;
    double factor = exp(c->ratios / c->measured);
    for (uint32_t i = 0; (info = rates_at(i)) != NULL; i++)
        for (uint32_t v = 0; v < info->n && !is_measured(info->name); v++) rate_values(&c->rates, info)[v] *= factor;
}

static tcudb_status run_steps(Calibration *c, Run *run, Error *err)
{
    atomic_store(&run->progress.total, NSTEPS + 1);
    TRY(run_inner(c, setup, err));
    atomic_store(&run->progress.done, 1);
    session_set_measure(c->session, measure_query, c);
    for (uint32_t i = 0; i < NSTEPS; i++) TRY(run_step(c, run, &steps[i], err));
    scale_the_rest(c);
    return TCUDB_OK;
}

static tcudb_status open_inner(Calibration *c, Error *err)
{
    DbOptions options = {.create = true, .memory_limit = c->instance.memory_limit};
    TRY(pool_new(1, &c->instance.pool, err));
    TRY(db_open(NULL, &options, &c->instance.db, err));
    return session_new(&c->instance, &c->session, err);
}

tcudb_status session_calibrate(Run *run, Error *err)
{
    char path[RATES_PATH];
    Calibration c = {.rates = rates_default()};
    c.instance.rates = c.rates;
    c.instance.memory_limit = run->session->instance->memory_limit;
    tcudb_status status = open_inner(&c, err);
    if (status == TCUDB_OK) status = run_steps(&c, run, err);
    if (status == TCUDB_OK) status = rates_save(&c.rates, path, err);
    session_free(c.session);
    if (c.instance.db != NULL) db_close(c.instance.db);
    if (c.instance.pool != NULL) pool_free(c.instance.pool);
    if (status == TCUDB_OK)
        session_notify(run->session, "NOTICE", "00000",
                       "the rates are in \"%s\"; databases opened from now on use them", path);
    return status;
}
