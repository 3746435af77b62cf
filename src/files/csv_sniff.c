/*
 * csv_sniff.c: how a file is written: encoding, line ends, delimiter, quote, escape, comments, preamble.
 *
 * Every dialect that is not excluded by an option cuts the first records of a sample, and is scored:
 *
 *     score = r^1.5 * (1 - m)^2 * (1 - s/2) * (1 - 1/(fields + 1)) * prior
 *
 * where r is the share of records with the most frequent number of fields, m that of fields whose quotes do
 * not pair up or lie between two whose do, s that of unquoted fields that hold another usual delimiter (so 1,5;2,5
 * is two decimals, not three texts), and the prior is lower for delimiters that are rare (blank, colon). One column
 * scores 0.25. The best score wins; on a tie the more usual dialect. What stands before the records with that number
 * of fields is a preamble. See doc/csv.md for what users may rely on.
 *
 * The sample is 4 MB, of which scoring looks at 256 KB where a record ends within them. Where none ends in the whole
 * sample, nothing is held against quotes that are still open; the dialect chosen reads on to the record's end.
 */
#include "files/csv.h"

#include <assert.h>
#include <math.h>

enum {
    SAMPLE_BYTES = 4 << 20,
    SAMPLE_GROWS = 4,
    SAMPLE_MOST = 1 << 30, /* of one that grows */
    READ_STEP = 1 << 20,
    DIALECT_ROWS = 1000,
    DIALECT_BYTES = 1 << 18,
    SPARSE_ROWS = 10,
    MAX_PREAMBLE = 30,
    FEW_NULS = 100,
    MOST_NULS = 16 /* text has no more than these, or one in so many bytes */
};

static const double ONE_COLUMN_SCORE = 0.25;

/* ---- the sample --------------------------------------------------------------------------- */

tcudb_status csv_cut_sample(CsvSample *s, const Dialect *dialect, size_t from, uint32_t max_rows, Error *err)
{
    Block block = {.data = s->text + from, .len = s->len - from};
    Records *r = &s->records;
    records_begin(r, dialect, &block);
    TRY(scan_tokens(dialect, &r->state, r->text, 0, r->len, max_rows, &r->tokens, &r->at, err));
    bool all = r->at == r->len;
    s->open = all && !s->whole && r->tokens.nrows == 0;
    if (all && (s->whole || r->tokens.nrows == 0)) TRY(tokens_end(&r->tokens, r->len, err));
    r->unterminated = all && r->state.inside != 0;
    s->nrows = r->tokens.nrows < max_rows ? r->tokens.nrows : max_rows;
    return TCUDB_OK;
}

/* At least one byte is left free, to tell a whole file from one that goes on. */
static tcudb_status read_sample(CsvSample *s, const char *path, Encoding encoding, Error *err)
{
    Source *source;
    TRY(source_open_file(path, READS_OFTEN, s->records.tokens.cancel, s->mem, &source, err));
    source_set_encoding(source, encoding);
    tcudb_status status = TCUDB_OK;
    size_t got = 1;
    s->len = 0;
    while (status == TCUDB_OK && got > 0 && s->len + 4 < s->cap) {
        size_t step = s->cap - s->len < READ_STEP ? s->cap - s->len : READ_STEP;
        TRY_GOTO(cancel_poll(s->records.tokens.cancel, err));
        TRY_GOTO(source_read(source, s->text + s->len, step, &got, err));
        s->len += got;
    }
done:
    s->whole = got == 0;
    source_close(source);
    memset(s->text + s->len, 0, SCAN_PADDING);
    return status;
}

/* Whether there was one. */
static bool drop_bom(CsvSample *s)
{
    if (s->len < 3 || memcmp(s->text, "\xef\xbb\xbf", 3) != 0) return false;
    s->len -= 3;
    memmove(s->text, s->text + 3, s->len + SCAN_PADDING);
    return true;
}

/* ---- encoding ----------------------------------------------------------------------------- */

static bool looks_utf16(const CsvSample *s, bool little)
{
    size_t n = s->len < 2000 ? s->len : 2000, zeros = 0, others = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        zeros += s->text[i + little] == '\0';
        others += s->text[i + !little] == '\0';
    }
    return n >= 8 && zeros * 10 > n / 2 * 7 && others * 10 < n / 2;
}

