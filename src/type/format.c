/*
 * format.c: cutting a date template into fields.
 *
 * At each place the longest name of format.def that fits is taken: exactly as written, or in any case for
 * fields that are numbers (hh24 is HH24). "Quoted text" and characters behind a backslash are literal, as is
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

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

static bool starts(Str s, const char *name, bool any_case)
{
    size_t n = strlen(name);
    if (s.len < n) return false;
    for (size_t i = 0; i < n; i++)
        if (s.ptr[i] != name[i] && !(any_case && upper(s.ptr[i]) == name[i])) return false;
    return true;
}

/* The longest name that fits: "day" is not D, a and y. */
static FieldId find_field(Str s)
{
    FieldId found = FIELD_LITERAL;
    size_t longest = 0;
    for (int id = FIELD_LITERAL + 1; id < FIELD_COUNT; id++) {
        size_t n = strlen(names[id].name);
        if (n > longest && starts(s, names[id].name, names[id].width > 0)) {
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
        f->fields[f->n++] = (FormatField){.id = FIELD_LITERAL, .text = {s.ptr, 1}};
    }
    return s.len > 0 ? after(s, 1) : s;
}

static Str take_field(Str s, Format *f)
{
    FormatField field = {.id = FIELD_LITERAL};
    Str rest = s;
    for (;;) {
        if (starts(rest, "FM", true)) {
            field.fill = true;
        } else if (starts(rest, "FX", true)) {
            f->exact = true;
        } else if (!starts(rest, "TM", false)) { /* names of the locale: English here */
            break;
        }
        rest = after(rest, 2);
    }
    field.id = find_field(rest);
    if (field.id == FIELD_LITERAL) {
        if (rest.ptr != s.ptr) return rest; /* a modifier on nothing */
        field.text = (Str){s.ptr, 1};
        f->fields[f->n++] = field;
        return after(s, 1);
    }
    field.name = names[field.id].name;
    field.width = names[field.id].width;
    field.text = (Str){rest.ptr, (uint32_t)strlen(field.name)};
    rest = after(rest, field.text.len);
    if (starts(rest, "TH", false) || starts(rest, "th", false)) {
        field.ordinal = rest.ptr[0] == 'T' ? 'T' : 't';
        rest = after(rest, 2);
    }
    if (starts(rest, "SP", true)) rest = after(rest, 2);
    f->fields[f->n++] = field;
    return rest;
}

tcudb_status format_compile(Arena *arena, Str text, Format *out, Error *err)
{
    *out = (Format){.fields = ARENA_ARRAY(arena, FormatField, text.len + 1, err)};
    TRY_PTR(out->fields);
    while (text.len > 0) {
        if (text.ptr[0] == '"') {
            text = take_quoted(text, out);
        } else if (text.ptr[0] == '\\' && text.len > 1 && text.ptr[1] == '"') {
            out->fields[out->n++] = (FormatField){.id = FIELD_LITERAL, .text = {text.ptr + 1, 1}};
            text = after(text, 2);
        } else {
            text = take_field(text, out);
        }
    }
    return TCUDB_OK;
}
