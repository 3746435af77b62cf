/*
 * list_int.h: between the files that encode and decode list blocks.
 */
#ifndef CODEC_LIST_INT_H
#define CODEC_LIST_INT_H

#include "codec/list_block.h"

/* Bunch lengths and widths by code; a signature byte is length code | width code << 4. */
extern const uint8_t vse_length[16];
extern const uint8_t vse_width[16];
/* Width code of the narrowest width that holds a value of 0..32 bits. */
extern const uint8_t vse_code[33];

/* Signatures of the cheapest partition (8 bits a bunch plus the slots); returns the number of bunches,
 * at most LIST_MAX_BUNCHES. *bits gets the payload bits. */
uint32_t vse_partition(const uint32_t *values, uint32_t n, uint8_t signatures[LIST_MAX_BUNCHES], uint32_t *bits);
/* The same with one instruction set, for tests. */
uint32_t vse_partition_isa(ListIsa isa, const uint32_t *values, uint32_t n, uint8_t signatures[LIST_MAX_BUNCHES],
                           uint32_t *bits);
/* cost[i] = bits of the cheapest partition of the first i values; singles: bunches of one are allowed.
 * width[i] is the slot width of value i. */
void vse_costs_scalar(const uint8_t *width, uint32_t n, bool singles, uint16_t *cost);
void vse_costs_sse(const uint8_t *width, uint32_t n, bool singles, uint16_t *cost);
/* Writes signatures and slots; returns payload bytes (not padded). */
size_t vse_pack(const uint32_t *values, const uint8_t *signatures, uint32_t count, uint8_t *out);

/* Payload decoders: `in` is the payload, in + size its end, in + readable the end of readable memory. The
 * header has been checked. */
ListFault vse_decode_scalar(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out);
ListFault vse_decode_avx2(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out);
ListFault vse_decode_avx512(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out);
ListFault pfor_decode_scalar(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out);
ListFault pfor_decode_avx2(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out);
ListFault pfor_decode_avx512(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out);
uint32_t list_prefix32_avx2(uint32_t *v, uint32_t n, uint32_t base, uint32_t step);
uint32_t list_prefix32_avx512(uint32_t *v, uint32_t n, uint32_t base, uint32_t step, bool *falls);

/* The best slot width: least bits for slots and exceptions; *count and *exc_width describe the rest. */
uint32_t pfor_choose(const uint32_t *values, uint32_t n, uint32_t *count, uint32_t *exc_width);
static inline uint32_t pfor_words(uint32_t n, uint32_t width, uint32_t count, uint32_t exc_width)
{
    return list_words(n * width) + list_words(count * (LIST_POSITION_BITS + exc_width));
}
void pfor_pack(const uint32_t *values, uint32_t n, uint32_t width, uint32_t count, uint32_t exc_width, uint8_t *out);
/* ORs the exceptions of a block into out. `in` is the first exception word. */
ListFault pfor_patch(const ListHead *h, const uint8_t *in, size_t size, uint32_t *out);

/* `width` (0..32) bits at bit position `bit` of a buffer of `size` bytes; bits past the end read as 0. */
static inline uint32_t list_get_bits(const uint8_t *in, size_t size, uint64_t bit, uint32_t width)
{
    size_t at = (size_t)(bit >> 3);
    uint64_t window = 0;
    if (at + 8 <= size) {
        window = list_load64(in + at);
    } else {
        for (size_t i = 0; i < 8 && at + i < size; i++) window |= (uint64_t)in[at + i] << (8 * i);
    }
    return (uint32_t)(window >> (bit & 7)) & list_mask(width);
}

/* Appends bits, LSB first, in 64-bit steps; writes up to 8 bytes past the last bit's byte. */
typedef struct ListBits {
    uint8_t *at;
    uint64_t acc;
    uint32_t used;
} ListBits;

static inline void list_put_bits(ListBits *b, uint32_t value, uint32_t width)
{
    b->acc |= (uint64_t)value << b->used;
    b->used += width;
    if (b->used >= 32) {
        list_store32(b->at, (uint32_t)b->acc);
        b->at += 4;
        b->acc >>= 32;
        b->used -= 32;
    }
}
/* Writes the last bits, byte by byte; returns the end. */
static inline uint8_t *list_flush_bits(ListBits *b)
{
    for (; b->used > 0; b->used -= b->used < 8 ? b->used : 8, b->acc >>= 8) *b->at++ = (uint8_t)b->acc;
    return b->at;
}

#endif
