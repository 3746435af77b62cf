/*
 * cut.c: cuts a source into blocks of whole records.
 *
 * The one sequential part of reading: bytes are read and scanned for record ends in steps that stay in the
 * cache (READ_STEP), at several GB/s, so one thread at a time can feed many that parse. Because the scan
 * keeps exact quoting state, a block never begins inside a quoted line end, and the block's line number is
 * exact. What was read beyond a block's end (less than a step) is copied in front of the next block. A record
 * longer than a step only makes the block grow; no byte is scanned twice in one block.
 */
#include "files/cut.h"

#include <assert.h>

enum { READ_STEP = 1 << 18 };

void block_init(Block *b, Mem *mem)
{
    *b = (Block){.mem = mem};
}

void block_free(Block *b)
{
    mem_free(b->mem, b->data, b->cap);
    block_init(b, b->mem);
}

static tcudb_status block_reserve(Block *b, size_t more, Error *err)
{
    size_t need = b->len + more + SCAN_PADDING;
    if (need <= b->cap) return TCUDB_OK;
    if (need > UINT32_MAX) return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "a record is longer than 4 GB");
    size_t cap = b->cap * 2 > need ? b->cap * 2 : need;
    char *data = mem_realloc(b->mem, b->data, b->cap, cap, err);
    TRY_PTR(data);
    b->data = data;
    b->cap = cap;
    return TCUDB_OK;
}

void cutter_init(Cutter *c, Source *source, const atomic_bool *cancel, Mem *mem)
{
    *c = (Cutter){.source = source,
                  .cancel = cancel,
                  .max_rows = UINT64_MAX,
                  .max_bytes = SIZE_MAX,
                  .line = 1,
                  .read_step = READ_STEP};
    block_init(&c->rest, mem);
}

void cutter_free(Cutter *c)
{
    block_free(&c->rest);
}

static tcudb_status read_step(Cutter *c, Block *b, bool *ended, Error *err)
{
    TRY(cancel_poll(c->cancel, err));
    TRY(block_reserve(b, c->read_step, err));
    size_t got = 0, step = 0;
    *ended = false;
    while (step < c->read_step / 2 && !*ended) { /* pipes give small pieces */
        TRY(source_read(c->source, b->data + b->len, c->read_step - step, &got, err));
        b->len += got;
        step += got;
        *ended = got == 0;
    }
    memset(b->data + b->len, 0, SCAN_PADDING);
    return TCUDB_OK;
}

/* How far the search for the first line end came. */
typedef struct EolSearch {
    size_t at;
    bool quoted, escaped;
} EolSearch;

/* Whether a character may be a line end where the search is; moves its state behind it. */
static bool outside(const Dialect *d, EolSearch *s, char ch)
{
    if (d->mode == SCAN_TEXT) {
        bool was_escaped = s->escaped;
        s->escaped = ch == '\\' && !was_escaped;
        return !was_escaped;
    }
    if (ch == d->quote && d->quote != 0 && !s->escaped) {
        s->quoted = !s->quoted;
        return false;
    }
    if (!s->quoted) return true;
    s->escaped = d->escape != d->quote && ch == d->escape && !s->escaped;
    return false;
}

/* The first unquoted line end decides, as COPY does. */
static Eol find_eol(const Dialect *d, EolSearch *s, const char *text, size_t len, bool ended)
{
    for (; s->at < len; s->at++) {
        const EolSearch before = *s;
        char ch = text[s->at];
        if (!outside(d, s, ch)) continue;
        if (ch == '\n') return EOL_LF;
        if (ch != '\r') continue;
        if (s->at + 1 < len) return text[s->at + 1] == '\n' ? EOL_CRLF : EOL_CR;
        *s = before; /* what follows it is not read yet */
        return ended ? EOL_CR : EOL_UNKNOWN;
    }
    return ended ? EOL_LF : EOL_UNKNOWN;
}

static tcudb_status decide_eol(Cutter *c, Block *b, bool *ended, Error *err)
{
    EolSearch search = {0};
    while (c->dialect.eol == EOL_UNKNOWN) {
        c->dialect.eol = find_eol(&c->dialect, &search, b->data, b->len, *ended);
        if (c->dialect.eol == EOL_UNKNOWN) TRY(read_step(c, b, ended, err));
    }
    return TCUDB_OK;
}

/* A scan that goes on from place to place, in whole words. */
typedef struct Begins {
    ScanState state;
    ScanCut cut;
    size_t at;
} Begins;

/* Whether a record begins at `at`, which is not before the last one asked for: a line inside a quoted field does not.
 */
static bool record_begins(Begins *b, const Dialect *d, const char *text, size_t at)
{
    size_t words = at & ~(size_t)63;
    if (words > b->at) scan_cut(d, &b->state, text, b->at, words, UINT64_MAX, &b->cut);
    b->at = words;
    ScanState state = b->state;
    ScanCut cut = b->cut;
    if (at > words) scan_cut(d, &state, text, words, at, UINT64_MAX, &cut);
    return cut.row_end == at;
}

