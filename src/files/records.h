/*
 * records.h: the records of one block, a batch at a time, and their fields as texts by column.
 */
#ifndef FILES_RECORDS_H
#define FILES_RECORDS_H

#include "files/cut.h"
#include "type/vector.h"

typedef struct Records {
    const Dialect *dialect;
    const char *text;
    size_t len;
    size_t at;
    ScanState state;
    Tokens tokens; /* of the current batch: rows 0..tokens.nrows-1 are complete */
    bool ended;
    bool unterminated; /* the last record ends inside quotes */
} Records;

void records_init(Records *records, const atomic_bool *cancel, Mem *mem);
void records_free(Records *records);
/* The block must live until the last records_next. */
void records_begin(Records *records, const Dialect *dialect, const Block *block);
/* The next 1 to BATCH_ROWS records; *nrows 0: no more. */
tcudb_status records_next(Records *records, uint32_t *nrows, Error *err) MUST_CHECK;

/* Index of the first field of row r; its fields are first .. tokens->rows[r]. */
static inline uint32_t row_first(const Tokens *t, uint32_t r)
{
    return r == 0 ? 0 : t->rows[r - 1] + 1;
}

static inline uint32_t row_fields(const Tokens *t, uint32_t r)
{
    return t->rows[r] - row_first(t, r) + 1;
}

/* Offset of field f's first byte (UINT32_MAX + 1 wraps to 0 for the first of a block). */
static inline uint32_t field_start(const Tokens *t, uint32_t f)
{
    return t->ends[(int64_t)f - 1] + 1;
}

/* Raw text of row r, without its line end. */
Str records_row(const Records *records, uint32_t r);
/* The physical line (from 1) on which row r begins; block_line is the block's first. */
uint64_t records_first_line(const Records *records, uint32_t r, uint64_t block_line);
/* The line on which it ends, as COPY counts. */
uint64_t records_line(const Records *records, uint32_t r, uint64_t block_line);

/* Field f (an index into tokens->ends) as lenient mode reads it: unquoted, without a line end. */
tcudb_status records_cell(const Records *records, uint32_t f, bool last, Arena *arena, Str *text, bool *quoted,
                          Error *err) MUST_CHECK;

/* What a field's raw text means. */
typedef struct FieldRules {
    Str null_text;       /* equal raw text (csv: unquoted) is NULL */
    bool force_not_null; /* csv: never NULL */
    bool force_null;     /* csv: the NULL text is NULL even if quoted */
    bool quoted_nulls;   /* lenient: what is NULL unquoted is NULL quoted too (columns that are not text) */
    const Str *nulls;    /* lenient: texts that are NULL, besides the empty one */
    uint32_t nnulls;
} FieldRules;

/* texts[r] (room for nrows) = what field `col` of row r says, unquoted and unescaped; a row that is too short
 * gives NULL.
 * *valid: NULL if no field is NULL, else a bitmap in the arena. Texts point into the block or the arena, with
 * at least 8 readable bytes after them. On failure *bad_row says where. */
tcudb_status records_column(const Records *records, uint32_t nrows, uint32_t col, const FieldRules *rules, Arena *arena,
                            Str *texts, uint64_t **valid, uint32_t *bad_row, Error *err) MUST_CHECK;

#endif
