/* Sorting and limits against a plain stable sort: several keys, directions, places of NULLs. */
#include "exec_util.h"

enum { COLS = 3 };

typedef struct Row {
    int64_t v[COLS];
    bool null[COLS];
    uint32_t number;
} Row;

static const SortKey *sort_keys; /* for qsort's callback */
static uint32_t sort_nkeys;

static int compare_rows(const void *x, const void *y)
{
    const Row *a = x, *c = y;
    for (uint32_t k = 0; k < sort_nkeys; k++) {
        const SortKey *key = &sort_keys[k];
        if (a->null[k] != c->null[k]) return a->null[k] == key->nulls_first ? -1 : 1;
        if (a->null[k] || a->v[k] == c->v[k]) continue;
        int order = a->v[k] < c->v[k] ? -1 : 1;
        return key->descending ? -order : order;
    }
    return (a->number > c->number) - (a->number < c->number);
}

static void check_sort(uint32_t rows, uint32_t span, uint32_t nkeys, bool descending, bool nulls_first, int32_t limit,
                       int32_t offset)
{
    Bench bench, *b = &bench;
    TestCol cols[COLS];
    Lines got = {0};
    bench_open(b);
    for (uint32_t c = 0; c < COLS; c++)
        cols[c] = random_col(b, "c", c == 1 ? TYPE(TYPE_INT8) : TYPE(TYPE_INT4), rows, -50, span, 10);
    cols[1].name = "d";
    cols[2].name = "e";
    bench_table(b, "t", cols, COLS, rows);
    Plan *scan = scan_of(b, "t"), *p = unary(b, PLAN_SORT, scan);
    SortKey keys[COLS];
    for (uint32_t k = 0; k < nkeys; k++)
        keys[k] = (SortKey){col_of(b, scan, k), descending != (k == 1), nulls_first != (k == 1)};
    p->sort.keys = keys;
    p->sort.nkeys = nkeys;
    if (limit >= 0) {
        p->sort.limit = int_const(b, limit);
        p->sort.offset = int_const(b, offset);
        p = unary(b, PLAN_LIMIT, p);
        p->limit.limit = int_const(b, limit);
        p->limit.offset = int_const(b, offset);
    }
    Row *expected = calloc(rows + 1, sizeof *expected);
    for (uint32_t i = 0; i < rows; i++) {
        expected[i].number = i;
        for (uint32_t c = 0; c < COLS; c++) {
            expected[i].v[c] = cols[c].values[i];
            expected[i].null[c] = cols[c].null[i];
        }
    }
    sort_keys = keys;
    sort_nkeys = nkeys;
    qsort(expected, rows, sizeof *expected, compare_rows);
    run_all(b, p, &got);
    uint32_t from = limit < 0 ? 0 : (uint32_t)offset < rows ? (uint32_t)offset : rows;
    uint32_t n = limit < 0 || (uint32_t)limit > rows - from ? rows - from : (uint32_t)limit;
    assert_int_equal(got.n, n);
    for (uint32_t i = 0; i < n; i++) {
        char line[128] = "";
        for (uint32_t c = 0; c < COLS; c++) {
            size_t used = strlen(line);
            const Row *row = &expected[from + i];
            if (row->null[c])
                snprintf(line + used, sizeof line - used, "NULL%s", c + 1 < COLS ? "|" : "");
            else
                snprintf(line + used, sizeof line - used, "%lld%s", (long long)row->v[c], c + 1 < COLS ? "|" : "");
        }
        assert_string_equal(got.at[i], line);
    }
    lines_free(&got);
    free(expected);
    bench_close(b);
}

static void whole_tables(void **state)
{
    (void)state;
    check_sort(0, 10, 1, false, false, -1, 0);
    check_sort(1, 10, 1, false, false, -1, 0);
    check_sort(5000, 20, 2, false, true, -1, 0);
    check_sort(5000, 1000000, 3, true, false, -1, 0);
    check_sort(200000, 50, 2, true, true, -1, 0);
}

static void limits(void **state)
{
    (void)state;
    check_sort(200000, 100000, 1, false, false, 10, 0);
    check_sort(200000, 100000, 2, true, false, 100, 37);
    check_sort(3000, 10, 1, false, false, 0, 5);
    check_sort(3000, 10, 1, false, false, 50, 2990);
    check_sort(3000, 10, 1, false, false, 50, 5000);
}

/* LIMIT without ORDER BY takes the first rows, whatever the number of workers. */
static void limit_takes_the_first_rows(void **state)
{
    (void)state;
    Bench bench, *b = &bench;
    Lines got = {0};
    bench_open(b);
    TestCol col = random_col(b, "v", TYPE(TYPE_INT4), 300000, 0, 1000000, 0);
    bench_table(b, "t", &col, 1, 300000);
    Plan *p = unary(b, PLAN_LIMIT, scan_of(b, "t"));
    p->limit.limit = int_const(b, 70000);
    p->limit.offset = int_const(b, 3);
    run_all(b, p, &got);
    assert_int_equal(got.n, 70000);
    for (uint32_t i = 0; i < got.n; i++) assert_int_equal(atoll(got.at[i]), col.values[i + 3]);
    lines_free(&got);
    bench_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_tables),
        cmocka_unit_test(limits),
        cmocka_unit_test(limit_takes_the_first_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
