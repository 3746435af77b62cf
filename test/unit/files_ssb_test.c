/*
 * The star schema generator: counts, keys, hierarchies and arithmetic hold; the rows do not depend on threads; the
 * shares that queries select agree with the public generator's.
 */
#include "files_db.h"
#include "files/files.h"

#include <stdio.h>

enum { LINES_AT_CENT = 60000 };

typedef struct Lines {
    uint64_t rows, orders, bad, lines[8], discounts[11], quantities[51];
    int64_t last_order, total, last_total;
    uint32_t last_line;
    uint64_t q11; /* rows that Q1.1's line filters take */
} Lines;

static int32_t int_at(const Batch *b, uint32_t col, uint32_t row)
{
    return vec_value(&b->cols[col], row).i32;
}

static void end_order(Lines *l)
{
    l->lines[l->last_line]++;
    l->bad += l->orders > 0 && l->total != l->last_total;
}

static void check_line(Lines *l, const Batch *b, uint32_t row)
{
    int32_t order = int_at(b, 0, row), line = int_at(b, 1, row), cust = int_at(b, 2, row), part = int_at(b, 3, row);
    int32_t supp = int_at(b, 4, row), quantity = int_at(b, 8, row), price = int_at(b, 9, row);
    int32_t discount = int_at(b, 11, row), revenue = int_at(b, 12, row), tax = int_at(b, 14, row);
    if (order != l->last_order) {
        if (l->orders > 0) end_order(l);
        l->bad += order <= l->last_order || line != 1;
        l->orders++;
        l->total = 0;
    } else {
        l->bad += line != (int32_t)l->last_line + 1;
    }
    l->last_order = order;
    l->last_line = (uint32_t)line;
    l->total += (int64_t)revenue * (100 + tax) / 100;
    l->last_total = int_at(b, 10, row);
    l->bad += cust < 1 || cust > 300 || cust % 3 == 0 || part < 1 || part > 2000 || supp < 1 || supp > 20;
    l->bad += quantity < 1 || quantity > 50 || discount < 0 || discount > 10 || tax < 0 || tax > 8;
    l->bad += price != quantity * (90000 + part / 10 % 20001 + part % 1000 * 100);
    l->bad += revenue != (int64_t)price * (100 - discount) / 100;
    l->bad += int_at(b, 13, row) != 6 * (price / quantity) / 10;
    int32_t date = int_at(b, 5, row), commit = int_at(b, 15, row);
    l->bad += date < 19920101 || date > 19980802 || commit <= date || commit > 19981231;
    l->quantities[quantity]++;
    l->discounts[discount]++;
    l->q11 += date / 10000 == 1993 && discount >= 1 && discount <= 3 && quantity < 25;
    l->rows++;
}

static void check_lines(void *ctx, const Batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) check_line(ctx, b, batch_row(b, i));
}

static void lineorder_holds(void **state)
{
    (void)state;
    TestDb t = test_db_open(2);
    const TableFuncArg args[] = {{.name = STR_LIT("scale"), .value = test_double(0.01)}};
    uint64_t rows = test_call(&t, "ssb", args, 1);
    Lines l = {0};
    test_each_batch(&t, "lineorder", check_lines, &l);
    end_order(&l);
    assert_int_equal(l.bad, 0);
    assert_int_equal(l.orders, 15000);
    assert_int_equal(rows, l.rows + 300 + 20 + 2000 + 2557);
    assert_in_range(l.rows, LINES_AT_CENT - 1000, LINES_AT_CENT + 1000);
    for (int n = 1; n <= 7; n++) assert_in_range(l.lines[n], 15000 / 7 - 200, 15000 / 7 + 200);
    for (int d = 0; d <= 10; d++) assert_in_range(l.discounts[d], l.rows / 11 - 300, l.rows / 11 + 300);
    for (int q = 1; q <= 50; q++) assert_in_range(l.quantities[q], l.rows / 50 - 200, l.rows / 50 + 200);
    /* the paper: 1/7 of the dates, 3/11 of the discounts, 24/50 of the quantities (1993 has 365 of 2406 days) */
    double share = (double)l.q11 / (double)l.rows, want = 365.0 / 2406 * 3 / 11 * 24 / 50;
    assert_true(share > want * 0.93 && share < want * 1.07);
    test_db_close(&t);
}

