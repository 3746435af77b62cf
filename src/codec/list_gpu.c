/*
 * list_gpu.c: the host side of lists on a GPU.
 *
 * Uploading takes the blocks apart: headers become directory entries, payloads are laid at multiples of 16 bytes
 * (what bulk copies need). Headers are checked here once, so that kernels only check what the payload alone can
 * tell. Blocks are sorted by the kernel that decodes them; a set whose blocks are all of one class, which is usual,
 * needs no index. Blocks of every list of a set share one directory: one launch decodes them all, because a
 * single short list cannot fill a GPU.
 *
 * Limits: 32-bit values; 2^32 blocks; 64 GB of payloads.
 */
#include "codec/list_gpu.h"

#include "codec/list_int.h"

#include <assert.h>

/* Shared memory of list_vse.cuh: struct Bunches, and what a lane past the end of a partial block may read. */
enum { BUNCHES_BYTES = 32 * 8 + 32 * 4, VSE_OVER_READ = 4224, NARROW_MAX = 16, BURST_BYTES = 2 << 20 };
enum { SHARED_PER_SM = 227 << 10, SUMS_BYTES = 1024 };

void list_image_init(ListImage *image, uint32_t step, Mem *mem)
{
    *image = (ListImage){.step = step};
    buf_init(&image->dir, mem);
    buf_init(&image->area, mem);
    for (int c = 0; c < LIST_CLASSES; c++) buf_init(&image->index[c], mem);
}

void list_image_free(ListImage *image)
{
    buf_free(&image->dir);
    buf_free(&image->area);
    for (int c = 0; c < LIST_CLASSES; c++) buf_free(&image->index[c]);
}

static tcudb_status damaged(ListFault fault, Error *err)
{
    return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged list block: %s", list_fault_text(fault));
}

static ListClass class_of(const ListHead *h)
{
    if (h->scheme == LIST_RAW) return LIST_CLASS_PFOR_WIDE;
    if (h->scheme != LIST_VSE)
        return h->width <= NARROW_MAX && h->n == CODEC_BLOCK ? LIST_CLASS_PFOR : LIST_CLASS_PFOR_WIDE;
    return h->width <= NARROW_MAX ? LIST_CLASS_VSE : LIST_CLASS_VSE_WIDE;
}

/* A narrow block must not hold a wide bunch: its kernel reads three words for four slots. */
static bool widths_true(const uint8_t *signatures, const ListHead *h)
{
    uint32_t widest = 0;
    for (uint32_t s = 0; s < h->count; s++)
        if (vse_width[signatures[s] >> 4] > widest) widest = vse_width[signatures[s] >> 4];
    return widest <= h->width;
}

tcudb_status list_image_add(ListImage *image, const uint8_t *block, size_t size, uint32_t n, uint32_t base,
                            uint64_t span, Error *err)
{
    static const char zero[16] = {0};
    ListHead h;
    ListFault fault = list_read_head(block, size, &h);
    if (fault != LIST_OK) return damaged(fault, err);
    if (h.n != n || h.scheme == LIST_PAIR) return damaged(LIST_BAD_HEADER, err);
    if (h.scheme == LIST_VSE && !widths_true(block + LIST_HEAD, &h)) return damaged(LIST_BAD_BUNCHES, err);
    uint32_t bytes = 4 * h.words, number = (uint32_t)(image->dir.len / 16);
    uint32_t entry[4] = {(uint32_t)(image->area.len / 16), base, list_load32(block), list_load32(block + 4)};
    if (span < 65536) entry[2] |= LIST_SPAN16;
    image->partial |= h.scheme == LIST_VSE && n < CODEC_BLOCK;
    if (h.scheme == LIST_VSE && bytes > image->image) image->image = bytes;
    if (h.scheme == LIST_VSE && h.count > image->bunches) image->bunches = h.count;
    image->exceptions |= h.scheme == LIST_PFOR && h.count > 0;
    if (class_of(&h) == LIST_CLASS_PFOR && bytes > image->narrow_slots) image->narrow_slots = bytes;
    TRY(buf_append(&image->dir, entry, sizeof(entry), err));
    TRY(buf_append(&image->index[class_of(&h)], &number, sizeof(number), err));
    TRY(buf_append(&image->area, block + LIST_HEAD, bytes, err));
    return buf_append(&image->area, zero, (16 - bytes % 16) % 16, err);
}

