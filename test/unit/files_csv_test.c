/*
 * read_csv: what it makes of the corpus of awkward files, of small hostile texts, and of texts cut into blocks
 * anywhere.
 */
#include "files_db.h"
#include "files/csv.h"
#include "files/files.h"

#include <stdio.h>
#include <unistd.h>

static const char corpus[] = "../shared/data/csv/";

typedef struct Read {
    Arena arena;
    TableFuncBound bound;
    Error err;
    tcudb_status status;
    Buf text; /* a|b|c lines */
    uint64_t rows;
} Read;

static void read_rows(Read *r, const TableFunc *f)
{
    TableFuncScan *scan = NULL;
    uint64_t tasks;
    uint32_t *columns = ARENA_ARRAY(&r->arena, uint32_t, r->bound.ncols, &r->err);
    assert_non_null(columns);
    for (uint32_t c = 0; c < r->bound.ncols; c++) columns[c] = c;
    r->status = f->open(&r->bound, columns, r->bound.ncols, NULL, NULL, &scan, &tasks, &r->err);
    if (r->status != TCUDB_OK) return;
    Arena batch_arena;
    arena_init(&batch_arena, NULL);
    for (uint64_t task = 0; task < tasks && r->status == TCUDB_OK; task++) {
        void *cursor = NULL;
        bool done = false;
        while (!done) {
            Batch batch;
            arena_reset(&batch_arena);
            r->status = f->next(scan, task, &cursor, &batch_arena, &batch, &done, &r->err);
            if (r->status != TCUDB_OK) break;
            if (!done) test_print_batch(&r->text, &batch);
            if (!done) r->rows += batch.n;
        }
        f->end_task(scan, cursor);
    }
    f->close(scan);
    arena_free(&batch_arena);
}

/* options: "name=value;name=value" with text values. */
static Read read_file(const char *path, const char *options)
{
    Read r = {0};
    TableFuncArg args[12] = {{.value = {.type = TYPE(TYPE_TEXT), .str = str_of(path)}}};
    char spec[512];
    uint32_t n = 1;
    char *save = NULL;
    arena_init(&r.arena, NULL);
    buf_init(&r.text, NULL);
    snprintf(spec, sizeof spec, "%s", options);
    for (char *o = strtok_r(spec, ";", &save); o != NULL; o = strtok_r(NULL, ";", &save), n++) {
        char *value = strchr(o, '=');
        assert_non_null(value);
        *value++ = '\0';
        args[n] = (TableFuncArg){.name = str_of(o), .value = {.type = TYPE(TYPE_TEXT), .str = str_of(value)}};
        char *end;
        long number = strtol(value, &end, 10);
        if (*end == '\0' && end > value && strcmp(o, "nullstr") != 0) args[n].value = test_int((int32_t)number);
    }
    const TableFunc *f = files_find_table_func(STR_LIT("read_csv"));
    assert_non_null(f);
    r.status = f->bind(&(EvalCtx){.arena = &r.arena}, args, n, &r.bound, &r.err);
    if (r.status == TCUDB_OK) read_rows(&r, f);
    Error err;
    assert_non_null(buf_cstr(&r.text, &err));
    return r;
}

static void free_read(Read *r)
{
    buf_free(&r->text);
    arena_free(&r->arena);
}

/* "name type, ..." of the columns found. */
static const char *shape(Read *r)
{
    char *text = arena_printf(&r->arena, &r->err, "%s", "");
    for (uint32_t c = 0; c < r->bound.ncols; c++) {
        text = arena_printf(&r->arena, &r->err, "%s%s%s %s", text, c > 0 ? ", " : "", r->bound.names[c],
                            type_base_name(r->bound.types[c]));
        assert_non_null(text);
    }
    return text;
}

/* ---- the corpus ---------------------------------------------------------------------------- */

