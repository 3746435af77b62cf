/*
 * error.c: errors and misuse at the border of the library.
 *
 * The engine's Error and the public tcudb_error hold the same things; they are separate so that the engine
 * can change its own. A busy flag per connection turns calls from callbacks and from a second thread into
 * TCUDB_MISUSE instead of a race.
 */
#include "api/api_int.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

static_assert((int)TCUDB_ERROR_TEXT == (int)ERROR_TEXT, "texts are copied whole");

tcudb_status api_fail(tcudb_error *out, tcudb_status status, const Error *err)
{
    assert(status != TCUDB_OK);
    if (out == NULL) return status;
    out->status = status;
    out->position = err->position;
    memcpy(out->sqlstate, err->sqlstate, sizeof out->sqlstate);
    memcpy(out->message, err->message, sizeof out->message);
    memcpy(out->detail, err->detail, sizeof out->detail);
    memcpy(out->hint, err->hint, sizeof out->hint);
    return status;
}

tcudb_status api_misuse(tcudb_error *out, const char *format, ...)
{
    if (out == NULL) return TCUDB_MISUSE;
    *out = (tcudb_error){.status = TCUDB_MISUSE, .sqlstate = "HY000"};
    va_list args;
    va_start(args, format);
    vsnprintf(out->message, sizeof out->message, format, args);
    va_end(args);
    snprintf(out->hint, sizeof out->hint, "This is a mistake in the calling program: see tcudb.h.");
    return TCUDB_MISUSE;
}

bool api_forked(const tcudb_db *db)
{
    return db->owner != getpid();
}

tcudb_status api_misuse_forked(tcudb_error *out)
{
    return api_misuse(out, "the database was opened by another process, before fork()");
}

tcudb_status api_enter(tcudb_conn *conn, tcudb_error *out)
{
    if (conn == NULL) return api_misuse(out, "the connection is NULL");
    if (api_forked(conn->db)) return api_misuse_forked(out);
    if (atomic_exchange(&conn->busy, true)) return api_misuse(out, "the connection is running another call");
    return TCUDB_OK;
}

void api_leave(tcudb_conn *conn)
{
    assert(atomic_load(&conn->busy));
    atomic_store(&conn->busy, false);
}

const char *tcudb_version(void)
{
    return TCUDB_VERSION;
}
