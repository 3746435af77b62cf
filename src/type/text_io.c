/*
 * text_io.c: text forms of booleans, integers and floats, and fitting text to varchar(n) and char(n).
 *
 * Floats print the shortest digits that read back as the same value (extra_float_digits = 1): %.15g has
 * them if any 15 digits do, then 16, then 17 are tried. Around powers of two the interval of decimals
 * that read back is lopsided, and the nearest 16-digit decimal may miss it where its neighbour does not;
 * the neighbour above is tried there. PostgreSQL's layout: fixed for exponents -4..14 (-4..5 for real).
 */
#include "type/type_int.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static Str trimmed(Str text)
{
    while (text.len > 0 && is_space(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.ptr[text.len - 1])) text.len--;
    return text;
}

tcudb_status bad_text(const char *type_name_, Str text, Error *err)
{
    if (text.len > ERROR_TEXT / 2) text.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_INVALID_TEXT_REPRESENTATION, "invalid input syntax for type %s: \"" STR_FMT "\"",
                     type_name_, STR_ARG(text));
}

static tcudb_status out_of_range_text(const char *type_name_, Str text, Error *err)
{
    if (text.len > ERROR_TEXT / 2) text.len = ERROR_TEXT / 2;
    return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value \"" STR_FMT "\" is out of range for type %s",
                     STR_ARG(text), type_name_);
}

static bool is_prefix(Str text, const char *word, uint32_t least)
{
    if (text.len < least || text.len > strlen(word)) return false;
    for (uint32_t i = 0; i < text.len; i++)
        if ((text.ptr[i] | 0x20) != word[i]) return false;
    return true;
}

tcudb_status bool_parse(Str text, bool *out, Error *err)
{
    Str t = trimmed(text);
    *out = is_prefix(t, "true", 1) || is_prefix(t, "yes", 1) || is_prefix(t, "on", 2) || str_equal(t, STR_LIT("1"));
    if (*out || is_prefix(t, "false", 1) || is_prefix(t, "no", 1) || is_prefix(t, "off", 2) ||
        str_equal(t, STR_LIT("0")))
        return TCUDB_OK;
    return bad_text("boolean", text, err);
}

tcudb_status int_parse(Str text, int64_t lo, int64_t hi, const char *type_name_, int64_t *out, Error *err)
{
    Str t = trimmed(text);
    uint32_t i = 0;
    bool negative = t.len > 0 && t.ptr[0] == '-', over = false;
    if (t.len > 0 && (t.ptr[0] == '-' || t.ptr[0] == '+')) i = 1;
    if (i == t.len) return bad_text(type_name_, text, err);
    int64_t v = 0; /* counted downwards: the negative range is one larger */
    for (; i < t.len; i++) {
        if (t.ptr[i] < '0' || t.ptr[i] > '9') return bad_text(type_name_, text, err);
        over |= __builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, t.ptr[i] - '0', &v);
    }
    if (!negative && v == INT64_MIN) over = true;
    if (over) return out_of_range_text(type_name_, text, err);
    if (!negative) v = -v;
    if (v < lo || v > hi) return out_of_range_text(type_name_, text, err);
    *out = v;
    return TCUDB_OK;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142"
                            "43444546474849505152535455565758596061626364656667686970717273747576777879808182838485"
                            "8687888990919293949596979899";

void digits_print(uint64_t value, uint32_t digits, char *to)
{
    for (; digits >= 2; digits -= 2, value /= 100) memcpy(to + digits - 2, pairs + 2 * (value % 100), 2);
    if (digits == 1) *to = (char)('0' + value % 10);
}

static int decimal_digits(uint64_t m)
{
    int n = 1;
    for (; m >= 10000; m /= 10000) n += 4;
    return n + (m >= 10) + (m >= 100) + (m >= 1000);
}

uint32_t int_print(int64_t value, char *buffer)
{
    uint64_t m = value < 0 ? -(uint64_t)value : (uint64_t)value;
    uint32_t sign = value < 0, n = (uint32_t)decimal_digits(m);
    buffer[0] = '-';
    digits_print(m, n, buffer + sign);
    buffer[sign + n] = '\0';
    return sign + n;
}

/* ---- floats -------------------------------------------------------------------------------- */

