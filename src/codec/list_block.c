/*
 * list_block.c: blocks: choosing the scheme, headers, dispatch to the decoders.
 *
 * Layout of a header (little-endian):
 *     bits  0.. 9  n - 1          bits 16..23  scheme     bits 32..47  count
 *     bits 10..15  exc_width      bits 24..31  width      bits 48..63  payload words
 *
 * The encoder tries every allowed scheme and keeps the smallest; on equal size the one that decodes
 * faster (constant, PForDelta, VSEncoding, raw in that order). A block with a value of 2^32 or more
 * becomes a pair: its payload is the block of the low halves followed by that of the high halves.
 *
 * Decoding checks the header first; every decoder then knows that its slots lie inside the payload, except
 * what only the payload itself can tell (sums of bunch lengths, exception positions), which it checks.
 */
#include "codec/list_int.h"

#include <assert.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the list format is read in place");

static void put_head(uint8_t *out, const ListHead *h)
{
    uint64_t bits = (h->n - 1) | (uint64_t)h->exc_width << 10 | (uint64_t)h->scheme << 16 | (uint64_t)h->width << 24 |
                    (uint64_t)h->count << 32 | (uint64_t)h->words << 48;
    assert(h->n >= 1 && h->n <= CODEC_BLOCK && h->words <= UINT16_MAX);
    list_store64(out, bits);
}

static bool all_equal(const uint32_t *values, uint32_t n)
{
    uint32_t differ = 0;
    for (uint32_t i = 1; i < n; i++) differ |= values[i] ^ values[0];
    return differ == 0;
}

static size_t encode_raw(const uint32_t *values, uint32_t n, uint32_t scheme, uint8_t *out)
{
    uint32_t words = scheme == LIST_CONSTANT ? 1 : n;
    put_head(out, &(ListHead){.n = n, .scheme = scheme, .words = words});
    memcpy(out + LIST_HEAD, values, 4 * (size_t)words);
    return LIST_HEAD + 4 * (size_t)words;
}

static size_t encode_vse(const uint32_t *values, uint32_t n, const uint8_t *signatures, uint32_t count, uint8_t *out)
{
    uint32_t widest = 0;
    for (uint32_t s = 0; s < count; s++)
        if (vse_width[signatures[s] >> 4] > widest) widest = vse_width[signatures[s] >> 4];
    size_t bytes = vse_pack(values, signatures, count, out + LIST_HEAD);
    while (bytes % 4 != 0) out[LIST_HEAD + bytes++] = 0;
    put_head(out,
             &(ListHead){.n = n, .scheme = LIST_VSE, .width = widest, .count = count, .words = (uint32_t)bytes / 4});
    return LIST_HEAD + bytes;
}

size_t list_encode32(const uint32_t *values, uint32_t n, uint32_t schemes, uint8_t *out)
{
    uint8_t signatures[LIST_MAX_BUNCHES];
    uint32_t width = 0, count = 0, exc_width = 0, vse_bits = 0, bunches = 0, vse_need = UINT32_MAX,
             pfor_need = UINT32_MAX;
    assert(n >= 1 && n <= CODEC_BLOCK);
    if (n > 1 && all_equal(values, n)) return encode_raw(values, n, LIST_CONSTANT, out);
    if (schemes & LIST_USE_PFOR) {
        width = pfor_choose(values, n, &count, &exc_width);
        pfor_need = pfor_words(n, width, count, exc_width);
    }
    if (schemes & LIST_USE_VSE) {
        bunches = vse_partition(values, n, signatures, &vse_bits);
        vse_need = list_words(8 * bunches + vse_bits);
    }
    /* A caller who asked for VSEncoding alone gets it, raw only where it is smaller. */
    if (n < vse_need && n < pfor_need) return encode_raw(values, n, LIST_RAW, out);
    if (vse_need < pfor_need) return encode_vse(values, n, signatures, bunches, out);
    put_head(
        out,
        &(ListHead){
            .n = n, .scheme = LIST_PFOR, .width = width, .exc_width = exc_width, .count = count, .words = pfor_need});
    pfor_pack(values, n, width, count, exc_width, out + LIST_HEAD);
    return LIST_HEAD + 4 * (size_t)pfor_need;
}