static void same_rows_for_any_threads(void **state)
{
    (void)state;
    static const char *const tables[] = {"lineorder", "customer", "supplier", "part", "date"};
    const TableFuncArg args[] = {{.name = STR_LIT("scale"), .value = test_double(0.05)},
                                 {.name = STR_LIT("seed"), .value = test_int(7)}};
    TestDb one = test_db_open(1), three = test_db_open(3);
    test_call(&one, "ssb", args, 2);
    test_call(&three, "ssb", args, 2);
    for (uint32_t i = 0; i < 5; i++) {
        Buf a = test_print_table(&one, tables[i]), b = test_print_table(&three, tables[i]);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        buf_free(&a);
        buf_free(&b);
    }
    test_db_close(&one);
    test_db_close(&three);
}

typedef struct Places {
    uint64_t rows, bad, region[5];
} Places;

static void check_places(void *ctx, const Batch *b)
{
    static const char *const regions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};
    Places *p = ctx;
    for (uint32_t row = 0; row < b->n; row++, p->rows++) {
        Str city = vec_value(&b->cols[3], row).str, nation = vec_value(&b->cols[4], row).str;
        Str region = vec_value(&b->cols[5], row).str, phone = vec_value(&b->cols[6], row).str;
        p->bad += int_at(b, 0, row) != (int32_t)p->rows + 1 || city.len != 10 || phone.len != 15;
        uint32_t n = nation.len < 9 ? nation.len : 9;
        p->bad += memcmp(city.ptr, nation.ptr, n) != 0 || city.ptr[9] < '0' || city.ptr[9] > '9';
        for (uint32_t i = n; i < 9; i++) p->bad += city.ptr[i] != ' ';
        for (uint32_t r = 0; r < 5; r++) p->region[r] += str_equal(region, str_of(regions[r]));
    }
}

static void places_form_a_hierarchy(void **state)
{
    (void)state;
    TestDb t = test_db_open(2);
    const TableFuncArg args[] = {{.value = test_double(0.2)}};
    test_call(&t, "ssb", args, 1);
    Places c = {0}, s = {0};
    test_each_batch(&t, "customer", check_places, &c);
    test_each_batch(&t, "supplier", check_places, &s);
    assert_int_equal(c.bad + s.bad, 0);
    assert_int_equal(c.rows, 6000);
    assert_int_equal(s.rows, 400);
    for (uint32_t r = 0; r < 5; r++) assert_in_range(c.region[r], 1200 - 150, 1200 + 150);
    test_db_close(&t);
}

static void check_parts(void *ctx, const Batch *b)
{
    uint64_t *bad = ctx;
    for (uint32_t row = 0; row < b->n; row++) {
        Str mfgr = vec_value(&b->cols[2], row).str, category = vec_value(&b->cols[3], row).str;
        Str brand = vec_value(&b->cols[4], row).str;
        *bad += mfgr.len != 6 || category.len != 7 || brand.len < 8 || brand.len > 9;
        *bad += memcmp(mfgr.ptr, category.ptr, 6) != 0 || memcmp(category.ptr, brand.ptr, 7) != 0;
        int n = brand.ptr[7] - '0';
        if (brand.len == 9) n = n * 10 + brand.ptr[8] - '0';
        *bad += memcmp(mfgr.ptr, "MFGR#", 5) != 0 || n < 1 || n > 40 || mfgr.ptr[5] < '1' || mfgr.ptr[5] > '5';
        *bad += int_at(b, 7, row) < 1 || int_at(b, 7, row) > 50;
    }
}

static void parts_form_a_hierarchy(void **state)
{
    (void)state;
    TestDb t = test_db_open(1);
    const TableFuncArg args[] = {{.value = test_double(0.02)}};
    test_call(&t, "ssb", args, 1);
    uint64_t bad = 0;
    test_each_batch(&t, "part", check_parts, &bad);
    assert_int_equal(bad, 0);
    test_db_close(&t);
}

