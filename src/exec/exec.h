/*
 * exec.h: runs plans. A logical plan is turned into a physical one (phys/) and driven to its end.
 */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include "base/settings.h"
#include "phys/phys.h"
#include "opt/corrections.h"
#include "tensor/rates.h"

/* Rows and bytes done so far, for progress bars: read by any thread. */
typedef struct Progress {
    _Atomic uint64_t done;
    _Atomic uint64_t total; /* 0: unknown */
} Progress;

/* Turns a batch of the result into what the sink takes, which lies in the arena, on the worker that made it: any number
 * at once, in any order. ctx: the sink's. */
typedef tcudb_status (*ExecShape)(void *ctx, Arena *arena, const Batch *batch, Batch *out, Error *err);

typedef struct ExecEnv {
    Txn *txn;
    Pool *pool;
    Mem *mem;
    const Settings *settings;
    const Rates *rates;       /* contractions need them */
    Corrections *corrections; /* NULL: nothing is learnt */
    const Value *params;
    uint32_t nparams;
    int64_t now;
    const atomic_bool *cancel;  /* may be NULL */
    Progress *progress;         /* may be NULL */
    ExecShape shape;            /* NULL: the sink takes the result's batches */
    const Sequences *sequences; /* NULL: the plan uses none */
} ExecEnv;

/* What ran, for the timing line, EXPLAIN ANALYZE and the C API. */
typedef struct ExecReport {
    const char *engine; /* "cpu", "gpu", "tcu" */
    char why[256];      /* why this engine, or why not the one asked for */
    bool exact;
    uint64_t rows; /* returned, or changed by INSERT, UPDATE, DELETE */
    double seconds;
    size_t peak_bytes;
} ExecReport;

/* Receives the result in order, one batch at a time, never from two threads at once. Batches are dense or
 * have a sel; their memory is valid during the call. */
typedef tcudb_status (*ExecSink)(void *ctx, const Batch *batch, Error *err);

typedef struct PhysPlan PhysPlan;

/* The physical plan; lives in the arena; read-only afterwards and reusable by one execution at a time. */
tcudb_status phys_plan(Arena *arena, const ExecEnv *env, const Plan *plan, PhysPlan **out, Error *err) MUST_CHECK;
tcudb_status exec_run(const ExecEnv *env, const PhysPlan *phys, ExecSink sink, void *ctx, ExecReport *report,
                      Error *err) MUST_CHECK;
/* After a run: the rows that the plan node put out; its estimate if it never ran. ctx: the PhysNode of a tree that
 * contains it. A CostRows. */
double exec_real_rows(void *ctx, const Plan *plan);
/* phys_print and phys_print_json (EXPLAIN): phys/phys.h. */

#endif
