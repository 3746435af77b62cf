/*
 * list_avx512.c: block decoders for AVX-512 with VBMI.
 *
 * Sixteen slots of one width w, from any bit position, are one step: 64 bytes are loaded at the first
 * slot's byte, VPERMB gives lane j the four bytes from byte (j * w) / 8 on, a variable shift by
 * (j * w) % 8 + phase brings the slot down (phase: bit position % 8), a mask cuts it. This needs
 * 7 + 7 + w <= 32 bits, so w <= 18; wider slots go eight at a time through 64-bit lanes.
 * PForDelta's phase is always 0, since 16 slots are a whole number of bytes: widths up to 25 fit.
 *
 * Loads may pass the payload's end by 63 bytes: a payload without that much behind it is copied first.
 * Stores are masked at the block's end, never past n values.
 */
#include "codec/list_int.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,bmi2")))

enum { OVER_READ = 64, NARROW = 18 };

typedef struct Lanes {
    __m512i bytes; /* VPERMB's indices */
    __m512i shift;
    __m512i mask;
} Lanes;

/* The step's constants for width 0..25. */
TARGET static inline Lanes lanes_of(uint32_t width)
{
    const __m512i j = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i repeat = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    __m512i bit = _mm512_mullo_epi32(j, _mm512_set1_epi32((int)width));
    __m512i byte = _mm512_shuffle_epi8(_mm512_srli_epi32(bit, 3), repeat);
    return (Lanes){_mm512_add_epi8(byte, _mm512_set1_epi32(0x03020100)), _mm512_and_si512(bit, _mm512_set1_epi32(7)),
                   _mm512_set1_epi32((int)list_mask(width))};
}

TARGET static inline __m512i unpack16(const uint8_t *in, __m512i bytes, __m512i shift, __m512i mask)
{
    __m512i window = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(in));
    return _mm512_and_si512(_mm512_srlv_epi32(window, shift), mask);
}

/* Eight slots of up to 32 bits, phase 0..7. */
TARGET static inline __m256i unpack8(const uint8_t *in, uint32_t width, uint32_t phase)
{
    const __m512i j = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i repeat = _mm512_set4_epi32(0x08080808, 0x08080808, 0, 0);
    __m512i bit = _mm512_add_epi64(_mm512_mullo_epi64(j, _mm512_set1_epi64(width)), _mm512_set1_epi64(phase));
    __m512i byte = _mm512_shuffle_epi8(_mm512_srli_epi64(bit, 3), repeat);
    byte = _mm512_add_epi8(byte, _mm512_set1_epi64(0x0706050403020100));
    __m512i window = _mm512_permutexvar_epi8(byte, _mm512_loadu_si512(in));
    window = _mm512_srlv_epi64(window, _mm512_and_si512(bit, _mm512_set1_epi64(7)));
    return _mm512_cvtepi64_epi32(_mm512_and_si512(window, _mm512_set1_epi64(list_mask(width))));
}

/* Makes OVER_READ bytes behind the payload readable, by copying it if need be. */
static inline const uint8_t *with_slack(const uint8_t *in, size_t size, size_t readable, uint8_t *copy)
{
    if (readable >= size + OVER_READ) return in;
    memcpy(copy, in, size);
    memset(copy + size, 0, OVER_READ);
    return copy;
}

enum { PAYLOAD_MAX = 4 * (CODEC_BLOCK + CODEC_BLOCK / 2 + 16) };

TARGET static void unpack_slots(const uint8_t *in, uint32_t n, uint32_t width, uint32_t *out)
{
    Lanes l = lanes_of(width);
    size_t step = 2 * (size_t)width;
    uint32_t i = 0;
    for (; i + 64 <= n; i += 64, in += 4 * step) {
        _mm512_storeu_si512(out + i, unpack16(in, l.bytes, l.shift, l.mask));
        _mm512_storeu_si512(out + i + 16, unpack16(in + step, l.bytes, l.shift, l.mask));
        _mm512_storeu_si512(out + i + 32, unpack16(in + 2 * step, l.bytes, l.shift, l.mask));
        _mm512_storeu_si512(out + i + 48, unpack16(in + 3 * step, l.bytes, l.shift, l.mask));
    }
    for (; i < n; i += 16, in += step) {
        __mmask16 k = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1);
        _mm512_mask_storeu_epi32(out + i, k, unpack16(in, l.bytes, l.shift, l.mask));
    }
}

