/* tcudb_codec.h from outside: files there and back, blocks, searches, misuse; the GPU's answers where there is one. */
#include "tcudb_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void there_and_back(const void *file, size_t size, tcudb_list_source source, int flags)
{
    void *bytes = NULL, *back = NULL;
    size_t coded = 0, n = 0;
    tcudb_lists *lists = NULL;
    tcudb_lists_info info;
    tcudb_error err;
    for (int codec = 0; codec <= TCUDB_CODEC_VSE; codec++) {
        assert_int_equal(tcudb_lists_encode_file(file, size, source, (tcudb_list_codec)codec, &bytes, &coded, &err),
                         TCUDB_OK);
        assert_int_equal(tcudb_lists_open(bytes, coded, 1, &lists, &err), TCUDB_OK);
        assert_int_equal(tcudb_lists_verify(lists, &err), TCUDB_OK);
        tcudb_lists_describe(lists, &info);
        assert_int_equal(info.source, source);
        assert_int_equal(info.flags, flags);
        assert_int_equal(tcudb_lists_decode_file(lists, &back, &n, &err), TCUDB_OK);
        assert_int_equal(n, size);
        assert_true(n == 0 || memcmp(back, file, n) == 0);
        tcudb_lists_close(lists);
        tcudb_lists_free(bytes);
        tcudb_lists_free(back);
    }
}

static void files_come_back(void **state)
{
    (void)state;
    uint32_t sequences[] = {1, 100, 0, 3, 7, 8, 4000000000u, 2, 5, 6}, unordered[] = {2, 9, 9};
    uint64_t wide[] = {1, UINT64_MAX, 1, 5};
    there_and_back(sequences, sizeof(sequences), TCUDB_FROM_SEQUENCES, TCUDB_LISTS_ASCENDING);
    there_and_back(unordered, sizeof(unordered), TCUDB_FROM_SEQUENCES, 0);
    there_and_back(unordered, sizeof(unordered), TCUDB_FROM_U32, 0);
    there_and_back(wide, sizeof(wide), TCUDB_FROM_U64, TCUDB_LISTS_WIDE);
    there_and_back("1\n20\n300\n", 9, TCUDB_FROM_TEXT, TCUDB_LISTS_ASCENDING);
    there_and_back("1\n20\n3", 6, TCUDB_FROM_TEXT, 0);
    there_and_back("18446744073709551615\n0\n", 23, TCUDB_FROM_TEXT, TCUDB_LISTS_WIDE);
    there_and_back("", 0, TCUDB_FROM_TEXT, TCUDB_LISTS_ASCENDING);
    there_and_back("", 0, TCUDB_FROM_SEQUENCES, TCUDB_LISTS_ASCENDING);
    there_and_back("", 0, TCUDB_FROM_U64, TCUDB_LISTS_ASCENDING | TCUDB_LISTS_WIDE);
    /* a file read at an odd address */
    char shifted[sizeof(sequences) + 1];
    memcpy(shifted + 1, sequences, sizeof(sequences));
    there_and_back(shifted + 1, sizeof(sequences), TCUDB_FROM_SEQUENCES, TCUDB_LISTS_ASCENDING);
}

static void refuse(const void *file, size_t size, tcudb_list_source source, const char *message)
{
    void *bytes = (void *)1;
    size_t n = 0;
    tcudb_error err;
    assert_int_equal(tcudb_lists_encode_file(file, size, source, TCUDB_CODEC_BEST, &bytes, &n, &err), TCUDB_ERROR);
    assert_string_equal(err.message, message);
    assert_string_equal(err.sqlstate, "22P04");
    assert_null(bytes);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    uint32_t cut[] = {1, 5, 9, 1};
    refuse(cut, sizeof(cut), TCUDB_FROM_SEQUENCES, "the file ends within the sequence that begins at word 2");
    refuse(cut, 7, TCUDB_FROM_U32, "the file is not a whole number of 32-bit words: its size is 7");
    refuse("1\n-2\n", 5, TCUDB_FROM_TEXT, "not an unsigned whole number in line 2");
    refuse("1\n\n", 3, TCUDB_FROM_TEXT, "not an unsigned whole number in line 2");
    refuse("007\n", 4, TCUDB_FROM_TEXT, "a number with leading zeros in line 1");
    refuse("1\r\n", 3, TCUDB_FROM_TEXT, "not an unsigned whole number in line 1");
    refuse("18446744073709551616\n", 21, TCUDB_FROM_TEXT, "a number of 2^64 or more in line 1");
}

enum { LISTS = 6, N = 20000 };

