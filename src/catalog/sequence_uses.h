/*
 * sequence_uses.h: where the text of a default names a sequence.
 */
#ifndef CATALOG_SEQUENCE_USES_H
#define CATALOG_SEQUENCE_USES_H

#include "base/mem.h"
#include "base/str.h"

/* The next literal, with its quotes, in nextval('s'), currval('s'), setval('s', 1) from *at on, which moves behind it;
 * false: there is none. */
bool sequence_uses_next(Str sql, size_t *at, Str *literal);
/* The literal that means the sequence of that name, as defaults have it. */
tcudb_status sequence_uses_literal(Arena *arena, Str name, Str *out, Error *err) MUST_CHECK;

#endif
