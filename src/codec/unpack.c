/*
 * unpack.c: decoding of bit-packed streams, all of one value or a few of its rows.
 *
 * The scalar twin reads the 64-bit word at the value's byte and, if the value reaches past it, one byte more.
 * Values in the last 8 bytes are read from a padded copy, so that nothing past `size` is touched.
 */
#include "codec/unpack_int.h"

#include <assert.h>
#include <string.h>

static inline uint64_t low_mask(uint32_t bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Needs 9 readable bytes at the value's first byte. */
static inline uint64_t window(const uint8_t *in, uint64_t bit, uint32_t bits)
{
    uint64_t word;
    const uint8_t *at = in + (bit >> 3);
    uint32_t shift = bit & 7;
    memcpy(&word, at, 8);
    word >>= shift;
    if (shift + bits > 64) word |= (uint64_t)at[8] << (64 - shift);
    return word & low_mask(bits);
}

uint64_t bitpack_get(const uint8_t *in, size_t size, uint64_t i, uint32_t bits)
{
    if (bits == 0) return 0;
    uint64_t bit = i * bits;
    size_t byte = bit >> 3;
    if (byte + 9 <= size) return window(in, bit, bits);
    uint8_t padded[16] = {0};
    assert(byte < size);
    memcpy(padded, in + byte, size - byte < 9 ? size - byte : 9);
    return window(padded, bit & 7, bits);
}

static inline void put(void *out, uint32_t out_width, uint32_t i, uint64_t value)
{
    switch (out_width) {
    case 1: ((uint8_t *)out)[i] = (uint8_t)value; return;
    case 2: ((uint16_t *)out)[i] = (uint16_t)value; return;
    case 4: ((uint32_t *)out)[i] = (uint32_t)value; return;
    default: ((uint64_t *)out)[i] = value; return;
    }
}

static void unpack_scalar(const uint8_t *in, size_t size, uint32_t from, uint32_t n, uint32_t bits, uint64_t base,
                          uint32_t out_width, void *out)
{
    uint32_t i = from;
    for (; i < n && (((uint64_t)i * bits) >> 3) + 9 <= size; i++)
        put(out, out_width, i, window(in, (uint64_t)i * bits, bits) + base);
    for (; i < n; i++) put(out, out_width, i, bitpack_get(in, size, i, bits) + base);
}

void bitpack_unpack(const uint8_t *in, size_t size, uint32_t n, uint32_t bits, uint64_t base, uint32_t out_width,
                    void *out)
{
    assert(bits <= 64 && size >= ((uint64_t)n * bits + 7) / 8);
    if (bits == 0) {
        for (uint32_t i = 0; i < n; i++) put(out, out_width, i, base);
        return;
    }
    uint32_t done = unpack_simd(in, size, n, bits, base, out_width, out);
    unpack_scalar(in, size, done, n, bits, base, out_width, out);
}

/* One load a value; the stream's last values are left to the caller. Returns how many were done. */
#define GATHER(T)                                                                                                      \
    for (; i < nsel; i++) {                                                                                            \
        uint64_t word, bit = (uint64_t)sel[i] * bits;                                                                  \
        if ((bit >> 3) + 8 > size) break;                                                                              \
        memcpy(&word, in + (bit >> 3), 8);                                                                             \
        ((T *)out)[sel[i]] = (T)(((word >> (bit & 7)) & mask) + base);                                                 \
    }

static uint32_t gather_one_load(const uint8_t *in, size_t size, const uint16_t *sel, uint32_t nsel, uint32_t bits,
                                uint64_t base, uint32_t out_width, void *out)
{
    uint64_t mask = low_mask(bits);
    uint32_t i = 0;
    switch (out_width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    default: GATHER(uint64_t); break;
    }
    return i;
}

void bitpack_gather(const uint8_t *in, size_t size, const uint16_t *sel, uint32_t nsel, uint32_t bits, uint64_t base,
                    uint32_t out_width, void *out)
{
    assert(bits <= 64);
    const uint32_t one_load = 57; /* a value and its shift fit 64 bits */
    uint32_t i = bits <= one_load ? gather_one_load(in, size, sel, nsel, bits, base, out_width, out) : 0;
    for (; i < nsel; i++) put(out, out_width, sel[i], bitpack_get(in, size, sel[i], bits) + base);
}
