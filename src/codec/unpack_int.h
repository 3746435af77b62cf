/*
 * unpack_int.h: between unpack.c and its vectorised part.
 */
#ifndef CODEC_UNPACK_INT_H
#define CODEC_UNPACK_INT_H

#include "codec/codec.h"

/* Unpacks the first values of the stream with vector instructions, as bitpack_unpack does; returns how many:
 * a multiple of 8, possibly 0. Reads nothing past in + size. bits > 0. */
uint32_t unpack_simd(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width,
                     void *out);

#endif
