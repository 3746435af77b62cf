/*
 * error.c: fills Error records. Fixed buffers, so that reporting an exhausted memory cannot fail.
 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SQLSTATE(name, code) const char SQLSTATE_##name[6] = code;
#include "base/sqlstate.def"
#undef SQLSTATE

static tcudb_status status_of(const char *sqlstate)
{
    if (strcmp(sqlstate, SQLSTATE_OUT_OF_MEMORY) == 0) return TCUDB_NOMEM;
    if (strcmp(sqlstate, SQLSTATE_QUERY_CANCELED) == 0) return TCUDB_INTERRUPTED;
    return TCUDB_ERROR;
}

static tcudb_status set_va(Error *err, const char *sqlstate, int position, const char *format, va_list args)
{
    tcudb_status status = status_of(sqlstate);
    if (err == NULL) return status;
    err->status = status;
    memcpy(err->sqlstate, sqlstate, sizeof err->sqlstate);
    err->position = position;
    vsnprintf(err->message, sizeof err->message, format, args);
    err->detail[0] = '\0';
    err->hint[0] = '\0';
    return status;
}

tcudb_status error_set(Error *err, const char *sqlstate, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tcudb_status status = set_va(err, sqlstate, 0, format, args);
    va_end(args);
    return status;
}

tcudb_status error_at(Error *err, const char *sqlstate, int position, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tcudb_status status = set_va(err, sqlstate, position, format, args);
    va_end(args);
    return status;
}

void error_detail(Error *err, const char *format, ...)
{
    if (err == NULL) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->detail, sizeof err->detail, format, args);
    va_end(args);
}

void error_hint(Error *err, const char *format, ...)
{
    if (err == NULL) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
}

tcudb_status error_system(Error *err, int errnum, const char *what, const char *path)
{
    const char *sqlstate = SQLSTATE_IO_ERROR;
    if (errnum == ENOSPC || errnum == EDQUOT) sqlstate = SQLSTATE_DISK_FULL;
    if (errnum == ENOENT) sqlstate = SQLSTATE_UNDEFINED_FILE;
    if (errnum == EACCES || errnum == EPERM || errnum == EROFS) sqlstate = SQLSTATE_INSUFFICIENT_PRIVILEGE;
    if (errnum == EEXIST) sqlstate = SQLSTATE_DUPLICATE_FILE;
    if (errnum == ENOMEM) sqlstate = SQLSTATE_OUT_OF_MEMORY;
    char reason[128];
    const char *text = strerror_r(errnum, reason, sizeof reason);
    return error_set(err, sqlstate, "could not %s \"%s\": %s", what, path, text);
}

tcudb_status error_unsupported(Error *err, int position, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char what[ERROR_TEXT - 32];
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return error_at(err, SQLSTATE_FEATURE_NOT_SUPPORTED, position, "%s is not supported yet", what);
}

void error_clear(Error *err)
{
    memset(err, 0, sizeof *err);
}
