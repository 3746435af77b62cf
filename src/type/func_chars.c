/*
 * func_chars.c: letter case, character codes, digests and quoting.
 *
 * Case follows Unicode's simple mappings, one character to one (utf8proc's tables), whatever the locale of
 * the process; ASCII, the common case, is done without tables.
 */
#include "base/hot.h"
#include "type/type_int.h"

#include <openssl/evp.h>
#include <utf8proc.h>

static int32_t lower_char(int32_t c)
{
    return c < 128 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : utf8proc_tolower(c);
}

static int32_t upper_char(int32_t c)
{
    if (c < 128) return c >= 'a' && c <= 'z' ? c - 32 : c;
    return c == 0xdf ? c : utf8proc_toupper(c); /* sharp s has no simple capital */
}

static bool is_alnum(int32_t c)
{
    if (c < 128) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    utf8proc_category_t k = utf8proc_category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) || k == UTF8PROC_CATEGORY_ND;
}

typedef enum CaseMode { CASE_LOWER, CASE_UPPER, CASE_TITLE } CaseMode;

/* Changes the case of ASCII letters; false: the text has other characters. Without branches. */
HOT static bool map_ascii(const char *s, size_t n, char first, char *to)
{
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        all |= c;
        to[i] = (char)(c ^ ((unsigned char)(c - (unsigned char)first) < 26 ? 0x20 : 0));
    }
    return all < 0x80;
}

/* Invalid bytes are passed through. */
static tcudb_status map_case(EvalCtx *ctx, Str s, CaseMode mode, Str *out, Error *err)
{
    bool inside = false;
    uint32_t steps = 0;
    char *to = arena_alloc_raw(ctx->arena, (size_t)s.len * 3 + 4, err); /* a mapping may need a byte or two more */
    TRY_PTR(to);
    char *at = to;
    if (mode != CASE_TITLE && map_ascii(s.ptr, s.len, mode == CASE_UPPER ? 'a' : 'A', to)) {
        *out = (Str){to, s.len};
        return TCUDB_OK;
    }
    for (uint32_t i = 0; i < s.len;) {
        utf8proc_int32_t c = (unsigned char)s.ptr[i];
        utf8proc_ssize_t n = 1;
        TRY(text_poll(ctx, &steps, err));
        if (c >= 128) n = utf8proc_iterate((const utf8proc_uint8_t *)s.ptr + i, s.len - i, &c);
        if (n <= 0) {
            *at++ = s.ptr[i++];
            continue;
        }
        bool word = is_alnum(c);
        c = mode == CASE_UPPER || (mode == CASE_TITLE && !inside) ? upper_char(c) : lower_char(c);
        inside = word;
        at += utf8proc_encode_char(c, (utf8proc_uint8_t *)at);
        i += (uint32_t)n;
    }
    *out = (Str){to, (uint32_t)(at - to)};
    return TCUDB_OK;
}

tcudb_status text_fold(EvalCtx *ctx, Str s, Str *out, Error *err)
{
    return map_case(ctx, s, CASE_LOWER, out, err);
}

/* The run's ASCII letters; *done false: it has other characters, or is one long text. */
static tcudb_status map_run(EvalCtx *ctx, const TextRun *run, CaseMode mode, char **to, bool *done, Error *err)
{
    *done = false;
    if (run->bytes > RUN_BYTES) return TCUDB_OK;
    *to = arena_alloc_raw(ctx->arena, run->bytes + 1, err);
    TRY_PTR(*to);
    *done = map_ascii(run->ptr, run->bytes, mode == CASE_UPPER ? 'a' : 'A', *to);
    return TCUDB_OK;
}