/* Days of the week aside, the date table is the public generator's. */
static void dates_are_dbgens(void **state)
{
    (void)state;
    FILE *in = popen("zcat ../shared/data/ssb/tbl/date.tbl.gz 2>/dev/null", "r");
    char line[256], want[256];
    if (in == NULL || fgets(line, sizeof line, in) == NULL) {
        if (in != NULL) pclose(in);
        print_message("skipped: ../shared/data/ssb is not there\n");
        skip();
    }
    TestDb t = test_db_open(1);
    const TableFuncArg args[] = {{.value = test_double(0.001)}};
    test_call(&t, "ssb", args, 1);
    Buf table = test_print_table(&t, "date");
    char *save = NULL;
    uint32_t rows = 0;
    for (char *ours = strtok_r(table.data, "\n", &save); ours != NULL; ours = strtok_r(NULL, "\n", &save), rows++) {
        char *a_save = NULL, *b_save = NULL, *a = ours, *b = line;
        snprintf(want, sizeof want, "%s", line);
        for (uint32_t c = 0; c < 17; c++) {
            a = strtok_r(c == 0 ? ours : NULL, "|", &a_save);
            b = strtok_r(c == 0 ? line : NULL, "|", &b_save);
            if (c != 2 && c != 7 && c != 13 && c != 16) assert_string_equal(a, b);
        }
        if (fgets(line, sizeof line, in) == NULL) line[0] = '\0';
    }
    assert_int_equal(rows, 2557);
    pclose(in);
    buf_free(&table);
    test_db_close(&t);
}

static void function_yields_the_same(void **state)
{
    (void)state;
    TestDb t = test_db_open(1);
    const TableFuncArg args[] = {{.value = test_double(0.01)}};
    test_call(&t, "ssb", args, 1);
    Buf table = test_print_table(&t, "lineorder"), yielded;
    buf_init(&yielded, NULL);
    Error err = {0};
    Arena arena, batch_arena;
    arena_init(&arena, NULL);
    arena_init(&batch_arena, NULL);
    const TableFunc *f = files_find_table_func(STR_LIT("ssb_lineorder"));
    assert_non_null(f);
    TableFuncBound bound;
    TableFuncScan *scan;
    uint64_t tasks;
    test_ok(f->bind(&(EvalCtx){.arena = &arena}, args, 1, &bound, &err), &err);
    uint32_t columns[17];
    for (uint32_t c = 0; c < 17; c++) columns[c] = c;
    test_ok(f->open(&bound, columns, 17, NULL, NULL, &scan, &tasks, &err), &err);
    for (uint64_t task = 0; task < tasks; task++) {
        void *cursor = NULL;
        for (;;) {
            Batch batch;
            bool done;
            arena_reset(&batch_arena);
            test_ok(f->next(scan, task, &cursor, &batch_arena, &batch, &done, &err), &err);
            if (done) break;
            test_print_batch(&yielded, &batch);
        }
        f->end_task(scan, cursor);
    }
    f->close(scan);
    assert_int_equal(table.len, yielded.len);
    assert_memory_equal(table.data, yielded.data, table.len);
    buf_free(&table);
    buf_free(&yielded);
    arena_free(&arena);
    arena_free(&batch_arena);
    test_db_close(&t);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    TestDb t = test_db_open(1);
    Error err = {0};
    uint64_t rows;
    const ProcEnv env = {.txn = t.txn, .pool = t.pool, .mem = NULL};
    const Proc *p = files_find_proc(STR_LIT("ssb"));
    const TableFuncArg zero[] = {{.value = test_double(0)}};
    const TableFuncArg unknown[] = {{.name = STR_LIT("sale"), .value = test_double(1)}};
    const TableFuncArg text[] = {{.value = {.type = TYPE(TYPE_TEXT), .str = STR_LIT("x")}}};
    assert_int_equal(p->run(&env, zero, 1, &rows, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "22023");
    assert_int_equal(p->run(&env, unknown, 1, &rows, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "42883");
    assert_int_equal(p->run(&env, text, 1, &rows, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "22023");
    test_db_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lineorder_holds),         cmocka_unit_test(same_rows_for_any_threads),
        cmocka_unit_test(places_form_a_hierarchy), cmocka_unit_test(parts_form_a_hierarchy),
        cmocka_unit_test(dates_are_dbgens),        cmocka_unit_test(function_yields_the_same),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
