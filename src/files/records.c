/*
 * records.c: batches of records, and their fields by column.
 *
 * A batch is up to 2048 records whose field ends lie in one array, so column c of row r is found by
 * arithmetic and a column is gathered in one loop. Fields without quotes and backslashes are used in place;
 * the few others (marked by the scanner) are unquoted or unescaped into the arena. The meanings are those of
 * PostgreSQL's CopyReadAttributesText and CopyReadAttributesCSV; lenient mode keeps a quote inside an
 * unquoted field, and text after a closing quote is taken as it is.
 */
#include "files/records.h"

#include <assert.h>
#include <stdio.h>

enum { SCAN_ROWS = BATCH_ROWS - 64, TEXT_SLACK = 8, POLL_BYTES = 1 << 20 };

void records_init(Records *r, const atomic_bool *cancel, Mem *mem)
{
    *r = (Records){0};
    tokens_init(&r->tokens, cancel, mem);
}

void records_free(Records *r)
{
    tokens_free(&r->tokens);
}

void records_begin(Records *r, const Dialect *dialect, const Block *block)
{
    Tokens *t = &r->tokens;
    if (t->any_dirty) memset(t->dirty, 0, bit_words(t->dirty_cap) * sizeof *t->dirty);
    t->any_dirty = false;
    t->nfields = 0;
    t->nrows = 0;
    t->bad_eol = -1;
    if (t->ends != NULL) t->ends[-1] = UINT32_MAX;
    r->dialect = dialect;
    r->text = block->data;
    r->len = block->len;
    r->at = 0;
    r->state = (ScanState){0};
    r->ended = false;
    r->unterminated = false;
}

tcudb_status records_next(Records *r, uint32_t *nrows, Error *err)
{
    Tokens *t = &r->tokens;
    tokens_next(t);
    TRY(scan_tokens(r->dialect, &r->state, r->text, r->at, r->len, SCAN_ROWS, t, &r->at, err));
    if (r->at == r->len && t->nrows < SCAN_ROWS && !r->ended) {
        r->ended = true;
        uint32_t before = t->nrows;
        TRY(tokens_end(t, r->len, err));
        r->unterminated = t->nrows > before && r->state.inside != 0;
    }
    assert(t->nrows <= BATCH_ROWS);
    *nrows = t->nrows;
    return TCUDB_OK;
}

static Str trim_eol(const Records *r, uint32_t start, uint32_t end)
{
    const char *text = r->text;
    Eol eol = r->dialect->eol;
    if (eol == EOL_CRLF && end > start && text[end - 1] == '\r') end--;
    if (eol == EOL_ANY)
        while (end > start && text[end - 1] == '\r') end--;
    return (Str){text + start, end - start};
}

Str records_row(const Records *r, uint32_t row)
{
    const Tokens *t = &r->tokens;
    return trim_eol(r, field_start(t, row_first(t, row)), t->ends[t->rows[row]]);
}

static uint64_t line_at(const Records *r, uint32_t offset, uint64_t line)
{
    char newline = dialect_newline(r->dialect);
    const char *end = r->text + offset;
    for (const char *p = r->text; p < end && (p = memchr(p, newline, (size_t)(end - p))) != NULL; p++) line++;
    return line;
}

uint64_t records_first_line(const Records *r, uint32_t row, uint64_t block_line)
{
    return line_at(r, field_start(&r->tokens, row_first(&r->tokens, row)), block_line);
}

uint64_t records_line(const Records *r, uint32_t row, uint64_t block_line)
{
    return line_at(r, r->tokens.ends[r->tokens.rows[row]], block_line);
}

/* ---- one field ---------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The byte that the escape at p (after the backslash) stands for; *numeric: given by number. */
static char unescape_one(const char **at, const char *end, bool *numeric)
{
    const char *p = *at;
    char c = *p++;
    *numeric = false;
    if (c >= '0' && c <= '7') {
        int value = c - '0';
        for (int i = 0; i < 2 && p < end && *p >= '0' && *p <= '7'; i++) value = value * 8 + (*p++ - '0');
        *numeric = true;
        c = (char)value;
    } else if (c == 'x' && p < end && hex_digit(*p) >= 0) {
        int value = hex_digit(*p++);
        if (p < end && hex_digit(*p) >= 0) value = value * 16 + hex_digit(*p++);
        *numeric = true;
        c = (char)value;
    } else {
        static const char names[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
        const char *found = strchr(names, c);
        if (found != NULL && c != '\0') c = bytes[found - names];
    }
    *at = p;
    return c;
}

static tcudb_status bad_utf8(const char *p, const char *end, Error *err)
{
    char bytes[32] = "";
    size_t at = 0;
    int n = (*p & 0xe0) == 0xc0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 : (*p & 0xf8) == 0xf0 ? 4 : 1;
    for (int i = 0; i < n && p + i < end; i++)
        at += (size_t)snprintf(bytes + at, sizeof bytes - at, "%s0x%02x", i > 0 ? " " : "", (uint8_t)p[i]);
    return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": %s",
                     bytes);
}

