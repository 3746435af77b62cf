/*
 * watch.c: stops running statements.
 *
 * `cancel` is the one flag that executors poll; `cause` says who set it, so that the error can be worded
 * as PostgreSQL words it. The helper thread sleeps on a condition variable until the statement ends, the
 * next progress report is due or the timeout strikes; it is started late (only for statements that need
 * it) so that short statements never pay for a thread.
 *
 * Invariants: the thread exists exactly between a watch_start that needed it and the next watch_stop;
 * `stop` changes under the lock; watch_interrupt only stores to atomics, so it is safe in signal handlers.
 */
#include "session/watch.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

void watch_init(Watch *watch)
{
    *watch = (Watch){0};
    atomic_init(&watch->cancel, false);
    atomic_init(&watch->cause, WATCH_NONE);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &attr);
    pthread_condattr_destroy(&attr);
}

void watch_destroy(Watch *watch)
{
    assert(!watch->running);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
}

void watch_clear(Watch *watch)
{
    atomic_store(&watch->cause, WATCH_NONE);
    atomic_store(&watch->cancel, false);
}

void watch_interrupt(Watch *watch)
{
    int none = WATCH_NONE;
    atomic_compare_exchange_strong(&watch->cause, &none, WATCH_USER);
    atomic_store(&watch->cancel, true);
}

static double since(const struct timespec *start)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)(at.tv_sec - start->tv_sec) + 1e-9 * (double)(at.tv_nsec - start->tv_nsec);
}

static struct timespec after_ms(const struct timespec *start, int64_t ms)
{
    struct timespec at = {.tv_sec = start->tv_sec + ms / 1000, .tv_nsec = start->tv_nsec + ms % 1000 * 1000000};
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static void report_progress(Watch *watch, const struct timespec *start)
{
    uint64_t done = atomic_load_explicit(&watch->progress->done, memory_order_relaxed);
    uint64_t total = atomic_load_explicit(&watch->progress->total, memory_order_relaxed);
    if (watch->progress_fn(watch->progress_ctx, done, total, since(start))) watch_interrupt(watch);
}

static void time_out(Watch *watch)
{
    int none = WATCH_NONE;
    atomic_compare_exchange_strong(&watch->cause, &none, WATCH_TIMEOUT);
    atomic_store(&watch->cancel, true);
}

static void *watch_main(void *arg)
{
    Watch *watch = arg;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    bool timing = watch->timeout_ms > 0;
    int64_t next_report = watch->progress_fn != NULL ? watch->interval_ms : 0;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop) {
        struct timespec deadline = after_ms(&start, timing ? watch->timeout_ms : next_report);
        struct timespec report = after_ms(&start, next_report);
        bool reporting = next_report > 0 && !(timing && earlier(&deadline, &report));
        if (!reporting && !timing) {
            pthread_cond_wait(&watch->wake, &watch->lock);
            continue;
        }
        if (pthread_cond_timedwait(&watch->wake, &watch->lock, reporting ? &report : &deadline) != ETIMEDOUT) continue;
        if (!reporting) {
            time_out(watch);
            timing = false;
            continue;
        }
        pthread_mutex_unlock(&watch->lock);
        report_progress(watch, &start);
        pthread_mutex_lock(&watch->lock);
        next_report += watch->interval_ms;
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

tcudb_status watch_start(Watch *watch, int64_t timeout_ms, Progress *progress, Error *err)
{
    assert(!watch->running);
    if (timeout_ms <= 0 && watch->progress_fn == NULL) return TCUDB_OK;
    watch->stop = false;
    watch->timeout_ms = timeout_ms;
    watch->progress = progress;
    TRY(stack_thread(&watch->thread, watch_main, watch, "a watcher thread", err));
    watch->running = true;
    return TCUDB_OK;
}

void watch_stop(Watch *watch)
{
    if (!watch->running) return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    watch->running = false;
}

tcudb_status watch_check(Watch *watch, Error *err)
{
    if (!atomic_load(&watch->cancel)) return TCUDB_OK;
    bool timeout = atomic_load(&watch->cause) == WATCH_TIMEOUT;
    return error_set(err, SQLSTATE_QUERY_CANCELED, "canceling statement due to %s",
                     timeout ? "statement timeout" : "user request");
}
