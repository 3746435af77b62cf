/*
 * tcudb.h: the public C interface of tcudb, an embeddable analytical SQL database.
 *
 * Objects: a database (tcudb_db), connections to it (tcudb_conn), prepared statements (tcudb_stmt) and
 * results (tcudb_result). Whoever opened an object closes it, once, in any order: a result outlives its
 * connection, a connection keeps its database open.
 *
 * Errors: a call that can fail returns tcudb_status and takes `tcudb_error *err` last. On failure *err is
 * filled and every output pointer is NULL; on success *err is left alone. err may be NULL. Reporting an
 * error never allocates. A handle stays usable after an error. NULL where an object is required, an index
 * out of range and the like give TCUDB_MISUSE and change nothing.
 *
 * Threads: a database handle may be used by any number of threads at once. A connection, its statements
 * and its results belong to one thread at a time; tcudb_interrupt is the exception. Finished results may
 * be read by several threads at once. There is no global state; use one connection a thread.
 * Processes: after fork() only the parent may use what it opened. In the child every call on it is TCUDB_MISUSE,
 * closing does nothing; it opens the database anew. Stack: any size. The thread that runs a query is the caller's, or,
 * if that has less than 5 MB of stack left, one of the library's while the caller waits.
 *
 * Text: UTF-8; arguments are NUL-terminated unless a length goes with them. Units: bytes, seconds (double)
 * and milliseconds where the name says `_ms`. Indices of columns, chunks and rows start at 0, parameter
 * numbers at 1 ($1), positions in SQL text at 1 and count characters.
 */
#ifndef TCUDB_H
#define TCUDB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TCUDB_API __attribute__((visibility("default")))
#else
#define TCUDB_API
#endif

/* How a call ended. The SQLSTATE and the message say why; see tcudb_error. */
typedef enum tcudb_status {
    TCUDB_OK = 0,          /* done */
    TCUDB_ERROR = 1,       /* failed: SQL, input, environment */
    TCUDB_NOMEM = 2,       /* memory limit or system memory exhausted */
    TCUDB_INTERRUPTED = 3, /* stopped by tcudb_interrupt, a callback or statement_timeout */
    TCUDB_MISUSE = 4       /* the call broke this header's rules */
} tcudb_status;

typedef struct tcudb_db tcudb_db;
typedef struct tcudb_conn tcudb_conn;
typedef struct tcudb_stmt tcudb_stmt;
typedef struct tcudb_result tcudb_result;

enum { TCUDB_ERROR_TEXT = 768 };

/* Owned by the caller; needs no initialisation and no release. */
typedef struct tcudb_error {
    tcudb_status status;
    int position;     /* 1-based character in the SQL text; 0: no place */
    char sqlstate[6]; /* PostgreSQL's five characters: "42P01" */
    char message[TCUDB_ERROR_TEXT];
    char detail[TCUDB_ERROR_TEXT]; /* "" if none */
    char hint[TCUDB_ERROR_TEXT];   /* "" if none */
} tcudb_error;

/* ---- versions ------------------------------------------------------------------------------ */

/* "0.1.0". A constant. Any thread. */
TCUDB_API const char *tcudb_version(void);

/* ---- databases and connections ------------------------------------------------------------- */

/* Set `size` to sizeof(tcudb_options) and the rest to 0 for the defaults. */
typedef struct tcudb_options {
    size_t size;
    int read_only;         /* 1: no statement may write */
    int must_exist;        /* 1: do not create the directory */
    uint64_t memory_limit; /* bytes of host memory; 0: 80 % of the machine's */
    uint32_t threads;      /* threads a query may use, the caller's included; 0: one per processor */
} tcudb_options;

/* Opens the database directory `path`; NULL, "" or ":memory:" makes one in memory. options may be NULL.
 * A process opens a directory once and shares the handle between its threads. */
TCUDB_API tcudb_status tcudb_open(const char *path, const tcudb_options *options, tcudb_db **db, tcudb_error *err);
/* Gives the handle up. The database itself closes with the last of its connections, statements, results and
 * Arrow streams. NULL is allowed. */
TCUDB_API void tcudb_close(tcudb_db *db);

TCUDB_API tcudb_status tcudb_connect(tcudb_db *db, tcudb_conn **conn, tcudb_error *err);
/* Rolls back an open transaction. Its statements must be closed before; its results live on. NULL is allowed. */
TCUDB_API void tcudb_disconnect(tcudb_conn *conn);

/* Stops the running statement, which fails with SQLSTATE 57014 within about 100 ms; without one, nothing.
 * Any thread, and signal handlers, while the connection exists. */
