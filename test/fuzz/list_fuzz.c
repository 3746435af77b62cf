/*
 * list_fuzz.c: fuzz target for blocks and list sets. With libFuzzer: clang -fsanitize=fuzzer,address.
 * Byte 0 chooses: a block for every instruction set, a set that is decoded and asked, or values to round-trip. A
 * fuzzer cannot guess checksums, so the set's header and index sums are put right before it is opened.
 */
#include "codec/list_ops.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_block(const uint8_t *in, size_t size, uint32_t n)
{
    uint32_t *narrow = malloc(4 * (size_t)n);
    uint64_t *wide = malloc(8 * (size_t)n);
    for (int isa = LIST_SCALAR; isa <= (int)list_isa(); isa++) {
        (void)list_decode32((ListIsa)isa, in, size, size, n, narrow);
        (void)list_decode64((ListIsa)isa, in, size, size, n, wide);
    }
    free(narrow);
    free(wide);
}

static void put_sums_right(uint8_t *set, size_t size)
{
    uint64_t blocks = list_load64(set + 32), width = list_load32(set + 12) & LIST_WIDE ? 8 : 4;
    uint64_t sizes[] = {blocks * width, blocks * 8, blocks * 4, list_load64(set + 48)};
    size_t at = LIST_SET_HEAD;
    uint32_t crc = 0;
    for (int i = 0; i < 4 && blocks <= size; i++) {
        if (at > size || sizes[i] > size - at) break;
        crc = list_crc32c(crc, set + at, sizes[i]);
        at += (sizes[i] + 15) / 16 * 16;
    }
    list_store32(set + 72, crc);
    list_store32(set + 76, list_crc32c(0, set, 76));
}

/* Every kind of question to the first lists. */
static void ask(const ListSet *set)
{
    uint64_t lists[] = {0, 1, 2};
    Error err;
    ListHit hits[4];
    uint32_t n = 0;
    for (int any = 0; any < 2 && set->lists >= 3; any++) {
        ListQuery q = {lists, lists + 2, 2, 1, any == 1};
        Buf out;
        buf_init(&out, NULL);
        (void)!list_query(set, &q, &out, NULL, &err);
        (void)!list_top(set, set, &q, 4, hits, &n, NULL, &err);
        buf_free(&out);
    }
}

static void fuzz_set(const uint8_t *in, size_t size)
{
    uint64_t values[CODEC_BLOCK];
    ListSet set;
    Error err;
    uint32_t n = 0;
    if (size < LIST_SET_HEAD) return;
    uint8_t *copy = malloc(size);
    memcpy(copy, in, size);
    put_sums_right(copy, size);
    if (list_set_open(copy, size, false, NULL, &set, &err) == TCUDB_OK) {
        for (uint64_t i = 0; i < set.lists; i++)
            for (uint64_t b = 0; b == 0 || b < list_blocks(set.entry[i].n); b++)
                if (list_set_decode(&set, i, b, values, &n, &err) != TCUDB_OK) break;
        ask(&set);
        list_set_close(&set);
    }
    free(copy);
}

static void fuzz_round_trip(const uint8_t *in, size_t size, uint32_t schemes)
{
    uint64_t values[CODEC_BLOCK] = {0}, got[CODEC_BLOCK];
    uint32_t n = (uint32_t)(size / 8 < CODEC_BLOCK ? size / 8 : CODEC_BLOCK);
    if (n == 0) return;
    memcpy(values, in, 8 * (size_t)n);
    uint8_t *out = malloc(list_bound64(n));
    size_t bytes = list_encode64(values, n, schemes, out);
    for (int isa = LIST_SCALAR; isa <= (int)list_isa(); isa++)
        if (list_decode64((ListIsa)isa, out, bytes, bytes, n, got) != LIST_OK ||
            memcmp(got, values, 8 * (size_t)n) != 0)
            __builtin_trap();
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3) return 0;
    uint32_t n = (uint32_t)(data[1] | data[2] << 8) % CODEC_BLOCK + 1;
    if (data[0] % 4 == 0) fuzz_block(data + 3, size - 3, n);
    if (data[0] % 4 == 1) fuzz_set(data + 3, size - 3);
    if (data[0] % 4 >= 2) fuzz_round_trip(data + 3, size - 3, data[1] % 2 ? LIST_USE_VSE : LIST_USE_PFOR);
    return 0;
}
