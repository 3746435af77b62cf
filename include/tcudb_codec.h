/*
 * tcudb_codec.h: compressed lists of integers, usable without a database.
 *
 * A set of lists is one run of bytes (specified in doc/format-lists.md): blocks of 1024 values compressed by VSEncoding
 * or PForDelta, whichever is smaller, with skip arrays and checksums. It is written once and read in place, from memory
 * or a mapped file. Lists may be plain, or strictly ascending (posting lists: stored as gaps, with AND, OR, NOT and
 * top-k).
 *
 * The rules of tcudb.h hold: whoever opened an object closes it; calls that can fail return tcudb_status and fill *err
 * (which may be NULL); damaged bytes are an error (SQLSTATE XX001), never a crash. A tcudb_lists may be read by several
 * threads at once; a writer and a tcudb_gpu_lists belong to one thread at a time. Numbers of lists and blocks start at
 * 0.
 */
#ifndef TCUDB_CODEC_H
#define TCUDB_CODEC_H

#include "tcudb.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tcudb_lists tcudb_lists;
typedef struct tcudb_lists_writer tcudb_lists_writer;
typedef struct tcudb_gpu_lists tcudb_gpu_lists;

/* Properties of a set. */
enum {
    TCUDB_LISTS_WIDE = 1,     /* values are uint64_t; else uint32_t */
    TCUDB_LISTS_ASCENDING = 2 /* every list ascends strictly */
};
/* Which codecs a writer may use: the smallest wins, block by block. */
typedef enum tcudb_list_codec { TCUDB_CODEC_BEST = 0, TCUDB_CODEC_PFOR = 1, TCUDB_CODEC_VSE = 2 } tcudb_list_codec;
/* Files that lists come from. */
typedef enum tcudb_list_source {
    TCUDB_FROM_API = 0,
    TCUDB_FROM_SEQUENCES = 1, /* 32-bit words: a length, its values, again and again (ds2i, PISA) */
    TCUDB_FROM_U32 = 2,       /* one column of little-endian words */
    TCUDB_FROM_U64 = 3,
    TCUDB_FROM_TEXT = 4 /* one unsigned decimal number a line */
} tcudb_list_source;

/* Releases bytes and numbers that a call of this header handed out. NULL is allowed. */
TCUDB_API void tcudb_lists_free(void *memory);

/* ---- writing ---- */

TCUDB_API tcudb_status tcudb_lists_writer_new(int flags, tcudb_list_codec codec, tcudb_lists_writer **writer,
                                              tcudb_error *err);
/* Appends a list of n values: uint32_t, or uint64_t in a wide set. After an error only closing is left. */
TCUDB_API tcudb_status tcudb_lists_writer_add(tcudb_lists_writer *writer, const void *values, uint64_t n,
                                              tcudb_error *err);
/* The finished set; *bytes is released with tcudb_lists_free. The writer can only be closed afterwards. */
TCUDB_API tcudb_status tcudb_lists_writer_finish(tcudb_lists_writer *writer, void **bytes, size_t *size,
                                                 tcudb_error *err);
TCUDB_API void tcudb_lists_writer_close(tcudb_lists_writer *writer);

/* A whole file to a set and back to the very same bytes. */
TCUDB_API tcudb_status tcudb_lists_encode_file(const void *file, size_t file_size, tcudb_list_source source,
                                               tcudb_list_codec codec, void **bytes, size_t *size, tcudb_error *err);
TCUDB_API tcudb_status tcudb_lists_decode_file(const tcudb_lists *lists, void **file, size_t *file_size,
                                               tcudb_error *err);

/* ---- reading ---- */

/* The bytes must stay unchanged while the set is open. verify: 1 checks every block's checksum now. */
TCUDB_API tcudb_status tcudb_lists_open(const void *bytes, size_t size, int verify, tcudb_lists **lists,
                                        tcudb_error *err);
TCUDB_API void tcudb_lists_close(tcudb_lists *lists);
/* Checks everything, by decoding all of it. */
TCUDB_API tcudb_status tcudb_lists_verify(const tcudb_lists *lists, tcudb_error *err);

typedef struct tcudb_lists_info {
    int flags;
    tcudb_list_source source;
    uint64_t lists, values, blocks;
    uint64_t largest;         /* value */
    uint64_t bytes;           /* of the set */
    uint64_t block_bytes;     /* of that: headers and payloads of blocks */
    uint64_t skip_bytes;      /* last values, offsets and checksums */
    uint64_t directory_bytes; /* lengths, and the lists of fewer than 128 values */
} tcudb_lists_info;
TCUDB_API void tcudb_lists_describe(const tcudb_lists *lists, tcudb_lists_info *info);
/* 0 for a list that does not exist. */
TCUDB_API uint64_t tcudb_lists_length(const tcudb_lists *lists, uint64_t list);
TCUDB_API uint64_t tcudb_lists_blocks(const tcudb_lists *lists, uint64_t list);
/* The list's values into out, which has room for tcudb_lists_length of them. */
TCUDB_API tcudb_status tcudb_lists_decode(const tcudb_lists *lists, uint64_t list, void *out, tcudb_error *err);