/* Where a loop over the bytes of a field, which may have a hundred million of them, looks at the flag next. */
static tcudb_status poll_at(const Records *r, const char *p, const char **next, Error *err)
{
    *next = p + POLL_BYTES;
    return cancel_poll(r->tokens.cancel, err);
}

static char *text_room(Arena *arena, Str raw, Error *err)
{
    return arena_alloc_raw(arena, (size_t)raw.len + TEXT_SLACK, err);
}

static tcudb_status unescape(const Records *r, Str raw, Arena *arena, Str *text, Error *err)
{
    const char *p = raw.ptr, *end = raw.ptr + raw.len, *poll = p;
    bool check = false;
    char *out = text_room(arena, raw, err);
    TRY_PTR(out);
    char *o = out;
    while (p < end) {
        if (p >= poll) TRY(poll_at(r, p, &poll, err));
        if (*p != '\\' || p + 1 == end) {
            *o++ = *p++;
            continue;
        }
        p++;
        if (*p == '.') { /* dropped at the end of a line, as PostgreSQL 15 does */
            if (p + 1 == end && (*end == '\n' || *end == '\r' || *end == '\0')) break;
            return error_set(err, SQLSTATE_BAD_COPY_FILE_FORMAT, "end-of-copy marker corrupt");
        }
        bool numeric;
        *o = unescape_one(&p, end, &numeric);
        check |= numeric && (*o == '\0' || (*o & 0x80) != 0);
        o++;
    }
    *text = (Str){out, (uint32_t)(o - out)};
    size_t valid = text->len;
    if (check) TRY(utf8_valid(out, text->len, r->tokens.cancel, &valid, err));
    return valid == text->len ? TCUDB_OK : bad_utf8(out + valid, o, err);
}

/* The text between the first and the last quote, if there is nothing to unquote within: the common case. */
static bool plain_inside(const Dialect *d, Str raw, Str *text)
{
    if (raw.len < 2 || raw.ptr[0] != d->quote || raw.ptr[raw.len - 1] != d->quote) return false;
    Str inner = {raw.ptr + 1, raw.len - 2};
    if (memchr(inner.ptr, d->quote, inner.len) != NULL) return false;
    if (d->escape != d->quote && memchr(inner.ptr, d->escape, inner.len) != NULL) return false;
    *text = inner;
    return true;
}

/* csv: quotes toggle, inside them the escape character takes a quote or itself literally. */
static tcudb_status unquote_csv(const Records *r, Str raw, Arena *arena, Str *text, bool *quoted, Error *err)
{
    const Dialect *d = r->dialect;
    const char *poll = raw.ptr;
    bool inside = false;
    *quoted = plain_inside(d, raw, text);
    if (*quoted) return TCUDB_OK;
    char *out = text_room(arena, raw, err);
    TRY_PTR(out);
    char *o = out;
    for (const char *p = raw.ptr, *end = raw.ptr + raw.len; p < end; p++) {
        if (p >= poll) TRY(poll_at(r, p, &poll, err));
        if (inside && *p == d->escape && p + 1 < end && (p[1] == d->escape || p[1] == d->quote)) {
            *o++ = *++p;
        } else if (*p == d->quote) {
            inside = !inside;
            *quoted = true;
        } else {
            *o++ = *p;
        }
    }
    *text = (Str){out, (uint32_t)(o - out)};
    return TCUDB_OK;
}

/* lenient: quoted only if the first byte is a quote. */
static tcudb_status unquote_lenient(const Records *r, Str raw, Arena *arena, Str *text, bool *quoted, Error *err)
{
    const Dialect *d = r->dialect;
    const char *poll = raw.ptr;
    *text = raw;
    *quoted = raw.len > 0 && raw.ptr[0] == d->quote;
    if (!*quoted || plain_inside(d, raw, text)) return TCUDB_OK;
    char *out = text_room(arena, raw, err);
    TRY_PTR(out);
    char *o = out;
    bool inside = true;
    for (const char *p = raw.ptr + 1, *end = raw.ptr + raw.len; p < end; p++) {
        if (p >= poll) TRY(poll_at(r, p, &poll, err));
        if (inside && *p == d->escape && p + 1 < end && (p[1] == d->quote || p[1] == d->escape))
            *o++ = *++p;
        else if (inside && *p == d->quote)
            inside = false;
        else
            *o++ = *p;
    }
    *text = (Str){out, (uint32_t)(o - out)};
    return TCUDB_OK;
}

