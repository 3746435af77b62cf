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
