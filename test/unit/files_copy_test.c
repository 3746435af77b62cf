/*
 * COPY: what each format means, PostgreSQL's errors with their places, round trips, the order of rows and of
 * errors with several workers.
 */
#include "files_db.h"
#include "files/copy.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- streams ------------------------------------------------------------------------------- */

typedef struct Pipe {
    Str in;
    size_t at, piece;
    Buf out;
} Pipe;

static tcudb_status pipe_read(void *ctx, char *buffer, size_t size, size_t *got, Error *err)
{
    Pipe *p = ctx;
    (void)err;
    size_t n = p->in.len - p->at;
    if (n > size) n = size;
    if (p->piece > 0 && n > p->piece) n = p->piece;
    memcpy(buffer, p->in.ptr + p->at, n);
    p->at += n;
    *got = n;
    return TCUDB_OK;
}

static tcudb_status pipe_write(void *ctx, const char *data, size_t size, Error *err)
{
    return buf_append(&((Pipe *)ctx)->out, data, size, err);
}

static StmtOption text_option(const char *name, const char *value)
{
    StmtOption o = {.name = str_of(name), .value = {.type = TYPE(TYPE_TEXT), .null = value == NULL}};
    if (value != NULL) o.value.str = str_of(value);
    return o;
}

/* Options as "name=value;name" into an array; returns how many. */
static uint32_t parse_options(char *spec, StmtOption *out)
{
    uint32_t n = 0;
    char *save = NULL;
    for (char *o = strtok_r(spec, ";", &save); o != NULL; o = strtok_r(NULL, ";", &save)) {
        char *value = strchr(o, '=');
        if (value != NULL) *value++ = '\0';
        out[n++] = text_option(o, value);
    }
    return n;
}

/* ---- a table t(a int, b varchar(5), c date not null, d numeric(6,2)) ------------------------ */

static const ColumnDef t_columns[] = {
    {.name = {"a", 1}, .type = {.id = TYPE_INT4}},
    {.name = {"b", 1}, .type = {.id = TYPE_VARCHAR, .length = 5}},
    {.name = {"c", 1}, .type = {.id = TYPE_TEXT}},
    {.name = {"d", 1}, .type = {.id = TYPE_NUMERIC, .precision = 6, .scale = 2}, .not_null = true},
};

static TestDb open_t(uint32_t workers)
{
    TestDb t = test_db_open(workers);
    Error err = {0};
    const TableDef def = {.name = STR_LIT("t"), .ncols = 4, .cols = t_columns};
    test_ok(txn_create_table(t.txn, &def, &err), &err);
    return t;
}

static tcudb_status copy_in(TestDb *t, const char *options, Str text, size_t piece, uint64_t *rows, Error *err)
{
    char spec[256];
    StmtOption list[16];
    static const uint32_t columns[] = {0, 1, 2};
    snprintf(spec, sizeof spec, "%s", options);
    bool some = strncmp(spec, "abc;", 4) == 0; /* COPY t (a, b, c) */
    Stmt stmt = {.kind = STMT_COPY_FROM, .name = STR_LIT("t"), .options = list};
    stmt.noptions = parse_options(some ? spec + 4 : spec, list);
    if (some) {
        stmt.ncolumns = 3;
        stmt.columns = columns;
    }
    Pipe pipe = {.in = text, .piece = piece};
    const CopyEnv env = {
        .txn = t->txn, .pool = t->pool, .mem = db_mem(t->db), .stream = {&pipe, pipe_read, pipe_write}};
    Value defaults[4] = {{.null = true}, {.null = true}, {.null = true}};
    defaults[3] = (Value){.type = t_columns[3].type, .i64 = 150};
    return copy_from(&env, &stmt, defaults, rows, err);
}

/* The rows that a text gives, or "SQLSTATE message / detail". */
static void check_in(const char *options, const char *text, const char *want)
{
    for (uint32_t workers = 1; workers <= 2; workers++)
        for (size_t piece = 0; piece <= 1; piece++) {
            TestDb t = open_t(workers);
            Error err = {0};
            uint64_t rows = 0;
            tcudb_status status = copy_in(&t, options, str_of(text), piece, &rows, &err);
            if (status == TCUDB_OK) {
                Buf got = test_print_table(&t, "t");
                assert_string_equal(got.data, want);
                buf_free(&got);
            } else {
                char got[2000];
                snprintf(got, sizeof got, "%s %s / %s", err.sqlstate, err.message, err.detail);
                assert_string_equal(got, want);
            }
            test_db_close(&t);
        }
}

