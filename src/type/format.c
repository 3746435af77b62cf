/*
 * format.c: cutting a date template into fields.
 *
 * At each place the longest name of format.def that fits is taken: exactly as written, or in small letters
 * for fields that are numbers (hh24 is HH24). "Quoted text" and characters behind a backslash are literal, as is
 * whatever is no field. Templates are short and nearly always constant, so a linear search will do.
 */
#include "type/format.h"

#include <assert.h>

const char *const month_names[12] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};
const char *const day_names[7] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
const char *const roman_months[12] = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

typedef struct FieldName {
    const char *name;
    uint8_t width;
} FieldName;

static const FieldName names[FIELD_COUNT] = {
    [FIELD_LITERAL] = {"", 0},
#define FIELD(id, name, digits) [FIELD_##id] = {name, digits},
#include "type/format.def"
#undef FIELD
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* As written, or (in_lower) all of it in small letters: Hh24 is not HH24. */
static bool starts(Str s, const char *name, bool in_lower)
{
    size_t n = strlen(name);
    if (s.len < n) return false;
    if (memcmp(s.ptr, name, n) == 0) return true;
    for (size_t i = 0; i < n; i++)
        if (s.ptr[i] != lower(name[i])) return false;
    return in_lower;
}

/* Names that print alike however they are written have one line in the table. */
static bool same_in_lower(FieldId id)
{
    return names[id].width > 0 || id == FIELD_OF || id == FIELD_TZH;
}

/* The longest name that fits: "day" is not D, a and y. */
static FieldId find_field(Str s)
{
    FieldId found = FIELD_LITERAL;
    size_t longest = 0;
    for (int id = FIELD_LITERAL + 1; id < FIELD_COUNT; id++) {
        size_t n = strlen(names[id].name);
        if (n > longest && starts(s, names[id].name, same_in_lower((FieldId)id))) {
            found = (FieldId)id;
            longest = n;
        }
    }
    return found;
}

static Str after(Str s, size_t n)
{
    return (Str){s.ptr + n, s.len - (uint32_t)n};
}

/* "text": one literal field a character, so that input is skipped character by character. */
static Str take_quoted(Str s, Format *f)
{
    for (s = after(s, 1); s.len > 0 && s.ptr[0] != '"'; s = after(s, 1)) {
        if (s.ptr[0] == '\\' && s.len > 1) s = after(s, 1);
        f->fields[f->n++] = (FormatField){.id = FIELD_LITERAL, .exact = f->exact, .quoted = true, .text = {s.ptr, 1}};
    }
    return s.len > 0 ? after(s, 1) : s;
}

/* What a name of a month or a day prints behind TM, which asks for the locale's: English here, and not padded. */
static bool is_name(FieldId id)
{
    switch (id) {
    case FIELD_MONTH_UPPER:
    case FIELD_MONTH_TITLE:
    case FIELD_MONTH_LOWER:
    case FIELD_DAY_UPPER:
    case FIELD_DAY_TITLE:
    case FIELD_DAY_LOWER: return true;
    default: return false;
    }
}

static Str take_literal(Str s, Format *f)
{
    f->fields[f->n++] = (FormatField){.id = FIELD_LITERAL, .exact = f->exact, .text = {s.ptr, 1}};
    return after(s, 1);
}

/* One modifier may stand before a name; before anything else it is dropped. */
static Str take_field(Str s, Format *f)
{
    bool fill = starts(s, "FM", true), local = starts(s, "TM", true);
    if (fill || local) s = after(s, 2);
    if (s.len == 0) return s;
    if (starts(s, "FX", true)) {
        f->exact = true;
        return after(s, 2);
    }
    FieldId id = find_field(s);
    if (id == FIELD_LITERAL) return (fill || local) && (*s.ptr == '"' || *s.ptr == '\\') ? s : take_literal(s, f);
    FormatField field = {.id = id, .fill = fill || (local && is_name(id)), .exact = f->exact};
    field.width = names[id].width;
    field.text = (Str){s.ptr, (uint32_t)strlen(names[id].name)};
    s = after(s, field.text.len);
    if (starts(s, "TH", true)) {
        field.ordinal = s.ptr[0] == 'T' ? 'T' : 't';
        s = after(s, 2);
    } else if (starts(s, "SP", false)) {
        s = after(s, 2);
    }
    f->fields[f->n++] = field;
    return s;
}

tcudb_status format_compile(Arena *arena, Str text, Format *out, Error *err)
{
    *out = (Format){.fields = ARENA_ARRAY(arena, FormatField, text.len + 1, err)};
    TRY_PTR(out->fields);
    while (text.len > 0) {
        if (text.ptr[0] == '"') {
            text = take_quoted(text, out);
        } else if (text.ptr[0] == '\\' && text.len > 1 && text.ptr[1] == '"') {
            text = take_literal(after(text, 1), out);
        } else {
            text = take_field(text, out);
        }
    }
    return TCUDB_OK;
}
