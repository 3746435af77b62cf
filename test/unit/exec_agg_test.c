/* Grouping and aggregates against plain loops: few and many groups, NULLs, DISTINCT, FILTER, exact sums. */
#include "exec_util.h"

enum { ROWS = 40000, COLS = 5 };

typedef struct Input {
    Bench b;
    TestCol cols[COLS]; /* a int4 few values, c int8 many values, v int4, x float8, t text */
    uint32_t rows;
} Input;

static void make_input(Input *in, uint32_t rows, uint32_t many)
{
    Bench *b = &in->b;
    bench_open(b);
    in->rows = rows;
    in->cols[0] = random_col(b, "a", TYPE(TYPE_INT4), rows, -2, 6, 7);
    in->cols[1] = random_col(b, "c", TYPE(TYPE_INT8), rows, -1000000007, many, 50);
    in->cols[2] = random_col(b, "v", TYPE(TYPE_INT4), rows, -100, 1000, 5);
    in->cols[3] = random_col(b, "x", TYPE(TYPE_FLOAT8), rows, -1000, 5000, 6);
    in->cols[4] = random_col(b, "t", TYPE(TYPE_TEXT), rows, 0, 9, 4);
    bench_table(b, "t", in->cols, COLS, rows);
}

static AggCall agg(Bench *b, const char *name, Expr *arg, bool distinct, Expr *filter)
{
    AggCallType type;
    AggCall out = {.distinct = distinct, .filter = filter};
    Type arg_type = arg == NULL ? TYPE(TYPE_INT4) : arg->type;
    OK(agg_resolve(str_of(name), &arg_type, arg != NULL, arg == NULL, 0, &type, &b->err));
    out.kind = type.kind;
    out.col = (PlanCol){b->next_col++, type.result, "agg"};
    if (arg != NULL) {
        out.nargs = 1;
        OK(expr_cast(&b->arena, arg, type.args[0], CAST_IMPLICIT, 0, &out.args[0], &b->err));
    }
    return out;
}

static Plan *agg_plan(Bench *b, Plan *input, const uint32_t *groups, uint32_t ngroups, const AggCall *aggs,
                      uint32_t naggs)
{
    Plan *p = plan_new(&b->arena, PLAN_AGGREGATE, 1, ngroups + naggs, &b->err);
    p->inputs[0] = input;
    p->agg.groups = ARENA_ARRAY(&b->arena, NamedExpr, ngroups + 1, &b->err);
    p->agg.aggs = ARENA_ARRAY(&b->arena, AggCall, naggs + 1, &b->err);
    p->agg.ngroups = ngroups;
    p->agg.naggs = naggs;
    for (uint32_t g = 0; g < ngroups; g++) {
        p->agg.groups[g] = (NamedExpr){input->cols[groups[g]], col_of(b, input, groups[g])};
        p->cols[g] = p->agg.groups[g].col;
    }
    for (uint32_t a = 0; a < naggs; a++) {
        p->agg.aggs[a] = aggs[a];
        p->cols[ngroups + a] = aggs[a].col;
    }
    return p;
}

/* Reference: groups of (a) or (c); count(*), count(v), sum(v), min(v), max(t's number), count(distinct t),
 * sum(v) where v > 50. */
typedef struct Group {
    bool used, null, has_min;
    int64_t key, rows, count, sum, min, filtered;
    bool any_filtered;
    uint32_t texts; /* bitmap of distinct t */
} Group;

static int compare_groups(const void *x, const void *y)
{
    const Group *a = x, *c = y;
    if (a->null != c->null) return a->null ? 1 : -1;
    return (a->key > c->key) - (a->key < c->key);
}

static Group *find_group(Group *groups, uint32_t cap, bool null, int64_t key)
{
    uint32_t at = (uint32_t)((uint64_t)(null ? 77 : key) * 2654435761u) % cap;
    while (groups[at].used && (groups[at].null != null || (!null && groups[at].key != key))) at = (at + 1) % cap;
    groups[at].used = true;
    groups[at].null = null;
    groups[at].key = null ? 0 : key;
    return &groups[at];
}

static void expected_groups(Input *in, uint32_t key_col, Lines *out)
{
    uint32_t cap = in->rows * 2 + 16;
    Group *groups = calloc(cap, sizeof *groups);
    const TestCol *key = &in->cols[key_col], *v = &in->cols[2], *t = &in->cols[4];
    for (uint32_t i = 0; i < in->rows; i++) {
        Group *g = find_group(groups, cap, key->null[i], key->values[i]);
        g->rows++;
        if (!t->null[i]) g->texts |= 1u << t->values[i];
        if (v->null[i]) continue;
        g->count++;
        g->sum += v->values[i];
        if (!g->has_min || v->values[i] < g->min) g->min = v->values[i];
        g->has_min = true;
        if (v->values[i] > 50) {
            g->filtered += v->values[i];
            g->any_filtered = true;
        }
    }
    qsort(groups, cap, sizeof *groups, compare_groups);
    for (uint32_t i = 0; i < cap; i++) {
        Group *g = &groups[i];
        if (!g->used) continue;
        char k[32], s[32], m[32], f[32], line[256];
        snprintf(k, sizeof k, "%lld", (long long)g->key);
        snprintf(s, sizeof s, "%lld", (long long)g->sum);
        snprintf(m, sizeof m, "%lld", (long long)g->min);
        snprintf(f, sizeof f, "%lld", (long long)g->filtered);
        snprintf(line, sizeof line, "%s|%lld|%lld|%s|%s|%d|%s", g->null ? "NULL" : k, (long long)g->rows,
                 (long long)g->count, g->count ? s : "NULL", g->has_min ? m : "NULL", __builtin_popcount(g->texts),
                 g->any_filtered ? f : "NULL");
        lines_add(out, line);
    }
    free(groups);
}

