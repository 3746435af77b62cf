/*
 * type.c: what SQL types are called, how wide they are and which physical form they take.
 *
 * One table row a type. The physical form follows from the id, except for numeric, whose precision
 * decides: up to 18 digits fit an int64, up to 38 an int128, and an unknown precision needs Num.
 * Names and oids are PostgreSQL's (pg_type). Type names arrive here as its grammar spells them after
 * normalising (INTEGER -> int4, DECIMAL -> numeric, CHARACTER -> bpchar), so aliases need no entry.
 *
 * Limits: numeric has at most 38 digits where PostgreSQL has 1000, and no negative scale.
 */
#include "type/type_int.h"

#include <assert.h>
#include <stdio.h>

typedef struct TypeInfo {
    const char *name;       /* as format_type shows it */
    const char *short_name; /* as the grammar and pg_type spell it */
    uint8_t phys;
    uint32_t oid;
} TypeInfo;

static const TypeInfo type_info[TYPE_COUNT] = {
    [TYPE_NONE] = {"any", "any", PHYS_STR, 2276},
    [TYPE_UNKNOWN] = {"unknown", "unknown", PHYS_STR, 705},
    [TYPE_BOOL] = {"boolean", "bool", PHYS_BOOL, 16},
    [TYPE_INT2] = {"smallint", "int2", PHYS_I16, 21},
    [TYPE_INT4] = {"integer", "int4", PHYS_I32, 23},
    [TYPE_INT8] = {"bigint", "int8", PHYS_I64, 20},
    [TYPE_NUMERIC] = {"numeric", "numeric", PHYS_NUM, 1700},
    [TYPE_FLOAT4] = {"real", "float4", PHYS_F32, 700},
    [TYPE_FLOAT8] = {"double precision", "float8", PHYS_F64, 701},
    [TYPE_DATE] = {"date", "date", PHYS_I32, 1082},
    [TYPE_TIMESTAMP] = {"timestamp without time zone", "timestamp", PHYS_I64, 1114},
    [TYPE_INTERVAL] = {"interval", "interval", PHYS_INTERVAL, 1186},
    [TYPE_TEXT] = {"text", "text", PHYS_STR, 25},
    [TYPE_VARCHAR] = {"character varying", "varchar", PHYS_STR, 1043},
    [TYPE_BPCHAR] = {"character", "bpchar", PHYS_STR, 1042},
};

/* PostgreSQL types that SQL written for it may name and that we lack: reported as such, not as unknown. */
static const char *const missing_types[] = {
    "timestamptz",
    "time",
    "timetz",
    "bytea",
    "json",
    "jsonb",
    "uuid",
    "bit",
    "varbit",
    "xml",
    "money",
    "inet",
    "cidr",
    "oid",
    "name",
    "char",
    "point",
    "line",
    "lseg",
    "box",
    "path",
    "polygon",
    "circle",
    "xid",
    "tid",
    "cid",
    "regclass",
    "tsvector",
    "tsquery",
    "macaddr",
    "int4range",
    "int8range",
    "numrange",
    "daterange",
    "tsrange",
    "regtype",
    "regproc",
    "record",
    "void",
    "refcursor",
    "pg_lsn",
    "serial",
    "bigserial",
    "smallserial",
    "oidvector",
    "int2vector",
    "macaddr8",
    "jsonpath",
    "tstzrange",
    "int4multirange",
    "int8multirange",
    "nummultirange",
    "datemultirange",
    "tsmultirange",
    "tstzmultirange",
    "xid8",
    "cstring",
    "aclitem",
    "regprocedure",
    "regoper",
    "regoperator",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regrole",
    "regnamespace",
    "pg_snapshot",
    "txid_snapshot",
    "gtsvector",
    "trigger",
    "event_trigger",
    "internal",
    "any",
    "anyarray",
    "anyelement",
    "anycompatible",
    "anycompatiblearray",
    "anynonarray",
    "anyenum",
    "anyrange",
    "anymultirange",
};

Phys type_phys(Type type)
{
    assert(type.id < TYPE_COUNT);
    if (type.id == TYPE_NUMERIC && type.precision > 0) return type.precision <= NUM_I64_DIGITS ? PHYS_I64 : PHYS_I128;
    return (Phys)type_info[type.id].phys;
}

size_t phys_size(Phys phys)
{
    static const uint8_t sizes[PHYS_COUNT] = {
        [PHYS_BOOL] = 1,          [PHYS_I16] = 2,           [PHYS_I32] = 4,
        [PHYS_I64] = 8,           [PHYS_I128] = 16,         [PHYS_F32] = 4,
        [PHYS_F64] = 8,           [PHYS_NUM] = sizeof(Num), [PHYS_INTERVAL] = sizeof(Interval),
        [PHYS_STR] = sizeof(Str),
    };
    assert(phys < PHYS_COUNT);
    return sizes[phys];
}

bool type_equal(Type a, Type b)
{
    return a.id == b.id && a.precision == b.precision && a.scale == b.scale && a.length == b.length;
}

bool type_keeps_blanks(Type type)
{
    return type.id == TYPE_BPCHAR && type.length == 0;
}

bool type_is_text(Type type)
{
    return type.id == TYPE_TEXT || type.id == TYPE_VARCHAR || type.id == TYPE_BPCHAR || type.id == TYPE_UNKNOWN;
}

bool type_is_numeric(Type type)
{
    return type.id >= TYPE_INT2 && type.id <= TYPE_FLOAT8;
}

