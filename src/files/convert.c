/*
 * convert.c: parses columns of texts.
 *
 * Each type has a loop over the plain common form (digits, ISO dates) that reads eight characters at once
 * where that helps; whatever it does not recognise goes to the type's input function (value_parse), which
 * knows all forms and words the error. So the fast paths must accept only what the input function accepts,
 * with the same result. SWAR digits: three multiplications turn eight ASCII digits into a number.
 */
#include "files/convert.h"

#include "type/datetime.h"

#include <assert.h>

/* The loops' shared outcome of a row that the fast path leaves. */
typedef struct Slow {
    Type type;
    Arena *arena;
    uint64_t *bad;
    uint32_t *bad_row;
    Error *err;
} Slow;

/* Reads row's text with the input function into data[row]; on failure either marks it bad or reports. */
static __attribute__((noinline)) tcudb_status slow_parse(const Slow *s, Str text, uint32_t row, void *data)
{
    Value v;
    tcudb_status status = value_parse(text, s->type, s->arena, &v, s->err);
    size_t size = phys_size(type_phys(s->type));
    if (status == TCUDB_OK) {
        memcpy((char *)data + row * size, &v.b, size);
        return TCUDB_OK;
    }
    *s->bad_row = row;
    if (s->bad == NULL || status != TCUDB_ERROR) return status;
    bit_set(s->bad, row);
    memset((char *)data + row * size, 0, size);
    return TCUDB_OK;
}

/* ---- digits ------------------------------------------------------------------------------- */

static inline uint64_t load8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

