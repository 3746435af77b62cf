/*
 * list_codecs.c: VSEncoding and PForDelta as column codecs, plain and over the differences of sorted words.
 *
 * A column block is a list block (list_block.h); the delta forms put an 8-byte base before it. The first gap
 * repeats the second, so that words with a constant step are a constant block.
 */
#include "codec/list_block.h"

#include <assert.h>

static bool fits_any(const uint64_t *words, uint32_t n)
{
    (void)words;
    (void)n;
    return true;
}

static bool fits_ascending(const uint64_t *words, uint32_t n)
{
    bool falls = false;
    for (uint32_t i = 1; i < n; i++) falls |= words[i] < words[i - 1];
    return !falls;
}

static size_t bound_delta(uint32_t n)
{
    return 8 + list_bound64(n);
}

static tcudb_status encode_delta(const uint64_t *words, uint32_t n, uint32_t schemes, uint8_t *out, size_t *size)
{
    uint64_t gaps[CODEC_BLOCK];
    assert(n >= 1 && n <= CODEC_BLOCK);
    for (uint32_t i = 1; i < n; i++) gaps[i] = words[i] - words[i - 1];
    gaps[0] = n > 1 ? gaps[1] : 0;
    list_store64(out, words[0] - gaps[0]);
    *size = 8 + list_encode64(gaps, n, schemes, out + 8);
    return TCUDB_OK;
}

static tcudb_status encode_vse(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    *size = list_encode64(words, n, LIST_USE_VSE, out);
    return TCUDB_OK;
}

static tcudb_status encode_pfor(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    *size = list_encode64(words, n, LIST_USE_PFOR, out);
    return TCUDB_OK;
}

static tcudb_status encode_vse_delta(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    return encode_delta(words, n, LIST_USE_VSE, out, size);
}

static tcudb_status encode_pfor_delta(const uint64_t *words, uint32_t n, uint8_t *out, size_t *size, Error *err)
{
    (void)err;
    return encode_delta(words, n, LIST_USE_PFOR, out, size);
}

/* out[i] = base + in[i], cut to the width. */
#define WIDEN(T)                                                                                                       \
    do {                                                                                                               \
        T *to = out;                                                                                                   \
        for (uint32_t i = 0; i < n; i++) to[i] = (T)(base + (uint64_t)in[i]);                                          \
    } while (0)
#define WIDEN_ALL                                                                                                      \
    switch (out_width) {                                                                                               \
    case 1: WIDEN(uint8_t); break;                                                                                     \
    case 2: WIDEN(uint16_t); break;                                                                                    \
    case 4: WIDEN(uint32_t); break;                                                                                    \
    default:                                                                                                           \
        assert(out_width == 8);                                                                                        \
        WIDEN(uint64_t);                                                                                               \
        break;                                                                                                         \
    }

static void widen32(const uint32_t *in, uint32_t n, uint64_t base, uint32_t out_width, void *out)
{
    WIDEN_ALL
}

static void widen64(const uint64_t *in, uint32_t n, uint64_t base, uint32_t out_width, void *out)
{
    WIDEN_ALL
}

static tcudb_status finish(ListFault fault, Error *err)
{
    if (fault == LIST_OK) return TCUDB_OK;
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged column block: %s", list_fault_text(fault));
}

/* The block must fill `size` bytes to the last one. */
static ListFault whole_block(const uint8_t *in, size_t size, ListHead *head)
{
    ListFault fault = list_read_head(in, size, head);
    if (fault == LIST_OK && LIST_HEAD + 4 * (size_t)head->words != size) fault = LIST_BAD_SIZE;
    return fault;
}

static tcudb_status decode_plain(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width,
                                 void *out, Error *err)
{
    uint32_t narrow[CODEC_BLOCK];
    uint64_t wide[CODEC_BLOCK];
    ListHead head;
    TRY(finish(whole_block(in, size, &head), err));
    if (n == 0 || n > CODEC_BLOCK) return finish(LIST_BAD_HEADER, err);
    if (head.scheme == LIST_PAIR) {
        TRY(finish(list_decode64(list_isa(), in, size, size, n, wide), err));
        widen64(wide, n, base, out_width, out);
        return TCUDB_OK;
    }
    if (out_width == 4 && base == 0) return finish(list_decode32(list_isa(), in, size, size, n, out), err);
    TRY(finish(list_decode32(list_isa(), in, size, size, n, narrow), err));
    widen32(narrow, n, base, out_width, out);
    return TCUDB_OK;
}

static tcudb_status decode_delta(const uint8_t *in, size_t size, uint32_t n, uint64_t base, uint32_t out_width,
                                 void *out, Error *err)
{
    uint32_t narrow[CODEC_BLOCK];
    uint64_t wide[CODEC_BLOCK];
    ListHead head;
    if (size < 8 || n == 0 || n > CODEC_BLOCK) return finish(LIST_BAD_SIZE, err);
    TRY(finish(whole_block(in + 8, size - 8, &head), err));
    uint64_t start = list_load64(in) + base;
    if (head.scheme != LIST_PAIR && out_width <= 4) {
        TRY(finish(list_decode32(list_isa(), in + 8, size - 8, size - 8, n, narrow), err));
        list_prefix32(list_isa(), narrow, n, (uint32_t)start, 0);
        widen32(narrow, n, 0, out_width, out);
        return TCUDB_OK;
    }
    TRY(finish(list_decode64(list_isa(), in + 8, size - 8, size - 8, n, wide), err));
    list_prefix64(wide, n, start, 0);
    widen64(wide, n, 0, out_width, out);
    return TCUDB_OK;
}

/* decode_cost: nanoseconds a value on one Zen 4 core with AVX-512 (bench/codec_lists). */
const Codec codec_vse = {CODEC_VSE, "vse", fits_any, list_bound64, encode_vse, decode_plain, 0.33};
const Codec codec_pfor = {CODEC_PFOR, "pfor", fits_any, list_bound64, encode_pfor, decode_plain, 0.15};
const Codec codec_vse_delta = {CODEC_VSE_DELTA, "vse_delta", fits_ascending, bound_delta, encode_vse_delta,
                               decode_delta,    0.45};
const Codec codec_pfor_delta = {CODEC_PFOR_DELTA, "pfor_delta", fits_ascending, bound_delta, encode_pfor_delta,
                                decode_delta,     0.27};
