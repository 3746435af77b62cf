/*
 * table_func.h: the interface of functions that yield rows: generate_series, read_csv, ssb_lineorder.
 *
 * bind: arguments (constants) -> output columns, in the context's arena. open: per execution. Rows come in independent
 * tasks, so workers read in parallel; a sequential source has one task. Implementations are in files/; the registry is
 * files/table_func.def.
 */
#ifndef PLAN_TABLE_FUNC_H
#define PLAN_TABLE_FUNC_H

#include "type/func.h"

typedef struct TableFuncArg {
    Str name; /* of a named argument (delim => ','); len 0: positional */
    Value value;
    int position; /* in the SQL text */
} TableFuncArg;

typedef struct TableFuncBound {
    void *state; /* the function's own, in the bind arena */
    uint32_t ncols;
    const char **names;
    Type *types;
    double rows; /* estimate; < 0: unknown */
} TableFuncBound;

typedef struct TableFuncScan TableFuncScan; /* the function's own */

typedef struct TableFunc {
    const char *name;
    const char *usage; /* one line, shown in errors and help */
    bool dynamic;      /* the columns follow from the arguments' types alone: bind may be called again at run time */
    tcudb_status (*bind)(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs, TableFuncBound *out, Error *err);
    /* columns[0..ncols-1]: the wanted output columns, in this order; *cancel (may be NULL) ends long steps of next.
     * *tasks: how many tasks there are. */
    tcudb_status (*open)(const TableFuncBound *bound, const uint32_t *columns, uint32_t ncols,
                         const atomic_bool *cancel, Mem *mem, TableFuncScan **out, uint64_t *tasks, Error *err);
    /* Next batch of a task; *done after the last (out is empty then). cursor starts NULL for each task and is
     * the function's to keep; calls for different tasks may run at once. Memory of out: the arena. */
    tcudb_status (*next)(TableFuncScan *scan, uint64_t task, void **cursor, Arena *arena, Batch *out, bool *done,
                         Error *err);
    /* Ends a task early or after its last batch. */
    void (*end_task)(TableFuncScan *scan, void *cursor);
    void (*close)(TableFuncScan *scan);
} TableFunc;

#endif
