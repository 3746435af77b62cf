/*
 * rle.c: run length.
 *
 *     u16 runs | u8 value bytes (1, 2, 4, 8) | u8 zero | runs x u16 end | runs x value
 *
 * End is the first row after the run, ascending, the last one equal to the block's n; values are little-endian.
 * Example: 7 7 7 9 -> 2, 1, 0, (3, 4), (7, 9) = 10 bytes. Two words a run make a block cheap to scan without
 * unpacking: a predicate is decided once a run.
 * Cost: encoding one pass; decoding one store a value, a branch a run. Limits: n <= 65535.
 */
#include "codec/codec.h"

#include <assert.h>
#include <string.h>

enum { RLE_HEADER = 4 };

static bool rle_fits(const uint64_t *words, uint32_t n)
{
    (void)words;
    return n <= UINT16_MAX;
}

static size_t rle_bound(uint32_t n)
{
    return RLE_HEADER + (size_t)n * 10;
}

static uint32_t value_bytes(uint64_t all)
{
    uint32_t width = bit_width64(all);
    return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
}

static tcudb_status rle_encode(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    assert(n <= UINT16_MAX);
    uint16_t runs = 0;
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) {
        runs += i == 0 || words[i] != words[i - 1];
        all |= words[i];
    }
    uint32_t bytes = value_bytes(all);
    memcpy(out, &runs, 2);
    out[2] = (uint8_t)bytes;
    out[3] = 0;
    uint8_t *end = out + RLE_HEADER;
    uint8_t *value = end + (size_t)runs * 2;
    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 < n && words[i + 1] == words[i]) continue;
        uint16_t after = (uint16_t)(i + 1);
        memcpy(end, &after, 2);
        memcpy(value, &words[i], bytes);
        end += 2;
        value += bytes;
    }
    *size = (size_t)(value - out);
    return TCUDB_OK;
}

static void fill(void *out, uint32_t out_width, uint32_t from, uint32_t to, uint64_t value)
{
    switch (out_width) {
    case 1: memset((uint8_t *)out + from, (uint8_t)value, to - from); return;
    case 2:
        for (uint32_t i = from; i < to; i++) ((uint16_t *)out)[i] = (uint16_t)value;
        return;
    case 4:
        for (uint32_t i = from; i < to; i++) ((uint32_t *)out)[i] = (uint32_t)value;
        return;
    default:
        assert(out_width == 8);
        for (uint32_t i = from; i < to; i++) ((uint64_t *)out)[i] = value;
        return;
    }
}

static tcudb_status rle_decode(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width, void *out,
                               Error *err)
{
    if (size < RLE_HEADER) return codec_damaged(err, "run-length", "too short");
    uint16_t runs;
    memcpy(&runs, in, 2);
    uint32_t bytes = in[2];
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return codec_damaged(err, "run-length", "bad value width");
    if (size != RLE_HEADER + (size_t)runs * (2 + bytes)) return codec_damaged(err, "run-length", "wrong size");
    const uint8_t *ends = in + RLE_HEADER;
    const uint8_t *values = ends + (size_t)runs * 2;
    uint32_t from = 0;
    for (uint32_t r = 0; r < runs; r++) {
        uint16_t to;
        uint64_t value = 0;
        memcpy(&to, ends + (size_t)r * 2, 2);
        memcpy(&value, values + (size_t)r * bytes, bytes);
        if (to <= from || to > n) return codec_damaged(err, "run-length", "runs out of order");
        fill(out, out_width, from, to, value + base);
        from = to;
    }
    return from == n ? TCUDB_OK : codec_damaged(err, "run-length", "runs end early");
}

const Codec codec_rle = {
    .id = CODEC_RLE,
    .name = "rle",
    .fits = rle_fits,
    .bound = rle_bound,
    .encode = rle_encode,
    .decode = rle_decode,
    .decode_cost = 0.2,
};
