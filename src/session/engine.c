/*
 * engine.c: SET tcudb.engine, and honesty about it.
 *
 * A fallback is never silent: if another engine than the one asked for ran, the report says why, and with
 * tcudb.require_engine the statement fails before it starts. Looking for a GPU costs time, so it happens at the
 * first statement that asks for one, and its outcome is kept for the session.
 */
#include "session/session_int.h"
#include "device/device.h"

#include <assert.h>
#include <stdio.h>

static const char *const engine_names[] = {"auto", "cpu", "gpu", "tcu"};

static void find_device(Session *session)
{
    Device *device = NULL;
    Error err = {0};
    if (device_open(0, &device, &err) == TCUDB_OK) {
        snprintf(session->no_device, sizeof session->no_device, "queries do not run on %s yet",
                 device_info(device)->name);
        device_close(device);
        return;
    }
    snprintf(session->no_device, sizeof session->no_device, "%.200s", err.message);
    assert(session->no_device[0] != '\0');
}

/* Why the engine asked for cannot run anything here; NULL: it can. */
static const char *unavailable(Session *session)
{
    int64_t engine = session->settings.engine;
    assert(engine >= ENGINE_AUTO && engine <= ENGINE_TCU);
    if (engine != ENGINE_GPU && engine != ENGINE_TCU) return NULL;
    if (session->no_device[0] == '\0') find_device(session);
    return session->no_device;
}

tcudb_status session_check_engine(Session *session, Error *err)
{
    const Settings *settings = &session->settings;
    const char *why = settings->require_engine ? unavailable(session) : NULL;
    if (why == NULL) return TCUDB_OK;
    error_set(err, SQLSTATE_OBJECT_NOT_IN_PREREQUISITE_STATE, "engine \"%s\" cannot run this statement",
              engine_names[settings->engine]);
    error_detail(err, "The reason: %s.", why);
    error_hint(err, "SET tcudb.require_engine = off lets another engine run it, SET tcudb.engine = auto chooses one.");
    return TCUDB_ERROR;
}

void session_explain_engine(Session *session, ExecReport *report)
{
    const char *wanted = engine_names[session->settings.engine];
    if (session->settings.engine == ENGINE_AUTO || strcmp(report->engine, wanted) == 0) return;
    if (strncmp(report->why, "not ", 4) == 0) return;
    const char *why = unavailable(session);
    if (why != NULL) snprintf(report->why, sizeof report->why, "not %s: %s", wanted, why);
}
