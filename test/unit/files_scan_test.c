/*
 * The scanner, the cutter and the records they yield: equal to a byte-by-byte reader on random texts, for every
 * instruction set, wherever the text is split.
 */
#include "files/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MAX_TEXT = 400, MAX_FIELDS = MAX_TEXT + 2 };

typedef struct Random {
    uint64_t state;
} Random;

static uint32_t next_random(Random *r, uint32_t below)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((r->state >> 33) % below);
}

/* ---- the plain reader: raw fields and records ----------------------------------------------- */

typedef struct Plain {
    uint32_t starts[MAX_FIELDS], ends[MAX_FIELDS];
    uint32_t n;
    uint32_t rows[MAX_FIELDS]; /* index of each record's last field */
    uint32_t nrows;
    bool inside; /* at the end */
} Plain;

typedef enum State { FIELD_START, UNQUOTED, QUOTED, AFTER_QUOTE, ESCAPED } State;

/* Whether the byte at i is outside quotes, and the state after it. */
static bool plain_step(const Dialect *d, State *state, char c)
{
    char newline = dialect_newline(d);
    State now = *state;
    if (d->mode == SCAN_TEXT) {
        *state = now == ESCAPED ? UNQUOTED : c == '\\' ? ESCAPED : UNQUOTED;
        return now != ESCAPED;
    }
    if (now == ESCAPED) {
        *state = QUOTED;
        return false;
    }
    if (now == QUOTED) {
        if (d->escape != d->quote && c == d->escape)
            *state = ESCAPED;
        else if (c == d->quote)
            *state = d->mode == SCAN_CSV ? UNQUOTED : AFTER_QUOTE;
        return false;
    }
    if (d->quote != 0 && c == d->quote &&
        (d->mode == SCAN_CSV || now == FIELD_START || (now == AFTER_QUOTE && d->escape == d->quote))) {
        *state = QUOTED;
        return false;
    }
    *state = c == d->delim || c == newline ? FIELD_START : UNQUOTED;
    return true;
}

static void plain_read(const Dialect *d, const char *text, uint32_t len, Plain *out)
{
    State state = FIELD_START;
    uint32_t start = 0;
    *out = (Plain){0};
    bool open = false;
    for (uint32_t i = 0; i < len; i++) {
        bool outside = plain_step(d, &state, text[i]);
        open = true;
        bool newline = text[i] == dialect_newline(d);
        if (!outside || (!newline && text[i] != d->delim)) continue;
        out->starts[out->n] = start;
        out->ends[out->n] = i;
        start = i + 1;
        if (newline) {
            out->rows[out->nrows++] = out->n;
            open = false;
        }
        out->n++;
    }
    if (open) {
        out->starts[out->n] = start;
        out->ends[out->n] = len;
        out->rows[out->nrows++] = out->n++;
    }
    out->inside = state == QUOTED || (state == ESCAPED && d->mode != SCAN_TEXT);
}

/* ---- comparison ---------------------------------------------------------------------------- */

typedef struct Bytes {
    const char *text;
    size_t len, at, piece;
} Bytes;

static tcudb_status read_bytes(void *ctx, char *buffer, size_t size, size_t *got, Error *err)
{
    Bytes *b = ctx;
    (void)err;
    size_t n = b->len - b->at;
    if (n > size) n = size;
    if (n > b->piece) n = b->piece;
    memcpy(buffer, b->text + b->at, n);
    b->at += n;
    *got = n;
    return TCUDB_OK;
}

