/*
 * copy_from.c: COPY table FROM file or stream.
 *
 *     cutter (one thread at a time) -> block of SEGMENT_ROWS records -> worker: fields -> vectors -> Appender
 *
 * Workers take turns at the cutter and then parse their blocks in parallel; each block has an Appender of its
 * own whose order is the block's number, so rows keep the order of the input and segments come out full. Of
 * several errors the one in the earliest block is reported, whatever the timing: a later block's error only
 * stops the cutter. The statement's rollback removes what finished blocks appended.
 */
#include "files/convert.h"
#include "files/copy_int.h"
#include "files/records.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { BLOCK_BYTES = 64 << 20, MAX_RECORD = 1 << 30, CONTEXT_CHARS = 100 };

typedef struct CopyColumn {
    uint32_t table_col;
    FieldRules rules;
} CopyColumn;

/* Shared by the workers. */
typedef struct CopyJob {
    const CopyEnv *env;
    CopyOptions options;
    Str table;
    const TableDef *def;
    const Value *defaults; /* NULL: none */
    uint32_t ncols;        /* of the file */
    CopyColumn *cols;
    bool *from_file; /* per table column */
    Source *source;
    Appender *guard; /* see run_in_order */
    Cutter cutter;   /* under the lock, as the rest */
    pthread_mutex_t lock;
    uint64_t rows;
    uint64_t failed_block; /* UINT64_MAX: none */
    Error failure;
} CopyJob;

typedef struct CopyWorker {
    CopyJob *job;
    Block block;
    Records records;
    Arena arena;
    Appender *appender;
} CopyWorker;

/* ---- errors with their place -------------------------------------------------------------- */

static Str target(const CopyJob *job)
{
    return job->env->into.len > 0 ? job->env->into : job->table;
}

static const char *table_name(const CopyJob *job, char buffer[64])
{
    snprintf(buffer, 64, STR_FMT, STR_ARG(job->table));
    return buffer;
}

/* The first 100 characters, whole ones, with ... if there were more. */
static Str shorten(Str text, const char **dots)
{
    uint32_t chars = 0, at = 0;
    while (at < text.len && chars < CONTEXT_CHARS) {
        at++;
        while (at < text.len && (text.ptr[at] & 0xc0) == 0x80) at++;
        chars++;
    }
    *dots = at < text.len ? "..." : "";
    return (Str){text.ptr, at};
}

/* Adds PostgreSQL's CONTEXT line as the detail: where = "line" or "column". */
static tcudb_status at_row(CopyWorker *w, uint32_t row, tcudb_status status, Error *err)
{
    char name[64];
    const char *dots;
    Str text = shorten(records_row(&w->records, row), &dots);
    error_detail(err, "COPY %s, line %llu: \"" STR_FMT "%s\"", table_name(w->job, name),
                 (unsigned long long)records_line(&w->records, row, w->block.line), STR_ARG(text), dots);
    return status;
}

static tcudb_status at_line(CopyWorker *w, uint32_t row, tcudb_status status, Error *err)
{
    char name[64];
    error_detail(err, "COPY %s, line %llu", table_name(w->job, name),
                 (unsigned long long)records_line(&w->records, row, w->block.line));
    return status;
}

static tcudb_status at_field(CopyWorker *w, uint32_t row, uint32_t col, Str text, tcudb_status status, Error *err)
{
    char name[64];
    const char *dots;
    text = shorten(text, &dots);
    const ColumnDef *column = &w->job->def->cols[w->job->cols[col].table_col];
    error_detail(err, "COPY %s, line %llu, column " STR_FMT ": \"" STR_FMT "%s\"", table_name(w->job, name),
                 (unsigned long long)records_line(&w->records, row, w->block.line), STR_ARG(column->name),
                 STR_ARG(text), dots);
    return status;
}

/* ---- checking a batch's records ----------------------------------------------------------- */