/* List i: the multiples of i + 2 below N, times 2^33 in a wide set; frequencies 1 + multiple % 5. */
static void make_sets(int flags, void *bytes[2], tcudb_lists *sets[2])
{
    static uint32_t values[N], frequencies[N];
    static uint64_t wide[N];
    tcudb_lists_writer *w[2];
    tcudb_error err;
    size_t size;
    assert_int_equal(tcudb_lists_writer_new(TCUDB_LISTS_ASCENDING | flags, TCUDB_CODEC_BEST, &w[0], &err), TCUDB_OK);
    assert_int_equal(tcudb_lists_writer_new(0, TCUDB_CODEC_VSE, &w[1], &err), TCUDB_OK);
    for (uint32_t i = 0; i < LISTS; i++) {
        uint64_t n = 0;
        for (uint32_t d = 0; d < N; d += i + 2) {
            values[n] = d;
            wide[n] = (uint64_t)d << 33;
            frequencies[n++] = 1 + d % 5;
        }
        const void *numbers = flags & TCUDB_LISTS_WIDE ? (const void *)wide : values;
        assert_int_equal(tcudb_lists_writer_add(w[0], numbers, n, &err), TCUDB_OK);
        assert_int_equal(tcudb_lists_writer_add(w[1], frequencies, n, &err), TCUDB_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tcudb_lists_writer_finish(w[i], &bytes[i], &size, &err), TCUDB_OK);
        assert_int_equal(tcudb_lists_writer_add(w[i], values, 1, &err), TCUDB_MISUSE);
        tcudb_lists_writer_close(w[i]);
        assert_int_equal(tcudb_lists_open(bytes[i], size, 1, &sets[i], &err), TCUDB_OK);
    }
}

static void free_sets(void *bytes[2], tcudb_lists *sets[2])
{
    for (int i = 0; i < 2; i++) {
        tcudb_lists_close(sets[i]);
        tcudb_lists_free(bytes[i]);
    }
}

static void searches_find(void **state)
{
    (void)state;
    void *bytes[2];
    tcudb_lists *sets[2];
    tcudb_error err;
    uint64_t lists[] = {0, 1}, without[] = {3}, n = 0;
    uint32_t found = 0;
    void *numbers = NULL;
    tcudb_list_hit hits[4];
    tcudb_list_query q = {lists, without, 2, 1, 0};
    make_sets(0, bytes, sets);
    assert_int_equal(tcudb_lists_search(sets[0], &q, &numbers, &n, &err), TCUDB_OK);
    uint64_t want = 0;
    for (uint32_t d = 0; d < N; d += 6)
        if (d % 5 != 0) assert_int_equal(((uint32_t *)numbers)[want++], d);
    assert_int_equal(n, want);
    tcudb_lists_free(numbers);
    assert_int_equal(tcudb_lists_top(sets[0], sets[1], &q, 4, hits, &found, &err), TCUDB_OK);
    assert_int_equal(found, 4);
    assert_int_equal(hits[0].number, 24); /* 24 % 5 == 4: twice 5 */
    assert_int_equal(hits[0].score, 10);
    assert_int_equal(hits[1].number, 54);
    lists[1] = LISTS;
    assert_int_equal(tcudb_lists_search(sets[0], &q, &numbers, &n, &err), TCUDB_ERROR);
    assert_string_equal(err.message, "list 6 of 6 does not exist");
    assert_int_equal(tcudb_lists_search(NULL, &q, &numbers, &n, &err), TCUDB_MISUSE);
    free_sets(bytes, sets);
}

static void wide_searches_find(void **state)
{
    (void)state;
    void *bytes[2], *numbers = NULL;
    tcudb_lists *sets[2];
    tcudb_error err;
    uint64_t lists[] = {0, 1}, without[] = {3}, n = 0, want = 0;
    uint32_t found = 0;
    tcudb_list_hit hits[4];
    tcudb_list_query q = {lists, without, 2, 1, 0};
    make_sets(TCUDB_LISTS_WIDE, bytes, sets);
    assert_int_equal(tcudb_lists_search(sets[0], &q, &numbers, &n, &err), TCUDB_OK);
    for (uint64_t d = 0; d < N; d += 6)
        if (d % 5 != 0) assert_true(((uint64_t *)numbers)[want++] == d << 33);
    assert_int_equal(n, want);
    tcudb_lists_free(numbers);
    q.any = 1;
    assert_int_equal(tcudb_lists_top(sets[0], sets[1], &q, 4, hits, &found, &err), TCUDB_OK);
    assert_int_equal(found, 4);
    assert_true(hits[0].number == UINT64_C(24) << 33);
    assert_int_equal(hits[0].score, 10);
    free_sets(bytes, sets);
}

