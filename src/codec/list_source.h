/*
 * list_source.h: files of integers to list sets, and back to the very bytes.
 */
#ifndef CODEC_LIST_SOURCE_H
#define CODEC_LIST_SOURCE_H

#include "codec/list_set.h"

/* Encodes a whole file, appended to out. 22P04 says where and why a file is not of its kind. Lists that all ascend
 * strictly are stored as gaps. */
tcudb_status list_source_encode(const void *bytes, size_t size, ListSource source, uint32_t schemes, Mem *mem, Buf *out,
                                Error *err) MUST_CHECK;
/* Appends the file that the set was made from; a set made through the interface comes back as sequences of words, or if
 * it is wide as 64-bit words. */
tcudb_status list_source_decode(const ListSet *set, Buf *out, Error *err) MUST_CHECK;
/* "sequences", "u32", "u64", "text", "api" */
const char *list_source_name(uint32_t source);

#endif