/* Rows up to the first with a wrong number of fields. */
static uint32_t good_shape(const CopyWorker *w, uint32_t nrows)
{
    const Tokens *t = &w->records.tokens;
    bool trailing = w->job->options.trailing_delimiter;
    uint32_t want = w->job->ncols + trailing;
    for (uint32_t r = 0; r < nrows; r++) {
        if (row_fields(t, r) != want) return r;
        if (trailing &&
            t->ends[t->rows[r]] - field_start(t, t->rows[r]) > (uint32_t)(w->records.dialect->eol == EOL_CRLF))
            return r;
    }
    return w->records.unterminated ? nrows - 1 : nrows;
}

/* Rows that end before an offset; the offset: of a byte that is wrong. */
static uint32_t rows_before(const CopyWorker *w, uint32_t nrows, int64_t offset)
{
    const Tokens *t = &w->records.tokens;
    uint32_t r = 0;
    while (r < nrows && (int64_t)t->ends[t->rows[r]] < offset) r++;
    return r;
}

static tcudb_status bad_eol(CopyWorker *w, uint32_t row, Error *err)
{
    const Records *r = &w->records;
    const bool csv = w->job->options.csv;
    const bool cr = r->text[r->tokens.bad_eol] != '\n';
    error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "%s %s found in data", csv ? "unquoted" : "literal",
              cr ? "carriage return" : "newline");
    if (csv)
        error_hint(err, "Use quoted CSV field to represent %s.", cr ? "carriage return" : "newline");
    else
        error_hint(err, "Use \"%s\" to represent %s.", cr ? "\\r" : "\\n", cr ? "carriage return" : "newline");
    return at_line(w, row, TCUDB_ERROR, err);
}

static tcudb_status bad_bytes(CopyWorker *w, uint32_t row, size_t offset, Error *err)
{
    const uint8_t *p = (const uint8_t *)w->block.data + offset;
    size_t left = w->block.len - offset;
    char bytes[32];
    int n = p[0] < 0xc0 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 1;
    size_t at = 0;
    for (int i = 0; i < n && (size_t)i < left; i++)
        at += (size_t)snprintf(bytes + at, sizeof bytes - at, "%s0x%02x", i > 0 ? " " : "", p[i]);
    tcudb_status status =
        error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": %s", bytes);
    return at_line(w, row, status, err);
}

/* ---- a batch ------------------------------------------------------------------------------ */

/* Fills one column of the batch; on failure *bad_row is the row to blame. */
static tcudb_status file_column(CopyWorker *w, uint32_t col, uint32_t nrows, Batch *batch, uint32_t *bad_row,
                                Error *err)
{
    const CopyJob *job = w->job;
    const CopyColumn *c = &job->cols[col];
    const ColumnDef *def = &job->def->cols[c->table_col];
    uint64_t *valid;
    Str *texts = arena_alloc_raw(&w->arena, nrows * sizeof *texts, err);
    TRY_PTR(texts);
    tcudb_status status = records_column(&w->records, nrows, col, &c->rules, &w->arena, texts, &valid, bad_row, err);
    if (status == TCUDB_ERROR) return at_line(w, *bad_row, status, err);
    TRY(status);
    Vector *v = &batch->cols[c->table_col];
    status = convert_column(def->type, texts, valid, nrows, &w->arena, v, NULL, bad_row, err);
    if (status == TCUDB_ERROR) return at_field(w, *bad_row, col, texts[*bad_row], status, err);
    TRY(status);
    if (!def->not_null || valid == NULL) return TCUDB_OK;
    uint32_t row = 0;
    while (row < nrows && bit_get(valid, row)) row++;
    if (row == nrows) return TCUDB_OK;
    *bad_row = row;
    status = error_set(err, SQLSTATE_NOT_NULL_VIOLATION,
                       "null value in column \"" STR_FMT "\" of relation \"" STR_FMT "\" violates not-null constraint",
                       STR_ARG(def->name), STR_ARG(job->table));
    return at_row(w, row, status, err);
}

