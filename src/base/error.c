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

typedef struct SystemError {
    int errnum;
    const char *sqlstate, *hint; /* hint: what a user can do about it */
} SystemError;

static const SystemError system_errors[] = {
    {ENOSPC, SQLSTATE_DISK_FULL, "Free some space on that disk and run the statement again."},
    {EDQUOT, SQLSTATE_DISK_FULL, "Free some of your quota on that disk and run the statement again."},
    {EFBIG, SQLSTATE_DISK_FULL, "Raise the limit on the size of files (ulimit -f) and run the statement again."},
    {EMFILE, SQLSTATE_INSUFFICIENT_RESOURCES, "Raise the limit on open files (ulimit -n)."},
    {ENFILE, SQLSTATE_INSUFFICIENT_RESOURCES, "The system has too many files open: close some programs."},
    {EIO, SQLSTATE_IO_ERROR, "The device reports errors: see the system's log (dmesg)."},
    {ENOENT, SQLSTATE_UNDEFINED_FILE, NULL},
    {EEXIST, SQLSTATE_DUPLICATE_FILE, NULL},
    {ENOTDIR, SQLSTATE_WRONG_OBJECT_TYPE, NULL},
    {EISDIR, SQLSTATE_WRONG_OBJECT_TYPE, NULL},
    {EACCES, SQLSTATE_INSUFFICIENT_PRIVILEGE, NULL},
    {EPERM, SQLSTATE_INSUFFICIENT_PRIVILEGE, NULL},
    {EROFS, SQLSTATE_INSUFFICIENT_PRIVILEGE, NULL},
    {ENOMEM, SQLSTATE_OUT_OF_MEMORY, NULL},
};

tcudb_status error_system(Error *err, int errnum, const char *what, const char *path)
{
    const SystemError *known = NULL;
    for (size_t i = 0; i < sizeof system_errors / sizeof system_errors[0]; i++)
        if (system_errors[i].errnum == errnum) known = &system_errors[i];
    char reason[128];
    const char *text = strerror_r(errnum, reason, sizeof reason);
    tcudb_status status = error_set(err, known != NULL ? known->sqlstate : SQLSTATE_IO_ERROR, "could not %s \"%s\": %s",
                                    what, path, text);
    if (known != NULL && known->hint != NULL) error_hint(err, "%s", known->hint);
    return status;
}

tcudb_status error_thread(Error *err, int errnum, const char *what)
{
    char reason[128];
    tcudb_status status = error_set(err, SQLSTATE_INSUFFICIENT_RESOURCES, "could not start %s: %s", what,
                                    strerror_r(errnum, reason, sizeof reason));
    error_hint(err, "Raise the limit on processes (ulimit -u), or run with fewer threads (SET tcudb.threads = 1).");
    return status;
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
