/*
 * tcudb.h: the public C interface of tcudb, an embeddable analytical SQL database.
 *
 * Threads: a database handle may be shared; a connection, a statement and a result belong to one
 * thread at a time, except tcudb_interrupt, which any thread may call. No global state.
 */
#ifndef TCUDB_H
#define TCUDB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. The SQLSTATE and the message say why; see tcudb_error. */
typedef enum tcudb_status {
    TCUDB_OK = 0,          /* done */
    TCUDB_ERROR = 1,       /* failed: SQL, input, environment */
    TCUDB_NOMEM = 2,       /* memory limit or system memory exhausted */
    TCUDB_INTERRUPTED = 3, /* stopped by tcudb_interrupt or a progress callback */
    TCUDB_MISUSE = 4       /* the call broke this header's rules */
} tcudb_status;

#ifdef __cplusplus
}
#endif
#endif