static void text_format(void **state)
{
    (void)state;
    check_in("", "1\tx\ty\t2.5\n\\N\t\t\\N\t-3\n", "1|x|y|2.50\nNULL||NULL|-3.00\n");
    check_in("", "1\tx\ty\t2.5", "1|x|y|2.50\n");
    check_in("", "1\tx\ty\t2.5\r\n2\tz\tw\t3\r\n", "1|x|y|2.50\n2|z|w|3.00\n");
    check_in("", "1\tx\ty\t2.5\r2\tz\tw\t3\r", "1|x|y|2.50\n2|z|w|3.00\n");
    check_in("", "1\t\\t\\\\\\n\t\\x41\\102\\q\t1\n", "1|\t\\\n|ABq|1.00\n");
    check_in("", "1\ta\\\nb\tc\\\td\t1\n", "1|a\nb|c\td|1.00\n");
    check_in("", "1\tx\ty\t1\n\\.\n2\tx\ty\t1\n", "1|x|y|1.00\n");
    check_in("delimiter=|;null=none", "1|none|nonee|1\n", "1|NULL|nonee|1.00\n");
    check_in("header", "a\tb\tc\td\n1\tx\ty\t1\n", "1|x|y|1.00\n");
    check_in("abc;", "1\tx\ty\n2\tx\ty\n", "1|x|y|1.50\n2|x|y|1.50\n");
    check_in("trailing_delimiter;delimiter=|", "1|x|y|1|\n2|x|y|1|\n", "1|x|y|1.00\n2|x|y|1.00\n");
    check_in("encoding=latin1", "1\t\xe9\ty\t1\n", "1|\xc3\xa9|y|1.00\n");
    check_in("", "", "");
}

static void csv_format(void **state)
{
    (void)state;
    check_in("format=csv", "1,x,y,2.5\n,\"\",,-3\n", "1|x|y|2.50\nNULL||NULL|-3.00\n");
    check_in("format=csv", "1,\"a,b\",\"c\nd\"\"e\",1\n", "1|a,b|c\nd\"e|1.00\n");
    check_in("format=csv", "1,a\"b,c\"d,\"\"\"\",1\n", "1|ab,cd|\"|1.00\n");
    check_in("format=csv;escape=\\", "1,\"a\\\"b\",\"\\\\\",1\n", "1|a\"b|\\|1.00\n");
    check_in("format=csv;quote='", "1,'a\"b',c,1\n", "1|a\"b|c|1.00\n");
    check_in("delimiter", "", "42601 delimiter requires a parameter / ");
    check_in("format=csv;null=NA", "NA,\"NA\",NA,1\n", "NULL|NA|NULL|1.00\n");
    check_in("format=csv;force_null=b", "1,\"\",\"\",1\n", "1|NULL||1.00\n");
    check_in("format=csv;force_not_null=b\nc", "1,,,1\n", "1|||1.00\n");
    check_in("format=csv;header=match", "a,b,c,d\n1,x,y,1\n", "1|x|y|1.00\n");
    check_in("format=csv", "1,x,y,1\n\\.\n2,x,y,1\n", "1|x|y|1.00\n");
    check_in("format=csv", "1,x,\"\n\\.\n\",1\n2,x,y,1\n", "1|x|\n\\.\n|1.00\n2|x|y|1.00\n");
    check_in("format=csv", "1,x,y,1\r\n2,\"p\nq\",y,1\r\n", "1|x|y|1.00\n2|p\nq|y|1.00\n");
}

