/*
 * type.h: SQL types, and how their values lie in memory.
 *
 * A Type is what SQL says (numeric(12,2)); its Phys is what kernels see (an int64 scaled by 100).
 * numeric with a known precision is a scaled integer: I64 up to 18 digits, I128 up to 38. numeric
 * without one (division, avg, unconstrained columns) carries its scale with each value: Num.
 */
#ifndef TYPE_TYPE_H
#define TYPE_TYPE_H

#include "base/bits.h"
#include "base/str.h"

/* Ids are stored in database files: append only. */
typedef enum TypeId {
    TYPE_NONE = 0,
    TYPE_UNKNOWN = 1, /* an untyped literal or NULL before resolution; Phys STR */
    TYPE_BOOL = 2,
    TYPE_INT2 = 3,
    TYPE_INT4 = 4,
    TYPE_INT8 = 5,
    TYPE_NUMERIC = 6,
    TYPE_FLOAT4 = 7,
    TYPE_FLOAT8 = 8,
    TYPE_DATE = 9,       /* int32 days since 2000-01-01, as PostgreSQL; +-infinity = INT32_MAX/MIN */
    TYPE_TIMESTAMP = 10, /* int64 microseconds since 2000-01-01 */
    TYPE_INTERVAL = 11,  /* expressions only: not a column type yet */
    TYPE_TEXT = 12,
    TYPE_VARCHAR = 13, /* length limit in Type.length, 0: none */
    TYPE_BPCHAR = 14,  /* char(n): values are stored without their trailing blanks, shown padded to n; without a length:
                          with the blanks they have, which comparisons do not see */
    TYPE_COUNT
} TypeId;

typedef struct Type {
    uint8_t id;        /* TypeId */
    uint8_t precision; /* numeric: 1..38; 0: not known, values are Num. timestamp(p): p + 1; 0: six digits */
    uint8_t scale;     /* numeric with precision: 0..38 */
    uint32_t length;   /* varchar, char: characters, 0: no limit; interval: see datetime.h */
} Type;

typedef enum Phys {
    PHYS_BOOL, /* uint8_t 0 or 1 */
    PHYS_I16,
    PHYS_I32,  /* int4, date */
    PHYS_I64,  /* int8, timestamp, numeric of 1..18 digits */
    PHYS_I128, /* numeric of 19..38 digits */
    PHYS_F32,
    PHYS_F64,
    PHYS_NUM,      /* Num */
    PHYS_INTERVAL, /* Interval */
    PHYS_STR,      /* Str */
    PHYS_COUNT
} Phys;

typedef enum NumKind { NUM_FINITE = 0, NUM_NAN, NUM_PINF, NUM_NINF } NumKind;

/* value x 10^-scale; |value| < 10^38. scale is also PostgreSQL's display scale: 1.50 keeps its 0. */
typedef struct Num {
    int128 value;
    int32_t scale; /* 0..255 */
    int32_t kind;  /* NumKind */
} Num;

typedef struct Interval {
    int64_t micros;
    int32_t days;
    int32_t months;
} Interval;

#define TYPE(id_)          ((Type){.id = (id_)})
#define TYPE_DECIMAL(p, s) ((Type){.id = TYPE_NUMERIC, .precision = (p), .scale = (s)})

Phys type_phys(Type type);
/* Bytes of one value in a flat vector. */
size_t phys_size(Phys phys);
bool type_equal(Type a, Type b);
bool type_is_text(Type type);    /* text, varchar, char, unknown */
bool type_is_numeric(Type type); /* int2..float8 */
/* char without a length: equal values may differ in the blanks at their ends. */
bool type_keeps_blanks(Type type);
/* PostgreSQL's name with modifiers: "numeric(12,2)", "character varying(25)", "integer".
 * Returns buffer, always NUL-terminated. */
enum { TYPE_NAME_MAX = 48 };
const char *type_name(Type type, char buffer[TYPE_NAME_MAX]);
/* Without modifiers, as in messages: "numeric". A constant string. */
const char *type_base_name(Type type);
/* PostgreSQL's pg_type oid and typmod (-1: none), for wire and Arrow metadata. */
uint32_t type_oid(Type type);
int32_t type_typmod(Type type);
/* From a name as the grammar delivers it ("int4", "numeric", "bpchar", "text", "float8", ...) and
 * modifiers; error 42704 for unknown names, 22023 for wrong modifiers, 0A000 beyond 38 digits. */
tcudb_status type_from_name(Str name, const int64_t *mods, uint32_t nmods, int position, Type *out,
                            Error *err) MUST_CHECK;

/* One value of any type: constants, parameters, bounds. Text memory belongs to whoever made it. */
typedef struct Value {
    Type type;
    bool null;
    union {
        bool b;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        int128 i128;
        float f32;
        double f64;
        Num num;
        Interval interval;
        Str str;
    };
} Value;

#endif
