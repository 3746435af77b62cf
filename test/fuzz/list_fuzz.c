/*
 * list_fuzz.c: fuzz target for blocks and list sets. With libFuzzer: clang -fsanitize=fuzzer,address.
 * Byte 0 chooses: a block for every instruction set, a set without checksums, or values to round-trip. A
 * fuzzer cannot guess checksums, so the set's header and index sums are put right before it is opened.
 */
#include "codec/list_set.h"

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

static void fuzz_set(const uint8_t *in, size_t size)
{
    uint64_t values[CODEC_BLOCK];
    ListSet set;
    Error err;
    uint32_t n = 0;
    if (size < LIST_SET_HEAD) return;
    uint8_t *copy = malloc(size);
    memcpy(copy, in, size);
    for (int round = 0; round < 2; round++) {
        list_store32(copy + 76, list_crc32c(0, copy, 76));
        if (list_set_open(copy, size, false, NULL, &set, &err) != TCUDB_OK) continue;
        for (uint64_t i = 0; i < set.lists; i++)
            for (uint64_t b = 0; b == 0 || b < list_blocks(set.entry[i].n); b++)
                if (list_set_decode(&set, i, b, values, &n, &err) != TCUDB_OK) break;
        list_set_close(&set);
        break;
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
