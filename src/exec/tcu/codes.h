/*
 * codes.h: dense codes 0..count-1 for tuples of columns of kept rows: matrix indices for contractions.
 */
#ifndef EXEC_TCU_CODES_H
#define EXEC_TCU_CODES_H

#include "exec/exec_int.h"

enum { CODE_NONE = UINT32_MAX }; /* a key with a NULL in it: matches nothing */

typedef struct GroupCodes {
    uint32_t *codes; /* one a row */
    uint32_t count;
    uint32_t *rows; /* count: a row that has the code */
} GroupCodes;

/* Equal tuples, NULL equal to NULL, get equal codes; every code is used. Single columns of integers and
 * dictionary text keep their order (of values, of dictionary codes). ncols 0: one code. */
tcudb_status codes_groups(Exec *x, const Rows *rows, const uint32_t *cols, uint32_t ncols, GroupCodes *out,
                          Error *err) MUST_CHECK;

typedef struct KeyCodes {
    uint32_t *codes[2]; /* one a row of each side; CODE_NONE */
    uint32_t count;     /* codes are below it; some may be unused */
} KeyCodes;

/* Codes that agree between two sides: cols[s][i] of sides[s] is the i-th key. */
tcudb_status codes_keys(Exec *x, const Rows *const sides[2], const uint32_t *const cols[2], uint32_t ncols,
                        KeyCodes *out, Error *err) MUST_CHECK;

#endif
