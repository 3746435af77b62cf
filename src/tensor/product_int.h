/*
 * product_int.h: the state of one product run, shared by driving (product.c), parts and chunks (product_parts.c,
 * product_chunks.c), planning (product_plan.c), operands (product_operands.c), blocks of rows (product_blocks.c,
 * product_sparse.c, product_giants.c) over lines of accumulators (product_lines.c) and their output (product_emit.c).
 */
#ifndef TENSOR_PRODUCT_INT_H
#define TENSOR_PRODUCT_INT_H

#include "tensor/cells.h"

enum {
    LIGHT = UINT32_MAX,
    COLUMNS = PRODUCT_MAX + 1,
    EMIT_ROWS = 2048, /* of a call of the sink */
    SCAN_PAIRS = 2    /* pairs a cell from which on a line is scanned */
};

typedef enum CountMode {
    COUNT_LIMBS,  /* ONES x ONES in limbs: exact whatever the cells hold */
    COUNT_BITS,   /* popcount: exact for unique cells, else positive where rows meet */
    COUNT_PRESENT /* the groups of one side have every cell or none: rows meet wherever both sides have any */
} CountMode;

/* A value column as a dense operand over the heavy keys: as doubles, or cell + shift >= 0 in limbs, or both. */
typedef struct Operand {
    bool in_limbs, in_doubles;
    LimbMatrix limbs;
    DoubleMatrix doubles;
    CellFacts facts;
    uint64_t shift; /* added to every cell, the empty ones too */
    int128 *sums;   /* a group: sum of its true cells over the heavy keys */
    float *rounded; /* product_fast.c: every cell / 2^scale in FP16 */
    uint64_t nrounded;
    int scale;
} Operand;

/* Accumulators: lines of run->stride columns, for the counts and each product. */
typedef struct Lines {
    uint64_t *counts;
    void *sums[PRODUCT_MAX];
} Lines;

/* What one worker multiplies in and emits from. */
typedef struct Block {
    Lines lines;          /* block_rows of them (one without heavy keys); where all lines stand: none */
    uint32_t *ids, *kept; /* columns that exist; those of them that HAVING keeps */
    uint32_t n;           /* rows waiting for the sink */
    uint32_t *out_left, *out_right;
    uint64_t *out_counts, *out_cells; /* out_cells: fold */
    void *out_sums[PRODUCT_MAX];
    uint64_t emitted;
} Block;

/* The groups that are multiplied at a time: product_parts.c. */
typedef struct Parts {
    ProductSpec spec; /* of the part at hand */
    bool cut;         /* there are several, or may be */
    bool begun;
    bool symmetric;        /* of all groups at once, and every product by itself */
    size_t budget;         /* bytes that mem's limit left at the start */
    uint32_t *rows[2];     /* cut: of each group */
    uint64_t most_rows[2]; /* of a part, if it has several groups */
    uint32_t most_left;    /* groups */
    uint32_t next[2];      /* the first group of the next part */
    uint64_t emitted;      /* rows, of the parts before */
    ProductReport before;  /* of the parts before */
} Parts;

/* Dense work: some left groups, right panels and dense keys. */
typedef struct Unit {
    uint32_t first, rows;
    uint32_t from_panel, to_panel; /* of LIMB_ROWS_B right groups */
    uint32_t from_key, to_key;
} Unit;

/* How the dense work on standing lines is cut into units; keys: each stretch of them into lines of its own. */
typedef struct Spread {
    uint32_t rows, panels, keys;    /* of a unit */
    uint32_t nrows, npanels, nkeys; /* units along each side */
} Spread;

/* Left groups whose light pairs are so many that all cores added them up before the first task. */
typedef struct Giants {
    uint32_t n;
    uint32_t *groups; /* ascending */
    Lines lines;      /* one each */
} Giants;

/* A task that is no plain block of rows: columns or cells of one. */
typedef enum TaskKind { TASK_ROWS, TASK_COLUMNS, TASK_CELLS } TaskKind;
typedef struct Task {
    TaskKind kind;
    uint32_t first, rows; /* left groups */
    uint64_t from, to;    /* TASK_COLUMNS: of the giant's line; TASK_CELLS: of the only key's right cells */
} Task;

/* Where a task's rows go. */
typedef struct BlockOutput {
    ProductSink sink;
    void *ctx;
    uint32_t worker;
    uint64_t task;
} BlockOutput;

