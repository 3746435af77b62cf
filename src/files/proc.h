/*
 * proc.h: procedures: what CALL name(option => value, ...) runs. One line each in proc.def.
 *
 * A procedure makes tables inside the caller's transaction: it either does all of its work or reports an
 * error, and then the statement's rollback undoes the rest.
 */
#ifndef FILES_PROC_H
#define FILES_PROC_H

#include "base/pool.h"
#include "plan/table_func.h"
#include "store/store.h"

typedef struct ProcEnv {
    Txn *txn;
    Pool *pool;
    Mem *mem;
    const atomic_bool *cancel; /* may be NULL */
    /* Called now and then by the calling thread with rows done and rows in all; may be NULL. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
} ProcEnv;

typedef struct Proc {
    const char *name;
    const char *usage; /* one line, shown in errors and help */
    /* Arguments as table functions have them; *rows: rows made in all. */
    tcudb_status (*run)(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows, Error *err);
} Proc;

/* NULL: none of this (case-folded) name: 42883 "procedure NAME does not exist" is the caller's. */
const Proc *files_find_proc(Str name);
const Proc *files_proc_at(uint32_t i);

#endif
