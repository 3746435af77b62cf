/* Bit unpacking: every width, length and output size against a bit-by-bit reading; nothing past the end. */
#include "codec/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAX_VALUES = 1024 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 29;
}

static uint64_t plain(const uint8_t *in, uint32_t i, uint32_t bits)
{
    uint64_t v = 0;
    for (uint32_t b = 0; b < bits; b++) {
        uint64_t at = (uint64_t)i * bits + b;
        v |= (uint64_t)((in[at / 8] >> (at % 8)) & 1) << b;
    }
    return v;
}

static uint64_t read_out(const void *out, uint32_t width, uint32_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)out + (size_t)i * width, width);
    return v;
}

static uint64_t cut(uint64_t v, uint32_t width)
{
    return width == 8 ? v : v & ((UINT64_C(1) << (8 * width)) - 1);
}

static void check(uint32_t bits, uint32_t n, uint32_t slack, uint32_t width, uint64_t *seed)
{
    size_t size = ((size_t)n * bits + 7) / 8 + slack;
    uint8_t *in = malloc(size + 1); /* exact: a sanitizer sees reads past it */
    void *out = malloc((size_t)MAX_VALUES * 8 + 64);
    uint16_t sel[MAX_VALUES];
    uint32_t nsel = 0;
    uint64_t base = next_random(seed);
    assert_non_null(in);
    assert_non_null(out);
    for (size_t i = 0; i < size; i++) in[i] = (uint8_t)next_random(seed);
    bitpack_unpack(in, size, n, bits, base, width, out);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(read_out(out, width, i), cut(plain(in, i, bits) + base, width));
    for (uint32_t i = 0; i < n; i += 1 + next_random(seed) % 5) sel[nsel++] = (uint16_t)i;
    memset(out, 0x5a, (size_t)n * width);
    bitpack_gather(in, size, sel, nsel, bits, base, width, out);
    for (uint32_t i = 0; i < nsel; i++)
        assert_int_equal(read_out(out, width, sel[i]), cut(plain(in, sel[i], bits) + base, width));
    free(in);
    free(out);
}

static void every_width(void **state)
{
    (void)state;
    uint64_t seed = 7;
    static const uint32_t lengths[] = {1, 7, 8, 31, 100, 1024};
    for (uint32_t bits = 0; bits <= 64; bits++)
        for (uint32_t l = 0; l < 6; l++)
            for (uint32_t width = 1; width <= 8; width *= 2)
                for (uint32_t slack = 0; slack <= 64; slack += 64) check(bits, lengths[l], slack, width, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
