/*
 * list_gpu.c: the host side of lists on a GPU.
 *
 * Uploading takes the blocks apart: headers become directory entries, payloads are laid at multiples of 16 bytes
 * (what bulk copies need). Headers are checked here once, so that kernels only check what the payload alone can
 * tell. Blocks are sorted by the kernel that decodes them; a set whose blocks are all of one class, which is usual,
 * needs no index. Blocks of every list of a set share one directory: one launch decodes them all, because a
 * single short list cannot fill a GPU.
 *
 * A block of 64-bit values becomes two of 32 bits, halves that one warp decodes and puts together.
 *
 * A warp takes one block or several in turn (list.cuh, walk_blocks). Several hide the wait for the next payload and
 * spread the cost of starting a CTA, but keep fewer warps on a multiprocessor and the memory less orderly: they pay
 * where instructions are the limit, that is without output and for blocks of many bunches.
 *
 * Limits: 2^32 blocks (2^31 of 64-bit values); 64 GB of payloads.
 */
#include "codec/list_gpu.h"

#include "codec/list_int.h"

#include <assert.h>

/* Shared memory of vse_block.cuh: struct Bunches, and what a lane past the end of a partial block may read. */
enum { BUNCHES_BYTES = 32 * 8 + 32 * 4, VSE_OVER_READ = 4224, SUMS_BYTES = 1024, WIDE_HALVES = 2 * 4096 };
enum { NARROW_MAX = 16, BURST_BYTES = 2 << 20, HIGH16 = 2 * CODEC_BLOCK };
/* Bunches a block from which on instructions limit written modes, and limit them by far; bytes a block from which on
 * memory does; CTAs wanted a multiprocessor. */
enum { MANY_BUNCHES = 200, TOO_MANY_BUNCHES = 300, MANY_BYTES = 2048, CTAS_WANTED = 4 };
/* Class PFOR without output and without exceptions: payloads from which on a warp takes fewer blocks, and how many. */
enum { HEAVY_SLOTS = 1792, HEAVY_SUM_WALK = 2, HEAVY_COUNT_WALK = 8 };

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

static void extend(ListExtent *x, const ListHead *h)
{
    uint32_t bytes = 4 * h->words;
    if (h->scheme == LIST_VSE) {
        x->partial |= h->n < CODEC_BLOCK;
        if (bytes > x->image) x->image = bytes;
        if (h->count > x->bunches) x->bunches = h->count;
        x->vse_blocks++;
        x->all_bunches += h->count;
        return;
    }
    x->exceptions |= h->scheme == LIST_PFOR && h->count > 0;
    if (h->exc_width > x->high_bits) x->high_bits = h->exc_width;
    if (class_of(h) == LIST_CLASS_PFOR && bytes > x->narrow_slots) x->narrow_slots = bytes;
}

/* An entry of the directory, and its payload. */
static tcudb_status add_entry(ListImage *image, const uint8_t *block, const ListHead *h, uint32_t n, uint32_t base,
                              uint32_t marks, Error *err)
{
    static const char zero[16] = {0};
    if (h->n != n || h->scheme == LIST_PAIR) return damaged(LIST_BAD_HEADER, err);
    if (h->scheme == LIST_VSE && !widths_true(block + LIST_HEAD, h)) return damaged(LIST_BAD_BUNCHES, err);
    uint32_t bytes = 4 * h->words;
    uint32_t entry[4] = {(uint32_t)(image->area.len / 16), base, list_load32(block) | marks, list_load32(block + 4)};
    extend(&image->extent, h);
    TRY(buf_append(&image->dir, entry, sizeof(entry), err));
    TRY(buf_append(&image->area, block + LIST_HEAD, bytes, err));
    return buf_append(&image->area, zero, (16 - bytes % 16) % 16, err);
}

static tcudb_status add_number(ListImage *image, ListClass c, Error *err)
{
    TRY(buf_append(&image->index[c], &image->blocks, sizeof(image->blocks), err));
    image->blocks++;
    return TCUDB_OK;
}

tcudb_status list_image_add(ListImage *image, const uint8_t *block, size_t size, uint32_t n, uint32_t base,
                            uint64_t span, Error *err)
{
    ListHead h;
    ListFault fault = list_read_head(block, size, &h);
    if (fault != LIST_OK) return damaged(fault, err);
    TRY(add_entry(image, block, &h, n, base, span < 65536 ? LIST_SPAN16 : 0, err));
    return add_number(image, class_of(&h), err);
}

