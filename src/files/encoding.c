/*
 * encoding.c: names of encodings, and the check that bytes are UTF-8.
 *
 * Text in tcudb is UTF-8 without NUL, so every file's text is checked once, a block at a time: eight bytes
 * that are all ASCII and not zero cost one test; only the others are decoded (RFC 3629: no overlong forms, no
 * surrogates, at most U+10FFFF).
 */
#include "files/source.h"

#include <ctype.h>

static const struct EncodingName {
    const char *name; /* lower case, without - and _ */
    Encoding encoding;
} encoding_names[] = {
    {"utf8", ENCODING_UTF8},           {"unicode", ENCODING_UTF8},
    {"sqlascii", ENCODING_UTF8},       {"ascii", ENCODING_UTF8},
    {"latin1", ENCODING_LATIN1},       {"iso88591", ENCODING_LATIN1},
    {"win1252", ENCODING_WINDOWS1252}, {"windows1252", ENCODING_WINDOWS1252},
    {"cp1252", ENCODING_WINDOWS1252},  {"utf16", ENCODING_UTF16LE},
    {"utf16le", ENCODING_UTF16LE},     {"utf16be", ENCODING_UTF16BE},
    {"ucs2", ENCODING_UTF16LE},
};

bool encoding_from_name(Str name, Encoding *out)
{
    char plain[24];
    uint32_t n = 0;
    for (uint32_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '-' || name.ptr[i] == '_') continue;
        if (n + 1 >= sizeof plain) return false;
        plain[n++] = (char)tolower((unsigned char)name.ptr[i]);
    }
    for (size_t i = 0; i < sizeof encoding_names / sizeof encoding_names[0]; i++) {
        if (!str_equal((Str){plain, n}, str_of(encoding_names[i].name))) continue;
        *out = encoding_names[i].encoding;
        return true;
    }
    return false;
}

const char *encoding_name(Encoding encoding)
{
    switch (encoding) {
    case ENCODING_UTF8: return "utf-8";
    case ENCODING_LATIN1: return "latin-1";
    case ENCODING_WINDOWS1252: return "windows-1252";
    case ENCODING_UTF16LE: return "utf-16le";
    case ENCODING_UTF16BE: return "utf-16be";
    }
    return "unknown";
}

/* Length of the sequence at p, 0 if it is none. */
static uint32_t utf8_sequence(const uint8_t *p, size_t n)
{
    if (p[0] < 0x80) return p[0] != 0;
    if (p[0] < 0xc2 || n < 2 || (p[1] & 0xc0) != 0x80) return 0;
    if (p[0] < 0xe0) return 2;
    if (n < 3 || (p[2] & 0xc0) != 0x80) return 0;
    uint32_t two = (uint32_t)p[0] << 8 | p[1];
    if (p[0] < 0xf0) return two >= 0xe0a0 && (two < 0xeda0 || two >= 0xee80) ? 3 : 0;
    if (n < 4 || (p[3] & 0xc0) != 0x80) return 0;
    return two >= 0xf090 && two < 0xf490 ? 4 : 0;
}

size_t utf8_check(const char *text, size_t len)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t at = 0;
    while (at < len) {
        const uint64_t high = UINT64_C(0x8080808080808080), ones = UINT64_C(0x0101010101010101);
        while (at + 32 <= len) {
            uint64_t w[4];
            memcpy(w, p + at, sizeof w);
            uint64_t bad = w[0] | w[1] | w[2] | w[3];
            bad |= (w[0] - ones) | (w[1] - ones) | (w[2] - ones) | (w[3] - ones); /* a zero byte borrows into bit 7 */
            if ((bad & high) != 0) break;
            at += 32;
        }
        size_t stop = at + 32 < len ? at + 32 : len;
        while (at < stop) {
            uint32_t n = utf8_sequence(p + at, len - at);
            if (n == 0) return at;
            at += n;
        }
    }
    return len;
}
