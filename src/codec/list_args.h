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
    LIST_WALK = 16,         /* most blocks that a warp takes one after the other */
    LIST_BURST_CTAS = 64    /* CTAs that prefetch the next segment's input */
};

typedef struct ListArgs {
    const void *dir; /* entries, 16 bytes each */
    const void *area;
    const unsigned *index;    /* block numbers to work on, or null: all of first..first+count-1 */
    unsigned *out;            /* values, 1024 a block */
    unsigned *result;         /* fused modes: one word a block */
    unsigned char *fault;     /* per block, zero on entry: a ListFault */
    unsigned long long limit; /* of the counting sink */
    unsigned first, count;
    unsigned step;        /* added to every gap: 1 for lists of strictly ascending values */
    unsigned burst;       /* log2 of the CTAs in a segment; 0: no prefetch */
    unsigned walk;        /* blocks that a warp takes, 1..LIST_WALK */
    unsigned image, pool; /* shared bytes a warp, as each kernel says */
} ListArgs;

/* Operations on lists (list_task.cuh, list_filter.cuh, list_ops.cuh). A query is a run of list numbers; those with
 * LIST_WITHOUT are excluded. */
#define LIST_WITHOUT 0x80000000u
#define LIST_NO_TASK 0xffffffffu
enum { LIST_OPS_WARPS = 4, LIST_OPS_CHUNK = 1024 /* words of a bitmap that one CTA counts or extracts */ };

typedef struct ListTask {
    unsigned query, list, block; /* list: its number, LIST_WITHOUT as in the query; block: of the directory */
    unsigned index;              /* of the list in the query's run */
} ListTask;

/* What a task of list_filter.cuh kept: n values from `place` on. */
typedef struct ListPiece {
    unsigned long long place, n;
} ListPiece;

/* A hit as it comes back: codec/list_ops.h's ListHit. */
typedef struct ListGpuHit {
    unsigned long long doc;
    unsigned score, zero;
} ListGpuHit;

typedef struct ListOpsArgs {
    ListArgs docs, freqs;
    const unsigned *first; /* per list its first block, and one more */
    const ListTask *task;
    const unsigned *begin; /* per query its first list, and one more */
    const unsigned *lists;
    const unsigned *least; /* per query: lists that must have a document */
    unsigned tasks;
    unsigned image, pool; /* shared bytes a warp: payload; payload and records, at least 4096 */
    /* filters: tasks of a query are consecutive, those of a list too */
    void *kept;                       /* values, 32 or 64 bits */
    unsigned *kept_score;             /* parallel to kept */
    unsigned long long *total;        /* of kept; 0 on entry */
    ListPiece *piece;                 /* per task */
    const unsigned *tasks_of;         /* parallel to lists: its first task; LIST_NO_TASK */
    const unsigned *task_begin;       /* per query its first task, and one more */
    const unsigned long long *before; /* per task: kept by the tasks of its list before it */
    const unsigned long long *at;     /* per query (bitmaps: and chunk): where its numbers go in docs.out */
    /* dense lists */
    unsigned *bits;         /* a bitmap a query, `words` words each */
    unsigned words, chunks; /* chunks of LIST_OPS_CHUNK words in a bitmap */
    unsigned *counts;       /* per query and chunk */
    unsigned long long
        *score; /* per query and document: lists that have it << 48 | sum of frequencies; bit 63: excluded */
    unsigned documents, top;
    ListGpuHit *hits; /* `top` a query */
    unsigned *found;
} ListOpsArgs;

#endif