TARGET static void unpack_wide_slots(const uint8_t *in, uint32_t n, uint32_t width, uint32_t *out)
{
    for (uint32_t i = 0; i < n; i += 8, in += width) {
        __mmask8 k = n - i >= 8 ? 0xff : (__mmask8)((1u << (n - i)) - 1);
        _mm256_mask_storeu_epi32(out + i, k, unpack8(in, width, 0));
    }
}

/* Exceptions, 16 entries a step; entries are at most 25 bits. in has OVER_READ bytes of slack. Their slots are cut
 * again, out of the payload: waiting for what was just stored would take longer. */
TARGET static ListFault patch16(const ListHead *h, const uint8_t *slots, const uint8_t *in, uint32_t *out)
{
    uint32_t entry = LIST_POSITION_BITS + h->exc_width;
    const __m512i low10 = _mm512_set1_epi32(1023), width = _mm512_set1_epi32((int)h->width);
    const __m512i mask = _mm512_set1_epi32((int)list_mask(h->width)), n = _mm512_set1_epi32((int)h->n);
    Lanes l = lanes_of(entry);
    __m512i before = _mm512_set1_epi32(-1);
    for (uint32_t e = 0; e < h->count; e += 16, in += 2 * (size_t)entry) {
        __mmask16 live = (__mmask16)(h->count - e < 16 ? (1u << (h->count - e)) - 1 : 0xffff);
        __m512i v = unpack16(in, l.bytes, l.shift, l.mask), p = _mm512_and_si512(v, low10);
        __mmask16 good = _mm512_cmpgt_epi32_mask(p, _mm512_alignr_epi32(p, before, 15)) & _mm512_cmplt_epu32_mask(p, n);
        if ((good & live) != live) return LIST_BAD_EXCEPTION;
        before = p;
        __m512i bit = _mm512_madd_epi16(p, width);
        __m512i slot = _mm512_mask_i32gather_epi32(p, live, _mm512_srli_epi32(bit, 3), slots, 1);
        slot = _mm512_and_si512(_mm512_srlv_epi32(slot, _mm512_and_si512(bit, _mm512_set1_epi32(7))), mask);
        slot = _mm512_or_si512(slot, _mm512_sllv_epi32(_mm512_srli_epi32(v, 10), width));
        _mm512_mask_i32scatter_epi32(out, live, p, slot, 4);
    }
    return LIST_OK;
}

TARGET ListFault pfor_decode_avx512(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    uint8_t copy[PAYLOAD_MAX + OVER_READ];
    uint32_t slot_bytes = 4 * list_words(h->n * h->width);
    assert(size <= PAYLOAD_MAX);
    in = with_slack(in, size, readable, copy);
    if (h->width <= 25)
        unpack_slots(in, h->n, h->width, out);
    else
        unpack_wide_slots(in, h->n, h->width, out);
    if (h->width <= 25 && h->exc_width + LIST_POSITION_BITS <= 25) return patch16(h, in, in + slot_bytes, out);
    return pfor_patch(h, in + slot_bytes, size - slot_bytes, out);
}

/* Sums of lengths and of slot bits over the signatures, 64 a step. */
TARGET static void sum_signatures(const uint8_t *in, uint32_t count, uint64_t *values, uint64_t *bits)
{
    const __m512i lengths = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)vse_length));
    const __m512i widths = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)vse_width));
    const __m512i low4 = _mm512_set1_epi8(15), ones = _mm512_set1_epi16(1);
    __m512i n = _mm512_setzero_si512(), b = _mm512_setzero_si512();
    for (uint32_t s = 0; s < count; s += 64) {
        __mmask64 k = count - s >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (count - s)) - 1;
        __m512i sig = _mm512_maskz_loadu_epi8(k, in + s);
        __m512i l = _mm512_maskz_shuffle_epi8(k, lengths, _mm512_and_si512(sig, low4));
        __m512i w = _mm512_shuffle_epi8(widths, _mm512_and_si512(_mm512_srli_epi16(sig, 4), low4));
        n = _mm512_add_epi64(n, _mm512_sad_epu8(l, _mm512_setzero_si512()));
        b = _mm512_add_epi32(b, _mm512_madd_epi16(_mm512_maddubs_epi16(l, w), ones));
    }
    *values = (uint64_t)_mm512_reduce_add_epi64(n);
    *bits = (uint32_t)_mm512_reduce_add_epi32(b);
}

