/* The basic codecs: every width, count and output width round-trips; decoders stay inside exactly the bytes that they
 * are given (run under AddressSanitizer) and report damage. */
#include "codec/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

enum { MOST = 2048 };
static uint64_t words[MOST];
static uint8_t packed[MOST * 8 + 64], out[MOST * 8 + 64];

static uint64_t low_bits(uint64_t v, uint32_t bits)
{
    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static uint64_t word_out(uint32_t width, uint32_t i)
{
    uint64_t v = 0;
    memcpy(&v, out + (size_t)i * width, width);
    return v;
}

static void make_words(uint32_t n, uint32_t bits, uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) words[i] = low_bits(mix(seed + i), bits);
}

static void check_unpack(uint32_t n, uint32_t bits, uint32_t width)
{
    make_words(n, bits, n * 64 + bits);
    bitpack_pack(words, n, bits, packed);
    size_t size = ((size_t)n * bits + 7) / 8;
    uint8_t *exact = malloc(size + 1); /* the sanitizer sees a read past the end */
    memcpy(exact + 1, packed, size);
    uint64_t base = mix(bits);
    bitpack_unpack(exact + 1, size, n, bits, base, width, out);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(word_out(width, i), low_bits(words[i] + base, width * 8));
        assert_int_equal(bitpack_get(exact + 1, size, i, bits), words[i]);
    }
    uint16_t sel[3] = {0, (uint16_t)(n / 2), (uint16_t)(n - 1)};
    memset(out, 0, sizeof out);
    bitpack_gather(exact + 1, size, sel, 3, bits, base, width, out);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(word_out(width, sel[i]), low_bits(words[sel[i]] + base, width * 8));
    free(exact);
}

static void every_width_unpacks(void **state)
{
    (void)state;
    for (uint32_t width = 1; width <= 8; width *= 2)
        for (uint32_t bits = 0; bits <= width * 8; bits++)
            for (uint32_t n = 1; n <= MOST; n += n < 70 ? 1 : 659) check_unpack(n, bits, width);
}

static void check_codec(const Codec *codec, uint32_t n, uint32_t width)
{
    uint8_t *bytes = malloc(codec->bound(n) + 1);
    size_t size = 0;
    Error err;
    assert_int_equal(codec->encode(words, n, bytes, &size, &err), TCUDB_OK);
    assert_true(size <= codec->bound(n));
    uint8_t *exact = malloc(size + 1);
    memcpy(exact + 1, bytes, size);
    assert_int_equal(codec->decode(exact + 1, size, n, 99, width, out, &err), TCUDB_OK);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(word_out(width, i), low_bits(words[i] + 99, width * 8));
    if (size > 0) { /* one byte less is never right */
        assert_int_equal(codec->decode(exact + 1, size - 1, n, 99, width, out, &err), TCUDB_ERROR);
        assert_string_equal(err.sqlstate, "XX001");
    }
    for (size_t i = 0; i < size && i < 64; i++) { /* a wrong byte decodes to something or is damage, within bounds */
        exact[1 + i] ^= 0x55;
        tcudb_status status = codec->decode(exact + 1, size, n, 0, width, out, &err);
        assert_true(status == TCUDB_OK || strcmp(err.sqlstate, "XX001") == 0);
        exact[1 + i] ^= 0x55;
    }
    free(exact);
    free(bytes);
}

static void codecs_round_trip(void **state)
{
    (void)state;
    const CodecId ids[] = {CODEC_RAW, CODEC_CONSTANT, CODEC_RLE, CODEC_BITPACK};
    for (uint32_t c = 0; c < 4; c++) {
        const Codec *codec = codec_get(ids[c]);
        for (uint32_t n = 1; n <= CODEC_BLOCK; n += n < 20 ? 1 : 251)
            for (uint32_t shape = 0; shape < 3; shape++) {
                make_words(n, 40, n);
                for (uint32_t i = 1; i < n && shape > 0; i++)
                    if (shape == 1 || i % 7 != 0) words[i] = words[i - 1];
                if (!codec->fits(words, n)) continue;
                for (uint32_t width = 1; width <= 8; width *= 2) check_codec(codec, n, width);
            }
    }
}

static void unknown_ids_have_no_codec(void **state)
{
    (void)state;
    assert_null(codec_get((CodecId)CODEC_COUNT));
    assert_null(codec_get((CodecId)255));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_unpacks),
        cmocka_unit_test(codecs_round_trip),
        cmocka_unit_test(unknown_ids_have_no_codec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
