/*
 * dense.h: grouping by an array over the product of the keys' domains.
 */
#ifndef EXEC_DENSE_H
#define EXEC_DENSE_H

#include "exec/agg.h"

typedef struct Dense Dense;

/* *out stays NULL where the domains are unknown or too large, or an aggregate depends on order or is DISTINCT:
 * then group.c does it. Without group keys the array has one entry. */
tcudb_status dense_new(Exec *x, PhysNode *node, const Layout *in, AggSpec *aggs, uint32_t naggs, Dense **out,
                       Error *err) MUST_CHECK;
Stage *dense_stage(Dense *d);
/* Merges the workers' arrays and pushes the groups that have rows, in the order of their keys (NULL last). */
tcudb_status dense_output(Dense *d, Stage *down, Error *err) MUST_CHECK;

#endif