static tcudb_status find_kernels(ListGpu *gpu, Error *err)
{
    static const char *const module[LIST_CLASSES] = {"list_pfor", "list_pfor", "list_vse", "list_vse"};
    static const char *const name[LIST_CLASSES][LIST_MODES] = {
        {"list_pfor_store", "list_pfor_ascend", "list_pfor_sum", "list_pfor_count", "list_pfor_seed"},
        {"list_pfor_store", "list_pfor_ascend", "list_pfor_sum_v1", "list_pfor_count_v1", "list_pfor_seed"},
        {"list_vse_store", "list_vse_ascend", "list_vse_sum", "list_vse_count", "list_vse_seed"},
        {"list_vse_wide_store", "list_vse_wide_ascend", "list_vse_wide_sum", "list_vse_wide_count", "list_vse_seed"}};
    for (int c = 0; c < LIST_CLASSES; c++) {
        DeviceModule *m = NULL;
        TRY(device_module(gpu->dev, module[c], &m, err));
        for (int mode = 0; mode < LIST_MODES; mode++) TRY(device_kernel(m, name[c][mode], &gpu->kernel[c][mode], err));
    }
    return TCUDB_OK;
}

static tcudb_status upload(ListGpu *gpu, const ListImage *image, Error *err)
{
    TRY(find_kernels(gpu, err));
    TRY(device_alloc(gpu->dev, image->dir.len + 16, &gpu->dir, err));
    TRY(device_upload(gpu->dev, gpu->dir, image->dir.data, image->dir.len, err));
    TRY(device_alloc(gpu->dev, image->area.len + LIST_AREA_SLACK, &gpu->area, err));
    TRY(device_fill(gpu->dev, gpu->area + image->area.len, 0, LIST_AREA_SLACK, err));
    TRY(device_upload(gpu->dev, gpu->area, image->area.data, image->area.len, err));
    TRY(device_alloc(gpu->dev, gpu->blocks, &gpu->fault, err));
    TRY(device_fill(gpu->dev, gpu->fault, 0, gpu->blocks, err));
    for (int c = 0; c < LIST_CLASSES; c++) {
        if (gpu->in_class[c] == 0 || gpu->in_class[c] == gpu->blocks) continue;
        TRY(device_alloc(gpu->dev, image->index[c].len, &gpu->index[c], err));
        TRY(device_upload(gpu->dev, gpu->index[c], image->index[c].data, image->index[c].len, err));
    }
    return TCUDB_OK;
}

tcudb_status list_gpu_upload(Device *dev, const ListImage *image, ListGpu *out, Error *err)
{
    *out = (ListGpu){.dev = dev,
                     .blocks = (uint32_t)(image->dir.len / 16),
                     .area_bytes = image->area.len,
                     .image = image->image,
                     .bunches = image->bunches,
                     .step = image->step,
                     .narrow_slots = image->narrow_slots,
                     .exceptions = image->exceptions,
                     .partial = image->partial};
    for (int c = 0; c < LIST_CLASSES; c++) out->in_class[c] = (uint32_t)(image->index[c].len / 4);
    tcudb_status status = upload(out, image, err);
    if (status != TCUDB_OK) list_gpu_close(out);
    return status;
}

/* A short list as one block. */
static tcudb_status add_short(ListImage *image, const ListSet *set, uint64_t list, Error *err)
{
    uint32_t values[LIST_SHORT], n = 0, before = UINT32_MAX;
    uint8_t block[LIST_HEAD + 5 * LIST_SHORT + 64];
    TRY(list_set_decode(set, list, 0, values, &n, err));
    if (n == 0) return TCUDB_OK;
    uint64_t span = (uint64_t)values[n - 1] + 1;
    for (uint32_t i = 0; i < n && image->step == 1; i++) {
        uint32_t v = values[i];
        values[i] = v - before - 1;
        before = v;
    }
    size_t size = list_encode32(values, n, LIST_USE_PFOR, block);
    return list_image_add(image, block, size, n, image->step == 1 ? UINT32_MAX : 0, span, err);
}

static tcudb_status add_list(ListImage *image, const ListSet *set, uint64_t list, Error *err)
{
    const ListEntry *e = &set->entry[list];
    for (uint64_t b = 0; b < list_blocks(e->n); b++) {
        size_t size;
        const uint8_t *block = list_set_block(set, e->at + b, &size);
        uint64_t left = e->n - b * CODEC_BLOCK;
        uint32_t base = b == 0 ? UINT32_MAX : (uint32_t)list_set_last(set, e->at + b - 1);
        uint64_t span = list_set_last(set, e->at + b) - (b == 0 ? UINT64_MAX : base);
        if (!(set->flags & LIST_ASCENDING)) base = 0, span = UINT64_MAX;
        TRY(list_image_add(image, block, size, left < CODEC_BLOCK ? (uint32_t)left : CODEC_BLOCK, base, span, err));
    }
    return TCUDB_OK;
}

tcudb_status list_gpu_open(Device *dev, const ListSet *set, uint32_t *first, ListGpu *out, Error *err)
{
    ListImage image;
    tcudb_status status = TCUDB_OK;
    if (set->flags & LIST_WIDE) return error_unsupported(err, 0, "lists of 64-bit values on a GPU");
    list_image_init(&image, set->flags & LIST_ASCENDING ? 1 : 0, set->mem);
    for (uint64_t i = 0; i < set->lists && status == TCUDB_OK; i++) {
        first[i] = (uint32_t)(image.dir.len / 16);
        status = set->entry[i].n < LIST_SHORT ? add_short(&image, set, i, err) : add_list(&image, set, i, err);
    }
    if (set->lists > 0) first[set->lists] = (uint32_t)(image.dir.len / 16);
    if (status == TCUDB_OK) status = list_gpu_upload(dev, &image, out, err);
    list_image_free(&image);
    return status;
}