static tcudb_status map_rows(EvalCtx *ctx, const Vector *texts, const uint16_t *sel, uint32_t n, CaseMode mode,
                             Str *out, Error *err)
{
    const Str *from = texts->data;
    const uint32_t stride = STRIDE(*texts);
    for (uint32_t i = 0; i < n;) {
        TextRun run = text_run(texts, sel, i, n, RUN_BYTES);
        char *to = NULL;
        bool done;
        TRY(map_run(ctx, &run, mode, &to, &done, err));
        for (; i < run.end; i++) {
            uint32_t row = sel == NULL ? i : sel[i];
            Str s = from[row * stride];
            if (done)
                out[row] = (Str){to, s.len};
            else
                TRY(map_case(ctx, s, mode, &out[row], err));
            if (done) to += s.len;
        }
    }
    return TCUDB_OK;
}

tcudb_status text_fold_rows(EvalCtx *ctx, const Vector *texts, const uint16_t *sel, uint32_t n, Str *out, Error *err)
{
    return map_rows(ctx, texts, sel, n, CASE_LOWER, out, err);
}

KERNEL(text_lower)
{
    out->ascii = args[0].ascii;
    return map_rows(ctx, &args[0], sel, n, CASE_LOWER, out->data, err);
}

KERNEL(text_upper)
{
    out->ascii = args[0].ascii;
    return map_rows(ctx, &args[0], sel, n, CASE_UPPER, out->data, err);
}

KERNEL(text_initcap)
{
    UNARY_ROWS(Str, Str, TRY(map_case(ctx, x, CASE_TITLE, &r, err)));
    return TCUDB_OK;
}

/* ---- character codes ----------------------------------------------------------------------------- */

KERNEL(text_ascii)
{
    UNARY_ROWS(Str, int32_t, {
        utf8proc_int32_t c = 0;
        if (x.len > 0 && utf8proc_iterate((const utf8proc_uint8_t *)x.ptr, x.len, &c) <= 0) c = (unsigned char)x.ptr[0];
        r = c;
    });
    return TCUDB_OK;
}

KERNEL(int4_chr)
{
    UNARY_ROWS(int32_t, Str, {
        if (x == 0) return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "null character not permitted");
        if (x < 0) return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "character number must be positive");
        if (x > 0x10ffff)
            return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "requested character too large for encoding: %d", x);
        if (x >= 0xd800 && x <= 0xdfff)
            return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "requested character not valid for encoding: %d", x);
        char *to = arena_alloc_raw(ctx->arena, 4, err);
        TRY_PTR(to);
        r = (Str){to, (uint32_t)utf8proc_encode_char(x, (utf8proc_uint8_t *)to)};
    });
    return TCUDB_OK;
}

static tcudb_status hex(Arena *arena, uint64_t v, Str *out, Error *err)
{
    char *text = arena_printf(arena, err, "%llx", (unsigned long long)v);
    TRY_PTR(text);
    *out = str_of(text);
    return TCUDB_OK;
}

KERNEL(int4_to_hex)
{
    UNARY_ROWS(int32_t, Str, TRY(hex(ctx->arena, (uint32_t)x, &r, err)));
    return TCUDB_OK;
}

KERNEL(int8_to_hex)
{
    UNARY_ROWS(int64_t, Str, TRY(hex(ctx->arena, (uint64_t)x, &r, err)));
    return TCUDB_OK;
}

static tcudb_status no_digest(Error *err)
{
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "could not compute MD5 hash");
}

/* A long text in pieces, between which the statement can be stopped. */
static tcudb_status digest(const EvalCtx *ctx, EVP_MD_CTX *md, const EVP_MD *md5, Str s, unsigned char *out,
                           unsigned *size, Error *err)
{
    enum { PIECE = 1 << 22 };
    if (EVP_DigestInit_ex2(md, md5, NULL) != 1) return no_digest(err);
    for (uint32_t at = 0, n; at < s.len; at += n) {
        n = s.len - at < PIECE ? s.len - at : PIECE;
        if (n == PIECE) TRY(cancel_poll(ctx->cancel, err));
        if (EVP_DigestUpdate(md, s.ptr + at, n) != 1) return no_digest(err);
    }
    return EVP_DigestFinal_ex(md, out, size) == 1 ? TCUDB_OK : no_digest(err);
}

