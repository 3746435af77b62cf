/*
 * print_int.h: what the printers of physical plans share.
 */
#ifndef PHYS_PRINT_INT_H
#define PHYS_PRINT_INT_H

#include "phys/phys.h"

/* Indents a line by the node's depth and more. */
typedef tcudb_status (*PrintIndent)(const void *ctx, uint32_t more, Error *err);

tcudb_status print_candidates_text(const PhysNode *node, bool analyze, Buf *buf, PrintIndent indent, const void *ctx,
                                   Error *err) MUST_CHECK;
/* Members of the node's object, each after a comma. */
tcudb_status print_candidates_json(const PhysNode *node, bool analyze, Buf *buf, PrintIndent indent, const void *ctx,
                                   Error *err) MUST_CHECK;

#endif
