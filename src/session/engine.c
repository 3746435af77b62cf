/*
 * engine.c: SET tcudb.engine, and honesty about it.
 *
 * A fallback is never silent: if another engine than the one asked for ran, the report says why, and with
 * tcudb.require_engine the statement fails before it starts.
 */
#include "session/session_int.h"

#include <assert.h>
#include <stdio.h>

static const char *const engine_names[] = {"auto", "cpu", "gpu", "tcu"};

/* Why an engine cannot run anything here; NULL: it can. */
static const char *unavailable(int64_t engine)
{
    assert(engine >= ENGINE_AUTO && engine <= ENGINE_TCU);
    if (engine == ENGINE_GPU) return "this build has no GPU engine";
    if (engine == ENGINE_TCU) return "this build has no tensor core engine";
    return NULL;
}

tcudb_status session_check_engine(const Settings *settings, Error *err)
{
    const char *why = unavailable(settings->engine);
    if (why == NULL || !settings->require_engine) return TCUDB_OK;
    error_set(err, SQLSTATE_OBJECT_NOT_IN_PREREQUISITE_STATE, "engine \"%s\" cannot run this statement",
              engine_names[settings->engine]);
    error_detail(err, "The reason: %s.", why);
    error_hint(err, "SET tcudb.require_engine = off lets another engine run it, SET tcudb.engine = auto chooses one.");
    return TCUDB_ERROR;
}

void session_explain_engine(const Settings *settings, ExecReport *report)
{
    const char *why = unavailable(settings->engine);
    if (why == NULL || report->why[0] != '\0') return;
    snprintf(report->why, sizeof report->why, "not %s: %s", engine_names[settings->engine], why);
}
