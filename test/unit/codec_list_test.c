/* List blocks and sets: round trips, a second decoder written from doc/format-lists.md, damage. */
#include "codec/list_int.h"
#include "codec/list_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 88172645463325252u;
static uint64_t rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- the plain decoder: one bit at a time, straight from the specification ---- */

static uint32_t plain_bits(const uint8_t *in, uint64_t bit, uint32_t width)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < width; i++) v |= (uint32_t)(in[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
    return v;
}

static uint32_t plain_block(const uint8_t *in, uint64_t *out)
{
    static const int length[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 32, 64};
    static const int width_of[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 32};
    uint32_t n = (in[0] | in[1] << 8) % 1024 + 1, exc_width = (in[0] | in[1] << 8) / 1024, scheme = in[2];
    uint32_t width = in[3], count = in[4] | in[5] << 8;
    const uint8_t *pay = in + 8;
    if (scheme == 0)
        for (uint32_t i = 0; i < n; i++) out[i] = plain_bits(pay, 32 * i, 32);
    if (scheme == 1)
        for (uint32_t i = 0; i < n; i++) out[i] = plain_bits(pay, 0, 32);
    if (scheme == 2) {
        uint64_t slots = (n * width + 31) / 32 * 32;
        for (uint32_t i = 0; i < n; i++) out[i] = plain_bits(pay, i * width, width);
        for (uint32_t e = 0; e < count; e++) {
            uint64_t at = slots + (uint64_t)e * (10 + exc_width);
            out[plain_bits(pay, at, 10)] += (uint64_t)plain_bits(pay, at + 10, exc_width) << width;
        }
    }
    if (scheme == 3) {
        uint64_t bit = 8 * count;
        uint32_t i = 0;
        for (uint32_t s = 0; s < count; s++)
            for (int k = 0; k < length[pay[s] % 16]; k++, bit += (uint64_t)width_of[pay[s] / 16])
                out[i++] = plain_bits(pay, bit, (uint32_t)width_of[pay[s] / 16]);
        assert_int_equal(i, n);
    }
    if (scheme == 4) {
        uint64_t high[1024];
        plain_block(pay, out);
        plain_block(pay + 8 + 4 * (pay[6] | pay[7] << 8), high);
        for (uint32_t i = 0; i < n; i++) out[i] |= high[i] << 32;
    }
    return n;
}

/* ---- inputs ---- */

enum { SHAPES = 12 };

static void fill(uint64_t *v, uint32_t n, int shape, uint32_t width)
{
    uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = rnd();
        switch (shape) {
        case 0: v[i] = r & mask; break;
        case 1: v[i] = r % 50 == 0 ? rnd() & mask : r >> 32 & 3; break; /* spikes */
        case 2: v[i] = (i / 37) % 2 ? r & mask : 0; break;              /* stretches */
        case 3: v[i] = mask; break;
        case 4: v[i] = i == n / 2 ? mask : 0; break;
        case 5: v[i] = r & ((UINT64_C(1) << (r >> 58)) - 1) & mask; break; /* every length */
        case 6: v[i] = i % 2 ? mask : 0; break;
        case 7: v[i] = i & mask; break;
        case 8: v[i] = r % 10 == 0 ? rnd() & mask : 1; break;
        case 9: v[i] = 0; break;
        case 10: v[i] = i + 1 == n ? mask : r & 1; break;
        default: v[i] = (r & 15) < i % 16 ? r >> 20 & mask : r >> 60 & mask; break;
        }
    }
}

static const uint32_t sizes[] = {1,  2,  3,  7,   8,   15,  16,  17,   31,   32,  33,
                                 63, 64, 65, 127, 128, 129, 511, 1000, 1023, 1024};