size_t list_encode64(const uint64_t *values, uint32_t n, uint32_t schemes, uint8_t *out)
{
    uint32_t half[CODEC_BLOCK];
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) {
        all |= values[i];
        half[i] = (uint32_t)values[i];
    }
    if (all >> 32 == 0) return list_encode32(half, n, schemes, out);
    size_t size = LIST_HEAD + list_encode32(half, n, schemes, out + LIST_HEAD);
    for (uint32_t i = 0; i < n; i++) half[i] = (uint32_t)(values[i] >> 32);
    size += list_encode32(half, n, schemes, out + size);
    put_head(out, &(ListHead){.n = n, .scheme = LIST_PAIR, .words = (uint32_t)(size - LIST_HEAD) / 4});
    return size;
}

static bool head_in_range(const ListHead *h)
{
    switch (h->scheme) {
    case LIST_RAW: return h->width == 0 && h->count == 0 && h->exc_width == 0 && h->words == h->n;
    case LIST_CONSTANT: return h->width == 0 && h->count == 0 && h->exc_width == 0 && h->words == 1;
    case LIST_PFOR:
        return h->width <= 32 && h->count <= h->n && h->width + h->exc_width <= 32 &&
               (h->count == 0) == (h->exc_width == 0) && h->words == pfor_words(h->n, h->width, h->count, h->exc_width);
    case LIST_VSE:
        return h->width <= 32 && h->exc_width == 0 && h->count >= 1 && h->count <= LIST_MAX_BUNCHES &&
               h->count <= h->n && 4 * h->words >= h->count;
    case LIST_PAIR: return h->width == 0 && h->count == 0 && h->exc_width == 0;
    default: return false;
    }
}

ListFault list_read_head(const uint8_t *in, size_t size, ListHead *head)
{
    if (size < LIST_HEAD) return LIST_BAD_SIZE;
    uint64_t bits = list_load64(in);
    *head = (ListHead){.n = (uint32_t)(bits & 1023) + 1,
                       .exc_width = (uint32_t)(bits >> 10) & 63,
                       .scheme = (uint32_t)(bits >> 16) & 255,
                       .width = (uint32_t)(bits >> 24) & 255,
                       .count = (uint32_t)(bits >> 32) & UINT16_MAX,
                       .words = (uint32_t)(bits >> 48)};
    if (!head_in_range(head)) return LIST_BAD_HEADER;
    return 4 * (size_t)head->words > size - LIST_HEAD ? LIST_BAD_SIZE : LIST_OK;
}

static ListFault decode_payload(ListIsa isa, const ListHead *h, const uint8_t *in, size_t readable, uint32_t *out)
{
    static ListFault (*const vse[LIST_ISAS])(const ListHead *, const uint8_t *, size_t, size_t,
                                             uint32_t *) = {vse_decode_scalar, vse_decode_avx2, vse_decode_avx512};
    static ListFault (*const pfor[LIST_ISAS])(const ListHead *, const uint8_t *, size_t, size_t,
                                              uint32_t *) = {pfor_decode_scalar, pfor_decode_avx2, pfor_decode_avx512};
    size_t size = 4 * (size_t)h->words;
    switch (h->scheme) {
    case LIST_RAW: memcpy(out, in, size); return LIST_OK;
    case LIST_CONSTANT:
        for (uint32_t i = 0, v = list_load32(in); i < h->n; i++) out[i] = v;
        return LIST_OK;
    case LIST_PFOR: return pfor[isa](h, in, size, readable, out);
    case LIST_VSE: return vse[isa](h, in, size, readable, out);
    default: return LIST_BAD_HEADER;
    }
}