static const struct Expected {
    const char *file;
    uint32_t rows, cols;
    uint32_t extra;    /* records of the index that are no rows: headers, preambles, blank ones */
    const char *types; /* one letter a column: b bool, i bigint, f double, n numeric, d date, s timestamp, t text */
} expected[] = {
    {"01_utf8_bom.csv", 1, 3, 1, "iii"},
    {"02_utf8_bom_people.csv", 4, 2, 1, "tt"},
    {"03_cr_only_lines_beer.csv", 4345, 5, 1, "ttttt"},
    {"04_cr_only_quoted.csv", 2, 3, 1, "tii"},
    {"05_crcrlf.csv", 19, 4, 39, "tdff"},
    {"06_crlf_20k.csv", 20000, 3, 0, "iti"},
    {"08_quotes_and_newlines.csv", 2, 2, 1, "it"},
    {"09_embedded_crlf.csv", 3, 3, 1, "tii"},
    {"10_json_in_field.csv", 1, 2, 1, "it"},
    {"11_utf16.csv", 20, 2, 1, "ti"},
    {"13_latin1_header.csv", 4, 3, 1, "ttt"},
    {"14_shift_jis.csv", 20, 2, 1, "ti"},
    {"15_huge_field_escaped.csv", 1, 1, 0, "t"},
    {"16_thousands_separator.csv", 5, 3, 1, "tft"},
    {"18_dates_mon_d_yyyy.csv", 8, 1, 0, "d"},
    {"20_tab_us_timestamps.csv", 14, 10, 0, "iiiiiiiifs"},
    {"22_dmy_dates_trace_T.csv", 366, 7, 1, "diifttt"},
    {"23_timestamps_with_zone.csv", 8, 2, 1, "tt"},
    {"25_null_markers.csv", 3, 3, 1, "tif"},
    {"26_cran_log_NA.csv", 37459, 10, 1, "dtitttttti"},
    {"27_preamble_pollock.csv", 83, 9, 3, "dtitttttt"},
    {"28_title_line_above_header.csv", 2046, 5, 2, "ttttf"},
    {"29_ragged.csv", 3, 4, 1, "itit"},
    {"31_unescaped_quotes.csv", 2, 4, 2, "ittt"},
    {"33_leading_zeros.csv", 6, 8, 1, "tiiiiiii"},
    {"34_tab_all_quoted_ncvoter.tsv", 10, 94, 0, NULL},
    {"35_wide_types_unicode_arrays.csv", 210, 26, 1, NULL},
    {"37_invalid_utf8.csv", 3, 1, 0, "t"},
    {"39_airedale_council_spend.csv", 54, 8, 2, "ttdttttf"},
    {"40_us_gov_1033.csv", 1575, 14, 1, "ttittitffsitit"},
    {"41_big_number.csv", 1, 1, 1, "n"},
    {"42_exponent.csv", 3, 3, 1, "iif"},
    {"43_planes_NA.csv", 3322, 9, 1, "titttiiit"},
    {"44_airports.csv", 1458, 8, 1, "ttffiitt"},
    {"45_soccer_110_columns.csv", 14, 110, 16, NULL},
    {"49_quoted_multiline.csv", 44, 24, 1, NULL},
    {"50_no_final_newline.csv", 1024, 3, 0, "iit"},
    {"51_nyc_yellow_taxi_2019-01.csv", 10000, 18, 1, "issifitiiifffffff?"},
    {"52_nyc_taxi_zones.csv", 265, 4, 1, "ittt"},
};

static char type_letter(uint8_t id)
{
    switch (id) {
    case TYPE_BOOL: return 'b';
    case TYPE_INT8: return 'i';
    case TYPE_FLOAT8: return 'f';
    case TYPE_NUMERIC: return 'n';
    case TYPE_DATE: return 'd';
    case TYPE_TIMESTAMP: return 's';
    default: return 't';
    }
}

static void corpus_is_read(void **state)
{
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s%s", corpus, expected[0].file);
    if (access(path, R_OK) != 0) {
        print_message("skipped: %s is not there\n", corpus);
        skip();
    }
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct Expected *e = &expected[i];
        snprintf(path, sizeof path, "%s%s", corpus, e->file);
        Read r = read_file(path, "");
        if (r.status != TCUDB_OK) print_error("%s: %s\n", e->file, r.err.message);
        assert_int_equal(r.status, TCUDB_OK);
        if (r.rows != e->rows || r.bound.ncols != e->cols) print_error("%s\n", e->file);
        assert_int_equal(r.bound.ncols, e->cols);
        assert_int_equal(r.rows, e->rows);
        for (uint32_t c = 0; e->types != NULL && c < e->cols; c++) {
            if (e->types[c] == '?') continue;
            if (type_letter(r.bound.types[c].id) != e->types[c]) print_error("%s column %u\n", e->file, c);
            assert_int_equal(type_letter(r.bound.types[c].id), e->types[c]);
        }
        free_read(&r);
    }
}

