/*
 * format.h: templates of to_char, to_date and to_timestamp, cut into fields.
 *
 * A template is a run of fields (HH24, Month, ...) and of literal characters. Upper and lower case of a
 * field's name say how it prints; FM before it suppresses padding, TH or th behind it adds an ordinal.
 */
#ifndef TYPE_FORMAT_H
#define TYPE_FORMAT_H

#include "type/type_int.h"

typedef enum FieldId {
    FIELD_LITERAL, /* `text` as it is */
#define FIELD(id, name, digits) FIELD_##id,
#include "type/format.def"
#undef FIELD
    FIELD_COUNT
} FieldId;

typedef struct FormatField {
    FieldId id;
    bool fill;     /* FM */
    bool exact;    /* FX stands before it */
    bool quoted;   /* a literal that stands for itself, even if it is a separator */
    char ordinal;  /* 'T': TH, 't': th, 0 */
    uint8_t width; /* digits a number has when others follow directly; 0: not a number */
    Str text;      /* as the template spells it */
} FormatField;

typedef struct Format {
    FormatField *fields;
    uint32_t n;
    bool exact; /* FX has been met */
} Format;

/* The template's fields, in the arena. */
tcudb_status format_compile(Arena *arena, Str text, Format *out, Error *err) MUST_CHECK;

extern const char *const month_names[12];
extern const char *const day_names[7]; /* Sunday first */
extern const char *const roman_months[12];

#endif