/* NUL bytes are a matter for the reader: they do not make a text Latin-1. */
static bool is_utf8(const CsvSample *s)
{
    size_t at = 0;
    for (;;) {
        at += utf8_check(s->text + at, s->len - at);
        if (at == s->len) return true;
        if (s->text[at] != '\0') return !s->whole && s->len - at < 4; /* cut within a character */
        at++;
    }
}

static void guess_encoding(const CsvSample *s, CsvFormat *f)
{
    const uint8_t *p = (const uint8_t *)s->text;
    f->bom = true;
    f->encoding = ENCODING_UTF8;
    if (s->len >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) return;
    f->encoding = ENCODING_UTF16LE;
    if (s->len >= 2 && p[0] == 0xff && p[1] == 0xfe) return;
    f->encoding = ENCODING_UTF16BE;
    if (s->len >= 2 && p[0] == 0xfe && p[1] == 0xff) return;
    f->bom = false;
    if (looks_utf16(s, false)) return;
    f->encoding = ENCODING_UTF16LE;
    if (looks_utf16(s, true)) return;
    f->encoding = ENCODING_UTF8;
    if (is_utf8(s)) return;
    f->encoding = ENCODING_LATIN1;
    for (size_t i = 0; i < s->len; i++)
        if (p[i] >= 0x80 && p[i] < 0xa0) f->encoding = ENCODING_WINDOWS1252;
}

/* What files of other kinds begin with, and what to do about them. */
static const char *foreign_file(const CsvSample *s)
{
    static const struct {
        Str beginning;
        const char *hint;
    } kinds[] = {
        {STR_LIT("PK\x03\x04"), "It is a spreadsheet or a zip archive: save the sheet as CSV, or unpack the archive."},
        {STR_LIT("\xd0\xcf\x11\xe0"), "It is a spreadsheet or a document: save the sheet as CSV."},
        {STR_LIT("PAR1"), "It is a Parquet file: export it as CSV."},
        {STR_LIT("SQLite format 3"), "It is a database of SQLite: export its tables as CSV."},
        {STR_LIT("BZh"), "It is compressed by bzip2: expand it, or compress it with gzip or zstd."},
        {STR_LIT("\xfd"
                 "7zXZ"),
         "It is compressed by xz: expand it, or compress it with gzip or zstd."},
        {STR_LIT("7z\xbc\xaf"), "It is an archive: unpack it."},
        {STR_LIT("%PDF-"), "It is a PDF document: export its tables as CSV."},
        {STR_LIT("\x89PNG"), "It is a picture."},
        {STR_LIT("\x7f"
                 "ELF"),
         "It is a program."},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        Str b = kinds[i].beginning;
        if (s->len >= b.len && memcmp(s->text, b.ptr, b.len) == 0) return kinds[i].hint;
    }
    return NULL;
}

/* Programs, pictures, spreadsheets: what would be guessed about them makes no sense. */
static tcudb_status check_text(const CsvSample *s, const char *path, const CsvFormat *f, Error *err)
{
    size_t nuls = 0;
    for (size_t i = 0; i < s->len; i++) nuls += s->text[i] == '\0';
    bool binary = nuls > 0 || f->encoding != ENCODING_UTF8 || memmem(s->text, s->len, "\x03\x04", 2) != NULL;
    const char *foreign = binary ? foreign_file(s) : NULL;
    if (f->encoding == ENCODING_UTF16LE || f->encoding == ENCODING_UTF16BE) return TCUDB_OK;
    bool faults = nuls <= FEW_NULS || nuls <= s->len / MOST_NULS; /* in a text */
    if (foreign == NULL && faults) return TCUDB_OK;
    tcudb_status status = error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "file \"%s\" is not text", path);
    error_hint(err, "%s",
               foreign != NULL ? foreign
                               : "It has NUL bytes, as programs, pictures and other databases' files do: "
                                 "export it as CSV.");
    return status;
}

static tcudb_status sniff_encoding(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    TRY(read_sample(s, o->paths[0], ENCODING_UTF8, err));
    guess_encoding(s, f);
    if (!o->has_encoding && !o->ignore_errors) TRY(check_text(s, o->paths[0], f, err));
    if (o->has_encoding) {
        bool utf16 = o->encoding == ENCODING_UTF16LE && f->encoding == ENCODING_UTF16BE && f->bom;
        f->encoding = utf16 ? ENCODING_UTF16BE : o->encoding; /* "utf-16": the mark says which */
    }
    if (f->encoding != ENCODING_UTF8) TRY(read_sample(s, o->paths[0], f->encoding, err));
    f->bom = drop_bom(s);
    return TCUDB_OK;
}

