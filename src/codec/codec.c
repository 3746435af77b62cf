/*
 * codec.c: the table of codecs, and what several of them share.
 *
 * The table is codec.def: one line a codec. Ids index an array, so a lookup costs one load; ids from damaged
 * files are out of range or absent and give NULL.
 */
#include "codec/codec.h"

#include <assert.h>
#include <string.h>

#define CODEC(id, symbol) extern const Codec symbol;
#include "codec/codec.def"
#undef CODEC

static const Codec *const codecs[CODEC_COUNT] = {
#define CODEC(id, symbol) [id] = &symbol,
#include "codec/codec.def"
#undef CODEC
};

const Codec *codec_get(CodecId id)
{
    if ((unsigned)id >= CODEC_COUNT) return NULL;
    assert(codecs[id] == NULL || codecs[id]->id == id);
    return codecs[id];
}

void codec_store_words(const uint64_t *words, uint32_t n, uint64_t base, uint32_t out_width, void *out)
{
    switch (out_width) {
    case 1:
        for (uint32_t i = 0; i < n; i++) ((uint8_t *)out)[i] = (uint8_t)(words[i] + base);
        return;
    case 2:
        for (uint32_t i = 0; i < n; i++) ((uint16_t *)out)[i] = (uint16_t)(words[i] + base);
        return;
    case 4:
        for (uint32_t i = 0; i < n; i++) ((uint32_t *)out)[i] = (uint32_t)(words[i] + base);
        return;
    default:
        assert(out_width == 8);
        for (uint32_t i = 0; i < n; i++) ((uint64_t *)out)[i] = words[i] + base;
        return;
    }
}

tcudb_status codec_damaged(Error *err, const char *codec, const char *what)
{
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged %s block: %s", codec, what);
}