tcudb_status list_image_add64(ListImage *image, const uint8_t *block, size_t size, uint32_t n, uint64_t base,
                              Error *err)
{
    uint8_t zero[LIST_HEAD + 4] = {0};
    const uint8_t *half[2] = {block, zero};
    ListHead h[2];
    ListFault fault = list_read_head(block, size, &h[0]);
    if (fault == LIST_OK && h[0].scheme == LIST_PAIR) {
        size = 4 * (size_t)h[0].words;
        half[0] = block + LIST_HEAD;
        fault = list_read_head(half[0], size, &h[0]);
        if (fault == LIST_OK) {
            half[1] = half[0] + LIST_HEAD + 4 * (size_t)h[0].words;
            size -= LIST_HEAD + 4 * (size_t)h[0].words;
            fault = list_read_head(half[1], size, &h[1]);
        }
    } else if (fault == LIST_OK) { /* no high halves */
        h[1] = (ListHead){.n = h[0].n, .scheme = LIST_CONSTANT, .words = 1};
        list_store64(zero, (uint64_t)(h[1].n - 1) | (uint64_t)LIST_CONSTANT << 16 | UINT64_C(1) << 48);
    }
    if (fault != LIST_OK) return damaged(fault, err);
    for (int i = 0; i < 2; i++) TRY(add_entry(image, half[i], &h[i], n, (uint32_t)(base >> 32 * i), 0, err));
    return add_number(image, LIST_CLASS_DOUBLE, err);
}

static tcudb_status find_kernels(ListGpu *gpu, Error *err)
{
    static const char *const module[LIST_CLASSES] = {"list_pfor", "list_pfor", "list_vse", "list_vse", "list_wide"};
    static const char *const name[LIST_CLASSES][LIST_MODES] = {
        {"list_pfor_store", "list_pfor_ascend", "list_pfor_sum", "list_pfor_count", "list_pfor_seed"},
        {"list_pfor_store", "list_pfor_ascend", "list_pfor_sum_v1", "list_pfor_count_v1", "list_pfor_seed"},
        {"list_vse_store", "list_vse_ascend", "list_vse_sum", "list_vse_count", "list_vse_seed"},
        {"list_vse_wide_store", "list_vse_wide_ascend", "list_vse_wide_sum", "list_vse_wide_count", "list_vse_seed"},
        {"list_wide_store", "list_wide_ascend", "list_wide_sum", "list_wide_count", NULL}};
    static const char *const staged[] = {"list_pfor_store_staged", "list_pfor_ascend_staged"};
    DeviceModule *m = NULL;
    for (int c = 0; c < LIST_CLASSES; c++) {
        TRY(device_module(gpu->dev, module[c], &m, err));
        for (int mode = 0; mode < LIST_MODES; mode++)
            if (name[c][mode] != NULL) TRY(device_kernel(m, name[c][mode], &gpu->kernel[c][mode], err));
    }
    TRY(device_module(gpu->dev, module[LIST_CLASS_VSE_WIDE], &m, err));
    TRY(device_kernel(m, "list_vse_wide_ascend_one", &gpu->wide_one, err));
    TRY(device_module(gpu->dev, module[LIST_CLASS_PFOR], &m, err));
    for (int mode = 0; mode <= LIST_ASCEND; mode++) TRY(device_kernel(m, staged[mode], &gpu->staged[mode], err));
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
                     .blocks = image->blocks,
                     .area_bytes = image->area.len,
                     .step = image->step,
                     .extent = image->extent};
    for (int c = 0; c < LIST_CLASSES; c++) out->in_class[c] = (uint32_t)(image->index[c].len / 4);
    tcudb_status status = upload(out, image, err);
    if (status != TCUDB_OK) list_gpu_close(out);
    return status;
}

/* A short list as one block. */
static tcudb_status add_short(ListImage *image, const ListSet *set, uint64_t list, Error *err)
{
    uint64_t wide[LIST_SHORT], before = UINT64_MAX;
    uint32_t narrow[LIST_SHORT], n = 0;
    uint8_t block[2 * LIST_HEAD + 10 * LIST_SHORT + 128];
    bool is_wide = set->flags & LIST_WIDE;
    TRY(list_set_decode(set, list, 0, is_wide ? (void *)wide : narrow, &n, err));
    if (n == 0) return TCUDB_OK;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = is_wide ? wide[i] : narrow[i];
        wide[i] = image->step == 1 ? v - before - 1 : v;
        before = v;
    }
    assert(sizeof(block) >= list_bound64(LIST_SHORT));
    size_t size = list_encode64(wide, n, LIST_USE_PFOR, block);
    if (is_wide) return list_image_add64(image, block, size, n, image->step == 1 ? UINT64_MAX : 0, err);
    return list_image_add(image, block, size, n, image->step == 1 ? UINT32_MAX : 0, before + 1, err);
}