/* Reads the file's beginning again into more room. */
static tcudb_status enlarge_sample(CsvSample *s, const char *path, const CsvFormat *f, size_t cap, Error *err)
{
    char *text = mem_realloc(s->mem, s->text, s->cap + SCAN_PADDING, cap + SCAN_PADDING, err);
    TRY_PTR(text);
    s->text = text;
    s->cap = cap;
    TRY(read_sample(s, path, f->encoding, err));
    drop_bom(s);
    return TCUDB_OK;
}

static Eol guess_eol(const CsvSample *s)
{
    bool lf = memchr(s->text, '\n', s->len) != NULL;
    bool cr = memchr(s->text, '\r', s->len) != NULL;
    return !lf && cr ? EOL_CR : EOL_ANY;
}

/* ---- scoring a dialect -------------------------------------------------------------------- */

typedef struct Score {
    Dialect dialect;
    double score;
    uint32_t nfields; /* the most frequent number */
} Score;

static bool blank_row(const CsvSample *s, uint32_t row)
{
    return records_row(&s->records, row).len == 0;
}

static bool comment_row(const CsvSample *s, uint32_t row, char comment)
{
    Str text = records_row(&s->records, row);
    return comment != '\0' && text.len > 0 && text.ptr[0] == comment;
}

static bool counted_row(const CsvSample *s, uint32_t row)
{
    return !blank_row(s, row) && !comment_row(s, row, s->records.dialect->comment);
}

/* The most frequent number of fields (of several, the largest), and how many records have it. */
static uint32_t usual_fields(const CsvSample *s, uint32_t *agree, uint32_t *counted)
{
    const Tokens *t = &s->records.tokens;
    uint32_t best = 1;
    *agree = 0;
    *counted = 0;
    for (uint32_t r = 0; r < s->nrows; r++) *counted += counted_row(s, r);
    for (uint32_t r = 0; r < s->nrows && r < 64; r++) {
        if (!counted_row(s, r)) continue;
        uint32_t n = row_fields(t, r), same = 0;
        if (n == best && *agree > 0) continue;
        for (uint32_t q = 0; q < s->nrows; q++) same += row_fields(t, q) == n && counted_row(s, q);
        if (same < *agree || (same == *agree && n < best)) continue;
        best = n;
        *agree = same;
    }
    return best;
}

static bool holds_other_delimiter(const Dialect *d, Str text)
{
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c == ';' || c == '\t' || c == '|') && c != d->delim) return true;
    }
    return false;
}

/* Begins with a quote and does not end with one, or the other way round: quoting that was misread. */
static bool half_quoted(Str text, char quote)
{
    if (text.len == 0) return false;
    bool begins = text.ptr[0] == quote, ends = text.ptr[text.len - 1] == quote;
    return begins != ends || (begins && text.len == 1);
}

/* In double quotes, which the dialect takes for text. */
static bool wrapped(Str text)
{
    return text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';
}

typedef struct Faults {
    uint32_t fields;
    uint32_t bad; /* quotes that do not pair up, and what lies between two of them */
    uint32_t odd; /* other delimiters outside quotes */
} Faults;

/* Whether a field's last quote opens, or its first closes, a text that goes on beyond the field: there is an odd number
 * of quotes, and before or behind it is nothing or another usual delimiter (1;"a, b";2 cut at the comma). */
static void unpaired(Str text, bool *opens, bool *closes)
{
    const char *end = text.ptr + text.len, *first = NULL, *last = NULL;
    uint32_t n = 0;
    for (const char *p = text.ptr; p < end && (p = memchr(p, '"', (size_t)(end - p))) != NULL; p++, n++) {
        if (first == NULL) first = p;
        last = p;
    }
    *opens = n % 2 == 1 && (last == text.ptr || strchr(",;\t|", last[-1]) != NULL);
    *closes = n % 2 == 1 && (first + 1 == end || strchr(",;\t|", first[1]) != NULL);
}

