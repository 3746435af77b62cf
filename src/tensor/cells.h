/*
 * cells.h: a bag of (group, key, values) rows as a sparse matrix with one cell a (row, column) pair.
 */
#ifndef TENSOR_CELLS_H
#define TENSOR_CELLS_H

#include "tensor/product.h"

/* Compressed rows; a column occurs at most once a row, in no order. */
typedef struct Cells {
    Mem *mem;
    uint32_t rows, columns;
    uint64_t n;       /* cells */
    uint64_t *starts; /* rows + 1 */
    uint32_t *ids;    /* column of each cell */
    uint32_t *counts; /* rows of the bag in each cell */
    uint32_t nvalues;
    int64_t *values[PRODUCT_MAX]; /* sums over the cell's rows */
    bool unique;                  /* every count is 1 */
    uint64_t capacity;            /* rows of the bag: the length of the arrays */
} Cells;

/* Rows are the side's groups (by_key: its keys), columns the other. XX000 if a cell's sum or count does not
 * fit. Free with cells_free, also after an error. */
tcudb_status cells_build(const Side *side, uint32_t keys, bool by_key, Pool *pool, Mem *mem, const atomic_bool *cancel,
                         Cells *out, Error *err) MUST_CHECK;
/* cells_grid.c: the same where rows are many and cells few; *done: they are. Rows, columns and values are set. */
tcudb_status cells_grid(const Side *side, bool by_key, Pool *pool, Mem *mem, const atomic_bool *cancel, Cells *cells,
                        bool *done, Error *err) MUST_CHECK;
/* The most that it takes at once, the cells included; infinite: it does not do. */
double cells_grid_bytes(double rows, double area, uint32_t nvalues, uint32_t workers);
/* Arrays for the capacity. */
tcudb_status cells_alloc(Cells *cells, Error *err) MUST_CHECK;
void cells_free(Cells *cells);
/* The same cells by column, in each of them ascending by row; places[c]: where cell c has gone. */
tcudb_status cells_transpose(const Cells *cells, Pool *pool, Mem *mem, const atomic_bool *cancel, Cells *out,
                             uint64_t *places, Error *err) MUST_CHECK;

/* Facts about one value column (ONES: the counts): the smallest and largest cell, and the largest sum of
 * absolute values of a row. */
typedef struct CellFacts {
    int64_t min, max;
    double row_weight;
} CellFacts;
/* Of cells [from, to): the weight of those that end the row before, of those of the last row begun here; whole: all of
 * them are the former. */
typedef struct RowEdges {
    double head, tail;
    bool whole;
} RowEdges;
CellFacts cells_facts(const Cells *cells, uint32_t column, uint64_t from, uint64_t to, RowEdges *edges);
/* The row of a cell that there is. */
uint32_t cells_row(const Cells *cells, uint64_t cell);
void cells_facts_merge(CellFacts *into, CellFacts other);

static inline int64_t cells_value(const Cells *cells, uint32_t column, uint64_t cell)
{
    return column == ONES ? cells->counts[cell] : cells->values[column][cell];
}

#endif
