/*
 * copy_to.c: COPY table or query TO file or stream.
 *
 * Workers turn batches into text (copy_to_shape); the pieces come in order and are written, small ones gathered to
 * FLUSH_SIZE. Numbers, dates and booleans cannot contain what needs escaping unless the delimiter, quote or NULL text
 * is one of their characters, so those columns are printed where they belong; texts are searched eight bytes at a time.
 * Memory: what other workers make while the slowest one finishes its task.
 */
#include "base/fd.h"
#include "files/copy_int.h"
#include "type/num.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLUSH_SIZE = 1 << 16, PIECE_SIZE = 1 << 18, SLICE_SIZE = 1 << 20 };

struct CopyTo {
    Mem *mem;
    CopyOptions options;
    Arena arena; /* names and flags */
    CopyStream stream;
    const atomic_bool *cancel;
    int fd; /* -1: the stream */
    const char *path;
    uint32_t ncols;
    bool *force_quote;
    bool *plain; /* the column's texts never need a check */
    Buf buf;
    _Atomic uint64_t rows;
};

/* ---- bytes out ---------------------------------------------------------------------------- */

static tcudb_status write_all(CopyTo *c, const char *data, size_t size, Error *err)
{
    if (c->fd < 0) return c->stream.write(c->stream.ctx, data, size, err);
    while (size > 0) {
        ssize_t n = write(c->fd, data, size);
        if (n < 0 && errno == EINTR) {
            TRY(cancel_poll(c->cancel, err)); /* a pipe that nobody reads */
            continue;
        }
        if (n < 0) return error_system(err, errno, "write to file", c->path);
        data += n;
        size -= (size_t)n;
    }
    return TCUDB_OK;
}

static tcudb_status flush_above(CopyTo *c, size_t limit, Error *err)
{
    if (c->buf.len <= limit) return TCUDB_OK;
    TRY(write_all(c, c->buf.data, c->buf.len, err));
    c->buf.len = 0;
    return TCUDB_OK;
}

/* ---- text of rows ------------------------------------------------------------------------- */

/* The text of a batch: pieces, each in memory of its own, so that nothing is moved as it grows. */
typedef struct Pieces {
    CopyTo *c;
    Arena *arena;
    Str *list;
    uint32_t n, cap;
    char *start, *at, *end; /* of the piece that is written */
} Pieces;

static tcudb_status end_piece(Pieces *p, Error *err)
{
    if (p->at == p->start) return TCUDB_OK;
    if (p->n == p->cap) {
        uint32_t cap = p->cap == 0 ? 8 : 2 * p->cap;
        Str *list = ARENA_ARRAY(p->arena, Str, cap, err);
        TRY_PTR(list);
        if (p->n > 0) memcpy(list, p->list, p->n * sizeof *list);
        p->list = list;
        p->cap = cap;
    }
    p->list[p->n++] = (Str){p->start, (uint32_t)(p->at - p->start)};
    p->start = p->at;
    return TCUDB_OK;
}

/* Room for so many bytes behind p->at. */
static inline tcudb_status reserve(Pieces *p, size_t bytes, Error *err)
{
    if ((size_t)(p->end - p->at) >= bytes) return TCUDB_OK;
    TRY(end_piece(p, err));
    size_t size = bytes > PIECE_SIZE ? bytes : PIECE_SIZE;
    p->start = p->at = arena_alloc_raw(p->arena, size, err);
    TRY_PTR(p->at);
    p->end = p->at + size;
    return TCUDB_OK;
}

/* ---- one value ---------------------------------------------------------------------------- */

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (uint8_t)(b))
#define TOP_BITS     EACH_BYTE(0x80)

/* Top bits of bytes; above the first one that is set they may be wrong. */
static inline uint64_t zero_bytes(uint64_t x)
{
    return (x - EACH_BYTE(1)) & ~x & TOP_BITS;
}

/* Whether eight bytes hold one of these, or (controls) one below 32. */
static inline uint64_t found_in(uint64_t word, const char bytes[4], bool controls)
{
    uint64_t found = controls ? (word - EACH_BYTE(32)) & ~word & TOP_BITS : 0;
    for (int i = 0; i < 4; i++) found |= zero_bytes(word ^ EACH_BYTE(bytes[i]));
    return found;
}

