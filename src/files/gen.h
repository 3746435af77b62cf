/*
 * gen.h: generated tables: the same rows for a seed and a scale, whoever asks for which part of them.
 *
 * A GenTable describes a table in units (a row, an order with its lines). A unit's rows are a function of its
 * number alone: random values come from hashing (seed, column, number), not from a running generator, so
 * any number of workers make any part in any order. One description serves the table function that yields
 * the rows and the procedure that loads them.
 */
#ifndef FILES_GEN_H
#define FILES_GEN_H

#include "files/proc.h"
#include "plan/table_func.h"

typedef struct GenTable GenTable;

/* A generator with its parameters. */
typedef struct Gen {
    const GenTable *table;
    uint64_t seed;
    double scale;
    uint64_t units;
    int64_t params[4]; /* the table's own */
} Gen;

typedef struct GenColumn {
    const char *name;
    Type type;
} GenColumn;

/* Where a batch is filled: rows 0..n-1; unit[i] is row i's unit, line[i] its number within the unit. */
typedef struct GenRows {
    const Gen *gen;
    uint32_t n;
    uint64_t unit[BATCH_ROWS];
    uint32_t line[BATCH_ROWS];
    Arena *arena;
} GenRows;

struct GenTable {
    const char *name;
    uint32_t ncols;
    const GenColumn *cols;
    double unit_rows;    /* on average */
    uint64_t task_units; /* units of one task: about SEGMENT_ROWS rows */
    /* Rows of a unit, 1 to 16; NULL: always one. */
    uint32_t (*lines)(const Gen *gen, uint64_t unit);
    /* Fills column col of all rows: out is flat and allocated, or the function replaces it. */
    tcudb_status (*fill)(const GenRows *rows, uint32_t col, Vector *out, Error *err);
};

/* ---- random values --------------------------------------------------------------------------- */

/* A well mixed function of its arguments (the finalizer of splitmix64, Steele et al. 2014). */
static inline uint64_t gen_hash(uint64_t seed, uint64_t salt, uint64_t number)
{
    uint64_t x = seed * UINT64_C(0xd1342543de82ef95) + salt * UINT64_C(0xaf251af3b0f025b5) +
                 number * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Uniform in 0..n-1, n up to 2^32. */
static inline uint64_t gen_below(uint64_t hash, uint64_t n)
{
    return (hash >> 32) * n >> 32;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Makes out a dictionary vector over constant texts; codes have room for the rows. */
tcudb_status gen_dict(const GenRows *rows, Type type, const Str *values, uint32_t nvalues, Vector *out,
                      uint32_t **codes, Error *err) MUST_CHECK;
/* Room for one text of up to `size` bytes a row, for flat text columns: row i's is at *texts + i * size. */
tcudb_status gen_texts(const GenRows *rows, uint32_t size, char **texts, Error *err) MUST_CHECK;

/* ---- using it -------------------------------------------------------------------------------- */

/* A table function's bind step ends with this. */
tcudb_status gen_bind(Arena *arena, const Gen *gen, TableFuncBound *out, Error *err) MUST_CHECK;
/* The other steps, for `const TableFunc`s: their bound->state is a Gen. */
tcudb_status gen_open(const TableFuncBound *bound, const uint32_t *columns, uint32_t ncols, const atomic_bool *cancel,
                      Mem *mem, TableFuncScan **out, uint64_t *tasks, Error *err);
tcudb_status gen_next(TableFuncScan *scan, uint64_t task, void **cursor, Arena *arena, Batch *out, bool *done,
                      Error *err);
void gen_end_task(TableFuncScan *scan, void *cursor);
void gen_close(TableFuncScan *scan);

/* Creates the table and fills it in parallel; adds to *rows. */
tcudb_status gen_load(const ProcEnv *env, const Gen *gen, uint64_t *rows, Error *err) MUST_CHECK;

/* ---- arguments ------------------------------------------------------------------------------- */

typedef struct GenArg {
    const char *name;
    double value; /* the default; replaced by what is given */
    double min, max;
    bool whole; /* only integers */
} GenArg;

/* Matches positional and named arguments; 42883 for others, 22023 for values out of range. what: "function"
 * or "procedure" NAME in messages; usage becomes the hint. */
tcudb_status gen_args(const TableFuncArg *args, uint32_t nargs, const char *what, const char *usage, GenArg *known,
                      uint32_t nknown, Error *err) MUST_CHECK;

#endif
