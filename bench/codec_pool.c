/*
 * codec_pool.c: makes pools of list blocks, each block coded, with gaps, values, sum and count beside it.
 */
#include "codec_gpu.h"

#include "codec/list_int.h"

#include <stdio.h>

static uint64_t seed = 88172645463325252u;

uint64_t pool_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

void pool_begin(Pool1 *p, uint32_t limit)
{
    *p = (Pool1){.limit = limit, .base = UINT32_MAX};
    seed = 88172645463325252u;
    list_image_init(&p->image, 1, NULL);
}

void pool_end(Pool1 *p)
{
    list_image_free(&p->image);
    buf_free(&p->gaps);
    buf_free(&p->values);
    buf_free(&p->sums);
    buf_free(&p->counts);
}

tcudb_status pool_add(Pool1 *p, const uint8_t *block, size_t size, const uint32_t *gaps, uint32_t n, Error *err)
{
    uint32_t stored[CODEC_BLOCK], values[CODEC_BLOCK], sum = 0, count = 0, at = p->base;
    uint64_t span = 0;
    memset(stored, 0xa5, sizeof(stored));
    memset(values, 0xa5, sizeof(values));
    for (uint32_t i = 0; i < n; i++) {
        stored[i] = gaps[i];
        values[i] = at += gaps[i] + 1;
        span += (uint64_t)gaps[i] + 1;
        sum += gaps[i];
        count += at <= p->limit;
    }
    TRY(list_image_add(&p->image, block, size, n, p->base, span, err));
    TRY(buf_append(&p->gaps, stored, sizeof(stored), err));
    TRY(buf_append(&p->values, values, sizeof(values), err));
    TRY(buf_append(&p->sums, &sum, 4, err));
    TRY(buf_append(&p->counts, &count, 4, err));
    p->base = at;
    p->blocks++;
    p->stored += n;
    p->bits = ((double)p->image.area.len + 16.0 * p->blocks) * 8 / (double)p->stored;
    return TCUDB_OK;
}

static void put_head(uint8_t *out, uint32_t exc_width, uint32_t scheme, uint32_t width, uint32_t count, uint32_t words)
{
    list_store64(out, (CODEC_BLOCK - 1) | (uint64_t)exc_width << 10 | (uint64_t)scheme << 16 | (uint64_t)width << 24 |
                          (uint64_t)count << 32 | (uint64_t)words << 48);
}

tcudb_status pool_pfor(Pool1 *p, uint32_t blocks, uint32_t width, double exceptions, Error *err)
{
    uint32_t gaps[CODEC_BLOCK], high_bits = width > 25 ? 32 - width : 7, often = (uint32_t)(exceptions * 1024);
    uint8_t block[16384];
    for (uint32_t k = 0; k < blocks; k++) {
        uint32_t count = 0, widest = 0;
        for (uint32_t i = 0; i < CODEC_BLOCK; i++) {
            gaps[i] = (uint32_t)pool_random() & list_mask(width);
            if (high_bits > 0 && (pool_random() >> 20 & 1023) < often) {
                gaps[i] |= (1 + (uint32_t)(pool_random() >> 20) % list_mask(high_bits)) << width;
                count++;
            }
            widest = list_bits(gaps[i]) > widest ? list_bits(gaps[i]) : widest;
        }
        uint32_t exc_width = count > 0 ? widest - width : 0, words = pfor_words(CODEC_BLOCK, width, count, exc_width);
        p->exceptions += count;
        put_head(block, exc_width, LIST_PFOR, width, count, words);
        pfor_pack(gaps, CODEC_BLOCK, width, count, exc_width, block + LIST_HEAD);
        TRY(pool_add(p, block, LIST_HEAD + 4 * (size_t)words, gaps, CODEC_BLOCK, err));
    }
    return TCUDB_OK;
}

/* Length codes near a mean, and width codes near a mean, as the probe drew them. */
static uint32_t pick_length(uint32_t mean, uint32_t left)
{
    static const uint8_t two[] = {0, 1, 1, 1, 2}, sixteen[] = {7, 9, 11, 12, 13, 13, 14};
    uint32_t code = 0;
    if (mean == 2) {
        code = two[pool_random() % 5];
    } else if (mean == 16) {
        code = sixteen[pool_random() % 7];
    } else {
        uint32_t low = (mean + 1) / 2, high = (mean * 3 + 1) / 2;
        code = low - 1 + (uint32_t)(pool_random() >> 20) % (high - low + 1);
    }
    while (vse_length[code] > left) code--;
    return code;
}