static void errors_as_postgres(void **state)
{
    (void)state;
    check_in("", "1\tx\ty\t1\n2\n", "22P04 missing data for column \"b\" / COPY t, line 2: \"2\"");
    check_in("", "1\tx\ty\t1\tz\n", "22P04 extra data after last expected column / COPY t, line 1: \"1\tx\ty\t1\tz\"");
    check_in("", "1\tx\ty\t1\nz\ty\tx\t1\n",
             "22P02 invalid input syntax for type integer: \"z\" / COPY t, line 2, column a: \"z\"");
    check_in(
        "", "99999999999\tb\tc\t1\n",
        "22003 value \"99999999999\" is out of range for type integer / COPY t, line 1, column a: \"99999999999\"");
    check_in("", "1\ttoolong\tc\t1\n",
             "22001 value too long for type character varying(5) / COPY t, line 1, column b: \"toolong\"");
    check_in("", "1\tx\ty\t\\N\n",
             "23502 null value in column \"d\" of relation \"t\" violates not-null constraint / COPY t, line 1: "
             "\"1\tx\ty\t\\N\"");
    check_in("", "1\tx\tb\\.\t1\n", "22P04 end-of-copy marker corrupt / COPY t, line 1");
    check_in("", "1\tx\ty\xff\t1\n", "22021 invalid byte sequence for encoding \"UTF8\": 0xff / COPY t, line 1");
    check_in("", "1\tx\ty\\xff\t1\n", "22021 invalid byte sequence for encoding \"UTF8\": 0xff / COPY t, line 1");
    check_in("", "1\tx\ty\t1\n2\tx\ry\t1\n", "22P04 literal carriage return found in data / COPY t, line 2");
    check_in("format=csv", "1,x,y,1\r\n2,x,y,1\n", "22P04 unquoted newline found in data / COPY t, line 2");
    check_in("format=csv", "1,\"abc\n2,c\n",
             "22P04 unterminated CSV quoted field / COPY t, line 3: \"1,\"abc\n2,c\n\"");
    check_in("format=csv;header=match", "a,b,x,d\n",
             "22P04 column name mismatch in header line field 3: got \"x\", expected \"c\" / COPY t, line 1: "
             "\"a,b,x,d\"");
    check_in("format=csv;header=match", "a\n",
             "22P04 wrong number of fields in header line: got 1, expected 4 / COPY t, line 1: \"a\"");
    /* the earliest row's error, though an earlier column has a later one */
    check_in("format=csv", "1,x,y,1\n2,x,y,zz\nq,x,y,1\n",
             "22P02 invalid input syntax for type numeric: \"zz\" / COPY t, line 2, column d: \"zz\"");
    check_in("format=csv", "1,x,\"a\nb\",1\nq,x,y,1\n",
             "22P02 invalid input syntax for type integer: \"q\" / COPY t, line 3, column a: \"q\"");
}

static void options_as_postgres(void **state)
{
    (void)state;
    check_in("format=csv;delimiter=xx", "", "0A000 COPY delimiter must be a single one-byte character / ");
    check_in("format=csv;delimiter=\"", "", "22023 COPY delimiter and quote must be different / ");
    check_in("quote=a", "", "0A000 COPY quote available only in CSV mode / ");
    check_in("delimiter=a", "", "22023 COPY delimiter cannot be \"a\" / ");
    check_in("delimiter=\n", "", "22023 COPY delimiter cannot be newline or carriage return / ");
    check_in("null=a\tb", "", "0A000 COPY delimiter must not appear in the NULL specification / ");
    check_in("format=xml", "", "22023 COPY format \"xml\" not recognized / ");
    check_in("foo=1", "", "42601 option \"foo\" not recognized / ");
    check_in("header=maybe", "", "42601 header requires a Boolean value or \"match\" / ");
    check_in("force_quote=a", "", "0A000 COPY force quote available only in CSV mode / ");
    check_in("format=csv;force_quote=*", "", "0A000 COPY force quote only available using COPY TO / ");
    check_in("format=csv;force_null=z", "", "42703 column \"z\" of relation \"t\" does not exist / ");
    check_in("format=csv;format=csv", "", "42601 conflicting or redundant options / ");
    check_in("encoding=foo", "", "22023 argument to option \"encoding\" must be a valid encoding name / ");
}

/* ---- out ----------------------------------------------------------------------------------- */

typedef struct Out {
    CopyTo *to;
    Arena arena;
    Error err;
} Out;

