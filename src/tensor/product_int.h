/*
 * product_int.h: the state of one product run, shared by driving (product.c), planning
 * (product_plan.c), operands (product_operands.c)
 * and the row blocks (product_blocks.c).
 */
#ifndef TENSOR_PRODUCT_INT_H
#define TENSOR_PRODUCT_INT_H

#include "tensor/cells.h"

enum { LIGHT = UINT32_MAX, COLUMNS = PRODUCT_MAX + 1 };

typedef enum CountMode {
    COUNT_LIMBS,  /* ONES x ONES in limbs: exact whatever the cells hold */
    COUNT_BITS,   /* popcount: exact for unique cells, else positive where rows meet */
    COUNT_PRESENT /* one side has every cell: rows meet wherever the other side has any */
} CountMode;

/* A value column as a dense operand over the heavy keys: cell + shift >= 0 in limbs. */
typedef struct Operand {
    bool used;
    LimbMatrix limbs;
    CellFacts facts;
    uint64_t shift; /* added to every cell, the empty ones too */
    int128 *sums;   /* a group: sum of its true cells over the heavy keys */
} Operand;

struct ProductRun {
    const ProductSpec *spec;
    Pool *pool;
    Mem *mem;
    const atomic_bool *cancel;
    ProductReport *report;
    Cells left, right;   /* left: rows are groups; right: rows are keys */
    uint32_t *dense_key; /* a key's column in the dense operands, or LIGHT */
    uint32_t heavy;      /* dense columns */
    bool any_light;      /* some key with pairs is light */
    bool wide;
    bool scan_rows; /* sparse form: rows of the output are nearly full */
    CountMode count_mode;
    Operand left_ops[COLUMNS], right_ops[COLUMNS]; /* index: value column + 1; 0 is ONES */
    BitMatrix left_bits, right_bits;
    uint8_t *present; /* COUNT_PRESENT: right groups (or left ones) with any heavy cell */
    bool present_left;
    uint32_t block_rows;  /* left groups a task */
    size_t stride;        /* right groups, padded */
    struct Block *blocks; /* one a worker */
};

static inline uint32_t operand_index(uint32_t column)
{
    return column == ONES ? 0 : column + 1;
}

/* product_plan.c: which keys are dense: run->dense_key, heavy, any_light, from the cells and their facts. */
tcudb_status product_plan(ProductRun *run, Error *err) MUST_CHECK;
/* product_operands.c: fills the dense operands that the products need. */
tcudb_status operands_build(ProductRun *run, Error *err) MUST_CHECK;
void operands_free(ProductRun *run);
/* product_blocks.c: accumulators of the workers, and their release; returns the rows they emitted. */
tcudb_status blocks_new(ProductRun *run, Error *err) MUST_CHECK;
uint64_t blocks_free(ProductRun *run);

#endif