TCUDB_API void tcudb_interrupt(tcudb_conn *conn);
/* 'I' no transaction open, 'T' in a transaction, 'E' in one that failed and waits for ROLLBACK; 0: conn is NULL. */
TCUDB_API char tcudb_transaction_state(const tcudb_conn *conn);

/* ---- types and columns --------------------------------------------------------------------- */

/* A column's SQL type, and the C type of each element of its `values`. */
typedef enum tcudb_type_id {
    TCUDB_TYPE_BOOL = 2,       /* uint8_t, 0 or 1 */
    TCUDB_TYPE_INT2 = 3,       /* int16_t */
    TCUDB_TYPE_INT4 = 4,       /* int32_t */
    TCUDB_TYPE_INT8 = 5,       /* int64_t */
    TCUDB_TYPE_NUMERIC = 6,    /* precision 1..18: int64_t, 19..38: tcudb_int128, both times 10^scale;
                                  precision 0: tcudb_numeric */
    TCUDB_TYPE_FLOAT4 = 7,     /* float */
    TCUDB_TYPE_FLOAT8 = 8,     /* double */
    TCUDB_TYPE_DATE = 9,       /* int32_t, days since 2000-01-01; INT32_MAX, INT32_MIN: +-infinity */
    TCUDB_TYPE_TIMESTAMP = 10, /* int64_t, microseconds since 2000-01-01; INT64_MAX, INT64_MIN: +-infinity */
    TCUDB_TYPE_INTERVAL = 11,  /* tcudb_interval */
    TCUDB_TYPE_TEXT = 12,      /* tcudb_text */
    TCUDB_TYPE_VARCHAR = 13,   /* tcudb_text */
    TCUDB_TYPE_BPCHAR = 14     /* tcudb_text: char(n) without its trailing blanks, bpchar as it is */
} tcudb_type_id;

typedef struct tcudb_int128 {
    uint64_t low;
    int64_t high;
} tcudb_int128;

/* value times 10^-scale. */
typedef struct tcudb_numeric {
    tcudb_int128 value;
    int32_t scale;
    int32_t kind; /* 0 finite, 1 NaN, 2 Infinity, 3 -Infinity */
    uint64_t reserved;
} tcudb_numeric;

typedef struct tcudb_interval {
    int64_t micros;
    int32_t days;
    int32_t months;
} tcudb_interval;

/* Not NUL-terminated. */
typedef struct tcudb_text {
    const char *ptr;
    uint32_t len;
} tcudb_text;

/* What a result column is called and what it holds. */
typedef struct tcudb_column_info {
    const char *name;
    const char *type_name; /* as PostgreSQL prints it: "numeric(12,2)" */
    tcudb_type_id type;
    uint8_t precision; /* numeric; 0: each value carries its own scale */
    uint8_t scale;
    uint32_t length; /* varchar(n), char(n); 0: no limit */
} tcudb_column_info;

/* One column of a chunk. */
typedef struct tcudb_column {
    const tcudb_column_info *info;
    const void *values;       /* rows elements, see tcudb_type_id; those of NULL rows are undefined */
    const uint64_t *validity; /* bit i % 64 of word i / 64 set: row i is not NULL; NULL pointer: no NULLs */
} tcudb_column;

/* A run of rows, column by column. */
typedef struct tcudb_chunk {
    uint64_t rows;
    uint32_t ncolumns;
    const tcudb_column *columns;
} tcudb_chunk;

/* 1: NULL, 0: a value. The caller keeps row and column in range. */
static inline int tcudb_is_null(const tcudb_chunk *chunk, uint32_t column, uint64_t row)
{
    const uint64_t *validity = chunk->columns[column].validity;
    return validity != NULL && ((validity[row >> 6] >> (row & 63)) & 1) == 0;
}

/* Writes the value as PostgreSQL prints it and a NUL to buffer, cut to `size` bytes, and returns the length it
 * has uncut, without the NUL (as snprintf does). NULL is written as "". SIZE_MAX: out of memory or out of range.
 * Any thread. */
TCUDB_API size_t tcudb_format(const tcudb_chunk *chunk, uint32_t column, uint64_t row, char *buffer, size_t size);

/* What a statement did and how it ran. Strings belong to the result, or in callbacks to the library until the
 * callback returns. */