static void out_batch(void *ctx, const Batch *batch)
{
    Out *out = ctx;
    Batch pieces;
    test_ok(copy_to_shape(out->to, &out->arena, batch, &pieces, &out->err), &out->err);
    test_ok(copy_to_batch(out->to, &pieces, &out->err), &out->err);
}

static Buf copy_out(TestDb *t, const char *options)
{
    char spec[256];
    StmtOption list[16];
    snprintf(spec, sizeof spec, "%s", options);
    Stmt stmt = {.kind = STMT_COPY_TO, .name = STR_LIT("t"), .options = list};
    stmt.noptions = parse_options(spec, list);
    Pipe pipe = {0};
    buf_init(&pipe.out, NULL);
    const CopyEnv env = {
        .txn = t->txn, .pool = t->pool, .mem = db_mem(t->db), .stream = {&pipe, pipe_read, pipe_write}};
    PlanCol cols[4];
    static const char *const names[] = {"a", "b", "c", "d"};
    for (uint32_t i = 0; i < 4; i++) cols[i] = (PlanCol){.id = i + 1, .type = t_columns[i].type, .name = names[i]};
    Out out = {0};
    arena_init(&out.arena, NULL);
    test_ok(copy_to_open(&env, &stmt, cols, 4, &out.to, &out.err), &out.err);
    test_each_batch(t, "t", out_batch, &out);
    uint64_t rows;
    test_ok(copy_to_close(out.to, &rows, &out.err), &out.err);
    arena_free(&out.arena);
    assert_int_equal(rows, table_rows(txn_table(t->txn, STR_LIT("t"))));
    assert_non_null(buf_cstr(&pipe.out, &out.err));
    return pipe.out;
}

static void check_out(const char *in, const char *options, const char *want)
{
    TestDb t = open_t(1);
    Error err = {0};
    uint64_t rows;
    test_ok(copy_in(&t, "", str_of(in), 0, &rows, &err), &err);
    Buf got = copy_out(&t, options);
    assert_string_equal(got.data, want);
    buf_free(&got);
    test_db_close(&t);
}

static void writes_both_formats(void **state)
{
    (void)state;
    const char *in = "1\ta,b\tq\"u\t1\n\\N\t\t\\N\t-2.5\n3\t\\t\\n\\\\\tend\\b|\t0\n";
    check_out(in, "", "1\ta,b\tq\"u\t1.00\n\\N\t\t\\N\t-2.50\n3\t\\t\\n\\\\\tend\\b|\t0.00\n");
    check_out(in, "delimiter=|", "1|a,b|q\"u|1.00\n\\N||\\N|-2.50\n3|\\t\\n\\\\|end\\b\\||0.00\n");
    check_out(in, "format=csv;header", "a,b,c,d\n1,\"a,b\",\"q\"\"u\",1.00\n,\"\",,-2.50\n3,\"\t\n\\\",end\b|,0.00\n");
    check_out(in, "format=csv;force_quote=*;null=N",
              "\"1\",\"a,b\",\"q\"\"u\",\"1.00\"\nN,\"\",N,\"-2.50\"\n\"3\",\"\t\n\\\",\"end\b|\",\"0.00\"\n");
    check_out("1\tx\ty\t1\n", "format=csv;delimiter=.", "1.x.y.\"1.00\"\n");
}

