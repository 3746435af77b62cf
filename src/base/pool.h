/*
 * pool.h: a fixed pool of threads that run one parallel loop at a time per caller.
 *
 * pool_run(pool, n, fn, ctx) calls fn(ctx, worker, task) for every task in 0..n-1. Tasks are handed out
 * in order, one at a time, so a task should be a morsel: 0.1 to 10 ms of work. The calling thread is
 * worker 0 and takes part; workers are numbered 0..pool_workers()-1, so per-worker state is an array.
 * The first error stops the handing out and is returned. Loops of several callers share the threads.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/cancel.h"
#include "base/mem.h"

typedef struct Pool Pool;
typedef tcudb_status (*PoolFn)(void *ctx, uint32_t worker, uint64_t task, Error *err);

/* workers >= 1, the caller of pool_run included: a pool of 1 starts no thread. */
tcudb_status pool_new(uint32_t workers, Pool **out, Error *err) MUST_CHECK;
void pool_free(Pool *pool);
uint32_t pool_workers(const Pool *pool);
/* Blocks until every started task has ended. A PoolFn must not call pool_run. cancel may be NULL; once
 * it reads true no task is handed out and the loop ends with 57014. */
tcudb_status pool_run(Pool *pool, uint64_t tasks, PoolFn fn, void *ctx, const atomic_bool *cancel,
                      Error *err) MUST_CHECK;

#endif
