/*
 * csv_fuzz.c: fuzz target for separated text. With libFuzzer: clang -fsanitize=fuzzer,address.
 * Byte 0 chooses: read_csv over the rest as a file (sniffed, with or without ignore_errors), or COPY's two formats
 * cut into records and read as texts and numbers. What is read must be UTF-8, and every instruction set must find
 * the same fields.
 */
#include "files/convert.h"
#include "files/files.h"
#include "files/records.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_batch(const Batch *b)
{
    for (uint32_t c = 0; c < b->ncols; c++)
        for (uint32_t i = 0; i < b->n && type_is_text(b->cols[c].type); i++) {
            uint32_t row = batch_row(b, i);
            if (vec_is_null(&b->cols[c], row)) continue;
            Str text = vec_value(&b->cols[c], row).str;
            if (utf8_check(text.ptr, text.len) != text.len) abort();
        }
}

static void read_all(const TableFunc *f, const TableFuncBound *bound, Arena *arena)
{
    TableFuncScan *scan;
    uint64_t tasks;
    Error err;
    uint32_t *columns = ARENA_ARRAY(arena, uint32_t, bound->ncols + 1, &err);
    for (uint32_t c = 0; c < bound->ncols; c++) columns[c] = c;
    if (f->open(bound, columns, bound->ncols, NULL, NULL, &scan, &tasks, &err) != TCUDB_OK) return;
    Arena batch_arena;
    arena_init(&batch_arena, NULL);
    tcudb_status status = TCUDB_OK;
    for (uint64_t task = 0; task < tasks && status == TCUDB_OK; task++) {
        void *cursor = NULL;
        bool done = false;
        while (!done && status == TCUDB_OK) {
            Batch batch;
            arena_reset(&batch_arena);
            status = f->next(scan, task, &cursor, &batch_arena, &batch, &done, &err);
            if (status == TCUDB_OK && !done) check_batch(&batch);
        }
        f->end_task(scan, cursor);
    }
    f->close(scan);
    arena_free(&batch_arena);
}

static void fuzz_read_csv(const uint8_t *in, size_t size, bool ignore_errors)
{
    int fd = memfd_create("csv", MFD_CLOEXEC);
    char path[40];
    if (fd < 0 || write(fd, in, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const TableFuncArg args[] = {
        {.value = {.type = TYPE(TYPE_TEXT), .str = str_of(path)}},
        {.name = STR_LIT("ignore_errors"), .value = {.type = TYPE(TYPE_BOOL), .b = ignore_errors}},
    };
    const TableFunc *f = files_find_table_func(STR_LIT("read_csv"));
    Arena arena;
    Error err;
    TableFuncBound bound;
    arena_init(&arena, NULL);
    if (f->bind(&(EvalCtx){.arena = &arena}, args, 2, &bound, &err) == TCUDB_OK) read_all(f, &bound, &arena);
    arena_free(&arena);
    close(fd);
}

static void read_columns(const Records *r, uint32_t nrows, Arena *arena)
{
    const FieldRules rules = {.null_text = STR_LIT("\\N")};
    Error err;
    for (uint32_t c = 0; c < 4; c++) {
        Str *texts = ARENA_ARRAY(arena, Str, nrows, &err);
        uint64_t *valid;
        uint32_t bad;
        Vector out;
        if (records_column(r, nrows, c, &rules, arena, texts, &valid, &bad, &err) != TCUDB_OK) continue;
        uint64_t *marks = ARENA_ARRAY(arena, uint64_t, bit_words(nrows), &err);
        static const uint8_t types[] = {TYPE_INT4, TYPE_FLOAT8, TYPE_DATE, TYPE_TIMESTAMP};
        if (convert_column(TYPE(types[c]), texts, valid, nrows, arena, &out, marks, &bad, &err) != TCUDB_OK) abort();
    }
}

static void fuzz_records(const uint8_t *in, size_t size, const Dialect *d)
{
    Block block;
    Records best, plain;
    Arena arena;
    Error err;
    Dialect portable = *d;
    portable.isa = SCAN_PORTABLE;
    block_init(&block, NULL);
    block.data = calloc(1, size + SCAN_PADDING);
    block.len = size;
    memcpy(block.data, in, size);
    records_init(&best, NULL, NULL);
    records_init(&plain, NULL, NULL);
    arena_init(&arena, NULL);
    records_begin(&best, d, &block);
    records_begin(&plain, &portable, &block);
    for (;;) {
        uint32_t n, m;
        if (records_next(&best, &n, &err) != TCUDB_OK || records_next(&plain, &m, &err) != TCUDB_OK) abort();
        if (n != m || best.tokens.nfields != plain.tokens.nfields) abort();
        if (n == 0) break;
        if (memcmp(best.tokens.ends, plain.tokens.ends, best.tokens.nfields * sizeof(uint32_t)) != 0) abort();
        arena_reset(&arena);
        read_columns(&best, n, &arena);
    }
    records_free(&best);
    records_free(&plain);
    arena_free(&arena);
    free(block.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const Dialect dialects[] = {
        {.mode = SCAN_TEXT, .eol = EOL_LF, .delim = '\t'},
        {.mode = SCAN_CSV, .eol = EOL_LF, .delim = ',', .quote = '"', .escape = '"'},
        {.mode = SCAN_CSV, .eol = EOL_CRLF, .delim = ',', .quote = '"', .escape = '\\'},
        {.mode = SCAN_LENIENT, .eol = EOL_ANY, .delim = ',', .quote = '"', .escape = '"'},
        {.mode = SCAN_LENIENT, .eol = EOL_ANY, .delim = ';', .quote = '\'', .escape = '\\'},
    };
    if (size == 0) return 0;
    uint8_t choice = data[0] % 8;
    if (choice < 5)
        fuzz_records(data + 1, size - 1, &dialects[choice]);
    else
        fuzz_read_csv(data + 1, size - 1, choice == 5);
    return 0;
}
