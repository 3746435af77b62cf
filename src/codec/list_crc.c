/*
 * list_crc.c: CRC32C (Castagnoli polynomial, reflected 0x82f63b78), by the processor's instruction where
 * it has one: 8 bytes in three cycles. crc = list_crc32c(0, p, n); chaining passes the previous result.
 */
#include "codec/list_set.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t c = crc;
    for (; n >= 8; n -= 8, p += 8) c = _mm_crc32_u64(c, list_load64(p));
    for (; n > 0; n--, p++) c = _mm_crc32_u8((uint32_t)c, *p);
    return (uint32_t)c;
}
#endif

static uint32_t crc_plain(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n > 0; n--, p++) {
        crc ^= *p;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    return crc;
}

uint32_t list_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc_fast(~crc, p, n);
#endif
    return ~crc_plain(~crc, p, n);
}
