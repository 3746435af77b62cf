/*
 * watch.h: what can stop a running statement: an interrupt, statement_timeout, a progress callback.
 *
 * A thread exists only while a statement runs that has a timeout or a progress callback.
 */
#ifndef SESSION_WATCH_H
#define SESSION_WATCH_H

#include "base/stack.h"
#include "exec/exec.h"

#include <pthread.h>

typedef enum WatchCause { WATCH_NONE, WATCH_USER, WATCH_TIMEOUT } WatchCause;

typedef struct Watch {
    atomic_bool cancel; /* what executors look at */
    _Atomic int cause;  /* WatchCause */
    bool (*progress_fn)(void *ctx, uint64_t done, uint64_t total, double seconds);
    void *progress_ctx;
    uint32_t interval_ms;
    /* while a statement runs: */
    bool running; /* the thread exists */
    bool stop;    /* under the lock */
    int64_t timeout_ms;
    Progress *progress;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} Watch;

void watch_init(Watch *watch);
void watch_destroy(Watch *watch);
/* Forgets an earlier interrupt: called when a text begins to run. */
void watch_clear(Watch *watch);
/* Any thread, and signal handlers. */
void watch_interrupt(Watch *watch);
/* Around a statement. timeout_ms 0: none. */
tcudb_status watch_start(Watch *watch, int64_t timeout_ms, Progress *progress, Error *err) MUST_CHECK;
void watch_stop(Watch *watch);
/* 57014 with PostgreSQL's words for the cause, if the statement has been stopped. */
tcudb_status watch_check(Watch *watch, Error *err) MUST_CHECK;

#endif
