/*
 * session.h: a connection's life: settings, transaction state, prepared statements, and what each kind of
 * statement does. The C API is a thin coat over this.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "bind/bind.h"
#include "catalog/key_counts.h"
#include "exec/exec.h"

typedef struct Session Session;

/* Shared by all sessions of a database: the store, the pool, the speed of the machine. */
typedef struct Instance {
    Db *db;
    Pool *pool;
    Rates rates;
    Corrections *corrections; /* learnt from what queries took */
    KeyCache *keys;           /* counted for the planner */
    bool measured;            /* the rates are this machine's own */
    char rates_warning[256];  /* why not, for the first session that runs something; "": nothing to say */
    atomic_bool warned;
    size_t memory_limit; /* what tcudb.memory_limit = 0 means, in bytes */
} Instance;

tcudb_status session_new(Instance *instance, Session **out, Error *err) MUST_CHECK;
/* Rolls back an open transaction. */
void session_free(Session *session);
Settings *session_settings(Session *session);
/* 'I' idle, 'T' in a transaction, 'E' in a failed one. */
char session_state(const Session *session);
/* Any thread: the running statement ends with 57014. */
void session_interrupt(Session *session);

/* Streams of COPY FROM STDIN / TO STDOUT; NULL members: not available (an error says so). */
typedef struct SessionIo {
    void *ctx;
    tcudb_status (*read)(void *ctx, char *buffer, size_t size, size_t *got, Error *err);
    tcudb_status (*write)(void *ctx, const char *data, size_t size, Error *err);
} SessionIo;
void session_set_io(Session *session, SessionIo io);

/* NOTICE and WARNING; fn NULL: dropped. */
typedef void (*SessionNotice)(void *ctx, const char *severity, const char *sqlstate, const char *message);
void session_set_notice(Session *session, SessionNotice fn, void *ctx);
/* Called about every interval_ms from a helper thread while a statement runs; true stops it. NULL: off. */
typedef bool (*SessionProgress)(void *ctx, uint64_t done, uint64_t total, double seconds);
void session_set_progress(Session *session, SessionProgress fn, void *ctx, uint32_t interval_ms);

/* Every member may be NULL. */
typedef struct SessionSink {
    void *ctx;
    /* Before the first batch of a statement that returns rows: its columns. */
    tcudb_status (*columns)(void *ctx, const PlanCol *cols, uint32_t ncols, Error *err);
    ExecSink batch;
    /* After the statement, when it is durable: its tag without rows; session_tag adds them. */
    tcudb_status (*done)(void *ctx, const char *tag, const ExecReport *report, Error *err);
} SessionSink;

/* Runs every statement of a text; stops at the first error. Outside BEGIN each statement is a transaction of
 * its own (a multi-statement text too: each commits by itself). */
tcudb_status session_run(Session *session, const char *sql, const SessionSink *sink, Error *err) MUST_CHECK;

/* "INSERT" and 3 -> "INSERT 0 3", "SELECT" and 3 -> "SELECT 3", other tags as they are. Returns buffer. */
enum { SESSION_TAG_MAX = 64 };
const char *session_tag(const char *tag, uint64_t rows, char buffer[SESSION_TAG_MAX]);

/* What is in the database, as rows: what tcudb_list of tcudb.h documents. name.len 0: all. */
tcudb_status session_list(Session *session, tcudb_listing what, Str name, const SessionSink *sink,
                          Error *err) MUST_CHECK;

/* Prepared statements with parameters (API, PREPARE, the wire protocol). */
typedef struct Prepared Prepared;
tcudb_status session_prepare(Session *session, const char *sql, const Type *types, uint32_t ntypes, Prepared **out,
                             Error *err) MUST_CHECK;
uint32_t prepared_params(const Prepared *prepared, const Type **types);
/* Columns of the result; 0 if it returns no rows. */
uint32_t prepared_columns(const Prepared *prepared, const PlanCol **cols);
tcudb_status prepared_run(Prepared *prepared, const Value *params, uint32_t nparams, const SessionSink *sink,
                          Error *err) MUST_CHECK;
void prepared_free(Prepared *prepared);

#endif