static inline bool holds(Str text, const char bytes[4], bool controls)
{
    uint64_t found = 0, word;
    uint32_t at = 0;
    for (; at + 8 <= text.len; at += 8) {
        memcpy(&word, text.ptr + at, 8);
        found |= found_in(word, bytes, controls);
    }
    if (at == text.len) return found != 0;
    word = TOP_BITS; /* none of the bytes, which are ASCII */
    for (uint32_t i = at; i < text.len; i++) word = word << 8 | (uint8_t)text.ptr[i];
    return (found | found_in(word, bytes, controls)) != 0;
}

static char *put_text_escaped(const CopyTo *c, Str text, char *o)
{
    static const char names[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
    for (uint32_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        const char *found = ch != '\0' && (uint8_t)ch < 0x20 ? strchr(bytes, ch) : NULL;
        if (ch == '\\' || ch == c->options.delim || found != NULL) *o++ = '\\';
        *o++ = found == NULL ? ch : names[found - bytes];
    }
    return o;
}

static bool needs_quotes(const CopyTo *c, Str text)
{
    if (str_equal(text, c->options.null_text)) return true;
    if (c->ncols == 1 && str_equal(text, STR_LIT("\\."))) return true;
    const char bytes[4] = {c->options.delim, c->options.quote, '\n', '\r'};
    return holds(text, bytes, false);
}

static char *put_within_quotes(const CopyTo *c, Str text, char *o)
{
    for (uint32_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (ch == c->options.quote || ch == c->options.escape) *o++ = c->options.escape;
        *o++ = ch;
    }
    return o;
}

static char *put_quoted(const CopyTo *c, Str text, char *o)
{
    assert(o != NULL);
    *o++ = c->options.quote;
    o = put_within_quotes(c, text, o);
    *o++ = c->options.quote;
    return o;
}

static char *put_plain(Str text, char *o)
{
    assert(o != NULL || text.len == 0);
    if (text.len > 0) memcpy(o, text.ptr, text.len);
    return o + text.len;
}

/* At most 2 x text.len + 2 bytes. */
static char *put_field(const CopyTo *c, Str text, bool force, char *o)
{
    const char escaped[4] = {'\\', c->options.delim, '\\', '\\'};
    if (c->options.csv) return force || needs_quotes(c, text) ? put_quoted(c, text, o) : put_plain(text, o);
    return holds(text, escaped, true) ? put_text_escaped(c, text, o) : put_plain(text, o);
}

static Str text_at(const Vector *v, uint32_t row)
{
    uint32_t at = v->form == VEC_CONST ? 0 : row;
    return v->form == VEC_DICT ? v->values[((const uint32_t *)v->data)[at]] : ((const Str *)v->data)[at];
}

/* What may need quotes or escapes is printed beside first. */
static tcudb_status put_printed(Pieces *p, uint32_t col, const Vector *v, uint32_t row, Error *err)
{
    bool pad = v->type.id == TYPE_BPCHAR;
    Str text = pad ? text_at(v, row) : (Str){NULL, NUM_TEXT_MAX};
    char few[512], *beside = few;
    size_t most = pad ? (size_t)text.len + v->type.length : NUM_TEXT_MAX;
    if (most > sizeof few) {
        beside = arena_alloc_raw(p->arena, most, err);
        TRY_PTR(beside);
    }
    text.len = pad ? text_pad(text, v->type.length, beside) : vec_print(v, row, beside);
    text.ptr = beside;
    TRY(reserve(p, 2 * (size_t)text.len + 2, err));
    p->at = put_field(p->c, text, p->c->force_quote[col], p->at);
    return TCUDB_OK;
}

static tcudb_status put_char(Pieces *p, char ch, Error *err)
{
    TRY(reserve(p, 1, err));
    *p->at++ = ch;
    return TCUDB_OK;
}

static Str slice_at(Str text, uint32_t at)
{
    return (Str){text.ptr + at, text.len - at < SLICE_SIZE ? text.len - at : SLICE_SIZE};
}

static tcudb_status long_needs_quotes(const CopyTo *c, Str text, bool *needs, Error *err)
{
    const char bytes[4] = {c->options.delim, c->options.quote, '\n', '\r'};
    for (uint32_t at = 0; at < text.len && !*needs; at += SLICE_SIZE) {
        TRY(cancel_poll(c->cancel, err));
        *needs = holds(slice_at(text, at), bytes, false);
    }
    return TCUDB_OK;
}

/* A text of more than a slice: the flag is looked at between them, and each is a piece. */
static tcudb_status put_long(Pieces *p, Str text, bool force, Error *err)
{
    const CopyTo *c = p->c;
    bool quoted = c->options.csv && (force || str_equal(text, c->options.null_text));
    if (c->options.csv) TRY(long_needs_quotes(c, text, &quoted, err));
    if (quoted) TRY(put_char(p, c->options.quote, err));
    for (uint32_t at = 0; at < text.len; at += SLICE_SIZE) {
        Str slice = slice_at(text, at);
        TRY(cancel_poll(c->cancel, err));
        TRY(reserve(p, 2 * (size_t)slice.len, err));
        if (!c->options.csv)
            p->at = put_field(c, slice, false, p->at);
        else
            p->at = quoted ? put_within_quotes(c, slice, p->at) : put_plain(slice, p->at);
    }
    return quoted ? put_char(p, c->options.quote, err) : TCUDB_OK;
}

static tcudb_status put_value(Pieces *p, uint32_t col, const Vector *v, uint32_t row, Error *err)
{
    const CopyTo *c = p->c;
    if (vec_is_null(v, row)) {
        TRY(reserve(p, c->options.null_text.len, err));
        p->at = put_plain(c->options.null_text, p->at);
    } else if (c->plain[col]) {
        TRY(reserve(p, NUM_TEXT_MAX, err));
        p->at += vec_print(v, row, p->at);
    } else if (!type_is_text(v->type) || v->type.id == TYPE_BPCHAR) {
        return put_printed(p, col, v, row, err);
    } else {
        Str text = text_at(v, row);
        if (text.len > SLICE_SIZE) return put_long(p, text, c->force_quote[col], err);
        TRY(reserve(p, 2 * (size_t)text.len + 2, err));
        p->at = put_field(c, text, c->force_quote[col], p->at);
    }
    return TCUDB_OK;
}

/* ---- rows --------------------------------------------------------------------------------- */

tcudb_status copy_to_shape(void *copy_to, Arena *arena, const Batch *batch, Batch *out, Error *err)
{
    CopyTo *c = copy_to;
    Pieces p = {.c = c, .arena = arena};
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        for (uint32_t col = 0; col < c->ncols; col++) {
            if (col > 0) TRY(put_char(&p, c->options.delim, err));
            TRY(put_value(&p, col, &batch->cols[col], row, err));
        }
        TRY(put_char(&p, '\n', err));
    }
    TRY(end_piece(&p, err));
    atomic_fetch_add(&c->rows, batch->n);
    *out = (Batch){.rows = p.n, .n = p.n, .ncols = 1};
    out->cols = ARENA_NEW(arena, Vector, err);
    TRY_PTR(out->cols);
    out->cols[0] = (Vector){.type = TYPE(TYPE_TEXT), .phys = PHYS_STR, .form = VEC_FLAT, .data = p.list};
    return TCUDB_OK;
}

