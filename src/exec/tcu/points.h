/*
 * points.h: the distinct (key, value) pairs of one side of a comparison, numbered in their order.
 */
#ifndef EXEC_TCU_POINTS_H
#define EXEC_TCU_POINTS_H

#include "exec/exec_int.h"
#include "tensor/product.h"

typedef struct Points {
    uint32_t n;
    uint32_t keys;
    uint32_t *starts; /* keys + 1: the number of a key's first point */
    int64_t *values;  /* by number; not with a bitmap */
    uint64_t *words;  /* bitmap: bit key x span + value - min; NULL: none */
    uint32_t *before; /* points in the words before each */
    int64_t min;
    uint64_t span;
} Points;

/* Of the runs' values of this column; keys: key codes are below it. */
tcudb_status points_new(Exec *x, const SideRun *runs, uint32_t nruns, uint32_t column, uint32_t keys, Points *out,
                        Error *err) MUST_CHECK;
/* How many points lie before (key, value): the number of that point if it is one. */
uint32_t points_before(const Points *p, uint32_t key, int64_t value);
/* The same, a point of that very value counted too. */
static inline uint32_t points_until(const Points *p, uint32_t key, int64_t value)
{
    return value == INT64_MAX ? p->starts[key + 1] : points_before(p, key, value + 1);
}
void points_free(Exec *x, Points *p);

#endif