/* Reads the text in blocks of at most max_rows records and checks every field against the plain reader. */
static void check_text(Dialect d, const char *text, uint32_t len, size_t step, size_t piece, uint64_t max_rows)
{
    static Plain plain;
    plain_read(&d, text, len, &plain);
    Bytes bytes = {text, len, 0, piece};
    Source *source;
    Cutter cutter;
    Block block;
    Records records;
    Error err = {0};
    assert_int_equal(source_open_stream(read_bytes, &bytes, NULL, &source, &err), TCUDB_OK);
    cutter_init(&cutter, source, NULL, NULL);
    cutter.dialect = d;
    cutter.read_step = step;
    cutter.max_rows = max_rows;
    block_init(&block, NULL);
    records_init(&records, NULL, NULL);
    uint32_t field = 0, row = 0;
    uint64_t lines = 1;
    bool more, unterminated = false;
    for (;;) {
        assert_int_equal(cutter_next(&cutter, &block, &more, &err), TCUDB_OK);
        if (!more) break;
        assert_int_equal(block.line, lines);
        for (size_t i = 0; i < block.len; i++) lines += block.data[i] == dialect_newline(&d);
        assert_memory_equal(block.data, text + block.offset, block.len);
        records_begin(&records, &d, &block);
        uint32_t nrows;
        for (;;) {
            assert_int_equal(records_next(&records, &nrows, &err), TCUDB_OK);
            if (nrows == 0) break;
            const Tokens *t = &records.tokens;
            for (uint32_t r = 0; r < nrows; r++, row++) {
                assert_true(row < plain.nrows);
                for (uint32_t f = row_first(t, r); f <= t->rows[r]; f++, field++) {
                    assert_int_equal(block.offset + field_start(t, f), plain.starts[field]);
                    assert_int_equal(block.offset + t->ends[f], plain.ends[field]);
                    bool dirty = false;
                    for (uint32_t i = plain.starts[field]; i < plain.ends[field]; i++)
                        dirty |= d.mode == SCAN_TEXT ? text[i] == '\\' : text[i] == d.quote && d.quote != 0;
                    if (dirty) assert_true(bit_get(t->dirty, f));
                }
                assert_int_equal(field - 1, plain.rows[row]);
            }
            unterminated |= records.unterminated;
        }
    }
    assert_int_equal(row, plain.nrows);
    assert_int_equal(field, plain.n);
    if (d.mode != SCAN_TEXT) assert_int_equal(unterminated, plain.inside);
    records_free(&records);
    block_free(&block);
    cutter_free(&cutter);
    source_close(source);
}

static const Dialect dialects[] = {
    {.mode = SCAN_TEXT, .eol = EOL_LF, .delim = ','},
    {.mode = SCAN_CSV, .eol = EOL_LF, .delim = ',', .quote = '"', .escape = '"'},
    {.mode = SCAN_CSV, .eol = EOL_LF, .delim = ',', .quote = '"', .escape = '\\'},
    {.mode = SCAN_CSV, .eol = EOL_CR, .delim = ',', .quote = '"', .escape = '"'},
    {.mode = SCAN_LENIENT, .eol = EOL_ANY, .delim = ',', .quote = '"', .escape = '"'},
    {.mode = SCAN_LENIENT, .eol = EOL_ANY, .delim = ',', .quote = '"', .escape = '\\'},
    {.mode = SCAN_LENIENT, .eol = EOL_CR, .delim = ',', .quote = '"', .escape = '"'},
    {.mode = SCAN_LENIENT, .eol = EOL_ANY, .delim = ',', .quote = 0, .escape = 0},
};
enum { NDIALECTS = sizeof dialects / sizeof dialects[0] };

static void random_text(Random *r, char *text, uint32_t len)
{
    static const char *const alphabets[] = {"ab,\"\n", "abcdefgh,\n\"\\", "\"\",\n", "a\\\\,\n\"",
                                            "abcdefghijklmnopq,\n\r\""};
    const char *alphabet = alphabets[next_random(r, 5)];
    uint32_t n = (uint32_t)strlen(alphabet);
    for (uint32_t i = 0; i < len; i++) text[i] = alphabet[next_random(r, n)];
}

static void random_texts_read_alike(void **state)
{
    (void)state;
    Random r = {42};
    char text[MAX_TEXT];
    for (int round = 0; round < 20000; round++) {
        uint32_t len = next_random(&r, 8) == 0 ? next_random(&r, MAX_TEXT) : next_random(&r, 100);
        random_text(&r, text, len);
        Dialect d = dialects[(uint32_t)round % NDIALECTS];
        d.isa = (uint8_t)(SCAN_PORTABLE + (uint32_t)round / NDIALECTS % 3);
        if (!scan_isa_available(d.isa)) continue;
        check_text(d, text, len, 64 * (1 + next_random(&r, 3)), 1 + next_random(&r, 200), 1 + next_random(&r, 12));
    }
}

