/*
 * value.c: single values: text in and out, order, casts.
 *
 * value_parse and value_print are PostgreSQL's input and output functions; casts through text use them row
 * by row. value_cast runs the ordinary cast kernel over a one-row vector, so that constants and columns
 * cannot differ.
 */
#include "type/type_int.h"

#include <assert.h>

static Num scaled_num(int128 value, Type type)
{
    return (Num){.value = value, .scale = type.scale};
}

Num value_num(const Value *value)
{
    assert(value->type.id == TYPE_NUMERIC && !value->null);
    switch (type_phys(value->type)) {
    case PHYS_I64: return scaled_num(value->i64, value->type);
    case PHYS_I128: return scaled_num(value->i128, value->type);
    default: return value->num;
    }
}

bool value_integer(const Value *value, int128 *out)
{
    if (value->null) return false;
    switch (type_phys(value->type)) {
    case PHYS_BOOL: *out = value->b; return true;
    case PHYS_I16: *out = value->i16; return true;
    case PHYS_I32: *out = value->i32; return true;
    case PHYS_I64: *out = value->i64; return true;
    case PHYS_I128: *out = value->i128; return true;
    default: return false;
    }
}

bool value_int64(const Value *value, int64_t *out)
{
    int128 v;
    if (type_phys(value->type) == PHYS_I128 || !value_integer(value, &v)) return false;
    *out = (int64_t)v;
    return true;
}

uint32_t text_pad(Str text, uint32_t characters, char *to)
{
    uint32_t have = utf8_length(text), more = have < characters ? characters - have : 0;
    if (text.len > 0) memcpy(to, text.ptr, text.len);
    memset(to + text.len, ' ', more);
    return text.len + more;
}

static tcudb_status print_bpchar(const Value *value, Buf *buf, Error *err)
{
    TRY(buf_reserve(buf, (size_t)value->str.len + value->type.length, err));
    buf->len += text_pad(value->str, value->type.length, buf->data + buf->len);
    return TCUDB_OK;
}

/* A value that is no text, at most NUM_TEXT_MAX bytes. */
static uint32_t print_short(const Value *value, char *to)
{
    switch ((TypeId)value->type.id) {
    case TYPE_BOOL: *to = value->b ? 't' : 'f'; return 1;
    case TYPE_INT2: return int_print(value->i16, to);
    case TYPE_INT4: return int_print(value->i32, to);
    case TYPE_INT8: return int_print(value->i64, to);
    case TYPE_NUMERIC: return num_print(value_num(value), to);
    case TYPE_FLOAT4: return float4_print(value->f32, to);
    case TYPE_FLOAT8: return float8_print(value->f64, to);
    case TYPE_DATE: return date_print(value->i32, to);
    case TYPE_TIMESTAMP: return timestamp_print(value->i64, to);
    case TYPE_INTERVAL: return interval_print(value->interval, to);
    default: return 0;
    }
}

tcudb_status value_print(const Value *value, Buf *buf, Error *err)
{
    assert(!value->null);
    if (value->type.id == TYPE_BPCHAR) return print_bpchar(value, buf, err);
    if (type_is_text(value->type)) return buf_str(buf, value->str, err);
    TRY(buf_reserve(buf, NUM_TEXT_MAX, err));
    buf->len += print_short(value, buf->data + buf->len);
    return TCUDB_OK;
}