tcudb_status copy_to_batch(void *copy_to, const Batch *pieces, Error *err)
{
    CopyTo *c = copy_to;
    for (uint32_t i = 0; i < pieces->n; i++) {
        Str text = text_at(&pieces->cols[0], batch_row(pieces, i));
        TRY(cancel_poll(c->cancel, err));
        if (text.len < FLUSH_SIZE) {
            TRY(buf_str(&c->buf, text, err));
            TRY(flush_above(c, FLUSH_SIZE, err));
        } else {
            TRY(flush_above(c, 0, err));
            TRY(write_all(c, text.ptr, text.len, err));
        }
    }
    return TCUDB_OK;
}

static tcudb_status put_header(CopyTo *c, const PlanCol *cols, Error *err)
{
    for (uint32_t col = 0; col < c->ncols; col++) {
        if (col > 0) TRY(buf_char(&c->buf, c->options.delim, err));
        Str name = str_of(cols[col].name);
        TRY(buf_reserve(&c->buf, 2 * (size_t)name.len + 2, err));
        c->buf.len = (size_t)(put_field(c, name, false, c->buf.data + c->buf.len) - c->buf.data);
    }
    return buf_char(&c->buf, '\n', err);
}

/* ---- open and close ----------------------------------------------------------------------- */

/* Whether no value of the type can hold a special character under these options. */
static bool type_is_plain(const CopyOptions *o, uint8_t type)
{
    static const char used[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-.: ";
    if (type_is_text(TYPE(type)) || type == TYPE_INTERVAL) return false;
    if (strchr(used, o->delim) != NULL || (o->csv && strchr(used, o->quote) != NULL)) return false;
    if (!o->csv) return true;
    for (uint32_t i = 0; i < o->null_text.len; i++)
        if (strchr(used, o->null_text.ptr[i]) == NULL || o->null_text.ptr[i] == '\0') return true;
    return o->null_text.len == 0;
}

static tcudb_status set_columns(CopyTo *c, const Stmt *stmt, const PlanCol *cols, Error *err)
{
    Str *names = ARENA_ARRAY(&c->arena, Str, c->ncols, err);
    TRY_PTR(names);
    c->force_quote = ARENA_ARRAY(&c->arena, bool, c->ncols, err);
    TRY_PTR(c->force_quote);
    c->plain = ARENA_ARRAY(&c->arena, bool, c->ncols, err);
    TRY_PTR(c->plain);
    for (uint32_t i = 0; i < c->ncols; i++) names[i] = str_of(cols[i].name);
    const char *relation = NULL;
    if (stmt->name.len > 0) {
        relation = arena_strndup(&c->arena, stmt->name.ptr, stmt->name.len, err);
        TRY_PTR(relation);
    }
    TRY(copy_force_flags(c->options.force_quote, relation, names, c->ncols, c->force_quote, err));
    for (uint32_t i = 0; i < c->ncols; i++)
        c->plain[i] = !c->force_quote[i] && type_is_plain(&c->options, cols[i].type.id);
    return TCUDB_OK;
}

static tcudb_status open_output(CopyTo *c, const CopyEnv *env, const Stmt *stmt, Error *err)
{
    if (stmt->text.len == 0) {
        if (env->stream.write == NULL) return error_unsupported(err, 0, "COPY TO STDOUT without an output stream");
        c->stream = env->stream;
        return TCUDB_OK;
    }
    c->path = arena_strndup(&c->arena, stmt->text.ptr, stmt->text.len, err);
    TRY_PTR(c->path);
    struct stat st;
    if (stat(c->path, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(err, SQLSTATE_WRONG_OBJECT_TYPE, "\"%s\" is a directory", c->path);
    do c->fd = fd_open(c->path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    while (c->fd < 0 && errno == EINTR && !cancel_seen(env->cancel));
    if (c->fd >= 0) return TCUDB_OK;
    if (errno == EINTR) return cancel_poll(env->cancel, err);
    int errnum = errno;
    char reason[128];
    tcudb_status status = error_system(err, errnum, "open file", c->path);
    if (err != NULL)
        snprintf(err->message, sizeof err->message, "could not open file \"%s\" for writing: %s", c->path,
                 strerror_r(errnum, reason, sizeof reason));
    return status;
}

tcudb_status copy_to_open(const CopyEnv *env, const Stmt *stmt, const PlanCol *cols, uint32_t ncols, CopyTo **out,
                          Error *err)
{
    CopyTo *c = mem_alloc_zero(env->mem, sizeof *c, err);
    TRY_PTR(c);
    *c = (CopyTo){.mem = env->mem, .cancel = env->cancel, .fd = -1, .ncols = ncols};
    arena_init(&c->arena, env->mem);
    buf_init(&c->buf, env->mem);
    tcudb_status status;
    TRY_GOTO(copy_options(stmt, &c->options, err));
    TRY_GOTO(set_columns(c, stmt, cols, err));
    TRY_GOTO(open_output(c, env, stmt, err));
    if (c->options.header != HEADER_NONE) TRY_GOTO(put_header(c, cols, err));
    *out = c;
    return TCUDB_OK;
done:
    copy_to_abort(c);
    return status;
}

tcudb_status copy_to_close(CopyTo *c, uint64_t *rows, Error *err)
{
    tcudb_status status = flush_above(c, 0, err);
    *rows = c->rows;
    if (c->fd >= 0 && close(c->fd) != 0 && status == TCUDB_OK) status = error_system(err, errno, "close file", c->path);
    c->fd = -1;
    copy_to_abort(c);
    return status;
}

void copy_to_abort(CopyTo *c)
{
    if (c == NULL) return;
    if (c->fd >= 0) close(c->fd);
    buf_free(&c->buf);
    arena_free(&c->arena);
    mem_free(c->mem, c, sizeof *c);
}