static bool is_extra_null(const FieldRules *rules, Str text)
{
    for (uint32_t i = 0; i < rules->nnulls; i++)
        if (str_equal(text, rules->nulls[i])) return true;
    return false;
}

static bool plain_is_null(ScanMode mode, const FieldRules *rules, Str text)
{
    if (mode != SCAN_LENIENT) return str_equal(text, rules->null_text) && !rules->force_not_null;
    return text.len == 0 || is_extra_null(rules, text);
}

/* A field with quotes or backslashes. */
static tcudb_status clean_field(const Records *r, const FieldRules *rules, Arena *arena, Str *text, bool *null,
                                Error *err)
{
    const Dialect *d = r->dialect;
    Str raw = *text;
    *null = d->mode == SCAN_TEXT && str_equal(raw, rules->null_text);
    if (*null) return TCUDB_OK;
    if (d->mode == SCAN_TEXT) return unescape(r, raw, arena, text, err);
    bool quoted;
    TRY((d->mode == SCAN_CSV ? unquote_csv : unquote_lenient)(r, raw, arena, text, &quoted, err));
    if (!quoted || rules->quoted_nulls)
        *null = plain_is_null(d->mode, rules, *text);
    else
        *null = d->mode == SCAN_CSV && rules->force_null && str_equal(*text, rules->null_text);
    return TCUDB_OK;
}

tcudb_status records_cell(const Records *r, uint32_t f, bool last, Arena *arena, Str *text, bool *quoted, Error *err)
{
    const Tokens *t = &r->tokens;
    assert(r->dialect->mode == SCAN_LENIENT);
    uint32_t start = field_start(t, f), end = t->ends[f];
    *text = last ? trim_eol(r, start, end) : (Str){r->text + start, end - start};
    *quoted = false;
    if (!t->any_dirty || !bit_get(t->dirty, f)) return TCUDB_OK;
    return unquote_lenient(r, *text, arena, text, quoted, err);
}

/* ---- a column ----------------------------------------------------------------------------- */

/* Raw texts; false: some row has no such field (its text is empty). */
static bool gather(const Records *r, uint32_t nrows, uint32_t col, Str *texts)
{
    const Tokens *t = &r->tokens;
    bool full = true;
    for (uint32_t row = 0; row < nrows; row++) {
        uint32_t f = row_first(t, row) + col;
        if (f > t->rows[row]) {
            texts[row] = (Str){r->text, 0};
            full = false;
            continue;
        }
        uint32_t start = field_start(t, f), end = t->ends[f];
        if (f == t->rows[row] && r->dialect->eol >= EOL_CRLF)
            texts[row] = trim_eol(r, start, end);
        else
            texts[row] = (Str){r->text + start, end - start};
    }
    return full;
}

static tcudb_status set_null(Arena *arena, uint32_t nrows, uint32_t row, uint64_t **valid, Error *err)
{
    if (*valid == NULL) {
        size_t words = bit_words(nrows);
        *valid = arena_alloc_raw(arena, words * sizeof **valid, err);
        TRY_PTR(*valid);
        memset(*valid, 0xff, words * sizeof **valid);
    }
    bit_clear(*valid, row);
    return TCUDB_OK;
}

tcudb_status records_column(const Records *r, uint32_t nrows, uint32_t col, const FieldRules *rules, Arena *arena,
                            Str *texts, uint64_t **valid, uint32_t *bad_row, Error *err)
{
    const Tokens *t = &r->tokens;
    const ScanMode mode = r->dialect->mode;
    bool full = gather(r, nrows, col, texts);
    *valid = NULL;
    bool may_null = rules->nnulls > 0;
    for (uint32_t row = 0; row < nrows; row++) {
        bool null = false;
        if (!full && row_first(t, row) + col > t->rows[row]) {
            null = true;
        } else if (t->any_dirty && bit_get(t->dirty, row_first(t, row) + col)) {
            *bad_row = row;
            TRY(clean_field(r, rules, arena, &texts[row], &null, err));
        } else if (may_null || texts[row].len == rules->null_text.len) {
            null = plain_is_null(mode, rules, texts[row]);
        }
        if (null) TRY(set_null(arena, nrows, row, valid, err));
    }
    return TCUDB_OK;
}