uint32_t vec_print(const Vector *v, uint32_t i, char *to)
{
    uint32_t at = v->form == VEC_CONST ? 0 : i;
    switch ((TypeId)v->type.id) {
    case TYPE_INT4: return int_print(((const int32_t *)v->data)[at], to);
    case TYPE_INT8: return int_print(((const int64_t *)v->data)[at], to);
    case TYPE_DATE: return date_print(((const int32_t *)v->data)[at], to);
    case TYPE_NUMERIC:
        if (v->phys != PHYS_I64) break;
        return num_print((Num){.value = ((const int64_t *)v->data)[at], .scale = v->type.scale}, to);
    default: break;
    }
    Value value = vec_value(v, i);
    return print_short(&value, to);
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int float_order(double a, double b)
{
    bool na = a != a, nb = b != b;
    return na || nb ? (int)na - (int)nb : ORDER(a, b);
}

int value_compare(const Value *a, const Value *b)
{
    assert(!a->null && !b->null);
    assert(a->type.id == b->type.id || (type_is_text(a->type) && type_is_text(b->type))); /* one may be relabelled */
    switch ((TypeId)a->type.id) {
    case TYPE_BOOL: return ORDER(a->b, b->b);
    case TYPE_INT2: return ORDER(a->i16, b->i16);
    case TYPE_INT4:
    case TYPE_DATE: return ORDER(a->i32, b->i32);
    case TYPE_INT8:
    case TYPE_TIMESTAMP: return ORDER(a->i64, b->i64);
    case TYPE_NUMERIC: return num_compare(value_num(a), value_num(b));
    case TYPE_FLOAT4: return float_order(a->f32, b->f32);
    case TYPE_FLOAT8: return float_order(a->f64, b->f64);
    case TYPE_INTERVAL: return interval_compare(a->interval, b->interval);
    case TYPE_UNKNOWN:
    case TYPE_TEXT:
    case TYPE_VARCHAR: return str_compare(a->str, b->str);
    case TYPE_BPCHAR: return str_compare(str_without_blanks(a->str), str_without_blanks(b->str));
    case TYPE_NONE:
    case TYPE_COUNT: break;
    }
    return 0;
}

static tcudb_status parse_numeric(Str text, Type type, Value *out, Error *err)
{
    Num num;
    int128 scaled;
    TRY(num_parse(text, &num, err));
    if (type.precision == 0) {
        out->num = num;
        return TCUDB_OK;
    }
    TRY(num_to_scaled(num, type, &scaled, err));
    if (type_phys(type) == PHYS_I64)
        out->i64 = (int64_t)scaled;
    else
        out->i128 = scaled;
    return TCUDB_OK;
}

static tcudb_status parse_text(Str text, Type type, Arena *arena, Value *out, Error *err)
{
    Str fitted = text;
    TRY(text_fit(text, type, false, &fitted, err));
    char *copy = arena_strndup(arena, fitted.ptr, fitted.len, err);
    TRY_PTR(copy);
    out->str = (Str){copy, fitted.len};
    return TCUDB_OK;
}

tcudb_status value_parse(Str text, Type type, Arena *arena, Value *out, Error *err)
{
    int64_t wide = 0;
    *out = (Value){.type = type};
    switch ((TypeId)type.id) {
    case TYPE_BOOL: return bool_parse(text, &out->b, err);
    case TYPE_INT2:
        TRY(int_parse(text, INT16_MIN, INT16_MAX, "smallint", &wide, err));
        out->i16 = (int16_t)wide;
        return TCUDB_OK;
    case TYPE_INT4:
        TRY(int_parse(text, INT32_MIN, INT32_MAX, "integer", &wide, err));
        out->i32 = (int32_t)wide;
        return TCUDB_OK;
    case TYPE_INT8: return int_parse(text, INT64_MIN, INT64_MAX, "bigint", &out->i64, err);
    case TYPE_NUMERIC: return parse_numeric(text, type, out, err);
    case TYPE_FLOAT4: return float4_parse(text, &out->f32, err);
    case TYPE_FLOAT8: return float8_parse(text, &out->f64, err);
    case TYPE_DATE: return date_parse(text, &out->i32, err);
    case TYPE_TIMESTAMP:
        TRY(timestamp_parse(text, &out->i64, err));
        out->i64 = timestamp_round(out->i64, type.precision);
        return TCUDB_OK;
    case TYPE_INTERVAL: return interval_parse(text, type.length, &out->interval, err);
    case TYPE_UNKNOWN:
    case TYPE_TEXT:
    case TYPE_VARCHAR:
    case TYPE_BPCHAR: return parse_text(text, type, arena, out, err);
    case TYPE_NONE:
    case TYPE_COUNT: break;
    }
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "a value without a type cannot be parsed");
}

tcudb_status value_number_literal(Str text, Value *out, Error *err)
{
    int64_t wide;
    if (int_parse(text, INT64_MIN, INT64_MAX, "bigint", &wide, NULL) == TCUDB_OK) {
        bool small = wide >= INT32_MIN && wide <= INT32_MAX;
        *out = (Value){.type = TYPE(small ? TYPE_INT4 : TYPE_INT8)};
        if (small)
            out->i32 = (int32_t)wide;
        else
            out->i64 = wide;
        return TCUDB_OK;
    }
    Num num;
    TRY(num_parse(text, &num, err));
    *out = (Value){.type = TYPE(TYPE_NUMERIC)};
    out->num = num;
    int digits = num_digits(num.value);
    int precision = digits > num.scale ? digits : num.scale;
    if (num.kind != NUM_FINITE || precision > NUM_MAX_DIGITS) return TCUDB_OK;
    out->type = TYPE_DECIMAL((uint8_t)(precision < 1 ? 1 : precision), (uint8_t)num.scale);
    if (type_phys(out->type) == PHYS_I64)
        out->i64 = (int64_t)num.value;
    else
        out->i128 = num.value;
    return TCUDB_OK;
}

tcudb_status value_cast(const Value *in, Type to, CastContext context, Arena *arena, Value *out, Error *err)
{
    const Func *func;
    TRY(func_cast(in->type, to, context, 0, &func, err));
    if (in->null) {
        *out = (Value){.type = to, .null = true};
        return TCUDB_OK;
    }
    if (func == NULL) { /* same bits; a wider numeric of the same form is one too */
        *out = *in;
        out->type = to;
        return TCUDB_OK;
    }
    EvalCtx ctx = {.arena = arena};
    Vector from, result;
    TRY(vec_const(arena, in, &from, err));
    TRY(vec_new(arena, to, 1, &result, err));
    from.form = VEC_FLAT;
    TRY(func->eval(&ctx, &from, 1, NULL, 1, &result, err));
    *out = vec_value(&result, 0);
    return TCUDB_OK;
}