/* One bunch of a width above NARROW, or near the end of the block: exactly l values are written. */
TARGET static void bunch_exact(const uint8_t *in, uint64_t bit, uint32_t l, uint32_t width, uint32_t *out)
{
    for (uint32_t i = 0; i < l; i += 8, bit += 8 * (uint64_t)width) {
        __mmask8 k = l - i >= 8 ? 0xff : (__mmask8)((1u << (l - i)) - 1);
        _mm256_mask_storeu_epi32(out + i, k, unpack8(in + (bit >> 3), width, bit & 7));
    }
}

TARGET ListFault vse_decode_avx512(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    uint8_t copy[PAYLOAD_MAX + OVER_READ];
    uint64_t n, bits, bit = 8 * (uint64_t)h->count;
    Lanes lanes[14];
    sum_signatures(in, h->count, &n, &bits);
    if (n != h->n || bits > 8 * (size - h->count)) return LIST_BAD_BUNCHES;
    if (size > PAYLOAD_MAX) return LIST_BAD_SIZE;
    in = with_slack(in, size, readable, copy);
    for (uint32_t c = 0; c < 14; c++) lanes[c] = lanes_of(vse_width[c]);
    uint32_t *end = out + h->n;
    for (const uint8_t *sig = in, *stop = in + h->count; sig < stop; sig++) {
        uint32_t l = vse_length[*sig & 15], code = *sig >> 4, w = vse_width[code];
        if (__builtin_expect(w > NARROW || end - out < 64, 0)) {
            bunch_exact(in, bit, l, w, out);
        } else {
            const uint8_t *at = in + (bit >> 3);
            const Lanes *t = &lanes[code];
            __m512i shift = _mm512_add_epi32(t->shift, _mm512_set1_epi32((int)(bit & 7)));
            _mm512_storeu_si512(out, unpack16(at, t->bytes, shift, t->mask));
            for (uint32_t i = 16; i < l; i += 16)
                _mm512_storeu_si512(out + i, unpack16(at + i / 8 * (size_t)w, t->bytes, shift, t->mask));
        }
        out += l;
        bit += l * w;
    }
    return LIST_OK;
}

/* One step of sixteen: x gets the sums over its lanes, plus the carry and the steps. */
TARGET static inline __m512i prefix16(__m512i x, __m512i steps, __m512i carry)
{
    const __m512i zero = _mm512_setzero_si512();
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8));
    return _mm512_add_epi32(_mm512_add_epi32(x, steps), carry);
}

TARGET uint32_t list_prefix32_avx512(uint32_t *v, uint32_t n, uint32_t base, uint32_t step, bool *falls)
{
    const __m512i last = _mm512_set1_epi32(15);
    const __m512i steps = _mm512_mullo_epi32(_mm512_set1_epi32((int)step),
                                             _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
    __m512i carry = _mm512_set1_epi32((int)base), before = carry;
    uint32_t i = 0, bad = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i x = prefix16(_mm512_loadu_si512(v + i), steps, carry);
        _mm512_storeu_si512(v + i, x);
        /* the base of a first block, -1, is no value */
        bad |= _mm512_cmple_epu32_mask(x, _mm512_alignr_epi32(x, before, 15)) &
               (i == 0 && base == UINT32_MAX ? 0xfffeu : 0xffffu);
        before = x;
        carry = _mm512_permutexvar_epi32(last, x);
    }
    uint32_t at = i == 0 ? base : v[i - 1];
    for (; i < n; i++) {
        uint32_t next = at + v[i] + step;
        bad |= next <= at && (i > 0 || base != UINT32_MAX);
        v[i] = at = next;
    }
    *falls = bad != 0;
    return at;
}
#else
ListFault pfor_decode_avx512(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    return pfor_decode_scalar(h, in, size, readable, out);
}
ListFault vse_decode_avx512(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    return vse_decode_scalar(h, in, size, readable, out);
}
uint32_t list_prefix32_avx512(uint32_t *v, uint32_t n, uint32_t base, uint32_t step, bool *falls)
{
    return list_ascend32(LIST_SCALAR, v, n, base, step, falls);
}
#endif
