/*
 * stack.h: room on the stack for walks over trees.
 *
 * Binding, planning and running recurse once or more a level of a statement, whose depth is bounded (54001); they need
 * STACK_ENOUGH for the deepest. A caller's thread may have less: 64 KB, what ulimit -s says, a coroutine's.
 */
#ifndef BASE_STACK_H
#define BASE_STACK_H

#include "base/error.h"

#include <pthread.h>

/* Runs fn(ctx) and returns when it has: here if enough stack is left, else on a thread made for it. Fails only if that
 * thread cannot be made. */
tcudb_status stack_call(void (*fn)(void *ctx), void *ctx, Error *err) MUST_CHECK;
/* A thread with enough stack, whatever the process's default is; `what` it is for, should it fail. */
tcudb_status stack_thread(pthread_t *out, void *(*fn)(void *ctx), void *ctx, const char *what, Error *err) MUST_CHECK;

#endif