typedef struct tcudb_report {
    const char *tag;     /* PostgreSQL's command tag: "SELECT 3", "INSERT 0 3", "CREATE TABLE" */
    uint64_t rows;       /* returned, or changed by INSERT, UPDATE, DELETE, COPY */
    const char *engine;  /* what ran it: "cpu", "gpu", "tcu" */
    const char *why;     /* why this engine, or why not the one asked for; "" if there is nothing to say */
    int exact;           /* 1: the answer is exact; 0: tcudb.precision = fast rounded */
    double seconds;      /* from reading the text to the last row */
    uint64_t peak_bytes; /* most host memory the database held meanwhile */
} tcudb_report;

/* ---- running SQL --------------------------------------------------------------------------- */

/* Runs all statements of a text, each in a transaction of its own unless BEGIN opened one, and stops at the
 * first error. *result (result may be NULL: rows are dropped) gets the last statement's outcome, rows included,
 * copied into memory that counts towards the memory limit; for more rows than memory use tcudb_stream. An empty
 * text gives a result with the tag "". */
TCUDB_API tcudb_status tcudb_query(tcudb_conn *conn, const char *sql, tcudb_result **result, tcudb_error *err);

/* Receives results as they are made. Every member may be NULL. A non-zero return stops the statement with
 * 57014. The calls come from the thread that runs the query; they may not use the connection, except
 * tcudb_interrupt. What they are shown is valid until they return. */
typedef struct tcudb_sink {
    void *ctx;
    int (*columns)(void *ctx, const tcudb_column_info *columns, uint32_t n); /* statements that return rows */
    int (*chunk)(void *ctx, const tcudb_chunk *chunk);                       /* zero or more, in row order */
    int (*done)(void *ctx, const tcudb_report *report);                      /* once a statement that succeeded */
} tcudb_sink;

/* Like tcudb_query, for every statement of the text, in constant memory. sink may be NULL. */
TCUDB_API tcudb_status tcudb_stream(tcudb_conn *conn, const char *sql, const tcudb_sink *sink, tcudb_error *err);

/* 1: the text is empty or ends at the end of a statement (a semicolon outside quotes, comments and
 * parentheses); 0: more is to come. Any thread. */
TCUDB_API int tcudb_complete(const char *sql);

/* ---- prepared statements ------------------------------------------------------------------- */

/* One statement with parameters $1, $2, ... whose types follow from where they stand. The statement belongs to
 * the connection's thread and is closed before the connection. */
TCUDB_API tcudb_status tcudb_prepare(tcudb_conn *conn, const char *sql, tcudb_stmt **stmt, tcudb_error *err);
TCUDB_API void tcudb_stmt_close(tcudb_stmt *stmt); /* NULL is allowed */

/* Number of parameters, and the type of the n-th from 1 (0 if there is none). */
TCUDB_API uint32_t tcudb_stmt_params(const tcudb_stmt *stmt);
TCUDB_API tcudb_type_id tcudb_stmt_param_type(const tcudb_stmt *stmt, uint32_t n);
/* Columns the statement returns, and the i-th's description (NULL out of range); valid until it is closed. */
TCUDB_API uint32_t tcudb_stmt_columns(const tcudb_stmt *stmt);
TCUDB_API const tcudb_column_info *tcudb_stmt_column(const tcudb_stmt *stmt, uint32_t i);

/* Give parameter n a value, kept until it is bound again. The value is converted to the parameter's type with
 * PostgreSQL's assignment rules, now: 22003 out of range, 22P02 not a number, ... Text is copied; it is read as
 * the parameter's type ('2024-02-29', '12.50'), so every type can be bound as text. len SIZE_MAX:
 * NUL-terminated. Unbound parameters are an error at execution. */
TCUDB_API tcudb_status tcudb_bind_null(tcudb_stmt *stmt, uint32_t n, tcudb_error *err);
TCUDB_API tcudb_status tcudb_bind_bool(tcudb_stmt *stmt, uint32_t n, int value, tcudb_error *err);
TCUDB_API tcudb_status tcudb_bind_int64(tcudb_stmt *stmt, uint32_t n, int64_t value, tcudb_error *err);
TCUDB_API tcudb_status tcudb_bind_double(tcudb_stmt *stmt, uint32_t n, double value, tcudb_error *err);
TCUDB_API tcudb_status tcudb_bind_text(tcudb_stmt *stmt, uint32_t n, const char *text, size_t len, tcudb_error *err);

/* Runs the statement with the bound values; any number of times. As tcudb_query and tcudb_stream. */
TCUDB_API tcudb_status tcudb_execute(tcudb_stmt *stmt, tcudb_result **result, tcudb_error *err);
TCUDB_API tcudb_status tcudb_execute_stream(tcudb_stmt *stmt, const tcudb_sink *sink, tcudb_error *err);