/* "a,b,c,d" cut at its commas is four bad fields, though only two have a quote. */
static void row_faults(const CsvSample *s, uint32_t row, Faults *faults)
{
    const Tokens *t = &s->records.tokens;
    const Dialect *d = s->records.dialect;
    uint32_t first = row_first(t, row), last = t->rows[row], opened = UINT32_MAX;
    bool opener_half = false;
    for (uint32_t f = first; f <= last; f++) {
        uint32_t start = field_start(t, f);
        Str text = {s->records.text + start, t->ends[f] - start};
        while (text.len > 0 && text.ptr[text.len - 1] == '\r') text.len--;
        bool quoted = d->quote != '\0' && text.len > 0 && text.ptr[0] == d->quote;
        bool half = half_quoted(text, quoted ? d->quote : '"');
        faults->bad += half || (!quoted && wrapped(text));
        faults->odd += !quoted && holds_other_delimiter(d, text);
        bool opens, closes;
        if (quoted) continue;
        unpaired(text, &opens, &closes);
        if (closes && opened < f) {
            faults->bad += f - opened - 1 + !opener_half + !half;
            opened = UINT32_MAX;
        } else if (opens) {
            opened = f;
            opener_half = half;
        }
    }
    if (s->open && opened < last) faults->bad += last - opened + !opener_half;
    faults->fields += last - first + 1;
}

/* Shares of fields with unpaired quotes, and with other delimiters outside quotes. */
static void field_faults(const CsvSample *s, double *malformed, double *suspicious)
{
    Faults faults = {.bad = s->records.unterminated && !s->open ? s->nrows / 4 + 1 : 0};
    for (uint32_t row = 0; row < s->nrows; row++) row_faults(s, row, &faults);
    double fields = faults.fields == 0 ? 1 : faults.fields;
    *malformed = faults.bad < fields ? faults.bad / fields : 1;
    *suspicious = faults.odd / fields;
}

static double delimiter_prior(char delim)
{
    return delim == ' ' || delim == ':' ? 0.4 : delim == '~' || delim == '^' ? 0.8 : 1;
}

static tcudb_status score_dialect(CsvSample *s, const Dialect *d, bool fixed, Score *out, Error *err)
{
    size_t len = s->len;
    bool whole = s->whole;
    if (len > DIALECT_BYTES) { /* scoring seldom needs more */
        s->len = DIALECT_BYTES;
        s->whole = false;
    }
    tcudb_status status = csv_cut_sample(s, d, 0, DIALECT_ROWS, err);
    s->len = len;
    s->whole = whole;
    TRY(status);
    if (s->open && len > DIALECT_BYTES) TRY(csv_cut_sample(s, d, 0, DIALECT_ROWS, err));
    uint32_t agree, counted;
    *out = (Score){.dialect = *d, .nfields = usual_fields(s, &agree, &counted)};
    double malformed, suspicious;
    field_faults(s, &malformed, &suspicious);
    double ratio = counted == 0 ? 0 : (double)agree / counted;
    double quotes = (1 - malformed) * (1 - malformed);
    if (out->nfields == 1) {
        out->score = ONE_COLUMN_SCORE * quotes * (fixed ? 1 : 1 - suspicious / 2);
        return TCUDB_OK;
    }
    if (out->nfields > CSV_COLUMNS && delimiter_prior(d->delim) < 1 && !fixed) return TCUDB_OK; /* prose */
    out->score = ratio * sqrt(ratio) * quotes * (1 - suspicious / 2) * (1 - 1.0 / (out->nfields + 1)) *
                 delimiter_prior(d->delim);
    return TCUDB_OK;
}

/* ---- the candidates ----------------------------------------------------------------------- */

static const char delimiters[] = {',', '\t', ';', '|', ' ', ':', '~', '^'};
static const char quotes[] = {'"', '\'', '\0'};

static bool occurs(const CsvSample *s, char c)
{
    return c == '\0' || memchr(s->text, c, s->len) != NULL;
}

static bool escape_occurs(const CsvSample *s, char quote)
{
    const char pair[2] = {'\\', quote};
    return quote != '\0' && memmem(s->text, s->len, pair, 2) != NULL;
}

/* Tries one delimiter with the quotes and escapes that make sense. */
static tcudb_status try_delimiter(CsvSample *s, const CsvOptions *o, Dialect d, Score *best, Error *err)
{
    for (uint32_t q = 0; q < sizeof quotes; q++) {
        d.quote = o->has_quote ? o->quote : quotes[q];
        if (o->has_quote ? q > 0 : q > 0 && d.quote != '\0' && !occurs(s, d.quote)) continue;
        for (uint32_t e = 0; e < 2; e++) {
            d.escape = o->has_escape ? o->escape : e == 0 ? d.quote : '\\';
            if (e == 1 && (o->has_escape || !escape_occurs(s, d.quote))) continue;
            Score score;
            TRY(cancel_poll(s->records.tokens.cancel, err));
            TRY(score_dialect(s, &d, o->has_delim, &score, err));
            if (score.score > best->score + 1e-9) *best = score;
        }
    }
    return TCUDB_OK;
}

