/*
 * pfor.c: PForDelta: slots of one width for all values of a block, and exceptions for those that exceed it.
 *
 * A block is 32 bunches of 32 slots, which is one bit stream: value i lies at bit i * width, least
 * significant bit first. The exceptions of all bunches are merged into one set behind it: entries of
 * 10 + exc_width bits, position | high << 10, by ascending position; the value is slot | high << width.
 * So the slots need no branch and the exceptions one pass, whatever their number.
 *
 * The width minimises n * width + count * (10 + exc_width), from a histogram of the values' bit lengths.
 * Source: Zukowski et al., ICDE 2006; one set of exceptions a block as in the GPU decoder of the seed text.
 */
#include "codec/list_int.h"

#include <assert.h>

uint32_t pfor_choose(const uint32_t *values, uint32_t n, uint32_t *count, uint32_t *exc_width)
{
    uint32_t histogram[33] = {0}, widest = 32, best = UINT32_MAX, best_width = 32, above = 0;
    for (uint32_t i = 0; i < n; i++) histogram[list_bits(values[i])]++;
    while (widest > 0 && histogram[widest] == 0) widest--;
    for (uint32_t w = widest;; w--) {
        uint32_t words = pfor_words(n, w, above, widest - w);
        if (words < best) {
            best = words;
            best_width = w;
            *count = above;
        }
        above += histogram[w];
        if (w == 0) break;
    }
    *exc_width = *count == 0 ? 0 : widest - best_width;
    return best_width;
}

void pfor_pack(const uint32_t *values, uint32_t n, uint32_t width, uint32_t count, uint32_t exc_width, uint8_t *out)
{
    uint32_t mask = list_mask(width), slot_words = list_words(n * width);
    ListBits b = {out, 0, 0};
    memset(out, 0, 4 * (size_t)pfor_words(n, width, count, exc_width));
    for (uint32_t i = 0; i < n; i++) list_put_bits(&b, values[i] & mask, width);
    list_flush_bits(&b);
    b = (ListBits){out + 4 * (size_t)slot_words, 0, 0};
    uint32_t put = 0;
    for (uint32_t i = 0; i < n && put < count; i++) {
        if (values[i] <= mask) continue;
        list_put_bits(&b, i, LIST_POSITION_BITS);
        list_put_bits(&b, (uint32_t)((uint64_t)values[i] >> width), exc_width);
        put++;
    }
    assert(put == count);
    list_flush_bits(&b);
}

ListFault pfor_patch(const ListHead *h, const uint8_t *in, size_t size, uint32_t *out)
{
    uint32_t entry = LIST_POSITION_BITS + h->exc_width, next = 0;
    for (uint32_t e = 0; e < h->count; e++) {
        uint64_t bit = (uint64_t)e * entry;
        uint32_t position = list_get_bits(in, size, bit, LIST_POSITION_BITS);
        uint32_t high = list_get_bits(in, size, bit + LIST_POSITION_BITS, h->exc_width);
        if (position < next || position >= h->n) return LIST_BAD_EXCEPTION;
        out[position] |= high << (h->width & 31); /* width 32 has no exceptions */
        next = position + 1;
    }
    return LIST_OK;
}

ListFault pfor_decode_scalar(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    uint32_t slot_bytes = 4 * list_words(h->n * h->width);
    (void)readable;
    for (uint32_t i = 0; i < h->n; i++) out[i] = list_get_bits(in, slot_bytes, (uint64_t)i * h->width, h->width);
    return pfor_patch(h, in + slot_bytes, size - slot_bytes, out);
}
