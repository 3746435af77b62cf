/*
 * csv_read.c: read_csv('file', ...): a file, or the files of a pattern, as rows.
 *
 * A file is cut into blocks of whole records of about BLOCK_BYTES; block k of a file is task k, so rows keep
 * the file's order wherever tasks keep theirs. Cutting is sequential, under the file's lock: a task that comes
 * early cuts the blocks before its own too and leaves them for their tasks. The number of tasks is fixed when
 * the scan opens, from the file's size; tasks that find no block are empty, and the last one of a file takes
 * all blocks that are left (compressed files may hold more than was expected). A cursor has its block and
 * parses a batch a call; only the wanted columns are converted.
 */
#include "files/convert.h"
#include "files/csv.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 20, EXPANSION = 20 };

typedef struct CsvBound {
    CsvOptions options;
    CsvFormat format;
    uint32_t ncols; /* of the file */
} CsvBound;

typedef struct Stash {
    struct Stash *next;
    Block block;
} Stash;

typedef struct CsvFile {
    const char *path;
    uint64_t first_task, tasks;
    pthread_mutex_t lock;
    bool opened, ended;
    Source *source;
    Cutter cutter;
    Stash *stash; /* blocks whose tasks have not come yet */
} CsvFile;

struct TableFuncScan {
    const CsvBound *bound;
    const atomic_bool *cancel; /* may be NULL */
    Mem *mem;
    uint32_t ncols;
    uint32_t *columns;
    uint32_t nfiles;
    CsvFile *files;
};

typedef struct CsvCursor {
    CsvFile *file;
    uint64_t number; /* of the block */
    bool has_block;
    bool ended;
    Block block;
    size_t valid_bytes;
    Records records;
} CsvCursor;

/* ---- bind --------------------------------------------------------------------------------- */

static double estimate_rows(const CsvBound *b)
{
    double bytes = 0;
    for (uint32_t i = 0; i < b->options.npaths; i++) {
        struct stat st;
        if (stat(b->options.paths[i], &st) == 0) bytes += (double)st.st_size;
    }
    return bytes / (b->format.bytes_per_row < 1 ? 1 : b->format.bytes_per_row);
}

static tcudb_status csv_bind(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs, TableFuncBound *out,
                             Error *err)
{
    Arena *arena = ctx->arena;
    CsvBound *b = ARENA_NEW(arena, CsvBound, err);
    TRY_PTR(b);
    TRY(csv_options(arena, args, nargs, &b->options, err));
    TRY(csv_sniff(ctx, &b->options, &b->format, err));
    b->ncols = b->format.nfields - b->format.trailing;
    *out = (TableFuncBound){.state = b, .ncols = b->ncols + b->options.filename, .rows = estimate_rows(b)};
    out->names = ARENA_ARRAY(arena, const char *, out->ncols, err);
    TRY_PTR(out->names);
    out->types = ARENA_ARRAY(arena, Type, out->ncols, err);
    TRY_PTR(out->types);
    for (uint32_t c = 0; c < b->ncols; c++) {
        out->names[c] = b->format.cols[c].name;
        out->types[c] = b->format.cols[c].type;
    }
    if (b->options.filename) {
        out->names[b->ncols] = "filename";
        out->types[b->ncols] = TYPE(TYPE_TEXT);
    }
    return TCUDB_OK;
}

/* ---- open --------------------------------------------------------------------------------- */

static tcudb_status count_tasks(CsvFile *file, Encoding encoding, Mem *mem, Error *err)
{
    Source *source;
    TRY(source_open_file(file->path, READS_OFTEN, NULL, mem, &source, err));
    uint64_t size = source_size(source);
    if (source_compressed(source))
        size *= EXPANSION;
    else if (encoding != ENCODING_UTF8)
        size *= 2;
    source_close(source);
    file->tasks = size / BLOCK_BYTES + 1;
    return TCUDB_OK;
}

