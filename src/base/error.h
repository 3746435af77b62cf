/*
 * error.h: how everything inside tcudb reports failure.
 *
 * A function that can fail returns tcudb_status (must be checked) and takes `Error *err` last. It
 * fills *err exactly once, at the place that knows most, and callers pass it up with TRY. Reporting
 * never allocates. Functions that own files, locks or device memory use TRY_GOTO and one `done:`.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "tcudb.h"

#include <stdarg.h>
#include <stdbool.h>

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

enum { ERROR_TEXT = 768 };

typedef struct Error {
    tcudb_status status;
    char sqlstate[6];
    int position;             /* 1-based character offset in the SQL text; 0: no place */
    char message[ERROR_TEXT]; /* one sentence, PostgreSQL's wording where it has one */
    char detail[ERROR_TEXT];  /* "" if none */
    char hint[ERROR_TEXT];    /* the remedy; "" if none */
} Error;

/* SQLSTATEs used so far: SQLSTATE_NAME = "code". Add a line to sqlstate.def. */
#define SQLSTATE(name, code) extern const char SQLSTATE_##name[6];
#include "base/sqlstate.def"
#undef SQLSTATE

/* Fills *err (err may be NULL) and returns the status that the SQLSTATE implies:
 * 53200 -> TCUDB_NOMEM, 57014 -> TCUDB_INTERRUPTED, else TCUDB_ERROR. */
tcudb_status error_set(Error *err, const char *sqlstate, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same with a place in the SQL text. */
tcudb_status error_at(Error *err, const char *sqlstate, int position, const char *format, ...) PRINTF_LIKE(4, 5);
/* Adds a detail or a hint to an error already set. */
void error_detail(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);
void error_hint(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);
/* SQLSTATE chosen from errno (53100 disk full, 58P01 no file, 42501 permission, else 58030):
 * "could not WHAT \"PATH\": strerror", and a hint where one remedy fits all. */
tcudb_status error_system(Error *err, int errnum, const char *what, const char *path);
/* The system gives no thread: "could not start WHAT: strerror", 53000. */
tcudb_status error_thread(Error *err, int errnum, const char *what);
/* "NAME is not supported yet", 0A000. */
tcudb_status error_unsupported(Error *err, int position, const char *format, ...) PRINTF_LIKE(3, 4);
void error_clear(Error *err);

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        tcudb_status try_status_ = (call);                                                                             \
        if (try_status_ != TCUDB_OK) return try_status_;                                                               \
    } while (0)

/* For functions with something to release: needs `tcudb_status status` and a label `done`. */
#define TRY_GOTO(call)                                                                                                 \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != TCUDB_OK) goto done;                                                                             \
    } while (0)

#endif
