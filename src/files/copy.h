/*
 * copy.h: COPY in both directions, in PostgreSQL's text and csv formats.
 *
 * COPY FROM reads a file or a stream in blocks of whole records; workers turn blocks into batches and feed
 * Appenders, so that rows keep the order of the input. COPY TO formats result batches as they come.
 * Messages are PostgreSQL's; its CONTEXT line (COPY t, line 3, column x: "...") is the error's detail.
 */
#ifndef FILES_COPY_H
#define FILES_COPY_H

#include "bind/bind.h"

/* A byte stream of the caller: COPY FROM STDIN, COPY TO STDOUT. */
typedef struct CopyStream {
    void *ctx;
    tcudb_status (*read)(void *ctx, char *buffer, size_t size, size_t *got, Error *err); /* *got 0: the end */
    tcudb_status (*write)(void *ctx, const char *data, size_t size, Error *err);
} CopyStream;

typedef struct CopyEnv {
    Txn *txn;
    Pool *pool;
    Mem *mem;
    const atomic_bool *cancel;     /* may be NULL */
    Str into;                      /* COPY FROM: another table of the same columns; len 0: none */
    CopyStream stream;             /* used when stmt->text is empty */
    _Atomic uint64_t *bytes_done;  /* COPY FROM counts up bytes read; may be NULL */
    _Atomic uint64_t *bytes_total; /* set to the file's size, 0 if unknown; may be NULL */
} CopyEnv;

/* Checks the options of a COPY statement (names, values, combinations: PostgreSQL's messages); session/ may
 * call it before anything else happens, copy_from and copy_to_open do. */
tcudb_status copy_check_options(const Stmt *stmt, Error *err) MUST_CHECK;

/* Runs a STMT_COPY_FROM: stmt->name is the table, stmt->columns the columns in file order (ncolumns 0: all),
 * stmt->text the file. defaults[i]: the value of table column i when the file does not give it (NULL or a
 * null value: NULL), already of the column's type. *rows: rows added. On failure the caller rolls back. */
tcudb_status copy_from(const CopyEnv *env, const Stmt *stmt, const Value *defaults, uint64_t *rows,
                       Error *err) MUST_CHECK;

/* COPY TO: open, then per batch copy_to_shape (an ExecShape) and, in order, copy_to_batch for what it gave (an
 * ExecSink; ctx: the CopyTo), then close. */
typedef struct CopyTo CopyTo;
/* cols: the result's columns. Creates the file (truncating it) and writes the header line. */
tcudb_status copy_to_open(const CopyEnv *env, const Stmt *stmt, const PlanCol *cols, uint32_t ncols, CopyTo **out,
                          Error *err) MUST_CHECK;
tcudb_status copy_to_shape(void *copy_to, Arena *arena, const Batch *batch, Batch *out, Error *err) MUST_CHECK;
tcudb_status copy_to_batch(void *copy_to, const Batch *pieces, Error *err) MUST_CHECK;
/* Flushes and frees, always. *rows: rows written. */
tcudb_status copy_to_close(CopyTo *copy_to, uint64_t *rows, Error *err) MUST_CHECK;
/* After a failure: frees without flushing. */
void copy_to_abort(CopyTo *copy_to);

#endif