/* Lines at the top that begin with # are comments, unless the last of them has as many fields as the records:
 * then it is a header. */
static tcudb_status sniff_comment(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    f->dialect.comment = o->has_comment ? o->comment : '\0';
    if (o->has_comment) return TCUDB_OK;
    TRY(csv_cut_sample(s, &f->dialect, 0, DIALECT_ROWS, err));
    uint32_t r = 0;
    while (r < s->nrows && comment_row(s, r, '#')) r++;
    if (r == 0 || r == s->nrows) return TCUDB_OK;
    if (row_fields(&s->records.tokens, r - 1) != f->nfields || f->nfields == 1) f->dialect.comment = '#';
    return TCUDB_OK;
}

/* ---- preamble and ragged records ---------------------------------------------------------- */

static uint32_t filled_fields(const CsvSample *s, uint32_t row)
{
    const Records *r = &s->records;
    uint32_t n = 0;
    for (uint32_t f = row_first(&r->tokens, row); f <= r->tokens.rows[row]; f++) {
        uint32_t start = field_start(&r->tokens, f), len = r->tokens.ends[f] - start;
        while (len > 0 && (r->text[start + len - 1] == '\r' || r->text[start + len - 1] == ' ')) len--;
        n += len > 0;
    }
    return n;
}

/* A row with at most one filled field, when a full one follows soon. */
static bool sparse_row(const CsvSample *s, uint32_t row, uint32_t nfields)
{
    if (nfields < 3 || filled_fields(s, row) > 1) return false;
    for (uint32_t r = row + 1; r < s->nrows && r < row + SPARSE_ROWS; r++)
        if (row_fields(&s->records.tokens, r) == nfields && filled_fields(s, r) + 1 >= nfields) return true;
    return false;
}

/* The first row that is a header or a record. In a file of one column every row is. */
static uint32_t first_row(const CsvSample *s, uint32_t nfields)
{
    const Tokens *t = &s->records.tokens;
    uint32_t r = 0;
    while (r < s->nrows && !counted_row(s, r)) r++;
    uint32_t plain = r;
    if (nfields == 1 || r == s->nrows) return r == s->nrows ? 0 : r;
    while (r < s->nrows && (!counted_row(s, r) || row_fields(t, r) != nfields || sparse_row(s, r, nfields))) r++;
    return r > MAX_PREAMBLE || r * 2 > s->nrows ? plain : r;
}

static uint64_t count_lines(const Dialect *d, const char *text, size_t len)
{
    uint64_t n = 0;
    char newline = dialect_newline(d);
    for (size_t i = 0; i < len; i++) n += text[i] == newline;
    return n;
}

static size_t line_start(const CsvSample *s, const Dialect *d, uint64_t lines)
{
    size_t at = 0;
    while (lines > 0 && at < s->len) lines -= s->text[at++] == dialect_newline(d);
    return at;
}

/* Records with other numbers of fields: one in twenty means that short ones are to be padded, and then long
 * ones, if as frequent, widen the table. Fewer are taken for mistakes, which the reader reports. */
static void judge_ragged(const CsvSample *s, const CsvOptions *o, CsvFormat *f)
{
    const Tokens *t = &s->records.tokens;
    uint32_t counted = 0, fewer = 0, more = 0, widest = f->nfields;
    for (uint32_t r = 0; r < s->nrows; r++) {
        if (!counted_row(s, r)) continue;
        uint32_t n = row_fields(t, r);
        counted++;
        fewer += n < f->nfields;
        more += n > f->nfields;
        if (n > widest && n <= CSV_COLUMNS) widest = n;
    }
    f->padding = o->has_padding ? o->padding : (fewer + more) * 20 >= counted && fewer + more > 0;
    if (f->padding && (more * 20 >= counted || o->has_padding)) f->nfields = widest;
}