/* What a block looks like inside. */
typedef struct tcudb_list_block {
    const char *scheme; /* "raw", "constant", "pfor", "vse", "pair" */
    uint32_t n;
    uint32_t bytes;             /* header included */
    uint32_t width;             /* pfor: bits of a slot; vse: of the widest bunch */
    uint32_t exceptions;        /* pfor */
    uint32_t exception_bits;    /* pfor: of the part beyond the slot */
    uint32_t bunches;           /* vse */
    uint32_t bunch_lengths[65]; /* vse: bunches of each length */
    uint32_t bunch_widths[33];  /* vse: values of each width */
    uint64_t last;              /* the last value; lists that do not ascend: the largest */
    int intact;                 /* the checksum matches */
} tcudb_list_block;
TCUDB_API tcudb_status tcudb_lists_block(const tcudb_lists *lists, uint64_t list, uint64_t block, tcudb_list_block *out,
                                         tcudb_error *err);

/* ---- operations on ascending lists ---- */

typedef struct tcudb_list_query {
    const uint64_t *lists;   /* numbers in all of these (any: in at least one) */
    const uint64_t *without; /* and in none of these */
    uint32_t nlists, nwithout;
    int any;
} tcudb_list_query;

/* The numbers, ascending: uint32_t, or uint64_t in a wide set. *numbers is released with tcudb_lists_free. */
TCUDB_API tcudb_status tcudb_lists_search(const tcudb_lists *lists, const tcudb_list_query *query, void **numbers,
                                          uint64_t *n, tcudb_error *err);
typedef struct tcudb_list_hit {
    uint64_t number;
    uint32_t score; /* at most 2^32 - 2 */
} tcudb_list_hit;
/* The k numbers with the largest sums of frequencies, best first, equal ones ascending. frequencies is a set parallel
 * to lists: the same lists with the same lengths, of 32-bit values. *n gets how many hits there are. */
TCUDB_API tcudb_status tcudb_lists_top(const tcudb_lists *lists, const tcudb_lists *frequencies,
                                       const tcudb_list_query *query, uint32_t k, tcudb_list_hit *hits, uint32_t *n,
                                       tcudb_error *err);

/* ---- on a GPU ---- */

/* Uploads a set of lists, and frequencies if not NULL; both must stay open. 0A000 says why there is no GPU. */
TCUDB_API tcudb_status tcudb_gpu_lists_open(const tcudb_lists *lists, const tcudb_lists *frequencies,
                                            tcudb_gpu_lists **gpu, tcudb_error *err);
TCUDB_API void tcudb_gpu_lists_close(tcudb_gpu_lists *gpu);
/* Many queries at once. numbers[i] and n[i] as tcudb_lists_search gives them. */
TCUDB_API tcudb_status tcudb_gpu_lists_search(tcudb_gpu_lists *gpu, const tcudb_list_query *queries, uint32_t nqueries,
                                              void **numbers, uint64_t *n, tcudb_error *err);
/* hits: k a query; n[i] how many of them are filled. */
TCUDB_API tcudb_status tcudb_gpu_lists_top(tcudb_gpu_lists *gpu, const tcudb_list_query *queries, uint32_t nqueries,
                                           uint32_t k, tcudb_list_hit *hits, uint32_t *n, tcudb_error *err);
/* Decodes all blocks `rounds` times on the GPU and gives the seconds of the fastest round; ascending sets: values, with
 * their prefix sums. written: 1 to memory, 0 consumed without output. */
TCUDB_API tcudb_status tcudb_gpu_lists_time(tcudb_gpu_lists *gpu, int written, uint32_t rounds, double *seconds,
                                            tcudb_error *err);

/* ---- cost ---- */

/* Predicted seconds to decode n values, as the optimiser sees it: T() and G() of the K-model on the GPU (an H200), a
 * measured rate on one CPU core. bunch: mean values a bunch (VSEncoding), bits: payload bits a value,
 * exceptions: their share of the values (PForDelta). */
TCUDB_API double tcudb_codec_predict(tcudb_list_codec codec, int on_gpu, int ascending, int written, uint64_t n,
                                     double bunch, double bits, double exceptions);

#ifdef __cplusplus
}
#endif

#endif