/* Random values survive a round trip through every format, with any split of the input. */
static void round_trips(void **state)
{
    (void)state;
    static const char *const formats[] = {"", "format=csv", "format=csv;escape=\\;quote='", "delimiter=|;null=zz",
                                          "format=csv;force_quote=*"};
    static const char alphabet[] = "ab,\"\t\n\r\\'|.N ";
    uint64_t seed = 99;
    Buf in;
    Error err = {0};
    for (uint32_t round = 0; round < 20; round++) {
        TestDb t = open_t(2);
        buf_init(&in, NULL);
        for (uint32_t row = 0; row < 300; row++) {
            char text[3][8];
            for (uint32_t k = 0; k < 2; k++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
                uint32_t n = (uint32_t)(seed >> 60) % 5;
                for (uint32_t i = 0; i < n; i++) text[k][i] = alphabet[(seed >> (10 * i + 5)) % (sizeof alphabet - 1)];
                text[k][n] = '\0';
            }
            test_ok(buf_printf(&in, &err, "%u,", row), &err);
            for (uint32_t k = 0; k < 2; k++) {
                test_ok(buf_char(&in, '"', &err), &err);
                for (const char *p = text[k]; *p != '\0'; p++) {
                    if (*p == '"') test_ok(buf_char(&in, '"', &err), &err);
                    test_ok(buf_char(&in, *p, &err), &err);
                }
                test_ok(buf_text(&in, "\",", &err), &err);
            }
            test_ok(buf_printf(&in, &err, "%u.5\n", row % 100), &err);
        }
        uint64_t rows;
        test_ok(copy_in(&t, "format=csv", (Str){in.data, (uint32_t)in.len}, 0, &rows, &err), &err);
        assert_int_equal(rows, 300);
        Buf first = test_print_table(&t, "t");
        for (uint32_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
            Buf out = copy_out(&t, formats[f]);
            TestDb u = open_t(2);
            const char *in_options = strstr(formats[f], "force_quote") != NULL ? "format=csv" : formats[f];
            test_ok(copy_in(&u, in_options, (Str){out.data, (uint32_t)out.len}, 1 + round * 7, &rows, &err), &err);
            Buf second = test_print_table(&u, "t");
            assert_string_equal(first.data, second.data);
            buf_free(&out);
            buf_free(&second);
            test_db_close(&u);
        }
        buf_free(&first);
        buf_free(&in);
        test_db_close(&t);
    }
}

/* Several blocks: rows stay in order for any number of workers, and the earliest error is the one reported. */
static void many_blocks(void **state)
{
    (void)state;
    enum { ROWS = 3 * SEGMENT_ROWS + 5000 };
    Buf in;
    Error err = {0};
    buf_init(&in, NULL);
    for (uint32_t row = 0; row < ROWS; row++) test_ok(buf_printf(&in, &err, "%u,x,\"l\n%u\",1\n", row, row % 7), &err);
    for (uint32_t workers = 1; workers <= 3; workers++) {
        TestDb t = open_t(workers);
        uint64_t rows;
        test_ok(copy_in(&t, "format=csv", (Str){in.data, (uint32_t)in.len}, 0, &rows, &err), &err);
        assert_int_equal(rows, ROWS);
        Buf got = test_print_table(&t, "t");
        char *at = got.data;
        for (uint32_t row = 0; row < ROWS; row++) {
            char want[64];
            int n = snprintf(want, sizeof want, "%u|x|l\n%u|1.00\n", row, row % 7);
            assert_memory_equal(at, want, (size_t)n);
            at += n;
        }
        buf_free(&got);
        test_db_close(&t);
    }
    /* break one row in the second block and one in the fourth */
    char *second = memmem(in.data, in.len, "\n150000,", 8), *fourth = memmem(in.data, in.len, "\n395000,", 8);
    assert_non_null(second);
    assert_non_null(fourth);
    second[1] = fourth[1] = 'e';
    for (uint32_t round = 0; round < 4; round++) {
        TestDb t = open_t(3);
        uint64_t rows;
        assert_int_equal(copy_in(&t, "format=csv", (Str){in.data, (uint32_t)in.len}, 0, &rows, &err), TCUDB_ERROR);
        assert_string_equal(err.message, "invalid input syntax for type integer: \"e50000\"");
        assert_string_equal(err.detail, "COPY t, line 300002, column a: \"e50000\"");
        test_db_close(&t);
    }
    buf_free(&in);
}

static size_t peak_of_load(uint32_t segments)
{
    Buf in;
    Error err = {0};
    buf_init(&in, NULL);
    for (uint32_t row = 0; row < segments * SEGMENT_ROWS; row++)
        test_ok(buf_printf(&in, &err, "%u,x,y,1\n", row), &err);
    TestDb t = open_t(2);
    uint64_t rows;
    test_ok(copy_in(&t, "format=csv", (Str){in.data, (uint32_t)in.len}, 0, &rows, &err), &err);
    size_t peak = atomic_load(&db_mem(t.db)->peak);
    test_db_close(&t);
    buf_free(&in);
    return peak;
}

