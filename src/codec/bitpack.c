/*
 * bitpack.c: fixed width: value i at bit i x width of one stream, least significant bit first.
 *
 *     u8 width | ceil(n x width / 8) bytes          (the codec table's block)
 *
 * Column segments keep the width outside (SegColumn.bits) and store the bare stream, 128 x width bytes a block of
 * 1024, so that value i of a block lies in one or two words: a late column can be loaded by row. Decoding is in
 * unpack.c. Cost: packing about 1 ns a value.
 */
#include "codec/codec.h"

#include <assert.h>
#include <string.h>

static uint32_t width_of(const uint64_t *words, uint32_t n)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all |= words[i];
    return bit_width64(all);
}

static bool bitpack_fits(const uint64_t *words, uint32_t n)
{
    (void)words;
    (void)n;
    return true;
}

static size_t bitpack_bound(uint32_t n)
{
    return 1 + (size_t)n * 8 + 8;
}

void bitpack_pack(const uint64_t *words, uint32_t n, uint32_t bits, uint8_t *out)
{
    assert(bits <= 64);
    if (bits == 0) return;
    uint64_t pending = 0;
    uint32_t have = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = words[i];
        pending |= v << have;
        have += bits;
        if (have >= 64) {
            memcpy(out, &pending, 8);
            out += 8;
            have -= 64;
            pending = have == 0 ? 0 : v >> (bits - have);
        }
    }
    memcpy(out, &pending, (have + 7) / 8);
}

static tcudb_status bitpack_encode(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    uint32_t bits = width_of(words, n);
    out[0] = (uint8_t)bits;
    bitpack_pack(words, n, bits, out + 1);
    *size = 1 + ((size_t)n * bits + 7) / 8;
    return TCUDB_OK;
}

static tcudb_status bitpack_decode(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width,
                                   void *out, Error *err)
{
    if (size < 1 || in[0] > 64) return codec_damaged(err, "bit-packed", "bad width");
    if (size != 1 + ((size_t)n * in[0] + 7) / 8) return codec_damaged(err, "bit-packed", "wrong size");
    bitpack_unpack(in + 1, size - 1, n, in[0], base, out_width, out);
    return TCUDB_OK;
}

const Codec codec_bitpack = {
    .id = CODEC_BITPACK,
    .name = "bitpack",
    .fits = bitpack_fits,
    .bound = bitpack_bound,
    .encode = bitpack_encode,
    .decode = bitpack_decode,
    .decode_cost = 0.15,
};