void list_gpu_close(ListGpu *gpu)
{
    device_free(gpu->dev, gpu->dir);
    device_free(gpu->dev, gpu->area);
    device_free(gpu->dev, gpu->fault);
    for (int c = 0; c < LIST_CLASSES; c++) device_free(gpu->dev, gpu->index[c]);
    *gpu = (ListGpu){.dev = gpu->dev};
}

/* CTAs whose input is about 2 MB, as a power of two. */
static uint32_t burst_log2(const ListGpu *gpu)
{
    double bytes = (double)gpu->area_bytes / gpu->blocks * LIST_WARPS;
    uint32_t log2 = 7;
    while (log2 < 13 && bytes * (double)(1u << log2) * 1.41 < BURST_BYTES) log2++;
    return log2;
}

/* Dynamic shared memory of a launch; fills args->image and pool as the kernels want them. The persistent
 * kernels get as many CTAs as fit the GPU at once. */
static uint32_t shared_memory(const ListGpu *gpu, ListClass c, ListMode mode, ListArgs *args, uint32_t *grid)
{
    if (mode == LIST_SEED) return 0;
    if (c >= LIST_CLASS_VSE) {
        args->image = (gpu->image + 15) / 16 * 16 + 16;
        args->pool = args->image + (gpu->bunches + 3) / 4 * 32;
        if (args->pool < SUMS_BYTES) args->pool = SUMS_BYTES;
        args->pool += BUNCHES_BYTES;
        return LIST_WARPS * args->pool + (gpu->partial ? VSE_OVER_READ : 64);
    }
    if (c == LIST_CLASS_PFOR && (mode == LIST_SUM || mode == LIST_COUNT)) {
        args->image = (gpu->narrow_slots + 15) / 16 * 16 + 16;
        args->pool = gpu->exceptions ? CODEC_BLOCK * 4 : 0;
        uint32_t shared = LIST_WARPS * (2 * args->image + args->pool), room = SHARED_PER_SM / (shared + 1024);
        uint32_t ctas = mode == LIST_SUM ? LIST_FUSED_SUM : LIST_FUSED_COUNT;
        uint32_t most = device_info(gpu->dev)->sms * (room == 0 ? 1 : room < ctas ? room : ctas);
        if (*grid > most) *grid = most;
        return shared;
    }
    args->pool = gpu->exceptions ? CODEC_BLOCK * 4 : mode == LIST_ASCEND || mode == LIST_COUNT ? SUMS_BYTES : 0;
    return LIST_WARPS * args->pool;
}

tcudb_status list_gpu_decode(ListGpu *gpu, ListMode mode, uint32_t first, uint32_t count, uint32_t limit, bool burst,
                             DevicePtr out, DevicePtr result, Error *err)
{
    assert(first + (uint64_t)count <= gpu->blocks);
    for (int c = 0; c < LIST_CLASSES; c++) {
        if (gpu->in_class[c] == 0) continue;
        bool all = gpu->in_class[c] == gpu->blocks;
        assert(all || count == gpu->blocks);
        ListArgs args = {.dir = (void *)gpu->dir,
                         .area = (void *)gpu->area,
                         .index = (void *)gpu->index[c],
                         .out = (void *)out,
                         .result = (void *)result,
                         .fault = (void *)gpu->fault,
                         .first = first,
                         .count = all ? count : gpu->in_class[c],
                         .step = gpu->step,
                         .limit = limit,
                         .burst = burst && all ? burst_log2(gpu) : 0};
        uint32_t grid = (args.count + LIST_WARPS - 1) / LIST_WARPS,
                 shared = shared_memory(gpu, (ListClass)c, mode, &args, &grid);
        void *params[] = {&args};
        TRY(device_launch(gpu->dev, gpu->kernel[c][mode], grid, LIST_WARPS * 32, shared, params, err));
    }
    return TCUDB_OK;
}

tcudb_status list_gpu_check(ListGpu *gpu, Error *err)
{
    uint8_t fault[4096];
    TRY(device_sync(gpu->dev, err));
    for (uint32_t at = 0; at < gpu->blocks; at += sizeof(fault)) {
        uint32_t n = gpu->blocks - at < sizeof(fault) ? gpu->blocks - at : (uint32_t)sizeof(fault);
        TRY(device_download(gpu->dev, fault, gpu->fault + at, n, err));
        for (uint32_t i = 0; i < n; i++)
            if (fault[i] != 0)
                return error_set(err, SQLSTATE_DATA_CORRUPTED, "damaged list block %u: %s", at + i,
                                 list_fault_text((ListFault)fault[i]));
    }
    return TCUDB_OK;
}