static uint32_t pick_width(uint32_t mean)
{
    if (mean == 16) return 12 + (uint32_t)(pool_random() >> 20) % 3;
    return mean - 1 + (uint32_t)(pool_random() >> 20) % 3;
}

tcudb_status pool_vse(Pool1 *p, uint32_t blocks, uint32_t length, uint32_t width, Error *err)
{
    uint32_t gaps[CODEC_BLOCK];
    uint8_t block[16384], signatures[CODEC_BLOCK];
    for (uint32_t k = 0; k < blocks; k++) {
        uint32_t count = CODEC_BLOCK, widest = 0;
        while (count > LIST_MAX_BUNCHES) {
            count = widest = 0;
            for (uint32_t i = 0; i < CODEC_BLOCK;) {
                uint32_t c = pick_length(length, CODEC_BLOCK - i), w = pick_width(width);
                for (uint32_t j = 0; j < vse_length[c]; j++)
                    gaps[i++] = (uint32_t)pool_random() & list_mask(vse_width[w]);
                signatures[count++] = (uint8_t)(c | w << 4);
                widest = vse_width[w] > widest ? vse_width[w] : widest;
            }
        }
        size_t bytes = vse_pack(gaps, signatures, count, block + LIST_HEAD);
        while (bytes % 4 != 0) block[LIST_HEAD + bytes++] = 0;
        put_head(block, 0, LIST_VSE, widest, count, (uint32_t)bytes / 4);
        p->bunches += count;
        TRY(pool_add(p, block, LIST_HEAD + bytes, gaps, CODEC_BLOCK, err));
    }
    return TCUDB_OK;
}

static tcudb_status add_coded(Pool1 *p, const uint32_t *gaps, uint32_t n, uint32_t schemes, bool narrow, Error *err)
{
    uint8_t block[16384];
    ListHead h;
    size_t size = list_encode32(gaps, n, schemes, block);
    if (list_read_head(block, size, &h) != LIST_OK) return error_set(err, SQLSTATE_INTERNAL_ERROR, "encoder");
    if (narrow && (h.scheme != LIST_VSE || h.width > 16)) return TCUDB_OK;
    if (h.scheme == LIST_VSE) p->bunches += h.count;
    return pool_add(p, block, size, gaps, n, err);
}

tcudb_status pool_lists(Pool1 *p, const char *path, uint32_t blocks, uint32_t schemes, bool narrow, Error *err)
{
    uint32_t length = 0, gaps[CODEC_BLOCK];
    tcudb_status status = TCUDB_OK;
    FILE *f = fopen(path, "rb");
    if (f == NULL) return error_system(err, 2, "open file", path);
    for (uint32_t list = 0; fread(&length, 4, 1, f) == 1 && status == TCUDB_OK && p->blocks < blocks; list++) {
        uint32_t before = UINT32_MAX, v = 0;
        for (uint32_t i = 0; i < length && status == TCUDB_OK; i++) {
            if (fread(&v, 4, 1, f) != 1) break;
            gaps[i % CODEC_BLOCK] = v - before - 1;
            before = v;
            if (i % CODEC_BLOCK == CODEC_BLOCK - 1 && list > 0 && p->blocks < blocks)
                status = add_coded(p, gaps, CODEC_BLOCK, schemes, narrow, err);
        }
    }
    fclose(f);
    return status;
}

tcudb_status pool_all_kinds(Pool1 *p, Error *err)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 500, 1021, 1022, 1023, 1024};
    uint32_t gaps[CODEC_BLOCK];
    for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (uint32_t width = 0; width <= 32; width++)
            for (uint32_t shape = 0; shape < 6; shape++) {
                for (uint32_t i = 0; i < sizes[s]; i++) {
                    uint32_t r = (uint32_t)(pool_random() >> 16), any = r & list_mask(width);
                    uint32_t few = r >> 8 & 3;
                    gaps[i] = shape == 0   ? any
                              : shape == 1 ? (r % 17 == 0 ? any : few)
                              : shape == 2 ? any & list_mask(r >> 27)
                              : shape == 3 ? list_mask(width)
                              : shape == 4 ? (i / 19 % 2 ? any : 0)
                                           : (i % 2 ? any : few);
                }
                TRY(add_coded(p, gaps, sizes[s], LIST_USE_VSE, false, err));
                TRY(add_coded(p, gaps, sizes[s], LIST_USE_PFOR, false, err));
            }
    return TCUDB_OK;
}
