/*
 * datetime.c: reads dates and times by pattern.
 *
 * A hand-written strptime: that of libc depends on the locale, wants NUL-terminated text and accepts numbers
 * longer than a field. About 30 ns a value; the ISO forms that most files use have a faster path of their own
 * (convert.c).
 */
#include "files/datetime.h"
#include "files/convert.h"

#include <ctype.h>
#include <strings.h>

typedef struct Parts {
    int32_t year;
    uint32_t month, day, hour, minute, second, micros;
    bool pm, has_half;
} Parts;

/* Between min and max digits. */
static bool take_number(Str *text, uint32_t min, uint32_t max, uint32_t *value)
{
    uint32_t n = 0;
    *value = 0;
    while (n < max && n < text->len && isdigit((unsigned char)text->ptr[n]))
        *value = *value * 10 + (uint32_t)(text->ptr[n++] - '0');
    *text = (Str){text->ptr + n, text->len - n};
    return n >= min;
}

static bool take_word(Str *text, const char *word, uint32_t len)
{
    if (text->len < len || strncasecmp(text->ptr, word, len) != 0) return false;
    *text = (Str){text->ptr + len, text->len - len};
    return true;
}

static bool take_month(Str *text, bool full, uint32_t *month)
{
    static const char *const names[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
    for (uint32_t m = 0; m < 12; m++) {
        if (!take_word(text, names[m], full ? (uint32_t)strlen(names[m]) : 3)) continue;
        *month = m + 1;
        return true;
    }
    return false;
}

static bool take_seconds(Str *text, Parts *p)
{
    if (!take_number(text, 1, 2, &p->second)) return false;
    if (text->len < 2 || text->ptr[0] != '.' || !isdigit((unsigned char)text->ptr[1])) return true;
    uint32_t scale = 100000, i = 1;
    for (; i < text->len && isdigit((unsigned char)text->ptr[i]); i++, scale /= 10)
        p->micros += (uint32_t)(text->ptr[i] - '0') * scale;
    *text = (Str){text->ptr + i, text->len - i};
    return true;
}

static bool take_zone(Str *text)
{
    return take_word(text, "Z", 1) || take_word(text, "+00:00", 6) || take_word(text, "+0000", 5) ||
           take_word(text, "+00", 3);
}

static bool take_year2(Str *text, Parts *p)
{
    uint32_t year;
    if (!take_number(text, 2, 2, &year)) return false;
    p->year = (int32_t)(year >= 69 ? 1900 + year : 2000 + year);
    return true;
}

static bool take_half(Str *text, Parts *p)
{
    p->has_half = true;
    p->pm = take_word(text, "PM", 2);
    return p->pm || take_word(text, "AM", 2);
}

static bool take_field(char field, Str *text, Parts *p)
{
    uint32_t year;
    switch (field) {
    case 'Y':
        if (!take_number(text, 4, 4, &year)) return false;
        p->year = (int32_t)year;
        return year > 0;
    case 'y': return take_year2(text, p);
    case 'm': return take_number(text, 1, 2, &p->month);
    case 'd': return take_number(text, 1, 2, &p->day);
    case 'H':
    case 'I': return take_number(text, 1, 2, &p->hour);
    case 'M': return take_number(text, 1, 2, &p->minute);
    case 'S': return take_seconds(text, p);
    case 'b': return take_month(text, false, &p->month);
    case 'B': return take_month(text, true, &p->month);
    case 'p': return take_half(text, p);
    case 'Z': return take_zone(text);
    case '%': return take_word(text, "%", 1);
    default: return false;
    }
}

static bool finish(const Parts *p, int64_t *micros)
{
    uint32_t hour = p->hour;
    if (!date_exists(p->year, p->month, p->day)) return false;
    if (p->has_half && (hour < 1 || hour > 12)) return false;
    if (p->has_half) hour = hour % 12 + (p->pm ? 12 : 0);
    if (hour > 23 || p->minute > 59 || p->second > 59) return false;
    int64_t seconds = (int64_t)date_days(p->year, p->month, p->day) * 86400 + hour * 3600 + p->minute * 60 + p->second;
    *micros = seconds * 1000000 + p->micros;
    return true;
}

bool datetime_parse(const char *pattern, Str text, int64_t *micros)
{
    Parts parts = {.year = 1900, .month = 1, .day = 1};
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p == '%') {
            if (!take_field(*++p, &text, &parts)) return false;
        } else {
            if (text.len == 0 || text.ptr[0] != *p) return false;
            text = (Str){text.ptr + 1, text.len - 1};
        }
    }
    return text.len == 0 && finish(&parts, micros);
}

bool datetime_has_time(const char *pattern)
{
    return strstr(pattern, "%H") != NULL || strstr(pattern, "%I") != NULL;
}

bool datetime_valid(const char *pattern)
{
    for (const char *p = pattern; *p != '\0'; p++)
        if (*p == '%' && (p[1] == '\0' || strchr("YymdHIMSbBpZ%", *++p) == NULL)) return false;
    return true;
}
