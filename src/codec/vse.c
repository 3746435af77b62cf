/*
 * vse.c: VSEncoding: a block split into bunches of equal slot width, optimally.
 *
 * A bunch is a signature byte, length code | width code << 4, and its slots. All signatures come first,
 * then all slots as one bit stream, least significant bit first. The partition minimises
 *     cost[i] = min over lengths l of cost[i - l] + l * (widest of the last l values) + 8
 * by dynamic programming; the signatures are then read off backwards, by looking which length explains
 * cost[i]. The forward pass is the whole cost and has a vector form (vse_dp.c).
 *
 * Example: 3 0 1 2 900 7 -> (4 values, 2 bits) (1 value, 10 bits) (1 value, 3 bits).
 *
 * Invariants: at most LIST_MAX_BUNCHES bunches (a partition with more is redone without bunches of one);
 * cost fits 16 bits: 1024 * (32 + 8) = 40,960.
 * Source: Silvestri and Venturini, VSEncoding, CIKM 2010; the one-byte signatures are the usual table.
 */
#include "codec/list_int.h"

#include <assert.h>

const uint8_t vse_length[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 32, 64};
const uint8_t vse_width[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 32};
const uint8_t vse_code[33] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 13, 13, 13,
                              14, 14, 14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15};

void vse_costs_scalar(const uint8_t *width, uint32_t n, bool singles, uint16_t *cost)
{
    cost[0] = 0;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t best = UINT16_MAX, widest = 0, seen = 0;
        for (uint32_t c = 0; c < 16 && vse_length[c] <= i; c++) {
            uint32_t l = vse_length[c];
            for (; seen < l; seen++)
                if (width[i - 1 - seen] > widest) widest = width[i - 1 - seen];
            uint32_t total = cost[i - l] + l * widest + 8;
            if (total < best && (l > 1 || singles)) best = total;
        }
        cost[i] = (uint16_t)best;
    }
}

/* Walks back from n; signatures come out last first, and are reversed. */
static uint32_t read_off(const uint8_t *width, uint32_t n, bool singles, const uint16_t *cost,
                         uint8_t signatures[LIST_MAX_BUNCHES])
{
    uint32_t count = 0;
    for (uint32_t i = n; i > 0;) {
        uint32_t widest = 0, seen = 0, c = 0, l = 0;
        for (c = 0;; c++) {
            assert(c < 16 && vse_length[c] <= i);
            l = vse_length[c];
            for (; seen < l; seen++)
                if (width[i - 1 - seen] > widest) widest = width[i - 1 - seen];
            if (cost[i - l] + l * widest + 8 == cost[i] && (l > 1 || singles)) break;
        }
        if (count == LIST_MAX_BUNCHES) return LIST_MAX_BUNCHES + 1;
        signatures[count++] = (uint8_t)(c | (uint32_t)vse_code[widest] << 4);
        i -= l;
    }
    for (uint32_t a = 0, b = count; a + 1 < b; a++) {
        uint8_t t = signatures[a];
        signatures[a] = signatures[--b];
        signatures[b] = t;
    }
    return count;
}

uint32_t vse_partition_isa(ListIsa isa, const uint32_t *values, uint32_t n, uint8_t signatures[LIST_MAX_BUNCHES],
                           uint32_t *bits)
{
    uint8_t width[CODEC_BLOCK];
    uint16_t cost[CODEC_BLOCK + 1];
    uint32_t count = LIST_MAX_BUNCHES + 1;
    assert(n >= 1 && n <= CODEC_BLOCK);
    for (uint32_t i = 0; i < n; i++) width[i] = vse_width[vse_code[list_bits(values[i])]];
    for (int round = 0; count > LIST_MAX_BUNCHES; round++) {
        bool singles = round == 0 || n == 1;
        assert(round < 2);
        if (isa == LIST_SCALAR)
            vse_costs_scalar(width, n, singles, cost);
        else
            vse_costs_sse(width, n, singles, cost);
        count = read_off(width, n, singles, cost, signatures);
    }
    *bits = cost[n] - 8 * count;
    return count;
}

uint32_t vse_partition(const uint32_t *values, uint32_t n, uint8_t signatures[LIST_MAX_BUNCHES], uint32_t *bits)
{
    return vse_partition_isa(list_isa(), values, n, signatures, bits);
}

size_t vse_pack(const uint32_t *values, const uint8_t *signatures, uint32_t count, uint8_t *out)
{
    memcpy(out, signatures, count);
    ListBits b = {out + count, 0, 0};
    for (uint32_t s = 0; s < count; s++) {
        uint32_t l = vse_length[signatures[s] & 15], w = vse_width[signatures[s] >> 4];
        for (uint32_t i = 0; i < l; i++) list_put_bits(&b, *values++, w);
    }
    return (size_t)(list_flush_bits(&b) - out);
}

ListFault vse_decode_scalar(const ListHead *h, const uint8_t *in, size_t size, size_t readable, uint32_t *out)
{
    uint32_t n = 0, bits = 0;
    (void)readable;
    for (uint32_t s = 0; s < h->count; s++) {
        uint32_t l = vse_length[in[s] & 15], w = vse_width[in[s] >> 4];
        n += l;
        bits += l * w;
    }
    if (n != h->n || bits > 8 * (size - h->count)) return LIST_BAD_BUNCHES;
    uint64_t bit = 8 * (uint64_t)h->count;
    for (uint32_t s = 0; s < h->count; s++) {
        uint32_t l = vse_length[in[s] & 15], w = vse_width[in[s] >> 4];
        for (uint32_t i = 0; i < l; i++, bit += w) *out++ = list_get_bits(in, size, bit, w);
    }
    return LIST_OK;
}
