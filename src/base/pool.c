/*
 * pool.c: the thread pool behind pool_run.
 *
 * A loop is a record on the caller's stack, linked into the pool's list while it has tasks left. Idle
 * threads take the first loop of the list and pull tasks from its atomic counter. A loop ends when its
 * counter is exhausted and no helper is inside it. Invariant: `inside` changes only under the lock, and
 * a helper enters a loop only while it is listed, so the caller may pop its record once inside == 0.
 * Threads start with the first loop of more than one task: a short query pays for none.
 * Waking a thread takes longer than a small loop, and a query's loops follow one another closely: so whoever has
 * nothing to do, helper or caller, looks again for some microseconds before it sleeps.
 */
#include "base/pool.h"
#include "base/stack.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct Loop Loop;
struct Loop {
    Loop *next;
    PoolFn fn;
    void *ctx;
    const atomic_bool *cancel;
    uint64_t tasks;
    _Atomic uint64_t taken;
    atomic_bool failed;
    _Atomic uint32_t inside; /* helpers working on it; changed under the lock */
    tcudb_status status;     /* first failure; under the lock */
    Error *err;
};

struct Pool {
    uint32_t workers;
    uint32_t started;
    bool stop;
    Loop *loops;
    _Atomic uint32_t listed; /* loops so far; changed under the lock */
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t ended;
    struct Thread {
        Pool *pool;
        uint32_t worker;
        pthread_t id;
    } threads[];
};

enum { LOOKS = 400 }; /* 10 to 25 microseconds */

static inline void pause_a_little(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void record_failure(Pool *pool, Loop *loop, tcudb_status status, const Error *err)
{
    pthread_mutex_lock(&pool->lock);
    if (loop->status == TCUDB_OK) {
        loop->status = status;
        if (loop->err != NULL) *loop->err = *err;
    }
    pthread_mutex_unlock(&pool->lock);
    atomic_store(&loop->failed, true);
}

static void pull_tasks(Pool *pool, Loop *loop, uint32_t worker)
{
    while (!atomic_load_explicit(&loop->failed, memory_order_relaxed)) {
        uint64_t task = atomic_fetch_add(&loop->taken, 1);
        if (task >= loop->tasks) return;
        Error err = {0};
        tcudb_status status = cancel_poll(loop->cancel, &err);
        if (status == TCUDB_OK) status = loop->fn(loop->ctx, worker, task, &err);
        if (status != TCUDB_OK) record_failure(pool, loop, status, &err);
    }
}

static Loop *loop_with_work(Pool *pool)
{
    for (Loop *loop = pool->loops; loop != NULL; loop = loop->next)
        if (!atomic_load(&loop->failed) && atomic_load(&loop->taken) < loop->tasks) return loop;
    return NULL;
}

/* Under the lock, which it gives away meanwhile: whether a loop was listed. */
static bool look_for_loops(Pool *pool)
{
    uint32_t seen = atomic_load_explicit(&pool->listed, memory_order_relaxed), looks = LOOKS;
    pthread_mutex_unlock(&pool->lock);
    while (atomic_load_explicit(&pool->listed, memory_order_relaxed) == seen && --looks > 0) pause_a_little();
    pthread_mutex_lock(&pool->lock);
    return atomic_load_explicit(&pool->listed, memory_order_relaxed) != seen;
}

static void *thread_main(void *arg)
{
    struct Thread *self = arg;
    Pool *pool = self->pool;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        Loop *loop = loop_with_work(pool);
        if (loop == NULL) {
            if (!look_for_loops(pool) && !pool->stop) pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        loop->inside++;
        pthread_mutex_unlock(&pool->lock);
        pull_tasks(pool, loop, self->worker);
        pthread_mutex_lock(&pool->lock);
        if (--loop->inside == 0) pthread_cond_broadcast(&pool->ended);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

tcudb_status pool_new(uint32_t workers, Pool **out, Error *err)
{
    assert(workers >= 1);
    Pool *pool = mem_alloc_zero(NULL, sizeof *pool + workers * sizeof pool->threads[0], err);
    TRY_PTR(pool);
    pool->workers = workers;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->ended, NULL);
    *out = pool;
    return TCUDB_OK;
}

/* Under the lock. */
static tcudb_status start_threads(Pool *pool, Error *err)
{
    for (uint32_t w = pool->started + 1; w < pool->workers; w++) {
        pool->threads[w] = (struct Thread){.pool = pool, .worker = w};
        TRY(stack_thread(&pool->threads[w].id, thread_main, &pool->threads[w], "a worker thread", err));
        pool->started = w;
    }
    return TCUDB_OK;
}

void pool_free(Pool *pool)
{
    if (pool == NULL) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t w = 1; w <= pool->started; w++) pthread_join(pool->threads[w].id, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->ended);
    mem_free(NULL, pool, 0);
}

uint32_t pool_workers(const Pool *pool)
{
    return pool->workers;
}

static void unlink_loop(Pool *pool, Loop *loop)
{
    Loop **at = &pool->loops;
    while (*at != loop) at = &(*at)->next;
    *at = loop->next;
}

/* Of a loop that is no longer listed. A helper's last touch of it is its leaving. */
static void wait_for_helpers(Pool *pool, Loop *loop)
{
    for (uint32_t looks = LOOKS; looks > 0 && atomic_load(&loop->inside) > 0; looks--) pause_a_little();
    if (atomic_load(&loop->inside) == 0) return;
    pthread_mutex_lock(&pool->lock);
    while (loop->inside > 0) pthread_cond_wait(&pool->ended, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

tcudb_status pool_run(Pool *pool, uint64_t tasks, PoolFn fn, void *ctx, const atomic_bool *cancel, Error *err)
{
    Loop loop = {.fn = fn, .ctx = ctx, .cancel = cancel, .tasks = tasks, .err = err};
    bool shared = pool->workers > 1 && tasks > 1;
    if (shared) {
        pthread_mutex_lock(&pool->lock);
        tcudb_status status = start_threads(pool, err);
        if (status == TCUDB_OK) {
            loop.next = pool->loops;
            pool->loops = &loop;
            pool->listed++;
            pthread_cond_broadcast(&pool->work);
        }
        pthread_mutex_unlock(&pool->lock);
        TRY(status);
    }
    pull_tasks(pool, &loop, 0);
    if (shared) {
        pthread_mutex_lock(&pool->lock);
        unlink_loop(pool, &loop);
        pthread_mutex_unlock(&pool->lock);
        wait_for_helpers(pool, &loop);
    }
    return loop.status;
}