static void csv_close(TableFuncScan *scan)
{
    for (uint32_t i = 0; i < scan->nfiles; i++) {
        CsvFile *file = &scan->files[i];
        while (file->stash != NULL) {
            Stash *s = file->stash;
            file->stash = s->next;
            block_free(&s->block);
            mem_free(scan->mem, s, sizeof *s);
        }
        if (file->opened) cutter_free(&file->cutter);
        source_close(file->source);
        pthread_mutex_destroy(&file->lock);
    }
    mem_free(scan->mem, scan->files, scan->bound->options.npaths * sizeof *scan->files);
    mem_free(scan->mem, scan->columns, scan->ncols * sizeof *scan->columns);
    mem_free(scan->mem, scan, sizeof *scan);
}

static tcudb_status open_files(TableFuncScan *scan, uint64_t *tasks, Error *err)
{
    const CsvOptions *o = &scan->bound->options;
    scan->files = mem_alloc_zero(scan->mem, o->npaths * sizeof *scan->files, err);
    TRY_PTR(scan->files);
    *tasks = 0;
    for (uint32_t i = 0; i < o->npaths; i++) {
        CsvFile *file = &scan->files[scan->nfiles++];
        file->path = o->paths[i];
        pthread_mutex_init(&file->lock, NULL);
        file->first_task = *tasks;
        TRY(count_tasks(file, scan->bound->format.encoding, scan->mem, err));
        *tasks += file->tasks;
    }
    return TCUDB_OK;
}

static tcudb_status csv_open(const TableFuncBound *bound, const uint32_t *columns, uint32_t ncols,
                             const atomic_bool *cancel, Mem *mem, TableFuncScan **out, uint64_t *tasks, Error *err)
{
    TableFuncScan *scan = mem_alloc_zero(mem, sizeof *scan, err);
    TRY_PTR(scan);
    scan->bound = bound->state;
    scan->cancel = cancel;
    scan->mem = mem;
    tcudb_status status = TCUDB_NOMEM;
    scan->columns = mem_alloc(mem, ncols * sizeof *columns, err);
    if (scan->columns != NULL) {
        scan->ncols = ncols;
        if (ncols > 0) memcpy(scan->columns, columns, ncols * sizeof *columns);
        status = open_files(scan, tasks, err);
    }
    if (status != TCUDB_OK) {
        csv_close(scan);
        return status;
    }
    *out = scan;
    return TCUDB_OK;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static bool is_skipped(const CsvFormat *f, Str row)
{
    if (row.len == 0) return f->nfields > 1;
    return f->dialect.comment != '\0' && row.ptr[0] == f->dialect.comment;
}

/* Drops records up to and including the header. */
static tcudb_status skip_header(const TableFuncScan *scan, CsvFile *file, Error *err)
{
    const CsvFormat *f = &scan->bound->format;
    Block block;
    Records records;
    block_init(&block, scan->mem);
    records_init(&records, scan->cancel, scan->mem);
    tcudb_status status;
    bool more = true, found = false;
    file->cutter.max_rows = 1;
    while (more && !found) {
        TRY_GOTO(cutter_next(&file->cutter, &block, &more, err));
        uint32_t nrows;
        records_begin(&records, &f->dialect, &block);
        TRY_GOTO(records_next(&records, &nrows, err));
        found = nrows > 0 && !is_skipped(f, records_row(&records, 0));
    }
    file->cutter.max_rows = UINT64_MAX;
    file->cutter.number = 0;
    status = TCUDB_OK;
done:
    block_free(&block);
    records_free(&records);
    return status;
}

/* Under the file's lock. */
static tcudb_status open_file(TableFuncScan *scan, CsvFile *file, Error *err)
{
    const CsvFormat *f = &scan->bound->format;
    TRY(source_open_file(file->path, READS_OFTEN, scan->cancel, scan->mem, &file->source, err));
    source_set_encoding(file->source, f->encoding);
    cutter_init(&file->cutter, file->source, scan->cancel, scan->mem);
    file->opened = true;
    file->cutter.dialect = f->dialect;
    file->cutter.max_bytes = BLOCK_BYTES;
    file->cutter.max_record = scan->bound->options.max_line_size;
    TRY(cutter_skip(&file->cutter, f->bom || f->encoding != ENCODING_UTF8, f->skip, err));
    return f->header ? skip_header(scan, file, err) : TCUDB_OK;
}

static bool take_stashed(TableFuncScan *scan, CsvFile *file, uint64_t number, Block *block)
{
    for (Stash **at = &file->stash; *at != NULL; at = &(*at)->next) {
        Stash *s = *at;
        if (s->block.number != number) continue;
        block_free(block);
        *block = s->block;
        *at = s->next;
        mem_free(scan->mem, s, sizeof *s);
        return true;
    }
    return false;
}

static tcudb_status stash_block(TableFuncScan *scan, CsvFile *file, Error *err)
{
    Stash *s = mem_alloc_zero(scan->mem, sizeof *s, err);
    TRY_PTR(s);
    block_init(&s->block, scan->mem);
    bool more;
    tcudb_status status = cutter_next(&file->cutter, &s->block, &more, err);
    if (status != TCUDB_OK || !more) {
        block_free(&s->block);
        mem_free(scan->mem, s, sizeof *s);
        file->ended = true;
        return status;
    }
    s->next = file->stash;
    file->stash = s;
    return TCUDB_OK;
}

static tcudb_status take_block_locked(TableFuncScan *scan, CsvFile *file, uint64_t number, Block *block, bool *found,
                                      Error *err)
{
    if (!file->opened) TRY(open_file(scan, file, err));
    if (take_stashed(scan, file, number, block)) {
        *found = true;
        return TCUDB_OK;
    }
    while (!file->ended && file->cutter.number < number) TRY(stash_block(scan, file, err));
    if (file->ended) return TCUDB_OK;
    assert(file->cutter.number == number);
    tcudb_status status = cutter_next(&file->cutter, block, found, err);
    if (status != TCUDB_OK || !*found) file->ended = true;
    return status;
}

static tcudb_status take_block(TableFuncScan *scan, CsvFile *file, uint64_t number, Block *block, bool *found,
                               Error *err)
{
    *found = false;
    pthread_mutex_lock(&file->lock);
    tcudb_status status = take_block_locked(scan, file, number, block, found, err);
    pthread_mutex_unlock(&file->lock);
    return status;
}

/* ---- records ------------------------------------------------------------------------------ */

static tcudb_status record_error(const TableFuncScan *scan, const CsvCursor *c, uint32_t row, Error *err)
{
    csv_explain(err, &scan->bound->format, c->file->path, records_first_line(&c->records, row, c->block.line), NULL,
                (Str){0});
    return err == NULL ? TCUDB_ERROR : err->status;
}

static tcudb_status bad_fields(const TableFuncScan *scan, const CsvCursor *c, uint32_t row, Error *err)
{
    const CsvFormat *f = &scan->bound->format;
    uint32_t n = row_fields(&c->records.tokens, row);
    if (c->records.unterminated && row + 1 == c->records.tokens.nrows)
        error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "unterminated quoted field");
    else if (n == f->nfields)
        error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "the record does not end with a delimiter, as others do");
    else
        error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "the record has %s%u fields, expected %u",
                  n < SCAN_FIELDS ? "" : "more than ", n < SCAN_FIELDS ? n - f->trailing : SCAN_FIELDS - 1,
                  f->nfields - f->trailing);
    return record_error(scan, c, row, err);
}

