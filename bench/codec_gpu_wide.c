/*
 * codec_gpu_wide.c: lists of 64-bit values, GPU beside CPU.
 *
 * Sets of random lists, ascending ones and others, of sizes around the borders of blocks and values from 1 bit to 64,
 * are decoded in every mode; the CPU's answers come from list_set_decode_all. Then the payloads are damaged at random:
 * the kernels must end without a driver error.
 */
#include "codec_gpu.h"

#include <stdio.h>
#include <stdlib.h>

static const uint32_t sizes[] = {0, 1, 2, 5, 100, 127, 128, 129, 1000, 1023, 1024, 1025, 2048, 5000};
static const uint32_t widths[] = {0, 1, 8, 20, 31, 32, 33, 45, 50};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), WIDTHS = sizeof(widths) / sizeof(widths[0]), LONGEST = 5000 };

/* Values of up to `width` bits with wider ones among them, as gaps of an ascending list or as they are. */
static void draw(uint64_t *v, uint32_t n, uint32_t width, bool ascending)
{
    uint64_t before = pool_random() >> 40, mask = (UINT64_C(1) << width) - 1;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = pool_random(), x = (r >> 5 & mask) | (r % 23 == 0 ? (r >> 14) & (mask << 3) : 0);
        if (!ascending && i % 7 == 0) x = pool_random();
        v[i] = ascending ? before += 1 + x : x;
    }
    if (n > 1) v[n - 1] = UINT64_MAX;
}

static tcudb_status make_set(bool ascending, Buf *bytes, ListSet *set, Error *err)
{
    static uint64_t v[LONGEST];
    ListWriter w;
    tcudb_status status = TCUDB_OK;
    list_writer_init(&w, LIST_WIDE | (ascending ? LIST_ASCENDING : 0), LIST_USE_ANY, NULL);
    for (uint32_t s = 0; s < SIZES; s++)
        for (uint32_t b = 0; b < WIDTHS && status == TCUDB_OK; b++) {
            draw(v, sizes[s], widths[b], ascending);
            status = list_writer_add(&w, v, sizes[s], err);
        }
    if (status == TCUDB_OK) status = list_writer_finish(&w, bytes, err);
    list_writer_free(&w);
    return status == TCUDB_OK ? list_set_open(bytes->data, bytes->len, true, NULL, set, err) : status;
}

/* What the CPU says of block b (n values from v on): stored values, their sum, values at most limit. */
static uint64_t cpu_sum(const uint64_t *v, uint32_t n, uint64_t base, bool ascending)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += ascending ? v[i] - base - 1 : v[i];
        base = v[i];
    }
    return sum;
}

static uint32_t compare_list(const uint64_t *v, uint32_t n, ListMode mode, bool ascending, uint64_t limit,
                             const uint64_t *got)
{
    uint32_t wrong = 0;
    for (uint32_t from = 0; from < n; from += CODEC_BLOCK) {
        uint32_t m = n - from < CODEC_BLOCK ? n - from : CODEC_BLOCK, b = from / CODEC_BLOCK, count = 0;
        uint64_t base = from == 0 ? UINT64_MAX : v[from - 1];
        for (uint32_t i = 0; i < m; i++) {
            uint64_t x = v[from + i], gap = ascending ? x - (i == 0 ? base : v[from + i - 1]) - 1 : x;
            count += x <= limit;
            if (mode == LIST_STORE) wrong += got[from + i] != gap;
            if (mode == LIST_ASCEND) wrong += got[from + i] != x;
        }
        if (mode == LIST_SUM) wrong += got[b] != cpu_sum(v + from, m, base, ascending);
        if (mode == LIST_COUNT) wrong += got[b] != count;
    }
    return wrong;
}

static tcudb_status compare_mode(ListGpu *gpu, const ListSet *set, const uint32_t *first, ListMode mode, DevicePtr out,
                                 uint64_t *got, uint32_t *wrong, Error *err)
{
    static uint64_t v[LONGEST];
    bool folded = mode == LIST_SUM || mode == LIST_COUNT, ascending = set->flags & LIST_ASCENDING;
    size_t words = (size_t)gpu->blocks * (folded ? 1 : CODEC_BLOCK);
    uint64_t limit = UINT64_C(1) << 40;
    TRY(device_fill(gpu->dev, out, 0xa5, words * 8, err));
    TRY(list_gpu_decode(gpu, mode, 0, gpu->blocks, limit, false, out, out, err));
    TRY(list_gpu_check(gpu, err));
    TRY(device_download(gpu->dev, got, out, words * 8, err));
    for (uint64_t i = 0; i < set->lists; i++) {
        TRY(list_set_decode_all(set, i, v, err));
        *wrong += compare_list(v, (uint32_t)set->entry[i].n, mode, ascending, limit,
                               got + (size_t)first[i] * (folded ? 1 : CODEC_BLOCK));
    }
    return TCUDB_OK;
}