/* Rows that wait for the statement's end wait compressed: 12 segments' rows are 40 MB, their segments 6 MB. */
static void memory_of_a_load(void **state)
{
    (void)state;
    size_t small = peak_of_load(4), large = peak_of_load(16);
    assert_true(large < small + (16 << 20));
}

/* The rows of five segments, whose texts stand once; those of the first are longer by so many bytes, or, if < 0, all
 * others are. */
static Buf unique_rows(int longer)
{
    Buf in;
    Error err = {0};
    buf_init(&in, NULL);
    for (uint32_t row = 0; row < 5 * SEGMENT_ROWS; row++) {
        int pad = (row < SEGMENT_ROWS) == (longer > 0) ? abs(longer) : 0;
        test_ok(buf_printf(&in, &err, "%u,x,text %u%*s,1\n", row, row, pad, ""), &err);
    }
    return in;
}

static tcudb_status copy_file(TestDb *t, const Buf *in, uint64_t *rows, Error *err)
{
    char path[256];
    snprintf(path, sizeof path, "%s/copy-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_int_equal(fwrite(in->data, 1, in->len, file), in->len);
    assert_int_equal(fclose(file), 0);
    StmtOption csv = text_option("format", "csv");
    Stmt stmt = {.kind = STMT_COPY_FROM, .name = STR_LIT("t"), .text = str_of(path), .options = &csv, .noptions = 1};
    const CopyEnv env = {.txn = t->txn, .pool = t->pool, .mem = db_mem(t->db)};
    tcudb_status status = copy_from(&env, &stmt, NULL, rows, err);
    remove(path);
    return status;
}

/* A file's size tells how many texts will come, so that their dictionary need not grow time and again; whether it tells
 * the truth changes nothing else. */
static void size_of_a_file(void **state)
{
    (void)state;
    static const int longer[] = {0, 40, -40};
    for (uint32_t k = 0; k < sizeof longer / sizeof longer[0]; k++) {
        Buf in = unique_rows(longer[k]);
        TestDb streamed = open_t(2), read = open_t(2);
        uint64_t rows;
        Error err = {0};
        test_ok(copy_in(&streamed, "format=csv", (Str){in.data, (uint32_t)in.len}, 0, &rows, &err), &err);
        test_ok(copy_file(&read, &in, &rows, &err), &err);
        assert_int_equal(rows, 5 * SEGMENT_ROWS);
        Buf want = test_print_table(&streamed, "t"), got = test_print_table(&read, "t");
        assert_string_equal(want.data, got.data);
        size_t unknown = atomic_load(&db_mem(streamed.db)->used), known = atomic_load(&db_mem(read.db)->used);
        if (longer[k] == 0) assert_true(known + (12 << 20) < unknown);
        buf_free(&want);
        buf_free(&got);
        buf_free(&in);
        test_db_close(&streamed);
        test_db_close(&read);
    }
}

static void files_and_their_errors(void **state)
{
    (void)state;
    TestDb t = open_t(1);
    Error err = {0};
    uint64_t rows;
    const CopyEnv env = {.txn = t.txn, .pool = t.pool, .mem = db_mem(t.db)};
    Stmt stmt = {.kind = STMT_COPY_FROM, .name = STR_LIT("t"), .text = STR_LIT("/nonexistent/x.csv")};
    assert_int_equal(copy_from(&env, &stmt, NULL, &rows, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "58P01");
    assert_string_equal(err.message,
                        "could not open file \"/nonexistent/x.csv\" for reading: No such file or directory");
    stmt.text = STR_LIT("/");
    assert_int_equal(copy_from(&env, &stmt, NULL, &rows, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "\"/\" is a directory");
    assert_string_equal(err.sqlstate, "42809");
    stmt.text = STR_LIT("");
    assert_int_equal(copy_from(&env, &stmt, NULL, &rows, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "0A000");
    test_db_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_format),         cmocka_unit_test(csv_format),
        cmocka_unit_test(errors_as_postgres),  cmocka_unit_test(options_as_postgres),
        cmocka_unit_test(writes_both_formats), cmocka_unit_test(round_trips),
        cmocka_unit_test(many_blocks),         cmocka_unit_test(memory_of_a_load),
        cmocka_unit_test(size_of_a_file),      cmocka_unit_test(files_and_their_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