static tcudb_status default_column(CopyWorker *w, uint32_t table_col, Batch *batch, Error *err)
{
    const CopyJob *job = w->job;
    const ColumnDef *def = &job->def->cols[table_col];
    Value value = {.type = def->type, .null = true};
    if (job->defaults != NULL && !job->defaults[table_col].null) value = job->defaults[table_col];
    if (value.null && def->not_null) {
        tcudb_status status =
            error_set(err, SQLSTATE_NOT_NULL_VIOLATION,
                      "null value in column \"" STR_FMT "\" of relation \"" STR_FMT "\" violates not-null constraint",
                      STR_ARG(def->name), STR_ARG(job->table));
        return at_row(w, 0, status, err);
    }
    return vec_const(&w->arena, &value, &batch->cols[table_col], err);
}

/* Columns are read one after the other, but the error to report is the earliest row's: after a failure the
 * other columns are read up to the row before it. */
static tcudb_status file_columns(CopyWorker *w, uint32_t nrows, Batch *batch, Error *err)
{
    tcudb_status failed = TCUDB_OK;
    Error later;
    uint32_t limit = nrows;
    for (uint32_t c = 0; c < w->job->ncols && limit > 0; c++) {
        Error *place = failed == TCUDB_OK ? err : &later;
        uint32_t bad_row = 0;
        tcudb_status status = file_column(w, c, limit, batch, &bad_row, place);
        if (status == TCUDB_OK) continue;
        limit = bad_row;
        if (failed != TCUDB_OK && err != NULL) *err = later;
        failed = status;
        if (status != TCUDB_ERROR) break;
    }
    return failed;
}

static tcudb_status append_rows(CopyWorker *w, uint32_t nrows, Error *err)
{
    const CopyJob *job = w->job;
    Batch batch = {.rows = nrows, .n = nrows, .ncols = job->def->ncols};
    batch.cols = ARENA_ARRAY(&w->arena, Vector, batch.ncols, err);
    TRY_PTR(batch.cols);
    TRY(file_columns(w, nrows, &batch, err));
    for (uint32_t c = 0; c < job->def->ncols; c++)
        if (!job->from_file[c]) TRY(default_column(w, c, &batch, err));
    return appender_add(w->appender, &batch, err);
}

/* A fault in the fields that a short row has comes before their number. */
static tcudb_status short_row(CopyWorker *w, uint32_t row, uint32_t nfields, Error *err)
{
    Batch batch = {.rows = row + 1, .ncols = w->job->def->ncols};
    batch.cols = ARENA_ARRAY(&w->arena, Vector, batch.ncols, err);
    TRY_PTR(batch.cols);
    for (uint32_t c = 0; c < nfields; c++) {
        uint32_t bad_row;
        TRY(file_column(w, c, row + 1, &batch, &bad_row, err));
    }
    return TCUDB_OK;
}

static tcudb_status wrong_fields(CopyWorker *w, uint32_t row, Error *err)
{
    const CopyJob *job = w->job;
    uint32_t n = row_fields(&w->records.tokens, row);
    tcudb_status status;
    bool unterminated = w->records.unterminated && row + 1 == w->records.tokens.nrows;
    if (n < job->ncols && !unterminated) TRY(short_row(w, row, n, err));
    if (unterminated)
        status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field");
    else if (n < job->ncols)
        status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "missing data for column \"" STR_FMT "\"",
                           STR_ARG(job->def->cols[job->cols[n].table_col].name));
    else if (n == job->ncols)
        status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "missing delimiter at the end of the record");
    else
        status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "extra data after last expected column");
    const Tokens *t = &w->records.tokens;
    bool ends_with_delimiter = n == job->ncols + 1 && t->ends[t->rows[row]] - field_start(t, t->rows[row]) <=
                                                          (uint32_t)(w->records.dialect->eol == EOL_CRLF);
    if (ends_with_delimiter && !job->options.trailing_delimiter)
        error_hint(err, "If every record ends with a delimiter, add the option TRAILING_DELIMITER.");
    return at_row(w, row, status, err);
}

/* One batch: its good rows are appended, then the first bad one is reported. Errors within the good rows
 * come column by column: the earliest row's is found by appending fewer rows. */