/* Quoted line ends, doubled quotes and stray quotes at every offset to the words of 64 bytes. */
static void every_offset(void **state)
{
    (void)state;
    static const char *const cores[] = {
        "a,\"b\nc\",d\n1,2,3\n",          "\"x\"\"y\",\"\"\"\"\n,,\n",
        "5\" pipe,\"q\"\n\"t\"x,y\n",     "\"a\"\r\n\"b\"\r\n",
        "\"he said:\"ok.\"\",z\"\nq,w\n", "\"unclosed,\nfoo\n",
        "\\N\tx\\\ty\\\n\\\\\nlast line", "\"esc \\\" in\",\"\\\\\",x\n",
    };
    char text[MAX_TEXT];
    for (uint32_t c = 0; c < sizeof cores / sizeof cores[0]; c++)
        for (uint32_t pad = 0; pad < 130; pad++)
            for (uint32_t k = 0; k < NDIALECTS; k++)
                for (uint8_t isa = SCAN_PORTABLE; isa <= SCAN_AVX512; isa++) {
                    Dialect d = dialects[k];
                    d.isa = isa;
                    if (!scan_isa_available(isa)) continue;
                    memset(text, 'p', pad);
                    uint32_t n = (uint32_t)strlen(cores[c]);
                    memcpy(text + pad, cores[c], n);
                    check_text(d, text, pad + n, 64, 7 + pad % 5, 1 + pad % 3);
                }
}

static void long_records_grow(void **state)
{
    (void)state;
    enum { LEN = 3 << 20 };
    char *text = malloc(LEN + 8);
    assert_non_null(text);
    memset(text, 'x', LEN);
    text[0] = '"';
    memcpy(text + LEN, "\",2\n3,4\n", 8);
    for (int i = 1; i < LEN; i += 1000) text[i] = '\n';
    Bytes bytes = {text, LEN + 8, 0, SIZE_MAX};
    Source *source;
    Cutter cutter;
    Block block;
    Error err = {0};
    bool more;
    assert_int_equal(source_open_stream(read_bytes, &bytes, NULL, &source, &err), TCUDB_OK);
    cutter_init(&cutter, source, NULL, NULL);
    cutter.dialect = dialects[1];
    cutter.max_rows = 1;
    block_init(&block, NULL);
    assert_int_equal(cutter_next(&cutter, &block, &more, &err), TCUDB_OK);
    assert_true(more);
    assert_int_equal(block.len, LEN + 4);
    assert_int_equal(cutter_next(&cutter, &block, &more, &err), TCUDB_OK);
    assert_true(more);
    assert_int_equal(block.len, 4);
    assert_int_equal(block.line, 1 + (LEN + 998) / 1000 + 1);
    assert_int_equal(cutter_next(&cutter, &block, &more, &err), TCUDB_OK);
    assert_false(more);
    cutter_free(&cutter);
    bytes.at = 0;
    cutter_init(&cutter, source, NULL, NULL);
    source_close(source);
    assert_int_equal(source_open_stream(read_bytes, &bytes, NULL, &source, &err), TCUDB_OK);
    cutter_init(&cutter, source, NULL, NULL);
    cutter.dialect = dialects[1];
    cutter.max_record = 1 << 20;
    assert_int_equal(cutter_next(&cutter, &block, &more, &err), TCUDB_ERROR);
    assert_string_equal(err.sqlstate, "54000");
    cutter_free(&cutter);
    block_free(&block);
    source_close(source);
    free(text);
}

static void utf8_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len, valid;
    } cases[] = {
        {"plain ascii text that is longer than thirty-two bytes", 53, 53},
        {"caf\xc3\xa9", 5, 5},
        {"\xe2\x82\xac\xf0\x9f\xa6\x86", 7, 7},
        {"a\xff", 2, 1},
        {"\xc0\x80", 2, 0},
        {"\xed\xa0\x80", 3, 0},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xe2\x82", 2, 0},
        {"a\0b", 3, 1},
        {"0123456789012345678901234567890123456789\0", 41, 40},
        {"\xe0\x9f\xbf", 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(utf8_check(cases[i].text, cases[i].len), cases[i].valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts_read_alike),
        cmocka_unit_test(every_offset),
        cmocka_unit_test(long_records_grow),
        cmocka_unit_test(utf8_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
