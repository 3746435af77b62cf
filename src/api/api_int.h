/*
 * api_int.h: what the files of api/ share: the objects behind tcudb.h's handles.
 */
#ifndef API_API_INT_H
#define API_API_INT_H

#include "session/session.h"

#include <sys/types.h>

/* Reference-counted: the handle, each connection and each result hold one. */
struct tcudb_db {
    _Atomic uint64_t refs;
    pid_t owner; /* the process that opened it */
    Instance instance;
};

struct tcudb_conn {
    tcudb_db *db;
    Session *session;
    atomic_bool busy; /* a call is inside: callbacks and other threads may not enter */
    tcudb_stmt *stmts;
    tcudb_progress_fn progress_fn;
    void *progress_ctx;
    tcudb_notice_fn notice_fn;
    void *notice_ctx;
    tcudb_read_fn read_fn;
    tcudb_write_fn write_fn;
    void *copy_ctx;
};

struct tcudb_stmt {
    tcudb_conn *conn; /* NULL once the connection is closed */
    tcudb_db *db;     /* whose memory it has */
    tcudb_stmt *next;
    tcudb_stmt *prev;
    Arena arena; /* infos */
    Prepared *prepared;
    uint32_t nparams;
    const Type *types;
    Value *values;
    Buf *texts; /* memory of bound texts */
    bool *bound;
    uint32_t ncols;
    tcudb_column_info *infos;
};

struct tcudb_result {
    _Atomic uint64_t refs; /* the handle, Arrow streams and arrays */
    tcudb_db *db;
    Arena arena; /* infos, columns, values */
    uint32_t ncols;
    tcudb_column_info *infos;
    tcudb_chunk *chunks;
    uint64_t nchunks;
    uint64_t cap;
    uint64_t rows;
    uint64_t affected;
    char tag[SESSION_TAG_MAX];
    char why[256];
    tcudb_report report;
};

/* ---- error.c ------------------------------------------------------------------------------- */

tcudb_status api_fail(tcudb_error *out, tcudb_status status, const Error *err);
tcudb_status api_misuse(tcudb_error *out, const char *format, ...) PRINTF_LIKE(2, 3);
/* Marks the connection busy; TCUDB_MISUSE if it is NULL or busy. */
tcudb_status api_enter(tcudb_conn *conn, tcudb_error *out) MUST_CHECK;
void api_leave(tcudb_conn *conn);

/* Whether this is another process than opened it, after fork(): locks and files are still that one's, its threads are
 * not here. Nothing may be run or closed. */
bool api_forked(const tcudb_db *db);
tcudb_status api_misuse_forked(tcudb_error *out);

void api_db_ref(tcudb_db *db);
void api_db_unref(tcudb_db *db);

/* ---- chunk.c ------------------------------------------------------------------------------- */

tcudb_status api_infos(Arena *arena, const PlanCol *cols, uint32_t n, tcudb_column_info **out, Error *err) MUST_CHECK;
/* Columns of the batch's live rows. copy: everything in `arena`, text bytes too; else valid as long as the batch and
 * the arena. scratch is for intermediate copies. */
tcudb_status api_chunk(Arena *arena, Arena *scratch, const Batch *batch, bool copy, const tcudb_column_info *infos,
                       tcudb_chunk *out, Error *err) MUST_CHECK;
Type api_type(const tcudb_column_info *info);
void api_report(const char *tag, const ExecReport *report, char buffer[SESSION_TAG_MAX], tcudb_report *out);

/* ---- result.c, run.c ----------------------------------------------------------------------- */

tcudb_status api_result_new(tcudb_db *db, tcudb_result **out, Error *err) MUST_CHECK;
void api_result_ref(tcudb_result *result);
/* A sink that gathers the last statement's rows in the result. Arena: scratch for batches. */
typedef struct Gather {
    tcudb_result *result;
    Arena scratch;
    bool has_rows; /* the statement that runs has returned columns */
} Gather;
SessionSink api_gather(Gather *gather);
/* A sink that passes rows on to the caller's. */
typedef struct Pass {
    tcudb_conn *conn;
    const tcudb_sink *sink;
    Arena scratch; /* per batch */
    Arena arena;   /* per statement: infos */
    tcudb_column_info *infos;
} Pass;
SessionSink api_pass(Pass *pass);

#endif