static tcudb_status copy_batch(CopyWorker *w, uint32_t nrows, size_t valid_bytes, Error *err)
{
    uint32_t shaped = good_shape(w, nrows);
    uint32_t eol = w->records.tokens.bad_eol < 0 ? nrows : rows_before(w, nrows, w->records.tokens.bad_eol);
    uint32_t coded = valid_bytes == w->block.len ? nrows : rows_before(w, nrows, (int64_t)valid_bytes);
    uint32_t good = shaped < eol ? shaped : eol;
    if (coded < good) good = coded;
    if (good > 0) TRY(append_rows(w, good, err));
    if (good == nrows) return TCUDB_OK;
    if (coded == good) return bad_bytes(w, good, valid_bytes, err);
    if (eol == good) return bad_eol(w, good, err);
    return wrong_fields(w, good, err);
}

/* ---- header ------------------------------------------------------------------------------- */

static tcudb_status match_field(CopyWorker *w, uint32_t col, Str text, bool null, Error *err)
{
    Str want = w->job->def->cols[w->job->cols[col].table_col].name;
    tcudb_status status = TCUDB_OK;
    if (null)
        status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT,
                           "column name mismatch in header line field %u: got null value (\"" STR_FMT
                           "\"), expected \"" STR_FMT "\"",
                           col + 1, STR_ARG(w->job->options.null_text), STR_ARG(want));
    else if (!str_equal(text, want))
        status =
            error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT,
                      "column name mismatch in header line field %u: got \"" STR_FMT "\", expected \"" STR_FMT "\"",
                      col + 1, STR_ARG(text), STR_ARG(want));
    return status == TCUDB_OK ? status : at_row(w, 0, status, err);
}

static tcudb_status match_header(CopyWorker *w, Error *err)
{
    const CopyJob *job = w->job;
    uint32_t n = row_fields(&w->records.tokens, 0);
    if (n != job->ncols) {
        tcudb_status status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT,
                                        "wrong number of fields in header line: got %u, expected %u", n, job->ncols);
        return at_row(w, 0, status, err);
    }
    for (uint32_t c = 0; c < n; c++) {
        Str text;
        uint64_t *valid;
        uint32_t bad;
        const FieldRules rules = {.null_text = job->options.null_text};
        TRY(records_column(&w->records, 1, c, &rules, &w->arena, &text, &valid, &bad, err));
        TRY(match_field(w, c, text, valid != NULL, err));
    }
    return TCUDB_OK;
}

/* The header is a block of its own. */
static tcudb_status copy_header(CopyWorker *w, Error *err)
{
    Cutter *cutter = &w->job->cutter;
    uint64_t rows = cutter->max_rows;
    bool more;
    cutter->max_rows = 1;
    TRY(cutter_next(cutter, &w->block, &more, err));
    cutter->max_rows = rows;
    cutter->number = 0;
    if (!more || w->job->options.header != HEADER_MATCH) return TCUDB_OK;
    records_begin(&w->records, &cutter->dialect, &w->block);
    uint32_t nrows;
    TRY(records_next(&w->records, &nrows, err));
    return nrows == 0 ? TCUDB_OK : match_header(w, err);
}

/* ---- workers ------------------------------------------------------------------------------ */

static tcudb_status copy_block(CopyWorker *w, uint64_t *rows, Error *err)
{
    CopyJob *job = w->job;
    size_t valid_bytes;
    TRY(utf8_valid(w->block.data, w->block.len, job->env->cancel, &valid_bytes, err));
    records_begin(&w->records, &job->cutter.dialect, &w->block);
    TRY(appender_new(job->env->txn, target(job), &w->appender, err));
    for (;;) {
        uint32_t nrows;
        TRY(records_next(&w->records, &nrows, err));
        if (nrows == 0) break;
        TRY(cancel_poll(job->env->cancel, err));
        arena_reset(&w->arena);
        TRY(copy_batch(w, nrows, valid_bytes, err));
        *rows += nrows;
    }
    Appender *appender = w->appender;
    w->appender = NULL;
    return appender_finish(appender, w->block.number, err);
}

