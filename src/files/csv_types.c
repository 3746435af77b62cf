/*
 * csv_types.c: header, names and types of a file's columns, from a sample.
 *
 * Each column starts with all types possible; each field removes those that cannot read it. What is left, in
 * the order boolean, bigint, double precision (numeric if a value has more than the 17 digits that a double
 * can tell apart), date, timestamp, is the type; text if nothing is. Codes with leading zeros and numbers with a plus
 * sign stay text. A date whose day and month could be swapped in every row of the sample stays text too: a wrong guess
 * would be silent. Words like NA or NULL do not count against a type, and are NULL in columns that are not text.
 */
#include "files/csv.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

enum { EXACT_DIGITS = 17, MAX_INT_DIGITS = 18, POLL_FIELDS = 1024 };

static const Str null_words[] = {{"NA", 2},   {"N/A", 3},  {"n/a", 3},  {"NULL", 4}, {"null", 4},
                                 {"Null", 4}, {"None", 4}, {"none", 4}, {"nil", 3},  {"-", 1},
                                 {"\\N", 2},  {"#N/A", 4}, {"?", 1}};
enum { NNULL_WORDS = sizeof null_words / sizeof null_words[0] };

typedef enum Kind {
    KIND_BOOL = 1,
    KIND_INT = 2,
    KIND_NUMBER = 4,        /* 1.5 */
    KIND_COMMA = 8,         /* 1,5 */
    KIND_GROUPED = 16,      /* 1,234.5 */
    KIND_COMMA_GROUPED = 32 /* 1.234,5 */
} Kind;

enum { ALL_KINDS = 63 };

/* Date patterns, then each with each time. day_first and month_first differ only in the order of the two. */
static const struct DatePattern {
    const char *pattern;
    bool native; /* the type's input function reads it, and fast */
} date_patterns[] = {
    {"%Y-%m-%d", true},  {"%Y/%m/%d", false},  {"%Y.%m.%d", false},  {"%m/%d/%Y", false},
    {"%d/%m/%Y", false}, {"%m-%d-%Y", false},  {"%d-%m-%Y", false},  {"%m.%d.%Y", false},
    {"%d.%m.%Y", false}, {"%b %d, %Y", false}, {"%B %d, %Y", false}, {"%d %b %Y", false},
    {"%d %B %Y", false}, {"%d-%b-%Y", false},  {"%m/%d/%y", false},  {"%d/%m/%y", false},
};
static const char *const time_patterns[] = {
    "",          " %H:%M:%S",  "T%H:%M:%S",   " %H:%M",     "T%H:%M", " %I:%M:%S %p",
    " %I:%M %p", "T%H:%M:%SZ", " %H:%M:%S%Z", "T%H:%M:%S%Z"};
enum {
    NDATES = sizeof date_patterns / sizeof date_patterns[0],
    NTIMES = sizeof time_patterns / sizeof time_patterns[0],
    NPATTERNS = NDATES * NTIMES,
    PATTERN_MAX = 40
};

typedef struct Guess {
    uint32_t kinds;
    uint64_t patterns[(NPATTERNS + 63) / 64];
    bool dates; /* some pattern is left */
    uint32_t filled;
    uint32_t quoted;
    uint32_t digits;  /* the most significant digits of a number */
    uint32_t grouped; /* fields with a thousands separator */
    uint32_t words;   /* bit w: null_words[w] occurs unquoted */
} Guess;

static void pattern_text(uint32_t p, char out[PATTERN_MAX])
{
    snprintf(out, PATTERN_MAX, "%s%s", date_patterns[p / NTIMES].pattern, time_patterns[p % NTIMES]);
}

/* ---- one field ---------------------------------------------------------------------------- */

static int null_word(Str text)
{
    for (int w = 0; w < NNULL_WORDS; w++)
        if (str_equal(text, null_words[w])) return w;
    return -1;
}

