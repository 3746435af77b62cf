/*
 * copy_to.c: COPY table or query TO file or stream.
 *
 * Values are printed by their types' output functions into one buffer that is written out when it has grown
 * to FLUSH_SIZE. Numbers, dates and booleans cannot contain what needs escaping unless the delimiter, quote
 * or NULL text is one of their characters, so those columns skip the check; integers have their own printer.
 */
#include "files/copy_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLUSH_SIZE = 1 << 16 };

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
    Buf value;
    uint64_t rows;
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

/* ---- one value ---------------------------------------------------------------------------- */

static tcudb_status put_text_escaped(CopyTo *c, Str text, Error *err)
{
    static const char names[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
    TRY(buf_reserve(&c->buf, 2 * (size_t)text.len, err));
    char *o = c->buf.data + c->buf.len;
    for (uint32_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        const char *found = ch != '\0' && (uint8_t)ch < 0x20 ? strchr(bytes, ch) : NULL;
        if (ch == '\\' || ch == c->options.delim || found != NULL) *o++ = '\\';
        *o++ = found == NULL ? ch : names[found - bytes];
    }
    c->buf.len = (size_t)(o - c->buf.data);
    return TCUDB_OK;
}

static bool needs_quotes(const CopyTo *c, Str text)
{
    if (str_equal(text, c->options.null_text)) return true;
    if (c->ncols == 1 && str_equal(text, STR_LIT("\\."))) return true;
    for (uint32_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (ch == c->options.delim || ch == c->options.quote || ch == '\n' || ch == '\r') return true;
    }
    return false;
}

static tcudb_status put_csv(CopyTo *c, Str text, bool force, Error *err)
{
    if (!force && !needs_quotes(c, text)) return buf_str(&c->buf, text, err);
    TRY(buf_reserve(&c->buf, 2 * (size_t)text.len + 2, err));
    char *o = c->buf.data + c->buf.len;
    *o++ = c->options.quote;
    for (uint32_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (ch == c->options.quote || ch == c->options.escape) *o++ = c->options.escape;
        *o++ = ch;
    }
    *o++ = c->options.quote;
    c->buf.len = (size_t)(o - c->buf.data);
    return TCUDB_OK;
}

static tcudb_status put_field(CopyTo *c, uint32_t col, Str text, Error *err)
{
    return c->options.csv ? put_csv(c, text, c->force_quote[col], err) : put_text_escaped(c, text, err);
}

static tcudb_status put_int(CopyTo *c, int64_t value, Error *err)
{
    char digits[20];
    uint32_t at = sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0) TRY(buf_char(&c->buf, '-', err));
    return buf_append(&c->buf, digits + at, sizeof digits - at, err);
}

static tcudb_status put_value(CopyTo *c, uint32_t col, const Vector *v, uint32_t row, Error *err)
{
    if (vec_is_null(v, row)) return buf_str(&c->buf, c->options.null_text, err);
    Value value = vec_value(v, row);
    if (c->plain[col]) {
        switch (value.type.id) {
        case TYPE_INT2: return put_int(c, value.i16, err);
        case TYPE_INT4: return put_int(c, value.i32, err);
        case TYPE_INT8: return put_int(c, value.i64, err);
        default: return value_print(&value, &c->buf, err);
        }
    }
    if (type_is_text(value.type) && value.type.id != TYPE_BPCHAR) return put_field(c, col, value.str, err);
    c->value.len = 0;
    TRY(value_print(&value, &c->value, err));
    return put_field(c, col, (Str){c->value.data, (uint32_t)c->value.len}, err);
}

/* ---- rows --------------------------------------------------------------------------------- */

tcudb_status copy_to_batch(void *copy_to, const Batch *batch, Error *err)
{
    CopyTo *c = copy_to;
    for (uint32_t i = 0; i < batch->n; i++) {
        uint32_t row = batch_row(batch, i);
        for (uint32_t col = 0; col < c->ncols; col++) {
            if (col > 0) TRY(buf_char(&c->buf, c->options.delim, err));
            TRY(put_value(c, col, &batch->cols[col], row, err));
        }
        TRY(buf_char(&c->buf, '\n', err));
        TRY(flush_above(c, FLUSH_SIZE, err));
    }
    c->rows += batch->n;
    return TCUDB_OK;
}

static tcudb_status put_header(CopyTo *c, const PlanCol *cols, Error *err)
{
    for (uint32_t col = 0; col < c->ncols; col++) {
        if (col > 0) TRY(buf_char(&c->buf, c->options.delim, err));
        Str name = str_of(cols[col].name);
        TRY(c->options.csv ? put_csv(c, name, false, err) : put_text_escaped(c, name, err));
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
    do c->fd = open(c->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
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
    buf_init(&c->value, env->mem);
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
    buf_free(&c->value);
    arena_free(&c->arena);
    mem_free(c->mem, c, sizeof *c);
}
