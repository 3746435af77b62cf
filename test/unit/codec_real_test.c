/* Sizes on real posting lists (DATA/postings): VSEncoding within 1 % of the optimum that a plain dynamic program finds,
 * the choice by block never larger than either codec, for blocks and for whole sets; and every list comes back. */
#include "codec/list_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static const char *folder;

/* The whole file, decompressed; *n words. */
static uint32_t *read_words(const char *name, size_t *n)
{
    char path[4096];
    size_t room = 1 << 20, got = 0;
    snprintf(path, sizeof(path), "%s/postings/%s.docs.gz", folder, name);
    gzFile f = gzopen(path, "rb");
    if (f == NULL) return NULL;
    char *bytes = malloc(room);
    for (int k; (k = gzread(f, bytes + got, (unsigned)(room - got))) > 0;) {
        got += (size_t)k;
        if (got == room) bytes = realloc(bytes, room *= 2);
    }
    gzclose(f);
    *n = got / 4;
    return (uint32_t *)(void *)bytes;
}

static uint32_t width_of(uint32_t v)
{
    static const uint8_t widths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 32};
    uint32_t bits = 0, i = 0;
    for (; v != 0; v >>= 1) bits++;
    while (widths[i] < bits) i++;
    return widths[i];
}

/* Bits of the cheapest partition into bunches: eight a bunch, and its slots. */
static uint64_t cheapest(const uint32_t *v, uint32_t n)
{
    static const uint8_t allowed[65] = {[1] = 1, [2] = 1,  [3] = 1,  [4] = 1,  [5] = 1,  [6] = 1,  [7] = 1,  [8] = 1,
                                        [9] = 1, [10] = 1, [11] = 1, [12] = 1, [14] = 1, [16] = 1, [32] = 1, [64] = 1};
    static uint64_t cost[CODEC_BLOCK + 1];
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t widest = 0;
        cost[i] = UINT64_MAX;
        for (uint32_t l = 1; l <= 64 && l <= i; l++) {
            uint32_t w = width_of(v[i - l]);
            widest = w > widest ? w : widest;
            uint64_t sum = cost[i - l] + 8 + (uint64_t)l * widest;
            if (allowed[l] && sum < cost[i]) cost[i] = sum;
        }
    }
    return cost[n];
}

typedef struct Sizes {
    uint64_t optimum, vse, pfor, best; /* bits */
} Sizes;

static void size_block(const uint32_t *gaps, uint32_t n, Sizes *s)
{
    static uint8_t out[32768];
    size_t vse = list_encode32(gaps, n, LIST_USE_VSE, out), pfor = list_encode32(gaps, n, LIST_USE_PFOR, out);
    size_t best = list_encode32(gaps, n, LIST_USE_ANY, out);
    assert_true(best <= vse && best <= pfor);
    s->optimum += 64 + cheapest(gaps, n);
    s->vse += 8 * vse;
    s->pfor += 8 * pfor;
    s->best += 8 * best;
}

static void size_list(const uint32_t *list, uint32_t length, Sizes *s)
{
    uint32_t gaps[CODEC_BLOCK], n = 0;
    for (uint32_t i = 0; i < length; i++) {
        gaps[n++] = i == 0 ? list[0] : list[i] - list[i - 1] - 1;
        if (n < CODEC_BLOCK && i + 1 < length) continue;
        size_block(gaps, n, s);
        n = 0;
    }
}

static size_t set_size(const uint32_t *words, size_t n, uint32_t schemes, Buf *out)
{
    ListWriter w;
    Error err;
    list_writer_init(&w, LIST_ASCENDING, schemes, NULL);
    for (size_t at = words[0] + 1; at < n; at += words[at] + 1)
        assert_int_equal(list_writer_add(&w, words + at + 1, words[at], &err), TCUDB_OK);
    buf_init(out, NULL);
    assert_int_equal(list_writer_finish(&w, out, &err), TCUDB_OK);
    list_writer_free(&w);
    return out->len;
}

static void check_sets(const uint32_t *words, size_t n)
{
    Buf best, one;
    ListSet set;
    Error err;
    size_t size = set_size(words, n, LIST_USE_ANY, &best);
    for (uint32_t schemes = LIST_USE_PFOR; schemes <= LIST_USE_VSE; schemes *= 2) {
        assert_true(size <= set_size(words, n, schemes, &one));
        buf_free(&one);
    }
    assert_int_equal(list_set_open(best.data, best.len, true, NULL, &set, &err), TCUDB_OK);
    uint64_t list = 0;
    for (size_t at = words[0] + 1; at < n; at += words[at] + 1, list++) {
        uint32_t *back = malloc(4 * (size_t)words[at] + 4);
        assert_int_equal(set.entry[list].n, words[at]);
        assert_int_equal(list_set_decode_all(&set, list, back, &err), TCUDB_OK);
        assert_memory_equal(back, words + at + 1, 4 * (size_t)words[at]);
        free(back);
    }
    assert_int_equal(list, set.lists);
    list_set_close(&set);
    buf_free(&best);
}

static void real_lists_are_small_and_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"census1881", "census-income", "wikileaks-noquotes", "uscensus2000",
                                        "peps_para"};
    for (int i = 0; i < 5; i++) {
        Sizes s = {0};
        size_t n = 0;
        uint32_t *words = read_words(names[i], &n);
        assert_non_null(words);
        for (size_t at = words[0] + 1; at < n; at += words[at] + 1) /* the first sequence: how many documents */
            if (words[at] >= LIST_SHORT) size_list(words + at + 1, words[at], &s);
        printf("%-20s optimum %llu bits, VSEncoding %+.2f %%, PForDelta %+.2f %%, best %+.2f %%\n", names[i],
               (unsigned long long)s.optimum, 100 * ((double)s.vse / (double)s.optimum - 1),
               100 * ((double)s.pfor / (double)s.optimum - 1), 100 * ((double)s.best / (double)s.optimum - 1));
        assert_true((double)s.vse <= 1.01 * (double)s.optimum);
        assert_true(s.best <= s.vse && s.best <= s.pfor);
        check_sets(words, n);
        free(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(real_lists_are_small_and_come_back)};
    size_t n = 0;
    folder = getenv("DATA");
    uint32_t *there = folder == NULL ? NULL : read_words("uscensus2000", &n);
    if (there == NULL) {
        printf("no posting lists in DATA/postings\n");
        return 77;
    }
    free(there);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
