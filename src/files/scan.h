/*
 * scan.h: finds where records and fields end in separated text, 64 bytes at a time.
 */
#ifndef FILES_SCAN_H
#define FILES_SCAN_H

#include "base/bits.h"
#include "base/cancel.h"
#include "base/mem.h"

/* Readable bytes that every buffer given to the scanner and the parsers has after its end. */
enum { SCAN_PADDING = 64 };

/* More fields than any record may have. */
enum { SCAN_FIELDS = 1 << 16 };

typedef enum ScanMode {
    SCAN_TEXT,   /* COPY's text format: a backslash takes the next byte literally, no quotes */
    SCAN_CSV,    /* COPY's csv format: a quote anywhere toggles */
    SCAN_LENIENT /* read_csv: a quote counts at the start of a field only */
} ScanMode;

typedef enum Eol { EOL_UNKNOWN, EOL_LF, EOL_CR, EOL_CRLF, EOL_ANY } Eol;

typedef enum ScanIsa { SCAN_BEST, SCAN_PORTABLE, SCAN_AVX2, SCAN_AVX512 } ScanIsa;

/* How records and fields are marked. quote and escape: 0 if there is none. */
typedef struct Dialect {
    ScanMode mode;
    Eol eol; /* EOL_ANY (lenient only): LF, with any CRs before it dropped */
    char delim;
    char quote;
    char escape;  /* inside quotes; equal to quote: doubled quotes */
    char comment; /* lenient: a record that begins with it is skipped; 0: none */
    uint8_t isa;  /* ScanIsa; tests only, else SCAN_BEST */
} Dialect;

/* Where the scanner is, between two words of 64 bytes. Zeroed: before a record. */
typedef struct ScanState {
    uint64_t inside;  /* all ones: in quotes */
    uint64_t escaped; /* the next byte is escaped (text; csv with an escape of its own, in quotes) */
    bool mid_field;   /* lenient: the last byte did not end a field */
    bool after_quote; /* lenient: the last byte was a quote in quotes: the end, or half of a doubled one */
    bool after_cr;    /* the last byte was an unquoted CR */
} ScanState;

/* Records found so far. Offsets are from the start of the text given to scan_tokens. Field f is
 * text[ends[f - 1] + 1 .. ends[f]), where ends[-1] is the end of the record before. */
typedef struct Tokens {
    const atomic_bool *cancel; /* may be NULL: ends scan_tokens */
    Mem *mem;
    uint32_t *ends; /* offset of each field's terminator */
    uint32_t nfields;
    uint32_t cap;
    uint32_t *rows; /* index into ends of each record's last field */
    uint32_t nrows;
    uint32_t rows_cap;
    uint64_t *dirty; /* bit f: field f holds a quote, an escape or a backslash */
    uint32_t dirty_cap;
    bool any_dirty;
    int64_t bad_eol; /* offset of the first CR or LF that the dialect's eol forbids; -1: none */
} Tokens;

/* The character that ends a record. */
static inline char dialect_newline(const Dialect *d)
{
    return d->eol == EOL_CR ? '\r' : '\n';
}

/* What scan_cut has counted; starts zeroed. */
typedef struct ScanCut {
    uint64_t rows;
    uint64_t lines;   /* physical line ends seen in records counted */
    uint64_t pending; /* physical line ends after the last complete record */
    size_t row_end;   /* offset after the last complete record */
    bool full;        /* rows reached max_rows */
} ScanCut;
/* Counts the records of text[at..end), which continues what earlier calls scanned; stops after the record that
 * makes cut->rows reach max_rows. end - at is a multiple of 64 except in the last call. */
void scan_cut(const Dialect *d, ScanState *state, const char *text, size_t at, size_t end, uint64_t max_rows,
              ScanCut *cut);

/* No allocation happens before the first scan. */
void tokens_init(Tokens *tokens, const atomic_bool *cancel, Mem *mem);
void tokens_free(Tokens *tokens);
/* Drops the complete records and keeps the fields after them, for the next scan_tokens. */
void tokens_next(Tokens *tokens);
/* Ends the record that the end of the text cut off, if there is one. */
tcudb_status tokens_end(Tokens *tokens, size_t end, Error *err) MUST_CHECK;
/* Appends the tokens of text[at..end) until at least max_rows records are complete (at most 63 more are), or a record
 * is and there are millions of fields; returns in *reached where it stopped (at plus a multiple of 64, or end). What a
 * record has beyond SCAN_FIELDS fields may come as one: it is the caller's to refuse such a record. */
tcudb_status scan_tokens(const Dialect *d, ScanState *state, const char *text, size_t at, size_t end, uint32_t max_rows,
                         Tokens *tokens, size_t *reached, Error *err) MUST_CHECK;

/* Whether this machine has the instructions. */
bool scan_isa_available(ScanIsa isa);

#endif