static tcudb_status damage(ListGpu *gpu, DevicePtr out, uint32_t rounds, Error *err)
{
    Buf bytes = {0};
    TRY(buf_reserve(&bytes, gpu->area_bytes, err));
    TRY(device_download(gpu->dev, bytes.data, gpu->area, gpu->area_bytes, err));
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint64_t k = 0; k < gpu->area_bytes / 100; k++)
            bytes.data[pool_random() % gpu->area_bytes] = (char)pool_random();
        TRY(device_upload(gpu->dev, gpu->area, bytes.data, gpu->area_bytes, err));
        for (int mode = 0; mode < LIST_SEED; mode++)
            TRY(list_gpu_decode(gpu, (ListMode)mode, 0, gpu->blocks, 7, false, out, out, err));
        TRY(device_sync(gpu->dev, err));
    }
    buf_free(&bytes);
    return TCUDB_OK;
}

tcudb_status wide_check(Device *dev, uint32_t rounds, uint32_t *failures, Error *err)
{
    for (int ascending = 0; ascending < 2; ascending++) {
        static uint32_t first[SIZES * WIDTHS + 1];
        Buf bytes = {0};
        ListSet set;
        ListGpu gpu;
        DevicePtr out = 0;
        uint32_t wrong = 0;
        TRY(make_set(ascending, &bytes, &set, err));
        TRY(list_gpu_open(dev, &set, first, &gpu, err));
        uint64_t *got = malloc((size_t)gpu.blocks * CODEC_BLOCK * 8);
        if (got == NULL) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
        TRY(device_alloc(dev, (size_t)gpu.blocks * CODEC_BLOCK * 8, &out, err));
        for (int mode = 0; mode < LIST_SEED; mode++)
            if (ascending || mode == LIST_STORE || mode == LIST_SUM)
                TRY(compare_mode(&gpu, &set, first, (ListMode)mode, out, got, &wrong, err));
        printf("%-6s %s lists of 64-bit values: %u blocks, %u wrong\n", wrong == 0 ? "ok" : "FAILED",
               ascending ? "ascending" : "other", gpu.blocks, wrong);
        TRY(damage(&gpu, out, rounds, err));
        *failures += wrong > 0;
        device_free(dev, out);
        list_gpu_close(&gpu);
        list_set_close(&set);
        buf_free(&bytes);
        free(got);
    }
    return TCUDB_OK;
}

/* One ascending list of MANY values with gaps of `width` bits, in every mode: Gint/s, best of 7. */
static tcudb_status bench_width(Device *dev, uint32_t width, Error *err)
{
    enum { MANY = 1 << 24 };
    static const char *const name[] = {"written", "prefix sums", "fused sum", "fused prefix"};
    uint32_t first[2];
    uint64_t *v = malloc(MANY * sizeof(*v)), at = 0;
    Buf bytes = {0};
    ListWriter w;
    ListSet set;
    ListGpu gpu;
    DevicePtr out = 0;
    if (v == NULL) return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of memory");
    for (uint32_t i = 0; i < MANY; i++) v[i] = at += 1 + (pool_random() >> 5 & ((UINT64_C(1) << width) - 1));
    list_writer_init(&w, LIST_WIDE | LIST_ASCENDING, LIST_USE_ANY, NULL);
    TRY(list_writer_add(&w, v, MANY, err));
    TRY(list_writer_finish(&w, &bytes, err));
    TRY(list_set_open(bytes.data, bytes.len, true, NULL, &set, err));
    TRY(list_gpu_open(dev, &set, first, &gpu, err));
    TRY(device_alloc(dev, (size_t)MANY * 8, &out, err));
    printf("64-bit values, gaps of %2u bits, %5.2f b/i:", width, (double)gpu.area_bytes * 8 / MANY);
    for (int mode = 0; mode < LIST_SEED; mode++) {
        float best = 0, ms = 0;
        for (int i = 0; i < 8; i++) {
            TRY(device_mark(dev, 0, err));
            TRY(list_gpu_decode(&gpu, (ListMode)mode, 0, gpu.blocks, 7, false, out, out, err));
            TRY(device_mark(dev, 1, err));
            TRY(device_between(dev, 0, 1, &ms, err));
            if (i == 1 || (i > 0 && ms < best)) best = ms;
        }
        printf(" %s %.0f", name[mode], MANY / best / 1e6);
    }
    printf("\n");
    TRY(list_gpu_check(&gpu, err));
    device_free(dev, out);
    list_gpu_close(&gpu);
    list_set_close(&set);
    list_writer_free(&w);
    buf_free(&bytes);
    free(v);
    return TCUDB_OK;
}

tcudb_status wide_bench(Device *dev, Error *err)
{
    TRY(bench_width(dev, 8, err));
    TRY(bench_width(dev, 20, err));
    return bench_width(dev, 36, err);
}