/* Encodes, decodes with every instruction set from an exactly fitting buffer and from one with slack. */
static void check_block(const uint64_t *v, uint32_t n, uint32_t schemes)
{
    size_t bound = list_bound64(n);
    uint8_t *coded = malloc(bound);
    uint64_t wide[1024], plain[1024];
    uint32_t narrow[1024], small[1025];
    bool is_narrow = true;
    size_t size = list_encode64(v, n, schemes, coded);
    assert_true(size <= bound && size % 4 == 0);
    assert_int_equal(plain_block(coded, plain), n);
    assert_memory_equal(plain, v, n * sizeof(*v));
    uint8_t *fit = malloc(size), *slack = calloc(1, size + 64);
    memcpy(fit, coded, size);
    memcpy(slack, coded, size);
    for (uint32_t i = 0; i < n; i++) {
        is_narrow = is_narrow && v[i] >> 32 == 0;
        narrow[i] = (uint32_t)v[i];
    }
    for (int isa = LIST_SCALAR; isa <= (int)list_isa(); isa++) {
        assert_int_equal(list_decode64((ListIsa)isa, fit, size, size, n, wide), LIST_OK);
        assert_memory_equal(wide, v, n * sizeof(*v));
        if (!is_narrow) continue;
        for (int loose = 0; loose < 2; loose++) {
            small[n] = 0xdeadbeef;
            assert_int_equal(list_decode32((ListIsa)isa, loose ? slack : fit, size, size + (loose ? 64 : 0), n, small),
                             LIST_OK);
            assert_memory_equal(small, narrow, n * sizeof(*narrow));
            assert_int_equal(small[n], 0xdeadbeef);
        }
    }
    free(coded);
    free(fit);
    free(slack);
}

static void blocks_round_trip(void **state)
{
    (void)state;
    uint64_t v[1024];
    static const uint32_t widths[] = {0,  1,  2,  3,  5,  8,  9,  12, 13, 16, 17, 18,
                                      19, 20, 21, 25, 26, 31, 32, 33, 40, 63, 64};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
            for (int shape = 0; shape < SHAPES; shape++) {
                fill(v, sizes[s], shape, widths[w]);
                check_block(v, sizes[s], LIST_USE_VSE);
                check_block(v, sizes[s], LIST_USE_PFOR);
                check_block(v, sizes[s], LIST_USE_ANY);
            }
}

static void choice_is_never_larger(void **state)
{
    (void)state;
    uint64_t v[1024];
    uint8_t out[16384];
    for (int shape = 0; shape < SHAPES; shape++)
        for (uint32_t w = 0; w <= 32; w++) {
            fill(v, 1024, shape, w);
            size_t vse = list_encode64(v, 1024, LIST_USE_VSE, out), pfor = list_encode64(v, 1024, LIST_USE_PFOR, out);
            assert_int_equal(list_encode64(v, 1024, LIST_USE_ANY, out), vse < pfor ? vse : pfor);
        }
}

/* The cheapest partition by trying all lengths without any of the encoder's code. */
static void partition_is_optimal(void **state)
{
    (void)state;
    uint64_t v[1024];
    uint32_t narrow[1024], cost[1025], bits = 0;
    uint8_t signatures[LIST_MAX_BUNCHES];
    for (int shape = 0; shape < SHAPES; shape++)
        for (uint32_t n = 1; n <= 1024; n += n < 70 ? 1 : 159) {
            fill(v, n, shape, 1 + (uint32_t)(rnd() % 32));
            cost[0] = 0;
            for (uint32_t i = 0; i < n; i++) narrow[i] = (uint32_t)v[i];
            for (uint32_t i = 1; i <= n; i++) {
                uint32_t code = 0;
                cost[i] = UINT32_MAX;
                for (uint32_t l = 1; l <= i && l <= 64; l++) {
                    uint32_t c = vse_code[list_bits(narrow[i - l])];
                    if (c > code) code = c;
                    if (memchr(vse_length, (int)l, 16) == NULL) continue;
                    uint32_t total = cost[i - l] + l * vse_width[code] + 8;
                    if (total < cost[i]) cost[i] = total;
                }
            }
            for (int isa = LIST_SCALAR; isa <= (int)list_isa(); isa++) {
                uint32_t count = vse_partition_isa((ListIsa)isa, narrow, n, signatures, &bits);
                assert_true(count <= LIST_MAX_BUNCHES);
                assert_true(8 * count + bits >= cost[n]);
                /* A cheapest partition may have too many bunches only in a block this long. */
                if (n <= LIST_MAX_BUNCHES) assert_int_equal(8 * count + bits, cost[n]);
                if (shape < 5) assert_int_equal(8 * count + bits, cost[n]);
            }
        }
}

/* ---- damage: an error or values, never a crash; ASan sees the rest ---- */

static void try_damaged(const uint8_t *block, size_t size, uint32_t n)
{
    uint8_t *fit = malloc(size == 0 ? 1 : size);
    memcpy(fit, block, size);
    uint32_t *narrow = malloc(4 * (size_t)n);
    uint64_t *wide = malloc(8 * (size_t)n);
    for (int isa = LIST_SCALAR; isa <= (int)list_isa(); isa++) {
        ListFault a = list_decode32((ListIsa)isa, fit, size, size, n, narrow);
        assert_true((uint32_t)a <= LIST_BAD_CHECKSUM);
        ListFault b = list_decode64((ListIsa)isa, fit, size, size, n, wide);
        assert_true((uint32_t)b <= LIST_BAD_CHECKSUM);
    }
    free(fit);
    free(narrow);
    free(wide);
}

