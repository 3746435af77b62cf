/*
 * func_unicode.c: unistr(), normalize() and IS NORMALIZED.
 *
 * unistr() replaces \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX by the character of that number, two halves of a UTF-16 pair
 * by theirs. Normal forms are utf8proc's; text of ASCII alone is normal in each. Cost: linear.
 */
#include "type/type_int.h"

#include <ctype.h>
#include <utf8proc.h>

/* ---- unistr */

typedef struct Escapes {
    Str rest;
    Buf *to;
    uint32_t first; /* half of a pair that waits for the other; 0: none */
} Escapes;

static tcudb_status bad_pair(Error *err)
{
    return error_set(err, SQLSTATE_SYNTAX_ERROR, "invalid Unicode surrogate pair");
}

static bool hex_digits(Str s, uint32_t skip, uint32_t n, uint32_t *out)
{
    if (s.len < skip + n) return false;
    *out = 0;
    for (uint32_t i = skip; i < skip + n; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (!isxdigit(c)) return false;
        *out = *out << 4 | (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
}

/* The bytes of the escape that s begins with, and its number; 0: it is none. */
static uint32_t find_escape(Str s, uint32_t *number)
{
    char kind = s.len > 1 ? s.ptr[1] : '\0';
    if (hex_digits(s, 1, 4, number)) return 5;
    if (kind == 'u' && hex_digits(s, 2, 4, number)) return 6;
    if (kind == '+' && hex_digits(s, 2, 6, number)) return 8;
    return kind == 'U' && hex_digits(s, 2, 8, number) ? 10 : 0;
}

static tcudb_status put_number(Escapes *e, uint32_t c, Error *err)
{
    utf8proc_uint8_t bytes[4];
    bool second = c >= 0xdc00 && c <= 0xdfff;
    if (c == 0 || c > 0x10ffff)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "invalid Unicode code point: %04X", c);
    if (second != (e->first != 0)) return bad_pair(err);
    if (second) c = 0x10000 + ((e->first & 0x3ff) << 10) + (c & 0x3ff);
    e->first = c >= 0xd800 && c <= 0xdbff ? c : 0;
    if (e->first != 0) return TCUDB_OK;
    return buf_str(e->to, (Str){(char *)bytes, (uint32_t)utf8proc_encode_char((utf8proc_int32_t)c, bytes)}, err);
}

static tcudb_status take_escape(Escapes *e, Error *err)
{
    uint32_t number = 0, n = find_escape(e->rest, &number);
    if (e->rest.len > 1 && e->rest.ptr[1] == '\\') {
        if (e->first != 0) return bad_pair(err);
        n = 2;
        TRY(buf_char(e->to, '\\', err));
    } else if (n > 0) {
        TRY(put_number(e, number, err));
    } else {
        tcudb_status status = error_set(err, SQLSTATE_SYNTAX_ERROR, "invalid Unicode escape");
        error_hint(err, "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.");
        return status;
    }
    e->rest = (Str){e->rest.ptr + n, e->rest.len - n};
    return TCUDB_OK;
}

static tcudb_status unescape(Str s, Buf *to, Error *err)
{
    Escapes e = {s, to, 0};
    while (e.rest.len > 0) {
        const char *next = memchr(e.rest.ptr, '\\', e.rest.len);
        uint32_t plain = next == NULL ? e.rest.len : (uint32_t)(next - e.rest.ptr);
        if (plain > 0 && e.first != 0) return bad_pair(err);
        TRY(buf_str(to, (Str){e.rest.ptr, plain}, err));
        e.rest = (Str){e.rest.ptr + plain, e.rest.len - plain};
        if (e.rest.len > 0) TRY(take_escape(&e, err));
    }
    return e.first != 0 ? bad_pair(err) : TCUDB_OK;
}

KERNEL(text_unistr)
{
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    const Str *texts = args[0].data;
    EACH_ROW(i, row)
    {
        buf.len = 0;
        TRY_GOTO(unescape(texts[row * STRIDE(args[0])], &buf, err));
        TRY_GOTO(text_keep(ctx, &buf, &((Str *)out->data)[row], err));
    }
done:
    buf_free(&buf);
    return status;
}

/* ---- normal forms */

static tcudb_status form_of(Str name, utf8proc_option_t *out, Error *err)
{
    static const struct {
        const char *name;
        int options;
    } forms[] = {{"NFC", UTF8PROC_COMPOSE},
                 {"NFD", UTF8PROC_DECOMPOSE},
                 {"NFKC", UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                 {"NFKD", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (name.len != strlen(forms[i].name) || strncasecmp(name.ptr, forms[i].name, name.len) != 0) continue;
        *out = (utf8proc_option_t)(UTF8PROC_STABLE | forms[i].options);
        return TCUDB_OK;
    }
    if (name.len > ERROR_TEXT / 2) name.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "invalid normalization form: " STR_FMT, STR_ARG(name));
}

static bool is_ascii(Str s)
{
    unsigned char high = 0;
    for (uint32_t i = 0; i < s.len; i++) high |= (unsigned char)s.ptr[i];
    return high < 0x80;
}

static tcudb_status normalize(EvalCtx *ctx, Str s, Str form, Str *out, Error *err)
{
    utf8proc_option_t options = UTF8PROC_STABLE;
    TRY(form_of(form, &options, err));
    *out = s;
    if (is_ascii(s)) return TCUDB_OK;
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)s.ptr;
    utf8proc_ssize_t n = utf8proc_decompose(text, s.len, NULL, 0, options);
    if (n < 0) return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "%s", utf8proc_errmsg(n));
    utf8proc_int32_t *chars = ARENA_ARRAY(ctx->arena, utf8proc_int32_t, (size_t)n + 1, err);
    TRY_PTR(chars);
    n = utf8proc_decompose(text, s.len, chars, n, options);
    if (n >= 0) n = utf8proc_reencode(chars, n, options); /* in place */
    if (n < 0) return error_set(err, SQLSTATE_CHARACTER_NOT_IN_REPERTOIRE, "%s", utf8proc_errmsg(n));
    *out = (Str){(const char *)chars, (uint32_t)n};
    return TCUDB_OK;
}

KERNEL(text_normalize)
{
    BINARY_ROWS(Str, Str, Str, TRY(normalize(ctx, x, y, &r, err)));
    return TCUDB_OK;
}

KERNEL(text_normalize_nfc)
{
    UNARY_ROWS(Str, Str, TRY(normalize(ctx, x, STR_LIT("NFC"), &r, err)));
    return TCUDB_OK;
}

KERNEL(text_is_normalized)
{
    BINARY_ROWS(Str, Str, uint8_t, {
        Str normal;
        TRY(normalize(ctx, x, y, &normal, err));
        r = str_equal(x, normal);
    });
    return TCUDB_OK;
}

KERNEL(text_is_normalized_nfc)
{
    UNARY_ROWS(Str, uint8_t, {
        Str normal;
        TRY(normalize(ctx, x, STR_LIT("NFC"), &normal, err));
        r = str_equal(x, normal);
    });
    return TCUDB_OK;
}
