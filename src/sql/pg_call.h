/*
 * pg_call.h: calling libpg_query so that it cannot run out of memory by itself, end the process or leave anything
 * behind.
 */
#ifndef SQL_PG_CALL_H
#define SQL_PG_CALL_H

#include "base/cancel.h"
#include "base/mem.h"

#include <setjmp.h>

typedef struct PgBlock {
    struct PgBlock *previous, *next;
    size_t size, unused; /* of the whole block; 16-byte alignment of what follows */
} PgBlock;

/* Receives a result's messages in place of their packed bytes; they live until it returns. */
typedef tcudb_status (*PgTake)(void *ctx, const void *message, Error *err);

typedef struct PgCall {
    Mem *mem;
    const atomic_bool *cancel; /* may be NULL */
    PgBlock blocks;            /* ring */
    Error *err;
    tcudb_status status;
    PgTake take; /* NULL: the body packs nothing */
    void *ctx;
    sigjmp_buf out;
} PgCall;

/* Runs body(ctx), which may call libpg_query; a result goes to take(ctx). Memory that it takes is charged to mem (may
 * be NULL: unaccounted) and lives until pg_call_end, which must be called in any case: results need no freeing. 53200
 * when memory is short, 57014 when *cancel is seen to be true. */
tcudb_status pg_call(PgCall *call, Mem *mem, const atomic_bool *cancel, void (*body)(void *ctx), PgTake take, void *ctx,
                     Error *err) MUST_CHECK;
void pg_call_end(PgCall *call);

#endif