static void damaged_blocks_are_survived(void **state)
{
    (void)state;
    uint64_t v[1024];
    uint8_t out[16384];
    for (uint32_t schemes = LIST_USE_PFOR; schemes <= LIST_USE_ANY; schemes += LIST_USE_PFOR)
        for (uint32_t round = 0; round < 12; round++) {
            uint32_t n = round < 6 ? 20 + round : 1024 - round;
            fill(v, n, round % 2 ? 1 : 5, round % 3 == 0 ? 40 : 14);
            size_t size = list_encode64(v, n, schemes, out);
            for (size_t cut = 0; cut < size; cut += 1 + size / 500) {
                try_damaged(out, cut, n);
                uint64_t got[1024];
                assert_true(list_decode64(list_isa(), out, cut, cut, n, got) != LIST_OK);
            }
            for (size_t at = 0; at < size; at += 1 + size / 300)
                for (int bit = 0; bit < 8; bit++) {
                    out[at] ^= (uint8_t)(1 << bit);
                    try_damaged(out, size, n);
                    out[at] ^= (uint8_t)(1 << bit);
                }
            for (int k = 0; k < 300; k++) {
                uint8_t noisy[16384];
                memcpy(noisy, out, size);
                for (int m = 0; m < 1 + k % 9; m++) noisy[rnd() % size] = (uint8_t)rnd();
                try_damaged(noisy, size, n);
            }
        }
}

/* ---- sets ---- */

static void make_list(uint64_t *v, uint64_t n, bool ascending, bool wide, uint32_t width)
{
    uint64_t at = UINT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t r = rnd() & ((UINT64_C(1) << width) - 1);
        at += r + 1;
        v[i] = ascending ? at : r;
        if (!wide) v[i] = (uint32_t)v[i];
    }
}

static void add_list(ListWriter *w, const uint64_t *v, uint64_t n, bool wide, Error *err)
{
    uint32_t *narrow = malloc(4 * n + 4);
    for (uint64_t i = 0; i < n; i++) narrow[i] = (uint32_t)v[i];
    assert_int_equal(list_writer_add(w, wide ? (const void *)v : narrow, n, err), TCUDB_OK);
    free(narrow);
}

