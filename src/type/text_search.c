/*
 * text_search.c: where one text stands in another.
 *
 * Most texts are short, so starting a general search costs more than the search: with AVX-512 the needle's first and
 * last bytes are compared with 64 places at once, and only where both agree is the needle compared. Needles longer than
 * SHORT, for which that could be slow where nearly everything agrees, and other machines take memmem.
 */
#include "type/type_int.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { SHORT = 32, PLACES = 64 };

__attribute__((target("avx512bw,avx512vl"))) static int64_t search_512(const char *s, uint32_t len, Str what)
{
    uint32_t places = len - what.len + 1;
    __m512i first = _mm512_set1_epi8(what.ptr[0]), last = _mm512_set1_epi8(what.ptr[what.len - 1]);
    for (uint32_t at = 0; at < places; at += PLACES) {
        uint32_t n = places - at < PLACES ? places - at : PLACES;
        __mmask64 in = UINT64_MAX >> (PLACES - n);
        uint64_t hits = _mm512_mask_cmpeq_epi8_mask(in, _mm512_maskz_loadu_epi8(in, s + at), first) &
                        _mm512_mask_cmpeq_epi8_mask(in, _mm512_maskz_loadu_epi8(in, s + at + what.len - 1), last);
        for (; hits != 0; hits &= hits - 1) {
            uint32_t hit = at + (uint32_t)__builtin_ctzll(hits);
            if (what.len <= 2 || memcmp(s + hit + 1, what.ptr + 1, what.len - 2) == 0) return hit;
        }
    }
    return -1;
}

static bool has_512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

int64_t text_search(Str s, Str what, uint32_t from)
{
    if (what.len == 0) return from;
    if (from > s.len || s.len - from < what.len) return -1;
#if defined(__x86_64__)
    if (what.len <= SHORT && has_512()) {
        int64_t at = search_512(s.ptr + from, s.len - from, what);
        return at < 0 ? -1 : from + at;
    }
#endif
    const char *at = memmem(s.ptr + from, s.len - from, what.ptr, what.len);
    return at == NULL ? -1 : at - s.ptr;
}
