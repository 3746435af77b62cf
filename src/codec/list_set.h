/*
 * list_set.h: many lists of integers as one run of bytes with skip arrays (doc/format-lists.md).
 *
 * A set is written once and read in place: the bytes may be a mapped file. Lists of 128 values and more
 * are cut into blocks of 1024 that decode on their own; shorter ones lie in the directory. In a set of
 * ascending lists the blocks hold d-gaps, and the last value of a block is the base of the next one.
 */
#ifndef CODEC_LIST_SET_H
#define CODEC_LIST_SET_H

#include "base/str.h"
#include "codec/list_block.h"

enum { LIST_SHORT = 128, LIST_SLACK = 64, LIST_SET_HEAD = 80, LIST_SET_VERSION = 1 };
/* Flags of a set. Bits 8..15: ListSource. */
enum { LIST_WIDE = 1, LIST_ASCENDING = 2, LIST_SOURCE_SHIFT = 8 };
/* What the lists were read from, so that it can be given back. Stored: append only. */
typedef enum ListSource { LIST_FROM_API, LIST_FROM_SEQUENCES, LIST_FROM_U32, LIST_FROM_U64, LIST_FROM_TEXT } ListSource;

typedef struct ListEntry {
    uint64_t n;
    uint64_t at; /* n >= LIST_SHORT: the first block; else where its values begin in the directory */
} ListEntry;

typedef struct ListSet {
    Mem *mem;
    const uint8_t *bytes;
    size_t size;
    uint32_t flags;
    uint64_t lists, values, blocks;
    uint64_t bound;      /* no value is larger */
    uint64_t extra;      /* for the reader of the source */
    const uint8_t *last; /* per block: its last value; not ascending: its largest */
    const uint8_t *ends; /* per block: where it ends in the area, uint64_t */
    const uint8_t *sums; /* per block: CRC32C, uint32_t */
    const uint8_t *directory;
    size_t directory_size;
    const uint8_t *area;
    uint64_t area_size;
    ListEntry *entry;
} ListSet;

/* CRC32C of n bytes, continuing from crc (0 to begin). */
uint32_t list_crc32c(uint32_t crc, const void *bytes, size_t n);

/* Reads the header and the directory and checks them; with `verify` every block's checksum too. The bytes
 * must stay as they are while the set is open. XX001 on damage. */
tcudb_status list_set_open(const void *bytes, size_t size, bool verify, Mem *mem, ListSet *out, Error *err) MUST_CHECK;
void list_set_close(ListSet *set);
/* Decodes everything, and checks what decoding alone does not: sums, order, bounds. */
tcudb_status list_set_verify(const ListSet *set, Error *err) MUST_CHECK;
/* Blocks of a list. */
static inline uint64_t list_blocks(uint64_t n)
{
    return n < LIST_SHORT ? 0 : (n + CODEC_BLOCK - 1) / CODEC_BLOCK;
}
/* A block's bytes, and how many values it must hold. */
const uint8_t *list_set_block(const ListSet *set, uint64_t block, size_t *size);
uint64_t list_set_last(const ListSet *set, uint64_t block);
/* Decodes block b of the list (0 for a short list: all of it): values, not gaps. *n gets their number. Sets
 * of 32-bit values decode into uint32_t, wide ones into uint64_t. */
tcudb_status list_set_decode(const ListSet *set, uint64_t list, uint64_t b, void *out, uint32_t *n,
                             Error *err) MUST_CHECK;
/* The whole list, entry[list].n values. */
tcudb_status list_set_decode_all(const ListSet *set, uint64_t list, void *out, Error *err) MUST_CHECK;

typedef struct ListWriter {
    Mem *mem;
    uint32_t flags;
    uint32_t schemes; /* LIST_USE_... */
    uint64_t lists, values, blocks, bound, extra;
    Buf last, ends, sums, directory, area;
} ListWriter;

void list_writer_init(ListWriter *w, uint32_t flags, uint32_t schemes, Mem *mem);
/* Adds the next list: uint32_t values, or uint64_t in a wide set. 22023 if an ascending set's list does not
 * ascend strictly. After an error the writer can only be freed. */
tcudb_status list_writer_add(ListWriter *w, const void *values, uint64_t n, Error *err) MUST_CHECK;
/* The finished set, appended to out. */
tcudb_status list_writer_finish(ListWriter *w, Buf *out, Error *err) MUST_CHECK;
void list_writer_free(ListWriter *w);

#endif
