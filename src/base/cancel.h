/*
 * cancel.h: polling the flag that stops a statement. Loops over rows, columns or plan nodes look at it often enough
 * that a statement ends within 100 ms; who set it is the session's to know (session/watch.h).
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include "base/error.h"

#include <stdatomic.h>

static inline bool cancel_seen(const atomic_bool *cancel)
{
    return cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

/* 57014 once *cancel (may be NULL) is true. */
MUST_CHECK static inline tcudb_status cancel_poll(const atomic_bool *cancel, Error *err)
{
    if (!cancel_seen(cancel)) return TCUDB_OK;
    return error_set(err, SQLSTATE_QUERY_CANCELED, "canceling statement due to user request");
}

#endif