const char *type_name(Type type, char buffer[TYPE_NAME_MAX])
{
    const char *base = type_base_name(type);
    if (type.id == TYPE_NUMERIC && type.precision > 0)
        snprintf(buffer, TYPE_NAME_MAX, "%s(%u,%u)", base, type.precision, type.scale);
    else if ((type.id == TYPE_VARCHAR || type.id == TYPE_BPCHAR) && type.length > 0)
        snprintf(buffer, TYPE_NAME_MAX, "%s(%u)", base, type.length);
    else if (type.id == TYPE_TIMESTAMP && type.precision > 0)
        snprintf(buffer, TYPE_NAME_MAX, "timestamp(%d) without time zone", type.precision - 1);
    else
        snprintf(buffer, TYPE_NAME_MAX, "%s",
                 type_keeps_blanks(type) ? "bpchar" : base); /* character is character(1) */
    return buffer;
}

const char *type_base_name(Type type)
{
    assert(type.id < TYPE_COUNT);
    return type_info[type.id].name;
}

uint32_t type_oid(Type type)
{
    assert(type.id < TYPE_COUNT);
    return type_info[type.id].oid;
}

int32_t type_typmod(Type type)
{
    if (type.id == TYPE_NUMERIC && type.precision > 0) return ((int32_t)type.precision << 16 | type.scale) + 4;
    if ((type.id == TYPE_VARCHAR || type.id == TYPE_BPCHAR) && type.length > 0) return (int32_t)type.length + 4;
    if (type.id == TYPE_TIMESTAMP && type.precision > 0) return type.precision - 1;
    return -1;
}

static tcudb_status numeric_modifiers(const int64_t *mods, uint32_t nmods, int position, Type *out, Error *err)
{
    if (nmods > 2) return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position, "invalid NUMERIC type modifier");
    int64_t precision = mods[0];
    int64_t scale = nmods == 2 ? mods[1] : 0;
    if (precision < 1 || precision > 1000)
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position,
                        "NUMERIC precision %lld must be between 1 and 1000", (long long)precision);
    if (scale < -1000 || scale > 1000)
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position,
                        "NUMERIC scale %lld must be between -1000 and 1000", (long long)scale);
    if (precision > NUM_MAX_DIGITS)
        return error_unsupported(err, position, "NUMERIC precision %lld (more than %d digits)", (long long)precision,
                                 NUM_MAX_DIGITS);
    if (scale < 0 || scale > NUM_MAX_DIGITS)
        return error_unsupported(err, position, "NUMERIC scale %lld (outside 0 to %d)", (long long)scale,
                                 NUM_MAX_DIGITS);
    out->precision = (uint8_t)precision;
    out->scale = (uint8_t)scale;
    return TCUDB_OK;
}

static tcudb_status text_modifiers(const int64_t *mods, uint32_t nmods, int position, Type *out, Error *err)
{
    const char *name = out->id == TYPE_VARCHAR ? "varchar" : "char";
    if (nmods != 1) return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position, "invalid type modifier");
    if (mods[0] < 1)
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position, "length for type %s must be at least 1", name);
    if (mods[0] > TEXT_MAX_LENGTH)
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position, "length for type %s cannot exceed %d", name,
                        TEXT_MAX_LENGTH);
    out->length = (uint32_t)mods[0];
    return TCUDB_OK;
}

/* mods: the grammar's mask of fields, then the digits of a second, if given. */
static tcudb_status interval_modifiers(const int64_t *mods, uint32_t nmods, int position, Type *out, Error *err)
{
    if (nmods > 2 || mods[0] < 0 || mods[0] > INTERVAL_ALL_FIELDS)
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position, "invalid INTERVAL type modifier");
    if (mods[0] != INTERVAL_ALL_FIELDS) out->length = (uint32_t)mods[0];
    if (nmods < 2) return TCUDB_OK;
    if (mods[1] < 0)
        return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, position,
                        "INTERVAL(%lld) precision must not be negative", (long long)mods[1]);
    out->length |= INTERVAL_PRECISION(mods[1] > 6 ? 6 : (uint32_t)mods[1]);
    return TCUDB_OK;
}

tcudb_status type_from_name(Str name, const int64_t *mods, uint32_t nmods, int position, Type *out, Error *err)
{
    TypeId id = TYPE_NONE;
    for (TypeId t = TYPE_UNKNOWN; t < TYPE_COUNT; t++)
        if (str_equal(name, str_of(type_info[t].short_name))) id = t;
    if (str_equal(name, STR_LIT("decimal")) || str_equal(name, STR_LIT("dec"))) id = TYPE_NUMERIC;
    if (id == TYPE_NONE) {
        for (size_t i = 0; i < sizeof missing_types / sizeof *missing_types; i++)
            if (str_equal(name, str_of(missing_types[i])))
                return error_unsupported(err, position, "type %s", missing_types[i]);
        return error_at(err, SQLSTATE_UNDEFINED_OBJECT, position, "type \"" STR_FMT "\" does not exist", STR_ARG(name));
    }
    *out = TYPE(id);
    if (nmods == 0) return TCUDB_OK;
    if (id == TYPE_NUMERIC) return numeric_modifiers(mods, nmods, position, out, err);
    if (id == TYPE_VARCHAR || id == TYPE_BPCHAR) return text_modifiers(mods, nmods, position, out, err);
    if (id == TYPE_INTERVAL) return interval_modifiers(mods, nmods, position, out, err);
    if (id == TYPE_TIMESTAMP && nmods == 1 &&
        mods[0] >= 0) { /* six digits it has anyway; PostgreSQL takes more for six */
        out->precision = mods[0] < 6 ? (uint8_t)(mods[0] + 1) : 0;
        return TCUDB_OK;
    }
    return error_at(err, SQLSTATE_SYNTAX_ERROR, position, "type modifier is not allowed for type \"%s\"",
                    type_info[id].short_name);
}
