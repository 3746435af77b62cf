/*
 * list_gpu.h: lists on a GPU: uploaded compressed, decoded there.
 */
#ifndef CODEC_LIST_GPU_H
#define CODEC_LIST_GPU_H

#include "codec/list_args.h"
#include "codec/list_set.h"
#include "device/device.h"

/* Blocks by the kernel that decodes them. */
typedef enum ListClass {
    LIST_CLASS_PFOR, /* full blocks with slots of up to 16 bits; constant ones */
    LIST_CLASS_PFOR_WIDE,
    LIST_CLASS_VSE, /* bunches of up to 16 bits */
    LIST_CLASS_VSE_WIDE,
    LIST_CLASS_DOUBLE, /* values of 64 bits: two entries of the directory a block, low halves and high halves */
    LIST_CLASSES
} ListClass;

typedef enum ListMode {
    LIST_STORE,  /* stored values: the gaps of an ascending set */
    LIST_ASCEND, /* values */
    LIST_SUM,    /* per block the sum of the stored values, modulo 2^32 (64-bit values: 2^64); no output */
    LIST_COUNT,  /* per block how many values are at most `limit`; no output */
    LIST_SEED,   /* like LIST_STORE, by the source text's algorithms; 32-bit values only */
    LIST_MODES
} ListMode;

/* What a launch must know of the blocks. */
typedef struct ListExtent {
    uint32_t image, bunches;  /* of VSEncoding blocks: largest payload in bytes, most bunches */
    uint32_t narrow_slots;    /* largest payload of class PFOR in bytes */
    uint32_t high_bits;       /* most bits of an exception's high part */
    bool exceptions, partial; /* some block has exceptions; some VSEncoding block is partial */
    uint64_t vse_blocks, all_bunches;
} ListExtent;

/* A directory and an area being put together on the host. */
typedef struct ListImage {
    Buf dir, area;           /* entries; payloads */
    Buf index[LIST_CLASSES]; /* block numbers of a class */
    ListExtent extent;
    uint32_t step, blocks;
} ListImage;

void list_image_init(ListImage *image, uint32_t step, Mem *mem);
void list_image_free(ListImage *image);
/* Adds a block (header and payload); base: the value before it; span: sum of gap + 1 over it, or more. XX001 if
 * damaged. */
tcudb_status list_image_add(ListImage *image, const uint8_t *block, size_t size, uint32_t n, uint32_t base,
                            uint64_t span, Error *err) MUST_CHECK;
/* The same for a block of 64-bit values. An image holds blocks of one kind. */
tcudb_status list_image_add64(ListImage *image, const uint8_t *block, size_t size, uint32_t n, uint64_t base,
                              Error *err) MUST_CHECK;

typedef struct ListGpu {
    Device *dev;
    DevicePtr dir, area, fault, index[LIST_CLASSES];
    uint32_t blocks, in_class[LIST_CLASSES];
    uint64_t area_bytes;
    uint32_t step;
    uint32_t walk; /* for tests: blocks a warp takes; 0: what pays */
    ListExtent extent;
    DeviceKernel *kernel[LIST_CLASSES][LIST_MODES], *staged[LIST_ASCEND + 1]; /* staged: of class PFOR */
    DeviceKernel *wide_one; /* of class VSE_WIDE, ascending, a block a warp */
} ListGpu;

tcudb_status list_gpu_upload(Device *dev, const ListImage *image, ListGpu *out, Error *err) MUST_CHECK;
/* All blocks of a set; short lists become blocks too. first[i] (room for lists + 1) gets the number of
 * list i's first block. */
tcudb_status list_gpu_open(Device *dev, const ListSet *set, uint32_t *first, ListGpu *out, Error *err) MUST_CHECK;
void list_gpu_close(ListGpu *gpu);
/* Bytes of a value, and of a fused mode's result. */
static inline size_t list_gpu_word(const ListGpu *gpu)
{
    return gpu->in_class[LIST_CLASS_DOUBLE] > 0 ? 8 : 4;
}
/* Queues the decoding of blocks first..first+count-1: 1024 values a block to `out`, or a word a block to `result`.
 * A part of the blocks only if all are of one class. */
tcudb_status list_gpu_decode(ListGpu *gpu, ListMode mode, uint32_t first, uint32_t count, uint64_t limit, bool burst,
                             DevicePtr out, DevicePtr result, Error *err) MUST_CHECK;
/* Shared memory for any_block.cuh: bytes of a payload, and of that and what else a decode needs. */
void list_gpu_work(const ListExtent *x, uint32_t *image, uint32_t *pool);
/* Waits, and reports the first damaged block: XX001. */
tcudb_status list_gpu_check(ListGpu *gpu, Error *err) MUST_CHECK;

#endif