/* A record that has its fields, or may do without some. */
static bool good_fields(const TableFuncScan *scan, const CsvCursor *c, uint32_t row)
{
    const CsvFormat *f = &scan->bound->format;
    const Tokens *t = &c->records.tokens;
    uint32_t n = row_fields(t, row);
    if (c->records.unterminated && row + 1 == t->nrows) return false;
    if (n != f->nfields) return n < f->nfields && f->padding;
    if (!f->trailing) return true;
    Str last = {c->records.text + field_start(t, t->rows[row]), t->ends[t->rows[row]] - field_start(t, t->rows[row])};
    return last.len == 0 || (last.len == 1 && last.ptr[0] == '\r');
}

/* Text that is not UTF-8, or holds a NUL. */
static bool good_bytes(const CsvCursor *c, uint32_t row)
{
    const Tokens *t = &c->records.tokens;
    uint32_t end = t->ends[t->rows[row]];
    if (end <= c->valid_bytes) return true;
    uint32_t start = field_start(t, row_first(t, row));
    return utf8_check(c->records.text + start, end - start) == end - start;
}

static tcudb_status bad_bytes(const TableFuncScan *scan, const CsvCursor *c, uint32_t row, Error *err)
{
    const Tokens *t = &c->records.tokens;
    uint32_t start = field_start(t, row_first(t, row)), end = t->ends[t->rows[row]];
    size_t at = utf8_check(c->records.text + start, end - start);
    error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x%02x",
              (uint8_t)c->records.text[start + at]);
    return record_error(scan, c, row, err);
}