/* ---- results ------------------------------------------------------------------------------- */

/* Pointers got from a result are valid until it is freed. With result NULL, counts are 0 and pointers NULL. */
TCUDB_API void tcudb_result_free(tcudb_result *result);              /* NULL is allowed */
TCUDB_API uint32_t tcudb_result_columns(const tcudb_result *result); /* 0: the statement returns no rows */
TCUDB_API const tcudb_column_info *tcudb_result_column(const tcudb_result *result, uint32_t i);
TCUDB_API uint64_t tcudb_result_rows(const tcudb_result *result); /* rows in the chunks */
TCUDB_API uint64_t tcudb_result_chunks(const tcudb_result *result);
TCUDB_API const tcudb_chunk *tcudb_result_chunk(const tcudb_result *result, uint64_t i);
/* Rows changed by INSERT, UPDATE, DELETE, COPY; 0 for other statements. */
TCUDB_API uint64_t tcudb_result_affected(const tcudb_result *result);
TCUDB_API const tcudb_report *tcudb_result_report(const tcudb_result *result);

/* ---- progress, notices, COPY streams ------------------------------------------------------- */

/* fn is called about every interval_ms while a statement runs, with rows (or other units) done and in all
 * (0: not known), from a thread of the library; a non-zero return stops the statement with 57014. It may not
 * use the connection, except tcudb_interrupt. fn NULL: off. */
typedef int (*tcudb_progress_fn)(void *ctx, uint64_t done, uint64_t total, double seconds);
TCUDB_API tcudb_status tcudb_set_progress(tcudb_conn *conn, tcudb_progress_fn fn, void *ctx, uint32_t interval_ms,
                                          tcudb_error *err);

/* NOTICE and WARNING messages ("table \"t\" does not exist, skipping"), from the thread that runs the query.
 * severity: "NOTICE" or "WARNING". fn NULL: dropped. */
typedef void (*tcudb_notice_fn)(void *ctx, const char *severity, const char *sqlstate, const char *message);
TCUDB_API tcudb_status tcudb_set_notice(tcudb_conn *conn, tcudb_notice_fn fn, void *ctx, tcudb_error *err);

/* The streams of COPY ... FROM STDIN and COPY ... TO STDOUT. read fills up to `size` bytes and returns how many
 * (0: end of data, SIZE_MAX: failed); write takes `size` bytes and returns 0 or non-zero for failure. They run
 * on the thread that runs the query. NULL members: that direction is refused. */
typedef size_t (*tcudb_read_fn)(void *ctx, char *buffer, size_t size);
typedef int (*tcudb_write_fn)(void *ctx, const char *data, size_t size);
TCUDB_API tcudb_status tcudb_set_copy(tcudb_conn *conn, tcudb_read_fn read, tcudb_write_fn write, void *ctx,
                                      tcudb_error *err);

/* ---- what is in a database ----------------------------------------------------------------- */

typedef enum tcudb_listing {
    TCUDB_TABLES = 0,    /* name, kind ("table", "view", "sequence"), columns, rows, definition */
    TCUDB_COLUMNS = 1,   /* table, column, type, nullable, default; of one table, or of all with name NULL */
    TCUDB_SETTINGS = 2,  /* name, setting, description */
    TCUDB_FUNCTIONS = 3, /* name, kind ("function", "aggregate", "table function"), usage */
    TCUDB_MEMORY = 4     /* what, bytes */
} tcudb_listing;

/* A result with the listing's rows, ordered by name, as the connection's transaction sees them. name: the exact
 * name to list, or NULL for all; 42P01 if TCUDB_COLUMNS is asked for a relation that does not exist. */
TCUDB_API tcudb_status tcudb_list(tcudb_conn *conn, tcudb_listing what, const char *name, tcudb_result **result,
                                  tcudb_error *err);

/* ---- Arrow --------------------------------------------------------------------------------- */

/* The Arrow C data and stream interfaces, as Arrow's specification defines them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Fills *stream with a reader of the result's rows, one record batch a chunk; the caller releases it. It keeps
 * what it needs of the result, which may be freed at once. One thread at a time. bool: b; int2, int4, int8: s,
 * i, l; float4, float8: f, g; date: tdD; timestamp: tsu:; interval: tin; text types: U; numeric with a
 * precision: d:precision,scale; numeric without: U, the digits as text. */
TCUDB_API tcudb_status tcudb_arrow_stream(tcudb_result *result, struct ArrowArrayStream *stream, tcudb_error *err);

#ifdef __cplusplus
}
#endif
#endif
