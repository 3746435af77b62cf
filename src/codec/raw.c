/*
 * raw.c: words as they are, little-endian.
 *
 * As an entry of the codec table a block is n words of 8 bytes. Column segments store raw columns in the width
 * of their type instead (SegColumn.word_width) and read them in place, without this decoder.
 * Cost: a copy. Limits: none.
 */
#include "codec/codec.h"

#include <string.h>

static bool raw_fits(const uint64_t *words, uint32_t n)
{
    (void)words;
    (void)n;
    return true;
}

static size_t raw_bound(uint32_t n)
{
    return (size_t)n * 8;
}

static tcudb_status raw_encode(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    memcpy(out, words, (size_t)n * 8);
    *size = (size_t)n * 8;
    return TCUDB_OK;
}

static tcudb_status raw_decode(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width, void *out,
                               Error *err)
{
    if (size != (size_t)n * 8) return codec_damaged(err, "raw", "wrong size");
    uint64_t words[128];
    for (uint32_t i = 0; i < n; i += 128) {
        uint32_t m = n - i < 128 ? n - i : 128;
        memcpy(words, in + (size_t)i * 8, (size_t)m * 8);
        codec_store_words(words, m, base, out_width, (char *)out + (size_t)i * out_width);
    }
    return TCUDB_OK;
}

const Codec codec_raw = {
    .id = CODEC_RAW,
    .name = "raw",
    .fits = raw_fits,
    .bound = raw_bound,
    .encode = raw_encode,
    .decode = raw_decode,
    .decode_cost = 0.1,
};
