/*
 * codec.h: the table of codecs: values <-> bytes, in independently decodable blocks of 1024 values.
 *
 * A codec encodes unsigned 64-bit words (CODEC_BLOCK of them, the last block fewer). The column writer
 * maps column values onto words (subtracting the minimum: frame of reference; dictionary codes; the bits
 * of floats) and picks, per segment column, the codec with the best size and decode cost. Decoders never
 * read or write out of bounds on any input: damaged bytes give XX001.
 */
#ifndef CODEC_CODEC_H
#define CODEC_CODEC_H

#include "base/bits.h"
#include "base/mem.h"

enum { CODEC_BLOCK = 1024 };

/* Stored in files: ids are never reused. */
typedef enum CodecId {
    CODEC_RAW = 0,       /* little-endian words of the column's width */
    CODEC_CONSTANT = 1,  /* one value */
    CODEC_RLE = 2,       /* run length */
    CODEC_BITPACK = 3,   /* fixed width: value i of a block at bit i x width, LSB first */
    CODEC_VSE = 4,       /* VSEncoding */
    CODEC_PFOR = 5,      /* PForDelta */
    CODEC_VSE_DELTA = 6, /* over d-gaps; sorted columns and posting lists */
    CODEC_PFOR_DELTA = 7,
    CODEC_COUNT
} CodecId;

typedef struct Codec {
    CodecId id;
    const char *name;
    /* Whether the codec can hold these words at all (delta forms need ascending words). */
    bool (*fits)(const uint64_t *words, uint32_t n);
    /* Largest encoded size of one block of n words, slack included. */
    size_t (*bound)(uint32_t n);
    /* Encodes one block; *size gets the bytes written to out (room for bound(n)). */
    tcudb_status (*encode)(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err);
    /* Decodes one block of n words from exactly `size` bytes into words of out_width bytes (1, 2, 4, 8),
     * adding `base` to each (wrapping). */
    tcudb_status (*decode)(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width, void *out,
                           Error *err);
    /* Nanoseconds a value for decoding, measured on the reference machine: the writer's tie-breaker. */
    double decode_cost;
} Codec;

/* By id; NULL if this build lacks it. Any number is allowed: ids come from files. */
const Codec *codec_get(CodecId id);

/* ---- CODEC_BITPACK beyond the table: for readers that know the width ----------------------------- */

/* Unpacks n values (any number) of `bits` bits (0..64) that begin at in[0], adds base to each and writes words of
 * out_width bytes (1, 2, 4, 8; bits <= 8 x out_width, except that sums wrap). Reads no byte past in + size, where
 * size >= ceil(n x bits / 8). AVX-512, AVX2 or scalar, whatever the machine has. */
void bitpack_unpack(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width,
                    void *out);
/* The same for the rows sel[0..nsel-1] only: out[sel[i]] = value sel[i] + base. */
void bitpack_gather(const uint8_t *in, size_t size, const uint16_t *sel, uint32_t nsel, uint32_t bits, uint64_t base,
                    uint32_t out_width, void *out);
/* Packs n words below 2^bits; writes ceil(n x bits / 8) bytes, and may clear up to 8 more. */
void bitpack_pack(const uint64_t *words, uint32_t n, uint32_t bits, uint8_t *out);
/* Value i; reads no byte past in + size. */
uint64_t bitpack_get(const uint8_t *in, size_t size, uint64_t i, uint32_t bits);

/* Writes n words, each plus base, as words of out_width bytes: the last step of the simple decoders. */
void codec_store_words(const uint64_t *words, uint32_t n, uint64_t base, uint32_t out_width, void *out);
/* XX001 "damaged NAME block: WHAT"; the column reader adds file and offset as detail. */
tcudb_status codec_damaged(Error *err, const char *codec, const char *what);

#endif