/* Under the lock. */
static void record_failure(CopyJob *job, uint64_t block, const Error *err)
{
    job->cutter.ended = true;
    if (block >= job->failed_block) return;
    job->failed_block = block;
    job->failure = *err;
}

/* Tells the store, once, how many rows about the file has, if its first block does not end it: more where it has more
 * bytes. Under the lock. */
static void expect_rows(CopyJob *job, const Block *block)
{
    const Cutter *c = &job->cutter;
    bool full = block->len < c->max_bytes; /* so many records, or its end would be the source's */
    if (block->number != 0 || c->ended || !full || source_size(job->source) == 0) return;
    double text =
        (double)(c->offset + c->rest.len) / (double)source_done(job->source) * (double)source_size(job->source);
    appender_expect(job->guard, (uint64_t)(text / (double)block->len * (double)c->max_rows));
}

static bool take_block(CopyWorker *w)
{
    CopyJob *job = w->job;
    Error err = {0};
    bool more = false;
    pthread_mutex_lock(&job->lock);
    uint64_t number = job->cutter.number;
    if (cutter_next(&job->cutter, &w->block, &more, &err) != TCUDB_OK) {
        record_failure(job, number, &err);
        more = false;
    }
    if (more) expect_rows(job, &w->block);
    if (job->env->bytes_done != NULL) atomic_store(job->env->bytes_done, source_done(job->source));
    pthread_mutex_unlock(&job->lock);
    return more;
}

/* One task a worker: errors are kept in the job, so the pool never stops early. */
static tcudb_status copy_task(void *ctx, uint32_t worker, uint64_t task, Error *unused)
{
    (void)worker;
    (void)unused;
    CopyWorker *w = (CopyWorker *)ctx + task;
    CopyJob *job = w->job;
    while (take_block(w)) {
        uint64_t rows = 0;
        Error err = {0};
        tcudb_status status = copy_block(w, &rows, &err);
        pthread_mutex_lock(&job->lock);
        job->rows += rows;
        if (status != TCUDB_OK) record_failure(job, w->block.number, &err);
        pthread_mutex_unlock(&job->lock);
        if (w->appender != NULL) appender_abort(w->appender);
        w->appender = NULL;
    }
    return TCUDB_OK;
}

/* ---- setting up --------------------------------------------------------------------------- */

static tcudb_status set_columns(CopyJob *job, const Stmt *stmt, Arena *arena, Error *err)
{
    const TableDef *def = job->def;
    job->ncols = stmt->ncolumns > 0 ? stmt->ncolumns : def->ncols;
    job->cols = ARENA_ARRAY(arena, CopyColumn, job->ncols, err);
    TRY_PTR(job->cols);
    job->from_file = ARENA_ARRAY(arena, bool, def->ncols, err);
    TRY_PTR(job->from_file);
    Str *names = ARENA_ARRAY(arena, Str, job->ncols, err);
    TRY_PTR(names);
    bool *flags = ARENA_ARRAY(arena, bool, 2 * job->ncols, err);
    TRY_PTR(flags);
    char table[64];
    for (uint32_t c = 0; c < job->ncols; c++) {
        job->cols[c].table_col = stmt->ncolumns > 0 ? stmt->columns[c] : c;
        assert(job->cols[c].table_col < def->ncols);
        job->from_file[job->cols[c].table_col] = true;
        names[c] = def->cols[job->cols[c].table_col].name;
    }
    const CopyOptions *o = &job->options;
    table_name(job, table);
    TRY(copy_force_flags(o->force_not_null, table, names, job->ncols, flags, err));
    TRY(copy_force_flags(o->force_null, table, names, job->ncols, flags + job->ncols, err));
    for (uint32_t c = 0; c < job->ncols; c++)
        job->cols[c].rules =
            (FieldRules){.null_text = o->null_text, .force_not_null = flags[c], .force_null = flags[job->ncols + c]};
    return TCUDB_OK;
}