/* Lays out d.ddd x 10^exponent as PostgreSQL does. */
static uint32_t layout_float(bool negative, const char *digits, int ndigits, int exponent, int fixed_below, char *out)
{
    uint32_t len = 0;
    while (ndigits > 1 && digits[ndigits - 1] == '0') ndigits--;
    if (negative) out[len++] = '-';
    if (exponent >= -4 && exponent < fixed_below) {
        if (exponent < 0) {
            out[len++] = '0';
            out[len++] = '.';
            for (int i = -1; i > exponent; i--) out[len++] = '0';
        }
        for (int i = 0; i < ndigits || i <= exponent; i++) {
            if (i > 0 && i == exponent + 1) out[len++] = '.';
            out[len++] = i < ndigits ? digits[i] : '0';
        }
        out[len] = '\0';
        return len;
    }
    out[len++] = digits[0];
    if (ndigits > 1) out[len++] = '.';
    for (int i = 1; i < ndigits; i++) out[len++] = digits[i];
    return len + (uint32_t)snprintf(out + len, 8, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static uint128 odd_part(uint128 v)
{
    while (v != 0 && (v & 1) == 0) v >>= 1;
    return v;
}

/* Whether d.ddde+x lies exactly halfway between v and a neighbour. Such a decimal reads back (ties go to even),
 * but PostgreSQL does not count it as v's. half: an odd multiple of half a unit, as m x 2^k with integer m.
 * Equality of D x 10^e and m x 2^k is equality of the odd parts of D x 5^e and m, for e in -27..27 only. */
static bool is_halfway(const char *text, uint64_t half)
{
    uint64_t digits = 0;
    const char *p = text;
    int behind = 0;
    for (bool point = false; *p != 'e'; p++) {
        if (*p == '.')
            point = true;
        else {
            digits = digits * 10 + (uint64_t)(*p - '0');
            behind += point;
        }
    }
    int exponent = (int)strtol(p + 1, NULL, 10) - behind;
    for (; digits != 0 && digits % 10 == 0; exponent++) digits /= 10;
    if (exponent < -27 || exponent > 27) return false;
    uint128 a = digits, b = half;
    for (int i = 0; i < exponent; i++) a *= 5;
    for (int i = 0; i > exponent; i--) b *= 5;
    return odd_part(a) == odd_part(b);
}

static bool reads_back(const char *text, double v, bool single)
{
    if (single ? strtof(text, NULL) != (float)v : strtod(text, NULL) != v) return false;
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(v, &exponent), single ? 24 : 53);
    bool power_of_two = (mantissa & (mantissa - 1)) == 0;
    return !is_halfway(text, 2 * mantissa + 1) && !is_halfway(text, power_of_two ? 4 * mantissa - 1 : 2 * mantissa - 1);
}

/* "%.*e" of v with the last digit one higher, if that needs no carry. */
static bool next_decimal(char *text)
{
    char *e = strchr(text, 'e');
    assert(e != NULL);
    if (e[-1] < '0' || e[-1] >= '9') return false;
    e[-1]++;
    return true;
}

/* Shortest digits of |v| in scientific form. */
static void shortest(double v, bool single, char text[40])
{
    int least = single ? 6 : 15, most = single ? 9 : 17;
    if (v < (single ? 1.1754943508222875e-38 : 2.2250738585072014e-308)) least = 1; /* denormal: fewer bits */
    for (int digits = least; digits <= most; digits++) {
        snprintf(text, 40, "%.*e", digits - 1, v);
        if (digits == most || reads_back(text, v, single)) return;
        if (digits > least && next_decimal(text) && reads_back(text, v, single)) return;
    }
}

static uint32_t print_float(double v, bool single, char *out)
{
    if (isnan(v)) return (uint32_t)snprintf(out, NUM_TEXT_MAX, "NaN");
    if (isinf(v)) return (uint32_t)snprintf(out, NUM_TEXT_MAX, "%s", v < 0 ? "-Infinity" : "Infinity");
    char text[40], digits[24] = "";
    int n = 0;
    shortest(fabs(v), single, text);
    char *e = strchr(text, 'e');
    for (char *p = text; p < e; p++)
        if (*p != '.') digits[n++] = *p;
    return layout_float(signbit(v), digits, n, (int)strtol(e + 1, NULL, 10), single ? 6 : 15, out);
}

uint32_t float8_print(double value, char *buffer)
{
    return print_float(value, false, buffer);
}

uint32_t float4_print(float value, char *buffer)
{
    return print_float((double)value, true, buffer);
}

static tcudb_status parse_float(Str text, bool single, double *out, Error *err)
{
    const char *name = single ? "real" : "double precision";
    char copy[512];
    Str t = trimmed(text);
    if (t.len == 0 || t.len >= sizeof copy || memchr(t.ptr, 0, t.len) != NULL) return bad_text(name, text, err);
    memcpy(copy, t.ptr, t.len);
    copy[t.len] = '\0';
    char *end;
    errno = 0;
    *out = single ? (double)strtof(copy, &end) : strtod(copy, &end);
    if (end != copy + t.len) return bad_text(name, text, err);
    if (errno == ERANGE && (*out == 0 || isinf(*out))) {
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "\"%s\" is out of range for type %s", copy, name);
    }
    return TCUDB_OK;
}

tcudb_status float8_parse(Str text, double *out, Error *err)
{
    return parse_float(text, false, out, err);
}

tcudb_status float4_parse(Str text, float *out, Error *err)
{
    double wide = 0;
    TRY(parse_float(text, true, &wide, err));
    *out = (float)wide;
    return TCUDB_OK;
}

/* ---- text lengths -------------------------------------------------------------------------- */

tcudb_status text_fit(Str text, Type to, bool cut, Str *out, Error *err)
{
    *out = text;
    if (to.length == 0 || (to.id != TYPE_BPCHAR && to.id != TYPE_VARCHAR)) return TCUDB_OK;
    if (to.id == TYPE_BPCHAR) *out = str_without_blanks(text);
    if (out->len <= to.length) return TCUDB_OK;
    uint32_t keep = utf8_prefix(*out, to.length);
    if (keep < out->len && !cut) { /* only blanks may be lost */
        Str rest = {out->ptr + keep, out->len - keep};
        if (str_without_blanks(rest).len > 0) {
            char name[TYPE_NAME_MAX];
            return error_set(err, SQLSTATE_STRING_DATA_RIGHT_TRUNCATION, "value too long for type %s",
                             type_name(to, name));
        }
    }
    out->len = keep;
    if (to.id == TYPE_BPCHAR) *out = str_without_blanks(*out);
    return TCUDB_OK;
}
