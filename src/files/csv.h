/*
 * csv.h: read_csv: how a file is to be read, and how that is found out.
 *
 *     arguments -> CsvOptions -> sniff (sample of the first file) -> CsvFormat -> rows
 */
#ifndef FILES_CSV_H
#define FILES_CSV_H

#include "files/datetime.h"
#include "files/records.h"
#include "plan/table_func.h"

/* What the user fixed; everything else is found out. */
typedef struct CsvOptions {
    uint32_t npaths; /* after globs: at least one */
    const char **paths;
    bool has_delim, has_quote, has_escape, has_comment, has_header, has_skip, has_encoding, has_padding;
    char delim, quote, escape, comment; /* quote, escape, comment 0: there is none */
    bool header;
    uint64_t skip; /* lines before the header or first record */
    Encoding encoding;
    bool all_text;
    bool ignore_errors;
    bool padding;  /* short records are padded with NULL */
    bool filename; /* adds a column with the file's name */
    uint64_t sample_rows;
    uint64_t max_line_size;
    char decimal;                /* 0: find out */
    char thousands;              /* 0: find out */
    const char *dateformat;      /* NULL: find out */
    const char *timestampformat; /* NULL: find out */
    uint32_t nnulls;             /* nullstr: replaces the guesses; has_nulls even if there are none */
    const Str *nulls;
    bool has_nulls;
    const char *columns; /* "a int, b text": all of them, or NULL */
    const char *types;   /* the same for some of them, by name, or NULL */
} CsvOptions;

typedef struct CsvColumn {
    const char *name;
    Type type;
    const char *format; /* of a date or timestamp; NULL: the type's own */
    char decimal;       /* numbers: '.' or ',' */
    char thousands;     /* numbers: 0 or the separator */
    FieldRules rules;
} CsvColumn;

typedef struct CsvFormat {
    Encoding encoding;
    bool bom; /* a byte order mark is to be skipped */
    Dialect dialect;
    uint64_t skip; /* physical lines before the header or first record */
    bool header;
    bool padding;
    bool trailing;    /* records end with a delimiter: their last field is empty and no column */
    uint32_t nfields; /* of a record */
    CsvColumn *cols;
    uint64_t sampled; /* records looked at */
    double bytes_per_row;
} CsvFormat;

/* Reads the arguments; expands globs. Everything is in the arena. */
tcudb_status csv_options(Arena *arena, const TableFuncArg *args, uint32_t nargs, CsvOptions *out,
                         Error *err) MUST_CHECK;
/* One `name type, name type` list; appends to names and types. */
tcudb_status csv_parse_columns(Arena *arena, const char *text, uint32_t *n, const char ***names, Type **types,
                               Error *err) MUST_CHECK;
/* Looks at the beginning of the first file. Everything is in the context's arena. */
tcudb_status csv_sniff(const EvalCtx *ctx, const CsvOptions *options, CsvFormat *out, Error *err) MUST_CHECK;

/* ---- parts of sniffing ----------------------------------------------------------------------- */

/* Tables have no more than 1,600 columns, but a query of a wider file may name those that it wants. */
enum { CSV_COLUMNS = 32767 };

/* The beginning of a file as UTF-8, cut into records by the chosen dialect. */
typedef struct CsvSample {
    Arena *arena;
    Mem *mem;
    char *text; /* with SCAN_PADDING */
    size_t len, cap;
    bool whole;      /* it is the whole file */
    bool open;       /* the first record does not end within it: how many fields it has is not known */
    Records records; /* all of the sample's records: tokens over text */
    uint32_t nrows;
} CsvSample;

/* Chooses delimiter, quote, escape, comment, skip, number of fields. sample->records is left cut by them. */
tcudb_status csv_sniff_dialect(CsvSample *sample, const CsvOptions *options, CsvFormat *format, Error *err) MUST_CHECK;
/* Names the columns after the cells of the header (NULL: there is none), each once; missing ones column1, ... */
tcudb_status csv_name_columns(Arena *arena, CsvFormat *format, const Str *cells, Error *err) MUST_CHECK;
/* Whether cells that are not empty all differ. */
tcudb_status csv_distinct(Arena *arena, const Str *cells, uint32_t n, bool *distinct, Error *err) MUST_CHECK;
/* Chooses header, names and types. */
tcudb_status csv_sniff_types(CsvSample *sample, const CsvOptions *options, CsvFormat *format, Error *err) MUST_CHECK;
/* Cuts the sample's text from offset `from` on with a dialect, up to max_rows records. */
tcudb_status csv_cut_sample(CsvSample *sample, const Dialect *dialect, size_t from, uint32_t max_rows,
                            Error *err) MUST_CHECK;

/* A separator or quote as errors show it. */
const char *csv_show_char(char c, char buffer[8]);
/* Adds to an error where it happened, which dialect was tried and how to override it. column NULL: the record. */
void csv_explain(Error *err, const CsvFormat *format, const char *path, uint64_t line, const char *column, Str text);
/* convert_column for a column that may have a format of its own. */
tcudb_status csv_convert_column(const CsvColumn *column, Str *texts, uint64_t *valid, uint32_t n, Arena *arena,
                                Vector *out, uint64_t *bad, uint32_t *bad_row, Error *err) MUST_CHECK;

#endif
