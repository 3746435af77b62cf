/*
 * cut.h: cuts a source into blocks of whole records, for workers to parse in parallel.
 */
#ifndef FILES_CUT_H
#define FILES_CUT_H

#include "files/scan.h"
#include "files/source.h"

/* A run of whole records. The data has SCAN_PADDING readable bytes after len. Reused from block to block. */
typedef struct Block {
    Mem *mem;
    char *data;
    size_t len;
    size_t cap;
    uint64_t number; /* 0, 1, ... in the order of the source */
    uint64_t line;   /* physical line (from 1) of its first byte */
    uint64_t offset; /* of its first byte in the source's UTF-8 text */
} Block;

typedef struct Cutter {
    Source *source;
    const atomic_bool *cancel; /* may be NULL */
    Dialect dialect;
    uint64_t max_rows; /* a block ends after so many records */
    size_t max_bytes;  /* ... or with the first record that ends beyond so many bytes */
    size_t max_record; /* a longer record is an error (54000); 0: any */
    size_t read_step;  /* bytes read and scanned at once: stays in the cache */
    bool stop_marker;  /* a record \. ends the data (COPY) */
    bool ended;
    uint64_t number, line, offset;
    Block rest; /* read but not handed out */
} Cutter;

void block_init(Block *block, Mem *mem);
void block_free(Block *block);
/* The source stays the caller's. */
void cutter_init(Cutter *cutter, Source *source, const atomic_bool *cancel, Mem *mem);
void cutter_free(Cutter *cutter);
/* Before the first block: drops a byte order mark, if there is one, and then so many physical lines. */
tcudb_status cutter_skip(Cutter *cutter, bool bom, uint64_t lines, Error *err) MUST_CHECK;
/* Fills block with the next records; *more false: there are none left. If the dialect's eol is unknown, the
 * first line end decides it. Not thread-safe: callers take turns. */
tcudb_status cutter_next(Cutter *cutter, Block *block, bool *more, Error *err) MUST_CHECK;

#endif