static void blocks_are_described(void **state)
{
    (void)state;
    void *bytes[2];
    tcudb_lists *sets[2];
    tcudb_error err;
    tcudb_list_block b;
    uint64_t values = 0;
    make_sets(0, bytes, sets);
    for (uint64_t i = 0; i < LISTS; i++)
        for (uint64_t k = 0; k < tcudb_lists_blocks(sets[1], i); k++) {
            uint32_t inside = 0;
            assert_int_equal(tcudb_lists_block(sets[1], i, k, &b, &err), TCUDB_OK);
            assert_true(b.intact);
            for (uint32_t l = 0; l < 65; l++) inside += l * b.bunch_lengths[l];
            /* multiples of 5 all have the same frequency */
            assert_string_equal(b.scheme, i == 3 ? "constant" : "vse");
            assert_int_equal(inside, i == 3 ? 0 : b.n);
            values += b.n;
        }
    assert_int_equal(tcudb_lists_block(sets[1], 0, 99, &b, &err), TCUDB_MISUSE);
    tcudb_lists_info info;
    tcudb_lists_describe(sets[1], &info);
    assert_int_equal(values, info.values);
    assert_int_equal(info.largest, 5);
    free_sets(bytes, sets);
}

static void ask_both(tcudb_gpu_lists *gpu, tcudb_lists *sets[2], size_t word, int any)
{
    tcudb_error err;
    uint64_t lists[] = {0, 1, 2, 5}, n[2] = {0}, cpu_n = 0;
    void *numbers[2] = {NULL}, *cpu = NULL;
    uint32_t found[2] = {0}, cpu_found = 0;
    tcudb_list_hit hits[10], cpu_hits[5];
    tcudb_list_query q = {lists, lists + 3, 3, 1, any}, both[2] = {q, {lists, NULL, 1, 0, 0}};
    assert_int_equal(tcudb_gpu_lists_search(gpu, both, 2, numbers, n, &err), TCUDB_OK);
    assert_int_equal(tcudb_lists_search(sets[0], &q, &cpu, &cpu_n, &err), TCUDB_OK);
    assert_int_equal(n[0], cpu_n);
    assert_int_equal(n[1], N / 2);
    assert_memory_equal(numbers[0], cpu, cpu_n * word);
    assert_int_equal(tcudb_gpu_lists_top(gpu, both, 2, 5, hits, found, &err), TCUDB_OK);
    assert_int_equal(tcudb_lists_top(sets[0], sets[1], &q, 5, cpu_hits, &cpu_found, &err), TCUDB_OK);
    assert_int_equal(found[0], cpu_found);
    for (uint32_t i = 0; i < cpu_found; i++)
        assert_true(hits[i].number == cpu_hits[i].number && hits[i].score == cpu_hits[i].score);
    tcudb_lists_free(numbers[0]);
    tcudb_lists_free(numbers[1]);
    tcudb_lists_free(cpu);
}

static void the_gpu_agrees(void **state)
{
    (void)state;
    for (int flags = 0; flags <= TCUDB_LISTS_WIDE; flags += TCUDB_LISTS_WIDE) {
        void *bytes[2];
        tcudb_lists *sets[2];
        tcudb_error err;
        tcudb_gpu_lists *gpu = NULL;
        make_sets(flags, bytes, sets);
        tcudb_status status = tcudb_gpu_lists_open(sets[0], sets[1], &gpu, &err);
        if (status != TCUDB_OK) {
            assert_string_equal(err.sqlstate, "0A000");
            printf("skipped: %s\n", err.message);
            free_sets(bytes, sets);
            skip();
        }
        for (int any = 0; any < 2; any++) ask_both(gpu, sets, flags & TCUDB_LISTS_WIDE ? 8 : 4, any);
        tcudb_gpu_lists_close(gpu);
        free_sets(bytes, sets);
    }
}

static void costs_grow(void **state)
{
    (void)state;
    for (int gpu = 0; gpu < 2; gpu++)
        for (int codec = TCUDB_CODEC_PFOR; codec <= TCUDB_CODEC_VSE; codec++) {
            tcudb_list_codec c = (tcudb_list_codec)codec;
            double base = tcudb_codec_predict(c, gpu, 0, 1, 1 << 28, 8, 8, 0.02);
            assert_true(base > 0 && base < 1);
            assert_true(tcudb_codec_predict(c, gpu, 0, 1, 1 << 29, 8, 8, 0.02) > base);
            assert_true(tcudb_codec_predict(c, gpu, 1, 1, 1 << 28, 8, 8, 0.02) >= base);
            if (gpu == 1) assert_true(tcudb_codec_predict(c, gpu, 0, 1, 1 << 28, 8, 20, 0.02) > base);
            if (gpu == 1) assert_true(tcudb_codec_predict(c, gpu, 0, 0, 1 << 28, 8, 8, 0.02) < base);
            if (codec == TCUDB_CODEC_VSE) assert_true(tcudb_codec_predict(c, gpu, 0, 1, 1 << 28, 2, 8, 0) > base);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back),      cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(searches_find),        cmocka_unit_test(wide_searches_find),
        cmocka_unit_test(blocks_are_described), cmocka_unit_test(the_gpu_agrees),
        cmocka_unit_test(costs_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