static tcudb_status open_source(CopyJob *job, const Stmt *stmt, Arena *arena, Error *err)
{
    const CopyEnv *env = job->env;
    if (stmt->text.len == 0) {
        if (env->stream.read == NULL) return error_unsupported(err, 0, "COPY FROM STDIN without an input stream");
        TRY(source_open_stream(env->stream.read, env->stream.ctx, env->mem, &job->source, err));
    } else {
        const char *path = arena_strndup(arena, stmt->text.ptr, stmt->text.len, err);
        TRY_PTR(path);
        TRY(source_open_file(path, READS_ONCE, env->cancel, env->mem, &job->source, err));
    }
    source_set_encoding(job->source, job->options.encoding);
    if (env->bytes_total != NULL) atomic_store(env->bytes_total, source_size(job->source));
    cutter_init(&job->cutter, job->source, env->cancel, env->mem);
    job->cutter.max_rows = SEGMENT_ROWS;
    job->cutter.max_bytes = BLOCK_BYTES;
    job->cutter.max_record = MAX_RECORD;
    job->cutter.stop_marker = true;
    job->cutter.dialect = (Dialect){.mode = job->options.csv ? SCAN_CSV : SCAN_TEXT,
                                    .delim = job->options.delim,
                                    .quote = job->options.quote,
                                    .escape = job->options.escape};
    return TCUDB_OK;
}

/* What appenders finish is put into the table, in order, when none is open: an empty one that stays open to the
 * end keeps a late block from coming before an earlier one whose appender was not open yet. */
static tcudb_status run_in_order(CopyJob *job, CopyWorker *workers, uint32_t n, Error *err)
{
    TRY(appender_new(job->env->txn, target(job), &job->guard, err));
    tcudb_status status = pool_run(job->env->pool, n, copy_task, workers, NULL, err);
    appender_expect(job->guard, 0);
    if (status == TCUDB_OK && job->failed_block == UINT64_MAX) return appender_finish(job->guard, UINT64_MAX, err);
    appender_abort(job->guard);
    return status;
}

static tcudb_status run_workers(CopyJob *job, Arena *arena, uint64_t *rows, Error *err)
{
    uint32_t n = pool_workers(job->env->pool);
    CopyWorker *workers = ARENA_ARRAY(arena, CopyWorker, n, err);
    TRY_PTR(workers);
    for (uint32_t i = 0; i < n; i++) {
        workers[i].job = job;
        block_init(&workers[i].block, job->env->mem);
        records_init(&workers[i].records, job->env->cancel, job->env->mem);
        arena_init(&workers[i].arena, job->env->mem);
    }
    tcudb_status status = job->options.header != HEADER_NONE ? copy_header(&workers[0], err) : TCUDB_OK;
    if (status == TCUDB_OK) status = run_in_order(job, workers, n, err);
    for (uint32_t i = 0; i < n; i++) {
        block_free(&workers[i].block);
        records_free(&workers[i].records);
        arena_free(&workers[i].arena);
    }
    TRY(status);
    *rows = job->rows;
    if (job->failed_block == UINT64_MAX) return TCUDB_OK;
    if (err != NULL) *err = job->failure;
    return job->failure.status;
}

tcudb_status copy_from(const CopyEnv *env, const Stmt *stmt, const Value *defaults, uint64_t *rows, Error *err)
{
    CopyJob job = {.env = env, .table = stmt->name, .defaults = defaults, .failed_block = UINT64_MAX};
    TRY(copy_options(stmt, &job.options, err));
    const Table *table = txn_table(env->txn, stmt->name);
    if (table == NULL)
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(stmt->name));
    const Table *into = env->into.len == 0 ? table : txn_table(env->txn, env->into); /* its NOT NULLs count */
    job.def = table_def(into == NULL ? table : into);
    Arena arena;
    arena_init(&arena, env->mem);
    pthread_mutex_init(&job.lock, NULL);
    tcudb_status status;
    TRY_GOTO(set_columns(&job, stmt, &arena, err));
    TRY_GOTO(open_source(&job, stmt, &arena, err));
    TRY_GOTO(run_workers(&job, &arena, rows, err));
done:
    if (job.source != NULL) cutter_free(&job.cutter);
    source_close(job.source);
    pthread_mutex_destroy(&job.lock);
    arena_free(&arena);
    return status;
}