ListFault list_decode32(ListIsa isa, const uint8_t *in, size_t size, size_t readable, uint32_t n, uint32_t *out)
{
    ListHead h;
    assert(readable >= size);
    ListFault fault = list_read_head(in, size, &h);
    if (fault != LIST_OK) return fault;
    if (h.n != n) return LIST_BAD_HEADER;
    return decode_payload(isa, &h, in + LIST_HEAD, readable - LIST_HEAD, out);
}

ListFault list_decode64(ListIsa isa, const uint8_t *in, size_t size, size_t readable, uint32_t n, uint64_t *out)
{
    uint32_t low[CODEC_BLOCK], high[CODEC_BLOCK];
    ListHead h, part;
    ListFault fault = list_read_head(in, size, &h);
    if (fault != LIST_OK) return fault;
    if (h.n != n) return LIST_BAD_HEADER;
    if (h.scheme != LIST_PAIR) {
        fault = decode_payload(isa, &h, in + LIST_HEAD, readable - LIST_HEAD, low);
        for (uint32_t i = 0; i < n && fault == LIST_OK; i++) out[i] = low[i];
        return fault;
    }
    size_t end = LIST_HEAD + 4 * (size_t)h.words, at = LIST_HEAD;
    fault = list_read_head(in + at, end - at, &part);
    if (fault == LIST_OK) fault = list_decode32(isa, in + at, end - at, readable - at, n, low);
    if (fault != LIST_OK) return fault;
    at += LIST_HEAD + 4 * (size_t)part.words;
    fault = list_read_head(in + at, end - at, &part);
    if (fault == LIST_OK && at + LIST_HEAD + 4 * (size_t)part.words != end) fault = LIST_BAD_SIZE;
    if (fault == LIST_OK) fault = list_decode32(isa, in + at, end - at, readable - at, n, high);
    if (fault != LIST_OK) return fault;
    for (uint32_t i = 0; i < n; i++) out[i] = (uint64_t)high[i] << 32 | low[i];
    return LIST_OK;
}

uint32_t list_ascend32(ListIsa isa, uint32_t *v, uint32_t n, uint32_t base, uint32_t step, bool *falls)
{
    uint32_t bad = base != UINT32_MAX && n > 0 && v[0] + step > UINT32_MAX - base;
    if (isa == LIST_AVX512) return list_prefix32_avx512(v, n, base, step, falls);
    uint32_t last = list_prefix32(isa, v, n, base, step);
    for (uint32_t i = 1; i < n; i++) bad |= v[i] <= v[i - 1];
    *falls = bad != 0;
    return last;
}

uint32_t list_prefix32(ListIsa isa, uint32_t *v, uint32_t n, uint32_t base, uint32_t step)
{
    bool falls = false;
    if (isa == LIST_AVX512) return list_prefix32_avx512(v, n, base, step, &falls);
    if (isa == LIST_AVX2) return list_prefix32_avx2(v, n, base, step);
    for (uint32_t i = 0; i < n; i++) v[i] = base += v[i] + step;
    return base;
}

uint64_t list_prefix64(uint64_t *v, uint32_t n, uint64_t base, uint64_t step)
{
    for (uint32_t i = 0; i < n; i++) v[i] = base += v[i] + step;
    return base;
}

ListIsa list_isa(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return LIST_AVX512;
    if (__builtin_cpu_supports("avx2")) return LIST_AVX2;
#endif
    return LIST_SCALAR;
}

const char *list_fault_text(ListFault fault)
{
    static const char *const text[] = {"no fault",
                                       "a block is shorter than its header says",
                                       "a block header is out of range",
                                       "bunches do not add up to the block",
                                       "exception positions are not ascending within the block",
                                       "a value is out of range",
                                       "the checksum does not match"};
    return (uint32_t)fault < sizeof(text) / sizeof(text[0]) ? text[fault] : "unknown fault";
}

const char *list_scheme_name(uint32_t scheme)
{
    static const char *const name[] = {"raw", "constant", "pfor", "vse", "pair"};
    return scheme < LIST_SCHEMES ? name[scheme] : "unknown";
}