struct ProductRun {
    const ProductSpec *whole; /* the caller's */
    const ProductSpec *spec;  /* of the part at hand: parts.spec */
    Parts parts;
    Pool *pool;
    Mem *mem;
    const atomic_bool *cancel;
    ProductReport *report;
    uint64_t *places;    /* symmetric: of each left cell, its own place in the right cells; else NULL */
    Cells left, right;   /* left: rows are groups; right: rows are keys */
    uint32_t *dense_key; /* a key's column in the dense operands, or LIGHT */
    uint32_t heavy;      /* dense columns */
    size_t memory;       /* that dense operands and the sums of chunks may take; 0: any */
    uint32_t chunk;      /* heavy keys multiplied at a time, into `all`; 0: all of them, a block at a time */
    uint32_t most_left;  /* left groups that the chunks' sums leave room for, where there are more; else 0 */
    bool standing;       /* the lines of every left group stand, and are full before the first task: `all` */
    Spread spread;       /* standing: how they are filled */
    Lines all;
    uint32_t pieces;    /* standing: tasks a line, or else */
    uint32_t emit_rows; /* lines a task */
    Giants giants;
    Task *tasks; /* where they are not all alike; else NULL */
    uint64_t ntasks;
    bool any_light; /* some key with pairs is light */
    bool wide;
    bool in_doubles[PRODUCT_MAX]; /* dense products in double precision: product_proof.c */
    uint32_t nhaving;             /* bounds in force: of the spec's, or none */
    bool tests;                   /* those, or the bound of a top */
    CountMode count_mode;
    Operand left_ops[COLUMNS], right_ops[COLUMNS]; /* index: value column + 1; 0 is ONES */
    BitMatrix left_bits, right_bits;
    uint8_t *left_present, *right_present; /* COUNT_PRESENT: groups with any heavy cell; NULL: all */
    uint32_t block_rows;                   /* left groups a task */
    size_t stride;                         /* right groups, padded */
    Block *blocks;                         /* one a worker */
    struct FastLine *fast;                 /* one a worker */
};

/* The right cells that left cell e, of this key, is multiplied by: of a symmetric product those from its own on. */
static inline uint64_t pairs_from(const ProductRun *run, uint64_t e)
{
    return run->places != NULL ? run->places[e] : run->right.starts[run->left.ids[e]];
}

static inline size_t sum_size(const ProductRun *run)
{
    return run->wide ? sizeof(int128) : sizeof(int64_t);
}

/* Of a dense row of accumulators: its cells, and their bytes. */
static inline size_t padded_columns(const ProductRun *run)
{
    return ((size_t)run->spec->right.groups + LIMB_ROWS_B - 1) / LIMB_ROWS_B * LIMB_ROWS_B;
}

static inline size_t row_bytes(const ProductRun *run)
{
    return padded_columns(run) * (sizeof(uint64_t) + run->spec->nproducts * sum_size(run));
}

/* Of a worker's rows on their way to the sink, if their sums are narrow. */
static inline size_t out_bytes(const ProductSpec *spec)
{
    size_t groups = 4 * sizeof(uint32_t), counts = (1 + spec->fold) * sizeof(uint64_t);
    return EMIT_ROWS * (groups + counts + spec->nproducts * (spec->fold ? sizeof(int128) : sizeof(int64_t)));
}

/* Of a sum of the output's rows. */
static inline size_t out_size(const ProductRun *run)
{
    return run->spec->fold ? sizeof(int128) : sum_size(run);
}

static inline uint32_t operand_index(uint32_t column)
{
    return column == ONES ? 0 : column + 1;
}

/* product_proof.c: the facts of the columns in use, from the cells. */
bool product_uses(const ProductRun *run, bool left, uint32_t column);
tcudb_status product_facts(ProductRun *run, Error *err) MUST_CHECK;
/* From them the width of the sums, and which products are exact, and cheaper, in doubles. XX000: a sum may need more
 * than 127 bits. */
tcudb_status product_prove(ProductRun *run, Error *err) MUST_CHECK;
/* The largest that a sum of product p can be; whether it would go in doubles if it were below 2^53. */
double product_bound(const ProductRun *run, uint32_t p);
bool product_likes_doubles(const ProductRun *run, uint32_t p);
/* What product p costs in the dense form, in passes of 8-bit limbs. */
double product_passes(const ProductRun *run, uint32_t p);
uint32_t facts_limbs(CellFacts facts);
/* product_parts.c: decides on parts; each of them in turn, new_right: its right groups are not those of the one before;
 * and the part at hand with fewer left groups. 53200: two groups are too much. */
tcudb_status parts_plan(ProductRun *run, Error *err) MUST_CHECK;
tcudb_status parts_next(ProductRun *run, bool *more, bool *new_right, Error *err) MUST_CHECK;
tcudb_status parts_shrink(ProductRun *run, uint32_t most_left, bool *new_right, Error *err) MUST_CHECK;
void parts_free(ProductRun *run);
/* product_chunks.c: whether the lines of all left groups stand, and how they are filled; the dense keys, chunk by
 * chunk, into run->all. */
