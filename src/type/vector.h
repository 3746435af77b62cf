/*
 * vector.h: columns of values in flight, and batches of them.
 *
 * A Batch holds up to BATCH_ROWS rows of every column of a plan node's output. `sel` names the live
 * rows; kernels compute at the live positions only (a division by zero in a filtered row is no error)
 * and leave the others undefined. Vectors do not own their memory: it belongs to the arena or the
 * segment that they were made from, and lives at least until the operator asks for its next batch.
 */
#ifndef TYPE_VECTOR_H
#define TYPE_VECTOR_H

#include "type/type.h"

enum { BATCH_ROWS = 2048 };

/* The distinct values of a text column, in order of first appearance. Append-only: a code, once given,
 * keeps its value. Readers see the first `count` values of their snapshot. Thread-safe for reading. */
typedef struct Dict Dict;

typedef enum VecForm {
    VEC_FLAT,  /* data: one value a row */
    VEC_CONST, /* data: one value for all rows; valid: NULL or one word whose bit 0 counts */
    VEC_DICT   /* text only. data: uint32_t codes; values: the Str of each code */
} VecForm;

typedef struct Vector {
    Type type;
    uint8_t phys;     /* Phys of type */
    uint8_t form;     /* VecForm */
    bool ascii;       /* text: all values are known to be ASCII, so bytes are characters */
    uint32_t nvalues; /* VEC_DICT: number of codes */
    void *data;
    uint64_t *valid;   /* bit i set: row i is not NULL; NULL pointer: no NULLs */
    const Str *values; /* VEC_DICT: the value of each code */
    uint64_t dict_id;  /* VEC_DICT: equal ids mean equal codes mean equal values; 0: private */
} Vector;

typedef struct Batch {
    uint32_t rows;       /* physical rows of the vectors, <= BATCH_ROWS */
    uint32_t n;          /* live rows */
    const uint16_t *sel; /* the live rows, ascending; NULL: rows 0..rows-1, and n == rows */
    uint32_t ncols;
    Vector *cols;
} Batch;

static inline bool vec_is_null(const Vector *v, uint32_t row)
{
    if (v->valid == NULL) return false;
    return !bit_get(v->valid, v->form == VEC_CONST ? 0 : row);
}

/* The i-th live row. */
static inline uint32_t batch_row(const Batch *b, uint32_t i)
{
    return b->sel == NULL ? i : b->sel[i];
}

/* A flat vector with room for `rows` values (no NULLs yet), in the arena. */
tcudb_status vec_new(Arena *arena, Type type, uint32_t rows, Vector *out, Error *err) MUST_CHECK;
/* Gives the vector a validity bitmap with all bits set, if it has none. */
tcudb_status vec_need_valid(Arena *arena, Vector *v, uint32_t rows, Error *err) MUST_CHECK;
/* A constant vector of the value (text is not copied). */
tcudb_status vec_const(Arena *arena, const Value *value, Vector *out, Error *err) MUST_CHECK;
/* The value at a physical row; text points into the vector's memory. */
Value vec_value(const Vector *v, uint32_t row);
/* Turns const and dict vectors into flat ones (flat ones are passed through unchanged). Only the rows in
 * sel (NULL: all of 0..rows-1) are filled. */
tcudb_status vec_flatten(Arena *arena, const Vector *v, const uint16_t *sel, uint32_t n, uint32_t rows, Vector *out,
                         Error *err) MUST_CHECK;
/* Dense copy of the live rows: out->rows == out->n == in->n, sel NULL, memory in the arena (text bytes
 * are copied too if copy_text). */
tcudb_status batch_compact(Arena *arena, const Batch *in, bool copy_text, Batch *out, Error *err) MUST_CHECK;

#endif