static tcudb_status md5_rows(EvalCtx *ctx, EVP_MD_CTX *md, const EVP_MD *md5, const Vector *args, const uint16_t *sel,
                             uint32_t n, Vector *out, Error *err)
{
    static const char digits[] = "0123456789abcdef";
    UNARY_ROWS(Str, Str, {
        unsigned char bytes[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        TRY(digest(ctx, md, md5, x, bytes, &size, err));
        char *to = arena_alloc_raw(ctx->arena, (size_t)2 * size, err);
        TRY_PTR(to);
        for (unsigned k = 0; k < size; k++) {
            to[2 * k] = digits[bytes[k] >> 4];
            to[2 * k + 1] = digits[bytes[k] & 15];
        }
        r = (Str){to, 2 * size};
    });
    return TCUDB_OK;
}

/* The algorithm is fetched once a batch: that takes the library's locks. */
KERNEL(text_md5)
{
    (void)nargs;
    EVP_MD *md5 = EVP_MD_fetch(NULL, "MD5", NULL);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    tcudb_status status = md5 == NULL || md == NULL ? no_digest(err) : md5_rows(ctx, md, md5, args, sel, n, out, err);
    EVP_MD_CTX_free(md);
    EVP_MD_free(md5);
    return status;
}

/* ---- quoting -------------------------------------------------------------------------------------- */

/* PostgreSQL 15's keywords that cannot stand for a name everywhere, sorted. */
static const char *const reserved_words[] = {
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
};

static bool is_reserved(Str s)
{
    size_t lo = 0, hi = sizeof reserved_words / sizeof *reserved_words;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = str_compare(s, str_of(reserved_words[mid]));
        if (order == 0) return true;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return false;
}

static bool is_plain_name(Str s)
{
    if (s.len == 0 || !((s.ptr[0] >= 'a' && s.ptr[0] <= 'z') || s.ptr[0] == '_')) return false;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
    }
    return !is_reserved(s);
}

tcudb_status text_quote_name(Str s, Buf *buf, Error *err)
{
    if (is_plain_name(s)) return buf_str(buf, s, err);
    TRY(buf_char(buf, '"', err));
    for (uint32_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"') TRY(buf_char(buf, '"', err));
        TRY(buf_char(buf, s.ptr[i], err));
    }
    return buf_char(buf, '"', err);
}

tcudb_status text_quoted_name(Arena *arena, Str s, const char **out, Error *err)
{
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = text_quote_name(s, &buf, err);
    *out = status == TCUDB_OK ? arena_strndup(arena, buf.data, buf.len, err) : NULL;
    if (status == TCUDB_OK && *out == NULL) status = TCUDB_NOMEM;
    buf_free(&buf);
    return status;
}

static tcudb_status quote_text(const EvalCtx *ctx, Str s, Buf *buf, Error *err)
{
    uint32_t steps = 0;
    if (s.len > 0 && memchr(s.ptr, '\\', s.len) != NULL) TRY(buf_char(buf, 'E', err));
    TRY(buf_char(buf, '\'', err));
    for (uint32_t i = 0; i < s.len; i++) {
        TRY(text_poll(ctx, &steps, err));
        if (s.ptr[i] == '\'' || s.ptr[i] == '\\') TRY(buf_char(buf, s.ptr[i], err));
        TRY(buf_char(buf, s.ptr[i], err));
    }
    return buf_char(buf, '\'', err);
}

/* The text a value is cast to: as it prints, but booleans in full. */
static tcudb_status print_cast(const Value *v, Buf *buf, Error *err)
{
    if (v->type.id == TYPE_BOOL) return buf_text(buf, v->b ? "true" : "false", err);
    return value_print(v, buf, err);
}