static const uint64_t lengths[] = {0, 1, 2, 127, 128, 129, 1023, 1024, 1025, 2048, 5000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void build_set(uint32_t flags, uint32_t width, uint64_t *all, Buf *out)
{
    ListWriter w;
    Error err;
    list_writer_init(&w, flags, LIST_USE_ANY, NULL);
    for (int i = 0; i < LENGTHS; i++, all += 5000) {
        make_list(all, lengths[i], flags & LIST_ASCENDING, flags & LIST_WIDE, width);
        add_list(&w, all, lengths[i], flags & LIST_WIDE, &err);
    }
    assert_int_equal(list_writer_finish(&w, out, &err), TCUDB_OK);
    list_writer_free(&w);
}

static void sets_round_trip(void **state)
{
    (void)state;
    uint64_t *all = malloc(LENGTHS * 5000 * 8), *got = malloc(5000 * 8);
    for (uint32_t flags = 0; flags < 4; flags++)
        for (uint32_t width = 0; width <= (flags & LIST_WIDE ? 44u : 18u); width += 2) {
            Buf file;
            ListSet set;
            Error err;
            buf_init(&file, NULL);
            build_set(flags, width, all, &file);
            char *fit = malloc(file.len);
            memcpy(fit, file.data, file.len);
            assert_int_equal(list_set_open(fit, file.len, true, NULL, &set, &err), TCUDB_OK);
            assert_int_equal(list_set_verify(&set, &err), TCUDB_OK);
            assert_int_equal(set.lists, LENGTHS);
            for (uint64_t i = 0; i < LENGTHS; i++) {
                assert_int_equal(set.entry[i].n, lengths[i]);
                assert_int_equal(list_set_decode_all(&set, i, got, &err), TCUDB_OK);
                for (uint64_t k = 0; k < lengths[i]; k++)
                    assert_int_equal(flags & LIST_WIDE ? got[k] : ((uint32_t *)got)[k], all[i * 5000 + k]);
            }
            list_set_close(&set);
            free(fit);
            buf_free(&file);
        }
    free(all);
    free(got);
}

/* Any change of any byte is noticed: everything lies under a checksum, or is padding that verify reads past. */
static void damaged_sets_are_noticed(void **state)
{
    (void)state;
    uint64_t *all = malloc(LENGTHS * 5000 * 8), *got = malloc(5000 * 8);
    Buf file;
    ListSet set;
    Error err;
    buf_init(&file, NULL);
    build_set(LIST_ASCENDING, 6, all, &file);
    for (size_t cut = 0; cut < file.len; cut += 1 + cut / 100)
        assert_int_equal(list_set_open(file.data, cut, true, NULL, &set, &err), TCUDB_ERROR);
    size_t unnoticed = 0;
    for (size_t at = 0; at < file.len; at++) {
        char saved = file.data[at];
        file.data[at] ^= (char)(1 + rnd() % 255);
        if (list_set_open(file.data, file.len, true, NULL, &set, &err) == TCUDB_OK) {
            unnoticed++;
            list_set_close(&set);
        }
        /* Without checksums: no crash, and no value beyond the bound. */
        if (at % 7 == 0 && list_set_open(file.data, file.len, false, NULL, &set, &err) == TCUDB_OK) {
            for (uint64_t i = 0; i < set.lists; i++)
                if (list_set_decode_all(&set, i, got, &err) == TCUDB_OK && set.entry[i].n > 0)
                    assert_true(((uint32_t *)got)[set.entry[i].n - 1] <= set.bound);
            list_set_close(&set);
        }
        file.data[at] = saved;
        if (at > 3000) at += 40;
    }
    assert_true(unnoticed <= LIST_SLACK + 5 * 16);
    buf_free(&file);
    free(all);
    free(got);
}

static void writer_refuses_disorder(void **state)
{
    (void)state;
    ListWriter w;
    Error err;
    uint32_t v[] = {1, 5, 5};
    list_writer_init(&w, LIST_ASCENDING, LIST_USE_ANY, NULL);
    assert_int_equal(list_writer_add(&w, v, 3, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "list 0 is not strictly ascending at position 2");
    list_writer_free(&w);
}

/* ---- column codecs ---- */

static void column_codecs_round_trip(void **state)
{
    (void)state;
    static const Codec *const codecs[] = {&codec_vse, &codec_pfor, &codec_vse_delta, &codec_pfor_delta};
    uint64_t v[1024], got[1024];
    Error err;
    for (size_t c = 0; c < 4; c++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (int shape = 0; shape < SHAPES; shape++)
                for (uint32_t width = 1; width <= 8; width *= 2) {
                    uint32_t n = sizes[s];
                    size_t size = 0;
                    fill(v, n, shape, c < 2 ? 8 * width : 8 * width - 8 + (width == 1 ? 2 : 0));
                    if (c >= 2)
                        for (uint32_t i = 1; i < n; i++) v[i] = v[i - 1] + (v[i] & 1023);
                    if (!codecs[c]->fits(v, n)) continue;
                    uint8_t *coded = malloc(codecs[c]->bound(n));
                    assert_int_equal(codecs[c]->encode(v, n, coded, &size, &err), TCUDB_OK);
                    assert_true(size <= codecs[c]->bound(n));
                    uint8_t *fit = malloc(size);
                    memcpy(fit, coded, size);
                    assert_int_equal(codecs[c]->decode(fit, size, n, 77, width, got, &err), TCUDB_OK);
                    for (uint32_t i = 0; i < n; i++) {
                        uint64_t want = v[i] + 77, mask = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1,
                                 g = 0;
                        memcpy(&g, (char *)got + i * width, width);
                        assert_int_equal(g, want & mask);
                    }
                    assert_int_equal(codecs[c]->decode(fit, size - 4, n, 0, width, got, &err), TCUDB_ERROR);
                    free(coded);
                    free(fit);
                }
    uint64_t falling[2] = {2, 1};
    assert_false(codec_vse_delta.fits(falling, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_round_trip),       cmocka_unit_test(choice_is_never_larger),
        cmocka_unit_test(partition_is_optimal),    cmocka_unit_test(damaged_blocks_are_survived),
        cmocka_unit_test(sets_round_trip),         cmocka_unit_test(damaged_sets_are_noticed),
        cmocka_unit_test(writer_refuses_disorder), cmocka_unit_test(column_codecs_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
