/*
 * wire.c: see wire.h. Everything is little-endian; the hosts that we support are too.
 */
#include "store/wire.h"

#include <assert.h>

tcudb_status put_varint(Buf *buf, uint64_t v, Error *err)
{
    uint8_t bytes[10];
    uint32_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    return buf_append(buf, bytes, n, err);
}

tcudb_status put_u64(Buf *buf, uint64_t v, Error *err)
{
    return buf_append(buf, &v, sizeof v, err);
}

tcudb_status put_byte(Buf *buf, uint8_t v, Error *err)
{
    return buf_append(buf, &v, 1, err);
}

tcudb_status put_text(Buf *buf, Str text, Error *err)
{
    TRY(put_varint(buf, text.len, err));
    return buf_append(buf, text.ptr, text.len, err);
}

static tcudb_status put_signed(Buf *buf, int64_t v, Error *err)
{
    return put_varint(buf, (uint64_t)v << 1 ^ (uint64_t)(v >> 63), err);
}

tcudb_status put_value(Buf *buf, const Value *v, Error *err)
{
    switch (type_phys(v->type)) {
    case PHYS_BOOL: return put_byte(buf, v->b, err);
    case PHYS_I16: return put_signed(buf, v->i16, err);
    case PHYS_I32: return put_signed(buf, v->i32, err);
    case PHYS_I64: return put_signed(buf, v->i64, err);
    case PHYS_I128: return buf_append(buf, &v->i128, sizeof v->i128, err);
    case PHYS_F32: return buf_append(buf, &v->f32, sizeof v->f32, err);
    case PHYS_F64: return buf_append(buf, &v->f64, sizeof v->f64, err);
    default:
        assert(type_phys(v->type) == PHYS_NUM);
        TRY(buf_append(buf, &v->num.value, sizeof v->num.value, err));
        return put_varint(buf, (uint64_t)v->num.scale, err);
    }
}

Reader reader_of(const void *data, size_t size)
{
    return (Reader){.start = data, .at = data, .end = (const uint8_t *)data + size};
}

const uint8_t *get_bytes(Reader *r, size_t n)
{
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *bytes = r->at;
    r->at += n;
    return bytes;
}

uint64_t get_varint(Reader *r)
{
    uint64_t v = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = get_bytes(r, 1);
        if (byte == NULL) return 0;
        v |= (uint64_t)(*byte & 0x7f) << shift;
        if (*byte < 0x80) return v;
    }
    r->bad = true;
    return 0;
}

uint64_t get_count(Reader *r, uint64_t max)
{
    uint64_t v = get_varint(r);
    if (v <= max) return v;
    r->bad = true;
    return 0;
}

uint64_t get_u64(Reader *r)
{
    uint64_t v = 0;
    const uint8_t *bytes = get_bytes(r, sizeof v);
    if (bytes != NULL) memcpy(&v, bytes, sizeof v);
    return v;
}

uint8_t get_byte(Reader *r)
{
    const uint8_t *byte = get_bytes(r, 1);
    return byte == NULL ? 0 : *byte;
}

Str get_text(Reader *r)
{
    uint64_t len = get_count(r, UINT32_MAX);
    const uint8_t *bytes = get_bytes(r, len);
    return bytes == NULL ? (Str){"", 0} : (Str){(const char *)bytes, (uint32_t)len};
}

static int64_t get_signed(Reader *r)
{
    uint64_t v = get_varint(r);
    return (int64_t)(v >> 1 ^ -(v & 1));
}

static void get_into(Reader *r, void *to, size_t n)
{
    const uint8_t *bytes = get_bytes(r, n);
    if (bytes != NULL) memcpy(to, bytes, n);
}

void get_value(Reader *r, Value *v)
{
    switch (type_phys(v->type)) {
    case PHYS_BOOL: v->b = get_byte(r) & 1; return;
    case PHYS_I16: v->i16 = (int16_t)get_signed(r); return;
    case PHYS_I32: v->i32 = (int32_t)get_signed(r); return;
    case PHYS_I64: v->i64 = get_signed(r); return;
    case PHYS_I128: get_into(r, &v->i128, sizeof v->i128); return;
    case PHYS_F32: get_into(r, &v->f32, sizeof v->f32); return;
    case PHYS_F64: get_into(r, &v->f64, sizeof v->f64); return;
    default:
        assert(type_phys(v->type) == PHYS_NUM);
        v->num = (Num){0};
        get_into(r, &v->num.value, sizeof v->num.value);
        v->num.scale = (int32_t)get_count(r, 255);
        return;
    }
}