static tcudb_status quote_rows(EvalCtx *ctx, const Vector *arg, const uint16_t *sel, uint32_t n, bool name, Vector *out,
                               Error *err)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf plain, quoted;
    buf_init(&plain, NULL);
    buf_init(&quoted, NULL);
    EACH_ROW(i, row)
    {
        Value v = vec_value(arg, row);
        plain.len = quoted.len = 0;
        if (v.null) {
            to[row] = STR_LIT("NULL"); /* quote_nullable; the others are strict */
            continue;
        }
        TRY_GOTO(print_cast(&v, &plain, err));
        Str s = {plain.data, (uint32_t)plain.len};
        TRY_GOTO(name ? text_quote_name(s, &quoted, err) : quote_text(ctx, s, &quoted, err));
        TRY_GOTO(text_keep(ctx, &quoted, &to[row], err));
    }
done:
    buf_free(&plain);
    buf_free(&quoted);
    return status;
}

KERNEL(text_quote_ident)
{
    return quote_rows(ctx, &args[0], sel, n, true, out, err);
}

KERNEL(any_quote_literal)
{
    return quote_rows(ctx, &args[0], sel, n, false, out, err);
}

/* ---- format(): %s %I %L, %n$, widths --------------------------------------------------------------- */

typedef struct Directive {
    int32_t position; /* of n$; 0: the next argument */
    int32_t width;
    int32_t width_position; /* of *n$; -1: the next argument; 0: none */
    bool left;
    char kind;
} Directive;

static tcudb_status read_int(Str f, uint32_t *at, int32_t *out, Error *err)
{
    int64_t v = 0;
    for (; *at < f.len && f.ptr[*at] >= '0' && f.ptr[*at] <= '9'; ++*at) {
        v = v * 10 + (f.ptr[*at] - '0');
        if (v > INT32_MAX) return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range");
    }
    *out = (int32_t)v;
    return TCUDB_OK;
}

static tcudb_status unterminated(Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "unterminated format() type specifier");
    error_hint(err, "For a single \"%%\" use \"%%%%\".");
    return status;
}

static tcudb_status zero_position(Error *err)
{
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                     "format specifies argument 0, but arguments are numbered from 1");
}

/* After the %: [n$][-][width | * | *n$]kind. */
static tcudb_status read_directive(Str f, uint32_t *at, Directive *d, Error *err)
{
    *d = (Directive){0};
    uint32_t start = *at;
    TRY(read_int(f, at, &d->width, err));
    if (*at > start && *at < f.len && f.ptr[*at] == '$') {
        d->position = d->width;
        d->width = 0;
        ++*at;
        if (d->position == 0) return zero_position(err);
    } else if (*at > start) {
        goto kind;
    }
    for (; *at < f.len && f.ptr[*at] == '-'; ++*at) d->left = true;
    if (*at < f.len && f.ptr[*at] == '*') {
        start = ++*at;
        TRY(read_int(f, at, &d->width_position, err));
        if (*at == start)
            d->width_position = -1;
        else if (*at >= f.len || f.ptr[(*at)++] != '$')
            return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "width argument position must be ended by \"$\"");
        else if (d->width_position == 0)
            return zero_position(err);
    } else {
        TRY(read_int(f, at, &d->width, err));
    }
kind:
    if (*at >= f.len) return unterminated(err);
    d->kind = f.ptr[(*at)++];
    return TCUDB_OK;
}

static tcudb_status pick(const Vector *args, uint32_t nargs, int32_t position, uint32_t *next, uint32_t row, Value *out,
                         Error *err)
{
    uint32_t k = position > 0 ? (uint32_t)position : *next;
    if (k >= nargs) return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "too few arguments for format()");
    *next = k + 1;
    *out = vec_value(&args[k], row);
    return TCUDB_OK;
}

