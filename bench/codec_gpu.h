/*
 * codec_gpu.h: pools of list blocks for the GPU check and benchmark, with the answers the CPU gives.
 */
#ifndef BENCH_CODEC_GPU_H
#define BENCH_CODEC_GPU_H

#include "codec/list_gpu.h"

typedef struct Pool1 {
    ListImage image;
    uint32_t blocks;
    Buf gaps, values; /* 1024 a block, those past n are 0xa5a5a5a5 */
    Buf sums, counts; /* a word a block */
    uint32_t limit;   /* of counts */
    uint32_t base;    /* of the next block */
    uint64_t bunches, stored, exceptions;
    double bits; /* a value, entries included */
} Pool1;

void pool_begin(Pool1 *p, uint32_t limit);
void pool_end(Pool1 *p);
/* Appends a coded block of these n gaps. */
tcudb_status pool_add(Pool1 *p, const uint8_t *block, size_t size, const uint32_t *gaps, uint32_t n,
                      Error *err) MUST_CHECK;
/* Random blocks: slots of `width` bits with a share of exceptions; bunches of mean length and width. */
tcudb_status pool_pfor(Pool1 *p, uint32_t blocks, uint32_t width, double exceptions, Error *err) MUST_CHECK;
tcudb_status pool_vse(Pool1 *p, uint32_t blocks, uint32_t length, uint32_t width, Error *err) MUST_CHECK;
/* Lists of 128 and more values of a ds2i file, as the encoder makes them; narrow: only blocks of widths up to 16. */
tcudb_status pool_lists(Pool1 *p, const char *path, uint32_t blocks, uint32_t schemes, bool narrow,
                        Error *err) MUST_CHECK;
/* Every shape, size and scheme. */
tcudb_status pool_all_kinds(Pool1 *p, Error *err) MUST_CHECK;
uint64_t pool_random(void);
/* Lists of 64-bit values; `rounds` of damage. */
tcudb_status wide_check(Device *dev, uint32_t rounds, uint32_t *failures, Error *err) MUST_CHECK;
tcudb_status wide_bench(Device *dev, Error *err) MUST_CHECK;
/* Operations, GPU against CPU: on lists made here, with `rounds` of damage; on a ds2i index, timed; freqs may be NULL.
 */
tcudb_status ops_check(Device *dev, uint32_t queries, uint32_t rounds, uint32_t *failures, Error *err) MUST_CHECK;
tcudb_status ops_bench(Device *dev, const char *docs, const char *freqs, uint32_t *failures, Error *err) MUST_CHECK;

#endif