void chunks_plan(ProductRun *run);
/* filled: the operands of all keys stand already. */
tcudb_status chunks_multiply(ProductRun *run, bool filled, Error *err) MUST_CHECK;
/* The light keys too. */
tcudb_status chunks_add_light(ProductRun *run, Error *err) MUST_CHECK;
void chunks_free(ProductRun *run);
/* product_giants.c: left groups whose light pairs all cores add up, and where these are put out. */
tcudb_status giants_build(ProductRun *run, Error *err) MUST_CHECK;
/* The giant's line; -1: the group is none. */
int64_t giants_line(const ProductRun *run, uint32_t group);
void giants_free(ProductRun *run);
/* product_plan.c: which keys are dense: run->dense_key, heavy, any_light, from the cells and their facts. */
tcudb_status product_plan(ProductRun *run, Error *err) MUST_CHECK;
/* Bytes of the dense form. bits: counts are. */
double product_operand_bytes(const ProductRun *run, uint32_t heavy, bool bits);
/* What the dense form of all heavy keys costs, and the sparse form; the shape goes to the report. */
void product_compare(ProductRun *run, uint64_t pairs, double *dense, double *sparse);
/* product_operands.c: fills the dense operands that the products need, from the cells. */
tcudb_status operands_build(ProductRun *run, Error *err) MUST_CHECK;
/* Its steps for other fillers: makes the products' operands, not cleared; sums what they hold. */
tcudb_status operands_new(ProductRun *run, Error *err) MUST_CHECK;
tcudb_status operands_finish(ProductRun *run, Error *err) MUST_CHECK;
/* product_full.c: does all of this for sides that nearly fill their matrices, without cells; *done: they do. */
tcudb_status full_build(ProductRun *run, bool *done, Error *err) MUST_CHECK;
void operands_free(ProductRun *run);
/* product_blocks.c: accumulators of the workers, and their release; returns the rows they emitted. */
tcudb_status blocks_new(ProductRun *run, Error *err) MUST_CHECK;
uint64_t blocks_free(ProductRun *run);
/* Sets the lines of a unit's rows, or, where lines stand, adds to them. */
void blocks_add(ProductRun *run, const Unit *unit, const Lines *lines);
/* One group's light keys added to the line at `at`. */
void light_add(ProductRun *run, const Lines *lines, uint32_t group, size_t at);
/* product_lines.c: zeroed lines; columns [first, last) of a line added to another's, or zeroed. */
tcudb_status lines_new(ProductRun *run, size_t lines, Lines *out, Error *err) MUST_CHECK;
void lines_free(ProductRun *run, size_t lines, Lines *out);
/* The lines from `line` on. */
Lines lines_at(const ProductRun *run, const Lines *lines, size_t line);
void lines_add(const ProductRun *run, const Lines *from, const Lines *to, uint32_t first, uint32_t last);
void lines_clear(const ProductRun *run, const Lines *lines, uint32_t first, uint32_t last);
/* product_sparse.c: rows without heavy keys; the light ones among left cells [from, to) added to the lines at `at`; a
 * line of a giant put out, or cells of a row with one key. */
tcudb_status sparse_rows(ProductRun *run, Block *b, uint32_t first, uint32_t rows, const BlockOutput *out,
                         Error *err) MUST_CHECK;
void sparse_add(ProductRun *run, const Lines *lines, uint64_t from, uint64_t to, size_t at);
tcudb_status sparse_cells(ProductRun *run, Block *b, const Task *task, const BlockOutput *out, Error *err) MUST_CHECK;
/* product_fast.c: rounds the operands; one row of the output from them. */
tcudb_status fast_build(ProductRun *run, Error *err) MUST_CHECK;
void fast_free(ProductRun *run);
tcudb_status fast_row(ProductRun *run, Block *b, uint32_t group, const BlockOutput *out, Error *err) MUST_CHECK;
/* product_emit.c: finds the columns [from, to) that exist in the line at `at`, into b->ids. */
uint32_t block_scan(const ProductRun *run, Block *b, const Lines *lines, size_t at, uint32_t from, uint32_t to);
/* Which of the n ids keep every bound of HAVING: in place. */
uint32_t block_keep(const ProductRun *run, const Lines *lines, size_t at, uint32_t *ids, uint32_t n);
/* Copies the columns of the line at `at` to the output; of a symmetric product the mirrored cells too. */
tcudb_status block_take(ProductRun *run, Block *b, const Lines *lines, uint32_t left, size_t at, const uint32_t *ids,
                        uint32_t n, const BlockOutput *out, Error *err) MUST_CHECK;
tcudb_status block_flush(ProductRun *run, Block *b, const BlockOutput *out, Error *err) MUST_CHECK;
void block_fill(uint32_t *to, uint32_t value, uint32_t n);

#endif