static tcudb_status sniff_preamble(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    TRY(csv_cut_sample(s, &f->dialect, 0, DIALECT_ROWS, err));
    f->skip = o->skip;
    if (!o->has_skip) {
        uint32_t row = first_row(s, f->nfields);
        size_t at = row == 0 ? 0 : field_start(&s->records.tokens, row_first(&s->records.tokens, row));
        f->skip = count_lines(&f->dialect, s->text, at);
    }
    uint32_t rows = o->sample_rows > 1 << 24 ? 1 << 24 : (uint32_t)o->sample_rows + 1;
    TRY(csv_cut_sample(s, &f->dialect, line_start(s, &f->dialect, f->skip), rows, err));
    if (o->has_skip) { /* what stands before it may have misled */
        uint32_t agree, counted;
        f->nfields = usual_fields(s, &agree, &counted);
    }
    judge_ragged(s, o, f);
    return TCUDB_OK;
}

/* Where the first record does not end within the sample: reads on until it does, as far as the reader would. */
static tcudb_status read_on(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    uint32_t agree, counted;
    TRY(csv_cut_sample(s, &f->dialect, 0, 1, err));
    if (!s->open) return TCUDB_OK;
    while (s->open && s->len <= o->max_line_size && s->cap < SAMPLE_MOST) {
        size_t cap = s->cap * SAMPLE_GROWS;
        if (cap > SAMPLE_MOST) cap = SAMPLE_MOST;
        if (cap > o->max_line_size) cap = o->max_line_size + READ_STEP;
        TRY(enlarge_sample(s, o->paths[0], f, cap, err));
        TRY(csv_cut_sample(s, &f->dialect, 0, 1, err));
    }
    f->nfields = usual_fields(s, &agree, &counted);
    return TCUDB_OK;
}

static tcudb_status too_wide(const CsvOptions *o, const CsvFormat *f, Error *err)
{
    char delim[8];
    tcudb_status status =
        error_set(err, SQLSTATE_TOO_MANY_COLUMNS, "records of \"%.200s\" have more than %d fields with delim %s",
                  o->paths[0], CSV_COLUMNS, csv_show_char(f->dialect.delim, delim));
    error_hint(err, "Give delim, quote or skip if they were guessed wrong: read_csv reads no more columns than that.");
    return status;
}

tcudb_status csv_sniff_dialect(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    /* for scoring only; sniff_comment decides */
    Dialect d = {.mode = SCAN_LENIENT, .eol = guess_eol(s), .comment = o->has_comment ? o->comment : '#'};
    Score best = {.score = -1, .nfields = 1};
    for (uint32_t i = 0; i < sizeof delimiters; i++) {
        d.delim = o->has_delim ? o->delim : delimiters[i];
        if (i > 0 && (o->has_delim || !occurs(s, d.delim))) continue;
        TRY(try_delimiter(s, o, d, &best, err));
    }
    f->dialect = best.dialect;
    f->nfields = best.nfields;
    TRY(read_on(s, o, f, err));
    if (f->nfields == 1 && !o->has_delim) f->dialect.delim = '\0'; /* no valid text holds it */
    TRY(sniff_comment(s, o, f, err));
    TRY(sniff_preamble(s, o, f, err));
    return f->nfields > CSV_COLUMNS ? too_wide(o, f, err) : TCUDB_OK;
}

/* ---- all together ------------------------------------------------------------------------- */

tcudb_status csv_sniff(const EvalCtx *ctx, const CsvOptions *o, CsvFormat *f, Error *err)
{
    Mem *mem = ctx->arena->mem;
    CsvSample s = {.arena = ctx->arena, .mem = mem, .cap = SAMPLE_BYTES};
    *f = (CsvFormat){.encoding = ENCODING_UTF8};
    records_init(&s.records, ctx->cancel, mem);
    s.text = mem_alloc(mem, SAMPLE_BYTES + SCAN_PADDING, err);
    TRY_PTR(s.text);
    tcudb_status status;
    TRY_GOTO(sniff_encoding(&s, o, f, err));
    TRY_GOTO(csv_sniff_dialect(&s, o, f, err));
    TRY_GOTO(csv_sniff_types(&s, o, f, err));
    f->sampled = s.nrows;
    f->bytes_per_row = s.nrows == 0 ? 1 : (double)s.records.tokens.ends[s.records.tokens.rows[s.nrows - 1]] / s.nrows;
done:
    records_free(&s.records);
    mem_free(mem, s.text, s.cap + SCAN_PADDING);
    return status;
}