static inline bool all_digits8(uint64_t w)
{
    return ((w & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
            ((w + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4) == UINT64_C(0x3333333333333333);
}

static inline uint64_t digits8(uint64_t w)
{
    w = (w & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    w = (w & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (w & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

/* 1 to 8 digits at p (8 bytes are readable); false: something else is among them. */
static inline bool short_digits(const char *p, uint32_t n, uint64_t *value)
{
    assert(n >= 1 && n <= 8);
    /* the digits at the high end, zeros before them: the constant is shifted in two steps, since n may be 8 */
    uint64_t w = load8(p) << (64 - 8 * n) | UINT64_C(0x3030303030303030) >> (8 * n - 1) >> 1;
    *value = digits8(w);
    return all_digits8(w);
}

/* 1 to 18 digits. */
static inline bool long_digits(const char *p, uint32_t n, uint64_t *value)
{
    *value = 0;
    while (n > 8) {
        uint64_t w = load8(p);
        if (!all_digits8(w)) return false;
        *value = *value * 100000000 + digits8(w);
        p += 8;
        n -= 8;
    }
    static const uint64_t power[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t low;
    if (!short_digits(p, n, &low)) return false;
    *value = *value * power[n] + low;
    return true;
}

/* 9 to 18 digits, or a sign. */
static __attribute__((noinline)) bool long_int(Str text, int64_t *out)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    const char *p = text.ptr + negative;
    uint32_t n = text.len - negative;
    uint64_t value;
    if (n == 0 || n > 18) return false;
    if (!(n <= 8 ? short_digits(p, n, &value) : long_digits(p, n, &value))) return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static inline bool fast_int(Str text, int64_t *out)
{
    uint64_t value;
    if (text.len - 1 < 8 && short_digits(text.ptr, text.len, &value)) {
        *out = (int64_t)value;
        return true;
    }
    return long_int(text, out);
}

#define EACH_VALID_ROW(row, n, valid)                                                                                  \
    for (uint32_t row = 0; row < (n); row++)                                                                           \
        if ((valid) == NULL || bit_get((valid), row))

static tcudb_status parse_i16(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, int16_t *data)
{
    int64_t v;
    EACH_VALID_ROW(row, n, valid)
    {
        if (fast_int(texts[row], &v) && v == (int16_t)v)
            data[row] = (int16_t)v;
        else
            TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

static tcudb_status parse_i32(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, int32_t *data)
{
    int64_t v;
    EACH_VALID_ROW(row, n, valid)
    {
        if (fast_int(texts[row], &v) && v == (int32_t)v)
            data[row] = (int32_t)v;
        else
            TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

static tcudb_status parse_i64(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, int64_t *data)
{
    EACH_VALID_ROW(row, n, valid)
    {
        if (!fast_int(texts[row], &data[row])) TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

/* ---- decimals and floats ------------------------------------------------------------------ */

/* [-]digits[.digits] with 1 to 18 digits: value and how many of them follow the point. */
static inline bool fast_decimal(Str text, int64_t *value, uint32_t *fraction)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    const char *p = text.ptr + negative;
    const char *end = text.ptr + text.len;
    uint64_t v = 0;
    uint32_t digits = 0;
    const char *point = NULL;
    for (; p < end; p++) {
        uint32_t digit = (uint32_t)(uint8_t)*p - '0';
        if (digit < 10) {
            v = v * 10 + digit;
            digits++;
        } else if (*p == '.' && point == NULL) {
            point = p;
        } else {
            return false;
        }
    }
    *value = negative ? -(int64_t)v : (int64_t)v;
    *fraction = point == NULL ? 0 : (uint32_t)(end - point - 1);
    return digits >= 1 && digits <= 18;
}

static const int64_t power10[19] = {1,
                                    10,
                                    100,
                                    1000,
                                    10000,
                                    100000,
                                    1000000,
                                    10000000,
                                    100000000,
                                    1000000000,
                                    10000000000,
                                    100000000000,
                                    1000000000000,
                                    10000000000000,
                                    100000000000000,
                                    1000000000000000,
                                    10000000000000000,
                                    100000000000000000,
                                    1000000000000000000};

static tcudb_status parse_decimal(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, int64_t *data)
{
    const uint32_t scale = s->type.scale;
    const int64_t limit = power10[s->type.precision];
    EACH_VALID_ROW(row, n, valid)
    {
        int64_t v;
        uint32_t fraction;
        bool ok = fast_decimal(texts[row], &v, &fraction) && fraction <= scale;
        ok = ok && !__builtin_mul_overflow(v, power10[scale - fraction], &v) && v < limit && v > -limit;
        if (ok)
            data[row] = v;
        else
            TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

static tcudb_status parse_num(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, Num *data)
{
    EACH_VALID_ROW(row, n, valid)
    {
        int64_t v;
        uint32_t fraction;
        if (fast_decimal(texts[row], &v, &fraction))
            data[row] = (Num){.value = v, .scale = (int32_t)fraction};
        else
            TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

/* Exact when the digits fit the mantissa and the power of ten is exact (Clinger 1990). */
static tcudb_status parse_f64(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, double *data)
{
    static const double tens[19] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    const int64_t exact = INT64_C(1) << 53;
    EACH_VALID_ROW(row, n, valid)
    {
        int64_t v;
        uint32_t fraction;
        if (fast_decimal(texts[row], &v, &fraction) && v <= exact && v >= -exact &&
            (v != 0 || texts[row].ptr[0] != '-'))
            data[row] = (double)v / tens[fraction];
        else
            TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

/* ---- dates and times ---------------------------------------------------------------------- */

bool date_exists(int32_t year, uint32_t month, uint32_t day)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1) return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (uint32_t)(month == 2 && leap);
}

/* Years are counted from March, so that the leap day is the last; 400 years have 146097 days. */
int32_t date_days(int32_t year, uint32_t month, uint32_t day)
{
    assert(date_exists(year, month, day));
    int32_t y = year - (month <= 2);
    int32_t era = (y >= 0 ? y : y - 399) / 400;
    uint32_t of_era = (uint32_t)(y - era * 400);
    uint32_t of_year = (153 * (month + (month > 2 ? -3U : 9U)) + 2) / 5 + day - 1;
    uint32_t days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    return era * 146097 + (int32_t)days - 730425; /* 0000-03-01 is 730425 days before 2000-01-01 */
}

static inline uint32_t two_digits(const char *p)
{
    uint32_t a = (uint32_t)(uint8_t)p[0] - '0', b = (uint32_t)(uint8_t)p[1] - '0';
    return a < 10 && b < 10 ? a * 10 + b : 1000;
}

/* yyyy-mm-dd in 10 bytes; year 1 and later. */
static inline bool fast_date(const char *p, int32_t *days)
{
    uint32_t century = two_digits(p), rest = two_digits(p + 2);
    uint32_t month = two_digits(p + 5), day = two_digits(p + 8);
    if (century > 99 || rest > 99 || p[4] != '-' || p[7] != '-') return false;
    int32_t year = (int32_t)(century * 100 + rest);
    if (year == 0 || !date_exists(year, month, day)) return false;
    *days = date_days(year, month, day);
    return true;
}

static tcudb_status parse_date(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, int32_t *data)
{
    EACH_VALID_ROW(row, n, valid)
    {
        if (texts[row].len != 10 || !fast_date(texts[row].ptr, &data[row])) TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

/* yyyy-mm-dd hh:mm:ss[.1 to 6 digits], T for the blank. */
static inline bool fast_timestamp(Str text, int64_t *micros)
{
    int32_t days;
    if (text.len < 19 || text.len == 20 || text.len > 26 || !fast_date(text.ptr, &days)) return false;
    const char *p = text.ptr + 10;
    if ((p[0] != ' ' && p[0] != 'T') || p[3] != ':' || p[6] != ':') return false;
    uint32_t hour = two_digits(p + 1), minute = two_digits(p + 4), second = two_digits(p + 7);
    if (hour > 23 || minute > 59 || second > 59) return false;
    int64_t fraction = 0;
    if (text.len > 19) {
        if (p[9] != '.') return false;
        for (uint32_t i = 0; i < 6; i++) {
            uint32_t digit = 20 + i < text.len ? (uint32_t)(uint8_t)text.ptr[20 + i] - '0' : 0;
            if (digit > 9) return false;
            fraction = fraction * 10 + digit;
        }
    }
    *micros = ((int64_t)days * 86400 + hour * 3600 + minute * 60 + second) * 1000000 + fraction;
    return true;
}

static tcudb_status parse_timestamp(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, int64_t *data)
{
    EACH_VALID_ROW(row, n, valid)
    {
        if (!fast_timestamp(texts[row], &data[row])) TRY(slow_parse(s, texts[row], row, data));
        if (s->type.precision > 0) data[row] = timestamp_round(data[row], s->type.precision);
    }
    return TCUDB_OK;
}

/* ---- text, bool, the rest ----------------------------------------------------------------- */

static tcudb_status parse_text(const Slow *s, Str *texts, const uint64_t *valid, uint32_t n)
{
    if (s->type.length == 0) return TCUDB_OK;
    EACH_VALID_ROW(row, n, valid)
    {
        if (s->type.id == TYPE_BPCHAR) texts[row] = str_without_blanks(texts[row]);
        if (texts[row].len > s->type.length) TRY(slow_parse(s, texts[row], row, texts));
    }
    return TCUDB_OK;
}

static tcudb_status parse_bool(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, uint8_t *data)
{
    EACH_VALID_ROW(row, n, valid)
    {
        char c = texts[row].len == 1 ? texts[row].ptr[0] : '\0';
        if (c == 't' || c == '1' || c == 'f' || c == '0')
            data[row] = c == 't' || c == '1';
        else
            TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

static tcudb_status parse_other(const Slow *s, const Str *texts, const uint64_t *valid, uint32_t n, void *data)
{
    EACH_VALID_ROW(row, n, valid)
    {
        TRY(slow_parse(s, texts[row], row, data));
    }
    return TCUDB_OK;
}

tcudb_status convert_column(Type type, Str *texts, uint64_t *valid, uint32_t n, Arena *arena, Vector *out,
                            uint64_t *bad, uint32_t *bad_row, Error *err)
{
    const Slow s = {.type = type, .arena = arena, .bad = bad, .bad_row = bad_row, .err = err};
    *bad_row = 0;
    Phys phys = type_phys(type);
    if (phys == PHYS_STR) {
        *out = (Vector){.type = type, .phys = PHYS_STR, .form = VEC_FLAT, .data = texts, .valid = valid};
        return parse_text(&s, texts, valid, n);
    }
    TRY(vec_new(arena, type, n, out, err));
    out->valid = valid;
    switch (type.id) {
    case TYPE_BOOL: return parse_bool(&s, texts, valid, n, out->data);
    case TYPE_INT2: return parse_i16(&s, texts, valid, n, out->data);
    case TYPE_INT4: return parse_i32(&s, texts, valid, n, out->data);
    case TYPE_INT8: return parse_i64(&s, texts, valid, n, out->data);
    case TYPE_FLOAT8: return parse_f64(&s, texts, valid, n, out->data);
    case TYPE_DATE: return parse_date(&s, texts, valid, n, out->data);
    case TYPE_TIMESTAMP: return parse_timestamp(&s, texts, valid, n, out->data);
    case TYPE_NUMERIC:
        if (phys == PHYS_I64) return parse_decimal(&s, texts, valid, n, out->data);
        if (phys == PHYS_NUM) return parse_num(&s, texts, valid, n, out->data);
        return parse_other(&s, texts, valid, n, out->data);
    default: return parse_other(&s, texts, valid, n, out->data);
    }
}