static void check_groups(uint32_t rows, uint32_t many, uint32_t key_col)
{
    Input in;
    Lines expected = {0};
    make_input(&in, rows, many);
    Bench *b = &in.b;
    Plan *scan = scan_of(b, "t");
    Expr *v = col_of(b, scan, 2), *big = call(b, ">", v, int_const(b, 50));
    AggCall aggs[] = {agg(b, "count", NULL, false, NULL),
                      agg(b, "count", v, false, NULL),
                      agg(b, "sum", v, false, NULL),
                      agg(b, "min", v, false, NULL),
                      agg(b, "count", col_of(b, scan, 4), true, NULL),
                      agg(b, "sum", v, false, big)};
    expected_groups(&in, key_col, &expected);
    expect_lines(b, agg_plan(b, scan, &key_col, 1, aggs, 6), &expected);
    bench_close(b);
}

static void few_groups(void **state)
{
    (void)state;
    check_groups(ROWS, 100, 0);
}

static void many_groups(void **state)
{
    (void)state;
    check_groups(ROWS, 2000000000, 1);
    check_groups(100000, 90000, 1);
}

static void no_rows(void **state)
{
    (void)state;
    check_groups(0, 10, 0);
    Input in;
    Lines expected = {0};
    make_input(&in, 0, 10);
    Bench *b = &in.b;
    Plan *scan = scan_of(b, "t");
    AggCall aggs[] = {agg(b, "count", NULL, false, NULL), agg(b, "sum", col_of(b, scan, 2), false, NULL),
                      agg(b, "avg", col_of(b, scan, 3), false, NULL)};
    lines_add(&expected, "0|NULL|NULL");
    expect_lines(b, agg_plan(b, scan, NULL, 0, aggs, 3), &expected);
    bench_close(b);
}

/* Sums of floats depend on the order of rows; it must not depend on the number of workers. run_all checks that
 * the printed digits agree; within one task they are those of adding in row order. */
static void float_sums_are_reproducible(void **state)
{
    (void)state;
    Input in;
    Lines got = {0};
    make_input(&in, 300000, 100);
    Bench *b = &in.b;
    Plan *scan = scan_of(b, "t");
    const uint32_t by_a = 0;
    AggCall aggs[] = {agg(b, "sum", col_of(b, scan, 3), false, NULL), agg(b, "avg", col_of(b, scan, 3), false, NULL),
                      agg(b, "stddev", col_of(b, scan, 3), false, NULL),
                      agg(b, "max", col_of(b, scan, 3), false, NULL)};
    run_all(b, agg_plan(b, scan, &by_a, 1, aggs, 4), &got);
    assert_int_equal(got.n, 7);
    lines_free(&got);
    run_all(b, agg_plan(b, scan, NULL, 0, aggs, 4), &got);
    assert_int_equal(got.n, 1);
    lines_free(&got);
    bench_close(b);
}

/* The sum of int8 passes 64 bits and comes back: exact, no wrap; sum(int4) beyond bigint is impossible here. */
static void wide_sums_are_exact(void **state)
{
    (void)state;
    Bench bench, *b = &bench;
    Lines expected = {0};
    bench_open(b);
    TestCol col = random_col(b, "v", TYPE(TYPE_INT8), 5000, 0, 1, 0);
    int128 sum = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        col.values[i] = i % 10 == 9 ? INT64_MIN : INT64_MAX - bench_random(b, 1000);
        sum += col.values[i];
    }
    bench_table(b, "t", &col, 1, 5000);
    Plan *scan = scan_of(b, "t");
    AggCall aggs[] = {agg(b, "sum", col_of(b, scan, 0), false, NULL)};
    char digits[64];
    uint32_t n = sizeof digits;
    digits[--n] = '\0';
    for (int128 rest = sum; rest > 0; rest /= 10) digits[--n] = (char)('0' + (int)(rest % 10));
    lines_add(&expected, digits + n);
    expect_lines(b, agg_plan(b, scan, NULL, 0, aggs, 1), &expected);
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_groups),
        cmocka_unit_test(many_groups),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(float_sums_are_reproducible),
        cmocka_unit_test(wide_sums_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
