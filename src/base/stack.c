/*
 * stack.c: see stack.h. Where a thread's stack ends is asked once a thread (for the first thread glibc reads
 * /proc/self/maps) and kept in a variable of the thread. A frame outside of that stack is a coroutine's, of which
 * nothing is known: it gets a thread.
 *
 * Cost: two comparisons, or a thread: about 20 us. Measured need: 2 to 4 MB for 1,200 nested subqueries.
 */
#include "base/stack.h"

#include <stddef.h>
#include <stdint.h>

enum { STACK_ENOUGH = 5 << 20, STACK_SIZE = 8 << 20 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FRAME_FACTOR = 4 }; /* their frames are larger */
#else
enum { FRAME_FACTOR = 1 };
#endif

typedef struct Extent {
    uintptr_t low, high; /* high == 0: not asked yet */
} Extent;

static _Thread_local Extent extent;

static void ask(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    extent = (Extent){.high = 1};
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return;
    if (pthread_attr_getstack(&attr, &low, &size) == 0)
        extent = (Extent){.low = (uintptr_t)low, .high = (uintptr_t)low + size};
    pthread_attr_destroy(&attr);
}

/* Bytes below this function's frame. */
static size_t stack_left(void)
{
    if (extent.high == 0) ask();
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here < extent.low || here >= extent.high ? 0 : here - extent.low;
}

tcudb_status stack_thread(pthread_t *out, void *(*fn)(void *ctx), void *ctx, const char *what, Error *err)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc != 0) return error_thread(err, rc, what);
    rc = pthread_attr_setstacksize(&attr, (size_t)STACK_SIZE * FRAME_FACTOR);
    if (rc == 0) rc = pthread_create(out, &attr, fn, ctx);
    pthread_attr_destroy(&attr);
    return rc == 0 ? TCUDB_OK : error_thread(err, rc, what);
}

typedef struct Call {
    void (*fn)(void *ctx);
    void *ctx;
} Call;

static void *run_call(void *arg)
{
    const Call *call = arg;
    call->fn(call->ctx);
    return NULL;
}

tcudb_status stack_call(void (*fn)(void *ctx), void *ctx, Error *err)
{
    Call call = {fn, ctx};
    pthread_t thread = 0;
    if (stack_left() >= STACK_ENOUGH) {
        fn(ctx);
        return TCUDB_OK;
    }
    TRY(stack_thread(&thread, run_call, &call, "a thread with more stack", err));
    pthread_join(thread, NULL);
    return TCUDB_OK;
}