static bool is_word(Str text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

/* Reads [-]digits{group digits}[point digits][e[+-]digits]. *digits: significant ones, *grouped: separators seen.
 * group 0: none allowed. */
static bool is_number(Str text, char point, char group, uint32_t *digits, bool *grouped, bool *whole)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    uint32_t before = 0, after = 0, zeros = 0, run = 0;
    *grouped = false;
    *whole = true;
    if (p < end && *p == '-') p++;
    const char *start = p;
    for (; p < end && (isdigit((unsigned char)*p) || (group != '\0' && *p == group)); p++) {
        if (*p == group) {
            if (before == 0 || (*grouped ? run != 3 : run > 3)) return false;
            *grouped = true;
            run = 0;
            continue;
        }
        zeros += before == zeros && *p == '0';
        before++;
        run++;
    }
    if (*grouped && run != 3) return false;
    if (before > 1 && *start == '0') return false; /* a code, not a number */
    if (p < end && *p == point) {
        *whole = false;
        for (p++; p < end && isdigit((unsigned char)*p); p++) after++;
    }
    *digits = before - zeros + after;
    if (before + after == 0) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        *whole = false;
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if (p == end) return false;
        while (p < end && isdigit((unsigned char)*p)) p++;
    }
    return p == end;
}

static void test_numbers(Guess *g, Str text, char delim)
{
    uint32_t digits = 0;
    bool grouped, whole;
    if ((g->kinds & (KIND_INT | KIND_NUMBER)) != 0) {
        bool number = is_number(text, '.', '\0', &digits, &grouped, &whole);
        if (!number || !whole || digits > MAX_INT_DIGITS) g->kinds &= ~(uint32_t)KIND_INT;
        if (!number && !is_word(text, "inf") && !is_word(text, "-inf") && !is_word(text, "nan"))
            g->kinds &= ~(uint32_t)KIND_NUMBER;
        if (number && digits > g->digits) g->digits = digits;
    }
    if ((g->kinds & KIND_COMMA) != 0 && (delim == ',' || !is_number(text, ',', '\0', &digits, &grouped, &whole)))
        g->kinds &= ~(uint32_t)KIND_COMMA;
    if ((g->kinds & KIND_GROUPED) != 0) {
        if (!is_number(text, '.', ',', &digits, &grouped, &whole)) g->kinds &= ~(uint32_t)KIND_GROUPED;
        g->grouped += grouped;
    }
    if ((g->kinds & KIND_COMMA_GROUPED) != 0 && (delim == ',' || !is_number(text, ',', '.', &digits, &grouped, &whole)))
        g->kinds &= ~(uint32_t)KIND_COMMA_GROUPED;
    if (digits > g->digits) g->digits = digits;
}

/* Cheap next to trying the patterns, which all have two separators and digits. */
static bool plausible_date(Str text)
{
    uint32_t digits = 0, separators = 0;
    if (text.len < 6 || text.len >= PATTERN_MAX) return false;
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        digits += isdigit((unsigned char)c) != 0;
        separators += c == '-' || c == '/' || c == '.' || c == ' ';
    }
    return digits >= 3 && separators >= 2;
}

static void test_dates(Guess *g, Str text)
{
    g->dates = false;
    if (!plausible_date(text)) return;
    for (uint32_t p = 0; p < NPATTERNS; p++) {
        if (!bit_get(g->patterns, p)) continue;
        char pattern[PATTERN_MAX];
        int64_t micros;
        pattern_text(p, pattern);
        if (datetime_parse(pattern, text, &micros))
            g->dates = true;
        else
            bit_clear(g->patterns, p);
    }
}

static void test_field(Guess *g, Str text, bool quoted, char delim)
{
    g->quoted += quoted;
    if (text.len == 0) return;
    int word = null_word(text);
    if (word >= 0) {
        if (!quoted) g->words |= 1U << word;
        return;
    }
    g->filled++;
    if ((g->kinds & KIND_BOOL) != 0 && !is_word(text, "true") && !is_word(text, "false"))
        g->kinds &= ~(uint32_t)KIND_BOOL;
    test_numbers(g, text, delim);
    if (g->dates) test_dates(g, text);
}

static void guess_init(Guess *g)
{
    *g = (Guess){.kinds = ALL_KINDS, .dates = true};
    memset(g->patterns, 0xff, sizeof g->patterns);
}

/* ---- a column's type ---------------------------------------------------------------------- */

/* The only meaning that is left, or -1: none, or day and month may be swapped. */
static int only_pattern(const Guess *g)
{
    int first = -1;
    for (uint32_t p = 0; p < NPATTERNS && g->dates; p++) {
        if (!bit_get(g->patterns, p)) continue;
        if (first < 0) {
            first = (int)p;
            continue;
        }
        const char *a = date_patterns[(uint32_t)first / NTIMES].pattern, *b = date_patterns[p / NTIMES].pattern;
        bool swapped = (a[1] == 'm' && b[1] == 'd') || (a[1] == 'd' && b[1] == 'm');
        if (swapped) return -1;
    }
    return first;
}

