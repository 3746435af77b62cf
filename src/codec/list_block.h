/*
 * list_block.h: one block of up to 1024 unsigned values as bytes, the same bytes for CPU and GPU.
 *
 * doc/format-lists.md is the specification. A block is an 8-byte header and a payload of whole 32-bit
 * words. Values are 32 bits wide; a block with larger ones is a pair of blocks, the low and the high
 * halves. Nothing here allocates. Decoders check everything that they rely on and report a ListFault.
 */
#ifndef CODEC_LIST_BLOCK_H
#define CODEC_LIST_BLOCK_H

#include "codec/codec.h"

#include <string.h>

enum {
    LIST_HEAD = 8,          /* bytes of a block header */
    LIST_MAX_BUNCHES = 512, /* bunches in a VSEncoding block */
    LIST_POSITION_BITS = 10 /* of an exception's position */
};

/* Stored in files: append only. */
typedef enum ListScheme {
    LIST_RAW = 0,      /* n words */
    LIST_CONSTANT = 1, /* one word */
    LIST_PFOR = 2,     /* PForDelta; without exceptions: plain bit packing */
    LIST_VSE = 3,      /* VSEncoding */
    LIST_PAIR = 4,     /* two blocks: low halves, high halves */
    LIST_SCHEMES
} ListScheme;

/* Sets of schemes that an encoder may choose from; raw and constant are always allowed. */
enum { LIST_USE_PFOR = 1u << LIST_PFOR, LIST_USE_VSE = 1u << LIST_VSE, LIST_USE_ANY = LIST_USE_PFOR | LIST_USE_VSE };

/* What is wrong with a block; the GPU reports the same numbers. */
typedef enum ListFault {
    LIST_OK = 0,
    LIST_BAD_SIZE = 1,      /* shorter than its header says */
    LIST_BAD_HEADER = 2,    /* a field out of range */
    LIST_BAD_BUNCHES = 3,   /* bunch lengths do not add up to n, or bits exceed the payload */
    LIST_BAD_EXCEPTION = 4, /* exception positions not ascending below n */
    LIST_BAD_VALUE = 5,     /* values beyond the list's bounds */
    LIST_BAD_CHECKSUM = 6
} ListFault;

typedef struct ListHead {
    uint32_t n;         /* 1..1024 */
    uint32_t scheme;    /* ListScheme */
    uint32_t width;     /* PFOR: bits of a slot; VSE: widest bunch; else 0 */
    uint32_t exc_width; /* PFOR: bits of an exception's high part */
    uint32_t count;     /* PFOR: exceptions; VSE: bunches */
    uint32_t words;     /* 32-bit words of payload */
} ListHead;

/* Instruction sets that decoders are written for; list_isa is the best one that runs here. */
typedef enum ListIsa { LIST_SCALAR, LIST_AVX2, LIST_AVX512, LIST_ISAS } ListIsa;
ListIsa list_isa(void);

/* Largest encoding of n values below 2^32, and of n values below 2^64. */
static inline size_t list_bound32(uint32_t n)
{
    return LIST_HEAD + 4 * (size_t)n + ((size_t)n + 1) / 2 + 4;
}
static inline size_t list_bound64(uint32_t n)
{
    return LIST_HEAD + 2 * list_bound32(n);
}

/* Encodes 1..1024 values into out (room for the bound); returns the bytes written, a multiple of 4. */
size_t list_encode32(const uint32_t *values, uint32_t n, uint32_t schemes, uint8_t *out);
size_t list_encode64(const uint64_t *values, uint32_t n, uint32_t schemes, uint8_t *out);

/* Reads and checks a header: every field in range, the payload within size bytes. */
ListFault list_read_head(const uint8_t *in, size_t size, ListHead *head);
/* Decodes a block of exactly n values. `readable` (>= size) bytes may be read from in: with 64 bytes of
 * slack behind the block no copy is needed. Writes n values at most; what they are after a fault is
 * undefined. Scheme PAIR is a fault for list_decode32. */
ListFault list_decode32(ListIsa isa, const uint8_t *in, size_t size, size_t readable, uint32_t n, uint32_t *out);
ListFault list_decode64(ListIsa isa, const uint8_t *in, size_t size, size_t readable, uint32_t n, uint64_t *out);
extern const Codec codec_vse, codec_pfor, codec_vse_delta, codec_pfor_delta;
const char *list_fault_text(ListFault fault);
const char *list_scheme_name(uint32_t scheme);

/* In place: v[i] = base + sum of (v[j] + step) for j <= i, wrapping. The last value is returned. */
uint32_t list_prefix32(ListIsa isa, uint32_t *v, uint32_t n, uint32_t base, uint32_t step);
/* The same; *falls tells whether some value is not above the one before it (base 2^32 - 1: the first has none). */
uint32_t list_ascend32(ListIsa isa, uint32_t *v, uint32_t n, uint32_t base, uint32_t step, bool *falls);
uint64_t list_prefix64(uint64_t *v, uint32_t n, uint64_t base, uint64_t step);

static inline uint32_t list_load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t list_load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void list_store32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}
static inline void list_store64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, 8);
}
/* The low `width` bits set; width 0..32. */
static inline uint32_t list_mask(uint32_t width)
{
    return (uint32_t)((UINT64_C(1) << width) - 1);
}
/* Bits of v: 0 for 0. */
static inline uint32_t list_bits(uint32_t v)
{
    return v == 0 ? 0 : 32 - (uint32_t)__builtin_clz(v);
}
static inline uint32_t list_words(uint32_t bits)
{
    return (bits + 31) / 32;
}

#endif