/* Chooses the rows of a batch that are records; *sel NULL: all. */
static tcudb_status choose_rows(const TableFuncScan *scan, const CsvCursor *c, uint32_t nrows, Arena *arena,
                                uint16_t **sel, uint32_t *n, Error *err)
{
    const CsvFormat *f = &scan->bound->format;
    const Tokens *t = &c->records.tokens;
    bool lenient = scan->bound->options.ignore_errors;
    *sel = NULL;
    *n = nrows;
    bool simple = !f->trailing && f->dialect.comment == '\0' && c->valid_bytes == c->block.len &&
                  !c->records.unterminated && f->nfields > 1;
    for (uint32_t r = 0; r < nrows && simple; r++) simple = row_fields(t, r) == f->nfields;
    if (simple) return TCUDB_OK;
    uint16_t *rows = arena_alloc_raw(arena, nrows * sizeof *rows, err);
    TRY_PTR(rows);
    *n = 0;
    for (uint32_t r = 0; r < nrows; r++) {
        if (is_skipped(f, records_row(&c->records, r))) continue;
        bool fields = good_fields(scan, c, r), bytes = good_bytes(c, r);
        if (fields && bytes)
            rows[(*n)++] = (uint16_t)r;
        else if (!lenient)
            return fields ? bad_bytes(scan, c, r, err) : bad_fields(scan, c, r, err);
    }
    if (*n < nrows) *sel = rows;
    return TCUDB_OK;
}

/* ---- columns ------------------------------------------------------------------------------ */

/* Fields of rows that were not chosen must not be read: they are made NULL. */
static tcudb_status hide_rows(const uint16_t *sel, uint32_t n, uint32_t nrows, Arena *arena, uint64_t **valid,
                              Error *err)
{
    size_t words = bit_words(nrows);
    uint64_t *chosen = arena_alloc(arena, words * sizeof *chosen, err);
    TRY_PTR(chosen);
    for (uint32_t i = 0; i < n; i++)
        if (*valid == NULL || bit_get(*valid, sel[i])) bit_set(chosen, sel[i]);
    *valid = chosen;
    return TCUDB_OK;
}

static tcudb_status make_column(const TableFuncScan *scan, const CsvCursor *c, uint32_t col, uint32_t nrows,
                                const uint16_t *sel, uint32_t n, uint64_t *bad, Arena *arena, Vector *out, Error *err)
{
    const CsvBound *b = scan->bound;
    if (col == b->ncols) {
        Value name = {.type = TYPE(TYPE_TEXT), .str = str_of(c->file->path)};
        return vec_const(arena, &name, out, err);
    }
    const CsvColumn *column = &b->format.cols[col];
    Str *texts = arena_alloc_raw(arena, nrows * sizeof *texts, err);
    TRY_PTR(texts);
    uint64_t *valid;
    uint32_t bad_row;
    TRY(records_column(&c->records, nrows, col, &column->rules, arena, texts, &valid, &bad_row, err));
    if (sel != NULL) TRY(hide_rows(sel, n, nrows, arena, &valid, err));
    tcudb_status status = csv_convert_column(column, texts, valid, nrows, arena, out, bad, &bad_row, err);
    if (status == TCUDB_ERROR)
        csv_explain(err, &b->format, c->file->path, records_first_line(&c->records, bad_row, c->block.line),
                    column->name, texts[bad_row]);
    return status;
}

/* Takes bad rows out of the selection. */
static tcudb_status drop_bad(const uint64_t *bad, uint32_t nrows, Arena *arena, uint16_t **sel, uint32_t *n, Error *err)
{
    uint16_t *rows = arena_alloc_raw(arena, nrows * sizeof *rows, err);
    TRY_PTR(rows);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t row = *sel == NULL ? i : (*sel)[i];
        if (!bit_get(bad, row)) rows[kept++] = (uint16_t)row;
    }
    if (kept < *n) *sel = rows;
    *n = kept;
    return TCUDB_OK;
}