/* The number of records agrees with the index's careful reader. */
static void corpus_agrees_with_its_index(void **state)
{
    (void)state;
    char path[200], line[1024];
    snprintf(path, sizeof path, "%sINDEX.tsv", corpus);
    FILE *index = fopen(path, "r");
    if (index == NULL) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
    uint32_t checked = 0;
    while (fgets(line, sizeof line, index) != NULL) {
        char *save = NULL, *fields[10] = {0};
        for (uint32_t f = 0; f < 10; f++) fields[f] = strsep(f == 0 ? (save = line, &save) : &save, "\t");
        for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
            if (strcmp(fields[0], expected[i].file) != 0) continue;
            assert_int_equal(strtoul(fields[6], NULL, 10), expected[i].rows + expected[i].extra);
            checked++;
        }
    }
    fclose(index);
    assert_int_equal(checked, sizeof expected / sizeof expected[0]);
}

static void corpus_faults_are_explained(void **state)
{
    (void)state;
    static const char *const files[] = {"32_null_byte.csv", "48_comment_lines.csv"};
    char path[200];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s%s", corpus, files[i]);
        if (access(path, R_OK) != 0) skip();
        Read r = read_file(path, "");
        assert_int_equal(r.status, TCUDB_ERROR);
        assert_string_equal(r.err.sqlstate, "22021");
        assert_non_null(strstr(r.err.detail, "line 2"));
        free_read(&r);
    }
}

/* ---- small texts --------------------------------------------------------------------------- */

static char scratch[64];

