/*
 * list_args.h: what host code and kernels both know about lists on a device. Plain C and CUDA C++: no includes.
 *
 * On the device a list block is one directory entry of 16 bytes and its payload, at a multiple of 16 bytes in
 * the area. The payload's bytes are those of doc/format-lists.md; the header moves into the entry:
 *     word 0  place of the payload in 16-byte units      word 2  header bits 0..31, LIST_SPAN16 added
 *     word 1  the value before the block (base)          word 3  header bits 32..63
 * The area ends with LIST_AREA_SLACK readable bytes: a kernel may read a whole block's worth of slots where
 * the last block is partial. Block k's values go to out + 1024 * k.
 */
#ifndef CODEC_LIST_ARGS_H
#define CODEC_LIST_ARGS_H

enum {
    LIST_SPAN16 = 1 << 23,  /* in word 2: the sum of gap + 1 over the block is below 65536 */
    LIST_AREA_SLACK = 8192, /* bytes */
    LIST_WARPS = 8,         /* blocks a CTA works on, one a warp */
    LIST_FUSED_SUM = 4,     /* CTAs an SM of the persistent kernels: as registers allow */
    LIST_FUSED_COUNT = 3,
    LIST_BURST_CTAS = 64 /* CTAs that prefetch the next segment's input */
};

typedef struct ListArgs {
    const void *dir; /* entries, 16 bytes each */
    const void *area;
    const unsigned *index; /* block numbers to work on, or null: all of first..first+count-1 */
    unsigned *out;         /* values, 1024 a block */
    unsigned *result;      /* fused modes: one word a block */
    unsigned char *fault;  /* per block, zero on entry: a ListFault */
    unsigned first, count;
    unsigned step;        /* added to every gap: 1 for lists of strictly ascending values */
    unsigned limit;       /* of the counting sink */
    unsigned burst;       /* log2 of the CTAs in a segment; 0: no prefetch */
    unsigned image, pool; /* shared bytes a warp, as each kernel says */
} ListArgs;

#endif