static tcudb_status set_pattern(int p, const CsvOptions *o, Arena *arena, CsvColumn *c, Error *err)
{
    char pattern[PATTERN_MAX];
    pattern_text((uint32_t)p, pattern);
    bool time = (uint32_t)p % NTIMES != 0;
    c->type = TYPE(time ? TYPE_TIMESTAMP : TYPE_DATE);
    if ((time ? o->timestampformat : o->dateformat) != NULL) return TCUDB_OK;
    if (date_patterns[(uint32_t)p / NTIMES].native && (uint32_t)p % NTIMES <= 2) return TCUDB_OK;
    c->format = arena_strndup(arena, pattern, strlen(pattern), err);
    TRY_PTR(c->format);
    return TCUDB_OK;
}

static tcudb_status set_type(const Guess *g, const CsvOptions *o, Arena *arena, CsvColumn *c, Error *err)
{
    c->type = TYPE(TYPE_TEXT);
    c->decimal = o->decimal != '\0' ? o->decimal : '.';
    c->thousands = o->thousands;
    if (o->all_text || g->filled == 0) return TCUDB_OK;
    Type number = TYPE(g->digits > EXACT_DIGITS ? TYPE_NUMERIC : TYPE_FLOAT8);
    int pattern = only_pattern(g);
    if ((g->kinds & KIND_BOOL) != 0) {
        c->type = TYPE(TYPE_BOOL);
    } else if ((g->kinds & KIND_INT) != 0) {
        c->type = TYPE(TYPE_INT8);
    } else if ((g->kinds & KIND_NUMBER) != 0 && c->decimal == '.') {
        c->type = number;
    } else if ((g->kinds & KIND_GROUPED) != 0 && g->grouped > 0 && o->thousands == '\0' && c->decimal == '.') {
        c->type = number;
        c->thousands = ',';
    } else if ((g->kinds & KIND_COMMA) != 0 && o->decimal != '.') {
        c->type = number;
        c->decimal = ',';
    } else if ((g->kinds & KIND_COMMA_GROUPED) != 0 && o->decimal != '.') {
        c->type = number;
        c->decimal = ',';
        c->thousands = '.';
    } else if (pattern >= 0) {
        return set_pattern(pattern, o, arena, c, err);
    }
    return TCUDB_OK;
}

/* A pattern that the user gave, if it reads every field of the column. */
static bool user_pattern_fits(const CsvSample *s, uint32_t col, uint32_t from, const char *pattern, Error *err)
{
    const Tokens *t = &s->records.tokens;
    uint32_t n = 0;
    if (pattern == NULL) return false;
    for (uint32_t r = from; r < s->nrows; r++) {
        uint32_t f = row_first(t, r) + col;
        Str text;
        bool quoted;
        int64_t micros;
        if (f > t->rows[r]) continue;
        if (records_cell(&s->records, f, f == t->rows[r], s->arena, &text, &quoted, err) != TCUDB_OK) return false;
        if (text.len == 0 || null_word(text) >= 0) continue;
        if (!datetime_parse(pattern, text, &micros)) return false;
        n++;
    }
    return n > 0;
}

static void set_nulls(const Guess *g, const CsvOptions *o, CsvColumn *c)
{
    bool text = type_is_text(c->type);
    c->rules.quoted_nulls = !text;
    if (o->has_nulls) {
        c->rules.nulls = o->nulls;
        c->rules.nnulls = o->nnulls;
    } else if (!text) {
        c->rules.nulls = null_words;
        c->rules.nnulls = NNULL_WORDS;
    } else if (!o->all_text && g->quoted > 0 && g->words != 0 && g->filled > 0) {
        /* texts are quoted and the word is not: it is no text */
        c->rules.nulls = &null_words[__builtin_ctz(g->words)];
        c->rules.nnulls = 1;
    }
}

/* ---- the sample --------------------------------------------------------------------------- */

static bool skipped_row(const CsvSample *s, uint32_t row, uint32_t nfields)
{
    Str text = records_row(&s->records, row);
    char comment = s->records.dialect->comment;
    if (text.len == 0) return nfields > 1;
    return comment != '\0' && text.ptr[0] == comment;
}