static tcudb_status make_batch(const TableFuncScan *scan, CsvCursor *c, uint32_t nrows, Arena *arena, Batch *out,
                               Error *err)
{
    uint16_t *sel;
    uint32_t n;
    uint64_t *bad = NULL;
    TRY(choose_rows(scan, c, nrows, arena, &sel, &n, err));
    *out = (Batch){.rows = nrows, .ncols = scan->ncols};
    out->cols = ARENA_ARRAY(arena, Vector, scan->ncols, err);
    TRY_PTR(out->cols);
    if (scan->bound->options.ignore_errors) {
        bad = ARENA_ARRAY(arena, uint64_t, bit_words(nrows), err);
        TRY_PTR(bad);
    }
    for (uint32_t i = 0; i < scan->ncols; i++)
        TRY(make_column(scan, c, scan->columns[i], nrows, sel, n, bad, arena, &out->cols[i], err));
    if (bad != NULL) TRY(drop_bad(bad, nrows, arena, &sel, &n, err));
    out->sel = sel;
    out->n = n;
    return TCUDB_OK;
}

/* ---- next --------------------------------------------------------------------------------- */

static CsvFile *file_of(const TableFuncScan *scan, uint64_t task)
{
    uint32_t low = 0, high = scan->nfiles - 1;
    while (low < high) {
        uint32_t mid = (low + high + 1) / 2;
        if (scan->files[mid].first_task <= task)
            low = mid;
        else
            high = mid - 1;
    }
    return &scan->files[low];
}

static tcudb_status new_cursor(TableFuncScan *scan, uint64_t task, void **out, Error *err)
{
    CsvCursor *c = mem_alloc_zero(scan->mem, sizeof *c, err);
    TRY_PTR(c);
    c->file = file_of(scan, task);
    c->number = task - c->file->first_task;
    block_init(&c->block, scan->mem);
    records_init(&c->records, scan->cancel, scan->mem);
    *out = c;
    return TCUDB_OK;
}

/* A cursor has one block, but the last of a file goes on. */
static tcudb_status next_block(TableFuncScan *scan, CsvCursor *c, Error *err)
{
    bool found;
    if (c->has_block) {
        if (c->number + 1 < c->file->tasks) {
            c->ended = true;
            return TCUDB_OK;
        }
        c->number++;
    }
    TRY(take_block(scan, c->file, c->number, &c->block, &found, err));
    c->ended = !found;
    if (!found) return TCUDB_OK;
    c->has_block = true;
    TRY(utf8_valid(c->block.data, c->block.len, scan->cancel, &c->valid_bytes, err));
    records_begin(&c->records, &scan->bound->format.dialect, &c->block);
    return TCUDB_OK;
}

static tcudb_status csv_next(TableFuncScan *scan, uint64_t task, void **cursor, Arena *arena, Batch *out, bool *done,
                             Error *err)
{
    if (*cursor == NULL) TRY(new_cursor(scan, task, cursor, err));
    CsvCursor *c = *cursor;
    *out = (Batch){.ncols = scan->ncols};
    for (;;) {
        uint32_t nrows = 0;
        if (c->has_block) TRY(records_next(&c->records, &nrows, err));
        if (nrows == 0) {
            TRY(next_block(scan, c, err));
            *done = c->ended;
            if (c->ended) return TCUDB_OK;
            continue;
        }
        TRY(make_batch(scan, c, nrows, arena, out, err));
        *done = false;
        if (out->n > 0) return TCUDB_OK;
    }
}

static void csv_end_task(TableFuncScan *scan, void *cursor)
{
    CsvCursor *c = cursor;
    if (c == NULL) return;
    block_free(&c->block);
    records_free(&c->records);
    mem_free(scan->mem, c, sizeof *c);
}

const TableFunc read_csv_func = {
    .name = "read_csv",
    .usage = "read_csv('file', delim =>, quote =>, header =>, columns => 'a int, b text', ...)",
    .bind = csv_bind,
    .open = csv_open,
    .next = csv_next,
    .end_task = csv_end_task,
    .close = csv_close,
};