static const char *write_file(const char *text, size_t len)
{
    snprintf(scratch, sizeof scratch, "/tmp/files_csv_test.%d.csv", (int)getpid());
    FILE *f = fopen(scratch, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
    return scratch;
}

static void check(const char *text, const char *options, const char *columns, const char *rows)
{
    Read r = read_file(write_file(text, strlen(text)), options);
    if (r.status != TCUDB_OK) {
        char got[1600];
        snprintf(got, sizeof got, "%s %s", r.err.sqlstate, r.err.message);
        assert_string_equal(got, rows);
    } else {
        assert_string_equal(shape(&r), columns);
        assert_string_equal(r.text.data, rows);
    }
    free_read(&r);
    unlink(scratch);
}

static void dialects(void **state)
{
    (void)state;
    check("a;b;c\n1,5;2,25;x\n3,75;-4,0;y\n", "", "a double precision, b double precision, c text",
          "1.5|2.25|x\n3.75|-4|y\n");
    check("a|b|\n1|x|\n2|y|\n", "", "a bigint, b text", "1|x\n2|y\n");
    check("# by x\n# on y\nid,v\n1,2\n# mid\n3,4\n", "", "id bigint, v bigint", "1|2\n3|4\n");
    check("#id,v\n1,2\n3,4\n", "", "#id bigint, v bigint", "1|2\n3|4\n");
    check("Report of May\n\nName\tAmt\nA\t1\nB\t2\nC\t3\n", "", "Name text, Amt bigint", "A|1\nB|2\nC|3\n");
    check("a,b\n'x, y',1\n'z',2\n", "", "a text, b bigint", "x, y|1\nz|2\n");
    check("a,b\n\"x\\\"y, z\",1\n\"z\\\"\",2\n", "", "a text, b bigint", "x\"y, z|1\nz\"|2\n");
    check("k v\n1 2\n3 4\n", "", "k bigint, v bigint", "1|2\n3|4\n");
    check("12\" pipe,4\n5\" pipe,5\n", "", "column1 text, column2 bigint", "12\" pipe|4\n5\" pipe|5\n");
    check("a,b\r\n1,\"x\r\ny\"\r\n2,z\r\n", "", "a bigint, b text", "1|x\r\ny\n2|z\n");
    check("", "", "column1 text", "");
    check("one\ntwo, three\nfour\n", "", "column1 text", "one\ntwo, three\nfour\n");
}

static void types(void **state)
{
    (void)state;
    check("t\n2020-01-01T10:00:00Z\n2020-01-02T10:00:00.5Z\n", "", "t timestamp without time zone",
          "2020-01-01 10:00:00\n2020-01-02 10:00:00.5\n");
    check("d,e\n31/12/2020,1.5.2021\n01/02/2020,13.6.2021\n", "", "d date, e date",
          "2020-12-31|2021-05-01\n2020-02-01|2021-06-13\n");
    check("d\n01/02/2020\n03/04/2020\n", "header=true", "d text", "01/02/2020\n03/04/2020\n"); /* which is the month? */
    check("d\n01/02/2020\n03/04/2020\n", "dateformat=%d/%m/%Y", "d date", "2020-02-01\n2020-04-03\n");
    check("a,b,c\ntrue,1e3,NA\nFALSE,-.5,7\n,,\n", "", "a boolean, b double precision, c bigint",
          "t|1000|NULL\nf|-0.5|7\nNULL|NULL|NULL\n");
    check("zip,n\n01234,+5\n99999,+6\n", "", "zip text, n text", "01234|+5\n99999|+6\n");
    check("n,m\n1234567890123456789012,0.1234567890123456789\n1,2\n", "", "n numeric, m numeric",
          "1234567890123456789012|0.1234567890123456789\n1|2\n");
    check("a;b\n\"1.234,5\";1\n\"2.000\";2\n\"1.000.000,25\";3\n", "", "a double precision, b bigint",
          "1234.5|1\n2000|2\n1000000.25|3\n");
    check("a,b\n\"NA\",NA\n\"x\",\"y\"\n", "", "a text, b text", "NA|NULL\nx|y\n");
    check("a,b\nx,NA\nNA,y\n", "header=true", "a text, b text", "x|NA\nNA|y\n");
}

static void options(void **state)
{
    (void)state;
    check("1,2\n3,4\n", "columns=x int, \"Y z\" numeric(5,1)", "x integer, Y z numeric", "1|2.0\n3|4.0\n");
    check("a,b\n1,2\n", "types=b text", "a bigint, b text", "1|2\n");
    check("a,b\n1,2\n", "all_text=true;header=false", "column1 text, column2 text", "a|b\n1|2\n");
    check("x\ny\na,b\n1,2\n", "skip=2", "a bigint, b bigint", "1|2\n");
    check("a,b\n1,2\nx,4\n5,6,7\n8,9\n", "types=a bigint;ignore_errors=true;null_padding=false", "a bigint, b bigint",
          "1|2\n8|9\n");
    check("a,b\n1,-99\n-99,4\n", "nullstr=-99", "a bigint, b bigint", "1|NULL\nNULL|4\n");
    check("a b\nx\n", "delim=,;header=false", "column1 text", "a b\nx\n");
    check("a,b\n\"x\",1\n", "quote=", "a text, b bigint", "\"x\"|1\n");
    check("v;w\n1.234;a\n5.000;b\n", "thousands=.;decimal=,;types=v bigint", "v bigint, w text", "1234|a\n5000|b\n");
    Read r = read_file(write_file("a,b\n1,2\n", 8), "columns=x int");
    assert_int_equal(r.status, TCUDB_ERROR);
    assert_non_null(strstr(r.err.message, "columns lists 1 columns"));
    free_read(&r);
    unlink(scratch);
}

static void faults(void **state)
{
    (void)state;
    Read r = read_file(write_file("a,b\n1,2\n3,\"4\n5,6\n", 18), "quote=\"");
    assert_int_equal(r.status, TCUDB_ERROR);
    assert_string_equal(r.err.message, "unterminated quoted field");
    assert_non_null(strstr(r.err.detail, "line 3"));
    free_read(&r);
    r = read_file(write_file("a,b\n1,2\nx,4\n", 12), "types=a bigint");
    assert_int_equal(r.status, TCUDB_ERROR);
    assert_string_equal(r.err.message, "invalid input syntax for type bigint: \"x\"");
    assert_non_null(strstr(r.err.detail, "line 3, column \"a\""));
    assert_non_null(strstr(r.err.detail, "delim ',', quote '\"'"));
    assert_non_null(strstr(r.err.hint, "types => '\"a\" text'"));
    free_read(&r);
    r = read_file("/nonexistent/a.csv", "");
    assert_int_equal(r.status, TCUDB_ERROR);
    assert_string_equal(r.err.sqlstate, "58P01");
    free_read(&r);
    r = read_file("/nonexistent/a.csv", "sepp=,");
    assert_string_equal(r.err.message, "read_csv has no option \"sepp\"");
    free_read(&r);
    char *big = malloc(5000);
    assert_non_null(big);
    memset(big, 'x', 5000);
    memcpy(big, "a,b\n1,\"", 7);
    r = read_file(write_file(big, 5000), "max_line_size=1000;quote=\"");
    assert_int_equal(r.status, TCUDB_ERROR);
    assert_string_equal(r.err.sqlstate, "54000");
    free_read(&r);
    free(big);
    unlink(scratch);
}

/* A file of many blocks, with quoted line ends, read with any number of bytes before each: rows and order hold. */
static void many_blocks(void **state)
{
    (void)state;
    enum { ROWS = 150000 };
    Buf text, want;
    Error err;
    buf_init(&text, NULL);
    buf_init(&want, NULL);
    test_ok(buf_text(&text, "n,s\n", &err), &err);
    for (uint32_t i = 0; i < ROWS; i++) {
        test_ok(buf_printf(&text, &err, "%u,\"a\"\"%u\n%s\"\n", i, i % 13, i % 5 == 0 ? ",b" : "c"), &err);
        test_ok(buf_printf(&want, &err, "%u|a\"%u\n%s\n", i, i % 13, i % 5 == 0 ? ",b" : "c"), &err);
    }
    Read r = read_file(write_file(text.data, text.len), "");
    test_ok(r.status, &r.err);
    assert_int_equal(r.rows, ROWS);
    assert_int_equal(r.text.len, want.len);
    assert_memory_equal(r.text.data, want.data, want.len);
    free_read(&r);
    buf_free(&text);
    buf_free(&want);
    unlink(scratch);
}

/* Tasks asked for out of order, and tasks that never come, do not change what a task yields. */
static void tasks_in_any_order(void **state)
{
    (void)state;
    enum { ROWS = 400000 };
    Buf text;
    Error err = {0};
    buf_init(&text, NULL);
    for (uint32_t i = 0; i < ROWS; i++) test_ok(buf_printf(&text, &err, "%u,xxxxxxxxxxxx\n", i), &err);
    write_file(text.data, text.len);
    buf_free(&text);
    const TableFunc *f = files_find_table_func(STR_LIT("read_csv"));
    Arena arena;
    arena_init(&arena, NULL);
    TableFuncArg args[] = {{.value = {.type = TYPE(TYPE_TEXT), .str = str_of(scratch)}}};
    TableFuncBound bound;
    test_ok(f->bind(&(EvalCtx){.arena = &arena}, args, 1, &bound, &err), &err);
    static const uint64_t orders[3][4] = {{0, 1, 2, 3}, {3, 0, 2, 1}, {5, 2, 1, 4}};
    int64_t first[3][8];
    for (int k = 0; k < 3; k++) {
        TableFuncScan *scan;
        uint64_t tasks;
        const uint32_t columns[] = {0};
        test_ok(f->open(&bound, columns, 1, NULL, NULL, &scan, &tasks, &err), &err);
        assert_true(tasks > 6);
        for (int i = 0; i < 4; i++) {
            void *cursor = NULL;
            Batch batch;
            bool done;
            test_ok(f->next(scan, orders[k][i], &cursor, &arena, &batch, &done, &err), &err);
            assert_false(done);
            first[k][orders[k][i]] = vec_value(&batch.cols[0], batch_row(&batch, 0)).i64;
            f->end_task(scan, cursor);
        }
        f->close(scan);
    }
    assert_int_equal(first[0][0], 0);
    assert_int_equal(first[0][1], first[1][1]);
    assert_int_equal(first[0][2], first[1][2]);
    assert_int_equal(first[0][3], first[1][3]);
    assert_int_equal(first[0][1], first[2][1]);
    assert_true(first[0][1] > 1000 && first[2][5] > first[2][4]);
    arena_free(&arena);
    unlink(scratch);
}

/* Random bytes never crash, and what is read is UTF-8. */
static void random_bytes(void **state)
{
    (void)state;
    static const char alphabet[] = "a1,;|\t\"'\n\r\\#.- \0\xff\xc3\xa9"
                                   "2:/";
    char text[300];
    uint64_t seed = 5;
    uint32_t read = 0;
    for (uint32_t round = 0; round < 1500; round++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
        uint32_t len = (uint32_t)(seed >> 40) % sizeof text;
        for (uint32_t i = 0; i < len; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
            text[i] = alphabet[(seed >> 33) % (sizeof alphabet - 1 - (round % 3 == 0 ? 0 : 8))];
        }
        Read r = read_file(write_file(text, len), round % 2 == 0 ? "ignore_errors=true" : "");
        assert_int_equal(utf8_check(r.text.data, r.text.len), r.text.len);
        if (round % 2 == 0) assert_int_equal(r.status, TCUDB_OK);
        if (r.status == TCUDB_OK) read++;
        free_read(&r);
    }
    assert_true(read > 800);
    unlink(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_is_read),
        cmocka_unit_test(corpus_agrees_with_its_index),
        cmocka_unit_test(corpus_faults_are_explained),
        cmocka_unit_test(dialects),
        cmocka_unit_test(types),
        cmocka_unit_test(options),
        cmocka_unit_test(faults),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(tasks_in_any_order),
        cmocka_unit_test(random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