static tcudb_status guess_rows(CsvSample *s, const CsvFormat *f, uint32_t from, uint32_t to, Guess *guesses, Error *err)
{
    const Tokens *t = &s->records.tokens;
    for (uint32_t r = from; r < to; r++) {
        if (skipped_row(s, r, f->nfields)) continue;
        uint32_t first = row_first(t, r), last = t->rows[r];
        for (uint32_t c = 0; c < f->nfields && first + c <= last; c++) {
            Str text;
            bool quoted;
            if (c % POLL_FIELDS == 0) TRY(cancel_poll(s->records.tokens.cancel, err));
            TRY(records_cell(&s->records, first + c, first + c == last, s->arena, &text, &quoted, err));
            test_field(&guesses[c], text, quoted, f->dialect.delim);
        }
    }
    return TCUDB_OK;
}

static Str trimmed(Str text)
{
    while (text.len > 0 && isspace((unsigned char)text.ptr[0])) text = (Str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && isspace((unsigned char)text.ptr[text.len - 1])) text.len--;
    return text;
}

/* The cells of a row; missing ones are empty. */
static tcudb_status row_cells(const CsvSample *s, uint32_t row, uint32_t nfields, Str **cells, Error *err)
{
    const Tokens *t = &s->records.tokens;
    *cells = ARENA_ARRAY(s->arena, Str, nfields, err);
    TRY_PTR(*cells);
    uint32_t first = row_first(t, row), last = t->rows[row];
    for (uint32_t c = 0; c < nfields && first + c <= last; c++) {
        bool quoted;
        TRY(records_cell(&s->records, first + c, first + c == last, s->arena, &(*cells)[c], &quoted, err));
        (*cells)[c] = trimmed((*cells)[c]);
    }
    return TCUDB_OK;
}

/* Whether a value could be a column's name: not empty, no number, no date. */
static bool name_like(Str cell)
{
    Guess g;
    guess_init(&g);
    test_field(&g, cell, false, '\0');
    return cell.len > 0 && g.filled > 0 && g.kinds == 0 && !g.dates;
}

static tcudb_status recurs(const CsvSample *s, uint32_t col, Str cell, uint32_t from, bool *found, Error *err)
{
    const Tokens *t = &s->records.tokens;
    *found = false;
    TRY(cancel_poll(s->records.tokens.cancel, err));
    for (uint32_t r = from; r < s->nrows && !*found; r++) {
        uint32_t f = row_first(t, r) + col;
        Str text;
        bool quoted;
        if (f > t->rows[r]) continue;
        TRY(records_cell(&s->records, f, f == t->rows[r], s->arena, &text, &quoted, err));
        *found = str_equal(trimmed(text), cell);
    }
    return TCUDB_OK;
}

/* A header has a cell that its column's type cannot read; in a file of several texts, one where every cell could
 * be a name, they all differ and none comes again below. A single column of texts has none: to take the first
 * of them for a header would lose it. */
static tcudb_status guess_header(const CsvSample *s, const CsvFormat *f, uint32_t row, const CsvColumn *cols,
                                 bool *header, Error *err)
{
    Str *cells;
    TRY(row_cells(s, row, f->nfields, &cells, err));
    bool typed = false, named = true;
    *header = false;
    for (uint32_t c = 0; c < f->nfields; c++) {
        bool text = type_is_text(cols[c].type);
        typed |= !text;
        if (!text && name_like(cells[c])) *header = true;
        named &= name_like(cells[c]) || (cells[c].len == 0 && c >= row_fields(&s->records.tokens, row));
    }
    if (typed || *header) return TCUDB_OK;
    if (!named || f->nfields == 1) return TCUDB_OK;
    bool distinct, found = false;
    TRY(csv_distinct(s->arena, cells, f->nfields, &distinct, err));
    for (uint32_t c = 0; c < f->nfields && distinct && !found; c++) TRY(recurs(s, c, cells[c], row + 1, &found, err));
    *header = distinct && !found;
    return TCUDB_OK;
}

/* ---- what the user fixed ------------------------------------------------------------------ */

static void fix_type(CsvColumn *c, Type type, const CsvOptions *o)
{
    bool same = c->type.id == type.id;
    c->type = type;
    if (!same) c->format = NULL;
    if (type.id == TYPE_DATE && o->dateformat != NULL) c->format = o->dateformat;
    if (type.id == TYPE_TIMESTAMP && o->timestampformat != NULL) c->format = o->timestampformat;
}

