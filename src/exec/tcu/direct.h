/*
 * direct.h: codes computed from values at once, where the exact bounds of every column say how.
 *
 * A tuple of columns is a mixed-radix number: an integer's digit is value - min, a text's its dictionary code, NULL
 * in a group the last digit. So rows are encoded as they arrive and decoded by division; nothing but codes is kept.
 */
#ifndef EXEC_TCU_DIRECT_H
#define EXEC_TCU_DIRECT_H

#include "exec/exec_int.h"

enum { DIRECT_COLUMNS = 8, DIRECT_NONE = UINT32_MAX };

typedef struct DirectCol {
    Type type;
    bool dict;
    const Table *table;
    uint32_t column;
    DictView view;
    const uint32_t *map; /* keys of the right side: dictionary code -> digit; NULL: the code is the digit */
    int64_t min;
    uint64_t domain; /* digits, NULL's included */
    bool null_digit; /* groups; a NULL key makes the whole code DIRECT_NONE */
} DirectCol;

typedef struct DirectTuple {
    DirectCol cols[DIRECT_COLUMNS];
    uint32_t n;
    uint64_t domain; /* codes are below it */
} DirectTuple;

/* false: some column has no usable bounds, or the codes would exceed `limit`. */
tcudb_status direct_groups(Exec *x, Expr *const *exprs, uint32_t n, uint64_t limit, DirectTuple *out, bool *ok,
                           Error *err) MUST_CHECK;
/* Both sides of the keys, with agreeing codes. */
tcudb_status direct_keys(Exec *x, Expr *const *left, Expr *const *right, uint32_t n, uint64_t limit, DirectTuple out[2],
                         bool *ok, Error *err) MUST_CHECK;
/* The codes of the batch's live rows; cols are the evaluated columns of the tuple. */
tcudb_status direct_encode(const DirectTuple *tuple, Worker *w, const Vector *cols, const Batch *batch, uint32_t *codes,
                           Error *err) MUST_CHECK;
/* Whether some code is DIRECT_NONE. */
bool direct_any_none(const uint32_t *codes, uint32_t n);
/* Column i of the tuples with these codes, as a vector of n rows. */
tcudb_status direct_decode(const DirectTuple *tuple, uint32_t i, const uint32_t *codes, uint32_t n, Arena *arena,
                           Vector *out, Error *err) MUST_CHECK;

#endif