/* Offset of a record that is just \. within text[0..len); len: none. */
static size_t find_stop_marker(const Dialect *d, const char *text, size_t len, bool ended)
{
    Begins begins = {0};
    for (const char *p = text; (p = memchr(p, '\\', len - (size_t)(p - text))) != NULL; p++) {
        if (p[1] != '.') continue; /* the text is followed by zeros */
        size_t at = (size_t)(p - text);
        if (at + 2 == len ? !ended : p[2] != '\n' && p[2] != '\r') continue;
        if (at > 0 && p[-1] != '\n' && p[-1] != '\r') continue;
        if (record_begins(&begins, d, text, at)) return at;
    }
    return len;
}

static tcudb_status too_long(const Cutter *c, const ScanState *state, Error *err)
{
    tcudb_status status =
        error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "the record that begins at line %llu is longer than %zu bytes",
                  (unsigned long long)c->line, c->max_record);
    bool copy = c->stop_marker;
    if (state->inside != 0)
        error_hint(err, copy ? "An unclosed quote often is the cause."
                             : "An unclosed quote often is the cause. Give quote => '' or a larger max_line_size.");
    else if (!copy)
        error_hint(err, "No line ends there. If records are that long, give a larger max_line_size.");
    return status;
}

static void take_rest(Cutter *c, Block *b)
{
    if (c->rest.len > 0) memcpy(b->data, c->rest.data, c->rest.len);
    b->len = c->rest.len;
    c->rest.len = 0;
}

/* Ends block b after `cut` bytes; what follows them waits for the next block. */
static tcudb_status hand_out(Cutter *c, Block *b, size_t cut, uint64_t lines, Error *err)
{
    assert(cut <= b->len);
    if (!c->ended) {
        TRY(block_reserve(&c->rest, b->len - cut, err));
        memcpy(c->rest.data, b->data + cut, b->len - cut);
        c->rest.len = b->len - cut;
    }
    b->len = cut;
    b->number = c->number++;
    b->line = c->line;
    b->offset = c->offset;
    c->line += lines;
    c->offset += cut;
    return TCUDB_OK;
}

static tcudb_status cut_block(Cutter *c, Block *b, size_t *end, ScanCut *cut, Error *err)
{
    ScanState state = {0};
    size_t scanned = 0;
    bool ended = false;
    if (b->len == 0) TRY(read_step(c, b, &ended, err));
    if (c->dialect.eol == EOL_UNKNOWN) TRY(decide_eol(c, b, &ended, err));
    for (;;) {
        size_t upto = ended ? b->len : b->len & ~(size_t)63;
        if (upto > scanned) scan_cut(&c->dialect, &state, b->data, scanned, upto, c->max_rows, cut);
        scanned = upto;
        *end = cut->row_end;
        if (cut->full || (cut->row_end > 0 && cut->row_end >= c->max_bytes)) return TCUDB_OK;
        if (c->max_record > 0 && b->len - cut->row_end > c->max_record) return too_long(c, &state, err);
        if (ended) {
            c->ended = true;
            *end = b->len;
            return TCUDB_OK;
        }
        TRY(read_step(c, b, &ended, err));
    }
}

tcudb_status cutter_next(Cutter *c, Block *b, bool *more, Error *err)
{
    *more = false;
    if (c->ended) return TCUDB_OK;
    b->len = 0;
    TRY(block_reserve(b, c->rest.len + c->read_step, err));
    take_rest(c, b);
    memset(b->data + b->len, 0, SCAN_PADDING);
    ScanCut cut = {0};
    size_t end;
    TRY(cut_block(c, b, &end, &cut, err));
    if (c->stop_marker) {
        size_t stop = find_stop_marker(&c->dialect, b->data, end, c->ended);
        if (stop < end) {
            c->ended = true;
            end = stop;
        }
    }
    *more = end > 0;
    return hand_out(c, b, end, cut.lines, err);
}

/* Drops the first n bytes of what was read. */
static void drop(Block *rest, size_t n)
{
    assert(n <= rest->len);
    rest->len -= n;
    memmove(rest->data, rest->data + n, rest->len);
}

tcudb_status cutter_skip(Cutter *c, bool bom, uint64_t lines, Error *err)
{
    bool ended = false;
    assert(c->number == 0 && c->dialect.eol != EOL_UNKNOWN);
    TRY(read_step(c, &c->rest, &ended, err));
    if (bom && c->rest.len >= 3 && memcmp(c->rest.data, "\xef\xbb\xbf", 3) == 0) drop(&c->rest, 3);
    while (lines > 0) {
        const char *end = c->rest.len == 0 ? NULL : memchr(c->rest.data, dialect_newline(&c->dialect), c->rest.len);
        if (end != NULL) {
            size_t n = (size_t)(end - c->rest.data) + 1;
            drop(&c->rest, n);
            c->offset += n;
            c->line++;
            lines--;
            continue;
        }
        if (ended) return TCUDB_OK; /* cutter_next finds the end again */
        c->offset += c->rest.len;
        c->rest.len = 0;
        TRY(read_step(c, &c->rest, &ended, err));
    }
    return TCUDB_OK;
}