static tcudb_status apply_columns(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    uint32_t n;
    const char **names;
    Type *types;
    if (o->columns == NULL) return TCUDB_OK;
    TRY(csv_parse_columns(s->arena, o->columns, &n, &names, &types, err));
    f->trailing = f->trailing && n + 1 == f->nfields;
    if (n != f->nfields - f->trailing)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                         "read_csv: columns lists %u columns, but records of \"%s\" have %u fields", n, o->paths[0],
                         f->nfields);
    for (uint32_t c = 0; c < n; c++) {
        f->cols[c].name = names[c];
        fix_type(&f->cols[c], types[c], o);
    }
    return TCUDB_OK;
}

static tcudb_status apply_types(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    uint32_t n;
    const char **names;
    Type *types;
    if (o->types == NULL) return TCUDB_OK;
    TRY(csv_parse_columns(s->arena, o->types, &n, &names, &types, err));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = 0;
        while (c < f->nfields && strcasecmp(f->cols[c].name, names[i]) != 0) c++;
        if (c == f->nfields)
            return error_set(err, SQLSTATE_UNDEFINED_COLUMN, "read_csv: types names column \"%s\", but \"%s\" has none",
                             names[i], o->paths[0]);
        fix_type(&f->cols[c], types[i], o);
    }
    return TCUDB_OK;
}

/* Whether every record ends with a delimiter, so that the last field is none. */
static bool is_trailing(const CsvSample *s, const CsvFormat *f, const Str *cells, const Guess *last, uint32_t head)
{
    const Tokens *t = &s->records.tokens;
    if (f->nfields < 2 || last->filled + last->quoted + last->words > 0) return false;
    if (cells != NULL && cells[f->nfields - 1].len > 0) return false;
    uint32_t rows = 0;
    for (uint32_t r = head; r < s->nrows; r++) {
        if (skipped_row(s, r, f->nfields)) continue;
        if (row_fields(t, r) != f->nfields) return false;
        rows++;
    }
    return rows > 0;
}

/* ---- all together ------------------------------------------------------------------------- */

static tcudb_status set_types(CsvSample *s, const CsvOptions *o, CsvFormat *f, const Guess *guesses, uint32_t from,
                              Error *err)
{
    for (uint32_t c = 0; c < f->nfields; c++) {
        CsvColumn *col = &f->cols[c];
        col->format = NULL;
        TRY(cancel_poll(s->records.tokens.cancel, err));
        TRY(set_type(&guesses[c], o, s->arena, col, err));
        if (o->all_text) continue;
        if (user_pattern_fits(s, c, from, o->timestampformat, err)) fix_type(col, TYPE(TYPE_TIMESTAMP), o);
        if (user_pattern_fits(s, c, from, o->dateformat, err)) fix_type(col, TYPE(TYPE_DATE), o);
    }
    return TCUDB_OK;
}

tcudb_status csv_sniff_types(CsvSample *s, const CsvOptions *o, CsvFormat *f, Error *err)
{
    f->cols = ARENA_ARRAY(s->arena, CsvColumn, f->nfields, err);
    TRY_PTR(f->cols);
    Guess *guesses = ARENA_ARRAY(s->arena, Guess, f->nfields, err);
    TRY_PTR(guesses);
    for (uint32_t c = 0; c < f->nfields; c++) guess_init(&guesses[c]);
    uint32_t head = 0;
    while (head < s->nrows && skipped_row(s, head, f->nfields)) head++;
    TRY(guess_rows(s, f, head + 1, s->nrows, guesses, err));
    TRY(set_types(s, o, f, guesses, head + 1, err));
    f->header = o->header;
    if (!o->has_header && head < s->nrows) TRY(guess_header(s, f, head, f->cols, &f->header, err));
    Str *cells = NULL;
    if (head < s->nrows && f->header) {
        TRY(row_cells(s, head, f->nfields, &cells, err));
    } else if (head < s->nrows) {
        TRY(guess_rows(s, f, head, head + 1, guesses, err));
        TRY(set_types(s, o, f, guesses, head, err));
    }
    TRY(csv_name_columns(s->arena, f, cells, err));
    f->trailing = is_trailing(s, f, cells, &guesses[f->nfields - 1], head);
    TRY(apply_columns(s, o, f, err));
    TRY(apply_types(s, o, f, err));
    for (uint32_t c = 0; c < f->nfields; c++) set_nulls(&guesses[c], o, &f->cols[c]);
    return TCUDB_OK;
}