static tcudb_status pad_format(Buf *buf, size_t start, const Directive *d, Error *err)
{
    uint32_t have = utf8_length((Str){buf->data + start, (uint32_t)(buf->len - start)});
    bool left = d->left || d->width < 0;
    int64_t want = d->width < 0 ? -(int64_t)d->width : d->width;
    if (want <= have) return TCUDB_OK;
    size_t missing = (size_t)(want - have);
    TRY(buf_reserve(buf, missing, err));
    if (!left) memmove(buf->data + start + missing, buf->data + start, buf->len - start);
    memset(buf->data + (left ? buf->len : start), ' ', missing);
    buf->len += missing;
    return TCUDB_OK;
}

static tcudb_status print_directive(const EvalCtx *ctx, const Value *v, const Directive *d, Buf *buf, Error *err)
{
    if (v->null) {
        if (d->kind == 'I')
            return error_set(err, SQLSTATE_NULL_VALUE_NOT_ALLOWED,
                             "null values cannot be formatted as an SQL identifier");
        return d->kind == 'L' ? buf_text(buf, "NULL", err) : TCUDB_OK;
    }
    if (d->kind == 's') return value_print(v, buf, err);
    Buf plain;
    buf_init(&plain, NULL);
    tcudb_status status = value_print(v, &plain, err);
    Str s = {plain.data, (uint32_t)plain.len};
    if (status == TCUDB_OK) status = d->kind == 'I' ? text_quote_name(s, buf, err) : quote_text(ctx, s, buf, err);
    buf_free(&plain);
    return status;
}

static tcudb_status format_width(EvalCtx *ctx, const Vector *args, uint32_t nargs, uint32_t row, uint32_t *next,
                                 Directive *d, Error *err)
{
    Value v = {.null = true}, width = {.null = true};
    if (d->width_position == 0) return TCUDB_OK;
    TRY(pick(args, nargs, d->width_position > 0 ? d->width_position : 0, next, row, &v, err));
    if (v.null) return TCUDB_OK;
    TRY(value_cast(&v, TYPE(TYPE_INT4), CAST_EXPLICIT, ctx->arena, &width, err));
    d->width = width.i32;
    return TCUDB_OK;
}

static tcudb_status format_row(EvalCtx *ctx, const Vector *args, uint32_t nargs, uint32_t row, Buf *buf, Error *err)
{
    Str f = vec_value(&args[0], row).str;
    uint32_t next = 1, steps = 0;
    for (uint32_t at = 0; at < f.len;) {
        char c = f.ptr[at++];
        TRY(text_poll(ctx, &steps, err));
        if (c != '%') {
            TRY(buf_char(buf, c, err));
            continue;
        }
        if (at == f.len) return unterminated(err);
        if (f.ptr[at] == '%') {
            TRY(buf_char(buf, f.ptr[at++], err));
            continue;
        }
        Directive d;
        Value v = {.null = true};
        TRY(read_directive(f, &at, &d, err));
        if (d.kind != 's' && d.kind != 'I' && d.kind != 'L') {
            tcudb_status status =
                error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "unrecognized format() type specifier \"%c\"", d.kind);
            error_hint(err, "For a single \"%%\" use \"%%%%\".");
            return status;
        }
        TRY(format_width(ctx, args, nargs, row, &next, &d, err));
        TRY(pick(args, nargs, d.position, &next, row, &v, err));
        size_t start = buf->len;
        TRY(print_directive(ctx, &v, &d, buf, err));
        TRY(pad_format(buf, start, &d, err));
    }
    return TCUDB_OK;
}

KERNEL(text_format)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        buf.len = 0;
        if (vec_is_null(&args[0], row)) {
            TRY_GOTO(vec_need_valid(ctx->arena, out, live_rows(sel, n), err));
            bit_clear(out->valid, row);
            continue;
        }
        TRY_GOTO(format_row(ctx, args, nargs, row, &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    return status;
}