static tcudb_status add_list(ListImage *image, const ListSet *set, uint64_t list, Error *err)
{
    const ListEntry *e = &set->entry[list];
    for (uint64_t b = 0; b < list_blocks(e->n); b++) {
        size_t size;
        const uint8_t *block = list_set_block(set, e->at + b, &size);
        uint64_t left = e->n - b * CODEC_BLOCK, last = list_set_last(set, e->at + b);
        uint64_t base = b == 0 ? UINT64_MAX : list_set_last(set, e->at + b - 1), span = last - base;
        uint32_t n = left < CODEC_BLOCK ? (uint32_t)left : CODEC_BLOCK;
        if (!(set->flags & LIST_ASCENDING)) base = 0, span = UINT64_MAX;
        if (set->flags & LIST_WIDE)
            TRY(list_image_add64(image, block, size, n, base, err));
        else
            TRY(list_image_add(image, block, size, n, (uint32_t)base, span, err));
    }
    return TCUDB_OK;
}

tcudb_status list_gpu_open(Device *dev, const ListSet *set, uint32_t *first, ListGpu *out, Error *err)
{
    ListImage image;
    tcudb_status status = TCUDB_OK;
    list_image_init(&image, set->flags & LIST_ASCENDING ? 1 : 0, set->mem);
    for (uint64_t i = 0; i < set->lists && status == TCUDB_OK; i++) {
        first[i] = image.blocks;
        status = set->entry[i].n < LIST_SHORT ? add_short(&image, set, i, err) : add_list(&image, set, i, err);
    }
    if (set->lists > 0) first[set->lists] = image.blocks;
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
static uint32_t burst_log2(const ListGpu *gpu, uint32_t walk)
{
    double bytes = (double)gpu->area_bytes / gpu->blocks * LIST_WARPS * walk;
    uint32_t log2 = 7;
    while (log2 < 13 && bytes * (double)(1u << log2) * 1.41 < BURST_BYTES) log2++;
    return log2;
}

/* Blocks a warp takes: `wanted`, or fewer where the grid would not fill the GPU. */
static uint32_t walk_of(const ListGpu *gpu, uint32_t count, uint32_t wanted)
{
    if (gpu->walk > 0) return gpu->walk < LIST_WALK ? gpu->walk : LIST_WALK;
    uint32_t fit = count / (device_info(gpu->dev)->sms * LIST_WARPS * CTAS_WANTED);
    return fit == 0 ? 1 : fit < wanted ? fit : wanted;
}

/* A payload, and the words that a window may read behind it. */
static uint32_t image_bytes(uint32_t payload)
{
    return (payload + 15) / 16 * 16 + 16;
}

/* A launch being put together: args->walk, image and pool as the kernel wants them, and its dynamic shared memory. */
typedef struct Launch {
    DeviceKernel *kernel;
    ListArgs args;
    uint32_t shared;
} Launch;

static void plan_vse(const ListGpu *gpu, ListClass c, ListMode mode, Launch *l)
{
    const ListExtent *x = &gpu->extent;
    uint32_t records = (x->bunches + 3) / 4 * 32, mean = (uint32_t)(x->all_bunches / x->vse_blocks);
    bool fused = mode == LIST_SUM || mode == LIST_COUNT, heavy = gpu->area_bytes > (uint64_t)MANY_BYTES * gpu->blocks;
    uint32_t written = mean > TOO_MANY_BUNCHES ? 3 : mean > MANY_BUNCHES && !heavy ? 2 : 1;
    l->args.walk = walk_of(gpu, l->args.count, fused ? LIST_WALK : written);
    if (c == LIST_CLASS_VSE_WIDE && mode == LIST_ASCEND && l->args.walk == 1) l->kernel = gpu->wide_one;
    l->args.image = image_bytes(x->image);
    l->args.pool = BUNCHES_BYTES + records + (l->args.walk == 1 ? 1 : 2) * l->args.image;
    l->args.pool = (l->args.pool + 127) / 128 * 128;
    l->shared = LIST_WARPS * l->args.pool + (x->partial ? VSE_OVER_READ : 64);
}

/* Class PFOR where its payloads come to shared memory. */
static void plan_staged(const ListGpu *gpu, ListMode mode, Launch *l)
{
    bool fused = mode == LIST_SUM || mode == LIST_COUNT;
    l->args.image = image_bytes(gpu->extent.narrow_slots);
    if (fused) {
        uint32_t heavy = mode == LIST_SUM ? HEAVY_SUM_WALK : HEAVY_COUNT_WALK;
        bool light = gpu->extent.exceptions || gpu->extent.narrow_slots < HEAVY_SLOTS;
        l->args.walk = walk_of(gpu, l->args.count, light ? LIST_WALK : heavy);
        l->args.pool = gpu->extent.exceptions ? CODEC_BLOCK * 4 : 0;
    } else {
        l->kernel = gpu->staged[mode];
        l->args.walk = walk_of(gpu, l->args.count, 1);
        l->args.pool = gpu->extent.exceptions ? HIGH16 : SUMS_BYTES;
    }
    l->shared = LIST_WARPS * ((l->args.walk == 1 ? 1 : 2) * l->args.image + l->args.pool);
}

static void plan_direct(const ListGpu *gpu, ListMode mode, Launch *l)
{
    bool gaps = mode == LIST_ASCEND || mode == LIST_COUNT;
    l->args.pool = gpu->extent.exceptions ? CODEC_BLOCK * 4 : gaps ? SUMS_BYTES : 0;
    l->shared = LIST_WARPS * l->args.pool;
}

void list_gpu_work(const ListExtent *x, uint32_t *image, uint32_t *pool)
{
    *image = image_bytes(x->image) + 16;
    *pool = *image + (x->bunches + 3) / 4 * 32;
    if (*pool < CODEC_BLOCK * 4) *pool = CODEC_BLOCK * 4;
    *pool = (*pool + 127) / 128 * 128;
}

static void plan_double(const ListGpu *gpu, Launch *l)
{
    list_gpu_work(&gpu->extent, &l->args.image, &l->args.pool);
    l->shared = LIST_WARPS * (BUNCHES_BYTES + WIDE_HALVES + l->args.pool) + VSE_OVER_READ;
}

static void plan(const ListGpu *gpu, ListClass c, ListMode mode, Launch *l)
{
    l->kernel = gpu->kernel[c][mode];
    l->args.walk = 1;
    if (mode == LIST_SEED) return;
    if (c == LIST_CLASS_DOUBLE)
        plan_double(gpu, l);
    else if (c >= LIST_CLASS_VSE)
        plan_vse(gpu, c, mode, l);
    else if (c == LIST_CLASS_PFOR && (mode == LIST_SUM || mode == LIST_COUNT || gpu->extent.high_bits <= 16))
        plan_staged(gpu, mode, l);
    else
        plan_direct(gpu, mode, l);
}

tcudb_status list_gpu_decode(ListGpu *gpu, ListMode mode, uint32_t first, uint32_t count, uint64_t limit, bool burst,
                             DevicePtr out, DevicePtr result, Error *err)
{
    assert(first + (uint64_t)count <= gpu->blocks);
    for (int c = 0; c < LIST_CLASSES; c++) {
        if (gpu->in_class[c] == 0) continue;
        if (gpu->kernel[c][mode] == NULL)
            return error_unsupported(err, 0, "the source text's algorithms on 64-bit values");
        bool all = gpu->in_class[c] == gpu->blocks;
        assert(all || count == gpu->blocks);
        Launch l = {.args = {.dir = (void *)gpu->dir,
                             .area = (void *)gpu->area,
                             .index = (void *)gpu->index[c],
                             .out = (void *)out,
                             .result = (void *)result,
                             .fault = (void *)gpu->fault,
                             .first = first,
                             .count = all ? count : gpu->in_class[c],
                             .step = gpu->step,
                             .limit = limit > UINT32_MAX && c != LIST_CLASS_DOUBLE ? UINT32_MAX : limit}};
        plan(gpu, (ListClass)c, mode, &l);
        if (burst && all && c != LIST_CLASS_DOUBLE && l.args.walk <= 2) l.args.burst = burst_log2(gpu, l.args.walk);
        uint32_t a_cta = LIST_WARPS * l.args.walk, grid = (l.args.count + a_cta - 1) / a_cta;
        void *params[] = {&l.args};
        TRY(device_launch(gpu->dev, l.kernel, grid, LIST_WARPS * 32, l.shared, params, err));
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
