/*
 * wire.h: numbers and texts to bytes of files, and back.
 *
 * Writers append to a Buf. A Reader walks over bytes in memory; it never reads past the end: what does not fit sets
 * `bad` once and yields zeros, so callers check once at the end (and before they trust a count).
 */
#ifndef STORE_WIRE_H
#define STORE_WIRE_H

#include "base/str.h"
#include "type/type.h"

typedef struct Reader {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
} Reader;

/* LEB128: 7 bits a byte, low ones first. */
tcudb_status put_varint(Buf *buf, uint64_t v, Error *err) MUST_CHECK;
tcudb_status put_u64(Buf *buf, uint64_t v, Error *err) MUST_CHECK; /* 8 bytes, little-endian, as all fixed numbers */
tcudb_status put_byte(Buf *buf, uint8_t v, Error *err) MUST_CHECK;
tcudb_status put_text(Buf *buf, Str text, Error *err) MUST_CHECK; /* varint length, bytes */
/* A bound: the value's bits by its Phys (integers zigzag varint, int128 16 bytes, Num 16 bytes and scale). */
tcudb_status put_value(Buf *buf, const Value *v, Error *err) MUST_CHECK;

Reader reader_of(const void *data, size_t size);
uint64_t get_varint(Reader *r);
uint64_t get_u64(Reader *r);
uint8_t get_byte(Reader *r);
Str get_text(Reader *r);                       /* points into the bytes */
const uint8_t *get_bytes(Reader *r, size_t n); /* NULL if there are fewer */
void get_value(Reader *r, Value *v);           /* v->type is set */
/* A varint that is at most max, else bad. */
uint64_t get_count(Reader *r, uint64_t max);

#endif
