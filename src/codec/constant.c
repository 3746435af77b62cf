/*
 * constant.c: a block of one value, 8 bytes.
 *
 * A column segment whose values are all equal needs no block at all (its base says everything), so the column
 * writer stores zero bytes for it; the table's form serves blocks inside other formats.
 */
#include "codec/codec.h"

#include <string.h>

static bool constant_fits(const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (words[i] != words[0]) return false;
    return true;
}

static size_t constant_bound(uint32_t n)
{
    (void)n;
    return 8;
}

static tcudb_status constant_encode(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    *size = n == 0 ? 0 : 8;
    if (n > 0) memcpy(out, words, 8);
    return TCUDB_OK;
}

static tcudb_status constant_decode(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width,
                                    void *out, Error *err)
{
    if (size != (n == 0 ? 0 : 8)) return codec_damaged(err, "constant", "wrong size");
    if (n == 0) return TCUDB_OK;
    uint64_t words[128];
    memcpy(words, in, 8);
    for (uint32_t i = 1; i < 128; i++) words[i] = words[0];
    for (uint32_t i = 0; i < n; i += 128)
        codec_store_words(words, n - i < 128 ? n - i : 128, base, out_width, (char *)out + (size_t)i * out_width);
    return TCUDB_OK;
}

const Codec codec_constant = {
    .id = CODEC_CONSTANT,
    .name = "constant",
    .fits = constant_fits,
    .bound = constant_bound,
    .encode = constant_encode,
    .decode = constant_decode,
    .decode_cost = 0.05,
};
