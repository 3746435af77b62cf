/*
 * list_avx2.c: block decoders for AVX2.
 *
 * Eight slots of one width w are one step: each 128-bit half loads 16 bytes at its first slot's byte,
 * PSHUFB gives lane j the four bytes from byte (j * w) / 8 on, a variable shift by (j * w) % 8 + phase
 * brings the slot down. This needs 7 + 7 + w <= 32, so w <= 18; wider slots are read one by one.
 *
 * Loads may pass the payload's end by 15 bytes, stores the block's end by 7 values: the last bunches and
 * slots, where that could happen, are read one by one.
 */
#include "codec/list_int.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,bmi2")))

enum { NARROW = 18 };

typedef struct Lanes {
    __m256i bytes; /* PSHUFB's indices, the same in both halves */
    __m256i shift;
    __m256i mask;
} Lanes;

TARGET static inline Lanes lanes_of(uint32_t width)
{
    const __m256i repeat =
        _mm256_set_epi64x(0x0c0c0c0c08080808, 0x0404040400000000, 0x0c0c0c0c08080808, 0x0404040400000000);
    __m256i bit = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3), _mm256_set1_epi32((int)width));
    __m256i byte = _mm256_shuffle_epi8(_mm256_srli_epi32(bit, 3), repeat);
    return (Lanes){_mm256_add_epi8(byte, _mm256_set1_epi32(0x03020100)), _mm256_and_si256(bit, _mm256_set1_epi32(7)),
                   _mm256_set1_epi32((int)list_mask(width))};
}

/* Slots at bits `bit` and after; `shift` includes the phase of each half. */
TARGET static inline __m256i unpack8(const uint8_t *in, uint64_t bit, uint32_t width, const Lanes *l)
{
    uint64_t second = bit + 4 * width;
    __m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(in + (bit >> 3)))),
                                        _mm_loadu_si128((const __m128i *)(in + (second >> 3))), 1);
    __m256i phase = _mm256_inserti128_si256(_mm256_set1_epi32((int)(bit & 7)), _mm_set1_epi32((int)(second & 7)), 1);
    x = _mm256_srlv_epi32(_mm256_shuffle_epi8(x, l->bytes), _mm256_add_epi32(l->shift, phase));
    return _mm256_and_si256(x, l->mask);
}

TARGET static void slots_exact(const uint8_t *in, size_t size, uint64_t bit, uint32_t width, uint32_t l, uint32_t *out)
{
    for (uint32_t i = 0; i < l; i++, bit += width) out[i] = list_get_bits(in, size, bit, width);
}

TARGET ListFault pfor_decode_avx2(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    uint32_t slot_bytes = 4 * list_words(h->n * h->width), i = 0, w = h->width;
    Lanes l = lanes_of(w);
    for (; w <= NARROW && i + 8 <= h->n; i += 8) {
        uint64_t bit = (uint64_t)i * w;
        if (((bit + 4 * w) >> 3) + 16 > readable) break;
        _mm256_storeu_si256((__m256i *)(out + i), unpack8(in, bit, w, &l));
    }
    slots_exact(in, slot_bytes, (uint64_t)i * w, w, h->n - i, out + i);
    return pfor_patch(h, in + slot_bytes, size - slot_bytes, out);
}

TARGET ListFault vse_decode_avx2(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    uint64_t n = 0, bits = 0, bit = 8 * (uint64_t)h->count;
    Lanes lanes[14];
    for (uint32_t s = 0; s < h->count; s++) {
        uint32_t l = vse_length[in[s] & 15];
        n += l;
        bits += l * vse_width[in[s] >> 4];
    }
    if (n != h->n || bits > 8 * (size - h->count)) return LIST_BAD_BUNCHES;
    for (uint32_t c = 0; c < 14; c++) lanes[c] = lanes_of(vse_width[c]);
    uint32_t *end = out + h->n;
    for (const uint8_t *sig = in, *stop = in + h->count; sig < stop; sig++) {
        uint32_t l = vse_length[*sig & 15], code = *sig >> 4, w = vse_width[code];
        uint32_t rounded = (l + 7) & ~7u;
        if (w > NARROW || end - out < rounded || ((bit + (uint64_t)rounded * w) >> 3) + 16 > readable) {
            slots_exact(in, size, bit, w, l, out);
        } else {
            for (uint32_t i = 0; i < l; i += 8)
                _mm256_storeu_si256((__m256i *)(out + i), unpack8(in, bit + (uint64_t)i * w, w, &lanes[code]));
        }
        out += l;
        bit += l * w;
    }
    return LIST_OK;
}

TARGET uint32_t list_prefix32_avx2(uint32_t *v, uint32_t n, uint32_t base, uint32_t step)
{
    uint32_t i = 0;
    const __m256i steps = _mm256_mullo_epi32(_mm256_set1_epi32((int)step), _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8));
    __m256i carry = _mm256_set1_epi32((int)base);
    for (; i + 8 <= n; i += 8) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(v + i));
        x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
        x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
        __m256i low = _mm256_permute2x128_si256(x, x, 0x08); /* zero, low half */
        x = _mm256_add_epi32(x, _mm256_shuffle_epi32(low, 0xff));
        x = _mm256_add_epi32(_mm256_add_epi32(x, steps), carry);
        _mm256_storeu_si256((__m256i *)(v + i), x);
        carry = _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(7));
    }
    base = i == 0 ? base : v[i - 1];
    for (; i < n; i++) v[i] = base += v[i] + step;
    return base;
}
#else
ListFault pfor_decode_avx2(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    return pfor_decode_scalar(h, in, size, readable, out);
}
ListFault vse_decode_avx2(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    return vse_decode_scalar(h, in, size, readable, out);
}
uint32_t list_prefix32_avx2(uint32_t *v, uint32_t n, uint32_t base, uint32_t step)
{
    return list_prefix32(LIST_SCALAR, v, n, base, step);
}
#endif
