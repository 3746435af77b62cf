/*
 * vse_dp.c: the forward pass of VSEncoding's partition, eight candidate lengths to a register.
 *
 * cost[i] = min over the 16 lengths l of cost[i - l] + l * W(i, l) + 8, W the widest of the last l values.
 * Only the chain cost[i - 1] -> cost[i] is serial; it is kept to about eight cycles:
 *   near  cost[i-1 .. i-8] in a register; a new cost enters by one byte-align
 *   far   cost[i-9 .. i-12, i-14, i-16, i-32, i-64], from a reversed array, ready long before
 *   the minimum of both by PHMINPOSUW, which takes unsigned 16-bit lanes; sums saturate, so that a start
 *   before the block (cost 65535) never wins.
 * The windows' maxima W come the same way: near by shifting a register, lengths 9..16 from the register
 * of eight positions ago, 32 and 64 from arrays filled by doubling.
 *
 * Cost: 4 to 6 ns a value. Memory: 24 KB of stack.
 */
#include "codec/list_int.h"

#include <assert.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { PAD = 64 };

/* widest[i] of the last 32 and the last 64 values: w has PAD zero bytes before value 0. */
__attribute__((target("sse4.1"))) static void wide_windows(const uint8_t *w, uint32_t n, uint8_t *m32, uint8_t *m64)
{
    uint8_t a[CODEC_BLOCK + 2 * PAD] = {0}, b[CODEC_BLOCK + 2 * PAD] = {0};
    const uint8_t *from = w;
    uint8_t *to = a;
    for (int d = 1; d <= 32; d *= 2) {
        if (d == 16) to = m32;
        if (d == 32) to = m64;
        for (uint32_t i = PAD; i < n + PAD; i += 16) {
            __m128i x = _mm_loadu_si128((const __m128i *)(from + i));
            __m128i y = _mm_loadu_si128((const __m128i *)(from + i - d));
            _mm_storeu_si128((__m128i *)(to + i), _mm_max_epu8(x, y));
        }
        from = to;
        to = to == a ? b : a;
    }
}

__attribute__((target("sse4.1"))) void vse_costs_sse(const uint8_t *width, uint32_t n, bool singles, uint16_t *cost)
{
    uint8_t w[CODEC_BLOCK + 2 * PAD] = {0}, m32[CODEC_BLOCK + 2 * PAD] = {0}, m64[CODEC_BLOCK + 2 * PAD] = {0};
    uint16_t back[CODEC_BLOCK + 1 + PAD + 8];
    __m128i windows[CODEC_BLOCK + 8];
    assert(n <= CODEC_BLOCK);
    memcpy(w + PAD, width, n);
    wide_windows(w, n, m32, m64);
    memset(back + n, 255, (PAD + 9) * sizeof(back[0]));
    for (int i = 0; i < 8; i++) windows[i] = _mm_setzero_si128();
    cost[0] = back[n] = 0;
    const __m128i near_len = _mm_setr_epi16(1, 2, 3, 4, 5, 6, 7, 8);
    const __m128i far_len = _mm_setr_epi16(9, 10, 11, 12, 14, 16, 32, 64), head = _mm_set1_epi16(8);
    const __m128i pick = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 14, 15, -1, -1, -1, -1);
    const __m128i barred = singles ? _mm_setzero_si128() : _mm_setr_epi16(-1, 0, 0, 0, 0, 0, 0, 0);
    const __m128i last = _mm_setr_epi8(14, 15, 14, 15, 14, 15, 14, 15, 14, 15, 14, 15, -1, -1, -1, -1);
    __m128i near_cost = _mm_insert_epi16(_mm_set1_epi16(-1), 0, 0), near_max = _mm_setzero_si128();
    for (uint32_t i = 1; i <= n; i++) {
        __m128i here = _mm_set1_epi16(width[i - 1]);
        near_max = _mm_max_epi16(_mm_slli_si128(near_max, 2), here);
        windows[i + 7] = near_max;
        __m128i far_max = _mm_max_epi16(_mm_shuffle_epi8(windows[i - 1], pick), _mm_shuffle_epi8(near_max, last));
        far_max = _mm_insert_epi16(far_max, m32[PAD + i - 1], 6);
        far_max = _mm_insert_epi16(far_max, m64[PAD + i - 1], 7);
        const uint16_t *b = back + n - i;
        __m128i far_cost = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(b + 9)), pick);
        far_cost = _mm_insert_epi16(far_cost, b[32], 6);
        far_cost = _mm_insert_epi16(far_cost, b[64], 7);
        far_cost = _mm_adds_epu16(far_cost, _mm_add_epi16(_mm_mullo_epi16(far_max, far_len), head));
        __m128i near_slots = _mm_or_si128(_mm_add_epi16(_mm_mullo_epi16(near_max, near_len), head), barred);
        __m128i best = _mm_minpos_epu16(_mm_min_epu16(_mm_adds_epu16(near_cost, near_slots), far_cost));
        near_cost = _mm_alignr_epi8(near_cost, _mm_slli_si128(best, 14), 14);
        cost[i] = back[n - i] = (uint16_t)_mm_cvtsi128_si32(best);
    }
}
#else
void vse_costs_sse(const uint8_t *width, uint32_t n, bool singles, uint16_t *cost)
{
    vse_costs_scalar(width, n, singles, cost);
}
#endif
