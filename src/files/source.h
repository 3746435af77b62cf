/*
 * source.h: a stream of UTF-8 bytes from a file or a caller's stream.
 */
#ifndef FILES_SOURCE_H
#define FILES_SOURCE_H

#include "base/cancel.h"
#include "base/str.h"

typedef enum Encoding {
    ENCODING_UTF8,
    ENCODING_LATIN1,
    ENCODING_WINDOWS1252,
    ENCODING_UTF16LE,
    ENCODING_UTF16BE
} Encoding;

typedef tcudb_status (*SourceRead)(void *ctx, char *buffer, size_t size, size_t *got, Error *err);

typedef struct Source Source;

/* Who opens a file often (to guess its format, in each execution) cannot take pipes. */
typedef enum SourceReads { READS_ONCE, READS_OFTEN } SourceReads;

/* "for reading" errors as PostgreSQL words them; a directory is 42809, as is a pipe that is to be read often. .gz and
 * .zst files are expanded, by their first bytes, not their name. Waiting for a pipe ends when *cancel (may be NULL). */
tcudb_status source_open_file(const char *path, SourceReads reads, const atomic_bool *cancel, Mem *mem, Source **out,
                              Error *err) MUST_CHECK;
tcudb_status source_open_stream(SourceRead read, void *ctx, Mem *mem, Source **out, Error *err) MUST_CHECK;
/* How to turn the bytes into UTF-8; before the first read. UTF-8 itself is passed through unchecked. */
void source_set_encoding(Source *source, Encoding encoding);
/* Fills at most `size` bytes (size >= 4); *got 0: the end. Other encodings are converted: unpaired surrogates
 * and half characters give 22021. */
tcudb_status source_read(Source *source, char *buffer, size_t size, size_t *got, Error *err) MUST_CHECK;
/* Bytes of the file and bytes read of it so far (both before expansion); 0: not a regular file. */
uint64_t source_size(const Source *source);
uint64_t source_done(const Source *source);
bool source_compressed(const Source *source);
void source_close(Source *source);

/* Names as users write them ("utf-8", "UTF8", "latin1", "iso-8859-1", "win1252", "utf-16", ...); false: none. */
bool encoding_from_name(Str name, Encoding *out);
const char *encoding_name(Encoding encoding);
/* Appends the 1 to 4 bytes of a code point; returns how many. */
uint32_t utf8_put(uint32_t code, char out[4]);

#endif
