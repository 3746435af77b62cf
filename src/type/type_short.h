/*
 * type_short.h: short spellings of types for func.def: included by the files that turn its lines into tables.
 */
#ifndef TYPE_TYPE_SHORT_H
#define TYPE_TYPE_SHORT_H

#include "type/func.h"

enum {
    ANY = TYPE_NONE,
    BOOL = TYPE_BOOL,
    INT2 = TYPE_INT2,
    INT4 = TYPE_INT4,
    INT8 = TYPE_INT8,
    NUMERIC = TYPE_NUMERIC,
    FLOAT4 = TYPE_FLOAT4,
    FLOAT8 = TYPE_FLOAT8,
    DATE = TYPE_DATE,
    TIMESTAMP = TYPE_TIMESTAMP,
    INTERVAL = TYPE_INTERVAL,
    TEXT = TYPE_TEXT,
    BPCHAR = TYPE_BPCHAR
};

#endif
